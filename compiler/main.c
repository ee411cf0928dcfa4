/* main.c - the commands. Exit status: 0 done, 1 the user's error, 2 a bad
 * command line, 3 an environment failure, 70 a bug in dcc. */
#include "command/driver.h"
#include "front.h"
#include "options.h"
#include "command/tune.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Session {
    Arena *arena;
    Diag *diag;
    CommandLine line;
    struct Program *tree;
    const char **model; int n_model; /* those to compile */
} Session;

static int fail_io(const char *verb, const char *path)
{
    fprintf(stderr, "dcc: error: cannot %s '%s': %s\n", verb, path,
            strerror(errno));
    return 3;
}

static int write_out(const Buf *b, const char *path)
{
    return buf_write_file(buf_text(b), b->len, path) ? 0
                                                     : fail_io("write", path);
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool choose_models(Session *s, bool only_one)
{
    const char **all;
    int n = front_models(s->arena, s->tree, &all);

    s->model = all;
    s->n_model = n;
    for (int i = 0; s->line.model && i < n; i++)
        if (!strcmp(all[i], s->line.model)) {
            s->model = &all[i];
            s->n_model = 1;
            return true;
        }
    if (s->line.model) {
        diag_error(s->diag, (Span){0}, "there is no model '%s'",
                   s->line.model);
        return false;
    }
    if (only_one && n > 1) {
        diag_error(s->diag, (Span){0},
                   "there are %d models; --model=NAME picks one", n);
        return false;
    }
    return true;
}

static bool check_defines(Session *s)
{
    const CompileOptions *o = &s->line.compile;

    for (int i = 0; i < o->n_define; i++)
        if (!lower_has_define(s->tree, s->line.model, o->define[i].name))
            diag_error(s->diag, (Span){0}, "-D: no model has a dim or type "
                       "'%s'", o->define[i].name);
    return !diag_errors(s->diag);
}

static bool read_plan(Session *s)
{
    CompileOptions *o = &s->line.compile;
    Buf b = {0};

    o->want_plan = s->line.plan_out != NULL;
    if (!s->line.plan_in)
        return true;
    if (!buf_read_file(&b, s->line.plan_in)) {
        diag_error(s->diag, (Span){0}, "cannot read '%s': %s",
                   s->line.plan_in, strerror(errno));
        return false;
    }
    o->plan_name = s->line.plan_in;
    o->plan_len = b.len;
    o->plan_text = arena_strndup(s->arena, buf_text(&b), b.len);
    buf_free(&b);
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *with_ending(Arena *a, const char *path, const char *end)
{
    const char *dot = strrchr(base_name(path), '.');

    return arena_printf(a, "%.*s%s",
                        dot ? (int)(dot - path) : (int)strlen(path), path,
                        end);
}

static const char *source_names(Session *s)
{
    Buf b = {0};

    for (int i = 0; i < s->line.n_file; i++)
        buf_printf(&b, "%s%s", i ? " " : "", base_name(s->line.file[i]));
    return buf_take(&b, s->arena);
}

/* Compiles the chosen models to text. False after errors. */
static bool make_cuda(Session *s, Buf *cu, Buf *header, Report *r,
                      const char *cu_name)
{
    CudaProgram **p = arena_array(s->arena, CudaProgram *, s->n_model);
    const Device *dev = s->line.compile.model.device;
    FileInfo info = {
        .source = source_names(s), .command = s->line.text,
        .target = s->line.target, .sm = dev->sm,
        .cu_name = base_name(cu_name),
        .header_name = base_name(with_ending(s->arena, cu_name, ".h")),
        .with_main = s->line.with_main, .standalone = s->line.standalone,
    };

    for (int i = 0; i < s->n_model; i++)
        p[i] = compile_model(s->arena, s->diag, s->tree, s->model[i],
                             &s->line.compile, r);
    if (!diag_errors(s->diag))
        compile_check_options(&s->line.compile, s->diag);
    if (diag_errors(s->diag))
        return false;
    emit_file(cu, header, p, s->n_model, &info);
    return true;
}

static bool open_session(Session *s, bool only_one)
{
    s->tree = front_read(s->arena, s->diag, s->line.file, s->line.n_file,
                         true);
    return s->tree && choose_models(s, only_one) && check_defines(s) &&
           read_plan(s);
}

static int emit_oracle(Session *s)
{
    Buf b = {0};
    int status = 0;

    if (!compile_ref(s->arena, s->diag, s->tree, s->model, s->n_model,
                     &s->line.compile, &b))
        status = 1;
    else
        status = write_out(&b, s->line.out ? s->line.out : "/dev/stdout");
    buf_free(&b);
    return status;
}

static int print_report(const Report *r)
{
    fputs(buf_text(&r->dump), stdout);
    fputs(buf_text(&r->explain), stdout);
    return fflush(stdout) ? fail_io("write to", "standard output") : 0;
}

typedef struct OutFile {
    const Buf *text;
    const char *path; /* NULL: not wanted */
} OutFile;

/* All of them or none: an error takes back those written before. */
static int write_files(const OutFile *f, int n)
{
    for (int i = 0; i < n; i++) {
        int status = f[i].path ? write_out(f[i].text, f[i].path) : 0;
        if (!status)
            continue;
        while (--i >= 0)
            if (f[i].path && is_file(f[i].path))
                unlink(f[i].path);
        return status;
    }
    return 0;
}

/* The header goes beside the .cu, unless that is a device or a pipe. */
static const char *header_path(Session *s, const char *cu)
{
    struct stat st;
    bool special = stat(cu, &st) == 0 && !S_ISREG(st.st_mode);

    return special ? NULL : with_ending(s->arena, cu, ".h");
}

static int write_cuda(Session *s)
{
    const CommandLine *l = &s->line;
    Buf cu = {0}, header = {0};
    Report r = {0};
    const char *path = l->out ? l->out
                              : with_ending(s->arena, base_name(l->file[0]),
                                            ".cu");
    int status = 1;

    if (make_cuda(s, &cu, &header, &r, path)) {
        bool look = !l->out && (l->compile.dump || l->compile.explain ||
                                l->plan_out);
        OutFile out[] = {{&r.plan, l->plan_out},
                         {&cu, look ? NULL : path},
                         {&header, look ? NULL : header_path(s, path)}};
        diag_flush(s->diag);
        status = print_report(&r);
        if (!status)
            status = write_files(out, 3);
    } else {
        print_report(&r);
    }
    buf_free(&cu);
    buf_free(&header);
    buf_free(&r.dump);
    buf_free(&r.explain);
    buf_free(&r.plan);
    return status;
}

static int command_compile(Session *s)
{
    if (!open_session(s, false))
        return 1;
    return s->line.ref ? emit_oracle(s) : write_cuda(s);
}

/* run and verify: emit, then hand over to the driver. */
static int build_and(Session *s, bool verify)
{
    CommandLine *l = &s->line;
    Buf cu = {0}, header = {0}, ref = {0};
    Report r = {0};
    int status = 1;

    l->with_main = true;
    l->compile.trace = verify;
    bool ok = make_cuda(s, &cu, &header, &r, "fused.cu") &&
              (!verify || compile_ref(s->arena, s->diag, s->tree, s->model,
                                      s->n_model, &l->compile, &ref));
    diag_flush(s->diag);
    print_report(&r);
    if (ok) {
        Driver d = {
            .arena = s->arena, .cu = &cu, .header = &header, .ref = &ref,
            .header_name = "fused.h",
            .arch = emit_arch_flags(l->compile.model.device->sm),
            .place = l->cpu ? DRIVER_CPU : l->gpu ? DRIVER_GPU : DRIVER_ANY,
            .model = s->n_model == 1 ? s->model[0] : NULL,
            .weights = l->weights, .out = l->result, .json = l->json,
            .in = l->in, .n_in = l->n_in, .bench = l->bench, .runs = l->runs,
            .random = l->random, .seed = l->seed, .verbose = l->verbose,
            .tf32 = l->compile.model.math == MATH_TF32,
        };
        status = verify ? driver_verify(&d) : driver_run(&d);
    }
    buf_free(&cu);
    buf_free(&header);
    buf_free(&ref);
    buf_free(&r.dump);
    buf_free(&r.explain);
    buf_free(&r.plan);
    return status;
}

static int command_run(Session *s)
{
    return open_session(s, true) ? build_and(s, false) : 1;
}

static int command_verify(Session *s)
{
    return open_session(s, false) ? build_and(s, true) : 1;
}

static int command_tune(Session *s)
{
    const CommandLine *l = &s->line;

    if (!open_session(s, true))
        return 1;
    Driver d = {.arena = s->arena,
                .arch = emit_arch_flags(l->compile.model.device->sm),
                .place = l->cpu ? DRIVER_CPU : DRIVER_GPU,
                .needs = l->gpu ? NULL : "dcc tune measures on a GPU, or with "
                                         "--cpu tries itself without",
                .folder = l->keep, .seed = l->seed,
                .tf32 = l->compile.model.math == MATH_TF32};
    TuneOptions o = {.driver = &d, .tree = s->tree, .model = s->model[0],
                     .source = source_names(s), .command = l->text,
                     .compile = &l->compile, .target = l->target,
                     .out = l->out, .variants = l->variants,
                     .jobs = l->jobs > 0 ? l->jobs : 1, .budget = l->budget};
    return tune_model(&o, s->diag);
}

static int with_session(int argc, char **argv, const char *command,
                        int (*run)(Session *))
{
    Session s = {.arena = arena_new()};
    bool done;

    s.diag = diag_new(s.arena);
    int status = options_parse(s.arena, argc, argv, command, &s.line, &done);
    if (!status && !done)
        status = run(&s);
    diag_flush(s.diag);
    arena_free(s.arena);
    return status;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";

    if (!strcmp(command, "fmt"))
        return command_fmt(argc - 2, argv + 2);
    if (!strcmp(command, "ops"))
        return command_ops(argc - 2, argv + 2);
    if (!strcmp(command, "devices"))
        return command_devices();
    if (!strcmp(command, "run"))
        return with_session(argc, argv, command, command_run);
    if (!strcmp(command, "verify"))
        return with_session(argc, argv, command, command_verify);
    if (!strcmp(command, "tune"))
        return with_session(argc, argv, command, command_tune);
    return with_session(argc, argv, "", command_compile);
}
