/* map_band.c - walks whose input rows a block shares.
 *
 * Where all that a window does not go down along lies side by side in memory
 * (the columns and channels of an image's row), a block has whole rows of
 * outputs: `bands` tiles of them, one below the other. Their input rows are
 * one piece of memory each and come into shared memory by bulk copies, every
 * byte once. All of them are asked for at the start, so nothing waits for a
 * thread, or as many as there is room for: then a slot takes the next row once
 * all warps have read it.
 */
#include "family/map/map_walk.h"

#include <math.h>

enum { MOST_READS = 4 }; /* of a window, with rows each */
enum { BEHIND = 2 }; /* rows by which a slot's next copy follows its reading */

/* ---- which nests ------------------------------------------------------- */

/* The dimension of the read that goes down; -1 if its rows are not whole. */
static int down_dim(const Expr *e, const Roll *r)
{
    int dim = -1;

    for (int d = 0; d < e->tensor->rank; d++) {
        if (!idx_uses(e->at[d], r->down.q) && !idx_uses(e->at[d], r->down.s))
            continue;
        if (dim >= 0)
            return -1;
        dim = d;
    }
    return dim;
}

/* Whether dimension d lies within a row of `dim`. */
static bool within(const Tensor *t, int dim, int d)
{
    return t->dim[d] > 1 && t->stride[d] < t->stride[dim];
}

/* Elements of a row: of the dimensions within it; 0 if they do not lie side by
 * side. */
static int64_t row_elements(const Tensor *t, int dim)
{
    int64_t n = 1, all = 1, last = 0;

    for (int d = 0; d < t->rank; d++)
        all *= within(t, dim, d) ? t->dim[d] : 1;
    while (n > last) {
        last = n;
        for (int d = 0; d < t->rank; d++)
            if (within(t, dim, d) && t->stride[d] == n)
                n *= t->dim[d];
    }
    return n == all ? n : 0;
}

static long long row_bytes(const Expr *e, const Roll *r)
{
    return row_elements(e->tensor, down_dim(e, r)) *
           type_bytes(e->tensor->type);
}

static bool whole_rows(const Expr *e, const Roll *r, const Var *const *rows,
                       int n_rows)
{
    int dim = down_dim(e, r), bytes = type_bytes(e->tensor->type);
    const Tensor *t = e->tensor;

    if (dim < 0 || t->align % 16 || row_elements(t, dim) * bytes % 16 ||
        row_elements(t, dim) < 1)
        return false;
    for (int d = 0; d < t->rank; d++) {
        bool inner = false;
        if (within(t, dim, d))
            continue;
        if (t->dim[d] > 1 && t->stride[d] * bytes % 16)
            return false;
        for (int i = 0; i < n_rows; i++) {
            if (inner && idx_uses(e->at[d], rows[i]))
                return false;
            inner |= rows[i] == r->down.q;
        }
        if (r->across.s && idx_uses(e->at[d], r->across.s))
            return false;
    }
    return true;
}

/* The first of the window's reads, and how many there are, up to one more. */
typedef struct Moved {
    const Roll *roll;
    const Expr *read[MOST_READS + 1];
    int n;
} Moved;

static void add_moved(const Expr *e, void *ctx)
{
    Moved *m = ctx;

    if (e->kind != E_READ || m->n > MOST_READS || !roll_moves(m->roll, e))
        return;
    for (int i = 0; i < m->n; i++)
        if (expr_equal(m->read[i], e))
            return;
    m->read[m->n++] = e;
}

static int moved_reads(const Group *gr, const Roll *r, Moved *moved)
{
    *moved = (Moved){.roll = r};
    for (int i = 0; i < gr->n_step; i++)
        if (is_col_step(&gr->step[i]))
            expr_visit(gr->step[i].value, add_moved, moved);
    return moved->n;
}

int64_t band_rows(const Roll *r)
{
    return (r->bands * (int64_t)r->down.tile - 1) * r->down.stride +
           r->down.s->extent;
}

double band_row_bytes(const Group *gr, const Roll *r)
{
    double bytes = 0;
    Moved moved;

    moved_reads(gr, r, &moved);
    for (int i = 0; i < moved.n; i++)
        bytes += (double)row_bytes(moved.read[i], r);
    return bytes;
}

double band_bytes(const Group *gr, const Roll *r)
{
    return (double)r->slots * (band_row_bytes(gr, r) + 16) + 256;
}

int64_t band_slots(const Group *gr, const Device *d, const Roll *r)
{
    double room = (r->share > 1 ? d->smem_sm_kb * 1024.0 / r->share - 1024
                                : d->smem_block_kb * 1024) -
                  (MOST_READS + 1) * 128;
    double slot = band_row_bytes(gr, r) + 16;

    return (int64_t)fmin((double)band_rows(r), floor(room / slot));
}

int64_t band_threads(const Group *gr, const Roll *r, const Var *const *rows,
                     int vec)
{
    int64_t n = r->bands * window_tiles(&r->across);
    bool inner = false;

    for (int i = 0; i < gr->n_rows; i++) {
        if (inner && rows[i] != r->across.q)
            n *= rows[i]->extent;
        inner |= rows[i] == r->down.q;
    }
    return n / vec;
}

bool band_fits(const Group *gr, const Device *d, const Roll *r,
               const Var *const *rows)
{
    int64_t tile = r->down.tile, slots;
    Moved moved;

    if (d->sm < 90 || r->down.q->extent % (tile * r->bands) ||
        moved_reads(gr, r, &moved) > MOST_READS)
        return false;
    for (int i = 0; i < moved.n; i++)
        if (!whole_rows(moved.read[i], r, rows, gr->n_rows))
            return false;
    slots = band_slots(gr, d, r);
    return slots == band_rows(r) ||
           (r->bands == 1 && slots > BEHIND + r->down.s->extent);
}

/* ---- code -------------------------------------------------------------- */

static bool goes_round(const Walk *w)
{
    return w->r->slots < band_rows(w->r);
}

/* Where row `u` of the block's is. */
static const char *slot_of(Walk *w, const char *u)
{
    return goes_round(w) ? arena_printf(w->m->graph->arena, "%s %% SLOTS", u)
                         : u;
}

/* And row `u` of the thread's. */
static const char *own_slot(Walk *w, const char *u)
{
    return *w->first ? arena_printf(w->m->graph->arena, "%s + %s", w->first, u)
                     : slot_of(w, u);
}

static void declare(Walk *w, const Expr *const *read, int n)
{
    MapBuild *m = w->m;
    Arena *a = m->graph->arena;
    CPrint *p = &m->body.print;

    for (int i = 0; i < n; i++) {
        const Tensor *t = read[i]->tensor;
        long long size = row_elements(t, down_dim(read[i], w->r));
        w->ring[i] = cprint_fresh(p, arena_printf(a, "%s_rows",
                                                  cprint_tensor(p, t)));
        kernel_smem(m->graph, m->kernel, 128,
                    arena_printf(a, "%s %s[SLOTS][%lld]", type_cname(t->type),
                                 w->ring[i], size),
                    i ? NULL : "the block's input rows");
        m->kernel->smem_bytes = (m->kernel->smem_bytes + 127) / 128 * 128 +
                                (size_t)(w->r->slots * size *
                                         type_bytes(t->type));
    }
    w->there = cprint_fresh(p, "there");
    w->spent = goes_round(w) ? cprint_fresh(p, "spent") : NULL;
    kernel_smem(m->graph, m->kernel, 8,
                w->spent ? arena_printf(a, "uint64_t %s[SLOTS], %s[SLOTS]",
                                        w->there, w->spent)
                         : arena_printf(a, "uint64_t %s[SLOTS]", w->there),
                NULL);
    m->kernel->smem_bytes += (size_t)(w->r->slots * (w->spent ? 16 : 8));
    m->kernel->smem_bytes = (m->kernel->smem_bytes + 127) / 128 * 128;
}

/* Which of a block's rows no other block reads: they need not stay in the L2,
 * which has more of what is written then. Where far more is read than written
 * (stride 2), that costs. */
static const char *read_once(const Walk *w, const char *row)
{
    const Roll *r = w->r;
    long long shared = r->down.s->extent - r->down.stride;

    if (r->down.stride > 1)
        return "false";
    if (r->bands * (int64_t)r->down.tile == r->down.q->extent)
        return "true";
    return arena_printf(w->m->graph->arena, "%s >= %lld && %s < %lld", row,
                        shared, row, (long long)band_rows(r) - shared);
}

/* Where row w->u of the block's begins, the columns at 0; *inside: whether
 * there is such a row, NULL if there always is. */
static const char *row_start(Walk *w, const char **inside, const Expr *e)
{
    CPrint *p = &w->m->body.print;
    IdxPool *pool = w->m->graph->pool;
    const Tensor *t = e->tensor;
    const Idx *zero = idx_const(pool, 0), *at[MAX_RANK];
    int dim = down_dim(e, w->r);
    Cond in[2] = {{e->at[dim], 0},
                  {idx_sub(pool, idx_const(pool, t->dim[dim] - 1), e->at[dim]),
                   0}};

    for (int d = 0; d < t->rank; d++)
        at[d] = within(t, dim, d) ? zero : e->at[d];
    *inside = cond_truth(in[0]) != ALWAYS || cond_truth(in[1]) != ALWAYS
                  ? cprint_condition(p, (Guard){in, 2})
                  : NULL;
    return cprint_at(p, t, at, (Guard){0});
}

/* Its copy. */
static void put_copy(Walk *w, Tree *out, const Expr *e, int i)
{
    const char *slot = slot_of(w, w->u), *inside;
    const char *start = row_start(w, &inside, e);
    Tree *copy =
        QUOTE(out->arena,
              "dcc_bulk_load(smem.@ring[@slot], &@tensor[@start], "
              "@bytes, &smem.@there[@slot], @once);\n",
              FILL("ring", w->ring[i]), FILL("slot", slot),
              FILL("tensor", cprint_tensor(&w->m->body.print, e->tensor)),
              FILL("start", start), FILL_INT("bytes", row_bytes(e, w->r)),
              FILL("there", w->there), FILL("once", read_once(w, w->u)));

    if (inside)
        PUT(out,
            "if (@inside)\n"
            "    @COPY\n"
            "else\n"
            "    dcc_mbar_arrive(&smem.@there[@slot]);\n",
            FILL("inside", inside), FILL_TREE("COPY", copy),
            FILL("there", w->there), FILL("slot", slot));
    else
        tree_add(out, copy);
}

/* fetch(u): the copies of the block's row u. */
static void put_fetch(Walk *w, Tree *out, const Expr *const *read, int n,
                      const char *top)
{
    CPrint *p = &w->m->body.print;
    Tree *in = tree_list(out->arena);
    CScope scope = cprint_open(p);

    walk_name_taps(w, w->u, "0");
    cprint_name(p, w->r->down.q, top);
    for (int i = 0; i < n; i++)
        put_copy(w, in, read[i], i);
    PUT(out,
        "const auto @fetch = [&](int @u) {\n"
        "    @IN\n"
        "};\n",
        FILL("fetch", w->fetch), FILL("u", w->u), FILL_TREE("IN", in));
    cprint_close(p, scope);
}

/* The block's row that is needed as number `turn`, the bands' in turns; those
 * below all bands come last. */
static void put_turn(Walk *w, Tree *out, const char *turn, bool last)
{
    PUT(out,
        last ? "const int @u = @turn < BANDS * @step ? "
               "@turn % BANDS * @step + @turn / BANDS : @turn;\n"
             : "const int @u = @turn % BANDS * @step + @turn / BANDS;\n",
        FILL("u", w->u), FILL("turn", turn),
        FILL_INT("step", w->r->down.tile * (long long)w->r->down.stride));
}

/* A line each of the rows that are needed first, where they are in HBM: the
 * copies, which begin once there are barriers and then take long to begin, find
 * these in the L2; two lines each would be in the copies' way. */
static void put_ahead(Walk *w, Tree *out, const Expr *e, const char *top)
{
    enum { LINE = 128 };
    CPrint *p = &w->m->body.print;
    int64_t lines = (row_bytes(e, w->r) + LINE - 1) / LINE;
    int64_t rows = (w->m->kernel->block + lines - 1) / lines;
    int64_t step = w->r->down.tile * (int64_t)w->r->down.stride;
    bool turns = w->r->bands > 1;

    if (!model_in_hbm(w->m->device, e->tensor) || rows > w->r->slots ||
        (turns && rows > w->r->bands * step))
        return;
    CScope scope = cprint_open(p);
    Tree *row = tree_list(out->arena);
    const char *turn = turns ? cprint_fresh(p, "turn") : w->u;
    const char *line = cprint_fresh(p, "line"), *inside;
    if (turns)
        put_turn(w, row, turn, false);
    walk_name_taps(w, w->u, "0");
    cprint_name(p, w->r->down.q, top);
    const char *start = row_start(w, &inside, e);
    Tree *ahead = QUOTE(
        out->arena, "dcc_prefetch_l2(&@tensor[@start + @line * @elements]);\n",
        FILL("tensor", cprint_tensor(p, e->tensor)), FILL("start", start),
        FILL("line", line),
        FILL_INT("elements", LINE / type_bytes(e->tensor->type)));
    if (inside)
        ahead = QUOTE(out->arena,
                      "if (@inside)\n"
                      "    @AHEAD\n",
                      FILL("inside", inside), FILL_TREE("AHEAD", ahead));
    PUT(out,
        "{  // a line each of the rows that come first\n"
        "    const int @turn = threadIdx.x / @lines, "
        "@line = threadIdx.x % @lines;\n"
        "    @ROW\n"
        "    @AHEAD\n"
        "}\n",
        FILL("turn", turn), FILL_INT("lines", lines), FILL("line", line),
        FILL_TREE("ROW", row), FILL_TREE("AHEAD", ahead));
    cprint_close(p, scope);
}

/* Barriers and the first copies, in the order in which their rows are needed:
 * from several warps they would come in any order, at the same time, and so
 * all of them late. */
static void put_first(Walk *w, Tree *out, int n)
{
    CPrint *p = &w->m->body.print;
    Tree *row = tree_list(out->arena), *spent = tree_list(out->arena);
    const char *k = w->u, *u = k;

    if (w->r->bands > 1) {
        k = cprint_fresh(p, "turn");
        put_turn(w, row, k, true);
    }
    if (w->spent)
        PUT(spent, "dcc_mbar_init(&smem.@spent[@u], WARPS);\n",
            FILL("spent", w->spent), FILL("u", u));
    PUT(out,
        "if (threadIdx.x == 0) {\n"
        "    #pragma unroll 1\n"
        "    for (int @k = 0; @k < SLOTS; ++@k) {\n"
        "        @ROW\n"
        "        dcc_mbar_init(&smem.@there[@u], @n);\n"
        "        @SPENT\n"
        "        dcc_fence_mbar_init();\n"
        "        @fetch(@u);\n"
        "    }\n"
        "}\n"
        "__syncthreads();\n",
        FILL("k", k), FILL_TREE("ROW", row), FILL("there", w->there),
        FILL("u", u), FILL_INT("n", n), FILL_TREE("SPENT", spent),
        FILL("fetch", w->fetch));
}

/* The thread's place in a row. */
static const char *put_origin(Walk *w, Tree *out, const Expr *e, int i)
{
    CPrint *p = &w->m->body.print;
    Graph *g = w->m->graph;
    const Idx *zero = idx_const(g->pool, 0), *at[MAX_RANK];
    Subst s = {w->r->across.s, zero};
    const char *row = cprint_fresh(
        p, arena_printf(g->arena, "%s_row", cprint_tensor(p, e->tensor)));

    for (int d = 0; d < e->tensor->rank; d++)
        at[d] = !within(e->tensor, down_dim(e, w->r), d) ? zero
                : w->r->across.s ? idx_subst(g->pool, e->at[d], &s, 1)
                                 : e->at[d];
    PUT(out, "const @type *@row = smem.@ring[@first] + @at;\n",
        FILL("type", type_cname(e->tensor->type)), FILL("row", row),
        FILL("ring", w->ring[i]), FILL("first", *w->first ? w->first : "0"),
        FILL("at",
             cprint_element(p, e->tensor, tensor_offset(g, e->tensor, at))));
    return row;
}

void band_begin(Walk *w, Tree *out, const Expr *const *read, int n)
{
    MapBuild *m = w->m;
    Arena *a = m->graph->arena;
    CPrint *p = &m->body.print;
    const char *top = w->p;

    declare(w, read, n);
    w->fetch = cprint_fresh(p, "fetch");
    w->first = "";
    if (w->r->bands > 1) {
        const char *v = cprint_ident(a, w->r->down.q->name);
        top = cprint_fresh(p, arena_printf(a, "%s_top", v));
        w->first = cprint_fresh(p, "first");
        PUT(out,
            w->r->down.stride > 1
                ? "const int @top = @p / (BANDS * ROWS) * (BANDS * ROWS);\n"
                  "const int @first = (@p - @top) * @stride;\n"
                : "const int @top = @p / (BANDS * ROWS) * (BANDS * ROWS);\n"
                  "const int @first = @p - @top;\n",
            FILL("top", top), FILL("p", w->p), FILL("first", w->first),
            FILL_INT("stride", w->r->down.stride));
    }
    for (int i = 0; i < n; i++)
        put_ahead(w, out, read[i], top);
    put_fetch(w, out, read, n, top);
    put_first(w, out, n);
    for (int i = 0; i < n; i++)
        w->row[i] = put_origin(w, out, read[i], i);
}

void band_wait(Walk *w, Tree *out, const char *u)
{
    PUT(out,
        goes_round(w) ? "dcc_mbar_wait(&smem.@there[@slot], @u / SLOTS & 1);\n"
                      : "dcc_mbar_wait(&smem.@there[@slot], 0);\n",
        FILL("there", w->there), FILL("slot", own_slot(w, u)), FILL("u", u));
}

void band_release(Walk *w, Tree *out, const char *u)
{
    if (!goes_round(w))
        return;
    PUT(out,
        "__syncwarp();\n"
        "if (threadIdx.x % 32 == 0)\n"
        "    dcc_mbar_arrive(&smem.@spent[@u % SLOTS]);\n"
        "if (threadIdx.x == 0 && @u >= @BEHIND && @u < IN_ROWS - SLOTS + "
        "@BEHIND) {\n"
        "    dcc_mbar_wait(&smem.@spent[(@u - @BEHIND) % SLOTS], (@u - "
        "@BEHIND) / SLOTS & 1);\n"
        "    @fetch(@u - @BEHIND + SLOTS);\n"
        "}\n",
        FILL("spent", w->spent), FILL("u", u), FILL_INT("BEHIND", BEHIND),
        FILL("fetch", w->fetch));
}

static void put_load(Walk *w, Tree *out, const Expr *e, const char *to,
                     const char *from, const char *inside)
{
    if (!inside) {
        PUT(out,
            "dcc_load<VEC>(@to,\n"
            "    @from);\n",
            FILL("to", to), FILL("from", from));
        return;
    }
    const char *outside = "";
    if (e->outside && e->outside->num != 0)
        outside =
            arena_printf(out->arena, ", %s",
                         cprint_bind(out, &w->m->body.print, e->outside, NULL));
    PUT(out, "dcc_load_if<VEC>(@to, @inside, @from@@outside);\n",
        FILL("to", to), FILL("inside", inside), FILL("from", from),
        FILL("outside", outside));
}

void band_column(Walk *w, Tree *out, const Expr *e, int i, const char *u,
                 const char *frag)
{
    CPrint *p = &w->m->body.print;
    Arena *a = w->m->graph->arena;
    CScope scope = cprint_open(p);
    const char *outer = w->u, *inside = NULL;
    const char *from = arena_printf(
        a, "%s + %s * %lld", w->row[i],
        goes_round(w) ? slot_of(w, u) : u,
        (long long)row_elements(e->tensor, down_dim(e, w->r)));

    w->u = u;
    walk_name_taps(w, u, w->j);
    Inside where = walk_inside(w, e);
    if (!*where.row && *where.column)
        where.column += strlen(" && ");
    if (*where.row || *where.column) {
        inside = cprint_fresh(p, "in");
        PUT(out, "const bool @inside = @row@@column;\n", FILL("inside", inside),
            FILL("row", where.row), FILL("column", where.column));
    }
    if (w->r->across.s)
        from = arena_printf(a, "%s + %s * %lld", from, w->j,
                            walk_pitch(w, e, &w->r->across));
    put_load(w, out, e, arena_printf(a, "%s[%s]", frag, w->j), from, inside);
    cprint_close(p, scope);
    w->u = outer;
}
