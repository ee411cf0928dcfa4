/* lower_const.c - values known at compile time: sizes, attributes, strings. */
#include "lower/lower_priv.h"

#include <limits.h>
#include <math.h>

static double rsqrt_of(double x)
{
    return 1 / sqrt(x);
}

const MathFunc *math_func(const char *name)
{
    static const MathFunc table[] = {
        {"abs", F_ABS, 1, fabs, NULL},
        {"fabs", F_ABS, 1, fabs, NULL},
        {"acos", F_ACOS, 1, acos, NULL},
        {"acosh", F_ACOSH, 1, acosh, NULL},
        {"asin", F_ASIN, 1, asin, NULL},
        {"asinh", F_ASINH, 1, asinh, NULL},
        {"atan", F_ATAN, 1, atan, NULL},
        {"atanh", F_ATANH, 1, atanh, NULL},
        {"cbrt", F_CBRT, 1, cbrt, NULL},
        {"ceil", F_CEIL, 1, ceil, NULL},
        {"cos", F_COS, 1, cos, NULL},
        {"cosh", F_COSH, 1, cosh, NULL},
        {"erf", F_ERF, 1, erf, NULL},
        {"erfc", F_ERFC, 1, erfc, NULL},
        {"exp", F_EXP, 1, exp, NULL},
        {"exp2", F_EXP2, 1, exp2, NULL},
        {"expm1", F_EXPM1, 1, expm1, NULL},
        {"floor", F_FLOOR, 1, floor, NULL},
        {"lgamma", F_LGAMMA, 1, lgamma, NULL},
        {"log", F_LOG, 1, log, NULL},
        {"log10", F_LOG10, 1, log10, NULL},
        {"log1p", F_LOG1P, 1, log1p, NULL},
        {"log2", F_LOG2, 1, log2, NULL},
        {"rint", F_RINT, 1, rint, NULL},
        {"nearbyint", F_RINT, 1, rint, NULL},
        {"round", F_ROUND, 1, round, NULL},
        {"rsqrt", F_RSQRT, 1, rsqrt_of, NULL},
        {"sin", F_SIN, 1, sin, NULL},
        {"sinh", F_SINH, 1, sinh, NULL},
        {"sqrt", F_SQRT, 1, sqrt, NULL},
        {"tan", F_TAN, 1, tan, NULL},
        {"tanh", F_TANH, 1, tanh, NULL},
        {"tgamma", F_TGAMMA, 1, tgamma, NULL},
        {"trunc", F_TRUNC, 1, trunc, NULL},
        {"atan2", F_ATAN2, 2, NULL, atan2},
        {"copysign", F_COPYSIGN, 2, NULL, copysign},
        {"fdim", F_FDIM, 2, NULL, fdim},
        {"fmax", F_MAX, 2, NULL, fmax},
        {"fmin", F_MIN, 2, NULL, fmin},
        {"max", F_MAX, 2, NULL, fmax},
        {"min", F_MIN, 2, NULL, fmin},
        {"fmod", F_FMOD, 2, NULL, fmod},
        {"hypot", F_HYPOT, 2, NULL, hypot},
        {"pow", F_POW, 2, NULL, pow},
        {"remainder", F_COUNT, 2, NULL, remainder},
        {"fma", F_FMA, 3, NULL, NULL},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

Value const_int(int64_t i)
{
    return (Value){.kind = V_INT, .i = i, .x = (double)i};
}

Value const_frac(double x)
{
    return (Value){.kind = V_FRAC, .x = x};
}

bool const_true(Value v)
{
    return v.kind == V_INT ? v.i != 0 : v.kind == V_FRAC && v.x != 0;
}

static Value bad(void)
{
    return (Value){.kind = V_BAD};
}

/* A compile-time value of that name in the frame, or NULL. */
static const Sym *value_sym(Lower *l, const char *name)
{
    return lower_find(l->frame, name, S_VALUE);
}

static bool all_const(Lower *l, const Args *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].kind != ARG_VALUE || !const_is(l, a->arg[i].value))
            return false;
    return true;
}

/* rank(x), size(x) */
static bool is_rank(const AstExpr *e)
{
    return !e->call.func && !e->call.item &&
           (!strcmp(e->call.name.text, "rank") ||
            !strcmp(e->call.name.text, "size"));
}

static Value eval_rank(Lower *l, const AstExpr *e)
{
    const AstExpr *x = e->call.args.arg[0].value;
    const Sym *s = lower_find(l->frame, x->name.text, S_TENSOR);

    if (!s)
        diag_error(l->d, e->at, "'%s' is not defined here", x->name.text);
    if (!s || s->ref.bad)
        return bad();
    if (*e->call.name.text == 'r')
        return const_int(s->ref.rank);
    int64_t n = 1;
    for (int d = 0; d < s->ref.rank; d++)
        n *= s->ref.dim[d];
    return const_int(n);
}

bool const_is(Lower *l, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NUMBER:
    case EXPR_STRING:
        return true;
    case EXPR_NAME:
        return value_sym(l, e->name.text) != NULL;
    case EXPR_READ:
        return value_sym(l, e->read.name.text) && all_const(l, &e->read.at);
    case EXPR_CALL:
        return is_rank(e) || (e->call.func && all_const(l, &e->call.args));
    case EXPR_UNARY:
        return const_is(l, e->unary.value);
    case EXPR_BINARY:
        return const_is(l, e->binary.left) && const_is(l, e->binary.right);
    case EXPR_SELECT:
        return const_is(l, e->select.cond) && const_is(l, e->select.yes) &&
               const_is(l, e->select.no);
    case EXPR_LIST:
        return all_const(l, &e->list);
    case EXPR_CAST:
    case EXPR_REDUCE:
        break;
    }
    return false;
}

static Value overflow(Lower *l, const AstExpr *e)
{
    diag_error(l->d, e->at, "'%s' overflows 64 bits", lower_text(l, e));
    return bad();
}

static Value not_number(Lower *l, const AstExpr *e, Value v)
{
    if (v.kind != V_BAD)
        diag_error(l->d, e->at, "expected a number, '%s' is a %s",
                   lower_text(l, e), v.kind == V_STR ? "string" : "list");
    return bad();
}

static bool is_number(Value v)
{
    return v.kind == V_INT || v.kind == V_FRAC;
}

static Value eval_name(Lower *l, const AstExpr *e, Name name)
{
    const Sym *s = value_sym(l, name.text);

    if (s)
        return s->value;
    s = lower_find(l->frame, name.text, S_TENSOR);
    if (s && s->owner == OWN_TRAINED) /* its name in the weights file */
        return (Value){.kind = V_STR, .s = l->g->param[s->trained]->weight};
    if (s && s->ref.bad)
        return bad();
    if (s) {
        diag_error(l->d, e->at,
                   "'%s' is a tensor; a value known at compile time is needed",
                   name.text);
        diag_note(l->d, s->at, "'%s' is declared here", name.text);
    } else {
        diag_error(l->d, e->at,
                   "'%s' has no value at compile time; one is needed here",
                   name.text);
    }
    return bad();
}

static Value eval_item(Lower *l, const AstExpr *e)
{
    Value v = eval_name(l, e, e->read.name);
    const Args *at = &e->read.at;

    if (v.kind == V_BAD)
        return v;
    if (v.kind != V_LIST || at->n != 1 || at->arg[0].kind != ARG_VALUE) {
        diag_error(l->d, e->at, v.kind == V_LIST
                   ? "a list takes one index, '%s' has %d"
                   : "'%s' is no list", e->read.name.text, at->n);
        return bad();
    }
    int64_t i;
    if (!const_int_of(l, at->arg[0].value, "an index", &i))
        return bad();
    if (i < 0 || i >= v.n) {
        diag_error(l->d, at->arg[0].at,
                   "index %lld is outside of '%s', which has %d %s",
                   (long long)i, e->read.name.text, v.n,
                   v.n == 1 ? "entry" : "entries");
        return bad();
    }
    return v.item[i];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static Value int_binary(Lower *l, const AstExpr *e, int64_t a, int64_t b)
{
    int64_t r = 0;
    bool over = false;

    switch (e->binary.op) {
    case BIN_MUL: over = __builtin_mul_overflow(a, b, &r); break;
    case BIN_ADD: over = __builtin_add_overflow(a, b, &r); break;
    case BIN_SUB: over = __builtin_sub_overflow(a, b, &r); break;
    case BIN_DIV:
    case BIN_MOD:
        if (b == 0)
            break;
        over = a == INT64_MIN && b == -1;
        if (!over)
            r = floor_div(a, b);
        if (!over && e->binary.op == BIN_MOD)
            r = a - b * r;
        break;
    case BIN_LT: r = a < b; break;
    case BIN_GT: r = a > b; break;
    case BIN_LE: r = a <= b; break;
    case BIN_GE: r = a >= b; break;
    case BIN_EQ: r = a == b; break;
    case BIN_NE: r = a != b; break;
    case BIN_AND: r = a && b; break;
    case BIN_OR: r = a || b; break;
    }
    return over ? overflow(l, e) : const_int(r);
}

static Value frac_binary(Lower *l, const AstExpr *e, double a, double b)
{
    switch (e->binary.op) {
    case BIN_MUL: return const_frac(a * b);
    case BIN_ADD: return const_frac(a + b);
    case BIN_SUB: return const_frac(a - b);
    case BIN_DIV: return const_frac(a / b);
    case BIN_MOD: break;
    case BIN_LT: return const_int(a < b);
    case BIN_GT: return const_int(a > b);
    case BIN_LE: return const_int(a <= b);
    case BIN_GE: return const_int(a >= b);
    case BIN_EQ: return const_int(a == b);
    case BIN_NE: return const_int(a != b);
    case BIN_AND: return const_int(a != 0 && b != 0);
    case BIN_OR: return const_int(a != 0 || b != 0);
    }
    diag_error(l->d, e->binary.sign, "'%%' is for integers; fmod is for "
               "fractions");
    return bad();
}

static Value eval_binary(Lower *l, const AstExpr *e)
{
    BinaryOp op = e->binary.op;
    Value a = const_eval(l, e->binary.left);

    if (is_number(a) && ((op == BIN_AND && !const_true(a)) ||
                         (op == BIN_OR && const_true(a))))
        return const_int(op == BIN_OR);
    Value b = const_eval(l, e->binary.right);
    if (a.kind == V_BAD || b.kind == V_BAD)
        return bad();
    if (a.kind == V_STR && b.kind == V_STR && (op == BIN_EQ || op == BIN_NE))
        return const_int((strcmp(a.s, b.s) == 0) == (op == BIN_EQ));
    if (!is_number(a))
        return not_number(l, e->binary.left, a);
    if (!is_number(b))
        return not_number(l, e->binary.right, b);
    if (a.kind == V_INT && b.kind == V_INT)
        return int_binary(l, e, a.i, b.i);
    return frac_binary(l, e, a.x, b.x);
}

static Value int_function(Lower *l, const AstExpr *e, Func f, Value a, Value b)
{
    if (f == F_MAX || f == F_MIN)
        return const_int((f == F_MAX) == (a.i > b.i) ? a.i : b.i);
    if (a.i == INT64_MIN)
        return overflow(l, e);
    return const_int(a.i < 0 ? -a.i : a.i);
}

static Value eval_function(Lower *l, const AstExpr *e)
{
    const MathFunc *f = e->call.func ? math_func(e->call.name.text) : NULL;
    Value v[3] = {{0}};
    bool ints = true;

    if (!f) {
        diag_error(l->d, e->at, "'%s' cannot be called at compile time",
                   e->call.name.text);
        return bad();
    }
    for (int i = 0; i < f->n && i < e->call.args.n; i++) {
        v[i] = const_eval(l, e->call.args.arg[i].value);
        if (!is_number(v[i]))
            return not_number(l, e->call.args.arg[i].value, v[i]);
        ints = ints && v[i].kind == V_INT;
    }
    if (ints && e->call.func->any_type)
        return int_function(l, e, f->f, v[0], v[1]);
    if (f->n == 3)
        return const_frac(fma(v[0].x, v[1].x, v[2].x));
    return const_frac(f->n == 1 ? f->f1(v[0].x) : f->f2(v[0].x, v[1].x));
}

static Value eval_cast(Lower *l, const AstExpr *e)
{
    Value v = const_eval(l, e->cast.value);
    Type t;

    if (!is_number(v))
        return not_number(l, e->cast.value, v);
    if (!lower_elem(l, e->cast.elem, e->cast.name, &t))
        return bad();
    const Expr *c = expr_cast(l->g, expr_const(l->g, v.x, T_F32), t);
    if (c->kind != E_CONST)
        return v;
    return type_is_float(t) ? const_frac(c->num) : const_int((int64_t)c->num);
}

static Value eval_list(Lower *l, const AstExpr *e)
{
    Value *v = arena_array(l->a, Value, e->list.n + 1);

    for (int i = 0; i < e->list.n; i++) {
        v[i] = const_eval(l, e->list.arg[i].value);
        if (v[i].kind == V_BAD)
            return bad();
        if (!is_number(v[i]))
            return not_number(l, e->list.arg[i].value, v[i]);
    }
    return (Value){.kind = V_LIST, .item = v, .n = e->list.n};
}

static Value eval_unary(Lower *l, const AstExpr *e)
{
    Value v = const_eval(l, e->unary.value);

    if (!is_number(v))
        return not_number(l, e->unary.value, v);
    if (e->unary.op == UN_NOT)
        return const_int(!const_true(v));
    if (v.kind == V_FRAC)
        return const_frac(-v.x);
    return v.i == INT64_MIN ? overflow(l, e) : const_int(-v.i);
}

Value const_eval(Lower *l, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NUMBER:
        return e->number.kind == NUM_INT || e->number.kind == NUM_BOOL
                   ? const_int(e->number.integer)
                   : const_frac(e->number.value);
    case EXPR_STRING: {
        const char *s = const_string(l, &e->string);
        return s ? (Value){.kind = V_STR, .s = s} : bad();
    }
    case EXPR_NAME: return eval_name(l, e, e->name);
    case EXPR_READ: return eval_item(l, e);
    case EXPR_CALL: return is_rank(e) ? eval_rank(l, e) : eval_function(l, e);
    case EXPR_CAST: return eval_cast(l, e);
    case EXPR_UNARY: return eval_unary(l, e);
    case EXPR_BINARY: return eval_binary(l, e);
    case EXPR_SELECT: {
        Value c = const_eval(l, e->select.cond);
        if (!is_number(c))
            return not_number(l, e->select.cond, c);
        return const_eval(l, const_true(c) ? e->select.yes : e->select.no);
    }
    case EXPR_LIST: return eval_list(l, e);
    case EXPR_REDUCE: break;
    }
    diag_error(l->d, e->at, "a value known at compile time is needed here");
    return bad();
}

bool const_int_of(Lower *l, const AstExpr *e, const char *what, int64_t *out)
{
    Value v = const_eval(l, e);

    if (v.kind == V_INT) {
        *out = v.i;
        return true;
    }
    bool plain = e->kind == EXPR_NUMBER || e->kind == EXPR_STRING;
    if (v.kind != V_BAD && plain)
        diag_error(l->d, e->at, "%s must be an integer, not %s", what,
                   const_text(l, v));
    else if (v.kind != V_BAD)
        diag_error(l->d, e->at, "%s must be an integer, '%s' is %s", what,
                   lower_text(l, e), const_text(l, v));
    return false;
}

bool const_size(Lower *l, const AstExpr *e, const char *what, int64_t *out)
{
    if (!const_int_of(l, e, what, out))
        return false;
    if (*out >= 1 && *out <= MAX_SIZE)
        return true;
    if (e->kind == EXPR_NUMBER)
        diag_error(l->d, e->at, "%s is 1 to 2147483647, not %lld", what,
                   (long long)*out);
    else
        diag_error(l->d, e->at, "%s is 1 to 2147483647, '%s' is %lld%s", what,
                   lower_text(l, e), (long long)*out, const_names(l, e));
    Sym *said = e->kind == EXPR_NAME
                    ? lower_find(l->frame, e->name.text, S_VALUE) : NULL;
    if (said) /* once, wherever it is used */
        said->value = bad();
    return false;
}

bool const_range(Lower *l, Range r, int64_t *from, int64_t *to)
{
    bool ok = const_int_of(l, r.from, "the start of a range", from);
    ok = const_int_of(l, r.to, "the end of a range", to) && ok;
    if (!ok)
        return false;
    if (*to > MAX_SIZE || *from < -MAX_SIZE || *to - *from > MAX_SIZE) {
        diag_error(l->d, r.to->at, "the range %lld..%lld is too large",
                   (long long)*from, (long long)*to);
        return false;
    }
    return true;
}

const char *const_text(Lower *l, Value v)
{
    switch (v.kind) {
    case V_BAD: return "?";
    case V_INT: return arena_printf(l->a, "%lld", (long long)v.i);
    case V_FRAC: return arena_printf(l->a, "%.12g", v.x);
    case V_STR: return arena_printf(l->a, "\"%s\"", v.s);
    case V_LIST: break;
    }
    const char *s = "[";
    for (int i = 0; i < v.n; i++)
        s = arena_printf(l->a, "%s%s%s", s, i ? ", " : "",
                         const_text(l, v.item[i]));
    return arena_printf(l->a, "%s]", s);
}

const char *const_string(Lower *l, const String *s)
{
    const char *out = "";

    for (int i = 0; i < s->n; i++) {
        const char *more = s->part[i].text;
        if (s->part[i].value) {
            Value v = const_eval(l, s->part[i].value);
            if (v.kind == V_BAD)
                return NULL;
            more = v.kind == V_STR ? v.s : const_text(l, v);
        }
        out = arena_printf(l->a, "%s%s", out, more ? more : "");
        if (strlen(out) > MAX_TEXT) {
            diag_error(l->d, s->at, "a string has at most %d bytes",
                       (int)MAX_TEXT);
            return NULL;
        }
    }
    return out;
}

/* ---- the values behind an expression, for messages */

typedef struct Seen {
    const char *name[16];
    int n;
    const char *text;
} Seen;

static void see(Lower *l, Seen *s, const char *name)
{
    const Sym *sym = value_sym(l, name);

    if (!sym || s->n == 16)
        return;
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return;
    s->text = arena_printf(l->a, "%s%s%s = %s", s->text, s->n ? ", " : "",
                           name, const_text(l, sym->value));
    s->name[s->n++] = name;
}

static void see_all(Lower *l, Seen *s, const AstExpr *e);

static void see_args(Lower *l, Seen *s, const Args *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].value)
            see_all(l, s, a->arg[i].value);
}

static void see_all(Lower *l, Seen *s, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NAME: see(l, s, e->name.text); break;
    case EXPR_READ:
        see(l, s, e->read.name.text);
        see_args(l, s, &e->read.at);
        break;
    case EXPR_CALL: see_args(l, s, &e->call.args); break;
    case EXPR_CAST: see_all(l, s, e->cast.value); break;
    case EXPR_UNARY: see_all(l, s, e->unary.value); break;
    case EXPR_BINARY:
        see_all(l, s, e->binary.left);
        see_all(l, s, e->binary.right);
        break;
    case EXPR_SELECT:
        see_all(l, s, e->select.cond);
        see_all(l, s, e->select.yes);
        see_all(l, s, e->select.no);
        break;
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_REDUCE:
    case EXPR_LIST:
        break;
    }
}

const char *const_names(Lower *l, const AstExpr *e)
{
    Seen s = {.text = ""};

    see_all(l, &s, e);
    return s.n ? arena_printf(l->a, " (%s)", s.text) : "";
}
