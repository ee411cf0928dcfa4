/* map_window.c - pooling and depthwise windows: a thread's neighbouring outputs
 * share the inputs that it loads. */
#include "family/map/map.h"
#include "emit/emit.h"

#include <string.h>

int64_t window_span(const Window *w)
{
    return w->q ? w->s->extent + w->stride * (w->tile - 1) : 1;
}

int64_t window_tiles(const Window *w)
{
    return w->q ? (w->q->extent + w->tile - 1) / w->tile : 1;
}

/* Whether e depends on q and s only as a multiple of stride * q + s. */
static bool moves_together(Graph *g, const Idx *e, const Window *w)
{
    int64_t cq = idx_coef(e, w->q), cs = idx_coef(e, w->s);
    const Idx *rest = idx_sub(g->pool, e, idx_scale(
                                  g->pool, idx_var(g->pool, w->q), cq));

    rest = idx_sub(g->pool, rest,
                   idx_scale(g->pool, idx_var(g->pool, w->s), cs));
    return cq == w->stride * cs && !idx_uses(rest, w->q) &&
           !idx_uses(rest, w->s);
}

typedef struct Check {
    Graph *graph;
    const Window *w;
    bool good, window;
} Check;

/* A read that q moves has to move with s alone; q is nothing else there. */
static void check_expr(const Expr *e, void *ctx)
{
    Check *c = ctx;

    if (e->kind == E_INDEX && idx_uses(e->idx, c->w->q))
        c->good = false;
    if (e->kind != E_READ || !read_uses(e, c->w->q))
        return;
    for (int d = 0; d < e->tensor->rank; d++)
        c->good &= moves_together(c->graph, e->at[d], c->w);
    for (int i = 0; i < e->in.n; i++)
        c->good &= e->in.cond[i].mod == 0 &&
                   moves_together(c->graph, e->in.cond[i].e, c->w);
    c->good &= !e->outside || e->outside->kind == E_CONST;
    c->window = true;
}

static bool fits(Graph *g, const Group *gr, const Window *w)
{
    Check c = {g, w, true, false};

    for (int i = 0; i < gr->n_step; i++)
        if (is_col_step(&gr->step[i]))
            expr_visit(gr->step[i].value, check_expr, &c);
    return c.good && c.window;
}

/* One pass of sums, maxima, ... and only row values after it. */
bool window_one_pass(const Group *gr)
{
    Schedule plan;

    schedule_make(gr, &plan);
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (is_col_step(s) ? s->op == R_ARGMAX ||
                                 (s->op == R_NONE && s->tensor)
                           : plan.at[i] < 0)
            return false;
    }
    return plan.passes == 1;
}

static void note_stride(const Reads *r, Window *w)
{
    w->stride = 0;
    for (int i = 0; i < r->n; i++)
        for (int d = 0; d < r->read[i]->tensor->rank; d++) {
            int64_t tap = idx_coef(r->read[i]->at[d], w->s);
            int64_t row = idx_coef(r->read[i]->at[d], w->q);
            if (tap > 0 && row > 0 && row % tap == 0)
                w->stride = row / tap;
        }
}

int window_pairs(Graph *g, const Group *gr, const Var *fast, Window *w,
                 int most)
{
    int all[MAX_STEPS], n = 0;
    Reads r;

    if (!gr->n_cols || group_cols(gr) > 64 || !window_one_pass(gr))
        return 0;
    for (int i = 0; i < gr->n_step; i++)
        all[i] = i;
    reads_of(g, gr, all, gr->n_step, &r);
    for (int i = 0; i < gr->n_rows; i++)
        for (int j = 0; j < gr->n_cols && n < most; j++) {
            Window t = {gr->rows[i], gr->cols[j], 0, 1};
            if (t.q == fast || t.q->extent < 2 || t.s->extent < 2)
                continue;
            note_stride(&r, &t);
            if (t.stride < 1 || t.stride >= t.s->extent || !fits(g, gr, &t))
                continue;
            w[n++] = t;
        }
    return n;
}

void window_find(Graph *g, const Group *gr, const Var *fast, Window *w)
{
    Window pair[MAX_RANK];
    int n = window_pairs(g, gr, fast, pair, MAX_RANK);
    double best = 1;

    memset(w, 0, sizeof *w);
    w->tile = 1;
    for (int i = 0; i < n; i++) {
        double overlap = (double)pair[i].s->extent / (double)pair[i].stride;
        if (overlap > best) {
            best = overlap;
            *w = pair[i];
        }
    }
}

/* ---- code -------------------------------------------------------------- */

static const char *text_of(MapBuild *m, const char *array)
{
    return m->vec > 1 ? arena_printf(m->graph->arena, "%s[%s]", array,
                                     m->body.lane)
                      : array;
}

/* `float y_sum[TILE][VEC]`, at the identity. */
static void put_accumulator(MapBuild *m, Tree *out, int i)
{
    Body *b = &m->body;
    const Step *s = &m->group->step[i];
    const char *name = body_step_name(b, i);
    const char *start = cprint_identity(s->op, s->type);

    b->acc[i] = b->print.local[i] = text_of(
        m, arena_printf(m->graph->arena, "%s[%s]", name, m->turn));
    PUT(out,
        s->op == R_SUM ? "@type @name[TILE]@lanes@ = {};\n"
        : m->vec > 1   ? "@type @name[TILE]@lanes@;\n"
                         "for (int @t = 0; @t < TILE; ++@t)\n"
                         "    dcc_fill(@name[@t], @start);\n"
                       : "@type @name[TILE];\n"
                         "dcc_fill(@name, @start);\n",
        FILL("type", cprint_ctype(s->type)), FILL("name", name),
        FILL("t", m->turn), FILL("start", start),
        FILL("lanes", m->vec > 1 ? "[VEC]" : ""));
}

void window_each(Tree *out, const char *v, const char *size, const Tree *body)
{
    PUT(out,
        "#pragma unroll\n"
        "for (int @v = 0; @v < @size; ++@v) {\n"
        "    @BODY\n"
        "}\n",
        FILL("v", v), FILL("size", size), FILL_TREE("BODY", body));
}

void window_lanes(MapBuild *m, Tree *out, const Expr *e, const char *array)
{
    Body *b = &m->body;
    Tree *in = tree_list(m->graph->arena);
    CScope scope = cprint_open(&b->print);

    cprint_name(&b->print, b->along,
                arena_printf(m->graph->arena, "(%s + %s)", b->base, b->lane));
    const char *value = cprint_bind(in, &b->print, e, NULL);
    PUT(in, "@array[@lane] = @value;\n", FILL("array", array),
        FILL("lane", b->lane), FILL("value", value));
    cprint_close(&b->print, scope);
    window_each(out, b->lane, "VEC", in);
}

static void put_input(MapBuild *m, Tree *out, const Expr *e)
{
    Body *b = &m->body;
    int width;
    ReadKind kind = read_kind(m->graph, e, b->along, m->vec, &width);

    if (m->vec == 1 || kind == READ_BROADCAST) {
        body_hold(b, e, cprint_bind_name(out, &b->print, e, NULL));
        return;
    }
    const char *array = cprint_fresh(
        &b->print, arena_printf(m->graph->arena, "%s_frag",
                                cprint_tensor(&b->print, e->tensor)));
    PUT(out, "@type @array[VEC];\n", FILL("type", cprint_ctype(e->type)),
        FILL("array", array));
    if (kind == READ_VECTOR)
        body_load(b, out, e, array);
    else
        window_lanes(m, out, e, array);
    body_hold(b, e, text_of(m, array));
}

/* The inputs at the place that s is called at present. */
static void put_inputs(MapBuild *m, Tree *out, const int *step, int n)
{
    Reads r;

    reads_of(m->graph, m->group, step, n, &r);
    for (int i = 0; i < r.n; i++)
        if (read_uses(r.read[i], m->window.q) &&
            !body_held(&m->body, r.read[i]))
            put_input(m, out, r.read[i]);
}

/* for each output t of the tile that this input belongs to */
static void put_turns(MapBuild *m, Tree *out, const int *step, int n,
                      const char *input)
{
    Body *b = &m->body;
    const Window *w = &m->window;
    const char *size = kernel_extent(m->graph, m->kernel, w->s);
    Tree *in = tree_list(m->graph->arena), *body = tree_list(m->graph->arena);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *s = cprint_var(&b->print, w->s);

    body_steps(b, in, step, n, true);
    Arena *a = m->graph->arena;
    PUT(body,
        "const int @s = @u - @apart@ @t;\n"
        "if (@s >= 0 && @s < @size) {\n"
        "    @BODY\n"
        "}\n",
        FILL("s", s), FILL("u", input), FILL("t", m->turn),
        FILL("apart", w->stride > 1
                          ? arena_printf(a, "%lld * ", (long long)w->stride)
                          : ""),
        FILL("size", size), FILL_TREE("BODY", in));
    window_each(out, m->turn, "TILE", body);
    b->n_held = held;
    cprint_close(&b->print, scope);
}

const char *column_names(MapBuild *m, const char **names)
{
    CPrint *print = &m->body.print;
    const char *tap = NULL;

    for (int i = 0; i < m->group->n_cols; i++) {
        const Var *v = m->group->cols[i];
        if (v->extent == 1)
            cprint_name(print, v, "0");
        else if (v == m->line)
            tap = cprint_var(print, v);
        else if (m->window.tile == 1 || v != m->window.s)
            names[i] = cprint_var(print, v);
    }
    return tap;
}

void window_pass(MapBuild *m, Tree *out)
{
    Body *b = &m->body;
    Group *gr = m->group;
    const Window *w = &m->window;
    const char *names[MAX_RANK * 2] = {0};
    int step[MAX_STEPS], n = schedule_pass(gr, &m->plan, 0, step);
    Tree *in = tree_list(m->graph->arena), *loop = tree_list(m->graph->arena);
    Tree *taps = m->line ? tree_list(m->graph->arena) : in;

    m->turn = cprint_fresh(&b->print, "t");
    for (int i = 0; i < n; i++)
        if (gr->step[step[i]].op != R_NONE)
            put_accumulator(m, out, step[i]);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *tap = column_names(m, names);
    const char *input = cprint_fresh(&b->print, "u");
    cprint_name(&b->print, w->s, input);
    if (m->line)
        line_load(m, in, step, n, tap);
    put_inputs(m, taps, step, n);
    put_turns(m, taps, step, n, input);
    if (m->line)
        window_each(in, tap, kernel_extent(m->graph, m->kernel, m->line), taps);
    window_each(loop, input, "SPAN", in);
    map_loops(m, out, loop, names, w->s);
    b->n_held = held;
    cprint_close(&b->print, scope);
}

void window_results(MapBuild *m, Tree *out)
{
    Body *b = &m->body;
    int step[MAX_STEPS], n = schedule_phase(m->group, &m->plan, 0, step);
    const char *q = NULL;
    Tree *in = tree_list(m->graph->arena);

    if (!n)
        return;
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    for (int i = 0; i < b->print.n_name; i++)
        if (b->print.name[i].var == m->window.q)
            q = b->print.name[i].text;
    cprint_name(&b->print, m->window.q,
                arena_printf(m->graph->arena, "(%s + %s)", q, m->turn));
    body_steps(b, in, step, n, true);
    b->n_held = held;
    cprint_close(&b->print, scope);
    window_each(out, m->turn, "TILE", in);
}
