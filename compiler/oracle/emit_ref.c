/* emit_ref.c - prints the oracle (emit.h): the tables of dcc_ref.h. */
#include "emit/emit.h"

#include "oracle/ref_text.h"
#include "rewrite/rewrite.h"
#include "support/support.h"

#include <inttypes.h>

/* ---- tensors ------------------------------------------------------------- */

typedef struct Limit {
    const Tensor *input; /* whose values are indices */
    int64_t least;       /* extent that they index */
    int64_t dim;         /* of the index in hand */
} Limit;

static void limit_data(const Expr *e, void *ctx)
{
    Limit *l = ctx;

    if (e->kind == E_READ && e->tensor == l->input && l->dim < l->least)
        l->least = l->dim;
}

static void limit_atom(const Atom *a, void *ctx)
{
    if (a->kind == ATOM_DATA && a->data)
        expr_visit(a->data, limit_data, ctx);
}

static void limit_at(Limit *l, const Tensor *t, const Idx *const *at)
{
    for (int d = 0; d < t->rank; d++) {
        l->dim = t->dim[d];
        idx_visit(at[d], limit_atom, l);
    }
}

static void limit_read(const Expr *e, void *ctx)
{
    if (e->kind == E_READ)
        limit_at(ctx, e->tensor, e->at);
}

/* Where an integer input's random values come from: [*lo, *hi). */
static void draw_range(const Graph *g, const Tensor *t, int64_t *lo,
                       int64_t *hi)
{
    Limit l = {t, INT64_MAX, 0};

    static const int64_t least[] = {[T_BOOL] = 0, [T_I8] = -128, [T_U8] = 0,
                                    [T_I32] = -100};
    static const int64_t past[] = {[T_BOOL] = 2, [T_I8] = 128, [T_U8] = 256,
                                   [T_I32] = 100};

    *lo = least[t->type];
    *hi = past[t->type];
    if (t->promised) {
        *lo = t->lo;
        *hi = t->hi;
        return;
    }
    if (t->type == T_BOOL)
        return;
    for (int i = 0; i < g->n_stmt; i++) {
        expr_visit(g->stmt[i]->value, limit_read, &l);
        limit_at(&l, g->stmt[i]->tensor, g->stmt[i]->store);
    }
    if (l.least < INT64_MAX) {
        *lo = 0;
        if (t->type == T_I32 || l.least < *hi)
            *hi = l.least;
    }
}

static int tensor_number(const Graph *g, const Tensor *t)
{
    for (int i = 0; t && i < g->n_tensor; i++)
        if (g->tensor[i] == t)
            return i;
    return -1;
}

static bool same_state(const Tensor *a, const Tensor *b)
{
    return a->role == ROLE_STATE && b->role == ROLE_STATE && !a->weight &&
           !b->weight &&
           !strcmp(a->name, b->name) &&
           !strcmp(a->path ? a->path : "", b->path ? b->path : "");
}

/* A state's last version: what the next run begins with. */
static int last_version(const Graph *g, const Tensor *state)
{
    const Tensor *last = state;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        if (t->prev == last || (t != state && same_state(t, state)))
            last = t;
    }
    return tensor_number(g, last);
}

static bool is_state(const Graph *g, const Tensor *t)
{
    for (int i = 0; i < g->n_state; i++)
        if (g->state[i] == t)
            return true;
    return tensor_is_trained(t) && !t->prev;
}

static int64_t fan_in(const Tensor *t)
{
    int64_t n = 1;

    for (int d = 1; d < t->rank; d++)
        n *= t->dim[d];
    return t->rank >= 2 && type_is_float(t->type) ? n : 0;
}

static void print_tensor(Ref *r, const Tensor *t)
{
    static const char *const role[] = {
        [ROLE_TEMP] = "TEMP",   [ROLE_INPUT] = "INPUT",
        [ROLE_OUTPUT] = "OUTPUT", [ROLE_PARAM] = "PARAM",
        [ROLE_STATE] = "STATE",
    };
    Arena *a = r->arena;
    const Graph *g = r->graph;
    bool pathless = !t->path || !t->path[0] || t->role == ROLE_INPUT ||
                    t->role == ROLE_OUTPUT;
    int64_t lo = 0, hi = 0;

    Role own = tensor_is_trained(t) && !t->prev ? ROLE_PARAM : t->role;
    if (!type_is_float(t->type) &&
        (t->role == ROLE_INPUT || t->role == ROLE_PARAM))
        draw_range(g, t, &lo, &hi);
    buf_puts(r->b, "    {.name = ");
    escape_string(r->b, pathless ? t->name
                                : arena_printf(a, "%s.%s", t->path, t->name));
    if (own == ROLE_PARAM) {
        buf_puts(r->b, ", .weight = ");
        escape_string(r->b, t->weight ? t->weight : t->name);
    }
    buf_printf(r->b, ", .id = %d, .type = %s, .role = DCC_REF_%s,\n     "
                     ".rank = %d, .dim = {",
               t->id, ref_type(t->type), role[own], t->rank);
    for (int d = 0; d < t->rank; d++)
        buf_printf(r->b, "%s%" PRId64, d ? ", " : "", t->dim[d]);
    buf_printf(r->b, "%s}, .lo = %" PRId64 ", .hi = %" PRId64
                     ", .fan_in = %" PRId64 ",\n     .init = ",
               t->rank ? "" : "0", lo, hi, fan_in(t));
    escape_number(r->b, t->init);
    if (t->begin != BEGIN_NONE) {
        buf_printf(r->b, ", .begin = %s, .spread = ", begin_enum(t->begin));
        escape_number(r->b, t->spread);
    }
    buf_printf(r->b, ", .prev = %d, .next = %d%s},\n",
               tensor_number(g, t->prev),
               is_state(g, t) ? last_version(g, t) : -1,
               r->dual && t->stopped ? ", .stopped = 1" : "");
}

static Span users_line(const Stmt *s)
{
    return s->call.source ? s->call : s->at;
}

/* The store as numbers, for finding who wrote an element. */
static bool print_map(Ref *r, const Stmt *s, int n)
{
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_affine(s->store[d]))
            return false;
    buf_printf(r->b, "static const int64_t m%d_map%d[] = {", r->model, n);
    for (int d = 0; d < s->tensor->rank; d++) {
        buf_printf(r->b, "%s%" PRId64, d ? ", " : "", s->store[d]->k);
        for (int i = 0; i < s->n_out; i++)
            buf_printf(r->b, ", %" PRId64, idx_coef(s->store[d], s->out[i]));
    }
    buf_puts(r->b, s->tensor->rank ? "};\n" : "0};\n");
    return true;
}

typedef struct StmtRow {
    const char *function;
    bool map;
} StmtRow;

/* x, of which a kernel may have rounded what it stores alone. */
static const Tensor *kept_of(const Expr *x)
{
    return x && x->tensor->role != ROLE_INPUT && x->tensor->role != ROLE_PARAM
               ? x->tensor : NULL;
}

static StmtRow print_stmt_parts(Ref *r, const Stmt *s, int n)
{
    StmtRow row = {ref_functions(r, s), false};

    buf_printf(r->b, "static const int m%d_arg%d[] = {", r->model, n);
    for (int i = 0; i < r->n_arg; i++)
        buf_printf(r->b, "%s%d", i ? ", " : "",
                   tensor_number(r->graph, r->arg[i]));
    buf_puts(r->b, "};\n");
    buf_printf(r->b, "static const int64_t m%d_extent%d[] = {", r->model, n);
    for (int i = 0; i < s->n_out; i++)
        buf_printf(r->b, "%s%" PRId64, i ? ", " : "", s->out[i]->extent);
    buf_puts(r->b, s->n_out ? "};\n" : "1};\n");
    row.map = print_map(r, s, n);
    buf_putc(r->b, '\n');
    return row;
}

static void print_stmt(Ref *r, const Stmt *s, int n, const StmtRow *row)
{
    double terms = 1;

    ref_find_args(r, s);
    for (int i = 0; i < s->n_red; i++)
        terms *= (double)s->red[i]->extent;
    buf_puts(r->b, "    {.path = ");
    escape_string(r->b, ref_label(s));
    buf_puts(r->b, ", .at = ");
    escape_string(r->b, ref_place(r->arena, users_line(s)));
    buf_printf(r->b, ",\n     .arg = m%d_arg%d, .n_arg = %d,\n", r->model, n,
               r->n_arg);
    buf_printf(r->b, "     .all = all_%s,\n     .point = point_%s,\n"
                     "     .store = store_%s,\n",
               row->function, row->function, row->function);
    if (s->op == R_ARGMAX)
        buf_printf(r->b, "     .term = term_%s,\n", row->function);
    buf_printf(r->b, "     .n_out = %d, .extent = m%d_extent%d, "
                     ".terms = %.17g,\n     .map = ",
               s->n_out, r->model, n, terms);
    if (row->map)
        buf_printf(r->b, "m%d_map%d},\n", r->model, n);
    else
        buf_puts(r->b, "NULL},\n");
}

static void print_gradients(Ref *r, const Graph *g, int number)
{
    buf_printf(r->b, "static const dcc_ref_gradient m%d_gradients[] = {\n",
               number);
    for (int i = 0; i < g->n_gradient; i++)
        buf_printf(r->b, "    {%d, %d, %d},\n",
                   tensor_number(g, g->gradient[i].loss),
                   tensor_number(g, g->gradient[i].by),
                   tensor_number(g, g->gradient[i].is));
    buf_puts(r->b, "    {-1, -1, -1}};\n\n");
}

static void print_model(Ref *r, Graph *g, int number)
{
    StmtRow *row = arena_array(r->arena, StmtRow, g->n_stmt + 1);
    const Expr **deviates = find_deviations(g);

    r->graph = g;
    r->model = number;
    buf_printf(r->b, "\n// ---- model %s\n\n", g->model);
    for (int i = 0; i < g->n_stmt; i++) {
        r->kept = r->dual ? NULL : kept_of(deviates[i]); /* no bounds there */
        row[i] = print_stmt_parts(r, g->stmt[i], i);
    }
    buf_printf(r->b, "static const dcc_ref_tensor m%d_tensors[] = {\n",
               number);
    for (int i = 0; i < g->n_tensor; i++)
        print_tensor(r, g->tensor[i]);
    buf_printf(r->b, "};\n\nstatic const dcc_ref_stmt m%d_stmts[] = {\n",
               number);
    for (int i = 0; i < g->n_stmt; i++)
        print_stmt(r, g->stmt[i], i, &row[i]);
    buf_puts(r->b, "};\n\n");
    if (r->dual)
        print_gradients(r, g, number);
    buf_printf(r->b, "static const dcc_ref_model m%d = {\n    ", number);
    escape_string(r->b, g->model);
    buf_printf(r->b, ", m%d_tensors, %d, m%d_stmts, %d", number,
               g->n_tensor, number, g->n_stmt);
    if (r->dual)
        buf_printf(r->b, ",\n    m%d_gradients, %d};\n", number,
                   g->n_gradient);
    else
        buf_puts(r->b, ", NULL, 0};\n");
}

void emit_ref(Buf *b, Graph *const *graph, int n_graph, bool gradients)
{
    Ref r = {.b = b, .arena = n_graph ? graph[0]->arena : NULL,
             .dual = gradients};

    buf_puts(b,
             "/* The meaning of a model in double, printed by dcc from the "
             "model as written:\n"
             " * one function per statement, nothing optimised. Build it "
             "with dcc's runtime:\n"
             " *     cc -O3 -fopenmp -I RUNTIME ref.c RUNTIME/ref*.c "
             "RUNTIME/base.c \\\n"
             " *        RUNTIME/safetensors*.c -lm\n"
             " * all_X computes a tensor; point_X one element and a bound on "
             "what a correct\n"
             " * kernel may be off by; store_X where that element goes. */\n");
    if (gradients)
        buf_puts(b, "#define DCC_REF_DUAL /* derivatives, no bounds */\n");
    buf_puts(b,
             "#include \"dcc_ref.h\"\n\n"
             "#define min dcc_imin\n"
             "#define max dcc_imax\n");
    for (int i = 0; i < n_graph; i++)
        print_model(&r, graph[i], i);
    buf_puts(b, "\nint main(int argc, char **argv)\n{\n"
                "    static const dcc_ref_model *const models[] = {");
    for (int i = 0; i < n_graph; i++)
        buf_printf(b, "%s&m%d", i ? ", " : "", i);
    buf_printf(b, "};\n\n    return dcc_ref_main(models, %d, argc, argv);\n}\n",
               n_graph);
}
