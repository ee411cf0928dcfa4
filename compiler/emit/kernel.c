#include "emit/cprint.h"

#include <ctype.h>
#include <string.h>

/* ---- arguments --------------------------------------------------------- */

static bool stores_to(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

typedef struct Finder {
    const Tensor *tensor;
    bool found;
} Finder;

static void find_read(const Expr *e, void *ctx)
{
    Finder *f = ctx;

    f->found |= e->kind == E_READ && e->tensor == f->tensor;
}

static bool reads_from(const Group *gr, const Tensor *t)
{
    Finder f = {t, false};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, find_read, &f);
    return f.found;
}

static const char *arg_name(Arena *a, const Kernel *k, const Tensor *t)
{
    const char *base = cprint_ident(a, *t->name ? t->name : "t"), *id = base;

    for (int n = 1, i = 0; i < k->n_arg; i++)
        if (!strcmp(k->arg[i].name, id)) {
            id = arena_printf(a, "%s_%d", base, n++);
            i = -1;
        }
    return id;
}

void kernel_set_args(Graph *g, Group *gr, Kernel *k)
{
    if (!gr->n_arg)
        group_args(g, gr);
    k->arg = arena_array(g->arena, KernelArg, gr->n_arg);
    k->n_arg = 0;
    for (int i = 0; i < gr->n_arg; i++) {
        Tensor *t = gr->arg[i];
        const char *name = arg_name(g->arena, k, t);
        ArgUse use = !stores_to(gr, t)   ? ARG_IN
                     : reads_from(gr, t) ? ARG_INOUT
                                         : ARG_OUT;
        k->arg[k->n_arg++] =
            (KernelArg){.name = name, .tensor = t, .use = use};
    }
    k->group = gr;
    if (!k->n_instance)
        VEC_PUSH(g->arena, k->instance, k->n_instance, k->cap_instance) = gr;
}

/* ---- parts ------------------------------------------------------------- */

const char *kernel_constant(Graph *g, Kernel *k, const char *name,
                            int64_t value, const char *comment)
{
    const char *id = name;

    for (int i = 0; i < k->n_arg; i++)
        if (!strcmp(k->arg[i].name, name))
            name = id = arena_printf(g->arena, "%s_%s", name, "SIZE");
    for (int n = 1, i = 0; i < k->n_constant; i++) {
        if (strcmp(k->constant[i].name, id))
            continue;
        if (k->constant[i].value == value)
            return k->constant[i].name;
        id = arena_printf(g->arena, "%s_%d", name, n++);
        i = -1;
    }
    VEC_PUSH(g->arena, k->constant, k->n_constant, k->cap_constant) =
        (Constant){id, value, comment};
    return id;
}

const char *kernel_extent(Graph *g, Kernel *k, const Var *v)
{
    char *s = arena_strdup(g->arena, v->name && *v->name ? v->name : "i");

    for (char *c = s; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return kernel_constant(g, k, cprint_ident(g->arena, s), v->extent, NULL);
}

void kernel_assert(Graph *g, Kernel *k, const char *cond, const char *why)
{
    const char **old = k->assert_;

    k->assert_ = arena_array(g->arena, const char *, k->n_assert + 1);
    if (k->n_assert)
        memcpy(k->assert_, old, sizeof *old * (size_t)k->n_assert);
    k->assert_[k->n_assert++] =
        arena_printf(g->arena, "static_assert(%s, \"%s\");", cond, why);
}

void kernel_smem(Graph *g, Kernel *k, int align, const char *decl,
                 const char *comment)
{
    VEC_PUSH(g->arena, k->smem, k->n_smem, k->cap_smem) =
        (SmemField){arena_strdup(g->arena, decl), comment, align};
}

void kernel_phase(Graph *g, Kernel *k, const char *label, const Buf *text)
{
    VEC_PUSH(g->arena, k->phase, k->n_phase, k->cap_phase) =
        (Phase){label, arena_strdup(g->arena, buf_text(text))};
}

/* ---- the wait for the grid --------------------------------------------- */

const char *kernel_wait(const Kernel *k)
{
    if (!k->waits)
        return "";
    switch (k->trigger) {
    case TRIGGER_START:
        return "// The next launch may begin; those before this one end "
               "first.\n"
               "dcc_grid_trigger();\ndcc_grid_wait();\n";
    case TRIGGER_RUNNING:
        return "// The launches before this one have ended; the next may "
               "begin.\n"
               "dcc_grid_wait();\ndcc_grid_trigger();\n";
    case TRIGGER_EXIT: break;
    }
    return "// The launches before this one end first.\ndcc_grid_wait();\n";
}

void kernel_wait_phase(Graph *g, Kernel *k)
{
    Buf b = {0};

    buf_puts(&b, kernel_wait(k));
    if (b.len)
        kernel_phase(g, k, "", &b);
    buf_free(&b);
}

static void note_changing(const Expr *e, void *ctx)
{
    bool *constant = ctx;

    if (e->kind == E_READ)
        *constant &= tensor_is_constant(e->tensor);
}

bool kernel_reads_constants(const Expr *e)
{
    bool constant = true;

    expr_visit(e, note_changing, &constant);
    return constant;
}

/* ---- names that nothing uses ------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool text_mentions(const char *s, const char *id)
{
    size_t n = strlen(id);

    for (const char *p = s; (p = strstr(p, id)); p++)
        if ((p == s || !is_word(p[-1])) && !is_word(p[n]))
            return true;
    return false;
}

/* The name that a one-line `const T name = ...;` gives; length in *n, or NULL.
 */
static const char *named(const char *line, size_t len, size_t *n)
{
    static const char *const types[] = {"const int ", "const float ",
                                        "const bool ", "const long long "};

    while (len && *line == ' ') {
        line++;
        len--;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t t = strlen(types[i]);
        if (len <= t || strncmp(line, types[i], t) || line[len - 1] != ';')
            continue;
        for (*n = 0; is_word(line[t + *n]); ++*n)
            ;
        return line + t;
    }
    return NULL;
}

/* A line that was taken out is filled with these. */
enum { GONE = 1 };

/* How much of text is in the scope of a line indented by `indent`: up to the
 * first line that is indented less. */
static size_t scope_of(const char *text, size_t indent)
{
    const char *s = text;

    while (*s) {
        size_t own = strspn(s, " "), n = strcspn(s, "\n");
        if (own < indent && own < n && *s != GONE)
            break;
        s += n + (s[n] == '\n');
    }
    return (size_t)(s - text);
}

/* Does text mention the n letters at id before `end`? */
static bool mentions_before(char *text, size_t end, const char *id, size_t n)
{
    char name[64], saved = text[end];

    if (n >= sizeof name)
        return true;
    memcpy(name, id, n);
    name[n] = 0;
    text[end] = 0;
    bool found = text_mentions(text, name);
    text[end] = saved;
    return found;
}

/* From the last line to the first: what only a line mentions that has gone
 * goes too. */
static void tidy_lines(char *text, size_t len)
{
    for (char *end = text + len; end > text;) {
        char *start = end - 1;
        while (start > text && start[-1] != '\n')
            start--;
        size_t line = (size_t)(end - start) - (end[-1] == '\n'), n = 0;
        const char *id = named(start, line, &n);
        if (id && !mentions_before(end, scope_of(end, strspn(start, " ")), id,
                                   n))
            memset(start, GONE, line);
        end = start;
    }
}

void kernel_tidy(Graph *g, Kernel *k)
{
    Buf all = {0};

    for (int i = 0; i < k->n_phase; i++)
        buf_puts(&all, k->phase[i].text);
    char *text = arena_strdup(g->arena, buf_text(&all));
    tidy_lines(text, all.len);
    for (int i = 0; i < k->n_phase; i++) {
        size_t len = strlen(k->phase[i].text);
        Buf kept = {0};
        for (const char *end = text + len; text < end;) {
            size_t line = strcspn(text, "\n");
            line += text[line] == '\n';
            if (*text != GONE)
                buf_printf(&kept, "%.*s", (int)line, text);
            text += line;
        }
        k->phase[i].text = arena_strdup(g->arena, buf_text(&kept));
        buf_free(&kept);
    }
    buf_free(&all);
}
