/* lower_parts.h - definitions whose left side is no plain list of indices:
 * lower_left.c reads it, lower_invert.c turns it round, lower_parts.c makes
 * one tensor of several, lower_scatter.c stores where data say.
 *
 * A part's point is an element of the tensor; while the tensor's extents are
 * not known, its variables have the greatest that there is. */
#ifndef DCC_LOWER_PARTS_H
#define DCC_LOWER_PARTS_H

#include "lower/lower_priv.h"

enum { MAX_LEFT = 16 }; /* indices of a left side */

/* What is declared of a definition. */
typedef struct Declared {
    bool elem, shape;
    Type type;
    int rank;
    int64_t dim[MAX_RANK];
    Span at;
} Declared;

/* One dimension of a left side: an index to be made, or an expression. */
typedef struct LeftDim {
    const Arg *arg;
    const AstExpr *at; /* an expression, where it is no new index */
    Name name;
    int pack;     /* how many, where it is a pack; else -1 */
    int64_t from; /* where a written range begins */
    int64_t dim[MAX_RANK];
    int index; /* in l->index */
} LeftDim;

/* A left side as indices into the tensor. */
typedef struct Left {
    const Idx *at[MAX_RANK];
    Val val[MAX_RANK]; /* the same as values, where expressions are written */
    const Arg *arg[MAX_RANK];
    int rank;
    bool data; /* made of data somewhere */
} Left;

/* Do data say where it stores? */
bool left_has_data(Lower *l, const AstStmt *s);
/* Is an index not alone on the left, or does a range begin later than 0? */
bool left_is_partial(Lower *l, const AstStmt *s);
bool left_has_range(const AstStmt *s);
/* Does the right side of an indexed definition read its name's value? */
bool def_reads_itself(const AstStmt *s);
/* Pushes the indices of a left side and gives it; false after an error. With
 * `whole`, it has to be indices alone, over all of the declared shape. */
bool left_side(Lower *l, const AstStmt *s, const Declared *d, bool whole,
               Left *out);
/* Every index stays within the declared shape, or nothing is declared and it
 * is not negative; data may leave it, where `where` then is guarded. */
bool left_inside(Lower *l, const char *name, const Left *left,
                 const Declared *d, Guard *where);

/* One definition of a part of a tensor: rank dimensions of its own, after
 * those of the caller's indices. */
typedef struct Part {
    Span at;         /* the definition */
    const Var **var; /* the left side's, in the order of the text */
    const Idx *
        *inverse; /* of each at a point; NULL: the point leaves it open */
    int n_var, rank;
    const Idx *left[MAX_RANK];
    Guard in; /* the points it defines */
    Val v;
    Stmt *stmt; /* which stores it; NULL: a base lies below */
} Part;

/* Finds p->inverse and p->in; true if every index is found, so that no two
 * points of p's indices define one element. */
bool part_invert(Lower *l, Part *p, const Idx *const *point);

/* e with reads that are made only where the guard holds; there, and only there,
 * they are known to be inside. */
const Expr *part_reads(Lower *l, const Expr *e, Guard in);

/* A definition of s's name that leaves the rest as it was, or to others. NULL
 * sym: the first. Returns false after an error. */
bool parts_add(Lower *l, const AstStmt *s, const Declared *d, Sym *sym,
               int from);

/* The same where data say which elements, or with `+=`: of what sym is. */
bool scatter_add(Lower *l, const AstStmt *s, const Declared *d, Sym *sym,
                 int from);
/* t[ids[i], j] = e and t[..] += e over `base`: what t is then. */
Ref scatter(Lower *l, const char *name, const Left *left, Val v, bool add,
            const Ref *base, Type type, int from);

#endif
