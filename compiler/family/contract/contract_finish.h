/* contract_finish.h - how the sums of a contraction are finished: what is
 * evaluated, by how many columns at once, and its text. For contract_store.c,
 * contract_pieces.c and contract_pack.c. */
#ifndef DCC_FAMILY_CONTRACT_FINISH_H
#define DCC_FAMILY_CONTRACT_FINISH_H

#include "family/contract/contract.h"

/* Of more reads and stores than that, some are done element by element. */
enum { MAX_VECTORS = 32, MAX_SCALARS = 4 };

/* When a read is done: with a point's steps, with those of its columns' points
 * before all of these, or before the sums are there. */
typedef enum { READ_POINT, READ_COLUMNS, READ_EARLY } ReadWhen;

typedef struct Vector {
    const Expr *read;      /* of this element, or NULL: a store */
    const char *id;
    int piece, count;      /* elements of one access, accesses */
    ReadWhen when;
} Vector;

typedef struct Finish Finish;
struct Finish {
    ContractBuild *x;
    const Expr *value[MAX_STEPS];
    const Idx **store[MAX_STEPS];
    Guard where[MAX_STEPS];
    bool vector_store[MAX_STEPS];
    const Var *fast;       /* neighbouring columns differ in it by one */
    bool partial;          /* a thread's last columns may lie beyond N */
    bool linear_m, linear_n;
    Vector vec[MAX_VECTORS]; int n_vec;
    const char *pack;      /* takes the stored columns instead of memory */
    const Expr *scalar[MAX_SCALARS]; /* reads of f32 numbers (a rate), and */
    const char *scalar_id[MAX_SCALARS]; /* the locals that have them */
    int n_scalar;
};

/* Fills f and x->vec, of at most `most` columns. */
void finish_prepare(Finish *f, ContractBuild *x, int most);
/* The most columns, up to `most`, that some store can take at once. */
int finish_choose(Finish *f, int most);
/* Whether an offset, index or guard of e takes a quotient of v. */
bool finish_divides(Graph *g, const Expr *e, const Var *v);
bool finish_row_step(const Step *s);
/* Whether e uses a variable of the side. */
bool finish_uses(const Side *s, const Expr *e);
/* Where all that is read of t is, or NULL: in memory. */
const char *finish_input(const ContractBuild *x, const Tensor *t);
/* Whether v is read and may be before the sums are there. */
bool finish_ahead(const ContractBuild *x, const Vector *v);
/* Declarations that follow each other: those of one type are one. */
typedef struct OneType {
    const char *type, *names;
} OneType;
void finish_declare_one(Tree *b, OneType *d, const char *type,
                        const char *name);
void finish_declared(Tree *b, OneType *d); /* the last ones */
/* dcc_f32x4 r_vec[2], s_vec[2]; those that are read then;
 * zero: with = {}, as where a read has a condition */
void finish_declare(Finish *f, Tree *b, ReadWhen when, bool zero);
/* if (..) dcc_read(r_vec, &r[..]); */
void finish_read(Finish *f, Tree *b, const Vector *v);
/* Names the variables of a side: digits of its number, or the number alone. */
void finish_side(Finish *f, Tree *b, const Side *s, bool linear);
void finish_sum(Finish *f, const char *text);
/* The sums of this thread's columns, and the vectors that go with them. */
void finish_loads(Finish *f, Tree *b);
/* contract_range.c: a sum over a range, of which one factor is 0 outside. Where
 * the other is not finite there the sum is NaN, and done again without. */
void finish_range(Finish *f, Tree *b);
/* The same of many sums in registers, with one test for all of them: they are
 * replaced in place; `place` says where the one is that `args` number. */
void finish_redo(Finish *f, Tree *b, const char *sums, const char *args,
                 Tree *place);
/* What text calls v. */
const char *finish_name(const CPrint *cp, const Var *v);
/* The loop over a thread's columns. */
void finish_columns(Finish *f, Tree *b);
/* The vector that step i stores. */
Vector *finish_vector(Finish *f, int step);
const char *finish_type(const Finish *f, const Tensor *t, const Vector *v);
/* dcc_copy<dcc_f16x8>(&y[..], from); */
void finish_vector_copy(Finish *f, Tree *b, const Vector *v, int step,
                        const char *from);

/* e, of a group that computes values of its rows first (row_values.h), with
 * these as locals of the kernel's text from `first` on. The merge's own values
 * are numbered from 0 on, those of the group's from -1 down: e is of the former
 * if `own`. */
const Expr *finish_row_values(Graph *g, const Expr *e, int first, bool own);

/* dcc_store_line<COLS>(&y[..], from, line, N - n); by COLS / 8 lanes */
void finish_line(Finish *f, Tree *b, int step, const char *from);

#endif
