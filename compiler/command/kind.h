/* kind.h - what a file that is no program is, by its first bytes. */
#ifndef DCC_KIND_H
#define DCC_KIND_H

#include <stddef.h>

/* "a safetensors file", ... as a message says it, or NULL: it may be text. */
const char *kind_of(const char *text, size_t len);

#endif
