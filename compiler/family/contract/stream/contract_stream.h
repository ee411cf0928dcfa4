/* contract_stream.h - few rows against many weights that lie along k.
 *
 * Where contract_skinny's weights come to registers, here each warp has a ring
 * of slots in shared memory, and copies into it far ahead: STAGES slots of 8
 * columns by PIECE k. No warp waits for another before its sums are there. A
 * warp's k are its own, for all columns of the block, so that each element of
 * x is read by one warp, once, straight to registers: as rows of mma.sync,
 * whose 8 columns are a slot's; factors that tensor cores do not take are
 * multiplied as floats by the same lanes.
 *
 * In registers, a warp's whole part of x has to come before a first product,
 * and the memory rests meanwhile. Where x is copied as it lies in memory, it
 * comes through the ring too: a slot is PIECE k of all columns and rows. */
#ifndef DCC_FAMILY_CONTRACT_STREAM_H
#define DCC_FAMILY_CONTRACT_STREAM_H

#include "family/contract/skinny/contract_skinny.h"

/* What a variant decides. */
typedef struct Stream {
    const SkinnyForm *f;
    ContractPlan x; /* x.t: bm, bn: what a block finishes; bk: its part of K */
    int columns;    /* of a block, or of a cluster */
    int warps;
    int piece;      /* k of a slot */
    int pieces;     /* of a warp */
    int leaps;      /* a ring with x takes every leaps-th piece, in turns */
    int stages;     /* slots of its ring */
    int lane_k;     /* k of a lane in one step: 16 bytes of weights */
    int k_step;     /* of a warp */
    bool ring;      /* x comes through the ring, in its slots */
    int pitch;      /* elements from column to column of a slot */
    int chains;     /* sums of a slot that do not wait for each other */
    size_t smem;
    bool wide;      /* smem is more than is used: blocks spread evenly */
} Stream;

/* What its kernel's text is made with. */
typedef struct StreamBuild {
    ContractBuild x;
    const SkinnyForm *f;
    const Stream *p;
} StreamBuild;

/* NULL, or why the variant cannot be. */
const char *stream_plan(Stream *s, const SkinnyForm *f, const Variant *v);
/* LANE_K of x can be copied as they lie in memory. */
bool stream_whole(const Load *x, int lane_k);
const void *stream_open(Graph *g, const Group *gr, const Options *o,
                        const char **why);
int stream_space(const void *form, Variant **out);
const char *stream_text(const void *form, const Variant *v);
/* contract_stream_cost.c */
void stream_cost(const void *form, const Variant *v, Cost *c);

#endif
