/* test_expr.c - expressions: what graph.h promises of making, folding,
 * rewriting and showing them; and the dump of a graph. */
#include "compiler/graph/graph.h"
#include "compiler/graph/graph.h"
#include "index_eval.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>

typedef struct Fix {
    Arena *arena;
    Graph *g;
    const Var *vi, *vj;
    const Idx *ii, *ij;    /* extents 8 and 100 */
    const Expr *i, *j;     /* as values */
    Tensor *x, *ids;       /* f16[100], i32[8] */
    const Expr *xj;        /* x[j] */
} Fix;

static const Guard nothing = {0};

static const Expr *read1(Fix *f, Tensor *t, const Idx *at)
{
    return expr_read(f->g, t, &at, nothing, NULL);
}

static Fix open_fix(void)
{
    Fix f = {.arena = arena_new()};
    f.g = graph_new(f.arena, NULL, "m");
    IdxPool *p = f.g->pool;
    f.vi = idx_new_var(p, "i", 8);
    f.vj = idx_new_var(p, "j", 100);
    f.ii = idx_var(p, f.vi);
    f.ij = idx_var(p, f.vj);
    f.i = expr_index(f.g, f.ii);
    f.j = expr_index(f.g, f.ij);
    f.x = graph_tensor(f.g, "x", T_F16, 1, (int64_t[]){100});
    f.ids = graph_tensor(f.g, "ids", T_I32, 1, (int64_t[]){8});
    f.xj = read1(&f, f.x, f.ij);
    return f;
}

static void close_fix(Fix *f)
{
    arena_free(f->arena);
}

static const Expr *flt(Fix *f, double x)
{
    return expr_const(f->g, x, T_F32);
}

static const Expr *i32(Fix *f, double x)
{
    return expr_const(f->g, x, T_I32);
}

static const Expr *bin(Fix *f, Func fn, const Expr *a, const Expr *b, Type t)
{
    return expr_binary(f->g, fn, a, b, t);
}

static void is_num(const Expr *e, double want, Type t)
{
    cr_assert(e->kind == E_CONST && e->type == t);
    cr_assert(e->num == want, "%g is not %g", e->num, want);
}

static void text_is(const Expr *e, const char *want)
{
    Buf b = {0};
    expr_dump(&b, e);
    cr_assert_str_eq(buf_text(&b), want);
    buf_free(&b);
}

/* ---- constants */

Test(expr, constants_fold)
{
    Fix f = open_fix();
    is_num(bin(&f, F_ADD, flt(&f, 1), flt(&f, 2), T_F32), 3, T_F32);
    is_num(bin(&f, F_DIV, flt(&f, 1), flt(&f, 0), T_F32), INFINITY, T_F32);
    is_num(expr_unary(f.g, F_SQRT, flt(&f, 9), T_F32), 3, T_F32);
    is_num(expr_unary(f.g, F_EXP, flt(&f, 0), T_F32), 1, T_F32);
    is_num(bin(&f, F_MAX, flt(&f, NAN), flt(&f, 2), T_F32), 2, T_F32);
    is_num(bin(&f, F_LT, flt(&f, 1), flt(&f, 2), T_BOOL), 1, T_BOOL);
    is_num(bin(&f, F_LT, flt(&f, 1.5), i32(&f, 2), T_BOOL), 1, T_BOOL);
    const Expr *nan = bin(&f, F_DIV, flt(&f, 0), flt(&f, 0), T_F32);
    cr_assert(nan->kind == E_BINARY, "a NaN is made at run time");
    is_num(expr_fma(f.g, flt(&f, 2), flt(&f, 3), flt(&f, 4), T_F32), 10,
           T_F32);
    close_fix(&f);
}

Test(expr, integers_fold_as_32_bits_with_floor_division)
{
    Fix f = open_fix();
    is_num(bin(&f, F_DIV, i32(&f, -7), i32(&f, 2), T_I32), -4, T_I32);
    is_num(bin(&f, F_MOD, i32(&f, -7), i32(&f, 2), T_I32), 1, T_I32);
    is_num(bin(&f, F_MOD, i32(&f, 7), i32(&f, -2), T_I32), -1, T_I32);
    is_num(bin(&f, F_DIV, i32(&f, 7), i32(&f, 0), T_I32), 0, T_I32);
    is_num(bin(&f, F_MOD, i32(&f, 7), i32(&f, 0), T_I32), 0, T_I32);
    is_num(bin(&f, F_ADD, i32(&f, INT_MAX), i32(&f, 1), T_I32), INT_MIN,
           T_I32);
    is_num(bin(&f, F_DIV, i32(&f, INT_MIN), i32(&f, -1), T_I32), INT_MIN,
           T_I32);
    is_num(expr_unary(f.g, F_NEG, i32(&f, INT_MIN), T_I32), INT_MIN, T_I32);
    is_num(bin(&f, F_DIV, i32(&f, 1), i32(&f, 2), T_F32), 0.5, T_F32);
    close_fix(&f);
}

Test(expr, identities_keep_ieee_meaning)
{
    Fix f = open_fix();
    const Expr *s = expr_unary(f.g, F_EXP, f.xj, T_F32);
    cr_assert(bin(&f, F_ADD, s, flt(&f, 0), T_F32) == s);
    cr_assert(bin(&f, F_ADD, flt(&f, 0), s, T_F32) == s);
    cr_assert(bin(&f, F_SUB, s, flt(&f, 0), T_F32) == s);
    cr_assert(bin(&f, F_MUL, s, flt(&f, 1), T_F32) == s);
    cr_assert(bin(&f, F_DIV, s, flt(&f, 1), T_F32) == s);
    const Expr *zero = bin(&f, F_MUL, s, flt(&f, 0), T_F32);
    cr_assert(zero->kind == E_BINARY, "inf * 0 is not 0");
    cr_assert(bin(&f, F_SUB, s, s, T_F32)->kind == E_BINARY);
    cr_assert(bin(&f, F_SUB, flt(&f, 0), s, T_F32)->kind == E_BINARY);
    const Expr *id = read1(&f, f.ids, f.ii);
    is_num(bin(&f, F_MUL, id, i32(&f, 0), T_I32), 0, T_I32);
    const Expr *wide = bin(&f, F_ADD, f.xj, flt(&f, 0), T_F32);
    cr_assert(wide->type == T_F32, "the type is the one asked for");
    const Expr *neg = expr_unary(f.g, F_NEG, s, T_F32);
    cr_assert(expr_unary(f.g, F_NEG, neg, T_F32) == s);
    close_fix(&f);
}

Test(expr, logic_folds)
{
    Fix f = open_fix();
    const Expr *c = bin(&f, F_LT, f.xj, flt(&f, 1), T_BOOL);
    const Expr *yes = expr_const(f.g, 1, T_BOOL);
    const Expr *no = expr_const(f.g, 0, T_BOOL);
    cr_assert(bin(&f, F_AND, c, yes, T_BOOL) == c);
    cr_assert(bin(&f, F_OR, no, c, T_BOOL) == c);
    is_num(bin(&f, F_AND, c, no, T_BOOL), 0, T_BOOL);
    is_num(bin(&f, F_OR, c, yes, T_BOOL), 1, T_BOOL);
    close_fix(&f);
}

/* ---- casts */

Test(expr, casts_round_constants)
{
    Fix f = open_fix();
    is_num(expr_cast(f.g, flt(&f, 1.0 / 3), T_F16), 0x1.554p-2, T_F16);
    is_num(expr_cast(f.g, flt(&f, 65519), T_F16), 65504, T_F16);
    is_num(expr_cast(f.g, flt(&f, 65520), T_F16), INFINITY, T_F16);
    is_num(expr_cast(f.g, flt(&f, 0x1p-25), T_F16), 0, T_F16);
    is_num(expr_cast(f.g, flt(&f, 0x1.8p-24), T_F16), 0x1p-23, T_F16);
    is_num(expr_cast(f.g, flt(&f, 257), T_BF16), 256, T_BF16);
    is_num(expr_cast(f.g, flt(&f, 259), T_BF16), 260, T_BF16);
    is_num(expr_cast(f.g, flt(&f, -2.9), T_I32), -2, T_I32);
    is_num(expr_cast(f.g, flt(&f, 1e20), T_I32), INT_MAX, T_I32);
    is_num(expr_cast(f.g, flt(&f, -INFINITY), T_I8), -128, T_I8);
    is_num(expr_cast(f.g, flt(&f, NAN), T_I32), 0, T_I32);
    is_num(expr_cast(f.g, flt(&f, 0.25), T_BOOL), 1, T_BOOL);
    is_num(expr_cast(f.g, flt(&f, -INFINITY), T_F16), -INFINITY, T_F16);
    close_fix(&f);
}

Test(expr, casts_that_change_nothing_go)
{
    Fix f = open_fix();
    cr_assert(expr_cast(f.g, f.xj, T_F16) == f.xj);
    const Expr *up = expr_cast(f.g, f.xj, T_F32);
    cr_assert(up->kind == E_CAST && up->type == T_F32);
    cr_assert(expr_cast(f.g, up, T_F16) == f.xj, "f16 to f32 and back");
    const Expr *sum = bin(&f, F_ADD, f.xj, f.xj, T_F16);
    cr_assert(expr_cast(f.g, sum, T_F16)->kind == E_CAST,
              "arithmetic is in f32: a written cast rounds");
    const Expr *down = expr_cast(f.g, expr_local(f.g, 0, T_F32), T_F16);
    cr_assert(expr_cast(f.g, down, T_F32)->kind == E_CAST);
    cr_assert(expr_cast(f.g, down, T_F32)->arg[0] == down);
    close_fix(&f);
}

/* ---- indices as values */

Test(expr, index_arithmetic_is_one_index)
{
    Fix f = open_fix();
    IdxPool *p = f.g->pool;
    const Expr *e = bin(&f, F_ADD, bin(&f, F_MUL, f.i, i32(&f, 3), T_I32),
                        f.j, T_I32);
    cr_assert(e->kind == E_INDEX);
    cr_assert(e->idx == idx_add(p, idx_scale(p, f.ii, 3), f.ij));
    cr_assert(bin(&f, F_DIV, f.j, i32(&f, 7), T_I32)->idx ==
              idx_floor(p, f.ij, 7));
    cr_assert(bin(&f, F_MOD, f.j, i32(&f, 7), T_I32)->idx ==
              idx_mod(p, f.ij, 7));
    cr_assert(bin(&f, F_DIV, f.j, i32(&f, -7), T_I32)->idx ==
              idx_floor(p, idx_scale(p, f.ij, -1), 7));
    is_num(bin(&f, F_DIV, f.j, i32(&f, 0), T_I32), 0, T_I32);
    cr_assert(bin(&f, F_MIN, f.i, i32(&f, 100), T_I32)->idx == f.ii);
    is_num(bin(&f, F_SUB, f.j, f.j, T_I32), 0, T_I32);
    const Expr *big = bin(&f, F_MUL, f.j, i32(&f, 1 << 28), T_I32);
    cr_assert(big->kind == E_BINARY, "it would leave 32 bits");
    const Expr *real = bin(&f, F_MUL, f.j, flt(&f, 0.5), T_F32);
    cr_assert(real->kind == E_BINARY);
    is_num(expr_index(f.g, idx_const(p, 5)), 5, T_I32);
    close_fix(&f);
}

Test(expr, comparisons_that_ranges_decide_fold)
{
    Fix f = open_fix();
    is_num(bin(&f, F_LT, f.i, i32(&f, 8), T_BOOL), 1, T_BOOL);
    is_num(bin(&f, F_GE, f.i, i32(&f, 8), T_BOOL), 0, T_BOOL);
    is_num(bin(&f, F_EQ, f.i, i32(&f, 8), T_BOOL), 0, T_BOOL);
    is_num(bin(&f, F_NE, f.i, i32(&f, -1), T_BOOL), 1, T_BOOL);
    is_num(bin(&f, F_LE, f.i, f.i, T_BOOL), 1, T_BOOL);
    cr_assert(bin(&f, F_LT, f.j, i32(&f, 8), T_BOOL)->kind == E_BINARY);
    const Expr *c = bin(&f, F_LT, f.i, i32(&f, 8), T_BOOL);
    cr_assert(expr_select(f.g, c, f.xj, flt(&f, 0), T_F16) == f.xj);
    close_fix(&f);
}

/* ---- conditions */

static Guard guard_of(Fix *f, const Expr *e)
{
    Guard g = {0};
    cr_assert(expr_as_guard(f->g, e, &g));
    return g;
}

static void guard_is(Fix *f, const Expr *e, const char *want)
{
    Buf b = {0};
    guard_dump(&b, guard_of(f, e));
    cr_assert_str_eq(buf_text(&b), want);
    buf_free(&b);
}

Test(expr, affine_conditions_are_guards)
{
    Fix f = open_fix();
    const Expr *lt = bin(&f, F_LT, f.j, i32(&f, 50), T_BOOL);
    const Expr *ge = bin(&f, F_GE, f.j, f.i, T_BOOL);
    const Expr *even = bin(&f, F_EQ, bin(&f, F_MOD, f.j, i32(&f, 2), T_I32),
                           i32(&f, 0), T_BOOL);
    const Expr *two = bin(&f, F_EQ, bin(&f, F_MOD, f.j, i32(&f, 3), T_I32),
                          i32(&f, 2), T_BOOL);
    guard_is(&f, lt, "j < 50");
    guard_is(&f, bin(&f, F_AND, lt, ge, T_BOOL), "j < 50 && j >= i");
    guard_is(&f, even, "j % 2 == 0");
    guard_is(&f, two, "(j + 1) % 3 == 0");
    guard_is(&f, expr_unary(f.g, F_NOT, even, T_BOOL), "(j + 1) % 2 == 0");
    guard_is(&f, expr_unary(f.g, F_NOT, lt, T_BOOL), "j >= 50");
    guard_is(&f, bin(&f, F_EQ, f.j, i32(&f, 5), T_BOOL), "j >= 5 && j < 6");
    guard_is(&f, bin(&f, F_NE, f.j, i32(&f, 0), T_BOOL), "j >= 1");
    guard_is(&f, bin(&f, F_NE, f.j, i32(&f, 99), T_BOOL), "j < 99");
    const Expr *either = bin(&f, F_OR, lt, even, T_BOOL);
    Guard g = {0};
    cr_assert(!expr_as_guard(f.g, either, &g));
    const Expr *ten = bin(&f, F_MUL, f.i, i32(&f, 10), T_I32);
    const Expr *or_gt = bin(&f, F_OR, bin(&f, F_LT, f.j, i32(&f, 5), T_BOOL),
                            bin(&f, F_GT, f.j, ten, T_BOOL), T_BOOL);
    guard_is(&f, expr_unary(f.g, F_NOT, or_gt, T_BOOL),
             "j >= 5 && 10 * i >= j");
    cr_assert(!expr_as_guard(f.g, bin(&f, F_NE, f.j, i32(&f, 5), T_BOOL), &g));
    cr_assert(!expr_as_guard(f.g, bin(&f, F_LT, f.xj, flt(&f, 1), T_BOOL),
                             &g));
    cr_assert(guard_truth(guard_of(&f, expr_const(f.g, 1, T_BOOL))) == ALWAYS);
    cr_assert(guard_truth(guard_of(&f, expr_const(f.g, 0, T_BOOL))) == NEVER);
    const Expr *back = expr_of_guard(f.g, guard_of(&f, two));
    guard_is(&f, back, "(j + 1) % 3 == 0");
    close_fix(&f);
}

Test(expr, a_select_that_cannot_hold_folds)
{
    Fix f = open_fix();
    const Expr *a = bin(&f, F_LT, f.j, i32(&f, 50), T_BOOL);
    const Expr *b = bin(&f, F_GT, f.j, i32(&f, 60), T_BOOL);
    const Expr *both = bin(&f, F_AND, a, b, T_BOOL);
    const Expr *zero = expr_const(f.g, 0, T_F16);
    cr_assert(expr_select(f.g, both, f.xj, zero, T_F16) == zero);
    cr_assert(expr_select(f.g, a, f.xj, f.xj, T_F16) == f.xj);
    cr_assert(expr_select(f.g, a, f.xj, zero, T_F16)->kind == E_SELECT);
    close_fix(&f);
}

/* ---- reads and rewriting */

static const Expr *guarded(Fix *f)
{
    IdxPool *p = f->g->pool;
    const Idx *at = idx_addc(p, f->ij, -1);
    Guard in = guard_within(p, nothing, at, 0, 100);
    return expr_read(f->g, f->x, &at, in, expr_const(f->g, 0, T_F16));
}

Test(expr, reads_lose_guards_that_always_hold)
{
    Fix f = open_fix();
    const Expr *e = guarded(&f);
    cr_assert(e->in.n == 1 && e->outside);
    Subst s = {f.vj, idx_addc(f.g->pool, f.ii, 1)};
    const Expr *in = expr_subst(f.g, e, &s, 1);
    cr_assert(in->in.n == 0 && !in->outside);
    cr_assert(expr_equal(in, read1(&f, f.x, f.ii)));
    Subst never = {f.vj, idx_const(f.g->pool, 0)};
    is_num(expr_subst(f.g, e, &never, 1), 0, T_F16);
    close_fix(&f);
}

static const Expr *gather(Fix *f)
{
    const Expr *id = read1(f, f->ids, f->ii);
    return read1(f, f->x, idx_data(f->g->pool, id, 0, 99));
}

Test(expr, substitution_reaches_everything)
{
    Fix f = open_fix();
    IdxPool *p = f.g->pool;
    const Expr *e = bin(&f, F_ADD, gather(&f), f.i, T_F32);
    const Var *k = idx_new_var(p, "k", 8);
    Subst s = {f.vi, idx_var(p, k)};
    const Expr *to = expr_subst(f.g, e, &s, 1);
    cr_assert(expr_uses(e, f.vi) && !expr_uses(e, k));
    cr_assert(!expr_uses(to, f.vi) && expr_uses(to, k));
    text_is(to, "x[{ids[k]}] + k");
    cr_assert(expr_subst(f.g, f.xj, &s, 1) == f.xj, "unchanged is shared");
    Subst fixed = {f.vj, idx_const(p, 7)};
    const Expr *c = bin(&f, F_LT, f.j, i32(&f, 5), T_BOOL);
    const Expr *pick = expr_select(f.g, c, f.xj, flt(&f, 2), T_F32);
    is_num(expr_subst(f.g, pick, &fixed, 1), 2, T_F32);
    close_fix(&f);
}

static const Expr *double_ids(Graph *g, const Expr *e, void *ctx)
{
    const Fix *f = ctx;
    if (e->kind != E_READ || e->tensor != f->ids)
        return NULL;
    return expr_index(g, idx_scale(g->pool, f->ii, 2));
}

static void count_reads(const Expr *e, void *n)
{
    *(int *)n += e->kind == E_READ;
}

Test(expr, rewriting_and_visiting_reach_data)
{
    Fix f = open_fix();
    const Expr *e = expr_unary(f.g, F_EXP, gather(&f), T_F32);
    int n = 0;
    expr_visit(e, count_reads, &n);
    cr_assert(n == 2);
    text_is(expr_rewrite(f.g, e, double_ids, &f), "exp(x[2 * i])");
    text_is(e, "exp(x[{ids[i]}])");
    n = 0;
    expr_visit(guarded(&f), count_reads, &n);
    cr_assert(n == 1);
    close_fix(&f);
}

/* x[..] becomes a local, and locals get new numbers. */
static const Expr *renumber(Graph *g, const Expr *e, void *ctx)
{
    const Fix *f = ctx;
    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + 10, e->type);
    return e->kind == E_READ && e->tensor == f->x ? expr_local(g, 3, T_F32)
                                                  : NULL;
}

/* A cast that is none any more leaves its operand, which has its new number. */
Test(expr, what_is_left_of_a_rewritten_whole_is_not_rewritten_again)
{
    Fix f = open_fix();
    const Expr *in = expr_local(f.g, 5, T_F32);
    const Expr *x = expr_cast(f.g, f.xj, T_F32);
    text_is(expr_rewrite(f.g, x, renumber, &f), "#3");
    text_is(expr_rewrite(f.g, bin(&f, F_ADD, x, in, T_F32), renumber, &f),
            "#3 + #15");
    close_fix(&f);
}

Test(expr, shared_parts_are_rebuilt_once)
{
    Fix f = open_fix();
    const Expr *e = f.xj;
    for (int i = 0; i < 40; i++) /* 2^40 paths */
        e = bin(&f, F_ADD, e, e, T_F32);
    Subst s = {f.vj, idx_scale(f.g->pool, f.ii, 2)};
    cr_assert(expr_uses(e, f.vj) && !expr_uses(e, f.vi));
    cr_assert(expr_ops(e) == 40, "each sum counts once");
    const Expr *to = expr_subst(f.g, e, &s, 1);
    cr_assert(expr_equal(to, expr_subst(f.g, e, &s, 1)));
    for (int i = 0; i < 40; i++) {
        cr_assert(to->arg[0] == to->arg[1]);
        to = to->arg[0];
    }
    text_is(to, "x[2 * i]");
    close_fix(&f);
}

Test(expr, equality_is_structural)
{
    Fix f = open_fix();
    const Expr *a = bin(&f, F_MUL, f.xj, flt(&f, 2), T_F32);
    const Expr *b = bin(&f, F_MUL, read1(&f, f.x, f.ij), flt(&f, 2), T_F32);
    cr_assert(a != b && expr_equal(a, b));
    cr_assert(!expr_equal(a, bin(&f, F_MUL, f.xj, flt(&f, 3), T_F32)));
    cr_assert(!expr_equal(a, bin(&f, F_ADD, f.xj, flt(&f, 2), T_F32)));
    cr_assert(!expr_equal(flt(&f, 0), flt(&f, -0.0)));
    cr_assert(!expr_equal(flt(&f, 0), i32(&f, 0)));
    cr_assert(expr_equal(guarded(&f), guarded(&f)));
    cr_assert(!expr_equal(guarded(&f), f.xj));
    close_fix(&f);
}

Test(expr, functions_cost_more_than_sums)
{
    Fix f = open_fix();
    const Expr *sum = bin(&f, F_ADD, f.xj, f.xj, T_F32);
    const Expr *e = expr_unary(f.g, F_ERF, f.xj, T_F32);
    cr_assert(expr_ops(f.xj) == 0 && expr_ops(sum) == 1);
    cr_assert(expr_ops(e) > 8);
    close_fix(&f);
}

Test(expr, text)
{
    Fix f = open_fix();
    const Expr *s = bin(&f, F_ADD, f.xj, flt(&f, 1), T_F32);
    text_is(bin(&f, F_MUL, s, s, T_F32), "(x[j] + 1) * (x[j] + 1)");
    text_is(bin(&f, F_SUB, s, s, T_F32), "x[j] + 1 - (x[j] + 1)");
    text_is(expr_unary(f.g, F_NEG, s, T_F32), "-(x[j] + 1)");
    text_is(bin(&f, F_MAX, s, flt(&f, 0.1), T_F32), "max(x[j] + 1, 0.1)");
    text_is(guarded(&f), "x[j - 1] if j >= 1 or 0");
    text_is(bin(&f, F_MUL, f.xj, flt(&f, -2), T_F32), "x[j] * (-2)");
    text_is(expr_cast(f.g, s, T_F16), "f16(x[j] + 1)");
    const Expr *c = bin(&f, F_LT, f.j, i32(&f, 5), T_BOOL);
    text_is(expr_select(f.g, c, s, flt(&f, -INFINITY), T_F32),
            "j < 5 ? x[j] + 1 : -inf");
    text_is(expr_local(f.g, 3, T_F32), "#3");
    close_fix(&f);
}

/* ---- random integer and boolean expressions, by brute force */

enum { POINTS = 800, RAND_I = 8, RAND_J = 100 };

typedef struct Value {
    const Expr *e;
    int at[POINTS]; /* by i + 8 j */
} Value;

static int roll(uint64_t *seed, int lo, int hi)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (int)((*seed >> 33) % (uint64_t)(hi - lo + 1));
}

static int compute(Func fn, int a, int b)
{
    double x[2] = {a, b}, r = 0;
    cr_assert(fold_func(fn, true, x, &r));
    return (int)r;
}

static int eval(const Expr *e, const int64_t *v)
{
    int a = e->arg[0] ? eval(e->arg[0], v) : 0;
    int b = e->arg[1] ? eval(e->arg[1], v) : 0;
    if (e->kind == E_CONST)
        return (int)e->num;
    if (e->kind == E_INDEX)
        return (int)eval_idx(e->idx, v);
    if (e->kind == E_SELECT)
        return a ? b : eval(e->arg[2], v);
    return compute(e->fn, a, b);
}

static Value random_int(Fix *f, uint64_t *seed, int depth)
{
    static const Func fns[] = {F_ADD, F_SUB, F_MUL, F_DIV, F_MOD, F_MIN,
                               F_MAX, F_ADD, F_DIV, F_MOD};
    Value r;
    if (depth == 0) {
        int which = roll(seed, 0, 2), k = roll(seed, -3, 12);
        r.e = which == 0 ? f->i : which == 1 ? f->j : i32(f, k);
        for (int n = 0; n < POINTS; n++)
            r.at[n] = which == 0 ? n % RAND_I : which == 1 ? n / RAND_I : k;
        return r;
    }
    Func fn = fns[roll(seed, 0, 9)];
    Value a = random_int(f, seed, depth - 1);
    Value b = random_int(f, seed, roll(seed, 0, 2) ? 0 : depth - 1);
    r.e = bin(f, fn, a.e, b.e, T_I32);
    for (int n = 0; n < POINTS; n++)
        r.at[n] = compute(fn, a.at[n], b.at[n]);
    return r;
}

static Value random_bool(Fix *f, uint64_t *seed, int depth)
{
    Value r;
    Func fn = (Func)roll(seed, F_LT, F_NE);
    if (depth > 0)
        fn = roll(seed, 0, 3) ? F_AND : F_OR;
    Value a = depth ? random_bool(f, seed, depth - 1)
                    : random_int(f, seed, roll(seed, 0, 3));
    Value b = depth ? random_bool(f, seed, depth - 1)
                    : random_int(f, seed, roll(seed, 0, 1));
    r.e = bin(f, fn, a.e, b.e, T_BOOL);
    for (int n = 0; n < POINTS; n++)
        r.at[n] = compute(fn, a.at[n], b.at[n]);
    if (roll(seed, 0, 3))
        return r;
    r.e = expr_unary(f->g, F_NOT, r.e, T_BOOL);
    for (int n = 0; n < POINTS; n++)
        r.at[n] = !r.at[n];
    return r;
}

static void check_point(Fix *f, const Value *x, const Guard *g, int n)
{
    int64_t v[2] = {n % RAND_I, n / RAND_I};
    bool all = true;
    cr_assert(eval(x->e, v) == x->at[n]);
    for (int k = 0; g && k < g->n; k++) {
        int64_t c = eval_idx(g->cond[k].e, v), m = g->cond[k].mod;
        all &= m ? c % m == 0 : c >= 0;
    }
    cr_assert(!g || all == x->at[n]);
    if (g && n % 50 == 0)
        cr_assert(eval(expr_of_guard(f->g, *g), v) == all);
}

Test(expr, random_expressions_keep_their_values)
{
    int guards = 0;
    for (uint64_t k = 1; k <= 300; k++) {
        Fix f = open_fix();
        uint64_t seed = k;
        Value x = random_int(&f, &seed, roll(&seed, 1, 5));
        for (int n = 0; n < POINTS; n++)
            check_point(&f, &x, NULL, n);
        x = random_bool(&f, &seed, roll(&seed, 0, 2));
        Guard g;
        bool is = expr_as_guard(f.g, x.e, &g);
        for (int n = 0; n < POINTS; n++)
            check_point(&f, &x, is ? &g : NULL, n);
        guards += is;
        close_fix(&f);
    }
    cr_assert(guards > 100);
}

/* ---- functions */

Test(fold, every_function_has_a_name_and_an_arity)
{
    for (int f = 0; f < F_COUNT; f++) {
        cr_assert(func_name((Func)f) && func_name((Func)f)[0]);
        cr_assert(func_arity((Func)f) >= 1 && func_arity((Func)f) <= 3);
        double x[3] = {0.5, 0.25, 2}, out;
        if (f != F_MOD && f != F_RANDOM) /* the latter of integers alone */
            cr_assert(fold_func((Func)f, false, x, &out) || isnan(out));
    }
}

/* ---- graphs */

Test(graph, types)
{
    cr_assert(type_wider(T_F16, T_BF16) == T_F32);
    cr_assert(type_wider(T_I32, T_F16) == T_F16);
    cr_assert(type_wider(T_BOOL, T_I8) == T_I8);
    cr_assert(type_bytes(T_BF16) == 2 && type_is_float(T_BF16));
    cr_assert_str_eq(type_name(T_I8), "i8");
    cr_assert_str_eq(type_cname(T_F16), "__half");
}

Test(graph, tensors_are_row_major)
{
    Fix f = open_fix();
    Tensor *t = graph_tensor(f.g, "t", T_F16, 3, (int64_t[]){2, 3, 20});
    cr_assert(t->stride[0] == 60 && t->stride[1] == 20 && t->stride[2] == 1);
    cr_assert(t->span == 120 && tensor_elems(t) == 120 && t->align == 8);
    Tensor *s = graph_tensor(f.g, "s", T_F32, 0, NULL);
    cr_assert(s->span == 1 && tensor_elems(s) == 1 && s->align == 256);
    close_fix(&f);
}

Test(graph, dump)
{
    Arena *a = arena_new();
    Graph *g = graph_new(a, NULL, "mlp");
    IdxPool *p = g->pool;
    const Var *v[3] = {idx_new_var(p, "b", 128), idx_new_var(p, "j", 1024),
                       idx_new_var(p, "k", 512)};
    Tensor *x = graph_tensor(g, "x", T_F16, 2, (int64_t[]){128, 512});
    Tensor *w = graph_tensor(g, "w", T_F16, 2, (int64_t[]){1024, 512});
    Tensor *h = graph_tensor(g, "h", T_F32, 2, (int64_t[]){128, 1024});
    x->role = ROLE_INPUT;
    w->role = ROLE_PARAM;
    w->weight = "fc1.weight";
    const Idx *bk[] = {idx_var(p, v[0]), idx_var(p, v[2])};
    const Idx *jk[] = {idx_var(p, v[1]), idx_var(p, v[2])};
    const Idx *bj[] = {idx_var(p, v[0]), idx_var(p, v[1])};
    Source src = {.name = "mlp.dcl"};
    Stmt *s = graph_stmt(g);
    s->out = v;
    s->n_out = 2;
    s->red = v + 2;
    s->n_red = 1;
    s->op = R_SUM;
    s->value = expr_binary(g, F_MUL, expr_read(g, x, bk, nothing, NULL),
                           expr_read(g, w, jk, nothing, NULL), T_F32);
    s->tensor = h;
    s->store = bj;
    s->at = (Span){&src, 12, 3, 1};
    Buf b = {0};
    graph_dump(&b, g);
    cr_assert_str_eq(buf_text(&b),
                     "model mlp\n"
                     "  input  x : f16[128, 512]\n"
                     "  param  w : f16[1024, 512] = \"fc1.weight\"\n"
                     "  temp   h : f32[128, 1024]\n"
                     "s0  h[b, j] : f32 = sum(k) (x[b, k] * w[j, k])"
                     "   for b<128, j<1024; k<512   @ mlp.dcl:12\n");
    buf_free(&b);
    arena_free(a);
}
