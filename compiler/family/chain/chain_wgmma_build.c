#include "emit/cprint_old.h"
#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* The kernel of a chain, from its plan. */

/* ---- names ----------------------------------------------------------- */

static const char *tile_id(ChainKernel *w, const Operand *o)
{
    return cprint_tensor(&w->b.cp, o->read->tensor);
}

void chain_name_all(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    const ChainForm *f = w->f;
    const char *id[3];

    w->b.cp = cprint_new(w->b.g, w->k);
    id[0] = tile_id(w, &f->a.c.a);
    id[1] = tile_id(w, &f->a.c.b);
    id[2] = tile_id(w, &f->b.c.b);
    for (int i = 1; i < 3; i++) /* one tensor in two places */
        for (int j = 0; j < i; j++)
            if (!strcmp(id[i], id[j]))
                id[i] = arena_printf(a, "%s_%d", id[i], i);
    for (int i = 0; i < 3; i++)
        w->id[i] = id[i];
}

static void constants(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Graph *g = w->b.g;
    Kernel *k = w->k;
    int64_t col = (int64_t)w->bj * 128;

    kernel_constant(g, k, "M", f->M, f->row->name);
    kernel_constant(g, k, "N", f->N, f->b.c.n[f->b.c.n_n - 1]->name);
    kernel_constant(g, k, "J", f->J, f->col->name);
    kernel_constant(g, k, "BM", w->bm, "rows of a block");
    kernel_constant(g, k, "WM", 64, "rows of a warpgroup");
    kernel_constant(g, k, "BJ", w->bj, "columns at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    kernel_constant(g, k, "CONSUMERS", w->consumers, "warpgroups");
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "TILES_M", w->m_tiles, NULL);
    kernel_constant(g, k, "BATCHES", f->batches, NULL);
    if (w->group > 1)
        kernel_constant(g, k, "GROUP", w->group,
                        "of the batch that run together");
    if (w->pack)
        kernel_constant(g, k, "COLS", w->pack, "that a warp stores at a time");
    kernel_constant(g, k, "ROWS_BYTES", (int64_t)w->bm * w->d_boxes * 128, "");
    kernel_constant(g, k, "FIRST_BYTES", col * w->d_boxes, "");
    kernel_constant(g, k, "SECOND_BYTES", (int64_t)w->second_bytes,
                    "that TMA brings at a time");
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
    if (w->f->tb.b.k_major)
        kernel_smem(g, w->k, 1024,
                    arena_printf(a, "%s %s_tile[STAGES][BJ / 64][BN][64]", type,
                                 w->id[2]),
                    NULL);
    else
        kernel_smem(g, w->k, 1024,
                    arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                                 w->id[2], w->n_boxes),
                    NULL);
    if (w->pack)
        kernel_smem(g, w->k, 128,
                    arena_printf(a, "%s out_rows[CONSUMERS * 4][16][COLS]",
                                 type_cname(w->out_type)),
                    NULL);
    kernel_smem(g, w->k, 8, "uint64_t rows_full", NULL);
    kernel_smem(g, w->k, 8, "uint64_t first_full[STAGES], first_empty[STAGES]",
                NULL);
    kernel_smem(g, w->k, 8,
                "uint64_t second_full[STAGES], second_empty[STAGES]", NULL);
}

/* ---- scores ---------------------------------------------------------- */

/* That the condition fails, where row and column are called so; "" if it never
 * does. */
static const char *fails(ChainKernel *w, const Idx *e, const char *row,
                         const char *col)
{
    IdxPool *p = w->b.g->pool;
    CScope scope = cprint_open(&w->b.cp);
    Cond not = {idx_addc(p, idx_scale(p, e, -1), -1), 0};
    Guard g = guard_add(p, (Guard){0}, not .e, 0);
    Truth truth = cond_truth(not );
    Buf b = {0};

    cprint_name(&w->b.cp, w->f->row, row);
    cprint_name(&w->b.cp, w->f->col, col);
    if (truth == MAYBE)
        cprint_condition(&b, &w->b.cp, g);
    else if (truth == ALWAYS)
        buf_puts(&b, "true");
    cprint_close(&w->b.cp, scope);
    return buf_take(&b, w->b.g->arena);
}

static const char *or_also(Arena *a, const char *s, const char *also)
{
    return !*also ? s : *s ? arena_printf(a, "%s || %s", s, also) : also;
}

/* `lines` for each of a thread's scores, called x; `ahead`: with the value that
 * was read for it. */
static void put_each(ChainKernel *w, Buf *b, const char *row, const char *col,
                     const char *lines, bool ahead)
{
    Arena *a = w->b.g->arena;
    const char *value = "", *words = "", *type = "";

    if (ahead) {
        value = "float value, ";
        words = "ahead, ";
        type = arena_printf(a, "<%s>",
                            type_cname(w->f->rows.ahead->tensor->type));
    }
    buf_printf(b,
               "dcc_each_score%s(score, %s%s, j0, [&](float &x, %sint %s,"
               " int %s) {\n",
               type, words, w->row_at, value, row, col);
    cprint_lines(b, lines, 4);
    buf_puts(b, "});\n");
}

/* The same of any score of a warpgroup's block. */
static const char *fails_somewhere(ChainKernel *w, const Idx *e)
{
    int64_t r = idx_coef(e, w->f->row), c = idx_coef(e, w->f->col);
    const Idx *least =
        idx_addc(w->b.g->pool, e,
                 (r < 0 ? r * 63 : 0) + (c < 0 ? c * (w->bj - 1) : 0));

    return fails(w, least, "(m0 + warpgroup * 64)", "j0");
}

const char *chain_mask(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *some = "", *each = "", *row, *col;
    CScope scope = cprint_open(&w->b.cp);
    Buf b = {0}, in = {0}, lines = {0};

    row = cprint_var(&w->b.cp, f->row);
    col = cprint_var(&w->b.cp, f->col);
    for (int i = 0; i < f->rows.live.n; i++) {
        const Idx *e = f->rows.live.cond[i].e;
        if (!f->few)
            some = or_also(a, some, fails_somewhere(w, e));
        each = or_also(a, each, fails(w, e, row, col));
    }
    if (f->J % w->slot) {
        some = or_also(a, some, "j0 + BJ > J");
        each = or_also(a, each, arena_printf(a, "%s >= J", col));
    }
    if (f->few && f->rows.live.n) /* few rows: nothing is gained by it */
        some = "";
    if (*each) {
        const char *dead = f->rows.softmax ? "-INFINITY" : "0.0f";
        if (*some)
            buf_printf(&b, "if (%s)\n", some);
        buf_printf(&lines, "if (%s)\n    x = %s;\n", each, dead);
        put_each(w, &in, row, col, buf_text(&lines), false);
        cprint_lines(&b, buf_text(&in), *some ? 4 : 0);
    }
    buf_free(&lines);
    buf_free(&in);
    cprint_close(&w->b.cp, scope);
    return buf_take(&b, a);
}

typedef struct OwnReads {
    const ChainForm *f;
    bool found;
} OwnReads;

static void note_read(const Expr *e, void *ctx)
{
    OwnReads *r = ctx;

    r->found |= e->kind == E_READ &&
                !(r->f->rows.ahead && expr_equal(e, r->f->rows.ahead));
}

/* What was read ahead, of a score. */
static const char *staged(const Expr *read, void *ctx)
{
    const ChainKernel *w = ctx;
    const Expr *ahead = w->f->rows.ahead;

    if (!ahead || !expr_equal(read, ahead))
        return NULL;
    return "value";
}

/* The words of a block's points, before its scores are multiplied. */
const char *chain_read_block(ChainKernel *w)
{
    const ChainForm *f = w->f;
    const Expr *e = f->rows.ahead;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Buf b = {0};

    if (!e) {
        cprint_close(cp, scope);
        return "";
    }
    const char *row = cprint_var(cp, f->row), *col = cprint_var(cp, f->col);
    buf_puts(&b, "uint32_t ahead[BJ / 4];  // of pairs of columns\n"
                 "auto read_block = [&](int j0) {\n"
                 "    #pragma unroll\n"
                 "    for (int c = 0; c < BJ / 4; ++c) {\n");
    buf_printf(&b,
               f->M % w->bm ? "const int %s = min(m0 + top + lane / 4 + "
                              "c %% 2 * 8, M - 1);\n"
                            : "const int %s = m0 + top + lane / 4 + "
                              "c %% 2 * 8;\n",
               row);
    buf_printf(&b,
               f->J % w->bj ? "const int %s = min(j0 + c / 2 * 8 + "
                              "lane %% 4 * 2, J - 2);\n"
                            : "const int %s = j0 + c / 2 * 8 + "
                              "lane %% 4 * 2;\n",
               col);
    buf_printf(&b, "dcc_read(ahead[c], &%s[", cprint_tensor(cp, e->tensor));
    cprint_element(&b, cp, e->tensor, cprint_offset(w->b.g, e->tensor, e->at));
    buf_puts(&b, "]);\n    }\n};\n");
    cprint_close(cp, scope);
    return buf_take(&b, w->b.g->arena);
}

/* What a score is besides the sum. */
const char *chain_value(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    const char *row, *col;
    OwnReads reads = {f, false};
    Buf b = {0}, in = {0}, body = {0};

    if (f->rows.body->kind == E_LOCAL) {
        cprint_close(cp, scope);
        return "";
    }
    expr_visit(f->rows.body, note_read, &reads);
    row = cprint_var(cp, f->row);
    col = cprint_var(cp, f->col);
    if (reads.found && f->M % w->bm)
        buf_printf(&in, "%s = min(%s, M - 1);\n", row, row);
    if (reads.found && f->J % w->slot)
        buf_printf(&in, "%s = min(%s, J - 1);\n", col, col);
    cp->local[CHAIN_SUM] = "x";
    cp->staged = staged;
    cp->ctx = w;
    const char *text = cprint_bind(&body, cp, f->rows.body, "t");
    cp->staged = NULL;
    buf_printf(&in, "%sx = %s;\n", buf_text(&body), text);
    put_each(w, &b, row, col, buf_text(&in), f->rows.ahead);
    buf_free(&in);
    buf_free(&body);
    cprint_close(cp, scope);
    return buf_take(&b, w->b.g->arena);
}

/* What a row has so far. */
const char *chain_state(const ChainKernel *w)
{
    Buf b = {0};

    if (!w->f->rows.softmax)
        return "";
    buf_puts(&b, "const float scale = ");
    buf_puts(&b, cprint_float(w->b.g->arena,
                              (float)(w->f->rows.scale *
                                      (w->f->rows.base2 ? 1 : M_LOG2E))));
    buf_puts(&b, ";  // of scores, in powers of two\n"
                 "float most[2], sum[2], grow[2];\n");
    return buf_take(&b, w->b.g->arena);
}

const char *chain_weigh(const ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;

    return !r->softmax ? ""
           : r->exact
               ? "dcc_soften<true>(score, most, sum, grow, scale, again);\n"
               : "dcc_soften(score, most, sum, grow, scale, again);\n";
}

const char *chain_rescale(const ChainKernel *w)
{
    return w->f->rows.softmax ? "dcc_grow(acc[0], grow);\n" : "";
}

const char *chain_greatest(const ChainKernel *w, const char *most)
{
    Buf b = {0};

    if (w->f->rows.scale == 1)
        return most;
    buf_printf(&b, "(%s * ", most);
    buf_puts(&b, cprint_float(w->b.g->arena, (float)w->f->rows.scale));
    buf_puts(&b, ")");
    return buf_take(&b, w->b.g->arena);
}

/* What multiplies a row's sums, and before it what its lanes have to add. */
const char *chain_after(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Arena *a = w->b.g->arena;
    Buf b = {0}, in = {0}, row = {0};

    if (!f->rows.after)
        return "";
    if (f->rows.softmax) {
        cp->local[f->rows.sum] = "sum[r]";
        cp->local[f->rows.max] = chain_greatest(w, "most[r]");
        buf_puts(&b, "dcc_row_sums(sum);\n");
    }
    if (expr_uses(f->rows.after, f->row))
        buf_printf(&row,
                   "const int %s = min(m0 + top + lane / 4 + r * 8, M - "
                   "1);\n",
                   cprint_var(cp, f->row));
    const char *text = cprint_bind(&in, cp, f->rows.after, "t");
    buf_printf(&row, "%safter[r] = %s;\n", buf_text(&in), text);
    bool one = !strchr(buf_text(&row), '\n')[1];
    buf_printf(&b,
               "float after[2];\n#pragma unroll\n"
               "for (int r = 0; r < 2; ++r)%s\n",
               one ? "" : " {");
    cprint_lines(&b, buf_text(&row), 4);
    buf_puts(&b, one ? "" : "}\n");
    buf_free(&in);
    buf_free(&row);
    cprint_close(cp, scope);
    return buf_take(&b, a);
}

/* ---- epilogue -------------------------------------------------------- */

static void put_bounds(ChainKernel *w, Tree *b, const char *column)
{
    bool rows = w->f->M % w->bm, columns = w->f->N % w->bn;

    if (rows || columns)
        PUT(b,
            rows && columns ? "if (m >= M || @column >= N)\n"
                              "    continue;\n"
            : rows          ? "if (m >= M)\n"
                              "    continue;\n"
                            : "if (@column >= N)\n"
                              "    continue;\n",
            FILL("column", column));
}

static void place_pair(Contract *x, Tree *b)
{
    ChainKernel *w = (ChainKernel *)x; /* x is its first member */

    x->sum = w->f->rows.after
                 ? "(acc[0][j * (COLS / 2) + q * 2 + e] * after[q % 2])"
                 : "acc[0][j * (COLS / 2) + q * 2 + e]";
    PUT(b, "const int m = m0 + top + q % 2 * 8 + lane / 4;\n"
           "const int n = j * COLS + q / 2 * 8 + lane % 4 * 2;\n");
    if (w->reads) /* rows that are not there are packed, but not stored */
        put_bounds(w, b, "n");
}

static void place_piece(Contract *x, Tree *b)
{
    PUT(b, x->lines ? "const int m = m0 + top + line;\n"
                      "const int n = j * COLS;\n"
                    : "const int m = m0 + top + line;\n"
                      "const int n = j * COLS + piece * 8;\n");
    put_bounds((ChainKernel *)x, b, "n");
}

static void place_point(Contract *x, Tree *b)
{
    const char *column = x->vec >= 2 ? "e" : "c";

    x->sum = arena_printf(x->g->arena,
                          ((ChainKernel *)x)->f->rows.after
                              ? "(acc[0][j * 4 + i %% 2 * 2 + %s] * "
                                "after[i %% 2])"
                              : "acc[0][j * 4 + i %% 2 * 2 + %s]",
                          column);
    PUT(b,
        "const int m = m0 + top + i % 2 * 8 + lane / 4;\n"
        "const int n = j * 8 + lane % 4 * 2@c;\n",
        FILL("c", x->vec >= 2 ? "" : " + c"));
    put_bounds((ChainKernel *)x, b, "n");
}

static const char by_pieces[] =
    "#pragma unroll 2  // more addresses would not fit\n"
    "for (int q = 0; q < COLS / 16; ++q) {\n"
    "    const int line = (q * 32 + lane) / (COLS / 8);\n"
    "    const int piece = lane % (COLS / 8);\n"
    "    @PIECE@\n"
    "}\n";
static const char by_lines[] = "#pragma unroll 8\n"
                               "for (int line = 0; line < 16; ++line) {\n"
                               "    @PIECE@\n"
                               "}\n";

static const char *packed(ChainKernel *w)
{
    Contract *x = &w->b;
    Arena *a = x->g->arena;
    Tree *pairs = tree_list(a), *pieces = tree_list(a);
    Buf b = {0};

    contract_pairs(x, pairs, place_pair, "packed[q / 4][q % 4]", tree_list(a),
                   0);
    contract_pieces(x, pieces, place_piece,
                    x->lines ? "out"
                             : "&out[line][dcc_packed_at<COLS>(line, piece)]");
    tree_print(&b, TEMPLATE(a, "chain_wgmma_packed.cu.in", FILL("WARP", "warp"),
                            FILL("WIDTH", "BN"), FILL_TREE("PAIRS", pairs),
                            FILL_TREE("PIECES",
                                      QUOTE(a, x->lines ? by_lines : by_pieces,
                                            FILL_TREE("PIECE", pieces)))));
    return buf_take(&b, a);
}

const char *chain_direct(ChainKernel *w)
{
    Contract *x = &w->b;
    Arena *a = x->g->arena;
    Tree *points = tree_list(a);
    Buf b = {0};

    contract_points(x, points, 2, place_point, NULL);
    if (x->vec < 2)
        points = QUOTE(a,
                       "#pragma unroll\n"
                       "for (int c = 0; c < 2; ++c) {\n"
                       "    @POINTS\n"
                       "}\n",
                       FILL_TREE("POINTS", points));
    tree_print(&b, TEMPLATE(a, "contract_wgmma_pairs.cu.in",
                            FILL_TREE("POINTS", points), FILL("WIDTH", "BN")));
    return buf_take(&b, a);
}

/* ---- the whole ------------------------------------------------------- */

static const char *registers(const ChainKernel *w, bool consumer)
{
    int most = w->consumers == 3 ? 160 : 240;
    int rest = w->consumers == 3 ? 32 : 24;

    if (w->consumers == 1)
        return "";
    return arena_printf(w->b.g->arena, "dcc_registers_%s<%d>();\n",
                        consumer ? "grow" : "shrink", consumer ? most : rest);
}

static const char *prefetch(const ChainKernel *w)
{
    const char *s = "";

    for (int i = 0; i < w->k->n_map; i++)
        s = arena_printf(w->b.g->arena, "%s%s&%s", s, i ? ", " : "",
                         w->k->map[i].name);
    return arena_printf(w->b.g->arena, "dcc_tma_prefetch_maps(%s);\n", s);
}

static const char *loop(ChainKernel *w)
{
    bool turns = w->consumers > 1;
    Buf b = {0};
    Slot slot[] = {
        {"TURN",
         turns ? "dcc_barrier_sync(1 + warpgroup, 256);  // its turn\n" : ""},
        {"PASS", turns ? "dcc_barrier_arrive(1 + (warpgroup + 1) % CONSUMERS, "
                         "256);\n"
                       : ""},
        {"RESCALE", chain_rescale(w)},
        {"TYPE", type_cname(w->f->elem)},
        {"READ", w->f->rows.ahead ? "read_block(block * BJ);\n" : ""}};

    if (w->j_tiles == 1)
        return "";
    template_fill(&b, "chain_wgmma_loop.cu.in", slot, 5);
    return buf_take(&b, w->b.g->arena);
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *type = type_name(f->elem), *places = chain_place(w);
    bool along = f->tb.b.k_major;
    bool turns = w->consumers > 1 && w->j_tiles > 1;
    Slot slot[] = {
        {"PLACE", places},
        {"RANGE", chain_range(w)},
        {"PREFETCH", prefetch(w)},
        {"SHRINK", registers(w, false)},
        {"GROW", registers(w, true)},
        {"WAIT", kernel_wait(w->k)},
        {"CONSUMER_WAIT", w->k->waits
                              ? "dcc_grid_wait();  // results, and what scores "
                                "read\n"
                              : ""},
        {"LOAD_ROWS", chain_load_rows(w)},
        {"LOAD_FIRST", chain_load_first(w)},
        {"LOAD_SECOND", chain_load_second(w)},
        {"ROWS_A", arena_printf(a,
                                "dcc_wgmma_k_major(smem.%s_tile[0]"
                                "[warpgroup * 64])",
                                w->id[0])},
        {"FIRST_B",
         arena_printf(a, "dcc_wgmma_k_major(smem.%s_tile[0])", w->id[1])},
        {"SECOND_B", arena_printf(a,
                                  along ? "dcc_wgmma_k_major(smem.%s_tile[0])"
                                        : "dcc_wgmma_mn_major(smem.%s_tile[0],"
                                          " BJ * 128)",
                                  w->id[2])},
        {"FIRST_TILE", arena_printf(a, "%s_tile", w->id[1])},
        {"SECOND_TILE", arena_printf(a, "%s_tile", w->id[2])},
        {"FIRST", arena_printf(a, "dcc_wgmma_m64n%dk16_%s<0, 0>", w->bj, type)},
        {"SECOND", arena_printf(a, "dcc_wgmma_m64n%dk16_%s_regs<%d>", w->bn,
                                type, !along)},
        {"SECOND_STEP", along ? "2, BN * 8" : "128, 512"},
        {"STATE", chain_state(w)},
        {"WEIGH", chain_weigh(w)},
        {"AHEAD", chain_read_block(w)},
        {"READ_LAST", f->rows.ahead ? "read_block(last * BJ);\n" : ""},
        {"VALUE", chain_value(w)},
        {"MASK", chain_mask(w)},
        {"TYPE", type_cname(f->elem)},
        {"OPEN", turns ? "if (warpgroup == CONSUMERS - 1)\n"
                         "    dcc_barrier_arrive(1, 256);\n"
                       : ""},
        {"LOOP", loop(w)},
        {"AFTER", chain_after(w)},
        {"EPILOGUE", w->pack ? packed(w) : chain_direct(w)},
    };
    Buf b = {0};

    template_fill(&b, "chain_wgmma.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(w->b.g, w->k, "setup", &b);
    buf_free(&b);
}

static void note_any_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

void chain_build(ChainKernel *w, Group *gr, Kernel *k)
{
    const Group *second = w->f->chain->second;

    chain_begin(w, gr, k);
    for (int i = 0; i < second->n_step; i++) {
        if (second->step[i].tensor)
            w->out_type = second->step[i].tensor->type;
        if (second->step[i].op == R_NONE)
            expr_visit(second->step[i].value, note_any_read, &w->reads);
    }
    constants(w);
    shared_memory(w);
    chain_maps(w);
    put_kernel(w);
    chain_end(w, "chain_wgmma", "sm_90a");
}
