/* rows.h - which values of rows lose their kernel (group/row_values.h). */
#ifndef DCC_SEARCH_ROWS_H
#define DCC_SEARCH_ROWS_H

#include "search/units.h"

/* Wherever products alone take values of few rows: units change if the model
 * predicts less time, or --variant asks for contract_skinny. */
void rows_place(Units *u);

#endif
