/* fuzz_plan.c - libFuzzer target: any bytes are a plan file, or edits of a
 * good one. A plan is read as a whole or refused with a located error; what is
 * accepted compiles to the groups and variants that it names.
 *
 * A library of its own, a small one, makes it faster.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. \
 *         -Icompiler -Idsl -Iruntime -IBUILD/dsl tests/fuzz/fuzz_plan.c \
 *         BUILD/libdcc.a (built with the same -fsanitize, less fuzzer) -lm
 */
#include "compiler/compile.h"
#include "compiler/model/device.h"
#include "compiler/front.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const char dsl_prelude_text[] =
    "op reshape(x: T[..]; shape[]) -> y;\n"
    "op transpose(x: T[..]; perm[]) -> y;\n"
    "op concat(x: T[..]; axis) -> y;\n";
const size_t dsl_prelude_len = sizeof dsl_prelude_text - 1;

static const char model[] =
    "model m { input x : f32[8, 4]; param w : f32[5, 4];\n"
    "  h[i, j] = max(sum(k) x[i, k] * w[j, k], 0);\n"
    "  @nofuse s = h * 2;\n"
    "  m[i] = max(j) s[i, j];\n"
    "  e[i, j] = exp(s[i, j] - m[i]);\n"
    "  output y[i, j] = e[i, j] / sum(d) e[i, d]; }\n";

/* Messages are owned by what is flushed; nobody reads them here. */
static void drop_text(Diag *d)
{
    FILE *null = fopen("/dev/null", "w"), *screen = stderr;

    if (!null)
        abort();
    stderr = null;
    diag_flush(d);
    stderr = screen;
    fclose(null);
}

/* Compiles with a plan, or with none; the plan of the result is in *out. */
static bool compile(const char *plan, size_t len, Buf *out)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    CompileOptions o = {.plan_name = plan ? "fuzz.plan" : NULL,
                        .plan_text = plan, .plan_len = len,
                        .want_plan = true};
    Report r = {0};
    struct Program *p = front_text(a, d, "m.dcl", model, sizeof model - 1);

    o.model.device = device_find(a, "v100");
    bool ok = p && compile_model(a, d, p, "m", &o, &r);
    if (ok == (diag_errors(d) > 0)) {
        fprintf(stderr, "accepted with errors, or refused without one\n");
        abort();
    }
    if (ok)
        buf_puts(out, buf_text(&r.plan));
    buf_free(&r.plan);
    drop_text(d);
    arena_free(a);
    return ok;
}

/* Pairs of bytes: go on by the first, write the second there (0: delete). */
static char *edited(const char *text, const uint8_t *data, size_t size,
                    size_t *len)
{
    char *s = strdup(text);
    size_t at = 0;

    *len = strlen(s);
    for (size_t i = 0; i + 1 < size && *len; i += 2) {
        at = (at + data[i]) % *len;
        if (data[i + 1]) {
            s[at] = (char)data[i + 1];
            continue;
        }
        memmove(s + at, s + at + 1, *len - at);
        --*len;
    }
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Buf good;
    Buf again = {0};
    size_t len = size;
    char *plan;

    if (!good.len && !compile(NULL, 0, &good))
        abort();
    if (size && data[0] == '@') {
        plan = edited(buf_text(&good), data + 1, size - 1, &len);
    } else {
        plan = malloc(size + 1);
        memcpy(plan, data, size);
        plan[size] = 0;
    }
    if (compile(plan, len, &again)) {
        Buf third = {0};
        if (!compile(buf_text(&again), again.len, &third) ||
            strcmp(buf_text(&again), buf_text(&third)))
            abort();
        buf_free(&third);
    }
    buf_free(&again);
    free(plan);
    return 0;
}
