/* recipe.h - how a selection's groups came about, as lines of a plan file.
 *
 * First groups are merged, each by merges of its own (merge.h). Then passes
 * change several at once: a norm goes into its producer and all of its readers.
 * Those are said in the order in which they were done, by the statements that
 * name the units as the merges left them:
 *
 *     merge a>b !a b>>c     one group
 *     norm n 32 p,q         a norm, by pieces of 32 columns, in its products;
 *                           in p and q as a correction (fold.h)
 *     rows r                values of rows, in each reader (rows.h)
 *     beside a b            siblings (siblings.h)
 *
 * What nobody reads after all of them is not computed. */
#ifndef DCC_RECIPE_H
#define DCC_RECIPE_H

#include "search/merge.h"

typedef enum { PLACED_NORM, PLACED_ROWS, PLACED_BESIDE } PlacedKind;

typedef struct Placed {
    PlacedKind kind;
    int unit;
    const int *other; int n; /* units: of a norm those that fold it */
    int size;                /* of a norm: columns of a piece */
} Placed;

typedef struct Recipe {
    const Merge **merge; int n_merge, cap_merge;
    Placed *placed; int n_placed, cap_placed;
    const Stmt **name;       /* by unit */
} Recipe;

/* Merges are done: units have their names and places follow. */
void recipe_begin(Units *u);
void recipe_add(Units *u, const Placed *as);
/* All is done: the merges of what norms read at load time are known, too. */
void recipe_end(Units *u);
void recipe_print(Buf *b, const Graph *g, const Recipe *r);

bool recipe_folds(const Placed *as, int unit);
/* Is it a line of something placed? */
bool recipe_has(const char *line);
/* Does what such a line says. NULL, or what is wrong. */
const char *recipe_take(Replay *r, Units *u, const char *line);

#endif
