/* inline.h - what a statement stores, in place of reads of its tensor. */
#ifndef DCC_INLINE_H
#define DCC_INLINE_H

#include "graph/graph.h"

/* e with every read of t replaced by value, the expression stored at `store`
 * (a full mixed radix of its variables). NULL if it cannot be. */
const Expr *inline_reads(Graph *g, const Expr *e, const Tensor *t,
                         const Expr *value, const Idx **store);

/* For each variable of store[], its value where the tensor is read at at[].
 * -1 if store is no full mixed radix. At most max. */
int invert_store(Graph *g, const Tensor *t, const Idx **store, const Idx **at,
                 Subst *s, int max);

#endif
