/* lower_scatter.c - definitions that store where data say, or that add.
 *
 * t[ids[i], j] = e and t[..] += e are turned round: each element of t looks at
 * the points that may store there. Indices that the element determines are put
 * in its terms; over the others, in the order of the text, it takes the last
 * point that stores there, or the sum of all. So the result is one, whatever
 * runs in parallel. */
#include "lower/lower_parts.h"

typedef struct Scatter {
    Lower *l;
    const char *name;
    const Left *left;
    Part part;
    int from;                   /* the caller's variables end here */
    const Idx *point[MAX_RANK]; /* an element of t */
    Subst known[MAX_LEFT];      /* the indices that it determines */
    int n_known;
    const Var *red[MAX_LEFT]; /* and the others */
    int n_red;
} Scatter;

static bool uses_red(const Scatter *s, const Idx *e)
{
    for (int i = 0; i < s->n_red; i++)
        if (idx_uses(e, s->red[i]))
            return true;
    return false;
}

static const Expr *both(Lower *l, const Expr *a, const Expr *b)
{
    return a ? expr_binary(l->g, F_AND, a, b, T_BOOL) : b;
}

/* Does the point (known, red) store at the element? NULL: always. */
static const Expr *stores_here(const Scatter *s)
{
    Lower *l = s->l;
    const Expr *c = NULL;

    if (s->part.in.n)
        c = expr_of_guard(l->g, s->part.in);
    for (int d = 0; d < s->left->rank; d++) {
        const Idx *at = idx_subst(l->p, s->left->at[d], s->known, s->n_known);
        if (!idx_has_data(at) && !uses_red(s, at))
            continue; /* the guard has it */
        const Expr *e =
            expr_subst(l->g, s->left->val[d].e, s->known, s->n_known);
        const Expr *u = expr_index(l->g, s->point[d]);
        c = both(l, c,
                 expr_binary(l->g, F_EQ, val_as(l, (Val){.e = e}, T_I32), u,
                             T_BOOL));
    }
    return c;
}

/* A statement that reduces e over the open indices; what it gives here. */
static const Expr *reduced(Scatter *s, const Expr *e, Reduce op, Type acc)
{
    Lower *l = s->l;
    const Var **out = arena_array(l->a, const Var *, l->n_var + 1);
    const Idx **at = arena_array(l->a, const Idx *, l->n_var + 1);
    int64_t dim[MAX_RANK];
    int n = 0;

    for (int i = 0; i < l->n_var; i++) {
        if (!expr_uses(e, l->var[i]))
            continue;
        if (n == MAX_RANK) {
            diag_error(l->d, l->target.at,
                       "this depends on more than %d "
                       "indices",
                       (int)MAX_RANK);
            return NULL;
        }
        dim[n] = l->var[i]->extent;
        at[n] = idx_var(l->p, l->var[i]);
        out[n++] = l->var[i];
    }
    const char *name =
        arena_printf(l->a, "%s_%s", s->name, op == R_MAX ? "last" : "sum");
    if (!lower_check_elems(l, l->target.at, name, n, dim))
        return NULL;
    Tensor *t = graph_tensor(l->g, name, acc, n, dim);
    Stmt *st = def_stmt(l, t, out, n, e);
    st->red = arena_array(l->a, const Var *, s->n_red + 1);
    for (int i = 0; i < s->n_red; i++)
        st->red[st->n_red++] = s->red[i];
    st->op = op;
    return expr_read(l->g, t, at, (Guard){0}, NULL);
}

/* v where the indices are these, inside the guard. */
static const Expr *value_at(Scatter *s, Val v, Type t, const Subst *more, int n)
{
    Lower *l = s->l;
    const Expr *e = val_as(l, val_retype(l, v, t), t);
    Subst all[2 * MAX_LEFT];

    for (int i = 0; i < s->n_known + n; i++)
        all[i] = i < s->n_known ? s->known[i] : more[i - s->n_known];
    e = expr_subst(l->g, e, all, s->n_known + n);
    return part_reads(l, e, s->part.in);
}

static const Expr *base_at(Scatter *s, const Ref *base, Type t)
{
    return val_as(s->l, val_retype(s->l, ref_read(s->l, base, s->point), t), t);
}

/* `+=`: the base and the sum of all that store here. */
static const Expr *added(Scatter *s, Val v, const Ref *base, Type t)
{
    Lower *l = s->l;
    Type acc = type_is_float(t) ? T_F32 : T_I32;
    const Expr *c = stores_here(s), *e = value_at(s, v, t, NULL, 0);

    if (c)
        e = expr_select(l->g, c, e, expr_const(l->g, 0, acc), acc);
    if (s->n_red)
        e = reduced(s, e, R_SUM, acc);
    return e ? expr_binary(l->g, F_ADD, base_at(s, base, t), e, acc) : NULL;
}

/* `=`: the last that stores here, or the base. */
static const Expr *replaced(Scatter *s, Val v, const Ref *base, Type t)
{
    Lower *l = s->l;
    Type acc = type_is_float(t) ? T_F32 : T_I32;
    const Expr *c = stores_here(s);
    const Idx *place = idx_const(l->p, 0);
    Subst at[MAX_LEFT];
    int64_t size = 1;

    if (!s->n_red) {
        const Expr *e = value_at(s, v, t, NULL, 0);
        return c ? expr_select(l->g, c, e, base_at(s, base, t), acc) : e;
    }
    for (int i = 0; i < s->n_red; i++) {
        place = idx_add(l->p, idx_scale(l->p, place, s->red[i]->extent),
                        idx_var(l->p, s->red[i]));
        if (__builtin_mul_overflow(size, s->red[i]->extent, &size) ||
            size > MAX_SIZE) {
            diag_error(l->d, l->target.at,
                       "too many points store here: at "
                       "most 2147483647");
            return NULL;
        }
    }
    const Expr *last = expr_index(l->g, place);
    if (c)
        last = expr_select(l->g, c, last, expr_const(l->g, -1, T_I32), T_I32);
    last = reduced(s, last, R_MAX, T_I32);
    if (!last)
        return NULL;
    const Idx *n = idx_data(l->p, last, -1, size - 1);
    n = idx_max(l->p, n, idx_const(l->p, 0));
    for (int i = s->n_red - 1; i >= 0; i--) {
        at[i] = (Subst){s->red[i], i ? idx_mod(l->p, n, s->red[i]->extent) : n};
        n = idx_floor(l->p, n, s->red[i]->extent);
    }
    const Expr *e = value_at(s, v, t, at, s->n_red);
    return expr_select(
        l->g, expr_binary(l->g, F_GE, last, expr_const(l->g, 0, T_I32), T_BOOL),
        e, base_at(s, base, t), acc);
}

/* The element as new variables, after the caller's and before the left side's
 * own, which are the reduction's now. */
static void push_point(Scatter *s, const Ref *base)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    Lower *l = s->l;

    for (int d = 0; d < base->rank; d++) {
        Name v = {names[d], l->target.at};
        index_push(l, v, false, 1, &base->dim[d], 0);
        s->point[d] = l->index[l->n_index - 1].idx[0];
    }
}

Ref scatter(Lower *l, const char *name, const Left *left, Val v, bool add,
            const Ref *base, Type type, int from)
{
    Scatter s = {.l = l, .name = name, .left = left, .from = from};
    const int n = l->n_var - from;
    Ref bad = {.bad = true};

    if (n > MAX_LEFT) {
        diag_error(l->d, l->target.at, "at most %d indices stand on the left",
                   (int)MAX_LEFT);
        return bad;
    }
    s.part = (Part){.n_var = n,
                    .rank = left->rank,
                    .v = v,
                    .var = arena_array(l->a, const Var *, n + 1),
                    .inverse = arena_array(l->a, const Idx *, n + 1)};
    memcpy(s.part.left, left->at, sizeof left->at);
    for (int i = 0; i < n; i++)
        s.part.var[i] = l->var[from + i];
    l->n_var = from;
    push_point(&s, base);
    part_invert(l, &s.part, s.point);
    for (int i = 0; i < n; i++) {
        if (s.part.inverse[i])
            s.known[s.n_known++] = (Subst){s.part.var[i], s.part.inverse[i]};
        else
            s.red[s.n_red++] = s.part.var[i];
    }
    const Expr *e =
        add ? added(&s, v, base, type) : replaced(&s, v, base, type);
    if (!e)
        return bad;
    l->target.first = l->g->n_stmt;
    return def_tensor(l, name, from, (Val){.type = type, .e = e}, type);
}
