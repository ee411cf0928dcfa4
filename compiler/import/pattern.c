/* What exporters take apart is put together again: activations, norms,
 * softmax, attention. A pattern looks from its last node back; the nodes that
 * it replaces die if nothing else needs them. */
#include "import/pattern.h"

#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

static bool is_alias(const Value *v)
{
    return v && v->def && !v->known && !strcmp(v->def->op, "Identity") &&
           !*v->def->domain;
}

/* The node that makes v by operator `op`, casts that change nothing and views
 * that only add or drop sizes of 1 left aside. */
Value *pattern_bare(Value *v)
{
    while (v && v->def && !v->known) {
        Node *n = v->def;
        const Value *x = n->n_in ? n->in[0] : NULL;
        if (is_alias(v) && is_alias(x)) /* who comes again has half the way */
            n->in[0] = x->def->in[0];
        bool cast = !strcmp(n->op, "Identity") ||
                    (!strcmp(n->op, "Cast") && onnx_is_float(v->type) && x &&
                     onnx_is_float(x->type));
        if (!cast || *n->domain)
            break;
        v = n->in[0];
    }
    return v;
}

Node *pattern_made_by(Value *v, const char *op)
{
    v = pattern_bare(v);
    return v && v->def && !v->known && !strcmp(v->def->op, op) ? v->def
                                                               : NULL;
}

bool pattern_same(Value *a, Value *b)
{
    return a && b && pattern_bare(a) == pattern_bare(b);
}

/* The other operand where one is this number. */
static Value *beside_number(const Node *n, double x)
{
    double v;

    for (int i = 0; i < 2 && n->n_in == 2; i++)
        if (value_scalar_is(n->in[i], &v) && near(v, x))
            return n->in[!i];
    return NULL;
}

/* ---- products ----------------------------------------------------------- */

enum { MAX_FACTORS = 6 };

/* A product's factors, and the product of its numbers. */
typedef struct Product {
    Value *factor[MAX_FACTORS];
    int n;
    double number;
    bool too_many;
} Product;

static void factors(Value *v, Product *p, int depth)
{
    double x;
    Node *n;

    v = pattern_bare(v);
    if (value_scalar_is(v, &x)) {
        p->number *= x;
    } else if (depth < 6 && (n = pattern_made_by(v, "Mul"))) {
        factors(n->in[0], p, depth + 1);
        factors(n->in[1], p, depth + 1);
    } else if (depth < 6 && (n = pattern_made_by(v, "Div")) &&
               value_scalar_is(n->in[1], &x) && onnx_is_float(v->type)) {
        factors(n->in[0], p, depth + 1);
        p->number /= x;
    } else if ((n = pattern_made_by(v, "Pow")) && value_scalar_is(n->in[1], &x) &&
               (x == 2 || x == 3) && p->n + x <= MAX_FACTORS) {
        for (int i = 0; i < (int)x; i++)
            p->factor[p->n++] = pattern_bare(n->in[0]);
    } else if (p->n < MAX_FACTORS) {
        p->factor[p->n++] = v;
    } else {
        p->too_many = true;
    }
}

static Product product_of(Value *v)
{
    Product p = {.number = 1};

    factors(v, &p, 0);
    if (p.too_many)
        p.n = 0;
    return p;
}

bool pattern_square(Value *v, Value *x)
{
    Product p = product_of(v);

    return p.n == 2 && near(p.number, 1) && pattern_same(p.factor[0], x) &&
           pattern_same(p.factor[1], x);
}

/* v is number times x. */
static bool times(Value *v, Value *x, double number)
{
    Product p = product_of(v);

    return p.n == 1 && pattern_same(p.factor[0], x) && near(p.number, number);
}

/* 0.7978.. (x + 0.044715 x^3) */
static bool tanh_argument(Value *v, Value *x)
{
    Product p = product_of(v);
    Node *add;

    if (p.n == 1 && near(p.number, 0.7978845608) &&
        (add = pattern_made_by(p.factor[0], "Add")))
        for (int i = 0; i < 2; i++) {
            Product cube = product_of(add->in[!i]);
            if (pattern_same(add->in[i], x) && cube.n == 3 &&
                near(cube.number, 0.044715) &&
                pattern_same(cube.factor[0], x) &&
                pattern_same(cube.factor[1], x) &&
                pattern_same(cube.factor[2], x))
                return true;
        }
    if (p.n != 2 || !near(p.number, 0.7978845608))
        return false;
    for (int i = 0; i < 2; i++) {
        Value *square = (add = pattern_made_by(p.factor[!i], "Add"))
                            ? beside_number(add, 1) : NULL;
        Product s = square ? product_of(square) : (Product){0};
        if (pattern_same(p.factor[i], x) && s.n == 2 &&
            near(s.number, 0.044715) && pattern_same(s.factor[0], x) &&
            pattern_same(s.factor[1], x))
            return true;
    }
    return false;
}

/* Whether a Clip ends at x there; newer ones have the end as an operand, and
 * one without an end has none. */
static bool bound_is(const Node *clip, int operand, const char *attr, double x)
{
    double v = attr_float(clip, attr, NAN);

    return (!node_in(clip, operand) || in_scalar(clip, operand, &v)) &&
           fabs(v - x) <= 1e-4 * fabs(x);
}

/* The activation that x times f times a number is, or NULL. */
static Node *activation(Import *c, Node *root, Value *x, Value *f, double k)
{
    Node *n, *new = NULL;
    Value *inner;

    if ((n = pattern_made_by(f, "Add")) && near(k, 0.5) &&
        (inner = beside_number(n, 1))) {
        Node *erf = pattern_made_by(inner, "Erf"), *tan = pattern_made_by(inner, "Tanh");
        if (erf && times(erf->in[0], x, 0.70710678118))
            new = node_new(c, "Gelu", root->name, 1, 1);
        else if (tan && tanh_argument(tan->in[0], x)) {
            new = node_new(c, "Gelu", root->name, 1, 1);
            attr_add_text(c, new, "approximate", "tanh");
        }
    } else if ((n = pattern_made_by(f, "Sigmoid")) && near(k, 1)) {
        if (pattern_same(n->in[0], x) || times(n->in[0], x, 1))
            new = node_new(c, "Silu", root->name, 1, 1);
        else if (times(n->in[0], x, 1.702))
            new = node_new(c, "QuickGelu", root->name, 1, 1);
    } else if ((n = pattern_made_by(f, "Tanh")) && near(k, 1)) {
        Node *plus = pattern_made_by(n->in[0], "Softplus");
        if (plus && pattern_same(plus->in[0], x))
            new = node_new(c, "Mish", root->name, 1, 1);
    } else if ((n = pattern_made_by(f, "HardSigmoid")) && near(k, 1)) {
        if (pattern_same(n->in[0], x) &&
            near(attr_float(n, "alpha", 0.2), 1.0 / 6) &&
            near(attr_float(n, "beta", 0.5), 0.5))
            new = node_new(c, "HardSwish", root->name, 1, 1);
    } else if ((n = pattern_made_by(f, "Clip")) && near(k, 1.0 / 6)) {
        Node *add = pattern_made_by(n->in[0], "Add");
        inner = add ? beside_number(add, 3) : NULL;
        if (bound_is(n, 1, "min", 0) && bound_is(n, 2, "max", 6) && inner &&
            pattern_same(inner, x))
            new = node_new(c, "HardSwish", root->name, 1, 1);
    }
    if (new)
        new->in[0] = pattern_bare(x);
    return new;
}

static Node *match_product(Import *c, Node *root)
{
    Product p;

    if (strcmp(root->op, "Mul") && strcmp(root->op, "Div"))
        return NULL;
    Node *n = *root->op == 'M'
                  ? activation(c, root, root->in[0], root->in[1], 1) : NULL;
    if (!n && *root->op == 'M')
        n = activation(c, root, root->in[1], root->in[0], 1);
    p = product_of(root->out[0]);
    if (n || p.n != 2)
        return n;
    n = activation(c, root, p.factor[0], p.factor[1], p.number);
    return n ? n : activation(c, root, p.factor[1], p.factor[0], p.number);
}

/* ---- norms -------------------------------------------------------------- */

/* The operand of a mean over the last dimension alone that stays as 1. */
static Value *row_mean(Import *c, Value *v)
{
    Node *n = pattern_made_by(v, "ReduceMean");
    unsigned axes;
    bool keep;

    if (!n || !reduce_axes(c, n, &axes, &keep) || !keep)
        return NULL;
    return axes == 1u << (n->in[0]->shape.rank - 1) ? n->in[0] : NULL;
}

/* sqrt(mean(x^2) + eps): x, which must be `of` if that is given */
static bool root_mean_square(Import *c, Value *v, Value *of, double *eps)
{
    Node *root = pattern_made_by(v, "Sqrt"), *add;

    if (!root || !(add = pattern_made_by(root->in[0], "Add")))
        return false;
    for (int i = 0; i < 2; i++) {
        Value *square = row_mean(c, add->in[!i]);
        Product p = square ? product_of(square) : (Product){0};
        if (value_scalar_is(add->in[i], eps) && p.n == 2 &&
            near(p.number, 1) && pattern_same(p.factor[0], of) &&
            pattern_same(p.factor[1], of))
            return true;
    }
    return false;
}

/* v is x over its root mean square: x */
static Value *normed(Import *c, Value *v, double *eps)
{
    Node *n = pattern_made_by(v, "Div"), *inverse;

    if (n && root_mean_square(c, n->in[1], n->in[0], eps))
        return n->in[0];
    if (!(n = pattern_made_by(v, "Mul")))
        return NULL;
    for (int i = 0; i < 2; i++) {
        Value *root = NULL;
        double one;
        if ((inverse = pattern_made_by(n->in[i], "Reciprocal")))
            root = inverse->in[0];
        else if ((inverse = pattern_made_by(n->in[i], "Div")) &&
                 value_scalar_is(inverse->in[0], &one) && one == 1)
            root = inverse->in[1];
        if (root && root_mean_square(c, root, n->in[!i], eps))
            return n->in[!i];
    }
    return NULL;
}

/* x of d = x - mean(x) */
static Value *centred_of(Import *c, Value *d)
{
    Node *n = pattern_made_by(d, "Sub");

    if (!n || !pattern_same(row_mean(c, n->in[1]), n->in[0]))
        return NULL;
    return n->in[0];
}

static bool is_row(const Value *v, const Value *x)
{
    return v->known && v->shape.rank == 1 &&
           v->shape.dim[0] == x->shape.dim[x->shape.rank - 1] &&
           onnx_is_float(v->type);
}

/* The other operand of a product or sum with a row of constants. */
static Value *beside_row(Value *v, const char *op, Value **row)
{
    Node *n = pattern_made_by(v, op);

    for (int i = 0; n && i < 2; i++)
        if (is_row(n->in[i], v)) {
            *row = n->in[i];
            return n->in[!i];
        }
    return NULL;
}

static Node *norm_node(Import *c, Node *root, const char *op, Value *x,
                       Value *g, Value *b, double eps)
{
    Node *n = node_new(c, op, root->name, b ? 3 : g ? 2 : 1, 1);

    n->in[0] = pattern_bare(x);
    if (g)
        n->in[1] = g;
    if (b)
        n->in[2] = b;
    attr_add_float(c, n, "epsilon", eps);
    return n;
}

static Node *match_norm(Import *c, Node *root)
{
    Value *g = NULL, *b = NULL, *v = root->out[0], *in, *x, *d;
    double eps;

    if ((in = beside_row(v, "Add", &b)))
        v = in;
    if ((in = beside_row(v, "Mul", &g)))
        v = in;
    else if (b)
        return NULL;
    if (!(d = normed(c, v, &eps)))
        return NULL;
    x = centred_of(c, d);
    if (x)
        return norm_node(c, root, "LayerNormalization", x, g, b, eps);
    return b || !g ? NULL
                   : norm_node(c, root, "RMSNormalization", d, g, NULL, eps);
}

/* ---- softmax ------------------------------------------------------------ */

static bool row_reduction(Import *c, Value *v, const char *op, Value *of,
                          unsigned *axes)
{
    Node *n = pattern_made_by(v, op);
    bool keep;

    return n && reduce_axes(c, n, axes, &keep) && keep &&
           !(*axes & (*axes - 1)) && *axes && pattern_same(n->in[0], of);
}

static Node *match_softmax(Import *c, Node *root)
{
    unsigned axes, other;
    Node *e, *less;

    if (strcmp(root->op, "Div") || !(e = pattern_made_by(root->in[0], "Exp")) ||
        !row_reduction(c, root->in[1], "ReduceSum", root->in[0], &axes))
        return NULL;
    Value *x = e->in[0];
    if ((less = pattern_made_by(x, "Sub")) &&
        row_reduction(c, less->in[1], "ReduceMax", less->in[0], &other) &&
        other == axes)
        x = less->in[0];
    Node *n = node_new(c, "Softmax", root->name, 1, 1);
    n->domain = "";
    n->version = 13;
    bool named;
    n->info = op_find("", "Softmax", 13, &named);
    n->in[0] = x;
    attr_add_int(c, n, "axis", __builtin_ctz(axes));
    return n;
}

/* ---- attention ---------------------------------------------------------- */

/* Operand i is a number, which leaves the other one's shape as it is. */
static bool is_number(const Node *n, int i, double *x)
{
    return value_scalar_is(n->in[i], x) &&
           shape_same(&n->in[!i]->shape, &n->out[0]->shape);
}

/* v without a number that it is multiplied by. */
static Value *unscaled(Value *v, double *scale)
{
    double x;
    Node *n;

    v = pattern_bare(v);
    while ((n = pattern_made_by(v, "Mul")) || (n = pattern_made_by(v, "Div"))) {
        int of = is_number(n, 1, &x) ? 0 : 1;
        if (of && (*n->op != 'M' || !is_number(n, 0, &x)))
            break;
        *scale = *n->op == 'M' ? *scale * x : *scale / x;
        v = pattern_bare(n->in[of]);
    }
    return v;
}

/* The same where the product stands below views that nothing else reads. */
static Value *unscaled_below(Value *v, double *scale)
{
    static const char *const views[] = {"Reshape", "Transpose", "Squeeze",
                                        "Unsqueeze", "Flatten"};
    Node *view = NULL;
    double x;

    for (Value *at = pattern_bare(v); at->def && !at->known && at->uses == 1;) {
        Node *n = at->def;
        bool moves = false;
        for (size_t i = 0; i < sizeof views / sizeof *views; i++)
            moves = moves || (!*n->domain && !strcmp(n->op, views[i]));
        if (!moves && view && (!strcmp(n->op, "Mul") || !strcmp(n->op, "Div")))
            for (int i = 0; i < (*n->op == 'M' ? 2 : 1); i++)
                if (value_scalar_is(n->in[!i], &x) &&
                    shape_same(&n->in[i]->shape, &at->shape)) {
                    *scale = *n->op == 'M' ? *scale * x : *scale / x;
                    view->in[0] = n->in[i];
                    return v;
                }
        if (!moves)
            break;
        view = n;
        at = n->in[0];
    }
    return unscaled(v, scale);
}

/* What a choice between scores and a number far below them adds to them. */
static Value *mask_of_choice(Import *c, const Node *where)
{
    const Value *seen = where->in[0];
    double low;

    if (!seen->known || known_uniform(seen->known) || seen->shape.rank < 2 ||
        !value_scalar_is(where->in[2], &low) || low > -1e30 ||
        !shape_same(&where->in[1]->shape, &where->out[0]->shape))
        return NULL;
    Value *m = value_new(c, arena_printf(c->arena, "%s_added", seen->name));
    Const *k = known_new(c, where->in[2]->type, seen->known->n, false);
    for (int64_t i = 0; i < k->n; i++)
        known_set_float(k, i, known_int(seen->known, i) ? 0 : low);
    m->type = where->in[2]->type;
    m->shape = seen->shape;
    m->known = k;
    return m;
}

/* The scores below a softmax: scale q k^T + mask. */
static Node *scores_of(Import *c, Value *v, Value **mask, double *scale)
{
    Node *add = pattern_made_by(v, "Add"), *n = pattern_made_by(v, "Where");

    *scale = 1;
    *mask = n && n->n_in == 3 ? mask_of_choice(c, n) : NULL;
    if (*mask)
        return pattern_made_by(unscaled(n->in[1], scale), "MatMul");
    if (!add)
        return pattern_made_by(unscaled(v, scale), "MatMul");
    for (int i = 0; i < 2; i++) {
        *scale = 1;
        n = pattern_made_by(unscaled(add->in[i], scale), "MatMul");
        if (n && !add->in[!i]->known) {
            *mask = add->in[!i];
            return n;
        }
        if (n && add->in[!i]->known && add->in[!i]->shape.rank >= 2) {
            *mask = add->in[!i];
            return n;
        }
    }
    return NULL;
}

/* v with its last two dimensions exchanged, in the place of a node that is
 * not needed any more. */
static Value *exchanged(Import *c, Value *v, Node **place)
{
    int64_t *perm = arena_array(c->arena, int64_t, IMPORT_MAX_RANK);
    int r = v->shape.rank;
    bool named;
    Node *n = node_new(c, "Transpose", v->name, 1, 1);

    n->domain = "";
    n->version = 13;
    n->info = op_find("", "Transpose", 13, &named);
    for (int i = 0; i < r; i++)
        perm[i] = i;
    perm[r - 1] = r - 2;
    perm[r - 2] = r - 1;
    attr_add_ints(c, n, "perm", perm, r);
    n->in[0] = v;
    n->out[0] = value_new(c, arena_printf(c->arena, "%s_rows", v->name));
    n->out[0]->def = n;
    n->out[0]->uses = 1;
    n->info->infer(c, n);
    *place = n;
    return n->out[0];
}

static int place_of(const Import *c, const Node *n, int from)
{
    while (from >= 0 && c->node[from] != n)
        from--;
    return from;
}

/* The softmax that makes v, its NaN replaced by 0 or not: a row that sees
 * nothing. */
static Node *weights_of(Value *v, bool *zeroed)
{
    Node *where = pattern_made_by(v, "Where"), *nan;
    double zero;

    *zeroed = false;
    if (where && (nan = pattern_made_by(where->in[0], "IsNaN")) &&
        value_scalar_is(where->in[1], &zero) && zero == 0 &&
        pattern_same(where->in[2], nan->in[0]) && where->out[0]->uses == 1) {
        *zeroed = true;
        v = where->in[2];
    }
    Node *soft = pattern_made_by(v, "Softmax");
    return soft && soft->out[0]->uses == (*zeroed ? 2 : 1) ? soft : NULL;
}

static Node *match_attention(Import *c, Node *root, int at)
{
    Node *soft, *n;
    Value *mask;
    double scale;
    bool zeroed;

    if (strcmp(root->op, "MatMul") || *root->domain ||
        !(soft = weights_of(root->in[0], &zeroed)))
        return NULL;
    int r = soft->in[0]->shape.rank;
    int64_t axis = attr_int(soft, "axis", soft->version < 13 ? 1 : -1);
    if (r < 3 || (axis != -1 && axis != r - 1) ||
        !(n = scores_of(c, soft->in[0], &mask, &scale)) || n->domain[0])
        return NULL;
    Value *v = root->in[1];
    int place = place_of(c, soft, at);
    if (!shape_same(&n->out[0]->shape, &soft->in[0]->shape) || /* a mask's */
        n->in[0]->shape.rank != r || n->in[1]->shape.rank != r ||
        v->shape.rank != r || (mask && mask->shape.rank > r) || place < 0)
        return NULL;
    Value *q = unscaled_below(n->in[0], &scale);
    Value *k = unscaled_below(n->in[1], &scale);
    Node *new = node_new(c, "Attention", root->name, mask ? 4 : 3, 1);
    new->in[0] = q;
    new->in[1] = exchanged(c, k, &c->node[place]);
    new->in[2] = v;
    if (mask)
        new->in[3] = mask;
    attr_add_float(c, new, "scale", scale);
    attr_add_int(c, new, "zeroed", zeroed);
    return new;
}

/* ---- rotary positions --------------------------------------------------- */

/* v is half of x's last dimension, the lower or the upper one. */
static bool half_of(Import *c, Value *v, Value *x, bool upper)
{
    int r = x->shape.rank;
    int64_t half = x->shape.dim[r - 1] / 2;
    Node *n = pattern_made_by(v, "Slice");
    SliceAxis s[IMPORT_MAX_RANK];

    if (v->shape.rank != r || v->shape.dim[r - 1] != half)
        return false;
    if (n && pattern_same(n->in[0], x) && slice_of(c, n, s)) {
        bool whole = true;
        for (int i = 0; i < r - 1; i++)
            whole = whole && s[i].first == 0 && s[i].step == 1 &&
                    s[i].count == x->shape.dim[i];
        return whole && s[r - 1].step == 1 &&
               s[r - 1].first == (upper ? half : 0);
    }
    n = pattern_made_by(v, "Split");
    int axis;
    return n && pattern_same(n->in[0], x) && n->n_out == 2 &&
           axis_of(c, n, 0, r, &axis) && axis == r - 1 &&
           pattern_bare(v) == n->out[upper];
}

/* v is x with its halves exchanged, the one that comes first negated. */
static bool half_turned(Import *c, Value *v, Value *x)
{
    Node *n = pattern_made_by(v, "Concat"), *neg;
    int axis, r = x->shape.rank;

    return n && n->n_in == 2 && r >= 2 && x->shape.dim[r - 1] % 2 == 0 &&
           shape_same(&v->shape, &x->shape) && axis_of(c, n, 1, r, &axis) &&
           axis == r - 1 && (neg = pattern_made_by(n->in[0], "Neg")) &&
           half_of(c, neg->in[0], x, true) && half_of(c, n->in[1], x, false);
}

/* A number for each element of a row of x. */
static bool is_table(const Value *v, const Value *x)
{
    int r = v->shape.rank;

    return r >= 1 && v->shape.dim[r - 1] == x->shape.dim[x->shape.rank - 1] &&
           v->type == x->type && !(v->known && known_uniform(v->known));
}

/* x cos + (x turned) sin */
static Node *match_rotary(Import *c, Node *root)
{
    Node *a, *b;

    if (strcmp(root->op, "Add") || *root->domain)
        return NULL;
    for (int i = 0; i < 8; i++) {
        if (!(a = pattern_made_by(root->in[i & 1], "Mul")) ||
            !(b = pattern_made_by(root->in[!(i & 1)], "Mul")))
            return NULL;
        Value *x = pattern_bare(a->in[i >> 1 & 1]), *turned = b->in[i >> 2];
        if (!shape_same(&x->shape, &root->out[0]->shape) ||
            !half_turned(c, turned, x))
            continue;
        Value *cosine = a->in[!(i >> 1 & 1)], *sine = b->in[!(i >> 2)];
        if (!is_table(cosine, x) || !is_table(sine, x))
            return NULL;
        Node *n = node_new(c, "Rotated", root->name, 3, 1);
        n->in[0] = x;
        n->in[1] = cosine;
        n->in[2] = sine;
        return n;
    }
    return NULL;
}

/* ---- all ---------------------------------------------------------------- */

/* An operand is not spread out where the operator does so itself. */
static void drop_expands(Node *n)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Div", "Where",
                                      "Equal", "Less", "Greater", "And", "Or",
                                      "Max", "Min", NULL};
    bool known = false;

    for (const char *const *o = ops; *o; o++)
        known = known || !strcmp(*o, n->op);
    for (int i = 0; known && i < n->n_in; i++) {
        Node *e = pattern_made_by(n->in[i], "Expand");
        Shape s = {0};
        if (!e)
            continue;
        for (int k = 0; k < n->n_in; k++)
            shape_broadcast(&s, k == i ? &e->in[0]->shape : &n->in[k]->shape,
                            &s);
        if (shape_same(&s, &n->out[0]->shape))
            n->in[i] = e->in[0];
    }
}

/* What is found in place of `root`, if it has its shape: of numbers there may
 * be more than one beside each other, alike, over which x is spread out. */
static Node *of_shape(Node *new, const Node *root)
{
    return new && shape_same(&new->in[0]->shape, &root->out[0]->shape) ? new
                                                                       : NULL;
}

static Node *match_elements(Import *c, Node *n)
{
    Node *new = match_norm(c, n);

    if (!new)
        new = match_moments(c, n);
    if (!new)
        new = match_groups(c, n);
    if (!new)
        new = match_product(c, n);
    return new ? new : match_softmax(c, n);
}

static bool is_concat(const Node *n)
{
    return !n->dead && !*n->domain && !strcmp(n->op, "Concat") &&
           n->out[0] && !n->out[0]->known;
}

/* A concatenation that begins as an earlier one does continues that one: so a
 * dense block's grows, where an exporter lists all of it each time. */
static void continue_concats(Import *c)
{
    enum { BACK = 64 };
    Node *last[BACK];
    int count = 0;

    for (int i = 0; i < c->n_node; i++) {
        Node *n = c->node[i], *longest = NULL;
        if (!is_concat(n))
            continue;
        for (int k = count > BACK ? count - BACK : 0; k < count; k++) {
            Node *m = last[k % BACK];
            bool begins = m->n_in > 1 && m->n_in < n->n_in &&
                          attr_int(m, "axis", 1) == attr_int(n, "axis", 1) &&
                          m->out[0]->shape.rank == n->out[0]->shape.rank &&
                          m->out[0]->type == n->out[0]->type;
            for (int u = 0; begins && u < m->n_in; u++)
                begins = m->in[u] == n->in[u];
            if (begins && (!longest || m->n_in > longest->n_in))
                longest = m;
        }
        Node *as_it_was = arena_new_of(c->arena, Node);
        *as_it_was = *n;
        last[count++ % BACK] = as_it_was;
        if (!longest)
            continue;
        Value **in = arena_array(c->arena, Value *, n->n_in);
        int rest = n->n_in - longest->n_in;
        in[0] = longest->out[0];
        memcpy(in + 1, n->in + longest->n_in, sizeof *in * (size_t)rest);
        n->in = in;
        n->n_in = rest + 1;
    }
}

void import_patterns(Import *c)
{
    continue_concats(c);
    for (int i = c->n_node - 1; i >= 0; i--) {
        Node *n = c->node[i], *new;
        if (n->dead || n->n_out < 1 || !n->out[0] || n->out[0]->known ||
            n->out[0]->shape.rank < 1 || !onnx_is_float(n->out[0]->type))
            continue;
        drop_expands(n);
        new = of_shape(match_elements(c, n), n);
        if (!new)
            new = match_attention(c, n, i);
        if (!new)
            new = match_rotary(c, n);
        if (!new)
            continue;
        new->out[0] = n->out[0];
        new->out[0]->def = new;
        c->node[i] = new;
    }
}
