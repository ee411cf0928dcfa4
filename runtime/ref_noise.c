/* ref_noise.c - what rounding does to outputs, measured (ref_main.h).
 *
 * Bounds that go through a whole network, as ref_ends has them, add up the
 * worst of every step, and soon say nothing. Here each element that a statement
 * stores is off by a random part of what this statement alone may be off by,
 * and by half a place of its type, and the rest follows from it. */
#include <stdlib.h>
#include <string.h>

#include "ref_main.h"

enum { TRIES = 4 };

typedef struct {
    const RefRun *run;
    const dcc_ref_model *model;
    dcc_ref_value *value; /* one per tensor, all exact */
    uint64_t seed;
} Noise;

static void start(Noise *x)
{
    const dcc_ref_model *m = x->model;

    x->value = ref_alloc((size_t)m->n_tensor + 1, sizeof *x->value);
    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];
        const size_t n = (size_t)ref_count(t);
        const bool given = t->role == DCC_REF_PARAM || t->role == DCC_REF_INPUT;
        double *v = ref_alloc(n, sizeof *v);

        x->value[i] = (dcc_ref_value){.tensor = t, .exact = true, .v = v};
        if (given && x->run->t[i])
            memcpy(v, x->run->t[i], n * sizeof *v);
        for (size_t k = 0; k < n && t->role == DCC_REF_STATE; k++)
            v[k] = dcc_ref_round(t->type, t->init);
    }
}

static void stop(Noise *x)
{
    for (int i = 0; i < x->model->n_tensor; i++)
        free(x->value[i].v);
    free(x->value);
}

/* From -1 to 1. */
static double draw(const Noise *x, int stmt, int64_t p)
{
    uint64_t s = x->seed * 1000003u + (uint64_t)stmt * 0x9e3779b97f4a7c15u +
                 (uint64_t)p * 0xbf58476d1ce4e5b9u;

    return (double)(ref_random(&s) >> 11) * 0x1p-52 - 1;
}

static void point(const Noise *x, int stmt, dcc_ref_value **arg, int64_t p)
{
    const dcc_ref_stmt *s = &x->model->stmt[stmt];
    const dcc_type type = arg[0]->tensor->type;
    int64_t v[64] = {0}, offset, rest = p;

    for (int64_t k = s->n_out - 1; k >= 0; k--) {
        v[k] = rest % s->extent[k];
        rest /= s->extent[k];
    }
    if (!s->store(arg, v, &offset))
        return;
    dcc_pair value = s->point(arg, v);
    double off = value.e + ref_half_place(type, value.v);
    if (ref_is_float(type) && isfinite(value.v) && isfinite(off))
        value.v += draw(x, stmt, p) * off;
    arg[0]->v[offset] = ref_is_float(type) ? value.v
                                           : dcc_ref_round(type, value.v);
}

static double points_of(const dcc_ref_stmt *s)
{
    double points = 1;

    for (int k = 0; k < s->n_out; k++)
        points *= (double)s->extent[k];
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

static void statement(const Noise *x, int stmt)
{
    const dcc_ref_stmt *s = &x->model->stmt[stmt];
    dcc_ref_value **arg = ref_alloc((size_t)s->n_arg, sizeof *arg);
    const int64_t points = (int64_t)points_of(s);
    const double much = 1e6;

    for (int k = 0; k < s->n_arg; k++)
        arg[k] = &x->value[s->arg[k]];
    if (!s->map || reads_itself(s) || points_of(s) * s->terms <= much) {
        for (int64_t p = 0; p < points; p++)
            point(x, stmt, arg, p);
    } else {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 64)
#endif
        for (int64_t p = 0; p < points; p++)
            point(x, stmt, arg, p);
    }
    free(arg);
}

/* As ref_run does: states and parameters begin as the run before left them, a
 * partial write keeps what was there. */
static void run_once(const Noise *x, bool again)
{
    const dcc_ref_model *m = x->model;
    bool *made = ref_alloc((size_t)m->n_tensor + 1, sizeof *made);

    for (int i = 0; i < m->n_tensor && again; i++) {
        const int next = m->tensor[i].next;

        if (next >= 0 && next != i)
            memcpy(x->value[i].v, x->value[next].v,
                   (size_t)ref_count(&m->tensor[i]) * sizeof(double));
    }
    for (int s = 0; s < m->n_stmt; s++) {
        const int to = m->stmt[s].arg[0], prev = m->tensor[to].prev;

        if (!made[to] && prev >= 0)
            memcpy(x->value[to].v, x->value[prev].v,
                   (size_t)ref_count(&m->tensor[to]) * sizeof(double));
        made[to] = true;
        statement(x, s);
    }
    free(made);
}

/* How far every output is from what run->t has. */
static void compare(const Noise *x, double *noise)
{
    const dcc_ref_model *m = x->model;

    for (int i = 0; i < m->n_tensor; i++) {
        if (m->tensor[i].role != DCC_REF_OUTPUT ||
            !ref_is_float(m->tensor[i].type))
            continue;
        for (int64_t k = 0; k < ref_count(&m->tensor[i]); k++) {
            double off = fabs(x->value[i].v[k] - x->run->t[i][k]);

            if (isfinite(off))
                noise[i] = fmax(noise[i], off);
        }
    }
}

double *ref_noise(const RefRun *run, int runs, double budget, double *most)
{
    const dcc_ref_model *m = run->model;
    double *noise = ref_alloc((size_t)m->n_tensor + 1, sizeof *noise);
    double cost = 0;

    *most = 0;
    for (int s = 0; s < m->n_stmt; s++)
        cost += points_of(&m->stmt[s]) * m->stmt[s].terms * runs * TRIES;
    for (int try = 0; try < TRIES && cost <= budget; try++) {
        Noise x = {.run = run, .model = m, .seed = (uint64_t)try};

        start(&x);
        for (int r = 0; r < runs; r++)
            run_once(&x, r > 0);
        compare(&x, noise);
        *most = ref_greatest(m, x.value);
        stop(&x);
    }
    return noise;
}
