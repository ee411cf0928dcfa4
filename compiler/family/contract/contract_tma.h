/* contract_tma.h - a contraction's operands as boxes that TMA copies.
 *
 * Neighbouring variables of m, n or k that every operand walks as one number
 * are an axis. A tile is a box of axes: a run of rows of a matrix, a patch of
 * output pixels of a convolution. Each operand is a tensor map whose
 * dimensions are either an axis with its stride, or a dimension of the tensor
 * whose index mixes several (a window), with zeros outside. Where the window
 * slides over pixels of images, an im2col map goes from one pixel to the next,
 * from row to row and image to image: no tile is cut off. Where the sum is over
 * the pixels (gradients of weights) such a map goes along it, and a box of
 * channels has a tap of its own. */
#ifndef DCC_FAMILY_CONTRACT_TMA_H
#define DCC_FAMILY_CONTRACT_TMA_H

#include "family/contract/contract.h"

enum { TMA_RANK = 5, TMA_ROW = 128, TMA_BOX = 256, TMA_PATCHES = 4,
       TMA_PARTS = 4 /* of a step, an instruction of products each */ };

/* A number whose digits are v[0] (slow) .. v[n - 1]. */
typedef struct Axis {
    const Var *v[MAX_RANK];
    int n;
    int64_t extent;
    const Var *linear;   /* the number itself; v[0] if n is 1 */
    Subst sub[MAX_RANK]; /* each variable from it, if n > 1 */
} Axis;

typedef struct Axes {
    Axis axis[MAX_RANK];
    int n;
} Axes;

/* A dimension of a tensor map. */
typedef struct TmaDim {
    const Idx *at;      /* coordinate of an element */
    int64_t stride;     /* elements */
    int64_t extent;
    const Axis *axis;   /* of the tile along it, or NULL: one element */
    int step;           /* elements from one of the tile to the next */
} TmaDim;

typedef struct TmaOperand {
    const Operand *op;
    TmaDim dim[TMA_RANK + MAX_RANK];
    int rank;
    int64_t offset;     /* elements, of the map's origin */
    bool k_major;       /* neighbours along k; else along m or n */
    int run;            /* of a tensor of which a run has so many (Graph.run):
                           1 + the dimension that ends with them; else 0 */
    int slides;         /* dimensions from dim[1] on that an im2col map walks
                           as k does; the rows are taps and, fastest, whole
                           boxes of channels. 0: there is no such map */
} TmaOperand;

/* A tile's extent along each axis of m; `rows` of them are used. */
typedef struct Patch {
    int tile[MAX_RANK];
    int64_t count[MAX_RANK]; /* tiles along each */
    int rows, most;     /* and it was to have `most` of them at most */
    int64_t tiles;
    bool im2col;        /* it is a run of rows all the same */
} Patch;

/* Of a product's steps along an axis of k: the first, and how many, of
 * variables of the batch. count NULL: all. */
typedef struct TapRange {
    const Idx *first, *count;
} TapRange;

/* Steps that have several pixels of a window (contract_tma_pairs.c). Those that
 * are first along an axis of k begin with `before` terms that are none, those
 * that are last have so many. */
typedef struct TmaPair {
    int axis, before, last;
    double taken;       /* of all steps' terms; 0: there are no such steps */
} TmaPair;

typedef struct Tma {
    const Contract *x;
    Axes m, n, k, batch;
    TapRange tap[MAX_RANK]; /* of each axis of k but the last */
    Guard taps;         /* the conditions that a product's steps meet */
    int64_t *steps;     /* of each product, where taps are; */
    int64_t least;      /* the fewest, */
    double mean;        /* and in the mean */
    int bk;             /* elements of TMA_ROW bytes: a step over k */
    TmaOperand a, b;
    int pixels;         /* dimensions of a's that an im2col map slides along,
                           from dim[1] on; 0: there is no such map */
    Axis pixel[MAX_RANK]; /* k's variables, where an operand slides */
    TmaPair pair;
    Patch *patch;       /* TMA_PATCHES, those asked for: many variants are of
                           each height */
} Tma;

/* NULL, or why TMA cannot copy the operands. */
const char *tma_open(Tma *t, const Contract *x);
/* Makes pairs of what was opened, if that is less for TMA. */
void tma_pair(Tma *t);
/* Runs of bm rows, or where m is no number and has no pixels the patch of at
 * most bm rows that covers it with the fewest tiles. */
Patch tma_patch(const Tma *t, int bm);
/* Whether o's rows can lie in a slot in another order, n at a time: their
 * dimension of the map becomes three. Merges others as far as that needs. */
bool tma_deals(const Tma *t, TmaOperand *o, const Axis *rows, int n);
/* Whether rows of its boxes begin in the middle of the L2's sectors: TMA takes
 * its time over such a row. */
bool tma_off(const TmaOperand *o, int bytes);
/* A matrix of so few terms that no row fills a box: all of TMA's rows are short
 * ones, and so many of o's take it so many clocks; those that begin inside a
 * sector (of 8, 24 or 40 terms) twice as long. */
bool tma_few_terms(const Tma *t);
double tma_few_clk(const Tma *t, const TmaOperand *o, double rows);
/* contract_tma_taps.c: sets t->tap and what follows it, once there are axes;
 * whether steps meet c, and whether all that they have of d is there. */
void tma_find_taps(Tma *t, const Operand *a, const Operand *b);
bool tma_meets(const Tma *t, Cond c);
bool tma_inside(const Tma *t, const TmaDim *d);
/* Steps over k: the last axis in pieces of bk, the others one by one; of a
 * product that has all taps. */
int64_t tma_k_tiles(const Tma *t);
/* Where rows of pixels begin and end in dimension d, as an im2col map has it:
 * from the first element, and from the last. */
int tma_lower(const TmaDim *d);
int tma_upper(const TmaDim *d);
/* contract_slide.c: whether `offset` reaches no tap that an im2col map of n
 * dimensions lacks, nor its corners in d; and the operands of a sum over
 * pixels, after t->x alone is set: NULL, or why not. */
bool tma_reaches(const TmaDim *d, int n, int64_t offset);
const char *tma_slide(Tma *t);
/* What tma_slide shares with tma_open. */
void tma_axis(Graph *g, Axis *a, const Var *const *v, int n);
/* Groups v, slow to fast, into axes that both operands (NULL: any) agree on. */
void tma_axes(Graph *g, Axes *out, const Var *const *v, int n,
              const Operand *a, const Operand *b);
bool tma_one_number(const Operand *o, const Var *u, const Var *v);
const char *tma_operand(Tma *t, TmaOperand *o, const Operand *op,
                        const Axes *side, const Var *run);
const char *tma_check_guard(const Tma *t, const TmaOperand *o);

#endif
