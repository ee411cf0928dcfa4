#include "graph/restrict.h"

typedef struct Restrict {
    Graph *a;
    const Graph *b;
    const Stmt *sa, *sb; /* in hand */
    const char *name;
    bool bad;
    const Var **var;     /* of sb's out and red, what sa has; NULL: it has 1
                            point there and no index for it */
    unsigned *kept;      /* of b's tensors, the dimensions that a's have: one
                            of 1 point may be left out */
    struct { const Expr *from, *to; } became[256]; /* of this statement; what
                           collides is made again */
} Restrict;

static bool differs(Restrict *r, Span at, const char *what)
{
    if (!r->bad)
        diag_error(r->a->diag, at, "%s depends on '%s', a set of sizes: one "
                   "between two of them would run the kernels of the next, "
                   "which compute something else", what, r->name);
    r->bad = true;
    return false;
}

/* The same of a statement: at the user's own line first. */
static bool stmt_differs(Restrict *r, const Stmt *s, const char *what)
{
    bool called = s->call.source &&
                  (s->call.source != s->at.source ||
                   s->call.line != s->at.line || s->call.col != s->at.col);
    bool said = r->bad;

    differs(r, called ? s->call : s->at, what);
    if (called && !said)
        diag_note(r->a->diag, s->at, "in what it calls, here");
    return false;
}

/* ---- b's expressions, as a would have them */

static const Expr *translate(Restrict *r, const Expr *e);

static const Idx *own_var(Restrict *r, const Var *v)
{
    const Stmt *sb = r->sb;

    for (int i = 0; i < sb->n_out + sb->n_red; i++)
        if ((i < sb->n_out ? sb->out[i] : sb->red[i - sb->n_out]) == v)
            return r->var[i] ? idx_var(r->a->pool, r->var[i])
                             : idx_const(r->a->pool, 0);
    r->bad = true;
    return idx_const(r->a->pool, 0);
}

static const Idx *own_atom(IdxPool *p, const Atom *atom, void *ctx)
{
    Restrict *r = ctx;

    if (atom->kind == ATOM_VAR)
        return own_var(r, atom->var);
    if (atom->data)
        return idx_data(p, translate(r, atom->data), atom->lo, atom->hi);
    r->bad = true; /* unknown, and equal to nothing */
    return idx_const(p, 0);
}

static const Idx *translate_idx(Restrict *r, const Idx *e)
{
    return idx_map(r->a->pool, e, own_atom, r);
}

static Guard translate_guard(Restrict *r, Guard g)
{
    Guard out = {0};

    for (int i = 0; i < g.n; i++)
        out = guard_add(r->a->pool, out, translate_idx(r, g.cond[i].e),
                        g.cond[i].mod);
    return out;
}

static int tensor_number(const Restrict *r, const Tensor *t)
{
    for (int i = 0; i < r->b->n_tensor; i++)
        if (r->b->tensor[i] == t)
            return i;
    return -1;
}

static const Expr *translate_read(Restrict *r, const Expr *e)
{
    const Idx **at = arena_array(r->a->arena, const Idx *,
                                 e->tensor->rank + 1);
    int number = tensor_number(r, e->tensor), n = 0;

    if (number < 0) {
        r->bad = true;
        return e;
    }
    for (int i = 0; i < e->tensor->rank; i++)
        if (r->kept[number] >> i & 1)
            at[n++] = translate_idx(r, e->at[i]);
    Guard in = translate_guard(r, e->in);
    return expr_read(r->a, r->a->tensor[number], at, in,
                     in.n && e->outside ? translate(r, e->outside) : NULL);
}

static const Expr *translate_new(Restrict *r, const Expr *e)
{
    const Expr *arg[3] = {NULL};

    for (int i = 0; i < 3 && !r->bad; i++)
        arg[i] = e->arg[i] ? translate(r, e->arg[i]) : NULL;
    if (r->bad)
        return e;
    switch (e->kind) {
    case E_CONST: return expr_const(r->a, e->num, e->type);
    case E_INDEX: return expr_index(r->a, translate_idx(r, e->idx));
    case E_READ: return translate_read(r, e);
    case E_UNARY: return expr_unary(r->a, e->fn, arg[0], e->type);
    case E_BINARY:
        return arg[2] ? expr_ternary(r->a, e->fn, arg[0], arg[1], arg[2],
                                     e->type)
                      : expr_binary(r->a, e->fn, arg[0], arg[1], e->type);
    case E_SELECT:
        return expr_select(r->a, arg[0], arg[1], arg[2], e->type);
    case E_CAST: return expr_cast(r->a, arg[0], e->type);
    case E_LOCAL: break;
    }
    r->bad = true;
    return e;
}

static const Expr *translate(Restrict *r, const Expr *e)
{
    unsigned at = (unsigned)((uintptr_t)e >> 4) % 256;

    if (r->became[at].from != e) {
        const Expr *to = translate_new(r, e);
        r->became[at].from = e;
        r->became[at].to = to;
    }
    return r->became[at].to;
}

/* ---- statements and tensors */

static bool same_guard(Guard a, Guard b)
{
    for (int i = 0; i < a.n; i++) {
        bool found = false;
        for (int k = 0; k < b.n; k++)
            found |= a.cond[i].e == b.cond[k].e &&
                     a.cond[i].mod == b.cond[k].mod;
        if (!found)
            return false;
    }
    return a.n == b.n;
}

/* a's index for each of b's, by name and in order; a may lack those of which
 * it has one point. */
static bool match_vars(const Var *const *a, int n_a,
                       const Var *const *b, int n_b, const Var **to)
{
    int at = 0;

    for (int i = 0; i < n_b; i++) {
        bool here = at < n_a && !strcmp(a[at]->name, b[i]->name) &&
                    a[at]->extent <= b[i]->extent;
        to[i] = here ? a[at] : NULL;
        at += here;
        if (!here && n_b - n_a <= i - at)
            return false;
    }
    return at == n_a;
}

static bool same_vars(Restrict *r)
{
    const Stmt *a = r->sa, *b = r->sb;

    r->var = arena_array(r->a->arena, const Var *, b->n_out + b->n_red + 1);
    if (a->op != b->op || a->n_red != b->n_red ||
        !match_vars(a->out, a->n_out, b->out, b->n_out, r->var))
        return stmt_differs(r, a, "what is computed here");
    for (int i = 0; i < a->n_red; i++) {
        r->var[b->n_out + i] = a->red[i];
        if (a->red[i]->extent != b->red[i]->extent)
            return stmt_differs(r, a, arena_printf(
                r->a->arena, "the range of '%s', over which %s goes,",
                a->red[i]->name, reduce_name(a->op)));
    }
    return true;
}

/* The dimensions of what b writes that a has too, from what the first
 * statement that writes it stores at. */
static bool find_kept(Restrict *r, int number)
{
    const Tensor *a = r->sa->tensor, *b = r->sb->tensor;
    int left_out = b->rank - a->rank, at = 0;

    for (int i = 0; i < b->rank; i++) {
        const Idx *e = translate_idx(r, r->sb->store[i]);
        if (left_out && idx_is_const(e) && e->k == 0 &&
            (at >= a->rank || a->dim[at] != 1)) {
            left_out--;
        } else {
            r->kept[number] |= 1u << i;
            at++;
        }
    }
    return left_out == 0;
}

static bool same_store(Restrict *r)
{
    const Stmt *a = r->sa, *b = r->sb;
    int number = tensor_number(r, b->tensor), n = 0;

    if (number < 0 || r->a->tensor[number] != a->tensor)
        return false;
    if (!r->kept[number] && !find_kept(r, number))
        return false;
    for (int i = 0; i < b->tensor->rank; i++)
        if (r->kept[number] >> i & 1 &&
            translate_idx(r, b->store[i]) != a->store[n++])
            return false;
    return true;
}

static bool same_stmt(Restrict *r, const Stmt *a, const Stmt *b)
{
    r->sa = a;
    r->sb = b;
    memset(r->became, 0, sizeof r->became);
    if (!same_vars(r))
        return false;
    if (!same_store(r))
        return stmt_differs(r, a, "an index on the left");
    if (!same_guard(a->where, translate_guard(r, b->where)))
        return stmt_differs(r, a, "where this is defined");
    const Expr *value = translate(r, b->value);
    if (r->bad || !expr_equal(value, a->value)) {
        r->bad = false;
        return stmt_differs(r, a, "a value, an index or a condition here");
    }
    return true;
}

/* Whether t's shape is the same in both; of inputs and outputs one dimension
 * may be a multiple of the size. */
static bool same_shape(Restrict *r, const Tensor *a, const Tensor *b)
{
    int other = 0;

    for (int i = 0; i < a->rank && a->rank == b->rank; i++)
        other += a->dim[i] != b->dim[i];
    if (other && (b->role == ROLE_PARAM || b->role == ROLE_STATE))
        return differs(r, b->at, arena_printf(
            r->a->arena, "the shape of %s '%s'",
            b->role == ROLE_PARAM ? "the parameter" : "the state", b->name));
    if (other > 1 && (b->role == ROLE_INPUT || b->role == ROLE_OUTPUT))
        return differs(r, b->at, arena_printf(
            r->a->arena, "more than one dimension of '%s'", b->name));
    return true;
}

static bool same_tensor(Restrict *r, const Tensor *a, const Tensor *b)
{
    bool promised = a->promised == b->promised &&
                    (!a->promised || (a->lo == b->lo && a->hi == b->hi));

    if (a->role != b->role || a->type != b->type || a->rank > b->rank ||
        (a->rank < b->rank && a->role != ROLE_TEMP))
        return differs(r, b->at, arena_printf(r->a->arena, "what '%s' is",
                                              b->name));
    if (a->role == ROLE_INPUT && !promised)
        return differs(r, b->at, arena_printf(
            r->a->arena, "the range of '%s'", b->name));
    if (a->role == ROLE_STATE && a->init != b->init)
        return differs(r, b->at, arena_printf(
            r->a->arena, "the first value of '%s'", b->name));
    return same_shape(r, a, b);
}

static bool same_list(Restrict *r, Tensor *const *a, int n_a,
                      Tensor *const *b, int n_b)
{
    if (n_a != n_b)
        return differs(r, r->b->set.at, "which inputs, outputs, parameters and "
                       "states there are");
    for (int i = 0; i < n_a && !r->bad; i++)
        same_tensor(r, a[i], b[i]);
    return !r->bad;
}

static bool same_interface(Restrict *r)
{
    Graph *a = r->a;
    const Graph *b = r->b;

    return same_list(r, a->input, a->n_input, b->input, b->n_input) &&
           same_list(r, a->output, a->n_output, b->output, b->n_output) &&
           same_list(r, a->param, a->n_param, b->param, b->n_param) &&
           same_list(r, a->state, a->n_state, b->state, b->n_state);
}

bool graph_same_interface(Graph *a, const Graph *b, const char *name)
{
    Restrict r = {.a = a, .b = b, .name = name};

    return same_interface(&r);
}

static const Stmt *next_reduction(const Graph *g, int *at)
{
    while (*at < g->n_stmt && g->stmt[*at]->op == R_NONE)
        ++*at;
    return *at < g->n_stmt ? g->stmt[(*at)++] : NULL;
}

static int64_t points(const Stmt *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_red; i++)
        n *= s->red[i]->extent;
    return n;
}

static bool same_reductions(Restrict *r)
{
    int at_a = 0, at_b = 0;

    for (;;) {
        const Stmt *a = next_reduction(r->a, &at_a);
        const Stmt *b = next_reduction(r->b, &at_b);
        if (!a && !b)
            return true;
        if (!a || !b || a->op != b->op || points(a) != points(b))
            return stmt_differs(r, b ? b : a, "what is reduced here");
    }
}

bool graph_restricts(Graph *a, const Graph *b, const char *name, bool one)
{
    Restrict r = {.a = a, .b = b, .name = name};

    if (!same_interface(&r))
        return false;
    if (a->n_tensor != b->n_tensor || a->n_stmt != b->n_stmt)
        return one ? same_reductions(&r)
                            : differs(&r, b->set.at,
                                      "which statements there are");
    r.kept = arena_array(a->arena, unsigned, b->n_tensor + 1);
    for (int i = 0; i < b->n_tensor && !r.bad; i++) {
        same_tensor(&r, a->tensor[i], b->tensor[i]);
        if (a->tensor[i]->rank == b->tensor[i]->rank)
            r.kept[i] = (2u << b->tensor[i]->rank) - 1;
    }
    for (int i = 0; i < b->n_stmt && !r.bad; i++)
        same_stmt(&r, a->stmt[i], b->stmt[i]);
    return !r.bad;
}
