#include "compile.h"

#include "ast.h"
#include "rewrite/astride.h"
#include "rewrite/centre.h"
#include "rewrite/diagonal.h"
#include "search/branch.h"
#include "search/build.h"
#include "search/copies.h"
#include "rewrite/embed.h"
#include "rewrite/ends.h"
#include "rewrite/group_sums.h"
#include "search/explain.h"
#include "search/norms.h"
#include "search/readable.h"
#include "search/keep.h"
#include "rewrite/layout.h"
#include "rewrite/unfold.h"
#include "emit/emit.h"
#include "rewrite/rewrite.h"
#include "rewrite/number.h"
#include "rewrite/ones.h"
#include "rewrite/parts.h"
#include "rewrite/paths.h"
#include "rewrite/phase.h"
#include "rewrite/shifts.h"
#include "rewrite/straighten.h"
#include "rewrite/tiles.h"
#include "rewrite/reassociate.h"
#include "rewrite/recompute.h"
#include "search/bounds.h"
#include "search/search.h"

#include <math.h>

const char *const dump_passes[] = {"graph",     "number", "simplify",
                                   "normalise", "layout", "select",
                                   "variants",  "memory", NULL};

static bool dump_here(const CompileOptions *o, const char *pass)
{
    return o->dump && !strcmp(o->dump, pass);
}

static void dump_groups(Buf *b, const Selection *s)
{
    for (int i = 0; i < s->n_group; i++) {
        const Group *gr = s->group[i];
        group_dump(b, gr);
        buf_printf(b, "  by %s, %.2f us\n", gr->family->name,
                   gr->predicted_us);
    }
}

static bool is_family(const char *name)
{
    for (const Family *const *f = family_table; *f; f++)
        if (!strcmp((*f)->name, name))
            return true;
    return false;
}

static void check_dependent(const CompileOptions *o, Diag *d)
{
    if (o->ask_dependent && o->model.device->dependent_launch_us <= 0)
        diag_note(d, (Span){0},
                  "--dependent-launch: %s cannot overlap launches (sm_90 "
                  "can): they run one after another",
                  o->model.device->title);
}

void compile_check_options(const CompileOptions *o, Diag *d)
{
    check_dependent(o, d);
    for (int i = 0; i < o->n_forced; i++) {
        const Forced *f = &o->forced[i];
        if (f->fits)
            continue;
        if (!f->used && !is_family(f->name))
            diag_error(d, (Span){0},
                       "--variant: no kernel or family is called '%s'",
                       f->name);
        else
            diag_note(d, (Span){0}, "--variant=%s=%s fits no kernel here",
                      f->name, f->text);
    }
}

static Span model_span(const Program *tree, const char *model)
{
    for (int i = 0; i < tree->n_item; i++)
        if (tree->item[i]->kind == ITEM_MODEL &&
            !strcmp(tree->item[i]->name.text, model))
            return tree->item[i]->name.at;
    return (Span){0};
}

void compile_check_names(Arena *a, Diag *d, const Program *tree,
                         const char *const *model, int n)
{
    const char **ids = arena_array(a, const char *, n + 1);

    for (int i = 0; i < n; i++)
        ids[i] = names_model(a, model[i]);
    for (int i = 0; i < n * n; i++) {
        const char *of = model[i / n], *other = model[i % n];
        const char *id = ids[i / n], *word = names_needed(id, ids[i % n]);
        if (!word)
            continue;
        diag_error(d, model_span(tree, other),
                   "model '%s' has a name that model '%s' needs for itself: "
                   "'%s_%s'", other, of, id, word);
        diag_note(d, model_span(tree, of),
                  "what is emitted for a model is called %s_create, %s_run, "
                  "...", id, id);
    }
}

/* Families that --variant names are chosen where they can be, or nowhere. */
static void prefer_families(Arena *a, const CompileOptions *o, Options *model)
{
    const char **name = arena_array(a, const char *, o->n_forced + 1);
    const char **avoid = arena_array(a, const char *, o->n_forced + 1);

    for (int i = 0; i < o->n_forced; i++) {
        Forced *f = &o->forced[i];
        if (strcmp(f->text, "none") || !is_family(f->name)) {
            name[model->n_prefer++] = f->name;
            continue;
        }
        avoid[model->n_avoid++] = f->name;
        f->fits = true;
    }
    model->prefer = name;
    model->avoid = avoid;
}

/* The model's options for this compilation: a node of the launch graph costs
 * less where launches overlap. */
static Options *model_options(Arena *a, const CompileOptions *o)
{
    Options *model = arena_new_of(a, Options);

    *model = o->model;
    prefer_families(a, o, model);
    model->folds = o->fold_as;
    const Device *d = device_dependent(a, model->device);
    model->dependent &= d != NULL;
    if (model->dependent)
        model->device = d;
    return model;
}

/* What of the model depends on the size that it is compiled for. */
static void mark_sized(Graph *g, const Sized *z)
{
    for (int i = 0; i < g->n_input; i++)
        g->input[i]->varies = z->input[i];
    for (int i = 0; i < g->n_output; i++)
        g->output[i]->varies = z->output[i];
    if (z->between && z->value > 1) {
        g->run = idx_new_var(g->pool, z->name, z->value + 1);
        g->most = z->value;
    }
}

/* What a graph has for chains: nothing, sums in another order alone
 * (reassociate.h), or products with factors of their own (recompute.h). */
typedef enum { PLAIN, OTHER_ORDER, OWN } Own;

/* An f32 factor beside one of 16 bits goes at most as tf32 does. */
static Prices prices_of(const Device *d)
{
    return (Prices){
        .tensor_ops = MEGA * fmax(d->wgmma_tflops, d->mma_tflops),
        .mixed_ops = MEGA * d->mma_tf32_tflops * d->mma_reached,
        .plain_ops = MEGA * d->fma_tflops,
        .memory_bytes = KILO * d->hbm_gbs,
        .cache_bytes = KILO * d->l2_gbs,
        .cached = MEGA * d->l2_mb * d->l2_keeps,
        .launch_us = d->launch_us,
        .boxes = d->wgmma_tflops > 0};
}

/* What is tried: chains prepared, inputs and outputs copied (ends.h), what
 * windows read left as declared, patches in rows of their own (unfold.h),
 * products of f32 factors in parts (parts.h); and what there was to prepare,
 * how many there were to copy, whether nothing but windows asks for other
 * layouts, how many patches there are, or products that may be in parts. */
typedef struct Try {
    bool chains, ends, declared, unfold;
    Own own;
    int n_ends;
    bool windows;
    int n_patches;
    PartsWish parts;
    PartsMade made;
} Try;

/* A plan, or variants by name, which may fit one of several programs only. */
static bool is_picky(const CompileOptions *o)
{
    return o->plan_name || o->n_forced;
}

/* The picture of the whole compiler, but for the kernels' texts; `most` bytes
 * are kept of the forward pass. */
static CudaProgram *compile_once(Arena *a, Diag *d, const struct Program *tree,
                                 const char *model, const CompileOptions *o,
                                 const Seens *seen, int64_t most, Try *try,
                                 Report *r)
{
    Selection *s = r->selection = arena_new_of(a, Selection);
    Options *chosen = model_options(a, o);
    CudaProgram *p = arena_new_of(a, CudaProgram);
    Prices prices = prices_of(chosen->device);
    prices.apart = o->steps_apart;
    Graph *g = lower_model(a, d, tree, model, o->define, o->n_define);

    if (!g)
        return NULL;
    if (!is_picky(o)) /* plans and names settle what is found otherwise */
        s->earlier = r->earlier;
    g->word = o->word;
    if (o->sized)
        mark_sized(g, o->sized);
    if (try->chains)
        drop_ones(g);
    p->n_lowered = g->n_tensor;
    p->trace = o->trace;
    if (dump_here(o, "graph"))
        graph_dump(&r->dump, g);
    tidy(g, &prices);
    number(g);
    if (dump_here(o, "number"))
        graph_dump(&r->dump, g);
    simplify(g);
    if (dump_here(o, "simplify"))
        graph_dump(&r->dump, g);
    bool heads = try->chains && split_group_sums(g);
    normalise(g);
    if (try->chains) {
        bool other = reassociate(g) || heads;
        try->own = recompute(g) > 0 ? OWN : other ? OTHER_ORDER : PLAIN;
    }
    centre(g);
    join_groups(g);
    straighten(g, &prices);
    split_shifts(g);
    tile_sums(g);
    if (!graph_check_indices(g))
        return NULL;
    if (dump_here(o, "normalise"))
        graph_dump(&r->dump, g);
    s->keep = keep(g, seen, most);
    s->keep.less = seen != NULL;
    if (o->model.device->sm >= 80) /* tensor cores */
        try->made = make_parts(g, &try->parts);
    try->n_patches = unfold(g, !try->unfold);
    g->as_declared = try->declared;
    try->windows = layout_by_windows(g);
    if (try->ends)
        try->n_ends = copy_ends(g);
    copy_astride(g);
    const PlanText plan = {o->plan_name, o->plan_text, o->plan_len};
    g->layouts = o->plan_name ? plan_layouts(&plan, model) : o->random_layout;
    layout(g, o->model.math != MATH_EXACT, g->layouts, o->pack_as, o->packed);
    phase_ranges(g);
    phase_write_out(g);
    embed(g);
    find_needed(g);
    if (dump_here(o, "layout"))
        layout_dump(&r->dump, g);
    if (!select_groups(g, chosen, &plan, s))
        return NULL;
    copies_join(s);
    if (s->plan && !plan_check(s->plan, s))
        return NULL;
    if (o->folded)
        norms_folded(s, o->folded);
    if (dump_here(o, "select"))
        dump_groups(&r->dump, s);
    bound_groups(s);
    if (!build_kernels(s, o->forced, o->n_forced, o->random_plan, p))
        return NULL;
    if (dump_here(o, "variants"))
        explain_variants(&r->dump, s, p);
    if (o->want_plan)
        plan_write(&r->plan, s, o->model.device->name);
    return p;
}

static double predicted_us(const CudaProgram *p)
{
    double us = 0;

    for (int i = 0; i < p->n_run; i++)
        us += p->run[i].group->predicted_us;
    return us;
}

/* What a report has of one attempt, or of those so far. */
typedef struct Written {
    size_t dump, plan;
    Selection *selection;
} Written;

static Written written(const Report *r)
{
    return (Written){r->dump.len, r->plan.len, r->selection};
}

static void rewind_to(Report *r, Written w)
{
    r->dump.len = w.dump;
    r->plan.len = w.plan;
}

/* What was written of the first of two, from `from` to `to`, goes; or of the
 * second. */
static void keep_text(Buf *b, size_t from, size_t to, bool second)
{
    if (!b->text)
        return;
    if (second)
        memmove(b->text + from, b->text + to, b->len - to);
    b->len = second ? from + b->len - to : to;
    b->text[b->len] = '\0';
}

static void keep_one(Report *r, Written from, Written to, bool second)
{
    keep_text(&r->dump, from.dump, to.dump, second);
    keep_text(&r->plan, from.plan, to.plan, second);
    if (!second)
        r->selection = to.selection;
}

/* Somebody asks for a family of chains. */
static bool asks_for_chains(const CompileOptions *o)
{
    for (int i = 0; i < o->n_forced; i++)
        for (const Family *const *f = family_table; *f; f++)
            if ((*f)->chains && !strcmp((*f)->name, o->forced[i].name))
                return true;
    return false;
}

/* With factors that products have of their own, and without: the one that is
 * predicted to be faster. */
static CudaProgram *better_order(Arena *a, Diag *d, Diag *quiet,
                                 const struct Program *tree,
                                 const char *model, const CompileOptions *o,
                                 const Seens *seen, int64_t most, Try *try,
                                 Report *r)
{
    const Written from = written(r);
    Try plain = {.ends = try->ends,
                 .declared = try->declared,
                 .unfold = try->unfold,
                 .parts = try->parts};

    try->chains = true;
    CudaProgram *p = compile_once(a, o->plan_name ? quiet : d, tree, model, o,
                                  seen, most, try, r);
    if (p && (try->own == PLAIN || o->plan_name || asks_for_chains(o)))
        return p;
    if (!p && !o->plan_name)
        return NULL;
    if (!p)
        rewind_to(r, from);
    const Written to = written(r);
    CudaProgram *q = compile_once(a, p ? quiet : d, tree, model, o, seen, most,
                                  &plain, r);
    if (!p)
        return q;
    /* sums in another order gain by chains alone */
    bool second =
        q && (try->own != OWN || predicted_us(q) <= predicted_us(p));
    keep_one(r, from, to, second);
    return second ? q : p;
}

static const double GAIN = 1.05; /* that copies are made for */

static int chains_of(const CudaProgram *p)
{
    int n = 0;

    for (int i = 0; i < p->n_run; i++)
        n += p->run[i].group->chain != NULL;
    return n;
}

/* With inputs and outputs copied, and without; of a plan, the one it fits. */
static CudaProgram *copied_or_not(Arena *a, Diag *d, Diag *quiet,
                                  const struct Program *tree,
                                  const char *model, const CompileOptions *o,
                                  const Seens *seen, int64_t most, Try *try,
                                  Report *r)
{
    const Written from = written(r);
    Try copied = {.ends = true,
                  .declared = try->declared,
                  .unfold = try->unfold,
                  .parts = try->parts};
    CudaProgram *p = better_order(a, is_picky(o) ? quiet : d, quiet, tree,
                                  model, o, seen, most, &copied, r);

    try->made = copied.made;
    try->windows = copied.windows;
    try->n_patches = copied.n_patches;
    if (p ? !copied.n_ends || o->plan_name : !is_picky(o))
        return p;
    if (!p)
        rewind_to(r, from);
    const Written to = written(r);
    bool last = !p && !copied.windows && !copied.n_patches;
    CudaProgram *q = better_order(a, last ? d : quiet, quiet, tree, model, o,
                                  seen, most, try, r);
    if (!p)
        return q;
    /* less is within the predictions' error */
    bool second = q && predicted_us(q) <= GAIN * predicted_us(p) &&
                  !(asks_for_chains(o) && chains_of(p) > chains_of(q));
    keep_one(r, from, to, second);
    return second ? q : p;
}

/* The same; and without the layouts that windows alone ask for, and with
 * patches in rows of their own, where there are such. */
static CudaProgram *better_ends(Arena *a, Diag *d, Diag *quiet,
                                const struct Program *tree, const char *model,
                                const CompileOptions *o, const Seens *seen,
                                int64_t most, Try *try, Report *r)
{
    const Written from = written(r);
    CudaProgram *p = copied_or_not(a, d, quiet, tree, model, o, seen, most,
                                   try, r);
    Try other[] = {{.declared = try->windows, .parts = try->parts},
                   {.unfold = try->n_patches > 0, .parts = try->parts}};

    for (int i = 0; i < 2; i++) {
        if (!other[i].declared && !other[i].unfold)
            continue;
        if (p ? o->plan_name != NULL : !is_picky(o))
            return p;
        if (!p)
            rewind_to(r, from);
        const Written to = written(r);
        bool last = !p && (i == 1 || !other[1].unfold);
        CudaProgram *q = copied_or_not(a, last ? d : quiet, quiet, tree, model,
                                       o, seen, most, &other[i], r);
        bool second = !p || (q && (o->random_plan ||
                                   predicted_us(q) < predicted_us(p)));
        if (p)
            keep_one(r, from, to, second);
        p = second ? q : p;
    }
    return p;
}

/* Products in chains need no parts in memory. */
static void except_chains(Arena *a, const CudaProgram *p, PartsWish *w)
{
    int n = 0, cap = 0;
    const char **path = NULL;

    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        for (int k = 0; gr->chain && k < gr->n_stmt; k++)
            VEC_PUSH(a, path, n, cap) = gr->stmt[k]->path;
    }
    w->except = path;
    w->n_except = n;
}

/* The program without parts and plan, and where they do not fit without
 * variants, which may name what parts alone have: what is in chains there stays
 * in them. How many products are left that may be in parts. */
static int look_at_parts(Arena *a, Diag *quiet, const struct Program *tree,
                         const char *model, const CompileOptions *o,
                         const Seens *seen, int64_t most, PartsWish *w,
                         Report *r)
{
    const Written from = written(r);
    CompileOptions free = *o;
    Try plain = {.parts = *w};
    CudaProgram *p = NULL;

    free.plan_name = NULL;
    plain.parts.count = true;
    for (int i = 0; i < 2 && !p; i++) {
        free.n_forced = i ? 0 : o->n_forced;
        p = better_ends(a, quiet, quiet, tree, model, &free, seen, most,
                        &plain, r);
        rewind_to(r, from);
    }
    if (p && plain.made.n)
        except_chains(a, p, w);
    return p ? plain.made.n : 0;
}

/* p, or the program with products in parts where that is faster; of a plan, and
 * where variants are named, p may be NULL: what they do not fit. */
static CudaProgram *or_parts(Arena *a, Diag *d, Diag *quiet,
                             const struct Program *tree, const char *model,
                             const CompileOptions *o, const Seens *seen,
                             int64_t most, Try *parts, Written from,
                             CudaProgram *p, Report *r)
{
    if (!p)
        rewind_to(r, from);
    const Written to = written(r);
    CudaProgram *q = better_ends(a, d, quiet, tree, model, o, seen, most,
                                 parts, r);
    if (!p)
        return q;
    bool second =
        q && (o->random_plan || predicted_us(q) < predicted_us(p));
    keep_one(r, from, to, second);
    return second ? q : p;
}

/* With products of f32 factors as they are, in parts, and in parts but for
 * those of tf32; of a plan, the one it fits. */
static CudaProgram *better_parts(Arena *a, Diag *d, Diag *quiet,
                                 const struct Program *tree, const char *model,
                                 const CompileOptions *o, const Seens *seen,
                                 int64_t most, Report *r)
{
    const Written from = written(r);
    bool sure = !o->plan_name && !o->n_forced;
    Try parts = {.parts.tf32 = true}, plain = parts;

    plain.parts.count = true;
    int n = sure ? 1
                 : look_at_parts(a, quiet, tree, model, o, seen, most,
                                 &parts.parts, r);
    CudaProgram *p = better_ends(a, sure || !n ? d : quiet, quiet, tree, model,
                                 o, seen, most, &plain, r);
    if (!n || (sure && (!p || !plain.made.n)) || (p && o->plan_name))
        return p;
    if (sure)
        except_chains(a, p, &parts.parts);
    p = or_parts(a, quiet, quiet, tree, model, o, seen, most, &parts, from, p,
                 r);
    if (o->random_plan || (p && o->plan_name))
        return p;
    parts.parts.tf32 = false;
    bool both = parts.made.tf32 && parts.made.n > parts.made.tf32;
    if (both || !p)
        p = or_parts(a, p ? quiet : d, quiet, tree, model, o, seen, most,
                     &parts, from, p, r);
    return p;
}

static CudaProgram *compile_best(Arena *a, Diag *d, const struct Program *tree,
                                 const char *model, const CompileOptions *o,
                                 const Seens *seen, int64_t most, Report *r)
{
    enum { TRIES = 8 };
    const Written from = written(r);
    Diag *quiet = diag_new(a);
    CompileOptions mine = *o;

    mine.model.readable = readable_new(a);
    CudaProgram *p =
        better_parts(a, d, quiet, tree, model, &mine, seen, most, r);
    bool free = !is_picky(o) && !o->random_plan;
    for (int i = 0; p; i++) {
        build_texts(r->selection, p);
        if (i == TRIES || !free || !readable_note(r->selection, p))
            break;
        rewind_to(r, from);
        p = better_parts(a, quiet, quiet, tree, model, &mine, seen, most, r);
    }
    diag_drop(quiet);
    return p;
}

/* What a handle takes of a GPU, inputs and outputs apart. */
static int64_t all_bytes(const CudaProgram *p)
{
    return (int64_t)(p->params_bytes + p->consts_bytes + p->arena_bytes +
                     p->state_bytes);
}

static int64_t limit_of(const CudaProgram *p, const CompileOptions *o)
{
    int64_t other = all_bytes(p) - (int64_t)p->arena_bytes;

    return o->memory_share
               ? other + (int64_t)(o->memory / 100 * (double)p->arena_bytes)
               : (int64_t)o->memory;
}

/* Gives its tensors places, with launches beside the chain where the limit
 * holds with these: what they touch lives longer, and they have scratch of
 * their own. *limit: INT64_MAX: there is none yet. Bytes of the arena with
 * them. */
static int64_t place(Arena *a, const CompileOptions *o, CudaProgram *p,
                     int64_t *limit, Report *r)
{
    Launch *chain = arena_array(a, Launch, p->n_run + 1);

    memcpy(chain, p->run, sizeof *chain * (size_t)p->n_run);
    branch_launches(r->selection, p);
    memory_plan(p);
    const int64_t bytes = (int64_t)p->arena_bytes;
    if (o->memory && *limit == INT64_MAX)
        *limit = limit_of(p, o);
    if (all_bytes(p) > *limit) {
        p->run = chain;
        memory_plan_run(p);
    }
    if (dump_here(o, "memory"))
        memory_dump(&r->dump, p);
    return bytes;
}

static void cannot(Diag *d, const CudaProgram *p, const Keep *k, int64_t limit)
{
    bool small = limit < 10000000;
    double unit = small ? 1e3 : 1e6;
    const char *name = small ? "KB" : "MB";

    diag_error(d, p->graph->at, "--memory: '%s' needs %.1f %s, which is more "
               "than %.1f %s", p->graph->model, (double)all_bytes(p) / unit,
               name, (double)limit / unit, name);
    if (k->n)
        diag_note(d, (Span){0}, "%d tensors of the forward pass are computed "
                  "again there", k->n);
    else
        diag_note(d, (Span){0}, "there is nothing that could be computed again "
                  "instead of being kept");
}

/* Keeps less until --memory holds, as far as it goes: what else there is beside
 * what is kept follows from the kernels, and is known when they are there. */
static CudaProgram *compile_kept(Arena *a, Diag *d, const struct Program *tree,
                                 const char *model, const CompileOptions *o,
                                 int64_t *limit, Report *r)
{
    enum { TRIES = 5 };
    size_t dumped = r->dump.len, planned = r->plan.len;

    r->earlier = earlier_new(a);
    CudaProgram *p = compile_best(a, d, tree, model, o, NULL, 0, r);

    if (!p)
        return NULL;
    const int64_t whole = place(a, o, p, limit, r);
    if (!o->memory)
        return p;
    const double us = predicted_us(p);
    const Seens seen = keep_seen(p);
    int64_t most = INT64_MAX, now = keep_held(&seen);
    for (int i = 0; i < TRIES && all_bytes(p) > *limit && most > 0; i++) {
        most = (most < now ? most : now) - (all_bytes(p) - *limit);
        most = most > 0 ? most : 0; /* as little as can be */
        r->dump.len = dumped;
        r->plan.len = planned;
        p = compile_best(a, d, tree, model, o, &seen, most, r);
        if (!p)
            return NULL;
        place(a, o, p, limit, r);
        now = r->selection->keep.held + r->selection->keep.part;
    }
    r->selection->keep.whole = whole;
    r->selection->keep.whole_us = us;
    return p;
}

/* The same; where it does not go far enough, with a loop's steps apart. */
static CudaProgram *compile_within(Arena *a, Diag *d,
                                   const struct Program *tree,
                                   const char *model, const CompileOptions *o,
                                   Report *r)
{
    size_t dumped = r->dump.len, planned = r->plan.len;
    int64_t limit = INT64_MAX;
    CudaProgram *p = compile_kept(a, d, tree, model, o, &limit, r);

    if (p && all_bytes(p) > limit && p->graph->joined) {
        CompileOptions apart = *o;
        apart.steps_apart = true;
        r->dump.len = dumped;
        r->plan.len = planned;
        p = compile_kept(a, d, tree, model, &apart, &limit, r);
    }
    if (!p || all_bytes(p) <= limit)
        return p;
    cannot(d, p, &r->selection->keep, limit);
    return NULL;
}

CudaProgram *compile_model(Arena *a, Diag *d, const struct Program *tree,
                           const char *model, const CompileOptions *o,
                           Report *r)
{
    CudaProgram *p = compile_within(a, d, tree, model, o, r);

    if (!p || !o->explain)
        return p;
    if (o->json && r->explain.len)
        buf_puts(&r->explain, ",\n");
    if (o->json)
        explain_json(&r->explain, r->selection, p, o->more);
    else
        explain(&r->explain, r->selection, p);
    return p;
}

bool compile_ref(Arena *a, Diag *d, const struct Program *tree,
                 const char *const *model, int n, const CompileOptions *o,
                 Buf *b)
{
    Graph **g = arena_array(a, Graph *, n);

    for (int i = 0; i < n; i++)
        g[i] = (o->gradients ? lower_model_gradients : lower_model)(
            a, d, tree, model[i], o->define, o->n_define);
    if (diag_errors(d))
        return false;
    emit_ref(b, g, n, o->gradients);
    return true;
}
