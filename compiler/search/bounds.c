#include "search/bounds.h"

#include "group/groups.h"
#include "search/offer.h"

#include <string.h>

typedef struct Bounder {
    Graph *g;
    const char *why; /* not NULL: it cannot be done */
} Bounder;

/* ---- of which tensors */

static bool outermost(const Tensor *t)
{
    for (int d = 0; d + 1 < t->varies; d++)
        if (t->dim[d] != 1)
            return false;
    return true;
}

static bool is_bounded(const Tensor *t)
{
    return t->varies && !t->copied &&
           (t->role == ROLE_INPUT || t->role == ROLE_OUTPUT);
}

/* ---- the condition of an access */

/* Whether all n values of the size's first part of v, and none of the others,
 * are within the first n of `at`'s. */
static bool splits(Graph *g, const Idx *at, const Var *v, int64_t of_v,
                   int64_t of_at, int64_t n, int64_t most)
{
    IdxPool *p = g->pool;
    const Idx *in = idx_var(p, idx_new_var(p, v->name, of_v * n));
    const Idx *out = idx_addc(
        p, idx_var(p, idx_new_var(p, v->name, of_v * (most - n))), of_v * n);

    return idx_subst(p, at, &(Subst){v, in}, 1)->hi < of_at * n &&
           idx_subst(p, at, &(Subst){v, out}, 1)->lo >= of_at * n;
}

static bool splits_always(Graph *g, const Idx *at, const Var *v,
                          int64_t of_at)
{
    enum { ALL = 64 };
    int64_t most = g->most, of_v = v->extent / most;

    if (v->extent % most)
        return false;
    for (int64_t n = 1; n < most; n += n < ALL ? 1 : n / 8)
        if (!splits(g, at, v, of_v, of_at, n, most))
            return false;
    return splits(g, at, v, of_v, of_at, most - 1, most);
}

typedef struct Candidates {
    const Var *v[MAX_RANK * 2];
    int n;
} Candidates;

static void note_var(const Atom *a, void *ctx)
{
    Candidates *c = ctx;

    if (a->kind == ATOM_VAR && c->n < MAX_RANK * 2)
        c->v[c->n++] = a->var;
}

/* of_v * run - 1 - v >= 0 for the variable v that says which of them t[at] is
 * of; NULL if there is none. */
static const Idx *condition(Bounder *b, const Tensor *t, const Idx *const *at)
{
    Graph *g = b->g;
    IdxPool *p = g->pool;
    const Idx *e = at[t->varies - 1];
    Candidates c = {.n = 0};

    idx_visit(e, note_var, &c);
    for (int i = 0; i < c.n; i++) {
        const Var *v = c.v[i];
        if (!splits_always(g, e, v, t->dim[t->varies - 1] / g->most))
            continue;
        const Idx *end = idx_scale(p, idx_var(p, g->run),
                                   v->extent / g->most);
        return idx_addc(p, idx_sub(p, end, idx_var(p, v)), -1);
    }
    b->why = "no index of the kernel's says which of them it is at";
    return NULL;
}

static Guard bounded(Bounder *b, const Tensor *t, const Idx *const *at,
                     Guard in)
{
    const Idx *e = condition(b, t, at);

    return e ? guard_add(b->g->pool, in, e, 0) : in;
}

static const Expr *bound_read(Graph *g, const Expr *e, void *ctx)
{
    Bounder *b = ctx;
    const Expr *outside = e->outside;

    if (e->kind != E_READ || !is_bounded(e->tensor))
        return NULL;
    if (!outside)
        outside = expr_const(g, e->tensor->promised ? (double)e->tensor->lo : 0,
                             e->tensor->type);
    Guard in = bounded(b, e->tensor, e->at, e->in);
    return expr_at(g, expr_read(g, e->tensor, e->at, in, outside), e->span);
}

/* ---- groups */

typedef struct Touch {
    bool found;
} Touch;

static void find_bounded(const Expr *e, void *ctx)
{
    Touch *t = ctx;

    t->found |= e->kind == E_READ && is_bounded(e->tensor);
}

static void find_in_step(const Step *s, void *ctx)
{
    Touch *t = ctx;

    t->found |= s->tensor && is_bounded(s->tensor);
    expr_visit(s->value, find_bounded, ctx);
}

/* Whether what is ahead of the steps or behind them touches one. */
static bool rows_touch(const Group *gr)
{
    Touch t = {false};

    for (int i = 0; gr->merge && i < gr->merge->n_step; i++)
        find_in_step(&gr->merge->step[i], &t);
    if (gr->merge && gr->merge->fold)
        find_in_step(gr->merge->fold, &t);
    for (int i = 0; gr->pieces && i < gr->pieces->n_step; i++)
        find_in_step(&gr->pieces->step[i], &t);
    for (int i = 0; gr->factor_sum && i < gr->factor_sum->n_step; i++)
        find_in_step(&gr->factor_sum->step[i], &t);
    return t.found;
}

static bool touches(const Group *gr)
{
    Touch t = {false};

    group_visit(gr, find_in_step, &t);
    for (int i = 0; i < gr->n_arg; i++)
        t.found |= is_bounded(gr->arg[i]);
    return t.found;
}

/* gr with its reads and stores under the condition; `gr` stays. */
static Group *bound_steps(Bounder *b, const Group *gr)
{
    Arena *a = b->g->arena;
    Group *out = arena_new_of(a, Group);

    *out = *gr;
    out->step = arena_array(a, Step, gr->n_step + 1);
    for (int i = 0; i < gr->n_step; i++) {
        Step *s = &out->step[i];
        *s = gr->step[i];
        s->value = expr_rewrite(b->g, s->value, bound_read, b);
        if (s->tensor && is_bounded(s->tensor))
            s->where = bounded(b, s->tensor, s->store, s->where);
    }
    out->arg = NULL;
    out->n_arg = 0;
    out->bounded = true;
    return out;
}

static Group *bound_group(Bounder *b, const Group *gr);

static Chain *bound_chain(Bounder *b, const Chain *chain)
{
    Chain *c = arena_new_of(b->g->arena, Chain);

    *c = *chain;
    c->first = bound_steps(b, c->first);
    if (c->other)
        c->other = bound_steps(b, c->other);
    c->between = bound_steps(b, c->between);
    c->second = bound_steps(b, c->second);
    if (c->twin)
        c->twin = bound_group(b, c->twin);
    return c;
}

static Group *bound_group(Bounder *b, const Group *gr)
{
    Group *out = bound_steps(b, gr);

    for (int i = 0; i < gr->n_arg; i++)
        if (is_bounded(gr->arg[i]) && group_place_reads(gr, gr->arg[i]))
            b->why = "it says where something is stored";
    if (rows_touch(gr))
        b->why = "it belongs to the rows of a norm";
    if (gr->chain)
        out->chain = bound_chain(b, gr->chain);
    return b->why ? NULL : out;
}

/* ---- kernels for them */

static bool alike(const Family *f, const Variant *a, const Variant *b)
{
    return f->alike && f->alike(a, b);
}

/* The same variant, or the cheapest of those whose results are the same bit for
 * bit, which takes no longer: where a vector of rows has no condition, a row
 * has one. */
static int find_variant(const Choice *c, const Variant *v, double us)
{
    enum { PERCENT = 1 };
    double least = us + us * PERCENT / 100;
    int found = -1;

    for (int i = 0; i < c->n_variant; i++) {
        bool same = !memcmp(c->variant[i].knob, v->knob, sizeof v->knob);
        Cost cost;
        if (!same && !alike(c->family, &c->variant[i], v))
            continue;
        choice_cost(c, i, &cost);
        if (cost.coef_r && same)
            return i;
        if (!cost.coef_r || cost.us > least)
            continue;
        least = cost.us;
        found = i;
    }
    return found;
}

/* The same kernel with the condition: what a size of the set itself runs is as
 * quick as without, and sums are of one order. */
static bool choose_again(Selection *s, const Group *old, Group *gr)
{
    const Choice *before = choose_variant(s, (Group *)old), *c;
    const Variant *was = &before->variant[old->variant];
    Cost cost;

    choice_cost(before, old->variant, &cost);
    c = offer_family(s, gr, old->family->name);
    int found = c ? find_variant(c, was, cost.us) : -1;
    if (found < 0)
        return false;
    gr->variant = found;
    return true;
}

static void copy_all(const Group *gr, const char *why)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (is_bounded(gr->arg[i]))
            gr->arg[i]->copied = why;
}

static void find_copied(Tensor *const *t, int n)
{
    for (int i = 0; i < n; i++)
        if (t[i]->varies && !outermost(t[i]))
            t[i]->copied = "what varies is not its outermost dimension";
}

void bound_groups(Selection *s)
{
    Graph *g = s->graph;

    if (!g->run)
        return;
    find_copied(g->input, g->n_input);
    find_copied(g->output, g->n_output);
    for (int i = 0; i < s->n_group; i++) {
        Group *gr = s->group[i], *made;
        Bounder b = {.g = g};
        if (gr->when != WHEN_RUN || !touches(gr))
            continue;
        made = bound_group(&b, gr);
        if (made && !choose_again(s, gr, made)) {
            b.why = arena_printf(g->arena, "its kernel, of %s, has no such "
                                 "condition", gr->family->name);
            made = NULL;
        }
        if (made)
            *gr = *made;
        else
            copy_all(gr, b.why);
    }
}
