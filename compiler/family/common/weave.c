/* weave.c - stores that alternate in memory: y[3 * q], y[3 * q + 1] and y[3 *
 * q + 2] of one point are neighbours, and those of VEC points one run. */
#include "family/common/body.h"

#include "model/model.h"

/* Where s stores, if every point along v does n elements behind the one before
 * and nothing else depends on it; else NULL. */
static const Idx *strand(Graph *g, const Step *s, const Var *v, int64_t *n)
{
    if (!s->tensor || s->op != R_NONE || guard_truth(s->where) != ALWAYS)
        return NULL;
    const Idx *at = tensor_offset(g, s->tensor, s->store);
    *n = idx_coef(at, v);
    const Idx *rest =
        idx_sub(g->pool, at, idx_scale(g->pool, idx_var(g->pool, v), *n));
    return *n > 1 && !idx_uses(rest, v) ? at : NULL;
}

/* The elements of one store of woven vectors of `vec` points, that begin at
 * `at`. */
static int chunk_of(Graph *g, const Tensor *t, const Idx *at, const Var *v,
                    int vec)
{
    Subst each = {v, idx_scale(g->pool, idx_var(g->pool, v), vec)};

    return (int)idx_align(idx_subst(g->pool, at, &each, 1),
                          VECTOR_BYTES / type_bytes(t->type));
}

bool weave_find(Graph *g, const Group *gr, int i, const Var *v, int vec,
                Weave *w)
{
    const Step *s = &gr->step[i];
    int64_t n = 0, other;
    const Idx *own = v && vec > 1 ? strand(g, s, v, &n) : NULL;
    const Idx *first = own;

    *w = (Weave){.n = (int)n};
    if (!own || n > MOST_WOVEN)
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < gr->n_step; k++) {
            if (gr->step[k].tensor != s->tensor)
                continue;
            const Idx *at = strand(g, &gr->step[k], v, &other);
            const Idx *by = at ? idx_sub(g->pool, at, first) : NULL;
            if (!by || !idx_is_const(by))
                continue;
            if (pass && by->k < n)
                w->step[by->k] = k + 1;
            else if (!pass && by->k < 0 && idx_sub(g->pool, own, at)->k < n)
                first = at;
        }
    for (int k = 0; k < n; k++)
        if (!w->step[k]--)
            return false;
    w->chunk = chunk_of(g, s->tensor, first, v, vec);
    return w->chunk > 1;
}

/* Where the weave's steps stand in the list; false if one is not there. */
static bool find_all(const Weave *w, const int *step, const bool *own, int n,
                     int *at)
{
    for (int k = 0; k < w->n; k++) {
        for (at[k] = 0; at[k] < n && step[at[k]] != w->step[k];)
            at[k]++;
        if (at[k] == n || !own[at[k]])
            return false;
    }
    return true;
}

void body_weave(Body *b, Tree *out, const int *step, const bool *own, int n,
                const char **frag, int *width, const char **lane)
{
    Arena *a = b->graph->arena;
    int at[MOST_WOVEN];
    Weave w;

    if (b->within || b->store_if || b->store_sync)
        return;
    for (int i = 0; i < n; i++) {
        const Tensor *t = b->group->step[step[i]].tensor;
        if (lane[i] || !own[i] ||
            !weave_find(b->graph, b->group, step[i], b->along, b->vec, &w) ||
            !find_all(&w, step, own, n, at))
            continue;
        const char *id = cprint_fresh(
            &b->print, arena_printf(a, "%s_frag", cprint_tensor(&b->print, t)));
        PUT(out, "@type @id[@n * VEC];\n", FILL("type", cprint_ctype(t->type)),
            FILL("id", id), FILL("n", arena_printf(a, "%d", w.n)));
        for (int k = 0; k < w.n; k++)
            lane[at[k]] = arena_printf(
                a, k ? "%s[%d * %s + %d]" : "%s[%d * %s]", id, w.n, b->lane, k);
        frag[at[0]] = id;
        width[at[0]] = w.chunk;
    }
}
