#include "rewrite/straighten.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

/* An index of x, made of the affine `at`: at / by + add, or at % by + add; or
 * `at` itself, where by is 1. The copy has a place for `at` from lo to hi. */
typedef struct Bend {
    const Idx *at;
    int64_t by, add, lo, hi;
    bool rest; /* of the division */
} Bend;

typedef struct Straight {
    Graph *g;
    Stmt *s;
    const Expr *x;
    Bend bend[MAX_RANK];
} Straight;

static int64_t bend_at(const Bend *b, int64_t v)
{
    return (b->rest ? v % b->by : v / b->by) + b->add;
}

/* e, which has one quotient: rest + (a / d), or a + const - d (a / d). */
static bool find_bend(IdxPool *p, const Idx *e, Bend *b)
{
    const Idx *floor = NULL, *rest = e;
    const IdxTerm *t = NULL;

    for (int i = 0; i < e->n; i++) {
        if (e->term[i].atom->kind == ATOM_VAR)
            continue;
        if (t || e->term[i].atom->kind != ATOM_FLOOR)
            return false;
        t = &e->term[i];
    }
    if (!t)
        return false;
    floor = idx_atom(p, t->atom);
    rest = idx_sub(p, e, idx_scale(p, floor, t->c));
    b->by = t->atom->d;
    b->rest = t->c == -b->by;
    b->at = t->atom->a;
    if (t->c == 1)
        b->at =
            idx_add(p, idx_scale(p, idx_addc(p, rest, -rest->k), b->by), b->at);
    else
        rest = idx_sub(p, rest, b->at);
    b->add = rest->k;
    return idx_affine(b->at) && (t->c == 1 || (b->rest && idx_is_const(rest)));
}

/* Places of `at` that are none of x's, at either end, get none. */
static bool trim(Bend *b, int64_t dim)
{
    enum { MOST = 1 << 20 };

    b->lo = b->at->lo > 0 ? b->at->lo : 0;
    b->hi = b->at->hi;
    if (b->hi - b->lo > MOST)
        return false;
    while (b->lo <= b->hi && bend_at(b, b->lo) < 0)
        b->lo++;
    while (b->lo <= b->hi && bend_at(b, b->hi) >= dim)
        b->hi--;
    for (int64_t v = b->lo; v <= b->hi; v++)
        if (bend_at(b, v) < 0 || bend_at(b, v) >= dim)
            return false;
    return b->lo <= b->hi;
}

/* Whether the read's condition keeps all of `at` within the copy. */
static bool is_covered(const Straight *f, const Bend *b)
{
    Guard own = guard_within(f->g->pool, (Guard){0}, b->at, b->lo, b->hi + 1);
    int found = 0;

    for (int i = 0; i < own.n; i++)
        for (int j = 0; j < f->x->in.n; j++)
            found += f->x->in.cond[j].e == own.cond[i].e &&
                     f->x->in.cond[j].mod == own.cond[i].mod;
    return found == own.n;
}

/* All dimensions; false if there is nothing to do, or nothing that can be. */
static bool find_bends(Straight *f)
{
    const Expr *x = f->x;
    int n = 0;

    for (int d = 0; d < x->tensor->rank; d++) {
        Bend *b = &f->bend[d];
        *b = (Bend){.at = x->at[d], .by = 1, .hi = x->tensor->dim[d] - 1};
        if (idx_affine(x->at[d]))
            continue;
        n++;
        if (idx_has_data(x->at[d]) || !find_bend(f->g->pool, x->at[d], b) ||
            !trim(b, x->tensor->dim[d]) || !is_covered(f, b))
            return false;
    }
    return n > 0;
}

/* Tensor cores are about twice as fast where TMA brings the tiles; the copy is
 * written and read, in the L2, by a launch. */
static bool pays(const Straight *f, const Prices *p)
{
    const Stmt *s = f->s;
    double ops = 2, copy = 1, bytes = type_bytes(f->x->type);

    for (int i = 0; i < s->n_out; i++)
        ops *= (double)s->out[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        ops *= (double)s->red[i]->extent;
    for (int d = 0; d < f->x->tensor->rank; d++)
        copy *= (double)(f->bend[d].hi - f->bend[d].lo + 1);
    bytes *= (double)tensor_elems(f->x->tensor) + 2 * copy;
    return p->boxes &&
           ops / p->tensor_ops > p->launch_us + bytes / p->cache_bytes;
}

/* The copy's statement ahead of the product's; the copy. */
static Tensor *copy_stmt(Straight *f)
{
    Graph *g = f->g;
    const Tensor *x = f->x->tensor;
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    int64_t dim[MAX_RANK];
    int i = 0;

    while (g->stmt[i] != f->s)
        i++;
    Stmt *c = stmt_insert(g, i);
    int id = c->id;
    *c = *f->s;
    c->id = id;
    c->op = R_NONE;
    c->n_red = 0;
    c->notes = 0;
    c->n_out = x->rank;
    c->out = arena_array(g->arena, const Var *, MAX_RANK);
    c->store = arena_array(g->arena, const Idx *, MAX_RANK);
    for (int d = 0; d < x->rank; d++) {
        const Bend *b = &f->bend[d];
        dim[d] = b->hi - b->lo + 1;
        c->out[d] = idx_new_var(g->pool, "i", dim[d]);
        c->store[d] = idx_var(g->pool, c->out[d]);
        const Idx *v = idx_addc(g->pool, c->store[d], b->lo);
        at[d] = idx_addc(g->pool,
                         b->rest ? idx_mod(g->pool, v, b->by)
                                 : idx_floor(g->pool, v, b->by),
                         b->add);
    }
    const char *name = arena_printf(g->arena, "%s_straight", x->name);
    Tensor *t = graph_tensor(g, name, x->type, x->rank, dim);
    t->path = f->s->tensor->path;
    t->when = f->s->when;
    t->at = f->s->tensor->at;
    c->tensor = t;
    c->path = arena_printf(g->arena, "%s_%s", f->s->path, name);
    c->value = expr_read(g, f->x->tensor, at, (Guard){0}, NULL);
    return t;
}

/* The product's read of the copy. */
static const Expr *read_copy(Straight *f, Tensor *t)
{
    const Idx **at = arena_array(f->g->arena, const Idx *, MAX_RANK);

    for (int d = 0; d < t->rank; d++)
        at[d] = idx_addc(f->g->pool, f->bend[d].at, -f->bend[d].lo);
    return expr_read(f->g, t, at, f->x->in, f->x->outside);
}

static bool may_copy(const Graph *g, const Expr *x)
{
    const Tensor *t = x->tensor;

    return t->when == WHEN_RUN && type_is_float(t->type) &&
           type_bytes(t->type) == 2 && !(g->run && t->varies);
}

static void straighten_stmt(Graph *g, Stmt *s, const Prices *p)
{
    const Expr *f[2];

    if (s->when != WHEN_RUN || s->where.n || s->tensor->prev ||
        !walk_product(s, &f[0], &f[1]) || f[0]->type != f[1]->type)
        return;
    for (int k = 0; k < 2; k++) {
        Straight way = {.g = g, .s = s, .x = f[k]};
        if (may_copy(g, f[k]) && find_bends(&way) && pays(&way, p))
            f[k] = read_copy(&way, copy_stmt(&way));
    }
    s->value = expr_binary(g, F_MUL, f[0], f[1], s->value->type);
}

void straighten(Graph *g, const Prices *p)
{
    for (int i = 0; i < g->n_stmt; i++) {
        int before = g->n_stmt;
        straighten_stmt(g, g->stmt[i], p);
        i += g->n_stmt - before; /* they went before it */
    }
}
