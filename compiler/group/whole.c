#include "group/whole.h"

#include "group/split.h"

#include <string.h>

enum { MAX_DIGITS = 24 };

typedef struct Digits {
    Graph *g;
    const Var *part[MAX_DIGITS]; /* slow to fast */
    int n;
    bool apart;
} Digits;

/* Whether they step through memory as one number does. */
static void note_steps(const Expr *e, void *ctx)
{
    Digits *s = ctx;

    if (e->kind != E_READ)
        return;
    const Idx *at = tensor_offset(s->g, e->tensor, e->at);
    for (int i = 0; i < s->n; i++) {
        const Var *v = s->part[i];
        s->apart |= guard_uses(e->in, v) || !idx_affine(at);
        if (i + 1 < s->n)
            s->apart |= idx_coef(at, v) != idx_coef(at, s->part[i + 1]) *
                                               s->part[i + 1]->extent;
    }
}

/* The digits of a dimension. */
static bool find_digits(Digits *s, const Group *first, const Group *gr,
                        const Step *made, int d)
{
    int rows = 0, cols = 0, sum = 0;

    s->apart = false;
    s->n = idx_radix(made->store[d], made->tensor->dim[d], s->part, MAX_DIGITS);
    if (s->n < 2)
        return false;
    for (int i = 0; i < s->n; i++) {
        rows += vars_have(gr->rows, gr->n_rows, s->part[i]);
        cols += vars_have(gr->cols, gr->n_cols, s->part[i]);
    }
    while (first->step[sum].op == R_NONE)
        sum++;
    for (int i = 0; i <= sum; i++) /* what follows reads as it likes */
        expr_visit(first->step[i].value, note_steps, s);
    return !s->apart &&
           (rows == s->n || (cols == s->n && cols == gr->n_cols));
}

/* v in place of the variables of s. */
static void put_number(Graph *g, Group *gr, const Var *v, const Subst *s, int n)
{
    for (int side = 0; side < 2; side++) {
        const Var **old = side ? gr->cols : gr->rows;
        int n_old = side ? gr->n_cols : gr->n_rows, k = 0;
        const Var **list = arena_array(g->arena, const Var *, n_old + 1);
        for (int i = 0; i < n_old; i++) {
            int part = 0;
            while (part < n && s[part].var != old[i])
                part++;
            if (part == n)
                list[k++] = old[i];
            else if (part == n - 1) /* the fastest of them */
                list[k++] = v;
        }
        if (side)
            gr->cols = list, gr->n_cols = k;
        else
            gr->rows = list, gr->n_rows = k;
    }
    group_subst(g, gr, s, n);
}

/* A number for the digits of s, and what they are of it. */
static const Var *make_number(const Digits *s, Subst *by)
{
    IdxPool *p = s->g->pool;
    int64_t below = 1, all = 1;

    for (int i = 0; i < s->n; i++)
        all *= s->part[i]->extent;
    const Var *v = idx_new_var(p, s->part[s->n - 1]->name, all);
    for (int i = s->n - 1; i >= 0; i--) {
        int64_t extent = s->part[i]->extent;
        const Idx *e = idx_floor(p, idx_var(p, v), below);
        by[i] = (Subst){s->part[i], i ? idx_mod(p, e, extent) : e};
        below *= extent;
    }
    return v;
}

void chain_whole(Graph *g, Group *first, Group *between, Group *also,
                 const Step *made)
{
    Group *const of[] = {first, between, also};
    Digits s = {.g = g};

    for (int d = 0; d < made->tensor->rank; d++) {
        Subst by[MAX_DIGITS];
        if (!find_digits(&s, first, between, made, d))
            continue;
        const Var *v = make_number(&s, by);
        for (int k = 0; k < 3 && of[k]; k++)
            put_number(g, of[k], v, by, s.n);
    }
}

Group *chain_whole_sum(Graph *g, Group *second)
{
    Digits s = {.g = g, .n = second->n_cols};
    Subst by[MAX_DIGITS];
    int sum = 0;

    if (s.n < 2 || s.n > MAX_DIGITS)
        return second;
    memcpy(s.part, second->cols, sizeof *s.part * (size_t)s.n);
    while (second->step[sum].op == R_NONE)
        sum++;
    for (int i = 0; i <= sum; i++)
        expr_visit(second->step[i].value, note_steps, &s);
    if (s.apart)
        return second;
    Group *gr = group_copy(g, second);
    put_number(g, gr, make_number(&s, by), by, s.n);
    return gr;
}
