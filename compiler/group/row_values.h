/* row_values.h - values of few rows, computed again by each product that takes
 * them.
 *
 * A nest that reduces rows and stores values of rows (the mean and the variance
 * of a norm, the maximum of a row), or elements made of them, needs no kernel
 * where products of few rows read them: each block of those reads the rows
 * anyway, and reduces them while its weights are under way. The product's group
 * has them as a RowMerge over whole rows (norm.h), of which `size` is 0. */
#ifndef DCC_ROW_VALUES_H
#define DCC_ROW_VALUES_H

#include "group/norm.h"

/* Whether gr reduces rows and makes values of those, or points of values of
 * those, from what may be read later. */
bool rows_alone(const Group *gr);
/* c, a product, with what it reads of r computed ahead of its sums; `first`: r
 * has no kernel of its own, and is counted as c's. NULL, and the reason. */
Group *rows_taken(Graph *g, const Group *r, const Group *c, bool first,
                  const char **why);

/* What a value of rows is called: "mean", "variance", ... or "of_row". */
const char *row_value_name(const RowMerge *m, int step);

#endif
