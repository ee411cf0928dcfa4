/* emu_wgmma.cpp - the products of a warpgroup. The four warps meet at every
 * wgmma, commit and wait; in lazy mode a product happens when its group is
 * waited for. Layouts: PTX ISA, "Asynchronous Warpgroup Level Matrix
 * Instructions"; descriptors as dcc_wgmma.cuh makes them.
 */
#include "emu.h"

enum { EMU_WG = 128, EMU_WG_K = 16 };

enum { EMU_WG_F16, EMU_WG_BF16, EMU_WG_TF32 }; /* EmuProduct.type */

/* ---- meeting ---- */

static EmuWarpgroup *emu_warpgroup()
{
    EmuBlock *b = emu_scheduler->current->block;
    const size_t i = (size_t)emu_scheduler->current->linear / EMU_WG;

    if (b->warpgroups.size() <= i)
        dcc_emu_fault("wgmma: the block has no warpgroup %zu", i);
    return &b->warpgroups[i];
}

/* True for the last of the 128 threads to come; the others wait for it. */
static bool emu_meet_warpgroup(EmuWarpgroup *g, const void *what,
                               const char *where)
{
    EmuThread *me = emu_scheduler->current;

    if (g->arrived && g->what != what)
        dcc_emu_fault("%s: other threads of the warpgroup are elsewhere",
                      where);
    g->what = what;
    if (++g->arrived < EMU_WG) {
        g->waiting.push_back(me);
        emu_park(where);
        return false;
    }
    g->arrived = 0;
    return true;
}

static void emu_leave_warpgroup(EmuWarpgroup *g)
{
    for (EmuThread *t : g->waiting)
        emu_wake(t);
    g->waiting.clear();
}

/* ---- operands ---- */

struct EmuDescriptor {
    size_t start, lbo, sbo;
};

static EmuDescriptor emu_descriptor(uint64_t d)
{
    if (d >> 62 != 1)
        dcc_emu_fault("wgmma: a descriptor without the 128-byte swizzle");
    return {(size_t)(d & 0x3fff) << 4, (size_t)(d >> 16 & 0x3fff) << 4,
            (size_t)(d >> 32 & 0x3fff) << 4};
}

static float emu_wg_float(uint16_t bits, int type)
{
    return type == EMU_WG_BF16 ? dcc_emu_bfloat_to_float(bits)
                               : dcc_emu_half_to_float(bits);
}

/* The upper 19 bits are read. */
static float emu_wg_tf32(uint32_t bits)
{
    return __uint_as_float(bits & ~0x1fffu);
}

/* out[k][row] of a tile in shared memory. */
static void emu_wg_tile(const EmuBlock *block, uint64_t bits, bool trans,
                        int rows, int type, float *out)
{
    const EmuDescriptor d = emu_descriptor(bits);

    for (int row = 0; row < rows; row++)
        for (int k = 0; k < EMU_WG_K; k++) {
            const size_t r = (size_t)row, c = (size_t)k;
            const size_t at =
                trans ? d.start + r / 64 * d.lbo + c / 8 * d.sbo +
                            c % 8 * 128 + r % 64 * 2
                      : d.start + r / 8 * d.sbo + r % 8 * 128 + c * 2;
            const unsigned char *p = block->smem + (at ^ (at >> 3 & 0x70));
            uint16_t v;

            if (!emu_in_smem(block, p, 2))
                dcc_emu_fault("wgmma: a tile leaves shared memory");
            memcpy(&v, p, 2);
            out[k * rows + row] = emu_wg_float(v, type);
        }
}

/* The same of tf32, K-major, 8 k. */
static void emu_wg_tile_tf32(const EmuBlock *block, uint64_t bits, int rows,
                             float *out)
{
    const EmuDescriptor d = emu_descriptor(bits);

    for (int row = 0; row < rows; row++)
        for (int k = 0; k < EMU_WG_K / 2; k++) {
            const size_t r = (size_t)row;
            const size_t at =
                d.start + r / 8 * d.sbo + r % 8 * 128 + (size_t)k * 4;
            const unsigned char *p = block->smem + (at ^ (at >> 3 & 0x70));
            uint32_t v;

            if (!emu_in_smem(block, p, 4))
                dcc_emu_fault("wgmma: a tile leaves shared memory");
            memcpy(&v, p, 4);
            out[k * rows + row] = emu_wg_tf32(v);
        }
}

/* out[k][row] of the 64 rows that the threads hold. */
static void emu_wg_registers(const EmuProduct &p, float *out)
{
    for (int t = 0; t < EMU_WG; t++)
        for (int r = 0; r < 4; r++)
            for (int e = 0; e < 2; e++) {
                const int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;
                const int k = t % 4 * 2 + r / 2 * 8 + e;

                out[k * 64 + row] = emu_wg_float(
                    (uint16_t)(p.a_regs[t][r] >> 16 * e), p.type);
            }
}

static void emu_wg_registers_tf32(const EmuProduct &p, float *out)
{
    for (int t = 0; t < EMU_WG; t++)
        for (int r = 0; r < 4; r++) {
            const int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;

            out[(t % 4 + r / 2 * 4) * 64 + row] = emu_wg_tf32(p.a_regs[t][r]);
        }
}

/* a[k][row] and b[k][column]; returns how many k. */
static int emu_wg_operands(const EmuBlock *block, const EmuProduct &p,
                           float *a, float *b)
{
    if (p.type == EMU_WG_TF32) {
        if (p.from_regs)
            emu_wg_registers_tf32(p, a);
        else
            emu_wg_tile_tf32(block, p.a, 64, a);
        emu_wg_tile_tf32(block, p.b, p.n, b);
        return EMU_WG_K / 2;
    }
    if (p.from_regs)
        emu_wg_registers(p, a);
    else
        emu_wg_tile(block, p.a, p.trans_a, 64, p.type, a);
    emu_wg_tile(block, p.b, p.trans_b, p.n, p.type, b);
    return EMU_WG_K;
}

/* ---- products ---- */

static void emu_wg_multiply(const EmuBlock *block, const EmuProduct &p)
{
    static thread_local float a[EMU_WG_K * 64], b[EMU_WG_K * 256],
        c[64 * 256];
    const int n = p.n, depth = emu_wg_operands(block, p, a, b);

    memset(c, 0, sizeof *c * 64 * (size_t)n);
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < depth; k++)
            for (int j = 0; j < n; j++)
                c[i * n + j] += a[k * 64 + i] * b[k * n + j];
    for (int t = 0; t < EMU_WG; t++)
        for (int i = 0; i < n / 2; i++) {
            const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
            const int col = i / 4 * 8 + t % 4 * 2 + i % 2;
            const float v = c[row * n + col];

            p.d[t][i] = p.accumulate ? p.d[t][i] + v : v;
        }
}

void dcc_emu_wgmma(float *d, int n, int type, uint64_t a, const uint32_t *regs,
                   uint64_t b, int accumulate, int trans_a, int trans_b)
{
    EmuWarpgroup *g = emu_warpgroup();
    EmuThread *me = emu_scheduler->current;
    EmuProduct *p = &g->next;

    if (!g->arrived) {
        p->n = n;
        p->type = type;
        p->a = a;
        p->b = b;
        p->accumulate = accumulate;
        p->trans_a = trans_a;
        p->trans_b = trans_b;
        p->from_regs = regs != NULL;
        p->group = g->groups;
    } else if (p->n != n || p->a != a || p->b != b ||
               p->accumulate != accumulate) {
        dcc_emu_fault("wgmma: threads of one warpgroup pass different tiles");
    }
    const int t = me->linear % EMU_WG;
    p->d[t] = d;
    if (regs)
        memcpy(p->a_regs[t], regs, sizeof p->a_regs[t]);
    if (!emu_meet_warpgroup(g, (const void *)dcc_emu_wgmma, "wgmma"))
        return;
    if (emu_settings().lazy)
        g->products.push_back(*p);
    else
        emu_wg_multiply(me->block, *p);
    emu_leave_warpgroup(g);
}

void dcc_wgmma_fence() {}

void dcc_wgmma_commit()
{
    EmuWarpgroup *g = emu_warpgroup();

    if (!emu_meet_warpgroup(g, (const void *)dcc_wgmma_commit,
                            "wgmma commit"))
        return;
    g->groups++;
    emu_leave_warpgroup(g);
}

void dcc_emu_wgmma_wait(int n)
{
    EmuWarpgroup *g = emu_warpgroup();
    const EmuBlock *block = emu_scheduler->current->block;

    if (!emu_meet_warpgroup(g, (const void *)dcc_emu_wgmma_wait,
                            "wgmma wait"))
        return;
    while (!g->products.empty() &&
           g->products.front().group < g->groups - n) {
        emu_wg_multiply(block, g->products.front());
        g->products.pop_front();
    }
    emu_leave_warpgroup(g);
}
