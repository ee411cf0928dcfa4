/* inplace.h - state that is overwritten where it lies.
 *
 * A version of a state shares its memory with the versions before it. What a
 * kernel writes it may therefore read, as it was before, only at the element
 * that it is about to overwrite, and only before it does. */
#ifndef DCC_INPLACE_H
#define DCC_INPLACE_H

#include "graph/graph.h"

/* Reads of older versions of a tensor that is written. */
typedef struct OlderReads {
    const Tensor *written;
    const Idx *const *own;  /* where it is written; NULL: by other points */
    bool any, elsewhere;    /* reads one; reads one at another element */
} OlderReads;
void older_note(const Expr *e, void *ctx); /* for expr_visit */
/* What decides where a step stores every point may look at, at any time. */
bool older_places(const Idx *const *store, int rank, Guard where,
                  const Tensor *written);

/* Statements that do so alone get a temporary between value and store; what
 * can only run behind a write reads a copy from before it. */
void simplify_in_place(Graph *g);

#endif
