/* rt_train.c - the loop of dcc train: `PROGRAM --train ...` (rt_main.h).
 *
 * A run of the model is a step. What a step needs follows from its number and
 * the seed, and what it leaves is saved with that number, so that a run which
 * is ended at any moment and goes on from its last save does the steps, and
 * leaves the bytes, of one that was left alone.
 */
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt_main.h"
#include "rt_model.h"
#include "rt_train.h"

enum {
    RT_RING = 64,      /* steps whose losses wait to be read */
    RT_MOST_BAD = 8,   /* steps in a row without a finite loss */
    RT_SAVE_AFTER = 60 /* seconds without a save */
};

typedef struct {
    RtTrainOptions o;
    const dcc_model_desc *desc, *checks; /* checks: on held-out data, or NULL */
    dcc_model *model, *checker;
    cudaStream_t stream;
    RtFeeder data, held;
    RtLog log;
    int *measure, n_measure; /* outputs that are one number */
    int loss;                /* among them */
    unsigned char *ring;                 /* page-locked: 8 bytes each */
    int64_t step, read;     /* steps done; whose losses are known */
    int64_t saved;          /* the step of the file; -1: there is none */
    int64_t reported;       /* the step of the last report */
    int64_t bad_since, bad; /* steps whose loss was not finite */
    double last, sum;       /* loss; of the steps since the last report */
    int64_t n_sum;
    double began, shown, saved_at;
    int64_t first;          /* step that this process began with */
    int writing;
} RtTrainer;

static volatile sig_atomic_t rt_signal;

static void rt_on_signal(int number)
{
    rt_signal = number;
}

static double rt_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static dcc_status rt_train_cuda(const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(DCC_ERR_CUDA, "%s: %s", doing, cudaGetErrorString(error));
}

/* ---- the loss */

static dcc_status rt_find_loss(RtTrainer *t)
{
    const dcc_model_desc *d = t->desc;
    int floats = 0;

    t->loss = -1;
    t->measure = (int *)calloc((size_t)d->n_outputs + 1, sizeof *t->measure);
    if (!t->measure)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    for (int i = 0; i < d->n_outputs; i++) {
        const dcc_tensor *y = &d->outputs[i];
        int is_float = y->type == DCC_F32 || y->type == DCC_F16 ||
                       y->type == DCC_BF16;

        if (y->rank)
            continue;
        if (is_float && (t->loss < 0 || strcmp(y->name, "loss") == 0))
            t->loss = t->n_measure;
        floats += is_float;
        t->measure[t->n_measure++] = i;
    }
    if (t->loss < 0)
        return dcc_fail(DCC_ERR_ARG,
                        "%s has no loss: no output is a single f32", d->name);
    if (floats > 1 &&
        strcmp(d->outputs[t->measure[t->loss]].name, "loss") != 0)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: several outputs are a single number, none is "
                        "called \"loss\"", d->name);
    return DCC_OK;
}

/* ---- saving and going on */

static dcc_status rt_train_save(RtTrainer *t, int due)
{
    char step[32], seed[32], rows[32], batch[32], data[32];
    const char *more[] = {"dcc.step", step, "dcc.seed", seed, "dcc.rows", rows,
                          "dcc.batch", batch, "dcc.data", data,
                          "dcc.report", due ? "due" : "done"};
    dcc_status status = rt_log_flush(&t->log);

    snprintf(step, sizeof step, "%lld", (long long)t->step);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->o.seed);
    snprintf(rows, sizeof rows, "%lld", (long long)t->data.rows);
    snprintf(batch, sizeof batch, "%lld", (long long)t->data.batch);
    snprintf(data, sizeof data, "%016llx",
             (unsigned long long)rt_feeder_print(&t->data));
    t->writing = 1;
    if (status == DCC_OK)
        status = rt_save_with(t->model, t->o.save, more,
                              (int)(sizeof more / sizeof *more) / 2);
    t->writing = status != DCC_OK;
    if (status == DCC_OK) {
        t->saved = t->step;
        t->saved_at = rt_clock();
    }
    return status;
}

static dcc_status rt_said(const dcc_st_file *f, const char *key,
                          long long *out)
{
    const char *text = dcc_st_metadata(f, key);
    char *end = NULL;

    errno = 0;
    if (text)
        *out = strtoll(text, &end, 10);
    if (!text || end == text || *end || *out < 0 || errno == ERANGE)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: no state of dcc train: its metadata has no %s",
                        dcc_st_path(f), key);
    return DCC_OK;
}

/* The seed is the file's: what is drawn follows from it. */
static dcc_status rt_resume_seed(RtTrainer *t, const dcc_st_file *f)
{
    const char *text = dcc_st_metadata(f, "dcc.seed");
    uint64_t seed;

    if (!text || !rt_parse_seed(text, &seed))
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: no state of dcc train: its metadata has no "
                        "dcc.seed",
                        dcc_st_path(f));
    if (t->o.seed_given && seed != t->o.seed)
        return dcc_fail(DCC_ERR_ARG, "%s: was begun with --seed %llu",
                        t->o.save, (unsigned long long)seed);
    t->o.seed = seed;
    return DCC_OK;
}

static dcc_status rt_check_same_data(RtTrainer *t, const dcc_st_file *f)
{
    const char *print = dcc_st_metadata(f, "dcc.data");
    long long rows = 0, batch = 0;
    char now[32];
    dcc_status status = rt_said(f, "dcc.rows", &rows);

    if (status == DCC_OK)
        status = rt_said(f, "dcc.batch", &batch);
    if (status != DCC_OK)
        return status;
    if (rows != t->data.rows || batch != t->data.batch)
        return dcc_fail(DCC_ERR_ARG,
                        "%s: was begun with batches of %lld of %lld rows, "
                        "these are %lld of %lld", t->o.save, batch, rows,
                        (long long)t->data.batch, (long long)t->data.rows);
    snprintf(now, sizeof now, "%016llx",
             (unsigned long long)rt_feeder_print(&t->data));
    if (!print || strcmp(print, now) != 0)
        return dcc_fail(DCC_ERR_ARG, "%s: was begun with other data than %s",
                        t->o.save, t->o.data);
    return DCC_OK;
}

/* What a process that was killed while it saved has left. */
static void rt_sweep(const char *save)
{
    const size_t n = strlen(save);
    char pattern[RT_PATH];
    glob_t found;

    if (strpbrk(save, "*?[\\") ||
        snprintf(pattern, sizeof pattern, "%s.*.tmp", save) >= RT_PATH ||
        glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *ending = found.gl_pathv[i] + n;
        long pid = 0;
        int turn, end = 0;

        if (sscanf(ending, ".%ld.%d.tmp%n", &pid, &turn, &end) != 2 || !end ||
            ending[end] || pid < 1)
            continue;
        if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            unlink(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* ---- begin and end */

static dcc_status rt_train_model(RtTrainer *t, const char *weights)
{
    dcc_options o = dcc_options_default();
    dcc_status status;

    o.weights = weights;
    o.seed = t->o.seed;
    status = dcc_model_create_options(&t->model, t->desc, &o);
    if (status == DCC_OK)
        for (const char *note = dcc_model_notes(t->model); *note;
             note += strcspn(note, "\n") + 1)
            fprintf(stderr, "%s: note: %.*s\n", t->o.program,
                    (int)strcspn(note, "\n"), note);
    if (status == DCC_OK && t->checks)
        status = dcc_model_share(&t->checker, t->checks, t->model);
    return status;
}

/* *file: the state to go on from, or NULL. */
static dcc_status rt_open_state(RtTrainer *t, dcc_st_file **file)
{
    const int there = access(t->o.save, F_OK) == 0;

    *file = NULL;
    t->saved = -1;
    rt_sweep(t->o.save);
    if (there && !t->o.resume)
        return dcc_fail(DCC_ERR_ARG,
                        "%s is there already: --resume goes on with it; "
                        "remove it to begin again", t->o.save);
    if (!there && t->o.resume)
        fprintf(stderr, "%s: note: no %s yet: from the beginning\n",
                t->o.program, t->o.save);
    return there ? dcc_st_open(file, t->o.save) : DCC_OK;
}

static dcc_status rt_go_on(RtTrainer *t, const dcc_st_file *file, int *due)
{
    const char *report = dcc_st_metadata(file, "dcc.report");
    long long step = 0;
    dcc_status status = rt_said(file, "dcc.step", &step);

    if (status == DCC_OK)
        status = rt_check_same_data(t, file);
    if (status == DCC_OK)
        status = rt_load_saved(t->model, file);
    *due = report && strcmp(report, "due") == 0;
    t->step = t->read = t->saved = step;
    t->reported = *due ? -1 : step;
    return status;
}

/* Whole epochs, or tenths of all steps if these are fewer. */
static void rt_settle_every(RtTrainer *t)
{
    int64_t epoch = rt_feeder_epoch(&t->data), tenth = (t->o.steps + 9) / 10;

    if (!t->o.every)
        t->o.every = epoch < tenth ? (tenth / epoch) * epoch : tenth;
}

static dcc_status rt_train_open_files(RtTrainer *t)
{
    dcc_status status = rt_feeder_open(&t->data, t->desc, &t->o, t->o.data, 1,
                                       t->stream);

    if (status == DCC_OK && t->checks)
        status = rt_feeder_open(&t->held, t->checks, &t->o, t->o.validate, 0,
                                t->stream);
    if (status == DCC_OK)
        status = rt_train_cuda(
            "page-locking host memory",
            cudaMallocHost((void **)&t->ring,
                           (size_t)RT_RING * (size_t)t->n_measure * 8));
    return status;
}

static void rt_say_begin(const RtTrainer *t)
{
    dcc_sizes s = DCC_SIZES;
    double bytes;

    dcc_model_sizes(t->desc, &s);
    bytes = (double)(s.weights + s.workspace);
    printf("%s: %lld steps, batches of %lld of %lld rows, %lld an epoch; "
           "seed %llu; %.1f %s of memory\n",
           t->desc->name, (long long)t->o.steps, (long long)t->data.batch,
           (long long)t->data.rows, (long long)rt_feeder_epoch(&t->data),
           (unsigned long long)t->o.seed,
           bytes / (bytes < 1e6 ? 1e3 : 1e6), bytes < 1e6 ? "KB" : "MB");
    if (t->step)
        printf("%s: goes on after step %lld\n", t->desc->name,
               (long long)t->step);
    fflush(stdout);
}

/* Rows that fill no batch leave its numbers out: then there are none. */
static void rt_note_few(const RtTrainer *t)
{
    int numbers = 0;

    if (!t->checks || t->held.rows >= t->held.batch)
        return;
    for (int i = 0; i < t->checks->n_outputs; i++)
        numbers += !t->checks->outputs[i].rank;
    if (numbers)
        fprintf(stderr, "%s: note: %s has %lld rows, which fill no batch of "
                        "%lld: what %s says of a batch is left out\n",
                t->o.program, t->o.validate, (long long)t->held.rows,
                (long long)t->held.batch, t->checks->name);
}

static dcc_status rt_train_begin(RtTrainer *t, int *due)
{
    dcc_st_file *file = NULL;
    dcc_status status = rt_open_state(t, &file);

    if (status == DCC_OK && file)
        status = rt_resume_seed(t, file);
    if (status == DCC_OK)
        status = rt_train_cuda("creating a stream",
                               cudaStreamCreateWithFlags(
                                   &t->stream, cudaStreamNonBlocking));
    if (status == DCC_OK)
        status = rt_train_open_files(t);
    if (status == DCC_OK)
        status = rt_train_model(t, file ? t->o.save : t->o.weights);
    if (status == DCC_OK && file)
        status = rt_go_on(t, file, due);
    dcc_st_close(file);
    if (status != DCC_OK)
        return status;
    t->writing = 1;
    status = rt_log_open(&t->log, &t->o, t->step);
    t->writing = status != DCC_OK;
    rt_settle_every(t);
    rt_note_few(t);
    t->first = t->step;
    t->began = t->saved_at = rt_clock();
    return status;
}

static void rt_train_end(RtTrainer *t)
{
    rt_log_close(&t->log);
    dcc_model_destroy(t->checker);
    dcc_model_destroy(t->model);
    rt_feeder_close(&t->held);
    rt_feeder_close(&t->data);
    if (t->ring)
        cudaFreeHost(t->ring);
    free(t->measure);
    if (t->stream)
        cudaStreamDestroy(t->stream);
}

/* ---- what a step gives */

static void rt_show_progress(RtTrainer *t, int end)
{
    enum { BAR = 24 };
    double now = rt_clock(), rate;
    int filled = (int)(BAR * t->step / t->o.steps);

    if (!isatty(2) || (!end && now - t->shown < 0.2))
        return;
    t->shown = now;
    fprintf(stderr, "\r%*s\r", 78, "");
    if (end)
        return;
    rate = (double)(t->step - t->first) / (now - t->began + 1e-9);
    fprintf(stderr, "[%.*s%.*s] step %lld of %lld  loss %.4g  %.3g steps/s",
            filled, "########################", BAR - filled,
            "........................", (long long)t->step,
            (long long)t->o.steps, t->last, rate);
    if (rate > 0)
        fprintf(stderr, "  %.0f s left",
                (double)(t->o.steps - t->step) / rate);
}

static dcc_status rt_one_step(RtTrainer *t)
{
    unsigned char *slot =
        t->ring + (size_t)(t->step % RT_RING) * (size_t)t->n_measure * 8;
    dcc_status status = rt_feeder_fill(&t->data, t->step);

    if (status == DCC_OK)
        status = dcc_model_run(t->model,
                               (const void *const *)t->data.inputs,
                               t->data.outputs, t->stream);
    for (int i = 0; i < t->n_measure && status == DCC_OK; i++) {
        const int y = t->measure[i];

        status = rt_train_cuda(
            "copying the loss",
            cudaMemcpyAsync(slot + 8 * i, t->data.outputs[y],
                            dcc_tensor_bytes(&t->desc->outputs[y]),
                            cudaMemcpyDeviceToHost, t->stream));
    }
    t->step += status == DCC_OK;
    return status;
}

/* A loss that is not finite: the state may be past mending, or the model may
 * leave such a step out. The next ones tell. */
static dcc_status rt_judge_loss(RtTrainer *t, int64_t step, double loss)
{
    if (isfinite(loss)) {
        t->bad = 0;
        return DCC_OK;
    }
    if (t->bad++ == 0) {
        t->bad_since = step;
        rt_show_progress(t, 1);
        fprintf(stderr, "%s: note: the loss of step %lld (epoch %lld) is "
                        "%f\n", t->o.program, (long long)step + 1,
                (long long)(step / rt_feeder_epoch(&t->data)), loss);
    }
    if (t->bad < RT_MOST_BAD && step + 1 < t->o.steps)
        return DCC_OK;
    return dcc_fail(DCC_ERR_FORMAT,
                    "%s: the loss is %f from step %lld on: stopped after step "
                    "%lld", t->desc->name, loss, (long long)t->bad_since + 1,
                    (long long)step + 1);
}

static dcc_status rt_read_step(RtTrainer *t, int64_t step)
{
    const unsigned char *slot =
        t->ring + (size_t)(step % RT_RING) * (size_t)t->n_measure * 8;

    fprintf(t->log.file, "{\"step\":%lld,\"epoch\":%lld",
            (long long)step + 1,
            (long long)(step / rt_feeder_epoch(&t->data)));
    for (int i = 0; i < t->n_measure; i++) {
        const dcc_tensor *y = &t->desc->outputs[t->measure[i]];
        double value = rt_value(y->type, slot + 8 * i);

        rt_log_number(&t->log, i == t->loss ? "loss" : y->name, value);
        if (i == t->loss)
            t->last = value;
    }
    fprintf(t->log.file, "}\n");
    t->sum += t->last;
    t->n_sum++;
    return rt_judge_loss(t, step, t->last);
}

/* Waits for the steps so far, and reads what they gave. */
static dcc_status rt_read_steps(RtTrainer *t)
{
    cudaError_t error = cudaStreamSynchronize(t->stream);
    dcc_status status = DCC_OK;

    if (error != cudaSuccess)
        return dcc_fail(DCC_ERR_BUG, "%s: a kernel failed: %s",
                        t->desc->name, cudaGetErrorString(error));
    while (t->read < t->step && status == DCC_OK)
        status = rt_read_step(t, t->read++);
    if (status == DCC_OK)
        rt_show_progress(t, 0);
    return status;
}

/* ---- held-out data */

/* One number, or one for each row of a batch: what is averaged. */
static int rt_is_check(const RtTrainer *t, const dcc_tensor *y)
{
    return y->rank == 0 ||
           (y->rank == 1 && y->dim[0] == t->held.batch &&
            y->type != DCC_I32);
}

/* Adds an output of a batch to the sum: rows that fill up the last batch do
 * not count, nor does that batch's number. */
static void rt_add_check(const RtTrainer *t, const dcc_tensor *y,
                         const unsigned char *values, int64_t first,
                         double *sum, int64_t *n)
{
    const int64_t left = t->held.rows - first;
    const int64_t rows = left < t->held.batch ? left : t->held.batch;

    if (y->rank == 0 && rows < t->held.batch)
        return;
    for (int64_t i = 0; i < (y->rank ? rows : 1); i++)
        *sum += rt_value(y->type,
                         values + (size_t)i * dcc_type_size(y->type));
    *n += y->rank ? rows : 1;
}

static dcc_status rt_check_batch(RtTrainer *t, int64_t batch,
                                 unsigned char *host, double *sum, int64_t *n)
{
    dcc_status status = rt_feeder_fill(&t->held, batch);

    if (status == DCC_OK)
        status = dcc_model_run(t->checker,
                               (const void *const *)t->held.inputs,
                               t->held.outputs, t->stream);
    for (int i = 0; i < t->checks->n_outputs && status == DCC_OK; i++) {
        const dcc_tensor *y = &t->checks->outputs[i];
        cudaError_t error;

        if (!rt_is_check(t, y))
            continue;
        error = cudaMemcpyAsync(host, t->held.outputs[i], dcc_tensor_bytes(y),
                                cudaMemcpyDeviceToHost, t->stream);
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(t->stream);
        status = rt_train_cuda("copying outputs", error);
        if (status == DCC_OK)
            rt_add_check(t, y, host, batch * t->held.batch, &sum[i], &n[i]);
    }
    return status;
}

static void rt_say_checks(RtTrainer *t, const double *sum, const int64_t *n)
{
    int some = 0;

    fprintf(t->log.file, "{\"step\":%lld,\"validation\":{",
            (long long)t->step);
    for (int i = 0; i < t->checks->n_outputs; i++) {
        const dcc_tensor *y = &t->checks->outputs[i];
        double mean = sum[i] / (double)n[i];

        if (!n[i])
            continue;
        printf("%s%s %.5g", some ? ", " : "; validation: ", y->name, mean);
        fprintf(t->log.file, "%s\"%s\":", some ? "," : "", y->name);
        fprintf(t->log.file, isfinite(mean) ? "%.9g" : "null", mean);
        some = 1;
    }
    fprintf(t->log.file, "}}\n");
}

/* *done is 0 if a signal came before all was seen. */
static dcc_status rt_validate(RtTrainer *t, int *done)
{
    const size_t outputs = (size_t)t->checks->n_outputs;
    const int64_t batches = rt_feeder_epoch(&t->held);
    double *sum = (double *)calloc(outputs + 1, sizeof *sum);
    int64_t *n = (int64_t *)calloc(outputs + 1, sizeof *n);
    unsigned char *host =
        (unsigned char *)malloc((size_t)t->held.batch * 4 + 8);
    dcc_status status = DCC_OK;

    if (!sum || !n || !host)
        status = dcc_fail(DCC_ERR_MEMORY, "out of memory");
    for (int64_t b = 0; b < batches && status == DCC_OK && !rt_signal; b++)
        status = rt_check_batch(t, b, host, sum, n);
    *done = !rt_signal;
    if (status == DCC_OK && *done)
        rt_say_checks(t, sum, n);
    free(sum);
    free(n);
    free(host);
    return status;
}

/* ---- reports */

static dcc_status rt_draw_log(RtTrainer *t)
{
    dcc_status status = rt_log_flush(&t->log);

    t->log.drawn = rt_clock();
    if (status == DCC_OK)
        status = rt_plot(t->log.path, t->log.plot, t->desc->name);
    return status;
}

/* What there is to say of the steps so far, and their state to a file. */
static dcc_status rt_train_report(RtTrainer *t)
{
    dcc_status status = rt_read_steps(t);
    int done = 1;

    if (status != DCC_OK || t->bad)
        return status;
    rt_show_progress(t, 1);
    printf("step %lld, epoch %lld: loss %.5g", (long long)t->step,
           (long long)((t->step - 1) / rt_feeder_epoch(&t->data)),
           t->n_sum ? t->sum / (double)t->n_sum : t->last);
    t->sum = 0;
    t->n_sum = 0;
    if (t->checks)
        status = rt_validate(t, &done);
    printf("\n");
    fflush(stdout);
    if (status == DCC_OK && done)
        t->reported = t->step;
    if (status == DCC_OK)
        status = rt_train_save(t, !done);
    t->writing = 1;
    if (status == DCC_OK && done &&
        (t->step == t->o.steps || rt_clock() - t->log.drawn > 10))
        status = rt_draw_log(t);
    t->writing = status != DCC_OK;
    return status;
}

static int rt_is_due(const RtTrainer *t)
{
    return t->reported != t->step && t->step > 0 &&
           (t->step % t->o.every == 0 || t->step >= t->o.steps);
}

/* After each step: losses are read before their place is needed, and often
 * enough to be watched. */
static dcc_status rt_after_step(RtTrainer *t)
{
    dcc_status status = DCC_OK;

    if (rt_is_due(t))
        return rt_train_report(t);
    if (t->step - t->read >= RT_RING || rt_clock() - t->shown > 0.2 ||
        rt_clock() - t->saved_at > RT_SAVE_AFTER) {
        status = rt_read_steps(t);
        t->shown = rt_clock();
    }
    if (status == DCC_OK && !t->bad &&
        rt_clock() - t->saved_at > RT_SAVE_AFTER)
        status = rt_train_save(t, 0);
    return status;
}

static dcc_status rt_train_loop(RtTrainer *t)
{
    dcc_status status = rt_is_due(t) ? rt_train_report(t) : DCC_OK;

    while (status == DCC_OK && t->step < t->o.steps && !rt_signal) {
        status = rt_one_step(t);
        if (status == DCC_OK)
            status = rt_after_step(t);
    }
    if (status == DCC_OK && rt_signal)
        status = rt_read_steps(t);
    if (status == DCC_OK && rt_signal && t->saved != t->step && !t->bad)
        status = rt_train_save(t, rt_is_due(t));
    rt_show_progress(t, 1);
    return status;
}

/* ---- the program */

static void rt_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction act;

    memset(&act, 0, sizeof act);
    act.sa_handler = rt_on_signal;
    act.sa_flags = SA_RESTART;
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &act, NULL);
}

static dcc_status rt_train_all(RtTrainer *t,
                               const dcc_model_desc *const *models, int n)
{
    int due = 0;
    dcc_status status = rt_pick(models, n, t->o.model, NULL, &t->desc);

    if (status == DCC_OK && t->o.validate)
        status = rt_pick(models, n, t->o.with, t->desc, &t->checks);
    if (status == DCC_OK)
        status = rt_check_sets(&t->o, t->desc, t->checks);
    if (status == DCC_OK)
        status = rt_find_loss(t);
    if (status == DCC_OK)
        status = rt_train_begin(t, &due);
    if (status != DCC_OK)
        return status;
    rt_say_begin(t);
    if (t->step >= t->o.steps && !due) {
        printf("%s: %s has step %lld already\n", t->desc->name, t->o.save,
               (long long)t->step);
        return DCC_OK;
    }
    return rt_train_loop(t);
}

static int rt_train_exit(const RtTrainer *t, dcc_status status)
{
    switch (status) {
    case DCC_OK:
        return rt_signal ? 128 + (int)rt_signal : 0;
    case DCC_ERR_IO:
        return t->writing ? 3 : 1;
    case DCC_ERR_FORMAT:
    case DCC_ERR_ARG:
        return 1;
    case DCC_ERR_CUDA:
    case DCC_ERR_MEMORY:
        return 3;
    case DCC_ERR_BUG:
        break;
    }
    return 70;
}

int rt_train_main(const dcc_model_desc *const *models, int n_models, int argc,
                  char **argv)
{
    RtTrainer t;
    dcc_status status;
    int bad;

    memset(&t, 0, sizeof t);
    t.o.program = argv[0];
    t.o.seed = 1;
    t.saved = t.reported = -1;
    bad = rt_train_options(&t.o, argc, argv);
    if (bad)
        return bad;
    rt_catch_signals();
    status = rt_train_all(&t, models, n_models);
    if (status != DCC_OK) {
        rt_show_progress(&t, 1);
        fprintf(stderr, "%s: error: %s\n", t.o.program, dcc_error());
    }
    if (status != DCC_OK && t.saved >= 0)
        fprintf(stderr, "%s: note: %s has the state after step %lld\n",
                t.o.program, t.o.save, (long long)t.saved);
    if (status == DCC_OK && rt_signal)
        fprintf(stderr, "%s: stopped after step %lld; --resume goes on\n",
                t.o.program, (long long)t.step);
    rt_train_end(&t);
    bad = rt_train_exit(&t, status);
    return bad ? bad : rt_say_end(t.o.program);
}
