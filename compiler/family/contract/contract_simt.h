/* contract_simt.h - what is counted of contractions on the ordinary pipes. */
#ifndef DCC_FAMILY_CONTRACT_SIMT_H
#define DCC_FAMILY_CONTRACT_SIMT_H

#include "family/contract/contract.h"

enum { SIMT_LANES = 32 }; /* of a warp */

/* Threads that have all sums of a tile. */
int simt_slice_threads(const Tile *t);
/* Parts of each tile's k, multiplied by threads of their own. */
int simt_slices(const Tile *t);
int simt_lanes(const Tile *t);
bool simt_own_rows(const ContractPlan *x);
/* k of a tile that a thread multiplies. */
int simt_steps(const Tile *t);
const void *simt_open(Graph *g, const Group *gr, const Options *o,
                      const char **why);
int simt_space(const void *form, Variant **out);
const char *simt_text(const Contract *x, const Tile *t);
const char *simt_text_of(const void *form, const Variant *v);
/* NULL, or why the variant cannot be. */
const char *simt_plan(ContractPlan *x, const Contract *f, const Variant *v);
/* contract_simt_cost.c */
double simt_least(const void *form);
double simt_potential(const void *form, const Variant *v);
void simt_cost(const void *form, const Variant *v, Cost *c);

#endif
