#include "rewrite/diagonal.h"

#include "rewrite/normalise.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

/* A product whose factors share the variable `group`. */
typedef struct Groups {
    Graph *g;
    Stmt **maker; int n_maker; /* by tensor, of those that there were */
    Stmt *s;
    const Expr *x, *w;     /* the weights are w */
    const Var *group;      /* of the result; */
    const Var *channel;    /* of the sum: x goes on along it from a group to
                              the next one */
    int64_t joined;        /* groups that become one */
} Groups;

static bool is_16_bits(Type t)
{
    return t == T_F16 || t == T_BF16;
}

/* Of the result's variables that `a` has, and b has not. */
static int64_t own_points(const Stmt *s, const Expr *a, const Expr *b)
{
    const Var *own[32];
    int64_t points = 1;

    for (int i = walk_only_in(s, a, b, own); i-- > 0;)
        points *= own[i]->extent;
    return points;
}

/* Whether x has `c` in one dimension alone, in which the group's values are as
 * far apart as c goes. */
static bool goes_on(const Expr *x, const Var *group, const Var *c)
{
    int found = 0;

    for (int d = 0; d < x->tensor->rank; d++) {
        const Idx *at = x->at[d];
        if (!idx_uses(at, c) && !idx_uses(at, group))
            continue;
        found += idx_affine(at) && idx_coef(at, c) == 1 &&
                         idx_coef(at, group) == c->extent
                     ? 1 : 2;
    }
    return found == 1 && !guard_uses(x->in, c) && !guard_uses(x->in, group);
}

/* As many as fill a row of 128 bytes, at least half of it. */
static int64_t joined_groups(int64_t groups, int64_t channels)
{
    enum { ROW = 64 };
    int64_t n = ROW / channels;

    while (n > 1 && groups % n)
        n--;
    return n * channels > ROW / 2 || n == groups ? n : 1;
}

/* A parameter, what load time makes of such, or a step's own: what it trains,
 * as products take it. */
static bool is_weights(const Groups *f, const Tensor *t)
{
    if (tensor_is_constant(t))
        return true;
    const Stmt *maker = t->id < f->n_maker ? f->maker[t->id] : NULL;
    if (!maker || maker->op != R_NONE || maker->where.n)
        return false;
    const Expr *e = expr_strip(maker->value);
    while (e->kind == E_CAST)
        e = e->arg[0];
    return e->kind == E_READ && !e->in.n && tensor_is_trained(e->tensor);
}

static bool find_groups(Groups *f)
{
    enum { ROWS = 512, COLUMNS = 16 };
    const Stmt *s = f->s;
    const Expr *x, *w;

    if (s->when != WHEN_RUN || s->where.n || !walk_product(s, &x, &w))
        return false;
    if (is_weights(f, x->tensor)) {
        const Expr *other = w;
        w = x;
        x = other;
    }
    if (!is_weights(f, w->tensor) || is_weights(f, x->tensor) ||
        !is_16_bits(x->type) || x->type != w->type || w->in.n ||
        own_points(s, x, w) < ROWS)
        return false;
    f->x = x;
    f->w = w;
    for (int i = 0; i < s->n_out * s->n_red; i++) {
        f->group = s->out[i / s->n_red];
        f->channel = s->red[i % s->n_red];
        if (f->channel->extent < WORTH || !expr_uses(w, f->group) ||
            !expr_uses(w, f->channel) || !goes_on(x, f->group, f->channel))
            continue;
        f->joined = joined_groups(f->group->extent, f->channel->extent);
        return f->joined > 1 && own_points(s, w, x) * f->joined >= COLUMNS;
    }
    return false;
}

/* v instead of `of`, and `more` behind it; or `more` behind all. */
static const Var **with(Graph *g, const Var *const *list, int *n,
                        const Var *of, const Var *v, const Var *more)
{
    const Var **to = arena_array(g->arena, const Var *, *n + 1);
    int k = 0;

    for (int i = 0; i < *n; i++) {
        to[k++] = list[i] == of ? v : list[i];
        if (list[i] == of)
            to[k++] = more;
    }
    if (k == *n)
        to[k++] = more;
    *n = k;
    return to;
}

/* The variables of weights: the result's, then the sum's, channels last. */
static int weight_vars(const Stmt *s, const Expr *w, const Var *joined,
                       const Var *channel, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *x = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        bool last = x == joined || x == channel;
        if (!last && expr_uses(w, x) && n < MAX_RANK)
            v[n++] = x;
    }
    if (n + 2 > MAX_RANK)
        return MAX_RANK + 1;
    v[n++] = joined;
    v[n++] = channel;
    return n;
}

/* Where weights are made that are 0 from group to group: at load time, or in
 * the step, ahead of s. */
static Stmt *joined_stmt(Graph *g, const Stmt *s, const Tensor *w)
{
    int at = 0;

    if (tensor_is_constant(w))
        return load_stmt(g, w);
    while (g->stmt[at] != s)
        at++;
    Stmt *c = stmt_insert(g, at);
    c->when = WHEN_RUN;
    c->path = arena_printf(g->arena, "%s_joined", s->path);
    c->behind = s->behind;
    return c;
}

static void join(Groups *f)
{
    Graph *g = f->g;
    IdxPool *p = g->pool;
    Stmt *s = f->s;
    const Var *v[MAX_RANK], *group = f->group;
    const Var *high = idx_new_var(p, group->name, group->extent / f->joined);
    const Var *low = idx_new_var(p, group->name, f->joined);
    const Var *other = idx_new_var(p, group->name, f->joined);
    const Idx *first = idx_scale(p, idx_var(p, high), f->joined);
    Subst own = {group, idx_add(p, first, idx_var(p, low))};
    Subst of = {group, idx_add(p, first, idx_var(p, other))};
    const Expr *x = expr_subst(g, f->x, &of, 1);
    const Expr *w = expr_subst(g, f->w, &own, 1);
    const Idx *apart = idx_sub(p, idx_var(p, low), idx_var(p, other));
    Guard same = guard_add(p, guard_add(p, (Guard){0}, apart, 0),
                           idx_scale(p, apart, -1), 0);
    Stmt to = *s;

    to.out = with(g, s->out, &to.n_out, group, high, low);
    to.red = with(g, s->red, &to.n_red, NULL, NULL, other);
    w = expr_select(g, expr_of_guard(g, same), w, expr_const(g, 0, w->type),
                    w->type);
    int n = weight_vars(&to, w, other, f->channel, v);
    if (n > MAX_RANK)
        return;
    to.store = access_subst(g, s->store, s->tensor->rank, &own, 1);
    const Expr *packed =
        store_values(g, joined_stmt(g, s, f->w->tensor), s, w, v, n, w->type,
                     arena_printf(g->arena, "%s_joined",
                                  f->w->tensor->name));
    packed->tensor->as_declared = true;
    packed->tensor->cut = true;
    to.value = expr_select(g, expr_of_guard(g, same),
                           expr_binary(g, F_MUL, x, packed, s->value->type),
                           expr_const(g, 0, s->value->type), s->value->type);
    to.id = s->id;
    *s = to;
}

void join_groups(Graph *g)
{
    Stmt **maker = tensor_makers(g);
    const int n_maker = g->n_tensor;

    for (int i = 0; i < g->n_stmt; i++) {
        Groups f = {.g = g, .maker = maker, .n_maker = n_maker,
                    .s = g->stmt[i]};
        int before = g->n_stmt;
        if (f.s->op == R_SUM && find_groups(&f))
            join(&f);
        i += g->n_stmt - before;
    }
}
