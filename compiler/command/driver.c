#include "command/driver_priv.h"
#include "command/place.h"
#include "support/support.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
                     "0123456789_"

enum { MESSAGE_LINES = 12 };
/* Runs of a bench that does not say how many: emulated ones take seconds. */
enum { BENCH_RUNS = 1000, BENCH_EMULATED = 10 };

/* Threads where the compiler has them; the same code on every machine. */
static const char ref_flags[] = "-O2 -fopenmp";

/* ---- where -------------------------------------------------------------- */

const char *driver_env(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value && *value ? value : otherwise;
}

const char *driver_ref_flags(void)
{
    return driver_env("DCC_REF_FLAGS", ref_flags);
}

const char *driver_nvcc(Build *b)
{
    const char *usual = "/usr/local/cuda/bin/nvcc";
    const char *name = driver_env("NVCC", "nvcc");

    if (!getenv("NVCC") && !have_command(&b->work, name) &&
        have_command(&b->work, usual))
        return usual;
    return name;
}

bool driver_have_gpu(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned), (*count)(int *), n = 0;

    if (!lib)
        return false;
    *(void **)&init = dlsym(lib, "cuInit");
    *(void **)&count = dlsym(lib, "cuDeviceGetCount");
    bool yes = init && count && init(0) == 0 && count(&n) == 0 && n > 0;
    dlclose(lib);
    return yes;
}

static bool choose(Build *b)
{
    const DriverPlace place = b->o->place;
    bool have_nvcc = have_command(&b->work, driver_nvcc(b));
    bool gpu = place != DRIVER_CPU && (b->o->compile_only || driver_have_gpu());

    if (place == DRIVER_GPU && (!gpu || !have_nvcc)) {
        say_error("%s: %s",
                b->o->needs ? b->o->needs : "--gpu",
                gpu ? "nvcc is not found; add it to PATH or set NVCC"
                    : "there is no NVIDIA GPU, or no driver for it");
        return false;
    }
    b->gpu = gpu && have_nvcc;
    if (place == DRIVER_ANY && !b->gpu)
        say_note("on the CPU, emulated: %s",
                gpu ? "nvcc is not found" : "there is no NVIDIA GPU");
    if (!b->gpu && !have_command(&b->work, driver_env("CXX", "g++"))) {
        say_error("%s is not found, and the CPU needs "
                        "a C++ compiler; install g++ or set CXX",
                driver_env("CXX", "g++"));
        return false;
    }
    return true;
}

/* ---- building ----------------------------------------------------------- */

/* The first lines of a log, those that matter. */
static void driver_show_log(const char *path, int lines)
{
    Buf text = {0};

    file_read(&text, path);
    if (text.len) {
        const char *p = buf_text(&text);
        for (int i = 0; *p && i < lines; i++) {
            size_t n = strcspn(p, "\n");
            fprintf(stderr, "  %.*s\n", (int)(n < 300 ? n : 300), p);
            p += n + (p[n] == '\n');
        }
    }
    buf_free(&text);
}

/* A folder as a pattern that means only it. */
static const char *escaped(Arena *a, const char *folder)
{
    Buf b = {0};

    for (; *folder; folder++) {
        if (strchr("*?[]\\", *folder))
            buf_putc(&b, '\\');
        buf_putc(&b, *folder);
    }
    return buf_take(&b, a);
}

/* The runtime's files of some patterns, in order of their names. */
void driver_sources(Build *b, Command *c, const char *const *pattern)
{
    for (; *pattern; pattern++) {
        glob_t found;
        if (glob(arena_printf(b->work.arena, "%s/%s",
                              escaped(b->work.arena, b->runtime), *pattern),
                 0, NULL, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++)
                command_add(&b->work, c,
                            arena_strdup(b->work.arena, found.gl_pathv[i]));
        globfree(&found);
    }
}

static const char *log_path(Build *b, const char *name)
{
    return work_path(&b->work, arena_printf(b->work.arena, "%s.log", name));
}

/* NAME from NAME.cu */
static void add_program(Build *b, Command *c, const char *name)
{
    Workdir *w = &b->work;

    command_add(w, c, work_path(w, name));
    command_add(w, c, work_path(w, arena_printf(w->arena, "%s.cu", name)));
}

static pid_t start_gpu(Build *b, const char *name)
{
    static const char *const parts[] = {"base.c", "safetensors*.c", "rt*.c",
                                        NULL};
    Workdir *w = &b->work;
    Command c = {0};

    command_words(w, &c, driver_nvcc(b));
    command_split(w, &c, "-O3 -std=c++17");
    command_split(w, &c, b->o->arch);
    command_split(w, &c, "-diag-suppress 177,550 -I");
    command_add(w, &c, b->runtime);
    command_add(w, &c, "-o");
    add_program(b, &c, name);
    driver_sources(b, &c, parts);
    return work_start(w, &c, log_path(b, name));
}

static pid_t start_cpu(Build *b, const char *name)
{
    Workdir *w = &b->work;
    Command c = {0};

    command_add(w, &c, "sh");
    command_add(w, &c, arena_printf(w->arena, "%s/emu/dcc-emu-cc",
                                    b->runtime));
    command_split(w, &c, driver_env("DCC_EMU_FLAGS",
                                    b->o->steps ? "-O2" : "-O1"));
    command_add(w, &c, "-o");
    add_program(b, &c, name);
    return work_start(w, &c, log_path(b, name));
}

pid_t driver_start(Build *b, const char *name)
{
    return b->gpu ? start_gpu(b, name) : start_cpu(b, name);
}

static Command ref_command(Build *b, const char *name, const char *flags)
{
    static const char *const parts[] = {"base.c", "safetensors*.c", "ref*.c",
                                        NULL};
    Workdir *w = &b->work;
    Command c = {0};

    command_words(w, &c, driver_env("CC", "cc"));
    command_split(w, &c, "-std=gnu11 -w");
    command_split(w, &c, flags);
    command_add(w, &c, "-I");
    command_add(w, &c, b->runtime);
    command_add(w, &c, "-o");
    command_add(w, &c, work_path(w, name));
    command_add(w, &c, work_path(w, arena_printf(w->arena, "%s.c", name)));
    driver_sources(b, &c, parts);
    command_add(w, &c, "-lm");
    return c;
}

static pid_t start_ref(Build *b, const char *name, const char *flags)
{
    Command c = ref_command(b, name, flags);

    return work_start(&b->work, &c, log_path(b, name));
}

/* ---- a compiler that fails ---------------------------------------------- */

/* A compiler that is told to stop, or has no room, says nothing of a text. */
static bool blames_machine(const char *log)
{
    static const char *const words[] = {"No space left", "out of memory",
                                        "memory exhausted", "Killed", NULL};
    Buf text = {0};
    bool found = false;

    file_read(&text, log);
    for (const char *const *w = words; *w; w++)
        found = found || strstr(buf_text(&text), *w);
    buf_free(&text);
    return found;
}

/* Whether the compiler is well: it compiles next to nothing, with all that
 * dcc's own text is compiled with. */
static bool compiles_probe(Build *b, bool oracle)
{
    static const char cu[] = "#include \"dcc_device.cuh\"\n"
                             "#include \"dcc_rt.h\"\n"
                             "int main() { return 0; }\n";
    static const char c[] = "#include \"dcc_ref.h\"\n"
                            "int main(void) { return 0; }\n";

    if (!work_file(&b->work, oracle ? "probe.c" : "probe.cu", oracle ? c : cu,
                   strlen(oracle ? c : cu)))
        return false;
    return work_wait(&b->work, oracle ? start_ref(b, "probe", "-O0")
                                      : driver_start(b, "probe")) == 0;
}

/* Says why `name` was not built: the exit status. What only dcc can have done
 * wrong stays, to be looked at. */
static int not_built(Build *b, const char *name, int status, bool oracle)
{
    const char *log = log_path(b, name);
    const char *what = oracle ? driver_env("CC", "cc")
                       : b->gpu ? driver_nvcc(b)
                                : "building for the CPU";

    if (b->work.signal)
        return 128 + b->work.signal;
    if (status < 128 && status != NOT_STARTED && !blames_machine(log) &&
        compiles_probe(b, oracle)) {
        say_error("a bug in dcc: %s fails on what it wrote "
                        "(exit status %d):", what, status);
        driver_show_log(log, MESSAGE_LINES);
        say_note("kept for a report: %s.%s",
                work_path(&b->work, name), oracle ? "c" : "cu");
        b->keep = true;
        return DEFECT;
    }
    say_error("%s failed (exit status %d):", what,
            status);
    driver_show_log(log, MESSAGE_LINES);
    return MACHINE;
}

int driver_built(Build *b, const char *name, pid_t child)
{
    b->work.doing = "building";
    int status = work_wait(&b->work, child);
    b->work.doing = NULL;

    return status ? not_built(b, name, status, false) : 0;
}

/* With threads if the compiler has them. */
static int ref_built(Build *b, pid_t child)
{
    b->work.doing = "building the oracle";
    int status = work_wait(&b->work, child);
    b->work.doing = NULL;

    if (status)
        status = work_wait(&b->work, start_ref(b, "oracle", "-O2"));
    return status ? not_built(b, "oracle", status, true) : 0;
}

static bool write_text(Build *b, const char *name, const Buf *text)
{
    return !text || work_file(&b->work, name, buf_text(text), text->len);
}

static bool write_texts(Build *b)
{
    const Driver *o = b->o;

    return write_text(b, "program.cu", o->cu) &&
           write_text(b, o->header_name, o->header) &&
           write_text(b, "oracle.c", o->ref);
}

bool driver_open(Build *b, const Driver *o)
{
    *b = (Build){.o = o};
    if (!work_open(&b->work, o->arena, o->folder))
        return false;
    const char *looked = NULL;
    b->runtime = place_runtime(o->arena, &looked);
    if (!b->runtime)
        say_error("no runtime in %s; DCC_RUNTIME_DIR says "
                        "where it is",
                looked);
    else if (choose(b) && write_texts(b))
        return true;
    driver_close(b);
    return false;
}

void driver_close(Build *b)
{
    if (b->o->imported)
        work_remove(b->o->imported);
    (b->o->folder || b->keep ? work_keep : work_close)(&b->work);
}

/* A program's exit status as dcc's. */
int driver_verdict(Build *b, int status)
{
    if (b->work.signal)
        return 128 + b->work.signal;
    if (status > 128) {
        say_error("the program was ended by signal %d",
                status - 128);
        return DEFECT;
    }
    return status == NOT_STARTED ? MACHINE : status;
}

/* ---- dcc run ------------------------------------------------------------ */

void driver_option(Build *b, Command *c, const char *name, const char *value)
{
    if (!value)
        return;
    command_add(&b->work, c, name);
    command_add(&b->work, c, value);
}

void driver_number(Build *b, Command *c, const char *name, uint64_t value)
{
    driver_option(b, c, name, arena_printf(b->work.arena, "%llu",
                                    (unsigned long long)value));
}

static int run_program(Build *b)
{
    const Driver *o = b->o;
    Command c = {.name = o->percentiles ? "dcc bench" : "dcc run"};
    int bench = o->bench || !o->percentiles ? o->bench
                : b->gpu                    ? BENCH_RUNS
                                            : BENCH_EMULATED;

    command_add(&b->work, &c, work_path(&b->work, "program"));
    driver_option(b, &c, "--model", o->model);
    driver_option(b, &c, "--weights", o->weights);
    for (int i = 0; i < o->n_in; i++)
        driver_option(b, &c, "--in", o->in[i]);
    driver_option(b, &c, "--out", o->out);
    driver_option(b, &c, "--save", o->save);
    if (o->random)
        driver_number(b, &c, "--random", o->seed);
    driver_number(b, &c, "--seed", o->seed);
    if (o->runs)
        driver_number(b, &c, "--runs", (uint64_t)o->runs);
    if (bench)
        driver_number(b, &c, "--bench", (uint64_t)bench);
    driver_option(b, &c, "--json", o->json);
    for (int i = 0; i < o->n_feed; i++)
        driver_option(b, &c, "--feed", o->feed[i]);
    if (o->sequence)
        command_add(&b->work, &c, "--sequence");
    if (o->warm_up)
        driver_number(b, &c, "--warm-up", (uint64_t)o->warm_up);
    if (o->streams)
        driver_number(b, &c, "--streams", (uint64_t)o->streams);
    if (o->percentiles)
        command_add(&b->work, &c, "--percentiles");
    if (o->profile)
        driver_number(b, &c, "--profile", b->gpu ? 20 : 1);
    return driver_verdict(b, work_run(&b->work, &c, NULL));
}

int driver_run(const Driver *o)
{
    Build b;

    if (!driver_open(&b, o))
        return MACHINE;
    int status = driver_built(&b, "program", driver_start(&b, "program"));
    if (!status)
        status = run_program(&b);
    driver_close(&b);
    return status;
}

/* ---- dcc verify --------------------------------------------------------- */

/* "mlp 0": a model of the oracle, with how many states. */
typedef struct Model {
    const char *name;
    bool state;
} Model;

/* How long a line "mlp 0" is in letters of its name; 0: it is another's, as
 * what a library says of its environment. */
static size_t listed(const char *line)
{
    size_t name = strspn(line, NAME_LETTERS), n = name + 1;

    if (!name || line[name] != ' ')
        return 0;
    n += strspn(line + n, "0123456789");
    return n > name + 1 && line[n] == '\n' ? name : 0;
}

static int list_models(Build *b, Model **out)
{
    Command c = {0};
    Buf text = {0};
    int n = 0, cap = 0;

    *out = NULL;
    command_add(&b->work, &c, work_path(&b->work, "oracle"));
    command_add(&b->work, &c, "--list");
    const char *log = work_path(&b->work, "models");
    if (work_run(&b->work, &c, log) == 0 && file_read(&text, log)) {
        for (const char *p = buf_text(&text); *p; p += *p == '\n') {
            size_t name = listed(p);
            if (name)
                VEC_PUSH(b->work.arena, *out, n, cap) =
                    (Model){arena_strndup(b->work.arena, p, name),
                            atoi(p + name) > 0};
            p += strcspn(p, "\n");
        }
    }
    buf_free(&text);
    return n;
}

static Command model_command(Build *b, const char *program, const Model *m)
{
    Command c = {.name = "dcc verify"};

    command_add(&b->work, &c, work_path(&b->work, program));
    driver_option(b, &c, "--model", m->name);
    return c;
}

static void files_options(Build *b, Command *c)
{
    driver_option(b, c, "--weights", work_path(&b->work, "weights"));
    driver_option(b, c, "--in", work_path(&b->work, "in"));
}

/* Runs the emitted program for one model, its messages to a log that is shown
 * if it fails. */
static int run_quietly(Build *b, const Command *c)
{
    const char *log = work_path(&b->work, "run.log");
    int status = driver_verdict(b, work_run(&b->work, c, log));

    if (status && !b->work.signal) {
        fprintf(stderr, "dcc verify: error: the program failed "
                        "(exit status %d):\n", status);
        driver_show_log(log, MESSAGE_LINES);
    }
    return status;
}

static int draw(Build *b, const Model *m)
{
    Command c = model_command(b, "oracle", m);

    driver_number(b, &c, "--random", b->o->seed);
    driver_option(b, &c, "--save-weights", work_path(&b->work, "weights"));
    driver_option(b, &c, "--save-in", work_path(&b->work, "in"));
    return run_quietly(b, &c);
}

/* The trace is of a first run, step by step; the outputs of runs as a caller
 * makes them, three with state carried on. On the CPU a model without state
 * runs once for both. */
static int run_both(Build *b, const Model *m)
{
    bool once = !b->gpu && !m->state;
    Command c = model_command(b, "program", m);

    files_options(b, &c);
    driver_option(b, &c, "--trace", work_path(&b->work, "trace"));
    if (once)
        driver_option(b, &c, "--out", work_path(&b->work, "out"));
    int status = run_quietly(b, &c);
    if (status || once)
        return status;
    c = model_command(b, "program", m);
    files_options(b, &c);
    driver_option(b, &c, "--out", work_path(&b->work, "out"));
    if (m->state)
        driver_option(b, &c, "--runs", "3");
    return run_quietly(b, &c);
}

static int judge(Build *b, const Model *m)
{
    Command c = model_command(b, "oracle", m);

    files_options(b, &c);
    driver_option(b, &c, "--against", work_path(&b->work, "out"));
    driver_option(b, &c, "--check", work_path(&b->work, "trace"));
    driver_number(b, &c, "--random", b->o->seed);
    if (m->state)
        driver_option(b, &c, "--runs", "3");
    driver_option(b, &c, "--math", b->o->math);
    if (b->o->verbose)
        command_add(&b->work, &c, "--verbose");
    return driver_verdict(b, work_run(&b->work, &c, NULL));
}

static int verify_model(Build *b, const Model *m)
{
    int status = draw(b, m);

    printf("%s, seed %llu, on the %s\n", m->name,
           (unsigned long long)b->o->seed, b->gpu ? "GPU" : "CPU");
    if (!status)
        status = run_both(b, m);
    if (!status)
        status = judge(b, m);
    return status;
}

/* The worst of two exit statuses: a defect, then the machine, then wrong. */
static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int verify_all(Build *b)
{
    Model *model;
    int n = list_models(b, &model), wrong = 0, failed = 0;
    int status = n ? 0 : MACHINE;

    for (int i = 0; i < n && !b->work.signal; i++) {
        if (b->o->model && strcmp(b->o->model, model[i].name))
            continue;
        int one = verify_model(b, &model[i]);
        wrong += one == 1;
        failed += one > 1;
        status = worse(status, one);
    }
    if (b->work.signal)
        return 128 + b->work.signal;
    if (wrong)
        printf("verify: %d of %d model%s WRONG\n", wrong, n,
               n == 1 ? "" : "s");
    if (failed)
        printf("verify: %d of %d model%s could not be checked\n", failed, n,
               n == 1 ? "" : "s");
    if (!status)
        printf("verify: %s correct\n",
               n == 1 ? "the model is" : "all models are");
    return status;
}

int driver_verify(const Driver *o)
{
    Build b;

    if (!driver_open(&b, o))
        return MACHINE;
    pid_t ref = start_ref(&b, "oracle", driver_ref_flags());
    pid_t program = driver_start(&b, "program");
    int status = driver_built(&b, "program", program);
    status = worse(ref_built(&b, ref), status);
    if (!status)
        status = verify_all(&b);
    driver_close(&b);
    return status;
}

/* ---- dcc verify --gradients --------------------------------------------- */

static int gradients_of(Build *b, const Model *m)
{
    Command c = model_command(b, "oracle", m);

    driver_number(b, &c, "--random", b->o->seed);
    driver_option(b, &c, "--gradients", "4");
    printf("%s, seed %llu, in double\n", m->name,
           (unsigned long long)b->o->seed);
    fflush(stdout);
    return driver_verdict(b, work_run(&b->work, &c, NULL));
}

int driver_gradients(const Driver *o)
{
    Build b;
    Model *model;

    if (!driver_open(&b, o))
        return MACHINE;
    int status = ref_built(&b, start_ref(&b, "oracle", "-O2"));
    int n = status ? 0 : list_models(&b, &model), wrong = 0;
    for (int i = 0; i < n && !b.work.signal; i++) {
        if (o->model && strcmp(o->model, model[i].name))
            continue;
        int one = gradients_of(&b, &model[i]);
        wrong += one == 1;
        status = worse(status, one);
    }
    if (b.work.signal)
        status = 128 + b.work.signal;
    else if (wrong)
        printf("verify: gradients of %d of %d model%s WRONG\n", wrong, n,
               n == 1 ? "" : "s");
    else if (!status)
        printf("verify: the gradients are correct\n");
    driver_close(&b);
    return status;
}
