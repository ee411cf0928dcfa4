/* search.h - what others see of this folder: the choice, what may be chosen,
 * and plans and reports of it. */
#ifndef DCC_SEARCH_H
#define DCC_SEARCH_H

#include "search/explain_json.h"
#include "search/offer.h"
#include "search/plan.h"
#include "search/select.h"

#endif
