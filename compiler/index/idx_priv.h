/* idx_priv.h - what the idx*.c files and guard.c share; nobody else includes
 * this. */
#ifndef DCC_IDX_PRIV_H
#define DCC_IDX_PRIV_H

#include "index/idx.h"

/* ---- numbers */

static inline int64_t floor_div(int64_t a, int64_t d)
{
    int64_t q = a / d;
    return q - (a % d < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t d)
{
    int64_t r = a % d;
    return r < 0 ? r + d : r;
}

static inline uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static inline uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* A sum under construction: sorted terms, none zero. */
typedef struct Lin {
    int64_t k;
    int n;
    bool bad; /* left int64, or too long */
    IdxTerm term[IDX_MAX_TERMS];
} Lin;

void lin_const(Lin *l, int64_t k);
void lin_of(Lin *l, const Idx *e);
/* Adds c * atom, c * e. */
void lin_term(Lin *l, int64_t c, const Atom *atom);
void lin_add(Lin *l, const Idx *e, int64_t c);
/* The coefficient of an atom in e. */
int64_t atom_coef(const Idx *e, const Atom *a);

/* The one Idx that l is, and the one Atom that key is (but for its id). */
const Idx *lin_intern(IdxPool *p, const Lin *l);
/* floor(a / d) as it stands. */
const Idx *idx_floor_atom(IdxPool *p, const Idx *a, int64_t d);

/* Bounds: -IDX_INF below and IDX_INF above mean none. */
typedef struct Range {
    int64_t lo, hi;
} Range;

static inline Range range_of(const Idx *e)
{
    return (Range){e->lo, e->hi};
}

Range range_limit(int64_t lo, int64_t hi);
Range range_meet(Range a, Range b);
Range range_add(Range a, Range b);
Range range_scale(Range r, int64_t c);
Range range_floor(Range r, int64_t d);
/* True, and the quotient, if all of r has one floor quotient by d. */
bool range_one_period(Range r, int64_t d, int64_t *q);

/* For a new Idx, whose terms are set: its `%`; then its range. */
const IdxMod *idx_find_mod(IdxPool *p, const Idx *e);
Range idx_find_range(IdxPool *p, const Idx *e);
/* e, of which it is known besides that its value is in r. */
const Idx *idx_narrow(const Idx *e, Range r);
/* False if the work that one Idx is worth is done. */
bool idx_spend(IdxPool *p);

#endif
