/* lower_reduce.c - a reduction becomes a statement of its own. */
#include "lower/lower_priv.h"

#include <math.h>

static bool name_taken(Lower *l, Name name)
{
    const Index *ix = index_find(l, name.text, false);
    const Sym *s = lower_find(l->frame, name.text, S_VALUE);
    const Sym *t = lower_find(l->frame, name.text, S_TENSOR);

    if (!s && t && !t->ref.bad && t->ref.rank == 0)
        s = t;
    if (!ix && !s)
        return false;
    diag_error(l->d, name.at,
               "'%s' is in use; an index needs a name of its "
               "own",
               name.text);
    diag_note(l->d, ix ? ix->at : s->at, "'%s' is declared here", name.text);
    return true;
}

/* A reduction's ranges: the rectangle is its variables', of which the guard
 * leaves what the ranges say. */
typedef struct Ranges {
    Guard in;
    const Expr *open; /* f32: how many values the open ranges have together */
    double closed;    /* and the others */
    bool mutual;      /* some range depends on another: neither is known */
    int64_t first;    /* of the only index */
    int outer;        /* variables before the reduction's own */
} Ranges;

static bool uses_own(Lower *l, const Ranges *r, const Idx *e)
{
    for (int i = r->outer; i < l->n_var; i++)
        if (idx_uses(e, l->var[i]))
            return true;
    return false;
}

/* How many values `from..to` has, for a mean. */
static void count_open(Lower *l, Ranges *r, const Idx *from, const Idx *to)
{
    const Idx *n = idx_max(l->p, idx_sub(l->p, to, from), idx_const(l->p, 0));

    if (uses_own(l, r, from) || uses_own(l, r, to)) {
        r->mutual = true;
    } else if (idx_is_const(n)) {
        r->closed *= (double)n->k;
    } else {
        const Expr *e = expr_cast(l->g, expr_index(l->g, n), T_F32);
        r->open = r->open ? expr_binary(l->g, F_MUL, r->open, e, T_F32) : e;
    }
}

/* A range whose ends depend on indices or data: all values that it may reach,
 * and a guard. */
static bool push_open(Lower *l, const Arg *a, Ranges *r)
{
    const Idx *from = range_index(l, a->range.from);
    const Idx *to = from ? range_index(l, a->range.to) : NULL;
    const int64_t most = 1 << 30; /* data that nobody promised go beyond */

    if (!from || !to)
        return false;
    if (from->lo < -most || to->hi > most || to->hi - from->lo > most) {
        diag_error(l->d, a->at,
                   "nothing bounds the range of '%s'; min(.., N) "
                   "or an input's range would",
                   a->name.text);
        return false;
    }
    int64_t n = to->hi - from->lo, first = from->lo;
    if (n < 1 && idx_is_const(from) && idx_is_const(to)) {
        /* of what it depends on there is one: sums over 0..i where i is 0,
         * an index or a loop's variable */
        first = to->hi > 0 ? to->hi - 1 : 0;
        n = 1;
    }
    if (n < 1) {
        diag_error(l->d, a->at,
                   "the range of '%s' is empty whatever it "
                   "depends on",
                   a->name.text);
        return false;
    }
    r->first = first;
    count_open(l, r, from, to);
    index_push(l, a->name, false, 1, &n, first);
    const Idx *k = l->index[l->n_index - 1].idx[0];
    r->in = guard_add(l->p, r->in, idx_sub(l->p, k, from), 0);
    r->in = guard_add(l->p, r->in, idx_addc(l->p, idx_sub(l->p, to, k), -1), 0);
    return true;
}

static bool both_numbers(Range r)
{
    return r.from->kind == EXPR_NUMBER && r.to->kind == EXPR_NUMBER;
}

static bool push_one(Lower *l, const AstExpr *e, const Arg *a, Ranges *r)
{
    int64_t from = 0, to;

    if (name_taken(l, a->name))
        return false;
    if (a->range.from &&
        !(const_is(l, a->range.from) && const_is(l, a->range.to)))
        return push_open(l, a, r);
    if (a->range.from) {
        if (!const_range(l, a->range, &from, &to))
            return false;
        if (to <= from && !both_numbers(a->range)) /* a loop's turn */
            return push_open(l, a, r);
        if (to <= from) {
            diag_error(l->d, a->at, "the range %lld..%lld of '%s' is empty",
                       (long long)from, (long long)to, a->name.text);
            return false;
        }
        to -= from;
    } else {
        Extent x = {0};
        range_infer(l, e->reduce.term, a->name.text, &x);
        if (x.bad || (x.lost && !x.n))
            return false;
        if (!x.n) {
            diag_error(l->d, a->at,
                       "nothing says what '%s' runs over; write "
                       "'%s in 0..N'",
                       a->name.text, a->name.text);
            return false;
        }
        to = x.n;
    }
    r->first = from;
    r->closed *= (double)to;
    index_push(l, a->name, false, 1, &to, from);
    if (to == 1) /* 1 x 1 windows read like none */
        l->index[l->n_index - 1].idx[0] = idx_const(l->p, from);
    return true;
}

static bool push_pack(Lower *l, const Arg *a, Ranges *r)
{
    int64_t dim[MAX_RANK];
    int n = pack_dims(l, a->name.text, dim);

    if (n < 0 || index_find(l, a->name.text, true)) {
        diag_error(l->d, a->at,
                   n < 0 ? "'%s..' is no pack of this signature"
                         : "'%s..' is in use",
                   a->name.text);
        return false;
    }
    index_push(l, a->name, true, n, dim, 0);
    for (int i = 0; i < n; i++)
        r->closed *= (double)dim[i];
    return true;
}

static Reduce reduce_of(ReduceOp op)
{
    static const Reduce r[] = {R_SUM, R_SUM,    R_PROD,  R_MAX,
                               R_MIN, R_ARGMAX, R_ARGMAX};

    return r[op];
}

/* The type of the reduction of terms of type t. */
static Type result_type(ReduceOp op, Type t)
{
    if (op >= RED_ARGMAX)
        return T_I32;
    if (op == RED_MEAN)
        return type_is_float(t) ? t : T_F32;
    if (op == RED_MAX || op == RED_MIN)
        return t;
    return type_is_float(t) ? t : T_I32;
}

static bool too_deep(Lower *l, const AstExpr *e, int n)
{
    if (n <= MAX_RANK)
        return false;
    diag_error(l->d, e->at,
               "this reduction depends on %d indices; at most %d "
               "are possible",
               n, (int)MAX_RANK);
    return true;
}

/* The statement that reduces term over l->var[from..]; reads its result. */
static const Expr *hoist(Lower *l, const AstExpr *e, Val term, int from)
{
    const Var **out = arena_array(l->a, const Var *, from + 1);
    int n = 0, n_red = l->n_var - from;
    Type acc = type_is_float(result_type(e->reduce.op, term.type)) &&
                       type_is_float(term.type)
                   ? T_F32
                   : T_I32;

    for (int i = 0; i < from; i++)
        if (expr_uses(term.e, l->var[i]))
            out[n++] = l->var[i];
    if (too_deep(l, e, n))
        return NULL;
    int64_t dim[MAX_RANK];
    const Idx **at = arena_array(l->a, const Idx *, n + 1);
    for (int i = 0; i < n; i++) {
        dim[i] = out[i]->extent;
        at[i] = idx_var(l->p, out[i]);
    }
    const char *name = arena_printf(l->a, "%s_%s", l->target.name,
                                    reduce_name(reduce_of(e->reduce.op)));
    if (!lower_check_elems(l, e->at, name, n, dim))
        return NULL;
    Tensor *t = graph_tensor(l->g, name, acc, n, dim);
    Stmt *s = def_stmt(l, t, out, n, val_as(l, term, term.type));
    s->red = arena_array(l->a, const Var *, n_red + 1);
    for (int i = 0; i < n_red; i++)
        if (l->var[from + i]->extent > 1)
            s->red[s->n_red++] = l->var[from + i];
    if (!s->n_red) /* of extent 1 all, or an empty pack */
        s->red[s->n_red++] = n_red ? l->var[from] : idx_new_var(l->p, "i", 1);
    s->op = reduce_of(e->reduce.op);
    return expr_read(l->g, t, at, (Guard){0}, NULL);
}

/* Of nothing: what a term outside of its range is taken for. */
static double neutral(ReduceOp op, Type t)
{
    static const double least[] = {
        [T_BOOL] = 0, [T_I8] = -128, [T_U8] = 0, [T_I32] = INT32_MIN};
    static const double most[] = {
        [T_BOOL] = 1, [T_I8] = 127, [T_U8] = 255, [T_I32] = INT32_MAX};

    switch (op) {
    case RED_SUM:
    case RED_MEAN:
        return 0;
    case RED_PROD:
        return 1;
    case RED_MAX:
    case RED_ARGMAX:
    case RED_ARGMIN:
        return type_is_float(t) ? -INFINITY : least[t];
    case RED_MIN:
        break;
    }
    return type_is_float(t) ? INFINITY : most[t];
}

static Val within(Lower *l, const AstExpr *e, Val term, Guard in)
{
    if (!in.n)
        return term;
    const Expr *v = val_as(l, term, term.type);
    const Expr *none = expr_const(l->g, neutral(e->reduce.op, term.type),
                                  v->type == T_BOOL        ? T_BOOL
                                  : type_is_float(v->type) ? T_F32
                                                           : T_I32);

    term.e = expr_select(l->g, expr_of_guard(l->g, in), v, none, none->type);
    term.known = false;
    term.idx = NULL;
    return term;
}

/* How many terms there are where ranges depend on each other: a sum of ones.
 * NULL after an error. */
static const Expr *count_terms(Lower *l, const AstExpr *e, const Ranges *r)
{
    Val one = {.type = T_I32, .e = expr_const(l->g, 1, T_I32)};
    const Expr *n = hoist(l, e, within(l, e, one, r->in), r->outer);

    return n ? expr_cast(l->g, n, T_F32) : NULL;
}

static bool take_mean(Lower *l, const AstExpr *e, const Ranges *r, Val *v)
{
    const Expr *sum = v->e, *by = r->open;

    if (!type_is_float(sum->type))
        sum = expr_cast(l->g, sum, T_F32);
    if (r->mutual) {
        by = count_terms(l, e, r);
        if (!by)
            return false;
    } else if (by && r->closed != 1) {
        by = expr_binary(l->g, F_MUL, by, expr_const(l->g, r->closed, T_F32),
                         T_F32);
    }
    v->e = by ? expr_binary(l->g, F_DIV, sum, by, T_F32)
              : expr_binary(l->g, F_MUL, sum,
                            expr_const(l->g, 1 / r->closed, T_F32), T_F32);
    return true;
}

static Val finish(Lower *l, const AstExpr *e, Val term, const Expr *read,
                  const Ranges *r)
{
    Val v = {.type = result_type(e->reduce.op, term.type),
             .e = read,
             .weak = term.weak && e->reduce.op < RED_ARGMAX};

    if (e->reduce.op == RED_MEAN && !take_mean(l, e, r, &v))
        return val_bad();
    /* no range for argmax: a row of NaN has no greatest element */
    if (!type_is_float(v.type))
        v.idx = idx_data(l->p, read, INT32_MIN, INT32_MAX);
    if (e->reduce.op >= RED_ARGMAX && r->first) {
        v.idx = idx_addc(l->p, v.idx, r->first);
        v.e = expr_binary(l->g, F_ADD, v.e,
                          expr_const(l->g, (double)r->first, T_I32), T_I32);
    }
    return v;
}

/* What argmax finds where argmin finds v: -v, and of integers ~v, which has no
 * overflow. */
static Val reversed(Lower *l, Val v)
{
    Type t = type_is_float(v.type) ? T_F32 : T_I32;
    const Expr *e = val_as(l, v, v.type);

    v.e = t == T_F32 ? expr_unary(l->g, F_NEG, e, t)
                     : expr_binary(l->g, F_SUB, expr_const(l->g, -1, t), e, t);
    v.type = t == T_F32 ? v.type : T_I32;
    v.known = false;
    v.idx = NULL;
    return v;
}

Val lower_reduce(Lower *l, const AstExpr *e)
{
    int n_index = l->n_index, n_var = l->n_var;
    Ranges r = {.closed = 1, .outer = n_var};
    bool ok = true;
    Val v = val_bad();

    for (int i = 0; i < e->reduce.index.n; i++) {
        const Arg *a = &e->reduce.index.arg[i];
        ok = (a->kind == ARG_PACK ? push_pack(l, a, &r)
                                  : push_one(l, e, a, &r)) &&
             ok;
    }
    Val term = ok ? lower_expr(l, e->reduce.term) : val_bad();
    if (!term.bad && e->reduce.op == RED_ARGMIN)
        term = reversed(l, term);
    if (!term.bad) {
        const Expr *read = hoist(l, e, within(l, e, term, r.in), n_var);
        if (read)
            v = finish(l, e, term, read, &r);
    }
    index_pop(l, n_index, n_var);
    return v;
}
