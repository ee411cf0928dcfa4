/* factors.h - factors of products that are computed, as tensors of their own.
 *
 * TMA brings what is in memory to tensor cores: a factor that is computed of
 * what it reads, w[j, k] of i8 as a float or (j <= i ? a[i, j] : 0), goes
 * through registers instead, and is computed for every tile that has it. Where
 * 16 bits hold its values exactly and many rows and columns are had of each,
 * it is a tensor, of load time where parameters alone are in it; the search
 * computes it in its readers again where that is quicker.
 *
 * The sum of a product over a range that the rows of one factor decide,
 *
 *     sum(j in 0..i + 1) a[i, j] x[j, k],
 *
 * is over all j of a factor that is 0 out of the range. The range stays with
 * the term, too: 0 times an infinity is none of it (group_ranged). */
#ifndef DCC_FACTORS_H
#define DCC_FACTORS_H

#include "graph/graph.h"

void split_computed(Graph *g);

/* What a factor reads. Where that is plain it does so element by element:
 * windows would be copied. */
typedef struct FactorReads {
    const Expr *largest;
    bool plain, run;
} FactorReads;
FactorReads factor_reads(const Expr *e);
/* The points of e that s has: their number, and the variables, of what is read
 * most as it lies there and of all else before it, but k behind it. */
int factor_points(Graph *g, const Stmt *s, const Expr *e, const Expr *most,
                  const Var **v);

#endif
