/* fold.h - norms of rows as corrections of the products that take them.
 *
 * Where y = x R K + R' K' + ... point by point, R of rows and K of columns, the
 * product of y by weights w is
 *
 *   sum(k) y w = R s sum(k) x w' + R' s sum(k) w' [if K' is K, else
 *                R' sum(k) K' w] + ...,   w' = (K / s) w,   s = max(k) |K|
 *
 * and of w' and its sums nobody but parameters decides: they are made at load
 * time. x is the factor as it lies in memory, and rows' values are wanted no
 * sooner than the sums. s keeps w' as far from the ends of its type as w is.
 * The second sum is of w' as it is rounded: what a mean takes away is what it
 * adds, but for the sum's own rounding, to which that of the mean is alike. */
#ifndef DCC_FOLD_H
#define DCC_FOLD_H

#include "group/group.h"

enum { FOLD_TERMS = 3 };

typedef struct Fold {
    const Tensor *y, *w;
    Tensor *by;             /* w' */
    int k;                  /* the dimension of both that is summed over */
    const Expr *scale;      /* R s: of rows' tensors, by any index */
    const Expr *row[FOLD_TERMS]; /* of a term; NULL: 1 */
    bool inner[FOLD_TERMS];      /* which `scale` multiplies, too */
    Tensor *column[FOLD_TERMS]; int n; /* its sum, of w's other dimensions */
} Fold;

/* Products that take norms so, by the paths of their statements. */
typedef struct Folds { const char **path; int n, cap; } Folds;

/* Statements for the products of norms, which no group needs so far: sets
 * Stmt.fold of those products. Behind norm_prepare's values of rows. */
void fold_prepare(Graph *g);
/* The fold of the product step s of some group, if that takes y; or NULL. */
const Fold *fold_of(const Step *s, const Tensor *y);
/* The product r, in whose factor norm_product put y's values, with its sum
 * corrected in place of that: c is r as it was. NULL if it has no fold. */
Group *fold_product(Graph *g, const Group *c, const Group *r, const Tensor *y,
                    const Tensor *x);

#endif
