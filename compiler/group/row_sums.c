#include "group/row_sums.h"

#include "group/apart.h"
#include "group/norm.h"
#include "rewrite/rewrite.h"

#include <math.h>

enum { MAX_VARS = 24 };

typedef struct RowSums {
    Graph *g;
    const Group *p, *c;
    Group *to; /* p's copy */
    const Tensor *t;
    int made;         /* p's step that stores t */
    const Expr *read; /* c's of it: at one place */
    bool elsewhere;
    int64_t pitch; /* elements from row to row */
    const Var *row[MAX_VARS];
    int n_row; /* p's, slow to fast */
    const Var *column[MAX_VARS];
    int n_column;
    const Idx *number; /* of a row, in these */
    int size;
    Subst back[MAX_VARS]; /* c's variables in p's */
    int n_back;
    int step[MAX_STEPS]; /* a sum of c: its number in the pieces */
    const Pieces *had;   /* of p; or NULL */
} RowSums;

/* ---- what c does --------------------------------------------------------- */

static void note_read(const Expr *e, void *ctx)
{
    RowSums *r = ctx;

    if (e->kind != E_READ || e->tensor != r->t)
        return;
    for (int d = 0; d < e->tensor->rank && r->read; d++)
        r->elsewhere |= e->at[d] != r->read->at[d];
    r->elsewhere |= e->in.n > 0;
    r->read = e;
}

/* Sums over one variable, and values that these are made of. */
static bool only_sums(const Group *c)
{
    for (int i = 0; i < c->n_step; i++) {
        const Step *s = &c->step[i];
        if (!s->over_cols || s->where.n || s->type != T_F32 ||
            (s->op == R_NONE ? s->tensor != NULL
                             : s->op != R_SUM || !s->tensor))
            return false;
    }
    return c->n_cols == 1 && !c->chain && !c->merge && !c->pieces;
}

static bool find_read(RowSums *r)
{
    for (int i = 0; i < r->c->n_step; i++)
        expr_visit(r->c->step[i].value, note_read, r);
    for (int i = 0; i < r->p->n_step; i++)
        if (r->p->step[i].tensor == r->t)
            r->made = i;
    return r->read && !r->elsewhere && r->made >= 0;
}

/* ---- whose points are whose ---------------------------------------------- */

/* The variables of `list` that step by `least` elements or more; whether they
 * are one number of such steps, whose extent is *n. */
static bool take_run(const Var *const *list, int n_list, const Idx *offset,
                     int64_t least, const Var **v, int *n, int64_t *extent)
{
    *n = 0;
    *extent = 1;
    for (int i = 0; i < n_list; i++)
        if (idx_coef(offset, list[i]) >= least && list[i]->extent > 1)
            v[(*n)++] = list[i];
    vars_sort(v, *n, offset);
    for (int i = *n - 1; i >= 0; *extent *= v[i--]->extent)
        if (idx_coef(offset, v[i]) != least * *extent)
            return false;
    return true;
}

static const Idx *number_of(IdxPool *p, const Var *const *v, int n)
{
    const Idx *number = idx_const(p, 0);

    for (int i = 0; i < n; i++)
        number =
            idx_add(p, idx_scale(p, number, v[i]->extent), idx_var(p, v[i]));
    return number;
}

/* c's columns are p's: variables of equal steps and extents. */
static bool pair_columns(RowSums *r, const Idx *made, const Idx *read)
{
    int n = 0;

    for (int i = 0; i < r->p->n_rows; i++)
        if (idx_coef(made, r->p->rows[i]) < r->pitch &&
            r->p->rows[i]->extent > 1)
            r->column[r->n_column++] = r->p->rows[i];
    for (int i = 0; i < r->c->n_rows; i++) {
        const Var *v = r->c->rows[i], *own = NULL;
        if (idx_coef(read, v) >= r->pitch || v->extent == 1)
            continue;
        for (int k = 0; k < r->n_column && !own; k++)
            if (idx_coef(made, r->column[k]) == idx_coef(read, v) &&
                r->column[k]->extent == v->extent)
                own = r->column[k];
        if (!own || !idx_coef(read, v))
            return false;
        r->back[r->n_back++] = (Subst){v, idx_var(r->g->pool, own)};
        n++;
    }
    return n == r->n_column;
}

/* c's pieces and what is within them, of a row's number. */
static void put_pieces(RowSums *r, const Var *const *piece, int n)
{
    IdxPool *pool = r->g->pool;
    const Idx *at = idx_floor(pool, r->number, r->size);
    int64_t below = 1;

    r->back[r->n_back++] =
        (Subst){r->c->cols[0], idx_mod(pool, r->number, r->size)};
    for (int i = n - 1; i >= 0; below *= piece[i--]->extent)
        r->back[r->n_back++] =
            (Subst){piece[i], idx_mod(pool, idx_floor(pool, at, below),
                                      piece[i]->extent)};
}

static bool find_points(RowSums *r)
{
    const Step *s = &r->p->step[r->made];
    const Idx *made = tensor_offset(r->g, r->t, s->store);
    const Idx *read = tensor_offset(r->g, r->t, r->read->at);
    const Var *col = r->c->cols[0], *piece[MAX_VARS];
    int64_t rows, pieces;
    int n;

    if (!idx_affine(made) || !idx_affine(read) || made->k != read->k ||
        r->p->n_rows > MAX_VARS || r->c->n_rows + 1 > MAX_VARS / 2)
        return false;
    r->pitch = idx_coef(read, col);
    r->size = (int)col->extent;
    if (r->pitch < 1 ||
        !take_run(r->p->rows, r->p->n_rows, made, r->pitch, r->row, &r->n_row,
                  &rows) ||
        !take_run(r->c->rows, r->c->n_rows, read, r->pitch * r->size, piece, &n,
                  &pieces) ||
        rows != pieces * r->size || !r->n_row)
        return false;
    r->number = number_of(r->g->pool, r->row, r->n_row);
    put_pieces(r, piece, n);
    return pair_columns(r, made, read);
}

/* ---- the pieces ---------------------------------------------------------- */

static const Expr *value_of(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const RowSums *r = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    if (r->c->step[e->local].op != R_NONE)
        return expr_local(g, 1 + r->step[e->local], T_F32);
    *more = true;
    return r->c->step[e->local].value;
}

/* What a piece has already, t's element among it. */
static const Expr *at_hand(Graph *g, const Expr *e, void *ctx)
{
    const RowSums *r = ctx;

    if (e->kind != E_READ)
        return NULL;
    if (e->tensor == r->t)
        return expr_local(g, 0, T_F32);
    for (int i = 0; r->had && i < r->had->n_step; i++)
        if (r->had->step[i].tensor == e->tensor)
            return expr_local(g, 1 + i, T_F32);
    return NULL;
}

typedef struct Inside {
    const RowSums *r;
    bool other; /* a read that no tile's point has as its own */
} Inside;

static void note_inside(const Expr *e, void *ctx)
{
    Inside *x = ctx;

    if (e->kind == E_INDEX)
        x->other = true;
    if (e->kind == E_READ)
        x->other |= e->in.n > 0 ||
                    !idx_affine(tensor_offset(x->r->g, e->tensor, e->at)) ||
                    group_stores(x->r->p, e->tensor);
}

static bool is_inside(const RowSums *r, const Expr *e)
{
    Inside x = {r, false};

    expr_visit(e, note_inside, &x);
    return !x.other;
}

static void note_other_sum(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_LOCAL && e->local > 0;
}

/* The terms, of t's element at hand, of p's result as it is stored. */
static const Expr *stored_element(Graph *g, const Expr *e, void *ctx)
{
    const RowSums *r = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    const Expr *own = expr_local(g, r->made, T_F32);
    return expr_cast(g, expr_cast(g, own, r->t->type), T_F32);
}

static const Expr *as_stored(RowSums *r, const Expr *e)
{
    return expr_rewrite(r->g, e, stored_element, r);
}

/* The piece's sum about whose mean e is a square: its number, or -1. */
static int squares_about(RowSums *r, const Pieces *x, const Expr *e)
{
    if (e->kind != E_BINARY || e->fn != F_MUL || e->arg[2] ||
        !expr_equal(e->arg[0], e->arg[1]))
        return -1;
    e = e->arg[0];
    if (e->kind != E_BINARY || e->fn != F_SUB || e->arg[1]->kind != E_BINARY ||
        e->arg[1]->fn != F_MUL)
        return -1;
    const Expr *sum = e->arg[1]->arg[0], *per = e->arg[1]->arg[1];
    if (sum->kind != E_LOCAL || sum->local < 1 || per->kind != E_CONST ||
        fabs(per->num * x->size - 1) > 1e-6)
        return -1;
    const Step *of = &x->step[sum->local - 1];
    return expr_equal(r->to->step[of->value->local].value,
                      as_stored(r, e->arg[0]))
               ? sum->local - 1
               : -1;
}

/* What a sum's terms are becomes a step of the product's: its number. */
static int add_term(RowSums *r, const Step *s)
{
    Group *to = r->to;
    const Step term = {.value = as_stored(r, s->value),
                       .type = T_F32,
                       .source = s->source,
                       .called = step_called(s)};

    to->step = arena_copy(r->g->arena, to->step, to->n_step, to->n_step + 1,
                          sizeof *to->step);
    to->step[to->n_step] = term;
    return to->n_step++;
}

/* False: there is a sum that a tile does not come to. */
static bool add_step(RowSums *r, Pieces *x, const Step *of, int *number)
{
    Graph *g = r->g;
    Step s = *of;
    bool other = false;

    s.value = expr_write_out(g, s.value, value_of, r);
    s.value = expr_rewrite(g, s.value, at_hand, r);
    s.value = expr_subst(g, s.value, r->back, r->n_back);
    s.store = access_subst(g, s.store, s.tensor->rank, r->back, r->n_back);
    expr_visit(s.value, note_other_sum, &other);
    const int about = squares_about(r, x, s.value);
    if (about < 0 && (other || !is_inside(r, s.value)))
        return false;
    s.value = about < 0 ? expr_local(g, add_term(r, &s), T_F32)
                        : x->step[about].value;
    *number = x->n_step;
    x->about[x->n_step] = about;
    x->step[x->n_step++] = s;
    return true;
}

/* NULL: they are too many, or no sums of these kinds. */
static Pieces *make_pieces(RowSums *r)
{
    Pieces *x = arena_new_of(r->g->arena, Pieces);
    int n = r->had ? r->had->n_step : 0;

    if (n + r->c->n_step > NORM_STEPS)
        return NULL;
    *x = (Pieces){.value = r->made,
                  .along = r->column[0],
                  .size = r->size,
                  .down = r->number,
                  .n_step = n};
    x->step = arena_array(r->g->arena, Step, n + r->c->n_step);
    for (int i = 0; i < n; i++) {
        x->step[i] = r->had->step[i];
        x->about[i] = r->had->about[i];
    }
    for (int i = 0; i < r->c->n_step; i++)
        if (r->c->step[i].op != R_NONE &&
            !add_step(r, x, &r->c->step[i], &r->step[i]))
            return NULL;
    return x;
}

/* A tile's rows and columns are those that were found. */
static bool is_tile(const RowSums *r, const Group *p)
{
    Contraction c;
    const char *why;

    if (!group_ranged(r->g, p, &c, &why) || c.parts > 1 || c.n_batch ||
        c.n_n != 1 || c.n[0] != r->column[0] || c.n_m != r->n_row)
        return false;
    for (int i = 0; i < c.n_m; i++)
        if (c.m[i] != r->row[i])
            return false;
    return true;
}

Group *fuse_row_sums(Graph *g, const Group *p, const Group *c, const Tensor *t,
                     bool keep)
{
    enum { LEAST = 16, MOST = 64 };
    RowSums r = {.g = g, .p = p, .c = c, .t = t, .made = -1, .had = p->pieces};

    if (p->chain || p->merge || !p->n_cols || !keep || !only_sums(c) ||
        (r.had && !r.had->down) || !find_read(&r) || !find_points(&r) ||
        r.size < LEAST || MOST % r.size || r.n_column != 1 || !is_tile(&r, p))
        return NULL;
    const Step *made = &p->step[r.made];
    if (made->over_cols != (made->op == R_SUM) || made->where.n ||
        made->type != T_F32 || type_bytes(t->type) != 2 ||
        (r.had && (r.had->size != r.size || r.had->value != r.made)))
        return NULL;
    r.to = group_copy(g, p);
    r.to->pieces = make_pieces(&r);
    if (!r.to->pieces || r.to->n_step + r.to->pieces->n_step > MAX_STEPS)
        return NULL;
    group_add_stmts(g, r.to, c);
    return r.to;
}
