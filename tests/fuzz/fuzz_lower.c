/* fuzz_lower.c - any program that parses and checks, through lowering: it ends
 * in a graph or in errors, and every index of the graph stays where it may.
 *
 * A library of its own, a small one, makes it ten times as fast.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. \
 *         -Icompiler -Idsl -IBUILD/dsl tests/fuzz/fuzz_lower.c dsl/ *.c \
 *         BUILD/dsl/dcl.*.c \
 *         compiler/{support,index,graph,lower,adjoint}/ *.c -lm -o fuzz_lower
 *     ./fuzz_lower -dict=tests/fuzz/dcl.dict CORPUS tests/lower
 */
#include "dsl.h"
#include "lower/lower.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const char dsl_prelude_text[] =
    "op reshape(x: T[..]; shape[]) -> y;\n"
    "op concat(x: T[..]; axis) -> y;\n"
    "op relu(x: T[..]) -> y: T[..] { y[..] = max(x[..], 0); }\n"
    "op linear(x: T[.., D], w: T[E, D], b: T[E] = 0) -> y: T[.., E] {\n"
    "  y[.., e] = sum(d) x[.., d] * w[e, d] + b[e];\n"
    "}\n";
const size_t dsl_prelude_len = sizeof dsl_prelude_text - 1;

/* A store that may leave its tensor is a bug, unless a guard says where. */
static void check_stores(const Graph *g)
{
    for (int i = 0; i < g->n_stmt; i++) {
        const Stmt *s = g->stmt[i];
        for (int d = 0; d < s->tensor->rank && !s->where.n; d++)
            if (s->store[d]->lo < 0 || s->store[d]->hi >= s->tensor->dim[d])
                abort();
    }
}

static void drop_text(Diag *d)
{
    FILE *old = stderr, *null = fopen("/dev/null", "w");

    if (null) {
        stderr = null;
        diag_flush(d);
        stderr = old;
        fclose(null);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    const Source *s = diag_source(d, "f.dcl", (const char *)data, size);
    Program *p = dsl_parse(a, d, &s, 1);

    if (!diag_errors(d) && dsl_check(a, d, p, true)) {
        Graph *g = lower_model(a, d, p, NULL, NULL, 0);
        if (!g && !diag_errors(d))
            abort();
        if (g)
            check_stores(g);
    }
    drop_text(d);
    arena_free(a);
    return 0;
}
