/* probe.h - dcc probe: the GPU at hand measured, as a .dev file. */
#ifndef DCC_PROBE_H
#define DCC_PROBE_H

#include "support/support.h"

/* Compiles runtime/probe.cu with nvcc, runs it on the GPU, and writes what it
 * prints to `out` (- is standard output). Exit statuses as in driver.h. */
int probe_gpu(Arena *a, const char *out);

#endif
