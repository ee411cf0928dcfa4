#include "family/contract/skinny/contract_skinny.h"

#include <string.h>

/* The kernel of a skinny contraction, from its plan. */

/* ---- what contract_stream has in common with it ------------------------ */

void skinny_constants(ContractBuild *x, int k_step, int lane_k)
{
    Kernel *k = x->kernel;
    Graph *g = x->g;

    kernel_constant(g, k, "M", x->f->c.M, NULL);
    kernel_constant(g, k, "N", x->f->c.N, NULL);
    kernel_constant(g, k, "K", x->f->c.K, NULL);
    kernel_constant(g, k, "BM", x->p->t.bm, NULL);
    kernel_constant(g, k, "BN", x->p->t.bn, "columns that a block finishes");
    kernel_constant(g, k, "BK", x->p->t.bk, "its part of K");
    kernel_constant(g, k, "K_STEP", k_step, "of a warp");
    kernel_constant(g, k, "LANE_K", lane_k, "of a lane");
}

void skinny_put_sums(ContractBuild *x, const SkinnySums *of)
{
    bool split = x->p->t.split > 1;
    Fill slot[] = {
        FILL("COLUMN", of->column),
        FILL("ROW", of->row),
        FILL("TILES", of->tiles),
        FILL("ROWS", of->rows),
        FILL("ARRIVED", split ? "dcc_cluster_wait();\n" : ""),
        FILL("TO", split ? "*dcc_cluster_peer(at, column / BN)" : "*at"),
        FILL("PART", split ? arena_printf(x->g->arena, "rank * %s + %s",
                                          of->warps, of->warp)
                           : of->warp),
        FILL("SYNC", split ? "dcc_cluster_sync();" : "__syncthreads();"),
    };
    Tree *b = tree_list(x->g->arena);

    kernel_phase(x->g, x->kernel, "sums",
                 template_tree(b->arena,
                               of->mma ? "contract_skinny_mma_sums.cu.in"
                                       : "contract_skinny_float_sums.cu.in",
                               slot, 8));
    contract_epilogue(x, b);
    kernel_phase(x->g, x->kernel, "epilogue", b);
}

void skinny_frame(ContractBuild *x, Kernel *k, const char *family, int columns,
                  size_t smem)
{
    int tiles = (int)((x->f->c.N + columns - 1) / columns);

    k->family = family;
    k->block = x->p->t.threads;
    k->smem_bytes = smem;
    k->grid[0] = tiles * x->p->t.split;
    k->grid[1] = 1;
    k->grid[2] = (int)x->f->c.batches;
    k->cluster = x->p->t.split;
    k->min_blocks = 1;
    k->flops = 2.0 * (double)x->f->c.M * (double)x->f->c.N * (double)x->f->c.K *
               (double)x->f->c.batches;
    k->bytes = x->f->hbm_bytes;
    k->where = arena_array(x->g->arena, const char *, x->f->gr->n_step);
}

/* ---- its own ----------------------------------------------------------- */

static void constants(SkinnyBuild *s)
{
    ContractBuild *x = &s->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->p->t;

    skinny_constants(x, s->p->k_step, s->p->lane_k);
    kernel_constant(g, k, "STEPS", s->p->steps, NULL);
    kernel_constant(g, k, "DEEP", s->p->deep, "steps under way");
    kernel_constant(g, k, "WARPS_N", s->p->warps_n, NULL);
    kernel_constant(g, k, "WARPS_K", s->p->warps_k, NULL);
    kernel_constant(g, k, "COLUMNS", s->p->columns, "of WARPS_N warps");
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    kernel_constant(g, k, "SLICES", x->p->parts, "sums of a result");
    if (s->f->k_major)
        kernel_constant(g, k, "TILES", s->p->cols / 16, "of 16 columns");
    else
        kernel_constant(g, k, "LANE_N", s->p->lane_n, "columns of a lane");
    if (t->split > 1)
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share K");
    kernel_constant(g, k, "X_PAD", s->p->pad, NULL);
}

static void shared_memory(SkinnyBuild *s)
{
    ContractBuild *x = &s->x;
    Arena *a = x->g->arena;

    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[BM][BK + X_PAD]", type_cname(x->f->elem),
                             x->a.tile),
                "padded: rows on different banks");
    kernel_smem(x->g, x->kernel, 16, "float parts[SLICES][BM][BN + 8]", NULL);
}

/* ---- where ------------------------------------------------------------- */

/* Some warp has no part in some step. */
static bool uneven(const SkinnyBuild *s)
{
    int64_t k_block = (int64_t)s->x.p->t.bk * s->x.p->t.split;

    return s->p->steps % (s->p->warps_k * s->p->deep) || k_block != s->x.f->c.K;
}

static bool tail(const SkinnyBuild *s)
{
    return s->x.f->c.K % s->p->k_step != 0;
}

/* Columns of one lane lie on both sides of the end. */
static bool ragged(const SkinnyBuild *s)
{
    return !s->f->k_major && s->x.f->c.N % s->p->lane_n != 0;
}

static void put_rows(SkinnyBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *w = &x->b;
    bool cut = x->f->c.N % s->p->columns;
    const char *type = contract_offset_type(w);
    CScope scope = cprint_open(&x->cp);

    cprint_name(&x->cp, s->f->n, "column");
    const char *at = contract_row_offset(x, w);
    bool clamp = cut && !ragged(s);
    PUT(b,
        s->f->k_major
            ? "@type w_off[TILES][2];\n"
              "#pragma unroll\n"
              "for (int i = 0; i < TILES; ++i)\n"
              "    #pragma unroll\n"
              "    for (int h = 0; h < 2; ++h) {\n"
              "        const int column = @least@first + warp_n + i * 16 + "
              "h * 8 + lane / 4@most;\n"
              "        w_off[i][h] = @at;\n"
              "    }\n"
            : "const int column = @least@first + warp_n + lane / 4 * "
              "LANE_N@most;\n"
              "const @type w_off = @at;\n",
        FILL("type", type), FILL("at", at), FILL("least", clamp ? "min(" : ""),
        FILL("most", !clamp          ? ""
                     : s->f->k_major ? ", N - 1)"
                                     : ", N - LANE_N)"));
    cprint_close(&x->cp, scope);
}

static void put_setup(SkinnyBuild *s)
{
    ContractBuild *x = &s->x;
    Tree *b = tree_list(s->x.g->arena);

    if (x->p->t.split > 1)
        PUT(b, "const int rank = blockIdx.x % SPLIT;\n"
               "const int first = blockIdx.x / SPLIT * COLUMNS;\n"
               "const int n0 = first + rank * BN;\n"
               "const int m0 = 0;\n"
               "const int k0 = rank * BK;\n"
               "dcc_cluster_arrive();  // each block is there\n");
    else
        PUT(b, "const int first = blockIdx.x * COLUMNS;\n"
               "const int n0 = first;\n"
               "const int m0 = 0;\n"
               "const int k0 = 0;\n");
    if (x->p->t.split > 1 && (int64_t)x->p->t.bk * x->p->t.split != x->f->c.K)
        PUT(b,
            "const int steps = min(STEPS, (K - k0 + K_STEP - 1) / K_STEP);\n");
    else
        PUT(b, "const int steps = STEPS;\n");
    contract_batch(x, b);
    PUT(b, "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
           "const int warp_n = warp % WARPS_N * (COLUMNS / WARPS_N);\n"
           "const int warp_k = warp / WARPS_N;\n");
    put_rows(s, b);
    kernel_phase(x->g, x->kernel, "setup", b);
}

/* ---- weights ----------------------------------------------------------- */

/* dcc_stream<16>(w_words[u][i][h], &w[w_off[i][h] + k], bytes); */
static Tree *stream(SkinnyBuild *s, const char *to, const char *k,
                    const char *off)
{
    ContractBuild *x = &s->x;
    Arena *a = x->g->arena;
    const Tensor *t = x->b.op->read->tensor;
    CScope scope = cprint_open(&x->cp);
    int most = s->f->k_major ? s->p->lane_k : s->p->lane_n, size = s->f->size;
    int piece = s->f->align < most ? s->f->align : most;
    const char *bytes = "";

    cprint_name(&x->cp, s->f->k, k);
    if (tail(s) && s->f->k_major)
        bytes = arena_printf(a, ", (K - %s) * %d", k, size);
    else if (ragged(s))
        bytes = arena_printf(a,
                             tail(s) ? ", %s < K ? (N - column) * %d : 0"
                                     : ", %.0s(N - column) * %d",
                             k, size);
    else if (tail(s))
        bytes = arena_printf(a, ", %s < K ? %d : 0", k, s->p->lane_n * size);
    Tree *one =
        QUOTE(a, "dcc_stream<@piece>(@to, &@tensor[@off + @at]@bytes);\n",
              FILL_INT("piece", piece * size), FILL("to", to),
              FILL("tensor", cprint_tensor(&x->cp, t)), FILL("off", off),
              FILL("at", cprint_element(&x->cp, t, x->b.k_part)),
              FILL("bytes", bytes));
    cprint_close(&x->cp, scope);
    return one;
}

static void put_fetch(SkinnyBuild *s, Tree *b)
{
    bool k_major = s->f->k_major;

    PUT(b,
        k_major ? "uint32_t w_words[DEEP][TILES][2][4];\n"
                  "auto fetch = [&](int u, int step) {\n"
                  "    const int k = k0 + step * K_STEP + lane % 4 * LANE_K;\n"
                  "    #pragma unroll\n"
                  "    for (int i = 0; i < TILES; ++i)\n"
                  "        #pragma unroll\n"
                  "        for (int h = 0; h < 2; ++h)\n"
                  "            @STREAM\n"
                  "};\n"
                : "uint32_t w_words[DEEP][LANE_K][@words];\n"
                  "auto fetch = [&](int u, int step) {\n"
                  "    const int k = k0 + step * K_STEP + lane % 4 * LANE_K;\n"
                  "    #pragma unroll\n"
                  "    for (int i = 0; i < LANE_K; ++i)\n"
                  "        @STREAM\n"
                  "};\n",
        FILL_INT("words", s->p->lane_n * s->f->size / 4),
        FILL_TREE("STREAM",
                  k_major ? stream(s, "w_words[u][i][h]", "k", "w_off[i][h]")
                          : stream(s, "w_words[u][i]", "(k + i)", "w_off")));
    PUT(b, uneven(s) ? "#pragma unroll\n"
                       "for (int u = 0; u < DEEP; ++u)\n"
                       "    if (warp_k + u * WARPS_K < steps)\n"
                       "        fetch(u, warp_k + u * WARPS_K);\n"
                     : "#pragma unroll\n"
                       "for (int u = 0; u < DEEP; ++u)\n"
                       "    fetch(u, warp_k + u * WARPS_K);\n");
}

/* ---- x ----------------------------------------------------------------- */

/* The value of one element of x, or its copy. */
static void put_x_value(SkinnyBuild *s, Tree *b, int vec)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->a;
    const Expr *e = l->op->e;
    Arena *a = b->arena;
    const char *to = arena_printf(a, "smem.%s[m][k_at]", l->tile), *in = "";
    Tree *body = tree_list(a);

    if ((int64_t)x->p->t.bk * x->p->t.split != x->f->c.K)
        in = "k < K";
    if (vec && guard_truth(l->op->in) != ALWAYS)
        in = arena_printf(a, "%s%s%s", in, *in ? " && " : "",
                          cprint_guard(&x->cp, l->op->in));
    if (vec) {
        const Tensor *t = l->op->read->tensor;
        PUT(b,
            *in ? "const bool in = @in;\n"
                  "dcc_cp_async@bytes(&@to, &@name[in ? @at : 0], "
                  "in ? @bytes : 0);\n"
                : "dcc_cp_async@bytes(&@to, &@name[@at]);\n",
            FILL("in", in), FILL_INT("bytes", l->bytes), FILL("to", to),
            FILL("name", cprint_tensor(&x->cp, t)),
            FILL("at", cprint_element(&x->cp, t, l->op->offset)));
        return;
    }
    const char *text = cprint_bind(body, &x->cp, e, l->id);
    PUT(b,
        *in ? "@to = dcc_from_float<@type>(0.0f);\n"
              "if (@in) {\n"
              "    @BODY\n"
              "    @to = @value;\n"
              "}\n"
            : "@BODY\n"
              "@to = @value;\n",
        FILL("to", to), FILL("type", type_cname(x->f->elem)), FILL("in", in),
        FILL_TREE("BODY", body),
        FILL("value", cprint_to_storage(a, x->f->elem, e->type, text)));
}

static void put_x(SkinnyBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->a;
    bool copied = l->async && l->along_k && x->p->t.bk % l->vec == 0 &&
                  x->f->c.K % l->vec == 0;
    int vec = copied ? l->vec : 1;
    CScope scope = cprint_open(&x->cp);
    Tree *body = tree_list(s->x.g->arena);

    PUT(b, "// The rows of @id, while the first weights are under way.\n",
        FILL("id", l->id));
    if (!s->constants)
        PUT(body,
            "const int m = i / (BK / @vec), k_at = i % (BK / @vec) * @vec;\n"
            "const int k = k0 + k_at;\n",
            FILL_INT("vec", vec));
    contract_digits(x, body, l->side, l, "m");
    contract_digits(x, body, &x->f->k, l, "k");
    skinny_keep_constants(s, true);
    put_x_value(s, body, copied ? vec : 0);
    skinny_keep_constants(s, false);
    if (s->constants) {
        tree_add(b, skinny_turn_code(s, body));
        cprint_close(&x->cp, scope);
        return;
    }
    PUT(b,
        "for (int i = threadIdx.x; i < BM * (BK / @vec); i += THREADS) {\n"
        "    @BODY\n"
        "}\n"
        "@COPIED\n"
        "__syncthreads();\n",
        FILL_INT("vec", vec), FILL_TREE("BODY", body),
        FILL("COPIED", copied ? "dcc_cp_commit();\n"
                                "dcc_cp_wait<0>();\n"
                              : ""));
    cprint_close(&x->cp, scope);
}

/* They are no parameters: something before this launch writes them. */
static bool weights_wait(const SkinnyBuild *s)
{
    return !kernel_reads_constants(s->x.b.op->e);
}

static void put_load(SkinnyBuild *s)
{
    Tree *b = tree_list(s->x.g->arena);

    if (weights_wait(s))
        kernel_wait_phase(s->x.g, s->x.kernel);
    put_fetch(s, b);
    skinny_put_constants(s, b);
    if (!weights_wait(s))
        PUT(b, "@WAIT\n", FILL("WAIT", kernel_wait(s->x.kernel)));
    contract_early(&s->x, b);
    skinny_put_rows(s, b);
    put_x(s, b);
    kernel_phase(s->x.g, s->x.kernel, "load", b);
}

/* ---- multiply ---------------------------------------------------------- */

static void put_multiply(SkinnyBuild *s)
{
    ContractBuild *x = &s->x;
    Arena *a = x->g->arena;
    const char *file = s->f->mma ? s->f->k_major ? "contract_skinny_mma_k.cu.in"
                                                 : "contract_skinny_mma_n.cu.in"
                       : s->f->k_major ? "contract_skinny_float_k.cu.in"
                                       : "contract_skinny_float_n.cu.in";
    Fill slot[] = {
        FILL("X_TILE", x->a.tile),
        FILL("ROWS", arena_printf(a, "%d", (x->p->t.bm + 7) / 8)),
        FILL("MMA", x->f->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                     : "dcc_mma_m16n8k16_bf16"),
        FILL("WEIGHT", type_cname(x->b.op->read->tensor->type)),
        FILL("SKIP",
             uneven(s) ? "if (step + u * WARPS_K >= steps)\n    break;\n" : ""),
    };

    kernel_phase(x->g, x->kernel, "multiply", template_tree(a, file, slot, 5));
}

/* ---- the sums ---------------------------------------------------------- */

static void put_sums(SkinnyBuild *s)
{
    ContractBuild *x = &s->x;
    bool mma = s->f->mma, k_major = s->f->k_major;
    const SkinnySums of = {
        .mma = mma,
        .column = mma ? k_major ? "warp_n + i * 16 + e / 2 * 8 + lane / 4"
                                : "warp_n + lane / 4 * LANE_N + i * 2 + e / 2"
                  : k_major ? "warp_n + i * 8 + lane / 4"
                            : "warp_n + lane / 4 * LANE_N + i",
        .row = "j * 8 + lane % 4 * 2 + e % 2",
        .tiles = k_major ? mma ? "TILES" : "2 * TILES"
                 : mma   ? "LANE_N / 2"
                         : "LANE_N",
        .rows = arena_printf(x->g->arena, "%d", (x->p->t.bm + 7) / 8),
        .warp = "warp_k",
        .warps = "WARPS_K",
    };

    skinny_put_sums(x, &of);
}

/* ---- the whole --------------------------------------------------------- */

static int resident(const SkinnyBuild *s, int blocks)
{
    const Device *d = s->x.f->o->device;
    int regs = (s->x.regs + s->x.regs / 6 + 7) / 8 * 8;
    int n = d->regs_sm / (regs * s->x.p->t.threads);
    int per_sm = (blocks + d->sms - 1) / d->sms;

    return n > per_sm ? per_sm : n < 1 ? 1 : n;
}

static void build_plan(const Skinny *plan, Kernel *k)
{
    SkinnyBuild build = {.f = plan->f, .p = plan}, *s = &build;
    ContractBuild *x = &s->x;

    contract_start(x, &plan->x, k);
    skinny_frame(x, k, "contract_skinny", s->p->columns, s->p->smem);
    k->min_arch = x->p->t.split > 1 ? "sm_90" : s->f->mma ? "sm_80" : NULL;
    k->min_blocks = resident(s, k->grid[0] * k->grid[2]);
    k->shared = SHARED_PART; /* weights on their way to registers pass the L1 */
    constants(s);
    shared_memory(s);
    put_setup(s);
    put_load(s);
    put_multiply(s);
    put_sums(s);
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Skinny s;

    if (skinny_plan(&s, form, v))
        return;
    k->variant = skinny_text(form, v);
    build_plan(&s, k);
}

const Family family_contract_skinny = {
    .name = "contract_skinny",
    .version = 1,
    .open = skinny_form,
    .space = skinny_space,
    .text = skinny_text,
    .cost = skinny_cost,
    .build = build,
};
