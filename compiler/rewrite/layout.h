/* layout.h - physical layouts: which dimension is contiguous.
 *
 * Inputs, outputs and state are row-major as declared. Intermediates that are
 * read and written element by element together share one layout, and so do the
 * trained parameters, with what their updates keep, and these (the runtime puts
 * them so and fetches them back); contractions vote for the dimension that they
 * want to load along. Rows of intermediates
 * that do not end with a whole vector get padding behind them, where sums and
 * reductions take whole rows. Parameters that a contraction would have to
 * gather are packed once, at load time; so are those that are not contiguous
 * along the sum, of 16 bits if 2 to 16 rows are multiplied with them, and with
 * `f32_along_sum` f32 ones, which is how tensor cores take tf32: of trained
 * parameters a run makes a copy that lies so, ahead of the product.
 *
 * With a seed, about half of the classes of intermediates get a drawn order of
 * dimensions instead, which no kernel may depend on (--random-plan). */
#ifndef DCC_LAYOUT_H
#define DCC_LAYOUT_H

#include "graph/graph.h"

typedef enum PackHow { PACK_NOT, PACK_ALONG, PACK_COLUMNS } PackHow;

/* How the nth read of a parameter by a product is packed: not, along the sum,
 * by columns of the result. */
typedef struct PackWay {
    const char *weight;
    int nth;
    PackHow how;
} PackWay;

typedef struct Packings { PackWay *way; int n, cap; } Packings;

/* `as` has ways to pack instead of the graph's own, or is NULL; those taken are
 * added to `made`, if not NULL. */
void layout(Graph *g, bool f32_along_sum, uint64_t seed, const Packings *as,
            Packings *made);
/* Whether intermediates or ends would lie otherwise than declared, and nothing
 * but windows asks for that; g->as_declared, and they do not. */
bool layout_by_windows(Graph *g);
/* By tensor: the dimension that its class would have contiguous; of what lies
 * as declared, the last. */
int *layout_inner(Graph *g);
/* By tensor: whether those that read and write its class want another dimension
 * contiguous than the last declared; of an input, or padding behind rows. And
 * whether its class has a wish of a chain's. */
bool *layout_misfits(Graph *g, const bool **chain);
void layout_dump(Buf *b, const Graph *g);

#endif
