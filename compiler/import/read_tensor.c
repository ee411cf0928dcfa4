#include "import/reader.h"

#include "safetensors.h"

#include <errno.h>
#include <stdlib.h>

static const char *bytes_text(Import *c, const ProtobufCBinaryData *b)
{
    return b->len ? arena_strndup(c->arena, (const char *)b->data, b->len) : "";
}

/* ---- tensors ------------------------------------------------------------ */

static Value *refuse(Reader *r, const char *name, const char *what)
{
    import_error(r->c, NULL, "tensor '%s': %s", name, what);
    return NULL;
}

static const char *entry(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && t->external_data[i]->value &&
            !strcmp(t->external_data[i]->key, key))
            return t->external_data[i]->value;
    return NULL;
}

static bool whole_number(const char *text, int64_t *v)
{
    char *end;

    errno = 0;
    *v = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *v >= 0;
}

static bool external_data(Reader *r, const Onnx__TensorProto *t,
                          const char *name, int64_t bytes,
                          const unsigned char **raw)
{
    const char *location = entry(t, "location");
    const char *from = entry(t, "offset"), *size = entry(t, "length");
    int64_t offset = 0, length = bytes;

    if (!location || (from && !whole_number(from, &offset)) ||
        (size && !whole_number(size, &length)))
        return refuse(r, name,
                      "where its external data lies is not said "
                      "properly"),
               false;
    if (length != bytes)
        return refuse(r, name,
                      arena_printf(r->c->arena,
                                   "%lld bytes of "
                                   "external data, its shape takes %lld",
                                   (long long)length, (long long)bytes)),
               false;
    const char *wrong =
        external_bytes(&r->external, location, offset, length, raw);
    if (wrong)
        refuse(r, name,
               arena_printf(r->c->arena, "external data '%s': %s", location,
                            wrong));
    return !wrong;
}

static bool raw_data(Reader *r, const Onnx__TensorProto *t, const char *name,
                     int64_t bytes, const unsigned char **raw)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 8 && i < t->raw_data.len; i++)
        number |= (uint64_t)t->raw_data.data[i] << 8 * i;
    if (number >= (uint64_t)r->scan->n_part)
        return refuse(r, name, "its data is damaged"), false;
    const ScanBytes *part = &r->scan->part[number];
    if ((int64_t)part->len != bytes)
        return refuse(r, name,
                      arena_printf(r->c->arena,
                                   "%zu bytes of data, "
                                   "its shape takes %lld",
                                   part->len, (long long)bytes)),
               false;
    *raw = part->data;
    return true;
}

/* The lists of numbers that small tensors come as. */
static bool listed_data(Reader *r, const Onnx__TensorProto *t, const char *name,
                        Const *k)
{
    size_t n = 0;

    switch (k->type) {
    case OT_FLOAT:
        n = t->n_float_data;
        k->raw = (const unsigned char *)t->float_data;
        break;
    case OT_DOUBLE:
        n = t->n_double_data;
        k->raw = (const unsigned char *)t->double_data;
        break;
    case OT_INT64:
        n = t->n_int64_data;
        k->raw = (const unsigned char *)t->int64_data;
        break;
    case OT_UINT64:
    case OT_UINT32:
        n = t->n_uint64_data;
        break;
    default:
        n = t->n_int32_data;
    }
    if ((int64_t)n != k->n)
        return refuse(r, name,
                      arena_printf(r->c->arena,
                                   "%zu elements, its "
                                   "shape takes %lld",
                                   n, (long long)k->n)),
               false;
    if (k->raw)
        return true;
    *k = *known_new(r->c, k->type, k->n, false);
    for (size_t i = 0; i < n; i++) {
        if (k->type == OT_UINT64 || k->type == OT_UINT32)
            known_set_int(k, (int64_t)i, (int64_t)t->uint64_data[i]);
        else if (k->type == OT_FLOAT16 || k->type == OT_BFLOAT16)
            memcpy((unsigned char *)k->raw + 2 * i, &t->int32_data[i], 2);
        else
            known_set_int(k, (int64_t)i, t->int32_data[i]);
    }
    return true;
}

static bool tensor_shape(Reader *r, const Onnx__TensorProto *t,
                         const char *name, Shape *s)
{
    *s = (Shape){.rank = (int)t->n_dims};
    if (t->n_dims > IMPORT_MAX_RANK)
        return refuse(r, name,
                      arena_printf(r->c->arena,
                                   "rank %zu; %d is "
                                   "the most",
                                   t->n_dims, IMPORT_MAX_RANK)),
               false;
    for (size_t i = 0; i < t->n_dims; i++) {
        s->dim[i] = t->dims[i];
        if (t->dims[i] < 0)
            return refuse(r, name, "a negative size"), false;
    }
    if (shape_count(s) >= (int64_t)1 << 40)
        return refuse(r, name, "too many elements"), false;
    return true;
}

Value *read_tensor(Reader *r, const Onnx__TensorProto *t, const char *name)
{
    Import *c = r->c;
    Value *v = value_new(c, name);
    Const *k = arena_new_of(c->arena, Const);
    bool ok;

    v->type = t->has_data_type ? (OnnxType)t->data_type : OT_NONE;
    if (!onnx_type_size(v->type))
        return refuse(
            r, v->name,
            arena_printf(c->arena, "its type is %s", onnx_type_name(v->type)));
    if (!tensor_shape(r, t, v->name, &v->shape))
        return NULL;
    *k = (Const){.type = v->type, .n = shape_count(&v->shape)};
    int64_t bytes = k->n * onnx_type_size(k->type);
    if (t->has_data_location &&
        t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        ok = external_data(r, t, v->name, bytes, &k->raw);
    else if (t->has_raw_data)
        ok = raw_data(r, t, v->name, bytes, &k->raw);
    else
        ok = k->n == 0 || listed_data(r, t, v->name, k);
    if (!ok)
        return NULL;
    if (!k->raw)
        k->raw = (const unsigned char *)"";
    v->known = k;
    v->is_weight = true;
    return v;
}

/* ---- attributes --------------------------------------------------------- */

static void read_list(Import *c, const Onnx__AttributeProto *p, NodeAttr *a)
{
    if (p->n_floats) {
        double *v = arena_array(c->arena, double, p->n_floats);
        for (size_t i = 0; i < p->n_floats; i++)
            v[i] = p->floats[i];
        a->kind = 'F';
        a->floats = v;
        a->n = (int)p->n_floats;
    } else if (p->n_strings) {
        const char **v = arena_array(c->arena, const char *, p->n_strings);
        for (size_t i = 0; i < p->n_strings; i++)
            v[i] = bytes_text(c, &p->strings[i]);
        a->kind = 'S';
        a->strings = v;
        a->n = (int)p->n_strings;
    } else {
        a->kind = 'I';
        a->ints = p->ints;
        a->n = (int)p->n_ints;
    }
}

static bool read_attribute(Reader *r, const Onnx__AttributeProto *p,
                           NodeAttr *a)
{
    Import *c = r->c;
    int type = p->has_type ? (int)p->type : 0;

    a->name = p->name ? p->name : "";
    if (type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT ||
        (!type && p->has_f)) {
        a->kind = 'f';
        a->f = p->f;
    } else if (type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT ||
               (!type && p->has_i)) {
        a->kind = 'i';
        a->i = p->i;
    } else if (type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING ||
               (!type && p->has_s)) {
        a->kind = 's';
        a->s = bytes_text(c, &p->s);
        /* it may become part of a text, where these mean something */
        for (const char *t = a->s; *t; t++)
            if ((unsigned char)*t < ' ') {
                import_error(c, NULL, "attribute '%s' has a byte that is no "
                             "text", a->name);
                return false;
            }
    } else if (p->t) {
        a->kind = 't';
        a->t = read_tensor(r, p->t, NULL);
        return a->t != NULL;
    } else if (p->g || p->n_graphs) {
        a->kind = 'g';
    } else if (p->sparse_tensor || p->tp || p->n_tensors) {
        a->kind = '?';
    } else {
        read_list(c, p, a);
    }
    return true;
}

void read_attributes(Reader *r, const Scope *s, const Onnx__NodeProto *p,
                     Node *n)
{
    n->attr = arena_array(r->c->arena, NodeAttr, p->n_attribute + 1);
    for (size_t i = 0; i < p->n_attribute; i++) {
        const Onnx__AttributeProto *ap = p->attribute[i];
        NodeAttr *a = &n->attr[n->n_attr];
        if (ap->ref_attr_name && *ap->ref_attr_name) {
            const NodeAttr *from =
                s->call ? attr_find(s->call, ap->ref_attr_name) : NULL;
            if (!from)
                continue;
            *a = *from;
            a->name = ap->name ? ap->name : "";
        } else if (!read_attribute(r, ap, a)) {
            continue;
        }
        n->n_attr++;
    }
}

const Onnx__GraphProto *graph_of(const Onnx__NodeProto *p, const char *name)
{
    for (size_t i = 0; i < p->n_attribute; i++)
        if (p->attribute[i]->name && !strcmp(p->attribute[i]->name, name))
            return p->attribute[i]->g;
    return NULL;
}

/* ---- inputs ------------------------------------------------------------- */

/* -1: not given */
static int64_t given_dim(Import *c, const char *name)
{
    for (int i = 0; i < c->n_dim; i++)
        if (!strcmp(c->dim[i].name, name))
            return c->dim[i].value;
    return -1;
}

/* tf2onnx gives each size that is not fixed a name of its own: that two of
 * them differ says nothing. */
static bool made_up(const char *name)
{
    return !strncmp(name, "unk__", 5);
}

/* One size of an input; -1 after an error. */
static int64_t input_size(Import *c, const char *input, int i,
                          const Onnx__TensorShapeProto__Dimension *d)
{
    const char *place = arena_printf(c->arena, "%s.%d", input, i);
    bool named =
        d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    const char *name =
        named && d->dim_param && *d->dim_param ? d->dim_param : NULL;
    int64_t given = name ? given_dim(c, name) : -1;

    if (given < 0)
        given = given_dim(c, place);
    if (given >= 0)
        return given;
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        d->dim_value > 0)
        return d->dim_value;
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        d->dim_value < -1) {
        import_error(c, NULL, "input '%s': size %lld", input,
                     (long long)d->dim_value);
        return -1;
    }
    if (i == 0 && (!c->has_batch || !name || !c->batch_name ||
                   !strcmp(name, c->batch_name) ||
                   (made_up(name) && made_up(c->batch_name)))) {
        c->has_batch = true;
        c->batch_name = c->batch_name ? c->batch_name : name;
        return IMPORT_BATCH;
    }
    if (name && c->batch_name && !strcmp(name, c->batch_name))
        return IMPORT_BATCH;
    import_error(c, NULL,
                 "input '%s': size %d%s%s%s is not fixed; give it: "
                 "--dim %s=N",
                 input, i, name ? ", '" : "", name ? name : "",
                 name ? "'," : "", name ? name : place);
    return -1;
}

static OnnxType type_of_file(dcc_st_dtype t)
{
    static const OnnxType of[DCC_ST_TYPES] = {
        [DCC_ST_BOOL] = OT_BOOL,     [DCC_ST_U8] = OT_UINT8,
        [DCC_ST_I8] = OT_INT8,       [DCC_ST_I16] = OT_INT16,
        [DCC_ST_U16] = OT_UINT16,    [DCC_ST_I32] = OT_INT32,
        [DCC_ST_U32] = OT_UINT32,    [DCC_ST_I64] = OT_INT64,
        [DCC_ST_U64] = OT_UINT64,    [DCC_ST_F16] = OT_FLOAT16,
        [DCC_ST_BF16] = OT_BFLOAT16, [DCC_ST_F32] = OT_FLOAT,
        [DCC_ST_F64] = OT_DOUBLE,
    };

    return of[t];
}

/* An input whose contents --bind gives is a constant. */
static bool bound_input(Import *c, Value *v)
{
    const dcc_st_tensor *t = c->bind ? dcc_st_find(c->bind, v->name) : NULL;

    if (!t)
        return false;
    if (t->rank > IMPORT_MAX_RANK || t->count > IMPORT_MAX_FOLD) {
        import_error(c, NULL, "--bind: '%s' is too large", v->name);
        return true;
    }
    Const *k = known_new(c, v->type, t->count, false);
    OnnxType from = type_of_file(t->dtype);
    Const is = {.type = from, .n = t->count, .raw = t->data};
    if (!onnx_type_size(from) || onnx_is_float(from) != onnx_is_float(v->type))
        import_error(c, NULL, "--bind: '%s' is %s, the model's is %s", v->name,
                     dcc_st_dtype_name(t->dtype), onnx_type_name(v->type));
    else
        for (int64_t i = 0; i < t->count; i++) {
            if (onnx_is_float(from))
                known_set_float(k, i, known_float(&is, i));
            else
                known_set_int(k, i, known_int(&is, i));
        }
    v->known = k;
    v->is_weight = true;
    v->shape = shape_of(t->rank, t->dim);
    return true;
}

bool read_input(Reader *r, const Onnx__ValueInfoProto *p, Scope *s)
{
    Import *c = r->c;
    const char *name = p->name ? p->name : "";
    const Onnx__TypeProto *type = p->type;

    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !type->tensor_type) {
        import_error(c, NULL, "input '%s' is no tensor", name);
        return false;
    }
    const Onnx__TypeProto__Tensor *t = type->tensor_type;
    Value *v = value_new(c, arena_strdup(c->arena, name));
    v->type = t->has_elem_type ? (OnnxType)t->elem_type : OT_NONE;
    if (map_get(s->value, name)) {
        import_error(c, NULL, "two inputs are called '%s'", name);
        return false;
    }
    map_put(s->value, name, v);
    if (!onnx_type_size(v->type)) {
        import_error(c, NULL, "input '%s': its type is %s", name,
                     onnx_type_name(v->type));
        return false;
    }
    if (bound_input(c, v))
        return true;
    if (!t->shape || t->shape->n_dim > IMPORT_MAX_RANK) {
        import_error(c, NULL,
                     t->shape ? "input '%s': rank %zu; 8 is the most"
                              : "input '%s' has no shape",
                     name, t->shape ? t->shape->n_dim : 0);
        return false;
    }
    v->shape.rank = (int)t->shape->n_dim;
    for (size_t i = 0; i < t->shape->n_dim; i++) {
        v->shape.dim[i] = input_size(c, name, (int)i, t->shape->dim[i]);
        if (v->shape.dim[i] < 0)
            return false;
    }
    if (!shape_count(&v->shape)) {
        import_note(c, "input '%s' has no elements and is left out", name);
        v->known = known_new(c, v->type, 0, false);
        return true;
    }
    if (shape_count(&v->shape) / (c->has_batch ? IMPORT_BATCH : 1) >=
        (int64_t)1 << 40) {
        import_error(c, NULL, "input '%s' has too many elements", name);
        return false;
    }
    v->is_input = true;
    r->c->floats[v->type]++;
    VEC_PUSH(c->arena, c->input, c->n_input, c->cap_input) = v;
    return true;
}
