#include "family/contract/halo/contract_taps.h"

/* The kernel of a weights' gradient of few channels, from its plan. */

typedef struct TapsBuild {
    ContractBuild x;
    const HaloForm *f;
    const Taps *p;
} TapsBuild;

static int64_t extent(const Var *v)
{
    return v ? v->extent : 1;
}

static int teams(const Taps *h)
{
    return (h->blocks + h->team - 1) / h->team;
}

static void tile_constants(TapsBuild *h)
{
    const Taps *p = h->p;
    Graph *g = h->x.g;
    Kernel *k = h->x.kernel;

    kernel_constant(g, k, "TP", p->tp, NULL);
    kernel_constant(g, k, "TQ", p->tq, "a tile's pixels");
    kernel_constant(g, k, "BM", p->x.t.bm, NULL);
    kernel_constant(g, k, "BN", p->x.t.bn, NULL);
    kernel_constant(g, k, "WM", p->wm, NULL);
    kernel_constant(g, k, "WN", p->wn, "tile of a warp");
    kernel_constant(g, k, "WARPS", p->warps, "that have all of a tile");
    kernel_constant(g, k, "SLICES", p->slices, "of its pixels");
    kernel_constant(g, k, "TILES_P", p->tiles_p, NULL);
    kernel_constant(g, k, "TILES_Q", p->tiles_q, NULL);
    kernel_constant(g, k, "TILES", p->tiles, NULL);
    kernel_constant(g, k, "BLOCKS", p->blocks, NULL);
    kernel_constant(g, k, "TEAM", p->team, "blocks that add up their sums");
    kernel_constant(g, k, "TEAMS", teams(p), NULL);
    kernel_constant(g, k, "THREADS", p->x.t.threads, NULL);
}

static void constants(TapsBuild *h)
{
    const HaloForm *f = h->f;
    const Taps *p = h->p;
    Graph *g = h->x.g;
    Kernel *k = h->x.kernel;
    const Tensor *t = f->x.c.a.read->tensor;

    kernel_constant(g, k, "M", f->x.c.M, "taps and channels of the input");
    kernel_constant(g, k, "N", f->x.c.N, "channels of the gradient");
    kernel_constant(g, k, "P", extent(f->p), NULL);
    kernel_constant(g, k, "Q", extent(f->q), "pixels of an image");
    tile_constants(h);
    kernel_constant(g, k, "CHANNELS", extent(f->channel), NULL);
    kernel_constant(g, k, "R", extent(f->r), "rows of the window");
    kernel_constant(g, k, "PIECES", p->pieces, "of 8 taps, of a row of it");
    kernel_constant(g, k, "GROUPS", p->groups, "of 8 taps, of all");
    kernel_constant(g, k, "ROWS", p->rows, "all taps, in whole groups");
    kernel_constant(g, k, "STEP_P", f->step_p, NULL);
    kernel_constant(g, k, "STEP_Q", f->step_q, NULL);
    kernel_constant(g, k, "DILATION", f->dilation, NULL);
    kernel_constant(g, k, "HEIGHT", f->dim_h < 0 ? 1 : t->dim[f->dim_h], NULL);
    kernel_constant(g, k, "WIDTH", f->width, "elements of a row");
    kernel_constant(g, k, "IN_ROWS", p->in_rows, NULL);
    kernel_constant(g, k, "PITCH", p->pitch, "the input patch");
    kernel_constant(g, k, "SHIFT", p->shift, "columns of it before tap 0");
    kernel_constant(g, k, "MOVE", p->move, "columns from copy to copy");
}

static void shared_memory(TapsBuild *h)
{
    ContractBuild *x = &h->x;
    Arena *a = x->g->arena;
    const char *type = type_cname(x->f->elem);

    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[2][CHANNELS * IN_ROWS + 1][PITCH]", type,
                             x->a.tile), "this tile's and the next");
    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s moved[%d][%d]", type, h->p->copies,
                             h->p->copy), "copies, on different banks");
    kernel_smem(x->g, x->kernel, 16,
                arena_printf(a, "%s %s[2][BM][BN + 8]", type, x->b.tile), NULL);
    if (h->p->smem - 16 > h->p->ring)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(a, "unsigned char rest[%zu]",
                                 h->p->smem - 16 - h->p->ring), "for the sums");
    kernel_smem(x->g, x->kernel, 16, "int is_last", NULL);
}

/* ---- load -------------------------------------------------------------- */

/* The gradients of a tile's pixels: 0 outside. */
static Tree *gradients(TapsBuild *h)
{
    const HaloForm *f = h->f;
    ContractBuild *x = &h->x;
    const Load *l = &x->b;
    CScope scope = cprint_open(&x->cp);
    Tree *digits = tree_list(x->g->arena);

    if (f->image)
        cprint_name(&x->cp, f->image, "image");
    if (f->p)
        cprint_name(&x->cp, f->p, "p");
    cprint_name(&x->cp, f->q, "q");
    contract_digits(x, digits, l->side, l, "n");
    Tree *b = QUOTE(
        x->g->arena,
        "for (int i = threadIdx.x; i < BM * (BN / 8); i += THREADS) {\n"
        "    const int pixel = i / (BN / 8), n = n0 + i % (BN / 8) * 8;\n"
        "    const int p = p0 + pixel / TQ, q = q0 + pixel % TQ;\n"
        "    @DIGITS\n"
        "    const bool in = p < P && q < Q && n < N;\n"
        "    dcc_cp_async16(&smem.@tile[slot][pixel][i % (BN / 8) * 8], "
        "&@name[in ? @offset : 0], in ? 16 : 0);\n"
        "}\n",
        FILL_TREE("DIGITS", digits), FILL("tile", l->tile),
        FILL("name", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("offset", cprint_element(&x->cp, l->op->read->tensor,
                                      l->op->offset)));
    cprint_close(&x->cp, scope);
    return b;
}

static void first_phases(TapsBuild *h)
{
    ContractBuild *x = &h->x;
    Tree *setup = tree_list(x->g->arena), *load = tree_list(x->g->arena);

    PUT(setup, "const int n0 = blockIdx.y * BN;\n");
    kernel_phase(x->g, x->kernel, "setup", setup);
    kernel_wait_phase(x->g, x->kernel);
    PUT(load, "// What a tile's pixels read, and the gradients there: 0 "
              "outside.\n");
    halo_put_fetch(h->f, x, h->p->shift, "[c * IN_ROWS + in_row]",
                   gradients(h), load);
    PUT(load, "fetch(blockIdx.x, 0);\n");
    kernel_phase(x->g, x->kernel, "load", load);
}

/* ---- sums -------------------------------------------------------------- */

/* v of m, which is `m` here. */
static const char *tap_digit(const TapsBuild *h, const Var *v)
{
    const Side *m = &h->f->x.m;
    int64_t below = 1;
    int i = m->n - 1;

    for (; m->v[i] != v; i--)
        below *= m->v[i]->extent;
    return cprint_digit(h->x.g->arena, "m", below, i > 0 ? v->extent : 0);
}

/* Where m's sums lie: its row of the window, and in it the run's element. */
static Tree *row_of_m(const TapsBuild *h)
{
    const HaloForm *f = h->f;
    Arena *a = h->x.g->arena;
    const char *window = f->channel ? tap_digit(h, f->channel) : "0";
    const char *run = tap_digit(h, f->run[0]);

    if (f->r)
        window = arena_printf(a, "(%s) * R + %s", window, tap_digit(h, f->r));
    for (int i = 1; i < f->n_run; i++)
        run = arena_printf(a, "(%s) * %lld + %s", run,
                           (long long)f->run[i]->extent,
                           tap_digit(h, f->run[i]));
    return QUOTE(a,
                 "const int window = @window, run = @run;\n"
                 "const int row = (window * PIECES + run / 8) * 8 + run % 8;\n",
                 FILL("window", window), FILL("run", run));
}

/* Where the point is: contract_points' callback. */
static void place_point(ContractBuild *x, Tree *b)
{
    PUT(b,
        "const int row = i / (BN / @vec), col = i % (BN / @vec) * @vec;\n"
        "const int m = row, n = n0 + col;\n",
        FILL_INT("vec", x->vec));
    if (x->f->c.N % x->p->t.bn)
        PUT(b, "if (n >= N)\n"
               "    continue;\n");
}

static Tree *points_of(TapsBuild *h)
{
    ContractBuild *x = &h->x;
    Tree *points = tree_list(x->g->arena);

    contract_points(x, points, 4, place_point, NULL);
    return QUOTE(x->g->arena,
                 "for (int i = threadIdx.x; i < M * BN / @vec; "
                 "i += THREADS) {\n"
                 "    @POINTS\n"
                 "}\n",
                 FILL_INT("vec", x->vec), FILL_TREE("POINTS", points));
}

/* ---- the whole --------------------------------------------------------- */

static void put_figures(const Taps *p, Kernel *k)
{
    const Contraction *c = &p->f->x.c;

    k->family = "contract_taps";
    k->min_arch = "sm_80";
    k->block = p->x.t.threads;
    k->smem_bytes = p->smem;
    k->grid[0] = p->blocks;
    k->grid[1] = (int)((c->N + p->x.t.bn - 1) / p->x.t.bn);
    k->grid[2] = 1;
    k->cluster = 1;
    k->min_blocks = 1;
    k->coop_counters = true;
    k->n_counters = k->grid[1] * (teams(p) + 1);
    k->workspace = (size_t)p->blocks * (size_t)k->grid[1] * (size_t)c->M *
                   (size_t)p->x.t.bn * sizeof(float);
    k->flops = 2.0 * (double)c->M * (double)c->N * (double)c->K;
    k->bytes = p->f->x.hbm_bytes;
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    Taps plan;
    TapsBuild build = {.f = form, .p = &plan}, *h = &build;
    ContractBuild *x = &h->x;

    if (taps_plan(&plan, form, v))
        return;
    contract_start(x, &plan.x, k);
    Arena *a = x->g->arena;
    put_figures(&plan, k);
    k->variant = taps_text(form, v);
    k->where = arena_array(a, const char *, x->f->gr->n_step);
    constants(h);
    shared_memory(h);
    first_phases(h);
    kernel_phase(x->g, k, "multiply",
                 TEMPLATE(a, "contract_taps.cu.in",
                          FILL("T", type_cname(x->f->elem)),
                          FILL("X_TILE", x->a.tile), FILL("Y_TILE", x->b.tile),
                          FILL("MMA", x->f->elem == T_F16
                                          ? "dcc_mma_m16n8k16_f16"
                                          : "dcc_mma_m16n8k16_bf16")));
    kernel_phase(x->g, k, "sums",
                 TEMPLATE(a, "contract_taps_sums.cu.in",
                          FILL_TREE("ROW", row_of_m(h)),
                          FILL_TREE("POINTS", points_of(h))));
}

const Family family_contract_taps = {
    .name = "contract_taps",
    .version = 1,
    .open = taps_open,
    .space = taps_space,
    .text = taps_text,
    .cost = taps_cost,
    .build = build,
};
