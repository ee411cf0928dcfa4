#include "group/apart.h"
#include "group/cross.h"
#include "group/norm.h"

#include <limits.h>

/* A nest as a contraction: a sum over cols of a product of two factors, the
 * rows split by which factor uses them. */

enum { MAX_FACTORS = 6 };

typedef struct Form {
    Graph *graph;
    const Group *group;
    const Step *sum;       /* the first */
    const Var **rows; int n_rows; /* the nest's, and `part` */
    const Var *part;       /* of several sums; or NULL */
    int parts;
    const Expr *factor[MAX_FACTORS];
    int n_factor;
    const Expr *side[2];   /* the product's two operands */
    bool may_range;
    const Expr *range;     /* the whole term, if that has a range; or NULL */
    const Idx *out;        /* element offset of the stored tensor */
    struct Merged *merged; /* parts of several sums' terms */
    int n_merged, cap_merged;
} Form;

typedef struct Merged {
    const Expr *a, *b, *to; /* to: NULL where they cannot be one */
} Merged;

/* ---- the sum and its factors ------------------------------------------- */

/* The reductions, all sums, with everything after them a value a row. */
static bool find_sums(Form *f, const char **why)
{
    const Group *gr = f->group;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->op != R_NONE && f->sum &&
            (s->op != R_SUM || s->type != f->sum->type)) {
            *why = "more than one reduction";
            return false;
        }
        if (s->op != R_NONE) {
            f->sum = f->sum ? f->sum : s;
            f->parts++;
        } else if (s->over_cols && (f->sum || s->tensor)) {
            *why = "values for every column besides the sum";
            return false;
        }
    }
    if (!f->sum || f->sum->op != R_SUM) {
        *why = f->sum ? "a reduction other than a sum" : "no sum";
        return false;
    }
    return true;
}

/* Locals of the steps before the sum are written out in its term. */
static const Expr *value_of(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Group *gr = ctx;

    (void)g;
    if (e->kind != E_LOCAL || e->local < 0)
        return NULL;
    *more = true;
    return gr->step[e->local].value;
}

static bool add_factors(Form *f, const Expr *e)
{
    e = expr_strip(e);
    if (e->kind == E_BINARY && e->fn == F_MUL)
        return add_factors(f, e->arg[0]) && add_factors(f, e->arg[1]);
    if (f->n_factor == MAX_FACTORS)
        return false;
    f->factor[f->n_factor++] = e;
    return true;
}

static double shared_rows(const Form *f, const Expr *a, const Expr *b)
{
    double n = 1;

    for (int i = 0; i < f->n_rows; i++) {
        const Var *v = f->rows[i];
        if (expr_uses(a, v) && expr_uses(b, v))
            n *= (double)v->extent;
    }
    return n;
}

static const Expr *product(const Form *f, unsigned mask)
{
    const Expr *e = NULL;

    for (int i = 0; i < f->n_factor; i++)
        if (mask >> i & 1)
            e = !e ? f->factor[i]
                   : expr_binary(f->graph, F_MUL, e, f->factor[i],
                                 f->sum->type);
    return e;
}

/* Of all ways to make two operands of the factors, the one in which the
 * operands share the fewest rows; on a tie the first. */
static void split_factors(Form *f)
{
    double best = 0;
    unsigned all = (1u << f->n_factor) - 1;

    for (unsigned mask = 1; mask < all; mask += 2) {
        const Expr *a = product(f, mask), *b = product(f, all & ~mask);
        double shared = shared_rows(f, a, b);
        if (f->side[0] && shared >= best)
            continue;
        best = shared;
        f->side[0] = a;
        f->side[1] = b;
    }
}

/* ---- operands ---------------------------------------------------------- */

static int64_t power_of_two(int64_t n, int64_t most)
{
    int64_t p = 1;

    while (p < most && n % (2 * p) == 0)
        p *= 2;
    return p;
}

/* Elements along v that one aligned access of at most 16 bytes may take; 0 if
 * v does not step through neighbours. */
static int vector_along(Graph *g, const Operand *o, const Var *v)
{
    int bytes = type_bytes(o->read->tensor->type);

    if (idx_coef(o->offset, v) != 1)
        return 0;
    const Idx *rest = idx_sub(g->pool, o->offset, idx_var(g->pool, v));
    if (idx_uses(rest, v))
        return 0;
    if (guard_uses(o->in, v))
        return 1;
    int64_t most = 16 / bytes;
    int64_t n = power_of_two(tensor_run(o->read->tensor, rest, v->extent),
                             most);
    return (int)(n < idx_align(rest, most) ? n : idx_align(rest, most));
}

/* Picks the variable that the operand's accesses run along. */
static void find_along(Form *f, Operand *o)
{
    const Group *gr = f->group;

    o->along = NULL;
    o->vec = 1;
    if (!o->read)
        return;
    for (int i = 0; i < f->n_rows + gr->n_cols; i++) {
        const Var *v = i < f->n_rows ? f->rows[i] : gr->cols[i - f->n_rows];
        int vec = vector_along(f->graph, o, v);
        if (!vec || (o->along && (vec < o->vec ||
                                  (vec == o->vec &&
                                   v->extent <= o->along->extent))))
            continue;
        o->along = v;
        o->vec = vec;
    }
}

static void make_operand(Form *f, Operand *o, const Expr *e)
{
    e = expr_strip(e);
    *o = (Operand){
        .e = e, .type = expr_exact_type(e), .vec = 1, .ops = expr_ops(e)};
    if (e->kind == E_READ && guard_truth(e->in) != NEVER) {
        o->read = e;
        o->offset = tensor_offset(f->graph, e->tensor, e->at);
        o->in = e->in;
    }
    find_along(f, o);
}

/* ---- variables --------------------------------------------------------- */

/* Sorts from the largest step through memory to the smallest. */
static void sort_vars(const Var **v, int n, const Idx *offset)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0; j--) {
            int64_t left = idx_coef(offset, v[j - 1]);
            int64_t right = idx_coef(offset, v[j]);
            if (left == 0 || left >= right)
                break;
            const Var *t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}

static void move_last(const Var **v, int n, const Var *last)
{
    for (int i = 0; last && i + 1 < n; i++)
        if (v[i] == last) {
            v[i] = v[i + 1];
            v[i + 1] = last;
        }
}

/* One order of k for both operands: fastest where most is gained. */
static void order_k(Contraction *c)
{
    const Operand *first = c->b.vec >= c->a.vec ? &c->b : &c->a;
    const Operand *second = first == &c->b ? &c->a : &c->b;

    if (c->b.offset)
        sort_vars(c->k, c->n_k, c->b.offset);
    else if (c->a.offset)
        sort_vars(c->k, c->n_k, c->a.offset);
    if (vars_have(c->k, c->n_k, first->along))
        move_last(c->k, c->n_k, first->along);
    else if (vars_have(c->k, c->n_k, second->along))
        move_last(c->k, c->n_k, second->along);
}

/* An operand that runs along another k than the fastest takes single
 * elements. Into the padding behind a row goes only what is numbered alone. */
static void settle_along(const Contraction *c, Operand *o, const Var *const *v,
                         int n)
{
    int64_t most = o->vec;

    if (o->along && (vars_have(v, n, o->along) ? n : c->n_k) > 1)
        o->vec = (int)power_of_two(o->along->extent, most);
    if (!o->along || (n && v[n - 1] == o->along) ||
        c->k[c->n_k - 1] == o->along)
        return;
    o->vec = 1;
    if (!vars_have(v, n, o->along))
        o->along = NULL;
}

static bool add_var(const Var **v, int *n, const Var *x)
{
    if (*n == MAX_RANK)
        return false;
    v[(*n)++] = x;
    return true;
}

static bool split_rows(Form *f, Contraction *c)
{
    const Group *gr = f->group;
    bool ok = gr->n_cols <= MAX_RANK;

    for (int i = 0; i < f->n_rows && ok; i++) {
        const Var *v = f->rows[i];
        bool a = expr_uses(c->a.e, v), b = expr_uses(c->b.e, v);
        if (a && b)
            ok = add_var(c->batch, &c->n_batch, v);
        else if (b)
            ok = add_var(c->n, &c->n_n, v);
        else
            ok = add_var(c->m, &c->n_m, v);
    }
    for (int i = 0; i < gr->n_cols && ok; i++)
        ok = add_var(c->k, &c->n_k, gr->cols[i]);
    return ok;
}

/* ---- the whole --------------------------------------------------------- */

/* The variable along which the result is contiguous, or NULL. */
static const Var *out_along(const Form *f)
{
    const Var *best = NULL;

    for (int i = 0; f->out && i < f->group->n_rows; i++) {
        const Var *v = f->group->rows[i];
        if (idx_coef(f->out, v) == 1 && (!best || v->extent > best->extent))
            best = v;
    }
    return best;
}

/* Which side is b, whose variables are the columns n of the result. */
static int choose_b(const Form *f, const Var *along)
{
    double size[2] = {1, 1};

    for (int s = 0; s < 2; s++) {
        const Expr *mine = f->side[s], *other = f->side[!s];
        if (along && expr_uses(mine, along) && !expr_uses(other, along))
            return s;
        for (int i = 0; i < f->n_rows; i++)
            if (expr_uses(mine, f->rows[i]))
                size[s] *= (double)f->rows[i]->extent;
    }
    return size[0] > size[1] ? 0 : 1;
}

/* ---- several sums ------------------------------------------------------ */

/* The read of a that b has elsewhere, by a number in one dimension: moved by
 * that times `part`. NULL if they differ in more. */
static const Expr *moved(Form *f, const Expr *a, const Expr *b)
{
    Graph *g = f->graph;
    const Idx **at = arena_array(g->arena, const Idx *, MAX_RANK);
    int n = 0;

    if (a->tensor != b->tensor || a->in.n || b->in.n)
        return NULL;
    for (int d = 0; d < a->tensor->rank; d++) {
        const Idx *by = idx_sub(g->pool, b->at[d], a->at[d]);
        at[d] = a->at[d];
        if (!idx_is_const(by))
            return NULL;
        if (by->k) {
            at[d] = idx_add(g->pool, at[d],
                            idx_scale(g->pool, idx_var(g->pool, f->part),
                                      by->k));
            n++;
        }
    }
    return n == 1 ? expr_read(g, a->tensor, at, a->in, a->outside) : NULL;
}

/* a where part is 0, b where it is 1; NULL if there is none. */
static const Expr *merge_terms(Form *f, const Expr *a, const Expr *b);

static const Expr *merge_parts(Form *f, const Expr *a, const Expr *b)
{
    const Expr *arg[3] = {0};

    if (expr_equal(a, b))
        return a;
    if (a->kind != b->kind || a->fn != b->fn || a->type != b->type)
        return NULL;
    if (a->kind == E_READ)
        return moved(f, a, b);
    if (a->kind != E_UNARY && a->kind != E_BINARY && a->kind != E_CAST)
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (!a->arg[i] != !b->arg[i])
            return NULL;
        arg[i] = a->arg[i] ? merge_terms(f, a->arg[i], b->arg[i]) : NULL;
        if (a->arg[i] && !arg[i])
            return NULL;
    }
    Expr *e = arena_new_of(f->graph->arena, Expr);
    *e = *a;
    memcpy(e->arg, arg, sizeof arg);
    return e;
}

/* Each pair of parts once. */
static const Expr *merge_terms(Form *f, const Expr *a, const Expr *b)
{
    for (int i = 0; i < f->n_merged; i++)
        if (f->merged[i].a == a && f->merged[i].b == b)
            return f->merged[i].to;
    const Expr *to = merge_parts(f, a, b);
    VEC_PUSH(f->graph->arena, f->merged, f->n_merged, f->cap_merged) =
        (Merged){a, b, to};
    return to;
}

/* The term of all sums, over the rows and `part`. */
static const Expr *find_term(Form *f, const char **why)
{
    Graph *g = f->graph;
    const Group *gr = f->group;
    const Expr *all = NULL, *first = NULL;
    int n = 0;

    f->rows = gr->rows;
    f->n_rows = gr->n_rows;
    if (f->parts > 1) {
        f->part = idx_new_var(g->pool, "part", f->parts);
        f->rows = arena_array(g->arena, const Var *, gr->n_rows + 1);
        memcpy(f->rows, gr->rows, sizeof(Var *) * (size_t)gr->n_rows);
        f->rows[f->n_rows++] = f->part;
    }
    for (int i = 0; i < gr->n_step; i++) {
        if (gr->step[i].op == R_NONE)
            continue;
        const Expr *e = expr_write_out(g, gr->step[i].value, value_of,
                                       (void *)gr);
        Subst here = {f->part, idx_const(g->pool, n)};
        first = first ? first : e;
        if (n == 1)
            all = merge_terms(f, first, e);
        if (n++ && (!all || !expr_equal(expr_subst(g, all, &here, 1), e))) {
            *why = "sums that are no neighbours in one product";
            return NULL;
        }
    }
    return all ? all : first;
}

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

/* Whether e is 0 out of the range as it is. */
static bool is_cut(const Expr *e, Guard range)
{
    bool cut = e->kind == E_READ && e->in.n && is_zero(e->outside);

    for (int i = 0; i < range.n && cut; i++) {
        cut = false;
        for (int j = 0; j < e->in.n; j++)
            cut |= e->in.cond[j].e == range.cond[i].e &&
                   e->in.cond[j].mod == range.cond[i].mod;
    }
    return cut || (e->kind == E_READ && e->tensor->cut);
}

/* The side that a range cuts to zeros: the one with all its rows. */
static bool cut_side(Form *f, const Expr *range, const char **why)
{
    Graph *g = f->graph;
    int side = -1;
    Guard in;

    if (expr_as_guard(g, range, &in) &&
        (is_cut(f->side[0], in) || is_cut(f->side[1], in)))
        return true;
    for (int k = 0; k < 2 && side < 0; k++) {
        side = k;
        for (int i = 0; i < f->n_rows && side == k; i++)
            if (expr_uses(range, f->rows[i]) &&
                !expr_uses(f->side[k], f->rows[i]))
                side = -1;
    }
    *why = "a range that depends on rows of both factors";
    if (side < 0)
        return false;
    const Expr *e = f->side[side];
    if (e->kind == E_READ && e->tensor->cut)
        return true;
    const Expr *none = expr_const(g, 0, e->type);
    bool read = e->kind == E_READ && expr_as_guard(g, range, &in) &&
                (!e->in.n || is_zero(e->outside));
    f->side[side] =
        read ? expr_read(g, e->tensor, e->at, guard_and(g->pool, in, e->in),
                         e->in.n ? e->outside : none)
             : expr_select(g, range, e, none, e->type);
    return true;
}

/* A range that says which rows' sums have a term, `ids[n] == i ? x[n, j] : 0`,
 * as a product with ones and zeros. */
static bool choose_rows(Form *f, const char **why)
{
    Graph *g = f->graph;
    const Expr *e = f->factor[0];

    f->side[0] = expr_select(g, f->range->arg[0], expr_const(g, 1, e->type),
                             expr_const(g, 0, e->type), e->type);
    f->side[1] = e;
    *why = "a range that rows of the term itself decide";
    for (int i = 0; i < f->n_rows; i++)
        if (expr_uses(f->range->arg[0], f->rows[i]) &&
            expr_uses(e, f->rows[i]))
            return false;
    return type_is_float(e->type);
}

static bool find_factors(Form *f, const char **why)
{
    const Expr *term = find_term(f, why);

    if (!term)
        return false;
    if (f->may_range && term->kind == E_SELECT && is_zero(term->arg[2])) {
        f->range = term;
        term = term->arg[1];
    }
    if (f->range && add_factors(f, term) && f->n_factor == 1)
        return choose_rows(f, why);
    f->n_factor = 0;
    if (!add_factors(f, term) || f->n_factor < 2) {
        *why = f->n_factor < 2 ? "the term is no product"
                               : "a product of more than six factors";
        return false;
    }
    split_factors(f);
    return !f->range || cut_side(f, f->range->arg[0], why);
}

/* ---- terms of two reads that are no product ---------------------------- */

typedef struct Pair {
    const Expr *read[2];
    int n;
    bool more; /* depends on more than two of them */
} Pair;

static int number_of(const Pair *p, const Expr *read)
{
    int i = 0;

    while (i < p->n && !expr_equal(p->read[i], read))
        i++;
    return i;
}

static void note_leaf(const Expr *e, void *ctx)
{
    Pair *p = ctx;

    if (e->kind == E_READ && number_of(p, e) == p->n) {
        p->more |= p->n == 2;
        if (p->n < 2)
            p->read[p->n++] = e;
    }
    p->more |= e->kind == E_INDEX || e->kind == E_LOCAL;
}

static const Expr *as_local(Graph *g, const Expr *e, void *ctx)
{
    return e->kind == E_READ ? expr_local(g, number_of(ctx, e), e->type) : NULL;
}

static const Expr *as_zero(Graph *g, const Expr *e, void *ctx)
{
    (void)ctx;
    return e->kind == E_LOCAL ? expr_const(g, 0, e->type) : NULL;
}

/* Whether a has rows of its own beside b. */
static bool has_own(const Form *f, const Expr *a, const Expr *b)
{
    for (int i = 0; i < f->n_rows; i++)
        if (expr_uses(a, f->rows[i]) && !expr_uses(b, f->rows[i]))
            return true;
    return false;
}

/* A term of two reads, each with rows of its own, as a function of both that
 * is 0 of zeros, which stand behind the last column. */
static bool find_pair(Form *f, const Expr **term, const char **why)
{
    Graph *g = f->graph;
    const Expr *e = f->parts == 1 ? find_term(f, why) : NULL;
    Pair p = {.n = 0};

    *why = "the term is no function of two reads";
    if (!e || f->sum->type != T_F32)
        return false;
    expr_visit(e, note_leaf, &p);
    if (p.more || p.n < 2 || !has_own(f, p.read[0], p.read[1]) ||
        !has_own(f, p.read[1], p.read[0]))
        return false;
    memcpy(f->side, p.read, sizeof f->side);
    if (choose_b(f, out_along(f)) == 0) {
        p.read[0] = f->side[1];
        p.read[1] = f->side[0];
        memcpy(f->side, p.read, sizeof f->side);
    }
    *term = expr_rewrite(g, e, as_local, &p);
    const Expr *least = expr_rewrite(g, *term, as_zero, NULL);
    *why = "the term of zeros is another number";
    return least->kind == E_CONST && least->num == 0;
}

/* ---- the whole --------------------------------------------------------- */

static void find_out(Form *f)
{
    const Group *gr = f->group;

    if (gr->pieces)
        f->out = gr->pieces->of;
    for (int i = gr->n_step - 1; i >= 0; i--)
        if (gr->step[i].tensor)
            f->out = tensor_offset(f->graph, gr->step[i].tensor,
                                   gr->step[i].store);
}

static bool check_sizes(Contraction *c, const char **why)
{
    c->M = vars_extent(c->m, c->n_m);
    c->N = vars_extent(c->n, c->n_n);
    c->K = vars_extent(c->k, c->n_k);
    c->batches = vars_extent(c->batch, c->n_batch);
    *why = NULL;
    if (c->M > INT_MAX / 2 || c->N > INT_MAX / 2 || c->K > INT_MAX / 4)
        *why = "more than 2^30 rows or columns, or 2^29 terms";
    else if (c->batches > 65535)
        *why = "more than 65535 independent products";
    else if (c->n_m == 0 && c->n_n == 0)
        *why = "both factors use all of the rows: nothing is reused";
    return !*why;
}

/* Whether the variables, in this order, step through memory as one number. */
static bool is_run(const Var *const *v, int n, const Idx *offset)
{
    int64_t step = idx_coef(offset, v[n - 1]);
    bool run = step > 0;

    for (int i = n - 1; i >= 0; step *= v[i--]->extent)
        run &= idx_coef(offset, v[i]) == step;
    return run;
}

/* Rows come as their factor has them where they are one run there, as those of
 * an image's windows are: a row of results lies anywhere as well. */
static void follow_factor(const Form *f, Contraction *c)
{
    const Operand *a = &c->a;
    const Var *v[MAX_RANK];

    if (c->n_m < 2 || !c->n_n || !a->offset || !idx_affine(a->offset) ||
        a->in.n || idx_coef(f->out, c->n[c->n_n - 1]) != 1)
        return;
    memcpy(v, c->m, sizeof v);
    sort_vars(v, c->n_m, a->offset);
    if (is_run(v, c->n_m, a->offset))
        memcpy(c->m, v, sizeof v);
}

/* Of the two operands that were found; which is b, choose_b says. */
static bool settle(Form *f, Contraction *c, const char **why)
{
    const Var *along = out_along(f);
    int b = choose_b(f, along);

    if (!f->part && cross_rows(f->group, f->rows, f->n_rows, f->side[!b],
                               f->side[b]))
        b = !b;
    make_operand(f, &c->a, f->side[!b]);
    make_operand(f, &c->b, f->side[b]);
    if (type_is_float(f->sum->type))
        expr_float_types(&c->a.type, &c->b.type);
    if (!split_rows(f, c)) {
        *why = "more than 8 variables of one kind";
        return false;
    }
    if (!c->n_k) {
        *why = "nothing to sum over";
        return false;
    }
    apart_phases(c, &c->a, c->m, &c->n_m);
    apart_phases(c, &c->b, c->n, &c->n_n);
    apart_rows(c, &c->a, c->m, &c->n_m);
    apart_rows(c, &c->b, c->n, &c->n_n);
    c->parts = f->parts;
    c->part = f->part;
    if (c->part && !vars_have(c->n, c->n_n, c->part)) {
        *why = "sums that do not differ in what belongs to columns";
        return false;
    }
    order_k(c);
    if (f->out) {
        sort_vars(c->m, c->n_m, f->out);
        sort_vars(c->n, c->n_n, f->out);
        follow_factor(f, c);
    }
    if (c->a.vec > 1 && vars_have(c->m, c->n_m, c->a.along))
        move_last(c->m, c->n_m, c->a.along);
    if (!vars_have(c->n, c->n_n, along) && c->b.vec > 1)
        move_last(c->n, c->n_n, c->b.along);
    move_last(c->n, c->n_n, c->part);
    settle_along(c, &c->a, c->m, c->n_m);
    settle_along(c, &c->b, c->n, c->n_n);
    return check_sizes(c, why);
}

static bool find_product(Form *f, Contraction *c, const char **why)
{
    memset(c, 0, sizeof *c);
    if (!find_sums(f, why) || !find_factors(f, why))
        return false;
    find_out(f);
    c->range = f->range;
    return settle(f, c, why);
}

bool group_contraction(Graph *g, const Group *gr, Contraction *c,
                       const char **why)
{
    Form f = {.graph = g, .group = gr};

    return find_product(&f, c, why);
}

bool group_ranged(Graph *g, const Group *gr, Contraction *c, const char **why)
{
    Form f = {.graph = g, .group = gr, .may_range = true};

    return find_product(&f, c, why);
}

bool group_pairs(Graph *g, const Group *gr, Contraction *c, const char **why)
{
    Form f = {.graph = g, .group = gr};

    memset(c, 0, sizeof *c);
    if (!find_sums(&f, why))
        return false;
    find_out(&f);
    return find_pair(&f, &c->term, why) && settle(&f, c, why);
}
