/* contract_wgmma_steps.c - the loop over a tile's k. */
#include "family/contract/wgmma/contract_wgmma.h"

/* What is read ahead comes there only if there is a loop: in straight code nvcc
 * moves the reads down, and products, which the other warpgroup's wait for in
 * turn, wait for them: 6272 x 2048 x 512 with residuals in tiles of 64 x 128
 * took 41.9 us, not 29.2; with a bias and relu 28.7, not 24.4. Without turns
 * straight code is the quicker, by up to 5%. */
static const char ahead[] = "unroll 1  // reads stay ahead of it";

/* Where a's rows are computed, the loop is the template's. */
static Tree *steps_of_rows(const WgmmaBuild *w, Fill *fill, int n)
{
    Arena *a = w->x.g->arena;
    Tree *unroll = tree_list(a);

    if (w->p->pingpong && w->ahead->n_item)
        PUT(unroll, "#pragma @pragma\n", FILL("pragma", ahead));
    fill[n++] = FILL("PLACE_K", wgmma_place(w, "k_tile"));
    fill[n++] = FILL_TREE("A_COLUMNS", w->a_columns);
    fill[n++] = FILL_TREE("A_VALUE", w->a_value);
    fill[n++] = FILL("A_TYPE", type_cname(w->x.f->elem));
    fill[n++] = FILL_TREE("UNROLL", unroll);
    return template_tree(a, "contract_wgmma_regs.cu.in", fill, n);
}

Tree *wgmma_steps(const WgmmaBuild *w, const char *begin, const char *end,
                  Fill *fill, int n)
{
    Arena *a = w->x.g->arena;
    bool rounds = wgmma_rounds(w->p);
    Tree *last = tree_list(a);

    if (w->p->lead)
        PUT(last,
            "if (k_tile == K_TILES - LEAD)\n"
            "    dcc_end_second(warpgroup@tells);\n",
            FILL("tells", wgmma_tells(w->p) ? ", true" : ""));
    fill[n++] = FILL_TREE("LAST", last);
    if (w->f->pre)
        return steps_of_rows(w, fill, n);
    fill[n++] = FILL(
        "LATER",
        arena_printf(a, rounds ? "k_tile + slot > %s" : "k_tile > %s", begin));
    Tree *step = template_tree(a, "contract_wgmma_step.cu.in", fill, n);
    Tree *loop =
        QUOTE(a,
              rounds ? "int phase = step / STAGES % 2, before = 0;\n"
                       "for (int k_tile = @begin; k_tile < @end; "
                       "k_tile += STAGES, phase ^= 1)\n"
                       "    #pragma unroll\n"
                       "    for (int slot = 0; slot < STAGES; ++slot) {\n"
                       "        @STEP\n"
                       "    }\n"
              : w->p->pingpong && w->ahead->n_item
                  ? "int slot = step % STAGES, phase = step / STAGES % 2, "
                    "before = slot;\n"
                    "#pragma @pragma\n"
                    "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
                    "    @STEP\n"
                    "    dcc_next_slot<STAGES>(slot, phase);\n"
                    "}\n"
                  : "int slot = step % STAGES, phase = step / STAGES % 2, "
                    "before = slot;\n"
                    "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
                    "    @STEP\n"
                    "    dcc_next_slot<STAGES>(slot, phase);\n"
                    "}\n",
              FILL("begin", begin), FILL("end", end), FILL("pragma", ahead),
              FILL_TREE("STEP", step));
    return loop;
}
