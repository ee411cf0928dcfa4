/* LSTM, GRU and RNN, written out over time. */
#include "import/emit.h"

#include <strings.h>

enum { MAX_STEPS = 4096 };

typedef struct Run {
    Node *n;
    char kind; /* L G R */
    int64_t steps, batch, hidden;
    int dirs;
    Value *x, *w, *r, *b;
    Value *lens;            /* [B]: steps of each sequence, or NULL: all */
    bool own;               /* activations of its own, a bound, tied gates */
    const char *act[2][3];  /* then of each direction: "f = "Relu", .." */
} Run;

static Value *zeros(Import *c, const Run *u, const char *suffix)
{
    Shape s = {2, {u->batch, u->hidden}};
    Value *v = between(c, u->n->in[0], suffix, u->x->type, s);
    Stmt *st = stmt_new(c, v);

    st->typed = st->shaped = true;
    stmt_text(c, st, BIND_ATOM, "0");
    return v;
}

/* The state before the first step: operand i's direction d, or zeros. */
static Value *initial(Import *c, const Run *u, int i, int d)
{
    Value *from = node_in(u->n, i);
    bool batch_first = attr_int(u->n, "layout", 0) != 0;
    const char *dir = arena_printf(c->arena, "%d", d);

    if (!from)
        return zeros(c, u, i == 5 ? "h0" : "c0");
    Shape s = {2, {u->batch, u->hidden}};
    Value *v = between(c, u->n->in[0], i == 5 ? "h0" : "c0", u->x->type, s);
    Stmt *st = stmt_new(c, v);
    const char *at[] = {batch_first ? "i" : dir, batch_first ? dir : "i", "j"};
    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, from, at));
    return v;
}

static Value *step_value(Import *c, const Run *u, const char *what, int d,
                         int64_t t, int64_t width)
{
    Shape s = {2, {u->batch, width}};

    return between(c, u->n->in[0],
                   arena_printf(c->arena, "%s%s%lld", what, d ? "_back_" : "_",
                                (long long)t),
                   u->x->type, s);
}

static const char *direction(Import *c, int d)
{
    return d ? arena_printf(c->arena, ", dir = %d", d) : "";
}

static const char *peepholes(Import *c, const Run *u, Stmt *s, int d)
{
    Value *p = node_in(u->n, 7);

    return p ? arena_printf(c->arena, ", %s%s", arg(c, s, p), direction(c, d))
             : "";
}

/* The library's ops that take activations are called so. */
static const char *with(const Run *u)
{
    return u->own ? "_with" : "";
}

static void lstm_step(Import *c, const Run *u, Value *z, int d, int64_t t,
                      Value **h, Value **cell)
{
    Value *a = step_value(c, u, "gates", d, t, 4 * u->hidden);
    Value *next = step_value(c, u, "cell", d, t, u->hidden);
    Value *state = step_value(c, u, "state", d, t, u->hidden);
    Stmt *s = stmt_new(c, a);
    const char *in = arg(c, s, z), *old = arg(c, s, *h);

    stmt_text(c, s, BIND_ATOM, "lstm_gates(%s, %s, %s, step = %lld%s)", in, old,
              arg(c, s, u->r), (long long)t, direction(c, d));
    s->closed = true;
    s = stmt_new(c, next);
    in = arg(c, s, a);
    old = arg(c, s, *cell);
    const char *more = "";
    if (u->own)
        more = arena_printf(
            c->arena, "%s%s%s", u->act[d][0], u->act[d][1],
            attr_int(u->n, "input_forget", 0) ? ", tied = true" : "");
    stmt_text(c, s, BIND_ATOM, "lstm_cell%s(%s, %s%s%s)", with(u), in, old,
              peepholes(c, u, s, d), more);
    s->closed = true;
    s = stmt_new(c, state);
    in = arg(c, s, a);
    old = arg(c, s, next);
    more = u->own ? arena_printf(c->arena, "%s%s", u->act[d][0],
                                 u->act[d][2]) : "";
    stmt_text(c, s, BIND_ATOM, "lstm_state%s(%s, %s%s%s)", with(u), in, old,
              peepholes(c, u, s, d), more);
    s->closed = true;
    *h = state;
    *cell = next;
}

static void gru_step(Import *c, const Run *u, Value *z, int d, int64_t t,
                     Value **h)
{
    Value *a = step_value(c, u, "gates", d, t, 2 * u->hidden);
    Value *state = step_value(c, u, "state", d, t, u->hidden);
    bool linear = attr_int(u->n, "linear_before_reset", 0) != 0;
    Stmt *s = stmt_new(c, a);
    const char *in = arg(c, s, z), *old = arg(c, s, *h);
    const char *r = arg(c, s, u->r);
    const char *b = u->b ? arena_printf(c->arena, ", %s", arg(c, s, u->b)) : "";

    stmt_text(c, s, BIND_ATOM, "gru_gates%s(%s, %s, %s%s, step = %lld%s%s)",
              with(u), in, old, r, b, (long long)t, direction(c, d),
              u->own ? u->act[d][0] : "");
    s->closed = true;
    s = stmt_new(c, state);
    in = arg(c, s, z);
    const char *gate = arg(c, s, a);
    old = arg(c, s, *h);
    r = arg(c, s, u->r);
    b = u->b ? arena_printf(c->arena, ", %s", arg(c, s, u->b)) : "";
    stmt_text(c, s, BIND_ATOM,
              "gru_state%s(%s, %s, %s, %s%s, step = %lld%s%s%s)", with(u), in,
              gate, old, r, b, (long long)t, direction(c, d),
              linear ? ", linear = true" : "", u->own ? u->act[d][1] : "");
    s->closed = true;
    *h = state;
}

static void rnn_step(Import *c, const Run *u, Value *z, int d, int64_t t,
                     Value **h)
{
    Value *state = step_value(c, u, "state", d, t, u->hidden);
    Stmt *s = stmt_new(c, state);
    const char *in = arg(c, s, z), *old = arg(c, s, *h);

    stmt_text(c, s, BIND_ATOM, "rnn_state%s(%s, %s, %s, step = %lld%s%s)",
              with(u), in, old, arg(c, s, u->r), (long long)t, direction(c, d),
              u->own ? u->act[d][0] : "");
    s->closed = true;
    *h = state;
}

/* x at step t, `past` where the sequence has ended. */
static Value *lasting(Import *c, const Run *u, Value *x, Value *past,
                      const char *what, int d, int64_t t)
{
    Value *v = step_value(c, u, what, d, t, u->hidden);
    Stmt *s = stmt_new(c, v);
    const char *a = arg(c, s, x), *b = arg(c, s, past);

    stmt_text(c, s, BIND_ATOM, "within_length(%s, %s, %s, step = %lld)", a, b,
              arg(c, s, u->lens), (long long)t);
    s->closed = true;
    return v;
}

/* One direction; states[t] is what the result shows of step t, 0 where the
 * sequence has ended. */
static void run_direction(Import *c, const Run *u, int d, bool backward,
                          Value **states, Value **last, Value **last_cell)
{
    int64_t gates = u->kind == 'L' ? 4 : u->kind == 'G' ? 3 : 1;
    Shape zs = {3, {u->steps, u->batch, gates * u->hidden}};
    Value *z =
        between(c, u->n->in[0], d ? "input_back" : "input", u->x->type, zs);
    Stmt *s = stmt_new(c, z);
    const char *x = arg(c, s, u->x), *w = arg(c, s, u->w);
    const char *b = u->b ? arena_printf(c->arena, ", %s", arg(c, s, u->b)) : "";

    s->closed = true;
    stmt_text(c, s, BIND_ATOM, "recurrent_input(%s, %s%s%s%s)", x, w, b,
              direction(c, d), u->b && u->kind != 'G' ? "" : ", both = false");
    Value *h = initial(c, u, 5, d);
    Value *cell = u->kind == 'L' ? initial(c, u, 6, d) : NULL;
    Value *nothing = u->lens ? zeros(c, u, "ended") : NULL;
    for (int64_t k = 0; k < u->steps; k++) {
        int64_t t = backward ? u->steps - 1 - k : k;
        Value *old_h = h, *old_cell = cell;
        if (u->kind == 'L')
            lstm_step(c, u, z, d, t, &h, &cell);
        else if (u->kind == 'G')
            gru_step(c, u, z, d, t, &h);
        else
            rnn_step(c, u, z, d, t, &h);
        states[t] = h;
        if (!u->lens)
            continue;
        states[t] = lasting(c, u, h, nothing, "shown", d, t);
        h = lasting(c, u, h, old_h, "kept", d, t);
        if (cell)
            cell = lasting(c, u, cell, old_cell, "kept_cell", d, t);
    }
    *last = h;
    *last_cell = cell;
}

/* Values [B, H] as one tensor, in the order of the result's dimensions. */
static void gather_values(Import *c, Value *out, Value **v, int n, Shape as)
{
    Value *rows =
        between(c, out, "rows", out->type,
                (Shape){2, {n * v[0]->shape.dim[0], v[0]->shape.dim[1]}});
    Buf b = {0};

    if (n == 1) {
        rows = v[0];
    } else {
        Stmt *s = stmt_new(c, rows);
        for (int i = 0; i < n; i++)
            buf_printf(&b, "%s, ", arg(c, s, v[i]));
        stmt_text(c, s, BIND_ATOM, "concat(%saxis = 0)", buf_text(&b));
        buf_free(&b);
    }
    if (shape_same(&as, &out->shape)) {
        emit_reshape_to(c, out, rows);
        return;
    }
    /* batch first: [.., B, H] to the result's order */
    Value *flat = between(c, out, "steps", out->type, as);
    emit_reshape_to(c, flat, rows);
    Stmt *s = stmt_new(c, out);
    stmt_text(c, s, BIND_ATOM, "transpose(%s, perm = %s)", arg(c, s, flat),
              as.rank == 4 ? "[2, 0, 1, 3]" : "[1, 0, 2]");
}

typedef struct Activation {
    const char *name;
    int numbers;             /* of alpha and beta, those it has */
    double alpha, beta;      /* where the node does not say */
} Activation;

static const Activation activations[] = {
    {"Sigmoid", 0, 0, 0},     {"Tanh", 0, 0, 0},
    {"Relu", 0, 0, 0},        {"Affine", 2, 1, 0},
    {"LeakyRelu", 1, 0.01, 0}, {"ThresholdedRelu", 1, 1, 0},
    {"ScaledTanh", 2, 1, 1},  {"HardSigmoid", 2, 0.2, 0.5},
    {"Elu", 1, 1, 0},         {"Softsign", 0, 0, 0},
    {"Softplus", 0, 0, 0},    {0}};

static const Activation *activation_of(const char *name)
{
    for (const Activation *a = activations; a->name; a++)
        if (!strcasecmp(a->name, name))
            return a;
    return NULL;
}

/* The next number of a list that all activations share. */
static double next_number(const Node *n, const char *list, int *at,
                          double otherwise)
{
    const NodeAttr *a = attr_find(n, list);

    return a && *at < a->n && a->kind == 'F' ? a->floats[(*at)++] : otherwise;
}

/* ", f = "Elu", f_alpha = 0.8": what the library's ops take. */
static const char *said(Import *c, const Run *u, int i, const Activation *f,
                        double alpha, double beta)
{
    static const char *const letter[] = {"f", "g", "h"};
    const char *l = letter[i];
    const NodeAttr *clip = attr_find(u->n, "clip");
    Buf b = {0};

    buf_printf(&b, ", %s = \"%s\"", l, f->name);
    if (f->numbers > 0)
        buf_printf(&b, ", %s_alpha = %s", l, number_text(c, OT_FLOAT, alpha));
    if (f->numbers > 1)
        buf_printf(&b, ", %s_beta = %s", l, number_text(c, OT_FLOAT, beta));
    if (clip && (i == 0 || u->kind == 'G'))
        buf_printf(&b, ", bound = %s", number_text(c, OT_FLOAT, clip->f));
    return buf_take(&b, c->arena);
}

/* What the gates are activated by. */
static bool find_functions(Import *c, Run *u)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const NodeAttr *list = attr_find(u->n, "activations");
    int each = u->kind == 'L' ? 3 : u->kind == 'G' ? 2 : 1, na = 0, nb = 0;

    u->own = attr_find(u->n, "clip") || attr_int(u->n, "input_forget", 0);
    for (int k = 0; k < each * u->dirs; k++) {
        const char *name = usual[u->kind == 'R' ? 1 : k % each];
        const char *own = list && list->kind == 'S' && k < list->n
                              ? list->strings[k] : name;
        const Activation *f = activation_of(own);
        if (!f) {
            import_error(c, u->n,
                         "attribute 'activations': '%s' is not supported",
                         own);
            return false;
        }
        u->own = u->own || strcmp(f->name, name);
        double alpha = f->numbers > 0 ? next_number(u->n, "activation_alpha",
                                                    &na, f->alpha) : 0;
        double beta = f->numbers > 1 ? next_number(u->n, "activation_beta",
                                                   &nb, f->beta) : 0;
        u->act[k / each][k % each] = said(c, u, k % each, f, alpha, beta);
    }
    return true;
}

static Value *time_first(Import *c, const Node *n)
{
    Value *x = n->in[0];
    Shape s = x->shape;

    if (!attr_int(n, "layout", 0))
        return x;
    s.dim[0] = x->shape.dim[1];
    s.dim[1] = x->shape.dim[0];
    Value *v = between(c, x, "steps", x->type, s);
    Stmt *st = stmt_new(c, v);
    stmt_text(c, st, BIND_ATOM, "transpose(%s, perm = [1, 0, 2])",
              arg(c, st, x));
    return v;
}

void emit_recurrent(Import *c, Node *n)
{
    const char *how = attr_text(n, "direction", "forward");
    Run u = {.n = n,
             .kind = n->op[0],
             .dirs = (int)n->in[1]->shape.dim[0],
             .w = n->in[1],
             .r = n->in[2],
             .b = node_in(n, 3)};
    Value *cells[2] = {0}, *ends[2] = {0};

    if (u.dirs > 2) {
        import_error(c, n, "%d directions", u.dirs);
        return;
    }
    if (!find_functions(c, &u))
        return;
    u.x = time_first(c, n);
    u.steps = u.x->shape.dim[0];
    u.batch = u.x->shape.dim[1];
    u.hidden = n->in[2]->shape.dim[2];
    double length;
    if (node_in(n, 4) &&
        (!in_scalar(n, 4, &length) || length != (double)u.steps))
        u.lens = n->in[4];
    if (u.steps > MAX_STEPS) {
        import_error(c, n, "%lld steps; %d are the most", (long long)u.steps,
                     MAX_STEPS);
        return;
    }
    Value **all = arena_array(c->arena, Value *, u.steps * u.dirs);
    Value **one = arena_array(c->arena, Value *, u.steps);
    for (int d = 0; d < u.dirs; d++) {
        bool back = d == 1 || !strcmp(how, "reverse");
        run_direction(c, &u, d, back, one, &ends[d], &cells[d]);
        for (int64_t t = 0; t < u.steps; t++)
            all[t * u.dirs + d] = one[t];
    }
    Shape steps = {4, {u.steps, u.dirs, u.batch, u.hidden}};
    Shape last = {3, {u.dirs, u.batch, u.hidden}};
    if (node_out(n, 0) && n->out[0]->uses)
        gather_values(c, n->out[0], all, (int)u.steps * u.dirs, steps);
    if (node_out(n, 1) && n->out[1]->uses)
        gather_values(c, n->out[1], ends, u.dirs, last);
    if (node_out(n, 2) && n->out[2]->uses)
        gather_values(c, n->out[2], cells, u.dirs, last);
}
