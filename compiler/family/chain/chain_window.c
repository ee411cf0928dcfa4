#include "family/chain/chain_window.h"
#include "family/contract/contract_shared.h"

#include <string.h>

/* Planning: which chains have a window first, and in which tiles. */

enum { MOST_TAPS = 64 };

/* ---- the form -------------------------------------------------------- */

/* Whether between the two there is nothing: the product multiplies what the
 * window leaves. */
static bool nothing_between(const Chain *c)
{
    const Expr *e = c->between->n_step == 1 ? c->between->step[0].value : NULL;

    while (e && e->kind == E_CAST && e->type == c->factor->type)
        e = e->arg[0];
    return e && e->kind == E_READ && e->tensor == c->scores && !e->in.n &&
           c->scores->type == c->factor->type;
}

/* Whether every point of the window is one of the product's rows and k. */
static bool same_points(const WindowForm *f)
{
    const Contraction *c = &f->c.c;

    for (int i = 0; i < f->first->n_rows; i++) {
        const Var *v = f->first->rows[i];
        if (!vars_have(c->m, c->n_m, v) &&
            !vars_have(c->batch, c->n_batch, v) &&
            v != f->along)
            return false;
    }
    return true;
}

static const char *check_window(const Group *first)
{
    bool reduces = false;

    for (int i = 0; i < first->n_step; i++) {
        reduces |= first->step[i].op != R_NONE;
        if (first->step[i].op == R_ARGMAX || first->step[i].where.n)
            return "a window that is more than its values";
    }
    if (!reduces)
        return "nothing that a window reduces";
    /* a norm's elements, which the product takes along its own sum */
    const Step *last = &first->step[first->n_step - 1];
    if (last->over_cols && last->op == R_NONE)
        return "a window that has a value for each of what it reduces";
    return group_cols(first) > MOST_TAPS ? "a window of more than 64 values"
                                         : NULL;
}

static const char *check_product(WindowForm *f, const Chain *chain)
{
    const Contract *x = &f->c;
    const Operand *b = &x->c.b;

    if (x->elem != T_F16 && x->elem != T_BF16)
        return "factors that are not both f16 or both bf16";
    if (x->c.parts > 1 || x->c.n_k != 1)
        return "a sum along more than one variable";
    if (!x->c.a.read || x->c.a.read->tensor != chain->factor)
        return "results whose rows are neighbours in memory";
    if (!x->b.plain || !x->b.along_k || !x->b.async || !b->read ||
        guard_truth(b->in) != ALWAYS || b->along != x->c.k[0])
        return "another factor that does not lie along the sum";
    return NULL;
}

/* 16-bit values that a point of the nest reads. */
static double converted(Graph *g, const Group *gr)
{
    int all[MAX_STEPS];
    double n = 0;
    Reads r;

    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &r);
    for (int i = 0; i < r.n; i++)
        if (type_bytes(r.read[i]->tensor->type) == 2)
            n += uses_cols(gr, r.read[i]) ? (double)group_cols(gr) : 1;
    return n;
}

/* A window has no columns of its own: each of its points is by itself. */
static bool has_columns(Graph *g, const Group *first)
{
    const char *why;
    Contraction c;

    return group_contraction(g, first, &c, &why) && c.n_n && c.n_m;
}

static const char *open_window(WindowForm *f, Graph *g, const Options *o)
{
    const char *why = has_columns(g, f->first) ? "a product, and no window"
                                               : check_window(f->first);

    if (why)
        return why;
    f->vec = widest_vector(g, f->first, f->along, 8, false);
    f->census = census_take(g, f->first, o->device);
    f->converted = converted(g, f->first);
    return f->vec < 2 ? "values along the sum that do not lie side by side"
                      : NULL;
}

static const char *open_form(WindowForm *f, Graph *g, const Group *gr,
                             const Options *o)
{
    const Chain *chain = gr->chain;
    const char *why = o->device->sm < 80 ? "needs sm_80" : NULL;

    if (!why && (chain->other || chain_parts(chain) > 1))
        why = "two first products, or a factor of f32";
    if (!why && !nothing_between(chain))
        why = "something between the two";
    if (!why)
        why = mma_form(&f->c, g, chain->second, o);
    if (!why)
        why = check_product(f, chain);
    if (why)
        return why;
    f->gr = f->c.whole = gr;
    f->along = f->c.c.k[0];
    f->made = chain->scores;
    f->first = chain->first;
    f->copy = f->c.b.k_vec;
    while (f->c.c.K % f->copy)
        f->copy /= 2;
    if (!same_points(f))
        return "points of its own";
    if (f->copy < 2)
        return "values along the sum that do not lie side by side";
    f->c.hbm_bytes = model_group_bytes(g, gr, o->device, NULL, NULL);
    return open_window(f, g, o);
}

static const void *open(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    WindowForm *f = arena_new_of(g->arena, WindowForm);

    *why = open_form(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants -------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

enum { KNOB_VEC = 3 }; /* in place of a ring's stages */

const char *window_plan(WindowPlan *w, const WindowForm *f, const Variant *v)
{
    enum { FIXED = 64 };
    const Device *d = f->c.o->device;
    ContractPlan *p = &w->p;
    Tile t = contract_tile(v);

    t.stages = 1;
    *w = (WindowPlan){.p = {.f = &f->c, .t = t, .a = f->c.a, .b = f->c.b},
                      .vec = v->knob[KNOB_VEC],
                      .tiles_k =
                          (int)ceil_div(ceil_div(f->c.c.K, t.bk), t.split)};
    p->cluster = t.split > 1;
    p->parts = t.threads / 32 / mma_tile_warps(&t);
    p->a.k_major = p->b.k_major = true;
    p->a.rows = t.bm;
    p->b.rows = t.bn;
    p->regs = FIXED + t.wm * t.wn / 32 + (t.wm + t.wn) / 4 + w->vec;
    if (contract_tiles(&f->c, &t) > INT32_MAX / 32)
        return "more tiles than a grid has blocks for";
    return (double)contract_smem(p) / 1024 > d->smem_block_kb
               ? "more shared memory than a block may have"
               : NULL;
}

typedef struct Space {
    const WindowForm *f;
    Variant *v;
    int n, most;
} Space;

static void add(Space *s, const Tile *t)
{
    WindowPlan w;
    Variant v = {0};

    contract_knobs(t, &v);
    for (int vec = s->f->vec; vec >= 2; vec /= 2) {
        v.knob[KNOB_VEC] = vec;
        if (s->n < s->most && !window_plan(&w, s->f, &v))
            s->v[s->n++] = v;
    }
}

/* Slices of a block's part of k, in whole steps of mma, each some warps' own.
 */
static void add_slices(Space *s, Tile *t)
{
    enum { MOST_WARPS = 16 };
    int warps = mma_tile_warps(t);

    for (int slices = 1; slices <= 8 && slices * warps <= MOST_WARPS;
         slices++) {
        t->threads = slices * warps * 32;
        if (t->bk / 16 % slices == 0 && t->threads >= 64)
            add(s, t);
    }
}

/* Parts of k that are a block's, and of these as many at a time as are whole
 * steps. Blocks by four and eight were slower than the window and the product
 * apart (14^2 x 576 to 160, 7^2 x 960 to 320, on an H200). */
static void add_parts(Space *s, Tile *t)
{
    const Contract *x = &s->f->c;
    double tiles = (double)contract_tiles(x, t) * (double)x->c.batches;
    int most = x->o->device->sm >= 90 ? 2 : 1;

    for (t->split = 1; t->split <= most; t->split *= 2) {
        int64_t steps = ceil_div(x->c.K, 16), own = ceil_div(steps, t->split);
        if (t->split > 1 &&
            (tiles * t->split > 2 * x->o->device->sms ||
             (t->split - 1) * own >= steps || t->bm / t->split < 2))
            break;
        int64_t last = 0;
        for (int n = 1; n <= 8; n *= 2) {
            int64_t each = ceil_div(own, n);
            t->bk = (int)each * 16;
            if (each == last || ceil_div(steps, each) < t->split)
                continue;
            last = each;
            add_slices(s, t);
        }
    }
}

static void add_columns(Space *s, Tile *t)
{
    static const int widths[] = {64, 32, 16, 48};

    for (int i = 0, n = 0; i < 4 && n < 2; i++) {
        t->wn = widths[i];
        if (t->bn % t->wn || mma_tile_warps(t) > 16)
            continue;
        n++;
        add_parts(s, t);
    }
}

/* A last tile that is mostly empty makes all of a window's values again for a
 * few columns: 160 in tiles of 128 take twice the time of one tile. */
static bool mostly_empty(const WindowForm *f, int bn)
{
    int64_t rest = f->c.c.N % bn;

    return rest && 2 * rest < bn;
}

static int space(const void *form, Variant **out)
{
    enum { MOST = 2400 };
    static const int widths[] = {0, 128, 64};
    const WindowForm *f = form;
    Variant v[MOST];
    Space s = {f, v, 0, MOST};
    int all = (int)ceil_div(f->c.c.N, 16) * 16;

    for (int i = 0; i < 3; i++)
        for (int bm = 16; bm <= 128; bm *= 2) {
            Tile t = {
                .bm = bm,
                .bn = i ? widths[i] : all,
            };
            if ((i ? t.bn >= all || mostly_empty(f, t.bn) : all > 512) ||
                (bm > 16 && bm / 2 >= f->c.c.M))
                continue;
            for (t.wm = 16; t.wm <= 32 && t.wm <= bm; t.wm *= 2)
                add_columns(&s, &t);
        }
    *out = family_variants(f->c.g->arena, v, s.n);
    return s.n;
}

const char *window_text(const WindowForm *f, const WindowPlan *w)
{
    const Tile *t = &w->p.t;

    return arena_printf(f->c.g->arena,
                        "bm=%d bn=%d bk=%d vec=%d wm=%d wn=%d split=%d "
                        "slices=%d",
                        t->bm, t->bn, t->bk, w->vec, t->wm, t->wn, t->split,
                        w->p.parts);
}

static const char *text(const void *form, const Variant *v)
{
    WindowPlan w;

    window_plan(&w, form, v);
    return window_text(form, &w);
}

const Family family_chain_window = {
    .name = "chain_window",
    .version = 1,
    .open = open,
    .space = space,
    .cost = window_cost,
    .least = window_least,
    .build = window_build,
    .text = text,
    .chains = true,
};
