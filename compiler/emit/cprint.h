/* cprint.h - index arithmetic, guards and expressions as C text.
 *
 * The one routine that prints every guard and every load. A CPrint says what
 * each variable, local and tensor is called in the kernel being built, and
 * remembers which sub-results already have a name.
 *
 * A CPrint starts zeroed with what cprint_new sets: graph, arg, n_arg, kernel
 * (kernel_set_args comes first). */
#ifndef DCC_CPRINT_H
#define DCC_CPRINT_H

#include "emit/kernel.h"

typedef struct CName {
    const Var *var;
    const char *text;   /* a C identifier or parenthesised expression */
} CName;

/* One distinct expression (structurally) among those counted or printed. */
typedef struct CNode {
    const Expr *e;
    int uses;
    const char *text;   /* the temporary that holds it, or NULL */
} CNode;

typedef struct CSeen {
    const Expr *e;
    int node, before; /* as in last */
} CSeen;
enum { CPRINT_BUCKETS = 64 };

/* An integer is one of lo..hi. */
typedef struct CBounds {
    int64_t lo, hi;
} CBounds;

typedef struct CPrint {
    Graph *graph;
    CName *name; int n_name, cap_name;
    const char *local[MAX_STEPS];   /* text of E_LOCAL(i) */
    const char *divisor[MAX_STEPS];    /* its dcc_divisor, or NULL */
    const CBounds *bounds; /* of the locals, or NULL: those of their types */
    const bool *wraps;     /* locals: a reduction's result may wrap around */
    const KernelArg *arg; int n_arg;
    const Kernel *kernel;         /* its constants' names are taken; or NULL */
    /* If set: the text of a read (a staged copy in registers or shared
     * memory) as a float or int value, guard and conversion included; or NULL
     * to load from global memory. */
    const char *(*staged)(const Expr *read, void *ctx);
    void *ctx;
    bool ex2; /* powers of 2 as the instruction has them: 22 bits or so of
                 those that are no denormals */
    /* cprint.c's own */
    CNode *node; int n_node, cap_node;
    CSeen *seen; int n_seen, cap_seen;
    int last[CPRINT_BUCKETS]; /* the last of a bucket is seen[last - 1] */
    const char **used; int n_used, cap_used; /* identifiers taken */
} CPrint;

CPrint cprint_new(Graph *g, const Kernel *k);
/* The locals are gr's steps: what is known of their values. */
void cprint_steps(CPrint *p, const Group *gr);

/* What a scope (a loop body, a branch) adds: names and temporaries that end
 * with it. */
typedef struct CScope {
    int n_name, n_used, n_node, n_seen;
    CNode *node;
} CScope;
CScope cprint_open(CPrint *p);
void cprint_close(CPrint *p, CScope s);

/* s as a marked identifier (names.h); the kernel's text has it until
 * kernel_settle. */
const char *cprint_ident(Arena *a, const char *s);
/* An identifier that nothing in the kernel has yet: hint, hint_1, ... */
const char *cprint_fresh(CPrint *p, const char *hint);
/* Calls v `text`; the latest name wins. */
void cprint_name(CPrint *p, const Var *v, const char *text);
/* A fresh identifier made of v's own name; v is called that from now on. */
const char *cprint_var(CPrint *p, const Var *v);

const char *cprint_idx(CPrint *p, const Idx *e, int prec);
/* Whether the offset is long long: an int could overflow on the way to it. */
bool cprint_wide(const Tensor *t, const Idx *offset);
/* The element offset as C, of that type. */
const char *cprint_element(CPrint *p, const Tensor *t, const Idx *offset);
/* The same from the indices: (n * H + h) * W + w where they are plain. It is
 * computed only where `known` holds. */
const char *cprint_at(CPrint *p, const Tensor *t, const Idx **at, Guard known);
/* A condition, in parentheses if it has several parts; "true" if the guard
 * always holds. */
const char *cprint_guard(CPrint *p, Guard g);
const char *cprint_condition(CPrint *p, Guard g); /* never in parentheses */
/* "m / 196 % 14": the digit of a mixed-radix number that `below` of its units
 * make one of; extent 0: the first, with none above. */
const char *cprint_digit(Arena *a, const char *number, int64_t below,
                         int64_t extent);
/* A value as float or int (f32, i32, bool as C's): loads converted. All on one
 * line, nothing bound; in parentheses unless it is a name or a call. */
const char *cprint_expr(CPrint *p, const Expr *e);

/* Counts e's sub-results, so that what several expressions share is bound by
 * the first cprint_bind that needs it. Optional before cprint_bind. */
void cprint_count(CPrint *p, const Expr *e);
/* Appends `const float t = ...;` to body for what is used more than once
 * (a load of the same element included) and for parts of long expressions, and
 * returns e's text, not parenthesised. The temporaries live until the
 * enclosing cprint_close. `hint` names parts ("t" if NULL). */
const char *cprint_bind(Tree *body, CPrint *p, const Expr *e, const char *hint);
/* The same, and the result too has a name: returns an identifier or literal. */
const char *cprint_bind_name(Tree *body, CPrint *p, const Expr *e,
                             const char *hint);

/* The same for the data in an index or guard, so that printing it loads
 * nothing. */
void cprint_bind_idx(Tree *body, CPrint *p, const Idx *e);
void cprint_bind_guard(Tree *body, CPrint *p, Guard g);

/* Text converting a float or int value to a tensor's storage type. */
const char *cprint_to_storage(Arena *a, Type storage, Type value,
                              const char *text);
/* `y[offset] = value;`, with `if (where)` around it if need be. */
void cprint_store(Tree *list, CPrint *p, const Tensor *t, const Idx **store,
                  Guard where, Type value, const char *text);
/* The tensor's name in this kernel. */
const char *cprint_tensor(const CPrint *p, const Tensor *t);
/* What the part of a tensor that is read is called, for what is made of it: no
 * argument's name but the tensor's own. */
const char *cprint_part(const CPrint *p, const Expr *read);
/* float, int or bool: what a value of type t is computed in. */
const char *cprint_ctype(Type t);
/* What an argmax over values of type t compares: float or int. */
const char *cprint_arg_ctype(Type t);
/* The start value of a reduction: "0.0f", "-INFINITY", "INT_MIN"... */
const char *cprint_identity(Reduce r, Type t);
/* acc of step i with one more value: `acc += x;`, `acc = fmaxf(acc, x);`, ...
 * x is any expression. An argmax combines value and index by itself: see
 * reduce.c. */
void cprint_combine(Tree *list, const CPrint *p, const Step *s, int i,
                    const char *acc, const char *x);
/* A float literal that reads back exactly: 0.1f, INFINITY. */
const char *cprint_float(Arena *a, double v);

/* Copies text with each line indented by `indent` columns, lines beyond 80
 * columns broken at their outermost operator or comma. */
void cprint_lines(Buf *b, const char *text, int indent);
/* Its end: takes away the marks by which it knows lines that it broke, from
 * b's byte `from` on. */
void cprint_settle(Buf *b, size_t from);

/* Kernel-building helpers (kernel.c). */
void kernel_set_args(Graph *g, Group *gr, Kernel *k); /* from group_args */
/* An enumerator; a name that has another value already gets a suffix. Returns
 * the name. */
const char *kernel_constant(Graph *g, Kernel *k, const char *name,
                            int64_t value, const char *comment);
/* The enumerator of v's extent: its name in upper case. */
const char *kernel_extent(Graph *g, Kernel *k, const Var *v);
void kernel_assert(Graph *g, Kernel *k, const char *cond, const char *why);
void kernel_smem(Graph *g, Kernel *k, int align, const char *decl,
                 const char *comment);
void kernel_phase(Graph *g, Kernel *k, const char *label, Tree *tree);
/* dcc_grid_wait and, by k's trigger point, dcc_grid_trigger, under a comment;
 * "" if k does not wait. The second makes a phase of it. */
const char *kernel_wait(const Kernel *k);
void kernel_wait_phase(Graph *g, Kernel *k);
/* Whether all that e reads was made at load time, so that it may be read
 * before the wait. */
bool kernel_reads_constants(const Expr *e);
/* What build() made is complete: its phases become one body, which the passes
 * of tree_pass.h improve, constants that nothing reads go, and the user's names
 * get their last spelling. */
void kernel_finish(Graph *g, Kernel *k);
/* Whether t, of the first instance, is an input of the model in each: no launch
 * of a run writes to it. */
bool kernel_of_input(const Kernel *k, const Tensor *t);

#endif
