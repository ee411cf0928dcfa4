#include "search/keep.h"

#include <math.h>

enum { SMALL = 2000 }; /* a tensor of less than this part of all is kept */

/* One tensor that the forward pass makes. */
typedef struct Made {
    bool may;        /* be computed again */
    bool wanted;     /* gradients read it */
    bool held, again; /* as the plan has it */
    int first, end;  /* positions: who makes it, */
    int last;        /* and who reads it ahead */
    int part;        /* of all who make it; -1: they are of several */
    int64_t bytes;
    Tensor *copy;
} Made;

typedef struct Part {
    int from, to; /* positions */
    int64_t bytes, again;
    double us;
    bool chosen, placed;
} Part;

typedef struct Way {
    Graph *g;
    const Device *d;
    Made *made;   /* by tensor */
    int turn;     /* position of the first statement of gradients */
    int64_t all, least;
    int64_t *crossing; /* by position: bytes that are still read ahead */
    Part *part; int n_part;
    int *part_at;            /* by position */
    int *by_part, n_by_part; /* tensors that may be computed again */
} Way;

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
} Note;

static void note_read(const Expr *e, void *ctx)
{
    Note *n = ctx;

    if (e->kind != E_READ)
        return;
    Made *m = &n->w->made[e->tensor->id];
    if (n->forward)
        m->last = n->at;
    else
        m->wanted = true;
}

static void find_makers(Way *w)
{
    Graph *g = w->g;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        w->made[i] = (Made){.first = -1, .last = -1, .may =
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
}

static void find_readers(Way *w)
{
    Graph *g = w->g;

    for (int i = 0; i < g->n_stmt; i++) {
        Note n = {w, i, is_forward(w, i)};
        if (n.forward || g->stmt[i]->when == WHEN_RUN)
            expr_visit(g->stmt[i]->value, note_read, &n);
    }
    for (int i = 0; i < g->n_tensor; i++)
        if (w->made[i].may && w->made[i].wanted)
            w->all += w->made[i].bytes;
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

    return is_forward(w, at) && m->may && m->wanted && m->first == at ? m->bytes
                                                                     : 0;
}

/* What may be computed again into by_part, the last part's first. */
static void sort_by_part(Way *w)
{
    Graph *g = w->g;

    w->n_by_part = 0;
    for (int i = 0; i < g->n_tensor; i++) {
        Made *m = &w->made[i];
        m->part = -1;
        if (m->may && w->part_at[m->first] == w->part_at[m->end])
            m->part = w->part_at[m->first];
    }
    for (int i = g->n_stmt - 1; i >= 0; i--) {
        int t = g->stmt[i]->tensor->id;
        if (w->made[t].may && w->made[t].first == i)
            w->by_part[w->n_by_part++] = t;
    }
}

/* Where the least crosses, of the second half of what a part may have. */
static void cut(Way *w, int64_t most)
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
    sort_by_part(w);
}

/* A rough time: that of its bytes or its terms. */
static double time_of(const Way *w, const Stmt *s)
{
    const Device *d = w->d;
    bool half = type_bytes(s->tensor->type) == 2 || s->op != R_NONE;
    double points = 1, terms = 1, tflops = half ? d->mma_tflops : 0;

    for (int i = 0; i < s->n_out; i++)
        points *= (double)s->out[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        terms *= (double)s->red[i]->extent;
    if (tflops <= 0)
        tflops = d->fma_tflops;
    double bytes = 3 * points * (double)type_bytes(s->tensor->type);
    return d->launch_us + fmax(bytes / (d->hbm_gbs * 1e3),
                               2 * points * terms / (tflops * 1e6));
}

typedef struct Need {
    Way *w;
    int part;
    int64_t *more; /* bytes that must be kept besides */
} Need;

static void need_again(Way *w, const Tensor *t, int64_t *more);

static void need(const Expr *e, void *ctx)
{
    Need *n = ctx;

    if (e->kind != E_READ)
        return;
    Made *m = &n->w->made[e->tensor->id];
    if (m->part == n->part && m->bytes >= n->w->least) {
        need_again(n->w, e->tensor, n->more);
    } else if (m->may && !m->held && !m->again) {
        m->held = true;
        *n->more += m->bytes;
    }
}

static void need_again(Way *w, const Tensor *t, int64_t *more)
{
    Graph *g = w->g;
    Made *m = &w->made[t->id];

    if (m->again || m->held) /* that is what a later part begins with */
        return;
    m->again = true;
    Part *p = &w->part[m->part];
    p->again += m->bytes;
    for (int i = p->from; i < p->to; i++)
        if (g->stmt[i]->tensor == t) {
            Need n = {w, m->part, more};
            p->us += time_of(w, g->stmt[i]);
            expr_visit(g->stmt[i]->value, need, &n);
        }
}

/* What a choice of parts comes to: the last one first, since what it reads of
 * others is held. */
static Keep weigh(Way *w)
{
    Graph *g = w->g;
    Keep k = {.wanted = w->all, .parts = w->n_part};

    for (int p = 0; p < w->n_part; p++)
        w->part[p].again = 0, w->part[p].us = 0;
    for (int i = 0; i < g->n_tensor; i++)
        w->made[i].again = w->made[i].held = false;
    for (int i = 0; i < w->n_by_part; i++) {
        Made *m = &w->made[w->by_part[i]];
        if (!m->wanted || m->again || m->held)
            continue;
        if (m->part >= 0 && w->part[m->part].chosen && m->bytes >= w->least) {
            need_again(w, g->tensor[w->by_part[i]], &k.held);
        } else {
            m->held = true;
            k.held += m->bytes;
        }
    }
    for (int p = 0; p < w->n_part; p++) {
        k.n += w->part[p].chosen;
        k.us += w->part[p].us;
        k.again += w->part[p].again;
        if (w->part[p].again > k.part)
            k.part = w->part[p].again;
    }
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

/* Takes parts until it fits, each time the one that frees most for its time:
 * every part's own figures are those of it alone. */
static Keep choose(Way *w, int64_t most)
{
    Keep now = weigh(w);

    for (int p = 0; p < w->n_part; p++) {
        w->part[p].chosen = true;
        Keep alone = weigh(w);
        w->part[p].bytes = now.held - alone.held;
        w->part[p].us = alone.us;
        w->part[p].chosen = false;
    }
    double *price = arena_array(w->g->arena, double, w->n_part + 1);
    for (int p = 0; p < w->n_part; p++)
        price[p] = w->part[p].us / (double)w->part[p].bytes;
    for (;;) {
        int best = -1;
        for (int p = 0; p < w->n_part; p++)
            if (!w->part[p].chosen && w->part[p].bytes > 0 &&
                (best < 0 || price[p] < price[best]))
                best = p;
        if (best < 0 || fits(&now, most))
            return now;
        w->part[best].chosen = true;
        now = weigh(w);
    }
}

/* ---- again */

typedef struct Copies {
    Way *w;
    int part; /* of those alone; -1: of all */
} Copies;

static const Expr *read_copy(Graph *g, const Expr *e, void *ctx)
{
    Copies *c = ctx;

    if (e->kind != E_READ)
        return NULL;
    const Made *m = &c->w->made[e->tensor->id];
    if (!m->copy || (c->part >= 0 && m->part != c->part))
        return NULL;
    return expr_read(g, m->copy, e->at, e->in, e->outside);
}

static Tensor *copy_of(Graph *g, const Tensor *t)
{
    Tensor *c = graph_tensor(g, arena_printf(g->arena, "%s_again", t->name),
                             t->type, t->rank, t->dim);
    int id = c->id;
    const char *name = c->name;

    *c = *t;
    c->id = id;
    c->name = name;
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

    if (e->kind == E_READ && p->w->made[e->tensor->id].again)
        p->part[p->w->made[e->tensor->id].part] = true;
}

/* Part p's statements, once more, at the end of `to`. */
static int put_part(Way *w, int p, Stmt **to, int n)
{
    Graph *g = w->g;

    w->part[p].placed = true;
    for (int i = w->part[p].from; i < w->part[p].to; i++)
        if (w->made[g->stmt[i]->tensor->id].again)
            to[n++] = stmt_again(w, g->stmt[i], p);
    return n;
}

static void rewrite(Way *w)
{
    Graph *g = w->g;
    int old = g->n_tensor, n = 0;
    Stmt **stmt = arena_array(g->arena, Stmt *, 2 * g->n_stmt + 1);
    bool *reads = arena_array(g->arena, bool, w->n_part + 1);
    Copies all = {w, -1};
    Parts parts = {w, reads};

    for (int i = 0; i < old; i++)
        if (w->made[i].again)
            w->made[i].copy = copy_of(g, g->tensor[i]);
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

Keep keep(Graph *g, const Device *d, int64_t most)
{
    Way w = {.g = g, .d = d};
    Keep best = {0};
    int64_t best_size = 0;

    w.turn = find_turn(g);
    if (w.turn == g->n_stmt)
        return best;
    for (int i = w.turn; i < g->n_stmt; i++)
        g->stmt[i]->behind = true;
    w.made = arena_array(g->arena, Made, 2 * g->n_tensor + 1);
    w.part = arena_array(g->arena, Part, g->n_stmt + 1);
    w.part_at = arena_array(g->arena, int, g->n_stmt + 1);
    w.by_part = arena_array(g->arena, int, g->n_stmt + 1);
    find_makers(&w);
    find_readers(&w);
    find_crossing(&w);
    best = (Keep){.wanted = w.all, .held = w.all};
    if (most == INT64_MAX || fits(&best, most))
        return best;
    for (int parts = 2; parts <= 64; parts *= 2) {
        int64_t size = w.all / parts + 1;
        cut(&w, size);
        Keep k = choose(&w, most);
        if (!best_size || better(&k, &best, most)) {
            best = k;
            best_size = size;
        }
    }
    cut(&w, best_size);
    best = choose(&w, most);
    rewrite(&w);
    return best;
}
