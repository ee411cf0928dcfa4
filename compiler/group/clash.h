/* clash.h - nests that overwrite what they read: rewrite/inplace.h. */
#ifndef DCC_CLASH_H
#define DCC_CLASH_H

#include "group/group.h"

/* The tensor of which the nest would read an older version where or when
 * another point of it may have overwritten it, or would store one, too; NULL:
 * there is none. */
const Tensor *in_place_clash(const Group *gr);

#endif
