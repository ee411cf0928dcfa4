/* ref_check.c - checks a program's trace against the oracle (ref_main.h).
 *
 * A tensor of the trace is recomputed from the nearest tensors that were in
 * memory: other traced ones, parameters, inputs, initial states. What lies
 * between was never stored by the program; it is evaluated element by element
 * when asked for, with its bound, and remembered. A 16-bit tensor that the
 * same kernel stored may have been used before it was rounded: it is read
 * with half a place as its bound. A statement that would take more than
 * `budget` terms is checked at its corners, along its edges and at POINTS
 * seeded points, unless it has no more than that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref_main.h"

enum { POINTS = 4096, EDGE_POINTS = 64, MAX_VARS = 16 };

typedef struct dcc_ref_check {
    const dcc_ref_model *model;
    dcc_ref_value *value;    /* one per tensor */
    dcc_ref_value ***arg;    /* per statement, as its functions want them */
    int *first_writer;       /* per tensor: statement, or -1 */
    int *next_writer;        /* per statement: of the same tensor, or -1 */
    unsigned char *scattered; /* per statement: wholly evaluated in `round` */
    int *step;               /* per tensor: the kernel that stored it, or -1 */
    int now;                 /* the kernel whose results are checked */
    unsigned char round;     /* what is remembered counts if marked with it */
    double budget;
    uint64_t seed;
} Check;

/* What checking one tensor found. */
typedef struct {
    int64_t points, wrong;
    double worst; /* error / bound */
    int64_t where;
    double got;
    dcc_pair want;
    const dcc_ref_stmt *stmt;
    bool all;
} Finding;

/* ---- evaluating what was never stored ---- */

double ref_half_place(dcc_type type, double a)
{
    if (a == 0 || !isfinite(a))
        return 0;
    switch (type) {
    case DCC_F16:
        return fmax(0x1p-25, ldexp(1, ilogb(a) - 11));
    case DCC_BF16:
        return ldexp(1, ilogb(a) - 8);
    case DCC_F32:
        return ldexp(1, ilogb(a) - 24);
    default:
        return 0;
    }
}

static void remember(dcc_ref_value *t, int64_t i, dcc_pair p)
{
    t->v[i] = p.v;
    t->e[i] = p.e;
    __atomic_store_n(&t->known[i], t->check->round, __ATOMIC_RELEASE);
}

static bool is_known(const dcc_ref_value *t, int64_t i)
{
    return __atomic_load_n(&t->known[i], __ATOMIC_ACQUIRE) == t->check->round;
}

/* The most that rounding a multiple of `a` to the type is off, of a itself: a
 * power of two is the least of those with its places. */
static double any_place(dcc_type type, double a)
{
    double unit = type == DCC_F16 ? 0x1p-11 : type == DCC_BF16 ? 0x1p-8 : 0;

    return fmax(ref_half_place(type, a), isfinite(a) ? unit * a : 0);
}

/* A kernel may keep a value that it need not store in f32, or round it, or a
 * multiple of it that a sum is of: exp(x - m) in place of that over its sum. */
static dcc_pair unstored(const dcc_ref_value *t, dcc_pair p)
{
    if (t->tensor->type != DCC_F32)
        p.e += any_place(t->tensor->type, fabs(p.v) + p.e);
    return p;
}

dcc_pair dcc_ref_kept(const dcc_ref_value *t, int64_t i)
{
    return t->exact ? unstored(t, dcc_exact(t->v[i])) : dcc_ref_lazy(t, i);
}

/* The statement's variables where it writes `at`, by its affine map: in every
 * dimension the variables, taken from the largest coefficient to the least,
 * are the digits of the index. */
static bool invert(const dcc_ref_stmt *s, int rank, const int64_t *at,
                   int64_t *v)
{
    bool found[MAX_VARS] = {false};

    memset(v, 0, MAX_VARS * sizeof *v);
    for (int d = 0; d < rank; d++) {
        const int64_t *map = s->map + d * (1 + s->n_out);
        int64_t rest = at[d] - map[0];
        int64_t below = INT64_MAX;

        for (;;) {
            int best = -1;

            for (int k = 0; k < s->n_out; k++)
                if (map[1 + k] && dcc_iabs(map[1 + k]) < below &&
                    (best < 0 ||
                     dcc_iabs(map[1 + k]) > dcc_iabs(map[1 + best])))
                    best = k;
            if (best < 0)
                break;
            below = dcc_iabs(map[1 + best]);
            if (!found[best])
                v[best] = dcc_floordiv(rest, map[1 + best]);
            found[best] = true;
            if (v[best] < 0 || v[best] >= s->extent[best])
                return false;
            rest -= v[best] * map[1 + best];
        }
        if (rest)
            return false;
    }
    return true;
}

static void indices(const dcc_ref_tensor *t, int64_t offset, int64_t *at)
{
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = offset % t->dim[d];
        offset /= t->dim[d];
    }
}

static double points_of(const dcc_ref_stmt *s)
{
    double n = 1;

    for (int k = 0; k < s->n_out; k++)
        n *= (double)s->extent[k];
    return n;
}

static void point_number(const dcc_ref_stmt *s, int64_t p, int64_t *v)
{
    for (int k = s->n_out - 1; k >= 0; k--) {
        v[k] = p % s->extent[k];
        p /= s->extent[k];
    }
}

/* Every element that a statement writes, where its store cannot be inverted. */
static void scatter(Check *c, int stmt)
{
    const dcc_ref_stmt *s = &c->model->stmt[stmt];
    const int64_t n = (int64_t)points_of(s);
    dcc_ref_value *t = &c->value[s->arg[0]];
    int64_t v[MAX_VARS], offset;

    if (__atomic_load_n(&c->scattered[stmt], __ATOMIC_ACQUIRE) == c->round)
        return;
    for (int64_t p = 0; p < n; p++) {
        point_number(s, p, v);
        if (s->store(c->arg[stmt], v, &offset))
            remember(t, offset, unstored(t, s->point(c->arg[stmt], v)));
    }
    __atomic_store_n(&c->scattered[stmt], c->round, __ATOMIC_RELEASE);
}

static void make_room(dcc_ref_value *t)
{
    const size_t n = (size_t)ref_count(t->tensor);

    t->v = ref_alloc(n, sizeof(double));
    t->e = ref_alloc(n, sizeof(double));
    t->known = ref_alloc(n, 1);
}

dcc_pair dcc_ref_lazy(const dcc_ref_value *ct, int64_t i)
{
    dcc_ref_value *t = (dcc_ref_value *)ct;
    Check *c = t->check;
    const int number = (int)(t->tensor - c->model->tensor);
    int64_t at[DCC_MAX_RANK], v[MAX_VARS], offset;

    if (c->step[number] >= 0) /* stored by the kernel that reads it here */
        return unstored(t, dcc_exact(t->v[i]));
    if (is_known(t, i))
        return dcc_pair_of(t->v[i], t->e[i]);
    indices(t->tensor, i, at);
    for (int s = c->first_writer[number]; s >= 0; s = c->next_writer[s]) {
        const dcc_ref_stmt *stmt = &c->model->stmt[s];

        if (!stmt->map) {
            scatter(c, s);
        } else if (invert(stmt, t->tensor->rank, at, v) &&
                   stmt->store(c->arg[s], v, &offset) && offset == i) {
            remember(t, i, unstored(t, stmt->point(c->arg[s], v)));
        }
        if (is_known(t, i))
            return dcc_pair_of(t->v[i], t->e[i]);
    }
    if (t->tensor->prev < 0)
        return dcc_exact(0);
    remember(t, i, dcc_at(&c->value[t->tensor->prev], i));
    return dcc_pair_of(t->v[i], t->e[i]);
}

/* ---- checking one statement ---- */

/* The least and the greatest value that may stand in memory. */
static void allowed(dcc_type type, dcc_pair p, double *lo, double *hi)
{
    if (type == DCC_BOOL) {
        *lo = fmax(0, p.v - p.e);
        *hi = fmin(1, p.v + p.e);
        return;
    }
    *lo = p.e ? dcc_ref_round(type, p.v - p.e) : dcc_ref_round(type, p.v);
    *hi = p.e ? dcc_ref_round(type, p.v + p.e) : *lo;
}

/* Error over bound, at most 1 if it is correct. The error is what is left
 * when the rounding of the store is taken off. */
static double ratio(dcc_type type, double got, dcc_pair p)
{
    double lo, hi, error;

    if (isnan(p.v) || isnan(p.e) || isinf(p.e))
        return isnan(p.v) && !isnan(got) ? INFINITY : 0;
    if (isnan(got))
        return INFINITY;
    allowed(type, p, &lo, &hi);
    error = got == p.v || lo == hi
                ? 0
                : fmax(0, fabs(got - p.v) - ref_half_place(type, got));
    if (got >= lo && got <= hi)
        return p.e && isfinite(error) ? fmin(1, error / p.e) : 0;
    return p.e ? fmax(1.000001, fabs(got - p.v) / p.e) : INFINITY;
}

static void look(Finding *f, const dcc_ref_value *t, int64_t offset,
                 dcc_pair want, const dcc_ref_stmt *stmt)
{
    double r = ratio(t->tensor->type, t->v[offset], want);

    f->points++;
    f->wrong += r > 1;
    if (r > f->worst || (f->points == 1 && !f->stmt)) {
        f->worst = r;
        f->where = offset;
        f->got = t->v[offset];
        f->want = want;
        f->stmt = stmt;
    }
}

static void merge(Finding *into, const Finding *f)
{
    int64_t points = into->points + f->points;
    int64_t wrong = into->wrong + f->wrong;
    bool all = into->all;

    if (f->points && (!into->stmt || f->worst > into->worst))
        *into = *f;
    into->points = points;
    into->wrong = wrong;
    into->all = all;
}

static void look_at_point(Check *c, Finding *f, int stmt, const int64_t *v)
{
    const dcc_ref_stmt *s = &c->model->stmt[stmt];
    int64_t offset;

    if (s->store(c->arg[stmt], v, &offset))
        look(f, &c->value[s->arg[0]], offset, s->point(c->arg[stmt], v), s);
}

static void look_at_all(Check *c, Finding *f, int stmt)
{
    const dcc_ref_stmt *s = &c->model->stmt[stmt];
    const int64_t n = (int64_t)points_of(s);

#ifdef _OPENMP
#pragma omp parallel if (n > 64)
#endif
    {
        Finding mine = {0};
        int64_t v[MAX_VARS] = {0};

#ifdef _OPENMP
#pragma omp for schedule(dynamic, 16)
#endif
        for (int64_t p = 0; p < n; p++) {
            point_number(s, p, v);
            look_at_point(c, &mine, stmt, v);
        }
#ifdef _OPENMP
#pragma omp critical
#endif
        merge(f, &mine);
    }
}

/* Point number p of the seeded ones: first the corners, then points on each
 * edge, then anywhere. */
static void choose(const Check *c, const dcc_ref_stmt *s, int64_t p,
                   int64_t *v)
{
    const int n = s->n_out;
    const int64_t corners = (int64_t)1 << (n < 8 ? n : 8);
    uint64_t state = c->seed ^ (uint64_t)(p + 1) * 0x2545f4914f6cdd1du;

    for (int k = 0; k < n; k++)
        v[k] = (int64_t)(ref_random(&state) % (uint64_t)s->extent[k]);
    if (p < corners) {
        for (int k = 0; k < n; k++)
            v[k] = p >> (k % 8) & 1 ? s->extent[k] - 1 : 0;
    } else if (p - corners < (int64_t)n * EDGE_POINTS) {
        const int k = (int)((p - corners) / EDGE_POINTS);
        const int64_t in = (int64_t)(ref_random(&state) % 2);

        v[k] = ref_random(&state) % 2 ? dcc_imin(in, s->extent[k] - 1)
                                      : dcc_imax(s->extent[k] - 1 - in, 0);
    }
}

/* How many points that is. */
static int64_t points_chosen(const dcc_ref_stmt *s)
{
    return POINTS + 256 + (int64_t)s->n_out * EDGE_POINTS;
}

static void look_at_some(Check *c, Finding *f, int stmt)
{
    const dcc_ref_stmt *s = &c->model->stmt[stmt];
    const int64_t n = points_chosen(s);

#ifdef _OPENMP
#pragma omp parallel
#endif
    {
        Finding mine = {0};
        int64_t v[MAX_VARS] = {0};

#ifdef _OPENMP
#pragma omp for schedule(dynamic, 16)
#endif
        for (int64_t p = 0; p < n; p++) {
            choose(c, s, p, v);
            look_at_point(c, &mine, stmt, v);
        }
#ifdef _OPENMP
#pragma omp critical
#endif
        merge(f, &mine);
    }
}

/* ---- checking one tensor ---- */

/* Terms to evaluate for all of a tensor and for what is not stored below. */
static double full_cost(const Check *c, int tensor, unsigned char *seen)
{
    double cost = 0;

    if (seen[tensor])
        return 0;
    seen[tensor] = 1;
    for (int s = c->first_writer[tensor]; s >= 0; s = c->next_writer[s]) {
        const dcc_ref_stmt *stmt = &c->model->stmt[s];

        cost += points_of(stmt) * stmt->terms * (stmt->term ? 2 : 1);
        for (int k = 1; k < stmt->n_arg; k++)
            if (!c->value[stmt->arg[k]].exact)
                cost += full_cost(c, stmt->arg[k], seen);
    }
    return cost;
}

/* Elements that no statement writes keep what they were. */
static void look_at_kept(Check *c, Finding *f, int tensor)
{
    const dcc_ref_value *t = &c->value[tensor];
    const int64_t n = ref_count(t->tensor);
    unsigned char *written;

    if (t->tensor->prev < 0)
        return;
    written = ref_alloc((size_t)n, 1);
    for (int s = c->first_writer[tensor]; s >= 0; s = c->next_writer[s]) {
        const dcc_ref_stmt *stmt = &c->model->stmt[s];
        const int64_t points = (int64_t)points_of(stmt);
        int64_t v[MAX_VARS], offset;

        for (int64_t p = 0; p < points; p++) {
            point_number(stmt, p, v);
            if (stmt->store(c->arg[s], v, &offset))
                written[offset] = 1;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (!written[i])
            look(f, t, i, dcc_at(&c->value[t->tensor->prev], i), NULL);
    free(written);
}

/* What was evaluated counts no longer. */
static void forget(Check *c)
{
    const dcc_ref_model *m = c->model;

    if (++c->round)
        return;
    c->round = 1;
    memset(c->scattered, 0, (size_t)m->n_stmt);
    for (int i = 0; i < m->n_tensor; i++)
        if (c->value[i].known)
            memset(c->value[i].known, 0,
                   (size_t)ref_count(c->value[i].tensor));
}

/* From now on results of kernel `step` are checked: what was evaluated for
 * another one is forgotten. */
static void begin_step(Check *c, int step)
{
    const dcc_ref_model *m = c->model;

    if (c->now == step)
        return;
    c->now = step;
    for (int i = 0; i < m->n_tensor; i++)
        if (c->step[i] >= 0)
            c->value[i].exact = c->step[i] != step ||
                                c->value[i].tensor->type == DCC_F32;
    forget(c);
}

static Finding check_tensor(Check *c, int tensor)
{
    begin_step(c, c->step[tensor]);
    unsigned char *seen = ref_alloc((size_t)c->model->n_tensor, 1);
    const bool cheap = full_cost(c, tensor, seen) <= c->budget;
    Finding f = {.all = true};

    free(seen);
    for (int s = c->first_writer[tensor]; s >= 0; s = c->next_writer[s]) {
        const dcc_ref_stmt *stmt = &c->model->stmt[s];
        const bool few = points_of(stmt) <= (double)points_chosen(stmt);

        f.all = f.all && (cheap || few);
        if (cheap || few)
            look_at_all(c, &f, s);
        else
            look_at_some(c, &f, s);
    }
    look_at_kept(c, &f, tensor);
    return f;
}

static void report(const Check *c, int tensor, const Finding *f)
{
    const dcc_ref_tensor *t = &c->model->tensor[tensor];
    const bool wrong = f->wrong > 0;
    char shape[200], place[200];

    printf("  %s%s", wrong ? "WRONG " : "", f->stmt ? f->stmt->path : t->name);
    if (f->stmt)
        printf(" (%s)", f->stmt->at);
    printf(" t%d : %s%s  worst error %.3g of its bound", t->id,
           dcc_type_name(t->type),
           dcc_st_shape_text(shape, sizeof shape, t->rank, t->dim), f->worst);
    if (f->worst > 0)
        printf(" at %s (%.9g, not %.9g +- %.2g)",
               ref_where(place, sizeof place, t, f->where), f->got, f->want.v,
               f->want.e);
    if (wrong)
        printf("; %lld wrong", (long long)f->wrong);
    printf("; %lld points%s\n", (long long)f->points, f->all ? ", all" : "");
}

/* A line that a program reads. */
static void report_short(const Check *c, int tensor, const Finding *f)
{
    const dcc_ref_tensor *t = &c->model->tensor[tensor];
    char place[200];

    printf("t%d %s %.3g of its bound", t->id, f->wrong ? "WRONG" : "right",
           f->worst);
    if (f->wrong)
        printf(" at %s, %.6g instead of %.6g",
               ref_where(place, sizeof place, t, f->where), f->got,
               f->want.v);
    printf("\n");
}

/* Whether a list "t3,t9" has the tensor; NULL has all. */
static bool listed(const char *only, const dcc_ref_tensor *t)
{
    char name[32];
    size_t n = (size_t)snprintf(name, sizeof name, "t%d", t->id);

    for (const char *p = only; p && *p; p += *p == ',') {
        size_t len = strcspn(p, ",");

        if (len == n && !memcmp(p, name, n))
            return true;
        p += len;
    }
    return !only;
}

/* ---- setting up ---- */

static void start(Check *c, RefRun *run, double budget, uint64_t seed)
{
    const dcc_ref_model *m = run->model;

    c->model = m;
    c->budget = budget;
    c->seed = seed;
    c->value = ref_alloc((size_t)m->n_tensor, sizeof *c->value);
    c->arg = ref_alloc((size_t)m->n_stmt, sizeof *c->arg);
    c->first_writer = ref_alloc((size_t)m->n_tensor, sizeof(int));
    c->next_writer = ref_alloc((size_t)m->n_stmt, sizeof(int));
    c->scattered = ref_alloc((size_t)m->n_stmt, 1);
    c->step = ref_alloc((size_t)m->n_tensor, sizeof(int));
    c->now = -2;
    for (int i = 0; i < m->n_tensor; i++) {
        dcc_ref_value *t = &c->value[i];

        c->first_writer[i] = c->step[i] = -1;
        *t = (dcc_ref_value){.tensor = &m->tensor[i], .check = c};
        if (t->tensor->role == DCC_REF_PARAM ||
            t->tensor->role == DCC_REF_INPUT) {
            t->exact = true;
            t->v = run->t[i];
        } else if (t->tensor->role == DCC_REF_STATE && t->tensor->next >= 0) {
            t->exact = true;
            t->v = ref_alloc((size_t)ref_count(t->tensor), sizeof(double));
            for (int64_t k = 0; k < ref_count(t->tensor); k++)
                t->v[k] = dcc_ref_round(t->tensor->type, t->tensor->init);
        }
    }
    for (int s = m->n_stmt - 1; s >= 0; s--) {
        const dcc_ref_stmt *stmt = &m->stmt[s];

        c->next_writer[s] = c->first_writer[stmt->arg[0]];
        c->first_writer[stmt->arg[0]] = s;
        c->arg[s] = ref_alloc((size_t)stmt->n_arg, sizeof **c->arg);
        for (int k = 0; k < stmt->n_arg; k++)
            c->arg[s][k] = &c->value[stmt->arg[k]];
    }
}

static void stop(Check *c)
{
    const dcc_ref_model *m = c->model;

    for (int i = 0; i < m->n_tensor; i++) {
        if (c->value[i].exact && (m->tensor[i].role == DCC_REF_PARAM ||
                                  m->tensor[i].role == DCC_REF_INPUT))
            continue;
        free(c->value[i].v);
        free(c->value[i].e);
        free(c->value[i].known);
    }
    for (int s = 0; s < m->n_stmt; s++)
        free(c->arg[s]);
    free(c->value);
    free(c->arg);
    free(c->first_writer);
    free(c->next_writer);
    free(c->scattered);
    free(c->step);
}

/* The tensor's place in the trace, or NULL. */
static const dcc_st_tensor *traced(const dcc_st_file *file,
                                   const dcc_ref_tensor *t)
{
    char name[32];

    snprintf(name, sizeof name, "t%d", t->id);
    return dcc_st_find(file, name);
}

/* Which kernel stored what, if the trace says so. */
static void take_steps(Check *c, const dcc_st_file *file)
{
    const dcc_st_tensor *t = dcc_st_find(file, "steps");

    if (!t || t->rank != 2 || t->dim[1] != 2)
        return;
    double *row = ref_alloc((size_t)t->count, sizeof *row);
    if (ref_doubles(t, row)) {
        for (int i = 0; i < c->model->n_tensor; i++)
            for (int64_t k = 0; k < t->dim[0]; k++)
                if ((int)row[2 * k] == c->model->tensor[i].id &&
                    traced(file, &c->model->tensor[i]))
                    c->step[i] = (int)row[2 * k + 1];
    }
    free(row);
}

/* Takes the trace's tensors; `is_root` marks those to check. */
static dcc_status take(Check *c, const dcc_st_file *file,
                       unsigned char *is_root)
{
    for (int i = 0; i < c->model->n_tensor; i++) {
        dcc_ref_value *t = &c->value[i];
        const dcc_st_tensor *f = t->exact ? NULL : traced(file, t->tensor);

        if (f && f->count != ref_count(t->tensor))
            return dcc_fail(DCC_ERR_FORMAT,
                            "%s: \"%s\" has %lld elements, not %lld",
                            dcc_st_path(file), f->name, (long long)f->count,
                            (long long)ref_count(t->tensor));
        if (f) {
            t->v = ref_alloc((size_t)f->count, sizeof(double));
            if (!ref_doubles(f, t->v))
                return dcc_fail(DCC_ERR_FORMAT, "%s: \"%s\" is %s",
                                dcc_st_path(file), f->name,
                                dcc_st_dtype_name(f->dtype));
            t->exact = true;
            is_root[i] = 1;
        } else if (!t->exact) {
            make_room(t);
        }
    }
    take_steps(c, file);
    return DCC_OK;
}

static void summary(const Check *c, int n, int whole, int strangers,
                    const Finding *worst)
{
    char place[200];

    printf("  trace: %d tensors, %d of them wholly; worst error %.3g of its "
           "bound",
           n, whole, worst->worst);
    if (worst->stmt)
        printf(" in %s (%s) at %s", worst->stmt->path, worst->stmt->at,
               ref_where(place, sizeof place,
                         &c->model->tensor[worst->stmt->arg[0]],
                         worst->where));
    if (strangers)
        printf("; %d more were made by dcc", strangers);
    printf("\n");
}

dcc_status ref_check(RefRun *run, const dcc_st_file *trace, double budget,
                     uint64_t seed, const char *only, bool verbose,
                     bool *good)
{
    const dcc_ref_model *m = run->model;
    unsigned char *is_root = ref_alloc((size_t)m->n_tensor, 1);
    Finding worst = {0};
    int n = 0, whole = 0;
    Check c;

    *good = true;
    start(&c, run, budget, seed);
    dcc_status status = take(&c, trace, is_root);
    for (int i = 0; i < m->n_tensor && status == DCC_OK; i++) {
        if (!is_root[i] || c.first_writer[i] < 0 ||
            !listed(only, &m->tensor[i]))
            continue;
        Finding f = check_tensor(&c, i);
        n++;
        whole += f.all;
        if (only)
            report_short(&c, i, &f);
        else if (f.wrong || verbose)
            report(&c, i, &f);
        *good = *good && !f.wrong;
        merge(&worst, &f);
    }
    if (status == DCC_OK) {
        int known = dcc_st_find(trace, "steps") != NULL;

        for (int i = 0; i < m->n_tensor; i++)
            known += traced(trace, &m->tensor[i]) != NULL;
        summary(&c, n, whole, dcc_st_count(trace) - known, &worst);
    }
    stop(&c);
    free(is_root);
    return status;
}

/* ---- outputs, from the first inputs on ---- */

/* States and parameters that a run wrote are what the next one begins with. */
static void next_run(Check *c)
{
    const dcc_ref_model *m = c->model;
    dcc_ref_value *made = ref_alloc((size_t)m->n_tensor, sizeof *made);

    for (int i = 0; i < m->n_tensor; i++) {
        const int next = m->tensor[i].next;

        made[i] = (dcc_ref_value){.tensor = &m->tensor[i], .check = c};
        if (next < 0 || next == i)
            continue;
        make_room(&made[i]);
        for (int64_t k = 0; k < ref_count(made[i].tensor); k++)
            remember(&made[i], k, dcc_at(&c->value[next], k));
    }
    forget(c);
    for (int i = 0; i < m->n_tensor; i++) {
        dcc_ref_value *t = &c->value[i];

        if (!made[i].v)
            continue;
        if (!t->exact || t->tensor->role == DCC_REF_STATE)
            free(t->v);
        free(t->e);
        free(t->known);
        *t = made[i];
        memset(t->known, c->round, (size_t)ref_count(t->tensor));
    }
    free(made);
}

bool ref_is_float(dcc_type type)
{
    return type == DCC_F32 || type == DCC_F16 || type == DCC_BF16;
}

double ref_greatest(const dcc_ref_model *m, const dcc_ref_value *value)
{
    double most = 0;

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_value *t = &value[i];

        for (int64_t k = 0; k < ref_count(t->tensor) &&
                            ref_is_float(t->tensor->type); k++)
            if (isfinite(t->v[k]))
                most = fmax(most, fabs(t->v[k]));
    }
    return most;
}

double **ref_ends(RefRun *run, int runs, double budget, double *most)
{
    const dcc_ref_model *m = run->model;
    double **bound = ref_alloc((size_t)m->n_tensor, sizeof *bound);
    double cost = 0;
    Check c;

    start(&c, run, budget, 0);
    for (int i = 0; i < m->n_tensor; i++)
        if (!c.value[i].exact)
            make_room(&c.value[i]);
    for (int s = 0; s < m->n_stmt; s++)
        cost += points_of(&m->stmt[s]) * m->stmt[s].terms * runs;
    forget(&c);
    for (int r = 0; r < runs && cost <= budget; r++) {
        if (r)
            next_run(&c);
        for (int s = 0; s < m->n_stmt; s++)
            scatter(&c, s);
    }
    for (int i = 0; i < m->n_tensor && cost <= budget; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];

        if (t->role != DCC_REF_OUTPUT || !ref_is_float(t->type))
            continue;
        bound[i] = ref_alloc((size_t)ref_count(t), sizeof(double));
        for (int64_t k = 0; k < ref_count(t); k++)
            bound[i][k] = dcc_at(&c.value[i], k).e;
    }
    *most = cost <= budget ? ref_greatest(m, c.value) : 0;
    stop(&c);
    return bound;
}
