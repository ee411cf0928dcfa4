#include "rewrite/named.h"

#include "rewrite/levels_web.h"
#include "rewrite/simplify.h"

enum {
    LEAST_ROWS = 128,  /* of fewer, products with ones are quicker */
    OF_ROW = 16,       /* points of a row in a piece, in the mean */
    ROWS = 8192,       /* of all pieces, so that a row that has all points does
                          not take longer than such products */
    LEAST_POINTS = 2048, /* of a piece */
    FEW = 8,           /* sums of pieces are so many times fewer than terms */
    WORTH = 1 << 19    /* terms: less takes a launch's time */
};

typedef struct Named {
    const Stmt *s;
    const Expr *data; /* the row of a point */
    const Var *row;
} Named;

static bool among(const Var *const *v, int n, const Expr *e)
{
    bool uses = false;

    for (int i = 0; i < n; i++)
        uses |= expr_uses(e, v[i]);
    return uses;
}

static void find_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

static bool reads(const Expr *e)
{
    bool found = false;

    expr_visit(e, find_read, &found);
    return found;
}

/* A condition that data name a row; of several the row of most. */
static void find_name(const Expr *e, Named *best)
{
    const Stmt *s = best->s;

    if (e->kind != E_BINARY || e->arg[2])
        return;
    if (e->fn == F_AND) {
        find_name(e->arg[0], best);
        find_name(e->arg[1], best);
        return;
    }
    for (int i = 0; i < 2 && e->fn == F_EQ; i++) {
        const Expr *data = e->arg[1 - i];
        const Var *row =
            e->arg[i]->kind == E_INDEX ? idx_is_var(e->arg[i]->idx) : NULL;
        bool of_rows = false;
        for (int r = 0; r < s->n_out; r++)
            of_rows |= s->out[r] == row;
        if (row && of_rows && !type_is_float(data->type) &&
            !expr_uses(data, row) && among(s->red, s->n_red, data) &&
            reads(data) &&
            (!best->row || row->extent > best->row->extent))
            *best = (Named){s, data, row};
    }
}

static Named named(const Stmt *s)
{
    Named n = {.s = s};

    if ((s->op == R_SUM || s->op == R_MAX || s->op == R_MIN) && !s->notes &&
        s->when == WHEN_RUN && !s->tensor->prev && levels_plain_store(s) &&
        s->n_out < MAX_RANK &&
        (s->tensor->role == ROLE_TEMP || s->tensor->role == ROLE_OUTPUT))
        find_name(s->value->kind == E_SELECT ? s->value->arg[0] : s->value,
                  &n);
    return n;
}

/* How many pieces would serve. */
static int64_t wanted(const Named *n)
{
    const int64_t points = vars_points(n->s->red, n->s->n_red);
    const int64_t rows = n->row->extent;
    int64_t tables = 1, pieces;

    for (int i = 0; i < n->s->n_out; i++)
        if (expr_uses(n->data, n->s->out[i]))
            tables *= n->s->out[i]->extent;
    pieces = points / OF_ROW / rows;
    if (pieces < ROWS / rows)
        pieces = ROWS / rows;
    if (pieces > points / FEW / rows)
        pieces = points / FEW / rows;
    if (pieces > points / LEAST_POINTS)
        pieces = points / LEAST_POINTS;
    return rows < LEAST_ROWS ? 1 : pieces / tables;
}

/* Whether it, or another of the same points and rows, is worth a launch. */
static bool is_worth(Graph *g, const Named *n)
{
    int64_t terms = 0;

    for (int i = 0; i < g->n_stmt; i++) {
        const Named other = named(g->stmt[i]);
        if (other.row && other.row->extent == n->row->extent &&
            other.data->tensor == n->data->tensor)
            terms += vars_points(other.s->red, other.s->n_red) *
                     (vars_points(other.s->out, other.s->n_out) /
                      n->row->extent);
    }
    return terms >= WORTH;
}

/* The points' longest variable. */
static int longest(const Stmt *s)
{
    int at = 0;

    for (int i = 1; i < s->n_red; i++)
        if (s->red[i]->extent > s->red[at]->extent)
            at = i;
    return at;
}

/* s, at place `at`, becomes the sum of those of pieces along red[red], which a
 * statement before it makes. */
static void split(Graph *g, Stmt *s, int at, int red, int64_t pieces)
{
    const Var *v = s->red[red];
    const int64_t size = v->extent / pieces;
    const Var *piece = idx_new_var(g->pool, v->name, pieces);
    const Var *point = idx_new_var(g->pool, v->name, size);
    const Subst is = {v, idx_add(g->pool,
                                 idx_scale(g->pool, idx_var(g->pool, piece),
                                           size),
                                 idx_var(g->pool, point))};
    Stmt *part = stmt_insert(g, at);
    const int id = part->id, n = s->n_out + 1;
    int64_t dim[MAX_RANK];

    *part = *s;
    part->id = id;
    part->out = arena_array(g->arena, const Var *, n);
    part->store = arena_array(g->arena, const Idx *, n);
    part->red = arena_array(g->arena, const Var *, s->n_red);
    for (int i = 0; i < n; i++) {
        part->out[i] = i ? s->out[i - 1] : piece;
        part->store[i] = idx_var(g->pool, part->out[i]);
        dim[i] = part->out[i]->extent;
    }
    for (int i = 0; i < s->n_red; i++)
        part->red[i] = i == red ? point : s->red[i];
    part->n_out = n;
    part->tensor = graph_tensor_like(
        g, s->tensor,
        type_is_float(s->tensor->type) ? T_F32 : s->tensor->type, n, dim);
    part->value = expr_subst(g, s->value, &is, 1);
    s->red = arena_array(g->arena, const Var *, 1);
    s->red[0] = piece;
    s->n_red = 1;
    s->value = expr_read(g, part->tensor, part->store, (Guard){0}, NULL);
}

void split_named(Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        const Named n = named(g->stmt[i]);
        int64_t most = n.row ? wanted(&n) : 1;
        if (most < 2 || !is_worth(g, &n))
            continue;
        const int red = longest(n.s);
        const int64_t extent = n.s->red[red]->extent;
        while (most > 1 && extent % most)
            most--;
        if (most < 2)
            continue;
        split(g, g->stmt[i], i, red, most);
        i++;
    }
}
