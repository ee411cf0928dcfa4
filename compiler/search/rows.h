/* rows.h - which values of rows lose their kernel (group/row_values.h). */
#ifndef DCC_SEARCH_ROWS_H
#define DCC_SEARCH_ROWS_H

#include "search/recipe.h"

/* Wherever products alone take values of few rows: units change if the model
 * predicts less time, or --variant asks for contract_skinny. */
void rows_place(Units *u);
/* The same for those of one unit, as a plan has it. NULL, or what is wrong. */
const char *rows_take(Units *u, const Placed *as);

#endif
