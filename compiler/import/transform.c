/* Fourier transforms as products with a constant: along one dimension as a
 * matrix, of frames as a convolution that slides. */
#include "import/emit.h"
#include "import/parts.h"

#include <math.h>
#include <string.h>

enum { MOST = 1 << 16 }; /* numbers that are transformed at once */

/* A transform of `length` numbers, of which `given` are there, each of `parts`
 * (a real one, or that and an imaginary one), to `out` complex ones. */
typedef struct Basis {
    int64_t given, length, out;
    int parts;
    bool inverse;
    const Value *window; /* of `given` factors, or NULL */
} Basis;

/* What number n's part d gives to result k's part of e. */
static double weight_at(const Basis *b, int64_t n, int d, int64_t k, int e)
{
    double turns = (double)(n * k % b->length) / (double)b->length;
    double c = cos(2 * M_PI * turns);
    double s = sin(2 * M_PI * turns) * (b->inverse ? 1 : -1);
    double v = d == e ? c : d ? -s : s;

    if (n >= b->length)
        return 0;
    if (b->window)
        v *= known_float(b->window->known, n);
    return b->inverse ? v / (double)b->length : v;
}

/* Whether the basis is small enough to be written out. */
static bool small(const Parts *p, const Basis *b)
{
    if (b->given > 0 && b->length > 0 && b->given <= MOST &&
        b->length <= MOST &&
        b->given * b->parts * b->out * 2 <= IMPORT_MAX_FOLD)
        return true;
    import_error(p->c, p->of, "a transform of %lld numbers to %lld",
                 (long long)b->given, (long long)b->out);
    return false;
}

static Value *weights(const Parts *p, OnnxType t, Shape s, const double *v)
{
    Value *w = constant(
        p->c, arena_printf(p->c->arena, "%s.basis", p->of->name), t, s, v);

    w->is_weight = true;
    return w;
}

static Value *transposed(const Parts *p, Value *x, const int64_t *perm,
                         bool last)
{
    Node *n = part(p, "Transpose", 1);

    n->in[0] = x;
    attr_add_ints(p->c, n, "perm", perm, x->shape.rank);
    return part_made(p, n, last);
}

static Value *reshaped(const Parts *p, Value *x, const Shape *s, bool last)
{
    return part_of_two(p, "Reshape", x, value_ints(p->c, s->dim, s->rank),
                       last);
}

/* x with its transformed dimension last but one. */
static void along_last(const Parts *p, Value *x, const Basis *b, bool last)
{
    int64_t rows = b->given * b->parts, columns = b->out * 2;
    double *v = arena_array(p->c->arena, double, rows *columns);
    Shape flat = x->shape, whole = x->shape;

    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t row = i / columns, column = i % columns;
        v[i] = weight_at(b, row / b->parts, (int)(row % b->parts), column / 2,
                         (int)(column % 2));
    }
    flat.dim[--flat.rank - 1] = rows;
    whole.dim[whole.rank - 2] = b->out;
    whole.dim[whole.rank - 1] = 2;
    Value *w = weights(p, x->type, (Shape){2, {rows, columns}}, v);
    x = reshaped(p, x, &flat, false);
    reshaped(p, part_of_two(p, "MatMul", x, w, false), &whole, last);
}

static bool complex_or_real(const Parts *p, const Value *x)
{
    int64_t parts = x->shape.rank < 2 ? 0 : x->shape.dim[x->shape.rank - 1];

    if (onnx_is_float(x->type) && (parts == 1 || parts == 2))
        return true;
    import_error(p->c, p->of, "its operand is neither real nor complex");
    return false;
}

static void dft(const Parts *p)
{
    Node *n = p->of;
    Value *x = n->in[0];
    int rank = x->shape.rank, axis;
    bool newer = n->version >= 20, one = attr_int(n, "onesided", 0);
    double length = 0, at = (double)attr_int(n, "axis", newer ? -2 : 1);
    int64_t perm[IMPORT_MAX_RANK];

    if (!complex_or_real(p, x))
        return;
    if ((node_in(n, 1) && !in_scalar(n, 1, &length)) ||
        (newer && node_in(n, 2) && !in_scalar(n, 2, &at)) || fabs(at) > rank ||
        fabs(length) > MOST) {
        import_error(p->c, n,
                     "its length and axis must be constants that fit its "
                     "operand");
        return;
    }
    if (!axis_in(p->c, n, (int64_t)at, rank, &axis))
        return;
    Basis b = {.given = x->shape.dim[axis],
               .length = x->shape.dim[axis],
               .parts = (int)x->shape.dim[rank - 1],
               .inverse = attr_int(n, "inverse", 0)};
    if (node_in(n, 1))
        b.length = (int64_t)length;
    if (axis == rank - 1 || (one && b.inverse)) {
        import_error(p->c, n,
                     axis == rank - 1
                         ? "its axis is that of real and imaginary"
                         : "an inverse of one side is not supported");
        return;
    }
    b.out = one ? b.length / 2 + 1 : b.length;
    if (!small(p, &b))
        return;
    for (int i = 0; i < rank; i++)
        perm[i] = i == axis ? rank - 2 : i == rank - 2 ? axis : i;
    if (axis == rank - 2) {
        along_last(p, x, &b, true);
        return;
    }
    Node whole = *n;
    Parts inner = *p;
    whole.out = arena_array(p->c->arena, Value *, 1);
    whole.out[0] = value_new(p->c, NULL);
    inner.of = &whole;
    along_last(&inner, transposed(p, x, perm, false), &b, true);
    transposed(p, whole.out[0], perm, true);
}

/* A signal [B, T, 1 or 2], a step, a window, a frame's length. */
static void stft(const Parts *p)
{
    Node *n = p->of;
    Value *x = n->in[0], *window = node_in(n, 2);
    bool one = attr_int(n, "onesided", 1);
    double step, length = 0;
    static const int64_t channels[] = {0, 2, 1}, back[] = {0, 3, 1, 2};

    if (!complex_or_real(p, x))
        return;
    if (window && window->known)
        length = (double)shape_count(&window->shape);
    if (!in_scalar(n, 1, &step) || step < 1 || step > MOST ||
        (window && !window->known) ||
        (node_in(n, 3) && !in_scalar(n, 3, &length)) || length < 1 ||
        (window && (double)shape_count(&window->shape) != length) ||
        x->shape.rank != 3 || length > (double)x->shape.dim[1]) {
        import_error(p->c, n,
                     "its step, window and length must be constants "
                     "that fit the signal");
        return;
    }
    Basis b = {.given = (int64_t)length,
               .length = (int64_t)length,
               .out = one ? (int64_t)length / 2 + 1 : (int64_t)length,
               .parts = (int)x->shape.dim[2],
               .window = window};
    if (!small(p, &b))
        return;
    double *v = arena_array(p->c->arena, double, b.out * 2 * b.parts * b.given);
    for (int64_t i = 0, k = 0; k < b.out * 2; k++)
        for (int d = 0; d < b.parts; d++)
            for (int64_t t = 0; t < b.given; t++)
                v[i++] = weight_at(&b, t, d, k / 2, (int)(k % 2));
    Node *conv = part(p, "Conv", 2);
    int64_t stride = (int64_t)step;
    conv->in[0] = transposed(p, x, channels, false);
    conv->in[1] =
        weights(p, x->type, (Shape){3, {b.out * 2, b.parts, b.given}}, v);
    attr_add_ints(p->c, conv, "strides", &stride, 1);
    Value *y = part_made(p, conv, false);
    if (y->shape.rank != 3)
        return;
    Shape apart = {4, {x->shape.dim[0], b.out, 2, y->shape.dim[2]}};
    transposed(p, reshaped(p, y, &apart, false), back, true);
}

void transform_parts(const Parts *p)
{
    if (!strcmp(p->of->op, "DFT"))
        dft(p);
    else
        stft(p);
}
