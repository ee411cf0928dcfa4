/* lower_range.c - what indices run over, and whether reads stay inside. */
#include "lower/lower_priv.h"

#include <ctype.h>

/* ---- indices in use */

Index *index_find(Lower *l, const char *name, bool pack)
{
    for (int i = l->n_index - 1; i >= l->frame->index_base; i--)
        if (l->index[i].pack == pack && !strcmp(l->index[i].name, name))
            return &l->index[i];
    return NULL;
}

/* Indices are lower case: i0, i1 of `..`, a0 of `A..`. */
static const char *pack_var(Lower *l, const char *pack, int i)
{
    char *s = arena_printf(l->a, "%s%d", *pack ? pack : "i", i);

    for (char *c = s; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return s;
}

void index_push(Lower *l, Name name, bool pack, int n, const int64_t *extent,
                int64_t shift)
{
    Index ix = {.name = name.text, .pack = pack, .at = name.at, .n = n};

    for (int i = 0; i < n; i++) {
        const char *s = pack ? pack_var(l, name.text, i) : name.text;
        const Var *v = idx_new_var(l->p, s, extent[i]);
        VEC_PUSH(l->a, l->var, l->n_var, l->cap_var) = v;
        ix.idx[i] = idx_addc(l->p, idx_var(l->p, v), shift);
    }
    VEC_PUSH(l->a, l->index, l->n_index, l->cap_index) = ix;
}

void index_pop(Lower *l, int n_index, int n_var)
{
    l->n_index = n_index;
    l->n_var = n_var;
}

int pack_dims(Lower *l, const char *name, int64_t *dim)
{
    const Sym *s = lower_find(l->frame, name, S_PACK);

    if (s) {
        memcpy(dim, s->dim, sizeof *dim * (size_t)s->n);
        return s->n;
    }
    s = lower_find(l->frame, name, S_VALUE);
    if (!s || s->value.kind != V_LIST || s->value.n > MAX_RANK)
        return -1;
    for (int i = 0; i < s->value.n; i++) {
        if (s->value.item[i].kind != V_INT || s->value.item[i].i < 1 ||
            s->value.item[i].i > MAX_SIZE)
            return -1;
        dim[i] = s->value.item[i].i;
    }
    return s->value.n;
}

/* ---- inference */

void range_agree(Lower *l, const char *name, Extent *x, int64_t n, Span at,
                 const char *what)
{
    if (x->bad)
        return;
    if (!x->n) {
        *x = (Extent){.n = n, .at = at, .what = what};
        return;
    }
    if (x->n == n)
        return;
    x->bad = true;
    diag_error(l->d, at, "'%s' runs over %lld as %s, but over %lld as %s; "
               "'%s in 0..N' says which", name, (long long)n, what,
               (long long)x->n, x->what, name);
    diag_note(l->d, x->at, "%s has %lld here", x->what, (long long)x->n);
}

static void infer_args(Lower *l, const Args *a, const char *name, Extent *x)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].value)
            range_infer(l, a->arg[i].value, name, x);
}

static int count_indices(Lower *l, const Args *at)
{
    int64_t dim[MAX_RANK];
    int n = 0;

    for (int i = 0; i < at->n; i++)
        n += at->arg[i].kind == ARG_PACK
                 ? pack_dims(l, at->arg[i].name.text, dim) : 1;
    return n;
}

static void infer_read(Lower *l, const AstExpr *e, const char *name, Extent *x)
{
    Sym *s = lower_find(l->frame, e->read.name.text, S_TENSOR);
    const Args *at = &e->read.at;
    int64_t dim[MAX_RANK];
    int pos = 0;

    if (s)
        parts_settle(l, s);
    infer_args(l, at, name, x);
    if (e->read.outside)
        range_infer(l, e->read.outside, name, x);
    /* what has no meaning here had its error: a loop without a body, say */
    x->lost |= s ? s->ref.bad
                 : !lower_find(l->frame, e->read.name.text, S_VALUE);
    if (!s || s->ref.bad || s->ref.open || count_indices(l, at) != s->ref.rank)
        return;
    for (int i = 0; i < at->n; i++) {
        const Arg *a = &at->arg[i];
        if (a->kind == ARG_PACK) {
            pos += pack_dims(l, a->name.text, dim);
            continue;
        }
        if (a->value->kind == EXPR_NAME && !strcmp(a->value->name.text, name))
            range_agree(l, name, x, s->ref.dim[pos], a->at,
                        arena_printf(l->a, "dimension %d of '%s'", pos,
                                     s->name));
        pos++;
    }
}

void range_infer(Lower *l, const AstExpr *e, const char *name, Extent *x)
{
    switch (e->kind) {
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_NAME:
    case EXPR_LIST:
        break;
    case EXPR_READ: infer_read(l, e, name, x); break;
    case EXPR_CALL: infer_args(l, &e->call.args, name, x); break;
    case EXPR_CAST: range_infer(l, e->cast.value, name, x); break;
    case EXPR_REDUCE: range_infer(l, e->reduce.term, name, x); break;
    case EXPR_UNARY: range_infer(l, e->unary.value, name, x); break;
    case EXPR_BINARY:
        range_infer(l, e->binary.left, name, x);
        range_infer(l, e->binary.right, name, x);
        break;
    case EXPR_SELECT:
        range_infer(l, e->select.cond, name, x);
        range_infer(l, e->select.yes, name, x);
        range_infer(l, e->select.no, name, x);
        break;
    }
}

/* ---- reads */

const Idx *range_index(Lower *l, const AstExpr *e)
{
    Val v;

    return range_index_val(l, e, &v);
}

const Idx *range_index_val(Lower *l, const AstExpr *e, Val *out)
{
    Val v = *out = lower_expr(l, e);

    if (v.bad)
        return NULL;
    if (type_is_float(v.type))
        diag_error(l->d, e->at, "an index must be an integer, '%s' is %s",
                   lower_text(l, e), type_name(v.type));
    else if (!v.idx)
        diag_error(l->d, e->at, "'%s' cannot be an index: it is made of "
                   "indices, constants, + and -, *, / and %% by constants, "
                   "min, max, and reads of integer tensors",
                   lower_text(l, e));
    return type_is_float(v.type) ? NULL : v.idx;
}

/* A guard that holds where the read is inside, and what it reads elsewhere. */
typedef struct Inside {
    Guard in;
    const Expr *outside;
} Inside;

static Val read_value(Lower *l, const Ref *r, const Idx **at, Inside in)
{
    Tensor *t = r->t;
    const Idx **real = arena_array(l->a, const Idx *, t->rank + 1);

    for (int i = 0; i < t->rank; i++)
        real[i] = r->fixed[i];
    for (int i = 0; i < r->rank; i++)
        if (r->map[i] >= 0)
            real[r->map[i]] = at[i];
    Val v = {.type = t->type,
             .e = expr_read(l->g, t, real, in.in, in.in.n ? in.outside : NULL)};
    if (!type_is_float(t->type) && t->promised && !in.in.n)
        v.idx = idx_data(l->p, v.e, t->lo, t->hi - 1);
    else if (t->type == T_I32)
        v.idx = idx_data(l->p, v.e, INT32_MIN, INT32_MAX);
    else if (t->type == T_I8)
        v.idx = idx_data(l->p, v.e, -128, 127);
    else if (t->type == T_U8)
        v.idx = idx_data(l->p, v.e, 0, 255);
    else if (t->type == T_BOOL)
        v.idx = idx_data(l->p, v.e, 0, 1);
    return v;
}

Val ref_read(Lower *l, const Ref *r, const Idx **at)
{
    return r->t ? read_value(l, r, at, (Inside){{0}, NULL}) : r->val;
}

static void find_unpromised(const Atom *a, void *ctx)
{
    bool *found = ctx;

    if (a->kind != ATOM_DATA)
        return;
    const Expr *e = a->data;
    if (!e || e->kind != E_READ || e->in.n || !e->tensor->promised ||
        e->tensor->role != ROLE_INPUT)
        *found = true;
}

/* Data of which the caller promised nothing is clamped into [0, n). */
static bool clamps(const Idx *e)
{
    bool found = false;

    idx_visit(e, find_unpromised, &found);
    return found;
}

static const AstExpr *index_expr(Lower *l, const AstExpr *e, int dim)
{
    const Args *at = &e->read.at;
    int64_t ext[MAX_RANK];
    int pos = 0;

    for (int i = 0; i < at->n; i++) {
        int n = at->arg[i].kind == ARG_PACK
                    ? pack_dims(l, at->arg[i].name.text, ext) : 1;
        if (dim < pos + n)
            return at->arg[i].kind == ARG_PACK ? NULL : at->arg[i].value;
        pos += n;
    }
    return NULL;
}

static const char *bound(Lower *l, int64_t x)
{
    if (x <= -IDX_INF || x >= IDX_INF)
        return x < 0 ? "-inf" : "inf";
    return arena_printf(l->a, "%lld", (long long)x);
}

static void leaves(Lower *l, const AstExpr *e, int i, const Idx *ix, int64_t n)
{
    const AstExpr *at = index_expr(l, e, i);
    const char *name = e->read.name.text;
    const Sym *s = lower_find(l->frame, name, S_TENSOR);

    const char *runs = ix->lo == ix->hi
        ? arena_printf(l->a, "is %s", bound(l, ix->lo))
        : arena_printf(l->a, "runs from %s to %s", bound(l, ix->lo),
                       bound(l, ix->hi));

    diag_error(l->d, at ? at->at : e->at, "'%s' is read outside: index '%s' "
               "%s, dimension %d has %lld", name, at ? lower_text(l, at) : "..",
               runs, i, (long long)n);
    if (s)
        diag_note(l->d, s->at, "'%s' is %s here; '(%s or 0)' would say what is "
                  "read outside", name, lower_dims(l, s->ref.rank, s->ref.dim),
                  lower_text(l, e));
}

/* Our index i, made to stay inside or guarded; NULL after an error. */
static const Idx *check_index(Lower *l, const AstExpr *e, int i, const Idx *ix,
                              int64_t n, Guard *in)
{
    if (ix->lo >= 0 && ix->hi < n)
        return ix;
    if (e->kind == EXPR_READ && e->read.outside) {
        *in = guard_within(l->p, *in, ix, 0, n);
        return ix;
    }
    if (!clamps(ix)) {
        leaves(l, e, i, ix, n);
        return NULL;
    }
    if (ix->lo < 0)
        ix = idx_max(l->p, ix, idx_const(l->p, 0));
    if (ix->hi >= n)
        ix = idx_min(l->p, ix, idx_const(l->p, n - 1));
    return ix;
}

static const Expr *outside_value(Lower *l, const AstExpr *e, Type t)
{
    Val v = lower_expr(l, e);

    return v.bad ? NULL : expr_cast(l->g, val_as(l, v, t), t);
}

Val range_read(Lower *l, const Ref *r, const Idx **at, const AstExpr *e)
{
    const Idx **in = arena_array(l->a, const Idx *, r->rank + 1);
    const AstExpr *outside = e->kind == EXPR_READ ? e->read.outside : NULL;
    Inside where = {{0}, NULL};
    bool ok = true;

    for (int i = 0; i < r->rank; i++) {
        in[i] = r->open ? at[i]
                        : check_index(l, e, i, at[i], r->dim[i], &where.in);
        ok = ok && in[i];
    }
    Type t = r->t ? r->t->type : r->val.type;
    if (ok && outside)
        ok = (where.outside = outside_value(l, outside, t)) != NULL;
    if (!ok)
        return val_bad();
    if (r->t)
        return read_value(l, r, in, where);
    if (!where.in.n)
        return r->val;
    Ref made = def_copy(l, arena_printf(l->a, "%s_%s", l->target.name,
                                        e->read.name.text), r, t);
    return made.bad ? val_bad() : read_value(l, &made, in, where);
}

/* The indices of a read, packs expanded; the count, -1 after an error. */
static int read_indices(Lower *l, const AstExpr *e, const Idx **out)
{
    const Args *at = &e->read.at;
    bool ok = true;
    int n = 0;

    for (int i = 0; i < at->n; i++) {
        const Arg *a = &at->arg[i];
        const Index *pack = NULL;
        if (a->kind == ARG_PACK)
            pack = index_find(l, a->name.text, true);
        if (a->kind == ARG_PACK && !pack) {
            diag_error(l->d, a->at, "'%s..' is no index of this statement",
                       a->name.text);
            return -1;
        }
        int more = pack ? pack->n : 1;
        for (int j = 0; j < more; j++, n++) {
            const Idx *x = pack ? pack->idx[j] : range_index(l, a->value);
            ok = ok && x;
            if (n < MAX_RANK)
                out[n] = x;
        }
    }
    return ok ? n : -1;
}

static Val unknown_tensor(Lower *l, const AstExpr *e)
{
    const char *name = e->read.name.text;

    if (lower_find(l->frame, name, S_VALUE))
        diag_error(l->d, e->at, "'%s' is known at compile time; its index must "
                   "be too", name);
    else
        diag_error(l->d, e->at, "tensor '%s' is not defined here", name);
    return val_bad();
}

Val lower_read(Lower *l, const AstExpr *e)
{
    Sym *s = lower_find(l->frame, e->read.name.text, S_TENSOR);
    const Idx *at[MAX_RANK];

    if (!s)
        return unknown_tensor(l, e);
    parts_settle(l, s);
    s->read = true;
    int n = read_indices(l, e, at);
    if (n < 0 || s->ref.bad)
        return val_bad();
    if (s->ref.open)
        s->ref.rank = n;
    if (n != s->ref.rank) {
        diag_error(l->d, e->at, "'%s' has %d dimension%s, %d %s given", s->name,
                   s->ref.rank, s->ref.rank == 1 ? "" : "s", n,
                   n == 1 ? "index is" : "indices are");
        diag_note(l->d, s->at, "'%s' is %s here", s->name,
                  lower_dims(l, s->ref.rank, s->ref.dim));
        return val_bad();
    }
    return range_read(l, &s->ref, at, e);
}
