#include "rewrite/levels.h"

#include "rewrite/layout.h"
#include "rewrite/levels_web.h"
#include "rewrite/normalise.h"
#include "rewrite/simplify.h"

#include <math.h>
#include <string.h>

enum {
    FEW = 8192,       /* results that leave a GPU idle */
    LONG = 1 << 15,   /* terms of a result, unless a block keeps them */
    KEPT = 224 << 10, /* bytes that a block keeps until they are reread */
    APART = 1 << 10,  /* the same where they are not neighbours in memory */
    WORTH = 1 << 20,  /* terms of all: less is read in a launch's time */
    WORTH_APART = 1 << 19, /* but a block would take its time over columns */
    PIECE = 1024,     /* terms at most of a piece, which stay in registers */
    PIECE_APART = 256, /* the same of columns */
    LEAST = 64        /* and at least */
};

typedef struct Levels {
    Graph *g;
    Web *web;
    const int *inner_dim; int n_dim; /* layout_inner's, of the first tensors */
    Stmt *sum;       /* s */
    Stmt *squares;   /* q, or NULL */
    const Expr *mean; /* q's read of m */
    const Var *outer[MAX_RANK]; int n_outer; /* which piece */
    const Var *inner[MAX_RANK]; int n_inner; /* of a piece */
    int64_t most;    /* terms of a piece */
    Subst split[MAX_RANK]; int n_split; /* of what both have a part of */
    int64_t piece;   /* terms */
} Levels;

/* ---- finding */

typedef struct Reuse {
    const Stmt *s;
    bool found;
} Reuse;

/* A read of which one element serves several terms or results, and of which
 * there are not few. */
static void note_reuse(const Expr *e, void *ctx)
{
    enum { FEW_OF = 64 };
    Reuse *r = ctx;
    const Stmt *s = r->s;
    bool red = false, all = true;

    if (e->kind != E_READ ||
        tensor_elems(e->tensor) * FEW_OF <=
            vars_points(s->out, s->n_out) * vars_points(s->red, s->n_red))
        return;
    for (int i = 0; i < s->n_red; i++) {
        bool uses = s->red[i]->extent == 1 || expr_uses(e, s->red[i]);
        red |= uses && s->red[i]->extent > 1;
        all &= uses;
    }
    for (int i = 0; i < s->n_out; i++)
        all &= s->out[i]->extent == 1 || expr_uses(e, s->out[i]);
    r->found |= red && !all;
}

typedef struct Apart {
    const Stmt *s;
    bool found;
} Apart;

/* A read whose neighbours in memory belong to other results; as they will where
 * the sum is over pixels of images (layout.h). */
static void note_apart(const Expr *e, void *ctx)
{
    Apart *a = ctx;

    if (e->kind != E_READ || !e->tensor->rank)
        return;
    const Var *v = idx_is_var(e->at[e->tensor->rank - 1]);
    int summed = 0;
    bool result = false, images = false;
    for (int i = 0; i < a->s->n_red; i++)
        summed += a->s->red[i]->extent > 1 && expr_uses(e, a->s->red[i]);
    for (int i = 0; i < a->s->n_out; i++)
        result |= v == a->s->out[i] && v->extent > 1;
    /* of a channel: of a group of them it has some side by side */
    for (int d = 0; d < e->tensor->rank && a->s->n_out == 1; d++)
        images |= idx_is_var(e->at[d]) == a->s->out[0];
    a->found |= summed && (result || (images && summed > 2));
}


typedef struct Kept {
    const Web *web;
    const Stmt *s;
    int64_t bytes; /* of a term */
    bool reread;
} Kept;

static void note_kept(const Expr *e, void *ctx)
{
    Kept *k = ctx;
    bool own = false;

    if (e->kind != E_READ)
        return;
    for (int i = 0; i < k->s->n_red; i++)
        own |= expr_uses(e, k->s->red[i]);
    if (!own)
        return;
    k->bytes += type_bytes(e->tensor->type);
    k->reread |= k->web->readers[e->tensor->id].n > 1;
}

/* Has a block room for a result's terms, which others read too? What a piece's
 * block has read is gone when the sum of all pieces is known. */
static bool is_kept(const Web *web, const Stmt *s)
{
    Kept k = {.web = web, .s = s};

    expr_visit(s->value, note_kept, &k);
    return k.reread && k.bytes * vars_points(s->red, s->n_red) <= KEPT;
}

/* *most: terms of a piece; *apart: those of a column. */
static bool is_long(const Web *web, const Stmt *s, int64_t *most, bool *apart)
{
    int64_t rows = vars_points(s->out, s->n_out);
    int64_t cols = vars_points(s->red, s->n_red);
    Reuse r = {s, false};
    Apart a = {s, false};

    expr_visit(s->value, note_apart, &a);
    if ((s->op != R_SUM && s->op != R_MAX && s->op != R_MIN) || s->notes ||
        s->when != WHEN_RUN || !levels_plain_store(s) || rows > FEW ||
        cols < (a.found ? APART : LONG) ||
        rows * cols < (a.found ? WORTH_APART : WORTH) || s->tensor->prev ||
        (s->tensor->role != ROLE_TEMP && s->tensor->role != ROLE_OUTPUT) ||
        (!a.found && is_kept(web, s)))
        return false;
    *most = a.found ? PIECE_APART : PIECE;
    *apart = a.found;
    expr_visit(s->value, note_reuse, &r);
    return !r.found;
}

static bool is_zero(const Idx *e)
{
    return !e->n && !e->k;
}

/* Whether s stores where it reads, but for dimensions of one element, which
 * either may have. */
static bool same_place(const Expr *read, const Stmt *s)
{
    int n = s->tensor->rank, k = 0;

    for (int d = 0; d < read->tensor->rank; d++) {
        if (is_zero(read->at[d]))
            continue;
        while (k < n && is_zero(s->store[k]))
            k++;
        if (k == n || read->at[d] != s->store[k++])
            return false;
    }
    while (k < n && is_zero(s->store[k]))
        k++;
    return k == n;
}

/* m = s / n, element by element? */
static bool is_mean(const Web *web, const Tensor *m, const Stmt *sum)
{
    const Stmt *s = web->maker[m->id];
    double n = (double)vars_points(sum->red, sum->n_red), by;

    if (!s || s->op != R_NONE || !levels_plain_store(s) || m->type != T_F32 ||
        s->value->kind != E_BINARY)
        return false;
    const Expr *a = s->value->arg[0], *b = s->value->arg[1];
    if (s->value->fn == F_MUL && a->kind == E_CONST) {
        const Expr *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind != E_READ || a->tensor != sum->tensor || b->kind != E_CONST ||
        !same_place(a, s))
        return false;
    by = s->value->fn == F_MUL ? b->num * n
         : s->value->fn == F_DIV ? n / b->num : 0;
    return fabs(by - 1) < 1e-6;
}

/* sum's term in other's variables; NULL if they differ in number. */
static const Expr *term_of(Graph *g, const Stmt *sum, const Stmt *other)
{
    Subst s[2 * MAX_RANK];
    int n = 0;

    if (sum->n_out != other->n_out || sum->n_red != other->n_red ||
        sum->n_out > MAX_RANK || sum->n_red > MAX_RANK)
        return NULL;
    for (int i = 0; i < sum->n_out + sum->n_red; i++) {
        int k = i - sum->n_out;
        const Var *a = k < 0 ? sum->out[i] : sum->red[k];
        const Var *b = k < 0 ? other->out[i] : other->red[k];
        if (a->extent != b->extent)
            return NULL;
        s[n++] = (Subst){a, idx_var(g->pool, b)};
    }
    return expr_subst(g, sum->value, s, n);
}

/* Is q the sum of squares about the mean of what `sum` sums up? */
static bool is_squares(Levels *l, const Stmt *q)
{
    const Expr *v = q->value;

    if (q->op != R_SUM || q->notes || !levels_plain_store(q) ||
        q->tensor->prev || v->kind != E_BINARY ||
        v->fn != F_MUL || v->arg[2] || !expr_equal(v->arg[0], v->arg[1]))
        return false;
    v = v->arg[0];
    if (v->kind != E_BINARY || v->fn != F_SUB || v->arg[1]->kind != E_READ ||
        v->arg[1]->in.n || !is_mean(l->web, v->arg[1]->tensor, l->sum))
        return false;
    if (!same_place(v->arg[1], q))
        return false;
    const Expr *term = term_of(l->g, l->sum, q);
    l->mean = v->arg[1];
    return term && expr_equal(term, v->arg[0]);
}

static void find_squares(Levels *l)
{
    Graph *g = l->g;

    if (l->sum->op != R_SUM || l->sum->tensor->type != T_F32)
        return;
    for (int i = 0; i < g->n_stmt && !l->squares; i++)
        if (g->stmt[i] != l->sum && is_squares(l, g->stmt[i]))
            l->squares = g->stmt[i];
}

/* ---- pieces */

static int64_t largest_divisor(int64_t n, int64_t most)
{
    for (int64_t d = most < n ? most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

static void find_largest(const Expr *e, void *ctx)
{
    const Expr **most = ctx;

    if (e->kind == E_READ &&
        (!*most || tensor_elems(e->tensor) > tensor_elems((*most)->tensor)))
        *most = e;
}

/* The step of v through a tensor of which dimension `inner` is contiguous, the
 * others as declared. */
static int64_t step_of(const Expr *read, int inner, const Var *v)
{
    const Tensor *t = read->tensor;
    int64_t step = t->rank ? idx_coef(read->at[inner], v) : 0;
    int64_t stride = t->rank ? t->dim[inner] : 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == inner)
            continue;
        step += idx_coef(read->at[d], v) * stride;
        stride *= t->dim[d];
    }
    return step;
}

/* The sum's variables, the fastest last, as what is read will lie. */
static void sort_terms(const Levels *l, const Var **red)
{
    const Stmt *s = l->sum;
    const Expr *most = NULL;

    expr_visit(s->value, find_largest, &most);
    memcpy(red, s->red, sizeof *red * (size_t)s->n_red);
    for (int i = 1; i < s->n_red && most; i++)
        for (int k = i; k > 0; k--) {
            const Var *v = red[k];
            int id = most->tensor->id;
            int inner = id < l->n_dim ? l->inner_dim[id]
                                      : most->tensor->rank - 1;
            int64_t before = step_of(most, inner, red[k - 1]);
            int64_t step = step_of(most, inner, v);
            if (!before || !step || before >= step)
                break;
            red[k] = red[k - 1];
            red[k - 1] = v;
        }
}

/* A piece is the fastest variables and a part of the next. */
static bool choose_pieces(Levels *l)
{
    const Stmt *s = l->sum;
    const Var *red[MAX_RANK];
    IdxPool *pool = l->g->pool;
    int i = s->n_red - 1;

    sort_terms(l, red);
    l->piece = 1;
    for (; i >= 0 && l->piece * red[i]->extent <= l->most; i--) {
        l->inner[l->n_inner++] = red[i];
        l->piece *= red[i]->extent;
    }
    int64_t d = i < 0 ? 1 : largest_divisor(red[i]->extent,
                                            l->most / l->piece);
    if (d > 1) {
        const Var *v = red[i--];
        const Var *high = idx_new_var(pool, v->name, v->extent / d);
        const Var *low = idx_new_var(pool, v->name, d);
        l->split[l->n_split++] =
            (Subst){v, idx_add(pool, idx_scale(pool, idx_var(pool, high), d),
                               idx_var(pool, low))};
        l->inner[l->n_inner++] = low;
        l->outer[l->n_outer++] = high;
        l->piece *= d;
    }
    for (; i >= 0; i--)
        l->outer[l->n_outer++] = red[i];
    return l->piece >= LEAST && l->n_outer > 0 &&
           l->n_outer + s->n_out <= MAX_RANK;
}

/* ---- pieces of a product's rows */

typedef struct Makers {
    const Web *web;
    const Expr *at; /* points are those of this read; NULL: any */
    int depth;
    const Expr *found;
} Makers;

static bool same_points(const Expr *a, const Expr *b)
{
    if (a->tensor->rank != b->tensor->rank || a->in.n || b->in.n)
        return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->at[d] != b->at[d])
            return false;
    return true;
}

/* Whether it reads a product's results, or what is made of them by points. */
static void note_made(const Expr *e, void *ctx)
{
    Makers *m = ctx;

    if (e->kind != E_READ || m->found || m->depth == DEPTH ||
        (m->at && !same_points(e, m->at)))
        return;
    const Stmt *s = m->web->maker[e->tensor->id];
    if (!s || s->when != WHEN_RUN || !levels_plain_store(s))
        return;
    if (s->op == R_NONE) {
        const Expr own = {.kind = E_READ, .tensor = s->tensor, .at = s->store};
        Makers of = {m->web, &own, m->depth + 1, NULL};
        expr_visit(s->value, note_made, &of);
        m->found = of.found ? e : NULL;
    } else if (web_is_product(s)) {
        m->found = e;
    }
}

/* A product's results, of 16 bits, whose dimensions are the sum's variables,
 * but for the inner one, which is the result's; or NULL. */
static const Expr *find_results(const Levels *l)
{
    enum { COLUMNS = 32 };
    const Stmt *s = l->sum;
    Makers m = {.web = l->web};

    expr_visit(s->value, note_made, &m);
    if (!m.found || type_bytes(m.found->tensor->type) != 2 || s->n_out != 1 ||
        m.found->tensor->rank != s->n_red + 1 ||
        s->out[0]->extent % COLUMNS)
        return NULL;
    const Tensor *t = m.found->tensor;
    int inner = t->id < l->n_dim ? l->inner_dim[t->id] : t->rank - 1;
    for (int d = 0; d < t->rank; d++) {
        const Var *v = idx_is_var(m.found->at[d]);
        if (!v || v->extent != t->dim[d] || (v == s->out[0]) != (d == inner))
            return NULL;
    }
    return m.found;
}

/* As many rows, side by side in memory, as a warpgroup has of a tile, or a part
 * of them: the product's kernel may leave what they come to (row_sums.h). */
static bool choose_rows(Levels *l)
{
    enum { ROWS = 64, LEAST_ROWS = 16 };
    const Expr *of = web_sums_factor(l->web, l->sum) ? NULL : find_results(l);
    IdxPool *pool = l->g->pool;
    int64_t rows = vars_points(l->sum->red, l->sum->n_red), below = 1;

    l->piece = ROWS;
    while (l->piece > LEAST_ROWS && rows % l->piece)
        l->piece /= 2;
    if (!of || rows % l->piece)
        return false;
    l->outer[l->n_outer++] = idx_new_var(pool, "part", rows / l->piece);
    l->inner[l->n_inner++] = idx_new_var(pool, "row", l->piece);
    const Idx *row = idx_add(
        pool, idx_scale(pool, idx_var(pool, l->outer[0]), l->piece),
        idx_var(pool, l->inner[0]));
    for (int d = of->tensor->rank - 1; d >= 0; d--) {
        const Var *v = idx_is_var(of->at[d]);
        if (v == l->sum->out[0])
            continue;
        l->split[l->n_split++] = (Subst){
            v, idx_mod(pool, idx_floor(pool, row, below), v->extent)};
        below *= v->extent;
    }
    return true;
}

/* ---- rewriting */

/* A tensor of a value for each piece and result, and a statement about it
 * before position `at`; its op is the caller's. */
static Stmt *piece_stmt(Levels *l, int at, const Stmt *like, const Expr *value)
{
    Graph *g = l->g;
    Stmt *s = stmt_insert(g, at);
    int id = s->id, n = l->n_outer + like->n_out;
    int64_t dim[MAX_RANK];

    *s = *like;
    s->id = id;
    s->out = arena_array(g->arena, const Var *, n);
    s->store = arena_array(g->arena, const Idx *, n);
    for (int i = 0; i < n; i++) {
        s->out[i] = i < l->n_outer ? l->outer[l->n_outer - 1 - i]
                                   : like->out[i - l->n_outer];
        s->store[i] = idx_var(g->pool, s->out[i]);
        dim[i] = s->out[i]->extent;
    }
    s->n_out = n;
    s->red = arena_array(g->arena, const Var *, l->n_inner);
    for (int i = 0; i < l->n_inner; i++)
        s->red[i] = l->inner[l->n_inner - 1 - i];
    s->n_red = l->n_inner;
    s->tensor = graph_tensor_like(g, like->tensor, like->tensor->type, n, dim);
    s->value = value;
    return s;
}

static const Expr *at_piece(Graph *g, const Stmt *s)
{
    return expr_read(g, s->tensor, s->store, (Guard){0}, NULL);
}

static const Expr *in_pieces(Levels *l, const Expr *e)
{
    return l->n_split ? expr_subst(l->g, e, l->split, l->n_split) : e;
}

/* The second level: s's terms are those of the pieces. */
static void over_pieces(Levels *l, Stmt *s, const Expr *value)
{
    s->red = arena_array(l->g->arena, const Var *, l->n_outer);
    for (int i = 0; i < l->n_outer; i++)
        s->red[i] = l->outer[l->n_outer - 1 - i];
    s->n_red = l->n_outer;
    s->value = value;
}

static const Expr *square(Graph *g, const Expr *e)
{
    return expr_binary(g, F_MUL, e, e, T_F32);
}

/* q_b, and q of all q_b; `part` has the pieces' sums. */
static void rewrite_squares(Levels *l, int at, const Stmt *part,
                            const Expr *term)
{
    Graph *g = l->g;
    Stmt *q = l->squares;
    Subst rows[MAX_RANK];

    /* the pieces' statements are in sum's variables */
    for (int i = 0; i < q->n_out; i++)
        rows[i] = (Subst){q->out[i], idx_var(g->pool, l->sum->out[i])};
    const Expr *m = expr_subst(g, l->mean, rows, q->n_out);
    const Expr *per = expr_const(g, 1.0 / (double)l->piece, T_F32);
    Stmt *mean = piece_stmt(l, at, part,
                            expr_binary(g, F_MUL, at_piece(g, part), per,
                                        T_F32));
    mean->op = R_NONE;
    mean->red = NULL;
    mean->n_red = 0;
    const Expr *mb = at_piece(g, mean);
    Stmt about = *q;
    about.out = l->sum->out;
    Stmt *squares = piece_stmt(l, at + 1, &about,
                               square(g, expr_binary(g, F_SUB, term, mb,
                                                     T_F32)));
    const Expr *off = expr_binary(g, F_SUB, mb, m, T_F32);
    off = expr_binary(g, F_MUL, square(g, off),
                      expr_const(g, (double)l->piece, T_F32), T_F32);
    const Expr *all = expr_binary(g, F_ADD, at_piece(g, squares), off, T_F32);
    for (int i = 0; i < q->n_out; i++)
        rows[i] = (Subst){l->sum->out[i], idx_var(g->pool, q->out[i])};
    over_pieces(l, q, expr_subst(g, all, rows, q->n_out));
}

static void split(Levels *l, int at)
{
    Graph *g = l->g;
    Stmt *s = l->sum;
    const int n = g->n_stmt;
    const Expr *term = in_pieces(l, s->value);
    Stmt *part = piece_stmt(l, at, s, term);

    if (l->squares)
        rewrite_squares(l, at + 1, part, term);
    over_pieces(l, s, at_piece(g, part));
    for (int i = at; i < at + g->n_stmt - n; i++) {
        web_link(l->web, g->stmt[i]);
        l->web->maker[g->stmt[i]->tensor->id] = g->stmt[i];
    }
    web_link(l->web, s);
    if (l->squares)
        web_link(l->web, l->squares);
}

void split_long_reductions(Graph *g, bool products)
{
    Web web = web_open(g);
    const int *inner = layout_inner(g), n = g->n_tensor;

    for (int i = 0; i < g->n_stmt; i++) {
        Levels l = {.g = g, .web = &web, .sum = g->stmt[i],
                    .inner_dim = inner, .n_dim = n};
        bool apart = false;
        if (!is_long(&web, l.sum, &l.most, &apart) ||
            web_between(&web, l.sum))
            continue;
        int before = g->n_stmt;
        bool rows = products && apart && choose_rows(&l);
        if (!rows && !choose_pieces(&l))
            continue;
        find_squares(&l);
        if (apart && !rows && !l.squares) /* reduce has parts of columns */
            continue;
        split(&l, i);
        i += g->n_stmt - before;
    }
}
