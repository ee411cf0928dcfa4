/* siblings.h - pointwise kernels that read the same and wait for nothing of
 * each other become one where that is quicker (group/siblings.h). Last: what
 * could join who makes what they read has done so. */
#ifndef DCC_SEARCH_SIBLINGS_H
#define DCC_SEARCH_SIBLINGS_H

#include "search/units.h"

void siblings_place(Units *u);

#endif
