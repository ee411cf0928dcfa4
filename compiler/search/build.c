#include "search/build.h"

#include "emit/emit.h"
#include "search/dependent.h"
#include "search/twins.h"

#include <ctype.h>
#include <math.h>

/* ---- names */

typedef struct Words {
    Graph *g;
    const char *word[5];
    int n;
} Words;

static void add_word(Words *w, const char *word)
{
    for (int i = 0; i < w->n; i++)
        if (!strcmp(w->word[i], word))
            return;
    if (w->n < 5)
        w->word[w->n++] = word;
}

/* A window: an index that is a sum of a row's and a column's variable. */
static bool has_window(const Expr *e)
{
    for (int d = 0; d < e->tensor->rank; d++)
        if (e->at[d]->n > 1 && e->in.n)
            return true;
    return false;
}

typedef struct Kinds {
    int reads;
    bool window, gather, divides, exp;
} Kinds;

static void note_kinds(const Expr *e, void *ctx)
{
    Kinds *k = ctx;

    if (e->kind == E_READ) {
        k->reads++;
        k->window |= has_window(e);
        for (int d = 0; d < e->tensor->rank; d++)
            k->gather |= idx_has_data(e->at[d]);
    }
    k->exp |= e->kind == E_UNARY && e->fn == F_EXP;
}

static void note_function(const Expr *e, void *ctx)
{
    Words *w = ctx;

    if (e->kind == E_BINARY && e->fn == F_MAX)
        add_word(w, e->arg[1]->kind == E_CONST && e->arg[1]->num == 0
                        ? "relu" : "max");
    if (e->kind == E_UNARY && (e->fn == F_ERF || e->fn == F_NORMCDF ||
                                 e->fn == F_GELU))
        add_word(w, "gelu");
    if (e->kind == E_UNARY && (e->fn == F_TANH || e->fn == F_EXP ||
                               e->fn == F_LOG || e->fn == F_SQRT ||
                               e->fn == F_LOGISTIC))
        add_word(w, func_name(e->fn));
    if (e->kind == E_UNARY && e->fn == F_SLOPE)
        add_word(w, func_name(F_LOGISTIC));
    if (e->kind == E_UNARY && e->fn == F_RSQRT)
        add_word(w, "norm");
    if (e->kind == E_BINARY && e->fn == F_ADD &&
        (e->arg[0]->kind == E_READ || e->arg[1]->kind == E_READ))
        add_word(w, "add");
}

/* A product, or one within a range. */
static bool is_product(const Expr *e)
{
    if (e->kind == E_SELECT && e->arg[2]->kind == E_CONST &&
        e->arg[2]->num == 0)
        e = e->arg[1];
    return e->kind == E_BINARY && e->fn == F_MUL;
}

static void reduce_words(Words *w, const Group *gr, const Step *s)
{
    Kinds k = {0};

    expr_visit(s->value, note_kinds, &k);
    if (s->op == R_SUM && is_product(s->value) && k.reads >= 2)
        add_word(w, k.window ? "conv" : gr->n_cols ? "matmul" : "dot");
    else
        add_word(w, reduce_name(s->op));
}

/* What a group computes, in a few words joined by _: "matmul_bias_relu". */
static const char *group_words(Graph *g, const Group *gr)
{
    Words w = {.g = g};
    Buf b = {0};

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        Kinds k = {0};
        if (s->op != R_NONE)
            reduce_words(&w, gr, s);
        expr_visit(s->value, note_kinds, &k);
        if (k.gather)
            add_word(&w, "gather");
        expr_visit(s->value, note_function, &w);
    }
    if (!w.n)
        add_word(&w, "map");
    for (int i = 0; i < w.n; i++)
        buf_printf(&b, "%s%s", i ? "_" : "", w.word[i]);
    return buf_take(&b, g->arena);
}

static const char *last_path(const Group *gr)
{
    for (int i = gr->n_step - 1; i >= 0; i--)
        if (gr->step[i].tensor && gr->step[i].source)
            return gr->step[i].source->path;
    return "";
}

/* Load-time copies are named by what they pack (load_stmt). */
static bool ends_in_pack(const char *path)
{
    size_t n = strlen(path);

    return n > 5 && !strcmp(path + n - 5, "_pack");
}

/* Outer components of a path, then the last words go until a call of the
 * kernel's launcher, in the steps of the model, fits a line. */
static const char *short_path(const char *path, char *words, size_t rest)
{
    const size_t most = 80 - strlen("        return _launch(");
    const char *dot;
    char *last;

    while (rest + strlen(words) + strlen(path) > most &&
           (dot = strchr(path, '.')))
        path = dot + 1;
    while (rest + strlen(words) + strlen(path) > most &&
           (last = strrchr(words, '_')))
        *last = 0;
    return path;
}

/* Letters and digits of s after b's, all else as one _ between them. */
static void put_words(Buf *b, const char *s)
{
    for (; *s; s++)
        if (isalnum((unsigned char)*s))
            buf_putc(b, *s);
        else if (b->len && b->text[b->len - 1] != '_')
            buf_putc(b, '_');
}

static const char *kernel_name(Graph *g, Map *taken, const Group *gr)
{
    Buf b = {0};

    char *words = arena_strdup(g->arena, group_words(g, gr));
    bool pack = gr->when == WHEN_LOAD && !strcmp(words, "map");
    const char *path = short_path(last_path(gr), words,
                                  strlen(g->model) + strlen("___22"));
    put_words(&b, path);
    if (!pack || !ends_in_pack(path)) {
        put_words(&b, b.len ? "_" : "");
        put_words(&b, words);
    }
    const char *base = arena_printf(g->arena, "%s%s%s%s",
                                    names_kernels(g->arena, g->model),
                                    g->word ? g->word : "",
                                    g->word ? "_" : "", buf_text(&b));
    /* where the last of that base has ended, under what is no name */
    const char *key = arena_printf(g->arena, "%s ", base), *name = base;
    int *last = map_get(taken, key);
    if (!last)
        map_put(taken, key, last = arena_new_of(g->arena, int));
    while (map_get(taken, name))
        name = arena_printf(g->arena, "%s_%d", base, 2 + (*last)++);
    buf_free(&b);
    map_put(taken, name, (void *)name);
    return name;
}

/* ---- which variant */

static bool fits(const Choice *c, int i)
{
    Cost cost;

    choice_cost(c, i, &cost);
    return cost.coef_r && !isinf(cost.us);
}

static int random_variant(const Choice *c, uint64_t seed)
{
    uint64_t h = hash_text(c->key, strlen(c->key)) ^ seed;

    for (int tries = 0; tries < 64; tries++) {
        h = hash_text((const char *)&h, sizeof h);
        int i = (int)(h % (uint64_t)c->n_variant);
        if (fits(c, i))
            return i;
    }
    return c->best;
}

/* Whether every word of `want` ("bm=128 split=2", blanks or commas between
 * them) is one of `text`. */
static bool has_words(const char *text, const char *want)
{
    while (*want) {
        size_t n = strcspn(want, " ,");
        const char *p = text;
        while (*p && (strncmp(p, want, n) || (p[n] && p[n] != ' '))) {
            p += strcspn(p, " ");
            p += *p == ' ';
        }
        if (n && !*p)
            return false;
        want += n + (want[n] != 0);
    }
    return true;
}

/* The variant that is called so; else the cheapest legal one that has these
 * words; -1: none. */
static int find_variant(const Choice *c, const char *want)
{
    double least = INFINITY;
    int best = -1;

    for (int i = 0; i < c->n_variant; i++) {
        Cost cost;
        const char *text = choice_text(c, i);
        if (!has_words(text, want))
            continue;
        choice_cost(c, i, &cost);
        if (cost.coef_r && !strcmp(text, want))
            return i;
        if (cost.coef_r && cost.us < least) {
            least = cost.us;
            best = i;
        }
    }
    return best;
}

/* The family that the text begins with, as --dump=variants has it ("map,
 * vec=8 .."), or NULL; *rest is what follows. */
static const Family *family_ahead(const char *text, const char **rest)
{
    size_t n = strcspn(text, " ,");

    *rest = text;
    for (int i = 0; family_table[i]; i++)
        if (!strncmp(family_table[i]->name, text, n) &&
            !family_table[i]->name[n]) {
            *rest = text + n + strspn(text + n, " ,");
            return family_table[i];
        }
    return NULL;
}

/* c, or that of the family which the command line names for this kernel; NULL
 * after an error. */
static Choice *forced_family(Selection *s, Group *gr, Choice *c,
                             const char *name, const Forced *forced, int n)
{
    const char *rest, *why = NULL;

    for (int i = 0; i < n; i++) {
        const Family *f = family_ahead(forced[i].text, &rest);
        if (!f || f == c->family || strcmp(forced[i].name, name))
            continue;
        Choice *other = choose_family(s, gr, f, &why);
        if (!other) {
            diag_error(s->graph->diag, gr->stmt[0]->call,
                       "kernel '%s' cannot be of family %s: %s", name, f->name,
                       why);
            diag_note(s->graph->diag, gr->stmt[0]->call,
                      "it is '%s, %s'", c->family->name,
                      choice_text(c, c->best));
        }
        return other;
    }
    return c;
}

/* The variant that the command line forces on this kernel, or `otherwise`;
 * -1 after an error. */
static int forced_variant(Selection *s, Group *gr, const Choice *c,
                          const char *name, Forced *forced, int n,
                          int otherwise)
{
    for (int i = 0; i < n; i++) {
        Forced *f = &forced[i];
        if (strcmp(f->name, name) && strcmp(f->name, c->family->name))
            continue;
        f->used = true;
        if (!strcmp(f->text, "any")) {
            f->fits = true; /* select has chosen the family for it */
            continue;
        }
        const char *text;
        const Family *of = family_ahead(f->text, &text);
        if (of && of != c->family)
            continue; /* of all kernels of another family */
        int v = find_variant(c, text);
        f->fits |= v >= 0;
        if (v >= 0)
            return v;
        if (strcmp(f->name, name))
            continue; /* a family's name: where it is legal */
        diag_error(s->graph->diag, gr->stmt[0]->call,
                   "kernel '%s' (%s) has no legal variant '%s'", name,
                   c->family->name, text);
        diag_note(s->graph->diag, gr->stmt[0]->call,
                  "its first choice is '%s'", choice_text(c, c->best));
        return -1;
    }
    return otherwise;
}

/* ---- kernels */

/* Of this group itself: the choice's may be of an equal one, with other
 * tensors, that was met on the way. */
static const void *form_of(Selection *s, Group *gr, const Choice *c,
                           const char *name)
{
    const char *why;
    const void *form = family_open(c->family, s->graph, gr, s->options, &why);

    if (!form)
        tree_defect(name, "not the family's any more", why);
    return form;
}

static void build_kernel(Selection *s, Group *gr, Kernel *k)
{
    const Choice *c = choose_variant(s, gr);

    c->family->build(form_of(s, gr, c, k->name), &c->variant[gr->variant], k);
}

/* The kernel of a group whose variant is settled; its text is not made yet. */
static Kernel *new_kernel(Selection *s, Group *gr, const Choice *c,
                          const char *name)
{
    Kernel *k = arena_new_of(s->graph->arena, Kernel);
    const Variant *v = &c->variant[gr->variant];
    Cost cost = {0};

    c->family->cost(form_of(s, gr, c, name), v, &cost);
    k->name = name;
    k->family = c->family->name;
    k->variant = choice_text(c, gr->variant);
    k->predicted_us = cost.us;
    k->regs = cost.regs;
    k->measured_us = gr->measured_us;
    k->limiter = cost.limiter;
    k->group = gr;
    return k;
}

static void add_launch(CudaProgram *p, Launch *load, Launch *run, Group *gr)
{
    Launch l = {.kernel = gr->kernel, .group = gr, .when = gr->when, .of = p};

    if (gr->when == WHEN_LOAD)
        load[p->n_load++] = l;
    else
        run[p->n_run++] = l;
}

/* What groups of one kernel have in common; also which copies of parameters
 * lie there when a run begins, so that they are read ahead of its waits. */
static const char *kernel_key(Selection *s, const Choice *c, const Group *gr)
{
    Buf b = {0};

    buf_puts(&b, c->key);
    group_canon_slices(&b, gr);
    for (int i = 0; i < gr->n_arg; i++)
        if (gr->arg[i]->renewed && tensor_is_constant(gr->arg[i]))
            buf_printf(&b, " %d", i);
    const char *key = arena_strdup(s->graph->arena, buf_text(&b));
    buf_free(&b);
    return key;
}

/* The kernel of gr: one for each canonical text; NULL after an error. */
static Kernel *kernel_of(Selection *s, Group *gr, Map *kernels, Map *taken,
                         Forced *forced, int n_forced, uint64_t seed,
                         CudaProgram *p)
{
    Choice *c = choose_variant(s, gr);
    const char *key = kernel_key(s, c, gr);
    Kernel *k = map_get(kernels, key);

    if (k)
        return k;
    const char *name = kernel_name(s->graph, taken, gr);
    int planned = gr->variant;
    c = forced_family(s, gr, c, name, forced, n_forced);
    if (!c)
        return NULL;
    if (seed)
        gr->variant = random_variant(c, seed);
    gr->variant = forced_variant(s, gr, c, name, forced, n_forced,
                                 gr->variant);
    if (gr->variant < 0)
        return NULL;
    if (gr->variant != planned)
        gr->measured_us = 0;
    k = new_kernel(s, gr, c, name);
    map_put(kernels, key, k);
    return p->kernel[p->n_kernel++] = k;
}

bool build_kernels(Selection *s, Forced *forced, int n_forced, uint64_t seed,
                   CudaProgram *p)
{
    Graph *g = s->graph;
    Map *kernels = map_new(g->arena), *taken = map_new(g->arena);

    p->graph = g;
    p->load = arena_array(g->arena, Launch, s->n_group + 1);
    p->run = arena_array(g->arena, Launch, s->n_group + 1);
    p->kernel = arena_array(g->arena, Kernel *, s->n_group + 1);
    for (int i = 0; i < s->n_group; i++) {
        Group *gr = s->group[i];
        Kernel *k = kernel_of(s, gr, kernels, taken, forced, n_forced, seed,
                              p);
        if (!k)
            return false;
        VEC_PUSH(g->arena, k->instance, k->n_instance, k->cap_instance) = gr;
        gr->kernel = k;
        gr->variant = k->group->variant;
        gr->predicted_us = k->predicted_us;
        gr->measured_us = k->measured_us;
        add_launch(p, p->load, p->run, gr);
    }
    return true;
}

void build_texts(Selection *s, CudaProgram *p)
{
    Graph *g = s->graph;

    dependent_launches(s, p);
    for (int i = 0; i < p->n_kernel; i++) {
        Kernel *k = p->kernel[i];
        Group *gr = k->instance[0];
        build_kernel(s, gr, k);
        kernel_finish(g, k);
        dependent_check(k);
    }
    if (!p->trace) /* else a group's kernel tells of it alone (tune) */
        join_twins(p);
}
