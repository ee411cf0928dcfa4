/* reduce.c - rows with reductions and what is around them, in one pass over
 * memory: softmax, norms, row sums, argmax, global pooling, matrix-vector
 * products. Here: which variants there are and what they cost. */
#include "family/reduce/reduce.h"

#include <math.h>
#include <string.h>

enum { MAX_VARIANTS = 192, MOST_KEPT = 64 };

static const Var **copy_vars(Graph *g, const Var **v, int n)
{
    const Var **w = arena_array(g->arena, const Var *, n + 1);

    if (n)
        memcpy(w, v, sizeof *w * (size_t)n);
    return w;
}

/* The fastest variable that is a loop at all. */
const Var *reduce_fastest(const Var **v, int n)
{
    return n && v[n - 1]->extent > 1 ? v[n - 1] : NULL;
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

/* Reads of columns of which rows that are stored side by side have vectors. */
static int count_row_vectors(const ReduceForm *f)
{
    const Group *gr = f->plain;
    const Var *row = reduce_fastest(f->stored_rows, gr->n_rows);
    int all[MAX_STEPS] = {0}, n = 0, vectors = 0;
    Reads r;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].over_cols)
            all[n++] = i;
    reads_of(f->graph, gr, all, n, &r);
    for (int i = 0; i < r.n && row; i++)
        vectors += read_uses(r.read[i], row) && over_cols(gr, r.read[i]);
    return vectors;
}

static const void *reduce_open(Graph *g, const Group *gr, const Options *o,
                               const char **why)
{
    if ((*why = refuse(gr)))
        return NULL;
    ReduceForm *f = arena_new_of(g->arena, ReduceForm);
    const Group *merged = nest_merged(g, gr, 0);
    gr = functions_powers(g, merged);
    f->graph = g;
    f->powers = gr != merged;
    f->group = gr;
    f->plain = nest_plain(g, gr);
    f->options = o;
    order(f);
    schedule_make(f->plain, &f->plan);
    for (int values = 0; values < 2; values++)
        find_keep(f, values, &f->keep[values]);
    f->read = main_read(f->plain);
    f->row_vectors = count_row_vectors(f);
    f->census = census_take(g, f->plain, o->device);
    for (int i = 0; i < f->plain->n_step; i++)
        if (f->plain->step[i].over_cols)
            expr_visit(f->plain->step[i].value, count_divisions,
                       &f->quotients);
    f->bytes = model_group_bytes(g, gr, o->device, &f->in, NULL);
    reduce_find_range(f);
    return f;
}

/* Whether a copy of what e reads along the columns serves as e itself. */
static bool is_held(const ReduceForm *f, const Expr *e, int vec)
{
    const Var *col = reduce_fastest(f->cols, f->plain->n_cols);
    int step;

    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return false;
    return guard_truth(e->in) == ALWAYS &&
           (vec == 1 ||
            (read_kind(f->graph, e, col, vec, &step) == READ_VECTOR &&
             step == vec));
}

/* Sets *rest to what is behind the column in the offset, or compares; false if
 * vectors along col are none, or begin elsewhere than others. */
static bool same_rest(const ReduceForm *f, const Idx *offset, const Var *col,
                      const Idx **rest)
{
    const Idx *own =
        idx_sub(f->graph->pool, offset, idx_var(f->graph->pool, col));

    if (idx_coef(offset, col) != 1 || idx_uses(own, col) ||
        (*rest && *rest != own))
        return false;
    *rest = own;
    return true;
}

/* The same of a step: what it stores along the columns, and what it reads
 * there, which is held. */
static bool step_shifts(const ReduceForm *f, const Step *s, const Var *col,
                        int vec, const Idx **rest)
{
    const Step *all = f->plain->step;
    const int at = (int)(s - all);
    Reads r;

    reads_of(f->graph, f->plain, &at, 1, &r);
    for (int i = 0; i < r.n; i++)
        if (over_cols(f->plain, r.read[i]) &&
            (!has_read(&f->keep[0].reads, r.read[i]) ||
             vec * type_bytes(r.read[i]->tensor->type) > VECTOR_BYTES))
            return false;
    if (!s->tensor || !s->over_cols || s->op != R_NONE)
        return true;
    return !s->where.n && vec * type_bytes(s->tensor->type) <= VECTOR_BYTES &&
           same_rest(f, tensor_offset(f->graph, s->tensor, s->store), col,
                     rest);
}

/* e modulo vec, of small numbers; NULL: not of variables alone. */
static const Idx *modulo(IdxPool *p, const Idx *e, int vec)
{
    const Idx *small = idx_const(p, e->k % vec);

    for (int i = 0; i < e->n; i++) {
        if (e->term[i].atom->kind != ATOM_VAR || e->term[i].c < 0)
            return NULL;
        small = idx_add(p, small,
                        idx_scale(p, idx_atom(p, e->term[i].atom),
                                  e->term[i].c % vec));
    }
    return e->k < 0 ? NULL : idx_mod(p, small, vec);
}

/* RowReduce.shift of rows that begin inside vectors, all of them alike, if
 * nothing else is read or stored along the columns; or NULL. */
static const Idx *reduce_shift(const ReduceForm *f, int vec)
{
    const Group *gr = f->plain;
    const Var *col = reduce_fastest(f->cols, gr->n_cols);
    const Reads *kept = &f->keep[0].reads;
    const Idx *rest = NULL;

    if (!col || vec == 1 || col->extent != group_cols(gr))
        return NULL;
    for (int i = 0; i < kept->n; i++)
        if (!same_rest(f,
                       tensor_offset(f->graph, kept->read[i]->tensor,
                                     kept->read[i]->at),
                       col, &rest))
            return NULL;
    for (int i = 0; i < gr->n_step; i++)
        if (!step_shifts(f, &gr->step[i], col, vec, &rest))
            return NULL;
    if (!rest || idx_align(rest, vec) == vec)
        return NULL;
    return modulo(f->graph->pool, rest, vec);
}

int64_t reduce_held_bytes(const ReduceForm *f, int vec)
{
    const Reads *kept = &f->keep[0].reads;
    const bool shifts = reduce_shift(f, vec) != NULL;
    int64_t bytes = 0, cols = group_cols(f->plain);

    if (f->options->device->sm < 80)
        return 0;
    cols = shifts ? cols + vec : (cols + vec - 1) / vec * vec;
    for (int i = 0; i < kept->n; i++) {
        if (!is_held(f, kept->read[i], shifts ? 1 : vec))
            return 0;
        bytes += (cols * type_bytes(kept->read[i]->tensor->type) + 2 *
                  VECTOR_BYTES - 1) /
                 VECTOR_BYTES * VECTOR_BYTES;
    }
    return bytes;
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
        r->per_row = r->threads / r->share;
        break;
    }
    r->along = r->mode == MODE_COLUMNS ? reduce_fastest(r->rows, gr->n_rows)
                                       : reduce_fastest(r->cols, gr->n_cols);
    int64_t turns = (cols + r->per_row * step - 1) / (r->per_row * step);
    r->chunks = (int)(turns < INT32_MAX / 16 ? turns : INT32_MAX / 16);
    const bool whole = r->mode != MODE_SPLIT && r->parts == 1;
    r->held = v->knob[KNOB_HELD];
    r->part = 1;
    if (r->held) {
        memset(r->plan.kept, 0, sizeof r->plan.kept);
        r->kept = f->keep[0].reads;
        r->shift = reduce_shift(f, r->vec);
        return;
    }
    r->keep =
        whole && (try_keep(r, &f->keep[1]) || try_keep(r, &f->keep[0]));
    if (r->arrays == 0 && r->chunks == 1 && whole)
        r->keep = true;
    r->flat = r->keep && r->chunks == 1;
    reduce_plan_range(r, f);
    if (!r->keep) {
        memset(r->plan.kept, 0, sizeof r->plan.kept);
        r->kept.n = r->arrays = 0;
    }
}

/* Registers of a thread through a pass: what it keeps, adds up and reads, and
 * vectors of the row alone, which nvcc reads once. */
static int live(const RowReduce *r)
{
    enum { FRAME = 32 }; /* places, and what is on its way */
    const Group *gr = r->group;
    int all[MAX_STEPS], n = 0, vectors = 2;
    Reads reads;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->over_cols || s->op != R_NONE)
            all[n++] = i;
        else
            vectors += r->plan.at[i] < 0 && r->plan.last[i] >= 0;
    }
    reads_of(r->graph, gr, all, n, &reads);
    for (int i = 0; i < reads.n && r->mode == MODE_COLUMNS; i++)
        vectors += r->along && read_uses(reads.read[i], r->along) &&
                   !over_cols(gr, reads.read[i]);
    return FRAME + r->vec * (vectors + r->arrays * r->chunks);
}

int reduce_resident(const RowReduce *r)
{
    enum { REGISTERS = 1 << 16, THREADS = 1024, LARGE = 512, SMALL = 64 };

    /* nvcc would rather spill than not have an SM full of small blocks, or two
     * large ones */
    if (r->threads <= SMALL)
        return 8;
    return r->threads >= LARGE && live(r) > REGISTERS / THREADS;
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
    s->v[s->n++] = (Variant){.knob = {[KNOB_MODE] = mode,
                                      [KNOB_THREADS] = threads,
                                      [KNOB_VEC] = vec,
                                      [KNOB_SHARE] = share}};
}

/* Blocks of a strip of rows that are neighbours share their columns: as many
 * as give each SM one block, or some, or every fourth one. */
static void add_parts(Space *s, const Group *gr, const Device *d, int vec)
{
    const int64_t rows = group_rows(gr), cols = group_cols(gr);

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_ARGMAX)
            return;
    for (int threads = 128; threads <= 512; threads *= 2)
        for (int tx = 4; tx <= 32; tx *= 2) {
            int64_t strips = (rows / vec + tx - 1) / tx;
            if (tx > 4 && tx / 2 * vec >= rows) /* half would do */
                continue;
            for (int parts = 4; parts <= 512 && parts * strips <= 4 * d->sms;
                 parts *= 2) {
                if (cols < 2 * parts * (threads / tx) ||
                    (parts > 4 && 2 * 2 * parts * strips < d->sms))
                    continue;
                add(s, MODE_COLUMNS, threads, vec, tx);
                s->v[s->n - 1].knob[KNOB_PARTS] = parts;
            }
        }
}

/* Whether so many rows, of so many bytes side by side, are whole sectors. */
static bool makes_sectors(const ReduceForm *f, int64_t bytes, int side)
{
    const Var *row = reduce_fastest(f->rows, f->plain->n_rows);

    return side * bytes >= L2_SECTOR && row->extent % side == 0 &&
           group_rows(f->plain) > side;
}

/* A row's elements that lie side by side, in bytes, if they are whole vectors,
 * less than a sector, and what lies next is the next row's; else 0. */
static int64_t piece_bytes(const ReduceForm *f, int vec)
{
    const Group *gr = f->plain;
    const Var *col = reduce_fastest(f->cols, gr->n_cols);
    const Var *row = reduce_fastest(f->rows, gr->n_rows);

    if (!f->read || !col || !row || col->extent % vec)
        return 0;
    const Idx *at = tensor_offset(f->graph, f->read->tensor, f->read->at);
    int64_t bytes = type_bytes(f->read->tensor->type) * col->extent;
    if (idx_coef(at, col) != 1 || idx_coef(at, row) != col->extent ||
        bytes >= L2_SECTOR)
        return 0;
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_ARGMAX)
            return 0;
    return bytes;
}

/* Blocks of several rows that are neighbours, where a row has less than a
 * sector at a time: of a sector together, up to a line. */
static void add_beside(Space *s, const ReduceForm *f, int vec)
{
    int64_t bytes = piece_bytes(f, vec), cols = group_cols(f->plain);

    for (int side = 2; bytes && side <= WARP && side * bytes <= L2_LINE;
         side *= 2)
        for (int threads = 128; threads <= 1024; threads *= 2)
            if (makes_sectors(f, bytes, side) &&
                threads / side * vec < 2 * cols)
                add(s, MODE_BLOCK, threads, vec, side);
}

/* Rows in shared memory: those of which registers hold no two blocks' on an
 * SM, as numbers of 32 bits. */
static void add_held_rows(Space *s, const ReduceForm *f, int vec, int side)
{
    enum { SCRATCH = 1 << 10, FEWEST = 256 };
    const Device *d = f->options->device;
    const int64_t bytes = side * reduce_held_bytes(f, vec);

    if (bytes == 0 || bytes + SCRATCH > (int64_t)d->smem_block_kb * KB ||
        side * group_cols(f->plain) * f->keep[0].arrays <=
            d->regs_sm / (2 * 2))
        return;
    for (int threads = FEWEST; threads <= BLOCK_THREADS; threads *= 2) {
        if (s->n == MAX_VARIANTS)
            return;
        add(s, MODE_BLOCK, threads, vec, side);
        s->v[s->n - 1].knob[KNOB_HELD] = 1;
    }
}

/* One by one, or as many as make a sector. */
static void add_held(Space *s, const ReduceForm *f, int vec)
{
    int64_t bytes = reduce_shift(f, vec) ? 0 : piece_bytes(f, vec);

    add_held_rows(s, f, vec, 1);
    for (int side = 2; bytes && side * bytes <= L2_LINE; side *= 2)
        if (makes_sectors(f, bytes, side))
            add_held_rows(s, f, vec, side);
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
    Variant all[MAX_VARIANTS];
    Space s = {g, all, 0};
    int64_t n_rows = group_rows(gr), n_cols = group_cols(gr);
    const Var *col = reduce_fastest(f->cols, gr->n_cols);
    const Var *row = reduce_fastest(f->stored_rows, gr->n_rows);
    int widest =
        col ? widest_vector(g, gr, col, 8, loops(f->cols, gr->n_cols) == 1) : 1;

    for (int vec = widest; vec >= 1 && vec * 4 > widest; vec /= 2) {
        add_along_cols(&s, gr, vec);
        add_beside(&s, f, vec);
        int most =
            f->options->device->sms * 2 / (int)(n_rows < 4096 ? n_rows : 4096);
        for (int share = 4; splits(f) && share <= most && share <= 256;
             share *= 2)
            if (n_cols / share >= 1024)
                add(&s, MODE_SPLIT, 256, vec, share);
    }
    for (int vec = 8; vec >= 1; vec /= 2)
        if (vec <= widest || reduce_shift(f, vec))
            add_held(&s, f, vec);
    widest = row ? widest_vector(g, gr, row, 8, false) : 1;
    for (int vec = widest; row && vec >= 1 && vec * 4 > widest; vec /= 2)
        for (int threads = 64; threads <= 512; threads *= 2)
            for (int tx = 4; tx <= 32; tx *= 2)
                if (threads / tx < 2 * n_cols)
                    add(&s, MODE_COLUMNS, threads, vec, tx);
    if (row && splits(f) && s.n < MAX_VARIANTS / 2)
        add_parts(&s, gr, f->options->device, widest);
    *out = family_variants(g->arena, all, s.n);
    return s.n;
}

const char *reduce_text(const void *form, const Variant *v)
{
    Arena *a = ((const ReduceForm *)form)->graph->arena;
    const int *k = v->knob;
    const char *text = arena_printf(a, "%s threads=%d vec=%d share=%d",
                                    mode_names[k[KNOB_MODE]],
                                    k[KNOB_THREADS], k[KNOB_VEC],
                                    k[KNOB_SHARE]);

    if (k[KNOB_PARTS])
        text = arena_printf(a, "%s parts=%d", text, k[KNOB_PARTS]);
    return k[KNOB_HELD] ? arena_printf(a, "%s held=1", text) : text;
}

const Family family_reduce = {
    .name = "reduce",
    .version = 1,
    .open = reduce_open,
    .space = reduce_space,
    .cost = reduce_cost,
    .least = reduce_least,
    .build = reduce_build,
    .text = reduce_text,
};
