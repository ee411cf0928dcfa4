/* dcc_emu_device.h - CPU versions of the wrappers of dcc_ptx.cuh, which
 * documents them; dcc_device.cuh includes one of the two.
 */
#ifndef DCC_EMU_DEVICE_H
#define DCC_EMU_DEVICE_H

uint32_t dcc_smem_u32(const void *smem);
static inline void dcc_prefetch_l2(const void *global)
{
    (void)*(const volatile char *)global; /* there is such an address */
}
template <int BYTES> static inline void dcc_ask_row(const void *) {}
static inline void dcc_stream16(uint32_t *to, const void *global)
{
    for (int i = 0; i < 4; i++)
        to[i] = ((const uint32_t *)global)[i];
}
static inline void dcc_stream8(uint32_t *to, const void *global)
{
    for (int i = 0; i < 2; i++)
        to[i] = ((const uint32_t *)global)[i];
}

static inline void dcc_stream4(uint32_t *to, const void *global)
{
    to[0] = *(const uint32_t *)global;
}
static inline void dcc_put16(void *global, const uint32_t *from)
{
    for (int i = 0; i < 4; i++)
        ((uint32_t *)global)[i] = from[i];
}
static inline void dcc_put8(void *global, const uint32_t *from)
{
    for (int i = 0; i < 2; i++)
        ((uint32_t *)global)[i] = from[i];
}
static inline void dcc_put4(void *global, const uint32_t *from)
{
    *(uint32_t *)global = from[0];
}

static inline void dcc_put2(void *global, const uint32_t *from)
{
    *(uint16_t *)global = (uint16_t)from[0];
}

static inline float dcc_emu_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static inline float dcc_ex2(float x)
{
    return dcc_emu_flush(exp2f(dcc_emu_flush(x)));
}
static inline float dcc_max_nan(float a, float b)
{
    return a != a || b != b ? a + b : fmaxf(a, b);
}
static inline float dcc_rcp(float x)
{
    return dcc_emu_flush(1 / dcc_emu_flush(x));
}

static inline void dcc_barrier_sync(int id, int threads)
{
    dcc_emu_barrier(id, threads, 0, "dcc_barrier_sync");
}
static inline void dcc_barrier_arrive(int id, int threads)
{
    dcc_emu_barrier(id, threads, 1, "dcc_barrier_arrive");
}

/* ---- cp.async ---- */

void dcc_emu_cp_async(void *smem, const void *global, int width, int bytes);
static inline void dcc_cp_async16(void *smem, const void *global,
                                  int bytes = 16)
{
    dcc_emu_cp_async(smem, global, 16, bytes);
}
static inline void dcc_cp_async16_shared(void *smem, const void *global,
                                         int bytes = 16)
{
    dcc_emu_cp_async(smem, global, 16, bytes);
}
static inline void dcc_cp_stream16(void *smem, const void *global,
                                   int bytes = 16)
{
    dcc_emu_cp_async(smem, global, 16, bytes);
}
static inline void dcc_cp_async8(void *smem, const void *global, int bytes = 8)
{
    dcc_emu_cp_async(smem, global, 8, bytes);
}
static inline void dcc_cp_async4(void *smem, const void *global, int bytes = 4)
{
    dcc_emu_cp_async(smem, global, 4, bytes);
}
void dcc_cp_commit();
void dcc_emu_cp_wait(int n);
template <int N> static inline void dcc_cp_wait() { dcc_emu_cp_wait(N); }

/* ---- matrix fragments ---- */

struct dcc_emu_matrix {
    unsigned char *row; /* this lane's row address */
    uint32_t *r;
    int n, trans, store;
};
void dcc_emu_matrices(void **slot);
static inline void dcc_emu_ldmatrix(uint32_t *r, const void *smem, int n,
                                    int trans)
{
    dcc_emu_matrix m = {(unsigned char *)smem, r, n, trans, 0};
    dcc_emu_warp(~0u, &m, dcc_emu_matrices, "ldmatrix");
}
static inline void dcc_emu_stmatrix(void *smem, const uint32_t *r, int n,
                                    int trans)
{
    dcc_emu_matrix m = {(unsigned char *)smem, (uint32_t *)r, n, trans, 1};
    dcc_emu_warp(~0u, &m, dcc_emu_matrices, "stmatrix");
}
static inline void dcc_ldmatrix_x4(uint32_t (&r)[4], const void *smem)
{
    dcc_emu_ldmatrix(r, smem, 4, 0);
}
static inline void dcc_ldmatrix_x4_trans(uint32_t (&r)[4], const void *smem)
{
    dcc_emu_ldmatrix(r, smem, 4, 1);
}
static inline void dcc_ldmatrix_x2(uint32_t (&r)[2], const void *smem)
{
    dcc_emu_ldmatrix(r, smem, 2, 0);
}
static inline void dcc_ldmatrix_x2_trans(uint32_t (&r)[2], const void *smem)
{
    dcc_emu_ldmatrix(r, smem, 2, 1);
}
static inline void dcc_stmatrix_x4(void *smem, const uint32_t (&r)[4])
{
    dcc_emu_stmatrix(smem, r, 4, 0);
}
static inline void dcc_stmatrix_x4_trans(void *smem, const uint32_t (&r)[4])
{
    dcc_emu_stmatrix(smem, r, 4, 1);
}

struct dcc_emu_mma {
    void *d; /* float[4], or int32_t[4] for s8 */
    const uint32_t *a, *b;
};
void dcc_emu_mma_f16(void **slot);
void dcc_emu_mma_bf16(void **slot);
void dcc_emu_mma_tf32(void **slot);
void dcc_emu_mma_s8(void **slot);
static inline void dcc_mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2])
{
    dcc_emu_mma m = {d, a, b};
    dcc_emu_warp(~0u, &m, dcc_emu_mma_f16, "mma.sync f16");
}
static inline void dcc_mma_m16n8k16_bf16(float (&d)[4],
                                         const uint32_t (&a)[4],
                                         const uint32_t (&b)[2])
{
    dcc_emu_mma m = {d, a, b};
    dcc_emu_warp(~0u, &m, dcc_emu_mma_bf16, "mma.sync bf16");
}
static inline void dcc_mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4],
                                        const uint32_t (&b)[2])
{
    dcc_emu_mma m = {d, a, b};
    dcc_emu_warp(~0u, &m, dcc_emu_mma_tf32, "mma.sync tf32");
}
static inline void dcc_mma_m16n8k32_s8(int32_t (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2])
{
    dcc_emu_mma m = {d, a, b};
    dcc_emu_warp(~0u, &m, dcc_emu_mma_s8, "mma.sync s8");
}
/* Nearest, ties away from zero; NaN and infinity stay. */
static inline uint32_t dcc_to_tf32(float x)
{
    const uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return bits;
    return (bits + 0x1000u) & ~0x1fffu;
}

/* ---- mbarrier, TMA ---- */

void dcc_mbar_init(uint64_t *smem, int count);
static inline void dcc_fence_mbar_init() {}
void dcc_mbar_expect_tx(uint64_t *smem, int bytes);
static inline void dcc_mbar_arrive(uint64_t *smem)
{
    dcc_mbar_expect_tx(smem, 0);
}
void dcc_mbar_arrive_at(uint64_t *smem, int rank);
void dcc_mbar_wait(uint64_t *smem, int parity);
static inline bool dcc_mbar_try_wait(uint64_t *smem, int parity)
{
    dcc_mbar_wait(smem, parity); /* may suspend; here it always does */
    return true;
}
static inline void dcc_fence_async() {}

void dcc_bulk_load(void *smem, const void *global, int bytes,
                   uint64_t *barrier, bool once);
static inline void dcc_tma_prefetch_map(const CUtensorMap *) {}
void dcc_emu_tma_load(void *smem, const CUtensorMap *map, int rank,
                      const int *c, uint64_t *barrier);
void dcc_emu_tma_store(const CUtensorMap *map, int rank, const int *c,
                       const void *smem);

static inline void dcc_tma_load_1d(void *smem, const CUtensorMap *map, int c0,
                                   uint64_t *barrier)
{
    const int c[] = {c0};
    dcc_emu_tma_load(smem, map, 1, c, barrier);
}
static inline void dcc_tma_load_2d(void *smem, const CUtensorMap *map, int c0,
                                   int c1, uint64_t *barrier)
{
    const int c[] = {c0, c1};
    dcc_emu_tma_load(smem, map, 2, c, barrier);
}
static inline void dcc_tma_stream_2d(void *smem, const CUtensorMap *map,
                                     int c0, int c1, uint64_t *barrier)
{
    dcc_tma_load_2d(smem, map, c0, c1, barrier);
}
static inline void dcc_tma_stream_4d(void *smem, const CUtensorMap *map,
                                     int c0, int c1, int c2, int c3,
                                     uint64_t *barrier)
{
    const int c[] = {c0, c1, c2, c3};
    dcc_emu_tma_load(smem, map, 4, c, barrier);
}
static inline void dcc_tma_load_3d(void *smem, const CUtensorMap *map, int c0,
                                   int c1, int c2, uint64_t *barrier)
{
    const int c[] = {c0, c1, c2};
    dcc_emu_tma_load(smem, map, 3, c, barrier);
}
static inline void dcc_tma_load_4d(void *smem, const CUtensorMap *map, int c0,
                                   int c1, int c2, int c3, uint64_t *barrier)
{
    const int c[] = {c0, c1, c2, c3};
    dcc_emu_tma_load(smem, map, 4, c, barrier);
}
static inline void dcc_tma_load_5d(void *smem, const CUtensorMap *map, int c0,
                                   int c1, int c2, int c3, int c4,
                                   uint64_t *barrier)
{
    const int c[] = {c0, c1, c2, c3, c4};
    dcc_emu_tma_load(smem, map, 5, c, barrier);
}
void dcc_emu_tma_im2col(void *smem, const CUtensorMap *map, int rank,
                        const int *c, const int *offset, uint64_t *barrier);
static inline void dcc_tma_im2col_3d(void *smem, const CUtensorMap *map,
                                     int c0, int c1, int c2, int o1,
                                     uint64_t *barrier)
{
    const int c[] = {c0, c1, c2};
    dcc_emu_tma_im2col(smem, map, 3, c, &o1, barrier);
}
static inline void dcc_tma_im2col_4d(void *smem, const CUtensorMap *map,
                                     int c0, int c1, int c2, int c3, int o1,
                                     int o2, uint64_t *barrier)
{
    const int c[] = {c0, c1, c2, c3}, o[] = {o1, o2};
    dcc_emu_tma_im2col(smem, map, 4, c, o, barrier);
}
static inline void dcc_tma_im2col_5d(void *smem, const CUtensorMap *map,
                                     int c0, int c1, int c2, int c3, int c4,
                                     int o1, int o2, int o3, uint64_t *barrier)
{
    const int c[] = {c0, c1, c2, c3, c4}, o[] = {o1, o2, o3};
    dcc_emu_tma_im2col(smem, map, 5, c, o, barrier);
}
void dcc_emu_tma_share(void *smem, const CUtensorMap *map, int rank,
                       const int *c, uint64_t *barrier, int blocks);
static inline void dcc_tma_share_2d(void *smem, const CUtensorMap *map,
                                   int c0, int c1,
                                   uint64_t *barrier, int blocks)
{
    const int c[] = {c0, c1};
    dcc_emu_tma_share(smem, map, 2, c, barrier, blocks);
}
static inline void dcc_tma_share_3d(void *smem, const CUtensorMap *map,
                                   int c0, int c1, int c2,
                                   uint64_t *barrier, int blocks)
{
    const int c[] = {c0, c1, c2};
    dcc_emu_tma_share(smem, map, 3, c, barrier, blocks);
}
static inline void dcc_tma_share_4d(void *smem, const CUtensorMap *map,
                                   int c0, int c1, int c2, int c3,
                                   uint64_t *barrier, int blocks)
{
    const int c[] = {c0, c1, c2, c3};
    dcc_emu_tma_share(smem, map, 4, c, barrier, blocks);
}
static inline void dcc_tma_share_5d(void *smem, const CUtensorMap *map,
                                   int c0, int c1, int c2, int c3, int c4,
                                   uint64_t *barrier, int blocks)
{
    const int c[] = {c0, c1, c2, c3, c4};
    dcc_emu_tma_share(smem, map, 5, c, barrier, blocks);
}
static inline void dcc_tma_store_1d(const CUtensorMap *map, int c0,
                                    const void *smem)
{
    const int c[] = {c0};
    dcc_emu_tma_store(map, 1, c, smem);
}
static inline void dcc_tma_store_2d(const CUtensorMap *map, int c0, int c1,
                                    const void *smem)
{
    const int c[] = {c0, c1};
    dcc_emu_tma_store(map, 2, c, smem);
}
static inline void dcc_tma_store_3d(const CUtensorMap *map, int c0, int c1,
                                    int c2, const void *smem)
{
    const int c[] = {c0, c1, c2};
    dcc_emu_tma_store(map, 3, c, smem);
}
static inline void dcc_tma_store_4d(const CUtensorMap *map, int c0, int c1,
                                    int c2, int c3, const void *smem)
{
    const int c[] = {c0, c1, c2, c3};
    dcc_emu_tma_store(map, 4, c, smem);
}
static inline void dcc_tma_store_5d(const CUtensorMap *map, int c0, int c1,
                                    int c2, int c3, int c4, const void *smem)
{
    const int c[] = {c0, c1, c2, c3, c4};
    dcc_emu_tma_store(map, 5, c, smem);
}
void dcc_tma_store_commit();
void dcc_emu_store_wait(int n);
template <int N> static inline void dcc_tma_store_wait_read()
{
    dcc_emu_store_wait(N);
}
template <int N> static inline void dcc_tma_store_wait()
{
    dcc_emu_store_wait(N);
}

/* ---- warpgroups, clusters, dependent launch ---- */

/* One wgmma of the running thread: a is a descriptor, or `regs` holds it. */
void dcc_emu_wgmma(float *d, int n, int type, uint64_t a,
                   const uint32_t *regs, uint64_t b, int accumulate,
                   int trans_a, int trans_b);

template <int N> static inline void dcc_registers_grow() {}
template <int N> static inline void dcc_registers_shrink() {}

void dcc_cluster_arrive();
void dcc_cluster_wait();
static inline void dcc_cluster_sync()
{
    dcc_cluster_arrive();
    dcc_cluster_wait();
}
void dcc_cluster_arrive_relaxed();
static inline void dcc_cluster_meet()
{
    dcc_cluster_arrive_relaxed();
    dcc_cluster_wait();
}
uint32_t dcc_cluster_rank();
void *dcc_emu_cluster_peer(void *smem, uint32_t rank);
template <class T> static inline T *dcc_cluster_peer(T *smem, uint32_t rank)
{
    return (T *)dcc_emu_cluster_peer((void *)smem, rank);
}
void dcc_cluster_send(float4 *peer, float4 v, uint64_t *barrier);

void dcc_grid_wait();
static inline void dcc_grid_trigger() {}

#endif
