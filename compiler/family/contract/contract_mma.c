#include "family/contract/contract_mma.h"
#include "emit/emit.h"

#include <math.h>
#include <string.h>

/* Contractions on tensor cores: cp.async into a ring of tiles, ldmatrix,
 * mma.sync, from sm_80 on. 16-bit factors; f32 ones as tf32 where --math allows
 * it, or each as a sum of two tf32 numbers where the other factor is one; and
 * i8 with sums in i32. */

typedef struct Shape {
    int bm, bn, wm, wn;
} Shape;

static const Shape shapes[] = {
    {256, 128, 64, 64}, {128, 256, 64, 64}, {128, 128, 64, 64},
    {128, 128, 64, 32}, {256, 64, 64, 64},  {64, 256, 64, 64},
    {128, 64, 32, 64},  {128, 64, 64, 32},  {64, 128, 64, 32},
    {64, 128, 32, 64},  {64, 64, 32, 32},   {128, 32, 32, 32},
    {32, 128, 32, 32},  {64, 32, 32, 16},   {32, 64, 32, 16},
    {32, 32, 16, 16},   {16, 128, 16, 32},  {16, 64, 16, 16},
    {128, 16, 32, 16},  {64, 16, 16, 16},   {32, 256, 32, 64},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Products of tf32 numbers that a product takes, or 0: --math allows none. An
 * f32 factor is two such numbers to within its own last bits. */
static int tf32_terms(const Contract *x)
{
    int exact = contract_is_tf32(&x->c.a) + contract_is_tf32(&x->c.b);

    if (exact == 2 || x->o->math == MATH_TF32)
        return 1;
    return exact == 1 ? 2 : x->o->math == MATH_3XTF32 ? 3 : 0;
}

static const char *check_types(Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    x->mma = true;
    x->terms = 1;
    if (x->acc == T_I32) {
        x->elem = T_I8;
        x->k_step = 32;
        return a == T_I8 && b == T_I8 ? NULL : "integers wider than i8";
    }
    if (a == b && (a == T_F16 || a == T_BF16)) {
        x->elem = a;
        x->k_step = 16;
        return NULL;
    }
    if (!type_is_float(a) || !type_is_float(b))
        return "a factor that is no float";
    x->elem = T_F32;
    x->k_step = 8;
    x->terms = tf32_terms(x);
    return x->terms ? NULL : "factors of which none is exact in f16 or bf16";
}

const char *mma_form(Contract *x, Graph *g, const Group *gr, const Options *o)
{
    const char *why = NULL;

    if (o->device->sm < 80)
        return "needs sm_80";
    if (!contract_open(x, g, gr, o, &why))
        return why;
    contract_cut(x);
    x->ops += contract_reduced_ops(x, true);
    why = check_types(x);
    if (why)
        return why;
    contract_loads(x);
    if (x->elem == T_I8 && !(x->a.k_major && x->b.k_major))
        return "i8 fragments need both factors contiguous along k";
    return NULL;
}

const void *mma_open(Graph *g, const Group *gr, const Options *o,
                     const char **why)
{
    Contract *f = arena_new_of(g->arena, Contract);

    *why = mma_form(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

static int64_t padded(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

/* Tiles of which a smaller one would waste less are left out. */
static bool sensible(const Contract *x, const Tile *t)
{
    if (t->bm > 16 && t->bm / 2 >= x->c.M)
        return false;
    if (t->bn > 16 && t->bn / 2 >= x->c.N)
        return false;
    int least = 2 * x->k_step;
    return t->bk == least || padded(x->c.K, t->bk) <= padded(x->c.K, least);
}

int mma_warp_most(void)
{
    int most = 0;

    for (int i = 0; i < N_SHAPES; i++) {
        most = shapes[i].wm > most ? shapes[i].wm : most;
        most = shapes[i].wn > most ? shapes[i].wn : most;
    }
    return most;
}

/* Warps that have all sums of a tile. */
int mma_tile_warps(const Tile *t)
{
    return t->bm / t->wm * (t->bn / t->wn);
}

static int slices(const Tile *t)
{
    return t->threads / 32 / mma_tile_warps(t);
}

const char *mma_text(const Contract *x, const Tile *t)
{
    const char *s = contract_text(x, t);

    return slices(t) == 1 ? s : arena_printf(x->g->arena, "%s slices=%d", s,
                                             slices(t));
}

const char *mma_text_of(const void *form, const Variant *v)
{
    const Tile t = contract_tile(v);

    return mma_text(form, &t);
}

static void add_variants(const Contract *x, const Tile *base, Variant *v,
                         int *n, int most)
{
    int split[MAX_SPLITS], n_split = contract_splits(x, base, split);
    Tile t = *base;
    ContractPlan p;

    /* split, it takes no less room */
    if (contract_plan(&p, x, &t, false))
        return;
    for (int i = 0; i < n_split && *n < most; i++) {
        t.split = split[i];
        /* no ring is deeper than its steps, but one of three */
        int64_t steps = (x->c.K + t.bk - 1) / t.bk;
        if (t.stages > 3 && (t.stages - 1) * split[i] >= steps)
            continue;
        if (contract_resplit(&p, t.split))
            continue;
        contract_knobs(&t, &v[(*n)++]);
    }
}

/* Deep rings and slices of k are for problems that leave SMs idle: what counts
 * there is how long one block takes. */
static void add_shape(const Contract *x, const Shape *s, Variant *v, int *n,
                      int most)
{
    static const int depths[] = {4, 3, 6, 8};
    Tile t = {.bm = s->bm, .bn = s->bn, .split = 1, .wm = s->wm, .wn = s->wn};
    double blocks = (double)padded(x->c.M, s->bm) / s->bm *
                    (double)padded(x->c.N, s->bn) / s->bn *
                    (double)x->c.batches;
    bool small = blocks <= 2.5 * x->o->device->sms;

    for (int bk = (small ? 8 : 4) * x->k_step; bk >= 2 * x->k_step; bk /= 2)
        for (int d = 0; d < (small ? 4 : 2); d++)
            for (int many = 1; many <= 4; many *= 2) {
                t.bk = bk;
                t.stages = depths[d];
                t.threads = mma_tile_warps(&t) * 32 * many;
                bool deep = t.stages > 3 && (t.stages - 1) * bk >= x->c.K;
                if (many > 1 && (!small || t.threads > 512 ||
                                 bk / many < 2 * x->k_step))
                    break;
                if (!sensible(x, &t) || deep || (bk > 4 * x->k_step &&
                                                 many == 1))
                    continue;
                add_variants(x, &t, v, n, most);
            }
}

int mma_space(const void *form, Variant **out)
{
    enum { MOST = 4000 };
    const Contract *x = form;
    Variant v[MOST];
    int n = 0;

    for (int i = 0; i < N_SHAPES; i++)
        add_shape(x, &shapes[i], v, &n, MOST);
    *out = family_variants(x->g->arena, v, n);
    return n;
}

/* Sums and two sets of fragments stay in registers. */
const char *mma_plan(ContractPlan *x, const Contract *f, const Variant *v)
{
    const Tile t = contract_tile(v);
    const char *why = contract_plan(x, f, &t, false);

    if (!why)
        contract_regs(x, t.wm * t.wn / 32 +
                             (t.wm + t.wn) / (f->terms > 1 ? 1 : 2));
    return why;
}
