/* test_lower.c - elaboration: what programs in tests/lower become, the exact
 * text of every error, -D, and that the examples are quick.
 *
 * tests/lower/NAME.dcl has its graphs in NAME.graph, or its errors in
 * NAME.err. With DCC_UPDATE set in the environment they are written anew. */
#include "compiler/lower/lower.h"
#include "compiler/front.h"
#include "compiler/support/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *source_dir(void)
{
    const char *dir = getenv("DCC_SRC");

    return dir ? dir : ".";
}

/* Enters the folder, so that messages name files without one. */
static void enter(Arena *a, const char *folder)
{
    cr_assert_eq(chdir(arena_printf(a, "%s/%s", source_dir(), folder)), 0);
}

/* Lowers every model of a file; the graphs are printed to b. */
static bool lower_file(Arena *a, Diag *d, const char *name, const Define *def,
                       int n_def, Buf *b)
{
    char *file[] = {arena_strdup(a, name)};
    struct Program *p = front_read(a, d, file, 1, true);
    const char **model;

    if (!p)
        return false;
    int n = front_models(a, p, &model);
    for (int i = 0; i < n; i++) {
        Graph *g = lower_model(a, d, p, model[i], def, n_def);
        if (g)
            graph_dump(b, g);
    }
    return !diag_errors(d);
}

static void expect(Arena *a, const char *path, const char *text)
{
    Buf want = {0};

    if (getenv("DCC_UPDATE")) {
        cr_assert(file_write(text, strlen(text), path));
        return;
    }
    cr_assert(file_read(&want, path), "%s is missing", path);
    cr_expect_str_eq(text, buf_text(&want), "%s differs:\n%s", path, text);
    buf_free(&want);
    (void)a;
}

static void one_program(const char *name)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Buf b = {0};
    int stem = (int)strlen(name) - 4;

    if (lower_file(a, d, name, NULL, 0, &b))
        expect(a, arena_printf(a, "%.*s.graph", stem, name), buf_text(&b));
    else
        expect(a, arena_printf(a, "%.*s.err", stem, name), diag_text(d));
    buf_free(&b);
    arena_free(a);
}

static bool is_program(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && !strcmp(name + n - 4, ".dcl");
}

Test(lower, programs)
{
    Arena *a = arena_new();
    int n = 0;

    enter(a, "tests/lower");
    DIR *dir = opendir(".");
    cr_assert_not_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (is_program(e->d_name)) {
            one_program(e->d_name);
            n++;
        }
    closedir(dir);
    cr_expect_gt(n, 10);
    arena_free(a);
}

/* Every example lowers in well under 100 ms. */
Test(lower, examples)
{
    Arena *a = arena_new();

    enter(a, "examples");
    DIR *dir = opendir(".");
    cr_assert_not_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (!is_program(e->d_name))
            continue;
        Arena *own = arena_new();
        Diag *d = diag_new(own);
        Buf b = {0};
        char *file[] = {e->d_name};
        struct Program *p = front_read(own, d, file, 1, true);
        cr_assert(p, "%s: %s", e->d_name, diag_text(d));
        clock_t start = clock();
        cr_expect(lower_model(own, d, p, NULL, NULL, 0), "%s: %s", e->d_name,
                  diag_text(d));
        double ms = (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
        cr_expect_lt(ms, 100, "%s took %.0f ms", e->d_name, ms);
        buf_free(&b);
        arena_free(own);
    }
    closedir(dir);
    arena_free(a);
}

static bool has_define(Arena *a, const struct Program *p, const char *model,
                       const char *name)
{
    const char **names;
    int n = lower_defines(a, p, model, &names);

    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

Test(lower, defines)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    static const Define def[] = {{"B", "3"}, {"E", "f16"}, {"Z", "1"}};
    char *file[] = {"weights.dcl"};

    enter(a, "tests/lower");
    struct Program *p = front_read(a, d, file, 1, true);
    cr_assert(p);
    Graph *g = lower_model(a, d, p, "weights", def, 3);
    cr_assert(g, "%s", diag_text(d));
    cr_expect_eq(g->input[0]->dim[0], 3);
    cr_expect_eq(g->input[0]->type, T_F16);
    cr_expect(has_define(a, p, NULL, "H"));
    cr_expect(has_define(a, p, "weights", "E"));
    cr_expect_not(has_define(a, p, NULL, "Z"));
    cr_expect_not(has_define(a, p, "other", "H"));
    arena_free(a);
}

static const char *define_error(Arena *a, const char *name, const char *value)
{
    Diag *d = diag_new(a);
    Define def = {name, value};
    char *file[] = {"weights.dcl"};
    struct Program *p = front_read(a, d, file, 1, true);

    cr_assert(p);
    cr_expect_null(lower_model(a, d, p, NULL, &def, 1));
    return diag_text(d);
}

Test(lower, bad_defines)
{
    Arena *a = arena_new();

    enter(a, "tests/lower");
    cr_expect_str_eq(define_error(a, "B", "many"),
                     "dcc: error: -D B=many: a number is needed, at most "
                     "2147483647\n");
    cr_expect_str_eq(define_error(a, "B", "0"),
                     "weights.dcl:9:15: error: a size is 1 to 2147483647, 'B' "
                     "is 0 (B = 0)\n      input x : E[B, H];\n"
                     "                  ^\n");
    cr_expect_str_eq(define_error(a, "E", "f64"),
                     "dcc: error: -D E=f64: an element type is f32, f16, "
                     "bf16, i8, u8, i32 or bool\n");
    arena_free(a);
}

/* Said, as nothing else would show it; not of what a state's name begins. */
Test(lower, parameters_below_the_loop)
{
    const char text[] =
        "block head(x: T[B, D]) -> y {\n"
        "  param w : T[3, D] = \"weight\"; y = linear(x, w); }\n"
        "model m { input x : f32[4, 8]; param w : f32[8, 8];\n"
        "  h = linear(x, w); loss[] = sum(i, j) h[i, j] * h[i, j];\n"
        "  for v in params { v = v - 0.1 * grad(loss, v); }\n"
        "  state n : f32[4] = \"n\" or zeros; n[i] = n[i] + 1;\n"
        "  output loss; output y = head(h) as \"fc\"; }\n";
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    char path[] = "/tmp/dcc-below-XXXXXX", *file[] = {path};
    int fd = mkstemp(path);

    cr_assert(fd >= 0 && write(fd, text, sizeof text - 1) ==
                             (ssize_t)(sizeof text - 1));
    close(fd);
    struct Program *p = front_read(a, d, file, 1, true);
    unlink(path);
    cr_assert(p, "%s", diag_text(d));
    cr_expect(lower_model(a, d, p, NULL, NULL, 0));
    cr_expect(strstr(diag_text(d), ":2:9: warning: 'fc.weight' is not trained: "
                                   "it stands below the loop over parameters"),
              "%s", diag_text(d));
    cr_expect(strstr(diag_text(d), ":5:3: note: the loop is here"));
    cr_expect_null(strstr(strstr(diag_text(d), "warning") + 1, "warning"));
    arena_free(a);
}
