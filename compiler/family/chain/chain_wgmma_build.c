#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* The kernel of a chain, from its plan. */

/* ---- names ----------------------------------------------------------- */

static const char *tile_id(ChainKernel *w, const Operand *o)
{
    return cprint_part(&w->b.cp, o->read);
}

void chain_name_all(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    const ChainForm *f = w->f;
    const char *id[6];
    bool there[6] = {true, true, !f->lies_in, f->chain->other,
                     f->chain->other, f->twin && !f->twin->lies_in};

    w->b.cp = cprint_new(w->b.g, w->k);
    id[0] = tile_id(w, &f->a.c.a);
    id[1] = tile_id(w, &f->a.c.b);
    id[2] = tile_id(w, &f->b.c.b);
    if (f->chain->other) {
        id[3] = tile_id(w, &f->o.c.a);
        id[4] = tile_id(w, &f->o.c.b);
    }
    if (f->twin)
        id[5] = tile_id(w, &f->twin->b.c.b);
    for (int i = 0; i < 6; i++) { /* one tensor in two places */
        if (!there[i])
            continue;
        for (int j = 0; j < i; j++)
            if (there[j] && !strcmp(id[i], id[j]))
                id[i] = arena_printf(a, "%s_%d", id[i], i);
        w->id[i] = id[i];
    }
    if (f->lies_in)
        w->id[2] = w->id[f->lies_in];
    if (f->twin && f->twin->lies_in)
        w->id[5] = w->id[f->twin->lies_in];
}

static void constants(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Graph *g = w->b.g;
    Kernel *k = w->k;
    int64_t col = (int64_t)w->bj * 128;
    int boxes = w->d_boxes + w->o_boxes;

    kernel_constant(g, k, "M", f->M, f->row->name);
    kernel_constant(g, k, "N", f->N, f->b.c.n[f->b.c.n_n - 1]->name);
    kernel_constant(g, k, "J", f->J, f->col->name);
    kernel_constant(g, k, "BM", w->bm, "rows of a block");
    kernel_constant(g, k, "WM", 64, "rows of a warpgroup");
    kernel_constant(g, k, "BJ", w->bj, "columns at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    if (f->chain->other)
        kernel_constant(g, k, "OTHER_STEPS", (f->O + 15) / 16,
                        "and of the other product");
    kernel_constant(g, k, "CONSUMERS", w->consumers, "warpgroups");
    if (w->teams > 1)
        kernel_constant(g, k, "TEAMS", w->teams,
                        "which have blocks of columns in turns");
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "TILES_M", w->m_tiles, NULL);
    kernel_constant(g, k, "BATCHES", f->batches, NULL);
    if (w->group > 1)
        kernel_constant(g, k, "GROUP", w->group,
                        "of the batch that run together");
    if (w->pack)
        kernel_constant(g, k, "COLS", w->pack, "that a warp stores at a time");
    kernel_constant(g, k, "ROWS_BYTES", (int64_t)w->bm * boxes * 128, "");
    kernel_constant(g, k, "FIRST_BYTES", col * boxes, "");
    kernel_constant(g, k, "SECOND_BYTES", (int64_t)w->second_bytes,
                    "that TMA brings at a time");
}

static void second_memory(ChainKernel *w, const ChainForm *f, const char *id)
{
    Arena *a = w->b.g->arena;
    const char *type = type_cname(f->elem);

    kernel_smem(w->b.g, w->k, 1024,
                f->tb.b.k_major
                    ? arena_printf(a, "%s %s_tile[STAGES][BJ / 64][BN][64]",
                                   type, id)
                    : arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                                   id, w->n_boxes),
                NULL);
}

static void shared_memory(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    Graph *g = w->b.g;
    const char *type = type_cname(w->f->elem);

    kernel_smem(
        g, w->k, 1024,
        arena_printf(a, "%s %s_tile[%d][BM][64]", type, w->id[0], w->d_boxes),
        NULL);
    kernel_smem(g, w->k, 1024,
                arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                             w->id[1], w->d_boxes),
                NULL);
    if (w->f->chain->other) {
        kernel_smem(g, w->k, 1024,
                    arena_printf(a, "%s %s_tile[%d][BM][64]", type, w->id[3],
                                 w->o_boxes),
                    NULL);
        kernel_smem(g, w->k, 1024,
                    arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                                 w->id[4], w->o_boxes),
                    NULL);
    }
    if (!w->f->lies_in)
        second_memory(w, w->f, w->id[2]);
    if (w->f->twin && !w->f->twin->lies_in)
        second_memory(w, w->f->twin, w->id[5]);
    if (w->pack)
        kernel_smem(g, w->k, 128,
                    arena_printf(a, "%s out_rows[%s][16][COLS]",
                                 type_cname(w->out_type),
                                 w->teams > 1 ? "4" : "CONSUMERS * 4"),
                    NULL);
    if (w->teams > 1)
        kernel_smem(g, w->k, 16,
                    w->f->rows.softmax ? "float left[BN / 2 + 4][128]"
                                       : "float left[BN / 2][128]",
                    NULL);
    if (w->f->rows.n_column)
        kernel_smem(g, w->k, 16,
                    arena_printf(a, "float of_column[STAGES][%d][BJ]",
                                 w->f->rows.n_column),
                    NULL);
    kernel_smem(g, w->k, 8,
                "uint64_t rows_full, first_full[STAGES], first_empty[STAGES]",
                NULL);
    if (!chain_one_ring(w->f))
        kernel_smem(g, w->k, 8,
                    "uint64_t second_full[STAGES], second_empty[STAGES]",
                    NULL);
}

/* ---- rows ------------------------------------------------------------- */

/* What a row has so far. */
Tree *chain_state(const ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    double scale = w->f->rows.scale * (w->f->rows.base2 ? 1 : M_LOG2E);

    if (chain_fits_rows(w->f))
        return QUOTE(a, "float scale[2], grow[2];  // powers of two that rows "
                        "go with, so that f16 holds them\n");
    if (!w->f->rows.softmax)
        return tree_list(a);
    return QUOTE(a,
                 "const float scale = @scale;  // of scores, in powers of "
                 "two\n"
                 "float most[2], sum[2], grow[2];\n",
                 FILL("scale", cprint_float(a, (float)scale)));
}

Tree *chain_start(const ChainKernel *w)
{
    Tree *code = chain_state(w);

    if (w->f->rows.softmax)
        PUT(code, "most[0] = most[1] = -INFINITY;\n"
                  "sum[0] = sum[1] = 0.0f;\n");
    return code;
}

const char *chain_weigh(const ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;

    return chain_fits_rows(w->f)
               ? arena_printf(w->b.g->arena,
                              "dcc_fit_rows(%s, scale, grow, again);\n",
                              chain_scores(w, false))
           : !r->softmax ? ""
           : r->exact
               ? "dcc_soften<true>(score, most, sum, grow, scale, again);\n"
               : "dcc_soften(score, most, sum, grow, scale, again);\n";
}

const char *chain_rescale(const ChainKernel *w)
{
    return !chain_grows(w->f)    ? ""
           : w->f->chain->halves ? "dcc_grow(acc[0], grow);\n"
                                   "dcc_grow(low_acc[0], grow);\n"
                                 : "dcc_grow(acc[0], grow);\n";
}

const char *chain_greatest(const ChainKernel *w, const char *most)
{
    Arena *a = w->b.g->arena;

    return w->f->rows.scale == 1
               ? most
               : arena_printf(a, "(%s * %s)", most,
                              cprint_float(a, (float)w->f->rows.scale));
}

/* How a softmax's rows are called in a loop over a thread's two. */
static void name_rows(ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;

    if (!r->softmax)
        return;
    w->b.cp.local[r->sum] = "sum[r]";
    w->b.cp.local[r->max] = chain_greatest(w, "most[r]");
}

Tree *chain_keeps(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena), *row = tree_list(w->b.g->arena);

    if (f->rows.softmax && (f->rows.after || f->rows.n_kept))
        PUT(code, "dcc_row_sums(sum);\n");
    if (!f->rows.n_kept)
        return code;
    CScope scope = cprint_open(cp);
    const char *m = cprint_var(cp, f->row);
    name_rows(w);
    for (int i = 0; i < f->rows.n_kept; i++) {
        const Step *s = f->rows.kept[i].store;
        const char *text = cprint_bind(row, cp, f->rows.kept[i].value, "t");
        cprint_store(row, cp, s->tensor, s->store, s->where, T_F32, text);
    }
    PUT(code,
        "// values of the rows that are read again\n"
        "#pragma unroll\n"
        "for (int r = 0; r < 2; ++r) {\n"
        "    const int @m = m0 + top + lane / 4 + r * 8;\n"
        "    if (lane % 4 == 0@there) {\n"
        "        @ROW\n"
        "    }\n"
        "}\n",
        FILL("m", m),
        FILL("there",
             f->M % w->bm ? arena_printf(w->b.g->arena, " && %s < M", m) : ""),
        FILL_TREE("ROW", row));
    cprint_close(cp, scope);
    return code;
}

/* What multiplies a row's sums. */
Tree *chain_after(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena), *row = tree_list(w->b.g->arena);

    if (!f->rows.after)
        return code;
    CScope scope = cprint_open(cp);
    name_rows(w);
    if (expr_uses(f->rows.after, f->row))
        PUT(row, "const int @m = min(m0 + top + lane / 4 + r * 8, M - 1);\n",
            FILL("m", cprint_var(cp, f->row)));
    const char *text = cprint_bind(row, cp, f->rows.after, "t");
    PUT(row, "after[r] = @text;\n", FILL("text", text));
    PUT(code,
        "float after[2];\n"
        "#pragma unroll\n"
        "for (int r = 0; r < 2; ++r) {\n"
        "    @ROW\n"
        "}\n",
        FILL_TREE("ROW", row));
    cprint_close(cp, scope);
    return code;
}

/* ---- the whole ------------------------------------------------------- */

static Tree *registers(const ChainKernel *w, bool consumer)
{
    int most = w->consumers == 3 ? 160 : 240;
    int rest = w->consumers == 3 ? 32 : 24;
    Tree *code = tree_list(w->b.g->arena);

    if (w->consumers > 1 && w->teams == 1)
        PUT(code, "dcc_registers_@change<@n>();\n",
            FILL("change", consumer ? "grow" : "shrink"),
            FILL_INT("n", consumer ? most : rest));
    return code;
}

static Tree *prefetch(const ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    const char *maps = "";

    for (int i = 0; i < w->k->n_map; i++)
        maps =
            arena_printf(a, "%s%s&%s", maps, i ? ", " : "", w->k->map[i].name);
    return QUOTE(a, "dcc_tma_prefetch_maps(@maps);\n", FILL("maps", maps));
}

/* ---- another first product, and a factor in parts ----------------------- */

/* What is waited for beside scores, and beside sums. */
static const char *other(const ChainKernel *w)
{
    return w->f->chain->other ? ", other" : "";
}

static const char *low(const ChainKernel *w)
{
    return w->f->twin ? (w->f->chain->halves ? ", low_acc, twin_acc"
                                             : ", twin_acc")
           : w->f->chain->halves ? ", low_acc"
                                 : "";
}

/* For the sums; a team's join has waited. */
static const char *last_wait(const ChainKernel *w)
{
    return w->teams > 1 ? ""
                        : arena_printf(w->b.g->arena,
                                       "dcc_wgmma_wait<0>(acc%s);\n", low(w));
}

static Tree *pack_scores(const ChainKernel *w)
{
    const Chain *c = w->f->chain;
    const char *type = type_cname(w->f->elem);
    Tree *code = tree_list(w->b.g->arena);

    PUT(code,
        c->halves   ? "dcc_pack_halves(weight, low, @own);\n"
        : c->thirds ? "dcc_pack_thirds(weight, mid, low, @own);\n"
                    : "dcc_pack_scores<@type>(weight, @own);\n",
        FILL("type", type), FILL("own", chain_scores(w, false)));
    if (w->f->twin)
        PUT(code, "dcc_pack_scores<@type>(twin_weight, @beside);\n",
            FILL("type", type), FILL("beside", chain_scores(w, true)));
    return code;
}

/* Where the second product's other factor lies. */
static const char *ring_of(const ChainKernel *w)
{
    return arena_printf(w->b.g->arena,
                        w->f->tb.b.k_major
                            ? "dcc_wgmma_k_major(smem.%s_tile[0])"
                            : "dcc_wgmma_mn_major(smem.%s_tile[0], BJ * 128)",
                        w->id[2]);
}

/* Steps of its descriptor. */
static const char *steps_of(const ChainKernel *w)
{
    return w->f->tb.b.k_major ? "2, BN * 8" : "128, 512";
}

static const char *second_of(const ChainKernel *w)
{
    return arena_printf(w->b.g->arena, "dcc_wgmma_m64n%dk16_%s_regs<%d>",
                        w->bn, type_name(w->f->elem), !w->f->tb.b.k_major);
}

static Tree *declare_more(const ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (w->f->chain->other)
        PUT(code, "const uint64_t other_rows = "
                  "dcc_wgmma_k_major(smem.@a@_tile[0][warpgroup * 64]);\n"
                  "const uint64_t other_ring = "
                  "dcc_wgmma_k_major(smem.@b@_tile[0]);\n",
            FILL("a", w->id[3]), FILL("b", w->id[4]));
    if (w->f->chain->halves)
        PUT(code, "float low_acc[1][BN / 2];  // of what an f16 leaves\n"
                  "uint32_t low[BJ / 16][4];\n");
    if (w->f->chain->thirds)
        PUT(code, "uint32_t mid[BJ / 16][4], low[BJ / 16][4];"
                  "  // of what a bf16 leaves\n");
    if (w->f->twin) {
        ChainKernel twin = chain_twin_of(w);
        PUT(code,
            "const uint64_t twin_ring = @ring;\n"
            "float twin_acc[1][BN / 2];\n"
            "uint32_t twin_weight[BJ / 16][4];\n",
            FILL("ring", ring_of(&twin)));
    }
    return code;
}

static Tree *score_other(const ChainKernel *w, const char *first)
{
    Tree *code = tree_list(w->b.g->arena);

    if (w->f->chain->other)
        PUT(code, "dcc_wgmma_rows<@first, OTHER_STEPS>(other, other_rows, BM, "
                  "dcc_wgmma_slot(other_ring, smem.@b@_tile, first_slot), "
                  "BJ);\n",
            FILL("first", first), FILL("b", w->id[4]));
    return code;
}

static Tree *multiply(const ChainKernel *w)
{
    const char *second = second_of(w), *step = steps_of(w);
    Tree *code = tree_list(w->b.g->arena);

    PUT(code, w->f->chain->halves
                  ? "dcc_wgmma_halves<@second>(acc[0], weight, low_acc[0], low, "
                    "dcc_wgmma_slot(second_ring, smem.@b@_tile, slot), @step, "
                    "more);\n"
                  : "dcc_wgmma_weights<@second>(acc[0], weight, "
                    "dcc_wgmma_slot(second_ring, smem.@b@_tile, slot), @step, "
                    "more);\n",
        FILL("second", second), FILL("b", w->id[2]), FILL("step", step));
    for (int i = 0; i < 2 && w->f->chain->thirds; i++)
        PUT(code, "dcc_wgmma_weights<@second>(acc[0], @part, "
                  "dcc_wgmma_slot(second_ring, smem.@b@_tile, slot), @step, "
                  "true);\n",
            FILL("second", second), FILL("part", i ? "low" : "mid"),
            FILL("b", w->id[2]), FILL("step", step));
    if (w->f->twin) {
        ChainKernel twin = chain_twin_of(w);
        PUT(code,
            "dcc_wgmma_weights<@second>(twin_acc[0], twin_weight, "
            "dcc_wgmma_slot(twin_ring, smem.@b@_tile, slot), @step, more);\n",
            FILL("second", second_of(&twin)), FILL("b", twin.id[2]),
            FILL("step", steps_of(&twin)));
    }
    return code;
}

/* ---- teams ----------------------------------------------------------- */

static Tree *team(const ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (w->teams > 1)
        PUT(code, "// a team has every other block of columns, of all rows\n"
                  "const int team = warpgroup, from = last - team;\n"
                  "if (from < begin)\n"
                  "    return;\n");
    return code;
}

static Tree *join(const ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (w->teams > 1)
        PUT(code,
            "dcc_wgmma_wait<0>(acc);\n"
            "if (last > begin && dcc_join_teams(smem.left, team, acc[0]@rows))\n"
            "    return;\n",
            FILL("rows", w->f->rows.softmax ? ", most, sum, scale" : ""));
    return code;
}

/* ---- copies ---------------------------------------------------------- */

static Tree *load_rows(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    PUT(code, "dcc_mbar_expect_tx(&smem.rows_full, ROWS_BYTES);\n");
    tree_add(code, chain_load_rows(w));
    return chain_one_lane(w, code);
}

static Tree *load_first(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    PUT(code, "dcc_claim_slot(&smem.first_full[first_slot], "
              "&smem.first_empty[first_slot], first_phase, FIRST_BYTES);\n");
    tree_add(code, chain_load_first(w));
    return chain_one_lane(w, code);
}

static Tree *load_second(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (chain_one_ring(w->f))
        return code;
    PUT(code, "const int j0 = block * BJ;\n"
              "dcc_claim_slot(&smem.second_full[slot], "
              "&smem.second_empty[slot], phase, SECOND_BYTES);\n");
    tree_add(code, chain_load_second(w));
    code = chain_one_lane(w, code);
    PUT(code, "dcc_next_slot<STAGES>(slot, phase);\n");
    return code;
}

/* The slot of the scores is done with: behind them, or behind what is made of
 * them and values of columns; or it is multiplied, too. */
static Tree *free_first(const ChainKernel *w, bool weighed)
{
    Tree *code = tree_list(w->b.g->arena);

    if (weighed != (w->f->rows.n_column || chain_one_ring(w->f)))
        return code;
    if (chain_one_ring(w->f))
        PUT(code, "dcc_next_slot<STAGES>(first_slot, first_phase);\n");
    else if (weighed)
        PUT(code, "dcc_free_read_slot@FREE(smem.first_empty, first_slot, "
                  "first_phase);\n",
            FILL("FREE", w->teams > 1 ? "<TEAMS>" : ""));
    else
        PUT(code, "dcc_free_slot@FREE(smem.first_empty, first_slot, "
                  "first_phase);\n",
            FILL("FREE", w->teams > 1 ? "<TEAMS>" : ""));
    return code;
}

/* That the second's slot has come, and that it is done with. */
static const char *await_second(const ChainKernel *w)
{
    return chain_one_ring(w->f)
               ? "" : "dcc_mbar_wait(&smem.second_full[slot], phase);\n";
}

static Tree *second_ring(const ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (!chain_one_ring(w->f))
        PUT(code,
            "dcc_ring_init(smem.second_full, 1, smem.second_empty, @warps);\n",
            FILL("warps", w->teams > 1 ? "4" : "CONSUMERS * 4"));
    return code;
}

static Tree *free_second(const ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);
    bool one = chain_one_ring(w->f);

    PUT(code,
        one && w->f->rows.n_column
            ? "dcc_free_read_slot(smem.first_empty, slot, phase);\n"
        : one ? "dcc_free_slot(smem.first_empty, slot, phase);\n"
              : "dcc_free_slot@FREE(smem.second_empty, slot, phase);\n",
        FILL("FREE", w->teams > 1 ? "<TEAMS>" : ""));
    return code;
}

static Tree *loop(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    bool turns = w->consumers > 1 && w->teams == 1;

    if (w->j_tiles == 1)
        return tree_list(a);
    return TEMPLATE(
        a, "chain_wgmma_loop.cu.in",
        FILL("NEXT", w->teams > 1 ? "from - TEAMS" : "last - 1"),
        FILL("DOWN", w->teams > 1 ? "block -= TEAMS" : "--block"),
        FILL("AWAIT_SECOND", await_second(w)),
        FILL_TREE("FREE_SECOND", free_second(w)),
        FILL_TREE("FREE_FIRST", free_first(w, false)),
        FILL_TREE("FREE_WEIGHED", free_first(w, true)),
        FILL("TURN",
             turns ? "dcc_barrier_sync(1 + warpgroup, 256);  // its turn\n"
                   : ""),
        FILL("PASS", turns ? "dcc_barrier_arrive(1 + (warpgroup + 1) % "
                             "CONSUMERS, 256);\n"
                           : ""),
        FILL("RESCALE", chain_rescale(w)), FILL_TREE("PACK", pack_scores(w)),
        FILL_INT("PENDING", chain_parts(w->f->chain) + (w->f->twin ? 1 : 0)),
        FILL("OTHER", other(w)), FILL("LOW", low(w)),
        FILL("AGAIN", chain_grows(w->f) ? ", true" : ""),
        FILL("READ", w->f->rows.ahead ? "read_block(block * BJ);\n" : ""));
}

static void note_any_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

/* The type of what is stored, and what is read for it. */
static void look_at_results(ChainKernel *w)
{
    const Group *second = w->f->chain->second;

    w->reads = false;
    for (int i = 0; i < second->n_step; i++) {
        if (second->step[i].tensor)
            w->out_type = second->step[i].tensor->type;
        if (second->step[i].op == R_NONE)
            expr_visit(second->step[i].value, note_any_read, &w->reads);
    }
}

static Tree *epilogue(ChainKernel *w)
{
    Arena *a = w->b.g->arena;

    if (!w->f->twin)
        return chain_epilogue(w);
    ChainKernel *twin = arena_new_of(a, ChainKernel);
    *twin = chain_twin_of(w);
    twin->plan.f = twin->b.f;
    twin->b.p = &twin->plan;
    look_at_results(twin);
    if (!twin->f->packs || twin->out_type != w->out_type)
        twin->pack = 0;
    bool bare = chain_is_bare(w) && chain_is_bare(twin);
    return QUOTE(a,
                 bare ? "@OWN\n"
                        "@TWIN\n"
                      : "{\n"
                        "    @OWN\n"
                        "}\n"
                        "{\n"
                        "    @TWIN\n"
                        "}\n",
                 FILL_TREE("OWN", chain_epilogue(w)),
                 FILL_TREE("TWIN", chain_epilogue(twin)));
}

/* Arrivals at a slot of the scores: the copies', and warps'. */
static const char *fills(const ChainKernel *w)
{
    int warps = w->column_warps ? w->column_warps : w->f->rows.n_column > 0;

    return arena_printf(w->b.g->arena, "%d", 1 + warps);
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *type = type_name(f->elem);
    Tree *places = chain_place(w);
    bool turns = w->consumers > 1 && w->teams == 1 && w->j_tiles > 1;
    bool teams = w->teams > 1;
    bool by_warp = f->rows.n_column && !w->column_warps;
    const char *first = arena_printf(a, "dcc_wgmma_m64n%dk16_%s<0, 0>", w->bj,
                                     type);
    const Fill fill[] = {
        FILL_TREE("MORE", declare_more(w)),
        FILL_TREE("SCORE_OTHER", score_other(w, first)),
        FILL_TREE("MULTIPLY", multiply(w)),
        FILL("OTHER", other(w)),
        FILL("OTHERS", f->chain->other ? ", other[BJ / 2]" : ""),
        FILL("ADD_LOW",
             chain_fits_rows(f) ? "dcc_add_low(acc[0], low_acc[0], scale);\n"
             : f->chain->halves ? "dcc_add_low(acc[0], low_acc[0]);\n"
                                : ""),
        FILL_TREE("PACK", pack_scores(w)),
        FILL_TREE("TEAM", team(w)),
        FILL_TREE("JOIN", join(w)),
        FILL("WARPS", teams ? "4" : "CONSUMERS * 4"),
        FILL("TOP", teams ? "warp % 4" : "warp"),
        FILL("SLOT", teams ? "team" : "0"),
        FILL("FROM", teams ? "from" : "last"),
        FILL("ONE", teams ? "from - TEAMS >= begin" : "last > begin"),
        FILL("LAST_WAIT", last_wait(w)),
        FILL_TREE("PLACE", places),
        FILL_TREE("RANGE", chain_range(w)),
        FILL_TREE("PREFETCH", prefetch(w)),
        FILL_TREE("SHRINK", registers(w, false)),
        FILL_TREE("GROW", registers(w, true)),
        FILL("WAIT", kernel_wait(w->k)),
        FILL("CONSUMER_WAIT",
             w->k->waits ? "dcc_grid_wait();  // results, and what scores "
                           "read\n"
                         : ""),
        FILL("LOADS", by_warp ? "< 32" : "== 0"),
        FILL("LOADER", by_warp ? "a warp runs" : "one thread runs"),
        FILL("FILLS", fills(w)),
        FILL_TREE("COLUMNS", chain_column_warps(w)),
        FILL_TREE("LOAD_ROWS", load_rows(w)),
        FILL_TREE("READ_COLUMNS", chain_read_columns(w)),
        FILL_TREE("LOAD_FIRST", load_first(w)),
        FILL_TREE("LEAVE_COLUMNS", chain_leave_columns(w)),
        FILL_TREE("LOAD_SECOND", load_second(w)),
        FILL_TREE("ROW_VALUES", chain_row_values(w)),
        FILL_TREE("FREE_FIRST", free_first(w, false)),
        FILL_TREE("FREE_WEIGHED", free_first(w, true)),
        FILL("AWAIT_SECOND", await_second(w)),
        FILL_TREE("SECOND_RING", second_ring(w)),
        FILL("ROWS_A", arena_printf(a, "dcc_wgmma_k_major(smem.%s_tile[0][%s])",
                                    w->id[0], teams ? "0" : "warpgroup * 64")),
        FILL("FIRST_B",
             arena_printf(a, "dcc_wgmma_k_major(smem.%s_tile[0])", w->id[1])),
        FILL("SECOND_B", ring_of(w)),
        FILL("FIRST_TILE", arena_printf(a, "%s_tile", w->id[1])),
        FILL("FIRST", first),
        FILL_TREE("STATE", chain_state(w)),
        FILL("WEIGH", chain_weigh(w)),
        FILL("AGAIN", chain_grows(f) ? ", bool again" : ""),
        FILL("FIRST_TIME", chain_grows(f) ? ", false" : ""),
        FILL_TREE("AHEAD", chain_read_block(w)),
        FILL("READ_LAST", !f->rows.ahead ? ""
                          : teams        ? "read_block(from * BJ);\n"
                                         : "read_block(last * BJ);\n"),
        FILL_TREE("VALUE", chain_value(w)),
        FILL_TREE("MASK", chain_mask(w)),
        FILL("OPEN", turns ? "if (warpgroup == CONSUMERS - 1)\n"
                             "    dcc_barrier_arrive(1, 256);\n"
                           : ""),
        FILL_TREE("LOOP", loop(w)),
        FILL_TREE("KEEP", chain_keeps(w)),
        FILL_TREE("AFTER", chain_after(w)),
        FILL_TREE("EPILOGUE", epilogue(w)),
    };

    kernel_phase(w->b.g, w->k, "setup",
                 template_tree(a, "chain_wgmma.cu.in", fill,
                               (int)(sizeof fill / sizeof *fill)));
}

void chain_build(ChainKernel *w, Group *gr, Kernel *k)
{
    chain_begin(w, gr, k);
    w->b.cp.ex2 = true;
    look_at_results(w);
    constants(w);
    shared_memory(w);
    chain_maps(w);
    put_kernel(w);
    chain_end(w, "chain_wgmma", "sm_90a");
}
