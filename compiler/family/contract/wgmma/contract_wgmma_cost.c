#include "family/contract/wgmma/contract_wgmma.h"

#include "group/norm.h"

#include <math.h>

/* What a variant of wgmma costs: the timeline of a block in clocks, and power.
 * Clocks are those of the tensor cores under load (wgmma_tflops). The constants
 * were fitted to 140 variants of 17 products timed on an H200; the root mean
 * square error was 5%, and the quickest was the pick or 1% quicker for 15. */

enum { ROW_BYTES = TMA_ROW, OPS_CLK = 4096 /* of an SM, 16 bits */ };

/* Blocks that share an SM, as far as there are any. */
static double crowd(const Wgmma *w)
{
    return fmax(1, fmin(w->resident,
                        wgmma_blocks(w) / w->x.o->device->sms));
}

static double clk_us(const Device *d)
{
    return d->wgmma_tflops * 1e6 / (d->sms * (double)OPS_CLK);
}

/* Of one step of a block: products; shared memory read by them, and written by
 * TMA, 128 bytes a clock. 3xtf32: three products with a from registers; b's
 * parts are read once more and written. */
typedef struct Clocks {
    double math, reads, writes;
} Clocks;

static Clocks step_of(const Wgmma *w)
{
    double bm = w->x.t.bm, bn = w->x.t.bn;

    if (w->x.terms == 3)
        return (Clocks){3 * bm * bn / 32, bm / 64 * 3 * bn + bm + bn,
                        bm + 2 * bn};
    return (Clocks){bm * bn / 32, bm / 64 * 4 * (16 + bn / 4), bm + bn};
}

/* A matrix of so few terms that no row fills a box. */
static bool few_terms(const Wgmma *w)
{
    const Axes *k = &w->tma->k;

    return k->n == 1 && k->axis[0].extent < w->tma->bk;
}

/* The part of the steps whose rows end inside a box, where there are others or
 * a window. */
static double short_share(const Wgmma *w)
{
    const Axis *k = &w->tma->k.axis[w->tma->k.n - 1];
    int64_t steps = (k->extent + w->tma->bk - 1) / w->tma->bk;

    return k->extent % w->tma->bk && !few_terms(w) ? 1.0 / (double)steps : 0;
}

/* Clocks of TMA for an operand's rows, in the mean of its steps. Those that
 * begin inside a sector of the L2 take longer for the block that asks; those
 * that end inside a box for each that gets them. */
static double rows_clk(const Wgmma *w, const TmaOperand *o, double asked,
                       double got)
{
    const Device *d = w->x.o->device;
    double part = o->k_major ? short_share(w) : 0;
    double whole = tma_off_sectors(o) ? d->tma_odd_row_clk : d->tma_row_clk;

    return (1 - part) * asked * whole +
           part * fmax(asked * whole, got * d->tma_odd_row_clk);
}

/* Of a step. TMA's clock is the boost clock, however hot the tensor cores
 * are. */
static double copies_clk(const Wgmma *w)
{
    const Device *d = w->x.o->device;
    double bm = w->x.t.bm, bn = w->stays ? 0 : w->x.t.bn;
    double clk = rows_clk(w, &w->tma->a, bm, bm) +
                 rows_clk(w, &w->tma->b, bn / w->cluster, bn);

    return clk * clk_us(d) / (d->clock_ghz * KILO);
}

/* Clocks that a step of one block takes of its SM. Products wait a little for
 * each slot, more where blocks of a cluster fill it together, or where several
 * blocks take turns; a slot's round through the ring takes its time whatever is
 * in it, longer where it comes from HBM: the first ones, or all if few blocks
 * share what they read. 3xtf32: a warpgroup takes its time over fragments and
 * sums, while others multiply. */
static double step_clk(const Wgmma *w, const Clocks *s)
{
    enum { PAUSE = 350, FEW = 4, SLOT = 100, ROWS = 3 };
    bool shared = crowd(w) >= 1.5;
    double wait = (shared ? 93 : 4) + (w->cluster > 1 ? 40 : 0);
    double math = s->math + wait;
    double first = (double)w->x.t.stages * w->x.t.split / (double)w->k_tiles;
    double far = w->m_tiles >= FEW ? fmin(1, first) : 1;
    double round = fmax(196 + 40 * far,
                        first < 1 ? 1290.0 / (w->x.t.stages - 1) : 0);

    if (w->pre) /* the slot's wait and fragments, then beside the products */
        math = fmax(math, ROWS * wgmma_rows_clk(w) + SLOT / crowd(w));
    if (w->x.terms == 3) {
        double clk = s->math * 64 / w->x.t.bm;
        double busy = w->consumers * w->resident * clk / (clk + PAUSE);
        math = s->math / fmin(1, busy) / 0.95;
    }
    math = fmax(math, s->reads + 5);
    return fmax(math, fmax(round / crowd(w), copies_clk(w)));
}

/* Whether the epilogue of a tile reads what belongs to its rows, or 4-byte
 * elements of its columns: costs are fitted to both as one. */
static bool reads_rows(const Wgmma *w)
{
    return w->spare_rows > w->spare;
}

/* Clocks that what belongs to rows is late: where registers hold a part of it,
 * the next part is asked for when that is done with. */
static double late_clk(const Wgmma *w)
{
    int part = wgmma_rows_ahead(w), all = w->x.t.bn / 32;
    int each = w->pingpong ? 110 : w->consumers == 1 ? 1800 : 600;

    if (!reads_rows(w))
        return 0;
    return 250 + each * (part ? all / part - 1 : 0);
}

/* Clocks of a tile's stores, where threads have neighbours to store. */
static double stores_clk(const Wgmma *w)
{
    enum { BYTES_CLK = 34 };

    return (double)w->x.t.bm * w->own * wgmma_result_bytes(&w->x) / BYTES_CLK;
}

/* Clocks of a tile's epilogue. It is as long as its stores and instructions, of
 * all the warps that are in it at a time; through shared memory longer; where
 * neighbours exchange sums its stores count, which are pieces of lines. */
static double epilogue_clk(const Wgmma *w)
{
    enum {
        PLAIN = 5, /* instructions a result that the stores hide */
        BOXES = 9, /* or boxes, which need none themselves */
        TIGHT = 16 /* with fewer registers to spare few are under way */
    };
    const Tile *t = &w->x.t;
    bool together = !w->pingpong && w->consumers > 1;
    double sums = (double)t->bm * w->own;
    double each = together && !w->deal ? w->consumers : w->pingpong ? 1.6
                                        : crowd(w) >= 1.5 ? 2
                                                          : 1.3;

    if (wgmma_result_bytes(&w->x) == 4 && !w->deal) /* the L2 counts */
        return 400 + sums * (10 + 4 * w->x.special) / 128 *
                         (w->pingpong ? 0.65 : 1);
    if (!w->pack && !w->deal) {
        double result = !together ? 32 : w->consumers == 3 ? 38 : 26;
        return 500 + sums / 128 * (result + 4 * w->x.special *
                                                (together ? 1 : 1.6));
    }
    int hidden = together && w->boxes.tensor ? BOXES : PLAIN;
    double more = (double)w->wm * w->own / 128 * fmax(0, w->x.ops - hidden) *
                  (w->spare < TIGHT ? 1.3 : 1);
    if (w->deal)
        return 150 + late_clk(w) + stores_clk(w) + more * each;
    return 182 + (w->boxes.tensor ? 93 : 0) + sums * 0.097 + more * each;
}

/* Clocks of an epilogue during which the other warpgroup of a tile still
 * multiplies: of its last steps, 0.4 as measured. */
static double hidden_clk(const Wgmma *w)
{
    return fmin(w->lead * step_of(w).math / 2 * 0.4, epilogue_clk(w) / 2);
}

static void find_of_rows(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->of_rows;
}

/* Whether the epilogue makes elements of a norm of its rows: bert's products
 * took up to 1 us more than others with a residual, over 1 us at batch 8. */
static bool makes_norms(const Wgmma *w)
{
    bool found = false;

    for (int i = 0; w->x.gr->pieces && i < w->x.gr->n_step; i++)
        if (w->x.gr->step[i].op == R_NONE)
            expr_visit(w->x.gr->step[i].value, find_of_rows, &found);
    return found;
}

/* Clocks from the launch to the first product, beyond launch_us, and what
 * blocks of a cluster wait for each other. */
static double start_clk(const Wgmma *w)
{
    const Tile *t = &w->x.t;
    double clk = 0.054 * (t->bm + t->bn) * ROW_BYTES - 626;

    if (w->x.gr->merge) /* reads of pieces, and sums of two lanes */
        clk += 250 + 4.0 * (double)w->x.gr->merge->over->extent;
    if (w->pre) /* rows' values and the first fragments are ahead of it */
        clk += 1000;
    if (makes_norms(w))
        clk += 2600;
    if (w->cluster > 1) /* they start and end together */
        clk += 800;
    if (t->split > 1)
        clk += 840 + (double)t->bm * (t->bn - w->own) * 4 * 0.093 * crowd(w);
    return clk;
}

/* Clocks by which products are held up by an epilogue beside them: while they
 * keep the tensor cores busy, a warp gets 0.28 instructions a clock, and what
 * it takes beyond is taken from them. */
static double held_up_clk(const Wgmma *w)
{
    enum { BESIDE = 7 }; /* instructions a result that fit beside */
    double more = w->x.ops - BESIDE;
    double each = wgmma_rounds(w) ? 0.9 : 1.4;

    return more > 0 ? 100 + each * w->wm * w->own / 128 * more : 0;
}

/* Clocks of a tile of a lone consumer that neighbours on its SM do not hide: as
 * 1x1 convolutions take, of 16-bit pieces of lines with residuals more. */
static double lone_tile_clk(const Wgmma *w)
{
    bool pieces = !w->pack && wgmma_result_bytes(&w->x) == 2;

    if (w->deal)
        return reads_rows(w) ? 300 + 9.0 * w->x.t.bn : 5.0 * w->x.t.bn;
    return 300 + (pieces ? 14.5 : 4.5) * w->x.t.bn;
}

/* Clocks of the epilogues before the last of an SM with so many tiles, as far
 * as no products of `multiply` clocks a tile hide them; of a tile that blocks
 * share, whose ring does not go on to the next. */
static double between_clk(const Wgmma *w, double tiles, double multiply)
{
    enum { TURN = 500 }; /* of two tiles: the waits, and the first products */
    double epilogue = epilogue_clk(w), more = tiles - 1;

    if (w->x.t.split > 1)
        return (ceil(tiles / w->resident) - 1) * (1090 + start_clk(w)) +
               more * epilogue;
    if (w->pingpong && w->deal && !reads_rows(w)) /* of two tiles at a time */
        return more * (fmax(fmax(held_up_clk(w),
                                 (epilogue + TURN - multiply) / 2),
                            stores_clk(w) - multiply) + 64);
    if (w->pingpong)
        return more * (fmax(held_up_clk(w), 1.6 * epilogue - multiply) + 64);
    if (w->consumers == 1 && w->resident > 1)
        return more * fmax(fmax(held_up_clk(w), 0.02 * epilogue),
                           lone_tile_clk(w));
    /* one's epilogue is beside the other's products: seen with gelu alone */
    if (w->lead && w->x.special > 0)
        epilogue += held_up_clk(w) / 2;
    return more * (epilogue - hidden_clk(w) + 105);
}

/* Clocks of an SM's tiles where there are few terms: measured on 1x1
 * convolutions, in which all of TMA's rows are short ones. */
static double few_terms_clk(const Wgmma *w, double tiles, double steps)
{
    const Device *d = w->x.o->device;

    return !few_terms(w) ? 0
                         : tiles * steps * (w->x.t.bm + w->x.t.bn) *
                               d->tma_few_terms_clk * clk_us(d) /
                               (d->clock_ghz * KILO);
}

static const char *limiter(const Cost *c, double ring)
{
    const char *name = "latency";
    double most = fmax(ring, c->latency);

    if (c->math > most)
        most = c->math, name = "tensor cores";
    if (c->smem > most)
        most = c->smem, name = "shared memory";
    if (c->l2 > most)
        most = c->l2, name = "L2";
    return c->hbm > most ? "HBM" : name;
}

void wgmma_time(const Wgmma *w, Cost *c)
{
    const Device *d = w->x.o->device;
    Clocks s = step_of(w);
    double steps = (double)w->k_tiles / w->x.t.split;
    double tiles = ceil(wgmma_blocks(w) / wgmma_sms(w));
    double clk = clk_us(d), multiply = steps * step_clk(w, &s);
    /* SMs without a block leave the others more power: a higher clock. */
    double idle = fmin(1, wgmma_blocks(w) / d->sms);
    double quick = clk * fmin(1.15, 1 / sqrt(idle));
    double busy = tiles * multiply / quick +
                  between_clk(w, tiles, multiply) / clk;

    c->math = tiles * steps * s.math / quick;
    c->smem = tiles * steps * s.reads / clk;
    c->latency = (start_clk(w) + epilogue_clk(w) - hidden_clk(w)) / clk;
    c->limiter = limiter(c, busy > c->math * 1.3 ? busy : 0);
    busy = fmax(busy, few_terms_clk(w, tiles, steps) / clk);
    double most = fmax(fmax(busy, c->special), fmax(c->hbm, c->l2));
    double us = d->launch_us + c->latency + most;
    /* The clock falls until products and shared memory can be fed. */
    double peak = w->x.elem == T_F32 ? d->tf32_tflops : d->wgmma_tflops;
    double work = wgmma_blocks(w) * steps * s.math * OPS_CLK / 1e6;
    if (w->x.elem == T_F32)
        work /= 2;
    double power = d->launch_us + 0.64 +
                   work / peak * (0.809 + 0.283 * (s.reads + s.writes) /
                                              s.math);
    c->us = pow(pow(us, 8) + pow(power, 8), 1.0 / 8);
}
