/* template.h - real CUDA with named slots.
 *
 * A template is a file of templates/ (embedded in the binary): a quotation
 * (tree_quote.h), parsed into a tree. What varies is a slot, `@NAME@`; comment
 * lines that begin with `//@` are for the template's reader and left out. */
#ifndef DCC_TEMPLATE_H
#define DCC_TEMPLATE_H

#include "emit/tree_quote.h"

/* Template `name` with its slots filled, a list. An unknown template or slot
 * is a defect of dcc: the process ends with status 70. */
Tree *template_tree(Arena *a, const char *name, const Fill *fill, int n);
#define TEMPLATE(a, name, ...) template_tree((a), (name), FILLS(__VA_ARGS__))

#endif
