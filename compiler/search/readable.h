/* readable.h - no fused map or reduction is longer than a reader takes in.
 *
 * How long a text is shows when it is there. A group of several statements,
 * stored or computed again, whose map or reduce kernel has READABLE lines or
 * more is noted by its canonical text; no family serves it when the model is
 * compiled again, nor groups of as long a canonical text as would come to that
 * many lines, and the search finds what else to do with them. What one
 * statement takes, a chain, or a product with what comes behind it, which would
 * be a pass over memory more, stays. */
#ifndef DCC_READABLE_H
#define DCC_READABLE_H

#include "emit/emit.h"
#include "search/select.h"

enum { READABLE = 200 };

typedef struct Readable Readable;

Readable *readable_new(Arena *a); /* nothing is noted */
/* Notes p's long groups. Whether there was a new one. */
bool readable_note(Selection *s, const CudaProgram *p);
/* Whether such a group is not served. */
bool readable_refuses(Selection *s, const Group *gr, const Choice *c);

#endif
