#include "family/contract/skinny/contract_skinny.h"

#include <math.h>
#include <string.h>

/* Few rows against many weights: which variants there are, and their cost. */

enum { KNOB_COLS, KNOB_WARPS_N, KNOB_WARPS_K, KNOB_DEEP, KNOB_SPLIT };
/* Of 32 rows each took two to four times its prediction on an H200: what warps
 * and blocks exchange grows with them. Tiles of 64 rows take less. */
enum { MOST_ROWS = 16 };

/* ---- which groups ------------------------------------------------------ */

static bool tensor_core_types(const Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    return a == b && (a == T_F16 || a == T_BF16) && x->o->device->sm >= 80;
}

static bool stores_to(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

static bool uses_any(const Idx *e, const Side *s)
{
    for (int i = 0; i < s->n; i++)
        if (idx_uses(e, s->v[i]))
            return true;
    return false;
}

static const Var *as_number(const Side *s)
{
    return s->n == 1 ? s->v[0] : s->linear;
}

/* The weights as a matrix: offset = c_n * n + c_k * k + of the batch. */
static const char *find_matrix(SkinnyForm *f)
{
    Contract *x = &f->x;
    Load *l = &x->b;
    IdxPool *p = x->g->pool;

    contract_split_offset(x, l);
    f->k = as_number(&x->k);
    f->n = as_number(&x->n);
    int64_t ck = idx_coef(l->k_part, f->k), cn = idx_coef(l->row_part, f->n);
    const Idx *k = idx_scale(p, idx_var(p, f->k), ck);
    const Idx *n = idx_scale(p, idx_var(p, f->n), cn);
    const Idx *rest = idx_sub(p, l->row_part, n);
    if (idx_sub(p, l->k_part, k) != idx_const(p, 0) ||
        uses_any(rest, &x->n) || idx_uses(rest, f->n))
        return "weights that are no matrix";
    f->k_major = ck == 1;
    if (!f->k_major && cn != 1)
        return "weights without neighbours in memory";
    int most = 16 / f->size;
    const Idx *other = idx_add(p, rest, f->k_major ? n : k);
    f->align = (int)idx_align(other, most);
    while ((f->k_major ? x->c.K : x->c.N) % f->align)
        f->align /= 2;
    return NULL;
}

const char *skinny_open(SkinnyForm *f, Graph *g, const Group *gr,
                        const Options *o)
{
    Contract *x = &f->x;
    const char *why = NULL;

    if (!contract_open(x, g, gr, o, &why))
        return why;
    const Operand *w = &x->c.b;
    if (x->acc != T_F32 || !type_is_float(x->c.a.type))
        return "integers";
    f->mma = tensor_core_types(x);
    if (x->c.M > MOST_ROWS)
        return "too many rows";
    if ((why = skinny_check_rows(x)))
        return why;
    if (x->c.N < 4 * x->c.M)
        return "too few columns";
    if (!w->read || guard_truth(w->in) != ALWAYS)
        return "weights that are no plain read";
    if (!type_is_float(w->read->tensor->type) ||
        stores_to(gr, w->read->tensor))
        return "weights that are no float parameters";
    f->size = type_bytes(w->read->tensor->type);
    x->mma = true;
    x->elem = f->mma ? x->c.a.type : T_F32;
    contract_loads(x);
    return find_matrix(f);
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    SkinnyForm *f = arena_new_of(g->arena, SkinnyForm);

    *why = skinny_open(f, g, gr, o);
    return *why ? NULL : f;
}

/* ---- variants ---------------------------------------------------------- */

static int ceil_div(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

/* Rows of x fall on banks so that the 4 x 8 lanes of a fragment do not meet. */
static int x_pad(const Skinny *s)
{
    int want = s->f->k_major ? 64 : 32;

    if (!s->f->mma)
        return 4;
    return (want + 128 - s->x.t.bk * 2 % 128) % 128 / 2;
}

static void plan_lanes(Skinny *s, const Variant *v)
{
    const SkinnyForm *f = s->f;

    s->cols = v->knob[KNOB_COLS];
    s->lane_k = f->k_major ? 16 / f->size : 4;
    s->lane_n = f->k_major ? 1 : s->cols / 8;
    s->k_step = 4 * s->lane_k;
    s->words = s->cols / 8 * s->lane_k * f->size / 4;
    s->warps_n = v->knob[KNOB_WARPS_N];
    s->warps_k = v->knob[KNOB_WARPS_K];
    s->deep = v->knob[KNOB_DEEP];
    s->columns = s->cols * s->warps_n;
}

/* Registers of a thread's sums. */
static int sums(const Skinny *s)
{
    int64_t m = s->x.c.M;

    return s->cols / 8 * (int)(s->f->mma ? (m + 7) / 8 * 2 : m);
}

static const char *check(const Skinny *s)
{
    const Tile *t = &s->x.t;
    const Device *d = s->x.o->device;

    if (t->threads < 64 || t->threads > 512)
        return "blocks of 64 to 512 threads";
    if (t->split > 1 && d->sm < 90)
        return "a split needs clusters";
    if (s->columns % t->split || s->columns / t->split < 2)
        return "a block finishes at least 2 columns";
    if ((t->split - 1) * s->steps >= ceil_div(s->x.c.K, s->k_step))
        return "a block without a part of K";
    if (s->warps_k > s->steps)
        return "more warps than steps";
    if (s->deep > 1 && s->warps_k * s->deep / 2 >= s->steps)
        return "deeper than K";
    if (!s->f->k_major && s->lane_n * s->f->size < 4)
        return "a lane holds words";
    if (s->words * s->deep > 64 || sums(s) > 64)
        return "too many registers";
    if (t->split * s->warps_k > 32)
        return "too many partial sums";
    return (double)s->smem / 1024 > d->smem_block_kb ? "too much shared memory"
                                                     : NULL;
}

const char *skinny_plan(Skinny *s, const SkinnyForm *f, const Variant *v)
{
    memset(s, 0, sizeof *s);
    s->f = f;
    s->x = f->x;
    plan_lanes(s, v);
    Tile *t = &s->x.t;
    t->split = v->knob[KNOB_SPLIT];
    s->steps = ceil_div(ceil_div(f->x.c.K, s->k_step), t->split);
    t->threads = s->warps_n * s->warps_k * 32;
    t->bm = (int)f->x.c.M;
    t->bn = s->columns / t->split;
    t->bk = s->steps * s->k_step;
    t->stages = 1;
    s->pad = x_pad(s);
    size_t parts = (size_t)(t->split * s->warps_k);
    s->smem = (size_t)t->bm * (size_t)(t->bk + s->pad) *
                  (size_t)type_bytes(s->x.elem) +
              parts * (size_t)t->bm * (size_t)(t->bn + 8) * 4 + 16 +
              (size_t)skinny_row_values(&s->x) * (size_t)t->bm * 4;
    s->x.regs = s->words * s->deep + sums(s) + 44;
    return check(s);
}

static const char *variant_text(const Skinny *s)
{
    return arena_printf(s->x.g->arena,
                        "cols=%d warps_n=%d warps_k=%d deep=%d split=%d",
                        s->cols, s->warps_n, s->warps_k, s->deep,
                        s->x.t.split);
}

static void add_variant(const SkinnyForm *f, const int *knob, Variant *v,
                        int *n)
{
    Variant one = {.text = NULL};
    Skinny s;

    memcpy(one.knob, knob, 5 * sizeof *knob);
    if (skinny_plan(&s, f, &one))
        return;
    one.text = variant_text(&s);
    v[(*n)++] = one;
}

static int space(const void *form, Variant **out)
{
    enum { MOST = 1000 };
    const SkinnyForm *f = form;
    int n = 0, k[5];

    *out = arena_array(f->x.g->arena, Variant, MOST);
    int least = f->k_major ? 16 : 8, most = f->k_major ? 32 : 128 / f->size;
    for (k[0] = least; k[0] <= most; k[0] *= 2)
        for (k[1] = 1; k[1] <= 4; k[1] *= 2)
            for (k[2] = 1; k[2] <= 8; k[2] *= 2)
                for (k[3] = 1; k[3] <= 8; k[3] *= 2)
                    for (k[4] = 1; k[4] <= 8 && n < MOST; k[4] *= 2)
                        add_variant(f, k, *out, &n);
    return n;
}

/* ---- cost -------------------------------------------------------------- */

double skinny_room(const Contract *x, size_t smem)
{
    const Device *d = x->o->device;
    double room = fmin(d->threads_sm / x->t.threads,
                       d->regs_sm / ((x->regs + 7) / 8 * 8.0) / x->t.threads);

    room = fmin(room, d->smem_sm_kb * 1024 / ((double)smem + 1024));
    return fmax(1, floor(room));
}

void skinny_work(const Contract *x, const SkinnyForm *f, int columns,
                 int parts, size_t smem, Work *w)
{
    const Tile *t = &x->t;
    double tiles = (double)ceil_div(x->c.N, columns) * (double)x->c.batches;
    double blocks = tiles * t->split;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->elem);
    double weights = (double)columns * t->bk * f->size;

    w->pipe = f->mma ? PIPE_MMA : PIPE_FMA;
    w->efficiency = 0.5;
    w->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K *
               (double)x->c.batches;
    w->padded_flops = w->flops;
    w->special = x->special * blocks * t->bm * t->bn;
    w->blocks = blocks;
    w->threads = t->threads;
    w->regs = x->regs;
    w->smem_block = (double)smem;
    w->block_bytes = x_bytes + weights;
    w->l2_bytes = blocks * (x_bytes + weights) + x->out_bytes;
    w->scatter = 1;
    w->block_ops = w->flops / blocks;
    w->smem_bytes = blocks * (double)columns * parts * t->bm * 12;
    w->thread_ops = 1e6;
    w->thread_loads = 1;
    w->warps_full = 4;
    w->fill_us = ceil_div(t->bm * t->bn, t->threads) * 60 /
                 (x->o->device->clock_ghz * 1e3);
}

static double room_of(const Skinny *s)
{
    return skinny_room(&s->x, s->smem);
}

/* Bytes of weights under way to an SM. */
static double under_way(const Skinny *s, double blocks)
{
    double per_sm = blocks / s->x.o->device->sms;

    return fmin(room_of(s), per_sm) * s->x.t.threads * s->words * s->deep * 4.0;
}

/* How much longer the memory takes if too few bytes are under way. */
static double sparse(const Skinny *s, double blocks)
{
    enum { ENOUGH = 44 << 10 };
    double per_sm = blocks / s->x.o->device->sms;
    double all = per_sm * s->columns * s->x.t.bk * s->f->size;
    bool once = s->steps <= s->warps_k * s->deep;

    return fmax(1, fmin(ENOUGH, all) /
                       (under_way(s, blocks) * (once ? 1 : 0.9)));
}

/* Clocks until the rows of x are there, beyond those in which the first
 * weights come; no more of these are asked for before. */
static double wait_for_x(const Skinny *s, double blocks, double x_bytes)
{
    enum { L2_CLK = 48 }; /* bytes of an SM */
    const Device *d = s->x.o->device;
    double per_sm = fmin(room_of(s), fmax(1, blocks / d->sms));
    double hbm_clk = d->hbm_gbs / d->clock_ghz / d->sms;

    return fmax(0, x_bytes * per_sm / L2_CLK -
                       under_way(s, blocks) / hbm_clk);
}

/* The fullest SM's share of the blocks over the mean one; where there are
 * many they go where there is room, and only the last ones are uneven. */
static double imbalance(const Skinny *s, double blocks)
{
    double per_sm = blocks / s->x.o->device->sms, room = room_of(s);

    if (per_sm <= room)
        return fmax(1, 0.5 + 0.5 * ceil(per_sm) / per_sm);
    return 1 + 0.4 * room / per_sm;
}

static void work(const Skinny *s, Work *w)
{
    const Contract *x = &s->x;
    const Tile *t = &x->t;
    const Device *d = x->o->device;
    double clk = d->clock_ghz * 1e3;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->elem);
    double narrow = s->f->align * s->f->size < 16 ? 1.3 : 1;

    /* four lanes side by side have 64 bytes of a column, 8 others are far */
    if (s->f->k_major && x->c.K * s->f->size > 512)
        narrow = fmax(narrow, 1.25);
    if (!s->f->k_major) /* runs of few bytes in the rows of memory */
        narrow = fmax(narrow, s->cols * s->f->size < 64    ? 1.4
                              : s->cols * s->f->size < 128 ? 1.1
                                                           : 1);
    skinny_work(x, s->f, s->columns, s->warps_k, s->smem, w);
    double blocks = w->blocks;
    if (s->f->mma)
        w->padded_flops *= ((t->bm + 7) / 8 * 8.0) / t->bm;
    w->hbm_bytes = x->hbm_bytes * 0.97 * imbalance(s, blocks) * narrow *
                   sparse(s, blocks);
    w->scatter = narrow;
    double row_bytes = s->f->mma ? ceil_div(t->bm, 8) * 8 : t->bm * 1.0;
    w->smem_bytes += blocks * x_bytes *
                     (1 + s->warps_n * row_bytes / t->bm * (s->f->mma ? 1 : 2));
    w->in_flight = 32 << 10; /* sparse() has counted */
    /* the first weights, the sums of the warps and those of the cluster */
    w->fill_us += (d->hbm_latency * 1.3 + 500 + 8.0 * t->split * s->warps_k) /
                  clk;
    w->fill_us += wait_for_x(s, blocks, x_bytes) / clk;
    if (s->f->k_major)
        w->fill_us += x_bytes / 70 / clk;
    if (t->split > 1) /* measured on an H200, with 2 to 8 blocks */
        w->fill_us += 0.9;
    w->fill_us += skinny_rows_clk(s) / clk;
    if (!x->a.async) /* x comes through registers */
        w->fill_us += (d->l2_latency + 4.0 * t->bm * t->bk / t->threads) / clk;
}

static void cost(const void *form, const Variant *v, Cost *c)
{
    Skinny s;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = skinny_plan(&s, form, v)))
        return;
    work(&s, &w);
    model_cost(s.x.o->device, &w, c);
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Skinny s;

    if (skinny_plan(&s, form, v))
        return;
    k->variant = variant_text(&s);
    skinny_build(&s, k);
}

const Family family_contract_skinny = {
    .name = "contract_skinny",
    .version = 1,
    .open = open,
    .space = space,
    .cost = cost,
    .build = build,
};
