/* renew.h - the roundings of trained parameters that a run leaves to the next.
 *
 * A step reads an f32 parameter of f16 as a copy, which copies.h makes at a
 * run's beginning: all parameters are read and their copies written, in a
 * launch by itself. Where the kernel that writes a parameter's next value can
 * store the rounded one too, in the same place, behind all that read it, the
 * copy is made when parameters are loaded, and every run leaves the next one's.
 * After select; the groups are in order. */
#ifndef DCC_SEARCH_RENEW_H
#define DCC_SEARCH_RENEW_H

#include "search/select.h"

/* The copy that group number i is, of the parameter `from`: from then on a
 * group of loading, if that takes less. */
void renew_copy(Selection *s, int i, Tensor *from);

#endif
