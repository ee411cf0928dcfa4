/* exact.c - in which types an expression's values are what they are. */
#include "graph/graph.h"

/* A cast that changes no value of its argument in f32 arithmetic. */
static bool widens(const Expr *e)
{
    Type from = e->arg[0]->type;

    return e->type == T_F32 ? type_is_float(from)
                            : e->type == T_I32 && !type_is_float(from);
}

const Expr *expr_strip(const Expr *e)
{
    while (e->kind == E_CAST && widens(e))
        e = e->arg[0];
    return e;
}

static bool any_type(const Expr *e)
{
    double v = e->num;

    return e->kind == E_CONST &&
           (v == (double)(long)v ? v >= -256 && v <= 256 : v - v != 0);
}

/* Whether e is an integer of at most 8 bits, as a float. */
static bool few_bits(const Expr *e)
{
    const Expr *from = e->arg[0];

    return type_is_float(e->type) && from->kind == E_READ && !from->outside &&
           !type_is_float(from->tensor->type) &&
           type_bytes(from->tensor->type) == 1;
}

/* Of the two values of a choice, or of the least or greatest of two. */
static Type exact_of_both(const Expr *e, const Expr *a, const Expr *b)
{
    if (any_type(a) && any_type(b))
        return type_is_float(e->type) ? T_F16 : T_I32;
    Type s = expr_exact_type(any_type(a) ? b : a);
    Type t = expr_exact_type(any_type(b) ? a : b);

    if (s == t && type_is_float(s))
        return s;
    return type_is_float(e->type) ? T_F32 : T_I32;
}

Type expr_exact_type(const Expr *e)
{
    e = expr_strip(e);
    switch (e->kind) {
    case E_READ:
        if (e->outside && !any_type(e->outside))
            break;
        return e->tensor->type;
    case E_CAST:
        return few_bits(e) ? e->arg[0]->tensor->type : e->type;
    case E_UNARY:
        if (e->fn == F_NEG || e->fn == F_ABS)
            return expr_exact_type(e->arg[0]);
        break;
    case E_BINARY:
        if (e->fn == F_MIN || e->fn == F_MAX)
            return exact_of_both(e, e->arg[0], e->arg[1]);
        break;
    case E_SELECT:
        return exact_of_both(e, e->arg[1], e->arg[2]);
    default:
        break;
    }
    return type_is_float(e->type) ? T_F32 : T_I32;
}

void expr_float_types(Type *a, Type *b)
{
    Type *t[] = {a, b};

    for (int i = 0; i < 2; i++)
        if (!type_is_float(*t[i]))
            *t[i] = type_bytes(*t[!i]) == 2 ? *t[!i] : T_F16;
}
