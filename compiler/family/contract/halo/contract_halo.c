#include "family/contract/halo/contract_halo.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Convolutions of few channels: which there are, and their variants. */

enum { KNOB_TP, KNOB_TQ, KNOB_BN, KNOB_WM, KNOB_SLOTS };
enum { MOST_CHANNELS = 8, MOST_PLANES = 15, MOST_TAPS = 32, MOST_REGS = 240 };
/* of pixels in pieces: channels, and k, whose steps are all written out */
enum { MOST_WIDE = 56, MOST_DEPTH = 896 };
/* pixels of a tile along its rows: of images, and of signals at most */
enum { IMAGE_Q = 32, SIGNAL_Q = 256 };

/* ---- which groups ------------------------------------------------------ */

static bool has(const Side *s, const Var *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == v)
            return true;
    return false;
}

static const Operand *input(const HaloForm *f)
{
    return f->swapped ? &f->x.c.b : &f->x.c.a;
}

static const Side *pixels(const HaloForm *f)
{
    return f->back ? &f->x.k : f->swapped ? &f->x.n : &f->x.m;
}

static const Side *taps(const HaloForm *f)
{
    return f->back ? &f->x.m : &f->x.k;
}

/* e as c_m * m + c_k * k + constant with at most one variable m of the pixels
 * and one k of the taps; false if it is not. */
static bool two_terms(const HaloForm *f, const Idx *e, const Var **m,
                      const Var **k)
{
    *m = *k = NULL;
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind != ATOM_VAR)
            return false;
        const Var **to = has(pixels(f), a->var) ? m
                         : has(taps(f), a->var) ? k
                                              : NULL;
        if (!to || *to)
            return false;
        *to = a->var;
    }
    return true;
}

/* e is one variable of the taps that goes through all of dimension d. */
static const Var *whole(const HaloForm *f, const Idx *e, int64_t dim)
{
    const Var *v = idx_is_var(e);

    return v && v->extent == dim && has(taps(f), v) ? v : NULL;
}

static void add_run(HaloForm *f, const Var *v)
{
    memmove(f->run + 1, f->run, sizeof *f->run * (size_t)f->n_run);
    f->run[0] = v;
    f->n_run++;
    f->length *= v->extent;
}

/* The dimension along which q's window slides, `inner` elements a step. */
static const char *take_row(HaloForm *f, int d, int64_t inner)
{
    const Expr *read = input(f)->read;
    const Idx *e = read->at[d];
    const Var *k;

    if (!two_terms(f, e, &f->q, &k) || !f->q || !k)
        return "no window over neighbours in memory";
    int64_t apart = idx_coef(e, k);
    f->wide = inner % HALO_PIECE == 0 && inner > HALO_PIECE && !f->back;
    if (idx_coef(e, f->q) < 1 || apart < 1 || (apart > 1 && !f->wide))
        return "taps that are no neighbours";
    add_run(f, k);
    f->dim_w = d;
    f->inner = inner;
    f->dilation_q = (int)apart;
    f->width = read->tensor->dim[d] * inner;
    f->step_q = (int)(idx_coef(e, f->q) * inner);
    f->first_q = (int)(e->k * inner);
    return NULL;
}

/* From the innermost dimension on, those that the window reads all of, and
 * then the one that it slides along. */
static const char *merge_row(HaloForm *f)
{
    const Expr *read = input(f)->read;
    const Tensor *t = read->tensor;
    int64_t inner = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        if (f->merged[d] || t->dim[d] == 1 || t->stride[d] != inner)
            continue;
        const Var *v = whole(f, read->at[d], t->dim[d]);
        f->merged[d] = true;
        if (!v)
            return take_row(f, d, inner);
        add_run(f, v);
        inner *= t->dim[d];
        d = t->rank; /* the next one may be any */
    }
    return "no window over neighbours in memory";
}

/* The slower dimension of two, from where it was taken to be the rows. */
static void rows_to_planes(HaloForm *f)
{
    f->dim_z = f->dim_h;
    f->z = f->p;
    f->deep = f->r;
    f->step_z = f->step_p;
    f->dilation_z = f->dilation;
    f->first_z = f->first_p;
    f->stride_z = input(f)->read->tensor->stride[f->dim_h];
}

/* A second dimension that a window slides along, or a third. */
static const char *take_window(HaloForm *f, int d, const Var *m, const Var *k)
{
    const Idx *e = input(f)->read->at[d];
    int step = (int)idx_coef(e, m), along = (int)idx_coef(e, k);

    if (step < 1 || along < 1)
        return "a window that runs backwards";
    if (f->dim_h >= 0 && f->z)
        return "a window of more than three dimensions, or of images of images";
    if (f->dim_h >= 0)
        rows_to_planes(f);
    f->dim_h = d;
    f->p = m;
    f->r = k;
    f->step_p = step;
    f->dilation = along;
    f->first_p = (int)e->k;
    return NULL;
}

static const char *take_dimension(HaloForm *f, int d)
{
    const Expr *read = input(f)->read;
    const Idx *e = read->at[d];
    int64_t stride = read->tensor->stride[d];
    const Var *m, *k;

    if (!two_terms(f, e, &m, &k))
        return "an index of several variables";
    if (m && k)
        return take_window(f, d, m, k);
    f->rest += e->k * stride;
    if (m && !f->image) {
        f->image = m;
        f->stride_image = idx_coef(e, m) * stride;
    } else if (k && !f->channel) {
        f->channel = k;
        f->stride_channel = idx_coef(e, k) * stride;
    } else if (m && !f->z) {
        f->z = m;
        f->step_z = 1;
        f->stride_z = idx_coef(e, m) * stride;
    } else if (m || k) {
        return "more than two image indices, or one of channels";
    }
    return NULL;
}

/* The guard says no more than that all coordinates are inside, and the image
 * one of the run's. */
static bool plain_guard(HaloForm *f)
{
    const Expr *read = input(f)->read;
    IdxPool *p = f->x.g->pool;
    const Var *run;
    Guard in;

    if ((run = guard_run(f->x.g, read->in, &in)) && run != f->image)
        return false;
    f->run_images = run != NULL;
    for (int i = 0; i < in.n; i++) {
        const int dims[] = {f->dim_w, f->dim_h, f->dim_z};
        bool found = false;
        for (size_t j = 0; j < sizeof dims / sizeof *dims; j++) {
            int d = dims[j];
            if (d < 0)
                continue;
            const Idx *e = read->at[d];
            const Idx *last = idx_const(p, read->tensor->dim[d] - 1);
            found |= in.cond[i].e == e ||
                     in.cond[i].e == idx_sub(p, last, e);
        }
        if (!found || in.cond[i].mod)
            return false;
    }
    return true;
}

static const char *find_window(HaloForm *f)
{
    const Expr *read = input(f)->read;
    const Tensor *t = read->tensor;

    f->dim_h = f->dim_w = f->dim_z = -1;
    f->step_p = f->dilation = 1;
    f->length = 1;
    const char *why = merge_row(f);
    for (int d = 0; d < t->rank && !why; d++)
        if (!f->merged[d])
            why = take_dimension(f, d);
    if (why)
        return why;
    int vars_m = !!f->image + !!f->z + !!f->p + 1;
    int vars_k = !!f->channel + !!f->deep + !!f->r + f->n_run;
    if (vars_m != pixels(f)->n || vars_k != taps(f)->n)
        return "no window over neighbours in memory";
    if ((f->channel && f->channel->extent > MOST_CHANNELS) ||
        halo_planes(f) > MOST_PLANES ||
        (f->wide ? f->inner > MOST_WIDE : f->length > MOST_TAPS))
        return "many channels or a wide window";
    if (f->back && f->z)
        return "a window of more than two dimensions";
    if (f->width > INT_MAX / 4 || (f->dim_h >= 0 && t->dim[f->dim_h] >
                                                        INT_MAX / 4))
        return "more than 2^29 elements a row, or rows";
    if (!plain_guard(f))
        return "a guard of its own";
    f->align = 8;
    int64_t all = f->width | f->stride_image | f->stride_channel |
                  f->stride_z | f->rest |
                  (f->dim_h < 0 ? 0 : t->stride[f->dim_h]);
    while (all % f->align)
        f->align /= 2;
    if (f->wide && f->align < HALO_PIECE)
        return "channels that begin inside a piece";
    f->odd = f->align < 2;
    return f->odd && f->back ? "rows that begin at odd elements" : NULL;
}

static bool zero(const Expr *e)
{
    return !e || (e->kind == E_CONST && e->num == 0);
}

/* f->x, for mma.sync; NULL, or why it is none. */
static const char *open_contract(HaloForm *f, Graph *g, const Group *gr,
                                 const Options *o)
{
    Contract *x = &f->x;
    const char *why = NULL;

    memset(f, 0, sizeof *f);
    if (o->device->sm < 80)
        return "needs sm_80";
    if (!contract_open(x, g, gr, o, &why))
        return why;
    contract_cut(x);
    if (x->c.range)
        return "a sum over a range of its own in each row";
    Type a = x->c.a.type;
    if (a != x->c.b.type || (a != T_F16 && a != T_BF16))
        return "factors that are not of one 16-bit type";
    if (x->c.batches > 1)
        return "several products";
    if (x->c.parts > 1)
        return "several sums of a point";
    x->mma = true;
    x->elem = a;
    contract_loads(x);
    return NULL;
}

const char *halo_back(HaloForm *f, Graph *g, const Group *gr, const Options *o)
{
    const char *why = open_contract(f, g, gr, o);
    const Operand *a = &f->x.c.a, *b = &f->x.c.b;

    if (why)
        return why;
    f->back = true;
    if (!a->read || !zero(a->read->outside) ||
        a->read->tensor->type != f->x.elem)
        return "an input that is no plain read";
    if (!b->read || guard_truth(b->in) != ALWAYS || !f->x.b.plain ||
        f->x.b.along_k || b->vec < 8 || f->x.c.N % 8)
        return "gradients that are not side by side along channels";
    why = find_window(f);
    return why || !f->run_images ? why : "as many images as a run has";
}

static const char *open_halo(HaloForm *f, Graph *g, const Group *gr,
                             const Options *o)
{
    Contract *x = &f->x;
    const char *why = open_contract(f, g, gr, o);

    if (why)
        return why;
    for (int i = 0; i < 2; i++) {
        memset((char *)f + sizeof f->x, 0, sizeof *f - sizeof f->x);
        f->swapped = i;
        const Operand *in = input(f);
        if (!in->read || !zero(in->read->outside) ||
            in->read->tensor->type != x->elem)
            why = "an input that is no plain read";
        else if ((i ? x->c.M : x->c.N) < 8)
            why = "few output channels";
        else if (!(why = find_window(f)))
            break;
    }
    f->packs = !why && !f->swapped && o->device->sm >= 90 &&
               contract_packs(x) && !x->lines;
    x->lines = false;
    return why;
}

const void *halo_open(Graph *g, const Group *gr, const Options *o,
                      const char **why)
{
    HaloForm *f = arena_new_of(g->arena, HaloForm);

    *why = open_halo(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants ---------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t extent(const Var *v)
{
    return v ? v->extent : 1;
}

int64_t halo_planes(const HaloForm *f)
{
    return extent(f->channel) * extent(f->deep);
}

static void plan_window(Halo *h)
{
    const HaloForm *f = h->f;
    int align = f->align, run = (int)f->length;
    int origin = (f->first_q % align + align) % align;

    h->lead = origin % 2;
    h->shift = origin - h->lead;
    h->taps = run + h->lead <= 4 ? 4 : (run + h->lead + 7) / 8 * 8;
    h->group = h->taps == 4 ? 2 : 1;
    h->pieces = h->taps == 4 ? 1 : h->taps / 8;
    h->rows_r = (int)ceil_div(extent(f->r), h->group) * h->group;
    h->halves = (int)halo_planes(f) * h->rows_r * h->taps / 8;
    h->in_rows = (h->tp - 1) * f->step_p + (h->rows_r - 1) * f->dilation + 1;
    h->pitch = (int)ceil_div((h->tq - 1) * f->step_q + h->taps + h->shift +
                                 f->odd + 1, 8) * 8;
    h->line = h->pitch;
    h->copies = f->step_q % 2 ? 2 : 1;
}

/* Pixels of a patch's row apart. */
static void plan_pixels(Halo *h)
{
    const HaloForm *f = h->f;
    int inner = (int)f->inner, wide = (int)(f->length / f->inner);
    const Load *w = f->swapped ? &f->x.a : &f->x.b;

    h->w_pieces = w->plain && w->along_k && w->op->vec >= HALO_PIECE &&
                  guard_truth(w->op->in) == ALWAYS;
    h->step = f->step_q / inner;
    int pixels = (h->tq - 1) * h->step + (wide - 1) * f->dilation_q + 1;
    h->side = (pixels + h->step - 1) / h->step;
    h->pixel = inner + (inner / HALO_PIECE % 2 ? 0 : HALO_PIECE);
    h->line = pixels * inner;
    h->pitch = h->step * h->side * h->pixel;
}

static const char *check(const Halo *h)
{
    const Tile *t = &h->x.t;

    if (t->threads < 32 || t->threads > 512)
        return "blocks of 32 to 512 threads";
    if (h->f->wide && h->depth > MOST_DEPTH)
        return "many channels or a wide window";
    if (h->x.regs > MOST_REGS)
        return "more registers than a thread may have";
    if (h->tq * h->f->step_q % h->f->align)
        return "patches that begin at odd elements";
    if (h->bn > 8 && h->bn / 2 >= h->channels)
        return "a tile twice as wide as the problem";
    if ((h->tp == 1) != (extent(h->f->p) == 1) ||
        (h->tp > 4 && h->tp / 2 >= extent(h->f->p)))
        return "a tile twice as high as the problem";
    if (h->tp > 1 && h->tq > IMAGE_Q)
        return "a tile longer than those of images";
    if (h->tiles > INT_MAX / 2 || ceil_div(h->channels, h->bn) > 65535)
        return "more tiles than a grid has blocks for";
    return (double)h->smem / 1024 > h->f->x.o->device->smem_block_kb
               ? "more shared memory than a block may have" : NULL;
}

/* Of one copy of a tile's input. */
size_t halo_patch(const Halo *h)
{
    return (size_t)(halo_planes(h->f) * h->in_rows * h->pitch);
}

const char *halo_plan(Halo *h, const HaloForm *f, const Variant *v)
{
    memset(h, 0, sizeof *h);
    h->f = f;
    h->x = (ContractPlan){.f = &f->x, .a = f->x.a, .b = f->x.b,
                          .patch = !f->swapped, .patch_n = f->swapped,
                          .column = f->swapped ? f->q : NULL};
    h->tp = v->knob[KNOB_TP];
    h->tq = v->knob[KNOB_TQ];
    Tile *t = &h->x.t;
    h->bm = h->tp * h->tq;
    h->bn = v->knob[KNOB_BN];
    h->wm = v->knob[KNOB_WM];
    h->slots = v->knob[KNOB_SLOTS];
    h->channels = f->swapped ? f->x.c.M : f->x.c.N;
    t->bm = f->swapped ? h->bn : h->bm;
    t->bn = f->swapped ? h->bm : h->bn;
    t->split = t->stages = 1;
    t->threads = h->bm / h->wm * 32;
    h->x.parts = 1;
    plan_window(h);
    if (f->wide)
        plan_pixels(h);
    h->depth = (h->halves + 1) / 2 * 16;
    h->tiles_p = ceil_div(extent(f->p), h->tp);
    h->tiles_q = ceil_div(extent(f->q), h->tq);
    h->tiles = h->tiles_p * h->tiles_q * extent(f->image) * extent(f->z);
    h->smem = (size_t)h->bn * (size_t)(h->depth + 8) * 2 +
              halo_patch(h) * 2 * (size_t)(h->copies - 1 + f->odd + h->slots) +
              (f->packs ? (size_t)t->threads / 32 * 16 * (size_t)h->bn * 2
                        : (size_t)t->bm * (size_t)(t->bn + 8) * 4) + 64;
    /* of many k, nvcc reads fragments further ahead than registers last, and
     * it has special functions of many sums under way at once */
    int sums = h->wm / 16 * h->bn / 8 * 4;
    h->x.regs = sums + h->bn / 4 + 60 +
                (sums >= 128 && h->depth > 64 && !f->wide ? h->depth / 4
                                                          : 0) +
                (sums >= 64 && h->f->x.special > 0 ? 5 * sums / 8 : 0);
    const Device *d = f->x.o->device;
    double room = floor(fmin(d->smem_sm_kb * 1024 / (h->smem + 1024.0),
                             d->regs_sm / (h->x.regs * 1.0) / t->threads));
    h->room = (int)fmax(1, fmin(room, 4));
    double most = (double)h->room * d->sms;
    int64_t waves = ceil_div(h->tiles, (int64_t)most);
    h->grid = (int)ceil_div(h->tiles, waves);
    return check(h);
}

const char *halo_text(const void *form, const Variant *v)
{
    Halo h;

    halo_plan(&h, form, v);
    const char *text = arena_printf(h.f->x.g->arena, "tp=%d tq=%d bn=%d wm=%d",
                                    h.tp, h.tq, h.bn, h.wm);

    return h.f->wide
               ? arena_printf(h.f->x.g->arena, "%s slots=%d", text, h.slots)
               : text;
}

int halo_space(const void *form, Variant **out)
{
    enum { MOST = 5 * 6 * 3 * 3 * 2 };
    const HaloForm *f = form;
    Variant list[MOST];
    int n = 0, k[5];

    for (k[0] = 1; k[0] <= 16; k[0] *= 2)
        for (k[1] = 8; k[1] <= SIGNAL_Q; k[1] *= 2)
            for (k[2] = 16; k[2] <= 64; k[2] *= 2)
                for (k[3] = 16; k[3] <= 64; k[3] *= 2)
                    for (k[4] = 2 - f->wide; k[4] <= 2; k[4]++) {
                        Variant v = {.text = NULL};
                        Halo h;
                        memcpy(v.knob, k, sizeof k);
                        if (k[0] * k[1] % k[3] || halo_plan(&h, f, &v))
                            continue;
                        list[n++] = v;
                    }
    *out = family_variants(f->x.g->arena, list, n);
    return n;
}
