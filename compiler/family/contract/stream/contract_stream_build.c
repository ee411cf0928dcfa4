#include "family/contract/stream/contract_stream.h"

#include <string.h>

/* The kernel of a contraction whose weights come through rings. */

static void constants(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->p->t;

    skinny_constants(x, s->p->k_step, s->p->lane_k);
    kernel_constant(g, k, "PIECE", s->p->piece, "k of a slot");
    kernel_constant(g, k, "PIECES", s->p->pieces, "of a warp");
    if (s->p->leaps > 1)
        kernel_constant(g, k, "LEAPS", s->p->leaps, "in which they are taken");
    kernel_constant(g, k, "STEPS", s->p->piece / s->p->k_step, "of a piece");
    if (!s->p->ring)
        kernel_constant(g, k, "PITCH", s->p->pitch,
                        "padded: columns on other banks");
    kernel_constant(g, k, "STAGES", s->p->stages, "slots of a warp's ring");
    kernel_constant(g, k, "WARPS", s->p->warps, NULL);
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    kernel_constant(g, k, "TILES", s->p->columns / 8, "of 8 columns");
    kernel_constant(g, k, "SLICES", x->p->parts, "sums of a result");
    if (s->f->mma) {
        kernel_constant(g, k, "ROWS", (t->bm + 15) / 16, "of 16 rows");
        if (!s->p->ring)
            kernel_constant(g, k, "CHAINS", s->p->chains,
                            "sums that do not wait for each other");
    }
    if (t->split > 1) {
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share K");
        kernel_constant(g, k, "COLUMNS", s->p->columns, "of a cluster");
    }
}

static void shared_memory(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    const Tensor *w = x->b.op->read->tensor;
    const char *type = type_cname(w->type);
    Arena *a = x->g->arena;

    if (s->p->ring) {
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

static void put_setup(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    Tree *b = tree_list(s->x.g->arena);

    if (s->p->wide)
        PUT(b, "// There is more shared memory than is used: no SM takes more "
               "blocks than\n"
               "// another where they begin beside launches before them.\n");
    if (x->p->t.split > 1)
        PUT(b, "const int rank = blockIdx.x % SPLIT;\n"
               "const int first = blockIdx.x / SPLIT * COLUMNS;\n"
               "const int n0 = first + rank * BN;\n"
               "const int m0 = 0;\n"
               "dcc_cluster_arrive();  // each block is there\n");
    else
        PUT(b, "const int first = blockIdx.x * BN;\n"
               "const int n0 = first;\n"
               "const int m0 = 0;\n");
    contract_batch(x, b);
    PUT(b, "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n");
    PUT(b, "const int k_warp = @rank@warp * PIECES * PIECE;\n",
        FILL("rank", x->p->t.split > 1 ? "rank * BK + " : ""));
    kernel_phase(x->g, x->kernel, "setup", b);
}

static bool cut(const StreamBuild *s)
{
    return (int64_t)s->x.p->t.bk * s->x.p->t.split != s->x.f->c.K;
}

/* ---- weights ----------------------------------------------------------- */

static void put_fetch(StreamBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->b;
    const Tensor *t = l->op->read->tensor;
    bool beyond = x->f->c.N % s->p->columns;
    CScope scope = cprint_open(&x->cp);

    cprint_name(&x->cp, s->f->n, "column");
    cprint_name(&x->cp, s->f->k, "k");
    const char *at = cprint_element(&x->cp, t, l->k_part);
    PUT(b,
        "auto &ring = smem.@tile[warp];\n"
        "auto fetch = [&](int slot) {\n"
        "    #pragma unroll\n"
        "    for (int i = 0; i < 8 * PIECE / LANE_K; i += 32) {\n"
        "        const int c = (i + lane) / (PIECE / LANE_K);\n"
        "        const int k_at = (i + lane) % (PIECE / LANE_K) * LANE_K;\n"
        "        const int column = @least@first + slot % TILES * 8 + c@most;\n"
        "        const int k = k_warp + slot / TILES * PIECE + k_at;\n"
        "        const @type w_off = @row;\n"
        "        dcc_cp_async16(&ring[slot % STAGES][c][k_at], "
        "&@tensor[w_off + @at]@bytes);\n"
        "    }\n"
        "};\n",
        FILL("tile", l->tile), FILL("least", beyond ? "min(" : ""),
        FILL("most", beyond ? ", N - 1)" : ""),
        FILL("type", contract_offset_type(l)),
        FILL("row", contract_row_offset(x, l)),
        FILL("tensor", cprint_tensor(&x->cp, t)),
        FILL("at",
             cut(s) ? arena_printf(b->arena, "(k < K ? %s : 0)", at) : at),
        FILL("bytes", cut(s) ? ", k < K ? 16 : 0" : ""));
    cprint_close(&x->cp, scope);
}

static void put_first(Tree *b)
{
    PUT(b, "#pragma unroll\n"
           "for (int slot = 0; slot < STAGES; ++slot) {\n"
           "    fetch(slot);\n"
           "    dcc_cp_commit();\n"
           "}\n");
}

/* ---- x ----------------------------------------------------------------- */

static bool whole(const StreamBuild *s)
{
    return stream_whole(&s->x.a, s->p->lane_k);
}

/* The guard of x's reads, or "". */
static const char *inside(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    const char *in = cut(s) ? "k < K" : "";

    if (!whole(s) || guard_truth(x->a.op->in) == ALWAYS)
        return in;
    return arena_printf(x->g->arena, "%s%s%s", in, *in ? " && " : "",
                        cprint_guard(&x->cp, x->a.op->in));
}

/* One element of x, or all of the lane's, to `to`. */
static void put_x_value(StreamBuild *s, Tree *b, const char *to)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->a;
    const char *in = inside(s);
    Tree *body = tree_list(b->arena);

    if (whole(s)) {
        const Tensor *t = l->op->read->tensor;
        PUT(body, "dcc_read(@to, &@tensor[@at]);\n", FILL("to", to),
            FILL("tensor", cprint_tensor(&x->cp, t)),
            FILL("at", cprint_element(&x->cp, t, l->op->offset)));
    } else {
        const Expr *e = l->op->e;
        const char *text = cprint_bind(body, &x->cp, e, l->id);
        PUT(body, "@to.v[e] = @value;\n", FILL("to", to),
            FILL("value",
                 cprint_to_storage(b->arena, x->f->elem, e->type, text)));
    }
    if (*in)
        PUT(b,
            "if (@in) {\n"
            "    @BODY\n"
            "}\n",
            FILL("in", in), FILL_TREE("BODY", body));
    else
        tree_add(b, body);
}

/* ---- x that is computed ------------------------------------------------ */

enum { MOST_LANES = 4 };

/* Reads of x's elements that lie side by side along a lane's k: they come as
 * vectors; one by one, they are 48 loads a thread for a token's 8 rows. */
typedef struct Lanes {
    const StreamBuild *s;
    const Expr *read[MOST_LANES]; int n;
    const char *id[MOST_LANES];
} Lanes;

/* Elements of a vector of e's. */
static int lane_vector(const StreamBuild *s, const Expr *e)
{
    int most = 16 / type_bytes(e->tensor->type);

    return most < s->p->lane_k ? most : s->p->lane_k;
}

static void note_lanes(const Expr *e, void *ctx)
{
    Lanes *l = ctx;
    const ContractBuild *x = &l->s->x;
    const Var *k = x->f->k.v[0];

    if (e->kind != E_READ || e->in.n || l->n == MOST_LANES)
        return;
    const Idx *at = tensor_offset(x->g, e->tensor, e->at);
    const Idx *rest = idx_sub(x->g->pool, at, idx_var(x->g->pool, k));
    int vec = lane_vector(l->s, e);
    if (idx_coef(at, k) != 1 || idx_uses(rest, k) ||
        idx_align(rest, vec) < vec)
        return;
    for (int i = 0; i < l->n; i++)
        if (expr_equal(l->read[i], e))
            return;
    l->read[l->n++] = e;
}

static const char *lane_read(const Expr *read, void *ctx)
{
    const Lanes *l = ctx;

    for (int i = 0; i < l->n; i++)
        if (expr_equal(l->read[i], read))
            return arena_printf(l->s->x.g->arena, "%s[e]", l->id[i]);
    return NULL;
}

static Lanes find_lanes(const StreamBuild *s)
{
    const ContractBuild *x = &s->x;
    Lanes l = {.s = s};

    if (!whole(s) && x->f->k.n == 1 && !cut(s))
        expr_visit(x->a.op->e, note_lanes, &l);
    return l;
}

/* dcc_load<8>(h_lanes, &h[..]); of each, from the lane's first k on. */
static void put_lanes(StreamBuild *s, Tree *b, Lanes *l, const char *first)
{
    CPrint *cp = &s->x.cp;
    CScope scope = cprint_open(cp);

    if (l->n)
        PUT(b, "const int k_lane = @first;\n", FILL("first", first));
    cprint_name(cp, s->x.f->k.v[0], "k_lane");
    for (int i = 0; i < l->n; i++) {
        const Tensor *t = l->read[i]->tensor;
        const Idx *at = tensor_offset(s->x.g, t, l->read[i]->at);
        l->id[i] = cprint_fresh(cp, arena_printf(b->arena, "%s_lanes",
                                                 cprint_tensor(cp, t)));
        PUT(b,
            "float @id[LANE_K];\n"
            "dcc_load<@vec>(@id, &@tensor[@at]);\n",
            FILL("id", l->id[i]), FILL_INT("vec", lane_vector(s, l->read[i])),
            FILL("tensor", cprint_tensor(cp, t)),
            FILL("at", cprint_element(cp, t, at)));
    }
    cprint_close(cp, scope);
}

/* x's elements one by one, what they are made of in vectors. */
static Tree *put_elements(StreamBuild *s, const char *first, const char *to)
{
    ContractBuild *x = &s->x;
    Tree *b = tree_list(x->g->arena), *each = tree_list(x->g->arena);
    Lanes lanes = find_lanes(s);

    put_lanes(s, b, &lanes, first);
    PUT(each, "const int k = @first + e;\n", FILL("first", first));
    contract_digits(x, each, &x->f->k, &x->a, "k");
    x->cp.staged = lane_read;
    x->cp.ctx = &lanes;
    put_x_value(s, each, to);
    x->cp.staged = NULL;
    PUT(b,
        "#pragma unroll\n"
        "for (int e = 0; e < LANE_K; ++e) {\n"
        "    @EACH\n"
        "}\n",
        FILL_TREE("EACH", each));
    return b;
}

/* fetch_x(piece): the lane's k of a piece, of each row that it has. */
static void put_x(StreamBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->a;
    const char *elem = type_cname(x->f->elem);
    CScope scope = cprint_open(&x->cp);
    Tree *inner = tree_list(s->x.g->arena), *row = tree_list(s->x.g->arena);

    const char *m = !s->f->mma          ? "j"
                    : x->p->t.bm % 16 && (x->p->t.bm > 8 || x->p->t.bm % 8)
                        ? "min(j * 8 + lane / 4, BM - 1)"
                        : "j * 8 + lane / 4";

    const char *rows = !s->f->mma ? "BM" : x->p->t.bm <= 8 ? "1" : "2 * ROWS";

    PUT(row, "const int m = @m;\n", FILL("m", m));
    contract_digits(x, row, l->side, l, "m");
    const char *first =
        "k_warp + piece * PIECE + i * K_STEP + lane % 4 * LANE_K";
    if (whole(s)) {
        PUT(inner, "const int k = @first;\n", FILL("first", first));
        contract_digits(x, inner, &x->f->k, l, "k");
        put_x_value(s, inner, "x_rows[j][i]");
    } else {
        inner = put_elements(s, first, "x_rows[j][i]");
    }
    PUT(b,
        "using lane_x = dcc_vector<@elem, LANE_K>;\n"
        "lane_x x_rows[@rows][STEPS];\n"
        "auto fetch_@id = [&](int piece) {\n"
        "    #pragma unroll\n"
        "    for (int j = 0; j < @rows; ++j) {\n"
        "        @ROW\n"
        "        #pragma unroll\n"
        "        for (int i = 0; i < STEPS; ++i) {\n"
        "            @NONE\n"
        "            @INNER\n"
        "        }\n"
        "    }\n"
        "};\n",
        FILL("elem", elem), FILL("rows", rows), FILL("id", l->id),
        FILL_TREE("ROW", row),
        FILL("NONE", *inside(s) ? "x_rows[j][i] = {};\n" : ""),
        FILL_TREE("INNER", inner));
    cprint_close(&x->cp, scope);
}

/* ---- x through the ring ------------------------------------------------ */

/* Weights that are too many for the L2, whose halves each keep what they read,
 * to have them when they are read again: they leave it to x, whose rows all
 * blocks want, and to the results. */
static bool once(const StreamBuild *s)
{
    const ContractBuild *x = &s->x;
    double bytes = (double)x->f->c.N * (double)x->f->c.K *
                   (double)x->f->c.batches * s->f->size;

    return bytes > x->f->o->device->l2_mb * 1e6 / 2;
}

/* One operand's part of a slot, 16 bytes a lane. Rows lie PIECE apart; every
 * other one has its halves of 2 K_STEP swapped, so that lanes read rows side
 * by side from different banks. `row` declares the row of the tensor. */
static void put_ring_load(StreamBuild *s, Tree *b, const Load *l,
                          const char *rows, const Tree *row,
                          const char *element)
{
    ContractBuild *x = &s->x;
    bool is_x = l == &x->a;
    bool part = is_x && x->p->t.bm * s->p->piece % (32 * s->p->lane_k);
    const char *in = is_x ? inside(s) : cut(s) ? "k < K" : "";
    Tree *among = tree_list(b->arena);

    if (part)
        PUT(among, "if (r >= BM)\n"
                   "    break;\n");
    PUT(among, "@ROW\n", FILL_TREE("ROW", row));
    if (*in)
        PUT(among, "const bool in = @in;\n", FILL("in", in));
    PUT(b,
        "#pragma unroll\n"
        "for (int i = 0; i < @rows * PIECE / LANE_K; i += 32) {\n"
        "    const int r = (i + lane) / (PIECE / LANE_K);\n"
        "    const int k_at = (i + lane) % (PIECE / LANE_K) * LANE_K;\n"
        "    @AMONG\n"
        "    const int at = k_at ^ r % 2 * K_STEP;\n"
        "    @copy(@async&@id@_ring[piece % STAGES][r][at], "
        "&@name[@element]@bytes);\n"
        "}\n",
        FILL("rows", rows), FILL_TREE("AMONG", among),
        FILL("copy", is_x      ? "dcc_copy16"
                     : once(s) ? "dcc_cp_stream16"
                               : "dcc_cp_async16"),
        FILL("async", is_x ? "async, " : ""), FILL("id", l->id),
        FILL("name", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("element",
             *in ? arena_printf(b->arena, "in ? %s : 0", element) : element),
        FILL("bytes", *in ? ", in ? 16 : 0" : ""));
}

/* A lambda that fetches a piece of an operand: `load`, a lane's part of it;
 * `row` declares the lane's k, and what else its place is made of. */
static void put_ring_fetch(const StreamBuild *s, Tree *b, const Load *l,
                           const char *more, const Tree *load)
{
    PUT(b,
        s->p->leaps == 1 ? "auto &@id@_ring = smem.@tile[warp];\n"
                        "auto fetch_@id = [&](int piece@more) {\n"
                        "    @LOAD\n"
                        "};\n"
                      : "auto &@id@_ring = smem.@tile[warp];\n"
                        "auto fetch_@id = [&](int piece@more) {\n"
                        "    const int k0 = k_warp + "
                        "dcc_leap<PIECES, LEAPS>(piece) * PIECE;\n"
                        "    @LOAD\n"
                        "};\n",
        FILL("id", l->id), FILL("tile", l->tile), FILL("more", more),
        FILL_TREE("LOAD", load));
}

/* A lane's first k of a piece. */
static const char *lane_k(const StreamBuild *s)
{
    return s->p->leaps == 1 ? "k_warp + piece * PIECE + k_at" : "k0 + k_at";
}

static void put_ring_weights(StreamBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->b;
    const Tensor *t = l->op->read->tensor;
    bool beyond = x->f->c.N % s->p->columns;
    CScope scope = cprint_open(&x->cp);
    Tree *row = tree_list(b->arena), *load = tree_list(b->arena);

    cprint_name(&x->cp, s->f->n, "column");
    cprint_name(&x->cp, s->f->k, "k");
    PUT(row,
        "const int column = @least@first + r@most;\n"
        "const int k = @k;\n"
        "const @type w_off = @row;\n",
        FILL("least", beyond ? "min(" : ""),
        FILL("most", beyond ? ", N - 1)" : ""), FILL("k", lane_k(s)),
        FILL("type", contract_offset_type(l)),
        FILL("row", contract_row_offset(x, l)));
    put_ring_load(s, load, l, "TILES * 8", row,
                  arena_printf(b->arena, "w_off + %s",
                               cprint_element(&x->cp, t, l->k_part)));
    put_ring_fetch(s, b, l, "", load);
    cprint_close(&x->cp, scope);
}

static void put_ring_x(StreamBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    const Load *l = &x->a;
    CScope scope = cprint_open(&x->cp);
    Tree *row = tree_list(b->arena), *load = tree_list(b->arena);

    PUT(row,
        "const int m = r;\n"
        "const int k = @k;\n",
        FILL("k", lane_k(s)));
    contract_digits(x, row, l->side, l, "m");
    contract_digits(x, row, &x->f->k, l, "k");
    put_ring_load(s, load, l, "BM", row,
                  cprint_element(&x->cp, l->op->read->tensor, l->op->offset));
    put_ring_fetch(s, b, l, ", bool async", load);
    cprint_close(&x->cp, scope);
}

/* Copies of one lane are done in their order: those of x that had to wait come
 * through registers, so that no product waits for later pieces' weights. */
static void put_ring(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    const Kernel *k = x->kernel;
    bool ahead = k->waits && kernel_reads_constants(x->b.op->e);
    Tree *b = tree_list(x->g->arena);

    if (!ahead)
        kernel_wait_phase(x->g, x->kernel);
    put_ring_weights(s, b);
    put_ring_x(s, b);
    PUT(b,
        ahead ? "#pragma unroll 1\n"
                "for (int piece = 0; piece < STAGES; ++piece) {\n"
                "    fetch_@w(piece);\n"
                "    dcc_cp_commit();\n"
                "}\n"
                "@WAIT\n"
                "#pragma unroll\n"
                "for (int piece = 0; piece < STAGES; ++piece)\n"
                "    fetch_@x(piece, false);\n"
              : "#pragma unroll 1\n"
                "for (int piece = 0; piece < STAGES; ++piece) {\n"
                "    fetch_@w(piece);\n"
                "    fetch_@x(piece, true);\n"
                "    dcc_cp_commit();\n"
                "}\n",
        FILL("w", x->b.id), FILL("x", x->a.id), FILL("WAIT", kernel_wait(k)));
    contract_early(x, b);
    kernel_phase(x->g, x->kernel, "load", b);
}

/* x comes first, unless it has to be waited for and weights have not. */
static void put_load(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    bool constant = kernel_reads_constants(x->b.op->e);
    Tree *b = tree_list(s->x.g->arena);

    if (!constant)
        kernel_wait_phase(x->g, x->kernel);
    put_fetch(s, b);
    put_x(s, b);
    if (x->kernel->waits && constant) {
        put_first(b);
        PUT(b,
            "@WAIT\n"
            "fetch_@x(0);\n",
            FILL("WAIT", kernel_wait(x->kernel)), FILL("x", x->a.id));
    } else {
        PUT(b, "fetch_@x(0);\n", FILL("x", x->a.id));
        put_first(b);
    }
    contract_early(x, b);
    kernel_phase(x->g, x->kernel, "load", b);
}

/* ---- multiply ---------------------------------------------------------- */

static void put_multiply(StreamBuild *s)
{
    ContractBuild *x = &s->x;
    Arena *a = x->g->arena;
    const char *file = s->p->ring     ? "contract_stream_ring.cu.in"
                       : s->f->mma ? "contract_stream_mma.cu.in"
                                   : "contract_stream_float.cu.in";
    Fill slot[] = {
        FILL("MMA", x->f->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                     : "dcc_mma_m16n8k16_bf16"),
        FILL("NONE", x->p->t.bm <= 8 ? "const uint32_t none[4] = {};\n" : ""),
        FILL("HIGH", x->p->t.bm <= 8 ? "none"
                     : s->p->ring    ? "x_words[2 * j + 1].v"
                                  : "x_words(x_rows[2 * j + 1][i]).v"),
        FILL("WEIGHT", type_cname(x->b.op->read->tensor->type)),
        FILL("MORE", s->p->pieces == 1 ? ""
                                    : arena_printf(a,
                                                   "if (piece + 1 < PIECES)\n"
                                                   "    fetch_%s(piece + 1);\n",
                                                   x->a.id)),
        FILL("W", x->b.id),
        FILL("X", x->a.id),
    };

    kernel_phase(x->g, x->kernel, "multiply", template_tree(a, file, slot, 7));
}

static void put_sums(StreamBuild *s)
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

static void build_plan(const Stream *plan, Kernel *k)
{
    StreamBuild build = {.f = plan->f, .p = plan}, *s = &build;
    ContractBuild *x = &s->x;

    contract_start(x, &plan->x, k);
    skinny_frame(x, k, "contract_stream", s->p->columns, s->p->smem);
    k->min_arch = x->p->t.split > 1 ? "sm_90" : "sm_80";
    constants(s);
    shared_memory(s);
    put_setup(s);
    if (s->p->ring)
        put_ring(s);
    else
        put_load(s);
    put_multiply(s);
    put_sums(s);
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Stream s;

    if (stream_plan(&s, form, v))
        return;
    k->variant = stream_text(form, v);
    build_plan(&s, k);
}

const Family family_contract_stream = {
    .name = "contract_stream",
    .version = 1,
    .open = stream_open,
    .space = stream_space,
    .text = stream_text,
    .cost = stream_cost,
    .build = build,
};
