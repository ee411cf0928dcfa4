#include "family/chain/chain_wgmma.h"

#include <string.h>

/* Where a block of a chain is, and what it loads. */

/* ---- tensor maps ----------------------------------------------------- */

typedef struct Uses {
    const Tensor *t;
    bool found;
} Uses;

static void find_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->found |= e->kind == E_READ && e->tensor == u->t;
}

/* Whether the kernel touches t other than through a map. */
static bool touches(const ChainKernel *w, const Tensor *t)
{
    const Group *second = w->f->chain->second;
    const Chain *c = w->f->chain;
    Uses u = {t, false};

    if (c->twin) {
        ChainKernel twin = chain_twin_of(w);
        if (touches(&twin, t))
            return true;
    }

    expr_visit(w->f->rows.body, find_use, &u);
    for (int i = 0; i < w->f->rows.n_column; i++)
        expr_visit(w->f->rows.of_column[i], find_use, &u);
    for (int i = 0; i < w->f->rows.n_row; i++)
        expr_visit(w->f->rows.of_row[i], find_use, &u);
    if (w->f->rows.after)
        expr_visit(w->f->rows.after, find_use, &u);
    for (int i = 0; i < second->n_step; i++) {
        if (second->step[i].op == R_NONE)
            expr_visit(second->step[i].value, find_use, &u);
        u.found |= second->step[i].tensor == t;
    }
    return u.found;
}

/* `rows` of the box along `axis`, and 64 neighbours. */
static void add_map(ChainKernel *w, const TmaOperand *o, const char *id,
                    const Axis *axis, int rows)
{
    Kernel *k = w->k;
    const Tensor *t = o->op->read->tensor;
    TileMap *m = &k->map[k->n_map++];

    *m = (TileMap){.name = arena_printf(w->b.g->arena, "%s_map", id),
                   .offset = o->offset,
                   .rank = o->rank,
                   .swizzle = true};
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor == t) {
            m->arg = i;
            k->arg[i].mapped = !touches(w, t);
        }
    for (int d = 0; d < o->rank; d++) {
        const TmaDim *dim = &o->dim[d];
        int box = d == 0 ? 64 : dim->axis == axis ? rows : 1;
        m->dim[d] = dim->extent;
        if (o->run == d + 1)
            m->of_run[d] = dim->extent / w->b.g->most;
        m->stride[d] = dim->stride * type_bytes(t->type);
        m->box[d] = box * dim->step;
        m->step[d] = dim->step;
    }
}

static const Axis *axis_with(const Axes *side, const Var *v)
{
    for (int i = 0; i < side->n; i++)
        for (int j = 0; j < side->axis[i].n; j++)
            if (side->axis[i].v[j] == v)
                return &side->axis[i];
    return NULL;
}

/* The number of an axis from its digits' names. */
static void name_axis(ChainKernel *w, const Axis *a)
{
    IdxPool *p = w->b.g->pool;
    const Idx *e = idx_const(p, 0);
    int64_t radix = 1;

    if (a->n == 1)
        return;
    for (int i = a->n - 1; i >= 0; i--) {
        e = idx_add(p, e, idx_scale(p, idx_var(p, a->v[i]), radix));
        radix *= a->v[i]->extent;
    }
    cprint_name(&w->b.cp, a->linear, cprint_idx(&w->b.cp, e, 2));
}

/* A tile: boxes of 64 neighbours along `fast`, from `first` on, and of rows
 * along `along` from `origin` on. */
typedef struct Boxes {
    const Tma *t;
    const TmaOperand *o;
    const char *id, *slot, *barrier;
    const Var *fast, *along;
    const char *first, *origin;
} Boxes;

static Tree *copies(ChainKernel *w, const Boxes *x)
{
    CPrint *cp = &w->b.cp;
    Arena *a = w->b.g->arena;
    CScope scope = cprint_open(cp);
    const char *at = "";

    cprint_name(cp, x->along, x->origin);
    cprint_name(cp, x->fast, x->first);
    for (int i = 0; i < x->t->m.n && x->o == &x->t->a; i++)
        name_axis(w, &x->t->m.axis[i]);
    for (int d = 0; d < x->o->rank; d++)
        at = arena_printf(a, "%s, %s", at, cprint_idx(cp, x->o->dim[d].at, 0));
    cprint_close(cp, scope);
    return QUOTE(a,
                 "dcc_tma_load_boxes(smem.@id@_tile@slot, &@id@_map, "
                 "&smem.@barrier@@at);\n",
                 FILL("id", x->id), FILL("slot", x->slot),
                 FILL("barrier", x->barrier), FILL("at", at));
}

static void put_rows(ChainKernel *w, Tree *code, const Tma *t, const char *id)
{
    Boxes x = {t,
               &t->a,
               id,
               "",
               "rows_full",
               t->k.axis[0].linear,
               w->f->row,
               "0",
               "m0"};

    tree_add(code, copies(w, &x));
}

Tree *chain_load_rows(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    put_rows(w, code, &w->f->ta, w->id[0]);
    if (w->f->chain->other)
        put_rows(w, code, &w->f->to, w->id[3]);
    return code;
}

static void put_columns(ChainKernel *w, Tree *code, const Tma *t,
                        const char *id)
{
    Boxes x = {t,
               &t->b,
               id,
               "[first_slot]",
               "first_full[first_slot]",
               t->k.axis[0].linear,
               w->f->col,
               "0",
               "j0"};

    tree_add(code, copies(w, &x));
}

Tree *chain_load_first(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);

    put_columns(w, code, &w->f->ta, w->id[1]);
    if (w->f->chain->other)
        put_columns(w, code, &w->f->to, w->id[4]);
    return code;
}

static Tree *load_second(ChainKernel *w)
{
    const Tma *t = &w->f->tb;
    const Var *n = t->n.axis[0].linear;
    Boxes x = {t,          &t->b, w->id[2],  "[slot]", "second_full[slot]",
               n,          w->f->col, "0", "j0"};

    if (t->b.k_major) {
        x.fast = w->f->col;
        x.along = n;
        x.first = "j0";
        x.origin = "0";
    }
    return copies(w, &x);
}

Tree *chain_load_second(ChainKernel *w)
{
    Tree *code = load_second(w);

    if (w->f->twin) {
        ChainKernel twin = chain_twin_of(w);
        tree_add(code, load_second(&twin));
    }
    return code;
}

/* ---- the block's place ----------------------------------------------- */

void chain_batch(ChainKernel *w, Tree *b, const char *number)
{
    const ChainForm *f = w->f;
    int64_t below = f->batches, radix = 1;

    for (int i = 0; i < f->n_batch; i++) {
        const Var *v = f->batch[i];
        below /= v->extent;
        if (v->extent == 1) {
            cprint_name(&w->b.cp, v, "0");
            continue;
        }
        const char *id = cprint_var(&w->b.cp, v);
        PUT(b, "const int @id = @digit;\n", FILL("id", id),
            FILL("digit", cprint_digit(b->arena, number, below,
                                       radix > 1 ? v->extent : 0)));
        radix *= v->extent;
    }
}

Tree *chain_place(ChainKernel *w)
{
    Tree *code = tree_list(w->b.g->arena);
    bool turned = chain_first_longest(w);

    if (w->f->batches == 1) {
        PUT(code, turned
                      ? "const int m0 = (int)blockIdx.x * BM;\n"
                      : "const int m0 = (TILES_M - 1 - (int)blockIdx.x) * BM;\n");
        chain_batch(w, code, "0");
    } else if (w->group > 1) {
        /* neighbours read other columns, but few */
        PUT(code,
            "// GROUP of the batch run together, their longest rows first\n"
            "const dcc_tile tile = dcc_last_first(blockIdx.x, GROUP, "
            "TILES_M, BATCHES);\n"
            "const int m0 = @number * BM;\n",
            FILL("number", turned ? "(TILES_M - 1 - tile.m)" : "tile.m"));
        chain_batch(w, code, "tile.n");
    } else {
        PUT(code, "const int batch = blockIdx.x / TILES_M;\n"
                  "const int m0 = blockIdx.x % TILES_M * BM;\n");
        chain_batch(w, code, "batch");
    }
    return code;
}

/* e without the column, at the row of the tile where it is greatest; as text
 * of its quotient by d. */
static const char *greatest(ChainKernel *w, const Idx *e, int64_t d, int sign)
{
    const ChainForm *f = w->f;
    IdxPool *p = w->b.g->pool;
    CScope scope = cprint_open(&w->b.cp);

    e = idx_sub(p, e, idx_scale(p, idx_var(p, f->col), idx_coef(e, f->col)));
    if (idx_coef(e, f->row) > 0)
        e = idx_addc(p, e, idx_coef(e, f->row) * (w->bm - 1));
    cprint_name(&w->b.cp, f->row, "m0");
    const char *text =
        cprint_idx(&w->b.cp, idx_scale(p, idx_floor(p, e, d), sign), 0);
    cprint_close(&w->b.cp, scope);
    return text;
}

/* The blocks of columns from `begin` to `last` in which a score may live. */
Tree *chain_range(ChainKernel *w)
{
    const ChainForm *f = w->f;
    Arena *a = w->b.g->arena;
    const char *last = "J - 1", *begin = "0";

    for (int i = 0; i < f->rows.live.n; i++) {
        const Idx *e = f->rows.live.cond[i].e;
        int64_t c = idx_coef(e, f->col);
        if (c < 0)
            last = arena_printf(a, "min(%s, %s)", last, greatest(w, e, -c, 1));
        if (c > 0)
            begin =
                arena_printf(a, "max(%s, %s)", begin, greatest(w, e, c, -1));
    }
    bool cut = strcmp(last, "J - 1"), late = strcmp(begin, "0");
    return QUOTE(
        a,
        w->j_tiles == 1
            ? "const int begin = 0, last = 0;  // all columns at once\n"
        : !cut && !late ? "const int begin = 0, last = (J - 1) / BJ;\n"
        : !late         ? "// blocks of columns in which there are scores\n"
                          "const int last = max(0, @last) / BJ;\n"
                          "const int begin = @begin;\n"
        : cut           ? "// blocks of columns in which there are scores\n"
                          "const int last = max(0, @last) / BJ;\n"
                          "const int begin = min(last, @begin / BJ);\n"
                        : "// blocks of columns in which there are scores\n"
                          "const int last = (@last) / BJ;\n"
                          "const int begin = min(last, @begin / BJ);\n",
        FILL("last", last), FILL("begin", begin));
}

static void add_second(ChainKernel *w, const ChainForm *f, const char *id)
{
    if (f->tb.b.k_major)
        add_map(w, &f->tb.b, id, &f->tb.n.axis[0], w->bn);
    else
        add_map(w, &f->tb.b, id, axis_with(&f->tb.k, f->col), w->bj);
}

void chain_maps(ChainKernel *w)
{
    const ChainForm *f = w->f;
    const Axis *row = axis_with(&f->ta.m, f->row);

    add_map(w, &f->ta.a, w->id[0], row, w->bm);
    add_map(w, &f->ta.b, w->id[1], axis_with(&f->ta.n, f->col), w->bj);
    if (f->chain->other) {
        add_map(w, &f->to.a, w->id[3], axis_with(&f->to.m, f->row), w->bm);
        add_map(w, &f->to.b, w->id[4], axis_with(&f->to.n, f->col), w->bj);
    }
    if (!f->lies_in)
        add_second(w, f, w->id[2]);
    if (f->twin && !f->twin->lies_in)
        add_second(w, f->twin, w->id[5]);
}
