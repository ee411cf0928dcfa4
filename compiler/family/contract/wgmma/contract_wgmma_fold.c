#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

/* Sums that rows' values and columns' correct before the epilogue has them. */

enum { MOST_COLUMNS = 8 }; /* reads of them */

typedef struct Columns {
    const WgmmaForm *f;
    const Expr *read[MOST_COLUMNS]; int n;
} Columns;

static const Step *fold_step(const WgmmaForm *f)
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
    const Side *n = &f->x.n; /* of several variables, maybe */

    for (int i = 0; i < m->n_step * n->n; i++) {
        const Expr *value = m->step[i / n->n].value;
        const Expr *part = m->part[i / n->n];
        const Var *v = n->v[i % n->n];
        if (expr_uses(value, v) || (part && expr_uses(part, v)))
            return true;
    }
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

/* What the fold reads of columns, of WgmmaBuild w: in registers, or touched. */
typedef struct ColumnFold {
    Columns of;
    WgmmaBuild *w;
    const char *own[MOST_COLUMNS]; /* their names there, or NULL */
    const char *left;       /* columns from n0 on */
} ColumnFold;

/* A thread's columns of each; nvcc has 255 registers for a lone block's. */
static bool holds_columns(const ColumnFold *f)
{
    enum { MOST = 224 };
    const Wgmma *p = f->w->p;

    return p->consumers == 1 && p->resident == 1 && p->parts == 1 &&
           p->x.regs + f->of.n * p->own / 4 <= MOST;
}

static const char *own_column(const Expr *read, void *ctx)
{
    const ColumnFold *f = ctx;

    for (int i = 0; i < f->of.n; i++)
        if (f->own[i] && expr_equal(f->of.read[i], read))
            return arena_printf(f->w->x.g->arena, "%s[c]", f->own[i]);
    return NULL;
}

/* By the number n of each sum's column, or c among the thread's, and i of its
 * row among a thread's. */
static void put_fold(ColumnFold *f, Tree *b, const Expr *value,
                     const char *sums)
{
    WgmmaBuild *w = f->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *body = tree_list(b->arena);
    void *ctx = cp->ctx;

    cprint_name(cp, column_number(w->f), "n");
    cp->local[0] = "sum";
    cp->staged = own_column;
    cp->ctx = f;
    const char *text = cprint_bind(body, cp, value, "t");
    cp->staged = NULL;
    cp->ctx = ctx;
    PUT(b,
        f->own[0] ? "// What the norm of rows makes of sums over them.\n"
                    "dcc_each_own<@width, @deal>(@sums, @left, "
                    "[&](float sum, int i, int c) {\n"
                    "    @BODY\n"
                    "    return @value;\n"
                    "});\n"
                  : "// What the norm of rows makes of sums over them.\n"
                    "dcc_each_sum<@width, @deal>(@sums, n0, @end, "
                    "[&](float sum, int i, int n) {\n"
                    "    @BODY\n"
                    "    return @value;\n"
                    "});\n",
        FILL("width", w->x.width), FILL("left", f->left),
        FILL_INT("deal", w->p->deal ? w->p->deal : 2), FILL("sums", sums),
        FILL("end", cut_columns(w) ? "N" : "INT_MAX"), FILL_TREE("BODY", body),
        FILL("value", text));
    cprint_close(cp, scope);
}

/* What is read behind the products comes in during them. */
static void put_columns(ColumnFold *f, Tree *b)
{
    WgmmaBuild *w = f->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    const char *args = f->left, *names = "";
    bool holds = holds_columns(f);
    Tree *reads = tree_list(b->arena);

    cprint_name(cp, column_number(w->f), "n0");
    for (int i = 0; i < f->of.n; i++) {
        const Expr *e = f->of.read[i];
        const char *t = cprint_tensor(cp, e->tensor);
        const char *at = cprint_element(cp, e->tensor, place_of(w->f, e));
        args = arena_printf(b->arena, "%s, &%s[%s]", args, t, at);
        if (!holds)
            continue;
        f->own[i] = cprint_fresh(cp, arena_printf(b->arena, "%s_own", t));
        names = arena_printf(b->arena, "%s%s%s[%s / 4]", names,
                             *names ? ", " : "", f->own[i], w->x.width);
        PUT(reads,
            "dcc_own_columns<@width, @deal>(@own, &@tensor[@at], @left);\n",
            FILL("width", w->x.width),
            FILL_INT("deal", w->p->deal ? w->p->deal : 2),
            FILL("own", f->own[i]), FILL("tensor", t), FILL("at", at),
            FILL("left", f->left));
    }
    if (f->of.n && holds)
        PUT(b, "float @names;\n"
               "@READS\n",
            FILL("names", names), FILL_TREE("READS", reads));
    else if (f->of.n)
        PUT(b, "dcc_touch_columns(@args);\n", FILL("args", args));
    cprint_close(cp, scope);
}

void wgmma_fold(WgmmaBuild *w, Tree *before, Tree *behind)
{
    if (!fold_step(w->f))
        return;
    const char *local = w->x.cp.local[0];
    ColumnFold f = {.of = {.f = w->f}, .w = w, .left = w->x.width};

    if (cut_columns(w))
        f.left = arena_printf(before->arena, "min(N - n0, (int)%s)",
                              w->x.width);
    expr_visit(wgmma_fold_value(w->f), find_column, &f.of);
    put_columns(&f, before);
    const Expr *value = wgmma_fold_rows(w, before, behind);
    put_fold(&f, behind, value, w->x.p->t.split > 1 ? "own" : "acc");
    w->x.cp.local[0] = local;
}
