#include "model/model.h"

#include "group/groups.h"
#include "rewrite/rewrite.h"

#include <math.h>

static double pipe_rate(const Device *d, Pipe p)
{
    switch (p) {
    case PIPE_FMA: return d->fma_tflops;
    case PIPE_MMA: return d->mma_tflops;
    case PIPE_WGMMA: return d->wgmma_tflops;
    case PIPE_TF32: return d->tf32_tflops;
    case PIPE_MMA_TF32: return d->mma_tf32_tflops;
    case PIPE_MMA_I8: return d->mma_i8_tops;
    }
    return 0;
}

/* Blocks for which an SM has the registers: a scheduler gives its own to whole
 * warps. */
static int blocks_by_regs(const Device *d, int regs, int threads)
{
    int of_warp = (regs + REGS_UNIT - 1) / REGS_UNIT * REGS_UNIT * WARP;
    int warps = d->regs_sm / SCHEDULERS / of_warp * SCHEDULERS;

    return warps / ((threads + WARP - 1) / WARP);
}

/* Blocks that one SM holds at once; 0 and the reason if a block cannot run. */
static int occupancy(const Device *d, const Work *w, const char **why)
{
    double smem = (w->smem_block + KB - 1) / KB;
    int regs = (w->regs + REGS_UNIT - 1) / REGS_UNIT * REGS_UNIT;
    int threads = (w->threads + WARP - 1) / WARP * WARP; /* of whole warps */
    int n = d->blocks_sm;

    *why = NULL;
    if (w->threads > BLOCK_THREADS)
        *why = "more than 1024 threads a block";
    else if (smem > d->smem_block_kb)
        *why = "more shared memory than a block may have";
    else if (regs > THREAD_REGS)
        *why = "more than 255 registers a thread";
    else if (regs * threads > d->regs_sm)
        *why = "more registers than an SM has";
    if (*why)
        return 0;
    n = (int)fmin(n, d->threads_sm / threads);
    n = (int)fmin(n, floor(d->smem_sm_kb / (smem + 1)));
    if (regs)
        n = (int)fmin(n, w->by_warps ? blocks_by_regs(d, regs, threads)
                                     : d->regs_sm / (regs * threads));
    return n > 0 ? n : 1;
}

int model_thread_regs(const Device *d, int threads, int n)
{
    int warps = (threads + WARP - 1) / WARP * n;
    int each = (warps + SCHEDULERS - 1) / SCHEDULERS;
    int regs = d->regs_sm / SCHEDULERS / WARP / each / REGS_UNIT * REGS_UNIT;

    return regs > THREAD_REGS ? THREAD_REGS : regs;
}

/* DeepCuts, section 4.2: the reachable fraction of the peak rate. */
static double gm_ratio(const Device *d, double peak, double of_tb)
{
    return fmin(1, of_tb / (peak * KILO / d->hbm_gbs));
}

static double sm_ratio(const Device *d, double thread_ops, double coef_bc)
{
    return fmin(1, thread_ops / (d->smem_latency * coef_bc));
}

static double wb_ratio(const Device *d, double blocks)
{
    double per_sm = blocks / d->sms;

    return per_sm / ceil(per_sm);
}

static void ratios(const Device *d, const Work *w, double peak, Cost *c)
{
    double bc = w->bank_conflict > 1 ? w->bank_conflict : 1;

    c->gm_ratio = gm_ratio(d, peak, w->block_ops / fmax(w->block_bytes, 1));
    c->sm_ratio = 1;
    if (w->thread_loads > 0)
        c->sm_ratio = sm_ratio(d, w->thread_ops / w->thread_loads, bc);
    c->wb_ratio = wb_ratio(d, w->blocks);
    c->pul = c->gm_ratio * c->sm_ratio * c->wb_ratio * c->coef_r;
    c->pul_us = w->flops / (peak * MEGA * c->pul);
}

static void take(Cost *c, double us, const char *limiter, double *most)
{
    if (us > *most) {
        *most = us;
        c->limiter = limiter;
    }
}

/* A few SMs cannot ask for all of the memory's bandwidth; neither can few
 * warps, or few bytes under way, on each: latency times bandwidth, loaded. */
static double asked(const Device *d, const Work *w, double blocks,
                    double warps)
{
    double by_warps = fmin(1, (warps + d->ask_warps_first) / d->ask_warps);
    double by_copies = fmin(1, blocks * w->in_flight / (d->ask_kb * KB));

    return fmax(by_warps, by_copies);
}

/* The part of the pipe's rate that the warps of n blocks on an SM reach. */
static double pace(const Device *d, const Work *w, double n)
{
    double full = w->warps_full         ? w->warps_full
                  : w->pipe == PIPE_FMA ? d->fma_warps
                                        : d->mma_warps;
    double warps = n * w->threads / WARP, each = warps / SCHEDULERS;

    if (!w->lone)
        return fmin(1, warps / full);
    return each / ceil(each) * (each > 1 ? 1 : w->lone);
}

/* The same of all n blocks that it gets, of which it holds `resident` at once;
 * with w->lone those of the last wave are fewer. */
static double issued(const Device *d, const Work *w, double n,
                     double resident)
{
    double last = fmod(n, resident);

    if (!w->lone || n <= resident || last == 0)
        return pace(d, w, fmin(n, resident));
    return n / ((n - last) / pace(d, w, resident) + last / pace(d, w, last));
}

/* The same of an SM's whole blocks, of as many as it holds at a time, and of
 * the parts behind them. */
static double issued_late(const Device *d, const Work *w, double whole,
                          double late, double resident)
{
    double last = fmod(late, resident);
    double time = (whole + (late - last) * w->part) / pace(d, w, resident);

    if (last > 0)
        time += last * w->part / pace(d, w, last);
    return (whole + late * w->part) / time;
}

double model_us(const Device *d, double clk)
{
    return clk / (d->clock_ghz * KILO);
}

double model_room(const Device *d, double threads, double regs, double smem)
{
    double all = ceil(regs / REGS_UNIT) * REGS_UNIT * threads;
    double room = fmin(floor(d->threads_sm / threads),
                       floor((double)d->smem_sm_kb * KB / (smem + KB)));

    return fmax(1, all > 0 ? fmin(room, floor(d->regs_sm / all)) : room);
}

double model_whole_room(const Device *d, double threads, double regs,
                        double smem)
{
    double room = model_room(d, threads, 0, smem);

    if (regs > 0)
        room = fmin(room, blocks_by_regs(d, (int)ceil(regs), (int)threads));
    return fmax(1, room);
}

double model_runs(const Device *d, double run)
{
    return run < L2_LINE ? 1 + d->run_bytes * (1 / run - 1.0 / L2_LINE) : 1;
}

double model_mma_clk(const Device *d)
{
    double ops = 2.0 * MMA_M * MMA_N * MMA_K;

    return ops * SCHEDULERS * d->sms * d->clock_ghz / (d->mma_tflops * KILO);
}

/* What wgmma takes of the power that the GPU has: its clock falls until the
 * products and shared memory can be fed, on all SMs or on a few. */
static double power_us(const Device *d, const Work *w, double peak)
{
    if (w->pipe != PIPE_WGMMA && w->pipe != PIPE_TF32)
        return 0;
    double math = w->padded_flops / w->efficiency / (peak * MEGA);
    double smem = w->smem_bytes /
                  (d->smem_bytes_clk * d->sms * d->clock_ghz * KILO);
    return math * d->power_math + smem * d->power_smem;
}

/* Of two limits that hold for the whole time: near each other both count, as
 * in eighth powers; and so a variant that waits less is ahead of another one
 * that has as much to do. */
static double both(double a, double b)
{
    double more = fmax(a, b), part = fmin(a, b) / more, square = part * part;
    double fourth = square * square;

    return more > 0 ? more * sqrt(sqrt(sqrt(1 + fourth * fourth))) : 0;
}

void model_cost(const Device *d, const Work *w, Cost *c)
{
    double peak = pipe_rate(d, w->pipe);
    int resident = occupancy(d, w, &c->why);

    c->blocks = w->blocks;
    c->threads = w->threads;
    c->regs = w->regs;
    c->smem_block = w->smem_block;
    c->coef_r = resident > 0 && peak > 0;
    if (peak <= 0)
        c->why = "the GPU has no such pipe";
    ratios(d, w, peak > 0 ? peak : 1, c);
    if (!c->coef_r) {
        c->us = INFINITY;
        c->limiter = "does not fit";
        return;
    }
    /* Blocks share SMs evenly; the fullest SM decides. */
    double sms = w->cluster > 2 && d->cluster_sms ? d->cluster_sms : d->sms;
    double whole = (w->blocks - w->late) / sms, late = ceil(w->late / sms);
    double per_sm = w->late ? whole + late : ceil(w->blocks / sms);
    double busy = fmin(w->blocks, d->sms) / d->sms;
    double balance = w->late ? (whole + w->late * w->part / sms) /
                                   (whole + late * w->part)
                             : w->blocks / (per_sm * d->sms);
    double warps = fmin(resident, per_sm) * w->threads / WARP;
    double issue = w->late ? issued_late(d, w, whole, late, resident)
                           : issued(d, w, per_sm, resident);
    double reach = fmin(1, busy / d->ask_sms) *
                   asked(d, w, fmin(resident, per_sm), warps);
    double eff = w->efficiency > 0 ? w->efficiency : 1;
    double scatter = w->scatter > 1 ? w->scatter : 1;
    double padded = fmax(w->padded_flops, w->flops);

    c->hbm = w->hbm_bytes / (d->hbm_gbs * KILO) / reach;
    c->l2 = w->l2_bytes * scatter / (d->l2_gbs * KILO) / reach;
    c->smem = w->smem_bytes /
              (d->smem_bytes_clk * d->sms * d->clock_ghz * KILO) / balance;
    c->math = padded / (peak * MEGA * eff * issue) / balance;
    c->special = w->special / (d->special_gops * KILO) / balance;
    double waves = w->waves > 0 ? w->waves
                                : ceil(w->blocks / (sms * resident));
    double load = d->hbm_latency / (d->clock_ghz * KILO);
    c->latency = (w->fill_us + w->serial_steps * load) *
                 fmin(waves, d->late_waves);

    double most = 0;
    c->limiter = "launch";
    take(c, w->serial_us * waves, "latency", &most);
    take(c, c->hbm, "HBM", &most);
    take(c, c->l2, "L2", &most);
    take(c, c->smem, "shared memory", &most);
    take(c, c->math, w->pipe == PIPE_FMA ? "FMA" : "tensor cores", &most);
    take(c, c->special, "special functions", &most);
    double limit = most;
    take(c, power_us(d, w, peak), "power", &most);
    most = both(limit, power_us(d, w, peak));
    if (w->in_turn)
        most += fmin(fmax(c->hbm, c->l2), c->math) /
                fmax(1, fmin(waves, resident * w->in_turn));
    if (c->latency + d->launch_us > most)
        c->limiter = c->latency > d->launch_us ? "latency" : "launch";
    c->us = d->launch_us + c->latency + most;
}

double model_potential(const Device *d, Pipe p, double flops, double blocks,
                       double block_ops, double thread_ops)
{
    double peak = pipe_rate(d, p);

    if (peak <= 0)
        return 0;
    return flops / (peak * MEGA * gm_ratio(d, peak, block_ops) *
                    sm_ratio(d, thread_ops, 1) * wb_ratio(d, blocks));
}

double model_least(const Device *d, Pipe p, double flops)
{
    double rate = pipe_rate(d, p);

    return rate > 0 ? d->launch_us + flops / (rate * MEGA) : 0;
}

bool model_too_large(const Device *d, double bytes)
{
    return bytes > d->l2_mb * d->l2_keeps * MEGA;
}

static double whole_bytes(const Tensor *t)
{
    return (double)tensor_elems(t) * type_bytes(t->type);
}

bool model_in_hbm(const Device *d, const Tensor *t)
{
    return tensor_is_constant(t) || t->role == ROLE_INPUT ||
           model_too_large(d, whole_bytes(t));
}

bool model_leaves(const Device *d, const Tensor *t)
{
    return t->role == ROLE_OUTPUT || model_too_large(d, whole_bytes(t));
}

/* Bytes that pass the L2: of weights and of what is too large to stay there
 * all, of the rest half. */
static double hbm_share(const Device *d, const Tensor *t, double bytes)
{
    return tensor_is_constant(t) || model_too_large(d, bytes) ? bytes
                                                             : bytes / 2;
}

/* Of a tensor, what is read of it: slices, each once. */
typedef struct Touched {
    Graph *g;
    const Device *d;
    const Group *gr;
    struct Slice {
        const Expr *read;
        double share; /* of the tensor */
    } *seen;
    int n, cap;
    double bytes;
} Touched;

/* Are both in one place of every dimension that one of them does not walk? */
static bool same_slice(const Expr *a, const Expr *b)
{
    for (int d = 0; d < a->tensor->rank; d++)
        if ((idx_is_const(a->at[d]) || idx_is_const(b->at[d])) &&
            a->at[d] != b->at[d])
            return false;
    return true;
}

/* How much of its tensor e reads that no read before it has. Of a few slices
 * (q, k, v) each counts as all: a product that takes in the bias of one saves
 * something only with the others', and they are tried one by one. */
static double fresh_share(Touched *t, const Expr *e)
{
    double share = 1, left = 1;

    for (int i = 0; i < t->n; i++) {
        if (t->seen[i].read->tensor != e->tensor)
            continue;
        if (same_slice(t->seen[i].read, e))
            return 0;
        left -= t->seen[i].share;
    }
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_is_const(e->at[d]) && e->tensor->dim[d] > FEW_SLICES)
            share /= (double)e->tensor->dim[d];
    share = fmax(fmin(share, left), 0);
    VEC_PUSH(t->g->arena, t->seen, t->n, t->cap) = (struct Slice){e, share};
    return share;
}

/* Whether another dimension of the read than `but` is walked by v. */
static bool walks_other(const Expr *e, int but, const Var *v)
{
    for (int d = 0; d < e->tensor->rank; d++)
        if (d != but && idx_uses(e->at[d], v))
            return true;
    return false;
}

/* How often the group picks something by the index of dimension d, at each
 * place of the others: at most all that there is. */
static double picked(const Group *gr, const Expr *e, int d)
{
    double n = 1;

    for (int i = 0; i < gr->n_rows + gr->n_cols; i++) {
        const Var *v =
            i < gr->n_rows ? gr->rows[i] : gr->cols[i - gr->n_rows];
        if (idx_uses(e->at[d], v) && !walks_other(e, d, v))
            n *= (double)v->extent;
    }
    return fmin(n, (double)e->tensor->dim[d]);
}

static double read_bytes(const Device *d, const Group *gr, const Expr *e)
{
    const Tensor *t = e->tensor;
    double bytes = (double)tensor_elems(t) * type_bytes(e->type);

    for (int i = 0; i < t->rank; i++)
        if (idx_has_data(e->at[i])) /* a gather touches a part */
            bytes *= picked(gr, e, i) / (double)t->dim[i];
    return hbm_share(d, t, bytes);
}

static void add_read(const Expr *e, void *ctx)
{
    Touched *t = ctx;

    if (e->kind != E_READ)
        return;
    double share = fresh_share(t, e);
    if (share > 0)
        t->bytes += share * read_bytes(t->d, t->gr, e) *
                    group_needs(t->g, t->gr, e);
}

static double stored_bytes(const Group *gr, const Step *s)
{
    double n = (double)group_rows(gr) * type_bytes(s->tensor->type);

    return s->over_cols && s->op == R_NONE ? n * (double)group_cols(gr) : n;
}

/* What step i stores, and whether that passes the L2: all that the group stores
 * of its tensor does, or half of it. */
static double written_bytes(const Group *gr, const Device *d, int i)
{
    const Step *s = &gr->step[i];
    double own = stored_bytes(gr, s), all = 0;

    for (int k = 0; k < gr->n_step; k++)
        if (gr->step[k].tensor == s->tensor)
            all += stored_bytes(gr, &gr->step[k]);
    return hbm_share(d, s->tensor, all) * own / all * needed_share(s->needed);
}

static void count_bytes(Graph *g, const Group *gr, const Device *d, double *in,
                        double *out)
{
    Touched t = {g, d, gr, .n = 0};
    double written = 0;

    for (int i = 0; i < gr->n_step; i++) {
        expr_visit(gr->step[i].value, add_read, &t);
        if (gr->step[i].tensor)
            written += written_bytes(gr, d, i);
    }
    for (int i = 0; gr->pieces && gr->pieces->down && i < gr->pieces->n_step;
         i++) {
        const Step *s = &gr->pieces->step[i];
        written += hbm_share(d, s->tensor,
                             (double)tensor_elems(s->tensor) * sizeof(float));
    }
    *in = t.bytes;
    *out = written;
}

double model_group_bytes(Graph *g, const Group *gr, const Device *d, double *in,
                         double *out)
{
    GroupKnown *known = group_known(gr);

    if (known->bytes_on != d)
        count_bytes(g, gr, d, &known->in, &known->out);
    known->bytes_on = d;
    if (in)
        *in = known->in;
    if (out)
        *out = known->out;
    return known->in + known->out;
}
