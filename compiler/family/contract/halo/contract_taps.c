#include "family/contract/halo/contract_taps.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Weights' gradients of convolutions of few channels: their variants. */

enum { KNOB_TP, KNOB_TQ, KNOB_BN, KNOB_M, KNOB_THREADS };
enum { MOST_REGS = 232, PIECE = 8 };

const void *taps_open(Graph *g, const Group *gr, const Options *o,
                      const char **why)
{
    HaloForm *f = arena_new_of(g->arena, HaloForm);

    *why = halo_back(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

static int ceil_div(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

static int64_t extent(const Var *v)
{
    return v ? v->extent : 1;
}

/* Pixels lie step_q elements apart: `copies` of them until one begins a piece
 * again. Of 8 neighbours ldmatrix reads 8 / copies pieces of each copy. */
static void plan_patch(Taps *h)
{
    const HaloForm *f = h->f;
    int banks = 64;

    h->shift = (f->first_q % f->align + f->align) % f->align;
    for (h->move = PIECE; f->step_q % h->move; h->move /= 2)
        ;
    h->copies = PIECE / h->move;
    h->in_rows = (int)((h->tp - 1) * f->step_p +
                       (extent(f->r) - 1) * f->dilation + 1);
    h->pitch = ceil_div((h->tq - 1) * f->step_q + PIECE * h->pieces + h->shift,
                        PIECE) * PIECE;
    h->copy = (int)extent(f->channel) * h->in_rows * h->pitch;
    while (h->copies > 1 && h->copy % banks != h->move * PIECE % banks)
        h->copy += PIECE;
}

static void plan_smem(Taps *h)
{
    const Tile *t = &h->x.t;
    size_t patch = (size_t)((extent(h->f->channel) * h->in_rows + 1) *
                            h->pitch);
    size_t sums = (size_t)(h->slices * h->rows) * (size_t)(t->bn + PIECE) * 4;

    h->ring = (2 * patch + (size_t)(h->copies * h->copy) +
               2 * (size_t)t->bm * (size_t)(t->bn + PIECE)) * 2;
    h->smem = (h->ring > sums ? h->ring : sums) + 16;
}

static const char *check(const Taps *h)
{
    const Tile *t = &h->x.t;

    if (h->warps < 1 || h->slices < 1 || h->slices * 16 > t->bm)
        return "no pixels for each warp";
    if (h->rows - h->wm >= h->groups * PIECE)
        return "warps without rows";
    if (h->x.regs > MOST_REGS)
        return "more registers than a thread may have";
    if (t->bn > 16 && t->bn / 2 >= h->f->x.c.N)
        return "a tile twice as wide as the problem";
    if ((h->tp > 2 && h->tp / 2 >= extent(h->f->p)) ||
        (h->tq > 16 && h->tq / 2 >= extent(h->f->q)))
        return "a tile twice as large as the problem";
    if (h->tiles > INT_MAX / 2 || ceil_div(h->f->x.c.N, t->bn) > 65535)
        return "more tiles than a grid has blocks for";
    return (double)h->smem / 1024 > h->f->x.o->device->smem_block_kb
               ? "more shared memory than a block may have" : NULL;
}

static void plan_warps(Taps *h, int warps_m)
{
    Tile *t = &h->x.t;

    h->pieces = ceil_div(h->f->length, PIECE);
    h->groups = (int)(extent(h->f->channel) * extent(h->f->r)) * h->pieces;
    h->wm = ceil_div(h->groups * PIECE, warps_m * 16) * 16;
    h->wn = t->bn < 32 ? t->bn : 32;
    h->rows = warps_m * h->wm;
    h->warps = warps_m * (t->bn / h->wn);
    h->slices = t->threads / 32 / h->warps;
    t->wm = h->wm;
    t->wn = h->wn;
}

const char *taps_plan(Taps *h, const HaloForm *f, const Variant *v)
{
    memset(h, 0, sizeof *h);
    h->f = f;
    h->x = (ContractPlan){.f = &f->x, .a = f->x.a, .b = f->x.b, .parts = 1};
    h->tp = v->knob[KNOB_TP];
    h->tq = v->knob[KNOB_TQ];
    h->x.t = (Tile){.bm = h->tp * h->tq, .bn = v->knob[KNOB_BN], .split = 1,
                    .stages = 1, .threads = v->knob[KNOB_THREADS]};
    plan_warps(h, v->knob[KNOB_M]);
    if (h->slices * h->warps * 32 != h->x.t.threads)
        return "warps that have no part";
    plan_patch(h);
    plan_smem(h);
    h->tiles_p = ceil_div(extent(f->p), h->tp);
    h->tiles_q = ceil_div(extent(f->q), h->tq);
    h->tiles = h->tiles_p * h->tiles_q * extent(f->image);
    h->x.regs = h->wm / 16 * (h->wn / 2 + 4 + 1) + h->wn / 4 + 50;
    int sms = f->x.o->device->sms;
    h->blocks = ceil_div(h->tiles, ceil_div(h->tiles, sms));
    h->team = ceil_div(h->blocks, (int64_t)sqrt(h->blocks));
    return check(h);
}

const char *taps_text(const void *form, const Variant *v)
{
    Taps h;

    taps_plan(&h, form, v);
    return arena_printf(h.f->x.g->arena, "tp=%d tq=%d bn=%d wm=%d threads=%d",
                        h.tp, h.tq, h.x.t.bn, h.wm, h.x.t.threads);
}

int taps_space(const void *form, Variant **out)
{
    enum { MOST = 4 * 3 * 3 * 3 * 3 };
    const HaloForm *f = form;
    Variant list[MOST];
    int n = 0, k[5];

    for (k[0] = 2; k[0] <= 16; k[0] *= 2)
        for (k[1] = 16; k[1] <= 64; k[1] *= 2)
            for (k[2] = 16; k[2] <= 64; k[2] *= 2)
                for (k[3] = 1; k[3] <= 4; k[3] *= 2)
                    for (k[4] = 128; k[4] <= 512; k[4] *= 2) {
                        Variant v = {.text = NULL};
                        Taps h;
                        memcpy(v.knob, k, sizeof k);
                        if (taps_plan(&h, f, &v))
                            continue;
                        list[n++] = v;
                    }
    *out = family_variants(f->x.g->arena, list, n);
    return n;
}
