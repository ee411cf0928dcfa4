/* scores.h - which products are the two of an attention.
 *
 * A product of which the largest of each row is taken, somewhere behind it, has
 * scores; what is made of them point by point is multiplied by the second one.
 * Both are one kernel (group/chain.h) where the first has its factors along
 * its sum and the second its results along the columns of its other factor. */
#ifndef DCC_REWRITE_SCORES_H
#define DCC_REWRITE_SCORES_H

#include "graph/graph.h"

/* By tensor: whether it holds such scores, or what is made of them point by
 * point. */
bool *find_scores(Graph *g);

#endif
