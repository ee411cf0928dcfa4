/* main.c - the commands. Exit status: 0 done, 1 the user's error, 2 a bad
 * command line, 3 an environment failure, 70 a bug in dcc. */
#include "command/driver.h"
#include "front.h"
#include "command/output.h"
#include "import/import.h"
#include "options.h"
#include "command/tune.h"
#include "support/file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>

typedef struct Session {
    Arena *arena;
    Diag *diag;
    CommandLine line;
    struct Program *tree;
    const char **model; int n_model; /* those to compile */
} Session;

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
    if (!file_read(&b, s->line.plan_in)) {
        diag_error(s->diag, (Span){0}, "cannot read '%s': %s",
                   s->line.plan_in, file_error());
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
                      const char *cu_name, bool own_header)
{
    CudaProgram **p = arena_array(s->arena, CudaProgram *, s->n_model);
    const Device *dev = s->line.compile.model.device;
    FileInfo info = {
        .source = source_names(s), .command = s->line.text,
        .target = s->line.target, .sm = dev->sm,
        .cu_name = base_name(cu_name), .own_header = own_header,
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
        status = output_write(
            &(OutFile){&b, s->line.out ? s->line.out : "-"}, 1);
    buf_free(&b);
    return status;
}

static int print_report(const Report *r)
{
    fputs(buf_text(&r->dump), stdout);
    fputs(buf_text(&r->explain), stdout);
    if (!fflush(stdout))
        return 0;
    fprintf(stderr, "dcc: error: cannot write to standard output: %s\n",
            strerror(errno));
    return 3;
}

/* Where the .cu goes, and the header beside it; a device or a pipe takes the
 * .cu alone, with the header's text in it. */
typedef struct OutPlace {
    const char *cu, *header; /* NULL: not written */
    const char *name;        /* of the .cu, in its text */
} OutPlace;

static OutPlace choose_place(Session *s)
{
    const CommandLine *l = &s->line;
    const char *own = with_ending(s->arena, base_name(l->file[0]), ".cu");
    bool look = !l->out && (l->compile.dump || l->compile.explain ||
                            l->plan_out);

    if (look)
        return (OutPlace){.name = own};
    if (!l->out)
        return (OutPlace){own, with_ending(s->arena, own, ".h"), own};
    if (output_is_stream(l->out))
        return (OutPlace){.cu = l->out, .name = own};
    return (OutPlace){l->out, with_ending(s->arena, l->out, ".h"), l->out};
}

/* No output is an input, or another output. */
static int check_files(Session *s, const OutPlace *p)
{
    const CommandLine *l = &s->line;
    UsedFile *in = arena_array(s->arena, UsedFile, l->n_file + l->n_in + 2);
    const UsedFile out[] = {{p->cu, l->out ? "-o" : "the .cu"},
                            {p->header, "the header"},
                            {l->plan_out, "--write-plan"},
                            {l->result, "--out"},
                            {l->json, "--json"}};
    int n = 0;

    for (int i = 0; i < l->n_file; i++)
        in[n++] = (UsedFile){l->file[i], "the program"};
    for (int i = 0; i < l->n_in; i++)
        in[n++] = (UsedFile){l->in[i], "an input"};
    in[n++] = (UsedFile){l->weights, "the weights"};
    in[n++] = (UsedFile){l->plan_in, "the plan to read"};
    return output_check(in, n, out, sizeof out / sizeof *out);
}

static int write_cuda(Session *s)
{
    const CommandLine *l = &s->line;
    Buf cu = {0}, header = {0};
    Report r = {0};
    OutPlace p = choose_place(s);
    int status = 1;

    if (make_cuda(s, &cu, &header, &r, p.name, p.cu && !p.header)) {
        OutFile out[] = {{&r.plan, l->plan_out}, {&cu, p.cu},
                         {&header, p.header}};
        diag_flush(s->diag);
        status = print_report(&r);
        if (!status)
            status = output_write(out, 3);
        if (!status && !l->out && p.cu)
            fprintf(stderr, "dcc: wrote %s and %s\n", p.cu, p.header);
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
    OutPlace place = choose_place(s);
    int status;

    if (s->line.ref)
        place = (OutPlace){.cu = s->line.out};
    status = check_files(s, &place);
    if (status)
        return status;
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
    bool ok = make_cuda(s, &cu, &header, &r, "fused.cu", false) &&
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
    int status = check_files(s, &(OutPlace){0});

    if (status)
        return status;
    return open_session(s, true) ? build_and(s, false) : 1;
}

static int command_verify(Session *s)
{
    int status = check_files(s, &(OutPlace){0});

    if (status)
        return status;
    return open_session(s, false) ? build_and(s, true) : 1;
}

static int command_tune(Session *s)
{
    const CommandLine *l = &s->line;
    int status = check_files(s, &(OutPlace){.cu = l->out});

    if (status)
        return status;
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

/* A standard stream that the caller closed must not be the next file that is
 * opened; writing to it stays an error. */
static void hold_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";

    hold_streams();

    if (!strcmp(command, "fmt"))
        return command_fmt(argc - 2, argv + 2);
    if (!strcmp(command, "ops"))
        return command_ops(argc - 2, argv + 2);
    if (!strcmp(command, "devices"))
        return command_devices();
    if (!strcmp(command, "import"))
        return command_import(argc - 1, argv + 1);
    if (!strcmp(command, "run"))
        return with_session(argc, argv, command, command_run);
    if (!strcmp(command, "verify"))
        return with_session(argc, argv, command, command_verify);
    if (!strcmp(command, "tune"))
        return with_session(argc, argv, command, command_tune);
    return with_session(argc, argv, "", command_compile);
}
