#include "family/contract/skinny/contract_skinny.h"

#include <math.h>
#include <string.h>

/* Few rows against many weights: which variants there are. */

enum { KNOB_COLS, KNOB_WARPS_N, KNOB_WARPS_K, KNOB_DEEP, KNOB_SPLIT };
/* Of 32 rows each took two to four times its prediction on an H200: what warps
 * and blocks exchange grows with them. Tiles of 64 rows take less. */
enum { MOST_ROWS = 16 };

/* ---- which groups ------------------------------------------------------ */

static bool tensor_core_types(const Contract *x)
{
    Type a = x->c.a.type, b = x->c.b.type;

    return a == b && (a == T_F16 || a == T_BF16) && x->o->device->sm >= 80;
}

static bool stores_to(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

static bool uses_any(const Idx *e, const Side *s)
{
    for (int i = 0; i < s->n; i++)
        if (idx_uses(e, s->v[i]))
            return true;
    return false;
}

static const Var *as_number(const Side *s)
{
    return s->n == 1 ? s->v[0] : s->linear;
}

/* The weights as a matrix: offset = c_n * n + c_k * k + of the batch. */
static const char *find_matrix(SkinnyForm *f)
{
    Contract *x = &f->x;
    Load *l = &x->b;
    IdxPool *p = x->g->pool;

    contract_split_offset(x, l);
    f->k = as_number(&x->k);
    f->n = as_number(&x->n);
    int64_t ck = idx_coef(l->k_part, f->k), cn = idx_coef(l->row_part, f->n);
    const Idx *k = idx_scale(p, idx_var(p, f->k), ck);
    const Idx *n = idx_scale(p, idx_var(p, f->n), cn);
    const Idx *rest = idx_sub(p, l->row_part, n);
    if (idx_sub(p, l->k_part, k) != idx_const(p, 0) ||
        uses_any(rest, &x->n) || idx_uses(rest, f->n))
        return "weights that are no matrix";
    f->k_major = ck == 1;
    if (!f->k_major && cn != 1)
        return "weights without neighbours in memory";
    int most = 16 / f->size;
    const Idx *other = idx_add(p, rest, f->k_major ? n : k);
    f->align = (int)idx_align(other, most);
    while ((f->k_major ? x->c.K : x->c.N) % f->align)
        f->align /= 2;
    return NULL;
}

const char *skinny_open(SkinnyForm *f, Graph *g, const Group *gr,
                        const Options *o)
{
    Contract *x = &f->x;
    const char *why = NULL;

    if (!contract_open(x, g, gr, o, &why))
        return why;
    contract_cut(x);
    if (x->c.range)
        return "a sum over a range of its own in each row";
    const Operand *w = &x->c.b;
    if (x->acc != T_F32 || !type_is_float(x->c.a.type))
        return "integers";
    f->mma = tensor_core_types(x);
    if (x->c.M > MOST_ROWS)
        return "too many rows";
    if ((why = skinny_check_rows(x)))
        return why;
    if (x->c.N < 4 * x->c.M)
        return "too few columns";
    if (!w->read || guard_truth(w->in) != ALWAYS)
        return "weights that are no plain read";
    if (!type_is_float(w->read->tensor->type) ||
        stores_to(gr, w->read->tensor))
        return "weights that are no float parameters";
    f->size = type_bytes(w->read->tensor->type);
    x->mma = true;
    x->elem = f->mma ? x->c.a.type : T_F32;
    contract_loads(x);
    return find_matrix(f);
}

const void *skinny_form(Graph *g, const Group *gr, const Options *o,
                        const char **why)
{
    SkinnyForm *f = arena_new_of(g->arena, SkinnyForm);

    *why = skinny_open(f, g, gr, o);
    return family_form(g, f, sizeof *f, *why);
}

/* ---- variants ---------------------------------------------------------- */

static int ceil_div(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

/* Rows of x fall on banks so that the 4 x 8 lanes of a fragment do not meet. */
static int x_pad(const Skinny *s)
{
    int want = s->f->k_major ? 64 : 32;

    if (!s->f->mma)
        return 4;
    return (want + 128 - s->x.t.bk * 2 % 128) % 128 / 2;
}

static void plan_lanes(Skinny *s, const Variant *v)
{
    const SkinnyForm *f = s->f;

    s->cols = v->knob[KNOB_COLS];
    s->lane_k = f->k_major ? 16 / f->size : 4;
    s->lane_n = f->k_major ? 1 : s->cols / 8;
    s->k_step = 4 * s->lane_k;
    s->words = s->cols / 8 * s->lane_k * f->size / 4;
    s->warps_n = v->knob[KNOB_WARPS_N];
    s->warps_k = v->knob[KNOB_WARPS_K];
    s->deep = v->knob[KNOB_DEEP];
    s->columns = s->cols * s->warps_n;
}

/* Registers of a thread's sums. */
static int sums(const Skinny *s)
{
    int64_t m = s->f->x.c.M;

    return s->cols / 8 * (int)(s->f->mma ? (m + 7) / 8 * 2 : m);
}

static const char *check(const Skinny *s)
{
    const Tile *t = &s->x.t;
    const Device *d = s->f->x.o->device;

    if (t->threads < 64 || t->threads > 512)
        return "blocks of 64 to 512 threads";
    if (t->split > 1 && d->sm < 90)
        return "a split needs clusters";
    if (s->columns % t->split || s->columns / t->split < 2)
        return "a block finishes at least 2 columns";
    if ((t->split - 1) * s->steps >= ceil_div(s->f->x.c.K, s->k_step))
        return "a block without a part of K";
    if (s->warps_k > s->steps)
        return "more warps than steps";
    if (s->deep > 1 && s->warps_k * s->deep / 2 >= s->steps)
        return "deeper than K";
    if (!s->f->k_major && s->lane_n * s->f->size < 4)
        return "a lane holds words";
    if (s->words * s->deep > 64 || sums(s) > 64)
        return "too many registers";
    if (t->split * s->warps_k > 32)
        return "too many partial sums";
    return (double)s->smem / 1024 > d->smem_block_kb ? "too much shared memory"
                                                     : NULL;
}

const char *skinny_plan(Skinny *s, const SkinnyForm *f, const Variant *v)
{
    memset(s, 0, sizeof *s);
    s->f = f;
    s->x = (ContractPlan){.f = &f->x, .a = f->x.a, .b = f->x.b};
    plan_lanes(s, v);
    Tile *t = &s->x.t;
    t->split = v->knob[KNOB_SPLIT];
    s->steps = ceil_div(ceil_div(f->x.c.K, s->k_step), t->split);
    t->threads = s->warps_n * s->warps_k * 32;
    t->bm = (int)f->x.c.M;
    t->bn = s->columns / t->split;
    t->bk = s->steps * s->k_step;
    t->stages = 1;
    s->x.parts = s->warps_k * t->split;
    s->x.beyond = f->x.c.N % s->columns != 0;
    s->pad = x_pad(s);
    size_t parts = (size_t)(t->split * s->warps_k);
    s->smem = (size_t)t->bm * (size_t)(t->bk + s->pad) *
                  (size_t)type_bytes(s->f->x.elem) +
              parts * (size_t)t->bm * (size_t)(t->bn + 8) * 4 + 16 +
              (size_t)skinny_row_values(&f->x) * (size_t)t->bm * 4;
    s->x.regs = s->words * s->deep + sums(s) + 44;
    return check(s);
}

const char *skinny_text(const void *form, const Variant *v)
{
    Skinny s;

    skinny_plan(&s, form, v);
    return arena_printf(s.f->x.g->arena,
                        "cols=%d warps_n=%d warps_k=%d deep=%d split=%d",
                        s.cols, s.warps_n, s.warps_k, s.deep, s.x.t.split);
}

static void add_variant(const SkinnyForm *f, const int *knob, Variant *v,
                        int *n)
{
    Variant one = {.text = NULL};
    Skinny s;

    memcpy(one.knob, knob, 5 * sizeof *knob);
    if (skinny_plan(&s, f, &one))
        return;
    v[(*n)++] = one;
}

int skinny_space(const void *form, Variant **out)
{
    enum { MOST = 1000 };
    const SkinnyForm *f = form;
    Variant list[MOST];
    int n = 0, k[5];

    int least = f->k_major ? 16 : 8, most = f->k_major ? 32 : 128 / f->size;
    for (k[0] = least; k[0] <= most; k[0] *= 2)
        for (k[1] = 1; k[1] <= 4; k[1] *= 2)
            for (k[2] = 1; k[2] <= 8; k[2] *= 2)
                for (k[3] = 1; k[3] <= 8; k[3] *= 2)
                    for (k[4] = 1; k[4] <= 8 && n < MOST; k[4] *= 2)
                        add_variant(f, k, list, &n);
    *out = family_variants(f->x.g->arena, list, n);
    return n;
}
