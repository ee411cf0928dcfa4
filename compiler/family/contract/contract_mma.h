/* contract_mma.h - what is counted of contractions by mma.sync. */
#ifndef DCC_FAMILY_CONTRACT_MMA_H
#define DCC_FAMILY_CONTRACT_MMA_H

#include "family/contract/contract.h"

/* NULL, or why x->t cannot be. */
const char *mma_plan(Contract *x);
/* contract_mma_cost.c */
double mma_least(const void *form);
void mma_cost(const void *form, const Variant *v, Cost *c);

#endif
