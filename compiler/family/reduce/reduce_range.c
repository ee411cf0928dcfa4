/* reduce_range.c - rows whose columns data bound: sum(m in o[b]..o[b + 1]) is
 * of those columns alone, not of all with a condition. */
#include "family/reduce/reduce.h"

#include <limits.h>

static const Var *only_column(const Group *gr)
{
    const Var *only = NULL;

    for (int i = 0; i < gr->n_cols; i++)
        if (gr->cols[i]->extent > 1) {
            if (only)
                return NULL;
            only = gr->cols[i];
        }
    return only;
}

/* What one condition on column m says, if it is one that data decide. */
static void take_bound(ReduceForm *f, Cond c, const Var *m, const Idx **from,
                       const Idx **to)
{
    IdxPool *p = f->graph->pool;
    const int64_t step = idx_coef(c.e, m);
    const Idx *column = idx_var(p, m);

    if (c.mod || !idx_has_data(c.e) || (step != 1 && step != -1))
        return;
    const Idx *bound = step > 0 ? idx_sub(p, column, c.e)
                                : idx_addc(p, idx_add(p, c.e, column), 1);
    if (idx_uses(bound, m))
        return;
    if (step > 0 && !*from)
        *from = bound;
    else if (step < 0 && !*to)
        *to = bound;
}

/* The bounds of a sum's terms: beyond, each changes nothing. */
static void take_bounds(ReduceForm *f, const Step *s, const Var *m,
                        const Idx **from, const Idx **to)
{
    const Expr *e = s->value;
    Guard in = {0};

    *from = *to = NULL;
    if (e->kind == E_READ && e->in.n && nest_leaves(s, e->outside))
        in = e->in;
    else if (e->kind == E_SELECT && nest_leaves(s, e->arg[2]) &&
             !expr_as_guard(f->graph, e->arg[0], &in))
        in = (Guard){0};
    for (int i = 0; i < in.n; i++)
        take_bound(f, in.cond[i], m, from, to);
}

/* About how many of the columns a row has: rows share them all, or each has
 * half of them. */
static double part_of(const ReduceForm *f)
{
    double rows = 1;

    for (int i = 0; f->from && f->to && i < f->plain->n_rows; i++) {
        const Var *v = f->plain->rows[i];
        if (idx_uses(f->from, v) && idx_uses(f->to, v))
            rows *= (double)v->extent;
    }
    return rows > 2 ? 1 / rows : 1.0 / 2;
}

void reduce_find_range(ReduceForm *f)
{
    const Group *gr = f->plain;
    const Var *m = only_column(gr);
    const Idx *from = NULL, *to = NULL;
    bool found = false;

    f->part = 1;
    if (!m || f->plan.passes != 1 || group_cols(gr) > INT_MAX / 2)
        return;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        const Idx *own_from, *own_to;
        if (!is_col_step(s))
            continue;
        if (s->op == R_NONE)
            return;
        take_bounds(f, s, m, &own_from, &own_to);
        if (found && (own_from != from || own_to != to))
            return;
        from = own_from;
        to = own_to;
        found = true;
    }
    f->from = from;
    f->to = to;
    if (from || to)
        f->part = part_of(f);
}

/* By vectors of rows, all of a thread's have the same columns. */
void reduce_plan_range(RowReduce *r, const ReduceForm *f)
{
    const Var *along = r->mode == MODE_COLUMNS && r->vec > 1 ? r->along : NULL;

    r->part = 1;
    if (!(f->from || f->to) || r->mode == MODE_SPLIT || r->parts > 1 ||
        r->held || (along && f->from && idx_uses(f->from, along)) ||
        (along && f->to && idx_uses(f->to, along)))
        return;
    r->from = f->from;
    r->to = f->to;
    r->part = f->part;
    r->keep = r->flat = false;
    r->chunks = (int)(r->chunks * r->part) + 1;
}

void reduce_put_range(RowReduce *r, Tree *out)
{
    CPrint *p = &r->body.print;
    Arena *a = r->graph->arena;
    const bool vectors = r->mode != MODE_COLUMNS && r->vec > 1;

    if (!r->from && !r->to)
        return;
    const char *size =
        kernel_extent(r->graph, r->kernel, only_column(r->group));
    r->first = cprint_fresh(p, "first");
    r->last = r->to ? cprint_fresh(p, "last") : size;
    if (r->from)
        cprint_bind_idx(out, p, r->from);
    if (r->to)
        cprint_bind_idx(out, p, r->to);
    PUT(out, "const int @first = @from@@whole;\n", FILL("first", r->first),
        FILL("from", r->from ? arena_printf(a, "max(%s, 0)",
                                            cprint_idx(p, r->from, 0))
                             : "0"),
        FILL("whole", r->from && vectors ? " / VEC * VEC" : ""));
    if (r->to)
        PUT(out, "const int @last = min(@to, @size);\n",
            FILL("last", r->last), FILL("to", cprint_idx(p, r->to, 0)),
            FILL("size", size));
}

/* The first pass reads them along the columns. */
bool reduce_is_early(const RowReduce *r, const Expr *e)
{
    enum { LEAST = 64 << 10 }; /* bytes: fewer come as fast when needed */
    bool along = false, data = read_by_local(e);

    for (int i = 0; i < r->group->n_cols; i++)
        along |= read_uses(e, r->cols[i]);
    for (int i = 0; i < e->tensor->rank; i++)
        data |= idx_has_data(e->at[i]);
    return along && !data && tensor_is_constant(e->tensor) &&
           guard_truth(e->in) == ALWAYS &&
           tensor_elems(e->tensor) * type_bytes(e->tensor->type) >= LEAST;
}
