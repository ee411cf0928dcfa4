#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <string.h>

/* The sum of a factor over k (factor_sum.h), which lies across the sum: a slot
 * has boxes of 64 rows or columns by the k of a step. Where they are the first
 * tile's of the other side, they are multiplied by ones besides: of a's boxes a
 * warpgroup has those of its rows, of b's some, in turns. */

enum { BOX = 64, ONES = 8 /* columns: what products have at least */ };

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
           (w->wm % BOX == 0 || !of_a(w->f)) &&
           !(w->stays && !of_a(w->f));
}

/* Warpgroups that share boxes of columns, in turns. */
static int sharers(const WgmmaForm *f, int consumers, bool pingpong)
{
    return of_a(f) || pingpong ? 1 : consumers;
}

/* Boxes that a warpgroup sums. */
static int boxes(const WgmmaForm *f, int wm, int bn, int sharers)
{
    return of_a(f) ? wm / BOX : (bn + BOX * sharers - 1) / (BOX * sharers);
}

int wgmma_factor_boxes(const Wgmma *w)
{
    return boxes(w->f, w->wm, w->x.t.bn,
                 sharers(w->f, w->consumers, w->pingpong));
}

size_t wgmma_factor_bytes(const WgmmaForm *f)
{
    return f->x.gr->factor_sum ? ONES * TMA_ROW : 0;
}

int wgmma_factor_regs(const Wgmma *w)
{
    enum { EACH = 4, BESIDE = 4 };

    return w->f->x.gr->factor_sum ? EACH * wgmma_factor_boxes(w) + BESIDE : 0;
}

void wgmma_factor_field(WgmmaBuild *w)
{
    if (w->x.f->gr->factor_sum)
        kernel_smem(w->x.g, w->x.kernel, 1024,
                    arena_printf(w->x.g->arena, "%s ones[%d][BK]",
                                 type_cname(w->x.f->elem), ONES), NULL);
}

Tree *wgmma_factor_begin(const WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    if (w->x.f->gr->factor_sum)
        PUT(b,
            "// The first tiles sum @factor, too: it times ones.\n"
            "const bool sums = @first == 0;\n"
            "const uint64_t ones = dcc_wgmma_k_major(smem.ones);\n"
            "float factor_sum[@boxes][4];\n",
            FILL("factor", of_a(w->f) ? w->x.a.id : w->x.b.id),
            FILL("first", of_a(w->f) ? "n0" : "m0"),
            FILL_INT("boxes", wgmma_factor_boxes(w->p)));
    return b;
}

/* A warpgroup's box i among the slot's: "i", "warpgroup * (WM / 64) + i" or, of
 * those that it has in turn, "i * CONSUMERS + warpgroup". */
static const char *box_of(const WgmmaBuild *w)
{
    const Wgmma *p = w->p;

    return p->pingpong || p->consumers == 1 ? "i"
           : of_a(w->f)                     ? "warpgroup * (WM / 64) + i"
                                            : "i * CONSUMERS + warpgroup";
}

/* Whether some warpgroup's last box is none. */
static bool uneven(const WgmmaBuild *w)
{
    const Wgmma *p = w->p;
    int all = (p->x.t.bn + BOX - 1) / BOX;

    return !of_a(w->f) && all % sharers(w->f, p->consumers, p->pingpong);
}

Tree *wgmma_factor_step(const WgmmaBuild *w, const char *later)
{
    Arena *a = w->x.g->arena;
    const char *box = of_a(w->f) ? "i" : box_of(w);

    return QUOTE(a,
                 uneven(w)
                     ? "#pragma unroll\n"
                       "for (int kk = 0; kk < BK / 16; ++kk)\n"
                       "    #pragma unroll\n"
                       "    for (int i = 0; i < @boxes; ++i)\n"
                       "        if (@box < (BN + 63) / 64)\n"
                       "            dcc_wgmma_m64n8k16_@type<1, 0>(\n"
                       "                factor_sum[i], @of + @at * 512 + "
                       "kk * 128, ones, @later || kk > 0);\n"
                     : "#pragma unroll\n"
                       "for (int kk = 0; kk < BK / 16; ++kk)\n"
                       "    #pragma unroll\n"
                       "    for (int i = 0; i < @boxes; ++i)\n"
                       "        dcc_wgmma_m64n8k16_@type<1, 0>(factor_sum[i], "
                       "@of + @at * 512 + kk * 128, ones, "
                       "@later || kk > 0);\n",
                 FILL_INT("boxes", wgmma_factor_boxes(w->p)), FILL("box", box),
                 FILL("at", strchr(box, ' ') ? arena_printf(a, "(%s)", box)
                                             : box),
                 FILL("of", of_a(w->f) ? "a" : "b"), FILL("later", later),
                 FILL("type", type_name(w->x.f->elem)));
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

void wgmma_factor_end(WgmmaBuild *w, Tree *b)
{
    ContractBuild *x = &w->x;
    CScope scope = cprint_open(&x->cp);
    Tree *in = tree_list(b->arena);

    if (!x->f->gr->factor_sum)
        return;
    const bool rows = of_a(w->f);
    const Side *side = rows ? &x->f->m : &x->f->n;
    cprint_fresh(&x->cp, "total");
    put_digits(w, in, side);
    put_steps(w, in);
    PUT(b,
        "if (sums) {\n"
        "    dcc_wgmma_use(factor_sum);\n"
        "    #pragma unroll\n"
        "    for (int i = 0; i < @boxes; ++i)\n"
        "        #pragma unroll\n"
        "        for (int h = 0; h < 2; ++h) {\n"
        "            const int @n = @first + (@box) * 64 + warp * 16 + h * 8 + "
        "lane / 4;\n"
        "            if (lane % 4 > 0 || @n >= @size@@beyond)\n"
        "                continue;\n"
        "            const float total = factor_sum[i][h * 2];\n"
        "            @IN\n"
        "        }\n"
        "}\n",
        FILL_INT("boxes", wgmma_factor_boxes(w->p)), FILL("n", side->name),
        FILL("first", rows ? "m0" : "n0"), FILL("box", box_of(w)),
        FILL("size", side->size),
        FILL("beyond", !rows && x->p->t.bn % BOX
                           ? arena_printf(b->arena, " || %s >= n0 + BN",
                                          side->name)
                           : ""),
        FILL_TREE("IN", in));
    cprint_close(&x->cp, scope);
}
