#include "family/contract/stream/contract_stream.h"

#include <math.h>
#include <string.h>

/* Few rows against weights along k, through rings: which variants. The
 * text is contract_stream_build.c's. */

enum {
    KNOB_COLUMNS, KNOB_WARPS, KNOB_PIECE, KNOB_STAGES, KNOB_SPLIT, KNOB_RING
};
enum { SLOT_COLUMNS = 8, FEW_SUMS = 32 };

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

const void *stream_open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    SkinnyForm *f = arena_new_of(g->arena, SkinnyForm);

    *why = open_stream(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

bool stream_whole(const Load *x, int lane_k)
{
    return x->async && x->along_k && x->vec == lane_k;
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
    enum { LIMIT = 240 };
    const Tile *t = &s->x.t;
    const Device *d = s->f->x.o->device;
    int64_t left = s->f->x.c.K - (int64_t)(t->split - 1) * t->bk;
    int slots = s->pieces * (s->ring ? 1 : s->columns / SLOT_COLUMNS);

    if (s->ring && (!s->f->mma || !stream_whole(&s->x.a, s->lane_k)))
        return "x that cannot be copied to the ring";
    if (t->split > 1 && d->sm < 90)
        return "a split needs clusters";
    if (s->columns % t->split || t->bn % 8)
        return "a block finishes whole vectors of columns";
    if (left <= 0 ||
        (s->pieces == 1 && (s->warps - 1) * (int64_t)s->piece >= left))
        return "a warp without a part of K";
    if (s->warps % 3 == 0 && (int64_t)t->bk * t->split != s->f->x.c.K)
        return "three warps where two or four would do";
    if (s->stages > slots)
        return "more slots than there are weights";
    if (x_regs(s) > 64 || sums(s) > 64 || s->x.regs > LIMIT ||
        s->x.regs * t->threads > d->regs_sm)
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
    const Device *d = s->f->x.o->device;
    double blocks = (double)ceil_div(s->f->x.c.N, s->columns) * s->x.t.split *
                    (double)s->f->x.c.batches;
    size_t share = (size_t)ceil(blocks / d->sms);

    return (size_t)d->smem_sm_kb / (share + 1) * 1024;
}

/* Where rows of weights lie on the same channels of the memory, pieces that a
 * warp has under way come from parts of its k that lie apart (see dcc_leap).
 * Rows of 25088 terms are spread without, and lose by it. */
static int leaps(const Stream *s)
{
    enum { CHANNELS = 4096 }; /* bytes that all channels have a part of */

    if (!s->ring || s->pieces < 8 || s->f->x.c.K * s->f->size % CHANNELS)
        return 1;
    return s->pieces % 4 == 0 ? 4 : s->pieces % 2 == 0 ? 2 : 1;
}

typedef struct Reads {
    int all, guarded;
} Reads;

static void count_read(const Expr *e, void *ctx)
{
    Reads *n = ctx;

    n->all += e->kind == E_READ;
    n->guarded += e->kind == E_READ && e->in.n;
}

/* Registers of what an x that is computed reads besides: many of these are
 * under way at one time; and of a window's places, each with its condition. */
static int reads_regs(const Operand *x)
{
    enum { EACH = 18, WINDOW = 36 };
    Reads n = {0};

    if (x->read)
        return 0;
    expr_visit(x->e, count_read, &n);
    return (n.all > 1 ? (n.all - 1) * EACH : 0) + (n.guarded ? WINDOW : 0);
}

/* Registers of the addresses of all tiles, which nvcc keeps for sm_80. */
static int tile_regs(const Stream *s)
{
    enum { EACH = 6 };

    return s->f->x.o->device->sm < 90 ? s->columns / SLOT_COLUMNS * EACH : 0;
}

const char *stream_plan(Stream *s, const SkinnyForm *f, const Variant *v)
{
    memset(s, 0, sizeof *s);
    s->f = f;
    s->x = (ContractPlan){.f = &f->x, .a = f->x.a, .b = f->x.b};
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
    s->x.parts = s->warps * t->split;
    s->x.beyond = f->x.c.N % s->columns != 0;
    /* columns of a slot start on different banks for 8 lanes side by side */
    s->pitch = s->piece + (s->piece * f->size % 128 ? 0 : 64 / f->size);
    /* nvcc puts off adding up the chains of a tile until other tiles' products:
     * with four of them for 16 tiles, it spills */
    bool few = t->bm <= 16 && sums(s) <= FEW_SUMS;
    s->chains = few && s->piece / s->k_step > 1 ? 4 : 2;
    int slot = s->ring ? (s->columns + t->bm) * s->piece
                       : SLOT_COLUMNS * s->pitch;
    s->smem = (size_t)(s->warps * s->stages * slot) * (size_t)f->size +
              (size_t)(t->split * s->warps * t->bm) *
                  (size_t)(t->bn + 8) * 4 + 16;
    size_t even = s->f->x.o->dependent ? spread(s) : 0;
    s->wide = s->smem < even;
    if (s->wide)
        s->smem = even;
    /* what finds the next piece stays in registers beside a piece's own, as
     * does what the next piece of an x that is computed reads */
    int digits = s->f->x.m.n + s->f->x.k.n; /* of a row's place, and a term's */
    s->x.regs = x_regs(s) + sums(s) + (s->pieces > 1 ? 68 : 44) +
                (digits > 2 ? 6 * (digits - 2) : 0) +
                reads_regs(&f->x.c.a) * (s->pieces > 1 ? 2 : 1) +
                tile_regs(s);
    return check(s);
}

const char *stream_text(const void *form, const Variant *v)
{
    Stream s;

    stream_plan(&s, form, v);
    return arena_printf(s.f->x.g->arena,
                        "columns=%d warps=%d piece=%d stages=%d split=%d%s",
                        s.columns, s.warps, s.piece, s.stages, s.x.t.split,
                        s.ring ? " x=ring" : "");
}

static void add_variant(const SkinnyForm *f, const int *knob, Variant *v,
                        int *n)
{
    Variant one = {.text = NULL};
    Stream s;

    memcpy(one.knob, knob, 6 * sizeof *knob);
    if (stream_plan(&s, f, &one))
        return;
    v[(*n)++] = one;
}

int stream_space(const void *form, Variant **out)
{
    static const int warps[] = {2, 3, 4, 6, 8, 12, 16};
    static const int stages[] = {1, 2, 3, 4, 6, 8};
    enum { MOST = 4000 };
    const SkinnyForm *f = form;
    Variant list[MOST];
    int n = 0, k[6];

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
                        add_variant(f, k, list, &n);
                    }
    *out = family_variants(f->x.g->arena, list, n);
    return n;
}
