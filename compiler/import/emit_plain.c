/* Elementwise operators. */
#include "import/emit.h"

#include <math.h>
#include <stdio.h>

/* $0, $1 ... of the table's text are the operands. */
void emit_text(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);
    Buf b = {0};
    bool call = strchr(n->info->text, '(') != NULL;

    for (const char *p = n->info->text; *p; p++) {
        if (*p != '$') {
            buf_putc(&b, *p);
            continue;
        }
        Value *v = n->in[*++p - '0'];
        buf_puts(&b, call || same_as(v)->known ? arg(c, s, v)
                                               : operand(c, s, v, BIND_UNARY));
    }
    s->text = buf_take(&b, c->arena);
    s->bind = call ? BIND_ATOM : BIND_UNARY;
}

/* Whether numbers may stand for the constants: the others have the shape. */
static bool literals_fit(const Node *n, int first)
{
    Shape s = {0};
    bool any = false;

    for (int i = first; i < n->n_in; i++) {
        Value *v = same_as(n->in[i]);
        if (v->known && known_uniform(v->known))
            continue;
        any = true;
        if (!shape_broadcast(&s, &v->shape, &s))
            return false;
    }
    return any && shape_same(&s, &n->out[0]->shape);
}

static const char *put(Import *c, Stmt *s, Value *v, Bind bind, bool literal)
{
    return literal ? operand(c, s, v, bind) : named(c, s, v);
}

static void binary(Import *c, Node *n, const char *op, Bind bind)
{
    bool fit = literals_fit(n, 0);
    Stmt *s = stmt_new(c, n->out[0]);
    Value *a = n->in[0], *b = n->in[1];
    bool turned = (*op == '+' || *op == '*') && same_as(a)->known &&
                  !(fit && known_uniform(same_as(a)->known));

    if (turned) /* x + bias, whichever way it came */
        a = n->in[1], b = n->in[0];
    const char *left = put(c, s, a, bind, fit);
    stmt_text(c, s, bind, "%s %s %s", left, op,
              put(c, s, b, bind + 1, fit));
    s->typed = (a->wide || b->wide) && !n->out[0]->wide;
}

/* A weight [in, out] that only this product reads, as [out, in]: it is
 * written so. */
static Value *as_linear(Import *c, Value *w)
{
    if (!w->known || !w->is_weight || w->uses != 1 || w->shape.rank != 2 ||
        w->known->splat || w->known->turned || !onnx_is_float(w->type) ||
        w->is_output)
        return NULL;
    /* turning takes a copy, which large networks are spared */
    if (c->turned > IMPORT_MAX_TURNED)
        return NULL;
    Value *v = value_new(c, w->name);
    Const *k = arena_new_of(c->arena, Const);

    *k = *w->known;
    k->turned = true;
    v->type = w->type;
    v->shape = (Shape){2, {w->shape.dim[1], w->shape.dim[0]}};
    v->known = k;
    v->is_weight = true;
    return v;
}

/* linear(x, w) + b is linear(x, w, b). */
static bool join_bias(Import *c, Node *n)
{
    for (int i = 0; i < 2 && !strcmp(n->op, "Add"); i++) {
        Value *v = same_as(n->in[i]), *b = same_as(n->in[!i]);
        int64_t last = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 0;
        if (!v->stmt || !v->stmt->linear || v->uses != 1 || v->is_output ||
            !b->known || b->shape.rank != 1 || b->shape.dim[0] != last ||
            b->type != v->type)
            continue;
        Stmt *s = stmt_new(c, n->out[0]);
        const char *x = arg(c, s, v->stmt->use[0]);
        const char *w = arg(c, s, v->stmt->use[1]);
        stmt_text(c, s, BIND_ATOM, "linear(%s, %s, %s)", x, w,
                  arg(c, s, b));
        return true;
    }
    return false;
}

/* x && true is x, spread out where the other is larger. */
static bool join_true(Import *c, Node *n)
{
    for (int i = 0; i < 2 && !strcmp(n->op, "And"); i++) {
        Value *t = same_as(n->in[i]), *x = same_as(n->in[!i]);
        Value *y = n->out[0];
        if (!t->known || !t->known->n || !known_uniform(t->known) ||
            !known_int(t->known, 0) || x->known)
            continue;
        if (shape_same(&x->shape, &y->shape)) {
            emit_same(c, y, x);
            return true;
        }
        Stmt *s = stmt_new(c, y);
        stmt_left(c, s, index_names);
        stmt_text(c, s, BIND_ATOM, "%s",
                  reading(c, s, x, index_names, &y->shape));
        return true;
    }
    return false;
}

void emit_binary(Import *c, Node *n)
{
    static const struct {
        const char *name, *op;
        Bind bind;
    } ops[] = {
        {"Add", "+", BIND_ADD},     {"Sub", "-", BIND_ADD},
        {"Mul", "*", BIND_MUL},     {"Equal", "==", BIND_CMP},
        {"Greater", ">", BIND_CMP}, {"GreaterOrEqual", ">=", BIND_CMP},
        {"Less", "<", BIND_CMP},    {"LessOrEqual", "<=", BIND_CMP},
        {"And", "&&", BIND_AND},    {"Or", "||", BIND_OR},
        {"Xor", "!=", BIND_CMP},
    };

    if (join_bias(c, n) || join_true(c, n))
        return;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, n->op)) {
            /* comparisons do not chain */
            Bind bind = ops[i].bind;
            if (bind != BIND_CMP) {
                binary(c, n, ops[i].op, bind);
                return;
            }
            bool fit = literals_fit(n, 0);
            Stmt *s = stmt_new(c, n->out[0]);
            stmt_text(c, s, bind, "%s %s %s",
                      put(c, s, n->in[0], BIND_ADD, fit), ops[i].op,
                      put(c, s, n->in[1], BIND_ADD, fit));
            return;
        }
}

/* Sum, Max, Min, Add of any number. */
void emit_variadic(Import *c, Node *n)
{
    bool sum = !strcmp(n->op, "Sum"), fit = literals_fit(n, 0);
    const char *f = strcmp(n->op, "Max") ? "min" : "max";

    if (n->n_in == 1) {
        emit_same(c, n->out[0], n->in[0]);
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    const char *text = put(c, s, n->in[0], sum ? BIND_ADD : BIND_ANY, fit);
    for (int i = 1; i < n->n_in; i++)
        text = sum ? arena_printf(c->arena, "%s + %s", text,
                                  put(c, s, n->in[i], BIND_MUL, fit))
                   : arena_printf(c->arena, "%s(%s, %s)", f, text,
                                  put(c, s, n->in[i], BIND_ANY, fit));
    stmt_text(c, s, sum ? BIND_ADD : BIND_ATOM, "%s", text);
}

void emit_mean(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);
    const char *text = operand(c, s, n->in[0], BIND_ADD);

    for (int i = 1; i < n->n_in; i++)
        text = arena_printf(c->arena, "%s + %s", text,
                            operand(c, s, n->in[i], BIND_MUL));
    stmt_text(c, s, BIND_MUL, "(%s) / %d.0", text, n->n_in);
}

void emit_where(Import *c, Node *n)
{
    bool fit = literals_fit(n, 0);
    const Value *where = same_as(n->in[0]);

    if (where->known && where->known->n && known_uniform(where->known)) {
        Value *x = n->in[known_int(where->known, 0) ? 1 : 2];
        if (shape_same(&x->shape, &n->out[0]->shape)) {
            emit_same(c, n->out[0], x);
            return;
        }
    }
    Stmt *s = stmt_new(c, n->out[0]);

    stmt_text(
        c, s, BIND_COND, "%s ? %s : %s", put(c, s, n->in[0], BIND_OR, fit),
        put(c, s, n->in[1], BIND_OR, fit), put(c, s, n->in[2], BIND_OR, fit));
    /* two numbers alone are no tensor's type */
    s->typed = same_as(n->in[1])->known && same_as(n->in[2])->known;
}

/* x^2 is x x, x^0.5 the root. */
void emit_pow(Import *c, Node *n)
{
    double e = 0;
    bool fit = literals_fit(n, 0), whole = !onnx_is_float(n->in[0]->type);
    bool known = in_scalar(n, 1, &e) && fit;
    Stmt *s = stmt_new(c, n->out[0]);
    Value *x = n->in[0];

    if (known && e == 2) {
        const char *t = named(c, s, x);
        stmt_text(c, s, BIND_MUL, "%s * %s", t, t);
    } else if (known && e == 3) {
        const char *t = named(c, s, x);
        stmt_text(c, s, BIND_MUL, "%s * %s * %s", t, t, t);
    } else if (known && e == 0.5 && !whole) {
        stmt_text(c, s, BIND_ATOM, "sqrt(%s)", arg(c, s, x));
    } else if (known && e == -0.5 && !whole) {
        stmt_text(c, s, BIND_ATOM, "rsqrt(%s)", arg(c, s, x));
    } else {
        const char *base = put(c, s, x, BIND_ANY, fit);
        const char *power = put(c, s, n->in[1], BIND_ANY, fit);
        stmt_text(c, s, BIND_ATOM, whole ? "i32(pow(%s, %s))" : "pow(%s, %s)",
                  base, power);
    }
}

void emit_mod(Import *c, Node *n)
{
    bool whole = !onnx_is_float(n->in[0]->type);

    if (!attr_int(n, "fmod", 0) && whole) {
        binary(c, n, "%", BIND_MUL);
        return;
    }
    bool fit = literals_fit(n, 0);
    Stmt *s = stmt_new(c, n->out[0]);
    if (!attr_int(n, "fmod", 0)) {
        const char *x = arg(c, s, n->in[0]);
        stmt_text(c, s, BIND_ATOM, "floored_remainder(%s, %s)", x,
                  arg(c, s, n->in[1]));
        return;
    }
    const char *a = put(c, s, n->in[0], BIND_ANY, fit);
    const char *b = put(c, s, n->in[1], BIND_ANY, fit);
    stmt_text(c, s, BIND_ATOM, whole ? "i32(fmod(%s, %s))" : "fmod(%s, %s)", a,
              b);
}

/* ONNX's integer division cuts off, the language's goes down. */
void emit_div(Import *c, Node *n)
{
    OnnxType t = n->in[0]->type;
    bool same = t == OT_UINT8 || t == OT_UINT16 || onnx_is_float(t);

    if (same) {
        binary(c, n, "/", BIND_MUL);
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    const char *a = arg(c, s, n->in[0]), *b = arg(c, s, n->in[1]);
    stmt_text(c, s, BIND_ATOM, "truncated_quotient(%s, %s)", a, b);
}

static bool is_integer_product(const Value *x)
{
    return x->def && !x->known &&
           (!strcmp(x->def->op, "MatMulInteger") ||
            !strcmp(x->def->op, "ConvInteger"));
}

/* x is an integer product's sum, or that and a bias. */
static bool is_integer_sum(const Value *x)
{
    return is_integer_product(x) ||
           (x->def && !x->known && !strcmp(x->def->op, "Add") &&
            (is_integer_product(x->def->in[0]) ||
             is_integer_product(x->def->in[1])));
}

/* An integer product's sum that nodes multiply and nothing else reads. */
static bool is_wide_sum(const Import *c, const Value *x, const Value *y)
{
    if (x->type != OT_INT32 || !onnx_is_float(y->type) || y->is_output ||
        !is_integer_sum(x))
        return false;
    for (int i = 0; i < c->n_node; i++)
        for (int k = 0; k < c->node[i]->n_in; k++)
            if (c->node[i]->in[k] == y && !c->node[i]->dead &&
                strcmp(c->node[i]->op, "Mul"))
                return false;
    return true;
}

void emit_cast(Import *c, Node *n)
{
    Value *x = same_as(n->in[0]), *y = n->out[0];
    const char *from = type_text(c, x->type), *to = type_text(c, y->type);

    if (!strcmp(from, to)) {
        emit_same(c, y, x);
        return;
    }
    if (is_wide_sum(c, x, y)) {
        y->wide = true;
        to = "f32";
    }
    Stmt *s = stmt_new(c, y);
    if (y->type == OT_BOOL)
        stmt_text(c, s, BIND_CMP, "%s != 0",
                  x->known ? arg(c, s, x) : operand(c, s, x, BIND_ADD));
    else
        stmt_text(c, s, BIND_ATOM, "%s(%s)", to, arg(c, s, x));
}

void emit_clip(Import *c, Node *n)
{
    double low = attr_float(n, "min", -INFINITY);
    double high = attr_float(n, "max", INFINITY);
    Value *lo = node_in(n, 1), *hi = node_in(n, 2), *y = n->out[0];
    bool whole = !onnx_is_float(y->type);
    bool known = (!lo || value_scalar_is(lo, &low)) &&
                 (!hi || value_scalar_is(hi, &high));
    Stmt *s = stmt_new(c, y);

    if (known && low == 0 && high == 6 && !whole) {
        stmt_text(c, s, BIND_ATOM, "relu6(%s)", arg(c, s, n->in[0]));
    } else if (known && low == 0 && isinf(high)) {
        stmt_text(c, s, BIND_ATOM, "relu(%s)", arg(c, s, n->in[0]));
    } else if (known && !whole) {
        const char *text = arg(c, s, n->in[0]);
        text = arena_printf(c->arena, "clip(%s%s%s%s%s)", text,
                            isinf(low) ? "" : ", low = ",
                            isinf(low) ? "" : number_text(c, y->type, low),
                            isinf(high) ? "" : ", high = ",
                            isinf(high) ? "" : number_text(c, y->type, high));
        stmt_text(c, s, BIND_ATOM, "%s", text);
    } else {
        const char *text = arg(c, s, n->in[0]);
        if (lo)
            text = arena_printf(c->arena, "max(%s, %s)", text,
                                operand(c, s, lo, BIND_ANY));
        if (hi)
            text = arena_printf(c->arena, "min(%s, %s)", text,
                                operand(c, s, hi, BIND_ANY));
        stmt_text(c, s, BIND_ATOM, "%s", text);
    }
}

/* Those with attributes: name, op of the library, attribute, its name there,
 * the default in ONNX and there. */
void emit_activation(Import *c, Node *n)
{
    static const struct {
        const char *name, *call, *attr[2], *arg[2];
        double onnx[2], own[2];
    } known[] = {
        {"LeakyRelu",
         "leaky_relu",
         {"alpha", NULL},
         {"slope", NULL},
         {0.01, 0},
         {0.01, 0}},
        {"Elu", "elu", {"alpha", NULL}, {"alpha", NULL}, {1, 0}, {1, 0}},
        {"Celu", "celu", {"alpha", NULL}, {"alpha", NULL}, {1, 0}, {1, 0}},
        {"Selu",
         "selu",
         {"alpha", "gamma"},
         {"alpha", "gamma"},
         {1.67326319217681884765625, 1.05070102214813232421875},
         {1.67326319217681884765625, 1.05070102214813232421875}},
        {"HardSigmoid",
         "straight_sigmoid",
         {"alpha", "beta"},
         {"slope", "middle"},
         {0.2, 0.5},
         {0.2, 0.5}},
        {"ThresholdedRelu",
         "thresholded_relu",
         {"alpha", NULL},
         {"threshold", NULL},
         {1, 0},
         {1, 0}},
        {"Shrink",
         "shrink",
         {"lambd", "bias"},
         {"threshold", "bias"},
         {0.5, 0},
         {0.5, 0}},
        {"QuickGelu",
         "quick_gelu",
         {"alpha", NULL},
         {"slope", NULL},
         {1.702, 0},
         {1.702, 0}},
        {"Swish", "swish", {"alpha", NULL}, {"slope", NULL}, {1, 0}, {1, 0}},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, n->op))
            continue;
        double v[2];
        for (int k = 0; k < 2; k++)
            v[k] = known[i].attr[k]
                       ? attr_float(n, known[i].attr[k], known[i].onnx[k])
                       : 0;
        Stmt *s = stmt_new(c, n->out[0]);
        bool usual = i == 4 && fabs(v[0] - 1.0 / 6) < 1e-7 && v[1] == 0.5;
        const char *text = arena_printf(c->arena, "%s(%s",
                                        usual ? "hard_sigmoid" : known[i].call,
                                        arg(c, s, n->in[0]));
        if (!strcmp(n->op, "Swish") && v[0] == 1)
            text = arena_printf(c->arena, "silu(%s", arg(c, s, n->in[0]));
        for (int k = 0; k < 2 && !usual; k++)
            if (known[i].attr[k] && (float)v[k] != (float)known[i].own[k])
                text =
                    arena_printf(c->arena, "%s, %s = %s", text, known[i].arg[k],
                                 number_text(c, OT_FLOAT, v[k]));
        stmt_text(c, s, BIND_ATOM, "%s)", text);
        return;
    }
}

void emit_is_inf(Import *c, Node *n)
{
    bool up = attr_int(n, "detect_positive", 1) != 0;
    bool down = attr_int(n, "detect_negative", 1) != 0;
    Stmt *s = stmt_new(c, n->out[0]);

    if (up && down)
        stmt_text(c, s, BIND_CMP, "abs(%s) == inf", arg(c, s, n->in[0]));
    else
        stmt_text(c, s, BIND_CMP, "%s == %s", operand(c, s, n->in[0], BIND_ADD),
                  up     ? "inf"
                  : down ? "-inf"
                         : "0.0 - inf - inf");
}

void emit_is_nan(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);
    const char *t = named(c, s, n->in[0]);

    stmt_text(c, s, BIND_CMP, "%s != %s", t, t);
}

void emit_reciprocal(Import *c, Node *n)
{
    Stmt *s = stmt_new(c, n->out[0]);

    stmt_text(c, s, BIND_MUL, "1.0 / %s", operand(c, s, n->in[0], BIND_UNARY));
}

/* The slope may have fewer dimensions: it is spread as in a product. */
void emit_prelu(Import *c, Node *n)
{
    Value *slope = same_as(n->in[1]);
    double v;
    Stmt *s = stmt_new(c, n->out[0]);

    if (value_scalar_is(slope, &v))
        stmt_text(c, s, BIND_ATOM, "leaky_relu(%s, slope = %s)",
                  arg(c, s, n->in[0]), number_text(c, slope->type, v));
    else
        stmt_text(c, s, BIND_ATOM, "prelu(%s, %s)", arg(c, s, n->in[0]),
                  arg(c, s, slope));
}

/* Also com.microsoft's FastGelu and BiasGelu: a bias first. */
void emit_gelu(Import *c, Node *n)
{
    bool fast = !strcmp(n->op, "FastGelu") ||
                !strcmp(attr_text(n, "approximate", "none"), "tanh");
    Value *bias = node_in(n, 1);
    Stmt *s = stmt_new(c, n->out[0]);
    const char *x =
        bias ? operand(c, s, n->in[0], BIND_ADD) : arg(c, s, n->in[0]);

    if (bias)
        x = arena_printf(c->arena, "%s + %s", x, operand(c, s, bias, BIND_MUL));
    stmt_text(c, s, BIND_ATOM, "gelu(%s%s)", x,
              fast ? ", approximate = \"tanh\"" : "");
}

void emit_dropout(Import *c, Node *n)
{
    double training = 0, ratio = 0.5;
    bool none = node_in(n, 1) && in_scalar(n, 1, &ratio) && ratio == 0;

    if (node_in(n, 2) && (!in_scalar(n, 2, &training) || training) && !none) {
        import_error(c, n, "training_mode and ratio must be constants, and one "
                     "of them 0: nothing is drawn by chance");
        return;
    }
    emit_same(c, n->out[0], n->in[0]);
    if (node_out(n, 1) && n->out[1]->uses) {
        Stmt *s = stmt_new(c, n->out[1]);
        stmt_left(c, s, index_names);
        stmt_text(c, s, BIND_ATOM, "true");
    }
}

/* ---- products ----------------------------------------------------------- */

/* x if v is x with its last two dimensions exchanged. */
static Value *exchanged(Value *v)
{
    v = same_as(v);
    Node *n = v->known ? NULL : v->def;
    int count, r = v->shape.rank;

    if (!n || strcmp(n->op, "Transpose") || r < 2)
        return NULL;
    const int64_t *perm = attr_ints(n, "perm", &count);
    for (int i = 0; i < r; i++)
        if ((perm ? perm[i] : r - 1 - i) != (i < r - 2    ? i
                                             : i == r - 2 ? r - 1
                                                          : r - 2))
            return NULL;
    return n->in[0];
}

static void matmul_vector(Import *c, Node *n)
{
    Value *a = n->in[0], *b = n->in[1], *y = n->out[0];
    const char *left[IMPORT_MAX_RANK], *right[IMPORT_MAX_RANK];
    const char *const *at = index_names;
    bool row = a->shape.rank == 1, column = b->shape.rank == 1;
    Stmt *s = stmt_new(c, y);
    int batch = y->shape.rank - !row - !column;

    for (int i = 0; i + 2 < a->shape.rank || i + 2 < b->shape.rank; i++)
        left[i] = right[i] = at[i];
    if (!row)
        left[a->shape.rank - 2] = at[batch];
    left[a->shape.rank - 1] = "d";
    right[b->shape.rank - (column ? 1 : 2)] = "d";
    if (!column)
        right[b->shape.rank - 1] = at[y->shape.rank - 1];
    stmt_left(c, s, at);
    const char *x = read_at(c, s, a, left), *w = read_at(c, s, b, right);
    stmt_text(c, s, BIND_ANY, "sum(d) %s * %s", x, w);
}

static Value *turned_by(Import *c, Value *v, const int64_t *perm)
{
    Shape s = v->shape;

    for (int i = 0; i < s.rank; i++)
        s.dim[i] = v->shape.dim[perm[i]];
    Value *to = between(c, v, "turned", v->type, s);
    Stmt *st = stmt_new(c, to);
    stmt_text(c, st, BIND_ATOM, "transpose(%s, perm = %s)", arg(c, st, v),
              list_text(c, perm, s.rank));
    return to;
}

void emit_matmul(Import *c, Node *n)
{
    Value *a = n->in[0], *b = n->in[1];
    double alpha = attr_float(n, "alpha", 1);
    bool ta = attr_int(n, "transA", 0) != 0, tb = attr_int(n, "transB", 0) != 0;

    if (a->shape.rank == 1 || b->shape.rank == 1) {
        matmul_vector(c, n);
        return;
    }
    Value *w = tb ? b : exchanged(b);
    if (!w)
        w = as_linear(c, b);
    int64_t perm[IMPORT_MAX_RANK];
    if (batch_is_turned(n, false, a->shape.rank, perm))
        a = turned_by(c, a, perm);
    if (batch_is_turned(n, true, b->shape.rank, perm))
        b = turned_by(c, b, perm);
    Stmt *s = stmt_new(c, n->out[0]);
    const char *left = arg(c, s, a), *text;
    if (ta)
        left = arena_printf(c->arena, "transposed(%s)", left);
    if (w && w->shape.rank == 2) {
        text = arena_printf(c->arena, "linear(%s, %s)", left, arg(c, s, w));
        s->linear = alpha == 1 && !ta;
    } else if (tb)
        text = arena_printf(c->arena, "matmul(%s, transposed(%s))", left,
                            arg(c, s, b));
    else
        text = arena_printf(c->arena, "matmul(%s, %s)", left, arg(c, s, b));
    if (alpha != 1)
        stmt_text(c, s, BIND_MUL, "%s * %s", text,
                  number_text(c, OT_FLOAT, alpha));
    else
        stmt_text(c, s, BIND_ATOM, "%s", text);
}

void emit_gemm(Import *c, Node *n)
{
    Value *a = n->in[0], *b = n->in[1], *bias = node_in(n, 2);
    double alpha = attr_float(n, "alpha", 1), beta = attr_float(n, "beta", 1);
    bool ta = attr_int(n, "transA", 0) != 0, tb = attr_int(n, "transB", 0) != 0;
    Stmt *s = stmt_new(c, n->out[0]);
    const char *x = arg(c, s, a), *w, *text;
    Value *turned = tb ? NULL : exchanged(b);

    if (ta)
        x = arena_printf(c->arena, "transpose(%s, perm = [1, 0])", x);
    if (!tb && !turned)
        turned = as_linear(c, b);
    if (turned)
        tb = true, b = turned;
    w = arg(c, s, b);
    if (beta == 0)
        bias = NULL;
    bool simple = bias && alpha == 1 && beta == 1;
    bool row = simple && bias->shape.rank == 1 &&
               bias->shape.dim[0] ==
                   n->out[0]->shape.dim[n->out[0]->shape.rank - 1];
    if (tb && row) {
        stmt_text(c, s, BIND_ATOM, "linear(%s, %s, %s)", x, w, arg(c, s, bias));
        return;
    }
    text =
        arena_printf(c->arena, tb ? "linear(%s, %s)" : "matmul(%s, %s)", x, w);
    if (alpha != 1)
        text = arena_printf(c->arena, "%s * %s",
                            number_text(c, OT_FLOAT, alpha), text);
    if (bias && beta != 1)
        text = arena_printf(c->arena, "%s + %s * %s", text,
                            number_text(c, OT_FLOAT, beta),
                            operand(c, s, bias, BIND_UNARY));
    else if (bias)
        text = arena_printf(c->arena, "%s + %s", text,
                            operand(c, s, bias, BIND_MUL));
    stmt_text(c, s,
              bias         ? BIND_ADD
              : alpha != 1 ? BIND_MUL
                           : BIND_ATOM,
              "%s", text);
}

void emit_einsum(Import *c, Node *n)
{
    Einsum e;
    char name[128][4];
    const char *at[IMPORT_MAX_RANK] = {0};
    Buf sum = {0}, text = {0};
    unsigned char done[128] = {0};
    Stmt *s = stmt_new(c, n->out[0]);

    if (!einsum_of(c, n, &e))
        return;
    for (int ch = 0; ch < 128; ch++) {
        const char *f = ch >= '0' && ch <= '9' ? "e%c" : "%c";
        snprintf(name[ch], sizeof name[ch], f, ch);
        if (ch >= 'A' && ch <= 'Z')
            snprintf(name[ch], sizeof name[ch], "%c%c", ch + 32, ch + 32);
    }
    for (int i = 0; e.out[i]; i++)
        at[i] = name[(int)e.out[i]];
    stmt_left(c, s, at);
    for (int i = 0; i < e.n; i++) {
        const char *in[IMPORT_MAX_RANK] = {0};
        for (int k = 0; e.in[i][k]; k++) {
            int ch = e.in[i][k];
            in[k] =
                n->in[i]->shape.dim[k] == 1 && e.size[ch] != 1 ? "0" : name[ch];
            if (!strchr(e.out, ch) && !done[ch]) {
                buf_printf(&sum, "%s%s in 0..%s", sum.len ? ", " : "", name[ch],
                           size_text(c, e.size[ch]));
                done[ch] = 1;
            }
        }
        buf_printf(&text, "%s%s", i ? " * " : "", read_at(c, s, n->in[i], in));
    }
    if (sum.len)
        stmt_text(c, s, BIND_ANY, "sum(%s) %s", buf_text(&sum),
                  buf_text(&text));
    else
        stmt_text(c, s, BIND_ANY, "%s", buf_text(&text));
    buf_free(&sum);
    buf_free(&text);
}
