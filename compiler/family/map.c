/* map.c - one thread computes VEC neighbouring points of a nest: elementwise
 * work over any index maps, gathers, and short sums a point (pooling and
 * depthwise windows), which a thread does one after the other. */
#include "map.h"

#include <math.h>
#include <string.h>

enum { KNOB_VEC, KNOB_THREADS, KNOB_TILE };
enum { MAX_SERIAL = 1024 };

static const char *map_applicable(Graph *g, const Group *gr, const Options *o)
{
    (void)o;
    if (gr->n_step > MAX_STEPS)
        return "more than 64 steps";
    if (group_cols(gr) > MAX_SERIAL)
        return arena_printf(g->arena, "a thread would go through %lld columns",
                            (long long)group_cols(gr));
    if (group_rows(gr) / 32 > INT32_MAX)
        return "more points than a grid has threads";
    return NULL;
}

/* Rows from slow to fast, as the main result lies in memory. */
static const Var **ordered_rows(Graph *g, const Group *gr)
{
    const Var **v = arena_array(g->arena, const Var *, gr->n_rows + 1);

    if (gr->n_rows)
        memcpy(v, gr->rows, sizeof *v * (size_t)gr->n_rows);
    order_vars(g, v, gr->n_rows, main_store(g, gr));
    int n = gr->n_rows;
    /* variables of extent 1 are no loop: never the fastest */
    for (int i = n - 1; i > 0 && v[n - 1]->extent == 1; i--) {
        const Var *t = v[n - 1];
        memmove(v + 1, v, sizeof *v * (size_t)(n - 1));
        v[0] = t;
    }
    return v;
}

static void add_variant(Graph *g, Variant *v, int *n, int vec, int threads,
                        int tile)
{
    v[*n].knob[KNOB_VEC] = vec;
    v[*n].knob[KNOB_THREADS] = threads;
    v[*n].knob[KNOB_TILE] = tile;
    v[*n].text = tile > 1 ? arena_printf(g->arena, "vec=%d threads=%d tile=%d",
                                         vec, threads, tile)
                          : arena_printf(g->arena, "vec=%d threads=%d", vec,
                                         threads);
    ++*n;
}

static int map_space(Graph *g, const Group *gr, const Options *o, Variant **out)
{
    const Var **rows = ordered_rows(g, gr);
    const Var *fast = gr->n_rows ? rows[gr->n_rows - 1] : NULL;
    Variant *v = arena_array(g->arena, Variant, 32);
    int n = 0, widest = 1;
    Window w;

    (void)o;
    if (gr->n_rows)
        widest = widest_vector(g, gr, fast, 16);
    window_find(g, gr, fast, &w);
    for (int vec = 1; vec <= widest; vec *= 2)
        for (int threads = 128; threads <= 256; threads *= 2)
            for (int tile = 1; tile <= 4; tile *= 2)
                if (tile == 1 || (w.q && w.q->extent % tile == 0 && vec < 16))
                    add_variant(g, v, &n, vec, threads, tile);
    *out = v;
    return n;
}

/* Whether an address depends on another load. */
static void note_gather(const Expr *e, void *ctx)
{
    bool *gather = ctx;

    for (int i = 0; e->kind == E_READ && i < e->tensor->rank; i++)
        *gather |= idx_has_data(e->at[i]);
}

static void map_traffic(Graph *g, const Group *gr, const Variant *v,
                        Traffic *t)
{
    const Var **rows = ordered_rows(g, gr);
    const Var *fast = gr->n_rows ? rows[gr->n_rows - 1] : NULL;
    int vec = v->knob[KNOB_VEC], tile = v->knob[KNOB_TILE];
    Spread s = {.row = fast, .along = fast, .vec = vec, .rows_warp = 32 * vec};
    Window w;

    window_find(g, gr, fast, &w);
    if (w.q) {
        w.tile = tile;
        s.window = w.q;
        s.tile = tile;
        s.taken = (double)window_span(&w) / (double)(tile * w.s->extent);
    }
    group_traffic(g, gr, &s, t);
    /* finding the point, once a thread */
    t->overhead += 2.0 * (double)group_rows(gr) / vec / tile *
                   (8 + 6 * gr->n_rows);
}

static void map_cost(Graph *g, const Group *gr, const Options *o,
                     const Variant *v, Cost *c)
{
    int vec = v->knob[KNOB_VEC], threads = v->knob[KNOB_THREADS];
    int tile = v->knob[KNOB_TILE];
    double points = ceil((double)group_rows(gr) / vec / tile);
    int64_t cols = group_cols(gr);
    bool gather = false;
    Traffic t;

    map_traffic(g, gr, v, &t);
    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, note_gather, &gather);
    Work w = {
        .pipe = PIPE_FMA,
        .flops = t.flops,
        .padded_flops = t.flops + t.overhead,
        .efficiency = 0.5,
        .special = t.special,
        .hbm_bytes = model_group_bytes(gr, NULL, NULL),
        .l2_bytes = t.bytes,
        .scatter = t.scatter,
        .blocks = ceil(points / threads),
        .threads = threads,
        .regs = 24 + 3 * vec + 2 * gr->n_step + (tile > 1 ? tile * vec : 0),
        .block_ops = t.flops / fmax(1, points / threads),
        .block_bytes = t.bytes / fmax(1, points / threads),
        .serial_steps = 1 + gather + (cols > 16 ? (double)cols / 16 : 0) +
                        (tile - 1) * 0.25,
    };
    model_cost(o->device, &w, c);
}

/* ---- build ------------------------------------------------------------- */

static void put_setup(Map *m, int64_t points, int threads)
{
    Body *b = &m->body;
    Group *gr = m->group;
    int vec = m->vec;
    Buf out = {0};

    if (!gr->n_rows || points == 1) {
        buf_puts(&out, "if (threadIdx.x > 0)\n    return;\n");
        for (int i = 0; i < gr->n_rows; i++)
            cprint_name(&b->print, m->rows[i], "0");
        kernel_phase(m->graph, m->kernel, "setup: a single point", &out);
        buf_free(&out);
        return;
    }
    const char *type =
        points + threads > INT32_MAX ? "long long" : "int";
    const char *id = cprint_fresh(&b->print, "point");
    if (gr->n_rows == 1 && vec == 1)
        id = cprint_var(&b->print, m->rows[0]);
    buf_printf(&out, "const %s %s = %sblockIdx.x * THREADS + threadIdx.x;\n",
               type, id, *type == 'l' ? "(long long)" : "");
    if (points % threads)
        buf_printf(&out, "if (%s >= POINTS)\n    return;\n", id);
    if (gr->n_rows > 1 || vec > 1)
        decompose(b, &out, m->rows, gr->n_rows, id, vec);
    kernel_phase(m->graph, m->kernel,
                 vec > 1 ? arena_printf(m->graph->arena,
                               "setup: a thread computes VEC neighbours "
                               "along %s", m->rows[gr->n_rows - 1]->name)
                         : "setup: a thread computes one point", &out);
    buf_free(&out);
}

void map_loops(Map *m, Buf *out, const Buf *body, const char **names,
               const Var *without)
{
    Group *gr = m->group;
    Buf in = {0};

    buf_puts(&in, buf_text(body));
    for (int i = gr->n_cols - 1; i >= 0; i--) {
        const Var *v = gr->cols[i];
        Buf loop = {0};
        if (v->extent == 1 || v == without)
            continue;
        put_loop(&loop,
                 group_cols(gr) <= 64 ? "#pragma unroll\n"
                                      : "#pragma unroll 4\n",
                 arena_printf(m->graph->arena,
                              "for (int %s = 0; %s < %s; ++%s)", names[i],
                              names[i],
                              kernel_extent(m->graph, m->kernel, v),
                              names[i]), &in);
        buf_free(&in);
        in = loop;
    }
    buf_puts(out, buf_text(&in));
    buf_free(&in);
}

static void put_pass(Map *m, Buf *out, int q)
{
    Body *b = &m->body;
    Group *gr = m->group;
    const char *names[MAX_RANK * 2] = {0};
    int step[MAX_STEPS], n = schedule_pass(gr, &m->plan, q, step);
    Buf in = {0};

    for (int i = 0; i < n; i++)
        if (gr->step[step[i]].op != R_NONE)
            body_accumulator(b, out, step[i], true);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    for (int i = 0; i < gr->n_cols; i++) {
        if (gr->cols[i]->extent == 1)
            cprint_name(&b->print, gr->cols[i], "0");
        else
            names[i] = cprint_var(&b->print, gr->cols[i]);
    }
    body_steps(b, &in, step, n, true);
    map_loops(m, out, &in, names, NULL);
    if (group_cols(gr) > 1) { /* else there is no loop for names to end with */
        b->n_held = held;
        cprint_close(&b->print, scope);
    }
    buf_free(&in);
}

/* Row values that a later loop over lanes needs stay in an array. */
static void put_phase(Map *m, Buf *out, int q)
{
    Body *b = &m->body;
    int step[MAX_STEPS], n = schedule_phase(m->group, &m->plan, q, step);

    if (!n)
        return;
    for (int i = 0; i < n && m->vec > 1; i++) {
        int s = step[i];
        if (m->plan.last[s] <= m->plan.at[s])
            continue;
        const char *name = body_step_name(b, s);
        body_declare(b, out, m->group->step[s].type, name, true);
        buf_puts(out, ";\n");
        b->kept[s] = arena_printf(m->graph->arena, "%s[%s]", name, b->lane);
    }
    body_steps(b, out, step, n, true);
}

static const char *pass_label(Map *m, int q)
{
    int step[MAX_STEPS], n = schedule_pass(m->group, &m->plan, q, step);
    Buf s = {0};

    for (int i = 0; i < n; i++) {
        const Step *t = &m->group->step[step[i]];
        if (t->op != R_NONE)
            buf_printf(&s, "%s%s", s.len ? ", " : "", reduce_name(t->op));
    }
    const char *label = arena_printf(
        m->graph->arena, "%s over the columns",
        s.len ? buf_text(&s) : "values");
    buf_free(&s);
    return label;
}

static void put_bodies(Map *m)
{
    for (int q = -1; q < m->plan.passes; q++) {
        Buf out = {0};
        if (q >= 0) {
            if (m->window.tile > 1)
                window_pass(m, &out);
            else
                put_pass(m, &out, q);
            kernel_phase(m->graph, m->kernel, pass_label(m, q), &out);
            buf_free(&out);
            out = (Buf){0};
        }
        if (m->window.tile > 1 && q == 0)
            window_results(m, &out);
        else
            put_phase(m, &out, q);
        if (out.len)
            kernel_phase(m->graph, m->kernel,
                         m->plan.passes ? "results" : "compute", &out);
        buf_free(&out);
    }
}

static void map_build(Graph *g, Group *gr, const Options *o, const Variant *v,
                      Kernel *k)
{
    Map m = {.graph = g, .group = gr, .kernel = k};
    int vec = v->knob[KNOB_VEC], threads = v->knob[KNOB_THREADS];
    int tile = v->knob[KNOB_TILE];
    int64_t points = group_rows(gr) / vec / tile;
    Cost c;

    m.rows = ordered_rows(g, gr);
    m.vec = vec;
    while (threads > 32 && threads / 2 >= points)
        threads /= 2;
    m.group = (Group *)nest_plain(g, gr);
    schedule_make(m.group, &m.plan);
    const Var *along = gr->n_rows ? m.rows[gr->n_rows - 1] : NULL;
    body_init(&m.body, g, gr, k, &m.plan, vec > 1 ? along : NULL, vec);
    m.group = (Group *)m.body.group;
    window_find(g, m.group, along, &m.window);
    m.window.tile = tile;
    m.body.tiled = tile > 1 ? m.window.q : NULL;
    k->family = "map";
    k->variant = v->text;
    k->block = threads;
    k->grid[0] = (int)((points + threads - 1) / threads);
    k->grid[1] = k->grid[2] = 1;
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->n_rows > 1 && m.rows[i]->extent > 1)
            kernel_extent(g, k, m.rows[i]);
    for (int i = 0; i < gr->n_cols; i++)
        if (gr->cols[i]->extent > 1)
            kernel_extent(g, k, gr->cols[i]);
    if (vec > 1)
        kernel_constant(g, k, "VEC", vec, NULL);
    if (tile > 1) {
        kernel_constant(g, k, "TILE", tile,
                        arena_printf(g->arena, "outputs of a thread along %s",
                                     m.window.q->name));
        kernel_constant(g, k, "SPAN", window_span(&m.window),
                        "inputs for them");
    }
    kernel_constant(g, k, "THREADS", threads, NULL);
    if (points % threads && points > 1)
        kernel_constant(g, k, "POINTS", points,
                        vec > 1 ? "groups of VEC" : NULL);
    put_setup(&m, points, threads);
    kernel_wait_phase(g, k);
    if (vec > 1)
        for (int i = m.body.print.n_name - 1; i >= 0; i--)
            if (m.body.print.name[i].var == along)
                m.body.base = m.body.print.name[i].text;
    put_bodies(&m);
    kernel_tidy(g, k);
    map_cost(g, gr, o, v, &c);
    Traffic t;
    map_traffic(g, gr, v, &t);
    k->flops = t.flops;
    k->bytes = model_group_bytes(gr, NULL, NULL);
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

const Family family_map = {
    .name = "map",
    .version = 1,
    .applicable = map_applicable,
    .space = map_space,
    .cost = map_cost,
    .build = map_build,
};
