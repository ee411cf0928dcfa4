#include "rewrite/simplify.h"

#include "rewrite/alike.h"
#include "rewrite/choices.h"
#include "rewrite/deviation.h"
#include "rewrite/factors.h"
#include "rewrite/functions.h"
#include "rewrite/halves.h"
#include "rewrite/heads.h"
#include "rewrite/hoist.h"
#include "rewrite/inline.h"
#include "rewrite/inplace.h"
#include "rewrite/levels.h"
#include "rewrite/named.h"
#include "rewrite/number.h"
#include "rewrite/paths.h"
#include "rewrite/phase.h"
#include "rewrite/picks.h"
#include "rewrite/recount.h"
#include "rewrite/reduced.h"
#include "rewrite/separate.h"
#include "rewrite/steps.h"
#include "rewrite/steps_slices.h"
#include "rewrite/sums.h"
#include "rewrite/tables.h"
#include "rewrite/tabulate.h"

#include <math.h>

int tensor_writers(const Graph *g, const Tensor *t, Stmt **first)
{
    int n = 0;

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor == t && !n++ && first)
            *first = g->stmt[i];
    return n;
}

Stmt **tensor_makers(const Graph *g)
{
    Stmt **maker = arena_array(g->arena, Stmt *, g->n_tensor + 1);
    bool *twice = arena_array(g->arena, bool, g->n_tensor + 1);

    for (int i = 0; i < g->n_stmt; i++) {
        int id = g->stmt[i]->tensor->id;
        twice[id] |= maker[id] != NULL;
        maker[id] = g->stmt[i];
    }
    for (int i = 0; i < g->n_tensor; i++)
        if (twice[i])
            maker[i] = NULL;
    return maker;
}

Stmt *stmt_insert(Graph *g, int before)
{
    Stmt *s = graph_stmt(g); /* appended: move it down */

    for (int i = g->n_stmt - 1; i > before; i--)
        g->stmt[i] = g->stmt[i - 1];
    g->stmt[before] = s;
    return s;
}

static const char *index_name(Graph *g, const Idx *at, int d,
                              const Var **used, int n)
{
    const Var *v = at ? idx_is_var(at) : NULL;
    const char *name = v ? v->name : arena_printf(g->arena, "%c", 'a' + d);

    for (int i = 0; i < n; i++)
        if (!strcmp(used[i]->name, name))
            return arena_printf(g->arena, "%s%d", name, d);
    return name;
}

Stmt *load_stmt(Graph *g, const Tensor *w)
{
    int at = 0;

    while (at < g->n_stmt && g->stmt[at]->when == WHEN_LOAD)
        at++;
    Stmt *c = stmt_insert(g, at);
    c->when = WHEN_LOAD;
    c->path = arena_printf(g->arena, "%s%s%s_pack", w->path,
                           *w->path ? "." : "", w->name);
    c->at = c->call = w->at;
    return c;
}

const Expr *store_values(Graph *g, Stmt *c, const Stmt *s, const Expr *e,
                         const Var *const *v, int n, Type type,
                         const char *name)
{
    Subst sub[MAX_RANK];
    int64_t dim[MAX_RANK];
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);

    c->out = arena_array(g->arena, const Var *, MAX_RANK);
    c->store = arena_array(g->arena, const Idx *, MAX_RANK);
    c->n_out = n;
    for (int i = 0; i < n; i++) {
        dim[i] = v[i]->extent;
        c->out[i] = idx_new_var(g->pool, v[i]->name, v[i]->extent);
        c->store[i] = idx_var(g->pool, c->out[i]);
        sub[i] = (Subst){v[i], c->store[i]};
        at[i] = idx_var(g->pool, v[i]);
    }
    Tensor *t = graph_tensor(g, name, type, n, dim);
    t->path = s->tensor->path;
    t->when = c->when;
    t->at = c->at = s->at;
    c->tensor = t;
    c->value = expr_subst(g, e, sub, n);
    c->call = s->call;
    return expr_read(g, t, at, (Guard){0}, NULL);
}

Stmt *load_copy(Graph *g, Tensor *w, const Idx *const *at)
{
    Stmt *c = load_stmt(g, w);

    c->n_out = w->rank;
    c->out = arena_array(g->arena, const Var *, w->rank + 1);
    c->store = arena_array(g->arena, const Idx *, w->rank + 1);
    for (int d = 0; d < w->rank; d++) {
        const char *name = index_name(g, at[d], d, c->out, d);
        c->out[d] = idx_new_var(g->pool, name, w->dim[d]);
        c->store[d] = idx_var(g->pool, c->out[d]);
    }
    c->value = expr_read(g, w, c->store, (Guard){0}, NULL);
    return c;
}

/* ---- expressions */

/* The same value, of a number that every float type holds. */
static bool same_constant(const Expr *a, const Expr *b)
{
    return expr_equal(a, b) ||
           (a->kind == E_CONST && b->kind == E_CONST &&
            type_is_float(a->type) && type_is_float(b->type) &&
            a->num == b->num && signbit(a->num) == signbit(b->num) &&
            (a->num == 0 || isinf(a->num)));
}

/* `c ? x[..] or 0 : 0` reads x only where c holds. */
static const Expr *select_to_guard(Graph *g, const Expr *e)
{
    const Expr *read = e->arg[1], *outside = e->arg[2];
    Guard in;

    if (read->kind != E_READ || outside->kind != E_CONST)
        return NULL;
    if (read->in.n && !same_constant(read->outside, outside))
        return NULL;
    if (!expr_as_guard(g, e->arg[0], &in))
        return NULL;
    return expr_read(g, read->tensor, read->at,
                     guard_and(g->pool, in, read->in), outside);
}

static const Expr *tidy_expr(Graph *g, const Expr *e, void *ctx)
{
    (void)ctx;
    if (e->kind == E_SELECT)
        return select_to_guard(g, e);
    /* Float arithmetic is f32 anyway: a cast to f32 changes nothing. */
    if (e->kind == E_CAST && e->type == T_F32 &&
        type_is_float(e->arg[0]->type))
        return e->arg[0];
    return function_of_sum(g, e);
}

/* Select to guard, needless casts, functions.h, alike.h. */
static void simplify_exprs(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        s->value = join_alike(g, expr_rewrite(g, s->value, tidy_expr, NULL));
    }
}

/* ---- views */

/* How often the graph writes its tensors, by id. */
typedef struct Writes {
    int *writers;
    bool *older; /* a later version keeps parts of it */
} Writes;

static Writes count_writes(const Graph *g)
{
    Writes w = {arena_array(g->arena, int, g->n_tensor + 1),
                arena_array(g->arena, bool, g->n_tensor + 1)};

    for (int i = 0; i < g->n_stmt; i++)
        w.writers[g->stmt[i]->tensor->id]++;
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->prev)
            w.older[g->tensor[i]->prev->id] = true;
    return w;
}

static bool overwritten_later(const Writes *w, const Tensor *t)
{
    return w->older[t->id] || t->role == ROLE_STATE;
}

/* Is s nothing but an index map, so that its readers may read through it? */
static bool is_view(const Writes *w, const Stmt *s)
{
    const Expr *v = s->value;

    if (s->op != R_NONE || s->where.n || s->tensor->role != ROLE_TEMP ||
        s->tensor->prev || (s->notes & NOTE_NOFUSE) ||
        w->writers[s->tensor->id] != 1)
        return false;
    return v->kind == E_CONST ||
           (v->kind == E_READ && v->type == s->tensor->type &&
            !overwritten_later(w, v->tensor));
}

/* Statements that may be read through: views, or quotients. */
typedef struct Views {
    const Stmt **of; /* by tensor id: the one that makes it */
    const Stmt **list; int n; /* those that a statement reads, each once */
} Views;

static Views views_open(const Graph *g)
{
    return (Views){arena_array(g->arena, const Stmt *, g->n_tensor + 1),
                   arena_array(g->arena, const Stmt *, g->n_stmt + 1), 0};
}

static void note_view(const Expr *e, void *ctx)
{
    Views *v = ctx;

    if (e->kind != E_READ || !v->of[e->tensor->id])
        return;
    for (int i = 0; i < v->n; i++)
        if (v->list[i] == v->of[e->tensor->id])
            return;
    v->list[v->n++] = v->of[e->tensor->id];
}

/* What views read is no view any more: they were seen through themselves. */
static void read_through(Graph *g, Views *v, Stmt *s)
{
    v->n = 0;
    expr_visit(s->value, note_view, v);
    for (int i = 0; i < v->n; i++) {
        const Stmt *view = v->list[i];
        const Expr *e = inline_reads(g, s->value, view->tensor, view->value,
                                     view->store);
        if (e)
            s->value = e;
    }
}

/* Reads of pure index maps. */
static void simplify_views(Graph *g)
{
    Writes w = count_writes(g);
    Views v = views_open(g);

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        read_through(g, &v, s);
        if (is_view(&w, s))
            v.of[s->tensor->id] = s;
    }
}

/* ---- factors */

typedef struct Product {
    const Expr *in, *out; /* of the sum; NULL: 1 */
} Product;

static bool uses_any(const Expr *e, const Var **v, int n)
{
    for (int i = 0; i < n; i++)
        if (expr_uses(e, v[i]))
            return true;
    return false;
}

static const Expr *times(Graph *g, const Expr *a, const Expr *b)
{
    if (!a || !b)
        return a ? a : b;
    return expr_binary(g, F_MUL, a, b, T_F32);
}

/* Splits a product into the factors that use the summed variables, and the
 * rest. */
static Product split_product(Graph *g, const Stmt *s, const Expr *e)
{
    if (!uses_any(e, s->red, s->n_red))
        return (Product){NULL, e};
    if (e->kind == E_UNARY && e->fn == F_NEG) {
        Product p = split_product(g, s, e->arg[0]);
        return (Product){p.in, times(g, expr_const(g, -1, T_F32), p.out)};
    }
    bool mul = e->kind == E_BINARY && e->fn == F_MUL;
    bool div = e->kind == E_BINARY && e->fn == F_DIV;
    if (mul) {
        Product a = split_product(g, s, e->arg[0]);
        Product b = split_product(g, s, e->arg[1]);
        return (Product){times(g, a.in, b.in), times(g, a.out, b.out)};
    }
    if (div && !uses_any(e->arg[1], s->red, s->n_red)) {
        Product a = split_product(g, s, e->arg[0]);
        const Expr *one = expr_const(g, 1, T_F32);
        return (Product){a.in, expr_binary(g, F_DIV, a.out ? a.out : one,
                                           e->arg[1], T_F32)};
    }
    return (Product){e, NULL};
}

static const Expr *read_at_store(Graph *g, const Stmt *s, Tensor *t)
{
    Guard none = {0};

    return expr_read(g, t, s->store, none, NULL);
}

static void split_sum(Graph *g, int at)
{
    Stmt *s = g->stmt[at];
    Product p = split_product(g, s, s->value);

    if (!p.out || !p.in)
        return;
    Tensor *whole = s->tensor;
    Tensor *part = graph_tensor(g, whole->name, T_F32, whole->rank,
                                whole->dim);
    part->path = whole->path;
    part->when = whole->when;
    part->at = whole->at;
    s->tensor = part;
    s->value = p.in;
    Stmt *scale = stmt_insert(g, at + 1);
    int id = scale->id;
    *scale = *s;
    scale->id = id;
    scale->op = R_NONE;
    scale->red = NULL;
    scale->n_red = 0;
    scale->tensor = whole;
    scale->value = expr_binary(g, F_MUL, read_at_store(g, s, part), p.out,
                               T_F32);
}

/* A quotient of two tensors that is kept as it is computed. */
static bool is_quotient(const Writes *w, const Stmt *s)
{
    const Expr *v = s->value;

    if (s->op != R_NONE || s->where.n || s->tensor->role != ROLE_TEMP ||
        s->tensor->prev || s->tensor->type != T_F32 ||
        (s->notes & NOTE_NOFUSE) || v->kind != E_BINARY || v->fn != F_DIV ||
        w->writers[s->tensor->id] != 1)
        return false;
    for (int i = 0; i < 2; i++)
        if (v->arg[i]->kind != E_READ ||
            overwritten_later(w, v->arg[i]->tensor))
            return false;
    return true;
}

/* A sum of quotients whose divisor the sum does not run over (a softmax's
 * probabilities) reads the quotients' parts: the division comes after it. */
static void divide_later(Graph *g, Views *quotients, Stmt *s)
{
    if (s->op != R_SUM || !type_is_float(s->value->type))
        return;
    quotients->n = 0;
    expr_visit(s->value, note_view, quotients);
    for (int i = 0; i < quotients->n; i++) {
        const Stmt *q = quotients->list[i];
        const Expr *e = inline_reads(g, s->value, q->tensor, q->value,
                                     q->store);
        if (e && split_product(g, s, e).out &&
            !split_product(g, s, s->value).out)
            s->value = e;
    }
}

void simplify_factors(Graph *g)
{
    Writes w = count_writes(g);
    Views quotients = views_open(g);

    for (int i = 0; i < g->n_stmt; i++) {
        divide_later(g, &quotients, g->stmt[i]);
        if (is_quotient(&w, g->stmt[i]))
            quotients.of[g->stmt[i]->tensor->id] = g->stmt[i];
    }
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        if (s->op == R_SUM && type_is_float(s->value->type))
            split_sum(g, i);
    }
}

/* ---- dead statements */

static void mark_read(const Expr *e, void *ctx)
{
    bool *live = ctx;

    if (e->kind != E_READ)
        return;
    for (const Tensor *t = e->tensor; t; t = t->prev)
        live[t->id] = true;
}

static void mark_idx(const Idx *e, bool *live)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind == ATOM_DATA)
            expr_visit(a->data, mark_read, live);
        if (a->a)
            mark_idx(a->a, live);
        if (a->b)
            mark_idx(a->b, live);
    }
}

void simplify_dead(Graph *g)
{
    bool *live = arena_array(g->arena, bool, g->n_tensor);
    int kept = g->n_stmt;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        live[t->id] = t->role == ROLE_OUTPUT || t->role == ROLE_STATE ||
                      t->prev;
    }
    for (int i = g->n_stmt - 1; i >= 0; i--) {
        const Stmt *s = g->stmt[i];
        if (!live[s->tensor->id])
            continue;
        expr_visit(s->value, mark_read, live);
        for (int d = 0; d < s->tensor->rank; d++)
            mark_idx(s->store[d], live);
        for (int c = 0; c < s->where.n; c++)
            mark_idx(s->where.cond[c].e, live);
        if (s->tensor->prev)
            live[s->tensor->prev->id] = true;
    }
    kept = 0;
    for (int i = 0; i < g->n_stmt; i++)
        if (live[g->stmt[i]->tensor->id])
            g->stmt[kept++] = g->stmt[i];
    g->n_stmt = kept;
}

void tidy(Graph *g, const Prices *p)
{
    simplify_exprs(g);
    simplify_views(g);
    simplify_dead(g);
    g->joined = !(p && p->apart) && join_steps(g);
    if (g->joined) {
        simplify_views(g);
        gather_slices(g);
        simplify_views(g);
        simplify_dead(g);
    }
    if (split_choices(g)) {
        simplify_exprs(g);
        simplify_views(g);
        simplify_dead(g);
    }
    tabulate(g);
    pick_terms(g);
    join_heads(g);
    simplify_factors(g);
    split_paths(g, p);
    number(g); /* sums whose factors alone differed are one */
    drop_deviations(g);
    split_sums(g);
    choose_guarded(g);
    split_halves(g);
    split_computed(g);
    recount_sums(g);
    split_phases(g);
    separate_windows(g);
    reduce_products(g);
    split_named(g);
    split_long_reductions(g, p && p->boxes);
    simplify_dead(g);
}

/* What is made at load time comes first, as it reads nothing of a run: so what
 * passes add behind it (load_stmt) may read all of it. */
static void load_first(Graph *g)
{
    Stmt **run = arena_array(g->arena, Stmt *, g->n_stmt + 1);
    int n = 0, n_run = 0;

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->when == WHEN_LOAD)
            g->stmt[n++] = g->stmt[i];
        else
            run[n_run++] = g->stmt[i];
    memcpy(g->stmt + n, run, sizeof *run * (size_t)n_run);
}

void simplify(Graph *g)
{
    load_first(g);
    stack_contractions(g);
    stack_lookups(g);
    simplify_views(g);
    hoist_params(g);
    lay_out_tables(g);
    simplify_dead(g);
    simplify_in_place(g);
}
