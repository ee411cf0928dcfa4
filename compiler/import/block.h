/* block.h - repeated statements as calls of a block. */
#ifndef DCC_IMPORT_BLOCK_H
#define DCC_IMPORT_BLOCK_H

#include "import/emit.h"

void blocks_print(Import *c, Buf *out);
/* The loop that stands for the statements from s on. */
void block_print_calls(Import *c, Buf *out, const Stmt *s);

#endif
