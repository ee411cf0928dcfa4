/* normalise.h - variables split until indices are affine.
 *
 * Wherever floor(v / d) occurs and d divides v's extent, v becomes
 * d * v1 + v2. A head split, a reshape or a group index is then a plain
 * multi-dimensional access. */
#ifndef DCC_NORMALISE_H
#define DCC_NORMALISE_H

#include "graph/graph.h"

void normalise(Graph *g); /* every statement; groups: group/split.h */

/* A v and d such that floor(v / d) occurs in e and d divides v's extent. */
typedef struct Splittable {
    const Var *v; /* NULL: there is none */
    int64_t d;
} Splittable;
void splittable_note(const Expr *e, void *ctx); /* for expr_visit: the first */
bool idx_splittable(const Idx *e, const Var **v, int64_t *d);
/* The two halves of v and the substitution v := d * v1 + v2; v's place in a
 * list of variables. */
Subst var_halves(Graph *g, const Var *v, int64_t d, const Var **v1,
                 const Var **v2);
const Var **list_split(Graph *g, const Var **list, int *n, const Var *v,
                       const Var *v1, const Var *v2);
const Idx **access_subst(Graph *g, const Idx **at, int rank, const Subst *s,
                         int n);

#endif
