#include "family/chain/chain_window.h"

#include <string.h>

/* Rows that another product makes: its factors come through a ring of slots of
 * BD terms, each warp has MID_M by MID_N of its sums, and what those become
 * goes to shared memory as the second product's factor. */

enum { THE_SUM = MAX_STEPS - 1 }; /* the local that is the first product's */

static const char *id_of(ContractBuild *x, const Operand *o, const char *other)
{
    const char *id = cprint_tensor(&x->cp, o->read->tensor);

    return other && !strcmp(id, other)
               ? arena_printf(x->g->arena, "%s_first", id)
               : id;
}

static const char *rows_id(ContractBuild *x, const WindowForm *f)
{
    return id_of(x, &f->product->c.a, x->b.id);
}

static const char *columns_id(ContractBuild *x, const WindowForm *f)
{
    const char *id = id_of(x, &f->product->c.b, x->b.id);

    return strcmp(id, rows_id(x, f)) ? id
                                     : arena_printf(x->g->arena, "%s_b", id);
}

void window_product_constants(ContractBuild *x, const WindowForm *f,
                              const WindowPlan *w)
{
    Kernel *k = x->kernel;
    Graph *g = x->g;

    kernel_constant(g, k, "D", f->product->c.K, "terms of the first sum");
    kernel_constant(g, k, "BD", w->bd, "of a slot");
    kernel_constant(g, k, "D_TILES", (f->product->c.K + w->bd - 1) / w->bd,
                    NULL);
    kernel_constant(g, k, "STAGES", w->stages, NULL);
    kernel_constant(g, k, "MID_M", w->mid_m, "");
    kernel_constant(g, k, "MID_N", w->mid_n,
                    "of the first product's sums, a warp's");
}

size_t window_product_memory(ContractBuild *x, const WindowForm *f,
                             const WindowPlan *w)
{
    static const char *const rows[] = {"BM", "BK"};
    const char *const id[] = {rows_id(x, f), columns_id(x, f)};
    const Tile *t = &w->p.t;

    for (int i = 0; i < 2; i++)
        kernel_smem(x->g, x->kernel, 16,
                    arena_printf(x->g->arena,
                                 "%s %s_tile[STAGES][%s][BD + PAD]",
                                 type_cname(f->c.elem), id[i], rows[i]),
                    NULL);
    return (size_t)(w->stages * (t->bm + t->bk) * (w->bd + w->p.a.pad) *
                    type_bytes(f->c.elem));
}

/* One factor's slot: `row` is declared by `number`, with `digits`. */
static Tree *put_slot(ContractBuild *x, const WindowForm *f, const Operand *o,
                      const char *id, const char *rows, const Side *side,
                      const char *line, int vec, const WindowPlan *w)
{
    Arena *a = x->g->arena;
    const Load l = {.op = o};
    CScope scope = cprint_open(&x->cp);
    Tree *digits = tree_list(a);
    const char *in = f->product->c.K % w->bd ? "k < D" : "";

    contract_digits(x, digits, side, &l, side->name);
    contract_digits(x, digits, &f->product->k, &l, "k");
    if (guard_truth(o->in) != ALWAYS)
        in = arena_printf(a, "%s%s%s", in, *in ? " && " : "",
                          cprint_guard(&x->cp, o->in));
    Tree *copy =
        QUOTE(a,
              *in ? "const bool in = @in;\n"
                    "dcc_cp_async@bytes(&smem.@id@_tile[slot][row][col], "
                    "&@tensor[in ? @at : 0], in ? @bytes : 0);\n"
                  : "dcc_cp_async@bytes(&smem.@id@_tile[slot][row][col], "
                    "&@tensor[@at]);\n",
              FILL("in", in), FILL_INT("bytes", vec * 2), FILL("id", id),
              FILL("tensor", cprint_tensor(&x->cp, o->read->tensor)),
              FILL("at", cprint_element(&x->cp, o->read->tensor, o->offset)));
    cprint_close(&x->cp, scope);
    return QUOTE(
        a,
        "auto load_@id = [&](int step, int slot) {\n"
        "    for (int i = threadIdx.x; i < @rows * BD / @vec; i += THREADS) {\n"
        "        const int row = i / (BD / @vec);\n"
        "        const int col = i % (BD / @vec) * @vec;\n"
        "        const int @number = @line, k = step * BD + col;\n"
        "        @DIGITS\n"
        "        @COPY\n"
        "    }\n"
        "};\n",
        FILL("id", id), FILL("rows", rows), FILL_INT("vec", vec),
        FILL("number", side->name), FILL("line", line),
        FILL_TREE("DIGITS", digits), FILL_TREE("COPY", copy));
}

/* The elements of one copy: of whole runs of the fastest term. */
static int copy_of(const Contract *x, const Load *l)
{
    int vec = l->k_vec;

    while (x->c.k[x->c.n_k - 1]->extent % vec)
        vec /= 2;
    return vec;
}

Tree *window_product_load(ContractBuild *x, const WindowForm *f,
                          const WindowPlan *w)
{
    const Contract *p = f->product;
    const Tile *t = &x->p->t;
    Tree *all = tree_list(x->g->arena);

    tree_add(all,
             put_slot(x, f, &p->c.a, rows_id(x, f), "BM", &f->c.m,
                      f->c.c.M % t->bm ? "min(m0 + row, M - 1)" : "m0 + row",
                      copy_of(p, &p->a), w));
    tree_add(all, put_slot(x, f, &p->c.b, columns_id(x, f), "BK", &p->n,
                           f->c.c.K % t->bk ? "min(row, K - 1)" : "row",
                           copy_of(p, &p->b), w));
    return all;
}

Tree *window_product_ahead(ContractBuild *x, const WindowForm *f, bool made)
{
    Arena *a = x->g->arena;
    bool constant = kernel_reads_constants(f->product->c.b.e);
    Tree *load = tree_list(a);

    if (made == constant)
        PUT(load, "load_@id(s, s);\n", FILL("id", columns_id(x, f)));
    if (!made)
        PUT(load,
            "load_@id(s, s);\n"
            "dcc_cp_commit();\n",
            FILL("id", rows_id(x, f)));
    if (!load->n_item)
        return load;
    return QUOTE(a,
                 "for (int s = 0; s < STAGES - 1; ++s) {\n"
                 "    @LOAD\n"
                 "}\n",
                 FILL_TREE("LOAD", load));
}

/* The first product's steps, written out down to its sum. */
static const Expr *from_sum(Graph *g, const Expr *e, void *ctx)
{
    const Group *first = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    if (first->step[e->local].op != R_NONE)
        return expr_local(g, THE_SUM, T_F32);
    return expr_rewrite(g, first->step[e->local].value, from_sum, ctx);
}

static const Expr *value_of(const WindowForm *f)
{
    Graph *g = f->c.g;

    for (int i = 0; i < f->first->n_step; i++)
        if (f->first->step[i].tensor == f->made)
            return from_sum(g, expr_local(g, i, T_F32), (void *)f->first);
    return NULL;
}

/* The row's number and variables, if e has any of them. */
static Tree *put_row(ContractBuild *x, const WindowForm *f, const Expr *e)
{
    Arena *a = x->g->arena;
    const Side *m = &f->c.m;
    const Operand of = {.e = e};
    const Load l = {.op = &of};
    Tree *digits = tree_list(a);
    bool any = false;

    for (int i = 0; i < m->n; i++)
        any |= expr_uses(e, m->v[i]);
    contract_digits(x, digits, m, &l, "m");
    if (!any)
        return tree_list(a);
    return QUOTE(
        a,
        "const int m = @m;\n"
        "@DIGITS\n",
        FILL("m", m->extent % x->p->t.bm ? "min(m0 + row, M - 1)" : "m0 + row"),
        FILL_TREE("DIGITS", digits));
}

/* The sums become what the second product multiplies. */
static Tree *put_values(ContractBuild *x, const WindowForm *f, const char *tile)
{
    Arena *a = x->g->arena;
    const Expr *e = value_of(f);
    CScope scope = cprint_open(&x->cp);
    Tree *body = tree_list(a), *beyond = tree_list(a);
    const char *k = cprint_var(&x->cp, f->along);
    Tree *row = put_row(x, f, e);

    x->cp.local[THE_SUM] = "sum";
    const char *text = cprint_bind(body, &x->cp, e, NULL);
    cprint_close(&x->cp, scope);
    if (f->c.c.K % x->p->t.bk)
        PUT(beyond,
            "if (@k >= K)\n"
            "    return 0.0f;\n",
            FILL("k", k));
    return QUOTE(a,
                 "dcc_put_factors(smem.@tile, mid_m, mid_n, mid, "
                 "[&](float sum, int row, int @k) {\n"
                 "    @BEYOND\n"
                 "    @ROW\n"
                 "    @BODY\n"
                 "    return @value;\n"
                 "});\n",
                 FILL("tile", tile), FILL("k", k), FILL("value", text),
                 FILL_TREE("BEYOND", beyond), FILL_TREE("ROW", row),
                 FILL_TREE("BODY", body));
}

Tree *window_product(ContractBuild *x, const WindowForm *f, const char *tile)
{
    bool bf16 = x->f->elem == T_BF16;

    return TEMPLATE(
        x->g->arena, "chain_window_product.cu.in", FILL("NAME", f->made->name),
        FILL("ROWS", rows_id(x, f)), FILL("COLUMNS", columns_id(x, f)),
        FILL("MMA", bf16 ? "dcc_mma_m16n8k16_bf16" : "dcc_mma_m16n8k16_f16"),
        FILL_TREE("VALUES", put_values(x, f, tile)));
}
