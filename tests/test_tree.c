/* The tree of a kernel: what is parsed is printed again, whatever its layout;
 * what the passes take out, and what they leave alone. */
#include "emit/cprint.h"
#include "emit/tree_pass.h"
#include "emit/tree_quote.h"

#include <criterion/criterion.h>

typedef struct Known {
    const char *name;
    int64_t lo, hi;
} Known;

static const Known known[] = {
    {"ONE", 1, 1},    {"FOUR", 4, 4},  {"TILES", 96, 96},
    {"blockIdx.x", 0, 95}, {"gridDim.x", 96, 96}, {"threadIdx.x", 0, 127},
};

static Facts facts(Arena *a)
{
    Facts f = {.arena = a};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Range r = range_of(known[i].lo, known[i].hi);
        r.wraps = strchr(known[i].name, '.') != NULL;
        facts_add(&f, known[i].name, r);
    }
    return f;
}

static void expect(const char *from, const char *to, bool improve)
{
    Arena *a = arena_new();
    Facts f = facts(a);
    Buf b = {0};
    Tree *t = tree_parse(a, from, "a test");

    if (improve)
        tree_improve(t, &f);
    tree_print(&b, t);
    cr_expect_str_eq(buf_text(&b), to, "from:\n%sgot:\n%swant:\n%s", from,
                     buf_text(&b), to);
    buf_free(&b);
    arena_free(a);
}

static void becomes(const char *from, const char *to)
{
    expect(from, to, true);
}

static void stays(const char *text)
{
    expect(text, text, true);
}

Test(tree, printed_as_parsed)
{
    static const char *const texts[] = {
        "int a = 1, *b = &c[2];\n",
        "for (int i = 0; i < 4; ++i)\n    f(i);\n",
        "for (;;) {\n    g();\n    break;\n}\n",
        "if (a < b && c<4>(d)) {  // why\n    f();\n} else {  // else\n"
        "    g();\n}\n",
        "if (a)\n    f();\nelse if (b)\n    g();\nelse\n    h();\n",
        "#pragma unroll\nfor (int i = 0; i < N; ++i)\n    #pragma unroll 2\n"
        "    for (int j = 0; j < N; ++j)\n        acc[i][j] += x[i] * y[j];\n",
        "// a comment\n\nauto f = [&](int i, int j = 0) {\n    g(i, j);\n};\n",
        "dcc_leap<P, L>([&](int k) {\n    g(k);\n});\n",
        "struct s {\n    int x;\n};\n",
        "float (*const sums)[BN + 8] = reinterpret_cast<float (*)[BN + 8]>(p);"
        "\n",
        "while (x > 0) {\n    --x;\n}\n",
        "{\n    int x = f('\\'', \"a // b\\\"\");\n}\n",
        "const float h[2] = {low[h], 1.0e-5f};  // two\n",
        "x->y = a ? -b : !c;\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect(texts[i], texts[i], false);
}

Test(tree, layout_is_the_printers)
{
    expect("f(\n    a,\n  b[1]\n   [2]);\n", "f(a, b[1][2]);\n", false);
    expect("if (a) { f(); } else { g(); }",
           "if (a) {\n    f();\n} else {\n    g();\n}\n", false);
    expect("x = a\n    + b;  // sum\n\n\n\ny = 1;", "x = a + b;  // sum\n\ny = 1;\n",
           false);
}

Test(tree, loops_of_one_trip)
{
    becomes("#pragma unroll\nfor (int i = 0; i < ONE; ++i)\n"
            "    acc[i * 32 + lane] += a[i / 2 % 2][4 + i];\n",
            "acc[lane] += a[0][4];\n");
    becomes("for (int tile = blockIdx.x; tile < TILES; tile += gridDim.x)\n"
            "    f(tile);\n",
            "const int tile = blockIdx.x;\nf(tile);\n");
    becomes("for (int t = threadIdx.x; t < 100; t += 128)\n    f(t);\n",
            "const int t = threadIdx.x;\nif (t < 100)\n    f(t);\n");
    becomes("for (int i = FOUR; i < FOUR; ++i)\n    f(i);\ng();\n", "g();\n");
    becomes("for (int i = 0; i < 8; i += 8) {\n"
            "    if (m + i >= M)\n        continue;\n    f(i, (i + 1) * 2);\n}\n",
            "if (m < M) {\n    f(0, 2);\n}\n");
    becomes("for (int i = 0; i < 1; ++i) {\n"
            "    if (m >= M || n == 2)\n        continue;\n    f();\n}\n",
            "if (m < M && n != 2) {\n    f();\n}\n");
}

Test(tree, loops_that_fall)
{
    becomes("for (int i = 0; i >= 0; --i) {\n    if (i > 0)\n        g(i);\n"
            "    f(i + 1);\n}\n",
            "f(1);\n");
    becomes("for (int i = 0; i > 0; i--)\n    f(i);\ng();\n", "g();\n");
    becomes("for (int i = FOUR; i >= 0; --i)\n    if (i < 5 && i >= 0)\n"
            "        f(i);\n",
            "for (int i = FOUR; i >= 0; --i)\n    f(i);\n");
    becomes("for (int i = FOUR; i < 8; --i)\n    if (i >= 4)\n"
            "        f(i);\n",
            "for (int i = FOUR; i < 8; --i)\n    if (i >= 4)\n"
            "        f(i);\n");
}

Test(tree, signs_stay_apart)
{
    becomes("for (int i = 0; i < 1; ++i)\n    f(-(-(a + i)), -(i), -(-(i)));\n",
            "f(-(-a), 0, 0);\n");
}

Test(tree, loops_that_stay)
{
    stays("for (int i = 0; i < 2; ++i)\n    f(i);\n");
    stays("for (int i = 0; i < n; ++i)\n    f(i);\n");
    stays("for (int i = 0; i < ONE; ++i) {\n    i += g();\n}\n");
    stays("for (int i = 0; i < ONE; ++i) {\n    if (a) {\n        f(i);\n"
          "        break;\n    }\n    g();\n}\n");
    stays("for (int t = threadIdx.x; t < 200; t += 128)\n    f(t);\n");
    /* i goes as far as its own limit says, whatever else is asked for */
    stays("for (int i = 0; i < 20 && on(); ++i)\n    if (i < 10)\n"
          "        f(i);\n");
    stays("for (int i = 0; i < 20 || on(); ++i)\n    if (i < 30)\n"
          "        f(i);\n");
    /* an unsigned may wrap, an int overflow */
    stays("if (threadIdx.x - 1 < 200)\n    f();\n");
    stays("for (int i = 1; i < 5; i += 2147483647)\n    f(i);\n");
}

Test(tree, names_stay_unique)
{
    becomes("for (int i = 0; i < 1; ++i) {\n    const int m = f(i);\n"
            "    use(m);\n}\nfor (int j = 0; j < 1; ++j) {\n"
            "    const int m = g(j);\n    use(m);\n}\n",
            "const int m = f(0);\nuse(m);\nconst int m_1 = g(0);\n"
            "use(m_1);\n");
    becomes("int m = f();\nif (ONE == 1) {\n    const int m = g();\n"
            "    use(m);\n}\nuse(m);\n",
            "int m = f();\nconst int m_1 = g();\nuse(m_1);\nuse(m);\n");
    becomes("for (int k = 0; k < 9; ++k) {\n    if (true) {\n"
            "        const int k = g();\n        use(k);\n    }\n}\n",
            "for (int k = 0; k < 9; ++k) {\n    const int k_1 = g();\n"
            "    use(k_1);\n}\n");
}

/* A name means another thing before its declaration than after. */
Test(tree, renamed_from_the_declaration_on)
{
    becomes("int c = f();\nfor (int i = 0; i < 1; ++i) {\n    use(c);\n"
            "    int c = g();\n    use(c);\n}\nuse(c);\n",
            "int c = f();\nuse(c);\nint c_1 = g();\nuse(c_1);\nuse(c);\n");
    becomes("if (a < b) {\n    const int n = 0;\n} else {\n    f();\n}\n",
            "if (a >= b) {\n    f();\n}\n");
}

Test(tree, conditions)
{
    becomes("if (threadIdx.x < 128 && a < b)\n    f();\n",
            "if (a < b)\n    f();\n");
    becomes("if (FOUR > 8)\n    f();\nelse\n    g();\n", "g();\n");
    becomes("const int row = threadIdx.x / 32;\nif (row < 4)\n    f(row);\n",
            "const int row = threadIdx.x / 32;\nf(row);\n");
    becomes("// only then\nif (FOUR == 5)  // never\n    f();\n", "");
    becomes("if ((a < b && c))\n    f();\nif ((a) < (b))\n    f();\n",
            "if (a < b && c)\n    f();\nif ((a) < (b))\n    f();\n");
    becomes("auto f = [&](int (&to)[FOUR], int ONE) {\n"
            "    if (FOUR > 3)\n        g(to, ONE > 0);\n};\nf(a, 2);\n",
            "auto f = [&](int (&to)[FOUR], int ONE) {\n"
            "    g(to, ONE > 0);\n};\nf(a, 2);\n");
    stays("if (threadIdx.x < 127)\n    f();\n");
    stays("int row = threadIdx.x / 32;\nstep(row);\nif (row < 4)\n"
          "    f(row);\n");
}

Test(tree, what_nothing_reads)
{
    becomes("const int a = x + 1;\nconst float b = a * 2.0f;\nf();\n",
            "f();\n");
    becomes("int before = 0;\nfor (int i = 0; i < 9; ++i) {\n    f(i);\n"
            "    before = i;\n}\n",
            "for (int i = 0; i < 9; ++i) {\n    f(i);\n}\n");
    becomes("int step = 0;\nf(step + 1);\nstep += 4;\n", "f(1);\n");
    becomes("int a = g(), b = 2, c = 3;\nf(a, &c);\n",
            "int a = g(), c = 3;\nf(a, &c);\n");
    becomes("auto f = [&](int i) {\n    g(i);\n};\nh();\n", "h();\n");
    stays("const bool last = dcc_last_of(n);\nf();\n");
    stays("int slot = 0;\ndcc_next_slot<4>(slot);\nf(slot + 1);\n");
    stays("int n = 0;\nfor (int i = 0; i < 9; ++i) {\n    f(n + 1);\n"
          "    n += 4;\n}\n");
}

Test(tree, contraries)
{
    static const char *const pairs[][2] = {
        {"a < b", "a >= b"},           {"a == b + 1", "a != b + 1"},
        {"!a", "a"},                   {"!(a && b)", "a && b"},
        {"a && b", "!(a && b)"},       {"f<3>(a)", "!(f<3>(a))"},
        {"a >= b || c", "a < b && !c"}, {"a & 1", "!(a & 1)"},
    };
    Arena *a = arena_new();

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Buf b = {0};
        code_print(&b, code_negate(a, code_parse(a, pairs[i][0], "a test")));
        cr_expect_str_eq(buf_text(&b), pairs[i][1]);
        buf_free(&b);
    }
    arena_free(a);
}

static void asks(const char *from, const char *to)
{
    Arena *a = arena_new();
    Buf b = {0};
    Tree *t = tree_parse(a, from, "a test");

    pass_asked(a, t);
    tree_print(&b, t);
    cr_expect_str_eq(buf_text(&b), to, "got:\n%swant:\n%s", buf_text(&b), to);
    buf_free(&b);
    arena_free(a);
}

Test(tree, what_is_asked_often)
{
    static const char *const left_alone[] = {
        /* twice; of memory; one that changes; another member; short */
        "const int x = i + j < 3 ? a : b;\nconst int y = i + j < 3 ? c : d;\n",
        "x = a[i] + j < 3 ? 1 : 2;\ny = a[i] + j < 3 ? 1 : 2;\n"
        "z = a[i] + j < 3 ? 1 : 2;\n",
        "x = i + j < 3 ? 1 : 2;\ny = i + j < 3 ? 1 : 2;\n++i;\n"
        "z = i + j < 3 ? 1 : 2;\n",
        "x = p.i + j < 3 ? 1 : 2;\ny = p.i + j < 3 ? 1 : 2;\n"
        "z = p.i + j < 3 ? 1 : 2;\n",
        "x = i < 3 ? 1 : 2;\ny = i < 3 ? 1 : 2;\nz = i < 3 ? 1 : 2;\n",
    };

    for (size_t i = 0; i < sizeof left_alone / sizeof *left_alone; i++)
        asks(left_alone[i], left_alone[i]);
    asks("int inside = 0;\nx = i + j < 3 ? f(i + j < 3 ? 1 : 0) : 2;\n"
         "y = g(1, i + j < 3 ? 1 : 2);\n",
         "int inside = 0;\nconst bool inside_1 = i + j < 3;\n"
         "x = inside_1 ? f(inside_1 ? 1 : 0) : 2;\n"
         "y = g(1, inside_1 ? 1 : 2);\n");
    asks("if (p)\n    x = (i + j < 3 ? 1 : 2) + (i + j < 3 ? i + j < 3 ? 3 : 4 : 5);\n"
         "x = i + k < 3 ? 1 : 2;\ny = i + k < 3 ? 1 : 2;\n"
         "z = i + k < 3 ? 1 : 2;\n",
         "if (p) {\n    const bool inside = i + j < 3;\n"
         "    x = (inside ? 1 : 2) + (inside ? inside ? 3 : 4 : 5);\n}\n"
         "const bool inside_1 = i + k < 3;\nx = inside_1 ? 1 : 2;\n"
         "y = inside_1 ? 1 : 2;\nz = inside_1 ? 1 : 2;\n");
    asks("const bool in = i + j < 3;\nx = i + j < 3 ? 1 : 2;\n",
         "const bool in = i + j < 3;\nx = in ? 1 : 2;\n");
}

static void quotes(const char *text, const Fill *fill, int n, const char *to)
{
    Arena *a = arena_new();
    Buf b = {0};

    tree_print(&b, tree_quote(a, text, fill, n));
    cr_expect_str_eq(buf_text(&b), to, "got:\n%swant:\n%s", buf_text(&b), to);
    buf_free(&b);
    arena_free(a);
}

Test(tree, quotations)
{
    Arena *a = arena_new();
    Tree *body = tree_parse(a, "// each\nf(i);\n", "a test");
    const Fill loop[] = {FILL("i", "row"), FILL("n", "ROWS"),
                         FILL_TREE("BODY", body)};
    const Fill names[] = {FILL("X", "x"), FILL("T", "float"),
                          FILL("MORE", ", int &m0"), FILL("NONE", ""),
                          FILL("AT", "slice * BM + ")};

    quotes("for (int @i = 0; @i < @n; ++@i) {\n    @BODY\n}\n", loop, 3,
           "for (int row = 0; row < ROWS; ++row) {\n    // each\n    f(i);\n"
           "}\n");
    quotes("@T@ @X@_ring[2];  // of @X@\n@NONE@\nload_@X@(s, @NONE@t);\n"
           "put(s, @AT@t);\n", names, 5,
           "float x_ring[2];  // of x\nload_x(s, t);\nput(s, slice * BM + t);\n"
           );
    quotes("auto f = [](int tile@MORE@) {\n    @NONE@\n};\n", names, 5,
           "auto f = [](int tile, int &m0) {\n};\n");
    arena_free(a);
}

/* A name of nothing is a defect, before and behind; beside a name it is not. */
static void lacks_name(const char *text)
{
    Arena *a = arena_new();

    tree_quote(a, text, (const Fill[]){FILL("X", "")}, 1);
}

Test(tree, names_of_nothing_behind, .exit_code = 70)
{
    lacks_name("load_@X@(s, t);\n");
}

Test(tree, names_of_nothing_before, .exit_code = 70)
{
    lacks_name("put(@X@_tile, t);\n");
}

Test(tree, names_beside_nothing)
{
    lacks_name("put@X@(tile@X@, t_ @X@+ 1);\n");
}

/* A sentence's last words go to its next line; a table's lines stay. */
Test(tree, comments)
{
    static const char sentence[] =
        "// Each of the blocks of a tile leaves its own sums in the workspace "
        "beside\n// the others'.\n";
    static const char table[] =
        "// Family    contract_wgmma, bm=128 bn=128 stages=4 consumers=2 "
        "schedule=pingpong\n// Launches  2: a, b\n// Needs     sm_90a\n";
    Buf b = {0};

    cprint_lines(&b, sentence, 8);
    cr_expect_str_eq(buf_text(&b),
        "        // Each of the blocks of a tile leaves its own sums in the "
        "workspace\n        // beside the others'.\n");
    buf_free(&b);
    cprint_lines(&b, table, 8);
    cr_expect(strstr(buf_text(&b), "\n        // Launches  2: a, b\n"
                                   "        // Needs     sm_90a\n"),
              "%s", buf_text(&b));
    buf_free(&b);
}

/* A line of names too long to stay whole is broken before an index, too. */
Test(tree, long_names)
{
    Buf b = {0};

    cprint_lines(&b, "dcc_cp_async16_shared(&smem.d_d_y_softplus_by_linear_sum_"
                     "tile[slot], &d_d_y_softplus_by_y_linear_sum["
                     "d_d_y_softplus_by_y_linear_sum_off + k]);\n", 12);
    cprint_settle(&b, 0);
    for (const char *s = buf_text(&b), *end; (end = strchr(s, '\n'));
         s = end + 1)
        cr_expect_leq(end - s, 80, "%s", buf_text(&b));
    buf_free(&b);
}
