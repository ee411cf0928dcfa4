/* emu.cpp - the scheduler: fibers, barriers, warp collectives, clusters, the
 * grid. A thread that must wait is parked and woken by what it waits for, so a
 * kernel without barriers never switches fibers, and "nobody can run" is a
 * deadlock (or, in lazy mode, the moment to perform an asynchronous load).
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>

#include "emu.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(from, to) ((void)0)
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif
#if !defined(__x86_64__) || defined(DCC_EMU_UCONTEXT)
#define EMU_UCONTEXT 1
#include <ucontext.h>
#else
#define EMU_UCONTEXT 0
#endif

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;
__thread EmuScheduler *emu_scheduler;

/* What is not understood is no default: a wish that was misspelt is not met. */
[[noreturn]] static void emu_refuse(const char *name, const char *wanted)
{
    fprintf(stderr, "%s is \"%s\", not %s\n", name, getenv(name), wanted);
    exit(3);
}

uint64_t emu_number(const char *name, uint64_t most, uint64_t unset)
{
    const char *text = getenv(name);
    char wanted[64], *end;

    if (!text)
        return unset;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || n > most) {
        snprintf(wanted, sizeof wanted, "a number from 0 to %llu",
                 (unsigned long long)most);
        emu_refuse(name, wanted);
    }
    return n;
}

/* Whether it is `on` and not `off`, which it is unless it is set. */
static bool emu_word(const char *name, const char *on, const char *off)
{
    const char *text = getenv(name);

    if (!text || !*text || strcmp(text, off) == 0)
        return false;
    if (strcmp(text, on) != 0)
        emu_refuse(name, (std::string(on) + " or " + off).c_str());
    return true;
}

static EmuSettings emu_read_settings()
{
    EmuSettings s;

    s.lazy = emu_word("DCC_EMU_ASYNC", "lazy", "eager");
    s.early = emu_word("DCC_EMU_LAUNCH", "early", "late");
    s.order = (int)emu_number("DCC_EMU_ORDER", INT_MAX, 0);
    s.threads = (int)emu_number("DCC_EMU_THREADS", 4096, 0);
    if (s.threads == 0)
        s.threads = std::max(1, (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (s.early) /* all see the same memory closed */
        s.threads = 1;
    return s;
}

const EmuSettings &emu_settings()
{
    static const EmuSettings settings = emu_read_settings();

    return settings;
}

/* ---- reports ---- */

static void emu_report_threads(const EmuScheduler *s)
{
    const char *last = NULL;

    for (const EmuThread &t : s->threads) {
        const char *where = t.done ? "exited" : t.where;

        if (last && strcmp(where, last) == 0)
            continue;
        fprintf(stderr, "  block %u thread %d: %s\n", t.block->rank, t.linear,
                where);
        last = where;
    }
}

void dcc_emu_fault(const char *format, ...)
{
    const EmuScheduler *s = emu_scheduler;
    va_list args;

    fflush(stdout);
    fprintf(stderr, "dcc-emu: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (s && s->current)
        fprintf(stderr, " in block (%u, %u, %u), thread (%u, %u, %u)",
                blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                threadIdx.z);
    fprintf(stderr, "\n");
    _exit(70);
}

/* What threads and launches need, or what any `new` of a program asks for that
 * has no answer of its own: 3, as dcc's and its programs' own is. */
[[noreturn]] static void emu_no_memory()
{
    fflush(stdout);
    fprintf(stderr, "dcc-emu: error: out of memory\n");
    _exit(3);
}

[[maybe_unused]] static const bool emu_new_handled =
    !std::get_new_handler() &&
    (std::set_new_handler(emu_no_memory), true);

[[noreturn]] static void emu_deadlock(const EmuScheduler *s)
{
    fflush(stdout);
    fprintf(stderr, "dcc-emu: deadlock in block (%u, %u, %u): each line is "
                    "where the threads from there on are\n",
            blockIdx.x, blockIdx.y, blockIdx.z);
    emu_report_threads(s);
    _exit(70);
}

/* ---- fibers ---- */

static void emu_fiber_main();

#if !EMU_UCONTEXT
extern "C" void dcc_emu_switch(void **save, void *to);
asm(".text\n"
    ".globl dcc_emu_switch\n"
    ".type dcc_emu_switch,@function\n"
    "dcc_emu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\n"
    "movq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
    "ret\n"
    ".size dcc_emu_switch,.-dcc_emu_switch\n");

/* A stack that dcc_emu_switch enters at emu_fiber_main. */
static void *emu_first_sp(void *stack)
{
    void **sp = (void **)((char *)stack + EMU_STACK - 64);

    *--sp = NULL;
    *--sp = (void *)emu_fiber_main;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    return sp;
}
#else
static void dcc_emu_switch(void **save, void *to)
{
    ucontext_t here;

    *save = &here;
    swapcontext(&here, (ucontext_t *)to);
}

static void *emu_first_sp(void *stack)
{
    ucontext_t *c = (ucontext_t *)stack; /* its own lowest bytes */

    getcontext(c);
    c->uc_stack.ss_sp = (char *)stack + sizeof *c;
    c->uc_stack.ss_size = EMU_STACK - sizeof *c;
    c->uc_link = NULL;
    makecontext(c, emu_fiber_main, 0);
    return c;
}
#endif

static void *emu_take_stack(EmuScheduler *s)
{
    const size_t guard = 4096;
    char *p;

    if (!s->free_stacks.empty()) {
        void *stack = s->free_stacks.back();

        s->free_stacks.pop_back();
#if EMU_ASAN
        __asan_unpoison_memory_region(stack, EMU_STACK);
#endif
        return stack;
    }
    p = (char *)mmap(NULL, EMU_STACK + guard, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == (char *)MAP_FAILED)
        emu_no_memory();
    mprotect(p, guard, PROT_NONE);
    VALGRIND_STACK_REGISTER(p + guard, p + guard + EMU_STACK);
    return p + guard;
}

static void emu_free_stack(void *stack)
{
    const size_t guard = 4096;

#if EMU_ASAN
    __asan_unpoison_memory_region(stack, EMU_STACK);
#endif
    munmap((char *)stack - guard, EMU_STACK + guard);
}

static void emu_enter(EmuScheduler *s, EmuThread *t)
{
    s->current = t;
    threadIdx = t->id;
    blockIdx = t->block->index;
    emu_close_memory(!t->waited);
}

/* NULL stands for the OS thread's own stack. */
static void emu_switch(EmuScheduler *s, EmuThread *from, EmuThread *to)
{
#if EMU_ASAN
    void *fake = NULL;

    __sanitizer_start_switch_fiber(from && from->done ? NULL : &fake,
                                   to ? to->stack : s->main_stack,
                                   to ? EMU_STACK : s->main_stack_size);
#endif
    dcc_emu_switch(from ? &from->sp : &s->main_sp, to ? to->sp : s->main_sp);
#if EMU_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

/* The next random number of the scheduler, for DCC_EMU_ORDER > 1. */
static unsigned emu_random(EmuScheduler *s, unsigned n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(s->random >> 33) % n;
}

/* Who runs next: threads that have not started, then those that were woken;
 * with a seed, any. NULL if nobody can. */
static EmuThread *emu_pick(EmuScheduler *s)
{
    const int order = emu_settings().order;
    const size_t unstarted = s->order.size() - s->next_start;
    EmuThread *t;

    if (unstarted && (order < 2 || s->ready.empty() || emu_random(s, 2)))
        return &s->threads[(size_t)s->order[s->next_start++]];
    if (s->ready.empty())
        return NULL;
    if (order == 0) {
        t = s->ready.front();
        s->ready.pop_front();
        return t;
    }
    if (order > 1)
        std::swap(s->ready[emu_random(s, (unsigned)s->ready.size())],
                  s->ready.back());
    t = s->ready.back();
    s->ready.pop_back();
    return t;
}

/* The launches ahead have run: who waits for them goes on. */
static bool emu_end_grid_wait(EmuScheduler *s)
{
    if (s->on_grid.empty())
        return false;
    s->grid_done = true;
    for (EmuThread *t : s->on_grid) {
        t->waited = true;
        emu_wake(t);
    }
    s->on_grid.clear();
    return true;
}

/* The same; while nobody else can go on, the launches ahead run, then loads in
 * flight are performed. */
static EmuThread *emu_next(EmuScheduler *s)
{
    EmuThread *t = emu_pick(s);

    while (!t) {
        if (!emu_end_grid_wait(s) && !emu_perform_load(s) &&
            !emu_perform_arrival(s))
            emu_deadlock(s);
        t = emu_pick(s);
    }
    return t;
}

static void emu_start_or_resume(EmuScheduler *s, EmuThread *from,
                                EmuThread *to)
{
    if (!to->sp) {
        to->stack = emu_take_stack(s);
        to->sp = emu_first_sp(to->stack);
    }
    emu_enter(s, to);
    emu_switch(s, from, to);
}

void emu_park(const char *where)
{
    EmuScheduler *s = emu_scheduler;
    EmuThread *me = s->current;
    EmuThread *to;

    me->where = where;
    to = emu_next(s);
    if (to != me)
        emu_start_or_resume(s, me, to);
    else /* a load performed just now woke it, or the launches ahead ended */
        emu_enter(s, me);
    me->where = "running";
}

void emu_wake(EmuThread *t)
{
    emu_scheduler->ready.push_back(t);
}

/* Threads one after another on this stack, as long as the next one has not
 * started: a kernel without barriers never switches. */
static void emu_fiber_main()
{
    EmuScheduler *s = emu_scheduler;
    EmuThread *next;

#if EMU_ASAN
    const void *from;
    size_t size;

    __sanitizer_finish_switch_fiber(NULL, &from, &size);
    if (!s->main_stack) {
        s->main_stack = from;
        s->main_stack_size = size;
    }
#endif
    for (;;) {
        EmuThread *me = s->current;

        (*s->body)();
        emu_check_exit(me);
        me->done = true;
        if (--me->block->live == 0)
            emu_check_leave(s, me->block);
        s->n_live--;
        next = s->n_live ? emu_next(s) : NULL;
        if (!next || next->sp)
            break;
        next->stack = me->stack;
        next->sp = next->stack; /* started */
        me->stack = NULL;
        emu_enter(s, next);
    }
    s->free_stacks.push_back(s->current->stack);
    EmuThread *me = s->current;
    if (next)
        emu_enter(s, next);
    emu_switch(s, me, next);
    abort(); /* a finished fiber is never resumed */
}

/* ---- barriers ---- */

int dcc_emu_lane()
{
    return emu_scheduler->current->linear & 31;
}

int dcc_emu_block_threads()
{
    return emu_scheduler->block_threads;
}

unsigned char *dcc_emu_smem()
{
    return emu_scheduler->current->block->smem;
}

uint32_t dcc_smem_u32(const void *smem)
{
    const EmuBlock *b = emu_scheduler->current->block;

    if (!emu_in_smem(b, smem, 0))
        dcc_emu_fault("dcc_smem_u32: %p is not in shared memory", smem);
    return (uint32_t)((const unsigned char *)smem - b->smem);
}

bool emu_in_smem(const EmuBlock *block, const void *p, size_t bytes)
{
    const uintptr_t base = (uintptr_t)block->smem, at = (uintptr_t)p;

    return at >= base && at - base <= emu_scheduler->smem_bytes &&
           bytes <= emu_scheduler->smem_bytes - (at - base);
}

void dcc_emu_barrier(int id, int n, int arrive_only, const char *where)
{
    EmuThread *me = emu_scheduler->current;

    if (id < 0 || id >= EMU_BARRIERS)
        dcc_emu_fault("barrier %d (there are %d)", id, EMU_BARRIERS);
    if (id > 0 && (n <= 0 || n % 32 != 0))
        dcc_emu_fault("barrier %d among %d threads: not whole warps", id, n);
    EmuBarrier *b = &me->block->barrier[id];
    if (b->arrived && b->expected != n)
        dcc_emu_fault("barrier %d: %d threads expected here, %d elsewhere",
                      id, n, b->expected);
    b->expected = n;
    if (me->barrier_phase[id] == b->phase + 1)
        dcc_emu_fault("barrier %d: a thread arrives twice, others have yet to "
                      "come", id);
    me->barrier_phase[id] = b->phase + 1;
    if (++b->arrived == n) {
        b->arrived = 0;
        b->phase++;
        for (EmuThread *t : b->waiting)
            emu_wake(t);
        b->waiting.clear();
    } else if (!arrive_only) {
        b->waiting.push_back(me);
        emu_park(where);
    }
}

void dcc_cluster_arrive()
{
    emu_release_arrivals(emu_scheduler, emu_scheduler->current);
    dcc_cluster_arrive_relaxed();
}

void dcc_cluster_arrive_relaxed()
{
    EmuScheduler *s = emu_scheduler;

    s->current->cluster_phase = s->cluster_phase;
    if (++s->cluster_arrived < (int)s->threads.size())
        return;
    s->cluster_arrived = 0;
    s->cluster_phase++;
    for (EmuThread *t : s->on_cluster)
        emu_wake(t);
    s->on_cluster.clear();
}

void dcc_cluster_wait()
{
    EmuScheduler *s = emu_scheduler;

    if (s->current->cluster_phase != s->cluster_phase)
        return;
    s->on_cluster.push_back(s->current);
    emu_park("cluster barrier");
}

uint32_t dcc_cluster_rank()
{
    return emu_scheduler->current->block->rank;
}

void *dcc_emu_cluster_peer(void *smem, uint32_t rank)
{
    EmuScheduler *s = emu_scheduler;
    const uint32_t at = dcc_smem_u32(smem);

    if ((int)rank >= s->n_blocks)
        dcc_emu_fault("no block %u in the cluster", rank);
    if (s->blocks[rank].live == 0)
        dcc_emu_fault("block %u of the cluster has exited", rank);
    return s->blocks[rank].smem + at;
}

void dcc_grid_wait()
{
    EmuScheduler *s = emu_scheduler;
    EmuThread *me = s->current;

    me->block->waited = true;
    if (me->waited)
        return;
    if (!s->grid_done) {
        s->on_grid.push_back(me);
        emu_park("dcc_grid_wait");
        return;
    }
    me->waited = true;
    emu_close_memory(false);
}

bool emu_is_lazy()
{
    return emu_settings().lazy && emu_scheduler->current->waited;
}

/* ---- warp collectives ---- */

static EmuMeeting *emu_meeting(EmuWarp *w, unsigned mask)
{
    EmuMeeting *free_one = NULL;

    for (EmuMeeting &m : w->meeting) {
        if (m.mask == mask)
            return &m;
        if (m.mask && (m.mask & mask))
            dcc_emu_fault("collectives of overlapping masks %08x and %08x",
                          m.mask, mask);
        if (!m.mask)
            free_one = &m;
    }
    if (!free_one)
        dcc_emu_fault("too many collectives in one warp");
    memset(free_one, 0, sizeof *free_one);
    free_one->mask = mask;
    return free_one;
}

void dcc_emu_warp(unsigned mask, void *mine, dcc_emu_collective f,
                  const char *where)
{
    EmuScheduler *s = emu_scheduler;
    EmuThread *me = s->current;
    const int lane = me->linear & 31, warp = me->linear >> 5;
    const int lanes = s->block_threads - 32 * warp;

    if (lanes < 32)
        mask &= (1u << lanes) - 1;
    if (!(mask >> lane & 1))
        dcc_emu_fault("%s: lane %d is not in its mask %08x", where, lane,
                      mask);
    EmuMeeting *m = emu_meeting(&me->block->warps[(size_t)warp], mask);
    if (m->arrived && m->what != f)
        dcc_emu_fault("%s: other lanes of the warp are in another collective",
                      where);
    m->what = f;
    m->slot[lane] = mine;
    m->arrived |= 1u << lane;
    if (m->arrived != mask) {
        m->waiting[m->n_waiting++] = me;
        emu_park(where);
        return;
    }
    f(m->slot);
    m->mask = 0;
    for (int i = 0; i < m->n_waiting; i++)
        emu_wake(m->waiting[i]);
}

void dcc_emu_exchange(void **slot)
{
    for (int i = 0; i < 32; i++) {
        dcc_emu_shuffle *s = (dcc_emu_shuffle *)slot[i];
        const dcc_emu_shuffle *o;

        if (!s)
            continue;
        o = s->from >= 0 && s->from < 32 ? (dcc_emu_shuffle *)slot[s->from]
                                         : NULL;
        s->out = o ? o->in : ~(uint64_t)0; /* undefined: NaN */
    }
}

void dcc_emu_vote(void **slot)
{
    unsigned ballot = 0;

    for (int i = 0; i < 32; i++)
        if (slot[i] && *(unsigned *)slot[i])
            ballot |= 1u << i;
    for (int i = 0; i < 32; i++)
        if (slot[i])
            *(unsigned *)slot[i] = ballot;
}

/* ---- clusters and the grid ---- */

static void emu_prepare_smem(EmuBlock *b, size_t bytes)
{
    if (!b->smem) {
        void *p = NULL;

        if (posix_memalign(&p, 1024, EMU_MAX_SMEM + 1024) != 0)
            emu_no_memory();
        b->smem = (unsigned char *)p;
    }
#if EMU_ASAN
    __asan_unpoison_memory_region(b->smem, EMU_MAX_SMEM + 1024);
    __asan_poison_memory_region(b->smem + bytes, EMU_MAX_SMEM + 1024 - bytes);
#endif
    emu_fill(b->smem, bytes);
}

static void emu_prepare_thread(EmuThread *t, EmuBlock *b, int linear,
                               const dcc_emu_geometry &g)
{
    const unsigned i = (unsigned)linear;
    const dim3 dim = g.block;

    t->id = {i % dim.x, i / dim.x % dim.y, i / (dim.x * dim.y)};
    t->linear = linear;
    t->block = b;
    t->sp = t->stack = NULL;
    t->done = false;
    t->waited = !(g.waits && emu_settings().early);
    t->where = "not started";
    memset(t->barrier_phase, 0, sizeof t->barrier_phase);
    t->copy_groups = t->store_groups = 0;
    t->copies.clear();
    t->stores.clear();
}

static void emu_prepare_block(EmuScheduler *s, int rank,
                              const dcc_emu_geometry &g)
{
    EmuBlock *b = &s->blocks[(size_t)rank];

    b->rank = (unsigned)rank;
    b->live = s->block_threads;
    b->waited = false;
    b->threads = &s->threads[(size_t)(rank * s->block_threads)];
    for (EmuBarrier &barrier : b->barrier) {
        barrier.arrived = barrier.expected = 0;
        barrier.phase = 0;
        barrier.waiting.clear();
    }
    b->warps.resize((size_t)(s->block_threads + 31) / 32);
    for (EmuWarp &w : b->warps)
        for (EmuMeeting &m : w.meeting)
            m.mask = 0;
    b->warpgroups.assign((size_t)s->block_threads / 128, EmuWarpgroup());
    emu_prepare_smem(b, s->smem_bytes);
    for (int i = 0; i < s->block_threads; i++)
        emu_prepare_thread(&b->threads[i], b, i, g);
}

static void emu_prepare_order(EmuScheduler *s, uint64_t seed)
{
    const int order = emu_settings().order;
    const size_t n = s->threads.size();

    s->order.resize(n);
    for (size_t i = 0; i < n; i++)
        s->order[i] = (int)(order == 1 ? n - 1 - i : i);
    s->random = seed * 0x9e3779b97f4a7c15u + (uint64_t)order;
    if (order > 1)
        for (size_t i = n - 1; i > 0; i--)
            std::swap(s->order[i], s->order[emu_random(s, (unsigned)i + 1)]);
    s->next_start = 0;
}

/* A thread that ends takes its scheduler with it. */
struct EmuOwner {
    EmuScheduler *mine = NULL;
    ~EmuOwner()
    {
        if (!mine)
            return;
        for (EmuBlock &b : mine->blocks)
            free(b.smem);
        for (void *stack : mine->free_stacks)
            emu_free_stack(stack);
        delete mine;
        emu_scheduler = NULL;
    }
};

static void emu_new_scheduler()
{
    static thread_local EmuOwner owner;

    owner.mine = emu_scheduler = new EmuScheduler();
}

/* Runs the cluster whose first block is at `first`. */
static void emu_run_cluster(const dcc_emu_geometry &g, uint3 first,
                            const std::function<void()> &body)
{
    if (!emu_scheduler)
        emu_new_scheduler();
    EmuScheduler *s = emu_scheduler;
    const unsigned n = g.cluster.x * g.cluster.y * g.cluster.z;

    gridDim = g.grid;
    blockDim = g.block;
    s->body = &body;
    s->block_threads = (int)(g.block.x * g.block.y * g.block.z);
    s->smem_bytes = g.smem;
    s->n_blocks = (int)n;
    if (s->blocks.size() < n)
        s->blocks.resize(n);
    s->threads.resize(n * (size_t)s->block_threads);
    s->n_live = (int)s->threads.size();
    s->ready.clear();
    s->on_mbarrier.clear();
    s->on_cluster.clear();
    s->on_grid.clear();
    s->grid_done = false;
    s->loads.clear();
    s->arrivals.clear();
    s->cluster_arrived = 0;
    s->cluster_phase = 0;
    for (unsigned r = 0; r < n; r++) {
        s->blocks[r].index = {first.x + r % g.cluster.x,
                              first.y + r / g.cluster.x % g.cluster.y,
                              first.z + r / (g.cluster.x * g.cluster.y)};
        emu_prepare_block(s, (int)r, g);
    }
    emu_prepare_order(s, first.x + 7919 * (first.y + 7919 * (uint64_t)first.z));
    s->main_stack = NULL;
    emu_start_or_resume(s, NULL, emu_pick(s));
    s->current = NULL;
    emu_close_memory(false);
    for (unsigned r = 0; r < n && g.waits && emu_settings().early; r++)
        if (!s->blocks[r].waited)
            dcc_emu_fault("block (%u, %u, %u) exits without dcc_grid_wait",
                          s->blocks[r].index.x, s->blocks[r].index.y,
                          s->blocks[r].index.z);
    if (!s->loads.empty())
        dcc_emu_fault("block (%u, %u, %u) exits with a TMA load in flight",
                      first.x, first.y, first.z);
}

void emu_run_grid(const dcc_emu_geometry &g, const std::function<void()> &body)
{
    const long nx = g.grid.x / g.cluster.x, ny = g.grid.y / g.cluster.y;
    const long n = nx * ny * (g.grid.z / g.cluster.z);
    const int threads = emu_settings().threads;

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (n > 1)
    for (long i = 0; i < n; i++)
        emu_run_cluster(g,
                        {(unsigned)(i % nx) * g.cluster.x,
                         (unsigned)(i / nx % ny) * g.cluster.y,
                         (unsigned)(i / (nx * ny)) * g.cluster.z},
                        body);
    emu_check_behind();
}
