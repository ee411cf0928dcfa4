#include "family/chain/chain_wgmma.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Planning: what a chain is to the kernel, its variants and their time. */

enum { VARIANTS = 64, MOST = 256 /* columns of a block */ };
enum { K_BJ, K_CONSUMERS, K_STAGES, K_GROUP, K_TEAMS };

/* ---- the form -------------------------------------------------------- */

/* The longest of the rows that the first product's columns do not use. */
static const Var *find_row(const ChainForm *f)
{
    const Contraction *a = &f->a.c, *b = &f->b.c;
    const Var *best = NULL;

    for (int i = 0; i < a->n_m; i++)
        if (chain_among(b->m, b->n_m, a->m[i]) &&
            (!best || a->m[i]->extent >= best->extent))
            best = a->m[i];
    return best;
}

/* All rows of a block but one are of its own: the second product's rows are
 * that one, and its batch has the others. */
static const char *make_batch(ChainForm *f)
{
    Contraction *c = &f->b.c;

    if (c->n_batch + c->n_m > MAX_RANK)
        return "more than 8 variables of one kind";
    for (int i = 0; i < c->n_m; i++)
        if (c->m[i] != f->row)
            c->batch[c->n_batch++] = c->m[i];
    c->m[0] = f->row;
    c->n_m = 1;
    c->M = f->row->extent;
    f->b.m.v = c->m;
    f->b.m.n = 1;
    f->b.m.extent = c->M;
    f->b.m.sub[0] = (Subst){f->row, idx_var(f->a.g->pool, f->b.m.linear)};
    f->batches = 1;
    for (int i = 0; i < c->n_batch; i++) {
        f->batch[f->n_batch++] = c->batch[i];
        f->batches *= c->batch[i]->extent;
    }
    c->batches = f->batches;
    return f->batches > (1 << 24) ? "more than 2^24 independent rows" : NULL;
}

/* The columns of a first product are f->col alone: of heads that share its
 * rows, as their keys, its batch has those that the columns are of, too. */
static const char *keep_column(const ChainForm *f, Contract *x)
{
    Contraction *c = &x->c;
    bool found = false;

    for (int i = 0; i < c->n_n; i++) {
        const Var *v = c->n[i];
        found |= v == f->col;
        if (v == f->col)
            continue;
        if (!chain_among(f->batch, f->n_batch, v) || c->n_batch == MAX_RANK)
            return "columns that are not one number";
        c->batch[c->n_batch++] = v;
        c->batches *= v->extent;
        c->N /= v->extent;
    }
    if (!found)
        return "columns that are not one number";
    c->n[0] = f->col;
    c->n_n = 1;
    return NULL;
}

static Type factor_type(const Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    return a == b && (a == T_F16 || a == T_BF16) ? a : T_F32;
}

static const Axis *axis_of(const Axes *side, const Var *v)
{
    for (int i = 0; i < side->n; i++)
        if (side->axis[i].v[side->axis[i].n - 1] == v)
            return &side->axis[i];
    return NULL;
}

static const char *check_other(ChainForm *f)
{
    const char *why = tma_open(&f->to, &f->o);
    const Tma *t = &f->to;

    if (why)
        return why;
    if (t->k.n != 1 || t->n.n != 1 || t->n.axis[0].n != 1 ||
        t->n.axis[0].v[0] != f->col)
        return "columns that are not one number";
    if (!t->a.k_major || !t->b.k_major)
        return "factors of the scores that do not lie along their sum";
    return axis_of(&t->m, f->row) ? NULL : "rows in another order";
}

static const char *check_maps(ChainForm *f)
{
    const char *why = tma_open(&f->ta, &f->a);

    if (!why)
        why = tma_open(&f->tb, &f->b);
    if (why)
        return why;
    if (f->ta.k.n != 1 || f->tb.k.n != 1 || f->ta.n.n != 1 ||
        f->ta.n.axis[0].n != 1 || f->ta.n.axis[0].v[0] != f->col ||
        f->tb.n.n != 1)
        return "columns that are not one number";
    if (!f->ta.a.k_major || !f->ta.b.k_major)
        return "factors of the scores that do not lie along their sum";
    if (f->chain->other && (why = check_other(f)))
        return why;
    return axis_of(&f->ta.m, f->row) ? NULL : "rows in another order";
}

const char *chain_products(ChainForm *f, Graph *g, const Group *gr,
                           const Options *o)
{
    const Chain *c = gr->chain;
    const char *why = NULL;

    memset(f, 0, sizeof *f);
    f->chain = c;
    f->gr = gr;
    if (!online_derive(g, c->between, c->factor, &f->online, &why))
        return why;
    if (!contract_open(&f->a, g, c->first, o, &why) ||
        !contract_open(&f->b, g, c->second, o, &why))
        return why;
    if (c->other && !contract_open(&f->o, g, c->other, o, &why))
        return why;
    if (c->other && factor_type(&f->o) != factor_type(&f->a))
        return "factors that are not all f16 or all bf16";
    f->o.elem = f->elem = f->a.elem = factor_type(&f->a);
    f->b.elem = factor_type(&f->b);
    if (f->elem == T_F32 || f->elem != f->b.elem)
        return "factors that are not all f16 or all bf16";
    if (!f->b.c.a.read || f->b.c.a.read->tensor != c->factor)
        return "results whose rows are neighbours in memory";
    if (c->between->n_cols != 1)
        return "columns that are not one number";
    f->col = c->between->cols[0];
    f->J = f->col->extent;
    f->D = f->a.c.K;
    f->O = c->other ? f->o.c.K : 0;
    f->N = f->b.c.N;
    f->hbm = model_group_bytes(g, gr, o->device, NULL, &f->out);
    return NULL;
}

static const char *open_rows(ChainForm *f)
{
    f->row = find_row(f);
    if (!f->row)
        return "no rows";
    f->M = f->row->extent;
    return make_batch(f);
}

static const char *check_sizes(const ChainForm *f)
{
    enum { MOST = 256, ROWS = 17 };

    if (f->D > MOST || f->O > MOST || f->N > MOST)
        return "more than 256 columns of a factor";
    if (f->M < ROWS)
        return "fewer than 17 rows";
    return f->M > (1 << 24) || f->J > (1 << 24) ? "more than 2^24 rows" : NULL;
}

const char *chain_open(ChainForm *f, Graph *g, const Group *gr,
                       const Options *o)
{
    const char *why = chain_products(f, g, gr, o);

    if (!why)
        why = open_rows(f);
    if (!why)
        why = check_sizes(f);
    if (!why)
        why = keep_column(f, &f->a);
    if (!why && f->chain->other)
        why = keep_column(f, &f->o);
    if (!why)
        why = check_maps(f);
    if (!why)
        why = chain_find_rows(f);
    if (!why && f->chain->wide && !f->rows.softmax)
        why = "a factor of f32 that f16 may not hold";
    if (why)
        return why;
    f->packs = contract_packs(&f->b);
    f->share = f->rows.live.n ? needed_share(f->rows.live) : 1;
    return NULL;
}

/* Of the same rows, columns and places of scores. */
static const char *open_twin(ChainForm *f, Graph *g, const Options *o)
{
    ChainForm *t = arena_new_of(g->arena, ChainForm);
    const char *why = chain_open(t, g, f->chain->twin, o);
    bool same = t->row == f->row && t->col == f->col && t->N == f->N &&
                t->n_batch == f->n_batch;

    if (why)
        return why;
    for (int i = 0; i < f->n_batch && same; i++)
        same = t->batch[i] == f->batch[i];
    f->twin = t;
    return !same                        ? "results of other rows"
           : t->elem != f->elem         ? "factors of other types"
           : !guard_same(t->rows.live, f->rows.live)
               ? "results of other places of the scores"
           : t->rows.softmax || f->rows.softmax || t->rows.after ||
                   f->rows.after || t->rows.n_kept || f->rows.n_kept
               ? "results of the same scores with reductions"
               : NULL;
}

/* Whether b, a second product's other factor, is what x, a first one, has of
 * its columns. */
static bool is_columns(const ChainForm *f, const Contract *b, const Tma *t)
{
    const Operand *own = &b->c.b, *o = &t->x->c.b;
    IdxPool *p = f->a.g->pool;

    if (b->c.n_n != 1 || t->x->c.n_k != 1 || !own->read || !o->read ||
        own->read->tensor != o->read->tensor || own->in.n || o->in.n ||
        b->c.N != t->x->c.K)
        return false;
    Subst as = {t->x->c.k[0], idx_var(p, b->c.n[0])};
    return idx_subst(p, o->offset, &as, 1) == own->offset;
}

/* What lies in shared memory already is not copied again: of a gradient's two
 * first products, which have no turns of teams. */
static int find_tile(const ChainForm *f, const ChainForm *of)
{
    if (!f->chain->other || of->tb.b.k_major)
        return 0;
    return is_columns(f, &of->b, &f->ta)   ? CHAIN_FIRST
           : is_columns(f, &of->b, &f->to) ? CHAIN_BESIDE
                                           : 0;
}

static void find_tiles(ChainForm *f)
{
    ChainForm *twin = (ChainForm *)f->twin;

    f->lies_in = find_tile(f, f);
    if (twin)
        twin->lies_in = find_tile(f, twin);
    if (!chain_one_ring(f)) {
        f->lies_in = 0;
        if (twin)
            twin->lies_in = 0;
    }
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    ChainForm *f = arena_new_of(g->arena, ChainForm);

    *why = o->device->sm < 90 ? "needs sm_90a" : chain_open(f, g, gr, o);
    f->gr = gr;
    if (!*why && f->chain->twin)
        *why = open_twin(f, g, o);
    if (!*why) {
        chain_find_values(f);
        find_tiles(f);
    }
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants -------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* What the other team leaves: of its threads' sums, and of a softmax's two rows
 * the greatest score and the sum. */
static size_t left_bytes(const ChainKernel *w)
{
    size_t rows = w->f->rows.softmax ? 4 : 0;

    return ((size_t)w->bn / 2 + rows) * 128 * sizeof(float);
}

/* Of a block of columns of the second product's other factor. */
static size_t slot_bytes(const ChainKernel *w, const ChainForm *f)
{
    if (f->lies_in)
        return 0;
    return f->tb.b.k_major ? (size_t)(w->bj / 64) * (size_t)w->bn * 128
                           : (size_t)w->bj * (size_t)w->n_boxes * 128;
}

static void plan_smem(ChainKernel *w)
{
    size_t boxes = (size_t)(w->d_boxes + w->o_boxes);
    size_t first = (size_t)w->bj * boxes * 128;

    w->second_bytes = slot_bytes(w, w->f);
    if (w->f->twin)
        w->second_bytes += slot_bytes(w, w->f->twin);
    w->smem = (size_t)w->bm * boxes * 128 +
              (size_t)w->stages * (first + w->second_bytes);
    if (w->pack)
        w->smem += (size_t)w->bm * (size_t)w->pack * 2;
    if (w->teams > 1)
        w->smem += left_bytes(w);
    w->smem += sizeof(float) *
               (size_t)(w->stages * w->f->rows.n_column * w->bj);
    w->smem = round_up(w->smem + (size_t)(2 + 4 * w->stages) * 8, 1024);
}

static void plan_pack(ChainKernel *w)
{
    w->pack = !w->f->packs ? 0 : w->bn % 64 == 0 ? 64 : w->bn % 32 ? 16 : 32;
}

/* Of a consumer's thread: scores and weights, and where there are more blocks
 * of columns the sums so far beside them. */
static void plan_regs(ChainKernel *w)
{
    enum { OTHERS = 44, OF_TEAMS = 28, OF_TWINS = 28, SCALES = 4 };
    const Chain *c = w->f->chain;
    int scores = w->bj / 2, weights = w->bj / 4, sums = w->bn / 2;
    int others = w->teams > 1 ? OF_TEAMS : c->twin ? OF_TWINS : OTHERS;

    scores += c->other ? w->bj / 2 : 0;
    weights *= chain_parts(c) + (c->twin ? 1 : 0);
    sums *= (c->halves ? 2 : 1) + (c->twin ? 1 : 0);

    if (w->j_tiles > 1)
        w->regs = scores + weights + sums + others;
    else
        w->regs = weights + (scores > sums ? scores : sums) + others;
    w->regs += (w->f->rows.ahead ? w->bj / 4 : 0) + 2 * w->f->rows.n_row +
               (chain_fits_rows(w->f) ? SCALES : 0);
}

/* Over columns that are at least a block each. */
static bool has_teams(const ChainKernel *w)
{
    const ChainForm *f = w->f;

    return !f->chain->other && !f->twin && chain_parts(f->chain) == 1 &&
           w->j_tiles >= w->teams && w->stages % w->teams == 0;
}

/* Values of columns in the registers of the loading warp, or of those beside
 * it, which have left most of their own to others where warpgroups take turns.
 */
static bool holds_columns(const ChainKernel *w)
{
    enum { FEW = 14, MORE = 22 };
    int n = w->f->rows.n_column, warps = w->column_warps;
    int regs = n * (int)ceil_div(w->bj, 32 * (warps ? warps : 1)) +
               n; /* values, and where from */

    return !warps || regs <= (w->consumers == 3 ? MORE : FEW);
}

const char *chain_plan(ChainKernel *w, const ChainForm *f, const Variant *v)
{
    chain_plan_open(w, f);
    w->bj = v->knob[K_BJ];
    w->consumers = v->knob[K_CONSUMERS];
    w->stages = v->knob[K_STAGES];
    w->group = v->knob[K_GROUP];
    w->teams = v->knob[K_TEAMS];
    w->bm = w->consumers / w->teams * 64;
    w->row_at = "m0 + top";
    w->d_boxes = (int)ceil_div(f->D, 64);
    w->o_boxes = (int)ceil_div(f->O, 64);
    w->n_boxes = (int)ceil_div(f->N, 64);
    chain_tile(w, w->bj,
               w->consumers == 1 || w->teams > 1 ? w->consumers * 128 + 32
                                                 : (w->consumers + 1) * 128);
    enum { SPARE = 3 };
    if (f->rows.n_column && w->consumers > 1 && w->teams == 1)
        w->column_warps = (int)fmin(SPARE, ceil(w->bj / 32.0));
    if (w->teams > 1 && !has_teams(w))
        return "teams of one row each, or of what they cannot add";
    if ((f->tb.b.k_major || (f->twin && f->twin->tb.b.k_major)) && w->bj % 64)
        return "blocks of columns that are no rows of 128 bytes";
    if (!holds_columns(w))
        return "more values of columns than the warp that loads may hold";
    plan_pack(w);
    plan_smem(w);
    plan_regs(w);
    if ((int64_t)w->m_tiles * f->batches > (1ll << 30))
        return "more than 2^30 tiles";
    int one = model_thread_regs(f->a.o->device, w->threads, 1);
    int two = model_thread_regs(f->a.o->device, w->threads, 2);
    int blocks = w->consumers > 1 || w->regs > two ? 1 : w->regs > 136 ? 2 : 3;
    return chain_fits(w, blocks,
                      w->consumers == 3 ? 160
                      : w->teams > 1    ? one
                                        : 240);
}

int chain_group(const ChainForm *f)
{
    enum { FEW = 4 };
    double each = 2 * (double)f->J *
                  ((double)(f->D + f->O) +
                   (chain_one_ring(f) ? 0 : chain_results(f)));
    int64_t most = (int64_t)fmax(FEW, 40e6 / each);

    if (!f->rows.live.n || f->share > 0.99)
        return 1;
    return (int)ceil_div(f->batches, ceil_div(f->batches, most));
}

/* The variant of these knobs, if there is one, is added to the n of v. */
static int add_variant(const ChainForm *f, Variant *v, int n, int bj,
                       int consumers, int stages, int teams)
{
    Variant *x = &v[n];
    ChainKernel w;

    x->knob[K_BJ] = bj;
    x->knob[K_CONSUMERS] = consumers;
    x->knob[K_STAGES] = stages;
    x->knob[K_GROUP] = chain_group(f);
    x->knob[K_TEAMS] = teams;
    if (n == VARIANTS - 1 || chain_plan(&w, f, x))
        return n;
    x->text = arena_printf(
        f->a.g->arena, "bm=%d bj=%d stages=%d consumers=%d%s group=%d", w.bm,
        bj, stages, consumers, teams > 1 ? " teams=2" : "", x->knob[K_GROUP]);
    return n + 1;
}

static int space(const void *form, Variant **out)
{
    enum { ONE_RING = 3 }; /* one is multiplied when the next is weighed */
    static const int widths[] = {128, 176, 160, 144, 112, 96, 80, 64, 48, 32};
    const ChainForm *f = form;
    Variant v[VARIANTS] = {0};
    int n = 0;

    int one = (int)round_up((size_t)f->J, f->tb.b.k_major ? 64 : 16);
    for (int c = 1; c <= 3; c++)
        for (int i = -1; i < (int)(sizeof widths / sizeof *widths); i++) {
            int bj = i < 0 ? one : widths[i];
            /* the first has all columns */
            if (bj > (i < 0 ? MOST : one) || (i >= 0 && bj == one))
                continue;
            n = add_variant(f, v, n, bj, c,
                            bj == one           ? 1
                            : chain_one_ring(f) ? ONE_RING
                                                : 2,
                            1);
            /* of fewer columns each softmax would have little to share */
            if ((one > MOST || !f->rows.softmax) && c == 2)
                n = add_variant(f, v, n, bj, c, 2 * c, c);
        }
    *out = family_variants(f->a.g->arena, v, n);
    return n;
}

static void build(const void *form, const Variant *v, Kernel *k)
{
    const ChainForm *f = form;
    Graph *g = f->a.g;
    Group *gr = (Group *)f->gr;
    ChainKernel *w = arena_new_of(g->arena, ChainKernel);

    chain_plan(w, f, v);
    chain_build(w, gr, k);
}

const Family family_chain_wgmma = {
    .name = "chain_wgmma",
    .version = 1,
    .open = open,
    .space = space,
    .cost = chain_wgmma_cost,
    .build = build,
    .chains = true,
};
