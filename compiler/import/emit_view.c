/* Views: what moves elements and computes nothing. */
#include "import/emit.h"

#include <stdlib.h>

void emit_reshape(Import *c, Node *n)
{
    emit_reshape_to(c, n->out[0], n->in[0]);
}

/* The transpose that two after each other are. */
static Value *compose(Value *x, int64_t *perm)
{
    int64_t first[IMPORT_MAX_RANK], all[IMPORT_MAX_RANK];

    x = same_as(x);
    while (x->def && !x->known && !x->is_output &&
           !strcmp(x->def->op, "Transpose")) {
        int count, r = x->shape.rank;
        const int64_t *p = attr_ints(x->def, "perm", &count);
        for (int i = 0; i < r; i++)
            first[i] = p ? p[i] : r - 1 - i;
        for (int i = 0; i < r; i++)
            all[i] = first[perm[i]];
        memcpy(perm, all, sizeof all);
        x = same_as(x->def->in[0]);
    }
    return x;
}

void emit_transpose(Import *c, Node *n)
{
    int count, r = n->out[0]->shape.rank, last = -1;
    const int64_t *p = attr_ints(n, "perm", &count);
    int64_t perm[IMPORT_MAX_RANK] = {0};
    bool still = true, ordered = true;

    for (int i = 0; i < r; i++)
        perm[i] = p ? p[i] : r - 1 - i;
    Value *x = compose(n->in[0], perm);
    for (int i = 0; i < r; i++) {
        still = still && perm[i] == i;
        if (x->shape.dim[perm[i]] == 1)
            continue;
        ordered = ordered && perm[i] > last;
        last = (int)perm[i];
    }
    if (still) {
        emit_same(c, n->out[0], x);
    } else if (ordered) {
        emit_reshape_to(c, n->out[0], x);
    } else {
        Stmt *s = stmt_new(c, n->out[0]);
        Buf b = {0};
        for (int i = 0; i < r; i++)
            buf_printf(&b, "%s%lld", i ? ", " : "", (long long)perm[i]);
        stmt_text(c, s, BIND_ATOM, "transpose(%s, perm = [%s])", arg(c, s, x),
                  buf_text(&b));
        buf_free(&b);
    }
}

/* One row of weights and a tensor after it, as a class token stands before
 * patches: where the row ends is a condition, and what follows can still be
 * computed where it is read. */
static bool emit_row_before(Import *c, Node *n, int axis)
{
    Value *row = same_as(n->in[0]), *y = n->out[0];
    const char *at[IMPORT_MAX_RANK] = {0};

    if (row->def && !row->known && !strcmp(row->def->op, "Expand"))
        row = same_as(row->def->in[0]);
    if (n->n_in != 2 || !row->known || n->in[0]->shape.dim[axis] != 1 ||
        n->in[1]->shape.dim[axis] < 2 || !onnx_is_float(y->type))
        return false;
    Stmt *s = stmt_new(c, y);
    memcpy(at, index_names, sizeof at);
    at[axis] = arena_printf(c->arena, "%s - 1", index_names[axis]);
    const char *x = read_or(c, s, n->in[1], at, &y->shape, "0");
    at[axis] = "0";
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_COND, "%s == 0 ? %s : %s", index_names[axis],
              reading(c, s, row, at, &y->shape), x);
    return true;
}

void emit_concat(Import *c, Node *n)
{
    int axis;
    Buf b = {0};

    if (!axis_of(c, n, n->version < 4 ? 1 : 0, n->in[0]->shape.rank, &axis))
        return;
    if (n->n_in == 1) {
        emit_same(c, n->out[0], n->in[0]);
        return;
    }
    if (emit_row_before(c, n, axis))
        return;
    Stmt *s = stmt_new(c, n->out[0]);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i]->shape.dim[axis])
            buf_printf(&b, "%s, ", arg(c, s, n->in[i]));
    stmt_text(c, s, BIND_ATOM, "concat(%saxis = %d)", buf_text(&b), axis);
    buf_free(&b);
}

/* One part along an axis. */
static void take(Import *c, Value *out, Value *x, int axis, int64_t first,
                 int64_t count)
{
    Stmt *s;

    if (count == x->shape.dim[axis]) {
        emit_same(c, out, x);
        return;
    }
    s = stmt_new(c, out);
    const char *text =
        arena_printf(c->arena, "slice(%s, axis = %d", arg(c, s, x), axis);
    if (first)
        text =
            arena_printf(c->arena, "%s, first = %s", text, size_text(c, first));
    if (first + count != x->shape.dim[axis])
        text = arena_printf(c->arena, "%s, last = %s", text,
                            size_text(c, first + count));
    stmt_text(c, s, BIND_ATOM, "%s)", text);
}

void emit_split(Import *c, Node *n)
{
    Value *x = n->in[0];
    int axis;
    int64_t first = 0;
    bool equal = true;

    if (!axis_of(c, n, 0, x->shape.rank, &axis))
        return;
    for (int i = 0; i < n->n_out; i++)
        equal = equal && n->out[i] &&
                n->out[i]->shape.dim[axis] * n->n_out == x->shape.dim[axis];
    for (int i = 0; i < n->n_out; i++) {
        if (!n->out[i])
            return;
        int64_t count = n->out[i]->shape.dim[axis];
        if (n->out[i]->uses && equal && n->n_out > 1) {
            Stmt *s = stmt_new(c, n->out[i]);
            stmt_text(c, s, BIND_ATOM,
                      "split(%s, parts = %d, part = %d, "
                      "axis = %d)",
                      arg(c, s, x), n->n_out, i, axis);
        } else if (n->out[i]->uses) {
            take(c, n->out[i], x, axis, first, count);
        }
        first += count;
    }
}

void emit_slice(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0];
    SliceAxis a[IMPORT_MAX_RANK];
    const char *at[IMPORT_MAX_RANK] = {0};
    int cut = 0, axis = 0, r = x->shape.rank;

    if (!slice_of(c, n, a))
        return;
    for (int i = 0; i < r; i++)
        if (a[i].count != x->shape.dim[i] || a[i].step < 0)
            cut++, axis = i;
    if (!cut) {
        emit_same(c, y, x);
        return;
    }
    if (cut == 1 && a[axis].step == 1) {
        take(c, y, x, axis, a[axis].first, a[axis].count);
        return;
    }
    Stmt *s = stmt_new(c, y);
    for (int i = 0; i < r; i++) {
        at[i] = index_names[i];
        if (a[i].step != 1)
            at[i] = arena_printf(
                c->arena, a[i].step < 0 ? "%s - %s * %lld" : "%s + %s * %lld",
                size_text(c, a[i].first), at[i], (long long)llabs(a[i].step));
        else if (a[i].first)
            at[i] = arena_printf(c->arena, "%s + %s", size_text(c, a[i].first),
                                 at[i]);
    }
    stmt_left_reading(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

void emit_expand(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0];

    if (shape_same(&x->shape, &y->shape)) {
        emit_same(c, y, x);
        return;
    }
    Stmt *s = stmt_new(c, y);
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "%s", reading(c, s, x, index_names, &y->shape));
}

void emit_tile(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0];
    const char *at[IMPORT_MAX_RANK] = {0};

    if (shape_same(&x->shape, &y->shape)) {
        emit_same(c, y, x);
        return;
    }
    Stmt *s = stmt_new(c, y);
    for (int i = 0; i < x->shape.rank; i++)
        at[i] = x->shape.dim[i] == y->shape.dim[i] ? index_names[i]
                : x->shape.dim[i] == 1
                    ? "0"
                    : arena_printf(c->arena, "%s %% %s", index_names[i],
                                   size_text(c, x->shape.dim[i]));
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

/* ---- Pad ---------------------------------------------------------------- */

static const char *pad_index(Import *c, const char *mode, const char *i,
                             int64_t before, int64_t after, int64_t size)
{
    long long b = (long long)before, n = (long long)size;
    const char *at = before > 0   ? arena_printf(c->arena, "%s - %lld", i, b)
                     : before < 0 ? arena_printf(c->arena, "%s + %lld", i, -b)
                                  : i;

    if (!strcmp(mode, "edge"))
        return arena_printf(c->arena, "min(max(%s, 0), %lld)", at, n - 1);
    if (!strcmp(mode, "wrap"))
        return arena_printf(c->arena, "(%s) %% %lld", at, n);
    if (!strcmp(mode, "reflect") && n == 1)
        return "0";
    if (strcmp(mode, "reflect"))
        return at;
    /* a wave of period 2 (n - 1); that it ends at n - 1 is said for the
     * proof that nothing outside is read */
    if (before < n && after < n)
        return arena_printf(c->arena,
                            "max(min(min(max(%s, -(%s)), %lld - "
                            "max(%s, -(%s))), %lld), 0)",
                            at, at, 2 * (n - 1), at, at, n - 1);
    return arena_printf(c->arena,
                        "min(min((%s) %% %lld, (%lld - (%s)) %% %lld), %lld)",
                        at, 2 * (n - 1), 2 * (n - 1), at, 2 * (n - 1), n - 1);
}

void emit_pad(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0];
    const char *mode = attr_text(n, "mode", "constant");
    const char *at[IMPORT_MAX_RANK] = {0};
    int64_t before[IMPORT_MAX_RANK], after[IMPORT_MAX_RANK];
    double v = attr_float(n, "value", 0);
    int padded = 0, axis = 0;
    bool fill = !strcmp(mode, "constant");
    Value *with = node_in(n, 2);

    if (!pads_of(c, n, before, after))
        return;
    if (!fill && strcmp(mode, "edge") && strcmp(mode, "wrap") &&
        strcmp(mode, "reflect")) {
        import_error(c, n, "attribute 'mode': '%s' is not supported", mode);
        return;
    }
    for (int i = 0; i < x->shape.rank; i++)
        if (before[i] || after[i])
            padded++, axis = i;
    if (!padded) {
        emit_same(c, y, x);
        return;
    }
    with = with ? same_as(with) : NULL;
    bool known = !with || value_scalar_is(with, &v);
    Stmt *s = stmt_new(c, y);
    if (fill && padded == 1 && known && before[axis] >= 0 && after[axis] >= 0) {
        const char *text =
            arena_printf(c->arena, "pad(%s, axis = %d", arg(c, s, x), axis);
        if (before[axis])
            text = arena_printf(c->arena, "%s, before = %lld", text,
                                (long long)before[axis]);
        if (after[axis])
            text = arena_printf(c->arena, "%s, after = %lld", text,
                                (long long)after[axis]);
        if (v != 0)
            text = arena_printf(c->arena, "%s, value = %s", text,
                                number_text(c, x->type, v));
        stmt_text(c, s, BIND_ATOM, "%s)", text);
        return;
    }
    for (int i = 0; i < x->shape.rank; i++)
        at[i] = before[i] || after[i]
                    ? pad_index(c, mode, index_names[i], before[i], after[i],
                                x->shape.dim[i])
                    : index_names[i];
    stmt_left_reading(c, s, x, at);
    stmt_text(c, s, BIND_ATOM, "%s",
              fill ? read_or(c, s, x, at, &y->shape,
                             known ? number_text(c, x->type, v)
                                   : named(c, s, with))
                   : read_at(c, s, x, at));
}

/* ---- blocks of pixels --------------------------------------------------- */

void emit_depth_to_space(Import *c, Node *n)
{
    Value *y = n->out[0];
    long long b = attr_int(n, "blocksize", 1);
    long long depth = (long long)y->shape.dim[1];
    bool rows = !strcmp(attr_text(n, "mode", "DCR"), "CRD");
    Stmt *s = stmt_new(c, y);
    const char *at[] = {
        "i",
        rows ? arena_printf(c->arena,
                            "j * %lld + k %% %lld * %lld + l %% "
                            "%lld",
                            b * b, b, b, b)
             : arena_printf(c->arena,
                            "(k %% %lld * %lld + l %% %lld) * %lld "
                            "+ j",
                            b, b, b, depth),
        arena_printf(c->arena, "k / %lld", b),
        arena_printf(c->arena, "l / %lld", b),
    };

    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, n->in[0], at));
}

void emit_space_to_depth(Import *c, Node *n)
{
    Value *x = n->in[0];
    long long b = attr_int(n, "blocksize", 1);
    long long depth = (long long)x->shape.dim[1];
    bool rows = !strcmp(attr_text(n, "mode", "DCR"), "CRD");
    Stmt *s = stmt_new(c, n->out[0]);
    const char *at[] = {
        "i",
        rows ? arena_printf(c->arena, "j / %lld", b * b)
             : arena_printf(c->arena, "j %% %lld", depth),
        rows ? arena_printf(c->arena, "k * %lld + j / %lld %% %lld", b, b, b)
             : arena_printf(c->arena, "k * %lld + j / %lld", b, depth * b),
        rows ? arena_printf(c->arena, "l * %lld + j %% %lld", b, b)
             : arena_printf(c->arena, "l * %lld + j / %lld %% %lld", b,
                            depth, b),
    };

    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, at));
}

/* ---- from indices alone ------------------------------------------------- */

void emit_eye(Import *c, Node *n)
{
    long long k = attr_int(n, "k", 0);
    Stmt *s = stmt_new(c, n->out[0]);

    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_COND,
              n->out[0]->type == OT_BOOL ? "j - i == %lld"
                                         : "j - i == %lld ? 1 : 0",
              k);
}

void emit_range(Import *c, Node *n)
{
    OnnxType t = n->out[0]->type;
    double first = 0, step = 1;
    Stmt *s = stmt_new(c, n->out[0]);

    in_scalar(n, 0, &first);
    in_scalar(n, 2, &step);
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ADD, "%s + i * %s", number_text(c, t, first),
              step < 0 ? arena_printf(c->arena, "(%s)", number_text(c, t, step))
                       : number_text(c, t, step));
}

void emit_trilu(Import *c, Node *n)
{
    double k = 0;
    bool upper = attr_int(n, "upper", 1) != 0;
    const char *op = upper ? "upper_triangle" : "lower_triangle";

    if (node_in(n, 1) && !in_scalar(n, 1, &k)) {
        import_error(c, n, "operand 1, k, must be a constant");
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    if (k)
        stmt_text(c, s, BIND_ATOM, "%s(%s, k = %lld)", op, arg(c, s, n->in[0]),
                  (long long)k);
    else
        stmt_text(c, s, BIND_ATOM, "%s(%s)", op, arg(c, s, n->in[0]));
}

void emit_cumsum(Import *c, Node *n)
{
    double which = 0;
    int axis;
    bool out = attr_int(n, "exclusive", 0) != 0;
    bool back = attr_int(n, "reverse", 0) != 0;

    if (!in_scalar(n, 1, &which)) {
        import_error(c, n, "operand 1, the axis, must be a constant");
        return;
    }
    if (!axis_in(c, n, (int64_t)which, n->in[0]->shape.rank, &axis))
        return;
    Stmt *s = stmt_new(c, n->out[0]);
    stmt_text(c, s, BIND_ATOM, "cumulative_sum(%s, axis = %d%s%s)",
              arg(c, s, n->in[0]), axis, out ? ", exclusive = true" : "",
              back ? ", reverse = true" : "");
}
