/* test_range.c - between which bounds values lie, and in which parts products
 * of f32 factors are therefore. */
#include "compiler/rewrite/parts.h"
#include "compiler/rewrite/range.h"
#include "models.h"

#include <math.h>

static Graph *prepared(Fixture *f, const char *text)
{
    Graph *g = lowered(f, arena_printf(f->arena, "model m { %s }", text));

    simplified(g);
    normalise(g);
    return g;
}

static void bounds(double lo, double hi, const char *value)
{
    Fixture f = fixture();
    Graph *g = prepared(
        &f, arena_printf(
                f.arena,
                "input x : f32[6, 7]; input h : f16[7];"
                " input n : i32[7] in 2..9; input b : bool[7];"
                " p = softmax(x); c = softmax(x, axis = 0);"
                " m[i] = max(j) x[i, j]; z[i] = sum(j) exp(x[i, j] - m[i]);"
                " output y[i in 0..6, j in 0..7] : f32"
                " = %s;",
                value));
    Limits r = value_range(g, tensor_makers(g), g->stmt[g->n_stmt - 1]->value);

    cr_expect_eq(r.lo, lo, "%s: from %g, not %g", value, r.lo, lo);
    cr_expect_eq(r.hi, hi, "%s: to %g, not %g", value, r.hi, hi);
    arena_free(f.arena);
}

Test(range, of_values)
{
    bounds(-INFINITY, INFINITY, "x[i, j]");
    bounds(-INFINITY, INFINITY, "f32(h[j]) * x[i, j]");
    bounds(-1, 1, "tanh(x[i, j])");
    bounds(-3, 5, "1 - 4 * tanh(x[i, j])");
    bounds(0, 1, "sigmoid(x[i, j])");
    bounds(0, 1, "b[j] ? sigmoid(x[i, j]) : 0");
    bounds(2, 8, "n[j]");
    bounds(-8, 8, "n[j] * tanh(x[i, j])");
    bounds(0, INFINITY, "x[i, j] * x[i, j]");
    bounds(0, INFINITY, "exp(x[i, j])");
    bounds(0, 1, "exp(-abs(x[i, j]))");
    bounds(0, 1, "1 / (1 + exp(x[i, j]))");
    bounds(0, 35, "i * (j + 1.0) * (j > i ? 1 : 0)");
    bounds(-INFINITY, INFINITY, "1 / tanh(x[i, j])");
}

/* Of sums of terms that all are there, and of what is divided by them. */
Test(range, of_sums)
{
    bounds(0, 7, "z[i]");
    bounds(0.5 / 7, INFINITY, "0.5 / z[i]");
    bounds(-INFINITY, INFINITY, "x[i, j] / z[i]");
    bounds(0, INFINITY, "exp(x[i, j]) / z[i]");
}

/* Behind a network of products, all of which nobody looks at. */
Test(range, of_sums_behind_products)
{
    enum { LEVELS = 16 };
    Fixture f = fixture();
    const char *text = "input t0 : f32[6, 6];";

    for (int i = 0; i < LEVELS; i++)
        text = arena_printf(f.arena,
                            "%s t%d[i, j in 0..6] = sum(k) t%d[i, k] * t%d[k, j];",
                            text, i + 1, i, i);
    Graph *g = prepared(
        &f, arena_printf(f.arena,
                         "%s m[i] = max(j) t%d[i, j];"
                         " z[i] = sum(j) exp(t%d[i, j] - m[i]);"
                         " output y[i in 0..6] : f32 = 1 / z[i];",
                         text, LEVELS, LEVELS));
    Limits r = value_range(g, tensor_makers(g), g->stmt[g->n_stmt - 1]->value);

    cr_expect_eq(r.lo, 1.0 / 6, "from %g", r.lo);
    arena_free(f.arena);
}

/* One value among others: which one it is matters. */
Test(range, of_two_values)
{
    bounds(-INFINITY, 0, "x[i, j] - m[i]");
    bounds(0, 1, "exp(x[i, j] - m[i])");
    bounds(0, INFINITY, "exp(x[i, j] - 1 - m[i])");
    bounds(0, INFINITY, "exp(x[i, j] - m[j / 2])");
    bounds(0, 1, "exp(x[i, j] - max(m[i], h[j]))");
    bounds(0, INFINITY, "exp(m[i] - x[i, j])");
    bounds(0, 1, "c[i, j]");
    bounds(0, 1, "p[i, j]");
    bounds(0, 2, "p[i, j] * 2 * sigmoid(x[i, j])");
}

/* What the first product's factors are held as: "f16 2 scale" and so on, "" if
 * they stay. */
static void in_parts(const char *want, const char *text)
{
    Fixture f = fixture();
    Graph *g = prepared(&f, text);
    PartsWish wish = {.tf32 = true};
    const char *got = "";

    make_parts(g, &wish);
    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        if (t->parts)
            got = arena_printf(f.arena, "%s %lld%s%s", type_name(t->type),
                               (long long)t->dim[0], t->tf32 ? " tf32" : "",
                               t->when == WHEN_LOAD ? " load" : "");
    }
    cr_expect_str_eq(got, want, "%s: '%s', not '%s'", text, got, want);
    arena_free(f.arena);
}

Test(parts, kinds)
{
    in_parts("f16 2", "input x : f32[64, 80]; input v : f16[80, 64];"
                      " p = softmax(x);"
                      " output y[i, n] = sum(j) p[i, j] * v[j, n];");
    in_parts("bf16 3", "input x : f32[64, 80]; input v : bf16[80, 64];"
                       " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("bf16 2", "input x : bf16[64, 80]; input c : bf16[80];"
                       " input v : bf16[80, 64];"
                       " output y[i, n] = sum(j) x[i, j] * c[j] * v[j, n];");
    in_parts("bf16 3 load", "param x : f32[64, 80]; input v : bf16[80, 64];"
                            " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("bf16 3", "input x : f32[64, 80]; input v : bool[80, 64];"
                       " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("f16 2", "input x : f32[64, 80]; input v : i8[80, 64];"
                      " output y[i, n] ="
                      " sum(j) (x[i, j] > 0 ? 0.3 : 1.0) * v[j, n];");
    /* all that is summed may be small, beside what its values may be */
    in_parts("bf16 3", "input x : f32[64, 80]; input v : i8[80, 64];"
                       " output y[i, n] = sum(j) tanh(x[i, j]) * v[j, n];");
    in_parts("f32 2 tf32", "input x : f32[80, 64]; input v : f16[80, 64];"
                           " p = softmax(x);"
                           " output y[i, n] = sum(j) p[j, i] * v[j, n];");
    in_parts("f32 2 tf32", "input x : f32[64, 80]; input v : f16[80, 64];"
                           " p = softmax(x); output y[i, n] ="
                           " sum(j in 0..64) p[i, j] * v[j, n];");
    in_parts("f32 2 tf32", "input x : f32[64, 80]; input v : f16[80, 64];"
                           " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("", "input x : f32[63, 80]; input v : f16[80, 64];"
                 " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("", "input x : f32[64, 80]; input v : f32[80, 64];"
                 " p = softmax(x);"
                 " output y[i, n] = sum(j) p[i, j] * v[j, n];");
    in_parts("", "input x : f16[64, 80]; input v : f16[80, 64];"
                 " output y[i, n] = sum(j) x[i, j] * v[j, n];");
    in_parts("", "input x : f32[64, 80]; input v : f16[80, 63];"
                 " p = softmax(x);"
                 " output y[i, n] = sum(j) p[i, j] * v[j, n];");
}

/* A factor of rows or columns alone is none of the sum's; one along it goes to
 * the smaller side. */
Test(parts, of_three_factors)
{
    Fixture f = fixture();
    Graph *g = prepared(&f, "input a : f16[300, 80]; input b : f16[256, 80];"
                            " input c : f16[80]; output y[i, k] ="
                            " sum(j) a[i, j] * c[j] * b[k, j];");

    cr_expect_eq(make_parts(g, &(PartsWish){.tf32 = true}).tf32, 1);
    for (int i = 0; i < g->n_tensor; i++)
        if (g->tensor[i]->parts)
            cr_expect_eq(g->tensor[i]->dim[1], 256);
    in_parts("", "input a : f16[300, 80]; input b : f16[256, 80];"
                 " input r : f16[300]; output y[i, k] ="
                 " sum(j) a[i, j] * r[i] * b[k, j];");
    in_parts("", "input a : f16[300, 80]; input b : f16[256, 80];"
                 " input r : f16[256]; output y[i, k] ="
                 " sum(j) r[k] * a[i, j] * b[k, j];");
    arena_free(f.arena);
}

/* Products that a chain has stay as they are; a plan brings parts back. */
Test(parts, beside_chains)
{
    Fixture f = fixture();
    const char *text =
        "model m { input q : f16[2, 512, 64]; input v : f16[2, 512, 64];"
        " input w : f16[2, 512, 1024];"
        " s[b, i, j] : f32 = sum(d) q[b, i, d] * q[b, j, d];"
        " p = softmax(s); output o[b, i, d] = sum(j) p[b, i, j] * v[b, j, d];"
        " t[b, i, j] : f32 = sum(d) q[b, i, d] * v[b, j, d];"
        " r = softmax(t); output u[b, i, n] = sum(j) r[b, i, j] * w[b, j, n];"
        " }";
    CompileOptions o = compile_options(&f);
    Report r = {0};
    int chains = 0, parts = 0;

    o.want_plan = true;
    CudaProgram *p = compiled(&f, text, &r, &o);
    cr_assert(p, "%s", diag_text(f.diag));
    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        chains += gr->chain != NULL;
        for (int k = 0; k < gr->n_cols; k++)
            parts += !strcmp(gr->cols[k]->name, "part");
    }
    cr_expect_eq(chains, 1, "%d chains", chains);
    cr_expect_eq(parts, 1, "%d products in parts", parts);
    o.plan_name = "plan";
    o.plan_text = buf_text(&r.plan);
    o.plan_len = r.plan.len;
    Report again = {0};
    CudaProgram *q = compiled(&f, text, &again, &o);
    cr_assert(q, "%s", diag_text(f.diag));
    cr_expect_eq(q->n_run, p->n_run);
    cr_expect_str_eq(buf_text(&again.plan), buf_text(&r.plan));
    arena_free(f.arena);
}
