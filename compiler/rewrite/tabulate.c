#include "rewrite/tabulate.h"

#include "rewrite/simplify.h"

enum {
    MOST = 1 << 20, /* values of a table, which the L2 keeps */
    FEW = 1 << 12,  /* those of a window's weights */
    SHARED = 4      /* points that have the same value, at least */
};

typedef struct Tabulate {
    Graph *g;
    Stmt *s;
    int added; /* statements before s */
    struct Made {
        const Expr *of, *read;
    } *made;
    int n, cap;
} Tabulate;

typedef struct Parts {
    bool other;        /* data */
    bool heavy, light; /* functions that take long, and that take a little */
} Parts;

static void note_part(const Expr *e, void *ctx)
{
    Parts *p = ctx;

    p->other |= e->kind == E_READ || e->kind == E_LOCAL ||
                (e->kind == E_INDEX && idx_has_data(e->idx)) ||
                (e->kind == E_BINARY && e->fn == F_RANDOM);
    if (e->kind == E_BINARY)
        p->heavy |= e->fn == F_POW || e->fn == F_ATAN2 || e->fn == F_FMOD;
    if (e->kind != E_UNARY || e->fn < F_SQRT)
        return;
    bool light = e->fn == F_SQRT || e->fn == F_RSQRT || e->fn == F_EXP ||
                 e->fn == F_EXP2;
    p->heavy |= !light;
    p->light |= light;
}

static int64_t points_of(const Var *const *v, int n)
{
    int64_t points = 1;

    for (int i = 0; i < n; i++)
        points *= v[i]->extent;
    return points;
}

/* How many values e has over its variables among those; they are added to
 * `used`, as far as there is room, and counted. */
static int64_t values_of(const Expr *e, const Var *const *v, int n,
                         const Var **used, int *n_used)
{
    int64_t values = 1;

    for (int i = 0; i < n; i++)
        if (expr_uses(e, v[i])) {
            values *= v[i]->extent;
            if (*n_used < MAX_RANK)
                used[*n_used] = v[i];
            ++*n_used;
        }
    return values;
}

/* The variables of e, if a table of it is worth it; else none. */
static int table_vars(const Tabulate *t, const Expr *e, const Var **used)
{
    const Stmt *s = t->s;
    Parts p = {0};
    int n = 0, rows;

    if (!type_is_float(e->type) || e->kind == E_CONST)
        return 0;
    expr_visit(e, note_part, &p);
    if (p.other || !(p.heavy || p.light))
        return 0;
    int64_t values = values_of(e, s->out, s->n_out, used, &n);
    rows = n;
    values *= values_of(e, s->red, s->n_red, used, &n);
    int64_t points = points_of(s->out, s->n_out) *
                     points_of(s->red, s->n_red);
    return n > MAX_RANK || values > MOST || values * SHARED > points ||
                   (!p.heavy && (rows || values > FEW))
               ? 0
               : n;
}

/* What a table has, for its read. */
static const Expr *written_out(Graph *g, const Expr *e, void *ctx)
{
    const Tabulate *t = ctx;

    (void)g;
    for (int i = 0; i < t->n; i++)
        if (t->made[i].read == e)
            return t->made[i].of;
    return NULL;
}

/* Of an expression whose parts have been taken: the whole is, if it may be;
 * nobody reads the parts' tables then. */
static const Expr *take(Graph *g, const Expr *e, void *ctx)
{
    Tabulate *t = ctx;
    const Var *v[MAX_RANK];

    if (!type_is_float(e->type) || e->kind == E_READ || e->kind == E_CONST)
        return NULL;
    e = t->n ? expr_rewrite(g, e, written_out, t) : e;
    int n = table_vars(t, e, v);
    if (!n)
        return NULL;
    for (int i = 0; i < t->n; i++)
        if (expr_equal(t->made[i].of, e))
            return t->made[i].read;
    Stmt *c = load_stmt(g, t->s->tensor);
    t->added++;
    c->path = arena_printf(g->arena, "%s_table", t->s->path);
    const Expr *read =
        store_values(g, c, t->s, e, v, n, e->type,
                     arena_printf(g->arena, "%s_table", t->s->tensor->name));
    VEC_PUSH(g->arena, t->made, t->n, t->cap) = (struct Made){e, read};
    return read;
}

void tabulate(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Tabulate t = {.g = g, .s = g->stmt[i]};
        if (t.s->when != WHEN_RUN)
            continue;
        t.s->value = expr_rewrite(g, t.s->value, take, &t);
        i += t.added;
    }
}
