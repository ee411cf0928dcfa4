#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* The kernel of a chain, from its plan. */

/* What the text calls its own things. */
static const char *const own_names[] = {
    "m", "n", "k", "i", "j", "e", "c", "r", "q", "m0", "j0", "b", "kk", "slot",
    "phase", "acc", "score", "weight", "most", "sum", "grow", "after", "scale",
    "rows", "top", "lane", "warp", "warpgroup", "first_slot", "first_phase",
    "first_ring", "second_ring", "block", "begin", "last", "tile", "at",
    "batch", "line", "piece", "packed", "out", "from", "to", "before", "base",
    "part", "more", "again", "score_block", "multiply_block", "weigh_block",
    "pack_block", "free_first", "free_second", "load_first", "out_rows", "smem",
    "smem_t", "M", "N", "J", "D", "BM", "BN", "BJ", "WM", "COLS", "STAGES",
    "CONSUMERS", "K_STEPS", "TILES_M", "BATCHES", "GROUP", "ROWS_BYTES",
    "FIRST_BYTES", "SECOND_BYTES", "rows_full", "first_full", "first_empty",
    "second_full", "second_empty",
};
enum { N_OWN = sizeof own_names / sizeof *own_names };

/* ---- names ----------------------------------------------------------- */

static const char *tile_id(ChainKernel *w, const Operand *o)
{
    return cprint_tensor(&w->b.cp, o->read->tensor);
}

static void name_all(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    const ChainForm *f = w->f;
    const char *id[3];

    for (int i = 0; i < w->k->n_arg; i++)
        for (int j = 0; j < N_OWN; j++)
            if (!strcmp(w->k->arg[i].name, own_names[j]))
                w->k->arg[i].name = arena_printf(a, "%s_", own_names[j]);
    w->b.cp = cprint_new(w->b.g, w->k);
    for (int i = 0; i < N_OWN; i++)
        cprint_fresh(&w->b.cp, own_names[i]);
    id[0] = tile_id(w, &f->a.c.a);
    id[1] = tile_id(w, &f->a.c.b);
    id[2] = tile_id(w, &f->b.c.b);
    for (int i = 1; i < 3; i++) /* one tensor in two places */
        for (int j = 0; j < i; j++)
            if (!strcmp(id[i], id[j]))
                id[i] = arena_printf(a, "%s_%d", id[i], i);
    for (int i = 0; i < 3; i++)
        w->id[i] = id[i];
}

static void constants(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Graph *g = w->b.g;
    Kernel *k = w->k;
    int64_t col = (int64_t)w->bj * 128;

    kernel_constant(g, k, "M", f->M, f->row->name);
    kernel_constant(g, k, "N", f->N, f->b.c.n[f->b.c.n_n - 1]->name);
    kernel_constant(g, k, "J", f->J, f->col->name);
    kernel_constant(g, k, "BM", w->bm, "rows of a block");
    kernel_constant(g, k, "WM", 64, "rows of a warpgroup");
    kernel_constant(g, k, "BJ", w->bj, "columns at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    kernel_constant(g, k, "CONSUMERS", w->consumers, "warpgroups");
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "TILES_M", w->m_tiles, NULL);
    kernel_constant(g, k, "BATCHES", f->batches, NULL);
    if (w->group > 1)
        kernel_constant(g, k, "GROUP", w->group,
                        "of the batch that run together");
    if (w->pack)
        kernel_constant(g, k, "COLS", w->pack, "that a warp stores at a time");
    kernel_constant(g, k, "ROWS_BYTES", (int64_t)w->bm * w->d_boxes * 128,
                    "");
    kernel_constant(g, k, "FIRST_BYTES", col * w->d_boxes, "");
    kernel_constant(g, k, "SECOND_BYTES", col * w->n_boxes,
                    "that TMA brings at a time");
}

static void shared_memory(ChainKernel *w)
{
    Arena *a = w->b.g->arena;
    Graph *g = w->b.g;
    const char *type = type_cname(w->f->elem);

    kernel_smem(g, w->k, 1024,
                arena_printf(a, "%s %s_tile[%d][BM][64]", type, w->id[0],
                             w->d_boxes), NULL);
    kernel_smem(g, w->k, 1024,
                arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                             w->id[1], w->d_boxes), NULL);
    kernel_smem(g, w->k, 1024,
                arena_printf(a, "%s %s_tile[STAGES][%d][BJ][64]", type,
                             w->id[2], w->n_boxes), NULL);
    if (w->pack)
        kernel_smem(g, w->k, 128,
                    arena_printf(a, "%s out_rows[CONSUMERS * 4][16][COLS]",
                                 type_cname(w->out_type)), NULL);
    kernel_smem(g, w->k, 8, "uint64_t rows_full", NULL);
    kernel_smem(g, w->k, 8, "uint64_t first_full[STAGES], first_empty[STAGES]",
                NULL);
    kernel_smem(g, w->k, 8,
                "uint64_t second_full[STAGES], second_empty[STAGES]", NULL);
}

/* ---- tensor maps ----------------------------------------------------- */

typedef struct Uses {
    const Tensor *t;
    bool found;
} Uses;

static void find_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->found |= e->kind == E_READ && e->tensor == u->t;
}

/* Whether the kernel touches t other than through a map. */
static bool touches(const ChainKernel *w, const Tensor *t)
{
    const Group *second = w->f->chain->second;
    Uses u = {t, false};

    expr_visit(w->f->rows.body, find_use, &u);
    if (w->f->rows.after)
        expr_visit(w->f->rows.after, find_use, &u);
    for (int i = 0; i < second->n_step; i++) {
        if (second->step[i].op == R_NONE)
            expr_visit(second->step[i].value, find_use, &u);
        u.found |= second->step[i].tensor == t;
    }
    return u.found;
}

/* `rows` of the box along `axis`, and 64 neighbours. */
static void add_map(ChainKernel *w, const TmaOperand *o, const char *id,
                    const Axis *axis, int rows)
{
    Kernel *k = w->k;
    const Tensor *t = o->op->read->tensor;
    TileMap *m = &k->map[k->n_map++];

    *m = (TileMap){.name = arena_printf(w->b.g->arena, "%s_map", id),
                   .offset = o->offset, .rank = o->rank, .swizzle = true};
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor == t) {
            m->arg = i;
            k->arg[i].mapped = !touches(w, t);
        }
    for (int d = 0; d < o->rank; d++) {
        const TmaDim *dim = &o->dim[d];
        int box = d == 0 ? 64 : dim->axis == axis ? rows : 1;
        m->dim[d] = dim->extent;
        m->stride[d] = dim->stride * type_bytes(t->type);
        m->box[d] = box * dim->step;
        m->step[d] = dim->step;
    }
}

static const Axis *axis_with(const Axes *side, const Var *v)
{
    for (int i = 0; i < side->n; i++)
        for (int j = 0; j < side->axis[i].n; j++)
            if (side->axis[i].v[j] == v)
                return &side->axis[i];
    return NULL;
}

/* The number of an axis from its digits' names. */
static void name_axis(ChainKernel *w, const Axis *a)
{
    IdxPool *p = w->b.g->pool;
    const Idx *e = idx_const(p, 0);
    int64_t radix = 1;
    Buf b = {0};

    if (a->n == 1)
        return;
    for (int i = a->n - 1; i >= 0; i--) {
        e = idx_add(p, e, idx_scale(p, idx_var(p, a->v[i]), radix));
        radix *= a->v[i]->extent;
    }
    cprint_idx(&b, &w->b.cp, e, 2);
    cprint_name(&w->b.cp, a->linear, buf_take(&b, w->b.g->arena));
}

/* The copies of a tile: a box for each 64 neighbours, which are along `fast`,
 * at `origin` along `axis`. */
static const char *put_copies(ChainKernel *w, const Tma *t, const TmaOperand *o,
                              const char *id, int boxes, const char *slot,
                              const Var *fast, const Var *along,
                              const char *origin, const char *barrier)
{
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Buf b = {0};

    cprint_name(cp, along, origin);
    cprint_name(cp, fast, boxes > 1 ? "c * 64" : "0");
    for (int i = 0; i < t->m.n; i++)
        name_axis(w, &t->m.axis[i]);
    if (boxes > 1)
        buf_printf(&b, "#pragma unroll\nfor (int c = 0; c < %d; ++c)\n    ",
                   boxes);
    buf_printf(&b, "dcc_tma_load_%dd(smem.%s_tile%s[%s], &%s_map, ", o->rank,
               id, slot, boxes > 1 ? "c" : "0", id);
    for (int d = 0; d < o->rank; d++) {
        cprint_idx(&b, cp, o->dim[d].at, 0);
        buf_puts(&b, ", ");
    }
    buf_printf(&b, "&smem.%s);\n", barrier);
    cprint_close(cp, scope);
    return buf_take(&b, w->b.g->arena);
}

/* ---- the block's place ----------------------------------------------- */

static void put_batch(ChainKernel *w, Buf *b, const char *number)
{
    const ChainForm *f = w->f;
    int64_t below = f->batches, radix = 1;

    for (int i = 0; i < f->n_batch; i++) {
        const Var *v = f->batch[i];
        below /= v->extent;
        buf_printf(b, "const int %s = ", cprint_var(&w->b.cp, v));
        if (v->extent == 1)
            buf_puts(b, "0");
        else {
            buf_puts(b, number);
            cprint_digit(b, below, radix > 1 ? v->extent : 0);
            radix *= v->extent;
        }
        buf_puts(b, ";\n");
    }
}

static const char *place(ChainKernel *w)
{
    Buf b = {0};
    const char *number = "batch";

    if (w->f->batches == 1) {
        buf_puts(&b, "const int m0 = (TILES_M - 1 - (int)blockIdx.x) * BM;\n");
        number = "0";
    } else if (w->group > 1) {
        /* the longest first; neighbours read other columns, but few */
        buf_puts(&b, "// GROUP of the batch run together, their longest rows "
                     "first\n"
                     "const int tile = blockIdx.x;\n"
                     "const int from = tile / (GROUP * TILES_M) * GROUP;\n"
                     "const int at = tile - from * TILES_M;\n");
        buf_puts(&b, w->f->batches % w->group
                         ? "const int more = min((int)GROUP, BATCHES - from);\n"
                           "const int batch = from + at % more;\n"
                           "const int m0 = (TILES_M - 1 - at / more) * BM;\n"
                         : "const int batch = from + at % GROUP;\n"
                           "const int m0 = (TILES_M - 1 - at / GROUP) * "
                           "BM;\n");
    } else {
        buf_puts(&b, "const int batch = blockIdx.x / TILES_M;\n"
                     "const int m0 = blockIdx.x % TILES_M * BM;\n");
    }
    put_batch(w, &b, number);
    return buf_take(&b, w->b.g->arena);
}

/* e without the column, at the row of the tile where it is greatest; as text
 * of its quotient by d. */
static const char *greatest(ChainKernel *w, const Idx *e, int64_t d, int sign)
{
    const ChainForm *f = w->f;
    IdxPool *p = w->b.g->pool;
    CScope scope = cprint_open(&w->b.cp);
    Buf b = {0};

    e = idx_sub(p, e, idx_scale(p, idx_var(p, f->col),
                                idx_coef(e, f->col)));
    if (idx_coef(e, f->row) > 0)
        e = idx_addc(p, e, idx_coef(e, f->row) * (w->bm - 1));
    cprint_name(&w->b.cp, f->row, "m0");
    cprint_idx(&b, &w->b.cp, idx_scale(p, idx_floor(p, e, d), sign), 0);
    cprint_close(&w->b.cp, scope);
    return buf_take(&b, w->b.g->arena);
}

/* The blocks of columns from `begin` to `last` in which a score may live. */
static const char *range(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *last = "J - 1", *begin = "0";
    Buf b = {0};

    for (int i = 0; i < f->rows.live.n; i++) {
        const Idx *e = f->rows.live.cond[i].e;
        int64_t c = idx_coef(e, f->col);
        if (c < 0)
            last = arena_printf(a, "min(%s, %s)", last, greatest(w, e, -c, 1));
        if (c > 0)
            begin = arena_printf(a, "max(%s, %s)", begin,
                                 greatest(w, e, c, -1));
    }
    bool cut = strcmp(last, "J - 1"), late = strcmp(begin, "0");
    if (w->j_tiles == 1) {
        buf_puts(&b, "const int begin = 0, last = 0;  // all columns at once"
                     "\n");
    } else if (cut || late) {
        buf_puts(&b, "// blocks of columns in which there are scores\n");
        buf_printf(&b, cut ? "const int last = max(0, %s) / BJ;\n"
                           : "const int last = (%s) / BJ;\n", last);
        buf_printf(&b, late ? "const int begin = min(last, %s / BJ);\n"
                            : "const int begin = %s;\n", begin);
    } else {
        buf_puts(&b, "const int begin = 0, last = (J - 1) / BJ;\n");
    }
    return buf_take(&b, a);
}

/* ---- scores ---------------------------------------------------------- */

/* That the condition fails, where row and column are called so. */
static const char *fails(ChainKernel *w, const Idx *e, const char *row,
                         const char *col)
{
    IdxPool *p = w->b.g->pool;
    CScope scope = cprint_open(&w->b.cp);
    Guard g = guard_add(p, (Guard){0}, idx_addc(p, idx_scale(p, e, -1), -1), 0);
    Buf b = {0};

    cprint_name(&w->b.cp, w->f->row, row);
    cprint_name(&w->b.cp, w->f->col, col);
    if (g.n)
        cprint_condition(&b, &w->b.cp, g);
    cprint_close(&w->b.cp, scope);
    return buf_take(&b, w->b.g->arena);
}

static const char *or_also(Arena *a, const char *s, const char *also)
{
    return !*also ? s : *s ? arena_printf(a, "%s || %s", s, also) : also;
}

/* Where a thread's element c lies. */
static void put_element(ChainKernel *w, Buf *b, const char **row,
                        const char **col)
{
    CPrint *cp = &w->b.cp;

    *row = cprint_var(cp, w->f->row);
    *col = cprint_var(cp, w->f->col);
    buf_printf(b, "const int %s = m0 + top + lane / 4 + c / 2 %% 2 * 8;\n"
                  "const int %s = j0 + c / 4 * 8 + lane %% 4 * 2 + c %% 2;\n",
               *row, *col);
}

static const char *mask(ChainKernel *w)
{
    const ChainForm *f = w->f;
    IdxPool *p = w->b.g->pool;
    Arena *a = w->b.g->arena;
    const char *some = "", *each = "", *row, *col;
    CScope scope = cprint_open(&w->b.cp);
    Buf b = {0}, in = {0};

    put_element(w, &in, &row, &col);
    for (int i = 0; i < f->rows.live.n; i++) {
        const Idx *e = f->rows.live.cond[i].e, *least = e;
        int64_t r = idx_coef(e, f->row), c = idx_coef(e, f->col);
        least = idx_addc(p, e, (r < 0 ? r * 63 : 0) +
                                   (c < 0 ? c * (w->bj - 1) : 0));
        some = or_also(a, some, fails(w, least, "(m0 + warpgroup * 64)", "j0"));
        each = or_also(a, each, fails(w, e, row, col));
    }
    if (f->J % w->bj) {
        some = or_also(a, some, "j0 + BJ > J");
        each = or_also(a, each, arena_printf(a, "%s >= J", col));
    }
    if (*each) {
        buf_printf(&in, "if (%s)\n    score[c] = -INFINITY;\n", each);
        buf_printf(&b, "if (%s) {\n"
                       "    #pragma unroll\n"
                       "    for (int c = 0; c < BJ / 2; ++c) {\n", some);
        cprint_lines(&b, buf_text(&in), 8);
        buf_puts(&b, "    }\n}\n");
    }
    buf_free(&in);
    cprint_close(&w->b.cp, scope);
    return buf_take(&b, a);
}

static void note_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

/* What a score is besides the sum. */
static const char *value(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    const char *row, *col;
    bool reads = false;
    Buf b = {0}, in = {0}, body = {0};

    if (f->rows.body->kind == E_LOCAL) {
        cprint_close(cp, scope);
        return "";
    }
    expr_visit(f->rows.body, note_read, &reads);
    put_element(w, &in, &row, &col);
    cp->local[CHAIN_SUM] = "score[c]";
    const char *text = cprint_bind(&body, cp, f->rows.body, "t");
    bool inside = reads && (f->M % w->bm || f->J % w->bj);
    if (inside)
        buf_printf(&in, "if (%s < M && %s < J) {\n", row, col);
    cprint_lines(&in, buf_text(&body), inside ? 4 : 0);
    buf_printf(&in, "%sscore[c] = %s;\n%s", inside ? "    " : "", text,
               inside ? "}\n" : "");
    buf_puts(&b, "#pragma unroll\nfor (int c = 0; c < BJ / 2; ++c) {\n");
    cprint_lines(&b, buf_text(&in), 4);
    buf_puts(&b, "}\n");
    buf_free(&in);
    buf_free(&body);
    cprint_close(cp, scope);
    return buf_take(&b, w->b.g->arena);
}

static const char *scale(const ChainKernel *w)
{
    Buf b = {0};

    cprint_float(&b, (float)(w->f->rows.scale * M_LOG2E));
    return arena_printf(w->b.g->arena, "%s", buf_take(&b, w->b.g->arena));
}

/* What multiplies a row's sums. */
static const char *after(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Arena *a = w->b.g->arena;
    Buf b = {0}, in = {0};

    if (!f->rows.after) {
        cprint_close(cp, scope);
        return "after[r] = 1.0f;\n";
    }
    Buf times = {0};
    cprint_float(&times, (float)f->rows.scale);
    cp->local[f->rows.max] =
        arena_printf(a, "(most[r] * %s)", buf_text(&times));
    buf_free(&times);
    cp->local[f->rows.sum] = "sum[r]";
    bool uses = expr_uses(f->rows.after, f->row);
    if (uses)
        buf_printf(&b, "const int %s = min(m0 + top + lane / 4 + r * 8, M - "
                       "1);\n", cprint_var(cp, f->row));
    const char *text = cprint_bind(&in, cp, f->rows.after, "t");
    buf_printf(&b, "%safter[r] = %s;\n", buf_text(&in), text);
    buf_free(&in);
    cprint_close(cp, scope);
    return buf_take(&b, a);
}

/* ---- epilogue -------------------------------------------------------- */

static void put_bounds(ChainKernel *w, Buf *b, const char *column)
{
    bool rows = w->f->M % w->bm, columns = w->f->N % w->bn;

    if (rows || columns)
        buf_printf(b, "if (%s%s%s%s)\n    continue;\n", rows ? "m >= M" : "",
                   rows && columns ? " || " : "", columns ? column : "",
                   columns ? " >= N" : "");
}

static void place_pair(Contract *x, Buf *b)
{
    ChainKernel *w = (ChainKernel *)x; /* x is its first member */

    x->sum = "(acc[0][j * (COLS / 2) + q * 2 + e] * after[q % 2])";
    buf_puts(b, "const int m = m0 + top + q % 2 * 8 + lane / 4;\n"
                "const int n = j * COLS + q / 2 * 8 + lane % 4 * 2;\n");
    put_bounds(w, b, "n");
}

static void place_piece(Contract *x, Buf *b)
{
    buf_printf(b, "const int m = m0 + top + line;\n"
                  "const int n = %s;\n",
               x->lines ? "j * COLS" : "j * COLS + piece * 8");
    put_bounds((ChainKernel *)x, b, "n");
}

static void place_point(Contract *x, Buf *b)
{
    x->sum = arena_printf(x->g->arena, "(acc[0][j * 4 + i %% 2 * 2 + %s] * "
                                       "after[i %% 2])",
                          x->vec >= 2 ? "e" : "c");
    buf_printf(b, "const int m = m0 + top + i %% 2 * 8 + lane / 4;\n"
                  "const int n = j * 8 + lane %% 4 * 2%s;\n",
               x->vec >= 2 ? "" : " + c");
    put_bounds((ChainKernel *)x, b, "n");
}

static const char by_pieces[] =
    "#pragma unroll 2  // more addresses would not fit\n"
    "for (int q = 0; q < COLS / 16; ++q) {\n"
    "    const int line = (q * 32 + lane) / (COLS / 8);\n"
    "    const int piece = lane % (COLS / 8);\n"
    "    @PIECE@\n"
    "}\n";
static const char by_lines[] =
    "#pragma unroll 8\n"
    "for (int line = 0; line < 16; ++line) {\n"
    "    @PIECE@\n"
    "}\n";

static const char *packed(ChainKernel *w)
{
    Contract *x = &w->b;
    Buf pairs = {0}, pieces = {0}, ahead = {0}, loop = {0}, b = {0};

    contract_pairs(x, &pairs, place_pair, "packed[q / 4][q % 4]", &ahead, 0);
    contract_pieces(x, &pieces, place_piece,
                    x->lines ? "out"
                             : "&out[line][dcc_packed_at<COLS>(line, piece)]");
    tree_print(&loop, QUOTE(x->g->arena, x->lines ? by_lines : by_pieces,
                            FILL("PIECE", buf_text(&pieces))));
    Slot slot[] = {{"WARP", "warpgroup * 4 + warp"}, {"WIDTH", "BN"},
                   {"PAIRS", buf_text(&pairs)}, {"PIECES", buf_text(&loop)}};
    template_fill(&b, "chain_wgmma_packed.cu.in", slot, 4);
    buf_free(&loop);
    buf_free(&pairs);
    buf_free(&pieces);
    buf_free(&ahead);
    return buf_take(&b, x->g->arena);
}

static const char *direct(ChainKernel *w)
{
    Contract *x = &w->b;
    Buf points = {0}, inner = {0}, b = {0};

    contract_points(x, &points, 2, place_point, NULL);
    if (x->vec < 2) {
        buf_puts(&inner, "#pragma unroll\nfor (int c = 0; c < 2; ++c) {\n");
        cprint_lines(&inner, buf_text(&points), 4);
        buf_puts(&inner, "}\n");
    } else {
        buf_puts(&inner, buf_text(&points));
    }
    Slot slot[] = {{"POINTS", buf_text(&inner)}, {"WIDTH", "BN"}};
    template_fill(&b, "contract_wgmma_pairs.cu.in", slot, 2);
    buf_free(&points);
    buf_free(&inner);
    return buf_take(&b, x->g->arena);
}

/* ---- the whole ------------------------------------------------------- */

static const char *registers(const ChainKernel *w, bool consumer)
{
    int most = w->consumers == 3 ? 160 : 240;
    int rest = w->consumers == 3 ? 32 : 24;

    if (w->consumers == 1)
        return "";
    return arena_printf(w->b.g->arena, "dcc_registers_%s<%d>();\n",
                        consumer ? "grow" : "shrink", consumer ? most : rest);
}

static const char *prefetch(const ChainKernel *w)
{
    const char *s = "";

    for (int i = 0; i < w->k->n_map; i++)
        s = arena_printf(w->b.g->arena, "%sdcc_tma_prefetch_map(&%s);\n", s,
                         w->k->map[i].name);
    return s;
}

static void maps(ChainKernel *w)
{
    const ChainForm *f = w->f;
    const Axis *row = axis_with(&f->ta.m, f->row);

    add_map(w, &f->ta.a, w->id[0], row, w->bm);
    add_map(w, &f->ta.b, w->id[1], axis_with(&f->ta.n, f->col), w->bj);
    add_map(w, &f->tb.b, w->id[2], axis_with(&f->tb.k, f->col), w->bj);
}

static const char *loop(ChainKernel *w)
{
    bool turns = w->consumers > 1;
    Buf b = {0};
    Slot slot[] = {
        {"TURN", turns ? "dcc_barrier_sync(1 + warpgroup, 256);  // its turn\n"
                       : ""},
        {"PASS", turns ? "dcc_barrier_arrive(1 + (warpgroup + 1) % CONSUMERS, "
                         "256);\n"
                       : ""}};

    if (w->j_tiles == 1)
        return "";
    template_fill(&b, "chain_wgmma_loop.cu.in", slot, 2);
    return buf_take(&b, w->b.g->arena);
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *type = type_name(f->elem), *places = place(w);
    const Var *k = f->ta.k.axis[0].linear, *n = f->tb.n.axis[0].linear;
    bool turns = w->consumers > 1 && w->j_tiles > 1;
    Slot slot[] = {
        {"PLACE", places},
        {"RANGE", range(w)},
        {"PREFETCH", prefetch(w)},
        {"SHRINK", registers(w, false)},
        {"GROW", registers(w, true)},
        {"WAIT", kernel_wait(w->k)},
        {"CONSUMER_WAIT", w->k->waits
                              ? "dcc_grid_wait();  // results, and what scores "
                                "read\n" : ""},
        {"LOAD_ROWS", put_copies(w, &f->ta, &f->ta.a, w->id[0], w->d_boxes, "",
                                 k, f->row, "m0", "rows_full")},
        {"LOAD_FIRST", put_copies(w, &f->ta, &f->ta.b, w->id[1], w->d_boxes,
                                  "[first_slot]", k, f->col, "j0",
                                  "first_full[first_slot]")},
        {"LOAD_SECOND", put_copies(w, &f->tb, &f->tb.b, w->id[2], w->n_boxes,
                                   "[slot]", n, f->col, "j0",
                                   "second_full[slot]")},
        {"ROWS_A", arena_printf(a, "dcc_wgmma_k_major(smem.%s_tile[0]"
                                   "[warpgroup * 64])", w->id[0])},
        {"FIRST_B", arena_printf(a, "dcc_wgmma_k_major(smem.%s_tile[0])",
                                 w->id[1])},
        {"SECOND_B", arena_printf(a, "dcc_wgmma_mn_major(smem.%s_tile[0], "
                                     "BJ * 128)", w->id[2])},
        {"FIRST_TILE", arena_printf(a, "%s_tile", w->id[1])},
        {"SECOND_TILE", arena_printf(a, "%s_tile", w->id[2])},
        {"FIRST", arena_printf(a, "dcc_wgmma_m64n%dk16_%s<0, 0>", w->bj,
                               type)},
        {"SECOND", arena_printf(a, "dcc_wgmma_m64n%dk16_%s_regs<1>", w->bn,
                                type)},
        {"SECOND_STEP", "kk * 128"},
        {"SCALE", scale(w)},
        {"VALUE", value(w)},
        {"MASK", mask(w)},
        {"ROUND", f->elem == T_F16 ? "dcc_to_f16" : "dcc_to_bf16"},
        {"OPEN", turns ? "// the warpgroups take turns\n"
                         "if (warpgroup == CONSUMERS - 1)\n"
                         "    dcc_barrier_arrive(1, 256);\n" : ""},
        {"LOOP", loop(w)},
        {"AFTER", after(w)},
        {"EPILOGUE", w->pack ? packed(w) : direct(w)},
    };
    Buf b = {0};

    template_fill(&b, "chain_wgmma.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(w->b.g, w->k, "setup", &b);
    buf_free(&b);
}

static void finish(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Kernel *k = w->k;

    k->grid[0] = (int)(w->m_tiles * f->batches);
    k->grid[1] = k->grid[2] = 1;
    k->block = w->threads;
    k->cluster = 1;
    k->smem_bytes = w->smem;
    k->min_blocks = w->resident;
    k->flops = 2.0 * (double)f->M * (double)f->J * (double)(f->D + f->N) *
               (double)f->batches * f->share;
    k->bytes = f->hbm;
    k->family = "chain_wgmma";
    k->min_arch = "sm_90a";
    k->where = arena_array(w->b.g->arena, const char *, k->group->n_step);
}

void chain_build(ChainKernel *w, Group *gr, Kernel *k)
{
    const Group *second = w->f->chain->second;

    w->k = w->b.kernel = k;
    w->b.width = "BN";
    kernel_set_args(w->b.g, gr, k);
    for (int i = 0; i < second->n_step; i++)
        if (second->step[i].tensor)
            w->out_type = second->step[i].tensor->type;
    name_all(w);
    constants(w);
    shared_memory(w);
    maps(w);
    put_kernel(w);
    finish(w);
}
