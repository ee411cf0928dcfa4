/* Resize, Upsample, GridSample. */
#include "import/emit.h"

#include <math.h>

/* One axis: each output is a sum of `taps` inputs, each with its weight. */
typedef struct Taps {
    int axis, rank, n;
    int64_t in, out;
    double scale;
    double *weight, *index; /* [out][n]; an index is a whole number */
    double *outside;        /* [out]: added where all lies outside, or NULL */
} Taps;

typedef struct Mode {
    const char *place, *nearest, *kind;
    bool exclude, antialias, crop;
    double a, extrapolation;
    const Value *roi; /* an entry an axis, or for each of `axes` */
    const int64_t *axes;
    int n_axes;
} Mode;

/* What depends on which side of a pixel a place is, nearest's pixel and what a
 * crop leaves out, is as f32 has it, in which a scale is given: 1.5 / 0.6f is
 * 2.5 there, and less in double. */
static double as_given(const Mode *m, double x)
{
    return !strcmp(m->kind, "nearest") || m->crop ? (double)(float)x : x;
}

/* From `low` to `high` of what there is, in the order in which it is rounded
 * elsewhere. */
static double cropped(const Mode *m, const Taps *t, int64_t i, double low,
                      double high)
{
    double last = (double)t->in - 1;

    if (t->out == 1)
        return as_given(m, as_given(m, low + high) / 2 * last);
    double wide = as_given(m, (double)i * as_given(m, high - low));
    double at = as_given(m, wide * last) / ((double)t->out - 1);
    return as_given(m, as_given(m, low * last) + as_given(m, at));
}

/* Where output i lies in the input. */
static double place_of(const Mode *m, const Taps *t, int64_t i)
{
    double x = (double)i, in = (double)t->in, out = (double)t->out;
    double scale = as_given(m, t->scale);
    double half = as_given(m, (x + 0.5) / scale) - 0.5;

    if (!strcmp(m->place, "align_corners"))
        return out == 1 ? 0 : as_given(m, x * (in - 1) / (out - 1));
    if (!strcmp(m->place, "asymmetric"))
        return as_given(m, x / scale);
    if (!strcmp(m->place, "pytorch_half_pixel"))
        return out == 1 ? 0 : half;
    if (!strcmp(m->place, "tf_half_pixel_for_nn"))
        return half + 0.5;
    if (!strcmp(m->place, "half_pixel_symmetric")) {
        double exact = t->scale * in;
        return in / 2 * (1 - out / exact) + half;
    }
    if (m->crop && m->roi) {
        int64_t rank = m->roi->known->n / 2, k = t->axis;
        for (int a = 0; m->axes && a < m->n_axes; a++)
            if (m->axes[a] == t->axis || m->axes[a] + t->rank == t->axis)
                k = a;
        return cropped(m, t, i, known_float(m->roi->known, k),
                       known_float(m->roi->known, rank + k));
    }
    return half;
}

static double cubic(double x, double a)
{
    x = fabs(x);
    return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
           : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                   : 0;
}

static double nearest(const Mode *m, double x)
{
    if (!strcmp(m->nearest, "floor"))
        return floor(x);
    if (!strcmp(m->nearest, "ceil"))
        return ceil(x);
    if (!strcmp(m->nearest, "round_prefer_ceil"))
        return floor(x + 0.5);
    return ceil(x - 0.5);
}

/* The weights of output i. */
static void taps_at(const Mode *m, Taps *t, int64_t i)
{
    double x = place_of(m, t, i), sum = 0;
    double *w = t->weight + i * t->n, *at = t->index + i * t->n;
    bool cube = !strcmp(m->kind, "cubic");
    double shrink = m->antialias && t->scale < 1 ? t->scale : 1;
    double base = x == floor(x) ? x - 1 : floor(x);

    if (!strcmp(m->kind, "nearest")) {
        at[0] = nearest(m, x);
        w[0] = 1;
    } else {
        for (int k = 0; k < t->n; k++) {
            at[k] = base + 1 - t->n / 2 + k;
            double d = (at[k] - x) * shrink;
            w[k] = cube ? cubic(d, m->a) : fmax(1 - fabs(d), 0);
            if (m->exclude && (at[k] < 0 || at[k] >= (double)t->in))
                w[k] = 0;
            sum += w[k];
        }
        for (int k = 0; k < t->n; k++)
            w[k] /= sum;
    }
    for (int k = 0; k < t->n; k++)
        at[k] = fmin(fmax(at[k], 0), (double)t->in - 1);
    if (m->crop &&
        (x < 0 || x > (double)t->in - 1)) {
        t->outside[i] = m->extrapolation;
        for (int k = 0; k < t->n; k++)
            w[k] = 0;
    }
}

/* One statement for one axis. */
static Value *resize_axis(Import *c, Node *n, Value *x, Value *out,
                          const Mode *m, Taps *t)
{
    const char *at[IMPORT_MAX_RANK], *text = NULL, *p = index_names[t->axis];
    double shrink = m->antialias && t->scale < 1 ? t->scale : 1;
    int reach = !strcmp(m->kind, "cubic") ? 2 : 1;
    bool ones;

    t->n = !strcmp(m->kind, "nearest") ? 1 : 2 * (int)-(floor(-reach / shrink));
    if (shrink < 1 && t->n > 2 * reach)
        t->n = 2 - 2 * ((int)floor(-reach / shrink) + 1);
    if (t->n > 512) {
        import_error(c, n, "a scale of %g with antialias", t->scale);
        return NULL;
    }
    if (t->out > IMPORT_MAX_FOLD / t->n) {
        import_error(c, n, "a size of %lld", (long long)t->out);
        return NULL;
    }
    size_t all = (size_t)t->n * (size_t)t->out;
    t->weight = arena_array(c->arena, double, all);
    t->index = arena_array(c->arena, double, all);
    t->outside = arena_array(c->arena, double, t->out);
    for (int64_t i = 0; i < t->out; i++)
        taps_at(m, t, i);
    ones = t->n == 1 && !m->crop;
    Shape s2 = {2, {t->out, t->n}}, s1 = {1, {t->out}};
    Value *w =
        constant(c, arena_printf(c->arena, "%s_weight_%d", n->name, t->axis),
                 OT_FLOAT, t->n == 1 ? s1 : s2, t->weight);
    Value *id =
        constant(c, arena_printf(c->arena, "%s_place_%d", n->name, t->axis),
                 OT_INT32, t->n == 1 ? s1 : s2, t->index);
    Stmt *s = stmt_new(c, out);
    const char *tap[2] = {p, "r"};
    for (int i = 0; i < x->shape.rank; i++)
        at[i] = i == t->axis ? read_at(c, s, id, tap) : index_names[i];
    stmt_left(c, s, index_names);
    text = read_at(c, s, x, at);
    if (t->n > 1)
        text = arena_printf(c->arena, "sum(r in 0..%d) %s * %s", t->n,
                            read_at(c, s, w, tap), text);
    else if (!ones)
        text = arena_printf(c->arena, "%s * %s", read_at(c, s, w, tap), text);
    if (m->crop)
        text = arena_printf(
            c->arena, "%s + %s", text,
            read_at(c, s,
                    constant(c,
                             arena_printf(c->arena, "%s_outside_%d", n->name,
                                          t->axis),
                             OT_FLOAT, s1, t->outside),
                    tap));
    stmt_text(c, s, BIND_ADD, "%s", text);
    return out;
}

/* The whole numbers that PyTorch's upsampling by has the library's op. */
static bool plain_upsample(Import *c, Node *n, const Mode *m, Value *x,
                           const double *scale)
{
    Value *y = n->out[0];
    int64_t by[2];
    bool whole = x->shape.rank == 4 && x->shape.dim[0] == y->shape.dim[0] &&
                 x->shape.dim[1] == y->shape.dim[1];
    const char *kind = NULL;

    for (int i = 0; whole && i < 2; i++) {
        by[i] = y->shape.dim[2 + i] / x->shape.dim[2 + i];
        whole = by[i] * x->shape.dim[2 + i] == y->shape.dim[2 + i] &&
                fabs(scale[2 + i] - (double)by[i]) < 1e-6;
    }
    if (!whole)
        return false;
    if (!strcmp(m->kind, "nearest") &&
        ((!strcmp(m->place, "asymmetric") && !strcmp(m->nearest, "floor")) ||
         !strncmp(m->place, "half_pixel", 10) ||
         !strcmp(m->place, "pytorch_half_pixel")))
        kind = strstr(m->nearest, "round") || !strcmp(m->place, "asymmetric")
                   ? ""
                   : NULL;
    else if (!strcmp(m->kind, "linear") &&
             (!strncmp(m->place, "half_pixel", 10) ||
              !strcmp(m->place, "pytorch_half_pixel")) &&
             !m->exclude)
        kind = ", mode = \"bilinear\"";
    if (!kind)
        return false;
    Stmt *s = stmt_new(c, y);
    stmt_text(c, s, BIND_ATOM, "upsample(%s, scale = %s%s)", arg(c, s, x),
              list_text(c, by, 2), kind);
    return true;
}

static void find_scales(const Node *n, const Value *x, const Value *y,
                        double *scale)
{
    bool old = n->version < 11 || !strcmp(n->op, "Upsample");
    const Value *scales = node_in(n, old ? 1 : 2);
    int n_axes;
    const int64_t *axes = attr_ints(n, "axes", &n_axes);
    const char *policy = attr_text(n, "keep_aspect_ratio_policy", "stretch");
    const Value *sizes = old ? NULL : node_in(n, 3);
    double ratio = 0;

    for (int i = 0; i < x->shape.rank; i++)
        scale[i] = (double)y->shape.dim[i] / (double)x->shape.dim[i];
    for (int i = 0; scales && scales->known && i < scales->known->n; i++) {
        int64_t k = axes ? axes[i] : i;
        scale[k < 0 ? k + x->shape.rank : k] = known_float(scales->known, i);
    }
    if (!strcmp(policy, "stretch") || !sizes || !sizes->known)
        return;
    for (int i = 0; i < sizes->known->n; i++) {
        int64_t k = axes ? axes[i] : i;
        k = k < 0 ? k + x->shape.rank : k;
        double r = (double)known_int(sizes->known, i) / (double)x->shape.dim[k];
        if (!i || (!strcmp(policy, "not_larger") ? r < ratio : r > ratio))
            ratio = r;
    }
    for (int i = 0; i < sizes->known->n; i++) {
        int64_t k = axes ? axes[i] : i;
        scale[k < 0 ? k + x->shape.rank : k] = ratio;
    }
}

void emit_resize(Import *c, Node *n)
{
    bool old = n->version < 11 || !strcmp(n->op, "Upsample");
    Value *x = n->in[0], *y = n->out[0];
    double scale[IMPORT_MAX_RANK];
    Mode m = {
        .place = attr_text(n, "coordinate_transformation_mode",
                           old ? "asymmetric" : "half_pixel"),
        .nearest =
            attr_text(n, "nearest_mode", old ? "floor" : "round_prefer_floor"),
        .kind = attr_text(n, "mode", "nearest"),
        .exclude = attr_int(n, "exclude_outside", 0) != 0,
        .antialias = attr_int(n, "antialias", 0) != 0,
        .a = attr_float(n, "cubic_coeff_a", -0.75),
        .extrapolation = attr_float(n, "extrapolation_value", 0),
        .roi = old ? NULL : node_in(n, 1),
    };

    if (!strcmp(m.kind, "bilinear"))
        m.kind = "linear";
    m.crop = !strcmp(m.place, "tf_crop_and_resize");
    if (m.roi && (!m.roi->known || m.roi->known->n < 2))
        m.roi = NULL;
    m.axes = attr_ints(n, "axes", &m.n_axes);
    find_scales(n, x, y, scale);
    if (plain_upsample(c, n, &m, x, scale))
        return;
    int last = -1;
    for (int i = 0; i < x->shape.rank; i++)
        if (scale[i] != 1 || x->shape.dim[i] != y->shape.dim[i] ||
            (m.crop && m.roi && i >= x->shape.rank - 2))
            last = i;
    if (last < 0) {
        emit_same(c, y, x);
        return;
    }
    for (int i = 0; x && i <= last; i++) {
        if (scale[i] == 1 && x->shape.dim[i] == y->shape.dim[i] &&
            !(m.crop && m.roi && i >= x->shape.rank - 2))
            continue;
        Taps t = {.axis = i,
                  .rank = x->shape.rank,
                  .in = x->shape.dim[i],
                  .out = y->shape.dim[i],
                  .scale = scale[i]};
        Shape s = x->shape;
        s.dim[i] = t.out;
        Value *out = i == last ? y : between(c, y, index_names[i], y->type, s);
        if (!(x = resize_axis(c, n, x, out, &m, &t)))
            return;
    }
}

void emit_grid_sample(Import *c, Node *n)
{
    const char *mode = attr_text(n, "mode", "linear");
    const char *pad = attr_text(n, "padding_mode", "zeros");
    bool corners = attr_int(n, "align_corners", 0) != 0;

    if (!strcmp(mode, "bilinear"))
        mode = "linear";
    if (!strcmp(mode, "bicubic"))
        mode = "cubic";
    int space = n->in[0]->shape.rank - 2;
    bool linear = !strcmp(mode, "linear"), cubic = !strcmp(mode, "cubic");
    bool zeros = !strcmp(pad, "zeros");
    if (!zeros && strcmp(pad, "border") && strcmp(pad, "reflection")) {
        import_error(c, n, "attribute 'padding_mode': '%s'", pad);
        return;
    }
    if (!(space == 2 && (linear || cubic || !strcmp(mode, "nearest"))) &&
        !(space == 3 && !cubic && zeros)) {
        import_error(c, n,
                     "attribute 'mode': '%s' over %d dimensions with %s "
                     "outside is not supported",
                     mode, space, pad);
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    const char *x = arg(c, s, n->in[0]), *how = "", *outside = "";
    if (!linear && !cubic)
        how = arena_printf(c->arena, ", mode = \"%s\"", mode);
    if (!zeros)
        outside = arena_printf(c->arena, ", outside = \"%s\"", pad);
    stmt_text(c, s, BIND_ATOM, "grid_sample%s(%s, %s%s%s%s)",
              cubic        ? "_cubic"
              : space == 3 ? "3d"
                           : "",
              x, arg(c, s, n->in[1]), how, outside,
              corners ? ", align_corners = true" : "");
}
