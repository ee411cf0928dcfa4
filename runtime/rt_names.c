/* rt_names.c - what dcc_main says of names and shapes in files (rt_main.h):
 * all that is wrong in one run, before anything is loaded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_rt.h"
#include "rt_main.h"
#include "safetensors.h"

enum { RT_MOST_SHOWN = 20, RT_LONGEST = 60 };

/* The last error waits until it is known whether another follows. */
typedef struct {
    const RtOptions *o;
    char waiting[900];
    int n;
} RtErrors;

__attribute__((format(printf, 2, 3))) static void
rt_add_error(RtErrors *e, const char *format, ...)
{
    va_list args;

    if (e->n && e->n < RT_MOST_SHOWN)
        rt_print_error(e->o, e->waiting);
    va_start(args, format);
    vsnprintf(e->waiting, sizeof e->waiting, format, args);
    va_end(args);
    e->n++;
}

static dcc_status rt_errors(const RtErrors *e)
{
    if (!e->n)
        return DCC_OK;
    if (e->n > RT_MOST_SHOWN)
        return dcc_fail(DCC_ERR_FORMAT, "%d more of that kind",
                        e->n - RT_MOST_SHOWN + 1);
    return dcc_fail(DCC_ERR_FORMAT, "%s", e->waiting);
}

/* ---- near names ---- */

/* Edits from a to b. */
static int rt_distance(const char *a, const char *b)
{
    int row[RT_LONGEST + 1], n = (int)strlen(b);

    if (strlen(a) > RT_LONGEST || n > RT_LONGEST)
        return RT_LONGEST;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int corner = row[0];

        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = corner + (*a != b[j - 1]);

            corner = row[j];
            if (row[j - 1] + 1 < change)
                change = row[j - 1] + 1;
            if (row[j] + 1 < change)
                change = row[j] + 1;
            row[j] = change;
        }
    }
    return row[n];
}

/* "model.fc1.weight" and "fc1.weight" */
static int rt_is_path_of(const char *longer, const char *name)
{
    size_t n = strlen(longer), k = strlen(name);

    return n > k + 1 && longer[n - k - 1] == '.' &&
           strcmp(longer + n - k, name) == 0;
}

/* Lower is nearer; RT_LONGEST: not near. */
static int rt_far(const char *name, const char *other)
{
    int edits;

    if (rt_is_path_of(other, name) || rt_is_path_of(name, other))
        return 0;
    edits = rt_distance(name, other);
    return edits <= 2 && edits * 3 <= (int)strlen(name) ? edits : RT_LONGEST;
}

static int rt_is_wanted(const dcc_tensor *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return 1;
    return 0;
}

/* The file's tensor most like a name, of those that nothing asks for. */
static const char *rt_near(const dcc_st_file *file, const char *name,
                           const dcc_tensor *all, int n)
{
    const char *best = NULL;
    int least = RT_LONGEST;

    for (int i = 0; i < dcc_st_count(file); i++) {
        const char *other = dcc_st_at(file, i)->name;
        int far = rt_far(name, other);

        if (far < least && !rt_is_wanted(all, n, other)) {
            least = far;
            best = other;
        }
    }
    return best;
}

/* ---- shapes ---- */

static int rt_fits(const RtOptions *o, const dcc_tensor *t,
                   const dcc_st_tensor *st, int is_input)
{
    int more = is_input && o->sequence && st->rank == t->rank + 1;

    if (st->rank != t->rank + more)
        return 0;
    for (int d = 0; d < t->rank; d++)
        if (st->dim[d + more] != t->dim[d])
            return 0;
    return 1;
}

static void rt_check_one(RtErrors *e, dcc_st_file *const *files, int n_files,
                         const dcc_tensor *t, const dcc_tensor *all, int n,
                         const char *role)
{
    char is[200], wanted[200];
    const dcc_st_tensor *st = NULL;
    const char *near = NULL, *path;
    int k = 0;

    while (k < n_files && !(st = dcc_st_find(files[k], t->name)))
        k++;
    if (st && rt_fits(e->o, t, st, role[0] == 'i'))
        return;
    path = rt_input_name(e->o, dcc_st_path(files[st ? k : n_files - 1]));
    if (st) {
        rt_add_error(e, "%s: \"%.200s\" is %s, the %s is %s", path, t->name,
                     dcc_st_shape_text(is, sizeof is, st->rank, st->dim), role,
                     dcc_st_shape_text(wanted, sizeof wanted, t->rank, t->dim));
        return;
    }
    for (k = 0; k < n_files && !near; k++)
        near = rt_near(files[k], t->name, all, n);
    rt_add_error(e,
                 "%s: no tensor \"%.200s\" for the %s of that name%s%.200s%s",
                 path, t->name, role, near ? "; did you mean \"" : "",
                 near ? near : "", near ? "\"?" : "");
}

dcc_status rt_check_names(const RtOptions *o, const dcc_model_desc *d)
{
    dcc_st_file *weights = NULL, *in[RT_MAX_FILES] = {NULL};
    dcc_status status = DCC_OK;
    RtErrors e;

    memset(&e, 0, sizeof e);
    e.o = o;
    if (o->weights)
        status = dcc_st_open(&weights, o->weights);
    for (int i = 0; i < d->n_params && weights; i++)
        if (!d->params[i].begin || dcc_st_find(weights, d->params[i].name))
            rt_check_one(&e, &weights, 1, &d->params[i], d->params, d->n_params,
                     "parameter");
    for (int k = 0; k < o->n_in && status == DCC_OK; k++)
        status = dcc_st_open(&in[k], o->in[k]);
    for (int i = 0; i < d->n_inputs && o->n_in && status == DCC_OK; i++) {
        int there = 0;

        for (int k = 0; k < o->n_in; k++)
            there |= dcc_st_find(in[k], d->inputs[i].name) != NULL;
        if (there || !o->random)
            rt_check_one(&e, in, o->n_in, &d->inputs[i], d->inputs, d->n_inputs,
                         "input");
    }
    dcc_st_close(weights);
    for (int k = 0; k < o->n_in; k++)
        dcc_st_close(in[k]);
    return status != DCC_OK ? status : rt_errors(&e);
}
