/* clash.h - nests that overwrite what they read: rewrite/inplace.h. */
#ifndef DCC_CLASH_H
#define DCC_CLASH_H

#include "group/group.h"

/* Would the nest read an older version of a tensor that it writes, where or
 * when another point of it may have overwritten it? */
bool in_place_clash(const Group *gr);

#endif
