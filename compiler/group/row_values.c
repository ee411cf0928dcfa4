#include "group/row_values.h"

#include "group/fuse.h"
#include "group/norm.h"

#include <string.h>

enum { MAX_VARS = 24 };

static void find_state(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->role == ROLE_STATE;
}

static bool step_alone(const Step *s)
{
    bool state = false;

    expr_visit(s->value, find_state, &state);
    if (state || s->type != T_F32)
        return false;
    if (s->op != R_NONE && s->op != R_SUM && s->op != R_MAX)
        return false;
    if (!s->tensor)
        return true;
    return !s->where.n && s->tensor->role == ROLE_TEMP && !s->tensor->prev &&
           !s->tensor->host && type_is_float(s->tensor->type);
}

bool rows_alone(const Group *gr)
{
    bool stores = false;

    if (gr->n_cols != 1 || gr->chain || gr->merge || gr->pieces ||
        gr->when != WHEN_RUN || gr->n_step >= NORM_STEPS)
        return false;
    for (int i = 0; i < gr->n_step; i++) {
        if (!step_alone(&gr->step[i]))
            return false;
        stores |= gr->step[i].tensor != NULL;
    }
    return stores;
}

typedef struct Taken {
    const Group *r;
    Subst map[MAX_VARS]; int n_map; /* r's rows in c's variables; or -1 */
    const Idx *col;                 /* and where values over columns are read */
    bool bad;
    int local[NORM_STEPS];          /* of a step of r: the merge's */
} Taken;

/* The step that stores what e reads; or -1. */
static int step_of(const Group *r, const Expr *e)
{
    for (int i = 0; e->kind == E_READ && i < r->n_step; i++)
        if (r->step[i].tensor == e->tensor)
            return i;
    return -1;
}

/* Takes r's column out of the map: where it is read, or NULL. */
static const Idx *take_column(const Group *r, Subst *map, int *n)
{
    for (int i = 0; i < *n; i++) {
        const Idx *by = map[i].by;
        if (map[i].var != r->cols[0])
            continue;
        memmove(map + i, map + i + 1, sizeof *map * (size_t)(--*n - i));
        return by;
    }
    return NULL;
}

static void note_read(Graph *g, Taken *t, const Expr *e, int step)
{
    Subst map[MAX_VARS];
    int n = invert_store(g, e->tensor, t->r->step[step].store, e->at, map,
                         MAX_VARS - 1);

    t->bad |= n < 0 || e->in.n;
    if (t->bad)
        return;
    const Idx *col = take_column(t->r, map, &n);
    t->bad |= col && t->col && col != t->col;
    t->bad |= t->n_map >= 0 && n != t->n_map;
    for (int i = 0; !t->bad && t->n_map >= 0 && i < n; i++)
        t->bad |= map[i].var != t->map[i].var || map[i].by != t->map[i].by;
    t->col = col ? col : t->col;
    memcpy(t->map, map, sizeof map);
    t->n_map = n;
}

typedef struct Note {
    Graph *g;
    Taken *t;
} Note;

static void note(const Expr *e, void *ctx)
{
    const Note *n = ctx;
    int step = step_of(n->t->r, e);

    if (step >= 0)
        note_read(n->g, n->t, e, step);
}

/* Values over columns written out, those of rows by the merge's numbers. */
static const Expr *merge_local(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Taken *t = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    const Step *s = &t->r->step[e->local];
    *more = s->op == R_NONE && s->over_cols;
    return *more ? s->value : expr_local(g, t->local[e->local], T_F32);
}

/* The same of c's, to which the merge's are numbered from -1 down. */
static const Expr *reader_local(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Taken *t = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    const Step *s = &t->r->step[e->local];
    *more = s->op == R_NONE && s->over_cols;
    return *more ? s->value : expr_local(g, -1 - t->local[e->local], T_F32);
}

static const Expr *take(Graph *g, const Expr *e, void *ctx)
{
    const Taken *t = ctx;
    int step = step_of(t->r, e);

    if (step < 0)
        return NULL;
    const Expr *value = expr_write_out(g, expr_local(g, step, T_F32),
                                       reader_local, ctx);
    if (t->col) {
        Subst map[MAX_VARS];
        memcpy(map, t->map, sizeof map);
        map[t->n_map - 1].by = t->col; /* the merge's own column */
        value = expr_subst(g, value, map, t->n_map);
    }
    return e->tensor->type == T_F32 ? value
                                    : expr_cast(g, value, e->tensor->type);
}

static RowMerge *make_merge(Graph *g, Taken *t)
{
    const Group *r = t->r;
    RowMerge *m = arena_new_of(g->arena, RowMerge);

    m->over = idx_new_var(g->pool, r->cols[0]->name, r->cols[0]->extent);
    m->step = arena_array(g->arena, Step, r->n_step);
    t->map[t->n_map++] = (Subst){r->cols[0], idx_var(g->pool, m->over)};
    for (int i = 0; i < r->n_step; i++) {
        const Step *s = &r->step[i];
        if (s->op == R_NONE && s->over_cols)
            continue;
        const Expr *e = expr_write_out(g, s->value, merge_local, t);
        m->step[m->n_step] = (Step){
            .op = s->op, .type = T_F32, .source = s->source,
            .value = expr_subst(g, e, t->map, t->n_map)};
        m->about[m->n_step] = -1;
        t->local[i] = m->n_step++;
    }
    return m;
}

static void add_stmts(Graph *g, const Group *r, Group *to, bool first)
{
    to->cap_stmt = to->n_stmt;   /* the original's own lists stay */
    to->cap_again = to->n_again;
    if (!first)
        group_add_again(g, to, r->stmt, r->n_stmt);
    for (int i = 0; first && i < r->n_stmt; i++)
        VEC_PUSH(g->arena, to->stmt, to->n_stmt, to->cap_stmt) = r->stmt[i];
    group_add_again(g, to, r->again, r->n_again);
}

static bool is_product(Graph *g, const Group *c)
{
    Contraction x;
    const char *why;

    return !c->chain && !c->merge && !c->pieces &&
           group_contraction(g, c, &x, &why) && x.n_n;
}

Group *rows_taken(Graph *g, const Group *r, const Group *c, bool first,
                  const char **why)
{
    Taken t = {.r = r, .n_map = -1};
    Note n = {g, &t};

    *why = "it is no product, or one of other values of rows";
    if (!is_product(g, c))
        return NULL;
    for (int i = 0; i < c->n_step; i++)
        expr_visit(c->step[i].value, note, &n);
    *why = "reads them under a guard or at several places";
    if (t.bad || t.n_map < 0)
        return NULL;
    for (int i = 0; i < t.n_map; i++)
        for (int k = 0; k < c->n_cols; k++)
            if (idx_uses(t.map[i].by, c->cols[k]))
                return NULL;
    Group *to = arena_new_of(g->arena, Group);
    *to = *c;
    to->step = arena_array(g->arena, Step, c->n_step);
    memcpy(to->step, c->step, sizeof(Step) * (size_t)c->n_step);
    to->merge = make_merge(g, &t);
    *why = "reads them besides in its factors";
    for (int i = 0; i < to->n_step; i++) {
        Step *s = &to->step[i];
        const Expr *e = expr_rewrite(g, s->value, take, &t);
        if (e != s->value && s->op != R_SUM)
            return NULL;
        s->value = e;
    }
    add_stmts(g, r, to, first);
    *why = NULL;
    return to;
}

/* The step whose sum e is a multiple of; or -1. */
static int mean_of(const RowMerge *m, const Expr *e)
{
    bool scaled = e->kind == E_BINARY && !e->arg[2] &&
                  (e->fn == F_MUL || e->fn == F_DIV) &&
                  e->arg[0]->kind == E_LOCAL && e->arg[1]->kind == E_CONST;
    int of = scaled ? e->arg[0]->local : -1;

    return of >= 0 && m->step[of].op == R_SUM ? of : -1;
}

static void find_value(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_LOCAL;
}

const char *row_value_name(const RowMerge *m, int step)
{
    const Step *s = &m->step[step];
    bool value = s->op == R_NONE, about = false;
    int of = value ? mean_of(m, s->value) : step;

    if (!value && s->op != R_SUM)
        return "row_max";
    if (of < 0)
        return "of_row";
    const Expr *e = m->step[of].value;
    bool square = e->kind == E_BINARY && e->fn == F_MUL && !e->arg[2] &&
                  expr_equal(e->arg[0], e->arg[1]);
    expr_visit(e, find_value, &about);
    if (m->about[of] >= 0 || (square && about))
        return value ? "variance" : "squares";
    return value ? square ? "mean_square" : "mean" : "row_sum";
}
