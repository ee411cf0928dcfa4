/* cost.h - what the performance model says of a variant. */
#ifndef DCC_COST_H
#define DCC_COST_H

/* What a variant would cost; times in microseconds. The paper's ratios
 * (DeepCuts, section 4) rank variants, the times choose between groupings. */
typedef struct Cost {
    double us;                                    /* total */
    double hbm, l2, smem, math, special, latency; /* parts */
    double gm_ratio, sm_ratio, wb_ratio, pul;
    double pul_us; /* what the work takes at PUL of the peak rate */
    int coef_r;    /* 0: does not fit; `why` says what */
    const char *limiter, *why;
    double blocks;     /* of the grid */
    int threads, regs; /* a block's threads, a thread's registers (est.) */
    double smem_block; /* bytes of shared memory a block */
} Cost;

#endif
