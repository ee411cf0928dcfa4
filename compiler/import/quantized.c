/* com.microsoft's quantized operators as the plain operator between
 * DequantizeLinear and QuantizeLinear, products as a product of integers and
 * its scale. What is between is f32, so that what is rounded to integers again
 * was rounded to no other type. */
#include "import/parts.h"

#include <string.h>

/* Operands: some as they are, then x, its scale and zero point for each of the
 * plain operator's, the result's scale and zero point behind them or ahead. */
typedef struct Quantized {
    const char *name, *plain;
    int as_they_are, count; /* count 0: as many as there are */
    bool result_first;
} Quantized;

static const Quantized quantized[] = {
    {"QLinearAdd", "Add", 0, 2, false},
    {"QLinearMul", "Mul", 0, 2, false},
    {"QLinearSigmoid", "Sigmoid", 0, 1, false},
    {"QLinearLeakyRelu", "LeakyRelu", 0, 1, false},
    {"QLinearSoftmax", "Softmax", 0, 1, false},
    {"QLinearReduceMean", "ReduceMean", 0, 1, false},
    {"QLinearAveragePool", "AveragePool", 0, 1, false},
    {"QLinearGlobalAveragePool", "GlobalAveragePool", 0, 1, false},
    {"QLinearWhere", "Where", 1, 2, false},
    {"QLinearConcat", "Concat", 0, 0, true},
};

static Value *real(const Parts *p, int at)
{
    Node *n = part(p, "DequantizeLinear", 3);

    for (int i = 0; i < 3; i++)
        n->in[i] = node_in(p->of, at + i);
    return part_made(p, n, false);
}

/* x by the scale and zero point that operands `at` on are; without a zero point
 * of the type of `like`. */
static void quantize(const Parts *p, Value *x, int at, OnnxType like)
{
    Node *n = part(p, "QuantizeLinear", 3);

    n->in[0] = x;
    n->in[1] = node_in(p->of, at);
    n->in[2] = node_in(p->of, at + 1);
    if (!n->in[2]) {
        n->version = 21;
        attr_add_int(p->c, n, "output_dtype", like);
    }
    part_made(p, n, true);
}

static bool take_attr(Node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name)) {
            n->attr[i] = n->attr[--n->n_attr];
            return true;
        }
    return false;
}

/* The operands that must be there: all but zero points. */
static bool complete(const Parts *p, int first, int count, int result)
{
    for (int i = 0; i < p->of->n_in; i++) {
        bool zero =
            (i >= first && i < first + 3 * count && (i - first) % 3 == 2) ||
            i == result + 1;
        if (!zero && !p->of->in[i]) {
            import_error(p->c, p->of, "operand %d is missing", i);
            return false;
        }
    }
    if (p->of->n_in >= first + 3 * count - 1 && p->of->n_in > result)
        return true;
    import_error(p->c, p->of, "operand %d is missing", p->of->n_in);
    return false;
}

static void plain_between(const Parts *p, const Quantized *q)
{
    Node *of = p->of;
    int first = q->as_they_are + (q->result_first ? 2 : 0);
    int count = q->count ? q->count : (of->n_in - first + 2) / 3;
    int result = q->result_first ? 0 : first + 3 * count;

    if (count < 1 || !complete(p, first, count, result)) {
        if (count < 1)
            import_error(p->c, of, "it has no operand");
        return;
    }
    if (attr_int(of, "channels_last", 0)) {
        import_error(p->c, of, "attribute 'channels_last' is not supported");
        return;
    }
    Node *n = part(p, q->plain, q->as_they_are + count);
    for (int i = 0; i < q->as_they_are; i++)
        n->in[i] = of->in[i];
    for (int i = 0; i < count; i++)
        n->in[q->as_they_are + i] = real(p, first + 3 * i);
    n->version = (int)attr_int(of, "opset", 13);
    take_attr(of, "opset");
    take_attr(of, "channels_last");
    n->attr = of->attr;
    n->n_attr = of->n_attr;
    quantize(p, part_made(p, n, false), result, of->in[first]->type);
}

static Value *turned(const Parts *p, Value *x, const char *attr)
{
    static const int64_t perm[] = {1, 0};
    Node *n = part(p, "Transpose", 1);

    if (!attr_int(p->of, attr, 0))
        return x;
    n->in[0] = x;
    attr_add_ints(p->c, n, "perm", perm, 2);
    return part_made(p, n, false);
}

/* a b as integers less their zero points, and a sum of integers; times the
 * product of both scales and `by`. */
static Value *scaled_product(const Parts *p, Value *const *a, Value *const *b,
                             Value *sum, double by, bool last)
{
    Node *n = part(p, "MatMulInteger", 4);

    n->in[0] = a[0], n->in[1] = b[0];
    n->in[2] = a[2], n->in[3] = b[2];
    Value *y = part_made(p, n, false);
    if (sum)
        y = part_of_two(p, "Add", y, sum, false);
    Node *cast = part(p, "Cast", 1);
    cast->in[0] = y;
    attr_add_int(p->c, cast, "to", OT_FLOAT);
    y = part_made(p, cast, false);
    Value *scale = part_of_two(p, "Mul", a[1], b[1], false);
    if (by != 1)
        scale = part_of_two(p, "Mul", scale, value_scalar(p->c, OT_FLOAT, by),
                            false);
    return part_of_two(p, "Mul", y, scale, last);
}

/* a, its scale and zero point, b, its, a bias of integers, the result's scale
 * and zero point (without them it is a float). */
static void gemm(const Parts *p)
{
    Node *n = p->of;
    Value *a[] = {turned(p, node_in(n, 0), "transA"), node_in(n, 1),
                  node_in(n, 2)};
    Value *b[] = {turned(p, node_in(n, 3), "transB"), node_in(n, 4),
                  node_in(n, 5)};
    bool quant = node_in(n, 7) != NULL;
    Value *y = scaled_product(p, a, b, node_in(n, 6), attr_float(n, "alpha", 1),
                              !quant);

    if (quant)
        quantize(p, y, 7, a[0]->type);
}

static void biased_product(const Parts *p, Value *const *a, Value *const *b,
                           Value *bias)
{
    Value *y = scaled_product(p, a, b, NULL, 1, !bias);

    if (bias)
        part_of_two(p, "Add", y, bias, true);
}

/* a, b, their scales, their zero points, a bias */
static void product_to_float(const Parts *p)
{
    Node *n = p->of;
    Value *a[] = {node_in(n, 0), node_in(n, 2), node_in(n, 4)};
    Value *b[] = {node_in(n, 1), node_in(n, 3), node_in(n, 5)};

    biased_product(p, a, b, node_in(n, 6));
}

/* a as floats, b, its scale and zero point, a bias */
static void dynamic_product(const Parts *p)
{
    Node *n = p->of,
         *q = node_new(p->c, "DynamicQuantizeLinear", n->name, 1, 3);
    Value *b[] = {node_in(n, 1), node_in(n, 2), node_in(n, 3)};

    q->domain = "";
    q->version = 11;
    q->in[0] = node_in(n, 0);
    for (int i = 1; i < 3; i++) {
        q->out[i] = value_new(p->c, NULL);
        q->out[i]->def = q;
    }
    part_made(p, q, false);
    biased_product(p, q->out, b, node_in(n, 4));
}

void quantized_parts(const Parts *p)
{
    const char *op = p->of->op;

    for (size_t i = 0; i < sizeof quantized / sizeof *quantized; i++)
        if (!strcmp(op, quantized[i].name)) {
            plain_between(p, &quantized[i]);
            return;
        }
    if (!strcmp(op, "QGemm"))
        gemm(p);
    else if (!strcmp(op, "MatMulIntegerToFloat"))
        product_to_float(p);
    else
        dynamic_product(p);
}
