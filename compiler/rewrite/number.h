/* number.h - value numbering: what is computed twice is computed once.
 *
 * Two statements are equal if they write tensors of one type and shape at the
 * same places, run at the same time, reduce alike, and their values are the
 * same expression of equal reads: of the same version of a state, through the
 * same casts; sums and products in either order. The first of them stays, and
 * all readers read what it makes; if one of the others is an output, the first
 * makes that. A further output copies the first.
 *
 * Statements with notes, and tensors that are written in parts, stay as they
 * are; a factor that was cut for one sum's range (factors.h) is no other one.
 * Whether the one value is then stored, or computed again in each reader, is
 * for select to decide. */
#ifndef DCC_NUMBER_H
#define DCC_NUMBER_H

#include "graph/graph.h"

void number(Graph *g);

/* e with equal parts made once, however it came about: costs count parts. */
const Expr *number_expr(Graph *g, const Expr *e);

#endif
