/* invert.h - a read turned round: which points of a statement read a given
 * element.
 *
 * A statement's points P are the values of its variables. For t[at(P)] and an
 * element u of t, the points with at(P) = u are those of a union of sets, each
 * given by some variables that run freely (`left`), all others as functions of
 * them and of u (`known`), and conditions. The sets share no point, so that a
 * sum over all of them counts each once. Equations are solved by the first rule
 * that applies:
 *
 *   1. one variable alone, with coefficient 1 or -1
 *   2. floor(a / d): the variables of a, where they are digits of one number or
 *      one has coefficient 1, become d q + r with new variables q and r
 *   3. coefficients that grow beyond what the smaller ones reach: the variables
 *      are digits of u
 *   4. the variable of largest extent: v = (u - rest) / c, where c divides
 *   5. min(a, b) and max(a, b): two sets, of the points where a is taken and
 *      where b is
 *   6. anything else, data with free variables above all: a condition
 *
 * Whatever is read, the last rule serves, so every read has an inverse. */
#ifndef DCC_INVERT_H
#define DCC_INVERT_H

#include "graph/graph.h"

typedef struct Inverse {
    const Subst *known; int n_known; /* of the statement's variables */
    const Var **left; int n_left;
    Guard in;
    const Expr *when; /* what no guard says; NULL: always */
} Inverse;

/* The points of var[0..n) with at[d] = u[d] for all d < rank. The result is an
 * array in g's arena; *count says how many, 0 if no point reads there. */
const Inverse *invert(Graph *g, const Var *const *var, int n,
                      const Idx *const *at, const Idx *const *u, int rank,
                      int *count);

#endif
