/* tree_value.h - what is known of the integers in a kernel's expressions.
 *
 * A Range holds for each value that an expression takes while its kernel runs.
 * Nothing is known where an int could overflow, where an unsigned could wrap,
 * and of what is not integer arithmetic. */
#ifndef DCC_TREE_VALUE_H
#define DCC_TREE_VALUE_H

#include "emit/tree.h"

typedef struct Range {
    bool known;
    bool wraps;      /* unsigned: below 0 it wraps */
    int64_t lo, hi;
} Range;

/* A name and its range; later ones hide earlier ones. "blockIdx.x" is one. */
typedef struct Fact {
    const char *name;
    Range range;
} Fact;

typedef struct Facts {
    Arena *arena;
    Fact *fact; int n, cap;
} Facts;

Range range_of(int64_t lo, int64_t hi);
void facts_add(Facts *f, const char *name, Range r);
Range code_range(const Facts *f, Code c);
/* 1: always true, 0: always false, -1: neither is known. */
int code_truth(const Facts *f, Code c);

/* c with each mention of `id` replaced by the token t, and the arithmetic that
 * this makes trivial folded: i * 32 + lane is `lane` where i is 0. Other
 * arithmetic stays as its writer left it. */
Code code_replace(Arena *a, Code c, const char *id, Token t);
void tree_replace(Arena *a, Tree *in, const char *id, Token t);
/* The contrary of a condition on integers, `m < M` of `m >= M`. */
Code code_negate(Arena *a, Code c);

/* How tight an operator binds, 1: `||`; 0: t is none between operands. */
int token_binds(const Token *t);
enum { BINDS_OR = 1, BINDS_AND, BINDS_EQUAL = 6, BINDS_LESS, BINDS_MUL = 10 };
/* Whether the parenthesis at i holds a type: a cast. */
bool code_is_cast(Code c, int i);
/* Whether s is a plain decimal number, and which. */
bool token_integer(const Token *t, int64_t *v);

#endif
