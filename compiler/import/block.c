#include "import/block.h"

void import_blocks(Import *c)
{
    (void)c;
}

void blocks_print(Import *c, Buf *out)
{
    (void)c;
    (void)out;
}

void block_print_calls(Import *c, Buf *out, const Stmt *s)
{
    (void)c;
    (void)out;
    (void)s;
}
