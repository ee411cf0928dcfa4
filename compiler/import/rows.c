/* What works on rows does so on the rows that the file has, not on a copy of
 * them in another order: a transpose or a reshape of what stands before the
 * last dimension goes past such nodes to where another view is, and the two
 * are one (view.c). */
#include "import/infer.h"

enum { MAX_ROW_NODES = 8 };

/* Nodes that work on rows, the last one first, and what the first one reads. */
typedef struct Rows {
    Node *node[MAX_ROW_NODES];
    int operand[MAX_ROW_NODES];  /* which of its operands has the rows */
    int n;
    bool product;
    Value *from;
} Rows;

static bool is_op(const Node *n, const char *op)
{
    return !*n->domain && !strcmp(n->op, op);
}

static bool is_view(const Node *n)
{
    return is_op(n, "Transpose") || is_op(n, "Flatten") ||
           is_op(n, "Squeeze") || is_op(n, "Unsqueeze") ||
           !strcmp(n->op, "Reshape");
}

/* One number, or one for each element of a row. */
static bool is_row(const Value *v, const Shape *of)
{
    return v->shape.rank == 0 ||
           (v->shape.rank == 1 &&
            (v->shape.dim[0] == 1 ||
             v->shape.dim[0] == of->dim[of->rank - 1]));
}

/* Which operand has the rows that n works on, or -1. */
static int rows_of(const Node *n)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Div"};
    const Shape *y = &n->out[0]->shape;

    if (*n->domain || y->rank < 1)
        return -1;
    if (is_op(n, "MatMul"))
        return n->in[0]->shape.rank >= 2 && n->in[1]->shape.rank == 2 ? 0 : -1;
    if (is_op(n, "Gemm")) {
        const Value *b = node_in(n, 2);
        return !attr_int(n, "transA", 0) && (!b || is_row(b, y)) ? 0 : -1;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int k = 0; k < 2 && is_op(n, ops[i]); k++)
            if (shape_same(&n->in[k]->shape, y) && is_row(n->in[!k], y))
                return k;
    return -1;
}

/* The nodes that make v of rows and that nothing else reads. */
static Rows rows_to(Value *v)
{
    Rows r = {.from = v};

    while (r.n < MAX_ROW_NODES && r.from->def && !r.from->known &&
           r.from->uses == 1 && r.from->def->n_out == 1) {
        int k = rows_of(r.from->def);
        if (k < 0)
            break;
        r.product |= is_op(r.from->def, "MatMul") || is_op(r.from->def, "Gemm");
        r.node[r.n] = r.from->def;
        r.operand[r.n++] = k;
        r.from = r.node[r.n - 1]->in[k];
    }
    return r;
}

/* Does the transpose leave the last dimension where it is? */
static bool keeps_rows(const Node *n)
{
    int count, rank = n->in[0]->shape.rank;
    const int64_t *perm = attr_ints(n, "perm", &count);

    return is_op(n, "Transpose") && perm && count == rank && rank > 1 &&
           perm[rank - 1] == rank - 1;
}

/* Or the reshape? */
static bool regroups_rows(const Node *n)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;

    return !is_op(n, "Transpose") && is_view(n) && x->rank > 0 && y->rank > 1 &&
           x->dim[x->rank - 1] == y->dim[y->rank - 1];
}

/* Ahead of its last dimension v has the shape of `like`. */
static void set_rows(Value *v, const Shape *like)
{
    int64_t last = v->shape.dim[v->shape.rank - 1];

    v->shape = *like;
    v->shape.dim[like->rank - 1] = last;
}

static int index_of(const Import *c, const Node *n, int from, int step)
{
    while (from >= 0 && from < c->n_node && c->node[from] != n)
        from += step;
    return from;
}

/* A transpose before the rows' nodes comes after them, ahead of the view at
 * place `at`. */
static void sink(Import *c, const Rows *r, int at)
{
    Node *view = c->node[at], *turn = r->from->def;
    Value *y = view->in[0];
    Shape after = y->shape;

    for (int k = index_of(c, turn, at, -1); k < at - 1; k++)
        c->node[k] = c->node[k + 1];
    c->node[at - 1] = turn;
    r->node[r->n - 1]->in[r->operand[r->n - 1]] = turn->in[0];
    for (int k = 0; k < r->n; k++)
        set_rows(r->node[k]->out[0], &turn->in[0]->shape);
    turn->in[0] = y;
    turn->out[0]->shape = after;
    view->in[0] = turn->out[0];
}

/* A view after the rows' nodes comes before them: a reshape as one to a shape
 * that it has of itself. */
static void hoist(Import *c, const Rows *r, int at)
{
    Node *view = c->node[at], *first = r->node[r->n - 1];
    Value *x = r->from, *y = view->out[0];
    int place = index_of(c, first, at, -1);
    bool named;

    for (int k = at; k > place; k--)
        c->node[k] = c->node[k - 1];
    Node *new = node_new(c, is_op(view, "Transpose") ? "Transpose" : "Reshape",
                         view->name, 1, 1);
    if (is_op(view, "Transpose")) {
        int count;
        const int64_t *perm = attr_ints(view, "perm", &count);
        attr_add_ints(c, new, "perm", perm, count);
        new->domain = "", new->version = 13;
    }
    new->info = op_find(new->domain, new->op, 13, &named);
    new->in[0] = x;
    new->out[0] = value_new(c, arena_printf(c->arena, "%s_view", y->name));
    new->out[0]->type = x->type;
    new->out[0]->def = new;
    new->out[0]->uses = 1;
    new->out[0]->shape = x->shape;
    set_rows(new->out[0], &y->shape);
    c->node[place] = new;
    first->in[r->operand[r->n - 1]] = new->out[0];
    for (int k = 1; k < r->n; k++)
        set_rows(r->node[k]->out[0], &y->shape);
    r->node[0]->out[0] = y;
    y->def = r->node[0];
}

void import_rows(Import *c)
{
    for (int i = 0; i < c->n_node; i++) {
        Node *n = c->node[i];
        if (n->dead || n->n_out < 1 || !n->out[0] || n->out[0]->known ||
            !is_view(n) || n->in[0]->known || n->in[0]->is_output)
            continue;
        Rows r = rows_to(n->in[0]);
        Node *before = r.n && r.product ? r.from->def : NULL;
        if (!before || !is_view(before) || r.from->known ||
            before->in[0]->known)
            continue;
        if (keeps_rows(n) || regroups_rows(n))
            hoist(c, &r, i);
        else if (keeps_rows(before) && r.from->uses == 1)
            sink(c, &r, i);
    }
}
