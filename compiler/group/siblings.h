/* siblings.h - fusion of two pointwise groups that stand beside each other:
 * both halves of a rotary embedding, a sum and a difference of the same.
 *
 * They have the same points and neither reads what the other makes; what both
 * read is read once. */
#ifndef DCC_SIBLINGS_H
#define DCC_SIBLINGS_H

#include "group/group.h"

/* Steps of a, then of b at a's points. NULL if they cannot be. The arguments
 * stay as they are. */
Group *fuse_siblings(Graph *g, const Group *a, const Group *b);

#endif
