#include "import/infer.h"

#include <ctype.h>
#include <math.h>

/* ---- Einsum ------------------------------------------------------------- */

/* One operand's labels; "..." becomes the digits of its last dimensions. */
static bool labels(const char *from, size_t n, int rank, char *to)
{
    int k = 0, letters = 0;

    for (size_t i = 0; i < n; i++)
        letters += isalpha((unsigned char)from[i]) != 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i] == ' ')
            continue;
        if (isalpha((unsigned char)from[i])) {
            if (k == IMPORT_MAX_RANK)
                return false;
            to[k++] = from[i];
        } else if (i + 2 < n && !strncmp(from + i, "...", 3)) {
            for (int d = rank - letters; d > 0; d--) {
                if (k == IMPORT_MAX_RANK)
                    return false;
                to[k++] = (char)('0' + d - 1);
            }
            i += 2;
        } else {
            return false;
        }
    }
    to[k] = 0;
    return rank < 0 || k == rank;
}

static bool einsum_sizes(const Node *n, Einsum *e)
{
    for (int i = 0; i < e->n; i++)
        for (int k = 0; e->in[i][k]; k++) {
            int64_t *d = &e->size[(int)e->in[i][k]];
            int64_t have = n->in[i]->shape.dim[k];
            if (*d > 1 && have > 1 && *d != have)
                return false;
            if (*d < have)
                *d = have;
        }
    return true;
}

/* Without "->": all that occur once, in alphabetical order. */
static void einsum_implicit(Einsum *e)
{
    int k = 0, count[128] = {0}, dots = 0;

    for (int i = 0; i < e->n; i++)
        for (const char *p = e->in[i]; *p; p++) {
            count[(int)*p]++;
            if (isdigit((unsigned char)*p) && *p - '0' + 1 > dots)
                dots = *p - '0' + 1;
        }
    while (dots > 0 && k < IMPORT_MAX_RANK)
        e->out[k++] = (char)('0' + --dots);
    for (int ch = 'A'; ch < 127; ch++)
        if (isalpha(ch) && count[ch] == 1 && k < IMPORT_MAX_RANK)
            e->out[k++] = (char)ch;
    e->out[k] = 0;
}

bool einsum_of(Import *c, const Node *n, Einsum *e)
{
    const char *text = attr_text(n, "equation", ""), *p = text;
    const char *arrow = strstr(text, "->");
    const char *end = arrow ? arrow : text + strlen(text);
    int most = 0;
    bool ok = n->n_in >= 1 && n->n_in <= 8;

    memset(e, 0, sizeof *e);
    for (; ok && e->n < n->n_in; e->n++) {
        size_t len = strcspn(p, ",");
        if (p + len > end)
            len = (size_t)(end - p);
        ok =
            n->in[e->n] && labels(p, len, n->in[e->n]->shape.rank, e->in[e->n]);
        p += len;
        if (p < end)
            p++;
        for (const char *q = e->in [e->n]; ok && *q; q++)
            if (isdigit((unsigned char)*q) && *q - '0' + 1 > most)
                most = *q - '0' + 1;
    }
    ok = ok && p == end && einsum_sizes(n, e);
    if (ok && !arrow) {
        einsum_implicit(e);
    } else if (ok) {
        int letters = 0;
        for (const char *q = arrow + 2; *q; q++)
            letters += isalpha((unsigned char)*q) != 0;
        bool dots = strstr(arrow, "...") != NULL;
        ok = labels(arrow + 2, strlen(arrow + 2), letters + (dots ? most : 0),
                    e->out);
    }
    if (!ok)
        import_error(c, n,
                     "attribute 'equation': '%s' does not fit its "
                     "operands",
                     text);
    return ok;
}

bool infer_einsum(Import *c, Node *n)
{
    Einsum e;
    Shape s = {0};

    if (!einsum_of(c, n, &e))
        return false;
    for (const char *p = e.out; *p; p++)
        s.dim[s.rank++] = e.size[(int)*p] ? e.size[(int)*p] : 1;
    out_set(n, 0, n->in[0]->type, s);
    return true;
}

/* ---- Resize, GridSample ------------------------------------------------- */

/* The resized axes' entries spread over all dimensions. */
static bool spread(Import *c, const Node *n, int rank, int count, int *axis)
{
    int n_axes;
    const int64_t *axes = attr_ints(n, "axes", &n_axes);

    if (count != (axes ? n_axes : rank)) {
        import_error(c, n, "%d sizes or scales for %d dimensions", count,
                     axes ? n_axes : rank);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!axis_in(c, n, axes ? axes[i] : i, rank, &axis[i]))
            return false;
    return true;
}

static bool resize_sizes(Import *c, Node *n, const Value *x, const Value *v)
{
    const char *policy = attr_text(n, "keep_aspect_ratio_policy", "stretch");
    int axis[IMPORT_MAX_RANK], rank = x->shape.rank;
    Shape s = x->shape;
    double scale = 0;

    if (v->known->n > IMPORT_MAX_RANK ||
        !spread(c, n, rank, (int)v->known->n, axis))
        return false;
    for (int64_t i = 0; i < v->known->n; i++) {
        double r = (double)known_int(v->known, i) / (double)s.dim[axis[i]];
        if (i == 0 || (!strcmp(policy, "not_larger") ? r < scale : r > scale))
            scale = r;
    }
    for (int64_t i = 0; i < v->known->n; i++) {
        double size = strcmp(policy, "stretch")
                          ? floor(scale * (double)s.dim[axis[i]] + 0.5)
                          : (double)known_int(v->known, i);
        if (!(size >= 1 && size <= INT32_MAX)) {
            import_error(c, n, "a size of %g", size);
            return false;
        }
        s.dim[axis[i]] = (int64_t)size;
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_resize(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    bool old = n->version < 11 || !strcmp(n->op, "Upsample");
    Value *scales = node_in(n, old ? 1 : 2), *sizes = node_in(n, old ? 9 : 3);
    int axis[IMPORT_MAX_RANK];
    const NodeAttr *a = attr_find(n, "scales");

    if (!x)
        return false;
    if (sizes && sizes->known && sizes->known->n)
        return resize_sizes(c, n, x, sizes);
    bool given = scales && scales->known && scales->known->n;
    int count = given ? (int)scales->known->n : a ? a->n : 0;
    if (!count || count > IMPORT_MAX_RANK) {
        import_error(c, n, "its scales or sizes must be constants");
        return false;
    }
    if (!spread(c, n, x->shape.rank, count, axis))
        return false;
    Shape s = x->shape;
    for (int i = 0; i < count; i++) {
        double r = given ? known_float(scales->known, i) : a->floats[i];
        double size = floor((double)s.dim[axis[i]] * r);
        if (!(r > 0) || r > 1e6 || size < 1 || size > INT32_MAX) {
            import_error(c, n, "a scale of %g", r);
            return false;
        }
        if (r != 1)
            s.dim[axis[i]] = (int64_t)size;
    }
    out_set(n, 0, x->type, s);
    return true;
}

bool infer_grid_sample(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *g = in_need(c, n, 1);

    if (!x || !g)
        return false;
    if (x->shape.rank != g->shape.rank || x->shape.rank < 3 ||
        g->shape.dim[g->shape.rank - 1] != x->shape.rank - 2) {
        import_error(c, n, "its operands do not go together");
        return false;
    }
    Shape s = x->shape;
    for (int i = 2; i < s.rank; i++)
        s.dim[i] = g->shape.dim[i - 1];
    out_set(n, 0, x->type, s);
    return true;
}

/* ---- scatters ----------------------------------------------------------- */

static bool do_not_go_together(Import *c, const Node *n)
{
    import_error(c, n, "its operands do not go together");
    return false;
}

bool infer_scatter_elements(Import *c, Node *n)
{
    const Value *x = in_need(c, n, 0), *ids = in_need(c, n, 1);
    const Value *u = in_need(c, n, 2);
    int axis;

    if (!x || !ids || !u)
        return false;
    if (!shape_same(&ids->shape, &u->shape) ||
        x->shape.rank != u->shape.rank || !onnx_is_int(ids->type) ||
        !axis_in(c, n, attr_int(n, "axis", 0), x->shape.rank, &axis))
        return do_not_go_together(c, n);
    for (int d = 0; d < x->shape.rank; d++)
        if (d != axis && u->shape.dim[d] > x->shape.dim[d])
            return do_not_go_together(c, n);
    return infer_same(c, n);
}

bool infer_scatter_nd(Import *c, Node *n)
{
    const Value *x = in_need(c, n, 0), *ids = in_need(c, n, 1);
    const Value *u = in_need(c, n, 2);

    if (!x || !ids || !u)
        return false;
    int q = ids->shape.rank;
    int64_t depth = q > 0 ? ids->shape.dim[q - 1] : 0;
    if (q < 1 || depth < 1 || depth > x->shape.rank ||
        !onnx_is_int(ids->type) ||
        q - 1 + x->shape.rank - depth != u->shape.rank)
        return do_not_go_together(c, n);
    for (int d = 0; d < u->shape.rank; d++)
        if (u->shape.dim[d] != (d < q - 1 ? ids->shape.dim[d]
                                          : x->shape.dim[depth + d - q + 1]))
            return do_not_go_together(c, n);
    return infer_same(c, n);
}

/* ---- LSTM, GRU, RNN ----------------------------------------------------- */

/* Operand i has these sizes, or is not there. */
static bool sizes_are(const Node *n, int i, Shape s)
{
    return !node_in(n, i) || shape_same(&n->in[i]->shape, &s);
}

/* Weights, bias, first states and peepholes of `gates` gates. */
static bool recurrent_fits(const Node *n, int64_t gates, bool batch_first)
{
    const Shape *x = &n->in[0]->shape, *w = &n->in[1]->shape;
    int64_t dirs = w->dim[0], hidden = n->in[2]->shape.dim[2];
    int64_t b = x->dim[!batch_first];
    Shape state = {3, {dirs, b, hidden}};

    if (batch_first)
        state = (Shape){3, {b, dirs, hidden}};
    return hidden > 0 && hidden < INT32_MAX &&
           sizes_are(n, 1, (Shape){3, {dirs, gates * hidden, x->dim[2]}}) &&
           sizes_are(n, 2, (Shape){3, {dirs, gates * hidden, hidden}}) &&
           sizes_are(n, 3, (Shape){2, {dirs, 2 * gates * hidden}}) &&
           sizes_are(n, 4, (Shape){1, {b}}) && sizes_are(n, 5, state) &&
           (gates != 4 || (sizes_are(n, 6, state) &&
                           sizes_are(n, 7, (Shape){2, {dirs, 3 * hidden}})));
}

bool infer_recurrent(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0), *w = in_need(c, n, 1), *r = in_need(c, n, 2);
    bool batch_first = attr_int(n, "layout", 0) != 0;

    if (!x || !w || !r)
        return false;
    if (x->shape.rank != 3 || w->shape.rank != 3 || r->shape.rank != 3) {
        import_error(c, n, "its operands are not of rank 3");
        return false;
    }
    if (!recurrent_fits(n, *n->op == 'L' ? 4 : *n->op == 'G' ? 3 : 1,
                        batch_first))
        return do_not_go_together(c, n);
    int64_t dirs = w->shape.dim[0], hidden = r->shape.dim[2];
    int64_t t = x->shape.dim[batch_first], b = x->shape.dim[!batch_first];
    Shape y = {4, {t, dirs, b, hidden}}, h = {3, {dirs, b, hidden}};
    if (batch_first) {
        y = (Shape){4, {b, t, dirs, hidden}};
        h = (Shape){3, {b, dirs, hidden}};
    }
    out_set(n, 0, x->type, y);
    out_set(n, 1, x->type, h);
    out_set(n, 2, x->type, h);
    return true;
}

/* ---- quantized ---------------------------------------------------------- */

bool infer_quantize(Import *c, Node *n)
{
    Value *x = in_need(c, n, 0);
    Value *zero = node_in(n, 2), *scale = node_in(n, 1);

    if (!x)
        return false;
    if (!strcmp(n->op, "QuantizeLinear")) {
        int64_t t = attr_int(n, "output_dtype", 0);
        out_set(n, 0, zero ? zero->type : t ? (OnnxType)t : OT_UINT8, x->shape);
    } else if (!strcmp(n->op, "DequantizeLinear")) {
        out_set(n, 0, scale ? scale->type : OT_FLOAT, x->shape);
    } else {
        out_set(n, 0, OT_UINT8, x->shape);
        out_set(n, 1, OT_FLOAT, (Shape){0});
        out_set(n, 2, OT_UINT8, (Shape){0});
    }
    if (n->out[0] && !onnx_type_size(n->out[0]->type)) {
        import_error(c, n, "its type is not supported");
        return false;
    }
    return true;
}

/* ---- attention (opset 23; com.microsoft's MultiHeadAttention) ----------- */

static bool heads_fit(const Shape *q, const Shape *k, const Shape *v)
{
    return q->rank != 4 || (q->dim[1] >= k->dim[1] && k->dim[1] > 0 &&
                            q->dim[1] % k->dim[1] == 0 &&
                            v->dim[1] == k->dim[1] && q->dim[3] == k->dim[3]);
}

/* Those of before, by heads: as x's, but for how many there are. */
static bool past_fits(const Value *past, const Shape *x, int64_t own)
{
    bool flat = x->rank == 3;

    return !past || (past->shape.rank == 4 &&
                     past->shape.dim[0] == x->dim[0] &&
                     past->shape.dim[1] == (flat ? own : x->dim[1]) &&
                     past->shape.dim[3] == (flat ? x->dim[2] / own
                                                 : x->dim[3]));
}

/* That of q, k and v, one behind the other: com.microsoft's. */
static bool bias_fits(const Node *n, const Value *bias)
{
    int64_t wide = 0;

    if (!bias)
        return true;
    for (int i = 0; i < 3; i++) {
        const Shape *x = &n->in[i]->shape;
        wide += x->rank == 3 ? x->dim[2] : x->dim[1] * x->dim[3];
    }
    return n->in[0]->shape.rank == 3 && bias->shape.rank == 1 &&
           bias->shape.dim[0] == wide && bias->type == n->in[0]->type;
}

/* Ranks and sizes that emitting relies on. */
static bool attention_fits(const Node *n, bool ms)
{
    int64_t own = attr_int(n, "kv_num_heads",
                           attr_int(n, "q_num_heads",
                                    attr_int(n, "num_heads", 1)));
    const Shape *q = &n->in[0]->shape, *k = &n->in[1]->shape;
    const Shape *v = &n->in[2]->shape;
    const Value *mask = node_in(n, ms ? 5 : 3), *count = node_in(n, ms ? 4 : 6);

    bool apart = ms && q->rank == 3 && k->rank == 4 && v->rank == 4;
    if ((k->rank != q->rank && !apart) || v->rank != k->rank ||
        k->dim[0] != q->dim[0] || v->dim[0] != q->dim[0] ||
        (apart ? k->dim[1] != v->dim[1] || k->dim[2] != v->dim[2]
               : !heads_fit(q, k, v)) ||
        (mask && mask->shape.rank > 4) ||
        (count && count->shape.rank != 1 && (!ms || count->shape.rank != 2)) ||
        (count && count->shape.dim[0] != q->dim[0]))
        return false;
    const Value *pk = node_in(n, ms ? 6 : 4), *pv = node_in(n, ms ? 7 : 5);
    if (own < 1 || k->dim[k->rank - 2] != v->dim[v->rank - 2] ||
        n->in[1]->type != n->in[0]->type ||
        !bias_fits(n, ms ? node_in(n, 3) : NULL) ||
        !past_fits(pk, k, own) || !past_fits(pv, v, own))
        return false;
    return !pk == !pv && (!pk || pk->shape.dim[2] == pv->shape.dim[2]);
}

bool infer_attention(Import *c, Node *n)
{
    Value *q = in_need(c, n, 0), *k = node_in(n, 1), *v = node_in(n, 2);

    if (!q || !k || !v) {
        import_error(c, n, "packed operands are not supported");
        return false;
    }
    Shape s = q->shape;
    if (!attention_fits(n, *n->domain != 0))
        return do_not_go_together(c, n);
    if (s.rank == 4 && v->shape.rank == 4) {
        s.dim[3] = v->shape.dim[3];
    } else if (s.rank == 3 && v->shape.rank == 3) {
        int64_t heads = attr_int(n, "q_num_heads", attr_int(n, "num_heads", 0));
        int64_t own = attr_int(n, "kv_num_heads", heads);
        if (heads < 1 || own < 1 || v->shape.dim[2] % own || heads % own ||
            k->shape.dim[2] % own || s.dim[2] % heads ||
            s.dim[2] / heads != k->shape.dim[2] / own) {
            import_error(c, n, "the number of heads does not fit");
            return false;
        }
        s.dim[2] = v->shape.dim[2] / own * heads;
    } else if (s.rank == 3) { /* keys and values are apart by heads already */
        if (attr_int(n, "num_heads", 0) != v->shape.dim[1] ||
            s.dim[2] != v->shape.dim[1] * k->shape.dim[3])
            return do_not_go_together(c, n);
        s.dim[2] = v->shape.dim[1] * v->shape.dim[3];
    } else {
        import_error(c, n, "operands of rank %d and %d", s.rank, v->shape.rank);
        return false;
    }
    out_set(n, 0, q->type, s);
    bool ms = *n->domain != 0;
    int64_t heads = attr_int(n, "q_num_heads", attr_int(n, "num_heads", 1));
    int64_t own = attr_int(n, "kv_num_heads", heads), columns = 0;
    for (int i = 1; i < 3; i++) {
        const Value *x = i == 1 ? k : v, *past = node_in(n, (ms ? 5 : 3) + i);
        Shape p = x->shape;
        if (p.rank == 3)
            p = (Shape){4, {p.dim[0], own, p.dim[1], p.dim[2] / own}};
        if (past && past->shape.rank == 4)
            p.dim[2] += past->shape.dim[2];
        if (i == 1)
            columns = p.dim[2];
        out_set(n, i, x->type, p);
    }
    Shape scores = {4, {s.dim[0], s.rank == 4 ? s.dim[1] : heads,
                        s.dim[s.rank - 2], columns}};
    out_set(n, 3, q->type, scores);
    return true;
}
