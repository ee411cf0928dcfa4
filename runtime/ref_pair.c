/* ref_pair.c - roundings and arithmetic with bounds (dcc_ref.h). */
#include "dcc_ref.h"

double dcc_ref_product = 0;

/* ---- roundings ---- */

/* To `digits` binary digits, ties to even; the last place is worth at least
 * 2^least. */
static double round_float(double a, int digits, int least, double largest)
{
    if (a == 0 || !isfinite(a))
        return a;
    int place = ilogb(a) - digits + 1;

    if (place < least)
        place = least;
    double r = ldexp(nearbyint(ldexp(a, -place)), place);
    return fabs(r) > largest ? copysign(INFINITY, a) : r;
}

double dcc_round_f16(double a)
{
    return round_float(a, 11, -24, 65504);
}

double dcc_round_bf16(double a)
{
    return round_float(a, 8, -133, 0x1.fep127);
}

double dcc_round_f32(double a)
{
    return (double)(float)a;
}

static int64_t to_integer(double a, double lo, double hi)
{
    if (isnan(a))
        return 0;
    return (int64_t)trunc(a < lo ? lo : a > hi ? hi : a);
}

int64_t dcc_to_i8(double a)
{
    return to_integer(a, INT8_MIN, INT8_MAX);
}

int64_t dcc_to_u8(double a)
{
    return to_integer(a, 0, UINT8_MAX);
}

int64_t dcc_to_i32(double a)
{
    return to_integer(a, INT32_MIN, INT32_MAX);
}

double dcc_ref_round(dcc_type type, double a)
{
    switch (type) {
    case DCC_F32:
        return dcc_round_f32(a);
    case DCC_F16:
        return dcc_round_f16(a);
    case DCC_BF16:
        return dcc_round_bf16(a);
    case DCC_I8:
        return (double)dcc_to_i8(a);
    case DCC_U8:
        return (double)dcc_to_u8(a);
    case DCC_I32:
        return (double)dcc_to_i32(a);
    case DCC_BOOL:
        return a != 0;
    }
    return a;
}

/* ---- arithmetic ---- */

/* The farther of two ends from v; an end that is no number says nothing. */
static double farther(double v, double a, double b)
{
    double x = fabs(a - v), y = fabs(b - v);

    if (isnan(x) && isnan(y))
        return isnan(v) ? 0 : INFINITY;
    return fmax(x, y);
}

/* An infinite result without an infinite bound is exact. */
static dcc_pair rounded(double v, double e, double ulps)
{
    if (isinf(v))
        return dcc_pair_of(v, e == 0 || isnan(e) ? 0 : e);
    return dcc_pair_of(v, e + 2 * DCC_REF_U * ulps * fabs(v) + DCC_REF_TINY);
}

dcc_pair dcc_p_div(dcc_pair x, dcc_pair y)
{
    double v = x.v / y.v, e = 0;

    if (x.e || y.e)
        e = fabs(y.v) > y.e ? (x.e + fabs(v) * y.e) / (fabs(y.v) - y.e)
                            : INFINITY;
    return rounded(v, e, 2);
}

dcc_pair dcc_p_call(double (*f)(double), dcc_pair x, double ulps)
{
    double v = f(x.v), e = 0;

    if (x.e)
        e = farther(v, f(x.v - x.e), f(x.v + x.e));
    return rounded(v, e, ulps);
}

dcc_pair dcc_p_call2(double (*f)(double, double), dcc_pair x, dcc_pair y,
                     double ulps)
{
    double v = f(x.v, y.v), e = 0;

    if (x.e || y.e)
        e = fmax(farther(v, f(x.v - x.e, y.v - y.e), f(x.v + x.e, y.v - y.e)),
                 farther(v, f(x.v - x.e, y.v + y.e), f(x.v + x.e, y.v + y.e)));
    return rounded(v, e, ulps);
}

/* A kernel may compute exp(x) as exp2(x log2 e), off by u |x| before. */
dcc_pair dcc_p_exp(double (*f)(double), dcc_pair x)
{
    if (!isinf(x.v))
        x.e += 2 * DCC_REF_U * fabs(x.v);
    return dcc_p_call(f, x, 3);
}

dcc_pair dcc_p_fma(dcc_pair x, dcc_pair y, dcc_pair z)
{
    return dcc_p_add(dcc_p_mul(x, y), z);
}

dcc_pair dcc_p_mod(dcc_pair x, dcc_pair y)
{
    return dcc_p_call2(dcc_mod, x, y, 2);
}

static double floor_quotient(double a, double b)
{
    return (double)dcc_floordiv((int64_t)a, (int64_t)b);
}

dcc_pair dcc_p_idiv(dcc_pair x, dcc_pair y)
{
    double v = floor_quotient(x.v, y.v), e = 0;

    if (x.e || y.e)
        e = fmax(farther(v, floor_quotient(x.v - x.e, y.v - y.e),
                         floor_quotient(x.v + x.e, y.v - y.e)),
                 farther(v, floor_quotient(x.v - x.e, y.v + y.e),
                         floor_quotient(x.v + x.e, y.v + y.e)));
    return dcc_pair_of(e ? v : (double)dcc_wrap((int64_t)v), e);
}

dcc_pair dcc_p_imod(dcc_pair x, dcc_pair y)
{
    double v = (double)dcc_floormod((int64_t)x.v, (int64_t)y.v);

    return dcc_pair_of(v, x.e || y.e ? fabs(y.v) + y.e : 0);
}

/* [lo, hi] around v as a bound; the same infinity thrice is exact. */
static dcc_pair around(double v, double lo, double hi)
{
    if (lo == v && hi == v)
        return dcc_exact(v);
    return dcc_pair_of(v, fmax(fabs(hi - v), fabs(v - lo)));
}

dcc_pair dcc_p_min(dcc_pair x, dcc_pair y)
{
    return around(dcc_min(x.v, y.v), dcc_min(x.v - x.e, y.v - y.e),
                  dcc_min(x.v + x.e, y.v + y.e));
}

dcc_pair dcc_p_max(dcc_pair x, dcc_pair y)
{
    return around(dcc_max(x.v, y.v), dcc_max(x.v - x.e, y.v - y.e),
                  dcc_max(x.v + x.e, y.v + y.e));
}

dcc_pair dcc_p_abs(dcc_pair x)
{
    return dcc_pair_of(fabs(x.v), x.e);
}

dcc_pair dcc_p_iabs(dcc_pair x)
{
    return x.v < 0 ? dcc_p_ineg(x) : x;
}

/* ---- conditions ---- */

static dcc_pair condition(bool value, bool open)
{
    return dcc_pair_of(value, open);
}

static bool near(dcc_pair x, dcc_pair y)
{
    return (x.e || y.e) && fabs(x.v - y.v) <= x.e + y.e;
}

dcc_pair dcc_p_lt(dcc_pair x, dcc_pair y)
{
    return condition(x.v < y.v, near(x, y));
}

dcc_pair dcc_p_le(dcc_pair x, dcc_pair y)
{
    return condition(x.v <= y.v, near(x, y));
}

dcc_pair dcc_p_eq(dcc_pair x, dcc_pair y)
{
    return condition(x.v == y.v, near(x, y));
}

dcc_pair dcc_p_not(dcc_pair x)
{
    return condition(x.v == 0, x.e != 0);
}

dcc_pair dcc_p_and(dcc_pair x, dcc_pair y)
{
    if ((x.v == 0 && !x.e) || (y.v == 0 && !y.e))
        return dcc_exact(0);
    return condition(x.v != 0 && y.v != 0, x.e || y.e);
}

dcc_pair dcc_p_or(dcc_pair x, dcc_pair y)
{
    if ((x.v != 0 && !x.e) || (y.v != 0 && !y.e))
        return dcc_exact(1);
    return condition(x.v != 0 || y.v != 0, x.e || y.e);
}

dcc_pair dcc_p_select(dcc_pair c, dcc_pair x, dcc_pair y)
{
    dcc_pair p = c.v != 0 ? x : y, q = c.v != 0 ? y : x;

    if (c.e)
        p.e = fmax(p.e, fabs(p.v - q.v) + q.e);
    return p;
}

dcc_pair dcc_p_cast(dcc_pair x, dcc_type type)
{
    double v = dcc_ref_round(type, x.v);

    if (!x.e)
        return dcc_exact(v);
    return around(v, dcc_ref_round(type, x.v - x.e),
                  dcc_ref_round(type, x.v + x.e));
}

/* ---- reductions ---- */

dcc_fold dcc_fold_new(double start)
{
    dcc_fold f = {start, 0, 0, start, start, 0, 0};

    return f;
}

dcc_pair dcc_fold_end_sum(const dcc_fold *f, bool exact, bool narrow)
{
    double n = (double)f->n, steps = fmin(n, 8 * sqrt(n) + 4);

    if (exact)
        return dcc_pair_of((double)dcc_wrap((int64_t)f->v), f->e);
    if (isinf(f->v))
        return dcc_exact(f->v);
    if (narrow)
        steps += n / 4 + 2;
    return dcc_pair_of(f->v, f->e + DCC_REF_U * steps * f->size);
}

dcc_pair dcc_fold_end_extreme(const dcc_fold *f)
{
    return around(f->v, f->lo, f->hi);
}

dcc_pair dcc_fold_argmax(dcc_ref_value *const *arg, const int64_t *v,
                         int64_t extent,
                         dcc_pair (*term)(dcc_ref_value *const *arg,
                                          const int64_t *v, int64_t r))
{
    dcc_pair greatest = {NAN, 0};
    int64_t best = 0, reach = 0;

    for (int64_t r = 0; r < extent; r++) {
        dcc_pair t = term(arg, v, r);

        if (!isnan(t.v) && !(t.v <= greatest.v)) {
            greatest = t;
            best = r;
        }
    }
    for (int64_t r = 0; r < extent && !isinf(greatest.v); r++) {
        dcc_pair t = term(arg, v, r);

        if ((t.e || greatest.e) && t.v + t.e >= greatest.v - greatest.e)
            reach = dcc_imax(reach, dcc_iabs(r - best));
    }
    return dcc_pair_of((double)best, (double)reach);
}
