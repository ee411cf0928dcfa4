/* emu_async.cpp - what is asynchronous on the GPU: cp.async, mbarriers, TMA.
 * In lazy mode a copy happens as late as is legal: cp.async and TMA stores
 * when their thread waits for them, TMA loads and arrivals at other blocks when
 * nobody else can go on; but at once before dcc_grid_wait in early mode, where
 * what a copy touches counts.
 */
#include "emu.h"

/* ---- cp.async ---- */

static void emu_copy(const EmuCopy &c)
{
    memcpy(c.to, c.from, (size_t)c.bytes);
    memset(c.to + c.bytes, 0, (size_t)(c.width - c.bytes));
}

void dcc_emu_cp_async(void *smem, const void *global, int width, int bytes)
{
    EmuThread *me = emu_scheduler->current;
    EmuCopy c = {(unsigned char *)smem, (const unsigned char *)global, width,
                 bytes, me->copy_groups};

    if (bytes < 0 || bytes > width)
        dcc_emu_fault("cp.async: %d of %d bytes", bytes, width);
    if ((uintptr_t)smem % (unsigned)width ||
        (uintptr_t)global % (unsigned)width)
        dcc_emu_fault("cp.async: address not aligned to %d", width);
    if (!emu_in_smem(me->block, smem, (size_t)width))
        dcc_emu_fault("cp.async: destination outside shared memory");
    if (emu_is_lazy())
        me->copies.push_back(c);
    else
        emu_copy(c);
}

void dcc_cp_commit()
{
    emu_scheduler->current->copy_groups++;
}

void dcc_emu_cp_wait(int n)
{
    EmuThread *me = emu_scheduler->current;
    size_t k = 0;

    while (k < me->copies.size() &&
           me->copies[k].group < me->copy_groups - n)
        emu_copy(me->copies[k++]);
    me->copies.erase(me->copies.begin(), me->copies.begin() + (long)k);
}

/* ---- mbarriers: 64 bits in shared memory, packed in our own way ---- */

struct EmuMbarrier {
    uint64_t phase : 1, pending : 20, count : 20, magic : 2;
    int64_t bytes : 21; /* still to come; may be negative for a moment */
};
static_assert(sizeof(EmuMbarrier) == 8, "an mbarrier is 64 bits");
enum { EMU_MAGIC = 1 }; /* new memory has 3 */

static EmuMbarrier *emu_mbarrier(uint64_t *smem, const EmuBlock *block)
{
    EmuMbarrier *b = (EmuMbarrier *)smem;

    if ((uintptr_t)smem % 8 || !emu_in_smem(block, smem, 8))
        dcc_emu_fault("mbarrier: %p is no place in shared memory",
                      (void *)smem);
    if (b->magic != EMU_MAGIC)
        dcc_emu_fault("mbarrier: used before it was initialised");
    return b;
}

void dcc_mbar_init(uint64_t *smem, int count)
{
    EmuMbarrier *b = (EmuMbarrier *)smem;

    if ((uintptr_t)smem % 8 ||
        !emu_in_smem(emu_scheduler->current->block, smem, 8))
        dcc_emu_fault("mbarrier: %p is no place in shared memory",
                      (void *)smem);
    if (count < 1 || count >= 1 << 20)
        dcc_emu_fault("mbarrier: count %d", count);
    memset(b, 0, sizeof *b);
    b->magic = EMU_MAGIC;
    b->pending = b->count = (unsigned)count & 0xfffff;
}

/* Ends the phase if nothing is missing, and wakes who waited for it. */
static void emu_mbarrier_check(EmuMbarrier *b)
{
    EmuScheduler *s = emu_scheduler;
    size_t kept = 0;

    if (b->pending || b->bytes)
        return;
    b->phase ^= 1;
    b->pending = b->count;
    for (EmuThread *t : s->on_mbarrier) {
        if (t->key == b && t->parity != (int)b->phase)
            emu_wake(t);
        else
            s->on_mbarrier[kept++] = t;
    }
    s->on_mbarrier.resize(kept);
}

static void emu_arrive(EmuMbarrier *b, int bytes)
{
    if (b->pending == 0)
        dcc_emu_fault("mbarrier: more than %d arrivals", (int)b->count);
    b->bytes += bytes;
    b->pending--;
    emu_mbarrier_check(b);
}

void dcc_mbar_expect_tx(uint64_t *smem, int bytes)
{
    emu_arrive(emu_mbarrier(smem, emu_scheduler->current->block), bytes);
}

void dcc_mbar_arrive_at(uint64_t *smem, int rank)
{
    EmuScheduler *s = emu_scheduler;
    uint64_t *peer = (uint64_t *)dcc_emu_cluster_peer(smem, (uint32_t)rank);
    EmuBlock *block = &s->blocks[(size_t)rank];
    EmuMbarrier *b = emu_mbarrier(peer, block);

    if (emu_settings().lazy && block != s->current->block)
        s->arrivals.push_back({peer, block, s->current});
    else
        emu_arrive(b, 0);
}

bool emu_perform_arrival(EmuScheduler *s)
{
    if (s->arrivals.empty())
        return false;
    EmuArrival a = s->arrivals.front();
    s->arrivals.pop_front();
    emu_arrive(emu_mbarrier(a.barrier, a.block), 0);
    return true;
}

void emu_release_arrivals(EmuScheduler *s, const EmuThread *by)
{
    std::deque<EmuArrival> kept;

    for (const EmuArrival &a : s->arrivals)
        if (a.by == by)
            emu_arrive(emu_mbarrier(a.barrier, a.block), 0);
        else
            kept.push_back(a);
    s->arrivals.swap(kept);
}

void emu_check_leave(const EmuScheduler *s, const EmuBlock *b)
{
    for (const EmuArrival &a : s->arrivals)
        if (a.block == b)
            dcc_emu_fault("block %u of the cluster exits with an arrival of "
                          "block %u on its way", b->rank, a.by->block->rank);
    for (const EmuTile &t : s->loads)
        if (t.block == b && t.rank == 0)
            dcc_emu_fault("block %u of the cluster exits before all that was "
                          "sent to it is there", b->rank);
}

void dcc_mbar_wait(uint64_t *smem, int parity)
{
    EmuScheduler *s = emu_scheduler;
    EmuMbarrier *b = emu_mbarrier(smem, s->current->block);

    if ((int)b->phase != (parity & 1))
        return;
    s->current->key = b;
    s->current->parity = parity & 1;
    s->on_mbarrier.push_back(s->current);
    emu_park("mbarrier wait");
}

/* ---- TMA ---- */

/* What CUtensorMap holds here. */
struct EmuMap {
    unsigned char *base;
    uint64_t dim[5];
    uint64_t stride[5]; /* bytes; [0] is the element */
    uint16_t box[5];
    uint8_t step[5];
    uint8_t rank, element, swizzle, tf32, magic;
    int16_t lower[3], upper[3]; /* im2col: where rows of pixels begin, end */
    uint16_t pixels;            /* 0: tiled */
};
static_assert(sizeof(EmuMap) <= sizeof(CUtensorMap), "fits");
enum { EMU_MAP_MAGIC = 0xd5 };

static int emu_element_bytes(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
        return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
        return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
        return 8;
    default:
        return 4;
    }
}

/* Bytes after which a swizzle's pattern repeats: 128 if there is none. */
static unsigned emu_swizzle_period(int swizzle)
{
    static const unsigned period[] = {128, 256, 512, 1024};

    return period[swizzle];
}

/* 16-byte chunks change places: the chunk's number is xor-ed with the number
 * of its 128-byte row, in 1, 2 or 3 bits. */
static size_t emu_swizzle(size_t at, int swizzle)
{
    static const size_t mask[] = {0, 0x10, 0x30, 0x70};

    return at ^ (at >> 3 & mask[swizzle]);
}

/* What both encodings ask for; a swizzled row of a box is also required to be
 * as wide as its pattern. */
static bool emu_map_sizes(EmuMap *m, CUtensorMapDataType type, cuuint32_t rank,
                          void *base, const cuuint64_t *dim,
                          const cuuint64_t *stride, cuuint32_t row,
                          const cuuint32_t *step, CUtensorMapSwizzle swizzle)
{
    const int element = emu_element_bytes(type);

    memset(m, 0, sizeof *m);
    if (rank < 1 || rank > 5 || (uintptr_t)base % 16 || !base)
        return false;
    for (unsigned d = 0; d < rank; d++) {
        if (dim[d] < 1 || dim[d] > 1ull << 32 || step[d] < 1 || step[d] > 8)
            return false;
        if (d > 0 && (stride[d - 1] % 16 || stride[d - 1] >= 1ull << 40))
            return false;
        m->dim[d] = dim[d];
        m->stride[d] = d ? stride[d - 1] : (uint64_t)element;
        m->step[d] = (uint8_t)step[d];
    }
    m->base = (unsigned char *)base;
    m->rank = (uint8_t)rank;
    m->element = (uint8_t)element;
    m->swizzle = (uint8_t)swizzle;
    m->tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    m->magic = EMU_MAP_MAGIC;
    return row >= 1 && row <= 256 && row * (unsigned)element % 16 == 0 &&
           (!swizzle || row * (unsigned)element == 16u << swizzle);
}

static void emu_give_map(CUtensorMap *out, const EmuMap &m)
{
    memset((void *)out, 0, sizeof *out);
    memcpy((void *)out, &m, sizeof m);
}

/* The rules of cuTensorMapEncodeTiled. */
static CUresult emu_encode(CUtensorMap *out, CUtensorMapDataType type,
                           cuuint32_t rank, void *base, const cuuint64_t *dim,
                           const cuuint64_t *stride, const cuuint32_t *box,
                           const cuuint32_t *step, CUtensorMapInterleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                           CUtensorMapFloatOOBfill)
{
    EmuMap m;

    if (!emu_map_sizes(&m, type, rank, base, dim, stride, box[0], step,
                       swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned d = 0; d < rank; d++) {
        if (box[d] < 1 || box[d] > 256)
            return CUDA_ERROR_INVALID_VALUE;
        m.box[d] = (uint16_t)box[d];
    }
    emu_give_map(out, m);
    return CUDA_SUCCESS;
}

/* The rules of cuTensorMapEncodeIm2col. */
static CUresult emu_encode_im2col(
    CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *base,
    const cuuint64_t *dim, const cuuint64_t *stride, const int *lower,
    const int *upper, cuuint32_t channels, cuuint32_t pixels,
    const cuuint32_t *step, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
{
    const int least = rank == 3 ? -32768 : rank == 4 ? -128 : -16;
    EmuMap m;

    if (rank < 3 || pixels < 1 || pixels > 1024 ||
        !emu_map_sizes(&m, type, rank, base, dim, stride, channels, step,
                       swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned d = 0; d + 2 < rank; d++) {
        if (lower[d] < least || lower[d] > -least - 1 || upper[d] < least ||
            upper[d] > -least - 1 ||
            lower[d] > (int64_t)dim[d + 1] - 1 + upper[d])
            return CUDA_ERROR_INVALID_VALUE;
        m.lower[d] = (int16_t)lower[d];
        m.upper[d] = (int16_t)upper[d];
    }
    m.box[0] = (uint16_t)channels;
    m.pixels = (uint16_t)pixels;
    emu_give_map(out, m);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *name, void **out, unsigned, unsigned long long,
    cudaDriverEntryPointQueryResult *found)
{
    *out = !strcmp(name, "cuTensorMapEncodeTiled")    ? (void *)emu_encode
           : !strcmp(name, "cuTensorMapEncodeIm2col") ? (void *)emu_encode_im2col
                                                      : NULL;
    *found = *out ? cudaDriverEntryPointSuccess
                  : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

/* Elements of the box along d: steps of `step` from its start. */
static int emu_box_count(const EmuMap &m, int d)
{
    return d ? (m.box[d] + m.step[d] - 1) / m.step[d] : m.box[0];
}

static size_t emu_tile_bytes(const EmuMap &m)
{
    size_t n = m.element;

    if (m.pixels)
        return n * m.box[0] * m.pixels;
    for (int d = 0; d < m.rank; d++)
        n *= (size_t)emu_box_count(m, d);
    return n;
}

/* The row of the box at `at` (dimensions 1..): NULL if it is outside. */
static unsigned char *emu_row(const EmuMap &m, const EmuTile &t, const int *at)
{
    unsigned char *row = m.base;

    for (int d = 1; d < m.rank; d++) {
        const int64_t i = (int64_t)t.c[d] + (int64_t)at[d] * m.step[d];

        if (i < 0 || (uint64_t)i >= m.dim[d])
            return NULL;
        row += (uint64_t)i * m.stride[d];
    }
    return row;
}

/* The tf32 nearest to the f32 at p. */
static void emu_round_tf32(unsigned char *p)
{
    uint32_t bits;

    memcpy(&bits, p, sizeof bits);
    if ((bits & 0x7f800000) != 0x7f800000)
        bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(p, &bits, sizeof bits);
}

/* Moves a row of a box, whose elements are at `row` (NULL: outside), from or
 * to `to` in shared memory. */
static void emu_move_row(const EmuMap &m, const EmuTile &t, unsigned char *row,
                         size_t to, bool load)
{
    for (int i = 0; i < m.box[0]; i++, to += m.element) {
        const int64_t x = (int64_t)t.c[0] + i;
        const bool in = row && x >= 0 && (uint64_t)x < m.dim[0];
        unsigned char *s = t.block->smem + emu_swizzle(to, m.swizzle);

        if (load && in)
            memcpy(s, row + x * m.element, m.element);
        else if (load)
            memset(s, 0, m.element);
        else if (in)
            memcpy(row + x * m.element, s, m.element);
        if (load && m.tf32)
            emu_round_tf32(s);
    }
}

/* Loads neighbouring pixels: along a row of an image, then the next one. */
static void emu_move_pixels(const EmuMap &m, const EmuTile &t)
{
    static const int none[5] = {0, 0, 0, 0, 0};
    size_t to = (size_t)(t.smem - t.block->smem);
    EmuTile at = t;

    for (int i = 0; i < m.pixels; i++, to += m.box[0] * m.element) {
        EmuTile tap = at;
        int d = 1;
        for (int k = 0; k + 2 < m.rank; k++)
            tap.c[k + 1] += t.offset[k];
        emu_move_row(m, t, emu_row(m, tap, none), to, true);
        while (d + 1 < m.rank && (at.c[d] += m.step[d]) >
                                     (int64_t)m.dim[d] - 1 + m.upper[d - 1]) {
            at.c[d] = m.lower[d - 1];
            d++;
        }
        if (d + 1 == m.rank)
            at.c[d]++;
    }
}

/* Moves a tile's elements between global and shared memory. */
static void emu_move_tile(const EmuTile &t, bool load)
{
    EmuMap m;
    int at[5] = {0, 0, 0, 0, 0};
    size_t to = (size_t)(t.smem - t.block->smem);

    memcpy(&m, (const void *)&t.map, sizeof m);
    if (m.pixels) {
        emu_move_pixels(m, t);
        return;
    }
    for (;; to += m.box[0] * m.element) {
        int d = 1;

        emu_move_row(m, t, emu_row(m, t, at), to, load);
        while (d < m.rank && ++at[d] == emu_box_count(m, d))
            at[d++] = 0;
        if (d >= m.rank)
            return;
    }
}

/* Checks what the hardware would fault on; the tile's size in bytes. */
static size_t emu_check_tile(const EmuTile &t, const char *what)
{
    EmuMap m;
    size_t bytes;

    memcpy(&m, (const void *)&t.map, sizeof m);
    if (m.magic != EMU_MAP_MAGIC)
        dcc_emu_fault("%s: the tensor map was never encoded", what);
    if (m.rank != t.rank)
        dcc_emu_fault("%s: %d coordinates for a map of rank %d", what, t.rank,
                      m.rank);
    if ((int64_t)t.c[0] * m.element % 16)
        dcc_emu_fault("%s: neighbours from %d on, no multiple of 16 bytes",
                      what, t.c[0]);
    for (int d = 1; m.pixels && d + 1 < m.rank; d++)
        if (t.c[d] < m.lower[d - 1] ||
            t.c[d] > (int64_t)m.dim[d] - 1 + m.upper[d - 1] ||
            (t.c[d] - m.lower[d - 1]) % m.step[d])
            dcc_emu_fault("%s: no pixel of the map at %d in dimension %d",
                          what, t.c[d], d);
    bytes = emu_tile_bytes(m);
    if (!emu_in_smem(t.block, t.smem, bytes))
        dcc_emu_fault("%s: a tile of %zu bytes leaves shared memory", what,
                      bytes);
    if ((size_t)(t.smem - t.block->smem) % emu_swizzle_period(m.swizzle))
        dcc_emu_fault("%s: shared address not aligned to %u", what,
                      emu_swizzle_period(m.swizzle));
    return bytes;
}

static EmuTile emu_tile(const CUtensorMap *map, int rank, const int *c,
                        const void *smem)
{
    EmuTile t;

    memset((void *)&t, 0, sizeof t);
    t.map = *map;
    t.rank = rank;
    memcpy(t.c, c, (size_t)rank * sizeof *c);
    t.smem = (unsigned char *)smem;
    t.block = emu_scheduler->current->block;
    return t;
}

static void emu_load(const EmuTile &t)
{
    EmuMbarrier *b = emu_mbarrier(t.barrier, t.block);

    if (t.from) {
        memcpy(t.smem, t.from, (size_t)t.bytes);
        b->bytes -= t.bytes;
    } else if (t.rank == 0) {
        memcpy(t.smem, t.c, sizeof(float4));
        b->bytes -= (int64_t)sizeof(float4);
    } else {
        emu_move_tile(t, true);
        b->bytes -= (int64_t)emu_check_tile(t, "TMA load");
    }
    emu_mbarrier_check(b);
}

/* Begins a load; a map of the other mode would fault. */
static void emu_begin_load(EmuTile t, uint64_t *barrier, bool im2col)
{
    EmuMap m;

    memcpy(&m, (const void *)&t.map, sizeof m);
    t.barrier = barrier;
    emu_check_tile(t, "TMA load");
    if ((m.pixels > 0) != im2col)
        dcc_emu_fault("TMA load: a %s map", im2col ? "tiled" : "im2col");
    emu_mbarrier(barrier, t.block);
    if (emu_is_lazy())
        emu_scheduler->loads.push_back(t);
    else
        emu_load(t);
}

void dcc_bulk_load(void *smem, const void *global, int bytes,
                   uint64_t *barrier, bool)
{
    EmuTile t;

    memset((void *)&t, 0, sizeof t);
    t.smem = (unsigned char *)smem;
    t.block = emu_scheduler->current->block;
    t.barrier = barrier;
    t.from = (const unsigned char *)global;
    t.bytes = bytes;
    if (bytes <= 0 || bytes % 16 || (uintptr_t)smem % 16 ||
        (uintptr_t)global % 16)
        dcc_emu_fault("bulk load: %d bytes, or an address, not in units of 16",
                      bytes);
    if (!emu_in_smem(t.block, smem, (size_t)bytes))
        dcc_emu_fault("bulk load: %d bytes leave shared memory", bytes);
    dcc_mbar_expect_tx(barrier, bytes);
    if (emu_is_lazy())
        emu_scheduler->loads.push_back(t);
    else
        emu_load(t);
}

void dcc_emu_tma_load(void *smem, const CUtensorMap *map, int rank,
                      const int *c, uint64_t *barrier)
{
    emu_begin_load(emu_tile(map, rank, c, smem), barrier, false);
}

void dcc_emu_tma_im2col(void *smem, const CUtensorMap *map, int rank,
                        const int *c, const int *offset, uint64_t *barrier)
{
    EmuTile t = emu_tile(map, rank, c, smem);

    for (int d = 0; d + 2 < rank; d++) {
        t.offset[d] = offset[d];
        if (offset[d] < 0 || offset[d] > (rank == 3   ? 0xffff
                                          : rank == 4 ? 0xff
                                                      : 0x1f))
            dcc_emu_fault("TMA im2col: offset %d", offset[d]);
    }
    emu_begin_load(t, barrier, true);
}

void dcc_emu_tma_share(void *smem, const CUtensorMap *map, int rank,
                       const int *c, uint64_t *barrier, int blocks)
{
    EmuScheduler *s = emu_scheduler;

    for (int peer = 0; blocks >> peer; peer++) {
        if (!(blocks >> peer & 1))
            continue;
        EmuTile t = emu_tile(map, rank, c,
                             dcc_emu_cluster_peer(smem, (uint32_t)peer));
        t.block = &s->blocks[(size_t)peer];
        t.barrier = (uint64_t *)dcc_emu_cluster_peer(barrier, (uint32_t)peer);
        emu_check_tile(t, "TMA multicast");
        emu_mbarrier(t.barrier, t.block);
        if (emu_is_lazy())
            s->loads.push_back(t);
        else
            emu_load(t);
    }
}

void dcc_cluster_send(float4 *peer, float4 v, uint64_t *barrier)
{
    EmuScheduler *s = emu_scheduler;
    EmuTile t;

    memset((void *)&t, 0, sizeof t);
    memcpy(t.c, &v, sizeof v);
    t.smem = (unsigned char *)peer;
    t.barrier = barrier;
    for (int i = 0; i < s->n_blocks; i++)
        if (emu_in_smem(&s->blocks[(size_t)i], peer, sizeof v))
            t.block = &s->blocks[(size_t)i];
    if (!t.block || (uintptr_t)peer % sizeof v)
        dcc_emu_fault("st.async: %p is no place in the cluster's shared memory",
                      (void *)peer);
    if (t.block->live == 0)
        dcc_emu_fault("st.async: block %u has exited", t.block->rank);
    emu_mbarrier(barrier, t.block);
    if (emu_is_lazy())
        s->loads.push_back(t);
    else
        emu_load(t);
}

bool emu_perform_load(EmuScheduler *s)
{
    if (s->loads.empty())
        return false;
    EmuTile t = s->loads.front();
    s->loads.pop_front();
    emu_close_memory(false); /* the thread that began it had waited */
    emu_load(t);
    return true;
}

void dcc_emu_tma_store(const CUtensorMap *map, int rank, const int *c,
                       const void *smem)
{
    EmuThread *me = emu_scheduler->current;
    EmuTile t = emu_tile(map, rank, c, smem);

    t.group = me->store_groups;
    emu_check_tile(t, "TMA store");
    if (emu_is_lazy())
        me->stores.push_back(t);
    else
        emu_move_tile(t, false);
}

void dcc_tma_store_commit()
{
    emu_scheduler->current->store_groups++;
}

void dcc_emu_store_wait(int n)
{
    EmuThread *me = emu_scheduler->current;
    size_t k = 0;

    while (k < me->stores.size() &&
           me->stores[k].group < me->store_groups - n)
        emu_move_tile(me->stores[k++], false);
    me->stores.erase(me->stores.begin(), me->stores.begin() + (long)k);
}

void emu_check_exit(EmuThread *t)
{
    if (!t->stores.empty())
        dcc_emu_fault("exits without waiting for its TMA stores");
}
