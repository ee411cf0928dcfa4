#include "emit/cprint_old.h"
#include "family/contract/stream/contract_stream.h"

#include <string.h>

/* The kernel of a contraction whose weights come through rings. */

static void constants(Stream *s)
{
    Contract *x = &s->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->t;

    skinny_constants(x, s->k_step, s->lane_k);
    kernel_constant(g, k, "PIECE", s->piece, "k of a slot");
    kernel_constant(g, k, "PIECES", s->pieces, "of a warp");
    if (s->leaps > 1)
        kernel_constant(g, k, "LEAPS", s->leaps, "in which they are taken");
    kernel_constant(g, k, "STEPS", s->piece / s->k_step, "of a piece");
    if (!s->ring)
        kernel_constant(g, k, "PITCH", s->pitch,
                        "padded: columns on other banks");
    kernel_constant(g, k, "STAGES", s->stages, "slots of a warp's ring");
    kernel_constant(g, k, "WARPS", s->warps, NULL);
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    kernel_constant(g, k, "TILES", s->columns / 8, "of 8 columns");
    x->parts = s->warps * t->split;
    kernel_constant(g, k, "SLICES", x->parts, "sums of a result");
    if (s->f->mma) {
        kernel_constant(g, k, "ROWS", (t->bm + 15) / 16, "of 16 rows");
        if (!s->ring)
            kernel_constant(g, k, "CHAINS", s->chains,
                            "sums that do not wait for each other");
    }
    if (t->split > 1) {
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share K");
        kernel_constant(g, k, "COLUMNS", s->columns, "of a cluster");
    }
}

static void shared_memory(Stream *s)
{
    Contract *x = &s->x;
    const Tensor *w = x->b.op->read->tensor;
    const char *type = type_cname(w->type);
    Arena *a = x->g->arena;

    if (s->ring) {
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s %s[WARPS][STAGES][TILES * 8][PIECE]",
                                 type, x->b.tile), NULL);
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s %s[WARPS][STAGES][BM][PIECE]", type,
                                 x->a.tile), NULL);
    } else
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s %s[WARPS][STAGES][8][PITCH]", type,
                                 x->b.tile), NULL);
    kernel_smem(x->g, x->kernel, 16, "float parts[SLICES][BM][BN + 8]", NULL);
}

static void put_setup(Stream *s)
{
    Contract *x = &s->x;
    Buf b = {0};

    if (s->wide)
        buf_puts(&b, "// There is more shared memory than is used: no SM takes "
                     "more blocks than\n// another where they begin beside "
                     "launches before them.\n");
    if (x->t.split > 1)
        buf_puts(&b, "const int rank = blockIdx.x % SPLIT;\n"
                     "const int first = blockIdx.x / SPLIT * COLUMNS;\n"
                     "const int n0 = first + rank * BN;\nconst int m0 = 0;\n"
                     "dcc_cluster_arrive();  // each block is there\n");
    else
        buf_puts(&b, "const int first = blockIdx.x * BN;\n"
                     "const int n0 = first;\nconst int m0 = 0;\n");
    contract_batch(x, &b);
    buf_puts(&b, "const int lane = threadIdx.x % 32, "
                 "warp = threadIdx.x / 32;\n");
    buf_printf(&b, "const int k_warp = %swarp * PIECES * PIECE;\n",
               x->t.split > 1 ? "rank * BK + " : "");
    kernel_phase(x->g, x->kernel, "setup", &b);
    buf_free(&b);
}

static bool cut(const Stream *s)
{
    return (int64_t)s->x.t.bk * s->x.t.split != s->x.c.K;
}

/* ---- weights ----------------------------------------------------------- */

static void put_fetch(Stream *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *l = &x->b;
    const Tensor *t = l->op->read->tensor;
    bool beyond = x->c.N % s->columns;
    CScope scope = cprint_open(&x->cp);
    Buf row = {0}, at = {0};

    cprint_name(&x->cp, s->f->n, "column");
    cprint_element(&row, &x->cp, t, l->row_part);
    cprint_name(&x->cp, s->f->k, "k");
    cprint_element(&at, &x->cp, t, l->k_part);
    buf_printf(b, "auto &ring = smem.%s[warp];\n", l->tile);
    buf_puts(b, "auto fetch = [&](int slot) {\n"
                "    #pragma unroll\n"
                "    for (int i = 0; i < 8 * PIECE / LANE_K; i += 32) {\n"
                "        const int c = (i + lane) / (PIECE / LANE_K);\n"
                "        const int k_at = (i + lane) % (PIECE / LANE_K) * "
                "LANE_K;\n");
    buf_printf(b, "        const int column = %sfirst + slot %% TILES * 8 + "
                  "c%s;\n", beyond ? "min(" : "", beyond ? ", N - 1)" : "");
    buf_puts(b, "        const int k = k_warp + slot / TILES * PIECE + "
                "k_at;\n");
    buf_printf(b, "        const %s w_off = %s;\n", contract_offset_type(l),
               buf_text(&row));
    buf_printf(b, "        dcc_cp_async16(&ring[slot %% STAGES][c][k_at],\n"
                  "            &%s[w_off + %s%s%s]%s);\n",
               cprint_tensor(&x->cp, t), cut(s) ? "(k < K ? " : "",
               buf_text(&at), cut(s) ? " : 0)" : "",
               cut(s) ? ", k < K ? 16 : 0" : "");
    buf_puts(b, "    }\n};\n");
    cprint_close(&x->cp, scope);
    buf_free(&row);
    buf_free(&at);
}

static void put_first(Buf *b)
{
    buf_puts(b, "#pragma unroll\n"
                "for (int slot = 0; slot < STAGES; ++slot) {\n"
                "    fetch(slot);\n    dcc_cp_commit();\n}\n");
}

/* ---- x ----------------------------------------------------------------- */

static bool whole(const Stream *s)
{
    return stream_whole(&s->x, s->lane_k);
}

/* The guard of x's reads, or nothing. */
static void put_in(Stream *s, Buf *in)
{
    Contract *x = &s->x;

    if (cut(s))
        buf_puts(in, "k < K");
    if (whole(s) && guard_truth(x->a.op->in) != ALWAYS) {
        buf_puts(in, cut(s) ? " && " : "");
        cprint_guard(in, &x->cp, x->a.op->in);
    }
}

/* One element of x, or all of the lane's, to `to`. */
static void put_x_value(Stream *s, Buf *b, const char *to)
{
    Contract *x = &s->x;
    const Load *l = &x->a;
    Buf value = {0}, in = {0}, body = {0};

    put_in(s, &in);
    if (whole(s)) {
        Buf at = {0};
        cprint_element(&at, &x->cp, l->op->read->tensor, l->op->offset);
        if (in.len)
            buf_printf(b, "if (%s)\n    ", buf_text(&in));
        buf_printf(b, "dcc_read(%s, &%s[%s]);\n", to,
                   cprint_tensor(&x->cp, l->op->read->tensor), buf_text(&at));
        buf_free(&at);
    } else {
        const Expr *e = l->op->e;
        const char *text = cprint_bind(&body, &x->cp, e, l->id);
        buf_puts(&value,
                 cprint_to_storage(x->g->arena, x->elem, e->type, text));
        if (in.len)
            buf_printf(b, "if (%s) {\n", buf_text(&in));
        cprint_lines(b, buf_text(&body), in.len ? 4 : 0);
        buf_printf(b, "%s%s.v[e] = %s;\n", in.len ? "    " : "", to,
                   buf_text(&value));
        if (in.len)
            buf_puts(b, "}\n");
    }
    buf_free(&body);
    buf_free(&value);
    buf_free(&in);
}

/* fetch_x(piece): the lane's k of a piece, of each row that it has. */
static void put_x(Stream *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *l = &x->a;
    const char *elem = type_cname(x->elem);
    CScope scope = cprint_open(&x->cp);
    Buf inner = {0}, row = {0};

    const char *m = !s->f->mma          ? "j"
                    : x->t.bm % 16 && (x->t.bm > 8 || x->t.bm % 8)
                        ? "min(j * 8 + lane / 4, BM - 1)"
                        : "j * 8 + lane / 4";

    buf_printf(b, "using lane_x = dcc_vector<%s, LANE_K>;\n", elem);
    buf_printf(b, "lane_x x_rows[%s][STEPS];\n",
               !s->f->mma ? "BM" : x->t.bm <= 8 ? "1" : "2 * ROWS");
    buf_printf(&row, "const int m = %s;\n", m);
    contract_digits(x, &row, l->side, l, "m");
    buf_printf(&inner, "const int k = k_warp + piece * PIECE + i * K_STEP + "
                       "lane %% 4 * LANE_K%s;\n", whole(s) ? "" : " + e");
    contract_digits(x, &inner, &x->k, l, "k");
    put_x_value(s, &inner, "x_rows[j][i]");
    buf_printf(b, "auto fetch_%s = [&](int piece) {\n"
                  "    #pragma unroll\n"
                  "    for (int j = 0; j < %s; ++j) {\n", l->id,
               !s->f->mma ? "BM" : x->t.bm <= 8 ? "1" : "2 * ROWS");
    cprint_lines(b, buf_text(&row), 8);
    buf_puts(b, "        #pragma unroll\n"
                "        for (int i = 0; i < STEPS; ++i) {\n");
    if (cut(s) || (whole(s) && guard_truth(l->op->in) != ALWAYS))
        buf_puts(b, "            x_rows[j][i] = {};\n");
    if (!whole(s))
        buf_puts(b, "            #pragma unroll\n"
                    "            for (int e = 0; e < LANE_K; ++e) {\n");
    cprint_lines(b, buf_text(&inner), whole(s) ? 12 : 16);
    buf_printf(b, "%s        }\n    }\n};\n",
               whole(s) ? "" : "            }\n");
    cprint_close(&x->cp, scope);
    buf_free(&inner);
    buf_free(&row);
}

/* ---- x through the ring ------------------------------------------------ */

/* Weights that are too many for the L2, whose halves each keep what they read,
 * to have them when they are read again: they leave it to x, whose rows all
 * blocks want, and to the results. */
static bool once(const Stream *s)
{
    const Contract *x = &s->x;
    double bytes = (double)x->c.N * (double)x->c.K * (double)x->c.batches *
                   s->f->size;

    return bytes > x->o->device->l2_mb * 1e6 / 2;
}

/* One operand's part of a slot, 16 bytes a lane. Rows lie PIECE apart; every
 * other one has its halves of 2 K_STEP swapped, so that lanes read rows side
 * by side from different banks. `row` declares the row of the tensor. */
static void put_ring_load(Stream *s, Buf *b, const Load *l, const char *rows,
                          const char *row, const char *element)
{
    Contract *x = &s->x;
    bool is_x = l == &x->a;
    bool part = is_x && x->t.bm * s->piece % (32 * s->lane_k);
    const char *name = cprint_tensor(&x->cp, l->op->read->tensor);
    Buf in = {0};

    if (is_x)
        put_in(s, &in);
    else if (cut(s))
        buf_puts(&in, "k < K");
    buf_printf(b, "    #pragma unroll\n"
                  "    for (int i = 0; i < %s * PIECE / LANE_K; i += 32) {\n"
                  "        const int r = (i + lane) / (PIECE / LANE_K);\n"
                  "        const int k_at = (i + lane) %% (PIECE / LANE_K) * "
                  "LANE_K;\n", rows);
    if (part)
        buf_puts(b, "        if (r >= BM)\n            break;\n");
    cprint_lines(b, row, 8);
    if (in.len)
        buf_printf(b, "        const bool in = %s;\n", buf_text(&in));
    buf_printf(b, "        const int at = k_at ^ r %% 2 * K_STEP;\n"
                  "        %s&%s_ring[piece %% STAGES][r][at], "
                  "&%s[%s%s%s]%s);\n    }\n",
               is_x      ? "dcc_copy16(async, "
               : once(s) ? "dcc_cp_stream16("
                         : "dcc_cp_async16(",
               l->id, name, in.len ? "in ? " : "",
               element, in.len ? " : 0" : "", in.len ? ", in ? 16 : 0" : "");
    buf_free(&in);
}

/* Begins a lambda that fetches a piece: its first k, and that of a lane. */
static const char *open_fetch(const Stream *s, Buf *b, const Load *l,
                              const char *more)
{
    buf_printf(b, "auto &%s_ring = smem.%s[warp];\n"
                  "auto fetch_%s = [&](int piece%s) {\n", l->id, l->tile,
               l->id, more);
    if (s->leaps == 1)
        return "const int k = k_warp + piece * PIECE + k_at;\n";
    buf_puts(b, "    const int k0 = k_warp + dcc_leap<PIECES, LEAPS>(piece) * "
                "PIECE;\n");
    return "const int k = k0 + k_at;\n";
}

static void put_ring_weights(Stream *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *l = &x->b;
    const Tensor *t = l->op->read->tensor;
    bool beyond = x->c.N % s->columns;
    CScope scope = cprint_open(&x->cp);
    Buf row = {0}, at = {0}, text = {0};

    cprint_name(&x->cp, s->f->n, "column");
    cprint_element(&row, &x->cp, t, l->row_part);
    cprint_name(&x->cp, s->f->k, "k");
    cprint_element(&at, &x->cp, t, l->k_part);
    buf_printf(&text, "const int column = %sfirst + r%s;\n%s"
                      "const %s w_off = %s;\n", beyond ? "min(" : "",
               beyond ? ", N - 1)" : "", open_fetch(s, b, l, ""),
               contract_offset_type(l), buf_text(&row));
    put_ring_load(s, b, l, "TILES * 8", buf_text(&text),
                  arena_printf(x->g->arena, "w_off + %s", buf_text(&at)));
    buf_puts(b, "};\n");
    cprint_close(&x->cp, scope);
    buf_free(&text);
    buf_free(&row);
    buf_free(&at);
}

static void put_ring_x(Stream *s, Buf *b)
{
    Contract *x = &s->x;
    const Load *l = &x->a;
    CScope scope = cprint_open(&x->cp);
    Buf row = {0}, at = {0};

    buf_printf(&row, "const int m = r;\n%s",
               open_fetch(s, b, l, ", bool async"));
    contract_digits(x, &row, l->side, l, "m");
    contract_digits(x, &row, &x->k, l, "k");
    cprint_element(&at, &x->cp, l->op->read->tensor, l->op->offset);
    put_ring_load(s, b, l, "BM", buf_text(&row), buf_text(&at));
    buf_puts(b, "};\n");
    cprint_close(&x->cp, scope);
    buf_free(&row);
    buf_free(&at);
}

/* Copies of one lane are done in their order: those of x that had to wait come
 * through registers, so that no product waits for later pieces' weights. */
static void put_ring(Stream *s)
{
    Contract *x = &s->x;
    const Kernel *k = x->kernel;
    bool ahead = k->waits && kernel_reads_constants(x->b.op->e);
    const char *w = x->b.id, *a = x->a.id;
    Buf b = {0};

    if (!ahead)
        kernel_wait_phase(x->g, x->kernel);
    put_ring_weights(s, &b);
    put_ring_x(s, &b);
    buf_printf(&b, "#pragma unroll 1\n"
                   "for (int piece = 0; piece < STAGES; ++piece) {\n"
                   "    fetch_%s(piece);\n", w);
    if (!ahead)
        buf_printf(&b, "    fetch_%s(piece, true);\n", a);
    buf_puts(&b, "    dcc_cp_commit();\n}\n");
    if (ahead) {
        buf_puts(&b, kernel_wait(k));
        buf_printf(&b, "#pragma unroll\n"
                       "for (int piece = 0; piece < STAGES; ++piece)\n"
                       "    fetch_%s(piece, false);\n", a);
    }
    contract_early(x, &b);
    kernel_phase(x->g, x->kernel, "load", &b);
    buf_free(&b);
}

/* x comes first, unless it has to be waited for and weights have not. */
static void put_load(Stream *s)
{
    Contract *x = &s->x;
    bool constant = kernel_reads_constants(x->b.op->e);
    const char *first = arena_printf(x->g->arena, "fetch_%s(0);\n", x->a.id);
    Buf b = {0};

    if (!constant)
        kernel_wait_phase(x->g, x->kernel);
    put_fetch(s, &b);
    put_x(s, &b);
    if (x->kernel->waits && constant) {
        put_first(&b);
        buf_puts(&b, kernel_wait(x->kernel));
        buf_puts(&b, first);
    } else {
        buf_puts(&b, first);
        put_first(&b);
    }
    contract_early(x, &b);
    kernel_phase(x->g, x->kernel, "load", &b);
    buf_free(&b);
}

/* ---- multiply ---------------------------------------------------------- */

static void put_multiply(Stream *s)
{
    Contract *x = &s->x;
    Arena *a = x->g->arena;
    const char *file = s->ring     ? "contract_stream_ring.cu.in"
                       : s->f->mma ? "contract_stream_mma.cu.in"
                                   : "contract_stream_float.cu.in";
    Slot slot[] = {
        {"MMA", x->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                 : "dcc_mma_m16n8k16_bf16"},
        {"NONE", x->t.bm <= 8 ? "const uint32_t none[4] = {};\n" : ""},
        {"HIGH", x->t.bm <= 8 ? "none"
                 : s->ring    ? "x_words[2 * j + 1].v"
                              : "x_words(x_rows[2 * j + 1][i]).v"},
        {"WEIGHT", type_cname(x->b.op->read->tensor->type)},
        {"MORE", s->pieces == 1 ? ""
                 : arena_printf(a, "if (piece + 1 < PIECES)\n"
                                   "    fetch_%s(piece + 1);\n", x->a.id)},
        {"W", x->b.id},
        {"X", x->a.id},
    };
    Buf b = {0};

    template_fill(&b, file, slot, 7);
    kernel_phase(x->g, x->kernel, "multiply", &b);
    buf_free(&b);
}

static void put_sums(Stream *s)
{
    bool mma = s->f->mma;
    const SkinnySums of = {
        .mma = mma,
        .column = mma ? "i * 8 + lane % 4 * 2 + e % 2" : "i * 8 + lane / 4",
        .row = "j * 16 + e / 2 * 8 + lane / 4",
        .tiles = "TILES",
        .rows = "ROWS",
        .warp = "warp",
        .warps = "WARPS",
    };

    skinny_put_sums(&s->x, &of);
}

/* ---- the whole --------------------------------------------------------- */

void stream_build(Stream *s, Kernel *k)
{
    Contract *x = &s->x;

    x->beyond = x->c.N % s->columns != 0;
    contract_names(x, k);
    contract_name_loads(x);
    skinny_frame(x, k, "contract_stream", s->columns, s->smem);
    k->min_arch = x->t.split > 1 ? "sm_90" : "sm_80";
    constants(s);
    shared_memory(s);
    put_setup(s);
    if (s->ring)
        put_ring(s);
    else
        put_load(s);
    put_multiply(s);
    put_sums(s);
}
