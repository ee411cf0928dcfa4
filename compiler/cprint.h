/* cprint.h - index arithmetic, guards and expressions as C text.
 *
 * The one routine that prints every guard and every load. A CPrint says what
 * each variable, local and tensor is called in the kernel being built. */
#ifndef DCC_CPRINT_H
#define DCC_CPRINT_H

#include "kernel.h"

typedef struct CName {
    const Var *var;
    const char *text;   /* a C identifier or parenthesised expression */
} CName;

typedef struct CPrint {
    Graph *graph;
    CName *name; int n_name, cap_name;
    const char *local[64];        /* text of E_LOCAL(i) */
    const KernelArg *arg; int n_arg;
    /* If set: the text of a read (a staged copy in registers or shared
     * memory), or NULL to load from global memory. */
    const char *(*staged)(const Expr *read, void *ctx);
    void *ctx;
} CPrint;

void cprint_name(CPrint *p, const Var *v, const char *text);
/* Element offset of tensor[at] (or store[]) as an index. */
const Idx *cprint_offset(Graph *g, const Tensor *t, const Idx **at);
void cprint_idx(Buf *b, CPrint *p, const Idx *e, int prec);
/* A condition, parenthesised; "true" if the guard always holds. */
void cprint_guard(Buf *b, CPrint *p, Guard g);
/* A value as float or int (f32, i32, bool as C's): loads converted. */
void cprint_expr(Buf *b, CPrint *p, const Expr *e);
/* Text converting a float or int value to a tensor's storage type. */
void cprint_to_storage(Buf *b, Type storage, Type value, const char *text);
/* The tensor's name in this kernel. */
const char *cprint_tensor(const CPrint *p, const Tensor *t);

/* Kernel-building helpers. */
void kernel_set_args(Graph *g, Group *gr, Kernel *k); /* from group_args */
void kernel_constant(Graph *g, Kernel *k, const char *name, int64_t value,
                     const char *comment);
void kernel_smem(Graph *g, Kernel *k, int align, const char *decl,
                 const char *comment);
void kernel_phase(Graph *g, Kernel *k, const char *label, const Buf *text);

#endif
