/* contract_wgmma_steps.c - the loop over a tile's k. */
#include "family/contract/wgmma/contract_wgmma.h"

#include <string.h>

/* What is read ahead comes there only if there is a loop: in straight code nvcc
 * moves the reads down, and products, which the other warpgroup's wait for in
 * turn, wait for them. Without turns straight code is the quicker. */
static const char ahead[] = "unroll 1  // reads stay ahead of it";

const char *wgmma_elect(const WgmmaBuild *w)
{
    return wgmma_crosses(w->p)   ? "frees"
           : w->p->cluster > 1 ? "lane < CLUSTER"
                               : "lane == 0";
}

Tree *wgmma_free_slot(const WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena,
                 w->p->cluster > 1
                     ? "dcc_mbar_arrive_at(&smem.empty[@slot], lane);\n"
                     : "dcc_mbar_arrive(&smem.empty[@slot]);\n",
                 FILL("slot", w->x.f->terms == 3 ? "slot" : "before"));
}

/* Behind `later`, if that is not "". */
static void put_free(const WgmmaBuild *w, Tree *b, const char *later)
{
    if (wgmma_turns(w->p))
        PUT(b, "if (@later@@elect)\n"
               "    @FREE\n",
            FILL("later", later), FILL("elect", wgmma_elect(w)),
            FILL_TREE("FREE", wgmma_free_slot(w)));
}

/* The last products; where a's rows are computed, the loop waits for them. */
Tree *wgmma_done(const WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    if (!w->f->pre)
        PUT(b, "dcc_wgmma_wait<0>();\n");
    PUT(b, "dcc_wgmma_use(acc);\n");
    if (!w->f->pre)
        put_free(w, b, "");
    return b;
}

Tree *wgmma_last_slots(const WgmmaBuild *w)
{
    return QUOTE(w->x.g->arena,
                 w->p->cluster > 1 && wgmma_turns(w->p)
                     ? "// Nobody leaves while others may still arrive at its "
                       "barriers.\n"
                       "for (int last = 0; last < STAGES; ++last) {\n"
                       "    dcc_mbar_wait(&smem.empty[slot], phase ^ 1);\n"
                       "    dcc_next_slot<STAGES>(slot, phase);\n"
                       "}\n"
                     : "");
}

const char *wgmma_slot(const WgmmaBuild *w, const char *begin)
{
    return wgmma_turns(w->p)   ? ""
           : strcmp(begin, "0") ? arena_printf(w->x.g->arena,
                                               "const int slot = k_tile - %s;\n",
                                               begin)
                                : "const int slot = k_tile;\n";
}

const char *wgmma_b_slot(const WgmmaBuild *w)
{
    return w->p->stays && !wgmma_rounds(w->p) ? "k_tile" : "slot";
}

/* The slot before is read no more when one step's products are under way. */
static Tree *before_code(const WgmmaBuild *w, const char *later)
{
    Tree *b = tree_list(w->x.g->arena);

    if (wgmma_turns(w->p)) {
        PUT(b, "dcc_wgmma_wait<1>();\n");
        put_free(w, b, arena_printf(b->arena, "%s && ", later));
        PUT(b, "before = slot;\n");
    }
    return b;
}

/* Where a's rows are computed, the loop is the template's. */
static Tree *steps_of_rows(const WgmmaBuild *w, Fill *fill, int n)
{
    Arena *a = w->x.g->arena;
    Tree *unroll = tree_list(a), *freed = tree_list(a);
    bool turns = wgmma_turns(w->p);

    put_free(w, freed, "");
    if (w->p->pingpong && w->ahead->n_item)
        PUT(unroll, "#pragma @pragma\n", FILL("pragma", ahead));
    fill[n++] = FILL("PLACE_K", wgmma_place(w, "k_tile"));
    fill[n++] = FILL_TREE("A_COLUMNS", w->a_columns);
    fill[n++] = FILL_TREE("A_VALUE", w->a_value);
    fill[n++] = FILL("A_TYPE", type_cname(w->x.f->elem));
    fill[n++] = FILL_TREE("UNROLL", unroll);
    fill[n++] = FILL_TREE("BEFORE", freed);
    fill[n++] = FILL("SLOT_AT", turns ? "int slot = step % STAGES, "
                                        "phase = step / STAGES % 2;\n"
                                      : "");
    fill[n++] = FILL("STEP_ON", turns ? "const int before = slot;\n"
                                          "dcc_next_slot<STAGES>(slot, phase);\n"
                                        : "");
    return template_tree(a, "contract_wgmma_regs.cu.in", fill, n);
}

/* The loop itself, whose steps have more products. */
static Tree *loop_of(const WgmmaBuild *w, const char *begin, const char *end,
                     Fill *fill, int n, Tree *more)
{
    Arena *a = w->x.g->arena;

    fill[n++] = FILL_TREE("ADD_FACTOR", more);
    Tree *step = template_tree(a, "contract_wgmma_step.cu.in", fill, n);
    return QUOTE(
        a,
        !wgmma_turns(w->p) ? "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
                             "    @slot\n"
                             "    @STEP\n"
                             "}\n"
        : wgmma_rounds(w->p) ? "for (int k_tile = @begin; k_tile < @end; "
                               "k_tile += STAGES, phase ^= 1)\n"
                               "    #pragma unroll\n"
                               "    for (int slot = 0; slot < STAGES; ++slot) {\n"
                               "        @STEP\n"
                               "    }\n"
        : w->p->pingpong && w->ahead->n_item
            ? "#pragma @pragma\n"
              "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
              "    @STEP\n"
              "    dcc_next_slot<STAGES>(slot, phase);\n"
              "}\n"
            : "for (int k_tile = @begin; k_tile < @end; ++k_tile) {\n"
              "    @STEP\n"
              "    dcc_next_slot<STAGES>(slot, phase);\n"
              "}\n",
        FILL("begin", begin), FILL("end", end), FILL("pragma", ahead),
        FILL("slot", wgmma_slot(w, begin)), FILL_TREE("STEP", step));
}

/* Which of a window's steps `k` is, where steps have several pixels. */
static const char *pair_of(const WgmmaBuild *w, const char *k)
{
    const Axes *axes = &w->f->tma.k;
    const int at = w->f->tma.pair.axis;
    int64_t radix = 1;

    for (int i = axes->n - 2; i > at; i--)
        radix *= axes->axis[i].extent;
    return cprint_digit(w->x.g->arena, wgmma_place(w, k), radix,
                        at > 0 ? axes->axis[at].extent : 0);
}

/* Which parts of a step's k have terms, by `kk`; and the first. */
static void fill_parts(const WgmmaBuild *w, const char *k, Fill *takes,
                       Fill *first)
{
    Arena *a = w->x.g->arena;
    const TmaPair *pair = &w->f->tma.pair;
    const Axes *axes = &w->f->tma.k;
    const int part = w->f->tma.bk / TMA_PARTS;
    const int before = pair->before / part, last = pair->last / part;
    const int whole = (int)axes->axis[axes->n - 1].extent / part;
    const char *text = "true", *of;

    *takes = FILL("TAKES", text);
    *first = FILL("FIRST_PART", "0");
    if (pair->taken <= 0)
        return;
    of = pair_of(w, k);
    if (before) {
        text = arena_printf(a, "(kk >= %d || %s > 0)", before, of);
        *first = FILL("FIRST_PART",
                      arena_printf(a, "(%s > 0 ? 0 : %d)", of, before));
    }
    if (last < whole)
        text = arena_printf(
            a, "%s && kk < (%s < %lld ? %d : %d)", text, of,
            (long long)axes->axis[pair->axis].extent - 1, whole, last);
    else if (whole * part < w->f->tma.bk)
        text = arena_printf(a, "%s && kk < %d", text, whole);
    *takes = FILL("TAKES", text);
}

Tree *wgmma_steps(const WgmmaBuild *w, const char *begin, const char *end,
                  Fill *fill, int n)
{
    Arena *a = w->x.g->arena;
    bool rounds = wgmma_rounds(w->p), turns = wgmma_turns(w->p);
    const char *later =
        arena_printf(a, rounds ? "k_tile + slot > %s" : "k_tile > %s", begin);
    Tree *last = tree_list(a);

    if (w->p->lead)
        PUT(last,
            "if (k_tile == @last)\n"
            "    dcc_end_second(warpgroup@tells);\n",
            FILL("last", wgmma_reaches(w->p)
                             ? "max(k_end - LEAD, k_begin)"
                             : arena_printf(a, "%s - LEAD",
                                            wgmma_own_steps(w))),
            FILL("tells", wgmma_tells(w->p) ? ", true" : ""));
    fill[n++] = FILL_TREE("LAST", last);
    fill[n++] = FILL("PHASE", turns ? "phase" : "0");
    if (w->f->pre)
        return steps_of_rows(w, fill, n);
    fill[n++] = FILL("LATER", later);
    fill_parts(w, rounds ? "k_tile + slot" : "k_tile", &fill[n], &fill[n + 1]);
    n += 2;
    fill[n++] = FILL_TREE("BEFORE", before_code(w, later));
    Tree *loop = loop_of(w, begin, end, fill, n, tree_list(a));
    Tree *all = wgmma_factor_begin(w);
    if (turns)
        PUT(all,
            rounds ? "int phase = step / STAGES % 2, before = 0;\n"
                   : "int slot = step % STAGES, phase = step / STAGES % 2, "
                     "before = slot;\n");
    if (w->x.f->gr->factor_sum)
        loop = QUOTE(a,
                     "if (sums) {\n"
                     "    @WITH\n"
                     "} else {\n"
                     "    @LOOP\n"
                     "}\n",
                     FILL_TREE("WITH", loop_of(w, begin, end, fill, n,
                                               wgmma_factor_step(w, later))),
                     FILL_TREE("LOOP", loop));
    tree_add(all, loop);
    return all;
}
