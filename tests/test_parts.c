/* Definitions of parts and stores where data say, against loops in C: what is
 * accepted means what the loop means, and what a loop shows to be wrong is
 * refused. */
#include "dsl/dsl.h"
#include "graph_eval.h"
#include "lower/lower.h"
#include "support/arena.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Made {
    Arena *arena;
    Diag *diag;
    Graph *graph; /* NULL: refused */
} Made;

static Made make(const char *text)
{
    Made m = {.arena = arena_new()};

    m.diag = diag_new(m.arena);
    const Source *s = diag_source(m.diag, "t.dcl", text, strlen(text));
    Program *p = dsl_parse(m.arena, m.diag, &s, 1);
    if (!diag_errors(m.diag) && dsl_check(m.arena, m.diag, p, true))
        m.graph = lower_model(m.arena, m.diag, p, NULL, NULL, 0);
    return m;
}

/* ---- random parts */

enum { TRIES = 800, MOST = 3 };

typedef struct RandomPart {
    int extent[MOST], n;  /* indices */
    int k[2], c[2][MOST]; /* of each dimension */
} RandomPart;

typedef struct Random {
    RandomPart part[MOST];
    int n, rank;
    bool base;
    int dim[2];
    unsigned seed;
} Random;

static int draw(Random *r, int n)
{
    r->seed = r->seed * 1664525u + 1013904223u;
    return (int)((r->seed >> 12) % (unsigned)n);
}

static RandomPart draw_part(Random *r)
{
    static const int coefs[] = {0, 1, 1, 1, 2, 2, 3, 4, -1, -2, 6, 8};
    RandomPart p = {.n = 1 + draw(r, MOST)};

    for (int i = 0; i < p.n; i++)
        p.extent[i] = 1 + draw(r, 4);
    for (int d = 0; d < r->rank; d++) {
        p.k[d] = draw(r, 3) ? draw(r, 5) : 0;
        for (int i = 0; i < p.n; i++) {
            p.c[d][i] = coefs[draw(r, 12)];
            if (p.c[d][i] < 0)
                p.k[d] -= p.c[d][i] * (p.extent[i] - 1);
        }
    }
    return p;
}

/* Neighbours of what an earlier part defines are likelier to fit. */
static RandomPart draw_beside(Random *r, const RandomPart *q)
{
    RandomPart p = *q;
    int d = draw(r, r->rank), i = draw(r, p.n);

    p.k[d] += draw(r, 2) ? 1 + draw(r, 2) : abs(p.c[d][i]) * p.extent[i];
    return p;
}

static int at(const RandomPart *p, int d, const int *v)
{
    int x = p->k[d];

    for (int i = 0; i < p->n; i++)
        x += p->c[d][i] * v[i];
    return x;
}

static bool next(const RandomPart *p, int *v)
{
    for (int i = p->n - 1; i >= 0; i--) {
        if (++v[i] < p->extent[i])
            return true;
        v[i] = 0;
    }
    return false;
}

static void draw_program(Random *r, unsigned seed)
{
    *r = (Random){.seed = seed};
    r->rank = 1 + draw(r, 2);
    r->n = 1 + draw(r, MOST);
    r->base = draw(r, 3) == 0;
    for (int i = 0; i < r->n; i++)
        r->part[i] = i && draw(r, 4) ? draw_beside(r, &r->part[draw(r, i)])
                                     : draw_part(r);
    for (int d = 0; d < 2; d++)
        r->dim[d] = 1;
    for (int i = 0; i < r->n; i++) {
        int v[MOST] = {0};
        do
            for (int d = 0; d < r->rank; d++)
                if (at(&r->part[i], d, v) >= r->dim[d])
                    r->dim[d] = at(&r->part[i], d, v) + 1;
        while (next(&r->part[i], v));
    }
}

static void print_program(const Random *r, Buf *b)
{
    static const char *const name[] = {"i", "j", "k"};

    buf_puts(b, "model m {\n");
    for (int i = 0; i < r->n; i++) {
        buf_printf(b, "  input x%d : f32[", i);
        for (int j = 0; j < r->part[i].n; j++)
            buf_printf(b, "%s%d", j ? ", " : "", r->part[i].extent[j]);
        buf_puts(b, "];\n");
    }
    if (r->base)
        buf_printf(b,
                   r->rank == 2 ? "  t : f32[%d, %d] = 0;\n"
                                : "  t : f32[%d] = 0;\n",
                   r->dim[0], r->dim[1]);
    for (int i = 0; i < r->n; i++) {
        const RandomPart *p = &r->part[i];
        buf_puts(b, "  t[");
        for (int d = 0; d < r->rank; d++) {
            buf_printf(b, "%s%d", d ? ", " : "", p->k[d]);
            for (int j = 0; j < p->n; j++)
                if (p->c[d][j])
                    buf_printf(b, " + %d * %s", p->c[d][j], name[j]);
        }
        buf_printf(b, "] = x%d[", i);
        for (int j = 0; j < p->n; j++)
            buf_printf(b, "%s%s", j ? ", " : "", name[j]);
        buf_puts(b, "];\n");
    }
    buf_puts(b, "  output y = t;\n}\n");
}

/* What the loops store, by input number and place; false where an element is
 * defined twice or, without a base, never. */
static bool loops(const Random *r, double *t)
{
    int all = r->dim[0] * r->dim[1], have = 0;
    double value = 1;
    bool twice = false;

    for (int i = 0; i < all; i++)
        t[i] = 0;
    for (int i = 0; i < r->n; i++) {
        const RandomPart *p = &r->part[i];
        int v[MOST] = {0};
        do {
            int to = at(p, 0, v);
            if (r->rank == 2)
                to = to * r->dim[1] + at(p, 1, v);
            twice |= t[to] != 0;
            t[to] = value++;
            have++;
        } while (next(p, v));
    }
    return !twice && (r->base || have == all);
}

static void expect_same(const Made *m, const double *want, const char *text)
{
    GraphEval g;

    ge_open(&g, m->graph);
    cr_assert(ge_run(&g), "%s", text);
    const Tensor *y = m->graph->output[0];
    for (int64_t i = 0; i < tensor_elems(y); i++)
        cr_assert(g.data[y->id][i] == want[i], "element %d of %s%s",
                           (int)i, text, diag_text(m->diag));
}

/* What is accepted is right; of what is right, most is accepted. */
Test(parts, random)
{
    int right = 0, accepted = 0;
    static double want[1 << 16];

    for (unsigned seed = 1; seed <= TRIES; seed++) {
        Random r;
        Buf b = {0};
        draw_program(&r, seed);
        if ((long)r.dim[0] * r.dim[1] > 1 << 16)
            continue;
        print_program(&r, &b);
        bool good = loops(&r, want);
        Made m = make(buf_text(&b));
        cr_assert(good || !m.graph, "accepted:\n%s", buf_text(&b));
        cr_assert(m.graph || diag_errors(m.diag), "%s", buf_text(&b));
        if (m.graph)
            expect_same(&m, want, buf_text(&b));
        if (getenv("DCC_SHOW") && good && !m.graph)
            printf("%s%s", buf_text(&b), diag_text(m.diag));
        right += good;
        accepted += m.graph != NULL;
        arena_free(m.arena);
        buf_free(&b);
    }
    cr_expect_gt(right, TRIES / 20, "%d", right);
    cr_expect_gt(accepted, right * 8 / 10, "%d of %d", accepted, right);
}

/* ---- stores where data say */

/* Data: ids = 1 2 3 .. as inputs come, folded by the program itself. */
static void expect_scatter(const char *text, const double *want, int n)
{
    Made m = make(text);

    cr_assert_not_null(m.graph, "%s", diag_text(m.diag));
    cr_assert_eq(tensor_elems(m.graph->output[0]), n);
    expect_same(&m, want, text);
    arena_free(m.arena);
}

Test(parts, scatter)
{
    double want[64];

    /* ids are 1 .. 7, x 8 .. 14: places (3 id) % 5, of equal ones the last */
    for (int i = 0; i < 5; i++)
        want[i] = -1;
    for (int i = 0; i < 7; i++)
        want[3 * (i + 1) % 5] = 8 + i;
    expect_scatter("model m { input ids : i32[7]; input x : f32[7];\n"
                   "  t : f32[5] = -1; t[3 * ids[i] % 5] = x[i];\n"
                   "  output y = t; }",
                   want, 5);
    for (int i = 0; i < 5; i++)
        want[i] = -1;
    for (int i = 0; i < 7; i++)
        want[3 * (i + 1) % 5] += 8 + i;
    expect_scatter("model m { input ids : i32[7]; input x : f32[7];\n"
                   "  t : f32[5] = -1; t[3 * ids[i] % 5] += x[i];\n"
                   "  output y = t; }",
                   want, 5);
    /* places outside are not stored */
    for (int i = 0; i < 5; i++)
        want[i] = -1;
    for (int i = 0; i < 7; i++)
        if (i + 1 >= 3)
            want[i + 1 - 3] = 8 + i;
    expect_scatter("model m { input ids : i32[7] in 0..99; input x : f32[7];\n"
                   "  t : f32[5] = -1; t[ids[i] - 3] = x[i];\n"
                   "  output y = t; }",
                   want, 5);
    /* the order of the text: i before j, whatever the value does */
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++)
            want[b * 3 + i] = 0;
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2; j++)
                want[b * 3 + (1 + b * 6 + i * 2 + j) / 2 % 3] =
                    13 + j * 6 + i * 2 + b;
    expect_scatter("model m { input p : i32[2, 3, 2]; input x : f32[2, 3, 2];\n"
                   "  t : f32[2, 3] = 0;\n"
                   "  t[b, p[b, i, j] / 2 % 3] = x[j, i, b];\n"
                   "  output y = t; }",
                   want, 6);
    /* sums of what overlaps, over what was there */
    for (int i = 0; i < 6; i++)
        want[i] = i;
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 3; r++)
            want[i + r] += 1 + i * 3 + r;
    expect_scatter("model m { input x : f32[4, 3];\n"
                   "  t[i in 0..6] : f32 = i; t[i + r] += x[i, r];\n"
                   "  output y = t; }",
                   want, 6);
    /* all of a tensor, and what comes to be beside it; a range of a loop's */
    for (int i = 0; i < 3; i++)
        want[i] = 1 + i;
    for (int i = 0; i < 4; i++)
        want[3 + i] = 2 * (4 + i);
    expect_scatter("model m { input x : f32[3]; input z : f32[4];\n"
                   "  t[i] = x[i]; t[i in 3..7] = 2 * z[i - 3];\n"
                   "  output y = t; }", want, 7);
    for (int i = 0; i < 12; i++)
        want[i] = 3 * (i + 1);
    expect_scatter("model m { input x : f32[6, 2];\n"
                   "  for g in 0..3 { t[j in 2 * g..2 * g + 2, i] ="
                   " 3 * x[j, i]; }\n"
                   "  output y = t; }", want, 12);
    /* one after the other */
    for (int i = 0; i < 6; i++)
        want[i] = 0;
    for (int i = 0; i < 3; i++)
        want[2 * i] += 1 + i;
    want[1] = want[0] + want[2];
    for (int i = 0; i < 3; i++)
        want[i] += 1 + i;
    expect_scatter("model m { input x : f32[3];\n"
                   "  t : f32[6] = 0; t[2 * i] += x[i]; t[1] = t[0] + t[2];\n"
                   "  t[i in 0..3] += x[i]; output y = t; }",
                   want, 6);
}

/* ---- ranges that depend on indices outside */

Test(parts, ranges)
{
    double want[64];

    for (int i = 0; i < 7; i++) {
        want[i] = 0;
        for (int k = i; k < 7 - i % 2; k++)
            want[i] += k + 1;
    }
    expect_scatter("model m { input x : f32[7];\n"
                   "  output y[i in 0..7] = sum(k in i..7 - i % 2) x[k]; }",
                   want, 7);
    for (int i = 0; i < 7; i++)
        want[i] = i < 3 ? -INFINITY : i - 2;
    expect_scatter("model m { input x : f32[7];\n"
                   "  output y[i in 0..7] = max(k in 0..i - 2) x[k]; }",
                   want, 7);
    for (int i = 0; i < 4; i++) {
        want[i] = 0;
        for (int j = i; j < 4; j++)
            for (int k = 0; k <= j; k++)
                want[i] += 1 + j * 4 + k;
    }
    expect_scatter("model m { input x : f32[4, 4];\n  output y[i in 0..4] = "
                   "sum(j in i..4, k in 0..j + 1) x[j, k]; }", want, 4);
}
