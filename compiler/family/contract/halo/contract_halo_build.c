#include "emit/cprint_old.h"
#include "family/contract/halo/contract_halo.h"

#include <string.h>

/* The kernel of a convolution of few channels, from its plan. */

static int64_t extent(const Var *v)
{
    return v ? v->extent : 1;
}

static void constants(Halo *h)
{
    const HaloForm *f = h->f;
    Contract *x = &h->x;
    Graph *g = x->g;
    Kernel *k = x->kernel;
    const Tensor *t = halo_input(f, x)->op->read->tensor;

    kernel_constant(g, k, "P", extent(f->p), NULL);
    kernel_constant(g, k, "Q", extent(f->q), "output pixels");
    kernel_constant(g, k, "N", h->channels, "output channels");
    kernel_constant(g, k, "TP", h->tp, NULL);
    kernel_constant(g, k, "TQ", h->tq, "a block's output pixels");
    kernel_constant(g, k, "BM", h->bm, NULL);
    kernel_constant(g, k, "BN", h->bn, NULL);
    kernel_constant(g, k, "WM", h->wm, "rows of a warp");
    kernel_constant(g, k, "TILES_P", h->tiles_p, NULL);
    kernel_constant(g, k, "TILES_Q", h->tiles_q, NULL);
    kernel_constant(g, k, "TILES", h->tiles, NULL);
    kernel_constant(g, k, "CHANNELS", extent(f->channel), NULL);
    kernel_constant(g, k, "R", extent(f->r), NULL);
    kernel_constant(g, k, "RUN", f->length, "the window: neighbours a row");
    kernel_constant(g, k, "LEAD", h->lead, "taps of weight 0 before a run");
    kernel_constant(g, k, "TAPS", h->taps, "of a run, with such");
    kernel_constant(g, k, "ROWS_R", h->rows_r, "of a window, with such");
    kernel_constant(g, k, "GROUP", h->group, "runs in 8 taps");
    kernel_constant(g, k, "PIECES", h->pieces, "or of 8 taps, a run");
    kernel_constant(g, k, "HALVES", h->halves, "8 k each");
    kernel_constant(g, k, "K_STEPS", h->depth / 16, "16 k each");
    kernel_constant(g, k, "STEP_P", f->step_p, NULL);
    kernel_constant(g, k, "STEP_Q", f->step_q, NULL);
    kernel_constant(g, k, "DILATION", f->dilation, NULL);
    kernel_constant(g, k, "HEIGHT",
                    f->dim_h < 0 ? 1 : t->dim[f->dim_h], NULL);
    kernel_constant(g, k, "WIDTH", f->width, "elements of a row");
    kernel_constant(g, k, "IN_ROWS", h->in_rows, NULL);
    kernel_constant(g, k, "PITCH", h->pitch, "the input patch");
    kernel_constant(g, k, "THREADS", x->t.threads, NULL);
    if (f->packs)
        kernel_constant(g, k, "COLS", h->bn, "that a warp stores at a time");
}

static void shared_memory(Halo *h)
{
    Contract *x = &h->x;
    Arena *a = x->g->arena;
    const char *type = type_cname(x->elem);

    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[BN][K_STEPS * 16 + 8]", type,
                             halo_weights(h->f, x)->tile), NULL);
    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[2][CHANNELS][IN_ROWS][PITCH]", type,
                             halo_input(h->f, x)->tile),
                "this tile's and the next");
    if (h->copies > 1)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s moved[CHANNELS][IN_ROWS][PITCH]",
                                 type), "by one column");
    if (h->f->packs)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s out_rows[THREADS / 32][16][COLS]",
                                 type), NULL);
    else
        kernel_smem(x->g, x->kernel, 16,
                    h->f->swapped ? "float sums[BN][BM + 4]"
                                  : "float sums[BM][BN + 8]", NULL);
}

/* ---- weights ----------------------------------------------------------- */

/* The run's variables from `run`, the number of an element of it. */
static void put_run(Halo *h, Buf *b)
{
    const HaloForm *f = h->f;
    Contract *x = &h->x;
    int64_t below = f->length;

    for (int i = 0; i < f->n_run; i++) {
        const Var *v = f->run[i];
        below /= v->extent;
        if (f->n_run == 1) {
            cprint_name(&x->cp, v, "run");
            return;
        }
        buf_printf(b, "const int %s = run", cprint_var(&x->cp, v));
        cprint_digit(b, below, i > 0 ? v->extent : 0);
        buf_puts(b, ";\n");
    }
}

/* A lane has the same k of several rows at once. */
static void put_weights(Halo *h, Buf *b)
{
    const HaloForm *f = h->f;
    Contract *x = &h->x;
    const Load *l = halo_weights(f, x);
    CScope scope = cprint_open(&x->cp);
    Buf body = {0}, value = {0}, run = {0};
    const char *n = f->swapped ? "m" : "n", *type = type_cname(x->elem);

    if (f->channel)
        cprint_name(&x->cp, f->channel, "c");
    if (f->r)
        cprint_name(&x->cp, f->r, "r");
    put_run(h, &run);
    contract_digits(x, &body, l->side, l, n);
    const char *text = cprint_bind(&body, &x->cp, l->op->e, l->id);
    buf_puts(&value,
             cprint_to_storage(x->g->arena, x->elem, l->op->e->type, text));
    buf_puts(b, "// The weights, 0 where there are none.\n"
                "#pragma unroll 2\n"
                "for (int k = lane; k < K_STEPS * 16; k += 32) {\n"
                "    const int run = k % TAPS - LEAD, "
                "r = k / TAPS % ROWS_R;\n"
                "    const int c = k / (TAPS * ROWS_R);\n"
                "    const bool in = run >= 0 && run < RUN && r < R && "
                "c < CHANNELS;\n");
    cprint_lines(b, buf_text(&run), 4);
    buf_printf(b, "    #pragma unroll %d\n"
                  "    for (int i = 0; i < BN / (THREADS / 32); ++i) {\n"
                  "        const int row = i * (THREADS / 32) + warp, "
                  "%s = %s0 + row;\n"
                  "        %s value = dcc_from_float<%s>(0.0f);\n"
                  "        if (in && %s < N) {\n", HALO_WEIGHTS_AHEAD, n, n,
               type, type, n);
    cprint_lines(b, buf_text(&body), 12);
    buf_printf(b, "            value = %s;\n        }\n"
                  "        smem.%s[row][k] = value;\n    }\n}\n",
               buf_text(&value), l->tile);
    cprint_close(&x->cp, scope);
    buf_free(&body);
    buf_free(&value);
    buf_free(&run);
}

/* ---- input ------------------------------------------------------------- */

/* Element (image, c, y, x) of the input; the columns begin at `x0`. */
static const char *offset(Halo *h)
{
    const HaloForm *f = h->f;
    const Tensor *t = halo_input(f, &h->x)->op->read->tensor;
    Arena *a = h->x.g->arena;
    const char *wide = t->span > (1LL << 31) - 1 ? "(long long)" : "";
    const char *s = "column";

    if (f->dim_h >= 0)
        s = arena_printf(a, "%sy * %lld + %s", wide,
                         (long long)t->stride[f->dim_h], s);
    if (f->channel)
        s = arena_printf(a, "%sc * %lld + %s", wide,
                         (long long)f->stride_channel, s);
    if (f->image)
        s = arena_printf(a, "%simage * %lld + %s", wide,
                         (long long)f->stride_image, s);
    if (f->rest)
        s = arena_printf(a, "%lld + %s", (long long)f->rest, s);
    return s;
}

static void put_tile(Halo *h, Buf *b)
{
    const HaloForm *f = h->f;

    buf_puts(b, "const int q0 = tile % TILES_Q * TQ;\n"
                "const int p0 = tile / TILES_Q % TILES_P * TP;\n");
    if (f->image)
        buf_puts(b, "const int image = tile / (TILES_Q * TILES_P);\n");
}

/* The copies of a tile's input: 0 outside. */
static void put_fetch(Halo *h, Buf *b)
{
    Contract *x = &h->x;
    const char *tile = halo_input(h->f, x)->tile;
    const char *name =
        cprint_tensor(&x->cp, halo_input(h->f, x)->op->read->tensor);
    int vec = h->f->align, bytes = vec * 2;
    Buf place = {0};

    put_tile(h, &place);
    buf_puts(b, "const auto fetch = [&](int tile, int slot) {\n");
    cprint_lines(b, buf_text(&place), 4);
    buf_printf(b, "    const int y0 = p0 * STEP_P - %d, "
                  "x0 = q0 * STEP_Q - %d;\n"
                  "    for (int i = threadIdx.x; i < CHANNELS * IN_ROWS * "
                  "(PITCH / %d);\n         i += THREADS) {\n"
                  "        const int j = i %% (PITCH / %d) * %d, "
                  "in_row = i / (PITCH / %d) %% IN_ROWS;\n"
                  "        const int c = i / (PITCH / %d * IN_ROWS);\n"
                  "        const int y = y0 + in_row, column = x0 + j;\n"
                  "        const bool in = y >= 0 && y < HEIGHT && "
                  "column >= 0 && column < WIDTH;\n",
               -h->f->first_p, -(h->f->first_q - h->lead - h->shift), vec, vec,
               vec, vec, vec);
    buf_printf(b, "        dcc_cp_async%d(&smem.%s[slot][c][in_row][j],\n"
                  "            &%s[in ? %s : 0],\n            in ? %d : 0);\n"
                  "    }\n    dcc_cp_commit();\n};\n",
               bytes, tile, name, offset(h), bytes);
    buf_free(&place);
}

/* Every word of the input moved by one element. */
static void put_moved(Halo *h, Buf *b)
{
    if (h->copies > 1)
        buf_printf(b, "dcc_move_by_one<THREADS>(smem.moved, smem.%s[slot]);\n"
                      "__syncthreads();\n",
                   halo_input(h->f, &h->x)->tile);
}

/* ---- epilogue ---------------------------------------------------------- */

static const char leave[] =
    "dcc_put_sums(&sums[warp * WM + i * 16 + lane / 4]\n"
    "                  [j * 8 + lane % 4 * 2], BN + 8, acc[i][j]);\n";
static const char leave_swapped[] =
    "#pragma unroll\n"
    "for (int e = 0; e < 4; ++e)\n"
    "    sums[j * 8 + lane % 4 * 2 + e % 2]\n"
    "        [warp * WM + i * 16 + e / 2 * 8 + lane / 4] = acc[i][j][e];\n";

/* n, and the pixel as `p` and `q`, at row and col; or leaves the loop. */
static void put_pixel(Halo *h, Buf *b, const char *p, const char *q)
{
    const HaloForm *f = h->f;
    CPrint *cp = &h->x.cp;
    const char *pixel = f->swapped ? "col" : "row", *sep = "";
    Buf out = {0};

    buf_printf(b, "const int %s;\n"
                  "const int %s = p0 + %s / TQ;\n"
                  "const int %s = q0 + %s %% TQ;\n",
               f->swapped ? "m = m0 + row" : "n = n0 + col", p, pixel, q,
               pixel);
    if (f->image)
        cprint_name(cp, f->image, "image");
    if (f->p)
        cprint_name(cp, f->p, p);
    cprint_name(cp, f->q, q);
    if (extent(f->p) % h->tp) {
        buf_printf(&out, "%s >= P", p);
        sep = " || ";
    }
    if (extent(f->q) % h->tq) {
        buf_printf(&out, "%s%s >= Q", sep, q);
        sep = " || ";
    }
    if (h->channels % h->bn)
        buf_printf(&out, "%s%s >= N", sep, f->swapped ? "m" : "n");
    if (out.len)
        buf_printf(b, "if (%s)\n    continue;\n", buf_text(&out));
    buf_free(&out);
}

/* Where the point is: contract_points' callback. */
static void place_point(Contract *x, Buf *b)
{
    Halo *h = (Halo *)x; /* x is its first member */
    const char *of = h->f->swapped ? "BM" : "BN";

    if (x->vec > 1)
        buf_printf(b, "const int row = i / (%s / %d), "
                      "col = i %% (%s / %d) * %d;\n", of, x->vec, of, x->vec,
                   x->vec);
    else
        buf_printf(b, "const int row = i / %s, col = i %% %s;\n", of, of);
    put_pixel(h, b, "p", "q");
}

/* The same of a pair whose row and col are there, and of 8 columns. */
static void place_pair(Contract *x, Buf *b)
{
    x->sum = "acc[i][c][q % 2 * 2 + e]";
    put_pixel((Halo *)x, b, "at_p", "at_q");
}

static void place_piece(Contract *x, Buf *b)
{
    put_pixel((Halo *)x, b, "at_p", "at_q");
}

/* 16-bit results by way of a warp's rows; *early: what needs no tile. */
static void put_packed(Halo *h, Buf *b, Buf *early)
{
    enum { EARLY_REGS = 32 };
    Contract *x = &h->x;
    Buf pairs = {0}, pieces = {0};

    x->width = "BN";
    contract_pairs(x, &pairs, place_pair, "packed[q / 4][q % 4]", early,
                   EARLY_REGS);
    contract_pieces(x, &pieces, place_piece,
                    "&out[line][dcc_packed_at<COLS>(line, piece)]");
    Slot slot[] = {{"PAIRS", buf_text(&pairs)}, {"PIECES", buf_text(&pieces)}};
    template_fill(b, "contract_halo_packed.cu.in", slot, 2);
    buf_free(&pairs);
    buf_free(&pieces);
}

static void put_points(Halo *h, Buf *b)
{
    Contract *x = &h->x;
    Buf points = {0}, all = {0};

    contract_points(x, &points, 8, place_point, NULL);
    buf_printf(&all, "#pragma unroll 2\n"
                     "for (int i = threadIdx.x; i < BM * BN / %d; "
                     "i += THREADS) {\n", x->vec);
    cprint_lines(&all, buf_text(&points), 4);
    buf_puts(&all, "}\n");
    Slot slot[] = {{"SUMS", h->f->swapped ? "BM + 4" : "BN + 8"},
                   {"LEAVE", h->f->swapped ? leave_swapped : leave},
                   {"POINTS", buf_text(&all)}};
    template_fill(b, "contract_halo_sums.cu.in", slot, 3);
    buf_free(&points);
    buf_free(&all);
}

/* ---- the whole --------------------------------------------------------- */

static const char *text_of(Halo *h, void (*put)(Halo *, Buf *))
{
    Buf b = {0}, lines = {0};

    put(h, &b);
    cprint_lines(&lines, buf_text(&b), 0);
    buf_free(&b);
    return buf_take(&lines, h->x.g->arena);
}

/* Where pixel tq of the patch's row begins. */
static const char *patch_row(Halo *h)
{
    Contract *x = &h->x;
    const char *tile = halo_input(h->f, x)->tile;

    return h->copies > 1
        ? arena_printf(x->g->arena, "(tq * STEP_Q %% 2 ? smem.moved "
                                    ": smem.%s[slot])", tile)
        : arena_printf(x->g->arena, "smem.%s[slot]", tile);
}

static void put_body(Halo *h)
{
    Contract *x = &h->x;
    bool two = h->group == 2;
    Buf b = {0}, early = {0}, epilogue = {0};

    if (h->f->packs)
        put_packed(h, &epilogue, &early);
    else
        put_points(h, &epilogue);
    Slot slot[] = {
        {"TILE", text_of(h, put_tile)},
        {"MOVED", text_of(h, put_moved)},
        {"PATCH", patch_row(h)},
        {"W_TILE", halo_weights(h->f, x)->tile},
        {"COLUMN", h->copies > 1 ? "tq * STEP_Q / 2 * 2" : "tq * STEP_Q"},
        {"LANE_ROW", two ? " + lane % 4 / 2 * DILATION" : ""},
        {"LANE_TAP", two ? "lane % 2 * 2" : "lane % 4 * 2"},
        {"SHIFT", arena_printf(x->g->arena, "%d", h->shift)},
        {"MMA", x->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                 : "dcc_mma_m16n8k16_bf16"},
        {"FREE", h->f->packs ? "" : " and the sums"},
        {"EARLY", buf_text(&early)},
        {"EPILOGUE", buf_text(&epilogue)},
    };

    template_fill(&b, "contract_halo.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(x->g, x->kernel, "tiles", &b);
    buf_free(&b);
    buf_free(&early);
    buf_free(&epilogue);
}

/* The first tile's input is under way while the weights come in; but where the
 * input has to be waited for and the weights do not, they come before. */
static void setup_phases(Halo *h, Buf *b)
{
    Contract *x = &h->x;
    bool early = x->kernel->waits &&
                 kernel_reads_constants(halo_weights(h->f, x)->op->e);

    if (early)
        put_weights(h, b);
    kernel_phase(x->g, x->kernel, "setup", b);
    kernel_wait_phase(x->g, x->kernel);
    buf_free(b);
    *b = (Buf){0};
    buf_puts(b, "// What a tile's pixels read: 0 outside.\n");
    put_fetch(h, b);
    buf_puts(b, "fetch(blockIdx.x, 0);\n");
    if (!early)
        put_weights(h, b);
    kernel_phase(x->g, x->kernel, "load", b);
}

void halo_build(Halo *h, Kernel *k)
{
    Contract *x = &h->x;
    Buf b = {0};

    contract_names(x, k);
    k->family = "contract_halo";
    k->min_arch = h->f->packs ? "sm_90" : "sm_80";
    k->block = x->t.threads;
    k->smem_bytes = h->smem;
    k->grid[0] = h->grid;
    k->grid[1] = (int)((h->channels + h->bn - 1) / h->bn);
    k->grid[2] = 1;
    k->cluster = 1;
    k->min_blocks = h->room;
    k->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K;
    k->bytes = x->hbm_bytes;
    k->where = arena_array(x->g->arena, const char *, x->gr->n_step);
    constants(h);
    shared_memory(h);
    buf_puts(&b, "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
                 "const int ");
    buf_printf(&b, "%s0 = blockIdx.y * BN;\n", h->f->swapped ? "m" : "n");
    setup_phases(h, &b);
    buf_free(&b);
    put_body(h);
}
