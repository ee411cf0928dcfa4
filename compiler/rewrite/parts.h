/* parts.h - products of what is f32 with tensors of 16 bits, as longer ones of
 * numbers that tensor cores take.
 *
 * A factor x that is f32, computed of others or in memory, beside one of 16
 * bits, becomes a tensor of its parts, whose sum it is, and
 *
 *   sum(k) x[i, k] b[j, k] = sum(part, k) x_parts[part, i, k] b[j, k]
 *
 * is a product of two tensors in memory, in any order, by TMA and wgmma or by
 * cp.async and mma.sync. What the parts are:
 *
 *   b is    x                          parts                 x is off by
 *   f16     in [-R, R] (range.h)       2 of f16, of 2^e x    2^-22 x, 2^-40 R
 *   bf16    any; and integers beside   3 of bf16             nothing
 *           of two of bf16             2 of bf16             nothing
 *   f16     any                        2 of tf32, b is f32   2^-23 x
 *
 * 2^e R is at most 2^15: what the first part, of 11 bits, leaves of x has 11
 * in the second one, the last of them worth 2^-24 at least. So what is 2^-18 R
 * and less has fewer bits: weights of a softmax so small beside the largest of
 * their row, as in chains (chain.h: 2^-36). bf16 has 8 bits and f32's range,
 * and three of them are f32's 24; where x is infinite, so is the first part
 * alone. Two numbers of 11 bits have a product of 22, which two of tf32 hold.
 *
 * tf32 tensor cores have half the rate and want both factors along the sum.
 * The parts are made where x is, or by a kernel of their own, once, and b is
 * widened so: whether that is worth it is the model's to say (compile.c). */
#ifndef DCC_REWRITE_PARTS_H
#define DCC_REWRITE_PARTS_H

#include "graph/graph.h"

typedef struct PartsWish {
    bool tf32;                 /* also parts of tf32 */
    bool count;                /* how many there are: none is made */
    const char *const *except; /* products that stay, by their paths */
    int n_except;
} PartsWish;

typedef struct PartsMade {
    int n;    /* products in parts, */
    int tf32; /* and of tf32's among them */
} PartsMade;

/* What there is, or was made. Behind normalise. */
PartsMade make_parts(Graph *g, const PartsWish *wish);

#endif
