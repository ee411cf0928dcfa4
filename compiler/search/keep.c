#include "search/keep.h"

#include "search/mincut.h"

#include <math.h>

enum {
    SMALL = 2000, /* a tensor of less than this part of all is kept */
    NONE = -1,
    SEVERAL = -2
};

/* One tensor that the forward pass makes. */
typedef struct Made {
    bool may;        /* be computed again */
    bool wanted;     /* gradients read it */
    bool kept;       /* in memory for them, in the program that keeps all */
    bool real;       /* in memory there, and not computed by its readers */
    bool crosses;    /* a later part reads it: it is as the forward pass made
                        it, kept or of what is kept */
    bool again;      /* rather than kept, where it is needed at all */
    bool little, much; /* that, at the two prices */
    bool needed;     /* by gradients, or by what is computed again */
    bool changed;    /* its values come from copies */
    int alone;       /* the only statement of gradients that reads it, and
                        nothing else at its own points; or NONE */
    bool read_again; /* by what is computed again */
    int first, end;  /* positions: who makes it, */
    int last;        /* and who reads it ahead */
    int part;        /* of all who make it; -1: they are of several */
    int64_t bytes;
    double us;
    Tensor *copy;
} Made;

typedef struct Part {
    int from, to; /* positions */
    int64_t bytes, again; /* again: held at a time */
    double us;
    bool chosen, placed; /* chosen: the higher price is its */
} Part;

typedef struct Way {
    Graph *g;
    Made *made;   /* by tensor */
    int turn;     /* position of the first statement of gradients */
    int64_t all, least;
    int64_t *crossing; /* by position: bytes that are still read ahead */
    Part *part; int n_part;
    int *part_at; /* by position */
    int *order, n_order; /* tensors that may be computed again, the last that
                            is whole first */
} Way;

/* ---- the program that keeps all */

/* Does the launch make it, in the forward pass? */
static bool makes(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->tensor == t && !gr->stmt[i]->behind)
            return true;
    return false;
}

static bool has_gradients(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->behind)
            return true;
    return false;
}

static bool in_arena(const Tensor *t)
{
    return t->place == PLACE_ARENA && !t->prev;
}

static void see_made(Seens *s, const Group *gr, int at)
{
    int made = 0;

    for (int k = 0; k < gr->n_arg; k++)
        made += makes(gr, gr->arg[k]);
    for (int k = 0; k < gr->n_arg; k++) {
        const Tensor *t = gr->arg[k];
        if (!in_arena(t) || !makes(gr, t))
            continue;
        s->of[t->id].bytes = t->span * type_bytes(t->type);
        s->of[t->id].us += gr->predicted_us / made;
        s->of[t->id].at = at;
    }
}

/* The last launch that makes something for one with gradients: those ahead of
 * it may have made a row's sums for them on the way. */
static int find_end(const Seens *s, const CudaProgram *p)
{
    int end = 0;

    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        for (int k = 0; k < gr->n_arg && has_gradients(gr); k++) {
            const Seen *seen = &s->of[gr->arg[k]->id];
            if (seen->bytes && seen->at < i && seen->at > end)
                end = seen->at;
        }
    }
    return end;
}

Seens keep_seen(const CudaProgram *p)
{
    const Graph *g = p->graph;
    Seens s = {arena_array(g->arena, Seen, g->n_tensor + 1), g->n_tensor};

    for (int i = 0; i < g->n_tensor; i++)
        s.of[i].tensor = g->tensor[i];
    for (int i = 0; i < p->n_run; i++)
        see_made(&s, p->run[i].group, i);
    for (int i = find_end(&s, p) + 1; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        for (int k = 0; k < gr->n_arg && has_gradients(gr); k++) {
            Seen *seen = &s.of[gr->arg[k]->id];
            seen->kept |= seen->bytes && seen->at < i;
        }
    }
    return s;
}

int64_t keep_held(const Seens *seen)
{
    int64_t bytes = 0;

    for (int i = 0; i < seen->n; i++)
        bytes += seen->of[i].kept ? seen->of[i].bytes : 0;
    return bytes;
}

static const Seen *seen_as(const Seens *s, const Tensor *t)
{
    const Seen *of = t->id < s->n ? &s->of[t->id] : NULL;

    return of && !strcmp(of->tensor->name, t->name) &&
                   !strcmp(of->tensor->path, t->path)
               ? of
               : NULL;
}

static bool is_forward(const Way *w, int at)
{
    return at < w->turn && w->g->stmt[at]->when == WHEN_RUN;
}

/* Statements stay in the order of the source, with what passes make of one at
 * its place. */
static int find_turn(const Graph *g)
{
    int i = 0;

    while (i < g->n_stmt && !g->stmt[i]->behind)
        i++;
    return i;
}

/* ---- what there is */

typedef struct Note {
    Way *w;
    int at;
    bool forward;
    int own; /* the tensor that the statement reads at its own points; or NONE,
                SEVERAL */
} Note;

static bool is_own(const Stmt *s, const Expr *e)
{
    bool own = s->op == R_NONE && !e->in.n && !s->where.n &&
               s->tensor->rank == e->tensor->rank;

    for (int d = 0; d < e->tensor->rank && own; d++)
        own = e->at[d] == s->store[d];
    return own;
}

static void note_own(const Expr *e, void *ctx)
{
    Note *n = ctx;

    if (e->kind == E_READ && e->tensor->id != n->own &&
        is_own(n->w->g->stmt[n->at], e))
        n->own = n->own == NONE ? e->tensor->id : SEVERAL;
}

static void note_read(const Expr *e, void *ctx)
{
    Note *n = ctx;

    if (e->kind != E_READ)
        return;
    Made *m = &n->w->made[e->tensor->id];
    if (n->forward) {
        m->last = n->at;
        return;
    }
    m->alone = (!m->wanted || m->alone == n->at) && n->own == e->tensor->id &&
                       is_own(n->w->g->stmt[n->at], e)
                   ? n->at
                   : NONE;
    m->wanted = true;
}

static void find_makers(Way *w)
{
    Graph *g = w->g;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        w->made[i] = (Made){.first = -1, .last = -1, .alone = NONE, .may =
                            t->role == ROLE_TEMP && !t->prev &&
                            t->when == WHEN_RUN};
        w->made[i].bytes = tensor_elems(t) * type_bytes(t->type);
    }
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->prev)
            w->made[g->tensor[i]->prev->id].may = false;
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        Made *m = &w->made[s->tensor->id];
        m->may &= is_forward(w, i) && !s->notes;
        if (m->first < 0)
            m->first = i;
        m->end = i;
    }
    for (int i = 0; i < g->n_tensor; i++) /* what nothing makes any more */
        w->made[i].may &= w->made[i].first >= 0;
}

static void find_readers(Way *w)
{
    Graph *g = w->g;

    for (int i = 0; i < g->n_stmt; i++) {
        Note n = {w, i, is_forward(w, i), NONE};
        if (!n.forward)
            expr_visit(g->stmt[i]->value, note_own, &n);
        if (n.forward || g->stmt[i]->when == WHEN_RUN)
            expr_visit(g->stmt[i]->value, note_read, &n);
    }
}

/* What gradients find in memory costs its bytes. What they want and find not
 * there they compute themselves. */
static void find_costs(Way *w, const Seens *seen)
{
    Graph *g = w->g;

    for (int i = 0; i < g->n_tensor; i++) {
        Made *m = &w->made[i];
        const Seen *s = seen_as(seen, g->tensor[i]);
        if (!m->may || !s)
            continue;
        m->kept = s->kept;
        m->real = s->bytes && (s->kept || !m->wanted);
        if (m->real) {
            m->bytes = s->bytes;
            m->us = s->us;
        }
        w->all += m->kept ? m->bytes : 0;
    }
    w->least = w->all / SMALL;
}

static void find_crossing(Way *w)
{
    Graph *g = w->g;

    w->crossing = arena_array(g->arena, int64_t, g->n_stmt + 2);
    for (int i = 0; i < g->n_tensor; i++) {
        const Made *m = &w->made[i];
        if (!m->may || m->last <= m->first || m->bytes < w->least)
            continue;
        w->crossing[m->first + 1] += m->bytes;
        w->crossing[m->last + 1] -= m->bytes;
    }
    for (int i = 1; i <= g->n_stmt; i++)
        w->crossing[i] += w->crossing[i - 1];
}

/* ---- parts */

static int64_t kept_at(const Way *w, int at)
{
    const Stmt *s = w->g->stmt[at];
    const Made *m = &w->made[s->tensor->id];

    return is_forward(w, at) && m->may && m->kept && m->first == at ? m->bytes
                                                                   : 0;
}

static void find_order(Way *w)
{
    Graph *g = w->g;

    for (int i = g->n_stmt - 1; i >= 0; i--) {
        int t = g->stmt[i]->tensor->id;
        if (w->made[t].may && w->made[t].end == i)
            w->order[w->n_order++] = t;
    }
}

typedef struct Cross {
    Way *w;
    int part; /* of the reader */
    bool all; /* it crosses: what it is computed from does */
} Cross;

static void note_crossing(const Expr *e, void *ctx)
{
    Cross *c = ctx;

    if (e->kind != E_READ)
        return;
    Made *m = &c->w->made[e->tensor->id];
    m->crosses |= m->may && (c->all || m->part != c->part);
}

static void note_needed(const Expr *e, void *ctx)
{
    Way *w = ctx;

    if (e->kind == E_READ)
        w->made[e->tensor->id].needed = true;
}

static void visit_makers(const Way *w, int tensor, ExprVisit *f, void *ctx)
{
    const Made *m = &w->made[tensor];

    for (int i = m->first; i <= m->end; i++)
        if (w->g->stmt[i]->tensor->id == tensor)
            expr_visit(w->g->stmt[i]->value, f, ctx);
}

/* It is kept, if it is needed. What several parts make is of none. */
static bool stays(const Way *w, const Made *m)
{
    return m->part < 0 ||
           m->bytes < w->least || (m->real && m->crosses);
}

static void find_parts(Way *w)
{
    for (int i = 0; i < w->g->n_tensor; i++) {
        Made *m = &w->made[i];
        m->part = -1;
        m->crosses = m->needed = false;
        if (m->may && w->part_at[m->first] == w->part_at[m->end])
            m->part = w->part_at[m->first];
    }
    for (int i = 0; i < w->n_order; i++) {
        Made *m = &w->made[w->order[i]];
        Cross c = {w, m->part, m->crosses && !m->real};
        m->needed |= m->wanted;
        if (!m->needed || stays(w, m))
            continue;
        visit_makers(w, w->order[i], note_crossing, &c);
        visit_makers(w, w->order[i], note_needed, w);
    }
}

/* Where the least crosses, of the second half of what a part may have. */
static void divide(Way *w, int64_t most)
{
    int n = w->g->n_stmt, from = 0;

    w->n_part = 0;
    while (from < n) {
        int best = -1, i = from;
        int64_t sum = 0;
        for (; i < n && sum < most; i++) {
            sum += kept_at(w, i);
            if (2 * sum >= most && (best < 0 || w->crossing[i + 1] <=
                                                    w->crossing[best]))
                best = i + 1;
        }
        int to = i == n || best < 0 ? i : best;
        w->part[w->n_part++] = (Part){.from = from, .to = to};
        from = to;
    }
    for (int i = 0, p = 0; i < n; i++) {
        p += i == w->part[p].to;
        w->part_at[i] = p;
    }
    find_parts(w);
}

/* ---- at a price */

/* Of each tensor two nodes, which are on the sink's side where it is needed and
 * where it is computed again. */
static int needed_node(int t)
{
    return 2 + 2 * t;
}

static int again_node(int t)
{
    return 3 + 2 * t;
}

typedef struct From {
    Way *w;
    Net *net;
    int reader;
} From;

static void edge_from(const Expr *e, void *ctx)
{
    From *f = ctx;

    if (e->kind == E_READ && f->w->made[e->tensor->id].may)
        mincut_edge(f->net, needed_node(e->tensor->id), again_node(f->reader),
                    MINCUT_NEVER);
}

/* What is cheaper to compute again where a byte costs `price` microseconds. */
static void at_price(Way *w, double price)
{
    Net net = {.arena = w->g->arena, .n = 2 + 2 * w->g->n_tensor};
    From from = {w, &net, 0};

    for (int i = 0; i < w->n_order; i++) {
        int t = w->order[i];
        const Made *m = &w->made[t];
        if (m->wanted)
            mincut_edge(&net, needed_node(t), 1, MINCUT_NEVER);
        mincut_edge(&net, again_node(t), needed_node(t),
                    (double)m->bytes * price);
        mincut_edge(&net, 0, again_node(t), stays(w, m) ? MINCUT_NEVER : m->us);
        from.reader = t;
        visit_makers(w, t, edge_from, &from);
    }
    const bool *side = mincut(&net);
    for (int i = 0; i < w->n_order; i++)
        w->made[w->order[i]].again = side[again_node(w->order[i])];
}

static void note_changed(const Expr *e, void *ctx)
{
    Cross *c = ctx;

    if (e->kind != E_READ)
        return;
    const Made *m = &c->w->made[e->tensor->id];
    c->all |= m->changed && m->part == c->part;
}

/* What of it has other values' memory than the forward pass: from the first. */
static void find_changed(Way *w)
{
    for (int i = w->n_order - 1; i >= 0; i--) {
        Made *m = &w->made[w->order[i]];
        Cross c = {w, m->part, m->real};
        m->changed = false;
        if (!m->needed || !m->again)
            continue;
        if (!m->real)
            visit_makers(w, w->order[i], note_changed, &c);
        m->changed = c.all;
    }
}

static void note_again(const Expr *e, void *ctx)
{
    Way *w = ctx;

    if (e->kind == E_READ)
        w->made[e->tensor->id].read_again = true;
}

/* What is read point by point by one statement becomes a value of its: it is
 * in memory no second time. */
static bool passes(const Made *m)
{
    return m->alone != NONE && !m->read_again && m->first == m->end;
}

/* What a choice of parts comes to. */
static Keep weigh(Way *w)
{
    Keep k = {.gradients = true, .parts = w->n_part};

    for (int p = 0; p < w->n_part; p++)
        w->part[p].again = 0;
    for (int i = 0; i < w->n_order; i++) {
        Made *m = &w->made[w->order[i]];
        m->needed = m->wanted;
        m->again = m->part >= 0 &&
                   (w->part[m->part].chosen ? m->much : m->little);
        m->read_again = false;
    }
    for (int i = 0; i < w->n_order; i++) {
        const Made *m = &w->made[w->order[i]];
        if (m->needed && m->again)
            visit_makers(w, w->order[i], note_needed, w);
    }
    find_changed(w);
    for (int i = 0; i < w->n_order; i++)
        if (w->made[w->order[i]].changed)
            visit_makers(w, w->order[i], note_again, w);
    for (int i = 0; i < w->n_order; i++) {
        const Made *m = &w->made[w->order[i]];
        if (m->needed && !m->again)
            k.held += m->bytes;
        if (!m->needed || !m->again || !m->changed)
            continue;
        k.n += m->real;
        k.us += m->us;
        k.again += m->kept ? m->bytes : 0;
        w->part[m->part].again += m->kept && !passes(m) ? m->bytes : 0;
    }
    for (int p = 0; p < w->n_part; p++)
        if (w->part[p].again > k.part)
            k.part = w->part[p].again;
    return k;
}

static bool fits(const Keep *k, int64_t most)
{
    return k->held + k->part <= most;
}

static bool better(const Keep *a, const Keep *b, int64_t most)
{
    if (fits(a, most) != fits(b, most))
        return fits(a, most);
    return fits(a, most) ? a->us < b->us
                         : a->held + a->part < b->held + b->part;
}

/* All parts at one price, which is the one of all parts that are chosen. */
static Keep try_price(Way *w, double price)
{
    at_price(w, price);
    for (int i = 0; i < w->n_order; i++) {
        Made *m = &w->made[w->order[i]];
        m->much = m->little = m->again;
    }
    return weigh(w);
}

/* What came first may be in vain once another part is chosen. */
static void spare_parts(Way *w, Keep *now, int64_t most)
{
    for (int p = 0; p < w->n_part; p++) {
        if (!w->part[p].chosen)
            continue;
        w->part[p].chosen = false;
        Keep less = weigh(w);
        if (fits(&less, most) && less.us < now->us)
            *now = less;
        else
            w->part[p].chosen = true;
    }
    *now = weigh(w);
}

static void take_parts(Way *w, Keep *now, int64_t most)
{
    for (int p = 0; p < w->n_part; p++) {
        w->part[p].chosen = true;
        Keep alone = weigh(w);
        w->part[p].bytes = now->held - alone.held;
        w->part[p].us = alone.us - now->us;
        w->part[p].chosen = false;
    }
    while (!fits(now, most)) {
        int best = -1;
        for (int p = 0; p < w->n_part; p++) {
            const Part *q = &w->part[p], *b = best < 0 ? NULL : &w->part[best];
            if (!q->chosen && q->bytes > 0 &&
                (!b || q->us * (double)b->bytes < b->us * (double)q->bytes))
                best = p;
        }
        for (int p = 0; p < w->n_part && best < 0; p++)
            if (!w->part[p].chosen)
                best = p;
        if (best < 0)
            return;
        w->part[best].chosen = true;
        *now = weigh(w);
    }
    spare_parts(w, now, most);
}

/* The lowest price at which all fits, and of the next lower one what parts
 * may have: equal layers change at one price. */
static Keep choose(Way *w, int64_t most)
{
    enum { ROUNDS = 12 };
    double low = 1e-9, high = 1; /* microseconds a byte */
    bool *much = arena_array(w->g->arena, bool, w->n_order + 1);

    Keep all = try_price(w, high);
    if (!fits(&all, most))
        return all;
    for (int i = 0; i < ROUNDS; i++) {
        double price = sqrt(low * high);
        Keep k = try_price(w, price);
        *(fits(&k, most) ? &high : &low) = price;
    }
    try_price(w, high);
    for (int i = 0; i < w->n_order; i++)
        much[i] = w->made[w->order[i]].much;
    Keep now = try_price(w, low);
    for (int i = 0; i < w->n_order; i++)
        w->made[w->order[i]].much = much[i];
    take_parts(w, &now, most);
    return now;
}

/* ---- again */

typedef struct Copies {
    Way *w;
    int part; /* of those alone; -1: for gradients, of all that changed */
} Copies;

static const Expr *read_copy(Graph *g, const Expr *e, void *ctx)
{
    Copies *c = ctx;

    if (e->kind != E_READ)
        return NULL;
    const Made *m = &c->w->made[e->tensor->id];
    if (!m->copy || (c->part < 0 ? !m->changed : m->part != c->part))
        return NULL;
    return expr_read(g, m->copy, e->at, e->in, e->outside);
}

static Tensor *copy_of(Graph *g, Tensor *t)
{
    Tensor *c = graph_tensor(g, arena_printf(g->arena, "%s_again", t->name),
                             t->type, t->rank, t->dim);
    int id = c->id;
    const char *name = c->name;

    *c = *t;
    c->id = id;
    c->name = name;
    t->twice = true;
    return c;
}

static Stmt *stmt_again(Way *w, const Stmt *s, int part)
{
    Graph *g = w->g;
    Stmt *c = arena_new_of(g->arena, Stmt);
    int n = s->n_out + s->n_red;
    Subst *by = arena_array(g->arena, Subst, n + 1);
    Copies copies = {w, part};

    *c = *s;
    c->id = g->n_made++;
    c->behind = c->again = true;
    c->tensor = w->made[s->tensor->id].copy;
    c->path = arena_printf(g->arena, "%s_again", s->path);
    c->out = arena_array(g->arena, const Var *, s->n_out + 1);
    c->red = arena_array(g->arena, const Var *, s->n_red + 1);
    c->store = arena_array(g->arena, const Idx *, c->tensor->rank + 1);
    for (int i = 0; i < n; i++) {
        const Var *old = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        const Var *v = idx_new_var(g->pool, old->name, old->extent);
        by[i] = (Subst){old, idx_var(g->pool, v)};
        *(i < s->n_out ? &c->out[i] : &c->red[i - s->n_out]) = v;
    }
    for (int i = 0; i < c->tensor->rank; i++)
        c->store[i] = idx_subst(g->pool, s->store[i], by, n);
    c->where = guard_subst(g->pool, s->where, by, n);
    c->value = expr_rewrite(g, expr_subst(g, s->value, by, n), read_copy,
                            &copies);
    return c;
}

typedef struct Parts {
    Way *w;
    bool *part; /* that are read */
} Parts;

static void note_part(const Expr *e, void *ctx)
{
    Parts *p = ctx;

    if (e->kind == E_READ && p->w->made[e->tensor->id].changed)
        p->part[p->w->made[e->tensor->id].part] = true;
}

/* Part p's statements, once more, at the end of `to`. */
static int put_part(Way *w, int p, Stmt **to, int n)
{
    Graph *g = w->g;

    w->part[p].placed = true;
    for (int i = w->part[p].from; i < w->part[p].to; i++)
        if (w->made[g->stmt[i]->tensor->id].copy)
            to[n++] = stmt_again(w, g->stmt[i], p);
    return n;
}

static void note_copied(const Expr *e, void *ctx)
{
    Cross *c = ctx;

    if (e->kind != E_READ)
        return;
    Made *m = &c->w->made[e->tensor->id];
    if (m->may && m->again && m->part == c->part && !m->copy)
        m->copy = copy_of(c->w->g, c->w->g->tensor[e->tensor->id]);
}

/* What changed, as gradients read it, and what that is computed from. */
static void make_copies(Way *w)
{
    for (int i = 0; i < w->n_order; i++) {
        int t = w->order[i];
        Made *m = &w->made[t];
        Cross c = {w, m->part, false};
        if (m->changed && m->wanted && !m->copy)
            m->copy = copy_of(w->g, w->g->tensor[t]);
        if (m->copy)
            visit_makers(w, t, note_copied, &c);
    }
}

static void rewrite(Way *w)
{
    Graph *g = w->g;
    int n = 0;
    Stmt **stmt = arena_array(g->arena, Stmt *, 2 * g->n_stmt + 1);
    bool *reads = arena_array(g->arena, bool, w->n_part + 1);
    Copies all = {w, -1};
    Parts parts = {w, reads};

    make_copies(w);
    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        if (!is_forward(w, i)) {
            expr_visit(s->value, note_part, &parts);
            for (int p = w->n_part - 1; p >= 0; p--)
                if (reads[p] && !w->part[p].placed)
                    n = put_part(w, p, stmt, n);
            s->value = expr_rewrite(g, s->value, read_copy, &all);
        }
        stmt[n++] = s;
    }
    g->stmt = stmt;
    g->n_stmt = n;
    g->cap_stmt = n;
}

Keep keep(Graph *g, const Seens *seen, int64_t most)
{
    Way w = {.g = g};
    Keep best = {0};
    int64_t best_size = 0;

    w.turn = find_turn(g);
    if (w.turn == g->n_stmt)
        return best;
    for (int i = w.turn; i < g->n_stmt; i++)
        g->stmt[i]->behind = true;
    best.gradients = true;
    if (!seen)
        return best;
    w.made = arena_array(g->arena, Made, 2 * g->n_tensor + 1);
    w.part = arena_array(g->arena, Part, g->n_stmt + 1);
    w.part_at = arena_array(g->arena, int, g->n_stmt + 1);
    w.order = arena_array(g->arena, int, g->n_stmt + 1);
    find_makers(&w);
    find_readers(&w);
    find_costs(&w, seen);
    find_crossing(&w);
    find_order(&w);
    for (int parts = 1; parts <= 64; parts *= 2) {
        int64_t size = w.all / parts + 1;
        divide(&w, size);
        Keep k = choose(&w, most);
        if (!best_size || better(&k, &best, most)) {
            best = k;
            best_size = size;
        }
    }
    divide(&w, best_size);
    best = choose(&w, most);
    rewrite(&w);
    return best;
}
