/* tree_pass.h - what is done to every kernel's tree before it is printed.
 *
 * A family writes its kernel in general, and the passes take out what this
 * kernel does not need:
 *  - a loop of one trip: its variable is the number it begins with, or a
 *    constant; of one trip at most: an `if`. A `continue` of such a loop turns
 *    the rest of its body into the contrary's branch. (A loop's variable is
 *    changed by its head, or visibly: no function gets a reference to it.)
 *  - an `if` or loop whose condition is known, and the known parts of an `&&`
 *  - a variable that keeps the number it is declared with
 *  - an assignment that nothing reads, a declaration that nothing mentions
 * Names of what moves to another scope stay unique there. What is known: the
 * facts given (enumerators, the grid), `const` integers, loops' variables. */
#ifndef DCC_TREE_PASS_H
#define DCC_TREE_PASS_H

#include "emit/tree_value.h"

/* All of them, until nothing changes. */
void tree_improve(Tree *t, Facts *known);

/* Then: conditions that several statements of a list ask get a name. */
void pass_asked(Arena *a, Tree *t);

/* tree_unread.c: parts of it. True if something changed. */
bool pass_numbers(Arena *a, Tree *t); /* variables that are numbers */
bool pass_unread(Arena *a, Tree *t);

#endif
