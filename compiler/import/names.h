/* names.h - ONNX's names made into the language's. */
#ifndef DCC_IMPORT_NAMES_H
#define DCC_IMPORT_NAMES_H

#include "import/ir.h"

/* Letters, digits and _, no reserved word, not empty. */
const char *legal_name(Import *c, const char *name);
/* The same, and unlike all names taken; it is taken from now on. */
const char *free_name(Import *c, const char *name);
/* A short name for what a statement defines, of ONNX's name or its operator;
 * it may be taken. */
const char *value_name(Import *c, const Value *v);
/* Names of the weights in their file. */
void import_keys(Import *c);
/* Names for all that statements define and read, and for the weights in
 * their file. */
void import_names(Import *c);

#endif
