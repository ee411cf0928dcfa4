/* model.h - the performance model: DeepCuts' ratios, and microseconds.
 *
 * A family describes what a variant does (Work); model_cost turns it into the
 * paper's ratios and a time. Constants come from the device file only. */
#ifndef DCC_MODEL_H
#define DCC_MODEL_H

#include "group/groups.h"
#include "model/cost.h"
#include "model/device.h"

typedef enum { PIPE_FMA, PIPE_MMA, PIPE_WGMMA, PIPE_TF32,
               PIPE_MMA_TF32, PIPE_MMA_I8 } Pipe;

typedef struct Work {
    Pipe pipe;
    double flops;          /* useful operations, 2 a multiply-add */
    double padded_flops;   /* including those of cut-off tiles; >= flops */
    double efficiency;     /* of the pipe by this kernel's inner loop, 0..1 */
    double special;        /* exp, rsqrt, erf, division ... */
    double hbm_bytes;      /* each input once, each output once */
    double l2_bytes;       /* what the blocks ask for, re-reads included */
    double smem_bytes;     /* read and written in shared memory, all blocks */
    double scatter;        /* >= 1: factor on l2 time for narrow accesses */
    double blocks;         /* thread blocks of the grid (N_TB) */
    double late, part;     /* of them, those behind the others that have but a
                              part of another one's work each; and that part */
    int cluster;           /* blocks that need to run together; 0: one */
    int threads, regs;     /* a block's threads, a thread's registers (est.) */
    bool by_warps;         /* an SM's registers are its schedulers', who give
                              them to whole warps; what streams ask of memory
                              was fitted to rooms without that */
    double smem_block;     /* bytes of shared memory a block */
    double block_ops;      /* COMP_block, for OF_TB */
    double block_bytes;    /* bytes a block moves from global memory */
    double thread_ops, thread_loads; /* per inner step, for SMRatio */
    double bank_conflict;  /* COEF_bc, 1: none */
    double fill_us;        /* pipeline fill and drain of one block: estimate */
    double serial_us;      /* what a block takes between filling and draining
                              even if it has the SM for itself */
    double waves;          /* of blocks, in which fill_us and serial_us are
                              counted; 0: as blocks fit on an SM */
    double in_flight;      /* bytes of copies that a block has under way without
                              a warp waiting for them; 0: loads of warps */
    double warps_full;     /* warps on an SM that reach the pipe's rate; 0: the
                              usual number */
    double lone;           /* where the rate is that of a scheduler's warps: the
                              part of it that one warp alone reaches; else 0 */
    double serial_steps;   /* dependent global loads one after the other */
    int in_turn;           /* threads load, then compute, in so many parts of a
                              block that go on by themselves: others of the SM
                              and of other waves compute meanwhile; 0: both */
} Work;

/* Clocks of an SM as microseconds. */
double model_us(const Device *d, double clk);
/* Registers that a thread may have with n blocks of so many threads on an SM:
 * their warps are dealt to its schedulers. */
int model_thread_regs(const Device *d, int threads, int n);
/* Blocks of so many threads, registers and bytes of shared memory that an SM
 * holds, at least 1. */
double model_room(const Device *d, double threads, double regs, double smem);
/* The same of Work.by_warps. */
double model_whole_room(const Device *d, double threads, double regs,
                        double smem);
/* The memory's time for runs of so many bytes over that for whole lines. */
double model_runs(const Device *d, double run);
/* Clocks of a scheduler's tensor core for an mma.sync of 16 bits. */
double model_mma_clk(const Device *d);
void model_cost(const Device *d, const Work *w, Cost *c);

/* Microseconds of flops at PUL, the fraction of the pipe's peak that the paper
 * says so many blocks can reach: by their operations a byte (OF_TB) and a
 * thread's a load of shared memory. */
double model_potential(const Device *d, Pipe p, double flops, double blocks,
                       double block_ops, double thread_ops);

/* No kernel that does so much on a pipe takes less. */
double model_least(const Device *d, Pipe p, double flops);

/* More than stays in the L2 until it is read. */
bool model_too_large(const Device *d, double bytes);
/* Whether a run finds t in HBM: weights, inputs, and what is too large to have
 * stayed in the L2 since it was made. */
bool model_in_hbm(const Device *d, const Tensor *t);
/* Whether nobody will find in the L2 what is written to t: an output, or too
 * large to stay there. */
bool model_leaves(const Device *d, const Tensor *t);
/* Bytes of a tensor's elements that the group touches (each counted once, and
 * without those that an affine `c ? a : b` masks). */
double model_group_bytes(Graph *g, const Group *gr, const Device *d, double *in,
                         double *out);

#endif
