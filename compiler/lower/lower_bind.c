/* lower_bind.c - a signature against the arguments of a call: dimension names,
 * packs, element types, attributes, parameters left out.
 *
 * Names alone and type variables bind first, from the arguments in order;
 * then defaults of attributes are evaluated, which may use them; then all
 * other dimensions must be equal to what is given. */
#include "lower/lower_priv.h"

typedef struct Binding {
    Lower *l;
    Frame *f;
    const Item *it;
    const AstExpr *call;
    Bound *b;
    bool scalar;
    bool ok;
} Binding;

static void signature_note(Binding *k, Span at)
{
    Buf b = {0};

    ast_print_signature(&b, k->it);
    diag_note(k->l->d, at, "the signature is %s", buf_text(&b));
    buf_free(&b);
}

static Sym *new_sym(Binding *k, SymKind kind, const char *name, Span at)
{
    Frame *old = k->l->frame;

    k->l->frame = k->f;
    Sym *s = lower_sym(k->l, kind, (Name){name, at});
    k->l->frame = old;
    return s;
}

/* ---- arguments, in the caller's frame */

/* An integer that is no index expression becomes a tensor: the op may read
 * another one there. */
static Ref indexable(Lower *l, Ref r, const char *name)
{
    const Val *v = &r.val;

    if (r.bad || r.t || r.open || v->idx || type_is_float(v->type) ||
        v->type == T_BOOL)
        return r;
    return def_tensor(l, name, l->n_var, *v, v->type);
}

static void give_tensor(Binding *k, int i, const AstExpr *arg)
{
    Lower *l = k->l;
    bool op = arg->kind == EXPR_CALL && arg->call.item;
    const char *name = arena_printf(l->a, "%s_%s", l->target.name,
                                    op ? arg->call.name.text
                                       : k->it->param[i].name.text);
    Bound *b = &k->b[i];

    if (b->given) {
        diag_error(l->d, arg->at, "'%s' is given twice",
                   k->it->param[i].name.text);
        k->ok = false;
        return;
    }
    b->given = true;
    b->arg = arg;
    b->at = arg->at;
    b->ref = k->scalar ? ref_val(lower_expr(l, arg))
                       : indexable(l, whole_eval(l, arg, name), name);
    k->ok = k->ok && !b->ref.bad;
}

static bool has_attr(Binding *k, int i)
{
    const Attr *a = &k->it->attr[i];

    return lower_find(k->f, a->name.text,
                      a->kind == ATTR_TYPE ? S_TYPE : S_VALUE) != NULL;
}

static Value same_list(Lower *l, Value v, int64_t n)
{
    Value *item = arena_array(l->a, Value, n + 1);

    for (int64_t i = 0; i < n; i++)
        item[i] = v;
    return (Value){.kind = V_LIST, .item = item, .n = (int)n};
}

/* v as attribute a wants it: V_BAD after an error. */
static Value shape_attr(Binding *k, const Attr *a, Value v, Span at)
{
    Lower *l = k->l;
    Frame *old = l->frame;
    const char *name = a->name.text;
    int64_t n = 0;

    if (v.kind == V_BAD)
        return v;
    if (a->kind == ATTR_ONE && v.kind != V_LIST)
        return v;
    if (a->kind == ATTR_LIST && v.kind == V_LIST)
        return v;
    if (a->kind == ATTR_COUNT) {
        l->frame = k->f;
        bool ok = const_size(l, a->count, "the length of a list", &n);
        l->frame = old;
        if (!ok)
            return (Value){.kind = V_BAD};
        if (v.kind == V_LIST && v.n == n)
            return v;
        if (v.kind != V_LIST && v.kind != V_STR && n <= 64)
            return same_list(l, v, n);
    }
    if (a->kind == ATTR_COUNT)
        diag_error(l->d, at, "'%s' takes one number or %lld, this is %s", name,
                   (long long)n, const_text(l, v));
    else
        diag_error(l->d, at, "'%s' takes a %s, this is %s", name,
                   a->kind == ATTR_LIST ? "list" : "number or a string",
                   const_text(l, v));
    signature_note(k, a->name.at);
    return (Value){.kind = V_BAD};
}

static void set_attr(Binding *k, const Attr *a, Value v, Span at)
{
    v = shape_attr(k, a, v, at);
    k->ok = k->ok && v.kind != V_BAD;
    new_sym(k, S_VALUE, a->name.text, at)->value = v;
}

/* A type attribute's value, a name in the frame in hand. */
static void set_type(Binding *k, const Attr *a, const AstExpr *value)
{
    Type t = T_F32;

    k->ok = lower_elem(k->l, elem_of(value->name.text), value->name, &t) &&
            k->ok;
    new_sym(k, S_TYPE, a->name.text, value->at)->type = t;
}

static void give_attr(Binding *k, int i, const AstExpr *arg)
{
    if (has_attr(k, i)) {
        diag_error(k->l->d, arg->at, "'%s' is given twice",
                   k->it->attr[i].name.text);
        k->ok = false;
        return;
    }
    if (k->it->attr[i].kind == ATTR_TYPE)
        set_type(k, &k->it->attr[i], arg);
    else
        set_attr(k, &k->it->attr[i], const_eval(k->l, arg), arg->at);
}

static void give_named(Binding *k, const Arg *a)
{
    const Item *it = k->it;

    for (int i = 0; i < it->n_param; i++)
        if (!strcmp(it->param[i].name.text, a->name.text)) {
            give_tensor(k, i, a->value);
            return;
        }
    for (int i = 0; i < it->n_attr; i++)
        if (!strcmp(it->attr[i].name.text, a->name.text)) {
            give_attr(k, i, a->value);
            return;
        }
    diag_error(k->l->d, a->at, "'%s' has no parameter '%s'", it->name.text,
               a->name.text);
    signature_note(k, it->name.at);
    k->ok = false;
}

static void give_all(Binding *k)
{
    const Args *args = &k->call->call.args;
    const Item *it = k->it;
    int n = 0;

    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->arg[i];
        if (a->kind == ARG_NAMED) {
            give_named(k, a);
        } else if (n < it->n_param) {
            give_tensor(k, n++, a->value);
        } else if (n - it->n_param < it->n_attr) {
            give_attr(k, n++ - it->n_param, a->value);
        } else {
            diag_error(k->l->d, a->at, "'%s' takes at most %d arguments",
                       it->name.text, it->n_param + it->n_attr);
            signature_note(k, it->name.at);
            k->ok = false;
            return;
        }
    }
    for (int i = 0; i < it->n_param; i++)
        if (!k->b[i].given && !it->param[i].value) {
            diag_error(k->l->d, k->call->at, "'%s' needs '%s'", it->name.text,
                       it->param[i].name.text);
            signature_note(k, it->name.at);
            k->ok = false;
        }
}

/* ---- expressions of the signature, in the callee's frame */

static void enter(Binding *k)
{
    diag_call(k->l->d, k->call->at, k->it->name.text);
    k->l->frame = k->f;
}

static void leave(Binding *k)
{
    k->l->frame = k->f->up;
    diag_return(k->l->d);
}

static void default_attr(Binding *k, int i)
{
    const Attr *a = &k->it->attr[i];

    if (has_attr(k, i))
        return;
    if (!a->value) {
        diag_error(k->l->d, k->call->at, "'%s' needs '%s = ..'",
                   k->it->name.text, a->name.text);
        signature_note(k, k->it->name.at);
        k->ok = false;
        new_sym(k, S_VALUE, a->name.text, a->name.at)->value.kind = V_BAD;
        return;
    }
    enter(k);
    if (a->kind == ATTR_TYPE)
        set_type(k, a, a->value);
    else
        set_attr(k, a, const_eval(k->l, a->value), a->value->at);
    leave(k);
}

static int attr_index(Binding *k, const char *name)
{
    for (int i = 0; i < k->it->n_attr; i++)
        if (!strcmp(k->it->attr[i].name.text, name))
            return i;
    return -1;
}

/* ---- dimensions */

static void bind_size(Binding *k, const char *name, int64_t n, Span at,
                      const char *what)
{
    const Sym *s = lower_find(k->f, name, S_VALUE);

    if (!s) {
        Sym *new = new_sym(k, S_VALUE, name, at);
        new->value = const_int(n);
        new->n = 1; /* bound by a dimension */
        return;
    }
    if (s->value.kind != V_INT || s->value.i == n)
        return;
    diag_error(k->l->d, at, "%s is %lld, but %s is %lld", what, (long long)n,
               name, (long long)s->value.i);
    diag_note(k->l->d, s->at, "%s = %lld comes from here", name,
              (long long)s->value.i);
    signature_note(k, k->it->name.at);
    k->ok = false;
}

static void bind_pack(Binding *k, const char *name, int n, const int64_t *dim,
                      Span at)
{
    Sym *s = lower_find(k->f, name, S_PACK);

    if (!s) {
        s = new_sym(k, S_PACK, name, at);
        s->n = n;
        memcpy(s->dim, dim, sizeof *dim * (size_t)n);
        return;
    }
    const char *old = lower_dims(k->l, s->n, s->dim);
    if (whole_broadcast(&s->n, s->dim, n, dim))
        return;
    diag_error(k->l->d, at, "'%s..' is %s here, which does not broadcast with "
               "%s", name, lower_dims(k->l, n, dim), old);
    diag_note(k->l->d, s->at, "%s comes from here", old);
    k->ok = false;
}

/* How many dimensions pack number i of a type has if that is known before
 * binding it, else -1. */
static int known_pack(Binding *k, const TypeDim *d)
{
    const Sym *s = lower_find(k->f, d->name.text, S_PACK);

    if (s)
        return s->n;
    s = lower_find(k->f, d->name.text, S_VALUE);
    return s && s->value.kind == V_LIST ? s->value.n : -1;
}

static void wrong_rank(Binding *k, int i)
{
    const Bound *b = &k->b[i];
    Buf text = {0};

    ast_print_type(&text, k->it->param[i].type);
    diag_error(k->l->d, b->at, "'%s' of '%s' is %s, this is %s",
               k->it->param[i].name.text, k->it->name.text, buf_text(&text),
               b->ref.rank ? lower_dims(k->l, b->ref.rank, b->ref.dim)
                           : "a number");
    diag_note(k->l->d, k->it->param[i].name.at, "'%s' is declared here",
              k->it->param[i].name.text);
    buf_free(&text);
    k->ok = false;
}

/* The axis an attribute names, counted from the front. */
static bool find_axis(Binding *k, const TypeDim *d, const Bound *b, int *axis)
{
    int i = attr_index(k, d->axis.text);

    if (i >= 0)
        default_attr(k, i);
    const Sym *s = lower_find(k->f, d->axis.text, S_VALUE);
    if (!s || s->value.kind != V_INT) {
        if (s && s->value.kind != V_BAD)
            diag_error(k->l->d, s->at, "'%s' must be an integer",
                       d->axis.text);
        return k->ok = false;
    }
    if (!b->ref.rank) {
        diag_error(k->l->d, b->at, "'%s' goes along an axis of a tensor, this "
                   "is a number: whole tensors stand bare, as in y = %s(x)",
                   k->it->name.text, k->it->name.text);
        return k->ok = false;
    }
    int64_t a = s->value.i < 0 ? s->value.i + b->ref.rank : s->value.i;
    if (a < 0 || a >= b->ref.rank) {
        diag_error(k->l->d, b->at, "'%s' is %lld, but this is %s",
                   d->axis.text, (long long)s->value.i,
                   lower_dims(k->l, b->ref.rank, b->ref.dim));
        diag_note(k->l->d, s->at, "'%s' is given here", d->axis.text);
        return k->ok = false;
    }
    *axis = (int)a;
    return true;
}

/* How many dimensions each part of parameter i's type takes: len[]. Parts
 * [from, to) together take `total`; one pack of unknown length fills up. */
static bool divide(Binding *k, const AstType *t, int from, int to, int total,
                   int *len)
{
    int open = -1, first = -1;

    for (int j = from; j < to; j++) {
        bool pack = t->dim[j].kind == DIM_PACK;
        len[j] = pack ? known_pack(k, &t->dim[j]) : 1;
        if (pack && first < 0)
            first = j;
        if (len[j] < 0 && open >= 0)
            return false;
        if (len[j] < 0) {
            open = j;
            len[j] = 0;
        }
        total -= len[j];
    }
    if (open < 0)
        open = first; /* a pack that broadcasts may be shorter here */
    if (open >= 0) {
        len[open] += total;
        return len[open] >= 0;
    }
    return total == 0;
}

static bool parts(Binding *k, int i, int *len)
{
    const AstType *t = k->it->param[i].type;
    const Bound *b = &k->b[i];
    int axis_at = -1, axis = 0;

    for (int j = 0; j < t->n_dim; j++)
        if (t->dim[j].kind == DIM_AXIS)
            axis_at = j;
    if (axis_at >= 0 && !find_axis(k, &t->dim[axis_at], b, &axis))
        return false;
    bool ok;
    if (axis_at >= 0) {
        len[axis_at] = 1;
        ok = divide(k, t, 0, axis_at, axis, len) &&
             divide(k, t, axis_at + 1, t->n_dim, b->ref.rank - axis - 1, len);
    } else {
        ok = divide(k, t, 0, t->n_dim, b->ref.rank, len);
    }
    if (!ok)
        wrong_rank(k, i);
    return ok;
}

static const char *dim_of(Binding *k, int pos, int i)
{
    return arena_printf(k->l->a, "dimension %d of '%s'", pos,
                        k->it->param[i].name.text);
}

/* A name alone that is no attribute binds. */
static bool binds(Binding *k, const TypeDim *d)
{
    return d->kind == DIM_SIZE && d->size->kind == EXPR_NAME &&
           attr_index(k, d->size->name.text) < 0;
}

static void bind_dims(Binding *k, int i, const int *len)
{
    const AstType *t = k->it->param[i].type;
    const Bound *b = &k->b[i];
    int pos = 0;

    for (int j = 0; j < t->n_dim; j++) {
        const TypeDim *d = &t->dim[j];
        const int64_t *dim = b->ref.dim + pos;
        if (binds(k, d))
            bind_size(k, d->size->name.text, *dim, b->at, dim_of(k, pos, i));
        else if (d->kind == DIM_AXIS)
            bind_size(k, d->name.text, *dim, b->at, dim_of(k, pos, i));
        else if (d->kind == DIM_PACK && attr_index(k, d->name.text) < 0)
            bind_pack(k, d->name.text, len[j], dim, b->at);
        pos += len[j];
    }
}

/* Dimensions that are expressions must equal what is given. */
static void check_dims(Binding *k, int i, const int *len)
{
    Lower *l = k->l;
    const AstType *t = k->it->param[i].type;
    const Bound *b = &k->b[i];
    int pos = 0;

    for (int j = 0; j < t->n_dim; j++) {
        const TypeDim *d = &t->dim[j];
        int64_t n;
        if (d->kind == DIM_SIZE && !binds(k, d)) {
            enter(k);
            bool ok = const_int_of(l, d->size, "a size", &n);
            const char *names = ok ? const_names(l, d->size) : "";
            leave(k);
            k->ok = k->ok && ok;
            if (ok && n != b->ref.dim[pos]) {
                diag_error(l->d, b->at, "%s is %lld, but %s is %lld%s",
                           dim_of(k, pos, i), (long long)b->ref.dim[pos],
                           lower_text(l, d->size), (long long)n, names);
                signature_note(k, d->at);
                k->ok = false;
            }
        }
        int64_t list[MAX_RANK];
        l->frame = k->f;
        bool fixed = d->kind == DIM_PACK && attr_index(k, d->name.text) >= 0 &&
                     pack_dims(l, d->name.text, list) == len[j];
        l->frame = k->f->up;
        for (int m = 0; fixed && m < len[j]; m++)
            if (list[m] != b->ref.dim[pos + m]) {
                diag_error(l->d, b->at, "%s is %lld, but '%s' says %lld",
                           dim_of(k, pos + m, i),
                           (long long)b->ref.dim[pos + m], d->name.text,
                           (long long)list[m]);
                k->ok = false;
            }
        pos += len[j];
    }
}

/* ---- element types */

static Type ref_type(const Ref *r)
{
    return r->t ? r->t->type : r->val.type;
}

static bool is_weak(const Ref *r)
{
    return !r->t && r->val.weak;
}

static void wrong_type(Binding *k, int i, const char *want, const Sym *s)
{
    const Bound *b = &k->b[i];

    diag_error(k->l->d, b->at, "'%s' of '%s' must be %s, this is %s",
               k->it->param[i].name.text, k->it->name.text, want,
               type_name(ref_type(&b->ref)));
    if (s)
        diag_note(k->l->d, s->at, "%s comes from here", want);
    else
        diag_note(k->l->d, k->it->param[i].name.at, "'%s' is declared here",
                  k->it->param[i].name.text);
    k->ok = false;
}

static void bind_type(Binding *k, int i, bool weak)
{
    const AstType *t = k->it->param[i].type;
    Bound *b = &k->b[i];

    if (is_weak(&b->ref) != weak)
        return;
    Type have = ref_type(&b->ref), want = have;
    const Sym *s = NULL;
    if (t->elem == ELEM_NAMED) {
        s = lower_find(k->f, t->name.text, S_TYPE);
        if (!s) {
            Sym *new = new_sym(k, S_TYPE, t->name.text, b->at);
            new->type = have;
            s = new;
        }
        want = s->type;
    } else if (!lower_type(k->l, t, &want)) {
        k->ok = false;
        return;
    }
    if (!weak && have != want) {
        const char *name = type_name(want);
        if (s)
            name = arena_printf(k->l->a, "%s = %s", t->name.text, name);
        wrong_type(k, i, name, s);
        return;
    }
    if (weak && type_is_float(have) && !type_is_float(want)) {
        wrong_type(k, i, type_name(want), s);
        return;
    }
    if (weak)
        b->ref.val = val_retype(k->l, b->ref.val, want);
}

/* ---- the callee's tensors */

/* r as parameter i sees it: packs have the shape that all share. */
static Ref seen_as(Binding *k, int i, const int *len)
{
    const AstType *t = k->it->param[i].type;
    const Ref *r = &k->b[i].ref;
    Ref out = {.t = r->t, .val = r->val};
    int pos = 0;

    memcpy(out.fixed, r->fixed, sizeof out.fixed);
    for (int j = 0; j < t->n_dim; j++) {
        const Sym *pack = t->dim[j].kind == DIM_PACK
                              ? lower_find(k->f, t->dim[j].name.text, S_PACK)
                              : NULL;
        int n = pack ? pack->n : len[j];
        if (out.rank + n > MAX_RANK) {
            wrong_rank(k, i);
            return out;
        }
        for (int m = 0; m < n; m++) {
            int from = m - (n - len[j]), to = out.rank++;
            out.map[to] = from < 0 ? -1 : r->map[pos + from];
            out.dim[to] = pack ? pack->dim[m] : r->dim[pos + from];
            if (from >= 0 && out.map[to] >= 0 &&
                r->dim[pos + from] != out.dim[to]) {
                out.fixed[out.map[to]] = idx_const(k->l->p, 0);
                out.map[to] = -1;
            }
        }
        pos += len[j];
    }
    return out;
}

static bool dims_known(Binding *k, const AstType *t)
{
    int64_t dim[MAX_RANK];

    for (int j = 0; j < t->n_dim; j++) {
        const TypeDim *d = &t->dim[j];
        if (d->kind == DIM_PACK && pack_dims(k->l, d->name.text, dim) < 0)
            return false;
        if (d->kind == DIM_AXIS &&
            !lower_find(k->f, d->name.text, S_VALUE))
            return false;
        if (d->kind == DIM_SIZE && !const_is(k->l, d->size))
            return false;
    }
    return true;
}

/* A parameter left out: its number at every point. */
static Ref left_out(Binding *k, int i)
{
    Lower *l = k->l;
    const Param *p = &k->it->param[i];
    Ref r = {0};
    Type t;

    enter(k);
    Value v = const_eval(l, p->value);
    r.val = val_known(l, v);
    if (v.kind != V_BAD && r.val.bad)
        diag_error(l->d, p->value->at, "the value of '%s' must be a number",
                   p->name.text);
    bool typed = p->type->elem != ELEM_NAMED ||
                 lower_find(k->f, p->type->name.text, S_TYPE);
    if (!r.val.bad && typed && lower_type(l, p->type, &t))
        r.val = val_retype(l, r.val, t);
    r.open = !dims_known(k, p->type);
    if (!r.open && !lower_shape(l, p->type, &r.rank, r.dim))
        r.val.bad = true;
    leave(k);
    for (int j = 0; j < MAX_RANK; j++)
        r.map[j] = -1;
    r.bad = r.val.bad;
    k->ok = k->ok && !r.bad;
    return r;
}

static void bind_given(Binding *k, int (*len)[MAX_RANK + 8])
{
    const Item *it = k->it;

    for (int i = 0; i < it->n_param; i++)
        if (k->b[i].given && parts(k, i, len[i]))
            bind_dims(k, i, len[i]);
    for (int weak = 0; weak < 2; weak++)
        for (int i = 0; i < it->n_param; i++)
            if (k->b[i].given)
                bind_type(k, i, weak);
}

bool bind_call(Lower *l, Frame *f, const AstExpr *call, Bound *b)
{
    const Item *it = f->item;
    Binding k = {l, f, it, call, b, f->scalar_args, true};
    int (*len)[MAX_RANK + 8] = arena_alloc(
        l->a, sizeof *len * (size_t)(it->n_param + 1));

    for (int i = 0; i < it->n_param; i++)
        if (it->param[i].type->n_dim > MAX_RANK + 8) {
            diag_error(l->d, it->param[i].type->at, "too many dimensions");
            return false;
        }
    give_all(&k);
    if (k.ok)
        bind_given(&k, len);
    for (int i = 0; i < it->n_attr && k.ok; i++)
        default_attr(&k, i);
    for (int i = 0; i < it->n_param && k.ok; i++)
        if (b[i].given)
            check_dims(&k, i, len[i]);
    for (int i = 0; i < it->n_param && k.ok; i++) {
        Ref r = b[i].given ? seen_as(&k, i, len[i]) : left_out(&k, i);
        Sym *s = new_sym(&k, S_TENSOR, it->param[i].name.text,
                         it->param[i].name.at);
        s->ref = r;
        s->owner = OWN_ARG;
        s->read = true;
    }
    return k.ok;
}
