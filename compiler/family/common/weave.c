/* weave.c - what alternates in memory: y[3 * q], y[3 * q + 1] and y[3 * q + 2]
 * of one point are neighbours, and those of VEC points one run; stores, and
 * reads. */
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
            if (pass && by->k >= 0 && by->k < n)
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

/* ---- reads -------------------------------------------------------------- */

/* Where the run begins of which e is one element a point, and how long that
 * is; NULL if there is none. */
static const Idx *run_of(Graph *g, const Expr *e, const Var *v, int64_t *n)
{
    const Idx *at = tensor_offset(g, e->tensor, e->at);

    *n = idx_coef(at, v);
    if (*n < 2 || *n > MOST_WOVEN || e->in.n || idx_has_data(at))
        return NULL;
    int64_t place = at->k % *n;
    const Idx *first = idx_addc(g->pool, at, place < 0 ? -*n - place : -place);
    const Idx *rest =
        idx_sub(g->pool, first, idx_scale(g->pool, idx_var(g->pool, v), *n));
    return !idx_uses(rest, v) && first->lo >= 0 &&
                   first->hi + *n <= tensor_elems(e->tensor)
               ? first
               : NULL;
}

int weave_reads(Graph *g, const Expr *const *read, int n, int i, const Var *v,
                int vec, int64_t *run, int *place)
{
    const Idx *first = v && vec > 1 ? run_of(g, read[i], v, run) : NULL;
    int64_t other;
    int found = 0;

    if (!first)
        return 0;
    for (int k = 0; k < n; k++) {
        place[k] = -1;
        if (read[k]->tensor != read[i]->tensor ||
            run_of(g, read[k], v, &other) != first)
            continue;
        const Idx *at = tensor_offset(g, read[k]->tensor, read[k]->at);
        place[k] = (int)idx_sub(g->pool, at, first)->k;
        found++;
    }
    int chunk = chunk_of(g, read[i]->tensor, first, v, vec);
    return found > 1 && 2 * found >= *run && chunk > 1 ? chunk : 0;
}

void body_weave_reads(Body *b, Tree *out, const Reads *r)
{
    Arena *a = b->graph->arena;
    int *place = arena_array(a, int, r->n + 1);
    int64_t n;

    for (int i = 0; i < r->n; i++) {
        int chunk = body_held(b, r->read[i])
                        ? 0
                        : weave_reads(b->graph, r->read, r->n, i, b->along,
                                      b->vec, &n, place);
        if (!chunk)
            continue;
        const Expr *e = r->read[i];
        const Idx *first = run_of(b->graph, e, b->along, &n);
        const char *id = cprint_fresh(
            &b->print, arena_printf(a, "%s_frag", cprint_part(&b->print, e)));
        PUT(out,
            "@type @id[@n * VEC];\n"
            "dcc_load<@chunk>(@id, &@tensor[@at]);\n",
            FILL("type", cprint_ctype(e->type)), FILL("id", id),
            FILL_INT("n", (int)n), FILL_INT("chunk", chunk),
            FILL("tensor", cprint_tensor(&b->print, e->tensor)),
            FILL("at", cprint_idx(&b->print, first, 0)));
        for (int k = i; k < r->n; k++)
            if (place[k] >= 0)
                body_hold(b, r->read[k],
                          arena_printf(
                              a, place[k] ? "%s[%d * %s + %d]" : "%s[%d * %s]",
                              id, (int)n, b->lane, place[k]));
    }
}

/* ---- stores ------------------------------------------------------------- */

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
