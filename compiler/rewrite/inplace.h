/* inplace.h - state that is overwritten where it lies.
 *
 * A version of a state shares its memory with the versions before it. What a
 * kernel writes it may therefore read, as it was before, only at the element
 * that it is about to overwrite, and only before it does. */
#ifndef DCC_INPLACE_H
#define DCC_INPLACE_H

#include "group/group.h"

/* Would the nest read an older version of a tensor that it writes, where or
 * when another point of it may have overwritten it? */
bool in_place_clash(const Group *gr);

/* Statements that do so alone get a temporary between value and store. */
void simplify_in_place(Graph *g);

#endif
