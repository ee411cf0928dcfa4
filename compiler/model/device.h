/* device.h - a GPU's figures, from devices/NAME.dev (embedded in the binary).
 *
 * A .dev file is lines `key = value  # comment`; keys are the fields below.
 * Published figures, replaced by measured ones where there are any. */
#ifndef DCC_DEVICE_H
#define DCC_DEVICE_H

#include "support/arena.h"

#include <stdbool.h>

typedef struct Device {
    const char *name;        /* h200 */
    const char *title;       /* NVIDIA H200 SXM */
    int sm;                  /* compute capability x 10: 90 */
    int sms;
    int cluster_sms;         /* of these, that clusters of 4 or 8 can fill */
    double clock_ghz;        /* boost */
    double hbm_gbs, l2_gbs;  /* reachable bandwidth */
    double l2_mb;
    int smem_block_kb, smem_sm_kb, regs_sm, threads_sm, blocks_sm;
    double fma_tflops, mma_tflops, wgmma_tflops, tf32_tflops, i8_tops;
    double special_gops;     /* exp, rsqrt, ...: 10^9 a second */
    double smem_bytes_clk;   /* a SM: 128 */
    double smem_latency, l2_latency, hbm_latency; /* clocks */
    double launch_us;        /* one dependent node of a CUDA graph */
    double dependent_launch_us; /* the same by programmatic dependent launch;
                                0: the GPU has none */
} Device;

/* NULL if unknown. `target` is a device's name or sm_XX (then a typical one
 * of that architecture). */
const Device *device_find(Arena *a, const char *target);
/* The same GPU with the node cost of dependent launches, or NULL. */
const Device *device_dependent(Arena *a, const Device *d);
int device_count(void);
const char *device_name(Arena *a, int i);

#endif
