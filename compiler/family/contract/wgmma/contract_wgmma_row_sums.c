#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <string.h>

/* Sums over pieces of a tile's rows, of each column. A thread has 8
 * neighbouring columns of two rows of 16; lanes add up a warp's, when all rows
 * of these columns are done, and 128 threads those of a piece's warps, by way
 * of shared memory, behind the epilogue. */

enum { COLUMNS = 8, LINE = 32 /* of four lanes */, WARP_ROWS = 16 };

static const Pieces *pieces_of(const WgmmaForm *f)
{
    const Pieces *p = f->x.gr->pieces;

    return p && p->down ? p : NULL;
}

const char *wgmma_check_row_sums(const WgmmaForm *f)
{
    if (wgmma_result_bytes(&f->x) != 2 ||
        contract_columns(&f->x, COLUMNS) != COLUMNS)
        return "sums of results that are no vectors of 16 bits";
    if (f->x.terms == 3)
        return "sums over the rows of 3xtf32";
    return f->tma.n.n == 1 ? NULL : "columns that are no number";
}

bool wgmma_has_row_sums(const Wgmma *w)
{
    return !w->x.patch && !w->x.apart && w->x.t.split == 1 && w->parts == 1 &&
           w->cluster == 1 && w->f->x.c.N % w->x.t.bn == 0 &&
           w->x.t.bn % LINE == 0 && !w->pack &&
           (!w->deal || w->deal == COLUMNS);
}

size_t wgmma_row_sum_bytes(const WgmmaForm *f, int rows, int bn)
{
    const Pieces *p = pieces_of(f);

    return p ? (size_t)(rows / WARP_ROWS * p->n_step * bn) * sizeof(float) : 0;
}

void wgmma_row_sum_field(WgmmaBuild *w)
{
    const Pieces *p = pieces_of(w->f);

    if (p)
        kernel_smem(w->x.g, w->x.kernel, 16,
                    arena_printf(w->x.g->arena,
                                 "float row_sums[CONSUMERS][WM / 64][4][%d]"
                                 "[BN]",
                                 p->n_step),
                    "of 16 rows");
}

/* The number of the squares about the mean of sum i; 0: there are none. */
static int squares_of(const Pieces *p, int i)
{
    for (int k = i + 1; k < p->n_step; k++)
        if (p->about[k] == i)
            return k;
    return 0;
}

double wgmma_row_sum_ops(const WgmmaForm *f)
{
    enum { SUM = 3, MOMENTS = 8 };
    const Pieces *p = pieces_of(f);
    double ops = 0;

    for (int i = 0; i < p->n_step; i++)
        if (p->about[i] < 0)
            ops += squares_of(p, i) ? MOMENTS : SUM;
    return ops;
}

/* Of what a line's columns of two rows are, moments' squares, and where one
 * goes. */
int wgmma_row_sum_regs(const WgmmaForm *f)
{
    enum { PLACE = 4 };
    const Pieces *p = pieces_of(f);
    int regs = 0;

    for (int i = 0; p && i < p->n_step; i++)
        regs += (p->about[i] < 0 ? 2 * COLUMNS : COLUMNS) + PLACE;
    return regs;
}

/* ---- text ---------------------------------------------------------------- */

static const char *called(const Step *s)
{
    const char *id = step_called(s);

    return id ? id : "sum";
}

void wgmma_row_sums_open(WgmmaBuild *w)
{
    const Pieces *p = pieces_of(w->f);
    ContractBuild *x = &w->x;

    for (int i = 0; p && i < p->n_step; i++)
        if (p->about[i] < 0)
            x->rows_of[p->step[i].value->local] =
                cprint_fresh(&x->cp, arena_printf(x->g->arena, "%s_rows",
                                                  called(&p->step[i])));
}

static const char *rows_of(const WgmmaBuild *w, int i)
{
    return w->x.rows_of[pieces_of(w->f)->step[i].value->local];
}

static bool cut_rows(const WgmmaBuild *w)
{
    return w->x.f->c.M % w->x.p->t.bm != 0;
}

void wgmma_row_sums_begin(WgmmaBuild *w, Tree *b)
{
    const Pieces *p = pieces_of(w->f);
    const char *names = "";

    for (int i = 0; p && i < p->n_step; i++)
        if (p->about[i] < 0)
            names = arena_printf(b->arena, "%s%s%s[WM / 32][8]%s", names,
                                 *names ? ", " : "", rows_of(w, i),
                                 cut_rows(w) ? " = {}" : "");
    if (p)
        PUT(b, "float @names;\n", FILL("names", names));
}

static const char *group_text(const WgmmaBuild *w)
{
    return w->p->consumers > 1 ? "warpgroup" : "0";
}

void wgmma_row_sums_lanes(WgmmaBuild *w, Tree *b)
{
    const Pieces *p = pieces_of(w->f);
    Tree *in = tree_list(b->arena);

    if (!p)
        return;
    for (int i = 0; i < p->n_step; i++)
        if (p->about[i] < 0)
            PUT(in,
                squares_of(p, i)
                    ? "dcc_leave_moments(left[@i], left[@k], j, @id, i);\n"
                    : "dcc_leave_sum(left[@i], j, @id, i);\n",
                FILL("id", rows_of(w, i)), FILL_INT("i", i),
                FILL_INT("k", squares_of(p, i)));
    PUT(b,
        "#pragma unroll\n"
        "for (int i = 0; i < WM / 64; ++i) {\n"
        "    auto &left = smem.row_sums[@group][i][warp];\n"
        "    @IN\n"
        "}\n",
        FILL("group", group_text(w)), FILL_TREE("IN", in));
}

/* Where a piece's column is in the sums' tensor s->tensor. */
static const char *place_of(WgmmaBuild *w, const Step *s)
{
    ContractBuild *x = &w->x;
    const Idx *at = tensor_offset(x->g, s->tensor, s->store);

    return cprint_element(&x->cp, s->tensor,
                          idx_subst(x->g->pool, at, x->f->m.sub, x->f->m.n));
}

/* Of one column, what the warps of a piece have. */
static Tree *stores(WgmmaBuild *w)
{
    const Pieces *p = pieces_of(w->f);
    CPrint *cp = &w->x.cp;
    Tree *b = tree_list(w->x.g->arena);
    CScope scope = cprint_open(cp);
    const char *before = "";

    cprint_name(cp, w->x.f->m.linear, "m");
    cprint_name(cp, p->along, "n");
    for (int i = 0; i < p->n_step; i++) {
        const Step *s = &p->step[i];
        const char *at = place_of(w, s);
        if (strcmp(at, before))
            PUT(b, *before ? "to = @at;\n" : "int to = @at;\n", FILL("at", at));
        before = at;
        PUT(b,
            p->about[i] < 0
                ? "@tensor[to] = dcc_warps_sum<@warps>(left, @i, col);\n"
                : "@tensor[to] = dcc_warps_squares<@warps>(left, @about, @i, "
                  "col);\n",
            FILL("tensor", cprint_tensor(cp, s->tensor)),
            FILL_INT("warps", p->size / WARP_ROWS),
            FILL_INT("about", p->about[i]), FILL_INT("i", i));
    }
    cprint_close(cp, scope);
    return b;
}

void wgmma_row_sums(WgmmaBuild *w, Tree *b)
{
    const Pieces *p = pieces_of(w->f);
    const char *rows =
        cut_rows(w) ? arena_printf(b->arena, "min(M - m0%s%s, WM)",
                                   *wgmma_top(w->p) ? " - " : "",
                                   *wgmma_top(w->p) ? "warpgroup * WM" : "")
                    : "WM";

    if (!p)
        return;
    PUT(b,
        "// Of each column, sums over pieces of @size rows.\n"
        "dcc_barrier_sync(@barrier, 128);\n"
        "for (int at = threadIdx.x % 128; at < BN * (@rows / @size); "
        "at += 128) {\n"
        "    const int piece = at / BN, col = at % BN;\n"
        "    const auto *left = &smem.row_sums[@group][0][piece * @warps];\n"
        "    const int m = m0 + @top@piece * @size, n = n0 + col;\n"
        "    @STORES\n"
        "}\n"
        "dcc_barrier_sync(@barrier, 128);\n",
        FILL("barrier", w->p->consumers > 1 ? "4 + warpgroup" : "4"),
        FILL("group", group_text(w)), FILL_INT("size", p->size),
        FILL("rows", rows), FILL_INT("warps", p->size / WARP_ROWS),
        FILL("top", wgmma_top(w->p)), FILL_TREE("STORES", stores(w)));
}
