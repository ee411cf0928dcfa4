#include "family/contract/wgmma/contract_wgmma.h"

/* The two parts of f32 numbers that 3xtf32 multiplies: a's in registers, b's in
 * shared memory. */

bool wgmma_turns_b(const WgmmaForm *f)
{
    return f->x.terms == 3 && !f->tma.b.k_major;
}

size_t wgmma_part_bytes(const WgmmaForm *f, int bn)
{
    int rows = wgmma_turns_b(f) ? 2 * bn : bn;

    return f->x.terms == 3 ? (size_t)(rows * TMA_ROW + 16) * 2 : 0;
}

static const char *both_across(const WgmmaBuild *w)
{
    return w->f->tma.a.k_major || w->f->tma.b.k_major ? "false" : "true";
}

/* 3xtf32: a's fragments, from a tile that lies along k or across. */
static Tree *fragments(const WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena,
                 w->f->tma.a.k_major
                     ? "dcc_parts_along(big, small, smem.@tile[slot], a_row);\n"
                     : "dcc_parts_across<@both>(big, small,\n"
                       "    smem.@tile[slot][a_row / 32], warp % 2 * 16);\n",
                 FILL("tile", w->x.a.tile), FILL("both", both_across(w)));
}

/* 3xtf32: three warps write b's small part where b is in its tile, or both
 * parts where it lies across k there. */
static Tree *split_b(const WgmmaBuild *w)
{
    Arena *a = w->x.g->arena;

    if (!wgmma_turns_b(w->f))
        return TEMPLATE(a, "contract_wgmma_3x_small.cu.in",
                        FILL("B_TILE", w->x.b.tile));
    return QUOTE(a,
                 "// split: three warps, b's parts along k\n"
                 "dcc_split_across<@both, @deal>(smem.big[step % 2],\n"
                 "    smem.small[step % 2], smem.@tile[slot],\n"
                 "    threadIdx.x % 128 - 32);\n",
                 FILL("both", both_across(w)),
                 FILL_INT("deal", w->p->deal ? w->p->deal : 2),
                 FILL("tile", w->x.b.tile));
}

void wgmma_part_fills(const WgmmaBuild *w, Fill *fill)
{
    Tree *none = tree_list(w->x.g->arena);
    bool three = w->x.f->terms == 3;

    fill[0] = FILL("A_TILE", w->x.a.tile);
    fill[1] = FILL("B_TILE", w->x.b.tile);
    fill[2] = FILL_TREE("FRAGMENTS", three ? fragments(w) : none);
    fill[3] = FILL_TREE("SPLIT_B", three ? split_b(w) : none);
}
