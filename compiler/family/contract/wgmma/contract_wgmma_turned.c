/* contract_wgmma_turned.c - products whose rows are columns of the result: of
 * wgmma's sides one comes in pieces of 64, the other one of 8, which fits rows
 * of any number. Boxes of the result are turned on their way to memory. */
#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

/* Rows that tiles of 64 fit are not turned: it would gain little. Fewer than
 * one tile's are others', whose weights stream by. */
static bool is_ragged(const Contraction *c)
{
    return c->M > WGMMA_M && c->M % WGMMA_M != 0;
}

static const char *open_turned(WgmmaForm *f, Graph *g, const Group *gr,
                               const Options *o)
{
    Contract *x = &f->x;
    const char *why = NULL;

    if (o->device->sm != 90)
        return "needs sm_90a";
    if (!contract_open(x, g, gr, o, &why))
        return why;
    if ((why = wgmma_check_types(x)))
        return why;
    if (!x->c.a.read || !x->c.b.read)
        return "a factor that is computed";
    if (!is_ragged(&x->c))
        return "rows that are whole tiles, or few";
    f->packs = contract_packs(x);
    if (x->terms != 1 || gr->merge || gr->pieces || x->c.range || x->n_bound ||
        x->c.parts > 1 || guard_truth(x->needed) != ALWAYS)
        return "a result of which parts are left out, or more is asked";
    wgmma_find_plane(f);
    if (!f->plane.tensor || f->plane.run)
        return "results that are no plane of 16 bits";
    contract_turn(x);
    if ((why = tma_open(&f->tma, x)))
        return why;
    if (f->tma.m.n != 1 || f->tma.a.slides || f->tma.b.slides ||
        f->tma.taps.n || f->tma.a.run || f->tma.b.run)
        return "rows that are no one number";
    if (x->elem == T_F32 && !(f->tma.a.k_major && f->tma.b.k_major))
        return "tf32 factors that are not contiguous along the sum";
    wgmma_count_reads(f, gr);
    f->rows_read = false; /* a thread has two rows, for all of its columns */
    f->turned = true;
    return NULL;
}

const void *wgmma_open_turned(Graph *g, const Group *gr, const Options *o,
                              const char **why)
{
    WgmmaForm *f = arena_new_of(g->arena, WgmmaForm);

    *why = open_turned(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

bool wgmma_overlaps_columns(const Wgmma *w)
{
    const Contract *x = &w->f->x;
    int bn = w->x.t.bn;

    return w->f->turned && w->beside == 1 && x->c.N > bn && x->c.N % bn &&
           (w->f->tma.b.k_major || x->c.N * type_bytes(x->elem) % 16 == 0);
}

bool wgmma_turned_overlaps(int bn)
{
    return bn % WGMMA_BOX != 0;
}

Tree *wgmma_turned_code(WgmmaBuild *w, Tree *pairs)
{
    bool rows = !w->p->pingpong && w->p->consumers > 1;
    bool overlap = wgmma_turned_overlaps(w->x.p->t.bn);
    const Kernel *k = w->x.kernel;
    Tree *first = tree_list(w->x.g->arena);

    if (overlap)
        PUT(first, "// the last box ends with the tile\n"
                   "const int first = dcc_min(j * 16, BN - 16);\n");
    return TEMPLATE(w->x.g->arena, "contract_wgmma_turned.cu.in",
                    FILL("TOP", rows ? "warpgroup * WM" : "0"),
                    FILL("COUNT", overlap ? "(BN + 8) / 16" : "BN / 16"),
                    FILL_TREE("FIRST", first),
                    FILL("AT", overlap ? "first" : "j * 16"),
                    FILL("GROUP", w->p->consumers > 1 ? "warpgroup" : "0"),
                    FILL("MAP", k->map[k->n_map - 1].name),
                    FILL_TREE("PAIRS", pairs));
}

const Family family_contract_wgmma_turned = {
    .name = "contract_wgmma_turned",
    .version = 1,
    .open = wgmma_open_turned,
    .space = wgmma_space,
    .cost = wgmma_cost,
    .build = wgmma_build,
    .text = wgmma_text,
};
