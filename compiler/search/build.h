/* build.h - from chosen groups to kernels and launches.
 *
 * One kernel for each distinct canonical text, and for those that come out as
 * the same kernel; many launches. */
#ifndef DCC_BUILD_H
#define DCC_BUILD_H

#include "emit/emit.h"
#include "search/select.h"

/* Which kernels and launches there are, and what they are predicted to take.
 * forced: --variant NAME=TEXT (a kernel's name, a family's name or `all`);
 * seed != 0: a pseudo-random legal variant for every kernel (a test of
 * variants that the model would never pick). False after an error. */
bool build_kernels(Selection *s, Forced *forced, int n_forced, uint64_t seed,
                   CudaProgram *p);
/* Then what the kernels do, of the program that is taken. */
void build_texts(Selection *s, CudaProgram *p);

#endif
