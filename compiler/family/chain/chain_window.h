/* chain_window.h - a window and the product that takes it, as one kernel.
 *
 * The product's rows are made where they are multiplied: a block computes its
 * tile of window results, such as a depthwise convolution's with what follows
 * it, from the input as it lies in memory, into shared memory; then mma.sync
 * multiplies the tile. A tile has all columns of the product, or all blocks of
 * a row of tiles make theirs; the two blocks of a cluster share a tile by parts
 * of its sum, so that nothing is made twice where a few rows leave SMs idle. */
#ifndef DCC_FAMILY_CHAIN_WINDOW_H
#define DCC_FAMILY_CHAIN_WINDOW_H

#include "family/common/body.h"
#include "family/contract/contract_shared.h"
#include "group/groups.h"

typedef struct WindowForm {
    Contract c;              /* the product; its a is what is made here */
    const Group *gr;         /* the whole */
    const Group *first;      /* the window, as a nest that stores its values */
    const Tensor *made; /* the tensor that those would be, if it were one */
    const Var *along;   /* the sum's variable: values side by side of a point */
    int vec, copy;    /* a thread may make so many of them at a time, and copies
                         so many of the other factor's */
    Census *census;   /* of first */
    double converted; /* 16-bit values that one of its points reads */
} WindowForm;

typedef struct WindowPlan {
    ContractPlan p;
    int vec;     /* values that a thread makes at a time */
    int tiles_k; /* that a block has, at most */
} WindowPlan;

/* NULL, or why the variant cannot be. */
const char *window_plan(WindowPlan *w, const WindowForm *f, const Variant *v);
const char *window_text(const WindowForm *f, const WindowPlan *w);
/* chain_window_cost.c */
double window_least(const void *form);
void window_cost(const void *form, const Variant *v, Cost *c);
/* chain_window_build.c */
void window_build(const void *form, const Variant *v, Kernel *k);

#endif
