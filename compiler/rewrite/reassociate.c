#include "rewrite/reassociate.h"

#include "rewrite/inline.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_VARS = 24, MAX_ATOMS = 12, MAX_TERMS = 16, MAX_OPS = 400 };

/* A sum that was regrouped: what it was of, in its own variables. */
typedef struct Known {
    const Stmt *s;
    const Expr *value;
    const Var *const *red;
    int n_red;
} Known;

typedef struct Regroup {
    Graph *g;
    Behind behind;
    Known *known; int n_known, cap_known;
    const Tensor **touched; int n_touched, cap_touched; /* made of those */
    const Tensor **zero; int n_zero, cap_zero;
} Regroup;

/* ---- polynomials of what a value is made of --------------------------- */

/* c times powers of expressions. */
typedef struct Term {
    double c;
    const Expr *atom[MAX_ATOMS];
    int power[MAX_ATOMS], n;
} Term;

typedef struct Poly {
    Term term[MAX_TERMS];
    int n;
    bool full;
} Poly;

static void times_atom(Term *t, const Expr *e, int power, bool *full)
{
    for (int i = 0; i < t->n; i++) {
        if (!expr_equal(t->atom[i], e))
            continue;
        t->power[i] += power;
        if (!t->power[i]) {
            t->atom[i] = t->atom[--t->n];
            t->power[i] = t->power[t->n];
        }
        return;
    }
    if (t->n == MAX_ATOMS) {
        *full = true;
        return;
    }
    t->atom[t->n] = e;
    t->power[t->n++] = power;
}

static Term times(const Term *a, const Term *b, int power, bool *full)
{
    Term t = *a;

    t.c = power > 0 ? a->c * b->c : a->c / b->c;
    for (int i = 0; i < b->n; i++)
        times_atom(&t, b->atom[i], power * b->power[i], full);
    return t;
}

static bool same_atoms(const Term *a, const Term *b)
{
    bool full = false;
    Term t = times(a, b, -1, &full);

    return !full && t.n == 0;
}

static void add_term(Poly *p, const Term *t)
{
    for (int i = 0; i < p->n; i++) {
        if (!same_atoms(&p->term[i], t))
            continue;
        double old = p->term[i].c;
        p->term[i].c += t->c;
        if (fabs(p->term[i].c) < 1e-12 * fabs(old))
            p->term[i] = p->term[--p->n];
        return;
    }
    if (p->n == MAX_TERMS)
        p->full = true;
    else
        p->term[p->n++] = *t;
}

static void expand(const Expr *e, Poly *p);

static void expand_product(const Expr *e, Poly *p)
{
    Poly a, b;
    int power = e->fn == F_MUL ? 1 : -1;

    expand(e->arg[0], &a);
    expand(e->arg[1], &b);
    p->full = a.full || b.full;
    if (power < 0 && b.n != 1) { /* by a sum */
        Term whole = {.c = 1};
        times_atom(&whole, e->arg[1], 1, &p->full);
        b.term[0] = whole;
        b.n = 1;
    }
    for (int i = 0; i < a.n && !p->full; i++)
        for (int k = 0; k < b.n && !p->full; k++) {
            Term t = times(&a.term[i], &b.term[k], power, &p->full);
            add_term(p, &t);
        }
}

static void expand(const Expr *e, Poly *p)
{
    Term one = {.c = 1};

    *p = (Poly){.n = 0};
    while (e->kind == E_CAST && type_is_float(e->type) &&
           type_is_float(e->arg[0]->type))
        e = e->arg[0];
    if (e->kind == E_CONST) {
        one.c = e->num;
        add_term(p, &one);
    } else if (e->kind == E_UNARY && e->fn == F_NEG) {
        expand(e->arg[0], p);
        for (int i = 0; i < p->n; i++)
            p->term[i].c = -p->term[i].c;
    } else if (e->kind == E_BINARY && !e->arg[2] &&
               (e->fn == F_ADD || e->fn == F_SUB)) {
        Poly b;
        expand(e->arg[0], p);
        expand(e->arg[1], &b);
        p->full |= b.full;
        for (int i = 0; i < b.n && !p->full; i++) {
            b.term[i].c *= e->fn == F_ADD ? 1 : -1;
            add_term(p, &b.term[i]);
        }
    } else if (e->kind == E_BINARY && !e->arg[2] &&
               (e->fn == F_MUL || e->fn == F_DIV)) {
        expand_product(e, p);
    } else {
        times_atom(&one, e, 1, &p->full);
        add_term(p, &one);
    }
}

/* ---- what values are made of ------------------------------------------ */

/* Without roundings; NULL if that is too long. */
static const Expr *resolve(const Regroup *r, const Expr *e)
{
    return behind_reads(r->g, &r->behind, e);
}

static bool is_temporary(const Stmt *s)
{
    return !s->where.n && !s->tensor->prev && s->tensor->role == ROLE_TEMP &&
           s->when == WHEN_RUN;
}

static bool is_plain_store(const Stmt *s)
{
    if (!is_temporary(s))
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]))
            return false;
    return true;
}

/* The statement that sums products of which e is one, behind copies: it, and
 * its factors in e's variables. */
static const Stmt *find_product(const Regroup *r, const Expr *e, const Expr **a,
                                const Expr **b)
{
    Subst sub[MAX_VARS];

    e = resolve(r, e);
    if (!e || e->kind != E_READ || e->in.n)
        return NULL;
    const Stmt *s = behind_tensor(&r->behind, e->tensor);
    if (!s || s->n_red != 1 || !is_plain_store(s) || !walk_product(s, a, b) ||
        (*a)->in.n || (*b)->in.n)
        return NULL;
    int n = invert_store(r->g, e->tensor, s->store, e->at, sub, MAX_VARS);
    if (n < 0)
        return NULL;
    *a = expr_subst(r->g, *a, sub, n);
    *b = expr_subst(r->g, *b, sub, n);
    return s;
}

/* ---- the other order --------------------------------------------------- */

typedef struct Match {
    const Stmt *s;       /* the sum over j */
    const Expr *a, *b, *c; /* a[i, e], b[j, e], c[i, j] of it */
    const Expr *d;         /* what a and b make */
    const Var *e;
    const Expr *t;       /* t[i, e], in its variables */
    const Expr *by;      /* sum(j) c b = t * by */
} Match;

static const Expr *powers(Graph *g, const Term *t, int sign)
{
    const Expr *e = expr_const(g, sign > 0 ? t->c : 1 / t->c, T_F32);

    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < abs(t->power[i]); k++)
            e = expr_binary(g, sign * t->power[i] > 0 ? F_MUL : F_DIV, e,
                            t->atom[i], T_F32);
    return e;
}

/* p of the other statement, in m's variables, is c times a value of the row. */
static bool same_weights(const Regroup *r, Match *m, const Expr *p)
{
    Poly x, y;
    bool full = false;
    const Expr *of = resolve(r, p), *c = resolve(r, m->c);

    if (!of || !c)
        return false;
    expand(of, &x);
    expand(c, &y);
    if (x.full || y.full || x.n != 1 || y.n != 1)
        return false;
    Term ratio = times(&x.term[0], &y.term[0], -1, &full);
    for (int i = 0; i < ratio.n; i++)
        full |= expr_uses(ratio.atom[i], m->s->red[0]);
    if (full || !isfinite(ratio.c) || ratio.c == 0)
        return false;
    m->by = powers(r->g, &ratio, -1);
    return true;
}

/* Where t's variables are in m's, by c's and p's places. */
static int map_vars(const Regroup *r, const Match *m, const Stmt *t,
                    const Expr *p, Subst *sub)
{
    int n = 0;

    if (p->tensor->rank != m->c->tensor->rank)
        return -1;
    for (int d = 0; d < p->tensor->rank; d++) {
        const Var *v = idx_is_var(p->at[d]);
        if (!v || v->extent != p->tensor->dim[d] ||
            p->tensor->dim[d] != m->c->tensor->dim[d])
            return -1;
        sub[n++] = (Subst){v, m->c->at[d]};
    }
    for (int i = 0; i < t->n_out; i++) {
        bool known = false;
        for (int k = 0; k < p->tensor->rank; k++)
            known |= sub[k].var == t->out[i];
        if (known)
            continue;
        if (n != p->tensor->rank || t->out[i]->extent != m->e->extent)
            return -1;
        sub[n++] = (Subst){t->out[i], idx_var(r->g->pool, m->e)};
    }
    return n == p->tensor->rank + 1 ? n : -1;
}

/* Whether t is sum(j) p b, with p as c. */
static bool sums_same(const Regroup *r, Match *m, const Stmt *t)
{
    const Expr *f[2];
    Subst sub[MAX_VARS];

    if (t->n_red != 1 || !is_temporary(t) || t->tensor->type != T_F32 ||
        t->red[0]->extent != m->s->red[0]->extent ||
        !walk_product(t, &f[0], &f[1]) || f[0]->in.n || f[1]->in.n)
        return false;
    for (int i = 0; i < 2; i++) {
        const Expr *p = f[i], *v = f[1 - i];
        if (v->tensor != m->b->tensor || p->tensor->rank > MAX_VARS - 1)
            continue;
        int n = map_vars(r, m, t, p, sub);
        if (n < 0 || !walk_same_place(expr_subst(r->g, v, sub, n), m->b) ||
            !same_weights(r, m, expr_subst(r->g, p, sub, n)))
            continue;
        m->t = expr_subst(r->g,
                          expr_read(r->g, t->tensor, t->store, (Guard){0},
                                    NULL), sub, n);
        return true;
    }
    return false;
}

/* s = sum(j) x y, as the header has it. */
static bool find_match(const Regroup *r, int at, Match *m)
{
    const Stmt *s = r->g->stmt[at];
    const Expr *f[2];

    if (s->n_red != 1 || !is_plain_store(s) || !walk_product(s, &f[0], &f[1]) ||
        f[0]->in.n || f[1]->in.n)
        return false;
    for (int i = 0; i < 2; i++) {
        const Stmt *by = find_product(r, f[i], &m->a, &m->b);
        if (!by || by->red[0]->extent > s->red[0]->extent)
            continue;
        if (expr_uses(m->a, s->red[0])) {
            const Expr *other = m->a;
            m->a = m->b;
            m->b = other;
        }
        m->s = s;
        m->c = f[1 - i];
        m->d = f[i];
        m->e = by->red[0];
        if (expr_uses(m->a, s->red[0]) || !expr_uses(m->b, s->red[0]))
            continue;
        for (int k = 0; k < at; k++)
            if (r->g->stmt[k]->op == R_SUM && sums_same(r, m, r->g->stmt[k]))
                return true;
    }
    return false;
}

static void touch(Regroup *r, const Tensor *t)
{
    VEC_PUSH(r->g->arena, r->touched, r->n_touched, r->cap_touched) = t;
}

/* Everybody reads what the sum is over as it was made: what is summed in the
 * other order has not been rounded. */
static void read_unrounded(Regroup *r, const Expr *f)
{
    Graph *g = r->g;
    const Stmt *copy;

    while (f->kind == E_READ && (copy = behind_tensor(&r->behind, f->tensor)) &&
           copy->op == R_NONE) {
        for (int i = 0; i < g->n_stmt; i++) {
            Stmt *s = g->stmt[i];
            const Expr *e = s == copy ? NULL
                            : inline_reads(g, s->value, copy->tensor,
                                           copy->value, copy->store);
            s->value = e ? e : s->value;
        }
        f = copy->value;
        while (f->kind == E_CAST)
            f = f->arg[0];
    }
}

static void regroup(Regroup *r, int at, const Match *m)
{
    Graph *g = r->g;
    read_unrounded(r, m->d);
    Stmt *s = g->stmt[at], *n = stmt_insert(g, at);
    int id = n->id;

    VEC_PUSH(g->arena, r->known, r->n_known, r->cap_known) =
        (Known){s, s->value, (const Var *const *)s->red, s->n_red};
    *n = *s;
    n->id = id;
    n->tensor = graph_tensor(g, arena_printf(g->arena, "%s_sum",
                                             s->tensor->name),
                             T_F32, s->tensor->rank, s->tensor->dim);
    n->tensor->path = s->tensor->path;
    n->tensor->when = s->tensor->when;
    n->tensor->at = s->tensor->at;
    n->red = arena_array(g->arena, const Var *, 1);
    n->red[0] = m->e;
    n->value = expr_binary(g, F_MUL, m->a, m->t, T_F32);
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
    s->value = expr_binary(
        g, F_MUL, expr_read(g, n->tensor, s->store, (Guard){0}, NULL), m->by,
        T_F32);
    touch(r, s->tensor);
    r->behind.by = tensor_makers(g);
    r->behind.n_by = g->n_tensor;
}

/* ---- sums that cancel --------------------------------------------------- */

typedef struct Touches {
    const Tensor *const *list;
    int n;
    bool found;
} Touches;

static void note_touched(const Expr *e, void *ctx)
{
    Touches *t = ctx;

    for (int i = 0; e->kind == E_READ && i < t->n && !t->found; i++)
        t->found = t->list[i] == e->tensor;
}

static bool reads_one(const Expr *e, const Tensor **list, int n)
{
    Touches t = {(const Tensor *const *)list, n, false};

    if (n)
        expr_visit(e, note_touched, &t);
    return t.found;
}

/* Its value as a sum at s's points: the term it adds up, and what it is. */
static bool known_sum(const Regroup *r, const Stmt *s, const Stmt *sum,
                      const Expr *value, const Var *const *red, int n_red,
                      Term *term, Poly *is)
{
    Subst sub[MAX_VARS];
    Poly p;
    int n = 0;

    if (n_red != s->n_red || sum->n_out != s->n_out || !is_plain_store(sum) ||
        s->n_out + n_red > MAX_VARS)
        return false;
    for (int i = 0; i < s->n_out; i++, n++) {
        if (sum->out[i]->extent != s->out[i]->extent)
            return false;
        sub[n] = (Subst){sum->out[i], idx_var(r->g->pool, s->out[i])};
    }
    for (int i = 0; i < n_red; i++, n++) {
        if (red[i]->extent != s->red[i]->extent)
            return false;
        sub[n] = (Subst){red[i], idx_var(r->g->pool, s->red[i])};
    }
    const Expr *e = resolve(r, expr_subst(r->g, value, sub, n));
    const Expr *read = expr_subst(
        r->g, expr_read(r->g, sum->tensor, sum->store, (Guard){0}, NULL), sub,
        n);
    read = resolve(r, read);
    if (!e || !read)
        return false;
    expand(e, &p);
    expand(read, is);
    *term = p.term[0];
    return !p.full && p.n == 1 && !is->full;
}

static bool sums_over(const Stmt *s, const Expr *e)
{
    for (int i = 0; i < s->n_red; i++)
        if (expr_uses(e, s->red[i]))
            return true;
    return false;
}

/* t summed over s's sum by sums that are there, added to p. */
static bool add_summed(const Regroup *r, const Stmt *s, int at, const Term *t,
                       Poly *p)
{
    for (int i = 0; i < at + r->n_known; i++) {
        const Known *k = i < at ? NULL : &r->known[i - at];
        const Stmt *sum = k ? k->s : r->g->stmt[i];
        bool full = false;
        Term of;
        Poly is;
        if ((!k && (sum->op != R_SUM || sum->n_red != s->n_red)) ||
            !known_sum(r, s, sum, k ? k->value : sum->value,
                       k ? k->red : (const Var *const *)sum->red,
                       k ? k->n_red : sum->n_red, &of, &is))
            continue;
        Term rest = times(t, &of, -1, &full);
        for (int a = 0; a < rest.n; a++)
            full |= sums_over(s, rest.atom[a]);
        if (full)
            continue;
        for (int a = 0; a < is.n; a++) {
            Term x = times(&rest, &is.term[a], 1, &full);
            add_term(p, &x);
        }
        return !full && !p->full;
    }
    return false;
}

static bool cancels(const Regroup *r, const Stmt *s, int at)
{
    const Expr *e = is_plain_store(s) ? resolve(r, s->value) : NULL;
    Poly terms, sum = {.n = 0};

    if (!e)
        return false;
    expand(e, &terms);
    for (int i = 0; i < terms.n && !terms.full; i++)
        if (!add_summed(r, s, at, &terms.term[i], &sum))
            return false;
    return !terms.full && terms.n > 0 && sum.n == 0;
}

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

/* What a value is where tensors are 0: products with it, too. */
static const Expr *without(Graph *g, const Expr *e, void *ctx)
{
    const Regroup *r = ctx;

    if (e->kind == E_READ && reads_one(e, r->zero, r->n_zero))
        return expr_const(g, 0, e->type);
    if (e->kind == E_BINARY && !e->arg[2] && e->fn == F_MUL &&
        (is_zero(e->arg[0]) || is_zero(e->arg[1])))
        return expr_const(g, 0, e->type);
    if (e->kind == E_SELECT && expr_equal(e->arg[1], e->arg[2]))
        return e->arg[1];
    return e->kind == E_BINARY && !e->arg[2] && e->fn == F_ADD
               ? expr_binary(g, F_ADD, e->arg[0], e->arg[1], e->type) : NULL;
}

static void follow(Regroup *r, int at)
{
    Graph *g = r->g;
    Stmt *s = g->stmt[at];

    if (reads_one(s->value, r->zero, r->n_zero))
        s->value = expr_rewrite(g, s->value, without, r);
    if (s->op == R_SUM && reads_one(s->value, r->touched, r->n_touched) &&
        cancels(r, s, at)) {
        s->op = R_NONE;
        s->red = NULL;
        s->n_red = 0;
        s->value = expr_const(g, 0, s->tensor->type);
    }
    if (s->op == R_NONE && is_zero(s->value) && is_plain_store(s))
        VEC_PUSH(g->arena, r->zero, r->n_zero, r->cap_zero) = s->tensor;
    if (s->op == R_NONE && reads_one(s->value, r->touched, r->n_touched))
        touch(r, s->tensor);
}

bool reassociate(Graph *g)
{
    Regroup r = {.g = g,
                 .behind = {tensor_makers(g), g->n_tensor, .max_ops = MAX_OPS}};
    Match m;

    for (int i = 0; i < g->n_stmt; i++) {
        if (g->stmt[i]->op == R_SUM && find_match(&r, i, &m))
            regroup(&r, i++, &m);
        else if (r.n_known)
            follow(&r, i);
    }
    if (r.n_known)
        simplify_dead(g);
    return r.n_known > 0;
}
