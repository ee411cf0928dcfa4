/* import.h - `dcc import`: ONNX files to the language.
 *
 * Everything else here is the way there: ir.h has it in order. */
#ifndef DCC_IMPORT_H
#define DCC_IMPORT_H

#include "support/support.h"

#include <stdbool.h>

/* dcc import [--dim NAME=N]... [--bind FILE] MODEL.onnx -o MODEL.dcl
 * The arguments after the command's name; an exit status. */
int command_import(int argc, char **argv);

/* What one run of it takes; NULL: what follows from `onnx`, or nothing. */
typedef struct ImportRequest {
    const char *onnx, *dcl, *weights, *bind, *name;
    const char **dim; int n_dim;   /* "NAME=N" */
} ImportRequest;

/* Writes the .dcl and its weights; messages go to stderr. An exit status. */
int import_file(Arena *a, const ImportRequest *r);

bool import_is_onnx(const char *path); /* by its ending */

#endif
