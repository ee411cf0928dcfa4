#include "rewrite/reduced.h"

#include "rewrite/inline.h"
#include "rewrite/levels.h"
#include "rewrite/simplify.h"

#include <math.h>
#include <string.h>

enum {
    COLUMNS = 64,      /* of a piece */
    RESULTS = 1 << 19, /* that are worth it: fewer are cached */
    FEW = 32,          /* results for each that something reads besides */
    MOST_READERS = 8,
    MAX_VARS = 24
};

typedef struct Stmts {
    Stmt **v;
    int n, cap;
} Stmts;

/* Who makes and reads what, as long as nothing changes. */
typedef struct Web {
    Stmt **maker;   /* by tensor id, or NULL */
    Stmts *readers; /* by tensor id: each once */
} Web;

/* A tensor, and what reads it. */
typedef struct Wide {
    Graph *g;
    const Web *web;
    Tensor *t;
    Stmt *reader[MOST_READERS];
    int n; /* in order */
    const Stmt *most[MOST_READERS], *part[MOST_READERS];
    int n_most;
    /* maxima, and of their pieces */
} Wide;

/* ---- finding ------------------------------------------------------------- */

typedef struct Finding {
    const Tensor *t;
    const Expr *read; /* the last */
    int n;
    bool other; /* under a guard */
} Finding;

static void note_read(const Expr *e, void *ctx)
{
    Finding *f = ctx;

    if (e->kind != E_READ || e->tensor != f->t)
        return;
    f->read = e;
    f->n++;
    f->other |= e->in.n > 0;
}

static Finding find_reads(const Stmt *s, const Tensor *t)
{
    Finding f = {.t = t};

    expr_visit(s->value, note_read, &f);
    return f;
}

typedef struct Linking {
    Graph *g;
    Web *web;
    Stmt *s;
} Linking;

static void link_read(const Expr *e, void *ctx)
{
    const Linking *l = ctx;

    if (e->kind != E_READ)
        return;
    Stmts *r = &l->web->readers[e->tensor->id];
    if (!r->n || r->v[r->n - 1] != l->s)
        VEC_PUSH(l->g->arena, r->v, r->n, r->cap) = l->s;
}

static Web web_of(Graph *g)
{
    Web web = {tensor_makers(g), arena_array(g->arena, Stmts, g->n_tensor)};

    for (int i = 0; i < g->n_stmt; i++) {
        Linking l = {g, &web, g->stmt[i]};
        expr_visit(g->stmt[i]->value, link_read, &l);
    }
    return web;
}

/* False: they are too many. */
static bool find_readers(Wide *w)
{
    const Stmts *r = &w->web->readers[w->t->id];

    w->n = 0;
    if (r->n > MOST_READERS)
        return false;
    for (; w->n < r->n; w->n++)
        w->reader[w->n] = r->v[w->n];
    return true;
}

static bool plain(const Stmt *s)
{
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]) && s->tensor->dim[d] > 1)
            return false;
    return s->when == WHEN_RUN && !s->where.n && !s->notes &&
           !s->tensor->prev && s->n_out < MAX_RANK;
}

static int64_t points(const Stmt *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_out + s->n_red && n < (int64_t)1 << 40; i++)
        n *= (i < s->n_out ? s->out[i] : s->red[i - s->n_out])->extent;
    return n;
}

static int own_extents(const Stmt *s, const Expr *a, const Expr *b)
{
    int n = 0;

    for (int i = 0; i < s->n_out; i++)
        n += s->out[i]->extent > 1 && expr_uses(a, s->out[i]) &&
             !expr_uses(b, s->out[i]);
    return n;
}

enum { MOST_READS = 8 };

typedef struct Few {
    const Expr *read[MOST_READS];
    int n; /* one more: there are more */
} Few;

static void note_few(const Expr *e, void *ctx)
{
    Few *x = ctx;

    if (e->kind != E_READ)
        return;
    for (int i = 0; i < x->n && i < MOST_READS; i++)
        if (expr_equal(e, x->read[i]))
            return;
    if (x->n < MOST_READS)
        x->read[x->n] = e;
    x->n += x->n <= MOST_READS;
}

/* A sum of terms of two reads, each with points of its own. */
static bool is_product(const Stmt *s)
{
    Few x = {.n = 0};

    if (s->op != R_SUM || !type_is_float(s->tensor->type))
        return false;
    expr_visit(s->value, note_few, &x);
    return x.n == 2 && own_extents(s, x.read[0], x.read[1]) &&
           own_extents(s, x.read[1], x.read[0]);
}

/* Each read is of t's element at the points of s, a reduction's terms too. */
static bool everywhere(const Stmt *s, const Tensor *t)
{
    Finding f = find_reads(s, t);

    if (!f.n || f.other || points(s) != tensor_elems(t))
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] > 1 && (!idx_is_var(f.read->at[d]) ||
                              idx_is_var(f.read->at[d])->extent != t->dim[d]))
            return false;
    return f.n == 1;
}

static bool is_reduction(Graph *g, const Stmt *s, const Tensor *t)
{
    bool op =
        s->op == R_SUM || s->op == R_MAX || s->op == R_MIN || s->op == R_ARGMAX;

    return op && s->n_red == 1 && plain(s) && everywhere(s, t) &&
           type_is_float(s->value->type) &&
           (s->tensor->role == ROLE_TEMP || s->tensor->role == ROLE_OUTPUT) &&
           s->red[0]->extent > COLUMNS && !levels_between(g, s);
}

/* What each of s's points has an element of, and nothing else reads; NULL:
 * there is no such. */
static const Tensor *points_of(const Wide *w, const Stmt *s)
{
    Few x = {.n = 0};
    Wide from = *w;

    expr_visit(s->value, note_few, &x);
    for (int i = 0; i < x.n && i < MOST_READS; i++) {
        from.t = x.read[i]->tensor;
        if (everywhere(s, from.t) && find_readers(&from) && from.n == 1)
            return from.t;
    }
    return NULL;
}

/* Points of t alone, each made of one of a product's results; or these. */
static bool of_product(const Wide *w, const Tensor *t)
{
    const Stmt *s = w->web->maker[t->id];

    if (!s || !plain(s) || t->role != ROLE_TEMP || !type_is_float(t->type))
        return false;
    if (s->op != R_NONE)
        return is_product(s);
    t = points_of(w, s);
    return t && of_product(w, t);
}

/* ---- results that are read besides --------------------------------------- */

static bool is_few(const Stmt *s, const Tensor *t)
{
    return points(s) * FEW <= tensor_elems(t) && !find_reads(s, t).other;
}

/* Values for each of t's, of which a few are read. */
static bool passes_few(const Wide *w, const Stmt *s)
{
    Wide of = *w;

    of.t = s->tensor;
    if (s->op != R_NONE || !plain(s) || s->tensor->role != ROLE_TEMP ||
        !everywhere(s, w->t) || !find_readers(&of) || !of.n)
        return false;
    for (int i = 0; i < of.n; i++)
        if (!is_few(of.reader[i], s->tensor))
            return false;
    return true;
}

static bool take_in(Graph *g, Stmt *s, const Stmt *maker)
{
    const Expr *e =
        inline_reads(g, s->value, maker->tensor, maker->value, maker->store);

    s->value = e ? e : s->value;
    return e != NULL;
}

/* A statement at `at` that stores e, which s has as one of its v[]. */
static Stmt *stmt_for(Graph *g, int at, const Stmt *s, const Expr *e,
                      const Var *const *v, int n, Type type, const char *name,
                      const Expr **read)
{
    Stmt *c = stmt_insert(g, at);

    c->when = s->when;
    c->path = s->path;
    *read = store_values(g, c, s, e, v, n, type, name);
    return c;
}

static int place_of(const Graph *g, const Stmt *s)
{
    int at = 0;

    while (g->stmt[at] != s)
        at++;
    return at;
}

typedef struct Instead {
    const Expr *of, *by;
} Instead;

static const Expr *instead(Graph *g, const Expr *e, void *ctx)
{
    const Instead *x = ctx;

    (void)g;
    return e->kind == E_READ && expr_equal(e, x->of) ? x->by : NULL;
}

/* s reads one of product p's results; a statement ahead of it computes that. */
static bool own_sum(Graph *g, Stmt *s, const Stmt *p, const Expr *read)
{
    Subst map[MAX_VARS];
    const Var *v[MAX_RANK];
    int n = 0,
        k = invert_store(g, p->tensor, p->store, read->at, map, MAX_VARS);

    if (k < 0)
        return false;
    const Expr *value = expr_subst(g, p->value, map, k);
    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *own = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        if (expr_uses(value, own) && n < MAX_RANK)
            v[n++] = own;
    }
    Instead x = {.of = read};
    Stmt *c = stmt_for(g, place_of(g, s), s, value, v, n, T_F32,
                       p->tensor->name, &x.by);
    c->op = R_SUM;
    c->red = p->red;
    c->n_red = p->n_red;
    s->value = expr_rewrite(g, s->value, instead, &x);
    return true;
}

/* s, a reader of a few of t's elements, has them made of their own sums. */
static bool own_sums(const Wide *w, Stmt *s, Tensor *t)
{
    for (Finding f; (f = find_reads(s, t)).n;) {
        const Stmt *p = w->web->maker[t->id];
        Few x = {.n = 0};
        if (p->op != R_NONE) {
            if (!own_sum(w->g, s, p, f.read))
                return false;
            continue;
        }
        if (!take_in(w->g, s, p))
            return false;
        expr_visit(p->value, note_few, &x);
        for (int i = 0; i < x.n && i < MOST_READS; i++)
            if (everywhere(p, x.read[i]->tensor) &&
                !own_sums(w, s, x.read[i]->tensor))
                return false;
    }
    return true;
}

/* ---- pieces -------------------------------------------------------------- */

typedef struct Split {
    const Var *piece, *col; /* in place of s's column */
    const Idx *at;
    bool whole; /* all pieces are */
} Split;

static Split split_of(Graph *g, const Stmt *s)
{
    const Var *v = s->red[0];
    IdxPool *p = g->pool;
    int64_t n = (v->extent + COLUMNS - 1) / COLUMNS;
    Split x = {.piece = idx_new_var(p, v->name, n),
               .col = idx_new_var(p, v->name, COLUMNS),
               .whole = v->extent % COLUMNS == 0};

    x.at = idx_add(p, idx_scale(p, idx_var(p, x.piece), COLUMNS),
                   idx_var(p, x.col));
    return x;
}

/* What a reduction begins with. */
static double nothing(Reduce op)
{
    return op == R_SUM ? 0 : op == R_MIN ? INFINITY : -INFINITY;
}

/* A reduction by `op` of `value`, in s's variables, over each piece of the
 * columns: the read of it that stands for the piece. */
static const Expr *reduce_pieces(Graph *g, const Stmt *s, const Split *x,
                                 Reduce op, const Expr *value, Stmt **made)
{
    Subst by = {s->red[0], x->at};
    const Var *v[MAX_RANK];
    const Expr *e = expr_subst(g, value, &by, 1), *read;

    if (!x->whole) {
        const Idx *left =
            idx_sub(g->pool, idx_const(g->pool, s->red[0]->extent - 1), x->at);
        Guard in = guard_add(g->pool, (Guard){0}, left, 0);
        e = expr_select(g, expr_of_guard(g, in), expr_confine(g, e),
                        expr_const(g, nothing(op), T_F32), T_F32);
    }
    v[0] = x->piece;
    memcpy(v + 1, s->out, sizeof *v * (size_t)s->n_out);
    Stmt *c =
        stmt_for(g, place_of(g, s), s, e, v, 1 + s->n_out,
                 op == R_ARGMAX ? T_I32 : T_F32,
                 arena_printf(g->arena, "%s_parts", s->tensor->name), &read);
    c->op = op;
    c->red = arena_array(g->arena, const Var *, 1);
    c->red[0] = x->col;
    c->n_red = 1;
    *made = c;
    return read;
}

/* s reduces what the pieces have, in its own variables. */
static void over_pieces(Graph *g, Stmt *s, const Split *x, const Expr *value)
{
    s->red = arena_array(g->arena, const Var *, 1);
    s->red[0] = x->piece;
    s->n_red = 1;
    s->value = value;
}

/* ---- sums of exponentials less the maximum ------------------------------- */

/* The tensor of which t is a copy, rounded maybe; t itself of others. */
static const Tensor *copied(const Wide *w, const Tensor *t)
{
    const Stmt *s = w->web->maker[t->id];
    const Expr *e = s ? s->value : NULL;

    while (e && e->kind == E_CAST)
        e = e->arg[0];
    if (!s || s->op != R_NONE || !plain(s) || e->kind != E_READ || e->in.n ||
        e->tensor->rank != t->rank)
        return t;
    for (int d = 0; d < t->rank; d++)
        if (e->at[d] != s->store[d])
            return t;
    return e->tensor;
}

/* w->most's number of the maximum that e reads, or -1. */
static int maximum_of(const Wide *w, const Expr *e)
{
    const Tensor *t = e->kind == E_READ ? copied(w, e->tensor) : NULL;

    for (int i = 0; i < w->n_most; i++)
        if (t == w->most[i]->tensor)
            return i;
    return -1;
}

/* The read of a maximum in e, which is exp(.. - it), or that times factors. */
static const Expr *find_maximum(const Wide *w, const Expr *e)
{
    const Expr *a = e->arg[0], *found = NULL;

    while (e->kind == E_CAST)
        e = e->arg[0];
    a = e->arg[0];
    if (e->kind == E_BINARY && e->fn == F_MUL) {
        found = find_maximum(w, a);
        return found ? found : find_maximum(w, e->arg[1]);
    }
    if (e->kind != E_UNARY || e->fn != F_EXP || a->kind != E_BINARY ||
        a->fn != F_SUB)
        return NULL;
    const Expr *most = a->arg[1];
    while (most->kind == E_CAST)
        most = most->arg[0];
    return maximum_of(w, most) < 0 ? NULL : most;
}

/* The maximum of the piece of s's column, where `most` is that of its row. */
static const Expr *piece_maximum(const Wide *w, const Stmt *s, const Expr *most)
{
    Graph *g = w->g;
    const int i = maximum_of(w, most);
    const Stmt *m = w->most[i], *part = w->part[i];
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);

    at[0] = idx_floor(g->pool, idx_var(g->pool, s->red[0]), COLUMNS);
    for (int k = 0; k < m->n_out; k++) {
        at[1 + k] = idx_const(g->pool, 0);
        for (int d = 0; d < m->tensor->rank; d++)
            if (idx_is_var(m->store[d]) == m->out[k])
                at[1 + k] = most->at[d];
    }
    return expr_read(g, part->tensor, at, (Guard){0}, NULL);
}

static void split_exponentials(Wide *w, Stmt *s, const Expr *most)
{
    Graph *g = w->g;
    const Split x = split_of(g, s);
    const Subst by = {s->red[0], x.at};
    const Expr *own = piece_maximum(w, s, most);
    const Expr *none = expr_const(g, -INFINITY, T_F32);
    Stmt *made;

    /* a piece of -inf alone has none to be subtracted */
    Instead in = {most, expr_select(g, expr_binary(g, F_EQ, own, none, T_BOOL),
                                    expr_const(g, 0, T_F32), own, T_F32)};
    const Expr *value = expr_rewrite(g, s->value, instead, &in);
    const Expr *sum = reduce_pieces(g, s, &x, R_SUM, value, &made);
    own = expr_subst(g, own, &by, 1);
    own = expr_binary(g, F_SUB, own, most, T_F32);
    over_pieces(
        g, s, &x,
        expr_binary(g, F_MUL, sum, expr_unary(g, F_EXP, own, T_F32), T_F32));
}

/* ---- argmax -------------------------------------------------------------- */

static void split_argmax(Graph *g, Stmt *s)
{
    const Split x = split_of(g, s);
    Stmt *made;
    const Expr *most = reduce_pieces(g, s, &x, R_MAX, s->value, &made);
    const Expr *where = reduce_pieces(g, s, &x, R_ARGMAX, s->value, &made);
    const Expr *piece;

    Stmt *c = stmt_for(
        g, place_of(g, s), s, most, (const Var *const *)s->out, s->n_out, T_I32,
        arena_printf(g->arena, "%s_part", s->tensor->name), &piece);
    c->op = R_ARGMAX;
    c->red = arena_array(g->arena, const Var *, 1);
    c->red[0] = x.piece;
    c->n_red = 1;
    c->tensor->promised = true;
    c->tensor->lo = 0;
    c->tensor->hi = x.piece->extent;
    Subst by = {x.piece, idx_data(g->pool, piece, 0, x.piece->extent - 1)};
    s->value = expr_binary(
        g, F_ADD,
        expr_binary(g, F_MUL, piece, expr_const(g, COLUMNS, T_I32), T_I32),
        expr_subst(g, where, &by, 1), T_I32);
    s->op = R_NONE;
    s->red = NULL;
    s->n_red = 0;
}

/* ---- the whole ----------------------------------------------------------- */

typedef struct Depends {
    const Wide *w;
    const Expr *but; /* this read; or NULL */
    int depth;
    bool found;
} Depends;

/* Does a value come of another reduction of t? */
static void note_depends(const Expr *e, void *ctx)
{
    enum { DEPTH = 6 };
    Depends *x = ctx;

    if (e->kind != E_READ || x->found || e->tensor == x->w->t ||
        (x->but && expr_equal(e, x->but)))
        return;
    const Stmt *s = x->w->web->maker[e->tensor->id];
    for (int i = 0; i < x->w->n; i++)
        x->found |= x->w->reader[i] == s;
    if (!s || x->found || x->depth == DEPTH)
        return;
    x->depth++;
    expr_visit(s->value, note_depends, x);
    x->depth--;
}

/* Nothing that all of a row is known for first, but a maximum. */
static bool at_once(Wide *w, const Stmt *s)
{
    Depends x = {.w = w};

    if (s->op == R_SUM)
        x.but = find_maximum(w, s->value);
    if (x.but && find_reads(s, x.but->tensor).n != 1)
        return false;
    expr_visit(s->value, note_depends, &x);
    return !x.found;
}

/* 16 bits are stored and read again sooner than two walks over each piece ask
 * which of its columns there are. */
static bool is_dear(const Wide *w, const Stmt *s)
{
    return type_bytes(w->t->type) == 2 && s->op == R_SUM &&
           find_maximum(w, s->value) && s->red[0]->extent % COLUMNS;
}

/* What is read besides is few results, or passes such on. */
static bool may_reduce(Wide *w)
{
    bool some = false;

    w->n_most = 0;
    for (int i = 0; i < w->n; i++) {
        const Stmt *s = w->reader[i];
        if (is_reduction(w->g, s, w->t)) {
            some = true;
            if (s->op == R_MAX && expr_strip(s->value)->kind == E_READ)
                w->most[w->n_most++] = s;
        } else if (!is_few(s, w->t) && !passes_few(w, s)) {
            return false;
        }
    }
    for (int i = 0; i < w->n; i++)
        if (is_reduction(w->g, w->reader[i], w->t) &&
            (!at_once(w, w->reader[i]) || is_dear(w, w->reader[i])))
            return false;
    return some;
}

static bool settle_besides(Wide *w, Stmt *s)
{
    Wide of = *w;

    if (is_few(s, w->t))
        return own_sums(w, s, w->t);
    of.t = s->tensor;
    find_readers(&of);
    for (int i = 0; i < of.n; i++)
        if (!take_in(w->g, of.reader[i], s) || !own_sums(w, of.reader[i], w->t))
            return false;
    s->value = expr_const(w->g, 0, s->tensor->type); /* dead */
    return true;
}

/* ---- both ways ----------------------------------------------------------- */

static int dim_of(const Expr *read, const Var *v)
{
    for (int d = 0; d < read->tensor->rank; d++)
        if (idx_is_var(read->at[d]) == v)
            return d;
    return -1;
}

/* The dimension of t that reduction s goes along. */
static int along(const Stmt *s, const Tensor *t)
{
    return dim_of(find_reads(s, t).read, s->red[0]);
}

typedef struct Turned {
    const Tensor *of;
    Tensor *by;
    int d; /* changes places with the last dimension */
} Turned;

static const Idx **turned(Graph *g, const Idx *const *at, const Tensor *t,
                          int d)
{
    const Idx **to = arena_copy(g->arena, at, t->rank, t->rank, sizeof *at);

    to[d] = at[t->rank - 1];
    to[t->rank - 1] = at[d];
    return to;
}

static const Expr *read_turned(Graph *g, const Expr *e, void *ctx)
{
    const Turned *x = ctx;

    if (e->kind != E_READ || e->tensor != x->of)
        return NULL;
    return expr_read(g, x->by, turned(g, e->at, x->of, x->d), e->in,
                     e->outside);
}

/* What makes t, and the product behind it, once more: of a tensor whose last
 * dimension is t's d. */
static Tensor *made_again(const Wide *w, const Tensor *t, int d)
{
    Graph *g = w->g;
    const Stmt *s = w->web->maker[t->id];
    Stmt *c = stmt_insert(g, place_of(g, s) + 1);
    const int id = c->id;
    int64_t dim[MAX_RANK];

    memcpy(dim, t->dim, sizeof dim);
    dim[d] = t->dim[t->rank - 1];
    dim[t->rank - 1] = t->dim[d];
    *c = *s;
    c->id = id;
    c->tensor = graph_tensor_like(g, t, t->type, t->rank, dim);
    c->tensor->as_declared = true;
    c->store = turned(g, s->store, t, d);
    Turned x = {.of = s->op == R_NONE ? points_of(w, s) : NULL};
    if (x.of) {
        x.d = dim_of(find_reads(s, x.of).read, idx_is_var(s->store[d]));
        x.by = made_again(w, x.of, x.d);
        c->value = expr_rewrite(g, s->value, read_turned, &x);
    }
    return c->tensor;
}

/* Bytes that are stored and read again take longer than so many terms of a
 * product. */
static bool is_short(const Wide *w, const Tensor *t)
{
    enum { TERMS = 16, TERMS_16 = 256 };
    const Stmt *s = w->web->maker[t->id];
    Few x = {.n = 0};
    int64_t terms = 1;

    if (s->op == R_NONE)
        return is_short(w, points_of(w, s));
    expr_visit(s->value, note_few, &x);
    for (int i = 0; i < s->n_red; i++)
        terms *= s->red[i]->extent;
    for (int i = 0; i < x.n && i < MOST_READS; i++)
        if (x.read[i]->tensor->type == T_F32)
            return terms <= TERMS;
    return terms <= TERMS_16;
}

/* Reductions along another dimension than the last have results of their own.
 * NULL: the product would take too long. */
static Tensor *other_way(Wide *w, int d)
{
    Graph *g = w->g;
    Turned x = {.of = w->t, .d = d};

    if (!is_short(w, w->t))
        return NULL;
    x.by = made_again(w, w->t, d);
    for (int i = 0; i < w->n; i++) {
        Stmt *s = w->reader[i];
        if (is_reduction(g, s, w->t) && along(s, w->t) == d)
            s->value = expr_rewrite(g, s->value, read_turned, &x);
    }
    return x.by;
}

static void reduce_rows(Wide *w)
{
    Graph *g = w->g;
    bool done[MOST_READERS] = {false};

    /* while there are several, t is stored: a tile's columns are to be those */
    w->t->as_declared = true;
    for (int i = 0; i < w->n; i++)
        if (!is_reduction(g, w->reader[i], w->t)) {
            if (!settle_besides(w, w->reader[i]))
                return;
            done[i] = true;
        }
    for (int i = 0; i < w->n; i++) {
        Stmt *s = w->reader[i], *made;
        const Split x = done[i] ? (Split){0} : split_of(g, s);
        const Expr *most =
            done[i] || s->op != R_SUM ? NULL : find_maximum(w, s->value);
        if (done[i])
            continue;
        if (most) {
            split_exponentials(w, s, most);
        } else if (s->op == R_ARGMAX) {
            split_argmax(g, s);
        } else {
            const Expr *e = reduce_pieces(g, s, &x, s->op, s->value, &made);
            over_pieces(g, s, &x, e);
            for (int k = 0; k < w->n_most; k++)
                if (w->most[k] == s)
                    w->part[k] = made;
        }
    }
}

/* A dimension but the last that t is reduced along; -1: there is none. */
static int other_dim(const Wide *w)
{
    for (int i = 0; i < w->n; i++) {
        int d = is_reduction(w->g, w->reader[i], w->t)
                    ? along(w->reader[i], w->t)
                    : w->t->rank - 1;
        if (d != w->t->rank - 1)
            return d;
    }
    return -1;
}

/* Whether anything changed. */
static bool reduce_one(Graph *g, const Web *web, Tensor *t)
{
    Wide w = {.g = g, .web = web, .t = t};

    if (tensor_elems(t) < RESULTS || !of_product(&w, t) || !find_readers(&w) ||
        !may_reduce(&w))
        return false;
    int d = other_dim(&w);
    Tensor *turned = d < 0 ? NULL : other_way(&w, d);
    if (turned) {
        Web now = web_of(g);
        reduce_one(g, &now, turned);
        now = web_of(g);
        reduce_one(g, &now, t);
        return true;
    }
    if (d < 0)
        reduce_rows(&w);
    return d < 0;
}

void reduce_products(Graph *g)
{
    const int n = g->n_tensor;
    Web web = web_of(g);

    for (int i = 0; i < n; i++)
        if (reduce_one(g, &web, g->tensor[i]))
            web = web_of(g);
}
