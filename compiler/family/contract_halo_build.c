#include "family/contract_halo.h"

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
    kernel_constant(g, k, "S", f->s->extent, "the window");
    kernel_constant(g, k, "LEAD", h->lead, "taps of weight 0 before a row's");
    kernel_constant(g, k, "TAPS", h->taps, "of a row, with such");
    kernel_constant(g, k, "ROWS_R", h->rows_r, "of a window, with such");
    kernel_constant(g, k, "GROUP", h->group, "rows in 8 taps");
    kernel_constant(g, k, "HALVES", h->halves, "8 k each");
    kernel_constant(g, k, "K_STEPS", h->depth / 16, "16 k each");
    kernel_constant(g, k, "STEP_P", f->step_p, NULL);
    kernel_constant(g, k, "STEP_Q", f->step_q, NULL);
    kernel_constant(g, k, "DILATION", f->dilation, NULL);
    kernel_constant(g, k, "HEIGHT",
                    f->dim_h < 0 ? 1 : t->dim[f->dim_h], NULL);
    kernel_constant(g, k, "WIDTH", t->dim[f->dim_w], NULL);
    kernel_constant(g, k, "IN_ROWS", h->in_rows, NULL);
    kernel_constant(g, k, "PITCH", h->pitch, "the input patch");
    kernel_constant(g, k, "THREADS", x->t.threads, NULL);
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
                arena_printf(a, "%s %s[%d][CHANNELS][IN_ROWS][PITCH]", type,
                             halo_input(h->f, x)->tile, h->copies),
                h->copies > 1 ? "the second moved by one" : NULL);
    kernel_smem(x->g, x->kernel, 16, h->f->swapped ? "float sums[BN][BM + 4]"
                                                   : "float sums[BM][BN + 8]",
                NULL);
}

/* ---- weights ----------------------------------------------------------- */

static void put_weights(Halo *h, Buf *b)
{
    const HaloForm *f = h->f;
    Contract *x = &h->x;
    const Load *l = halo_weights(f, x);
    CScope scope = cprint_open(&x->cp);
    Buf body = {0}, value = {0}, digits = {0};
    const char *n = f->swapped ? "m" : "n";

    contract_digits(x, &digits, l->side, l, f->swapped ? "m" : "n");
    if (f->channel)
        cprint_name(&x->cp, f->channel, "c");
    if (f->r)
        cprint_name(&x->cp, f->r, "r");
    cprint_name(&x->cp, f->s, "s");
    const char *text = cprint_bind(&body, &x->cp, l->op->e, l->id);
    cprint_to_storage(&value, x->elem, l->op->e->type, text);
    buf_printf(b, "// The weights, a row of a window by each thread.\n"
                  "for (int i = threadIdx.x; i < BN * CHANNELS * ROWS_R; "
                  "i += THREADS) {\n"
                  "    const int row = i / (CHANNELS * ROWS_R), "
                  "c = i / ROWS_R %% CHANNELS;\n"
                  "    const int r = i %% ROWS_R, %s = %s0 + row;\n"
                  "    #pragma unroll\n"
                  "    for (int tap = 0; tap < TAPS; ++tap) {\n"
                  "        const int s = tap - LEAD;\n"
                  "        %s value = dcc_from_float<%s>(0.0f);\n"
                  "        if (s >= 0 && s < S && r < R && %s < N) {\n",
               n, n, type_cname(x->elem), type_cname(x->elem), n);
    cprint_lines(b, buf_text(&digits), 12);
    cprint_lines(b, buf_text(&body), 12);
    buf_printf(b, "            value = %s;\n        }\n"
                  "        smem.%s[row][(c * ROWS_R + r) * TAPS + tap] = "
                  "value;\n    }\n}\n", buf_text(&value), l->tile);
    if (h->halves % 2)
        buf_printf(b, "for (int i = threadIdx.x; i < BN * 8; i += THREADS)\n"
                      "    smem.%s[i / 8][HALVES * 8 + i %% 8] = "
                      "dcc_from_float<%s>(0.0f);\n", l->tile,
                   type_cname(x->elem));
    cprint_close(&x->cp, scope);
    buf_free(&body);
    buf_free(&value);
    buf_free(&digits);
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
        s = arena_printf(a, "y * %lld + %s", (long long)t->stride[f->dim_h],
                         s);
    if (f->channel)
        s = arena_printf(a, "c * %lld + %s", (long long)f->stride_channel, s);
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
    int origin = f->first_q - h->lead - h->shift;

    buf_puts(b, "const int q0 = tile % TILES_Q * TQ;\n"
                "const int p0 = tile / TILES_Q % TILES_P * TP;\n");
    if (f->image)
        buf_puts(b, "const int image = tile / (TILES_Q * TILES_P);\n");
    buf_printf(b, "const int y0 = p0 * STEP_P - %d, x0 = q0 * STEP_Q - %d;\n",
               -f->first_p, -origin);
}

static void put_input(Halo *h, Buf *b)
{
    Contract *x = &h->x;
    const char *tile = halo_input(h->f, x)->tile;
    const char *name =
        cprint_tensor(&x->cp, halo_input(h->f, x)->op->read->tensor);
    int vec = h->f->align, bytes = vec * 2;

    buf_printf(b, "// What the tile's pixels read: 0 outside.\n"
                  "for (int i = threadIdx.x; i < CHANNELS * IN_ROWS * "
                  "(PITCH / %d);\n     i += THREADS) {\n"
                  "    const int j = i %% (PITCH / %d) * %d, "
                  "in_row = i / (PITCH / %d) %% IN_ROWS;\n"
                  "    const int c = i / (PITCH / %d * IN_ROWS);\n"
                  "    const int y = y0 + in_row, column = x0 + j;\n"
                  "    const bool in = y >= 0 && y < HEIGHT && column >= 0 && "
                  "column < WIDTH;\n",
               vec, vec, vec, vec, vec);
    buf_printf(b, "    dcc_cp_async%d(&smem.%s[0][c][in_row][j],\n"
                  "        &%s[in ? %s : 0],\n        in ? %d : 0);\n}\n"
                  "dcc_cp_commit();\ndcc_cp_wait<0>();\n__syncthreads();\n",
               bytes, tile, name, offset(h), bytes);
    if (h->copies < 2)
        return;
    buf_printf(b, "{\n"
                  "    const %s *const from = &smem.%s[0][0][0][0];\n"
                  "    %s *const to = &smem.%s[1][0][0][0];\n"
                  "    for (int i = threadIdx.x; i < CHANNELS * IN_ROWS * "
                  "PITCH / 2;\n         i += THREADS) {\n"
                  "        to[2 * i] = from[2 * i + 1];\n"
                  "        to[2 * i + 1] = from[min(2 * i + 2, "
                  "CHANNELS * IN_ROWS * PITCH - 1)];\n"
                  "    }\n}\n__syncthreads();\n", type_cname(x->elem),
               tile, type_cname(x->elem), tile);
}

/* ---- epilogue ---------------------------------------------------------- */

/* Where the point is: contract_points' callback. */
static void place_point(Contract *x, Buf *b)
{
    Halo *h = (Halo *)x; /* x is its first member */
    const HaloForm *f = h->f;
    const char *tests[3] = {NULL};
    int n = 0;

    const char *of = f->swapped ? "BM" : "BN";
    const char *pixel = f->swapped ? "col" : "row";

    if (x->vec > 1)
        buf_printf(b, "const int row = i / (%s / %d), "
                      "col = i %% (%s / %d) * %d;\n", of, x->vec, of, x->vec,
                   x->vec);
    else
        buf_printf(b, "const int row = i / %s, col = i %% %s;\n", of, of);
    buf_printf(b, "const int %s;\n"
                  "const int p = p0 + %s / TQ, q = q0 + %s %% TQ;\n",
               f->swapped ? "m = m0 + row" : "n = n0 + col", pixel, pixel);
    if (f->image)
        cprint_name(&x->cp, f->image, "image");
    if (f->p)
        cprint_name(&x->cp, f->p, "p");
    cprint_name(&x->cp, f->q, "q");
    if (extent(f->p) % h->tp)
        tests[n++] = "p >= P";
    if (extent(f->q) % h->tq)
        tests[n++] = "q >= Q";
    if (h->channels % h->bn)
        tests[n++] = f->swapped ? "m >= N" : "n >= N";
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s", i ? " || " : "if (", tests[i]);
    buf_puts(b, n ? ")\n    continue;\n" : "");
}

static const char *epilogue(Halo *h)
{
    Contract *x = &h->x;
    Buf points = {0}, b = {0};

    contract_points(x, &points, place_point);
    buf_printf(&b, "#pragma unroll 2\n"
                   "for (int i = threadIdx.x; i < BM * BN / %d; "
                   "i += THREADS) {\n", x->vec);
    cprint_lines(&b, buf_text(&points), 4);
    buf_puts(&b, "}\n");
    const char *s = arena_strdup(x->g->arena, buf_text(&b));
    buf_free(&points);
    buf_free(&b);
    return s;
}

/* ---- the whole --------------------------------------------------------- */

static const char *text_of(Halo *h, void (*put)(Halo *, Buf *))
{
    Buf b = {0}, lines = {0};

    put(h, &b);
    cprint_lines(&lines, buf_text(&b), 0);
    const char *s = arena_strdup(h->x.g->arena, buf_text(&lines));
    buf_free(&b);
    buf_free(&lines);
    return s;
}

static const char leave[] =
    "dcc_put_sums(&sums[warp * WM + i * 16 + lane / 4]\n"
    "                  [j * 8 + lane % 4 * 2], BN + 8, acc[i][j]);\n";
static const char leave_swapped[] =
    "#pragma unroll\n"
    "for (int e = 0; e < 4; ++e)\n"
    "    sums[j * 8 + lane % 4 * 2 + e % 2]\n"
    "        [warp * WM + i * 16 + e / 2 * 8 + lane / 4] = acc[i][j][e];\n";

static void put_body(Halo *h)
{
    Contract *x = &h->x;
    bool two = h->group == 2;
    Slot slot[] = {
        {"TILE", text_of(h, put_tile)},
        {"INPUT", text_of(h, put_input)},
        {"X_TILE", halo_input(h->f, x)->tile},
        {"W_TILE", halo_weights(h->f, x)->tile},
        {"SUMS", h->f->swapped ? "BM + 4" : "BN + 8"},
        {"LEAVE", h->f->swapped ? leave_swapped : leave},
        {"COPY", h->copies > 1 ? "tq * STEP_Q % 2" : "0"},
        {"COLUMN", h->copies > 1 ? "tq * STEP_Q / 2 * 2" : "tq * STEP_Q"},
        {"LANE_ROW", two ? " + lane % 4 / 2 * DILATION" : ""},
        {"LANE_TAP", two ? "lane % 2 * 2" : "lane % 4 * 2"},
        {"SHIFT", arena_printf(x->g->arena, "%d", h->shift)},
        {"MMA", x->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                 : "dcc_mma_m16n8k16_bf16"},
        {"EPILOGUE", epilogue(h)},
    };
    Buf b = {0};

    template_fill(&b, "contract_halo.cu.in", slot,
                  (int)(sizeof slot / sizeof *slot));
    kernel_phase(x->g, x->kernel, "tiles", &b);
    buf_free(&b);
}

static const char *const own_names[] = {
    "tile", "image", "p0", "q0", "y0", "x0", "p", "q", "y", "in_row", "from",
    "to", "tap", "value", "TP", "TQ", "P", "Q", "R", "S", "lane_at", "half",
    "frag_row", "tq", "TILES", "HEIGHT", "WIDTH", "HALVES", "PITCH",
    "CHANNELS", "r", "x_frag", "w_frag",
};

void halo_build(Halo *h, Kernel *k)
{
    Contract *x = &h->x;
    Buf b = {0};

    contract_names(x, k);
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        for (int j = 0; j < k->n_arg; j++)
            if (!strcmp(k->arg[j].name, own_names[i]))
                k->arg[j].name = arena_printf(x->g->arena, "%s_",
                                              own_names[i]);
    contract_name_loads(x);
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        cprint_fresh(&x->cp, own_names[i]);
    k->family = "contract_halo";
    k->min_arch = "sm_80";
    k->block = x->t.threads;
    k->smem_bytes = h->smem;
    k->grid[0] = h->grid;
    k->grid[1] = (int)((h->channels + h->bn - 1) / h->bn);
    k->grid[2] = 1;
    k->cluster = 1;
    k->min_blocks = 1;
    k->flops = 2.0 * (double)x->c.M * (double)x->c.N * (double)x->c.K;
    k->bytes = x->hbm_bytes;
    k->where = arena_array(x->g->arena, const char *, x->gr->n_step);
    constants(h);
    shared_memory(h);
    buf_puts(&b, "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
                 "const int ");
    buf_printf(&b, "%s0 = blockIdx.y * BN;\n", h->f->swapped ? "m" : "n");
    bool early = kernel_reads_constants(halo_weights(h->f, x)->op->e);
    if (!early)
        kernel_wait_phase(x->g, k);
    put_weights(h, &b);
    kernel_phase(x->g, k, "setup", &b);
    buf_free(&b);
    if (early)
        kernel_wait_phase(x->g, k);
    put_body(h);
}
