/* emit_ref_expr.c - the oracle's names, indices, expressions (ref_text.h). */
#include "oracle/ref_text.h"

#include "emit/emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- names -------------------------------------------------------------- */

const char *ref_ident(Arena *a, const char *text)
{
    char *s = arena_printf(a, "%s%s",
                           isdigit((unsigned char)text[0]) ? "_" : "", text);

    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return *s ? s : "_";
}

static bool taken(const RefText *r, const char *text)
{
    for (int i = 0; i < r->n_name; i++)
        if (!strcmp(r->name[i].text, text))
            return true;
    return false;
}

const char *ref_name(RefText *r, const void *of, const char *wanted)
{
    Arena *a = r->graph->arena;

    for (int i = 0; i < r->n_name; i++)
        if (r->name[i].of == of)
            return r->name[i].text;
    const char *base = names_mark(a, wanted ? wanted : ""), *text = base;
    for (int n = 2; taken(r, text); n++)
        text = arena_printf(a, "%s_%d", base, n);
    VEC_PUSH(a, r->name, r->n_name, r->cap_name) = (RefName){of, text};
    return text;
}

bool ref_mentions(const char *text, const char *ident)
{
    const size_t n = strlen(ident);

    for (const char *s = text; (s = strstr(s, ident)); s += n) {
        bool before = s > text && (names_letter(s[-1]) || s[-1] == '.');
        if (!before && !names_letter(s[n]))
            return true;
    }
    return false;
}

const char *ref_type(Type t)
{
    static const char *const name[] = {
        [T_BOOL] = "DCC_BOOL", [T_I8] = "DCC_I8",     [T_U8] = "DCC_U8",
        [T_I32] = "DCC_I32",
        [T_F16] = "DCC_F16",   [T_BF16] = "DCC_BF16", [T_F32] = "DCC_F32",
    };
    return name[t];
}

/* ---- indices ------------------------------------------------------------ */

static void print_var(Buf *b, const Var *v, void *ctx)
{
    buf_puts(b, ref_name(ctx, v, v->name));
}

static void print_data(Buf *b, const Expr *e, void *ctx)
{
    RefText *r = ctx;

    buf_puts(b, r->pairs ? "dcc_index(" : "(int64_t)(");
    ref_value(b, r, e, REF_ANY);
    buf_putc(b, ')');
}

static IdxPrinter printer(RefText *r)
{
    return (IdxPrinter){.var = print_var, .data = print_data, .ctx = r};
}

void ref_idx(Buf *b, RefText *r, const Idx *e, int prec)
{
    IdxPrinter how = printer(r);

    idx_print(b, e, &how, prec > REF_SUM ? 2 : prec > REF_ANY);
}

void ref_guard(Buf *b, RefText *r, Guard g)
{
    IdxPrinter how = printer(r);

    if (g.n == 0)
        buf_puts(b, "true");
    buf_puts(b, g.n > 1 ? "(" : "");
    for (int i = 0; i < g.n; i++) {
        buf_puts(b, i ? " && " : "");
        cond_print(b, g.cond[i], &how);
    }
    buf_puts(b, g.n > 1 ? ")" : "");
}

const Idx *ref_offset(Graph *g, const Tensor *t, const Idx *const *at)
{
    const Idx *e = idx_const(g->pool, 0);
    int64_t stride = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        e = idx_add(g->pool, e, idx_scale(g->pool, at[d], stride));
        stride *= t->dim[d];
    }
    return e;
}

/* ---- functions ---------------------------------------------------------- */

typedef struct RefFunc {
    const char *plain; /* operator, or function on doubles */
    const char *whole; /* function on int64_t; NULL: the same operator */
    const char *pair;  /* on dcc_pair; NULL: dcc_p_call of `plain` */
    const char *ipair; /* on dcc_pair, integers */
    int prec;          /* of an operator; 0: a function */
    int ulps;          /* for dcc_p_call: the CUDA guide's worst error */
} RefFunc;

#define CALL(name, ulps) {name, NULL, NULL, NULL, 0, ulps}
static const RefFunc funcs[F_COUNT] = {
    [F_NEG] = {"-", NULL, "dcc_p_neg", "dcc_p_ineg", REF_UNARY, 0},
    [F_NOT] = {"!", NULL, "dcc_p_not", "dcc_p_not", REF_UNARY, 0},
    [F_ADD] = {"+", NULL, "dcc_p_add", "dcc_p_iadd", REF_SUM, 0},
    [F_SUB] = {"-", NULL, "dcc_p_sub", "dcc_p_isub", REF_SUM, 0},
    [F_MUL] = {"*", NULL, "dcc_p_mul", "dcc_p_imul", REF_MUL, 0},
    [F_DIV] = {"/", "dcc_floordiv", "dcc_p_div", "dcc_p_idiv", REF_MUL, 0},
    [F_MOD] = {"dcc_mod", "dcc_floormod", "dcc_p_mod", "dcc_p_imod", 0, 0},
    [F_MIN] = {"dcc_min", "dcc_imin", "dcc_p_min", "dcc_p_min", 0, 0},
    [F_MAX] = {"dcc_max", "dcc_imax", "dcc_p_max", "dcc_p_max", 0, 0},
    [F_POW] = CALL("pow", 8),
    [F_ATAN2] = CALL("atan2", 3),
    [F_FMOD] = CALL("fmod", 0),
    [F_LT] = {"<", NULL, "dcc_p_lt", "dcc_p_lt", REF_REL, 0},
    [F_LE] = {"<=", NULL, "dcc_p_le", "dcc_p_le", REF_REL, 0},
    [F_GT] = {">", NULL, "dcc_p_gt", "dcc_p_gt", REF_REL, 0},
    [F_GE] = {">=", NULL, "dcc_p_ge", "dcc_p_ge", REF_REL, 0},
    [F_EQ] = {"==", NULL, "dcc_p_eq", "dcc_p_eq", REF_EQ, 0},
    [F_NE] = {"!=", NULL, "dcc_p_ne", "dcc_p_ne", REF_EQ, 0},
    [F_AND] = {"&&", NULL, "dcc_p_and", "dcc_p_and", REF_AND, 0},
    [F_OR] = {"||", NULL, "dcc_p_or", "dcc_p_or", REF_OR, 0},
    [F_ABS] = {"fabs", "dcc_iabs", "dcc_p_abs", "dcc_p_iabs", 0, 0},
    [F_SQRT] = CALL("sqrt", 1),
    [F_RSQRT] = CALL("dcc_rsqrt", 2),
    [F_CBRT] = CALL("cbrt", 1),
    [F_EXP] = {"exp", NULL, "dcc_p_exp(exp, ", NULL, 0, 0},
    [F_EXP2] = {"exp2", NULL, "dcc_p_exp(exp2, ", NULL, 0, 0},
    [F_EXPM1] = {"expm1", NULL, "dcc_p_exp(expm1, ", NULL, 0, 0},
    [F_LOG] = CALL("log", 1),
    [F_LOG2] = CALL("log2", 1),
    [F_LOG10] = CALL("log10", 2),
    [F_LOG1P] = CALL("log1p", 1),
    [F_SIN] = CALL("sin", 2),
    [F_COS] = CALL("cos", 2),
    [F_TAN] = CALL("tan", 4),
    [F_ASIN] = CALL("asin", 2),
    [F_ACOS] = CALL("acos", 2),
    [F_ATAN] = CALL("atan", 2),
    [F_SINH] = CALL("sinh", 3),
    [F_COSH] = CALL("cosh", 2),
    [F_TANH] = CALL("tanh", 2),
    [F_ASINH] = CALL("asinh", 3),
    [F_ACOSH] = CALL("acosh", 4),
    [F_ATANH] = CALL("atanh", 3),
    [F_ERF] = CALL("erf", 2),
    [F_ERFC] = CALL("erfc", 4),
    [F_TGAMMA] = CALL("tgamma", 10),
    [F_LGAMMA] = CALL("lgamma", 6),
    [F_FLOOR] = CALL("floor", 0),
    [F_CEIL] = CALL("ceil", 0),
    [F_TRUNC] = CALL("trunc", 0),
    [F_ROUND] = CALL("round", 0),
    [F_RINT] = CALL("rint", 0),
    [F_HYPOT] = CALL("hypot", 3),
    [F_COPYSIGN] = CALL("copysign", 0),
    [F_FDIM] = CALL("fdim", 1),
    [F_STOP] = {"dcc_stop", NULL, "dcc_p_stop", NULL, 0, 0},
    [F_RANDOM] = {"dcc_random", NULL, "dcc_p_random", "dcc_p_random", 0, 0},
    [F_FMA] = {"fma", NULL, "dcc_p_fma", "dcc_p_fma", 0, 0},
};

/* Arithmetic on integers: all of e's operands are. */
static bool whole(const Expr *e)
{
    int n = func_arity(e->fn);

    if (e->fn != F_NEG && e->fn > F_MAX && e->fn != F_ABS)
        return false;
    for (int i = 0; i < n; i++)
        if (type_is_float(e->arg[i]->type))
            return false;
    return !type_is_float(e->type);
}

/* ---- plain -------------------------------------------------------------- */

/* Where an f32 has no fractions left, as in a number that stands for infinity,
 * the f32 that kernels and memory have: exp(x - m) of two of them is 1. */
static double as_kept(double v)
{
    const float kept = (float)v;

    return fabs(v) >= 0x1p24 && isfinite(kept) ? (double)kept : v;
}

static void number(Buf *b, double v, bool is_float)
{
    char s[40];

    v = is_float ? as_kept(v) : v;
    if (!is_float) {
        buf_printf(b, "%" PRId64, (int64_t)v);
        return;
    }
    if (isnan(v) || isinf(v)) {
        buf_puts(b, isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v)
            break;
    }
    buf_printf(b, "%s%s", s, strpbrk(s, ".e") ? "" : ".0");
}

static bool arithmetic(const Expr *e)
{
    return (e->kind == E_BINARY || e->kind == E_UNARY) && whole(e);
}

/* An int64_t that i32 arithmetic may have left beyond 32 bits, whose operands
 * may be such, too. */
static bool unwrapped(const Expr *e)
{
    return arithmetic(e) && (e->fn == F_ADD || e->fn == F_SUB ||
                             e->fn == F_MUL || e->fn == F_NEG);
}

/* e is within +-2^this as it is printed; beyond LONG_BITS its operands wrap
 * first. */
enum { INT_BITS = 31, LONG_BITS = 62 };

/* An index beyond i32, which wraps where arithmetic has it. */
static bool long_index(const Expr *e)
{
    return e->kind == E_INDEX &&
           (e->idx->lo < INT32_MIN || e->idx->hi > INT32_MAX);
}

static int bits_of(const Expr *e)
{
    if (!unwrapped(e))
        return long_index(e) ? LONG_BITS : INT_BITS;
    int a = bits_of(e->arg[0]), b = e->arg[1] ? bits_of(e->arg[1]) : 0;
    int most = e->fn == F_MUL ? a + b : (a > b ? a : b) + (e->fn != F_NEG);
    return most <= LONG_BITS ? most
           : e->fn == F_MUL  ? 2 * INT_BITS
                             : INT_BITS + 1;
}

/* Whether e's operands have room in 64 bits without wrapping. */
static bool has_room(const Expr *e)
{
    int a = bits_of(e->arg[0]), b = e->arg[1] ? bits_of(e->arg[1]) : 0;

    return (e->fn == F_MUL ? a + b : (a > b ? a : b) + 1) <= LONG_BITS;
}

/* The same of operands that have wrapped. */
static bool beyond(const Expr *e)
{
    return unwrapped(e) || (arithmetic(e) && (e->fn == F_ABS ||
                                              e->fn == F_DIV));
}

/* e where its value counts, and not its last 32 bits alone. */
void ref_value(Buf *b, RefText *r, const Expr *e, int prec)
{
    if (r->pairs || !beyond(e)) {
        ref_expr(b, r, e, prec);
        return;
    }
    buf_puts(b, "dcc_wrap(");
    ref_expr(b, r, e, REF_ANY);
    buf_putc(b, ')');
}

static void operand(Buf *b, RefText *r, const Expr *of, int i, int prec)
{
    const Expr *e = of->arg[i];

    if (unwrapped(of) && long_index(e)) {
        buf_puts(b, "dcc_wrap(");
        ref_expr(b, r, e, REF_ANY);
        buf_putc(b, ')');
        return;
    }
    if (of->fn == F_DIV && !whole(of) && !type_is_float(e->type)) {
        buf_puts(b, "(double)");
        prec = REF_UNARY;
    }
    ref_value(b, r, e, prec);
}

static void plain_call(Buf *b, RefText *r, const Expr *e, const char *name)
{
    buf_printf(b, "%s(", name);
    for (int i = 0; i < func_arity(e->fn); i++) {
        buf_puts(b, i ? ", " : "");
        ref_value(b, r, e->arg[i], REF_ANY);
    }
    buf_putc(b, ')');
}

static void plain_func(Buf *b, RefText *r, const Expr *e, int prec)
{
    const RefFunc *f = &funcs[e->fn];
    bool open = prec > f->prec;

    if (whole(e) && f->whole) {
        plain_call(b, r, e, f->whole);
        return;
    }
    if (!f->prec) {
        plain_call(b, r, e, f->plain);
        return;
    }
    /* && within || and the like: parentheses that compilers ask for */
    open |= prec == REF_OR && f->prec == REF_AND;
    buf_puts(b, open ? "(" : "");
    if (func_arity(e->fn) == 1) {
        buf_puts(b, f->plain);
        ref_expr(b, r, e->arg[0], REF_ATOM);
    } else if (unwrapped(e) && has_room(e)) {
        ref_expr(b, r, e->arg[0], f->prec);
        buf_printf(b, " %s ", f->plain);
        ref_expr(b, r, e->arg[1], f->prec + 1);
    } else {
        operand(b, r, e, 0, f->prec + (f->prec < REF_SUM));
        buf_printf(b, " %s ", f->plain);
        operand(b, r, e, 1, f->prec + 1);
    }
    buf_puts(b, open ? ")" : "");
}

static void plain_cast(Buf *b, RefText *r, const Expr *e, int prec)
{
    const Expr *a = e->arg[0];
    static const char *const round[] = {
        [T_I8] = "dcc_to_i8", [T_U8] = "dcc_to_u8", [T_I32] = "dcc_to_i32",
        [T_F16] = "dcc_round_f16", [T_BF16] = "dcc_round_bf16",
    };

    if (e->type == T_BOOL) {
        buf_puts(b, "(");
        ref_value(b, r, a, REF_EQ + 1);
        buf_puts(b, " != 0)");
    } else if (e->type == T_F32) {
        buf_puts(b, prec > REF_UNARY ? "(" : "");
        buf_puts(b, "(double)(float)");
        ref_value(b, r, a, REF_ATOM);
        buf_puts(b, prec > REF_UNARY ? ")" : "");
    } else {
        buf_printf(b, "%s(", round[e->type]);
        ref_value(b, r, a, REF_ANY);
        buf_putc(b, ')');
    }
}

static void plain_read(Buf *b, RefText *r, const Expr *e, int prec)
{
    bool guarded = e->in.n > 0, integer = !type_is_float(e->tensor->type);
    bool open = guarded ? prec > REF_ANY : integer && prec > REF_UNARY;

    buf_puts(b, open ? "(" : "");
    if (guarded) {
        ref_guard(b, r, e->in);
        buf_puts(b, " ? ");
    }
    buf_printf(b, "%s%s[", integer ? "(int64_t)" : "",
               ref_name(r, e->tensor, e->tensor->name));
    ref_idx(b, r, ref_offset(r->graph, e->tensor, e->at), REF_ANY);
    buf_putc(b, ']');
    if (guarded) {
        buf_puts(b, " : ");
        ref_value(b, r, e->outside, REF_COND);
    }
    buf_puts(b, open ? ")" : "");
}

static void plain(Buf *b, RefText *r, const Expr *e, int prec)
{
    bool open;

    switch (e->kind) {
    case E_CONST:
        open = prec > REF_SUM && (e->num < 0);
        buf_puts(b, open ? "(" : "");
        number(b, e->num, type_is_float(e->type));
        buf_puts(b, open ? ")" : "");
        break;
    case E_INDEX:
        ref_idx(b, r, e->idx, prec);
        break;
    case E_READ:
        plain_read(b, r, e, prec);
        break;
    case E_UNARY:
    case E_BINARY:
        plain_func(b, r, e, prec);
        break;
    case E_SELECT:
        buf_puts(b, prec > REF_ANY ? "(" : "");
        ref_expr(b, r, e->arg[0], REF_OR);
        buf_puts(b, " ? ");
        ref_value(b, r, e->arg[1], REF_COND);
        buf_puts(b, " : ");
        ref_value(b, r, e->arg[2], REF_COND);
        buf_puts(b, prec > REF_ANY ? ")" : "");
        break;
    case E_CAST:
        plain_cast(b, r, e, prec);
        break;
    case E_LOCAL: /* only in nests, which come later */
        buf_puts(b, "dcc_no_locals_here");
        break;
    }
}

/* ---- with bounds -------------------------------------------------------- */

/* A double has not all digits of a long one. */
static void pair_index(Buf *b, RefText *r, const Idx *e, const char *wrap)
{
    buf_printf(b, "dcc_exact((double)%s(", wrap);
    ref_idx(b, r, e, REF_ANY);
    buf_puts(b, "))");
}

static void pair_args(Buf *b, RefText *r, const Expr *e, bool swap)
{
    int n = func_arity(e->fn);

    for (int i = 0; i < n; i++) {
        const Expr *a = e->arg[swap ? n - 1 - i : i];
        buf_puts(b, i ? ", " : "");
        if (unwrapped(e) && long_index(a))
            pair_index(b, r, a->idx, "dcc_wrap");
        else
            ref_expr(b, r, a, REF_ANY);
    }
}

static void pair_func(Buf *b, RefText *r, const Expr *e)
{
    const RefFunc *f = &funcs[e->fn];

    if (e->fn == F_GT || e->fn == F_GE) {
        buf_puts(b, e->fn == F_GT ? "dcc_p_lt(" : "dcc_p_le(");
        pair_args(b, r, e, true);
    } else if (e->fn == F_NE) {
        buf_puts(b, "dcc_p_not(dcc_p_eq(");
        pair_args(b, r, e, false);
        buf_putc(b, ')');
    } else if (!f->pair) {
        buf_printf(b, "dcc_p_call%s(%s, ", func_arity(e->fn) == 2 ? "2" : "",
                   f->plain);
        pair_args(b, r, e, false);
        buf_printf(b, ", %d", f->ulps);
    } else {
        const char *name = whole(e) ? f->ipair : f->pair;
        buf_printf(b, "%s%s", name, strchr(name, '(') ? "" : "(");
        pair_args(b, r, e, false);
    }
    buf_putc(b, ')');
}

static void pair_read(Buf *b, RefText *r, const Expr *e)
{
    if (e->in.n) {
        buf_putc(b, '(');
        ref_guard(b, r, e->in);
        buf_puts(b, " ? ");
    }
    buf_printf(b, "%s(%s, ", e->tensor == r->kept ? "dcc_ref_kept" : "dcc_at",
               ref_name(r, e->tensor, e->tensor->name));
    ref_idx(b, r, ref_offset(r->graph, e->tensor, e->at), REF_ANY);
    buf_putc(b, ')');
    if (e->in.n) {
        buf_puts(b, " : ");
        ref_expr(b, r, e->outside, REF_ANY);
        buf_putc(b, ')');
    }
}

/* A condition on indices is never open, and reads in the arm not taken may
 * rely on it. */
static void pair_select(Buf *b, RefText *r, const Expr *e)
{
    Guard g = {0};

    if (expr_as_guard(r->graph, e->arg[0], &g)) {
        buf_putc(b, '(');
        ref_guard(b, r, g);
        buf_puts(b, " ? ");
        ref_expr(b, r, e->arg[1], REF_ANY);
        buf_puts(b, " : ");
        ref_expr(b, r, e->arg[2], REF_ANY);
        buf_putc(b, ')');
        return;
    }
    buf_puts(b, "dcc_p_select(");
    for (int i = 0; i < 3; i++) {
        buf_puts(b, i ? ", " : "");
        ref_expr(b, r, e->arg[i], REF_ANY);
    }
    buf_putc(b, ')');
}

static void pair(Buf *b, RefText *r, const Expr *e)
{
    switch (e->kind) {
    case E_CONST:
        buf_puts(b, type_is_float(e->type) ? "dcc_number(" : "dcc_exact(");
        number(b, e->num, type_is_float(e->type));
        buf_putc(b, ')');
        break;
    case E_INDEX:
        pair_index(b, r, e->idx, "");
        break;
    case E_READ:
        pair_read(b, r, e);
        break;
    case E_UNARY:
    case E_BINARY:
        pair_func(b, r, e);
        break;
    case E_SELECT:
        pair_select(b, r, e);
        break;
    case E_CAST:
        buf_puts(b, "dcc_p_cast(");
        ref_expr(b, r, e->arg[0], REF_ANY);
        buf_printf(b, ", %s)", ref_type(e->type));
        break;
    case E_LOCAL:
        buf_puts(b, "dcc_no_locals_here");
        break;
    }
}

static void either(Buf *b, RefText *r, const Expr *e, int prec)
{
    if (r->pairs)
        pair(b, r, e);
    else
        plain(b, r, e, prec);
}

void ref_expr(Buf *b, RefText *r, const Expr *e, int prec)
{
    const char *name = ref_shared(r, e);

    if (name) {
        buf_puts(b, name);
    } else if (r->share) {
        either(b, r, e, prec);
    } else {
        bool open = ref_open_shared(b, r, e);
        either(b, r, e, open ? REF_ANY : prec);
        buf_puts(b, open ? "; })" : "");
        r->share = NULL;
    }
}
