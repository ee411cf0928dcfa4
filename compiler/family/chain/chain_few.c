#include "emit/cprint_old.h"
#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* Chains of few rows, such as attention of one new token over a long past: the
 * columns are what is read, at memory speed. All rows that share columns, up to
 * 16, are a warp's; warps and blocks have different columns, and what they have
 * of each row in the end is merged in their order: through the shared memory of
 * a cluster, or through the workspace by the last block. From sm_80 on. */

enum { K_BJ, K_WARPS, K_STAGES, K_SPLIT };
enum { ROWS = 16, PAD = 8 /* elements behind a row */, MOST_CLUSTER = 8 };

/* ---- the form -------------------------------------------------------- */

static bool among(const Var *const *v, int n, const Var *x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* As many of the rows that the first product's columns do not use as a warp can
 * have, as a set of c->m. */
static unsigned most_rows(ChainForm *f)
{
    const Contraction *c = &f->b.c;
    unsigned best = 0;

    f->M = 1;
    for (unsigned set = 1; set < 1u << c->n_m; set++) {
        int64_t rows = 1;
        for (int i = 0; i < c->n_m && rows; i++)
            if (set >> i & 1)
                rows = among(f->a.c.m, f->a.c.n_m, c->m[i]) && rows <= ROWS
                           ? rows * c->m[i]->extent
                           : 0;
        if (rows > f->M && rows <= ROWS) {
            best = set;
            f->M = rows;
        }
    }
    return best;
}

/* The other rows are of the batch. */
static const char *split_rows(ChainForm *f)
{
    Contraction *c = &f->b.c;
    const Var *row[MAX_RANK];
    unsigned set = most_rows(f);
    int n = 0;

    for (int i = 0; i < c->n_m; i++) {
        if (set >> i & 1)
            row[n++] = c->m[i];
        else if (c->n_batch == MAX_RANK)
            return "more than 8 variables of one kind";
        else
            c->batch[c->n_batch++] = c->m[i];
    }
    memcpy(c->m, row, sizeof *row * (size_t)n);
    c->n_m = n;
    c->M = f->M;
    f->batches = 1;
    for (int i = 0; i < c->n_batch; i++) {
        f->batch[f->n_batch++] = c->batch[i];
        f->batches *= c->batch[i]->extent;
    }
    c->batches = f->batches;
    return f->batches > (1 << 20) ? "more than 2^20 independent rows" : NULL;
}

/* All rows are had from one number. */
static void number_rows(ChainForm *f)
{
    IdxPool *p = f->a.g->pool;
    Side *s = &f->b.m;
    int64_t radix = 1;

    s->v = f->b.c.m;
    s->n = f->b.c.n_m;
    s->extent = f->M;
    s->linear = idx_new_var(p, "m", f->M);
    for (int i = s->n - 1; i >= 0; i--) {
        const Idx *e = idx_floor(p, idx_var(p, s->linear), radix);
        radix *= s->v[i]->extent;
        s->sub[i] = (Subst){s->v[i], i ? idx_mod(p, e, s->v[i]->extent) : e};
    }
    f->row = s->linear;
    f->a.c.a.offset = idx_subst(p, f->a.c.a.offset, s->sub, s->n);
}

/* Values on the rows' number. */
static void substitute(ChainForm *f)
{
    Graph *g = f->a.g;
    const Side *s = &f->b.m;

    f->reach = f->rows.live;
    f->rows.live = guard_subst(g->pool, f->rows.live, s->sub, s->n);
    f->rows.body = expr_subst(g, f->rows.body, s->sub, s->n);
    if (f->rows.after)
        f->rows.after = expr_subst(g, f->rows.after, s->sub, s->n);
}

static const char *check_factors(const ChainForm *f)
{
    const Contraction *a = &f->a.c, *b = &f->b.c;

    if (f->D > 256 || f->N > 256)
        return "more than 256 columns of a factor";
    if (f->J > (1 << 24))
        return "more than 2^24 columns";
    if (a->n_k != 1 || b->n_n != 1 || a->n_n != 1 || a->n[0] != f->col)
        return "columns that are not one number";
    for (int i = 0; i < b->n_m; i++)
        if (guard_uses(a->a.in, b->m[i]))
            return "rows that are not all there";
    if (!chain_in_pieces(f, &a->a, a->k[0]) ||
        !chain_in_pieces(f, &a->b, a->k[0]) ||
        !chain_in_pieces(f, &b->b, b->n[0]))
        return "factors that are no pieces of 16 bytes";
    return NULL;
}

static const char *open_few(ChainForm *f, Graph *g, const Group *gr,
                            const Options *o)
{
    const char *why = o->device->sm < 80 ? "needs sm_80"
                                         : chain_products(f, g, gr, o);

    if (!why && (!f->a.c.a.read || !f->a.c.b.read || !f->b.c.b.read))
        why = "a factor that is computed";
    if (!why)
        why = split_rows(f);
    if (why)
        return why;
    f->few = true;
    number_rows(f);
    if (!(why = check_factors(f)) && !(why = chain_find_rows(f)))
        substitute(f);
    f->share = 1;
    return why;
}

static const char *applicable(Graph *g, const Group *gr, const Options *o)
{
    return open_few(arena_new_of(g->arena, ChainForm), g, gr, o);
}

/* ---- variants -------------------------------------------------------- */

static int round_up(int64_t n, int to)
{
    return (int)((n + to - 1) / to * to);
}

static bool by_cluster(const ChainKernel *w)
{
    return w->group > 1 && w->group <= MOST_CLUSTER &&
           w->f->a.o->device->sm >= 90 && w->bn % (2 * w->group) == 0;
}

/* Here `consumers` are warps, and `group` blocks share a row's columns. */
static const char *plan(ChainKernel *w, const ChainForm *f, const Variant *v)
{
    const Device *d = f->a.o->device;

    memset(w, 0, sizeof *w);
    w->f = f;
    w->b = f->b;
    w->bj = v->knob[K_BJ];
    w->consumers = v->knob[K_WARPS];
    w->stages = v->knob[K_STAGES];
    w->group = v->knob[K_SPLIT];
    w->bm = ROWS;
    w->row_at = "0";
    w->slot = w->bj * w->consumers;
    w->bn = round_up(f->N, 16);
    w->m_tiles = 1;
    w->j_tiles = round_up(f->J, w->slot) / w->slot;
    w->threads = w->consumers * 32;
    w->b.t = (Tile){.bm = ROWS,
                    .bn = w->bn,
                    .bk = w->bj,
                    .stages = w->stages,
                    .split = 1,
                    .threads = w->threads};
    int row = round_up(f->D, 16) + PAD;
    int ring = w->slot * w->stages * (row + w->bn + PAD) * 2;
    int part = w->consumers * (int)f->M * (8 + w->bn * 4);
    w->smem = (size_t)(ROWS * row * 2 + ring + part + 16);
    w->regs = w->bj / 2 + w->bj / 4 + w->bn / 2 + 72;
    if (w->smem > (size_t)d->smem_block_kb * 1024)
        return "more shared memory than a block may have";
    if (w->regs > 250)
        return "more registers than a thread may have";
    if (w->group > w->j_tiles)
        return "more blocks than blocks of columns";
    w->resident = (w->regs <= 128 ? 512 : 256) / w->threads;
    while (w->resident > 1 && (size_t)w->resident * (w->smem + 1024) >
                                  (size_t)d->smem_sm_kb * 1024)
        w->resident--;
    return (double)f->batches * w->group > 1 << 24 ? "more than 2^24 blocks"
                                                   : NULL;
}

static int space(Graph *g, const Group *gr, const Options *o, Variant **out)
{
    static const int split[] = {1, 2, 4, 8, 16, 32, 64, 128};
    ChainForm *f = arena_new_of(g->arena, ChainForm);
    Variant *v = arena_array(g->arena, Variant, 8 * 12);
    int n = 0;

    if (open_few(f, g, gr, o))
        return 0;
    for (int i = 0; i < 8 * 12; i++) {
        ChainKernel w;
        Variant *x = &v[n];
        x->knob[K_SPLIT] = split[i / 12];
        x->knob[K_WARPS] = i % 2 ? 8 : 4;
        x->knob[K_BJ] = i / 2 % 2 ? 32 : 16;
        x->knob[K_STAGES] = 2 + i / 4 % 3;
        x->form = f;
        if (plan(&w, f, x))
            continue;
        x->text = arena_printf(g->arena, "bj=%d warps=%d stages=%d split=%d",
                               w.bj, w.consumers, w.stages, w.group);
        n++;
    }
    *out = v;
    return n;
}

/* ---- cost ------------------------------------------------------------ */

/* Clocks: of a warp's step beside its loads, and of a merge: in a block, in a
 * cluster, through memory. Bytes that an SM reads in one: on an H200 half of
 * the SMs read 2360 GB/s with one step under way, 2600 with two or more. */
enum { STEP = 450, STEP_16 = 200, SM_BYTES = 23, MERGE = 250, MEET = 900,
       MEMORY = 3000 };

static void cost(Graph *g, const Group *gr, const Options *o, const Variant *v,
                 Cost *c)
{
    const ChainForm *f = v->form;
    const Device *d = o->device;
    ChainKernel w;

    (void)g;
    (void)gr;
    if ((c->why = plan(&w, f, v)))
        return;
    c->coef_r = 1;
    double clk = d->clock_ghz * 1e3, blocks = (double)f->batches * w.group;
    double sms = by_cluster(&w) && w.group > 2 ? d->cluster_sms : d->sms;
    double at_once = fmin(w.resident, ceil(blocks / sms));
    double rounds = ceil(blocks / (sms * w.resident));
    double steps = ceil(w.j_tiles / (double)w.group);
    double bytes = w.slot * (double)(f->D + f->N) * 2; /* of a block's step */
    double flight = fmin(steps, w.stages - 1) * bytes * at_once;
    double rate = fmin(w.stages > 2 ? SM_BYTES : 0.9 * SM_BYTES,
                       flight / d->hbm_latency);
    double step = fmax(at_once * bytes / rate,
                       STEP + STEP_16 * w.bj / 16 * fmax(1, at_once *
                           w.consumers / 8));
    double merge = MERGE + 12.0 * w.consumers * w.group +
                   (w.group == 1 ? 0 : by_cluster(&w) ? MEET : MEMORY);
    double busy = rounds * steps * step / clk;
    c->hbm = f->hbm / (d->hbm_gbs * 1e3);
    double read = (double)f->batches * (double)f->J * (double)(f->D + f->N) * 2;
    c->l2 = fmax(read, f->hbm) / (d->l2_gbs * 1e3);
    c->latency = rounds * (2.4 * d->hbm_latency + merge) / clk;
    c->us = d->launch_us + c->latency + fmax(busy, fmax(c->hbm, c->l2));
    c->math = 2.0 * ROWS * (double)f->J * (double)(f->D + w.bn) *
              (double)f->batches / (d->mma_tflops * 1e6);
    c->special = (double)ROWS * (double)f->J * (double)f->batches *
                 (f->rows.softmax + f->special) / (d->special_gops * 1e3);
    c->limiter = fmax(c->hbm, c->l2) <= busy ? "latency"
                 : c->hbm > c->l2           ? "HBM"
                                            : "L2";
    c->gm_ratio = c->sm_ratio = 1;
    c->wb_ratio = blocks / (d->sms * w.resident) /
                  ceil(blocks / (d->sms * (double)w.resident));
    c->pul = c->math / c->us;
    c->blocks = blocks;
    c->threads = w.threads;
    c->regs = w.regs;
    c->smem_block = (double)w.smem;
}

/* ---- building -------------------------------------------------------- */

static void constants(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Graph *g = w->b.g;
    Kernel *k = w->k;

    kernel_constant(g, k, "M", f->M, "rows");
    kernel_constant(g, k, "N", f->N, f->b.c.n[0]->name);
    kernel_constant(g, k, "J", f->J, f->col->name);
    kernel_constant(g, k, "BJ", w->bj, "columns of a warp at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    kernel_constant(g, k, "WARPS", w->consumers, NULL);
    kernel_constant(g, k, "THREADS", w->threads, NULL);
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "SPLIT", w->group, "blocks that share the columns");
    kernel_constant(g, k, "COLS", by_cluster(w) ? w->bn / w->group : w->bn,
                    "of the result that a block finishes");
    kernel_constant(g, k, "PAD", PAD, "lines fall on different banks");
}

static void shared_memory(ChainKernel *w)
{
    static const char *const lines[] = {"[16][K_STEPS * 16 + PAD]",
                                        "[WARPS][STAGES][BJ][K_STEPS * 16 + "
                                        "PAD]",
                                        "[WARPS][STAGES][BJ][BN + PAD]"};
    Graph *g = w->b.g;

    for (int i = 0; i < 3; i++)
        kernel_smem(g, w->k, 16,
                    arena_printf(g->arena, "%s %s_tile%s",
                                 type_cname(w->f->elem), w->id[i], lines[i]),
                    NULL);
    kernel_smem(g, w->k, 16, "dcc_part<WARPS, M, BN> part", NULL);
    if (w->group > 1 && !by_cluster(w))
        kernel_smem(g, w->k, 4, "int is_last", NULL);
}

static const char *place(ChainKernel *w)
{
    Buf b = {0};

    if (w->group > 1)
        buf_puts(&b, "const int part = blockIdx.x % SPLIT;\n"
                     "const int batch = blockIdx.x / SPLIT;\n");
    else
        buf_puts(&b, "const int batch = blockIdx.x;\n");
    chain_batch(w, &b, "batch");
    return buf_take(&b, w->b.g->arena);
}

/* The quotient by d of what the condition leaves for columns, in the row where
 * it is greatest. */
static const char *reached(ChainKernel *w, const Idx *e, int64_t d, int sign)
{
    const Side *s = &w->f->b.m;
    IdxPool *p = w->b.g->pool;
    const Var *col = w->f->col;
    Buf b = {0};

    e = idx_sub(p, e, idx_scale(p, idx_var(p, col), idx_coef(e, col)));
    for (int i = 0; i < s->n; i++) {
        bool rises = idx_coef(e, s->v[i]) > 0;
        Subst at = {s->v[i], idx_const(p, rises ? s->v[i]->extent - 1 : 0)};
        e = idx_subst(p, e, &at, 1);
    }
    cprint_idx(&b, &w->b.cp, idx_scale(p, idx_floor(p, e, d), sign), 0);
    return buf_take(&b, w->b.g->arena);
}

static const char *range(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *last = "J - 1", *first = "0";
    Buf b = {0};

    for (int i = 0; i < f->reach.n; i++) {
        const Idx *e = f->reach.cond[i].e;
        int64_t c = idx_coef(e, f->col);
        if (c < 0)
            last = arena_printf(a, "min(%s, %s)", last, reached(w, e, -c, 1));
        if (c > 0)
            first = arena_printf(a, "max(%s, %s)", first, reached(w, e, c, -1));
    }
    bool cut = strcmp(last, "J - 1"), late = strcmp(first, "0");
    if (!cut && !late && w->group == 1)
        return "const int begin = 0, end = (J - 1) / (WARPS * BJ) + 1;\n";
    buf_puts(&b, cut || late ? "// blocks of columns in which there are "
                               "scores, and those of this part\n"
                             : "// the blocks of columns of this part\n");
    buf_printf(&b,
               cut ? "const int last = max(0, %s) / (WARPS * BJ);\n"
                   : "const int last = (%s) / (WARPS * BJ);\n",
               last);
    buf_printf(&b,
               late ? "const int first = min(last, %s / (WARPS * BJ));\n"
                    : "const int first = %s;\n",
               first);
    buf_puts(&b,
             w->group == 1
                 ? "const int begin = first, end = last + 1;\n"
                 : "const int begin = first + (last + 1 - first) * part / SPLIT"
                   ";\nconst int end = first + (last + 1 - first) * (part + 1) "
                   "/ SPLIT;\n");
    return buf_take(&b, a);
}

static const char *after(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Buf b = {0};

    if (f->rows.after) {
        cprint_name(cp, f->row, "m");
        if (f->rows.softmax) {
            cp->local[f->rows.sum] = "all.sum";
            cp->local[f->rows.max] = chain_greatest(w, "all.most");
        }
        const char *text = cprint_bind(&b, cp, f->rows.after, "t");
        buf_printf(&b, "const float after = %s;\n", text);
    }
    cprint_close(cp, scope);
    return buf_take(&b, w->b.g->arena);
}

static void put_point(Contract *x, Tree *b)
{
    ChainKernel *w = (ChainKernel *)x; /* x is its first member */
    const char *column = x->vec >= 2 ? "e" : "c";

    x->sum = arena_printf(x->g->arena,
                          w->f->rows.after ? "(all.v[%s] * after)"
                                           : "all.v[%s]",
                          column);
    if (x->vec < 2)
        PUT(b, "const int n = n0 + c;\n");
    if (w->f->N % w->bn)
        PUT(b, "if (n >= N)\n"
               "    continue;\n");
}

/* The loop over a block's results: of which parts each is. */
static const char *finish_rows(ChainKernel *w, const char *join,
                               const char *parts, const char *from)
{
    Contract *x = &w->b;
    Arena *a = x->g->arena;
    Tree *points = tree_list(a);
    Buf b = {0};

    contract_points(x, points, 2, put_point, NULL);
    if (x->vec < 2)
        points = QUOTE(a,
                       "#pragma unroll\n"
                       "for (int c = 0; c < 2; ++c) {\n"
                       "    @POINTS\n"
                       "}\n",
                       FILL_TREE("POINTS", points));
    tree_print(&b, TEMPLATE(a, "chain_few_merge.cu.in",
                            FILL("COLUMN", x->vec >= 2 ? "n" : "n0"),
                            FILL("FROM", from), FILL("JOIN", join),
                            FILL("PARTS", parts), FILL("AFTER", after(w)),
                            FILL_TREE("POINTS", points)));
    return buf_take(&b, a);
}

static const char *merge(ChainKernel *w)
{
    Arena *a = w->b.g->arena;

    if (w->group == 1)
        return arena_printf(a, "__syncthreads();\n%s",
                            finish_rows(w, "1, false", "&smem.part", "0"));
    if (by_cluster(w))
        return arena_printf(a,
                            "dcc_cluster_sync();\n%sdcc_cluster_sync();  // "
                            "others may read\n",
                            finish_rows(w, "SPLIT, true", "&smem.part",
                                        "part * COLS"));
    return arena_printf(
        a,
        "__syncthreads();\n"
        "// Each part leaves its rows in the workspace; the last to arrive "
        "joins them,\n"
        "// in their order whoever it is.\n"
        "auto *const parts =\n"
        "    reinterpret_cast<dcc_part<1, M, BN> *>(workspace) + batch * SPLIT;"
        "\n"
        "dcc_leave_part<THREADS>(parts[part], smem.part, scale);\n"
        "if (!dcc_last_of(SPLIT, &counters[batch], &smem.is_last))\n"
        "    return;\n%s",
        finish_rows(w, "SPLIT, false", "parts", "0"));
}

static const char *state(ChainKernel *w)
{
    const char *s = chain_state(w);

    return arena_printf(w->b.g->arena,
                        *s ? "%smost[0] = most[1] = -INFINITY;\n"
                             "sum[0] = sum[1] = 0.0f;\n"
                           : "%sconst float scale = 1.0f;\n"
                             "float most[2] = {}, sum[2] = {};\n",
                        s);
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *tile[3];

    for (int i = 0; i < 3; i++)
        tile[i] = arena_printf(a, "%s_tile", w->id[i]);
    const char *at = place(w);
    Slot slot[] = {
        {"PLACE", at},
        {"RANGE", range(w)},
        {"WAIT", kernel_wait(w->k)},
        {"LOAD_ROWS", chain_piece(w, &f->a.c.a, f->row, "line", "M",
                                  f->a.c.k[0], tile[0])},
        {"LOAD_FIRST",
         chain_piece(w, &f->a.c.b, f->col, "j0 + line", "J", f->a.c.k[0],
                     arena_printf(a, "%s[warp][slot]", tile[1]))},
        {"LOAD_SECOND",
         chain_piece(w, &f->b.c.b, f->col, "j0 + line", "J", f->b.c.n[0],
                     arena_printf(a, "%s[warp][slot]", tile[2]))},
        {"ROWS", tile[0]},
        {"COLUMNS", tile[1]},
        {"FACTORS", tile[2]},
        {"MMA", arena_printf(a, "dcc_mma_m16n8k16_%s", type_name(f->elem))},
        {"STATE", state(w)},
        {"VALUE", chain_value(w)},
        {"MASK", chain_mask(w)},
        {"WEIGH", chain_weigh(w)},
        {"RESCALE", chain_rescale(w)},
        {"TYPE", type_cname(f->elem)},
        {"SUMS", f->rows.softmax ? "dcc_row_sums(sum);\n" : ""},
        {"MERGE", merge(w)},
    };
    Buf b = {0};

    template_fill(&b, "chain_few.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(w->b.g, w->k, "setup", &b);
    buf_free(&b);
}

static void build(Graph *g, Group *gr, const Options *o, const Variant *v,
                  Kernel *k)
{
    ChainKernel *w = arena_new_of(g->arena, ChainKernel);
    ChainForm *f = arena_new_of(g->arena, ChainForm);

    open_few(f, g, gr, o); /* of this group's tensors */
    plan(w, f, v);
    w->k = w->b.kernel = k;
    w->b.width = "BN";
    kernel_set_args(g, gr, k);
    chain_name_all(w);
    if (w->group > 1 && !by_cluster(w)) {
        k->coop_counters = true;
        k->n_counters = (int)f->batches;
        k->workspace = (size_t)f->batches * (size_t)w->group * (size_t)f->M *
                       (size_t)(8 + w->bn * 4);
    }
    constants(w);
    shared_memory(w);
    put_kernel(w);
    k->grid[0] = (int)(f->batches * w->group);
    k->grid[1] = k->grid[2] = 1;
    k->block = w->threads;
    k->cluster = by_cluster(w) ? w->group : 1;
    k->smem_bytes = w->smem;
    k->min_blocks = w->resident;
    k->flops = 2.0 * (double)f->M * (double)f->J * (double)(f->D + f->N) *
               (double)f->batches;
    k->bytes = f->hbm;
    k->family = "chain_few";
    k->min_arch = "sm_80";
    k->where = arena_array(g->arena, const char *, gr->n_step);
}

const Family family_chain_few = {
    .name = "chain_few",
    .version = 1,
    .applicable = applicable,
    .space = space,
    .cost = cost,
    .build = build,
    .chains = true,
};
