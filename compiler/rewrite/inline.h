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

/* Reads to look behind, of a value. */
typedef struct Behind {
    Stmt **by;
    int n_by;    /* by tensor id: what alone makes it, or NULL */
    int max_ops; /* of the result */
    bool (*test)(const Expr *read, const void *ctx); /* NULL: all */
    const void *ctx;
} Behind;

/* The statement that makes t in every run, all of it and alone; or NULL. */
const Stmt *behind_tensor(const Behind *b, const Tensor *t);

/* e down to what no such statement makes point by point, or what fails the
 * test, without roundings to floats. NULL if that is too long. */
const Expr *behind_reads(Graph *g, const Behind *b, const Expr *e);

/* What behind_reads went past in e, and rounds, is `twice` (graph.h): a reader
 * of e has it without the rounding, others as it is in memory. */
void behind_twice(Graph *g, const Behind *b, const Expr *e);

#endif
