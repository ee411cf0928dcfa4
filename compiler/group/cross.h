/* cross.h - which factor's rows should be the columns of a product. */
#ifndef DCC_CROSS_H
#define DCC_CROSS_H

#include "group/group.h"

/* Whether a, whose rows a product would have, and b, whose columns, are better
 * changed: f32 factors of which a, which lies across the sum, has fewer rows
 * than two warpgroups, as b has, and results, of more terms than there are of
 * them, take no time wherever they go. Gradients of the weights of a first few
 * channels are such. `rows` are the nest's. */
bool cross_rows(const Group *gr, const Var *const *rows, int n_rows,
                const Expr *a, const Expr *b);

#endif
