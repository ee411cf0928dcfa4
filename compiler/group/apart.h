/* apart.h - rows or columns of a product that are products of their own: they
 * leave v, the *n rows or columns of operand o, for c's batch. */
#ifndef DCC_APART_H
#define DCC_APART_H

#include "group/group.h"

/* Rows of an operand that lie in memory side by side, many of them, and others
 * beyond the sum are no number: each of those is a product of its own. */
void apart_rows(Contraction *c, const Operand *o, const Var **v, int *n);

/* Phases that have taps of their own are products of their own, where what is
 * left has columns for one. */
void apart_phases(Contraction *c, const Operand *o, const Var **v, int *n);

/* The product of their extents, or of as many as exceed INT_MAX. */
int64_t vars_extent(const Var *const *v, int n);
/* By their steps through memory, the longest first. */
void vars_sort(const Var **v, int n, const Idx *offset);

#endif
