/* contract_mma.h - what is counted of contractions by mma.sync. */
#ifndef DCC_FAMILY_CONTRACT_MMA_H
#define DCC_FAMILY_CONTRACT_MMA_H

#include "family/contract/contract.h"

/* Fills x; NULL, or why the group is none of theirs. */
const char *mma_form(Contract *x, Graph *g, const Group *gr, const Options *o);
const void *mma_open(Graph *g, const Group *gr, const Options *o,
                     const char **why);
int mma_space(const void *form, Variant **out);
/* Rows or columns of a warp's tile, at most. */
int mma_warp_most(void);
/* Warps that have all sums of a tile. */
int mma_tile_warps(const Tile *t);
const char *mma_text(const Contract *x, const Tile *t);
const char *mma_text_of(const void *form, const Variant *v);
/* NULL, or why the variant cannot be. */
const char *mma_plan(ContractPlan *x, const Contract *f, const Variant *v);
/* contract_mma_cost.c */
double mma_least(const void *form);
double mma_potential(const void *form, const Variant *v);
void mma_cost(const void *form, const Variant *v, Cost *c);

#endif
