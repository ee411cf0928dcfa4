/* lower_priv.h - what the lower*.c files share; nobody else includes this.
 *
 * A model is elaborated frame by frame: the model's own, and one for every
 * call of an op or block, which is written out at the call. A frame holds the
 * names; `index` and `var` of Lower are stacks that run through all frames.
 *
 * A call inside an indexed definition gets numbers at one point of the
 * caller's indices: its frame is `scalar`, its rank-0 definitions stay
 * expressions, and tensors it must make get the caller's variables that they
 * depend on as leading dimensions. */
#ifndef DCC_LOWER_PRIV_H
#define DCC_LOWER_PRIV_H

#include "dsl/dsl.h"
#include "lower/lower.h"

/* ---- compile-time values */

typedef enum { V_BAD, V_INT, V_FRAC, V_STR, V_LIST } ValueKind;

typedef struct Value {
    ValueKind kind;
    int64_t i;     /* V_INT */
    double x;      /* V_INT, V_FRAC */
    const char *s; /* V_STR */
    const struct Value *item; /* V_LIST */
    int n;
} Value;

/* ---- run-time values */

/* A number at one point of a statement's indices. The expression's own type
 * is what it is computed in (f32 for floats); `type` is the language's. */
typedef struct Val {
    bool bad;   /* an error was reported */
    bool weak;  /* takes the other side's type; `type` is i32 or f32 */
    bool known; /* `num` is its value (idx too where it is an integer) */
    Type type;
    double num;
    const Idx *idx; /* its value as an index expression, or NULL */
    const Expr *e;
} Val;

/* What a name of a tensor stands for: a tensor's dimensions in some order and
 * broadcast, or one value at every point. */
typedef struct Ref {
    bool bad;
    bool open; /* `dim` is not known: a parameter left out */
    int rank;
    int64_t dim[MAX_RANK];
    Tensor *t;                  /* NULL: `val` */
    Val val;
    const Idx *fixed[MAX_RANK]; /* of t's dimensions; NULL: mapped */
    int map[MAX_RANK]; /* the dimension of t that ours indexes; -1: none */
} Ref;

typedef enum { S_VALUE, S_TYPE, S_PACK, S_TENSOR } SymKind;
typedef enum {
    OWN_LOCAL, OWN_INPUT, OWN_OUTPUT, OWN_WEIGHT, OWN_STATE, OWN_ARG,
    OWN_TRAINED /* w of `for w in params` */
} Owner;

typedef struct Sym {
    struct Sym *next;      /* of its bucket */
    uint64_t hash;         /* of its name */
    SymKind kind;
    const char *name;
    Span at;
    Value value;           /* S_VALUE */
    Type type;             /* S_TYPE */
    int n;                 /* S_PACK */
    int64_t dim[MAX_RANK];
    Ref ref;               /* S_TENSOR */
    Owner owner;
    bool read;
    int errors;            /* how many there were when it was defined */
    bool by_output;        /* `output` is written on its definition */
    bool whole;            /* defined without indices, or over what it was */
    int trained;           /* OWN_TRAINED: the parameter's number */
    struct Parts *parts;   /* defined in parts and not read since; ref has the
                              rank only: see lower_parts.h */
} Sym;

typedef struct Parts Parts;

/* Index names in use: one, or a pack's. */
typedef struct Index {
    const char *name;
    bool pack;
    Span at;
    int n;
    const Idx *idx[MAX_RANK];
} Index;

enum { BUCKETS = 128 };

typedef struct Frame {
    struct Frame *up;
    const Item *item;
    const char *path;   /* of the block, "" at the top */
    const char *prefix; /* of an op's tensors: "h_"; "" in blocks, models */
    const char *label;  /* the result's name, where the caller has one */
    Sym *bucket[BUCKETS]; /* what names mean here, by their hash */
    Sym **slot;           /* the same of many names, by open addressing; or
                             NULL */
    size_t n_sym, cap_slot;
    int index_base;
    bool scalar;        /* see above */
    bool failed;        /* a requirement: the rest is not looked at */
    bool scalar_args;   /* called in an indexed definition */
    const char **called; int n_called, cap_called; /* blocks without path */
} Frame;

/* What a statement is about while it is lowered. */
typedef struct Target {
    const char *name;  /* of the tensor defined; prefixes made names */
    Span at;           /* the statement */
    int first;         /* graph statements made since */
} Target;

/* A whole definition's calls, made before its expression is. */
typedef struct WholeCall {
    const AstExpr *at;
    Ref ref;
} WholeCall;
typedef struct Whole {
    WholeCall *call; int n, cap;
    int rank;                 /* of the result */
    int64_t dim[MAX_RANK];
    const Idx *idx[MAX_RANK];
    bool bad;
    Span shaped_by; /* where the shape so far comes from */
} Whole;

/* What loops over parameters make of one (lower_grad.c). */
typedef struct Trained {
    Tensor *param;  /* as declared */
    Tensor *master; /* made for it; NULL: none, or the parameter itself */
    Tensor *now;    /* the master as it stands; NULL: no loop saw it yet */
    Tensor *reads;  /* what others read */
    bool assigned;
} Trained;

struct Adjoint;

typedef struct Lower {
    Arena *a;
    Diag *d;
    Graph *g;
    IdxPool *p;
    const Program *prog;
    const Define *def;
    int n_def;
    Frame *frame;
    Index *index; int n_index, cap_index;
    const Var **var; int n_var, cap_var; /* in use, outermost first */
    Target target;
    Whole *whole;     /* the whole definition in hand, else NULL */
    Span call;        /* the user's own line */
    unsigned notes;   /* NOTE_* of the statements around */
    const char *const *with; int n_with; /* @fuse's names */
    int depth, nest, work; /* of calls, of expressions; all written out */
    bool stop;        /* a limit was hit */
    Trained *trained; int n_trained, cap_trained; /* as g->param */
    const AstStmt *looped; /* the last loop over parameters, of which there */
    int n_looped;          /* were so many above */
    struct Adjoint **pass; int n_pass, cap_pass;  /* backward passes */
    int n_random;     /* draws so far */
    bool stops;       /* some expression has an F_STOP, */
    bool keep_stops;  /* which stays: derivatives will be checked */
} Lower;

enum {
    MAX_CALLS = 64,
    MAX_NEST = 2500,    /* expressions inside each other, calls included */
    MAX_WORK = 50000,
    MAX_TEXT = 4096,    /* of a string */
    MAX_INLINE = 200,   /* nodes that readers repeat rather than store */
};
#define MAX_SIZE INT64_C(2147483647)
#define MAX_ELEMS (INT64_C(1) << 40)

/* lower.c: frames, names, statements */
Sym *lower_find(const Frame *f, const char *name, SymKind kind);
Sym *lower_sym(Lower *l, SymKind kind, Name name);
void lower_forget(Frame *f, const Sym *s); /* it has no meaning any more */
void lower_body(Lower *l, const Body *b);
bool lower_work(Lower *l, Span at); /* counts; false past the limit */
/* Shape of a written type in the current frame; false after an error. A pack
 * expands. rank and dim are set. */
bool lower_shape(Lower *l, const AstType *t, int *rank, int64_t *dim);
bool lower_type(Lower *l, const AstType *t, Type *out);
bool lower_elem(Lower *l, ElemKind k, Name name, Type *out);
const char *lower_path(Lower *l, const char *path, const char *last);
const char *lower_dims(Lower *l, int rank, const int64_t *dim); /* [2, 3] */
const char *lower_text(Lower *l, const AstExpr *e);
bool lower_check_elems(Lower *l, Span at, const char *name, int rank,
                       const int64_t *dim);

/* lower_const.c */
bool const_is(Lower *l, const AstExpr *e);
Value const_eval(Lower *l, const AstExpr *e);
Value const_int(int64_t i);
Value const_frac(double x);
bool const_true(Value v);
/* An integer; false after an error, which names `what`. */
bool const_int_of(Lower *l, const AstExpr *e, const char *what, int64_t *out);
bool const_size(Lower *l, const AstExpr *e, const char *what, int64_t *out);
bool const_range(Lower *l, Range r, int64_t *from, int64_t *to);
const char *const_string(Lower *l, const String *s); /* NULL after an error */
const char *const_text(Lower *l, Value v);
/* The names in e with their values, "C = 3, groups = 2", or "". */
const char *const_names(Lower *l, const AstExpr *e);
typedef struct MathFunc {
    const char *name;
    Func f;
    int n;
    double (*f1)(double);
    double (*f2)(double, double);
} MathFunc;
const MathFunc *math_func(const char *name);

/* lower_expr.c */
Val val_bad(void);
Val val_known(Lower *l, Value v);
Val val_of(Lower *l, const Idx *e); /* an index as a value */
/* v as an expression of the kind that arithmetic of type t wants */
const Expr *val_as(Lower *l, Val v, Type t);
/* v converted to t, as storing it would, but floats unrounded */
Val val_retype(Lower *l, Val v, Type t);
Val lower_expr(Lower *l, const AstExpr *e);
/* Counts an expression inside others, in l->nest; false past the limit. */
bool lower_enter(Lower *l, const AstExpr *e);
Val lower_reduce(Lower *l, const AstExpr *e);

/* lower_reduce.c is lower_reduce above. lower_range.c: */
Index *index_find(Lower *l, const char *name, bool pack);
/* New variables for an index (n 1) or pack, on both stacks. */
void index_push(Lower *l, Name name, bool pack, int n, const int64_t *extent,
                int64_t shift);
void index_pop(Lower *l, int n_index, int n_var); /* back to these depths */
/* Dimensions of a pack or list attribute of the frame, -1 if there is none. */
int pack_dims(Lower *l, const char *name, int64_t *dim);
/* What is known of an index's extent; n 0: nothing yet. */
typedef struct Extent {
    int64_t n;
    Span at;          /* where it was learnt */
    const char *what; /* "dimension 1 of 'w'" */
    bool bad;
    bool lost; /* a tensor that would know has no shape, after an error */
} Extent;
void range_infer(Lower *l, const AstExpr *e, const char *name, Extent *x);
void range_agree(Lower *l, const char *name, Extent *x, int64_t n, Span at,
                 const char *what);
/* Checked read of r at our indices at[]; e is where it stands. */
Val range_read(Lower *l, const Ref *r, const Idx **at, const AstExpr *e);
Val ref_read(Lower *l, const Ref *r, const Idx **at); /* known to be inside */
/* An argument that is one index of a read or a left side. NULL: an error. */
const Idx *range_index(Lower *l, const AstExpr *e);
const Idx *range_index_val(Lower *l, const AstExpr *e, Val *v);
Val lower_read(Lower *l, const AstExpr *e);

/* lower_start.c */
/* t begins as `e` says, which may be NULL. */
void start_param(Lower *l, const AstExpr *e, Tensor *t);
/* `t` is another declaration of the parameter `old`. */
void start_merge(Lower *l, Tensor *old, const Tensor *t);

/* lower_def.c */
void lower_def(Lower *l, const AstStmt *s);
/* A tensor with value v at l->var[from..], which are its dimensions; in a
 * scalar frame those before that v depends on lead. */
Ref def_tensor(Lower *l, const char *name, int from, Val v, Type t);
Ref def_copy(Lower *l, const char *name, const Ref *r, Type t);
bool ref_is_whole(const Ref *r); /* a tensor, and no view of one */
Ref ref_tensor(Tensor *t);
Ref ref_val(Val v);
void def_output(Lower *l, Sym *s, Span at);
Stmt *def_stmt(Lower *l, Tensor *t, const Var **out, int n, const Expr *e);

/* lower_parts.c */
/* A name that was defined in parts is a tensor from here on: before it is
 * read. */
void parts_settle(Lower *l, Sym *sym);
/* The same of all names of the frame, at its end: gaps are errors also where
 * nobody reads. */
void parts_settle_all(Lower *l);

/* lower_whole.c */
/* An argument or a whole definition: a Ref, made with that name if made. */
Ref whole_eval(Lower *l, const AstExpr *e, const char *name);
Ref whole_build(Lower *l, const AstExpr *e, const char *name, Type *t,
                int rank, const int64_t *dim);
/* rank, dim broadcast with more, as numpy does; false if they do not. */
bool whole_broadcast(int *rank, int64_t *dim, int n, const int64_t *more);
Val whole_read(Lower *l, const Ref *r);

/* lower_call.c */
/* What a call of an op or block gives; label names an op's result. `scalar`:
 * its arguments are numbers at one point. */
Ref lower_call(Lower *l, const AstExpr *e, const char *label, bool scalar);

/* lower_bind.c: a signature against arguments */
typedef struct Bound {
    Ref ref;
    bool given;
    const AstExpr *arg;
    Span at;     /* the argument */
} Bound;
/* Evaluates the arguments of a call and fills f with the names they bind. */
bool bind_call(Lower *l, Frame *f, const AstExpr *call, Bound *b);

/* lower_grad.c */
void grad_for_params(Lower *l, const AstStmt *s);
/* A definition of a loop's parameter follows. */
void grad_begin_write(Lower *l, const Sym *sym);
/* What reads of parameter `number` read at this point. */
Tensor *grad_param_reads(Lower *l, int number);
/* Parameter `number` is a state that is in the weights file. */
bool grad_is_state(Lower *l, int number);
Ref grad_of(Lower *l, const AstExpr *e, const Bound *b, const char *label,
            bool scalar);
Ref grad_stop(Lower *l, const Bound *b, const char *label);
/* The gradients of all outputs by all inputs and parameters, to be checked. */
void grad_all(Lower *l);
void grad_finish(Lower *l);

/* lower_random.c */
Ref random_of(Lower *l, const AstExpr *e, const Bound *b, const char *label,
              bool scalar);

/* lower_view.c */
/* reshape and transpose, in the callee's frame; attributes are names there. */
Ref view_of(Lower *l, const Ref *x, const char *name);
Ref view_concat(Lower *l, const AstExpr *call, const char *name, bool scalar);

#endif
