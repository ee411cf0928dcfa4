/* What is the same for every element of the batch: the file says it spread
 * over the batch and works with that, as positions and the masks that follow
 * from them. Each such value is worked out once, with a batch of one; where it
 * meets what does depend on the batch, that one broadcasts. */
#include "import/infer.h"

static bool is_op(const Node *n, const char *op)
{
    return !*n->domain && !strcmp(n->op, op);
}

static bool is_batch(int64_t size)
{
    return size >= IMPORT_BATCH;
}

/* The shape with a batch of one; false where a size depends on it otherwise. */
static bool shape_of_one(const Shape *s, Shape *one)
{
    *one = *s;
    for (int d = 0; d < s->rank; d++) {
        if (is_batch(s->dim[d]) && s->dim[d] != IMPORT_BATCH)
            return false;
        if (is_batch(s->dim[d]))
            one->dim[d] = 1;
    }
    return s->rank >= 0;
}

static bool has_batch(const Shape *s)
{
    for (int d = 0; d < s->rank; d++)
        if (is_batch(s->dim[d]))
            return true;
    return false;
}

/* A number of a constant that follows from the batch's size. */
static bool counts_batch(const Value *v)
{
    const Const *k = v->known;

    if (!onnx_is_int(k->type) || onnx_type_size(k->type) < 4)
        return false;
    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++)
        if (is_batch(known_int(k, i)))
            return true;
    return false;
}

static Value *one_new(Import *c, const Value *like, const Shape *s)
{
    Value *v = value_new(c, arena_printf(c->arena, "%s_one", like->name));

    v->type = like->type;
    v->shape = *s;
    return v;
}

/* What v is for each element of the batch, or NULL. */
static Value *one_of(Import *c, Value *v)
{
    Shape s;

    if (v->one)
        return v->one;
    if (!v->known || !shape_of_one(&v->shape, &s))
        return NULL;
    if (!has_batch(&v->shape))
        return v;
    if (!known_uniform(v->known))
        return NULL;
    Value *one = one_new(c, v, &s);
    Const *k = arena_new_of(c->arena, Const);
    *k = *v->known;
    k->n = shape_count(&s);
    k->splat = true;
    one->known = k;
    return v->one = one;
}

/* ---- operators that do to each element of the batch the same ------------- */

/* Elements of the result at an index come from operands at that index. */
static bool by_element(const Node *n)
{
    static const char *const unary[] = {"Cast", "Not", "Neg", "Abs", "Sqrt",
                                        "Floor", "Ceil", "Identity", "Clip",
                                        NULL};

    if (n->info->infer == infer_broadcast ||
        n->info->infer == infer_compare || n->info->infer == infer_where)
        return true;
    for (const char *const *u = unary; *u; u++)
        if (is_op(n, *u))
            return true;
    return false;
}

/* Where the one size is that is the batch, -1: not one. before: elements of the
 * dimensions before it. */
static int only_batch(const Shape *s, int64_t *before)
{
    int at = -1;

    *before = 1;
    for (int d = 0; d < s->rank; d++) {
        if (is_batch(s->dim[d]) && at >= 0)
            return -1;
        if (is_batch(s->dim[d]))
            at = d;
        else if (at < 0)
            *before *= s->dim[d];
    }
    return at;
}

static bool keeps_batch(const Shape *x, const Shape *y)
{
    int64_t before, after;

    if (!has_batch(x) && !has_batch(y))
        return true;
    return only_batch(x, &before) >= 0 && only_batch(y, &after) >= 0 &&
           before == after;
}

/* Along `axis` nothing is the batch. */
static bool off_batch(const Shape *s, int axis)
{
    return !is_batch(s->dim[axis]);
}

static bool slices_batch(const Shape *x, const Shape *y)
{
    for (int d = 0; d < x->rank; d++)
        if (is_batch(x->dim[d]) && x->dim[d] != y->dim[d])
            return true;
    return false;
}

static bool sums_batch(Import *c, Node *n)
{
    const Shape *x = &n->in[0]->shape;
    unsigned axes;
    bool keep;

    if (!reduce_axes(c, n, &axes, &keep))
        return true;
    for (int d = 0; d < x->rank; d++)
        if (axes >> d & 1 && is_batch(x->dim[d]))
            return true;
    return false;
}

static bool same_for_all(Import *c, Node *n)
{
    const Shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    double which;
    int axis;

    if (by_element(n) || is_op(n, "Expand") || is_op(n, "Transpose"))
        return true;
    if (is_op(n, "Reshape") || is_op(n, "Squeeze") || is_op(n, "Unsqueeze"))
        return keeps_batch(x, y);
    if (is_op(n, "Slice"))
        return !slices_batch(x, y);
    if (is_op(n, "Concat"))
        return axis_of(c, n, n->version < 4 ? 1 : 0, y->rank, &axis) &&
               off_batch(y, axis);
    if (is_op(n, "Gather"))
        return axis_of(c, n, 0, x->rank, &axis) && off_batch(x, axis);
    if (is_op(n, "CumSum"))
        return in_scalar(n, 1, &which) &&
               axis_in(c, n, (int64_t)which, x->rank, &axis) &&
               off_batch(x, axis);
    if (is_op(n, "Trilu"))
        return off_batch(x, x->rank - 1) && off_batch(x, x->rank - 2);
    if (!strncmp(n->op, "Reduce", 6) && !*n->domain)
        return !sums_batch(c, n);
    return false;
}

/* Operands that only say sizes and axes, which out's shape has already. */
static bool says_shape(const Node *n, int i)
{
    return i > 0 && (is_op(n, "Expand") || is_op(n, "Reshape") ||
                     is_op(n, "Slice") || is_op(n, "Squeeze") ||
                     is_op(n, "Unsqueeze"));
}

/* ---- places in what is alike --------------------------------------------- */

/* The columns of ids that a part of its concatenation has, put in their place;
 * which element of the batch is read is all the same. */
static bool put_columns(Import *c, Value *part, const Shape *data, Const *ids,
                        int64_t all, int64_t first)
{
    int64_t width = part->shape.dim[part->shape.rank - 1];
    Value *one = NULL;

    for (int64_t k = 0; k < width; k++)
        if (!is_batch(data->dim[first + k]) &&
            (!(one = one_of(c, part)) || counts_batch(one)))
            return false;
    for (int64_t i = 0; i < ids->n / all; i++)
        for (int64_t k = 0; k < width; k++)
            known_set_int(ids, i * all + first + k,
                          is_batch(data->dim[first + k])
                              ? 0 : known_int(one->known, i * width + k));
    return true;
}

/* GatherND's indices with a batch of one. */
static Value *places_of_one(Import *c, const Node *n)
{
    Value *v = n->in[1];
    Node *def = v->def;
    int axis, r = v->shape.rank;
    int64_t first = 0;
    Shape s;

    if (attr_int(n, "batch_dims", 0) || !def || !is_op(def, "Concat") ||
        !axis_of(c, def, 0, r, &axis) || axis != r - 1 ||
        !shape_of_one(&v->shape, &s) || is_batch(v->shape.dim[r - 1]) ||
        shape_count(&s) > IMPORT_MAX_FOLD)
        return NULL;
    Value *ids = one_new(c, v, &s);
    Const *k = known_new(c, v->type, shape_count(&s), false);
    ids->known = k;
    for (int i = 0; i < def->n_in; i++) {
        if (!put_columns(c, def->in[i], &n->in[0]->shape, k,
                         s.dim[r - 1], first))
            return NULL;
        first += def->in[i]->shape.dim[r - 1];
    }
    return ids;
}

/* ---- both --------------------------------------------------------------- */

void import_alike(Import *c, Node *n)
{
    bool places = is_op(n, "GatherND");
    Shape s;

    if (!c->has_batch || *n->domain || n->n_out != 1 || !n->out[0] ||
        n->out[0]->known || !n->n_in || !has_batch(&n->out[0]->shape) ||
        !shape_of_one(&n->out[0]->shape, &s))
        return;
    Node *m = node_new(c, n->op, n->name, n->n_in, 1);
    m->domain = "";
    m->version = n->version;
    m->info = n->info;
    m->attr = n->attr;
    m->n_attr = n->n_attr;
    for (int i = 0; i < n->n_in; i++) {
        Value *v = n->in[i];
        if (v)
            m->in[i] = says_shape(n, i)   ? v
                       : places && i == 1 ? places_of_one(c, n)
                                          : one_of(c, v);
        if (v && (!m->in[i] || !m->in[i]->known ||
                  (!says_shape(n, i) && counts_batch(m->in[i]))))
            return;
    }
    if (!places && !same_for_all(c, n))
        return;
    if (is_op(n, "Expand") && shape_same(&m->in[0]->shape, &s)) {
        n->out[0]->one = m->in[0];
        return;
    }
    m->out[0] = one_new(c, n->out[0], &s);
    m->out[0]->def = m;
    import_fold(c, m);
    if (m->out[0]->known)
        n->out[0]->one = m->out[0];
}

/* Operand i of n as one, where the others give the result its batch. */
static void broadcast_one(Node *n, int i)
{
    Value *v = n->in[i];
    Shape s = v->one->shape;

    for (int k = 0; k < n->n_in; k++)
        if (k != i && (!n->in[k] || !shape_broadcast(&s, &n->in[k]->shape, &s)))
            return;
    if (shape_same(&s, &n->out[0]->shape))
        n->in[i] = v->one;
}

void import_broadcast(Import *c)
{
    for (int j = 0; j < c->n_node; j++) {
        Node *n = c->node[j];
        Value *y = n->n_out == 1 ? n->out[0] : NULL;
        if (y && y->one && !y->known && !is_op(n, "Expand")) {
            n->op = "Expand";
            n->version = 13;
            n->n_in = 2;
            n->n_attr = 0;
            n->in = arena_array(c->arena, Value *, 3);
            n->in[0] = y->one;
            n->in[1] = value_ints(c, y->shape.dim, y->shape.rank);
            bool named;
            n->info = op_find("", "Expand", 13, &named);
            y->one->def = NULL; /* it is a constant of its own */
            continue;
        }
        for (int i = 0; y && i < n->n_in && n->info && by_element(n); i++)
            if (n->in[i] && n->in[i]->one && !n->in[i]->known)
                broadcast_one(n, i);
    }
}
