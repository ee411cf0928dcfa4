/* map.c - one thread computes VEC neighbouring points of a nest: elementwise
 * work over any index maps, gathers, and short sums a point (pooling and
 * depthwise windows), which a thread does one after the other. */
#include "family/map/map.h"
#include "emit/emit.h"

#include <math.h>
#include <string.h>

enum { MAX_SERIAL = 1024 };
enum { MOST_SHARE = 8 }; /* blocks of an SM that bands have room for */
enum { MOST_PARTS = 32 }; /* that a walk's rows are divided into */

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

static void note_gather(const Expr *e, void *ctx)
{
    bool *gather = ctx;

    for (int i = 0; e->kind == E_READ && i < e->tensor->rank; i++)
        *gather |= idx_has_data(e->at[i]);
}

/* Does an address depend on another load? */
static bool is_gather(const Group *gr)
{
    bool found = false;

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, note_gather, &found);
    return found;
}

/* Whether s stores a run of v that may go on to `end`, into padding. */
static bool stores_beyond(Graph *g, const Step *s, const Var *v, int64_t end)
{
    const Idx *to = tensor_offset(g, s->tensor, s->store);

    if (idx_coef(to, v) != 1)
        return false;
    const Idx *from = idx_sub(g->pool, to, idx_var(g->pool, v));
    return !idx_uses(from, v) && tensor_run(s->tensor, from, v->extent) >= end;
}

static void note_integers(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_BINARY && !type_is_float(e->type) &&
              e->type != T_BOOL;
}

bool map_takes_anything(const Step *s)
{
    bool integers = false;

    expr_visit(s->value, note_integers, &integers);
    return !integers;
}

/* s for more points: as.v goes on. */
static Step step_beyond(Graph *g, Step s, Subst as)
{
    const Idx **to =
        s.tensor ? arena_array(g->arena, const Idx *, s.tensor->rank) : NULL;

    for (int d = 0; s.tensor && d < s.tensor->rank; d++)
        to[d] = idx_subst(g->pool, s.store[d], &as, 1);
    s.store = to;
    s.value = expr_confine(g, expr_subst(g, s.value, &as, 1));
    return s;
}

/* gr, or, where all that it stores has room behind the runs of v for a last
 * whole vector, the same nest up to there: nobody looks at what it computes
 * beyond, so reads that may leave their tensor bring nothing. */
static const Group *widened(Graph *g, const Group *gr, const Var *v)
{
    enum { WHOLE = 8 };
    int64_t end = v ? (v->extent + WHOLE - 1) / WHOLE * WHOLE : 0;

    if (!v || v->extent == end || gr->n_cols || is_gather(gr))
        return gr;
    for (int i = 0; i < gr->n_step; i++)
        if (!map_takes_anything(&gr->step[i]) ||
            gr->step[i].op != R_NONE || gr->step[i].where.n ||
            (gr->step[i].tensor && !stores_beyond(g, &gr->step[i], v, end)))
            return gr;
    Group *wide = group_copy(g, gr);
    const Var *all = idx_new_var(g->pool, v->name, end);
    wide->rows = arena_array(g->arena, const Var *, gr->n_rows);
    for (int i = 0; i < gr->n_rows; i++)
        wide->rows[i] = gr->rows[i] == v ? all : gr->rows[i];
    for (int i = 0; i < gr->n_step; i++)
        wide->step[i] = step_beyond(g, gr->step[i],
                                    (Subst){v, idx_var(g->pool, all)});
    return wide;
}

static const void *map_open(Graph *g, const Group *gr, const Options *o,
                            const char **why)
{
    MapForm *f = arena_new_of(g->arena, MapForm);

    *why = group_rows(gr) / 256 > INT32_MAX
               ? "more points than a grid has threads"
               : NULL;
    if (group_cols(gr) > MAX_SERIAL)
        *why = arena_printf(g->arena, "a thread would go through %lld columns",
                            (long long)group_cols(gr));
    if (*why)
        return NULL;
    gr = nest_merged(g, gr, 0);
    gr = map_short(g, gr, ordered_rows(g, gr));
    const Var **rows = ordered_rows(g, gr);
    gr = map_onward(g, map_lanes(g, gr, rows));
    gr = map_apart(g, gr, ordered_rows(g, gr));
    rows = ordered_rows(g, gr);
    gr = widened(g, gr, gr->n_rows ? rows[gr->n_rows - 1] : NULL);
    *f = (MapForm){.g = g, .gr = gr, .o = o, .rows = ordered_rows(g, gr)};
    f->fast = gr->n_rows ? f->rows[gr->n_rows - 1] : NULL;
    window_find(g, gr, f->fast, &f->window);
    f->census = census_take(g, gr, o->device);
    f->bytes = model_group_bytes(g, gr, o->device, &f->in, NULL);
    Schedule plan;
    schedule_make(gr, &plan);
    f->passes = plan.passes;
    f->gather = is_gather(gr);
    return f;
}

static void add_variant(Graph *g, Variant *v, int *n, int vec, int threads,
                        int tile, int rows, int bands, int share)
{
    int knob[] = {vec, threads, tile, rows, bands, share, 0};
    const char *text = arena_printf(g->arena, "vec=%d threads=%d", vec,
                                    threads);

    v[*n] = (Variant){0};
    memcpy(v[*n].knob, knob, sizeof knob);
    if (tile > 1 || rows)
        text = arena_printf(g->arena, "%s tile=%d", text, tile);
    if (rows)
        text = arena_printf(g->arena, "%s rows=%d", text, rows);
    if (bands)
        text = arena_printf(g->arena, "%s bands=%d", text, bands);
    if (share > 1)
        text = arena_printf(g->arena, "%s share=%d", text, share);
    v[*n].text = text;
    ++*n;
}

/* The last variant again, with rows' elements by vectors. */
static void add_line(Graph *g, Variant *v, int *n)
{
    v[*n] = v[*n - 1];
    v[*n].knob[KNOB_LINE] = 1;
    v[*n].text = arena_printf(g->arena, "%s line=1", v[*n].text);
    ++*n;
}

bool map_walk(const MapForm *f, const Variant *v, Roll *r)
{
    if (!v->knob[KNOB_ROWS])
        return false;
    roll_find(f->g, f->gr, f->rows, f->fast, r);
    r->down.tile = v->knob[KNOB_ROWS];
    r->across.tile = v->knob[KNOB_TILE];
    r->bands = v->knob[KNOB_BANDS];
    r->share = v->knob[KNOB_SHARE];
    if (r->bands)
        r->slots = band_slots(f->gr, f->o->device, r);
    return true;
}

static int64_t across_extent(const Roll *r)
{
    return r->across.q ? r->across.q->extent : 1;
}

/* Walks: the rows in 1, 2, ... equal parts, the last perhaps smaller. */
static void add_walks(const MapForm *f, int widest, Variant *v, int *n)
{
    enum { LEAST = 3 };
    Roll r;

    if (f->o->device->sm < 80 || !roll_find(f->g, f->gr, f->rows, f->fast, &r))
        return;
    int64_t extent = r.down.q->extent, across = across_extent(&r);
    for (int vec = 2; vec <= widest && vec <= 8; vec *= 2) {
        if (!roll_fits(f->g, f->gr, &r, f->fast, vec))
            continue;
        int64_t last = 0;
        for (int part = 1; part <= MOST_PARTS; part++) {
            int64_t many = (extent + part - 1) / part;
            if (many == last || many < (extent < LEAST ? extent : LEAST))
                continue;
            last = many;
            for (int threads = 64; threads <= 128; threads *= 2)
                for (int tile = 1; tile <= 4 && tile <= across; tile *= 2)
                    add_variant(f->g, v, n, vec, threads, tile, (int)many, 0,
                                0);
        }
    }
}

/* One block an SM has as many rows as there is room for; of several that go
 * through long images, each has a few. */
static void add_shares(const MapForm *f, Roll *r, Variant *v, int *n, int vec,
                       int threads)
{
    enum { MOST_THREADS = 512 };

    for (r->share = 1; r->share <= MOST_SHARE; r->share *= 2)
        if (r->share == 1 ||
            (r->bands == 1 && threads * r->share <= MOST_THREADS &&
             band_fits(f->gr, f->o->device, r, f->rows) &&
             band_slots(f->gr, f->o->device, r) < band_rows(r)))
            add_variant(f->g, v, n, vec, threads, r->across.tile, r->down.tile,
                        r->bands, r->share);
    r->share = 0;
}

/* Walks of blocks that share their input rows. */
static void add_bands(const MapForm *f, int widest, Variant *v, int *n)
{
    enum { FEWEST = 32, LEAST = 3 };
    static const int tile[] = {1, 2, 4, 7, 8, 14};
    Roll r;

    if (!roll_find(f->g, f->gr, f->rows, f->fast, &r))
        return;
    int64_t extent = r.down.q->extent, across = across_extent(&r);
    for (int vec = 2; vec <= widest && vec <= 8; vec *= 2) {
        if (!roll_fits(f->g, f->gr, &r, f->fast, vec))
            continue;
        for (int parts = 1; parts <= MOST_PARTS && parts <= extent; parts++)
            for (int i = 0; i < 6 && tile[i] <= across; i++)
                for (r.bands = 1; r.bands <= 4; r.bands *= 2) {
                    r.down.tile = (int)(extent / parts);
                    r.across.tile = tile[i];
                    int64_t threads = band_threads(f->gr, &r, f->rows, vec);
                    if (extent % parts == 0 && threads >= FEWEST &&
                        (parts == 1 || r.down.tile >= LEAST) &&
                        threads <= 1024 &&
                        band_fits(f->gr, f->o->device, &r, f->rows))
                        add_shares(f, &r, v, n, vec, (int)threads);
                }
    }
}

/* Elements of one store of the widest type that is stored: of more a thread
 * has several, and each writes a part of sectors. Sums read more than they
 * store. */
static int widest_store(const Group *gr)
{
    int bytes = 1;

    for (int i = 0; i < gr->n_step && group_cols(gr) == 1; i++)
        if (gr->step[i].tensor && type_bytes(gr->step[i].tensor->type) > bytes)
            bytes = type_bytes(gr->step[i].tensor->type);
    return VECTOR_BYTES / bytes;
}

static int map_space(const void *form, Variant **out)
{
    const MapForm *f = form;
    Graph *g = f->g;
    Variant v[64 + MOST_PARTS * 3 * 6 + 3 * MOST_PARTS * 6 * (3 + 3)];
    int n = 0,
        widest = f->fast ? widest_vector(g, f->gr, f->fast,
                                         widest_store(f->gr), false)
                         : 1;
    Window w;

    window_find(g, f->gr, f->fast, &w);
    for (int vec = 1; vec <= widest; vec *= 2)
        for (int threads = 128; threads <= 256; threads *= 2)
            for (int tile = 1; tile <= 4; tile *= 2)
                if (tile == 1 ||
                    (w.q && w.q->extent % tile == 0 && vec < 16)) {
                    add_variant(g, v, &n, vec, threads, tile, 0, 0, 0);
                    if (line_find(g, f->gr, f->fast, &w, vec))
                        add_line(g, v, &n);
                }
    add_walks(f, widest, v, &n);
    add_bands(f, widest, v, &n);
    *out = family_variants(g->arena, v, n);
    return n;
}

/* ---- build ------------------------------------------------------------- */

static void put_setup(MapBuild *m, int64_t points, int threads)
{
    Body *b = &m->body;
    Group *gr = m->group;
    Arena *a = m->graph->arena;
    int vec = m->vec;
    Tree *digits = tree_list(m->graph->arena);

    if (!gr->n_rows || points == 1) {
        for (int i = 0; i < gr->n_rows; i++)
            cprint_name(&b->print, m->rows[i], "0");
        kernel_phase(m->graph, m->kernel, "setup: a single point",
                     tree_parse(a,
                                "if (threadIdx.x > 0)\n"
                                "    return;\n",
                                "map"));
        return;
    }
    bool wide = points + threads > INT32_MAX;
    const char *id = cprint_fresh(&b->print, "point");
    if (gr->n_rows == 1 && vec == 1)
        id = cprint_var(&b->print, m->rows[0]);
    if (gr->n_rows > 1 || vec > 1)
        decompose(b, digits, m->rows, gr->n_rows, id, vec);
    Tree *setup = QUOTE(
        a,
        "const @type @id = @wide@blockIdx.x * THREADS + threadIdx.x;\n"
        "@RAGGED\n"
        "@DIGITS\n",
        FILL("type", wide ? "long long" : "int"), FILL("id", id),
        FILL("wide", wide ? "(long long)" : ""),
        FILL_TREE("RAGGED", points % threads ? QUOTE(a,
                                                     "if (@id >= POINTS)\n"
                                                     "    return;\n",
                                                     FILL("id", id))
                                             : tree_list(a)),
        FILL_TREE("DIGITS", digits));
    kernel_phase(m->graph, m->kernel,
                 vec > 1 ? arena_printf(a,
                                        "setup: a thread computes VEC "
                                        "neighbours along %s",
                                        m->rows[gr->n_rows - 1]->name)
                         : "setup: a thread computes one point",
                 setup);
}

void map_loops(MapBuild *m, Tree *out, const Tree *body, const char **names,
               const Var *without)
{
    Group *gr = m->group;
    Arena *a = m->graph->arena;
    const Tree *in = body;

    for (int i = gr->n_cols - 1; i >= 0; i--) {
        const Var *v = gr->cols[i];
        if (v->extent == 1 || v == without || !names[i])
            continue;
        in = QUOTE(a, "#pragma unroll @MOST@\n"
                      "for (@type @i = 0; @i < @n; ++@i) {\n"
                      "    @BODY\n"
                      "}\n",
                   FILL("MOST", group_cols(gr) <= MAP_WRITTEN_OUT ? "" : "4"),
                   FILL("type",
                        v->extent < INT32_MAX ? "int" : "long long"),
                   FILL("i", names[i]),
                   FILL("n", kernel_extent(m->graph, m->kernel, v)),
                   FILL_TREE("BODY", in));
    }
    PUT(out, "@LOOPS\n", FILL_TREE("LOOPS", in));
}

static void put_pass(MapBuild *m, Tree *out, int q)
{
    Body *b = &m->body;
    Group *gr = m->group;
    const char *names[MAX_RANK * 2] = {0};
    int step[MAX_STEPS], n = schedule_pass(gr, &m->plan, q, step);
    Tree *in = tree_list(m->graph->arena);

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
    body_steps(b, in, step, n, true);
    map_loops(m, out, in, names, NULL);
    if (group_cols(gr) > 1) { /* else there is no loop for names to end with */
        b->n_held = held;
        cprint_close(&b->print, scope);
    }
}

/* Row values that a later loop over lanes needs stay in an array. */
static void put_phase(MapBuild *m, Tree *out, int q)
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
        PUT(out, "@type @name[VEC];\n",
            FILL("type", cprint_ctype(m->group->step[s].type)),
            FILL("name", name));
        b->kept[s] = arena_printf(m->graph->arena, "%s[%s]", name, b->lane);
    }
    body_steps(b, out, step, n, true);
}

void map_point(MapBuild *m, Tree *out)
{
    for (int q = -1; q < m->plan.passes; q++) {
        if (q >= 0)
            put_pass(m, out, q);
        put_phase(m, out, q);
    }
}

static const char *pass_label(MapBuild *m, int q)
{
    int step[MAX_STEPS], n = schedule_pass(m->group, &m->plan, q, step);
    const char *what = NULL;

    for (int i = 0; i < n; i++) {
        const Step *t = &m->group->step[step[i]];
        if (t->op != R_NONE)
            what = what ? arena_printf(m->graph->arena, "%s, %s", what,
                                       reduce_name(t->op))
                        : reduce_name(t->op);
    }
    return arena_printf(m->graph->arena, "%s over the columns",
                        what ? what : "values");
}

static void put_bodies(MapBuild *m)
{
    for (int q = -1; q < m->plan.passes; q++) {
        Tree *out = tree_list(m->graph->arena);
        if (q >= 0) {
            if (m->window.tile > 1)
                window_pass(m, out);
            else if (m->line)
                line_pass(m, out);
            else
                put_pass(m, out, q);
            kernel_phase(m->graph, m->kernel, pass_label(m, q), out);
            out = tree_list(m->graph->arena);
        }
        if (m->window.tile > 1 && q == 0)
            window_results(m, out);
        else
            put_phase(m, out, q);
        if (out->n_item)
            kernel_phase(m->graph, m->kernel,
                         m->plan.passes ? "results" : "compute", out);
    }
}

/* Which of its rows' values a thread has, and the sizes of that. */
static void set_tiles(MapBuild *m, const MapForm *f, const Variant *v)
{
    Graph *g = m->graph;
    Kernel *k = m->kernel;
    int tile = v->knob[KNOB_TILE];

    if (m->vec > 1)
        kernel_constant(g, k, "VEC", m->vec, NULL);
    if (map_walk(f, v, &m->roll)) {
        roll_tiles(m);
        return;
    }
    window_find(g, m->group, f->fast, &m->window);
    if (v->knob[KNOB_LINE])
        m->line = line_find(g, m->group, f->fast, &m->window, m->vec);
    m->window.tile = tile;
    if (tile == 1)
        return;
    const Var *q = m->window.q;
    m->body.n_tiled = 1;
    m->body.tiled[0] = (Tiled){
        q, "TILE", arena_printf(g->arena, "(%s / TILE)",
                                kernel_extent(g, k, q))};
    kernel_constant(g, k, "TILE", tile,
                    arena_printf(g->arena, "outputs of a thread along %s",
                                 q->name));
    kernel_constant(g, k, "SPAN", window_span(&m->window), "inputs for them");
}

static void put_code(MapBuild *m, int64_t points, int threads, const Var *along)
{
    put_setup(m, points, threads);
    if (!m->roll.down.q)
        kernel_wait_phase(m->graph, m->kernel);
    if (m->vec > 1)
        for (int i = m->body.print.n_name - 1; i >= 0; i--)
            if (m->body.print.name[i].var == along)
                m->body.base = m->body.print.name[i].text;
    if (m->roll.down.q)
        roll_pass(m);
    else
        put_bodies(m);
}

static void map_build(const void *form, const Variant *v, Kernel *k)
{
    const MapForm *f = form;
    Graph *g = f->g;
    Group *gr = (Group *)f->gr;
    MapBuild m = {.graph = g, .group = gr, .kernel = k, .device = f->o->device};
    int vec = v->knob[KNOB_VEC], threads = v->knob[KNOB_THREADS];
    int64_t points = group_rows(gr) / vec / v->knob[KNOB_TILE];
    Cost c;
    Roll r;

    m.rows = f->rows;
    m.vec = vec;
    if (map_walk(f, v, &r))
        points = roll_points(gr, &r, vec);
    while (!v->knob[KNOB_BANDS] && threads > 32 && threads / 2 >= points)
        threads /= 2;
    m.group = (Group *)nest_plain(g, gr);
    schedule_make(m.group, &m.plan);
    body_init(&m.body, g, gr, k, &m.plan, vec > 1 ? f->fast : NULL, vec);
    m.group = (Group *)m.body.group;
    k->family = "map";
    k->variant = v->text;
    k->block = threads;
    k->grid[0] = (int)((points + threads - 1) / threads);
    k->grid[1] = k->grid[2] = 1;
    if (map_walk(f, v, &r))
        k->min_blocks = roll_blocks(g, gr, f->o->device, &r, vec, threads);
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->n_rows > 1 && m.rows[i]->extent > 1)
            kernel_extent(g, k, m.rows[i]);
    for (int i = 0; i < gr->n_cols; i++)
        if (gr->cols[i]->extent > 1)
            kernel_extent(g, k, gr->cols[i]);
    set_tiles(&m, f, v);
    kernel_constant(g, k, "THREADS", threads, NULL);
    if (points % threads && points > 1)
        kernel_constant(g, k, "POINTS", points,
                        vec > 1 ? "groups of VEC" : NULL);
    put_code(&m, points, threads, f->fast);
    map_cost(form, v, &c);
    Traffic t;
    map_traffic(f, v, &t);
    k->flops = t.flops;
    k->bytes = f->bytes;
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

/* Whatever lies in a thread's vector, each element is computed alone. */
static bool map_alike(const Variant *a, const Variant *b)
{
    bool same = true;

    for (int i = KNOB_TILE; i < MAX_KNOBS; i++)
        same &= a->knob[i] == b->knob[i];
    return same;
}

const Family family_map = {
    .name = "map",
    .version = 1,
    .alike = map_alike,
    .open = map_open,
    .space = map_space,
    .cost = map_cost,
    .least = map_least,
    .build = map_build,
};
