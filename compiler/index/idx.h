/* idx.h - index expressions, and the prover that answers questions on them.
 *
 *     Idx    = k + sum c * atom
 *     atom   = variable | floor(Idx / d), d > 1 | min(Idx, Idx)
 *            | max(Idx, Idx) | data: the value of an integer tensor's element
 *
 * Division is floor and `e % d` is e - d * floor(e / d). Every Idx and Atom is
 * made once (hash-consed in an IdxPool, terms sorted), so equality is pointer
 * equality, and each caches its range [lo, hi], which holds for all values of
 * its variables (a variable v runs over [0, extent)). All arithmetic is
 * checked: beyond +-2^62 a range saturates and proves nothing.
 *
 * Bounds errors, range inference, dead guards, vector widths and copy legality
 * all rest on this one piece. */
#ifndef DCC_IDX_H
#define DCC_IDX_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

struct Expr;

/* An index variable; runs over 0 .. extent - 1. Names need not be unique. */
typedef struct Var {
    int id;           /* unique in the pool, in the order of making */
    const char *name; /* as in the source */
    int64_t extent;
    bool tap;         /* a tap or its phase, some of which have fewer: where a
                         factor's guard says so, there is no term (phase.h) */
} Var;

typedef struct Idx Idx;
typedef struct IdxPool IdxPool;
typedef struct Subst Subst;
struct DataOps;
typedef enum { ATOM_VAR, ATOM_FLOOR, ATOM_MIN, ATOM_MAX, ATOM_DATA } AtomKind;

typedef struct Atom {
    AtomKind kind;
    int id;
    const Var *var;          /* ATOM_VAR */
    const Idx *a, *b;        /* FLOOR: a / d; MIN, MAX: a, b */
    int64_t d;               /* FLOOR */
    const struct Expr *data; /* DATA: an integer expression (a read), */
    const struct DataOps *of; /* of which these answer */
    int depth;               /* of floors, minima and maxima in each other */
    int size;                /* atoms in it, written out, itself included */
    int64_t lo, hi;
} Atom;

typedef struct IdxTerm {
    int64_t c; /* never 0 */
    const Atom *atom;
} IdxTerm;

/* e = rest + m * (a % d): how e is read back. `rest` may have one itself. */
typedef struct IdxMod {
    const Idx *rest, *a;
    int64_t m, d;
} IdxMod;

/* An Idx of more than IDX_MAX_TERMS terms, nested deeper than IDX_MAX_DEPTH, of
 * more than IDX_MAX_SIZE atoms inside a floor, minimum or maximum, or whose
 * numbers leave int64, becomes one unknown: an ATOM_DATA whose `data` is NULL,
 * equal to nothing else. */
enum { IDX_MAX_TERMS = 128, IDX_MAX_DEPTH = 100, IDX_MAX_SIZE = 1000 };
struct Idx {
    int64_t k, lo, hi;
    const IdxMod *mod; /* NULL if e holds no `%` */
    int id, n;
    bool data;         /* it has data atoms, however deep */
    IdxTerm term[]; /* sorted by atom id */
};
/* lo == -IDX_INF, hi == IDX_INF: no bound known. */
#define IDX_INF ((int64_t)1 << 62)

/* What is asked of data atoms' expressions; whoever has expressions answers. */
typedef struct DataOps {
    bool (*equal)(const struct Expr *a, const struct Expr *b);
    uint64_t (*hash)(const struct Expr *e);
    bool (*uses)(const struct Expr *e, const Var *v);
    /* What is an index by itself; else NULL. */
    const Idx *(*as_idx)(IdxPool *p, const struct Expr *e);
    const struct Expr *(*subst)(void *owner, const struct Expr *e,
                                const Subst *s, int n);
    void (*dump)(Buf *b, const struct Expr *e);
} DataOps;

IdxPool *idx_pool(Arena *a);
/* How many unknowns were made so far. */
int idx_unknowns(const IdxPool *p);
/* Before the first data atom. */
void idx_pool_data(IdxPool *p, const DataOps *of, void *owner);
Arena *idx_arena(IdxPool *p);
const Var *idx_new_var(IdxPool *p, const char *name, int64_t extent);
const Var *idx_new_tap(IdxPool *p, const char *name, int64_t extent);

const Idx *idx_const(IdxPool *p, int64_t k);
const Idx *idx_var(IdxPool *p, const Var *v); /* 0 if its extent is 1 */
const Idx *idx_atom(IdxPool *p, const Atom *a);
const Idx *idx_add(IdxPool *p, const Idx *a, const Idx *b);
const Idx *idx_sub(IdxPool *p, const Idx *a, const Idx *b);
const Idx *idx_addc(IdxPool *p, const Idx *a, int64_t k);
const Idx *idx_scale(IdxPool *p, const Idx *a, int64_t c);
/* The sum of all e[i] * c[i]. */
const Idx *idx_dot(IdxPool *p, const Idx *const *e, const int64_t *c, int n);
const Idx *idx_floor(IdxPool *p, const Idx *a, int64_t d); /* d > 0 */
const Idx *idx_mod(IdxPool *p, const Idx *a, int64_t d);   /* d > 0 */
const Idx *idx_min(IdxPool *p, const Idx *a, const Idx *b);
const Idx *idx_max(IdxPool *p, const Idx *a, const Idx *b);
/* The value of an integer expression, known to be in [lo, hi]. */
const Idx *idx_data(IdxPool *p, const struct Expr *data, int64_t lo,
                    int64_t hi);

bool idx_is_const(const Idx *e);                   /* then its value is e->k */
const Var *idx_is_var(const Idx *e);               /* the variable, or NULL */
int64_t idx_coef(const Idx *e, const Var *v);      /* of the bare variable */
bool idx_uses(const Idx *e, const Var *v);         /* anywhere, data included */
bool atom_uses(const Atom *a, const Var *v);
bool vars_have(const Var *const *v, int n, const Var *x); /* x is one of v */
bool idx_affine(const Idx *e);                     /* variables only */
static inline bool idx_has_data(const Idx *e)
{
    return e->data;
}

/* A substitution, applied everywhere at once, data's reads included. */
struct Subst {
    const Var *var;
    const Idx *by;
};
const Idx *idx_subst(IdxPool *p, const Idx *e, const Subst *s, int n);

/* Rebuilds e: f gives what a variable or data atom becomes, NULL to keep it. e
 * may be of another pool where f keeps none. */
typedef const Idx *IdxMap(IdxPool *p, const Atom *a, void *ctx);
const Idx *idx_map(IdxPool *p, const Idx *e, IdxMap *f, void *ctx);
/* Calls f for every atom of e, those inside floor, min and max included. */
typedef void IdxVisit(const Atom *a, void *ctx);
void idx_visit(const Idx *e, IdxVisit *f, void *ctx);

/* The largest power of two, at most `most`, that divides e for all values of
 * its variables. */
int64_t idx_align(const Idx *e, int64_t most);

/* A guard: a conjunction. mod == 0: e >= 0; else e = 0 (mod mod). */
typedef struct Cond {
    const Idx *e;
    int64_t mod;
} Cond;
typedef struct Guard {
    const Cond *cond;
    int n;
} Guard;
typedef enum { NEVER, MAYBE, ALWAYS } Truth;

Truth cond_truth(Cond c);
/* a and b, without conditions that always hold and without repetition. */
Guard guard_and(IdxPool *p, Guard a, Guard b);
Guard guard_add(IdxPool *p, Guard g, const Idx *e, int64_t mod);
Guard guard_subst(IdxPool *p, Guard g, const Subst *s, int n);
Truth guard_truth(Guard g);
/* Affine conditions that hold wherever g does. */
Guard guard_affine(IdxPool *p, Guard g);
bool guard_same(Guard a, Guard b); /* the same conditions in one order */
bool guard_uses(Guard g, const Var *v);
/* Whether it may differ among `vec` aligned neighbours along v. */
bool guard_parts(Guard g, const Var *v, int vec);
/* e with the ranges that its data have where `known` holds: for printing what
 * is computed there alone. */
const Idx *guard_narrow(IdxPool *p, Guard known, const Idx *e);
/* lo <= e < hi, only the conditions that do not always hold. */
Guard guard_within(IdxPool *p, Guard g, const Idx *e, int64_t lo, int64_t hi);

/* If e is a full mixed-radix number of distinct variables, sum c_i * v_i with
 * c_1 = 1, c_2 = extent_1, ... and total extent `extent`: stores them from the
 * slowest to the fastest and returns how many (a constant 0 with extent 1 is 0
 * variables); else -1. At most `max` variables. */
int idx_radix(const Idx *e, int64_t extent, const Var **v, int max);

/* Prints e as C; `name` gives a variable's text, `data` an atom's. / and % are
 * printed only where the dividend is provably >= 0, else dcc_floordiv and
 * dcc_floormod calls. e - d * (e / d) is printed back as %. Precedence-safe
 * when embedded with `prec` (0: as is, 1: operand of +, 2: operand of *).
 *
 * With `ints`, variables and data are C ints, and every part of e is computed
 * in int where its range and those of all its sums fit into one, in long long
 * elsewhere; with `wide` e as a whole is long long. Without `ints` they are
 * int64_t. */
typedef struct IdxPrinter {
    void (*var)(Buf *b, const Var *v, void *ctx);
    void (*data)(Buf *b, const struct Expr *e, void *ctx);
    void *ctx;
    bool ints, wide;
} IdxPrinter;
/* Whether e, printed so, has sums and products that no int may hold. */
bool idx_is_wide(const Idx *e);
/* Whether the text of e is long long, if only by a part of it. */
bool idx_is_long(const Idx *e);
/* Whether int64_t may hold all of them, in all of e's parts; not if one of
 * these is unknown. */
bool idx_is_computable(const Idx *e);
void idx_print(Buf *b, const Idx *e, const IdxPrinter *how, int prec);
/* A condition as C: i + 1 < j, k >= 2, (i + 3) % 4 == 0. No parentheses. */
void cond_print(Buf *b, Cond c, const IdxPrinter *how);
/* e >= 0 and -e >= 0 in one: i + 1 == j. */
void cond_print_zero(Buf *b, const Idx *e, const IdxPrinter *how);
/* For dumps: variables by name, data as {..}, floor division as /. */
void idx_dump(Buf *b, const Idx *e);
void guard_dump(Buf *b, Guard g);

#endif
