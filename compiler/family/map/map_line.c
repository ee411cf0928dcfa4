/* map_line.c - windows along the vector's own variable: what VEC neighbouring
 * outputs and all taps read of a row of the input is loaded once, by whole
 * vectors, into registers. */
#include "family/map/map.h"
#include "emit/emit.h"

#include <string.h>

enum { MOST_LINE = 64 }; /* values of a row that a thread has */

/* Whether a condition is that `at` lies in 0..end. */
static bool is_inside(Graph *g, Cond c, const Idx *at, int64_t end)
{
    const Idx *behind = idx_addc(g->pool, idx_scale(g->pool, at, -1), end - 1);

    return c.mod == 0 && (c.e == at || c.e == behind);
}

/* The row of e's tensor that its last index walks: where it begins. */
static const Idx **row_of(Graph *g, const Expr *e)
{
    const int rank = e->tensor->rank;
    const Idx **at = arena_array(g->arena, const Idx *, rank);

    memcpy(at, e->at, sizeof *at * (size_t)rank);
    at[rank - 1] = idx_const(g->pool, 0);
    return at;
}

/* The widest vectors of that row which begin at each thread's first place. */
static int64_t row_vector(Graph *g, const Expr *e, const Line *l, int vec)
{
    const Tensor *t = e->tensor;
    const Idx *begin = tensor_offset(g, t, row_of(g, e));
    int64_t most = VECTOR_BYTES / type_bytes(t->type);

    while (most > 1 && (t->dim[t->rank - 1] % most || l->stride * vec % most))
        most /= 2;
    return idx_align(begin, most);
}

/* What e's other conditions ask; false if one mixes. */
static bool split_guard(Graph *g, const Expr *e, const Var *fast, Line *l)
{
    const int last = e->tensor->rank - 1;

    for (int i = 0; i < e->in.n; i++) {
        const Cond c = e->in.cond[i];
        if (!idx_uses(c.e, fast) && !idx_uses(c.e, l->s))
            l->rest = guard_add(g->pool, l->rest, c.e, c.mod);
        else if (!is_inside(g, c, e->at[last], e->tensor->dim[last]))
            return false;
    }
    return guard_truth(e->in) == ALWAYS ||
           (e->outside && e->outside->kind == E_CONST);
}

bool line_of(Graph *g, const Expr *e, const Var *fast, const Var *s, int vec,
             Line *l)
{
    const int last = e->tensor->rank - 1;

    *l = (Line){.s = s};
    if (last < 0 || !type_is_float(e->tensor->type) ||
        e->tensor->stride[last] != 1 || read_by_local(e) ||
        !idx_affine(tensor_offset(g, e->tensor, e->at)))
        return false;
    for (int d = 0; d < last; d++)
        if (idx_uses(e->at[d], fast) || idx_uses(e->at[d], s))
            return false;
    l->stride = idx_coef(e->at[last], fast);
    l->step = idx_coef(e->at[last], s);
    const Idx *rest = idx_sub(
        g->pool, e->at[last],
        idx_add(g->pool, idx_scale(g->pool, idx_var(g->pool, fast), l->stride),
                idx_scale(g->pool, idx_var(g->pool, s), l->step)));
    if (l->stride < 1 || l->step < 1 || !idx_is_const(rest) ||
        !split_guard(g, e, fast, l))
        return false;
    l->vec = row_vector(g, e, l, vec);
    if (l->vec < 2)
        return false;
    const int64_t first = rest->k;
    l->lead = first < 0 ? (l->vec - 1 - first) / l->vec * l->vec
                        : -(first / l->vec * l->vec);
    l->at = first + l->lead;
    l->n = (l->stride * (vec - 1) + l->step * (s->extent - 1) + l->at) /
               l->vec * l->vec + l->vec;
    return l->n <= MOST_LINE;
}

const Var *line_find(Graph *g, const Group *gr, const Var *fast,
                     const Window *w, int vec)
{
    Line l;
    Reads r;
    int all[MAX_STEPS];

    if (!fast || vec < 2 || group_cols(gr) > MAP_WRITTEN_OUT ||
        !window_one_pass(gr))
        return NULL;
    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &r);
    for (int j = 0; j < gr->n_cols; j++)
        for (int i = 0; i < r.n && gr->cols[j] != w->s; i++)
            if (gr->cols[j]->extent > 1 &&
                line_of(g, r.read[i], fast, gr->cols[j], vec, &l))
                return gr->cols[j];
    return NULL;
}

/* ---- code -------------------------------------------------------------- */

/* `x_line`: e's row into registers; what e is, by the names of its taps. */
static void put_line(MapBuild *m, Tree *out, const Expr *e, const Line *l,
                     const char *tap)
{
    Body *b = &m->body;
    Arena *a = m->graph->arena;
    const char *array = cprint_fresh(
        &b->print,
        arena_printf(a, "%s_line", cprint_tensor(&b->print, e->tensor)));
    const char *outside =
        e->outside ? cprint_bind(out, &b->print, e->outside, NULL) : "0.0f";
    const char *at = b->base ? b->base : "0";

    if (l->stride > 1)
        at = arena_printf(a, "%lld * %s", (long long)l->stride, at);
    if (l->lead)
        at = arena_printf(a, "%s %c %lld", at, l->lead > 0 ? '-' : '+',
                          (long long)(l->lead > 0 ? l->lead : -l->lead));
    PUT(out, "@type @array[@n];\n", FILL("type", cprint_ctype(e->type)),
        FILL("array", array), FILL_INT("n", l->n));
    PUT(out,
        "dcc_load_row<@vec>(@array, @in, &@x[@row], @at, @end, @outside);\n",
        FILL_INT("vec", l->vec), FILL("array", array),
        FILL("in", guard_truth(l->rest) == ALWAYS
                       ? "true"
                       : cprint_condition(&b->print, l->rest)),
        FILL("x", cprint_tensor(&b->print, e->tensor)),
        FILL("row", cprint_at(&b->print, e->tensor, row_of(m->graph, e),
                              l->rest)),
        FILL("at", at), FILL_INT("end", e->tensor->dim[e->tensor->rank - 1]),
        FILL("outside", outside));
    const char *lane = l->stride > 1
                           ? arena_printf(a, "%lld * %s", (long long)l->stride,
                                          b->lane)
                           : b->lane;
    const char *taps =
        l->step > 1 ? arena_printf(a, "%lld * %s", (long long)l->step, tap)
                    : tap;
    body_hold(b, e,
              l->at ? arena_printf(a, "%s[%s + %s + %lld]", array, lane, taps,
                                   (long long)l->at)
                    : arena_printf(a, "%s[%s + %s]", array, lane, taps));
}

void line_load(MapBuild *m, Tree *out, const int *step, int n, const char *tap)
{
    Reads r;
    Line l;

    reads_of(m->graph, m->group, step, n, &r);
    for (int i = 0; i < r.n; i++)
        if (line_of(m->graph, r.read[i], m->body.along, m->line, m->vec, &l))
            put_line(m, out, r.read[i], &l, tap);
}

void line_pass(MapBuild *m, Tree *out)
{
    Body *b = &m->body;
    Group *gr = m->group;
    const char *names[MAX_RANK * 2] = {0};
    int step[MAX_STEPS], n = schedule_pass(gr, &m->plan, 0, step);
    Tree *in = tree_list(m->graph->arena), *taps = tree_list(m->graph->arena);

    for (int i = 0; i < n; i++)
        if (gr->step[step[i]].op != R_NONE)
            body_accumulator(b, out, step[i], true);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *tap = column_names(m, names);
    line_load(m, in, step, n, tap);
    body_steps(b, taps, step, n, true);
    window_each(in, tap, kernel_extent(m->graph, m->kernel, m->line), taps);
    map_loops(m, out, in, names, NULL);
    b->n_held = held;
    cprint_close(&b->print, scope);
}
