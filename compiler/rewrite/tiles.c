#include "rewrite/tiles.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

typedef struct Tiles {
    Graph *g;
    Stmt *s;
    const Expr *x, *d;        /* x has the taps, d has no points of its own */
    const Var *tap[MAX_RANK]; /* of the result, x's alone */
    int n_tap;
    const Var *pixel[MAX_RANK]; /* of the sum, that taps move */
    int64_t size[MAX_RANK];     /* of a tile, along it */
    int n_pixel;
    const Var *tile[MAX_RANK], *within[MAX_RANK];
} Tiles;

/* ---- finding */

static bool in(const Var *const *list, int n, const Var *v)
{
    return walk_in_list(list, n, v);
}

/* A dimension of x that taps move is one pixel's beside these. */
static bool find_dim(Tiles *f, const Idx *at)
{
    const Stmt *s = f->s;
    const Var *pixel = NULL;
    bool moved = false;

    for (int i = 0; i < at->n; i++)
        moved |= at->term[i].atom->kind == ATOM_VAR &&
                 in(f->tap, f->n_tap, at->term[i].atom->var);
    if (!moved)
        return true;
    if (!idx_affine(at))
        return false;
    for (int i = 0; i < at->n; i++) {
        const Var *v = at->term[i].atom->var;
        if (in(f->tap, f->n_tap, v))
            continue;
        if (pixel || !in((const Var *const *)s->red, s->n_red, v) ||
            !expr_uses(f->d, v) || in(f->pixel, f->n_pixel, v))
            return false;
        pixel = v;
    }
    if (!pixel)
        return false;
    f->pixel[f->n_pixel++] = pixel;
    return true;
}

/* The largest tiles of whole divisors, the most square ones of these. */
static void find_sizes(const Tiles *f, int i, int64_t terms, int64_t *size,
                       int64_t *best, int64_t *to)
{
    enum { MOST = 64 };

    for (int64_t n = 1; i < f->n_pixel && n * terms <= MOST; n++)
        if (f->pixel[i]->extent % n == 0) {
            size[i] = n;
            find_sizes(f, i + 1, terms * n, size, best, to);
        }
    if (i < f->n_pixel)
        return;
    int64_t least = size[0];
    for (int k = 1; k < i; k++)
        least = size[k] < least ? size[k] : least;
    if (terms * MOST + least <= *best)
        return;
    *best = terms * MOST + least;
    memcpy(to, size, sizeof *size * (size_t)i);
}

static bool is_worth(Tiles *f)
{
    enum { TERMS = 16, TAPS = 64, SHARED = 32 };
    int64_t size[MAX_RANK], best = 0, taps = 1, shared = 1, terms = 1, all = 1;

    for (int i = 0; i < f->s->n_out; i++) {
        const Var *v = f->s->out[i];
        *(in(f->tap, f->n_tap, v) ? &taps : &shared) *= v->extent;
    }
    for (int i = 0; i < f->s->n_red; i++)
        all *= f->s->red[i]->extent;
    find_sizes(f, 0, 1, size, &best, f->size);
    for (int i = 0; i < f->n_pixel; i++)
        terms *= f->size[i];
    return taps > 1 && taps <= TAPS && shared >= SHARED && terms >= TERMS &&
           all >= terms * TERMS && f->s->n_red + f->s->n_out <= MAX_RANK;
}

static bool find_tiles(Tiles *f)
{
    const Stmt *s = f->s;
    const Var *own[32];
    const Expr *a, *b;

    if (s->when != WHEN_RUN || s->where.n || s->n_out > MAX_RANK ||
        !walk_product(s, &a, &b))
        return false;
    bool turned = walk_only_in(s, a, b, own) == 0;
    f->x = turned ? b : a;
    f->d = turned ? a : b;
    if (walk_only_in(s, f->d, f->x, own))
        return false;
    f->n_tap = walk_only_in(s, f->x, f->d, f->tap);
    if (!f->n_tap)
        return false;
    for (int d = 0; d < f->x->tensor->rank; d++)
        if (f->n_pixel == MAX_RANK || !find_dim(f, f->x->at[d]))
            return false;
    return f->n_pixel && is_worth(f);
}

/* ---- rewriting */

static void split_pixels(Tiles *f, Subst *by)
{
    IdxPool *p = f->g->pool;

    for (int i = 0; i < f->n_pixel; i++) {
        const Var *v = f->pixel[i];
        f->tile[i] = idx_new_var(p, v->name, v->extent / f->size[i]);
        f->within[i] = idx_new_var(p, v->name, f->size[i]);
        by[i] = (Subst){
            v, idx_add(p, idx_scale(p, idx_var(p, f->tile[i]), f->size[i]),
                       idx_var(p, f->within[i]))};
    }
}

/* What is summed in the second step: tiles, and what has none. */
static const Var **outer_vars(const Tiles *f, int *n)
{
    const Stmt *s = f->s;
    const Var **v = arena_array(f->g->arena, const Var *, MAX_RANK);

    *n = 0;
    for (int i = 0; i < s->n_red; i++)
        if (!in(f->pixel, f->n_pixel, s->red[i]))
            v[(*n)++] = s->red[i];
    for (int i = 0; i < f->n_pixel; i++)
        v[(*n)++] = f->tile[i];
    return v;
}

/* The result's variables, taps first. */
static const Var **point_vars(const Tiles *f)
{
    const Stmt *s = f->s;
    const Var **v = arena_array(f->g->arena, const Var *, s->n_out);
    int n = 0;

    for (int last = 0; last < 2; last++)
        for (int i = 0; i < s->n_out; i++)
            if (in(f->tap, f->n_tap, s->out[i]) == !last)
                v[n++] = s->out[i];
    return v;
}

/* A tensor like the sum's, with a dimension for each variable; and where these
 * say. */
static Tensor *tensor_of(const Tiles *f, const Var *const *v, int n,
                         const Idx ***at)
{
    int64_t dim[MAX_RANK];

    *at = arena_array(f->g->arena, const Idx *, MAX_RANK);
    for (int i = 0; i < n; i++) {
        dim[i] = v[i]->extent;
        (*at)[i] = idx_var(f->g->pool, v[i]);
    }
    return graph_tensor_like(f->g, f->s->tensor, f->s->tensor->type, n, dim);
}

static Stmt *stmt_behind(Graph *g, int at, const Stmt *like)
{
    Stmt *s = stmt_insert(g, at + 1);
    int id = s->id;

    *s = *like;
    s->id = id;
    return s;
}

/* The sum of a tile; all of them; and the result where it was. */
static void tile_one(Tiles *f, int at)
{
    Graph *g = f->g;
    const Stmt whole = *f->s;
    Subst by[MAX_RANK];
    const Idx **in_parts, **in_sum;
    int n_outer, n = whole.n_out;

    split_pixels(f, by);
    const Var **outer = outer_vars(f, &n_outer), **point = point_vars(f);
    const Var **all = arena_array(g->arena, const Var *, n_outer + n);
    memcpy(all, outer, sizeof *all * (size_t)n_outer);
    memcpy(all + n_outer, point, sizeof *all * (size_t)n);
    Tensor *parts = tensor_of(f, all, n_outer + n, &in_parts);
    Tensor *sum = tensor_of(f, point, n, &in_sum);

    Stmt *view = stmt_behind(g, at, &whole);
    view->op = R_NONE;
    view->red = NULL;
    view->n_red = 0;
    view->value = expr_read(g, sum, in_sum, (Guard){0}, NULL);
    Stmt *total = stmt_behind(g, at, &whole);
    total->out = point;
    total->red = outer;
    total->n_red = n_outer;
    total->value = expr_read(g, parts, in_parts, (Guard){0}, NULL);
    total->tensor = sum;
    total->store = in_sum;
    Stmt *s = g->stmt[at];
    s->out = all;
    s->n_out = n_outer + n;
    s->red = f->within;
    s->n_red = f->n_pixel;
    s->value = expr_subst(g, whole.value, by, f->n_pixel);
    s->tensor = parts;
    s->store = in_parts;
}

void tile_sums(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Tiles *f = arena_new_of(g->arena, Tiles);
        *f = (Tiles){.g = g, .s = g->stmt[i]};
        if (f->s->op != R_SUM || !find_tiles(f))
            continue;
        tile_one(f, i);
        i += 2;
    }
}
