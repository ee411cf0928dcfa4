#include "family/chain/chain_wgmma.h"

/* What is done to each score between the products. */

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
    const char *text = truth == ALWAYS ? "true" : "";

    cprint_name(&w->b.cp, w->f->row, row);
    cprint_name(&w->b.cp, w->f->col, col);
    if (truth == MAYBE)
        text = cprint_condition(&w->b.cp, g);
    cprint_close(&w->b.cp, scope);
    return text;
}

static const char *or_also(Arena *a, const char *s, const char *also)
{
    return !*also ? s : *s ? arena_printf(a, "%s || %s", s, also) : also;
}

/* Where what becomes of the scores lies: a twin's in their place, as nothing
 * else makes it; else nvcc has products wait for each other (C7514). */
const char *chain_scores(const ChainKernel *w, bool twin)
{
    return w->f->twin && !twin ? "other" : "score";
}

/* Whether scores take values of columns, and nothing else that they find by
 * their number. */
static bool of_columns(const ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;

    return r->n_column && !r->n_row && !r->ahead;
}

/* The same of those. */
static Tree *each_of_columns(ChainKernel *w, const char *row, const char *col,
                             const Tree *code)
{
    return QUOTE(w->b.g->arena,
                 w->f->chain->other
                     ? "dcc_each_column(score, other, "
                       "smem.of_column[first_slot], @row_at, j0, "
                       "[&](float &x, float &value, const auto &of, int @row, "
                       "int @col) {\n"
                       "    @CODE\n"
                       "});\n"
                     : "dcc_each_column(score, smem.of_column[first_slot], "
                       "@row_at, j0, "
                       "[&](float &x, const auto &of, int @row, int @col) {\n"
                       "    @CODE\n"
                       "});\n",
                 FILL("row_at", w->row_at), FILL("row", row), FILL("col", col),
                 FILL_TREE("CODE", code));
}

/* The same of scores that take values of rows and columns. */
static Tree *each_with_values(ChainKernel *w, const char *row, const char *col,
                              const Tree *code, bool ahead)
{
    const ChainRows *r = &w->f->rows;
    Arena *a = w->b.g->arena;
    if (of_columns(w))
        return each_of_columns(w, row, col, code);
    const char *value =
        !ahead      ? ""
        : !r->ahead ? "const float value = other[c];\n"
                    : arena_printf(a,
                                   "const float value = "
                                   "dcc_word_value<%s>(&ahead[c / 2], c %% 2);\n",
                                   type_cname(r->ahead->tensor->type));

    return QUOTE(a,
                 r->n_column ? "dcc_each_column<BJ / 2>("
                               "smem.of_column[first_slot], @row_at, j0, "
                               "[&](int c, const auto &of, int @row, int @col) "
                               "{\n"
                               "    float &x = score[c];\n"
                               "    @value\n"
                               "    @CODE\n"
                               "});\n"
                             : "dcc_each_place<BJ / 2>(@row_at, j0, "
                               "[&](int c, int @row, int @col) {\n"
                               "    float &x = score[c];\n"
                               "    @value\n"
                               "    @CODE\n"
                               "});\n",
                 FILL("row_at", w->row_at), FILL("row", row), FILL("col", col),
                 FILL("value", value), FILL_TREE("CODE", code));
}

/* `code` for each of a thread's scores, called x; `ahead`: with the value that
 * was read for it. */
static Tree *each_score(ChainKernel *w, const char *row, const char *col,
                        const Tree *code, bool ahead)
{
    Arena *a = w->b.g->arena;

    return QUOTE(
        a,
        ahead && w->f->chain->other
            ? "dcc_each_score(score, other, @row_at, j0, "
              "[&](float &x, float value, int @row, int @col) {\n"
              "    @CODE\n"
              "});\n"
        : ahead
            ? "dcc_each_score<@type>(score, ahead, @row_at, j0, "
                "[&](float &x, float value, int @row, int @col) {\n"
                "    @CODE\n"
                "});\n"
              : "dcc_each_score(score, @row_at, j0, "
                "[&](float &x, int @row, int @col) {\n"
                "    @CODE\n"
                "});\n",
        FILL("type", ahead && w->f->rows.ahead
                         ? type_cname(w->f->rows.ahead->tensor->type) : ""),
        FILL("row_at", w->row_at), FILL("row", row), FILL("col", col),
        FILL_TREE("CODE", code));
}

/* The same of any score of a warpgroup's block. */
static const char *fails_somewhere(ChainKernel *w, const Idx *e)
{
    int64_t r = idx_coef(e, w->f->row), c = idx_coef(e, w->f->col);
    const Idx *least =
        idx_addc(w->b.g->pool, e,
                 (r < 0 ? r * 63 : 0) + (c < 0 ? c * (w->bj - 1) : 0));

    return fails(w, least, w->teams > 1 ? "m0" : "(m0 + warpgroup * 64)", "j0");
}

Tree *chain_mask(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *some = "", *each = "", *row, *col;
    CScope scope = cprint_open(&w->b.cp);

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
    cprint_close(&w->b.cp, scope);
    if (!*each)
        return tree_list(a);
    Tree *code =
        f->twin ? QUOTE(a,
                        "dcc_each_place<BJ / 2>(@row_at, j0, "
                        "[&](int c, int @row, int @col) {\n"
                        "    if (@each)\n"
                        "        score[c] = other[c] = 0.0f;\n"
                        "});\n",
                        FILL("row_at", w->row_at), FILL("row", row),
                        FILL("col", col), FILL("each", each))
                : each_score(w, row, col,
                   QUOTE(a,
                         "if (@each)\n"
                         "    x = @dead;\n",
                         FILL("each", each),
                         FILL("dead", f->rows.softmax ? "-INFINITY" : "0.0f")),
                   false);
    if (!*some || (f->few && f->rows.live.n)) /* nothing is gained by it */
        return code;
    return QUOTE(a,
                 "if (@some)\n"
                 "    @CODE\n",
                 FILL("some", some), FILL_TREE("CODE", code));
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
Tree *chain_read_block(ChainKernel *w)
{
    const ChainForm *f = w->f;
    const Expr *e = f->rows.ahead;
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena);

    if (!e)
        return code;
    CScope scope = cprint_open(cp);
    const char *row = cprint_var(cp, f->row), *col = cprint_var(cp, f->col);
    bool cut_m = f->M % w->bm, cut_j = f->J % w->bj;
    PUT(code,
        "uint32_t ahead[BJ / 4];  // of pairs of columns\n"
        "auto read_block = [&](int j0) {\n"
        "    #pragma unroll\n"
        "    for (int c = 0; c < BJ / 4; ++c) {\n"
        "        const int @row = @least_m@m0 + top + lane / 4 + "
        "c % 2 * 8@most_m;\n"
        "        const int @col = @least_j@j0 + c / 2 * 8 + "
        "lane % 4 * 2@most_j;\n"
        "        dcc_read(ahead[c], &@tensor[@at]);\n"
        "    }\n"
        "};\n",
        FILL("row", row), FILL("col", col),
        FILL("least_m", cut_m ? "min(" : ""),
        FILL("most_m", cut_m ? ", M - 1)" : ""),
        FILL("least_j", cut_j ? "min(" : ""),
        FILL("most_j", cut_j ? ", J - 2)" : ""),
        FILL("tensor", cprint_tensor(cp, e->tensor)),
        FILL("at", cprint_element(cp, e->tensor,
                                  tensor_offset(w->b.g, e->tensor, e->at))));
    cprint_close(cp, scope);
    return code;
}

/* What a score is besides the sum. */
Tree *chain_value(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    OwnReads reads = {f, false};
    Tree *in = tree_list(w->b.g->arena);

    if (f->rows.body->kind == E_LOCAL && !f->twin)
        return in;
    CScope scope = cprint_open(cp);
    expr_visit(f->rows.body, note_read, &reads);
    if (f->twin)
        expr_visit(f->twin->rows.body, note_read, &reads);
    const char *row = cprint_var(cp, f->row), *col = cprint_var(cp, f->col);
    if (reads.found && f->M % w->bm)
        PUT(in, "@row = min(@row, M - 1);\n", FILL("row", row));
    if (reads.found && f->J % w->slot)
        PUT(in, "@col = min(@col, J - 1);\n", FILL("col", col));
    cp->local[CHAIN_SUM] = "x";
    cp->local[CHAIN_OTHER] = "value";
    chain_name_values(w);
    cp->staged = staged;
    cp->ctx = w;
    if (f->twin) {
        cprint_count(cp, f->twin->rows.body);
        cprint_count(cp, f->rows.body);
        /* last what takes x's place */
        PUT(in, "@own = @text;\n",
            FILL("own", of_columns(w) ? "value" : "other[c]"),
            FILL("text", cprint_bind(in, cp, f->rows.body, "t")));
        PUT(in, "x = @text;\n",
            FILL("text", cprint_bind(in, cp, f->twin->rows.body, "t")));
    } else {
        const char *text = cprint_bind(in, cp, f->rows.body, "t");
        PUT(in, "x = @text;\n", FILL("text", text));
    }
    cp->staged = NULL;
    cprint_close(cp, scope);
    bool values = f->rows.n_row || f->rows.n_column || f->twin;
    return (values ? each_with_values : each_score)(
        w, row, col, in, f->rows.ahead || f->chain->other);
}
