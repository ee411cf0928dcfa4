/* fold_apart.c - fold.h: y' in y's place, for a norm that keeps its kernel. */
#include "group/fold.h"

#include "group/split.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24 };

static const Expr *join(Graph *g, Func f, const Expr *a, const Expr *b)
{
    return expr_binary(g, f, a, b, T_F32);
}

const Fold *fold_in(const Group *c, const Tensor *y)
{
    const Fold *f = NULL;

    for (int i = 0; i < c->n_step && !f; i++)
        f = fold_of(&c->step[i], y);
    return f;
}

/* ---- the norm ------------------------------------------------------------ */

typedef struct Rows {
    const Group *gr;
    bool missing;
} Rows;

/* A value of rows by the group's number of it. */
static const Expr *by_number(Graph *g, const Expr *e, void *ctx)
{
    Rows *r = ctx;

    if (e->kind != E_READ || !e->tensor->of_rows)
        return NULL;
    for (int i = 0; i < r->gr->n_step; i++) {
        const Step *s = &r->gr->step[i];
        if (s->source && s->source->tensor == e->tensor && !s->over_cols)
            return expr_local(g, i, T_F32);
    }
    r->missing = true;
    return NULL;
}

/* What the norm is of, in gr; NULL if that is not the fold's. */
static const Expr *value_in(Graph *g, const Norm *n, const Group *gr,
                            const Fold *f)
{
    const Step *s = &n->group->step[n->value];
    const Tensor *x = n->read ? s->value->tensor
                    : s->source ? s->source->tensor : NULL;

    for (int i = n->value + 1; i < n->group->n_step - 1; i++)
        if (n->group->step[i].over_cols && n->group->step[i].op == R_NONE)
            return NULL; /* it would have no use */
    if (x != f->x)
        return NULL;
    return n->group->n_step > gr->n_step ? s->value
                                         : expr_local(g, n->value, T_F32);
}

Group *fold_norm(Graph *g, const Norm *n, const Group *gr, const Fold *f)
{
    Rows rows = {gr, false};
    const Expr *e = value_in(g, n, gr, f);

    if (!e)
        return NULL;
    for (int inner = 1; inner >= 0; inner--) {
        for (int i = 0; i < f->n; i++) {
            const Expr *by = f->row[i] ? f->row[i] : expr_const(g, 1, T_F32);
            if (!f->own[i] && f->row[i])
                return NULL; /* the product would want it */
            if (f->own[i] && f->inner[i] == (bool)inner)
                e = join(g, F_ADD, e, expr_rewrite(g, by, by_number, &rows));
        }
        if (inner)
            e = join(g, F_MUL, expr_rewrite(g, f->scale, by_number, &rows), e);
    }
    if (rows.missing)
        return NULL;
    Group *to = group_copy(g, gr);
    to->step[gr->n_step - 1].value = e;
    return to;
}

/* ---- who reads it -------------------------------------------------------- */

typedef struct Take {
    const Fold *f;
    const int *at;  /* by step: where its value is now; NULL: there */
    bool bad;
} Take;

/* y of y'. */
static const Expr *whole(Graph *g, const Expr *e, Take *t)
{
    const Fold *f = t->f;
    Subst map[MAX_VARS];
    int n = e->in.n ? -1 : invert_store(g, f->y, f->made->store, e->at, map,
                                        MAX_VARS);
    const Expr *y = e;

    t->bad |= n < 0;
    if (n < 0)
        return e;
    if (f->factor) {
        const Idx **at = arena_array(g->arena, const Idx *, 1);
        at[0] = idx_subst(g->pool, idx_var(g->pool, f->col), map, n);
        y = join(g, F_MUL, y, expr_read(g, f->factor, at, (Guard){0}, NULL));
    }
    for (int i = 0; i < f->n; i++)
        if (!f->own[i])
            y = join(g, F_ADD, y, expr_subst(g, f->other[i], map, n));
    return y;
}

static const Expr *take(Graph *g, const Expr *e, void *ctx)
{
    Take *t = ctx;

    if (e->kind == E_LOCAL && e->local >= 0 && t->at)
        return expr_local(g, t->at[e->local], e->type);
    return e->kind == E_READ && e->tensor == t->f->y ? whole(g, e, t) : NULL;
}

Group *fold_reader(Graph *g, const Group *c, const Fold *f)
{
    Take t = {.f = f};

    if (c->chain || group_place_reads(c, f->y))
        return NULL;
    Group *r = group_copy(g, c);
    for (int i = 0; i < r->n_step; i++)
        r->step[i].value = expr_rewrite(g, r->step[i].value, take, &t);
    if (t.bad)
        return NULL;
    if (!r->merge && !r->pieces)
        group_normalise(g, r);
    return r;
}

/* Whether e adds the fold's bias to the value of step `at`. */
static bool adds_bias(const Expr *e, const Fold *f, int at)
{
    if (!f->shift || e->kind != E_BINARY || e->fn != F_ADD || e->arg[2])
        return false;
    for (int i = 0; i < 2; i++) {
        const Expr *x = e->arg[i], *y = e->arg[1 - i];
        if (x->kind == E_LOCAL && x->local == at && y->kind == E_READ &&
            y->tensor == f->bias)
            return true;
    }
    return false;
}

typedef struct Uses {
    const Fold *f;
    int at, n, biased;
} Uses;

static void count_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->n += e->kind == E_LOCAL && e->local == u->at;
    u->biased += adds_bias(e, u->f, u->at);
}

/* Whether all that step `at` is for is to have its bias added. */
static bool is_biased(const Group *c, const Fold *f, int at)
{
    Uses u = {f, at, 0, 0};

    for (int i = at + 1; i < c->n_step; i++)
        expr_visit(c->step[i].value, count_use, &u);
    return u.n == 1 && u.biased == 1 && !c->step[at].tensor;
}

typedef struct Shift {
    const Fold *f;
    const Expr *w;
    int at;
} Shift;

static const Expr *with_shift(Graph *g, const Expr *e, void *ctx)
{
    const Shift *s = ctx;

    if (!adds_bias(e, s->f, s->at))
        return NULL;
    return join(g, F_ADD, expr_local(g, s->at, T_F32),
                fold_column(g, s->f->shift, s->w, s->f->k));
}

/* Step `at` by w', the step where something is added to it with what has other
 * factors. False if there is none. */
static bool put_shift(Graph *g, Group *c, int at, const Fold *f,
                      const Expr *w)
{
    Shift s = {f, w, at};

    if (!is_biased(c, f, at))
        return false;
    for (int i = at + 1; i < c->n_step; i++)
        c->step[i].value = expr_rewrite(g, c->step[i].value, with_shift, &s);
    return true;
}

/* What has other factors is added by a step behind it. */
static void put_columns(Graph *g, const Fold *f, const Expr *w, Step *sum,
                        int at)
{
    const Expr *e = expr_local(g, at, T_F32);

    sum[1] = sum[0];
    sum[0].tensor = NULL;
    sum[1].op = R_NONE;
    sum[1].over_cols = false;
    for (int i = 0; i < f->n; i++)
        if (!f->own[i])
            e = join(g, F_ADD, e, fold_column(g, f->column[i], w, f->k));
    sum[1].value = e;
}

static bool has_others(const Fold *f)
{
    bool any = false;

    for (int i = 0; i < f->n; i++)
        any |= !f->own[i];
    return any;
}

Group *fold_apart(Graph *g, const Group *of, const Fold *f)
{
    int at[MAX_STEPS], n = 0;
    Take t = {.f = f, .at = at};

    if (of->chain || of->merge || of->pieces ||
        group_place_reads(of, f->y) || 2 * of->n_step > MAX_STEPS)
        return NULL;
    Group *c = group_copy(g, of), *r = group_copy(g, of);
    r->step = arena_array(g->arena, Step, 2 * c->n_step);
    for (int i = 0; i < c->n_step; i++) {
        const Fold *own = fold_of(&c->step[i], f->y);
        Step *to = &r->step[n];
        *to = c->step[i];
        if (own) {
            const Expr *y = fold_read(to->value, own->y);
            const Expr *w = fold_read(to->value, own->w);
            to->value = join(g, F_MUL, y, expr_read(g, own->by, w->at, w->in,
                                                    w->outside));
            if (has_others(own) && !put_shift(g, c, i, own, w))
                put_columns(g, own, w, to, n++);
        } else {
            to->value = expr_rewrite(g, to->value, take, &t);
        }
        at[i] = n++;
    }
    r->n_step = n;
    return t.bad ? NULL : r;
}
