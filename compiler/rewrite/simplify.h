/* simplify.h - rewriting the graph before anything is grouped.
 *
 * tidy: expressions, views into their readers, factors out of sums, sums of
 * several factors in an order that costs little (paths.h), dead statements
 * away. Between the two, number.h. simplify: contractions that share an operand
 * into one, arithmetic on parameters to load time (hoist.h), dead statements
 * away, and state that is overwritten while it is read (inplace.h). */
#ifndef DCC_SIMPLIFY_H
#define DCC_SIMPLIFY_H

#include "graph/graph.h"

struct Prices;

void tidy(Graph *g, const struct Prices *p);
void simplify(Graph *g);

/* Steps that other passes take, too. */
void simplify_factors(Graph *g); /* sum(k) a[k] * c becomes c * sum(k) a[k],
                                    also where a[k] * c was a tensor's */
void simplify_dead(Graph *g);
void stack_contractions(Graph *g); /* stack.c */
void stack_lookups(Graph *g);      /* lookup.c */

/* How many statements write t, and the first of them. */
int tensor_writers(const Graph *g, const Tensor *t, Stmt **first);
/* By tensor id: the only statement that writes it, or NULL. */
Stmt **tensor_makers(const Graph *g);
Stmt *stmt_insert(Graph *g, int before); /* fresh statement at a position */
/* A load-time statement about parameter w, before all that run; its path is
 * the parameter's and "_pack". */
Stmt *load_stmt(Graph *g, const Tensor *w);
/* c, a fresh statement, stores e, an expression of s's variables v, as a tensor
 * of its own, by name; the read of it that stands for e in s. */
const Expr *store_values(Graph *g, Stmt *c, const Stmt *s, const Expr *e,
                         const Var *const *v, int n, Type type,
                         const char *name);
/* The same that reads all of w element by element; store[] is its variables,
 * the tensor is the caller's to set. Variables are called as where w is read,
 * at[], or a, b, c ... */
Stmt *load_copy(Graph *g, Tensor *w, const Idx *const *at);

#endif
