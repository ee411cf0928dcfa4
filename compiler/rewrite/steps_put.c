#include "rewrite/steps_put.h"

#include <stdlib.h>
#include <string.h>

/* ---- the order of steps */

static int find_part(const Stack *k, const Tensor *t)
{
    for (int i = 0; i < k->n; i++)
        if (k->part[i] == t)
            return i;
    return -1;
}

/* A tensor that has all of the family's factors i, filled before `pos`. */
static const Stack *steps_known(const Steps *x, int i, int pos)
{
    for (int k = 0; k < x->n_stack; k++) {
        const Stack *st = &x->stack[k];
        bool all = st->ready < pos && st->n >= x->n_m;
        for (int m = 0; m < x->n_m && all; m++)
            all = find_part(st, x->m[m].v[i].t) >= 0;
        if (all)
            return st;
    }
    return NULL;
}

static int by_key(const void *a, const void *b)
{
    const Member *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->pos > y->pos) - (x->pos < y->pos);
}

void steps_order(Steps *x, int pos)
{
    const Varied *like = x->m[1].v;
    const Stack *st[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++)
        st[i] = like[i].how == PARTS ? steps_known(x, i, pos) : NULL;
    for (int m = 0; m < x->n_m; m++) {
        Member *e = &x->m[m];
        const Varied *p = e->v;
        int id[2];
        for (int i = 0; i < 2; i++)
            id[i] = p[i].how == PARTS ? p[i].t->id : INT32_MAX;
        e->key = p[0].only            ? p[0].at
                 : p[1].only          ? p[1].at
                 : p[0].how == SLICES ? p[0].from
                 : p[1].how == SLICES ? p[1].from
                 : st[0]              ? st[0]->at[find_part(st[0], p[0].t)]
                 : st[1]              ? st[1]->at[find_part(st[1], p[1].t)]
                                      : (id[0] < id[1] ? id[0] : id[1]);
    }
    qsort(x->m, (size_t)x->n_m, sizeof *x->m, by_key);
}

/* v[m] is first + m * step; false if it is not, or all are one. */
static bool in_steps(const int64_t *v, int n, int64_t *step)
{
    *step = v[1] - v[0];
    for (int m = 2; m < n; m++)
        if (v[m] - v[m - 1] != *step)
            return false;
    return *step != 0;
}

/* Each tensor is another, and what fills it; -2: one is not to be put. */
static int steps_last_made(const Steps *x, int i)
{
    int last = -1;

    for (int m = 0; m < x->n_m; m++) {
        const Tensor *t = x->m[m].v[i].t;
        int made = x->last_write[t->id];
        if (t->role != ROLE_TEMP || t->prev || x->older[t->id] || made < 0)
            return -2;
        for (int k = 0; k < m; k++)
            if (x->m[k].v[i].t == t)
                return -2;
        last = made > last ? made : last;
    }
    return last;
}

/* ---- what is made */

void steps_insert(Steps *x, Stmt *s, int before)
{
    int order = x->n_insert;

    x->g->n_stmt--; /* graph_stmt appended it */
    VEC_PUSH(x->g->arena, x->insert, x->n_insert, x->cap_insert) =
        (Insert){s, before, order};
}

/* A statement that is like s, but for what its caller sets. */
static Stmt *like(Steps *x, const Stmt *s)
{
    Stmt *r = graph_stmt(x->g);
    int id = r->id;

    *r = *s;
    r->id = id;
    return r;
}

/* whole[at, ..] = t[..] */
static void put_part(Steps *x, Tensor *whole, Tensor *t, int64_t at)
{
    Graph *g = x->g;
    int pos = x->last_write[t->id];
    Stmt *s = like(x, g->stmt[pos]);
    const Idx **from = arena_array(g->arena, const Idx *, t->rank + 1);

    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
    s->notes = 0;
    s->when = WHEN_RUN;
    s->tensor = whole;
    s->out = arena_array(g->arena, const Var *, t->rank + 1);
    s->store = arena_array(g->arena, const Idx *, t->rank + 1);
    s->n_out = t->rank;
    s->store[0] = idx_const(g->pool, at);
    for (int d = 0; d < t->rank; d++) {
        s->out[d] = idx_new_var(g->pool, "i", t->dim[d]);
        from[d] = s->store[d + 1] = idx_var(g->pool, s->out[d]);
    }
    s->value = expr_read(g, t, from, (Guard){0}, NULL);
    steps_insert(x, s, pos + 1);
}

static const Stack *make_stack(Steps *x, int i, int ready)
{
    Graph *g = x->g;
    const Tensor *t = x->m[0].v[i].t;
    int64_t dim[MAX_RANK];

    dim[0] = x->n_m;
    memcpy(dim + 1, t->dim, sizeof *dim * (size_t)t->rank);
    Stack *st = &VEC_PUSH(g->arena, x->stack, x->n_stack, x->cap_stack);
    *st = (Stack){.whole = graph_tensor_like(g, t, t->type, t->rank + 1, dim),
                  .part = arena_array(g->arena, Tensor *, x->n_m),
                  .at = arena_array(g->arena, int64_t, x->n_m),
                  .n = x->n_m,
                  .cap = x->n_m,
                  .ready = ready};
    st->whole->when = WHEN_RUN;
    st->whole->halves = t->halves;
    for (int m = 0; m < x->n_m; m++) {
        st->part[m] = x->m[m].v[i].t;
        st->at[m] = m;
        x->put[st->part[m]->id] = true;
        put_part(x, st->whole, st->part[m], m);
    }
    return st;
}

/* Where step 0's tensor is, and how far the next one's. */
static bool stack_steps(const Steps *x, const Stack *st, int i, int64_t *first,
                        int64_t *step)
{
    int64_t *v = arena_array(x->g->arena, int64_t, x->n_m);

    for (int m = 0; m < x->n_m; m++)
        v[m] = st->at[find_part(st, x->m[m].v[i].t)];
    *first = v[0];
    return in_steps(v, x->n_m, step);
}

static bool slice_steps(const Steps *x, int i, int64_t *first, int64_t *step)
{
    int64_t *v = arena_array(x->g->arena, int64_t, x->n_m);

    for (int m = 0; m < x->n_m; m++)
        v[m] = x->m[m].v[i].from;
    *first = v[0];
    return in_steps(v, x->n_m, step);
}

const Expr *steps_factor(Steps *x, int i, const Idx *t, int pos, bool build)
{
    Graph *g = x->g;
    const Expr *e = x->m[0].s->value->arg[i];
    const Varied *p = &x->m[0].v[i];
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    int64_t first = 0, step = 1;
    Guard in = e->in;
    Tensor *whole = e->tensor;
    int dim = p->dim, rank = e->tensor->rank;

    if (p->how == SAME)
        return e;
    if (p->how == SLICES && !slice_steps(x, i, &first, &step))
        return NULL;
    if (p->how == PARTS) {
        const Stack *st = steps_known(x, i, pos);
        int ready = steps_last_made(x, i);
        if (st && !stack_steps(x, st, i, &first, &step))
            st = NULL;
        if (!st && (ready == -2 || ready >= pos))
            return NULL;
        if (!build)
            return e;
        if (!st) {
            st = make_stack(x, i, ready);
            first = 0;
            step = 1;
        }
        whole = st->whole;
        dim = st->dim;
        rank++;
    }
    const Idx *here = idx_addc(g->pool, idx_scale(g->pool, t, step), first);
    for (int d = 0; d < rank; d++)
        at[d] = d == dim          ? here
                : p->how == PARTS ? e->at[d - (d > dim)]
                                  : e->at[d];
    if (p->only) {
        const Idx *v = idx_var(g->pool, p->only);
        in = guard_within(g->pool, (Guard){0}, v, p->at, p->at + x->n_m);
    }
    return expr_read(g, whole, at, in, in.n ? e->outside : NULL);
}

static const Var **put_first(Graph *g, const Var *t, const Var **list, int n)
{
    const Var **all = arena_array(g->arena, const Var *, n + 1);

    all[0] = t;
    memcpy(all + 1, list, sizeof *all * (size_t)n);
    return all;
}

Stmt *steps_widened(Steps *x, const Stmt *a, const Var *t)
{
    Graph *g = x->g;
    const Tensor *of = a->tensor;
    int64_t dim[MAX_RANK] = {x->n_m};
    Stmt *s = like(x, a);

    memcpy(dim + 1, of->dim, sizeof *dim * (size_t)of->rank);
    s->tensor = graph_tensor_like(g, of, of->type, of->rank + 1, dim);
    s->tensor->halves = of->halves;
    s->out = put_first(g, t, s->out, s->n_out++);
    s->store = arena_array(g->arena, const Idx *, of->rank + 1);
    s->store[0] = idx_var(g->pool, t);
    memcpy(s->store + 1, a->store, sizeof *s->store * (size_t)of->rank);
    return s;
}

Stmt *steps_joined(Steps *x, const Var *t, bool points, int pos)
{
    Graph *g = x->g;
    const Stmt *a = x->m[0].s;
    const Tensor *of = a->tensor;
    const Varied *p = x->m[0].v;
    const Varied *one = p[0].only ? &p[0] : p[1].only ? &p[1] : NULL;
    const Idx *step =
        one ? idx_addc(g->pool, idx_var(g->pool, one->only), -one->at)
            : idx_var(g->pool, t);
    const Expr *e[2];

    for (int i = 0; i < 2; i++)
        e[i] = steps_factor(x, i, step, pos, true);
    Stmt *s = points ? steps_widened(x, a, t) : like(x, a);
    if (!points) {
        s->tensor = graph_tensor_like(g, of, of->type, of->rank, of->dim);
        s->tensor->halves = of->halves;
        if (!one)
            s->red = put_first(g, t, s->red, s->n_red++);
    }
    s->value = expr_binary(g, F_MUL, e[0], e[1], a->value->type);
    steps_insert(x, s, pos);
    return s;
}

void steps_put_views(Steps *x, Tensor *whole, int pos)
{
    Graph *g = x->g;

    for (int m = 0; m < x->n_m; m++) {
        const Stmt *old = x->m[m].s;
        Stmt *s = like(x, old);
        x->last_write[old->tensor->id] = pos;
        x->gone[x->m[m].pos] = true;
        const Idx **at = arena_array(g->arena, const Idx *, whole->rank);
        at[0] = idx_const(g->pool, m);
        memcpy(at + 1, old->store, sizeof *at * (size_t)old->tensor->rank);
        s->op = R_NONE;
        s->red = NULL;
        s->n_red = 0;
        s->value = expr_read(g, whole, at, (Guard){0}, NULL);
        steps_insert(x, s, pos);
    }
}

const Expr *step_swap(Graph *g, const Expr *e, void *ctx)
{
    const Swap *w = ctx;

    if (e->kind != E_READ || e->tensor != w->t)
        return NULL;
    return w->by ? expr_read(g, w->by, e->at, (Guard){0}, NULL)
                 : expr_const(g, 0, e->type);
}

static void note_regrouped(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->regrouped;
}

/* From the first of the members' readers to the last, which has all of them,
 * sums so far are other ones. */
static void mark_regrouped(const Steps *x)
{
    const Graph *g = x->g;
    int first = g->n_stmt, last = 0;

    for (int m = 0; m < x->n_m; m++) {
        int at = x->first_read[x->m[m].s->tensor->id];
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    for (int i = first; i < last; i++) {
        bool found = false;
        for (int m = 0; m < x->n_m; m++)
            found |= i == x->first_read[x->m[m].s->tensor->id];
        expr_visit(g->stmt[i]->value, note_regrouped, &found);
        g->stmt[i]->tensor->regrouped |= found;
    }
}

void steps_put_sum(Steps *x, Tensor *sum, int pos)
{
    bool put = false;

    mark_regrouped(x);
    for (int m = 0; m < x->n_m; m++) {
        const Tensor *t = x->m[m].s->tensor;
        Stmt *r = x->g->stmt[x->first_read[t->id]];
        bool last = !put && x->first_read[t->id] == pos;
        Swap w = {t, last ? sum : NULL};
        r->value = expr_rewrite(x->g, r->value, step_swap, &w);
        put |= last;
    }
}
