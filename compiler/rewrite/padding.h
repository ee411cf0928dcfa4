/* padding.h - room behind rows of intermediates that do not end with a whole
 * vector, once they have strides. */
#ifndef DCC_PADDING_H
#define DCC_PADDING_H

#include "graph/graph.h"

/* Whether t lies as is best for those that make and read it: no end of the
 * model's does. */
bool layout_is_free(const Tensor *t);
/* Long rows of floats that do not end with a whole vector. */
bool layout_ragged(const Tensor *t);
/* Padding behind each of its rows. */
void layout_pad(Tensor *t);
/* Of all that reductions and sums take by whole rows. */
void layout_pad_rows(Graph *g);

#endif
