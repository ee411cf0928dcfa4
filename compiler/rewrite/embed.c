#include "rewrite/embed.h"

#include <string.h>

enum {
    BASE = 16, /* bytes: what every load and every box of memory asks for */
    MOST_ALIGN = 256,
    MOST_PARTS = 8
};

static bool may_move(const Tensor *t)
{
    return t->role == ROLE_TEMP && t->when == WHEN_RUN && !t->prev &&
           !t->host && !t->astride;
}

static bool is_sum_of_vars(const Idx *e)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->kind != ATOM_VAR || e->term[i].c < 1)
            return false;
    return true;
}

/* Each dimension of what is read is one of s's variables, which says where in
 * one dimension it is stored: alone, if not `many` do. */
static bool maps_dims(const Stmt *s, const Expr *read, int *dim, bool many)
{
    const Tensor *a = read->tensor, *t = s->tensor;
    int of[MAX_RANK];

    for (int d = 0; d < t->rank; d++) {
        const Idx *e = s->store[d];
        if ((e->n > 1 && !many) || !is_sum_of_vars(e))
            return false;
    }
    memset(of, -1, sizeof of);
    for (int i = 0; i < a->rank; i++) {
        const Var *v = idx_is_var(read->at[i]);
        dim[i] = -1;
        if (!v && !(idx_is_const(read->at[i]) && a->dim[i] == 1))
            return false;
        for (int d = 0; v && d < t->rank; d++)
            if (idx_uses(s->store[d], v)) {
                if (dim[i] >= 0 || (of[d] >= 0 && !many) ||
                    v->extent != a->dim[i])
                    return false;
                dim[i] = d;
                of[d] = i;
            }
        if (v && v->extent > 1 && dim[i] < 0)
            return false;
    }
    return true;
}

static Tensor *copied(const Stmt *s, int *dim, bool many)
{
    const Expr *e = s->value;

    if (s->op != R_NONE || s->when != WHEN_RUN || s->where.n || s->notes ||
        e->kind != E_READ || e->in.n || e->tensor->type != s->tensor->type ||
        e->tensor == s->tensor || !may_move(e->tensor) ||
        s->tensor->role != ROLE_TEMP || s->tensor->prev)
        return NULL;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i]->extent > 1 && !expr_uses(e, s->out[i]))
            return NULL; /* copied many times */
    return maps_dims(s, e, dim, many) ? e->tensor : NULL;
}

Tensor *embed_copied(const Stmt *s, int *dim)
{
    return copied(s, dim, false);
}

static int64_t power_of_two(int64_t n, int64_t most)
{
    int64_t p = 1;

    while (p < most && n % (2 * p) == 0)
        p *= 2;
    return p;
}

/* Where a would lie. */
typedef struct Berth {
    int64_t stride[MAX_RANK], first, span;
    int64_t align; /* bytes, of all rows */
} Berth;

static Berth berth(const Stmt *s, const Tensor *a, const int *dim)
{
    const Tensor *t = s->tensor;
    int bytes = type_bytes(t->type);
    Berth b = {.span = 1, .align = MOST_ALIGN};

    for (int d = 0; d < t->rank; d++)
        b.first += s->store[d]->k * t->stride[d];
    for (int i = 0; i < a->rank; i++) {
        const Var *v = idx_is_var(s->value->at[i]);
        b.stride[i] = dim[i] < 0 || !v ? a->stride[i]
                                       : idx_coef(s->store[dim[i]], v) *
                                             t->stride[dim[i]];
        b.span += (a->dim[i] - 1) * b.stride[i];
        if (a->dim[i] > 1 && b.stride[i] > 1)
            b.align = power_of_two(b.stride[i] * bytes, b.align);
    }
    b.align = power_of_two(b.first * bytes, b.align);
    return b;
}

/* Does every dimension move in steps that are aligned as well as before, as
 * far as a vector goes, and is one contiguous if one was? */
static bool as_good(const Tensor *a, const Berth *b)
{
    int bytes = type_bytes(a->type);

    if (b->first * bytes % BASE)
        return false;
    for (int i = 0; i < a->rank; i++) {
        bool unit = a->stride[i] == 1;
        if (unit ? a->dim[i] > 1 && b->stride[i] != 1
                 : power_of_two(b->stride[i] * bytes, BASE) <
                       power_of_two(a->stride[i] * bytes, BASE))
            return false;
    }
    return true;
}

static void settle(Tensor *a, Tensor *host, const Berth *b)
{
    a->host = host;
    a->first = b->first;
    a->span = b->span;
    a->align = (int)b->align;
    memcpy(a->stride, b->stride, sizeof a->stride);
}

static bool move_in(Stmt *s)
{
    int dim[MAX_RANK];
    Tensor *a = embed_copied(s, dim);

    if (!a)
        return false;
    Berth b = berth(s, a, dim);
    if (!as_good(a, &b))
        return false;
    settle(a, s->tensor, &b);
    return true;
}

/* ---- a sum of which one term is there at a time -------------------------- */

/* The terms of a gradient of what is read in parts, each of which is 0 beyond
 * its own. */
typedef struct Parts {
    const Expr *read[MOST_PARTS];
    int n;
    const Var *by; /* what says which part it is */
    int64_t from[MOST_PARTS], upto[MOST_PARTS]; /* of it, inclusive */
} Parts;

static bool find_parts(const Expr *e, Parts *p)
{
    if (e->kind == E_BINARY && e->fn == F_ADD && !e->arg[2])
        return find_parts(e->arg[0], p) && find_parts(e->arg[1], p);
    if (e->kind != E_READ || !e->in.n || e->outside->kind != E_CONST ||
        e->outside->num != 0 || p->n == MOST_PARTS)
        return false;
    p->read[p->n++] = e;
    return true;
}

/* Where part i is there: an interval of one variable, that of all. */
static bool find_interval(Parts *p, int i)
{
    const Guard in = p->read[i]->in;

    for (int k = 0; k < in.n; k++) {
        const Idx *e = in.cond[k].e;
        if (in.cond[k].mod || e->n != 1 || e->term[0].atom->kind != ATOM_VAR ||
            (e->term[0].c != 1 && e->term[0].c != -1))
            return false;
        const Var *v = e->term[0].atom->var;
        if (p->by && v != p->by)
            return false;
        if (!p->by || !k) {
            p->by = v;
            p->from[i] = 0;
            p->upto[i] = v->extent - 1;
        }
        if (e->term[0].c > 0 && -e->k > p->from[i])
            p->from[i] = -e->k;
        if (e->term[0].c < 0 && e->k < p->upto[i])
            p->upto[i] = e->k;
    }
    return p->from[i] <= p->upto[i];
}

/* Whether at each point one of them is there. */
static bool take_turns(const Parts *p)
{
    int64_t all = 0;

    for (int i = 0; i < p->n; i++) {
        all += p->upto[i] - p->from[i] + 1;
        for (int k = 0; k < i; k++)
            if (p->from[i] <= p->upto[k] && p->from[k] <= p->upto[i])
                return false;
    }
    return all == p->by->extent;
}

/* The statement that copies part i. */
static Stmt *copy_of(Graph *g, const Stmt *s, const Parts *p, int i)
{
    const Expr *e = p->read[i];
    Stmt *c = arena_new_of(g->arena, Stmt);
    const Var *v = idx_new_var(g->pool, p->by->name,
                               p->upto[i] - p->from[i] + 1);
    Subst as = {p->by, idx_addc(g->pool, idx_var(g->pool, v), p->from[i])};
    const Idx **store = arena_array(g->arena, const Idx *, s->tensor->rank + 1);

    *c = *s;
    c->out = arena_array(g->arena, const Var *, s->n_out + 1);
    for (int k = 0; k < s->n_out; k++)
        c->out[k] = s->out[k] == p->by ? v : s->out[k];
    for (int d = 0; d < s->tensor->rank; d++)
        store[d] = idx_subst(g->pool, s->store[d], &as, 1);
    c->store = store;
    c->value = expr_subst(g, expr_read(g, e->tensor, e->at, (Guard){0}, NULL),
                          &as, 1);
    return c;
}

/* All of them, or none: what copies the others reads these anyway. */
static bool move_parts(Graph *g, Stmt *s)
{
    Parts p = {.n = 0};
    Berth b[MOST_PARTS];

    if (s->op != R_NONE || s->needed.n || !find_parts(s->value, &p) || p.n < 2)
        return false;
    for (int i = 0; i < p.n; i++)
        if (!find_interval(&p, i))
            return false;
    if (!take_turns(&p))
        return false;
    for (int i = 0; i < p.n; i++) {
        int dim[MAX_RANK];
        const Stmt *c = copy_of(g, s, &p, i);
        const Tensor *a = copied(c, dim, true);
        for (int k = 0; k < i && a; k++)
            if (p.read[k]->tensor == a)
                return false;
        if (!a)
            return false;
        b[i] = berth(c, a, dim);
        if (!as_good(a, &b[i]))
            return false;
    }
    for (int i = 0; i < p.n; i++)
        settle(p.read[i]->tensor, s->tensor, &b[i]);
    return true;
}

/* ---- parts that are packed ---------------------------------------------- */

/* The part that a statement of load time stores of a tensor that others pack
 * too, if it is one piece, as a tensor of its own: parts of equal shape share
 * their kernel. Each of its variables says alone where in one dimension. */
static Tensor *part_of(Graph *g, const Stmt *s)
{
    Tensor *t = s->tensor;
    int bytes = type_bytes(t->type), rank = 0;
    int64_t extent[MAX_RANK], stride[MAX_RANK], first = 0;
    int64_t align = MOST_ALIGN, span = 1, elements = 1;

    for (int d = 0; d < t->rank; d++) {
        const Idx *e = s->store[d];
        first += e->k * t->stride[d];
        if (!e->n)
            continue;
        if (e->n > 1 || e->term[0].atom->kind != ATOM_VAR || e->term[0].c < 1)
            return NULL;
        const Var *v = e->term[0].atom->var;
        for (int i = 0; i < d; i++)
            if (idx_uses(s->store[i], v))
                return NULL;
        stride[rank] = e->term[0].c * t->stride[d];
        span += (v->extent - 1) * stride[rank];
        if (v->extent > 1 && stride[rank] > 1)
            align = power_of_two(stride[rank] * bytes, align);
        elements *= extent[rank++] = v->extent;
    }
    if (rank != s->n_out || !rank || span != elements || span == t->span ||
        first * bytes % BASE)
        return NULL;
    Tensor *part = graph_tensor_like(g, t, t->type, rank, extent);
    part->says = t->says;
    part->host = t;
    part->first = first;
    part->span = span;
    part->align = (int)power_of_two(first * bytes, align);
    memcpy(part->stride, stride, sizeof part->stride);
    return part;
}

static void pack_in_parts(Graph *g, Stmt *s)
{
    if (s->when != WHEN_LOAD || s->where.n || s->tensor->prev ||
        s->tensor->host || s->tensor->role != ROLE_TEMP)
        return;
    Tensor *part = part_of(g, s);
    if (!part)
        return;
    const Idx **store = arena_array(g->arena, const Idx *, part->rank);
    for (int d = 0, k = 0; d < s->tensor->rank; d++)
        if (s->store[d]->n)
            store[k++] = idx_var(g->pool, s->store[d]->term[0].atom->var);
    s->store = store;
    s->tensor = part;
}

/* From the last on: a host knows where it lies itself when its guests come. */
void embed(Graph *g)
{
    bool *gone = arena_array(g->arena, bool, g->n_stmt + 1);
    int kept = 0;

    for (int i = g->n_stmt - 1; i >= 0; i--)
        gone[i] = move_in(g->stmt[i]) || move_parts(g, g->stmt[i]);
    for (int i = 0; i < g->n_stmt; i++)
        if (!gone[i])
            g->stmt[kept++] = g->stmt[i];
    g->n_stmt = kept;
    for (int i = 0; i < g->n_stmt; i++)
        pack_in_parts(g, g->stmt[i]);
}
