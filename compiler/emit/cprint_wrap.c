/* cprint_wrap.c - where i32 arithmetic may leave 32 bits.
 *
 * The language's integers wrap around, C's may not: nvcc takes what would
 * overflow for impossible. Where bounds of the values do not exclude it the
 * text calls dcc_wrap_add and the like. */
#include "emit/cprint_text.h"

#include <limits.h>

typedef CBounds Bounds;

/* Of an expression deeper than this its type alone is asked: expressions share
 * parts, which are looked at once for each use. */
enum { MAX_DEPTH = 8 };

static Bounds of_type(Type t)
{
    switch (t) {
    case T_BOOL:
        return (Bounds){0, 1};
    case T_I8:
        return (Bounds){INT8_MIN, INT8_MAX};
    case T_U8:
        return (Bounds){0, UINT8_MAX};
    default:
        return (Bounds){INT_MIN, INT_MAX};
    }
}

static bool fits(Bounds b)
{
    return b.lo >= INT_MIN && b.hi <= INT_MAX;
}

static Bounds either(Bounds a, Bounds b)
{
    return (Bounds){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* What is in both; what is out of the type saturates or is never there. */
static Bounds within(Bounds a, Type t)
{
    Bounds b = of_type(t);

    a.lo = a.lo < b.lo ? b.lo : a.lo;
    a.hi = a.hi > b.hi ? b.hi : a.hi;
    return a.lo > a.hi ? b : a;
}

static Bounds bounds_of(const CPrint *p, const Expr *e, int depth);

static Bounds of_read(const CPrint *p, const Expr *e, int depth)
{
    const Tensor *t = e->tensor;
    Bounds b = of_type(t->type);

    if (t->promised)
        b = within((Bounds){t->lo, t->hi - 1}, t->type);
    return e->outside ? either(b, bounds_of(p, e->outside, depth)) : b;
}

static Bounds product(Bounds a, Bounds b)
{
    Bounds x = {a.lo * b.lo, a.lo * b.hi}, y = {a.hi * b.lo, a.hi * b.hi};

    x = x.lo < x.hi ? x : (Bounds){x.hi, x.lo};
    y = y.lo < y.hi ? y : (Bounds){y.hi, y.lo};
    return either(x, y);
}

static int64_t floor_of(int64_t a, int64_t d)
{
    return a / d - (a % d < 0);
}

/* Before they wrap; a and b fit into 32 bits. */
static Bounds exact(Func f, Bounds a, Bounds b)
{
    switch (f) {
    case F_NEG:
        return (Bounds){-a.hi, -a.lo};
    case F_ABS:
        return a.lo >= 0   ? a
               : a.hi <= 0 ? (Bounds){-a.hi, -a.lo}
                           : (Bounds){0, -a.lo > a.hi ? -a.lo : a.hi};
    case F_ADD:
        return (Bounds){a.lo + b.lo, a.hi + b.hi};
    case F_SUB:
        return (Bounds){a.lo - b.hi, a.hi - b.lo};
    case F_MUL:
        return product(a, b);
    case F_MIN:
        return (Bounds){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case F_MAX:
        return (Bounds){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case F_DIV:
        if (b.lo == b.hi && b.lo > 0)
            return (Bounds){floor_of(a.lo, b.lo), floor_of(a.hi, b.lo)};
        return of_type(T_I32);
    case F_MOD:
        return b.lo == b.hi && b.lo > 0 ? (Bounds){0, b.lo - 1}
                                        : of_type(T_I32);
    default:
        return of_type(T_I32);
    }
}

static bool of_ints(const Expr *e)
{
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && type_is_float(e->arg[i]->type))
            return false;
    return !type_is_float(e->type);
}

static Bounds exact_of(const CPrint *p, const Expr *e, int depth)
{
    Bounds a = bounds_of(p, e->arg[0], depth);

    return exact(e->fn, a, e->arg[1] ? bounds_of(p, e->arg[1], depth) : a);
}

static Bounds bounds_of(const CPrint *p, const Expr *e, int depth)
{
    Bounds whole = of_type(e->type), b = whole;

    if (type_is_float(e->type) || e->type == T_BOOL || depth == MAX_DEPTH)
        return whole;
    switch (e->kind) {
    case E_CONST:
        return within((Bounds){(int64_t)e->num, (int64_t)e->num}, e->type);
    case E_INDEX:
        b = (Bounds){e->idx->lo, e->idx->hi};
        break;
    case E_LOCAL:
        b = p->bounds ? p->bounds[e->local] : whole;
        break;
    case E_READ:
        return of_read(p, e, depth + 1);
    case E_SELECT:
        b = either(bounds_of(p, e->arg[1], depth + 1),
                   bounds_of(p, e->arg[2], depth + 1));
        break;
    case E_CAST:
        return type_is_float(e->arg[0]->type)
                   ? whole
                   : within(bounds_of(p, e->arg[0], depth + 1), e->type);
    case E_UNARY:
    case E_BINARY:
        b = of_ints(e) ? exact_of(p, e, depth + 1) : whole;
        break;
    }
    return fits(b) ? b : whole;
}

bool text_wraps(const CPrint *p, const Expr *e)
{
    bool may = (e->kind == E_BINARY &&
                (e->fn == F_ADD || e->fn == F_SUB || e->fn == F_MUL)) ||
               (e->kind == E_UNARY && (e->fn == F_NEG || e->fn == F_ABS));

    return may && of_ints(e) && !fits(exact_of(p, e, 0));
}

const char *text_wrapping(Func f)
{
    switch (f) {
    case F_ADD:
        return "dcc_wrap_add";
    case F_SUB:
        return "dcc_wrap_sub";
    case F_MUL:
        return "dcc_wrap_mul";
    case F_NEG:
        return "dcc_wrap_neg";
    default:
        return "dcc_wrap_abs";
    }
}

/* ---- the steps of a group ---------------------------------------------- */

/* Of all partial sums of n values. */
static Bounds of_sum(Bounds b, int64_t n)
{
    Bounds zero = {0, 0};

    if (n > (int64_t)UINT_MAX)
        n = (int64_t)UINT_MAX + 1; /* more than any value but 0 allows */
    return either(zero, (Bounds){b.lo * n, b.hi * n});
}

static Bounds of_step(const CPrint *p, const Group *gr, const Step *s)
{
    Bounds b = bounds_of(p, s->value, 0);

    switch (s->op) {
    case R_SUM:
        return of_sum(b, group_cols(gr));
    case R_PROD:
        return b.lo >= -1 && b.hi <= 1 ? (Bounds){-1, 1} : (Bounds){
            INT64_MIN, INT64_MAX};
    case R_ARGMAX:
        return of_type(T_I32);
    default:
        return b;
    }
}

void cprint_steps(CPrint *p, const Group *gr)
{
    Bounds *list = arena_array(p->graph->arena, Bounds, MAX_STEPS);
    bool *wraps = arena_array(p->graph->arena, bool, gr->n_step + 1);

    for (int i = 0; i < MAX_STEPS; i++) /* a family may number more of them */
        list[i] = of_type(T_I32);
    p->bounds = list;
    p->wraps = wraps;
    for (int i = 0; i < gr->n_step; i++) {
        bool ints = !type_is_float(gr->step[i].type);
        Bounds b = ints ? of_step(p, gr, &gr->step[i]) : of_type(T_I32);
        wraps[i] = !fits(b);
        list[i] = fits(b) ? b : of_type(T_I32);
    }
}
