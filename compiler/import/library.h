/* library.h - the ops that imported models carry (library.dcl). */
#ifndef DCC_IMPORT_LIBRARY_H
#define DCC_IMPORT_LIBRARY_H

#include "support/support.h"

#include <stdbool.h>

extern const char import_library_text[];
extern const size_t import_library_len;

/* An op's text with the comment above it; NULL if there is none. */
const char *library_op(Arena *a, const char *name);
/* The i-th op's name; NULL after the last. */
const char *library_name(Arena *a, int i);

#endif
