/* reassociate.h - sums of sums of products, in the other order.
 *
 *   sum(j) (sum(e) a[i, e] b[j, e]) c[i, j] = sum(e) a[i, e] t[i, e]
 *
 * where t[i, e] = sum(j) c[i, j] b[j, e], or that times a value of the row, is
 * there already. The gradient of a softmax in an attention sums so over the
 * scores of a row, of which then nothing is summed before all are known.
 *
 * What the maximum of such a softmax would pass back is a sum of such sums that
 * cancel: nothing but what rounding leaves. */
#ifndef DCC_REASSOCIATE_H
#define DCC_REASSOCIATE_H

#include "graph/graph.h"

/* Whether one is. */
bool reassociate(Graph *g);

#endif
