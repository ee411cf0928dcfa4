/* siblings.h - pointwise kernels that read the same, or take hardly more than
 * their launch, and wait for nothing of each other become one where that is
 * quicker (group/siblings.h); and chains whose scores are the same
 * (group/chain.h). Last: what could join who makes what they read
 * has done so. */
#ifndef DCC_SEARCH_SIBLINGS_H
#define DCC_SEARCH_SIBLINGS_H

#include "search/recipe.h"

void siblings_place(Units *u);
/* The same for two, as a plan has it. NULL, or what is wrong. */
const char *siblings_take(Units *u, const Placed *as);

#endif
