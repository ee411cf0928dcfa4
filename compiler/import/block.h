/* block.h - repeated statements as calls of a block.
 *
 * A run of statements that comes again and again, each time of the one
 * before's result and with weights of its own, is one `block` and a `for`. */
#ifndef DCC_IMPORT_BLOCK_H
#define DCC_IMPORT_BLOCK_H

#include "import/emit.h"

struct Block {
    int first, period, times; /* in c->stmt */
    int result;               /* which statement of a run the next one reads */
    Value *enters;            /* what the first run reads in its place */
    Value *entry;             /* that, as the body has it */
    Value *leaves;            /* the last run's result */
    Value **shared; int n_shared, cap_shared; /* read by all runs alike */
    Value **own; int n_own, cap_own; /* the first run's weights */
    const char **part;        /* their names in the weights' file, below path */
    const char *path;         /* "encoder.layer.", before the number */
    const char *tail;         /* and after it */
    int64_t base;             /* the first run's number */
    const char *name, *loop;  /* of the block, of what the loop carries */
    const char *in, *out;     /* of these within the block */
    const char *count;        /* of the loop's variable */
};

/* Paths, and names within blocks: before those of everything else. */
void blocks_name(Import *c);
void blocks_print(Import *c, Buf *out);
/* The loop that stands for the block's runs. */
void block_print_calls(Import *c, Buf *out, const Block *b);

#endif
