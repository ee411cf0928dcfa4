/* contract_halo.h - convolutions of few channels, the first layer of a network.
 *
 * Too few channels lie side by side for a tile of the input to be copied in
 * whole pieces; but a row of the window is a run of neighbours in memory: its
 * taps, or, where channels are innermost and all of them are read, taps times
 * channels (the column and the channel are one dimension then, a step along q
 * is `stride * channels`, and inside the image means inside the row).
 *
 * A block takes TP x TQ output pixels and brings what they read, halo included,
 * into shared memory by coalesced copies, while it computes the tile before;
 * fragments of mma.sync are read from there, two elements of a run in one word.
 * A run counts TAPS elements, LEAD of them before its first and the rest behind
 * its last with weights of 0, so that words are aligned; where pixels lie an
 * odd number of elements apart there is a second copy of the input, moved by
 * one. Where rows begin at odd elements (a line of 299 pixels of 3 channels) a
 * copy of the patch has them as if they did not.
 *
 * More channels, in pieces of 8 but too few for whole boxes of TMA, have runs
 * as long as all of a window's row: the patch is a pixel's channels one after
 * the other then, an odd number of pieces apart, so that ldmatrix finds 8
 * neighbours on other banks; a stride's pixels lie apart, every second first
 * for 2. Taps of such may lie apart as well.
 *
 * A window of three dimensions (a video's) has for each channel as many planes
 * as it is deep, which are channels to all that follows. */
#ifndef DCC_FAMILY_CONTRACT_HALO_H
#define DCC_FAMILY_CONTRACT_HALO_H

#include "family/contract/contract_shared.h"

/* The analysis of a group, shared by its variants: one operand, a or b, reads
 * x[.., image, .., channel, p * step_p + r * dilation + first_p,
 *   q * step_q + run + first_q], the last dimension being several of the
 * tensor's, merged. */
typedef struct HaloForm {
    Contract x;
    bool swapped;                  /* b does, a has the weights: rows of the
                                      result lie along the pixels */
    bool back;                     /* a does, b has the result's gradients: sums
                                      over pixels, of m below in place of k */
    const Var *image, *p, *q;      /* of m, or n; image and p may be NULL */
    const Var *z, *deep;           /* of m and k: of a third dimension, or z of
                                      images of images; they may be NULL */
    bool run_images;               /* a run may have fewer images */
    const Var *channel, *r;        /* of k; they may be NULL */
    const Var *run[MAX_RANK]; int n_run; /* of k, from slow to fast */
    int64_t length, width;         /* of a run, of a row of the input */
    int64_t inner;                 /* of both, elements of a pixel */
    bool wide;                     /* pieces of 8 of them */
    bool odd;                      /* rows may begin at odd elements */
    int dim_h, dim_w, dim_z;       /* of the tensor; < 0: none */
    bool merged[MAX_RANK];         /* dimensions of the row, dim_w among them */
    int64_t stride_image, stride_channel, stride_z;
    int step_p, step_q, dilation, first_p, first_q;
    int dilation_q;                /* wide: pixels from a tap to the next */
    int step_z, dilation_z, first_z;
    int64_t rest;                  /* elements before all of it */
    int align;                     /* elements that one copy may take */
    bool packs;                    /* 16-bit results leave in whole lines */
} HaloForm;

/* What a variant decides. */
typedef struct Halo {
    const HaloForm *f;
    ContractPlan x;  /* of f->x; x.t: bn: the epilogue's columns */
    int tp, tq, bm;  /* bm = tp * tq pixels */
    int bn, wm;      /* output channels; pixels of a warp */
    int depth;       /* k of all window rows */
    int64_t channels;/* of the output */
    int slots;       /* patches: this tile's and the next; or one, and the next
                        comes during the epilogue */
    int lead, taps;  /* of a run, in words of two */
    int shift;       /* elements from the patch's first column to tap 0 */
    int group;       /* runs in 8 taps of k */
    int pieces;      /* 8 taps each, of a run */
    int rows_r;      /* window rows, a multiple of group */
    int halves;      /* 8 k each */
    bool w_pieces;   /* weights come in such, as the input does */
    int in_rows, pitch, copies;
    int line;        /* elements of a row of the patch that are copied */
    int step, side;  /* wide: pixels from one of q's to the next; of each of
                        the first `step` pixels, it and those that follow */
    int pixel;       /* wide: elements from one to the next */
    int64_t tiles_p, tiles_q, tiles; /* tiles: of all images */
    int room, grid;  /* blocks on an SM; in all */
    size_t smem;
} Halo;

/* What its kernel's text is made with. */
typedef struct HaloBuild {
    ContractBuild x; /* first: contract_points' callbacks find us by it */
    const HaloForm *f;
    const Halo *p;
} HaloBuild;

enum {
    HALO_WEIGHTS_AHEAD = 16, /* a thread's loads of weights at once */
    HALO_PIECE = 8           /* elements of a copy of pixels that lie apart */
};

/* The loads of the input and of the weights. */
static inline Load *halo_input(const HaloForm *f, ContractBuild *x)
{
    return f->swapped ? &x->b : &x->a;
}

static inline Load *halo_weights(const HaloForm *f, ContractBuild *x)
{
    return f->swapped ? &x->a : &x->b;
}

/* NULL, or why the variant cannot be. */
const char *halo_plan(Halo *h, const HaloForm *f, const Variant *v);
const void *halo_open(Graph *g, const Group *gr, const Options *o,
                      const char **why);
/* Fills f with the weights' gradient of such a convolution; NULL, or why it is
 * none. */
const char *halo_back(HaloForm *f, Graph *g, const Group *gr, const Options *o);
/* contract_halo_build.c: `fetch(tile, slot)`: the copies of a tile's input, 0
 * outside, from `before` elements before tap 0 on, to `at`; and `more` */
void halo_put_fetch(const HaloForm *f, ContractBuild *x, int before,
                    const char *at, Tree *more, Tree *b);
int halo_space(const void *form, Variant **out);
const char *halo_text(const void *form, const Variant *v);
/* Elements of the input that a tile brings. */
size_t halo_patch(const Halo *h);
/* Planes of it: channels, each as often as the window is deep. */
int64_t halo_planes(const HaloForm *f);
/* contract_halo_cost.c */
void halo_cost(const void *form, const Variant *v, Cost *c);

#endif
