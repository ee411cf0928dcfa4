#include "family/contract/contract_tma.h"

#include <stdlib.h>
#include <string.h>

/* ---- axes -------------------------------------------------------------- */

static int64_t coef(const Operand *o, const Var *v)
{
    return idx_coef(o->offset, v);
}

bool tma_one_number(const Operand *o, const Var *u, const Var *v)
{
    return !guard_uses(o->in, u) && !guard_uses(o->in, v) &&
           coef(o, u) == coef(o, v) * v->extent;
}

static void finish_axis(Graph *g, Axis *a)
{
    int64_t radix = 1;

    a->extent = 1;
    for (int i = 0; i < a->n; i++)
        a->extent *= a->v[i]->extent;
    a->linear = a->v[0];
    if (a->n == 1)
        return;
    a->linear = idx_new_var(g->pool, a->v[0]->name, a->extent);
    for (int i = a->n - 1; i >= 0; i--) {
        const Idx *e = idx_floor(g->pool, idx_var(g->pool, a->linear), radix);
        radix *= a->v[i]->extent;
        if (i > 0)
            e = idx_mod(g->pool, e, a->v[i]->extent);
        a->sub[i] = (Subst){a->v[i], e};
    }
}

void tma_axis(Graph *g, Axis *a, const Var *const *v, int n)
{
    memcpy(a->v, v, sizeof *v * (size_t)n);
    a->n = n;
    finish_axis(g, a);
}

/* Groups v, slow to fast, into axes that both operands (NULL: any) agree on. */
void tma_axes(Graph *g, Axes *out, const Var *const *v, int n,
                      const Operand *a, const Operand *b)
{
    for (int i = 0; i < n; i++) {
        Axis *last = out->n ? &out->axis[out->n - 1] : NULL;
        const Var *u = last ? last->v[last->n - 1] : NULL;
        bool joins = u && (!a || tma_one_number(a, u, v[i])) &&
                     (!b || tma_one_number(b, u, v[i]));
        if (!joins)
            last = &out->axis[out->n++];
        last->v[last->n++] = v[i];
    }
    for (int i = 0; i < out->n; i++)
        finish_axis(g, &out->axis[i]);
}

/* e with every axis's number instead of its digits. */
static const Idx *on_axes(const Tma *t, const Idx *e)
{
    const Axes *all[] = {&t->m, &t->n, &t->k, &t->batch};

    for (int s = 0; s < 4; s++)
        for (int i = 0; i < all[s]->n; i++) {
            const Axis *a = &all[s]->axis[i];
            if (a->n > 1)
                e = idx_subst(t->x->g->pool, e, a->sub, a->n);
        }
    return e;
}

static const Axis *inner_k(const Tma *t)
{
    return &t->k.axis[t->k.n - 1];
}

/* The axis that e's variable v is, if a tile is more than one of it. */
static const Axis *tile_axis(const Tma *t, const Axes *side, const Var *v)
{
    for (int i = 0; i < side->n; i++)
        if (side->axis[i].linear == v)
            return &side->axis[i];
    return inner_k(t)->linear == v ? inner_k(t) : NULL;
}

/* ---- dimensions -------------------------------------------------------- */

/* A dimension of the tensor that stays one of the map: guarded, or walked by
 * a tile's axis together with other variables. */
static bool is_window(const Tma *t, const Axes *side, const Tensor *x, int d,
                      const Idx *at)
{
    IdxPool *p = t->x->g->pool;
    int tiles = 0;

    if (guard_within(p, (Guard){0}, at, 0, x->dim[d]).n)
        return true;
    if (!idx_affine(at) || at->n < 2)
        return false;
    for (int i = 0; i < at->n; i++) {
        const Axis *a = tile_axis(t, side, at->term[i].atom->var);
        tiles += a != NULL;
        if (a && (a == inner_k(t) || at->term[i].c < 1 || at->term[i].c > 8))
            return false;
    }
    return tiles == 1;
}

static const char *window_dim(const Tma *t, const Axes *side, TmaOperand *o,
                              int d, const Idx *at)
{
    const Tensor *x = o->op->read->tensor;
    TmaDim *dim = &o->dim[o->rank++];

    *dim = (TmaDim){.at = at, .stride = x->stride[d], .extent = x->dim[d],
                    .step = 1};
    if (!idx_affine(at))
        return "an index that is not affine under a guard";
    for (int i = 0; i < at->n; i++) {
        const Axis *a = tile_axis(t, side, at->term[i].atom->var);
        if (!a)
            continue;
        if (dim->axis)
            return "two indices of a tile in one dimension";
        if (a == inner_k(t) && (at->n > 1 || at->k || at->term[i].c != 1 ||
                                a->extent != x->dim[d]))
            return "a window along the fastest index of the sum";
        if (at->term[i].c < 1 || at->term[i].c > 8)
            return "a stride that TMA does not have";
        dim->axis = a;
        dim->step = (int)at->term[i].c;
    }
    return NULL;
}

/* The dimension that ends with the run's size: v's, which is its slowest
 * part. */
static const char *find_run(const Tma *t, const Axes *side, TmaOperand *o,
                            const Var *v)
{
    const Expr *outside = o->op->read->outside;

    if (!outside || outside->kind != E_CONST || outside->num != 0)
        return "a value other than 0 beyond the run's size";
    for (int d = 0; d < o->rank; d++) {
        const Var *at = idx_is_var(o->dim[d].at);
        const Axes *all[] = {side, &t->batch};
        for (int s = 0; at && s < 2; s++)
            for (int i = 0; i < all[s]->n; i++)
                if (all[s]->axis[i].linear == at &&
                    all[s]->axis[i].v[0] == v)
                    o->run = d + 1;
    }
    return o->run ? NULL : "the run's size within a dimension";
}

/* Does nothing leave the group but where c holds? */
static bool stores_say(const Group *gr, Cond c)
{
    bool any = false;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        bool found = !s->tensor;
        for (int j = 0; j < s->where.n && !found; j++)
            found = s->where.cond[j].e == c.e && s->where.cond[j].mod == c.mod;
        if (!found)
            return false;
        any |= s->tensor != NULL;
    }
    return any;
}

/* Guards that are not just "inside the tensor" are beyond TMA, but where no
 * result is stored anyway: a row beyond them may be any; and those that all
 * steps meet. */
const char *tma_check_guard(const Tma *t, const TmaOperand *o)
{
    const Contract *c = t->x;
    IdxPool *pool = c->g->pool;
    const Expr *read = o->op->read;
    const Tensor *x = read->tensor;
    Guard in = {0};

    for (int d = 0; d < x->rank; d++)
        in = guard_within(pool, in, read->at[d], 0, x->dim[d]);
    for (int i = 0; i < o->op->in.n; i++) {
        bool found = cond_truth(o->op->in.cond[i]) == ALWAYS ||
                     tma_meets(t, o->op->in.cond[i]) ||
                     stores_say(c->gr, o->op->in.cond[i]);
        for (int j = 0; j < in.n && !found; j++)
            found = in.cond[j].e == o->op->in.cond[i].e &&
                    in.cond[j].mod == o->op->in.cond[i].mod;
        if (!found)
            return "a guard besides the tensor's own bounds";
    }
    if (in.n && read->outside &&
        (read->outside->kind != E_CONST || read->outside->num != 0))
        return "a value other than 0 outside";
    return NULL;
}

/* What is left of the offset: each axis a dimension of its own. */
static const char *axis_dims(const Tma *t, const Axes *side, TmaOperand *o,
                             const Idx *rest)
{
    if (!idx_affine(rest))
        return "an index that is not affine";
    o->offset = rest->k;
    for (int i = 0; i < rest->n; i++) {
        const Var *v = rest->term[i].atom->var;
        if (o->rank == TMA_RANK + MAX_RANK)
            return "more dimensions than a tensor map has";
        for (int d = 0; d < o->rank; d++)
            if (idx_uses(o->dim[d].at, v))
                return "an index in several dimensions";
        o->dim[o->rank++] =
            (TmaDim){.at = idx_var(t->x->g->pool, v),
                     .stride = rest->term[i].c, .extent = v->extent,
                     .axis = tile_axis(t, side, v), .step = 1};
    }
    return NULL;
}

/* ---- order, limits ----------------------------------------------------- */

/* Sorts: the neighbours, then (MN-major) k, then the tile's axes from fast to
 * slow, then the rest. */
static int rank_of(const Tma *t, const Axes *side, const TmaDim *d)
{
    if (d->stride == 1 && d->axis)
        return 0;
    if (d->axis == inner_k(t))
        return 1;
    for (int i = 0; i < side->n; i++)
        if (d->axis == &side->axis[i])
            return 2 + side->n - i;
    return 100;
}

static void sort_dims(const Tma *t, const Axes *side, TmaOperand *o)
{
    for (int i = 1; i < o->rank; i++)
        for (int j = i; j > 0 && rank_of(t, side, &o->dim[j - 1]) >
                                     rank_of(t, side, &o->dim[j]); j--) {
            TmaDim d = o->dim[j];
            o->dim[j] = o->dim[j - 1];
            o->dim[j - 1] = d;
        }
}

/* Two dimensions of single elements that lie in a row become one. */
static bool merge_dims(const Tma *t, TmaOperand *o)
{
    IdxPool *p = t->x->g->pool;

    for (int i = 0; i < o->rank; i++)
        for (int j = 0; j < o->rank; j++) {
            TmaDim *s = &o->dim[i], *f = &o->dim[j];
            if (i == j || s->axis || f->axis || !tma_inside(t, f) ||
                s->stride != f->stride * f->extent)
                continue;
            f->at = idx_add(p, idx_scale(p, s->at, f->extent), f->at);
            f->extent *= s->extent;
            memmove(s, s + 1, sizeof *s * (size_t)(--o->rank - i));
            return true;
        }
    return false;
}

bool tma_deals(const Tma *t, TmaOperand *o, const Axis *rows, int n)
{
    bool can = false;

    if (o->run)
        return false;
    for (int d = 1; d < o->rank; d++)
        can |= o->dim[d].axis == rows && idx_is_var(o->dim[d].at) &&
               o->dim[d].extent % n == 0;
    while (can && o->rank + 2 > TMA_RANK && merge_dims(t, o))
        ;
    return can && o->rank + 2 <= TMA_RANK;
}

/* Whether each tile begins at a multiple of 16 bytes along the neighbours, as
 * long as its axis does: else TMA's load is an illegal instruction. */
static bool begins_aligned(const Tma *t, const TmaDim *d, int bytes)
{
    IdxPool *p = t->x->g->pool;
    const int64_t whole = 16 / bytes;
    const Idx *rest = idx_sub(p, d->at, idx_var(p, d->axis->linear));

    return idx_align(rest, whole) == whole;
}

static const char *check_dims(const Tma *t, TmaOperand *o)
{
    int bytes = type_bytes(t->x->elem), k = 0;

    while (o->rank > TMA_RANK && merge_dims(t, o))
        ;
    if (o->rank > TMA_RANK)
        return "more than five dimensions";
    if (!o->rank || o->dim[0].stride != 1 || !o->dim[0].axis ||
        o->dim[0].step != 1)
        return "no index of the tile walks neighbours in memory";
    if (o->offset * bytes % 16 || !begins_aligned(t, &o->dim[0], bytes))
        return "a start that is not aligned to 16 bytes";
    for (int d = 0; d < o->rank; d++) {
        if (d && (o->dim[d].stride < 1 || o->dim[d].stride * bytes % 16))
            return "a stride that is no multiple of 16 bytes";
        k += o->dim[d].axis == inner_k(t);
    }
    if (k != 1)
        return "the fastest index of the sum is not one dimension";
    o->k_major = o->dim[0].axis == inner_k(t);
    return NULL;
}

const char *tma_operand(Tma *t, TmaOperand *o, const Operand *op,
                        const Axes *side, const Var *run)
{
    IdxPool *p = t->x->g->pool;
    const Idx *at[MAX_RANK], *rest;
    const char *why;

    o->op = op;
    if (!op->read || op->read->tensor->type != t->x->elem)
        return "a factor that is computed";
    const Tensor *x = op->read->tensor;
    if ((why = tma_check_guard(t, o)))
        return why;
    rest = on_axes(t, op->offset);
    for (int d = 0; d < x->rank; d++) {
        at[d] = on_axes(t, op->read->at[d]);
        if (!is_window(t, side, x, d, at[d]))
            continue;
        if ((why = window_dim(t, side, o, d, at[d])))
            return why;
        rest = idx_sub(p, rest, idx_scale(p, at[d], x->stride[d]));
    }
    if ((why = axis_dims(t, side, o, rest)))
        return why;
    for (int i = 0; i < side->n; i++) {
        bool found = false;
        for (int d = 0; d < o->rank; d++)
            found |= o->dim[d].axis == &side->axis[i];
        if (!found && side->axis[i].extent > 1)
            return "an operand that does not use one of its rows";
    }
    sort_dims(t, side, o);
    if ((why = check_dims(t, o)))
        return why;
    return run ? find_run(t, side, o, run) : NULL;
}

/* ---- im2col ------------------------------------------------------------ */

/* Where a pixel's taps begin: those of a gradient are in reverse. */
static int64_t first_tap(const TmaDim *d)
{
    int64_t first = d->at->k;

    for (int i = 0; i < d->at->n; i++) {
        const Var *v = d->at->term[i].atom->var;
        if (v != d->axis->linear && d->at->term[i].c < 0)
            first += d->at->term[i].c * (v->extent - 1);
    }
    return first;
}

int tma_lower(const TmaDim *d)
{
    return (int)first_tap(d);
}

int tma_upper(const TmaDim *d)
{
    return (int)(first_tap(d) + d->step * (d->axis->extent - 1) -
                 (d->extent - 1));
}

/* ---- tiles ------------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The step of the map along an axis of m. */
static int step_of(const Tma *t, const Axis *a)
{
    for (int d = 0; d < t->a.rank; d++)
        if (t->a.dim[d].axis == a)
            return t->a.dim[d].step;
    return 1;
}

/* Fills p from axis i down with at most `left` rows; keeps the best. */
static void search(const Tma *t, int i, int left, Patch *p, Patch *best)
{
    if (i < 0) {
        p->tiles = p->rows = 1;
        for (int j = 0; j < t->m.n; j++) {
            p->count[j] = ceil_div(t->m.axis[j].extent, p->tile[j]);
            p->tiles *= p->count[j];
            p->rows *= p->tile[j];
        }
        if (!best->tiles || p->tiles < best->tiles) {
            p->most = best->most;
            *best = *p;
        }
        return;
    }
    const Axis *a = &t->m.axis[i];
    int most = TMA_BOX / step_of(t, a);
    if (most > left)
        most = left;
    if (most > a->extent)
        most = (int)a->extent;
    /* all further tiles but the slowest axis's, which takes what is left */
    for (int tile = most; tile >= 1; tile--) {
        p->tile[i] = tile;
        search(t, i - 1, left / tile, p, best);
        if (i == 0 || i < t->m.n - 3)
            break;
    }
}

Patch tma_patch(const Tma *t, int bm)
{
    Patch p = {.tiles = 0}, best = {.tiles = 0}, run = {.rows = bm};
    int i = 0;

    /* rows beyond the last are read as zero */
    run.tile[0] = bm;
    run.count[0] = run.tiles = ceil_div(t->x->c.M, bm);
    run.im2col = t->pixels > 0;
    if (t->m.n == 1 || run.im2col)
        return run;
    for (; i < TMA_PATCHES && t->patch[i].tiles; i++)
        if (t->patch[i].most == bm)
            return t->patch[i];
    best.most = bm;
    search(t, t->m.n - 1, bm, &p, &best);
    if (i < TMA_PATCHES)
        t->patch[i] = best;
    return best;
}

bool tma_off(const TmaOperand *o, int bytes)
{
    int size = type_bytes(o->op->read->tensor->type);

    for (int i = 1; i < o->rank && o->k_major; i++)
        if (o->dim[i].extent > 1 && o->dim[i].stride * size % bytes)
            return true;
    return o->k_major && o->offset * size % bytes;
}

bool tma_few_terms(const Tma *t)
{
    return t->k.n == 1 && t->k.axis[0].extent < t->bk;
}

double tma_few_clk(const Tma *t, const TmaOperand *o, double rows)
{
    return rows * t->x->o->device->tma_few_terms_clk *
           (tma_off(o, L2_SECTOR) ? 2 : 1);
}

int64_t tma_k_tiles(const Tma *t)
{
    int64_t n = ceil_div(inner_k(t)->extent, t->bk);

    for (int i = 0; i + 1 < t->k.n; i++)
        n *= t->k.axis[i].extent;
    return n;
}
