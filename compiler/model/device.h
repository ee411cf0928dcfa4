/* device.h - a GPU's figures, from devices/NAME.dev (embedded in the binary)
 * or a file of that form.
 *
 * A .dev file is lines `key = value  # source: remark`; the keys are in
 * device_keys(), with units and what they mean. The source says whose a figure
 * is: measured (on this GPU), published, fitted (to what kernels took on it) or
 * guess. `like = NAME` takes from another GPU what is not given: guesses. */
#ifndef DCC_DEVICE_H
#define DCC_DEVICE_H

#include "support/support.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    FROM_GUESS,
    FROM_FIT,
    FROM_MAKER,
    FROM_MEASUREMENT
} FigureSource;

enum { MOST_FIGURES = 100 };

/* What is the same on all GPUs. */
enum {
    KB = 1024,
    WARP = 32,
    SCHEDULERS = 4,          /* of an SM */
    BLOCK_THREADS = 1024,
    THREAD_REGS = 255,
    REGS_UNIT = 8,           /* registers are given out by as many */
    WARPGROUP = 128,         /* threads, */
    WGMMA_M = 64,            /* and rows of its products */
    WGMMA_OPS = 4096,        /* of an SM in a clock, 16 bits */
    MMA_M = 16, MMA_N = 8, MMA_K = 16, /* of an mma.sync of 16 bits */
    L2_SECTOR = 32, L2_LINE = 128, /* bytes */
    VECTOR_BYTES = 16,       /* of the widest access */
    KILO = 1000,             /* GHz or GB/s: clocks or MB a ms */
    MEGA = 1000000
};

typedef struct Device {
    const char *name;        /* h200 */
    const char *title;       /* NVIDIA H200 SXM */
    int sm;                  /* compute capability x 10: 90 */
    int sms;
    int cluster_sms;         /* of these, that clusters of 4 or 8 can fill */
    double clock_ghz;        /* boost */
    double hbm_gbs, l2_gbs;  /* reachable bandwidth */
    double l2_mb;
    double l2_keeps;         /* part of the L2 in which a tensor stays until it
                                is read */
    int smem_block_kb, smem_sm_kb, regs_sm, threads_sm, blocks_sm;
    double fma_tflops, mma_tflops, wgmma_tflops;
    double tf32_tflops, i8_tops; /* by wgmma, else by mma.sync */
    double mma_tf32_tflops, mma_i8_tops; /* by mma.sync */
    double mma_reached;      /* part of mma.sync's rates that the best loop
                                reaches */
    double special_gops;     /* exp, rsqrt, ...: 10^9 a second */
    double smem_bytes_clk;   /* a SM: 128 */
    double smem_latency, l2_latency, hbm_latency; /* clocks */
    double hbm_uneven;       /* part of the last tiles' time that the memory
                                waits where not all SMs have one */
    double tma_row_clk;      /* TMA, of a row of 128 bytes; of one that */
    double tma_odd_row_clk;  /* begins inside a sector, or ends inside its */
    double tma_few_terms_clk; /* box; where all do so for want of terms */
    /* A block's timeline, clocks: until it has asked the memory for anything;
     * of a ring's slot, whatever is in it, and where a window slides from slot
     * to slot; of barriers in a block, a cluster, and through memory; of an
     * instruction that waits for the one before. */
    double start_clk, slot_clk, window_clk, sync_clk, cluster_clk, memory_clk;
    double dependent_clk;
    double dsm_bytes_clk;    /* of an SM: to its cluster's shared memories, */
    double sm_bytes_clk;     /* from or to the L2 */
    /* Instructions: of a copy of a vector to shared memory; of a load or store;
     * of a guard, or an index of a window; of a loop's round. */
    double copy_ops, access_ops, guard_ops, round_ops;
    double part_sector;      /* how much longer the L2 takes over a sector of
                                which but a part is stored */
    double far_rows;         /* how much longer memory takes over rows of a KB
                                and more that one row of tiles reads */
    double run_bytes;        /* of memory's time: from a run to another one */
    double lone_warp;        /* part of FMA's rate that a scheduler's one warp
                                reaches where it has the registers of two */
    double hidden_ops;       /* a result, beside products and stores */
    double softmax_ops;      /* a score, beside its exponential */
    double issue_reached;    /* part of the issue slots that a loop reaches */
    double beside;           /* part of the shorter of two limits that shows */
    double l2_shared;        /* of loads that neighbours do at one time, the
                                part that the L2 sees */
    double power_math, power_smem; /* parts of wgmma's and of shared memory's
                                least time that power makes of a product */
    double launch_us;        /* one dependent node of a CUDA graph */
    double dependent_launch_us; /* the same by programmatic dependent launch;
                                0: the GPU has none */
    /* What the memory has to be asked by: part of the SMs; warps of an SM, or
     * bytes of copies under way. */
    double ask_sms, ask_warps, ask_warps_first, ask_kb;
    double fma_warps, mma_warps; /* of an SM, that reach a pipe's rate */
    double late_waves;       /* waves of blocks whose latency nothing hides */
    /* What nvcc makes of a thread. Registers beside its values: of a map, a
     * reduction, a walk over windows, one whose last tile is cut off (more),
     * one of rows that a block shares; the most that walks should have. Turns
     * of a loop whose loads are under way. */
    double map_regs, reduce_regs, walk_regs, ragged_regs, band_regs;
    double walk_most_regs, band_most_regs;
    double loads_ahead;
    FigureSource source[MOST_FIGURES];  /* of each key, in their order */
    const char *remark[MOST_FIGURES];   /* "" where there is none */
} Device;

typedef struct DeviceKey {
    const char *name;
    size_t offset;
    bool whole;          /* an int of Device, else a double */
    int since;           /* architecture from which it is more than 0 */
    const char *unit, *meaning;
} DeviceKey;

/* All keys; *n of them. */
const DeviceKey *device_keys(int *n);
double device_figure(const Device *d, const DeviceKey *k);
const char *source_name(FigureSource s);

/* NULL if unknown. `target` is a device's name or sm_XX (then a typical one
 * of that architecture). */
const Device *device_find(Arena *a, const char *target);
/* From the text of a .dev file; NULL and *why if it is not one. */
const Device *device_read(Arena *a, const char *name, const char *text,
                          const char **why);
/* From a file, if path ends in .dev; else NULL, and *why NULL. */
const Device *device_file(Arena *a, const char *path, const char **why);
/* The same GPU with the node cost of dependent launches, or NULL. */
const Device *device_dependent(Arena *a, const Device *d);
int device_count(void);
const char *device_name(Arena *a, int i);

#endif
