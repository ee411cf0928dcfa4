/* ref_run.c - runs an oracle and compares its outputs (ref_main.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref_main.h"

/* ---- lifetimes ---- */

static void needed(RefRun *run, int tensor, int stmt)
{
    if (run->last[tensor] < stmt)
        run->last[tensor] = stmt;
}

/* Whether an output is what the statement writes, or may be a copy of it. */
static bool is_put_out(const dcc_ref_model *m, const dcc_ref_stmt *stmt)
{
    if (m->tensor[stmt->arg[0]].role == DCC_REF_OUTPUT)
        return true;
    for (int s = 0; s < m->n_stmt; s++)
        if (m->stmt[s].n_arg == 2 && m->stmt[s].arg[1] == stmt->arg[0] &&
            m->tensor[m->stmt[s].arg[0]].role == DCC_REF_OUTPUT)
            return true;
    return false;
}

static void find_lifetimes(RefRun *run)
{
    const dcc_ref_model *m = run->model;
    const int forever = m->n_stmt;

    for (int s = 0; s < m->n_stmt; s++) {
        const dcc_ref_stmt *stmt = &m->stmt[s];
        const int prev = m->tensor[stmt->arg[0]].prev;

        for (int k = 0; k < stmt->n_arg; k++)
            /* an argmax of an output is judged by its terms */
            needed(run, stmt->arg[k],
                   stmt->term && is_put_out(m, stmt) ? forever : s);
        if (prev >= 0)
            needed(run, prev, s);
    }
    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];

        if (t->role != DCC_REF_TEMP && t->role != DCC_REF_STATE)
            needed(run, i, forever);
        if (t->next >= 0) {
            needed(run, i, forever);
            needed(run, t->next, forever);
        }
    }
}

/* ---- running ---- */

/* The tensor that a statement writes: new, or the version before it. */
static void prepare(RefRun *run, int tensor)
{
    const dcc_ref_tensor *t = &run->model->tensor[tensor];
    const size_t n = (size_t)ref_count(t);

    if (run->t[tensor])
        return;
    run->t[tensor] = ref_alloc(n, sizeof(double));
    if (t->prev >= 0)
        memcpy(run->t[tensor], run->t[t->prev], n * sizeof(double));
}

static void statement(RefRun *run, int s)
{
    const dcc_ref_model *m = run->model;
    const dcc_ref_stmt *stmt = &m->stmt[s];
    double **arg = ref_alloc((size_t)stmt->n_arg, sizeof *arg);

    prepare(run, stmt->arg[0]);
    for (int k = 0; k < stmt->n_arg; k++)
        arg[k] = run->t[stmt->arg[k]];
    stmt->all(arg);
    free(arg);
    for (int i = 0; i < m->n_tensor; i++) {
        if (run->last[i] == s && run->t[i]) {
            free(run->t[i]);
            run->t[i] = NULL;
        }
    }
}

static void begin_states(RefRun *run)
{
    const dcc_ref_model *m = run->model;

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];

        if (t->role != DCC_REF_STATE || t->next < 0)
            continue;
        run->t[i] = ref_alloc((size_t)ref_count(t), sizeof(double));
        for (int64_t k = 0; k < ref_count(t); k++)
            run->t[i][k] = t->init;
    }
}

/* Between runs: states take their last versions, the rest is made again. */
static void again(RefRun *run)
{
    const dcc_ref_model *m = run->model;

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];

        if (t->next < 0 || t->next == i)
            continue;
        memcpy(run->t[i], run->t[t->next],
               (size_t)ref_count(t) * sizeof(double));
    }
    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];

        if (t->role == DCC_REF_PARAM || t->role == DCC_REF_INPUT ||
            (t->role == DCC_REF_STATE && t->next >= 0))
            continue;
        free(run->t[i]);
        run->t[i] = NULL;
    }
}

/* Parameters that runs write, as they were given, and back again. */
static double **keep_parameters(const RefRun *run)
{
    const dcc_ref_model *m = run->model;
    double **kept = ref_alloc((size_t)m->n_tensor + 1, sizeof *kept);

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];
        const size_t n = (size_t)ref_count(t);

        if (t->role != DCC_REF_PARAM || t->next < 0)
            continue;
        kept[i] = ref_alloc(n, sizeof(double));
        memcpy(kept[i], run->t[i], n * sizeof(double));
    }
    return kept;
}

static void restore_parameters(RefRun *run, double **kept)
{
    for (int i = 0; i < run->model->n_tensor; i++) {
        if (!kept[i])
            continue;
        free(run->t[i]);
        run->t[i] = kept[i];
    }
    free(kept);
}

void ref_run(RefRun *run, int runs)
{
    double **kept = keep_parameters(run);

    find_lifetimes(run);
    begin_states(run);
    for (int r = 0; r < runs; r++) {
        if (r)
            again(run);
        for (int s = 0; s < run->model->n_stmt; s++)
            statement(run, s);
    }
    restore_parameters(run, kept);
}

/* ---- comparing ---- */

double ref_tolerance(const dcc_ref_model *m)
{
    double tolerance = 0;

    for (int i = 0; i < m->n_tensor; i++) {
        switch (m->tensor[i].type) {
        case DCC_F32:
            tolerance = fmax(tolerance, dcc_ref_product > 1e-4 ? 2e-2 : 1e-3);
            break;
        case DCC_F16:
            tolerance = fmax(tolerance, 2e-2);
            break;
        case DCC_BF16:
            tolerance = fmax(tolerance, 1e-1);
            break;
        case DCC_I8:
        case DCC_U8:
        case DCC_I32:
        case DCC_BOOL:
            break;
        }
    }
    return tolerance;
}

/* Whether the statement puts the elements of another tensor into one of another
 * shape, in order: tried on numbers. */
static bool is_copy(const dcc_ref_model *m, const dcc_ref_stmt *stmt)
{
    enum { FIRST = 1000000 };
    const dcc_ref_tensor *to = &m->tensor[stmt->arg[0]];
    const dcc_ref_tensor *from = &m->tensor[stmt->arg[1]];
    const int64_t n = ref_count(to);

    if (stmt->term || to->type != from->type || ref_count(from) != n)
        return false;
    double *arg[] = {ref_alloc((size_t)n, sizeof(double)),
                     ref_alloc((size_t)n, sizeof(double))};
    bool copy = true;
    for (int64_t i = 0; i < n; i++)
        arg[1][i] = (double)(FIRST + i);
    stmt->all(arg);
    for (int64_t i = 0; i < n; i++)
        copy &= arg[0][i] == (double)(FIRST + i);
    free(arg[0]);
    free(arg[1]);
    return copy;
}

/* The argmax that writes all of an output, or of what it is a copy of, as where
 * the batch is 1; or NULL. */
static const dcc_ref_stmt *argmax_of(const dcc_ref_model *m, int tensor)
{
    for (int s = m->n_stmt - 1; s >= 0; s--) {
        const dcc_ref_stmt *stmt = &m->stmt[s];
        if (stmt->arg[0] != tensor)
            continue;
        if (stmt->term)
            return stmt;
        if (stmt->n_arg != 2 || m->tensor[tensor].type != DCC_I32 ||
            !is_copy(m, stmt))
            return NULL;
        tensor = stmt->arg[1];
    }
    return NULL;
}

/* How much less the term chosen is than the greatest, of |greatest|; 0 for
 * the oracle's own choice. */
static double argmax_error(RefRun *run, const dcc_ref_stmt *stmt,
                           const double *got, int64_t *where)
{
    const dcc_ref_model *m = run->model;
    dcc_ref_value *value = ref_alloc((size_t)stmt->n_arg, sizeof *value);
    dcc_ref_value **arg = ref_alloc((size_t)stmt->n_arg, sizeof *arg);
    int64_t v[16] = {0}, points = 1, offset;
    double worst = 0, largest = 0;

    for (int k = 0; k < stmt->n_arg; k++) {
        value[k] = (dcc_ref_value){.tensor = &m->tensor[stmt->arg[k]],
                                   .exact = true,
                                   .v = run->t[stmt->arg[k]]};
        arg[k] = &value[k];
    }
    for (int k = 0; k < stmt->n_out; k++)
        points *= stmt->extent[k];
    for (int64_t p = 0; p < points; p++) {
        for (int64_t k = stmt->n_out - 1, q = p; k >= 0; k--) {
            v[k] = q % stmt->extent[k];
            q /= stmt->extent[k];
        }
        if (!stmt->store(arg, v, &offset))
            continue;
        double best = stmt->term(arg, v, (int64_t)value[0].v[offset]).v;
        double mine = got[offset] < 0 || got[offset] >= stmt->terms
                          ? -INFINITY
                          : stmt->term(arg, v, (int64_t)got[offset]).v;
        largest = fmax(largest, fabs(best));
        if (best - mine > worst) {
            worst = best - mine;
            *where = offset;
        }
    }
    free(value);
    free(arg);
    return worst == 0 ? 0 : worst / largest;
}

/* Not only equal: also infinite where the type cannot hold the value, and the
 * nearest of the few digits that it has for very small ones, such as 0. */
static bool same(dcc_type type, double want, double got)
{
    const bool small = fabs(want) < ldexp(1, type == DCC_F16 ? -14 : -126);

    return want == got || (isnan(want) && isnan(got)) ||
           ((isinf(got) || small) && dcc_ref_round(type, want) == got);
}

/* The largest difference over the largest magnitude. */
static double output_error(dcc_type type, const double *want,
                           const double *got, int64_t n, double *largest,
                           int64_t *where)
{
    double worst = 0;

    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = same(type, want[i], got[i]) ? 0 : fabs(got[i] - want[i]);

        if (isfinite(want[i]))
            *largest = fmax(*largest, fabs(want[i]));
        if (!(d <= worst)) {
            worst = isnan(d) ? INFINITY : d;
            *where = i;
        }
        if (isinf(worst))
            break;
    }
    return worst == 0 ? 0 : worst / fmax(*largest, 1e-30);
}

/* What rounding may leave of outputs that are differences. */
typedef struct {
    double **bound; /* by tensor (ref_ends); NULL: nobody has asked */
    double *noise;  /* the same, measured (ref_noise) */
    double most;
    int runs;
} Ends;

/* The most that element i may be off by as far as rounding goes, where that is
 * little beside the program's numbers; off: what it is off by. */
static double end_of(RefRun *run, Ends *ends, int tensor, int64_t i, double off,
                     double tolerance)
{
    const double bounds = 2e7, tries = 4e8, margin = 2;

    if (!ends->bound)
        ends->bound = ref_ends(run, ends->runs, bounds, &ends->most);
    const double *bound = ends->bound[tensor];
    if (bound && off <= bound[i] && bound[i] <= tolerance * ends->most)
        return bound[i];
    if (!ends->noise)
        ends->noise = ref_noise(run, ends->runs, tries, &ends->most);
    return fmin(margin * ends->noise[tensor], tolerance * ends->most);
}

/* Are all elements that are off by more than the tolerance off by what rounding
 * may be? *allowed is the most of what was needed. */
static bool within_ends(RefRun *run, Ends *ends, int tensor, const double *got,
                        double tolerance, double largest, double *allowed)
{
    const dcc_type type = run->model->tensor[tensor].type;
    const double *want = run->t[tensor];

    *allowed = 0;
    for (int64_t i = 0; i < ref_count(&run->model->tensor[tensor]); i++) {
        double off = fabs(got[i] - want[i]);

        if (same(type, want[i], got[i]) || off <= tolerance * largest)
            continue;
        double end = end_of(run, ends, tensor, i, off, tolerance);
        if (!(off <= end))
            return false;
        *allowed = fmax(*allowed, end);
    }
    return true;
}

static bool compare(RefRun *run, Ends *ends, int tensor, const double *got,
                    double tolerance)
{
    const dcc_ref_tensor *t = &run->model->tensor[tensor];
    const double *want = run->t[tensor];
    const dcc_ref_stmt *argmax = argmax_of(run->model, tensor);
    char shape[200], place[200];
    double largest, error, rounding = 0;
    int64_t where = 0;

    error = output_error(t->type, want, got, ref_count(t), &largest, &where);
    if (argmax && error > 0)
        error = argmax_error(run, argmax, got, &where);
    bool good = error <= tolerance ||
                (tolerance > 0 && within_ends(run, ends, tensor, got, tolerance,
                                              largest, &rounding));
    printf("  output %s : %s%s  worst error %.3g of %.3g", t->name,
           dcc_type_name(t->type),
           dcc_st_shape_text(shape, sizeof shape, t->rank, t->dim), error,
           largest);
    if (error > 0)
        printf(" at %s (%.6g, not %.6g)",
               ref_where(place, sizeof place, t, where), got[where],
               want[where]);
    printf("; %s %.2g", good ? "allowed" : "WRONG, allowed is", tolerance);
    if (good && error > tolerance)
        printf(", or %.2g, as rounding may leave that where it cancels",
               rounding);
    printf("\n");
    return good;
}

static dcc_status against(RefRun *run, Ends *ends, const dcc_st_file *file,
                          double tolerance, bool *good)
{
    const dcc_ref_model *m = run->model;

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];
        const dcc_st_tensor *f;

        if (t->role != DCC_REF_OUTPUT)
            continue;
        f = dcc_st_find(file, t->name);
        if (!f || f->count != ref_count(t))
            return dcc_fail(DCC_ERR_FORMAT, "%s: no output \"%s\" of %lld "
                            "elements",
                            dcc_st_path(file), t->name,
                            (long long)ref_count(t));
        double *got = ref_alloc((size_t)f->count, sizeof *got);
        if (!ref_doubles(f, got)) {
            free(got);
            return dcc_fail(DCC_ERR_FORMAT, "%s: \"%s\" is %s, which cannot "
                            "be compared",
                            dcc_st_path(file), t->name,
                            dcc_st_dtype_name(f->dtype));
        }
        *good = compare(run, ends, i, got, tolerance) && *good;
        free(got);
    }
    return DCC_OK;
}

dcc_status ref_against(RefRun *run, const dcc_st_file *file, double tolerance,
                       int runs, bool *good)
{
    Ends ends = {.runs = runs};

    *good = true;
    if (tolerance < 0)
        tolerance = ref_tolerance(run->model);
    dcc_status status = against(run, &ends, file, tolerance, good);
    for (int i = 0; i < run->model->n_tensor && ends.bound; i++)
        free(ends.bound[i]);
    free(ends.bound);
    free(ends.noise);
    return status;
}
