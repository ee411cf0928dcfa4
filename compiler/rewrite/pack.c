#include "rewrite/pack.h"

#include "rewrite/padding.h"
#include "rewrite/phase.h"
#include "rewrite/simplify.h"
#include "rewrite/walk.h"

#include <string.h>

/* The summed variable along which the operand that is no parameter is
 * contiguous; in a window whose weights go with the channel (depthwise), the
 * channel. */
static const Var *wanted(const Stmt *s, const Expr *a, const Expr *w)
{
    for (int d = 0; d < a->tensor->rank; d++) {
        const Var *v = walk_var(a->at[d]);
        if (!v || a->tensor->stride[d] != 1 || v->extent < WORTH)
            continue;
        if (walk_in_list((const Var *const *)s->red, s->n_red, v) ||
            (walk_has_window(a) && expr_uses(w, v)))
            return v;
    }
    return NULL;
}

/* Results for each weight: of the extents that only `a` has. */
static int64_t rows_of(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *own[32];
    int64_t rows = 1;

    for (int i = walk_only_in(s, a, w, own); i-- > 0;)
        rows *= own[i]->extent;
    return rows;
}

/* Exact f32 products of many rows: tiles of the weights are copied four columns
 * of the result at a time, where a sum's terms would come one by one. */
static bool wants_columns(const Stmt *s, const Expr *a, const Expr *w)
{
    enum { MANY = 17 }; /* beyond the families for few rows */

    return w->type == T_F32 && rows_of(s, a, w) >= MANY;
}

static const Var *columns(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *best = NULL;

    for (int d = 0; d < s->tensor->rank; d++) {
        const Var *v = idx_is_var(s->store[d]);
        if (v && s->tensor->stride[d] == 1 && v->extent % 4 == 0 &&
            expr_uses(w, v) && !expr_uses(a, v))
            best = v;
    }
    return best;
}

static int64_t stride_along(const Expr *w, const Var *v)
{
    int64_t stride = 0;

    for (int d = 0; d < w->tensor->rank; d++)
        stride += idx_coef(w->at[d], v) * w->tensor->stride[d];
    return stride;
}

/* Do weights of this type have to lie along the sum? For tensor cores f32 ones
 * as tf32 do; and 16-bit ones that few rows are multiplied with, a column of
 * which is then copied far ahead by itself. For one row it makes no
 * difference. */
static bool only_along_sum(const Stmt *s, const Expr *a, const Expr *w,
                           bool f32_along_sum)
{
    enum { FEW = 16 }; /* an mma's rows */
    int64_t rows = rows_of(s, a, w);

    return type_bytes(w->type) == 2 ? rows > 1 && rows <= FEW
                                    : f32_along_sum && w->type == T_F32;
}

/* How far apart the statement stores neighbours along v. */
static int64_t store_stride(const Stmt *s, const Var *v)
{
    int64_t stride = 0;

    for (int d = 0; d < s->tensor->rank; d++)
        stride += idx_coef(s->store[d], v) * s->tensor->stride[d];
    return stride < 0 ? -stride : stride;
}

/* The variables of the result that w has, as the result lies: slow to fast. */
static int result_vars(const Stmt *s, const Expr *w, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out && n < MAX_RANK; i++) {
        const Var *x = s->out[i];
        if (x->extent == 1 || !expr_uses(w, x))
            continue;
        int at = n++;
        for (; at > 0 && store_stride(s, v[at - 1]) < store_stride(s, x); at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
    return n;
}

/* Do the columns that w makes of the result follow each other in w as they do
 * there, so that a tile of them is one box? */
static bool columns_in_order(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *v[MAX_RANK], *fast = NULL;

    for (int n = result_vars(s, w, v), i = n - 1; i >= 0; i--) {
        if (expr_uses(a, v[i]))
            continue;
        if (fast && stride_along(w, v[i]) !=
                        stride_along(w, fast) * fast->extent)
            return false;
        fast = v[i];
    }
    return true;
}

/* Is w contiguous along v already, or along an index of the result (the other
 * major order)? In rows of whole vectors, which a copy's are. */
static bool good_enough(const Stmt *s, const Expr *a, const Expr *w,
                        const Var *v, bool f32_along_sum)
{
    if (!columns_in_order(s, a, w) || layout_ragged(w->tensor))
        return false;
    if (stride_along(w, v) == 1)
        return true;
    if (only_along_sum(s, a, w, f32_along_sum) &&
        walk_in_list((const Var *const *)s->red, s->n_red, v))
        return false;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i]->extent >= 8 && stride_along(w, s->out[i]) == 1)
            return true;
    return false;
}

typedef struct Pack {
    const Tensor *from;
    const Idx **at;      /* of the read that was packed */
    const Var **var;     /* its variables, the packed dimensions */
    int n;
    Tensor *to;
} Pack;

typedef struct Packing {
    Pack *done;
    int n, cap;
} Packing;

/* The variables that index w: the result's as it lies, then the sum's; `inner`
 * last, behind the one along which the sum's other factor lies. */
static int pack_vars(const Stmt *s, const Expr *w, const Var *along,
                     const Var *inner, const Var **v)
{
    const Var *last[] = {along == inner ? NULL : along, inner};
    const Var *out[MAX_RANK];
    int n_out = result_vars(s, w, out), n = 0;

    for (int i = 0; i < n_out + s->n_red; i++) {
        const Var *x = i < n_out ? out[i] : s->red[i - n_out];
        if (x != last[0] && x != inner && x->extent > 1 && expr_uses(w, x) &&
            n < MAX_RANK)
            v[n++] = x;
    }
    for (int i = 0; i < 2; i++)
        if (last[i] && expr_uses(w, last[i]))
            v[n < MAX_RANK ? n++ : n] = last[i];
    return n;
}

/* The points of s that index e. */
static double points_of(const Stmt *s, const Expr *e)
{
    double points = 1;

    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *v = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        if (expr_uses(e, v))
            points *= (double)v->extent;
    }
    return points;
}

/* Ahead of s, which reads what a run writes, or what is made at load time. */
static Stmt *ahead_stmt(Graph *g, const Stmt *s, const Tensor *w,
                        const char *what)
{
    int at = 0;

    while (g->stmt[at] != s)
        at++;
    Stmt *c = stmt_insert(g, at);
    c->when = w->when;
    c->behind = w->when == WHEN_RUN && s->behind;
    c->again = c->behind; /* not kept from the forward pass */
    c->path = arena_printf(g->arena, "%s%s%s_%s", w->path,
                           *w->path ? "." : "", w->name, what);
    c->at = s->at;
    c->call = s->call;
    return c;
}

/* A stack of weights that is packed again stays `w_packed`. */
static const char *copy_name(Graph *g, const Tensor *w, const char *what)
{
    size_t n = strlen(w->name), end = strlen(what);
    bool has = n > end && !strcmp(w->name + n - end, what);

    return has ? w->name : arena_printf(g->arena, "%s_%s", w->name, what);
}

/* packed[v1, v2, ...] = w[at], at load time or ahead of s. */
static Tensor *pack_stmt(Graph *g, const Stmt *s, const Expr *w,
                         const Var **v, int n)
{
    int64_t dim[MAX_RANK];
    const char *what = tensor_is_constant(w->tensor) ? "packed"
                       : walk_has_window(w)          ? "windows"
                                                     : "turned";
    Stmt *c = w->tensor->role == ROLE_PARAM
                  ? load_stmt(g, w->tensor)
                  : ahead_stmt(g, s, w->tensor, what);
    Subst fresh[MAX_RANK];

    for (int i = 0; i < n; i++)
        dim[i] = v[i]->extent;
    const char *name = copy_name(g, w->tensor, what);
    Tensor *t = graph_tensor(g, name, w->tensor->type, n, dim);
    t->path = w->tensor->path;
    t->at = w->tensor->at;
    t->when = c->when;
    tensor_row_major(t);
    if (layout_ragged(t))
        layout_pad(t);
    c->tensor = t;
    c->n_out = n;
    c->out = arena_array(g->arena, const Var *, n);
    c->store = arena_array(g->arena, const Idx *, n);
    for (int i = 0; i < n; i++) {
        c->out[i] = idx_new_var(g->pool, v[i]->name, v[i]->extent);
        c->store[i] = idx_var(g->pool, c->out[i]);
        fresh[i] = (Subst){v[i], c->store[i]};
    }
    c->value = expr_subst(g, w, fresh, n);
    return t;
}

/* Was the same read packed before, for another statement (tied weights)? */
static Tensor *packed_before(Graph *g, const Packing *p, const Expr *w,
                             const Var **v, int n)
{
    for (int i = 0; i < p->n && !w->in.n /* guards are not compared */; i++) {
        const Pack *q = &p->done[i];
        Subst s[MAX_RANK];
        bool same = q->from == w->tensor && q->n == n;
        for (int k = 0; same && k < n; k++) {
            same = q->var[k]->extent == v[k]->extent;
            s[k] = (Subst){q->var[k], idx_var(g->pool, v[k])};
        }
        for (int d = 0; same && d < w->tensor->rank; d++)
            same = idx_subst(g->pool, q->at[d], s, n) == w->at[d];
        if (same)
            return q->to;
    }
    return NULL;
}

static Tensor *packed(Graph *g, Packing *p, const Stmt *s, const Expr *w,
                      const Var **v, int n)
{
    Tensor *t = packed_before(g, p, w, v, n);

    if (!t) {
        t = pack_stmt(g, s, w, v, n);
        VEC_PUSH(g->arena, p->done, p->n, p->cap) =
            (Pack){w->tensor, w->at, v, n, t};
    }
    return t;
}

static const Expr *pack(Graph *g, Packing *p, const Stmt *s, const Expr *w,
                        const Var *along, const Var *inner)
{
    const Var **v = arena_array(g->arena, const Var *, MAX_RANK + 1);
    int n = pack_vars(s, w, along, inner, v);

    if (n > MAX_RANK)
        return NULL;
    Tensor *t = packed(g, p, s, w, v, n);
    const Idx **at = arena_array(g->arena, const Idx *, n);
    for (int i = 0; i < n; i++)
        at[i] = idx_var(g->pool, v[i]);
    return expr_read(g, t, at, (Guard){0}, NULL);
}

/* The same read of a copy of its whole tensor, whose dimensions go from those
 * of depth 0, the slowest, to those of the most. */
static const Expr *pack_whole(Graph *g, Packing *p, const Stmt *s,
                              const Expr *w, const int *depth)
{
    const Tensor *t = w->tensor;
    const Idx **all = arena_array(g->arena, const Idx *, t->rank);
    const Idx **at = arena_array(g->arena, const Idx *, t->rank);
    const Var **v = arena_array(g->arena, const Var *, t->rank);
    int n = 0;

    for (int k = 0; n < t->rank; k++)
        for (int d = 0; d < t->rank; d++)
            if (depth[d] == k) {
                v[n] = idx_new_var(g->pool, "i", t->dim[d]);
                all[d] = idx_var(g->pool, v[n]);
                at[n++] = w->at[d];
            }
    const Expr *whole = expr_read(g, w->tensor, all, (Guard){0}, NULL);
    return expr_read(g, packed(g, p, s, whole, v, n), at, w->in,
                     w->outside);
}

/* Of weights with zeros beyond them: windows of taps slowest, then what the
 * result has, then the sum; `inner` fastest. */
static const Expr *pack_taps(Graph *g, Packing *p, const Stmt *s,
                             const Expr *w, const Var *inner)
{
    int depth[MAX_RANK];

    for (int d = 0; d < w->tensor->rank; d++) {
        const Var *v = idx_is_var(w->at[d]);
        depth[d] = v != NULL;
        if (v && walk_in_list((const Var *const *)s->red, s->n_red, v))
            depth[d] = v == inner ? 2 + 1 : 2;
    }
    return pack_whole(g, p, s, w, depth);
}

/* Does it read a parameter as a step finds it, which tensor cores do not take
 * as it lies? */
static bool is_turned(const Expr *e, bool f32_along_sum)
{
    return f32_along_sum && e->type == T_F32 && !e->tensor->prev &&
           tensor_is_trained(e->tensor);
}

/* Elements of a parameter, or of what is made of parameters at load time, whose
 * place is known there. */
static bool is_weights(Graph *g, const Expr *e, bool f32_along_sum)
{
    if ((!tensor_is_constant(e->tensor) && !is_turned(e, f32_along_sum)) ||
        !walk_zero_beyond(g, e))
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return false;
    return true;
}

/* The variable that a copy of w has along it: the one that is wanted; where
 * none is, but rows need padding, the one that they go along. */
static const Var *copied_along(const Stmt *s, const Expr *a, const Expr *w)
{
    const Var *v = wanted(s, a, w);

    for (int i = 0; i < s->n_out + s->n_red && !v; i++) {
        const Var *x = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        if (layout_ragged(w->tensor) && stride_along(w, x) == 1)
            v = x;
    }
    return v;
}

/* What this graph alone would do. */
static PackHow own_way(const Stmt *s, const Expr *a, const Expr *w,
                       bool f32_along_sum)
{
    const Var *v = !f32_along_sum && wants_columns(s, a, w) ? columns(s, a, w)
                                                            : NULL;
    PackHow how = v ? PACK_COLUMNS : PACK_ALONG;

    v = v ? v : copied_along(s, a, w);
    return v && !good_enough(s, a, w, v, f32_along_sum) ? how : PACK_NOT;
}

/* As told, or by itself; noted. */
static PackHow way(Graph *g, const Stmt *s, const Expr *a, const Expr *w,
                   bool f32_along_sum, const Packings *as, Packings *made)
{
    const char *weight = w->tensor->weight;
    PackHow how = own_way(s, a, w, f32_along_sum);
    int nth = 0;

    if (w->tensor->role != ROLE_PARAM)
        return how;
    for (int i = 0; i < made->n; i++)
        nth += !strcmp(made->way[i].weight, weight);
    for (int i = 0; as && i < as->n; i++)
        if (as->way[i].nth == nth && !strcmp(as->way[i].weight, weight))
            how = as->way[i].how;
    VEC_PUSH(g->arena, made->way, made->n, made->cap) =
        (PackWay){weight, nth, how};
    return how;
}

/* Does it read a run's f32 values at places known ahead? */
static bool is_known(const Expr *e)
{
    if (e->kind != E_READ || e->type != T_F32 || e->tensor->prev ||
        e->tensor->when != WHEN_RUN)
        return false;
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return false;
    return true;
}

/* And are these intermediates, none read at so many points that a copy would
 * fill the memory? */
static bool may_turn(const Stmt *s, const Expr *e)
{
    enum { TAPS = 16 };

    return is_known(e) && e->tensor->role == ROLE_TEMP &&
           points_of(s, e) <= TAPS * (double)tensor_elems(e->tensor);
}

/* Can TMA copy e as it lies across the sum: neighbours along an index of the
 * result, in lines of 16 bytes; of a window boxes of 128? */
static bool lies_across(const Stmt *s, const Expr *e)
{
    const int64_t whole = walk_has_window(e) ? 32 : 4;

    for (int i = 0; i < s->n_out; i++)
        if (stride_along(e, s->out[i]) == 1)
            return s->out[i]->extent % whole == 0;
    return false;
}

/* The fastest variable of the sum, if both factors lie across it: a product of
 * two transposed matrices, as gradients of weights are; one of them may be
 * windows, with what is outside as zeros. Tensor cores take what TMA cannot
 * bring across turned, which costs a pass over each: worth it where each value
 * of a copy, which a window's pixel has for each tap, is used often. */
static const Var *turned_along(const Stmt *s, const Expr *a, const Expr *b)
{
    enum { OFTEN = 256 };
    const Var *v = s->n_red ? s->red[s->n_red - 1] : NULL;
    int64_t sum = 1;

    for (int i = 0; i < s->n_red; i++) {
        sum *= s->red[i]->extent;
        if (stride_along(a, s->red[i]) == 1 || stride_along(b, s->red[i]) == 1)
            return NULL;
    }
    if (lies_across(s, a) && lies_across(s, b))
        return NULL;
    return v && sum % 4 == 0 && sum >= OFTEN && may_turn(s, a) &&
                   may_turn(s, b) && rows_of(s, a, b) >= OFTEN &&
                   rows_of(s, b, a) >= OFTEN
               ? v : NULL;
}

static bool sum_walks(const Stmt *s, const Idx *e)
{
    for (int i = 0; i < s->n_red; i++)
        if (idx_uses(e, s->red[i]))
            return true;
    return false;
}

/* The same read of its whole tensor with what the sum walks last, so that
 * windows are gathered from runs of neighbours. */
static const Expr *whole_turned(Graph *g, Packing *p, const Stmt *s,
                                const Expr *w)
{
    int depth[MAX_RANK];

    for (int d = 0; d < w->tensor->rank; d++)
        depth[d] = sum_walks(s, w->at[d]);
    return pack_whole(g, p, s, w, depth);
}

/* The dimension that v alone is the place in, of all of it; or -1. */
static int place_of(const Expr *e, const Var *v)
{
    int found = -1;

    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_uses(e->at[d], v))
            found = found < 0 && idx_is_var(e->at[d]) == v &&
                            e->tensor->dim[d] == v->extent
                        ? d
                        : e->tensor->rank;
    return found < e->tensor->rank ? found : -1;
}

/* A variable of the sum that fills boxes of 128 bytes, and is a place of its
 * own in both factors: images, of which w has windows of few channels, that TMA
 * cannot bring across the sum as it does the other factor. */
static const Var *images_of(Graph *g, const Stmt *s, const Expr *w,
                            const Expr *other)
{
    enum { BOX = 32 };

    if (!walk_has_window(w) || lies_across(s, w) || walk_has_window(other) ||
        !lies_across(s, other) || other->in.n || !walk_zero_beyond(g, w) ||
        rows_of(s, w, other) < BOX || rows_of(s, other, w) < BOX)
        return NULL;
    for (int i = 0; i < s->n_red; i++)
        if (s->red[i]->extent % BOX == 0 && place_of(w, s->red[i]) >= 0 &&
            place_of(other, s->red[i]) >= 0)
            return s->red[i];
    return NULL;
}

/* The same read of a copy that has zeros where windows leave the tensor, and v
 * fastest: places along it are whole boxes for every tap. */
static const Expr *pack_images(Graph *g, Packing *p, const Stmt *s,
                               const Expr *w, const Var *v)
{
    const Tensor *t = w->tensor;
    const Idx **all = arena_array(g->arena, const Idx *, t->rank);
    const Idx **at = arena_array(g->arena, const Idx *, t->rank);
    const Var **var = arena_array(g->arena, const Var *, t->rank);
    const int last = place_of(w, v);
    Guard in = {0};
    int n = 0;

    for (int k = 0; k < 2 + 1; k++)
        for (int d = 0; d < t->rank; d++) {
            const Idx *e = w->at[d];
            if (k != (d == last ? 2 : !sum_walks(s, e)))
                continue;
            var[n] = idx_new_var(g->pool, "i", e->hi - e->lo + 1);
            all[d] = idx_addc(g->pool, idx_var(g->pool, var[n]), e->lo);
            in = guard_within(g->pool, in, all[d], 0, t->dim[d]);
            at[n++] = idx_addc(g->pool, e, -e->lo);
        }
    const Expr *whole =
        expr_read(g, w->tensor, all, in, in.n ? w->outside : NULL);
    return expr_read(g, packed(g, p, s, whole, var, n), at, (Guard){0}, NULL);
}

static void turn_images(Graph *g, Packing *p, Stmt *s, const Expr *a,
                        const Expr *b)
{
    const Expr *f[] = {a, b};

    for (int k = 0; k < 2 && is_known(a) && is_known(b); k++) {
        const Var *v = images_of(g, s, f[k], f[1 - k]);
        if (!v)
            continue;
        f[k] = pack_images(g, p, s, f[k], v);
        s->value = walk_multiplied(g, s, f[0], f[1]);
        return;
    }
}

static void turn(Graph *g, Packing *p, Stmt *s, const Expr *a, const Expr *b)
{
    const Var *v = turned_along(s, a, b);
    const Expr *f[] = {a, b};

    if (!v)
        turn_images(g, p, s, a, b);
    for (int k = 0; v && k < 2; k++) {
        if (walk_has_window(f[k]))
            f[k] = whole_turned(g, p, s, f[k]);
        const Expr *along = pack(g, p, s, f[k], v, v);
        f[k] = along ? along : f[k];
    }
    if (v)
        s->value = walk_multiplied(g, s, f[0], f[1]);
}

static const Expr *within(Graph *g, const Expr *range, const Expr *e)
{
    return expr_select(g, range, e, expr_const(g, 0, e->type), e->type);
}

/* ---- runs of taps ------------------------------------------------------ */

/* A window of few channels: taps along one dimension, and the channels of each
 * with zeros to whole vectors, are a run of neighbours in a copy. */
typedef struct Run {
    const Var *tap, *channel;
    int line, plane;        /* the dimensions of x that they are in */
    int64_t room, length;   /* of a tap's channels; of all */
} Run;

/* The tap of x's dimension d: it moves by one what a variable of the result
 * moves, and nothing else does. */
static const Var *tap_of(const Stmt *s, const Expr *x, int d)
{
    const Idx *e = x->at[d];
    const Var *tap = NULL;
    bool moves = false;

    if (!idx_affine(e) || e->n != 2)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const Var *v = e->term[i].atom->var;
        if (walk_in_list((const Var *const *)s->red, s->n_red, v))
            tap = e->term[i].c == 1 ? v : NULL;
        else
            moves = e->term[i].c >= 1;
    }
    return moves ? tap : NULL;
}

/* Whether f32 windows x of few channels are worth such a copy: a step over the
 * sum is a box of 128 bytes, most of which is used, and many pixels read it. */
static bool find_run(Graph *g, const Stmt *s, const Expr *x, const Expr *w,
                     Run *r)
{
    enum { BOX = 32, VECTOR = 4, MANY = 4096 };

    *r = (Run){.line = -1, .plane = -1};
    if (s->value->kind == E_SELECT || !is_known(x) || w->in.n ||
        !walk_zero_beyond(g, x) || rows_of(s, w, x) < BOX ||
        rows_of(s, x, w) < MANY)
        return false;
    for (int i = 0; i < s->n_red; i++) {
        const Var *v = s->red[i];
        int d = place_of(x, v);
        if (d >= 0 && v->extent < VECTOR && place_of(w, v) >= 0) {
            r->channel = v;
            r->plane = d;
        }
    }
    for (int d = 0; d < x->tensor->rank; d++) {
        const Var *v = tap_of(s, x, d);
        if (v && place_of(w, v) >= 0 &&
            (!r->tap || v->extent >= r->tap->extent)) {
            r->tap = v;
            r->line = d;
        }
    }
    if (!r->channel || !r->tap)
        return false;
    r->room = VECTOR;
    r->length = r->room * r->tap->extent;
    int64_t boxes = (r->length + BOX - 1) / BOX * BOX;
    return boxes <= 2 * r->channel->extent * r->tap->extent;
}

/* The same read of x by the number `run` of a tap and its channel. */
static const Expr *pack_line(Graph *g, Packing *p, const Stmt *s,
                             const Expr *x, const Run *r, const Var *run)
{
    IdxPool *pool = g->pool;
    const Tensor *t = x->tensor;
    const Idx **all = arena_array(g->arena, const Idx *, t->rank);
    const Idx **at = arena_array(g->arena, const Idx *, t->rank);
    const Var **var = arena_array(g->arena, const Var *, t->rank);
    const Idx *line = x->at[r->line];
    Guard in = {0};
    int n = 0;

    for (int d = 0; d < t->rank; d++) {
        const Idx *e = x->at[d];
        if (d == r->line || d == r->plane)
            continue;
        var[n] = idx_new_var(pool, "i", e->hi - e->lo + 1);
        all[d] = idx_addc(pool, idx_var(pool, var[n]), e->lo);
        at[n++] = idx_addc(pool, e, -e->lo);
    }
    var[n] = idx_new_var(pool, "i", r->room * (line->hi - line->lo + 1));
    const Idx *i = idx_var(pool, var[n]);
    all[r->plane] = idx_mod(pool, i, r->room);
    all[r->line] = idx_addc(pool, idx_floor(pool, i, r->room), line->lo);
    const Idx *first = idx_addc(
        pool, idx_sub(pool, line, idx_var(pool, r->tap)), -line->lo);
    at[n++] = idx_add(pool, idx_scale(pool, first, r->room),
                      idx_var(pool, run));
    for (int d = 0; d < t->rank; d++)
        in = guard_within(pool, in, all[d], 0, t->dim[d]);
    const Expr *zero = expr_const(g, 0, x->type);
    const Expr *whole = expr_read(g, x->tensor, all, in, in.n ? zero : NULL);
    return expr_read(g, packed(g, p, s, whole, var, n), at, (Guard){0}, NULL);
}

/* And of weights, which have zeros where a tap has no channel. */
static const Expr *pack_run(Graph *g, Packing *p, const Stmt *s, const Expr *w,
                            const Run *r, const Var *run)
{
    IdxPool *pool = g->pool;
    const Idx *i = idx_var(pool, run);
    const Idx **all = arena_array(g->arena, const Idx *, w->tensor->rank);
    const Var *used[MAX_RANK + 1], **var;
    int n = 0, most = pack_vars(s, w, r->tap, r->tap, used);
    Guard in = {0};

    for (int d = 0; d < w->tensor->rank; d++)
        all[d] = idx_uses(w->at[d], r->tap) ? idx_floor(pool, i, r->room)
                 : idx_uses(w->at[d], r->channel)
                     ? idx_mod(pool, i, r->room)
                     : w->at[d];
    for (int d = 0; d < w->tensor->rank; d++)
        in = guard_within(pool, in, all[d], 0, w->tensor->dim[d]);
    var = arena_array(g->arena, const Var *, MAX_RANK + 1);
    for (int k = 0; k < most; k++)
        if (used[k] != r->tap && used[k] != r->channel)
            var[n++] = used[k];
    var[n++] = run;
    const Expr *zero = expr_const(g, 0, w->type);
    const Expr *rows = expr_read(g, w->tensor, all, in, in.n ? zero : NULL);
    const Idx **at = arena_array(g->arena, const Idx *, n);
    for (int k = 0; k < n; k++)
        at[k] = idx_var(pool, var[k]);
    return expr_read(g, packed(g, p, s, rows, var, n), at, (Guard){0}, NULL);
}

/* Windows of few channels by trained weights become sums over runs, which TMA
 * brings as they lie: neighbouring pixels' overlap. */
static bool make_runs(Graph *g, Packing *p, Stmt *s, const Expr *a,
                      const Expr *b)
{
    const Expr *f[] = {a, b};
    Run r;

    for (int k = 0; k < 2; k++) {
        if (!is_turned(f[1 - k], true) || !find_run(g, s, f[k], f[1 - k], &r))
            continue;
        const Var *run = idx_new_var(g->pool, r.tap->name, r.length);
        const Var **red = arena_array(g->arena, const Var *, s->n_red);
        int n = 0;
        f[1 - k] = pack_run(g, p, s, f[1 - k], &r, run);
        f[k] = pack_line(g, p, s, f[k], &r, run);
        for (int i = 0; i < s->n_red; i++)
            if (s->red[i] != r.tap && s->red[i] != r.channel)
                red[n++] = s->red[i];
        red[n++] = run;
        s->value = walk_multiplied(g, s, f[0], f[1]);
        s->red = red;
        s->n_red = n;
        return true;
    }
    return false;
}

void pack_weights(Graph *g, bool f32_along_sum, const Packings *as,
                  Packings *made)
{
    Packing p = {0};

    for (int i = 0; i < g->n_stmt; i++) {
        Stmt *s = g->stmt[i];
        const Expr *f[2];
        if (s->when != WHEN_RUN || !walk_cut_product(s, &f[0], &f[1]))
            continue;
        int all = g->n_stmt;
        if (f32_along_sum && make_runs(g, &p, s, f[0], f[1])) {
            i += g->n_stmt - all;
            continue;
        }
        for (int k = 0; k < 2; k++) {
            const Expr *w = f[k];
            if (!is_weights(g, w, f32_along_sum))
                continue;
            PackHow how = way(g, s, f[1 - k], w, f32_along_sum, as, made);
            const Var *along = copied_along(s, f[1 - k], w);
            const Var *v = how == PACK_COLUMNS ? columns(s, f[1 - k], w)
                                               : along;
            bool whole = w->in.n > 0; /* it has no more points than these */
            if (how == PACK_NOT || !v ||
                (!whole &&
                 points_of(s, w) != (double)tensor_elems(w->tensor)))
                continue; /* no use, or read in part or more than once */
            int before = g->n_stmt;
            const Expr *in = whole ? phase_range(g, s->value) : NULL;
            const Expr *read =
                whole ? pack_taps(g, &p, s, w, v)
                      : pack(g, &p, s, w, along ? along : v, v);
            i += g->n_stmt - before;
            if (!read)
                continue;
            f[k] = read;
            f[k]->tensor->cut = in || w->tensor->cut;
            s->value = walk_multiplied(g, s, f[0], f[1]);
            if (in)
                s->value = within(g, in, s->value);
        }
        int before = g->n_stmt;
        if (f32_along_sum)
            turn(g, &p, s, f[0], f[1]);
        i += g->n_stmt - before;
    }
}
