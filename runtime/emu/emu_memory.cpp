/* emu_memory.cpp - device memory (dcc_emu_host.h), and who may touch it when.
 *
 * Behind each allocation lie bytes of a pattern of its own, which no kernel may
 * change; as floats they are NaN. In early mode allocations are whole pages,
 * and the machine's own protection finds a thread that touches them too early.
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

#include <map>
#include <mutex>

#include "emu.h"

/* The address sanitizer has bytes of its own behind. */
#if defined(__SANITIZE_ADDRESS__)
enum { EMU_BEHIND = 0 };
#else
enum { EMU_BEHIND = 256 };
#endif

struct EmuAllocation {
    size_t bytes, pages; /* pages: bytes of them, early mode */
    int constant; /* dcc_emu_constant's */
    unsigned mark; /* of the bytes behind it */
};

struct EmuHeap {
    std::mutex lock;
    std::map<void *, EmuAllocation> blocks;
    size_t used = 0;
    unsigned made = 0;
    bool closed = false;
};

static EmuHeap &emu_heap()
{
    static EmuHeap heap;

    return heap;
}

/* ---- early mode: closed memory ---- */

static struct sigaction emu_old_action;

static EmuAllocation *emu_find(EmuHeap &heap, const void *p)
{
    auto after = heap.blocks.upper_bound((void *)p);

    if (after == heap.blocks.begin())
        return NULL;
    --after;
    const size_t at = (size_t)((const char *)p - (const char *)after->first);
    return at < after->second.pages ? &after->second : NULL;
}

/* "reads" or "writes" where the machine tells. */
static const char *emu_access(void *context)
{
#if defined(__x86_64__)
    const ucontext_t *u = (const ucontext_t *)context;

    return u->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
#else
    (void)context;
    return "touches";
#endif
}

/* An access to closed memory is the kernel's defect; what else faults is not
 * ours to report. */
static void emu_on_fault(int, siginfo_t *info, void *context)
{
    EmuHeap &heap = emu_heap();
    const EmuAllocation *a = emu_find(heap, info->si_addr);

    if (a && emu_scheduler && emu_scheduler->current) {
        if (!heap.closed)
            dcc_emu_fault("a kernel writes to constants");
        dcc_emu_fault("%s %s before dcc_grid_wait", emu_access(context),
                      a->constant ? "constants" : "memory");
    }
    sigaction(SIGSEGV, &emu_old_action, NULL);
}

static void emu_catch_faults()
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = emu_on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &emu_old_action);
}

static void emu_protect(const EmuHeap &heap, void *p, const EmuAllocation &a)
{
    const int open_ = a.constant == 1 ? PROT_READ : PROT_READ | PROT_WRITE;
    const int closed = a.constant ? PROT_READ : PROT_NONE;

    if (mprotect(p, a.pages, heap.closed ? closed : open_) != 0)
        dcc_emu_fault("mprotect failed");
}

void emu_close_memory(bool closed)
{
    EmuHeap &heap = emu_heap();

    if (!emu_settings().early || heap.closed == closed)
        return;
    heap.closed = closed;
    for (const auto &b : heap.blocks)
        if (b.second.constant != 1)
            emu_protect(heap, b.first, b.second);
}

void dcc_emu_constant(void *p, size_t bytes, int constant)
{
    EmuHeap &heap = emu_heap();
    std::lock_guard<std::mutex> hold(heap.lock);
    auto block = heap.blocks.find(p);

    if (!p || !emu_settings().early)
        return;
    if (block == heap.blocks.end() || block->second.bytes != bytes)
        dcc_emu_fault("dcc_emu_constant: %p is no allocation of %zu bytes", p,
                      bytes);
    block->second.constant = constant;
    emu_protect(heap, p, block->second);
}

/* Whole pages, so that they can be closed: large ones where there are many,
 * since each block of a grid closes and opens them all. */
static void *emu_take_pages(EmuAllocation *a)
{
    static const bool ready = (emu_catch_faults(), true);
    const size_t huge = (size_t)2 << 20;
    const size_t bytes = a->bytes + EMU_BEHIND;
    const size_t page = bytes < huge ? (size_t)sysconf(_SC_PAGESIZE) : huge;

    (void)ready;
    a->pages = (bytes + page - 1) / page * page;
    char *p = (char *)mmap(NULL, a->pages + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    const size_t before = (page - (uintptr_t)p % page) % page;
    if (before)
        munmap(p, before);
    p += before;
    munmap(p + a->pages, page - before);
    if (page == huge)
        madvise(p, a->pages, MADV_HUGEPAGE);
    return p;
}

/* ---- what nobody wrote yet ---- */

/* NaN in f32, f16 and bf16, and a large i32: one below 0 often stands for none,
 * and does no harm. p is aligned to 4. */
void emu_fill(void *p, size_t bytes)
{
    unsigned char *to = (unsigned char *)p;

    static_assert(sizeof(wchar_t) == 4, "wmemset is of 4 bytes");
    wmemset((wchar_t *)p, 0x7fc17fc1, bytes / 4);
    for (size_t i = bytes / 4 * 4; i < bytes; i++)
        to[i] = i % 2 ? 0x7f : 0xc1;
}

/* ---- what lies behind an allocation ---- */

/* 0x7f at odd places, as above, but not the bytes behind the allocation made
 * before, which a copy of one element too many would bring along. */
static unsigned char emu_behind(const EmuAllocation &a, size_t i)
{
    return (a.bytes + i) % 2 ? 0x7f : (unsigned char)(0xc1 + a.mark % 62);
}

static void emu_mark_behind(void *p, const EmuAllocation &a)
{
    for (size_t i = 0; i < EMU_BEHIND; i++)
        ((unsigned char *)p)[a.bytes + i] = emu_behind(a, i);
}

void emu_check_behind()
{
    EmuHeap &heap = emu_heap();
    std::lock_guard<std::mutex> hold(heap.lock);

    for (const auto &b : heap.blocks) {
        const unsigned char *end =
            (const unsigned char *)b.first + b.second.bytes;
        for (size_t i = 0; i < EMU_BEHIND; i++)
            if (end[i] != emu_behind(b.second, i))
                dcc_emu_fault("a kernel writes behind memory of %zu bytes, to "
                              "byte %zu", b.second.bytes, b.second.bytes + i);
    }
}

/* ---- allocation ---- */

static size_t emu_memory_limit()
{
    static const size_t there =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);

    return (size_t)emu_number("DCC_EMU_MEMORY", SIZE_MAX, there);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    EmuHeap &heap = emu_heap();
    std::lock_guard<std::mutex> hold(heap.lock);

    *total = emu_memory_limit();
    *available = *total > heap.used ? *total - heap.used : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    EmuHeap &heap = emu_heap();
    std::lock_guard<std::mutex> hold(heap.lock);
    EmuAllocation a = {bytes, 0, 0, ++heap.made};
    void *p = NULL;

    *out = NULL;
    if (bytes == 0)
        return cudaSuccess;
    if (heap.used > emu_memory_limit() ||
        bytes > emu_memory_limit() - heap.used)
        return emu_error(cudaErrorMemoryAllocation);
    if (emu_settings().early)
        p = emu_take_pages(&a);
    else if (posix_memalign(&p, 256, bytes + EMU_BEHIND) != 0)
        p = NULL;
    if (!p)
        return emu_error(cudaErrorMemoryAllocation);
    emu_fill(p, bytes);
    emu_mark_behind(p, a);
    heap.blocks[p] = a;
    heap.used += bytes;
    *out = p;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    EmuHeap &heap = emu_heap();
    std::lock_guard<std::mutex> hold(heap.lock);

    if (!p)
        return cudaSuccess;
    auto block = heap.blocks.find(p);
    if (block == heap.blocks.end())
        return emu_error(cudaErrorInvalidValue);
    const EmuAllocation a = block->second;
    heap.used -= a.bytes;
    heap.blocks.erase(block);
    if (a.pages)
        munmap(p, a.pages);
    else
        free(p);
    return cudaSuccess;
}
