#include "rewrite/range.h"

#include <math.h>

enum { MOST_STEPS = 4000 /* of one question: parts may be shared */ };

typedef struct Ranges {
    Graph *g;
    Stmt **maker;
    int n_maker;
    int left; /* steps */
    bool summed; /* of a sum's term: what sums it is made of is any */
} Ranges;

static Limits ask(Ranges *r, const Expr *e);

static const Limits any = {-INFINITY, INFINITY};

static Limits both(Limits a, Limits b)
{
    return (Limits){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

double range_magnitude(Limits r)
{
    return fmax(fabs(r.lo), fabs(r.hi));
}

/* ---- what makes a tensor ------------------------------------------------ */

/* The one statement that makes all of t; or NULL. */
static const Stmt *maker_of(const Ranges *r, const Tensor *t)
{
    const Stmt *s = t->id < r->n_maker ? r->maker[t->id] : NULL;

    if (!s || s->where.n || t->role == ROLE_STATE || t->prev || t->host)
        return NULL;
    for (int d = 0; d < t->rank; d++)
        if (!idx_is_var(s->store[d]) && t->dim[d] > 1)
            return NULL;
    return s;
}

/* Whether the tensor holds the values as they are computed. */
static bool holds(const Stmt *s)
{
    return s->tensor->type == T_F32 ||
           expr_exact_type(s->value) == s->tensor->type;
}

/* What s computes at the element that is read at at[]. */
static const Expr *value_at(Ranges *r, const Stmt *s, const Idx *const *at)
{
    Subst to[MAX_RANK];
    int n = 0;

    for (int d = 0; d < s->tensor->rank; d++) {
        const Var *v = idx_is_var(s->store[d]);
        if (v)
            to[n++] = (Subst){v, at[d]};
    }
    return expr_subst(r->g, s->value, to, n);
}

/* ---- one value among others --------------------------------------------- */

typedef struct Match {
    const Stmt *s;
    Subst to[MAX_RANK];
    int n;
} Match;

static bool is_reduced(const Stmt *s, const Var *v)
{
    for (int i = 0; i < s->n_red; i++)
        if (s->red[i] == v)
            return true;
    return false;
}

/* Where an index of the term is a reduced variable, that is what x has. */
static void match_idx(Match *m, const Idx *term, const Idx *x)
{
    const Var *v = idx_is_var(term);

    if (!v || !is_reduced(m->s, v) || x->lo < 0 || x->hi >= v->extent ||
        m->n == MAX_RANK)
        return;
    for (int i = 0; i < m->n; i++)
        if (m->to[i].var == v)
            return;
    m->to[m->n++] = (Subst){v, x};
}

static void match(Match *m, const Expr *term, const Expr *x)
{
    if (term->kind != x->kind || term->tensor != x->tensor)
        return;
    if (term->kind == E_READ)
        for (int d = 0; d < term->tensor->rank; d++)
            match_idx(m, term->at[d], x->at[d]);
    for (int i = 0; i < 3 && term->arg[i] && x->arg[i]; i++)
        match(m, term->arg[i], x->arg[i]);
}

/* Whether x is one of the values of s's term where its result is read. */
static bool is_one_of(Ranges *r, const Stmt *s, const Expr *term, const Expr *x)
{
    Match m = {.s = s};

    match(&m, term, x);
    return m.n == s->n_red &&
           expr_equal(expr_strip(expr_subst(r->g, term, m.to, m.n)),
                      expr_strip(x));
}

/* The value behind a read of what is computed point by point; or NULL. */
static const Expr *behind(Ranges *r, const Expr *e)
{
    const Stmt *s =
        e->kind == E_READ && !e->in.n ? maker_of(r, e->tensor) : NULL;

    return s && s->op == R_NONE && holds(s) && r->left > 0
               ? value_at(r, s, e->at)
               : NULL;
}

/* Whether b is a reduction by `op`, or what it is made of by `fn`, of values of
 * which a is one; of a sum no value is negative. */
static bool covers(Ranges *r, const Expr *b, const Expr *a, Reduce op, Func fn)
{
    a = expr_strip(a);
    b = expr_strip(b);
    if (--r->left < 0)
        return false;
    if (b->kind == E_BINARY && b->fn == fn && !b->arg[2])
        return covers(r, b->arg[0], a, op, fn) ||
               covers(r, b->arg[1], a, op, fn);
    const Expr *more = behind(r, b);
    if (more)
        return covers(r, more, a, op, fn);
    const Stmt *s =
        b->kind == E_READ && !b->in.n ? maker_of(r, b->tensor) : NULL;
    if (!s || s->op != op)
        return false;
    const Expr *term = value_at(r, s, b->at);
    if (op == R_SUM && !(ask(r, term).lo >= 0))
        return false;
    if (is_one_of(r, s, term, a))
        return true;
    more = behind(r, a);
    return more && covers(r, b, more, op, fn);
}

/* ---- arithmetic --------------------------------------------------------- */

/* The hull of four; with a NaN among them nothing is known. */
static Limits hull(double a, double b, double c, double d)
{
    if (isnan(a) || isnan(b) || isnan(c) || isnan(d))
        return any;
    return (Limits){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

static Limits multiply(Limits a, Limits b)
{
    return hull(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}

static Limits divide(Ranges *r, const Expr *e, Limits a, Limits b)
{
    if (a.lo >= 0 && covers(r, e->arg[1], e->arg[0], R_SUM, F_COUNT))
        return (Limits){0, 1};
    if (a.lo >= 0 && b.lo == 0 && b.hi > 0)
        return (Limits){a.lo / b.hi, INFINITY};
    if (b.lo <= 0 && b.hi >= 0)
        return any;
    return hull(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}

static Limits subtract(Ranges *r, const Expr *e, Limits a, Limits b)
{
    Limits d = hull(a.lo - b.hi, a.lo - b.hi, a.hi - b.lo, a.hi - b.lo);

    if (d.hi > 0 && covers(r, e->arg[1], e->arg[0], R_MAX, F_MAX))
        d.hi = 0;
    return d;
}

static Limits of_operator(Ranges *r, const Expr *e)
{
    Limits a = ask(r, e->arg[0]), b = ask(r, e->arg[1]);

    switch (e->fn) {
    case F_ADD:
        return hull(a.lo + b.lo, a.lo + b.lo, a.hi + b.hi, a.hi + b.hi);
    case F_SUB:
        return subtract(r, e, a, b);
    case F_MUL:
        return expr_equal(e->arg[0], e->arg[1]) ? (Limits){0, multiply(a, b).hi}
                                                : multiply(a, b);
    case F_DIV:
        return type_is_float(e->type) ? divide(r, e, a, b) : any;
    case F_MIN:
        return (Limits){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
    case F_MAX:
        return (Limits){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
    default:
        return any;
    }
}

/* What a type cannot hold becomes another value: integers wrap around, large
 * f16 are infinite. */
static Limits within(Limits r, Type t)
{
    double most = t == T_F16 ? 65504 : type_is_float(t) ? INFINITY : 0x1p31 - 1;

    return range_magnitude(r) > most ? any : r;
}

static Limits of_binary(Ranges *r, const Expr *e)
{
    Limits v = of_operator(r, e);

    return type_is_float(e->type) ? v : within(v, e->type);
}

/* Of functions that never fall, over all that they are defined for. */
static bool rises(Func f)
{
    static const Func these[] = {
        F_EXP,  F_EXP2,  F_EXPM1, F_TANH,  F_ATAN, F_ERF,   F_NORMCDF, F_ASINH,
        F_CBRT, F_FLOOR, F_CEIL,  F_TRUNC, F_RINT, F_ROUND, F_LOGISTIC};

    for (size_t i = 0; i < sizeof these / sizeof *these; i++)
        if (these[i] == f)
            return true;
    return false;
}

static Limits of_unary(Ranges *r, const Expr *e)
{
    Limits a = ask(r, e->arg[0]), f = any;

    if (rises(e->fn) && fold_func(e->fn, false, &a.lo, &f.lo) &&
        fold_func(e->fn, false, &a.hi, &f.hi))
        return f;
    switch (e->fn) {
    case F_NEG:
        return (Limits){-a.hi, -a.lo};
    case F_ABS:
        return (Limits){a.lo > 0   ? a.lo
                       : a.hi < 0 ? -a.hi
                                  : 0,
                       range_magnitude(a)};
    case F_SIN:
    case F_COS:
        return (Limits){-1, 1};
    case F_SQRT:
        return (Limits){0, a.hi > 0 ? sqrt(a.hi) : 0};
    default:
        return any;
    }
}

/* ---- the whole ---------------------------------------------------------- */

static Limits of_type(Type t)
{
    return t == T_BOOL ? (Limits){0, 1}
           : t == T_I8 ? (Limits){-128, 127}
           : t == T_U8 ? (Limits){0, 255}
                       : any;
}

/* A sum of so many terms, of which each is there: not of products of products,
 * which may be all of a network. */
static Limits of_sum(Ranges *r, const Stmt *s)
{
    double n = 1;

    if (r->summed)
        return any;
    r->summed = true;
    Limits term = ask(r, s->value);
    r->summed = false;
    for (int i = 0; i < s->n_red; i++)
        n *= (double)s->red[i]->extent;
    return hull(n * term.lo, n * term.lo, n * term.hi, n * term.hi);
}

static Limits of_tensor(Ranges *r, const Tensor *t)
{
    const Stmt *s = maker_of(r, t);

    if (t->promised)
        return (Limits){(double)t->lo, (double)t->hi - 1};
    if (s && s->op == R_SUM)
        return within(of_sum(r, s), t->type);
    if (!s || (s->op != R_NONE && s->op != R_MAX && s->op != R_MIN))
        return of_type(t->type);
    return within(ask(r, s->value), t->type);
}

static Limits ask(Ranges *r, const Expr *e)
{
    if (--r->left < 0)
        return any;
    switch (e->kind) {
    case E_CONST:
        return (Limits){e->num, e->num};
    case E_INDEX:
        return (Limits){(double)e->idx->lo, (double)e->idx->hi};
    case E_READ:
        return e->in.n && e->outside
                   ? both(of_tensor(r, e->tensor), ask(r, e->outside))
                   : of_tensor(r, e->tensor);
    case E_UNARY:
        return e->type == T_BOOL ? of_type(T_BOOL) : of_unary(r, e);
    case E_BINARY:
        return e->type == T_BOOL ? of_type(T_BOOL)
               : e->arg[2]       ? any
                                 : of_binary(r, e);
    case E_SELECT:
        return both(ask(r, e->arg[1]), ask(r, e->arg[2]));
    case E_CAST:
        return type_is_float(e->type) ? within(ask(r, e->arg[0]), e->type)
                                      : of_type(e->type);
    default:
        return any;
    }
}

static Ranges ranges_of(Graph *g, Stmt **maker)
{
    int n = 0;

    for (int i = 0; i < g->n_tensor; i++)
        n = g->tensor[i]->id >= n ? g->tensor[i]->id + 1 : n;
    return (Ranges){g, maker, n, MOST_STEPS, false};
}

Limits value_range(Graph *g, Stmt **maker, const Expr *e)
{
    Ranges r = ranges_of(g, maker);

    return ask(&r, e);
}

/* ---- how small a value may be ------------------------------------------- */

static bool sums_over(const Stmt *s, const Expr *e)
{
    for (int i = 0; i < s->n_red; i++)
        if (expr_uses(e, s->red[i]))
            return true;
    return false;
}

/* How many values the reduction has that b is. */
static double terms_of(Ranges *r, const Expr *b)
{
    const Stmt *s;
    double n = 1;

    for (const Expr *e = expr_strip(b); e; e = behind(r, e))
        b = expr_strip(e);
    s = b->kind == E_READ ? maker_of(r, b->tensor) : NULL;
    for (int i = 0; s && i < s->n_red; i++)
        n *= (double)s->red[i]->extent;
    return n;
}

/* Whether along the sum s b is one reduction of values a, all of which s has:
 * of these one is the greatest, or all are the whole. */
static bool is_whole(Ranges *r, const Stmt *s, const Expr *a, const Expr *b,
                     Reduce op)
{
    double n = 1;

    for (int i = 0; i < s->n_red; i++)
        n *= expr_uses(a, s->red[i]) ? (double)s->red[i]->extent : 1;
    return sums_over(s, a) && !sums_over(s, b) && n >= terms_of(r, b) &&
           covers(r, b, a, op, F_COUNT);
}

static bool is_relative(Ranges *r, const Stmt *s, const Expr *e)
{
    return e->kind == E_BINARY && e->fn == F_SUB && !e->arg[2] &&
           is_whole(r, s, e->arg[0], e->arg[1], R_MAX);
}

/* The least that e may be if it is not 0; 0: it may be anything. What along the
 * sum s are shares of a whole, which are 1 together, count as that, and powers
 * of what is beside its greatest, of which one is 1. */
static double least(Ranges *r, const Stmt *s, const Expr *e)
{
    const Expr *const *a = e->arg;

    if (--r->left < 0)
        return 0;
    if (!type_is_float(e->type))
        return 1;
    switch (e->kind) {
    case E_CONST:
        return e->num == 0 ? INFINITY : fabs(e->num);
    case E_INDEX:
        return 1;
    case E_READ: {
        const Expr *more = behind(r, e);
        return more ? least(r, s, more) : !type_is_float(e->tensor->type);
    }
    case E_CAST:
        return least(r, s, a[0]);
    case E_SELECT:
        return fmin(least(r, s, a[1]), least(r, s, a[2]));
    case E_UNARY:
        return e->fn == F_NEG || e->fn == F_ABS ? least(r, s, a[0])
               : e->fn == F_EXP || e->fn == F_EXP2
                   ? (double)is_relative(r, s, a[0])
                   : 0;
    case E_BINARY:
        if (a[2])
            return 0;
        if (e->fn == F_MUL)
            return least(r, s, a[0]) * least(r, s, a[1]);
        if (e->fn != F_DIV)
            return 0;
        if (a[1]->kind == E_CONST && a[1]->num != 0)
            return least(r, s, a[0]) / fabs(a[1]->num);
        return ask(r, a[0]).lo >= 0 && is_whole(r, s, a[0], a[1], R_SUM);
    default:
        return 0;
    }
}

double value_least(Graph *g, Stmt **maker, const Stmt *s, const Expr *e)
{
    Ranges r = ranges_of(g, maker);

    return least(&r, s, e);
}
