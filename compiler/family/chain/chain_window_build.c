#include "family/chain/chain_window.h"
#include "family/contract/contract_shared.h"
#include "family/map/map.h"

#include <string.h>

/* The kernel of a window and its product, from the plan. */

typedef struct WindowBuild {
    ContractBuild x;
    const WindowForm *f;
    const WindowPlan *p;
    const char *a, *b; /* the tiles */
    bool once;         /* a block has one tile of k */
    bool ragged;       /* the last one has less than BK */
    const char *k;     /* K, if it is */
} WindowBuild;

/* ---- constants, shared memory ---------------------------------------- */

static void constants(WindowBuild *w)
{
    const ContractPlan *p = w->x.p;
    const Contract *c = &w->f->c;
    Kernel *k = w->x.kernel;
    Graph *g = w->x.g;
    const Tile *t = &p->t;

    kernel_constant(g, k, "M", c->c.M, "rows");
    kernel_constant(g, k, "N", c->c.N, c->c.n_n == 1 ? c->c.n[0]->name : NULL);
    kernel_constant(g, k, "K", c->c.K, w->f->along->name);
    kernel_constant(g, k, "BM", t->bm, "");
    kernel_constant(g, k, "BN", t->bn, "");
    kernel_constant(g, k, "BK", t->bk, "tile of a block");
    kernel_constant(g, k, "WM", t->wm, "");
    kernel_constant(g, k, "WN", t->wn, "tile of a warp");
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    kernel_constant(g, k, "VEC", w->p->vec,
                    "values of the window that a thread makes at a time");
    kernel_constant(g, k, "K_TILES", (c->c.K + t->bk - 1) / t->bk, NULL);
    if (t->split > 1)
        kernel_constant(g, k, "SPLIT", t->split, "blocks that share a tile");
    if (p->cluster)
        kernel_constant(g, k, "ROWS", contract_rows(p),
                        "of a tile that a block finishes");
    if (p->parts > 1)
        kernel_constant(g, k, "SLICES", p->parts,
                        "of a tile's k, each some warps' own");
    kernel_constant(g, k, "PAD", p->a.pad, NULL);
}

static void shared_memory(WindowBuild *w)
{
    Arena *a = w->x.g->arena;
    const char *type = type_cname(w->f->c.elem);
    size_t ring = contract_ring(w->x.p), all = contract_smem(w->x.p);

    kernel_smem(w->x.g, w->x.kernel, 16,
                arena_printf(a, "%s %s[BM][BK + PAD]", type, w->a),
                "padded: a fragment's rows on different banks");
    kernel_smem(w->x.g, w->x.kernel, 16,
                arena_printf(a, "%s %s[BN][BK + PAD]", type, w->b), NULL);
    if (all > ring)
        kernel_smem(w->x.g, w->x.kernel, 16,
                    arena_printf(a, "unsigned char rest[%zu]", all - ring),
                    "for the sums");
}

/* ---- the tiles ------------------------------------------------------- */

/* The other factor's tile of k, by copies. */
static Tree *put_copies(WindowBuild *w)
{
    ContractBuild *x = &w->x;
    const Contract *f = x->f;
    Arena *a = x->g->arena;
    const Operand *o = &f->c.b;
    CScope scope = cprint_open(&x->cp);
    Tree *digits = tree_list(a);
    bool beyond = f->c.N % x->p->t.bn;

    contract_digits(x, digits, &f->n, &x->b, "n");
    const char *k = cprint_var(&x->cp, w->f->along);
    /* not the last row again: all blocks would wait for its few lines */
    const char *in = arena_printf(a, "%s%s%s", beyond ? "n < N" : "",
                                  beyond && w->ragged ? " && " : "",
                                  w->ragged
                                      ? arena_printf(a, "%s < K", k) : "");
    Tree *copy = QUOTE(
        a,
        "for (int i = threadIdx.x; i < BN * BK / @copy; i += THREADS) {\n"
        "    const int row = i / (BK / @copy), col = i % (BK / @copy) * "
        "@copy;\n"
        "    const int n = n0 + row;\n"
        "    const int @k = k_tile * BK + col;\n"
        "    @DIGITS\n"
        "    @COPY\n"
        "}\n"
        "dcc_cp_commit();\n",
        FILL_INT("copy", w->f->copy), FILL("k", k),
        FILL_TREE("DIGITS", digits),
        FILL_TREE("COPY",
                  QUOTE(a,
                        *in ? "dcc_cp_async@bytes(&smem.@b[row][col], "
                              "&@tensor[@in ? @at : 0], @in ? @bytes : 0);\n"
                            : "dcc_cp_async@bytes(&smem.@b[row][col], "
                              "&@tensor[@at]);\n",
                        FILL_INT("bytes", w->f->copy * 2), FILL("b", w->b),
                        FILL("in", in),
                        FILL("tensor", cprint_tensor(&x->cp, o->read->tensor)),
                        FILL("at", cprint_element(&x->cp, o->read->tensor,
                                                  o->offset)))));
    cprint_close(&x->cp, scope);
    return QUOTE(a,
                 "auto load_@id = [&](int k_tile) {\n"
                 "    @COPY\n"
                 "};\n",
                 FILL("id", x->b.id), FILL_TREE("COPY", copy));
}

/* The window's values of one point, into the tile. */
static void put_point(WindowBuild *w, const char *k, Tree *out)
{
    const WindowForm *f = w->f;
    ContractBuild *x = &w->x;
    const Group *first = nest_plain(x->g, f->first);
    MapBuild m = {.graph = x->g, .kernel = x->kernel, .vec = w->p->vec};

    schedule_make(first, &m.plan);
    body_within(&m.body, x->cp, f->first, x->kernel, &m.plan, f->along,
                w->p->vec);
    m.group = (Group *)m.body.group;
    m.window.tile = 1;
    m.body.base = k;
    for (int i = 0; i < m.group->n_step; i++)
        if (m.group->step[i].tensor)
            m.body.store_at[i] =
                arena_printf(x->g->arena, "&smem.%s[row][col]", w->a);
    map_point(&m, out);
}

static Tree *put_window(WindowBuild *w)
{
    ContractBuild *x = &w->x;
    const Contract *f = x->f;
    Arena *a = x->g->arena;
    CScope scope = cprint_open(&x->cp);
    Tree *digits = tree_list(a), *point = tree_list(a);

    contract_digits(x, digits, &f->m, &x->a, "m");
    const char *k = cprint_var(&x->cp, w->f->along);
    put_point(w, k, point);
    if (w->ragged)
        point = QUOTE(a,
                      "if (@k < K) {\n"
                      "    @POINT\n"
                      "} else {\n"
                      "    const float none[VEC] = {};\n"
                      "    dcc_store<VEC>(&smem.@a[row][col], none);\n"
                      "}\n",
                      FILL("k", k), FILL("a", w->a), FILL_TREE("POINT", point));
    cprint_close(&x->cp, scope);
    return QUOTE(
        a,
        "// The rows that the product takes: @name, VEC values at a time.\n"
        "for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {\n"
        "    const int row = i / (BK / VEC), col = i % (BK / VEC) * VEC;\n"
        "    const int m = @m;\n"
        "    const int @k = k_tile * BK + col;\n"
        "    @DIGITS\n"
        "    @POINT\n"
        "}\n",
        FILL("name", tensor_called(w->f->made)),
        FILL("m", f->c.M % x->p->t.bm ? "min(m0 + row, M - 1)" : "m0 + row"),
        FILL("k", k), FILL_TREE("DIGITS", digits), FILL_TREE("POINT", point));
}

/* ---- the phases ------------------------------------------------------ */

/* The first tile of the other factor, before the wait where load time made it;
 * what the epilogue reads. */
static Tree *put_ahead(WindowBuild *w)
{
    ContractBuild *x = &w->x;
    Tree *ahead = tree_list(x->g->arena), *early = tree_list(x->g->arena);
    bool constant = kernel_reads_constants(x->f->c.b.e);
    Tree *first =
        QUOTE(x->g->arena, "load_@id(k_tile);\n", FILL("id", x->b.id));

    contract_early(x, early);
    if (constant)
        PUT(ahead,
            "// This does not depend on the launches before.\n"
            "@FIRST\n",
            FILL_TREE("FIRST", first));
    PUT(ahead, "@WAIT\n", FILL("WAIT", kernel_wait(x->kernel)));
    if (!constant)
        tree_add(ahead, first);
    tree_add(ahead, early);
    return ahead;
}

static Tree *put_tiles(WindowBuild *w)
{
    ContractBuild *x = &w->x;
    Arena *a = x->g->arena;
    bool bf16 = x->f->elem == T_BF16;
    Tree *tile = TEMPLATE(
        a, "chain_window_tile.cu.in",
        FILL_TREE("MAKE", put_window(w)),
        FILL("A", w->a), FILL("B", w->b),
        FILL("MMA", bf16 ? "dcc_mma_m16n8k16_bf16" : "dcc_mma_m16n8k16_f16"),
        FILL("STEPS", x->p->parts > 1 ? "BK / SLICES" : "BK"));

    if (w->once)
        return tile;
    return QUOTE(a,
                 "for (; k_tile < k_end; ++k_tile) {\n"
                 "    @TILE\n"
                 "    __syncthreads();  // all have multiplied it\n"
                 "    if (k_tile + 1 < k_end)\n"
                 "        load_@id(k_tile + 1);\n"
                 "}\n",
                 FILL_TREE("TILE", tile), FILL("id", x->b.id));
}

static Tree *put_place(const ContractPlan *p, Arena *a)
{
    return QUOTE(a,
                 p->parts == 1
                     ? "const int lane = threadIdx.x % 32, "
                       "warp = threadIdx.x / 32;\n"
                     : "const int lane = threadIdx.x % 32;\n"
                       "const int warp = threadIdx.x / 32 % @warps;\n"
                       "const int slice = threadIdx.x / 32 / @warps;\n",
                 FILL_INT("warps", mma_tile_warps(&p->t)));
}

static void put_phases(WindowBuild *w)
{
    ContractBuild *x = &w->x;
    const ContractPlan *p = x->p;
    Arena *a = x->g->arena;
    Tree *setup = tree_list(a);
    const char *sliced = p->parts > 1 ? "slice * (BK / SLICES) + " : "";

    contract_place(x, setup);
    kernel_phase(x->g, x->kernel, "setup", setup);
    kernel_phase(x->g, x->kernel, "load", put_copies(w));
    Tree *ahead = put_ahead(w);
    kernel_phase(x->g, x->kernel, "multiply",
                 TEMPLATE(a, "chain_window.cu.in",
                          FILL_TREE("PLACE", put_place(p, a)),
                          FILL("SLICE_K", sliced), FILL_TREE("AHEAD", ahead),
                          FILL_TREE("LOOP", put_tiles(w))));
    Tree *epilogue = TEMPLATE(
        a, "contract_mma_sums.cu.in", FILL("T", "float"), FILL("WAIT", ""),
        FILL("SLICE", p->parts > 1 ? "slice * BM + " : ""));
    if (p->cluster)
        PUT(epilogue, "dcc_cluster_sync();  // all have their sums\n");
    contract_epilogue(x, epilogue);
    if (p->cluster)
        PUT(epilogue, "dcc_cluster_sync();  // others read our sums\n");
    kernel_phase(x->g, x->kernel, "epilogue", epilogue);
}

void window_build(const void *form, const Variant *v, Kernel *k)
{
    const WindowForm *f = form;
    Arena *a = f->c.g->arena;
    WindowBuild *w = arena_new_of(a, WindowBuild);
    WindowPlan *plan = arena_new_of(a, WindowPlan);
    const ContractPlan *p = &plan->p;

    if (window_plan(plan, f, v))
        return;
    w->f = f;
    w->p = plan;
    contract_start(&w->x, p, k);
    w->a = arena_printf(a, "%s_tile", cprint_ident(a, tensor_called(f->made)));
    w->b = w->x.b.tile;
    if (!strcmp(w->a, w->b))
        w->b = arena_printf(a, "%s_b", w->b);
    w->once = plan->tiles_k == 1;
    w->ragged = f->c.c.K % p->t.bk;
    k->block = p->t.threads;
    k->smem_bytes = contract_smem(p);
    constants(w);
    shared_memory(w);
    put_phases(w);
    contract_end(&w->x);
    k->variant = window_text(f, plan);
    k->family = "chain_window";
    k->min_arch = p->cluster ? "sm_90" : "sm_80";
}
