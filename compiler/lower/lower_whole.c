/* lower_whole.c - definitions without indices: tensors stand bare and shapes
 * broadcast as in numpy. First every call in the expression is written out
 * and the shape is found, then the expression is lowered at new indices. */
#include "lower/lower_priv.h"

bool whole_broadcast(int *rank, int64_t *dim, int n, const int64_t *more)
{
    int r = *rank > n ? *rank : n;
    int64_t out[MAX_RANK];

    for (int i = 0; i < r; i++) {
        int ia = i - (r - *rank), ib = i - (r - n);
        int64_t a = ia < 0 ? 1 : dim[ia], b = ib < 0 ? 1 : more[ib];
        if (a != b && a != 1 && b != 1)
            return false;
        out[i] = a == 1 ? b : a;
    }
    memcpy(dim, out, sizeof *dim * (size_t)r);
    *rank = r;
    return true;
}

static void join_shape(Lower *l, Whole *w, const Ref *r, Span at)
{
    if (r->bad || w->bad) {
        w->bad = true;
        return;
    }
    if (r->open)
        return;
    int before = w->rank;
    const char *shape = lower_dims(l, w->rank, w->dim);
    if (!whole_broadcast(&w->rank, w->dim, r->rank, r->dim)) {
        w->bad = true;
        diag_error(l->d, at, "%s does not broadcast with %s",
                   lower_dims(l, r->rank, r->dim), shape);
        diag_note(l->d, w->shaped_by, "%s comes from here", shape);
    } else if (before == 0 && r->rank) {
        w->shaped_by = at;
    }
}

static void scan(Lower *l, Whole *w, const AstExpr *e, const char *name);

static void scan_args(Lower *l, Whole *w, const Args *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].value)
            scan(l, w, a->arg[i].value, name);
}

static void scan_call(Lower *l, Whole *w, const AstExpr *e, const char *name)
{
    if (!e->call.item) {
        scan_args(l, w, &e->call.args, name);
        return;
    }
    const char *label = arena_printf(l->a, "%s_%s", name, e->call.name.text);
    Ref r = lower_call(l, e, label, false);
    VEC_PUSH(l->a, w->call, w->n, w->cap) = (WholeCall){e, r};
    join_shape(l, w, &r, e->at);
}

static void scan_name(Lower *l, Whole *w, const AstExpr *e)
{
    Sym *s = lower_find(l->frame, e->name.text, S_TENSOR);

    if (!s || lower_find(l->frame, e->name.text, S_VALUE))
        return;
    parts_settle(l, s);
    s->read = true;
    join_shape(l, w, &s->ref, e->at);
}

static void scan_inner(Lower *l, Whole *w, const AstExpr *e, const char *name)
{
    switch (e->kind) {
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_LIST:
    case EXPR_READ:   /* a list's entry, or an error found later */
    case EXPR_REDUCE: /* an error found later */
        break;
    case EXPR_NAME: scan_name(l, w, e); break;
    case EXPR_CALL: scan_call(l, w, e, name); break;
    case EXPR_CAST: scan(l, w, e->cast.value, name); break;
    case EXPR_UNARY: scan(l, w, e->unary.value, name); break;
    case EXPR_BINARY:
        scan(l, w, e->binary.left, name);
        scan(l, w, e->binary.right, name);
        break;
    case EXPR_SELECT:
        scan(l, w, e->select.cond, name);
        scan(l, w, e->select.yes, name);
        scan(l, w, e->select.no, name);
        break;
    }
}

static void scan(Lower *l, Whole *w, const AstExpr *e, const char *name)
{
    if (lower_enter(l, e))
        scan_inner(l, w, e, name);
    else
        w->bad = true;
    l->nest--;
}

Val whole_read(Lower *l, const Ref *r)
{
    const Whole *w = l->whole;
    const Idx *at[MAX_RANK];

    if (r->open)
        return r->val;
    for (int i = 0; i < r->rank; i++) {
        int j = w->rank - r->rank + i;
        at[i] = r->dim[i] == 1 && w->dim[j] != 1 ? idx_const(l->p, 0)
                                                 : w->idx[j];
    }
    return ref_read(l, r, at);
}

static Val value_at(Lower *l, Whole *w, const AstExpr *e)
{
    Whole *outer = l->whole;

    l->whole = w;
    Val v = lower_expr(l, e);
    l->whole = outer;
    return v;
}

static Ref made_at(Lower *l, Whole *w, const AstExpr *e, const char *name,
                   const Type *t)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    int n_index = l->n_index, n_var = l->n_var;

    for (int i = 0; i < w->rank; i++) {
        Name v = {names[i], e->at};
        index_push(l, v, false, 1, &w->dim[i], 0);
        w->idx[i] = l->index[l->n_index - 1].idx[0];
    }
    Val v = value_at(l, w, e);
    Ref r = {.bad = true};
    if (!v.bad)
        r = def_tensor(l, name, n_var, v, t ? *t : v.type);
    index_pop(l, n_index, n_var);
    return r;
}

Ref whole_build(Lower *l, const AstExpr *e, const char *name, Type *t,
                int rank, const int64_t *dim)
{
    Whole w = {0};
    const char *before = l->target.name;
    Ref r = {.bad = true};

    l->target.name = name;
    scan(l, &w, e, name);
    l->target.name = name;
    if (!w.bad && rank >= 0 && w.rank &&
        (w.rank != rank || memcmp(w.dim, dim, sizeof *dim * (size_t)rank))) {
        diag_error(l->d, e->at, "this is %s, declared is %s",
                   lower_dims(l, w.rank, w.dim), lower_dims(l, rank, dim));
        diag_note(l->d, w.shaped_by, "%s comes from here",
                  lower_dims(l, w.rank, w.dim));
        w.bad = true;
    }
    if (!w.bad && rank >= 0) {
        w.rank = rank;
        memcpy(w.dim, dim, sizeof *dim * (size_t)rank);
    }
    if (!w.bad)
        r = w.rank ? made_at(l, &w, e, name, t) : ref_val(value_at(l, &w, e));
    if (!r.bad && !r.t && t)
        r.val = val_retype(l, r.val, *t);
    l->target.name = before;
    return r;
}

Ref whole_eval(Lower *l, const AstExpr *e, const char *name)
{
    Sym *s = e->kind == EXPR_NAME
                 ? lower_find(l->frame, e->name.text, S_TENSOR) : NULL;

    if (s && !lower_find(l->frame, e->name.text, S_VALUE)) {
        parts_settle(l, s);
        s->read = true;
        return s->ref;
    }
    if (e->kind == EXPR_CALL && e->call.item)
        return lower_call(l, e, name, false);
    return whole_build(l, e, name, NULL, -1, NULL);
}
