/* ref_gradient.c - gradients against directional derivatives of the forward
 * pass (ref_main.h).
 *
 * The oracle is run in dual numbers: to every tensor w that a loss is
 * differentiated by a random direction d_w is added where it is made. The
 * derivative of the loss must be the sum of <gradient by w, d_w>. Values, and
 * so gradients, are the same for every direction: the first one makes all, the
 * others what the loss depends on.
 *
 * Where a gradient is 0, or little beside what it is added up from, doubles
 * have nothing but rounding there: what that is, is measured. With every number
 * rounded where it is stored both sides move by what they have lost, in
 * proportion to the rounding; equal numbers stay equal, so that a greatest one
 * stays where it is. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref_main.h"

typedef struct {
    const RefRun *run;
    const dcc_ref_model *model;
    dcc_ref_value *value;
    int loss;      /* the tensor whose gradients are looked at */
    int only;      /* of them the one whose direction is not 0; -1: all */
    uint64_t seed;
    bool whole;    /* run all, not what the loss depends on alone */
    int digits;    /* binary, that what is stored is rounded to; 0: all */
} Dual;

/* ---- running */

static void start(Dual *d)
{
    const dcc_ref_model *m = d->model;

    d->value = ref_alloc((size_t)m->n_tensor + 1, sizeof *d->value);
    for (int i = 0; i < m->n_tensor; i++) {
        dcc_ref_value *x = &d->value[i];
        const size_t n = (size_t)ref_count(&m->tensor[i]);

        x->tensor = &m->tensor[i];
        x->v = ref_alloc(n, sizeof(double));
        x->e = ref_alloc(n, sizeof(double));
        if (d->run->t[i])
            memcpy(x->v, d->run->t[i], n * sizeof(double));
        for (size_t k = 0; k < n && m->tensor[i].role == DCC_REF_STATE; k++)
            x->v[k] = m->tensor[i].init;
    }
}

static void stop(Dual *d)
{
    for (int i = 0; i < d->model->n_tensor; i++) {
        free(d->value[i].v);
        free(d->value[i].e);
    }
    free(d->value);
}

static double kept(const Dual *d, double x)
{
    int exponent = 0;

    if (!d->digits || !isfinite(x))
        return x;
    x = nearbyint(ldexp(frexp(x, &exponent), d->digits));
    return ldexp(x, exponent - d->digits);
}

/* A direction's component, from -1 to 1. */
static double component(const Dual *d, int tensor, int64_t k)
{
    uint64_t s = d->seed * 1000003u + (uint64_t)tensor * 0x9e3779b97f4a7c15u +
                 (uint64_t)k * 0xbf58476d1ce4e5b9u;

    return (double)(ref_random(&s) >> 11) * 0x1p-52 - 1;
}

static bool moves(const Dual *d, int tensor)
{
    const dcc_ref_model *m = d->model;

    for (int g = 0; g < m->n_gradient; g++)
        if (m->gradient[g].loss == d->loss && m->gradient[g].by == tensor)
            return d->only < 0 || d->only == g;
    return false;
}

static void add_direction(Dual *d, int tensor)
{
    dcc_ref_value *x = &d->value[tensor];

    if (!moves(d, tensor))
        return;
    for (int64_t k = 0; k < ref_count(x->tensor); k++)
        x->e[k] += component(d, tensor, k);
}

static void point(const Dual *d, const dcc_ref_stmt *s, dcc_ref_value **arg,
                  int64_t p)
{
    const dcc_type type = arg[0]->tensor->type;
    const bool is_float = type == DCC_F32 || type == DCC_F16 ||
                          type == DCC_BF16;
    int64_t v[64] = {0}, offset;

    for (int64_t k = s->n_out - 1; k >= 0; k--) {
        v[k] = p % s->extent[k];
        p /= s->extent[k];
    }
    if (!s->store(arg, v, &offset))
        return;
    dcc_pair value = s->point(arg, v);
    arg[0]->v[offset] = is_float ? kept(d, value.v)
                                 : dcc_ref_round(type, value.v);
    arg[0]->e[offset] =
        is_float && !arg[0]->tensor->stopped ? kept(d, value.e) : 0;
}

static int64_t points_of(const dcc_ref_stmt *s)
{
    int64_t points = 1;

    for (int k = 0; k < s->n_out; k++)
        points *= s->extent[k];
    return points;
}

/* Does it read what it writes? Then its points have an order. */
static bool reads_itself(const dcc_ref_stmt *s)
{
    for (int k = 1; k < s->n_arg; k++)
        if (s->arg[k] == s->arg[0])
            return true;
    return false;
}

static void statement(Dual *d, const dcc_ref_stmt *s)
{
    dcc_ref_value **arg = ref_alloc((size_t)s->n_arg, sizeof *arg);
    const int64_t points = points_of(s);
    const double work = (double)points * s->terms, much = 1e7;

    for (int k = 0; k < s->n_arg; k++)
        arg[k] = &d->value[s->arg[k]];
    if (!s->map || reads_itself(s) || work <= much) {
        for (int64_t p = 0; p < points; p++)
            point(d, s, arg, p);
    } else {
#pragma omp parallel for schedule(dynamic, 64)
        for (int64_t p = 0; p < points; p++)
            point(d, s, arg, p);
    }
    free(arg);
}

/* What the loss depends on, as statements; all where d->whole. */
static bool *needed(const Dual *d)
{
    const dcc_ref_model *m = d->model;
    bool *tensor = ref_alloc((size_t)m->n_tensor + 1, sizeof *tensor);
    bool *stmt = ref_alloc((size_t)m->n_stmt + 1, sizeof *stmt);

    tensor[d->loss] = true;
    for (int s = m->n_stmt - 1; s >= 0; s--) {
        const int to = m->stmt[s].arg[0], prev = m->tensor[to].prev;
        stmt[s] = d->whole || tensor[to];
        for (int k = 1; stmt[s] && k < m->stmt[s].n_arg; k++)
            tensor[m->stmt[s].arg[k]] = true;
        if (stmt[s] && prev >= 0)
            tensor[prev] = true;
    }
    free(tensor);
    return stmt;
}

static void run_dual(Dual *d)
{
    const dcc_ref_model *m = d->model;
    int *last = ref_alloc((size_t)m->n_tensor + 1, sizeof *last);
    bool *made = ref_alloc((size_t)m->n_tensor + 1, sizeof *made);
    bool *runs = needed(d);

    for (int s = 0; s < m->n_stmt; s++)
        last[m->stmt[s].arg[0]] = s + 1;
    for (int i = 0; i < m->n_tensor; i++)
        if (!last[i])
            add_direction(d, i);
    for (int s = 0; s < m->n_stmt; s++) {
        const int to = m->stmt[s].arg[0], prev = m->tensor[to].prev;
        const size_t n = (size_t)ref_count(&m->tensor[to]);

        if (!runs[s])
            continue;
        if (!made[to] && prev >= 0) {
            memcpy(d->value[to].v, d->value[prev].v, n * sizeof(double));
            memcpy(d->value[to].e, d->value[prev].e, n * sizeof(double));
        }
        made[to] = true;
        statement(d, &m->stmt[s]);
        if (last[to] == s + 1)
            add_direction(d, to);
    }
    free(last);
    free(made);
    free(runs);
}

/* ---- comparing */

typedef struct {
    double got, want, size; /* size: |gradient| |direction| */
} Match;

/* What the gradients say of the loss's derivative; d was run along a direction,
 * `whole` has the gradients. */
static Match match(const Dual *d, const Dual *whole)
{
    const dcc_ref_model *m = d->model;
    Match r = {0, d->value[d->loss].e[0], 0};

    for (int g = 0; g < m->n_gradient; g++) {
        const dcc_ref_gradient *x = &m->gradient[g];
        double a = 0, b = 0;
        if (x->loss != d->loss || (d->only >= 0 && d->only != g))
            continue;
        for (int64_t k = 0; k < ref_count(&m->tensor[x->by]); k++) {
            double w = component(d, x->by, k), v = whole->value[x->is].v[k];
            r.got += v * w;
            a += v * v;
            b += w * w;
        }
        r.size += sqrt(a) * sqrt(b);
    }
    return r;
}

static Match measure(const Dual *whole, int only, uint64_t seed)
{
    Dual d = {whole->run, whole->model, NULL, whole->loss, only, seed, false,
              0};

    start(&d);
    run_dual(&d);
    Match r = match(&d, whole);
    stop(&d);
    return r;
}

/* How far the gradients are apart, times the direction's length. */
static double apart(const Dual *d, const Dual *whole)
{
    const dcc_ref_model *m = d->model;
    double most = 0;

    for (int g = 0; g < m->n_gradient; g++) {
        const dcc_ref_gradient *x = &m->gradient[g];
        double a = 0, b = 0;
        if (x->loss != d->loss || (d->only >= 0 && d->only != g))
            continue;
        for (int64_t k = 0; k < ref_count(&m->tensor[x->by]); k++) {
            double w = component(d, x->by, k);
            double off = d->value[x->is].v[k] - whole->value[x->is].v[k];
            a += off * off;
            b += w * w;
        }
        most += sqrt(a) * sqrt(b);
    }
    return most;
}

/* What doubles may leave of either side: of two roundings the one that says
 * less, as a number on a corner may move by more than its rounding. */
static double rounding_of(const Dual *whole, int only, uint64_t seed, Match r)
{
    static const int digits[] = {24, 44};
    const double margin = 16;
    double least = INFINITY;

    for (int i = 0; i < 2; i++) {
        Dual d = {whole->run, whole->model, NULL, whole->loss, only, seed,
                  true, digits[i]};
        start(&d);
        run_dual(&d);
        double off = apart(&d, whole) + fabs(match(&d, &d).want - r.want);
        stop(&d);
        if (!isfinite(off))
            return 0;
        least = fmin(least, margin * ldexp(off, digits[i] - DBL_MANT_DIG));
    }
    return least;
}

/* *rounding: how much of it was needed, if any. */
static bool agrees(const Dual *whole, int only, uint64_t seed, Match r,
                   double *rounding)
{
    const double off = fabs(r.got - r.want);

    if (off <= 1e-9 * r.size)
        return true;
    *rounding = rounding_of(whole, only, seed, r);
    return off <= 1e-9 * r.size + *rounding;
}

static void name_wrong(const Dual *whole)
{
    const dcc_ref_model *m = whole->model;

    for (int g = 0; g < m->n_gradient; g++) {
        if (m->gradient[g].loss != whole->loss)
            continue;
        Match r = measure(whole, g, whole->seed);
        double rounding = 0;
        if (!agrees(whole, g, whole->seed, r, &rounding))
            printf("  WRONG gradient of %s by %s: along a direction %.12g, "
                   "the loss changes by %.12g; allowed %.2g\n",
                   m->tensor[whole->loss].name,
                   m->tensor[m->gradient[g].by].name, r.got, r.want,
                   1e-9 * r.size + rounding);
    }
}

static bool is_first(const dcc_ref_model *m, int g)
{
    for (int i = 0; i < g; i++)
        if (m->gradient[i].loss == m->gradient[g].loss)
            return false;
    return true;
}

/* One loss's gradients along so many directions. */
static bool check_loss(const RefRun *run, int loss, int n, int directions,
                       uint64_t seed)
{
    const dcc_ref_model *m = run->model;
    Dual whole = {run, m, NULL, loss, -1, seed, true, 0};
    double worst = 0, rounding = 0;
    bool fine = true;

    start(&whole);
    run_dual(&whole);
    for (int i = 0; i < directions && fine; i++) {
        Match r = i ? measure(&whole, -1, seed + (uint64_t)i)
                    : match(&whole, &whole);
        double off = fabs(r.got - r.want), one = 0;
        fine = agrees(&whole, -1, seed + (uint64_t)i, r, &one);
        rounding = fmax(rounding, one);
        worst = r.size > 0 ? fmax(worst, off / r.size) : worst;
    }
    printf("  %s: %d gradient%s, %d direction%s; worst error %.2g of "
           "|gradient| |direction|, allowed 1e-09",
           m->tensor[loss].name, n, n == 1 ? "" : "s", directions,
           directions == 1 ? "" : "s", worst);
    if (fine && rounding > 0)
        printf(", or %.2g, as rounding may leave that where it cancels",
               rounding);
    printf("\n");
    fflush(stdout);
    if (!fine)
        name_wrong(&whole);
    stop(&whole);
    return fine;
}

bool ref_gradients(const RefRun *run, int directions, uint64_t seed)
{
    const dcc_ref_model *m = run->model;
    bool good = true;

    for (int g = 0; g < m->n_gradient; g++) {
        int n = 0;
        if (!is_first(m, g))
            continue;
        for (int i = g; i < m->n_gradient; i++)
            n += m->gradient[i].loss == m->gradient[g].loss;
        good &= check_loss(run, m->gradient[g].loss, n, directions, seed);
    }
    if (!m->n_gradient)
        printf("  no output depends on floats: there is no gradient\n");
    return good;
}
