/* turn.c - results along another index than what is read: which nests these
 * are, and in which tiles they are gone through. */
#include "family/turn/turn.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the form ----------------------------------------------------------- */

/* The variable along which the elements at `offset` are neighbours. */
static const Var *neighbours(const Group *gr, const Idx *offset)
{
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->rows[i]->extent > 1 && idx_coef(offset, gr->rows[i]) == 1)
            return gr->rows[i];
    return NULL;
}

/* Whether e may be copied from memory before its point is known, and has
 * enough elements for that. */
static bool can_turn(const TurnForm *f, const Expr *e, const Idx *offset)
{
    enum { FEWEST = 16 }; /* points that may share an element */
    double elements = 1, points = (double)group_rows(f->group);

    if (guard_truth(e->in) != ALWAYS || read_by_local(e) || !idx_affine(offset))
        return false;
    for (int i = 0; i < f->group->n_rows; i++)
        if (idx_uses(offset, f->group->rows[i]))
            elements *= (double)f->group->rows[i]->extent;
    return elements * FEWEST >= points;
}

static void add_turned(TurnForm *f, const Expr *e, const Idx *offset)
{
    Turned *t = &f->turned[f->n_turned++];

    *t = (Turned){.read = e, .offset = offset};
    t->by = arena_array(f->graph->arena, const Var *, f->group->n_rows);
    for (int i = 0; i < f->group->n_rows; i++)
        if (idx_uses(offset, f->group->rows[i]))
            t->by[t->n++] = f->group->rows[i];
    order_vars(f->graph, t->by, t->n, offset);
}

/* What lies along another index than the result: the heaviest read says along
 * which. */
static const char *find_turned(TurnForm *f)
{
    const Group *gr = f->group;
    int all[MAX_STEPS];
    double most = 0;
    Reads r;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(f->graph, gr, all, gr->n_step, &r);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r.n; i++) {
            const Expr *e = r.read[i];
            const Idx *at = tensor_offset(f->graph, e->tensor, e->at);
            const Var *v = neighbours(gr, at);
            double bytes =
                (double)tensor_elems(e->tensor) * type_bytes(e->tensor->type);
            if (!v || v == f->fast || !can_turn(f, e, at))
                continue;
            if (!pass && bytes > most) {
                most = bytes;
                f->along = v;
            } else if (pass && v == f->along && f->n_turned < TURN_READS) {
                add_turned(f, e, at);
            }
        }
    return f->n_turned ? NULL : "all that it reads lies as its result does";
}

static const char *find_rows(TurnForm *f)
{
    const Group *gr = f->group;
    const Idx *store = main_store(f->graph, gr);

    if (group_cols(gr) > 1)
        return "columns";
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op != R_NONE)
            return "a reduction";
        if (s->tensor && s->tensor->prev)
            return "it changes a tensor in place";
        if (s->tensor && tensor_offset(f->graph, s->tensor, s->store) == store)
            f->store_bytes = type_bytes(s->tensor->type);
    }
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->rows[i]->extent > INT_MAX)
            return "an index beyond an int";
    if (!store || gr->n_rows < 2 || !f->store_bytes)
        return "a single index";
    f->rows = arena_array(f->graph->arena, const Var *, gr->n_rows);
    memcpy(f->rows, gr->rows, sizeof *f->rows * (size_t)gr->n_rows);
    order_vars(f->graph, f->rows, gr->n_rows, store);
    ones_first(f->rows, gr->n_rows);
    f->fast = f->rows[gr->n_rows - 1];
    return idx_coef(store, f->fast) == 1 ? NULL
                                         : "its results are no neighbours";
}

typedef struct Ways {
    Graph *g;
    const Var *v;
    bool on, back;
} Ways;

static void note_way(const Expr *e, void *ctx)
{
    Ways *w = ctx;

    if (e->kind != E_READ)
        return;
    int64_t c = idx_coef(tensor_offset(w->g, e->tensor, e->at), w->v);
    w->on |= c == 1;
    w->back |= c == -1;
}

/* gr with its rows from their ends on where what is read lies backwards, as in
 * what is turned by a quarter. */
static const Group *onward(Graph *g, const Group *gr)
{
    const Idx *store = main_store(g, gr);
    Group *to = NULL;

    for (int i = 0; i < gr->n_rows && store; i++) {
        const Var *v = gr->rows[i];
        Ways w = {.g = g, .v = v};
        const Idx *from_end =
            idx_addc(g->pool, idx_scale(g->pool, idx_var(g->pool, v), -1),
                     v->extent - 1);
        for (int k = 0; k < gr->n_step; k++)
            expr_visit(gr->step[k].value, note_way, &w);
        if (w.on || !w.back || llabs(idx_coef(store, v)) == 1)
            continue;
        to = to ? to : group_copy(g, gr);
        group_subst(g, to, &(Subst){v, from_end}, 1);
    }
    return to ? to : gr;
}

static const void *turn_open(Graph *g, const Group *gr, const Options *o,
                             const char **why)
{
    enum { LONG_LINE = 64 }; /* elements: a tile has whole ones */

    gr = onward(g, nest_merged(g, gr, LONG_LINE));
    TurnForm f = {.graph = g, .group = gr, .options = o};

    *why = find_rows(&f);
    if (!*why)
        *why = find_turned(&f);
    if (*why)
        return NULL;
    f.census = census_take(g, gr, o->device);
    f.bytes = model_group_bytes(g, gr, o->device, NULL, NULL);
    TurnForm *kept = arena_new_of(g->arena, TurnForm);
    *kept = f;
    return kept;
}

/* ---- tiles -------------------------------------------------------------- */

static int64_t *tile_of(const TurnForm *f, int64_t *tile, const Var *v)
{
    for (int i = 0; i < f->group->n_rows; i++)
        if (f->rows[i] == v)
            return &tile[i];
    return NULL;
}

/* Points of a block along v. */
static int64_t turn_tile(const TurnForm *f, const TurnPlan *p, const Var *v)
{
    return *tile_of(f, p->tile, v);
}

/* About `want` points of so many, as even as vectors allow; or a power of two
 * where few are beyond the edge: then a thread's places differ by constants. */
static int64_t part_of(int64_t extent, int64_t want)
{
    enum { FEW = 8 }; /* one in so many */
    const bool power = !(want & (want - 1));
    const int64_t parts = (extent + want - 1) / want,
                  part = (extent + parts - 1) / parts,
                  whole = extent % 8 || want < 8 ? 1 : 8;

    if (power && extent > want &&
        (parts * want - extent) * FEW <= extent)
        return want;
    return (part + whole - 1) / whole * whole;
}

/* Tiles along what is fastest of v[0 .. n - 1], until `want` elements lie
 * together; returns how many do. */
static int64_t cover(const TurnForm *f, const Var *const *v, int n,
                     int64_t want, int64_t *tile)
{
    int64_t run = 1;

    for (int i = n - 1; i >= 0 && 2 * run <= want; i--) {
        int64_t part = part_of(v[i]->extent, want / run);
        int64_t *t = tile_of(f, tile, v[i]);
        if (part > *t)
            *t = part;
        run *= part;
        if (part < v[i]->extent)
            break;
    }
    return run;
}

/* Elements of one copy to shared memory. */
static int copy_step(const TurnForm *f, const Turned *t, int64_t tile)
{
    Graph *g = f->graph;
    const Idx *rest = idx_sub(g->pool, t->offset, idx_var(g->pool, f->along));
    int64_t most = VECTOR_BYTES / type_bytes(t->read->tensor->type);

    while (f->along->extent % most || tile % most)
        most /= 2;
    return (int)idx_align(rest, most);
}

/* Lines from the first of a thread's results to those of the next thread. */
static int64_t lines_apart(const TurnForm *f, const TurnPlan *p,
                           const Turned *t)
{
    int64_t lines = p->vec;
    int d = t->n - 2;

    while (d >= 0 && t->by[d] != f->fast)
        lines *= turn_tile(f, p, t->by[d--]);
    return d < 0 ? 1 : lines;
}

/* Whether a tile may be stored across: in whole words of neighbours along
 * `fast`, and taken by pieces of 16 bytes, which a thread needs one of. */
static bool can_cross(const TurnForm *f, const TurnPlan *p, int i)
{
    const Turned *t = &f->turned[i];
    const int bytes = type_bytes(t->read->tensor->type);
    const int piece = VECTOR_BYTES / bytes;

    return (bytes == 2 || bytes == 2 * 2) && p->vec == piece &&
           p->step[i] == piece && f->fast->extent % piece == 0 &&
           turn_tile(f, p, f->fast) % piece == 0 &&
           idx_coef(t->offset, f->fast) > 0 &&
           idx_coef(t->offset, f->fast) <= INT_MAX;
}

/* How a tile lies in shared memory: an odd number of words from line to line,
 * and from a thread's lines to the next one's, so that neighbours across the
 * lines are in different banks. */
static void place_tile(const TurnForm *f, TurnPlan *p, int i)
{
    enum { WORD = 4 };
    const Turned *t = &f->turned[i];
    const int bytes = type_bytes(t->read->tensor->type);

    p->line[i] = turn_tile(f, p, f->along);
    p->lines[i] = 1;
    for (int d = 0; d < t->n - 1; d++)
        p->lines[i] *= turn_tile(f, p, t->by[d]);
    p->step[i] = copy_step(f, t, p->line[i]);
    const int64_t words = (p->line[i] * bytes + WORD - 1) / WORD;
    p->pitch[i] = (words | 1) * WORD / bytes;
    p->apart[i] = lines_apart(f, p, t);
    p->skew[i] = p->apart[i] % 2 ? 0 : WORD / bytes;
    p->crossed[i] = can_cross(f, p, i);
    p->elements[i] = p->crossed[i]
                         ? p->lines[i] * p->line[i]
                         : p->lines[i] * p->pitch[i] +
                               (p->lines[i] - 1) / p->apart[i] * p->skew[i];
    p->smem += (size_t)(p->elements[i] * bytes + VECTOR_BYTES - 1) /
               VECTOR_BYTES * VECTOR_BYTES;
}

TurnPlan turn_plan(const TurnForm *f, const Variant *v)
{
    const int n = f->group->n_rows;
    const Turned *first = &f->turned[0];
    const int in = type_bytes(first->read->tensor->type);
    TurnPlan p = {.threads = v->knob[KNOB_THREADS],
                  .vec = v->knob[KNOB_VEC],
                  .points = 1,
                  .blocks = 1};

    p.tile = arena_array(f->graph->arena, int64_t, n);
    for (int i = 0; i < n; i++)
        p.tile[i] = 1;
    p.run_out =
        f->store_bytes *
        cover(f, f->rows, n, v->knob[KNOB_OUT] / f->store_bytes, p.tile);
    p.run_in =
        in * cover(f, first->by, first->n, v->knob[KNOB_IN] / in, p.tile);
    for (int i = 0; i < n; i++) {
        p.points *= p.tile[i];
        p.blocks *= (double)((f->rows[i]->extent + p.tile[i] - 1) / p.tile[i]);
    }
    for (int i = 0; i < f->n_turned; i++)
        place_tile(f, &p, i);
    return p;
}

/* Whether a block has room for its tile, and its threads work. */
static bool tile_fits(const TurnForm *f, const Variant *v)
{
    enum { PLAIN_BYTES = 48 * 1024 }; /* that no launch has to ask for */
    const TurnPlan p = turn_plan(f, v);

    return p.smem <= PLAIN_BYTES && p.blocks <= INT_MAX &&
           turn_tile(f, &p, f->fast) % p.vec == 0 &&
           p.points / p.vec >= p.threads;
}

static int turn_space(const void *form, Variant **out)
{
    enum { LEAST_RUN = 32, MOST_RUN = 256, MOST = 4 * 4 * 4 * 2 };
    const TurnForm *f = form;
    Arena *a = f->graph->arena;
    const int widest = widest_vector(f->graph, f->group, f->fast, 8, false);
    Variant v[MOST];
    int n = 0;

    /* what is predicted alike is taken in this order: more threads, and small
     * tiles, of which an SM has several under way */
    for (int threads = 256; threads >= 128; threads /= 2)
        for (int to = LEAST_RUN; to <= MOST_RUN; to *= 2)
            for (int from = LEAST_RUN; from <= MOST_RUN; from *= 2)
                for (int vec = widest; vec >= 1; vec /= 2) {
                    v[n] = (Variant){.knob = {to, from, vec, threads}};
                    if (!tile_fits(f, &v[n]))
                        continue;
                    v[n++].text =
                        arena_printf(a, "out=%d in=%d vec=%d threads=%d", to,
                                     from, vec, threads);
                }
    *out = family_variants(a, v, n);
    return n;
}

const Family family_turn = {
    .name = "turn",
    .version = 1,
    .open = turn_open,
    .space = turn_space,
    .cost = turn_cost,
    .least = turn_least,
    .build = turn_build,
};
