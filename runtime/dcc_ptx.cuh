// dcc_ptx.cuh - the PTX half of dcc_device.cuh, which includes it; the only
// inline PTX in dcc. Each wrapper is one instruction; the comment above names
// its section in the PTX ISA manual (version 8.8) and adds what the caller
// must know. All pointers called `smem` point into this block's shared memory.
#ifndef DCC_PTX_CUH
#define DCC_PTX_CUH

// A shared-memory pointer as the 32-bit address that PTX takes.
DCC_DEVICE uint32_t dcc_smem_u32(const void *smem)
{
    return (uint32_t)__cvta_generic_to_shared(smem);
}

// prefetch: brings the line into L2; never faults on valid memory.
DCC_DEVICE void dcc_prefetch_l2(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(global));
}

// The same of all lines of a row, which may be of the past: it brings no data,
// so it need not wait for who writes to it.
template <int BYTES> DCC_DEVICE void dcc_ask_row(const void *row)
{
#pragma unroll
    for (int at = 0; at < BYTES; at += 128)
        dcc_prefetch_l2(static_cast<const char *>(row) + at);
    if constexpr (BYTES % 128)
        dcc_prefetch_l2(static_cast<const char *>(row) + BYTES - 1);
}

// ld.global past the L1: words that are read once. In the order of the text, so
// that many are under way; not .nc, which the compiler moves over
// dcc_grid_wait, weights behind it and what others write before it.
DCC_DEVICE void dcc_stream16(uint32_t *to, const void *global)
{
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(global));
}

DCC_DEVICE void dcc_stream8(uint32_t *to, const void *global)
{
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(to[0]), "=r"(to[1])
                 : "l"(global));
}

DCC_DEVICE void dcc_stream4(uint32_t *to, const void *global)
{
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];"
                 : "=r"(to[0])
                 : "l"(global));
}

// st.global past the L1: what this kernel does not read again. On an H200 it is
// among the first to leave the L2, too. Nothing is said of memory: loads may be
// moved over it, as over a store to another address.
DCC_DEVICE void dcc_put16(void *global, const uint32_t *from)
{
    asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(global), "r"(from[0]), "r"(from[1]), "r"(from[2]),
                   "r"(from[3]));
}

DCC_DEVICE void dcc_put8(void *global, const uint32_t *from)
{
    asm volatile("st.global.L1::no_allocate.v2.u32 [%0], {%1, %2};"
                 :
                 : "l"(global), "r"(from[0]), "r"(from[1]));
}

DCC_DEVICE void dcc_put4(void *global, const uint32_t *from)
{
    asm volatile("st.global.L1::no_allocate.u32 [%0], %1;"
                 :
                 : "l"(global), "r"(from[0]));
}

DCC_DEVICE void dcc_put2(void *global, const uint32_t *from)
{
    asm volatile("st.global.L1::no_allocate.u16 [%0], %1;"
                 :
                 : "l"(global), "h"((uint16_t)from[0]));
}

// ex2.approx: 2^x off by 2 units of the last place at most; what would be
// subnormal is 0.
DCC_DEVICE float dcc_ex2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// rcp.approx: 1 / x off by 1 unit of the last place at most; what would be
// subnormal is 0.
DCC_DEVICE float dcc_rcp(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// max.NaN (sm_80): the greater, or NaN if one is.
DCC_DEVICE float dcc_max_nan(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return a != a || b != b ? a + b : fmaxf(a, b);
#else
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

// barrier{.cta}: named barrier 1..15 among `threads` threads (whole warps).
DCC_DEVICE void dcc_barrier_sync(int id, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

DCC_DEVICE void dcc_barrier_arrive(int id, int threads)
{
    asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// ---- cp.async (sm_80) ----

// cp.async: copies `bytes` (0..16) from global and zero-fills the rest of the
// 16. Both addresses are aligned to 16; global is not read beyond `bytes` but
// must be a valid pointer.
DCC_DEVICE void dcc_cp_async16(void *smem, const void *global, int bytes = 16)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     dcc_smem_u32(smem)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

// The same through the L1, for what other blocks of the SM want too: a line of
// the L2 that all SMs ask for serves one of them at a time.
DCC_DEVICE void dcc_cp_async16_shared(void *smem, const void *global,
                                      int bytes = 16)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(
                     dcc_smem_u32(smem)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

// createpolicy, .L2::cache_hint: dcc_cp_async16 of what is read once. It is the
// first to leave the L2.
DCC_DEVICE void dcc_cp_stream16(void *smem, const void *global, int bytes = 16)
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, "
                 "%2, %3;" ::"r"(dcc_smem_u32(smem)),
                 "l"(global), "r"(bytes), "l"(policy)
                 : "memory");
}

DCC_DEVICE void dcc_cp_async8(void *smem, const void *global, int bytes = 8)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                     dcc_smem_u32(smem)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

DCC_DEVICE void dcc_cp_async4(void *smem, const void *global, int bytes = 4)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                     dcc_smem_u32(smem)),
                 "l"(global), "r"(bytes)
                 : "memory");
}

// cp.async.commit_group: the copies since the last commit become one group.
DCC_DEVICE void dcc_cp_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// cp.async.wait_group: all but the N youngest groups of this thread are there.
// Other threads see them after a barrier.
template <int N> DCC_DEVICE void dcc_cp_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// ---- matrix fragments ----

// ldmatrix: 8x8 matrices of 16-bit elements; lane 8j + i gives the address of
// row i of matrix j (16 bytes, aligned to 16). `_trans` hands out columns.
DCC_DEVICE void dcc_ldmatrix_x4(uint32_t (&r)[4], const void *smem)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(dcc_smem_u32(smem))
        : "memory");
}

DCC_DEVICE void dcc_ldmatrix_x4_trans(uint32_t (&r)[4], const void *smem)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(dcc_smem_u32(smem))
        : "memory");
}

DCC_DEVICE void dcc_ldmatrix_x2(uint32_t (&r)[2], const void *smem)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(dcc_smem_u32(smem))
                 : "memory");
}

DCC_DEVICE void dcc_ldmatrix_x2_trans(uint32_t (&r)[2], const void *smem)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
        : "=r"(r[0]), "=r"(r[1])
        : "r"(dcc_smem_u32(smem))
        : "memory");
}

// mma.sync: d += a * b for one 16x8 tile of d, all 32 lanes together. With
// g = lane / 4 and t = lane % 4, d[0..3] are (g, 2t), (g, 2t+1), (g+8, 2t),
// (g+8, 2t+1). 16-bit: a[0..3] hold columns 2t, 2t+1 of rows g and g+8, then
// columns 2t+8, 2t+9 of the same rows; b[0..1] rows 2t, 2t+1, then 2t+8, 2t+9
// of column g.
DCC_DEVICE void dcc_mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4],
                                     const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}

DCC_DEVICE void dcc_mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4],
                                      const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}

// cvt.rna.tf32: the tf32 nearest to x, as mma.sync takes it.
DCC_DEVICE uint32_t dcc_to_tf32(float x)
{
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

// tf32: a[0..3] are (g, t), (g+8, t), (g, t+4), (g+8, t+4); b[0..1] are (t, g),
// (t+4, g).
DCC_DEVICE void dcc_mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4],
                                     const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}

// s8: each register holds four k; a[0..3] are k 4t.. of rows g and g+8, then
// k 4t+16.. of the same rows; b[0..1] k 4t.., then 4t+16.. of column g. The
// sum wraps.
DCC_DEVICE void dcc_mma_m16n8k32_s8(int32_t (&d)[4], const uint32_t (&a)[4],
                                    const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}

#endif // sm_80

// ---- griddepcontrol (sm_90; older GPUs run launches one after another) ----

// Waits until all launches before this one have finished and their writes are
// visible. Every thread that touches memory that a run writes executes it
// first, and so does at least one of every block: a launch is then done only
// when all before it are.
DCC_DEVICE void dcc_grid_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next launch begin once every block has come here or ended. Carries
// no data: the next one's dcc_grid_wait brings that.
DCC_DEVICE void dcc_grid_trigger()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// stmatrix: the reverse of ldmatrix.
DCC_DEVICE void dcc_stmatrix_x4(void *smem, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
                 "{%1, %2, %3, %4};" ::"r"(dcc_smem_u32(smem)),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

DCC_DEVICE void dcc_stmatrix_x4_trans(void *smem, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], "
                 "{%1, %2, %3, %4};" ::"r"(dcc_smem_u32(smem)),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// ---- mbarrier ----

// mbarrier.init: `count` arrivals complete a phase. One thread does it, then
// dcc_fence_mbar_init() and a barrier, before anyone else uses it.
DCC_DEVICE void dcc_mbar_init(uint64_t *smem, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                     dcc_smem_u32(smem)),
                 "r"(count)
                 : "memory");
}

// fence.mbarrier_init: makes inits visible to TMA and to the cluster.
DCC_DEVICE void dcc_fence_mbar_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DCC_DEVICE void dcc_mbar_arrive(uint64_t *smem)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                     dcc_smem_u32(smem))
                 : "memory");
}

// The same at the barrier of block `rank` of the cluster, at the same place. No
// wider release is asked for: it would wait for all of the warp's memory
// accesses, and what the barrier guards is read by wgmma and written by TMA.
DCC_DEVICE void dcc_mbar_arrive_at(uint64_t *smem, int rank)
{
    asm volatile("{\n"
                 ".reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [peer];\n"
                 "}" ::"r"(dcc_smem_u32(smem)),
                 "r"(rank)
                 : "memory");
}

// mbarrier.arrive.expect_tx: arrives, and the phase also waits for `bytes`.
DCC_DEVICE void dcc_mbar_expect_tx(uint64_t *smem, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     dcc_smem_u32(smem)),
                 "r"(bytes)
                 : "memory");
}

// mbarrier.try_wait: true once the phase of this parity has completed. A new
// barrier counts as having completed a phase of parity 1.
DCC_DEVICE bool dcc_mbar_try_wait(uint64_t *smem, int parity)
{
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(done)
                 : "r"(dcc_smem_u32(smem)), "r"(parity)
                 : "memory");
    return done != 0;
}

DCC_DEVICE void dcc_mbar_wait(uint64_t *smem, int parity)
{
    while (!dcc_mbar_try_wait(smem, parity)) {
    }
}

// fence.proxy.async: ordinary writes to shared memory before it are seen by
// TMA and wgmma after it.
DCC_DEVICE void dcc_fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// cp.async.bulk: `bytes` that lie side by side, a multiple of 16, from global
// into shared memory, both aligned to 16. This thread arrives at the barrier,
// whose phase waits for the bytes. What is read once is the first to leave the
// L2 (createpolicy, .L2::cache_hint).
DCC_DEVICE void dcc_bulk_load(void *smem, const void *global, int bytes,
                              uint64_t *barrier, bool once)
{
    dcc_mbar_expect_tx(barrier, bytes);
    if (once) {
        uint64_t policy;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                     : "=l"(policy));
        asm volatile("cp.async.bulk.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes.L2::cache_hint "
                     "[%0], [%1], %2, [%3], %4;" ::"r"(dcc_smem_u32(smem)),
                     "l"(global), "r"(bytes), "r"(dcc_smem_u32(barrier)),
                     "l"(policy)
                     : "memory");
    } else {
        asm volatile("cp.async.bulk.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :
                     : "r"(dcc_smem_u32(smem)), "l"(global), "r"(bytes),
                       "r"(dcc_smem_u32(barrier))
                     : "memory");
    }
}

// ---- TMA: tiled loads and stores ----

// prefetch.tensormap: the map is a __grid_constant__ parameter.
DCC_DEVICE void dcc_tma_prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// cp.async.bulk.tensor: one box at element coordinates c0 (innermost), c1, ...
// into shared memory; outside the tensor is zero. Its full size in bytes
// counts against the barrier's expect_tx. `smem` is aligned to 128 bytes, to
// the swizzle's 256, 512 or 1024.
DCC_DEVICE void dcc_tma_load_1d(void *smem, const CUtensorMap *map, int c0,
                                uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(
                     dcc_smem_u32(smem)),
                 "l"(map), "r"(c0), "r"(dcc_smem_u32(barrier))
                 : "memory");
}

DCC_DEVICE void dcc_tma_load_2d(void *smem, const CUtensorMap *map, int c0,
                                int c1, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(dcc_smem_u32(barrier))
        : "memory");
}

// createpolicy, .L2::cache_hint: the same for what is read once. It is the
// first to leave the L2.
DCC_DEVICE void dcc_tma_stream_2d(void *smem, const CUtensorMap *map, int c0,
                                  int c1, uint64_t *barrier)
{
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                 : "=l"(policy));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(dcc_smem_u32(barrier)), "l"(policy)
        : "memory");
}

DCC_DEVICE void dcc_tma_stream_4d(void *smem, const CUtensorMap *map, int c0,
                                  int c1, int c2, int c3, uint64_t *barrier)
{
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                 : "=l"(policy));
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
        "r"(dcc_smem_u32(barrier)), "l"(policy)
        : "memory");
}

DCC_DEVICE void dcc_tma_load_3d(void *smem, const CUtensorMap *map, int c0,
                                int c1, int c2, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
            dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(dcc_smem_u32(barrier))
        : "memory");
}

DCC_DEVICE void dcc_tma_load_4d(void *smem, const CUtensorMap *map, int c0,
                                int c1, int c2, int c3, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
        "r"(dcc_smem_u32(barrier))
        : "memory");
}

DCC_DEVICE void dcc_tma_load_5d(void *smem, const CUtensorMap *map, int c0,
                                int c1, int c2, int c3, int c4,
                                uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),
        "r"(dcc_smem_u32(barrier))
        : "memory");
}

// cp.async.bulk.tensor.im2col: pixels of the map from the one at c1, ... on,
// each moved by offset o1, ...: a window's tap.
DCC_DEVICE void dcc_tma_im2col_3d(void *smem, const CUtensorMap *map, int c0,
                                  int c1, int c2, int o1, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4}], [%5], {%6};" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(dcc_smem_u32(barrier)),
        "h"((uint16_t)o1)
        : "memory");
}

DCC_DEVICE void dcc_tma_im2col_4d(void *smem, const CUtensorMap *map, int c0,
                                  int c1, int c2, int c3, int o1, int o2,
                                  uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(
            dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)o1), "h"((uint16_t)o2)
        : "memory");
}

DCC_DEVICE void dcc_tma_im2col_5d(void *smem, const CUtensorMap *map, int c0,
                                  int c1, int c2, int c3, int c4, int o1,
                                  int o2, int o3, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10};" ::"r"(
            dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)o1), "h"((uint16_t)o2),
        "h"((uint16_t)o3)
        : "memory");
}

// The same with .multicast::cluster: into the shared memory of every block of
// the cluster whose bit is set in `blocks`, at the same place, counting against
// the barrier at the same place there.
DCC_DEVICE void dcc_tma_share_2d(void *smem, const CUtensorMap *map,
                                int c0, int c1, uint64_t *barrier, int blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)blocks)
        : "memory");
}

DCC_DEVICE void dcc_tma_share_3d(void *smem, const CUtensorMap *map,
                                int c0, int c1, int c2,
                                uint64_t *barrier, int blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)blocks)
        : "memory");
}

DCC_DEVICE void dcc_tma_share_4d(void *smem, const CUtensorMap *map,
                                int c0, int c1, int c2, int c3,
                                uint64_t *barrier, int blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)blocks)
        : "memory");
}

DCC_DEVICE void dcc_tma_share_5d(void *smem, const CUtensorMap *map,
                                int c0, int c1, int c2, int c3, int c4,
                                uint64_t *barrier, int blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], %8;" ::"r"(dcc_smem_u32(smem)),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),
        "r"(dcc_smem_u32(barrier)), "h"((uint16_t)blocks)
        : "memory");
}

// cp.async.bulk.tensor, shared to global: one thread, after dcc_fence_async()
// by the writers and a barrier. Elements outside the tensor are not written.
DCC_DEVICE void dcc_tma_store_1d(const CUtensorMap *map, int c0,
                                 const void *smem)
{
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1}], [%2];" ::"l"(map),
                 "r"(c0), "r"(dcc_smem_u32(smem))
                 : "memory");
}

DCC_DEVICE void dcc_tma_store_2d(const CUtensorMap *map, int c0, int c1,
                                 const void *smem)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(c0), "r"(c1), "r"(dcc_smem_u32(smem))
                 : "memory");
}

DCC_DEVICE void dcc_tma_store_3d(const CUtensorMap *map, int c0, int c1,
                                 int c2, const void *smem)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2, %3}], [%4];" ::"l"(map),
                 "r"(c0), "r"(c1), "r"(c2), "r"(dcc_smem_u32(smem))
                 : "memory");
}

DCC_DEVICE void dcc_tma_store_4d(const CUtensorMap *map, int c0, int c1,
                                 int c2, int c3, const void *smem)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2, %3, %4}], [%5];" ::"l"(map),
                 "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(dcc_smem_u32(smem))
                 : "memory");
}

DCC_DEVICE void dcc_tma_store_5d(const CUtensorMap *map, int c0, int c1,
                                 int c2, int c3, int c4, const void *smem)
{
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(map),
                 "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),
                 "r"(dcc_smem_u32(smem))
                 : "memory");
}

// cp.async.bulk.commit_group: this thread's stores become one group.
DCC_DEVICE void dcc_tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// cp.async.bulk.wait_group.read: shared memory of all but the N youngest
// groups has been read and may be written again.
template <int N> DCC_DEVICE void dcc_tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// cp.async.bulk.wait_group: all but the N youngest groups are complete.
template <int N> DCC_DEVICE void dcc_tma_store_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

// ---- warpgroups and clusters ----

// setmaxnreg (sm_90a): registers a thread, executed by whole warpgroups.
template <int N> DCC_DEVICE void dcc_registers_grow()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> DCC_DEVICE void dcc_registers_shrink()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// barrier.cluster: all threads of all blocks of the cluster.
DCC_DEVICE void dcc_cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

DCC_DEVICE void dcc_cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DCC_DEVICE void dcc_cluster_sync()
{
    dcc_cluster_arrive();
    dcc_cluster_wait();
}

// The same without memory: what was written before it need not be seen after
// it, and arrivals at other blocks may still be on their way, so this is no way
// to leave. Enough after dcc_fence_mbar_init().
DCC_DEVICE void dcc_cluster_arrive_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

DCC_DEVICE void dcc_cluster_meet()
{
    dcc_cluster_arrive_relaxed();
    dcc_cluster_wait();
}

// %cluster_ctarank: this block's rank in its cluster.
DCC_DEVICE uint32_t dcc_cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// mapa: the same place in the shared memory of block `rank` of the cluster,
// which must not have exited while it is used.
template <class T> DCC_DEVICE T *dcc_cluster_peer(T *smem, uint32_t rank)
{
    uint64_t peer;
    asm volatile("mapa.u64 %0, %1, %2;"
                 : "=l"(peer)
                 : "l"((uint64_t)smem), "r"(rank));
    return (T *)peer;
}

// st.async: 16 aligned bytes to the shared memory of a block of the cluster,
// counting against a barrier there; both addresses are dcc_cluster_peer's.
DCC_DEVICE void dcc_cluster_send(float4 *peer, float4 v, uint64_t *barrier)
{
    asm volatile("{\n"
                 ".reg .b64 to, bar;\n"
                 "cvta.to.shared::cluster.u64 to, %0;\n"
                 "cvta.to.shared::cluster.u64 bar, %1;\n"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
                 " [to], {%2, %3, %4, %5}, [bar];\n"
                 "}" ::"l"((uint64_t)peer),
                 "l"((uint64_t)barrier), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
                 : "memory");
}

#endif // sm_90

#endif
