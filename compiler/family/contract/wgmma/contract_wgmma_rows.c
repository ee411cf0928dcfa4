#include "family/contract/wgmma/contract_wgmma.h"

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
                   .offset = cprint_offset(x->g, r.tile->tensor,
                                           r.tile->at)};
    return NULL;
}

const char *wgmma_check_rows(const WgmmaForm *f)
{
    const Tma *t = &f->tma;

    if (!f->pre)
        return NULL;
    if (t->m.n != 1 || t->k.n != 1)
        return "a factor that is computed, of windows";
    return t->a.k_major ? NULL : "a factor that is computed, transposed";
}

/* ---- text ---------------------------------------------------------------- */

typedef struct Rows {
    Wgmma *w;
    const Expr *value;      /* of numbers m and k, row values being locals */
    const Expr *tile;       /* its read of the slot */
    const Expr *row[MAX_READS]; int n_row;
    const Expr *column[MAX_READS]; int n_column;
    const char *name[MAX_READS]; /* of the columns' fragments */
} Rows;

static const Expr *on_axis(Graph *g, const Axis *a, const Expr *e)
{
    return a->n > 1 ? expr_subst(g, e, a->sub, a->n) : e;
}

static const Expr *on_axes(const Wgmma *w, const Expr *e)
{
    Graph *g = w->x.g;

    return on_axis(g, &w->tma->k.axis[0],
                   on_axis(g, &w->tma->m.axis[0], e));
}

static const Var *row_number(const Wgmma *w)
{
    return w->tma->m.axis[0].linear;
}

static const Var *k_number(const Wgmma *w)
{
    return w->tma->k.axis[0].linear;
}

static void find_memory(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ || e->kind == E_LOCAL;
}

/* Whether e is a value a row that is worth a register. */
static bool of_row(const Rows *r, const Expr *e)
{
    bool memory = false;

    if (expr_uses(e, k_number(r->w)) || r->n_row == MAX_READS)
        return false;
    expr_visit(e, find_memory, &memory);
    return memory;
}

/* e with values of rows as locals behind those of the steps. */
static const Expr *hoist(Rows *r, const Expr *e)
{
    Graph *g = r->w->x.g;
    int first = r->w->x.gr->n_step, i = 0;

    if (e->kind == E_LOCAL)
        return e;
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

static Rows open_rows(Wgmma *w)
{
    Rows r = {.w = w, .tile = on_axes(w, w->tma->a.op->e)};

    r.value = hoist(&r, on_axes(w, w->pre));
    expr_visit(r.value, find_columns, &r);
    return r;
}

static const char *staged(const Expr *read, void *ctx)
{
    const Rows *r = ctx;

    if (expr_equal(read, r->tile))
        return "pair[e]";
    for (int i = 0; i < r->n_column; i++)
        if (expr_equal(read, r->column[i]))
            return arena_printf(r->w->x.g->arena, "%s[e]", r->name[i]);
    return NULL;
}

/* Whether a pair of neighbours along k is one load. */
static bool in_pairs(const Rows *r, const Expr *e)
{
    const Wgmma *w = r->w;
    IdxPool *p = w->x.g->pool;
    const Var *k = k_number(w);
    const Idx *at = cprint_offset(w->x.g, e->tensor, e->at);

    if (w->x.c.K % 2 || e->in.n || idx_coef(at, k) != 1)
        return false;
    const Idx *rest = idx_sub(p, at, idx_var(p, k));
    return !idx_uses(rest, k) && idx_align(rest, 2) >= 2;
}

static bool has_tail(const Wgmma *w)
{
    return w->x.c.K % w->x.t.bk != 0;
}

/* float g_pair[2]; dcc_load<2>(g_pair, &g[k]); */
static void put_column(Rows *r, Buf *b, int i)
{
    Wgmma *w = r->w;
    CPrint *cp = &w->x.cp;
    const Expr *e = r->column[i];
    CScope scope = cprint_open(cp);
    Buf at = {0};

    r->name[i] = cprint_fresh(cp, arena_printf(w->x.g->arena, "%s_pair",
                                               cprint_tensor(cp, e->tensor)));
    buf_printf(b, "float %s[2]%s;\n", r->name[i], has_tail(w) ? " = {}" : "");
    if (in_pairs(r, e)) {
        cprint_name(cp, k_number(w), "k");
        cprint_element(&at, cp, e->tensor,
                       cprint_offset(w->x.g, e->tensor, e->at));
        buf_printf(b, "%sdcc_load<2>(%s, &%s[%s]);\n",
                   has_tail(w) ? "if (k < K)\n    " : "", r->name[i],
                   cprint_tensor(cp, e->tensor), buf_text(&at));
    } else {
        cprint_name(cp, k_number(w), "(k + e)");
        cprint_expr(&at, cp, e);
        buf_printf(b, "#pragma unroll\nfor (int e = 0; e < 2; ++e)\n"
                      "    %s%s[e] = %s;\n",
                   has_tail(w) ? "if (k + e < K)\n        " : "", r->name[i],
                   buf_text(&at));
    }
    buf_free(&at);
    cprint_close(cp, scope);
}

/* What is read of columns, for two neighbours. */
static const char *columns_text(Rows *r)
{
    Buf b = {0};

    for (int i = 0; i < r->n_column; i++)
        put_column(r, &b, i);
    return buf_take(&b, r->w->x.g->arena);
}

/* pair[0], pair[1]: from what the slot has to the factor. */
static const char *value_text(Rows *r)
{
    Wgmma *w = r->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    Buf b = {0};

    cprint_name(cp, k_number(w), "(k + e)");
    cp->staged = staged;
    cp->ctx = r;
    const char *value = cprint_bind(&b, cp, r->value, "t");
    cp->staged = NULL;
    if (has_tail(w))
        value = arena_printf(w->x.g->arena, "k + e < K ? %s : 0.0f", value);
    buf_printf(&b, "pair[e] = %s;\n", value);
    cprint_close(cp, scope);
    return buf_take(&b, w->x.g->arena);
}

/* Values of the rows of a thread's fragments. */
static void put_rows(Rows *r, Buf *b)
{
    Wgmma *w = r->w;
    CPrint *cp = &w->x.cp;
    CScope scope = cprint_open(cp);
    bool cut = w->x.c.M % w->x.t.bm || w->cluster > 1;
    Buf in = {0};

    for (int i = 0; i < r->n_row; i++) {
        const char *id = cprint_fresh(cp, "row_value");
        buf_printf(b, "float %s[WM / 64][2];\n", id);
        cp->local[w->x.gr->n_step + i] =
            arena_printf(w->x.g->arena, "%s[i][h]", id);
    }
    cprint_name(cp, row_number(w), "m");
    for (int i = 0; i < r->n_row; i++) {
        const char *value = cprint_bind(&in, cp, r->row[i], "t");
        buf_printf(&in, "%s = %s;\n", cp->local[w->x.gr->n_step + i], value);
    }
    if (r->n_row) {
        const char *m = arena_printf(w->x.g->arena,
                                     "m0 + %swarp * 16 + i * 64 + h * 8 + "
                                     "lane / 4", wgmma_top(w));
        buf_printf(b, "#pragma unroll\nfor (int i = 0; i < WM / 64; ++i)\n"
                      "    #pragma unroll\n"
                      "    for (int h = 0; h < 2; ++h) {\n"
                      "        const int m = %s%s%s;\n",
                   cut ? "min(" : "", m, cut ? ", M - 1)" : "");
        cprint_lines(b, buf_text(&in), 8);
        buf_puts(b, "    }\n");
    }
    buf_free(&in);
    cprint_close(cp, scope);
}

const char *wgmma_top(const Wgmma *w)
{
    return !w->pingpong && w->consumers > 1 ? "warpgroup * WM + " : "";
}

const char *wgmma_rows(Wgmma *w)
{
    Buf b = {0};

    w->a_columns = w->a_value = "";
    if (!w->pre)
        return "";
    Rows r = open_rows(w);
    buf_printf(&b, "const int a_row = %swarp * 16 + lane %% 16;\n"
                   "uint32_t a[WM / 64][BK / 16][4];  // rows of a step\n",
               wgmma_top(w));
    put_rows(&r, &b);
    w->a_columns = columns_text(&r);
    w->a_value = value_text(&r);
    return buf_take(&b, w->x.g->arena);
}

double wgmma_rows_clk(const Wgmma *w)
{
    enum { ROWS = 64, ELEMENTS = 32 /* of a thread, 64 rows of a step */ };
    double rows = (double)w->wm / ROWS;
    /* conversions both ways; of columns a load and two more */
    double each = 1.5 + w->pre_ops + 3.3 * w->pre_columns / (4 * rows);

    return w->x.t.bm / ROWS * ELEMENTS * each;
}
