/* ref_gradient.c - gradients against directional derivatives of the forward
 * pass (ref_main.h).
 *
 * The oracle is run in dual numbers: to every tensor w that a loss is
 * differentiated by a random direction d_w is added where it is made. The
 * derivative of the loss must be the sum of <gradient by w, d_w>. */
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

static void statement(Dual *d, const dcc_ref_stmt *s)
{
    dcc_ref_value **arg = ref_alloc((size_t)s->n_arg, sizeof *arg);
    int64_t v[64] = {0}, points = 1, offset;

    for (int k = 0; k < s->n_arg; k++)
        arg[k] = &d->value[s->arg[k]];
    for (int k = 0; k < s->n_out; k++)
        points *= s->extent[k];
    for (int64_t p = 0; p < points; p++) {
        for (int64_t k = s->n_out - 1, q = p; k >= 0; k--) {
            v[k] = q % s->extent[k];
            q /= s->extent[k];
        }
        if (!s->store(arg, v, &offset))
            continue;
        dcc_pair value = s->point(arg, v);
        const dcc_type type = arg[0]->tensor->type;
        bool is_float = type == DCC_F32 || type == DCC_F16 ||
                        type == DCC_BF16;
        arg[0]->v[offset] = is_float ? value.v
                                     : dcc_ref_round(type, value.v);
        arg[0]->e[offset] = is_float && !arg[0]->tensor->stopped ? value.e : 0;
    }
    free(arg);
}

static void run_dual(Dual *d)
{
    const dcc_ref_model *m = d->model;
    int *last = ref_alloc((size_t)m->n_tensor + 1, sizeof *last);
    bool *made = ref_alloc((size_t)m->n_tensor + 1, sizeof *made);

    for (int s = 0; s < m->n_stmt; s++)
        last[m->stmt[s].arg[0]] = s + 1;
    for (int i = 0; i < m->n_tensor; i++)
        if (!last[i])
            add_direction(d, i);
    for (int s = 0; s < m->n_stmt; s++) {
        const int to = m->stmt[s].arg[0], prev = m->tensor[to].prev;
        const size_t n = (size_t)ref_count(&m->tensor[to]);

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
}

/* ---- comparing */

typedef struct {
    double got, want, size; /* size: |gradient| |direction| */
} Match;

/* What the gradients say of the loss's derivative, and what it is. */
static Match match(Dual *d)
{
    const dcc_ref_model *m = d->model;
    Match r = {0, d->value[d->loss].e[0], 0};

    for (int g = 0; g < m->n_gradient; g++) {
        const dcc_ref_gradient *x = &m->gradient[g];
        double a = 0, b = 0;
        if (x->loss != d->loss || (d->only >= 0 && d->only != g))
            continue;
        for (int64_t k = 0; k < ref_count(&m->tensor[x->by]); k++) {
            double w = component(d, x->by, k), v = d->value[x->is].v[k];
            r.got += v * w;
            a += v * v;
            b += w * w;
        }
        r.size += sqrt(a) * sqrt(b);
    }
    return r;
}

static Match measure(const RefRun *run, int loss, int only, uint64_t seed)
{
    Dual d = {run, run->model, NULL, loss, only, seed};

    start(&d);
    run_dual(&d);
    Match r = match(&d);
    stop(&d);
    return r;
}

static bool agrees(Match r)
{
    return fabs(r.got - r.want) <= 1e-9 * r.size;
}

static void name_wrong(const RefRun *run, int loss, uint64_t seed)
{
    const dcc_ref_model *m = run->model;

    for (int g = 0; g < m->n_gradient; g++) {
        if (m->gradient[g].loss != loss)
            continue;
        Match r = measure(run, loss, g, seed);
        if (!agrees(r))
            printf("  WRONG gradient of %s by %s: along a direction %.12g, "
                   "the loss changes by %.12g; allowed %.2g\n",
                   m->tensor[loss].name, m->tensor[m->gradient[g].by].name,
                   r.got, r.want, 1e-9 * r.size);
    }
}

static bool is_first(const dcc_ref_model *m, int g)
{
    for (int i = 0; i < g; i++)
        if (m->gradient[i].loss == m->gradient[g].loss)
            return false;
    return true;
}

bool ref_gradients(const RefRun *run, int directions, uint64_t seed)
{
    const dcc_ref_model *m = run->model;
    bool good = true;

    for (int g = 0; g < m->n_gradient; g++) {
        const int loss = m->gradient[g].loss;
        double worst = 0;
        int n = 0;
        if (!is_first(m, g))
            continue;
        for (int i = g; i < m->n_gradient; i++)
            n += m->gradient[i].loss == loss;
        bool fine = true;
        for (int i = 0; i < directions && fine; i++) {
            Match r = measure(run, loss, -1, seed + (uint64_t)i);
            double off = fabs(r.got - r.want);
            fine = agrees(r);
            worst = r.size > 0 ? fmax(worst, off / r.size) : worst;
        }
        printf("  %s: %d gradient%s, %d direction%s; worst error %.2g of "
               "|gradient| |direction|, allowed 1e-09\n",
               m->tensor[loss].name, n, n == 1 ? "" : "s", directions,
               directions == 1 ? "" : "s", worst);
        if (!fine)
            name_wrong(run, loss, seed);
        good &= fine;
    }
    if (!m->n_gradient)
        printf("  no output depends on floats: there is no gradient\n");
    return good;
}
