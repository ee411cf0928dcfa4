/* pattern.h - what the files of patterns share. */
#ifndef DCC_IMPORT_PATTERN_H
#define DCC_IMPORT_PATTERN_H

#include "import/infer.h"

/* v without casts between float types and nodes that do nothing. */
Value *pattern_bare(Value *v);
/* The node that makes v if it is this operator, else NULL. */
Node *pattern_made_by(Value *v, const char *op);
bool pattern_same(Value *a, Value *b);
/* v is x times x. */
bool pattern_square(Value *v, Value *x);

/* moments.c: norms whose mean and variance are taken beside: the node that
 * stands for root, or NULL. */
Node *match_moments(Import *c, Node *root);
/* groups.c: the same of group norms, which are instance norms of [N, groups,
 * all of a group] before operator set 18, and by PyTorch's exporters still. */
Node *match_groups(Import *c, Node *root);

#endif
