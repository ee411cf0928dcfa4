#include "family/contract/contract_simt.h"
#include "emit/emit.h"
#include "group/groups.h"

#include <math.h>
#include <string.h>

/* Contractions on the ordinary pipes of any GPU: exact f32 multiply-adds, and
 * sums of integers; and, in place of products, of other functions of two reads
 * (distances). Other element types are converted as they are loaded. */

typedef struct Shape {
    int bm, bn, tm, tn;
} Shape;

static const Shape shapes[] = {
    {256, 128, 16, 8}, {128, 256, 16, 8}, {128, 128, 16, 8}, {128, 64, 16, 8},
    {64, 128, 16, 8},  {64, 64, 16, 8},   {128, 64, 8, 8},   {64, 128, 8, 8},
    {64, 64, 8, 8},    {32, 128, 8, 8},   {32, 64, 8, 8},    {64, 64, 4, 8},
    {64, 64, 8, 4},    {32, 64, 4, 8},    {16, 64, 4, 8},    {64, 32, 8, 4},
    {32, 32, 8, 4},    {128, 32, 8, 4},   {32, 32, 4, 4},    {16, 128, 4, 8},
    {16, 64, 4, 4},    {16, 32, 4, 4},    {64, 16, 4, 4},    {128, 16, 8, 4},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

enum { VECTOR = 4 };

/* Threads that have all sums of a tile. */
int simt_slice_threads(const Tile *t)
{
    return t->bm / t->wm * (t->bn / t->wn);
}

/* Parts of each tile's k, multiplied by threads of their own. */
int simt_slices(const Tile *t)
{
    return t->threads / simt_slice_threads(t);
}

static const char *open_form(Contract *x, Graph *g, const Group *gr,
                             const Options *o)
{
    const char *why = NULL, *none = NULL;

    if (!contract_open(x, g, gr, o, &why) &&
        !contract_open_pairs(x, g, gr, o, &none))
        return why;
    x->turn = x->swapped = true;
    contract_cut(x);
    contract_loads(x);
    return NULL;
}

const void *simt_open(Graph *g, const Group *gr, const Options *o,
                      const char **why)
{
    Contract *f = arena_new_of(g->arena, Contract);

    *why = open_form(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

static bool sensible(const Contract *x, const Tile *t)
{
    if (t->bm > 16 && t->bm / 2 >= x->c.M)
        return false;
    return t->bn <= 16 || t->bn / 2 < x->c.N;
}

/* k of a tile that a thread multiplies. */
int simt_steps(const Tile *t)
{
    return t->bk / simt_slices(t);
}

/* Whether a's tile keeps the rows that lie along k: four k are copied at once,
 * and four k of each row read at a time, which takes twice the registers. */
static bool keeps_rows(const Contract *x, const Tile *t)
{
    return x->a.k_vec == VECTOR && t->wm <= 8 &&
           simt_steps(t) % VECTOR == 0 && !x->c.term;
}

/* A warp's lanes lie four or eight beside each other. */
int simt_lanes(const Tile *t)
{
    return t->bn < 8 * t->wn ? 4 : 8;
}

/* Whether nothing but pieces of rows is stored, of which a warp has all. */
bool simt_own_rows(const ContractPlan *x)
{
    return !contract_stores(x->f) && simt_slices(&x->t) == 1 &&
           x->t.split == 1 && simt_lanes(&x->t) == 8 &&
           8 * x->t.wn == x->f->gr->pieces->size;
}

/* Sums, the factors of two k, of four of a's rows, what the copies keep. Twice
 * as many products in a row took 1.03 to 1.1 times as long. */
const char *simt_plan(ContractPlan *x, const Contract *f, const Variant *v)
{
    enum { LIMIT = 240, PARTS = 4, UNROLLED = 1024 };
    const Tile tile = contract_tile(v), *t = &tile;
    const char *why = contract_plan(x, f, t, keeps_rows(f, t));
    int inner = t->wm * t->wn + 2 * (t->wm + t->wn) + 2 * f->c.n_batch - 12;

    inner += x->rows ? (VECTOR - 2) * t->wm : 0;

    bool needs = x->a.n_need + x->b.n_need > 0;
    bool uneven = (x->a.turned && !x->a.stride) ||
                  (x->b.turned && !x->b.stride);
    /* nvcc keeps more addresses for sm_80: three such kernels spilled, and two
     * that copy both factors an element at a time */
    bool single = x->a.turned && x->b.turned && x->a.vec * x->b.vec == 1;
    bool older = (needs || single) && f->o->device->sm < 90;
    inner += older ? 36 : !needs ? 0 : t->wm * t->wn < 128 ? 8 : 24;
    inner += uneven && t->wm * t->wn < 128 ? 16 : 0;
    contract_regs(x, inner);
    x->spread = simt_steps(t) < 2 * PARTS ? simt_steps(t) / 2 : PARTS;
    if (!why && x->regs > LIMIT)
        why = "more registers than a thread may have";
    int most = older ? UNROLLED / 2 : UNROLLED;
    if (!why && simt_steps(t) * t->wm * t->wn > most)
        why = "more products in a row than the instruction cache should have";
    return why;
}

const char *simt_text(const Contract *x, const Tile *t)
{
    const char *text = arena_printf(x->g->arena, "%s slices=%d",
                                    contract_text(x, t), simt_slices(t));

    return t->whole ? arena_printf(x->g->arena, "%s whole=%d", text, t->whole)
                    : text;
}

const char *simt_text_of(const void *form, const Variant *v)
{
    const Tile t = contract_tile(v);

    return simt_text(form, &t);
}

/* A tile's plan for so many threads, or why there is none. */
typedef struct Planned {
    ContractPlan plan;
    const char *why;
} Planned;

/* `first`: it was not planned for these threads yet. */
static void add_variant(const Contract *x, const Tile *t, bool first,
                        Planned *p, Variant *v, int *n)
{
    contract_knobs(t, &v[*n]);
    if (first)
        p->why = simt_plan(&p->plan, x, &v[*n]);
    p->plan.t.whole = t->whole;
    if (!p->why && !contract_resplit(&p->plan, t->split))
        (*n)++;
}

/* Whether no SM gets two blocks: long tiles are for a block by itself, many of
 * them would begin and end together and ask for too much at once. */
static bool one_each(const Contract *x, const Tile *t)
{
    return contract_tiles(x, t) * x->c.batches * t->split <= x->o->device->sms;
}

/* A tile's k is shared by blocks, and by slices of a block, which join their
 * sums in shared memory. */
static void add_shares(const Contract *x, const Tile *base, Variant *v, int *n)
{
    enum { MOST = 10 }; /* shares of a block's threads */
    int split[MAX_SPLITS], n_split = contract_splits(x, base, split);
    Tile t = *base;
    Planned p[MOST];

    for (int i = 0; i < n_split; i++) {
        t.split = split[i];
        if (t.bk > 32 && !one_each(x, &t))
            continue;
        /* no ring is deeper than its steps, but one of three */
        if (t.stages > 3 && (t.stages - 1) * t.bk * t.split >= x->c.K)
            continue;
        add_variant(x, &t, i == 0, &p[0], v, n);
        for (int s = 2, k = 1; s <= t.bk / 4 && s * base->threads <= 512;
             s *= 2, k++) {
            t.threads = s * base->threads;
            add_variant(x, &t, i == 0, &p[k], v, n);
        }
        t.threads = base->threads;
    }
}

/* The tiles that make no whole round of the SMs are shared alone. */
static void add_late(const Contract *x, const Tile *base, Variant *v, int *n)
{
    enum { WARPS = 8 }; /* on an SM, at least */
    const Device *d = x->o->device;

    for (int s = 1; s <= 2 && s * base->threads <= 512; s *= 2) {
        Tile t = *base;
        Planned p;
        Variant one;
        t.threads = s * base->threads;
        contract_knobs(&t, &one);
        p.why = simt_plan(&p.plan, x, &one);
        int room = (int)model_room(d, t.threads, p.plan.regs,
                                   (double)contract_smem(&p.plan));
        for (int more = 0; more < 2 && !p.why; more++)
            if (room > more && (room - more) * t.threads >= WARPS * 32 &&
                contract_late(x, &t, room - more))
                add_variant(x, &t, false, &p, v, n);
    }
}

static void add_shape(const Contract *x, const Shape *s, Variant *v, int *n,
                      int most)
{
    bool async = contract_async(&x->a, &x->b);
    const int least = x->c.K <= VECTOR ? VECTOR : 2 * VECTOR; /* of a tile */

    for (int bk = 64; bk >= least; bk /= 2)
        for (int stages = async ? 4 : 2; stages >= 2; stages--) {
            Tile t = {.bm = s->bm, .bn = s->bn, .bk = bk, .stages = stages,
                      .split = 1, .wm = s->tm, .wn = s->tn};
            t.threads = simt_slice_threads(&t);
            bool short_k = x->c.K <= 3 * bk;
            if (t.threads < SIMT_LANES || *n + 100 > most || !sensible(x, &t) ||
                (bk == 64 && (x->a.k_vec < VECTOR || s->tm > 8)) ||
                (bk == 8 && !short_k && s->tm < 16) ||
                (stages == 2 && async && !short_k) ||
                (stages > 2 && (stages - 1) * bk >= x->c.K))
                continue;
            add_shares(x, &t, v, n);
            /* beside guards a kernel would have over 199 lines */
            if (bk <= 32 && stages > 2 && !(x->a.n_need + x->b.n_need))
                add_late(x, &t, v, n);
        }
}

int simt_space(const void *form, Variant **out)
{
    enum { MOST = 4000 };
    const Contract *x = form;
    Variant v[MOST];
    int n = 0;

    for (int i = 0; i < N_SHAPES; i++)
        add_shape(x, &shapes[i], v, &n, MOST);
    *out = family_variants(x->g->arena, v, n);
    return n;
}
