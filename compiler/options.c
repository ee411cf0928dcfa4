#include "options.h"

#include "command/place.h"
#include "version.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    O_TARGET = 256, O_PLAN, O_WRITE_PLAN, O_MATH, O_MAIN, O_STANDALONE,
    O_EMIT, O_VARIANT, O_DUMP, O_EXPLAIN, O_MODEL, O_TRACE, O_RANDOM_PLAN,
    O_WEIGHTS, O_IN, O_OUT, O_CPU, O_GPU, O_BENCH, O_SEED, O_RUNS, O_VERBOSE,
    O_RANDOM, O_DEPENDENT, O_BUDGET, O_VARIANTS, O_KEEP,
    O_JSON, O_HELP, O_VERSION
};

/* Whether launches overlap if --dependent-launch does not say. */
enum { DEPENDENT_LAUNCH = 1 };

static const struct option long_options[] = {
    {"target", required_argument, NULL, O_TARGET},
    {"plan", required_argument, NULL, O_PLAN},
    {"write-plan", required_argument, NULL, O_WRITE_PLAN},
    {"math", required_argument, NULL, O_MATH},
    {"dependent-launch", required_argument, NULL, O_DEPENDENT},
    {"main", no_argument, NULL, O_MAIN},
    {"standalone", no_argument, NULL, O_STANDALONE},
    {"emit", required_argument, NULL, O_EMIT},
    {"variant", required_argument, NULL, O_VARIANT},
    {"dump", required_argument, NULL, O_DUMP},
    {"explain", no_argument, NULL, O_EXPLAIN},
    {"model", required_argument, NULL, O_MODEL},
    {"trace", no_argument, NULL, O_TRACE},
    {"random-plan", required_argument, NULL, O_RANDOM_PLAN},
    {"weights", required_argument, NULL, O_WEIGHTS},
    {"in", required_argument, NULL, O_IN},
    {"out", required_argument, NULL, O_OUT},
    {"cpu", no_argument, NULL, O_CPU},
    {"gpu", no_argument, NULL, O_GPU},
    {"bench", required_argument, NULL, O_BENCH},
    {"seed", required_argument, NULL, O_SEED},
    {"runs", required_argument, NULL, O_RUNS},
    {"verbose", no_argument, NULL, O_VERBOSE},
    {"random", no_argument, NULL, O_RANDOM},
    {"json", required_argument, NULL, O_JSON},
    {"budget", required_argument, NULL, O_BUDGET},
    {"variants", required_argument, NULL, O_VARIANTS},
    {"keep", required_argument, NULL, O_KEEP},
    {"help", no_argument, NULL, O_HELP},
    {"version", no_argument, NULL, O_VERSION},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: dcc [options] MODEL.dcl... -o FUSED.cu     write CUDA\n"
    "       dcc run [options] MODEL.dcl...             build and run\n"
    "       dcc verify [options] MODEL.dcl...          compare with an oracle\n"
    "       dcc tune [options] MODEL.dcl... -o PLAN    measure variants\n"
    "       dcc import MODEL.onnx -o MODEL.dcl         from ONNX\n"
    "       dcc fmt [-i] FILE...                       canonical formatting\n"
    "       dcc ops [NAME]                             the operator library\n"
    "       dcc devices                                the GPUs known\n"
    "\n"
    "  -o FILE               output; the header FILE.h goes beside it\n"
    "  -D NAME=VALUE         replace a model's dim or type\n"
    "  --target=GPU          h200 (default), a100, ..., or sm_80, sm_90\n"
    "  --model=NAME          only this model of the files\n"
    "  --math=exact|tf32|3xtf32   f32 contractions (default exact)\n"
    "  --dependent-launch=on|off  kernels begin before those ahead have\n"
    "                        ended (default on, from sm_90)\n"
    "  --main                add a main(): with the runtime, a program\n"
    "  --standalone          put the runtime's text into the .cu\n"
    "  --trace               let that program write every tensor\n"
    "  --emit=cu|ref         CUDA, or the oracle in plain C\n"
    "  --plan=FILE           grouping and variants from a plan file\n"
    "  --write-plan=FILE     write them\n"
    "  --variant=KERNEL=TEXT force a variant; KERNEL is a kernel or a family\n"
    "  --random-plan=SEED    random legal variants, layouts (a test)\n"
    "  --dump=PASS           what a pass produced: graph, number,\n"
    "                        simplify, normalise, layout, select, variants,\n"
    "                        memory\n"
    "  --explain             every decision with its numbers\n"
    "  run:    --weights FILE --in FILE... --out FILE [--cpu|--gpu]\n"
    "          [--random] [--bench N] [--runs N] [--json FILE]\n"
    "  verify: [--seed N] [--cpu|--gpu] [--random-plan=N] [--verbose]\n"
    "  tune:   [--budget 120s] [-j N] [--variants N] [--keep FOLDER]\n"
    "          [--seed N] [--cpu|--gpu]\n";

enum { IN_COMPILE = 1, IN_RUN = 2, IN_VERIFY = 4, IN_TUNE = 8 };
enum { MAX_VARIANTS = 1000, MAX_JOBS = 1000 };

/* The commands that an option is for. */
static int commands_of(int o)
{
    switch (o) {
    case 'o':
        return IN_COMPILE | IN_TUNE;
    case 'j': case O_BUDGET: case O_VARIANTS: case O_KEEP:
        return IN_TUNE;
    case O_WRITE_PLAN: case O_MAIN: case O_STANDALONE: case O_EMIT:
    case O_TRACE:
        return IN_COMPILE;
    case O_WEIGHTS: case O_IN: case O_OUT: case O_BENCH: case O_RUNS:
    case O_JSON: case O_RANDOM:
        return IN_RUN;
    case O_CPU: case O_GPU: case O_SEED:
        return IN_RUN | IN_VERIFY | IN_TUNE;
    case O_VERBOSE:
        return IN_RUN | IN_VERIFY;
    case O_VARIANT: case O_RANDOM_PLAN: case O_DUMP: case O_EXPLAIN:
        return IN_COMPILE | IN_RUN | IN_VERIFY;
    default:
        return IN_COMPILE | IN_RUN | IN_VERIFY | IN_TUNE;
    }
}

static int bad(const char *fmt, const char *what)
{
    fputs("dcc: error: ", stderr);
    fprintf(stderr, fmt, what);
    fputs("\n(dcc --help shows the options)\n", stderr);
    return 2;
}

static bool number(const char *s, uint64_t *v)
{
    char *end;

    errno = 0;
    *v = strtoull(s, &end, 10);
    return *s >= '0' && *s <= '9' && !*end && !errno;
}

static int split_pair(Arena *a, const char *arg, const char **name,
                      const char **value)
{
    const char *eq = strchr(arg, '=');

    if (!eq || eq == arg || !eq[1])
        return 2;
    *name = arena_strndup(a, arg, (size_t)(eq - arg));
    *value = eq + 1;
    return 0;
}

static int add_define(Arena *a, CommandLine *c, const char *arg)
{
    CompileOptions *o = &c->compile;
    Define *more = arena_array(a, Define, o->n_define + 1);

    if (o->n_define)
        memcpy(more, o->define, sizeof *more * (size_t)o->n_define);
    if (split_pair(a, arg, &more[o->n_define].name, &more[o->n_define].value))
        return bad("-D wants NAME=VALUE, not '%s'", arg);
    o->define = more;
    o->n_define++;
    return 0;
}

static int add_variant(Arena *a, CommandLine *c, const char *arg)
{
    CompileOptions *o = &c->compile;
    Forced *more = arena_array(a, Forced, o->n_forced + 1);

    if (o->n_forced)
        memcpy(more, o->forced, sizeof *more * (size_t)o->n_forced);
    if (split_pair(a, arg, &more[o->n_forced].name, &more[o->n_forced].text))
        return bad("--variant wants KERNEL=TEXT, not '%s'", arg);
    o->forced = more;
    o->n_forced++;
    return 0;
}

static int add_input(Arena *a, CommandLine *c, const char *arg)
{
    const char **more = arena_array(a, const char *, c->n_in + 1);

    for (int i = 0; i < c->n_in; i++)
        more[i] = c->in[i];
    more[c->n_in++] = arg;
    c->in = more;
    return 0;
}

static int set_math(CommandLine *c, const char *arg)
{
    static const char *const name[] = {"exact", "tf32", "3xtf32"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(arg, name[i])) {
            c->compile.model.math = i;
            return 0;
        }
    return bad("--math is exact, tf32 or 3xtf32, not '%s'", arg);
}

static int set_dependent(CommandLine *c, const char *arg)
{
    bool on = !strcmp(arg, "on");

    if (!on && strcmp(arg, "off"))
        return bad("--dependent-launch is on or off, not '%s'", arg);
    c->compile.model.dependent = c->compile.ask_dependent = on;
    return 0;
}

static int set_dump(CommandLine *c, const char *arg)
{
    for (const char *const *p = dump_passes; *p; p++)
        if (!strcmp(*p, arg)) {
            c->compile.dump = arg;
            return 0;
        }
    return bad("--dump knows no pass '%s'", arg);
}

static int set_number(const char *arg, uint64_t *v)
{
    return number(arg, v) ? 0 : bad("'%s' is not a whole number", arg);
}

/* "90", "90s", "1.5m", "2h" in seconds. */
static int set_budget(CommandLine *c, const char *arg)
{
    static const char unit[] = "smh";
    static const double seconds[] = {1, 60, 3600};
    char *end;
    double v = strtod(arg, &end);
    const char *u = *end ? strchr(unit, *end) : unit;

    if (end == arg || strspn(arg, "0123456789.") != (size_t)(end - arg) ||
        !u || (*end && end[1]) || !(v > 0) || v > 1e6)
        return bad("--budget is a time as 90s, 2m or 1h, not '%s'", arg);
    c->budget = v * seconds[u - unit];
    return 0;
}

/* A count of 1 to `most`. */
static int set_count(const char *arg, uint64_t most, const char *what, int *v)
{
    uint64_t n;

    if (!number(arg, &n) || n < 1 || n > most)
        return bad(what, arg);
    *v = (int)n;
    return 0;
}

static int set_files(CommandLine *c, int o, const char *arg)
{
    switch (o) {
    case 'o': c->out = arg; return 0;
    case O_TARGET: c->target = arg; return 0;
    case O_PLAN: c->plan_in = arg; return 0;
    case O_WRITE_PLAN: c->plan_out = arg; return 0;
    case O_MODEL: c->model = arg; return 0;
    case O_WEIGHTS: c->weights = arg; return 0;
    case O_OUT: c->result = arg; return 0;
    case O_JSON: c->json = arg; return 0;
    case O_KEEP: c->keep = arg; return 0;
    default: return -1;
    }
}

static int set_flag(CommandLine *c, int o)
{
    switch (o) {
    case O_MAIN: c->with_main = true; return 0;
    case O_STANDALONE: c->standalone = true; return 0;
    case O_EXPLAIN: c->compile.explain = true; return 0;
    case O_TRACE: c->compile.trace = true; return 0;
    case O_CPU: c->cpu = true; return 0;
    case O_GPU: c->gpu = true; return 0;
    case O_VERBOSE: c->verbose = true; return 0;
    case O_RANDOM: c->random = true; return 0;
    default: return -1;
    }
}

static int set_option(Arena *a, CommandLine *c, int o, const char *arg)
{
    int status = set_files(c, o, arg);

    if (status < 0)
        status = set_flag(c, o);
    if (status >= 0)
        return status;
    switch (o) {
    case O_IN: return add_input(a, c, arg);
    case 'D': return add_define(a, c, arg);
    case O_VARIANT: return add_variant(a, c, arg);
    case O_MATH: return set_math(c, arg);
    case O_DEPENDENT: return set_dependent(c, arg);
    case O_DUMP: return set_dump(c, arg);
    case O_EMIT:
        c->ref = !strcmp(arg, "ref");
        return c->ref || !strcmp(arg, "cu")
                   ? 0 : bad("--emit is cu or ref, not '%s'", arg);
    case O_RANDOM_PLAN:
        return set_number(arg, &c->compile.random_plan);
    case O_SEED: return set_number(arg, &c->seed);
    case O_BENCH:
    case O_RUNS:
        return set_count(arg, 1000000, "'%s' is not a number of runs",
                         o == O_BENCH ? &c->bench : &c->runs);
    case O_BUDGET: return set_budget(c, arg);
    case O_VARIANTS:
        return set_count(arg, MAX_VARIANTS, "'%s' is not a number of variants",
                         &c->variants);
    case 'j':
        return set_count(arg, MAX_JOBS, "-j wants a number of jobs, not '%s'",
                         &c->jobs);
    default: return 2;
    }
}

/* An option that the command would not look at is an error. */
static int check_command(const char *command, int o, const char *arg)
{
    int in = !*command                   ? IN_COMPILE
             : !strcmp(command, "run")    ? IN_RUN
             : !strcmp(command, "verify") ? IN_VERIFY : IN_TUNE;
    int of = commands_of(o);

    if (of & in)
        return 0;
    if (in == IN_TUNE && of & IN_VERIFY)
        return bad("'%s' is no option of dcc tune", arg);
    return bad(of & IN_COMPILE  ? "'%s' is for writing CUDA (dcc MODEL.dcl)"
               : of == IN_RUN   ? "'%s' is an option of dcc run"
               : of == IN_TUNE  ? "'%s' is an option of dcc tune"
               : of & IN_TUNE   ? "'%s' is an option of dcc run, dcc verify "
                                  "and dcc tune"
                                : "'%s' is an option of dcc run and "
                                  "dcc verify", arg);
}

static void print_version(Arena *a)
{
    const char *looked, *runtime = place_runtime(a, &looked);

    printf("dcc " DCC_VERSION "\n"
           "  built by    %s %s, for Linux on %s\n"
           "  targets     sm_70 to sm_90a; default h200\n"
           "  runtime     %s\n",
#ifdef __clang__
           "clang",
#else
           "gcc",
#endif
           __VERSION__,
#ifdef __x86_64__
           "x86_64",
#elif defined(__aarch64__)
           "aarch64",
#else
           "another processor",
#endif
           runtime ? runtime : "not found");
}

/* The command without folders, so that output does not depend on them. */
static const char *command_text(Arena *a, int argc, char **argv)
{
    Buf b = {0};

    buf_puts(&b, "dcc");
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        const char *eq = strncmp(arg, "--", 2) ? NULL : strchr(arg, '=');
        const char *tail = strrchr(arg, '/');
        buf_putc(&b, ' ');
        if (tail && eq && tail > eq)
            buf_putn(&b, arg, (size_t)(eq + 1 - arg));
        buf_puts(&b, tail ? tail + 1 : arg);
    }
    return buf_take(&b, a);
}

int options_parse(Arena *a, int argc, char **argv, const char *command,
                  CommandLine *c, bool *done)
{
    int o, before;

    c->target = "h200";
    c->seed = 1;
    c->variants = 8;
    c->jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    c->compile.model.dependent = DEPENDENT_LAUNCH;
    c->text = command_text(a, argc, argv);
    *done = false;
    optind = *command ? 2 : 1;
    opterr = 0;
    while (before = optind,
           (o = getopt_long(argc, argv, ":o:D:j:", long_options, NULL)) != -1) {
        if (o == O_HELP || o == O_VERSION) {
            *done = true;
            if (o == O_HELP)
                fputs(usage, stdout);
            else
                print_version(a);
            return fflush(stdout) ? 3 : 0;
        }
        if (o == '?')
            return bad("unknown option '%s'", argv[optind - 1]);
        if (o == ':')
            return bad("option '%s' wants a value", argv[optind - 1]);
        int status = check_command(command, o, argv[before]);
        if (!status)
            status = set_option(a, c, o, optarg);
        if (status)
            return status;
    }
    c->file = argv + optind;
    c->n_file = argc - optind;
    c->compile.model.device = device_find(a, c->target);
    if (!c->compile.model.device)
        return bad("unknown GPU '%s' (dcc devices lists them)", c->target);
    if (!c->n_file)
        return bad("%s", "no .dcl file is given");
    const char *end = c->out ? strrchr(c->out, '.') : NULL;
    if (end && !strcmp(end, ".h") && !c->ref)
        return bad("-o names the .cu; '%s' is the header's place", c->out);
    if (!strcmp(command, "tune") && !c->out)
        return bad("%s", "dcc tune wants -o MODEL.plan");
    if (c->cpu && c->gpu)
        return bad("%s", "--cpu and --gpu exclude each other");
    return 0;
}
