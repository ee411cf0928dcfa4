#include "family/contract/contract_simt.h"

#include "emit/emit.h"

#include <string.h>

/* The kernel of a contraction on the ordinary pipes, from its plan. */

/* A warp's lanes are lanes_m x simt_lanes. */
static int lanes_m(const Tile *t)
{
    return SIMT_LANES / simt_lanes(t);
}

/* Its slice of k. */
static Tree *place(ContractBuild *x)
{
    const Tile *t = &x->p->t;
    Tree *code = tree_list(x->g->arena);

    kernel_constant(x->g, x->kernel, "LANES_M", lanes_m(t), NULL);
    kernel_constant(x->g, x->kernel, "LANES_N", simt_lanes(t), NULL);
    kernel_constant(x->g, x->kernel, "STEPS", simt_steps(t),
                    "k of a tile that a thread multiplies");
    if (simt_slices(t) > 1)
        PUT(code,
            "const int slice = threadIdx.x / @threads;\n"
            "const int slice_k = slice * STEPS;\n",
            FILL_INT("threads", simt_slice_threads(t)));
    return code;
}

/* What is summed, of the elements a and b, where that is no product. */
static Tree *term(ContractBuild *x)
{
    const Expr *e = x->f->c.term;
    Tree *code = tree_list(x->g->arena), *body = tree_list(x->g->arena);
    const char *saved[2];

    if (!e)
        return code;
    CScope scope = cprint_open(&x->cp);
    memcpy(saved, x->cp.local, sizeof saved);
    x->cp.local[0] = "a";
    x->cp.local[1] = "b";
    cprint_count(&x->cp, e);
    const char *value = cprint_bind(body, &x->cp, e, "t");
    PUT(code,
        "// what is summed of each two elements\n"
        "auto term = [](float a, float b) {\n"
        "    @BODY\n"
        "    return @value;\n"
        "};\n",
        FILL_TREE("BODY", body), FILL("value", value));
    memcpy(x->cp.local, saved, sizeof saved);
    cprint_close(&x->cp, scope);
    return code;
}

/* Code about a's factors: all threads read those of one k, or four k of their
 * rows at a time. */
static void put_a(const ContractBuild *x, const char *from, Fill fill[5])
{
    Arena *a = x->g->arena;
    const Fill tile = FILL("tile", x->a.tile), first = FILL("from", from);
    Tree *none = tree_list(a);

    if (!x->p->rows) {
        fill[0] = FILL("A_FRAG", "[2][TM / 4]");
        fill[1] = FILL_TREE("A_FIRST", none);
        fill[2] = FILL_TREE("A_READ",
                            QUOTE(a,
                                  "dcc_read_apart<LANES_M * 4>(a_frag[k % 2], "
                                  "&smem.@tile[stage][@from@k][own.m]);\n",
                                  tile, first));
        for (int i = 3; i < 5; i++)
            fill[i] =
                FILL(i < 4 ? "PRODUCTS" : "ONLY",
                     x->f->c.term ? "dcc_add_terms(acc, a_frag[k % 2], "
                                    "b_frag[k % 2], term);\n"
                                  : "dcc_multiply(acc, a_frag[k % 2], "
                                    "b_frag[k % 2]);\n");
        return;
    }
    kernel_constant(x->g, x->kernel, "NEXT_ROW",
                    lanes_m(&x->p->t) * (x->p->t.bk + x->a.pad),
                    "elements from a lane's row to its next");
    fill[0] = FILL("A_FRAG", "[TM]");
    fill[1] = FILL_TREE("A_FIRST", QUOTE(a,
                                         "dcc_read_apart<NEXT_ROW>(a_frag, "
                                         "&smem.@tile[0][own.m][@from@0]);\n",
                                         tile, first));
    fill[2] = FILL_TREE("A_READ", none);
    for (int i = 3; i < 5; i++)
        fill[i] = FILL_TREE(
            i < 4 ? "PRODUCTS" : "ONLY",
            QUOTE(a,
                  "dcc_multiply_rows<NEXT_ROW>(acc, a_frag, k % 4, "
                  "b_frag[k % 2], &smem.@tile[@slot][own.m]"
                  "[@from@(k + 1) % STEPS]);\n",
                  tile, first,
                  FILL("slot", i < 4 ? "k < STEPS - 1 ? stage : next" : "0")));
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    const Contract *f = form;
    ContractPlan p;
    ContractBuild x;

    if (simt_plan(&p, f, v))
        return;
    bool sliced = simt_slices(&p.t) > 1;
    contract_begin(&x, &p, k);
    x.own_rows = simt_own_rows(&p);
    Fill extra[] = {
        {0},
        {0},
        {0},
        {0},
        {0}, /* put_a */
        FILL("T", f->acc == T_F32 ? "float" : "int"),
        FILL("VECTOR", f->acc == T_F32 ? "dcc_f32x4" : "dcc_i32x4"),
        FILL_TREE("PLACE", place(&x)),
        FILL_TREE("TERM", term(&x)),
        FILL("B_TILE", x.b.tile),
        FILL("TOGETHER", p.rows ? ", 1" : ""),
        FILL("OWN",
             p.rows
                 ? "\n    dcc_thread_tile<LANES_M, LANES_N, TM, TN, BM, BN, 1"
                 : " dcc_thread_tile<LANES_M, LANES_N, TM, TN, BM, BN"),
        FILL("FROM", sliced ? "slice_k + " : ""),
        FILL("SLICE", sliced ? "slice * BM + " : ""),
    };
    put_a(&x, sliced ? "slice_k + " : "", extra);
    contract_body(&x, "contract_simt.cu.in", "contract_simt_sums.cu.in",
                  extra, (int)(sizeof extra / sizeof *extra));
    k->family = "contract_simt";
    k->variant = simt_text(f, &p.t);
}

const Family family_contract_simt = {
    .name = "contract_simt",
    .version = 2,
    .open = simt_open,
    .space = simt_space,
    .cost = simt_cost,
    .least = simt_least,
    .potential = simt_potential,
    .build = build,
    .text = simt_text_of,
};
