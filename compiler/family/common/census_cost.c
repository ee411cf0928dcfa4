#include "family/common/body.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* What a nest computes and touches: counted once, then for a spread. */

typedef struct Specials {
    double n;
    const Expr *of; /* what they are counted in */
} Specials;

static void add_special(const Expr *e, void *ctx)
{
    Specials *s = ctx;
    double *n = &s->n;

    if (e->kind == E_UNARY && e->fn >= F_SQRT && e->fn <= F_LGAMMA)
        *n += 1;
    else if (e->kind == E_UNARY && e->fn >= F_NORMCDF)
        *n += e->fn == F_LOGISTIC ? 2
              : e->fn != F_SLOPE  ? 1
              : expr_calls(s->of, F_LOGISTIC, e->arg[0]) ? 0
                                                         : 2;
    else if (e->kind == E_BINARY &&
             (e->fn == F_POW || e->fn == F_ATAN2 || e->fn == F_FMOD ||
              (e->fn == F_DIV && type_is_float(e->type) &&
               e->arg[1]->kind != E_CONST)))
        *n += 1;
}

/* A load or store of all points: what is the same however they are spread. */
typedef struct Access {
    const Expr *read; /* NULL: a store */
    const Tensor *tensor;
    const Idx *offset;
    bool over_cols;
    double share; /* of the elements that somebody needs */
    int guards;
    int step;     /* a store's */
    bool woven;   /* with other steps' */
} Access;

/* How an access is done, of vectors of so many along a variable. */
typedef struct Manner {
    ReadKind kind;
    int step;
    bool woven; /* with other reads: then step is of these */
    double few; /* of a vector's elements, those that differ */
} Manner;

typedef struct Vectors {
    const Var *along;
    int vec;
    Manner *manner; /* by access */
} Vectors;

typedef struct Known {
    Spread spread;
    Traffic traffic;
} Known;

struct Census {
    Graph *graph;
    const Group *group;
    const Device *device;
    double rows, cols, flops, special;
    Access *access;
    int n, cap;
    Vectors *vectors;
    int n_vectors, cap_vectors;
    Known *known;
    int n_known, cap_known; /* asked for before */
};

/* How many neighbouring elements the nest covers from `fast` on; or what goes
 * through a row's columns does, where `cols` says so. */
static double contiguous_run(const Group *gr, const Idx *offset,
                             const Var *fast, bool cols)
{
    int64_t run = llabs(idx_coef(offset, fast)) * fast->extent;
    bool more = run > 0; /* 0: `fast` occurs in a floor or a gather only */

    while (more) {
        more = false;
        for (int i = cols ? gr->n_rows : 0; i < gr->n_rows + gr->n_cols; i++) {
            const Var *v =
                i < gr->n_rows ? gr->rows[i] : gr->cols[i - gr->n_rows];
            if (v->extent > 1 && idx_coef(offset, v) == run) {
                run *= v->extent;
                more = true;
            }
        }
    }
    return (double)run;
}

/* Whether some of a vector's points read one element: x[q / 2]. */
static bool shares_elements(const Census *c, const Access *x, const Var *along)
{
    return along && x->read && !c->group->n_cols &&
           idx_uses(x->offset, along) && !idx_coef(x->offset, along) &&
           read_few(c->graph, c->group, x->offset, along) < along->extent;
}

/* By how much neighbouring threads' accesses waste sectors. */
static double waste(const Census *c, const Spread *s, const Access *x)
{
    double bytes = type_bytes(x->tensor->type), most = L2_SECTOR / bytes;
    const Var *fast = x->over_cols && s->col ? s->col : s->row;

    if (x->woven)
        return 1;
    if (!fast)
        return most; /* one thread's, alone */
    if (s->turned && x->read && idx_coef(x->offset, s->turned) == 1)
        return 1;
    if (!idx_uses(x->offset, fast) || shares_elements(c, x, fast))
        return 1;
    double step = (double)llabs(idx_coef(x->offset, fast));
    bool cols = x->over_cols && fast == s->col;
    double run = contiguous_run(c->group, x->offset, fast, cols);
    if (fast == s->row)
        run = fmin(run, s->rows_warp);
    else if (cols && s->rows_warp > 1) /* rows next to it, in the same warp */
        run = fmin(contiguous_run(c->group, x->offset, fast, false),
                   run * s->rows_warp);
    if (step == 0)
        step = 1;
    return fmin(most, fmax(step, most / fmax(run, 1)));
}

/* Whether every SM soon has all of a tensor in its L1: an eighth of what that
 * and shared memory have together. */
static bool in_l1(const Device *d, const Tensor *t)
{
    return (double)tensor_elems(t) * type_bytes(t->type) <=
           (double)d->smem_sm_kb * KB / (2 * SCHEDULERS);
}

/* Clocks of the L1 for one request of a warp, whose threads have `each`
 * elements side by side and are `apart` elements from one another: one for 128
 * bytes, but as many as words of one bank are asked for, as in shared memory,
 * and one to begin. */
static double request_clk(int size, double each, double apart)
{
    if (apart == 0)
        return 2; /* all threads ask for one element */
    double words = apart * size / sizeof(float);
    double dense = fmax(1, WARP * each * size / L2_LINE);

    if (words < 2 || apart <= each)
        return 1 + dense;
    double bank = 1; /* the largest power of two that is in both */
    while (bank < WARP && fmod(words, 2 * bank) == 0)
        bank *= 2;
    return 1 + fmax(dense, bank);
}

/* How far neighbouring threads' elements lie apart; 0: they ask for one. */
static double threads_apart(const Spread *s, const Access *x)
{
    const Var *fast = x->over_cols && s->col ? s->col : s->row;

    if (!fast || !idx_uses(x->offset, fast))
        return 0;
    double step = (double)llabs(idx_coef(x->offset, fast));
    return fast == s->along ? step * s->vec : step;
}

/* n elements in all, `each` of an instruction, of which a share goes beyond
 * the L1. */
static void add_access(const Census *c, const Spread *s, const Access *x,
                       double n, double each, double share, double ops,
                       Traffic *t)
{
    bool turned = s->turned && x->read &&
                  idx_coef(x->offset, s->turned) == 1; /* copied ahead */

    if (!turned)
        t->l1_clk += n / each / WARP *
                     request_clk(type_bytes(x->tensor->type), each,
                                 threads_apart(s, x));
    const Var *fast = x->over_cols && s->col ? s->col : s->row;
    double bytes = n * share * type_bytes(x->tensor->type);

    if (fast && !idx_uses(x->offset, fast))
        bytes /= WARP; /* one request serves the warp */
    double wasted = waste(c, s, x);
    /* a row's columns in pieces, too: the others of a sector are other blocks'
     * to store */
    if (!x->read && wasted > 1 && (s->row == s->along || x->over_cols))
        wasted *= c->device->part_sector;
    t->bytes += bytes;
    t->scatter += bytes * wasted;
    t->overhead += 2 * n * ops;
}

static void count_read(const Census *c, const Spread *s, Access *x, Manner m,
                       Traffic *t)
{
    const Expr *e = x->read;
    double ops = c->device->access_ops + 2 * x->guards, each = 1;

    if (m.kind == READ_BROADCAST)
        each = s->vec;
    else if (m.kind == READ_VECTOR || m.woven)
        each = m.step;
    ops /= each;
    double count = c->rows * (x->over_cols ? c->cols : 1) * m.few, share = 1;
    x->woven = m.woven;
    bool line = s->line && x->over_cols && read_uses(e, s->line) &&
                idx_coef(x->offset, s->along) > 0;
    if (line) {
        each = s->line_vec;
        ops = (c->device->access_ops + 2 * x->guards) / each;
        count *= s->line_part;
    }
    if (x->over_cols && s->window && read_uses(e, s->window)) {
        count *= s->taken;
        share = c->device->l2_shared; /* the L1 has what neighbours read */
    } else if (x->over_cols && s->window) {
        count /= s->tile; /* one value serves the tile */
    }
    if (line)
        share *= s->line_new;
    count *= x->share;
    if (in_l1(c->device, x->tensor)) /* each SM asks once */
        share = fmin(share,
                     c->device->sms * (double)tensor_elems(x->tensor) / count);
    add_access(c, s, x, count, each, share, ops, t);
}

static void count_store(const Census *c, const Spread *s, Access x, Traffic *t)
{
    int each = idx_coef(x.offset, s->along) == 1 ? s->vec : 1;
    Weave w;

    x.woven = each == 1 && s->row == s->along &&
              weave_find(c->graph, c->group, x.step, s->along, s->vec, &w);
    if (x.woven)
        each = w.chunk;
    add_access(c, s, &x, c->rows * (x.over_cols ? c->cols : 1), each, 1,
               c->device->access_ops / (x.woven ? each : s->vec), t);
}

static void take_step(Census *c, const Step *s)
{
    double n = c->rows * (is_col_step(s) ? c->cols : 1);
    Specials special = {0, s->value};

    expr_visit(s->value, add_special, &special);
    c->flops += n * (expr_ops(s->value) + (s->op != R_NONE));
    c->special += n * special.n;
    if (s->tensor)
        VEC_PUSH(c->graph->arena, c->access, c->n, c->cap) =
            (Access){.tensor = s->tensor,
                     .step = (int)(s - c->group->step),
                     .offset = tensor_offset(c->graph, s->tensor, s->store),
                     .over_cols = s->over_cols && s->op == R_NONE};
}

static void take_reads(Census *c)
{
    const Group *gr = c->group;
    int all[MAX_STEPS];
    Reads r;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(c->graph, gr, all, gr->n_step, &r);
    for (int i = 0; i < r.n; i++) {
        const Expr *e = r.read[i];
        VEC_PUSH(c->graph->arena, c->access, c->n, c->cap) =
            (Access){.read = e,
                     .tensor = e->tensor,
                     .offset = tensor_offset(c->graph, e->tensor, e->at),
                     .over_cols = uses_cols(gr, e),
                     .share = group_needs(c->graph, gr, e),
                     .guards = e->in.n};
    }
}

Census *census_take(Graph *g, const Group *gr, const Device *d)
{
    Census *c = group_known(gr)->census;

    if (c && c->device == d)
        return c;
    c = group_known(gr)->census = arena_new_of(g->arena, Census);

    c->graph = g;
    c->group = gr;
    c->device = d;
    c->rows = (double)group_rows(gr);
    c->cols = (double)group_cols(gr);
    for (int i = 0; i < gr->n_step; i++)
        take_step(c, &gr->step[i]);
    take_reads(c);
    return c;
}

static bool same_spread(const Spread *a, const Spread *b)
{
    return a->row == b->row && a->col == b->col && a->along == b->along &&
           a->vec == b->vec && a->rows_warp == b->rows_warp &&
           a->window == b->window && a->taken == b->taken &&
           a->tile == b->tile && a->turned == b->turned && a->line == b->line &&
           a->line_vec == b->line_vec && a->line_part == b->line_part &&
           a->line_new == b->line_new;
}

/* Reads that alternate in memory. */
static void weave(const Census *c, const Spread *s, Manner *m)
{
    const Expr **read = arena_array(c->graph->arena, const Expr *, c->n + 1);
    int *place = arena_array(c->graph->arena, int, c->n + 1), n = 0, first = 0;
    int64_t run;

    for (int i = 0; i < c->n; i++) {
        first += !c->access[i].read; /* stores come first */
        if (c->access[i].read)
            read[n++] = c->access[i].read;
    }
    for (int i = 0; i < n; i++) {
        m[first + i].step =
            weave_reads(c->graph, read, n, i, s->along, s->vec, &run, place);
        m[first + i].woven = m[first + i].step > 0;
        m[first + i].kind = READ_SCALAR;
    }
}

static const Manner *manners(Census *c, const Spread *s)
{
    for (int i = 0; i < c->n_vectors; i++)
        if (c->vectors[i].along == s->along && c->vectors[i].vec == s->vec)
            return c->vectors[i].manner;
    Manner *m = arena_array(c->graph->arena, Manner, c->n);
    weave(c, s, m);
    for (int i = 0; i < c->n; i++) {
        const Access *x = &c->access[i];
        m[i].few = 1;
        if (!x->read || m[i].woven)
            continue;
        m[i].kind = read_kind_at(c->graph, x->read, x->offset, s->along,
                                 s->vec, &m[i].step);
        if (shares_elements(c, x, s->along))
            m[i].few = (double)read_few(c->graph, c->group, x->offset,
                                         s->along) / s->vec;
        m[i].few = fmin(m[i].few, 1);
    }
    VEC_PUSH(c->graph->arena, c->vectors, c->n_vectors, c->cap_vectors) =
        (Vectors){s->along, s->vec, m};
    return m;
}

static void add_up(Census *c, const Spread *s, Traffic *t)
{
    const Manner *m = manners(c, s);

    *t = (Traffic){.flops = c->flops, .special = c->special};
    for (int i = 0; i < c->n; i++) {
        Access *x = &c->access[i];
        if (x->read)
            count_read(c, s, x, m[i], t);
        else
            count_store(c, s, *x, t);
    }
    t->scatter = t->bytes > 0 ? t->scatter / t->bytes : 1;
}

double census_flops(const Census *c)
{
    return c->flops;
}

void census_traffic(Census *c, const Spread *s, Traffic *t)
{
    for (int i = 0; i < c->n_known; i++)
        if (same_spread(&c->known[i].spread, s)) {
            *t = c->known[i].traffic;
            return;
        }
    add_up(c, s, t);
    VEC_PUSH(c->graph->arena, c->known, c->n_known, c->cap_known) =
        (Known){*s, *t};
}
