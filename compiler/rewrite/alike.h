/* alike.h - terms of a sum that differ in a number alone.
 *
 *   f (a y y) + f y (a y) + f y y a = f y y (3 a)
 *
 * A derivative has a term for each place of what it is by. Where two of a sum's
 * terms are alike, all of them are written as products of what they have in
 * common with others first, numbers last. Numbers of one sign only: what would
 * cancel stays as it was written. */
#ifndef DCC_ALIKE_H
#define DCC_ALIKE_H

#include "graph/graph.h"

const Expr *join_alike(Graph *g, const Expr *e);

#endif
