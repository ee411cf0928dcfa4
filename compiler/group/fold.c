#include "group/fold.h"

#include "group/fuse.h"
#include "group/norm.h"
#include "rewrite/rewrite.h"

#include <string.h>

enum { MAX_VARS = 24, LEAST_ROWS = 64 };

/* ---- y as R K x + R' K' + ... -------------------------------------------- */

typedef struct Search {
    const Var *col;
    const Expr *x;          /* the only read of rows and columns */
    bool bad;
} Search;

static bool of_columns(const Expr *e)
{
    return tensor_is_constant(e->tensor) && !e->in.n;
}

static void find_x(const Expr *e, void *ctx)
{
    Search *s = ctx;

    s->bad |= e->kind == E_INDEX || e->kind == E_LOCAL;
    if (e->kind != E_READ || e->tensor->of_rows || of_columns(e))
        return;
    s->bad |= e->in.n || (s->x && !expr_equal(s->x, e)) ||
              !expr_uses(e, s->col);
    s->x = e;
}

/* scale x + shift; NULL: 0. */
typedef struct Affine {
    const Expr *scale, *shift;
    bool bad;
} Affine;

static const Expr *join(Graph *g, Func f, const Expr *a, const Expr *b)
{
    return expr_binary(g, f, a, b, T_F32);
}

static const Expr *sum_of(Graph *g, Func f, const Expr *a, const Expr *b)
{
    if (!b)
        return a;
    if (a)
        return join(g, f, a, b);
    return f == F_SUB ? expr_unary(g, F_NEG, b, T_F32) : b;
}

static Affine affine(Graph *g, const Expr *e, const Expr *x);

static Affine affine_product(Graph *g, Affine a, Affine b, Func f)
{
    Affine r = {.bad = a.bad || b.bad || (a.scale && b.scale) ||
                       (f == F_DIV && b.scale)};
    const Affine *with = b.scale ? &b : &a;
    const Expr *by = b.scale ? a.shift : b.shift;

    if (!by)
        r.bad = true;
    if (r.bad)
        return r;
    r.scale = with->scale ? join(g, f, with->scale, by) : NULL;
    r.shift = with->shift ? join(g, f, with->shift, by) : NULL;
    return r;
}

static Affine affine_sum(Graph *g, Affine a, Affine b, Func f)
{
    return (Affine){sum_of(g, f, a.scale, b.scale),
                    sum_of(g, f, a.shift, b.shift), a.bad || b.bad};
}

static bool has(const Expr *e, const Expr *x)
{
    if (expr_equal(e, x))
        return true;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (has(e->arg[i], x))
            return true;
    return false;
}

static Affine affine(Graph *g, const Expr *e, const Expr *x)
{
    const Expr *a = e->arg[0], *b = e->arg[1];

    if (expr_equal(e, x))
        return (Affine){.scale = expr_const(g, 1, T_F32)};
    if (!has(e, x))
        return (Affine){.shift = e};
    if (e->kind == E_CAST && e->type == T_F32)
        return affine(g, a, x);
    if (e->kind == E_UNARY && e->fn == F_NEG)
        return affine_sum(g, (Affine){.bad = false}, affine(g, a, x), F_SUB);
    if (e->kind != E_BINARY)
        return (Affine){.bad = true};
    if (e->fn == F_MUL || e->fn == F_DIV) {
        Affine r = affine_product(g, affine(g, a, x), affine(g, b, x), e->fn);
        return e->arg[2] ? affine_sum(g, r, affine(g, e->arg[2], x), F_ADD)
                         : r;
    }
    if (e->fn == F_ADD || e->fn == F_SUB)
        return affine_sum(g, affine(g, a, x), affine(g, b, x), e->fn);
    return (Affine){.bad = true};
}

/* A product's factors of rows and those of columns; NULL: 1. */
typedef struct Split {
    const Expr *row, *column;
    bool bad;
} Split;

static void find_rows(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->of_rows;
}

static void put_factor(Graph *g, Split *s, const Expr *e, bool below,
                       const Var *col)
{
    bool rows = false, columns = expr_uses(e, col);

    if (e->kind == E_BINARY && !e->arg[2] &&
        (e->fn == F_MUL || e->fn == F_DIV)) {
        put_factor(g, s, e->arg[0], below, col);
        put_factor(g, s, e->arg[1], below != (e->fn == F_DIV), col);
        return;
    }
    if (e->kind == E_UNARY && e->fn == F_NEG) {
        put_factor(g, s, expr_const(g, -1, T_F32), false, col);
        put_factor(g, s, e->arg[0], below, col);
        return;
    }
    expr_visit(e, find_rows, &rows);
    s->bad |= rows && columns;
    const Expr **to = columns ? &s->column : &s->row;
    if (!*to && !below && !(e->kind == E_CONST && e->num == 1)) {
        *to = e;
        return;
    }
    if (*to || below)
        *to = join(g, below ? F_DIV : F_MUL,
                   *to ? *to : expr_const(g, 1, T_F32), e);
}

static Split split(Graph *g, const Expr *e, const Var *col)
{
    Split s = {.bad = false};

    put_factor(g, &s, e, false, col);
    return s;
}

typedef struct Terms {
    Split scale, term[FOLD_TERMS];
    int n;
    bool bad;
} Terms;

static void put_terms(Graph *g, Terms *t, const Expr *e, bool minus,
                      const Var *col)
{
    bool sum = e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_SUB);

    if (sum && expr_uses(e, col)) {
        put_terms(g, t, e->arg[0], minus, col);
        put_terms(g, t, e->arg[1], minus != (e->fn == F_SUB), col);
        return;
    }
    if (t->n == FOLD_TERMS) {
        t->bad = true;
        return;
    }
    if (minus)
        e = expr_unary(g, F_NEG, e, T_F32);
    t->term[t->n] = split(g, e, col);
    t->bad |= t->term[t->n++].bad;
}

/* ---- what is made at load time ------------------------------------------- */

typedef struct Made {
    Graph *g;
    const Tensor *w;
    int k;
    const Var *var[MAX_RANK]; /* of the statement that is being made */
    const Idx **at;           /* w's element there */
} Made;

static void new_vars(Made *m, const Stmt *p)
{
    m->at = arena_array(m->g->arena, const Idx *, m->w->rank + 1);
    for (int d = 0; d < m->w->rank; d++) {
        m->var[d] = idx_new_var(m->g->pool,
                                d == m->k ? p->red[0]->name
                                          : arena_printf(m->g->arena, "%c",
                                                         'n' + d),
                                m->w->dim[d]);
        m->at[d] = idx_var(m->g->pool, m->var[d]);
    }
}

static const Expr *w_there(const Made *m, Tensor *w)
{
    return expr_read(m->g, w, m->at, (Guard){0}, NULL);
}

/* An expression of columns, of w's k. */
static const Expr *there(const Made *m, const Expr *e, const Var *col)
{
    Subst s = {col, m->at[m->k]};

    return expr_subst(m->g, e, &s, 1);
}

/* A statement that makes a tensor of those of w's dimensions that `of` has a
 * bit of: `op` over k, or R_NONE. */
static Tensor *make(const Made *m, const char *name, Type type, unsigned of,
                    Reduce op, const Expr *value, const char *says)
{
    Graph *g = m->g;
    int64_t dim[MAX_RANK];
    int n = 0;

    Stmt *s = load_stmt(g, m->w);
    s->out = arena_array(g->arena, const Var *, m->w->rank + 1);
    s->store = arena_array(g->arena, const Idx *, m->w->rank + 1);
    for (int d = 0; d < m->w->rank; d++) {
        if (!(of >> d & 1))
            continue;
        dim[n] = m->w->dim[d];
        s->out[n] = m->var[d];
        s->store[n++] = m->at[d];
    }
    s->n_out = n;
    s->op = op;
    if (op != R_NONE) {
        s->red = arena_array(g->arena, const Var *, 1);
        s->red[0] = m->var[m->k];
        s->n_red = 1;
    }
    s->value = value;
    s->tensor = graph_tensor(g, arena_printf(g->arena, "%s_%s", m->w->name,
                                             name), type, n, dim);
    s->tensor->path = m->w->path;
    s->tensor->when = WHEN_LOAD;
    s->tensor->at = m->w->at;
    s->path = arena_printf(g->arena, "%s%s%s_%s", m->w->path,
                           *m->w->path ? "." : "", m->w->name, name);
    s->tensor->says = says;
    s->for_fold = true;
    return s->tensor;
}

static const Expr *f32(Graph *g, double v)
{
    return expr_const(g, v, T_F32);
}

/* Its dimensions but k. */
static unsigned columns_of(const Made *m)
{
    return ~(1u << m->k);
}

/* What make() made of each of w's other dimensions, at m's point. */
static const Expr *of_column(const Made *m, Tensor *t)
{
    const Idx **at = arena_array(m->g->arena, const Idx *, t->rank + 1);
    int n = 0;

    for (int d = 0; d < m->w->rank; d++)
        if (d != m->k)
            at[n++] = m->at[d];
    return expr_read(m->g, t, at, (Guard){0}, NULL);
}

/* The same number everywhere: at the first place. */
static const Expr *first_of(Graph *g, Tensor *t)
{
    const Idx **at = arena_array(g->arena, const Idx *, t->rank + 1);

    for (int d = 0; d < t->rank; d++)
        at[d] = idx_const(g->pool, 0);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

/* s, of K: a power of two, so that K / s is as exact as K is. The same for all
 * columns, so that what makes them makes it, too. */
static Tensor *make_most(Made *m, const Stmt *p, const Expr *column,
                         const Var *col)
{
    Graph *g = m->g;

    new_vars(m, p);
    const Expr *k = there(m, column, col);
    const Expr *e = join(g, F_MAX, expr_unary(g, F_ABS, k, T_F32),
                         f32(g, 1e-30));
    e = expr_unary(g, F_CEIL, expr_unary(g, F_LOG2, e, T_F32), T_F32);
    return make(m, "range", T_F32, columns_of(m), R_MAX,
                expr_unary(g, F_EXP2, e, T_F32),
                "the greatest of the norm's factors, to a power of two");
}

/* w' of K and s: what sums over it, on the way or not, takes as it is
 * stored. */
static Tensor *make_weights(Made *m, const Stmt *p, const Expr *column,
                            const Var *col, Tensor *most)
{
    Graph *g = m->g;

    new_vars(m, p);
    const Expr *k = there(m, column, col);
    const Expr *e = join(g, F_MUL, join(g, F_DIV, k, of_column(m, most)),
                         w_there(m, (Tensor *)m->w));
    return make(m, "scaled", m->w->type, ~0u, R_NONE,
                expr_cast(g, expr_cast(g, e, m->w->type), T_F32),
                "the weights times the norm's factors over their range");
}

/* The sums of w', or of K' w: those as s times sums of K' w / s, which the
 * kernel that makes s and w' makes on its way. */
static Tensor *make_sum(Made *m, const Stmt *p, Tensor *w, const Expr *column,
                        const Var *col, Tensor *most, const char *name)
{
    Graph *g = m->g;

    new_vars(m, p);
    const Expr *e = w_there(m, w);
    if (column)
        e = join(g, F_MUL, there(m, column, col), e);
    const char *says = column ? "sums of the weights times what the norm adds"
                              : "sums of the scaled weights: what means add";
    if (!column || !most)
        return make(m, name, T_F32, columns_of(m), R_SUM, e, says);
    e = join(g, F_DIV, e, of_column(m, most));
    Tensor *part = make(m, arena_printf(g->arena, "%s_sum", name), T_F32,
                        columns_of(m), R_SUM, e, NULL);
    new_vars(m, p);
    return make(m, name, T_F32, columns_of(m), R_NONE,
                join(g, F_MUL, of_column(m, part), of_column(m, most)), says);
}

static const Expr *strip(const Expr *e)
{
    while (e->kind == E_CAST && e->type == T_F32)
        e = e->arg[0];
    return e;
}

static bool sixteen(const Tensor *t)
{
    return t->type == T_F16 || t->type == T_BF16;
}

/* K / s, of k. */
static Tensor *make_factor(Made *m, const Stmt *p, const Expr *column,
                           const Var *col, Tensor *most)
{
    const Expr *k = strip(column);
    bool exact = k->kind == E_READ && sixteen(k->tensor);

    new_vars(m, p);
    return make(m, "factor", exact ? k->tensor->type : T_F32, 1u << m->k,
                R_NONE,
                join(m->g, F_DIV, there(m, column, col), first_of(m->g, most)),
                "the norm's factors over their range");
}

/* ---- which products ------------------------------------------------------ */

/* The dimension of w that p sums over alone; or -1. */
static int summed(const Stmt *p, const Expr *w)
{
    int k = -1;

    for (int d = 0; d < w->tensor->rank; d++) {
        if (!idx_uses(w->at[d], p->red[0]))
            continue;
        if (k >= 0 || idx_is_var(w->at[d]) != p->red[0])
            return -1;
        k = d;
    }
    return k >= 0 && w->tensor->dim[k] == p->red[0]->extent ? k : -1;
}

/* s's variable that is p's sum. */
static const Var *column_of(Graph *g, const Stmt *s, const Expr *y,
                            const Stmt *p)
{
    Subst map[MAX_VARS];
    int n = invert_store(g, s->tensor, s->store, y->at, map, MAX_VARS);
    const Var *col = NULL;

    for (int i = 0; i < n; i++) {
        if (!idx_uses(map[i].by, p->red[0]))
            continue;
        if (col || idx_is_var(map[i].by) != p->red[0])
            return NULL;
        col = map[i].var;
    }
    return col;
}

/* The terms of y, and its x. NULL: it has none. */
static const Expr *find_terms(Graph *g, const Stmt *s, const Var *col,
                              Terms *t)
{
    Search find = {.col = col};

    expr_visit(s->value, find_x, &find);
    if (find.bad || !find.x || !sixteen(find.x->tensor))
        return NULL;
    Affine a = affine(g, s->value, find.x);
    if (a.bad || !a.scale)
        return NULL;
    *t = (Terms){.scale = split(g, a.scale, col)};
    if (a.shift)
        put_terms(g, t, a.shift, false, col);
    return !t->bad && !t->scale.bad && t->scale.row ? find.x : NULL;
}

static const Expr *times(Graph *g, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : join(g, F_MUL, a, b);
}

/* Takes a factor equal to `one` out of e; NULL is 1. */
static const Expr *take_out(Graph *g, const Expr *e, const Expr *one,
                            bool *found)
{
    if (*found || !e)
        return e;
    if (expr_equal(e, one)) {
        *found = true;
        return NULL;
    }
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[2])
        return e;
    const Expr *a = take_out(g, e->arg[0], one, found);
    return times(g, a, take_out(g, e->arg[1], one, found));
}

/* e without all factors of `by`; *found is false if it lacks one. */
static const Expr *without(Graph *g, const Expr *e, const Expr *by,
                           bool *found)
{
    bool one = false;

    if (by->kind == E_BINARY && by->fn == F_MUL && !by->arg[2]) {
        e = without(g, e, by->arg[0], found);
        return without(g, e, by->arg[1], found);
    }
    e = take_out(g, e, by, &one);
    *found &= one;
    return e;
}

static bool same(const Expr *a, const Expr *b)
{
    return a && b ? expr_equal(a, b) : a == b;
}

typedef struct Bias {
    const Tensor *product;
    const Expr *read, *bias; /* product + bias */
    int n;                   /* reads of the product */
} Bias;

static void find_bias(const Expr *e, void *ctx)
{
    Bias *b = ctx;

    b->n += e->kind == E_READ && e->tensor == b->product;
    if (e->kind != E_BINARY || e->fn != F_ADD || e->arg[2])
        return;
    for (int i = 0; i < 2; i++) {
        const Expr *x = e->arg[i], *y = e->arg[1 - i];
        if (x->kind == E_READ && x->tensor == b->product &&
            y->kind == E_READ && of_columns(y))
            *b = (Bias){b->product, x, y, b->n};
    }
}

/* What q, which alone reads p's sums, adds to them, at m's point. NULL: it is
 * nothing of w's columns alone. */
static const Expr *bias_there(Made *m, const Stmt *p, const Stmt *q,
                              const Expr *w, const Bias *b)
{
    Subst map[MAX_RANK];
    int n = 0;

    for (int d = 0; d < b->product->rank; d++) {
        const Var *of_p = idx_is_var(p->store[d]);
        const Var *of_q = idx_is_var(b->read->at[d]);
        for (int k = 0; k < m->w->rank && of_p && of_q; k++)
            if (k != m->k && idx_is_var(w->at[k]) == of_p)
                map[n++] = (Subst){of_q, m->at[k]};
    }
    for (int i = 0; i < q->n_out; i++) {
        bool known = !expr_uses(b->bias, q->out[i]);
        for (int k = 0; k < n; k++)
            known |= map[k].var == q->out[i];
        if (!known)
            return NULL;
    }
    return expr_subst(m->g, b->bias, map, n);
}

/* A sum of columns to which the product's bias is added already. */
static void add_bias(Made *m, Fold *f, const Stmt *p, const Expr *w)
{
    Bias b = {.product = p->tensor};
    const Stmt *q = NULL;
    const Expr *e = NULL;

    for (int i = 0; i < m->g->n_stmt; i++) {
        int n = b.n;
        expr_visit(m->g->stmt[i]->value, find_bias, &b);
        q = b.n > n ? m->g->stmt[i] : q;
    }
    new_vars(m, p);
    if (b.n == 1 && b.bias && p->tensor->role == ROLE_TEMP)
        e = bias_there(m, p, q, w, &b);
    if (!e)
        return;
    int terms = 0;
    for (int i = 0; i < f->n; i++)
        if (!f->own[i] && ++terms)
            e = join(m->g, F_ADD, of_column(m, f->column[i]), e);
    if (!terms)
        return;
    f->bias = b.bias->tensor;
    f->shift = make(m, "bias", T_F32, columns_of(m), R_NONE, e,
                    "the bias and what the norm adds");
    f->shift->kept = b.bias->tensor->kept = true;
}

/* For y', and that all of it is loaded, whoever reads it. */
static void fold_for_all(Made *m, Fold *f, const Stmt *p, const Expr *w,
                         const Terms *t, const Var *col, Tensor *range)
{
    f->col = col;
    add_bias(m, f, p, w);
    for (int i = 0; i < t->n; i++)
        f->other[i] = t->term[i].column;
    if (range) {
        f->factor = make_factor(m, p, t->scale.column, col, range);
        f->factor->kept = range->kept = f->by->kept = true;
    }
    for (int i = 0; i < f->n; i++)
        f->column[i]->kept = true;
}

static void fold(Graph *g, const Stmt *s, Stmt *p, const Expr *y,
                 const Expr *w, bool all)
{
    int k = summed(p, w);
    Terms t;

    if (!s || s->op != R_NONE || s->when != WHEN_RUN || s->where.n || k < 0)
        return;
    const Var *col = column_of(g, s, y, p);
    const Expr *x = col ? find_terms(g, s, col, &t) : NULL;
    if (!x)
        return;
    Made m = {.g = g, .w = w->tensor, .k = k};
    Fold *f = arena_new_of(g->arena, Fold);
    Tensor *range = NULL;
    const Expr *most = NULL;
    *f = (Fold){.x = x->tensor, .y = y->tensor, .w = w->tensor, .k = k,
                .by = w->tensor, .made = s};
    if (t.scale.column) {
        range = make_most(&m, p, t.scale.column, col);
        f->by = make_weights(&m, p, t.scale.column, col, range);
        most = first_of(g, range);
    }
    f->scale = times(g, t.scale.row, most);
    for (int i = 0; i < t.n; i++) {
        bool own = same(t.term[i].column, t.scale.column);
        const char *name = own ? "sums" : i == t.n - 1 ? "shift" : "term";
        f->row[f->n] = t.term[i].row;
        f->own[f->n] = own;
        f->inner[f->n] = own && t.term[i].row;
        if (f->inner[f->n])
            f->row[f->n] = without(g, t.term[i].row, t.scale.row,
                                   &f->inner[f->n]);
        if (own && !f->inner[f->n])
            f->row[f->n] = times(g, t.term[i].row, most);
        f->column[f->n++] = make_sum(&m, p, own ? f->by : w->tensor,
                                     own ? NULL : t.term[i].column, col,
                                     range, name);
    }
    if (all)
        fold_for_all(&m, f, p, w, &t, col, range);
    p->fold = f;
}

static void try_product(Graph *g, Stmt *const *maker, Stmt *p,
                        const Folds *only)
{
    int64_t rows = 1;

    if (p->op != R_SUM || p->n_red != 1 || p->when != WHEN_RUN ||
        p->value->kind != E_BINARY || p->value->fn != F_MUL ||
        p->value->arg[2] || p->red[0]->extent % 16 ||
        (only && !fold_has(only, p->path)))
        return;
    const Expr *a = strip(p->value->arg[0]), *b = strip(p->value->arg[1]);
    if (a->kind != E_READ || b->kind != E_READ || a->in.n || b->in.n)
        return;
    const Expr *y = of_columns(a) ? b : a, *w = of_columns(a) ? a : b;
    if (of_columns(y) || !of_columns(w) || !sixteen(w->tensor) ||
        y->tensor->type != w->tensor->type || y->tensor->role != ROLE_TEMP ||
        y->tensor->prev)
        return;
    for (int i = 0; i < p->n_out; i++)
        rows *= expr_uses(y, p->out[i]) ? p->out[i]->extent : 1;
    if (rows >= LEAST_ROWS)
        fold(g, maker[y->tensor->id], p, y, w, only != NULL);
}

bool fold_has(const Folds *f, const char *path)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(path, f->path[i]))
            return true;
    return false;
}

void fold_prepare(Graph *g, const Folds *only)
{
    int n = g->n_stmt;
    Stmt **stmt = arena_array(g->arena, Stmt *, n + 1);
    Stmt **maker = tensor_makers(g); /* of what products read */

    memcpy(stmt, g->stmt, sizeof *stmt * (size_t)n);
    for (int i = 0; i < n; i++)
        try_product(g, maker, stmt[i], only);
}

const Fold *fold_of(const Step *s, const Tensor *y)
{
    const Fold *f = s->source ? s->source->fold : NULL;

    return f && f->y == y && s->op == R_SUM ? f : NULL;
}

/* ---- of a group ---------------------------------------------------------- */

typedef struct Find {
    const Tensor *t;
    const Expr *read;
} Find;

static void note_read(const Expr *e, void *ctx)
{
    Find *f = ctx;

    if (e->kind == E_READ && e->tensor == f->t)
        f->read = e;
}

const Expr *fold_read(const Expr *e, const Tensor *t)
{
    Find f = {t, NULL};

    expr_visit(e, note_read, &f);
    return f.read;
}

typedef struct Rows {
    const RowMerge *m;
    bool missing;
} Rows;

/* A value of rows by the merge's number of it. */
static const Expr *by_number(Graph *g, const Expr *e, void *ctx)
{
    Rows *r = ctx;

    if (e->kind != E_READ || !e->tensor->of_rows)
        return NULL;
    for (int i = 0; i < r->m->n_step; i++) {
        const Stmt *s = r->m->step[i].source;
        if (s && s->tensor == e->tensor)
            return expr_local(g, -1 - i, T_F32);
    }
    r->missing = true;
    return NULL;
}

static const Expr *of_rows(Graph *g, Rows *r, const Expr *e)
{
    return e ? expr_rewrite(g, e, by_number, r) : NULL;
}

const Expr *fold_column(Graph *g, Tensor *t, const Expr *w, int k)
{
    const Idx **at = arena_array(g->arena, const Idx *, t->rank + 1);
    int n = 0;

    for (int d = 0; d < w->tensor->rank; d++)
        if (d != k)
            at[n++] = w->at[d];
    return expr_read(g, t, at, (Guard){0}, NULL);
}

static const Expr *corrected(Graph *g, const Fold *f, Rows *r, const Expr *w)
{
    const Expr *e = expr_local(g, 0, T_F32);

    for (int inner = 1; inner >= 0; inner--) {
        for (int i = 0; i < f->n; i++)
            if (f->inner[i] == (bool)inner)
                e = join(g, F_ADD, e,
                         times(g, of_rows(g, r, f->row[i]),
                               fold_column(g, f->column[i], w, f->k)));
        if (inner)
            e = join(g, F_MUL, of_rows(g, r, f->scale), e);
    }
    return e;
}

Group *fold_product(Graph *g, const Group *c, const Group *r, const Tensor *y,
                    const Tensor *x)
{
    const Fold *f = NULL;
    int at = 0;

    while (at < c->n_step && !(f = fold_of(&c->step[at], y)))
        at++;
    if (!f || r->n_step != c->n_step)
        return NULL;
    const Expr *w = fold_read(c->step[at].value, f->w);
    const Expr *there = fold_read(r->step[at].value, x);
    for (int i = 0; i < r->n_step; i++)
        if (i != at && r->step[i].op == R_SUM)
            return NULL;
    if (!w || !there)
        return NULL;
    Rows rows = {r->merge, false};
    Step *sum = arena_new_of(g->arena, Step);
    *sum = (Step){.op = R_NONE, .type = T_F32, .source = c->step[at].source,
                  .value = corrected(g, f, &rows, w)};
    if (rows.missing)
        return NULL;
    Group *to = arena_new_of(g->arena, Group);
    RowMerge *m = arena_new_of(g->arena, RowMerge);
    *to = *r;
    *m = *r->merge;
    m->fold = sum;
    to->merge = m;
    to->step = arena_array(g->arena, Step, r->n_step);
    memcpy(to->step, r->step, sizeof(Step) * (size_t)r->n_step);
    to->step[at].value = join(g, F_MUL, there,
                              expr_read(g, f->by, w->at, w->in, w->outside));
    return to;
}
