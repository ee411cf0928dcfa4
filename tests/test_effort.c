/* test_effort.c - what a compilation takes: time, memory and variants that are
 * costed, and how they grow with the model. */
#include "models.h"
#include "compiler/support/file.h"

#include <math.h>
#include <time.h>

/* What a compilation took. */
typedef struct Effort {
    size_t bytes;
    int variants;   /* that were costed */
    double seconds; /* of the processor */
} Effort;

static Effort effort(const char *text, const char *layers)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    const Define depth = {"L", layers};
    Report r = {0};
    clock_t begin = clock();

    o.define = &depth;
    o.n_define = layers != NULL;
    cr_assert(compiled(&f, text, &r, &o), "%s", diag_text(f.diag));
    Effort e = {arena_used(f.arena), r.selection->evaluated,
                (double)(clock() - begin) / CLOCKS_PER_SEC};
    arena_free(f.arena);
    return e;
}

/* The quicker one of two. */
static double seconds(const char *text, const char *layers)
{
    return fmin(effort(text, layers).seconds, effort(text, layers).seconds);
}

static const char training[] =
    "op mean_square(y: T[..]) -> s: f32 { s[] = mean(..) f32(y[..]) * y[..]; }"
    "block conv(x: T[N, C, H, W]) -> y: T[N, C, H, W] {"
    "  param w : T[C, C, 3, 3]; param g : T[C]; param b : T[C];"
    "  y = relu(batch_norm_train(conv2d(x, w, pad = 1), g, b) as \"\") + x; }"
    "model m { dim L = 8; input image : f32[8, 64, 28, 28]; input lr : f32;"
    "  x = image * 1.5; for l in 0..L { x = conv[l](x); }"
    "  output loss = mean_square(x); for v in params {"
    "    v = sgd(v, grad(loss, v), lr) as \"sgd.{v}\"; } }";

/* Four times the layers take four times the time and the memory, not sixteen
 * times, and what equal layers may become is costed once. */
static void check_growth(const char *text)
{
    Effort few = effort(text, "8"), more = effort(text, "16"),
           many = effort(text, "40");
    double some = seconds(text, "16"), most = seconds(text, "64");

    cr_expect_lt(many.bytes - more.bytes, 5 * (more.bytes - few.bytes),
                 "%zu, %zu, %zu", few.bytes, more.bytes, many.bytes);
    cr_expect_leq(many.variants, few.variants + few.variants / 10, "%d, %d",
                  few.variants, many.variants);
    cr_expect_lt(most, 9 * some, "%g s, %g s", some, most);
}

Test(effort, grows_with_the_model)
{
    Arena *a = arena_new();
    const char *path =
        arena_printf(a, "%s/examples/bert_base.dcl", source_dir());
    Buf text = {0};

    cr_assert(file_read(&text, path));
    check_growth(buf_text(&text));
    check_growth(training);
    buf_free(&text);
    arena_free(a);
}

/* An LSTM, step by step: each is of another part of one signal. */
static const char steps[] =
    "model m { input x : f16[200, 8, 64];"
    "  param w : f16[256, 64]; param r : f16[256, 64];"
    "  h[b in 0..8, j in 0..64] = 0.0; c[b in 0..8, j in 0..64] = 0.0;"
    "  for t in 0..200 {"
    "    g[b, j in 0..256] = (sum(k) x[t, b, k] * w[j, k])"
    "                      + (sum(k) h[b, k] * r[j, k]);"
    "    d[b, i in 0..64] = sigmoid(g[b, i]) * c[b, i]"
    "                     + sigmoid(g[b, 64 + i]) * tanh(g[b, 128 + i]);"
    "    c = d;"
    "    h[b, i in 0..64] = sigmoid(g[b, 192 + i]) * tanh(c[b, i]);"
    "    y[t, b, i] = h[b, i]; }"
    "  output y; }";

/* Half as much again as there is today is too much. */
Test(effort, work_is_bounded)
{
    static const struct {
        const char *name, *text; /* NULL: an example's */
        int variants;
        size_t megabytes;
    } most[] = {
        {"resnet50", NULL, 200000, 57},
        {"densenet121", NULL, 500000, 118},
        {"efficientnet_b0", NULL, 190000, 78},
        {"training", training, 68000, 35},
        {"steps", steps, 166000, 203},
    };

    for (int i = 0; i < 5; i++) {
        Arena *a = arena_new();
        Buf text = {0};
        const char *name = most[i].name;
        cr_assert(most[i].text ||
                  file_read(&text, arena_printf(a, "%s/examples/%s.dcl",
                                                source_dir(), name)));
        Effort e = effort(most[i].text ? most[i].text : buf_text(&text), NULL);
        cr_expect_lt(e.variants, most[i].variants, "%s: %d variants", name,
                     e.variants);
        cr_expect_lt(e.bytes, most[i].megabytes << 20, "%s: %zu bytes", name,
                     e.bytes);
        buf_free(&text);
        arena_free(a);
    }
}
