#include "import/ir.h"

#include "dcc_base.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *name;
    int size;
} types[OT_TYPES] = {
    [OT_NONE] = {"no type", 0},        [OT_FLOAT] = {"float32", 4},
    [OT_UINT8] = {"uint8", 1},         [OT_INT8] = {"int8", 1},
    [OT_UINT16] = {"uint16", 2},       [OT_INT16] = {"int16", 2},
    [OT_INT32] = {"int32", 4},         [OT_INT64] = {"int64", 8},
    [OT_STRING] = {"string", 0},       [OT_BOOL] = {"bool", 1},
    [OT_FLOAT16] = {"float16", 2},     [OT_DOUBLE] = {"float64", 8},
    [OT_UINT32] = {"uint32", 4},       [OT_UINT64] = {"uint64", 8},
    [OT_COMPLEX64] = {"complex64", 0}, [OT_COMPLEX128] = {"complex128", 0},
    [OT_BFLOAT16] = {"bfloat16", 2},
};

const char *onnx_type_name(OnnxType t)
{
    return t >= 0 && t < OT_TYPES ? types[t].name : "a type unknown here";
}

int onnx_type_size(OnnxType t)
{
    return t >= 0 && t < OT_TYPES ? types[t].size : 0;
}

bool onnx_is_float(OnnxType t)
{
    return t == OT_FLOAT || t == OT_FLOAT16 || t == OT_DOUBLE ||
           t == OT_BFLOAT16;
}

bool onnx_is_int(OnnxType t)
{
    return onnx_type_size(t) && !onnx_is_float(t) && t != OT_BOOL;
}

/* ---- messages ----------------------------------------------------------- */

enum { MAX_MESSAGES = 100, MAX_ERRORS = 1000 };

void import_error(Import *c, const Node *n, const char *fmt, ...)
{
    va_list ap;
    Buf b = {0};

    va_start(ap, fmt);
    buf_printf(&b, "%s: error: ", c->path);
    if (n)
        buf_printf(&b, "node '%s' (%s%s%s, opset %d): ", n->name, n->domain,
                   *n->domain ? "." : "", n->op, n->version);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    buf_putc(&b, '\n');
    if (!map_get(c->asked, buf_text(&b))) {
        map_put(c->asked, buf_text(&b), c);
        if (c->errors++ < MAX_MESSAGES)
            buf_puts(&c->messages, buf_text(&b));
        c->fatal = c->fatal || c->errors > MAX_ERRORS;
    }
    buf_free(&b);
}

void import_note(Import *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_printf(&c->messages, "%s: note: ", c->path);
    buf_vprintf(&c->messages, fmt, ap);
    buf_putc(&c->messages, '\n');
    va_end(ap);
}

/* ---- shapes ------------------------------------------------------------- */

int64_t shape_count(const Shape *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(n, s->dim[i], &n))
            return INT64_MAX;
    return n;
}

bool shape_same(const Shape *a, const Shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

Shape shape_of(int rank, const int64_t *dim)
{
    Shape s = {.rank = rank};

    for (int i = 0; i < rank && i < IMPORT_MAX_RANK; i++)
        s.dim[i] = dim[i];
    return s;
}

bool shape_broadcast(const Shape *a, const Shape *b, Shape *out)
{
    Shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};

    for (int i = 1; i <= s.rank; i++) {
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        s.dim[s.rank - i] = x == 1 ? y : x;
    }
    *out = s;
    return true;
}

bool axis_in(Import *c, const Node *n, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank) {
        import_error(c, n, "axis %lld of a tensor of rank %d", (long long)axis,
                     rank);
        return false;
    }
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* ---- contents ----------------------------------------------------------- */

#define LOAD(T)                    \
    ({                             \
        T v_;                      \
        memcpy(&v_, p, sizeof v_); \
        v_;                        \
    })

double known_float(const Const *k, int64_t i)
{
    const unsigned char *p =
        k->raw + (k->splat ? 0 : i) * onnx_type_size(k->type);

    switch (k->type) {
    case OT_FLOAT:
        return LOAD(float);
    case OT_DOUBLE:
        return LOAD(double);
    case OT_FLOAT16:
        return dcc_half_to_float(LOAD(uint16_t));
    case OT_BFLOAT16:
        return dcc_bfloat_to_float(LOAD(uint16_t));
    default:
        return (double)known_int(k, i);
    }
}

int64_t known_int(const Const *k, int64_t i)
{
    const unsigned char *p =
        k->raw + (k->splat ? 0 : i) * onnx_type_size(k->type);
    double f;

    switch (k->type) {
    case OT_UINT8:
        return *p;
    case OT_INT8:
        return LOAD(int8_t);
    case OT_BOOL:
        return *p != 0;
    case OT_UINT16:
        return LOAD(uint16_t);
    case OT_INT16:
        return LOAD(int16_t);
    case OT_INT32:
        return LOAD(int32_t);
    case OT_UINT32:
        return LOAD(uint32_t);
    case OT_INT64:
        return LOAD(int64_t);
    case OT_UINT64:
        return (int64_t)LOAD(uint64_t);
    default:
        f = known_float(k, i);
        return isnan(f)       ? 0
               : f >= 0x1p63  ? INT64_MAX
               : f <= -0x1p63 ? INT64_MIN
                              : (int64_t)f;
    }
}

Const *known_new(Import *c, OnnxType t, int64_t n, bool splat)
{
    Const *k = arena_new_of(c->arena, Const);

    *k = (Const){.type = t, .n = n, .splat = splat};
    k->raw = arena_alloc(c->arena, (size_t)(splat   ? 1
                                            : n > 0 ? n
                                                    : 1) *
                                       (size_t)onnx_type_size(t));
    return k;
}

#define STORE(T, v)                \
    do {                           \
        T v_ = (T)(v);             \
        memcpy(p, &v_, sizeof v_); \
    } while (0)

void known_set_int(Const *k, int64_t i, int64_t v)
{
    unsigned char *p = (unsigned char *)k->raw + i * onnx_type_size(k->type);

    switch (k->type) {
    case OT_BOOL:
        *p = v != 0;
        break;
    case OT_UINT8:
    case OT_INT8:
        STORE(uint8_t, v);
        break;
    case OT_UINT16:
    case OT_INT16:
        STORE(uint16_t, v);
        break;
    case OT_INT32:
    case OT_UINT32:
        STORE(uint32_t, v);
        break;
    case OT_INT64:
    case OT_UINT64:
        STORE(int64_t, v);
        break;
    default:
        known_set_float(k, i, (double)v);
    }
}

void known_set_float(Const *k, int64_t i, double v)
{
    unsigned char *p = (unsigned char *)k->raw + i * onnx_type_size(k->type);

    switch (k->type) {
    case OT_FLOAT:
        STORE(float, v);
        break;
    case OT_DOUBLE:
        STORE(double, v);
        break;
    case OT_FLOAT16:
        STORE(uint16_t, dcc_float_to_half((float)v));
        break;
    case OT_BFLOAT16:
        STORE(uint16_t, dcc_float_to_bfloat((float)v));
        break;
    case OT_BOOL:
        *p = v != 0;
        break;
    default:
        known_set_int(k, i,
                      isnan(v)       ? 0
                      : v >= 0x1p63  ? INT64_MAX
                      : v <= -0x1p63 ? INT64_MIN
                                     : (int64_t)v);
    }
}

bool known_uniform(const Const *k)
{
    size_t size = (size_t)onnx_type_size(k->type);

    if (k->splat || k->n <= 1)
        return true;
    return !memcmp(k->raw, k->raw + size, size * (size_t)(k->n - 1));
}

bool known_all(const Value *v, double x)
{
    const Const *k = v ? v->known : NULL;

    return k && k->n && known_uniform(k) && known_float(k, 0) == x;
}

Value *value_new(Import *c, const char *name)
{
    Value *v = arena_new_of(c->arena, Value);

    v->name = name ? name : arena_printf(c->arena, "t_%d", c->made++);
    v->shape.rank = -1;
    return v;
}

Value *value_ints(Import *c, const int64_t *list, int n)
{
    Value *v = value_new(c, NULL);
    Const *k = known_new(c, OT_INT64, n, false);

    for (int i = 0; i < n; i++)
        known_set_int(k, i, list[i]);
    v->type = OT_INT64;
    v->shape = (Shape){1, {n}};
    v->known = k;
    return v;
}

Value *value_scalar(Import *c, OnnxType t, double x)
{
    Value *v = value_new(c, NULL);
    Const *k = known_new(c, t, 1, false);

    known_set_float(k, 0, x);
    v->type = t;
    v->shape = (Shape){0};
    v->known = k;
    return v;
}

/* ---- attributes and operands -------------------------------------------- */

NodeAttr *attr_find(const Node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name)) {
            n->attr[i].asked = true;
            return &n->attr[i];
        }
    return NULL;
}

int64_t attr_int(const Node *n, const char *name, int64_t otherwise)
{
    const NodeAttr *a = attr_find(n, name);

    return a && a->kind == 'i' ? a->i : otherwise;
}

double attr_float(const Node *n, const char *name, double otherwise)
{
    const NodeAttr *a = attr_find(n, name);

    return a && a->kind == 'f'   ? a->f
           : a && a->kind == 'i' ? (double)a->i
                                 : otherwise;
}

const char *attr_text(const Node *n, const char *name, const char *otherwise)
{
    const NodeAttr *a = attr_find(n, name);

    return a && a->kind == 's' ? a->s : otherwise;
}

const int64_t *attr_ints(const Node *n, const char *name, int *count)
{
    const NodeAttr *a = attr_find(n, name);

    *count = a && a->kind == 'I' ? a->n : 0;
    return a && a->kind == 'I' ? a->ints : NULL;
}

Value *node_in(const Node *n, int i)
{
    return i < n->n_in ? n->in[i] : NULL;
}

Value *node_out(const Node *n, int i)
{
    return i < n->n_out ? n->out[i] : NULL;
}

bool in_ints(Import *c, const Node *n, int i, const int64_t **v, int *count)
{
    const Value *x = node_in(n, i);

    *v = NULL;
    *count = -1;
    if (!x)
        return true;
    if (!x->known) {
        import_error(c, n,
                     "operand %d, '%s', must be a constant, or come "
                     "from sizes alone; an input that decides shapes is "
                     "given by --bind",
                     i, x->name);
        return false;
    }
    int64_t *list = arena_array(c->arena, int64_t, x->known->n + 1);
    if (x->known->n > 1 << 16) {
        import_error(c, n, "a list of %lld numbers", (long long)x->known->n);
        return false;
    }
    *count = (int)x->known->n;
    for (int k = 0; k < *count; k++)
        list[k] = known_int(x->known, k);
    *v = list;
    return true;
}

bool ints_of(Import *c, const Node *n, const char *name, int i,
             const int64_t **v, int *count)
{
    const NodeAttr *a = attr_find(n, name);

    if (a && a->kind == 'I') {
        *v = a->ints;
        *count = a->n;
        return true;
    }
    return in_ints(c, n, i, v, count);
}

bool value_scalar_is(const Value *v, double *out)
{
    if (!v || !v->known || v->known->n < 1 || !known_uniform(v->known))
        return false;
    *out = known_float(v->known, 0);
    return true;
}

bool in_scalar(const Node *n, int i, double *v)
{
    return value_scalar_is(node_in(n, i), v);
}

/* ---- nodes made here ---------------------------------------------------- */

Node *node_new(Import *c, const char *op, const char *name, int n_in, int n_out)
{
    Node *n = arena_new_of(c->arena, Node);
    bool named;

    n->op = op;
    n->domain = "dcc";
    n->version = 1;
    n->name = name;
    n->in = arena_array(c->arena, Value *, n_in + 1);
    n->n_in = n_in;
    n->out = arena_array(c->arena, Value *, n_out + 1);
    n->n_out = n_out;
    n->info = op_find(n->domain, op, 1, &named);
    return n;
}

static NodeAttr *attr_add(Import *c, Node *n, const char *name, char kind)
{
    NodeAttr *all = arena_array(c->arena, NodeAttr, n->n_attr + 1);

    if (n->n_attr)
        memcpy(all, n->attr, sizeof *all * (size_t)n->n_attr);
    n->attr = all;
    all[n->n_attr] = (NodeAttr){.name = name, .kind = kind};
    return &all[n->n_attr++];
}

void attr_add_int(Import *c, Node *n, const char *name, int64_t v)
{
    attr_add(c, n, name, 'i')->i = v;
}

void attr_add_float(Import *c, Node *n, const char *name, double v)
{
    attr_add(c, n, name, 'f')->f = v;
}

void attr_add_text(Import *c, Node *n, const char *name, const char *v)
{
    attr_add(c, n, name, 's')->s = v;
}

void attr_add_ints(Import *c, Node *n, const char *name, const int64_t *v,
                   int count)
{
    NodeAttr *a = attr_add(c, n, name, 'I');
    int64_t *copy = arena_array(c->arena, int64_t, count + 1);

    for (int i = 0; i < count; i++)
        copy[i] = v[i];
    a->ints = copy;
    a->n = count;
}
