/* steps_put.h - the steps of a family: their order, the tensors that hold what
 * each has of its own, and the statement that is all of them. */
#ifndef DCC_STEPS_PUT_H
#define DCC_STEPS_PUT_H

#include "rewrite/steps_form.h"

/* A tensor that has others as its slices. */
typedef struct Stack {
    Tensor *whole;
    int dim;
    Tensor **part;
    int64_t *at;
    int n, cap;
    int ready; /* the position of the last statement that fills it */
} Stack;

typedef struct Member {
    Stmt *s;
    int pos;
    Varied v[2];
    int64_t key;
} Member;

/* A statement that goes in ahead of a position. */
typedef struct Insert {
    Stmt *s;
    int before, order;
} Insert;

typedef struct Steps {
    Graph *g;
    int n, n_tensor; /* statements and tensors there were: by id of these */
    int *writers, *last_write, *reads, *first_read;
    bool *older;
    bool *put;      /* a stack's part: it is read where it is made */
    int *root;      /* by position: where the sum that it adds to ends */
    bool *tried[2]; /* by position: with one factor that is the same, or
                       none */
    bool *gone;     /* by position */
    Stack *stack;
    int n_stack, cap_stack;
    Insert *insert;
    int n_insert, cap_insert;
    Member *m; /* of the family at hand */
    int n_m, cap_m;
} Steps;

/* By the slices that they read; by where they lie already; else as their
 * tensors were made, those of the forward pass first. All before `pos`. */
void steps_order(Steps *x, int pos);
/* The steps' factor i, of step t; before `pos`. NULL: there is none. Nothing is
 * made unless `build`. */
const Expr *steps_factor(Steps *x, int i, const Idx *t, int pos, bool build);
/* A fresh statement goes in ahead of a position. */
void steps_insert(Steps *x, Stmt *s, int before);
/* A statement like a, of all steps' points. */
Stmt *steps_widened(Steps *x, const Stmt *a, const Var *t);
/* The steps as one statement before `pos`, whose step is `t`: a point of its
 * own (`points`), summed over, or one that it has (only). */
Stmt *steps_joined(Steps *x, const Var *t, bool points, int pos);
/* Each step's own tensor as a slice of them all. */
void steps_put_views(Steps *x, Tensor *whole, int pos);
/* The sum of all in place of the last step's, and 0 in that of the others. */
void steps_put_sum(Steps *x, Tensor *sum, int pos);

typedef struct Swap {
    const Tensor *t;
    Tensor *by; /* NULL: 0 */
} Swap;

/* An ExprRewrite: reads of t by others. */
const Expr *step_swap(Graph *g, const Expr *e, void *ctx);

#endif
