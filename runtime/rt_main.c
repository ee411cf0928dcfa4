/* rt_main.c - dcc_main of dcc_rt.h: the command line of a generated program.
 * Reads weights and inputs, runs the model, writes outputs, timings, traces.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dcc_rt.h"
#include "rt_main.h"
#include "safetensors.h"

enum { RT_USER = 1, RT_USAGE = 2, RT_MACHINE = 3, RT_DEFECT = 70 };

static void rt_usage(FILE *to, const char *program)
{
    fprintf(to,
            "usage: %s [--model NAME] [--weights FILE] [--in FILE]... "
            "[--out FILE]\n"
            "          [--runs N] [--bench N [--json FILE]] [--trace FILE]\n"
            "          [--profile N] [--reach] [--tune N [--steps LIST]]\n"
            "          [--sequence] [--feed INPUT=OUTPUT]...\n"
            "          [--warm-up N] [--streams N] [--percentiles]\n"
            "          [--random SEED [--save FILE]] [--seed N] [--describe] "
            "[--help]\n"
            "   or: %s --train ...\n",
            program, program);
}

static void rt_help(const char *program)
{
    rt_usage(stdout, program);
    printf("\n"
           "  --model NAME    which model, where the program has several\n"
           "  --weights FILE  parameters, .safetensors\n"
           "  --in FILE       inputs, .safetensors; may be repeated\n"
           "  --out FILE      writes the outputs, .safetensors\n"
           "  --runs N        runs N times, state carried on (default 1)\n"
           "  --bench N       times N runs: median and least microseconds\n"
           "  --warm-up N     runs before those that count\n"
           "  --streams N     and N copies of the model at a time\n"
           "  --percentiles   and of those the 90th to the 99th, and the most\n"
           "  --sequence      inputs of one dimension more have a value for\n"
           "                  each run, and outputs get one\n"
           "  --feed I=O      output O is input I of the next run\n"
           "  --json FILE     writes the timings as JSON\n"
           "  --profile N     times each step, N times in a row\n"
           "  --reach         first a run that prints each step reached\n"
           "  --tune N        times each step over copies of the data\n"
           "  --steps LIST    only these steps: 0,4,9\n"
           "  --trace FILE    the last run goes step by step and every\n"
           "                  materialised tensor is written\n"
           "  --random SEED   draws what no file gives\n"
           "  --seed N        of the parameters' initialisers (default 1)\n"
           "  --save FILE     writes the parameters and inputs that ran\n"
           "  --describe      lists parameters, inputs and outputs\n");
}

/* ---- options ---- */

static int rt_lacks(const char *program, const char *what, const char *option)
{
    fprintf(stderr, "%s: error: the model has %s: needs %s FILE or --random\n",
            program, what, option);
    return RT_USAGE;
}

static int rt_lacks_params(const dcc_model_desc *d)
{
    for (int i = 0; i < d->n_params; i++)
        if (d->params[i].begin == DCC_BEGIN_NONE)
            return 1;
    return 0;
}

static int rt_bad_option(const char *program, const char *text,
                         const char *which)
{
    fprintf(stderr, "%s: error: %s%s\n", program, text, which);
    rt_usage(stderr, program);
    return RT_USAGE;
}

/* A whole number >= least; 0 if it is none. */
static int rt_parse_number(const char *text, long long least, long long *out)
{
    char *end;

    *out = strtoll(text, &end, 10);
    return end != text && *end == 0 && *out >= least &&
           *out <= 1000000000000LL;
}

int rt_parse_seed(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0;
}

static int rt_numeric_option(RtOptions *o, const char *name, const char *value)
{
    long long number;

    if (strcmp(name, "--seed") == 0)
        return rt_parse_seed(value, &o->begin);
    if (strcmp(name, "--random") == 0) {
        o->random = 1;
        return rt_parse_seed(value, &o->seed);
    }
    if (!rt_parse_number(value, 1, &number) || number > 10000000)
        return 0;
    if (strcmp(name, "--runs") == 0)
        o->runs_given = o->runs = (int)number;
    else if (strcmp(name, "--warm-up") == 0)
        o->warm_up = (int)number;
    else if (strcmp(name, "--streams") == 0)
        o->streams = (int)number;
    else if (strcmp(name, "--profile") == 0)
        o->profile = (int)number;
    else if (strcmp(name, "--tune") == 0)
        o->tune = (int)number;
    else
        o->bench = (int)number;
    return 1;
}

static int rt_flag(RtOptions *o, const char *name)
{
    struct {
        const char *name;
        int *at;
    } flags[] = {{"--help", &o->help},         {"--describe", &o->describe},
                 {"--reach", &o->reach},       {"--sequence", &o->sequence},
                 {"--percentiles", &o->percentiles}};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(flags[i].name, name) == 0) {
            *flags[i].at = 1;
            return 1;
        }
    return 0;
}

/* Numbers with a comma between each two. */
static int rt_is_list(const char *text)
{
    const char *p = text;

    do {
        const size_t n = strspn(p, "0123456789");

        if (n == 0 || n > 9)
            return 0;
        p += n;
    } while (*p++ == ',');
    return p[-1] == 0;
}

/* What does nothing without another option. 0, or the exit status. */
static int rt_check_needs(const RtOptions *o)
{
    const struct {
        int given, there;
        const char *lacks, *what;
    } needs[] = {{o->json != NULL, o->bench, "--json needs ", "--bench"},
                 {o->streams, o->bench, "--streams needs ", "--bench"},
                 {o->percentiles, o->bench, "--percentiles needs ", "--bench"},
                 {o->warm_up, o->bench, "--warm-up needs ", "--bench"},
                 {o->steps != NULL, o->tune, "--steps needs ", "--tune"}};

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].given && !needs[i].there)
            return rt_bad_option(o->program, needs[i].lacks, needs[i].what);
    if (o->steps && !rt_is_list(o->steps))
        return rt_bad_option(o->program, "not a list as 0,4,9: --steps ",
                             o->steps);
    return 0;
}

/* 0, or the exit status. */
static int rt_options(RtOptions *o, int argc, char **argv)
{
    struct {
        const char *name;
        const char **at; /* NULL: a number, or --in */
    } known[] = {
        {"--model", &o->model}, {"--weights", &o->weights},
        {"--out", &o->out},     {"--json", &o->json},
        {"--trace", &o->trace}, {"--save", &o->save},
        {"--steps", &o->steps}, {"--in", NULL},
        {"--runs", NULL},
        {"--bench", NULL},      {"--random", NULL},
        {"--profile", NULL},
        {"--tune", NULL},       {"--feed", NULL},
        {"--warm-up", NULL},    {"--streams", NULL},
        {"--seed", NULL},
    };
    const int n = (int)(sizeof known / sizeof *known);

    for (int i = 1; i < argc; i++) {
        int k = 0;

        if (rt_flag(o, argv[i]))
            continue;
        while (k < n && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (k == n)
            return rt_bad_option(o->program, "unknown argument ", argv[i]);
        if (++i == argc)
            return rt_bad_option(o->program, "a value must follow ",
                                 argv[i - 1]);
        if (known[k].at && *known[k].at)
            return rt_bad_option(o->program, "given twice: ", argv[i - 1]);
        if (known[k].at) {
            *known[k].at = argv[i];
        } else if (strcmp(known[k].name, "--in") == 0) {
            if (o->n_in == RT_MAX_FILES)
                return rt_bad_option(o->program, "too many ", "--in files");
            o->in[o->n_in++] = argv[i];
        } else if (strcmp(known[k].name, "--feed") == 0) {
            if (o->n_feed == RT_MAX_FILES)
                return rt_bad_option(o->program, "too many ", "--feed");
            o->feed[o->n_feed++] = argv[i];
        } else if (!rt_numeric_option(o, known[k].name, argv[i])) {
            return rt_bad_option(o->program, "not a number that fits ",
                                 known[k].name);
        }
    }
    return rt_check_needs(o);
}

static const dcc_model_desc *rt_choose(const RtOptions *o,
                                       const dcc_model_desc *const *models,
                                       int n)
{
    for (int i = 0; i < n; i++)
        if (o->model ? strcmp(models[i]->name, o->model) == 0 : n == 1)
            return models[i];
    if (o->model)
        fprintf(stderr, "%s: error: no model \"%s\"; there are:", o->program,
                o->model);
    else
        fprintf(stderr, "%s: error: --model must choose one of:", o->program);
    for (int i = 0; i < n; i++)
        fprintf(stderr, " %s", models[i]->name);
    fprintf(stderr, "\n");
    return NULL;
}

static void rt_describe_all(const char *role, const dcc_tensor *tensors, int n)
{
    char shape[200];

    for (int i = 0; i < n; i++) {
        const dcc_tensor *t = &tensors[i];

        printf("%-6s %s : %s%s", role, t->name, dcc_type_name(t->type),
               t->rank ? dcc_st_shape_text(shape, sizeof shape, t->rank,
                                           t->dim)
                       : "");
        if (t->lo != t->hi)
            printf(" in %lld..%lld", (long long)t->lo, (long long)t->hi);
        printf("\n");
    }
}

static void rt_describe(const dcc_model_desc *d)
{
    printf("model  %s: %d launches; weights %.1f MB, packed %.1f, "
           "intermediates %.1f, state %.1f\n",
           d->name, d->n_steps, (double)d->params_bytes / 1e6,
           (double)d->consts_bytes / 1e6, (double)d->arena_bytes / 1e6,
           (double)d->state_bytes / 1e6);
    rt_describe_all("input", d->inputs, d->n_inputs);
    rt_describe_all("output", d->outputs, d->n_outputs);
    rt_describe_all("state", d->states, d->n_states);
    rt_describe_all("param", d->params, d->n_params);
}

/* ---- timing ---- */

static int rt_by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

static dcc_status rt_cuda_main(const char *doing, cudaError_t error)
{
    if (error == cudaSuccess)
        return DCC_OK;
    return dcc_fail(DCC_ERR_CUDA, "%s: %s", doing, cudaGetErrorString(error));
}

/* Enqueues `n` runs with an event between each and the next, so that the
 * intervals are the GPU's own time; us[i] in microseconds. */
static dcc_status rt_time_runs(RtProgram *p, cudaEvent_t *events, int n,
                               float *us)
{
    dcc_status status;

    status = rt_cuda_main("timing", cudaEventRecord(events[0], p->stream));
    for (int i = 0; i < n && status == DCC_OK; i++) {
        status = dcc_model_run(p->model, (const void *const *)p->inputs,
                               p->outputs, p->stream);
        if (status == DCC_OK)
            status = rt_cuda_main("timing",
                                  cudaEventRecord(events[i + 1], p->stream));
    }
    if (status == DCC_OK)
        status = rt_cuda_main("running", cudaStreamSynchronize(p->stream));
    for (int i = 0; i < n && status == DCC_OK; i++) {
        float ms = 0;

        status = rt_cuda_main(
            "timing", cudaEventElapsedTime(&ms, events[i], events[i + 1]));
        us[i] = ms * 1e3f;
    }
    return status;
}

enum { RT_BATCH = 256 }; /* runs enqueued before waiting */

static dcc_status rt_time_all(RtProgram *p, int warm_up, int n, float *us)
{
    const int batch = n < RT_BATCH ? n : RT_BATCH;
    cudaEvent_t events[RT_BATCH + 1];
    dcc_status status = DCC_OK;
    int made = 0;

    for (; made <= batch && status == DCC_OK; made++)
        status =
            rt_cuda_main("creating events", cudaEventCreate(&events[made]));
    /* warm up: clocks, caches, the graph's upload */
    if (!warm_up)
        warm_up = n < 20 ? 1 : batch / 10 + 2;
    for (int i = 0; i < warm_up && status == DCC_OK; i += batch)
        status = rt_time_runs(p, events,
                              warm_up - i < batch ? warm_up - i : batch, us);
    for (int i = 0; i < n && status == DCC_OK; i += batch)
        status = rt_time_runs(p, events, n - i < batch ? n - i : batch, us + i);
    for (int i = 0; i < made; i++)
        cudaEventDestroy(events[i]);
    return status;
}

/* Of sorted values, the nearest rank. */
static double rt_percentile(const float *us, int n, int percent)
{
    int at = (int)(((long long)n * percent + 99) / 100) - 1;

    return us[at < 0 ? 0 : at];
}

static double rt_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs a second of several copies of the model, each on its own stream. */
static dcc_status rt_time_streams(RtProgram *p, RtOptions *o, int n)
{
    const int copies = o->streams;
    RtProgram *all = (RtProgram *)calloc((size_t)copies, sizeof *all);
    dcc_status status = all ? DCC_OK : dcc_fail(DCC_ERR_MEMORY,
                                                "out of memory");
    double begin = 0, seconds;

    for (int i = 0; i < copies && status == DCC_OK; i++) {
        all[i].desc = p->desc;
        all[i].say = p->say;
        status = rt_start(&all[i], o);
    }
    for (int i = -copies; i < n && status == DCC_OK; i++) {
        RtProgram *one = &all[(i + copies) % copies];

        if (i == 0) {
            status = rt_cuda_main("running", cudaDeviceSynchronize());
            begin = rt_now();
        }
        if (status == DCC_OK)
            status = dcc_model_run(one->model,
                                   (const void *const *)one->inputs,
                                   one->outputs, one->stream);
    }
    if (status == DCC_OK)
        status = rt_cuda_main("running", cudaDeviceSynchronize());
    seconds = rt_now() - begin;
    if (status == DCC_OK)
        fprintf(p->say, "%s: %d streams: %.1f runs a second, %.2f us each\n",
                p->desc->name, copies, n / seconds, seconds * 1e6 / n);
    for (int i = 0; all && i < copies; i++)
        if (all[i].desc)
            rt_stop(&all[i]);
    free(all);
    return status;
}

static dcc_status rt_report_json(RtProgram *p, const char *path, int n,
                                 const float *us, double median,
                                 double mean)
{
    const size_t size = strlen(p->desc->name) + 900;
    char *text = (char *)malloc(size);
    dcc_status status;

    if (!text)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    snprintf(text, size,
             "{\"model\": \"%s\", \"device\": \"%.200s\", \"runs\": %d, "
             "\"median_us\": %.3f, \"min_us\": %.3f, \"mean_us\": %.3f, "
             "\"p90_us\": %.3f, \"p99_us\": %.3f, \"max_us\": %.3f}\n",
             p->desc->name, p->device, n, median, us[0], mean,
             rt_percentile(us, n, 90), rt_percentile(us, n, 99), us[n - 1]);
    p->writing = 1;
    status = dcc_write_text(path, text);
    free(text);
    return status;
}

static dcc_status rt_bench(RtProgram *p, RtOptions *o)
{
    const int n = o->bench;
    float *us = (float *)malloc(sizeof *us * (size_t)(n + 32));
    double median, mean = 0;
    dcc_status status;

    if (!us)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    status = rt_time_all(p, o->warm_up, n, us);
    if (status == DCC_OK) {
        for (int i = 0; i < n; i++)
            mean += us[i] / n;
        qsort(us, (size_t)n, sizeof *us, rt_by_value);
        median = (us[(n - 1) / 2] + us[n / 2]) / 2;
        fprintf(p->say, "%s: median %.2f us, min %.2f us over %d runs on %s\n",
               p->desc->name, median, us[0], n, p->device);
        if (o->percentiles)
            fprintf(p->say, "%s: mean %.2f us, p90 %.2f, p95 %.2f, p99 %.2f, "
                            "max %.2f; %.1f runs a second\n",
                    p->desc->name, mean, rt_percentile(us, n, 90),
                    rt_percentile(us, n, 95), rt_percentile(us, n, 99),
                    us[n - 1], 1e6 / mean);
        if (o->json)
            status = rt_report_json(p, o->json, n, us, median, mean);
    }
    if (status == DCC_OK && o->streams)
        status = rt_time_streams(p, o, n);
    free(us);
    return status;
}

/* ---- the program ---- */

static dcc_status rt_run_all(RtProgram *p, const RtOptions *o)
{
    const void *const *in = (const void *const *)p->inputs;
    dcc_status status = DCC_OK;

    for (int i = 0; i < o->runs && status == DCC_OK; i++) {
        status = rt_before_run(p, i);
        if (status == DCC_OK && o->trace && i == o->runs - 1)
            status = rt_trace(p, o->trace);
        else if (status == DCC_OK)
            status = dcc_model_run(p->model, in, p->outputs, p->stream);
        if (status == DCC_OK) {
            cudaError_t error = cudaStreamSynchronize(p->stream);

            if (error != cudaSuccess)
                status = dcc_fail(DCC_ERR_BUG, "%s: a kernel failed: %s",
                                  p->desc->name, cudaGetErrorString(error));
        }
        if (status == DCC_OK)
            status = rt_after_run(p, o, i);
    }
    return status;
}

static dcc_status rt_program(RtProgram *p, RtOptions *o)
{
    dcc_status status = rt_start(p, o);

    if (status == DCC_OK && o->reach)
        status = rt_tune_reach(p);
    if (status == DCC_OK && o->reach)
        status = dcc_model_reset(p->model, p->stream);
    if (status == DCC_OK)
        status = rt_run_all(p, o);
    if (status != DCC_OK)
        return status;
    if (!o->bench)
        fprintf(p->say, "%s: %d run%s on %s\n", p->desc->name, o->runs,
               o->runs == 1 ? "" : "s", p->device);
    if (o->out)
        status = o->sequence ? rt_write_sequence(p, o)
                             : rt_write_outputs(p, o->out);
    if (status == DCC_OK && o->bench)
        status = rt_bench(p, o);
    if (status == DCC_OK && o->profile)
        status = rt_profile(p, o->profile);
    if (status == DCC_OK && o->tune)
        status = rt_tune(p, o->tune, o->steps);
    return status;
}

int rt_say_end(const char *program)
{
    int full = fflush(stdout) != 0;

    if (!full && !ferror(stdout))
        return 0;
    fprintf(stderr, "%s: error: cannot write to standard output%s%s\n", program,
            full ? ": " : "", full ? strerror(errno) : "");
    return RT_MACHINE;
}

static int rt_exit_status(dcc_status status, int writing)
{
    switch (status) {
    case DCC_OK:
        return 0;
    case DCC_ERR_IO:
        return writing ? RT_MACHINE : RT_USER;
    case DCC_ERR_FORMAT:
    case DCC_ERR_ARG:
        return RT_USER;
    case DCC_ERR_CUDA:
    case DCC_ERR_MEMORY:
        return RT_MACHINE;
    case DCC_ERR_BUG:
        break;
    }
    return RT_DEFECT;
}

int dcc_main(const dcc_model_desc *const *models, int n_models, int argc,
             char **argv)
{
    RtOptions o;
    RtProgram p;
    dcc_status status;
    int bad;

    signal(SIGXFSZ, SIG_IGN); /* a write that fails says so */
    if (argc > 1 && strcmp(argv[1], "--train") == 0)
        return rt_train_main(models, n_models, argc, argv);
    memset(&o, 0, sizeof o);
    memset(&p, 0, sizeof p);
    o.program = argc > 0 ? argv[0] : "program";
    o.runs = 1;
    o.begin = 1;
    bad = rt_options(&o, argc, argv);
    if (bad)
        return bad;
    if (o.help) {
        rt_help(o.program);
        return rt_say_end(o.program);
    }
    p.desc = rt_choose(&o, models, n_models);
    if (!p.desc)
        return RT_USAGE;
    if (o.describe) {
        rt_describe(p.desc);
        return rt_say_end(o.program);
    }
    if (rt_lacks_params(p.desc) && !o.weights && !o.random)
        return rt_lacks(o.program, "parameters", "--weights");
    if (p.desc->n_inputs && !o.n_in && !o.random)
        return rt_lacks(o.program, "inputs", "--in");
    if (!rt_check_outputs(&o))
        return RT_USAGE;
    p.say = o.say_stderr ? stderr : stdout;
    status = rt_settle_inputs(&o);
    if (status == DCC_OK)
        status = rt_program(&p, &o);
    if (status != DCC_OK)
        rt_print_error(&o, dcc_error());
    rt_stop(&p);
    return status == DCC_OK ? rt_say_end(o.program)
                            : rt_exit_status(status, p.writing);
}
