#include "emit/cprint.h"
#include "emit/emit.h"
#include "emit/names.h"
#include "emit/tree_pass.h"
#include "emit/tree_quote.h"

#include <ctype.h>
#include <string.h>

/* ---- arguments --------------------------------------------------------- */

typedef struct Finder {
    const Tensor *tensor;
    bool found;
} Finder;

static void find_read(const Expr *e, void *ctx)
{
    Finder *f = ctx;

    f->found |= e->kind == E_READ && e->tensor == f->tensor;
}

static void find_in_step(const Step *s, void *ctx)
{
    expr_visit(s->value, find_read, ctx);
}

static bool reads_from(const Group *gr, const Tensor *t)
{
    Finder f = {t, false};

    group_visit(gr, find_in_step, &f);
    return f.found;
}

static const char *arg_name(Arena *a, const Kernel *k, const Tensor *t)
{
    const char *called = tensor_called(t);
    const char *base = cprint_ident(a, *called ? called : "t"), *id = base;

    for (int n = 1, i = 0; i < k->n_arg; i++)
        if (!strcmp(k->arg[i].name, id)) {
            id = arena_printf(a, "%s_%d", base, n++);
            i = -1;
        }
    return id;
}

/* "B_run", in the kernel how many of them there are. */
static const char *run_name(Graph *g, const Kernel *k)
{
    const char *base = arena_printf(g->arena, "%s_run", g->run->name);
    const char *id = cprint_ident(g->arena, base);

    for (int n = 1, i = 0; i < k->n_arg; i++)
        if (!strcmp(k->arg[i].name, id)) {
            id = arena_printf(g->arena, "%s_%d", cprint_ident(g->arena, base),
                              n++);
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
        ArgUse use = !group_stores(gr, t)   ? ARG_IN
                     : reads_from(gr, t) ? ARG_INOUT
                                         : ARG_OUT;
        k->arg[k->n_arg++] = (KernelArg){.name = name, .tensor = t, .use = use};
    }
    k->run = gr->bounded ? run_name(g, k) : NULL;
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
    const char *name = v->name && *v->name ? v->name : "i";

    return kernel_constant(g, k,
                           names_upper(g->arena, cprint_ident(g->arena, name)),
                           v->extent, NULL);
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

void kernel_phase(Graph *g, Kernel *k, const char *label, Tree *tree)
{
    VEC_PUSH(g->arena, k->phase, k->n_phase, k->cap_phase) =
        (Phase){label, tree};
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
    case TRIGGER_EXIT:
        break;
    }
    return "// The launches before this one end first.\ndcc_grid_wait();\n";
}

void kernel_wait_phase(Graph *g, Kernel *k)
{
    if (k->waits)
        kernel_phase(g, k, "", tree_parse(g->arena, kernel_wait(k), k->name));
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

/* ---- names ------------------------------------------------------------- */

/* Whether text has the identifier id. */
static bool text_mentions(const char *s, const char *id)
{
    size_t n = strlen(id);

    for (const char *p = s; (p = strstr(p, id)); p++)
        if ((p == s || !names_letter(p[-1])) && !names_letter(p[n]))
            return true;
    return false;
}

/* ---- the whole ----------------------------------------------------------- */

/* The phases one after another, each under its name. */
static Tree *join_phases(Graph *g, const Kernel *k)
{
    Tree *t = tree_list(g->arena);

    for (int i = 0; i < k->n_phase; i++) {
        const char *label = k->phase[i].label;
        if (i)
            tree_add(t, tree_new(g->arena, TREE_BLANK, (Code){0}));
        if (label && *label)
            tree_add(t, tree_comment(g->arena,
                                     arena_printf(g->arena, "// %s", label)));
        tree_add(t, k->phase[i].tree);
    }
    return t;
}

static void add_facts(Facts *f, const Kernel *k)
{
    static const char *const axis[] = {"x", "y", "z"};

    for (int i = 0; i < k->n_constant; i++)
        facts_add(f, k->constant[i].name,
                  range_of(k->constant[i].value, k->constant[i].value));
    for (int i = 0; i < 3; i++) {
        int n = k->grid[i] > 1 ? k->grid[i] : 1, t = i ? 1 : k->block;
        Range at = range_of(0, n - 1), thread = range_of(0, t - 1);
        at.wraps = thread.wraps = true;
        facts_add(f, arena_printf(f->arena, "blockIdx.%s", axis[i]), at);
        facts_add(f, arena_printf(f->arena, "gridDim.%s", axis[i]),
                  (Range){true, true, n, n});
        facts_add(f, arena_printf(f->arena, "threadIdx.%s", axis[i]), thread);
        facts_add(f, arena_printf(f->arena, "blockDim.%s", axis[i]),
                  (Range){true, true, t, t});
    }
}

static bool is_read(const Kernel *k, const char *name)
{
    if (tree_speaks_of(k->body, name))
        return true;
    for (int i = 0; i < k->n_smem; i++)
        if (text_mentions(k->smem[i].decl, name) ||
            (k->smem[i].comment && text_mentions(k->smem[i].comment, name)))
            return true;
    for (int i = 0; i < k->n_assert; i++)
        if (text_mentions(k->assert_[i], name))
            return true;
    for (int i = 0; i < k->n_constant; i++)
        if (k->constant[i].comment &&
            text_mentions(k->constant[i].comment, name))
            return true;
    return false;
}

/* A comment stands behind the last of several enumerators: if that one goes,
 * the one before has it. */
static void drop_constants(Kernel *k)
{
    int n = 0;

    for (int i = 0; i < k->n_constant; i++) {
        Constant c = k->constant[i];
        if (is_read(k, c.name)) {
            k->constant[n++] = c;
        } else if (n && c.comment && *c.comment && k->constant[n - 1].comment &&
                   !*k->constant[n - 1].comment) {
            k->constant[n - 1].comment = c.comment;
        }
    }
    k->n_constant = n;
}

/* ---- the user's names --------------------------------------------------- */

static void settle_code(Code *c, void *ctx)
{
    const Settled *names = ctx;
    Token *t = arena_array(names->arena, Token, c->n + 1);

    for (int i = 0; i < c->n; i++) {
        t[i] = c->at[i];
        t[i].s = names_put(names, t[i].s);
    }
    c->at = t;
}

static void settle_notes(Tree *t, Settled *names)
{
    if (!t)
        return;
    if (t->kind == TREE_COMMENT || t->kind == TREE_PRAGMA)
        settle_code(&t->code, names);
    t->note = names_put(names, t->note);
    t->else_note = names_put(names, t->else_note);
    settle_notes(t->body, names);
    settle_notes(t->otherwise, names);
    for (int i = 0; i < t->n_item; i++)
        settle_notes(t->item[i], names);
}

static void settle_parts(Kernel *k, const Settled *names)
{
    for (int i = 0; i < k->n_arg; i++)
        k->arg[i].name = names_put(names, k->arg[i].name);
    k->run = names_put(names, k->run);
    for (int i = 0; i < k->n_map; i++)
        k->map[i].name = names_put(names, k->map[i].name);
    for (int i = 0; i < k->n_constant; i++) {
        k->constant[i].name = names_put(names, k->constant[i].name);
        k->constant[i].comment = names_put(names, k->constant[i].comment);
    }
    for (int i = 0; i < k->n_assert; i++)
        k->assert_[i] = names_put(names, k->assert_[i]);
    for (int i = 0; i < k->n_smem; i++) {
        k->smem[i].decl = names_put(names, k->smem[i].decl);
        k->smem[i].comment = names_put(names, k->smem[i].comment);
    }
    k->device_code = names_put(names, k->device_code);
}

static void settle(Graph *g, Kernel *k)
{
    Buf text = {0};

    emit_kernel(&text, NULL, k);
    Settled names = names_settle(g->arena, buf_text(&text));
    buf_free(&text);
    k->given = names.given;
    k->n_given = names.n_given;
    settle_parts(k, &names);
    tree_codes(k->body, settle_code, &names);
    settle_notes(k->body, &names);
}

/* ---- scalars among the inputs ------------------------------------------- */

bool kernel_of_input(const Kernel *k, const Tensor *t)
{
    const Group *first = k->group;

    for (int a = 0; a < first->n_arg; a++) {
        if (first->arg[a] != t)
            continue;
        for (int i = 0; i < k->n_instance; i++)
            if (k->instance[i]->arg[a]->role != ROLE_INPUT)
                return false;
        return t->role == ROLE_INPUT;
    }
    return false;
}

typedef struct Scalar {
    Arena *arena;
    const char *name, *value; /* name[0] becomes value */
    int n;
} Scalar;

static void name_scalar(Code *c, void *ctx)
{
    Scalar *s = ctx;
    Token *t = arena_array(s->arena, Token, c->n + 1);
    int n = 0;

    for (int i = 0; i < c->n; i++) {
        const Token *at = &c->at[i];
        bool is = i + 3 < c->n && code_names(*c, i) &&
                  token_is(at, s->name) && token_is(at + 1, "[") &&
                  token_is(at + 2, "0") && token_is(at + 3, "]");
        t[n] = c->at[i];
        if (is) {
            t[n].s = s->value;
            s->n++;
            i += 3;
        }
        n++;
    }
    *c = (Code){t, n};
}

/* No launch of a run writes to inputs: a number among them is read once, ahead
 * of the wait. Where stores are between its reads, as of a cache at a position,
 * each would wait for its own. */
static void early_scalars(Graph *g, Kernel *k)
{
    Tree *body = tree_list(g->arena);

    for (int i = 0; i < k->n_arg && k->waits; i++) {
        const KernelArg *a = &k->arg[i];
        if (a->use != ARG_IN || a->mapped || a->tensor->rank ||
            type_bytes(a->tensor->type) != 4 || !kernel_of_input(k, a->tensor))
            continue;
        Scalar s = {g->arena, a->name,
                    arena_printf(g->arena, "%s_now", a->name), 0};
        if (tree_mentions(k->body, s.value))
            continue;
        tree_codes(k->body, name_scalar, &s);
        if (s.n)
            PUT(body,
                "const @type @value = dcc_read_now(@name);  // no launch "
                "writes it\n",
                FILL("type", type_cname(a->tensor->type)),
                FILL("value", s.value), FILL("name", s.name));
    }
    if (!body->n_item)
        return;
    Tree *all = tree_list(g->arena);
    int label = k->body->n_item && k->body->item[0]->kind == TREE_COMMENT;
    if (label)
        tree_add(all, k->body->item[0]);
    tree_add(all, body);
    for (int i = label; i < k->body->n_item; i++)
        tree_add(all, k->body->item[i]);
    k->body = all;
}

/* ---- the whole ---------------------------------------------------------- */

void kernel_finish(Graph *g, Kernel *k)
{
    Facts known = {.arena = g->arena};

    k->body = join_phases(g, k);
    add_facts(&known, k);
    tree_improve(k->body, &known);
    pass_asked(g->arena, k->body);
    early_scalars(g, k);
    drop_constants(k);
    settle(g, k);
}
