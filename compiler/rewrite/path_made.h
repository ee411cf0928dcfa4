/* path_made.h - sums of some factors that are there already.
 *
 * Part of paths.c. Terms are compared in variables that stand for places: the
 * first index of the term that was made is the first one of what is asked. */
#ifndef DCC_PATH_MADE_H
#define DCC_PATH_MADE_H

#include "rewrite/path_order.h"

/* The product of these factors, by the age of what they read. */
const Expr *path_product(const Paths *p, Mask of);
/* The sum of these factors, or NULL; a read of it in p's sum. */
const Made *path_find_made(Paths *p, Mask of);
const Expr *path_read_made(Paths *p, Mask of, const Made *m);
/* c is it, over v. */
void path_note_made(Paths *p, Mask of, const Stmt *c, const Var *const *v);

#endif
