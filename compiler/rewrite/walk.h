/* walk.h - how statements walk along what they read. */
#ifndef DCC_WALK_H
#define DCC_WALK_H

#include "graph/graph.h"

enum { WORTH = 4 }; /* extents from which loading along is worth anything */

/* The variable that walks e step by step: coefficient 1, and whatever else is
 * in e moves in steps of at least its extent (a head's offset). */
const Var *walk_var(const Idx *e);
/* A window: several of the nest's variables in one index. */
bool walk_has_window(const Expr *read);
/* Of what s reads as windows that no other reduction goes through: the last
 * dimension that walks alone, by a variable that every factor has (channels,
 * not images); else -1. */
int walk_channels(const Stmt *s, const Expr *read);
/* Is a read its tensor's element, and 0 where that has none? */
bool walk_zero_beyond(Graph *g, const Expr *read);
/* Is s a sum of products of two reads? */
bool walk_product(const Stmt *s, const Expr **a, const Expr **b);
/* The same of a product within a range, out of which one factor is 0 anyway
 * (cut); and s's value of other such factors. */
bool walk_cut_product(const Stmt *s, const Expr **a, const Expr **b);
const Expr *walk_multiplied(Graph *g, const Stmt *s, const Expr *a,
                            const Expr *b);
/* A sum of up to four terms at places that data say, as an enlarged image's: a
 * point of what it reads, also where it is a product of two reads. */
bool walk_is_pick(const Stmt *s);
/* The variables of s's points that only `a` (not b) indexes: into v[]. */
int walk_only_in(const Stmt *s, const Expr *a, const Expr *b, const Var **v);
/* Are both reads of one tensor at one place? */
bool walk_same_place(const Expr *a, const Expr *b);
bool walk_in_list(const Var *const *list, int n, const Var *v);

/* The one dimension that is not summed over, of several (channels, where pixels
 * are): with it innermost the others are one number. Else -1. */
int walk_sole_own(const Stmt *s, const Expr *a, const Var *const *own, int n);

#endif
