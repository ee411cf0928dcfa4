#include "family/contract/halo/contract_halo.h"

#include <string.h>

/* The kernel of a convolution of few channels, from its plan. */

static int64_t extent(const Var *v)
{
    return v ? v->extent : 1;
}

static void constants(HaloBuild *h)
{
    const HaloForm *f = h->f;
    ContractBuild *x = &h->x;
    Graph *g = x->g;
    Kernel *k = x->kernel;
    const Tensor *t = halo_input(f, x)->op->read->tensor;

    kernel_constant(g, k, "P", extent(f->p), NULL);
    kernel_constant(g, k, "Q", extent(f->q), "output pixels");
    kernel_constant(g, k, "N", h->p->channels, "output channels");
    kernel_constant(g, k, "TP", h->p->tp, NULL);
    kernel_constant(g, k, "TQ", h->p->tq, "a block's output pixels");
    kernel_constant(g, k, "BM", h->p->bm, NULL);
    kernel_constant(g, k, "BN", h->p->bn, NULL);
    kernel_constant(g, k, "WM", h->p->wm, "rows of a warp");
    kernel_constant(g, k, "TILES_P", h->p->tiles_p, NULL);
    kernel_constant(g, k, "TILES_Q", h->p->tiles_q, NULL);
    kernel_constant(g, k, "TILES", h->p->tiles, NULL);
    kernel_constant(g, k, "CHANNELS", halo_planes(f), NULL);
    if (f->z) {
        kernel_constant(g, k, "Z", extent(f->z), NULL);
        kernel_constant(g, k, "STEP_Z", f->step_z, NULL);
    }
    if (f->deep) {
        kernel_constant(g, k, "DILATION_Z", f->dilation_z, NULL);
        kernel_constant(g, k, "DEEP", extent(f->deep), NULL);
        kernel_constant(g, k, "DEPTH", t->dim[f->dim_z],
                        "planes: the window's and the input's");
    }
    kernel_constant(g, k, "R", extent(f->r), NULL);
    kernel_constant(g, k, "RUN", f->length, "the window: neighbours a row");
    kernel_constant(g, k, "LEAD", h->p->lead, "taps of weight 0 before a run");
    kernel_constant(g, k, "TAPS", h->p->taps, "of a run, with such");
    kernel_constant(g, k, "ROWS_R", h->p->rows_r, "of a window, with such");
    kernel_constant(g, k, "GROUP", h->p->group, "runs in 8 taps");
    kernel_constant(g, k, "PIECES", h->p->pieces, "or of 8 taps, a run");
    kernel_constant(g, k, "HALVES", h->p->halves, "8 k each");
    kernel_constant(g, k, "K_STEPS", h->p->depth / 16, "16 k each");
    kernel_constant(g, k, "STEP_P", f->step_p, NULL);
    kernel_constant(g, k, "STEP_Q", f->step_q, NULL);
    kernel_constant(g, k, "DILATION", f->dilation, NULL);
    if (f->dilation_q > 1)
        kernel_constant(g, k, "DILATION_Q", f->dilation_q, NULL);
    kernel_constant(g, k, "HEIGHT",
                    f->dim_h < 0 ? 1 : t->dim[f->dim_h], NULL);
    kernel_constant(g, k, "WIDTH", f->width, "elements of a row");
    kernel_constant(g, k, "IN_ROWS", h->p->in_rows, NULL);
    kernel_constant(g, k, "PITCH", h->p->pitch, "the input patch");
    if (f->wide) {
        kernel_constant(g, k, "C", f->inner, "channels of a pixel");
        kernel_constant(g, k, "LINE", h->p->line, "elements of a patch's row");
        kernel_constant(g, k, "STEP", h->p->step, "pixels from q to q");
        kernel_constant(g, k, "PIXEL", h->p->pixel,
                        "elements from one to the next");
        kernel_constant(g, k, "SIDE", h->p->side,
                        "pixels in each of STEP parts of a patch's row");
    }
    kernel_constant(g, k, "THREADS", x->p->t.threads, NULL);
    if (f->packs)
        kernel_constant(g, k, "COLS", h->p->bn, "that a warp stores at a time");
}

static void shared_memory(HaloBuild *h)
{
    ContractBuild *x = &h->x;
    Arena *a = x->g->arena;
    const char *type = type_cname(x->f->elem);

    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[BN][K_STEPS * 16 + 8]", type,
                             halo_weights(h->f, x)->tile), NULL);
    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[%d][CHANNELS][IN_ROWS][PITCH]", type,
                             halo_input(h->f, x)->tile, h->p->slots),
                h->p->slots > 1 ? "this tile's and the next" : NULL);
    if (h->f->odd)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s straight[CHANNELS][IN_ROWS][PITCH]",
                                 type), "this tile's, from even elements on");
    if (h->p->copies > 1)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s moved[CHANNELS][IN_ROWS][PITCH]",
                                 type), "by one column");
    if (h->f->packs)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "%s out_rows[THREADS / 32][16][COLS]",
                                 contract_packed_type(x)), NULL);
    else
        kernel_smem(x->g, x->kernel, 16,
                    h->f->swapped ? "float sums[BN][BM + 4]"
                                  : "float sums[BM][BN + 8]", NULL);
}

/* ---- weights ----------------------------------------------------------- */

/* The weight's channel c, row r, and the run's variables from `run`, the number
 * of an element of it. */
static void put_names(const HaloForm *f, ContractBuild *x, Tree *b)
{
    int64_t below = f->length;

    if (f->deep) {
        PUT(b, "const int plane = c % DEEP, channel = c / DEEP;\n");
        cprint_name(&x->cp, f->deep, "plane");
    }
    if (f->channel)
        cprint_name(&x->cp, f->channel, f->deep ? "channel" : "c");
    if (f->r)
        cprint_name(&x->cp, f->r, "r");
    for (int i = 0; i < f->n_run; i++) {
        const Var *v = f->run[i];
        below /= v->extent;
        if (f->n_run == 1) {
            cprint_name(&x->cp, v, "run");
            return;
        }
        PUT(b, "const int @v = @digit;\n", FILL("v", cprint_var(&x->cp, v)),
            FILL("digit",
                 cprint_digit(b->arena, "run", below, i > 0 ? v->extent : 0)));
    }
}

static void put_weight_pieces(HaloBuild *h, Tree *b)
{
    const HaloForm *f = h->f;
    ContractBuild *x = &h->x;
    const Load *l = halo_weights(f, x);
    CScope scope = cprint_open(&x->cp);
    Tree *run = tree_list(b->arena), *row = tree_list(b->arena);
    const char *n = f->swapped ? "m" : "n";

    put_names(f, x, run);
    contract_digits(x, row, l->side, l, n);
    PUT(b,
        "// The weights, 0 where there are none.\n"
        "for (int i = threadIdx.x; i < BN * (K_STEPS * 2); i += THREADS) {\n"
        "    const int row = i / (K_STEPS * 2), k = i % (K_STEPS * 2) * 8;\n"
        "    const int run = k % TAPS, r = k / TAPS % ROWS_R;\n"
        "    const int c = k / (TAPS * ROWS_R), @n = @n@0 + row;\n"
        "    @RUN\n"
        "    @ROW\n"
        "    const bool in = c < CHANNELS && @n < N;\n"
        "    dcc_cp_async16(&smem.@tile[row][k], &@name[in ? @offset : 0], "
        "in ? 16 : 0);\n"
        "}\n"
        "dcc_cp_commit();\n",
        FILL_TREE("RUN", run), FILL_TREE("ROW", row), FILL("n", n),
        FILL("tile", l->tile),
        FILL("name", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("offset", cprint_element(&x->cp, l->op->read->tensor,
                                      l->op->offset)));
    cprint_close(&x->cp, scope);
}

/* A lane has the same k of several rows at once. */
static void put_weights(HaloBuild *h, Tree *b)
{
    const HaloForm *f = h->f;
    ContractBuild *x = &h->x;
    const Load *l = halo_weights(f, x);
    CScope scope = cprint_open(&x->cp);
    Tree *body = tree_list(b->arena), *run = tree_list(b->arena);
    const char *n = f->swapped ? "m" : "n", *type = type_cname(x->f->elem);

    put_names(f, x, run);
    contract_digits(x, body, l->side, l, n);
    const char *text = cprint_bind(body, &x->cp, l->op->e, l->id);
    PUT(b,
        "// The weights, 0 where there are none.\n"
        "#pragma unroll 2\n"
        "for (int k = lane; k < K_STEPS * 16; k += 32) {\n"
        "    const int run = k % TAPS - LEAD, r = k / TAPS % ROWS_R;\n"
        "    const int c = k / (TAPS * ROWS_R);\n"
        "    const bool in = run >= 0 && run < RUN && r < R && c < CHANNELS;\n"
        "    @DIGITS\n"
        "    #pragma unroll @ahead\n"
        "    for (int i = 0; i < BN / (THREADS / 32); ++i) {\n"
        "        const int row = i * (THREADS / 32) + warp, @n = @n@0 + row;\n"
        "        @type value = dcc_from_float<@type>(0.0f);\n"
        "        if (in && @n < N) {\n"
        "            @BODY\n"
        "            value = @value;\n"
        "        }\n"
        "        smem.@tile[row][k] = value;\n"
        "    }\n"
        "}\n",
        FILL_TREE("DIGITS", run),
        FILL("ahead", arena_printf(b->arena, "%d", HALO_WEIGHTS_AHEAD)),
        FILL("n", n), FILL("type", type), FILL_TREE("BODY", body),
        FILL("value",
             cprint_to_storage(b->arena, x->f->elem, l->op->e->type, text)),
        FILL("tile", l->tile));
    cprint_close(&x->cp, scope);
}

/* ---- input ------------------------------------------------------------- */

/* The input's plane that c is of. */
static void put_deep(const HaloForm *f, Tree *b)
{
    if (f->deep)
        PUT(b,
            "const int deep = z * STEP_Z + c % DEEP * DILATION_Z - @first;\n",
            FILL_INT("first", -f->first_z));
    else if (f->z)
        PUT(b, "const int deep = z * STEP_Z;\n");
}

/* " && ...", where planes may be out of the input. */
static const char *deep_inside(const HaloForm *f)
{
    return f->deep ? " && deep >= 0 && deep < DEPTH" : "";
}

/* Element (image, c, deep, y, s) of the input. */
static const char *offset(const HaloForm *f, ContractBuild *x, const char *s)
{
    const Tensor *t = halo_input(f, x)->op->read->tensor;
    Arena *a = x->g->arena;
    const char *wide = t->span > (1LL << 31) - 1 ? "(long long)" : "";

    if (f->dim_h >= 0)
        s = arena_printf(a, "%sy * %lld + %s", wide,
                         (long long)t->stride[f->dim_h], s);
    if (f->z)
        s = arena_printf(a, "%sdeep * %lld + %s", wide,
                         (long long)f->stride_z, s);
    if (f->channel)
        s = arena_printf(a, "%s%s * %lld + %s", wide,
                         f->deep ? "(c / DEEP)" : "c",
                         (long long)f->stride_channel, s);
    if (f->image)
        s = arena_printf(a, "%simage * %lld + %s", wide,
                         (long long)f->stride_image, s);
    if (f->rest)
        s = arena_printf(a, "%lld + %s", (long long)f->rest, s);
    return s;
}

/* q0, p0, image of `tile`. */
static void halo_put_tile(const HaloForm *f, Tree *b)
{
    PUT(b, "const int q0 = tile % TILES_Q * TQ;\n"
           "const int p0 = tile / TILES_Q % TILES_P * TP;\n");
    if (f->z)
        PUT(b, "const int z = tile / (TILES_Q * TILES_P)@mod;\n",
            FILL("mod", f->image ? " % Z" : ""));
    if (f->image)
        PUT(b, "const int image = tile / (TILES_Q * TILES_P@planes);\n",
            FILL("planes", f->z ? " * Z" : ""));
}

/* " && image < B_run", where a run may have fewer. */
static const char *run_images(const HaloForm *f, const ContractBuild *x)
{
    int64_t each = f->run_images ? f->image->extent / x->g->most : 0;

    return each > 1 ? arena_printf(x->g->arena, " && image < %lld * %s",
                                   (long long)each, x->kernel->run)
           : each   ? arena_printf(x->g->arena, " && image < %s",
                                   x->kernel->run)
                    : "";
}

/* Rows that begin at odd elements come in words that begin one earlier; a word
 * of the last column is half a one. */
static void put_column(const HaloForm *f, ContractBuild *x, Tree *b)
{
    if (f->odd)
        PUT(b,
            "const int odd = (int)((@offset) & 1), column = x0 + j - odd;\n"
            "const int bytes = column + 1 < WIDTH ? 4 : 2;\n",
            FILL("offset", offset(f, x, "x0")));
    else
        PUT(b, "const int column = x0 + j;\n");
}

/* The rows of pixels that lie apart, a warp's in turn: what a lane's pieces
 * need of columns is the same in each. */
static void put_pixel_fetch(HaloBuild *h, Tree *b)
{
    const HaloForm *f = h->f;
    ContractBuild *x = &h->x;
    const Load *l = halo_input(f, x);
    Tree *place = tree_list(b->arena), *deep = tree_list(b->arena);

    halo_put_tile(f, place);
    put_deep(f, deep);
    PUT(b,
        "const auto fetch = [&](int tile, int slot) {\n"
        "    @PLACE\n"
        "    const int y0 = p0 * STEP_P - @first_p, "
        "x0 = q0 * STEP_Q - @first_q;\n"
        "    #pragma unroll 2\n"
        "    for (int i = warp; i < CHANNELS * IN_ROWS; i += THREADS / 32) {\n"
        "        const int in_row = i % IN_ROWS, c = i / IN_ROWS;\n"
        "        const int y = y0 + in_row;\n"
        "        @DEEP\n"
        "        const bool there = y >= 0 && y < HEIGHT@inside@@run;\n"
        "        #pragma unroll\n"
        "        for (int piece = 0; piece < (LINE / 8 + 31) / 32; ++piece) {\n"
        "            const int j = (piece * 32 + lane) * 8, column = x0 + j;\n"
        "            const bool in = there && column >= 0 && column < WIDTH;\n"
        "            if (j < LINE)\n"
        "                dcc_cp_async16(&smem.@tile[slot][c][in_row]"
        "[j / C % STEP * (SIDE * PIXEL) + j / C / STEP * PIXEL + j % C], "
        "&@name[in ? @offset : 0], in ? 16 : 0);\n"
        "        }\n"
        "    }\n"
        "    dcc_cp_commit();\n"
        "};\n",
        FILL_TREE("PLACE", place), FILL_TREE("DEEP", deep),
        FILL("inside", deep_inside(f)), FILL_INT("first_p", -f->first_p),
        FILL_INT("first_q", -f->first_q), FILL("tile", l->tile),
        FILL("name", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("offset", offset(f, x, "column")),
        FILL("run", run_images(f, x)));
}

void halo_put_fetch(const HaloForm *f, ContractBuild *x, int before,
                    const char *at, Tree *more, Tree *b)
{
    const Load *l = halo_input(f, x);
    Tree *place = tree_list(b->arena), *column = tree_list(b->arena);
    int vec = f->odd ? 2 : f->align;

    halo_put_tile(f, place);
    put_deep(f, column);
    put_column(f, x, column);
    PUT(b,
        "const auto fetch = [&](int tile, int slot) {\n"
        "    @PLACE\n"
        "    const int y0 = p0 * STEP_P - @first_p, "
        "x0 = q0 * STEP_Q - @first_q;\n"
        "    for (int i = threadIdx.x; i < CHANNELS * IN_ROWS * (PITCH / "
        "@vec); "
        "i += THREADS) {\n"
        "        const int j = i % (PITCH / @vec) * @vec, "
        "in_row = i / (PITCH / @vec) % IN_ROWS;\n"
        "        const int c = i / (PITCH / @vec * IN_ROWS);\n"
        "        const int y = y0 + in_row;\n"
        "        @COLUMN\n"
        "        const bool in = y >= 0 && y < HEIGHT@inside && "
        "column >= @least && column < WIDTH@run;\n"
        "        dcc_cp_async@each(&smem.@tile[slot]@at[j], "
        "&@name[in ? @offset : 0], in ? @bytes : 0);\n"
        "    }\n"
        "    @MORE\n"
        "    dcc_cp_commit();\n"
        "};\n",
        FILL_TREE("PLACE", place), FILL_INT("first_p", -f->first_p),
        FILL_INT("first_q", before - f->first_q),
        FILL_TREE("COLUMN", column), FILL_INT("vec", vec),
        FILL("inside", deep_inside(f)),
        FILL_INT("least", f->odd ? -1 : 0), FILL_INT("each", vec * 2),
        FILL("bytes", f->odd ? "bytes" : arena_printf(b->arena, "%d", vec * 2)),
        FILL("tile", l->tile), FILL("at", at), FILL_TREE("MORE", more),
        FILL("name", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("offset", offset(f, x, "column")),
        FILL("run", run_images(f, x)));
}

/* The input's rows as they would lie if they began at even elements, and 0 to
 * the left of an image, where their words have an element of the row above. */
static void put_straight(HaloBuild *h, Tree *b)
{
    const HaloForm *f = h->f;
    Tree *deep = tree_list(b->arena);

    put_deep(f, deep);
    PUT(b,
        "// Rows that begin at odd elements are one element late.\n"
        "const int y0 = p0 * STEP_P - @first_p, "
        "x0 = q0 * STEP_Q - @first_q;\n"
        "for (int i = threadIdx.x; i < CHANNELS * IN_ROWS * (PITCH / 2); "
        "i += THREADS) {\n"
        "    const int word = i % (PITCH / 2), "
        "in_row = i / (PITCH / 2) % IN_ROWS;\n"
        "    const int c = i / (PITCH / 2 * IN_ROWS), y = y0 + in_row;\n"
        "    @DEEP\n"
        "    const uint32_t *const row = reinterpret_cast<const uint32_t *>("
        "smem.@tile[slot][c][in_row]);\n"
        "    const uint64_t pair = "
        "(uint64_t)row[min(word + 1, PITCH / 2 - 1)] << 32 | row[word];\n"
        "    uint32_t in = (uint32_t)(pair >> ((@offset) & 1) * 16);\n"
        "    if (x0 + word * 2 == -1)\n"
        "        in &= 0xffff0000;\n"
        "    if (x0 + word * 2 == -2)\n"
        "        in &= 0xffff;\n"
        "    reinterpret_cast<uint32_t *>(smem.straight[c][in_row])[word] = "
        "in;\n"
        "}\n"
        "__syncthreads();\n",
        FILL_TREE("DEEP", deep), FILL_INT("first_p", -f->first_p),
        FILL_INT("first_q", h->p->lead + h->p->shift - f->first_q),
        FILL("tile", halo_input(f, &h->x)->tile),
        FILL("offset", offset(f, &h->x, "x0")));
}

/* Where a tile's input is. */
static const char *input_tile(HaloBuild *h)
{
    return h->f->odd ? "straight"
                     : arena_printf(h->x.g->arena, "%s[slot]",
                                    halo_input(h->f, &h->x)->tile);
}

/* Every word of the input moved by one element. */
static void put_moved(HaloBuild *h, Tree *b)
{
    if (h->f->odd)
        put_straight(h, b);
    if (h->p->copies > 1)
        PUT(b,
            "dcc_move_by_one<THREADS>(smem.moved, smem.@tile);\n"
            "__syncthreads();\n",
            FILL("tile", input_tile(h)));
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
static void put_pixel(HaloBuild *h, Tree *b, const char *p, const char *q)
{
    const HaloForm *f = h->f;
    CPrint *cp = &h->x.cp;
    Arena *a = b->arena;
    const char *pixel = f->swapped ? "col" : "row", *out = "";

    PUT(b,
        "const int @own;\n"
        "const int @p = p0 + @pixel / TQ;\n"
        "const int @q = q0 + @pixel % TQ;\n",
        FILL("own", f->swapped ? "m = m0 + row" : "n = n0 + col"), FILL("p", p),
        FILL("pixel", pixel), FILL("q", q));
    if (f->image)
        cprint_name(cp, f->image, "image");
    if (f->z)
        cprint_name(cp, f->z, "z");
    if (f->p)
        cprint_name(cp, f->p, p);
    cprint_name(cp, f->q, q);
    if (extent(f->p) % h->p->tp)
        out = arena_printf(a, "%s >= P", p);
    if (extent(f->q) % h->p->tq)
        out = arena_printf(a, "%s%s%s >= Q", out, *out ? " || " : "", q);
    if (h->p->channels % h->p->bn)
        out = arena_printf(a, "%s%s%s >= N", out, *out ? " || " : "",
                           f->swapped ? "m" : "n");
    if (*out)
        PUT(b,
            "if (@out)\n"
            "    continue;\n",
            FILL("out", out));
}

/* Where the point is: contract_points' callback. */
static void place_point(ContractBuild *x, Tree *b)
{
    HaloBuild *h = (HaloBuild *)x; /* x is its first member */
    const char *of = h->f->swapped ? "BM" : "BN";

    if (x->vec > 1)
        PUT(b,
            "const int row = i / (@of / @vec), col = i % (@of / @vec) * "
            "@vec;\n",
            FILL("of", of), FILL_INT("vec", x->vec));
    else
        PUT(b, "const int row = i / @of, col = i % @of;\n", FILL("of", of));
    put_pixel(h, b, "p", "q");
}

/* The same of a pair whose row and col are there, and of 8 columns. */
static void place_pair(ContractBuild *x, Tree *b)
{
    x->sum = "acc[i][c][q % 2 * 2 + e]";
    put_pixel((HaloBuild *)x, b, "at_p", "at_q");
}

static void place_piece(ContractBuild *x, Tree *b)
{
    put_pixel((HaloBuild *)x, b, "at_p", "at_q");
}

/* 16-bit results by way of a warp's rows; *early: what needs no tile. */
static void put_packed(HaloBuild *h, Tree *b, Tree *early)
{
    enum { EARLY_REGS = 32 };
    ContractBuild *x = &h->x;
    Tree *pairs = tree_list(h->x.g->arena), *pieces = tree_list(h->x.g->arena);

    x->width = "BN";
    contract_pairs(x, pairs, place_pair, "packed[q / 4][q % 4]", early,
                   EARLY_REGS);
    contract_pieces(x, pieces, place_piece,
                    "&out[line][dcc_packed_at<COLS>(line, piece)]");
    tree_add(b,
             TEMPLATE(b->arena, "contract_halo_packed.cu.in",
                      FILL_TREE("PAIRS", pairs), FILL_TREE("PIECES", pieces)));
}

static void put_points(HaloBuild *h, Tree *b)
{
    ContractBuild *x = &h->x;
    Arena *a = b->arena;
    Tree *points = tree_list(a);

    contract_points(x, points, 8, place_point, NULL);
    points = QUOTE(a,
                   "#pragma unroll 2\n"
                   "for (int i = threadIdx.x; i < BM * BN / @vec; "
                   "i += THREADS) {\n"
                   "    @POINTS\n"
                   "}\n",
                   FILL_INT("vec", x->vec), FILL_TREE("POINTS", points));
    tree_add(b, TEMPLATE(a, "contract_halo_sums.cu.in",
                         FILL("SUMS", h->f->swapped ? "BM + 4" : "BN + 8"),
                         FILL("LEAVE", h->f->swapped ? leave_swapped : leave),
                         FILL_TREE("POINTS", points)));
}

/* ---- the whole --------------------------------------------------------- */

static Tree *code_of(HaloBuild *h, void (*put)(HaloBuild *, Tree *))
{
    Tree *code = tree_list(h->x.g->arena);

    put(h, code);
    return code;
}

/* Where pixel tq of the patch's row begins. */
static const char *patch_row(HaloBuild *h)
{
    const char *tile = input_tile(h);

    return h->p->copies > 1
        ? arena_printf(h->x.g->arena, "(tq * STEP_Q %% 2 ? smem.moved "
                                      ": smem.%s)", tile)
        : arena_printf(h->x.g->arena, "smem.%s", tile);
}

/* Where a lane's pixels begin, and its fragments of a step. */
static void put_words(HaloBuild *h, Tree *place, Tree *load)
{
    bool two = h->p->group == 2;

    PUT(place,
        "const uint32_t *lane_at[WM / 16][2];\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 16; ++i)\n"
        "    #pragma unroll\n"
        "    for (int h = 0; h < 2; ++h) {\n"
        "        const int pixel = warp * WM + i * 16 + h * 8 + lane / 4;\n"
        "        const int tq = pixel % TQ;\n"
        "        lane_at[i][h] = reinterpret_cast<const uint32_t *>(\n"
        "            &@patch[0][pixel / TQ * STEP_P@row]\n"
        "                [@column + @shift + @tap]);\n"
        "    }\n",
        FILL("patch", patch_row(h)), FILL_INT("shift", h->p->shift),
        FILL("row", two ? " + lane % 4 / 2 * DILATION" : ""),
        FILL("tap", two ? "lane % 2 * 2" : "lane % 4 * 2"),
        FILL("column",
             h->p->copies > 1 ? "tq * STEP_Q / 2 * 2" : "tq * STEP_Q"));
    PUT(load,
        "#pragma unroll\n"
        "for (int half = 0; half < 2; ++half) {\n"
        "    const int piece = min(step * 2 + half, HALVES - 1);\n"
        "    const int at = piece / PIECES * GROUP;\n"
        "    const int words = (at / ROWS_R * IN_ROWS +\n"
        "        at % ROWS_R * DILATION) * PITCH / 2 + piece % PIECES * 4;\n"
        "    #pragma unroll\n"
        "    for (int i = 0; i < WM / 16; ++i) {\n"
        "        x_frag[i][half * 2] = lane_at[i][0][words];\n"
        "        x_frag[i][half * 2 + 1] = lane_at[i][1][words];\n"
        "    }\n"
        "}\n");
}

/* The same of pixels whose channels are pieces of 8. */
static void put_pieces(HaloBuild *h, Tree *place, Tree *load)
{
    PUT(place,
        "const @type *lane_at[WM / 16];\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 16; ++i) {\n"
        "    const int pixel = warp * WM + i * 16 + lane % 16;\n"
        "    lane_at[i] = &@patch[0][pixel / TQ * STEP_P]"
        "[pixel % TQ * PIXEL];\n"
        "}\n",
        FILL("type", type_cname(h->x.f->elem)), FILL("patch", patch_row(h)));
    PUT(load,
        "int piece_at[2];\n"
        "#pragma unroll\n"
        "for (int half = 0; half < 2; ++half) {\n"
        "    const int piece = min(step * 2 + half, HALVES - 1);\n"
        "    const int at = piece / PIECES, tap = piece % PIECES * 8;\n"
        "    piece_at[half] = (at / ROWS_R * IN_ROWS + "
        "at % ROWS_R * DILATION) * PITCH\n"
        "        + @pixel % STEP * (SIDE * PIXEL) + "
        "@pixel / STEP * PIXEL + tap % C;\n"
        "}\n"
        "const int from = lane < 16 ? piece_at[0] : piece_at[1];\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 16; ++i)\n"
        "    dcc_ldmatrix_x4(x_frag[i], lane_at[i] + from);\n",
        FILL("pixel", h->f->dilation_q > 1 ? "(tap / C * DILATION_Q)"
                                           : "tap / C"));
}

static void put_tile(HaloBuild *h, Tree *b)
{
    halo_put_tile(h->f, b);
}

static void put_body(HaloBuild *h)
{
    ContractBuild *x = &h->x;
    Arena *a = x->g->arena;
    Tree *early = tree_list(a), *epilogue = tree_list(a);
    Tree *place = tree_list(a), *load = tree_list(a);
    Tree *ahead = tree_list(a), *after = tree_list(a);

    if (h->p->slots == 1)
        PUT(after, "__syncthreads();  // the input has been read\n");
    if (h->f->wide)
        put_pieces(h, place, load);
    else
        put_words(h, place, load);

    if (h->f->packs)
        put_packed(h, epilogue, early);
    else
        put_points(h, epilogue);
    PUT(h->p->slots > 1 ? ahead : after,
        "if (tile + gridDim.x < TILES)\n"
        "    fetch(tile + gridDim.x, slot@other);\n",
        FILL("other", h->p->slots > 1 ? " ^ 1" : ""));
    kernel_phase(
        x->g, x->kernel, "tiles",
        TEMPLATE(a, "contract_halo.cu.in",
                 FILL_TREE("TILE", code_of(h, put_tile)),
                 FILL_TREE("MOVED", code_of(h, put_moved)),
                 FILL("W_TILE", halo_weights(h->f, x)->tile),
                 FILL_TREE("PLACE", place), FILL_TREE("LOAD", load),
                 FILL("MMA", x->f->elem == T_F16 ? "dcc_mma_m16n8k16_f16"
                                              : "dcc_mma_m16n8k16_bf16"),
                 FILL("FREE", h->p->slots == 1 ? ""
                              : h->f->packs    ? ", the other slot free"
                                               : ", the other slot and the sums free"),
                 FILL("TURN", h->p->slots > 1 ? ", slot ^= 1" : ""),
                 FILL_TREE("AHEAD", ahead), FILL_TREE("AFTER", after),
                 FILL_TREE("EARLY", early), FILL_TREE("EPILOGUE", epilogue)));
}

/* The first tile's input is under way while the weights come in; but where the
 * input has to be waited for and the weights do not, they come before. */
static void setup_phases(HaloBuild *h)
{
    ContractBuild *x = &h->x;
    Tree *setup = tree_list(x->g->arena), *load = tree_list(x->g->arena);
    bool early = x->kernel->waits &&
                 kernel_reads_constants(halo_weights(h->f, x)->op->e);

    PUT(setup,
        "const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
        "const int @n@0 = blockIdx.y * BN;\n",
        FILL("n", h->f->swapped ? "m" : "n"));
    void (*put)(HaloBuild *, Tree *) =
        h->p->w_pieces ? put_weight_pieces : put_weights;
    if (early)
        put(h, setup);
    kernel_phase(x->g, x->kernel, "setup", setup);
    kernel_wait_phase(x->g, x->kernel);
    PUT(load, "// What a tile's pixels read: 0 outside.\n");
    if (h->f->wide)
        put_pixel_fetch(h, load);
    else
        halo_put_fetch(h->f, x, h->p->lead + h->p->shift, "[c][in_row]",
                       tree_list(x->g->arena), load);
    PUT(load, "fetch(blockIdx.x, 0);\n");
    if (!early)
        put(h, load);
    kernel_phase(x->g, x->kernel, "load", load);
}

static void build_plan(const Halo *plan, Kernel *k)
{
    HaloBuild build = {.f = plan->f, .p = plan}, *h = &build;
    ContractBuild *x = &h->x;

    contract_start(x, &plan->x, k);
    k->family = "contract_halo";
    k->min_arch = h->f->packs ? "sm_90" : "sm_80";
    k->block = x->p->t.threads;
    k->smem_bytes = h->p->smem;
    k->shared = contract_shared(x->f->o->device, h->p->smem);
    k->grid[0] = h->p->grid;
    k->grid[1] = (int)((h->p->channels + h->p->bn - 1) / h->p->bn);
    k->grid[2] = 1;
    k->cluster = 1;
    k->min_blocks = h->p->room;
    k->flops = 2.0 * (double)x->f->c.M * (double)x->f->c.N * (double)x->f->c.K;
    k->bytes = x->f->hbm_bytes;
    k->where = arena_array(x->g->arena, const char *, x->f->gr->n_step);
    constants(h);
    shared_memory(h);
    setup_phases(h);
    put_body(h);
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Halo h;

    if (halo_plan(&h, form, v))
        return;
    k->variant = halo_text(form, v);
    build_plan(&h, k);
}

const Family family_contract_halo = {
    .name = "contract_halo",
    .version = 1,
    .open = halo_open,
    .space = halo_space,
    .text = halo_text,
    .cost = halo_cost,
    .build = build,
};
