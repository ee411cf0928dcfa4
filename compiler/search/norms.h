/* norms.h - which norms lose their kernel (group/norm.h). */
#ifndef DCC_NORMS_H
#define DCC_NORMS_H

#include "search/recipe.h"

/* Wherever a product makes what a norm is of, and products take its result:
 * units change if the model predicts less time, or --variant asks for wgmma. */
void norms_place(Units *u);
/* The same for one norm, as a plan has it. NULL, or what is wrong. */
const char *norms_take(Units *u, const Placed *as);
/* The products of what was selected that take norms as corrections. */
void norms_folded(const Selection *s, struct Folds *to);

#endif
