#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <math.h>
#include <string.h>

/* Contractions by wgmma on sm_90a: which, and in what variants. The plan is
 * contract_wgmma_plan.c's, the text contract_wgmma_build.c's. */

static const WgmmaShape shapes[] = {
    {256, 192, 2, false}, {256, 160, 2, false}, {256, 128, 2, false},
    {256, 96, 2, false},  {128, 256, 2, false}, {128, 224, 2, false},
    {128, 192, 2, false}, {128, 160, 2, false}, {128, 128, 2, false},
    {128, 96, 2, false},  {256, 64, 2, false},  {128, 64, 2, false},
    {256, 32, 2, false},  {128, 32, 2, false},
    {192, 192, 3, false}, {192, 160, 3, false}, {192, 128, 3, false},
    {192, 96, 3, false},  {192, 64, 3, false},
    {64, 256, 1, false},  {64, 192, 1, false},  {64, 128, 1, false},
    {64, 96, 1, false},   {64, 64, 1, false},   {64, 32, 1, false},
    {128, 128, 2, true},  {128, 96, 2, true},   {128, 64, 2, true},
    {64, 256, 2, true},   {64, 192, 2, true},   {64, 128, 2, true},
    {64, 96, 2, true},    {64, 64, 2, true},
    /* finer ones, where they are dealt out better */
    {256, 176, 2, false}, {256, 144, 2, false}, {256, 112, 2, false},
    {128, 240, 2, false}, {128, 208, 2, false}, {128, 176, 2, false},
    {128, 144, 2, false}, {128, 112, 2, false}, {128, 80, 2, false},
    {192, 176, 3, false}, {192, 144, 3, false}, {192, 112, 3, false},
    {192, 80, 3, false},  {192, 48, 3, false},  {128, 48, 2, false},
    {64, 176, 1, false},  {64, 144, 1, false},  {64, 112, 1, false},
    {64, 80, 1, false},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Of sums in parts, or of rows that are columns of the result: whole tiles of
 * others took longer by them. */
static const WgmmaShape part_shapes[] = {
    {64, 240, 1, false}, {64, 224, 1, false}, {64, 208, 1, false},
    {64, 160, 1, false},
};
enum { N_PART_SHAPES = sizeof part_shapes / sizeof *part_shapes };

/* Of weights that one row of tiles reads: turned they took longer. */
static const WgmmaShape few_shapes[] = {{64, 48, 1, false}};
enum { N_FEW_SHAPES = sizeof few_shapes / sizeof *few_shapes };

/* Of eights that are no sixteens: of rows that are columns of the result. */
static const WgmmaShape odd_shapes[] = {
    {256, 184, 2, false}, {256, 168, 2, false}, {256, 152, 2, false},
    {256, 136, 2, false}, {256, 120, 2, false}, {256, 104, 2, false},
    {256, 88, 2, false},  {128, 248, 2, false}, {128, 232, 2, false},
    {128, 216, 2, false}, {128, 200, 2, false}, {128, 184, 2, false},
    {128, 168, 2, false}, {128, 152, 2, false}, {128, 136, 2, false},
    {128, 120, 2, false}, {128, 104, 2, false}, {128, 88, 2, false},
    {128, 72, 2, false},  {192, 200, 3, false}, {192, 184, 3, false},
    {192, 168, 3, false}, {192, 152, 3, false}, {192, 136, 3, false},
    {192, 120, 3, false}, {192, 104, 3, false}, {192, 88, 3, false},
    {192, 72, 3, false},  {64, 248, 1, false},  {64, 232, 1, false},
    {64, 216, 1, false},  {64, 200, 1, false},
    {64, 184, 1, false},  {64, 168, 1, false},  {64, 152, 1, false},
    {64, 136, 1, false},  {64, 120, 1, false},  {64, 104, 1, false},
    {64, 88, 1, false},   {64, 72, 1, false},
};
enum { N_ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

/* ---- which groups ------------------------------------------------------ */

const char *wgmma_check_types(Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    if (x->acc != T_F32)
        return "integers are summed";
    if (a != b)
        return "factors of different element types";
    bool are = contract_is_tf32(&x->c.a) && contract_is_tf32(&x->c.b);
    bool tf32 = a == T_F32 && (are || x->o->math != MATH_EXACT);
    x->terms = tf32 && !are && x->o->math == MATH_3XTF32 ? 3 : 1;
    if (a != T_F16 && a != T_BF16 && !tf32)
        return "factors that are not exact in f16 or bf16";
    if (x->c.M < 8 || x->c.N < 8 || x->c.K < 8)
        return "fewer than 8 rows, columns or terms";
    x->elem = a;
    x->mma = true;
    return NULL;
}

static bool uses_side(const Side *s, const Expr *e)
{
    for (int i = 0; i < s->n; i++)
        if (expr_uses(e, s->v[i]))
            return true;
    return false;
}

static bool gathers(const Expr *e)
{
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_has_data(e->at[d]))
            return true;
    return false;
}

/* A read of the epilogue: what belongs to columns stays while the rows go by,
 * what belongs to rows and columns is asked for some rows ahead, unless data
 * say where it is. */
static void count_read(const Expr *e, void *ctx)
{
    WgmmaForm *f = ctx;
    bool wide = e->kind == E_READ && type_bytes(e->type) == 4;

    if (e->kind != E_READ)
        return;
    bool rows = uses_side(&f->x.m, e), columns = uses_side(&f->x.n, e);
    int regs = rows && columns && !gathers(e)   ? (wide ? 32 : 16)
               : rows || (wide && columns) ? 8
                                           : 0;
    f->rows_read |= rows;
    f->reads_regs += regs;
    f->row_reads += rows && columns;
    f->columns_read |= columns && !rows;
    if (wgmma_is_input(f, e->tensor))
        return;
    f->more_rows_read |= rows;
    f->more_reads_regs += regs;
}

/* Of what another step stores, in another type, maybe as a cast. */
static bool is_copy(const Group *gr, const Step *s)
{
    const Expr *e = expr_strip(s->value);
    const Tensor *other = e->kind == E_LOCAL ? gr->step[e->local].tensor
                                             : NULL;

    return s->tensor && other && other->type != s->tensor->type;
}

/* And of several results (queries, keys, values) a piece of each is there at
 * once, with what belongs to its columns and where it goes, but of one that is
 * another's copy (a parameter's next value in 16 bits) nothing more; beside
 * them what corrects the sums of a norm, for 16 columns. */
void wgmma_count_reads(WgmmaForm *f, const Group *gr)
{
    enum { PIECE = 4, COLUMNS = 4, PLACE = 8, CORRECTION = 32 };
    bool folds = gr->merge && gr->merge->fold;
    int results = 0;

    f->reads_regs = f->more_reads_regs = 0;
    f->rows_read = f->more_rows_read = false;
    f->row_reads = 0;
    f->columns_read = false;
    for (int i = 0; i < gr->n_step; i++) {
        if (gr->step[i].op != R_NONE || gr->step[i].over_cols)
            continue;
        expr_visit(gr->step[i].value, count_read, f);
        results += gr->step[i].tensor && !is_copy(gr, &gr->step[i]);
    }
    f->more_regs = results < 2 ? 0
                               : (results - 1) * (PIECE + COLUMNS + PLACE) +
                                     (folds ? CORRECTION : 0);
    f->more_regs += wgmma_row_sum_regs(f);
}

/* Steps that meet a range multiply nothing out of it. */
static void drop_range(WgmmaForm *f)
{
    Guard in;

    if (!f->x.c.range || !expr_as_guard(f->x.g, f->x.c.range->arg[0], &in))
        return;
    for (int i = 0; i < in.n; i++)
        if (!tma_meets(&f->tma, in.cond[i]))
            return;
    f->x.c.range = NULL;
}

static const char *open_wgmma(WgmmaForm *f, Graph *g, const Group *gr,
                              const Options *o)
{
    const char *why = NULL;

    if (o->device->sm != 90)
        return "needs sm_90a";
    if (!contract_open(&f->x, g, gr, o, &why))
        return why;
    if ((why = wgmma_check_types(&f->x)) || (why = wgmma_find_rows(f)) ||
        (why = tma_open(&f->tma, &f->x)) || (why = wgmma_check_rows(f)) ||
        (why = wgmma_check_fold(f)) ||
        (why = wgmma_check_pieces(f)) || (why = wgmma_check_factor(f)))
        return why;
    drop_range(f);
    if (f->x.terms == 1 && !f->pre)
        tma_pair(&f->tma);
    /* a sum, a difference and its square; lanes' sums */
    if (gr->pieces && gr->pieces->down)
        f->x.ops += wgmma_row_sum_ops(f);
    else if (gr->pieces && !gr->pieces->reduced)
        f->x.ops += 2.5 * gr->pieces->n_step;
    if (f->x.elem == T_F32 && f->x.terms == 1 &&
        !(f->tma.a.k_major && f->tma.b.k_major))
        return "tf32 factors that are not contiguous along the sum";
    f->packs = contract_packs(&f->x);
    int most = wgmma_columns(&f->x);
    f->deals = 0;
    if (contract_columns(&f->x, most) == most &&
        (f->tma.b.k_major
             ? tma_deals(&f->tma, &f->tma.b, &f->tma.n.axis[0], most)
             : wgmma_turns_b(f)))
        f->deals = most;
    wgmma_find_plane(f);
    wgmma_find_inputs(f);
    wgmma_count_reads(f, gr);
    return NULL;
}

const void *wgmma_open(Graph *g, const Group *gr, const Options *o,
                       const char **why)
{
    WgmmaForm *f = arena_new_of(g->arena, WgmmaForm);

    *why = open_wgmma(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants ---------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

const char *wgmma_text(const void *form, const Variant *v)
{
    const Graph *g = ((const WgmmaForm *)form)->x.g;
    const int *k = v->knob;

    return arena_printf(g->arena,
                        "bm=%d bn=%d stages=%d consumers=%d schedule=%s "
                        "cluster=%d split=%d%s%s",
                        k[KNOB_BM], k[KNOB_BN], k[KNOB_STAGES],
                        k[KNOB_CONSUMERS],
                        k[KNOB_PINGPONG] ? "pingpong" : "cooperative",
                        k[KNOB_CLUSTER], k[KNOB_SPLIT],
                        k[KNOB_PARTS] == 1
                            ? ""
                            : arena_printf(g->arena, " parts=%d",
                                           k[KNOB_PARTS]),
                        k[KNOB_BESIDE] == 1 ? ""
                        : k[KNOB_BESIDE] == k[KNOB_CLUSTER]
                            ? " across"
                            : arena_printf(g->arena, " across=%d",
                                           k[KNOB_BESIDE]));
}

/* Whether no block has a second tile. */
static bool one_each(const WgmmaForm *f, int64_t tiles)
{
    return tiles <= f->x.o->device->sms;
}

/* Columns, or of many rows their products, that the fullest SM has. */
static int64_t most_columns(const WgmmaForm *f, int64_t m_tiles, int bn,
                            int sms)
{
    int64_t tiles = m_tiles * ceil_div(f->x.c.N, bn);

    return ceil_div(tiles, sms) * bn;
}

/* Whether tiles of so many columns, which are no whole number of lines of the
 * results, leave the fullest SM less than those a little narrower or wider. */
static bool fits_better(const WgmmaForm *f, const WgmmaShape *s, int sms)
{
    int64_t m_tiles = tma_patch(&f->tma, s->bm).tiles * f->x.c.batches;
    int64_t own = most_columns(f, m_tiles, s->bn, sms);
    int step = s->bn % 16 ? 8 : 16;

    /* narrow tiles of many rows wait for copies, however they are dealt */
    return (wgmma_simple(f) || f->turned) && (s->bm > 64 || m_tiles == 1) &&
           own < most_columns(f, m_tiles, s->bn - step, sms) &&
           own < most_columns(f, m_tiles, s->bn + step, sms);
}

/* Whether no narrower ones, of eights, cover the columns in as many tiles. */
static bool covers(const WgmmaForm *f, const WgmmaShape *s)
{
    enum { EIGHT = 8 };
    int64_t columns = f->x.c.N, tiles = ceil_div(columns, s->bn);

    return s->bn - EIGHT < ceil_div(columns, tiles);
}

/* Tiles of which half would do are left out. */
static bool sensible(const WgmmaForm *f, const WgmmaShape *s)
{
    if (s->bm > 64 && s->bm / 2 >= f->x.c.M)
        return false;
    if (s->bn % 32 && !(f->turned && covers(f, s)) &&
        !fits_better(f, s, f->x.o->device->sms) &&
        !fits_better(f, s, f->x.o->device->cluster_sms))
        return false;
    return s->bn <= 32 || s->bn / 2 < f->x.c.N;
}

typedef struct Space {
    const WgmmaForm *form;
    Variant *v;
    int n, most;
} Space;

static void add_cluster(Space *s, const WgmmaShape *sh, int stages, int cluster,
                        int split, int parts, int beside)
{
    Variant *v = &s->v[s->n];
    Wgmma w;

    if (s->n == s->most || stages < 2)
        return;
    *v = (Variant){.knob = {sh->bm, sh->bn, stages, sh->consumers, sh->pingpong,
                            cluster, split, parts, beside}};
    if (wgmma_plan(&w, s->form, v))
        return;
    s->n++;
}

static void add_variant(Space *s, const WgmmaShape *sh, int stages, int cluster,
                        int split, int parts)
{
    add_cluster(s, sh, stages, cluster, split, parts, 1);
}

/* Parts of a long sum, of which a block has one and the last one of a tile adds
 * all up, for as many blocks as SMs hold or half as many. */
static void add_parts(Space *s, const WgmmaShape *sh, int blocks, int split,
                      int64_t tiles)
{
    enum { STEPS = 8 }; /* of a part, at least */
    const Device *d = s->form->x.o->device;
    int sms = split > 2 && d->cluster_sms ? d->cluster_sms : d->sms;
    int64_t most = tma_k_tiles(&s->form->tma) / (STEPS * split);
    int64_t parts = sms * blocks / (tiles * split);

    if (sh->pingpong || s->form->x.gr->merge || s->form->x.gr->pieces ||
        s->form->x.gr->factor_sum ||
        s->form->pre || (s->form->x.terms == 3 && !wgmma_turns_b(s->form)))
        return;
    if (parts > most)
        parts = most;
    for (int i = 0; i < 2 && parts >= 2; i++, parts /= 2)
        add_variant(s, sh,
                    wgmma_stages(s->form, sh, blocks, split, (int)parts, tiles),
                    1, split, (int)parts);
}

/* Clusters that share rows of a, and columns of b or not: of tiles of several
 * warpgroups, whose copies take the time: as rows are no whole lines, or as
 * there are few rows, which all blocks read. */
static void add_clusters(Space *s, const WgmmaShape *sh, int stages)
{
    const Tma *t = &s->form->tma;
    bool lines = tma_off(&t->a, L2_LINE) || tma_off(&t->b, L2_LINE);
    bool lone = tma_patch(t, sh->bm).tiles == 1;
    bool simple = wgmma_simple(s->form) || s->form->turned;

    if (sh->consumers == 1 || !(lines || lone) || !simple ||
        tma_k_tiles(t) <= stages)
        return;
    for (int below = 1; below <= (lone ? 1 : 2); below *= 2)
        for (int beside = 2; beside <= 4; beside *= 2)
            add_cluster(s, sh, stages, beside * below, 1, 1, beside);
}

/* All of one, or if not `whole` those in parts alone. */
static void add_shape(Space *s, const WgmmaShape *sh, bool whole)
{
    int64_t tiles = tma_patch(&s->form->tma, sh->bm).tiles *
                    ceil_div(s->form->x.c.N, sh->bn) * s->form->x.c.batches;
    int sms = s->form->x.o->device->sms;
    /* copies take the time: more blocks share them */
    bool off = tma_off(&s->form->tma.a, L2_SECTOR) ||
               tma_off(&s->form->tma.b, L2_SECTOR);

    /* nothing to take turns at; and rows are computed beside the products of
       others better than one's own */
    if (sh->pingpong && (one_each(s->form, tiles) || s->form->pre))
        return;
    /* nvcc spills what corrects so many sums of a row, or of a thread */
    if (s->form->x.gr->merge &&
        ((sh->pingpong && sh->bn > 128) ||
         sh->bm / sh->consumers * sh->bn > 128 * 128))
        return;
    for (int split = 1; split <= WGMMA_MOST_SPLIT; split *= 2) {
        int last = 0;
        /* those of a norm would each merge the rows' pieces */
        if (split > 1 && (tiles * split > 2 * sms || s->form->x.gr->merge))
            break;
        for (int blocks = 1; blocks <= (sh->consumers == 1 ? 3 : 1); blocks++) {
            int stages = wgmma_stages(s->form, sh, blocks, split, 1, tiles);
            add_parts(s, sh, blocks, split, tiles);
            if (stages == last || !whole)
                continue;
            last = stages;
            if (split == 1 && blocks == 1)
                add_variant(s, sh, wgmma_deeper(s->form, sh, tiles), 1, 1, 1);
            if (split == 1)
                add_variant(s, sh, stages, 2, 1, 1);
            if (split == 1)
                add_clusters(s, sh, stages);
            if (split == 1 && off)
                add_variant(s, sh, stages, 4, 1, 1);
            add_variant(s, sh, stages, 1, split, 1);
        }
    }
}

int wgmma_space(const void *form, Variant **out)
{
    enum { MOST = 1200 };
    Graph *g = ((const WgmmaForm *)form)->x.g;
    Variant all[MOST];
    Space s = {.form = form, .v = all, .most = MOST};

    for (int i = 0; i < N_SHAPES; i++)
        if (sensible(form, &shapes[i]))
            add_shape(&s, &shapes[i], true);
    for (int i = 0; i < N_PART_SHAPES; i++)
        if (sensible(form, &part_shapes[i]))
            add_shape(&s, &part_shapes[i], s.form->turned);
    for (int i = 0; !s.form->turned && i < N_FEW_SHAPES; i++)
        if (sensible(form, &few_shapes[i]))
            add_shape(&s, &few_shapes[i], true);
    for (int i = 0; s.form->turned && i < N_ODD_SHAPES; i++)
        if (sensible(form, &odd_shapes[i]))
            add_shape(&s, &odd_shapes[i], true);
    *out = family_variants(g->arena, all, s.n);
    return s.n;
}
