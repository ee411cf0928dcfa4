#include "family/contract/contract.h"
#include "group/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Planning: the numbers of a contraction kernel. */

enum { SUM_PAD = 8 };

/* ---- sides ------------------------------------------------------------- */

static void make_side(Graph *g, Side *s, const char *name, const char *size,
                      const Var *const *v, int n, int64_t extent)
{
    int64_t radix = 1;

    *s = (Side){.name = name, .size = size, .v = v, .n = n, .extent = extent};
    s->linear = idx_new_var(g->pool, name, extent);
    for (int i = n - 1; i >= 0; i--) {
        const Idx *e = idx_var(g->pool, s->linear);
        e = idx_floor(g->pool, e, radix);
        radix *= v[i]->extent;
        if (i > 0)
            e = idx_mod(g->pool, e, v[i]->extent);
        s->sub[i] = (Subst){v[i], e};
    }
}

/* ---- loads ------------------------------------------------------------- */

static bool zero(const Expr *e)
{
    return !e || (e->kind == E_CONST && e->num == 0);
}

static bool in_side(const Side *s, const Var *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == v)
            return true;
    return false;
}

/* Whether e depends on the variables of s. */
static bool uses_side(const Side *s, const Idx *e)
{
    for (int i = 0; i < s->n; i++)
        if (idx_uses(e, s->v[i]))
            return true;
    return false;
}

/* e written with the linear number where that needs no division. */
static const Idx *as_linear(Graph *g, const Side *s, const Idx *e)
{
    if (s->n < 2)
        return e;
    const Idx *l = idx_subst(g->pool, e, s->sub, s->n);
    for (int i = 0; i < l->n; i++)
        if (l->term[i].atom->kind != ATOM_VAR)
            return e;
    return l;
}

/* Offset terms without k; the rest goes to k_part. */
void contract_split_offset(Contract *x, Load *l)
{
    IdxPool *p = x->g->pool;
    const Idx *e = l->op->offset;
    const Idx *rest = idx_addc(p, e, -e->k), *k_part = idx_const(p, 0);

    for (int i = 0; i < e->n; i++) {
        const Var *v = e->term[i].atom->var;
        bool k = e->term[i].atom->kind == ATOM_VAR && in_side(&x->k, v);
        if (k)
            k_part = idx_add(p, k_part, idx_scale(p, idx_var(p, v),
                                                  e->term[i].c));
    }
    rest = idx_sub(p, rest, k_part);
    if (!uses_side(&x->k, rest)) {
        l->row_part = idx_addc(p, rest, e->k);
        l->k_part = k_part;
    } else {
        l->row_part = idx_const(p, 0);
        l->k_part = e;
    }
    l->row_part = as_linear(x->g, l->side, l->row_part);
    l->k_part = as_linear(x->g, &x->k, l->k_part);
}

/* Whether the value or address in the loop over k needs row variable v. */
static bool needs(const Load *l, const Var *v)
{
    if (!l->plain)
        return expr_uses(l->op->e, v);
    return guard_uses(l->op->in, v) || idx_uses(l->k_part, v);
}

typedef struct Largest {
    const Expr *read;
    int64_t elems;
} Largest;

static void find_largest(const Expr *e, void *ctx)
{
    Largest *most = ctx;

    if (e->kind == E_READ && tensor_elems(e->tensor) > most->elems)
        *most = (Largest){e, tensor_elems(e->tensor)};
}

/* Whether most of a computed factor's reads are neighbours along k. */
static bool computed_along_k(const Contract *x, const Operand *o)
{
    Largest most = {NULL, 0};
    const Var *k = x->k.n ? x->k.v[x->k.n - 1] : NULL;

    if (o->read || !k)
        return false;
    expr_visit(o->e, find_largest, &most);
    return most.read && k->extent >= 8 &&
           idx_coef(tensor_offset(x->g, most.read->tensor, most.read->at),
                    k) == 1;
}

/* A tile of what lies along k: its rows as they lie, or turned. */
static void turn(const Contract *x, Load *l, bool turned)
{
    int size = type_bytes(x->elem);

    l->k_major = l->along_k && !turned;
    l->turned = l->along_k && turned;
    if (!l->along_k)
        return;
    l->vec = l->turned ? 1 : l->k_vec;
    l->bytes = l->vec * size;
    if (l->turned)
        l->async = l->plain && !l->converted && size == 4 &&
                   x->o->device->sm >= 80;
}

static bool is_16_bits(Type t)
{
    return t == T_F16 || t == T_BF16;
}

/* Whether vectors through registers lie in one row, all of it. */
static bool whole_vectors(const Contract *x, const Load *l)
{
    int64_t extent = l->along_k ? x->c.K : l->side->extent;

    return l->converted && extent % l->vec == 0;
}

static void plan_kind(Contract *x, Load *l)
{
    const Operand *o = l->op;
    const Tensor *t = o->read ? o->read->tensor : NULL;
    bool along_row = o->along && in_side(l->side, o->along);
    int most = 16 / type_bytes(x->elem);

    l->along_k = (o->along && in_side(&x->k, o->along)) ||
                 computed_along_k(x, o);
    l->vec = o->vec < most ? o->vec : most;
    if (!along_row && !l->along_k)
        l->vec = 1;
    l->bytes = l->vec * type_bytes(x->elem);
    l->converted = t && x->elem == T_F32 && is_16_bits(t->type) &&
                   zero(o->read->outside);
    l->plain = l->converted ||
               (t && t->type == x->elem && zero(o->read->outside));
    l->async = l->plain && !l->converted && l->bytes >= 4 &&
               x->o->device->sm >= 80;
    if (!l->async && !whole_vectors(x, l))
        l->vec = 1;
    l->k_vec = l->along_k ? l->vec : 1;
    turn(x, l, x->turn);
    /* Rows of a fragment fall on different banks. */
    l->pad = x->mma && !(x->elem == T_F32 && l->k_major) ? 8 : 4;
    if (x->elem == T_I8)
        l->pad = 16;
}

/* What e has besides c times the side's number. */
static const Idx *beyond(Contract *x, const Side *s, const Idx *e, int64_t *c)
{
    const Var *v = s->n == 1 ? s->v[0] : s->linear;

    *c = idx_coef(e, v);
    return idx_sub(x->g->pool, e,
                   idx_scale(x->g->pool, idx_var(x->g->pool, v), *c));
}

static int64_t even_stride(Contract *x, const Load *l)
{
    int64_t row, k;

    if (!x->turn || !l->along_k || !l->async || l->n_need ||
        guard_truth(l->op->in) != ALWAYS)
        return 0;
    const Idx *rows = beyond(x, l->side, l->row_part, &row);
    const Idx *rest = beyond(x, &x->k, l->k_part, &k);
    if (uses_side(l->side, rows) || idx_uses(rows, l->side->linear) ||
        k != 1 || !idx_is_const(rest) || rest->k != 0)
        return 0;
    return row;
}

static void open_load(Contract *x, Load *l)
{
    plan_kind(x, l);
    if (l->plain)
        contract_split_offset(x, l);
    l->n_need = 0;
    for (int i = 0; i < l->side->n; i++)
        if (needs(l, l->side->v[i]))
            l->need[l->n_need++] = l->side->v[i];
    l->even = even_stride(x, l);
}

void contract_loads(Contract *x)
{
    x->a = (Load){.op = &x->c.a, .side = &x->m, .size = "BM"};
    x->b = (Load){.op = &x->c.b, .side = &x->n, .size = "BN"};
    open_load(x, &x->a);
    open_load(x, &x->b);
}

/* The k that neighbouring threads copy of one row of a turned tile: 8 of four
 * rows fall on different banks; more where there are threads for more. */
static int turned_step(const Tile *t, int rows)
{
    int step = 8;

    while (step < t->bk && t->threads / step > rows)
        step *= 2;
    return step < t->bk ? step : t->bk;
}

static const char *plan_load(const ContractPlan *p, Load *l, int rows)
{
    const Tile *t = &p->t;
    int64_t K = p->f->c.K;

    l->k_step = l->turned ? turned_step(t, rows) : t->bk;
    int minor = l->along_k ? l->k_step : rows;
    int major = l->along_k ? rows : t->bk;

    l->rows = rows;
    l->major = major;
    l->chunks = minor / l->vec;
    if (!l->chunks || l->chunks > t->threads || t->threads % l->chunks)
        return "a tile's row does not divide the threads";
    l->step = t->threads / l->chunks;
    l->partial = l->step > major;
    l->passes = l->partial ? 1 : major / l->step;
    if (!l->partial && major % l->step)
        return "the threads do not divide a tile";
    l->copies = l->passes * (l->turned ? t->bk / l->k_step : 1);
    l->stride = l->partial || l->side->extent % rows || K % t->bk ? 0 : l->even;
    return l->copies > 64 ? "more than 64 copies a thread" : NULL;
}

/* Blocks of a cluster read each other's sums; else they go through memory. */
static bool in_cluster(const ContractPlan *p)
{
    int s = p->t.split;

    return p->f->o->device->sm >= 90 && !p->t.whole &&
           (s == 2 || s == 4 || s == 8);
}

const char *contract_plan(ContractPlan *p, const Contract *f, const Tile *t,
                          bool rows)
{
    *p = (ContractPlan){.f = f, .t = *t, .a = f->a, .b = f->b, .rows = rows};
    p->parts =
        t->threads * t->wm * t->wn / (t->bm * t->bn * (f->mma ? 32 : 1));
    if (f->turn)
        turn(f, &p->a, !rows);
    const char *why = plan_load(p, &p->a, t->bm);

    if (!why)
        why = plan_load(p, &p->b, t->bn);
    if (!why && contract_tiles(f, t) > INT32_MAX / 32)
        why = "more tiles than a grid has blocks for";
    const char *no_room = contract_resplit(p, t->split);
    if (!why)
        why = contract_check_reduced(p);
    return why ? why : no_room;
}

const char *contract_resplit(ContractPlan *p, int split)
{
    p->t.split = split;
    p->cluster = in_cluster(p);
    if (split > 1 && p->f->gr->pieces)
        return contract_check_reduced(p);
    return (double)contract_smem(p) / 1024 > p->f->o->device->smem_block_kb
               ? "more shared memory than a block may have"
               : NULL;
}

bool contract_async(const Load *a, const Load *b)
{
    return a->async || b->async;
}

/* ---- the whole --------------------------------------------------------- */

bool contract_is_tf32(const Operand *o)
{
    return is_16_bits(o->type) || (o->read && o->read->tensor->tf32);
}

static bool special(const Expr *e)
{
    return (e->kind == E_UNARY && e->fn >= F_SQRT && e->fn <= F_LGAMMA) ||
           (e->kind == E_UNARY && e->fn >= F_NORMCDF) ||
           (e->kind == E_BINARY &&
            (e->fn == F_DIV || e->fn == F_POW || e->fn == F_GELU16));
}

typedef struct Specials {
    Contract *x;
    const Expr *of; /* what they are counted in */
} Specials;

/* exp and rsqrt are one instruction of the special pipe, others several; a
 * logistic function's slope has the function's own. */
static void count_special(const Expr *e, void *ctx)
{
    const Specials *s = ctx;
    Contract *x = s->x;
    bool one = e->fn == F_EXP || e->fn == F_RSQRT || e->fn == F_EXP2 ||
               e->fn == F_NORMCDF || e->fn == F_GELU;

    if (!special(e) || (e->fn == F_SLOPE &&
                        expr_calls(s->of, F_LOGISTIC, e->arg[0])))
        return;
    x->special += e->fn == F_LOGISTIC || e->fn == F_SLOPE ? 2
                  : e->kind == E_UNARY && !one            ? 3
                                                          : 1;
    x->library |= e->fn < F_NORMCDF;
}

double contract_specials(const Contract *x, const Expr *e)
{
    Contract only = {.g = x->g};

    expr_visit(e, count_special, &(Specials){&only, e});
    return only.special;
}

static void count_read(const Expr *e, void *ctx)
{
    if (e->kind == E_READ)
        *(double *)ctx += 1.5;
}

const Var *contract_fast(const Contract *x)
{
    int n = x->c.n_n - (x->c.parts > 1);

    return n ? x->c.n[n - 1] : NULL;
}

/* Whether columns are stored one by one: rows end within a vector. */
static bool one_by_one(const Contract *x)
{
    const Var *v = contract_fast(x);

    if (!v || v->extent % 4 == 0)
        return false;
    for (int i = 0; i < x->gr->n_step; i++) {
        const Step *s = &x->gr->step[i];
        if (!s->tensor)
            continue;
        const Idx *at = tensor_offset(x->g, s->tensor, s->store);
        at = idx_sub(x->g->pool, at, idx_var(x->g->pool, v));
        if (tensor_run(s->tensor, at, v->extent) < (v->extent + 3) / 4 * 4)
            return true;
    }
    return false;
}

/* What the group stores is f16 or bf16, and its sums are of many products. */
static bool to_16_bits(const Contract *x)
{
    bool reduced = x->gr->pieces && x->gr->pieces->reduced;

    for (int i = 0; i < x->gr->n_step; i++) {
        const Tensor *t = x->gr->step[i].tensor;
        if (t && t->type != T_F16 && t->type != T_BF16)
            return false;
    }
    return x->c.K >= FUNCTIONS_MANY && !reduced;
}

static void make_values(Contract *x)
{
    int n = x->gr->n_step;

    x->value = arena_array(x->g->arena, const Expr *, n);
    x->gone = arena_array(x->g->arena, bool, n);
    for (int i = 0; i < n; i++) {
        x->value[i] = x->gr->step[i].value;
        x->gone[i] = false;
    }
    if (to_16_bits(x))
        functions_to_16_bits(x->g, x->gr, x->value, x->gone);
}

/* Behind x->c. */
/* How far the results of neighbouring threads lie apart, in elements. */
static double stores_apart(const Contract *x, const Idx *offset)
{
    double least = 0;

    for (int i = 0; i < x->c.n_m + x->c.n_n; i++) {
        const Var *v = i < x->c.n_m ? x->c.m[i] : x->c.n[i - x->c.n_m];
        double step = (double)llabs(idx_coef(offset, v));
        if (v->extent > 1 && step > 0 && (least == 0 || step < least))
            least = step;
    }
    return least;
}

/* Results that are neighbours of a batch alone, or of other launches' results,
 * are stored to parts of sectors. */
static double l2_stores(const Contract *x)
{
    double bytes = x->out_bytes;

    for (int i = 0; i < x->gr->n_step; i++) {
        const Step *s = &x->gr->step[i];
        if (!s->tensor)
            continue;
        int size = type_bytes(s->tensor->type);
        double apart = stores_apart(
            x, tensor_offset(x->g, s->tensor, s->store));
        if (apart > 1)
            bytes += (double)group_rows(x->gr) * size *
                     (fmin(apart, (double)L2_SECTOR / size) *
                          x->o->device->part_sector - 1);
    }
    return bytes;
}

static bool finish_open(Contract *x, Graph *g, const Group *gr,
                        const Options *o, const char **why)
{
    Contraction *c = &x->c;

    x->g = g;
    x->gr = gr;
    x->o = o;
    if (c->parts > 2) {
        *why = "more than two sums of a point";
        return false;
    }
    make_side(g, &x->m, "m", "M", c->m, c->n_m, c->M);
    make_side(g, &x->n, "n", "N", c->n, c->n_n, c->N);
    make_side(g, &x->k, "k", "K", c->k, c->n_k, c->K);
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_SUM)
            x->acc = type_is_float(gr->step[i].type) ? T_F32 : T_I32;
    x->elem = x->acc;
    make_values(x);
    x->ops = one_by_one(x) ? 11 : 3;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op == R_NONE && !s->over_cols && !x->gone[i]) {
            expr_visit(x->value[i], count_special, &(Specials){x, x->value[i]});
            expr_visit(x->value[i], count_read, &x->ops);
            x->ops += expr_ops(x->value[i]);
        }
        x->ops += s->tensor ? 2 : 0;
    }
    for (int i = 0; gr->pieces && gr->pieces->reduced &&
                    i < gr->pieces->n_step; i++) {
        const Expr *value = gr->pieces->step[i].value;
        expr_visit(value, count_special, &(Specials){x, value});
    }
    x->ops += contract_reduced_ops(x, false);
    x->ops += x->c.range != NULL;
    x->ops /= x->c.parts; /* of a column, of which a point has some */
    x->special /= x->c.parts;
    double in;
    x->hbm_bytes = model_group_bytes(x->g, gr, x->o->device, &in,
                                     &x->out_bytes);
    x->out_l2 = l2_stores(x);
    contract_needed(x);
    contract_bounds(x);
    return true;
}

bool contract_open(Contract *x, Graph *g, const Group *gr, const Options *o,
                   const char **why)
{
    GroupKnown *known = group_known(gr);

    if (!known->contract && !known->no_contract) {
        Contract *form = arena_new_of(g->arena, Contract);
        if (group_ranged(g, gr, &form->c, &known->no_contract) &&
            finish_open(form, g, gr, o, &known->no_contract))
            known->contract = form;
        else
            arena_give_back(g->arena, form, sizeof *form);
    }
    *why = known->no_contract;
    if (!known->contract)
        return false;
    *x = *(const Contract *)known->contract;
    return true;
}

void contract_turn(Contract *x)
{
    const Contraction c = x->c;

    x->c.a = c.b;
    x->c.b = c.a;
    memcpy(x->c.m, c.n, sizeof c.n);
    memcpy(x->c.n, c.m, sizeof c.m);
    x->c.n_m = c.n_n;
    x->c.n_n = c.n_m;
    x->c.M = c.N;
    x->c.N = c.M;
    make_side(x->g, &x->m, "m", "M", x->c.m, x->c.n_m, x->c.M);
    make_side(x->g, &x->n, "n", "N", x->c.n, x->c.n_n, x->c.N);
    x->across = true;
}

bool contract_open_pairs(Contract *x, Graph *g, const Group *gr,
                         const Options *o, const char **why)
{
    memset(x, 0, sizeof *x);
    return group_pairs(g, gr, &x->c, why) && finish_open(x, g, gr, o, why);
}

/* ---- sizes ------------------------------------------------------------- */

static size_t tile_elems(const ContractPlan *p, const Load *l)
{
    return l->k_major ? (size_t)l->rows * (size_t)(p->t.bk + l->pad)
                      : (size_t)p->t.bk * (size_t)(l->rows + l->pad);
}

size_t contract_ring(const ContractPlan *p)
{
    size_t elems = tile_elems(p, &p->a) + tile_elems(p, &p->b);

    return elems * (size_t)(p->t.stages * type_bytes(p->f->elem));
}

static size_t sums_bytes(const ContractPlan *p)
{
    size_t parts = p->parts > 1 ? (size_t)p->parts : 1;

    return parts * (size_t)p->t.bm * (size_t)(p->t.bn + SUM_PAD) * 4;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t contract_tiles(const Contract *f, const Tile *t)
{
    return ceil_div(f->c.M, t->bm) * ceil_div(f->c.N, t->bn);
}

int64_t contract_blocks(const Contract *f, const Tile *t)
{
    return t->whole + (contract_tiles(f, t) - t->whole) * t->split;
}

static bool through_memory(const ContractPlan *p)
{
    return p->t.split > 1 && !p->cluster;
}

size_t contract_used(const ContractPlan *p)
{
    size_t ring = contract_ring(p), sums = sums_bytes(p);

    return (ring > sums ? ring : sums) + (through_memory(p) ? 16 : 0);
}

int contract_room(const ContractPlan *p)
{
    const Device *d = p->f->o->device;
    double blocks = (double)contract_blocks(p->f, &p->t) *
                    (double)p->f->c.batches;
    int n = (int)model_room(d, p->t.threads, p->regs, (double)contract_used(p));

    if (p->t.whole)
        while (n > 1 && p->t.whole % (d->sms * n))
            n--;
    else if (through_memory(p) && n > ceil(blocks / d->sms))
        n = (int)ceil(blocks / d->sms);
    return n;
}

size_t contract_smem(const ContractPlan *p)
{
    const Device *d = p->f->o->device;
    size_t used = contract_used(p), most = 0;

    /* one more would find no room */
    if (through_memory(p) && !p->f->mma)
        most = (size_t)(d->smem_sm_kb * KB / (contract_room(p) + 1) - KB + 16);
    return used > most ? used : most;
}

/* Registers that an operand's copies keep from tile to tile. */
static int load_regs(const Load *l)
{
    int rows = (l->along_k ? l->passes : 1) * (1 + l->n_need);

    return rows + (l->async ? 0 : l->copies * l->vec);
}

void contract_regs(ContractPlan *p, int inner)
{
    int regs = inner + 40 + load_regs(&p->a) + load_regs(&p->b);

    p->regs = regs > 255 ? 255 : regs;
}

/* Whether split has s already. */
static bool has_split(const int *split, int n, int s)
{
    for (int i = 0; i < n; i++)
        if (split[i] == s)
            return true;
    return false;
}

int contract_splits(const Contract *x, const Tile *t, int split[MAX_SPLITS])
{
    static const int all[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    int64_t k_tiles = ceil_div(x->c.K, t->bk);
    int64_t blocks = contract_tiles(x, t) * x->c.batches;
    int n = 0;

    for (int i = 0; i < 10; i++) {
        int s = all[i];
        if (s > 1 && (k_tiles < 2 * s ||
                      blocks * s > 2 * x->o->device->sms))
            break;
        if (x->o->device->sm >= 90 && s < 8 && (s & (s - 1)))
            continue; /* no size of a cluster */
        split[n++] = s;
    }
    /* as many as make a whole round of the SMs, or several */
    for (int r = 1; r <= 3 && !x->mma; r++) {
        int64_t s = r * x->o->device->sms / blocks;
        if (s > 2 && s <= 32 && k_tiles >= 4 * s &&
            !has_split(split, n, (int)s))
            split[n++] = (int)s;
    }
    return n;
}

bool contract_late(const Contract *x, Tile *t, int room)
{
    enum { MOST = 8, PARTS = 32 }; /* a part costs a 32nd of a tile */
    int64_t slots = (int64_t)x->o->device->sms * room;
    int64_t tiles = contract_tiles(x, t);
    int64_t steps = ceil_div(x->c.K, t->bk), least = MOST * PARTS;

    t->whole = (int)(tiles / slots * slots);
    if (x->c.batches > 1 || !t->whole || t->whole == tiles)
        return false;
    t->split = 1;
    for (int s = 2; s <= MOST && steps >= 4 * s; s++) {
        int64_t rounds = ceil_div((tiles - t->whole) * s, slots);
        int64_t time = rounds * MOST * PARTS / s + MOST * s;
        if (time < least) {
            least = time;
            t->split = s;
        }
    }
    return t->split > 1;
}

Tile contract_tile(const Variant *v)
{
    const int *k = v->knob;

    return (Tile){.bm = k[0], .bn = k[1], .bk = k[2], .stages = k[3],
                  .wm = k[4], .wn = k[5], .split = k[6], .threads = k[7],
                  .whole = k[8]};
}

void contract_knobs(const Tile *t, Variant *v)
{
    int knob[] = {t->bm, t->bn, t->bk, t->stages,
                  t->wm, t->wn, t->split, t->threads, t->whole};

    memcpy(v->knob, knob, sizeof knob);
    v->text = NULL;
}

const char *contract_text(const Contract *x, const Tile *t)
{
    const char *who = x->mma ? "w" : "t";

    return arena_printf(x->g->arena,
                        "bm=%d bn=%d bk=%d stages=%d %sm=%d %sn=%d split=%d",
                        t->bm, t->bn, t->bk, t->stages, who, t->wm, who,
                        t->wn, t->split);
}
