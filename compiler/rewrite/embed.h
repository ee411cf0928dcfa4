/* embed.h - tensors that live in a part of another.
 *
 * A statement that does nothing but copy a whole temporary into a part of
 * another one (a concatenation's, a stack's) goes away where the first can
 * lie there from the beginning: it gets `host`, `at` and the host's strides,
 * and who makes it stores it in place. A concatenation that grows never
 * copies its past so; nor does the gradient of what is read in parts, a sum of
 * which one term is there at each place. What packs a part of a parameters'
 * tensor at load time stores a guest of it. Behind layout, whose strides
 * decide: nobody's rows may be aligned worse than before. */
#ifndef DCC_REWRITE_EMBED_H
#define DCC_REWRITE_EMBED_H

#include "graph/graph.h"

/* The whole temporary that s copies element by element, and into which of its
 * tensor's dimensions each of that one's goes; NULL if it does more or less. */
Tensor *embed_copied(const Stmt *s, int *dim);
void embed(Graph *g);

#endif
