/* offer.h - every variant that could serve a group, of all families. */
#ifndef DCC_OFFER_H
#define DCC_OFFER_H

#include "search/select.h"

typedef struct Offer {
    const Family *family;
    const Variant *variant;
    Cost cost;
    int at; /* position in the families' own order */
} Offer;

/* The legal ones, cheapest first; how many. */
int offer_all(const Selection *s, Group *gr, Offer **out);
/* From now on this family serves the group and all that equal it: its choice,
 * in place of the model's. NULL: the family cannot. */
Choice *offer_family(Selection *s, Group *gr, const char *family);

#endif
