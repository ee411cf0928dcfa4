#include "rewrite/padding.h"

bool layout_is_free(const Tensor *t)
{
    return t->role == ROLE_TEMP && t->when == WHEN_RUN && !t->prev &&
           !t->as_declared;
}

/* Rows of 32 elements and more begin at whole vectors of eight, and long ones,
 * of which that is little, at lines of 128 bytes. */
enum { VECTOR = 8, LONG_ROW = 32, LINE_BYTES = 128, LITTLE = 64 };

typedef struct Rows {
    bool *whole;   /* by tensor: each access runs along whole rows */
    bool *worth;   /* a reduction reads or a sum writes them */
    const Stmt *s;
} Rows;

static int innermost(const Tensor *t)
{
    int d = t->rank - 1;

    while (d > 0 && (t->stride[d] != 1 || t->dim[d] == 1))
        d--;
    return d;
}

/* Whether `at` walks t's rows, or a piece of each (a concatenation is written
 * so), one element after the other, or data say where. */
static bool walks_rows(const Tensor *t, const Idx *const *at)
{
    int inner = innermost(t);
    const Idx *e = at[inner];
    bool one =
        e->n == 1 && e->term[0].c == 1 && e->term[0].atom->kind == ATOM_VAR;
    const Var *v = one ? e->term[0].atom->var : NULL;

    for (int d = 0; d < t->rank; d++)
        if (d != inner && v && idx_uses(at[d], v))
            return false;
    return idx_has_data(e) || v;
}

static void note_rows(const Expr *e, void *ctx)
{
    Rows *r = ctx;

    if (e->kind != E_READ || !e->tensor->rank)
        return;
    int id = e->tensor->id;
    r->whole[id] &= walks_rows(e->tensor, e->at);
    r->worth[id] |= r->s->op != R_NONE;
}

bool layout_ragged(const Tensor *t)
{
    int64_t row = t->rank > 1 ? t->dim[innermost(t)] : 0;

    return type_is_float(t->type) && row >= LONG_ROW &&
           row * type_bytes(t->type) % 16;
}

void layout_pad(Tensor *t)
{
    int inner = innermost(t);
    int64_t row = t->dim[inner];
    int64_t line = LINE_BYTES / type_bytes(t->type);
    int64_t to = row >= LITTLE * line ? line : VECTOR;
    int64_t padded = (row + to - 1) / to * to;

    for (int d = 0; d < t->rank; d++)
        if (d != inner && t->stride[d] % row == 0)
            t->stride[d] = t->stride[d] / row * padded;
    t->span = t->span / row * padded;
}

/* Reductions and sums take whole vectors of a row that does not end with one,
 * if there is room behind it. */
void layout_pad_rows(Graph *g)
{
    Rows r = {arena_array(g->arena, bool, g->n_tensor),
              arena_array(g->arena, bool, g->n_tensor), NULL};

    for (int i = 0; i < g->n_tensor; i++)
        r.whole[i] = true;
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = r.s = g->stmt[i];
        if (s->tensor->rank)
            r.whole[s->tensor->id] &= walks_rows(s->tensor, s->store);
        r.worth[s->tensor->id] |= s->op != R_NONE;
        expr_visit(s->value, note_rows, &r);
    }
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        if (layout_is_free(t) && r.whole[i] && r.worth[i] && layout_ragged(t))
            layout_pad(t);
    }
}
