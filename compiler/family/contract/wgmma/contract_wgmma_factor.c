#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <string.h>

/* The sum of a factor over k (factor_sum.h), which lies across the sum: a slot
 * has boxes of 64 rows or columns by the k of a step. Where they are the first
 * tile's of the other side, the loader's other warps sum them as they lie in
 * shared memory, all of them of each slot, which therefore is free again before
 * the products are done with it. */

enum {
    BOX = 64,
    WARPS = 3,   /* of the loader's that do not load */
    BARRIER = 3, /* theirs */
    ROW_OPS = 6  /* a row of a box: half a load, two conversions, two sums, and
                    what it waits */
};

static bool of_a(const WgmmaForm *f)
{
    const FactorSum *x = f->x.gr->factor_sum;

    return x && x->factor == f->x.c.a.read;
}

const char *wgmma_check_factor(const WgmmaForm *f)
{
    const Tma *t = &f->tma;
    const TmaOperand *o;

    if (!f->x.gr->factor_sum)
        return NULL;
    o = of_a(f) ? &t->a : &t->b;
    return f->turned || f->pre || type_bytes(f->x.elem) != 2 || f->x.n_bound ||
                   f->x.c.range
               ? "a factor that is not multiplied as it is"
           : o->k_major || o->slides || t->taps.n || t->k.n > 1 || t->m.n > 1
               ? "a factor whose sum's terms are neighbours"
               : NULL;
}

bool wgmma_has_factor(const Wgmma *w)
{
    return wgmma_sharers(w) == 1 && contract_live(&w->x) >= 1 && !w->x.apart &&
           !(w->stays && !of_a(w->f));
}

/* Boxes of a slot. */
static int boxes(const WgmmaForm *f, int bm, int bn)
{
    return ((of_a(f) ? bm : bn) + BOX - 1) / BOX;
}

size_t wgmma_factor_bytes(const WgmmaForm *f, int bm, int bn)
{
    return f->x.gr->factor_sum
               ? (size_t)(WARPS * BOX * boxes(f, bm, bn)) * sizeof(float)
               : 0;
}

int wgmma_factor_rows(const Wgmma *w)
{
    return boxes(w->f, w->x.t.bm, w->x.t.bn) * BOX;
}

double wgmma_factor_clk(const Wgmma *w)
{
    return (double)wgmma_factor_rows(w) * ROW_OPS / WARPS;
}

void wgmma_factor_field(WgmmaBuild *w)
{
    if (w->x.f->gr->factor_sum)
        kernel_smem(w->x.g, w->x.kernel, 8,
                    arena_printf(w->x.g->arena, "float factor_sums[%d][%d]",
                                 WARPS,
                                 boxes(w->f, w->x.p->t.bm, w->x.p->t.bn) * BOX),
                    NULL);
}

/* Digits of the number of a row or column. */
static void put_digits(WgmmaBuild *w, Tree *b, const Side *s)
{
    CPrint *cp = &w->x.cp;
    int64_t radix = 1;

    cprint_name(cp, s->linear, s->name);
    if (s->n == 1)
        cprint_name(cp, s->v[0], s->name);
    for (int i = s->n - 1; s->n > 1 && i >= 0; i--) {
        PUT(b, "const int @v = @digit;\n", FILL("v", cprint_var(cp, s->v[i])),
            FILL("digit", cprint_digit(b->arena, s->name, radix,
                                       i > 0 ? s->v[i]->extent : 0)));
        radix *= s->v[i]->extent;
    }
}

/* What follows from a sum; then all is stored, as what was there is read
 * before. */
static void put_steps(WgmmaBuild *w, Tree *b)
{
    CPrint *cp = &w->x.cp;
    const FactorSum *x = w->x.f->gr->factor_sum;
    Tree *stores = tree_list(b->arena);
    const char *local[MAX_STEPS];

    memcpy(local, cp->local, sizeof local);
    for (int i = 0; i < x->n_step; i++) {
        const Step *s = &x->step[i];
        const char *called = s->tensor ? tensor_called(s->tensor)
                                       : step_called(s);
        cp->local[i] =
            i ? cprint_bind_name(b, cp, s->value, called ? called : "t")
              : "total";
        if (s->tensor)
            cprint_store(stores, cp, s->tensor, s->store, s->where, s->type,
                         cp->local[i]);
    }
    tree_add(b, stores);
    memcpy(cp->local, local, sizeof local);
}

/* What is stored of the warps' sums. */
static Tree *end_of(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    CScope scope = cprint_open(&x->cp);
    Tree *in = tree_list(x->g->arena);
    const bool rows = of_a(w->f);
    const Side *side = rows ? &x->f->m : &x->f->n;

    cprint_fresh(&x->cp, "total");
    put_digits(w, in, side);
    put_steps(w, in);
    cprint_close(&x->cp, scope);
    return QUOTE(
        x->g->arena,
        "dcc_barrier_sync(@barrier, @threads);\n"
        "for (int at = summer * 32 + lane; at < @width && @first + at < @size; "
        "at += @threads) {\n"
        "    const int @n = @first + at;\n"
        "    const float total = smem.factor_sums[0][at]\n"
        "        + smem.factor_sums[1][at] + smem.factor_sums[2][at];\n"
        "    @IN\n"
        "}\n"
        "dcc_barrier_sync(@barrier, @threads);  // all have read them\n",
        FILL_INT("barrier", BARRIER), FILL_INT("threads", WARPS * 32),
        FILL("width", rows ? "BM" : "BN"), FILL("n", side->name),
        FILL("first", rows ? "m0" : "n0"), FILL("size", side->size),
        FILL_TREE("IN", in));
}

Tree *wgmma_factor_warps(WgmmaBuild *w, const FactorPlaces *at, Tree *unread)
{
    Arena *a = w->x.g->arena;
    const bool turns = wgmma_turns(w->p);

    if (!w->x.f->gr->factor_sum)
        return tree_list(a);
    Tree *end = end_of(w), *free = tree_list(a);
    if (turns)
        PUT(free,
            "__syncwarp();\n"
            "if (@elect)\n"
            "    @FREE\n",
            FILL("elect", wgmma_elect(w)),
            FILL_TREE("FREE", wgmma_free_slot(w, "slot")));
    return QUOTE(
        a,
        "// Its other warps sum @factor, where it is the first tiles'.\n"
        "if (threadIdx.x % 128 >= 32) {\n"
        "    @wait\n"
        "    @frees\n"
        "    const int summer = threadIdx.x % 128 / 32 - 1;\n"
        "    int step = 0;\n"
        "    for (int tile = @block; tile < TILES; tile += @blocks) {\n"
        "        @DECLARE\n"
        "        @FOUND\n"
        "        @STEPS\n"
        "        @UNREAD\n"
        "        const bool sums = @first == 0;\n"
        "        float factor_sum[@boxes][4] = {};\n"
        "        for (int k_tile = @begin; k_tile < @end; ++k_tile, ++step) {\n"
        "            const int slot = @slot;\n"
        "            dcc_mbar_wait(&smem.full[slot], @phase);\n"
        "            if (sums)\n"
        "                dcc_add_boxes<@warps>(factor_sum, smem.@tile[slot], "
        "summer);\n"
        "            @FREE\n"
        "        }\n"
        "        if (!sums)\n"
        "            continue;\n"
        "        dcc_leave_sums(smem.factor_sums[summer], factor_sum);\n"
        "        @END\n"
        "    }\n"
        "}\n",
        FILL("factor", of_a(w->f) ? w->x.a.id : w->x.b.id),
        FILL("wait", w->x.kernel->waits ? "dcc_grid_wait();\n" : ""),
        FILL("frees", wgmma_crosses(w->p) && turns
                          ? "const bool frees = dcc_cluster_frees<CLUSTER, "
                            "BESIDE>(lane);\n"
                          : ""),
        FILL("block", at->block), FILL("blocks", at->blocks),
        FILL_TREE("DECLARE", tree_copy(a, at->declare)),
        FILL_TREE("FOUND", tree_copy(a, at->found)),
        FILL_TREE("STEPS", wgmma_name_steps(w)), FILL_TREE("UNREAD", unread),
        FILL("first", of_a(w->f) ? "n0" : "m0"),
        FILL_INT("boxes", boxes(w->f, w->p->x.t.bm, w->p->x.t.bn)),
        FILL("begin", at->begin), FILL("end", at->end),
        FILL_INT("warps", WARPS),
        FILL("slot", turns ? "step % STAGES" : "step"),
        FILL("phase", turns ? "step / STAGES % 2" : "0"),
        FILL("tile", of_a(w->f) ? w->x.a.tile : w->x.b.tile),
        FILL_TREE("FREE", free),
        FILL_TREE("END", end));
}
