#include "rewrite/shifts.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

typedef struct Shifts {
    Graph *g;
    const Stmt *s;
    const Expr *x, *w;
    const Var *pixel[MAX_RANK]; /* that goes along a dimension of x with taps;
                                   NULL: it has none */
    const Var *tap[MAX_RANK];
    int n_tap;
} Shifts;

static bool is_16_bits(Type t)
{
    return t == T_F16 || t == T_BF16;
}

/* The points that variables of the list have which a has, and b has not. */
static int64_t points(const Var *const *list, int n, const Expr *a,
                      const Expr *b)
{
    int64_t all = 1;

    for (int i = 0; i < n; i++)
        if (expr_uses(a, list[i]) && !expr_uses(b, list[i]))
            all *= list[i]->extent;
    return all;
}

static int uses(const Expr *x, const Var *v)
{
    int n = 0;

    for (int d = 0; d < x->tensor->rank; d++)
        n += idx_uses(x->at[d], v);
    return n;
}

/* Dimension d of x: one pixel after the other, moved by taps; or neither. */
static bool find_dim(Shifts *f, int d)
{
    const Stmt *s = f->s;
    const Idx *at = f->x->at[d];

    f->pixel[d] = NULL;
    if (at->n < 2)
        return true;
    if (!idx_affine(at))
        return false;
    for (int i = 0; i < at->n; i++) {
        const Var *v = at->term[i].atom->var;
        bool tap = walk_in_list((const Var *const *)s->red, s->n_red, v);
        if (uses(f->x, v) > 1 ||
            (tap ? !expr_uses(f->w, v) || f->n_tap == MAX_RANK
                 : f->pixel[d] || at->term[i].c != 1 || expr_uses(f->w, v)))
            return false;
        if (tap)
            f->tap[f->n_tap++] = v;
        else
            f->pixel[d] = v;
    }
    return f->pixel[d] != NULL;
}

/* More columns of fewer terms read and write more than they save. */
static bool find_shifts(Shifts *f)
{
    enum { COLUMNS = 24, TERMS = 8, TAPS = 4, LEAST = 8, MANY = 32 };
    enum { ELEMS = 1 << 18 }; /* of x: less is read in a launch's time */
    const Stmt *s = f->s;
    int64_t taps = 1, sum = 1;

    f->n_tap = 0;
    for (int d = 0; d < f->x->tensor->rank; d++)
        if (!find_dim(f, d))
            return false;
    for (int i = 0; i < f->n_tap; i++)
        taps *= f->tap[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        sum *= s->red[i]->extent;
    sum /= taps;
    int64_t columns = points(s->out, s->n_out, f->w, f->x);
    /* z is no more than four times x, which would be read for each tap */
    return taps >= TAPS && columns <= COLUMNS && columns * TERMS <= sum &&
           columns * taps >= LEAST && columns * taps <= 2 * sum &&
           sum >= MANY && s->n_out + f->n_tap <= MAX_RANK &&
           points(s->out, s->n_out, f->x, f->w) * sum >= ELEMS;
}

/* The variables of z: columns and taps, then what x has, pixels as all of its
 * dimension; where y's sum reads it in at[]. */
static int z_vars(const Shifts *f, const Var **v, const Idx **at,
                  const Idx **x_at)
{
    IdxPool *p = f->g->pool;
    const Stmt *s = f->s;
    int n = 0;

    memcpy(x_at, f->x->at, sizeof *x_at * (size_t)f->x->tensor->rank);
    for (int own = 1; own >= 0; own--) {
        for (int i = 0; i < s->n_out; i++) {
            if (own != (expr_uses(f->w, s->out[i]) &&
                        !expr_uses(f->x, s->out[i])))
                continue;
            v[n] = s->out[i];
            at[n] = idx_var(p, v[n]);
            for (int d = 0; d < f->x->tensor->rank; d++)
                if (f->pixel[d] == v[n]) {
                    v[n] = idx_new_var(p, v[n]->name, f->x->tensor->dim[d]);
                    at[n] = f->x->at[d];
                    x_at[d] = idx_var(p, v[n]);
                }
            n++;
        }
        for (int i = 0; own && i < f->n_tap; i++) {
            v[n] = f->tap[i];
            at[n] = idx_var(p, v[n]);
            n++;
        }
    }
    return n;
}

/* z's statement ahead of the one at i, which becomes the sum of its shifts. */
static void split(const Shifts *f, int i)
{
    Graph *g = f->g;
    Stmt *c = stmt_insert(g, i), *s = g->stmt[i + 1];
    const Var **v = arena_array(g->arena, const Var *, MAX_RANK);
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    const Idx **x_at = arena_array(g->arena, const Idx *, MAX_RANK);
    const Type type = s->value->type;
    int64_t dim[MAX_RANK];
    int id = c->id, n = z_vars(f, v, at, x_at);

    *c = *s;
    c->id = id;
    c->path = arena_printf(g->arena, "%s_taps", s->path);
    c->out = v;
    c->n_out = n;
    c->store = arena_array(g->arena, const Idx *, MAX_RANK);
    for (int k = 0; k < n; k++) {
        dim[k] = v[k]->extent;
        c->store[k] = idx_var(g->pool, v[k]);
    }
    Tensor *z = graph_tensor(g, arena_printf(g->arena, "%s_taps",
                                             s->tensor->name),
                             type, n, dim);
    z->path = s->tensor->path;
    z->when = s->when;
    z->at = s->tensor->at;
    z->as_declared = true;
    c->tensor = z;
    c->red = arena_array(g->arena, const Var *, s->n_red);
    c->n_red = 0;
    for (int k = 0; k < s->n_red; k++)
        if (!walk_in_list((const Var *const *)f->tap, f->n_tap, s->red[k]))
            c->red[c->n_red++] = s->red[k];
    c->value = walk_multiplied(
        g, s, expr_read(g, f->x->tensor, x_at, (Guard){0}, NULL), f->w);
    s->red = arena_array(g->arena, const Var *, f->n_tap);
    memcpy(s->red, f->tap, sizeof *f->tap * (size_t)f->n_tap);
    s->n_red = f->n_tap;
    s->value = expr_read(g, z, at, f->x->in,
                         f->x->in.n ? expr_const(g, 0, type) : NULL);
}

static bool is_window(Graph *g, const Expr *x, const Expr *w)
{
    return walk_has_window(x) && walk_zero_beyond(g, x) && !w->in.n &&
           is_16_bits(x->type) && x->type == w->type;
}

/* Whether z's points have all that a range depends on. */
static bool range_fits(const Shifts *f)
{
    const Stmt *s = f->s;

    if (s->value->kind != E_SELECT)
        return true;
    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(s->value->arg[0], s->out[i]) &&
            !expr_uses(f->w, s->out[i]))
            return false;
    for (int i = 0; i < f->n_tap; i++)
        if (expr_uses(s->value->arg[0], f->tap[i]))
            return false;
    return true;
}

typedef struct Behind {
    bool *of; /* by tensor: made of the result, point by point */
    bool read;
} Behind;

static void note_behind(const Expr *e, void *ctx)
{
    Behind *b = ctx;

    b->read |= e->kind == E_READ && b->of[e->tensor->id];
}

/* Whether another product takes the result at g->stmt[i], or what becomes of it
 * point by point: it wants channels side by side, where shifts leave pixels. */
static bool goes_on(const Graph *g, int i)
{
    Behind b = {arena_array(g->arena, bool, g->n_tensor), false};
    const Expr *x, *w;

    b.of[g->stmt[i]->tensor->id] = true;
    for (i++; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        b.read = false;
        expr_visit(s->value, note_behind, &b);
        if (b.read && walk_cut_product(s, &x, &w))
            return true;
        b.of[s->tensor->id] |= b.read && s->op == R_NONE;
    }
    return false;
}

void split_shifts(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Shifts f = {.g = g, .s = g->stmt[i]};
        const Expr *a, *b;
        if (f.s->when != WHEN_RUN || f.s->where.n ||
            f.s->tensor->role == ROLE_STATE || f.s->tensor->prev ||
            !walk_cut_product(f.s, &a, &b))
            continue;
        bool second = !is_window(g, a, b);
        f.x = second ? b : a;
        f.w = second ? a : b;
        if (is_window(g, f.x, f.w) && find_shifts(&f) && range_fits(&f) &&
            !goes_on(g, i))
            split(&f, i++);
    }
}
