/* place.h - where dcc's own files are. */
#ifndef DCC_PLACE_H
#define DCC_PLACE_H

#include "support/support.h"

/* The runtime's folder: $DCC_RUNTIME_DIR if that is set, else found from
 * where this program is: beside it in a build folder or a tree that was
 * unpacked anywhere, at ../share/dcc/runtime of an installed one; last where
 * it was configured to be installed. NULL if the one there is lacks its
 * files; *looked then names it, or all that were tried. */
const char *place_runtime(Arena *a, const char **looked);

#endif
