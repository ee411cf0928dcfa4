/* lean.h - the order of launches that needs the least memory, step by step.
 *
 * A tensor of a run is held from the launch that makes it to the last one that
 * reads it. Of the launches that wait for nothing, next is the one that leaves
 * least to be held if it takes nothing more; else the first in the order of
 * statements. So the gradient of a weight, which stands behind the whole
 * backward pass, is summed where the gradient of the layer is still there. */
#ifndef DCC_LEAN_H
#define DCC_LEAN_H

#include "search/units.h"

typedef struct Lean Lean;

/* Before any launch ran. */
Lean *lean_open(Units *u);
/* The place in ready[0..n) of the next one, which is run then. */
int lean_next(Lean *l, const int *ready, int n);

#endif
