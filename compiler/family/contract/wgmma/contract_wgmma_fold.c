#include "family/contract/wgmma/contract_wgmma.h"

#include "group/norm.h"

/* Sums that rows' values and columns' correct before the epilogue has them. */

enum { MOST_COLUMNS = 8 }; /* reads of them */

typedef struct Columns {
    const WgmmaForm *f;
    const Expr *read[MOST_COLUMNS]; int n;
} Columns;

static const Step *fold_of(const WgmmaForm *f)
{
    return f->x.gr->merge ? f->x.gr->merge->fold : NULL;
}

static const Var *column_number(const WgmmaForm *f)
{
    return f->tma.n.axis[0].linear;
}

static void find_column(const Expr *e, void *ctx)
{
    Columns *c = ctx;

    if (e->kind != E_READ || c->n == MOST_COLUMNS ||
        !expr_uses(e, column_number(c->f)))
        return;
    for (int i = 0; i < c->n; i++)
        if (expr_equal(c->read[i], e))
            return;
    c->read[c->n++] = e;
}

static const Idx *place_of(const WgmmaForm *f, const Expr *e)
{
    return tensor_offset(f->x.g, e->tensor, e->at);
}

/* Neighbours lie side by side. */
static bool side_by_side(const WgmmaForm *f, const Expr *e)
{
    IdxPool *p = f->x.g->pool;
    const Var *n = column_number(f);
    const Idx *at = place_of(f, e);

    return idx_coef(at, n) == 1 &&
           !idx_uses(idx_sub(p, at, idx_var(p, n)), n) && !e->in.n &&
           e->tensor->type == T_F32;
}

/* By the layout, the norm's rows may be what are columns of the tile. */
static bool rows_are_columns(const WgmmaForm *f)
{
    const RowMerge *m = f->x.gr->merge;
    const Var *n = column_number(f);

    for (int i = 0; i < m->n_step; i++)
        if (expr_uses(m->step[i].value, n) ||
            (m->part[i] && expr_uses(m->part[i], n)))
            return true;
    return false;
}

const char *wgmma_check_fold(const WgmmaForm *f)
{
    Columns c = {.f = f};

    if (f->pre || !f->x.gr->merge)
        return NULL;
    if (f->tma.n.n != 1 || f->x.c.N % 8 || f->x.c.n_batch || f->x.terms == 3)
        return "a norm's correction of such columns";
    if (rows_are_columns(f))
        return "a norm of what are the tile's columns";
    expr_visit(wgmma_fold_value(f), find_column, &c);
    for (int i = 0; i < c.n; i++)
        if (!side_by_side(f, c.read[i]))
            return "a norm's sums of columns that do not lie side by side";
    return NULL;
}

static bool cut_columns(const WgmmaBuild *w)
{
    return w->x.f->c.N % w->x.p->t.bn != 0;
}

/* By the number n of each sum's column, and i of its row among a thread's. */
static void put_fold(WgmmaBuild *w, Tree *b, const Expr *value,
                     const char *sums)
{
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *body = tree_list(b->arena);

    cprint_name(cp, column_number(w->f), "n");
    cp->local[0] = "sum";
    const char *text = cprint_bind(body, cp, value, "t");
    PUT(b,
        "// What the norm of rows makes of sums over them.\n"
        "dcc_each_sum<@width, @deal>(@sums, n0, @end, "
        "[&](float sum, int i, int n) {\n"
        "    @BODY\n"
        "    return @value;\n"
        "});\n",
        FILL("width", w->x.width),
        FILL_INT("deal", w->p->deal ? w->p->deal : 2), FILL("sums", sums),
        FILL("end", cut_columns(w) ? "N" : "INT_MAX"), FILL_TREE("BODY", body),
        FILL("value", text));
    cprint_close(cp, scope);
}

/* What is read behind the products is in the L1 by then. */
static void put_touches(WgmmaBuild *w, Tree *b)
{
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Columns c = {.f = w->f};

    const char *args = cut_columns(w)
                           ? arena_printf(b->arena, "min(N - n0, (int)%s)",
                                          w->x.width)
                           : w->x.width;

    expr_visit(wgmma_fold_value(w->f), find_column, &c);
    cprint_name(cp, column_number(w->f), "n0");
    for (int i = 0; i < c.n; i++)
        args = arena_printf(b->arena, "%s, &%s[%s]", args,
                            cprint_tensor(cp, c.read[i]->tensor),
                            cprint_element(cp, c.read[i]->tensor,
                                           place_of(w->f, c.read[i])));
    if (c.n)
        PUT(b, "dcc_touch_columns(@args);\n", FILL("args", args));
    cprint_close(cp, scope);
}

void wgmma_fold(WgmmaBuild *w, Tree *before, Tree *behind)
{
    if (!fold_of(w->f))
        return;
    const char *local = w->x.cp.local[0];
    put_touches(w, before);
    const Expr *value = wgmma_fold_rows(w, before, behind);
    put_fold(w, behind, value, w->x.p->t.split > 1 ? "own" : "acc");
    w->x.cp.local[0] = local;
}
