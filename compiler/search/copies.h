/* copies.h - the roundings of trained parameters that products read, as one
 * launch.
 *
 * A step reads an f32 parameter of f16 as a tensor of its own, made at its
 * beginning, each by a launch. Parameters and copies are
 * laid out side by side, in the same order, so that one map over all elements
 * makes them all. Last: the groups are chosen and in order. */
#ifndef DCC_SEARCH_COPIES_H
#define DCC_SEARCH_COPIES_H

#include "search/select.h"

void copies_join(Selection *s);
/* Is the group such a rounding? */
bool copies_has(Graph *g, const Group *gr);

#endif
