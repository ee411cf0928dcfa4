/* lower_expr.c - expressions at one point, and the rules of types.
 *
 * Graph arithmetic of floats is typed f32, which is what it is computed in;
 * the language's own type travels in Val and is stored or cast to. */
#include "lower/lower_priv.h"

#include <math.h>

Val val_bad(void)
{
    return (Val){.bad = true};
}

Val val_known(Lower *l, Value v)
{
    bool whole = v.kind == V_INT;

    if (v.kind != V_INT && v.kind != V_FRAC)
        return val_bad();
    return (Val){.weak = true,
                 .known = true,
                 .type = whole ? T_I32 : T_F32,
                 .num = v.x,
                 .idx = whole ? idx_const(l->p, v.i) : NULL,
                 .e = expr_const(l->g, v.x, whole ? T_I32 : T_F32)};
}

static bool fits_i32(const Idx *e)
{
    return e->lo >= INT32_MIN && e->hi <= INT32_MAX;
}

/* Indices and numbers alone are of all integers, also as floats and in
 * comparisons; as the i32 that they are anywhere else they wrap around. */
Val val_of(Lower *l, const Idx *e)
{
    if (idx_is_const(e))
        return val_known(l, const_int(e->k));
    const Expr *value =
        fits_i32(e) ? expr_index(l->g, e)
                    : expr_binary(l->g, F_SUB, expr_const(l->g, 0, T_I32),
                                  expr_index(l->g, idx_scale(l->p, e, -1)),
                                  T_I32);
    return (Val){.weak = true, .type = T_I32, .idx = e, .e = value};
}

/* What a weak value is before it wraps. */
static const Expr *unwrapped(Lower *l, Val v)
{
    return v.weak && v.idx && !fits_i32(v.idx) ? expr_index(l->g, v.idx) : v.e;
}

const Expr *val_as(Lower *l, Val v, Type t)
{
    if (v.known)
        return expr_const(l->g, v.num, type_is_float(t) ? T_F32 : v.e->type);
    if (type_is_float(t) && !type_is_float(v.e->type))
        return expr_cast(l->g, unwrapped(l, v), T_F32);
    return v.e;
}

Val val_retype(Lower *l, Val v, Type t)
{
    if (v.bad)
        return v;
    if (v.known && (type_is_float(t) || v.type == T_I32)) {
        v.e = expr_const(l->g, v.num, type_is_float(t) ? T_F32 : T_I32);
        if (type_is_float(t))
            v.idx = NULL;
    }
    bool was_float = type_is_float(v.e->type);
    if (!type_is_float(t) && !type_holds(t, v.e->type)) {
        v.e = expr_cast(l->g, v.e, t);
        v.known = v.known && v.e->kind == E_CONST;
        if (v.known) {
            v.num = v.e->num;
            v.idx = idx_const(l->p, (int64_t)v.num);
        } else {
            v.idx = NULL;
        }
    } else if (type_is_float(t) && !was_float) {
        v.e = expr_cast(l->g, unwrapped(l, v), T_F32);
        v.idx = NULL;
    }
    v.type = t;
    v.weak = false;
    return v;
}

/* ---- types */

/* The type two values meet at; `weak` if both are numbers. */
static Type meet(Val a, Val b, bool *weak)
{
    *weak = a.weak && b.weak;
    if (a.weak == b.weak)
        return type_wider(a.type, b.type);
    Val strong = a.weak ? b : a, number = a.weak ? a : b;
    if (type_is_float(number.type) && !type_is_float(strong.type))
        return T_F32;
    return strong.type;
}

static Type arithmetic(Type t)
{
    return type_is_float(t) ? t : T_I32;
}

/* What an expression of language type t is computed in. */
static Type computed(Type t)
{
    return type_is_float(t) ? T_F32 : t == T_BOOL ? T_BOOL : T_I32;
}

/* ---- index arithmetic */

static const Idx *idx_divide(Lower *l, const Idx *a, int64_t d, bool mod)
{
    if (d == 0 || d == INT64_MIN)
        return idx_const(l->p, 0);
    if (d > 0 && mod)
        return idx_mod(l->p, a, d);
    if (d > 0)
        return idx_floor(l->p, a, d);
    const Idx *minus = idx_scale(l->p, a, -1);
    return mod ? idx_scale(l->p, idx_mod(l->p, minus, -d), -1)
               : idx_floor(l->p, minus, -d);
}

/* a op b as an index expression, or NULL. */
static const Idx *idx_binary(Lower *l, Func f, const Idx *a, const Idx *b)
{
    if (!a || !b)
        return NULL;
    switch (f) {
    case F_ADD: return idx_add(l->p, a, b);
    case F_SUB: return idx_sub(l->p, a, b);
    case F_MIN: return idx_min(l->p, a, b);
    case F_MAX: return idx_max(l->p, a, b);
    case F_MUL:
        if (idx_is_const(b))
            return idx_scale(l->p, a, b->k);
        return idx_is_const(a) ? idx_scale(l->p, b, a->k) : NULL;
    case F_DIV:
    case F_MOD:
        return idx_is_const(b) ? idx_divide(l, a, b->k, f == F_MOD) : NULL;
    default: return NULL;
    }
}

static bool compares(Func f)
{
    return f >= F_LT && f <= F_OR;
}

static Val binary(Lower *l, Func f, Val a, Val b)
{
    bool weak;

    if (a.bad || b.bad)
        return val_bad();
    Type t = meet(a, b, &weak);
    if (f != F_MIN && f != F_MAX && !compares(f))
        t = arithmetic(t);
    const Idx *idx = type_is_float(t) ? NULL : idx_binary(l, f, a.idx, b.idx);
    if (weak && idx)
        return val_of(l, idx);
    const Expr *x = val_as(l, a, t), *y = val_as(l, b, t);
    if (weak && a.idx && b.idx && f >= F_LT && f <= F_NE) {
        x = unwrapped(l, a);
        y = unwrapped(l, b);
    }
    if (compares(f))
        return (Val){.type = T_BOOL, .e = expr_binary(l->g, f, x, y, T_BOOL)};
    return (Val){.weak = weak, .type = t, .idx = idx,
                 .e = expr_binary(l->g, f, x, y, computed(t))};
}

static Func binary_func(BinaryOp op)
{
    static const Func f[] = {F_MUL, F_DIV, F_MOD, F_ADD, F_SUB, F_LT, F_GT,
                             F_LE,  F_GE,  F_EQ,  F_NE,  F_AND, F_OR};

    return f[op];
}

/* c && x and c || x with c known: what is left, or false. */
static bool decide(Func f, Val known, Val other, Val *out)
{
    if (!known.known || (f != F_AND && f != F_OR))
        return false;
    bool c = known.num != 0;
    if (c == (f == F_OR))
        *out = known;
    else
        *out = other;
    return c == (f == F_OR) || other.type == T_BOOL;
}

static Val lower_binary(Lower *l, const AstExpr *e)
{
    Func f = binary_func(e->binary.op);
    Val a = lower_expr(l, e->binary.left), b = lower_expr(l, e->binary.right);
    Val out;

    if (a.bad || b.bad)
        return val_bad();
    if (f == F_MOD && (type_is_float(a.type) || type_is_float(b.type))) {
        diag_error(l->d, e->binary.sign, "'%%' is for integers, this is %s; "
                   "fmod is for fractions",
                   type_name(type_is_float(a.type) ? a.type : b.type));
        return val_bad();
    }
    if (decide(f, a, b, &out) || decide(f, b, a, &out))
        return out;
    return binary(l, f, a, b);
}

static Val lower_unary(Lower *l, const AstExpr *e)
{
    Val v = lower_expr(l, e->unary.value);

    if (v.bad)
        return v;
    if (e->unary.op == UN_NOT)
        return (Val){.type = T_BOOL,
                     .e = expr_unary(l->g, F_NOT, v.e, T_BOOL)};
    const Idx *idx = v.idx ? idx_scale(l->p, v.idx, -1) : NULL;
    if (v.weak && idx)
        return val_of(l, idx);
    v.type = arithmetic(v.type);
    v.e = expr_unary(l->g, F_NEG, v.e, computed(v.type));
    v.idx = idx;
    v.known = false;
    return v;
}

static Val lower_select(Lower *l, const AstExpr *e)
{
    Val c = lower_expr(l, e->select.cond);
    Val a = lower_expr(l, e->select.yes), b = lower_expr(l, e->select.no);
    bool weak;

    if (a.bad || b.bad || c.bad)
        return val_bad();
    Type t = meet(a, b, &weak);
    if (c.known && a.type == b.type) {
        Val pick = c.num != 0 ? a : b;
        pick.weak = weak;
        return pick;
    }
    return (Val){.weak = weak, .type = t,
                 .e = expr_select(l->g, c.e, val_as(l, a, t),
                                  val_as(l, b, t), computed(t))};
}

/* ---- functions */

static Val function1(Lower *l, const MathFunc *m, bool any_type, Val v)
{
    if (any_type && !type_is_float(v.type)) {
        Val minus = {.weak = v.weak, .type = v.type,
                     .idx = v.idx ? idx_scale(l->p, v.idx, -1) : NULL};
        if (v.idx && v.weak)
            return val_of(l, idx_max(l->p, v.idx, minus.idx));
        v.e = expr_unary(l->g, m->f, v.e, T_I32);
        v.idx = v.idx ? idx_max(l->p, v.idx, minus.idx) : NULL;
        return v;
    }
    Type t = type_is_float(v.type) ? v.type : T_F32;
    return (Val){.weak = v.weak, .type = t,
                 .e = expr_unary(l->g, m->f, val_as(l, v, T_F32), T_F32)};
}

/* IEEE remainder: a - b rint(a / b). */
static const Expr *remainder_of(Lower *l, const Expr *a, const Expr *b)
{
    const Expr *n = expr_binary(l->g, F_DIV, a, b, T_F32);

    n = expr_unary(l->g, F_RINT, n, T_F32);
    return expr_binary(l->g, F_SUB, a, expr_binary(l->g, F_MUL, b, n, T_F32),
                       T_F32);
}

static Val function_of(Lower *l, const MathFunc *m, bool any_type, Val *v)
{
    bool weak;

    if (m->n == 1)
        return function1(l, m, any_type, v[0]);
    Type t = meet(v[0], v[1], &weak);
    if (any_type && !type_is_float(t))
        return binary(l, m->f, v[0], v[1]);
    if (!type_is_float(t))
        t = T_F32;
    if (m->n == 3) {
        Val both = {.weak = weak, .type = t};
        t = meet(both, v[2], &weak);
        t = type_is_float(t) ? t : T_F32;
        return (Val){.weak = weak, .type = t,
                     .e = expr_fma(l->g, val_as(l, v[0], t), val_as(l, v[1], t),
                                   val_as(l, v[2], t), T_F32)};
    }
    const Expr *a = val_as(l, v[0], T_F32), *b = val_as(l, v[1], T_F32);
    if (m->f == F_COUNT)
        return (Val){.weak = weak, .type = t, .e = remainder_of(l, a, b)};
    return (Val){.weak = weak, .type = t,
                 .e = expr_binary(l->g, m->f, a, b, T_F32)};
}

static Val lower_function(Lower *l, const AstExpr *e)
{
    const MathFunc *m = math_func(e->call.name.text);
    const Args *args = &e->call.args;
    Val v[3];
    bool bad = !m || args->n != m->n;

    if (bad) {
        diag_error(l->d, e->at, "'%s' cannot be called with %d arguments",
                   e->call.name.text, args->n);
        return val_bad();
    }
    for (int i = 0; i < m->n; i++) {
        v[i] = lower_expr(l, args->arg[i].value);
        bad = bad || v[i].bad;
    }
    return bad ? val_bad() : function_of(l, m, e->call.func->any_type, v);
}

static Val lower_cast(Lower *l, const AstExpr *e)
{
    Val v = lower_expr(l, e->cast.value);
    Type t;

    if (!lower_elem(l, e->cast.elem, e->cast.name, &t) || v.bad)
        return val_bad();
    const Expr *c =
        expr_cast(l->g, type_is_float(t) && !v.known ? unwrapped(l, v)
                                                     : val_as(l, v, v.type), t);
    bool keeps = t == T_I32 && !type_is_float(v.type);
    Val out = {.type = t, .e = c, .idx = keeps ? v.idx : NULL};
    if (c->kind == E_CONST) {
        out.known = true;
        out.num = c->num;
        if (!type_is_float(t))
            out.idx = idx_const(l->p, (int64_t)c->num);
    }
    return out;
}

/* ---- names */

static Val missing_indices(Lower *l, const AstExpr *e, const Sym *s)
{
    diag_error(l->d, e->at, "'%s' has %d dimension%s: its indices are missing",
               s->name, s->ref.rank, s->ref.rank == 1 ? "" : "s");
    diag_note(l->d, s->at, "'%s' is declared here", s->name);
    return val_bad();
}

static Val lower_name(Lower *l, const AstExpr *e)
{
    const char *name = e->name.text;
    Index *ix = l->whole ? NULL : index_find(l, name, false);

    if (ix)
        return val_of(l, ix->idx[0]);
    const Sym *v = lower_find(l->frame, name, S_VALUE);
    Sym *s = lower_find(l->frame, name, S_TENSOR);
    if (v) {
        if (v->value.kind == V_INT || v->value.kind == V_FRAC)
            return val_known(l, v->value);
        if (v->value.kind != V_BAD)
            diag_error(l->d, e->at, "'%s' is %s; a number is needed here",
                       name, const_text(l, v->value));
        return val_bad();
    }
    if (!s) {
        diag_error(l->d, e->at, "'%s' is not defined here", name);
        return val_bad();
    }
    parts_settle(l, s);
    s->read = true;
    if (s->ref.bad)
        return val_bad();
    if (l->whole)
        return whole_read(l, &s->ref);
    if (s->ref.rank)
        return missing_indices(l, e, s);
    return range_read(l, &s->ref, NULL, e);
}

static Val lower_called(Lower *l, const AstExpr *e)
{
    Ref r = {0};

    if (l->whole) {
        for (int i = 0; i < l->whole->n; i++)
            if (l->whole->call[i].at == e)
                r = l->whole->call[i].ref;
        return r.bad ? val_bad() : whole_read(l, &r);
    }
    r = lower_call(l, e, arena_printf(l->a, "%s_%s", l->target.name,
                                   e->call.name.text), true);
    if (r.bad)
        return val_bad();
    if (r.rank) {
        diag_error(l->d, e->at, "'%s' gives a tensor %s; in a definition with "
                   "indices a number is needed", e->call.name.text,
                   lower_dims(l, r.rank, r.dim));
        return val_bad();
    }
    return ref_read(l, &r, NULL);
}

static Val not_here(Lower *l, const AstExpr *e, const char *what)
{
    diag_error(l->d, e->at, "%s cannot stand here", what);
    return val_bad();
}

static Val any_expr(Lower *l, const AstExpr *e)
{
    if (e->kind != EXPR_STRING && e->kind != EXPR_LIST && const_is(l, e))
        return val_known(l, const_eval(l, e));
    switch (e->kind) {
    case EXPR_NUMBER: break;
    case EXPR_STRING: return not_here(l, e, "a string");
    case EXPR_LIST: return not_here(l, e, "a list");
    case EXPR_NAME: return lower_name(l, e);
    case EXPR_READ:
        if (l->whole)
            return not_here(l, e, "a read with indices");
        return lower_read(l, e);
    case EXPR_CALL:
        return e->call.item ? lower_called(l, e) : lower_function(l, e);
    case EXPR_CAST: return lower_cast(l, e);
    case EXPR_REDUCE:
        if (l->whole)
            return not_here(l, e, "a reduction over indices");
        return lower_reduce(l, e);
    case EXPR_UNARY: return lower_unary(l, e);
    case EXPR_BINARY: return lower_binary(l, e);
    case EXPR_SELECT: return lower_select(l, e);
    }
    return val_bad();
}

bool lower_enter(Lower *l, const AstExpr *e)
{
    if (l->nest >= MAX_NEST && !l->stop) {
        diag_error(l->d, e->at, "expressions and calls are nested too deep");
        l->stop = true;
    }
    l->nest++;
    return !l->stop;
}

Val lower_expr(Lower *l, const AstExpr *e)
{
    Val v = lower_enter(l, e) ? any_expr(l, e) : val_bad();

    l->nest--;
    return v;
}
