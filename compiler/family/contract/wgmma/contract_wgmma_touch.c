#include "family/contract/wgmma/contract_wgmma.h"

/* Reads that a split's epilogue would wait for: a block has few sums of its
 * tile, and no registers are set aside for what these are finished with. */

const char *wgmma_point_row(const Wgmma *w)
{
    return !w->pingpong && w->consumers > 1
               ? "warpgroup * WM + warp * 16 + i / 2 * 64 + i % 2 * 8 + "
                 "lane / 4"
               : "warp * 16 + i / 2 * 64 + i % 2 * 8 + lane / 4";
}

enum { MOST_TOUCHED = 12 };

typedef struct Touched {
    const WgmmaBuild *w;
    const Expr *read[MOST_TOUCHED]; int n;
} Touched;

/* A read by the numbers of rows and columns. */
static const Expr *by_numbers(const WgmmaBuild *w, const Expr *e)
{
    const Axis *m = &w->f->tma.m.axis[0], *n = &w->f->tma.n.axis[0];

    if (m->n > 1)
        e = expr_subst(w->x.g, e, m->sub, m->n);
    return n->n > 1 ? expr_subst(w->x.g, e, n->sub, n->n) : e;
}

static bool is_early(const WgmmaBuild *w, const Expr *e)
{
    for (int i = 0; i < w->n_early; i++)
        if (w->early[i]->tensor == e->tensor)
            return true;
    for (int i = 0; i < w->x.n_held; i++)
        if (w->x.held[i]->tensor == e->tensor)
            return true;
    return false;
}

static void find_touched(const Expr *e, void *ctx)
{
    Touched *t = ctx;

    if (e->kind != E_READ || e->in.n || t->n == MOST_TOUCHED)
        return;
    e = by_numbers(t->w, e);
    if (is_early(t->w, e))
        return;
    for (int i = 0; i < t->n; i++)
        if (expr_equal(t->read[i], e))
            return;
    t->read[t->n++] = e;
}

static const Idx *place_of(const WgmmaBuild *w, const Expr *e)
{
    return tensor_offset(w->x.g, e->tensor, e->at);
}

/* Those of columns alone, of rows alone or of both. */
static Tree *touched(WgmmaBuild *w, const Touched *t, bool rows, bool columns)
{
    CPrint *cp = &w->x.cp;
    const Var *m = w->f->tma.m.axis[0].linear, *n = w->f->tma.n.axis[0].linear;
    CScope scope = cprint_open(cp);
    Arena *a = w->x.g->arena;
    const char *all = "";

    if (rows)
        cprint_name(cp, m, "m");
    if (columns)
        cprint_name(cp, n, "n");
    for (int i = 0; i < t->n; i++) {
        const Expr *e = t->read[i];
        if (expr_uses(e, m) == rows && expr_uses(e, n) == columns)
            all = arena_printf(a, "%s%s&%s[%s]", all, *all ? ", " : "",
                               cprint_tensor(cp, e->tensor),
                               cprint_element(cp, e->tensor, place_of(w, e)));
    }
    cprint_close(cp, scope);
    return *all ? QUOTE(a, "dcc_touch_each(@all);\n", FILL("all", all))
                : tree_list(a);
}

/* Whether blocks share tiles whose rows and columns are numbers. */
static bool shares(const WgmmaBuild *w)
{
    return w->x.p->t.split > 1 && w->f->rows_read && !w->x.p->patch &&
           w->f->tma.m.n == 1 && w->f->tma.n.n == 1;
}

static bool cut_rows(const WgmmaBuild *w)
{
    return w->x.f->c.M % w->x.p->t.bm || w->p->cluster > 1;
}

/* Of rows alone, side by side, of f32. */
static bool row_by_row(const WgmmaBuild *w, const Expr *e)
{
    IdxPool *p = w->x.g->pool;
    const Var *m = w->f->tma.m.axis[0].linear;
    const Idx *at = place_of(w, e);

    return e->type == T_F32 && idx_coef(at, m) == 1 &&
           !idx_uses(idx_sub(p, at, idx_var(p, m)), m) &&
           !expr_uses(e, w->f->tma.n.axis[0].linear);
}

static void find_held(const Expr *e, void *ctx)
{
    WgmmaBuild *w = ctx;
    ContractBuild *x = &w->x;

    if (e->kind != E_READ || e->in.n || x->n_held == MAX_EARLY ||
        !row_by_row(w, by_numbers(w, e)))
        return;
    for (int i = 0; i < x->n_held; i++)
        if (expr_equal(x->held[i], e))
            return;
    x->held_id[x->n_held] = cprint_fresh(
        &x->cp, arena_printf(x->g->arena, "%s_own",
                             cprint_tensor(&x->cp, e->tensor)));
    x->held[x->n_held++] = e;
}

/* Of rows alone, where others' places are made of it. */
static void find_place(const Expr *e, void *ctx)
{
    WgmmaBuild *w = ctx;
    ContractBuild *x = &w->x;
    const Var *m = w->f->tma.m.axis[0].linear, *n = w->f->tma.n.axis[0].linear;

    if (e->kind != E_READ || type_is_float(e->type) || e->in.n ||
        x->n_held == MAX_EARLY)
        return;
    const Expr *read = by_numbers(w, e);
    if (!expr_uses(read, m) || expr_uses(read, n))
        return;
    for (int i = 0; i < x->n_held; i++)
        if (expr_equal(x->held[i], e))
            return;
    x->held_id[x->n_held] = cprint_fresh(
        &x->cp, arena_printf(x->g->arena, "%s_own",
                             cprint_tensor(&x->cp, e->tensor)));
    x->held[x->n_held++] = e;
}

/* "m0 + ..", or the last row */
static const char *row_of_point(const WgmmaBuild *w)
{
    return arena_printf(w->x.g->arena,
                        cut_rows(w) ? "min(m0 + %s, M - 1)" : "m0 + %s",
                        wgmma_point_row(w->p));
}

/* Data that say where rows' values are: what they point at is asked for as
 * other reads are, not behind them one by one. */
static void hold_places(WgmmaBuild *w, Tree *b)
{
    ContractBuild *x = &w->x;
    CPrint *cp = &x->cp;
    Tree *reads = tree_list(b->arena);

    if (x->p->t.split > 1 || w->p->parts > 1 || x->p->patch ||
        w->f->turned || w->f->tma.m.n != 1 || w->f->tma.n.n != 1)
        return;
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (x->f->gr->step[i].op == R_NONE && !x->f->gr->step[i].over_cols)
            expr_visit(x->f->value[i], find_place, w);
    CScope scope = cprint_open(cp);
    cprint_name(cp, w->f->tma.m.axis[0].linear, "m");
    for (int i = 0; i < x->n_held; i++) {
        const Expr *e = by_numbers(w, x->held[i]);
        PUT(b, "@type @own[WM / 32];\n", FILL("type", type_cname(e->type)),
            FILL("own", x->held_id[i]));
        PUT(reads, "@own[i] = @tensor[@at];\n", FILL("own", x->held_id[i]),
            FILL("tensor", cprint_tensor(cp, e->tensor)),
            FILL("at", cprint_element(cp, e->tensor, place_of(w, e))));
    }
    cprint_close(cp, scope);
    if (x->n_held)
        PUT(b,
            "#pragma unroll\n"
            "for (int i = 0; i < WM / 32; ++i) {\n"
            "    const int m = @m;\n"
            "    @READS\n"
            "}\n",
            FILL("m", row_of_point(w)), FILL_TREE("READS", reads));
}

void wgmma_hold_rows(WgmmaBuild *w, Tree *b)
{
    ContractBuild *x = &w->x;
    CPrint *cp = &x->cp;
    Tree *reads = tree_list(b->arena);
    const char *names = "";

    hold_places(w, b);
    if (!shares(w) || w->p->consumers > 1 || w->p->parts > 1)
        return;
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (x->f->gr->step[i].op == R_NONE)
            expr_visit(x->f->value[i], find_held, w);
    CScope scope = cprint_open(cp);
    cprint_name(cp, w->f->tma.m.axis[0].linear, "m0");
    for (int i = 0; i < x->n_held; i++) {
        const Expr *e = by_numbers(w, x->held[i]);
        names = arena_printf(b->arena, "%s%s%s[WM / 32]", names,
                             *names ? ", " : "", x->held_id[i]);
        PUT(reads, "dcc_own_rows(@own, &@tensor[@at], @left);\n",
            FILL("own", x->held_id[i]),
            FILL("tensor", cprint_tensor(cp, e->tensor)),
            FILL("at", cprint_element(cp, e->tensor, place_of(w, e))),
            FILL("left", cut_rows(w) ? "M - m0" : "WM"));
    }
    cprint_close(cp, scope);
    if (x->n_held)
        PUT(b,
            "// What belongs to rows comes in during the products, too.\n"
            "float @names;\n"
            "@READS\n",
            FILL("names", names), FILL_TREE("READS", reads));
}

void wgmma_touch_reads(WgmmaBuild *w, Tree *b)
{
    const ContractBuild *x = &w->x;
    Touched t = {.w = w};

    if (!shares(w))
        return;
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (x->f->gr->step[i].op == R_NONE)
            expr_visit(x->f->value[i], find_touched, &t);
    Tree *rows = touched(w, &t, true, false);
    Tree *columns = touched(w, &t, false, true);
    Tree *all = touched(w, &t, true, true);
    const Fill n = FILL("n", x->f->c.N % x->p->t.bn
                                 ? "min(n0 + j * 8 + lane % 4 * 2, N - 1)"
                                 : "n0 + j * 8 + lane % 4 * 2");
    if (!rows->n_item && !columns->n_item && !all->n_item)
        return;
    if (!rows->n_item && !all->n_item) {
        PUT(b,
            "// What the epilogue reads is in the L2 by then.\n"
            "#pragma unroll\n"
            "for (int j = 0; j < OWN / 8; ++j) {\n"
            "    const int n = @n;\n"
            "    @COLUMNS\n"
            "}\n",
            n, FILL_TREE("COLUMNS", columns));
        return;
    }
    PUT(b,
        "// What the epilogue reads is in the L2 by then.\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 32; ++i) {\n"
        "    const int m = @m;\n"
        "    @ROWS\n"
        "    #pragma unroll\n"
        "    for (int j = 0; j < OWN / 8; ++j) {\n"
        "        const int n = @n;\n"
        "        @COLUMNS\n"
        "        @ALL\n"
        "    }\n"
        "}\n",
        FILL("m", row_of_point(w)),
        FILL_TREE("ROWS", rows), n,
        FILL_TREE("COLUMNS", columns), FILL_TREE("ALL", all));
}
