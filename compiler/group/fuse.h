/* fuse.h - register-level fusion: two nests become one.
 *
 * A value stays in the thread (or the row of threads) that made it. Both
 * functions leave their arguments untouched and return a new group, or NULL
 * and the reason, in words for --explain. */
#ifndef DCC_FUSE_H
#define DCC_FUSE_H

#include "group/group.h"
#include "rewrite/rewrite.h"

/* One statement as a nest. */
Group *group_of(Graph *g, Stmt *s);

/* Why not, where c's elements are of another place than what it would be fused
 * with there: of a gate's halves one alone has joined their product. */
extern const char fuse_elsewhere[];

/* Point by point: consumer c runs in producer p's nest and takes tensor t from
 * a local. The points of c must be p's rows, or p's rows and columns. If !keep
 * t is no longer stored. */
Group *fuse(Graph *g, const Group *p, const Group *c, const Tensor *t,
            bool keep, const char **why);

/* By computing p again at every read of t in c: p is pointwise and makes t
 * alone. */
Group *fuse_inline(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   const char **why);

/* Is it a product of matrices, each element of which serves many results? */
bool group_multiplies(Graph *g, const Group *gr);

#endif
