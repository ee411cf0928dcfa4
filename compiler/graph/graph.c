/* graph.c - types, tensors, statements, and the dump of a graph. */
#include "graph/graph.h"

#include <inttypes.h>

typedef struct TypeInfo {
    const char *name, *cname;
    int bytes;
    bool is_float;
} TypeInfo;

static const TypeInfo types[] = {
    [T_BOOL] = {"bool", "uint8_t", 1, false},
    [T_I8] = {"i8", "int8_t", 1, false},
    [T_U8] = {"u8", "uint8_t", 1, false},
    [T_I32] = {"i32", "int32_t", 4, false},
    [T_F16] = {"f16", "__half", 2, true},
    [T_BF16] = {"bf16", "__nv_bfloat16", 2, true},
    [T_F32] = {"f32", "float", 4, true},
};

const char *type_name(Type t)
{
    return types[t].name;
}

const char *begin_enum(Begin b)
{
    static const char *const name[] = {"DCC_BEGIN_NONE", "DCC_BEGIN_NUMBER",
                                       "DCC_BEGIN_UNIFORM", "DCC_BEGIN_NORMAL"};

    return name[b];
}

const char *type_cname(Type t)
{
    return types[t].cname;
}

int type_bytes(Type t)
{
    return types[t].bytes;
}

bool type_is_float(Type t)
{
    return types[t].is_float;
}

Type type_wider(Type a, Type b)
{
    if ((a == T_F16 && b == T_BF16) || (a == T_BF16 && b == T_F16))
        return T_F32;
    if ((a == T_I8 && b == T_U8) || (a == T_U8 && b == T_I8))
        return T_I32;
    return a > b ? a : b;
}

const char *reduce_name(Reduce r)
{
    static const char *const name[] = {
        [R_NONE] = "none", [R_SUM] = "sum", [R_PROD] = "prod",
        [R_MAX] = "max",   [R_MIN] = "min", [R_ARGMAX] = "argmax",
    };
    return name[r];
}

/* ---- what index expressions ask of data */

static uint64_t data_hash(const Expr *e)
{
    return ((uint64_t)e->kind << 32) +
           (e->tensor ? (uint64_t)e->tensor->id : 0);
}

static const Idx *data_as_idx(IdxPool *p, const Expr *e)
{
    if (e->kind == E_INDEX)
        return e->idx;
    return e->kind == E_CONST && e->num >= -0x1p53 && e->num <= 0x1p53 &&
                   e->num == (double)(int64_t)e->num
               ? idx_const(p, (int64_t)e->num)
               : NULL;
}

static const Expr *data_subst(void *g, const Expr *e, const Subst *s, int n)
{
    return expr_subst(g, e, s, n);
}

static const DataOps data_ops = {expr_equal,  data_hash,  expr_uses,
                                 data_as_idx, data_subst, expr_dump};

Graph *graph_new(Arena *a, Diag *d, const char *model)
{
    Graph *g = arena_new_of(a, Graph);
    g->arena = a;
    g->pool = idx_pool(a);
    g->diag = d;
    g->model = arena_strdup(a, model);
    idx_pool_data(g->pool, &data_ops, g);
    return g;
}

Tensor *graph_tensor(Graph *g, const char *name, Type t, int rank,
                     const int64_t *dim)
{
    Tensor *x = arena_new_of(g->arena, Tensor);
    x->id = g->n_tensor;
    x->name = arena_strdup(g->arena, name);
    x->path = "";
    x->type = t;
    x->rank = rank;
    for (int i = 0; i < rank; i++)
        x->dim[i] = dim[i];
    x->role = ROLE_TEMP;
    x->when = WHEN_RUN;
    tensor_row_major(x);
    VEC_PUSH(g->arena, g->tensor, g->n_tensor, g->cap_tensor) = x;
    return x;
}

const char *tensor_called(const Tensor *t)
{
    return t->called ? t->called : t->name;
}

const char *tensor_part_called(const Tensor *t, const Idx *const *at)
{
    const Idx *i = t->part ? at[t->part_dim] : NULL;

    return i && !i->n ? t->part[i->k] : tensor_called(t);
}

Tensor *graph_tensor_like(Graph *g, const Tensor *t, Type type, int rank,
                          const int64_t *dim)
{
    Tensor *x = graph_tensor(g, t->name, type, rank, dim);

    x->called = t->called;
    x->path = t->path;
    x->when = t->when;
    x->at = t->at;
    return x;
}

const Idx *tensor_offset(Graph *g, const Tensor *t, const Idx **at)
{
    return idx_dot(g->pool, at, t->stride, t->rank);
}

typedef struct PlaceRead {
    const Tensor *t;
    bool found;
} PlaceRead;

static void note_place_expr(const Expr *e, void *ctx)
{
    PlaceRead *r = ctx;

    r->found |= e->kind == E_READ && tensor_lies_in(r->t, e->tensor);
}

static void note_place_atom(const Atom *a, void *ctx)
{
    if (a->kind == ATOM_DATA && a->data)
        expr_visit(a->data, note_place_expr, ctx);
}

bool place_reads(const Idx *const *store, int rank, Guard where,
                 const Tensor *t)
{
    PlaceRead r = {t, false};

    for (int d = 0; d < rank; d++)
        idx_visit(store[d], note_place_atom, &r);
    for (int i = 0; i < where.n; i++)
        idx_visit(where.cond[i].e, note_place_atom, &r);
    return r.found;
}

Stmt *graph_stmt(Graph *g)
{
    Stmt *s = arena_new_of(g->arena, Stmt);
    s->id = g->n_made++;
    s->path = "";
    s->when = WHEN_RUN;
    VEC_PUSH(g->arena, g->stmt, g->n_stmt, g->cap_stmt) = s;
    return s;
}

bool tensor_is_trained(const Tensor *t)
{
    return t->role == ROLE_STATE && t->weight;
}

bool tensor_is_constant(const Tensor *t)
{
    return t->role == ROLE_PARAM ||
           (t->role == ROLE_TEMP && t->when == WHEN_LOAD);
}

int64_t tensor_elems(const Tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

void tensor_row_major(Tensor *t)
{
    int64_t step = 1, row;
    for (int i = t->rank - 1; i >= 0; i--) {
        t->stride[i] = step;
        step *= t->dim[i];
    }
    t->span = step;
    /* every buffer starts at 256 bytes, so one row alone does too */
    row = t->rank > 1 ? t->dim[t->rank - 1] * type_bytes(t->type) : 256;
    t->align = 1;
    while (t->align < 256 && row % (2 * t->align) == 0)
        t->align *= 2;
}

bool tensor_lies_in(const Tensor *t, const Tensor *in)
{
    while (t && t != in)
        t = t->host;
    return t != NULL;
}

int64_t tensor_rows(const Tensor *t, int64_t *along)
{
    int64_t row = t->span;

    *along = 0;
    for (int d = 0; d < t->rank && !t->host; d++) {
        if (t->dim[d] == 1)
            continue;
        if (t->stride[d] == 1)
            *along = t->dim[d];
        else if (t->stride[d] < row)
            row = t->stride[d];
    }
    return *along ? row : 0;
}

int64_t tensor_run(const Tensor *t, const Idx *from, int64_t extent)
{
    int64_t along, row = tensor_rows(t, &along);
    bool whole = row > 0 && along == extent && from->k % row == 0;

    for (int i = 0; i < from->n && whole; i++)
        whole = from->term[i].c % row == 0;
    return whole ? row : extent;
}

/* ---- checks */

typedef struct Computable {
    bool ok;
    Span at; /* of the first that is not */
} Computable;

static void check_idx(Computable *c, const Idx *e, Span at)
{
    if (!c->ok || idx_is_computable(e))
        return;
    c->ok = false;
    c->at = at;
}

static void check_guard(Computable *c, Guard g, Span at)
{
    for (int i = 0; i < g.n; i++)
        check_idx(c, g.cond[i].e, at);
}

static void check_expr(const Expr *e, void *ctx)
{
    if (e->kind == E_INDEX)
        check_idx(ctx, e->idx, e->span);
    if (e->kind != E_READ)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        check_idx(ctx, e->at[i], e->span);
    check_guard(ctx, e->in, e->span);
}

bool expr_is_computable(const Expr *e)
{
    Computable c = {.ok = true};

    expr_visit(e, check_expr, &c);
    return c.ok;
}

bool graph_check_indices(Graph *g)
{
    bool all = true;

    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        Computable c = {true, s->at};
        expr_visit(s->value, check_expr, &c);
        for (int d = 0; d < s->tensor->rank; d++)
            check_idx(&c, s->store[d], s->at);
        check_guard(&c, s->where, s->at);
        all &= c.ok;
        if (!c.ok)
            diag_error(g->diag, c.at.source ? c.at : s->at,
                       "index arithmetic beyond 64 bits, or too large: of more "
                       "than %d terms, %d in all, or %d in one another",
                       IDX_MAX_TERMS, IDX_MAX_SIZE, IDX_MAX_DEPTH);
    }
    return all;
}

/* ---- dump */

static const char *role_name(Role r)
{
    static const char *const name[] = {
        [ROLE_TEMP] = "temp",     [ROLE_INPUT] = "input",
        [ROLE_OUTPUT] = "output", [ROLE_PARAM] = "param",
        [ROLE_STATE] = "state",
    };
    return name[r];
}

static void dump_name(Buf *b, const Tensor *t)
{
    if (t->path && t->path[0])
        buf_printf(b, "%s.", t->path);
    buf_puts(b, t->name);
}

static void dump_tensor(Buf *b, const Tensor *t)
{
    int64_t dense = 1;
    bool strided = false;
    buf_printf(b, "  %-6s ", role_name(t->role));
    dump_name(b, t);
    buf_printf(b, " : %s[", type_name(t->type));
    for (int i = 0; i < t->rank; i++)
        buf_printf(b, "%s%" PRId64, i ? ", " : "", t->dim[i]);
    buf_putc(b, ']');
    if (t->promised)
        buf_printf(b, " in %" PRId64 "..%" PRId64, t->lo, t->hi);
    if (t->weight)
        buf_printf(b, " = \"%s\"", t->weight);
    if (t->role == ROLE_STATE && !t->prev)
        buf_printf(b, " = %.17g", t->init);
    for (int i = t->rank - 1; i >= 0; i--) {
        strided |= t->dim[i] > 1 && t->stride[i] != dense;
        dense *= t->dim[i];
    }
    for (int i = 0; i < t->rank && strided; i++)
        buf_printf(b, "%s%" PRId64, i ? ", " : "  strides ", t->stride[i]);
    if (t->when == WHEN_LOAD && t->role != ROLE_PARAM)
        buf_puts(b, "  at load");
    buf_putc(b, '\n');
}

static void dump_vars(Buf *b, const Var *const *v, int n, const char *before)
{
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s<%" PRId64, i ? ", " : before, v[i]->name,
                   v[i]->extent);
}

static void dump_names(Buf *b, const Var *const *v, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s", i ? ", " : "", v[i]->name);
}

static void dump_stmt(Buf *b, const Stmt *s)
{
    const Tensor *t = s->tensor;
    buf_printf(b, "s%d  ", s->id);
    if (t) {
        dump_name(b, t);
        buf_putc(b, '[');
        for (int i = 0; i < t->rank; i++) {
            buf_puts(b, i ? ", " : "");
            idx_dump(b, s->store[i]);
        }
        buf_printf(b, "] : %s = ", type_name(t->type));
    }
    if (s->op != R_NONE) {
        buf_printf(b, "%s(", reduce_name(s->op));
        dump_names(b, s->red, s->n_red);
        buf_puts(b, ") (");
    }
    expr_dump(b, s->value);
    buf_puts(b, s->op != R_NONE ? ")" : "");
    if (s->where.n) {
        buf_puts(b, " where ");
        guard_dump(b, s->where);
    }
    dump_vars(b, s->out, s->n_out, "   for ");
    dump_vars(b, s->red, s->n_red, s->n_out ? "; " : "   for ");
    if (s->when == WHEN_LOAD)
        buf_puts(b, "   at load");
    if (s->notes & NOTE_NOFUSE)
        buf_puts(b, "   @nofuse");
    if (s->notes & NOTE_FUSE)
        buf_puts(b, "   @fuse");
    if (s->at.source)
        buf_printf(b, "   @ %s:%d", s->at.source->name, s->at.line);
    buf_putc(b, '\n');
}

void graph_dump(Buf *b, const Graph *g)
{
    buf_printf(b, "model %s\n", g->model);
    for (int i = 0; i < g->n_tensor; i++)
        dump_tensor(b, g->tensor[i]);
    for (int i = 0; i < g->n_stmt; i++)
        dump_stmt(b, g->stmt[i]);
}

const Var *guard_run(const Graph *g, Guard in, Guard *rest)
{
    const Var *v = NULL;
    Cond *others = arena_array(g->arena, Cond, in.n + 1);
    int n = 0;

    for (int i = 0; i < in.n; i++) {
        const Idx *e = in.cond[i].e;
        if (!g->run || !idx_uses(e, g->run)) {
            others[n++] = in.cond[i];
            continue;
        }
        for (int k = 0; k < e->n; k++) /* of_v * run - 1 - v >= 0 */
            if (e->term[k].c == -1)
                v = e->term[k].atom->var;
    }
    *rest = (Guard){others, n};
    return v;
}
