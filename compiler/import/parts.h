/* parts.h - one node as several plain ones, while the file is read. */
#ifndef DCC_IMPORT_PARTS_H
#define DCC_IMPORT_PARTS_H

#include "import/ir.h"

/* What stands for a node, in order, named after it. */
typedef struct Parts {
    Import *c;
    Node *of;
    AddNode *add;
    bool wide;               /* values between are f32 in the .dcl */
} Parts;

Node *part(const Parts *p, const char *op, int n_in);
/* Its result: that of the whole, or a value between. */
Value *part_made(const Parts *p, Node *n, bool last);
/* An operator of two operands. */
Value *part_of_two(const Parts *p, const char *op, Value *a, Value *b,
                   bool last);
/* quantized.c; transform.c: DFT and STFT */
void quantized_parts(const Parts *p);
void transform_parts(const Parts *p);

#endif
