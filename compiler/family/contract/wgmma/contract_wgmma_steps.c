/* contract_wgmma_steps.c - the loop over a tile's k. */
#include "emit/cprint_old.h"
#include "family/contract/wgmma/contract_wgmma.h"

/* Beside another warpgroup's functions, what stands between two steps' products
 * takes longer than the tensor cores have work for; where tiles are whole
 * rounds of the ring, its slots are constants there, and nothing is computed
 * from them. */
bool wgmma_rounds(const Wgmma *w)
{
    return w->pingpong && w->x.special > 0 &&
           w->k_tiles % w->x.t.stages == 0;
}

/* What is read ahead comes there only if there is a loop: in straight code nvcc
 * moves the reads down, and products, which the other warpgroup's wait for in
 * turn, wait for them: 6272 x 2048 x 512 with residuals in tiles of 64 x 128
 * took 41.9 us, not 29.2; with a bias and relu 28.7, not 24.4. Without turns
 * straight code is the quicker, by up to 5%. */
static const char ahead[] = "#pragma unroll 1  // reads stay ahead of it\n";

bool wgmma_tells(const Wgmma *w)
{
    return w->lead && w->lead + w->k_tiles <= w->x.t.stages;
}

const char *wgmma_steps(const Wgmma *w, const char *begin, const char *end,
                        Slot *slot, int n)
{
    Arena *a = w->x.g->arena;
    bool rounds = wgmma_rounds(w);
    Buf step = {0}, b = {0};

    slot[n++] = (Slot){"LATER", arena_printf(a, rounds ? "k_tile + slot > %s"
                                                       : "k_tile > %s", begin)};
    slot[n++] = (Slot){
        "LAST", w->lead ? arena_printf(a, "if (k_tile == K_TILES - LEAD)\n"
                                          "    dcc_end_second(warpgroup%s);\n",
                                       wgmma_tells(w) ? ", true" : "")
                        : ""};
    slot[n++] = (Slot){"PLACE_K", wgmma_place(w, rounds ? "(k_tile + slot)"
                                                     : "k_tile")};
    slot[n++] = (Slot){"A_COLUMNS", w->a_columns};
    slot[n++] = (Slot){"A_VALUE", w->a_value};
    slot[n++] = (Slot){"A_TYPE", type_cname(w->x.elem)};
    template_fill(&step, w->pre ? "contract_wgmma_regs.cu.in"
                                : "contract_wgmma_step.cu.in", slot, n);
    if (rounds) {
        buf_printf(&b, "int phase = step / STAGES %% 2, before = 0;\n"
                       "for (int k_tile = %s; k_tile < %s;\n"
                       "     k_tile += STAGES, phase ^= 1)\n"
                       "    #pragma unroll\n"
                       "    for (int slot = 0; slot < STAGES; ++slot) {\n",
                   begin, end);
        cprint_lines(&b, buf_text(&step), 8);
        buf_puts(&b, "    }\n");
    } else {
        buf_printf(&b, "int slot = step %% STAGES, phase = step / STAGES %% 2, "
                       "before = slot;\n%s"
                       "for (int k_tile = %s; k_tile < %s; ++k_tile) {\n",
                   w->pingpong && *w->ahead ? ahead : "", begin, end);
        cprint_lines(&b, buf_text(&step), 4);
        buf_puts(&b, "    dcc_next_slot<STAGES>(slot, phase);\n}\n");
    }
    buf_free(&step);
    return buf_take(&b, a);
}
