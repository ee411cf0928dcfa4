#include "import/ir.h"

void import_patterns(Import *c)
{
    (void)c;
}
