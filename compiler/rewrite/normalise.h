/* normalise.h - variables split until indices are affine.
 *
 * Wherever floor(v / d) occurs and d divides v's extent, v becomes
 * d * v1 + v2. A head split, a reshape or a group index is then a plain
 * multi-dimensional access. */
#ifndef DCC_NORMALISE_H
#define DCC_NORMALISE_H

#include "group/group.h"

void normalise(Graph *g);                  /* every statement */
void group_normalise(Graph *g, Group *gr); /* in place */

/* Substitutes in all expressions, store maps and guards; variable lists are
 * the caller's business. */
void group_subst(Graph *g, Group *gr, const Subst *s, int n);
/* v := d * v1 + v2 everywhere, lists included; returns v2. */
const Var *group_split(Graph *g, Group *gr, const Var *v, int64_t d);
/* A v and d such that floor(v / d) occurs in e and d divides v's extent. */
bool idx_splittable(const Idx *e, const Var **v, int64_t *d);
const Idx **access_subst(Graph *g, const Idx **at, int rank, const Subst *s,
                         int n);

#endif
