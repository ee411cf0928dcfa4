/* emu.h - what the emulator's own sources share: threads, blocks, and the
 * scheduler of one OS thread, which runs one cluster of blocks at a time.
 */
#ifndef DCC_EMU_INTERNAL_H
#define DCC_EMU_INTERNAL_H

#include <deque>
#include <vector>

#include "dcc_emu.h"
#include "dcc_emu_device.h"

enum {
    EMU_MAX_THREADS = 1024, /* a block */
    EMU_MAX_CLUSTER = 16,   /* blocks */
    EMU_MAX_SMEM = 227 << 10,
    EMU_BARRIERS = 16,
    EMU_STACK = 256 << 10
};

struct EmuBlock;
struct EmuThread;

/* A cp.async that has been issued and not performed (lazy mode). */
struct EmuCopy {
    unsigned char *to;
    const unsigned char *from;
    int width, bytes, group;
};

/* A TMA load or store, likewise. */
struct EmuTile {
    CUtensorMap map;
    int rank, c[5]; /* rank 0: the first 16 bytes of c are what goes there */
    int offset[3];     /* im2col: of the pixels */
    unsigned char *smem;
    uint64_t *barrier; /* loads */
    int group;         /* stores */
    const unsigned char *from; /* no tile: `bytes` that lie side by side */
    int bytes;
    EmuBlock *block;
};

/* An arrival at the mbarrier of another block, on its way (lazy mode). */
struct EmuArrival {
    uint64_t *barrier;
    EmuBlock *block;
    const EmuThread *by;
};

struct EmuThread {
    uint3 id;
    int linear;
    EmuBlock *block;
    void *sp;    /* where it stopped; NULL before its start */
    void *stack; /* NULL if it has none */
    bool done;
    bool waited; /* for the grid: memory is open to it */
    const char *where; /* what it waits for */
    const void *key;   /* the mbarrier it waits for, and its parity */
    int parity;
    unsigned cluster_phase;
    unsigned barrier_phase[EMU_BARRIERS]; /* + 1, of its last arrivals */
    int copy_groups, store_groups; /* committed so far */
    std::vector<EmuCopy> copies;
    std::vector<EmuTile> stores;
};

struct EmuBarrier {
    int arrived, expected;
    unsigned phase; /* how often all have arrived */
    std::vector<EmuThread *> waiting;
};

/* A collective in progress; a warp may have several of disjoint masks. */
struct EmuMeeting {
    unsigned mask, arrived; /* mask 0: free */
    dcc_emu_collective what;
    void *slot[32];
    EmuThread *waiting[32];
    int n_waiting;
};

struct EmuWarp {
    EmuMeeting meeting[4];
};

/* A wgmma that has been issued and not performed (lazy mode). */
struct EmuProduct {
    int n, type, accumulate, trans_a, trans_b, from_regs, group;
    uint64_t a, b;
    float *d[128];
    uint32_t a_regs[128][4];
};

struct EmuWarpgroup {
    int arrived, groups; /* threads at the meeting; groups committed */
    const void *what;
    std::vector<EmuThread *> waiting;
    EmuProduct next;
    std::deque<EmuProduct> products;
};

struct EmuBlock {
    uint3 index;
    unsigned rank; /* in its cluster */
    unsigned char *smem;
    int live;
    bool waited; /* one of its threads */
    EmuThread *threads;
    EmuBarrier barrier[EMU_BARRIERS];
    std::vector<EmuWarp> warps;
    std::vector<EmuWarpgroup> warpgroups;
};

/* Everything one OS thread needs to run clusters, kept between launches. */
struct EmuScheduler {
    EmuThread *current;
    int block_threads, n_blocks, n_live;
    size_t smem_bytes;
    const std::function<void()> *body;
    std::vector<EmuThread> threads; /* of all blocks, block after block */
    std::vector<EmuBlock> blocks;
    std::vector<int> order; /* of starting */
    size_t next_start;
    std::deque<EmuThread *> ready;
    std::vector<EmuThread *> on_mbarrier;
    std::deque<EmuTile> loads; /* in flight */
    std::deque<EmuArrival> arrivals;
    int cluster_arrived;
    unsigned cluster_phase;
    std::vector<EmuThread *> on_cluster;
    std::vector<EmuThread *> on_grid;
    bool grid_done; /* the launches ahead have run */
    std::vector<void *> free_stacks;
    uint64_t random;
    void *main_sp;
    const void *main_stack; /* for the address sanitizer */
    size_t main_stack_size;
};

extern __thread EmuScheduler *emu_scheduler;

struct EmuSettings {
    bool lazy, early;
    int order;
    int threads;
};
const EmuSettings &emu_settings();
/* What the environment says, 0 to `most`; anything else ends the program. */
uint64_t emu_number(const char *name, uint64_t most, uint64_t unset);

/* Returns `error`; cudaGetLastError has it from now on. */
cudaError_t emu_error(cudaError_t error);

/* The running thread waits until someone wakes it. */
void emu_park(const char *where);
void emu_wake(EmuThread *t);

/* Device memory is out of reach, but for reading constants, while `closed`:
 * what touches it is reported as a defect (early mode). */
void emu_close_memory(bool closed);

/* What new memory holds; p is aligned to 4. */
void emu_fill(void *p, size_t bytes);
/* Nothing was written behind what cudaMalloc gave. */
void emu_check_behind();

/* Runs `body` over the grid. The geometry has been checked. */
void emu_run_grid(const dcc_emu_geometry &geometry,
                  const std::function<void()> &body);

/* True if [p, p + bytes) lies in the block's shared memory. */
bool emu_in_smem(const EmuBlock *block, const void *p, size_t bytes);

/* Whether the running thread's copies are to happen as late as is legal; those
 * of one that has not waited for the grid happen while memory is closed. */
bool emu_is_lazy();

/* Performs the oldest load in flight (lazy mode: nobody else can go on); false
 * if there is none. */
bool emu_perform_load(EmuScheduler *s);

/* The same for the oldest arrival at another block, and for all of a thread
 * that releases what it did. */
bool emu_perform_arrival(EmuScheduler *s);
void emu_release_arrivals(EmuScheduler *s, const EmuThread *by);

/* A thread ends: what it may not leave behind. */
void emu_check_exit(EmuThread *t);
/* A block's last thread has ended: what may not be on its way to it. */
void emu_check_leave(const EmuScheduler *s, const EmuBlock *b);

#endif
