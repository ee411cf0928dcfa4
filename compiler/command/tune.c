/* tune.c - what to try, and the plan of what was found (tune.h). */
#include "command/tune_priv.h"
#include "support/support.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which variants */

static void add_trial(Tune *t, Subject *s, const Offer *o)
{
    for (int i = 0; i < s->n_trial; i++)
        if (s->trial[i].family == o->family &&
            !strcmp(s->trial[i].variant, o->variant->text))
            return;
    if (s->n_trial < t->o->variants)
        s->trial[s->n_trial++] = (Trial){.family = o->family,
                                         .variant = o->variant->text,
                                         .predicted_us = o->cost.us};
}

/* The first offer of its family? They are sorted by cost. */
static bool leads(const Offer *o, int i)
{
    for (int k = 0; k < i; k++)
        if (o[k].family == o[i].family)
            return false;
    return true;
}

/* Whether two variants are the same but for their stages: such differ least. */
static bool near_equal(const char *a, const char *b)
{
    static const char word[] = "stages=";
    const char *x = strstr(a, word), *y = strstr(b, word);

    if (!x || !y || x - a != y - b || strncmp(a, b, (size_t)(x - a)))
        return !strcmp(a, b);
    return !strcmp(x + strcspn(x, " "), y + strcspn(y, " "));
}

static bool is_new_form(const Subject *s, const Offer *o)
{
    for (int i = 0; i < s->n_trial; i++)
        if (s->trial[i].family == o->family &&
            near_equal(s->trial[i].variant, o->variant->text))
            return false;
    return true;
}

/* The model's pick; the best of other families that it thinks little slower,
 * because it compares families less well than variants of one, for a quarter of
 * the trials; then the others by predicted time, first one of each form. */
static void find_trials(Tune *t, Subject *s)
{
    const double little = 1.5;
    Group *gr = s->kernel->group;
    Offer *o;
    int n = gr->when == WHEN_LOAD ? 0 : offer_all(t->selection, gr, &o);
    const Variant pick = {.text = s->kernel->variant};
    Offer first = {gr->family, &pick, {.us = s->kernel->predicted_us}, 0};

    s->trial = arena_array(t->arena, Trial, t->o->variants);
    add_trial(t, s, &first);
    if (!s->checked)
        return;
    for (int i = 0; i < n && s->n_trial <= t->o->variants / 4; i++)
        if (o[i].family != gr->family && leads(o, i) &&
            o[i].cost.us <= little * s->kernel->predicted_us)
            add_trial(t, s, &o[i]);
    for (int i = 0; i < n; i++)
        if (is_new_form(s, &o[i]))
            add_trial(t, s, &o[i]);
    for (int i = 0; i < n; i++)
        add_trial(t, s, &o[i]);
}

/* ---- which results show that a kernel is right */

static int subject_of(const Tune *t, const Kernel *k)
{
    for (int i = 0; i < t->n_subject; i++)
        if (t->program->kernel[i] == k)
            return i;
    return -1;
}

/* The oracle computes a result from what was traced; what was not is a part
 * of the same check, and so may be the fault of who made it. */
static void spread_blame(Tune *t, int step, bool *blame)
{
    const CudaProgram *p = t->program;
    const Group *gr = p->run[step].group;

    blame[t->step[step].subject] = true;
    for (int a = 0; a < gr->n_arg; a++) {
        int maker = step - 1;
        if (group_stores(gr, gr->arg[a]))
            continue;
        while (maker >= 0 && !group_stores(p->run[maker].group, gr->arg[a]))
            maker--;
        if (maker >= 0 && emit_traced_after(p, gr->arg[a]) != maker)
            spread_blame(t, maker, blame);
    }
}

/* The step's results join the list of what the oracle checks. */
static void check_step(Tune *t, int step, Buf *only)
{
    const Group *gr = t->program->run[step].group;

    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *x = gr->step[i].tensor;
        if (!x || emit_traced_after(t->program, x) != step ||
            t->step_of[x->id] >= 0)
            continue;
        t->step_of[x->id] = step;
        buf_printf(only, "%st%d", only->len ? "," : "", x->id);
        t->step[step].checked = true;
    }
}

/* For each subject the first step whose check can show it wrong. */
static void choose_checks(Tune *t)
{
    Buf only = {0};

    for (int s = 0; s < t->n_subject; s++) {
        for (int i = 0; i < t->n_step && !t->subject[s].checked; i++) {
            if (!t->step[i].blame[s])
                continue;
            check_step(t, i, &only);
            t->subject[s].checked = t->step[i].checked;
        }
    }
    t->only = arena_strdup(t->arena, buf_text(&only));
    buf_free(&only);
}

static void choose_timed(Tune *t)
{
    int *seen = arena_array(t->arena, int, t->n_subject + 1);
    Buf timed = {0};

    for (int i = 0; i < t->n_step; i++) {
        TuneStep *s = &t->step[i];
        s->timed = t->subject[s->subject].checked &&
                   seen[s->subject]++ < TUNE_LAUNCHES;
        if (s->timed)
            buf_printf(&timed, "%s%d", timed.len ? "," : "", i);
    }
    t->timed = arena_strdup(t->arena, buf_text(&timed));
    buf_free(&timed);
}

static void find_subjects(Tune *t)
{
    const CudaProgram *p = t->program;

    t->n_subject = p->n_kernel;
    t->subject = arena_array(t->arena, Subject, p->n_kernel + 1);
    t->n_step = p->n_run;
    t->step = arena_array(t->arena, TuneStep, p->n_run + 1);
    t->step_of = arena_array(t->arena, int, p->graph->n_tensor + 1);
    for (int i = 0; i < p->graph->n_tensor; i++)
        t->step_of[i] = -1;
    for (int i = 0; i < p->n_kernel; i++)
        t->subject[i].kernel = p->kernel[i];
    for (int i = 0; i < t->n_step; i++)
        t->step[i].subject = subject_of(t, p->run[i].kernel);
    for (int i = 0; i < t->n_step; i++) {
        t->step[i].blame = arena_array(t->arena, bool, t->n_subject + 1);
        spread_blame(t, i, t->step[i].blame);
    }
    choose_checks(t);
    choose_timed(t);
    for (int i = 0; i < t->n_subject; i++)
        find_trials(t, &t->subject[i]);
}

/* ---- rounds */

/* The first trial not failed; -1. */
static int tune_base(const Subject *s)
{
    int base = -1;

    for (int i = 0; i < s->n_trial && base < 0; i++)
        base = s->trial[i].state == TRIAL_RIGHT ? i : -1;
    for (int i = 0; i < s->n_trial && base < 0; i++)
        base = s->trial[i].state == TRIAL_NEW ? i : -1;
    return base;
}

void tune_picks(Tune *t, Round *r)
{
    for (int i = 0; i < t->n_subject; i++) {
        const Subject *s = &t->subject[i];
        bool own = r->number < s->n_trial &&
                   s->trial[r->number].state != TRIAL_FAILED;
        r->pick[i] = own ? r->number : tune_base(s);
    }
}

bool tune_has_new(const Tune *t, const Round *r)
{
    for (int i = 0; i < t->n_subject; i++)
        if (t->subject[i].checked && r->pick[i] >= 0 &&
            !t->subject[i].trial[r->pick[i]].n_sample)
            return true;
    return false;
}

/* Subjects with equally many trials share files, so that a file whose kernels
 * have no more variants to try is built once. */
static void make_chunks(Tune *t)
{
    int tuned = 0, fixed = 0, files, at = 0;

    for (int i = 0; i < t->n_subject; i++)
        *(t->subject[i].n_trial > 1 ? &tuned : &fixed) += 1;
    files = (3 * t->o->jobs / 2 + t->n_round - 1) / t->n_round;
    files = files < (tuned + 3) / 4 ? files : (tuned + 3) / 4;
    for (int n = t->n_round; n > 1; n--)
        for (int i = 0; i < t->n_subject; i++)
            if (t->subject[i].n_trial == n)
                t->subject[i].chunk = at++ * files / tuned;
    int rest = (fixed + 7) / 8;
    at = 0;
    for (int i = 0; i < t->n_subject; i++)
        if (t->subject[i].n_trial == 1)
            t->subject[i].chunk = files + at++ * rest / fixed;
    t->n_chunk = files + rest;
}

static void make_rounds(Tune *t)
{
    t->n_round = 1;
    for (int i = 0; i < t->n_subject; i++)
        if (t->subject[i].n_trial > t->n_round)
            t->n_round = t->subject[i].n_trial;
    make_chunks(t);
    t->round = arena_array(t->arena, Round, t->n_round);
    for (int i = 0; i < t->n_round; i++) {
        Round *r = &t->round[i];
        r->number = i;
        r->pick = arena_array(t->arena, int, t->n_subject + 1);
        r->split = arena_array(t->arena, bool, t->n_chunk + 1);
        tune_picks(t, r);
    }
}

/* ---- what was measured */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

double tune_median(const Trial *t)
{
    float v[TUNE_SAMPLES];

    if (!t->n_sample || t->state != TRIAL_RIGHT)
        return 0;
    memcpy(v, t->sample, sizeof *v * (size_t)t->n_sample);
    qsort(v, (size_t)t->n_sample, sizeof *v, by_value);
    return (v[(t->n_sample - 1) / 2] + v[t->n_sample / 2]) / 2;
}

int tune_best(const Subject *s)
{
    int best = -1;

    for (int i = 0; i < s->n_trial; i++) {
        double us = tune_median(&s->trial[i]);
        if (us > 0 && (best < 0 || us < tune_median(&s->trial[best])))
            best = i;
    }
    if (best < 0)
        best = tune_base(s);
    return best < 0 ? 0 : best;
}

/* Whether a round has a variant within a tenth of the best of several. */
bool tune_worth(const Tune *t, const Round *r)
{
    for (int i = 0; i < t->n_subject; i++) {
        const Subject *s = &t->subject[i];
        int best = tune_best(s), rivals = 0;
        double least = tune_median(&s->trial[best]);
        double us = r->pick[i] < 0 ? 0 : tune_median(&s->trial[r->pick[i]]);
        for (int k = 0; k < s->n_trial; k++)
            rivals += tune_median(&s->trial[k]) > 0 &&
                      tune_median(&s->trial[k]) <= 1.1 * least;
        if (us > 0 && us <= 1.1 * least && rivals > 1)
            return true;
    }
    return false;
}

/* ---- the plan */

static void put_failures(Buf *b, const Tune *t)
{
    for (int i = 0; i < t->n_subject; i++) {
        const Subject *s = &t->subject[i];
        for (int k = 0; k < s->n_trial; k++)
            if (s->trial[k].state == TRIAL_FAILED)
                buf_printf(b, "# failed: %s by %s/%d %s: %s\n",
                           s->kernel->name, s->trial[k].family->name,
                           s->trial[k].family->version, s->trial[k].variant,
                           s->trial[k].why);
    }
}

bool tune_write(Tune *t)
{
    const Selection *s = t->selection;
    PlanChoice *all = arena_array(t->arena, PlanChoice, s->n_group + 1);
    Buf b = {0};

    for (int i = 0; i < t->n_subject; i++) {
        const Kernel *k = t->subject[i].kernel;
        const Trial *best = &t->subject[i].trial[tune_best(&t->subject[i])];
        for (int n = 0; n < k->n_instance; n++)
            all[k->instance[n]->id] =
                (PlanChoice){best->family, best->variant, best->predicted_us,
                             tune_median(best)};
    }
    plan_write_choices(&b, s, t->o->compile->model.device->name, all);
    if (t->measured && !t->build.gpu)
        buf_puts(&b, "# measured in the emulator on a CPU: times that say "
                     "nothing about a GPU\n");
    put_failures(&b, t);
    bool ok = file_write(buf_text(&b), b.len, t->o->out);
    int error = errno;
    buf_free(&b);
    errno = error;
    return ok;
}

static bool cannot_write(const Tune *t)
{
    say_error("cannot write '%s': %s", t->o->out,
            strerror(errno));
    return false;
}

/* Before any work: a plan that is there stays until something is measured. */
static bool claim_output(Tune *t)
{
    struct stat st;
    const char *slash = strrchr(t->o->out, '/');
    const char *dir = slash ? arena_strndup(t->arena, t->o->out,
                                            (size_t)(slash - t->o->out) + 1)
                            : ".";

    if (stat(t->o->out, &st) != 0) {
        t->created = tune_write(t);
        return t->created || cannot_write(t);
    }
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return cannot_write(t);
    }
    return access(dir, W_OK) == 0 || cannot_write(t);
}

/* ---- the verb */

static bool compile_base(Tune *t)
{
    CompileOptions o = *t->o->compile;
    Report r = {0};

    o.trace = true;
    o.want_plan = o.explain = false;
    t->program = compile_model(t->arena, t->diag, t->o->tree, t->o->model,
                               &o, &r);
    t->selection = r.selection;
    return t->program != NULL;
}

/* 0 unless nothing could be measured for a reason. */
static int outcome(Tune *t)
{
    if (t->build.work.signal) {
        if (t->measured)
            tune_write(t);
        return 128 + t->build.work.signal;
    }
    if (t->broken && !t->measured) {
        if (t->created)
            unlink(t->o->out);
        say_error("nothing was measured: %s", t->broken);
        return MACHINE;
    }
    if (!tune_write(t)) {
        cannot_write(t);
        return MACHINE;
    }
    if (!t->measured)
        say_note("nothing was measured in %.3g s; the plan "
                        "is the model's own", t->o->budget);
    tune_report(t);
    return 0;
}

int tune_model(const TuneOptions *o, Diag *d)
{
    Tune t = {.o = o, .arena = o->driver->arena, .diag = d, .begin = now()};
    Buf ref = {0};
    int status = 1;

    t.until = o->budget > 0 ? t.begin + o->budget : INFINITY;
    t.tty = isatty(2);
    if (!compile_base(&t) ||
        !compile_ref(t.arena, d, o->tree, &o->model, 1, o->compile, &ref))
        goto out;
    diag_flush(d);
    Driver with_ref = *o->driver;
    with_ref.ref = &ref;
    status = MACHINE;
    if (!driver_open(&t.build, &with_ref))
        goto out;
    t.build.work.groups = true;
    find_subjects(&t);
    make_rounds(&t);
    if (!have_program(t.arena, "make"))
        say_error("make is not found, which dcc tune builds "
                        "with");
    else if (claim_output(&t)) {
        tune_rounds(&t);
        status = outcome(&t);
    }
    driver_close(&t.build);
out:
    buf_free(&ref);
    return status;
}
