/* main.c - the commands. Exit status: 0 done, 1 the user's error, 2 a bad
 * command line, 3 an environment failure, 70 a bug in dcc. */
#include "command/driver.h"
#include "command/help.h"
#include "command/output.h"
#include "command/probe.h"
#include "command/process.h"
#include "command/report.h"
#include "command/tune.h"
#include "front.h"
#include "import/import.h"
#include "options.h"
#include "support/support.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Session {
    Arena *arena;
    Diag *diag;
    CommandLine line;
    struct Program *tree;
    const char **model; int n_model; /* those to compile */
    const char *folder;              /* of what was imported, or NULL */
} Session;

/* " (did you mean 'B'?)", or what there is, or "". */
static const char *hint(Session *s, const char *name, const char *const *names,
                        int n)
{
    const char *near = near_name(name, names, n);
    Buf b = {0};

    if (near)
        return arena_printf(s->arena, " (did you mean '%s'?)", near);
    for (int i = 0; i < n && n <= 12; i++)
        buf_printf(&b, "%s%s", i ? ", " : " (there is ", names[i]);
    if (b.len)
        buf_putc(&b, ')');
    return buf_take(&b, s->arena);
}

static bool choose_models(Session *s, bool only_one)
{
    const char **all, *name = s->line.model;
    int n = front_models(s->arena, s->tree, &all);

    s->model = all;
    s->n_model = n;
    for (int i = 0; name && i < n; i++)
        if (!strcmp(all[i], name)) {
            s->model = &all[i];
            s->n_model = 1;
            return true;
        }
    if (name)
        diag_error(s->diag, (Span){0}, "there is no model '%s'%s", name,
                   hint(s, name, all, n));
    else if (only_one && n > 1)
        diag_error(s->diag, (Span){0},
                   "there are %d models; --model=NAME picks one%s", n,
                   hint(s, "", all, n));
    return !diag_errors(s->diag);
}

static bool check_defines(Session *s)
{
    const CompileOptions *o = &s->line.compile;
    const char **names;
    int n = lower_defines(s->arena, s->tree, s->line.model, &names);

    for (int i = 0; i < o->n_define; i++) {
        const char *name = o->define[i].name;
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || !strcmp(names[k], name);
        if (!known)
            diag_error(s->diag, (Span){0}, "-D: no model has a dim or type "
                       "'%s'%s", name, hint(s, name, names, n));
    }
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
        buf_printf(&b, "%s%s", i ? " " : "",
                   strcmp(s->line.file[i], "-") ? base_name(s->line.file[i])
                                                : "<stdin>");
    return buf_take(&b, s->arena);
}

/* dcc train: before anything is built. */
static void check_trains(Session *s, CudaProgram *const *p)
{
    const char *name = s->line.train;
    int trains = 0;

    for (int i = 0; i < s->n_model; i++)
        if (!name || !strcmp(s->model[i], name))
            trains += p[i] && p[i]->graph->trains;
    if (name && !trains)
        diag_error(s->diag, (Span){0}, "model '%s' does not train: it assigns "
                   "no parameter in 'for w in params'", name);
    else if (!trains)
        diag_error(s->diag, (Span){0}, "no model trains: none assigns its "
                   "parameters in 'for w in params'");
    else if (trains > 1)
        diag_error(s->diag, (Span){0}, "%d models train; --model=NAME picks "
                   "one", trains);
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
        .with_main = s->line.with_main,
        .library = s->line.command == COMMAND_BUILD,
        .standalone = s->line.standalone,
    };

    if (strpbrk(info.header_name, "\"\\\n"))
        diag_error(s->diag, (Span){0}, "-o: '%s' includes '%s', and such a "
                   "name cannot be included", info.cu_name, info.header_name);
    compile_check_names(s->arena, s->diag, s->tree, s->model, s->n_model);
    for (int i = 0; i < s->n_model; i++)
        p[i] = compile_sizes(s->arena, s->diag, s->tree, s->model[i],
                             &s->line.compile, r);
    if (!diag_errors(s->diag) && s->line.command == COMMAND_TRAIN)
        check_trains(s, p);
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

/* The objects of the models as one. */
static void put_json(Buf *b, const Session *s, const Report *r)
{
    buf_puts(b, "{\"dcc\":\"" DCC_VERSION "\",\"schema\":1,\"command\":");
    escape_json(b, s->line.text);
    buf_printf(b, ",\"models\":[%s]}\n", buf_text(&r->explain));
}

static int print_report(const Session *s, const Report *r)
{
    fputs(buf_text(&r->dump), stdout);
    if (s->line.compile.json && r->explain.len) {
        Buf json = {0};
        put_json(&json, s, r);
        fputs(buf_text(&json), stdout);
        buf_free(&json);
    } else {
        fputs(buf_text(&r->explain), stdout);
    }
    if (!fflush(stdout))
        return 0;
    say_error("cannot write to standard output: %s",
            strerror(errno));
    return 3;
}

/* Where the .cu goes, and the header beside it; a device or a pipe takes the
 * .cu alone, with the header's text in it. */
typedef struct OutPlace {
    const char *cu, *header; /* NULL: not written */
    const char *name;        /* of the .cu, in its text */
    const char *depend;      /* what it depends on, or NULL */
} OutPlace;

static OutPlace choose_place(Session *s)
{
    const CommandLine *l = &s->line;
    const char *first = strcmp(l->file[0], "-") ? l->file[0] : "stdin";
    const char *own = with_ending(s->arena, base_name(first), ".cu");
    bool look = !l->out && (l->compile.dump || l->compile.explain ||
                            l->plan_out);
    OutPlace p = {.name = own};

    if (l->depend)
        p.depend = l->depend_out ? l->depend_out
                                 : with_ending(s->arena, l->out, ".d");
    if (l->ref || (l->out && output_is_stream(l->out))) {
        p.cu = l->out ? l->out : "-";
        return p;
    }
    if (look)
        return p;
    p.cu = p.name = l->out ? l->out : own;
    p.header = with_ending(s->arena, p.cu, ".h");
    return p;
}

static void put_target(Buf *b, const char *path)
{
    for (; *path; path++) {
        if (strchr(" \t#:\\", *path))
            buf_putc(b, '\\');
        if (*path == '$')
            buf_putc(b, '$');
        buf_putc(b, *path);
    }
}

/* A rule for make: what is written, from what was read. */
static void put_depend(Buf *b, const CommandLine *l, const OutPlace *p)
{
    if (p->cu && strcmp(p->cu, "-"))
        put_target(b, p->cu);
    else
        put_target(b, p->name);
    if (p->header) {
        buf_putc(b, ' ');
        put_target(b, p->header);
    }
    buf_putc(b, ':');
    for (int i = 0; i < l->n_file; i++)
        if (strcmp(l->file[i], "-")) {
            buf_putc(b, ' ');
            put_target(b, l->file[i]);
        }
    if (l->plan_in && strcmp(l->plan_in, "-")) {
        buf_putc(b, ' ');
        put_target(b, l->plan_in);
    }
    buf_putc(b, '\n');
}

/* No output is an input, or another output. */
static int check_files(Session *s, const OutPlace *p)
{
    const CommandLine *l = &s->line;
    UsedFile *in = arena_array(s->arena, UsedFile, l->n_file + l->n_in + 5);
    const UsedFile out[] = {{p->cu, l->out ? "-o" : "the .cu"},
                            {p->header, "the header"},
                            {l->plan_out, "--write-plan"},
                            {p->depend, l->depend_out ? "-MF" : "-MD"},
                            {l->result, "--out"},
                            {l->save, "--save"},
                            {l->json, "--json"}};
    int n = 0;

    for (int i = 0; i < l->n_file; i++)
        in[n++] = (UsedFile){l->file[i], "the program"};
    for (int i = 0; i < l->n_in; i++)
        in[n++] = (UsedFile){l->in[i], "an input"};
    in[n++] = (UsedFile){l->weights, "the weights"};
    in[n++] = (UsedFile){l->data, "the data"};
    in[n++] = (UsedFile){l->validate, "the data to validate on"};
    in[n++] = (UsedFile){l->plan_in, "the plan to read"};
    in[n++] = (UsedFile){l->times, "the profile"};
    return output_check(in, n, out, sizeof out / sizeof *out);
}

static int write_oracle(Session *s, const OutPlace *p)
{
    Buf ref = {0}, depend = {0};
    int status = 1;

    if (compile_ref(s->arena, s->diag, s->tree, s->model, s->n_model,
                    &s->line.compile, &ref)) {
        put_depend(&depend, &s->line, p);
        OutFile out[] = {{&ref, p->cu}, {&depend, p->depend}};
        status = output_write(out, 2);
    }
    buf_free(&ref);
    buf_free(&depend);
    return status;
}

static void free_report(Report *r)
{
    buf_free(&r->dump);
    buf_free(&r->explain);
    buf_free(&r->plan);
}

static int write_cuda(Session *s, const OutPlace *p)
{
    const CommandLine *l = &s->line;
    Buf cu = {0}, header = {0}, depend = {0};
    Report r = {0};
    int status = 1;

    if (make_cuda(s, &cu, &header, &r, p->name, p->cu && !p->header)) {
        put_depend(&depend, l, p);
        OutFile out[] = {{&r.plan, l->plan_out}, {&cu, p->cu},
                         {&header, p->header}, {&depend, p->depend}};
        diag_flush(s->diag);
        status = print_report(s, &r);
        if (!status)
            status = output_write(out, 4);
        if (!status && !l->out && p->cu)
            fprintf(stderr, "dcc: wrote %s and %s\n", p->cu, p->header);
    } else {
        print_report(s, &r);
    }
    buf_free(&cu);
    buf_free(&header);
    buf_free(&depend);
    free_report(&r);
    return status;
}

static int command_compile(Session *s)
{
    OutPlace place = choose_place(s);
    int status = check_files(s, &place);

    if (status)
        return status;
    if (!open_session(s, false))
        return 1;
    return s->line.ref ? write_oracle(s, &place) : write_cuda(s, &place);
}

/* ---- commands that build what they emit */

static Driver driver_of(Session *s)
{
    const CommandLine *l = &s->line;

    return (Driver){
        .arena = s->arena, .header_name = "fused.h", .imported = s->folder,
        .arch = emit_arch_flags(l->compile.model.device->sm),
        .place = l->cpu ? DRIVER_CPU : l->gpu ? DRIVER_GPU : DRIVER_ANY,
        .model = s->n_model == 1 ? s->model[0] : NULL,
        .weights = l->weights, .out = l->result, .json = l->json,
        .save = l->save,
        .in = l->in, .n_in = l->n_in, .feed = l->feed, .n_feed = l->n_feed,
        .sequence = l->sequence, .bench = l->bench, .runs = l->runs,
        .random = l->random, .seed = l->seed, .verbose = l->verbose,
        .math = math_name(l->compile.model.math),
    };
}

/* Emits, then hands over to the driver. */
static int build_and(Session *s, int (*run)(const Driver *), bool verify,
                     Driver *d)
{
    CommandLine *l = &s->line;
    Buf cu = {0}, header = {0}, ref = {0};
    Report r = {0};
    int status = 1;

    l->with_main = run != driver_build;
    l->compile.trace = verify;
    bool ok = make_cuda(s, &cu, &header, &r, "fused.cu", false) &&
              (!verify || compile_ref(s->arena, s->diag, s->tree, s->model,
                                      s->n_model, &l->compile, &ref));
    diag_flush(s->diag);
    print_report(s, &r);
    d->cu = &cu;
    d->header = &header;
    d->ref = verify ? &ref : NULL;
    if (ok)
        status = run(d);
    buf_free(&cu);
    buf_free(&header);
    buf_free(&ref);
    free_report(&r);
    return status;
}

/* What the program will read, before minutes of building: 0 or 1. */
static int check_data(Session *s)
{
    const CommandLine *l = &s->line;
    int status = input_check(l->weights) | input_check(l->data) |
                 input_check(l->validate);

    for (int i = 0; i < l->n_in; i++)
        status |= input_check(l->in[i]);
    return status;
}

/* Checks the files' names and reads the program; 0 or an exit status. */
static int begin(Session *s, const char *out, bool only_one)
{
    int status = check_files(s, &(OutPlace){.cu = out});

    if (!status)
        status = check_data(s);
    return status ? status : open_session(s, only_one) ? 0 : 1;
}

static int command_run(Session *s)
{
    int status = begin(s, NULL, true);
    Driver d = driver_of(s);

    return status ? status : build_and(s, driver_run, false, &d);
}

static int command_bench(Session *s)
{
    const CommandLine *l = &s->line;
    int status = begin(s, NULL, true);
    Driver d = driver_of(s);

    d.random = true;
    d.bench = l->runs;
    d.runs = 0;
    d.warm_up = l->warm_up;
    d.streams = l->streams;
    d.profile = l->profile;
    d.percentiles = true;
    return status ? status : build_and(s, driver_run, false, &d);
}

/* All models of the files: one trains, another may look on. */
static int command_train(Session *s)
{
    CommandLine *l = &s->line;

    l->train = l->model;
    l->model = NULL;
    int status = begin(s, NULL, false);
    if (!status && l->train) {
        const char **all, *name = l->train;
        int n = front_models(s->arena, s->tree, &all), i = 0;
        while (i < n && strcmp(all[i], name))
            i++;
        if (i == n)
            diag_error(s->diag, (Span){0}, "there is no model '%s'%s", name,
                       hint(s, name, all, n));
        status = i == n;
    }
    Driver d = driver_of(s);
    d.model = l->train;
    d.data = l->data;
    d.validate = l->validate;
    d.validate_with = l->validate_with;
    d.set = l->set;
    d.n_set = l->n_set;
    d.steps = l->steps;
    d.every = l->every;
    d.resume = l->resume;
    d.seeded = l->given >> O_SEED & 1;
    return status ? status : build_and(s, driver_train, false, &d);
}

/* Needs the oracle alone. */
static int verify_gradients(Session *s, Driver *d)
{
    Buf ref = {0};
    int status = 1;

    d->place = DRIVER_CPU;
    if (compile_ref(s->arena, s->diag, s->tree, s->model, s->n_model,
                    &s->line.compile, &ref)) {
        diag_flush(s->diag);
        d->ref = &ref;
        status = driver_gradients(d);
    }
    buf_free(&ref);
    return status;
}

static int command_verify(Session *s)
{
    int status = begin(s, NULL, false);
    Driver d = driver_of(s);

    if (!status && s->line.compile.gradients)
        return verify_gradients(s, &d);
    return status ? status : build_and(s, driver_verify, true, &d);
}

static int command_report(Session *s)
{
    const CommandLine *l = &s->line;
    CompileOptions *o = &s->line.compile;
    ExplainMore more = {.with_text = true};
    Buf cu = {0}, header = {0}, json = {0}, page = {0};
    Report r = {0};
    int status = begin(s, l->out, l->times != NULL);

    if (!status && l->times)
        status = report_times(s->arena, l->times, &more);
    if (status)
        return status;
    o->explain = o->json = true;
    o->more = &more;
    status = 1;
    if (make_cuda(s, &cu, &header, &r, "fused.cu", false)) {
        diag_flush(s->diag);
        put_json(&json, s, &r);
        status = report_fits(l->times, &more);
    }
    if (!status) {
        report_page(&page, &json);
        OutFile out[] = {{&page, l->out}};
        status = output_write(out, 1);
    }
    buf_free(&cu);
    buf_free(&header);
    buf_free(&json);
    buf_free(&page);
    free_report(&r);
    return status;
}

static int command_build(Session *s)
{
    int status = begin(s, s->line.out, false);
    Driver d = driver_of(s);

    d.out = s->line.out;
    d.needs = s->line.gpu ? NULL : "dcc build compiles with nvcc, or with "
                                   "--cpu for the emulator";
    d.compile_only = true;
    if (d.place == DRIVER_ANY)
        d.place = DRIVER_GPU;
    return status ? status : build_and(s, driver_build, false, &d);
}

static int command_tune(Session *s)
{
    const CommandLine *l = &s->line;
    int status = begin(s, l->out, true);

    if (status)
        return status;
    Driver d = driver_of(s);
    d.folder = l->keep;
    d.place = l->cpu ? DRIVER_CPU : DRIVER_GPU;
    d.needs = l->gpu ? NULL : "dcc tune measures on a GPU, or with --cpu "
                              "tries itself without";
    TuneOptions o = {.driver = &d, .tree = s->tree, .model = s->model[0],
                     .source = source_names(s), .command = l->text,
                     .compile = &l->compile, .target = l->target,
                     .out = l->out, .variants = l->variants,
                     .jobs = l->jobs > 0 ? l->jobs : 1, .budget = l->budget};
    return tune_model(&o, s->diag);
}

/* ---- the others */

static int print(Buf *b, int status)
{
    fputs(buf_text(b), stdout);
    buf_free(b);
    return status;
}

static int command_completion(Session *s)
{
    const CommandLine *l = &s->line;
    Buf b = {0};

    if (l->n_file == 1 && help_completion(&b, s->arena, l->file[0]))
        return print(&b, 0);
    say_error("dcc completion wants a shell: bash or zsh");
    return 2;
}

static int command_help(Session *s)
{
    const CommandLine *l = &s->line;
    const CommandRow *c = l->n_file ? command_find(l->file[0]) : NULL;
    const char *names[16];
    Buf b = {0};
    int n = 0;

    if (l->n_file && !c) {
        for (const CommandRow *k = command_table + 1; k->name; k++)
            names[n++] = k->name;
        say_error("there is no command '%s'%s", l->file[0],
                  hint(s, l->file[0], names, n));
        return 2;
    }
    help_command(&b, c ? c->id : COMMAND_HELP);
    return print(&b, 0);
}

static int command_listing(Session *s)
{
    const CommandLine *l = &s->line;

    switch (l->command) {
    case COMMAND_FMT:
        return command_fmt(s->arena, s->diag, l->file, l->n_file,
                           l->in_place, l->check);
    case COMMAND_OPS:
        return command_ops(s->arena, s->diag, l->file, l->n_file);
    default:
        return command_devices(s->arena, l->file, l->n_file);
    }
}

static int command_probe(Session *s)
{
    const CommandLine *l = &s->line;

    if (l->n_file) {
        say_error("dcc probe takes no file: '%s'", l->file[0]);
        return 2;
    }
    return probe_gpu(s->arena, l->out ? l->out : "-");
}

static bool make_folder(Session *s)
{
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_printf(s->arena, "%s/dcc-XXXXXX",
                                tmp && *tmp ? tmp : "/tmp");

    s->folder = work_fleeting(folder);
    if (!s->folder)
        say_error("no folder in '%s'%s: %s", tmp && *tmp ? tmp : "/tmp",
                  tmp && *tmp ? " (TMPDIR)" : "", strerror(errno));
    return s->folder != NULL;
}

/* An .onnx file is imported first: for compiling beside the output, else into
 * a folder that goes again. */
static int import_models(Session *s)
{
    CommandLine *l = &s->line;
    char **file = arena_array(s->arena, char *, l->n_file);
    bool keep = l->command == COMMAND_COMPILE, any = false;
    int status = 0;

    for (int i = 0; i < l->n_file && !status; i++) {
        const char *name = l->file[i];
        file[i] = l->file[i];
        if (!import_is_onnx(name) || l->command > COMMAND_BUILD)
            continue;
        any = true;
        const char *base = keep && l->out && strcmp(l->out, "-")
                               ? l->out : base_name(name);
        ImportRequest r = {.onnx = name, .bind = l->bind, .dim = l->dim,
                           .n_dim = l->n_dim};
        if (!keep && !s->folder && !make_folder(s))
            return 3;
        r.dcl = with_ending(s->arena, base, ".dcl");
        if (!keep)
            r.dcl = arena_printf(s->arena, "%s/%s", s->folder, r.dcl);
        r.weights = with_ending(s->arena, r.dcl, ".safetensors");
        if (!keep && !(work_fleets(r.dcl) && work_fleets(r.weights))) {
            say_error("at most %d .onnx files are one program", MOST_IMPORTS);
            return 2;
        }
        status = import_file(s->arena, &r);
        if (!l->weights)
            l->weights = r.weights;
        file[i] = (char *)r.dcl;
    }
    l->file = file;
    if (!any && (l->n_dim || l->bind)) {
        say_error("%s is of .onnx files, and there is none",
                  l->n_dim ? "--dim" : "--bind");
        return 2;
    }
    return status;
}

static int command_of(Session *s)
{
    static int (*const run[])(Session *) = {
        [COMMAND_COMPILE] = command_compile, [COMMAND_RUN] = command_run,
        [COMMAND_VERIFY] = command_verify,   [COMMAND_TUNE] = command_tune,
        [COMMAND_BENCH] = command_bench,     [COMMAND_BUILD] = command_build,
        [COMMAND_REPORT] = command_report,
        [COMMAND_TRAIN] = command_train,
        [COMMAND_FMT] = command_listing,     [COMMAND_OPS] = command_listing,
        [COMMAND_DEVICES] = command_listing, [COMMAND_HELP] = command_help,
        [COMMAND_COMPLETION] = command_completion,
        [COMMAND_PROBE] = command_probe,
    };

    /* import parses its own */
    return run[s->line.command] ? run[s->line.command](s) : 2;
}

/* A standard stream that the caller closed must not be the next file that is
 * opened; writing to it stays an error, as beyond a file's limit. Children are
 * waited for, even if the caller never waits for its own. */
static void hold_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
    hold_streams();
    if (argc > 1 && !strcmp(argv[1], "import"))
        return command_import(argc - 1, argv + 1);
    Session s = {.arena = arena_new()};
    bool done;

    s.diag = diag_new(s.arena);
    int status = options_parse(s.arena, argc, argv, &s.line, &done);
    if (!status && !done)
        status = import_models(&s);
    if (!status && !done)
        status = command_of(&s);
    if (s.folder)
        work_remove(s.folder);
    diag_flush(s.diag);
    /* an error of long ago has no errno any more */
    bool full = fflush(stdout) != 0;
    if ((full || ferror(stdout)) && !status) {
        say_error("cannot write to standard output%s%s", full ? ": " : "",
                  full ? strerror(errno) : "");
        status = 3;
    }
    arena_free(s.arena);
    return status;
}
