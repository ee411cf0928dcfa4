/* graph.h - a model as statements over tensors; what every pass reads.
 *
 * An operator is not a node type: a softmax is four statements. After lower,
 * each statement is either pointwise (op R_NONE) or one bare reduction whose
 * result is an accumulator-typed tensor; arithmetic around a reduction is a
 * pointwise statement of its own. Statements are in the order of execution.
 *
 * Owned by the compilation's arena. */
#ifndef DCC_GRAPH_H
#define DCC_GRAPH_H

#include "index/idx.h"
#include "support/support.h"

enum { MAX_RANK = 8 };
/* So many slices of one tensor are made together, and taken in one by one by
 * who makes them: q, k and v (stack.c). */
enum { FEW_SLICES = 8 };

typedef enum { T_BOOL, T_I8, T_U8, T_I32, T_F16, T_BF16, T_F32 } Type;
const char *type_name(Type t);   /* f32 */
const char *type_cname(Type t);  /* float, as in emitted code */
int type_bytes(Type t);
bool type_is_float(Type t);
/* Every value of type `in` is one of type `t` (expr.c). */
bool type_holds(Type t, Type in);
Type type_wider(Type a, Type b); /* the rules of types; f16 with bf16: f32,
                                    i8 with u8: i32 */

typedef enum { R_NONE, R_SUM, R_PROD, R_MAX, R_MIN, R_ARGMAX } Reduce;
const char *reduce_name(Reduce r);

typedef enum { WHEN_LOAD, WHEN_RUN } When;

typedef enum {
    ROLE_TEMP, ROLE_INPUT, ROLE_OUTPUT, ROLE_PARAM, ROLE_STATE
} Role;

typedef enum {
    PLACE_NONE, PLACE_PARAMS, PLACE_CONSTS, PLACE_ARENA, PLACE_STATE,
    PLACE_INPUT, PLACE_OUTPUT,
    PLACE_STAGED /* a parameter that load steps alone read */
} Place;

/* What a parameter is where no weights file has it. */
typedef enum {
    BEGIN_NONE,    /* a file must have it */
    BEGIN_NUMBER,  /* `init` everywhere */
    BEGIN_UNIFORM, /* drawn from [init, spread) */
    BEGIN_NORMAL   /* drawn; mean init, standard deviation spread */
} Begin;
const char *begin_enum(Begin b); /* as in emitted code */

typedef struct Stmt Stmt;

/* A tensor version. Redefinition and a write to `state` make a new Tensor;
 * `prev` is the version whose memory a partial write keeps. */
typedef struct Tensor {
    int id;
    const char *name;   /* as in the source; temporaries have a made name */
    const char *path;   /* block path, "" at the top; name for emission */
    const char *called; /* what code calls it: a block's result has its
                           caller's name; NULL: by `name` */
    const char *const *part; /* what code calls its parts along part_dim: it
                                was stacked (stack.c); or NULL */
    int part_dim;
    const char *weight; /* ROLE_PARAM: its name in the weights file; a
                           ROLE_STATE that has one is a trained parameter */
    Type type;
    int rank;
    int64_t dim[MAX_RANK];
    Role role;
    When when;          /* LOAD: depends on params only */
    bool of_rows;       /* a value a row that a norm may have (norm.h) */
    bool partly;        /* needed in part: the rest may be anything */
    bool halves;        /* a gradient that products take as two f16 parts
                           (halves.h) */
    bool parts;         /* dim[0] says which part of a value (parts.h) */
    bool tf32;          /* holds numbers of 11 bits, which tensor cores take as
                           they are (parts.h) */
    bool for_chain;     /* a copy that lies as chains want it: it is one until
                           these were looked for (ends.h) */
    bool astride;       /* results of products that lie along their rows, other
                           than the copy of them (astride.h) */
    bool own;           /* made for one product, again (recompute.h) */
    bool cut;           /* made for one sum: 0 where a term is out of its range
                           (factors.h) */
    bool as_declared;   /* its last dimension is contiguous (shifts.h) */
    bool stacked;       /* its last dimension says which of a stack (stack.c) */
    bool kept;          /* is there, whether a kernel reads it or not */
    bool renewed;       /* made at load time, and by every run for the next
                           one (renew.h) */
    bool stopped;       /* no gradient passes through what makes it */
    bool twice;         /* gradients read it as computed again (keep.h,
                           recompute.h), maybe rounded otherwise */
    bool regrouped;     /* has added up other terms than the source's so far
                           (steps_put.h): nothing to compare */
    bool promised;      /* values are in [lo, hi): an integer input's promise,
                           or known of a temporary */
    int64_t lo, hi;
    double init;        /* ROLE_STATE: value before the first run */
    Begin begin;        /* ROLE_PARAM, trained or not */
    double spread;
    int varies;         /* 1 + the dimension that is a multiple of a set's
                           size; 0: none is */
    const char *copied; /* of one that varies: why a run of less than the size
                           has a copy; NULL: kernels keep within it */
    struct Tensor *prev;
    struct Tensor *host; /* it lies in a part of that one (embed.h), `first`
                            elements behind its beginning; or NULL */
    int64_t first;
    const char *says;   /* what it is, where that is no statement's; or NULL */
    Span at;            /* the declaration */
    /* physical; set by layout and memory */
    int64_t stride[MAX_RANK]; /* in elements */
    int64_t span;             /* elements from first to last, + 1, padded */
    int align;                /* bytes every row start is a multiple of */
    Place place;
    size_t offset;            /* bytes; for inputs and outputs the ordinal */
} Tensor;

typedef enum {
    E_CONST,  /* num */
    E_INDEX,  /* idx as a value: i32 */
    E_READ,   /* tensor[at], where `in` holds; else `outside` */
    E_LOCAL,  /* in a Group: the value of an earlier step at this point */
    E_UNARY, E_BINARY, /* fn, arg[0..] */
    E_SELECT, /* arg[0] ? arg[1] : arg[2] */
    E_CAST    /* arg[0] rounded to type */
} ExprKind;

typedef enum {
    F_NEG, F_NOT,
    F_ADD, F_SUB, F_MUL, F_DIV, F_MOD, F_MIN, F_MAX, F_POW, F_ATAN2, F_FMOD,
    F_LT, F_LE, F_GT, F_GE, F_EQ, F_NE, F_AND, F_OR,
    F_ABS, F_SQRT, F_RSQRT, F_CBRT, F_EXP, F_EXP2, F_EXPM1, F_LOG, F_LOG2,
    F_LOG10, F_LOG1P, F_SIN, F_COS, F_TAN, F_ASIN, F_ACOS, F_ATAN, F_SINH,
    F_COSH, F_TANH, F_ASINH, F_ACOSH, F_ATANH, F_ERF, F_ERFC, F_TGAMMA,
    F_LGAMMA, F_FLOOR, F_CEIL, F_TRUNC, F_ROUND, F_RINT, F_HYPOT, F_COPYSIGN,
    F_FDIM, F_FMA,
    F_RANDOM /* of a count, a place and which: f32 in [0, 1) */,
    /* what rewriting makes, no words of the language: the nearest number of 11
       bits (parts.h); of 1 + erf and the like */
    F_TF32,
    F_NORMCDF, F_GELU /* x normcdf(x) */, F_LOGISTIC,
    F_SLOPE /* of that: logistic(x) logistic(-x) */,
    F_GELU16 /* gelu(x + y), see functions.h */,
    F_STOP /* x, for gradients a constant; gone after lowering */, F_COUNT
} Func;
const char *func_name(Func f); /* exp, +, ... as in the source */
int func_arity(Func f);

/* Immutable; shared freely. Arithmetic is done in f32 where `type` is a float
 * type and in i32 where it is not; only E_CAST and a store round to `type`. */
typedef struct Expr {
    ExprKind kind;
    Type type;
    Func fn;
    double num;
    const Idx *idx;
    Tensor *tensor;
    const Idx **at;           /* tensor->rank of them */
    Guard in;                 /* empty: always inside */
    const struct Expr *outside; /* NULL if `in` is empty */
    const struct Expr *arg[3];
    int local;                /* E_LOCAL: step number */
    Span span;
} Expr;

struct Stmt {
    int id;
    const Var **out; int n_out; /* the values written: all of out x .. */
    const Var **red; int n_red;
    Reduce op;
    const Expr *value;
    Tensor *tensor;
    const Idx **store;          /* tensor->rank; injective on out */
    Guard where;                /* writes only where it holds (state rows) */
    Guard needed;               /* elsewhere nobody reads what it writes */
    When when;
    const char *path;           /* block path and name: "layer.0.h" */
    Span at;                    /* the source statement, innermost */
    Span call;                  /* the user's own line */
    unsigned notes;             /* NOTE_* */
    Tensor **with; int n_with, cap_with; /* NOTE_FUSE: those it reads */
    Tensor *pieces;             /* of a sum over rows: where a product may leave
                                   what it has of it (norm.h); or NULL */
    const struct Fold *fold;    /* of a product of a norm (fold.h); or NULL */
    bool for_fold;              /* it is there for such alone */
    bool behind;                /* of gradients; from keep on also what stands
                                   behind the first of these */
    bool again;                 /* of the forward pass, once more (keep.h) */
};
enum { NOTE_NOFUSE = 1, NOTE_FUSE = 2 };

/* `is` is the gradient of `loss` by `by`. */
typedef struct Gradient {
    Tensor *loss, *by, *is;
} Gradient;

/* `dim B in {1, 8, 32}`: the model is for all of these, and this graph for the
 * last. */
enum { MAX_SET = 16 };
typedef struct SizeSet {
    const char *name; /* NULL: the model has none */
    int64_t value[MAX_SET]; /* ascending */
    int n;
    Span at;
} SizeSet;

typedef struct Graph {
    Arena *arena;
    IdxPool *pool;
    Diag *diag;
    const char *model;  /* name */
    Span at;
    SizeSet set;
    const char *word;   /* one of a set: "B8" in its kernels' names; or NULL */
    const Var *run;     /* one of a set that also serves sizes below it: how
                           many a run has, 1 to `most`; or NULL */
    bool joined;        /* steps of a loop are one product (steps.h) */
    int64_t most;
    Tensor **tensor; int n_tensor, cap_tensor;
    Stmt **stmt; int n_stmt, cap_stmt;
    int n_made;         /* statements so far, for their ids */
    Tensor **input; int n_input, cap_input;    /* in order of declaration */
    Tensor **output; int n_output, cap_output;
    Tensor **param; int n_param, cap_param;    /* trained ones too */
    Tensor **state; int n_state, cap_state;    /* first versions */
    bool trains;        /* a run writes parameters */
    bool as_declared;   /* windows have no say in how tensors lie */
    uint64_t layouts;   /* the seed of random ones; 0: chosen */
    Gradient *gradient; int n_gradient, cap_gradient; /* those asked for */
} Graph;

Graph *graph_new(Arena *a, Diag *d, const char *model);
const char *tensor_called(const Tensor *t);
/* What code calls the part of it that `at` reads or writes. */
const char *tensor_part_called(const Tensor *t, const Idx *const *at);
/* Another tensor of what t is: its name, path, place and time. */
Tensor *graph_tensor_like(Graph *g, const Tensor *t, Type type, int rank,
                          const int64_t *dim);
Tensor *graph_tensor(Graph *g, const char *name, Type t, int rank,
                     const int64_t *dim); /* appended; TEMP, row-major */
Stmt *graph_stmt(Graph *g);               /* appended, zeroed, with id */
int64_t tensor_elems(const Tensor *t);
/* Element offset of t[at] (or store[]) as an index. */
const Idx *tensor_offset(Graph *g, const Tensor *t, const Idx **at);
/* Does what decides where something is stored read t? */
bool place_reads(const Idx *const *store, int rank, Guard where,
                 const Tensor *t);
/* A parameter that runs write, or a later version of one. */
bool tensor_is_trained(const Tensor *t);
/* No launch of a run writes it ahead of one that reads it: a parameter, or what
 * load time made of such, though a run may leave another version of it to the
 * next. */
bool tensor_is_constant(const Tensor *t);
void tensor_row_major(Tensor *t);         /* sets stride and span */
/* Does t lie in a part of `in`, or in a part of a part? */
bool tensor_lies_in(const Tensor *t, const Tensor *in);
/* How far apart t's rows are, or all of it where it is one, and how many
 * elements lie side by side in each; 0 where none do, or others' do behind. */
int64_t tensor_rows(const Tensor *t, int64_t *along);
/* Elements of t that a run of `extent` neighbours from `from` on may touch:
 * those, and the padding of t's rows where the run is a whole row. */
int64_t tensor_run(const Tensor *t, const Idx *from, int64_t extent);
/* Whether all index arithmetic in e can be computed in 64 bits. */
bool expr_is_computable(const Expr *e);
/* Reports every statement with an index that cannot be computed in 64 bits, or
 * of which too little is known (idx.h). False if there is one. */
bool graph_check_indices(Graph *g);
void graph_dump(Buf *b, const Graph *g);  /* --dump; golden tests */

/* The variable of which a guard says how many values a run has, by the run's
 * size (Graph.run), and the rest of the guard; NULL if it does not. */
const Var *guard_run(const Graph *g, Guard in, Guard *rest);

/* expr.c: making and rewriting. All take the graph for arena and pool. */
const Expr *expr_const(Graph *g, double num, Type t);
const Expr *expr_index(Graph *g, const Idx *e);
const Expr *expr_read(Graph *g, Tensor *t, const Idx **at, Guard in,
                      const Expr *outside);
const Expr *expr_local(Graph *g, int step, Type t);
/* Folds constants and the identities x+0, x*1, x/1, select of a constant, a
 * cast to the same type; keeps IEEE meaning (never x*0 -> 0). Arithmetic of
 * bools is i32, whatever t says. */
const Expr *expr_unary(Graph *g, Func f, const Expr *a, Type t);
const Expr *expr_binary(Graph *g, Func f, const Expr *a, const Expr *b,
                        Type t);
const Expr *expr_select(Graph *g, const Expr *c, const Expr *a, const Expr *b,
                        Type t);
/* a * b + c, rounded once: an E_BINARY with three arguments. */
const Expr *expr_fma(Graph *g, const Expr *a, const Expr *b, const Expr *c,
                     Type t);
/* Philox4x32-10 as dcc_random has it, of three integers. */
const Expr *expr_random(Graph *g, const Expr *n, const Expr *place,
                        const Expr *which);
/* f of three arguments. */
const Expr *expr_ternary(Graph *g, Func f, const Expr *a, const Expr *b,
                         const Expr *c, Type t);
const Expr *expr_cast(Graph *g, const Expr *a, Type t);
const Expr *expr_subst(Graph *g, const Expr *e, const Subst *s, int n);
/* e for more points than it was made for, where its value does not matter:
 * reads that may leave their tensor there have a guard against it. */
const Expr *expr_confine(Graph *g, const Expr *e);
/* Rebuilds e bottom-up: f returns a replacement for a node whose children are
 * already rebuilt, or NULL to keep it. Reads inside index data included. */
typedef const Expr *ExprRewrite(Graph *g, const Expr *e, void *ctx);
const Expr *expr_rewrite(Graph *g, const Expr *e, ExprRewrite *f, void *ctx);
/* e with locals and reads written out: f returns what one stands for, or NULL
 * to keep it; with *more what that is made of is written out too. However many
 * paths lead to a value, it is written out once. */
typedef const Expr *ExprValue(Graph *g, const Expr *e, void *ctx, bool *more);
const Expr *expr_write_out(Graph *g, const Expr *e, ExprValue *f, void *ctx);
/* An integer expression as an index: E_INDEX or an integer constant. NULL if
 * it is neither. */
const Idx *expr_as_idx(Graph *g, const Expr *e);
/* The condition that g is, as a value of type bool. */
const Expr *expr_of_guard(Graph *g, Guard guard);
/* e at another place of the source (for messages); shares all else. */
const Expr *expr_at(Graph *g, const Expr *e, Span span);
/* Visits e and everything below, index data and `outside` included; a shared
 * part once. */
typedef void ExprVisit(const Expr *e, void *ctx);
void expr_visit(const Expr *e, ExprVisit *f, void *ctx);
/* Visits e and those of its arguments that f returns, and so on; each part
 * once. Not what indices hold. */
enum { ARG_NONE = 0, ARG_0 = 1, ARG_1 = 2, ARG_2 = 4 };
typedef unsigned ExprArgs(const Expr *e, void *ctx);
void expr_descend(const Expr *e, ExprArgs *f, void *ctx);
bool expr_uses(const Expr *e, const Var *v);
bool expr_calls(const Expr *e, Func f, const Expr *of); /* has f(of) a part? */
bool expr_equal(const Expr *a, const Expr *b); /* structurally */
enum { EXPR_DIVISION = 8 }; /* operations of a division */
int expr_ops(const Expr *e); /* scalar operations; exp, erf... count more */
void expr_dump(Buf *b, const Expr *e);
/* The affine condition that e is, as a guard: comparisons of indices and
 * their conjunctions. False if it is not one. */
bool expr_as_guard(Graph *g, const Expr *e, Guard *out);

/* exact.c. e without casts that change no value of it in f32 arithmetic; the
 * narrowest type that holds every value of e exactly; and of two factors of
 * floats: integers of 8 bits are exact in both types of 16, so that beside one
 * of them they are of that type, else f16. */
const Expr *expr_strip(const Expr *e);
Type expr_exact_type(const Expr *e);
void expr_float_types(Type *a, Type *b);

/* fold.c: arithmetic on constants, with the language's meaning. Floats are
 * folded in double: what is printed is rounded once, and the oracle keeps the
 * exact value. Integers are folded as 32-bit integers that wrap.
 *
 * f of 1 to 3 numbers; `ints`: all of them, and the result, are integers.
 * False if the result is left to run time (a NaN, an unusual function). */
bool fold_func(Func f, bool ints, const double *x, double *out);
/* x rounded to t as a cast does: to nearest even; to integers truncated and
 * saturated, NaN is 0. */
double fold_round(double x, Type t);

#endif
