/* dcc_ref.h - the contract between an emitted oracle (`dcc --emit=ref`) and
 * its runtime, ref.c and ref_check.c. C only, libc only.
 *
 * The oracle is a model's meaning in double: one function per statement of
 * the model as written, before dcc optimises anything. Values are never
 * rounded where they are stored, only where a cast is written; integers are
 * exact. It does two things:
 *
 *   - `all` of a statement computes a whole tensor from whole tensors;
 *   - `point` computes one element together with a bound on what a correct
 *     f32 kernel may be off by (dcc_pair). With it, a trace of the emitted
 *     program is checked tensor by tensor, each from the tensors that were
 *     really in memory before it, so the tolerance is computed, not guessed.
 *
 * The bounds. u = 2^-24 is half an ulp of f32, |x| magnitudes, ex the bound of
 * x. Sums are bounded by u (|x| + |y|), not u |x + y|, so that they also hold
 * after the reassociations that dcc does (a norm's scale multiplied out).
 * A sum of n terms, in any order, is off by at most
 *     u sum|t| min(n, 8 sqrt(n) + 4) + sum of the terms' bounds;
 * the worst case n is Higham's gamma_n, 8 sqrt(n) the probabilistic bound of
 * Higham and Mary 2019 at lambda = 8 (fails once in 1e13 sums). Products of
 * 16-bit or tf32 factors run on tensor cores, which truncate partial sums, a
 * biased error: they get another n / 4. A store is correct if the value lies
 * between the roundings of both ends of the interval.
 */
#ifndef DCC_REF_H
#define DCC_REF_H

/* A judge that is compiled wrongly condemns what is right: gcc 12.2 vectorises
 * a sum over neighbours that are read in turned order with wrong terms. Sums
 * of doubles in their order gain nothing by it. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-vectorize")
#endif

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dcc_base.h"
#include "dcc_init.h"

/* ---- tables ---- */

typedef enum {
    DCC_REF_TEMP,
    DCC_REF_INPUT,
    DCC_REF_OUTPUT,
    DCC_REF_PARAM,
    DCC_REF_STATE
} dcc_ref_role;

typedef struct {
    const char *name;   /* with its block path: "layer.0.h" */
    const char *weight; /* parameter: its name in the weights file */
    int id;             /* "t<id>" in traces */
    dcc_type type;
    dcc_ref_role role;
    int rank;
    int64_t dim[DCC_MAX_RANK];
    int64_t lo, hi; /* integer inputs: drawn from [lo, hi) */
    int64_t fan_in; /* parameters: --random's variance is 1 / fan_in; 0: the
                       values are drawn from [0.5, 1.5) */
    double init;    /* state: the value before the first run; parameter: the
                       first number of `begin` */
    int begin;      /* parameter where no file has it: a dcc_begin */
    double spread;  /* its second number */
    int prev;       /* the version that a partial write keeps, or -1 */
    int next;       /* state's first version, or a parameter that runs write:
                       the number of its last one; else -1 */
    int stopped;    /* 1: its derivative is 0 (dual numbers only) */
} dcc_ref_tensor;

typedef struct dcc_ref_value dcc_ref_value;
typedef struct {
    double v, e;
} dcc_pair; /* a value and the bound on a kernel's deviation from it */

typedef struct {
    const char *path; /* "layer.0.h" */
    const char *at;   /* "mlp.dcl:9" */
    const int *arg;   /* tensor numbers: the one written, then those read */
    int n_arg;
    void (*all)(double *const *arg);
    /* One element, and where it goes: false if it is not written. */
    dcc_pair (*point)(dcc_ref_value *const *arg, const int64_t *v);
    bool (*store)(dcc_ref_value *const *arg, const int64_t *v,
                  int64_t *offset);
    /* argmax only: the term at one reduced index; else NULL. */
    dcc_pair (*term)(dcc_ref_value *const *arg, const int64_t *v, int64_t r);
    int n_out; /* variables that the statement is written for */
    const int64_t *extent;
    double terms;       /* evaluated per point */
    const int64_t *map; /* per dimension: constant, then one coefficient per
                           variable; NULL: the store is not affine */
} dcc_ref_stmt;

/* Numbers of tensors: `is` is the gradient of `loss` by `by`. */
typedef struct {
    int loss, by, is;
} dcc_ref_gradient;

typedef struct {
    const char *name;
    const dcc_ref_tensor *tensor;
    int n_tensor;
    const dcc_ref_stmt *stmt;
    int n_stmt;
    const dcc_ref_gradient *gradient; /* only to check them */
    int n_gradient;
} dcc_ref_model;

/* A tensor's elements while a trace is checked. Either all known exactly, or
 * evaluated one by one and remembered. */
struct dcc_ref_value {
    const dcc_ref_tensor *tensor;
    bool exact;
    double *v, *e;
    unsigned char *known;
    struct dcc_ref_check *check;
};

/* The oracle's command line (run it with --help). Exit status 0; 1 if a check
 * failed or a file does not fit; 2 bad command line; 3 no memory, unwritable
 * output. */
int dcc_ref_main(const dcc_ref_model *const *models, int n, int argc,
                 char **argv);

/* Element i of a tensor that is not wholly known (ref_check.c). */
dcc_pair dcc_ref_lazy(const dcc_ref_value *t, int64_t i);
/* The same of x where x - mean(x) is summed, which a program leaves out: the
 * mean may be of an x that its kernel rounded only to store it. */
dcc_pair dcc_ref_kept(const dcc_ref_value *t, int64_t i);

/* ---- scalars ---- */

/* Floor division and its remainder; 0 for a zero divisor. */
static inline int64_t dcc_floordiv(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t dcc_floormod(int64_t a, int64_t b)
{
    return b == 0 ? 0 : a - b * dcc_floordiv(a, b);
}

static inline int64_t dcc_imin(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t dcc_imax(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t dcc_iabs(int64_t a)
{
    return a < 0 ? -a : a;
}

/* As fmin and fmax: a NaN loses. */
static inline double dcc_min(double a, double b)
{
    return b < a || a != a ? b : a;
}

static inline double dcc_max(double a, double b)
{
    return b > a || a != a ? b : a;
}

static inline double dcc_rsqrt(double a)
{
    return 1 / sqrt(a);
}

static inline double dcc_mod(double a, double b)
{
    return b == 0 ? 0 : a - b * floor(a / b);
}

/* As dcc_device.cuh has it. */
static inline double dcc_random(int64_t n, int64_t place, int64_t which)
{
    const uint32_t counter[4] = {(uint32_t)place, (uint32_t)n, 0, 0};
    uint32_t r[4];

    dcc_philox(counter, (uint32_t)which, 0, r);
    return (double)(r[0] >> 8) * 0x1p-24;
}

/* i32 arithmetic wraps: where it is stored, divided, compared, converted. */
static inline int64_t dcc_wrap(int64_t a)
{
    return (int32_t)(uint32_t)(uint64_t)a;
}

/* The nearest value of a type: ties to even; integers truncated, saturated,
 * NaN is 0. */
double dcc_round_f16(double a);
double dcc_round_bf16(double a);
double dcc_round_f32(double a);
int64_t dcc_to_i8(double a);
int64_t dcc_to_u8(double a);
int64_t dcc_to_i32(double a);
double dcc_ref_round(dcc_type type, double a);

#if defined(_OPENMP)
#define DCC_PRAGMA(text) _Pragma(#text)
#else
#define DCC_PRAGMA(text)
#endif
/* The loops below may run in any order / in this order on several threads. */
#define DCC_PARALLEL DCC_PRAGMA(omp parallel for)
#define DCC_PARALLEL_2 DCC_PRAGMA(omp parallel for collapse(2))
#define DCC_PARALLEL_3 DCC_PRAGMA(omp parallel for collapse(3))
#define DCC_PARALLEL_4 DCC_PRAGMA(omp parallel for collapse(4))
#define DCC_SUM(name) DCC_PRAGMA(omp simd reduction(+ : name))

/* Of expressions so long that a compiler takes minutes to optimise them. */
#if defined __clang__
#define DCC_AS_WRITTEN __attribute__((optnone, noinline))
#elif defined __GNUC__
#define DCC_AS_WRITTEN __attribute__((optimize("O0")))
#else
#define DCC_AS_WRITTEN
#endif

#ifdef DCC_REF_DUAL
#include "dcc_ref_dual.h"
#else
/* ---- values with bounds ---- */

#define DCC_REF_U 0x1p-24     /* half an ulp of f32 at 1 */
#define DCC_REF_TINY 0x1p-126 /* below it f32 may be flushed to zero */

/* Relative error of a product in a contraction: 0, or more if the program was
 * built with --math=tf32 or 3xtf32 (so for the oracle, too). */
extern double dcc_ref_product;

static inline dcc_pair dcc_exact(double v)
{
    dcc_pair p = {v, 0};

    return p;
}

/* A number as it stands in the source: f32 in a kernel, and in what is compared
 * with it or taken from it there. */
static inline dcc_pair dcc_number(double v)
{
    const double kept = (double)(float)v;
    dcc_pair p = {isfinite(kept) ? kept : v, isfinite(v) ? fabs(v - kept) : 0};

    return p;
}

static inline dcc_pair dcc_at(const dcc_ref_value *t, int64_t i)
{
    return t->exact ? dcc_exact(t->v[i]) : dcc_ref_lazy(t, i);
}

static inline int64_t dcc_index(dcc_pair p)
{
    return (int64_t)p.v;
}

static inline dcc_pair dcc_pair_of(double v, double e)
{
    dcc_pair p = {v, e};

    return p;
}

static inline dcc_pair dcc_p_add(dcc_pair x, dcc_pair y)
{
    double v = x.v + y.v;

    if (isinf(v) && (isinf(x.v) || isinf(y.v)))
        return dcc_exact(v);
    return dcc_pair_of(v, x.e + y.e + DCC_REF_U * (fabs(x.v) + fabs(y.v)));
}

static inline dcc_pair dcc_p_neg(dcc_pair x)
{
    return dcc_pair_of(-x.v, x.e);
}

static inline dcc_pair dcc_p_sub(dcc_pair x, dcc_pair y)
{
    return dcc_p_add(x, dcc_p_neg(y));
}

static inline dcc_pair dcc_p_mul(dcc_pair x, dcc_pair y)
{
    double v = x.v * y.v, a = fabs(x.v), b = fabs(y.v);

    if (isinf(v) && (isinf(a) || isinf(b)))
        return dcc_exact(v);
    return dcc_pair_of(v, (x.e ? (b + y.e) * x.e : 0) + (y.e ? a * y.e : 0) +
                              (2 * DCC_REF_U + dcc_ref_product) * fabs(v) +
                              (v == 0 ? 0 : DCC_REF_TINY));
}

/* Integers: the same without rounding; they wrap, if they are exact. */
static inline dcc_pair dcc_p_ineg(dcc_pair x)
{
    return dcc_pair_of(x.e ? -x.v : (double)dcc_wrap((int64_t)-x.v), x.e);
}

static inline dcc_pair dcc_p_iadd(dcc_pair x, dcc_pair y)
{
    if (x.e + y.e == 0)
        return dcc_pair_of((double)dcc_wrap((int64_t)(x.v + y.v)), 0);
    return dcc_pair_of(x.v + y.v, x.e + y.e);
}

static inline dcc_pair dcc_p_isub(dcc_pair x, dcc_pair y)
{
    if (x.e + y.e == 0)
        return dcc_pair_of((double)dcc_wrap((int64_t)(x.v - y.v)), 0);
    return dcc_pair_of(x.v - y.v, x.e + y.e);
}

static inline dcc_pair dcc_p_imul(dcc_pair x, dcc_pair y)
{
    if (x.e + y.e == 0 && fabs(x.v) <= 0x1p31 && fabs(y.v) <= 0x1p31)
        return dcc_pair_of((double)dcc_wrap((int64_t)x.v * (int64_t)y.v), 0);
    return dcc_pair_of(x.v * y.v,
                       fabs(x.v) * y.e + fabs(y.v) * x.e + x.e * y.e);
}

dcc_pair dcc_p_div(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_mod(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_idiv(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_imod(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_min(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_max(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_abs(dcc_pair x);
dcc_pair dcc_p_iabs(dcc_pair x);
/* A comparison that the bounds leave open has e = 1. */
dcc_pair dcc_p_lt(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_le(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_eq(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_not(dcc_pair x);
dcc_pair dcc_p_and(dcc_pair x, dcc_pair y);
dcc_pair dcc_p_or(dcc_pair x, dcc_pair y);
/* With an open condition either value is right. */
dcc_pair dcc_p_select(dcc_pair c, dcc_pair x, dcc_pair y);
dcc_pair dcc_p_cast(dcc_pair x, dcc_type type);
/* f of one argument with the kernel's function off by at most `ulps`; the
 * argument's bound goes through the ends of its interval. */
dcc_pair dcc_p_call(double (*f)(double), dcc_pair x, double ulps);
/* The same of two arguments, at the corners. */
dcc_pair dcc_p_call2(double (*f)(double, double), dcc_pair x, dcc_pair y,
                     double ulps);
dcc_pair dcc_p_exp(double (*f)(double), dcc_pair x); /* exp, exp2, expm1 */
dcc_pair dcc_p_fma(dcc_pair x, dcc_pair y, dcc_pair z);

/* Of integers, which are exact. */
static inline dcc_pair dcc_p_random(dcc_pair n, dcc_pair place, dcc_pair which)
{
    return dcc_exact(
        dcc_random((int64_t)n.v, (int64_t)place.v, (int64_t)which.v));
}

/* A reduction while it runs. */
typedef struct {
    double v, e; /* of the result so far; e: sum of the terms' bounds */
    double size; /* sum of |terms| */
    double lo, hi;
    int64_t n, best;
} dcc_fold;

static inline void dcc_fold_sum(dcc_fold *f, dcc_pair t)
{
    f->v += t.v;
    f->e += t.e;
    f->size += fabs(t.v);
    f->n++;
}

static inline void dcc_fold_max(dcc_fold *f, dcc_pair t)
{
    f->v = dcc_max(f->v, t.v);
    f->lo = dcc_max(f->lo, t.v - t.e);
    f->hi = dcc_max(f->hi, t.v + t.e);
}

static inline void dcc_fold_min(dcc_fold *f, dcc_pair t)
{
    f->v = dcc_min(f->v, t.v);
    f->lo = dcc_min(f->lo, t.v - t.e);
    f->hi = dcc_min(f->hi, t.v + t.e);
}

dcc_fold dcc_fold_new(double start);
/* `exact`: integers. `narrow`: 16-bit factors, tensor cores. */
dcc_pair dcc_fold_end_sum(const dcc_fold *f, bool exact, bool narrow);
dcc_pair dcc_fold_end_extreme(const dcc_fold *f);
/* The first of the greatest; e reaches to the farthest term that rounding may
 * make as great. */
dcc_pair dcc_fold_argmax(dcc_ref_value *const *arg, const int64_t *v,
                         int64_t extent,
                         dcc_pair (*term)(dcc_ref_value *const *arg,
                                          const int64_t *v, int64_t r));
#endif /* DCC_REF_DUAL */

#endif
