/* reduce_build.c - the code of family reduce. */
#include "family/reduce/reduce.h"

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
static void phase(RowReduce *r, const char *label, Tree *out)
{
    if (out->n_item)
        kernel_phase(r->graph, r->kernel, label, out);
}

/* How many distinct values the row number takes: rows, or groups of VEC. */
static int64_t row_points(const RowReduce *r)
{
    return r->mode == MODE_COLUMNS ? r->n_rows / r->vec : r->n_rows;
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

static void put_rows(RowReduce *r, Tree *out, const char *id)
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

static void setup_lanes(RowReduce *r, Tree *out)
{
    int per_block = r->threads / r->share;
    bool one = r->n_rows == 1;

    kernel_constant(r->graph, r->kernel, "LANES", r->share, "of a row");
    kernel_constant(r->graph, r->kernel, "THREADS", r->threads, NULL);
    r->thread = cprint_fresh(&r->body.print, "lane_id");
    PUT(out, "const int @thread = threadIdx.x % LANES;\n",
        FILL("thread", r->thread));
    if (one) {
        put_rows(r, out, "0");
        r->body.store_if = text(r, "%s == 0", r->thread);
        return;
    }
    const char *id = row_id(r, true);
    PUT(out,
        "const @type @id = @widened@blockIdx.x * (THREADS / LANES) + "
        "threadIdx.x / LANES;\n",
        FILL("type", reduce_count_type(r->n_rows)), FILL("id", id),
        FILL("widened", reduce_widened(r->n_rows)));
    if (r->n_rows % per_block) {
        kernel_constant(r->graph, r->kernel, "ROWS", r->n_rows, NULL);
        PUT(out,
            "if (@id >= ROWS)  // whole warps only\n"
            "    return;\n",
            FILL("id", id));
    }
    put_rows(r, out, id);
}

static void setup_block(RowReduce *r, Tree *out)
{
    kernel_constant(r->graph, r->kernel, "THREADS", r->threads, NULL);
    kernel_constant(r->graph, r->kernel, "WARPS", r->threads / 32, NULL);
    r->thread = "threadIdx.x";
    if (r->n_rows == 1) {
        put_rows(r, out, "0");
        return;
    }
    const char *id = row_id(r, true);
    if (reduce_beside(r)) {
        kernel_constant(r->graph, r->kernel, "BESIDE", r->share, "rows");
        r->thread = cprint_fresh(&r->body.print, "thread");
        PUT(out,
            "const int @thread = threadIdx.x / BESIDE;\n"
            "const int @id = blockIdx.x * BESIDE + threadIdx.x % BESIDE;\n",
            FILL("thread", r->thread), FILL("id", id));
        put_rows(r, out, id);
        return;
    }
    PUT(out, "const int @id = blockIdx.@axis;\n", FILL("id", id),
        FILL("axis", r->mode == MODE_SPLIT ? "y" : "x"));
    put_rows(r, out, id);
}

static void setup_shift(RowReduce *r, Tree *out)
{
    if (!r->shift)
        return;
    r->shift_id = cprint_fresh(&r->body.print, "shift");
    PUT(out,
        "// The row begins inside a vector: its first one is taken whole.\n"
        "const int @shift = @at;\n",
        FILL("shift", r->shift_id),
        FILL("at", cprint_idx(&r->body.print, r->shift, 0)));
}

/* The columns of a block that shares a row's with others. */
static void setup_part(RowReduce *r, Tree *out, int64_t part)
{
    const char *type = reduce_count_type(r->n_cols);

    kernel_constant(r->graph, r->kernel, "PART", part, "columns of a block");
    PUT(out,
        "const @type first = @widened@blockIdx.x * PART;\n"
        "const @type last = min(first + PART, (@type)@cols);\n",
        FILL("type", type), FILL("widened", reduce_widened(r->n_cols)),
        FILL("cols", reduce_cols_size(r)));
}

static void setup_columns(RowReduce *r, Tree *out)
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
    PUT(out,
        "const int @tx = threadIdx.x % TX;\n"
        "const int @ty = threadIdx.x / TX;\n",
        FILL("tx", tx), FILL("ty", r->ty));
    const char *id = row_id(r, r->vec == 1);
    const char *block = r->parts > 1 ? "blockIdx.y" : "blockIdx.x";
    if (points % r->share) {
        kernel_constant(r->graph, r->kernel, "POINTS", points,
                        r->vec > 1 ? "groups of VEC rows" : "rows");
        const char *at = text(r, "%s%s * TX + %s", reduce_widened(r->n_rows),
                              block, tx);
        PUT(out,
            "const bool active = @at < POINTS;\n"
            "const @type @id = active ? @at : POINTS - 1;\n",
            FILL("at", at), FILL("type", reduce_count_type(r->n_rows)),
            FILL("id", id));
        b->store_if = "active";
    } else {
        PUT(out, "const @type @id = @widened@@block * TX + @tx;\n",
            FILL("type", reduce_count_type(r->n_rows)), FILL("id", id),
            FILL("widened", reduce_widened(r->n_rows)), FILL("block", block),
            FILL("tx", tx));
    }
    put_rows(r, out, id);
    if (r->parts == 1)
        return;
    kernel_constant(r->graph, r->kernel, "PARTS", r->parts,
                    "blocks that share the columns");
    setup_part(r, out, (r->n_cols + r->parts - 1) / r->parts);
}

static void setup_split(RowReduce *r, Tree *out)
{
    int64_t part = (r->n_cols + r->share - 1) / r->share;

    part = (part + r->vec - 1) / r->vec * r->vec;
    kernel_constant(r->graph, r->kernel, "SPLITS", r->share, "blocks a row");
    setup_block(r, out);
    setup_part(r, out, part);
}

/* With one turn a thread, its columns have their names from here on. */
static void put_flat_columns(RowReduce *r, Tree *out)
{
    Tree *names = tree_list(r->graph->arena);

    if (!r->flat)
        return;
    const char *col = reduce_name_cols(r, names);
    reduce_put_column(r, out, col, NULL);
    tree_add(out, names);
    r->col = col;
}

static void put_setup(RowReduce *r)
{
    Tree *out = tree_list(r->graph->arena);

    switch (r->mode) {
    case MODE_LANES:
        setup_lanes(r, out);
        put_flat_columns(r, out);
        phase(r, "setup: LANES lanes of a warp share a row", out);
        break;
    case MODE_COLUMNS:
        setup_columns(r, out);
        put_flat_columns(r, out);
        phase(r,
              r->vec > 1 ? "setup: TY threads share VEC neighbouring rows"
                         : "setup: TY threads share a row",
              out);
        break;
    case MODE_SPLIT:
        setup_split(r, out);
        phase(r, "setup: SPLITS blocks share a row", out);
        break;
    default:
        setup_block(r, out);
        setup_shift(r, out);
        put_flat_columns(r, out);
        phase(r,
              reduce_beside(r)
                  ? "setup: a block computes BESIDE neighbouring rows"
                  : "setup: a block computes a row",
              out);
        break;
    }
}

/* ---- values kept in registers ------------------------------------------ */

/* "float x_frag[CHUNKS][VEC];", and the text of one element. */
static const char *declare_kept(RowReduce *r, Tree *out, Type t,
                                const char *name, bool lanes)
{
    bool vector = lanes && r->vec > 1;

    PUT(out, "@type @name@@chunks@@lanes;\n", FILL("type", cprint_ctype(t)),
        FILL("name", name), FILL("chunks", r->flat ? "" : "[CHUNKS]"),
        FILL("lanes", vector ? "[VEC]" : ""));
    if (r->flat)
        return vector ? text(r, "%s[%s]", name, r->body.lane) : name;
    return vector ? text(r, "%s[%s][%s]", name, r->chunk, r->body.lane)
                  : text(r, "%s[%s]", name, r->chunk);
}

static void load_kept(RowReduce *r, Tree *in, const Expr *e, const char *array)
{
    Body *b = &r->body;
    int step;
    ReadKind kind = read_kind(r->graph, e, b->along, b->vec, &step);
    const char *mine = r->flat ? array : text(r, "%s[%s]", array, r->chunk);
    Tree *lane = tree_list(r->graph->arena);

    if (b->vec > 1 && kind == READ_VECTOR) {
        body_load(b, in, e, mine);
        return;
    }
    if (b->vec == 1 || kind == READ_BROADCAST) {
        const char *value = cprint_bind(lane, &b->print, e, NULL);
        PUT(lane, "@mine = @value;\n", FILL("mine", mine),
            FILL("value", value));
        body_if_needed(b, in, e, lane);
        return;
    }
    CScope scope = cprint_open(&b->print);
    cprint_name(&b->print, b->along, text(r, "(%s + %s)", b->base, b->lane));
    const char *value = cprint_bind(lane, &b->print, e, NULL);
    PUT(lane, "@mine[@lane] = @value;\n", FILL("mine", mine),
        FILL("lane", b->lane), FILL("value", value));
    cprint_close(&b->print, scope);
    PUT(in,
        "#pragma unroll\n"
        "for (int @lane = 0; @lane < VEC; ++@lane) {\n"
        "    @BODY\n"
        "}\n",
        FILL("lane", b->lane), FILL_TREE("BODY", lane));
}

static void put_kept_reads(RowReduce *r)
{
    Body *b = &r->body;
    const char **array = arena_array(r->graph->arena, const char *,
                                     2 * r->kept.n + 1);
    const char **element = array + r->kept.n;
    Tree *out = tree_list(r->graph->arena), *in = tree_list(r->graph->arena),
         *head = tree_list(r->graph->arena);
    int step;

    if (!r->kept.n || r->held)
        return;
    for (int i = 0; i < r->kept.n; i++) {
        const Expr *e = r->kept.read[i];
        bool lanes = read_kind(r->graph, e, b->along, b->vec, &step) !=
                     READ_BROADCAST;
        array[i] = cprint_fresh(&b->print,
                                text(r, "%s_frag",
                                     cprint_tensor(&b->print, e->tensor)));
        element[i] = declare_kept(r, out, e->type, array[i], lanes);
    }
    CScope scope = cprint_open(&b->print);
    const char *col = reduce_name_cols(r, head);
    for (int i = 0; i < r->kept.n; i++)
        load_kept(r, in, r->kept.read[i], array[i]);
    tree_add(head, in);
    reduce_put_loop(r, out, head, col);
    if (!r->flat || reduce_has_tail(r))
        cprint_close(&b->print, scope);
    for (int i = 0; i < r->kept.n; i++)
        body_hold(b, r->kept.read[i], element[i]);
    phase(r, "load: the row's columns into registers", out);
}

/* ---- values held in shared memory ---------------------------------------- */

/* "x_row[d]", in shared memory; of several rows as they lie in memory. */
static const char *held_at(RowReduce *r, int i, const char *col)
{
    const char *side = text(r, " * BESIDE + threadIdx.x %% BESIDE%s",
                            r->vec > 1 ? " * VEC" : "");
    return text(r, "smem.%s[%s%s%s]", r->row[i], col,
                reduce_beside(r) ? side : "",
                r->shift ? text(r, " + %s", r->shift_id) : "");
}

/* What a thread copies, and what of it is in the row, where that begins inside
 * a vector. */
static void put_hold(RowReduce *r, Tree *in, const Expr *e, const char *to,
                     const char *col)
{
    PUT(in, "@hold<@vec>(&@to, &@tensor[@at]@part);\n",
        FILL("hold", r->shift ? "dcc_hold_within" : "dcc_hold"),
        FILL("vec", r->vec > 1 ? "VEC" : "1"), FILL("to", to),
        FILL("tensor", cprint_tensor(&r->body.print, e->tensor)),
        FILL("at", cprint_at(&r->body.print, e->tensor, e->at, (Guard){0})),
        FILL("part",
             r->shift ? text(r, ", %s, %s", col, reduce_cols_size(r)) : ""));
}

static void put_held_reads(RowReduce *r)
{
    Body *b = &r->body;
    Tree *out = tree_list(r->graph->arena), *in = tree_list(r->graph->arena);
    bool copies = false;
    const char *behind = reduce_beside(r)     ? " * BESIDE"
                         : r->shift           ? " + 2 * VEC"
                         : r->n_cols % r->vec ? " + VEC - 1"
                                              : "";

    r->row = arena_array(r->graph->arena, const char *, r->kept.n);
    CScope scope = cprint_open(&b->print);
    const char *col = reduce_name_cols(r, in);
    for (int i = 0; i < r->kept.n; i++) {
        const Expr *e = r->kept.read[i];
        const Tensor *t = e->tensor;
        r->row[i] = cprint_fresh(
            &b->print, text(r, "%s_row", cprint_tensor(&b->print, t)));
        kernel_smem(r->graph, r->kernel, VECTOR_BYTES,
                    text(r, "%s %s[%s%s]", type_cname(t->type), r->row[i],
                         reduce_cols_size(r), behind),
                    reduce_beside(r) ? "of rows, read once"
                                     : "of the row, read once");
        copies |= r->vec * type_bytes(t->type) >= (int)sizeof(float);
        put_hold(r, in, e, held_at(r, i, col), col);
    }
    reduce_put_loop(r, out, in, col);
    if (copies)
        PUT(out, "dcc_cp_commit();\n"
                 "dcc_cp_wait<0>();\n");
    cprint_close(&b->print, scope);
    phase(r, "load: the row's columns, each for the thread that needs it",
          out);
}

/* Those that this pass needs, into registers. */
static void take_held(RowReduce *r, Tree *in, const int *step, int n,
                      const char *col)
{
    Body *b = &r->body;
    Reads reads;

    reads_of(r->graph, r->group, step, n, &reads);
    for (int i = 0; i < r->kept.n && r->held; i++) {
        const Expr *e = r->kept.read[i];
        bool used = false;
        for (int k = 0; k < reads.n; k++)
            used |= expr_equal(reads.read[k], e);
        if (!used)
            continue;
        const char *frag = cprint_fresh(
            &b->print, text(r, "%s_frag", cprint_tensor(&b->print, e->tensor)));
        body_declare(b, in, e->type, frag, true);
        PUT(in,
            r->vec > 1 ? "dcc_load<VEC>(@frag, &@at);\n"
                       : "dcc_assign(@frag, @at);\n",
            FILL("frag", frag), FILL("at", held_at(r, i, col)));
        body_hold(b, e, r->vec > 1 ? text(r, "%s[%s]", frag, b->lane) : frag);
    }
}

static void put_early_reads(RowReduce *r)
{
    CPrint *p = &r->body.print;
    int step[MAX_STEPS], n = schedule_pass(r->group, &r->plan, 0, step);
    Tree *in = tree_list(r->graph->arena);
    Tree *out = tree_list(r->graph->arena), *head = tree_list(r->graph->arena);
    Reads reads;

    if (!r->kernel->waits || !r->plan.passes || r->flat)
        return;
    reads_of(r->graph, r->group, step, n, &reads);
    CScope scope = cprint_open(p);
    const char *col = reduce_name_cols(r, head);
    for (int i = 0; i < reads.n; i++) {
        const Expr *e = reads.read[i];
        if (!reduce_is_early(r, e))
            continue;
        PUT(in, "dcc_prefetch_l2(&@tensor[@at]);\n",
            FILL("tensor", cprint_tensor(p, e->tensor)),
            FILL("at", cprint_at(p, e->tensor, e->at, (Guard){0})));
    }
    if (in->n_item) {
        tree_add(head, in);
        reduce_put_loop(r, out, head, col);
    }
    cprint_close(p, scope);
    phase(r, "weights on their way to the L2, before all else", out);
}

/* ---- passes ------------------------------------------------------------ */

static void put_columns(RowReduce *r, Tree *out, const int *step, int n)
{
    Body *b = &r->body;
    Tree *in = tree_list(r->graph->arena);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *col = reduce_name_cols(r, in);

    take_held(r, in, step, n, col);
    body_steps(b, in, step, n, true);
    reduce_put_loop(r, out, in, col);
    if (!r->flat || reduce_has_tail(r)) { /* else it is the kernel's scope */
        b->n_held = held;
        cprint_close(&b->print, scope);
    }
}

/* A pass that adds up: whole vectors' lanes ask nothing. */
static void put_whole_columns(RowReduce *r, Tree *out, const int *step, int n)
{
    Body *b = &r->body;
    Tree *in[2];
    const char *col = NULL;

    for (int last = 0; last < 2; last++) {
        CScope scope = cprint_open(&b->print);
        int held = b->n_held;
        in[last] = tree_list(r->graph->arena);
        col = reduce_name_cols(r, in[last]);
        if (!last)
            b->lane_if = NULL;
        take_held(r, in[last], step, n, col);
        body_steps(b, in[last], step, n, true);
        b->n_held = held;
        cprint_close(&b->print, scope);
    }
    reduce_put_whole_loop(r, out, in[0], in[1], col);
}

static void put_pass(RowReduce *r, int q)
{
    Body *b = &r->body;
    int step[MAX_STEPS], n = schedule_pass(r->group, &r->plan, q, step);
    const char *what = NULL;
    Tree *out = tree_list(r->graph->arena);

    for (int i = 0; i < n; i++) {
        const Step *s = &r->group->step[step[i]];
        if (s->op != R_NONE) {
            body_accumulator(b, out, step[i], b->along_rows);
            what =
                what ? text(r, "%s, %s", what, reduce_name(s->op)) : reduce_name(s->op);
        } else if (r->plan.kept[step[i]] && r->plan.at[step[i]] == q) {
            b->kept[step[i]] =
                declare_kept(r, out, s->type, body_step_name(b, step[i]), true);
        }
    }
    const char *store_if = b->store_if;
    if (reduce_many_quotients(r))
        body_divisors(b, out, step, n);
    if (r->mode != MODE_COLUMNS)
        b->store_if = NULL; /* every thread has columns of its own */
    reduce_put_range(r, out);
    if (what && reduce_leaves_last(r))
        put_whole_columns(r, out, step, n);
    else
        put_columns(r, out, step, n);
    b->store_if = store_if;
    for (int i = 0; i < n; i++)
        if (r->group->step[step[i]].op != R_NONE)
            reduce_combine(r, out, step[i]);
    phase(r,
          what ? text(r, "%s over the columns", what)
               : "values over the columns",
          out);
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
        return text(r, "%s == 0", r->thread);
    }
}

static void put_phase(RowReduce *r, int q)
{
    Body *b = &r->body;
    const char *store_if = b->store_if;
    int step[MAX_STEPS], n = schedule_phase(r->group, &r->plan, q, step);
    Tree *out = tree_list(r->graph->arena);

    for (int i = 0; i < n && b->along_rows && r->vec > 1; i++) {
        int s = step[i];
        if (r->plan.last[s] <= r->plan.at[s])
            continue;
        const char *name = body_step_name(b, s);
        body_declare(b, out, r->group->step[s].type, name, true);
        b->kept[s] = text(r, "%s[%s]", name, b->lane);
    }
    b->store_if = row_store_condition(r);
    body_sync(b, step, n, r->mode == MODE_LANES);
    body_steps(b, out, step, n, b->along_rows);
    b->store_if = store_if;
    b->store_sync = NULL;
    phase(r, q < 0 ? "row values" : "results of the row", out);
}

/* ---- build ------------------------------------------------------------- */

static void set_grid(RowReduce *r)
{
    Kernel *k = r->kernel;
    int64_t per_block = r->mode == MODE_LANES     ? r->threads / r->share
                        : r->mode == MODE_COLUMNS ? r->share
                        : reduce_beside(r)        ? r->share
                                                  : 1;

    k->block = r->threads;
    k->min_blocks = reduce_resident(r);
    int blocks = (int)((row_points(r) + per_block - 1) / per_block);
    bool split = r->mode == MODE_SPLIT || r->parts > 1;
    k->grid[0] = !split ? blocks : r->parts > 1 ? r->parts : r->share;
    k->grid[1] = split ? blocks : 1;
    k->grid[2] = 1;
}

static void set_figures(RowReduce *r, const ReduceForm *f, const Variant *v)
{
    Kernel *k = r->kernel;
    Traffic t;
    Cost c;

    family_reduce.cost(f, v, &c);
    reduce_traffic(r, f, &t);
    k->flops = t.flops;
    k->bytes = f->bytes;
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

void reduce_build(const void *form, const Variant *v, Kernel *k)
{
    const ReduceForm *f = form;
    Graph *g = f->graph;
    Group *gr = (Group *)f->group;
    RowReduce r;

    reduce_plan(&r, f, v);
    r.kernel = k;
    body_init(&r.body, g, gr, k, &r.plan, r.vec > 1 ? r.along : NULL, r.vec);
    r.group = (Group *)r.body.group;
    gr = r.group;
    r.body.along_rows = r.mode == MODE_COLUMNS;
    r.body.print.ex2 = f->powers;
    r.chunk = cprint_fresh(&r.body.print, "chunk");
    k->family = "reduce";
    k->variant = reduce_text(form, v);
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
    if (r.held) {
        k->min_arch = "sm_80";
        k->smem_bytes += (size_t)(reduce_held_bytes(f, r.vec) * r.share);
        put_held_reads(&r);
    }
    for (int q = -1; q < r.plan.passes; q++) {
        if (q >= 0)
            put_pass(&r, q);
        if (r.mode == MODE_SPLIT && q >= 0)
            reduce_partials(&r);
        if (r.parts > 1 && q >= 0)
            reduce_part_columns(&r);
        put_phase(&r, q);
    }
    set_figures(&r, f, v);
}
