#include "rewrite/unfold.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

/* The variables of a factor: of the product's rows, and then those summed. */
typedef struct Patch {
    const Var *v[MAX_RANK];
    int n;
    int64_t rows, cols; /* points of either */
} Patch;

/* Whether no two points of e's variables are one number: each digit begins
 * where those below it end. */
static bool is_digits(const Idx *e)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        int64_t below = 0;
        if (a->kind != ATOM_VAR || e->term[i].c < 1)
            return false;
        for (int k = 0; k < e->n; k++)
            if (k != i && e->term[k].c <= e->term[i].c &&
                e->term[k].atom->kind == ATOM_VAR)
                below += e->term[k].c * (e->term[k].atom->var->extent - 1);
        if (below >= e->term[i].c)
            return false;
    }
    return true;
}

/* How many of e's indices v is in. */
static int times_in(const Expr *e, const Var *v)
{
    int n = 0;

    for (int d = 0; d < e->tensor->rank; d++)
        n += idx_uses(e->at[d], v);
    return n;
}

/* Sets p; false if an element is read more than once, or there are too many
 * variables. */
static bool find_patch(const Stmt *s, const Expr *e, Patch *p)
{
    *p = (Patch){.rows = 1, .cols = 1};
    for (int d = 0; d < e->tensor->rank; d++)
        if (!is_digits(e->at[d]))
            return false;
    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *v = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        int n = times_in(e, v);
        if (n == 0)
            continue;
        if (n > 1 || p->n == MAX_RANK)
            return false;
        p->v[p->n++] = v;
        *(i < s->n_out ? &p->rows : &p->cols) *= v->extent;
    }
    return true;
}

/* Whether what is summed lies in runs of less than a tile's row in memory,
 * between others. */
static bool in_short_runs(const Stmt *s, const Expr *e)
{
    enum { LINE = 128 }; /* bytes: of a row of k in shared memory */
    const Idx *last = e->at[e->tensor->rank - 1];
    int64_t run = 0;
    bool summed = false, own = false;

    for (int i = 0; i < last->n; i++) {
        const Var *v = last->term[i].atom->var;
        bool red = walk_in_list((const Var *const *)s->red, s->n_red, v);
        summed |= red;
        own |= !red;
        if (red && last->term[i].c == 1)
            run = v->extent;
    }
    return summed && own && run > 1 &&
           run * type_bytes(e->tensor->type) < LINE;
}

static bool is_worth(const Stmt *s, const Expr *e, const Expr *other, Patch *p)
{
    enum { LEAST = 32 };
    const Tensor *t = e->tensor;
    int64_t columns = 1;

    if (type_bytes(t->type) != 2 || !type_is_float(t->type) ||
        tensor_is_constant(t) || guard_truth(e->in) != ALWAYS ||
        t->rank == 0 || !find_patch(s, e, p) || !in_short_runs(s, e))
        return false;
    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(other, s->out[i]) && !expr_uses(e, s->out[i]))
            columns *= s->out[i]->extent;
    return p->rows >= LEAST && p->cols >= LEAST && columns >= LEAST;
}

/* t[rows, cols] = e, ahead of statement `at`. */
static Tensor *copy_patch(Graph *g, int at, const Expr *e, const Patch *p)
{
    const Stmt *s = g->stmt[at];
    int64_t dim[MAX_RANK];
    Subst sub[MAX_RANK];

    for (int d = 0; d < p->n; d++)
        dim[d] = p->v[d]->extent;
    Tensor *t = graph_tensor(
        g, arena_printf(g->arena, "%s_patches", e->tensor->name),
        e->tensor->type, p->n, dim);
    t->path = s->tensor->path;
    t->when = WHEN_RUN;
    t->at = s->at;
    Stmt *c = stmt_insert(g, at);
    c->n_out = p->n;
    c->out = arena_array(g->arena, const Var *, MAX_RANK);
    c->store = arena_array(g->arena, const Idx *, MAX_RANK);
    for (int d = 0; d < p->n; d++) {
        c->out[d] = idx_new_var(g->pool, p->v[d]->name, p->v[d]->extent);
        c->store[d] = idx_var(g->pool, c->out[d]);
        sub[d] = (Subst){p->v[d], c->store[d]};
    }
    c->tensor = t;
    c->value = expr_subst(g, e, sub, p->n);
    c->when = WHEN_RUN;
    c->at = s->at;
    c->call = s->call;
    c->behind = s->behind;
    c->path = t->name;
    return t;
}

static const Expr *read_patch(Graph *g, const Tensor *t, const Patch *p)
{
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);

    for (int d = 0; d < p->n; d++)
        at[d] = idx_var(g->pool, p->v[d]);
    return expr_read(g, (Tensor *)t, at, (Guard){0}, NULL);
}

int unfold(Graph *g, bool count)
{
    int n = 0;

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        const Expr *f[2];
        if (s->when != WHEN_RUN || s->where.n || !walk_product(s, &f[0], &f[1]))
            continue;
        for (int k = 0; k < 2; k++) {
            Patch p;
            if (!is_worth(s, f[k], f[!k], &p))
                continue;
            n++;
            if (count)
                continue;
            const Tensor *t = copy_patch(g, i, f[k], &p);
            f[k] = read_patch(g, t, &p);
            s->value = expr_binary(g, F_MUL, f[0], f[1], s->value->type);
            i++; /* s is one further */
        }
    }
    return n;
}
