/* map_roll.c - windows that a thread walks down: pooling and depthwise
 * convolution over vectors of neighbouring channels.
 *
 * A thread has TILE outputs along one window, `across`, and goes down the
 * other, `down`: every input row comes in once, by copies that run STAGES - 1
 * rows ahead in slots of the thread's own (so nobody waits at a barrier), is
 * converted once, and goes into the LIVE rows of outputs that it belongs to.
 * Their sums are in registers; so are the factors that only the window moves.
 */
#include "family/map/map.h"

#include <limits.h>
#include <string.h>

/* ---- which nests ------------------------------------------------------- */

typedef struct RollCheck {
    Graph *graph;
    const Roll *roll;
    const Var *along;
    int vec, reads;
    bool good;
} RollCheck;

bool roll_moves(const Roll *r, const Expr *read)
{
    return read_uses(read, r->down.q) ||
           (r->across.q && read_uses(read, r->across.q));
}

/* What a window moves comes in by copies of 4, 8 or 16 bytes. */
static void check_read(const Expr *e, void *ctx)
{
    RollCheck *c = ctx;
    const Roll *r = c->roll;
    int step;

    if (e->kind != E_READ || !roll_moves(r, e))
        return;
    int bytes = c->vec * type_bytes(e->tensor->type);
    c->good &= ++c->reads <= WALK_READS && read_uses(e, r->down.q) &&
               (!r->across.q || read_uses(e, r->across.q)) &&
               read_kind(c->graph, e, c->along, c->vec, &step) ==
                   READ_VECTOR &&
               step == c->vec && (bytes == 4 || bytes == 8 || bytes == 16);
    for (int i = 0; i < e->tensor->rank; i++)
        c->good &= !idx_has_data(e->at[i]);
}

/* Rows are counted in ints, a tile's beyond the last included. */
static bool counts(const Window *w)
{
    return !w->q || (w->q->extent < INT_MAX / 4 / w->stride &&
                     w->s->extent < INT_MAX / 4);
}

bool roll_fits(Graph *g, const Group *gr, const Roll *r, const Var *along,
               int vec)
{
    RollCheck c = {g, r, along, vec, 0, counts(&r->down) && counts(&r->across)};

    for (int i = 0; i < gr->n_step; i++)
        if (is_col_step(&gr->step[i]))
            expr_visit(gr->step[i].value, check_read, &c);
    return c.good;
}

bool roll_find(Graph *g, const Group *gr, const Var *const *rows,
               const Var *fast, Roll *r)
{
    Window pair[4];
    int n = window_pairs(g, gr, fast, pair, 4), cols = 0;

    memset(r, 0, sizeof *r);
    for (int i = 0; i < gr->n_cols; i++)
        cols += gr->cols[i]->extent > 1;
    if (!n || n != cols || n > 2)
        return false;
    bool turned = false; /* down is the slower one in memory */
    for (int i = 0; n == 2 && i < gr->n_rows; i++) {
        if (rows[i] == pair[0].q)
            break;
        turned |= rows[i] == pair[1].q;
    }
    r->down = pair[turned];
    if (n == 2)
        r->across = pair[!turned];
    return n == 1 || r->down.q != r->across.q;
}

/* Rows of outputs that one input row belongs to. */
int roll_live(const Roll *r)
{
    return (int)((r->down.s->extent + r->down.stride - 1) / r->down.stride);
}

bool roll_written_out(const Group *gr, const Roll *r, int vec)
{
    enum { MANY_TAPS = 16, MOST_SHARED = 6000, MOST_OWN = 2500 };
    double cols = (double)group_cols(gr);
    double each = cols * vec * (r->across.q ? r->across.tile : 1);
    double products = each * (r->down.tile + roll_live(r) - 1);

    return r->bands ? products < MOST_SHARED
                    : cols > MANY_TAPS && products < MOST_OWN;
}

bool roll_skips(const Group *gr, const Roll *r, int vec)
{
    return r->bands || roll_written_out(gr, r, vec);
}

/* The rows of LIVE iterations, which are one after the other in the text, go
 * round the ring a whole number of times where it has more than two: its slots
 * are constants there. No more than that: rows further ahead only keep the
 * requests of other warps waiting. */
int roll_stages(const Roll *r)
{
    int rows = roll_live(r) * (int)r->down.stride, stages = 3;

    while (rows > 2 && rows % stages)
        stages++;
    return rows > 2 ? stages : 4;
}

int64_t roll_points(const Group *gr, const Roll *r, int vec)
{
    int64_t rest = group_rows(gr) / vec / r->down.q->extent;

    if (r->across.q)
        rest /= r->across.q->extent;
    return rest * window_tiles(&r->down) * window_tiles(&r->across);
}
