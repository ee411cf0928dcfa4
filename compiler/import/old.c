/* First versions of operators, in the words of later ones. */
#include "import/ir.h"

typedef struct TypeName {
    const char *name;
    OnnxType type;
} TypeName;

/* Cast up to 5: to = "FLOAT" */
static void cast(Node *n)
{
    static const TypeName names[] = {
        {"FLOAT", OT_FLOAT},     {"UINT8", OT_UINT8},   {"INT8", OT_INT8},
        {"UINT16", OT_UINT16},   {"INT16", OT_INT16},   {"INT32", OT_INT32},
        {"INT64", OT_INT64},     {"BOOL", OT_BOOL},     {"DOUBLE", OT_DOUBLE},
        {"FLOAT16", OT_FLOAT16}, {"UINT32", OT_UINT32}, {"UINT64", OT_UINT64}};
    NodeAttr *to = attr_find(n, "to");

    for (size_t i = 0; to && i < sizeof names / sizeof *names; i++)
        if (to->kind == 's' && !strcmp(to->s, names[i].name)) {
            to->kind = 'i';
            to->i = names[i].type;
            n->version = 6;
            return;
        }
}

/* Split 1: the parts' sizes are an attribute or an operand of x's type. */
static void split(Import *c, Node *n)
{
    const Value *sizes = node_in(n, 1);
    int64_t *v = arena_array(c->arena, int64_t, n->n_out + 1);

    if (sizes && (!sizes->known || sizes->known->n != n->n_out))
        return;
    for (int i = 0; sizes && i < (int)sizes->known->n; i++)
        v[i] = (int64_t)known_float(sizes->known, i);
    if (sizes)
        attr_add_ints(c, n, "split", v, (int)sizes->known->n);
    n->n_in = 1;
    n->version = 2;
}

/* Tile up to 5: how often, along which axis. */
static void tile(Import *c, Node *n)
{
    double tiles, axis;
    int64_t v[IMPORT_MAX_RANK];
    int rank = node_in(n, 0) ? n->in[0]->shape.rank : 0;

    if (!in_scalar(n, 1, &tiles) || !in_scalar(n, 2, &axis) || axis < 0 ||
        axis >= rank)
        return;
    for (int i = 0; i < rank; i++)
        v[i] = i == (int)axis ? (int64_t)tiles : 1;
    n->in[1] = value_ints(c, v, rank);
    n->n_in = 2;
    n->version = 6;
}

/* Upsample up to 6: pictures, a scale for each side. */
static void upsample(Import *c, Node *n)
{
    double *scale = arena_array(c->arena, double, 4);
    NodeAttr *mode = attr_find(n, "mode");
    NodeAttr *to = attr_find(n, "width_scale");

    if (!node_in(n, 0) || n->in[0]->shape.rank != 4 || !to)
        return;
    scale[0] = scale[1] = 1;
    scale[2] = attr_float(n, "height_scale", 1);
    scale[3] = attr_float(n, "width_scale", 1);
    to->name = "scales";
    to->kind = 'F';
    to->n = 4;
    to->floats = scale;
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, "height_scale"))
            n->attr[i] = n->attr[--n->n_attr];
    if (mode && mode->kind == 's' && !strcmp(mode->s, "bilinear"))
        mode->s = "linear";
    n->version = 7;
}

/* PRelu up to 6: a slope for each channel. */
static void prelu(Import *c, Node *n)
{
    const Value *x = node_in(n, 0), *slope = node_in(n, 1);

    if (!x || !slope || !slope->known || slope->shape.rank != 1 ||
        x->shape.rank < 3 || slope->shape.dim[0] != x->shape.dim[1])
        return;
    Value *v = value_new(c, slope->name);
    *v = *slope;
    v->shape.rank = x->shape.rank - 1;
    for (int i = 1; i < v->shape.rank; i++)
        v->shape.dim[i] = 1;
    n->in[1] = v;
}

void node_of_today(Import *c, Node *n)
{
    if (*n->domain)
        return;
    if (!strcmp(n->op, "Cast") && n->version < 6)
        cast(n);
    else if (!strcmp(n->op, "Split") && n->version < 2)
        split(c, n);
    else if (!strcmp(n->op, "Tile") && n->version < 6)
        tile(c, n);
    else if (!strcmp(n->op, "Upsample") && n->version < 7)
        upsample(c, n);
    else if (!strcmp(n->op, "PRelu") && n->version < 7)
        prelu(c, n);
}
