/* tables.h - tables that are read by quotients are laid out at load time.
 *
 * A relative bias, table[(i / 7 - j / 7 + 6) * 13 + i % 7 - j % 7 + 6, h], is
 * t[i, j, h] once and for all. Left as it is, its quotients would split i and j
 * (normalise.h), and what else the statement reads with them: scores of
 * attention would have columns that are not one number, which no family for
 * chains takes. Only where nothing else of the statement asks for a split, and
 * of tables that stay small. */
#ifndef DCC_TABLES_H
#define DCC_TABLES_H

#include "graph/graph.h"

void lay_out_tables(Graph *g);

#endif
