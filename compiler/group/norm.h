/* norm.h - norms of rows without a kernel of their own.
 *
 * A norm is a nest that reduces rows of one tensor x to sums, sums of squares,
 * or squares about a mean, and stores y, a function of x, of those rows' values
 * and of columns. Where a product makes x and products multiply y:
 *
 *   the producer stores, for each row and piece of neighbouring columns, the
 *   sums over the piece (Pieces; squares are about the piece's own mean);
 *   each product merges the pieces of its rows (RowMerge; squares as Chan,
 *   Golub and LeVeque do) and makes its factor of x on the way;
 *   other readers of y, point by point, read x and the rows' values, which one
 *   of the products stores.
 *
 * Everything is found from index structure. */
#ifndef DCC_NORM_H
#define DCC_NORM_H

#include "group/group.h"

enum { NORM_LEAST = 16 /* columns of a piece: or twice as many */,
       NORM_ROWS = 64 /* at least */, NORM_STEPS = 16 };

/* Sums over pieces of a step's values, of a group that is a product: behind
 * all else. Or other reductions (reduced.h). */
typedef struct Pieces {
    int value;              /* the step */
    const Var *along;       /* of whose values `size` neighbours are one */
    int size;
    Step *step; int n_step; /* E_LOCAL(0) is the value, 1 + i step i's */
    bool reduced;           /* of reduced.h: the value need not be stored, */
    const Idx *of;          /* and might be so: neighbours are columns */
    const Idx *down;        /* of row_sums.h: pieces are of `size` rows, whose
                               number this is, and E_LOCAL(i) is the group's
                               step i, the terms; or NULL */
    int about[NORM_STEPS];  /* then, of squares: the step of the sum about whose
                               mean they are; else -1 */
} Pieces;

/* Values of rows from their pieces, ahead of all else: E_LOCAL(i) is step i's;
 * the group has it as E_LOCAL(-1 - i). */
typedef struct RowMerge {
    const Var *over;
    int size;               /* columns of a piece; 0: whole rows, of which
                               step values are sums or maxima */
    Step *step; int n_step;
    const Expr *part[NORM_STEPS]; /* of a sum: the read of its pieces, */
    const Expr *sum[NORM_STEPS];  /* of squares: that of what is summed, too, */
    int about[NORM_STEPS];        /* and the mean's step; else -1 */
    const Step *fold;       /* what becomes of the group's sum, E_LOCAL(0) here,
                               before its steps have it (fold.h); or NULL */
} RowMerge;

typedef struct Norm {
    const Group *group;     /* whose step `value` is x, over columns */
    int value;
    bool read;              /* and that is a read alone: x is there */
    const Var *col;
    int piece;              /* columns of a piece: the caller's choice */
    Tensor *x, *y;
    const Idx **x_at;       /* x's element at a point of the group */
    const Expr *result;     /* y of E_LOCAL(value) and values of rows */
    Tensor *part[NORM_STEPS]; /* of sums, where their pieces are */
    int about[NORM_STEPS];  /* of squares: the step of the mean; else -1 */
    int sum[NORM_STEPS];    /* and that of the sum that it is of */
} Norm;

/* Statements' tensors for pieces, and which tensors are values of rows that
 * norms have: before groups are formed. */
void norm_prepare(Graph *g);
/* False, and *why (NULL: it is nothing like one) if gr is no norm. */
bool norm_find(Graph *g, const Group *gr, Norm *n, const char **why);
/* The group that makes x of p's result t; t stays stored if `keep`, x always
 * is. With n->read p is the one that stores x. */
Group *norm_producer(Graph *g, const Norm *n, const Group *p, const Tensor *t,
                     bool keep, const char **why);
/* The product c, a factor of which is of y, the first or a later one; if
 * `keep` it stores the values of
 * rows that norm_reader's groups read. */
Group *norm_product(Graph *g, const Norm *n, const Group *c, bool first,
                    bool keep, const char **why);
/* Whether t, which gr makes, is more than values of rows, of some. */
bool norm_of_rows(const Group *gr, const Tensor *t);
/* Whether c takes y as a factor. */
bool norm_multiplied(Graph *g, const Norm *n, const Group *c);
Group *norm_reader(Graph *g, const Norm *n, const Group *c, const char **why);

#endif
