#include "options.h"

#include "command/help.h"
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_VARIANTS = 1000, MAX_JOBS = 1000, MAX_RUNS = 1000000,
       MAX_STREAMS = 64 };

/* Whether launches overlap if --dependent-launch does not say. */
enum { DEPENDENT_LAUNCH = 1 };

/* ---- what is wrong */

static int bad(const CommandLine *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int bad(const CommandLine *c, const char *fmt, ...)
{
    Buf text = {0};
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    say_error("%s", buf_text(&text));
    buf_free(&text);
    fprintf(stderr, "(%s --help shows the options)\n",
            c->command == COMMAND_COMPILE ? "dcc"
                                          : command_title(c->command));
    return 2;
}

/* "; did you mean '--target'?" or "" */
static const char *hint(Arena *a, const char *name, const char *const *names,
                        int n)
{
    const char *near = near_name(name, names, n);

    return near ? arena_printf(a, "; did you mean '%s'?", near) : "";
}

static const char *option_hint(Arena *a, const CommandLine *c,
                               const char *name)
{
    const char **own = NULL, **all = NULL;
    int n_own = 0, cap_own = 0, n_all = 0, cap_all = 0;

    for (const OptionRow *o = option_table; o->name; o++) {
        if (o->of & 1u << c->command)
            VEC_PUSH(a, own, n_own, cap_own) = o->name;
        VEC_PUSH(a, all, n_all, cap_all) = o->name;
    }
    const char *text = hint(a, name, own, n_own);
    return *text ? text : hint(a, name, all, n_all);
}

static bool is_there(const char *name)
{
    return access(name, F_OK) == 0;
}

/* What those used to other compilers type. */
static const char *habit(const char *arg)
{
    static const struct {
        const char *begin, *says;
    } habits[] = {
        {"--arch", "; --target=sm_90 says which GPU"},
        {"--device", "; --target=GPU says for which, dcc devices has them"},
        {"--output", "; did you mean '-o'?"},
        {"--define", "; did you mean '-D'?"},
        {"--batch", "; -D B=8 replaces a size, as the model calls it"},
        {"--fp16", "; -D E=f16 replaces a type, as the model calls it"},
        {"--half", "; -D E=f16 replaces a type, as the model calls it"},
        {"--dtype", "; -D E=f16 replaces a type, as the model calls it"},
        {"--precision", "; -D E=f16 replaces a type, as the model calls it"},
        {"--input", "; did you mean '--in'?"},
        {"--save-", "; --save FILE writes the parameters and inputs that ran"},
        {"--tolerance", "; it is computed from the program"},
        {"-help", "; did you mean '--help'?"},
        {"-version", "; did you mean '--version'?"},
        {"-v", "; --version prints the version, --explain what is done"},
        {"-O", "; it is nvcc's: dcc always writes its best"},
        {"-std", "; it is nvcc's"},
        {"-gencode", "; --target=sm_90 says which GPU"},
        {"-arch", "; --target=sm_90 says which GPU"},
        {"-g", "; it is nvcc's"},
        {"-c", "; dcc MODEL.dcl -o FUSED.cu writes the .cu, nvcc compiles it"},
        {"-S", "; dcc MODEL.dcl -o FUSED.cu writes text"},
        {"-I", "; nothing is included: all files go on the command line"},
        {"-l", "; it is nvcc's"},
        {"-L", "; it is nvcc's"},
        {"-MM", "; -MD writes dependencies, -MF says where"},
        {"-MP", "; -MD writes dependencies, -MF says where"},
        {"-MT", "; -MD writes dependencies, -MF says where"},
        {"-MQ", "; -MD writes dependencies, -MF says where"},
        {"--watch", "; make and -MD build what has changed"},
        {"--verbose", "; --explain says what is done"},
        {"--debug", "; --dump=PASS prints what a pass made"},
        {"--gpu-arch", "; --target=sm_90 says which GPU"},
        {"--gpus", "; --target=GPU says for which, dcc devices has them"},
        {"-W", "; there are no warnings to choose"},
        {"-f", "; it is nvcc's"},
        {NULL, NULL},
    };

    for (int i = 0; habits[i].begin; i++)
        if (!strncmp(arg, habits[i].begin, strlen(habits[i].begin)))
            return habits[i].says;
    return NULL;
}

static int unknown_option(Arena *a, const CommandLine *c, const char *arg,
                          const char *name)
{
    const char *why = habit(name), *size = name + strspn(name, "-");

    if (!why && *arg == '-' && is_there(arg))
        why = arena_printf(a, "; the file of that name is ./%s", arg);
    if (!why && *size >= 'A' && *size <= 'Z')
        why = arena_printf(a, "; -D %s=VALUE replaces a model's dim or type",
                           arena_strndup(a, size, strcspn(size, "=")));
    return bad(c, "unknown option '%s'%s", arg,
               why ? why : option_hint(a, c, name));
}

/* "dcc run and dcc bench" */
static const char *owners(Arena *a, const OptionRow *o)
{
    unsigned of = 0;
    Buf b = {0};

    for (const OptionRow *k = option_table; k->name; k++)
        if (!strcmp(k->name, o->name))
            of |= k->of;
    for (int id = 0; id <= COMMAND_HELP; id++)
        if (of & 1u << id) {
            of &= ~(1u << id);
            bool last = !(of & ((2u << COMMAND_HELP) - 1));
            buf_printf(&b, "%s%s", !b.len ? "" : last ? " and " : ", ",
                       command_title((CommandId)id));
        }
    return buf_take(&b, a);
}

static int not_here(Arena *a, const CommandLine *c, const OptionRow *o)
{
    return bad(c, "'%s' is an option of %s, not of %s", o->name,
               owners(a, o), command_title(c->command));
}

/* ---- values */

static bool number(const char *s, uint64_t *v)
{
    char *end;

    errno = 0;
    *v = strtoull(s, &end, 10);
    return *s >= '0' && *s <= '9' && !*end && !errno;
}

static int set_number(CommandLine *c, const OptionRow *o, const char *arg,
                      uint64_t *v)
{
    return number(arg, v) ? 0 : bad(c, "%s: '%s' is not a whole number",
                                    o->name, arg);
}

/* A count of 1 to `most`. */
static int set_count(CommandLine *c, const OptionRow *o, const char *arg,
                     uint64_t most, int *v)
{
    uint64_t n;

    if (!number(arg, &n) || n < 1 || n > most)
        return bad(c, "%s is a number from 1 to %llu, not '%s'", o->name,
                   (unsigned long long)most, arg);
    *v = (int)n;
    return 0;
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

static int not_pair(const CommandLine *c, const OptionRow *o, const char *arg)
{
    return bad(c, "%s wants %s, not '%s'", o->name, o->value, arg);
}

static int add_define(Arena *a, CommandLine *c, const OptionRow *row,
                      const char *arg)
{
    CompileOptions *o = &c->compile;
    Define *more = arena_array(a, Define, o->n_define + 1);
    Define *d = &more[o->n_define];

    if (o->n_define)
        memcpy(more, o->define, sizeof *more * (size_t)o->n_define);
    if (split_pair(a, arg, &d->name, &d->value))
        return not_pair(c, row, arg);
    for (int i = 0; i < o->n_define; i++)
        if (!strcmp(more[i].name, d->name) &&
            strcmp(more[i].value, d->value))
            return bad(c, "-D %s is given twice: %s and %s", d->name,
                       more[i].value, d->value);
    o->define = more;
    o->n_define++;
    return 0;
}

static int add_variant(Arena *a, CommandLine *c, const OptionRow *row,
                       const char *arg)
{
    CompileOptions *o = &c->compile;
    Forced *more = arena_array(a, Forced, o->n_forced + 1);

    if (o->n_forced)
        memcpy(more, o->forced, sizeof *more * (size_t)o->n_forced);
    if (split_pair(a, arg, &more[o->n_forced].name, &more[o->n_forced].text))
        return not_pair(c, row, arg);
    o->forced = more;
    o->n_forced++;
    return 0;
}

static int add_text(Arena *a, const char ***list, int *n, const char *arg)
{
    const char **more = arena_array(a, const char *, *n + 1);

    for (int i = 0; i < *n; i++)
        more[i] = (*list)[i];
    more[(*n)++] = arg;
    *list = more;
    return 0;
}

/* "a=b" as it is. */
static int add_pair(Arena *a, CommandLine *c, const OptionRow *row,
                    const char ***list, int *n, const char *arg)
{
    const char *name, *value;

    if (split_pair(a, arg, &name, &value))
        return not_pair(c, row, arg);
    return add_text(a, list, n, arg);
}

/* A number of steps. */
static int set_steps(CommandLine *c, const OptionRow *o, const char *arg,
                     uint64_t *v)
{
    const uint64_t most = 1000000000000;

    return number(arg, v) && *v >= 1 && *v <= most
               ? 0 : bad(c, "%s is a number from 1 to 10^12, not '%s'",
                         o->name, arg);
}

/* Which of the words "a|b|c", or -1 after a message. */
static int word_of(Arena *a, const CommandLine *c, const OptionRow *o,
                   const char *arg)
{
    const char *name[32];
    int n = 0;

    for (; o->kind == VALUE_PASS && dump_passes[n] && n < 32; n++)
        name[n] = dump_passes[n];
    for (const char *p = o->value; o->kind == VALUE_WORD && *p && n < 32;
         p += *p == '|') {
        size_t k = strcspn(p, "|");
        name[n++] = arena_strndup(a, p, k);
        p += k;
    }
    for (int i = 0; i < n; i++)
        if (!strcmp(name[i], arg))
            return i;
    Buf list = {0};
    for (int i = 0; i < n; i++)
        buf_printf(&list, "%s%s", !i ? "" : i == n - 1 ? " or " : ", ",
                   name[i]);
    bad(c, "%s is %s, not '%s'%s", o->name, buf_take(&list, a), arg,
        hint(a, arg, name, n));
    return -1;
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
        return bad(c, "--budget is a time as 90s, 2m or 1h, not '%s'", arg);
    c->budget = v * seconds[u - unit];
    return 0;
}

static int set_memory(CommandLine *c, const char *arg)
{
    static const char unit[] = "KMG%";
    static const double bytes[] = {1e3, 1e6, 1e9, 1};
    char *end;
    double v = strtod(arg, &end);
    const char *u = *end ? strchr(unit, *end) : NULL;
    double all = v * (u ? bytes[u - unit] : 1);

    if (end == arg || strspn(arg, "0123456789.") != (size_t)(end - arg) ||
        (*end && (!u || end[1])) || !(v > 0) || all > 1e15 ||
        (*end == '%' && v > 100))
        return bad(c, "--memory is bytes, as 800M or 2G, or a percentage, as "
                   "60%%, not '%s'", arg);
    c->compile.memory = all;
    c->compile.memory_share = *end == '%';
    return 0;
}

/* ---- options */

/* Where a text goes as it is, or NULL. */
static const char **text_of(CommandLine *c, OptionId id)
{
    switch (id) {
    case O_OUT: return &c->out;
    case O_TARGET: return &c->target;
    case O_PLAN: return &c->plan_in;
    case O_WRITE_PLAN: return &c->plan_out;
    case O_MODEL: return &c->model;
    case O_WEIGHTS: return &c->weights;
    case O_RESULT: return &c->result;
    case O_JSON: return &c->json;
    case O_KEEP: return &c->keep;
    case O_BIND: return &c->bind;
    case O_MF: return &c->depend_out;
    case O_TIMES: return &c->times;
    case O_DATA: return &c->data;
    case O_SAVE: return &c->save;
    case O_VALIDATE: return &c->validate;
    case O_VALIDATE_WITH: return &c->validate_with;
    default: return NULL;
    }
}

static bool *flag_of(CommandLine *c, OptionId id)
{
    switch (id) {
    case O_MAIN: return &c->with_main;
    case O_STANDALONE: return &c->standalone;
    case O_TRACE: return &c->compile.trace;
    case O_CPU: return &c->cpu;
    case O_GPU: return &c->gpu;
    case O_VERBOSE: return &c->verbose;
    case O_RANDOM: return &c->random;
    case O_GRADIENTS: return &c->compile.gradients;
    case O_SEQUENCE: return &c->sequence;
    case O_PROFILE: return &c->profile;
    case O_RESUME: return &c->resume;
    case O_MD: return &c->depend;
    case O_IN_PLACE: return &c->in_place;
    case O_CHECK: return &c->check;
    default: return NULL;
    }
}

static int set_word(Arena *a, CommandLine *c, const OptionRow *o,
                    const char *arg)
{
    int which = word_of(a, c, o, arg);

    if (which < 0)
        return 2;
    switch (o->id) {
    case O_MATH: c->compile.model.math = which; break;
    case O_DEPENDENT:
        c->compile.model.dependent = c->compile.ask_dependent = !which;
        break;
    case O_EMIT: c->ref = which == 1; break;
    default: c->compile.dump = arg; break;
    }
    return 0;
}

static int set_explain(CommandLine *c, const char *how)
{
    c->compile.explain = true;
    c->compile.json = how != NULL;
    return !how || !strcmp(how, "json")
               ? 0 : bad(c, "--explain is plain or --explain=json, not '%s'",
                         how);
}

static int set_option(Arena *a, CommandLine *c, const OptionRow *o,
                      const char *arg)
{
    const char **text = text_of(c, o->id);
    bool *flag = flag_of(c, o->id);

    if (text)
        *text = arg;
    if (flag)
        *flag = true;
    if (text || flag)
        return 0;
    if (o->kind == VALUE_WORD || o->kind == VALUE_PASS)
        return set_word(a, c, o, arg);
    switch (o->id) {
    case O_EXPLAIN: return set_explain(c, arg);
    case O_IN: return add_text(a, &c->in, &c->n_in, arg);
    case O_DIM: return add_text(a, &c->dim, &c->n_dim, arg);
    case O_FEED: return add_pair(a, c, o, &c->feed, &c->n_feed, arg);
    case O_SET: return add_pair(a, c, o, &c->set, &c->n_set, arg);
    case O_STEPS: return set_steps(c, o, arg, &c->steps);
    case O_EVERY: return set_steps(c, o, arg, &c->every);
    case O_DEFINE: return add_define(a, c, o, arg);
    case O_VARIANT: return add_variant(a, c, o, arg);
    case O_RANDOM_PLAN:
        if (set_number(c, o, arg, &c->compile.random_plan))
            return 2;
        c->compile.random_layout = c->compile.random_plan;
        return c->compile.random_plan
                   ? 0 : bad(c, "--random-plan is from 1 on, not '0'");
    case O_SEED: return set_number(c, o, arg, &c->seed);
    case O_BENCH: return set_count(c, o, arg, MAX_RUNS, &c->bench);
    case O_RUNS: return set_count(c, o, arg, MAX_RUNS, &c->runs);
    case O_WARM_UP: return set_count(c, o, arg, MAX_RUNS, &c->warm_up);
    case O_STREAMS: return set_count(c, o, arg, MAX_STREAMS, &c->streams);
    case O_BUDGET: return set_budget(c, arg);
    case O_MEMORY: return set_memory(c, arg);
    case O_VARIANTS: return set_count(c, o, arg, MAX_VARIANTS, &c->variants);
    case O_JOBS: return set_count(c, o, arg, MAX_JOBS, &c->jobs);
    default: return 0; /* --help, --version */
    }
}

static bool may_repeat(const OptionRow *o)
{
    return !o->value || o->id == O_EXPLAIN || o->id == O_IN ||
           o->id == O_DEFINE || o->id == O_VARIANT || o->id == O_FEED ||
           o->id == O_DIM || o->id == O_SET;
}

/* One argument that begins with a dash, and its value: *used says how many
 * arguments they are. The exit status. */
static int take_option(Arena *a, CommandLine *c, char **argv, int left,
                       int *used)
{
    const char *arg = argv[0], *value = NULL;
    const char *eq = arg[1] == '-' ? strchr(arg, '=') : NULL;
    const char *name = eq ? arena_strndup(a, arg, (size_t)(eq - arg)) : arg;
    const OptionRow *o = option_find(name, c->command);

    if (!o && arg[1] != '-') { /* -oFILE, -DNAME=VALUE, -j4 */
        name = arena_strndup(a, arg, 2);
        o = option_find(name, c->command);
        if (o && o->value && !habit(arg))
            value = arg + 2;
        else
            o = NULL;
    }
    if (!o)
        return unknown_option(a, c, arg, eq ? name : arg);
    if (!(o->of & 1u << c->command))
        return not_here(a, c, o);
    if (eq && !o->value)
        return bad(c, "'%s' takes no value", name);
    value = eq ? eq + 1 : value;
    *used = 1;
    if (o->value && !value && o->kind != VALUE_MAYBE) {
        if (left < 2 || (argv[1][0] == '-' && argv[1][1] &&
                         option_find(argv[1], c->command)))
            return bad(c, "option '%s' wants a value: %s", name, o->value);
        value = argv[1];
        *used = 2;
    }
    if (value && !*value)
        return bad(c, "option '%s' wants a value: %s", name, o->value);
    if (c->given & 1ull << o->id && !may_repeat(o))
        return bad(c, "'%s' is given twice", name);
    c->given |= 1ull << o->id;
    return set_option(a, c, o, value);
}

/* ---- the whole line */

/* The command without folders, so that output does not depend on them. */
static const char *command_text(Arena *a, int argc, char **argv)
{
    Buf b = {0}, word = {0};

    buf_puts(&b, "dcc");
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        const char *eq = strncmp(arg, "--", 2) ? NULL : strchr(arg, '=');
        const char *tail = strrchr(arg, '/');
        word.len = 0;
        if (tail && eq && tail > eq)
            buf_putn(&word, arg, (size_t)(eq + 1 - arg));
        buf_puts(&word, tail ? tail + 1 : arg);
        buf_putc(&b, ' ');
        escape_shell(&b, buf_text(&word));
    }
    buf_free(&word);
    return buf_take(&b, a);
}

static bool is_model_command(CommandId id)
{
    return id <= COMMAND_BUILD;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = text ? strlen(text) : 0, k = strlen(end);

    return n >= k && !strcmp(text + n - k, end);
}

/* A first word that is neither a file nor a command. */
static int check_first(Arena *a, const CommandLine *c)
{
    const char *name = c->n_file ? c->file[0] : NULL, *names[16];
    int n = 0;

    if (c->command != COMMAND_COMPILE)
        return 0;
    for (int i = 0; i < c->n_file; i++)
        if (*c->file[i] && command_find(c->file[i]) && !is_there(c->file[i]))
            return bad(c, "'%s' is a command: it comes first, as in %s ...",
                       c->file[i],
                       command_title(command_find(c->file[i])->id));
    if (!name || strpbrk(name, "./") || !strcmp(name, "-") || is_there(name))
        return 0;
    const char *model = arena_printf(a, "%s.dcl", name);
    if (is_there(model))
        return bad(c, "there is no command and no file '%s'; did you mean "
                      "'%s'?", name, model);
    if (!strcmp(name, "version"))
        return bad(c, "there is no command '%s'; did you mean '--version'?",
                   name);
    for (const CommandRow *k = command_table + 1; k->name; k++)
        names[n++] = k->name;
    return bad(c, "there is no command and no file '%s'%s", name,
               hint(a, name, names, n));
}

static int check_target(Arena *a, CommandLine *c)
{
    int n = device_count();
    const char **name = arena_array(a, const char *, n + 7);
    static const char *const archs[] = {"sm_70", "sm_75", "sm_80", "sm_86",
                                        "sm_89", "sm_90", "sm_90a"};

    const char *why;
    c->compile.model.device = device_file(a, c->target, &why);
    if (why)
        return bad(c, "%s: %s", c->target, why);
    if (!c->compile.model.device)
        c->compile.model.device = device_find(a, c->target);
    if (c->compile.model.device)
        return 0;
    for (int i = 0; i < n; i++)
        name[i] = device_name(a, i);
    for (int i = 0; i < 7; i++)
        name[n + i] = archs[i];
    const char *sm = c->target + strspn(c->target, "0123456789") ==
                             strchr(c->target, 0)
                         ? arena_printf(a, "sm_%s", c->target) : c->target;
    bool number = false;
    for (int i = 0; i < 7; i++)
        number |= sm != c->target && !strcmp(sm, archs[i]);
    return bad(c, "unknown GPU '%s'%s (dcc devices lists them)", c->target,
               number ? arena_printf(a, "; did you mean '%s'?", sm)
                      : hint(a, c->target, name, n + 7));
}

/* What then would be overwritten is said where files are compared. */
static bool is_input(const CommandLine *c, const char *out)
{
    for (int i = 0; i < c->n_file; i++)
        if (file_same(c->file[i], out))
            return true;
    return false;
}

static bool is_plan(const CommandLine *c, const char *out)
{
    return (c->plan_in && !strcmp(c->plan_in, out)) ||
           (c->plan_out && !strcmp(c->plan_out, out));
}

/* A name that says that it is something else: what, and how that is made. */
static int check_ending(const CommandLine *c)
{
    static const struct {
        const char *end, *is;
        int made_by; /* CommandId; -1: of no command */
    } kinds[] = {
        {".cu", "CUDA C: dcc MODEL.dcl -o writes it", COMMAND_COMPILE},
        {".so", "a shared library: dcc build makes it", COMMAND_BUILD},
        {".plan", "a plan: dcc tune writes it", COMMAND_TUNE},
        {".html", "a page: dcc report writes it", COMMAND_REPORT},
        {".dev", "a GPU's figures: dcc probe writes it", COMMAND_PROBE},
        {".ptx", "PTX: nvcc -ptx makes it of the .cu", -1},
        {".cubin", "machine code: nvcc -cubin makes it of the .cu", -1},
        {".o", "an object: nvcc -c makes it of the .cu", -1},
        {".a", "an archive: nvcc -lib makes it of the .cu", -1},
        {".safetensors", "tensors: dcc run --out writes them", -1},
        {".onnx", "an ONNX file, which dcc import reads", -1},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ends_with(c->out, kinds[i].end) &&
            kinds[i].made_by != (int)c->command)
            return bad(c, "-o names what is written; '%s' is called as %s",
                       c->out, kinds[i].is);
    return 0;
}

static int check_out(const CommandLine *c)
{
    const char *out = c->out;
    bool cu = c->command == COMMAND_COMPILE && !c->ref;

    if (out && !is_input(c, out) && !is_plan(c, out) && check_ending(c))
        return 2;
    if (cu && ends_with(out, ".h"))
        return bad(c, "-o names the .cu; '%s' is the header's place", out);
    if (ends_with(out, ".dcl") && !is_input(c, out))
        return bad(c, "-o names what is written; '%s' is called as a program",
                   out);
    if (cu && out && !strcmp(out, "-") &&
        (c->compile.explain || c->compile.dump))
        return bad(c, "-o - and %s would both write to standard output",
                   c->compile.explain ? "--explain" : "--dump");
    if (cu && !out && c->n_file && !strcmp(c->file[0], "-"))
        return bad(c, "a program from standard input wants -o FILE");
    if (c->command == COMMAND_TUNE && !out)
        return bad(c, "dcc tune wants -o MODEL.plan");
    if (c->command == COMMAND_TRAIN &&
        (!c->data || !c->steps || !c->save))
        return bad(c, "dcc train wants --data FILE, --steps N and --save "
                      "FILE");
    if (c->command == COMMAND_REPORT && !out)
        return bad(c, "dcc report wants -o REPORT.html");
    if (c->compile.json && c->compile.dump)
        return bad(c, "--explain=json and --dump would both write to standard "
                      "output");
    if (c->command == COMMAND_BUILD && !out)
        return bad(c, "dcc build wants -o LIB.so");
    if (c->command == COMMAND_BUILD && !strcmp(out, "-"))
        return bad(c, "a library cannot go to standard output");
    if (c->depend && !c->depend_out && (!out || !strcmp(out, "-")))
        return bad(c, "-MD without -o FILE wants -MF FILE");
    return 0;
}

static int count_standard(const CommandLine *c)
{
    int n = (c->weights && !strcmp(c->weights, "-")) +
            (c->plan_in && !strcmp(c->plan_in, "-"));

    for (int i = 0; i < c->n_file; i++)
        n += !strcmp(c->file[i], "-");
    for (int i = 0; i < c->n_in; i++)
        n += !strcmp(c->in[i], "-");
    return n;
}

static int check_files(const CommandLine *c)
{
    if (!c->n_file)
        return bad(c, "no .dcl file is given (- is standard input)");
    for (int i = 0; i < c->n_file; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(c->file[i], c->file[k]))
                return bad(c, "'%s' is given twice", c->file[i]);
    for (int i = 0; i < c->n_file; i++)
        if (strchr(c->file[i], '=') && !strpbrk(c->file[i], "./") &&
            !is_there(c->file[i]))
            return bad(c, "there is no file '%s'; -D %s replaces a model's "
                          "dim or type", c->file[i], c->file[i]);
    for (int i = 0; i < c->n_file; i++)
        if (ends_with(c->file[i], ".cu"))
            return bad(c, "'%s' is called as what dcc writes, not as a "
                          "program (.dcl)", c->file[i]);
    if (count_standard(c) > 1)
        return bad(c, "standard input can be read once, and - is given "
                      "twice");
    return 0;
}

/* Options of which one would do nothing beside the other, or without it. */
static int check_pairs(const CommandLine *c)
{
    const CompileOptions *o = &c->compile;
    const struct {
        bool one, other;
        const char *first, *second; /* their names */
    } apart[] = {
        {c->cpu, c->gpu, "--cpu", "--gpu"},
        {c->in_place, c->check, "-i", "--check"},
        {c->sequence, c->bench, "--sequence", "--bench"},
        {c->plan_in, o->random_plan, "--plan", "--random-plan"},
        {c->ref, c->plan_out, "--emit=ref", "--write-plan"},
        {c->ref, c->standalone || o->trace, "--emit=ref",
         c->standalone ? "--standalone" : "--trace"},
        {c->ref, o->explain, "--emit=ref", "--explain"},
        {c->ref, o->dump, "--emit=ref", "--dump"}};

    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (apart[i].one && apart[i].other)
            return bad(c, "%s and %s exclude each other", apart[i].first,
                       apart[i].second);
    if (c->command == COMMAND_RUN && c->json && !c->bench)
        return bad(c, "--json wants --bench N");
    if (c->validate_with && !c->validate)
        return bad(c, "--validate-with wants --validate FILE");
    return c->depend_out && !c->depend
               ? bad(c, "-MF says where -MD writes: give both") : 0;
}

static int check_line(Arena *a, CommandLine *c)
{
    int status = check_first(a, c);

    if (!status && is_model_command(c->command))
        status = check_target(a, c);
    if (!status && is_model_command(c->command))
        status = check_files(c);
    if (!status)
        status = check_out(c);
    return status ? status : check_pairs(c);
}

static int print_help(Arena *a, const CommandLine *c, bool version)
{
    Buf b = {0};

    if (version)
        help_version(&b, a);
    else
        help_command(&b, c->command);
    fputs(buf_text(&b), stdout);
    buf_free(&b);
    return 0;
}

int options_parse(Arena *a, int argc, char **argv, CommandLine *c, bool *done)
{
    const CommandRow *command = argc > 1 && *argv[1] ? command_find(argv[1])
                                                     : NULL;
    int i = command ? 2 : 1;
    bool only_files = false;

    c->command = command ? command->id : COMMAND_COMPILE;
    c->target = "h200";
    c->seed = 1;
    c->variants = 8;
    c->jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    c->compile.model.dependent = DEPENDENT_LAUNCH;
    c->text = command_text(a, argc, argv);
    c->file = arena_array(a, char *, argc + 1);
    *done = false;
    while (i < argc) {
        int used = 1, status = 0;
        if (only_files || argv[i][0] != '-' || !argv[i][1])
            c->file[c->n_file++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            only_files = true;
        else
            status = take_option(a, c, argv + i, argc - i, &used);
        if (status)
            return status;
        if (c->given & (1ull << O_HELP | 1ull << O_VERSION)) {
            *done = true;
            return print_help(a, c, c->given >> O_VERSION & 1);
        }
        i += used;
    }
    return check_line(a, c);
}
