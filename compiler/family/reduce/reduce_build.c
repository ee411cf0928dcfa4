/* reduce_build.c - the code of family reduce. */
#include "family/reduce/reduce.h"

#include <limits.h>
#include <string.h>

static const char *text(RowReduce *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static const char *text(RowReduce *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    const char *s = arena_vprintf(r->graph->arena, fmt, ap);
    va_end(ap);
    return s;
}

/* A phase of the kernel; takes the text. */
static void phase(RowReduce *r, const char *label, Buf *out)
{
    if (out->len)
        kernel_phase(r->graph, r->kernel, label, out);
    buf_free(out);
}

/* How many distinct values the row number takes: rows, or groups of VEC. */
static int64_t row_points(const RowReduce *r)
{
    return r->mode == MODE_COLUMNS ? r->n_rows / r->vec : r->n_rows;
}

/* ---- loops over columns ------------------------------------------------ */

/* The number of columns as an enumerator: the only variable's extent, or COLS.
 */
static const char *cols_size(RowReduce *r)
{
    const Var *only = NULL;
    int loops = 0;

    for (int i = 0; i < r->group->n_cols; i++)
        if (r->cols[i]->extent > 1) {
            loops++;
            only = r->cols[i];
        }
    if (loops == 1)
        return kernel_extent(r->graph, r->kernel, only);
    return kernel_constant(r->graph, r->kernel, "COLS", r->n_cols, NULL);
}

/* Names the column variables inside a loop; returns the linear column. */
static const char *name_cols(RowReduce *r, Buf *in)
{
    Body *b = &r->body;
    const Var *only = NULL;
    int loops = 0;

    if (r->flat && r->col)
        return r->col;

    for (int i = 0; i < r->group->n_cols; i++) {
        if (r->cols[i]->extent == 1) {
            cprint_name(&b->print, r->cols[i], "0");
            continue;
        }
        loops++;
        only = r->cols[i];
    }
    const char *id = loops == 1 ? cprint_var(&b->print, only)
                                : cprint_fresh(&b->print, "col");
    if (loops > 1)
        decompose(b, in, r->cols, r->group->n_cols, id, 1);
    if (r->mode != MODE_COLUMNS && r->vec > 1)
        for (int i = b->print.n_name - 1; i >= 0; i--)
            if (b->print.name[i].var == r->along) {
                b->base = b->print.name[i].text;
                break;
            }
    if (b->base && r->mode != MODE_COLUMNS && r->n_cols % r->vec)
        b->lane_if = text(r, "%s + %s < %s", b->base, b->lane, cols_size(r));
    return id;
}

/* What counts up to n, a block's turn beyond it included; and a cast to it. */
static const char *count_type(int64_t n)
{
    return n > INT_MAX / 2 ? "long long" : "int";
}

static const char *widened(int64_t n)
{
    return n > INT_MAX / 2 ? "(long long)" : "";
}

/* Whether the last turn has threads without columns. */
static bool has_tail(const RowReduce *r)
{
    bool columns = r->mode == MODE_COLUMNS;
    int64_t turn = (int64_t)r->per_row * (columns ? 1 : r->vec);

    return r->n_cols % turn != 0;
}

/* The first column of turn `chunk`; of the only one if that is NULL. */
static void put_column(RowReduce *r, Buf *out, const char *col,
                       const char *chunk)
{
    const char *per_turn = r->mode == MODE_COLUMNS ? "TY"
                           : r->mode == MODE_LANES ? "LANES"
                                                   : "THREADS";
    const char *me = r->mode == MODE_COLUMNS ? r->ty : r->thread;
    bool vector = r->mode != MODE_COLUMNS && r->vec > 1;

    buf_printf(out, "const %s %s = ", count_type(r->n_cols), col);
    if (!chunk)
        buf_puts(out, me);
    else
        buf_printf(out, vector ? "(%s * %s + %s)" : "%s * %s + %s", chunk,
                   per_turn, me);
    buf_puts(out, vector ? " * VEC;\n" : ";\n");
}

/* The columns of this thread, all CHUNKS turns written out. */
static void put_chunk_loop(RowReduce *r, Buf *out, const Buf *in,
                           const char *col)
{
    bool tail = has_tail(r);
    Buf body = {0};

    if (r->flat) { /* the column is named once, in the setup */
        if (tail)
            put_loop(out, "", text(r, "if (%s < %s)", col, cols_size(r)), in);
        else
            buf_puts(out, buf_text(in));
        return;
    }
    if (tail || text_mentions(buf_text(in), col))
        put_column(r, &body, col, r->chunk);
    if (tail)
        put_loop(&body, "", text(r, "if (%s < %s)", col, cols_size(r)), in);
    else
        buf_puts(&body, buf_text(in));
    put_loop(out, "#pragma unroll\n",
             text(r, "for (int %s = 0; %s < CHUNKS; ++%s)", r->chunk,
                  r->chunk, r->chunk), &body);
    buf_free(&body);
}

/* The columns of this thread, as an ordinary loop. */
static void put_plain_loop(RowReduce *r, Buf *out, const Buf *in,
                           const char *col)
{
    const char *start, *step, *end = cols_size(r);

    if (r->mode == MODE_COLUMNS) {
        start = r->ty;
        step = "TY";
    } else {
        start = r->vec > 1 ? text(r, "%s * VEC", r->thread) : r->thread;
        step = r->mode == MODE_LANES ? "LANES" : "THREADS";
        if (r->vec > 1)
            step = text(r, "%s * VEC", step);
    }
    if (r->mode == MODE_SPLIT) {
        start = text(r, "first + %s", start);
        end = "last";
    }
    put_loop(out, "#pragma unroll 4\n",
             text(r, "for (%s %s = %s; %s < %s; %s += %s)",
                  count_type(r->n_cols), col, start, col, end, col, step),
             in);
}

static void put_col_loop(RowReduce *r, Buf *out, const Buf *in,
                         const char *col)
{
    if (r->keep)
        put_chunk_loop(r, out, in, col);
    else
        put_plain_loop(r, out, in, col);
}

/* ---- setup: which row, which columns ----------------------------------- */

/* An identifier for the row number: the variable itself if there is one. */
static const char *row_id(RowReduce *r, bool direct)
{
    int loops = 0;
    const Var *only = NULL;

    for (int i = 0; i < r->group->n_rows; i++)
        if (r->rows[i]->extent > 1) {
            loops++;
            only = r->rows[i];
        }
    if (loops == 1 && direct)
        return cprint_var(&r->body.print, only);
    return cprint_fresh(&r->body.print, "row");
}

static void put_rows(RowReduce *r, Buf *out, const char *id)
{
    Body *b = &r->body;
    int vec = r->mode == MODE_COLUMNS ? r->vec : 1, loops = 0;

    for (int i = 0; i < r->group->n_rows; i++)
        loops += r->rows[i]->extent > 1;
    for (int i = 0; i < r->group->n_rows; i++)
        if (r->rows[i]->extent == 1)
            cprint_name(&b->print, r->rows[i], "0");
    if (loops > 1 || vec > 1)
        decompose(b, out, r->rows, r->group->n_rows, id, vec);
}

static void setup_lanes(RowReduce *r, Buf *out)
{
    int per_block = r->threads / r->share;
    bool one = r->n_rows == 1;

    kernel_constant(r->graph, r->kernel, "LANES", r->share, "of a row");
    kernel_constant(r->graph, r->kernel, "THREADS", r->threads, NULL);
    r->thread = cprint_fresh(&r->body.print, "lane_id");
    buf_printf(out, "const int %s = threadIdx.x %% LANES;\n", r->thread);
    if (one) {
        put_rows(r, out, "0");
        r->body.store_if = text(r, "%s == 0", r->thread);
        return;
    }
    const char *id = row_id(r, true);
    buf_printf(out, "const %s %s = %sblockIdx.x * (THREADS / LANES) + "
                    "threadIdx.x / LANES;\n", count_type(r->n_rows), id,
               widened(r->n_rows));
    if (r->n_rows % per_block) {
        kernel_constant(r->graph, r->kernel, "ROWS", r->n_rows, NULL);
        buf_printf(out, "if (%s >= ROWS)  // whole warps only\n    return;\n",
                   id);
    }
    put_rows(r, out, id);
}

static void setup_block(RowReduce *r, Buf *out)
{
    kernel_constant(r->graph, r->kernel, "THREADS", r->threads, NULL);
    kernel_constant(r->graph, r->kernel, "WARPS", r->threads / 32, NULL);
    r->thread = "threadIdx.x";
    if (r->n_rows == 1) {
        put_rows(r, out, "0");
        return;
    }
    const char *id = row_id(r, true);
    buf_printf(out, "const int %s = blockIdx.%c;\n", id,
               r->mode == MODE_SPLIT ? 'y' : 'x');
    put_rows(r, out, id);
}

static void setup_columns(RowReduce *r, Buf *out)
{
    Body *b = &r->body;
    int64_t points = row_points(r);
    const char *tx = cprint_fresh(&b->print, "tx");

    kernel_constant(r->graph, r->kernel, "TX", r->share,
                    "threads along the rows");
    kernel_constant(r->graph, r->kernel, "TY", r->per_row,
                    "threads that share a row");
    r->thread = tx;
    r->ty = cprint_fresh(&b->print, "ty");
    buf_printf(out, "const int %s = threadIdx.x %% TX;\n"
                    "const int %s = threadIdx.x / TX;\n", tx, r->ty);
    const char *id = row_id(r, r->vec == 1);
    if (points % r->share) {
        kernel_constant(r->graph, r->kernel, "POINTS", points,
                        r->vec > 1 ? "groups of VEC rows" : "rows");
        const char *at = text(r, "%sblockIdx.x * TX + %s", widened(r->n_rows),
                              tx);
        buf_printf(out, "const bool active = %s < POINTS;\n"
                        "const %s %s = active ? %s : POINTS - 1;\n", at,
                   count_type(r->n_rows), id, at);
        b->store_if = "active";
    } else {
        buf_printf(out, "const %s %s = %sblockIdx.x * TX + %s;\n",
                   count_type(r->n_rows), id, widened(r->n_rows), tx);
    }
    put_rows(r, out, id);
}

static void setup_split(RowReduce *r, Buf *out)
{
    int64_t part = (r->n_cols + r->share - 1) / r->share;

    part = (part + r->vec - 1) / r->vec * r->vec;
    kernel_constant(r->graph, r->kernel, "SPLITS", r->share, "blocks a row");
    kernel_constant(r->graph, r->kernel, "COLS", r->n_cols, NULL);
    kernel_constant(r->graph, r->kernel, "PART", part, "columns of a block");
    setup_block(r, out);
    const char *type = count_type(r->n_cols);
    buf_printf(out, "const %s first = %sblockIdx.x * PART;\n"
                    "const %s last = min(first + PART, (%s)COLS);\n",
               type, widened(r->n_cols), type, type);
}

/* With one turn a thread, its columns have their names from here on. */
static void put_flat_columns(RowReduce *r, Buf *out)
{
    Buf names = {0};

    if (!r->flat)
        return;
    const char *col = name_cols(r, &names);
    put_column(r, out, col, NULL);
    buf_puts(out, buf_text(&names));
    buf_free(&names);
    r->col = col;
}

static void put_setup(RowReduce *r)
{
    Buf out = {0};

    switch (r->mode) {
    case MODE_LANES:
        setup_lanes(r, &out);
        put_flat_columns(r, &out);
        phase(r, "setup: LANES lanes of a warp share a row", &out);
        break;
    case MODE_COLUMNS:
        setup_columns(r, &out);
        put_flat_columns(r, &out);
        phase(r, r->vec > 1
                     ? "setup: TY threads share VEC neighbouring rows"
                     : "setup: TY threads share a row", &out);
        break;
    case MODE_SPLIT:
        setup_split(r, &out);
        phase(r, "setup: SPLITS blocks share a row", &out);
        break;
    default:
        setup_block(r, &out);
        put_flat_columns(r, &out);
        phase(r, "setup: a block computes a row", &out);
        break;
    }
}

/* ---- values kept in registers ------------------------------------------ */

/* "float x_frag[CHUNKS][VEC];", and the text of one element. */
static const char *declare_kept(RowReduce *r, Buf *out, Type t,
                                const char *name, bool lanes)
{
    bool vector = lanes && r->vec > 1;

    buf_printf(out, "%s %s%s%s;\n", cprint_ctype(t), name,
               r->flat ? "" : "[CHUNKS]", vector ? "[VEC]" : "");
    if (r->flat)
        return vector ? text(r, "%s[%s]", name, r->body.lane) : name;
    return vector ? text(r, "%s[%s][%s]", name, r->chunk, r->body.lane)
                  : text(r, "%s[%s]", name, r->chunk);
}

static void load_kept(RowReduce *r, Buf *in, const Expr *e, const char *array)
{
    Body *b = &r->body;
    int step;
    ReadKind kind = read_kind(r->graph, e, b->along, b->vec, &step);
    const char *mine = r->flat ? array : text(r, "%s[%s]", array, r->chunk);
    Buf lane = {0};

    if (b->vec > 1 && kind == READ_VECTOR) {
        body_load(b, in, e, mine);
        return;
    }
    if (b->vec == 1 || kind == READ_BROADCAST) {
        const char *value = cprint_bind(&lane, &b->print, e, NULL);
        buf_printf(&lane, "%s = %s;\n", mine, value);
        body_if_needed(b, in, e, &lane);
        return;
    }
    CScope scope = cprint_open(&b->print);
    cprint_name(&b->print, b->along, text(r, "(%s + %s)", b->base, b->lane));
    const char *value = cprint_bind(&lane, &b->print, e, NULL);
    buf_printf(&lane, "%s[%s] = %s;\n", mine, b->lane, value);
    cprint_close(&b->print, scope);
    put_loop(in, "#pragma unroll\n",
             text(r, "for (int %s = 0; %s < VEC; ++%s)", b->lane, b->lane,
                  b->lane), &lane);
    buf_free(&lane);
}

static void put_kept_reads(RowReduce *r)
{
    Body *b = &r->body;
    const char **array = arena_array(r->graph->arena, const char *,
                                     2 * r->kept.n + 1);
    const char **element = array + r->kept.n;
    Buf out = {0}, in = {0}, head = {0};
    int step;

    if (!r->kept.n)
        return;
    for (int i = 0; i < r->kept.n; i++) {
        const Expr *e = r->kept.read[i];
        bool lanes = read_kind(r->graph, e, b->along, b->vec, &step) !=
                     READ_BROADCAST;
        array[i] = cprint_fresh(&b->print,
                                text(r, "%s_frag",
                                     cprint_tensor(&b->print, e->tensor)));
        element[i] = declare_kept(r, &out, e->type, array[i], lanes);
    }
    CScope scope = cprint_open(&b->print);
    const char *col = name_cols(r, &head);
    for (int i = 0; i < r->kept.n; i++)
        load_kept(r, &in, r->kept.read[i], array[i]);
    buf_puts(&head, buf_text(&in));
    put_col_loop(r, &out, &head, col);
    if (!r->flat || has_tail(r))
        cprint_close(&b->print, scope);
    for (int i = 0; i < r->kept.n; i++)
        body_hold(b, r->kept.read[i], element[i]);
    phase(r, "load: the row's columns into registers", &out);
    buf_free(&in);
    buf_free(&head);
}

/* Weights worth asking for before the wait for the grid: the first pass reads
 * them along the columns. */
static bool is_early(const RowReduce *r, const Expr *e)
{
    enum { LEAST = 64 << 10 }; /* bytes: fewer come as fast when needed */
    bool along = false, data = read_by_local(e);

    for (int i = 0; i < r->group->n_cols; i++)
        along |= read_uses(e, r->cols[i]);
    for (int i = 0; i < e->tensor->rank; i++)
        data |= idx_has_data(e->at[i]);
    return along && !data && tensor_is_constant(e->tensor) &&
           guard_truth(e->in) == ALWAYS &&
           tensor_elems(e->tensor) * type_bytes(e->tensor->type) >= LEAST;
}

static void put_early_reads(RowReduce *r)
{
    CPrint *p = &r->body.print;
    int step[MAX_STEPS], n = schedule_pass(r->group, &r->plan, 0, step);
    Buf out = {0}, in = {0}, head = {0};
    Reads reads;

    if (!r->kernel->waits || !r->plan.passes || r->flat)
        return;
    reads_of(r->graph, r->group, step, n, &reads);
    CScope scope = cprint_open(p);
    const char *col = name_cols(r, &head);
    for (int i = 0; i < reads.n; i++) {
        const Expr *e = reads.read[i];
        if (!is_early(r, e))
            continue;
        buf_printf(&in, "dcc_prefetch_l2(&%s[", cprint_tensor(p, e->tensor));
        cprint_at(&in, p, e->tensor, e->at, (Guard){0});
        buf_puts(&in, "]);\n");
    }
    if (in.len) {
        buf_puts(&head, buf_text(&in));
        put_col_loop(r, &out, &head, col);
    }
    cprint_close(p, scope);
    phase(r, "weights on their way to the L2, before all else", &out);
    buf_free(&in);
    buf_free(&head);
}

/* ---- passes ------------------------------------------------------------ */

static const char *reduction(const Step *s)
{
    return s->op == R_SUM    ? "sum"
           : s->op == R_PROD ? "prod"
           : s->op == R_MAX  ? "max"
           : s->op == R_MIN  ? "min"
                             : "argmax";
}

/* acc op= value, for accumulators and partial results of one type. */
static void put_apply(const RowReduce *r, Buf *out, int i, const char *acc,
                      const char *value)
{
    const Step *s = &r->group->step[i];
    if (s->op == R_ARGMAX)
        buf_printf(out, "%s = dcc_op_argmax::apply(%s, %s);\n", acc, acc,
                   value);
    else
        cprint_combine(out, &r->body.print, s, i, acc, value);
}

static const char *partial_type(RowReduce *r, const Step *s)
{
    return s->op == R_ARGMAX
               ? text(r, "dcc_arg<%s>", cprint_arg_ctype(s->value->type))
               : cprint_ctype(s->type);
}

static void combine_lanes(RowReduce *r, Buf *out, const Step *s,
                          const char *acc)
{
    buf_printf(out, "%s = dcc_warp_%s%s(%s);\n", acc, reduction(s),
               r->share < 32 ? "<LANES>" : "", acc);
}

static void combine_block(RowReduce *r, Buf *out, const Step *s,
                          const char *acc)
{
    const char *type = partial_type(r, s);
    const char *field = s->op == R_ARGMAX           ? "scratch_arg"
                        : type_is_float(s->type) ? "scratch"
                                                    : "scratch_int";
    const char *decl = text(r, "%s %s[WARPS]", type, field);
    bool known = false;

    for (int i = 0; i < r->kernel->n_smem; i++)
        known |= !strcmp(r->kernel->smem[i].decl, decl);
    if (!known) {
        kernel_smem(r->graph, r->kernel, 0, decl, "one partial result a warp");
        r->kernel->smem_bytes +=
            (size_t)r->threads / 32 * (s->op == R_ARGMAX ? 8 : 4);
    }
    buf_printf(out, "%s = dcc_block_%s<WARPS>(%s, smem.%s);\n", acc,
               reduction(s), acc, field);
}

/* Partial results of TY threads meet in shared memory; a thread a row adds
 * them up in the order of ty, and all take the result. */
static void combine_columns(RowReduce *r, Buf *out, int i, const char *acc)
{
    const Step *s = &r->group->step[i];
    CPrint *p = &r->body.print;
    bool vector = r->vec > 1;
    const char *name = arena_strndup(r->graph->arena, acc, strcspn(acc, "["));
    const char *rows = vector ? "VEC * TX" : "TX";
    const char *mine = vector ? text(r, "%s * TX + %s", r->body.lane,
                                     r->thread) : r->thread;
    const char *each = text(r, "for (int %s = 0; %s < VEC; ++%s)",
                            r->body.lane, r->body.lane, r->body.lane);
    Buf put = {0}, get = {0}, add = {0}, one = {0};

    if (r->per_row == 1)
        return;
    CScope scope = cprint_open(p);
    const char *t = cprint_fresh(p, "t"), *y = cprint_fresh(p, "y");
    const char *total = cprint_fresh(p, "total");
    kernel_smem(r->graph, r->kernel, 0,
                text(r, "%s %s[TY][%s]", partial_type(r, s), name, rows),
                "of each thread");
    r->kernel->smem_bytes +=
        (size_t)r->threads * (size_t)r->vec * (s->op == R_ARGMAX ? 8 : 4);
    buf_printf(&put, "smem.%s[%s][%s] = %s;\n", name, r->ty, mine, acc);
    buf_printf(&get, "%s = smem.%s[0][%s];\n", acc, name, mine);
    buf_printf(&one, "%s %s = smem.%s[0][%s];\n", partial_type(r, s), total,
               name, t);
    put_apply(r, &add, i, total, text(r, "smem.%s[%s][%s]", name, y, t));
    put_loop(&one, "#pragma unroll 8\n",
             text(r, "for (int %s = 1; %s < TY; ++%s)", y, y, y), &add);
    buf_printf(&one, "smem.%s[0][%s] = %s;\n", name, t, total);
    if (vector)
        put_loop(out, "#pragma unroll\n", each, &put);
    else
        buf_puts(out, buf_text(&put));
    buf_puts(out, "__syncthreads();\n");
    put_loop(out, "",
             text(r, "for (int %s = threadIdx.x; %s < %s; %s += TX * TY)", t,
                  t, rows, t), &one);
    buf_puts(out, "__syncthreads();\n");
    if (vector)
        put_loop(out, "#pragma unroll\n", each, &get);
    else
        buf_puts(out, buf_text(&get));
    cprint_close(p, scope);
    buf_free(&put);
    buf_free(&get);
    buf_free(&add);
    buf_free(&one);
}

static void put_pass(RowReduce *r, int q)
{
    Body *b = &r->body;
    int step[MAX_STEPS], n = schedule_pass(r->group, &r->plan, q, step);
    Buf out = {0}, in = {0}, what = {0};

    for (int i = 0; i < n; i++) {
        const Step *s = &r->group->step[step[i]];
        if (s->op != R_NONE) {
            body_accumulator(b, &out, step[i], b->along_rows);
            buf_printf(&what, "%s%s", what.len ? ", " : "", reduction(s));
        } else if (r->plan.kept[step[i]] && r->plan.at[step[i]] == q) {
            b->kept[step[i]] = declare_kept(
                r, &out, s->type, body_step_name(b, step[i]), true);
        }
    }
    const char *store_if = b->store_if;
    if (reduce_many_quotients(r))
        body_divisors(b, &out, step, n);
    if (r->mode != MODE_COLUMNS)
        b->store_if = NULL; /* every thread has columns of its own */
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *col = name_cols(r, &in);
    body_steps(b, &in, step, n, true);
    put_col_loop(r, &out, &in, col);
    if (!r->flat || has_tail(r)) { /* else all is in the kernel's own scope */
        b->n_held = held;
        cprint_close(&b->print, scope);
    }
    b->store_if = store_if;
    for (int i = 0; i < n; i++) {
        const Step *s = &r->group->step[step[i]];
        if (s->op == R_NONE)
            continue;
        if (r->mode == MODE_LANES)
            combine_lanes(r, &out, s, b->acc[step[i]]);
        else if (r->mode == MODE_COLUMNS)
            combine_columns(r, &out, step[i], b->acc[step[i]]);
        else
            combine_block(r, &out, s, b->acc[step[i]]);
    }
    phase(r, what.len ? text(r, "%s over the columns", buf_text(&what))
                      : "values over the columns", &out);
    buf_free(&in);
    buf_free(&what);
}

static const char *row_store_condition(RowReduce *r)
{
    switch (r->mode) {
    case MODE_LANES:
        return text(r, "%s == 0", r->thread);
    case MODE_COLUMNS:
        return r->per_row == 1  ? r->body.store_if
               : r->body.store_if ? text(r, "%s == 0 && active", r->ty)
                                  : text(r, "%s == 0", r->ty);
    default:
        return "threadIdx.x == 0";
    }
}

static void put_phase(RowReduce *r, int q)
{
    Body *b = &r->body;
    const char *store_if = b->store_if;
    int step[MAX_STEPS], n = schedule_phase(r->group, &r->plan, q, step);
    Buf out = {0};

    for (int i = 0; i < n && b->along_rows && r->vec > 1; i++) {
        int s = step[i];
        if (r->plan.last[s] <= r->plan.at[s])
            continue;
        const char *name = body_step_name(b, s);
        body_declare(b, &out, r->group->step[s].type, name, true);
        buf_puts(&out, ";\n");
        b->kept[s] = text(r, "%s[%s]", name, b->lane);
    }
    b->store_if = row_store_condition(r);
    body_sync(b, step, n, r->mode == MODE_LANES);
    body_steps(b, &out, step, n, b->along_rows);
    b->store_if = store_if;
    b->store_sync = NULL;
    phase(r, q < 0 ? "row values" : "results of the row", &out);
}

/* ---- split: the last block of a row finishes it ------------------------ */

static void put_partials(RowReduce *r)
{
    Body *b = &r->body;
    Kernel *k = r->kernel;
    const char *row = "0";
    Buf out = {0}, save = {0}, sum = {0};

    if (r->n_rows > 1)
        row = "blockIdx.y";
    kernel_smem(r->graph, k, 0, "bool last", "this block arrived last");
    k->smem_bytes += 4;
    for (int i = 0; i < r->group->n_step; i++) {
        const Step *s = &r->group->step[i];
        if (s->op == R_NONE)
            continue;
        const char *acc = b->acc[i], *type = partial_type(r, s);
        const char *part = cprint_fresh(&b->print,
                                        text(r, "part_%s", reduction(s)));
        buf_printf(&out, "%s *%s = reinterpret_cast<%s *>(%s)", type, part,
                   type, k->workspace ? text(r, "workspace + %zu",
                                             k->workspace) : "workspace");
        buf_printf(&out, r->n_rows > 1 ? " + %s * SPLITS;\n" : ";\n", row);
        k->workspace += ((size_t)r->n_rows * (size_t)r->share *
                         (s->op == R_ARGMAX ? 8 : 4) + 255) / 256 * 256;
        buf_printf(&save, "%s[blockIdx.x] = %s;\n", part, acc);
        buf_printf(&sum, s->op == R_ARGMAX ? "%s = {%s, DCC_NO_INDEX};\n"
                                           : "%s = %s;\n", acc,
                   cprint_identity(s->op, s->op == R_ARGMAX ? s->value->type
                                                            : s->type));
        buf_puts(&sum, "if (threadIdx.x < SPLITS)\n    ");
        if (s->op == R_ARGMAX)
            buf_printf(&sum, "%s = {__ldcg(&%s[threadIdx.x].value), "
                             "__ldcg(&%s[threadIdx.x].index)};\n",
                       acc, part, part);
        else
            buf_printf(&sum, "%s = __ldcg(&%s[threadIdx.x]);\n", acc, part);
        combine_block(r, &sum, s, acc);
    }
    buf_printf(&save, "__threadfence();\n"
                      "smem.last = atomicAdd(&counters[%s], 1u) "
                      "== SPLITS - 1;\n", row);
    put_loop(&out, "", "if (threadIdx.x == 0)", &save);
    buf_printf(&out, "__syncthreads();\nif (!smem.last)\n    return;\n"
                     "if (threadIdx.x == 0)\n    counters[%s] = 0;\n"
                     "__threadfence();\n%s", row, buf_text(&sum));
    k->coop_counters = true;
    k->n_counters = (int)r->n_rows;
    kernel_assert(r->graph, k, "SPLITS <= THREADS",
                  "a thread takes one partial result");
    phase(r, "the last block of the row to arrive combines all of them",
          &out);
    buf_free(&save);
    buf_free(&sum);
}

/* ---- build ------------------------------------------------------------- */

static void set_grid(RowReduce *r)
{
    Kernel *k = r->kernel;
    int64_t per_block = r->mode == MODE_LANES     ? r->threads / r->share
                        : r->mode == MODE_COLUMNS ? r->share
                                                  : 1;

    k->block = r->threads;
    k->min_blocks = r->resident;
    int blocks = (int)((row_points(r) + per_block - 1) / per_block);
    bool split = r->mode == MODE_SPLIT;
    k->grid[0] = split ? r->share : blocks;
    k->grid[1] = split ? blocks : 1;
    k->grid[2] = 1;
}

static void set_figures(RowReduce *r, const Options *o, const Variant *v)
{
    Kernel *k = r->kernel;
    Traffic t;
    Cost c;

    family_reduce.cost(r->graph, r->group, o, v, &c);
    reduce_traffic(r, &t);
    k->flops = t.flops;
    k->bytes = model_group_bytes(r->graph, r->group, o->device, NULL, NULL);
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

void reduce_build(Graph *g, Group *gr, const Options *o, const Variant *v,
                  Kernel *k)
{
    RowReduce r;

    reduce_plan(&r, g, gr, v);
    r.kernel = k;
    body_init(&r.body, g, gr, k, &r.plan, r.vec > 1 ? r.along : NULL, r.vec);
    r.group = (Group *)r.body.group;
    gr = r.group;
    r.body.along_rows = r.mode == MODE_COLUMNS;
    r.chunk = cprint_fresh(&r.body.print, "chunk");
    k->family = "reduce";
    k->variant = v->text;
    if (r.mode == MODE_LANES && r.n_rows * r.share < r.threads)
        r.threads = (int)(r.n_rows * r.share + 31) / 32 * 32;
    set_grid(&r);
    for (int i = 0; i < gr->n_cols; i++)
        if (r.cols[i]->extent > 1)
            kernel_extent(g, k, r.cols[i]);
    if (r.vec > 1)
        kernel_constant(g, k, "VEC", r.vec, NULL);
    if (r.keep && !r.flat)
        kernel_constant(g, k, "CHUNKS", r.chunks,
                        "a thread's turns through the columns");
    put_setup(&r);
    if (r.mode == MODE_COLUMNS && r.vec > 1)
        for (int i = r.body.print.n_name - 1; i >= 0; i--)
            if (r.body.print.name[i].var == r.along)
                r.body.base = r.body.print.name[i].text;
    put_early_reads(&r);
    kernel_wait_phase(g, k);
    put_kept_reads(&r);
    for (int q = -1; q < r.plan.passes; q++) {
        if (q >= 0)
            put_pass(&r, q);
        if (r.mode == MODE_SPLIT && q >= 0)
            put_partials(&r);
        put_phase(&r, q);
    }
    set_figures(&r, o, v);
}
