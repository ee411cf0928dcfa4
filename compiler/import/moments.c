/* Norms as Keras writes them: with the moments of x, which then become a
 * factor and a summand, or are a batch norm's statistics. */
#include "import/pattern.h"

/* The operands of a node in both orders. */
static bool pair(const Node *n, int turn, Value **a, Value **b)
{
    if (!n || n->n_in != 2)
        return false;
    *a = n->in[turn];
    *b = n->in[!turn];
    return true;
}

/* v is mean(x) over `axes`, which stay as 1; x. */
static Value *mean_of(Import *c, Value *v, unsigned *axes)
{
    Node *n = pattern_made_by(v, "ReduceMean");
    bool keep;

    return n && reduce_axes(c, n, axes, &keep) && keep ? n->in[0] : NULL;
}

/* v is mean((x - m)^2) over the axes that m is a mean over. */
static bool is_variance(Import *c, Value *v, Value *x, Value *m, unsigned axes)
{
    unsigned over;
    Value *square = mean_of(c, v, &over);
    Node *n = square ? pattern_made_by(square, "Mul") : NULL;
    Node *less = pattern_made_by(n ? n->in[0] : NULL, "Sub");

    if (square && !n && (n = pattern_made_by(square, "Pow")))
        less = pattern_made_by(n->in[0], "Sub");
    return less && over == axes && pattern_square(square, n->in[0]) &&
           pattern_same(less->in[0], x) && pattern_same(less->in[1], m);
}

/* v is 1 / sqrt(w + eps): w */
static Value *inverse_root(Value *v, double *eps)
{
    Node *n = pattern_made_by(v, "Reciprocal");
    Value *root = n ? n->in[0] : NULL;
    double x;

    if (!n && (n = pattern_made_by(v, "Div")) &&
        value_scalar_is(n->in[0], &x) && x == 1)
        root = n->in[1];
    Node *sum = (n = pattern_made_by(root, "Sqrt"))
                    ? pattern_made_by(n->in[0], "Add") : NULL;
    if (!sum && (n = pattern_made_by(v, "Pow")) &&
        value_scalar_is(n->in[1], &x) && x == -0.5)
        sum = pattern_made_by(n->in[0], "Add");
    for (int i = 0; sum && i < 2; i++)
        if (value_scalar_is(sum->in[i], eps))
            return sum->in[!i];
    return NULL;
}

/* A constant with a number for each place along the axis of x. */
static bool is_along(const Value *v, const Shape *x, int axis)
{
    int at = v->shape.rank - (x->rank - axis);

    return v->known && onnx_is_float(v->type) && at >= 0 &&
           v->shape.dim[at] == x->dim[axis] &&
           shape_count(&v->shape) == x->dim[axis];
}

/* The same as a vector. */
static Value *vector_of(Import *c, const Value *v)
{
    Value *new = value_new(c, v->name);

    *new = *v;
    new->shape = (Shape){1, {shape_count(&v->shape)}};
    return new;
}

/* x s + (b - m s), s = g / sqrt(v + eps), m and v the moments of x. */
static Node *with_factor(Import *c, Node *root, Node *xs, Node *rest)
{
    Value *x, *s, *m, *s2, *inverse, *g, *var;
    unsigned axes;
    double eps;

    Node *ms = pattern_made_by(rest->in[1], "Mul");
    for (int i = 0; i < 8; i++) {
        if (!pair(xs, i & 1, &x, &s) || !pair(ms, i >> 1 & 1, &m, &s2) ||
            !pattern_same(s, s2) || !pattern_same(mean_of(c, m, &axes), x) ||
            !pair(pattern_made_by(s, "Mul"), i >> 2, &inverse, &g) ||
            !(var = inverse_root(inverse, &eps)) || (axes & (axes - 1)) ||
            !is_variance(c, var, x, m, axes))
            continue;
        int axis = __builtin_ctz(axes);
        if (!is_along(g, &x->shape, axis) ||
            !is_along(rest->in[0], &x->shape, axis))
            return NULL;
        Node *n = node_new(c, "LayerNormalization", root->name, 3, 1);
        n->in[0] = pattern_bare(x);
        n->in[1] = vector_of(c, g);
        n->in[2] = vector_of(c, rest->in[0]);
        attr_add_float(c, n, "epsilon", eps);
        attr_add_int(c, n, "along", axis);
        return n;
    }
    return NULL;
}

/* v without views: the moments' are of x's channels. */
static Value *viewed(Value *v)
{
    Node *n;

    while ((n = pattern_made_by(v, "Squeeze")) ||
           (n = pattern_made_by(v, "Reshape")))
        v = n->in[0];
    return v;
}

/* v is the sum of squares of x - m, over all but the channels, divided by how
 * many there are. */
static bool is_mean_square(Import *c, Value *v, Value *x, Value *m,
                           unsigned axes)
{
    Node *n = pattern_made_by(v, "Div");
    double count;
    unsigned over;
    bool keep;

    if (!n || !value_scalar_is(n->in[1], &count) ||
        count != (double)(shape_count(&x->shape) / x->shape.dim[1]) ||
        !(n = pattern_made_by(viewed(n->in[0]), "ReduceSumSquare")) ||
        !reduce_axes(c, n, &over, &keep) || over != axes)
        return false;
    Node *less = pattern_made_by(n->in[0], "Sub");
    return less && pattern_same(less->in[0], x) &&
           pattern_same(less->in[1], m);
}

/* A batch norm by the moments of its one picture. */
static Node *batch_of_one(Import *c, Node *root)
{
    Value *x = root->in[0], *m;
    unsigned axes, all;

    if (root->n_in < 5 || attr_int(root, "training_mode", 0) ||
        x->shape.rank < 3 || x->shape.dim[0] != 1)
        return NULL;
    all = ((1u << x->shape.rank) - 1) & ~2u;
    m = viewed(root->in[3]);
    Value *var = viewed(root->in[4]);
    if (!pattern_same(mean_of(c, m, &axes), x) || axes != all ||
        !(is_mean_square(c, var, x, m, axes) ||
          is_variance(c, var, x, m, axes)))
        return NULL;
    Node *n = node_new(c, "InstanceNormalization", root->name, 3, 1);
    bool named;
    n->domain = "";
    n->version = 6;
    n->info = op_find("", n->op, 6, &named);
    n->in[0] = x;
    n->in[1] = root->in[1];
    n->in[2] = root->in[2];
    attr_add_float(c, n, "epsilon", attr_float(root, "epsilon", 1e-5));
    return n;
}

Node *match_moments(Import *c, Node *root)
{
    if (!*root->domain && !strcmp(root->op, "BatchNormalization"))
        return batch_of_one(c, root);
    if (*root->domain || strcmp(root->op, "Add"))
        return NULL;
    for (int i = 0; i < 2; i++) {
        Node *xs = pattern_made_by(root->in[i], "Mul");
        Node *rest = pattern_made_by(root->in[!i], "Sub");
        Node *n = xs && rest ? with_factor(c, root, xs, rest) : NULL;
        if (n)
            return n;
    }
    return NULL;
}
