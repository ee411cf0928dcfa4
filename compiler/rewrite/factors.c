#include "rewrite/factors.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

enum { LONG = 64 /* the sum and both sides: what tiles gain by */ };

static void look_at(const Expr *e, void *ctx)
{
    FactorReads *r = ctx;

    if (e->kind != E_READ)
        return;
    r->run |= !tensor_is_constant(e->tensor);
    for (int d = 0; d < e->tensor->rank; d++)
        r->plain &= idx_is_const(e->at[d]) || idx_is_var(e->at[d]);
    if (!r->largest ||
        tensor_elems(e->tensor) > tensor_elems(r->largest->tensor))
        r->largest = e;
}

FactorReads factor_reads(const Expr *e)
{
    FactorReads r = {.plain = true};

    expr_visit(e, look_at, &r);
    return r;
}

static bool is_16_bits(Type t)
{
    return t == T_F16 || t == T_BF16;
}

/* A factor that is no read of 16 bits as they lie. */
static bool is_computed(const Expr *e)
{
    return e->kind != E_READ || e->in.n || !is_16_bits(e->tensor->type);
}

int factor_points(Graph *g, const Stmt *s, const Expr *e, const Expr *most,
                  const Var **v)
{
    const Idx *at = tensor_offset(g, most->tensor, most->at);
    int n = 0;

    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *x = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        if (!expr_uses(e, x))
            continue;
        if (n == MAX_RANK)
            return 0;
        int64_t step = idx_coef(at, x);
        int k = n++;
        for (; k > 0 && idx_coef(at, v[k - 1]) < step && step &&
               idx_coef(at, v[k - 1]);
             k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    return n;
}

static int64_t extents(const Stmt *s, const Expr *a, const Expr *b)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(a, s->out[i]) && !(b && expr_uses(b, s->out[i])))
            n *= s->out[i]->extent;
    return n;
}

/* Many rows and columns have each value, and the sum is long. */
static bool is_large(const Stmt *s, const Expr *a, const Expr *b)
{
    int64_t sum = 1;

    for (int i = 0; i < s->n_red; i++)
        sum *= expr_uses(a, s->red[i]) && expr_uses(b, s->red[i])
                   ? s->red[i]->extent
                   : 1;
    return sum >= LONG && extents(s, a, b) >= LONG && extents(s, b, a) >= LONG;
}

/* The value that is stored: under a guard, a choice, which no reader reads
 * through. */
static const Expr *value_of(Graph *g, const Expr *e, Type type)
{
    if (e->kind == E_READ && e->in.n)
        e = expr_select(g, expr_of_guard(g, e->in),
                        expr_read(g, e->tensor, e->at, (Guard){0}, NULL),
                        e->outside, e->type);
    return expr_cast(g, e, type);
}

/* A tensor of e's values, and a read of it where e stood in s. */
static const Expr *stored(Graph *g, const Stmt *s, int at, const Expr *e,
                          Type type)
{
    const Var *v[MAX_RANK];
    const FactorReads r = factor_reads(e);
    int n = factor_points(g, s, e, r.largest, v);
    Stmt *c = r.run ? stmt_insert(g, at) : load_stmt(g, r.largest->tensor);

    if (r.run)
        c->when = s->when;
    c->path = arena_printf(g->arena, "%s_factor", s->path);
    return store_values(g, c, s, value_of(g, e, type), v, n, type,
                        arena_printf(g->arena, "%s_factor", s->tensor->name));
}

/* s = sum(k) of[0] of[1], where `range` holds, if that is not NULL: then
 * of[own] has all its rows, and is 0 elsewhere. */
typedef struct Found {
    const Expr *of[2], *range;
    Type type[2];
    int own;
} Found;

static bool has_rows(const Stmt *s, const Expr *e, const Expr *range)
{
    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(range, s->out[i]) && !expr_uses(e, s->out[i]))
            return false;
    return true;
}

/* e, a term, without its range. */
static const Expr *find_range(Found *f, const Expr *e)
{
    const Expr *none = e->kind == E_SELECT ? e->arg[2] : NULL;

    if (!none || none->kind != E_CONST || none->num != 0)
        return e;
    f->range = e->arg[0];
    return expr_strip(e->arg[1]);
}

static bool cut_factor(Graph *g, const Stmt *s, Found *f)
{
    f->own = !has_rows(s, f->of[0], f->range);
    const Expr *e = f->of[f->own];
    if (!has_rows(s, e, f->range))
        return false;
    f->of[f->own] = expr_select(g, f->range, e, expr_const(g, 0, e->type),
                                e->type);
    return true;
}

/* Whether s is a sum of products of two, worth tiles, which tensor cores take
 * as type[0] and type[1]. */
static bool find_factors(Graph *g, const Stmt *s, Found *f)
{
    const Expr *e = find_range(f, expr_strip(s->value));

    if (s->op != R_SUM || s->when != WHEN_RUN || s->where.n ||
        !type_is_float(e->type) || e->kind != E_BINARY || e->fn != F_MUL)
        return false;
    for (int i = 0; i < 2; i++) {
        f->of[i] = expr_strip(e->arg[i]);
        f->type[i] = expr_exact_type(f->of[i]);
    }
    expr_float_types(&f->type[0], &f->type[1]);
    return f->type[0] == f->type[1] && is_16_bits(f->type[0]) &&
           is_large(s, f->of[0], f->of[1]) &&
           (!f->range || cut_factor(g, s, f));
}

static bool worth_storing(Graph *g, const Stmt *s, const Expr *e)
{
    const Var *v[MAX_RANK];

    if (!is_computed(e))
        return false;
    const FactorReads r = factor_reads(e);
    return r.plain && r.largest && factor_points(g, s, e, r.largest, v);
}

/* s's term, of the factors as they are now. */
static const Expr *term_of(Graph *g, const Found *f)
{
    const Expr *e = expr_binary(g, F_MUL, f->of[0], f->of[1], T_F32);

    return f->range ? expr_select(g, f->range, e, expr_const(g, 0, T_F32),
                                  T_F32)
                    : e;
}

void split_computed(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        Found f = {.range = NULL};

        if (!find_factors(g, s, &f) ||
            (f.range && !worth_storing(g, s, f.of[f.own])))
            continue;
        for (int k = 0; k < 2; k++) {
            if (!worth_storing(g, s, f.of[k]))
                continue;
            f.of[k] = stored(g, s, i, f.of[k], f.type[k]);
            f.of[k]->tensor->cut = f.range && k == f.own;
            s->value = term_of(g, &f);
            i++;
        }
    }
}
