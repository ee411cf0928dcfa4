/* lower_reduce.c - a reduction becomes a statement of its own. */
#include "lower/lower_priv.h"

static bool name_taken(Lower *l, Name name)
{
    const Index *ix = index_find(l, name.text, false);
    const Sym *s = lower_find(l->frame, name.text, S_VALUE);
    const Sym *t = lower_find(l->frame, name.text, S_TENSOR);

    if (!s && t && !t->ref.bad && t->ref.rank == 0)
        s = t;
    if (!ix && !s)
        return false;
    diag_error(l->d, name.at, "'%s' is in use; an index needs a name of its "
               "own", name.text);
    diag_note(l->d, ix ? ix->at : s->at, "'%s' is declared here", name.text);
    return true;
}

static bool push_one(Lower *l, const AstExpr *e, const Arg *a)
{
    int64_t from = 0, to;

    if (name_taken(l, a->name))
        return false;
    if (a->range.from) {
        if (!const_range(l, a->range, &from, &to))
            return false;
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
            diag_error(l->d, a->at, "nothing says what '%s' runs over; write "
                       "'%s in 0..N'", a->name.text, a->name.text);
            return false;
        }
        to = x.n;
    }
    index_push(l, a->name, false, 1, &to, from);
    if (to == 1) /* 1 x 1 windows read like none */
        l->index[l->n_index - 1].idx[0] = idx_const(l->p, from);
    return true;
}

static bool push_pack(Lower *l, const Arg *a)
{
    int64_t dim[MAX_RANK];
    int n = pack_dims(l, a->name.text, dim);

    if (n < 0 || index_find(l, a->name.text, true)) {
        diag_error(l->d, a->at, n < 0 ? "'%s..' is no pack of this signature"
                   : "'%s..' is in use", a->name.text);
        return false;
    }
    index_push(l, a->name, true, n, dim, 0);
    return true;
}

static Reduce reduce_of(ReduceOp op)
{
    static const Reduce r[] = {R_SUM, R_SUM, R_PROD, R_MAX, R_MIN,
                               R_ARGMAX, R_ARGMAX};

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
    diag_error(l->d, e->at, "this reduction depends on %d indices; at most %d "
               "are possible", n, (int)MAX_RANK);
    return true;
}

/* The statement that reduces term over l->var[from..]; reads its result. */
static const Expr *hoist(Lower *l, const AstExpr *e, Val term, int from)
{
    const Var **out = arena_array(l->a, const Var *, from + 1);
    int n = 0, n_red = l->n_var - from;
    Type acc = type_is_float(result_type(e->reduce.op, term.type)) &&
               type_is_float(term.type) ? T_F32 : T_I32;

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
    if (!s->n_red)
        s->red[s->n_red++] = l->var[from];
    s->op = reduce_of(e->reduce.op);
    return expr_read(l->g, t, at, (Guard){0}, NULL);
}

static Val finish(Lower *l, const AstExpr *e, Val term, const Expr *read,
                  double count)
{
    Val v = {.type = result_type(e->reduce.op, term.type), .e = read,
             .weak = term.weak && e->reduce.op < RED_ARGMAX};

    if (e->reduce.op == RED_MEAN) {
        if (!type_is_float(read->type))
            v.e = expr_cast(l->g, v.e, T_F32);
        v.e = expr_binary(l->g, F_MUL, v.e,
                          expr_const(l->g, 1 / count, T_F32), T_F32);
    }
    /* no range for argmax: a row of NaN has no greatest element */
    if (!type_is_float(v.type))
        v.idx = idx_data(l->p, read, INT32_MIN, INT32_MAX);
    int64_t from = 0, to;
    const Arg *a = &e->reduce.index.arg[0];
    if (e->reduce.op >= RED_ARGMAX && a->range.from &&
        const_range(l, a->range, &from, &to) && from) {
        v.idx = idx_addc(l->p, v.idx, from);
        v.e = expr_binary(l->g, F_ADD, v.e,
                          expr_const(l->g, (double)from, T_I32), T_I32);
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
    bool ok = true;
    double count = 1;
    Val v = val_bad();

    for (int i = 0; i < e->reduce.index.n; i++) {
        const Arg *a = &e->reduce.index.arg[i];
        ok = (a->kind == ARG_PACK ? push_pack(l, a) : push_one(l, e, a)) && ok;
    }
    Val term = ok ? lower_expr(l, e->reduce.term) : val_bad();
    if (!term.bad && e->reduce.op == RED_ARGMIN)
        term = reversed(l, term);
    if (!term.bad) {
        for (int i = n_var; i < l->n_var; i++)
            count *= (double)l->var[i]->extent;
        const Expr *read = hoist(l, e, term, n_var);
        if (read)
            v = finish(l, e, term, read, count);
    }
    index_pop(l, n_index, n_var);
    return v;
}
