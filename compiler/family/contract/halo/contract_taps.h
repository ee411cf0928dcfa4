/* contract_taps.h - the weights' gradients of convolutions of few channels, the
 * first layer of a network.
 *
 * Rows of the result are the taps of the window, columns the channels of the
 * convolution's result; the sum goes over pixels. As in contract_halo a row of
 * the window is a run of neighbours in memory. A block brings what TP x TQ
 * pixels read, halo included, and the gradients there into shared memory, while
 * it multiplies the tile before. ldmatrix reads the 8 taps of a pixel from 16
 * aligned bytes: there are copies of the input, each moved by some columns, so
 * that each pixel's run begins a piece of 8 in one of them.
 *
 * All blocks have all sums, of pixels of their own. The last one of a team of
 * blocks adds its team's up, the last team's last block those of all teams: in
 * the order of blocks, whichever comes last. */
#ifndef DCC_FAMILY_CONTRACT_TAPS_H
#define DCC_FAMILY_CONTRACT_TAPS_H

#include "family/contract/halo/contract_halo.h"

typedef struct Taps {
    const HaloForm *f;
    ContractPlan x;        /* of f->x; x.t: bm pixels, bn */
    int tp, tq;            /* x.t.bm = tp * tq pixels */
    int wm, wn;            /* rows, columns of a warp */
    int warps;             /* that have all sums */
    int slices;            /* of a tile's pixels, each `warps` warps' own */
    int pieces, groups;    /* 8 taps each: of a run, of all runs */
    int rows;              /* 8 * groups, whole warps' */
    int shift;             /* columns of the patch before tap 0 */
    int move, copies;      /* the i-th is moved by i * move */
    int copy;              /* elements of one, others on other banks */
    int in_rows, pitch;    /* of the patch, of a channel */
    int64_t tiles_p, tiles_q, tiles;
    int blocks, team;      /* all; of a team */
    size_t ring, smem;     /* bytes: without what only the sums take; all */
} Taps;

/* NULL, or why the variant cannot be. */
const char *taps_plan(Taps *h, const HaloForm *f, const Variant *v);
const void *taps_open(Graph *g, const Group *gr, const Options *o,
                      const char **why);
int taps_space(const void *form, Variant **out);
const char *taps_text(const void *form, const Variant *v);
/* contract_taps_cost.c */
void taps_cost(const void *form, const Variant *v, Cost *c);

#endif
