/* map_roll_build.c - the code of a window that a thread walks down. */
#include "family/map/map_walk.h"

#include <string.h>

/* `pragma` and `for (v up to `to`) inner`. */
static void put_walk(Tree *out, const char *pragma, const char *v,
                     const char *to, const Tree *inner)
{
    PUT(out,
        "#pragma @pragma\n"
        "for (int @v = 0; @v < @to; ++@v) {\n"
        "    @INNER\n"
        "}\n",
        FILL("pragma", pragma), FILL("v", v), FILL("to", to),
        FILL_TREE("INNER", inner));
}

void walk_unrolled(Tree *out, const char *v, const char *to, const Tree *inner)
{
    put_walk(out, "unroll", v, to, inner);
}

const char *walk_size(Walk *w, const Var *v)
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

static void open_walk(Walk *w, MapBuild *m)
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

void walk_name_taps(Walk *w, const char *r, const char *s)
{
    MapBuild *m = w->m;

    for (int i = 0; i < m->group->n_cols; i++)
        if (m->group->cols[i]->extent == 1)
            cprint_name(&m->body.print, m->group->cols[i], "0");
    cprint_name(&m->body.print, w->r->down.s, r);
    if (w->r->across.s)
        cprint_name(&m->body.print, w->r->across.s, s);
}

/* ---- input rows -------------------------------------------------------- */

static int window_reads(Walk *w, const Expr **read)
{
    Reads r;
    int n = 0;

    reads_of(w->m->graph, w->m->group, w->step, w->n, &r);
    for (int i = 0; i < r.n; i++)
        if (roll_moves(w->r, r.read[i]))
            read[n++] = r.read[i];
    return n;
}

/* A cond of a column (`v` along q) that holds from some column of the span on,
 * or up to one, wherever the tile lies: so only the others ask. Likewise of a
 * row. */
static const char *place(Walk *w, Cond c, const Window *q, const char *v)
{
    Graph *g = w->m->graph;
    int64_t cs = idx_coef(c.e, q->s), cq = idx_coef(c.e, q->q);
    int64_t last = (window_tiles(q) - 1) * q->tile;
    const Idx *rest = idx_sub(g->pool, c.e,
                              idx_scale(g->pool, idx_var(g->pool, q->s), cs));

    rest = idx_sub(g->pool, rest,
                   idx_scale(g->pool, idx_var(g->pool, q->q), cq));
    bool known = idx_is_const(rest) && !c.mod && cs;
    int64_t worst = known ? rest->k + (cq < 0 ? cq * last : 0) : 0;
    int64_t from = known && cs > 0 ? (-worst + cs - 1) / cs : 0;
    int64_t to = known && cs < 0 ? worst / -cs : window_span(q) - 1;

    if (known && worst >= 0 && (cs > 0 || to >= window_span(q) - 1))
        return "";
    const char *in = cprint_condition(&w->m->body.print, (Guard){&c, 1});
    if (known && cs > 0 && from < window_span(q))
        return arena_printf(g->arena, " && (%s >= %lld || %s)", v,
                            (long long)from, in);
    if (known && cs < 0 && worst >= 0)
        return arena_printf(g->arena, " && (%s <= %lld || %s)", v,
                            (long long)to, in);
    return arena_printf(g->arena, " && %s", in);
}

static bool uses_window(const Idx *e, const Window *w)
{
    return w->q && (idx_uses(e, w->q) || idx_uses(e, w->s));
}

Inside walk_inside(Walk *w, const Expr *e)
{
    MapBuild *m = w->m;
    Arena *a = m->graph->arena;
    const Window *q = &w->r->across, *p = &w->r->down;
    const char *row = "", *column = "";

    if (!w->r->bands)
        row = arena_printf(a, " && %s < %s", w->u, w->in_rows);
    if (q->q && q->q->extent % q->tile)
        column = arena_printf(
            a, " && %s * %lld + %s < %lld", w->q, (long long)q->stride, w->j,
            (long long)((q->q->extent - 1) * q->stride + q->s->extent));
    for (int i = 0; i < e->in.n; i++) {
        Cond c = e->in.cond[i];
        bool of_column = uses_window(c.e, q);
        const char **to = of_column ? &column : &row, *more;
        if (cond_truth(c) == ALWAYS)
            continue;
        if (of_column && !uses_window(c.e, p))
            more = place(w, c, q, w->j);
        else if (w->r->bands && uses_window(c.e, p) && !of_column)
            more = place(w, c, p, w->u);
        else
            more = arena_printf(
                a, " && %s", cprint_condition(&m->body.print, (Guard){&c, 1}));
        *to = arena_printf(a, "%s%s", *to, more);
    }
    return (Inside){*row ? row + strlen(" && ") : "", column};
}

static bool zero_outside(const Expr *e)
{
    return !e->outside || e->outside->num == 0;
}

long long walk_pitch(Walk *w, const Expr *e, const Window *q)
{
    const Idx *offset = tensor_offset(w->m->graph, e->tensor, e->at);

    return q->q ? (long long)idx_coef(offset, q->s) : 0;
}

/* `const __half *x_row = &x[...];`: the first column of input row 0. */
static const char *put_origin(Walk *w, Tree *out, const Expr *e)
{
    CPrint *p = &w->m->body.print;
    Graph *g = w->m->graph;
    const Idx *zero = idx_const(g->pool, 0), *at[MAX_RANK];
    Subst s[2] = {{w->r->down.s, zero}, {w->r->across.s, zero}};
    const char *name = cprint_tensor(p, e->tensor);
    const char *row = cprint_fresh(p, arena_printf(g->arena, "%s_row", name));

    for (int i = 0; i < e->tensor->rank; i++)
        at[i] = idx_subst(g->pool, e->at[i], s, w->tap_s ? 2 : 1);
    PUT(out, "const @type *@row = &@name[@at];\n",
        FILL("type", type_cname(e->tensor->type)), FILL("row", row),
        FILL("name", name),
        FILL("at", cprint_at(p, e->tensor, at, (Guard){0})));
    return row;
}

/* One column's copy. */
static void put_copy(Walk *w, Tree *out, const Expr *e, const char *ring,
                     const char *from, const char *inside)
{
    MapBuild *m = w->m;
    CPrint *p = &m->body.print;
    int bytes = m->vec * type_bytes(e->tensor->type);
    const char *slot = arena_printf(m->graph->arena,
                                    "smem.%s[%s %% STAGES][%s][threadIdx.x]",
                                    ring, w->u, w->j);

    if (w->tap_s)
        from = arena_printf(m->graph->arena, "%s + %s * %lld", from, w->j,
                            walk_pitch(w, e, &w->r->across));
    PUT(out,
        zero_outside(e) ? "dcc_cp_async@bytes(@slot, @from, "
                          "@inside ? @bytes : 0);\n"
                        : "if (@inside)\n"
                          "    dcc_cp_async@bytes(@slot, @from);\n"
                          "else\n"
                          "    dcc_fill(@slot, @outside);\n",
        FILL_INT("bytes", bytes), FILL("slot", slot), FILL("from", from),
        FILL("inside", inside),
        FILL("outside",
             zero_outside(e)
                 ? ""
                 : cprint_to_storage(m->graph->arena, e->tensor->type, e->type,
                                     cprint_bind(out, p, e->outside, NULL))));
}

/* All columns of the row, then its neighbour's origin. */
static void put_copies(Walk *w, Tree *out, const Expr *e, const char *ring,
                       const char *from)
{
    CPrint *p = &w->m->body.print;
    Tree *in = tree_list(out->arena);
    CScope scope = cprint_open(p);
    const char *there = cprint_fresh(p, "there"), *inside = there;
    Inside where = walk_inside(w, e);

    if (*where.column) {
        inside = cprint_fresh(p, "in");
        PUT(in, "const bool @inside = @there@@column;\n",
            FILL("inside", inside), FILL("there", there),
            FILL("column", where.column));
    }
    put_copy(w, in, e, ring, from, inside);
    PUT(out,
        "const bool @there = @row;\n"
        "#pragma unroll\n"
        "for (int @j = 0; @j < SPAN; ++@j) {\n"
        "    @IN\n"
        "}\n"
        "@from += @pitch;\n",
        FILL("there", there), FILL("row", where.row), FILL("j", w->j),
        FILL_TREE("IN", in), FILL("from", from),
        FILL_INT("pitch", walk_pitch(w, e, &w->r->down)));
    cprint_close(p, scope);
}

/* fetch(u): the copies of input row u, one group; row after row. */
static void put_fetch(Walk *w, Tree *out, const Expr *const *read, int n)
{
    MapBuild *m = w->m;
    Tree *body = tree_list(w->m->graph->arena);
    const char *from[WALK_READS];

    for (int i = 0; i < n; i++)
        from[i] = put_origin(w, out, read[i]);
    CScope scope = cprint_open(&m->body.print);
    walk_name_taps(w, w->u, w->j);
    for (int i = 0; i < n; i++) {
        Tree *one = tree_list(body->arena);
        put_copies(w, one, read[i], w->ring[i], from[i]);
        one->braces = n > 1;
        tree_add(body, one);
    }
    cprint_close(&m->body.print, scope);
    PUT(out,
        "const auto fetch = [&](int @u) {\n"
        "    @BODY\n"
        "    dcc_cp_commit();\n"
        "};\n"
        "#pragma unroll\n"
        "for (int @u = 0; @u < STAGES - 1; ++@u)\n"
        "    fetch(@u);\n",
        FILL("u", w->u), FILL_TREE("BODY", body));
}

/* ---- sums -------------------------------------------------------------- */

/* What step i's sums begin with. */
static const char *start_of(Walk *w, int i)
{
    const Step *s = &w->m->group->step[i];

    return w->start[i] ? w->start[i] : cprint_identity(s->op, s->type);
}

static void put_sums(Walk *w, Tree *out)
{
    MapBuild *m = w->m;
    Body *b = &m->body;

    for (int n = 0; n < w->n; n++) {
        int i = w->step[n];
        const Step *s = &m->group->step[i];
        if (s->op == R_NONE)
            continue;
        const char *name = body_step_name(b, i);
        b->acc[i] = name;
        bool zero = s->op == R_SUM && !w->start[i];
        PUT(out, "@type @name[LIVE][TILE][VEC]@zero;\n",
            FILL("type", cprint_ctype(s->type)), FILL("name", name),
            FILL("zero", zero ? " = {}" : ""));
        if (!zero)
            PUT(out, "dcc_fill(@name, @of);\n", FILL("name", name),
                FILL("of", start_of(w, i)));
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
static void put_products(Walk *w, Tree *out)
{
    MapBuild *m = w->m;
    Body *b = &m->body;
    const Window *down = &w->r->down;
    Tree *in = tree_list(w->m->graph->arena),
         *loop = tree_list(w->m->graph->arena);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;

    walk_name_taps(w, w->tap_r, w->tap_s);
    body_steps(b, in, w->step, w->n, true);
    b->n_held = held;
    cprint_close(&b->print, scope);
    walk_unrolled(loop, w->k, "TILE", in);
    if (w->tap_s) {
        in = loop;
        loop = tree_list(w->m->graph->arena);
        walk_unrolled(loop, w->tap_s, walk_size(w, w->r->across.s), in);
    }
    in = tree_list(w->m->graph->arena);
    if (roll_skips(m->group, w->r, m->vec)) { /* sums have no rows of others */
        PUT(in,
            "if (@t >= @a && @t < ROWS + @a) {\n"
            "    @BODY\n"
            "}\n",
            FILL("t", w->t), FILL("a", w->a), FILL_TREE("BODY", loop));
        loop = in;
        in = tree_list(w->m->graph->arena);
    }
    if (down->stride == 1) {
        walk_unrolled(out, w->tap_r, walk_size(w, down->s), loop);
    } else {
        PUT(in, "const int @tap_r = @a * @stride + @i;\n",
            FILL("tap_r", w->tap_r), FILL("a", w->a),
            FILL_INT("stride", down->stride), FILL("i", w->i));
        PUT(in,
            "if (@tap_r < @size) {\n"
            "    @BODY\n"
            "}\n",
            FILL("tap_r", w->tap_r), FILL("size", walk_size(w, down->s)),
            FILL_TREE("BODY", loop));
        walk_unrolled(out, w->a, "LIVE", in);
    }
}

/* One column of a slot of the thread's own. */
static void put_slot(Walk *w, Tree *out, int i, const char *u, const char *frag)
{
    PUT(out,
        "dcc_load<VEC>(@frag[@j],\n"
        "    smem.@ring[@u % STAGES][@j][threadIdx.x]);\n",
        FILL("frag", frag), FILL("j", w->j), FILL("ring", w->ring[i]),
        FILL("u", u));
}

/* One input row into registers: the next is called for, this one awaited. */
static void put_fragments(Walk *w, Tree *out, const Expr *const *read, int n,
                          const char *u)
{
    MapBuild *m = w->m;
    Body *b = &m->body;
    Arena *arena = m->graph->arena;
    const Window *q = &w->r->across;

    if (w->r->bands)
        band_wait(w, out, u);
    else
        PUT(out,
            "fetch(@u + STAGES - 1);\n"
            "dcc_cp_wait<STAGES - 1>();\n",
            FILL("u", u));
    for (int i = 0; i < n; i++) {
        Tree *in = tree_list(w->m->graph->arena);
        const char *frag = cprint_fresh(
            &b->print, arena_printf(arena, "%s_frag",
                                    cprint_tensor(&b->print,
                                                  read[i]->tensor)));
        PUT(out, "@type @frag[SPAN][VEC];\n",
            FILL("type", cprint_ctype(read[i]->type)), FILL("frag", frag));
        if (w->r->bands)
            band_column(w, in, read[i], i, u, frag);
        else
            put_slot(w, in, i, u, frag);
        walk_unrolled(out, w->j, "SPAN", in);
        const char *at = w->k;
        if (q->q && q->stride > 1)
            at = arena_printf(arena, "%s * %lld", at, (long long)q->stride);
        if (q->q)
            at = arena_printf(arena, "%s + %s", at, w->tap_s);
        body_hold(b, read[i], arena_printf(arena, "%s[%s][%s]", frag, at,
                                           b->lane));
    }
    if (w->r->bands)
        band_release(w, out, u);
}

/* One input row: it comes into registers and is used. */
static void put_row(Walk *w, Tree *out, const Expr *const *read, int n)
{
    const Window *down = &w->r->down;
    int64_t last = (down->tile + roll_live(w->r) - 1) * down->stride;
    Tree *in = tree_list(w->m->graph->arena);

    if (down->stride > 1)
        PUT(out, "const int @u = @t * @stride + @i;\n", FILL("u", w->u),
            FILL("t", w->t), FILL_INT("stride", down->stride), FILL("i", w->i));
    put_fragments(w, in, read, n, down->stride > 1 ? w->u : w->t);
    put_products(w, in);
    if (w->r->bands && last > window_span(down))
        PUT(out,
            "if (@u < @span) {\n"
            "    @BODY\n"
            "}\n",
            FILL("u", w->u), FILL_INT("span", window_span(down)),
            FILL_TREE("BODY", in));
    else
        tree_add(out, in);
}

/* `__half *y_row = &y[...];`: where the thread's first column of a row is
 * stored. The others lie a constant from there, which a store's instruction
 * holds; in the text of each one's own place nvcc does not find it.
 * What is not read soon goes past the caches; what is, stays (mobilenetv2 at
 * batch 32 takes longer if all its results go past them). */
static void put_store_rows(Walk *w, Tree *out, const int *step, int n)
{
    Body *b = &w->m->body;
    CPrint *p = &b->print;
    Graph *g = w->m->graph;
    const Var *q = w->r->across.q;

    for (int i = 0; i < n && q; i++) {
        const Step *s = &b->group->step[step[i]];
        if (!s->tensor || s->op != R_NONE || b->vec == 1 ||
            !body_stores_vectors(b, s))
            continue;
        const Idx *at = tensor_offset(g, s->tensor, s->store);
        const Idx *columns = idx_scale(g->pool, idx_var(g->pool, q),
                                       idx_coef(at, q));
        if (idx_uses(idx_sub(g->pool, at, columns), q))
            continue;
        const char *row = cprint_fresh(
            p, arena_printf(g->arena, "%s_row", cprint_tensor(p, s->tensor)));
        for (int d = 0; d < s->tensor->rank; d++)
            cprint_bind_idx(out, p, s->store[d]);
        PUT(out, "@type *@row = &@tensor[@at];\n",
            FILL("type", type_cname(s->tensor->type)), FILL("row", row),
            FILL("tensor", cprint_tensor(p, s->tensor)),
            FILL("at", cprint_at(p, s->tensor, s->store, (Guard){0})));
        b->past[step[i]] = w->r->bands &&
                           model_leaves(w->m->device, s->tensor);
        b->store_at[step[i]] = arena_printf(g->arena, "%s + %s * %lld", row,
                                            w->k, (long long)idx_coef(at, q));
    }
}

/* The oldest row of sums is complete. */
static void put_results(Walk *w, Tree *out)
{
    MapBuild *m = w->m;
    Body *b = &m->body;
    Arena *arena = m->graph->arena;
    const Window *q = &w->r->across;
    int step[MAX_STEPS], n = schedule_phase(m->group, &m->plan, 0, step);
    Tree *in = tree_list(w->m->graph->arena),
         *guarded = tree_list(w->m->graph->arena),
         *row = tree_list(w->m->graph->arena);
    CScope scope = cprint_open(&b->print);
    int held = b->n_held;
    const char *p = cprint_fresh(
        &b->print, arena_printf(arena, "%s_out",
                                cprint_ident(arena, w->r->down.q->name)));

    cprint_name(&b->print, w->r->down.q, p);
    PUT(row, "const int @p = @p2 + @t - (LIVE - 1);\n", FILL("p", p),
        FILL("p2", w->p), FILL("t", w->t));
    put_store_rows(w, row, step, n);
    if (q->q)
        cprint_name(&b->print, q->q, arena_printf(arena, "(%s + %s)", w->q,
                                                  w->k));
    body_steps(b, in, step, n, true);
    b->n_held = held;
    cprint_close(&b->print, scope);
    if (q->q && q->q->extent % q->tile)
        PUT(guarded,
            "if (@q + @k < @size) {\n"
            "    @BODY\n"
            "}\n",
            FILL("q", w->q), FILL("k", w->k), FILL("size", walk_size(w, q->q)),
            FILL_TREE("BODY", in));
    walk_unrolled(row, w->k, "TILE", guarded->n_item ? guarded : in);
    PUT(out,
        "if (@t >= LIVE - 1) {\n"
        "    @BODY\n"
        "}\n",
        FILL("t", w->t), FILL_TREE("BODY", row));
}

/* ---- the whole --------------------------------------------------------- */

/* A tile size: its constant, and how many of them there are. */
static void set_tile(MapBuild *m, const Window *w, const char *tile,
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

void roll_tiles(MapBuild *m)
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
    if (!r->bands) {
        kernel_constant(m->graph, m->kernel, "STAGES", roll_stages(r),
                        "input rows under way or in use");
        return;
    }
    m->kernel->min_arch = "sm_90";
    if (r->bands > 1)
        kernel_constant(m->graph, m->kernel, "BANDS", r->bands,
                        "of ROWS, one below the other: a block's");
    kernel_constant(m->graph, m->kernel, "SLOTS", r->slots,
                    "input rows under way or in use");
    if (r->slots == band_rows(r))
        return;
    kernel_constant(m->graph, m->kernel, "IN_ROWS", band_rows(r),
                    "inputs for a block");
    kernel_constant(m->graph, m->kernel, "WARPS", (m->kernel->block + 31) / 32,
                    NULL);
}

/* How far this thread goes. */
static const char *put_end(Walk *w, Tree *out)
{
    const Window *p = &w->r->down;

    if (w->r->bands)
        return "ROWS";
    w->in_rows = "IN_ROWS";
    if (p->q->extent % p->tile == 0) {
        kernel_constant(w->m->graph, w->m->kernel, "IN_ROWS", window_span(p),
                        "inputs for them");
        return "ROWS";
    }
    CPrint *c = &w->m->body.print;
    const char *rows = cprint_fresh(c, "rows");
    w->in_rows = cprint_fresh(c, "in_rows");
    PUT(out,
        "const int @rows = min((int)ROWS, @size - @p);\n"
        "const int @in_rows = (@rows - 1) * @stride + @size2;\n",
        FILL("rows", rows), FILL("size", walk_size(w, p->q)), FILL("p", w->p),
        FILL("in_rows", w->in_rows), FILL_INT("stride", p->stride),
        FILL("size2", walk_size(w, p->s)));
    return rows;
}

static const char *ring_of(Walk *w, const Expr *e)
{
    MapBuild *m = w->m;
    Arena *a = m->graph->arena;
    const char *ring = cprint_fresh(
        &m->body.print, arena_printf(a, "%s_ring",
                                     cprint_tensor(&m->body.print,
                                                   e->tensor)));

    kernel_smem(m->graph, m->kernel, 16,
                arena_printf(a, "%s %s[STAGES][SPAN][THREADS][VEC]",
                             type_cname(e->tensor->type), ring),
                "a slot is one thread's");
    m->kernel->smem_bytes += (size_t)(roll_stages(w->r) *
                                      window_span(&w->r->across) *
                                      m->kernel->block * m->vec *
                                      type_bytes(e->tensor->type));
    return ring;
}

/* What comes before the walk: factors, and the first rows under way. Rows that
 * a block shares are asked for all at once: factors would queue up behind them,
 * so they are asked for before, and awaited after that. */
static void put_start(Walk *w, const Expr *const *read, int n,
                      const char **rows)
{
    MapBuild *m = w->m;
    bool bands = w->r->bands > 0;
    Tree *out = tree_list(w->m->graph->arena);

    walk_factors(w, out, true, bands);
    if (out->n_item)
        kernel_phase(m->graph, m->kernel, "load: factors into registers", out);
    out = tree_list(w->m->graph->arena);
    kernel_wait_phase(m->graph, m->kernel);
    *rows = put_end(w, out);
    if (bands) {
        walk_factors(w, out, false, true);
        band_begin(w, out, read, n);
        walk_factors(w, out, true, false);
    } else {
        for (int i = 0; i < n; i++)
            w->ring[i] = ring_of(w, read[i]);
        put_fetch(w, out, read, n);
    }
    walk_factors(w, out, false, false);
    kernel_phase(m->graph, m->kernel, "load: input rows come in ahead", out);
}

/* Iterations side by side in the text: slots and rows of sums change places
 * without a move. All of them, where they are few: then each has only the
 * products of the thread's own rows. */
static const char *turns(const Walk *w)
{
    return roll_written_out(w->m->group, w->r, w->m->vec) ? "unroll"
                                                          : "unroll LIVE";
}

void roll_pass(MapBuild *m)
{
    Walk w;
    const Expr *read[WALK_READS];
    const char *sum[MAX_STEPS] = {NULL}, *rows;
    Tree *out = tree_list(m->graph->arena), *step = tree_list(m->graph->arena),
         *row = tree_list(m->graph->arena);

    open_walk(&w, m);
    int n = window_reads(&w, read);
    put_start(&w, read, n, &rows);
    walk_starts(&w);
    put_sums(&w, out);
    for (int i = 0; i < m->group->n_step; i++)
        sum[i] = m->body.acc[i];
    CScope scope = cprint_open(&m->body.print);
    int held = m->body.n_held;
    name_sums(&w, sum, w.a);
    put_row(&w, row, read, n);
    if (w.r->down.stride > 1)
        walk_unrolled(
            step, w.i,
            arena_printf(m->graph->arena, "%lld", (long long)w.r->down.stride),
            row);
    else
        tree_add(step, row);
    m->body.n_held = held;
    cprint_close(&m->body.print, scope);
    name_sums(&w, sum, "LIVE - 1");
    put_results(&w, step);
    for (int i = 0; i < m->group->n_step; i++)
        if (sum[i])
            PUT(step, "dcc_shift(@sum, @of);\n", FILL("sum", sum[i]),
                FILL("of", start_of(&w, i)));
    put_walk(out, turns(&w), w.t,
             arena_printf(m->graph->arena, "%s + LIVE - 1", rows), step);
    kernel_phase(m->graph, m->kernel, "walk down the rows of the input", out);
}
