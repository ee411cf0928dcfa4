#include "family/contract.h"
#include "template.h"

#include <string.h>

/* Contractions on the ordinary pipes of any GPU: exact f32 multiply-adds, and
 * sums of integers. Other element types are converted as they are loaded. */

typedef struct Shape {
    int bm, bn, tm, tn;
} Shape;

static const Shape shapes[] = {
    {128, 128, 8, 8}, {128, 64, 8, 8}, {64, 128, 8, 8}, {256, 64, 8, 8},
    {64, 64, 4, 8},   {64, 64, 4, 4},  {32, 64, 4, 4},  {64, 32, 4, 4},
    {32, 32, 4, 4},   {32, 128, 4, 8}, {128, 32, 8, 4}, {16, 128, 4, 4},
    {16, 64, 4, 4},   {64, 16, 4, 4},  {16, 32, 4, 4},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const char *open_simt(Contract *x, Graph *g, const Group *gr,
                             const Options *o)
{
    const char *why = NULL;

    if (!contract_open(x, g, gr, o, &why))
        return why;
    contract_loads(x);
    return NULL;
}

static const char *applicable(Graph *g, const Group *gr, const Options *o)
{
    Contract x;

    return open_simt(&x, g, gr, o);
}

static bool sensible(const Contract *x, const Tile *t)
{
    if (t->bm > 16 && t->bm / 2 >= x->c.M)
        return false;
    return t->bn <= 16 || t->bn / 2 < x->c.N;
}

static void add_variants(Contract *x, const Tile *base, Variant *v, int *n,
                         int most)
{
    int split[10], n_split = contract_splits(x, base, split);

    for (int i = 0; i < n_split && *n < most; i++) {
        x->t = *base;
        x->t.split = split[i];
        if (contract_plan(x))
            continue;
        contract_knobs(x, &x->t, &v[(*n)++]);
    }
}

static int space(Graph *g, const Group *gr, const Options *o, Variant **out)
{
    enum { MOST = 1000 };
    Contract *form = arena_new_of(g->arena, Contract), x;
    int n = 0;

    *out = arena_array(g->arena, Variant, MOST);
    if (open_simt(form, g, gr, o))
        return 0;
    x = *form;
    for (int i = 0; i < N_SHAPES; i++)
        for (int bk = 32; bk >= 8; bk /= 2)
            for (int stages = 2; stages <= 4; stages++) {
                const Shape *s = &shapes[i];
                Tile t = {.bm = s->bm, .bn = s->bn, .bk = bk,
                          .stages = stages, .split = 1, .wm = s->tm,
                          .wn = s->tn};
                t.threads = s->bm / s->tm * (s->bn / s->tn);
                if (t.threads >= 32 && sensible(&x, &t) &&
                    !(bk == 8 && stages > 2))
                    add_variants(&x, &t, *out, &n, MOST);
            }
    for (int i = 0; i < n; i++)
        (*out)[i].form = form;
    return n;
}

/* Fraction of the pipe's rate left by reads of shared memory. */
static double efficiency(const Tile *t)
{
    double e = t->wm * t->wn >= 64 ? 0.82 : t->wm * t->wn >= 32 ? 0.65 : 0.5;

    return t->bk >= 16 ? e : e * 0.92;
}

static const char *plan_simt(Contract *x)
{
    const char *why = contract_plan(x);

    if (!why)
        contract_regs(x, x->t.wm * x->t.wn + 2 * (x->t.wm + x->t.wn));
    return why;
}

static void cost(Graph *g, const Group *gr, const Options *o,
                 const Variant *v, Cost *c)
{
    Contract x;
    Work w = {0};

    memset(c, 0, sizeof *c);
    if (v->form)
        x = *(const Contract *)v->form;
    else if ((c->why = open_simt(&x, g, gr, o)))
        return;
    x.t = contract_tile(v);
    if ((c->why = plan_simt(&x)))
        return;
    const Tile *t = &x.t;
    double k_steps = (double)x.c.K / t->split;
    double blocks = (double)contract_tiles(&x) * (double)x.c.batches *
                    t->split;
    w.pipe = PIPE_FMA;
    w.efficiency = efficiency(t);
    /* a warp's vectors of a are shared by its lanes */
    w.smem_bytes = blocks * k_steps * t->threads * (t->wn + t->wm / 4.0) * 4;
    w.thread_ops = 2.0 * t->wm * t->wn;
    w.thread_loads = (t->wm + t->wn) / 4.0;
    w.bank_conflict = 1;
    contract_work(&x, &w);
    model_cost(o->device, &w, c);
}

static void build(Graph *g, Group *gr, const Options *o, const Variant *v,
                  Kernel *k)
{
    Contract x;

    if (open_simt(&x, g, gr, o))
        return;
    x.t = contract_tile(v);
    if (plan_simt(&x))
        return;
    contract_begin(&x, k);
    Slot extra[] = {
        {"A_TILE", x.a.tile},
        {"B_TILE", x.b.tile},
        {"T", x.acc == T_F32 ? "float" : "int"},
        {"VEC4", x.acc == T_F32 ? "float4" : "int4"},
    };
    contract_body(&x, "contract_simt.cu.in", "contract_simt_sums.cu.in",
                  extra, 4, "TM", "TN / 4");
    k->family = "contract_simt";
}

const Family family_contract_simt = {
    "contract_simt", 1, applicable, space, cost, build,
};
