/* lower_view.c - reshape, transpose and concat, the compiler's own: pointwise
 * statements whose work is all in their indices. */
#include "lower/lower_priv.h"

static Ref bad(void)
{
    return (Ref){.bad = true};
}

static Type type_of(const Ref *r)
{
    return r->t ? r->t->type : r->val.type;
}

/* An integer list attribute of the callee's frame; NULL after an error. */
static const Sym *int_list(Lower *l, const char *name)
{
    const Sym *s = lower_find(l->frame, name, S_VALUE);

    for (int i = 0; s && i < s->value.n; i++)
        if (s->value.item[i].kind != V_INT) {
            diag_error(l->d, s->at, "'%s' must hold integers, this is %s", name,
                       const_text(l, s->value));
            return NULL;
        }
    if (s && s->value.n > MAX_RANK) {
        diag_error(l->d, s->at, "'%s' has %d entries; at most %d dimensions "
                   "are possible", name, s->value.n, (int)MAX_RANK);
        return NULL;
    }
    return s;
}

static void push_dims(Lower *l, int rank, const int64_t *dim, const Idx **at)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};

    for (int i = 0; i < rank; i++) {
        Name v = {names[i], l->target.at};
        index_push(l, v, false, 1, &dim[i], 0);
        at[i] = l->index[l->n_index - 1].idx[0];
    }
}

/* ---- reshape */

static int64_t product(int n, const int64_t *dim)
{
    int64_t p = 1;

    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(p, dim[i], &p))
            return -1;
    return p;
}

/* Fills in the one entry of shape that may be -1. */
static bool find_shape(Lower *l, const Ref *x, const Sym *s, int64_t *dim)
{
    int64_t all = product(x->rank, x->dim), rest = 1;
    int open = -1;
    bool ok = true;

    for (int i = 0; i < s->value.n; i++) {
        dim[i] = s->value.item[i].i;
        if (dim[i] == -1 && open < 0)
            open = i;
        else if (dim[i] < 1 || dim[i] > MAX_SIZE)
            ok = false;
        else
            ok = ok && !__builtin_mul_overflow(rest, dim[i], &rest);
    }
    if (ok && open >= 0) {
        ok = all % rest == 0;
        dim[open] = all / rest;
        rest = all;
    }
    if (ok && rest == all)
        return true;
    diag_error(l->d, s->at, "%s, of %lld elements, cannot become %s",
               lower_dims(l, x->rank, x->dim), (long long)all,
               const_text(l, s->value));
    return false;
}

/* Input indices for output indices `out`. Dimensions are matched in the
 * smallest groups of equal product, so that what is not reshaped stays as it
 * is. */
static void reshape_map(Lower *l, const Ref *x, int rank, const int64_t *dim,
                        const Idx **out, const Idx **in)
{
    int i = 0, j = 0;

    while (i < x->rank || j < rank) {
        int i0 = i, j0 = j;
        int64_t a = i < x->rank ? x->dim[i++] : 1;
        int64_t b = j < rank ? dim[j++] : 1;
        while (a != b) {
            if (a < b)
                a *= i < x->rank ? x->dim[i++] : 1;
            else
                b *= j < rank ? dim[j++] : 1;
        }
        const Idx *flat = idx_const(l->p, 0);
        for (int m = j0; m < j; m++)
            flat = idx_add(l->p, idx_scale(l->p, flat, dim[m]), out[m]);
        for (int m = i - 1; m >= i0; m--) {
            in[m] = m > i0 ? idx_mod(l->p, flat, x->dim[m]) : flat;
            flat = idx_floor(l->p, flat, x->dim[m]);
        }
    }
}

static Ref reshape(Lower *l, const Ref *x, const char *name)
{
    const Sym *s = int_list(l, "shape");
    int64_t dim[MAX_RANK];
    const Idx *out[MAX_RANK], *in[MAX_RANK];
    int n_index = l->n_index, n_var = l->n_var;

    if (!s || !find_shape(l, x, s, dim))
        return bad();
    push_dims(l, s->value.n, dim, out);
    reshape_map(l, x, s->value.n, dim, out, in);
    Ref r = def_tensor(l, name, n_var, ref_read(l, x, in), type_of(x));
    index_pop(l, n_index, n_var);
    return r;
}

/* ---- transpose */

static Ref transpose(Lower *l, const Ref *x, const char *name)
{
    const Sym *s = int_list(l, "perm");
    int64_t dim[MAX_RANK];
    const Idx *out[MAX_RANK], *in[MAX_RANK];
    int n_index = l->n_index, n_var = l->n_var;
    unsigned seen = 0;

    if (!s)
        return bad();
    for (int i = 0; i < s->value.n; i++) {
        int64_t p = s->value.item[i].i;
        if (p < 0 || p >= x->rank || s->value.n != x->rank || seen >> p & 1) {
            diag_error(l->d, s->at, "%s is no order of the %d dimensions of %s",
                       const_text(l, s->value), x->rank,
                       lower_dims(l, x->rank, x->dim));
            return bad();
        }
        seen |= 1u << p;
        dim[i] = x->dim[p];
    }
    push_dims(l, x->rank, dim, out);
    for (int i = 0; i < x->rank; i++)
        in[s->value.item[i].i] = out[i];
    Ref r = def_tensor(l, name, n_var, ref_read(l, x, in), type_of(x));
    index_pop(l, n_index, n_var);
    return r;
}

Ref view_of(Lower *l, const Ref *x, const char *name)
{
    l->target.first = l->g->n_stmt;
    return l->frame->item->view == VIEW_RESHAPE ? reshape(l, x, name)
                                                : transpose(l, x, name);
}

/* ---- concat */

typedef struct Parts {
    const Ref *x;
    const Span *at;
    int n, axis;
} Parts;

static bool same_but_axis(Lower *l, const Parts *p)
{
    bool ok = true;

    for (int i = 1; i < p->n; i++) {
        bool same = p->x[i].rank == p->x[0].rank;
        for (int j = 0; same && j < p->x[0].rank; j++)
            same = j == p->axis || p->x[i].dim[j] == p->x[0].dim[j];
        bool type = type_of(&p->x[i]) == type_of(&p->x[0]);
        if (!same)
            diag_error(l->d, p->at[i], "%s does not go with %s along "
                       "dimension %d", lower_dims(l, p->x[i].rank, p->x[i].dim),
                       lower_dims(l, p->x[0].rank, p->x[0].dim), p->axis);
        else if (!type)
            diag_error(l->d, p->at[i], "this is %s, the first is %s",
                       type_name(type_of(&p->x[i])),
                       type_name(type_of(&p->x[0])));
        if (!same || !type)
            diag_note(l->d, p->at[0], "the first is here");
        ok = ok && same && type;
    }
    return ok;
}

/* Reads part i at new indices, which it pushes. */
static Val part_value(Lower *l, const Parts *p, int i, const Idx **at)
{
    push_dims(l, p->x[i].rank, p->x[i].dim, at);
    return ref_read(l, &p->x[i], at);
}

/* The caller's variables that some part depends on: leading dimensions. */
static int leading(Lower *l, const Parts *p, const Var **lead)
{
    int n_index = l->n_index, n_var = l->n_var, n = 0;
    const Idx *at[MAX_RANK];

    for (int v = 0; v < n_var; v++) {
        bool used = false;
        for (int i = 0; i < p->n && !used; i++) {
            Val x = part_value(l, p, i, at);
            used = expr_uses(x.e, l->var[v]);
            index_pop(l, n_index, n_var);
        }
        if (used)
            lead[n++] = l->var[v];
    }
    return n;
}

static void store_part(Lower *l, const Parts *p, int i, Tensor *t,
                       const Var **lead, int n_lead, int64_t offset)
{
    int n_index = l->n_index, n_var = l->n_var;
    const Idx *at[MAX_RANK];
    Val v = part_value(l, p, i, at);
    int own = l->n_var - n_var;
    const Var **out = arena_array(l->a, const Var *, n_lead + own + 1);

    for (int j = 0; j < n_lead; j++)
        out[j] = lead[j];
    for (int j = 0; j < own; j++)
        out[n_lead + j] = l->var[n_var + j];
    Stmt *s = def_stmt(l, t, out, n_lead + own, val_as(l, v, t->type));
    int axis = n_lead + p->axis;
    s->store[axis] = idx_addc(l->p, s->store[axis], offset);
    index_pop(l, n_index, n_var);
}

static Ref join(Lower *l, const Parts *p, const char *name)
{
    const Var **lead = arena_array(l->a, const Var *, l->n_var + 1);
    int n_lead = leading(l, p, lead), rank = p->x[0].rank;
    int64_t dim[MAX_RANK], offset = 0;
    Ref r = {.rank = rank};

    for (int i = 0; i < n_lead && i < MAX_RANK; i++) {
        dim[i] = lead[i]->extent;
        r.fixed[i] = idx_var(l->p, lead[i]);
    }
    for (int j = 0; j < rank; j++)
        r.dim[j] = p->x[0].dim[j];
    for (int i = 1; i < p->n; i++)
        r.dim[p->axis] += p->x[i].dim[p->axis];
    for (int j = 0; j < rank && n_lead + j < MAX_RANK; j++) {
        dim[n_lead + j] = r.dim[j];
        r.map[j] = n_lead + j;
    }
    if (!lower_check_elems(l, l->target.at, name, n_lead + rank, dim))
        return bad();
    r.t = graph_tensor(l->g, name, type_of(&p->x[0]), n_lead + rank, dim);
    for (int i = 0; i < p->n; i++) {
        store_part(l, p, i, r.t, lead, n_lead, offset);
        offset += p->x[i].dim[p->axis];
    }
    return r;
}

/* The arguments; false after an error. */
static bool gather(Lower *l, const AstExpr *call, const char *name, Parts *p,
                   Ref *x, Span *at, bool scalar, const AstExpr **axis)
{
    const Args *args = &call->call.args;
    bool ok = true;

    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->arg[i];
        if (a->kind == ARG_NAMED && !strcmp(a->name.text, "axis")) {
            *axis = a->value;
            continue;
        }
        if (a->kind == ARG_NAMED) {
            diag_error(l->d, a->at, "'concat' has no parameter '%s'",
                       a->name.text);
            return false;
        }
        at[p->n] = a->at;
        x[p->n] = scalar ? ref_val(lower_expr(l, a->value))
                         : whole_eval(l, a->value,
                                      arena_printf(l->a, "%s_%d", name, p->n));
        ok = ok && !x[p->n++].bad;
    }
    return ok;
}

Ref view_concat(Lower *l, const AstExpr *call, const char *name, bool scalar)
{
    int most = call->call.args.n + 1;
    Ref *x = arena_array(l->a, Ref, most);
    Span *at = arena_array(l->a, Span, most);
    Parts p = {x, at, 0, 0};
    const AstExpr *axis = NULL;
    int64_t n;

    if (!gather(l, call, name, &p, x, at, scalar, &axis))
        return bad();
    if (!axis || !p.n) {
        diag_error(l->d, call->at, axis ? "'concat' needs a tensor"
                   : "'concat' needs 'axis = ..'");
        return bad();
    }
    if (!const_int_of(l, axis, "an axis", &n))
        return bad();
    if (n < -x[0].rank || n >= x[0].rank) {
        diag_error(l->d, axis->at, "axis %lld is outside of %s", (long long)n,
                   lower_dims(l, x[0].rank, x[0].dim));
        return bad();
    }
    p.axis = (int)(n < 0 ? n + x[0].rank : n);
    return same_but_axis(l, &p) ? join(l, &p, name) : bad();
}
