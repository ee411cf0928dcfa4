/* chain_window.h - a window and the product that takes it, as one kernel.
 *
 * The product's rows are made where they are multiplied, by a window or by
 * another product of few columns: a block computes its
 * tile of window results, such as a depthwise convolution's with what follows
 * it, from the input as it lies in memory, into shared memory; then mma.sync
 * multiplies the tile. A tile has all columns of the product, or all blocks of
 * a row of tiles make theirs; blocks of a cluster share a tile by parts of its
 * sum, so that nothing is made twice where a few rows leave SMs idle. */
#ifndef DCC_FAMILY_CHAIN_WINDOW_H
#define DCC_FAMILY_CHAIN_WINDOW_H

#include "family/common/body.h"
#include "family/contract/contract.h"
#include "group/chain.h"

typedef struct WindowForm {
    Contract c;              /* the product; its a is what is made here */
    const Group *gr;         /* the whole */
    const Group *first;      /* the window, as a nest that stores its values */
    const Contract *product; /* the first, if it is none but another product */
    const Tensor *made; /* the tensor that those would be, if it were one */
    const Var *along;   /* the sum's variable: values side by side of a point */
    int vec, copy;    /* a thread may make so many of them at a time, and copies
                         so many of the other factor's */
    Census *census;   /* of first */
    double converted; /* 16-bit values that one of its points reads */
} WindowForm;

typedef struct WindowPlan {
    ContractPlan p;
    int vec;          /* values that a thread makes at a time; or the first */
    int stages;       /* product's ring, */
    int bd;           /* terms of a slot */
    int mid_m, mid_n; /* and a warp's part of its sums */
    int tiles_k;      /* that a block has, at most */
    size_t smem;
} WindowPlan;

/* NULL, or why the variant cannot be. */
const char *window_plan(WindowPlan *w, const WindowForm *f, const Variant *v);
const char *window_text(const WindowForm *f, const WindowPlan *w);
/* chain_window_cost.c */
double window_least(const void *form);
void window_cost(const void *form, const Variant *v, Cost *c);
/* chain_window_product.c: the first product's constants, its ring, of which it
 * returns the bytes, and its loads; its first slots, of what load time made or
 * of the rest, behind the wait; and its sums, with what follows them, as
 * factors in `tile`. */
void window_product_constants(ContractBuild *x, const WindowForm *f,
                              const WindowPlan *w);
size_t window_product_memory(ContractBuild *x, const WindowForm *f,
                             const WindowPlan *w);
Tree *window_product_load(ContractBuild *x, const WindowForm *f,
                          const WindowPlan *w);
Tree *window_product_ahead(ContractBuild *x, const WindowForm *f, bool made);
Tree *window_product(ContractBuild *x, const WindowForm *f, const char *tile);
/* chain_window_build.c */
void window_build(const void *form, const Variant *v, Kernel *k);

#endif
