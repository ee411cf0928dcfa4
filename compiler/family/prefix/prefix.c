/* prefix.c - running sums, products, maxima and minima: which nests they are,
 * and in which ways a line is gone along. */
#include "family/prefix/prefix.h"

#include <math.h>
#include <string.h>

/* ---- the form ----------------------------------------------------------- */

/* What decides how far a sum goes: cond is d <= i + shift, or d >= i + shift
 * with `back`. */
typedef struct Limit {
    const Group *group;
    const Var *i, *d;
    Cond cond;
    bool back, holds;
    int64_t shift;
} Limit;

static bool find_place(Limit *l, Cond c)
{
    const int64_t step = idx_coef(c.e, l->d);

    if (c.mod || !idx_affine(c.e) || (step != 1 && step != -1))
        return false;
    for (int r = 0; r < l->group->n_rows; r++)
        if (idx_coef(c.e, l->group->rows[r]) == -step)
            l->i = l->group->rows[r];
    l->cond = c;
    l->back = step > 0;
    l->shift = l->back ? -c.e->k : c.e->k;
    return l->i && c.e->n == 2;
}

static void find_limit(Limit *l, Guard in)
{
    for (int c = 0; c < in.n && !l->i; c++)
        if (!find_place(l, in.cond[c]))
            l->i = NULL;
}

typedef struct Search {
    Graph *graph;
    Limit *limit;
} Search;

static void look(const Expr *e, void *ctx)
{
    Search *s = ctx;
    Guard in;

    if (s->limit->i)
        return;
    if (e->kind == E_READ)
        find_limit(s->limit, e->in);
    else if (e->kind == E_SELECT && expr_as_guard(s->graph, e->arg[0], &in))
        find_limit(s->limit, in);
}

static bool without(Graph *g, const Limit *l, Guard in, Guard *rest)
{
    bool found = false;

    *rest = (Guard){0};
    for (int c = 0; c < in.n; c++) {
        bool is = in.cond[c].e == l->cond.e && in.cond[c].mod == 0;
        found |= is;
        if (!is)
            *rest = guard_add(g->pool, *rest, in.cond[c].e, in.cond[c].mod);
    }
    return found;
}

/* e where the limit holds, or where it does not. */
static const Expr *decide(Graph *g, const Expr *e, void *ctx)
{
    const Limit *l = ctx;
    Guard in, rest;

    if (e->kind == E_READ && without(g, l, e->in, &rest))
        return l->holds ? expr_read(g, e->tensor, e->at, rest, e->outside)
                        : e->outside;
    if (e->kind != E_SELECT || !expr_as_guard(g, e->arg[0], &in) ||
        !without(g, l, in, &rest))
        return NULL;
    if (!l->holds)
        return e->arg[2];
    return rest.n ? expr_select(g, expr_of_guard(g, rest), e->arg[1], e->arg[2],
                                e->type)
                  : e->arg[1];
}

static const Expr *decided(Graph *g, const Expr *e, Limit *l, bool holds)
{
    l->holds = holds;
    return expr_rewrite(g, e, decide, l);
}

static double identity(Reduce op, Type t)
{
    bool f = type_is_float(t);

    switch (op) {
    case R_PROD:
        return 1;
    case R_MAX:
        return f ? -INFINITY : INT32_MIN;
    case R_MIN:
        return f ? INFINITY : INT32_MAX;
    default:
        return 0;
    }
}

static bool is_identity(const Expr *e, const Step *s)
{
    return e->kind == E_CONST && e->num == identity(s->op, s->type);
}

static void note_local(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_LOCAL;
}

/* The one reduction of gr, -1 and *why if its steps are no running value. */
static int find_scan(const Group *gr, const char **why)
{
    int scan = -1;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_NONE && !s->over_cols)
            continue;
        if (scan >= 0 || s->op == R_NONE || s->op == R_ARGMAX)
            *why = "more over its columns than one sum";
        scan = i;
    }
    if (scan < 0)
        *why = "no reduction";
    else if (gr->step[scan].type == T_BOOL)
        *why = "a reduction of truth values";
    return *why ? -1 : scan;
}

/* The term of place i: f(p, i + shift), where there is one. */
static const Expr *term(Graph *g, const Limit *l, const Expr *value,
                        const Step *s)
{
    const Idx *d = idx_addc(g->pool, idx_var(g->pool, l->i), l->shift);
    const Subst to = {l->d, d};
    Guard in = guard_within(g->pool, (Guard){0}, d, 0, l->d->extent);
    const Expr *e = expr_subst(g, value, &to, 1);

    const Expr *none = expr_const(g, identity(s->op, s->type), e->type);

    if (guard_truth(in) == ALWAYS)
        return e;
    if (e->kind == E_READ && !e->in.n)
        return expr_read(g, e->tensor, e->at, in, none);
    return expr_select(g, expr_of_guard(g, in), expr_confine(g, e), none,
                       e->type);
}

/* gr with i as its column. */
static const Group *make_line(Graph *g, const Group *gr, const Limit *l,
                              int scan, const Expr *value)
{
    Group *line = group_copy(g, gr);

    line->rows = arena_array(g->arena, const Var *, gr->n_rows);
    line->n_rows = 0;
    for (int r = 0; r < gr->n_rows; r++)
        if (gr->rows[r] != l->i)
            line->rows[line->n_rows++] = gr->rows[r];
    line->cols = arena_array(g->arena, const Var *, 1);
    line->cols[0] = l->i;
    line->n_cols = 1;
    for (int i = 0; i < line->n_step; i++)
        line->step[i].over_cols = true;
    line->step[scan].value = value;
    return line;
}

/* Whether every term has its turn: none before the first place, or, from the
 * end, behind the last. */
static bool all_have_turns(const Limit *l)
{
    return l->back ? l->d->extent <= l->i->extent + l->shift : l->shift <= 0;
}

static const char *find_line(PrefixForm *f, const Group *gr)
{
    Graph *g = f->graph;
    const char *why = NULL;
    const Var *d = gr->n_cols == 1 ? gr->cols[0] : NULL;
    Limit l = {.group = gr, .d = d};
    bool local = false;

    f->scan = find_scan(gr, &why);
    if (why)
        return why;
    if (!d)
        return "a sum over several indices";
    const Step *s = &gr->step[f->scan];
    expr_visit(s->value, look, &(Search){g, &l});
    expr_visit(s->value, note_local, &local);
    if (!l.i)
        return "no index says how far the sum goes";
    const Expr *value = decided(g, s->value, &l, true);
    if (local || expr_uses(value, l.i) ||
        !is_identity(decided(g, s->value, &l, false), s))
        return "its terms are others at each place";
    if (!all_have_turns(&l))
        return "the first place's sum has several terms";
    f->at = l.i;
    f->back = l.back;
    f->line = make_line(g, gr, &l, f->scan, term(g, &l, value, s));
    return NULL;
}

static void order_lines(PrefixForm *f)
{
    const Group *line = f->line;
    int n = line->n_rows;

    f->rows = arena_array(f->graph->arena, const Var *, n + 1);
    if (n)
        memcpy(f->rows, line->rows, sizeof *f->rows * (size_t)n);
    order_vars(f->graph, f->rows, n, main_store(f->graph, line));
    ones_first(f->rows, n);
}

static const void *prefix_open(Graph *g, const Group *gr, const Options *o,
                               const char **why)
{
    PrefixForm *f = arena_new_of(g->arena, PrefixForm);

    *f = (PrefixForm){.graph = g, .group = gr, .options = o};
    if ((*why = find_line(f, nest_plain(g, gr))))
        return NULL;
    if (group_rows(f->line) > INT32_MAX || f->at->extent > INT32_MAX / 2)
        *why = "more lines, or places in one, than an int counts";
    if (*why)
        return NULL;
    order_lines(f);
    f->census = census_take(g, f->line, o->device);
    f->bytes = model_group_bytes(g, gr, o->device, NULL, NULL);
    return f;
}

/* ---- variants ------------------------------------------------------------ */

static const Var *fastest_line(const PrefixForm *f)
{
    int n = f->line->n_rows;

    return n && f->rows[n - 1]->extent > 1 ? f->rows[n - 1] : NULL;
}

PrefixPlan prefix_plan(const PrefixForm *f, const Variant *v)
{
    PrefixPlan p = {.mode = v->knob[KNOB_MODE],
                    .threads = v->knob[KNOB_THREADS],
                    .vec = v->knob[KNOB_VEC],
                    .lines = group_rows(f->line)};
    const int across = p.mode == MODE_WALK    ? p.threads * p.vec
                       : p.mode == MODE_WARP  ? p.threads / WARP
                       : p.mode == MODE_LINES ? WARP
                                              : 1; /* lines at a time */

    p.turn = (int64_t)p.vec * p.threads / across;
    p.along = p.mode == MODE_WALK ? fastest_line(f) : f->at;
    p.chunks = (f->at->extent + p.turn - 1) / p.turn;
    return p;
}

typedef struct Space {
    Graph *graph;
    Variant *v;
    int n;
} Space;

static void add(Space *s, int mode, int threads, int vec)
{
    static const char *const name[] = {"walk", "warp", "block", "lines"};
    Variant *v = &s->v[s->n++];

    v->knob[KNOB_MODE] = mode;
    v->knob[KNOB_THREADS] = threads;
    v->knob[KNOB_VEC] = vec;
    v->text = arena_printf(s->graph->arena, "%s threads=%d vec=%d", name[mode],
                           threads, vec);
}

static int prefix_space(const void *form, Variant **out)
{
    enum { MOST = 128, MOST_PLACES = 16 };
    const PrefixForm *f = form;
    Graph *g = f->graph;
    const Var *line = fastest_line(f);
    Variant v[MOST];
    Space s = {g, v, 0};
    int widest = line ? widest_vector(g, f->line, line, 4, false) : 1;

    for (int vec = widest; vec >= 1; vec /= 2)
        for (int threads = WARP; threads <= 8 * WARP; threads *= 2)
            add(&s, MODE_WALK, threads, vec);
    widest = widest_vector(g, f->line, f->at, 8, false);
    for (int vec = widest; vec >= 1; vec /= 2) {
        for (int threads = WARP; threads <= 8 * WARP; threads *= 2)
            add(&s, MODE_WARP, threads, vec);
        for (int threads = 2 * WARP; threads <= 32 * WARP; threads *= 2)
            if ((int64_t)threads * vec < 2 * f->at->extent)
                add(&s, MODE_BLOCK, threads, vec);
    }
    for (int vec = MOST_PLACES; vec >= 1 && line; vec /= 2)
        for (int threads = 4 * WARP; threads <= 32 * WARP; threads *= 2)
            if (f->at->extent % vec == 0 &&
                (int64_t)threads / WARP * vec < 2 * f->at->extent)
                add(&s, MODE_LINES, threads, vec);
    *out = family_variants(g->arena, v, s.n);
    return s.n;
}

const Family family_prefix = {
    .name = "prefix",
    .version = 2,
    .open = prefix_open,
    .space = prefix_space,
    .cost = prefix_cost,
    .build = prefix_build,
};
