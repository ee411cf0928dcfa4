#include "rewrite/embed.h"

#include <string.h>

enum {
    BASE = 16, /* bytes: what every load and every box of memory asks for */
    MOST_ALIGN = 256
};

static bool may_move(const Tensor *t)
{
    return t->role == ROLE_TEMP && t->when == WHEN_RUN && !t->prev &&
           !t->host && !t->astride;
}

/* Each dimension of what is read is one of s's variables, which alone says
 * where in one dimension it is stored. */
static bool maps_dims(const Stmt *s, const Expr *read, int *dim)
{
    const Tensor *a = read->tensor, *t = s->tensor;
    int of[MAX_RANK];

    for (int d = 0; d < t->rank; d++) {
        const Idx *e = s->store[d];
        if (e->n > 1 ||
            (e->n && (e->term[0].atom->kind != ATOM_VAR || e->term[0].c < 1)))
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
                if (dim[i] >= 0 || of[d] >= 0 || v->extent != a->dim[i])
                    return false;
                dim[i] = d;
                of[d] = i;
            }
        if (v && v->extent > 1 && dim[i] < 0)
            return false;
    }
    return true;
}

Tensor *embed_copied(const Stmt *s, int *dim)
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
    return maps_dims(s, e, dim) ? e->tensor : NULL;
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
        const Idx *e = dim[i] < 0 ? NULL : s->store[dim[i]];
        b.stride[i] =
            e && e->n ? e->term[0].c * t->stride[dim[i]] : a->stride[i];
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

static bool move_in(Stmt *s)
{
    int dim[MAX_RANK];
    Tensor *a = embed_copied(s, dim);

    if (!a)
        return false;
    Berth b = berth(s, a, dim);
    if (!as_good(a, &b))
        return false;
    a->host = s->tensor;
    a->first = b.first;
    a->span = b.span;
    a->align = (int)b.align;
    memcpy(a->stride, b.stride, sizeof a->stride);
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
        gone[i] = move_in(g->stmt[i]);
    for (int i = 0; i < g->n_stmt; i++)
        if (!gone[i])
            g->stmt[kept++] = g->stmt[i];
    g->n_stmt = kept;
    for (int i = 0; i < g->n_stmt; i++)
        pack_in_parts(g, g->stmt[i]);
}
