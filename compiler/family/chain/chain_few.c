#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <string.h>

/* Chains of few rows, such as attention of one new token over a long past: the
 * columns are what is read, at memory speed. All rows that share columns, up to
 * 128, are a team's of warps, 16 rows a warp; teams and blocks have different
 * columns, and what they have of each row in the end is merged in their order:
 * through the shared memory of a cluster, and through the workspace by the last
 * to arrive there. From sm_80 on. */

enum { K_BJ, K_TEAMS, K_STAGES, K_SPLIT, K_CLUSTER };
enum {
    ROWS = 128,
    WARP_ROWS = 16,
    MOST_WARPS = 16,
    PAD = 8 /* elements behind a row */
};

/* ---- the form -------------------------------------------------------- */

/* As many of the rows that the first product's columns do not use as a team can
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
                rows = chain_among(f->a.c.m, f->a.c.n_m, c->m[i]) &&
                               rows <= ROWS
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

    if (!why && (f->chain->other || chain_parts(f->chain) > 1))
        why = "two first products, or a factor of f32";
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

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    ChainForm *f = arena_new_of(g->arena, ChainForm);

    *why = open_few(f, g, gr, o);
    f->gr = gr;
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants -------------------------------------------------------- */

/* Warps of a team. */
static int team_warps(const ChainKernel *w)
{
    return w->consumers / w->teams;
}

/* What is left of all rows' sums goes through the workspace. */
static bool by_memory(const ChainKernel *w)
{
    return w->group > w->cluster;
}

/* Bytes of dcc_sent, of all blocks of a cluster. */
static size_t sent_bytes(const ChainKernel *w)
{
    int row = 16 + chain_round_up(w->bn / w->cluster, 4) * 4;

    return (size_t)w->f->M * (size_t)(row * w->cluster);
}

bool chain_few_sends(const ChainKernel *w)
{
    enum { ROOM = 16384 };

    return w->cluster > 1 && !by_memory(w) && sent_bytes(w) <= ROOM;
}

/* Of dcc_part with one team, of so many columns of the result. */
static size_t part_bytes(const ChainForm *f, int columns)
{
    return (size_t)f->M * (8 + ((size_t)columns + 8) * 4);
}

/* How columns may be shared out. */
static const char *check_split(const ChainKernel *w)
{
    const ChainForm *f = w->f;
    size_t rows = (size_t)w->bm * (chain_round_up(f->D, 16) + PAD) * 2;
    size_t part = part_bytes(f, w->bn) * (size_t)w->teams;

    if (rows + part > w->smem)
        return "a ring that holds no rows' sums";
    if (w->group > w->j_tiles)
        return "more blocks than blocks of columns";
    if (w->cluster > 1 && (f->a.o->device->sm < 90 || w->group % w->cluster ||
                           w->bn % (2 * w->cluster)))
        return "no clusters of so many blocks";
    return (double)f->batches * w->group > 1 << 24 ? "more than 2^24 blocks"
                                                   : NULL;
}

/* Here `consumers` are warps, and `group` blocks share a row's columns. */
const char *chain_few_plan(ChainKernel *w, const ChainForm *f, const Variant *v)
{
    chain_plan_open(w, f);
    w->bj = v->knob[K_BJ];
    w->teams = v->knob[K_TEAMS];
    w->stages = v->knob[K_STAGES];
    w->group = v->knob[K_SPLIT];
    w->cluster = v->knob[K_CLUSTER];
    w->bm = chain_round_up(f->M, WARP_ROWS);
    w->consumers = w->teams * w->bm / WARP_ROWS;
    w->row_at = w->bm > WARP_ROWS ? "top" : "0";
    chain_tile(w, w->bj * w->teams, w->consumers * 32);
    int row = chain_round_up(f->D, 16) + PAD;
    w->smem = (size_t)(w->bm * row + w->slot * w->stages * (row + w->bn + PAD));
    w->smem = w->smem * 2 + 16 + (chain_few_sends(w) ? sent_bytes(w) + 8 : 0);
    w->regs = w->bj / 2 + w->bj / 4 + w->bn / 2 + 56;
    int rows = chain_round_up(f->D, 16) / 4;
    w->holds = w->regs + rows <= (w->threads > 256 ? 128 : 224);
    w->regs += w->holds ? rows : 0;
    const char *why = chain_fits(
        w, 65536 / (chain_round_up(w->regs, 8) * w->threads), 250);
    return why ? why : check_split(w);
}

/* Blocks that share the columns, and how many of them are a cluster: powers of
 * two, and as many as fill the GPU once or more. */
static int splits(const ChainForm *f, int (*out)[2])
{
    const Device *d = f->a.o->device;
    int n = 0;

    for (int cluster = 1; cluster <= 8; cluster *= 2)
        for (int i = 0; i < 14; i++) {
            double sms = cluster > 2 ? d->cluster_sms : d->sms;
            double fill = (i - 7) * sms / (double)f->batches / cluster;
            int s = (i < 8 ? 1 << i : (int)fill) * cluster, k = 0;
            while (k < n && (out[k][0] != s || out[k][1] != cluster))
                k++;
            if (k < n || s < 1 || s > 1024)
                continue;
            out[n][0] = s;
            out[n++][1] = cluster;
        }
    return n;
}

static int space(const void *form, Variant **out)
{
    enum { SPLITS = 4 * 14, TILES = 4 * 2 * 5 };
    const ChainForm *f = form;
    Graph *g = f->a.g;
    int split[SPLITS][2], n = 0;
    int n_split = splits(f, split);
    Variant v[SPLITS * TILES + 1] = {0};

    for (int i = 0; i < n_split * TILES; i++) {
        ChainKernel w;
        Variant *x = &v[n];
        x->knob[K_SPLIT] = split[i / TILES][0];
        x->knob[K_CLUSTER] = split[i / TILES][1];
        x->knob[K_TEAMS] = 1 << i % 4;
        x->knob[K_BJ] = i / 4 % 2 ? 32 : 16;
        x->knob[K_STAGES] = 2 + i / 8 % 5;
        int rows = chain_round_up(f->M, WARP_ROWS);
        int warps = x->knob[K_TEAMS] * rows / WARP_ROWS;
        if (warps > MOST_WARPS || warps < 4 || chain_few_plan(&w, f, x))
            continue;
        x->text = arena_printf(
            g->arena, "bj=%d warps=%d stages=%d split=%d cluster=%d", w.bj,
            w.consumers, w.stages, w.group, w.cluster);
        n++;
    }
    *out = family_variants(g->arena, v, n);
    return n;
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
    kernel_constant(g, k, "BJ", w->bj, "columns of a team at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    kernel_constant(g, k, "ROWS", w->bm, "whole rows of mma");
    kernel_constant(g, k, "TEAM", team_warps(w) * 32, "threads with all rows");
    kernel_constant(g, k, "TEAMS", w->teams, NULL);
    kernel_constant(g, k, "THREADS", w->threads, NULL);
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "SPLIT", w->group, "blocks that share the columns");
    kernel_constant(g, k, "CLUSTER", w->cluster, NULL);
    kernel_constant(g, k, "COLS", w->bn / w->cluster,
                    "of the result that a block finishes");
    kernel_constant(g, k, "PAD", PAD, "lines fall on different banks");
}

static void shared_memory(ChainKernel *w)
{
    static const char *const lines[] = {"[ROWS][K_STEPS * 16 + PAD]",
                                        "[TEAMS][STAGES][BJ][K_STEPS * 16 + "
                                        "PAD]",
                                        "[TEAMS][STAGES][BJ][BN + PAD]"};
    Graph *g = w->b.g;

    for (int i = 0; i < 3; i++)
        kernel_smem(g, w->k, 16,
                    arena_printf(g->arena, "%s %s_tile%s",
                                 type_cname(w->f->elem), w->id[i], lines[i]),
                    NULL);
    if (chain_few_sends(w)) {
        kernel_smem(g, w->k, 16, "dcc_sent<M, COLS> sent[CLUSTER]", NULL);
        kernel_smem(g, w->k, 8, "uint64_t arrived", NULL);
    }
    if (by_memory(w))
        kernel_smem(g, w->k, 4, "int is_last", NULL);
}

static Tree *place(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    PUT(code, w->group > 1 ? "const int part = blockIdx.x % SPLIT;\n"
                             "const int batch = blockIdx.x / SPLIT;\n"
                           : "const int batch = blockIdx.x;\n");
    chain_batch(w, code, "batch");
    if (team_warps(w) > 1)
        PUT(code, w->teams > 1
                      ? "const int team = threadIdx.x / TEAM;\n"
                        "const int member = threadIdx.x % TEAM;\n"
                        "const int top = member / 32 * 16;  // its rows\n"
                      : "const int top = warp * 16;  // its rows\n");
    if (chain_few_sends(w))
        PUT(code, "if (threadIdx.x == 0) {\n"
                  "    dcc_mbar_init(&smem.arrived, 1);\n"
                  "    dcc_fence_mbar_init();\n"
                  "    dcc_mbar_expect_tx(&smem.arrived, sizeof smem.sent);\n"
                  "}\n"
                  "dcc_cluster_arrive_relaxed();  // others may send\n");
    return code;
}

/* The quotient by d of what the condition leaves for columns, in the row where
 * it is greatest. */
static const char *reached(ChainKernel *w, const Idx *e, int64_t d, int sign)
{
    const Side *s = &w->f->b.m;
    IdxPool *p = w->b.g->pool;
    const Var *col = w->f->col;

    e = idx_sub(p, e, idx_scale(p, idx_var(p, col), idx_coef(e, col)));
    for (int i = 0; i < s->n; i++) {
        bool rises = idx_coef(e, s->v[i]) > 0;
        Subst at = {s->v[i], idx_const(p, rises ? s->v[i]->extent - 1 : 0)};
        e = idx_subst(p, e, &at, 1);
    }
    return cprint_idx(&w->b.cp, idx_scale(p, idx_floor(p, e, d), sign), 0);
}

static Tree *range(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *last = "J - 1", *first = "0";
    Tree *code = tree_list(a);

    for (int i = 0; i < f->reach.n; i++) {
        const Idx *e = f->reach.cond[i].e;
        int64_t c = idx_coef(e, f->col);
        if (c < 0)
            last = arena_printf(a, "min(%s, %s)", last, reached(w, e, -c, 1));
        if (c > 0)
            first = arena_printf(a, "max(%s, %s)", first, reached(w, e, c, -1));
    }
    for (int i = 0; i < f->rows.n_upto; i++)
        last = arena_printf(a, "min(%s, %s)", last,
                            cprint_expr(&w->b.cp, f->rows.upto[i]));
    for (int i = 0; i < f->rows.n_from; i++)
        first = arena_printf(a, "max(%s, %s)", first,
                             cprint_expr(&w->b.cp, f->rows.from[i]));
    bool cut = strcmp(last, "J - 1"), late = strcmp(first, "0");
    if (!cut && !late && w->group == 1) {
        PUT(code, "const int begin = 0, end = (J - 1) / (TEAMS * BJ) + 1;\n");
        return code;
    }
    PUT(code, cut || late ? "// blocks of columns in which there are scores, "
                            "and those of this part\n"
                          : "// the blocks of columns of this part\n");
    PUT(code,
        cut ? "const int last = max(0, @last) / (TEAMS * BJ);\n"
            : "const int last = (@last) / (TEAMS * BJ);\n",
        FILL("last", last));
    PUT(code,
        late ? "const int first = min(last, @first / (TEAMS * BJ));\n"
             : "const int first = @first;\n",
        FILL("first", first));
    PUT(code,
        w->group == 1
            ? "const int begin = first, end = last + 1;\n"
            : "const int begin = first + (last + 1 - first) * part / SPLIT;\n"
              "const int end = first + (last + 1 - first) * (part + 1) / "
              "SPLIT;\n");
    return code;
}

typedef struct Made {
    const Kernel *k;
    bool found;
} Made;

/* Whether e reads what a launch of a run may write: it is no constant, and not
 * an input for each of the kernel's launches. */
static void note_made(const Expr *e, void *ctx)
{
    Made *m = ctx;

    if (e->kind == E_READ && !tensor_is_constant(e->tensor) &&
        !kernel_of_input(m->k, e->tensor))
        m->found = true;
}

/* Whether the range is of what others may write: it waits for them. */
static bool range_waits(const ChainKernel *w)
{
    const ChainRows *r = &w->f->rows;
    Made waits = {.k = w->k};

    for (int i = 0; i < r->n_upto; i++)
        expr_visit(r->upto[i], note_made, &waits);
    for (int i = 0; i < r->n_from; i++)
        expr_visit(r->from[i], note_made, &waits);
    for (int i = 0; i < w->f->reach.n; i++) {
        const Expr *e = expr_index(w->b.g, w->f->reach.cond[i].e);
        expr_visit(e, note_made, &waits);
    }
    return waits.found;
}

/* Whether most of what o reads is there before the run, whoever may write to
 * a part of it. */
static bool is_old(const Operand *o)
{
    const Tensor *t = o->read->tensor;

    while (t->prev)
        t = t->prev;
    return t->role != ROLE_TEMP && t->role != ROLE_OUTPUT && !o->in.n;
}

/* A line of o's element in column j. */
static void ask(ChainKernel *w, Tree *b, const Operand *o, const Var *fast)
{
    IdxPool *p = w->b.g->pool;
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    const Tensor *t = o->read->tensor;
    Subst first = {fast, idx_const(p, 0)};

    if (!is_old(o))
        return;
    cprint_name(cp, w->f->col, "past");
    PUT(b, "dcc_ask_row<@bytes>(&@tensor[@at]);\n",
        FILL_INT("bytes", fast->extent * type_bytes(t->type)),
        FILL("tensor", cprint_tensor(cp, t)),
        FILL("at", cprint_element(cp, t, idx_subst(p, o->offset, &first, 1))));
    cprint_close(cp, scope);
}

/* A cache is mostly older than the launch before this one. */
static Tree *ask_early(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    Tree *rows = tree_list(a), *code = tree_list(a);

    if (!w->k->waits || range_waits(w))
        return code;
    ask(w, rows, &f->a.c.b, f->a.c.k[0]);
    ask(w, rows, &f->b.c.b, f->b.c.n[0]);
    if (!rows->n_item)
        return code;
    PUT(code,
        "// What was there before this run is on its way to the L2 meanwhile.\n"
        "for (int past = begin * (TEAMS * BJ) + threadIdx.x;\n"
        "    past < min(end * (TEAMS * BJ), J); past += THREADS) {\n"
        "    @ROWS\n"
        "}\n",
        FILL_TREE("ROWS", rows));
    return code;
}

static Tree *after(ChainKernel *w)
{
    const ChainForm *f = w->f;
    CPrint *cp = &w->b.cp;
    Tree *code = tree_list(w->b.g->arena);
    CScope scope = cprint_open(cp);

    if (f->rows.after) {
        cprint_name(cp, f->row, "m");
        if (f->rows.softmax) {
            cp->local[f->rows.sum] = "all.sum";
            cp->local[f->rows.max] = chain_greatest(w, "all.most");
        }
        const char *text = cprint_bind(code, cp, f->rows.after, "t");
        PUT(code, "const float after = @text;\n", FILL("text", text));
    }
    cprint_close(cp, scope);
    return code;
}

static void put_point(ContractBuild *x, Tree *b)
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

/* Where the results are that a merge has, and of which parts they are. */
typedef struct Merge {
    const char *join, *parts, *from, *at;
} Merge;

/* The loop over a block's results. */
static Tree *finish_rows(ChainKernel *w, const Merge *m)
{
    ContractBuild *x = &w->b;
    Arena *a = x->g->arena;
    Tree *points = chain_points(w, put_point);
    Tree *unroll = tree_list(a);
    int parts = by_memory(w) ? w->group / w->cluster
                : chain_few_sends(w) ? w->cluster
                                     : w->teams * w->cluster;

    if (parts < 16)
        PUT(unroll, "#pragma unroll @n\n", FILL_INT("n", 16 / parts));
    const char *column = x->vec >= 2 ? "n" : "n0";
    return TEMPLATE(a, "chain_few_merge.cu.in", FILL("COLUMN", column),
                    FILL_TREE("UNROLL", unroll), FILL("FROM", m->from),
                    FILL("JOIN", m->join), FILL("PARTS", m->parts),
                    FILL("AT", arena_printf(a, "%s%s", column, m->at)),
                    FILL_TREE("AFTER", after(w)), FILL_TREE("POINTS", points));
}

/* Through the workspace: of a cluster each block has other columns there. What
 * is joined is left there; the last to arrive joins that. */
static Tree *merge_memory(ChainKernel *w)
{
    bool cluster = w->cluster > 1;
    Merge m = {"SPLIT / CLUSTER, false", "parts", cluster ? "n_first" : "0",
               cluster ? " - n_first" : ""};

    return QUOTE(
        w->b.g->arena,
        cluster ? "dcc_cluster_sync();\n"
                  "// What is joined is left in the workspace; the last to "
                  "arrive joins that, in\n"
                  "// the order of the parts whoever it is.\n"
                  "const int place = batch * CLUSTER + part % CLUSTER;\n"
                  "const int n_first = part % CLUSTER * COLS;\n"
                  "auto *const parts = reinterpret_cast<dcc_part<1, M, COLS> "
                  "*>(workspace) + place * (SPLIT / CLUSTER);\n"
                  "dcc_leave_part<THREADS, CLUSTER, true>("
                  "parts[part / CLUSTER], part_rows, n_first, scale);\n"
                  "dcc_cluster_arrive();\n"
                  "const bool joins = dcc_last_of(SPLIT / CLUSTER, "
                  "&counters[place], &smem.is_last);\n"
                  "dcc_cluster_wait();  // others may have read\n"
                  "if (!joins)\n"
                  "    return;\n"
                  "@ROWS\n"
                : "__syncthreads();\n"
                  "// What is joined is left in the workspace; the last to "
                  "arrive joins that, in\n"
                  "// the order of the parts whoever it is.\n"
                  "const int place = batch;\n"
                  "auto *const parts = reinterpret_cast<dcc_part<1, M, COLS> "
                  "*>(workspace) + place * (SPLIT / CLUSTER);\n"
                  "dcc_leave_part<THREADS, CLUSTER, false>("
                  "parts[part / CLUSTER], part_rows, 0, scale);\n"
                  "if (!dcc_last_of(SPLIT, &counters[place], &smem.is_last))\n"
                  "    return;\n"
                  "@ROWS\n",
        FILL_TREE("ROWS", finish_rows(w, &m)));
}

static Tree *merge(ChainKernel *w)
{
    static const Merge block = {"1, false", "&part_rows", "0", ""};
    static const Merge sent = {"CLUSTER, false", "smem.sent", "part * COLS",
                               " - part * COLS"};
    static const Merge cluster = {"CLUSTER, true", "&part_rows", "part * COLS",
                                  ""};

    if (by_memory(w))
        return merge_memory(w);
    if (chain_few_sends(w))
        return QUOTE(w->b.g->arena,
                     "__syncthreads();\n"
                     "dcc_cluster_wait();  // others may be sent to\n"
                     "dcc_send_rows<CLUSTER, THREADS>(smem.sent, "
                     "&smem.arrived, part_rows, scale);\n"
                     "dcc_mbar_wait(&smem.arrived, 0);\n"
                     "@ROWS\n",
                     FILL_TREE("ROWS", finish_rows(w, &sent)));
    return QUOTE(
        w->b.g->arena,
        w->cluster == 1 ? "__syncthreads();\n"
                          "@ROWS\n"
                        : "dcc_cluster_sync();\n"
                          "@ROWS\n"
                          "dcc_cluster_sync();  // others may read\n",
        FILL_TREE("ROWS", finish_rows(w, w->cluster == 1 ? &block : &cluster)));
}

static Tree *state(ChainKernel *w)
{
    if (w->f->rows.softmax)
        return chain_start(w);
    return QUOTE(w->b.g->arena, "const float scale = 1.0f;\n"
                                "float most[2] = {}, sum[2] = {};\n");
}

/* A thread's pieces of a block of columns, of which each has `width` elements,
 * as `count` says: a loop, and which piece it is at. The same of each line
 * where that can be. */
typedef struct Share {
    const char *from, *to, *step;
    Tree *at;
} Share;

static Share pieces_of(const ChainKernel *w, const char *count, int64_t width)
{
    Arena *a = w->b.g->arena;
    int n = chain_round_up(width, 16) / 8, team = team_warps(w) * 32;
    const char *lane = team == 32      ? "lane"
                       : w->teams == 1 ? "(int)threadIdx.x"
                                       : "member";

    if (team % n == 0 && w->bj % (team / n) == 0)
        return (Share){"0", "BJ", arena_printf(a, "TEAM / (%s)", count),
                        QUOTE(a,
                              "const int line = x + @lane / (@count), "
                              "piece = @lane % (@count);\n",
                              FILL("lane", lane), FILL("count", count))};
    return (Share){lane, arena_printf(a, "BJ * (%s)", count), "TEAM",
                    QUOTE(a,
                          "const int line = x / (@count), "
                          "piece = x % (@count);\n",
                          FILL("count", count))};
}

/* The rows in registers, or one piece of them. */
static Tree *row_pieces(const ChainKernel *w, bool all)
{
    return QUOTE(w->b.g->arena,
                 all ? "uint32_t held[K_STEPS][4];  // the rows\n"
                       "#pragma unroll\n"
                       "for (int kk = 0; kk < K_STEPS; ++kk)\n"
                       "    dcc_ldmatrix_x4(held[kk], &smem.@id@_tile"
                       "[@row_at + lane % 16][kk * 16 + lane / 16 * 8]);\n"
                     : "uint32_t a[4];\n"
                       "dcc_ldmatrix_x4(a, &smem.@id@_tile"
                       "[@row_at + lane % 16][kk * 16 + lane / 16 * 8]);\n",
                 FILL("id", w->id[0]), FILL("row_at", w->row_at));
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *tile[3], *columns = f->J % w->slot ? "J" : NULL;
    bool alone = team_warps(w) == 1;
    const char *team = alone ? "warp" : w->teams == 1 ? "0" : "team";

    for (int i = 0; i < 3; i++)
        tile[i] = arena_printf(a, "%s_tile", w->id[i]);
    Tree *at = place(w), *columns_at = range(w), *none = tree_list(a);
    bool late = range_waits(w);
    Share first = pieces_of(w, "K_STEPS * 2", f->D);
    Share second = pieces_of(w, "BN / 8", f->N);
    const Fill fill[] = {
        FILL_TREE("PLACE", at),
        FILL_TREE("EARLY_RANGE", late ? none : columns_at),
        FILL_TREE("RANGE", late ? columns_at : none),
        FILL("TEAM", team),
        FILL("FIRST", w->row_at),
        FILL("FIRST_FROM", first.from),
        FILL("FIRST_TO", first.to),
        FILL("FIRST_STEP", first.step),
        FILL_TREE("FIRST_AT", first.at),
        FILL("SECOND_FROM", second.from),
        FILL("SECOND_TO", second.to),
        FILL("SECOND_STEP", second.step),
        FILL_TREE("SECOND_AT", second.at),
        FILL("SYNC", alone           ? "__syncwarp();\n"
                     : w->teams == 1 ? "__syncthreads();\n"
                                     : "dcc_barrier_sync(1 + team, TEAM);\n"),
        FILL_TREE("PART",
                  QUOTE(a,
                        "auto &part_rows = *reinterpret_cast<dcc_part<TEAMS, "
                        "M, BN> *>(smem.@tile);\n",
                        FILL("tile", tile[1]))),
        FILL_TREE("ASK", ask_early(w)),
        FILL("WAIT", kernel_wait(w->k)),
        FILL_TREE("LOAD_ROWS",
                  chain_piece(w, &f->a.c.a, f->row, "line",
                              f->M % w->bm ? "M" : NULL, f->a.c.k[0], tile[0])),
        FILL_TREE("LOAD_FIRST",
                  chain_piece(w, &f->a.c.b, f->col, "j0 + line", columns,
                              f->a.c.k[0],
                              arena_printf(a, "%s[%s][slot]", tile[1], team))),
        FILL_TREE("LOAD_SECOND",
                  chain_piece(w, &f->b.c.b, f->col, "j0 + line", columns,
                              f->b.c.n[0],
                              arena_printf(a, "%s[%s][slot]", tile[2], team))),
        FILL("COLUMNS", tile[1]),
        FILL("FACTORS", tile[2]),
        FILL_TREE("HOLD", w->holds ? row_pieces(w, true) : none),
        FILL_TREE("ROW_PIECE", w->holds
                                   ? QUOTE(a, "const auto &a = held[kk];\n")
                                   : row_pieces(w, false)),
        FILL("MMA", arena_printf(a, "dcc_mma_m16n8k16_%s", type_name(f->elem))),
        FILL_TREE("STATE", state(w)),
        FILL_TREE("VALUE", chain_value(w)),
        FILL_TREE("MASK", chain_mask(w)),
        FILL("WEIGH", chain_weigh(w)),
        FILL("RESCALE", chain_rescale(w)),
        FILL("TYPE", type_cname(f->elem)),
        FILL("SUMS", f->rows.softmax ? "dcc_row_sums(sum);\n" : ""),
        FILL_TREE("MERGE", merge(w)),
    };

    kernel_phase(w->b.g, w->k, "setup",
                 template_tree(a, "chain_few.cu.in", fill,
                               (int)(sizeof fill / sizeof *fill)));
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    const ChainForm *f = form;
    Graph *g = f->a.g;
    Group *gr = (Group *)f->gr;
    ChainKernel *w = arena_new_of(g->arena, ChainKernel);

    chain_few_plan(w, f, v);
    chain_begin(w, gr, k);
    if (by_memory(w)) {
        int64_t parts = f->batches * w->group;
        k->coop_counters = true;
        k->n_counters = (int)f->batches * w->cluster;
        k->workspace = (size_t)parts * part_bytes(f, w->bn / w->cluster);
    }
    constants(w);
    shared_memory(w);
    put_kernel(w);
    chain_end(w, "chain_few", "sm_80");
}

const Family family_chain_few = {
    .name = "chain_few",
    .version = 1,
    .open = open,
    .space = space,
    .cost = chain_few_cost,
    .build = build,
    .chains = true,
};
