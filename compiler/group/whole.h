/* whole.h - digits of a chain's variables that are one number again. */
#ifndef DCC_WHOLE_H
#define DCC_WHOLE_H

#include "group/group.h"

/* Where a dimension of what `made`, a step of `between`, stores is a number of
 * several rows, or of all columns, and `first` steps through memory as by that
 * number, the number stands for them in the three (`also` may be NULL): a bias
 * of a picture's rows and columns had made them several. */
void chain_whole(Graph *g, Group *first, Group *between, Group *also,
                 const Step *made);
/* The second product, or a copy of it whose sum goes over one number: that of
 * several, as of an image's rows and columns, which all that it reads steps
 * through memory by. */
Group *chain_whole_sum(Graph *g, Group *second);

#endif
