/* online.h - reductions over columns that come in blocks, one after the other.
 *
 * For a reduction r = (+) over j of T(x_j, m), where m are earlier results, and
 * blocks J, B of columns:
 *
 *   T free of earlier results     r(J u B) = r(J) (+) r(B)
 *   a sum, T(m') = R(m, m') T(m)  r(J u B) = R r(J) + sum over B of T(m')
 *
 * R is found, not known: the factors of T(m') / T(m) (products and quotients
 * split, exp a / exp b = exp(a - b), equal addends cancel) must be free of j.
 * The same of what a sum of products is over. What cannot be rescaled so is
 * refused. */
#ifndef DCC_ONLINE_H
#define DCC_ONLINE_H

#include "group/group.h"

enum { ONLINE_NEW = 1000, ONLINE_MAX = 8 };

/* A reduction in the online form. Expressions have no locals but reductions'
 * results, by their steps; in `rescale`, i + ONLINE_NEW is the new value of
 * local i, and i the old one. */
typedef struct OnlineValue {
    int step;
    Reduce op;
    const Expr *term;
    const Expr *rescale; /* what its value so far is multiplied by; NULL: 1 */
} OnlineValue;

typedef struct Online {
    OnlineValue red[ONLINE_MAX];
    int n_red;
    const Expr *value;   /* the factor that is summed, of a row and column */
    const Expr *after;   /* multiplies the sums in the end; NULL: 1 */
    const Expr *rescale; /* of the sums, as above */
} Online;

/* The nest `gr`, rows by columns, whose step over columns that stores t is a
 * factor of a sum over the columns. False and the reason if a value cannot be
 * had so. */
bool online_derive(Graph *g, const Group *gr, const Tensor *t, Online *out,
                   const char **why);
/* The value of the nest's step i, of reductions' results alone. */
const Expr *online_value(Graph *g, const Group *gr, int i);

#endif
