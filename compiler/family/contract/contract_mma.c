#include "family/contract/contract_mma.h"
#include "emit/template.h"

#include <math.h>
#include <string.h>

/* Contractions on tensor cores: cp.async into a ring of tiles, ldmatrix,
 * mma.sync, from sm_80 on. 16-bit factors, f32 ones as tf32 where --math allows
 * it, and i8 with sums in i32. */

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
    if (x->o->math == MATH_EXACT)
        return "factors that are not exact in one of f16 and bf16";
    if (!type_is_float(a) || !type_is_float(b))
        return "a factor that is no float";
    x->elem = T_F32;
    x->k_step = 8;
    x->terms = x->o->math == MATH_3XTF32 ? 3 : 1;
    return NULL;
}

static const char *open_mma(Contract *x, Graph *g, const Group *gr,
                            const Options *o)
{
    const char *why = NULL;

    if (o->device->sm < 80)
        return "needs sm_80";
    if (!contract_open(x, g, gr, o, &why))
        return why;
    why = check_types(x);
    if (why)
        return why;
    contract_loads(x);
    if (x->elem == T_I8 && !(x->a.k_major && x->b.k_major))
        return "i8 fragments need both factors contiguous along k";
    return NULL;
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    Contract *f = arena_new_of(g->arena, Contract);

    *why = open_mma(f, g, gr, o);
    return *why ? NULL : f;
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

/* Warps that have all sums of a tile. */
static int tile_warps(const Tile *t)
{
    return t->bm / t->wm * (t->bn / t->wn);
}

static int slices(const Tile *t)
{
    return t->threads / 32 / tile_warps(t);
}

static const char *text(const Contract *x, const Tile *t)
{
    const char *s = contract_text(x, t);

    return slices(t) == 1 ? s : arena_printf(x->g->arena, "%s slices=%d", s,
                                             slices(t));
}

static const char *text_of(const void *form, const Variant *v)
{
    const Tile t = contract_tile(v);

    return text(form, &t);
}

static void add_variants(const Contract *x, const Tile *base, Variant *v,
                         int *n, int most)
{
    int split[10], n_split = contract_splits(x, base, split);

    for (int i = 0; i < n_split && *n < most; i++) {
        Tile t = *base;
        ContractPlan p;
        t.split = split[i];
        /* no ring is deeper than its steps, but one of three */
        int64_t steps = (x->c.K + t.bk - 1) / t.bk;
        if (t.stages > 3 && (t.stages - 1) * split[i] >= steps)
            continue;
        if (contract_plan(&p, x, &t, false))
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
                t.threads = tile_warps(&t) * 32 * many;
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

static int space(const void *form, Variant **out)
{
    enum { MOST = 4000 };
    const Contract *x = form;
    Variant v[MOST];
    int n = 0;

    for (int i = 0; i < N_SHAPES; i++)
        add_shape(x, &shapes[i], v, &n, MOST);
    *out = contract_variants(x->g->arena, v, n);
    return n;
}

/* Sums and two sets of fragments stay in registers. */
const char *mma_plan(ContractPlan *x, const Contract *f, const Variant *v)
{
    const Tile t = contract_tile(v);
    const char *why = contract_plan(x, f, &t, false);

    if (!why)
        contract_regs(x, t.wm * t.wn / 32 +
                             (t.wm + t.wn) / (f->terms == 3 ? 1 : 2));
    return why;
}

/* Where a lane's part of a fragment of 16 rows begins. ldmatrix takes four
 * matrices of 8 rows and 16 bytes: a's go along m first, b's along k first; a
 * 16-bit tile stored the other way is transposed by it. */
static void lane_place(const ContractBuild *x, const Load *l, bool is_a,
                       Fill *row, Fill *k)
{
    bool wide = x->f->k_step == 8;

    if (l->k_major) {
        row->text = is_a ? "lane % 16" : "lane / 16 * 8 + lane % 8";
        k->text = arena_printf(x->g->arena, "lane / %s * %d",
                               is_a ? "16" : "8 % 2", x->f->k_step / 2);
    } else if (wide) {
        row->text = "lane / 4";
        k->text = "lane % 4";
    } else {
        row->text = is_a ? "lane / 8 % 2 * 8" : "lane / 16 * 8";
        k->text = is_a ? "lane / 16 * 8 + lane % 8" : "lane % 16";
    }
}

/* The statement that reads fragment `index`. */
static Tree *fragment(ContractBuild *x, const Load *l, const char *side,
                      const char *index)
{
    Arena *a = x->g->arena;
    bool is_a = *side == 'a';
    const char *row = arena_printf(a, "[%s_lane_row + %s * 16]", side, index);
    const char *k = arena_printf(a, "[kk + %s_lane_k]", side);
    const Fill at =
        FILL("at", arena_printf(a, "&smem.%s[stage]%s%s", l->tile,
                                l->k_major ? row : k, l->k_major ? k : row));
    const Fill to = FILL(
        "to", arena_printf(a, "%s_frag[kk / K_STEP %% 2][%s]", side, index));

    if (l->k_major || x->f->k_step == 16)
        return QUOTE(a, "dcc_ldmatrix_x4@trans(@to, @at);\n", to, at,
                     FILL("trans", l->k_major ? "" : "_trans"));
    return QUOTE(
        a,
        "{\n"
        "    const float *const at = @at;\n"
        "    @to[0] = __float_as_uint(at[0]);\n"
        "    @to[@low] = __float_as_uint(at[8]);\n"
        "    @to[@high] = __float_as_uint(at[@next]);\n"
        "    @to[3] = __float_as_uint(at[@next + 8]);\n"
        "}\n",
        to, at, FILL_INT("low", is_a ? 1 : 2), FILL_INT("high", is_a ? 2 : 1),
        FILL("next", arena_printf(a, "4 * (%s + %s_PAD)", l->size, l->ID)));
}

/* Which warp of its slice of k this is. */
static Tree *place(const ContractBuild *x)
{
    return QUOTE(x->g->arena,
                 x->p->parts == 1
                     ? "const int lane = threadIdx.x % 32, "
                       "warp = threadIdx.x / 32;\n"
                     : "const int lane = threadIdx.x % 32;\n"
                       "const int warp = threadIdx.x / 32 % @warps;\n"
                       "const int slice = threadIdx.x / 32 / @warps;\n",
                 FILL_INT("warps", tile_warps(&x->p->t)));
}

static const char *mma_name(const Contract *x)
{
    return x->elem == T_F16    ? "dcc_mma_m16n8k16_f16"
           : x->elem == T_BF16 ? "dcc_mma_m16n8k16_bf16"
           : x->elem == T_I8   ? "dcc_mma_m16n8k32_s8"
           : x->terms == 3     ? "dcc_mma_3xtf32"
                               : "dcc_mma_tf32";
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    const Contract *f = form;
    ContractPlan p;
    ContractBuild x;

    if (mma_plan(&p, f, v))
        return;
    contract_begin(&x, &p, k);
    Fill extra[] = {
        FILL("A_ROW", NULL),
        FILL("A_K", NULL),
        FILL("B_ROW", NULL),
        FILL("B_K", NULL),
        FILL_TREE("A_FRAGMENT", fragment(&x, &x.a, "a", "i")),
        FILL_TREE("B_FRAGMENT", fragment(&x, &x.b, "b", "j")),
        FILL("MMA", mma_name(f)),
        FILL("T", f->acc == T_F32 ? "float" : "int"),
        FILL_TREE("PLACE", place(&x)),
        FILL("STEPS", p.parts > 1 ? "BK / SLICES" : "BK"),
        FILL("SLICE", p.parts > 1 ? "slice * BM + " : ""),
    };
    lane_place(&x, &x.a, true, &extra[0], &extra[1]);
    lane_place(&x, &x.b, false, &extra[2], &extra[3]);
    for (int i = 1; i < 4 && p.parts > 1; i += 2)
        extra[i].text = arena_printf(f->g->arena, "slice * (BK / SLICES) + %s",
                                     extra[i].text);
    contract_body(&x, "contract_mma.cu.in", "contract_mma_sums.cu.in", extra,
                  (int)(sizeof extra / sizeof *extra));
    k->family = "contract_mma";
    k->variant = text(f, &p.t);
    k->min_arch = "sm_80";
}

const Family family_contract_mma = {
    .name = "contract_mma",
    .version = 2,
    .open = open,
    .space = space,
    .cost = mma_cost,
    .least = mma_least,
    .build = build,
    .text = text_of,
};
