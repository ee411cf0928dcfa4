#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <string.h>

/* Sums over pieces of a row's results, behind the epilogue: results have taken
 * their sums' place in registers, four lanes have the columns of a piece. Where
 * columns end within the tile they have registers of their own: ptxas makes all
 * products wait where some of theirs are written to and others not. */

static bool has_room(const Wgmma *w)
{
    return w->f->x.c.N % w->x.t.bn != 0;
}

const char *wgmma_check_pieces(const WgmmaForm *f)
{
    const Contract *x = &f->x;

    if (!x->gr->pieces)
        return NULL;
    if (x->gr->pieces->down)
        return wgmma_check_row_sums(f);
    if (f->tma.m.n != 1)
        return "statistics of rows that are no number";
    if (x->gr->pieces->reduced)
        return f->tma.n.n == 1 ? NULL : "columns that are no number";
    if (wgmma_result_bytes(x) != 2)
        return "statistics of results that are not of 16 bits";
    return x->terms == 3 ? "statistics of 3xtf32" : NULL;
}

bool wgmma_has_pieces(const Wgmma *w)
{
    const Pieces *p = w->f->x.gr->pieces;

    if (p->down)
        return wgmma_has_row_sums(w);
    return w->own % p->size == 0 && (!w->deal || w->deal == 8) &&
           (!p->reduced || (w->x.t.split == 1 && w->parts == 1));
}

/* Whether results are kept for sums over their rows' columns. */
static bool keeps(const WgmmaBuild *w)
{
    const Pieces *p = w->x.f->gr->pieces;

    return p && !p->reduced && !p->down;
}

const char *wgmma_keep(const WgmmaBuild *w, const char *sums, const char *sum)
{
    Arena *a = w->x.g->arena;
    const char *e = w->x.vec == 8 ? "e" : "(c * 4 + e)";

    if (!keeps(w))
        return NULL;
    if (w->p->deal || w->x.vec < 4)
        return has_room(w->p) ? arena_printf(a, "kept%s", strchr(sum, '['))
                              : sum;
    return arena_printf(a,
                        "%s[i / 2][j * 16 + %s / 2 * 4 + i %% 2 * 2 + "
                        "%s %% 2]",
                        has_room(w->p) ? "kept" : sums, e, e);
}

/* Lanes that have a piece, each as many results of it: 8 neighbours, or 2 of
 * every 8. */
static bool neighbours(const WgmmaBuild *w)
{
    return w->p->deal || w->x.vec >= 4;
}

static int lanes(const WgmmaBuild *w)
{
    return neighbours(w) ? w->x.f->gr->pieces->size / 8 : 4;
}

/* Result c of the thread's 8 of 32 columns of number q; or of its piece q. */
static const char *result(const WgmmaBuild *w, const char *sums)
{
    Arena *a = w->x.g->arena;

    sums = has_room(w->p) ? "kept" : sums;
    if (w->p->deal)
        return arena_printf(a, "%s[i][c / 2 * (BN / 8) + q * 4 + h * 2 + "
                               "c %% 2]", sums);
    return arena_printf(a, "%s[i][q * %d + c / 2 * 4 + h * 2 + c %% 2]", sums,
                        neighbours(w) ? 16 : w->x.f->gr->pieces->size / 2);
}

static void put_sum(WgmmaBuild *w, Tree *b, const Step *s, const char *id)
{
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *in = tree_list(w->x.g->arena);
    const char *value = cprint_bind(in, cp, s->value, "t");

    PUT(b,
        "const float @id = dcc_piece_sum<@results, @lanes>([&](int c) {\n"
        "    @IN\n"
        "    return @value;\n"
        "});\n",
        FILL("id", id),
        FILL_INT("results", neighbours(w) ? 8 : w->x.f->gr->pieces->size / 4),
        FILL("value", value),
        FILL_TREE("IN", in), FILL_INT("lanes", lanes(w)));
    cprint_close(cp, scope);
}

static void put_store(WgmmaBuild *w, Tree *b, const Step *s, const char *id)
{
    ContractBuild *x = &w->x;
    Graph *g = x->g;
    CPrint *cp = &x->cp;
    const Idx *at = tensor_offset(g, s->tensor, s->store);

    at = idx_subst(g->pool, at, x->f->m.sub, x->f->m.n);
    PUT(b, "@tensor[@at] = @id;\n",
        FILL("tensor", cprint_tensor(cp, s->tensor)),
        FILL("at", cprint_element(cp, s->tensor, at)), FILL("id", id));
}

/* One piece of one row. */
static void put_piece(WgmmaBuild *w, Tree *b, const char *sums)
{
    ContractBuild *x = &w->x;
    const Pieces *p = x->f->gr->pieces;
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);
    const char *local[MAX_STEPS];
    Tree *stores = tree_list(w->x.g->arena);

    memcpy(local, cp->local, sizeof local);
    cprint_name(cp, x->f->m.linear, "m");
    cprint_name(cp, p->along, "n");
    cp->local[0] = result(w, sums);
    for (int i = 0; i < p->n_step; i++) {
        const char *id = cprint_fresh(cp, "piece_sum");
        put_sum(w, b, &p->step[i], id);
        put_store(w, stores, &p->step[i], id);
        cp->local[1 + i] = id;
    }
    PUT(b,
        "if (lane % @lanes == 0@rows@@columns) {\n"
        "    @STORES\n"
        "}\n",
        FILL_INT("lanes", lanes(w)),
        FILL("rows",
             x->f->c.M % x->p->t.bm || w->p->cluster > 1 ? " && m < M" : ""),
        FILL("columns", x->f->c.N % x->p->t.bn ? " && n < N" : ""),
        FILL_TREE("STORES", stores));
    memcpy(cp->local, local, sizeof local);
    cprint_close(cp, scope);
}

/* Sums as they lie: four lanes have a row's pairs, or 8 neighbours by turns. */
void wgmma_reduced(WgmmaBuild *w, Tree *b, const char *sums)
{
    Arena *a = b->arena;
    const Pieces *p = w->x.f->gr->pieces;
    const int size = p ? p->size : 0;
    Tree *in = tree_list(a);

    if (!p || !p->reduced)
        return;
    reduced_piece(
        &w->x, in,
        &(ReducedWay){
            .lanes = 4,
            .lane = "lane",
            .beyond = w->p->cluster > 1,
            .column = w->p->deal ? "e / 8 * 32 + lane % 4 * 8 + e % 8"
                                 : "e / 2 * 8 + lane % 4 * 2 + e % 2",
            .sum = arena_printf(
                a,
                w->p->deal ? "%s[i][e %% 8 / 2 * (BN / 8) + q * %d + "
                             "e / 8 * 4 + h * 2 + e %% 2]"
                           : "%s[i][q * %d + e / 2 * 4 + h * 2 + e %% 2]",
                sums, w->p->deal ? size / 8 : size / 2)});
    PUT(b,
        "// Of each row, pieces of @size columns: 4 lanes have one.\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 64; ++i)\n"
        "    #pragma unroll\n"
        "    for (int h = 0; h < 2; ++h) {\n"
        "        const int m = m0 + @top@warp * 16 + i * 64 + h * 8 + "
        "lane / 4;\n"
        "        #pragma unroll\n"
        "        for (int q = 0; q < BN / @size; ++q) {\n"
        "            const int piece = q * @size;\n"
        "            @IN\n"
        "        }\n"
        "    }\n",
        FILL_INT("size", size), FILL("top", wgmma_top(w->p)),
        FILL_TREE("IN", in));
}

void wgmma_make_room(const WgmmaBuild *w, Tree *b)
{
    if (keeps(w) && has_room(w->p))
        PUT(b, "float kept[WM / 64][@width / 2] = {};\n",
            FILL("width", w->x.width));
}

void wgmma_pieces(WgmmaBuild *w, Tree *b, const char *sums)
{
    Tree *in = tree_list(b->arena);
    const Pieces *p = w->x.f->gr->pieces;

    if (!keeps(w))
        return;
    put_piece(w, in, sums);
    PUT(b,
        "// Of each row, sums over pieces of @size columns: @lanes lanes have "
        "them.\n"
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 64; ++i)\n"
        "    #pragma unroll\n"
        "    for (int h = 0; h < 2; ++h) {\n"
        "        const int m = m0 + @top@warp * 16 + i * 64 + h * 8 + "
        "lane / 4;\n"
        "        #pragma unroll\n"
        "        for (int q = 0; q < @width / @step; ++q) {\n"
        "            const int n = n0 + q * @step@@lane;\n"
        "            @IN\n"
        "        }\n"
        "    }\n",
        FILL_INT("size", p->size), FILL_INT("lanes", lanes(w)),
        FILL("top", wgmma_top(w->p)), FILL("width", w->x.width),
        FILL_INT("step", lanes(w) == 4 ? p->size : 32),
        FILL("lane", lanes(w) == 4 ? "" : " + lane % 4 * 8"),
        FILL_TREE("IN", in));
}
