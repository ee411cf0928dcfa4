/* expr_dump.c - functions' names and costs; expressions as text. */
#include "graph/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct FuncInfo {
    const char *name;
    int arity;
    int prec; /* of an infix operator: 1 ||, 2 &&, 3 <, 4 +, 5 *; else 0 */
    int cost;
} FuncInfo;

static const FuncInfo funcs[F_COUNT] = {
    [F_NEG] = {"-", 1, 0, 1},         [F_NOT] = {"!", 1, 0, 1},
    [F_ADD] = {"+", 2, 4, 1},         [F_SUB] = {"-", 2, 4, 1},
    [F_MUL] = {"*", 2, 5, 1},         [F_DIV] = {"/", 2, 5, EXPR_DIVISION},
    [F_MOD] = {"%", 2, 5, 16},        [F_MIN] = {"min", 2, 0, 1},
    [F_MAX] = {"max", 2, 0, 1},       [F_POW] = {"pow", 2, 0, 40},
    [F_ATAN2] = {"atan2", 2, 0, 40},  [F_FMOD] = {"fmod", 2, 0, 20},
    [F_LT] = {"<", 2, 3, 1},          [F_LE] = {"<=", 2, 3, 1},
    [F_GT] = {">", 2, 3, 1},          [F_GE] = {">=", 2, 3, 1},
    [F_EQ] = {"==", 2, 3, 1},         [F_NE] = {"!=", 2, 3, 1},
    [F_AND] = {"&&", 2, 2, 1},        [F_OR] = {"||", 2, 1, 1},
    [F_ABS] = {"abs", 1, 0, 1},       [F_SQRT] = {"sqrt", 1, 0, 8},
    [F_RSQRT] = {"rsqrt", 1, 0, 4},   [F_CBRT] = {"cbrt", 1, 0, 20},
    [F_EXP] = {"exp", 1, 0, 8},       [F_EXP2] = {"exp2", 1, 0, 4},
    [F_EXPM1] = {"expm1", 1, 0, 20},  [F_LOG] = {"log", 1, 0, 12},
    [F_LOG2] = {"log2", 1, 0, 10},    [F_LOG10] = {"log10", 1, 0, 12},
    [F_LOG1P] = {"log1p", 1, 0, 20},  [F_SIN] = {"sin", 1, 0, 20},
    [F_COS] = {"cos", 1, 0, 20},      [F_TAN] = {"tan", 1, 0, 30},
    [F_ASIN] = {"asin", 1, 0, 20},    [F_ACOS] = {"acos", 1, 0, 20},
    [F_ATAN] = {"atan", 1, 0, 20},    [F_SINH] = {"sinh", 1, 0, 24},
    [F_COSH] = {"cosh", 1, 0, 20},    [F_TANH] = {"tanh", 1, 0, 16},
    [F_ASINH] = {"asinh", 1, 0, 24},  [F_ACOSH] = {"acosh", 1, 0, 24},
    [F_ATANH] = {"atanh", 1, 0, 24},  [F_ERF] = {"erf", 1, 0, 20},
    [F_ERFC] = {"erfc", 1, 0, 30},    [F_TGAMMA] = {"tgamma", 1, 0, 60},
    [F_LGAMMA] = {"lgamma", 1, 0, 60}, [F_FLOOR] = {"floor", 1, 0, 1},
    [F_CEIL] = {"ceil", 1, 0, 1},     [F_TRUNC] = {"trunc", 1, 0, 1},
    [F_ROUND] = {"round", 1, 0, 3},   [F_RINT] = {"rint", 1, 0, 1},
    [F_HYPOT] = {"hypot", 2, 0, 16},  [F_COPYSIGN] = {"copysign", 2, 0, 1},
    [F_FDIM] = {"fdim", 2, 0, 2},     [F_FMA] = {"fma", 3, 0, 2},
    [F_RANDOM] = {"random", 3, 0, 80},
    [F_NORMCDF] = {"normcdf", 1, 0, 11},
    [F_GELU] = {"gelu", 1, 0, 11},
    [F_LOGISTIC] = {"logistic", 1, 0, 4},
    [F_SLOPE] = {"logistic_slope", 1, 0, 6},
    [F_GELU16] = {"gelu16", 2, 0, 9},
    [F_TF32] = {"tf32", 1, 0, 3},
    [F_STOP] = {"stop", 1, 0, 0},
};

const char *func_name(Func f)
{
    return funcs[f].name;
}

int func_arity(Func f)
{
    return funcs[f].arity;
}

static void count_ops(const Expr *e, void *ctx)
{
    int *total = ctx;
    switch (e->kind) {
    case E_UNARY:
    case E_BINARY:
        *total += funcs[e->fn].cost;
        break;
    case E_SELECT:
        ++*total;
        break;
    case E_CAST:
        ++*total;
        break;
    case E_READ:
        *total += e->in.n > 0;
        break;
    case E_CONST:
    case E_INDEX:
    case E_LOCAL:
        break;
    }
}

int expr_ops(const Expr *e)
{
    int total = 0;
    expr_visit(e, count_ops, &total);
    return total;
}

/* ---- dump, in the language's own syntax */

static void dump(Buf *b, const Expr *e, int prec);

static void dump_number(Buf *b, double x, int prec)
{
    bool paren = prec > 0 && signbit(x);
    char text[40];
    buf_puts(b, paren ? "(" : "");
    if (isinf(x))
        snprintf(text, sizeof text, "%sinf", x < 0 ? "-" : "");
    else
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, x);
            if (strtod(text, NULL) == x)
                break;
        }
    buf_printf(b, "%s%s", text, paren ? ")" : "");
}

static void dump_read(Buf *b, const Expr *e, int prec)
{
    const Tensor *t = e->tensor;
    bool paren = e->in.n > 0 && prec > 0;
    buf_puts(b, paren ? "(" : "");
    if (t->path && t->path[0])
        buf_printf(b, "%s.", t->path);
    buf_printf(b, "%s[", t->name);
    for (int i = 0; i < t->rank; i++) {
        buf_puts(b, i ? ", " : "");
        idx_dump(b, e->at[i]);
    }
    buf_putc(b, ']');
    if (e->in.n) {
        buf_puts(b, " if ");
        guard_dump(b, e->in);
        buf_puts(b, " or ");
        dump(b, e->outside, 6);
    }
    buf_puts(b, paren ? ")" : "");
}

static void dump_call(Buf *b, const char *name, const Expr *e, int n)
{
    buf_printf(b, "%s(", name);
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ", " : "");
        dump(b, e->arg[i], 0);
    }
    buf_putc(b, ')');
}

static void dump_operator(Buf *b, const Expr *e, int prec)
{
    const FuncInfo *f = &funcs[e->fn];
    if (!f->prec) {
        dump_call(b, f->name, e, f->arity);
        return;
    }
    /* no chains of comparisons: both sides bind tighter */
    buf_puts(b, prec > f->prec ? "(" : "");
    dump(b, e->arg[0], f->prec + (f->prec == 3));
    buf_printf(b, " %s ", f->name);
    dump(b, e->arg[1], f->prec + 1);
    buf_puts(b, prec > f->prec ? ")" : "");
}

static void dump_index(Buf *b, const Expr *e, int prec)
{
    bool paren = prec > 0 && !idx_is_var(e->idx);
    buf_puts(b, paren ? "(" : "");
    idx_dump(b, e->idx);
    buf_puts(b, paren ? ")" : "");
}

static void dump(Buf *b, const Expr *e, int prec)
{
    switch (e->kind) {
    case E_CONST:
        dump_number(b, e->num, prec);
        break;
    case E_INDEX:
        dump_index(b, e, prec);
        break;
    case E_READ:
        dump_read(b, e, prec);
        break;
    case E_LOCAL:
        buf_printf(b, "#%d", e->local);
        break;
    case E_UNARY:
        if (e->fn != F_NEG && e->fn != F_NOT) {
            dump_call(b, func_name(e->fn), e, 1);
            break;
        }
        buf_puts(b, func_name(e->fn));
        dump(b, e->arg[0], 6);
        break;
    case E_BINARY:
        dump_operator(b, e, prec);
        break;
    case E_SELECT:
        buf_puts(b, prec > 0 ? "(" : "");
        dump(b, e->arg[0], 1);
        buf_puts(b, " ? ");
        dump(b, e->arg[1], 0);
        buf_puts(b, " : ");
        dump(b, e->arg[2], 0);
        buf_puts(b, prec > 0 ? ")" : "");
        break;
    case E_CAST:
        dump_call(b, type_name(e->type), e, 1);
        break;
    }
}

void expr_dump(Buf *b, const Expr *e)
{
    dump(b, e, 0);
}
