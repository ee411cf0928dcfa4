/* fold.h - norms of rows as corrections of the products that take them.
 *
 * Where y = x R K + R' K' + ... point by point, R of rows and K of columns, the
 * product of y by weights w is
 *
 *   sum(k) y w = R s sum(k) x w' + R' s sum(k) w' [if K' is K, else
 *                R' sum(k) K' w] + ...,   w' = (K / s) w
 *
 * and of w' and its sums nobody but parameters decides: they are made at load
 * time. x is the factor as it lies in memory, and rows' values are wanted no
 * sooner than the sums. s, of the greatest |K|, keeps w' as far from the ends
 * of its type as w is. The second sum is of w' as it is rounded: what a mean
 * takes away is what it adds, but for the sum's own rounding, to which that of
 * the mean is alike.
 *
 * Where the norm keeps its kernel, that can store y' = s R x + s R' in place of
 * y, and the product of y' by w' lacks only the sum of what has another K':
 * others that read y make it of y' point by point. So all sizes of a set can
 * have w', whichever of them have the norm in the product. */
#ifndef DCC_FOLD_H
#define DCC_FOLD_H

#include "group/norm.h"

enum { FOLD_TERMS = 3 };

typedef struct Fold {
    const Tensor *x, *y, *w;
    Tensor *by;             /* w' */
    int k;                  /* the dimension of both that is summed over */
    const Expr *scale;      /* R s: of rows' tensors, by any index */
    const Expr *row[FOLD_TERMS]; /* of a term; NULL: 1 */
    bool inner[FOLD_TERMS];      /* which `scale` multiplies, too */
    Tensor *column[FOLD_TERMS]; int n; /* its sum, of w's other dimensions */
    /* of a set's sizes alone, for y' */
    const Stmt *made;       /* makes y: s R x + s R' of rows, of columns: */
    const Var *col;
    Tensor *factor;         /* K / s; NULL: 1 */
    bool own[FOLD_TERMS];   /* K' is K */
    const Expr *other[FOLD_TERMS]; /* K', if not */
    const Tensor *bias;     /* what is added to the product, of its columns, */
    Tensor *shift;          /* and that with what `other`s add; or NULL */
} Fold;

/* Products that take norms so, by the paths of their statements. */
typedef struct Folds { const char **path; int n, cap; } Folds;

/* Statements for the products of norms, which no group needs so far: sets
 * Stmt.fold of those products. Behind norm_prepare's values of rows. With
 * `only` those are made for its products alone, and all of them loaded. */
void fold_prepare(Graph *g, const Folds *only);
bool fold_has(const Folds *f, const char *path);
/* The fold of the product step s of some group, if that takes y; or NULL. */
const Fold *fold_of(const Step *s, const Tensor *y);
/* The last read of t in e, or NULL. */
const Expr *fold_read(const Expr *e, const Tensor *t);
/* The product r, in whose factor norm_product put y's values, with its sum
 * corrected in place of that: c is r as it was. NULL if it has no fold. */
Group *fold_product(Graph *g, const Group *c, const Group *r, const Tensor *y,
                    const Tensor *x);

/* The same with y' in y's place, where gr, of which n is, keeps its kernel:
 * that, a product and another reader of y. NULL if it cannot be. */
Group *fold_norm(Graph *g, const Norm *n, const Group *gr, const Fold *f);
Group *fold_apart(Graph *g, const Group *c, const Fold *f);
Group *fold_reader(Graph *g, const Group *c, const Fold *f);
/* t at w's place but for its dimension k. */
const Expr *fold_column(Graph *g, Tensor *t, const Expr *w, int k);
/* The fold of y in c, or NULL. */
const Fold *fold_in(const Group *c, const Tensor *y);

#endif
