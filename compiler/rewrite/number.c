#include "rewrite/number.h"

#include "rewrite/simplify.h"

/* ---- expressions that are made once */

typedef struct Interned {
    const Expr **node; /* open addressing; NULL: free */
    size_t n, cap;
} Interned;

/* A double of few digits has its bits at the top, which a product alone leaves
 * there. */
static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t mix_part(uint64_t h, const void *part)
{
    return mix(h, (uintptr_t)part >> 4);
}

static bool commutes(const Expr *e)
{
    return e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_MUL);
}

static uint64_t hash_read(uint64_t h, const Expr *e)
{
    h = mix_part(h, e->tensor);
    for (int d = 0; d < e->tensor->rank; d++)
        h = mix_part(h, e->at[d]);
    for (int i = 0; i < e->in.n; i++)
        h = mix(mix_part(h, e->in.cond[i].e), (uint64_t)e->in.cond[i].mod);
    return mix_part(h, e->outside);
}

static uint64_t hash_node(const Expr *e)
{
    uint64_t h = mix(mix(mix(1, e->kind), e->type), e->fn), num;

    memcpy(&num, &e->num, sizeof num);
    if (e->kind == E_CONST)
        h = mix(h, num);
    if (e->kind == E_INDEX)
        h = mix_part(h, e->idx);
    if (e->kind == E_READ)
        h = hash_read(h, e);
    if (commutes(e))
        return mix(h, mix_part(1, e->arg[0]) + mix_part(1, e->arg[1]));
    for (int i = 0; i < 3; i++)
        h = mix_part(h, e->arg[i]);
    return h;
}

static bool same_read(const Expr *a, const Expr *b)
{
    if (a->tensor != b->tensor || a->outside != b->outside ||
        a->in.n != b->in.n)
        return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->at[d] != b->at[d])
            return false;
    for (int i = 0; i < a->in.n; i++)
        if (a->in.cond[i].e != b->in.cond[i].e ||
            a->in.cond[i].mod != b->in.cond[i].mod)
            return false;
    return true;
}

/* Are two nodes equal whose parts are made once? */
static bool same_node(const Expr *a, const Expr *b)
{
    if (a->kind != b->kind || a->type != b->type || a->fn != b->fn)
        return false;
    if (a->kind == E_CONST) /* bits: -0 and 0 differ */
        return !memcmp(&a->num, &b->num, sizeof a->num);
    if (a->kind == E_INDEX)
        return a->idx == b->idx;
    if (a->kind == E_LOCAL)
        return a->local == b->local;
    if (a->kind == E_READ)
        return same_read(a, b);
    if (commutes(a) && !a->arg[2] && a->arg[0] == b->arg[1] &&
        a->arg[1] == b->arg[0])
        return true;
    return a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] &&
           a->arg[2] == b->arg[2];
}

static const Expr **find_node(const Expr **node, size_t cap, const Expr *e)
{
    size_t i = (size_t)(hash_node(e) >> 20) & (cap - 1);

    while (node[i] && !same_node(node[i], e))
        i = (i + 1) & (cap - 1);
    return &node[i];
}

static void grow(Arena *a, Interned *t)
{
    size_t cap = t->cap ? 4 * t->cap : 64;
    const Expr **node = arena_array(a, const Expr *, cap);

    for (size_t i = 0; i < t->cap; i++)
        if (t->node[i])
            *find_node(node, cap, t->node[i]) = t->node[i];
    t->node = node;
    t->cap = cap;
}

static const Expr *intern(Graph *g, const Expr *e, void *ctx)
{
    Interned *once = ctx;

    if (2 * once->n >= once->cap)
        grow(g->arena, once);
    const Expr **node = find_node(once->node, once->cap, e);
    if (!*node) {
        *node = e;
        once->n++;
    }
    return *node;
}

const Expr *number_expr(Graph *g, const Expr *e)
{
    const Expr *few[64] = {NULL}; /* expressions mostly have fewer parts */
    Interned once = {.node = few, .cap = sizeof few / sizeof *few};

    return expr_rewrite(g, e, intern, &once);
}

/* ---- statements of one value */

typedef struct Class {
    Stmt *first;   /* in the order of execution */
    Tensor *made;  /* what it makes: an output, if one has the value */
    const Expr *value; /* in the pass's own variables, parts made once */
    const Idx **store;
    int next;      /* class with the same hash, or -1 */
} Class;

typedef struct Numbering {
    Graph *g;
    Interned once;
    const Var **var[2]; /* own variables, of results and of reductions */
    int n_var[2], cap_var[2];
    Class *class;
    int n_class;
    int *bucket;       /* class by hash, or -1 */
    unsigned n_bucket; /* a power of two */
    Class **of;        /* by tensor id: its value's class, or NULL */
    int *writers;      /* by tensor id */
    bool *older;       /* by tensor id: a later version keeps parts of it */
    bool any;          /* tensors with one value were found */
} Numbering;

/* Reads of equal tensors as reads of the first. */
static const Expr *read_first(Graph *g, const Expr *e, void *ctx)
{
    const Numbering *n = ctx;
    const Class *c = e->kind == E_READ ? n->of[e->tensor->id] : NULL;

    if (!c || c->first->tensor == e->tensor)
        return NULL;
    return expr_read(g, c->first->tensor, e->at, e->in, e->outside);
}

/* The pass's own variable at this place of a statement. */
static const Var *own_var(Numbering *n, bool red, int place, int64_t extent)
{
    for (int i = 0; i < n->n_var[red]; i++) {
        place -= n->var[red][i]->extent == extent;
        if (place < 0)
            return n->var[red][i];
    }
    const Var *v = idx_new_var(n->g->pool, red ? "r" : "v", extent);
    return VEC_PUSH(n->g->arena, n->var[red], n->n_var[red],
                    n->cap_var[red]) = v;
}

static int own_vars(Numbering *n, const Stmt *s, Subst *map)
{
    IdxPool *p = n->g->pool;
    int k = 0;

    for (int red = 0; red < 2; red++) {
        const Var **v = red ? s->red : s->out;
        int count = red ? s->n_red : s->n_out;
        for (int i = 0; i < count; i++) {
            int before = 0; /* of the same extent */
            for (int j = 0; j < i; j++)
                before += v[j]->extent == v[i]->extent;
            const Var *own = own_var(n, red, before, v[i]->extent);
            map[k++] = (Subst){v[i], idx_var(p, own)};
        }
    }
    return k;
}

static bool same_extents(const Var *const *a, const Var *const *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i]->extent != b[i]->extent)
            return false;
    return true;
}

static bool same_stmt(const Class *c, const Class *k)
{
    const Stmt *a = c->first, *b = k->first;
    const Tensor *s = a->tensor, *t = b->tensor;

    if (c->value != k->value || a->op != b->op || a->when != b->when ||
        a->n_out != b->n_out || a->n_red != b->n_red || s->rank != t->rank ||
        s->type != t->type || s->cut != t->cut ||
        !same_extents(a->out, b->out, a->n_out) ||
        !same_extents(a->red, b->red, a->n_red))
        return false;
    for (int d = 0; d < s->rank; d++)
        if (s->dim[d] != t->dim[d] || c->store[d] != k->store[d])
            return false;
    return true;
}

static bool may_share(const Numbering *n, const Stmt *s)
{
    const Tensor *t = s->tensor;

    return (t->role == ROLE_TEMP || t->role == ROLE_OUTPUT) && !t->prev &&
           !n->older[t->id] && n->writers[t->id] == 1 && !s->where.n &&
           !(s->notes & (NOTE_NOFUSE | NOTE_FUSE));
}

/* The class of s's value; a new one holds s alone. */
static Class *class_of(Numbering *n, Stmt *s)
{
    Graph *g = n->g;
    Subst map[s->n_out + s->n_red + 1];
    int k = own_vars(n, s, map);
    Class c = {.first = s, .made = s->tensor};

    const Expr *e = expr_subst(g, s->value, map, k);
    e = expr_rewrite(g, e, read_first, n);
    c.value = expr_rewrite(g, e, intern, &n->once);
    c.store = arena_array(g->arena, const Idx *, s->tensor->rank + 1);
    for (int d = 0; d < s->tensor->rank; d++)
        c.store[d] = idx_subst(g->pool, s->store[d], map, k);
    int *head = &n->bucket[(mix_part(1, c.value) >> 20) & (n->n_bucket - 1)];
    for (int i = *head; i >= 0; i = n->class[i].next)
        if (same_stmt(&n->class[i], &c))
            return &n->class[i];
    c.next = *head;
    *head = n->n_class;
    n->class[n->n_class] = c;
    return &n->class[n->n_class++];
}

static void find_class(Numbering *n, Stmt *s)
{
    Class *c = class_of(n, s);
    Tensor *t = s->tensor;

    n->of[t->id] = c;
    n->any |= c->first != s;
    if (t->role == ROLE_OUTPUT && c->made->role != ROLE_OUTPUT)
        c->made = t;
}

/* ---- one for all */

static const Expr *read_made(Graph *g, const Expr *e, void *ctx)
{
    const Numbering *n = ctx;
    const Class *c = e->kind == E_READ ? n->of[e->tensor->id] : NULL;

    if (!c || c->made == e->tensor)
        return NULL;
    return expr_at(g, expr_read(g, c->made, e->at, e->in, e->outside),
                   e->span);
}

/* Where s stores, data in it included. */
static void rewrite_place(Numbering *n, Stmt *s)
{
    Graph *g = n->g;
    const Expr *no = s->where.n ? expr_const(g, 0, T_I32) : NULL;
    const Expr *place = expr_read(g, s->tensor, s->store, s->where, no);
    const Expr *e = expr_rewrite(g, place, read_made, n);

    s->store = e->at;
    s->where = e->in;
}

/* Does s stay? Later ones of a class are outputs that the first cannot make:
 * they copy it. */
static bool settle(Numbering *n, Stmt *s)
{
    const Class *c = n->of[s->tensor->id];

    if (!c || c->first == s) {
        s->tensor = c ? c->made : s->tensor;
        return true;
    }
    if (c->made == s->tensor || s->tensor->role != ROLE_OUTPUT)
        return false;
    s->value = expr_read(n->g, c->made, s->store, (Guard){0}, NULL);
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
    return true;
}

static void share(Numbering *n)
{
    Graph *g = n->g;
    int kept = 0;

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        if (!settle(n, s))
            continue;
        s->value = expr_rewrite(g, s->value, read_made, n);
        rewrite_place(n, s);
        for (int k = 0; k < s->n_with; k++)
            if (n->of[s->with[k]->id])
                s->with[k] = n->of[s->with[k]->id]->made;
        g->stmt[kept++] = s;
    }
    g->n_stmt = kept;
}

void number(Graph *g)
{
    Arena *a = g->arena;
    Numbering n = {.g = g, .n_bucket = 64};

    n.class = arena_array(a, Class, g->n_stmt + 1);
    n.of = arena_array(a, Class *, g->n_tensor + 1);
    n.writers = arena_array(a, int, g->n_tensor + 1);
    n.older = arena_array(a, bool, g->n_tensor + 1);
    while (n.n_bucket < (unsigned)g->n_stmt)
        n.n_bucket *= 2;
    n.bucket = arena_array(a, int, n.n_bucket);
    memset(n.bucket, -1, sizeof *n.bucket * n.n_bucket);
    for (int i = 0; i < g->n_stmt; i++)
        n.writers[g->stmt[i]->tensor->id]++;
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->prev)
            n.older[g->tensor[i]->prev->id] = true;
    for (int i = 0; i < g->n_stmt; i++)
        if (may_share(&n, g->stmt[i]))
            find_class(&n, g->stmt[i]);
    if (n.any)
        share(&n);
}
