#include "group/factor_sum.h"

#include "group/apart.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24 };

typedef struct Sum {
    Graph *g;
    const Group *p, *c;
    Contraction x;         /* p's */
    const Expr *read;      /* c's, */
    const Operand *factor; /* and what it is of p */
    Subst back[MAX_VARS];  /* c's variables in p's */
    int n_back;
} Sum;

/* One sum of a read, and values of rows that are made of it. */
static bool only_sum(Sum *s)
{
    const Step *sum = s->c->step;

    for (int i = 1; i < s->c->n_step; i++)
        if (s->c->step[i].over_cols || s->c->step[i].op != R_NONE)
            return false;
    s->read = s->c->n_step ? expr_strip(sum->value) : NULL;
    return s->c->n_cols && s->read && sum->op == R_SUM && sum->over_cols &&
           sum->type == T_F32 && !sum->where.n &&
           s->read->kind == E_READ && !s->read->in.n;
}

/* Which of c's variables moves by so many elements; or NULL. */
static const Var *moves(const Var *const *list, int n, const Idx *read,
                        int64_t by)
{
    for (int i = 0; i < n; i++)
        if (list[i]->extent > 1 && idx_coef(read, list[i]) == by)
            return list[i];
    return NULL;
}

/* v, which moves as `step` says, is one of list[], or several as one number:
 * they are its digits. How many; 0: it is none. */
static int find_digits(Sum *s, const Var *v, int64_t step,
                       const Var *const *list, int n, const Idx *read)
{
    IdxPool *pool = s->g->pool;
    int64_t below = 1;
    int count = 0;

    while (below < v->extent) {
        const Var *c = moves(list, n, read, step * below);
        if (!c || v->extent % (below * c->extent) || s->n_back == MAX_VARS)
            return 0;
        const Idx *by = idx_floor(pool, idx_var(pool, v), below);
        s->back[s->n_back++] = (Subst){c, idx_mod(pool, by, c->extent)};
        below *= c->extent;
        count++;
    }
    return count;
}

/* c's variables list[] are those of p that are of[], all of both; those of one
 * value are 0. */
static bool find_back(Sum *s, const Var *const *of, int n_of,
                      const Var *const *list, int n, const Idx *read,
                      const Idx *factor)
{
    int count = 0;

    for (int i = 0; i < n && s->n_back < MAX_VARS; i++)
        if (list[i]->extent == 1)
            s->back[s->n_back++] =
                (Subst){list[i], idx_const(s->g->pool, 0)};
        else
            count++;
    for (int i = 0; i < n_of; i++) {
        int64_t step = idx_coef(factor, of[i]);
        int digits = of[i]->extent == 1 || !step
                         ? 0 : find_digits(s, of[i], step, list, n, read);
        if (!digits && of[i]->extent > 1)
            return false;
        count -= digits;
    }
    return count == 0;
}

/* c's rows are those of p that the factor has, and its columns p's. */
static bool is_factor(Sum *s, const Operand *o, const Var *const *rows, int n)
{
    const Idx *read = tensor_offset(s->g, s->read->tensor, s->read->at);
    const Group *c = s->c;

    s->factor = o;
    s->n_back = 0;
    return o->read && o->read->tensor == s->read->tensor && !o->in.n &&
           idx_affine(read) && idx_affine(o->offset) &&
           read->k == o->offset->k &&
           find_back(s, rows, n, c->rows, c->n_rows, read, o->offset) &&
           find_back(s, s->x.k, s->x.n_k, c->cols, c->n_cols, read, o->offset);
}

static void note_older(const Step *s, void *ctx)
{
    expr_visit(s->value, older_note, ctx);
}

/* Does a read what b overwrites? */
static bool reads_older(const Group *a, const Group *b)
{
    for (int i = 0; i < b->n_step; i++) {
        OlderReads old = {.written = b->step[i].tensor};
        if (old.written && old.written->prev)
            group_visit(a, note_older, &old);
        if (old.any || old.elsewhere)
            return true;
    }
    return false;
}

static FactorSum *make_sum(Sum *s)
{
    Graph *g = s->g;
    FactorSum *x = arena_new_of(g->arena, FactorSum);

    *x = (FactorSum){.factor = s->factor->read, .n_step = s->c->n_step,
                     .step = arena_copy(g->arena, s->c->step, s->c->n_step,
                                        s->c->n_step, sizeof *x->step)};
    for (int i = 0; i < x->n_step; i++) {
        Step *to = &x->step[i];
        to->over_cols = false;
        to->value = expr_subst(g, to->value, s->back, s->n_back);
        if (!to->tensor)
            continue;
        to->store = access_subst(g, to->store, to->tensor->rank, s->back,
                                 s->n_back);
        to->where = guard_subst(g->pool, to->where, s->back, s->n_back);
        to->needed = guard_subst(g->pool, to->needed, s->back, s->n_back);
    }
    return x;
}

static bool plain(const Group *gr)
{
    return !gr->chain && !gr->merge && !gr->pieces && !gr->factor_sum;
}

Group *fuse_factor_sum(Graph *g, const Group *p, const Group *c)
{
    Sum s = {.g = g, .p = p, .c = c};
    const Contraction *x = &s.x;
    const char *why;

    if (!p->n_cols || !plain(p) || !plain(c) || p->when != c->when ||
        !only_sum(&s) || !group_contraction(g, p, &s.x, &why) ||
        x->parts != 1 || x->batches != 1 || !x->n_m || !x->n_n ||
        !(is_factor(&s, &x->a, x->m, x->n_m) ||
          is_factor(&s, &x->b, x->n, x->n_n)))
        return NULL;
    if (group_too_long(p, c) || group_follows(p, c) || group_follows(c, p) ||
        reads_older(p, c) || reads_older(c, p))
        return NULL;
    Group *r = group_copy(g, p);
    r->factor_sum = make_sum(&s);
    group_add_stmts(g, r, c);
    return r;
}

/* ---- a factor that the sum's own group makes ----------------------------- */

typedef struct Locals {
    int first; /* the sum's step is number 0 now, and so on */
    bool other;
} Locals;

static const Expr *renumber(Graph *g, const Expr *e, void *ctx)
{
    Locals *l = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    l->other |= e->local < l->first;
    return l->other ? NULL : expr_local(g, e->local - l->first, e->type);
}

/* The step whose stored values are summed, behind all that is of points; -1. */
static int made_by(const Group *c)
{
    int sum = 0;

    while (sum < c->n_step && c->step[sum].over_cols &&
           c->step[sum].op == R_NONE)
        sum++;
    if (!sum || sum == c->n_step || c->step[sum].op != R_SUM)
        return -1;
    const Expr *e = expr_strip(c->step[sum].value);
    return e->kind == E_LOCAL && c->step[e->local].tensor &&
                   !c->step[e->local].where.n ? e->local : -1;
}

/* c's sum of what step `made` stores, and what follows from it. */
static Group *sum_alone(Graph *g, const Group *c, int made)
{
    Group *r = group_copy(g, c);
    const Step *s = &c->step[made];
    Locals l = {.first = 0};

    while (c->step[l.first].op == R_NONE)
        l.first++;
    r->n_step = c->n_step - l.first;
    r->step = arena_copy(g->arena, c->step + l.first, r->n_step, r->n_step,
                         sizeof *r->step);
    r->step[0].value = expr_read(g, s->tensor, s->store, (Guard){0}, NULL);
    for (int i = 1; i < r->n_step; i++)
        r->step[i].value = expr_rewrite(g, r->step[i].value, renumber, &l);
    return l.other ? NULL : r;
}

static Group *points_alone(Graph *g, const Group *c, int made)
{
    Group *r = group_copy(g, c);
    int n = 0;

    while (c->step[n].op == R_NONE)
        n++;
    r->n_step = n;
    r->rows = arena_array(g->arena, const Var *, c->n_rows + c->n_cols);
    for (int i = 0; i < c->n_rows; i++)
        r->rows[i] = c->rows[i];
    for (int i = 0; i < c->n_cols; i++)
        r->rows[c->n_rows + i] = c->cols[i];
    r->n_rows = c->n_rows + c->n_cols;
    r->n_cols = 0;
    r->step = arena_copy(g->arena, c->step, n, n, sizeof *r->step);
    for (int i = 0; i < n; i++)
        r->step[i].over_cols = false;
    vars_sort(r->rows, r->n_rows,
              tensor_offset(g, c->step[made].tensor, c->step[made].store));
    return r;
}

static bool is_source(const Group *gr, const Stmt *s)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].source == s)
            return true;
    return false;
}

/* Each of c's statements is one of the two's. */
static void deal_stmts(Graph *g, const Group *c, Group *sum, Group *points)
{
    sum->stmt = points->stmt = NULL;
    sum->n_stmt = sum->cap_stmt = points->n_stmt = points->cap_stmt = 0;
    for (int i = 0; i < c->n_stmt; i++) {
        Group *of = is_source(sum, c->stmt[i]) ? sum : points;
        VEC_PUSH(g->arena, of->stmt, of->n_stmt, of->cap_stmt) = c->stmt[i];
    }
}

Group *split_factor_sum(Graph *g, const Group *p, const Group *c,
                        Group **points)
{
    int made = plain(c) && plain(p) && p->n_cols && c->n_cols &&
                       !group_follows(c, p) ? made_by(c) : -1;
    Group *sum = made < 0 || !group_reads(p, c->step[made].tensor)
                     ? NULL : sum_alone(g, c, made);

    if (!sum || !(*points = points_alone(g, c, made)))
        return NULL;
    deal_stmts(g, c, sum, *points);
    return sum->n_stmt && (*points)->n_stmt ? fuse_factor_sum(g, p, sum) : NULL;
}
