#include "adjoint/invert.h"

#include <stdlib.h>

enum { MAX_SETS = 64, MAX_STEPS = 64 };

typedef struct Equation {
    const Idx *e, *u; /* e = u */
    bool done;
} Equation;

typedef struct Solve {
    Graph *g;
    IdxPool *p;
    Equation *eq; int n_eq;
    const Var **open; int n_open, cap_open;
    Subst *known; int n_known, cap_known;
    Guard in;
    const Expr *when;
    int steps;
} Solve;

typedef struct Sets {
    Inverse *set; int n, cap;
} Sets;

static bool is_open(const Solve *s, const Var *v)
{
    for (int i = 0; i < s->n_open; i++)
        if (s->open[i] == v)
            return true;
    return false;
}

static bool has_open(const Solve *s, const Idx *e)
{
    for (int i = 0; i < s->n_open; i++)
        if (idx_uses(e, s->open[i]))
            return true;
    return false;
}

static bool atom_has_open(const Solve *s, const Atom *a)
{
    return has_open(s, idx_atom(s->p, a));
}

/* ---- what becomes known */

static void add_open(Solve *s, const Var *v)
{
    if (v->extent > 1)
        VEC_PUSH(s->g->arena, s->open, s->n_open, s->cap_open) = v;
}

/* v is `by` from here on, which must lie in its range. */
static void now_known(Solve *s, const Var *v, const Idx *by)
{
    Subst one = {v, by};
    int n = 0;

    for (int i = 0; i < s->n_eq; i++)
        s->eq[i].e = idx_subst(s->p, s->eq[i].e, &one, 1);
    for (int i = 0; i < s->n_known; i++)
        s->known[i].by = idx_subst(s->p, s->known[i].by, &one, 1);
    s->in = guard_subst(s->p, s->in, &one, 1);
    if (s->when)
        s->when = expr_subst(s->g, s->when, &one, 1);
    s->in = guard_within(s->p, s->in, by, 0, v->extent);
    VEC_PUSH(s->g->arena, s->known, s->n_known, s->cap_known) = one;
    for (int i = 0; i < s->n_open; i++)
        if (s->open[i] != v)
            s->open[n++] = s->open[i];
    s->n_open = n;
}

/* ---- the terms of an equation */

typedef struct Term {
    const Var *v;
    int64_t c;
} Term;

/* The open variables that stand alone in e; `hard`: others are inside of an
 * atom. */
static int open_terms(const Solve *s, const Idx *e, Term *t, int max,
                      bool *hard)
{
    int n = 0;

    *hard = false;
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind == ATOM_VAR && is_open(s, a->var) && n < max)
            t[n++] = (Term){a->var, e->term[i].c};
        else if (atom_has_open(s, a))
            *hard = true;
    }
    return n;
}

static bool within_hard(const Solve *s, const Idx *e, const Var *v)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->kind != ATOM_VAR &&
            idx_uses(idx_atom(s->p, e->term[i].atom), v))
            return true;
    return false;
}

/* v = (u - rest) / c. */
static void solve_for(Solve *s, Equation *q, Term t)
{
    const Idx *self = idx_scale(s->p, idx_var(s->p, t.v), t.c);
    const Idx *r = idx_sub(s->p, q->u, idx_sub(s->p, q->e, self));

    if (t.c < 0) {
        r = idx_scale(s->p, r, -1);
        t.c = -t.c;
    }
    if (t.c > 1) {
        s->in = guard_add(s->p, s->in, r, t.c);
        r = idx_floor(s->p, r, t.c);
    }
    q->done = true;
    now_known(s, t.v, r);
}

/* ---- rule 1 */

static bool solve_single(Solve *s)
{
    Term t[2];
    bool hard;

    for (int i = 0; i < s->n_eq; i++) {
        Equation *q = &s->eq[i];
        if (q->done || open_terms(s, q->e, t, 2, &hard) != 1 || hard ||
            (t[0].c != 1 && t[0].c != -1))
            continue;
        solve_for(s, q, t[0]);
        return true;
    }
    return false;
}

/* ---- rule 2 */

/* A floor in e whose dividend has open variables and no further atoms. */
static const Atom *find_floor(const Solve *s, const Idx *e)
{
    enum { MOST = 16 };
    Term t[MOST];
    bool hard;

    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        const Atom *in = NULL;
        if (a->kind == ATOM_VAR || a->kind == ATOM_DATA)
            continue;
        in = find_floor(s, a->a);
        if (!in && a->b)
            in = find_floor(s, a->b);
        if (in)
            return in;
        if (a->kind == ATOM_FLOOR && open_terms(s, a->a, t, MOST, &hard) &&
            !hard)
            return a;
    }
    return NULL;
}

/* The open variables of e as digits of one number, which they all make up. */
static bool join_digits(Solve *s, const Idx *e, Term *t, int n)
{
    const Idx *digits = idx_const(s->p, 0);
    const Var *v[MAX_RANK * 4];
    int64_t all = 1;

    for (int i = 0; i < n; i++) {
        digits = idx_add(s->p, digits, idx_scale(s->p, idx_var(s->p, t[i].v),
                                                 t[i].c));
        if (__builtin_mul_overflow(all, t[i].v->extent, &all))
            return false;
    }
    n = idx_radix(digits, all, v, MAX_RANK * 4);
    if (n < 2)
        return false;
    const Var *f = idx_new_var(s->p, v[0]->name, all);
    const Idx *rest = idx_var(s->p, f);
    add_open(s, f);
    for (int i = n - 1; i >= 0; i--) {
        now_known(s, v[i], i ? idx_mod(s->p, rest, v[i]->extent) : rest);
        rest = idx_floor(s->p, rest, v[i]->extent);
    }
    (void)e;
    return true;
}

/* The open variable of unit coefficient, of the largest extent that is: the
 * others are summed over. */
static int unit_term(const Term *t, int n)
{
    int best = -1;

    for (int i = 0; i < n; i++)
        if ((t[i].c == 1 || t[i].c == -1) &&
            (best < 0 || t[i].v->extent > t[best].v->extent))
            best = i;
    return best;
}

static bool split_floor(Solve *s, const Atom *a)
{
    enum { MOST = 16 };
    Term t[MOST];
    bool hard;
    int n = open_terms(s, a->a, t, MOST, &hard);

    if (n > 1 && join_digits(s, a->a, t, n))
        return true;
    int i = unit_term(t, n);
    if (i < 0 || a->lo <= -IDX_INF || a->hi >= IDX_INF)
        return false;
    const Var *q = idx_new_var(s->p, t[i].v->name, a->hi - a->lo + 1);
    const Var *r = idx_new_var(s->p, t[i].v->name, a->d);
    const Idx *self = idx_scale(s->p, idx_var(s->p, t[i].v), t[i].c);
    const Idx *is = idx_scale(s->p, idx_addc(s->p, idx_var(s->p, q), a->lo),
                              a->d);
    is = idx_add(s->p, is, idx_var(s->p, r));
    is = idx_sub(s->p, is, idx_sub(s->p, a->a, self));
    add_open(s, q);
    add_open(s, r);
    now_known(s, t[i].v, idx_scale(s->p, is, t[i].c));
    return true;
}

static bool solve_floor(Solve *s)
{
    for (int i = 0; i < s->n_eq; i++) {
        const Atom *a = s->eq[i].done ? NULL : find_floor(s, s->eq[i].e);
        if (a && split_floor(s, a))
            return true;
    }
    return false;
}

/* ---- rule 3 */

static void sort(Term *t, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j && llabs(t[j].c) < llabs(t[j - 1].c); j--) {
            Term x = t[j];
            t[j] = t[j - 1];
            t[j - 1] = x;
        }
}

/* Do the coefficients grow beyond what the smaller ones reach? */
static bool are_digits(const Term *t, int n)
{
    int64_t below = 0, more;

    for (int i = 0; i < n; i++)
        if (llabs(t[i].c) <= below ||
            __builtin_mul_overflow(llabs(t[i].c), t[i].v->extent - 1, &more) ||
            __builtin_add_overflow(below, more, &below))
            return false;
    return true;
}

static void solve_digits(Solve *s, Equation *q, Term *t, int n)
{
    const Idx *r = idx_sub(s->p, q->u, q->e);

    /* r = u less all that is no digit; negative ones count from their end */
    for (int i = 0; i < n; i++) {
        r = idx_add(s->p, r, idx_scale(s->p, idx_var(s->p, t[i].v), t[i].c));
        if (t[i].c < 0)
            r = idx_addc(s->p, r, -t[i].c * (t[i].v->extent - 1));
    }
    q->done = true;
    for (int i = n - 1; i >= 0; i--) {
        if (!i && llabs(t[0].c) > 1)
            s->in = guard_add(s->p, s->in, r, llabs(t[0].c));
        const Idx *d = idx_floor(s->p, r, llabs(t[i].c));
        r = idx_mod(s->p, r, llabs(t[i].c));
        if (t[i].c < 0)
            d = idx_addc(s->p, idx_scale(s->p, d, -1), t[i].v->extent - 1);
        now_known(s, t[i].v, d);
    }
}

static bool solve_radix(Solve *s)
{
    enum { MOST = 16 };
    Term t[MOST];
    bool hard;

    for (int i = 0; i < s->n_eq; i++) {
        Equation *q = &s->eq[i];
        int n = q->done ? 0 : open_terms(s, q->e, t, MOST, &hard);
        if (!n || n == MOST || hard)
            continue;
        sort(t, n);
        if (!are_digits(t, n))
            continue;
        solve_digits(s, q, t, n);
        return true;
    }
    return false;
}

/* ---- rule 4 */

static bool solve_largest(Solve *s)
{
    enum { MOST = 16 };
    Equation *best = NULL;
    Term t[MOST], which = {0};
    bool hard;

    for (int i = 0; i < s->n_eq; i++) {
        Equation *q = &s->eq[i];
        int n = q->done ? 0 : open_terms(s, q->e, t, MOST, &hard);
        for (int k = 0; k < n; k++) {
            if (within_hard(s, q->e, t[k].v) ||
                (best && t[k].v->extent <= which.v->extent))
                continue;
            best = q;
            which = t[k];
        }
    }
    if (!best)
        return false;
    solve_for(s, best, which);
    return true;
}

/* ---- rule 5 */

static const Atom *find_extreme(const Solve *s, const Idx *e)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        const Atom *in = a->a ? find_extreme(s, a->a) : NULL;
        if (!in && a->b)
            in = find_extreme(s, a->b);
        if (in)
            return in;
        if ((a->kind == ATOM_MIN || a->kind == ATOM_MAX) &&
            atom_has_open(s, a) && !idx_has_data(idx_atom(s->p, a)))
            return a;
    }
    return NULL;
}

/* e with the atom `a` replaced by x. */
static const Idx *replace_atom(IdxPool *p, const Idx *e, const Atom *a,
                               const Idx *x)
{
    const Idx *out = idx_const(p, e->k);

    for (int i = 0; i < e->n; i++) {
        const Atom *t = e->term[i].atom;
        const Idx *is = idx_atom(p, t);
        if (t == a)
            is = x;
        else if (t->kind == ATOM_FLOOR)
            is = idx_floor(p, replace_atom(p, t->a, a, x), t->d);
        else if (t->kind == ATOM_MIN)
            is = idx_min(p, replace_atom(p, t->a, a, x),
                         replace_atom(p, t->b, a, x));
        else if (t->kind == ATOM_MAX)
            is = idx_max(p, replace_atom(p, t->a, a, x),
                         replace_atom(p, t->b, a, x));
        out = idx_add(p, out, idx_scale(p, is, e->term[i].c));
    }
    return out;
}

static Solve copy_of(const Solve *s)
{
    Solve c = *s;
    Arena *a = s->g->arena;

    c.eq = arena_copy(a, s->eq, s->n_eq, s->n_eq + 1, sizeof *c.eq);
    c.open = arena_copy(a, s->open, s->n_open, s->n_open, sizeof *c.open);
    c.cap_open = s->n_open;
    c.known = arena_copy(a, s->known, s->n_known, s->n_known,
                         sizeof *c.known);
    c.cap_known = s->n_known;
    return c;
}

static void run(Solve *s, Sets *out);

/* The points where a's first argument is taken, or its second. */
static void run_side(const Solve *s, const Atom *a, bool first, Sets *out)
{
    Solve c = copy_of(s);
    /* min: a <= b; max: a >= b; the other side where it does not hold */
    const Idx *d = a->kind == ATOM_MIN ? idx_sub(c.p, a->b, a->a)
                                       : idx_sub(c.p, a->a, a->b);

    if (!first)
        d = idx_addc(c.p, idx_scale(c.p, d, -1), -1);
    c.in = guard_add(c.p, c.in, d, 0);
    for (int i = 0; i < c.n_eq; i++)
        c.eq[i].e = replace_atom(c.p, c.eq[i].e, a, first ? a->a : a->b);
    run(&c, out);
}

static bool solve_extreme(Solve *s, Sets *out)
{
    const Atom *a = NULL;

    for (int i = 0; i < s->n_eq && !a; i++)
        if (!s->eq[i].done)
            a = find_extreme(s, s->eq[i].e);
    if (!a || out->n >= MAX_SETS / 2)
        return false;
    run_side(s, a, true, out);
    run_side(s, a, false, out);
    return true;
}

/* ---- rule 6, and what is left */

static void add_condition(Solve *s, const Equation *q)
{
    Graph *g = s->g;

    if (!idx_has_data(q->e)) {
        const Idx *d = idx_sub(s->p, q->u, q->e);
        s->in = guard_add(s->p, s->in, d, 0);
        s->in = guard_add(s->p, s->in, idx_scale(s->p, d, -1), 0);
        return;
    }
    const Expr *same = expr_binary(g, F_EQ, expr_index(g, q->e),
                                   expr_index(g, q->u), T_BOOL);
    s->when = s->when ? expr_binary(g, F_AND, s->when, same, T_BOOL) : same;
}

static void finish(Solve *s, Sets *out)
{
    for (int i = 0; i < s->n_eq; i++)
        if (!s->eq[i].done)
            add_condition(s, &s->eq[i]);
    if (guard_truth(s->in) == NEVER ||
        (s->when && s->when->kind == E_CONST && s->when->num == 0))
        return;
    if (s->when && s->when->kind == E_CONST)
        s->when = NULL;
    VEC_PUSH(s->g->arena, out->set, out->n, out->cap) =
        (Inverse){s->known, s->n_known, s->open, s->n_open, s->in, s->when};
}

static void run(Solve *s, Sets *out)
{
    while (s->steps++ < MAX_STEPS)
        if (!solve_single(s) && !solve_floor(s) && !solve_radix(s)) {
            if (solve_extreme(s, out))
                return;
            if (!solve_largest(s))
                break;
        }
    finish(s, out);
}

const Inverse *invert(Graph *g, const Var *const *var, int n,
                      const Idx *const *at, const Idx *const *u, int rank,
                      int *count)
{
    Solve s = {.g = g, .p = g->pool};
    Sets out = {0};

    s.eq = arena_array(g->arena, Equation, rank + 1);
    for (int d = 0; d < rank; d++)
        s.eq[s.n_eq++] = (Equation){at[d], u[d], false};
    for (int i = 0; i < n; i++)
        add_open(&s, var[i]);
    run(&s, &out);
    *count = out.n;
    return out.set;
}
