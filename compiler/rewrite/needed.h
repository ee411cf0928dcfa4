/* needed.h - where values are needed: what stands in an arm of `c ? a : b` is
 * not, where an affine c chooses the other. */
#ifndef DCC_NEEDED_H
#define DCC_NEEDED_H

#include "graph/graph.h"

/* The conditions that hold wherever one of n values takes `read`; empty if
 * there may be none. */
Guard needed_read(Graph *g, const Expr *const *value, int n, const Expr *read);
/* The same of all that they read, found at once. */
typedef struct Needed Needed;
const Needed *needed_reads(Graph *g, const Expr *const *value, int n);
Guard needed_of_read(const Needed *all, const Expr *read);
/* Is there a choice among them at all? If not, there are no such conditions. */
bool values_choose(const Expr *const *value, int n);
/* Sets Stmt.needed and Tensor.partly: for what a run computes on its way. */
void find_needed(Graph *g);
/* About which share of all points fulfils them. */
double needed_share(Guard in);

#endif
