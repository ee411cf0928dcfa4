/* levels_web.h - for levels.c: who makes and reads what. */
#ifndef DCC_LEVELS_WEB_H
#define DCC_LEVELS_WEB_H

#include "graph/graph.h"

enum { DEPTH = 6 };

typedef struct Stmts {
    Stmt **v;
    int n, cap;
} Stmts;

/* Kept up to date as statements are split, of which each has few neighbours
 * and the model many. */
typedef struct Web {
    Graph *g;
    Stmt **maker;   /* by tensor id: the only statement that writes it */
    Stmts *readers; /* by tensor id: those that read it, or did once */
    struct Met *met; /* by tensor id */
    int cap;        /* of tensors */
    int walks;
    Stmts products; /* those that are, or were once */
} Web;

/* The last walk that came by, and after how many steps at least. */
typedef struct Met {
    int walk, depth;
} Met;

Web web_open(Graph *g);
/* What s reads and makes, too. */
void web_link(Web *web, Stmt *s);
/* A sum of products of 16 bits. */
bool web_is_product(const Stmt *s);
/* Is s about what one product leaves, for another over the same columns?
 * chain.h has these in one pass. */
bool web_between(Web *web, const Stmt *s);
/* Does a product take what s sums, as it is, as a factor over the same: a
 * bias's gradient is there with its weight's (factor_sum.h). Not of so little
 * that others hide its kernel. */
bool web_sums_factor(const Web *web, const Stmt *s);
int64_t vars_points(const Var *const *v, int n); /* 2^40 at most, or so */
/* Each of s's variables is a dimension of what it stores, in their order, and
 * all of them are there. */
bool levels_plain_store(const Stmt *s);

#endif
