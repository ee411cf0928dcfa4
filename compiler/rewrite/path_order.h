/* path_order.h - the order in which a sum of several factors costs least.
 *
 * Part of paths.c. Which indices the sum of a subset of the factors still has
 * follows from the others; what it takes is estimated as a product of two on
 * tensor cores, or as what it moves and adds. */
#ifndef DCC_PATH_ORDER_H
#define DCC_PATH_ORDER_H

#include "rewrite/paths.h"

enum {
    MOST_FACTORS = 24, /* of a sum, opened */
    ALL_ORDERS = 8,    /* are looked at of so many factors */
    MAX_VARS = 64,     /* as bits of a VarSet */
};

typedef uint64_t VarSet;
typedef unsigned Mask; /* of factors */

/* A factor, or the sum of some, as one of a statement's operands. */
typedef struct Part {
    const Expr *e;
    VarSet vars;
    double bytes;
    bool half, constant;
} Part;

/* The cheapest way to some factors' sum: all of them in one sum; that of
 * `left`'s sum and the others, or theirs; or a tensor that is there. */
typedef struct Way {
    double us;
    Mask left;
    bool right; /* the others are summed before, too */
    const struct Made *made;
} Way;

/* A sum that was made: its term in the pool's own variables, by place. */
typedef struct Made {
    const Expr *value;
    const Stmt *s;
    int place[MAX_RANK];       /* of the variable of each dimension */
    unsigned long long summed; /* places */
} Made;

typedef struct Paths {
    Graph *g;
    const Prices *price;
    int *uses; /* statements that read a tensor, by id */
    Stmt **maker;
    int n_known; /* tensors that these two know */
    Made *made;
    int n_made, cap_made;
    const Var **own;
    int n_own, cap_own; /* variables of `made`, by place */
    /* of the sum at hand */
    Stmt *s;
    const Var *var[MAX_VARS];
    int n_var;
    Part part[MOST_FACTORS];
    int n_part;
    const Expr *outside; /* factors without a summed index, or NULL */
    const Expr *guard;   /* what the sum's term stands under, or NULL */
    VarSet out, red, pinned, ever; /* ever: of any factor */
    double now_us;
    bool full;
    Way *way; /* by Mask; NULL: as they are */
} Paths;

VarSet path_vars_of(const Paths *p, const Expr *e);
double path_extents(const Paths *p, VarSet set);
/* What n parts take, multiplied and summed to `result`, under a guard of these
 * variables. */
double path_sum_us(const Paths *p, const Part *part, int n, VarSet result,
                   VarSet guard);

Mask path_everything(const Paths *p);
/* The variables of these factors, and those that their sum still has. */
VarSet path_used(const Paths *p, Mask of);
VarSet path_kept(const Paths *p, Mask of);
/* Parameters alone are in them. */
bool path_constant(const Paths *p, Mask of);
/* Whether their sum may be a tensor, with indices fewer than the factors have:
 * a large one is no larger than what is there. */
bool path_may_store(const Paths *p, Mask of);
/* p->way, of each subset. */
void path_find_ways(Paths *p);

#endif
