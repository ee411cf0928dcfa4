/* test_init.c - numbers drawn (runtime/dcc_init.h): Philox4x32-10 against the
 * known answers of Random123, and what initialisers make of it. */
#include "runtime/dcc_init.h"

#include <criterion/criterion.h>

Test(init, known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0},
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        dcc_philox(known[i].counter, known[i].key[0], known[i].key[1], out);
        for (int k = 0; k < 4; k++)
            cr_expect_eq(out[k], known[i].out[k], "case %zu word %d: %08x", i,
                         k, out[k]);
    }
}

/* Mean and spread to five standard errors, and the same in pieces. */
Test(init, moments)
{
    enum { N = 100000 };
    static float x[N], y[N];
    double sum = 0, squares = 0;

    dcc_init_fill(DCC_BEGIN_NORMAL, 3, 0.5, "fc.weight", 7, DCC_F32, 0, N, x);
    for (int i = 0; i < N; i++) {
        sum += x[i] - 3.0;
        squares += (x[i] - 3.0) * (x[i] - 3.0);
    }
    cr_expect_lt(fabs(sum / N), 5 * 0.5 / sqrt(N));
    cr_expect_lt(fabs(squares / N / 0.25 - 1), 5 * sqrt(2.0 / N));
    dcc_init_fill(DCC_BEGIN_NORMAL, 3, 0.5, "fc.weight", 7, DCC_F32, 999, 500,
                  y);
    cr_expect_eq(memcmp(x + 999, y, 500 * sizeof *y), 0);
    dcc_init_fill(DCC_BEGIN_NORMAL, 3, 0.5, "fc.bias", 7, DCC_F32, 0, 500, y);
    cr_expect_neq(memcmp(x, y, 500 * sizeof *y), 0);
    dcc_init_fill(DCC_BEGIN_UNIFORM, -1, 1, "w", 7, DCC_F32, 0, N, x);
    sum = squares = 0;
    for (int i = 0; i < N; i++) {
        cr_expect(x[i] >= -1 && x[i] < 1);
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    cr_expect_lt(fabs(sum / N), 5 * sqrt(1.0 / 3 / N));
    cr_expect_lt(fabs(squares / N * 3 - 1), 5 * sqrt(0.8 / N));
}
