#include "import/infer.h"

#include <math.h>

static bool bad_rank(Import *c, const Node *n, int rank)
{
    if (rank <= IMPORT_MAX_RANK)
        return false;
    import_error(c, n, "rank %d; %d is the most", rank, IMPORT_MAX_RANK);
    return true;
}

/* ---- shapes anew -------------------------------------------------------- */

bool infer_reshape(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    const int64_t *v;
    int count, open = -1;
    int64_t rest = 1;
    Shape s = {0};

    if (!x || !ints_of(c, n, "shape", 1, &v, &count) || count < 0 ||
        bad_rank(c, n, count))
        return false;
    s.rank = count;
    for (int i = 0; i < count; i++) {
        s.dim[i] = v[i];
        if (v[i] == 0 && i < x->shape.rank && !attr_int(n, "allowzero", 0))
            s.dim[i] = x->shape.dim[i];
        if (v[i] == -1 && open < 0)
            open = i;
        else if (__builtin_mul_overflow(rest, s.dim[i], &rest))
            rest = 0;
    }
    int64_t all = shape_count(&x->shape);
    if (open >= 0 && rest > 0)
        s.dim[open] = all / rest;
    if (shape_count(&s) != all) {
        import_error(c, n, "%lld elements do not have the new shape",
                     (long long)all);
        return false;
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_transpose(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int count;
    const int64_t *perm = attr_ints(n, "perm", &count);
    unsigned seen = 0;

    if (!x)
        return false;
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++) {
        int64_t from = perm && count == s.rank ? perm[i] : s.rank - 1 - i;
        if (from < 0 || from >= s.rank || (perm && count != s.rank) ||
            seen >> from & 1) {
            import_error(c, n, "attribute 'perm' is no permutation");
            return false;
        }
        seen |= 1u << from;
        s.dim[i] = x->shape.dim[from];
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_concat(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int axis;

    if (!x || !axis_of(c, n, n->version < 4 ? 1 : 0, x->shape.rank, &axis))
        return false;
    Shape s = x->shape;
    for (int i = 1; i < n->n_in; i++) {
        Value *y = in_need(c, n, i);
        if (!y)
            return false;
        Shape t = y->shape;
        if (t.rank == s.rank)
            t.dim[axis] = s.dim[axis];
        if (!shape_same(&s, &t)) {
            import_error(c, n,
                         "the shapes of its operands do not go "
                         "together");
            return false;
        }
        s.dim[axis] += y->shape.dim[axis];
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_split(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int axis, count;
    const int64_t *v;

    if (!x || !axis_of(c, n, 0, x->shape.rank, &axis) ||
        !ints_of(c, n, "split", 1, &v, &count))
        return false;
    int64_t all = x->shape.dim[axis], sum = 0;
    int64_t each = n->n_out ? (all + n->n_out - 1) / n->n_out : 1;
    for (int i = 0; i < n->n_out; i++) {
        int64_t part = count > 0          ? (i < count ? v[i] : 0)
                       : all - sum < each ? all - sum
                                          : each;
        Shape s = x->shape;
        s.dim[axis] = part;
        sum += part;
        out_set(n, i, x->type, s);
    }
    if (sum != all || (count > 0 && count != n->n_out)) {
        import_error(c, n, "its parts are not all of %lld", (long long)all);
        return false;
    }
    return true;
}

bool slice_of(Import *c, const Node *n, SliceAxis *s)
{
    const Shape *x = &node_in(n, 0)->shape;
    const int64_t *first, *last, *axes, *step;
    int n_first, n_last, n_axes, n_step, axis;

    for (int i = 0; i < x->rank; i++)
        s[i] = (SliceAxis){0, 1, x->dim[i]};
    if (!ints_of(c, n, "starts", 1, &first, &n_first) ||
        !ints_of(c, n, "ends", 2, &last, &n_last) ||
        !ints_of(c, n, "axes", 3, &axes, &n_axes) ||
        !in_ints(c, n, 4, &step, &n_step))
        return false;
    if (n_last != n_first || (n_axes > 0 && n_axes != n_first) ||
        (n_step > 0 && n_step != n_first) || n_first > x->rank) {
        import_error(c, n, "its lists are not equally long");
        return false;
    }
    for (int i = 0; i < n_first; i++) {
        if (!axis_in(c, n, n_axes > 0 ? axes[i] : i, x->rank, &axis))
            return false;
        int64_t d = x->dim[axis], by = n_step > 0 ? step[i] : 1;
        int64_t low = first[i] < 0 ? first[i] + d : first[i];
        int64_t high = last[i] < -INT64_MAX + d ? -1
                       : last[i] < 0            ? last[i] + d
                                                : last[i];
        if (by == 0) {
            import_error(c, n, "a step of 0");
            return false;
        }
        if (by > 0) {
            low = low < 0 ? 0 : low > d ? d : low;
            high = high < 0 ? 0 : high > d ? d : high;
        } else {
            low = low < 0 ? -1 : low > d - 1 ? d - 1 : low;
            high = high < -1 ? -1 : high > d - 1 ? d - 1 : high;
        }
        int64_t room = by > 0 ? high - low : low - high;
        int64_t abs_by = by > 0 ? by : -(by + 1);
        if (by < 0)
            abs_by = abs_by == INT64_MAX ? abs_by : abs_by + 1;
        s[axis] = (SliceAxis){low, by, room > 0 ? (room - 1) / abs_by + 1 : 0};
    }
    return true;
}

bool infer_slice(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    SliceAxis s[IMPORT_MAX_RANK];

    if (!x || !slice_of(c, n, s))
        return false;
    Shape out = x->shape;
    for (int i = 0; i < out.rank; i++)
        out.dim[i] = s[i].count;
    out_set(n, 0, x->type, out);
    return true;
}

bool infer_expand(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    const int64_t *v;
    int count;
    Shape s;

    if (!x || !in_ints(c, n, 1, &v, &count) || count < 0 ||
        bad_rank(c, n, count))
        return false;
    s = shape_of(count, v);
    if (!shape_broadcast(&x->shape, &s, &s)) {
        import_error(c, n, "its operand does not have the new shape");
        return false;
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_squeeze(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    const int64_t *v;
    int count, axis;
    unsigned drop = 0;
    Shape s = {0};

    if (!x || !ints_of(c, n, "axes", 1, &v, &count))
        return false;
    for (int i = 0; i < count; i++) {
        if (!axis_in(c, n, v[i], x->shape.rank, &axis))
            return false;
        if (x->shape.dim[axis] != 1) {
            import_error(c, n, "size %d is %lld, not 1", axis,
                         (long long)x->shape.dim[axis]);
            return false;
        }
        drop |= 1u << axis;
    }
    for (int i = 0; i < x->shape.rank; i++)
        if (count < 0 ? x->shape.dim[i] != 1 : !(drop >> i & 1))
            s.dim[s.rank++] = x->shape.dim[i];
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_unsqueeze(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    const int64_t *v;
    int count, axis, from = 0;
    unsigned add = 0;
    Shape s = {0};

    if (!x || !ints_of(c, n, "axes", 1, &v, &count) || count < 0 ||
        bad_rank(c, n, x->shape.rank + count))
        return false;
    s.rank = x->shape.rank + count;
    for (int i = 0; i < count; i++) {
        if (!axis_in(c, n, v[i], s.rank, &axis))
            return false;
        if (add >> axis & 1) {
            import_error(c, n, "axis %d is there twice", axis);
            return false;
        }
        add |= 1u << axis;
    }
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = add >> i & 1 ? 1 : x->shape.dim[from++];
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_flatten(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int64_t axis = attr_int(n, "axis", 1);
    Shape s = {2, {1, 1}};

    if (!x)
        return false;
    if (axis < 0)
        axis += x->shape.rank;
    if (axis < 0 || axis > x->shape.rank) {
        import_error(c, n, "axis %lld of a tensor of rank %d", (long long)axis,
                     x->shape.rank);
        return false;
    }
    for (int i = 0; i < x->shape.rank; i++)
        s.dim[i >= axis] *= x->shape.dim[i];
    out_set(n, 0, x->type, s);
    return true;
}

bool pads_of(Import *c, const Node *n, int64_t *before, int64_t *after)
{
    const Shape *x = &node_in(n, 0)->shape;
    const int64_t *v, *axes = NULL;
    const char *name = attr_find(n, "paddings") ? "paddings" : "pads";
    int count, n_axes = -1, axis;

    if (!ints_of(c, n, name, 1, &v, &count) ||
        !in_ints(c, n, 3, &axes, &n_axes))
        return false;
    int each = n_axes >= 0 ? n_axes : x->rank;
    if (count != 2 * each) {
        import_error(c, n, "%d pads for %d dimensions", count, each);
        return false;
    }
    for (int i = 0; i < x->rank; i++)
        before[i] = after[i] = 0;
    for (int i = 0; i < each; i++) {
        if (!axis_in(c, n, axes ? axes[i] : i, x->rank, &axis))
            return false;
        before[axis] = v[i];
        after[axis] = v[each + i];
        if (v[i] < -(1 << 30) || v[i] > 1 << 30 || v[each + i] < -(1 << 30) ||
            v[each + i] > 1 << 30) {
            import_error(c, n, "a pad of %lld and %lld", (long long)v[i],
                         (long long)v[each + i]);
            return false;
        }
    }
    return true;
}

bool infer_pad(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int64_t before[IMPORT_MAX_RANK], after[IMPORT_MAX_RANK];

    if (!x || !pads_of(c, n, before, after))
        return false;
    Shape s = x->shape;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] += before[i] + after[i];
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_tile(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    const int64_t *v;
    int count;

    if (!x || !in_ints(c, n, 1, &v, &count))
        return false;
    if (count != x->shape.rank) {
        import_error(c, n, "%d repeats for %d dimensions", count,
                     x->shape.rank);
        return false;
    }
    Shape s = x->shape;
    for (int i = 0; i < count; i++)
        if (v[i] < 0 || __builtin_mul_overflow(s.dim[i], v[i], &s.dim[i])) {
            import_error(c, n, "repeated %lld times", (long long)v[i]);
            return false;
        }
    out_set(n, 0, x->type, s);
    return true;
}

static bool blocks(Import *c, Node *n, bool to_depth)
{
    Value *x = in_need(c, n, 0);
    int64_t b = attr_int(n, "blocksize", 0);

    if (!x)
        return false;
    Shape s = x->shape;
    bool ok = b > 0 && b < 1 << 15 && s.rank == 4 &&
              (to_depth ? s.dim[2] % b == 0 && s.dim[3] % b == 0
                        : s.dim[1] % (b * b) == 0);
    if (!ok) {
        import_error(c, n, "blocks of %lld do not divide its operand",
                     (long long)b);
        return false;
    }
    s.dim[1] = to_depth ? s.dim[1] * b * b : s.dim[1] / (b * b);
    s.dim[2] = to_depth ? s.dim[2] / b : s.dim[2] * b;
    s.dim[3] = to_depth ? s.dim[3] / b : s.dim[3] * b;
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_depth_to_space(Import *c, Node *n)
{
    return blocks(c, n, false);
}

bool infer_space_to_depth(Import *c, Node *n)
{
    return blocks(c, n, true);
}

/* ---- gathers ------------------------------------------------------------ */

bool infer_gather(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *ids = in_need(c, n, 1);
    int axis;
    Shape s = {0};

    if (!x || !ids || !axis_of(c, n, 0, x->shape.rank, &axis) ||
        bad_rank(c, n, x->shape.rank + ids->shape.rank - 1))
        return false;
    for (int i = 0; i < x->shape.rank; i++) {
        if (i != axis)
            s.dim[s.rank++] = x->shape.dim[i];
        for (int k = 0; i == axis && k < ids->shape.rank; k++)
            s.dim[s.rank++] = ids->shape.dim[k];
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_gather_elements(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *ids = in_need(c, n, 1);
    int axis;

    if (!x || !ids || !axis_of(c, n, 0, x->shape.rank, &axis))
        return false;
    if (ids->shape.rank != x->shape.rank) {
        import_error(c, n, "its operands have different ranks");
        return false;
    }
    out_set(n, 0, x->type, ids->shape);
    return true;
}

bool infer_gather_nd(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *ids = in_need(c, n, 1);
    int64_t batch = attr_int(n, "batch_dims", 0);
    Shape s = {0};

    if (!x || !ids)
        return false;
    int q = ids->shape.rank;
    int64_t depth = q ? ids->shape.dim[q - 1] : 0;
    if (!q || depth < 1 || batch < 0 || batch + depth > x->shape.rank ||
        batch >= q ||
        bad_rank(c, n, q - 1 + x->shape.rank - (int)(batch + depth))) {
        import_error(c, n, "its indices do not fit its operand");
        return false;
    }
    for (int i = 0; i < q - 1; i++)
        s.dim[s.rank++] = ids->shape.dim[i];
    for (int i = (int)(batch + depth); i < x->shape.rank; i++)
        s.dim[s.rank++] = x->shape.dim[i];
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_one_hot(Import *c, Node *n)
{
    Value *ids = in_need(c, n, 0), *values = in_need(c, n, 2);
    double depth;
    int axis;

    if (!ids || !values || !axis_of(c, n, -1, ids->shape.rank + 1, &axis) ||
        bad_rank(c, n, ids->shape.rank + 1))
        return false;
    if (!in_scalar(n, 1, &depth) || depth < 1 || depth > 1e9) {
        import_error(c, n, "operand 1, the depth, must be a constant");
        return false;
    }
    Shape s = {ids->shape.rank + 1, {0}};
    for (int i = 0, k = 0; i < s.rank; i++)
        s.dim[i] = i == axis ? (int64_t)depth : ids->shape.dim[k++];
    out_set(n, 0, values->type, s);
    return true;
}

/* ---- what comes from sizes ---------------------------------------------- */

bool infer_shape(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);

    if (!x)
        return false;
    int rank = x->shape.rank;
    int64_t first = attr_int(n, "start", 0), last = attr_int(n, "end", rank);
    first = first < 0 ? first + rank : first;
    last = last < 0 ? last + rank : last;
    first = first < 0 ? 0 : first > rank ? rank : first;
    last = last < first ? first : last > rank ? rank : last;
    Const *k = known_new(c, OT_INT64, last - first, false);
    for (int64_t i = first; i < last; i++)
        known_set_int(k, i - first, x->shape.dim[i]);
    out_set(n, 0, OT_INT64, (Shape){1, {last - first}});
    n->out[0]->known = k;
    return true;
}

bool infer_size(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);

    if (!x)
        return false;
    Const *k = known_new(c, OT_INT64, 1, false);
    known_set_int(k, 0, shape_count(&x->shape));
    out_set(n, 0, OT_INT64, (Shape){0});
    n->out[0]->known = k;
    return true;
}

bool infer_constant(Import *c, Node *n)
{
    const NodeAttr *a = n->n_attr ? &n->attr[0] : NULL;
    Value *out = n->out[0];

    if (!a || !out || !a->kind || strchr("sSg?", a->kind)) {
        import_error(c, n, "attribute '%s' is not supported",
                     a ? a->name : "value");
        return false;
    }
    if (a->kind == 't') {
        out->known = a->t->known;
        out->is_weight = true;
        out_set(n, 0, a->t->type, a->t->shape);
        return true;
    }
    bool whole = a->kind == 'i' || a->kind == 'I';
    bool one = a->kind == 'i' || a->kind == 'f';
    int64_t count = one ? 1 : a->n;
    Const *k = known_new(c, whole ? OT_INT64 : OT_FLOAT, count, false);
    for (int64_t i = 0; i < count; i++) {
        if (whole)
            known_set_int(k, i, one ? a->i : a->ints[i]);
        else
            known_set_float(k, i, one ? a->f : a->floats[i]);
    }
    out->known = k;
    out_set(n, 0, k->type, one ? (Shape){0} : (Shape){1, {count}});
    return true;
}

bool infer_constant_of_shape(Import *c, Node *n)
{
    const int64_t *v;
    int count;
    const NodeAttr *a = attr_find(n, "value");
    const Value *t = a && a->kind == 't' ? a->t : NULL;

    if (!in_ints(c, n, 0, &v, &count) || count < 0 || bad_rank(c, n, count))
        return false;
    Shape s = shape_of(count, v);
    Const *k = known_new(c, t ? t->type : OT_FLOAT, shape_count(&s), true);
    if (t && t->known->n)
        known_set_float(k, 0, known_float(t->known, 0));
    out_set(n, 0, k->type, s);
    n->out[0]->known = k;
    return true;
}

bool infer_range(Import *c, Node *n)
{
    double v[3];

    for (int i = 0; i < 3; i++)
        if (!in_scalar(n, i, &v[i])) {
            import_error(c, n,
                         "operand %d must be a constant, or come from "
                         "sizes alone",
                         i);
            return false;
        }
    double count = v[2] == 0 ? -1 : ceil((v[1] - v[0]) / v[2]);
    if (!(count >= 0) || count > 1e9) {
        import_error(c, n, "its result has %g elements", count);
        return false;
    }
    out_set(n, 0, n->in[0]->type, (Shape){1, {(int64_t)count}});
    return true;
}

bool infer_eye(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    int64_t t = attr_int(n, "dtype", x ? (int64_t)x->type : 0);

    if (!x || x->shape.rank != 2 || t < 0 || t >= OT_TYPES ||
        !onnx_type_size((OnnxType)t)) {
        import_error(c, n, "its operand is no matrix, or its type unknown");
        return false;
    }
    out_set(n, 0, (OnnxType)t, x->shape);
    return true;
}

/* Only of constants: how many there are depends on the contents. */
bool infer_nonzero(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);

    if (!x)
        return false;
    if (!x->known || x->known->n > IMPORT_MAX_FOLD) {
        import_error(c, n,
                     "the size of its result depends on its operand's "
                     "contents; sizes must be known when compiling");
        return false;
    }
    int64_t count = 0;
    for (int64_t i = 0; i < x->known->n; i++)
        count += known_float(x->known, i) != 0;
    out_set(n, 0, OT_INT64, (Shape){2, {x->shape.rank, count}});
    return true;
}
