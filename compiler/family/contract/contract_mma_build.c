#include "family/contract/contract_mma.h"

#include "emit/emit.h"

/* The kernel of a contraction by mma.sync, from its plan. */

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
                 FILL_INT("warps", mma_tile_warps(&x->p->t)));
}

static const char *mma_name(const Contract *x)
{
    bool exact = contract_is_tf32(&x->c.a) && contract_is_tf32(&x->c.b);

    return x->elem == T_F16       ? "dcc_mma_m16n8k16_f16"
           : x->elem == T_BF16    ? "dcc_mma_m16n8k16_bf16"
           : x->elem == T_I8      ? "dcc_mma_m16n8k32_s8"
           : x->terms == 3        ? "dcc_mma_3xtf32"
           : x->terms == 1        ? exact ? "dcc_mma_m16n8k8_tf32"
                                          : "dcc_mma_tf32"
           : x->c.a.type == T_F32 ? "dcc_mma_2xtf32_a"
                                  : "dcc_mma_2xtf32_b";
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
    k->variant = mma_text(f, &p.t);
    k->min_arch = "sm_80";
}

const Family family_contract_mma = {
    .name = "contract_mma",
    .version = 2,
    .open = mma_open,
    .space = mma_space,
    .cost = mma_cost,
    .least = mma_least,
    .potential = mma_potential,
    .build = build,
    .text = mma_text_of,
};
