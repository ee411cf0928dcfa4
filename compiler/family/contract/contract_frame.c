#include "family/contract/contract.h"

#include "emit/emit.h"

#include <string.h>

/* The frame of a contraction kernel: arguments, constants, shared memory, the
 * block's tile, and the order of the phases. */

/* ---- beginning --------------------------------------------------------- */

static void name_load(ContractBuild *x, Load *l, const char *id)
{
    Arena *a = x->g->arena;

    l->id = id;
    l->ID = names_upper(a, id);
    l->tile = arena_printf(a, "%s_tile", id);
}

static void name_loads(ContractBuild *x)
{
    const char *id[2];

    for (int i = 0; i < 2; i++) {
        const Operand *o = i ? x->b.op : x->a.op;
        id[i] = i ? "b" : "a";
        if (o->read)
            id[i] = cprint_part(&x->cp, o->read);
    }
    if (!strcmp(id[0], id[1]))
        id[1] = arena_printf(x->g->arena, "%s_b", id[1]);
    name_load(x, &x->a, id[0]);
    name_load(x, &x->b, id[1]);
}

static const char *describe(ContractBuild *x, const Side *s)
{
    const char *text = "";

    if (s->n == 0)
        return NULL;
    for (int i = 0; i < s->n; i++)
        text = arena_printf(x->g->arena, "%s%s%s", text, i ? ", " : "",
                            s->v[i]->name);
    return text;
}

static void constants(ContractBuild *x)
{
    Kernel *k = x->kernel;
    Graph *g = x->g;
    const Tile *t = &x->p->t;

    kernel_constant(g, k, "M", x->f->c.M, describe(x, &x->f->m));
    kernel_constant(g, k, "N", x->f->c.N, describe(x, &x->f->n));
    kernel_constant(g, k, "K", x->f->c.K, describe(x, &x->f->k));
    kernel_constant(g, k, "BM", t->bm, "");
    kernel_constant(g, k, "BN", t->bn, "");
    kernel_constant(g, k, "BK", t->bk, "tile of a block");
    kernel_constant(g, k, x->f->mma ? "WM" : "TM", t->wm, "");
    kernel_constant(g, k, x->f->mma ? "WN" : "TN", t->wn,
                    x->f->mma ? "tile of a warp" : "tile of a thread");
    kernel_constant(g, k, "STAGES", t->stages, NULL);
    kernel_constant(g, k, "THREADS", t->threads, NULL);
    kernel_constant(g, k, "K_TILES", (x->f->c.K + t->bk - 1) / t->bk, NULL);
    if (t->whole)
        kernel_constant(g, k, "WHOLE", t->whole, "tiles that one block has");
    if (t->split > 1)
        kernel_constant(g, k, "SPLIT", t->split,
                        t->whole ? "blocks that share one of the others"
                                 : "blocks that share a tile");
    if (x->p->cluster)
        kernel_constant(g, k, "ROWS", contract_rows(x->p),
                        "of a tile that a block finishes");
    if (x->p->parts > 1)
        kernel_constant(g, k, "SLICES", x->p->parts,
                        "of a tile's k, each some warps' own");
    if (x->f->mma)
        kernel_constant(g, k, "K_STEP", x->f->k_step, "of one mma");
    if (x->p->spread && contract_async(&x->a, &x->b))
        kernel_constant(g, k, "PARTS", x->p->spread,
                        "in which a tile's copies begin");
}

static void shared_memory(ContractBuild *x)
{
    Graph *g = x->g;
    size_t ring = contract_ring(x->p);
    bool flag = x->p->t.split > 1 && !x->p->cluster;
    size_t total = contract_used(x->p) - (flag ? 16 : 0);

    for (int i = 0; i < 2; i++) {
        const Load *l = i ? &x->b : &x->a;
        const char *pad = kernel_constant(g, x->kernel,
                                          arena_printf(g->arena, "%s_PAD",
                                                       l->ID), l->pad, NULL);
        const char *decl = arena_printf(
            g->arena, "%s %s[STAGES][%s][%s + %s]", type_cname(x->f->elem),
            l->tile, l->k_major ? l->size : "BK",
            l->k_major ? "BK" : l->size, pad);
        kernel_smem(g, x->kernel, 16, decl,
                    i ? NULL : "padded: a fragment's rows on different banks");
    }
    if (total > ring)
        kernel_smem(g, x->kernel, 16,
                    arena_printf(g->arena, "unsigned char rest[%zu]",
                                 total - ring), "for the sums");
    if (flag)
        kernel_smem(g, x->kernel, 16, "int is_last", NULL);
}

void contract_start(ContractBuild *x, const ContractPlan *p, Kernel *k)
{
    *x = (ContractBuild){.f = p->f, .p = p, .g = p->f->g, .a = p->a,
                         .b = p->b, .kernel = k, .regs = p->regs};
    kernel_set_args(x->g, (Group *)(x->f->whole ? x->f->whole : x->f->gr), k);
    x->cp = cprint_new(x->g, k);
    cprint_steps(&x->cp, x->f->gr);
    name_loads(x);
}

void contract_begin(ContractBuild *x, const ContractPlan *p, Kernel *k)
{
    contract_start(x, p, k);
    contract_number(x, &x->a);
    contract_number(x, &x->b);
    k->block = x->p->t.threads;
    k->smem_bytes = contract_smem(x->p);
    constants(x);
    shared_memory(x);
}

/* ---- the block's tile -------------------------------------------------- */

enum { BAND_ROWS = 8 };

void contract_batch(ContractBuild *x, Tree *b)
{
    const Contraction *c = &x->f->c;
    int64_t radix = c->batches;
    const char *all = NULL;

    for (int i = 0; i < c->n_batch; i++) {
        radix /= c->batch[i]->extent;
        all = arena_printf(b->arena, "%s%s%s = %s", all ? all : "",
                           all ? ", " : "", cprint_var(&x->cp, c->batch[i]),
                           cprint_digit(b->arena, "blockIdx.z", radix,
                                        i > 0 ? c->batch[i]->extent : 0));
    }
    if (all)
        PUT(b, "const int @all;\n", FILL("all", all));
}

static void place_tile(ContractBuild *x, Tree *b)
{
    const char *tile =
        x->p->cluster || x->p->t.whole ? "tile" : "(int)blockIdx.x";
    int64_t tiles_m = (x->f->c.M + x->p->t.bm - 1) / x->p->t.bm;
    int64_t tiles_n = (x->f->c.N + x->p->t.bn - 1) / x->p->t.bn;

    if (tiles_m == 1 || tiles_n == 1) {
        PUT(b, "const int m0 = @tile;\n",
            FILL("tile",
                 tiles_m > 1 ? arena_printf(b->arena, "%s * BM", tile) : "0"));
        PUT(b, "const int n0 = @tile;\n",
            FILL("tile",
                 tiles_n > 1 ? arena_printf(b->arena, "%s * BN", tile) : "0"));
        return;
    }
    kernel_constant(x->g, x->kernel, "TILES_M", tiles_m, NULL);
    if (tiles_m <= BAND_ROWS) {
        PUT(b,
            "const int m0 = @tile % TILES_M * BM;\n"
            "const int n0 = @tile / TILES_M * BN;\n",
            FILL("tile", tile));
        return;
    }
    kernel_constant(x->g, x->kernel, "TILES_N", tiles_n, NULL);
    kernel_constant(x->g, x->kernel, "BAND", BAND_ROWS,
                    "tile rows that run together");
    PUT(b,
        "// in bands: blocks that run at one time read few distinct tiles\n"
        "const dcc_tile at = dcc_tile_in_band(@tile, BAND, TILES_M, TILES_N);\n"
        "const int m0 = at.m * BM, n0 = at.n * BN;\n",
        FILL("tile", tile));
}

void contract_place(ContractBuild *x, Tree *b)
{
    const char *rank =
        x->p->cluster || x->p->t.whole ? "rank" : "(int)blockIdx.y";

    if (x->p->cluster)
        PUT(b, "const int rank = blockIdx.x % SPLIT, tile = blockIdx.x / "
               "SPLIT;\n");
    if (x->p->t.whole)
        PUT(b,
            "// the tiles that make no whole round of the SMs come last, in "
            "parts\n"
            "const int late = (int)blockIdx.x - WHOLE, rank = late % SPLIT;\n"
            "const int tile = late < 0 ? (int)blockIdx.x : WHOLE + late / "
            "SPLIT;\n");
    place_tile(x, b);
    contract_batch(x, b);
    if (contract_reaches(x->p))
        contract_reached(x, b, "int k_tile");
    else if (x->p->t.whole)
        PUT(b,
            "int k_tile = late < 0 ? 0 : rank * K_TILES / SPLIT;\n"
            "const int k_end =\n"
            "    late < 0 ? K_TILES : (rank + 1) * K_TILES / SPLIT;\n");
    else if (x->p->t.split > 1)
        PUT(b,
            "int k_tile = @rank * K_TILES / SPLIT;\n"
            "const int k_end = (@rank + 1) * K_TILES / SPLIT;\n",
            FILL("rank", rank));
    else
        PUT(b, x->f->c.K > x->p->t.bk ? "int k_tile = 0;\n"
                                        "const int k_end = K_TILES;\n"
                                      : "const int k_tile = 0, k_end = 1;\n");
}

/* ---- figures ----------------------------------------------------------- */

/* Blocks that an SM shall hold at once: the compiler may then use all the
 * registers that this leaves. */
static int resident(const ContractBuild *x)
{
    const Device *d = x->f->o->device;
    double smem = (double)contract_smem(x->p) / 1024 + 1;
    if (x->p->t.whole)
        return contract_room(x->p);
    double blocks = (double)contract_blocks(x->f, &x->p->t) *
                    (double)x->f->c.batches / d->sms;
    int regs = (x->regs + x->regs / 8 + 7) / 8 * 8;
    int n = d->regs_sm / (regs * x->p->t.threads);

    if (n > d->smem_sm_kb / smem)
        n = (int)(d->smem_sm_kb / smem);
    if (n > blocks)
        n = (int)blocks;
    return n < 1 ? 1 : n > 4 ? 4 : n;
}

/* Of a kernel with a ring. */
Shared contract_shared(const Device *d, size_t smem)
{
    size_t both = 2 * (smem + KB);

    return both <= (size_t)d->smem_sm_kb * KB ? SHARED_ALL : SHARED_ANY;
}

void contract_end(ContractBuild *x)
{
    Kernel *k = x->kernel;
    const Tile *t = &x->p->t;
    int64_t tiles = contract_tiles(x->f, t) - t->whole;
    bool row = x->p->cluster || t->whole; /* of all blocks */

    k->grid[0] = (int)(row ? contract_blocks(x->f, t) : tiles);
    k->grid[1] = row ? 1 : t->split;
    k->grid[2] = (int)x->f->c.batches;
    k->cluster = x->p->cluster ? t->split : 1;
    k->min_blocks = resident(x);
    if (t->split > 1 && !x->p->cluster) {
        k->coop_counters = true;
        k->n_counters = (int)(tiles * x->f->c.batches);
        k->workspace = (size_t)(tiles * x->f->c.batches) *
                       (size_t)(t->split * t->bm * t->bn) * 4;
    }
    k->flops = contract_flops(x->f);
    k->bytes = x->f->hbm_bytes;
    k->variant = contract_text(x->f, t);
    k->where = arena_array(x->g->arena, const char *, k->group->n_step);
}

/* ---- phases ------------------------------------------------------------ */

static void put_call(Tree *b, const Load *l, const char *verb, const char *args)
{
    PUT(b, "@verb@_@id(@args);\n", FILL("verb", verb), FILL("id", l->id),
        FILL("args", args));
}

static bool looks_up(const Operand *o)
{
    bool data = false;

    for (int i = 0; o->read && i < o->read->tensor->rank; i++)
        data |= idx_has_data(o->read->at[i]);
    return data && !kernel_reads_constants(o->e);
}

/* Finding the rows of an operand already reads what a run writes. */
static bool waits_first(const ContractBuild *x)
{
    return looks_up(&x->f->c.a) || looks_up(&x->f->c.b);
}

/* The operand's first tiles come before the wait for the grid. */
static bool ahead_of_wait(const ContractBuild *x, const Load *l)
{
    return x->kernel->waits && !waits_first(x) && l->async &&
           kernel_reads_constants(l->op->e);
}

/* The whole of an operand's tile. */
static void put_load(Tree *b, const Load *l, const char *k_tile,
                     const char *slot)
{
    put_call(b, l, "load", arena_printf(b->arena, "%s, %s", k_tile, slot));
}

/* Calls that begin a tile's copies; `whole`: and end them, less those that
 * came before the wait. */
static Tree *load_calls(ContractBuild *x, const char *k_tile, const char *slot,
                        bool whole)
{
    Tree *calls = tree_list(x->g->arena);

    for (int i = 0; i < 2; i++) {
        const Load *l = i ? &x->b : &x->a;
        if (whole && ahead_of_wait(x, l))
            continue;
        if (l->async) {
            put_load(calls, l, k_tile, slot);
            continue;
        }
        put_call(calls, l, "fetch", k_tile);
        if (whole)
            put_call(calls, l, "store", slot);
    }
    return calls;
}

/* Those of a tile that there is. */
static Tree *within(Tree *calls)
{
    if (!calls->n_item)
        return calls;
    return QUOTE(calls->arena,
                 "if (k_tile + s < k_end) {\n"
                 "    @CALLS\n"
                 "}\n",
                 FILL_TREE("CALLS", calls));
}

/* The same part by part, on the way through a tile's products. Behind the last
 * tile it comes once more, which does not matter. */
static Tree *part_calls(ContractBuild *x)
{
    Arena *a = x->g->arena;
    Tree *calls = tree_list(a);

    for (int i = 0; i < 2; i++) {
        const Load *l = i ? &x->b : &x->a;
        if (l->async)
            put_call(calls, l, "load", "ahead_tile, ahead_slot, part, PARTS");
    }
    if (!calls->n_item)
        return calls;
    return QUOTE(a,
                 "if (k % (STEPS / PARTS) == 0) {\n"
                 "    const int part = k / (STEPS / PARTS);\n"
                 "    @CALLS\n"
                 "    if (part == PARTS - 1)\n"
                 "        dcc_cp_commit();\n"
                 "}\n",
                 FILL_TREE("CALLS", calls));
}

/* The copies that go through registers: `fetch` begins one, `store` ends it. */
static Tree *register_calls(ContractBuild *x, const char *verb,
                            const char *args)
{
    Tree *calls = tree_list(x->g->arena);

    for (int i = 0; i < 2; i++) {
        const Load *l = i ? &x->b : &x->a;
        if (!l->async)
            put_call(calls, l, verb, args);
    }
    return calls;
}

/* What went to registers is stored after the products of the stage. */
static Tree *store_calls(ContractBuild *x)
{
    Tree *calls = register_calls(x, "store", "ahead_slot");

    if (!calls->n_item || x->p->spread)
        return calls;
    return QUOTE(x->g->arena,
                 "if (ahead) {\n"
                 "    @CALLS\n"
                 "}\n",
                 FILL_TREE("CALLS", calls));
}

/* The wait for the grid, behind the first tiles of what load time made. A
 * block without a result that anybody reads has nothing to do. */
static Tree *wait_code(ContractBuild *x)
{
    Arena *a = x->g->arena;
    Tree *calls = tree_list(a), *code = tree_list(a);

    if (waits_first(x))
        return code;
    for (int i = 0; i < 2; i++) {
        const Load *l = i ? &x->b : &x->a;
        if (ahead_of_wait(x, l))
            put_load(calls, l, "k_tile + s", "s");
    }
    if (calls->n_item)
        PUT(code,
            "// Weights do not depend on the launches before.\n"
            "for (int s = 0; s < STAGES - 1; ++s)\n"
            "    @CALLS\n",
            FILL_TREE("CALLS", within(calls)));
    PUT(code, "@WAIT\n", FILL("WAIT", kernel_wait(x->kernel)));
    const char *unread = calls->n_item == 0 && x->p->t.split == 1
                             ? contract_unread(x, "m0", "n0")
                             : NULL;
    if (unread)
        PUT(code,
            "if (@unread)  // nobody reads this tile\n"
            "    return;\n",
            FILL("unread", unread));
    return code;
}

static void phase_from(ContractBuild *x, const char *label, const char *name,
                       const Fill *fill, int n)
{
    kernel_phase(x->g, x->kernel, label,
                 template_tree(x->g->arena, name, fill, n));
}

static void load_phases(ContractBuild *x)
{
    Tree *setup = tree_list(x->g->arena), *load = tree_list(x->g->arena);

    if (waits_first(x))
        kernel_wait_phase(x->g, x->kernel);
    contract_place(x, setup);
    contract_loader(x, &x->a, setup, load);
    contract_loader(x, &x->b, setup, load);
    kernel_phase(x->g, x->kernel, "setup", setup);
    kernel_phase(x->g, x->kernel, "load", load);
}

/* Blocks that share a tile meet in memory. */
static void split_phase(ContractBuild *x)
{
    if (x->p->t.whole) {
        kernel_phase(x->g, x->kernel, "split K",
                     TEMPLATE(x->g->arena, "contract_late.cu.in",
                              FILL("T", type_cname(x->f->acc)),
                              FILL("SLICES", x->p->parts > 1 ? "SLICES" : "1")));
        return;
    }
    kernel_phase(x->g, x->kernel, "split K",
                 TEMPLATE(x->g->arena, "contract_split.cu.in",
                          FILL("T", type_cname(x->f->acc)),
                          FILL("SLICES", x->p->parts > 1 ? "SLICES" : "1")));
    x->partial = true;
}

enum { MAX_SLOTS = 24 };

void contract_body(ContractBuild *x, const char *main, const char *to_sums,
                   const Fill *extra, int n_extra)
{
    enum { WAIT = 0, EARLY };
    Arena *a = x->g->arena;
    bool async = contract_async(&x->a, &x->b);
    Tree *early = tree_list(a), *none = tree_list(a);
    Fill fill[MAX_SLOTS] = {
        [WAIT] = FILL("WAIT", async ? "dcc_cp_wait<STAGES - 2>();\n" : ""),
        [EARLY] = FILL_TREE("EARLY", early),
        FILL_TREE("AHEAD", within(load_calls(x, "k_tile + s", "s", true))),
        FILL_TREE("MORE", x->p->spread ? part_calls(x)
                                       : load_calls(x, "k_tile + STAGES - 1",
                                                    "ahead_slot", false)),
        FILL_TREE("STORE", store_calls(x)),
        FILL("COMMIT", async ? "dcc_cp_commit();\n" : ""),
        FILL_TREE("DEPEND", wait_code(x)),
        FILL_TREE("FETCH", x->p->spread
                               ? register_calls(x, "fetch", "ahead_tile")
                               : none),
    };

    load_phases(x); /* names the batch, which early reads may be along */
    if (contract_stores(x->f))
        contract_early(x, early);
    memcpy(fill + 8, extra, sizeof *extra * (size_t)n_extra);
    phase_from(x, "multiply", main, fill, 8 + n_extra);
    fill[WAIT].text = async ? "dcc_cp_wait<0>();\n" : "";
    Tree *epilogue = x->own_rows
                         ? tree_list(a)
                         : template_tree(a, to_sums, fill, 8 + n_extra);
    if (x->p->t.split > 1 && !x->p->cluster) {
        kernel_phase(x->g, x->kernel, "sums", epilogue);
        epilogue = tree_list(a);
        split_phase(x);
    }
    if (x->p->cluster)
        PUT(epilogue, "dcc_cluster_sync();  // all have their sums\n");
    contract_reduced(x, epilogue);
    if (contract_stores(x->f))
        contract_epilogue(x, epilogue);
    if (x->p->cluster)
        PUT(epilogue, "dcc_cluster_sync();  // others read our sums\n");
    kernel_phase(x->g, x->kernel, "epilogue", epilogue);
    contract_end(x);
}
