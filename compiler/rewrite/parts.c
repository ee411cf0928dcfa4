#include "rewrite/parts.h"

#include "rewrite/factors.h"
#include "rewrite/range.h"
#include "rewrite/simplify.h"

#include <math.h>
#include <string.h>

enum { MAX_FACTORS = 6 };

/* What the tensors of a product's factors hold. */
typedef struct Kind {
    Type type; /* of both, in memory */
    int parts; /* of the f32 one */
    bool tf32; /* their values are tf32's */
} Kind;

static const Kind of_f16 = {T_F16, 2, false};
static const Kind of_bf16 = {T_BF16, 3, false};
static const Kind of_bf16_pairs = {T_BF16, 2, false};
static const Kind of_tf32 = {T_F32, 2, true};

/* A factor, as a tensor of its values would have them: by v[]. */
typedef struct Values {
    const Expr *e; /* of the variables */
    const Var *v[MAX_RANK];
    const Idx *at[MAX_RANK]; /* where the product reads it */
    Guard in;
    int n;
    const Tensor *constant; /* a parameter that it is made of, at load time */
} Values;

typedef struct Product {
    int stmt;
    const Expr *wide, *other; /* the factor that is f32; that of 16 bits */
    const Kind *kind;
    int scale; /* a power of two */
} Product;

/* A tensor that was made, of values and as it holds them. */
typedef struct Made {
    const Expr *e;
    const Kind *kind;
    int parts, scale;
    Tensor *t;
} Made;

typedef struct Parts {
    Graph *g;
    const PartsWish *wish;
    Made *made;
    int n_made, cap_made;
} Parts;

/* ---- the two factors ----------------------------------------------------- */

static int add_factors(const Expr *e, const Expr **of, int n)
{
    e = expr_strip(e);
    if (e->kind == E_BINARY && e->fn == F_MUL && !e->arg[2]) {
        n = add_factors(e->arg[0], of, n);
        return n < 0 ? n : add_factors(e->arg[1], of, n);
    }
    if (n == MAX_FACTORS || n < 0)
        return -1;
    of[n] = e;
    return n + 1;
}

static const Expr *product_of(Graph *g, const Expr *const *of, int n,
                              unsigned mask)
{
    const Expr *e = NULL;

    for (int i = 0; i < n; i++)
        if (mask >> i & 1)
            e = e ? expr_binary(g, F_MUL, e, of[i], T_F32) : of[i];
    return e;
}

/* Points of e that s has, those that b has too or not. */
static int64_t rows_of(const Stmt *s, const Expr *e, const Expr *b, bool too)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_out; i++)
        if (expr_uses(e, s->out[i]) && expr_uses(b, s->out[i]) == too)
            n *= s->out[i]->extent;
    return n;
}

static int64_t summed(const Stmt *s, const Expr *a, const Expr *b)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_red; i++)
        n *= expr_uses(a, s->red[i]) && expr_uses(b, s->red[i])
                 ? s->red[i]->extent
                 : 1;
    return n;
}

/* What tiles gain by. */
static bool is_large(const Stmt *s, const Expr *a, const Expr *b)
{
    enum { LONG = 64 };

    return summed(s, a, b) >= LONG && rows_of(s, a, b, false) >= LONG &&
           rows_of(s, b, a, false) >= LONG;
}

enum { F32_BITS = 24, F16_BITS = 11, BF16_BITS = 8 };

/* Bits that e's values have at most. */
static int bits_of(const Expr *e)
{
    e = expr_strip(e);
    if (e->kind == E_BINARY && e->fn == F_MUL && !e->arg[2]) {
        int bits = bits_of(e->arg[0]) + bits_of(e->arg[1]);
        return bits < F32_BITS ? bits : F32_BITS;
    }
    Type t = expr_exact_type(e);
    return t == T_F16                          ? F16_BITS
           : t == T_BF16 || type_bytes(t) == 1 ? BF16_BITS
                                               : F32_BITS;
}

/* The parts of `wide` that go with what the other factor holds; NULL: there
 * are none. Integers of 8 bits are f16 and bf16. Two of f16 lose 2^-40 of the
 * greatest that values may be: these must not all be so small. */
static const Kind *kind_of(Parts *p, const Stmt *s, Product *f, Type other)
{
    enum { MOST = 256, SMALL = 65536 };
    Stmt **makers = tensor_makers(p->g);
    double most = range_magnitude(value_range(p->g, makers, f->wide));

    if (other != T_BF16 && most > 0 && most <= MOST &&
        value_least(p->g, makers, s, f->wide) >= most / SMALL) {
        enum { TOP = 15 }; /* half of what f16 holds */
        f->scale = TOP - (int)ceil(log2(most));
        return &of_f16;
    }
    if (other != T_F16)
        return bits_of(f->wide) > BF16_BITS * 2 ? &of_bf16 : &of_bf16_pairs;
    return p->wish->tf32 ? &of_tf32 : NULL;
}

/* Of two sides: which is f32, beside one of 16 bits or 8. */
static bool take_sides(Product *f, const Expr *a, const Expr *b, Type *other)
{
    Type t[2] = {expr_exact_type(a), expr_exact_type(b)};
    bool wide[2] = {t[0] == T_F32, t[1] == T_F32};

    if (wide[0] == wide[1] || type_bytes(t[wide[0]]) > 2)
        return false;
    f->wide = wide[0] ? a : b;
    f->other = wide[0] ? b : a;
    *other = t[wide[0]];
    return true;
}

/* Elements that tensors of their own would have. */
static int64_t to_store(const Stmt *s, const Expr *a, const Expr *b)
{
    return rows_of(s, a, b, false) * summed(s, a, a);
}

/* The factors as two sides that share the fewest rows; of such ways the one of
 * the smallest f32 side: what lies along the sum goes there. */
static bool find_sides(Parts *p, const Stmt *s, Product *f, Type *other)
{
    const Expr *of[MAX_FACTORS];
    int n = add_factors(s->value, of, 0);
    int64_t shared = 0, stored = 0;
    bool found = false;

    for (unsigned mask = 1; n > 1 && mask < (1u << n) - 1; mask += 2) {
        const Expr *a = product_of(p->g, of, n, mask);
        const Expr *b = product_of(p->g, of, n, ~mask);
        Product here = *f;
        Type type;
        if (!is_large(s, a, b) || !take_sides(&here, a, b, &type))
            continue;
        int64_t both = rows_of(s, a, b, true);
        int64_t size = to_store(s, here.wide, here.other);
        if (found && (both > shared || (both == shared && size >= stored)))
            continue;
        found = true;
        shared = both;
        stored = size;
        *f = here;
        *other = type;
    }
    return found;
}

static bool is_excepted(const PartsWish *w, const Stmt *s)
{
    for (int i = 0; i < w->n_except; i++)
        if (!strcmp(w->except[i], s->path))
            return true;
    return false;
}

static bool is_plain(const Stmt *s)
{
    if (s->op != R_SUM || s->when != WHEN_RUN || s->where.n || s->fold ||
        s->for_fold || s->tensor->type != T_F32 || s->tensor->prev ||
        s->notes || s->n_red == MAX_RANK)
        return false;
    for (int d = 0; d < s->tensor->rank; d++)
        if (!idx_is_var(s->store[d]))
            return false;
    return true;
}

/* ---- values as tensors --------------------------------------------------- */

/* The variables of s that e has: rows, then what is summed, the longest of it
 * last. */
static int points_along(const Stmt *s, const Expr *e, const Var **v)
{
    int n = 0;

    for (int i = 0; i < s->n_out + s->n_red; i++) {
        const Var *x = i < s->n_out ? s->out[i] : s->red[i - s->n_out];
        if (!expr_uses(e, x))
            continue;
        if (n + 1 == MAX_RANK)
            return 0;
        v[n++] = x;
        const Var *before = n > 1 ? v[n - 2] : NULL;
        if (i > s->n_out && expr_uses(e, s->red[0]) &&
            before->extent > x->extent) {
            v[n - 2] = x;
            v[n - 1] = before;
        }
    }
    return n;
}

/* All of the tensor that e reads: windows read its parts as they read it. */
static bool take_tensor(Graph *g, const Expr *e, Values *x)
{
    const Tensor *t = e->tensor;
    const Expr *outside = e->outside;

    if (t->rank + 1 > MAX_RANK || t->rank == 0 ||
        (e->in.n &&
         (!outside || outside->kind != E_CONST || outside->num != 0)))
        return false;
    const Idx **at = arena_array(g->arena, const Idx *, t->rank);
    x->n = t->rank;
    for (int d = 0; d < t->rank; d++) {
        x->v[d] = idx_new_var(g->pool, arena_printf(g->arena, "%c", 'i' + d),
                              t->dim[d]);
        at[d] = idx_var(g->pool, x->v[d]);
        x->at[d] = e->at[d];
    }
    x->in = e->in;
    x->e = expr_read(g, (Tensor *)t, at, (Guard){0}, NULL);
    return true;
}

/* `along`: neighbours are to be summed. */
static bool take_values(Graph *g, const Stmt *s, const Expr *e, bool along,
                        Values *x)
{
    const FactorReads r = factor_reads(e);

    *x = (Values){.e = e};
    if (!r.largest)
        return false;
    x->constant = r.run ? NULL : r.largest->tensor;
    if (e->kind == E_READ && !(along && r.plain && !e->in.n))
        return !along && take_tensor(g, e, x);
    x->n = !r.plain ? 0
           : along  ? points_along(s, e, x->v)
                    : factor_points(g, s, e, r.largest, x->v);
    if (!x->n || x->n == MAX_RANK)
        return false;
    for (int d = 0; d < x->n; d++)
        x->at[d] = idx_var(g->pool, x->v[d]);
    return true;
}

/* ---- parts --------------------------------------------------------------- */

static const Expr *minus(Graph *g, const Expr *a, const Expr *b)
{
    return expr_binary(g, F_SUB, a, b, T_F32);
}

/* x as the kind's type has it, as f32. */
static const Expr *rounded(Graph *g, const Kind *k, const Expr *x)
{
    return k->tf32 ? expr_unary(g, F_TF32, x, T_F32)
                   : expr_cast(g, expr_cast(g, x, k->type), T_F32);
}

/* What is left of x; of what is infinite nothing. */
static const Expr *rest_of(Graph *g, const Kind *k, const Expr *x)
{
    const Expr *r = rounded(g, k, x);

    if (k == &of_f16)
        return minus(g, x, r);
    return expr_select(g, expr_binary(g, F_EQ, x, r, T_BOOL),
                       expr_const(g, 0, T_F32), minus(g, x, r), T_F32);
}

/* Part number i of so many, from the smallest to the largest. */
static const Expr *part_of(Graph *g, const Made *m, const Expr *x, int i)
{
    if (m->parts == 1)
        return x;
    if (m->scale)
        x = expr_binary(g, F_MUL, x, expr_const(g, ldexp(1, m->scale), T_F32),
                        T_F32);
    for (int k = m->parts - 1; k > i; k--)
        x = rest_of(g, m->kind, x);
    return m->kind->tf32 ? expr_unary(g, F_TF32, x, T_F32) : x;
}

/* A statement about x's points, at `at` or at load time. */
static Stmt *begin_stmt(Graph *g, const Stmt *s, const Values *x, int at)
{
    Stmt *c = x->constant ? load_stmt(g, x->constant) : stmt_insert(g, at);

    c->when = x->constant ? WHEN_LOAD : WHEN_RUN;
    c->at = s->at;
    c->call = s->call;
    c->behind = s->behind;
    c->out = arena_array(g->arena, const Var *, MAX_RANK);
    c->store = arena_array(g->arena, const Idx *, MAX_RANK);
    c->n_out = x->n;
    return c;
}

/* Stores part i: the only one has no dimension of its own. */
static void put_part(Graph *g, const Stmt *s, const Values *x, const Made *m,
                     int i, int at)
{
    Stmt *c = begin_stmt(g, s, x, at);
    Subst sub[MAX_RANK];
    bool one = m->parts == 1;

    for (int d = 0; d < x->n; d++) {
        c->out[d] = idx_new_var(g->pool, x->v[d]->name, x->v[d]->extent);
        c->store[d + !one] = idx_var(g->pool, c->out[d]);
        sub[d] = (Subst){x->v[d], idx_var(g->pool, c->out[d])};
    }
    if (!one)
        c->store[0] = idx_const(g->pool, i);
    c->path = one ? arena_printf(g->arena, "%s_wide", s->path)
                  : arena_printf(g->arena, "%s_part%d", s->path, i);
    c->tensor = m->t;
    c->value = expr_subst(g, part_of(g, m, x->e, i), sub, x->n);
}

static Tensor *parts_tensor(Graph *g, const Stmt *s, const Values *x,
                            const Made *m)
{
    int64_t dim[MAX_RANK] = {m->parts};
    bool one = m->parts == 1;
    const char *of =
        x->e->kind == E_READ ? x->e->tensor->name : s->tensor->name;

    for (int d = 0; d < x->n; d++)
        dim[d + !one] = x->v[d]->extent;
    Tensor *t = graph_tensor(
        g,
        arena_printf(g->arena, "%s_%s", of, m->parts == 1 ? "wide" : "parts"),
        m->kind->type, x->n + !one, dim);
    t->path = s->tensor->path;
    t->when = x->constant ? WHEN_LOAD : WHEN_RUN;
    t->at = s->at;
    t->tf32 = m->kind->tf32;
    t->parts = !one;
    return t;
}

/* The tensor of e's parts, made ahead of statement *at, which moves. */
static Tensor *stored(Parts *p, const Values *x, Made m, int *at)
{
    Graph *g = p->g;
    const Stmt *s = g->stmt[*at];

    for (int i = 0; i < p->n_made; i++) {
        const Made *old = &p->made[i];
        if (old->kind == m.kind && old->parts == m.parts &&
            old->scale == m.scale && expr_equal(old->e, m.e))
            return old->t;
    }
    m.t = parts_tensor(g, s, x, &m);
    for (int i = 0; i < m.parts; i++)
        put_part(g, s, x, &m, i, *at + (x->constant ? 0 : i));
    *at += m.parts;
    VEC_PUSH(g->arena, p->made, p->n_made, p->cap_made) = m;
    return m.t;
}

static const Expr *read_of(Graph *g, const Values *x, Tensor *t,
                           const Var *part)
{
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    int n = 0;

    if (part)
        at[n++] = idx_var(g->pool, part);
    for (int d = 0; d < x->n; d++)
        at[n++] = x->at[d];
    return expr_read(g, t, at, x->in,
                     x->in.n ? expr_const(g, 0, t->type) : NULL);
}

/* ---- products ------------------------------------------------------------ */

/* The sum, of 2^e times its terms, goes into a tensor of its own. */
static void scale_back(Graph *g, int at, int scale)
{
    Stmt *s = g->stmt[at], saved = *s, *c = stmt_insert(g, at + 1);
    Tensor *t = s->tensor;
    int id = c->id;

    s->tensor = graph_tensor_like(g, t, T_F32, t->rank, t->dim);
    *c = saved;
    c->id = id;
    c->op = R_NONE;
    c->red = NULL;
    c->n_red = 0;
    c->value = expr_binary(g, F_MUL,
                           expr_read(g, s->tensor, s->store, (Guard){0}, NULL),
                           expr_const(g, ldexp(1, -scale), T_F32), T_F32);
}

static void add_part_variable(Graph *g, Stmt *s, const Var *part)
{
    const Var **red = arena_array(g->arena, const Var *, s->n_red + 1);

    red[0] = part;
    memcpy(red + 1, s->red, sizeof *red * (size_t)s->n_red);
    s->red = red;
    s->n_red++;
}

/* Whether the other factor can stay where it is. */
static bool stays(const Product *f)
{
    return f->kind != &of_tf32 && f->other->kind == E_READ && !f->other->in.n &&
           f->other->tensor->type == f->kind->type;
}

static bool make_product(Parts *p, Product *f)
{
    Graph *g = p->g;
    const Stmt *s = g->stmt[f->stmt];
    Values wide, other;
    bool tf32 = f->kind == &of_tf32;

    if (!take_values(g, s, f->wide, tf32, &wide) ||
        (!stays(f) && !take_values(g, s, f->other, tf32, &other)))
        return false;
    if (p->wish->count)
        return true;
    const Var *part = idx_new_var(g->pool, "part", f->kind->parts);
    const Expr *b = f->other;
    Tensor *t = stored(p, &wide,
                       (Made){f->wide, f->kind, f->kind->parts, f->scale, NULL},
                       &f->stmt);
    if (!stays(f))
        b = read_of(
            g, &other,
            stored(p, &other, (Made){f->other, f->kind, 1, 0, NULL}, &f->stmt),
            NULL);
    Stmt *sum = g->stmt[f->stmt];
    sum->value = expr_binary(g, F_MUL, read_of(g, &wide, t, part), b, T_F32);
    add_part_variable(g, sum, part);
    if (f->scale)
        scale_back(g, f->stmt, f->scale);
    return true;
}

PartsMade make_parts(Graph *g, const PartsWish *wish)
{
    Parts p = {.g = g, .wish = wish};
    PartsMade made = {0};

    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        Product f = {.stmt = i};
        Type other;
        if (!is_plain(s) || is_excepted(wish, s) ||
            !find_sides(&p, s, &f, &other) ||
            !(f.kind = kind_of(&p, s, &f, other)) || !make_product(&p, &f))
            continue;
        made.n++;
        made.tf32 += f.kind->tf32;
        i = f.stmt;
    }
    return made;
}
