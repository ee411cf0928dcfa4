/* Quantized operators: integers and their scales. */
#include "import/emit.h"

static void limits(OnnxType t, double *low, double *high)
{
    *low = t == OT_INT8 ? -128 : t == OT_INT16 ? -32768 : 0;
    *high = t == OT_INT8     ? 127
            : t == OT_INT16  ? 32767
            : t == OT_UINT16 ? 65535
                             : 255;
    if (t == OT_INT32)
        *low = -2147483648.0, *high = 2147483647.0;
}

/* The read of a scale or zero point: of the whole tensor, of an axis, or of
 * blocks along it. */
static const char *along(Import *c, Stmt *s, Value *v, const Shape *x, int axis,
                         int64_t block)
{
    const char *at[IMPORT_MAX_RANK] = {0};
    Shape *k = &v->shape;

    if (shape_count(k) == 1) {
        for (int i = 0; i < k->rank; i++)
            at[i] = "0";
        return read_at(c, s, v, at);
    }
    if (k->rank == 1)
        return read_at_most(c, s, v, index_names + axis,
                            IMPORT_MAX_RANK - axis);
    for (int i = 0; i < k->rank; i++)
        at[i] = i == axis && block > 1
                    ? arena_printf(c->arena, "%s / %lld", index_names[i],
                                   (long long)block)
                    : index_names[i];
    (void)x;
    return read_at(c, s, v, at);
}

static bool quantize_axis(Import *c, const Node *n, int *axis)
{
    int rank = n->in[0]->shape.rank;
    int64_t a = attr_int(n, "axis", 1);

    if (n->in[1]->shape.rank == 0 || shape_count(&n->in[1]->shape) == 1) {
        *axis = 0;
        return true;
    }
    return axis_in(c, n, a, rank, axis);
}

static bool plain_integer(OnnxType t)
{
    return t == OT_UINT8 || t == OT_INT8 || t == OT_UINT16 || t == OT_INT16 ||
           t == OT_INT32;
}

/* Operand 2; NULL where it is 0. */
static Value *zero_point(const Node *n)
{
    Value *zero = node_in(n, 2);
    double v;

    return zero && value_scalar_is(zero, &v) && v == 0 ? NULL : zero;
}

void emit_quantize(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0], *zero = zero_point(n);
    int axis;
    double low, high;

    if (!quantize_axis(c, n, &axis))
        return;
    if (!plain_integer(y->type)) {
        import_error(c, n, "quantized to %s is not supported",
                     onnx_type_name(y->type));
        return;
    }
    limits(y->type, &low, &high);
    int64_t block = attr_int(n, "block_size", 0);
    Stmt *s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    const char *t = read_at(c, s, x, index_names);
    t = arena_printf(c->arena, "rint(%s / %s)", t,
                     along(c, s, n->in[1], &x->shape, axis, block));
    if (zero)
        t = arena_printf(c->arena, "%s + %s", t,
                         along(c, s, zero, &x->shape, axis, block));
    stmt_text(c, s, BIND_ATOM, "%s(min(max(%s, %.1f), %.1f))",
              type_text(c, y->type), t, low, high);
}

void emit_dequantize(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0], *zero = zero_point(n);
    int64_t block = attr_int(n, "block_size", 0);
    int axis;

    if (!quantize_axis(c, n, &axis))
        return;
    if (!plain_integer(x->type)) {
        import_error(c, n, "quantized as %s is not supported",
                     onnx_type_name(x->type));
        return;
    }
    Stmt *s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    if (y->wide)
        s->type = "f32";
    const char *t = read_at(c, s, x, index_names);
    if (zero)
        t = arena_printf(c->arena, "%s - %s", t,
                         along(c, s, zero, &x->shape, axis, block));
    stmt_text(c, s, BIND_MUL, "f32(%s) * %s", t,
              along(c, s, n->in[1], &x->shape, axis, block));
}

void emit_dynamic_quantize(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0], *scale = n->out[1];
    Value *zero = node_out(n, 2);
    const char *at[IMPORT_MAX_RANK] = {0};
    Buf b = {0};
    Value *low = between(c, y, "low", OT_FLOAT, (Shape){0});

    if (!scale)
        scale = between(c, y, "scale", OT_FLOAT, (Shape){0});
    if (!zero)
        zero = between(c, y, "zero", OT_UINT8, (Shape){0});
    for (int i = 0; i < x->shape.rank; i++) {
        at[i] = window_names[i];
        buf_printf(&b, "%s%s", i ? ", " : "", at[i]);
    }
    Stmt *s = stmt_new(c, low);
    stmt_left(c, s, index_names);
    s->type = "f32";
    stmt_text(c, s, BIND_ATOM, "min(min(%s) %s, 0)", buf_text(&b),
              read_at(c, s, x, at));
    s = stmt_new(c, scale);
    stmt_left(c, s, index_names);
    s->type = "f32"; /* small, and multiplied by what is smaller */
    const char *high = read_at(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "f32((max(max(%s) %s, 0) - %s) / 255.0)",
              buf_text(&b), high, named(c, s, low));
    s = stmt_new(c, zero);
    stmt_left(c, s, index_names);
    const char *l = named(c, s, low);
    stmt_text(c, s, BIND_ATOM, "u8(min(max(rint(-%s / %s), 0.0), 255.0))", l,
              named(c, s, scale));
    s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    const char *t = read_at(c, s, x, index_names);
    const char *by = named(c, s, scale);
    stmt_text(c, s, BIND_ATOM, "u8(min(max(rint(%s / %s) + %s, 0.0), 255.0))",
              t, by, named(c, s, zero));
    buf_free(&b);
}

/* x less its zero point, as i32; a list of zero points belongs to `axis`. */
static Value *centred(Import *c, Value *x, Value *zero, int axis)
{
    double v;
    bool none = !zero || (value_scalar_is(zero, &v) && v == 0);

    if (none && x->type != OT_INT8 && x->type != OT_BOOL &&
        x->type != OT_UINT8)
        return x;
    Value *out = between(c, x, "centred", OT_INT32, x->shape);
    Stmt *s = stmt_new(c, out);
    stmt_left(c, s, index_names);
    const char *t = read_at(c, s, x, index_names);
    if (none)
        stmt_text(c, s, BIND_ATOM, "i32(%s)", t);
    else
        stmt_text(c, s, BIND_ADD, "%s - %s", t,
                  along(c, s, zero, &x->shape, axis, 0));
    return out;
}

/* The product alone, of operands less their zero points. */
static Value *product(Import *c, Node *n, Value *a, Value *b, Value *out)
{
    bool conv = strstr(n->op, "Conv") != NULL, named_op;
    Node *p = node_new(c, conv ? "Conv" : "MatMul", n->name, 2, 1);

    p->domain = "";
    p->version = 13;
    p->info = op_find("", p->op, 13, &named_op);
    p->attr = n->attr;
    p->n_attr = n->n_attr;
    p->in[0] = a;
    p->in[1] = b;
    p->out[0] = out;
    if (!out->def)
        out->def = p;
    p->info->emit(c, p);
    return out;
}

void emit_integer(Import *c, Node *n)
{
    bool conv = !strcmp(n->op, "ConvInteger");
    Value *a = n->in[0], *b = n->in[1];
    int rows = a->shape.rank >= 2 ? a->shape.rank - 2 : 0;

    a = centred(c, a, node_in(n, 2), conv ? 1 : rows);
    b = centred(c, b, node_in(n, 3), conv ? 0 : b->shape.rank - 1);
    product(c, n, a, b, n->out[0]);
}

/* QLinearConv, QLinearMatMul: x, its scale and zero, w, its, the result's,
 * a bias. */
void emit_qlinear(Import *c, Node *n)
{
    bool conv = !strcmp(n->op, "QLinearConv");
    Value *y = n->out[0], *a = n->in[0], *b = n->in[3];
    Value *bias = conv ? node_in(n, 8) : NULL;
    int rows = a->shape.rank - 2, columns = b->shape.rank - 1;
    double low, high;

    limits(y->type, &low, &high);
    Value *sum = between(c, y, "sum", OT_INT32, y->shape);
    a = centred(c, a, n->in[2], conv ? 1 : rows);
    b = centred(c, b, n->in[5], conv ? 0 : columns);
    product(c, n, a, b, sum);
    Stmt *s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    int last = y->shape.rank - 1;
    const char *t = read_at(c, s, sum, index_names);
    if (bias)
        t = arena_printf(c->arena, "(%s + %s)", t,
                         along(c, s, bias, &y->shape, 1, 0));
    const char *sa = along(c, s, n->in[1], &y->shape, conv ? 1 : last - 1, 0);
    const char *sb = along(c, s, n->in[4], &y->shape, conv ? 1 : last, 0);
    const char *sy = along(c, s, n->in[6], &y->shape, conv ? 1 : last, 0);
    const char *zy = along(c, s, n->in[7], &y->shape, conv ? 1 : last, 0);
    stmt_text(c, s, BIND_ATOM,
              "%s(min(max(rint(%s * (%s * %s / %s)) + %s, "
              "%.1f), %.1f))",
              type_text(c, y->type), t, sa, sb, sy, zy, low, high);
}
