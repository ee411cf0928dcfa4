/* map_roll_build.c - the code of a window that a thread walks down. */
#include "map.h"

#include <string.h>

/* Names in the kernel. */
typedef struct Walk {
    Map *m;
    const Roll *r;
    const char *t, *u, *j, *k; /* iteration, input row and column, output */
    const char *a, *i;         /* row of sums, input row of an iteration */
    const char *tap_r, *tap_s, *taps; /* columns: "r", "s", "[r][s]" */
    const char *p, *q;         /* the thread's first output */
    const char *in_rows;       /* that it reads */
    int step[MAX_STEPS], n;    /* of the pass */
} Walk;

static const char *head(Walk *w, const char *v, const char *to)
{
    return arena_printf(w->m->graph->arena, "for (int %s = 0; %s < %s; ++%s)",
                        v, v, to, v);
}

static void unrolled(Walk *w, Buf *out, const char *v, const char *to,
                     Buf *inner)
{
    Buf loop = {0};

    put_loop(&loop, "#pragma unroll\n", head(w, v, to), inner);
    buf_puts(out, buf_text(&loop));
    buf_free(&loop);
}

static const char *size(Walk *w, const Var *v)
{
    return kernel_extent(w->m->graph, w->m->kernel, v);
}

static const char *name_of(Walk *w, const Var *v)
{
    const Body *b = &w->m->body;

    for (int i = b->print.n_name - 1; i >= 0; i--)
        if (b->print.name[i].var == v)
            return b->print.name[i].text;
    return "0";
}

static void open_walk(Walk *w, Map *m)
{
    CPrint *p = &m->body.print;
    Arena *a = m->graph->arena;
    const Roll *r = &m->roll;

    memset(w, 0, sizeof *w);
    w->m = m;
    w->r = r;
    w->t = cprint_fresh(p, "t");
    w->u = cprint_fresh(p, "u");
    w->j = cprint_fresh(p, "j");
    w->k = cprint_fresh(p, "k");
    w->i = cprint_fresh(p, "i");
    w->tap_r = cprint_fresh(p, cprint_ident(a, r->down.s->name));
    w->a = r->down.stride > 1 ? cprint_fresh(p, "a") : w->tap_r;
    w->p = name_of(w, r->down.q);
    w->taps = arena_printf(a, "[%s]", w->tap_r);
    if (r->across.q) {
        w->tap_s = cprint_fresh(p, cprint_ident(a, r->across.s->name));
        w->q = name_of(w, r->across.q);
        w->taps = arena_printf(a, "[%s][%s]", w->tap_r, w->tap_s);
    }
    w->n = schedule_pass(m->group, &m->plan, 0, w->step);
}

/* The columns' names while the taps are loops. */
static void name_taps(Walk *w)
{
    Map *m = w->m;

    for (int i = 0; i < m->group->n_cols; i++)
        if (m->group->cols[i]->extent == 1)
            cprint_name(&m->body.print, m->group->cols[i], "0");
    cprint_name(&m->body.print, w->r->down.s, w->tap_r);
    if (w->tap_s)
        cprint_name(&m->body.print, w->r->across.s, w->tap_s);
}

/* ---- what stays in registers ------------------------------------------- */

static bool uses_taps(const Walk *w, const Expr *e)
{
    return read_uses(e, w->r->down.s) ||
           (w->r->across.s && read_uses(e, w->r->across.s));
}

static void put_factor(Walk *w, Buf *out, const Expr *e)
{
    Map *m = w->m;
    Body *b = &m->body;
    bool taps = uses_taps(w, e);
    int width;
    Buf in = {0}, row = {0};
    ReadKind kind = read_kind(m->graph, e, b->along, m->vec, &width);

    const char *array = cprint_fresh(
        &b->print, arena_printf(m->graph->arena, "%s_frag",
                                cprint_tensor(&b->print, e->tensor)));
    bool lanes = kind != READ_BROADCAST;
    buf_printf(out, "%s %s", cprint_ctype(e->type), array);
    if (taps)
        buf_printf(out, "[%s]", size(w, w->r->down.s));
    if (taps && w->tap_s)
        buf_printf(out, "[%s]", size(w, w->r->across.s));
    buf_puts(out, lanes ? "[VEC];\n" : ";\n");
    if (taps)
        array = arena_printf(m->graph->arena, "%s%s", array, w->taps);
    CScope scope = cprint_open(&b->print);
    name_taps(w);
    if (kind == READ_VECTOR)
        body_load(b, &in, e, array);
    else if (lanes)
        window_lanes(m, &in, e, array);
    else
        buf_printf(&in, "%s = %s;\n", array,
                   cprint_bind(&in, &b->print, e, NULL));
    cprint_close(&b->print, scope);
    if (taps && w->tap_s) {
        unrolled(w, &row, w->tap_s, size(w, w->r->across.s), &in);
        buf_free(&in);
        in = row;
    }
    if (taps)
        unrolled(w, out, w->tap_r, size(w, w->r->down.s), &in);
    else
        buf_puts(out, buf_text(&in));
    buf_free(&in);
    body_hold(b, e, lanes ? arena_printf(m->graph->arena, "%s[%s]", array,
                                         b->lane) : array);
}

/* Of the window, and of the results: what is the same for all outputs, and
 * was made at load time or was not. */
static void put_factors(Walk *w, Buf *out, bool constant)
{
    Map *m = w->m;
    int step[MAX_STEPS];
    int n = schedule_phase(m->group, &m->plan, 0, step);
    Reads r;

    for (int part = 0; part < 2; part++) {
        reads_of(m->group, part ? step : w->step, part ? n : w->n, &r);
        for (int i = 0; i < r.n; i++)
            if (!roll_moves(w->r, r.read[i]) && !read_by_local(r.read[i]) &&
                kernel_reads_constants(r.read[i]) == constant &&
                !body_held(&m->body, r.read[i]))
                put_factor(w, out, r.read[i]);
    }
}

/* ---- input rows -------------------------------------------------------- */

static int window_reads(Walk *w, const Expr **read)
{
    Reads r;
    int n = 0;

    reads_of(w->m->group, w->step, w->n, &r);
    for (int i = 0; i < r.n; i++)
        if (roll_moves(w->r, r.read[i]))
            read[n++] = r.read[i];
    return n;
}

/* Inside the tensor, and read at all. */
static void put_inside(Walk *w, Buf *out, const Expr *e)
{
    Map *m = w->m;
    const Window *q = &w->r->across;

    buf_printf(out, "%s < %s", w->u, w->in_rows);
    if (q->q && q->q->extent % q->tile)
        buf_printf(out, " && %s * %lld + %s < %lld", w->q,
                   (long long)q->stride, w->j,
                   (long long)((q->q->extent - 1) * q->stride +
                               q->s->extent));
    if (guard_truth(e->in) != ALWAYS) {
        buf_puts(out, " && ");
        cprint_condition(out, &m->body.print, e->in);
    }
}

static bool zero_outside(const Expr *e)
{
    return !e->outside || e->outside->num == 0;
}

static void put_copy(Walk *w, Buf *out, const Expr *e, const char *ring)
{
    Map *m = w->m;
    CPrint *p = &m->body.print;
    int bytes = m->vec * type_bytes(e->tensor->type);
    Buf inside = {0}, at = {0};

    put_inside(w, &inside, e);
    cprint_at(&at, p, e->tensor, e->at);
    const char *slot = arena_printf(m->graph->arena,
                                    "smem.%s[%s %% STAGES][%s][threadIdx.x]",
                                    ring, w->u, w->j);
    const char *name = cprint_tensor(p, e->tensor);
    if (zero_outside(e)) {
        buf_printf(out, "const bool in = %s;\n"
                        "dcc_cp_async%d(%s,\n    &%s[%s], in ? %d : 0);\n",
                   buf_text(&inside), bytes, slot, name, buf_text(&at), bytes);
    } else {
        buf_printf(out, "if (%s)\n    dcc_cp_async%d(%s,\n        &%s[%s]);\n"
                        "else\n    dcc_fill(%s, ",
                   buf_text(&inside), bytes, slot, name, buf_text(&at), slot);
        cprint_to_storage(out, e->tensor->type, e->type,
                          cprint_bind(out, p, e->outside, NULL));
        buf_puts(out, ");\n");
    }
    buf_free(&inside);
    buf_free(&at);
}

/* fetch(u): the copies of input row u, one group. */
static void put_fetch(Walk *w, Buf *out, const Expr *const *read,
                      const char *const *ring, int n)
{
    Map *m = w->m;
    Buf body = {0}, in = {0};
    CScope scope = cprint_open(&m->body.print);

    name_taps(w);
    cprint_name(&m->body.print, w->r->down.s, w->u);
    if (w->tap_s)
        cprint_name(&m->body.print, w->r->across.s, w->j);
    for (int i = 0; i < n; i++) {
        Buf one = {0};
        put_copy(w, &one, read[i], ring[i]);
        if (n > 1)
            put_loop(&in, "", "", &one);
        else
            buf_puts(&in, buf_text(&one));
        buf_free(&one);
    }
    cprint_close(&m->body.print, scope);
    unrolled(w, &body, w->j, "SPAN", &in);
    buf_puts(&body, "dcc_cp_commit();\n");
    buf_printf(out, "const auto fetch = [&](int %s) {\n", w->u);
    put_block(out, &body);
    buf_puts(out, "};\n#pragma unroll\n");
    buf_printf(out, "for (int %s = 0; %s < STAGES - 1; ++%s)\n"
                    "    fetch(%s);\n", w->u, w->u, w->u, w->u);
    buf_free(&body);
    buf_free(&in);
}

/* ---- sums -------------------------------------------------------------- */

static void put_sums(Walk *w, Buf *out)
{
    Map *m = w->m;
    Body *b = &m->body;

    for (int n = 0; n < w->n; n++) {
        int i = w->step[n];
        const Step *s = &m->group->step[i];
        if (s->op == R_NONE)
            continue;
        const char *name = body_step_name(b, i);
        b->acc[i] = name;
        buf_printf(out, "%s %s[LIVE][TILE][VEC]%s;\n", cprint_ctype(s->type),
                   name, s->op == R_SUM ? " = {}" : "");
        if (s->op != R_SUM)
            buf_printf(out, "dcc_fill(%s, %s);\n", name,
                       cprint_identity(s->op, s->type));
    }
}

/* Calls the sums those of row `a`, output `k`. */
static void name_sums(Walk *w, const char *const *sum, const char *a)
{
    Body *b = &w->m->body;

    for (int n = 0; n < w->n; n++) {
        int i = w->step[n];
        if (sum[i])
            b->acc[i] = b->print.local[i] =
                arena_printf(w->m->graph->arena, "%s[%s][%s][%s]", sum[i], a,
                             w->k, b->lane);
    }
}

/* The products of one input row. */
static void put_products(Walk *w, Buf *out)
{
    Map *m = w->m;
    Body *b = &m->body;
    const Window *down = &w->r->down;
    Buf in = {0}, loop = {0};
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;

    name_taps(w);
    body_steps(b, &in, w->step, w->n, true);
    b->n_held = held;
    cprint_close(&b->print, scope);
    unrolled(w, &loop, w->k, "TILE", &in);
    if (w->tap_s) {
        buf_free(&in);
        in = loop;
        loop = (Buf){0};
        unrolled(w, &loop, w->tap_s, size(w, w->r->across.s), &in);
    }
    buf_free(&in);
    in = (Buf){0};
    if (down->stride == 1) {
        unrolled(w, out, w->tap_r, size(w, down->s), &loop);
    } else {
        buf_printf(&in, "const int %s = %s * %lld + %s;\n", w->tap_r, w->a,
                   (long long)down->stride, w->i);
        put_loop(&in, "", arena_printf(m->graph->arena, "if (%s < %s)",
                                       w->tap_r, size(w, down->s)), &loop);
        unrolled(w, out, w->a, "LIVE", &in);
    }
    buf_free(&in);
    buf_free(&loop);
}

/* One input row: the next is called for, this one awaited and used. */
static void put_row(Walk *w, Buf *out, const Expr *const *read,
                    const char *const *ring, int n)
{
    Map *m = w->m;
    Body *b = &m->body;
    Arena *arena = m->graph->arena;
    const Window *q = &w->r->across;

    if (w->r->down.stride > 1)
        buf_printf(out, "const int %s = %s * %lld + %s;\n", w->u, w->t,
                   (long long)w->r->down.stride, w->i);
    const char *u = w->r->down.stride > 1 ? w->u : w->t;
    buf_printf(out, "fetch(%s + STAGES - 1);\n"
                    "dcc_cp_wait<STAGES - 1>();\n", u);
    for (int i = 0; i < n; i++) {
        Buf in = {0};
        const char *frag = cprint_fresh(
            &b->print, arena_printf(arena, "%s_frag",
                                    cprint_tensor(&b->print,
                                                  read[i]->tensor)));
        buf_printf(out, "%s %s[SPAN][VEC];\n", cprint_ctype(read[i]->type),
                   frag);
        buf_printf(&in, "dcc_load<VEC>(%s[%s],\n    smem.%s[%s %% STAGES][%s]"
                        "[threadIdx.x]);\n", frag, w->j, ring[i], u, w->j);
        unrolled(w, out, w->j, "SPAN", &in);
        buf_free(&in);
        const char *at = w->k;
        if (q->q && q->stride > 1)
            at = arena_printf(arena, "%s * %lld", at, (long long)q->stride);
        if (q->q)
            at = arena_printf(arena, "%s + %s", at, w->tap_s);
        body_hold(b, read[i], arena_printf(arena, "%s[%s][%s]", frag, at,
                                           b->lane));
    }
    put_products(w, out);
}

/* The oldest row of sums is complete. */
static void put_results(Walk *w, Buf *out)
{
    Map *m = w->m;
    Body *b = &m->body;
    Arena *arena = m->graph->arena;
    const Window *q = &w->r->across;
    int step[MAX_STEPS], n = schedule_phase(m->group, &m->plan, 0, step);
    Buf in = {0}, guarded = {0}, row = {0};
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *p = cprint_fresh(
        &b->print, arena_printf(arena, "%s_out",
                                cprint_ident(arena, w->r->down.q->name)));

    cprint_name(&b->print, w->r->down.q, p);
    if (q->q)
        cprint_name(&b->print, q->q, arena_printf(arena, "(%s + %s)", w->q,
                                                  w->k));
    body_steps(b, &in, step, n, true);
    b->n_held = held;
    cprint_close(&b->print, scope);
    if (q->q && q->q->extent % q->tile)
        put_loop(&guarded, "", arena_printf(arena, "if (%s + %s < %s)", w->q,
                                            w->k, size(w, q->q)), &in);
    buf_printf(&row, "const int %s = %s + %s - (LIVE - 1);\n", p, w->p, w->t);
    unrolled(w, &row, w->k, "TILE", guarded.len ? &guarded : &in);
    put_loop(out, "", arena_printf(arena, "if (%s >= LIVE - 1)", w->t), &row);
    buf_free(&in);
    buf_free(&guarded);
    buf_free(&row);
}

/* ---- the whole --------------------------------------------------------- */

/* A tile size: its constant, and how many of them there are. */
static void set_tile(Map *m, const Window *w, const char *tile,
                     const char *what)
{
    Graph *g = m->graph;
    const char *extent = kernel_extent(g, m->kernel, w->q);
    const char *count = arena_printf(g->arena, "(%s / %s)", extent, tile);

    kernel_constant(g, m->kernel, tile, w->tile,
                    arena_printf(g->arena, "%s %s", what, w->q->name));
    if (w->q->extent % w->tile)
        count = kernel_constant(
            g, m->kernel, arena_printf(g->arena, "%s_TILES", extent),
            window_tiles(w), "the last in part");
    m->body.tiled[m->body.n_tiled++] = (Tiled){w->q, tile, count};
}

void roll_tiles(Map *m)
{
    const Roll *r = &m->roll;

    m->kernel->min_arch = "sm_80";
    set_tile(m, &r->down, "ROWS", "outputs of a thread down");
    if (r->across.q)
        set_tile(m, &r->across, "TILE", "and across, along");
    else
        kernel_constant(m->graph, m->kernel, "TILE", 1, "and across");
    kernel_constant(m->graph, m->kernel, "SPAN", window_span(&r->across),
                    "inputs across");
    kernel_constant(m->graph, m->kernel, "LIVE", roll_live(r),
                    "rows of outputs that an input row belongs to");
    kernel_constant(m->graph, m->kernel, "STAGES", ROLL_STAGES,
                    "input rows under way or in use");
}

/* How far this thread goes. */
static const char *put_end(Walk *w, Buf *out)
{
    const Window *p = &w->r->down;

    w->in_rows = "IN_ROWS";
    if (p->q->extent % p->tile == 0) {
        kernel_constant(w->m->graph, w->m->kernel, "IN_ROWS", window_span(p),
                        "inputs for them");
        return "ROWS";
    }
    CPrint *c = &w->m->body.print;
    const char *rows = cprint_fresh(c, "rows");
    w->in_rows = cprint_fresh(c, "in_rows");
    buf_printf(out, "const int %s = min((int)ROWS, %s - %s);\n"
                    "const int %s = (%s - 1) * %lld + %s;\n", rows,
               size(w, p->q), w->p, w->in_rows, rows, (long long)p->stride,
               size(w, p->s));
    return rows;
}

static const char *ring_of(Walk *w, const Expr *e)
{
    Map *m = w->m;
    Arena *a = m->graph->arena;
    const char *ring = cprint_fresh(
        &m->body.print, arena_printf(a, "%s_ring",
                                     cprint_tensor(&m->body.print,
                                                   e->tensor)));

    kernel_smem(m->graph, m->kernel, 16,
                arena_printf(a, "%s %s[STAGES][SPAN][THREADS][VEC]",
                             type_cname(e->tensor->type), ring),
                "a slot is one thread's");
    m->kernel->smem_bytes += (size_t)(ROLL_STAGES *
                                      window_span(&w->r->across) *
                                      m->kernel->block * m->vec *
                                      type_bytes(e->tensor->type));
    return ring;
}

/* What comes before the walk: factors, and the first rows under way. */
static void put_start(Walk *w, const Expr *const *read, const char **ring,
                      int n, const char **rows)
{
    Map *m = w->m;
    Buf out = {0};

    put_factors(w, &out, true);
    if (out.len)
        kernel_phase(m->graph, m->kernel, "load: factors into registers",
                     &out);
    buf_free(&out);
    out = (Buf){0};
    kernel_wait_phase(m->graph, m->kernel);
    *rows = put_end(w, &out);
    for (int i = 0; i < n; i++)
        ring[i] = ring_of(w, read[i]);
    put_fetch(w, &out, read, ring, n);
    put_factors(w, &out, false);
    kernel_phase(m->graph, m->kernel, "load: input rows come in ahead", &out);
    buf_free(&out);
}

void roll_pass(Map *m)
{
    Walk w;
    const Expr *read[128];
    const char *ring[128], *sum[MAX_STEPS] = {NULL}, *rows;
    Buf out = {0}, step = {0}, row = {0};

    open_walk(&w, m);
    int n = window_reads(&w, read);
    put_start(&w, read, ring, n, &rows);
    put_sums(&w, &out);
    for (int i = 0; i < m->group->n_step; i++)
        sum[i] = m->body.acc[i];
    CScope scope = cprint_open(&m->body.print);
    int held = m->body.n_held;
    name_sums(&w, sum, w.a);
    put_row(&w, &row, read, ring, n);
    if (w.r->down.stride > 1)
        unrolled(&w, &step, w.i,
                 arena_printf(m->graph->arena, "%lld",
                              (long long)w.r->down.stride), &row);
    else
        buf_puts(&step, buf_text(&row));
    m->body.n_held = held;
    cprint_close(&m->body.print, scope);
    name_sums(&w, sum, "LIVE - 1");
    put_results(&w, &step);
    for (int i = 0; i < m->group->n_step; i++)
        if (sum[i])
            buf_printf(&step, "dcc_shift(%s, %s);\n", sum[i],
                       cprint_identity(m->group->step[i].op,
                                       m->group->step[i].type));
    put_loop(&out, "#pragma unroll LIVE\n",
             head(&w, w.t, arena_printf(m->graph->arena, "%s + LIVE - 1",
                                        rows)), &step);
    kernel_phase(m->graph, m->kernel,
                 "walk down the rows of the input", &out);
    buf_free(&out);
    buf_free(&step);
    buf_free(&row);
}
