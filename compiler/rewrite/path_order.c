#include "rewrite/path_order.h"

#include "rewrite/path_made.h"

enum {
    FEW = 8,   /* rows or columns below which no tile is worth it */
    TILE = 16, /* rows and columns that products come in */
};
static const double LARGE = 1 << 30; /* bytes that may always be kept */

/* ---- variables ---------------------------------------------------------- */

VarSet path_vars_of(const Paths *p, const Expr *e)
{
    VarSet set = 0;

    for (int i = 0; i < p->n_var; i++)
        if (expr_uses(e, p->var[i]))
            set |= (VarSet)1 << i;
    return set;
}

double path_extents(const Paths *p, VarSet set)
{
    double n = 1;

    for (int i = 0; i < p->n_var; i++)
        if (set >> i & 1)
            n *= (double)p->var[i]->extent;
    return n;
}

/* ---- what a sum takes --------------------------------------------------- */

static double move_us(const Prices *m, double bytes)
{
    return bytes / (bytes <= m->cached ? m->cache_bytes : m->memory_bytes);
}

static double tiles(double n)
{
    double whole = (double)(int64_t)(n / TILE) * TILE;

    return whole < n ? whole + TILE : n;
}

/* What the parts in `left` times the others take as tiles; `most` where that
 * is more, or they make none. */
static double product_us(const Paths *p, const Part *part, int n, Mask left,
                         VarSet result, VarSet guard, double most)
{
    const Prices *m = p->price;
    VarSet side[2] = {0, 0}, sum;
    int full = 0;

    for (int i = 0; i < n; i++) {
        side[!(left >> i & 1)] |= part[i].vars;
        full += !part[i].half;
    }
    sum = (side[0] | side[1]) & ~result;
    double rows = path_extents(p, side[0] & ~side[1] & result);
    double columns = path_extents(p, side[1] & ~side[0] & result);
    double ops = 2 * tiles(rows) * tiles(columns) * path_extents(p, sum) *
                 path_extents(p, side[0] & side[1] & result);
    double us = ops / (n > 2 || full > 1 ? m->plain_ops
                       : full            ? m->mixed_ops
                                         : m->tensor_ops);
    /* a range's rows are one factor's (factors.h) */
    bool both = guard & result & ~side[0] && guard & result & ~side[1];
    return both || rows < FEW || columns < FEW || us > most ? most : us;
}

double path_sum_us(const Paths *p, const Part *part, int n, VarSet result,
                   VarSet guard)
{
    const Prices *m = p->price;
    Part in[MOST_FACTORS]; /* the sum: others are multiplied behind it */
    VarSet all = result;
    int n_in = 0;
    double bytes = move_us(m, path_extents(p, result) * type_bytes(T_F32));

    for (int i = 0; i < n; i++) {
        all |= part[i].vars;
        bytes += move_us(m, part[i].bytes);
        if (part[i].vars & ~result)
            in[n_in++] = part[i];
    }
    double us = path_extents(p, all) * (n_in > 2 ? n_in : 2) / m->plain_ops;
    for (Mask left = 1; n_in <= ALL_ORDERS && left + 1 < 1u << n_in; left += 2)
        us = product_us(p, in, n_in, left, result, guard, us);
    return (us > bytes ? us : bytes) + m->launch_us;
}
/* ---- ways --------------------------------------------------------------- */

Mask path_everything(const Paths *p)
{
    return (1u << p->n_part) - 1;
}

VarSet path_used(const Paths *p, Mask of)
{
    VarSet set = 0;

    for (int i = 0; i < p->n_part; i++)
        if (of >> i & 1)
            set |= p->part[i].vars;
    return set;
}

/* Of the variables of these factors, those that their sum still has. */
VarSet path_kept(const Paths *p, Mask of)
{
    Mask all = path_everything(p);

    return path_used(p, of) &
           (of == all ? p->out : p->out | p->pinned | path_used(p, all & ~of));
}

bool path_constant(const Paths *p, Mask of)
{
    bool constant = true;

    for (int i = 0; i < p->n_part; i++)
        constant &= !(of >> i & 1) || p->part[i].constant;
    return constant;
}

static int count(VarSet set)
{
    int n = 0;

    for (; set; set &= set - 1)
        n++;
    return n;
}

/* Whether the sum of these factors may be a tensor, with indices fewer than
 * the factors have: a large one is no larger than what is there. */
bool path_may_store(const Paths *p, Mask of)
{
    const VarSet keep = path_kept(p, of);
    double most = path_extents(p, p->out) * type_bytes(T_F32);

    for (int i = 0; i < p->n_part; i++)
        if (p->part[i].bytes > most)
            most = p->part[i].bytes;
    most = 2 * most > LARGE ? 2 * most : LARGE;
    return keep != path_used(p, of) && count(keep) <= MAX_RANK &&
           path_extents(p, keep) * type_bytes(T_F32) <= most;
}

static int add_parts(const Paths *p, Mask of, Part *to, int n)
{
    for (int i = 0; i < p->n_part; i++)
        if (of >> i & 1)
            to[n++] = p->part[i];
    return n;
}

static Part stored_part(const Paths *p, Mask of)
{
    const VarSet keep = path_kept(p, of);

    return (Part){.vars = keep,
                  .bytes = path_extents(p, keep) * type_bytes(T_F32)};
}

/* `of` as the sum of `left` and the others, these summed before or not. */
static void try_way(const Paths *p, Mask of, Mask left, bool right)
{
    Part part[MOST_FACTORS];
    Way *w = &p->way[of];
    const Mask rest = of & ~left;
    double us = p->way[left].us;
    int n = 0;

    part[n++] = stored_part(p, left);
    if (right) {
        us += p->way[rest].us;
        part[n++] = stored_part(p, rest);
    } else {
        n = add_parts(p, rest, part, n);
    }
    us += path_sum_us(p, part, n, path_kept(p, of),
                      of == path_everything(p) ? p->pinned : 0);
    if (us < w->us)
        *w = (Way){.us = us, .left = left, .right = right};
}

static void find_way(Paths *p, Mask of)
{
    Part part[MOST_FACTORS];
    int n = add_parts(p, of, part, 0);
    Way *w = &p->way[of];

    const bool whole = of == path_everything(p);
    *w = (Way){
        .us = path_sum_us(p, part, n, path_kept(p, of), whole ? p->pinned : 0)};
    const bool store = !whole && path_may_store(p, of);
    if (store && (w->made = path_find_made(p, of)))
        w->us = 0;
    for (Mask left = (of - 1) & of; left && !w->made; left = (left - 1) & of) {
        if (!path_may_store(p, left))
            continue;
        try_way(p, of, left, false);
        if (left > (of & ~left) && path_may_store(p, of & ~left))
            try_way(p, of, left, true);
    }
    /* what parameters alone make is there before any run */
    if (store && p->s->when == WHEN_RUN && path_constant(p, of))
        w->us = 0;
}

void path_find_ways(Paths *p)
{
    p->way = arena_array(p->g->arena, Way, path_everything(p) + 1);
    for (Mask of = 1; of <= path_everything(p); of++)
        find_way(p, of);
}
