/* template.h - real CUDA with named slots.
 *
 * A template is a file of templates/ (embedded in the binary). `@NAME@` is
 * replaced by the slot's text. A line that holds nothing but a slot takes the
 * slot's lines, each indented like it; an empty text removes the line. The
 * language has no conditions and no loops: what varies is a slot. */
#ifndef DCC_TEMPLATE_H
#define DCC_TEMPLATE_H

#include "support/arena.h"
#include "support/buf.h"

typedef struct Slot {
    const char *name; /* between the @s */
    const char *text;
} Slot;

/* Appends template `name` with its slots filled. An unknown template or slot
 * is a defect of dcc: the process ends with status 70. Comment lines that
 * begin with `//@` are for the template's reader and left out. */
void template_fill(Buf *b, const char *name, const Slot *slot, int n);

#endif
