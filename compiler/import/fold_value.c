#include "import/fold.h"

#include <math.h>

static bool unary_float(const char *op, double x, double *y)
{
    static const struct {
        const char *op;
        double (*f)(double);
    } known[] = {
        {"Neg", NULL},  {"Abs", fabs},  {"Floor", floor}, {"Ceil", ceil},
        {"Sqrt", sqrt}, {"Exp", exp},   {"Log", log},     {"Sin", sin},
        {"Cos", cos},   {"Tanh", tanh}, {"Erf", erf},     {"Round", nearbyint},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(op, known[i].op)) {
            *y = known[i].f ? known[i].f(x) : -x;
            return true;
        }
    if (!strcmp(op, "Reciprocal"))
        *y = 1 / x;
    else if (!strcmp(op, "Not"))
        *y = x == 0;
    else if (!strcmp(op, "Relu"))
        *y = x > 0 ? x : 0;
    else if (!strcmp(op, "Sign"))
        *y = x > 0 ? 1 : x < 0 ? -1 : 0;
    else if (!strcmp(op, "Sigmoid"))
        *y = 1 / (1 + exp(-x));
    else
        return false;
    return true;
}

static bool binary_float(const char *op, double a, double b, double *y)
{
    switch (op[0] << 8 | op[1]) {
    case 'A' << 8 | 'd':
        *y = a + b;
        return !strcmp(op, "Add");
    case 'S' << 8 | 'u':
        *y = a - b;
        return !strcmp(op, "Sub");
    case 'M' << 8 | 'u':
        *y = a * b;
        return !strcmp(op, "Mul");
    case 'D' << 8 | 'i':
        *y = a / b;
        return !strcmp(op, "Div");
    case 'P' << 8 | 'o':
        *y = pow(a, b);
        return !strcmp(op, "Pow");
    case 'M' << 8 | 'i':
        *y = fmin(a, b);
        return !strcmp(op, "Min");
    case 'M' << 8 | 'a':
        *y = fmax(a, b);
        return !strcmp(op, "Max");
    case 'E' << 8 | 'q':
        *y = a == b;
        return !strcmp(op, "Equal");
    case 'G' << 8 | 'r':
        *y = strcmp(op, "Greater") ? a >= b : a > b;
        return !strncmp(op, "Greater", 7);
    case 'L' << 8 | 'e':
        *y = strcmp(op, "Less") ? a <= b : a < b;
        return !strncmp(op, "Less", 4);
    case 'A' << 8 | 'n':
        *y = a != 0 && b != 0;
        return !strcmp(op, "And");
    case 'O' << 8 | 'r':
        *y = a != 0 || b != 0;
        return !strcmp(op, "Or");
    case 'X' << 8 | 'o':
        *y = (a != 0) != (b != 0);
        return !strcmp(op, "Xor");
    case 'M' << 8 | 'o':
        *y = fmod(a, b);
        return !strcmp(op, "Mod");
    default:
        return false;
    }
}

/* C's division is ONNX's; by zero, and overflow, nothing is worked out. */
static bool binary_int(const char *op, bool fmod, int64_t a, int64_t b,
                       int64_t *y)
{
    if (!strcmp(op, "Add"))
        return !__builtin_add_overflow(a, b, y);
    if (!strcmp(op, "Sub"))
        return !__builtin_sub_overflow(a, b, y);
    if (!strcmp(op, "Mul"))
        return !__builtin_mul_overflow(a, b, y);
    if (!strcmp(op, "Div") || !strcmp(op, "Mod")) {
        if (b == 0 || (b == -1 && a == INT64_MIN))
            return false;
        *y = *op == 'D' ? a / b : a % b;
        if (*op == 'M' && !fmod && *y && (*y < 0) != (b < 0))
            *y += b;
        return true;
    }
    if (!strcmp(op, "Min"))
        return *y = a < b ? a : b, true;
    if (!strcmp(op, "Max"))
        return *y = a > b ? a : b, true;
    if (!strcmp(op, "Equal"))
        return *y = a == b, true;
    double f;
    bool ok = binary_float(op, (double)a, (double)b, &f);
    *y = ok ? (int64_t)f : 0;
    return ok;
}

bool all_splat(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (!n->in[i] || !known_uniform(n->in[i]->known))
            return false;
    return true;
}

Const *fold_binary(Import *c, Node *n)
{
    const Value *y = n->out[0], *a = n->in[0], *b = n->in[1];
    bool whole = !onnx_is_float(a->type) && !onnx_is_float(b->type);
    bool like_c = attr_int(n, "fmod", 0);
    int64_t count = shape_count(&y->shape);
    Const *k = known_new(c, y->type, count, all_splat(n) && count > 1);

    for (int64_t i = 0; i < (k->splat ? 1 : count); i++) {
        int64_t at[IMPORT_MAX_RANK], v;
        double f;
        index_of(&y->shape, i, at);
        int64_t p = offset_broadcast(&a->shape, &y->shape, at);
        int64_t q = offset_broadcast(&b->shape, &y->shape, at);
        if (whole ? !binary_int(n->op, like_c, known_int(a->known, p),
                                known_int(b->known, q), &v)
                  : !binary_float(n->op, known_float(a->known, p),
                                  known_float(b->known, q), &f))
            return NULL;
        if (whole)
            known_set_int(k, i, v);
        else
            known_set_float(k, i, f);
    }
    return k;
}

Const *fold_unary(Import *c, Node *n)
{
    const Value *x = n->in[0], *y = n->out[0];
    Const *k = known_new(c, y->type, x->known->n,
                         known_uniform(x->known) && x->known->n > 1);
    bool cast = !strncmp(n->op, "Cast", 4);

    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++) {
        double f = known_float(x->known, i), v = f;
        if (cast && !onnx_is_float(x->type))
            known_set_int(k, i, known_int(x->known, i));
        else if (cast || unary_float(n->op, f, &v))
            known_set_float(k, i, v);
        else
            return NULL;
        if (cast && y->type == OT_BOOL)
            known_set_int(k, i, f != 0);
    }
    return k;
}

/* A number that is being worked out: `real` where its type is a float's. */
typedef struct {
    double real;
    int64_t whole;
} Number;

static Number number_of(const Value *v, int64_t i)
{
    return onnx_is_float(v->type)
               ? (Number){.real = known_float(v->known, i)}
               : (Number){.whole = known_int(v->known, i)};
}

static void set_number(Const *k, int64_t i, Number v)
{
    if (onnx_is_float(k->type))
        known_set_float(k, i, v.real);
    else
        known_set_int(k, i, v.whole);
}

/* `to` becomes `to op v`, both of type t. */
static bool combine(const char *op, OnnxType t, Number *to, Number v)
{
    return onnx_is_float(t)
               ? binary_float(op, to->real, v.real, &to->real)
               : binary_int(op, false, to->whole, v.whole, &to->whole);
}

/* Between attributes up to opset 6, between operands since. */
Const *fold_clip(Import *c, Node *n)
{
    const Value *x = n->in[0], *bound[2] = {node_in(n, 1), node_in(n, 2)};
    const char *const name[2] = {"min", "max"}, *const op[2] = {"Max", "Min"};
    Const *k = known_new(c, x->type, x->known->n,
                         known_uniform(x->known) && x->known->n > 1);

    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++) {
        Number v = number_of(x, i);
        for (int side = 0; side < 2; side++) {
            Number b = {.real = attr_float(n, name[side],
                                           side ? INFINITY : -INFINITY),
                        .whole = side ? INT64_MAX : INT64_MIN};
            if (bound[side])
                b = number_of(bound[side], 0);
            if (!combine(op[side], x->type, &v, b))
                return NULL;
        }
        set_number(k, i, v);
    }
    return k;
}

/* Min, Max, Sum and Mean of any number of operands. */
Const *fold_several(Import *c, Node *n)
{
    const Value *y = n->out[0];
    int64_t count = shape_count(&y->shape);
    Const *k = known_new(c, y->type, count, all_splat(n) && count > 1);
    bool mean = !strcmp(n->op, "Mean"), extreme = !strcmp(n->op, "Min") ||
                                                  !strcmp(n->op, "Max");

    for (int64_t i = 0; i < (k->splat ? 1 : count); i++) {
        int64_t at[IMPORT_MAX_RANK];
        Number v = {0};
        index_of(&y->shape, i, at);
        for (int j = 0; j < n->n_in; j++) {
            const Value *x = n->in[j];
            Number e = number_of(
                x, offset_broadcast(&x->shape, &y->shape, at));
            if (!j)
                v = e;
            else if (!combine(extreme ? n->op : "Add", y->type, &v, e))
                return NULL;
        }
        v.real /= mean ? n->n_in : 1;
        set_number(k, i, v);
    }
    return k;
}

/* Over no elements. */
static Const *fold_reduce_empty(Import *c, const Node *n)
{
    static const struct {
        const char *op;
        double is;
    } of[] = {{"Sum", 0},      {"Prod", 1},          {"L1", 0},
              {"L2", 0},       {"SumSquare", 0},     {"Max", -INFINITY},
              {"Min", INFINITY}, {"LogSum", -INFINITY},
              {"LogSumExp", -INFINITY}, {"Mean", NAN}};
    const Value *y = n->out[0];
    Const *k = known_new(c, y->type, shape_count(&y->shape), true);

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (strcmp(of[i].op, n->op + 6))
            continue;
        if (onnx_is_float(y->type) || isfinite(of[i].is))
            known_set_float(k, 0, of[i].is);
        else /* the least or greatest of the type, as i32 has it */
            known_set_int(k, 0, y->type == OT_BOOL ? of[i].is > 0
                                : of[i].is < 0     ? INT32_MIN
                                                   : INT32_MAX);
        return k;
    }
    return NULL;
}

Const *fold_reduce(Import *c, Node *n)
{
    const Value *x = n->in[0], *y = n->out[0];
    const char *op = n->op + 6;
    unsigned axes;
    bool keep, mean = !strcmp(op, "Mean");
    const char *by = !strcmp(op, "Sum") || mean ? "Add"
                     : !strcmp(op, "Prod")      ? "Mul"
                     : !strcmp(op, "Max") || !strcmp(op, "Min") ? op : NULL;
    Const *k = known_new(c, y->type, shape_count(&y->shape), false);
    Shape s = x->shape;

    if (!x->known->n)
        return fold_reduce_empty(c, n);
    /* a number may stand for any number of elements */
    if (x->known->n > IMPORT_MAX_FOLD || !by ||
        (mean && !onnx_is_float(x->type)) ||
        !reduce_axes(c, n, &axes, &keep))
        return NULL;
    for (int d = 0; d < s.rank; d++)
        if (axes >> d & 1)
            s.dim[d] = 1;
    Number *sum = arena_array(c->arena, Number, k->n + 1);
    bool *seen = arena_array(c->arena, bool, k->n + 1);
    for (int64_t i = 0; i < x->known->n; i++) {
        int64_t at[IMPORT_MAX_RANK];
        index_of(&x->shape, i, at);
        int64_t to = offset_broadcast(&s, &x->shape, at);
        if (!seen[to])
            sum[to] = number_of(x, i);
        else if (!combine(by, x->type, &sum[to], number_of(x, i)))
            return NULL;
        seen[to] = true;
    }
    for (int64_t i = 0; i < k->n; i++) {
        sum[i].real *= mean ? (double)k->n / (double)x->known->n : 1;
        set_number(k, i, sum[i]);
    }
    return k;
}

