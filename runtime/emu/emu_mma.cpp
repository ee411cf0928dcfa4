/* emu_mma.cpp - the warp's matrix instructions, computed by the last lane to
 * arrive straight into every lane's registers. Layouts: PTX ISA, "Matrix
 * Fragments for mma" of each shape.
 */
#include "emu.h"

static void emu_need_warp(void **slot, const char *what)
{
    for (int lane = 0; lane < 32; lane++)
        if (!slot[lane])
            dcc_emu_fault("%s: the warp has no lane %d", what, lane);
}

/* ---- ldmatrix and stmatrix ---- */

void dcc_emu_matrices(void **slot)
{
    const EmuBlock *block = emu_scheduler->current->block;

    emu_need_warp(slot, "ldmatrix");
    const int n = ((dcc_emu_matrix *)slot[0])->n;
    for (int lane = 0; lane < 8 * n; lane++) {
        const dcc_emu_matrix *m = (dcc_emu_matrix *)slot[lane];

        if ((uintptr_t)m->row % 16 || !emu_in_smem(block, m->row, 16))
            dcc_emu_fault("ldmatrix or stmatrix: lane %d's row is misaligned "
                          "or outside shared memory",
                          lane);
    }
    for (int lane = 0; lane < 32; lane++) {
        dcc_emu_matrix *m = (dcc_emu_matrix *)slot[lane];

        for (int j = 0; j < n; j++) {
            unsigned char *reg = (unsigned char *)&m->r[j];

            for (int h = 0; h < 2; h++) {
                const int major = lane >> 2, minor = (lane & 3) * 2 + h;
                const int row = m->trans ? minor : major;
                const int column = m->trans ? major : minor;
                unsigned char *at =
                    ((dcc_emu_matrix *)slot[j * 8 + row])->row + 2 * column;

                if (m->store)
                    memcpy(at, reg + 2 * h, 2);
                else
                    memcpy(reg + 2 * h, at, 2);
            }
        }
    }
}

/* ---- mma.sync ---- */

/* d[16][8] += a[16][K] * b[K][8], in the order of k. */
template <int K, class T>
static void emu_product(T (&d)[16][8], const T (&a)[16][K],
                        const T (&b)[K][8])
{
    for (int i = 0; i < 16; i++) {
        T sum[8];

        memcpy(sum, d[i], sizeof sum);
        for (int k = 0; k < K; k++)
            for (int j = 0; j < 8; j++)
                sum[j] += a[i][k] * b[k][j];
        memcpy(d[i], sum, sizeof sum);
    }
}

/* Lane (g, t)'s four results are rows g and g + 8, columns 2t and 2t + 1. */
template <class T> static void emu_get_d(void **slot, T (&d)[16][8])
{
    for (int lane = 0; lane < 32; lane++) {
        const T *from = (const T *)((dcc_emu_mma *)slot[lane])->d;

        for (int i = 0; i < 4; i++)
            d[(lane >> 2) + (i >> 1) * 8][(lane & 3) * 2 + (i & 1)] = from[i];
    }
}

template <class T> static void emu_put_d(void **slot, const T (&d)[16][8])
{
    for (int lane = 0; lane < 32; lane++) {
        T *to = (T *)((dcc_emu_mma *)slot[lane])->d;

        for (int i = 0; i < 4; i++)
            to[i] = d[(lane >> 2) + (i >> 1) * 8][(lane & 3) * 2 + (i & 1)];
    }
}

/* P elements a register; `convert(bits of register, p)` gives element p. Lane
 * (g, t) holds, in register r, row g + 8 (r & 1) of a, and k from
 * P t + 4 P (r >> 1) on; of b column g and k from P t + 4 P r on. */
template <int P, class T, class F> static void emu_mma(void **slot, F convert)
{
    const int K = 8 * P;
    T a[16][K], b[K][8], d[16][8];

    emu_need_warp(slot, "mma.sync");
    for (int lane = 0; lane < 32; lane++) {
        const dcc_emu_mma *m = (dcc_emu_mma *)slot[lane];
        const int g = lane >> 2, t = lane & 3;

        for (int r = 0; r < 4; r++)
            for (int p = 0; p < P; p++)
                a[g + 8 * (r & 1)][P * t + 4 * P * (r >> 1) + p] =
                    convert(m->a[r], p);
        for (int r = 0; r < 2; r++)
            for (int p = 0; p < P; p++)
                b[P * t + 4 * P * r + p][g] = convert(m->b[r], p);
    }
    emu_get_d(slot, d);
    emu_product<K>(d, a, b);
    emu_put_d(slot, d);
}

void dcc_emu_mma_f16(void **slot)
{
    emu_mma<2, float>(slot, [](uint32_t r, int p) {
        return dcc_emu_half_to_float((uint16_t)(r >> 16 * p));
    });
}

void dcc_emu_mma_bf16(void **slot)
{
    emu_mma<2, float>(slot, [](uint32_t r, int p) {
        return dcc_emu_bfloat_to_float((uint16_t)(r >> 16 * p));
    });
}

/* The hardware reads the upper 19 bits only. */
void dcc_emu_mma_tf32(void **slot)
{
    emu_mma<1, float>(slot, [](uint32_t r, int) {
        return __uint_as_float(r & ~0x1fffu);
    });
}

void dcc_emu_mma_s8(void **slot)
{
    emu_mma<4, int32_t>(slot, [](uint32_t r, int p) {
        return (int32_t)(int8_t)(r >> 8 * p);
    });
}
