#include "import/fold.h"

/* Elements up to which contents of the file's weights are worked out too;
 * masks always are. */
enum { SMALL = 4096 };

/* ---- by index: each element of the result is one of an operand's --------- */

typedef struct Copy {
    Const *out;
    const Shape *shape;
} Copy;

static void copy_element(const Copy *t, int64_t to, const Const *from,
                         int64_t at)
{
    size_t size = (size_t)onnx_type_size(from->type);

    memcpy((unsigned char *)t->out->raw + (size_t)to * size,
           from->raw + (from->splat ? 0 : (size_t)at * size), size);
}

void index_of(const Shape *s, int64_t i, int64_t *at)
{
    for (int k = s->rank - 1; k >= 0; k--) {
        at[k] = i % s->dim[k];
        i /= s->dim[k];
    }
}

int64_t offset_of(const Shape *s, const int64_t *at)
{
    int64_t i = 0;

    for (int k = 0; k < s->rank; k++)
        i = i * s->dim[k] + at[k];
    return i;
}

int64_t offset_broadcast(const Shape *s, const Shape *to,
                                const int64_t *at)
{
    int64_t i = 0;

    for (int k = 0; k < s->rank; k++)
        i = i * s->dim[k] + (s->dim[k] == 1 ? 0 : at[to->rank - s->rank + k]);
    return i;
}

static Const *same_elements(Import *c, const Value *out, const Const *x)
{
    Const *k = arena_new_of(c->arena, Const);

    *k = *x;
    k->n = shape_count(&out->shape);
    return k;
}

static Const *fold_view(Import *c, Node *n)
{
    return same_elements(c, n->out[0], n->in[0]->known);
}

/* Where in n's first operand the element at an index of its result stands;
 * -1: nowhere. */
typedef int64_t TakenFrom(const Node *n, const void *how, const int64_t *at);

static Const *copied(Import *c, const Node *n, const Value *y,
                     TakenFrom *source, const void *how)
{
    Const *k = known_new(c, y->type, shape_count(&y->shape), false);
    Copy t = {k, &y->shape};

    for (int64_t i = 0; i < k->n; i++) {
        int64_t at[IMPORT_MAX_RANK];
        index_of(&y->shape, i, at);
        int64_t from = source(n, how, at);
        if (from < 0)
            return NULL;
        copy_element(&t, i, n->in[0]->known, from);
    }
    return k;
}

static int64_t source_transpose(const Node *n, const void *how,
                                const int64_t *at)
{
    const Shape *x = &n->in[0]->shape;
    const int64_t *perm = how;
    int64_t from[IMPORT_MAX_RANK];

    for (int d = 0; d < x->rank; d++)
        from[perm ? perm[d] : x->rank - 1 - d] = at[d];
    return offset_of(x, from);
}

static Const *fold_transpose(Import *c, Node *n)
{
    int count;

    return copied(c, n, n->out[0], source_transpose,
                  attr_ints(n, "perm", &count));
}

static int64_t source_expand(const Node *n, const void *how, const int64_t *at)
{
    (void)how;
    return offset_broadcast(&n->in[0]->shape, &n->out[0]->shape, at);
}

static Const *fold_expand(Import *c, Node *n)
{
    return copied(c, n, n->out[0], source_expand, NULL);
}

static int64_t source_tile(const Node *n, const void *how, const int64_t *at)
{
    const Shape *x = &n->in[0]->shape;
    int64_t from[IMPORT_MAX_RANK];

    (void)how;
    for (int d = 0; d < x->rank; d++)
        from[d] = at[d] % x->dim[d];
    return offset_of(x, from);
}

static Const *fold_tile(Import *c, Node *n)
{
    return copied(c, n, n->out[0], source_tile, NULL);
}

static int64_t source_slice(const Node *n, const void *how, const int64_t *at)
{
    const Shape *x = &n->in[0]->shape;
    const SliceAxis *s = how;
    int64_t from[IMPORT_MAX_RANK];

    for (int d = 0; d < x->rank; d++)
        from[d] = s[d].first + s[d].step * at[d];
    return offset_of(x, from);
}

static Const *fold_slice(Import *c, Node *n)
{
    SliceAxis s[IMPORT_MAX_RANK];

    return slice_of(c, n, s) ? copied(c, n, n->out[0], source_slice, s) : NULL;
}

/* Index i of dimension d of x, counted from the end where negative; -1: it
 * is none. */
static int64_t index_in(const Shape *s, int d, int64_t i)
{
    i += i < 0 ? s->dim[d] : 0;
    return i >= 0 && i < s->dim[d] ? i : -1;
}

static int64_t source_gather(const Node *n, const void *how, const int64_t *at)
{
    const Value *x = n->in[0], *ids = n->in[1];
    int axis = *(const int *)how;
    int64_t from[IMPORT_MAX_RANK];

    for (int d = 0; d < x->shape.rank; d++)
        if (d != axis)
            from[d] = at[d < axis ? d : d - 1 + ids->shape.rank];
    from[axis] =
        index_in(&x->shape, axis,
                 known_int(ids->known, offset_of(&ids->shape, at + axis)));
    return offset_of(&x->shape, from);
}

static Const *fold_gather(Import *c, Node *n)
{
    const Value *x = n->in[0], *ids = n->in[1];
    int axis;

    if (!axis_of(c, n, 0, x->shape.rank, &axis))
        return NULL;
    for (int64_t i = 0; i < (ids->known->splat ? 1 : ids->known->n); i++)
        if (index_in(&x->shape, axis, known_int(ids->known, i)) < 0) {
            import_error(c, n, "index %lld of %lld",
                         (long long)known_int(ids->known, i),
                         (long long)x->shape.dim[axis]);
            return NULL;
        }
    return copied(c, n, n->out[0], source_gather, &axis);
}

static Const *fold_concat(Import *c, Node *n)
{
    const Value *y = n->out[0];
    Const *k = known_new(c, y->type, shape_count(&y->shape), false);
    Copy t = {k, &y->shape};
    int axis;

    if (!axis_of(c, n, n->version < 4 ? 1 : 0, y->shape.rank, &axis))
        return NULL;
    for (int64_t i = 0; i < k->n; i++) {
        int64_t at[IMPORT_MAX_RANK];
        int which = 0;
        index_of(&y->shape, i, at);
        while (at[axis] >= n->in[which]->shape.dim[axis])
            at[axis] -= n->in[which++]->shape.dim[axis];
        copy_element(&t, i, n->in[which]->known,
                     offset_of(&n->in[which]->shape, at));
    }
    return k;
}

/* A part of a split: the axis, and where the part begins. */
typedef struct Part {
    int axis;
    int64_t first;
} Part;

static int64_t source_part(const Node *n, const void *how, const int64_t *at)
{
    const Shape *x = &n->in[0]->shape;
    const Part *p = how;
    int64_t from[IMPORT_MAX_RANK];

    memcpy(from, at, sizeof *from * (size_t)x->rank);
    from[p->axis] += p->first;
    return offset_of(x, from);
}

static void fold_split(Import *c, Node *n)
{
    Part p = {0, 0};

    if (!axis_of(c, n, 0, n->in[0]->shape.rank, &p.axis))
        return;
    for (int o = 0; o < n->n_out && n->out[o]; o++) {
        n->out[o]->known = copied(c, n, n->out[o], source_part, &p);
        p.first += n->out[o]->shape.dim[p.axis];
    }
}

static Const *fold_scatter_nd(Import *c, Node *n)
{
    const Value *x = n->in[0], *ids = n->in[1], *u = n->in[2];
    Const *k = known_new(c, x->type, x->known->n, false);
    Copy t = {k, &x->shape};
    int depth = (int)ids->shape.dim[ids->shape.rank - 1];
    int64_t inner = 1;

    if (attr_find(n, "reduction") || depth > x->shape.rank || depth < 1)
        return NULL;
    for (int d = depth; d < x->shape.rank; d++)
        inner *= x->shape.dim[d];
    for (int64_t i = 0; i < k->n; i++)
        copy_element(&t, i, x->known, i);
    for (int64_t i = 0; i < ids->known->n / depth; i++) {
        int64_t at = 0;
        for (int d = 0; d < depth; d++) {
            int64_t id = known_int(ids->known, i * depth + d);
            id = id < 0 ? id + x->shape.dim[d] : id;
            if (id < 0 || id >= x->shape.dim[d]) {
                import_error(c, n, "an index is out of range");
                return NULL;
            }
            at = at * x->shape.dim[d] + id;
        }
        for (int64_t j = 0; j < inner; j++)
            copy_element(&t, at * inner + j, u->known, i * inner + j);
    }
    return k;
}

static Const *fold_nonzero(Import *c, Node *n)
{
    const Value *x = n->in[0], *y = n->out[0];
    int64_t count = y->shape.dim[1], k = 0;
    Const *out = known_new(c, OT_INT64, shape_count(&y->shape), false);

    for (int64_t i = 0; i < x->known->n; i++) {
        int64_t at[IMPORT_MAX_RANK];
        if (known_float(x->known, i) == 0)
            continue;
        index_of(&x->shape, i, at);
        for (int d = 0; d < x->shape.rank; d++)
            known_set_int(out, d * count + k, at[d]);
        k++;
    }
    return out;
}

static Const *fold_range(Import *c, Node *n)
{
    Const *k = known_new(c, n->out[0]->type, n->out[0]->shape.dim[0], false);

    for (int64_t i = 0; i < k->n; i++) {
        if (onnx_is_float(k->type))
            known_set_float(k, i,
                            known_float(n->in[0]->known, 0) +
                                (double)i * known_float(n->in[2]->known, 0));
        else
            known_set_int(k, i,
                          known_int(n->in[0]->known, 0) +
                              i * known_int(n->in[2]->known, 0));
    }
    return k;
}

static Const *fold_trilu(Import *c, Node *n)
{
    const Value *x = n->in[0];
    int r = x->shape.rank;
    double shift = 0;
    bool upper = attr_int(n, "upper", 1) != 0;
    Const *k = known_new(c, x->type, x->known->n, false);
    Copy t = {k, &x->shape};

    in_scalar(n, 1, &shift);
    for (int64_t i = 0; i < k->n; i++) {
        int64_t at[IMPORT_MAX_RANK];
        index_of(&x->shape, i, at);
        int64_t d = at[r - 1] - at[r - 2] - (int64_t)shift;
        if (upper ? d >= 0 : d <= 0)
            copy_element(&t, i, x->known, i);
    }
    return k;
}

static Const *fold_cumsum(Import *c, Node *n)
{
    const Value *x = n->in[0];
    double which;
    int axis;
    int64_t inner = 1;
    Const *k = known_new(c, x->type, x->known->n, false);

    if (!in_scalar(n, 1, &which) || attr_int(n, "exclusive", 0) ||
        attr_int(n, "reverse", 0) ||
        !axis_in(c, n, (int64_t)which, x->shape.rank, &axis))
        return NULL;
    for (int d = axis + 1; d < x->shape.rank; d++)
        inner *= x->shape.dim[d];
    for (int64_t i = 0; i < k->n; i++) {
        bool first = i / inner % x->shape.dim[axis] == 0;
        if (onnx_is_float(x->type))
            known_set_float(k, i,
                            known_float(x->known, i) +
                                (first ? 0 : known_float(k, i - inner)));
        else
            known_set_int(k, i,
                          known_int(x->known, i) +
                              (first ? 0 : known_int(k, i - inner)));
    }
    return k;
}

static Const *fold_where(Import *c, Node *n)
{
    const Value *y = n->out[0];
    int64_t count = shape_count(&y->shape);
    Const *k = known_new(c, y->type, count, all_splat(n) && count > 1);
    Copy t = {k, &y->shape};

    for (int64_t i = 0; i < (k->splat ? 1 : count); i++) {
        int64_t at[IMPORT_MAX_RANK];
        index_of(&y->shape, i, at);
        const Value *p = n->in[0];
        bool yes = known_int(p->known,
                             offset_broadcast(&p->shape, &y->shape, at)) != 0;
        const Value *from = n->in[yes ? 1 : 2];
        copy_element(&t, i, from->known,
                     offset_broadcast(&from->shape, &y->shape, at));
    }
    return k;
}

static int64_t source_gather_elements(const Node *n, const void *how,
                                      const int64_t *at)
{
    const Value *x = n->in[0], *ids = n->in[1];
    int axis = *(const int *)how;
    int64_t from[IMPORT_MAX_RANK];

    memcpy(from, at, sizeof *from * (size_t)x->shape.rank);
    from[axis] =
        index_in(&x->shape, axis,
                 known_int(ids->known, offset_of(&ids->shape, at)));
    return from[axis] < 0 ? -1 : offset_of(&x->shape, from);
}

static Const *fold_gather_elements(Import *c, Node *n)
{
    int axis;

    return axis_in(c, n, attr_int(n, "axis", 0), n->in[0]->shape.rank, &axis)
               ? copied(c, n, n->out[0], source_gather_elements, &axis) : NULL;
}

static int64_t source_gather_nd(const Node *n, const void *how,
                                const int64_t *at)
{
    const Value *x = n->in[0], *ids = n->in[1];
    int batch = *(const int *)how, r = ids->shape.rank;
    int64_t tuple = r ? ids->shape.dim[r - 1] : 0, row = 0;
    int64_t from[IMPORT_MAX_RANK] = {0};

    for (int d = 0; d < r - 1; d++)
        row = row * ids->shape.dim[d] + at[d];
    for (int d = 0; d < batch; d++)
        from[d] = at[d];
    for (int d = batch; d < batch + tuple; d++) {
        from[d] = index_in(&x->shape, d,
                           known_int(ids->known, row * tuple + d - batch));
        if (from[d] < 0)
            return -1;
    }
    for (int d = batch + (int)tuple, from_y = r - 1; d < x->shape.rank;)
        from[d++] = at[from_y++];
    return offset_of(&x->shape, from);
}

static Const *fold_gather_nd(Import *c, Node *n)
{
    int batch = (int)attr_int(n, "batch_dims", 0);

    return copied(c, n, n->out[0], source_gather_nd, &batch);
}

/* ---- all of them -------------------------------------------------------- */

static const struct {
    const char *op;
    Const *(*fold)(Import *c, Node *n);
    bool view; /* the elements stay where they are */
} folds[] = {
    {"Identity", fold_view, true},      {"Reshape", fold_view, true},
    {"Squeeze", fold_view, true},       {"Unsqueeze", fold_view, true},
    {"Flatten", fold_view, true},       {"Transpose", fold_transpose, false},
    {"Expand", fold_expand, false},     {"Tile", fold_tile, false},
    {"Slice", fold_slice, false},       {"Gather", fold_gather, false},
    {"GatherND", fold_gather_nd, false},
    {"GatherElements", fold_gather_elements, false},
    {"Concat", fold_concat, false},     {"ScatterND", fold_scatter_nd, false},
    {"NonZero", fold_nonzero, false},   {"Range", fold_range, false},
    {"Trilu", fold_trilu, false},       {"CumSum", fold_cumsum, false},
    {"Cast", fold_unary, false},        {"CastLike", fold_unary, false},
    {"Clip", fold_clip, false},         {"Min", fold_several, false},
    {"Max", fold_several, false},       {"Sum", fold_several, false},
    {"Mean", fold_several, false},
    {"Where", fold_where, false},       {"ReduceSum", fold_reduce, false},
    {"ReduceProd", fold_reduce, false}, {"ReduceMax", fold_reduce, false},
    {"ReduceMin", fold_reduce, false},  {"ReduceMean", fold_reduce, false},
    {"ReduceL1", fold_reduce, false},   {"ReduceL2", fold_reduce, false},
    {"ReduceSumSquare", fold_reduce, false},
    {"ReduceLogSum", fold_reduce, false},
    {"ReduceLogSumExp", fold_reduce, false},
};

static bool same_type_cast(const Node *n)
{
    return !strncmp(n->op, "Cast", 4) && n->in[0]->type == n->out[0]->type;
}

/* An element of the first operand is as good as any other. */
static bool uniform_view(const Node *n)
{
    static const char *const moves[] = {
        "Expand", "Transpose", "Tile", "Slice", "Concat", "Gather",
        "GatherND", "GatherElements", NULL};

    for (const char *const *m = moves; *m; m++)
        if (!strcmp(*m, n->op) && known_uniform(n->in[0]->known))
            return strcmp(n->op, "Concat") || n->n_in == 1;
    return false;
}

/* Of operands that are one number each it makes one number. */
static bool is_elementwise(Const *(*fold)(Import *c, Node *n))
{
    return fold == fold_where || fold == fold_unary || fold == fold_clip ||
           fold == fold_several;
}

/* Whether all operands are known, and few enough. */
static bool may_fold(const Node *n, bool view)
{
    bool splat = true;

    if (*n->domain || !n->n_out || !n->out[0] || n->out[0]->known)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        if (!v)
            continue;
        if (!v->known)
            return false;
        splat = splat && known_uniform(v->known);
        if (v->is_weight && v->known->n > SMALL && !view &&
            v->type != OT_BOOL)
            return false;
    }
    return view || splat || uniform_view(n) ||
           shape_count(&n->out[0]->shape) <= IMPORT_MAX_FOLD;
}

void import_fold(Import *c, Node *n)
{
    const Const *k = NULL;

    if (!strcmp(n->op, "Split") && may_fold(n, false)) {
        fold_split(c, n);
        return;
    }
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        if (strcmp(folds[i].op, n->op))
            continue;
        bool view =
            folds[i].view ||
            (n->in[0] && (!strncmp(n->op, "Cast", 4)) && same_type_cast(n));
        if (!may_fold(n, view))
            return;
        if (!view && uniform_view(n)) {
            Const *u = same_elements(c, n->out[0], n->in[0]->known);
            u->splat = u->n > 0 && n->in[0]->known->n > 0;
            k = u;
        } else if (shape_count(&n->out[0]->shape) <= IMPORT_MAX_FOLD || view ||
                   (all_splat(n) && is_elementwise(folds[i].fold))) {
            k = (view ? fold_view : folds[i].fold)(c, n);
        }
        n->out[0]->is_weight = view && n->in[0]->is_weight;
        n->out[0]->known = k;
        return;
    }
    if (!may_fold(n, false))
        return;
    if (shape_count(&n->out[0]->shape) > IMPORT_MAX_FOLD && !all_splat(n))
        return;
    if (n->n_in == 1)
        k = fold_unary(c, n);
    else if (n->n_in == 2)
        k = fold_binary(c, n);
    n->out[0]->known = k;
}
