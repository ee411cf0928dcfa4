/* Group norms: x as [N, groups, rest], an instance norm whose gains are 1 and
 * biases 0, and back; then what scales and shifts each channel. */
#include "import/pattern.h"

/* The instance norm of which v is another arrangement; x, whose shape v has. */
static Node *norm_of_groups(Value *v, Value **x)
{
    Node *back = pattern_made_by(v, "Reshape"), *norm, *there;

    norm = back ? pattern_made_by(back->in[0], "InstanceNormalization") : NULL;
    there = norm ? pattern_made_by(norm->in[0], "Reshape") : NULL;
    if (!there || !known_all(norm->in[1], 1) || !known_all(norm->in[2], 0))
        return NULL;
    const Shape *s = &there->in[0]->shape, *groups = &there->out[0]->shape;
    *x = there->in[0];
    return s->rank >= 2 && groups->rank >= 3 && shape_same(s, &v->shape) &&
                   s->dim[0] == groups->dim[0] && groups->dim[1] > 0 &&
                   s->dim[1] % groups->dim[1] == 0
               ? norm : NULL;
}

/* The other operand of a product or sum with a number for each channel, which
 * are [C, 1, ..] or the same with ones ahead. */
static Value *beside_channels(Import *c, Value *v, const char *op, Value **row)
{
    Node *n = pattern_made_by(v, op);
    int r = v->shape.rank;

    for (int i = 0; n && i < 2 && r >= 2; i++) {
        Value *k = n->in[i];
        int64_t channels = n->in[!i]->shape.dim[1];
        int at = k->shape.rank - (r - 1);
        if (!k->known || !onnx_is_float(k->type) || at < 0 ||
            k->known->n != channels || k->shape.dim[at] != channels ||
            !shape_same(&n->in[!i]->shape, &v->shape))
            continue;
        Value *flat = value_new(c, k->name);
        flat->type = k->type;
        flat->known = k->known;
        flat->is_weight = k->is_weight;
        flat->shape = (Shape){1, {channels}};
        *row = flat;
        return n->in[!i];
    }
    return NULL;
}

Node *match_groups(Import *c, Node *root)
{
    Value *g = NULL, *b = NULL, *v = root->out[0], *in, *x;
    bool named;

    if ((in = beside_channels(c, v, "Add", &b)))
        v = in;
    if ((in = beside_channels(c, v, "Mul", &g)))
        v = in;
    else if (b)
        return NULL;
    Node *norm = norm_of_groups(v, &x);
    if (!norm)
        return NULL;
    Node *n = node_new(c, "GroupNormalization", root->name,
                       b ? 3 : g ? 2 : 1, 1);
    n->domain = "";
    n->version = 21;
    n->info = op_find("", n->op, n->version, &named);
    n->scope = root->scope;
    n->in[0] = x;
    if (g)
        n->in[1] = g;
    if (b)
        n->in[2] = b;
    attr_add_int(c, n, "num_groups", norm->in[0]->shape.dim[1]);
    attr_add_float(c, n, "epsilon", attr_float(norm, "epsilon", 1e-5));
    return n;
}
