/* fold.c - arithmetic on constants. */
#include "graph/graph.h"

#include <limits.h>
#include <math.h>

/* ---- integers */

static double wrap(int64_t x)
{
    return (double)(int32_t)(uint32_t)(uint64_t)x;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool fold_ints(Func f, int64_t a, int64_t b, double *out)
{
    int64_t r;
    switch (f) {
    case F_NEG: r = -a; break;
    case F_NOT: r = !a; break;
    case F_ADD: r = a + b; break;
    case F_SUB: r = a - b; break;
    case F_MUL: r = a * b; break;
    case F_DIV: r = floor_div(a, b); break;
    case F_MOD: r = b == 0 ? 0 : a - b * floor_div(a, b); break;
    case F_MIN: r = a < b ? a : b; break;
    case F_MAX: r = a > b ? a : b; break;
    case F_ABS: r = a < 0 ? -a : a; break;
    case F_LT: r = a < b; break;
    case F_LE: r = a <= b; break;
    case F_GT: r = a > b; break;
    case F_GE: r = a >= b; break;
    case F_EQ: r = a == b; break;
    case F_NE: r = a != b; break;
    case F_AND: r = a && b; break;
    case F_OR: r = a || b; break;
    default: return false;
    }
    *out = wrap(r);
    return true;
}

/* ---- floats */

static bool fold_operator(Func f, double a, double b, double *out)
{
    switch (f) {
    case F_NEG: *out = -a; break;
    case F_NOT: *out = a == 0; break;
    case F_ADD: *out = a + b; break;
    case F_SUB: *out = a - b; break;
    case F_MUL: *out = a * b; break;
    case F_DIV: *out = a / b; break;
    case F_MIN: *out = fmin(a, b); break;
    case F_MAX: *out = fmax(a, b); break;
    case F_LT: *out = a < b; break;
    case F_LE: *out = a <= b; break;
    case F_GT: *out = a > b; break;
    case F_GE: *out = a >= b; break;
    case F_EQ: *out = a == b; break;
    case F_NE: *out = a != b; break;
    case F_AND: *out = a != 0 && b != 0; break;
    case F_OR: *out = a != 0 || b != 0; break;
    default: return false;
    }
    return true;
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double normcdf(double x)
{
    return erfc(-x * M_SQRT1_2) / 2;
}

static double gelu(double x)
{
    return x * normcdf(x);
}

static double gelu_of_sum(double x, double y)
{
    return gelu(x + y);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double slope(double x)
{
    return logistic(x) * logistic(-x);
}

/* The number of 11 bits that is nearest, of two the larger. */
static double tf32(double x)
{
    int e;
    double m = frexp(x, &e);

    return isfinite(x) ? ldexp(round(ldexp(m, 11)), e - 11) : x;
}

static double itself(double x)
{
    return x;
}

static bool fold_call(Func f, double a, double b, double *out)
{
    static double (*const one[F_COUNT])(double) = {
        [F_ABS] = fabs,     [F_SQRT] = sqrt,     [F_RSQRT] = rsqrt,
        [F_CBRT] = cbrt,    [F_EXP] = exp,       [F_EXP2] = exp2,
        [F_EXPM1] = expm1,  [F_LOG] = log,       [F_LOG2] = log2,
        [F_LOG10] = log10,  [F_LOG1P] = log1p,   [F_SIN] = sin,
        [F_COS] = cos,      [F_TAN] = tan,       [F_ASIN] = asin,
        [F_ACOS] = acos,    [F_ATAN] = atan,     [F_SINH] = sinh,
        [F_COSH] = cosh,    [F_TANH] = tanh,     [F_ASINH] = asinh,
        [F_ACOSH] = acosh,  [F_ATANH] = atanh,   [F_ERF] = erf,
        [F_ERFC] = erfc,    [F_TGAMMA] = tgamma, [F_LGAMMA] = lgamma,
        [F_FLOOR] = floor,  [F_CEIL] = ceil,     [F_TRUNC] = trunc,
        [F_ROUND] = round,  [F_RINT] = rint,     [F_NORMCDF] = normcdf,
        [F_LOGISTIC] = logistic, [F_GELU] = gelu, [F_STOP] = itself,
        [F_TF32] = tf32,    [F_SLOPE] = slope,
    };
    static double (*const two[F_COUNT])(double, double) = {
        [F_POW] = pow,      [F_ATAN2] = atan2, [F_FMOD] = fmod,
        [F_HYPOT] = hypot,  [F_COPYSIGN] = copysign, [F_FDIM] = fdim,
        [F_GELU16] = gelu_of_sum,
    };
    if (one[f])
        *out = one[f](a);
    else if (two[f])
        *out = two[f](a, b);
    return one[f] || two[f];
}

bool fold_func(Func f, bool ints, const double *x, double *out)
{
    double b = func_arity(f) > 1 ? x[1] : 0;
    if (ints)
        return fold_ints(f, (int64_t)x[0], (int64_t)b, out);
    if (f == F_FMA)
        *out = fma(x[0], x[1], x[2]);
    else if (!fold_operator(f, x[0], b, out) && !fold_call(f, x[0], b, out))
        return false;
    return !isnan(*out);
}

/* ---- rounding */

/* To a float of `bits` significant bits, least exponent `low` of a normal
 * number, infinite from `limit` on. */
static double round_to(double x, int bits, int low, double limit)
{
    int e;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &e);
    int unit = (e - 1 < low ? low : e - 1) - (bits - 1);
    double r = ldexp(rint(ldexp(x, -unit)), unit);
    return fabs(r) >= limit ? copysign(INFINITY, x) : r;
}

static double saturate(double x, double lo, double hi)
{
    return isnan(x) ? 0 : x < lo ? lo : x > hi ? hi : trunc(x);
}

double fold_round(double x, Type t)
{
    switch (t) {
    case T_BOOL:
        return x != 0;
    case T_I8:
        return saturate(x, INT8_MIN, INT8_MAX);
    case T_U8:
        return saturate(x, 0, UINT8_MAX);
    case T_I32:
        return saturate(x, INT32_MIN, INT32_MAX);
    case T_F16:
        return round_to(x, 11, -14, 65536);
    case T_BF16:
        return round_to(x, 8, -126, 0x1p128);
    case T_F32:
        return (double)(float)x;
    }
    return x;
}
