/* opencl.h - a kernel's tree as OpenCL C.
 *
 * What a tree holds is C: the built-in indices, the qualifiers and the wrappers
 * that are CUDA's go through one table here. It serves kernels without shared
 * memory (the maps); it is there to show what a back end is, and no command
 * prints it. */
#ifndef DCC_OPENCL_H
#define DCC_OPENCL_H

#include "emit/kernel.h"

/* The finished kernel k, with the macros that it uses before it. False, and
 * nothing is printed, if it needs what the table does not have. */
bool emit_opencl(Arena *a, Buf *b, const Kernel *k);

#endif
