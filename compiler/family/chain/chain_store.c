#include "family/chain/chain_wgmma.h"

/* What becomes of a chain's sums: from registers to memory. */

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

static void place_pair(ContractBuild *x, Tree *b)
{
    ChainKernel *w = (ChainKernel *)x; /* x is its first member */

    x->sum = arena_printf(b->arena,
                          w->f->rows.after
                              ? "(%s[0][j * (COLS / 2) + q * 2 + e] * "
                                "after[q %% 2])"
                              : "%s[0][j * (COLS / 2) + q * 2 + e]",
                          w->acc);
    PUT(b, "const int m = m0 + top + q % 2 * 8 + lane / 4;\n"
           "const int n = j * COLS + q / 2 * 8 + lane % 4 * 2;\n");
    if (w->reads) /* rows that are not there are packed, but not stored */
        put_bounds(w, b, "n");
}

static void place_piece(ContractBuild *x, Tree *b)
{
    PUT(b, x->f->lines ? "const int m = m0 + top + line;\n"
                         "const int n = j * COLS;\n"
                       : "const int m = m0 + top + line;\n"
                         "const int n = j * COLS + piece * 8;\n");
    put_bounds((ChainKernel *)x, b, "n");
}

static void place_point(ContractBuild *x, Tree *b)
{
    const char *after =
        ((ChainKernel *)x)->f->rows.after ? " * after[i % 2]" : "";
    const char *sum = x->vec == 8   ? "part[e]"
                      : x->vec == 4 ? "part[c * 4 + e]"
                      : arena_printf(b->arena, "%s[0][j * 4 + i %% 2 * 2 + %s]",
                                     ((ChainKernel *)x)->acc,
                                     x->vec == 2 ? "e" : "c");

    x->sum = *after ? arena_printf(b->arena, "(%s%s)", sum, after) : sum;
    PUT(b,
        "const int m = m0 + top + i % 2 * 8 + lane / 4;\n"
        "const int n = @n;\n",
        FILL("n", x->vec == 8   ? "j * 32 + lane % 4 * 8"
                  : x->vec == 4 ? "j * 32 + lane % 4 * 8 + c * 4"
                  : x->vec == 2 ? "j * 8 + lane % 4 * 2"
                                : "j * 8 + lane % 4 * 2 + c"));
    put_bounds((ChainKernel *)x, b, "n");
}

static const char by_pieces[] =
    "#pragma unroll 2  // more addresses would not fit\n"
    "for (int q = 0; q < COLS / 16; ++q) {\n"
    "    const int line = (q * 32 + lane) / (COLS / 8);\n"
    "    const int piece = lane % (COLS / 8);\n"
    "    @PIECE@\n"
    "}\n";

/* Whether results are the sums as they are. */
static bool sums_alone(const ChainKernel *w)
{
    const Contract *f = w->b.f;

    if (w->reads || w->f->rows.after)
        return false;
    for (int i = 0; i < f->gr->n_step; i++) {
        const Expr *e = f->value[i];
        if (!finish_row_step(&f->gr->step[i]))
            continue;
        while (e->kind == E_CAST && type_is_float(e->type) &&
               e->type == w->out_type)
            e = e->arg[0];
        if (e->kind != E_LOCAL || e->local < 0 ||
            f->gr->step[e->local].op != R_SUM)
            return false;
    }
    return true;
}

/* Pairs of columns as words, where products leave them. */
static Tree *words(ChainKernel *w)
{
    ContractBuild *x = &w->b;
    Tree *pairs = tree_list(x->g->arena);

    if (w->bn == w->pack && sums_alone(w))
        return QUOTE(x->g->arena, "dcc_pack_scores<@type>(packed, @acc[0]);\n",
                     FILL("type", type_cname(w->out_type)), FILL("acc", w->acc));
    contract_pairs(x, pairs, place_pair, "packed[q / 4][q % 4]",
                   tree_list(x->g->arena), 0);
    return QUOTE(x->g->arena,
                 "#pragma unroll\n"
                 "for (int q = 0; q < COLS / 4; ++q) {\n"
                 "    @PAIRS\n"
                 "}\n",
                 FILL_TREE("PAIRS", pairs));
}

static Tree *packed(ChainKernel *w)
{
    ContractBuild *x = &w->b;
    Arena *a = x->g->arena;
    Tree *pairs = words(w), *pieces = tree_list(a);

    contract_pieces(
        x, pieces, place_piece,
        x->f->lines ? "out" : "&out[line][dcc_packed_at<COLS>(line, piece)]");
    return TEMPLATE(
        a, "chain_wgmma_packed.cu.in", FILL("WARP", "warp"),
        FILL("WIDTH", "BN"), FILL_TREE("PAIRS", pairs),
        FILL_TREE("PIECES", QUOTE(a, by_pieces, FILL_TREE("PIECE", pieces))));
}

/* The step that stores sums as they are, as pairs of f32 or as whole lines, and
 * nothing else is stored; or NULL. */
static const Step *bare_store(const ChainKernel *w)
{
    const Contract *f = w->b.f;
    const Step *only = NULL;

    if ((w->pack ? w->pack != w->bn : w->out_type != T_F32) ||
        w->f->N != w->bn || f->c.n_n != 1 || !sums_alone(w))
        return NULL;
    for (int i = 0; i < f->gr->n_step; i++) {
        const Step *s = &f->gr->step[i];
        if (!s->tensor)
            continue;
        if (only || s->where.n || contract_goes_past(f, s->tensor))
            return NULL;
        only = s;
    }
    return only;
}

/* What the store of s writes, by a wrapper; or NULL: rows in no even steps. */
static Tree *bare(ChainKernel *w, const Step *s)
{
    enum { PIECE = 8 };
    const Var *row = w->f->row, *column = w->f->b.c.n[0];
    CPrint *cp = &w->b.cp;
    IdxPool *p = w->b.g->pool;
    const Idx *at = tensor_offset(w->b.g, s->tensor, s->store);
    const Idx *rest = idx_sub(p, at, idx_var(p, column));
    int align = w->pack ? PIECE : 2;

    if (!idx_affine(at) || idx_coef(at, column) != 1 ||
        idx_align(rest, align) != align || s->tensor->align < align * 2)
        return NULL;
    CScope scope = cprint_open(cp);
    cprint_name(cp, row, w->pack ? "(m0 + top)" : "m");
    cprint_name(cp, column, w->pack ? "0" : "n");
    Tree *code = QUOTE(w->b.g->arena,
                       w->pack
                           ? "dcc_store_lines(&@to[@at], @stride, @rows, "
                             "@acc[0], smem.out_rows[@warp]);\n"
                           : "const int m = m0 + top + lane / 4, "
                             "n = lane % 4 * 2;\n"
                             "dcc_store_sums(&@to[@at], @stride, @rows, "
                             "@acc[0]);\n",
                       FILL("acc", w->acc), FILL("warp", "warp"),
                       FILL("to", cprint_tensor(cp, s->tensor)),
                       FILL("at", cprint_element(cp, s->tensor, at)),
                       FILL_INT("stride", idx_coef(at, row)),
                       FILL("rows", w->f->M % w->bm ? "M - m0 - top" : "16"));
    cprint_close(cp, scope);
    return code;
}

bool chain_is_bare(ChainKernel *w)
{
    const Step *s = bare_store(w);

    return w->pack && s && bare(w, s);
}

/* Groups of columns of which single results' reads are made at once, in the
 * registers that scores leave: else each would wait for the store before it. */
static int groups_ahead(const ChainKernel *w, int most)
{
    int all = w->bn / (most * 4), each = most; /* registers, of two rows */

    for (int n = all; n > 1; n--)
        if (all % n == 0 && n * each <= w->bj / 2)
            return n;
    return 1;
}

Tree *chain_direct(ChainKernel *w, int most)
{
    ContractBuild *x = &w->b;
    Arena *a = x->g->arena;
    int part = groups_ahead(w, most);
    bool once = part == w->bn / (most * 4);
    ContractAhead ahead = {
        .vec = most,
        .declare = tree_list(a),
        .reads = tree_list(a),
        .columns = tree_list(a),
        .by_columns = tree_list(a),
        .pieces = 2 * part,
        .regs = w->bj / 2,
        .piece = once ? "j * 2 + i" : arena_printf(a, "j %% %d * 2 + i", part)};
    Tree *points = tree_list(a), *again = tree_list(a), *all = tree_list(a);

    contract_points(x, points, most, place_point, &ahead);
    if (x->vec == 4 || x->vec == 1)
        points = QUOTE(a,
                       "#pragma unroll\n"
                       "for (int c = 0; c < 2; ++c) {\n"
                       "    @POINTS\n"
                       "}\n",
                       FILL_TREE("POINTS", points));
    tree_add(all, ahead.columns);
    if (ahead.reads->n_item) {
        contract_read_ahead(&ahead, all, part, once);
        if (!once)
            PUT(again, "if (j % @part == 0)\n"
                       "    read_ahead(j);\n",
                FILL_INT("part", part));
    }
    tree_add(all, TEMPLATE(a,
                           x->vec >= 4 ? "contract_wgmma_rows.cu.in"
                                       : "contract_wgmma_pairs.cu.in",
                           FILL_TREE("POINTS", points), FILL("SUMS", w->acc),
                           FILL("WIDTH", "BN"), FILL_TREE("AGAIN", again),
                           FILL("ROW", "row"),
                           FILL_TREE("COLUMNS", ahead.by_columns),
                           FILL_TREE("ROWS", tree_list(a))));
    return all;
}

/* Columns that a thread stores at a time: of 16-bit results 8, after an
 * exchange with its neighbours. */
static int most_columns(const ChainKernel *w)
{
    return type_bytes(w->out_type) == 2 && w->bn % 32 == 0 ? 8 : 2;
}

Tree *chain_epilogue(ChainKernel *w)
{
    const Step *s = bare_store(w);
    Tree *code = s ? bare(w, s) : NULL;

    return code ? code : w->pack ? packed(w) : chain_direct(w, most_columns(w));
}
