#include "family/contract.h"
#include "template.h"

#include <string.h>

/* Contractions on the ordinary pipes of any GPU: exact f32 multiply-adds, and
 * sums of integers. Other element types are converted as they are loaded. */

typedef struct Shape {
    int bm, bn, tm, tn;
} Shape;

static const Shape shapes[] = {
    {128, 128, 8, 16}, {128, 256, 8, 16}, {64, 128, 8, 16}, {32, 128, 8, 16},
    {128, 64, 8, 8},   {64, 128, 8, 8},   {64, 64, 8, 8},   {32, 128, 8, 8},
    {32, 64, 8, 8},    {64, 64, 4, 8},    {64, 64, 8, 4},   {32, 64, 4, 8},
    {16, 64, 4, 8},    {64, 32, 8, 4},    {32, 32, 8, 4},   {128, 32, 8, 4},
    {32, 32, 4, 4},    {16, 128, 4, 8},   {16, 64, 4, 4},   {16, 32, 4, 4},
    {64, 16, 4, 4},    {128, 16, 8, 4},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* A warp's lanes are LANES / lanes_n x lanes_n. */
enum { LANES = 32 };

static int lanes_n(const Tile *t)
{
    return t->bn < 8 * t->wn ? 4 : 8;
}

/* Threads that have all sums of a tile. */
static int slice_threads(const Tile *t)
{
    return t->bm / t->wm * (t->bn / t->wn);
}

/* Parts of each tile's k, multiplied by threads of their own. */
static int slices(const Tile *t)
{
    return t->threads / slice_threads(t);
}

static const char *open_simt(Contract *x, Graph *g, const Group *gr,
                             const Options *o)
{
    const char *why = NULL;

    if (!contract_open(x, g, gr, o, &why))
        return why;
    contract_loads(x);
    return NULL;
}

static const char *applicable(Graph *g, const Group *gr, const Options *o)
{
    Contract x;

    return open_simt(&x, g, gr, o);
}

static bool sensible(const Contract *x, const Tile *t)
{
    if (t->bm > 16 && t->bm / 2 >= x->c.M)
        return false;
    return t->bn <= 16 || t->bn / 2 < x->c.N;
}

/* Steps of four k between two meetings of the block. */
static int steps(const Contract *x)
{
    return x->t.bk / 4 / slices(&x->t);
}

/* Sums, a's part of four k, b's of four columns, what the copies keep. Where
 * all steps of a tile's k are written out in a row, the compiler reads factors
 * ahead, AHEAD registers and more if it thinks that there are some: seen to
 * spill beyond ALL. Written out two by two they were not, up to LIMIT. */
static const char *plan_simt(Contract *x)
{
    enum { AHEAD = 8, ALL = 208, LIMIT = 224 };
    const Tile *t = &x->t;
    const char *why = contract_plan(x);
    int inner = t->wm * t->wn + 4 * t->wm + 2 * x->c.n_batch - 4;

    if (x->a.n_need + x->b.n_need > 0)
        inner += 8;
    x->unroll = steps(x);
    contract_regs(x, inner + (x->unroll > 2 ? AHEAD : 0));
    if (x->unroll > 2 && x->regs > ALL) {
        x->unroll = 2;
        contract_regs(x, inner);
    }
    if (!why && x->regs > LIMIT)
        why = "more registers than a thread may have";
    return why;
}

static const char *text(const Contract *x, const Tile *t)
{
    return arena_printf(x->g->arena, "%s slices=%d", contract_text(x, t),
                        slices(t));
}

static void add_variant(const Contract *x, const Tile *t, Variant *v, int *n)
{
    Contract y = *x;

    y.t = *t;
    if (plan_simt(&y))
        return;
    contract_knobs(&y, t, &v[*n]);
    v[(*n)++].text = text(&y, t);
}

/* A tile's k is shared by blocks, and by slices of a block: the latter join
 * their sums in shared memory, so the former must be a cluster. */
static void add_shares(const Contract *x, const Tile *base, Variant *v, int *n)
{
    int split[10], n_split = contract_splits(x, base, split);
    Tile t = *base;

    for (int i = 0; i < n_split; i++) {
        t.split = split[i];
        add_variant(x, &t, v, n);
        bool joins = t.split == 1 || (x->o->device->sm >= 90 && t.split <= 4);
        for (int s = 2; joins && s <= t.bk / 4 && s * base->threads <= 512;
             s *= 2) {
            t.threads = s * base->threads;
            add_variant(x, &t, v, n);
        }
        t.threads = base->threads;
    }
}

static void add_shape(const Contract *x, const Shape *s, Variant *v, int *n,
                      int most)
{
    bool async = contract_async(x);

    for (int bk = 32; bk >= 8; bk /= 2)
        for (int stages = async ? 4 : 2; stages >= 2; stages--) {
            Tile t = {.bm = s->bm, .bn = s->bn, .bk = bk, .stages = stages,
                      .split = 1, .wm = s->tm, .wn = s->tn};
            t.threads = slice_threads(&t);
            bool short_k = x->c.K <= 3 * bk;
            if (t.threads < LANES || *n + 24 > most || !sensible(x, &t) ||
                (bk == 8 && !short_k) || (stages == 2 && async && !short_k))
                continue;
            add_shares(x, &t, v, n);
        }
}

static int space(Graph *g, const Group *gr, const Options *o, Variant **out)
{
    enum { MOST = 1500 };
    Contract *form = arena_new_of(g->arena, Contract);
    int n = 0;

    *out = arena_array(g->arena, Variant, MOST);
    if (open_simt(form, g, gr, o))
        return 0;
    for (int i = 0; i < N_SHAPES; i++)
        add_shape(form, &shapes[i], *out, &n, MOST);
    for (int i = 0; i < n; i++)
        (*out)[i].form = form;
    return n;
}

/* ---- cost -------------------------------------------------------------- */

/* Fraction of the issued instructions that multiply: for four k, besides
 * them, TM + TN reads of shared memory and some addresses; once a tile,
 * copies, a barrier and the loop. The busier shared memory is with the reads,
 * the longer they queue. */
static double efficiency(const Contract *x)
{
    const Tile *t = &x->t;
    double sums = (double)t->wm * t->wn, quads = t->bk / 4.0 / slices(t);
    double reads = (t->wm + t->wn) * 1.3;
    double copies = 2.0 * x->a.passes + 2.0 * x->b.passes;

    if (!x->a.async)
        copies += 12.0 * x->a.passes;
    if (!x->b.async)
        copies += 12.0 * x->b.passes;
    double multiply = 4 * sums * quads;
    double turns = quads / x->unroll; /* of the loop: each reads, then waits */
    double busy = 2.0 * (t->wm + t->wn) / sums;
    return 0.95 * multiply / (multiply + reads * quads + copies + 25 * turns) /
           (1 + 0.5 * busy * busy);
}

/* A block alone on its SM waits at each tile's barrier. */
static bool alone(const Contract *x)
{
    const Device *d = x->o->device;

    return 2 * x->t.threads * (x->regs + 16) > d->regs_sm ||
           2 * (contract_smem(x) + 1024) > (size_t)d->smem_sm_kb * 1024;
}

static void cost(Graph *g, const Group *gr, const Options *o,
                 const Variant *v, Cost *c)
{
    Contract x;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if (v->form)
        x = *(const Contract *)v->form;
    else if ((c->why = open_simt(&x, g, gr, o)))
        return;
    x.t = contract_tile(v);
    if ((c->why = plan_simt(&x)))
        return;
    const Tile *t = &x.t;
    double k_steps = (double)x.c.K / t->split;
    double blocks = (double)contract_tiles(&x) * (double)x.c.batches *
                    t->split;
    w.pipe = PIPE_FMA;
    w.efficiency = efficiency(&x);
    w.warps_full = t->wm * t->wn >= 64 ? 7 : 10;
    /* lanes share vectors: a warp's read takes two rows of the banks */
    w.smem_bytes = blocks * k_steps * slice_threads(t) * (t->wn + t->wm) * 2;
    w.thread_ops = 8.0 * t->wm * t->wn;
    w.thread_loads = t->wm + t->wn;
    w.bank_conflict = 1;
    contract_work(&x, &w);
    if (blocks <= o->device->sms || alone(&x))
        w.fill_us += k_steps / t->bk * 110 / (o->device->clock_ghz * 1e3);
    w.fill_us += (slices(&x.t) - 1) * 0.05;
    model_cost(o->device, &w, c);
}

/* ---- text -------------------------------------------------------------- */

/* Where a vector of a fragment begins. A K-major tile gives four k of one
 * row, the other sort four rows of one k: `row` is the index of the former,
 * `piece` of the latter's four rows, `k` of its k. */
static const char *vector_at(const Contract *x, const Load *l,
                             const char *thread, const char *row,
                             const char *piece, const char *k)
{
    Arena *a = x->g->arena;
    const char *lanes = l->side == &x->m ? "LANES_M" : "LANES_N";
    const char *kk = slices(&x->t) > 1 ? "slice_k + kk" : "kk";

    if (l->k_major)
        return arena_printf(a, "%s[stage][%s + %s * %s][%s]", l->tile, thread,
                            row, lanes, kk);
    return arena_printf(a, "%s[stage][%s + %s]\n    [%s + %s * (%s * 4)]",
                        l->tile, kk, k, thread, piece, lanes);
}

/* Rows or columns of the tile that the sums are. */
static const char *sum_at(const Contract *x, const Load *l, const char *thread,
                          const char *number, const char *piece,
                          const char *part)
{
    Arena *a = x->g->arena;
    const char *lanes = l->side == &x->m ? "LANES_M" : "LANES_N";

    if (l->k_major)
        return arena_printf(a, "%s + %s * %s", thread, number, lanes);
    return arena_printf(a, "%s + %s * (%s * 4) + %s", thread, piece, lanes,
                        part);
}

static const char *place(Contract *x)
{
    const Tile *t = &x->t;
    int warps = slice_threads(t) / LANES;

    kernel_constant(x->g, x->kernel, "LANES_M", LANES / lanes_n(t), NULL);
    kernel_constant(x->g, x->kernel, "LANES_N", lanes_n(t), NULL);
    if (slices(t) == 1)
        return "const int warp = threadIdx.x / 32;\n";
    return arena_printf(x->g->arena,
                        "const int warp = threadIdx.x / 32 %% %d;\n"
                        "const int slice = threadIdx.x / 32 / %d;\n"
                        "const int slice_k = slice * (BK / SLICES);\n",
                        warps, warps);
}

static void build(Graph *g, Group *gr, const Options *o, const Variant *v,
                  Kernel *k)
{
    Contract x;

    if (open_simt(&x, g, gr, o))
        return;
    x.t = contract_tile(v);
    if (plan_simt(&x))
        return;
    bool sliced = slices(&x.t) > 1;
    contract_begin(&x, k);
    Slot extra[] = {
        {"T", x.acc == T_F32 ? "float" : "int"},
        {"VECTOR", x.acc == T_F32 ? "dcc_f32x4" : "dcc_i32x4"},
        {"PLACE", place(&x)},
        {"A_NEXT", x.a.k_major ? "" : " * 4"},
        {"B_NEXT", x.b.k_major ? "" : " * 4"},
        {"A_AT", vector_at(&x, &x.a, "thread_m", "i", "i % (TM / 4)",
                           "i / (TM / 4)")},
        {"B_AT", vector_at(&x, &x.b, "thread_n", "(j * 4 + c)", "j", "c")},
        {"A", x.a.k_major ? "a_frag[i].v[e]"
                          : "a_frag[e * (TM / 4) + i / 4].v[i % 4]"},
        {"B", x.b.k_major ? "b_frag[c].v[e]" : "b_frag[e].v[c]"},
        {"STEPS", sliced ? "BK / SLICES" : "BK"},
        {"UNROLL", x.unroll < steps(&x) ? "#pragma unroll 2\n"
                                        : "#pragma unroll\n"},
        {"SLICE", sliced ? "slice * BM + " : ""},
        {"ROW", sum_at(&x, &x.a, "thread_m", "i", "i / 4", "i % 4")},
        {"COL", sum_at(&x, &x.b, "thread_n", "(j * 4 + c)", "j", "c")},
    };
    contract_body(&x, "contract_simt.cu.in", "contract_simt_sums.cu.in",
                  extra, (int)(sizeof extra / sizeof *extra));
    k->family = "contract_simt";
    k->variant = text(&x, &x.t);
}

const Family family_contract_simt = {
    "contract_simt", 2, applicable, space, cost, build,
};
