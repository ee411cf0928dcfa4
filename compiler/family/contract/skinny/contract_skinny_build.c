#include "emit/cprint_old.h"
#include "family/contract/skinny/contract_skinny.h"

#include <string.h>

/* The kernel of a skinny contraction, from its plan. */

/* ---- what contract_stream has in common with it ------------------------ */

void skinny_constants(Contract *x, int k_step, int lane_k)
{
    Kernel *k = x->kernel;
    Graph *g = x->g;

    kernel_constant(g, k, "M", x->c.M, NULL);
    kernel_constant(g, k, "N", x->c.N, NULL);
    kernel_constant(g, k, "K", x->c.K, NULL);
    kernel_constant(g, k, "BM", x->t.bm, NULL);
    kernel_constant(g, k, "BN", x->t.bn, "columns that a block finishes");
    kernel_constant(g, k, "BK", x->t.bk, "its part of K");
    kernel_constant(g, k, "K_STEP", k_step, "of a warp");
    kernel_constant(g, k, "LANE_K", lane_k, "of a lane");
}

void skinny_put_sums(Contract *x, const SkinnySums *of)
{
    bool split = x->t.split > 1;
    Slot slot[] = {
        {"COLUMN", of->column},
        {"ROW", of->row},
        {"TILES", of->tiles},
        {"ROWS", of->rows},
        {"ARRIVED", split ? "dcc_cluster_wait();\n" : ""},
        {"TO", split ? "*dcc_cluster_peer(at, column / BN)" : "*at"},
        {"PART", split ? arena_printf(x->g->arena, "rank * %s + %s", of->warps,
                                      of->warp)
                       : of->warp},
        {"SYNC", split ? "dcc_cluster_sync();" : "__syncthreads();"},
    };
    Buf b = {0};

    template_fill(&b, of->mma ? "contract_skinny_mma_sums.cu.in"
                              : "contract_skinny_float_sums.cu.in", slot, 8);
    kernel_phase(x->g, x->kernel, "sums", &b);
    buf_free(&b);
    contract_epilogue(x, &b);
    kernel_phase(x->g, x->kernel, "epilogue", &b);
    buf_free(&b);
}

void skinny_frame(Contract *x, Kernel *k, const char *family, int columns,
                  size_t smem)
{
    int tiles = (int)((x->c.N + columns - 1) / columns);

    k->family = family;
    k->block = x->t.threads;
    k->smem_bytes = smem;
    k->grid[0] = tiles * x->t.split;
    k->grid[1] = 1;
    k->grid[2] = (int)x->c.batches;
    k->cluster = x->t.split;
    k->min_blocks = 1;
    k->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K *
               (double)x->c.batches;
    k->bytes = x->hbm_bytes;
    k->where = arena_array(x->g->arena, const char *, x->gr->n_step);
}

/* ---- its own ----------------------------------------------------------- */

static void constants(Skinny *s)
{
    Contract *x = &s->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->t;

    skinny_constants(x, s->k_step, s->lane_k);
    kernel_constant(g, k, "STEPS", s->steps, NULL);
    kernel_constant(g, k, "DEEP", s->deep, "steps under way");
    kernel_constant(g, k, "WARPS_N", s->warps_n, NULL);
    kernel_constant(g, k, "WARPS_K", s->warps_k, NULL);
    kernel_constant(g, k, "COLUMNS", s->columns, "of WARPS_N warps");
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    x->parts = s->warps_k * t->split;
    kernel_constant(g, k, "SLICES", x->parts, "sums of a result");
    if (s->f->k_major)
        kernel_constant(g, k, "TILES", s->cols / 16, "of 16 columns");
    else
        kernel_constant(g, k, "LANE_N", s->lane_n, "columns of a lane");
    if (t->split > 1)
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share K");
    kernel_constant(g, k, "X_PAD", s->pad, NULL);
}

static void shared_memory(Skinny *s)
{
    Contract *x = &s->x;
    Arena *a = x->g->arena;

    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[BM][BK + X_PAD]", type_cname(x->elem),
                             x->a.tile),
                "padded: rows on different banks");
    kernel_smem(x->g, x->kernel, 16, "float parts[SLICES][BM][BN + 8]", NULL);
}

/* ---- where ------------------------------------------------------------- */

/* Some warp has no part in some step. */
static bool uneven(const Skinny *s)
{
    int64_t k_block = (int64_t)s->x.t.bk * s->x.t.split;

    return s->steps % (s->warps_k * s->deep) || k_block != s->x.c.K;
}

static bool tail(const Skinny *s)
{
    return s->x.c.K % s->k_step != 0;
}

/* Columns of one lane lie on both sides of the end. */
static bool ragged(const Skinny *s)
{
    return !s->f->k_major && s->x.c.N % s->lane_n != 0;
}

static void put_rows(Skinny *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *w = &x->b;
    bool cut = x->c.N % s->columns;
    const char *type = contract_offset_type(w);
    CScope scope = cprint_open(&x->cp);
    Buf at = {0};

    cprint_name(&x->cp, s->f->n, "column");
    cprint_element(&at, &x->cp, w->op->read->tensor, w->row_part);
    if (s->f->k_major) {
        buf_printf(b, "%s w_off[TILES][2];\n#pragma unroll\n"
                      "for (int i = 0; i < TILES; ++i)\n    #pragma unroll\n"
                      "    for (int h = 0; h < 2; ++h) {\n", type);
        buf_printf(b, "        const int column = %sfirst + warp_n + i * 16 + "
                      "h * 8 + lane / 4%s;\n", cut ? "min(" : "",
                   cut ? ", N - 1)" : "");
        buf_printf(b, "        w_off[i][h] = %s;\n    }\n", buf_text(&at));
    } else {
        bool clamp = cut && !ragged(s);
        buf_printf(b, "const int column = %sfirst + warp_n + lane / 4 * "
                      "LANE_N%s;\n", clamp ? "min(" : "",
                   clamp ? ", N - LANE_N)" : "");
        buf_printf(b, "const %s w_off = %s;\n", type, buf_text(&at));
    }
    cprint_close(&x->cp, scope);
    buf_free(&at);
}

static void put_setup(Skinny *s)
{
    Contract *x = &s->x;
    Buf b = {0};

    if (x->t.split > 1)
        buf_puts(&b, "const int rank = blockIdx.x % SPLIT;\n"
                     "const int first = blockIdx.x / SPLIT * COLUMNS;\n"
                     "const int n0 = first + rank * BN;\nconst int m0 = 0;\n"
                     "const int k0 = rank * BK;\n"
                     "dcc_cluster_arrive();  // each block is there\n");
    else
        buf_puts(&b, "const int first = blockIdx.x * COLUMNS;\n"
                     "const int n0 = first;\nconst int m0 = 0;\n"
                     "const int k0 = 0;\n");
    if (x->t.split > 1 && (int64_t)x->t.bk * x->t.split != x->c.K)
        buf_puts(&b, "const int steps = min(STEPS, "
                     "(K - k0 + K_STEP - 1) / K_STEP);\n");
    else
        buf_puts(&b, "const int steps = STEPS;\n");
    contract_batch(x, &b);
    buf_printf(&b, "const int lane = threadIdx.x %% 32, "
                   "warp = threadIdx.x / 32;\n"
                   "const int warp_n = warp %% WARPS_N * (COLUMNS / WARPS_N);\n"
                   "const int warp_k = warp / WARPS_N;\n");
    put_rows(s, &b);
    kernel_phase(x->g, x->kernel, "setup", &b);
    buf_free(&b);
}

/* ---- weights ----------------------------------------------------------- */

/* dcc_stream<16>(w_words[u][i][h], &w[w_off[i][h] + k], bytes); */
static void put_stream(Skinny *s, Buf *b, const char *to, const char *k,
                       const char *off, int indent)
{
    Contract *x = &s->x;
    const Tensor *t = x->b.op->read->tensor;
    CScope scope = cprint_open(&x->cp);
    int most = s->f->k_major ? s->lane_k : s->lane_n;
    int piece = s->f->align < most ? s->f->align : most;
    Buf at = {0};

    cprint_name(&x->cp, s->f->k, k);
    cprint_element(&at, &x->cp, t, x->b.k_part);
    buf_printf(b, "%*sdcc_stream<%d>(%s,\n%*s&%s[%s + %s]", indent, "",
               piece * s->f->size, to, indent + 4, "",
               cprint_tensor(&x->cp, t), off, buf_text(&at));
    if (tail(s) && s->f->k_major)
        buf_printf(b, ", (K - %s) * %d", k, s->f->size);
    else if (ragged(s))
        buf_printf(b, ", %s%s(N - column) * %d%s", tail(s) ? k : "",
                   tail(s) ? " < K ? " : "", s->f->size,
                   tail(s) ? " : 0" : "");
    else if (tail(s))
        buf_printf(b, ", %s < K ? %d : 0", k, s->lane_n * s->f->size);
    buf_puts(b, ");\n");
    cprint_close(&x->cp, scope);
    buf_free(&at);
}

static void put_fetch(Skinny *s, Buf *b)
{
    if (s->f->k_major)
        buf_puts(b, "uint32_t w_words[DEEP][TILES][2][4];\n");
    else
        buf_printf(b, "uint32_t w_words[DEEP][LANE_K][%d];\n",
                   s->lane_n * s->f->size / 4);
    buf_puts(b, "auto fetch = [&](int u, int step) {\n"
                "    const int k = k0 + step * K_STEP + lane % 4 * LANE_K;\n"
                "    #pragma unroll\n");
    if (s->f->k_major) {
        buf_puts(b, "    for (int i = 0; i < TILES; ++i)\n"
                    "        #pragma unroll\n"
                    "        for (int h = 0; h < 2; ++h)\n");
        put_stream(s, b, "w_words[u][i][h]", "k", "w_off[i][h]", 12);
    } else {
        buf_puts(b, "    for (int i = 0; i < LANE_K; ++i)\n");
        put_stream(s, b, "w_words[u][i]", "(k + i)", "w_off", 8);
    }
    buf_printf(b, "};\n#pragma unroll\nfor (int u = 0; u < DEEP; ++u)\n"
                  "%s    fetch(u, warp_k + u * WARPS_K);\n",
               uneven(s) ? "    if (warp_k + u * WARPS_K < steps)\n    " : "");
}

/* ---- x ----------------------------------------------------------------- */

/* The value of one element of x, or its copy. */
static void put_x_value(Skinny *s, Buf *b, int vec)
{
    Contract *x = &s->x;
    const Load *l = &x->a;
    const Expr *e = l->op->e;
    const char *to = arena_printf(x->g->arena, "smem.%s[m][k_at]", l->tile);
    bool cut = (int64_t)x->t.bk * x->t.split != x->c.K;
    Buf value = {0}, in = {0}, at = {0};

    if (cut)
        buf_puts(&in, "k < K");
    if (vec && guard_truth(l->op->in) != ALWAYS) {
        buf_puts(&in, cut ? " && " : "");
        cprint_guard(&in, &x->cp, l->op->in);
    }
    if (vec) {
        cprint_element(&at, &x->cp, l->op->read->tensor, l->op->offset);
        const char *name = cprint_tensor(&x->cp, l->op->read->tensor);
        if (in.len)
            buf_printf(b, "const bool in = %s;\n"
                          "dcc_cp_async%d(&%s,\n    &%s[in ? %s : 0],\n"
                          "    in ? %d : 0);\n", buf_text(&in), l->bytes, to,
                       name, buf_text(&at), l->bytes);
        else
            buf_printf(b, "dcc_cp_async%d(&%s,\n    &%s[%s]);\n", l->bytes, to,
                       name, buf_text(&at));
    } else {
        Buf body = {0};
        const char *text = cprint_bind(&body, &x->cp, e, l->id);
        buf_puts(&value,
                 cprint_to_storage(x->g->arena, x->elem, e->type, text));
        if (in.len) {
            buf_printf(b, "%s = dcc_from_float<%s>(0.0f);\nif (%s) {\n", to,
                       type_cname(x->elem), buf_text(&in));
            cprint_lines(b, buf_text(&body), 4);
            buf_printf(b, "    %s = %s;\n}\n", to, buf_text(&value));
        } else {
            buf_puts(b, buf_text(&body));
            buf_printf(b, "%s = %s;\n", to, buf_text(&value));
        }
        buf_free(&body);
    }
    buf_free(&value);
    buf_free(&in);
    buf_free(&at);
}

static void put_x(Skinny *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *l = &x->a;
    bool copied = l->async && l->along_k && x->t.bk % l->vec == 0 &&
                  x->c.K % l->vec == 0;
    int vec = copied ? l->vec : 1;
    CScope scope = cprint_open(&x->cp);
    Buf body = {0};

    buf_printf(b, "// The rows of %s, while the first weights are under way.\n",
               l->id);
    buf_printf(&body, "const int m = i / (BK / %d), k_at = i %% (BK / %d) * %d;"
                      "\nconst int k = k0 + k_at;\n", vec, vec, vec);
    contract_digits(x, &body, l->side, l, "m");
    contract_digits(x, &body, &x->k, l, "k");
    put_x_value(s, &body, copied ? vec : 0);
    buf_printf(b, "for (int i = threadIdx.x; i < BM * (BK / %d); "
                  "i += THREADS) {\n", vec);
    cprint_lines(b, buf_text(&body), 4);
    buf_puts(b, "}\n");
    if (copied)
        buf_puts(b, "dcc_cp_commit();\ndcc_cp_wait<0>();\n");
    buf_puts(b, "__syncthreads();\n");
    cprint_close(&x->cp, scope);
    buf_free(&body);
}

/* They are no parameters: something before this launch writes them. */
static bool weights_wait(const Skinny *s)
{
    return !kernel_reads_constants(s->x.b.op->e);
}

static void put_load(Skinny *s)
{
    Buf b = {0};

    if (weights_wait(s))
        kernel_wait_phase(s->x.g, s->x.kernel);
    put_fetch(s, &b);
    if (!weights_wait(s))
        buf_puts(&b, kernel_wait(s->x.kernel));
    contract_early(&s->x, &b);
    put_x(s, &b);
    kernel_phase(s->x.g, s->x.kernel, "load", &b);
    buf_free(&b);
}

/* ---- multiply ---------------------------------------------------------- */

static void put_multiply(Skinny *s)
{
    Contract *x = &s->x;
    Arena *a = x->g->arena;
    const char *file = s->f->mma ? s->f->k_major ? "contract_skinny_mma_k.cu.in"
                                                 : "contract_skinny_mma_n.cu.in"
                       : s->f->k_major ? "contract_skinny_float_k.cu.in"
                                       : "contract_skinny_float_n.cu.in";
    Slot slot[] = {
        {"X_TILE", x->a.tile},
        {"ROWS", arena_printf(a, "%d", (x->t.bm + 7) / 8)},
        {"MMA", x->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                 : "dcc_mma_m16n8k16_bf16"},
        {"WEIGHT", type_cname(x->b.op->read->tensor->type)},
        {"SKIP", uneven(s) ? "if (step + u * WARPS_K >= steps)\n    break;\n"
                           : ""},
    };
    Buf b = {0};

    template_fill(&b, file, slot, 5);
    kernel_phase(x->g, x->kernel, "multiply", &b);
    buf_free(&b);
}

/* ---- the sums ---------------------------------------------------------- */

static void put_sums(Skinny *s)
{
    Contract *x = &s->x;
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
        .rows = arena_printf(x->g->arena, "%d", (x->t.bm + 7) / 8),
        .warp = "warp_k",
        .warps = "WARPS_K",
    };

    skinny_put_sums(x, &of);
}

/* ---- the whole --------------------------------------------------------- */

static int resident(const Skinny *s, int blocks)
{
    const Device *d = s->x.o->device;
    int regs = (s->x.regs + s->x.regs / 6 + 7) / 8 * 8;
    int n = d->regs_sm / (regs * s->x.t.threads);
    int per_sm = (blocks + d->sms - 1) / d->sms;

    return n > per_sm ? per_sm : n < 1 ? 1 : n;
}

void skinny_build(Skinny *s, Kernel *k)
{
    Contract *x = &s->x;

    x->beyond = x->c.N % s->columns != 0;
    contract_names(x, k);
    skinny_frame(x, k, "contract_skinny", s->columns, s->smem);
    k->min_arch = x->t.split > 1 ? "sm_90" : s->f->mma ? "sm_80" : NULL;
    k->min_blocks = resident(s, k->grid[0] * k->grid[2]);
    constants(s);
    shared_memory(s);
    put_setup(s);
    put_load(s);
    put_multiply(s);
    put_sums(s);
}
