#include "rewrite/steps.h"

#include "rewrite/steps_put.h"
#include "rewrite/walk.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST = 4 /* steps */ };

/* How a factor of a step differs from the first step's. */
/* ---- what reads and writes what */

typedef struct Note {
    Steps *x;
    int pos;
} Note;

static void note_read(const Expr *e, void *ctx)
{
    const Note *n = ctx;

    if (e->kind != E_READ)
        return;
    int id = e->tensor->id;
    if (!n->x->reads[id]++)
        n->x->first_read[id] = n->pos;
}

static void steps_open(Steps *x, Graph *g)
{
    Arena *a = g->arena;

    *x = (Steps){.g = g, .n = g->n_stmt, .n_tensor = g->n_tensor};
    x->writers = arena_array(a, int, g->n_tensor + 1);
    x->last_write = arena_array(a, int, g->n_tensor + 1);
    x->reads = arena_array(a, int, g->n_tensor + 1);
    x->first_read = arena_array(a, int, g->n_tensor + 1);
    x->older = arena_array(a, bool, g->n_tensor + 1);
    x->put = arena_array(a, bool, g->n_tensor + 1);
    x->root = arena_array(a, int, x->n + 1);
    x->tried[0] = arena_array(a, bool, x->n + 1);
    x->tried[1] = arena_array(a, bool, x->n + 1);
    x->gone = arena_array(a, bool, x->n + 1);
    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        x->last_write[i] = -1;
        if (t->prev)
            x->older[t->prev->id] = true;
        x->older[i] |= t->role == ROLE_STATE || tensor_is_trained(t);
    }
    for (int i = 0; i < x->n; i++) {
        Note n = {x, i};
        expr_visit(g->stmt[i]->value, note_read, &n);
        x->writers[g->stmt[i]->tensor->id]++;
        x->last_write[g->stmt[i]->tensor->id] = i;
    }
}

/* ---- sums of steps */

/* How often e adds t's element at the statement's own point. */
static int adds(const Stmt *s, const Expr *e, const Tensor *t)
{
    if (e->kind == E_BINARY && e->fn == F_ADD)
        return adds(s, e->arg[0], t) + adds(s, e->arg[1], t);
    if (e->kind != E_READ || e->tensor != t || e->in.n ||
        t->rank != s->tensor->rank)
        return 0;
    for (int d = 0; d < t->rank; d++)
        if (e->at[d] != s->store[d] || t->dim[d] != s->tensor->dim[d])
            return 0;
    return 1;
}

/* The one statement that reads t is one of a sum of such: where that ends. */
static int sum_end(const Steps *x, const Tensor *t)
{
    int end = -1;

    while (t->role == ROLE_TEMP && t->type == T_F32 && !x->older[t->id] &&
           x->reads[t->id] == 1 && x->writers[t->id] == 1) {
        int at = x->first_read[t->id];
        const Stmt *s = x->g->stmt[at];
        if (s->op != R_NONE || s->where.n || s->notes || s->when != WHEN_RUN ||
            adds(s, s->value, t) != 1)
            break;
        end = at;
        if (x->root[at]) /* known */
            return x->root[at] > 0 ? x->root[at] : at;
        t = s->tensor;
    }
    return end;
}

/* ---- a family */

static bool is_step(const Steps *x, int i)
{
    const Stmt *s = x->g->stmt[i];
    const Tensor *t = s->tensor;
    const Expr *a, *b;

    return s->when == WHEN_RUN && walk_product(s, &a, &b) && !s->where.n &&
           !s->notes && t->role == ROLE_TEMP && !t->prev &&
           x->writers[t->id] == 1 && !x->older[t->id] && t->rank < MAX_RANK &&
           a->tensor->rank < MAX_RANK && b->tensor->rank < MAX_RANK &&
           s->n_out + s->n_red < STEPS_VARS;
}

static Member *add_member(Steps *x, int pos, const Varied *p)
{
    Member *m = &VEC_PUSH(x->g->arena, x->m, x->n_m, x->cap_m);

    *m = (Member){.s = x->g->stmt[pos], .pos = pos};
    memcpy(m->v, p, sizeof m->v);
    return m;
}

static bool alike(const Varied *a, const Varied *b)
{
    return a->how == b->how && a->only == b->only &&
           (a->how != SLICES || a->dim == b->dim);
}

/* The first one's places, as the second's say how they vary. */
static void place_first(Steps *x)
{
    Member *m = &x->m[0];

    for (int i = 0; i < 2; i++) {
        const Expr *e = m->s->value->arg[i];
        const Varied *p = &x->m[1].v[i];
        const Var *v;
        m->v[i] = *p;
        m->v[i].t = e->tensor;
        if (p->how == SLICES)
            m->v[i].from = e->at[p->dim]->k;
        if (p->only)
            step_only(m->s, e->in, &v, &m->v[i].at);
    }
}

/* What varies of one of a kind: both factors, or the one. */
static bool of_kind(const Varied *p, bool both)
{
    int n = (p[0].how != SAME) + (p[1].how != SAME);

    for (int i = 0; i < 2; i++)
        if (p[i].only && (both || p[i].how == SAME))
            return false;
    return n == (both ? 2 : 1);
}

static int64_t elems_of(const Varied *v)
{
    int64_t n = tensor_elems(v->t);

    return v->how == SLICES ? n / v->t->dim[v->dim] : n;
}

/* See steps.h. */
static bool worth_it(const Stmt *s, const Varied *v, bool both)
{
    int64_t a = elems_of(&v[0]), b = elems_of(&v[1]);

    if (both)
        return a + b <= 2 * tensor_elems(s->tensor);
    return v[0].how == SAME ? b <= a : a <= b;
}

/* Statement i and those behind it that are like it. */
static void gather(Steps *x, int i, bool both)
{
    Varied p[2] = {{0}};

    x->n_m = 0;
    add_member(x, i, p);
    for (int k = i + 1; k < x->n; k++) {
        if (x->gone[k] || x->tried[both][k] || !is_step(x, k) ||
            (both && x->root[k] != x->root[i]) ||
            !step_match(x->g, x->g->stmt[i], x->g->stmt[k], p) ||
            !of_kind(p, both) || !worth_it(x->g->stmt[k], p, both))
            continue;
        bool summed = p[0].only || p[1].only;
        if ((summed && (x->root[k] <= 0 || x->root[k] != x->root[i])) ||
            (x->n_m > 1 &&
             !(alike(&x->m[1].v[0], &p[0]) && alike(&x->m[1].v[1], &p[1]))))
            continue;
        add_member(x, k, p);
    }
    if (x->n_m > 1)
        place_first(x);
}

/* ---- where it stands */

static bool overwritten(const Steps *x)
{
    for (int i = 0; i < 2; i++)
        for (int m = 0; m < x->n_m; m++)
            if (x->older[x->m[m].v[i].t->id])
                return true;
    return false;
}

/* The statement that alone reads member m's, if it is pointwise; -1. */
static int reader_of(const Steps *x, int m)
{
    const Tensor *t = x->m[m].s->tensor;
    int pos = x->first_read[t->id];
    const Stmt *r = x->g->stmt[pos];

    return x->reads[t->id] == 1 && r->op == R_NONE && r->when == WHEN_RUN &&
                   !r->where.n && !r->notes && !x->gone[pos] &&
                   r->tensor->role == ROLE_TEMP && !r->tensor->prev &&
                   x->writers[r->tensor->id] == 1 && !x->older[r->tensor->id] &&
                   !x->put[r->tensor->id] && r->tensor->rank < MAX_RANK &&
                   r->n_out < STEPS_VARS
               ? pos
               : -1;
}

typedef struct Asked {
    const Steps *x;
    const Tensor *but;
    int last; /* statement that writes something else that is read */
    bool over;
} Asked;

static void ask(const Expr *e, void *ctx)
{
    Asked *a = ctx;

    if (e->kind != E_READ || e->tensor == a->but)
        return;
    int id = e->tensor->id;
    bool known = id < a->x->n_tensor;
    if (known && a->x->last_write[id] > a->last)
        a->last = a->x->last_write[id];
    a->over |= !known || a->x->older[id];
}

/* Are all steps' readers one statement, but for the step that they read, which
 * may stand at `pos` and be read from there on? Their members are in m[]. */
static bool followed(Steps *x, int pos, Member *next)
{
    Graph *g = x->g;
    const Stmt *a = NULL;

    for (int m = 0; m < x->n_m; m++) {
        Subst map[STEPS_VARS];
        int at = reader_of(x, m);
        if (at < 0)
            return false;
        Stmt *r = g->stmt[at];
        Asked asked = {.x = x, .but = x->m[m].s->tensor, .last = -1};
        expr_visit(r->value, ask, &asked);
        a = a ? a : r;
        if (asked.over || asked.last >= pos || !step_map(g, a, r, map) ||
            (x->reads[r->tensor->id] && x->first_read[r->tensor->id] < pos))
            return false;
        Swap w = {asked.but, x->m[0].s->tensor};
        const Expr *e = expr_subst(g, r->value, map, r->n_out);
        if (!expr_equal(expr_rewrite(g, e, step_swap, &w), a->value))
            return false;
        next[m] = (Member){.s = r, .pos = at};
    }
    return true;
}

typedef struct Widen {
    const Tensor *t;
    Tensor *whole;
    const Var *step;
} Widen;

static const Expr *widen(Graph *g, const Expr *e, void *ctx)
{
    const Widen *w = ctx;

    if (e->kind != E_READ || e->tensor != w->t)
        return NULL;
    const Idx **at = arena_array(g->arena, const Idx *, w->whole->rank);
    at[0] = idx_var(g->pool, w->step);
    memcpy(at + 1, e->at, sizeof *at * (size_t)w->t->rank);
    return expr_read(g, w->whole, at, e->in, e->outside);
}

/* Pointwise statements behind the steps', one for all as well. */
static void follow(Steps *x, Tensor *whole, int pos)
{
    Member *next = arena_array(x->g->arena, Member, x->n_m);

    while (followed(x, pos, next)) {
        const Var *t = idx_new_var(x->g->pool, "step", x->n_m);
        Widen w = {x->m[0].s->tensor, whole, t};
        Stmt *s = steps_widened(x, next[0].s, t);
        s->value = expr_rewrite(x->g, next[0].s->value, widen, &w);
        steps_insert(x, s, pos);
        whole = s->tensor;
        memcpy(x->m, next, sizeof *next * (size_t)x->n_m);
        steps_put_views(x, whole, pos);
    }
}

/* Where somebody reads a step's product, or what may follow it. */
static int read_first(const Steps *x, int m, int last)
{
    const Tensor *t = x->m[m].s->tensor;
    int by = x->reads[t->id] ? x->first_read[t->id] : x->n;
    int at = by < last ? reader_of(x, m) : -1;

    if (at < 0)
        return by;
    t = x->g->stmt[at]->tensor;
    return x->reads[t->id] ? x->first_read[t->id] : x->n;
}

static bool read_before(const Steps *x, int pos)
{
    for (int m = 0; m < x->n_m; m++) {
        const Tensor *t = x->m[m].s->tensor;
        if (x->reads[t->id] && x->first_read[t->id] < pos)
            return true;
    }
    return false;
}

/* Before which statement the steps' one product may stand; -1: nowhere. The
 * first of them, or where nobody has read any of them, the last. */
static int find_place(const Steps *x)
{
    int first = x->m[0].pos, last = x->m[x->n_m - 1].pos, made = -1;
    int read = x->n;
    bool put = false;

    for (int m = 0; m < x->n_m; m++) {
        const Member *e = &x->m[m];
        int by = read_first(x, m, last);
        read = by < read ? by : read;
        put |= x->put[e->s->tensor->id];
        for (int i = 0; i < 2; i++)
            if (e->v[i].how != SAME && x->last_write[e->v[i].t->id] > made)
                made = x->last_write[e->v[i].t->id];
    }
    return made < first                             ? first
           : read > last && !put && !overwritten(x) ? last
                                                    : -1;
}

static int find_sum(const Steps *x)
{
    int pos = -1;

    for (int m = 0; m < x->n_m; m++) {
        int by = x->first_read[x->m[m].s->tensor->id];
        pos = by > pos ? by : pos;
    }
    return overwritten(x) ? -1 : pos;
}

static bool may_join(Steps *x, int pos)
{
    const Idx *t = idx_const(x->g->pool, 0);
    const Varied *p = x->m[0].v;

    for (int i = 0; i < 2; i++)
        if (!steps_factor(x, i, t, pos, false))
            return false;
    for (int m = 0; m < x->n_m; m++)
        for (int i = 0; i < 2; i++)
            if (p[i].only && x->m[m].v[i].at != p[i].at + m)
                return false;
    return true;
}

static bool join(Steps *x, bool both)
{
    if (x->n_m < FEWEST)
        return false;
    bool sum = both || x->m[0].v[0].only || x->m[0].v[1].only;
    int pos = sum ? find_sum(x) : find_place(x);
    if (pos < 0)
        return false;
    steps_order(x, pos);
    if (!may_join(x, pos) ||
        (!sum && read_before(x, pos) &&
         !followed(x, pos, arena_array(x->g->arena, Member, x->n_m))))
        return false;
    const Var *t = idx_new_var(x->g->pool, "step", x->n_m);
    Tensor *all = steps_joined(x, t, !sum, pos)->tensor;
    for (int m = 0; m < x->n_m; m++)
        x->gone[x->m[m].pos] = true;
    if (sum) {
        steps_put_sum(x, all, pos);
    } else {
        steps_put_views(x, all, pos);
        follow(x, all, pos);
    }
    return true;
}

/* ---- the pass */

/* Is s a copy of all of a tensor to one place of another? */
static bool fills(const Stmt *s, int *dim, int64_t *at)
{
    const Expr *e = s->value;
    int n = 0;

    *dim = -1;
    if (s->op != R_NONE || s->when != WHEN_RUN || s->where.n ||
        e->kind != E_READ || e->in.n || e->type != s->tensor->type ||
        s->tensor->prev || e->tensor->rank + 1 != s->tensor->rank)
        return false;
    for (int d = 0; d < s->tensor->rank; d++) {
        if (*dim < 0 && idx_is_const(s->store[d])) {
            *dim = d;
            *at = s->store[d]->k;
        } else if (n == e->tensor->rank || !idx_is_var(s->store[d]) ||
                   s->store[d] != e->at[n] ||
                   e->tensor->dim[n++] != s->tensor->dim[d]) {
            return false;
        }
    }
    return *dim >= 0;
}

/* Tensors that a user fills step by step. */
static void find_stacks(Steps *x)
{
    Arena *a = x->g->arena;
    int *of = arena_array(a, int, x->g->n_tensor + 1);
    int dim;
    int64_t at;

    for (int i = 0; i < x->n; i++) {
        const Stmt *s = x->g->stmt[i];
        if (!fills(s, &dim, &at) || x->older[s->tensor->id])
            continue;
        int *k = &of[s->tensor->id];
        if (!*k) {
            *k = x->n_stack + 1;
            Stack *st = &VEC_PUSH(a, x->stack, x->n_stack, x->cap_stack);
            *st = (Stack){.whole = s->tensor,
                          .dim = dim,
                          .cap = (int)s->tensor->dim[dim],
                          .ready = x->last_write[s->tensor->id]};
            st->part = arena_array(a, Tensor *, st->cap);
            st->at = arena_array(a, int64_t, st->cap);
        }
        Stack *st = &x->stack[*k - 1];
        if (st->dim != dim || st->n == st->cap)
            continue;
        st->part[st->n] = s->value->tensor;
        st->at[st->n++] = at;
    }
}

static int by_place(const void *a, const void *b)
{
    const Insert *x = a, *y = b;

    return x->before != y->before ? x->before - y->before : x->order - y->order;
}

static void put_statements(Steps *x)
{
    Graph *g = x->g;
    Stmt **all = arena_array(g->arena, Stmt *, x->n + x->n_insert + 1);
    int n = 0, k = 0;

    qsort(x->insert, (size_t)x->n_insert, sizeof *x->insert, by_place);
    for (int i = 0; i <= x->n; i++) {
        while (k < x->n_insert && x->insert[k].before == i)
            all[n++] = x->insert[k++].s;
        if (i < x->n && !x->gone[i])
            all[n++] = g->stmt[i];
    }
    g->stmt = all;
    g->n_stmt = g->cap_stmt = n;
}

static bool join_kind(Steps *x, bool both)
{
    bool any = false;

    for (int i = 0; i < x->n; i++) {
        if (x->gone[i] || x->tried[both][i] || !is_step(x, i) ||
            (both && x->root[i] <= 0))
            continue;
        gather(x, i, both);
        bool done = join(x, both);
        any |= done;
        for (int m = 0; m < x->n_m && !done; m++)
            x->tried[both][x->m[m].pos] = true;
    }
    return any;
}

bool join_steps(Graph *g)
{
    Steps x;

    steps_open(&x, g);
    for (int i = x.n - 1; i >= 0; i--)
        if (g->stmt[i]->op == R_NONE || is_step(&x, i))
            x.root[i] = sum_end(&x, g->stmt[i]->tensor);
    find_stacks(&x);
    bool any = join_kind(&x, true);
    any |= join_kind(&x, false);
    if (any)
        put_statements(&x);
    return any;
}
