/* Reductions, softmax, norms. */
#include "import/emit.h"

#include <math.h>

/* ---- reductions --------------------------------------------------------- */

typedef struct Reduction {
    const char *name, *how;     /* ONNX's; the language's reduction */
    const char *call;           /* the library's op for one axis, or NULL */
    const char *before, *after; /* around the term, around the result */
} Reduction;

static const Reduction reductions[] = {
    {"ReduceSum", "sum", "sum", "%s", "%s"},
    {"ReduceMean", "mean", "mean", "%s", "%s"},
    {"ReduceMax", "max", NULL, "%s", "%s"},
    {"ReduceMin", "min", NULL, "%s", "%s"},
    {"ReduceProd", "prod", NULL, "%s", "%s"},
    {"ReduceL1", "sum", NULL, "abs(%s)", "%s"},
    {"ReduceL2", "sum", NULL, "%1$s * %1$s", "sqrt(%s)"},
    {"ReduceSumSquare", "sum", NULL, "%1$s * %1$s", "%s"},
    {"ReduceLogSum", "sum", NULL, "%s", "log(%s)"},
};

static const char *around(Import *c, const char *fmt, const char *text)
{
    Buf b = {0};

    /* the formats are this file's own: %s, or %1$s twice */
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            buf_putc(&b, *p);
            continue;
        }
        buf_puts(&b, text);
        p += p[1] == '1' ? 3 : 1;
    }
    return buf_take(&b, c->arena);
}

/* Where a reduced tensor is read, its left side, and the reduction's list. */
static const char *reduced(Import *c, Stmt *s, const Value *v, unsigned axes,
                           bool keep, const char **at)
{
    const char *left[IMPORT_MAX_RANK] = {0};
    const Shape *x = &v->shape;
    bool known = v->known != NULL; /* a number may stand for it */
    int k = 0, w = 0;
    Buf b = {0};

    for (int i = 0; i < x->rank; i++) {
        at[i] = axes >> i & 1 ? window_names[w++] : index_names[k];
        if (!(axes >> i & 1) || keep)
            left[k] = index_names[k], k++;
        if (axes >> i & 1)
            buf_printf(&b, known ? "%s%s in 0..%s" : "%s%s", b.len ? ", " : "",
                       at[i], size_text(c, x->dim[i]));
    }
    stmt_left(c, s, left);
    return buf_take(&b, c->arena);
}

static void log_sum_exp(Import *c, Node *n, unsigned axes, bool keep)
{
    Value *x = n->in[0], *y = n->out[0];
    Value *m = between(c, y, "max", y->type, y->shape);
    const char *at[IMPORT_MAX_RANK] = {0};
    Stmt *s = stmt_new(c, m);
    const char *list = reduced(c, s, x, axes, keep, at);

    stmt_text(c, s, BIND_ATOM, "max(%s) %s", list, read_at(c, s, x, at));
    s = stmt_new(c, y);
    list = reduced(c, s, x, axes, keep, at);
    const char *term = read_at(c, s, x, at);
    const char *top = read_at(c, s, m, index_names);
    stmt_text(c, s, BIND_ADD, "log(sum(%s) exp(%s - %s)) + %s", list, term, top,
              top);
}

static void reduce_one(Import *c, Node *n, const Reduction *r, unsigned axes,
                       bool keep)
{
    Value *x = n->in[0], *y = n->out[0];
    const char *at[IMPORT_MAX_RANK], *text;
    int axis = axes ? __builtin_ctz(axes) : 0;
    bool one = axes && !(axes & (axes - 1)), whole = !onnx_is_float(x->type);
    Stmt *s = stmt_new(c, y);

    if (one && r->call && x->shape.rank > (keep ? 0 : 1) && !whole) {
        stmt_text(c, s, BIND_ATOM, "%s(%s, axis = %d%s)", r->call, arg(c, s, x),
                  axis == x->shape.rank - 1 ? -1 : axis,
                  keep ? ", keep = true" : "");
        return;
    }
    text = reduced(c, s, x, axes, keep, at);
    const char *term = around(c, r->before, read_at(c, s, x, at));
    text = axes ? arena_printf(c->arena, "%s(%s) %s", r->how, text, term)
                : term;
    text = around(c, r->after, text);
    if (whole && (!strcmp(r->how, "mean") || !strcmp(n->op, "ReduceL2")))
        text = arena_printf(c->arena, "i32(%s)", text);
    stmt_text(c, s, BIND_ATOM, "%s", text);
}

void emit_reduce(Import *c, Node *n)
{
    unsigned axes;
    bool keep;

    if (!reduce_axes(c, n, &axes, &keep))
        return;
    if (!axes && (!strcmp(n->op, "ReduceSum") || !strcmp(n->op, "ReduceMean") ||
                  !strcmp(n->op, "ReduceMax") || !strcmp(n->op, "ReduceMin") ||
                  !strcmp(n->op, "ReduceProd"))) {
        emit_same(c, n->out[0], n->in[0]);
        return;
    }
    if (!axes && !strcmp(n->op, "ReduceLogSumExp")) {
        emit_same(c, n->out[0], n->in[0]);
        return;
    }
    if (!strcmp(n->op, "ReduceLogSumExp")) {
        log_sum_exp(c, n, axes, keep);
        return;
    }
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strcmp(reductions[i].name, n->op))
            reduce_one(c, n, &reductions[i], axes, keep);
}

void emit_arg(Import *c, Node *n)
{
    Value *x = n->in[0];
    const char *at[IMPORT_MAX_RANK] = {0};
    bool keep = attr_int(n, "keepdims", 1) != 0;
    bool last = attr_int(n, "select_last_index", 0) != 0;
    const char *how = !strcmp(n->op, "ArgMin") ? "argmin" : "argmax";
    int axis;

    if (!axis_of(c, n, 0, x->shape.rank, &axis))
        return;
    Stmt *s = stmt_new(c, n->out[0]);
    if (!last && x->shape.rank > (keep ? 0 : 1)) {
        stmt_text(c, s, BIND_ATOM, "%s(%s, axis = %d%s)", how, arg(c, s, x),
                  axis, keep ? ", keep = true" : "");
        return;
    }
    reduced(c, s, x, 1u << axis, keep, at);
    long long top = (long long)x->shape.dim[axis] - 1;
    if (last)
        at[axis] = arena_printf(c->arena, "%lld - r", top);
    const char *term = read_at(c, s, x, at);
    const char *range =
        arena_printf(c->arena, "r in 0..%s", size_text(c, x->shape.dim[axis]));
    if (last)
        stmt_text(c, s, BIND_ADD, "%lld - %s(%s) %s", top, how, range, term);
    else
        stmt_text(c, s, BIND_ATOM, "%s(%s) %s", how, range, term);
}

/* ---- softmax ------------------------------------------------------------ */

void emit_softmax(Import *c, Node *n)
{
    static const char *const names[][2] = {{"Softmax", "softmax"},
                                           {"LogSoftmax", "log_softmax"},
                                           {"Hardmax", "hardmax"}};
    Value *x = n->in[0], *y = n->out[0];
    bool old = !*n->domain && n->version < 13;
    int axis, r = x->shape.rank;
    const char *op = "softmax";

    for (int i = 0; i < 3; i++)
        if (!strcmp(names[i][0], n->op))
            op = names[i][1];
    if (!axis_of(c, n, old ? 1 : -1, r, &axis))
        return;
    /* up to opset 12 over all dimensions from the axis on */
    int64_t after = 1, before = 1;
    for (int i = 0; i < r; i++)
        *(i < axis ? &before : &after) *= x->shape.dim[i];
    if (old && after != x->shape.dim[axis]) {
        Value *flat =
            between(c, y, "flat", x->type, (Shape){2, {before, after}});
        Value *soft = between(c, y, "rows", x->type, flat->shape);
        emit_reshape_to(c, flat, x);
        Stmt *s = stmt_new(c, soft);
        stmt_text(c, s, BIND_ATOM, "%s(%s)", op, arg(c, s, flat));
        emit_reshape_to(c, y, soft);
        return;
    }
    Stmt *s = stmt_new(c, y);
    if (axis == r - 1)
        stmt_text(c, s, BIND_ATOM, "%s(%s)", op, arg(c, s, x));
    else
        stmt_text(c, s, BIND_ATOM, "%s(%s, axis = %d)", op, arg(c, s, x), axis);
}

/* ---- norms -------------------------------------------------------------- */

/* ", eps = e" unless it is what the library's op has. */
static const char *epsilon(Import *c, const Node *n, double onnx, double own)
{
    double e = attr_float(n, "epsilon", onnx);

    return (float)e == (float)own ? ""
                                  : arena_printf(c->arena, ", eps = %s",
                                                 number_text(c, OT_FLOAT, e));
}

/* The batch's own mean or variance, and what is kept of all of them. */
static Value *of_batch(Import *c, Node *n, Value *x, Value *m, int kept)
{
    Value *v = between(c, x, m ? "variance" : "mean", x->type,
                       n->in[3]->shape);
    double momentum = attr_float(n, "momentum", 0.9);
    Stmt *s = stmt_new(c, v);
    const char *t = arg(c, s, x);

    if (m)
        stmt_text(c, s, BIND_ATOM, "channel_variance(%s, %s)", t,
                  arg(c, s, m));
    else
        stmt_text(c, s, BIND_ATOM, "channel_mean(%s)", t);
    if (!node_out(n, kept) || !n->out[kept]->uses)
        return v;
    s = stmt_new(c, n->out[kept]);
    const char *old = operand(c, s, n->in[m ? 4 : 3], BIND_MUL);
    stmt_text(c, s, BIND_ADD, "%s * %s + %s * %s", old,
              number_text(c, OT_FLOAT, momentum), operand(c, s, v, BIND_MUL),
              number_text(c, OT_FLOAT, 1 - momentum));
    return v;
}

static Value *copy_of(Import *c, const Value *v)
{
    Value *new = between(c, v, "scaled", v->type, v->shape);
    Const *k = known_new(c, v->type, v->known->n, false);

    for (int64_t i = 0; i < k->n; i++)
        known_set_float(k, i, known_float(v->known, i));
    new->known = k;
    return new;
}

/* Variances beyond f16 become 1 and the gain what makes up for it, so that
 * another float type means the same network. */
static void keep_in_range(Import *c, Node *n, Value **in)
{
    const double most = 32768;
    double eps = attr_float(n, "epsilon", 1e-5);
    const Const *var = in[4]->known;
    bool large = false;

    for (int64_t i = 0; var && i < var->n; i++)
        large = large || known_float(var, i) > most;
    if (!large || !in[1]->known || in[1]->known->n != var->n)
        return;
    in[1] = copy_of(c, in[1]);
    in[4] = copy_of(c, in[4]);
    for (int64_t i = 0; i < var->n; i++) {
        double v = known_float(var, i), g = known_float(in[1]->known, i);
        if (v <= most)
            continue;
        known_set_float((Const *)in[1]->known, i,
                        g * sqrt((1 + eps) / (v + eps)));
        known_set_float((Const *)in[4]->known, i, 1);
    }
}

void emit_batch_norm(Import *c, Node *n)
{
    bool spatial = attr_int(n, "spatial", 1) != 0;
    bool training = attr_int(n, "training_mode", 0) != 0;
    Value *in[5];
    Stmt *s;

    if (!spatial) {
        import_error(c, n, "attribute 'spatial' is not supported");
        return;
    }
    memcpy(in, n->in, sizeof in);
    if (training) {
        in[3] = of_batch(c, n, in[0], NULL, 1);
        in[4] = of_batch(c, n, in[0], in[3], 2);
    } else {
        keep_in_range(c, n, in);
    }
    s = stmt_new(c, n->out[0]);
    const char *a[5];
    for (int i = 0; i < 5; i++)
        a[i] = arg(c, s, in[i]);
    stmt_text(c, s, BIND_ATOM, "batch_norm(%s, %s, %s, %s, %s%s)", a[0], a[1],
              a[2], a[3], a[4], epsilon(c, n, 1e-5, 1e-5));
}

/* ", gain, bias" of a norm that has neither by default. */
static const char *gain_and_bias(Import *c, Node *n, Stmt *s)
{
    Value *g = node_in(n, 1), *b = node_in(n, 2);
    bool plain = !b || known_all(b, 0);

    if (plain && (!g || known_all(g, 1)))
        return "";
    const char *gain = arg(c, s, g);
    return plain ? arena_printf(c->arena, ", %s", gain)
                 : arena_printf(c->arena, ", %s, %s", gain, arg(c, s, b));
}

void emit_instance_norm(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);
    const char *x = arg(c, s, n->in[0]), *rest = gain_and_bias(c, n, s);

    stmt_text(c, s, BIND_ATOM, "instance_norm(%s%s%s)", x, rest,
              epsilon(c, n, 1e-5, 1e-5));
}

void emit_group_norm(Import *c, Node *n)
{
    long long groups = attr_int(n, "num_groups", 1);
    const Value *g = node_in(n, 1);
    bool each = g && g->shape.dim[0] != n->in[0]->shape.dim[1];
    Stmt *s = stmt_new(c, n->out[0]);
    const char *x = arg(c, s, n->in[0]);
    const char *rest = each ? arena_printf(c->arena, ", %s, %s",
                                           arg(c, s, n->in[1]),
                                           arg(c, s, n->in[2]))
                            : gain_and_bias(c, n, s);

    stmt_text(c, s, BIND_ATOM, "%s(%s%s, groups = %lld%s)",
              each ? "group_norm_of_groups" : "group_norm", x, rest, groups,
              epsilon(c, n, 1e-5, 1e-5));
}

/* Of a norm over several dimensions: the operand with those as one. */
static Value *as_rows(Import *c, Value *v, int64_t rows, int64_t row)
{
    Value *f = between(c, v, "rows", v->type,
                       rows ? (Shape){2, {rows, row}} : (Shape){1, {row}});

    if (v->known) {
        f->known = v->known;
        f->is_weight = v->is_weight;
        f->name = v->name;
        return f;
    }
    emit_reshape_to(c, f, v);
    return f;
}

/* The statistics beside, where they are asked for. */
static void norm_statistics(Import *c, Node *n, Value *x, int axis)
{
    const char *at[IMPORT_MAX_RANK], *name = NULL;
    unsigned axes = ((1u << x->shape.rank) - 1) & ~((1u << axis) - 1);
    Value *mean = node_out(n, 1), *inverse = node_out(n, 2);
    bool want = (mean && mean->uses) || (inverse && inverse->uses);

    if (!want)
        return;
    Stmt *s = stmt_new(c, mean);
    const char *list = reduced(c, s, x, axes, true, at);
    s->type = "f32";
    stmt_text(c, s, BIND_ATOM, "mean(%s) %s", list, read_at(c, s, x, at));
    if (!inverse || !inverse->uses)
        return;
    s = stmt_new(c, inverse);
    list = reduced(c, s, x, axes, true, at);
    s->type = "f32";
    const char *term = read_at(c, s, x, at);
    const char *left[IMPORT_MAX_RANK] = {0};
    for (int i = 0; i < x->shape.rank; i++)
        left[i] = i < axis ? index_names[i] : "0";
    name = read_at(c, s, mean, left);
    stmt_text(c, s, BIND_ATOM, "rsqrt((mean(%s) (%s - %s) * (%s - %s)) + %s)",
              list, term, name, term, name,
              number_text(c, OT_FLOAT, attr_float(n, "epsilon", 1e-5)));
}

/* Over one dimension that is not the last. */
static void norm_along(Import *c, Node *n, int axis)
{
    Stmt *s = stmt_new(c, n->out[0]);
    int64_t perm[IMPORT_MAX_RANK];
    int r = n->in[0]->shape.rank;

    for (int i = 0; i < r; i++)
        perm[i] = i == axis ? r - 1 : i == r - 1 ? axis : i;
    const char *turn = list_text(c, perm, r), *x = arg(c, s, n->in[0]);
    const char *g = named(c, s, n->in[1]), *b = named(c, s, n->in[2]);
    stmt_text(c, s, BIND_ATOM,
              "transpose(layer_norm(transpose(%s, perm = %s), %s, %s%s), "
              "perm = %s)", x, turn, g, b, epsilon(c, n, 1e-5, 1e-5), turn);
}

void emit_layer_norm(Import *c, Node *n)
{
    int along = (int)attr_int(n, "along", -1);

    if (along >= 0 && along < n->in[0]->shape.rank - 1) {
        norm_along(c, n, along);
        return;
    }
    Value *x = n->in[0], *y = n->out[0], *g = node_in(n, 1);
    Value *b = node_in(n, 2), *out = y;
    bool rms = strcmp(n->op, "LayerNormalization") != 0;
    int axis, r = x->shape.rank;
    int64_t row = 1;

    if (!axis_of(c, n, -1, r, &axis))
        return;
    norm_statistics(c, n, x, axis);
    for (int i = axis; i < r; i++)
        row *= x->shape.dim[i];
    if (axis < r - 1) {
        x = as_rows(c, x, shape_count(&x->shape) / row, row);
        out = between(c, y, "normed", y->type, x->shape);
    }
    if (g && shape_count(&g->shape) == row && g->shape.rank > 1)
        g = as_rows(c, g, 0, row);
    if (b && b->shape.rank > 1)
        b = as_rows(c, b, 0, row);
    if (!g || shape_count(&g->shape) != row) {
        double one = 1;
        bool uniform = !g || value_scalar_is(g, &one);
        if (row > IMPORT_MAX_FOLD) {
            import_error(c, n, "rows of %lld elements", (long long)row);
            return;
        }
        double *v = arena_array(c->arena, double, row);
        for (int64_t i = 0; i < row; i++)
            v[i] = one;
        if (!uniform) {
            import_error(c, n,
                         "a scale that is not the row's is not "
                         "supported");
            return;
        }
        g = constant(c, arena_printf(c->arena, "%s_gain", n->name), x->type,
                     (Shape){1, {row}}, v);
    }
    Value *to = out; /* in y's type; the norm is in that of its gains */
    if (to->type != g->type)
        out = between(c, to, "wide", g->type, to->shape);
    x = in_type(c, x, g->type);
    b = b ? in_type(c, b, g->type) : NULL;
    Stmt *s = stmt_new(c, out);
    const char *text = arg(c, s, x);
    text = arena_printf(c->arena, "%s(%s, %s", rms ? "rms_norm" : "layer_norm",
                        text, named(c, s, g));
    if (b && !rms)
        text = arena_printf(c->arena, "%s, %s", text, named(c, s, b));
    stmt_text(c, s, BIND_ATOM, "%s%s)", text,
              epsilon(c, n, 1e-5, rms ? 1e-6 : 1e-5));
    if (out != to)
        put_type(c, to, out);
    if (to != y)
        emit_reshape_to(c, y, to);
}

/* com.microsoft's: layer_norm(x + skip [+ bias]), the sum beside */
void emit_skip_norm(Import *c, Node *n)
{
    bool rms = !strncmp(n->op, "SkipSimplified", 14);
    Value *x = n->in[0], *y = n->out[0], *bias = node_in(n, rms ? 3 : 4);
    Value *sum = node_out(n, 3), *g = n->in[2];
    Value *beta = rms ? NULL : node_in(n, 3);

    if ((node_out(n, 1) && n->out[1]->uses) ||
        (node_out(n, 2) && n->out[2]->uses)) {
        import_error(c, n, "its results 1 and 2 are not supported");
        return;
    }
    if (!sum)
        sum = between(c, y, "sum", y->type, x->shape);
    Stmt *s = stmt_new(c, sum);
    const char *text = operand(c, s, x, BIND_ADD);
    text = arena_printf(c->arena, "%s + %s", text,
                        operand(c, s, n->in[1], BIND_MUL));
    if (bias)
        text = arena_printf(c->arena, "%s + %s", text,
                            operand(c, s, bias, BIND_MUL));
    stmt_text(c, s, BIND_ADD, "%s", text);
    s = stmt_new(c, y);
    text = arg(c, s, sum);
    text = arena_printf(c->arena, "%s(%s, %s", rms ? "rms_norm" : "layer_norm",
                        text, named(c, s, g));
    if (beta)
        text = arena_printf(c->arena, "%s, %s", text, named(c, s, beta));
    stmt_text(c, s, BIND_ATOM, "%s%s)", text,
              epsilon(c, n, 1e-12, rms ? 1e-6 : 1e-5));
}

void emit_lp_norm(Import *c, Node *n)
{
    long long p = attr_int(n, "p", 2);
    int axis;
    Stmt *s;

    if (!axis_of(c, n, -1, n->in[0]->shape.rank, &axis))
        return;
    if (p != 1 && p != 2) {
        import_error(c, n, "attribute 'p': %lld is not supported", p);
        return;
    }
    s = stmt_new(c, n->out[0]);
    stmt_text(c, s, BIND_ATOM, "%s(%s, axis = %d)",
              p == 1 ? "l1_norm" : "l2_norm", arg(c, s, n->in[0]), axis);
}

void emit_lrn(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);

    stmt_text(c, s, BIND_ATOM,
              "local_response_norm(%s, size = %lld, alpha = "
              "%s, beta = %s, bias = %s)",
              arg(c, s, n->in[0]), (long long)attr_int(n, "size", 1),
              number_text(c, OT_FLOAT, attr_float(n, "alpha", 1e-4)),
              number_text(c, OT_FLOAT, attr_float(n, "beta", 0.75)),
              number_text(c, OT_FLOAT, attr_float(n, "bias", 1)));
}
