#include "rewrite/deviation.h"

#include "rewrite/walk.h"

#include <math.h>

/* m = (sum of x) / n, as two statements; the reads say where. */
typedef struct Mean {
    const Stmt *sum, *scaled;
    const Expr *x;
} Mean;

typedef struct Deviations {
    Graph *g;
    const Stmt **by;   /* by tensor id: what alone makes it, or NULL */
    const Stmt *s;    /* the sum in question */
    const Expr *x, *m; /* what it subtracts from what */
    bool factors;      /* times any factor of the sum, not numbers alone */
    bool *zero;        /* by tensor id: it is 0 */
} Deviations;

static const Expr *bare(const Expr *e)
{
    while (e->kind == E_CAST && type_is_float(e->type) &&
           type_bytes(e->type) >= type_bytes(e->arg[0]->type))
        e = e->arg[0];
    return e;
}

static bool is_plain(const Expr *e)
{
    if (e->kind != E_READ || e->in.n)
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (!idx_is_var(e->at[d]))
            return false;
    return true;
}

/* Is e the same for all that is summed? */
static bool is_factor(const Deviations *v, const Expr *e)
{
    if (!v->factors)
        return e->kind == E_CONST && isfinite(e->num);
    for (int i = 0; i < v->s->n_red; i++)
        if (expr_uses(e, v->s->red[i]))
            return false;
    return true;
}

/* Is e a factor times x - m, of one x and one m? */
static bool is_deviation(Deviations *v, const Expr *e)
{
    e = bare(e);
    if (e->kind == E_UNARY && e->fn == F_NEG)
        return is_deviation(v, e->arg[0]);
    if (e->kind != E_BINARY || e->arg[2])
        return false;
    if (e->fn == F_MUL && v->factors && is_factor(v, e->arg[0]))
        return is_deviation(v, e->arg[1]);
    if (e->fn == F_MUL || e->fn == F_DIV)
        return is_factor(v, e->arg[1]) && is_deviation(v, e->arg[0]);
    const Expr *a = bare(e->arg[0]), *b = bare(e->arg[1]);
    if (e->fn == F_SUB && is_plain(a) && is_plain(b)) {
        bool first = !v->x;
        if (first) {
            v->x = a;
            v->m = b;
        }
        return first || (walk_same_place(a, v->x) && walk_same_place(b, v->m));
    }
    return (e->fn == F_ADD || e->fn == F_SUB) &&
           is_deviation(v, e->arg[0]) && is_deviation(v, e->arg[1]);
}

/* The mean that makes t, if one does. */
static bool find_mean(const Deviations *v, const Tensor *t, Mean *m)
{
    double n = 1;

    m->scaled = v->by[t->id];
    if (!m->scaled || m->scaled->op != R_NONE || t->type != T_F32)
        return false;
    const Expr *e = m->scaled->value;
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[2] ||
        e->arg[1]->kind != E_CONST || !is_plain(e->arg[0]))
        return false;
    m->sum = v->by[e->arg[0]->tensor->id];
    if (!m->sum || m->sum->op != R_SUM || m->sum->tensor->type != T_F32)
        return false;
    for (int d = 0; d < t->rank; d++) /* element by element */
        if (m->scaled->store[d] != e->arg[0]->at[d])
            return false;
    for (int i = 0; i < m->sum->n_red; i++)
        n *= (double)m->sum->red[i]->extent;
    m->x = bare(m->sum->value);
    return is_plain(m->x) && fabs(e->arg[1]->num * n - 1) < 1e-6;
}

static bool is_one_of(const Var *const *list, int n, const Var *v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* What the sum's variable is where x is read by s; NULL if that is not one. */
static const Var *stands_for(const Expr *mine, const Expr *its, const Var *v)
{
    const Var *found = NULL;

    for (int d = 0; d < its->tensor->rank; d++) {
        if (idx_is_var(its->at[d]) != v)
            continue;
        const Var *here = idx_is_var(mine->at[d]);
        if (found && here != found)
            return NULL;
        found = here;
    }
    return found;
}

/* Does s sum over just what the mean is over, for the mean that it takes? */
static bool sums_all(const Deviations *v, const Mean *m)
{
    const Stmt *s = v->s, *sum = m->sum;

    if (m->x->tensor != v->x->tensor || s->n_red != sum->n_red)
        return false;
    for (int i = 0; i < sum->n_red; i++) {
        const Var *here = stands_for(v->x, m->x, sum->red[i]);
        if (!here || here->extent != sum->red[i]->extent ||
            !is_one_of(s->red, s->n_red, here))
            return false;
        for (int k = 0; k < i; k++)
            if (stands_for(v->x, m->x, sum->red[k]) == here)
                return false;
    }
    for (int d = 0; d < sum->tensor->rank; d++) {
        const Var *here =
            stands_for(v->x, m->x, idx_is_var(sum->store[d]));
        if (!here || here != idx_is_var(v->m->at[d]) ||
            !is_one_of(s->out, s->n_out, here))
            return false;
    }
    return true;
}

static bool sums_deviations(Deviations *v, const Stmt *s)
{
    Mean m;

    v->s = s;
    v->x = v->m = NULL;
    return s->op == R_SUM && is_deviation(v, s->value) &&
           find_mean(v, v->m->tensor, &m) && sums_all(v, &m);
}

static Deviations look(Graph *g)
{
    return (Deviations){.g = g,
                        .by = arena_array(g->arena, const Stmt *,
                                          g->n_tensor + 1)};
}

/* Statement s was looked at. */
static void note_maker(Deviations *v, bool *more, const Stmt *s)
{
    int id = s->tensor->id;

    more[id] |= v->by[id] || s->where.n || s->tensor->prev;
    v->by[id] = more[id] ? NULL : s;
}

const Expr **find_deviations(Graph *g)
{
    Deviations v = look(g);
    bool *more = arena_array(g->arena, bool, g->n_tensor + 1);
    const Expr **x = arena_array(g->arena, const Expr *, g->n_stmt + 1);

    v.factors = true;
    for (int i = 0; i < g->n_stmt; i++) {
        x[i] = sums_deviations(&v, g->stmt[i]) ? v.x : NULL;
        note_maker(&v, more, g->stmt[i]);
    }
    return x;
}

static bool is_zero(const Deviations *v, const Expr *e)
{
    e = bare(e);
    if (e->kind == E_UNARY && e->fn == F_NEG)
        return is_zero(v, e->arg[0]);
    return e->kind == E_READ && v->zero[e->tensor->id];
}

/* Products with it, and sums, without it. */
static const Expr *without(Graph *g, const Expr *e, void *ctx)
{
    const Deviations *v = ctx;

    if (e->kind != E_BINARY || e->arg[2])
        return NULL;
    for (int i = 0; i < 2; i++) {
        const Expr *other = e->arg[1 - i];
        if (!is_zero(v, e->arg[i]))
            continue;
        if (e->fn == F_MUL)
            return expr_cast(g, e->arg[i], e->type);
        if (other->type == e->type &&
            (e->fn == F_ADD || (e->fn == F_SUB && i == 1)))
            return other;
    }
    return NULL;
}

static void make_zero(const Deviations *v, Stmt *s)
{
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
    s->value = expr_const(v->g, 0, s->tensor->type);
}

static void leave_out_zeros(Deviations *v, Stmt *s)
{
    s->value = expr_rewrite(v->g, s->value, without, v);
    if ((s->op == R_NONE || s->op == R_SUM) && is_zero(v, s->value))
        make_zero(v, s);
}

void drop_deviations(Graph *g)
{
    Deviations v = look(g);
    bool *more = arena_array(g->arena, bool, g->n_tensor + 1), any = false;

    v.zero = arena_array(g->arena, bool, g->n_tensor + 1);
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        if (any)
            leave_out_zeros(&v, s);
        if (sums_deviations(&v, s)) {
            make_zero(&v, s);
            any = true;
        }
        note_maker(&v, more, s);
        v.zero[s->tensor->id] = any && s->op == R_NONE &&
                                s->value->kind == E_CONST &&
                                s->value->num == 0 && !more[s->tensor->id] &&
                                s->tensor->role == ROLE_TEMP;
    }
}
