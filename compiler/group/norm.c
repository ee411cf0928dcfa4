#include "group/norm.h"

#include "group/fuse.h"
#include "group/split.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <string.h>

enum { MAX_VARS = 24, LONGEST = 2048 /* columns */ };

static int64_t extents(const Var *const *v, int n)
{
    int64_t e = 1;

    for (int i = 0; i < n; i++)
        e *= v[i]->extent;
    return e;
}

/* ---- tensors of pieces --------------------------------------------------- */

typedef struct Whole {
    const Stmt *s;
    bool found, other;
} Whole;

/* A read that has all of the statement's variables, or fewer. */
static void note_whole(const Expr *e, void *ctx)
{
    Whole *w = ctx;
    bool all = true;

    if (e->kind != E_READ)
        return;
    for (int i = 0; i < w->s->n_out; i++)
        all &= w->s->out[i]->extent == 1 || expr_uses(e, w->s->out[i]);
    bool red = expr_uses(e, w->s->red[0]);
    w->found |= all && red;
    w->other |= !all && red;
}

/* Reads of values of rows, and others. */
static void note_of_rows(const Expr *e, void *ctx)
{
    Whole *w = ctx;

    if (e->kind != E_READ)
        return;
    w->found |= e->tensor->of_rows;
    w->other |= !e->tensor->of_rows;
}

void norm_prepare(Graph *g)
{
    int n = g->n_stmt;

    for (int i = 0; i < n; i++) {
        Stmt *s = g->stmt[i];
        Whole w = {s, false, false};
        int64_t rows = extents(s->out, s->n_out);
        if (s->op != R_SUM || s->n_red != 1 || s->when != WHEN_RUN ||
            s->tensor->type != T_F32 || s->tensor->role != ROLE_TEMP ||
            s->red[0]->extent % NORM_LEAST || s->red[0]->extent > LONGEST ||
            rows < NORM_ROWS)
            continue;
        expr_visit(s->value, note_whole, &w);
        if (!w.found || w.other)
            continue;
        int64_t dim[] = {s->red[0]->extent / NORM_LEAST, rows};
        s->pieces = graph_tensor(g, arena_printf(g->arena, "%s_parts",
                                                 s->tensor->name),
                                 T_F32, 2, dim);
        s->pieces->path = s->tensor->path;
        s->pieces->at = s->tensor->at;
        s->pieces->align = 16;
        s->tensor->of_rows = true;
    }
    for (int i = 0; i < n; i++) {
        Stmt *s = g->stmt[i];
        Whole w = {s, false, false};
        if (s->op == R_NONE && s->when == WHEN_RUN &&
            s->tensor->role == ROLE_TEMP) {
            expr_visit(s->value, note_of_rows, &w);
            s->tensor->of_rows = w.found && !w.other;
        }
    }
}

/* ---- what a norm is ------------------------------------------------------ */

static const Expr *strip(const Expr *e)
{
    while (e->kind == E_CAST && e->type == T_F32 &&
           type_is_float(e->arg[0]->type))
        e = e->arg[0];
    return e;
}

typedef struct Inline {
    const Group *gr;
    int value;
} Inline;

/* Values over columns but `value` written out. */
static const Expr *value_of(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Inline *in = ctx;

    (void)g;
    if (e->kind != E_LOCAL || e->local == in->value ||
        !in->gr->step[e->local].over_cols ||
        in->gr->step[e->local].op != R_NONE)
        return NULL;
    *more = true;
    return in->gr->step[e->local].value;
}

typedef struct Parts {
    const Norm *n;
    bool value, rows, other;
} Parts;

static void note_part(const Expr *e, void *ctx)
{
    Parts *p = ctx;

    p->value |= e->kind == E_LOCAL && e->local == p->n->value;
    p->rows |= e->kind == E_LOCAL && e->local != p->n->value;
    p->other |= e->kind == E_READ || e->kind == E_INDEX;
}

static Parts parts_of(const Norm *n, const Expr *e)
{
    Parts p = {.n = n};

    expr_visit(e, note_part, &p);
    return p;
}

static bool is_value(const Norm *n, const Expr *e)
{
    e = strip(e);
    return e->kind == E_LOCAL && e->local == n->value;
}

/* Whether row step i is the mean of x's rows; sets *sum. */
static bool is_mean(const Norm *n, int i, int *sum)
{
    const Step *s = &n->group->step[i];
    double by, size = (double)n->col->extent;

    if (s->op != R_NONE || s->over_cols || s->value->kind != E_BINARY)
        return false;
    const Expr *a = s->value->arg[0], *b = s->value->arg[1];
    if (s->value->fn == F_MUL && a->kind == E_CONST) {
        const Expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind != E_LOCAL || b->kind != E_CONST ||
        n->group->step[a->local].op != R_SUM ||
        !is_value(n, n->group->step[a->local].value))
        return false;
    by = s->value->fn == F_MUL   ? b->num * size
         : s->value->fn == F_DIV ? size / b->num : 0;
    *sum = a->local;
    return fabs(by - 1) < 1e-6;
}

/* (x - mean) * (x - mean) */
static bool is_square(Norm *n, const Expr *e, int i)
{
    e = strip(e);
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[2] ||
        !expr_equal(e->arg[0], e->arg[1]))
        return false;
    e = strip(e->arg[0]);
    if (e->kind != E_BINARY || e->fn != F_SUB || !is_value(n, e->arg[0]) ||
        e->arg[1]->kind != E_LOCAL || e->arg[1]->local < 0)
        return false;
    n->about[i] = e->arg[1]->local;
    return is_mean(n, n->about[i], &n->sum[i]);
}

/* Step i behind x's: a sum that pieces have, a value of rows, or of columns
 * that will be written out. */
static const char *check_step(Graph *g, Norm *n, int i)
{
    const Group *gr = n->group;
    const Step *s = &gr->step[i];
    Inline in = {gr, n->value};

    n->about[i] = -1;
    if (s->tensor && i < gr->n_step - 1)
        return "values besides its result are stored";
    if (s->op == R_NONE && s->over_cols)
        return NULL;
    const Expr *e = expr_write_out(g, s->value, value_of, &in);
    Parts p = parts_of(n, e);
    if (s->op == R_NONE)
        return p.other ? "values of rows that are not of its sums alone"
                       : NULL;
    if (s->op != R_SUM || !s->source || !s->source->pieces || p.other)
        return "a reduction that pieces do not have";
    n->part[i] = s->source->pieces;
    n->group->step[i].value = e;
    return (p.value && !p.rows) || is_square(n, e, i)
               ? NULL : "a sum of other values of rows";
}

/* A copy of gr, the first step of which is the read that all its reductions
 * make; or NULL. */
typedef struct OneRead {
    const Group *gr;
    const Expr *read;
    bool differ;
} OneRead;

static void note_one(const Expr *e, void *ctx)
{
    OneRead *r = ctx;

    if (e->kind != E_READ || !expr_uses(e, r->gr->cols[0]))
        return;
    r->differ |= r->read && !expr_equal(r->read, e);
    r->read = e;
}

typedef struct Shift {
    const Expr *read;
    int by;
} Shift;

static const Expr *behind_read(Graph *g, const Expr *e, void *ctx)
{
    const Shift *s = ctx;

    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + s->by, e->type);
    return e->kind == E_READ && expr_equal(e, s->read)
               ? expr_local(g, 0, T_F32) : NULL;
}

static Group *with_steps(Graph *g, const Group *gr, int first)
{
    Group *c = arena_new_of(g->arena, Group);

    *c = *gr;
    c->step = arena_array(g->arena, Step, gr->n_step + first);
    memcpy(c->step + first, gr->step, sizeof(Step) * (size_t)gr->n_step);
    c->n_step += first;
    return c;
}

static Group *read_first(Graph *g, const Group *gr)
{
    OneRead r = {gr, NULL, false};

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op != R_NONE)
            expr_visit(gr->step[i].value, note_one, &r);
    if (!r.read || r.differ || r.read->in.n)
        return NULL;
    Group *c = with_steps(g, gr, 1);
    Shift s = {r.read, 1};
    for (int i = 1; i < c->n_step; i++)
        c->step[i].value = expr_rewrite(g, c->step[i].value, behind_read, &s);
    c->step[0] = (Step){.over_cols = true, .value = r.read, .type = T_F32};
    return c;
}

static bool looks_like(const Group *gr)
{
    const Step *last = &gr->step[gr->n_step - 1];

    return gr->n_cols == 1 && gr->n_step >= 3 && gr->n_step < NORM_STEPS &&
           !gr->chain && !gr->merge && !gr->pieces && gr->when == WHEN_RUN &&
           last->op == R_NONE && last->over_cols && last->tensor &&
           last->tensor->role == ROLE_TEMP && !last->tensor->prev &&
           !last->tensor->host && !last->where.n &&
           gr->cols[0]->extent % NORM_LEAST == 0;
}

/* Where x is, and where its elements are. */
static const char *place_x(Graph *g, Norm *n)
{
    const Step *s = &n->group->step[n->value];
    const Step *last = &n->group->step[n->group->n_step - 1];

    n->y = last->tensor;
    n->read = n->value == 0 && s->value->kind == E_READ && !s->source;
    n->x = n->read ? s->value->tensor : s->tensor;
    n->x_at = n->read ? s->value->at : s->store;
    if (n->x)
        return s->where.n ? "its values are stored in part" : NULL;
    n->x = s->source ? s->source->tensor : NULL;
    n->x_at = last->store; /* nobody else knows x */
    bool same = n->x && n->x->rank == n->y->rank && n->x->role == ROLE_TEMP;
    for (int d = 0; same && d < n->x->rank; d++)
        same = n->x->dim[d] == n->y->dim[d];
    (void)g;
    return same ? NULL : "its values have another shape than its result";
}

bool norm_find(Graph *g, const Group *gr, Norm *n, const char **why)
{
    int first = 0;

    *n = (Norm){.value = -1};
    *why = NULL;
    if (!looks_like(gr))
        return false;
    while (first < gr->n_step && gr->step[first].op == R_NONE &&
           gr->step[first].over_cols)
        first++;
    if (first == gr->n_step || gr->step[first].op == R_NONE)
        return false;
    n->group = first ? with_steps(g, gr, 0) : read_first(g, gr);
    if (!n->group)
        return false;
    n->value = first ? first - 1 : 0;
    n->col = n->group->cols[0];
    for (int i = 0; i < n->value && !*why; i++)
        if (n->group->step[i].tensor)
            *why = "values besides its result are stored";
    for (int i = n->value + 1; i < n->group->n_step && !*why; i++)
        *why = check_step(g, n, i);
    if (!*why)
        *why = place_x(g, n);
    if (*why)
        return false;
    Inline in = {n->group, n->value};
    n->result = expr_write_out(g, n->group->step[n->group->n_step - 1].value,
                               value_of, &in);
    return true;
}

/* ---- numbers ------------------------------------------------------------- */

/* The norm's rows as one number, in other variables. */
static const Idx *row_number(Graph *g, const Norm *n, const Subst *map, int k)
{
    const Idx *e = idx_const(g->pool, 0);
    int64_t radix = 1;

    for (int i = n->group->n_rows - 1; i >= 0; i--) {
        const Var *v = n->group->rows[i];
        e = idx_add(g->pool, e, idx_scale(g->pool, idx_var(g->pool, v),
                                          radix));
        radix *= v->extent;
    }
    return idx_subst(g->pool, e, map, k);
}

/* Element number `row` of t. */
static const Idx **element(Graph *g, const Tensor *t, const Idx *row)
{
    const Idx **at = arena_array(g->arena, const Idx *, t->rank + 1);
    int64_t below = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = idx_floor(g->pool, row, below);
        if (d > 0)
            at[d] = idx_mod(g->pool, at[d], t->dim[d]);
        below *= t->dim[d];
    }
    return at;
}

static const Idx **piece_at(Graph *g, const Idx *piece, const Idx *row)
{
    const Idx **at = arena_array(g->arena, const Idx *, 2);

    at[0] = piece;
    at[1] = row;
    return at;
}

static const Expr *f32(Graph *g, double v)
{
    return expr_const(g, v, T_F32);
}

static const Expr *square(Graph *g, const Expr *e)
{
    return expr_binary(g, F_MUL, e, e, T_F32);
}

static const Expr *mean_of_piece(Graph *g, const Norm *n, const Expr *sum)
{
    return expr_binary(g, F_MUL, sum, f32(g, 1.0 / n->piece), T_F32);
}

/* ---- the producer -------------------------------------------------------- */

/* Calls c's variables as the statement that makes x does. */
static void rename_shared(Graph *g, const Norm *n, Group *c)
{
    const Stmt *s = n->group->step[n->value].source;
    Subst map[MAX_VARS];
    int k = 0;

    for (int d = 0; d < n->x->rank && s->tensor == n->x; d++) {
        const Var *v = idx_is_var(n->x_at[d]), *by = idx_is_var(s->store[d]);
        for (int i = 0; v && by && i < c->n_rows; i++) {
            if (c->rows[i] != v || k == MAX_VARS)
                continue;
            c->rows[i] = idx_new_var(g->pool, by->name, v->extent);
            map[k++] = (Subst){v, idx_var(g->pool, c->rows[i])};
        }
    }
    group_subst(g, c, map, k);
}

/* The steps up to x's as a nest of points. */
static Group *points_of(Graph *g, const Norm *n)
{
    const Group *r = n->group;
    Group *c = arena_new_of(g->arena, Group);

    *c = (Group){.when = r->when, .n_rows = r->n_rows + 1,
                 .n_step = n->value + 1};
    c->rows = arena_array(g->arena, const Var *, c->n_rows);
    memcpy(c->rows, r->rows, sizeof(Var *) * (size_t)r->n_rows);
    c->rows[r->n_rows] = n->col;
    c->step = arena_array(g->arena, Step, c->n_step);
    for (int i = 0; i < c->n_step; i++) {
        c->step[i] = r->step[i];
        c->step[i].over_cols = false;
        if (r->step[i].source)
            VEC_PUSH(g->arena, c->stmt, c->n_stmt, c->cap_stmt) =
                (Stmt *)r->step[i].source;
    }
    c->step[n->value].tensor = n->x;
    c->step[n->value].store = n->x_at;
    group_add_again(g, c, r->again, r->n_again);
    rename_shared(g, n, c);
    return c;
}

static int step_storing(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return i;
    return -1;
}

/* The value, and the sums of a piece, in a producer's own numbering. */
typedef struct Own {
    const Norm *n;
    int of[NORM_STEPS]; /* its step of the norm's */
} Own;

static const Expr *own_value(Graph *g, const Expr *e, void *ctx)
{
    const Own *o = ctx;

    return e->kind == E_LOCAL && e->local == o->n->value
               ? expr_local(g, 0, T_F32) : NULL;
}

static void add_pieces(Graph *g, const Norm *n, Pieces *p, const Idx *row)
{
    const Group *r = n->group;
    Own own = {.n = n};
    const Idx *at = idx_floor(g->pool, idx_var(g->pool, p->along), n->piece);

    p->step = arena_array(g->arena, Step, r->n_step);
    for (int i = n->value + 1; i < r->n_step; i++) {
        const Step *s = &r->step[i];
        if (s->op == R_NONE)
            continue;
        const Expr *value = expr_rewrite(g, s->value, own_value, &own);
        if (n->about[i] >= 0) {
            const Expr *sum = expr_local(g, 1 + own.of[n->sum[i]], T_F32);
            value = expr_binary(g, F_SUB, expr_local(g, 0, T_F32),
                                mean_of_piece(g, n, sum), T_F32);
            value = square(g, value);
        }
        own.of[i] = p->n_step;
        p->step[p->n_step++] = (Step){
            .op = R_SUM, .value = value, .type = T_F32, .tensor = n->part[i],
            .store = piece_at(g, at, row), .source = s->source};
    }
}

Group *norm_producer(Graph *g, const Norm *n, const Group *p, const Tensor *t,
                     bool keep, const char **why)
{
    Group *r = n->read ? with_steps(g, p, 0)
                       : fuse(g, p, points_of(g, n), t, keep, why);
    Subst map[MAX_VARS];
    Contraction c;
    int made = r ? step_storing(r, n->x) : -1;

    if (!r)
        return NULL;
    *why = "x is not made point by point";
    if (made < 0 || r->pieces || r->step[made].where.n ||
        r->step[made].over_cols)
        return NULL;
    int k = invert_store(g, n->x, n->x_at, r->step[made].store, map,
                         MAX_VARS);
    if (k < 0 || !group_contraction(g, r, &c, why))
        return NULL;
    *why = "its columns are not the product's";
    const Idx *col = idx_subst(g->pool, idx_var(g->pool, n->col), map, k);
    if (c.n_n != 1 || idx_is_var(col) != c.n[0] ||
        c.N != n->col->extent)
        return NULL;
    Pieces *pieces = arena_new_of(g->arena, Pieces);
    *pieces = (Pieces){.value = made, .along = c.n[0],
                       .size = n->piece};
    add_pieces(g, n, pieces, row_number(g, n, map, k));
    for (int i = 0; i < pieces->n_step; i++)
        if (idx_uses(pieces->step[i].store[1], c.n[0]))
            return NULL;
    r->pieces = pieces;
    *why = NULL;
    return r;
}

/* ---- products ------------------------------------------------------------ */

typedef struct Take {
    const Norm *n;
    const Subst *map; int n_map; /* the norm's variables in the reader's */
    int local[NORM_STEPS];       /* of a value of rows: the merge's step */
    const Idx *row;
    const Expr *(*value_of_row)(Graph *g, const struct Take *t, int step);
} Take;

/* Locals of y's value: x, or values of rows. */
static const Expr *take_local(Graph *g, const Expr *e, void *ctx)
{
    const Take *t = ctx;
    const Norm *n = t->n;

    if (e->kind != E_LOCAL)
        return NULL;
    if (e->local != n->value)
        return t->value_of_row(g, t, e->local);
    return expr_read(g, n->x, access_subst(g, n->x_at, n->x->rank, t->map,
                                           t->n_map),
                     (Guard){0}, NULL);
}

static const Expr *result_at(Graph *g, Take *t)
{
    const Expr *e = expr_subst(g, t->n->result, t->map, t->n_map);

    return expr_rewrite(g, e, take_local, t);
}

static const Expr *merged(Graph *g, const Take *t, int step)
{
    return expr_local(g, -1 - t->local[step], T_F32);
}

static const Expr *stored(Graph *g, const Take *t, int step)
{
    Tensor *x = t->n->group->step[step].source->tensor;

    return expr_read(g, x, element(g, x, t->row), (Guard){0}, NULL);
}

/* Locals in the merge itself. */
static const Expr *own_local(Graph *g, const Expr *e, void *ctx)
{
    const Take *t = ctx;

    return e->kind == E_LOCAL ? expr_local(g, t->local[e->local], e->type)
                              : NULL;
}

typedef struct Wanted {
    bool *row;
} Wanted;

static void want(const Expr *e, void *ctx)
{
    if (e->kind == E_LOCAL)
        ((bool *)ctx)[e->local] = true;
}

/* What step i's sum is of pieces. */
static const Expr *of_piece(Graph *g, Take *t, RowMerge *m, int i)
{
    const Norm *n = t->n;
    const Idx *p = idx_var(g->pool, m->over);
    const Expr *part = expr_read(g, n->part[i], piece_at(g, p, t->row),
                                 (Guard){0}, NULL);

    m->part[m->n_step] = part;
    m->about[m->n_step] = -1;
    if (n->about[i] < 0)
        return part;
    const Expr *sum = expr_read(g, n->part[n->sum[i]],
                                piece_at(g, p, t->row), (Guard){0}, NULL);
    m->sum[m->n_step] = sum;
    m->about[m->n_step] = t->local[n->about[i]];
    const Expr *off = expr_binary(
        g, F_SUB, mean_of_piece(g, n, sum),
        expr_local(g, t->local[n->about[i]], T_F32), T_F32);
    return expr_binary(g, F_ADD, part,
                       expr_binary(g, F_MUL, square(g, off),
                                   f32(g, n->piece), T_F32), T_F32);
}

static RowMerge *make_merge(Graph *g, Take *t, bool keep)
{
    const Norm *n = t->n;
    const Group *r = n->group;
    RowMerge *m = arena_new_of(g->arena, RowMerge);
    bool wanted[NORM_STEPS] = {false};

    m->over = idx_new_var(g->pool, "piece", n->col->extent / n->piece);
    m->size = n->piece;
    m->step = arena_array(g->arena, Step, r->n_step);
    expr_visit(n->result, want, wanted);
    for (int i = n->value + 1; i < r->n_step; i++) {
        const Step *s = &r->step[i];
        if (s->op == R_NONE && s->over_cols)
            continue;
        Step *to = &m->step[m->n_step];
        *to = (Step){.op = s->op, .type = s->type, .source = s->source};
        to->value = s->op == R_NONE
                        ? expr_rewrite(g, s->value, own_local, t)
                        : of_piece(g, t, m, i);
        if (keep && wanted[i]) {
            to->tensor = s->source->tensor;
            to->store = element(g, to->tensor, t->row);
        }
        t->local[i] = m->n_step++;
    }
    return m;
}

/* ---- y's readers --------------------------------------------------------- */

typedef struct Reads {
    const Tensor *t;
    const Expr *first;
    bool bad;
} Reads;

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind != E_READ || e->tensor != r->t)
        return;
    r->bad |= e->in.n || (r->first && !expr_equal(r->first, e));
    r->first = r->first ? r->first : e;
}

typedef struct Replace {
    const Tensor *t;
    const Expr *by;
} Replace;

static const Expr *replace(Graph *g, const Expr *e, void *ctx)
{
    const Replace *r = ctx;

    (void)g;
    return e->kind == E_READ && e->tensor == r->t ? r->by : NULL;
}

/* The only place where c reads y, in c's variables. */
static bool open_take(Graph *g, const Norm *n, const Group *c, Take *t,
                      Subst *map, const char **why)
{
    const Step *last = &n->group->step[n->group->n_step - 1];
    Reads r = {.t = n->y};

    *why = "reads it under a guard or at several places";
    for (int i = 0; i < c->n_step; i++)
        expr_visit(c->step[i].value, note_read, &r);
    if (!r.first || r.bad || group_place_reads(c, n->y) || c->chain)
        return false;
    *why = "only a part of it is made here";
    *t = (Take){.n = n, .map = map};
    t->n_map = invert_store(g, n->y, last->store, r.first->at, map, MAX_VARS);
    if (t->n_map < 0)
        return false;
    t->row = row_number(g, n, map, t->n_map);
    *why = NULL;
    return true;
}

static bool uses_any(const Idx *e, const Var *const *v, int n)
{
    for (int i = 0; i < n; i++)
        if (idx_uses(e, v[i]))
            return true;
    return false;
}

/* Statements of the norm behind x. */
static void add_stmts(Graph *g, const Norm *n, Group *to, bool again)
{
    to->cap_stmt = to->n_stmt;   /* the original's own list stays */
    to->cap_again = to->n_again;
    for (int i = n->value + 1; i < n->group->n_step; i++) {
        Stmt *s = (Stmt *)n->group->step[i].source;
        if (again)
            group_add_again(g, to, &s, 1);
        else
            VEC_PUSH(g->arena, to->stmt, to->n_stmt, to->cap_stmt) = s;
    }
}

Group *norm_product(Graph *g, const Norm *n, const Group *c, bool first,
                    bool keep, const char **why)
{
    Subst map[MAX_VARS];
    Take t;

    if (!group_multiplies(g, c) || c->merge) {
        *why = c->merge ? "it is a product of another norm" : "it is no product";
        return NULL;
    }
    if (!open_take(g, n, c, &t, map, why))
        return NULL;
    *why = "the product sums over its rows";
    if (uses_any(t.row, c->cols, c->n_cols))
        return NULL;
    Group *r = with_steps(g, c, 0);
    r->merge = make_merge(g, &t, keep);
    t.value_of_row = merged;
    Replace by = {n->y, expr_cast(g, result_at(g, &t), n->y->type)};
    *why = "reads it besides as a factor";
    for (int i = 0; i < r->n_step; i++) {
        const Expr *e = expr_rewrite(g, r->step[i].value, replace, &by);
        if (e != r->step[i].value && r->step[i].op != R_SUM)
            return NULL;
        r->step[i].value = e;
    }
    add_stmts(g, n, r, !first);
    *why = NULL;
    return r;
}

Group *norm_reader(Graph *g, const Norm *n, const Group *c, const char **why)
{
    Subst map[MAX_VARS];
    Take t;

    if (!open_take(g, n, c, &t, map, why))
        return NULL;
    t.value_of_row = stored;
    Replace by = {n->y, result_at(g, &t)};
    Group *r = with_steps(g, c, 0);
    for (int i = 0; i < r->n_step; i++)
        r->step[i].value = expr_rewrite(g, r->step[i].value, replace, &by);
    if (!r->merge && !r->pieces)
        group_normalise(g, r);
    return r;
}

bool norm_multiplied(Graph *g, const Norm *n, const Group *c)
{
    Reads r = {.t = n->y};

    for (int i = 0; i < c->n_step; i++)
        if (c->step[i].op != R_NONE)
            expr_visit(c->step[i].value, note_read, &r);
    return r.first && !c->chain && group_multiplies(g, c);
}

static void find_of_rows(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->of_rows;
}

bool norm_of_rows(const Group *gr, const Tensor *t)
{
    bool found = false;

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, find_of_rows, &found);
    return found && !t->of_rows;
}
