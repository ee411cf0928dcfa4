/* reduce.c - rows with reductions and what is around them, in one pass over
 * memory: softmax, norms, row sums, argmax, global pooling, matrix-vector
 * products. Here: which variants there are and what they cost. */
#include "family/reduce/reduce.h"

#include <math.h>
#include <string.h>

enum { MAX_VARIANTS = 192, MOST_KEPT = 64 };
/* Instructions' worth of starting a block. */
enum { BLOCK_OVERHEAD = 2000 };

static const Var **copy_vars(Graph *g, const Var **v, int n)
{
    const Var **w = arena_array(g->arena, const Var *, n + 1);

    if (n)
        memcpy(w, v, sizeof *w * (size_t)n);
    return w;
}

/* The fastest variable that is a loop at all. */
static const Var *fastest(const Var **v, int n)
{
    return n && v[n - 1]->extent > 1 ? v[n - 1] : NULL;
}

/* Extents of 1 go first: they are the slowest. */
static void ones_first(const Var **v, int n)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        if (v[i]->extent != 1)
            continue;
        const Var *t = v[i];
        memmove(v + at + 1, v + at, sizeof *v * (size_t)(i - at));
        v[at++] = t;
    }
}

static void order(ReduceForm *f)
{
    Graph *g = f->graph;
    const Group *gr = f->plain;
    const Expr *read = main_read(gr);
    const Idx *from = read ? tensor_offset(g, read->tensor, read->at) : NULL;
    const Idx *to = main_store(g, gr);

    f->rows = copy_vars(g, gr->rows, gr->n_rows);
    f->stored_rows = copy_vars(g, gr->rows, gr->n_rows);
    f->cols = copy_vars(g, gr->cols, gr->n_cols);
    order_vars(g, f->cols, gr->n_cols, from ? from : to);
    order_vars(g, f->rows, gr->n_rows, from ? from : to);
    order_vars(g, f->stored_rows, gr->n_rows, to ? to : from);
    ones_first(f->rows, gr->n_rows);
    ones_first(f->stored_rows, gr->n_rows);
    ones_first(f->cols, gr->n_cols);
}

static const char *refuse(const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op != R_NONE)
            return group_rows(gr) / 32 > INT32_MAX
                       ? "more rows than a grid has blocks for"
                       : NULL;
    return "no reduction";
}

/* ---- what several passes need ------------------------------------------ */

static bool has_read(const Reads *r, const Expr *e)
{
    for (int i = 0; i < r->n; i++)
        if (expr_equal(r->read[i], e))
            return true;
    return false;
}

static bool over_cols(const Group *gr, const Expr *read)
{
    for (int c = 0; c < gr->n_cols; c++)
        if (read_uses(read, gr->cols[c]))
            return true;
    return false;
}

/* Reads over cols that more than one pass needs. */
static void find_reads(const ReduceForm *f, const Schedule *plan, Reads *kept)
{
    Reads of[MAX_STEPS / 8];
    const Group *gr = f->plain;
    int passes = plan->passes < MAX_STEPS / 8 ? plan->passes : MAX_STEPS / 8;

    for (int q = 0; q < passes; q++) {
        int step[MAX_STEPS], n = schedule_pass(gr, plan, q, step);
        reads_of(f->graph, gr, step, n, &of[q]);
    }
    for (int q = 0; q < passes; q++)
        for (int i = 0; i < of[q].n; i++) {
            const Expr *e = of[q].read[i];
            bool again = false;
            for (int p = q + 1; p < passes; p++)
                again |= has_read(&of[p], e);
            if (again && over_cols(gr, e) && !has_read(kept, e) &&
                !read_by_local(e))
                VEC_PUSH(f->graph->arena, kept->read, kept->n, kept->cap) = e;
        }
}

static void find_keep(const ReduceForm *f, bool values, Keep *k)
{
    Schedule plan = f->plan;

    for (int i = 0; i < f->plain->n_step; i++) {
        const Step *s = &f->plain->step[i];
        k->value[i] = plan.kept[i] = values && s->op == R_NONE &&
                                     s->over_cols && plan.last[i] > plan.at[i];
        k->arrays += k->value[i];
    }
    find_reads(f, &plan, &k->reads);
    k->arrays += k->reads.n;
}

static void count_divisions(const Expr *e, void *ctx)
{
    double *n = ctx;

    *n += e->kind == E_BINARY && e->fn == F_DIV && type_is_float(e->type) &&
          e->arg[1]->kind == E_LOCAL;
}

static const void *reduce_open(Graph *g, const Group *gr, const Options *o,
                               const char **why)
{
    ReduceForm *f = arena_new_of(g->arena, ReduceForm);

    if ((*why = refuse(gr)))
        return NULL;
    f->graph = g;
    f->group = gr;
    f->plain = nest_plain(g, gr);
    f->options = o;
    order(f);
    schedule_make(f->plain, &f->plan);
    for (int values = 0; values < 2; values++)
        find_keep(f, values, &f->keep[values]);
    f->read = main_read(f->plain);
    f->census = census_take(g, f->plain);
    for (int i = 0; i < f->plain->n_step; i++)
        if (f->plain->step[i].over_cols)
            expr_visit(f->plain->step[i].value, count_divisions,
                       &f->quotients);
    f->bytes = model_group_bytes(g, gr, o->device, &f->in, NULL);
    return f;
}

/* ---- plan -------------------------------------------------------------- */

/* Values and reads that several passes need stay in registers, if there is
 * room. */
static bool try_keep(RowReduce *r, const Keep *k)
{
    int room = 65536 / r->threads - 40, elements = r->chunks * r->vec;

    if (room > 168)
        room = 168;
    memcpy(r->plan.kept, k->value, sizeof k->value);
    r->kept = k->reads;
    r->arrays = k->arrays;
    return r->arrays > 0 && elements <= MOST_KEPT &&
           r->arrays * elements <= room;
}

void reduce_plan(RowReduce *r, const ReduceForm *f, const Variant *v)
{
    const Group *gr = f->plain;

    memset(r, 0, sizeof *r);
    r->graph = f->graph;
    r->group = (Group *)gr;
    r->mode = v->knob[KNOB_MODE];
    r->threads = v->knob[KNOB_THREADS];
    r->vec = v->knob[KNOB_VEC];
    r->share = v->knob[KNOB_SHARE];
    r->parts = v->knob[KNOB_PARTS] > 1 ? v->knob[KNOB_PARTS] : 1;
    /* nvcc would rather spill than not have an SM full of small blocks */
    r->resident = r->threads <= 64 ? 8 : 0;
    r->n_rows = group_rows(gr);
    r->n_cols = group_cols(gr);
    r->rows = r->mode == MODE_COLUMNS ? f->stored_rows : f->rows;
    r->cols = f->cols;
    r->plan = f->plan;
    int64_t step = r->vec, cols = r->n_cols;
    switch (r->mode) {
    case MODE_LANES:
        r->per_row = r->share;
        break;
    case MODE_COLUMNS:
        r->per_row = r->threads / r->share;
        cols = (cols + r->parts - 1) / r->parts;
        step = 1;
        break;
    case MODE_SPLIT:
        cols = (cols + r->share - 1) / r->share;
        r->per_row = r->threads;
        break;
    default:
        r->per_row = r->threads;
        break;
    }
    r->along = r->mode == MODE_COLUMNS ? fastest(r->rows, gr->n_rows)
                                       : fastest(r->cols, gr->n_cols);
    int64_t turns = (cols + r->per_row * step - 1) / (r->per_row * step);
    r->chunks = (int)(turns < INT32_MAX / 16 ? turns : INT32_MAX / 16);
    const bool whole = r->mode != MODE_SPLIT && r->parts == 1;
    r->keep =
        whole && (try_keep(r, &f->keep[1]) || try_keep(r, &f->keep[0]));
    if (r->arrays == 0 && r->chunks == 1 && whole)
        r->keep = true;
    r->flat = r->keep && r->chunks == 1;
    if (!r->keep) {
        memset(r->plan.kept, 0, sizeof r->plan.kept);
        r->kept.n = r->arrays = 0;
    }
}

/* ---- space ------------------------------------------------------------- */

static const char *const mode_names[] = {"lanes", "block", "columns",
                                         "split"};

typedef struct Space {
    Graph *graph;
    Variant *v;
    int n;
} Space;

static void add(Space *s, int mode, int threads, int vec, int share)
{
    if (s->n == MAX_VARIANTS)
        return;
    Variant *v = &s->v[s->n++];
    v->knob[KNOB_MODE] = mode;
    v->knob[KNOB_THREADS] = threads;
    v->knob[KNOB_VEC] = vec;
    v->knob[KNOB_SHARE] = share;
    v->text = arena_printf(s->graph->arena, "%s threads=%d vec=%d share=%d",
                           mode_names[mode], threads, vec, share);
}

/* Blocks of a strip of rows that are neighbours share their columns: as many
 * as give each SM one block, or some. */
static void add_parts(Space *s, const Group *gr, const Device *d, int vec)
{
    const int64_t rows = group_rows(gr), cols = group_cols(gr);

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_ARGMAX)
            return;
    for (int threads = 128; threads <= 512; threads *= 2)
        for (int tx = 4; tx <= 32; tx *= 2) {
            int64_t strips = (rows / vec + tx - 1) / tx;
            for (int parts = 4; parts <= 512 && parts * strips <= 4 * d->sms;
                 parts *= 2) {
                if (cols < 4 * parts * (threads / tx) ||
                    (parts > 4 && parts * strips < d->sms))
                    continue;
                add(s, MODE_COLUMNS, threads, vec, tx);
                Variant *v = &s->v[s->n - 1];
                v->knob[KNOB_PARTS] = parts;
                v->text = arena_printf(s->graph->arena, "%s parts=%d", v->text,
                                       parts);
            }
        }
}

static void add_along_cols(Space *s, const Group *gr, int vec)
{
    int64_t rows = group_rows(gr), cols = group_cols(gr);

    for (int lanes = 4; lanes <= 32; lanes *= 2) {
        if (lanes < 32 && (rows % (32 / lanes) || cols > 32 * lanes * vec))
            continue;
        if (lanes > 4 && (int64_t)lanes * vec >= 4 * cols)
            continue;
        for (int threads = 32; threads <= 256; threads *= 2)
            if (threads == 32 || rows * lanes >= threads)
                add(s, MODE_LANES, threads, vec, lanes);
    }
    for (int threads = 64; threads <= 1024; threads *= 2)
        if ((int64_t)threads * vec < 2 * cols)
            add(s, MODE_BLOCK, threads, vec, 1);
}

/* One pass whose only results are row values. */
static bool splits(const ReduceForm *f)
{
    const Group *gr = f->plain;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].over_cols && gr->step[i].op == R_NONE &&
            gr->step[i].tensor)
            return false;
    return f->plan.passes == 1 && gr->when == WHEN_RUN;
}

static int loops(const Var **v, int n)
{
    int k = 0;

    for (int i = 0; i < n; i++)
        k += v[i]->extent > 1;
    return k;
}

static int reduce_space(const void *form, Variant **out)
{
    const ReduceForm *f = form;
    Graph *g = f->graph;
    const Group *gr = f->plain;
    Space s = {g, arena_array(g->arena, Variant, MAX_VARIANTS), 0};
    int64_t n_rows = group_rows(gr), n_cols = group_cols(gr);
    const Var *col = fastest(f->cols, gr->n_cols);
    const Var *row = fastest(f->stored_rows, gr->n_rows);
    int widest =
        col ? widest_vector(g, gr, col, 8, loops(f->cols, gr->n_cols) == 1) : 1;

    for (int vec = widest; vec >= 1 && vec * 4 > widest; vec /= 2) {
        add_along_cols(&s, gr, vec);
        int most =
            f->options->device->sms * 2 / (int)(n_rows < 4096 ? n_rows : 4096);
        for (int share = 4; splits(f) && share <= most && share <= 256;
             share *= 2)
            if (n_cols / share >= 1024)
                add(&s, MODE_SPLIT, 256, vec, share);
    }
    widest = row ? widest_vector(g, gr, row, 8, false) : 1;
    for (int vec = widest; row && vec >= 1 && vec * 4 > widest; vec /= 2)
        for (int threads = 64; threads <= 512; threads *= 2)
            for (int tx = 4; tx <= 32; tx *= 2)
                if (threads / tx < 2 * n_cols)
                    add(&s, MODE_COLUMNS, threads, vec, tx);
    if (row && splits(f) && s.n < MAX_VARIANTS / 2)
        add_parts(&s, gr, f->options->device, widest);
    *out = s.v;
    return s.n;
}

/* ---- cost -------------------------------------------------------------- */

static double block_count(const RowReduce *r)
{
    switch (r->mode) {
    case MODE_LANES:
        return ceil((double)r->n_rows * r->share / r->threads);
    case MODE_COLUMNS:
        return ceil((double)r->n_rows / r->vec / r->share) * r->parts;
    case MODE_SPLIT:
        return (double)r->n_rows * r->share;
    default:
        return (double)r->n_rows;
    }
}

/* Waits for memory, one after the other, of one thread. */
static double serial_loads(const RowReduce *r)
{
    double turns = r->chunks > 4 ? r->chunks / 4.0 : 1;

    if (r->mode == MODE_COLUMNS && r->chunks > 4) /* four, then one by one */
        turns = 1.4 * (r->chunks / 4 + r->chunks % 4);
    if (r->keep)
        return 1 + (r->chunks > 16 ? r->chunks / 16.0 : 0);
    return turns + (r->plan.passes - 1) * turns * 0.4;
}

/* What a thread does besides the nest's own operations: finding its row and
 * columns, and combining results with others. */
static double thread_overhead(const RowReduce *r)
{
    double turn = 3 + (r->group->n_cols > 1 ? 8 : 0), rounds = 1;

    for (int n = r->per_row; r->mode != MODE_COLUMNS && n > 1; n /= 2)
        rounds += r->mode == MODE_LANES ? 3 : 5;
    if (r->mode == MODE_COLUMNS)
        rounds = 6 * r->vec;
    return 16 + 6 * r->group->n_rows +
           r->plan.passes * (turn * r->chunks + rounds);
}

bool reduce_many_quotients(const RowReduce *r)
{
    return r->mode != MODE_COLUMNS && (r->chunks > 1 || r->vec > 1);
}

/* Divisions by a value of the row are products (body_divisors). */
static void cheap_divisions(const RowReduce *r, double quotients, Traffic *t)
{
    enum { DIVISION = 8, PRODUCTS = 2 };
    double n = reduce_many_quotients(r) ? quotients : 0;

    t->flops -= (DIVISION - PRODUCTS) * n * (double)r->n_rows *
                (double)r->n_cols;
    t->special -= n * (double)r->n_rows * (double)r->n_cols;
}

void reduce_traffic(const RowReduce *r, const ReduceForm *f, Traffic *t)
{
    bool columns = r->mode == MODE_COLUMNS;
    const Var *row = fastest(r->rows, r->group->n_rows);
    Spread s = {.row = columns || r->mode == MODE_LANES ? row : NULL,
                .col = columns ? NULL : fastest(r->cols, r->group->n_cols),
                .along = r->along,
                .vec = r->vec,
                .rows_warp = columns ? r->share * r->vec
                                     : 32 / r->per_row};

    census_traffic(f->census, &s, t);
    cheap_divisions(r, f->quotients, t);
    t->overhead += 2 * block_count(r) *
                   (r->threads * thread_overhead(r) + BLOCK_OVERHEAD);
}

/* Bytes that come from HBM once more for each pass that reads the columns
 * again: all, if those of the rows that are under way at a time do not stay in
 * the L2. */
static double read_again(const RowReduce *r, const Device *d, double in)
{
    double blocks = block_count(r);
    double under_way = fmin(blocks, (double)d->sms * d->threads_sm /
                                        r->threads);

    if (r->keep || r->plan.passes < 2 ||
        !model_too_large(d, in * under_way / blocks))
        return 0;
    return in * (r->plan.passes - 1);
}

/* What runs of less than a line cost of the memory's bandwidth, as a factor. */
static double narrow_runs(const RowReduce *r, const Expr *read)
{
    enum { LINE = 128, BETWEEN = 14 }; /* bytes' worth of going on to another */

    if (r->mode != MODE_COLUMNS || !read)
        return 1;
    double run = (double)r->share * r->vec * type_bytes(read->tensor->type);
    return run < LINE ? 1 + BETWEEN / run - (double)BETWEEN / LINE : 1;
}

static void reduce_cost(const void *form, const Variant *v, Cost *c)
{
    const ReduceForm *f = form;
    const Device *d = f->options->device;
    RowReduce r;
    Traffic t;

    reduce_plan(&r, f, v);
    reduce_traffic(&r, f, &t);
    double again = r.keep ? 1 : r.plan.passes > 0 ? r.plan.passes : 1;
    double blocks = block_count(&r);
    if (blocks > INT32_MAX) {
        *c = (Cost){.us = INFINITY, .why = "more blocks than a grid has"};
        return;
    }
    double idle = (double)r.chunks * r.per_row *
                  (r.mode == MODE_COLUMNS ? 1 : r.vec) /
                  ((double)r.n_cols /
                   (r.mode == MODE_SPLIT ? r.share : r.parts));
    double smem = 0;
    if (r.mode == MODE_COLUMNS && r.per_row > 1)
        smem = 16.0 * blocks * r.threads * r.vec * r.plan.passes;
    double combine = r.mode == MODE_LANES     ? 0.05
                     : r.mode == MODE_SPLIT   ? 1.5
                     : r.parts > 1 ? 1.6 + 0.006 * r.per_row +
                                         0.05 * r.parts / r.per_row
                     : r.mode == MODE_COLUMNS ? 0.1 + 0.006 * r.per_row
                                              : 0.1 + r.threads / 4096.0;
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = t.flops * fmax(1, idle) + t.overhead,
        .efficiency = 0.7,
        .special = t.special * fmax(1, idle),
        .hbm_bytes = (f->bytes + read_again(&r, d, f->in)) *
                     narrow_runs(&r, f->read),
        .l2_bytes = t.bytes * (1 + (again - 1) * 0.7),
        .scatter = t.scatter,
        .smem_bytes = smem,
        .blocks = blocks,
        .threads = r.threads,
        .regs = 32 + 2 * r.vec + r.arrays * r.chunks * r.vec,
        .block_ops = t.flops / blocks,
        .block_bytes = t.bytes / blocks,
        .fill_us = combine * fmax(1, r.plan.passes),
        .serial_steps = serial_loads(&r),
    };
    model_cost(d, &w, c);
}

const Family family_reduce = {
    .name = "reduce",
    .version = 1,
    .open = reduce_open,
    .space = reduce_space,
    .cost = reduce_cost,
    .build = reduce_build,
};
