/* map_lanes.c - nests as map wants them, before it looks at them.
 *
 * Vectors of points of which several read one element, as what is scaled up:
 * x[q / 2], x[(q + 1) / 2 - 1]. Numbers of points within a vector are a
 * variable of their own, 8 * q + v, so that floors are of that alone: 4 * q + v
 * / 2, whose vectors' reads are the same ones where v / 2 is.
 *
 * Windows that go back, x[q - s] (gradients'), which are such that go on.
 *
 * Windows with room between taps, x[q + 2 * s]: of every other point a variable
 * of its own, x[2 * (q + s) + e], whose neighbours share their inputs. */
#include "family/map/map.h"

#include "group/groups.h"

#include <string.h>

/* The last two rows as one, where results of both are neighbours; NULL: they
 * are none. */
static Group *joined(Graph *g, const Group *gr, const Var *const *rows)
{
    const Var *v = rows[gr->n_rows - 1], *slow = rows[gr->n_rows - 2];
    const Idx *to = main_store(g, gr);

    if (!to || idx_coef(to, slow) != v->extent || idx_coef(to, v) != 1)
        return NULL;
    Group *one = group_copy(g, gr);
    const Var *all = idx_new_var(g->pool, slow->name, v->extent * slow->extent);
    const Idx *at = idx_var(g->pool, all);
    const Subst s[] = {{slow, idx_floor(g->pool, at, v->extent)},
                       {v, idx_mod(g->pool, at, v->extent)}};
    one->rows = arena_array(g->arena, const Var *, gr->n_rows);
    memcpy(one->rows, rows, sizeof *rows * (size_t)(gr->n_rows - 2));
    one->rows[gr->n_rows - 2] = all;
    one->n_rows = gr->n_rows - 1;
    group_subst(g, one, s, 2);
    return one;
}

typedef struct Near {
    Graph *g;
    const Group *gr;
    const Var *v;
    bool shared, apart;
} Near;

static void look_at(const Expr *e, void *ctx)
{
    Near *n = ctx;

    if (e->kind != E_READ)
        return;
    const Idx *at = tensor_offset(n->g, e->tensor, e->at);
    if (!idx_uses(at, n->v) || (idx_coef(at, n->v) && !idx_has_data(at)))
        return;
    int64_t few = read_few(n->g, n->gr, at, n->v);
    n->shared |= few < n->v->extent;
    n->apart |= few >= n->v->extent;
}

/* Elements of the widest store. */
static int64_t lanes_of(const Group *gr)
{
    enum { BYTES = 16, MOST = 8 };
    int bytes = BYTES / MOST;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor && type_bytes(gr->step[i].tensor->type) > bytes)
            bytes = type_bytes(gr->step[i].tensor->type);
    return BYTES / bytes;
}

const Group *map_lanes(Graph *g, const Group *gr, const Var *const *rows)
{
    const int64_t lanes = lanes_of(gr);
    const Var *v = gr->n_rows ? rows[gr->n_rows - 1] : NULL;
    Group *to = NULL;

    if (!v || gr->n_cols)
        return gr;
    if (v->extent < lanes && gr->n_rows > 1)
        to = joined(g, gr, rows);
    else if (v->extent > lanes)
        to = group_copy(g, gr);
    if (!to)
        return gr;
    v = v->extent < lanes ? to->rows[to->n_rows - 1] : v;
    if (v->extent % lanes || v->extent == lanes)
        return gr;
    Near n = {.g = g, .gr = to, .v = group_split(g, to, v, lanes)};
    for (int i = 0; i < to->n_step; i++)
        expr_visit(to->step[i].value, look_at, &n);
    return n.shared && !n.apart ? to : gr;
}

/* ---- windows that go back ----------------------------------------------- */

typedef struct Ways {
    const Group *gr;
    const Var *s;
    bool on, back; /* beside rows, s goes in their direction; against it */
} Ways;

static void note_way(const Expr *e, void *ctx)
{
    Ways *w = ctx;

    for (int d = 0; e->kind == E_READ && d < e->tensor->rank; d++) {
        int64_t step = idx_coef(e->at[d], w->s);
        for (int i = 0; step && i < w->gr->n_rows; i++) {
            int64_t row = idx_coef(e->at[d], w->gr->rows[i]);
            w->on |= row && (row > 0) == (step > 0);
            w->back |= row && (row > 0) != (step > 0);
        }
    }
}

static Ways ways_of(const Group *gr, const Var *s)
{
    Ways w = {.gr = gr, .s = s};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, note_way, &w);
    return w;
}

const Group *map_onward(Graph *g, const Group *gr)
{
    Group *to = NULL;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_ARGMAX) /* of which it is the value */
            return gr;
    for (int i = 0; i < gr->n_cols; i++) {
        const Var *s = gr->cols[i];
        Ways w = ways_of(to ? to : gr, s);
        const Idx *from_end =
            idx_addc(g->pool, idx_scale(g->pool, idx_var(g->pool, s), -1),
                     s->extent - 1);
        if (w.on || !w.back)
            continue;
        to = to ? to : group_copy(g, gr);
        group_subst(g, to, &(Subst){s, from_end}, 1);
    }
    return to ? to : gr;
}

/* ---- windows with room between their taps -------------------------------- */

typedef struct Apart {
    const Group *gr;
    const Var *s, *fast; /* taps; the vectors' own */
    const Var *q;        /* rows beside them; */
    int64_t d, step;     /* elements from a tap to the next, and from a row */
    bool several;        /* of them, or an address depends on data */
} Apart;

static void note_apart(const Expr *e, void *ctx)
{
    Apart *a = ctx;

    for (int i = 0; e->kind == E_READ && i < e->tensor->rank; i++) {
        int64_t d = idx_coef(e->at[i], a->s);
        a->several |= idx_has_data(e->at[i]);
        for (int k = 0; d && k < a->gr->n_rows; k++) {
            const Var *q = a->gr->rows[k];
            int64_t step = idx_coef(e->at[i], q);
            if (!step)
                continue;
            a->several |= a->q && (a->q != q || a->d != d || a->step != step);
            a->q = q;
            a->d = d;
            a->step = step;
        }
    }
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* gr's q up to a multiple of `each`; nothing is stored of what lies beyond. */
static const Var *rounded(Graph *g, Group *gr, const Var *q, int64_t each)
{
    const int64_t end = (q->extent + each - 1) / each * each;
    const Var *all = idx_new_var(g->pool, q->name, end);
    const Idx *at = idx_var(g->pool, all);
    const Var **rows = arena_array(g->arena, const Var *, gr->n_rows);

    group_subst(g, gr, &(Subst){q, at}, 1);
    for (int i = 0; i < gr->n_rows; i++)
        rows[i] = gr->rows[i] == q ? all : gr->rows[i];
    gr->rows = rows;
    for (int i = 0; i < gr->n_step; i++) {
        Step *s = &gr->step[i];
        s->value = expr_confine(g, s->value);
        if (s->tensor)
            s->where = guard_within(g->pool, s->where, at, 0, q->extent);
    }
    return all;
}

static bool takes_anything(const Group *gr)
{
    bool all = true;

    for (int i = 0; i < gr->n_step; i++)
        all &= map_takes_anything(&gr->step[i]);
    return all;
}

const Group *map_apart(Graph *g, const Group *gr, const Var *const *rows)
{
    Group *to = NULL;

    for (int i = 0; i < gr->n_cols; i++) {
        Apart a = {.gr = to ? to : gr, .s = gr->cols[i],
                   .fast = gr->n_rows ? rows[gr->n_rows - 1] : NULL};
        for (int k = 0; k < gr->n_step; k++)
            expr_visit(a.gr->step[k].value, note_apart, &a);
        if (!a.q || a.several || a.q == a.fast || a.d < 2 || a.step < 1)
            continue;
        int64_t each = a.d / common_divisor(a.d, a.step);
        if (each == 1 || a.q->extent <= each ||
            (a.q->extent % each && !takes_anything(a.gr)))
            continue;
        to = to ? to : group_copy(g, gr);
        if (a.q->extent % each)
            a.q = rounded(g, to, a.q, each);
        group_split(g, to, a.q, each);
    }
    return to ? to : gr;
}
