/* ref.c - dcc_ref_main of dcc_ref.h: the command line of an oracle. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcc_init.h"
#include "ref_main.h"

enum { REF_USER = 1, REF_USAGE = 2, REF_MACHINE = 3 };

typedef struct {
    const char *program;
    const char *model, *weights, *in, *out, *against, *check;
    const char *save_weights, *save_in;
    const char *runs, *random, *tolerance, *budget, *only;
    const char *gradients, *seed;
    const char *math;
    bool verbose, help, list;
} Options;

static void usage(FILE *to, const char *program)
{
    fprintf(to,
            "usage: %s [--model NAME] [--weights FILE] [--in FILE] "
            "[--out FILE]\n"
            "          [--runs N] [--against FILE [--tolerance X]]\n"
            "          [--check TRACE [--budget N] [--only LIST] [--math M] "
            "[--verbose]]\n"
            "          [--random SEED [--save-weights FILE] "
            "[--save-in FILE]] [--seed N]\n",
            program);
}

static void help(const char *program)
{
    usage(stdout, program);
    printf("\n"
           "  --model NAME         which model, where there are several\n"
           "  --weights FILE       parameters, .safetensors\n"
           "  --in FILE            inputs, .safetensors\n"
           "  --out FILE           writes the outputs, all as F64\n"
           "  --runs N             runs N times, state carried on\n"
           "  --against FILE       compares the outputs with a program's\n"
           "  --tolerance X        allowed error there, of the largest value\n"
           "  --check TRACE        checks a program's trace, tensor by tensor\n"
           "  --budget N           terms to evaluate per tensor of a trace\n"
           "                       before only points are taken; default 2e7\n"
           "  --gradients N        every gradient along N random directions\n"
           "  --only LIST          checks only t3,t9 of a trace, and prints a\n"
           "                       line for each\n"
           "  --math M             bounds for f32 products: exact, tf32, 3xtf32\n"
           "  --verbose            lists every traced tensor\n"
           "  --random SEED        draws parameters and inputs not given\n"
           "  --seed N             of the parameters' initialisers\n"
           "  --save-weights FILE  writes the parameters that ran\n"
           "  --save-in FILE       writes the inputs that ran\n"
           "  --list               the models, each with how many states\n");
}

static int bad_option(const char *program, const char *text, const char *what)
{
    fprintf(stderr, "%s: error: %s%s\n", program, text, what);
    usage(stderr, program);
    return REF_USAGE;
}

static int options(Options *o, int argc, char **argv)
{
    struct {
        const char *name;
        const char **value;
        bool *flag;
    } known[] = {
        {"--model", &o->model, NULL},
        {"--weights", &o->weights, NULL},
        {"--in", &o->in, NULL},
        {"--out", &o->out, NULL},
        {"--against", &o->against, NULL},
        {"--check", &o->check, NULL},
        {"--save-weights", &o->save_weights, NULL},
        {"--save-in", &o->save_in, NULL},
        {"--runs", &o->runs, NULL},
        {"--random", &o->random, NULL},
        {"--tolerance", &o->tolerance, NULL},
        {"--budget", &o->budget, NULL},
        {"--only", &o->only, NULL},
        {"--gradients", &o->gradients, NULL},
        {"--seed", &o->seed, NULL},
        {"--math", &o->math, NULL},
        {"--verbose", NULL, &o->verbose},
        {"--help", NULL, &o->help},
        {"--list", NULL, &o->list},
    };
    const int n = (int)(sizeof known / sizeof *known);

    for (int i = 1; i < argc; i++) {
        int k = 0;

        while (k < n && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (k == n)
            return bad_option(o->program, "unknown argument ", argv[i]);
        if (known[k].flag)
            *known[k].flag = true;
        else if (++i == argc)
            return bad_option(o->program, "a value must follow ",
                              argv[i - 1]);
        else
            *known[k].value = argv[i];
    }
    return 0;
}

/* A number option's value; false if it is none or less than `least`. */
static bool number(const char *text, double least, double *value)
{
    char *end;

    if (!text)
        return true;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= least;
}

/* ---- memory, names ---- */

void *ref_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fprintf(stderr, "oracle: error: out of memory (%.1f MB)\n",
                (double)n * (double)size / 1e6);
        exit(REF_MACHINE);
    }
    return p;
}

int64_t ref_count(const dcc_ref_tensor *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d];
    return n;
}

const char *ref_where(char *text, size_t size, const dcc_ref_tensor *t,
                      int64_t offset)
{
    int64_t at[DCC_MAX_RANK];

    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = offset % t->dim[d];
        offset /= t->dim[d];
    }
    return dcc_st_shape_text(text, size, t->rank, at);
}

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t ref_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- elements and doubles ---- */

static double element(const unsigned char *p, dcc_st_dtype dtype, int64_t i)
{
    uint16_t h;
    int32_t n;
    int64_t l;
    float f;
    double d;

    switch (dtype) {
    case DCC_ST_F16:
        memcpy(&h, p + i * 2, 2);
        return (double)dcc_half_to_float(h);
    case DCC_ST_BF16:
        memcpy(&h, p + i * 2, 2);
        return (double)dcc_bfloat_to_float(h);
    case DCC_ST_F32:
        memcpy(&f, p + i * 4, 4);
        return (double)f;
    case DCC_ST_F64:
        memcpy(&d, p + i * 8, 8);
        return d;
    case DCC_ST_I32:
        memcpy(&n, p + i * 4, 4);
        return n;
    case DCC_ST_I64:
        memcpy(&l, p + i * 8, 8);
        return (double)l;
    case DCC_ST_I8:
        return ((const signed char *)p)[i];
    case DCC_ST_U8:
    case DCC_ST_BOOL:
        return p[i];
    default:
        return NAN;
    }
}

bool ref_doubles(const dcc_st_tensor *t, double *out)
{
    for (int64_t i = 0; i < t->count; i++)
        out[i] = element(t->data, t->dtype, i);
    return t->dtype <= DCC_ST_F64 && t->dtype != DCC_ST_I16 &&
           t->dtype != DCC_ST_U16 && t->dtype != DCC_ST_U32 &&
           t->dtype != DCC_ST_U64;
}

static void to_type(const double *from, int64_t n, dcc_type type,
                    unsigned char *to)
{
    for (int64_t i = 0; i < n; i++) {
        float f = (float)from[i];
        int32_t v = (int32_t)from[i];
        uint16_t h = type == DCC_F16 ? dcc_float_to_half(f)
                                     : dcc_float_to_bfloat(f);

        switch (type) {
        case DCC_F32:
            memcpy(to + i * 4, &f, 4);
            break;
        case DCC_F16:
        case DCC_BF16:
            memcpy(to + i * 2, &h, 2);
            break;
        case DCC_I32:
            memcpy(to + i * 4, &v, 4);
            break;
        case DCC_I8:
        case DCC_U8:
        case DCC_BOOL:
            to[i] = (unsigned char)(v & 255);
            break;
        }
    }
}

/* ---- parameters and inputs ---- */

static bool is_given(const dcc_ref_tensor *t)
{
    return t->role == DCC_REF_PARAM || t->role == DCC_REF_INPUT;
}

static const char *file_name(const dcc_ref_tensor *t)
{
    return t->role == DCC_REF_PARAM ? t->weight : t->name;
}

static dcc_status load(const dcc_ref_tensor *t, const dcc_st_file *file,
                       double *out)
{
    const bool param = t->role == DCC_REF_PARAM;
    const int64_t n = ref_count(t);
    const dcc_st_want want = {file_name(t), t->type, t->rank, t->dim, param,
                              param ? "parameter" : "input"};
    unsigned char *bytes = ref_alloc((size_t)n, dcc_type_size(t->type));
    dcc_status status = dcc_st_read(file, &want, bytes, NULL);

    for (int64_t i = 0; i < n && status == DCC_OK; i++)
        out[i] = element(bytes, dcc_st_dtype_of(t->type), i);
    free(bytes);
    return status;
}

static void draw(const dcc_ref_tensor *t, uint64_t *state, double *out)
{
    const int64_t n = ref_count(t);
    double low = -1.75, high = 1.75;
    int64_t lo = t->lo, hi = t->hi;

    if (t->role == DCC_REF_PARAM && t->fan_in) {
        high = sqrt(3.0 / (double)t->fan_in);
        low = -high;
    } else if (t->role == DCC_REF_PARAM) {
        low = 0.5;
        high = 1.5;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = ref_random(state);
        double x = low + (high - low) * (double)(r >> 11) * 0x1p-53;

        out[i] = lo < hi ? (double)(lo + (int64_t)(r % (uint64_t)(hi - lo)))
                         : dcc_ref_round(t->type, x);
    }
}

static dcc_status save(const RefRun *run, const char *path, dcc_ref_role role)
{
    const dcc_ref_model *m = run->model;
    dcc_st_out *all = ref_alloc((size_t)m->n_tensor, sizeof *all);
    int n = 0;

    for (int i = 0; i < m->n_tensor; i++) {
        const dcc_ref_tensor *t = &m->tensor[i];
        const int64_t count = ref_count(t);
        unsigned char *bytes;

        if (t->role != role)
            continue;
        bytes = ref_alloc((size_t)count, dcc_type_size(t->type));
        to_type(run->t[i], count, t->type, bytes);
        all[n++] = (dcc_st_out){file_name(t), dcc_st_dtype_of(t->type),
                                t->rank, t->dim, bytes};
    }
    dcc_status status = dcc_st_write(path, all, n, NULL, 0);
    for (int i = 0; i < n; i++)
        free((void *)all[i].data);
    free(all);
    return status;
}

static dcc_status save_outputs(const RefRun *run, const char *path)
{
    const dcc_ref_model *m = run->model;
    dcc_st_out *all = ref_alloc((size_t)m->n_tensor, sizeof *all);
    int n = 0;

    for (int i = 0; i < m->n_tensor; i++)
        if (m->tensor[i].role == DCC_REF_OUTPUT)
            all[n++] = (dcc_st_out){m->tensor[i].name, DCC_ST_F64,
                                    m->tensor[i].rank, m->tensor[i].dim,
                                    run->t[i]};
    dcc_status status = dcc_st_write(path, all, n, NULL, 0);
    free(all);
    return status;
}

/* ---- the program ---- */

static void begin(const dcc_ref_tensor *t, uint64_t seed, double *out)
{
    const int64_t n = ref_count(t);
    const uint64_t key = dcc_init_key(t->weight, seed);

    for (int64_t i = 0; i < n; i++) {
        double x = dcc_init_value((dcc_begin)t->begin, t->init, t->spread, key,
                                  (uint64_t)i);
        out[i] = dcc_ref_round(t->type, (double)(float)x);
    }
}

static dcc_status give(RefRun *run, const Options *o, uint64_t seed,
                       uint64_t begin_seed)
{
    dcc_st_file *weights = NULL, *in = NULL;
    dcc_status status = DCC_OK;

    if (o->weights)
        status = dcc_st_open(&weights, o->weights);
    if (o->in && status == DCC_OK)
        status = dcc_st_open(&in, o->in);
    for (int i = 0; i < run->model->n_tensor && status == DCC_OK; i++) {
        const dcc_ref_tensor *t = &run->model->tensor[i];
        dcc_st_file *file = t->role == DCC_REF_PARAM ? weights : in;
        uint64_t state = seed * 1000003 + (uint64_t)i;

        if (!is_given(t))
            continue;
        run->t[i] = ref_alloc((size_t)ref_count(t), sizeof(double));
        if (t->begin && !(file ? dcc_st_find(file, t->weight) != NULL
                               : o->random != NULL))
            begin(t, begin_seed, run->t[i]);
        else if (file)
            status = load(t, file, run->t[i]);
        else if (o->random)
            draw(t, &state, run->t[i]);
        else
            status = dcc_fail(DCC_ERR_ARG, "%s \"%s\" is needed: --%s FILE or "
                              "--random SEED",
                              t->role == DCC_REF_PARAM ? "parameter" : "input",
                              file_name(t),
                              t->role == DCC_REF_PARAM ? "weights" : "in");
    }
    dcc_st_close(weights);
    dcc_st_close(in);
    return status;
}

static dcc_status judge(RefRun *run, const Options *o, double tolerance,
                        int runs, double budget, uint64_t seed, bool *good)
{
    dcc_st_file *file = NULL;
    dcc_status status = DCC_OK;
    bool fine = true;

    if (o->against) {
        status = dcc_st_open(&file, o->against);
        if (status == DCC_OK)
            status = ref_against(run, file, tolerance, runs, &fine);
        *good = *good && fine;
        dcc_st_close(file);
    }
    if (o->check && status == DCC_OK) {
        status = dcc_st_open(&file, o->check);
        if (status == DCC_OK)
            status = ref_check(run, file, budget, seed, o->only, o->verbose,
                               &fine);
        *good = *good && fine;
        dcc_st_close(file);
    }
    return status;
}

static int exit_status(const char *program, dcc_status status, bool writing,
                       bool good)
{
    if (status == DCC_OK)
        return good ? 0 : REF_USER;
    fprintf(stderr, "%s: error: %s\n", program, dcc_error());
    return status == DCC_ERR_MEMORY || writing ? REF_MACHINE : REF_USER;
}

/* Of a product in a contraction: factors of 11 bits, or of two parts of 11, of
 * which those of the low ones with each other are left out. */
static bool product_error(const char *math, double *relative)
{
    static const struct {
        const char *math;
        double relative;
    } known[] = {{"exact", 0}, {"tf32", 0x1p-10}, {"3xtf32", 3 * 0x1p-22}};

    for (int i = 0; i < 3; i++)
        if (!strcmp(math ? math : "exact", known[i].math)) {
            *relative = known[i].relative;
            return true;
        }
    return false;
}

static int program(const dcc_ref_model *model, const Options *o)
{
    RefRun run = {model, ref_alloc((size_t)model->n_tensor, sizeof(double *)),
                  ref_alloc((size_t)model->n_tensor, sizeof(int)), 0};
    double runs = 1, seed = 0, tolerance = -1, budget = 2e7, directions = 0;
    double begins = 1;
    bool good = true;

    if (!number(o->seed, 0, &begins) || !number(o->runs, 1, &runs) ||
        !number(o->random, 0, &seed) ||
        !number(o->tolerance, 0, &tolerance) ||
        !number(o->budget, 0, &budget) ||
        !number(o->gradients, 1, &directions))
        return bad_option(o->program, "not a number that fits", "");
    if (!product_error(o->math, &dcc_ref_product))
        return bad_option(o->program, "not a kind of products", o->math);
    dcc_status status = give(&run, o, (uint64_t)seed, (uint64_t)begins);
    bool writing = status == DCC_OK;
    if (status == DCC_OK && o->save_weights)
        status = save(&run, o->save_weights, DCC_REF_PARAM);
    if (status == DCC_OK && o->save_in)
        status = save(&run, o->save_in, DCC_REF_INPUT);
    if (status == DCC_OK && (o->out || o->against))
        ref_run(&run, (int)runs);
    if (status == DCC_OK && o->out)
        status = save_outputs(&run, o->out);
    writing &= status != DCC_OK;
    if (status == DCC_OK)
        status = judge(&run, o, tolerance, (int)runs, budget, (uint64_t)seed,
                       &good);
    if (status == DCC_OK && directions > 0)
        good &= ref_gradients(&run, (int)directions, (uint64_t)seed);
    for (int i = 0; i < model->n_tensor; i++)
        free(run.t[i]);
    free(run.t);
    free(run.last);
    return exit_status(o->program, status, writing, good);
}

static int states(const dcc_ref_model *m)
{
    int n = 0;

    for (int i = 0; i < m->n_tensor; i++)
        n += m->tensor[i].role == DCC_REF_STATE || m->tensor[i].next >= 0;
    return n;
}

/* What was said may have found no place. */
static int say_end(const char *program, int status)
{
    int full = fflush(stdout) != 0;

    if ((!full && !ferror(stdout)) || status)
        return status;
    fprintf(stderr, "%s: error: cannot write to standard output%s%s\n", program,
            full ? ": " : "", full ? strerror(errno) : "");
    return 3;
}

int dcc_ref_main(const dcc_ref_model *const *models, int n, int argc,
                 char **argv)
{
    Options o = {.program = argc > 0 ? argv[0] : "oracle"};
    int bad = options(&o, argc, argv);

    signal(SIGXFSZ, SIG_IGN); /* a write that fails says so */
    if (bad)
        return bad;
    if (o.help) {
        help(o.program);
        return say_end(o.program, 0);
    }
    for (int i = 0; i < n && o.list; i++)
        printf("%s %d\n", models[i]->name, states(models[i]));
    if (o.list)
        return say_end(o.program, 0);
    for (int i = 0; i < n; i++)
        if (o.model ? strcmp(models[i]->name, o.model) == 0 : n == 1)
            return say_end(o.program, program(models[i], &o));
    return bad_option(o.program, o.model ? "no model " : "which? --model NAME",
                      o.model ? o.model : "");
}
