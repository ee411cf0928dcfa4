/* split.h - a nest's variables, split and replaced: rewrite/normalise.h. */
#ifndef DCC_GROUP_SPLIT_H
#define DCC_GROUP_SPLIT_H

#include "group/group.h"

void group_normalise(Graph *g, Group *gr); /* in place */
/* Substitutes in all expressions, store maps and guards; variable lists are
 * the caller's business. */
void group_subst(Graph *g, Group *gr, const Subst *s, int n);
/* v := d * v1 + v2 everywhere, lists included; returns v2. */
const Var *group_split(Graph *g, Group *gr, const Var *v, int64_t d);

#endif
