#include "search/explain_json.h"

#include "emit/emit.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

/* ---- JSON ---------------------------------------------------------------- */

static void put_key(Buf *b, const char *key)
{
    const char last = b->len ? b->text[b->len - 1] : 0;

    if (last != '{' && last != '[')
        buf_puts(b, ",");
    buf_printf(b, "\"%s\":", key);
}

static void put_text(Buf *b, const char *key, const char *text)
{
    put_key(b, key);
    if (text)
        escape_json(b, text);
    else
        buf_puts(b, "null");
}

/* A time, an amount; null where it is not known. */
static void put_number(Buf *b, const char *key, double x)
{
    put_key(b, key);
    if (isfinite(x))
        buf_printf(b, "%.6g", x);
    else
        buf_puts(b, "null");
}

static void put_int(Buf *b, const char *key, long long x)
{
    put_key(b, key);
    buf_printf(b, "%lld", x);
}

static void put_flag(Buf *b, const char *key, bool x)
{
    put_key(b, key);
    buf_puts(b, x ? "true" : "false");
}

static void next(Buf *b)
{
    if (b->text[b->len - 1] != '[')
        buf_putc(b, ',');
}

/* ---- where it is written ------------------------------------------------- */

static void put_span(Buf *b, const char *key, const Span *at)
{
    const char *slash;

    if (!at->source)
        return;
    slash = strrchr(at->source->name, '/');
    put_key(b, key);
    buf_putc(b, '{');
    put_text(b, "file", slash ? slash + 1 : at->source->name);
    put_int(b, "line", at->line);
    buf_putc(b, '}');
}

/* The statement's own line, and the library's that it comes from. */
static void put_statement(Buf *b, const Stmt *s)
{
    const Span *call = s->call.source ? &s->call : &s->at;

    next(b);
    buf_putc(b, '{');
    put_text(b, "path", s->path);
    put_span(b, "at", call);
    if (s->at.source &&
        (s->at.source != call->source || s->at.line != call->line))
        put_span(b, "from", &s->at);
    buf_putc(b, '}');
}

static void put_source(Buf *b, const Source *s)
{
    const char *slash = strrchr(s->name, '/');

    next(b);
    buf_putc(b, '{');
    put_text(b, "file", slash ? slash + 1 : s->name);
    put_flag(b, "library", s->library);
    put_text(b, "text", s->text);
    buf_putc(b, '}');
}

static void put_sources(Buf *b, const CudaProgram *p)
{
    const Source **seen = arena_array(p->graph->arena, const Source *,
                                      p->graph->n_stmt * 2 + 1);
    int n = 0;

    put_key(b, "sources");
    buf_putc(b, '[');
    for (int i = 0; i < 2 * p->graph->n_stmt; i++) {
        const Stmt *s = p->graph->stmt[i / 2];
        const Source *file = i % 2 ? s->at.source : s->call.source;
        bool old = !file;

        for (int k = 0; k < n; k++)
            old |= seen[k] == file;
        if (!old)
            put_source(b, seen[n++] = file);
    }
    buf_putc(b, ']');
}

/* ---- launches ------------------------------------------------------------ */

static void put_parts(Buf *b, const Cost *c)
{
    put_key(b, "parts");
    buf_putc(b, '{');
    put_number(b, "hbm", c->hbm);
    put_number(b, "l2", c->l2);
    put_number(b, "shared", c->smem);
    put_number(b, "math", fmax(c->math, c->special));
    put_number(b, "latency", c->latency);
    buf_putc(b, '}');
}

static bool in_group(const Group *gr, const Stmt *s)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i] == s)
            return true;
    return false;
}

static void put_refusals(Buf *b, const Selection *s, const Group *gr)
{
    put_key(b, "refused");
    buf_putc(b, '[');
    for (int i = 0; i < s->n_refusal; i++) {
        const Refusal *r = &s->refusal[i];

        if (!in_group(gr, r->producer))
            continue;
        next(b);
        buf_putc(b, '{');
        put_text(b, "with", r->consumer ? r->consumer->path : NULL);
        put_text(b, "tensor", r->tensor->name);
        put_text(b, "kind", r->again ? "computed again" : "fused");
        put_text(b, "why", r->why);
        put_number(b, "together_us", r->why ? NAN : r->fused_us);
        put_number(b, "apart_us", r->why ? NAN : r->apart_us);
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
}

/* The ids of the tensors that it reads, or those that it writes. */
static void put_args(Buf *b, const char *key, const Launch *l, bool written)
{
    put_key(b, key);
    buf_putc(b, '[');
    for (int i = 0; i < l->kernel->n_arg; i++) {
        ArgUse use = l->kernel->arg[i].use;

        if (use == ARG_WORKSPACE ||
            (use != ARG_INOUT && (use == ARG_OUT) != written))
            continue;
        next(b);
        buf_printf(b, "%d", l->group->arg[i]->id);
    }
    buf_putc(b, ']');
}

static int kernel_index(const CudaProgram *p, const Kernel *k)
{
    int i = 0;

    while (p->kernel[i] != k)
        i++;
    return i;
}

/* Of what it computes last: with norms folded, its statements are those of its
 * rows, too. */
static const char *path_of(const Group *gr)
{
    for (int i = gr->n_step - 1; i >= 0; i--)
        if (gr->step[i].source && gr->step[i].source->path)
            return gr->step[i].source->path;
    return gr->stmt[gr->n_stmt - 1]->path;
}

static void put_launch(Buf *b, const Selection *s, const CudaProgram *p,
                       const Launch *l, double measured)
{
    Group *gr = l->group;
    const Choice *c = choose_variant((Selection *)s, gr);
    Cost cost;

    choice_cost(c, gr->variant, &cost);
    next(b);
    buf_putc(b, '{');
    put_int(b, "kernel", kernel_index(p, l->kernel));
    put_text(b, "path", path_of(gr));
    put_flag(b, "overlaps", l->dependent);
    put_flag(b, "beside", l->beside);
    put_number(b, "predicted_us", gr->predicted_us);
    put_number(b, "measured_us", measured > 0 ? measured : NAN);
    put_text(b, "limiter", cost.limiter);
    put_parts(b, &cost);
    if (gr->chain)
        put_number(b, "apart_us", gr->apart_us);
    put_number(b, "flops", l->kernel->flops);
    put_number(b, "bytes", l->kernel->bytes);
    put_args(b, "reads", l, false);
    put_args(b, "writes", l, true);
    put_key(b, "computes");
    buf_putc(b, '[');
    for (int k = 0; k < gr->n_stmt; k++)
        put_statement(b, gr->stmt[k]);
    buf_putc(b, ']');
    put_refusals(b, s, gr);
    buf_putc(b, '}');
}

static double put_launches(Buf *b, const Selection *s, const CudaProgram *p,
                           const char *key, const Launch *l, int n,
                           const ExplainMore *more)
{
    double total = 0;

    put_key(b, key);
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        put_launch(b, s, p, &l[i],
                   more && i < more->n_times ? more->times[i]
                                             : l[i].group->measured_us);
        total += l[i].group->predicted_us;
    }
    buf_putc(b, ']');
    return total;
}

/* ---- kernels, tensors, memory -------------------------------------------- */

static void put_kernel(Buf *b, const Selection *s, const CudaProgram *p,
                       const Kernel *k, bool with_text)
{
    const Choice *c = choose_variant((Selection *)s, k->group);

    next(b);
    buf_putc(b, '{');
    put_text(b, "name", k->name);
    put_text(b, "family", k->family);
    put_text(b, "variant", k->variant);
    put_key(b, "grid");
    buf_printf(b, "[%d,%d,%d]", k->grid[0], k->grid[1] > 1 ? k->grid[1] : 1,
               k->grid[2] > 1 ? k->grid[2] : 1);
    put_int(b, "block", k->block);
    put_int(b, "cluster", k->cluster > 1 ? k->cluster : 1);
    put_int(b, "registers", k->regs);
    put_int(b, "shared_bytes", (long long)k->smem_bytes);
    put_int(b, "launches", k->n_instance);
    put_int(b, "variants", c->n_variant);
    if (with_text) {
        Buf cu = {0};
        emit_kernel(&cu, p, k);
        put_text(b, "cuda", buf_text(&cu));
        buf_free(&cu);
    }
    buf_putc(b, '}');
}

static void put_tensor(Buf *b, const Tensor *t)
{
    static const char *const place[] = {"none",  "params", "consts", "arena",
                                        "state", "input",  "output"};

    next(b);
    buf_putc(b, '{');
    put_int(b, "id", t->id);
    put_text(b, "name", t->name);
    put_text(b, "path", t->path);
    put_text(b, "type", type_name(t->type));
    put_key(b, "shape");
    buf_putc(b, '[');
    for (int i = 0; i < t->rank; i++)
        buf_printf(b, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    buf_putc(b, ']');
    put_text(b, "place", place[t->place == PLACE_STAGED ? PLACE_PARAMS
                                                        : t->place]);
    put_int(b, "offset", (long long)t->offset);
    put_int(b, "bytes", (long long)memory_bytes(t));
    buf_putc(b, '}');
}

static void put_tensors(Buf *b, const CudaProgram *p)
{
    bool *used = arena_array(p->graph->arena, bool, p->graph->n_tensor + 1);
    const Launch *all[] = {p->load, p->run};
    const int n[] = {p->n_load, p->n_run};

    put_key(b, "tensors");
    buf_putc(b, '[');
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < n[w]; i++)
            for (int k = 0; k < all[w][i].group->n_arg; k++)
                used[all[w][i].group->arg[k]->id] = true;
    for (int i = 0; i < p->graph->n_tensor; i++)
        if (used[p->graph->tensor[i]->id])
            put_tensor(b, p->graph->tensor[i]);
    buf_putc(b, ']');
}

static void put_gpu(Buf *b, const Device *d)
{
    put_key(b, "gpu");
    buf_putc(b, '{');
    put_text(b, "name", d->name);
    put_text(b, "title", d->title);
    put_number(b, "hbm_gbs", d->hbm_gbs);
    put_number(b, "l2_gbs", d->l2_gbs);
    put_number(b, "fma_tflops", d->fma_tflops);
    put_number(b, "tensor_tflops", fmax(d->mma_tflops, d->wgmma_tflops));
    put_number(b, "launch_us", d->launch_us);
    buf_putc(b, '}');
}

static void put_memory(Buf *b, const CudaProgram *p)
{
    put_key(b, "memory");
    buf_putc(b, '{');
    put_int(b, "params", (long long)p->params_bytes);
    put_int(b, "consts", (long long)p->consts_bytes);
    put_int(b, "arena", (long long)p->arena_bytes);
    put_int(b, "state", (long long)p->state_bytes);
    buf_putc(b, '}');
}

void explain_json(Buf *out, const Selection *s, const CudaProgram *p,
                  ExplainMore *more)
{
    Buf text = {0}, *b = &text;
    const bool with_text = more && more->with_text;

    if (more)
        more->n_run = p->n_run;

    buf_putc(b, '{');
    put_text(b, "model", s->graph->model);
    if (s->graph->word)
        put_text(b, "size", s->graph->word);
    put_gpu(b, s->options->device);
    put_launches(b, s, p, "load", p->load, p->n_load, NULL);
    double total = put_launches(b, s, p, "run", p->run, p->n_run, more);
    put_number(b, "predicted_us", total);
    put_int(b, "variants", s->evaluated);
    put_key(b, "kernels");
    buf_putc(b, '[');
    for (int i = 0; i < p->n_kernel; i++)
        put_kernel(b, s, p, p->kernel[i], with_text);
    buf_putc(b, ']');
    put_tensors(b, p);
    put_memory(b, p);
    if (with_text)
        put_sources(b, p);
    buf_putc(b, '}');
    buf_puts(out, buf_text(b));
    buf_free(b);
}
