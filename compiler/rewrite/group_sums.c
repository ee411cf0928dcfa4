#include "rewrite/group_sums.h"

#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

enum { MOST_HEADS = 32, LONG = 64 };

typedef struct GroupSum {
    Graph *g;
    const Stmt *s;
    const Expr *scores, *other;
    const Var *head, *query;
} GroupSum;

/* Points of the result that x has for itself. */
static int64_t own_points(const GroupSum *f, const Expr *x, const Expr *other)
{
    const Var *own[MAX_RANK * 2];
    int64_t n = 1;

    for (int i = walk_only_in(f->s, x, other, own); i-- > 0;)
        n *= own[i]->extent;
    return n;
}

/* Of both factors there is one for each head and each query of each group, and
 * one has many more columns. */
static bool is_group_sum(GroupSum *f)
{
    const Stmt *s = f->s;
    const Expr *a, *b;
    bool grouped = false;

    if (!s->behind || s->op != R_SUM || s->n_red != 2 || s->where.n ||
        s->tensor->prev || s->when != WHEN_RUN || s->n_out >= MAX_RANK ||
        !walk_product(s, &a, &b) || a->in.n || b->in.n)
        return false;
    f->head = s->red[0]->extent <= s->red[1]->extent ? s->red[0] : s->red[1];
    f->query = f->head == s->red[0] ? s->red[1] : s->red[0];
    if (f->head->extent > MOST_HEADS || f->query->extent < LONG)
        return false;
    for (int i = 0; i < 2; i++)
        if (!expr_uses(a, s->red[i]) || !expr_uses(b, s->red[i]))
            return false;
    for (int i = 0; i < s->n_out; i++)
        grouped |= s->out[i]->extent > 1 && expr_uses(a, s->out[i]) &&
                   expr_uses(b, s->out[i]);
    int64_t in_a = own_points(f, a, b), in_b = own_points(f, b, a);
    f->scores = in_a > in_b ? a : b;
    f->other = in_a > in_b ? b : a;
    return grouped && in_a != in_b && (in_a < in_b ? in_b : in_a) >= LONG &&
           (in_a < in_b ? in_b / in_a : in_a / in_b) >= 2;
}

/* Scores are made point by point, not loaded or summed. */
static bool is_made(const GroupSum *f)
{
    const Graph *g = f->g;

    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i]->tensor == f->scores->tensor)
            return g->stmt[i]->op == R_NONE &&
                   f->scores->tensor->role == ROLE_TEMP &&
                   f->scores->tensor->when == WHEN_RUN;
    return false;
}

/* p of the head's queries, before statement `at`; s is the sum of it. */
static void split(GroupSum *f, int at)
{
    Graph *g = f->g;
    Stmt *s = g->stmt[at];
    const Var **out = arena_array(g->arena, const Var *, MAX_RANK);
    const Var **red = arena_array(g->arena, const Var *, 1);
    const Idx **store = arena_array(g->arena, const Idx *, MAX_RANK);
    const Idx **place = arena_array(g->arena, const Idx *, MAX_RANK);
    Subst sub[MAX_RANK + 2];
    int64_t dim[MAX_RANK];
    int n = 0, rank = 0;

    /* the head before the rows, as where it has keys of its own */
    for (int i = 0; i < s->n_out; i++) {
        const Var *v = s->out[i];
        if (v->extent == 1)
            continue;
        if (!walk_in_list(out, rank, f->head) &&
            expr_uses(f->scores, v) != expr_uses(f->other, v))
            out[rank++] = f->head;
        out[rank++] = v;
    }
    for (int i = 0; i < rank; i++) {
        const Var *v = idx_new_var(g->pool, out[i]->name, out[i]->extent);
        place[i] = idx_var(g->pool, out[i]);
        store[i] = idx_var(g->pool, v);
        dim[i] = v->extent;
        sub[n++] = (Subst){out[i], store[i]};
        out[i] = v;
    }
    red[0] = idx_new_var(g->pool, f->query->name, f->query->extent);
    sub[n++] = (Subst){f->query, idx_var(g->pool, red[0])};
    Stmt *p = stmt_insert(g, at);
    int id = p->id;
    *p = *s;
    p->id = id;
    p->tensor = graph_tensor_like(g, s->tensor, T_F32, rank, dim);
    p->out = out;
    p->n_out = rank;
    p->store = store;
    p->red = red;
    p->n_red = 1;
    p->value = expr_subst(g, s->value, sub, n);
    s->red = arena_array(g->arena, const Var *, 1);
    s->red[0] = f->head;
    s->n_red = 1;
    s->value = expr_read(g, p->tensor, place, (Guard){0}, NULL);
}

bool split_group_sums(Graph *g)
{
    bool any = false;

    for (int i = 0; i < g->n_stmt; i++) {
        GroupSum f = {.g = g, .s = g->stmt[i]};
        if (!is_group_sum(&f) || !is_made(&f))
            continue;
        split(&f, i++);
        any = true;
    }
    return any;
}
