/* choices.h - results that a choice stacks into one tensor. */
#ifndef DCC_CHOICES_H
#define DCC_CHOICES_H

#include "graph/graph.h"

/* z[two, i] = two == 0 ? x[i] + r[i] : r[i], of which z[0, i] and z[1, i] alone
 * are read, becomes a tensor for each: they may go into memory or not, each by
 * its own reasons. True if there was such a statement. */
bool split_choices(Graph *g);

#endif
