#include "rewrite/path_made.h"
#include "rewrite/path_order.h"

#include "rewrite/inline.h"
#include "rewrite/simplify.h"

enum { MAX_DEPTH = 16 /* of sums in sums */ };
static const double GAIN = 1.25; /* less is within the estimate's error */

/* ---- factors ------------------------------------------------------------ */

typedef struct Factors {
    const Expr *e[MOST_FACTORS];
    int n;
    bool full;
} Factors;

static void add_factor(Factors *f, const Expr *e)
{
    if (f->n == MOST_FACTORS)
        f->full = true;
    else
        f->e[f->n++] = e;
}

static void find_factors(Graph *g, const Expr *e, Factors *f)
{
    e = expr_strip(e);
    bool two = e->kind == E_BINARY && !e->arg[2] && type_is_float(e->type);

    if (two && e->fn == F_MUL) {
        find_factors(g, e->arg[0], f);
        find_factors(g, e->arg[1], f);
    } else if (two && e->fn == F_DIV && e->arg[0]->kind != E_CONST) {
        find_factors(g, e->arg[0], f);
        add_factor(f, expr_binary(g, F_DIV, expr_const(g, 1, T_F32), e->arg[1],
                                  T_F32));
    } else if (e->kind == E_UNARY && e->fn == F_NEG && type_is_float(e->type)) {
        add_factor(f, expr_const(g, -1, T_F32));
        find_factors(g, e->arg[0], f);
    } else {
        add_factor(f, e);
    }
}

typedef struct Reads {
    bool any, runs;
} Reads;

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind != E_READ)
        return;
    r->any = true;
    r->runs |= !tensor_is_constant(e->tensor);
}

static Part part_of(const Paths *p, const Expr *e)
{
    Part a = {.e = e, .vars = path_vars_of(p, e)};
    Reads r = {false, false};
    const Type type = e->kind == E_READ ? e->tensor->type : T_F32;

    expr_visit(e, note_read, &r);
    a.constant = !r.runs;
    a.half = type_bytes(expr_exact_type(e)) <= 2;
    a.bytes = r.any ? path_extents(p, a.vars) * type_bytes(type) : 0;
    return a;
}

static double factors_us(const Paths *p, const Factors *f, VarSet result,
                         VarSet guard)
{
    Part part[MOST_FACTORS];

    for (int i = 0; i < f->n; i++)
        part[i] = part_of(p, f->e[i]);
    return path_sum_us(p, part, f->n, result, guard);
}

/* What makes the tensor that e reads, f32 and for this reader alone; or NULL:
 * e stays as it is. */
static const Stmt *maker_of(const Paths *p, const Expr *e)
{
    const Tensor *t = e->tensor;

    if (e->kind != E_READ || e->in.n || t->id >= p->n_known ||
        p->uses[t->id] != 1 || t->role != ROLE_TEMP || t->type != T_F32 ||
        t->prev || t->stopped)
        return NULL;
    const Stmt *m = p->maker[t->id];
    return m && !m->where.n && !m->notes && m->when == p->s->when &&
                   (m->op == R_SUM || m->op == R_NONE) &&
                   type_is_float(m->value->type)
               ? m
               : NULL;
}

static VarSet add_var(Paths *p, const Var *v)
{
    if (p->n_var == MAX_VARS) {
        p->full = true;
        return 0;
    }
    p->var[p->n_var] = v;
    return (VarSet)1 << p->n_var++;
}

/* m's value where e reads it, its sum over variables of p's own. */
static const Expr *opened(Paths *p, const Stmt *m, const Expr *e)
{
    Graph *g = p->g;
    Subst sub[MAX_VARS];
    int n =
        invert_store(g, e->tensor, m->store, e->at, sub, MAX_VARS - m->n_red);

    if (n < 0)
        return NULL;
    for (int i = 0; i < m->n_red; i++) {
        const Var *v = idx_new_var(g->pool, m->red[i]->name, m->red[i]->extent);
        p->red |= add_var(p, v);
        sub[n++] = (Subst){m->red[i], idx_var(g->pool, v)};
    }
    return expr_subst(g, m->value, sub, n);
}

/* Adds f's factors, and those of sums that are read here alone. */
static void take(Paths *p, const Factors *f, int depth)
{
    Factors in;

    p->full |= f->full;
    for (int i = 0; i < f->n && !p->full; i++) {
        const Expr *e = f->e[i];
        const Stmt *m = depth < MAX_DEPTH ? maker_of(p, e) : NULL;
        if (m) {
            in = (Factors){.n = 0};
            find_factors(p->g, m->value, &in);
        }
        if (m && (m->op == R_SUM || in.n > 1 || in.e[0]->kind == E_READ)) {
            const Expr *value = opened(p, m, e);
            if (!value) {
                p->full = true;
                return;
            }
            in = (Factors){.n = 0};
            find_factors(p->g, value, &in);
            if (m->op == R_SUM)
                p->now_us += factors_us(p, &in, path_vars_of(p, e), 0);
            take(p, &in, depth + 1);
        } else if (p->n_part == MOST_FACTORS) {
            p->full = true;
        } else {
            p->part[p->n_part++] = part_of(p, e);
        }
    }
}
/* Those that no sum is over go behind it. */
static void leave_sum(Paths *p)
{
    int n = 0;

    for (int i = 0; i < p->n_part; i++) {
        const Part *a = &p->part[i];
        if (a->vars & p->red)
            p->part[n++] = *a;
        else
            p->outside =
                !p->outside ? a->e
                            : expr_binary(p->g, F_MUL, p->outside, a->e, T_F32);
    }
    p->n_part = n;
}

/* A sum's term, and the condition that it stands under. */
static const Expr *find_guard(Paths *p, const Expr *e)
{
    while (e->kind == E_SELECT && e->arg[2]->kind == E_CONST &&
           e->arg[2]->num == 0) {
        p->guard = !p->guard
                       ? e->arg[0]
                       : expr_binary(p->g, F_AND, p->guard, e->arg[0], T_BOOL);
        e = e->arg[1];
    }
    return e;
}

/* Whether s is a sum of factors that may be taken apart: then p has them. */
static bool open_sum(Paths *p, Stmt *s)
{
    Factors f = {.n = 0};

    if (s->op != R_SUM || s->where.n || s->notes || s->tensor->prev ||
        !type_is_float(s->value->type) || s->n_out + s->n_red > MAX_VARS)
        return false;
    p->s = s;
    p->n_var = p->n_part = 0;
    p->outside = p->guard = NULL;
    p->out = p->red = p->pinned = 0;
    p->now_us = 0;
    p->full = false;
    for (int i = 0; i < s->n_out; i++)
        p->out |= add_var(p, s->out[i]);
    for (int i = 0; i < s->n_red; i++)
        p->red |= add_var(p, s->red[i]);
    find_factors(p->g, find_guard(p, s->value), &f);
    if (f.n < 2 || f.full)
        return false;
    if (p->guard)
        p->pinned = path_vars_of(p, p->guard);
    p->now_us = factors_us(p, &f, p->out, p->pinned);
    take(p, &f, 0);
    p->ever = path_used(p, path_everything(p));
    leave_sum(p);
    return !p->full && p->n_part > 1;
}
/* ---- rewriting ---------------------------------------------------------- */

static int index_of(const Graph *g, const Stmt *s)
{
    int i = 0;

    while (g->stmt[i] != s)
        i++;
    return i;
}

static const Var **list_of(const Paths *p, VarSet set, int *n)
{
    const Var **v = arena_array(p->g->arena, const Var *, MAX_VARS);

    *n = 0;
    for (int i = 0; i < p->n_var; i++)
        if (set >> i & 1)
            v[(*n)++] = p->var[i];
    return v;
}

static Way way_of(const Paths *p, Mask of)
{
    return p->way ? p->way[of] : (Way){.us = 0};
}

static const Expr *sum_of(Paths *p, Mask of);

/* The term whose sum is that of `of`. */
static const Expr *term_of(Paths *p, Mask of)
{
    const Way w = way_of(p, of);
    const Mask rest = of & ~w.left;

    if (!w.left)
        return path_product(p, of);
    const Expr *a = sum_of(p, w.left);
    return expr_binary(p->g, F_MUL, a,
                       w.right ? sum_of(p, rest) : path_product(p, rest),
                       T_F32);
}

/* A tensor of the sum of these, ahead of s; the read of it in s. */
static const Expr *sum_of(Paths *p, Mask of)
{
    Graph *g = p->g;
    const Stmt *s = p->s;
    const Way w = way_of(p, of);
    int n;

    if (w.made)
        return path_read_made(p, of, w.made);
    const Expr *term = term_of(p, of);
    const Var **v = list_of(p, path_kept(p, of), &n);
    Stmt *c = stmt_insert(g, index_of(g, s));
    c->when = path_constant(p, of) ? WHEN_LOAD : s->when;
    c->behind = s->behind;
    c->again = s->again;
    c->path = arena_printf(g->arena, "%s_part", s->path);
    c->op = R_SUM;
    const Expr *read =
        store_values(g, c, s, term, v, n, T_F32,
                     arena_printf(g->arena, "%s_part", s->tensor->name));
    c->red = list_of(p, path_vars_of(p, term) & ~path_kept(p, of), &c->n_red);
    if (!w.left)
        path_note_made(p, of, c, v);
    return read;
}

/* s is the sum of what is left to sum. */
static void rewrite(Paths *p)
{
    Graph *g = p->g;
    Stmt *s = p->s;
    const Expr *term = term_of(p, path_everything(p));

    if (p->outside)
        term = expr_binary(g, F_MUL, term, p->outside, T_F32);
    s->value = p->guard ? expr_select(g, p->guard, term,
                                      expr_const(g, 0, T_F32), T_F32)
                        : term;
    s->red =
        list_of(p, p->red & (path_vars_of(p, s->value) | ~p->ever), &s->n_red);
    if (!s->n_red)
        s->op = R_NONE;
}

/* The two factors whose sum is least beside them, of more than are looked at
 * in all orders; false if there are none. */
static bool least_pair(const Paths *p, Mask *pair)
{
    double least = 0;

    *pair = 0;
    for (int i = 0; i < p->n_part; i++)
        for (int k = 0; k < i; k++) {
            Mask of = 1u << i | 1u << k;
            if (!path_may_store(p, of))
                continue;
            double grows = path_extents(p, path_kept(p, of)) -
                           path_extents(p, p->part[i].vars) -
                           path_extents(p, p->part[k].vars);
            if (*pair && grows >= least)
                continue;
            least = grows;
            *pair = of;
        }
    return *pair != 0;
}

/* Of many factors, some are summed in pairs. */
static bool join_pairs(Paths *p)
{
    Mask pair;

    p->way = NULL;
    while (p->n_part > ALL_ORDERS) {
        if (!least_pair(p, &pair))
            return false;
        const Expr *e = sum_of(p, pair);
        int n = 0;
        for (int i = 0; i < p->n_part; i++)
            if (!(pair >> i & 1))
                p->part[n++] = p->part[i];
        p->part[n++] = part_of(p, e);
        p->n_part = n;
    }
    return true;
}
/* ---- the pass ----------------------------------------------------------- */

static void note_use(const Expr *e, void *ctx)
{
    Paths *p = ctx;

    if (e->kind == E_READ)
        p->uses[e->tensor->id]++;
}

static void note_data(const Atom *a, void *ctx)
{
    if (a->data)
        expr_visit(a->data, note_use, ctx);
}

static void look_around(Paths *p)
{
    const Graph *g = p->g;

    p->n_known = g->n_tensor;
    p->maker = tensor_makers(g);
    p->uses = arena_array(g->arena, int, g->n_tensor + 1);
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        expr_visit(s->value, note_use, p);
        for (int d = 0; d < s->tensor->rank; d++)
            idx_visit(s->store[d], note_data, p);
        for (int k = 0; k < s->where.n; k++)
            idx_visit(s->where.cond[k].e, note_data, p);
        for (int k = 0; k < s->n_with; k++)
            p->uses[s->with[k]->id]++;
    }
}

static bool worth_it(Paths *p)
{
    return p->way[path_everything(p)].us * GAIN < p->now_us;
}

void split_paths(Graph *g, const Prices *price)
{
    Paths p = {.g = g, .price = price};
    bool any = false;

    if (!price)
        return;
    look_around(&p);
    for (int i = 0; i < g->n_stmt; i++) {
        if (!open_sum(&p, g->stmt[i]))
            continue;
        if (p.n_part > ALL_ORDERS &&
            (p.now_us < p.n_part * price->launch_us || !join_pairs(&p)))
            continue;
        path_find_ways(&p);
        if (!p.way[path_everything(&p)].left || !worth_it(&p))
            continue;
        rewrite(&p);
        i = index_of(g, p.s);
        look_around(&p);
        any = true;
    }
    if (any)
        simplify_factors(g);
}
