/* explain.h - why the program is as it is, with numbers. */
#ifndef DCC_EXPLAIN_H
#define DCC_EXPLAIN_H

#include "emit/emit.h"
#include "search/select.h"

void explain(Buf *b, const Selection *s, const CudaProgram *p);
/* Every legal variant of every kernel with its predicted time and the parts
 * of it, the cheapest first: what a measurement is compared with. */
void explain_variants(Buf *b, const Selection *s, const CudaProgram *p);

#endif
