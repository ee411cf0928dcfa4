/* dcc_ref_dual.h - the oracle's arithmetic in dual numbers; an oracle that
 * checks gradients (`dcc verify --gradients`) includes it in place of the
 * arithmetic with bounds. v is a value in double and e its derivative in one
 * direction. Nothing is rounded but what becomes an integer. */
#ifndef DCC_REF_DUAL_H
#define DCC_REF_DUAL_H

static inline dcc_pair dcc_pair_of(double v, double e)
{
    dcc_pair p = {v, e};

    return p;
}

static inline dcc_pair dcc_exact(double v)
{
    return dcc_pair_of(v, 0);
}

static inline dcc_pair dcc_number(double v)
{
    return dcc_pair_of(v, 0);
}

static inline dcc_pair dcc_at(const dcc_ref_value *t, int64_t i)
{
    return dcc_pair_of(t->v[i], t->e[i]);
}

static inline int64_t dcc_index(dcc_pair p)
{
    return (int64_t)p.v;
}

/* f(v) whose derivative is d: a derivative of 0 times an infinite one is 0. */
static inline dcc_pair dcc_chain(double v, double d, double e)
{
    return dcc_pair_of(v, e == 0 ? 0 : d * e);
}

static inline dcc_pair dcc_p_add(dcc_pair x, dcc_pair y)
{
    return dcc_pair_of(x.v + y.v, x.e + y.e);
}

static inline dcc_pair dcc_p_neg(dcc_pair x)
{
    return dcc_pair_of(-x.v, -x.e);
}

static inline dcc_pair dcc_p_sub(dcc_pair x, dcc_pair y)
{
    return dcc_pair_of(x.v - y.v, x.e - y.e);
}

static inline dcc_pair dcc_p_mul(dcc_pair x, dcc_pair y)
{
    return dcc_pair_of(x.v * y.v, (x.e ? x.e * y.v : 0) +
                                      (y.e ? x.v * y.e : 0));
}

static inline dcc_pair dcc_p_div(dcc_pair x, dcc_pair y)
{
    double v = x.v / y.v;

    if (isinf(y.v) && !isinf(x.v)) /* 0, and stays there */
        return dcc_pair_of(v, 0);
    return dcc_pair_of(v, (x.e ? x.e / y.v : 0) - (y.e ? v * y.e / y.v : 0));
}

static inline dcc_pair dcc_p_fma(dcc_pair x, dcc_pair y, dcc_pair z)
{
    return dcc_p_add(dcc_p_mul(x, y), z);
}

static inline dcc_pair dcc_p_random(dcc_pair n, dcc_pair place, dcc_pair which)
{
    return dcc_exact(
        dcc_random((int64_t)n.v, (int64_t)place.v, (int64_t)which.v));
}

static inline dcc_pair dcc_p_mod(dcc_pair x, dcc_pair y)
{
    return dcc_pair_of(dcc_mod(x.v, y.v),
                       y.v == 0 ? 0 : x.e - y.e * floor(x.v / y.v));
}

/* ---- integers: they have no derivative */

static inline dcc_pair dcc_p_iadd(dcc_pair x, dcc_pair y)
{
    return dcc_exact((double)dcc_wrap((int64_t)(x.v + y.v)));
}

static inline dcc_pair dcc_p_isub(dcc_pair x, dcc_pair y)
{
    return dcc_exact((double)dcc_wrap((int64_t)(x.v - y.v)));
}

static inline dcc_pair dcc_p_imul(dcc_pair x, dcc_pair y)
{
    return dcc_exact((double)dcc_wrap((int64_t)((uint64_t)(int64_t)x.v *
                                                (uint64_t)(int64_t)y.v)));
}

static inline dcc_pair dcc_p_ineg(dcc_pair x)
{
    return dcc_exact((double)dcc_wrap(-(int64_t)x.v));
}

static inline dcc_pair dcc_p_iabs(dcc_pair x)
{
    return dcc_exact((double)dcc_wrap(dcc_iabs((int64_t)x.v)));
}

static inline dcc_pair dcc_p_idiv(dcc_pair x, dcc_pair y)
{
    return dcc_exact(
        (double)dcc_wrap(dcc_floordiv((int64_t)x.v, (int64_t)y.v)));
}

static inline dcc_pair dcc_p_imod(dcc_pair x, dcc_pair y)
{
    return dcc_exact((double)dcc_floormod((int64_t)x.v, (int64_t)y.v));
}

/* ---- conditions and choices */

static inline dcc_pair dcc_p_min(dcc_pair x, dcc_pair y)
{
    return x.v < y.v || y.v != y.v ? x : y;
}

static inline dcc_pair dcc_p_max(dcc_pair x, dcc_pair y)
{
    return x.v > y.v || y.v != y.v ? x : y;
}

static inline dcc_pair dcc_p_abs(dcc_pair x)
{
    return dcc_pair_of(fabs(x.v), x.v < 0 ? -x.e : x.v > 0 ? x.e : 0);
}

static inline dcc_pair dcc_p_lt(dcc_pair x, dcc_pair y)
{
    return dcc_exact(x.v < y.v);
}

static inline dcc_pair dcc_p_le(dcc_pair x, dcc_pair y)
{
    return dcc_exact(x.v <= y.v);
}

static inline dcc_pair dcc_p_eq(dcc_pair x, dcc_pair y)
{
    return dcc_exact(x.v == y.v);
}

static inline dcc_pair dcc_p_not(dcc_pair x)
{
    return dcc_exact(x.v == 0);
}

static inline dcc_pair dcc_p_and(dcc_pair x, dcc_pair y)
{
    return dcc_exact(x.v != 0 && y.v != 0);
}

static inline dcc_pair dcc_p_or(dcc_pair x, dcc_pair y)
{
    return dcc_exact(x.v != 0 || y.v != 0);
}

static inline dcc_pair dcc_p_select(dcc_pair c, dcc_pair x, dcc_pair y)
{
    return c.v != 0 ? x : y;
}

static inline dcc_pair dcc_p_cast(dcc_pair x, dcc_type type)
{
    if (type == DCC_F32 || type == DCC_F16 || type == DCC_BF16)
        return x;
    return dcc_exact(dcc_ref_round(type, x.v));
}

/* ---- functions */

static inline double dcc_stop(double x)
{
    return x;
}

static inline dcc_pair dcc_p_stop(dcc_pair x)
{
    return dcc_exact(x.v);
}

static inline double dcc_dual_first(double (*f)(double), double x, double y)
{
    if (f == sqrt)
        return 0.5 / y;
    if (f == dcc_rsqrt)
        return -0.5 * y / x;
    if (f == cbrt)
        return y / (3 * x);
    if (f == exp)
        return y;
    if (f == exp2)
        return y * M_LN2;
    if (f == expm1)
        return exp(x);
    if (f == log)
        return 1 / x;
    if (f == log2)
        return 1 / (x * M_LN2);
    if (f == log10)
        return 1 / (x * M_LN10);
    if (f == log1p)
        return 1 / (1 + x);
    if (f == erf || f == erfc)
        return (f == erf ? M_2_SQRTPI : -M_2_SQRTPI) * exp(-x * x);
    return 0;
}

static inline double dcc_dual_angle(double (*f)(double), double x)
{
    if (f == sin)
        return cos(x);
    if (f == cos)
        return -sin(x);
    if (f == tan)
        return 1 / (cos(x) * cos(x));
    if (f == asin || f == acos)
        return (f == asin ? 1 : -1) / sqrt((1 - x) * (1 + x));
    if (f == atan)
        return 1 / (1 + x * x);
    if (f == sinh)
        return cosh(x);
    if (f == cosh)
        return sinh(x);
    if (f == tanh)
        return 1 / (cosh(x) * cosh(x));
    if (f == asinh)
        return 1 / sqrt(x * x + 1);
    if (f == acosh)
        return 1 / sqrt((x - 1) * (x + 1));
    if (f == atanh)
        return 1 / ((1 - x) * (1 + x));
    return 0; /* floor, ceil, trunc, round, rint */
}

/* psi(x), by its recurrence up to 20 and the asymptotic series there. */
static inline double dcc_digamma(double x)
{
    double less = 0;

    if (x < 0.5)
        return dcc_digamma(1 - x) - M_PI / tan(M_PI * x);
    for (; x < 20; x++)
        less += 1 / x;
    double r = 1 / (x * x);
    return log(x) - 0.5 / x - r * (1 / 12.0 - r * (1 / 120.0 - r / 252)) -
           less;
}

static inline double dcc_dual_gamma(double (*f)(double), double x, double y)
{
    if (f == lgamma || f == tgamma)
        return (f == lgamma ? 1 : y) * dcc_digamma(x);
    return 0;
}

static inline dcc_pair dcc_p_call(double (*f)(double), dcc_pair x, double ulps)
{
    double y = f(x.v), d = dcc_dual_first(f, x.v, y);

    (void)ulps;
    d = d != 0 ? d : dcc_dual_gamma(f, x.v, y);
    return dcc_chain(y, d != 0 ? d : dcc_dual_angle(f, x.v), x.e);
}

static inline dcc_pair dcc_p_exp(double (*f)(double), dcc_pair x)
{
    return dcc_p_call(f, x, 0);
}

static inline dcc_pair dcc_p_call2(double (*f)(double, double), dcc_pair x,
                                   dcc_pair y, double ulps)
{
    double v = f(x.v, y.v), a = 0, b = 0;

    (void)ulps;
    if (f == pow) {
        a = y.v == 0 ? 0 : y.v * pow(x.v, y.v - 1);
        b = x.v > 0 ? v * log(x.v) : 0;
    } else if (f == atan2) {
        a = y.v / (x.v * x.v + y.v * y.v);
        b = -x.v / (x.v * x.v + y.v * y.v);
    } else if (f == fmod) {
        a = 1;
        b = -trunc(x.v / y.v);
    } else if (f == hypot) {
        a = x.v / v;
        b = y.v / v;
    } else if (f == copysign) {
        a = signbit(x.v) == signbit(y.v) ? 1 : -1;
    } else if (f == fdim) {
        a = x.v > y.v;
        b = -a;
    }
    return dcc_p_add(dcc_chain(v, a, x.e), dcc_chain(0, b, y.e));
}

/* ---- reductions */

typedef struct {
    dcc_pair p;
} dcc_fold;

static inline dcc_fold dcc_fold_new(double start)
{
    dcc_fold f = {{start, 0}};

    return f;
}

static inline void dcc_fold_sum(dcc_fold *f, dcc_pair t)
{
    f->p = dcc_p_add(f->p, t);
}

/* The first of equals. */
static inline void dcc_fold_max(dcc_fold *f, dcc_pair t)
{
    if (t.v > f->p.v)
        f->p = t;
}

static inline void dcc_fold_min(dcc_fold *f, dcc_pair t)
{
    if (t.v < f->p.v)
        f->p = t;
}

static inline dcc_pair dcc_fold_end_sum(const dcc_fold *f, bool exact,
                                        bool narrow)
{
    (void)narrow;
    return exact ? dcc_exact((double)dcc_wrap((int64_t)f->p.v)) : f->p;
}

static inline dcc_pair dcc_fold_end_extreme(const dcc_fold *f)
{
    return f->p;
}

static inline dcc_pair dcc_fold_argmax(
    dcc_ref_value *const *arg, const int64_t *v, int64_t extent,
    dcc_pair (*term)(dcc_ref_value *const *arg, const int64_t *v, int64_t r))
{
    double greatest = NAN;
    int64_t best = 0;

    for (int64_t r = 0; r < extent; r++) {
        double t = term(arg, v, r).v;
        if (!isnan(t) && !(t <= greatest)) {
            greatest = t;
            best = r;
        }
    }
    return dcc_exact((double)best);
}

#endif
