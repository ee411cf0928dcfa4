/*
 * What a node's result is where all operands are known: fold.c has what moves
 * elements and the table of all, fold_value.c what works with values.
 */
#ifndef DCC_IMPORT_FOLD_H
#define DCC_IMPORT_FOLD_H

#include "import/infer.h"

/* Where the element i in row-major order stands, and back. */
void index_of(const Shape *s, int64_t i, int64_t *at);
int64_t offset_of(const Shape *s, const int64_t *at);
/* Of a tensor s that is broadcast to `to`, its element that stands at `at`. */
int64_t offset_broadcast(const Shape *s, const Shape *to, const int64_t *at);

/* Whether every operand is one value throughout. */
bool all_splat(const Node *n);

/* Each NULL where it cannot be worked out. */
Const *fold_unary(Import *c, Node *n);
Const *fold_binary(Import *c, Node *n);
Const *fold_clip(Import *c, Node *n);
Const *fold_several(Import *c, Node *n);
Const *fold_reduce(Import *c, Node *n);

#endif
