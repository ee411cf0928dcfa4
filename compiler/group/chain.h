/* chain.h - fusion through shared memory: heavy, rows, heavy as one kernel.
 *
 *   first    a contraction: points (i, j), columns d     s[i, j] = sum(d) ..
 *   between  rows i, columns j: maps and reductions      f[i, j] of s[i, j]
 *   second   a contraction: points (i, e), columns j     o[i, e] = sum(j) f v
 *
 * The three are groups of their own in the same variables: `second` reads what
 * `between` stores to a tensor that is never in memory, as `between` does with
 * what `first` stores. The chain is a group whose steps are all of theirs, with
 * locals in place of those tensors. No operator's name is looked at. */
#ifndef DCC_CHAIN_H
#define DCC_CHAIN_H

#include "group/group.h"

typedef struct Chain {
    Group *first, *between, *second;
    const Tensor *scores;   /* of first's points; only here */
    const Tensor *factor;   /* what second multiplies; only here */
    int n_first, n_between; /* steps of the group that are theirs; with those of
                               `other`, which come first */
    Group *other;           /* another first at the same points, or NULL */
    const Tensor *beside;   /* what it leaves; only here */
    bool halves;            /* the factor is f32, and multiplied in two parts of
                               f16 (rewrite/halves.h), */
    bool thirds;            /* or in three of bf16, which hold all of it */
    bool wide;              /* which may be beyond f16's range */
    bool scaled;            /* in halves, of which small ones matter: what they
                               make is not rounded to f16 */
    Group *twin;            /* a chain of the same scores, in the same
                               variables: with a second product of its own,
                               whose steps are the group's last; or NULL */
} Chain;

/* Values of rows that the chain stores besides its results, such as a softmax's
 * maximum and sum, from which its gradient has it again. */
typedef struct ChainKept {
    const Tensor *t[8];
    int n;
} ChainKept;

/* unit[0] .. unit[n - 1], in the order of execution, as one chain: the first is
 * unit[0], the second unit[n - 1], and of what the others store nobody else
 * reads more than `kept`. NULL and the reason if they are none. */
Group *chain_form(Graph *g, Group *const *unit, int n, const ChainKept *kept,
                  const char **why);
/* Whether t, which others read, too, may be one of those; adds it. */
bool chain_keep(ChainKept *kept, const Tensor *t);

/* Two chains as one, if their scores are the same, which one of them takes with
 * another product's: those are made once, as the gradients of an attention's
 * keys and values want. NULL if they cannot be. */
Group *chain_twins(Graph *g, const Group *a, const Group *b);

/* Factors of 16 bits that the second product multiplies. */
int chain_parts(const Chain *c);

/* Whether the group could be the first or the second of a chain. */
bool chain_heavy(Graph *g, const Group *gr);

#endif
