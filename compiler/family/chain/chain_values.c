#include "family/chain/chain_wgmma.h"
#include "rewrite/rewrite.h"

#include <math.h>

/* Values that belong to a column or a row of scores, such as a softmax's
 * maximum and sum where its gradient makes its scores again. Each is made once:
 * a row's by the threads that have the row, a column's by the warp that loads,
 * which runs ahead and leaves it beside the column's factors. */

enum { MOST_NODES = 200,
       OF_COLUMN = 3 }; /* instructions that a value of a column takes the time
                           of, at each score */

/* ---- the form -------------------------------------------------------- */

static void find_scores(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_LOCAL;
}

static void find_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

static bool is_number(const Expr *e)
{
    return e->kind == E_CONST && type_is_float(e->type);
}

/* Something read, of a row or a column alone. */
static bool is_apart(const ChainForm *f, const Expr *e)
{
    bool scores = false, read = false;

    expr_visit(e, find_scores, &scores);
    expr_visit(e, find_read, &read);
    return type_is_float(e->type) && read && !scores &&
           !(expr_uses(e, f->row) && expr_uses(e, f->col));
}

/* c e; c goes into the number that e has. */
static const Expr *times(Graph *g, double c, const Expr *e)
{
    bool by = e->kind == E_BINARY && !e->arg[2];

    for (int i = 0; i < 2 && by && e->fn == F_MUL; i++)
        if (is_number(e->arg[i]))
            return expr_binary(g, F_MUL, e->arg[1 - i],
                               expr_const(g, c * e->arg[i]->num, T_F32), T_F32);
    return expr_binary(g, F_MUL, e, expr_const(g, c, T_F32), T_F32);
}

/* A sum of products, times a number. */
static bool is_sum(const Expr *e)
{
    if (e->kind == E_BINARY && e->fn == F_MUL && !e->arg[2])
        for (int i = 0; i < 2; i++)
            if (is_number(e->arg[i]))
                return is_sum(e->arg[1 - i]);
    return e->kind == E_LOCAL;
}

/* exp(s - m) as 2^(s c - m c), where m c is made once: m is no greater than s
 * and their difference, so it is rounded no more than those are. */
static const Expr *power_of_two(Graph *g, const Expr *e, void *ctx)
{
    const ChainForm *f = ctx;

    if (e->kind != E_UNARY || e->fn != F_EXP)
        return NULL;
    const Expr *x = e->arg[0];
    bool two = x->kind == E_BINARY && !x->arg[2] &&
               (x->fn == F_ADD || x->fn == F_SUB);
    for (int i = 0; i < 2 && two; i++)
        if (is_sum(x->arg[i]) && is_apart(f, x->arg[1 - i]))
            return expr_unary(
                g, F_EXP2,
                expr_binary(g, x->fn, times(g, M_LOG2E, x->arg[0]),
                            times(g, M_LOG2E, x->arg[1]), T_F32),
                T_F32);
    return expr_unary(g, F_EXP2, times(g, M_LOG2E, x), T_F32);
}

/* c e where c is a factor of what is made once, or NULL. */
static const Expr *absorb(const ChainForm *f, double c, const Expr *e)
{
    Graph *g = f->a.g;
    const Expr *x, *y;

    if (is_number(e) || is_apart(f, e))
        return times(g, c, e);
    if (e->kind != E_BINARY || e->arg[2])
        return NULL;
    if (e->fn == F_ADD || e->fn == F_SUB)
        return (x = absorb(f, c, e->arg[0])) && (y = absorb(f, c, e->arg[1]))
                   ? expr_binary(g, e->fn, x, y, T_F32)
                   : NULL;
    if (e->fn != F_MUL && e->fn != F_DIV)
        return NULL;
    if ((x = absorb(f, c, e->arg[0])))
        return expr_binary(g, e->fn, x, e->arg[1], T_F32);
    return e->fn == F_MUL && (x = absorb(f, c, e->arg[1]))
               ? expr_binary(g, e->fn, e->arg[0], x, T_F32)
               : NULL;
}

static const Expr *take_number(Graph *g, const Expr *e, void *ctx)
{
    (void)g;
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[2])
        return NULL;
    for (int i = 0; i < 2; i++)
        if (is_number(e->arg[i]))
            return absorb(ctx, e->arg[i]->num, e->arg[1 - i]);
    return NULL;
}

/* ---- a power's factor in its exponent ------------------------------------ */

/* 2^(x - m) c of a column's m and c, a softmax's weight, is 2^(x - (m - log2
 * c)), and what else is multiplied by the power is divided by c, for which a
 * column's values stand. */
typedef struct Power {
    const ChainForm *f;
    Stmt **maker;
    const Expr *is, *by, *in; /* the power, c, and both as one; or NULL */
    bool left;                /* where it is not multiplied by what can be
                                 divided */
} Power;

/* The same power times c, if its exponent has something that c goes into. */
static const Expr *power_by(const ChainForm *f, const Expr *e, const Expr *c)
{
    Graph *g = f->a.g;
    const Expr *x = e->kind == E_UNARY && e->fn == F_EXP2 ? e->arg[0] : NULL;
    bool two = x && x->kind == E_BINARY && !x->arg[2] &&
               (x->fn == F_ADD || x->fn == F_SUB);

    for (int i = 0; i < 2 && two; i++) {
        Func fn = i == 1 && x->fn == F_SUB ? F_SUB : F_ADD;
        const Expr *m = expr_binary(g, fn, x->arg[i],
                                    expr_unary(g, F_LOG2, c, T_F32), T_F32);
        if (!is_apart(f, x->arg[i]) || !is_apart(f, m))
            continue;
        return expr_unary(g, F_EXP2,
                          i ? expr_binary(g, x->fn, x->arg[0], m, T_F32)
                            : expr_binary(g, x->fn, m, x->arg[1], T_F32),
                          T_F32);
    }
    return NULL;
}

static bool is_product(const Expr *e)
{
    return e->kind == E_BINARY && e->fn == F_MUL && !e->arg[2];
}

/* c is more than 0, as what divides by it has to know. */
static void find_power(const Expr *e, void *ctx)
{
    Power *p = ctx;
    Graph *g = p->f->a.g;

    for (int i = 0; i < 2 && !p->is && is_product(e); i++) {
        const Expr *c = e->arg[1 - i];
        if (!is_apart(p->f, c))
            continue;
        p->in = power_by(p->f, e->arg[i], c);
        if (!p->in || !(value_range(g, p->maker, c).lo > 0))
            continue;
        p->is = e->arg[i];
        p->by = c;
    }
}

/* x y, where either may be 1. */
static const Expr *product(Graph *g, const Expr *x, const Expr *y)
{
    return is_number(x) && x->num == 1   ? y
           : is_number(y) && y->num == 1 ? x
                                         : expr_binary(g, F_MUL, x, y, T_F32);
}

/* e / c where c is a factor of it; or NULL. */
static const Expr *without(Graph *g, const Expr *e, const Expr *c)
{
    const Expr *x;

    if (expr_equal(e, c))
        return expr_const(g, 1, T_F32);
    for (int i = 0; i < 2 && is_product(e); i++)
        if ((x = without(g, e->arg[i], c)))
            return product(g, x, e->arg[1 - i]);
    return NULL;
}

/* e / c, where that takes no division of scores; or NULL. */
static const Expr *over(const ChainForm *f, const Expr *e, const Expr *c)
{
    Graph *g = f->a.g;
    const Expr *x = without(g, e, c), *y;

    if (x)
        return x;
    if (is_number(e))
        return expr_binary(g, F_DIV, e, c, T_F32);
    if (is_apart(f, e)) /* few registers: 1 / c takes fewer than e / c */
        return expr_binary(g, F_MUL, e, over(f, expr_const(g, 1, T_F32), c),
                           T_F32);
    for (int i = 0; i < 2 && is_product(e); i++)
        if ((x = over(f, e->arg[i], c)))
            return product(g, x, e->arg[1 - i]);
    if (e->kind != E_BINARY || e->arg[2] || (e->fn != F_ADD && e->fn != F_SUB))
        return NULL;
    return (x = over(f, e->arg[0], c)) && (y = over(f, e->arg[1], c))
               ? expr_binary(g, e->fn, x, y, T_F32)
               : NULL;
}

/* Each product of the power. */
static const Expr *of_power(Graph *g, const Expr *e, void *ctx)
{
    Power *p = ctx;

    for (int i = 0; i < 2 && is_product(e); i++) {
        if (!expr_equal(e->arg[i], p->is))
            continue;
        const Expr *x = over(p->f, e->arg[1 - i], p->by);
        if (x)
            return product(g, x, p->in);
    }
    return NULL;
}

static void find_left(const Expr *e, void *ctx)
{
    Power *p = ctx;

    p->left |= expr_equal(e, p->is);
}

/* Bodies with a power's factor in its exponent, if all of them can have it. */
static void take_factor(ChainForm *f)
{
    Graph *g = f->a.g;
    ChainForm *twin = (ChainForm *)f->twin;
    Power p = {.f = f, .maker = tensor_makers(g)};

    expr_visit(f->rows.body, find_power, &p);
    if (twin)
        expr_visit(twin->rows.body, find_power, &p);
    if (!p.is)
        return;
    const Expr *own = expr_rewrite(g, f->rows.body, of_power, &p);
    const Expr *other =
        twin ? expr_rewrite(g, twin->rows.body, of_power, &p) : own;
    expr_visit(own, find_left, &p);
    expr_visit(other, find_left, &p);
    if (p.left)
        return;
    f->rows.body = own;
    if (twin)
        twin->rows.body = other;
}

/* ---- what is made once --------------------------------------------------- */

/* e as a local, of which there is one for each value; or NULL. */
static const Expr *local_of(ChainForm *f, const Expr *e)
{
    ChainRows *r = &f->rows;
    bool column = expr_uses(e, f->col);
    const Expr **of = column ? r->of_column : r->of_row;
    int *n = column ? &r->n_column : &r->n_row, i = 0;

    while (i < *n && !expr_equal(of[i], e))
        i++;
    if (i == CHAIN_VALUES)
        return NULL;
    if (i == *n)
        of[(*n)++] = e;
    return expr_local(f->a.g, (column ? CHAIN_COLUMN : CHAIN_ROW) + i, T_F32);
}

/* The largest parts that are apart, as locals; `left`: of the parts of e that
 * are looked at. */
static const Expr *take_apart(ChainForm *f, const Expr *e, int *left)
{
    Graph *g = f->a.g;
    const Expr *x[3] = {NULL}, *is = NULL;
    bool differ = false;

    if (--*left < 0)
        return e;
    if (is_apart(f, e) && (is = local_of(f, e)))
        return is;
    if (e->kind != E_UNARY && e->kind != E_BINARY && e->kind != E_SELECT &&
        e->kind != E_CAST)
        return e;
    for (int i = 0; i < 3 && e->arg[i]; i++) {
        x[i] = take_apart(f, e->arg[i], left);
        differ |= x[i] != e->arg[i];
    }
    return !differ                ? e
           : e->kind == E_SELECT  ? expr_select(g, x[0], x[1], x[2], e->type)
           : e->kind == E_CAST    ? expr_cast(g, x[0], e->type)
           : e->kind == E_UNARY   ? expr_unary(g, e->fn, x[0], e->type)
           : x[2]                 ? expr_ternary(g, e->fn, x[0], x[1], x[2],
                                                 e->type)
                                  : expr_binary(g, e->fn, x[0], x[1], e->type);
}

typedef struct Count {
    const ChainForm *f;
    double reads;
    int powers;
} Count;

static void count(const Expr *e, void *ctx)
{
    Count *c = ctx;

    if (e->kind == E_READ)
        c->reads += chain_read_ops(c->f, e);
    c->powers += e->kind == E_UNARY && e->fn == F_EXP2;
}

/* Instructions of a body, where a power of 2 is one of them. */
static double body_ops(const ChainForm *f, const Expr *e, bool one)
{
    Graph *g = f->a.g;
    Count c = {.f = f};
    const Expr *power = expr_unary(g, F_EXP2, expr_local(g, 0, T_F32), T_F32);

    if (e->kind == E_LOCAL)
        return 0;
    expr_visit(e, count, &c);
    return expr_ops(e) + c.reads - (one ? c.powers * (expr_ops(power) - 1) : 0);
}

typedef struct Common {
    const Expr *of;        /* what is made anyway */
    const Expr *part, *is; /* is part in it; what of e is, the largest */
} Common;

static void find_equal(const Expr *e, void *ctx)
{
    Common *s = ctx;

    if (expr_equal(e, s->part))
        s->is = e;
}

/* The part of e with the most operations that the other body has, too. */
static void find_shared(const Expr *e, void *ctx)
{
    Common *s = ctx, one = {.part = e};

    if (s->part && expr_ops(s->part) >= expr_ops(e))
        return;
    expr_visit(s->of, find_equal, &one);
    if (one.is)
        s->part = e;
}

/* What a twin makes besides. */
static double twin_ops(const ChainForm *f, const Expr *body, bool one)
{
    Common s = {.of = f->rows.body};

    expr_visit(body, find_shared, &s);
    return body_ops(f, body, one) - (s.part ? body_ops(f, s.part, one) : 0);
}

static void take_numbers(ChainForm *f, const Expr **body)
{
    Graph *g = f->a.g;

    *body = expr_rewrite(g, *body, power_of_two, f);
    *body = expr_rewrite(g, *body, take_number, f);
}

/* Instructions of a score by the bodies, whose parts that are apart become
 * locals. */
static double take_values(ChainForm *f)
{
    ChainForm *twin = (ChainForm *)f->twin;
    int left = MOST_NODES, more = MOST_NODES;
    double ops;

    f->rows.body = take_apart(f, f->rows.body, &left);
    ops = body_ops(f, f->rows.body, true);
    if (twin) {
        twin->rows.body = take_apart(f, twin->rows.body, &more);
        ops += twin_ops(f, twin->rows.body, true) + 1; /* rounded, too */
    }
    return ops + OF_COLUMN * f->rows.n_column;
}

void chain_find_values(ChainForm *f)
{
    ChainForm *twin = (ChainForm *)f->twin;
    double ops = f->ops - body_ops(f, f->rows.body, false);

    take_numbers(f, &f->rows.body);
    if (twin)
        take_numbers(f, &twin->rows.body);
    ChainRows as = f->rows, beside = twin ? twin->rows : as;
    double plain = take_values(f);
    ChainRows rows = f->rows, twin_rows = twin ? twin->rows : rows;
    f->rows = as;
    if (twin)
        twin->rows = beside;
    take_factor(f);
    double joined = take_values(f);
    if (joined >= plain) {
        f->rows = rows;
        if (twin)
            twin->rows = twin_rows;
    }
    f->ops = ops + fmin(joined, plain);
}

/* ---- the kernel ------------------------------------------------------ */

void chain_name_values(ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;
    Arena *a = w->b.g->arena;

    for (int i = 0; i < r->n_column; i++)
        w->b.cp.local[CHAIN_COLUMN + i] = arena_printf(a, "of[%d]", i);
    for (int i = 0; i < r->n_row; i++)
        w->b.cp.local[CHAIN_ROW + i] =
            arena_printf(a, "of_row[%d][c / 2 %% 2]", i);
}

/* Each as `to` number i, and `at` in that, = its text. */
static Tree *values(ChainKernel *w, const Expr *const *of, int n,
                    const char *to, const char *at)
{
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena);

    for (int i = 0; i < n; i++)
        cprint_count(cp, of[i]);
    for (int i = 0; i < n; i++)
        PUT(code, "@to[@i]@at = @text;\n", FILL("to", to), FILL_INT("i", i),
            FILL("at", at), FILL("text", cprint_bind(code, cp, of[i], "t")));
    return code;
}

Tree *chain_row_values(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena);

    if (!f->rows.n_row)
        return code;
    CScope scope = cprint_open(cp);
    const char *row = cprint_var(cp, f->row);
    PUT(code,
        "float of_row[@n][2];  // values of the thread's rows\n"
        "#pragma unroll\n"
        "for (int q = 0; q < 2; ++q) {\n"
        "    const int @row = @least@m0 + top + lane / 4 + q * 8@most;\n"
        "    @VALUES\n"
        "}\n",
        FILL_INT("n", f->rows.n_row), FILL("row", row),
        FILL("least", f->M % w->bm ? "min(" : ""),
        FILL("most", f->M % w->bm ? ", M - 1)" : ""),
        FILL_TREE("VALUES",
                  values(w, f->rows.of_row, f->rows.n_row, "of_row", "[q]")));
    cprint_close(cp, scope);
    return code;
}

static Tree *read_columns(ChainKernel *w, const char *at)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    Arena *a = w->b.g->arena;
    Tree *code = tree_list(a);
    int all = 32 * (w->column_warps ? w->column_warps : 1);
    bool cut = w->bj % all || f->J % w->bj;

    CScope scope = cprint_open(cp);
    const char *col = cprint_var(cp, f->col);
    PUT(code,
        "const auto columns = dcc_read_columns<@n, BJ@warps>(@at, "
        "[&](auto &of, int @col) {\n"
        "    @CUT\n"
        "    @VALUES\n"
        "});\n",
        FILL_INT("n", f->rows.n_column), FILL("col", col), FILL("at", at),
        FILL("warps", w->column_warps
                          ? arena_printf(a, ", %d", w->column_warps) : ""),
        FILL_TREE("CUT",
                  cut ? QUOTE(code->arena, "@col = min(@col, J - 1);\n",
                              FILL("col", col))
                      : tree_list(code->arena)),
        FILL_TREE("VALUES",
                  values(w, f->rows.of_column, f->rows.n_column, "of", "")));
    cprint_close(cp, scope);
    return code;
}

static Tree *leave_columns(const ChainKernel *w, const char *slot)
{
    return QUOTE(w->b.g->arena,
                 "dcc_leave_columns(smem.of_column[@slot], columns, "
                 "&smem.first_full[@slot]@part);\n",
                 FILL("slot", slot),
                 FILL("part", w->column_warps ? ", part" : ""));
}

/* Whether the warp that loads has them. */
static bool by_loader(const ChainKernel *w)
{
    return w->f->rows.n_column && !w->column_warps;
}

Tree *chain_read_columns(ChainKernel *w)
{
    return by_loader(w) ? read_columns(w, "j0") : tree_list(w->b.g->arena);
}

Tree *chain_leave_columns(ChainKernel *w)
{
    return by_loader(w) ? leave_columns(w, "first_slot") : tree_list(w->b.g->arena);
}

/* They wait for memory at each block, which the copies need not. */
Tree *chain_column_warps(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    if (!w->column_warps)
        return code;
    PUT(code,
        "if (threadIdx.x % 128 >= 32 && threadIdx.x % 128 < @end) {\n"
        "    // values of columns, by warps of their own\n"
        "    @WAIT\n"
        "    int part = threadIdx.x % 128 / 32 - 1, slot = 0, phase = 0;\n"
        "    for (int block = last; block >= begin; --block) {\n"
        "        @READ\n"
        "        dcc_mbar_wait(&smem.first_empty[slot], phase ^ 1);\n"
        "        @LEAVE\n"
        "        dcc_next_slot<STAGES>(slot, phase);\n"
        "    }\n"
        "}\n",
        FILL_INT("end", 32 * (1 + w->column_warps)),
        FILL("WAIT", w->k->waits ? "dcc_grid_wait();\n" : ""),
        FILL_TREE("READ", read_columns(w, "block * BJ + part * 32")),
        FILL_TREE("LEAVE", leave_columns(w, "slot")));
    return code;
}

Tree *chain_one_lane(const ChainKernel *w, Tree *code)
{
    if (!by_loader(w))
        return code;
    return QUOTE(w->b.g->arena,
                 "if (lane == 0) {\n"
                 "    @CODE\n"
                 "}\n",
                 FILL_TREE("CODE", code));
}
