/* Chains of reshapes and transposes as the shortest that do the same: at most
 * one reshape, one transpose, one reshape, of what the chain begins with. */
#include "import/infer.h"

enum { MAX_ATOMS = 2 * IMPORT_MAX_RANK, MAX_CHAIN = 16 };

/* The sizes of the first operand, split as far as the chain needs: `first`
 * has them in their order there, `now` in the order that the chain has
 * reached; `of` says to which dimension there each belongs. */
typedef struct Atoms {
    int64_t size[MAX_ATOMS];
    int n;
    int first[MAX_ATOMS], now[MAX_ATOMS];
    Shape shape;                 /* reached */
    int group[IMPORT_MAX_RANK];  /* how many of `now` make a dimension */
} Atoms;

static bool is_view(const Node *n)
{
    static const char *const ops[] = {"Reshape", "Flatten", "Squeeze",
                                      "Unsqueeze", "Transpose", NULL};

    if (strcmp(n->domain, "") && strcmp(n->op, "Reshape"))
        return false;
    for (const char *const *o = ops; *o; o++)
        if (!strcmp(*o, n->op))
            return n->n_in && n->in[0] && n->out[0] &&
                   n->out[0]->shape.rank >= 0;
    return false;
}

static void begin(Atoms *a, const Shape *s)
{
    *a = (Atoms){.n = s->rank, .shape = *s};
    for (int i = 0; i < s->rank; i++) {
        a->size[i] = s->dim[i];
        a->first[i] = a->now[i] = i;
        a->group[i] = 1;
    }
}

/* Atom `k` as two, of which the first has `size`. */
static bool split(Atoms *a, int k, int64_t size)
{
    int new = a->n++;

    if (a->n >= MAX_ATOMS)
        return false;
    a->size[new] = a->size[k] / size;
    a->size[k] = size;
    for (int *list = a->first;; list = a->now) {
        int at = 0;
        while (list[at] != k)
            at++;
        memmove(list + at + 2, list + at + 1,
                sizeof *list * (size_t)(new - at - 1));
        list[at + 1] = new;
        if (list == a->now)
            return true;
    }
}

static bool reshape(Atoms *a, const Shape *to)
{
    int at = 0;

    for (int d = 0; d < to->rank; d++) {
        int64_t left = to->dim[d];
        int from = at;
        while (at < a->n &&
               (left > 1 || (at == from && a->size[a->now[at]] == 1))) {
            int64_t size = a->size[a->now[at]];
            if (left % size && (size % left || !split(a, a->now[at], left)))
                return false;
            left /= a->size[a->now[at++]];
        }
        if (left != 1)
            return false;
        a->group[d] = at - from;
    }
    for (; at < a->n; at++) {
        if (a->size[a->now[at]] != 1 || !to->rank)
            return false;
        a->group[to->rank - 1]++;
    }
    a->shape = *to;
    return true;
}

static void transpose(Atoms *a, const Node *n)
{
    int count, at = 0, place[IMPORT_MAX_RANK], old[MAX_ATOMS];
    int group[IMPORT_MAX_RANK], rank = a->shape.rank;
    const int64_t *perm = attr_ints(n, "perm", &count);

    for (int d = 0, k = 0; d < rank; k += a->group[d++])
        place[d] = k;
    memcpy(old, a->now, sizeof old);
    memcpy(group, a->group, sizeof group);
    for (int d = 0; d < rank; d++) {
        int from = perm ? (int)perm[d] : rank - 1 - d;
        for (int k = 0; k < group[from]; k++)
            a->now[at++] = old[place[from] + k];
        a->group[d] = group[from];
    }
    a->shape = n->out[0]->shape;
}

/* The chain that ends with n, its first node first; its length. */
static int chain_of(Node *n, Node **chain)
{
    Node *back[MAX_CHAIN];
    int count = 0;

    while (n && count < MAX_CHAIN && is_view(n) && !n->in[0]->known &&
           n->in[0]->shape.rank > 0) {
        back[count++] = n;
        n = n->in[0]->def;
    }
    for (int i = 0; i < count; i++)
        chain[i] = back[count - 1 - i];
    return count;
}

/* Sizes of 1 go, and with `join` neighbours in both orders become one. */
static void tidy(Atoms *a, bool join)
{
    int place[MAX_ATOMS], kept = 0, list[MAX_ATOMS];

    for (int i = 0; i < a->n; i++)
        place[a->now[i]] = i;
    for (int i = 0; i < a->n; i++) {
        int k = a->first[i];
        if (a->size[k] == 1)
            continue;
        int before = kept ? list[kept - 1] : -1, between = before;
        /* sizes of 1 do not part neighbours */
        for (int p = before < 0 ? a->n : place[before] + 1;
             p < a->n && between == before; p++)
            if (a->size[a->now[p]] != 1)
                between = a->now[p];
        if (join && before >= 0 && between == k) {
            a->size[before] *= a->size[k];
            a->size[k] = 1;
            place[before] = place[k];
            continue;
        }
        list[kept++] = k;
    }
    int now = 0;
    for (int i = 0; i < a->n; i++) {
        int k = a->now[i];
        for (int j = 0; j < kept; j++)
            if (place[list[j]] == i)
                k = list[j], a->now[now++] = k;
    }
    memcpy(a->first, list, sizeof(int) * (size_t)kept);
    a->n = kept;
}

static bool identity(const Atoms *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->first[i] != a->now[i])
            return false;
    return true;
}

static bool ungrouped(const Atoms *a)
{
    for (int d = 0; d < a->shape.rank; d++)
        if (a->group[d] != 1)
            return false;
    return a->n == a->shape.rank;
}

static Value *made(Import *c, Node *n, Value *x, const Value *like, Shape s)
{
    bool named;

    n->info = op_find(!strcmp(n->op, "Transpose") ? "" : "dcc", n->op,
                      13, &named);
    if (!strcmp(n->op, "Transpose"))
        n->domain = "", n->version = 13;
    n->in[0] = x;
    n->out[0] = value_new(c, arena_printf(c->arena, "%s_view", like->name));
    n->out[0]->type = x->type;
    n->out[0]->shape = s;
    n->out[0]->def = n;
    return n->out[0];
}

typedef struct Out {
    Node **node;
    int n, cap;
} Out;

/* The sizes in one of the two orders. */
static Shape shape_in(const Atoms *a, const int *order)
{
    Shape s = {.rank = a->n};

    for (int i = 0; i < a->n; i++)
        s.dim[i] = a->size[order[i]];
    return s;
}

static Node *transpose_node(Import *c, const Atoms *a, const char *name)
{
    int64_t *perm = arena_array(c->arena, int64_t, a->n + 1);
    Node *n = node_new(c, "Transpose", name, 1, 1);

    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < a->n; k++)
            if (a->first[k] == a->now[i])
                perm[i] = k;
    attr_add_ints(c, n, "perm", perm, a->n);
    return n;
}

/* n's result from x by `a`; what comes before n goes to `to`. The node that
 * stands for n. */
static Node *write(Import *c, Node *n, Value *x, Atoms *a, bool inner,
                   Out *to)
{
    const Value *y = n->out[0];
    bool turns = !identity(a), outer = inner || !ungrouped(a);
    Node *last;

    if (turns && inner) {
        Shape s = shape_in(a, a->first);
        if (!shape_same(&s, &x->shape)) {
            Node *r = node_new(c, "Reshape", n->name, 1, 1);
            x = made(c, r, x, y, s);
            VEC_PUSH(c->arena, to->node, to->n, to->cap) = r;
        }
    }
    Shape s = shape_in(a, a->now);
    outer = outer && !shape_same(&s, &y->shape);
    if (turns) {
        last = transpose_node(c, a, n->name);
        Value *v = made(c, last, x, y, s);
        if (outer) {
            VEC_PUSH(c->arena, to->node, to->n, to->cap) = last;
            x = v;
        }
    }
    if (!turns || outer) {
        last = node_new(c, "Reshape", n->name, 1, 1);
        made(c, last, x, y, y->shape);
    }
    last->out[0] = n->out[0];
    last->out[0]->def = last;
    return last;
}

/* How many nodes it takes. */
static int cost(const Atoms *a, const Shape *x, const Shape *y, bool inner)
{
    Shape s = shape_in(a, a->now), f = shape_in(a, a->first);

    if (a->n > IMPORT_MAX_RANK)
        return MAX_CHAIN;
    if (identity(a))
        return 1;
    if (!inner)
        return 1 + !ungrouped(a);
    return 3 - shape_same(&s, y) - shape_same(&f, x);
}

static Node *shorter(Import *c, Node *n, Out *to)
{
    Node *chain[MAX_CHAIN];
    int count = chain_of(n, chain);
    const Shape *y = &n->out[0]->shape;
    Atoms a, joined;

    if (count < 2)
        return n;
    Value *x = chain[0]->in[0];
    begin(&a, &x->shape);
    for (int i = 0; i < count; i++) {
        if (!strcmp(chain[i]->op, "Transpose"))
            transpose(&a, chain[i]);
        else if (!reshape(&a, &chain[i]->out[0]->shape))
            return n;
    }
    bool inner = a.n != x->shape.rank;
    if (inner) {
        joined = a;
        tidy(&joined, true);
        tidy(&a, false);
        if (cost(&joined, &x->shape, y, true) <= cost(&a, &x->shape, y, true))
            a = joined;
    }
    return cost(&a, &x->shape, y, inner) < count ? write(c, n, x, &a, inner, to)
                                                 : n;
}

void import_views(Import *c)
{
    Out to = {0};

    for (int i = 0; i < c->n_node; i++) {
        Node *n = c->node[i];
        if (!n->dead && n->n_out && n->out[0] && !n->out[0]->known &&
            is_view(n))
            n = shorter(c, n, &to);
        VEC_PUSH(c->arena, to.node, to.n, to.cap) = n;
    }
    c->node = to.node;
    c->n_node = to.n;
    c->cap_node = to.cap;
}
