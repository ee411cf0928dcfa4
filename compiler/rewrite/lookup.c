/* lookup.c - lookups in several tables into one buffer become one.
 *
 * n statements z[.., k + i, ..] = table_i[id_i, ..], of which only the table,
 * its number of rows and constants that grow with i differ, become one with a
 * further variable i < n; the tables are put behind each other once, at load
 * time. What differs from table to table, where it begins and which row is its
 * last, are tensors of n integers, unless all have as many rows. */
#include "rewrite/simplify.h"

#include <stdlib.h>

typedef struct Lookup {
    Stmt *s;
    int place;      /* among the statements */
    int dim;        /* of what is stored: the number that grows */
    int gathered;   /* the table's dimension that data say */
    const Expr *id; /* the data: a read */
    int id_dim;     /* its dimension that is a number that grows; or -1 */
    bool clamped;
} Lookup;

typedef struct Lookups {
    Graph *g;
    int *readers; /* by tensor id: statements */
    Lookup *found;
    int n, cap;
} Lookups;

/* ---- one lookup */

/* e's only atom, if e is nothing else. */
static const Atom *only_atom(const Idx *e)
{
    return e->n == 1 && e->term[0].c == 1 && !e->k ? e->term[0].atom : NULL;
}

/* What stands beside the number k in such a minimum or maximum; or NULL. */
static const Idx *beside(const Atom *a, AtomKind kind, int64_t k)
{
    if (!a || a->kind != kind)
        return NULL;
    if (idx_is_const(a->b) && a->b->k == k)
        return a->a;
    return idx_is_const(a->a) && a->a->k == k ? a->b : NULL;
}

/* The data of `{id}` and of `min(max({id}, 0), rows - 1)`. */
static const Expr *data_of(const Idx *e, int64_t rows, bool *clamped)
{
    const Atom *a = only_atom(e);
    const Idx *in = beside(a, ATOM_MIN, rows - 1);

    *clamped = in != NULL;
    if (in) {
        a = only_atom(in);
        in = beside(a, ATOM_MAX, 0);
        a = in ? only_atom(in) : a;
    }
    return a && a->kind == ATOM_DATA && a->data && a->data->kind == E_READ &&
                   !a->data->in.n
               ? a->data
               : NULL;
}

static void count_reader(const Expr *e, void *ctx)
{
    Lookups *l = ctx;

    if (e->kind == E_READ)
        l->readers[e->tensor->id]++;
}

static bool is_lookup(const Lookups *l, Stmt *s, int place, Lookup *f)
{
    const Expr *e = s->value;
    const Tensor *w = e->tensor;

    if (s->op != R_NONE || s->when != WHEN_RUN || s->where.n || s->notes ||
        s->tensor->prev || e->kind != E_READ || e->in.n ||
        w->role != ROLE_PARAM || l->readers[w->id] != 1)
        return false;
    *f = (Lookup){
        .s = s, .place = place, .dim = -1, .gathered = -1, .id_dim = -1};
    for (int d = 0; d < w->rank; d++)
        if (idx_has_data(e->at[d])) {
            if (f->gathered >= 0)
                return false;
            f->gathered = d;
        }
    if (f->gathered < 0)
        return false;
    f->id = data_of(e->at[f->gathered], w->dim[f->gathered], &f->clamped);
    return f->id != NULL;
}

/* ---- several of one form */

typedef struct Same {
    IdxPool *pool;
    Subst map[MAX_RANK * 2]; /* b's variables in a's */
    int n;
} Same;

/* Are a and b equal but for numbers in one dimension, which becomes *but if
 * none is known yet? */
static bool equal_but(const Same *x, const Idx *const *a, const Idx *const *b,
                      int rank, int *but)
{
    for (int d = 0; d < rank; d++) {
        if (idx_subst(x->pool, b[d], x->map, x->n) == a[d])
            continue;
        if (!idx_is_const(a[d]) || !idx_is_const(b[d]) ||
            (*but >= 0 && *but != d))
            return false;
        *but = d;
    }
    return true;
}

/* Is b what a is, but for its table and for numbers? a learns which. */
static bool alike(Graph *g, Lookup *a, const Lookup *b)
{
    const Stmt *s = a->s, *t = b->s;
    const Tensor *v = s->value->tensor, *w = t->value->tensor;
    const Expr *i = a->id, *k = b->id;
    Same x = {.pool = g->pool, .n = s->n_out};
    int dim = a->dim, id_dim = a->id_dim;

    if (s->tensor != t->tensor || s->n_out != t->n_out ||
        s->n_out > MAX_RANK * 2 || v->type != w->type || v->rank != w->rank ||
        a->gathered != b->gathered || a->clamped != b->clamped ||
        i->tensor != k->tensor)
        return false;
    for (int d = 0; d < v->rank; d++)
        if (d != a->gathered && v->dim[d] != w->dim[d])
            return false;
    for (int n = 0; n < s->n_out; n++) {
        if (s->out[n]->extent != t->out[n]->extent)
            return false;
        x.map[n] = (Subst){t->out[n], idx_var(g->pool, s->out[n])};
    }
    for (int d = 0; d < v->rank; d++)
        if (d != a->gathered &&
            idx_subst(g->pool, t->value->at[d], x.map, x.n) != s->value->at[d])
            return false;
    if (!equal_but(&x, s->store, t->store, s->tensor->rank, &dim) || dim < 0 ||
        !equal_but(&x, i->at, k->at, i->tensor->rank, &id_dim))
        return false;
    a->dim = dim;
    a->id_dim = id_dim;
    return true;
}

static int64_t stored_at(const Lookup *f)
{
    return f->s->store[f->dim]->k;
}

static int64_t id_at(const Lookup *f)
{
    return f->id_dim < 0 ? 0 : f->id->at[f->id_dim]->k;
}

static int by_place(const void *x, const void *y)
{
    int64_t a = stored_at(x), b = stored_at(y);

    return a < b ? -1 : a > b;
}

/* How many of list[0..n), in order, follow each other in equal steps. */
static int in_steps(const Lookup *list, int n)
{
    int k = n > 1 ? 2 : n;

    while (k < n && k > 1 &&
           stored_at(&list[k]) - stored_at(&list[k - 1]) ==
               stored_at(&list[1]) - stored_at(&list[0]) &&
           id_at(&list[k]) - id_at(&list[k - 1]) ==
               id_at(&list[1]) - id_at(&list[0]))
        k++;
    return k;
}

/* ---- as one */

static int64_t rows_of(const Lookup *f)
{
    return f->s->value->tensor->dim[f->gathered];
}

static Tensor *load_tensor(Graph *g, const Lookup *f, const char *what, Type t,
                           int rank, const int64_t *dim)
{
    Tensor *x = graph_tensor(g, what, t, rank, dim);

    x->path = f->s->tensor->path;
    x->at = f->s->tensor->at;
    x->when = WHEN_LOAD;
    return x;
}

/* all[begin + r, ..] = table[r, ..] */
static void put_behind(Graph *g, const Lookup *f, Tensor *all, int64_t begin)
{
    Tensor *w = f->s->value->tensor;
    Stmt *c = load_copy(g, w, f->s->value->at);
    const Idx **store = arena_array(g->arena, const Idx *, w->rank);

    memcpy(store, c->store, sizeof *store * (size_t)w->rank);
    store[f->gathered] = idx_addc(g->pool, store[f->gathered], begin);
    c->store = store;
    c->tensor = all;
}

/* t[i] = the sum of step[j], j <= i. */
static Tensor *running(Graph *g, const Lookup *f, const char *what,
                       const int64_t *step, int n)
{
    int64_t dim = n;
    Tensor *t = load_tensor(g, f, what, T_I32, 1, &dim);
    Stmt *c = load_stmt(g, f->s->value->tensor);
    const Expr *e = expr_const(g, (double)step[0], T_I32);
    const Expr *zero = expr_const(g, 0, T_I32);

    c->path =
        arena_printf(g->arena, "%s%s%s", t->path, *t->path ? "." : "", what);
    c->tensor = t;
    c->n_out = 1;
    c->out = arena_array(g->arena, const Var *, 1);
    c->out[0] = idx_new_var(g->pool, "i", n);
    c->store = arena_array(g->arena, const Idx *, 1);
    c->store[0] = idx_var(g->pool, c->out[0]);
    const Expr *i = expr_index(g, c->store[0]);
    for (int j = 1; j < n; j++) {
        if (!step[j])
            continue;
        const Expr *from =
            expr_binary(g, F_GE, i, expr_const(g, j, T_I32), T_BOOL);
        const Expr *more = expr_const(g, (double)step[j], T_I32);
        e = expr_binary(g, F_ADD, e, expr_select(g, from, more, zero, T_I32),
                        T_I32);
    }
    c->value = e;
    return t;
}

/* What t has for i, from lo to hi. */
static const Idx *entry(Graph *g, Tensor *t, const Idx *i, int64_t lo,
                        int64_t hi)
{
    const Idx **at = arena_array(g->arena, const Idx *, 1);

    at[0] = i;
    return idx_data(g->pool, expr_read(g, t, at, (Guard){0}, NULL), lo, hi);
}

/* The row of all tables that lookup i means: as the first, at numbers that
 * grow with i, behind those of the tables before. */
static const Idx *row_of(Graph *g, const Lookup *f, int n, const Idx *i,
                         int64_t all, int64_t most)
{
    const Expr *e = f->id;
    int64_t *begin = arena_array(g->arena, int64_t, n);
    int64_t *last = arena_array(g->arena, int64_t, n);
    bool equal = true;

    for (int k = 0; k < n; k++) {
        begin[k] = k ? rows_of(&f[k - 1]) : 0;
        last[k] = k ? rows_of(&f[k]) - rows_of(&f[k - 1]) : rows_of(f) - 1;
        equal &= !k || !last[k];
    }
    if (f->id_dim >= 0) {
        const Idx **at = arena_array(g->arena, const Idx *, e->tensor->rank);
        memcpy(at, e->at, sizeof *at * (size_t)e->tensor->rank);
        at[f->id_dim] = idx_addc(
            g->pool, idx_scale(g->pool, i, id_at(&f[1]) - id_at(f)), id_at(f));
        e = expr_read(g, e->tensor, at, (Guard){0}, NULL);
    }
    const Idx *id = idx_data(g->pool, e, f->clamped ? INT32_MIN : 0,
                             f->clamped ? INT32_MAX : most - 1);
    if (f->clamped) {
        const Idx *top =
            equal ? idx_const(g->pool, most - 1)
                  : entry(g, running(g, f, "last", last, n), i, 0, most - 1);
        id = idx_min(g->pool, idx_max(g->pool, id, idx_const(g->pool, 0)), top);
    }
    return idx_add(
        g->pool, id,
        equal ? idx_scale(g->pool, i, most)
              : entry(g, running(g, f, "begin", begin, n), i, 0, all - 1));
}

/* The tables behind each other; `most`: the rows of the longest. */
static Tensor *all_tables(Graph *g, const Lookup *f, int n, int64_t *most)
{
    const Tensor *first = f->s->value->tensor;
    int64_t dim[MAX_RANK], begin = 0;

    *most = 0;
    memcpy(dim, first->dim, sizeof dim);
    dim[f->gathered] = 0;
    for (int k = 0; k < n; k++) {
        dim[f->gathered] += rows_of(&f[k]);
        *most = rows_of(&f[k]) > *most ? rows_of(&f[k]) : *most;
    }
    Tensor *all = load_tensor(g, f, "tables", first->type, first->rank, dim);
    for (int k = 0; k < n; k++) {
        put_behind(g, &f[k], all, begin);
        begin += rows_of(&f[k]);
    }
    return all;
}

/* v and a's variables, as they lie in the result. */
static void set_points(Graph *g, Stmt *s, const Lookup *f, const Var *v)
{
    const Stmt *a = f->s;

    s->out = arena_array(g->arena, const Var *, a->n_out + 1);
    s->n_out = 0;
    for (int d = 0; d < a->tensor->rank; d++) {
        if (d == f->dim)
            s->out[s->n_out++] = v;
        for (int o = 0; o < a->n_out; o++)
            if (d != f->dim && idx_uses(a->store[d], a->out[o]))
                s->out[s->n_out++] = a->out[o];
    }
}

/* The last of them becomes all: what they read has been made there. */
static void join(Graph *g, const Lookup *f, int n)
{
    const Lookup *last = f;
    const Stmt *a = f->s;
    Stmt made = *a;
    int64_t most;
    Tensor *all = all_tables(g, f, n, &most);
    const Var *v = idx_new_var(g->pool, "part", n);
    const Idx *i = idx_var(g->pool, v);
    const Idx **at = arena_array(g->arena, const Idx *, all->rank);
    const Idx **store = arena_array(g->arena, const Idx *, a->tensor->rank);

    for (int k = 1; k < n; k++)
        last = f[k].place > last->place ? &f[k] : last;
    memcpy(at, a->value->at, sizeof *at * (size_t)all->rank);
    at[f->gathered] = row_of(g, f, n, i, all->dim[f->gathered], most);
    memcpy(store, a->store, sizeof *store * (size_t)a->tensor->rank);
    store[f->dim] = idx_addc(
        g->pool, idx_scale(g->pool, i, stored_at(&f[1]) - stored_at(f)),
        stored_at(f));
    made.id = last->s->id;
    made.store = store;
    made.value = expr_read(g, all, at, (Guard){0}, NULL);
    set_points(g, &made, f, v);
    for (int k = 0; k < n; k++)
        if (&f[k] != last)
            f[k].s->tensor = NULL;
    *last->s = made;
}

static void drop_joined(Graph *g)
{
    int kept = 0;

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor)
            g->stmt[kept++] = g->stmt[i];
    g->n_stmt = kept;
}

/* Each variable of the result has a dimension of its own there. */
static bool plain_store(const Stmt *s)
{
    int used = 0;

    for (int d = 0; d < s->tensor->rank; d++) {
        if (s->store[d]->n > 1)
            return false;
        used += s->store[d]->n;
    }
    for (int i = 0; i < s->n_out; i++)
        used -= s->out[i]->extent > 1;
    return used == 0;
}

/* Those like list[0] to the front; how many these are. */
static int gather_alike(Graph *g, Lookup *list, int n)
{
    int k = 1;

    for (int i = 1; i < n; i++)
        if (alike(g, &list[0], &list[i])) {
            Lookup f = list[i];
            memmove(&list[k + 1], &list[k], sizeof f * (size_t)(i - k));
            list[k++] = f;
        }
    for (int i = 1; i < k; i++) {
        list[i].dim = list[0].dim;
        list[i].id_dim = list[0].id_dim;
    }
    return k;
}

static bool few_rows(const Lookup *f, int n)
{
    int64_t rows = 0;

    for (int i = 0; i < n; i++)
        rows += rows_of(&f[i]);
    return rows < INT32_MAX / 2;
}

void stack_lookups(Graph *g)
{
    Lookups l = {.g = g};

    l.readers = arena_array(g->arena, int, g->n_tensor + 1);
    for (int i = 0; i < g->n_stmt; i++)
        expr_visit(g->stmt[i]->value, count_reader, &l);
    for (int i = 0; i < g->n_stmt; i++) {
        Lookup f;
        if (is_lookup(&l, g->stmt[i], i, &f) && plain_store(f.s))
            VEC_PUSH(g->arena, l.found, l.n, l.cap) = f;
    }
    for (Lookup *f = l.found, *end = l.found + l.n; f < end;) {
        int same = gather_alike(g, f, (int)(end - f));
        if (same > 1)
            qsort(f, (size_t)same, sizeof *f, by_place);
        for (int n; same; f += n, same -= n) {
            n = in_steps(f, same);
            if (n > 1 && stored_at(&f[1]) > stored_at(f) && few_rows(f, n))
                join(g, f, n);
        }
    }
    drop_joined(g);
}
