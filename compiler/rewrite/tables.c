#include "rewrite/tables.h"

#include "rewrite/normalise.h"
#include "rewrite/simplify.h"

typedef struct Tables {
    Stmt *s;
    bool store;      /* or count alone */
    int n;           /* that were found */
    Splittable rest; /* what the others would split */
} Tables;

/* The points of s that index e: into v[]; 0 where there are too many. */
static int table_vars(const Stmt *s, const Expr *e, const Var **v)
{
    enum { MOST = 1 << 20 };
    int64_t points = 1;
    int n = 0;

    for (int i = 0; i < s->n_out; i++) {
        if (!expr_uses(e, s->out[i]))
            continue;
        if (n == MAX_RANK || s->out[i]->extent > MOST / points)
            return 0;
        points *= s->out[i]->extent;
        v[n++] = s->out[i];
    }
    return n;
}

static bool is_table(const Tables *t, const Expr *e, const Var **v, int *n)
{
    Splittable f = {0};

    if (e->kind != E_READ || !tensor_is_constant(e->tensor))
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return false;
    splittable_note(e, &f);
    return f.v && (*n = table_vars(t->s, e, v)) > 0;
}

static const Expr *take_table(Graph *g, const Expr *e, void *ctx)
{
    Tables *t = ctx;
    const Var *v[MAX_RANK];
    int n, at = 0;

    if (!is_table(t, e, v, &n)) {
        splittable_note(e, &t->rest);
        return NULL;
    }
    t->n++;
    if (!t->store)
        return e;
    while (g->stmt[at] != t->s)
        at++;
    Stmt *c = stmt_insert(g, at);
    c->when = WHEN_LOAD;
    c->path = arena_printf(g->arena, "%s_%s", t->s->path, e->tensor->name);
    return store_values(g, c, t->s, e, v, n, e->type, e->tensor->name);
}

void lay_out_tables(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        Tables t = {.s = g->stmt[i]};
        int before = g->n_stmt;
        if (t.s->when != WHEN_RUN || t.s->op != R_NONE)
            continue;
        expr_rewrite(g, t.s->value, take_table, &t);
        for (int d = 0; d < t.s->tensor->rank; d++)
            splittable_note(expr_index(g, t.s->store[d]), &t.rest);
        if (!t.n || t.rest.v)
            continue;
        t.store = true;
        t.s->value = expr_rewrite(g, t.s->value, take_table, &t);
        i += g->n_stmt - before;
    }
}
