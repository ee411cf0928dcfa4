#include "rewrite/needed.h"

#include <math.h>

enum { MOST_VISITS = 4096 }; /* shared parts are visited on every way */

/* A read, and the conditions that hold wherever it stands. */
typedef struct Found {
    const Expr *read;
    Guard in;
    bool any;
} Found;

struct Needed {
    Found *found;
    int n, cap;
};

typedef struct Walk {
    Graph *g;
    Needed *all;
    int visits;
    bool many; /* too many: nothing is said of any read */
} Walk;

static bool has_cond(Guard g, Cond c)
{
    for (int i = 0; i < g.n; i++)
        if (g.cond[i].e == c.e && g.cond[i].mod == c.mod)
            return true;
    return false;
}

static Found *find(const Needed *all, const Expr *read)
{
    for (int i = 0; i < all->n; i++)
        if (all->found[i].read == read || expr_equal(all->found[i].read, read))
            return &all->found[i];
    return NULL;
}

/* The read stands under `path`, too. */
static void meet(Walk *w, const Expr *read, Guard path)
{
    Found *f = find(w->all, read);
    Guard both = {0};

    if (!f) {
        f = &VEC_PUSH(w->g->arena, w->all->found, w->all->n, w->all->cap);
        *f = (Found){.read = read};
    }
    for (int i = 0; i < path.n; i++)
        if (!f->any || has_cond(f->in, path.cond[i]))
            both = guard_add(w->g->pool, both, path.cond[i].e,
                             path.cond[i].mod);
    f->in = both;
    f->any = true;
}

static void note_inside(const Expr *e, void *ctx)
{
    if (e->kind == E_READ)
        meet(ctx, e, (Guard){0});
}

static void note_data(const Atom *a, void *ctx)
{
    if (a->data)
        expr_visit(a->data, note_inside, ctx);
}

static void walk(Walk *w, const Expr *e, Guard path)
{
    Guard yes = {0}, no = {0};

    if (w->visits++ > MOST_VISITS) {
        w->many = true;
        return;
    }
    if (e->kind == E_INDEX)
        idx_visit(e->idx, note_data, w);
    if (e->kind == E_READ) {
        meet(w, e, path);
        for (int d = 0; d < e->tensor->rank; d++)
            idx_visit(e->at[d], note_data, w);
        for (int i = 0; i < e->in.n; i++)
            idx_visit(e->in.cond[i].e, note_data, w);
        if (e->outside)
            walk(w, e->outside, path);
        return;
    }
    if (e->kind == E_SELECT) {
        const Expr *not = expr_unary(w->g, F_NOT, e->arg[0], T_BOOL);
        if (!expr_as_guard(w->g, e->arg[0], &yes))
            yes = (Guard){0};
        if (!expr_as_guard(w->g, not, &no))
            no = (Guard){0};
    }
    for (int i = 0; i < 3 && e->arg[i]; i++)
        walk(w, e->arg[i],
             i == 1   ? guard_and(w->g->pool, path, yes)
             : i == 2 ? guard_and(w->g->pool, path, no)
                      : path);
}

const Needed *needed_reads(Graph *g, const Expr *const *value, int n)
{
    Walk w = {.g = g, .all = arena_new_of(g->arena, Needed)};

    for (int i = 0; i < n; i++)
        walk(&w, value[i], (Guard){0});
    if (w.many)
        w.all->n = 0;
    return w.all;
}

Guard needed_of_read(const Needed *all, const Expr *read)
{
    const Found *f = find(all, read);

    return f ? f->in : (Guard){0};
}

Guard needed_read(Graph *g, const Expr *const *value, int n, const Expr *read)
{
    return needed_of_read(needed_reads(g, value, n), read);
}

static void note_select(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_SELECT;
}

bool values_choose(const Expr *const *value, int n)
{
    bool chooses = false;

    for (int i = 0; i < n && !chooses; i++)
        expr_visit(value[i], note_select, &chooses);
    return chooses;
}

/* ---- what statements compute in vain */

typedef struct Uses {
    Graph *g;
    const Tensor *t;
    const Stmt *reader, *maker;
    Guard needed; /* in the maker's variables */
    bool any;
} Uses;

/* A condition on the reader's variables as one on the maker's. */
static bool translate(const Uses *u, const Expr *read, const Idx *e,
                      const Idx **out)
{
    Subst s[MAX_RANK];
    int n = 0;

    if (!idx_affine(e))
        return false;
    for (int d = 0; d < read->tensor->rank; d++) {
        const Var *from = idx_is_var(read->at[d]);
        if (from && idx_is_var(u->maker->store[d]))
            s[n++] = (Subst){from, u->maker->store[d]};
    }
    for (int i = 0; i < e->n; i++) {
        bool found = false;
        for (int j = 0; j < n; j++)
            found |= s[j].var == e->term[i].atom->var;
        if (!found)
            return false;
    }
    *out = idx_subst(u->g->pool, e, s, n);
    return true;
}

static void add_use(const Expr *read, void *ctx)
{
    Uses *u = ctx;
    Guard in, made = {0}, both = {0};
    const Idx *e;

    if (read->kind != E_READ || read->tensor != u->t)
        return;
    in = guard_and(u->g->pool, read->in,
                   needed_read(u->g, &u->reader->value, 1, read));
    for (int i = 0; i < in.n; i++)
        if (!in.cond[i].mod && translate(u, read, in.cond[i].e, &e))
            made = guard_add(u->g->pool, made, e, 0);
    for (int i = 0; i < made.n; i++)
        if (!u->any || has_cond(u->needed, made.cond[i]))
            both = guard_add(u->g->pool, both, made.cond[i].e, 0);
    u->needed = both;
    u->any = true;
}

static bool places_with(const Stmt *s, const Tensor *t)
{
    return place_reads(s->store, s->tensor->rank, s->where, t);
}

/* By tensor id: the statements that read it, write it or what replaces it, or
 * store where it says. */
typedef struct Concerned {
    Graph *g;
    struct { const Stmt **stmt; int n, cap; } *of;
    const Stmt *now;
} Concerned;

static void concern(Concerned *c, const Tensor *t)
{
    int n = c->of[t->id].n;

    if (!n || c->of[t->id].stmt[n - 1] != c->now)
        VEC_PUSH(c->g->arena, c->of[t->id].stmt, c->of[t->id].n,
                 c->of[t->id].cap) = c->now;
}

static void concern_read(const Expr *e, void *ctx)
{
    if (e->kind == E_READ)
        concern(ctx, e->tensor);
}

static void concern_place(const Atom *a, void *ctx)
{
    if (a->data)
        expr_visit(a->data, concern_read, ctx);
}

static Concerned find_concerned(Graph *g)
{
    Concerned c = {.g = g};

    c.of = arena_alloc(g->arena, sizeof *c.of * (size_t)(g->n_tensor + 1));
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = c.now = g->stmt[i];
        expr_visit(s->value, concern_read, &c);
        for (int d = 0; d < s->tensor->rank; d++)
            idx_visit(s->store[d], concern_place, &c);
        for (int k = 0; k < s->where.n; k++)
            idx_visit(s->where.cond[k].e, concern_place, &c);
        concern(&c, s->tensor);
        if (s->tensor->prev)
            concern(&c, s->tensor->prev);
    }
    return c;
}

static Guard needed_of(const Concerned *c, const Stmt *maker)
{
    Uses u = {.g = c->g, .t = maker->tensor, .maker = maker};

    for (int i = 0; i < c->of[u.t->id].n; i++) {
        u.reader = c->of[u.t->id].stmt[i];
        if ((u.reader != maker && u.reader->tensor == u.t) ||
            u.reader->tensor->prev == u.t || places_with(u.reader, u.t))
            return (Guard){0};
        expr_visit(u.reader->value, add_use, &u);
    }
    return u.needed;
}

typedef struct Masked {
    bool *read; /* by tensor: a statement with a choice reads it */
    bool chooses;
} Masked;

static void note_choice(const Expr *e, void *ctx)
{
    Masked *m = ctx;

    m->chooses |= e->kind == E_SELECT || (e->kind == E_READ && e->in.n);
}

static void note_masked(const Expr *e, void *ctx)
{
    Masked *m = ctx;

    if (e->kind == E_READ)
        m->read[e->tensor->id] = true;
}

void find_needed(Graph *g)
{
    Masked m = {arena_array(g->arena, bool, g->n_tensor), false};
    Concerned c = find_concerned(g);

    for (int i = 0; i < g->n_stmt; i++) {
        m.chooses = false;
        expr_visit(g->stmt[i]->value, note_choice, &m);
        if (m.chooses)
            expr_visit(g->stmt[i]->value, note_masked, &m);
    }
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Tensor *t = s->tensor;
        if (s->when != WHEN_RUN || t->role != ROLE_TEMP || t->prev ||
            t->host || !m.read[t->id])
            continue;
        s->needed = needed_of(&c, s);
        t->partly = s->needed.n > 0;
    }
}

double needed_share(Guard in)
{
    double share = 1;

    for (int i = 0; i < in.n; i++) {
        double lo = (double)in.cond[i].e->lo, hi = (double)in.cond[i].e->hi;
        if (in.cond[i].mod)
            share /= (double)in.cond[i].mod;
        else if (lo < 0)
            share *= fmax(0, (hi + 1) / (hi - lo + 1));
    }
    return share;
}
