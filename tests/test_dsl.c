/* test_dsl.c - the language: trees, spans, checks, canonical text, and what is
 * rejected with exactly which words (tests/reject). */
#include "dsl.h"
#include "compiler/support/file.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Front {
    Arena *arena;
    Diag *diag;
    Program *program;
    const Source *source;
} Front;

static Front parse_bytes(const char *name, const char *text, size_t len)
{
    Front f = {.arena = arena_new()};

    f.diag = diag_new(f.arena);
    f.source = diag_source(f.diag, name, text, len);
    f.program = dsl_parse(f.arena, f.diag, &f.source, 1);
    return f;
}

static Front parse(const char *text)
{
    return parse_bytes("t.dcl", text, strlen(text));
}

static Front check(const char *text)
{
    Front f = parse(text);

    cr_assert_eq(diag_errors(f.diag), 0, "%s", diag_text(f.diag));
    dsl_check(f.arena, f.diag, f.program, false);
    return f;
}

static void done(Front *f)
{
    FILE *null = fopen("/dev/null", "w"), *old = stderr;

    stderr = null; /* diag_flush frees the text */
    diag_flush(f->diag);
    stderr = old;
    fclose(null);
    arena_free(f->arena);
}

static const char *path_of(const char *name)
{
    static char path[4096];
    const char *src = getenv("DCC_SRC");

    snprintf(path, sizeof path, "%s/%s", src ? src : ".", name);
    return path;
}

static char *read_file(const char *path)
{
    Buf b = {0};

    cr_assert(file_read(&b, path), "%s", path);
    if (!b.text)
        buf_puts(&b, "");
    return b.text;
}

static AstStmt *stmt(const Front *f, int i)
{
    Item *it = f->program->item[f->program->n_item - 1];

    cr_assert_lt(i, it->body.n);
    return it->body.stmt[i];
}

/* ---- trees */

static void expect_tree(const char *text, const char *tree)
{
    Buf program = {0}, b = {0};

    buf_printf(&program, "op o(x: T) -> y {\n  %s\n}\n", text);
    Front f = parse(program.text);
    cr_assert_eq(diag_errors(f.diag), 0, "%s", diag_text(f.diag));
    ast_dump(&b, f.program, NULL);
    const char *from = strchr(b.text, '{') + 4;
    size_t n = strlen(from) - strlen("\n}\n");
    cr_expect(n == strlen(tree) && !strncmp(from, tree, n),
              "%s\n  gives    %.*s\n  expected %s", text, (int)n, from, tree);
    buf_free(&program);
    buf_free(&b);
    done(&f);
}

Test(dsl, precedence)
{
    expect_tree("y = a + b * c - d;", "def y = (- (+ a (* b c)) d)");
    expect_tree("y = a / b % c * d;", "def y = (* (% (/ a b) c) d)");
    expect_tree("y = a < b && c == d || e;",
                "def y = (|| (&& (< a b) (== c d)) e)");
    expect_tree("y = a ? b : c ? d : e;", "def y = (? a b (? c d e))");
    expect_tree("y = a || b ? c + 1 : d;", "def y = (? (|| a b) (+ c 1) d)");
    expect_tree("y = -a * !b;", "def y = (* (- a) (! b))");
    expect_tree("y = --a - -b;", "def y = (- (- (- a)) (- b))");
    expect_tree("y = a - (b - c);", "def y = (- a (- b c))");
}

Test(dsl, reductions_take_the_product)
{
    expect_tree("y = sum(i, j in 0..3) p * q / r + s;",
                "def y = (+ (sum {i, j in 0..3} (/ (* p q) r)) s)");
    expect_tree("y = a * sum(i) b * sum(j) c * d - e;",
                "def y = (- (* a (sum {i} (* b (sum {j} (* c d))))) e)");
    expect_tree("y = -max(..) x[..] or -inf;",
                "def y = (- (max {..} x[..]|(- inf)))");
    expect_tree("y = (sum(i) a) / b;", "def y = (/ (sum {i} a) b)");
    expect_tree("y = max(a, b) * sum(x, axis = 1);",
                "def y = (* max(a, b) sum(x, axis=1))");
    expect_tree("y = mean(A.., k) sum(i) a * b;",
                "def y = (mean {A.., k} (sum {i} (* a b)))");
    expect_tree("y = argmax(i) (-x[i]);", "def y = (argmax {i} (- x[i]))");
}

Test(dsl, outside_values)
{
    expect_tree("y = x[i] or 0 * 2;", "def y = (* x[i]|0 2)");
    expect_tree("y = x[i] or y[i - 1] or 0;", "def y = x[i]|y[(- i 1)]|0");
    expect_tree("y = x[i] or -inf + 1;", "def y = (+ x[i]|(- inf) 1)");
    expect_tree("y = x[i] or (a + b);", "def y = x[i]|(+ a b)");
}

Test(dsl, calls_and_casts)
{
    expect_tree("y = f[l + 1](x, 3, k = [1, 2]) as \"a.{l}.b{l * 2}\";",
                "def y = f<(+ l 1)>(x, 3, k=[1, 2]) as \"a.{l}.b{(* l 2)}\"");
    expect_tree("y = f32(x) + bf16(1);", "def y = (+ (f32 x) (bf16 1))");
    expect_tree("y = f() as \"\";", "def y = f() as \"\"");
    expect_tree("y = x[0](a);", "def y = x<0>(a)");
}

Test(dsl, statements)
{
    expect_tree("y[i, j in 0..3, .., pos] : f32 = 1;",
                "def y[i, j in 0..3, .., pos] : f32 = 1");
    expect_tree("y[] = 1;", "def y[] = 1");
    expect_tree("h : f32[B, H] = 0;", "def h : f32[B, H] = 0");
    expect_tree("input x : i32[] in -1..V;", "input x : i32[] in (- 1)..V");
    expect_tree("state k : T[B, 2 * C] = -inf;",
                "state k : T[B, (* 2 C)] = (- inf)");
    expect_tree("param w : T[N] = \"a\";", "param w : T[N] = \"a\"");
    expect_tree("dim B in {1, 8};", "dim B1, 8");
    expect_tree("@nofuse @tile(m = 2) y = 1;",
                "@nofuse() @tile(m=2) def y = 1");
    expect_tree("output y = 1;", "def y output = 1");
    expect_tree("output y;", "output y");
    expect_tree("if (a) { } else if (b) { x = 1; }",
                "if a {\n  } else {\n    if b {\n      def x = 1\n    }\n  }");
}

Test(dsl, numbers)
{
    Front f = parse("op o(x: T) -> y { y = 12; y = 0.5; y = 1e-5; y = inf;"
                    " y = true; y = 9223372036854775807; y = 1e3; }");
    static const NumKind kind[] = {NUM_INT, NUM_FRACTION, NUM_FRACTION,
                                   NUM_INF, NUM_BOOL, NUM_INT, NUM_FRACTION};
    static const double value[] = {12, 0.5, 1e-5, 1.0 / 0.0, 1, 0x1p63, 1000};

    cr_assert_eq(diag_errors(f.diag), 0);
    for (int i = 0; i < 7; i++) {
        const AstExpr *e = stmt(&f, i)->def.value;
        cr_expect_eq(e->number.kind, kind[i], "%d", i);
        cr_expect(e->number.value == value[i], "%d", i);
    }
    cr_expect_eq(stmt(&f, 0)->def.value->number.integer, 12);
    cr_expect_eq(stmt(&f, 4)->def.value->number.integer, 1);
    cr_expect_eq(stmt(&f, 5)->def.value->number.integer, INT64_MAX);
    done(&f);
}

Test(dsl, spans)
{
    Front f = parse("model m {\n  y = a +\n    f(b, c);\n  z = (a) * c;\n}\n");
    const AstStmt *y = stmt(&f, 0), *z = stmt(&f, 1);
    const AstExpr *call = y->def.value->binary.right;

    cr_expect_eq(y->at.line, 2);
    cr_expect_eq(y->at.col, 3);
    cr_expect_eq(y->end.line, 3);
    cr_expect_eq(y->end.col, 12);
    cr_expect_eq(call->at.line, 3);
    cr_expect_eq(call->at.col, 5);
    cr_expect_eq(call->at.len, 7);
    cr_expect_eq(y->def.value->binary.sign.col, 9);
    cr_expect_eq(z->def.value->at.col, 7);
    cr_expect_eq(z->def.value->at.len, 7);
    cr_expect_eq(z->end.col, 14);
    cr_expect_eq(call->at.source, f.source);
    done(&f);
}

Test(dsl, documentation)
{
    Front f = parse("// far\n\n// one\n//two\nop f(x: T) -> y { y = x; }\n"
                    "op g(x: T) -> y { y = x; } // not this\n"
                    "op h(x: T) -> y { y = x; }\n");
    Item **it = f.program->item + f.program->n_item - 3;

    cr_expect_str_eq(it[0]->doc, "one\ntwo");
    cr_expect_null(it[1]->doc);
    cr_expect_null(it[2]->doc);
    done(&f);
}

/* ---- what names mean */

Test(dsl, callees)
{
    Front f = check("op relu(x: T[..]) -> y { y[..] = x[..] * tanh(x[..]); }\n"
                    "op exp(x: T[..]) -> y { y[..] = exp(x[..]); }\n"
                    "model m { type E = f16; input x : E[4];\n"
                    " a = relu(x); b = tanh(a); c = exp(b);\n"
                    " d = leaky_relu(c); output e = E(d); }\n");
    const Item *it = f.program->item[f.program->n_item - 1];
    const Item *own = f.program->item[f.program->n_item - 2];
    AstStmt **s = it->body.stmt;

    cr_assert_eq(diag_errors(f.diag), 0, "%s", diag_text(f.diag));
    cr_expect_str_eq(s[2]->def.value->call.item->name.text, "relu");
    cr_expect_not(s[2]->def.value->call.item->library);
    cr_expect_null(s[3]->def.value->call.item);
    cr_expect_str_eq(s[3]->def.value->call.func->name, "tanh");
    cr_expect_eq(s[4]->def.value->call.item, own);
    cr_expect_str_eq(own->body.stmt[0]->def.value->call.func->name, "exp");
    cr_expect(s[5]->def.value->call.item->library);
    cr_expect_eq(s[6]->def.value->kind, EXPR_CAST);
    cr_expect_str_eq(s[6]->def.value->cast.name.text, "E");
    done(&f);
}

Test(dsl, the_library_sees_only_itself)
{
    Front f = check("op softmax(x: T[..]) -> y { y = x; }\n"
                    "model m { input x : f32[4]; output y = softmax(x); }\n");
    const Item *attention = dsl_find_op(f.program, "attention");

    cr_assert_eq(diag_errors(f.diag), 0, "%s", diag_text(f.diag));
    cr_assert_not_null(attention);
    cr_expect(attention->body.stmt[1]->def.value->call.item->library);
    cr_expect_not(dsl_find_op(f.program, "softmax")->library);
    cr_expect_eq(dsl_find_op(f.program, "concat")->view, VIEW_CONCAT);
    cr_expect_str_eq(dsl_find_model(f.program, NULL)->name.text, "m");
    cr_expect_null(dsl_find_model(f.program, "n"));
    done(&f);
}

/* What check must let pass. */
static void accept(const char *text)
{
    Front f = check(text);

    cr_expect_eq(diag_errors(f.diag), 0, "%s\n%s", text, diag_text(f.diag));
    done(&f);
}

Test(dsl, accepted)
{
    /* sorts do not clash: a tensor and an index, an op and an index */
    accept("model m { input k : f32[4, 4]; y[k] = sum(j) k[k, j];"
           " z[mean] = y[mean]; output z; }");
    accept("model m { dim n = 3; input n : f32[n]; y[i] = n[i] * n;"
           " output y; }");
    /* one arm or the other */
    accept("model m { dim B = 1; input x : f32[B];"
           " if (B == 1) { dim C = 1; h = x; } else { dim C = 2; h = x + C; }"
           " output y = h * C; }");
    accept("model m { input x : f32[4]; for l in 0..3 {"
           " if (l > 0) { x1 = x1 + p; } else { x1 = x; } p = x1; }"
           " output y = p; }");
    /* the same loop variable, one loop after the other */
    accept("model m { input x : f32[4]; h = x;"
           " for i in 0..2 { h = h + i; } for i in 0..2 { h = h * i; }"
           " output y = h; }");
    /* a state: written where pos points, unread */
    accept("model m { input pos : i32 in 0..8; input x : f32[4];"
           " state k : f32[8, 4]; k[pos, d] = x[d]; k[pos % 8, d] = x[d];"
           " y[j, d] = k[j, d]; output y; }");
    /* scalars in calls, list attributes handed on, strings compared */
    accept("op f(x: T[..]; k[2] = 1, mode = \"a\") -> y {"
           " if (mode == \"a\" || mode != \"b{k[0]}\") { y[..] = relu(x[..]); }"
           " else { y = max_pool(x, kernel = k); } }"
           "model m { input x : f32[4]; output y = f(x, [1, 2], \"b\"); }");
    accept("op f(x: T[shape..]; shape[]) -> y: T[shape..] { y = x; }"
           "model m { input x : f32[4]; output y = f(x, shape = [4]); }");
    accept("block b(x: T[N]; n) -> y { param w : T[N] = \"w.{n}\";"
           " y = x * w; }"
           "model m { input x : f32[4];"
           " for l in 0..2 { x2 = b[l](x, n = l) as \"h.{l}\";"
           " x3 = concat(x2, x2, x, axis = 0); z = x3; w = z; v = w;"
           " output u = v; } }");
}

Test(dsl, line_ends_and_mark)
{
    accept("\xef\xbb\xbfmodel m { // a comment\r\n\tinput x : f32[4];\r\n"
           "output y = x;\r\n}\r\n");
}

/* ---- files that must pass */

static void expect_canonical(const char *path, const Source *s, Front *f)
{
    Buf text = {0}, again = {0}, tree = {0}, tree_again = {0};

    ast_print(&text, f->program, s);
    ast_dump(&tree, f->program, s);
    Front g = parse(buf_text(&text));
    cr_assert_eq(diag_errors(g.diag), 0, "%s", diag_text(g.diag));
    ast_print(&again, g.program, g.source);
    ast_dump(&tree_again, g.program, g.source);
    cr_expect_str_eq(buf_text(&again), text.text, "%s", path);
    cr_expect_str_eq(buf_text(&tree_again), tree.text, "%s", path);
    buf_free(&text);
    buf_free(&again);
    buf_free(&tree);
    buf_free(&tree_again);
    done(&g);
}

Test(dsl, examples)
{
    glob_t g;

    cr_assert_eq(glob(path_of("examples/*.dcl"), 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char *text = read_file(g.gl_pathv[i]);
        Front f = parse_bytes(g.gl_pathv[i], text, strlen(text));
        cr_expect(diag_errors(f.diag) == 0 &&
                      dsl_check(f.arena, f.diag, f.program, true),
                  "%s", diag_text(f.diag));
        free(text);
        done(&f);
        text = read_file(g.gl_pathv[i]);
        f = parse_bytes(g.gl_pathv[i], text, strlen(text));
        expect_canonical(g.gl_pathv[i], f.source, &f);
        free(text);
        done(&f);
    }
    globfree(&g);
}

Test(dsl, library_is_canonical)
{
    Front f = parse("");
    Buf b = {0};

    cr_assert_eq(diag_errors(f.diag), 0);
    ast_print(&b, f.program, f.program->source[0]);
    cr_expect_str_eq(b.text, dsl_prelude_text);
    buf_free(&b);
    for (int i = 0; i < f.program->n_item; i++)
        cr_expect_not_null(f.program->item[i]->doc, "%s",
                           f.program->item[i]->name.text);
    done(&f);
}

Test(dsl, formatter)
{
    static const char *const name[] = {"fmt_comments", "fmt_layout"};

    for (int i = 0; i < 2; i++) {
        char file[64];
        snprintf(file, sizeof file, "tests/golden/%s.dcl", name[i]);
        char *text = read_file(path_of(file));
        snprintf(file, sizeof file, "tests/golden/%s.out", name[i]);
        char *out = read_file(path_of(file));
        Front f = parse(text);
        Buf b = {0};
        ast_print(&b, f.program, NULL);
        cr_expect_str_eq(b.text, out, "%s", name[i]);
        expect_canonical(name[i], f.source, &f);
        buf_free(&b);
        free(text);
        free(out);
        done(&f);
    }
}

/* Every program in the manual is one. */
Test(dsl, manual)
{
    char *text = read_file(path_of("dsl/LANGUAGE.md"));
    int n = 0;

    for (char *p = text; (p = strstr(p, "```dcl\n")); n++) {
        p += 7;
        char *end = strstr(p, "```");
        Front f = parse_bytes("LANGUAGE.md", p, (size_t)(end - p));
        cr_expect(diag_errors(f.diag) == 0 &&
                      dsl_check(f.arena, f.diag, f.program, true),
                  "%s", diag_text(f.diag));
        done(&f);
        p = end + 3;
    }
    cr_expect_geq(n, 7);
    free(text);
}

/* ---- what is rejected */

static void expect_rejected(const char *path)
{
    char err[4096];
    Buf text = {0};
    const char *base = strrchr(path, '/') + 1;

    cr_assert(file_read(&text, path));
    Front f = parse_bytes(base, buf_text(&text), text.len);
    if (!diag_errors(f.diag))
        dsl_check(f.arena, f.diag, f.program, true);
    snprintf(err, sizeof err, "%.*s.err", (int)strlen(path) - 4, path);
    char *expected = read_file(err);
    cr_expect_gt(diag_errors(f.diag), 0, "%s", base);
    cr_expect_str_eq(diag_text(f.diag), expected, "%s\n--- gives\n%s", base,
                     diag_text(f.diag));
    free(expected);
    buf_free(&text);
    done(&f);
}

Test(dsl, rejected)
{
    glob_t g;

    cr_assert_eq(glob(path_of("tests/reject/syntax_*.dcl"), 0, NULL, &g), 0);
    cr_assert_eq(glob(path_of("tests/reject/check_*.dcl"), GLOB_APPEND, NULL,
                      &g), 0);
    cr_expect_geq(g.gl_pathc, 60);
    for (size_t i = 0; i < g.gl_pathc; i++)
        expect_rejected(g.gl_pathv[i]);
    globfree(&g);
}

static void expect_too_deep(const char *head, const char *part, int times)
{
    Buf b = {0};

    buf_puts(&b, head);
    for (int i = 0; i < times; i++)
        buf_puts(&b, part);
    Front f = parse_bytes("t.dcl", b.text, b.len);
    cr_expect_eq(diag_errors(f.diag), 1, "%s", part);
    cr_expect_not_null(strstr(diag_text(f.diag), "error: nested too deeply"),
                       "%s", part);
    cr_expect_eq(strncmp(diag_text(f.diag), "t.dcl:1:", 8), 0);
    buf_free(&b);
    done(&f);
}

Test(dsl, deep_nesting)
{
    static const char *const part[] = {
        "(", "[", "-", "!", "1+", "a?b:", "a?", "f(", "x[", "x[0] or ",
        "sum(i) ", "a*", "f32(", "a||", "sum(i) a*",
    };

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        expect_too_deep("model m { y = ", part[i], 200000);
    expect_too_deep("model m { ", "if (a) {} else ", 20000);
    expect_too_deep("model m { ", "for i in 0..1 {", 20000);
    expect_too_deep("model m { ", "@nofuse ", 20000);
}

/* Any bytes give messages, never a crash; the fuzzer goes further. */
Test(dsl, junk)
{
    static const char *const word[] = {
        "op ", "model m {", "}", "(", ")", "[", "]", ";", "= ", "x", "\"", "{",
        "sum(i) ", "or ", "..", "1e9", ": T[", "->", "\n", "// c\n", "if ",
        "else ", "for i in ", "output ", "\x80", "@", ",", "in ",
    };
    uint64_t seed = 1;

    for (int round = 0; round < 300; round++) {
        Buf b = {0};
        for (int i = 0; i < 60; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t n = sizeof word / sizeof *word + 1;
            size_t k = (size_t)(seed >> 40) % n;
            if (k == n - 1)
                buf_putc(&b, (char)(seed >> 33));
            else
                buf_puts(&b, word[k]);
        }
        Front f = parse_bytes("junk", b.text, b.len);
        dsl_check(f.arena, f.diag, f.program, true);
        cr_expect_gt(diag_errors(f.diag), 0);
        buf_free(&b);
        done(&f);
    }
}

/* ---- dcc ops, and words */

Test(dsl, ops)
{
    Front f = parse("// mine\nop relu(x: T) -> y { y = x; }\n");
    Buf b = {0};

    cr_expect(dsl_ops(&b, f.program, NULL));
    cr_expect_not_null(strstr(b.text, "op softmax(x: T[A.., D @ axis, B..]; "
                              "axis = -1) -> y: T[A.., D, B..]\n"
                              "    e^x / sum(e^x) along `axis`\n"));
    cr_expect_not_null(strstr(b.text, "op relu(x: T) -> y\n    mine\n"));
    cr_expect_null(strstr(b.text, "op relu(x: T[..])"));
    buf_free(&b);
    cr_expect(dsl_ops(&b, f.program, "matmul"));
    cr_expect_not_null(strstr(b.text, "// The matrix product"));
    cr_expect_not_null(strstr(b.text, "  c[.., i, j] = sum(k) a[.., i, k]"));
    buf_free(&b);
    cr_expect_not(dsl_ops(&b, f.program, "nothing"));
    done(&f);
}

Test(dsl, nearest)
{
    static const char *const names[] = {"softmax", "relu", "x", "conv2d"};

    cr_expect_str_eq(dsl_nearest("sofmtax", names, 4), "softmax");
    cr_expect_str_eq(dsl_nearest("rel", names, 4), "relu");
    cr_expect_str_eq(dsl_nearest("conv2", names, 4), "conv2d");
    cr_expect_null(dsl_nearest("y", names, 4));
    cr_expect_null(dsl_nearest("attention", names, 4));
}

Test(dsl, several_files)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    static const char one[] = "model m { input x : f32[4]; output y = f(x); }";
    static const char two[] = "op f(x: T[..]) -> y { y = g(x); }";
    const Source *s[] = {diag_source(d, "one", one, sizeof one - 1),
                         diag_source(d, "two", two, sizeof two - 1)};
    Program *p = dsl_parse(a, d, s, 2);

    cr_expect_not(dsl_check(a, d, p, true));
    cr_expect_eq(diag_errors(d), 1);
    cr_expect_eq(strncmp(diag_text(d), "two:1:27: error: undefined op or "
                         "function 'g'", 45), 0, "%s", diag_text(d));
    Front f = {a, d, p, s[0]};
    done(&f);
}
