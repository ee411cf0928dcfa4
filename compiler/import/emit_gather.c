/* Gathers and scatters. */
#include "import/emit.h"

/* Indices that may be negative, made to count from the front. */
static Value *from_front(Import *c, Value *ids, int64_t size)
{
    ids = same_as(ids);
    if (ids->known) {
        bool negative = false;
        for (int64_t i = 0; i < ids->known->n && !negative; i++)
            negative = known_int(ids->known, i) < 0;
        if (!negative)
            return ids;
        Value *v = between(c, ids, "front", OT_INT32, ids->shape);
        Const *k = known_new(c, OT_INT32, ids->known->n, false);
        for (int64_t i = 0; i < k->n; i++) {
            int64_t id = known_int(ids->known, i);
            known_set_int(k, i, id < 0 ? id + size : id);
        }
        v->known = k;
        return v;
    }
    if (ids->below && ids->below <= size)
        return ids;
    Value *v = between(c, ids, "front", OT_INT32, ids->shape);
    Stmt *s = stmt_new(c, v);
    const char *t = named(c, s, ids);
    stmt_text(c, s, BIND_COND, "%s < 0 ? %s + %s : %s", t, t,
              size_text(c, size), t);
    return v;
}

/* first, first + 1, ..: a slice */
static bool run_of(const Value *ids, int64_t size, int64_t *first)
{
    if (!ids->known || ids->known->n < 1 || ids->shape.rank > 1)
        return false;
    *first = known_int(ids->known, 0);
    if (*first < 0)
        *first += size;
    for (int64_t i = 0; i < ids->known->n; i++) {
        int64_t id = known_int(ids->known, i);
        if ((id < 0 ? id + size : id) != *first + i || *first + i >= size)
            return false;
    }
    return true;
}

static bool gather_run(Import *c, Node *n, int axis)
{
    Value *x = n->in[0], *y = n->out[0];
    const char *at[IMPORT_MAX_RANK] = {0};
    int64_t first;
    int r = x->shape.rank;

    if (!run_of(n->in[1], x->shape.dim[axis], &first))
        return false;
    Stmt *s = stmt_new(c, y);
    if (n->in[1]->shape.rank == 1) {
        stmt_text(c, s, BIND_ATOM,
                  "slice(%s, axis = %d, first = %s, last = "
                  "%s)",
                  arg(c, s, x), axis, size_text(c, first),
                  size_text(c, first + n->in[1]->known->n));
        return true;
    }
    for (int i = 0; i < r; i++)
        at[i] = i < axis    ? index_names[i]
                : i == axis ? size_text(c, first)
                            : index_names[i - 1];
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
    return true;
}

void emit_gather(Import *c, Node *n)
{
    Value *x = same_as(n->in[0]), *ids = same_as(n->in[1]), *y = n->out[0];
    const char *at[IMPORT_MAX_RANK] = {0};
    int axis, q = ids->shape.rank, r = x->shape.rank;

    if (!axis_of(c, n, 0, r, &axis) || gather_run(c, n, axis))
        return;
    /* a table's rows by what the caller gives: the caller's promise */
    if (axis == 0 && x->known && r == 2 && ids->is_input &&
        (!ids->below || ids->below == x->shape.dim[0]))
        ids->below = x->shape.dim[0];
    ids = from_front(c, ids, x->shape.dim[axis]);
    Stmt *s = stmt_new(c, y);
    if (axis == 0 && r == 2 && onnx_is_float(x->type)) {
        stmt_text(c, s, BIND_ATOM, "embedding(%s, %s)", arg(c, s, ids),
                  arg(c, s, x));
        return;
    }
    for (int i = 0; i < r; i++)
        at[i] = i < axis    ? index_names[i]
                : i == axis ? read_at_most(c, s, ids, index_names + axis,
                                             IMPORT_MAX_RANK - axis)
                            : index_names[i - 1 + q];
    stmt_left_reading(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

void emit_gather_elements(Import *c, Node *n)
{
    Value *x = n->in[0];
    const char *at[IMPORT_MAX_RANK] = {0};
    int axis, r = x->shape.rank;

    if (!axis_of(c, n, 0, r, &axis))
        return;
    Value *ids = from_front(c, n->in[1], x->shape.dim[axis]);
    Stmt *s = stmt_new(c, n->out[0]);
    for (int i = 0; i < r; i++)
        at[i] = i == axis ? read_at(c, s, ids, index_names) : index_names[i];
    stmt_left_reading(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

/* Column k of indices that are known, where it is a number, an index of its
 * own place, or both: "2", "j", "j + 1"; else NULL. */
static const char *column_text(Import *c, const Value *ids,
                               const char *const *index, int k)
{
    int q = ids->shape.rank, which = -1;
    int64_t depth = ids->shape.dim[q - 1], n = ids->known->n / depth;
    int64_t first = known_int(ids->known, k), stride[IMPORT_MAX_RANK];

    stride[q - 1] = depth;
    for (int d = q - 2; d >= 0; d--) {
        stride[d] = d == q - 2 ? depth : stride[d + 1] * ids->shape.dim[d + 1];
        if (ids->shape.dim[d] > 1 && which < 0 &&
            known_int(ids->known, stride[d] + k) == first + 1)
            which = d;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = which < 0 ? 0 : i * depth / stride[which] %
                                         ids->shape.dim[which];
        if (known_int(ids->known, i * depth + k) != first + at)
            return NULL;
    }
    return which < 0 ? arena_printf(c->arena, "%lld", (long long)first)
           : first   ? arena_printf(c->arena, "%s + %lld", index[which],
                                    (long long)first)
                     : index[which];
}

/* Coordinate k of the indices, counted from the front. */
static const char *coordinate(Import *c, Stmt *s, Value *ids,
                              const char *const *index, int k)
{
    const char *at[IMPORT_MAX_RANK], *text = NULL;
    int q = ids->shape.rank;

    if (ids->known && !ids->known->turned)
        text = column_text(c, ids, index, k);
    if (text)
        return text;
    for (int i = 0; i < q - 1; i++)
        at[i] = index[i];
    at[q - 1] = arena_printf(c->arena, "%d", k);
    return read_at(c, s, ids, at);
}

/* Indices into several dimensions at once: each column its own size. */
static Value *columns_from_front(Import *c, Value *ids, const int64_t *size,
                                 int depth)
{
    int q = ids->shape.rank;

    ids = same_as(ids);
    Value *v = between(c, ids, "front", OT_INT32, ids->shape);
    if (ids->known) {
        Const *k = known_new(c, OT_INT32, ids->known->n, false);
        for (int64_t i = 0; i < k->n; i++) {
            int64_t id = known_int(ids->known, i);
            known_set_int(k, i, id < 0 ? id + size[i % depth] : id);
        }
        v->known = k;
        return v;
    }
    Stmt *s = stmt_new(c, v);
    const char *t = read_at(c, s, ids, index_names);
    const char *last = index_names[q - 1];
    const char *d = size_text(c, size[depth - 1]);
    for (int i = depth - 2; i >= 0; i--)
        d = arena_printf(c->arena, "(%s == %d ? %s : %s)", last, i,
                         size_text(c, size[i]), d);
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_COND, "%s < 0 ? %s + %s : %s", t, t, d, t);
    return v;
}

void emit_gather_nd(Import *c, Node *n)
{
    Value *x = n->in[0], *ids = n->in[1];
    const char *at[IMPORT_MAX_RANK] = {0};
    int batch = (int)attr_int(n, "batch_dims", 0), r = x->shape.rank;
    int q = ids->shape.rank, depth = (int)ids->shape.dim[q - 1];

    ids = columns_from_front(c, ids, x->shape.dim + batch, depth);
    Stmt *s = stmt_new(c, n->out[0]);
    for (int i = 0; i < r; i++)
        at[i] = i < batch ? index_names[i]
                : i < batch + depth
                    ? coordinate(c, s, ids, index_names, i - batch)
                    : index_names[q - 1 + i - batch - depth];
    stmt_left_reading(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

/* ---- scatters: which update an element takes is looked for --------------- */

/* The result of one reduction over updates where `hit` holds. */
static void combine(Import *c, Node *n, Stmt *s, const char *range,
                    const char *hit, const char *old, const char *update)
{
    const char *how = attr_text(n, "reduction", "none");
    Arena *a = c->arena;

    if (!strcmp(how, "add"))
        stmt_text(c, s, BIND_ADD, "%s + sum(%s) (%s ? %s : 0)", old, range, hit,
                  update);
    else if (!strcmp(how, "mul"))
        stmt_text(c, s, BIND_MUL, "%s * (prod(%s) (%s ? %s : 1))", old, range,
                  hit, update);
    else if (!strcmp(how, "max") || !strcmp(how, "min"))
        stmt_text(c, s, BIND_ATOM, "%s(%s, %s(%s) (%s ? %s : %s))", how, old,
                  how, range, hit, update,
                  !strcmp(how, "max") ? arena_printf(a, "%s", "-inf") : "inf");
    else
        import_error(c, n, "attribute 'reduction': '%s' is not supported", how);
}

/* An update where there is one: conditions around it see to that, but a read
 * must say what it is elsewhere. */
static const char *update_at(Import *c, Stmt *s, Value *u,
                             const char *const *at)
{
    const char *read = read_at_most(c, s, u, at, IMPORT_MAX_RANK);

    u = same_as(u);
    if (u->known && known_uniform(u->known) && u->known->n)
        return read;
    return arena_printf(c->arena, "(%s or 0)", read);
}

/* Where an update goes, -1 outside of ids (over: NULL, there is no outside). */
static const char *id_at(Import *c, Stmt *s, Value *ids, const char *const *at,
                         const Shape *over)
{
    const char *id =
        over ? read_or_most(c, s, ids, at, IMPORT_MAX_RANK, over, "-1")
             : read_at_most(c, s, ids, at, IMPORT_MAX_RANK);

    return over && *id != '(' ? arena_printf(c->arena, "(%s)", id) : id;
}

void emit_scatter_elements(Import *c, Node *n)
{
    Value *x = n->in[0], *u = n->in[2], *y = n->out[0];
    const char *how = attr_text(n, "reduction", "none"), *hit;
    const char *at[IMPORT_MAX_RANK] = {0};
    int axis, r = x->shape.rank;

    if (!axis_of(c, n, 0, r, &axis))
        return;
    Value *ids = from_front(c, n->in[1], x->shape.dim[axis]);
    const Shape *us = &u->shape;
    for (int i = 0; i < r; i++)
        at[i] = i == axis ? "r" : index_names[i];
    const char *range =
        arena_printf(c->arena, "r in 0..%s", size_text(c, us->dim[axis]));
    bool whole = true;
    for (int i = 0; i < r; i++)
        whole = whole && (i == axis || us->dim[i] == x->shape.dim[i]);
    if (!strcmp(how, "none")) {
        /* the last update that goes there */
        Value *which = between(c, y, "from", OT_INT32, x->shape);
        Stmt *w = stmt_new(c, which);
        stmt_left_reading(c, w, ids, at);
        hit = id_at(c, w, ids, at, whole ? NULL : &x->shape);
        stmt_text(c, w, BIND_ATOM, "max(%s) (%s == %s ? r : -1)", range, hit,
                  index_names[axis]);
        Stmt *s = stmt_new(c, y);
        const char *found = read_at(c, s, which, index_names);
        at[axis] = found;
        stmt_left_reading(c, s, u, at);
        const char *update = update_at(c, s, u, at);
        const char *old = read_at(c, s, x, index_names);
        stmt_text(c, s, BIND_COND, "%s >= 0 ? %s : %s", found, update, old);
        return;
    }
    Stmt *s = stmt_new(c, y);
    stmt_left_reading(c, s, ids, at);
    const char *id = id_at(c, s, ids, at, whole ? NULL : &x->shape);
    const char *update =
        whole ? read_at(c, s, u, at) : update_at(c, s, u, at);
    const char *old = read_at(c, s, x, index_names);
    hit = arena_printf(c->arena, "%s == %s", id, index_names[axis]);
    combine(c, n, s, range, hit, old, update);
}

/* Updates are numbered along r: one dimension where there are several. */
static Value *flat_rows(Import *c, Value *v, int lead, Shape rest)
{
    Value *f = between(c, v, "rows", v->type, rest);

    (void)lead;
    if (v->known) {
        f->known = v->known;
        return f;
    }
    emit_reshape_to(c, f, v);
    return same_as(f);
}

void emit_scatter_nd(Import *c, Node *n)
{
    Value *x = n->in[0], *ids = n->in[1], *u = n->in[2], *y = n->out[0];
    const char *how = attr_text(n, "reduction", "none");
    int q = ids->shape.rank, depth = (int)ids->shape.dim[q - 1];
    int64_t rows = 1;
    const char *row[] = {"r", "0"}, *at[IMPORT_MAX_RANK], *hit = NULL;

    for (int i = 0; i < q - 1; i++)
        rows *= ids->shape.dim[i];
    Shape is = {2, {rows, depth}}, us = {1, {rows}};
    for (int i = depth; i < x->shape.rank; i++)
        us.dim[us.rank++] = x->shape.dim[i];
    ids = columns_from_front(c, ids, x->shape.dim, depth);
    ids = flat_rows(c, ids, q - 1, is);
    u = flat_rows(c, u, q - 1, us);
    const char *range =
        arena_printf(c->arena, "r in 0..%s", size_text(c, rows));
    bool none = !strcmp(how, "none");
    Shape ws = {depth, {0}};
    for (int i = 0; i < depth; i++)
        ws.dim[i] = x->shape.dim[i];
    Value *which = between(c, y, "from", OT_INT32, ws);
    Stmt *s = stmt_new(c, none ? which : y);
    for (int i = 0; i < depth; i++) {
        row[1] = arena_printf(c->arena, "%d", i);
        const char *id = read_at(c, s, ids, row);
        hit = arena_printf(c->arena, "%s%s%s == %s", hit ? hit : "",
                           hit ? " && " : "", id, index_names[i]);
    }
    stmt_left(c, s, index_names);
    at[0] = "r";
    for (int i = depth; i < x->shape.rank; i++)
        at[1 + i - depth] = index_names[i];
    if (!none) {
        const char *old = read_at(c, s, x, index_names);
        combine(c, n, s, range, hit, old, read_at(c, s, u, at));
        return;
    }
    stmt_text(c, s, BIND_ATOM, "max(%s) (%s ? r : -1)", range, hit);
    s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    const char *found = read_at(c, s, which, index_names);
    at[0] = found;
    const char *update = update_at(c, s, u, at);
    const char *old = read_at(c, s, x, index_names);
    stmt_text(c, s, BIND_COND, "%s >= 0 ? %s : %s", found, update, old);
}

void emit_one_hot(Import *c, Node *n)
{
    Value *ids = same_as(n->in[0]), *values = same_as(n->in[2]);
    Value *y = n->out[0];
    const char *at[IMPORT_MAX_RANK], *off, *on;
    int axis, k = 0;
    double depth = 1;

    in_scalar(n, 1, &depth);
    if (!axis_of(c, n, -1, y->shape.rank, &axis))
        return;
    if (onnx_is_float(ids->type)) {
        Value *whole = between(c, ids, "whole", OT_INT32, ids->shape);
        Stmt *s = stmt_new(c, whole);
        stmt_text(c, s, BIND_ATOM, "i32(%s)", arg(c, s, ids));
        ids = whole;
    }
    ids = from_front(c, ids, (int64_t)depth);
    for (int i = 0; i < y->shape.rank; i++)
        if (i != axis)
            at[k++] = index_names[i];
    Stmt *s = stmt_new(c, y);
    const char *zero[] = {"0"}, *one[] = {"1"};
    if (!values->known) {
        off = read_at(c, s, values, zero);
        on = read_at(c, s, values, one);
    } else {
        off = number_text(c, y->type, known_float(values->known, 0));
        on = number_text(c, y->type, known_float(values->known, 1));
    }
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_COND, "%s == %s ? %s : %s", read_at(c, s, ids, at),
              index_names[axis], on, off);
}
