/* prefix_build.c - the code of family prefix. */
#include "family/prefix/prefix.h"

#include <limits.h>
#include <string.h>

typedef struct Build {
    const PrefixForm *form;
    PrefixPlan plan;
    Graph *graph;
    Kernel *kernel;
    Schedule schedule;
    Body body;
    const char *line; /* the number of a thread's first line */
} Build;

static const char *lane_text(const Build *b, const char *array)
{
    return b->plan.vec > 1
               ? arena_printf(b->graph->arena, "%s[%s]", array, b->body.lane)
               : array;
}

/* All steps stand in one pass over a line, in their order. */
static void make_schedule(Build *b)
{
    schedule_make(b->form->line, &b->schedule);
    memset(b->schedule.at, 0, sizeof b->schedule.at);
    memset(b->schedule.last, 0, sizeof b->schedule.last);
    b->schedule.passes = 1;
}

/* ---- setup: which line --------------------------------------------------- */

/* An identifier for the line's number: the variable itself if there is one. */
static const char *line_id(Build *b)
{
    const Var *only = NULL;
    int loops = 0;

    for (int i = 0; i < b->form->line->n_rows; i++)
        if (b->form->rows[i]->extent > 1) {
            loops++;
            only = b->form->rows[i];
        }
    if (loops == 1 && (b->plan.mode != MODE_WALK || b->plan.vec == 1))
        return cprint_var(&b->body.print, only);
    return cprint_fresh(&b->body.print, "line");
}

static void name_lines(Build *b, Tree *out)
{
    Body *body = &b->body;
    const int vec = b->plan.mode == MODE_WALK ? b->plan.vec : 1;
    int loops = 0;

    for (int i = 0; i < b->form->line->n_rows; i++) {
        const Var *v = b->form->rows[i];
        loops += v->extent > 1;
        if (v->extent == 1)
            cprint_name(&body->print, v, "0");
    }
    if (loops > 1 || vec > 1)
        decompose(body, out, b->form->rows, b->form->line->n_rows, b->line,
                  vec);
    for (int i = body->print.n_name - 1; vec > 1 && i >= 0; i--)
        if (body->print.name[i].var == b->plan.along) {
            body->base = body->print.name[i].text;
            break;
        }
}

static void setup_walk(Build *b, Tree *out)
{
    const int64_t points = b->plan.lines / b->plan.vec;

    b->line = line_id(b);
    kernel_constant(b->graph, b->kernel, "LINES", points,
                    b->plan.vec > 1 ? "groups of VEC lines" : NULL);
    PUT(out,
        "const @type @line = @wide@blockIdx.x * THREADS + threadIdx.x;\n"
        "if (@line >= LINES)\n"
        "    return;\n",
        FILL("type", points > INT_MAX / 2 ? "long long" : "int"),
        FILL("wide", points > INT_MAX / 2 ? "(long long)" : ""),
        FILL("line", b->line));
}

static void setup_warp(Build *b, Tree *out)
{
    b->line = line_id(b);
    PUT(out,
        "const int @line = blockIdx.x * (THREADS / 32) + "
        "threadIdx.x / 32;\n",
        FILL("line", b->line));
    if (b->plan.lines % (b->plan.threads / WARP)) {
        kernel_constant(b->graph, b->kernel, "LINES", b->plan.lines, NULL);
        PUT(out,
            "if (@line >= LINES)  // whole warps only\n"
            "    return;\n",
            FILL("line", b->line));
    }
}

static void setup_block(Build *b, Tree *out)
{
    b->line = line_id(b);
    PUT(out, "const int @line = blockIdx.x;\n", FILL("line", b->line));
}

/* Lanes beyond the last line go along with the others. */
static void setup_lines(Build *b, Tree *out)
{
    b->line = line_id(b);
    PUT(out, "const int @line = blockIdx.x * 32 + threadIdx.x % 32;\n",
        FILL("line", b->line));
    if (b->plan.lines % WARP)
        kernel_constant(b->graph, b->kernel, "LINES", b->plan.lines, NULL);
}

static void put_setup(Build *b)
{
    static const char *const label[] = {
        "setup: a thread goes along a line",
        "setup: a warp goes along a line",
        "setup: a block goes along a line",
        "setup: a block goes along 32 lines",
    };
    Tree *out = tree_list(b->graph->arena);
    const int mode = b->plan.mode;

    kernel_constant(b->graph, b->kernel, "THREADS", b->plan.threads, NULL);
    if (b->plan.lines == 1 && mode != MODE_WALK) {
        b->line = "0";
    } else if (mode == MODE_WALK) {
        setup_walk(b, out);
    } else if (mode == MODE_WARP) {
        setup_warp(b, out);
    } else if (mode == MODE_LINES) {
        setup_lines(b, out);
    } else {
        setup_block(b, out);
    }
    name_lines(b, out);
    if (out->n_item)
        kernel_phase(b->graph, b->kernel,
                     mode == MODE_WALK && b->plan.vec > 1
                         ? "setup: a thread goes along VEC lines"
                         : label[mode],
                     out);
}

/* ---- along a line -------------------------------------------------------- */

static const char *running(const Build *b)
{
    const Reduce op = b->form->line->step[b->form->scan].op;

    return arena_printf(b->graph->arena, "running %s%s", reduce_name(op),
                        b->form->back ? ", from the line's end" : "");
}

static void put_walk(Build *b)
{
    Arena *a = b->graph->arena;
    Body *body = &b->body;
    const PrefixForm *f = b->form;
    const char *size = kernel_extent(b->graph, b->kernel, f->at);
    Tree *out = tree_list(a), *in = tree_list(a);
    int step[MAX_STEPS], n = f->line->n_step;

    for (int i = 0; i < n; i++)
        step[i] = i;
    body_accumulator(body, out, f->scan, true);
    CScope scope = cprint_open(&body->print);
    const char *at = cprint_var(&body->print, f->at);
    body_steps(body, in, step, n, true);
    cprint_close(&body->print, scope);
    PUT(out,
        f->back ? "#pragma unroll @ahead\n"
                  "for (int @at = @size - 1; @at >= 0; --@at) {\n"
                  "    @BODY\n"
                  "}\n"
                : "#pragma unroll @ahead\n"
                  "for (int @at = 0; @at < @size; ++@at) {\n"
                  "    @BODY\n"
                  "}\n",
        FILL_INT("ahead", PREFIX_AHEAD), FILL("at", at), FILL("size", size),
        FILL_TREE("BODY", in));
    kernel_phase(b->graph, b->kernel, running(b), out);
}

/* Steps of a chunk, where the thread has a place of the line. */
static void put_steps(Build *b, Tree *out, const int *step, int n,
                      const char *inside)
{
    Body *body = &b->body;
    Tree *in = tree_list(b->graph->arena);

    if (!n)
        return;
    if (!inside) {
        body_steps(body, out, step, n, true);
        return;
    }
    CScope scope = cprint_open(&body->print);
    const int held = body->n_held;
    body_steps(body, in, step, n, true);
    body->n_held = held;
    cprint_close(&body->print, scope);
    PUT(out,
        "if (@inside) {\n"
        "    @BODY\n"
        "}\n",
        FILL("inside", inside), FILL_TREE("BODY", in));
}

static void put_scan(Build *b, Tree *out, const char *mine, const char *before)
{
    const PrefixForm *f = b->form;
    const Step *s = &f->line->step[f->scan];
    const bool warp = b->plan.mode == MODE_WARP;
    const bool lines = b->plan.mode == MODE_LINES;

    if (!warp) {
        kernel_smem(b->graph, b->kernel, 0,
                    arena_printf(b->graph->arena, "%s warps[THREADS / 32]%s",
                                 cprint_ctype(s->type), lines ? "[32]" : ""),
                    "each warp's own");
        b->kernel->smem_bytes = (size_t)b->plan.threads / (lines ? 1 : WARP) *
                                (size_t)type_bytes(T_F32);
    }
    PUT(out, "dcc_@who@_scan<dcc_op_@op@@back>(@mine, @before@@smem);\n",
        FILL("who", warp ? "warp" : lines ? "lines" : "block"),
        FILL("op", reduce_name(s->op)), FILL("back", f->back ? ", true" : ""),
        FILL("mine", mine), FILL("before", before),
        FILL("smem", warp ? "" : ", smem.warps"));
}

/* The condition of a thread's places to be any; NULL: all are. */
static const char *inside_text(const Build *b, const char *at, const char *size)
{
    Arena *a = b->graph->arena;
    const char *in = NULL;

    if (b->form->at->extent % b->plan.turn)
        in = b->form->back ? arena_printf(a, "%s >= 0", at)
                           : arena_printf(a, "%s < %s", at, size);
    if (b->plan.mode == MODE_LINES && b->plan.lines % WARP)
        in = arena_printf(a, "%s < LINES%s%s", b->line, in ? " && " : "",
                          in ? in : "");
    return in;
}

/* The first of a thread's places in a turn, and whether there is one. */
static const char *put_place(Build *b, Tree *out, const char *chunk)
{
    const PrefixForm *f = b->form;
    const char *size = kernel_extent(b->graph, b->kernel, f->at);
    const bool warp = b->plan.mode == MODE_WARP;
    const bool lines = b->plan.mode == MODE_LINES;
    const char *at = cprint_var(&b->body.print, f->at);
    const char *vec = b->plan.vec > 1 ? " * VEC" : "";
    const char *me = warp    ? "threadIdx.x % 32"
                     : lines ? "threadIdx.x / 32"
                             : "threadIdx.x";
    const bool paren = *vec || f->back;
    const char *nth =
        b->plan.chunks == 1
            ? me
            : arena_printf(b->graph->arena,
                           paren ? "(%s * %s + %s)" : "%s * %s + %s", chunk,
                           warp    ? "32"
                           : lines ? "(THREADS / 32)"
                                   : "THREADS",
                           me);
    PUT(out,
        f->back ? "const int @at = @size - @one - @nth@@vec;\n"
                : "const int @at = @nth@@vec;\n",
        FILL("at", at), FILL("size", size), FILL("nth", nth),
        FILL("one", *vec ? "VEC" : "1"), FILL("vec", vec));
    b->body.base = at;
    return inside_text(b, at, size);
}

static void put_chunks(Build *b)
{
    Arena *a = b->graph->arena;
    Body *body = &b->body;
    const PrefixForm *f = b->form;
    const Step *s = &f->line->step[f->scan];
    Tree *out = tree_list(a), *in = tree_list(a);
    int rest[MAX_STEPS], n = 0;

    for (int i = 0; i < f->line->n_step; i++)
        if (i != f->scan)
            rest[n++] = i;
    kernel_constant(b->graph, b->kernel, "CHUNKS", b->plan.chunks,
                    "a thread's turns along the line");
    const char *zero = cprint_identity(s->op, s->type);
    const char *before = cprint_fresh(&body->print, "before");
    PUT(out, "@type @before = @zero;\n", FILL("type", cprint_ctype(s->type)),
        FILL("before", before), FILL("zero", zero));
    CScope scope = cprint_open(&body->print);
    const char *chunk = cprint_fresh(&body->print, "chunk");
    const char *inside = put_place(b, in, chunk);
    const char *mine = body_step_name(body, f->scan);
    body->kept[f->scan] = lane_text(b, mine);
    PUT(in,
        b->plan.vec > 1 ? "@type @mine[VEC];\n"
                          "dcc_fill(@mine, @zero);\n"
                        : "@type @mine = @zero;\n",
        FILL("type", cprint_ctype(s->type)), FILL("mine", mine),
        FILL("zero", zero));
    put_steps(b, in, &f->scan, 1, inside);
    body->print.local[f->scan] = body->kept[f->scan];
    put_scan(b, in, mine, before);
    put_steps(b, in, rest, n, inside);
    cprint_close(&body->print, scope);
    PUT(out,
        "for (int @chunk = 0; @chunk < CHUNKS; ++@chunk) {\n"
        "    @BODY\n"
        "}\n",
        FILL("chunk", chunk), FILL_TREE("BODY", in));
    kernel_phase(b->graph, b->kernel, running(b), out);
}

/* ---- build --------------------------------------------------------------- */

static void set_figures(Build *b, const Variant *v)
{
    Kernel *k = b->kernel;
    Traffic t;
    Cost c;

    prefix_cost(b->form, v, &c);
    prefix_traffic(b->form, &b->plan, &t);
    k->flops = t.flops;
    k->bytes = b->form->bytes;
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

/* The body's steps are those of the line; in chunks the scan's is a value like
 * others, until it has been scanned. */
static void take_steps(Build *b)
{
    const PrefixForm *f = b->form;
    Group *line = group_copy(b->graph, f->line);

    cprint_steps(&b->body.print, line);
    if (b->plan.mode != MODE_WALK)
        line->step[f->scan].op = R_NONE;
    b->body.group = line;
}

void prefix_build(const void *form, const Variant *v, Kernel *k)
{
    const PrefixForm *f = form;
    Build b = {
        .form = f, .plan = prefix_plan(f, v), .graph = f->graph, .kernel = k};
    const bool walk = b.plan.mode == MODE_WALK;

    make_schedule(&b);
    body_init(&b.body, f->graph, (Group *)f->group, k, &b.schedule,
              b.plan.vec > 1 ? b.plan.along : NULL, b.plan.vec);
    b.body.along_rows = walk;
    take_steps(&b);
    k->family = "prefix";
    k->variant = v->text;
    k->block = b.plan.threads;
    k->grid[0] = (int)prefix_blocks(&b.plan);
    k->grid[1] = k->grid[2] = 1;
    if (b.plan.vec > 1)
        kernel_constant(f->graph, k, "VEC", b.plan.vec, NULL);
    put_setup(&b);
    kernel_wait_phase(f->graph, k);
    if (walk)
        put_walk(&b);
    else
        put_chunks(&b);
    set_figures(&b, v);
}
