/* explain.h - why the program is as it is, with numbers. */
#ifndef DCC_EXPLAIN_H
#define DCC_EXPLAIN_H

#include "emit.h"
#include "select.h"

void explain(Buf *b, const Selection *s, const CudaProgram *p);

#endif
