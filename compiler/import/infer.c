#include "import/infer.h"

#include <stdio.h>

/* ---- elementwise -------------------------------------------------------- */

void out_set(const Node *n, int i, OnnxType t, Shape s)
{
    Value *v = node_out(n, i);

    if (v) {
        v->type = t;
        v->shape = s;
    }
}

Value *in_need(Import *c, const Node *n, int i)
{
    Value *v = node_in(n, i);

    if (!v)
        import_error(c, n, "operand %d is missing", i);
    return v;
}

bool infer_same(Import *c, Node *n)
{
    const Value *x = in_need(c, n, 0);

    if (x)
        out_set(n, 0, x->type, x->shape);
    for (int i = 1; x && i < n->n_out; i++)
        if (n->out[i]) {
            if (strcmp(n->op, "Dropout")) {
                import_error(c, n, "its result %d is not supported", i);
                return false;
            }
            out_set(n, i, OT_BOOL, x->shape);
        }
    return x != NULL;
}

static bool broadcast_all(Import *c, Node *n, int first, Shape *s)
{
    *s = (Shape){0};
    for (int i = first; i < n->n_in; i++) {
        Value *v = in_need(c, n, i);
        if (!v)
            return false;
        if (!shape_broadcast(s, &v->shape, s)) {
            import_error(c, n,
                         "the shapes of its operands do not go "
                         "together");
            return false;
        }
    }
    return n->n_in > first || (import_error(c, n, "it has no operands"), false);
}

/* Before opset 7 a second operand could begin at `axis` of the first. */
static bool old_broadcast(Import *c, Node *n)
{
    if (*n->domain || n->version >= 7 || n->n_in != 2 ||
        !attr_find(n, "axis") || !n->in[1])
        return true;
    Value *b = n->in[1];
    int64_t axis = attr_int(n, "axis", 0);
    int rank = n->in[0]->shape.rank, after;
    if (axis < 0)
        axis += rank;
    after = rank - (int)axis - b->shape.rank;
    if (axis < 0 || after <= 0)
        return true;
    Node *r = node_new(c, "Reshape", n->name, 2, 1);
    Value *v = value_new(c, NULL);
    int64_t dim[IMPORT_MAX_RANK];
    Shape s = b->shape;
    for (int i = 0; i < after; i++)
        s.dim[s.rank++] = 1;
    memcpy(dim, s.dim, sizeof dim);
    r->domain = "";
    r->version = 13;
    r->in[0] = b;
    r->in[1] = value_ints(c, dim, s.rank);
    r->out[0] = v;
    bool named;
    r->info = op_find("", "Reshape", 13, &named);
    v->def = r;
    v->type = b->type;
    v->shape = s;
    import_fold(c, r);
    VEC_PUSH(c->arena, c->node, c->n_node, c->cap_node) = r;
    n->in[1] = v;
    return true;
}

bool infer_broadcast(Import *c, Node *n)
{
    Shape s;

    if (!old_broadcast(c, n) || !broadcast_all(c, n, 0, &s))
        return false;
    out_set(n, 0, n->in[0]->type, s);
    return true;
}

bool infer_compare(Import *c, Node *n)
{
    if (!infer_broadcast(c, n))
        return false;
    n->out[0]->type = OT_BOOL;
    return true;
}

bool infer_test(Import *c, Node *n)
{
    if (!infer_same(c, n))
        return false;
    n->out[0]->type = OT_BOOL;
    return true;
}

bool infer_where(Import *c, Node *n)
{
    Shape s;

    if (!in_need(c, n, 2) || !broadcast_all(c, n, 0, &s))
        return false;
    out_set(n, 0, n->in[1]->type, s);
    return true;
}

bool infer_cast(Import *c, Node *n)
{
    const Value *x = in_need(c, n, 0), *like = node_in(n, 1);
    int64_t to = attr_int(n, "to", OT_NONE);

    if (!strcmp(n->op, "CastLike"))
        to = like ? like->type : OT_NONE;
    if (!x)
        return false;
    if (to < 0 || to >= OT_TYPES || !onnx_type_size((OnnxType)to)) {
        import_error(c, n, "attribute 'to': a cast to %s is not supported",
                     onnx_type_name((OnnxType)to));
        return false;
    }
    out_set(n, 0, (OnnxType)to, x->shape);
    return true;
}

/* ---- products ----------------------------------------------------------- */

bool batch_is_turned(const Node *n, bool second, int rank, int64_t *perm)
{
    if (rank < 3 || !attr_int(n, second ? "transBatchB" : "transBatchA", 0))
        return false;
    for (int i = 0; i < rank; i++)
        perm[i] = i == rank - 1 ? i : i == rank - 2 ? 0 : i + 1;
    return true;
}

static Shape product_shape(const Node *n, const Value *v, bool second)
{
    int64_t perm[IMPORT_MAX_RANK];
    Shape s = v->shape, old = s;

    if (batch_is_turned(n, second, s.rank, perm))
        for (int i = 0; i < s.rank; i++)
            s.dim[i] = old.dim[perm[i]];
    old = s;
    if (attr_int(n, second ? "transB" : "transA", 0) && s.rank >= 2) {
        s.dim[s.rank - 1] = old.dim[s.rank - 2];
        s.dim[s.rank - 2] = old.dim[s.rank - 1];
    }
    return s;
}

bool infer_matmul(Import *c, Node *n)
{
    Value *a = in_need(c, n, 0), *b = in_need(c, n, 1);
    Shape x, y, s;

    if (!a || !b)
        return false;
    x = product_shape(n, a, false);
    y = product_shape(n, b, true);
    bool row = x.rank == 1, column = y.rank == 1;
    if (!x.rank || !y.rank) {
        import_error(c, n, "a matrix product of a scalar");
        return false;
    }
    if (row)
        x = (Shape){2, {1, x.dim[0]}};
    if (column)
        y = (Shape){2, {y.dim[0], 1}};
    int64_t m = x.dim[x.rank - 2], p = y.dim[y.rank - 1];
    bool ok = x.dim[x.rank - 1] == y.dim[y.rank - 2];
    x.rank -= 2;
    y.rank -= 2;
    if (!ok || !shape_broadcast(&x, &y, &s) || s.rank + 2 > IMPORT_MAX_RANK) {
        import_error(c, n, "the shapes of its operands do not go together");
        return false;
    }
    if (!row)
        s.dim[s.rank++] = m;
    if (!column)
        s.dim[s.rank++] = p;
    out_set(n, 0, strcmp(n->op, "MatMulInteger") ? a->type : OT_INT32, s);
    return true;
}

bool infer_gemm(Import *c, Node *n)
{
    Value *a = in_need(c, n, 0), *b = in_need(c, n, 1);
    int ta = attr_int(n, "transA", 0) != 0, tb = attr_int(n, "transB", 0) != 0;

    if (!a || !b)
        return false;
    if (a->shape.rank != 2 || b->shape.rank != 2 ||
        a->shape.dim[!ta] != b->shape.dim[tb]) {
        import_error(c, n, "the shapes of its operands do not go together");
        return false;
    }
    int64_t dim[] = {a->shape.dim[ta], b->shape.dim[!tb]};
    out_set(n, 0, a->type, shape_of(2, dim));
    return true;
}

/* ---- windows ------------------------------------------------------------ */

static bool window_list(Import *c, const Node *n, const char *name, int want,
                        int64_t otherwise, int64_t *out)
{
    int count;
    const int64_t *v = attr_ints(n, name, &count);

    for (int i = 0; i < want; i++)
        out[i] = v && count == want ? v[i] : otherwise;
    if (v && count && count != want) {
        import_error(c, n, "attribute '%s' has %d entries, not %d", name, count,
                     want);
        return false;
    }
    for (int i = 0; i < want; i++)
        if (out[i] < 0 || out[i] >= 1 << 30) {
            import_error(c, n, "attribute '%s': %lld", name, (long long)out[i]);
            return false;
        }
    return true;
}

static bool window_lists(Import *c, const Node *n, const Shape *x,
                         const Shape *w, Window *o)
{
    int64_t pads[2 * IMPORT_MAX_RANK];

    *o = (Window){.n = x->rank - 2};
    if (o->n < 1 || (w && w->rank != x->rank)) {
        import_error(c, n, "a window over a tensor of rank %d", x->rank);
        return false;
    }
    if (!window_list(c, n, "kernel_shape", o->n, 0, o->size) ||
        !window_list(c, n, "strides", o->n, 1, o->stride) ||
        !window_list(c, n, "dilations", o->n, 1, o->dilation) ||
        !window_list(c, n, "pads", 2 * o->n, 0, pads))
        return false;
    for (int i = 0; i < o->n; i++) {
        if (w)
            o->size[i] = w->dim[2 + i];
        o->before[i] = pads[i];
        o->after[i] = pads[o->n + i];
        if (!o->size[i] || !o->stride[i] || !o->dilation[i]) {
            import_error(c, n, "a window, stride or dilation of 0");
            return false;
        }
    }
    o->ceil = attr_int(n, "ceil_mode", 0) != 0;
    return true;
}

/* auto_pad: as many as keep ceil(size / stride). */
static bool auto_pad(Import *c, const Node *n, Window *o, int i, int64_t need)
{
    const char *mode = attr_text(n, "auto_pad", "NOTSET");
    bool lower = !strcmp(mode, "SAME_LOWER");

    if (!strcmp(mode, "NOTSET") || !*mode)
        return true;
    o->before[i] = o->after[i] = 0;
    if (!strcmp(mode, "VALID"))
        return true;
    if (!lower && strcmp(mode, "SAME_UPPER")) {
        import_error(c, n, "attribute 'auto_pad': '%s'", mode);
        return false;
    }
    if (need < 0)
        need = 0;
    o->before[i] = lower ? (need + 1) / 2 : need / 2;
    o->after[i] = need - o->before[i];
    return true;
}

bool window_of(Import *c, const Node *n, const Shape *x, const Shape *w,
               Window *o)
{
    if (!window_lists(c, n, x, w, o))
        return false;
    for (int i = 0; i < o->n; i++) {
        int64_t in = x->dim[2 + i];
        int64_t span = o->dilation[i] * (o->size[i] - 1) + 1;
        int64_t same = (in + o->stride[i] - 1) / o->stride[i];
        if (!auto_pad(c, n, o, i, (same - 1) * o->stride[i] + span - in))
            return false;
        int64_t room = in + o->before[i] + o->after[i] - span;
        if (room < 0) {
            import_error(c, n, "its window is larger than its operand");
            return false;
        }
        o->out[i] = room / o->stride[i] + 1;
        /* a window more, if it begins within the operand or what precedes */
        if (o->ceil && room % o->stride[i] &&
            o->out[i] * o->stride[i] < in + o->before[i])
            o->out[i]++;
    }
    return true;
}

bool infer_conv(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    bool q = !strcmp(n->op, "QLinearConv");
    Value *w = in_need(c, n, q ? 3 : 1);
    int64_t groups = attr_int(n, "group", 1);
    Window o;

    if (!x || !w || !window_of(c, n, &x->shape, &w->shape, &o))
        return false;
    if (groups < 1 || w->shape.dim[1] * groups != x->shape.dim[1] ||
        w->shape.dim[0] % groups) {
        import_error(c, n, "the channels of its operands do not go together");
        return false;
    }
    Shape s = {x->shape.rank, {x->shape.dim[0], w->shape.dim[0]}};
    for (int i = 0; i < o.n; i++)
        s.dim[2 + i] = o.out[i];
    out_set(n, 0,
            !strcmp(n->op, "ConvInteger") ? OT_INT32
            : q && node_in(n, 7)          ? node_in(n, 7)->type
                                          : x->type,
            s);
    return true;
}

bool window_transposed(Import *c, const Node *n, const Shape *x, const Shape *w,
                       Window *o, int64_t *extra)
{
    int count;
    const int64_t *shape = attr_ints(n, "output_shape", &count);
    const char *mode = attr_text(n, "auto_pad", "NOTSET");

    if (!window_lists(c, n, x, w, o) ||
        !window_list(c, n, "output_padding", o->n, 0, extra))
        return false;
    for (int i = 0; i < o->n; i++) {
        int64_t full = (x->dim[2 + i] - 1) * o->stride[i] +
                       o->dilation[i] * (o->size[i] - 1) + 1 + extra[i];
        bool same = !strncmp(mode, "SAME", 4);
        if (shape && count >= o->n)
            o->out[i] = shape[count - o->n + i];
        else if (same)
            o->out[i] = x->dim[2 + i] * o->stride[i];
        else if (!strcmp(mode, "VALID"))
            o->before[i] = o->after[i] = 0, o->out[i] = full;
        else
            o->out[i] = full - o->before[i] - o->after[i];
        if ((shape && count >= o->n) || same) {
            int64_t less = full - o->out[i];
            if (less < 0)
                less = 0;
            o->before[i] =
                strcmp(mode, "SAME_UPPER") ? less - less / 2 : less / 2;
            o->after[i] = less - o->before[i];
        }
        if (o->out[i] < 1) {
            import_error(c, n, "its result is empty");
            return false;
        }
    }
    return true;
}

bool infer_conv_transpose(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *w = in_need(c, n, 1);
    int64_t groups = attr_int(n, "group", 1), extra[IMPORT_MAX_RANK];
    Window o;

    if (!x || !w || !window_transposed(c, n, &x->shape, &w->shape, &o, extra))
        return false;
    if (groups < 1 || w->shape.dim[0] != x->shape.dim[1] ||
        x->shape.dim[1] % groups) {
        import_error(c, n, "the channels of its operands do not go together");
        return false;
    }
    Shape s = {x->shape.rank, {x->shape.dim[0], w->shape.dim[1] * groups}};
    for (int i = 0; i < o.n; i++)
        s.dim[2 + i] = o.out[i];
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_pool(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    Window o;

    if (!x || !window_of(c, n, &x->shape, NULL, &o))
        return false;
    Shape s = x->shape;
    for (int i = 0; i < o.n; i++)
        s.dim[2 + i] = o.out[i];
    out_set(n, 0, x->type, s);
    out_set(n, 1, OT_INT64, s);
    return true;
}

bool infer_global_pool(Import *c, Node *n)
{
    if (!infer_same(c, n))
        return false;
    for (int i = 2; i < n->out[0]->shape.rank; i++)
        n->out[0]->shape.dim[i] = 1;
    return true;
}

/* ---- reductions --------------------------------------------------------- */

bool reduce_axes(Import *c, const Node *n, unsigned *axes, bool *keep)
{
    int rank = node_in(n, 0)->shape.rank, count, axis;
    const int64_t *v;

    *axes = 0;
    *keep = attr_int(n, "keepdims", 1) != 0;
    if (!ints_of(c, n, "axes", 1, &v, &count))
        return false;
    for (int i = 0; i < count; i++) {
        if (!axis_in(c, n, v[i], rank, &axis))
            return false;
        *axes |= 1u << axis;
    }
    if (count <= 0 && !attr_int(n, "noop_with_empty_axes", 0))
        *axes = (1u << rank) - 1;
    return true;
}

bool infer_reduce(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    unsigned axes;
    bool keep;
    Shape s = {0};

    if (!x || !reduce_axes(c, n, &axes, &keep))
        return false;
    for (int i = 0; i < x->shape.rank; i++)
        if (!(axes >> i & 1))
            s.dim[s.rank++] = x->shape.dim[i];
        else if (keep)
            s.dim[s.rank++] = 1;
    out_set(n, 0, x->type, s);
    return true;
}

bool axis_of(Import *c, const Node *n, int64_t otherwise, int rank, int *out)
{
    return axis_in(c, n, attr_int(n, "axis", otherwise), rank, out);
}

bool infer_arg(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int axis;
    Shape s = {0};

    if (!x || !axis_of(c, n, 0, x->shape.rank, &axis))
        return false;
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis)
            s.dim[s.rank++] = x->shape.dim[i];
        else if (attr_int(n, "keepdims", 1))
            s.dim[s.rank++] = 1;
    out_set(n, 0, OT_INT64, s);
    return true;
}

/* LayerNormalization and its kin: mean and inverse deviation beside. */
bool infer_norm(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int axis;

    if (!x || !axis_of(c, n, -1, x->shape.rank, &axis))
        return false;
    Shape s = x->shape;
    for (int i = axis; i < s.rank; i++)
        s.dim[i] = 1;
    out_set(n, 0, x->type, x->shape);
    out_set(n, 1, OT_FLOAT, s);
    out_set(n, 2, OT_FLOAT, s);
    return true;
}

bool infer_topk(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int axis;
    double k = (double)attr_int(n, "k", 0);

    if (!x || !axis_of(c, n, -1, x->shape.rank, &axis))
        return false;
    if (n->version >= 10 && !in_scalar(n, 1, &k)) {
        import_error(c, n, "operand 1, k, must be a constant");
        return false;
    }
    if (k < 1 || k > (double)x->shape.dim[axis]) {
        import_error(c, n, "k is %g of %lld", k, (long long)x->shape.dim[axis]);
        return false;
    }
    Shape s = x->shape;
    s.dim[axis] = (int64_t)k;
    out_set(n, 0, x->type, s);
    out_set(n, 1, OT_INT64, s);
    return true;
}

/* The results beside are training's. */
bool infer_batch_norm(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);

    if (!x || !in_need(c, n, 4))
        return false;
    out_set(n, 0, x->type, x->shape);
    for (int i = 1; i < n->n_out; i++)
        out_set(n, i, x->type, n->in[3]->shape);
    return true;
}

bool infer_skip_norm(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);

    if (!x || !in_need(c, n, 2))
        return false;
    for (int i = 0; i < n->n_out; i++)
        out_set(n, i, x->type, x->shape);
    return true;
}

bool infer_qlinear_matmul(Import *c, Node *n)
{
    Value *a = in_need(c, n, 0), *b = in_need(c, n, 3);
    Node plain = *n;
    Value *in[] = {a, b};

    if (!a || !b || !in_need(c, n, 7))
        return false;
    plain.in = in;
    plain.n_in = 2;
    if (!infer_matmul(c, &plain))
        return false;
    n->out[0]->type = n->in[7]->type;
    return true;
}
