#include "group/reduced.h"

#include "group/fuse.h"
#include "group/norm.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24 };

typedef struct Reduced {
    Graph *g;
    const Group *p, *c;
    const Tensor *t;
    int made;         /* p's step that stores t */
    const Expr *read; /* c's of it: at one place */
    bool elsewhere;
    const Var *along; /* p's, whose values c has pieces of */
    int size;
    Subst back[MAX_VARS]; /* c's variables in p's */
    int n_back;
    int step[MAX_STEPS]; /* a reduction of c: its number in the pieces */
    const Pieces *had;   /* of p; or NULL */
} Reduced;

/* ---- what c reads -------------------------------------------------------- */

static void note_read(const Expr *e, void *ctx)
{
    Reduced *r = ctx;

    if (e->kind != E_READ || e->tensor != r->t)
        return;
    for (int d = 0; d < e->tensor->rank && r->read; d++)
        r->elsewhere |= e->at[d] != r->read->at[d];
    r->read = e;
}

/* Reductions over one variable, and values that these are made of. */
static bool only_reduces(const Group *c)
{
    for (int i = 0; i < c->n_step; i++) {
        const Step *s = &c->step[i];
        if (!s->over_cols || s->where.n ||
            (s->op == R_NONE ? s->tensor != NULL : !s->tensor) ||
            (s->op != R_NONE && s->op != R_SUM && s->op != R_MAX &&
             s->op != R_MIN && s->op != R_ARGMAX) ||
            s->type != (s->op == R_ARGMAX ? T_I32 : T_F32) ||
            !type_is_float(s->value->type))
            return false;
    }
    return c->n_cols == 1 && !c->chain && !c->merge && !c->pieces;
}

static bool find_read(Reduced *r)
{
    for (int i = 0; i < r->c->n_step; i++)
        expr_visit(r->c->step[i].value, note_read, r);
    for (int i = 0; i < r->p->n_step; i++)
        if (r->p->step[i].tensor == r->t)
            r->made = i;
    return r->read && !r->elsewhere && r->made >= 0;
}

/* ---- whose points are whose ---------------------------------------------- */

static void add_back(Reduced *r, const Var *v, const Idx *by)
{
    r->back[r->n_back++] = (Subst){v, by};
}

/* p's variable v is size * J + column of c's. */
static bool is_piece(Reduced *r, const Var *v, const Idx *by)
{
    IdxPool *pool = r->g->pool;
    const Var *col = r->c->cols[0], *piece = NULL;

    if (by->n != 2 || by->k || r->along || idx_coef(by, col) != 1)
        return false;
    for (int i = 0; i < 2; i++)
        if (by->term[i].atom->kind == ATOM_VAR &&
            by->term[i].atom->var != col && by->term[i].c == col->extent)
            piece = by->term[i].atom->var;
    if (!piece || piece->extent * col->extent < v->extent ||
        (piece->extent - 1) * col->extent >= v->extent)
        return false;
    r->along = v;
    r->size = (int)col->extent;
    const Idx *at = idx_floor(pool, idx_var(pool, v), col->extent);
    add_back(r, piece, at);
    add_back(r, col,
             idx_sub(pool, idx_var(pool, v), idx_scale(pool, at, col->extent)));
    return true;
}

static bool has_back(const Reduced *r, const Var *v)
{
    for (int i = 0; i < r->n_back; i++)
        if (r->back[i].var == v)
            return true;
    return false;
}

static bool find_points(Reduced *r)
{
    Subst map[MAX_VARS];
    int n = invert_store(r->g, r->t, r->p->step[r->made].store, r->read->at,
                         map, MAX_VARS);

    for (int i = 0; i < n; i++) {
        const Var *v = map[i].var, *own = idx_is_var(map[i].by);
        if (own && own->extent == v->extent && !has_back(r, own))
            add_back(r, own, idx_var(r->g->pool, v));
        else if (v->extent > 1 && !is_piece(r, v, map[i].by))
            return false;
    }
    for (int i = 0; i < r->c->n_rows; i++)
        if (!has_back(r, r->c->rows[i]))
            return false;
    return n >= 0 && r->along;
}

/* ---- the pieces ---------------------------------------------------------- */

static const Expr *value_of(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Reduced *r = ctx;

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
    Reduced *r = ctx;

    if (e->kind != E_READ)
        return NULL;
    if (e->tensor == r->t) {
        r->elsewhere |= guard_truth(e->in) != ALWAYS;
        return expr_local(g, 0, T_F32);
    }
    for (int i = 0; r->had && i < r->had->n_step; i++)
        if (r->had->step[i].tensor == e->tensor)
            return expr_local(g, 1 + i, T_F32);
    return NULL;
}

/* At columns that there are, a last piece's are as others'. */
static const Expr *within(Graph *g, const Expr *e, void *ctx)
{
    Guard in;

    (void)ctx;
    return e->kind == E_SELECT && expr_as_guard(g, e->arg[0], &in) &&
                   guard_truth(in) == ALWAYS
               ? e->arg[1]
               : NULL;
}

/* Where p's results would be, with those of a piece as neighbours. */
static const Idx *along_last(const Reduced *r)
{
    IdxPool *pool = r->g->pool;
    const Idx *at = idx_var(pool, r->along);
    int64_t step = r->along->extent;

    for (int i = r->p->n_rows - 1; i >= 0; i--) {
        const Var *v = r->p->rows[i];
        if (v == r->along)
            continue;
        at = idx_add(pool, at, idx_scale(pool, idx_var(pool, v), step));
        step *= v->extent;
    }
    return at;
}

static Pieces *make_pieces(Reduced *r)
{
    Graph *g = r->g;
    Pieces *x = arena_new_of(g->arena, Pieces);
    int n = r->had ? r->had->n_step : 0;

    *x = (Pieces){.value = r->made,
                  .along = r->along,
                  .size = r->size,
                  .reduced = true,
                  .n_step = n};
    x->step = arena_array(g->arena, Step, n + r->c->n_step);
    x->of = along_last(r);
    for (int i = 0; i < n; i++)
        x->step[i] = r->had->step[i];
    for (int i = 0; i < r->c->n_step; i++) {
        Step s = r->c->step[i];
        if (s.op == R_NONE)
            continue;
        s.value = expr_write_out(g, s.value, value_of, r);
        s.value = expr_subst(g, s.value, r->back, r->n_back);
        s.value = expr_rewrite(g, s.value, within, NULL);
        s.value = expr_rewrite(g, s.value, at_hand, r);
        s.store = access_subst(g, s.store, s.tensor->rank, r->back, r->n_back);
        r->step[i] = x->n_step;
        x->step[x->n_step++] = s;
    }
    return x;
}

/* Each piece's columns are neighbours: a tile has all of them. */
static bool is_side(Graph *g, const Group *p)
{
    const Pieces *x = p->pieces;
    Contraction c;
    const char *why;

    return (group_ranged(g, p, &c, &why) || group_pairs(g, p, &c, &why)) &&
           c.parts == 1 && c.n_n && c.n[c.n_n - 1] == x->along && c.n_m &&
           (c.n_n == 1 || x->along->extent % x->size == 0);
}

Group *fuse_reduced(Graph *g, const Group *p, const Group *c, const Tensor *t,
                    bool keep)
{
    Reduced r = {.g = g, .p = p, .c = c, .t = t, .made = -1, .had = p->pieces};

    if (p->chain || p->merge || !p->n_cols || !only_reduces(c) ||
        !find_read(&r) || !find_points(&r))
        return NULL;
    if (r.had && (!r.had->reduced || r.had->along != r.along ||
                  r.had->size != r.size || r.had->value != r.made))
        return NULL;
    const Step *made = &p->step[r.made];
    if (made->over_cols != (made->op == R_SUM) || made->where.n ||
        made->type != T_F32 || (keep && t->type != T_F32)) /* as it is read */
        return NULL;
    Group *to = group_copy(g, p);
    to->pieces = make_pieces(&r);
    if (!keep)
        to->step[r.made].tensor = NULL;
    if (r.elsewhere || p->n_step + to->pieces->n_step > MAX_STEPS ||
        !is_side(g, to))
        return NULL;
    group_add_stmts(g, to, c);
    return to;
}
