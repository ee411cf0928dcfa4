#include "family/common/body.h"

#include "rewrite/needed.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- schedule ---------------------------------------------------------- */

const Group *nest_plain(Graph *g, const Group *gr)
{
    int stored = 0;

    for (int i = 0; i < gr->n_step; i++)
        stored += gr->step[i].op != R_NONE && gr->step[i].tensor;
    if (!stored)
        return gr;
    Group *plain = arena_new_of(g->arena, Group);
    *plain = *gr;
    plain->step = arena_array(g->arena, Step, gr->n_step + stored);
    memcpy(plain->step, gr->step, sizeof(Step) * (size_t)gr->n_step);
    for (int i = 0; i < gr->n_step; i++) {
        Step *s = &plain->step[i];
        if (s->op == R_NONE || !s->tensor)
            continue;
        Step *store = &plain->step[plain->n_step++];
        *store = *s;
        store->op = R_NONE;
        store->over_cols = false;
        store->value = expr_local(g, i, s->type);
        s->tensor = NULL;
    }
    return plain;
}

bool is_col_step(const Step *s)
{
    return s->op != R_NONE || s->over_cols;
}

typedef struct Deps {
    const Group *group;
    Schedule *plan;
    bool col;
    int at;
} Deps;

static void add_dep(const Expr *e, void *ctx)
{
    Deps *d = ctx;

    if (e->kind != E_LOCAL)
        return;
    const Step *s = &d->group->step[e->local];
    int at = d->plan->at[e->local];
    d->plan->uses[e->local]++;
    /* a row's value is there after its pass or phase */
    if (d->col && !(s->op == R_NONE && s->over_cols))
        at++;
    if (at > d->at)
        d->at = at;
}

typedef struct Last {
    Schedule *plan;
    int at;
} Last;

static void add_last(const Expr *e, void *ctx)
{
    Last *l = ctx;

    if (e->kind == E_LOCAL && l->plan->last[e->local] < l->at)
        l->plan->last[e->local] = l->at;
}

void schedule_make(const Group *gr, Schedule *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < gr->n_step; i++) {
        const Step *t = &gr->step[i];
        Deps d = {gr, s, is_col_step(t), is_col_step(t) ? 0 : -1};
        expr_visit(t->value, add_dep, &d);
        s->at[i] = s->last[i] = d.at;
        if (d.col && d.at + 1 > s->passes)
            s->passes = d.at + 1;
    }
    for (int i = 0; i < gr->n_step; i++) {
        Last l = {s, s->at[i]};
        expr_visit(gr->step[i].value, add_last, &l);
    }
}

typedef struct Need {
    const Group *group;
    const Schedule *plan;
    int pass;
    bool *need;
} Need;

static void add_need(const Expr *e, void *ctx)
{
    Need *n = ctx;

    if (e->kind != E_LOCAL)
        return;
    const Step *s = &n->group->step[e->local];
    if (s->op != R_NONE || !s->over_cols || n->need[e->local])
        return;
    if (n->plan->kept[e->local] && n->plan->at[e->local] < n->pass)
        return;
    n->need[e->local] = true;
    expr_visit(s->value, add_need, n);
}

int schedule_pass(const Group *gr, const Schedule *s, int q, int *step)
{
    bool need[MAX_STEPS] = {false};
    Need ctx = {gr, s, q, need};
    int n = 0;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *t = &gr->step[i];
        if (!is_col_step(t) || s->at[i] != q)
            continue;
        if (t->op == R_NONE && !t->tensor && !s->kept[i])
            continue;
        need[i] = true;
        expr_visit(t->value, add_need, &ctx);
    }
    for (int i = 0; i < gr->n_step; i++)
        if (need[i])
            step[n++] = i;
    return n;
}

int schedule_phase(const Group *gr, const Schedule *s, int q, int *step)
{
    int n = 0;

    for (int i = 0; i < gr->n_step; i++)
        if (!is_col_step(&gr->step[i]) && s->at[i] == q)
            step[n++] = i;
    return n;
}

/* ---- variables --------------------------------------------------------- */

const Idx *main_store(Graph *g, const Group *gr)
{
    const Step *best = NULL;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->tensor && (!best || tensor_elems(s->tensor) >
                                       tensor_elems(best->tensor)))
            best = s;
    }
    return best ? tensor_offset(g, best->tensor, best->store) : NULL;
}

typedef struct Largest {
    const Expr *read;
    const Group *group;
    bool with_cols;
} Largest;

static bool uses_cols(const Group *gr, const Expr *read)
{
    for (int i = 0; i < gr->n_cols; i++)
        if (read_uses(read, gr->cols[i]))
            return true;
    return false;
}

static void take_larger(const Expr *e, void *ctx)
{
    Largest *l = ctx;

    if (e->kind != E_READ)
        return;
    bool cols = uses_cols(l->group, e);
    if (!l->read || (cols && !l->with_cols) ||
        (cols == l->with_cols &&
         tensor_elems(e->tensor) > tensor_elems(l->read->tensor))) {
        l->read = e;
        l->with_cols = cols;
    }
}

const Expr *main_read(const Group *gr)
{
    Largest l = {NULL, gr, false};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, take_larger, &l);
    return l.read;
}

static int64_t stride_in(const Idx *offset, const Var *v)
{
    int64_t c = idx_coef(offset, v);

    if (c < 0)
        c = -c;
    if (c)
        return c;
    return idx_uses(offset, v) ? 1 : INT64_MAX;
}

void order_vars(Graph *g, const Var **v, int n, const Idx *offset)
{
    (void)g;
    for (int i = 1; offset && i < n; i++)
        for (int j = i; j > 0; j--) {
            if (stride_in(offset, v[j - 1]) >= stride_in(offset, v[j]))
                break;
            const Var *t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}

static const Tiled *tiled(const Body *b, const Var *v)
{
    for (int i = 0; i < b->n_tiled; i++)
        if (b->tiled[i].v == v)
            return &b->tiled[i];
    return NULL;
}

/* Threads along v, as C. */
static const char *count_of(Body *b, const Var *v)
{
    const Tiled *t = tiled(b, v);

    return t ? t->count : kernel_extent(b->graph, b->kernel, v);
}

/* The product of v[i + 1] .. v[n - 1], in units of vec: "H * W / VEC". */
static const char *product(Body *b, const Var **v, int i, int n, int vec)
{
    Arena *a = b->graph->arena;
    const char *text = NULL, *wide;
    double all = 1;

    for (int j = i + 1; j < n; j++)
        all *= (double)v[j]->extent;
    /* extents are ints, their product may be none */
    wide = all > INT_MAX ? "(long long)" : "";
    for (int j = i + 1; j < n; j++)
        if (v[j]->extent > 1)
            text = text ? arena_printf(a, "%s * %s", text, count_of(b, v[j]))
                        : arena_printf(a, "%s%s", wide, count_of(b, v[j]));
    if (!text)
        text = wide;
    return vec > 1 ? arena_printf(a, "%s / VEC", text) : text;
}

/* v[i] of the mixed-radix number `point`: "point / (H * W) % C". */
static const char *component(Body *b, const Var **v, int i, int n,
                             const char *point, int vec)
{
    Arena *a = b->graph->arena;
    bool slowest = true, fastest = true;
    const Tiled *t = tiled(b, v[i]);
    const char *text = point;

    for (int j = 0; j < i; j++)
        slowest &= v[j]->extent == 1;
    for (int j = i + 1; j < n; j++)
        fastest &= v[j]->extent == 1;
    if (!fastest) {
        const char *below = product(b, v, i, n, vec);
        text = arena_printf(a, strpbrk(below, " ") ? "%s / (%s)" : "%s / %s",
                            text, below);
    }
    if (!slowest)
        text = arena_printf(
            a, !t && fastest && vec > 1 ? "%s %% (%s / VEC)" : "%s %% %s", text,
            count_of(b, v[i]));
    if (t)
        text = arena_printf(a, "%s * %s", text, t->tile);
    return fastest && vec > 1 ? arena_printf(a, "%s * VEC", text) : text;
}

void decompose(Body *b, Tree *out, const Var **v, int n, const char *point,
               int vec)
{
    for (int i = 0; i < n; i++) {
        if (v[i]->extent == 1) {
            cprint_name(&b->print, v[i], "0");
            continue;
        }
        const char *value = component(b, v, i, n, point, vec);
        const char *id = cprint_var(&b->print, v[i]);
        if (strcmp(value, id))
            PUT(out, "const @type @id = @value;\n",
                FILL("type", v[i]->extent > INT_MAX ? "long long" : "int"),
                FILL("id", id), FILL("value", value));
    }
}

/* ---- what it costs ----------------------------------------------------- */

static void add_special(const Expr *e, void *ctx)
{
    double *n = ctx;

    if (e->kind == E_UNARY && e->fn >= F_SQRT && e->fn <= F_LGAMMA)
        *n += 1;
    else if (e->kind == E_UNARY && e->fn >= F_NORMCDF)
        *n += e->fn == F_LOGISTIC ? 2 : 1;
    else if (e->kind == E_BINARY &&
             (e->fn == F_POW || e->fn == F_ATAN2 || e->fn == F_FMOD ||
              (e->fn == F_DIV && type_is_float(e->type) &&
               e->arg[1]->kind != E_CONST)))
        *n += 1;
}

/* Bytes of a tensor that every SM soon has in its L1 in full. */
enum { IN_L1 = 32 << 10 };

/* A load or store of all points: what is the same however they are spread. */
typedef struct Access {
    const Expr *read; /* NULL: a store */
    const Tensor *tensor;
    const Idx *offset;
    bool over_cols;
    double share; /* of the elements that somebody needs */
    int guards;
} Access;

typedef struct Known {
    Spread spread;
    Traffic traffic;
} Known;

struct Census {
    Graph *graph;
    const Group *group;
    double rows, cols, flops, special;
    Access *access; int n, cap;
    Known *known; int n_known, cap_known; /* asked for before */
};

/* How many neighbouring elements the nest covers from `fast` on. */
static double contiguous_run(const Group *gr, const Idx *offset,
                             const Var *fast)
{
    int64_t run = llabs(idx_coef(offset, fast)) * fast->extent;
    bool more = run > 0; /* 0: `fast` occurs in a floor or a gather only */

    while (more) {
        more = false;
        for (int i = 0; i < gr->n_rows + gr->n_cols; i++) {
            const Var *v = i < gr->n_rows ? gr->rows[i]
                                          : gr->cols[i - gr->n_rows];
            if (v->extent > 1 && idx_coef(offset, v) == run) {
                run *= v->extent;
                more = true;
            }
        }
    }
    return (double)run;
}

/* By how much neighbouring threads' accesses waste 32-byte sectors. */
static double waste(const Census *c, const Spread *s, const Access *x)
{
    double bytes = type_bytes(x->tensor->type), most = 32 / bytes;
    const Var *fast = x->over_cols && s->col ? s->col : s->row;

    if (!fast)
        return most; /* one thread's, alone */
    if (!idx_uses(x->offset, fast))
        return 1;
    double step = (double)llabs(idx_coef(x->offset, fast));
    double run = contiguous_run(c->group, x->offset, fast);
    if (fast == s->row)
        run = fmin(run, s->rows_warp);
    if (step == 0)
        step = 1;
    return fmin(most, fmax(step, most / fmax(run, 1)));
}

/* n elements in all, of which a share goes beyond the L1. */
static void add_access(const Census *c, const Spread *s, const Access *x,
                       double n, double share, double ops, Traffic *t)
{
    const Var *fast = x->over_cols && s->col ? s->col : s->row;
    double bytes = n * share * type_bytes(x->tensor->type);

    if (fast && !idx_uses(x->offset, fast))
        bytes /= 32; /* one request serves the warp */
    t->bytes += bytes;
    t->scatter += bytes * waste(c, s, x);
    t->overhead += 2 * n * ops;
}

static void count_read(const Census *c, const Spread *s, const Access *x,
                       Traffic *t)
{
    const Expr *e = x->read;
    int step;
    ReadKind kind = read_kind(c->graph, e, s->along, s->vec, &step);
    double ops = 3 + 2 * x->guards;

    if (kind == READ_BROADCAST)
        ops /= s->vec;
    else if (kind == READ_VECTOR)
        ops /= step;
    double count = c->rows * (x->over_cols ? c->cols : 1), share = 1;
    if (x->over_cols && s->window && read_uses(e, s->window)) {
        count *= s->taken;
        share = 0.6; /* the L1 has part of what neighbours read */
    } else if (x->over_cols && s->window) {
        count /= s->tile; /* one value serves the tile */
    }
    count *= x->share;
    if (tensor_elems(x->tensor) * type_bytes(x->tensor->type) <= IN_L1)
        share = 0.1;
    add_access(c, s, x, count, share, ops, t);
}

static void take_step(Census *c, const Step *s)
{
    double n = c->rows * (is_col_step(s) ? c->cols : 1), special = 0;

    expr_visit(s->value, add_special, &special);
    c->flops += n * (expr_ops(s->value) + (s->op != R_NONE));
    c->special += n * special;
    if (s->tensor)
        VEC_PUSH(c->graph->arena, c->access, c->n, c->cap) = (Access){
            .tensor = s->tensor,
            .offset = tensor_offset(c->graph, s->tensor, s->store),
            .over_cols = s->over_cols && s->op == R_NONE};
}

static void take_reads(Census *c)
{
    const Group *gr = c->group;
    const Expr *value[MAX_STEPS];
    int all[MAX_STEPS];
    Reads r;

    for (int i = 0; i < gr->n_step; i++) {
        all[i] = i;
        value[i] = gr->step[i].value;
    }
    bool chooses = values_choose(value, gr->n_step);
    reads_of(c->graph, gr, all, gr->n_step, &r);
    for (int i = 0; i < r.n; i++) {
        const Expr *e = r.read[i];
        VEC_PUSH(c->graph->arena, c->access, c->n, c->cap) = (Access){
            .read = e,
            .tensor = e->tensor,
            .offset = tensor_offset(c->graph, e->tensor, e->at),
            .over_cols = uses_cols(gr, e),
            .share = chooses ? needed_share(needed_read(c->graph, value,
                                                        gr->n_step, e))
                             : 1,
            .guards = e->in.n};
    }
}

Census *census_take(Graph *g, const Group *gr)
{
    Census *c = arena_new_of(g->arena, Census);

    c->graph = g;
    c->group = gr;
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
           a->tile == b->tile;
}

static void add_up(const Census *c, const Spread *s, Traffic *t)
{
    *t = (Traffic){.flops = c->flops, .special = c->special};
    for (int i = 0; i < c->n; i++) {
        const Access *x = &c->access[i];
        if (x->read)
            count_read(c, s, x, t);
        else
            add_access(c, s, x, c->rows * (x->over_cols ? c->cols : 1), 1,
                       3.0 / s->vec, t);
    }
    t->scatter = t->bytes > 0 ? t->scatter / t->bytes : 1;
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
