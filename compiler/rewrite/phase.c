#include "rewrite/phase.h"

#include "rewrite/normalise.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

/* A congruence c p + d r + k = 0 (mod m), and what the header makes of it. */
typedef struct Phase {
    Graph *g;
    Stmt *s;
    const Var *p, *r; /* r NULL: d is 0 */
    int64_t c, d, k, m;
    int64_t each;     /* m': r's residues */
    int64_t phases;   /* those that it has */
    int64_t a, b;     /* p = m u + a f + b */
    const Var *longer; /* stands for r where all phases get as many taps */
} Phase;

static int64_t common(int64_t a, int64_t b)
{
    return b ? common(b, a % b) : a;
}

static int64_t modulo(int64_t a, int64_t m)
{
    return (a % m + m) % m;
}

/* x with c x = 1 (mod m); 0 if there is none. */
static int64_t inverse(int64_t c, int64_t m)
{
    for (int64_t x = 1; x < m; x++)
        if (c * x % m == 1)
            return x;
    return 0;
}

static bool listed(const Var *const *list, int n, const Var *v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* ---- finding */

/* The congruence as one of a variable of the result and one of the sum. */
static bool is_phase(Phase *f, Cond c)
{
    enum { MOST = 1 << 15 }; /* strides; products stay exact */
    const Stmt *s = f->s;

    if (c.mod < 2 || c.mod > MOST || c.e->n < 1 || c.e->n > 2)
        return false;
    f->p = f->r = NULL;
    f->d = 0;
    f->m = c.mod;
    f->k = modulo(c.e->k, c.mod);
    for (int i = 0; i < c.e->n; i++) {
        const IdxTerm *t = &c.e->term[i];
        if (t->atom->kind != ATOM_VAR)
            return false;
        if (f->p && listed(s->out, s->n_out, t->atom->var))
            return false; /* a checkerboard */
        if (listed(s->out, s->n_out, t->atom->var))
            f->p = t->atom->var, f->c = modulo(t->c, c.mod);
        else
            f->r = t->atom->var, f->d = modulo(t->c, c.mod);
    }
    if (!f->p || (f->r && !listed(s->red, s->n_red, f->r)))
        return false;
    int64_t x = inverse(f->c, f->m);
    f->each = f->m / common(f->d, f->m);
    f->a = modulo(-f->d * x, f->m);
    f->b = modulo(-f->k * x, f->m);
    return x > 0;
}

/* Of floor((c p + d r + k) / m) in an index: with a = -d / c it has no f. */
static void note_floor(const Atom *at, void *ctx)
{
    Phase *f = ctx;

    if (at->kind != ATOM_FLOOR || at->d != f->m)
        return;
    int64_t c = idx_coef(at->a, f->p);
    int64_t d = f->r ? idx_coef(at->a, f->r) : 0;
    if (f->each == f->m && c && d % c == 0 && modulo(-d / c - f->a, f->m) == 0)
        f->a = -d / c;
}

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

static bool among(Phase *f, Guard in, const Expr *e);

/* A factor that is 0 where a congruence of its own does not hold, or a choice
 * of 0 there, as in gradients of such a factor's weights. */
static bool find_factor(Phase *f, const Expr *e)
{
    Guard in;

    if (e->kind == E_CAST && type_is_float(e->type))
        return find_factor(f, e->arg[0]);
    if (e->kind == E_UNARY && e->fn == F_NEG)
        return find_factor(f, e->arg[0]);
    if (e->kind == E_BINARY && e->fn == F_MUL)
        return find_factor(f, e->arg[0]) || find_factor(f, e->arg[1]);
    if (e->kind == E_BINARY && e->fn == F_DIV)
        return find_factor(f, e->arg[0]);
    if (e->kind == E_SELECT && is_zero(e->arg[2]))
        return (expr_as_guard(f->g, e->arg[0], &in) &&
                among(f, in, e->arg[1])) ||
               find_factor(f, e->arg[1]);
    return e->kind == E_READ && e->in.n && e->outside->kind == E_CONST &&
           e->outside->num == 0 && among(f, e->in, e);
}

static void note_floors(const Expr *e, void *ctx)
{
    for (int d = 0; e->kind == E_READ && d < e->tensor->rank; d++)
        idx_visit(e->at[d], note_floor, ctx);
}

/* Whether one of the conditions under which e is there is a congruence. */
static bool among(Phase *f, Guard in, const Expr *e)
{
    for (int i = 0; i < in.n; i++)
        if (is_phase(f, in.cond[i])) {
            expr_visit(e, note_floors, f);
            return true;
        }
    return false;
}

/* ---- splitting */

/* The reads that are factors of e: where one of them is 0, e is. A divisor that
 * has v is none that may be read beyond v's extent. */
static void visit_factors(const Expr *e, const Var *v, ExprVisit *visit,
                          void *ctx)
{
    if (e->kind == E_READ) {
        visit(e, ctx);
    } else if ((e->kind == E_CAST && type_is_float(e->type)) ||
               (e->kind == E_UNARY && e->fn == F_NEG) ||
               (e->kind == E_BINARY && e->fn == F_DIV &&
                !(v && expr_uses(e->arg[1], v)))) {
        visit_factors(e->arg[0], v, visit, ctx);
    } else if (e->kind == E_BINARY && e->fn == F_MUL) {
        visit_factors(e->arg[0], v, visit, ctx);
        visit_factors(e->arg[1], v, visit, ctx);
    } else if (e->kind == E_SELECT && is_zero(e->arg[2])) {
        visit_factors(e->arg[1], v, visit, ctx);
    }
}

static bool zero_outside(const Expr *read)
{
    return !read->in.n || is_zero(read->outside);
}

typedef struct Taps {
    const Var *p, *r; /* there are fewer of r than r' and f say */
    Guard in;
    bool moves; /* factors with p, too */
    bool found;
    const Expr *factor[8]; /* of the term */
    int n;
} Taps;

static void note_factor(const Expr *e, void *ctx)
{
    Taps *t = ctx;

    if (t->n < 8)
        t->factor[t->n++] = e;
}

static bool is_factor(const Taps *t, const Expr *e)
{
    for (int i = 0; i < t->n; i++)
        if (expr_equal(t->factor[i], e))
            return true;
    return false;
}

static bool reads_at(const Expr *e, const Var *v)
{
    for (int i = 0; i < e->tensor->rank; i++)
        if (idx_uses(e->at[i], v))
            return true;
    return false;
}

/* A factor that has r in its place, and not p if another has, is 0 beyond r's
 * extent. */
static const Expr *guard_taps(Graph *g, const Expr *e, void *ctx)
{
    Taps *t = ctx;

    if (e->kind != E_READ || !reads_at(e, t->r) ||
        reads_at(e, t->p) != t->moves || !zero_outside(e) || !is_factor(t, e))
        return NULL;
    t->found = true;
    return expr_read(g, e->tensor, e->at, guard_and(g->pool, e->in, t->in),
                     e->in.n ? e->outside : expr_const(g, 0, e->type));
}

/* The sum's term with r as one of `whole` values, 0 beyond its own; NULL if no
 * factor can say so. */
static const Expr *longer_sum(Phase *f, int64_t whole)
{
    Graph *g = f->g;
    const Var *r = idx_new_var(g->pool, f->r->name, whole);
    Subst by = {f->r, idx_var(g->pool, r)};
    Taps t = {.p = f->p, .r = r};

    t.in = guard_within(g->pool, t.in, by.by, 0, f->r->extent);
    f->longer = r;
    const Expr *longer = expr_subst(g, f->s->value, &by, 1);
    visit_factors(longer, r, note_factor, &t);
    const Expr *e = expr_rewrite(g, longer, guard_taps, &t);
    if (!t.found) {
        t.moves = true;
        e = expr_rewrite(g, longer, guard_taps, &t);
    }
    return t.found ? e : NULL;
}

/* The variables that p and r become, and what p and r are of them. */
typedef struct Parts {
    const Var *u, *phase, *tap;
    const Idx *p, *r;
} Parts;

static Parts parts_of(const Phase *f)
{
    IdxPool *pool = f->g->pool;
    int64_t taps = f->r ? (f->r->extent + f->each - 1) / f->each : 1;
    int64_t low = f->b + (f->a < 0 ? f->a * (f->phases - 1) : 0);
    const char *name = f->r ? f->r->name : f->p->name;
    Parts n;

    n.u = idx_new_var(pool, f->p->name, (f->p->extent - 1 - low) / f->m + 1);
    bool uneven =
        f->r && taps * f->each > f->r->extent && f->phases == f->each;
    const Var *(*make)(IdxPool *, const char *, int64_t) =
        uneven ? idx_new_tap : idx_new_var;
    n.phase = make(pool, name, f->phases);
    n.tap = make(pool, name, taps);
    n.r = idx_add(pool, idx_scale(pool, idx_var(pool, n.tap), f->each),
                  idx_var(pool, n.phase));
    n.p = idx_add(pool, idx_scale(pool, idx_var(pool, n.u), f->m),
                  idx_scale(pool, idx_var(pool, n.phase), f->a));
    n.p = idx_addc(pool, n.p, f->b);
    return n;
}

static const Var **replaced(Graph *g, const Var *const *list, int *n,
                            const Var *v, const Var *by, const Var *more)
{
    const Var **to = arena_array(g->arena, const Var *, *n + 2);
    int k = 0;

    for (int i = 0; i < *n; i++) {
        to[k++] = list[i] == v ? by : list[i];
        if (list[i] == v && more)
            to[k++] = more;
    }
    *n = k;
    return to;
}

/* p and r replaced in the statement, whose value was made fit for it. */
static void replace(const Phase *f, const Parts *n, const Expr *value)
{
    Graph *g = f->g;
    Stmt *s = f->s;
    Subst sub[2] = {{f->p, n->p}, {f->longer ? f->longer : f->r, n->r}};

    s->where = guard_subst(g->pool, s->where, sub, 1);
    s->where = guard_within(g->pool, s->where, n->p, 0, f->p->extent);
    s->value = expr_confine(g, expr_subst(g, value, sub, f->r ? 2 : 1));
    s->store = access_subst(g, s->store, s->tensor->rank, sub, 1);
    s->out = replaced(g, s->out, &s->n_out, f->p, n->u, n->phase);
    if (f->r)
        s->red = replaced(g, s->red, &s->n_red, f->r, n->tap, NULL);
}

/* ---- rows without a term */

typedef struct Compact {
    const Phase *f;
    const Tensor *t;   /* all of p's rows */
    Tensor *rows;      /* those that have terms: u and f for p */
    int dim;           /* p's */
} Compact;

/* Where the rows are that t has at `at`, and whether there are any. */
static const Idx **compact_at(Graph *g, const Compact *c, const Idx **at,
                              Guard *in)
{
    const Phase *f = c->f;
    IdxPool *pool = g->pool;
    const Idx **to = arena_array(g->arena, const Idx *, c->rows->rank);
    const Idx *q = idx_addc(pool, at[c->dim], -f->b);
    int64_t factor = f->m / f->each, unit = modulo(f->a / factor, f->each);
    const Idx *phase = idx_const(pool, 0);

    if (f->each > 1)
        phase = idx_mod(pool, idx_scale(pool, idx_floor(pool, q, factor),
                                        inverse(unit, f->each)), f->each);
    *in = guard_add(pool, (Guard){0}, q, factor);
    *in = guard_within(pool, *in, phase, 0, f->phases);
    for (int i = 0; i < c->rows->rank; i++)
        to[i] = i <= c->dim ? at[i] : at[i - 1];
    to[c->dim] = idx_floor(pool, idx_sub(pool, q, idx_scale(pool, phase,
                                                            f->a)), f->m);
    to[c->dim + 1] = f->phases > 1 ? phase : idx_const(pool, 0);
    return to;
}

/* Whether p is one dimension of what the statement stores. */
static bool may_shrink(const Phase *f, int *dim)
{
    const Stmt *s = f->s;
    const Tensor *t = s->tensor;

    if (t->rank >= MAX_RANK || s->where.n)
        return false;
    for (*dim = 0; *dim < t->rank; ++*dim)
        if (idx_is_var(s->store[*dim]) == f->p)
            break;
    for (int i = 0; i < t->rank; i++)
        if (i != *dim && idx_uses(s->store[i], f->p))
            return false;
    return *dim < t->rank;
}

/* A tensor of the rows that have terms; t's element is one of its, or 0. */
static Tensor *compact_tensor(const Phase *f, int dim, const Parts *n,
                              const Idx **store)
{
    Graph *g = f->g;
    const Stmt *s = f->s;
    const Tensor *t = s->tensor;
    int64_t d[MAX_RANK];

    for (int i = 0; i <= t->rank; i++) {
        int from = i <= dim ? i : i - 1;
        d[i] = i == dim ? n->u->extent
               : i == dim + 1 ? n->phase->extent : t->dim[from];
        store[i] = i == dim ? idx_var(g->pool, n->u)
                   : i == dim + 1 ? idx_var(g->pool, n->phase)
                                  : s->store[from];
    }
    return graph_tensor_like(g, t, t->type, t->rank + 1, d);
}

/* The sum for the rows that have terms, and a view of it as t. */
static void shrink(Phase *f, int at, int dim, const Parts *n,
                   const Expr *value)
{
    Graph *g = f->g;
    Stmt *s = f->s, *view = stmt_insert(g, at + 1);
    const Idx **store = arena_array(g->arena, const Idx *, MAX_RANK);
    Compact c = {.f = f, .t = s->tensor, .dim = dim};
    int id = view->id;
    Guard in;

    *view = *s;
    view->id = id;
    view->op = R_NONE;
    view->red = NULL;
    view->n_red = 0;
    c.rows = compact_tensor(f, dim, n, store);
    const Idx **from = compact_at(g, &c, s->store, &in);
    view->value = expr_read(g, c.rows, from, in,
                            expr_const(g, 0, c.rows->type));
    replace(f, n, value);
    s->tensor = c.rows;
    s->store = store;
    s->where = (Guard){0}; /* nobody reads rows beyond t's */
}

/* ---- */

/* Columns of each phase: the points that only the factor without p indexes, but
 * for what its guards have (phases). */
static int64_t columns_of(const Phase *f)
{
    const Expr *a, *b;
    const Var *own[32];
    int64_t columns = 1;

    if (!walk_product(f->s, &a, &b) || expr_uses(a, f->p) == expr_uses(b, f->p))
        return 0;
    if (expr_uses(b, f->p)) {
        const Expr *other = a;
        a = b;
        b = other;
    }
    for (int i = walk_only_in(f->s, b, a, own); i-- > 0;)
        if (!guard_uses(b->in, own[i]))
            columns *= own[i]->extent;
    return columns;
}

/* Phases of unequal taps are products of their own, if each has columns for
 * one. Their rows are then those that there are: p = m u + g, where g, the
 * residue, goes by f as a number, if it does. */
static void cover(Phase *f)
{
    enum { MANY = 32 };
    int64_t first = modulo(f->b, f->m);
    int64_t step = modulo(f->a + f->b, f->m) - first;

    if (columns_of(f) < MANY)
        return;
    for (int64_t i = 0; i < f->phases; i++)
        if (modulo(f->a * i + f->b, f->m) != first + step * i)
            return;
    f->a = step;
    f->b = first;
}

/* False if there is nothing to split, or no way. */
static bool split_one(Graph *g, int at)
{
    Stmt *s = g->stmt[at];
    Phase f = {.g = g, .s = s};
    const Expr *value = s->value;
    int dim = 0;

    if (s->op != R_SUM || !find_factor(&f, s->value))
        return false;
    f.phases = f.r && f.r->extent < f.each ? f.r->extent : f.each;
    bool all = f.each == f.m && f.phases == f.m;
    if (all && f.r->extent % f.each)
        cover(&f);
    /* u = 0 reaches the first of p */
    int64_t top = f.b + (f.a > 0 ? f.a * (f.phases - 1) : 0);
    f.b -= top - modulo(top, f.m);
    if (!all && !may_shrink(&f, &dim))
        return false;
    Parts n = parts_of(&f);
    if (n.tap->tap)
        value = longer_sum(&f, n.tap->extent * f.each);
    if (!value)
        return false;
    if (all)
        replace(&f, &n, value);
    else
        shrink(&f, at, dim, &n, value);
    return true;
}

/* ---- few terms */

static const Expr *term_at(Graph *g, const Stmt *s, int64_t term)
{
    Subst *sub = arena_array(g->arena, Subst, s->n_red + 1);

    for (int i = s->n_red - 1; i >= 0; i--) {
        int64_t n = s->red[i]->extent;
        sub[i] = (Subst){s->red[i], idx_const(g->pool, term % n)};
        term /= n;
    }
    return expr_subst(g, s->value, sub, s->n_red);
}

/* Is some index of the result not a variable of its own? */
static bool has_phases(const Stmt *s)
{
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]) && s->store[d]->n)
            return true;
    return false;
}

/* Of products a sum is what contractions look for. */
static void write_out(Graph *g, Stmt *s)
{
    enum { FEW = 4 };
    const Expr *a, *b, *sum;
    int64_t terms = 1;

    for (int i = 0; i < s->n_red && terms <= FEW; i++)
        terms *= s->red[i]->extent;
    if (terms > FEW || (walk_cut_product(s, &a, &b) && !walk_is_pick(s)))
        return;
    sum = term_at(g, s, 0);
    for (int64_t i = 1; i < terms; i++)
        sum = expr_binary(g, F_ADD, sum, term_at(g, s, i), s->value->type);
    s->value = sum;
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
}

/* ---- terms that are none */

/* The conditions of a tap that some phases have not, in what a sum reads, and
 * how much it reads. */
typedef struct TapGuard {
    IdxPool *pool;
    Guard in;
    int reads;
} TapGuard;

/* Of a tap and its phase alone: any other index is a window's. */
static bool is_tap(Cond c)
{
    for (int i = 0; i < c.e->n; i++)
        if (c.e->term[i].atom->kind != ATOM_VAR ||
            !c.e->term[i].atom->var->tap)
            return false;
    return !c.mod && c.e->n == 2;
}

static void count_reads(const Expr *e, void *ctx)
{
    TapGuard *t = ctx;

    t->reads += e->kind == E_READ;
}

static void note_taps(const Expr *e, void *ctx)
{
    TapGuard *t = ctx;

    for (int i = 0; i < e->in.n && zero_outside(e); i++)
        if (is_tap(e->in.cond[i]))
            t->in = guard_add(t->pool, t->in, e->in.cond[i].e, 0);
}

const Expr *phase_range(Graph *g, const Expr *e)
{
    TapGuard t = {.pool = g->pool};

    visit_factors(e, NULL, note_taps, &t);
    expr_visit(e, count_reads, &t);
    return t.in.n && t.reads > 1 ? expr_of_guard(g, t.in) : NULL;
}

void phase_ranges(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        const Expr *in = s->op == R_SUM ? phase_range(g, s->value) : NULL;
        const Type type = s->value->type;
        if (in && s->value->kind != E_SELECT)
            s->value = expr_select(g, in, s->value, expr_const(g, 0, type),
                                   type);
    }
}

void phase_write_out(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->op == R_SUM &&
            (has_phases(g->stmt[i]) || walk_is_pick(g->stmt[i])))
            write_out(g, g->stmt[i]);
}

void split_phases(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++)
        while (split_one(g, i))
            continue;
}
