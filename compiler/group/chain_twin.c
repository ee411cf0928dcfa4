#include "group/chain.h"

#include "group/clash.h"
#include "group/split.h"

#include <string.h>

/* Two chains whose scores are the same become one, with two results. */

enum { MAX_VARS = 24, MAX_READS = 4 };

typedef struct Reads {
    const Expr *e[MAX_READS];
    int n;
} Reads;

typedef struct Match {
    Graph *g;
    const Group *a, *b;
    Reads of_a, of_b;
    Subst s[MAX_VARS];
    int n;
} Match;

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind == E_READ && r->n < MAX_READS)
        r->e[r->n++] = e;
}

static void find_reads(const Group *first, Reads *r)
{
    for (int i = 0; i < first->n_step; i++)
        if (first->step[i].op != R_NONE)
            expr_visit(first->step[i].value, note_read, r);
}

/* Whether factors go along v as the other's do along w. */
static bool alike(const Match *m, const Var *v, const Var *w, bool turned)
{
    if (v->extent != w->extent || m->of_a.n != m->of_b.n)
        return false;
    for (int i = 0; i < m->of_a.n; i++) {
        const Expr *x = m->of_a.e[i];
        const Expr *y = m->of_b.e[turned ? m->of_b.n - 1 - i : i];
        if (x->tensor != y->tensor)
            return false;
        for (int d = 0; d < x->tensor->rank; d++)
            if (idx_coef(x->at[d], v) != idx_coef(y->at[d], w))
                return false;
    }
    return true;
}

static bool taken(const Match *m, const Var *w)
{
    for (int i = 0; i < m->n; i++)
        if (idx_is_var(m->s[i].by) == w)
            return true;
    return false;
}

static bool is_known(const Match *m, const Var *v)
{
    for (int i = 0; i < m->n; i++)
        if (m->s[i].var == v)
            return true;
    return false;
}

static bool add(Match *m, const Var *v, const Var *w)
{
    if (m->n == MAX_VARS)
        return false;
    m->s[m->n++] = (Subst){v, idx_var(m->g->pool, w)};
    return true;
}

static bool match_list(Match *m, const Var *const *a, const Var *const *b,
                       int n, bool turned)
{
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < n && (taken(m, b[k]) || !alike(m, a[i], b[k], turned)))
            k++;
        if (k == n || !add(m, a[i], b[k]))
            return false;
    }
    return true;
}

/* What the second products have beyond the scores' rows, in order. */
static bool match_rest(Match *m)
{
    const Group *a = m->a, *b = m->b;
    int k = 0;

    for (int i = 0; i < a->n_rows; i++) {
        if (is_known(m, a->rows[i]))
            continue;
        while (k < b->n_rows && taken(m, b->rows[k]))
            k++;
        if (k == b->n_rows || b->rows[k]->extent != a->rows[i]->extent ||
            !add(m, a->rows[i], b->rows[k]))
            return false;
    }
    return true;
}

static const Var *renamed(const Match *m, const Var *v)
{
    for (int i = 0; i < m->n; i++)
        if (m->s[i].var == v)
            return idx_is_var(m->s[i].by);
    return v;
}

static const Var **renamed_list(const Match *m, const Var *const *v, int n)
{
    const Var **to = arena_array(m->g->arena, const Var *, n + 1);

    for (int i = 0; i < n; i++)
        to[i] = renamed(m, v[i]);
    return to;
}

static Group *in_other_vars(const Match *m, const Group *gr)
{
    Group *r = group_copy(m->g, gr);

    group_subst(m->g, r, m->s, m->n);
    r->rows = renamed_list(m, gr->rows, gr->n_rows);
    r->cols = renamed_list(m, gr->cols, gr->n_cols);
    return r;
}

/* The chain a in b's variables. */
static Group *in_vars(const Match *m)
{
    Group *r = in_other_vars(m, m->a);
    Chain *c = arena_new_of(m->g->arena, Chain);

    *c = *m->a->chain;
    c->first = in_other_vars(m, c->first);
    c->between = in_other_vars(m, c->between);
    c->second = in_other_vars(m, c->second);
    r->chain = c;
    return r;
}

static bool same_value(const Expr *a, const Expr *b)
{
    bool product = a->kind == E_BINARY && a->fn == F_MUL &&
                   b->kind == E_BINARY && b->fn == F_MUL;

    return expr_equal(a, b) || (product && expr_equal(a->arg[0], b->arg[1]) &&
                                expr_equal(a->arg[1], b->arg[0]));
}

/* The first's step that is the sum. */
static int sum_of(const Group *first)
{
    int i = 0;

    while (first->step[i].op == R_NONE)
        i++;
    return i;
}

/* The same sums, whatever becomes of them; and the same columns of scores. */
static bool same_scores(const Chain *a, const Chain *b)
{
    int sum = sum_of(a->first);

    if (sum_of(b->first) != sum || a->between->n_cols != b->between->n_cols)
        return false;
    for (int i = 0; i <= sum; i++)
        if (a->first->step[i].op != b->first->step[i].op ||
            !same_value(a->first->step[i].value, b->first->step[i].value))
            return false;
    for (int i = 0; i < a->between->n_cols; i++)
        if (a->between->cols[i] != b->between->cols[i])
            return false;
    return true;
}

/* a in b's variables, if the scores are the same; or NULL. */
static Group *match(Graph *g, const Group *a, const Group *b)
{
    const Group *x = a->chain->first, *y = b->chain->first;

    if (x->n_rows != y->n_rows || x->n_cols != y->n_cols ||
        a->n_rows != b->n_rows)
        return NULL;
    for (int turned = 0; turned < 2; turned++) {
        Match m = {.g = g, .a = a, .b = b};
        find_reads(x, &m.of_a);
        find_reads(y, &m.of_b);
        if (!match_list(&m, x->rows, y->rows, x->n_rows, turned) ||
            !match_list(&m, x->cols, y->cols, x->n_cols, turned) ||
            !match_rest(&m))
            continue;
        Group *r = in_vars(&m);
        if (same_scores(r->chain, b->chain))
            return r;
    }
    return NULL;
}

typedef struct Places {
    int own, at, to; /* a's steps of the sums; where b has them; the rest's
                        place */
} Places;

static const Expr *replace(Graph *g, const Expr *e, void *ctx)
{
    const Places *p = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    int by = e->local < p->own ? p->at : p->to - p->own;
    return expr_local(g, e->local + by, e->type);
}

static bool reduces(const Chain *c)
{
    for (int i = 0; i < c->between->n_step; i++)
        if (c->between->step[i].op != R_NONE)
            return true;
    return false;
}

/* Whether it may be the one whose factor takes no other products. */
static bool may_be_twin(const Group *gr)
{
    return !gr->chain->other && chain_parts(gr->chain) == 1;
}

Group *chain_twins(Graph *g, const Group *a, const Group *b)
{
    if (!a->chain || !b->chain || a->chain->twin || b->chain->twin ||
        a->when != b->when || reduces(a->chain) || reduces(b->chain) ||
        group_follows(a, b) || group_follows(b, a))
        return NULL;
    if (!may_be_twin(a)) {
        const Group *x = a;
        a = b;
        b = x;
    }
    /* the other's scores have a place beside them */
    bool may = may_be_twin(a) && b->chain->other;
    Group *twin = may ? match(g, a, b) : NULL;
    if (!twin)
        return NULL;
    Group *r = arena_new_of(g->arena, Group);
    Chain *c = arena_new_of(g->arena, Chain);
    int own = sum_of(twin->chain->first) + 1;
    Places p = {own, b->chain->n_first - b->chain->first->n_step, b->n_step};
    *c = *b->chain;
    c->twin = twin;
    *r = (Group){.when = b->when, .rows = b->rows, .n_rows = b->n_rows,
                 .cols = b->cols, .n_cols = b->n_cols, .chain = c,
                 .n_step = b->n_step + twin->n_step - own,
                 .apart_us = a->apart_us + b->apart_us};
    r->step = arena_array(g->arena, Step, r->n_step);
    memcpy(r->step, b->step, sizeof(Step) * (size_t)b->n_step);
    for (int i = own; i < twin->n_step; i++) {
        Step s = twin->step[i];
        s.value = expr_rewrite(g, s.value, replace, &p);
        r->step[b->n_step + i - own] = s;
    }
    group_add_stmts(g, r, a);
    group_add_stmts(g, r, b);
    return group_too_long(r, &(Group){0}) || in_place_clash(r) ? NULL : r;
}
