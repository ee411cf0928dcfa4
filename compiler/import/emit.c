#include "import/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const index_names[IMPORT_MAX_RANK] = {"i", "j", "k", "l",
                                                  "m", "n", "o", "p"};
const char *const window_names[IMPORT_MAX_RANK] = {"r", "s", "t", "u",
                                                   "v", "w", "x", "y"};

/* ---- texts -------------------------------------------------------------- */

const char *type_text(const Import *c, OnnxType t)
{
    switch (t) {
    case OT_BOOL:
        return "bool";
    case OT_INT8:
        return "i8";
    case OT_UINT8:
        return "u8";
    case OT_FLOAT:
    case OT_DOUBLE:
        return c->float_type == OT_FLOAT ? c->type_name : "f32";
    case OT_FLOAT16:
        return c->float_type == OT_FLOAT16 ? c->type_name : "f16";
    case OT_BFLOAT16:
        return c->float_type == OT_BFLOAT16 ? c->type_name : "bf16";
    default:
        return "i32";
    }
}

/* The shortest that is the same number in the type. */
const char *number_text(Import *c, OnnxType t, double v)
{
    char text[64];
    bool single = onnx_is_float(t) && t != OT_DOUBLE;

    if (!onnx_is_float(t))
        return arena_printf(c->arena, "%lld", (long long)v);
    if (isinf(v))
        return v < 0 ? "-inf" : "inf";
    if (isnan(v))
        return "(inf - inf)";
    for (int digits = 6; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, v);
        sscanf(text, "%lf", &back);
        if (single ? (float)back == (float)v : back == v)
            break;
    }
    char *e = strchr(text, 'e');
    if (!e && !strchr(text, '.'))
        return arena_printf(c->arena, "%s.0", text);
    if (!e)
        return arena_strdup(c->arena, text);
    int power = 0;
    sscanf(e + 1, "%d", &power);
    *e = 0;
    return arena_printf(c->arena, "%se%d", text, power);
}

const char *size_text(Import *c, int64_t v)
{
    if (c->has_batch && v >= IMPORT_BATCH && v % IMPORT_BATCH == 0)
        return v == IMPORT_BATCH
                   ? c->batch_text
                   : arena_printf(c->arena, "%lld * %s",
                                  (long long)(v / IMPORT_BATCH), c->batch_text);
    return arena_printf(c->arena, "%lld", (long long)v);
}

const char *shape_text(Import *c, const Shape *s)
{
    Buf b = {0};

    buf_putc(&b, '[');
    for (int i = 0; i < s->rank; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", size_text(c, s->dim[i]));
    buf_putc(&b, ']');
    return buf_take(&b, c->arena);
}

const char *list_text(Import *c, const int64_t *v, int n)
{
    bool alike = true;
    Buf b = {0};

    for (int i = 1; i < n; i++)
        alike = alike && v[i] == v[0];
    if (alike && n)
        return arena_printf(c->arena, "%lld", (long long)v[0]);
    buf_putc(&b, '[');
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s%lld", i ? ", " : "", (long long)v[i]);
    buf_putc(&b, ']');
    return buf_take(&b, c->arena);
}

/* ---- statements --------------------------------------------------------- */

Value *same_as(Value *v)
{
    while (v && v->same)
        v = v->same;
    return v;
}

Stmt *stmt_new(Import *c, Value *out)
{
    Stmt *s = arena_new_of(c->arena, Stmt);

    s->out = out;
    out->stmt = s;
    VEC_PUSH(c->arena, c->stmt, c->n_stmt, c->cap_stmt) = s;
    return s;
}

void stmt_text(Import *c, Stmt *s, Bind bind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    s->text = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    s->bind = bind;
}

void stmt_left(Import *c, Stmt *s, const char *const *index)
{
    Buf b = {0};

    buf_putc(&b, '[');
    for (int i = 0; i < s->out->shape.rank; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", index[i]);
    buf_putc(&b, ']');
    s->left = buf_take(&b, c->arena);
    s->typed = s->shaped = true;
}

void stmt_left_reading(Import *c, Stmt *s, const Value *x,
                       const char *const *at)
{
    const Shape *y = &s->out->shape;
    const char *left[IMPORT_MAX_RANK] = {0};

    for (int k = 0; k < y->rank; k++) {
        left[k] = index_names[k];
        for (int i = 0; i < x->shape.rank; i++)
            if (!strcmp(at[i], index_names[k]) &&
                x->shape.dim[i] != y->dim[k])
                left[k] = arena_printf(c->arena, "%s in 0..%s", index_names[k],
                                       size_text(c, y->dim[k]));
    }
    stmt_left(c, s, left);
}

/* The number that stands for a constant; NULL where it is no number. */
static const char *literal(Import *c, Value *v, Bind bind)
{
    double x;

    if (!value_scalar_is(v, &x) || v->known->n < 1)
        return NULL;
    if (!onnx_is_float(v->type)) {
        int64_t whole = known_int(v->known, 0);
        if (whole < INT32_MIN || whole > INT32_MAX)
            import_error(c, v->def, "constant '%s' has %lld, which is no i32",
                         v->name, (long long)whole);
        x = (double)whole;
    }
    const char *text = number_text(c, v->type, x);
    return *text == '-' && bind > BIND_UNARY
               ? arena_printf(c->arena, "(%s)", text)
               : text;
}

/* ---- constants that count: position ids, ranges -------------------------- */

/* Integers that are first + sum of step[d] times index d. */
static bool counts(const Value *v, int64_t *first, int64_t *step)
{
    const Const *k = v->known;
    const Shape *s = &v->shape;
    int64_t stride = 1;

    if (!onnx_is_int(v->type) || k->splat || k->turned || k->n < 3)
        return false;
    *first = known_int(k, 0);
    for (int d = s->rank - 1; d >= 0; stride *= s->dim[d--])
        step[d] = s->dim[d] > 1 ? known_int(k, stride) - *first : 0;
    for (int64_t i = 0; i < k->n; i++) {
        int64_t x = *first, left = i;
        for (int d = s->rank - 1; d >= 0; left /= s->dim[d--])
            x += step[d] * (left % s->dim[d]);
        if (x != known_int(k, i) || x != (int32_t)x)
            return false;
    }
    return true;
}

/* first + the steps times their indices. */
static const char *counting_text(Import *c, const Value *v, int64_t first,
                                 const int64_t *step)
{
    const char *text = "";

    if (first)
        text = arena_printf(c->arena, "%lld", (long long)first);
    for (int d = 0; d < v->shape.rank; d++) {
        if (!step[d])
            continue;
        const char *sign = step[d] < 0 ? (*text ? " - " : "-")
                                       : (*text ? " + " : "");
        long long by = llabs((long long)step[d]);
        text = by == 1 ? arena_printf(c->arena, "%s%s%s", text, sign,
                                      index_names[d])
                       : arena_printf(c->arena, "%s%s%lld * %s", text, sign,
                                      by, index_names[d]);
    }
    return *text ? text : "0";
}

/* Such a constant, or one number throughout, as a statement right before s,
 * which reads it; else v. */
static Value *counted(Import *c, Stmt *s, Value *v)
{
    int64_t first, step[IMPORT_MAX_RANK];
    const char *text = NULL;

    if (v->known->splat && v->shape.rank && v->known->n)
        text = literal(c, v, BIND_ANY);
    else if (counts(v, &first, step))
        text = counting_text(c, v, first, step);
    if (!text)
        return v;
    Value *new = value_new(c, v->name);
    new->type = v->type;
    new->shape = v->shape;
    Stmt *own = stmt_new(c, new);
    stmt_left(c, own, index_names);
    stmt_text(c, own, BIND_ADD, "%s", text);
    int to = c->n_stmt - 1;
    for (; to > 0 && c->stmt[to] != s; to--)
        c->stmt[to] = c->stmt[to - 1];
    if (c->stmt[to] == s) {
        c->stmt[to + 1] = s;
        c->stmt[to] = own;
    }
    return v->same = new;
}

/* A weight has elements, and no size that a run decides. */
static void check_weight(Import *c, const Value *v)
{
    if (!v->known->n)
        import_error(c, v->def, "'%s' has no elements", v->name);
    for (int d = 0; d < v->shape.rank && c->has_batch; d++)
        if (v->shape.dim[d] >= IMPORT_BATCH && !known_uniform(v->known))
            import_error(c, v->def, "its contents depend on the batch, which "
                         "is not fixed; give it: --dim %s=N",
                         c->batch_name ? c->batch_name : "INPUT.0");
}

static const char *slot_of(Import *c, Stmt *s, Value *v, Bind bind)
{
    int k = 0;

    v = same_as(v);
    if (v->known && !v->is_param)
        v = counted(c, s, v);
    while (k < s->n_use && s->use[k] != v)
        k++;
    if (k == s->n_use)
        VEC_PUSH(c->arena, s->use, s->n_use, s->cap_use) = v;
    if (k > SLOT_MOST - SLOT_BASE) {
        import_error(c, v->def, "too many operands");
        k = 0;
    }
    if (v->known && !v->is_param) {
        check_weight(c, v);
        v->is_param = true;
    }
    return arena_printf(c->arena, "%c%c%c%c", SLOT, k / SLOT_BASE + 1,
                        k % SLOT_BASE + 1, bind + 1);
}

const char *operand(Import *c, Stmt *s, Value *v, Bind bind)
{
    v = same_as(v);
    const char *text =
        shape_count(&v->shape) == 1 || (v->known && known_uniform(v->known))
            ? literal(c, v, bind)
            : NULL;

    return text ? text : slot_of(c, s, v, bind);
}

const char *arg(Import *c, Stmt *s, Value *v)
{
    v = same_as(v);
    return v->shape.rank == 0 && v->known ? operand(c, s, v, BIND_ANY)
                                          : slot_of(c, s, v, BIND_ANY);
}

const char *named(Import *c, Stmt *s, Value *v)
{
    return slot_of(c, s, v, BIND_NAME);
}

const char *read_at_most(Import *c, Stmt *s, Value *v, const char *const *index,
                         int n)
{
    Buf b = {0};

    v = same_as(v);
    for (int i = 0; i < v->shape.rank; i++)
        if (i >= n || !index[i]) {
            import_error(c, c->emitted, "an operand has rank %d, and not %d",
                         v->shape.rank, i);
            return "0";
        }
    if (v->known && known_uniform(v->known) && v->known->n)
        return literal(c, v, BIND_ATOM);
    if (!v->shape.rank)
        return named(c, s, v);
    buf_printf(&b, "%s[", named(c, s, v));
    for (int i = 0; i < v->shape.rank; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", index[i]);
    buf_putc(&b, ']');
    return buf_take(&b, c->arena);
}

/* Where the indices are within v, whose elements are alike: NULL if always. */
static const char *within(Import *c, const Value *v, const char *const *at,
                          const Shape *over)
{
    Buf b = {0};

    for (int i = 0; i < v->shape.rank && at[i]; i++) {
        const char *size = size_text(c, v->shape.dim[i]);
        bool alone = !strcmp(at[i], "0") || !strcmp(at[i], "r"), more = false;
        for (int k = 0; k < over->rank; k++)
            if (!strcmp(at[i], index_names[k])) {
                alone = true;
                more = over->dim[k] > v->shape.dim[i];
            }
        if (!alone)
            buf_printf(&b, "%s0 <= %s && %s < %s", b.len ? " && " : "", at[i],
                       at[i], size);
        else if (more)
            buf_printf(&b, "%s%s < %s", b.len ? " && " : "", at[i], size);
    }
    return b.len ? buf_take(&b, c->arena) : NULL;
}

const char *read_or_most(Import *c, Stmt *s, Value *v, const char *const *at,
                         int n, const Shape *over, const char *otherwise)
{
    v = same_as(v);
    int errors = c->errors;
    const char *read = read_at_most(c, s, v, at, n), *where;

    if (c->errors > errors || !v->known || !known_uniform(v->known) ||
        !v->known->n)
        return arena_printf(c->arena, "%s or %s", read, otherwise);
    where = within(c, v, at, over);
    return where ? arena_printf(c->arena, "(%s ? %s : %s)", where, read,
                                otherwise)
                 : read;
}

static void spread_index(const Value *v, const char *const *index,
                         const Shape *to, const char **at)
{
    int rank = v->shape.rank;

    for (int i = 0; i < rank; i++) {
        int k = to->rank - rank + i;
        at[i] = k < 0                                     ? NULL
                : v->shape.dim[i] == 1 && to->dim[k] != 1 ? "0"
                                                          : index[k];
    }
}

const char *reading(Import *c, Stmt *s, Value *v, const char *const *index,
                    const Shape *to)
{
    const char *at[IMPORT_MAX_RANK] = {0};

    spread_index(v, index, to, at);
    return read_at(c, s, v, at);
}

const char *reading_or(Import *c, Stmt *s, Value *v, const char *const *index,
                       const Shape *to, const char *otherwise)
{
    const char *at[IMPORT_MAX_RANK] = {0};

    spread_index(v, index, to, at);
    return read_or(c, s, v, at, to, otherwise);
}

Value *between(Import *c, const Value *like, const char *suffix, OnnxType t,
               Shape s)
{
    Value *v =
        value_new(c, arena_printf(c->arena, "%s_%s", like->name, suffix));

    v->type = t;
    v->shape = s;
    return v;
}

void put_type(Import *c, Value *to, Value *from)
{
    Stmt *s = stmt_new(c, to);

    stmt_text(c, s, BIND_ATOM, "%s(%s)", type_text(c, to->type),
              arg(c, s, from));
}

Value *in_type(Import *c, Value *v, OnnxType t)
{
    if (v->type == t)
        return v;
    Value *to = between(c, v, "wide", t, v->shape);
    put_type(c, to, v);
    return to;
}

Value *constant(Import *c, const char *name, OnnxType t, Shape s,
                const double *x)
{
    Value *v = value_new(c, name);
    Const *k = known_new(c, t, shape_count(&s), false);

    for (int64_t i = 0; i < k->n; i++)
        known_set_float(k, i, x[i]);
    v->type = t;
    v->shape = s;
    v->known = k;
    return v;
}

/* ---- views that change nothing ------------------------------------------ */

void emit_same(Import *c, Value *out, Value *x)
{
    if (!out->is_output) {
        out->same = x;
        return;
    }
    Stmt *s = stmt_new(c, out);
    if (x->known || same_as(x)->is_input)
        s->typed = s->shaped = true;
    stmt_text(c, s, BIND_ATOM, "%s", operand(c, s, x, BIND_ANY));
}

void emit_alias(Import *c, Node *n)
{
    emit_same(c, n->out[0], n->in[0]);
    if (node_out(n, 1) && n->out[1]->uses)
        import_error(c, n, "its result 1 is not supported");
}

/* A reshape of a reshape is one of the first operand. */
static Value *before_reshapes(Value *x)
{
    x = same_as(x);
    while (x->def && !x->known && !x->is_output &&
           (!strcmp(x->def->op, "Reshape") || !strcmp(x->def->op, "Flatten") ||
            !strcmp(x->def->op, "Squeeze") ||
            !strcmp(x->def->op, "Unsqueeze")) &&
           same_as(x->def->in[0])->shape.rank > 0)
        x = same_as(x->def->in[0]);
    return x;
}

void emit_reshape_to(Import *c, Value *out, Value *x)
{
    const char *zero[IMPORT_MAX_RANK] = {0};

    x = before_reshapes(x);
    if (shape_same(&x->shape, &out->shape)) {
        emit_same(c, out, x);
        return;
    }
    Stmt *s = stmt_new(c, out);
    for (int i = 0; i < IMPORT_MAX_RANK; i++)
        zero[i] = "0";
    if (!x->shape.rank || !out->shape.rank) {
        stmt_left(c, s, index_names);
        stmt_text(c, s, BIND_ATOM, "%s", read_at(c, s, x, zero));
    } else {
        stmt_text(c, s, BIND_ATOM, "reshape(%s, shape = %s)", arg(c, s, x),
                  shape_text(c, &out->shape));
    }
}

void emit_constant(Import *c, Node *n)
{
    import_error(c, n, "a constant of %lld elements",
                 (long long)shape_count(&n->out[0]->shape));
}

/* ---- all nodes ---------------------------------------------------------- */

static bool all_known(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->uses && !n->out[i]->known)
            return false;
    return true;
}

/* Statements that no output needs are left out. */
static void drop_unused(Import *c)
{
    int n = 0;

    for (int i = 0; i < c->n_output; i++)
        c->output[i]->stmt->needed = true;
    for (int i = c->n_stmt - 1; i >= 0; i--)
        for (int k = 0; c->stmt[i]->needed && k < c->stmt[i]->n_use; k++)
            if (c->stmt[i]->use[k]->stmt)
                c->stmt[i]->use[k]->stmt->needed = true;
    for (int i = 0; i < c->n_stmt; i++)
        if (c->stmt[i]->needed)
            c->stmt[n++] = c->stmt[i];
    c->n_stmt = n;
}

/* A name for a size or a type that no input or output has. */
static const char *spare_name(const Import *c, const char *const *choice)
{
    for (; choice[1]; choice++) {
        bool taken = false;
        for (int i = 0; i < c->n_input; i++)
            taken = taken || !strcmp(c->input[i]->name, *choice);
        for (int i = 0; i < c->n_output; i++)
            taken = taken || !strcmp(c->output[i]->name, *choice);
        if (!taken)
            break;
    }
    return *choice;
}

void import_emit(Import *c)
{
    static const char *const sizes[] = {"B", "N", "batch", "the_batch", NULL};
    static const char *const types[] = {"E", "F", "elem", "the_type", NULL};

    for (int i = 0; i < c->n_node; i++) {
        const Value *w = c->node[i]->n_in > 1 ? c->node[i]->in[1] : NULL;
        if (w && w->is_weight && w->shape.rank == 2 &&
            (!strcmp(c->node[i]->op, "MatMul") ||
             !strcmp(c->node[i]->op, "Gemm")))
            c->turned += w->known->n * onnx_type_size(w->type);
    }
    c->batch_text = spare_name(c, sizes);
    c->type_name = spare_name(c, types);
    for (int i = 0; i < c->n_node && !c->fatal; i++) {
        Node *n = c->node[i];
        if (!n->dead && !all_known(n))
            c->emitted = n, n->info->emit(c, n);
    }
    c->emitted = NULL;
    for (int i = 0; i < c->n_output; i++) {
        Value *v = c->output[i];
        if (v->stmt)
            continue;
        Value *copy = value_new(c, v->name);
        copy->type = v->type;
        copy->shape = v->shape;
        copy->is_output = true;
        v->is_output = false;
        emit_same(c, copy, v);
        c->output[i] = copy;
    }
    if (!c->errors)
        drop_unused(c);
}
