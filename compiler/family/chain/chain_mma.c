#include "family/chain/chain_wgmma.h"
#include "model/model.h"

#include <math.h>
#include <string.h>

/* Chains from sm_80 on: the same rows between the products, whose sums lie as
 * wgmma's do, by cp.async, ldmatrix and mma.sync. A warp has 16 rows. */

enum { K_BJ, K_CONSUMERS, K_GROUP, PAD = 8 /* elements behind a row */ };

bool chain_in_pieces(const ChainForm *f, const Operand *o, const Var *fast)
{
    IdxPool *p = f->a.g->pool;
    const Idx *rest = idx_sub(p, o->offset, idx_var(p, fast));
    Guard in;

    guard_run(f->a.g, o->in, &in);
    return fast->extent % 8 == 0 && idx_coef(o->offset, fast) == 1 &&
           !idx_uses(rest, fast) && idx_align(rest, 8) == 8 && !in.n;
}

static const char *open_mma(ChainForm *f, Graph *g, const Group *gr,
                            const Options *o)
{
    const char *why = o->device->sm < 80    ? "needs sm_80"
                      : o->device->sm >= 90 ? "needs sm_80 to sm_89"
                                            : chain_open(f, g, gr, o);

    if (why)
        return why;
    if (f->chain->other || chain_parts(f->chain) > 1)
        return "two first products, or a factor of f32";
    if (f->tb.b.k_major)
        return "columns that are neighbours along the second sum";
    if (f->a.c.n_k != 1 || f->b.c.n_n != 1 ||
        !chain_in_pieces(f, &f->a.c.a, f->a.c.k[0]) ||
        !chain_in_pieces(f, &f->a.c.b, f->a.c.k[0]) ||
        !chain_in_pieces(f, &f->b.c.b, f->b.c.n[0]))
        return "factors that are no pieces of 16 bytes";
    return NULL;
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    ChainForm *f = arena_new_of(g->arena, ChainForm);

    *why = open_mma(f, g, gr, o);
    f->gr = gr;
    return family_form(g, f, sizeof *f, *why);
}

const char *chain_mma_plan(ChainKernel *w, const ChainForm *f, const Variant *v)
{
    chain_plan_open(w, f);
    w->bj = v->knob[K_BJ];
    w->consumers = v->knob[K_CONSUMERS];
    w->group = v->knob[K_GROUP];
    w->stages = 2;
    w->bm = w->consumers * 64;
    w->row_at = "m0 + top";
    chain_tile(w, w->bj, w->consumers * 128);
    int row = chain_round_up(f->D, 16) + PAD;
    w->smem = (size_t)(w->bm * row + 2 * w->bj * (row + w->bn + PAD)) * 2;
    w->regs = w->bj / 2 + w->bj / 4 + w->bn / 2 + 56 +
              (f->rows.ahead ? w->bj / 4 : 0);
    return chain_fits(w, (w->regs <= 128 ? 512 : 256) / w->threads, 250);
}

static int space(const void *form, Variant **out)
{
    static const int widths[] = {64, 128, 32, 16};
    const ChainForm *f = form;
    Graph *g = f->a.g;
    Variant v[8] = {0};
    int n = 0;

    for (int i = 0; i < 8; i++) {
        ChainKernel w;
        Variant *x = &v[n];
        x->knob[K_BJ] = widths[i / 2];
        x->knob[K_CONSUMERS] = 1 + i % 2;
        x->knob[K_GROUP] = chain_group(f);
        if (x->knob[K_BJ] > chain_round_up(f->J, 16) ||
            chain_mma_plan(&w, f, x))
            continue;
        x->text = arena_printf(g->arena, "bm=%d bj=%d", w.bm, w.bj);
        n++;
    }
    *out = family_variants(g->arena, v, n);
    return n;
}

/* ---- building -------------------------------------------------------- */

Tree *chain_piece(ChainKernel *w, const Operand *o, const Var *line,
                  const char *number, const char *size, const Var *fast,
                  const char *tile)
{
    CPrint *cp = &w->b.cp;
    CScope scope = cprint_open(cp);
    Arena *a = w->b.g->arena;
    const Tensor *t = o->read->tensor;
    const char *id = cprint_var(cp, line), *in = "";

    if (size)
        in = arena_printf(a, "%s < %s", id, size);
    if (chain_round_up(fast->extent, 16) != fast->extent)
        in = arena_printf(a, "%s%spiece < %lld", in, *in ? " && " : "",
                          (long long)fast->extent / 8);
    if (o->in.n) /* the run's size */
        in = arena_printf(a, "%s%s%s", in, *in ? " && " : "",
                          cprint_guard(cp, o->in));
    cprint_name(cp, fast, "piece * 8");
    Tree *code = QUOTE(a,
                       *in ? "const int @id = @number;\n"
                             "const bool in = @in;\n"
                             "dcc_cp_async16(&smem.@tile[line][piece * 8], "
                             "in ? &@tensor[@at] : @tensor, in ? 16 : 0);\n"
                           : "const int @id = @number;\n"
                             "dcc_cp_async16(&smem.@tile[line][piece * 8], "
                             "&@tensor[@at]);\n",
                       FILL("id", id), FILL("number", number), FILL("in", in),
                       FILL("tile", tile), FILL("tensor", cprint_tensor(cp, t)),
                       FILL("at", cprint_element(cp, t, o->offset)));
    cprint_close(cp, scope);
    return code;
}

static void constants(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Graph *g = w->b.g;
    Kernel *k = w->k;

    kernel_constant(g, k, "M", f->M, f->row->name);
    kernel_constant(g, k, "N", f->N, f->b.c.n[0]->name);
    kernel_constant(g, k, "J", f->J, f->col->name);
    kernel_constant(g, k, "BM", w->bm, "rows of a block");
    kernel_constant(g, k, "WM", 64, "rows of four warps");
    kernel_constant(g, k, "BJ", w->bj, "columns at a time");
    kernel_constant(g, k, "BN", w->bn, "columns of the result");
    kernel_constant(g, k, "K_STEPS", (f->D + 15) / 16,
                    "16 terms of a score each");
    kernel_constant(g, k, "TILES_M", w->m_tiles, NULL);
    kernel_constant(g, k, "BATCHES", f->batches, NULL);
    if (w->group > 1)
        kernel_constant(g, k, "GROUP", w->group,
                        "of the batch that run together");
    kernel_constant(g, k, "THREADS", w->threads, NULL);
    kernel_constant(g, k, "PAD", PAD, "lines fall on different banks");
}

static void shared_memory(ChainKernel *w)
{
    static const char *const lines[] = {"[BM][K_STEPS * 16 + PAD]",
                                        "[2][BJ][K_STEPS * 16 + PAD]",
                                        "[2][BJ][BN + PAD]"};

    for (int i = 0; i < 3; i++)
        kernel_smem(w->b.g, w->k, 16,
                    arena_printf(w->b.g->arena, "%s %s_tile%s",
                                 type_cname(w->f->elem), w->id[i], lines[i]),
                    NULL);
}

static void put_kernel(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *tile[3], *columns = f->J % w->slot ? "J" : NULL;

    for (int i = 0; i < 3; i++)
        tile[i] = arena_printf(a, "%s_tile", w->id[i]);
    Tree *place = chain_place(w);
    const Fill fill[] = {
        FILL_TREE("PLACE", place),
        FILL_TREE("RANGE", chain_range(w)),
        FILL("WAIT", kernel_wait(w->k)),
        FILL_TREE("LOAD_ROWS",
                  chain_piece(w, &f->a.c.a, f->row, "m0 + line",
                              f->M % w->bm ? "M" : NULL, f->a.c.k[0], tile[0])),
        FILL_TREE("LOAD_FIRST",
                  chain_piece(w, &f->a.c.b, f->col, "j0 + line", columns,
                              f->a.c.k[0],
                              arena_printf(a, "%s[slot]", tile[1]))),
        FILL_TREE("LOAD_SECOND",
                  chain_piece(w, &f->b.c.b, f->col, "j0 + line", columns,
                              f->b.c.n[0],
                              arena_printf(a, "%s[slot]", tile[2]))),
        FILL("ROWS", tile[0]),
        FILL("COLUMNS", tile[1]),
        FILL("FACTORS", tile[2]),
        FILL("MMA", arena_printf(a, "dcc_mma_m16n8k16_%s", type_name(f->elem))),
        FILL_TREE("STATE", chain_start(w)),
        FILL_TREE("AHEAD", chain_read_block(w)),
        FILL("READ", f->rows.ahead ? "read_block(block * BJ);\n" : ""),
        FILL_TREE("VALUE", chain_value(w)),
        FILL_TREE("MASK", chain_mask(w)),
        FILL("WEIGH", chain_weigh(w)),
        FILL("RESCALE", chain_rescale(w)),
        FILL("TYPE", type_cname(f->elem)),
        FILL_TREE("KEEP", chain_keeps(w)),
        FILL_TREE("AFTER", chain_after(w)),
        FILL_TREE("EPILOGUE", chain_direct(w, 2)),
    };

    kernel_phase(w->b.g, w->k, "setup",
                 template_tree(a, "chain_mma.cu.in", fill,
                               (int)(sizeof fill / sizeof *fill)));
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    const ChainForm *f = form;
    Graph *g = f->a.g;
    Group *gr = (Group *)f->gr;
    ChainKernel *w = arena_new_of(g->arena, ChainKernel);

    chain_mma_plan(w, f, v);
    chain_begin(w, gr, k);
    constants(w);
    shared_memory(w);
    put_kernel(w);
    chain_end(w, "chain_mma", "sm_80");
}

const Family family_chain_mma = {
    .name = "chain_mma",
    .version = 1,
    .open = open,
    .space = space,
    .cost = chain_mma_cost,
    .build = build,
    .chains = true,
};
