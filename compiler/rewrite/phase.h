/* phase.h - sums of which a congruence leaves only some terms, without the
 * others: transposed convolutions, gradients of strided ones.
 *
 * A term that is 0 unless c p + d r + k = 0 (mod m), p a variable of the
 * result and r one of the sum, is there for one residue of r only, which p's
 * decides. With g = gcd(d, m) and m' = m / g, r = m' r' + f, and
 *
 *     p = m u + a f + b    a = -d / c, b = -k / c (mod m)
 *
 * runs over all p for which there is a term, each once: f is a variable of the
 * result like any other (a phase), the condition holds everywhere, and indices
 * that were divided by m are affine. No zero is multiplied but those of a last
 * r' that only some phases have. Where g > 1 the other p are 0. */
#ifndef DCC_PHASE_H
#define DCC_PHASE_H

#include "graph/graph.h"

void split_phases(Graph *g);

/* A phase with fewer taps than others has none of the last; there a factor is
 * 0, which an infinity of the other one would make NaN. The condition of e's
 * taps to be there, where e is a product of such a factor; or NULL. */
const Expr *phase_range(Graph *g, const Expr *e);
/* Sums of such products get that condition as their range. */
void phase_ranges(Graph *g);

/* After layout, which asks sums how they would be read: what has at most four
 * terms left is no sum any more. Each read then stands in one place of its
 * tensor, and what follows may be the same kernel (a pool's gradient). */
void phase_write_out(Graph *g);

#endif
