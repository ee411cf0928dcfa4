#include "search/explain.h"

#include "group/groups.h"
#include "search/offer.h"

#include <math.h>
#include <stdlib.h>

/* The user's own line; behind it the library's, if it is written there. */
static void put_statement(Buf *b, const Stmt *s)
{
    const Span *at = &s->at, *call = &s->call;

    if (!call->source)
        call = at;
    if (!call->source) {
        buf_printf(b, "      %s\n", s->path);
        return;
    }
    buf_printf(b, "      %s:%d  %s", call->source->name, call->line, s->path);
    if (at->source && (at->source != call->source || at->line != call->line))
        buf_printf(b, "  (%s:%d)", at->source->name, at->line);
    buf_puts(b, "\n");
}

static bool fused_into(const Group *gr, const Stmt *s)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i] == s)
            return true;
    return false;
}

static void put_refusal(Buf *b, const Refusal *r)
{
    if (r->again)
        buf_printf(b, "    '%s' is not computed again in its readers: %.2f us "
                      "more\n", r->tensor->name, r->fused_us - r->apart_us);
    else if (r->why)
        buf_printf(b, "    not fused with '%s' over '%s': %s\n",
                   r->consumer->path, r->tensor->name, r->why);
    else
        buf_printf(b, "    not fused with '%s' over '%s': %.2f us together, "
                      "%.2f us apart\n", r->consumer->path, r->tensor->name,
                   r->fused_us, r->apart_us);
}

/* Each once: a tensor that is read in several ways has several. */
static void put_refusals(Buf *b, const Selection *s, const Group *gr)
{
    Buf all = {0};

    for (int i = 0; i < s->n_refusal; i++) {
        Buf one = {0};
        if (!fused_into(gr, s->refusal[i].producer))
            continue;
        put_refusal(&one, &s->refusal[i]);
        if (!strstr(buf_text(&all), buf_text(&one)))
            buf_puts(&all, buf_text(&one));
        buf_free(&one);
    }
    buf_puts(b, buf_text(&all));
    buf_free(&all);
}

/* Where the user overruled the model. */
static void put_notes(Buf *b, const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++) {
        const Stmt *s = gr->stmt[i];
        if (s->notes & NOTE_NOFUSE)
            buf_printf(b, "    '%s' is kept alone by @nofuse\n", s->path);
        for (int k = 0; k < s->n_with; k++)
            buf_printf(b, "    '%s' is to be with '%s' by @fuse\n", s->path,
                       s->with[k]->name);
    }
}

static void put_again(Buf *b, const Group *gr)
{
    for (int k = 0; k < gr->n_again; k++)
        buf_printf(b, "      %s, computed in every reader\n",
                   gr->again[k]->path);
}

/* What it stores in a part of another tensor, which so needs no copy. */
static void put_guests(Buf *b, const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *t = gr->step[i].tensor, *in = t ? t->host : NULL;
        int64_t first = in ? t->first : 0;
        bool said = false;

        for (int k = 0; k < i; k++)
            said |= gr->step[k].tensor == t;
        for (; in && in->host; in = in->host)
            first += in->first;
        if (in && !said)
            buf_printf(b, "    '%s' lies in '%s' from element %lld on: it is "
                          "not copied there\n", t->name, in->name,
                       (long long)first);
    }
}

/* A product with an f32 factor stays off the tensor cores: say which cast
 * would change it. */
typedef struct Wide {
    const Tensor *f32, *narrow;
} Wide;

static void note_types(const Expr *e, void *ctx)
{
    Wide *w = ctx;

    if (e->kind != E_READ)
        return;
    if (e->tensor->type == T_F32)
        w->f32 = e->tensor;
    if (e->tensor->type == T_F16 || e->tensor->type == T_BF16)
        w->narrow = e->tensor;
}

static void put_casts(Buf *b, const Group *gr)
{
    const Step *s = &gr->step[0];
    Wide w = {0};

    if (strcmp(gr->family->name, "contract_simt"))
        return;
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_SUM)
            s = &gr->step[i];
    expr_visit(s->value, note_types, &w);
    if (w.f32 && w.narrow)
        buf_printf(b, "    off the tensor cores because '%s' is f32; "
                      "defined as '%s : %s = ...' it would be on them\n",
                   w.f32->name, w.f32->name, type_name(w.narrow->type));
}

/* How the launch follows the one before it, and how the next follows. */
static void put_edges(Buf *b, const Launch *l)
{
    static const char *const begins[] = {
        [TRIGGER_EXIT] = "when this one's blocks have ended",
        [TRIGGER_RUNNING] = "when those before this one have ended",
        [TRIGGER_START] = "with this one",
    };

    if (l->beside)
        buf_puts(b, "    runs beside the launches behind it\n");
    if (l->join != JOIN_NONE)
        buf_puts(b, "    waits for launches beside those before it\n");
    if (!l->kernel->waits || l->beside)
        return;
    buf_printf(b, "    %s", l->dependent ? "overlaps with the launch before it"
                                         : "begins when all before has ended");
    if (l->kernel->trigger_why)
        buf_printf(b, "; the next may begin %s: %s",
                   begins[l->kernel->trigger], l->kernel->trigger_why);
    buf_putc(b, '\n');
}

static void put_group(Buf *b, const Selection *s, const Launch *l, int i)
{
    Group *gr = l->group;
    const Choice *c = choose_variant((Selection *)s, gr);
    Cost cost;

    choice_cost(c, gr->variant, &cost);
    buf_printf(b, "  %3d %s\n", i, l->kernel->name);
    buf_printf(b, "    %s, %s  (%d variants)\n", c->family->name,
               choice_text(c, gr->variant), c->n_variant);
    buf_printf(b, "    predicted %.2f us, limited by %s; HBM %.2f, L2 %.2f, "
                  "shared %.2f, math %.2f, latency %.2f\n",
               cost.us, cost.limiter, cost.hbm, cost.l2, cost.smem,
               fmax(cost.math, cost.special), cost.latency);
    if (gr->measured_us > 0)
        buf_printf(b, "    measured %.2f us\n", gr->measured_us);
    buf_printf(b, "    GMRatio %.2f, SMRatio %.2f, WBRatio %.2f, COEF_r %d "
                  "(%d registers): PUL %.2f\n",
               cost.gm_ratio, cost.sm_ratio, cost.wb_ratio, cost.coef_r,
               cost.regs, cost.pul);
    if (gr->chain)
        buf_printf(b, "    %s as one kernel: apart they and what lies "
                      "between would take %.2f us\n",
                   group_multiplies(s->graph, gr->chain->first)
                       ? "two products"
                       : "a window and the product that takes it",
                   gr->apart_us);
    if (gr->merge && gr->norm_us > 0)
        buf_printf(b, "    takes a norm of rows on its way: the kernels that it "
                      "is of take %.2f us so, with one of its own %.2f us\n",
                   gr->norm_us, gr->apart_us);
    if (gr->chain && gr->chain->twin)
        buf_printf(b, "    two chains of the same scores: apart they would "
                      "take %.2f us\n", gr->beside_us);
    else if (gr->beside_us > 0)
        buf_printf(b, "    two that stand beside each other and read the same: "
                      "apart they would take %.2f us\n", gr->beside_us);
    put_edges(b, l);
    buf_printf(b, "    computes\n");
    for (int k = 0; k < gr->n_stmt; k++)
        if (!k || strcmp(gr->stmt[k]->path, gr->stmt[k - 1]->path))
            put_statement(b, gr->stmt[k]); /* a sum and its factor are one */
    put_again(b, gr);
    put_guests(b, gr);
    put_notes(b, gr);
    put_casts(b, gr);
    put_refusals(b, s, gr);
}

/* What runs once, after the weights are read: each kernel with its count. */
static void put_load(Buf *b, const CudaProgram *p)
{
    if (p->n_load)
        buf_puts(b, "  at load time\n");
    for (int i = 0; i < p->n_load; i++) {
        const Kernel *k = p->load[i].kernel;
        int times = 0, first = -1;
        for (int n = 0; n < p->n_load; n++) {
            times += p->load[n].kernel == k;
            first = first < 0 && p->load[n].kernel == k ? n : first;
        }
        if (first == i)
            buf_printf(b, "    %s, %d launch%s, %.2f us each\n", k->name,
                       times, times > 1 ? "es" : "",
                       p->load[i].group->predicted_us);
    }
}

/* How many kernels n launches are of. */
static int distinct(const CudaProgram *p, const Launch *launch, int n)
{
    int count = 0;

    for (int i = 0; i < p->n_kernel; i++)
        for (int k = 0; k < n; k++)
            if (launch[k].kernel == p->kernel[i]) {
                count++;
                break;
            }
    return count;
}

/* What the launches are limited by, and how long. */
static void put_limits(Buf *b, const CudaProgram *p)
{
    bool *said = arena_array(p->graph->arena, bool, p->n_run + 1);
    const char *comma = "";

    buf_puts(b, "limited by");
    for (int i = 0; i < p->n_run; i++) {
        const char *limiter = p->run[i].kernel->limiter;
        double us = 0;

        for (int k = i; k < p->n_run && !said[i] && limiter; k++) {
            if (strcmp(p->run[k].kernel->limiter, limiter))
                continue;
            us += p->run[k].group->predicted_us;
            said[k] = k > i;
        }
        if (said[i] || !limiter)
            continue;
        buf_printf(b, "%s %s %.1f us", comma, limiter, us);
        comma = ",";
    }
    buf_puts(b, "\n");
}

/* The kernels that take most of a run. */
static void put_longest(Buf *b, const CudaProgram *p)
{
    enum { SHOWN = 3 };
    const Kernel *done[SHOWN] = {0};

    for (int n = 0; n < SHOWN; n++) {
        const Kernel *most = NULL;
        double longest = 0;

        for (int i = 0; i < p->n_kernel; i++) {
            const Kernel *k = p->kernel[i];
            double us = k->predicted_us * k->n_instance;

            if (k->group->when == WHEN_LOAD || us <= longest ||
                k == done[0] || k == done[1])
                continue;
            most = k;
            longest = us;
        }
        if (!most)
            return;
        done[n] = most;
        buf_printf(b, "%s %s: %d x %.2f us, %s\n", n ? "       " : "longest",
                   most->name, most->n_instance, most->predicted_us,
                   most->family);
    }
}

/* ---- what the forward pass leaves to gradients */

static void put_tensor(Buf *list, const Tensor *t, double bytes)
{
    buf_printf(list, "    %9.3f MB  %s%s%s\n", bytes / 1e6, t->path,
               *t->path ? "." : "", t->name);
}

static void put_computed_again(Buf *b, const Keep *k, const CudaProgram *p)
{
    const Graph *g = p->graph;
    const Tensor *before = NULL;

    if (!k->n)
        return;
    buf_printf(b, "computed again for them: %d tensors, %.1f MB, in %d parts of "
                  "the forward pass, of which one's are there at a time (%.1f "
                  "MB at most); about %.0f us\n",
               k->n, (double)k->again / 1e6, k->parts, (double)k->part / 1e6,
               k->us);
    for (int i = 0; i < g->n_stmt; i++) {
        const Tensor *t = g->stmt[i]->tensor;
        if (!g->stmt[i]->again || t->place != PLACE_ARENA || t == before)
            continue;
        put_tensor(b, t, (double)(t->span * type_bytes(t->type)));
        before = t;
    }
    buf_printf(b, "with all kept: arena %.1f MB, predicted %.1f us a run\n",
               (double)k->whole / 1e6, k->whole_us);
}

static void put_kept(Buf *b, const Selection *s, const CudaProgram *p)
{
    const Seens seen = keep_seen(p);
    Buf list = {0};
    double all = 0;
    int n = 0;

    if (!s->keep.gradients)
        return;
    for (int i = 0; i < seen.n; i++) {
        const Seen *t = &seen.of[i];
        if (!t->kept)
            continue;
        put_tensor(&list, t->tensor, (double)t->bytes);
        all += (double)t->bytes / 1e6;
        n++;
    }
    buf_printf(b, "kept for gradients: %d tensors, %.1f MB\n", n, all);
    buf_puts(b, buf_take(&list, p->graph->arena));
    put_computed_again(b, &s->keep, p);
}

static void put_summary(Buf *b, const Selection *s, const CudaProgram *p)
{
    double total = 0;
    int chains = 0;

    for (int i = 0; i < p->n_run; i++) {
        total += p->run[i].group->predicted_us;
        chains += p->run[i].group->chain != NULL;
    }
    buf_printf(b, "model %s on %s\n", s->graph->model,
               s->options->device->title);
    buf_printf(b, "predicted %.1f us a run; %d variants costed, %d launches "
                  "are chains of two products\n", total, s->evaluated, chains);
    buf_printf(b, "launch graph: %d nodes (%d kernels, 0 copies, 0 memsets), "
                  "%d distinct kernels; at load time %d launches, %d kernels\n",
               p->n_run, p->n_run, distinct(p, p->run, p->n_run), p->n_load,
               distinct(p, p->load, p->n_load));
    buf_printf(b, "memory: weights %.1f MB, packed %.1f MB, arena %.1f MB, "
                  "state %.1f MB\n",
               (double)p->params_bytes / 1e6, (double)p->consts_bytes / 1e6,
               (double)p->arena_bytes / 1e6, (double)p->state_bytes / 1e6);
    put_kept(b, s, p);
    put_limits(b, p);
    put_longest(b, p);
}

void explain(Buf *b, const Selection *s, const CudaProgram *p)
{
    put_summary(b, s, p);
    for (int i = 0; i < p->n_run; i++)
        put_group(b, s, &p->run[i], i);
    put_load(b, p);
}

/* ---- --dump=variants: what the model thinks of every legal variant */

void explain_variants(Buf *b, const Selection *s, const CudaProgram *p)
{
    for (int i = 0; i < p->n_kernel; i++) {
        const Kernel *k = p->kernel[i];
        Offer *o;
        int n = offer_all(s, k->group, &o);

        buf_printf(b, "variants of %s: %d; it is %s, %s\n", k->name, n,
                   k->family, k->variant);
        buf_printf(b, "  %9s %9s %9s %9s %9s %9s %9s %4s %-9s family, variant"
                      "\n", "us", "HBM", "L2", "shared", "math", "latency",
                   "PUL us", "regs", "limiter");
        for (int j = 0; j < n; j++) {
            const Cost *c = &o[j].cost;
            buf_printf(b, "  %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %4d "
                          "%-9s %s, %s\n",
                       c->us, c->hbm, c->l2, c->smem,
                       fmax(c->math, c->special), c->latency, c->pul_us,
                       c->regs, c->limiter, o[j].family->name,
                       o[j].variant->text);
        }
    }
}
