#include "family/contract/wgmma/contract_wgmma.h"

#include "family/contract/contract_shared.h"
#include "group/groups.h"

#include <string.h>

/* A factor that is computed of what TMA brings: a warpgroup reads its rows of
 * a slot, computes their values in f32 and multiplies them from registers. What
 * belongs to a row alone is computed once for all of the tile's k. */

enum { MAX_READS = 8 };

/* ---- which --------------------------------------------------------------- */

typedef struct Reads {
    const Contract *x;
    const Expr *tile;   /* the read of rows and k */
    int columns;        /* reads of k alone */
    const char *why;
} Reads;

static bool uses(const Side *s, const Expr *e)
{
    for (int i = 0; i < s->n; i++)
        if (expr_uses(e, s->v[i]))
            return true;
    return false;
}

static void note(const Expr *e, void *ctx)
{
    Reads *r = ctx;
    bool k = uses(&r->x->k, e), m = uses(&r->x->m, e);

    if (e->kind == E_INDEX && (k || m))
        r->why = "a factor computed of an index";
    if (e->kind != E_READ)
        return;
    if (!k || !m) {
        r->columns += k;
        return;
    }
    if (r->tile && !expr_equal(r->tile, e))
        r->why = "a factor computed of two tensors of its rows and columns";
    r->tile = e;
}

/* Instructions an element, without those of values a row. */
static double operations(const Contract *x, const Expr *e)
{
    double ops;

    if (!uses(&x->k, e))
        return 0;
    ops = expr_ops(e);
    for (int i = 0; i < 3 && e->arg[i]; i++)
        ops += operations(x, e->arg[i]) - expr_ops(e->arg[i]);
    return ops;
}

const char *wgmma_find_rows(WgmmaForm *f)
{
    Contract *x = &f->x;
    Operand *a = &x->c.a;
    Reads r = {.x = x};

    f->pre = NULL;
    if (a->read || !x->c.b.read || x->elem == T_F32)
        return NULL;
    expr_visit(a->e, note, &r);
    if (r.why)
        return r.why;
    if (!r.tile || r.tile->tensor->type != x->elem)
        return "a factor computed of no tensor of its own type";
    if (r.columns > MAX_READS)
        return "a factor computed of more than 8 rows of values";
    f->pre = a->e->kind == E_CAST && a->e->type == x->elem ? a->e->arg[0]
                                                           : a->e;
    f->pre_columns = r.columns;
    f->pre_special = contract_specials(x, f->pre);
    f->pre_ops = operations(x, f->pre);
    *a = (Operand){.e = r.tile, .read = r.tile, .type = x->elem, .vec = 1,
                   .in = r.tile->in,
                   .offset = tensor_offset(x->g, r.tile->tensor,
                                           r.tile->at)};
    return NULL;
}

const char *wgmma_check_rows(const WgmmaForm *f)
{
    const Tma *t = &f->tma;
    const Group *gr = f->x.gr;

    if (!f->pre && gr->merge && !gr->merge->fold)
        return "a norm that is no factor";
    if (gr->merge && t->m.n != 1)
        return "rows' values of windows";
    if (gr->merge && gr->n_step + MAX_READS + gr->merge->n_step > MAX_STEPS)
        return "more than 64 steps with those of its rows";
    if (!f->pre)
        return NULL;
    if (t->m.n != 1 || t->k.n != 1)
        return "a factor that is computed, of windows";
    return t->a.k_major ? NULL : "a factor that is computed, transposed";
}

/* ---- text ---------------------------------------------------------------- */

typedef struct Rows {
    WgmmaBuild *w;
    const Expr *value;      /* of numbers m and k, row values being locals */
    const Expr *tile;       /* its read of the slot */
    const Expr *row[MAX_READS]; int n_row;
    const Expr *column[MAX_READS]; int n_column;
    const char *name[MAX_READS]; /* of the columns' fragments */
    const char *array[MAX_READS]; /* of the rows' values */
    const Tensor *piece[NORM_STEPS]; int n_piece;
    const char *piece_id[NORM_STEPS];
    bool fold;              /* of a sum's correction, not of a factor */
    Tree *reads;            /* of pieces, ahead of what is made of them */
} Rows;

static const Expr *on_axis(Graph *g, const Axis *a, const Expr *e)
{
    return a->n > 1 ? expr_subst(g, e, a->sub, a->n) : e;
}

static const Expr *on_axes(const WgmmaBuild *w, const Expr *e)
{
    Graph *g = w->x.g;

    return on_axis(g, &w->f->tma.k.axis[0],
                   on_axis(g, &w->f->tma.m.axis[0], e));
}

static const Var *row_number(const WgmmaBuild *w)
{
    return w->f->tma.m.axis[0].linear;
}

static const Var *k_number(const WgmmaBuild *w)
{
    return w->f->tma.k.axis[0].linear;
}

static void find_memory(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ || e->kind == E_LOCAL;
}

typedef struct Locals {
    bool sum, row;
} Locals;

static void note_locals(const Expr *e, void *ctx)
{
    Locals *l = ctx;

    l->sum |= e->kind == E_LOCAL && e->local >= 0;
    l->row |= e->kind == E_LOCAL && e->local < 0;
}

/* Of a correction: what is made of merged values alone, or of one number. */
static bool of_merged(const Rows *r, const Expr *e)
{
    Locals l = {false, false};

    expr_visit(e, note_locals, &l);
    return l.row && !l.sum && r->n_row < MAX_READS &&
           !expr_uses(e, r->w->f->tma.n.axis[0].linear);
}

/* Whether e is a value a row that is worth a register. */
static bool of_row(const Rows *r, const Expr *e)
{
    bool memory = false;

    if (r->fold)
        return of_merged(r, e);

    if (expr_uses(e, k_number(r->w)) || r->n_row == MAX_READS)
        return false;
    expr_visit(e, find_memory, &memory);
    return memory;
}

/* e with values of rows as locals behind those of the steps. */
static const Expr *hoist(Rows *r, const Expr *e)
{
    Graph *g = r->w->x.g;
    int first = r->w->x.f->gr->n_step, i = 0;

    if (of_row(r, e)) {
        while (i < r->n_row && !expr_equal(r->row[i], e))
            i++;
        r->row[i] = e;
        r->n_row += i == r->n_row;
        return expr_local(g, first + i, e->type);
    }
    const Expr *arg[3] = {NULL};
    for (int k = 0; k < 3 && e->arg[k]; k++)
        arg[k] = hoist(r, e->arg[k]);
    switch (e->kind) {
    case E_UNARY:
        return expr_unary(g, e->fn, arg[0], e->type);
    case E_BINARY:
        return arg[2] ? expr_fma(g, arg[0], arg[1], arg[2], e->type)
                      : expr_binary(g, e->fn, arg[0], arg[1], e->type);
    case E_SELECT:
        return expr_select(g, arg[0], arg[1], arg[2], e->type);
    case E_CAST:
        return expr_cast(g, arg[0], e->type);
    default:
        return e;
    }
}

static void find_columns(const Expr *e, void *ctx)
{
    Rows *r = ctx;

    if (e->kind != E_READ || expr_equal(e, r->tile))
        return;
    for (int i = 0; i < r->n_column; i++)
        if (expr_equal(r->column[i], e))
            return;
    if (r->n_column < MAX_READS)
        r->column[r->n_column++] = e;
}

static Rows open_rows(WgmmaBuild *w)
{
    Rows r = {.w = w, .tile = on_axes(w, w->f->tma.a.op->e)};

    r.value = hoist(&r, on_axes(w, w->f->pre));
    expr_visit(r.value, find_columns, &r);
    return r;
}

static const char *staged(const Expr *read, void *ctx)
{
    const Rows *r = ctx;

    if (expr_equal(read, r->tile))
        return "x";
    for (int i = 0; i < r->n_column; i++)
        if (expr_equal(read, r->column[i]))
            return arena_printf(r->w->x.g->arena, "%s.v[c]", r->name[i]);
    return NULL;
}

/* Whether two neighbours along k are one load. */
static bool in_pairs(const Rows *r, const Expr *e)
{
    const WgmmaBuild *w = r->w;
    IdxPool *p = w->x.g->pool;
    const Var *k = k_number(w);
    const Idx *at = tensor_offset(w->x.g, e->tensor, e->at);

    if (w->x.f->c.K % 2 || e->in.n || idx_coef(at, k) != 1)
        return false;
    const Idx *rest = idx_sub(p, at, idx_var(p, k));
    return !idx_uses(rest, k) && idx_align(rest, 2) >= 2;
}

static bool has_tail(const WgmmaBuild *w)
{
    return w->x.f->c.K % w->x.p->t.bk != 0;
}

/* const dcc_f32x4 g_frag = dcc_load_columns(&g[k]); */
static void put_column(Rows *r, Tree *b, int i)
{
    WgmmaBuild *w = r->w;
    CPrint *cp = &w->x.cp;
    const Expr *e = r->column[i];
    CScope scope = cprint_open(cp);
    const char *at;

    r->name[i] = cprint_fresh(cp, arena_printf(w->x.g->arena, "%s_frag",
                                               cprint_tensor(cp, e->tensor)));
    if (in_pairs(r, e)) {
        cprint_name(cp, k_number(w), "k");
        at = cprint_element(cp, e->tensor,
                            tensor_offset(w->x.g, e->tensor, e->at));
        PUT(b,
            has_tail(w) ? "const dcc_f32x4 @name = "
                          "dcc_load_columns(&@tensor[@at], K - k);\n"
                        : "const dcc_f32x4 @name = "
                          "dcc_load_columns(&@tensor[@at]);\n",
            FILL("name", r->name[i]),
            FILL("tensor", cprint_tensor(cp, e->tensor)), FILL("at", at));
    } else {
        cprint_name(cp, k_number(w), "(k + c / 2 * 8 + c % 2)");
        at = cprint_expr(cp, e);
        PUT(b,
            has_tail(w) ? "dcc_f32x4 @name = {};\n"
                          "#pragma unroll\n"
                          "for (int c = 0; c < 4; ++c)\n"
                          "    if (k + c / 2 * 8 + c % 2 < K)\n"
                          "        @name.v[c] = @at;\n"
                        : "dcc_f32x4 @name = {};\n"
                          "#pragma unroll\n"
                          "for (int c = 0; c < 4; ++c)\n"
                          "    @name.v[c] = @at;\n",
            FILL("name", r->name[i]), FILL("at", at));
    }
    cprint_close(cp, scope);
}

/* What is read of columns, for those of a fragment. */
static Tree *columns_code(Rows *r)
{
    Tree *b = tree_list(r->w->x.g->arena);

    for (int i = 0; i < r->n_column; i++)
        put_column(r, b, i);
    return b;
}

/* From x, which the slot has, to the factor. */
static Tree *value_code(Rows *r)
{
    WgmmaBuild *w = r->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *b = tree_list(r->w->x.g->arena);

    cprint_name(cp, k_number(w), "(k + c / 2 * 8 + c % 2)");
    cp->staged = staged;
    cp->ctx = r;
    const char *value = cprint_bind(b, cp, r->value, "t");
    cp->staged = NULL;
    if (has_tail(w))
        value = arena_printf(w->x.g->arena,
                             "k + c / 2 * 8 + c %% 2 < K ? %s : 0.0f", value);
    PUT(b, "return @value;\n", FILL("value", value));
    cprint_close(cp, scope);
    return b;
}

static void find_root(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_UNARY &&
                    (e->fn == F_RSQRT || e->fn == F_SQRT);
}

/* What a value a row is called: of a norm they have names. */
static const char *row_hint(const Rows *r, const Expr *e)
{
    const Expr *a = e->arg[0], *b = e->arg[1];
    bool root = false;

    expr_visit(e, find_root, &root);
    if (root)
        return e->kind == E_BINARY ? "scale" : "rstd";
    bool minus = e->kind == E_BINARY && e->fn == F_MUL &&
                 a->kind == E_CONST && a->num == -1 && b->kind == E_LOCAL;
    if (minus && b->local < 0)
        return arena_printf(
            r->w->x.g->arena, "minus_%s",
            row_value_name(r->w->x.f->gr->merge, -1 - b->local));
    return "of_row";
}

/* Names of the arrays of values of rows, which are locals from now on. */
static void declare_rows(Rows *r, Tree *b)
{
    WgmmaBuild *w = r->w;
    const char *names = "";

    for (int i = 0; i < r->n_row; i++) {
        const char *id = cprint_fresh(&w->x.cp, row_hint(r, r->row[i]));
        names = arena_printf(b->arena, "%s%s%s[WM / 64][2]", names,
                             i ? ", " : "", id);
        w->x.cp.local[w->x.f->gr->n_step + i] =
            arena_printf(w->x.g->arena, "%s[i][h]", id);
        r->array[i] = id;
    }
    if (r->n_row)
        PUT(b, "float @names;\n", FILL("names", names));
}

static bool cut_rows(const WgmmaBuild *w)
{
    return w->x.f->c.M % w->x.p->t.bm || w->p->cluster > 1;
}

/* Values of the rows of a thread's fragments. */
static void put_rows(Rows *r, Tree *b)
{
    WgmmaBuild *w = r->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *in = tree_list(r->w->x.g->arena);

    cprint_name(cp, row_number(w), "m");
    for (int i = 0; i < r->n_row; i++) {
        const char *value = cprint_bind(in, cp, r->row[i], "t");
        PUT(in, "@local = @value;\n",
            FILL("local", cp->local[w->x.f->gr->n_step + i]),
            FILL("value", value));
    }
    if (r->n_row)
        PUT(b,
            "#pragma unroll\n"
            "for (int i = 0; i < WM / 64; ++i)\n"
            "    #pragma unroll\n"
            "    for (int h = 0; h < 2; ++h) {\n"
            "        const int m = @least@m0 + @top@warp * 16 + i * 64 + h * 8 "
            "+ lane / 4@most;\n"
            "        @IN\n"
            "    }\n",
            FILL("least", cut_rows(w) ? "min(" : ""),
            FILL("top", wgmma_top(w->p)),
            FILL("most", cut_rows(w) ? ", M - 1)" : ""), FILL_TREE("IN", in));
    cprint_close(cp, scope);
}

/* ---- values of rows from pieces ------------------------------------------ */

static int merge_local(const WgmmaBuild *w, int step)
{
    return w->x.f->gr->n_step + MAX_READS + step;
}

/* The array of a lane's pieces, which are read when they are first wanted. */
static const char *pieces_of(Rows *r, Tree *b, const Expr *read)
{
    WgmmaBuild *w = r->w;
    const Var *over = w->x.f->gr->merge->over;
    const Tensor *t = read->tensor;
    Subst none = {over, idx_const(w->x.g->pool, 0)};

    for (int i = 0; i < r->n_piece; i++)
        if (r->piece[i] == t)
            return r->piece_id[i];
    const char *id = cprint_fresh(&w->x.cp, "part");
    const Expr *first = on_axis(w->x.g, &w->f->tma.m.axis[0],
                                expr_subst(w->x.g, read, &none, 1));
    PUT(r->reads ? r->reads : b,
        "const auto @id = dcc_read_parts<@pieces>(&@tensor[@at], @stride);\n",
        FILL("id", id), FILL("tensor", cprint_tensor(&w->x.cp, t)),
        FILL("at",
             cprint_element(&w->x.cp, t, tensor_offset(w->x.g, t, first->at))),
        FILL("stride", t->stride[0] == w->f->x.c.M
                           ? "M"
                           : arena_printf(b->arena, "%lld",
                                          (long long)t->stride[0])),
        FILL_INT("pieces", over->extent));
    r->piece[r->n_piece] = t;
    return r->piece_id[r->n_piece++] = id;
}

/* A sum over the pieces of both lanes. */
static const char *sum_pieces(Rows *r, Tree *b, const char *const *part,
                              const char *const *sum, int i)
{
    WgmmaBuild *w = r->w;
    const RowMerge *m = w->x.f->gr->merge;
    const char *id = cprint_fresh(&w->x.cp, row_value_name(m, i));

    if (m->about[i] < 0)
        PUT(b, "const float @id = dcc_sum_pieces(@part);\n", FILL("id", id),
            FILL("part", part[i]));
    else
        PUT(b, "const float @id = dcc_sum_squares<@size>(@sum, @part, @n);\n",
            FILL("id", id), FILL_INT("size", m->size), FILL("sum", sum[i]),
            FILL("part", part[i]),
            FILL("n", w->x.cp.local[merge_local(w, m->about[i])]));
    return id;
}

/* The first column's tiles store what others read of rows. */
static void store_row(WgmmaBuild *w, Tree *b, const Step *s, const char *id)
{
    CPrint *cp = &w->x.cp;
    const Idx *at = tensor_offset(w->x.g, s->tensor, s->store);
    const Axis *m = &w->f->tma.m.axis[0];

    if (m->n > 1)
        at = idx_subst(w->x.g->pool, at, m->sub, m->n);
    PUT(b,
        "if (n0 == 0 && lane % 2 == 0@row)\n"
        "    @tensor[@at] = @value;\n",
        FILL("row", cut_rows(w) ? " && row < M" : ""),
        FILL("tensor", cprint_tensor(cp, s->tensor)),
        FILL("at", cprint_element(cp, s->tensor, at)),
        FILL("value",
             cprint_to_storage(b->arena, s->tensor->type, s->type, id)));
}

/* One row, of two lanes; then to the four that have it in their fragments. */
static void put_row(Rows *r, Tree *b)
{
    WgmmaBuild *w = r->w;
    Graph *g = w->x.g;
    const RowMerge *m = w->x.f->gr->merge;
    CPrint *cp = &w->x.cp;
    const char *part[NORM_STEPS] = {NULL}, *sum[NORM_STEPS] = {NULL};

    for (int i = 0; i < m->n_step; i++) {
        if (m->step[i].op == R_NONE)
            continue;
        part[i] = pieces_of(r, b, m->part[i]);
        sum[i] = m->about[i] < 0 ? NULL : pieces_of(r, b, m->sum[i]);
    }
    for (int i = 0; i < m->n_step; i++) {
        const Step *s = &m->step[i];
        const Expr *e = on_axis(g, &w->f->tma.m.axis[0], s->value);
        const char *id =
            s->op != R_NONE
                ? sum_pieces(r, b, part, sum, i)
                : cprint_bind_name(
                      b, cp, finish_row_values(g, e, merge_local(w, 0), true),
                      row_value_name(m, i));
        cp->local[merge_local(w, i)] = id;
        if (s->tensor)
            store_row(w, b, s, id);
    }
    for (int i = 0; i < r->n_row; i++) {
        const Expr *e =
            finish_row_values(g, r->row[i], merge_local(w, 0), false);
        const char *text = cprint_bind(b, cp, e, row_hint(r, r->row[i]));
        PUT(b, "dcc_deal_rows(@array[i], @text);\n", FILL("array", r->array[i]),
            FILL("text", text));
    }
}

static void put_merge(Rows *r, Tree *b)
{
    WgmmaBuild *w = r->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Tree *in = tree_list(r->w->x.g->arena);

    cprint_name(cp, row_number(w), "m");
    put_row(r, in);
    PUT(b,
        cut_rows(w) ? "// Values of rows: two lanes have a row's pieces.\n"
                      "#pragma unroll\n"
                      "for (int i = 0; i < WM / 64; ++i) {\n"
                      "    const int row = m0 + @top@warp * 16 + i * 64 + "
                      "lane / 2;\n"
                      "    const int m = min(row, M - 1);\n"
                      "    @IN\n"
                      "}\n"
                    : "// Values of rows: two lanes have a row's pieces.\n"
                      "#pragma unroll\n"
                      "for (int i = 0; i < WM / 64; ++i) {\n"
                      "    const int m = m0 + @top@warp * 16 + i * 64 + "
                      "lane / 2;\n"
                      "    @IN\n"
                      "}\n",
        FILL("top", wgmma_top(w->p)), FILL_TREE("IN", in));
    cprint_close(cp, scope);
}

const Expr *wgmma_fold_value(const WgmmaForm *f)
{
    Graph *g = f->x.g;

    return on_axis(g, &f->tma.n.axis[0],
                   on_axis(g, &f->tma.m.axis[0],
                           f->x.gr->merge->fold->value));
}

/* A number that is no row's comes in with the pieces. */
static const char *staged_number(const Expr *read, void *ctx)
{
    Rows *r = ctx;
    CPrint *cp = &r->w->x.cp;
    const Tensor *t = read->tensor;

    for (int i = 0; i < t->rank; i++)
        if (!idx_is_const(read->at[i]))
            return NULL;
    if (t->type != T_F32)
        return NULL;
    for (int i = 0; i < r->n_column; i++)
        if (expr_equal(r->column[i], read))
            return r->name[i];
    if (r->n_column == MAX_READS)
        return NULL;
    const char *id = cprint_fresh(cp, "range");
    PUT(r->reads, "const float @id = @tensor[@at];\n", FILL("id", id),
        FILL("tensor", cprint_tensor(cp, t)),
        FILL("at", cprint_element(cp, t,
                                  tensor_offset(r->w->x.g, t, read->at))));
    r->column[r->n_column] = read;
    return r->name[r->n_column++] = id;
}

/* The reads of pieces before the products, and what is made of them behind
 * these: of the 64 rows that a warpgroup has. */
static void put_merge_around(Rows *r, Tree *before, Tree *behind)
{
    WgmmaBuild *w = r->w;
    Tree *in = tree_list(before->arena);
    const char *id = cprint_fresh(&w->x.cp, "row_m");

    r->reads = tree_list(before->arena);
    cprint_name(&w->x.cp, row_number(w), id);
    w->x.cp.staged = staged_number;
    w->x.cp.ctx = r;
    put_row(r, in);
    w->x.cp.staged = NULL;
    PUT(before,
        "// Two lanes have a row's pieces.\n"
        "const int @id = @least@m0 + @top@warp * 16 + lane / 2@most;\n"
        "@READS\n",
        FILL("id", id), FILL("least", cut_rows(w) ? "min(" : ""),
        FILL("top", wgmma_top(w->p)),
        FILL("most", cut_rows(w) ? ", M - 1)" : ""),
        FILL_TREE("READS", r->reads));
    PUT(behind,
        cut_rows(w) ? "const int row = m0 + @top@warp * 16 + lane / 2;\n"
                      "for (int i = 0; i < 1; ++i) {\n"
                      "    @IN\n"
                      "}\n"
                    : "for (int i = 0; i < 1; ++i) {\n"
                      "    @IN\n"
                      "}\n",
        FILL("top", wgmma_top(w->p)), FILL_TREE("IN", in));
}

const Expr *wgmma_fold_rows(WgmmaBuild *w, Tree *before, Tree *behind)
{
    Rows r = {.w = w, .fold = true};

    r.value = hoist(&r, wgmma_fold_value(w->f));
    declare_rows(&r, before);
    if (w->p->consumers > 1 || w->p->wm > 64) /* others multiply meanwhile */
        put_merge(&r, before);
    else
        put_merge_around(&r, before, behind);
    for (int i = 0; i < r.n_row; i++)
        w->x.cp.local[w->x.f->gr->n_step + i] =
            arena_printf(w->x.g->arena, "%s[i / 2][i %% 2]", r.array[i]);
    return r.value;
}

/* Constants of columns are asked for before the wait for the grid. */
Tree *wgmma_touch_columns(WgmmaBuild *w)
{
    CPrint *cp = &w->x.cp;
    Tree *b = tree_list(w->x.g->arena);

    if (!w->f->pre)
        return b;
    Rows r = open_rows(w);
    for (int i = 0; i < r.n_column; i++) {
        const Tensor *t = r.column[i]->tensor;
        if (kernel_reads_constants(r.column[i]) && in_pairs(&r, r.column[i]) &&
            tensor_elems(t) == w->x.f->c.K)
            PUT(b, "dcc_touch(@tensor, K);\n",
                FILL("tensor", cprint_tensor(cp, t)));
    }
    return b;
}

Tree *wgmma_rows(WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    w->a_columns = w->a_value = tree_list(b->arena);
    if (!w->f->pre)
        return b;
    Rows r = open_rows(w);
    PUT(b, "const int a_row = @top@warp * 16 + lane % 16;\n",
        FILL("top", wgmma_top(w->p)));
    declare_rows(&r, b);
    if (w->x.f->gr->merge)
        put_merge(&r, b);
    else
        put_rows(&r, b);
    w->a_columns = columns_code(&r);
    w->a_value = value_code(&r);
    return b;
}
