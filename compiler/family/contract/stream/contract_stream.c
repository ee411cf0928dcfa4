#include "family/contract/stream/contract_stream.h"

#include <math.h>
#include <string.h>

/* Few rows against weights along k, through rings: which variants, at what
 * cost. The text is contract_stream_build.c's. */

enum {
    KNOB_COLUMNS, KNOB_WARPS, KNOB_PIECE, KNOB_STAGES, KNOB_SPLIT, KNOB_RING
};
enum { SLOT_COLUMNS = 8 };

/* ---- which groups ------------------------------------------------------ */

static const char *open_stream(SkinnyForm *f, Graph *g, const Group *gr,
                               const Options *o)
{
    const char *why = skinny_open(f, g, gr, o);

    if (why)
        return why;
    if (o->device->sm < 80)
        return "needs sm_80";
    if (!f->k_major || f->align * f->size != 16)
        return "weights that are not contiguous along k in 16 bytes";
    return NULL;
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    SkinnyForm *f = arena_new_of(g->arena, SkinnyForm);

    *why = open_stream(f, g, gr, o);
    return *why ? NULL : f;
}

bool stream_whole(const Contract *x, int lane_k)
{
    const Load *l = &x->a;

    return l->async && l->along_k && l->vec == lane_k;
}

/* ---- variants ---------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows of x in the fragments of a warp: mma.sync has 16. */
static int rows(const Stream *s)
{
    int m = s->x.t.bm;

    return !s->f->mma ? m : m <= 8 ? 8 : (m + 15) / 16 * 16;
}

/* Registers of a thread for its share of x and for its sums. */
static int x_regs(const Stream *s)
{
    int steps = s->ring ? 2 : s->piece / s->k_step;

    return s->f->mma ? rows(s) / 8 * steps * 4 : rows(s) * steps * s->lane_k;
}

static int sums(const Stream *s)
{
    int tiles = s->columns / SLOT_COLUMNS;

    return tiles * (s->f->mma ? (rows(s) + 15) / 16 * 4 : rows(s));
}

static const char *check(const Stream *s)
{
    const Tile *t = &s->x.t;
    const Device *d = s->x.o->device;
    int64_t left = s->x.c.K - (int64_t)(t->split - 1) * t->bk;
    int slots = s->pieces * (s->ring ? 1 : s->columns / SLOT_COLUMNS);

    if (s->ring && (!s->f->mma || !stream_whole(&s->x, s->lane_k)))
        return "x that cannot be copied to the ring";
    if (t->split > 1 && d->sm < 90)
        return "a split needs clusters";
    if (s->columns % t->split || t->bn % 8)
        return "a block finishes whole vectors of columns";
    if (left <= 0 ||
        (s->pieces == 1 && (s->warps - 1) * (int64_t)s->piece >= left))
        return "a warp without a part of K";
    if (s->warps % 3 == 0 && (int64_t)t->bk * t->split != s->x.c.K)
        return "three warps where two or four would do";
    if (s->stages > slots)
        return "more slots than there are weights";
    if (x_regs(s) > 64 || sums(s) > 64 || s->x.regs * t->threads > d->regs_sm)
        return "too many registers";
    if (t->split * s->warps > 32)
        return "too many partial sums";
    return (double)s->smem / 1024 > d->smem_block_kb ? "too much shared memory"
                                                     : NULL;
}

/* Shared memory of which an SM cannot have more than its share of the blocks,
 * where it would have room for more: blocks that begin beside other launches
 * then do not crowd on the SMs that are free, and may begin at once (see
 * dependent.c). */
static size_t spread(const Stream *s)
{
    const Device *d = s->x.o->device;
    double blocks = (double)ceil_div(s->x.c.N, s->columns) * s->x.t.split *
                    (double)s->x.c.batches;
    size_t share = (size_t)ceil(blocks / d->sms);

    return (size_t)d->smem_sm_kb / (share + 1) * 1024;
}

/* Where rows of weights lie on the same channels of the memory, pieces that a
 * warp has under way come from parts of its k that lie apart (see dcc_leap): 1%
 * to 2% less for 4096 and 11008 columns over 4096 k, but 1% to 5% more for 4096
 * over 25088, whose rows are spread without. */
static int leaps(const Stream *s)
{
    enum { CHANNELS = 4096 }; /* bytes that all channels have a part of */

    if (!s->ring || s->pieces < 8 || s->x.c.K * s->f->size % CHANNELS)
        return 1;
    return s->pieces % 4 == 0 ? 4 : s->pieces % 2 == 0 ? 2 : 1;
}

static void count_read(const Expr *e, void *n)
{
    *(int *)n += e->kind == E_READ;
}

/* Registers of what an x that is computed reads besides: many of these are
 * under way at one time. */
static int reads_regs(const Operand *x)
{
    enum { EACH = 18 };
    int reads = 0;

    if (x->read)
        return 0;
    expr_visit(x->e, count_read, &reads);
    return reads > 1 ? (reads - 1) * EACH : 0;
}

const char *stream_plan(Stream *s, const SkinnyForm *f, const Variant *v)
{
    memset(s, 0, sizeof *s);
    s->f = f;
    s->x = f->x;
    s->columns = v->knob[KNOB_COLUMNS];
    s->warps = v->knob[KNOB_WARPS];
    s->piece = v->knob[KNOB_PIECE];
    s->stages = v->knob[KNOB_STAGES];
    s->ring = v->knob[KNOB_RING];
    s->lane_k = 16 / f->size;
    s->k_step = 4 * s->lane_k;
    Tile *t = &s->x.t;
    t->split = v->knob[KNOB_SPLIT];
    s->pieces = (int)ceil_div(f->x.c.K, (int64_t)t->split * s->warps *
                                            s->piece);
    s->leaps = leaps(s);
    t->threads = s->warps * 32;
    t->bm = (int)f->x.c.M;
    t->bn = s->columns / t->split;
    t->bk = s->pieces * s->piece * s->warps;
    t->stages = 1;
    /* columns of a slot start on different banks for 8 lanes side by side */
    s->pitch = s->piece + (s->piece * f->size % 128 ? 0 : 64 / f->size);
    s->chains = t->bm > 16 ? 2 : s->piece / s->k_step > 1 ? 4 : 2;
    int slot = s->ring ? (s->columns + t->bm) * s->piece
                       : SLOT_COLUMNS * s->pitch;
    s->smem = (size_t)(s->warps * s->stages * slot) * (size_t)f->size +
              (size_t)(t->split * s->warps * t->bm) *
                  (size_t)(t->bn + 8) * 4 + 16;
    size_t even = s->x.o->dependent ? spread(s) : 0;
    s->wide = s->smem < even;
    if (s->wide)
        s->smem = even;
    /* what finds the next piece stays in registers beside a piece's own */
    int digits = s->x.m.n + s->x.k.n; /* of a row's place, and a term's */
    s->x.regs = x_regs(s) + sums(s) + (s->pieces > 1 ? 68 : 44) +
                (digits > 2 ? 6 * (digits - 2) : 0) + reads_regs(&f->x.c.a);
    return check(s);
}

static const char *variant_text(const Stream *s)
{
    return arena_printf(s->x.g->arena,
                        "columns=%d warps=%d piece=%d stages=%d split=%d%s",
                        s->columns, s->warps, s->piece, s->stages,
                        s->x.t.split, s->ring ? " x=ring" : "");
}

static void add_variant(const SkinnyForm *f, const int *knob, Variant *v,
                        int *n)
{
    Variant one = {.text = NULL};
    Stream s;

    memcpy(one.knob, knob, 6 * sizeof *knob);
    if (stream_plan(&s, f, &one))
        return;
    one.text = variant_text(&s);
    v[(*n)++] = one;
}

static int space(const void *form, Variant **out)
{
    static const int warps[] = {2, 3, 4, 6, 8, 12, 16};
    static const int stages[] = {1, 2, 3, 4, 6, 8};
    enum { MOST = 4000 };
    const SkinnyForm *f = form;
    int n = 0, k[6];

    *out = arena_array(f->x.g->arena, Variant, MOST);
    int least = 64 / f->size * 2; /* 128 bytes of a column */
    for (k[KNOB_COLUMNS] = 16; k[KNOB_COLUMNS] <= 128; k[KNOB_COLUMNS] *= 2)
        for (int w = 0; w < 7; w++)
            for (int p = least; p <= 8 * least; p *= 2)
                for (int i = 0; i < 6; i++)
                    for (int more = 0; more < 3 && n < MOST; more++) {
                        k[KNOB_WARPS] = warps[w];
                        k[KNOB_STAGES] = stages[i];
                        k[KNOB_PIECE] = p;
                        k[KNOB_SPLIT] = more == 1 ? 2 : 1;
                        k[KNOB_RING] = more == 2;
                        add_variant(f, k, *out, &n);
                    }
    return n;
}

/* ---- cost -------------------------------------------------------------- */

static double room_of(const Stream *s)
{
    return skinny_room(&s->x, s->smem);
}

/* Bytes of weights under way to an SM. Warps beyond the end of K have none. */
static double under_way(const Stream *s, double blocks)
{
    double per_sm = fmax(1, blocks / s->x.o->device->sms);
    double used = (double)s->x.c.K / ((double)s->x.t.bk * s->x.t.split);

    int columns = s->ring ? s->columns : SLOT_COLUMNS;

    return fmin(room_of(s), per_sm) * s->warps * s->stages * columns *
           s->piece * s->f->size * used;
}

/* The memory's time over that of blocks which are all there from the start: the
 * ends of some are hidden by others, but columns are many or warps few, SMs
 * have nothing to do, or loads stop where a ring has one slot. Where an SM has
 * much to read, ends matter less, and eight warps read from more places than
 * suits the memory. As measured on an H200 with 64 to 1571 blocks of 250 KB to
 * 1.5 MB an SM; `all` is bytes of weights an SM. */
static double ring_imbalance(const Stream *s, double per_sm, double room,
                             double all)
{
    enum { SOME = 256 << 10 };
    double wide = (1 + 0.0015 * fmax(0, s->columns - 32)) *
                  (s->warps < 4 ? 1.015 : 1);
    double ends = 0.02 * fmin(1, SOME / all);
    double more = fmax(0, fmin(1, (all - SOME) / (2 * SOME)));

    if (per_sm <= room)
        wide *= s->warps < 8 ? 1 : 1 + 0.015 * more;
    if (per_sm <= 1)
        return (1 + 0.1 * (1 - per_sm)) * wide;
    if (per_sm <= room)
        return (1 - ends + 0.1 * (ceil(per_sm) / per_sm - 1)) * wide *
               (s->stages == 1 ? 1.015 : 1);
    return (0.965 + 0.08 * room / per_sm) * wide *
           (1 + 0.1 * s->x.t.bm / s->columns) * (s->stages == 1 ? 1.03 : 1);
}

/* The same for x in registers: blocks that are all there end together, and
 * nothing hides their ends; where there are many, they go where there is room,
 * and only the last ones are uneven. Fitted on an H200. */
static double imbalance(const Stream *s, double blocks, double all)
{
    double per_sm = blocks / s->x.o->device->sms, room = room_of(s);

    if (s->ring)
        return ring_imbalance(s, per_sm, room, all);
    if (per_sm > room)
        return 1.02 + 0.08 * room / per_sm;
    return per_sm <= 1 ? 1 : 1.04 + 0.06 * ceil(per_sm) / per_sm;
}

/* How much longer the memory takes if too few bytes are under way: measured on
 * an H200, where 64 KB an SM reach 0.975 of what 128 KB do; the same where x
 * comes with them, unless blocks follow others. */
static double sparse(const Stream *s, double all, double blocks)
{
    enum { LEAST = 40 << 10, ENOUGH = 128 << 10 };
    double under = fmax(under_way(s, blocks), 1);
    bool once = blocks <= s->x.o->device->sms * room_of(s);
    double enough = s->ring && once ? ENOUGH / 2 : ENOUGH;
    double less = fmax(0, 1 - under / fmin(enough, all));

    return fmax(1, fmin(LEAST, all) / under) *
           (1 + (s->ring ? 0.02 : 0.05) * less);
}

/* Clocks in which the rows of x come with the weights, of which 8 are hidden;
 * a ring of one slot is empty after each piece, while the block's neighbours go
 * on. Fitted on an H200 with 1, 8 and 16 rows. */
static double ring_clk(const Stream *s, double x_bytes, double blocks)
{
    double per_sm = fmax(1, blocks / s->x.o->device->sms);
    double beside = fmin(per_sm, room_of(s));
    double much = x_bytes * beside / (128 << 10);
    double clk = s->x.t.bm > 8 ? 570 * much * sqrt(much) : 0;

    /* few warps have long ways to their end */
    clk += fmin(1, s->pieces / 8.0) * 2000 / (s->warps * beside);
    if (s->stages == 1)
        clk += s->pieces * s->piece * 0.8 / beside;
    return clk + s->piece / s->k_step * s->columns / SLOT_COLUMNS * 20.0;
}

/* Clocks in which the rows of x come, which are asked for ahead of the first
 * piece's weights, but behind those of the next pieces; and of what the ring
 * leaves of the first-level cache, which they pass. Fitted on an H200. */
static double x_clk(const Stream *s, double x_bytes, double blocks)
{
    enum { MUCH = 128 << 10, MOST = 160 << 10 };
    double under = under_way(s, blocks), x = x_bytes / MUCH;

    if (s->ring)
        return ring_clk(s, x_bytes, blocks);
    double clk = x_bytes / 70 + x * x * under / MUCH * 1800;

    if (s->pieces > 1)
        clk += (s->pieces - 1) * 300 + (under > MUCH * 0.75 ? 1000 : 0);
    return clk + (under > MOST ? 1700 : 0);
}

static void work(const Stream *s, Work *w)
{
    const Contract *x = &s->x;
    const Tile *t = &x->t;
    const Device *d = x->o->device;
    double clk = d->clock_ghz * 1e3;
    double x_bytes = (double)t->bm * t->bk * type_bytes(x->elem);
    double weights = (double)s->columns * t->bk * s->f->size;

    skinny_work(x, s->f, s->columns, s->warps, s->smem, w);
    double blocks = w->blocks, all = blocks / d->sms * weights;
    if (s->f->mma)
        w->padded_flops *= ceil(t->bm / 16.0) * 16 / t->bm;
    w->hbm_bytes = x->hbm_bytes * (s->leaps > 1 ? 0.955 : 0.97) *
                   imbalance(s, blocks, all) * sparse(s, all, blocks);
    w->smem_bytes += blocks * 2 * weights;
    if (s->ring) /* the same few bytes for all: 67 MB took less than 7.3 us */
        w->l2_bytes -= blocks * x_bytes * 0.4;
    w->in_flight = under_way(s, blocks);
    /* the first weights; x; the last slot's products and sums; the sums of the
     * warps, through shared memory, or that of others, which is slow */
    w->fill_us += (d->hbm_latency + 300 + x_clk(s, x_bytes, blocks) +
                   (s->ring ? 0 : s->piece / s->k_step * 60.0 / s->chains) +
                   8.0 * s->warps) /
                  clk;
    if (t->split > 1)
        w->fill_us += 0.4 + 140.0 * s->warps * s->columns * t->bm /
                                t->threads / clk;
    /* Blocks that follow others start while those beside them go on. */
    double room = room_of(s), waves = fmin(8, ceil(blocks / (d->sms * room)));
    w->fill_us *= (1 + (room > 1 ? 0.15 : 0.5) * (waves - 1)) / waves;
}

static void cost(const void *form, const Variant *v, Cost *c)
{
    Stream s;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if ((c->why = stream_plan(&s, form, v)))
        return;
    work(&s, &w);
    model_cost(s.x.o->device, &w, c);
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Stream s;

    if (stream_plan(&s, form, v))
        return;
    k->variant = variant_text(&s);
    stream_build(&s, k);
}

const Family family_contract_stream = {
    .name = "contract_stream",
    .version = 1,
    .open = open,
    .space = space,
    .cost = cost,
    .build = build,
};
