/* group.h - what becomes one kernel: a nest.
 *
 * All fusion at register level has this one form. For every point of `rows`,
 * steps run in order; a step with over_cols runs for every point of `cols` too.
 *
 *   reduce step    (op != R_NONE): always over cols, gives one value a row;
 *   pointwise step (op == R_NONE): a value a row, or a row and column.
 *
 * An E_LOCAL(i) in a step's value is step i's value at the same point (only a
 * step over cols may use a value over cols). A step with a tensor also stores
 * its value (converted to the tensor's type) at store[] where `where` holds.
 *
 *   matmul + bias + relu:   rows b,i,j  cols k
 *      0  sum over cols  x[i,k] * w[j,k]
 *      1  max(local 0 + b[j], 0)             -> y[i,j]
 *   softmax:                rows b,i    cols d
 *      0  max over cols  x[b,i,d]
 *      1  over cols      exp(x[b,i,d] - local 0)
 *      2  sum over cols  local 1
 *      3  over cols      local 1 / local 2   -> y[b,i,d]
 *   elementwise:            rows n,c    cols (none)
 */
#ifndef DCC_GROUP_H
#define DCC_GROUP_H

#include "graph/graph.h"

/* No group is made of more steps, a store of each reduction's value counted:
 * what works step by step has room for so many. Nor of more reductions: a
 * kernel says for each how its threads come to the value. */
enum { MAX_STEPS = 64, MAX_SUMS = 4 };

typedef struct Step {
    bool over_cols;
    Reduce op;
    const Expr *value;
    Type type;          /* of the local: f32, i32 or bool */
    Tensor *tensor;     /* stored to, or NULL */
    const Idx **store;  /* over rows (and cols) */
    Guard where;
    Guard needed;       /* of what is stored: nobody reads the rest */
    const Stmt *source; /* for comments */
    const char *called; /* what code calls its value: it is of a part of what
                           the source makes; NULL: as that */
    bool again;         /* of another value of an index that is written out:
                           comments say it once */
} Step;
/* NULL: there is no tensor that it is a value of. */
const char *step_called(const Step *s);

struct Group;
struct Kernel;
struct Family;
struct Chain;
struct Pieces;
struct FactorSum;
struct Merge;
struct RowMerge;

/* What was found out about a finished group. A copy, which may become another
 * group, knows nothing: `of` is the group it was found of. */
typedef struct GroupKnown {
    const struct Group *of;
    void *choice;         /* select's */
    int number;           /* pair.c's, of its text; or 0 */
    const void *contract; /* contract_open's form, or */
    const char *no_contract;
    const struct Needed *needed; /* where steps take what they read; or */
    bool all_needed;
    double in, out;              /* model_group_bytes, on that device */
    const struct Device *bytes_on;
    void *census;                /* census_take's */
} GroupKnown;

typedef struct Group {
    int id;
    const Var **rows; int n_rows;
    const Var **cols; int n_cols;
    Step *step; int n_step;
    When when;
    Stmt **stmt; int n_stmt, cap_stmt; /* the statements it computes */
    Stmt **again; int n_again, cap_again; /* computed in each reader too */
    const struct Chain *chain; /* two contractions and what lies between them
                                  (chain.h), whose steps these are; or NULL */
    const struct Merge *made;  /* by these merges (search/merge.h), or NULL */
    const struct RowMerge *merge; /* of rows, ahead of the steps: norm.h, or */
    const struct Pieces *pieces; /* behind them; or NULL */
    const struct FactorSum *factor_sum; /* the same: factor_sum.h */
    /* decided by select */
    const struct Family *family;
    int variant;               /* index into the family's space */
    double predicted_us;
    double measured_us;        /* a plan's, of this variant; 0: none */
    double apart_us;           /* a chain's, as the kernels that it replaces;
                                  with a merge, what norms as kernels take */
    double beside_us; /* of two that stood beside each other, apart */
    double norm_us;            /* with a merge, what they take without */
    bool bounded;              /* its guards speak of the run's size */
    struct Kernel *kernel;     /* shared by equal groups */
    GroupKnown known;
    Tensor **arg; int n_arg;   /* actual arguments, in kernel-param order */
} Group;

/* The distinct tensors a group touches, in order of first appearance: the
 * stored ones first, then those read. This is the order of kernel params. */
void group_args(Graph *g, Group *gr);
/* From now on the group must not change. */
GroupKnown *group_known(const Group *gr);
/* Something about its tensors has changed: its choice stays, what else was
 * found out is found again. */
void group_forget(const Group *gr);
/* About which share of all points one of the steps takes a read at. */
double group_needs(Graph *g, const Group *gr, const Expr *read);
/* With steps of its own. */
Group *group_copy(Graph *g, const Group *gr);
/* Every step, of what is ahead of the steps and behind them too. */
typedef void StepVisit(const Step *s, void *ctx);
void group_visit(const Group *gr, StepVisit *f, void *ctx);
bool group_stores(const Group *gr, const Tensor *t);
/* Does what decides where something is stored read t? */
bool group_place_reads(const Group *gr, const Tensor *t);
bool group_reads(const Group *gr, const Tensor *t); /* or a value of its own */
/* Does c read what p stores? */
bool group_follows(const Group *c, const Group *p);
/* NULL, or that p and c together have more than MAX_STEPS or MAX_SUMS. */
const char *group_too_long(const Group *p, const Group *c);
/* `to` computes what `from` does, too. */
void group_add_stmts(Graph *g, Group *to, const Group *from);
/* `to` computes these again, each of them once: a value that a hundred readers
 * take in has paths to what it is made of, and there may be 2^n of them. In
 * the order of statements, whatever the order of the search. */
void group_add_again(Graph *g, Group *to, Stmt *const *s, int n);
int64_t group_rows(const Group *gr); /* product of extents */
int64_t group_cols(const Group *gr);
/* Canonical text: no names, lines or constant tensors' identity; equal text
 * means that one variant serves both (shapes, strides, types, alignment, and
 * whether two arguments are one tensor are all in it), and one kernel if both
 * are of the same slices. */
void group_canon(Buf *b, const Group *gr);
/* Of which slices a group is: the steps of a loop differ in them alone. */
void group_canon_slices(Buf *b, const Group *gr);
/* What the text leaves out, and a group's time has: which steps are parts of
 * others there, and how many parts their values have of which each is
 * computed once. */
void group_canon_parts(Buf *b, const Group *gr);

/* Several sums of one point are columns of one product if their terms differ
 * in the place of one read alone, by equal steps: silu(gate) * up.
 *
 * A group as a contraction: rows split by which operand uses them. Filled by
 * group_contraction; false and *why if it is none. */
typedef struct Operand {
    const Expr *e;      /* the factor: a read, or any expression (prologue) */
    const Expr *read;   /* e itself if it is a plain read, else NULL */
    const Idx *offset;  /* of read: element offset into its tensor */
    Guard in;           /* of read */
    Type type;          /* of the values multiplied */
    const Var *along;   /* variable with element stride 1, or NULL */
    int vec;            /* elements along it in one aligned load: 1,2,4,8,16 */
    int ops;            /* of e */
} Operand;

typedef struct Contraction {
    const Var *batch[MAX_RANK]; int n_batch; /* in both operands, or apart */
    const Var *m[MAX_RANK]; int n_m;         /* only in a; slow to fast */
    const Var *n[MAX_RANK]; int n_n;         /* only in b */
    const Var *k[MAX_RANK]; int n_k;         /* cols; fastest is the last */
    Operand a, b;
    int64_t M, N, K, batches;
    int parts;          /* sums of one point, side by side as columns: the
                           fastest n is `part`, and sum i its value i; or 1 */
    const Var *part;
    const Expr *range;  /* of group_ranged: the whole term, which is 0 out of a
                           range; there one operand is, not the other, whose
                           infinities make a sum NaN; or NULL */
    const Expr *term;   /* of group_pairs: of locals 0 and 1, a's and b's
                           elements; NULL: their product */
} Contraction;
bool group_contraction(Graph *g, const Group *gr, Contraction *c,
                       const char **why);
/* The same, or of a term that is a product within a range and 0 elsewhere. */
bool group_ranged(Graph *g, const Group *gr, Contraction *c, const char **why);
/* The same of another function of two reads than their product, which is 0 of
 * zeros: sum(k) (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]). */
bool group_pairs(Graph *g, const Group *gr, Contraction *c, const char **why);

#endif
