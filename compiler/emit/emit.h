/* emit.h - printing: finished kernels, host code, the oracle; decides
 * nothing. */
#ifndef DCC_EMIT_H
#define DCC_EMIT_H

#include "emit/kernel.h"

/* A model after memory planning: all an emitter gets. */
typedef struct Launch {
    Kernel *kernel;
    Group *group;       /* its arguments: group->arg */
    When when;
    bool dependent;     /* it may begin before the launch ahead has ended; its
                           kernel waits */
    const struct CudaProgram *of; /* that made it */
} Launch;

typedef struct CudaProgram {
    Graph *graph;
    Kernel **kernel; int n_kernel;
    Launch *load; int n_load;
    Launch *run; int n_run;
    size_t params_bytes, consts_bytes, arena_bytes, state_bytes;
    size_t workspace_offset;     /* in the arena */
    size_t counter_offset, counter_bytes; /* zeroed once, in state */
    int n_lowered;               /* tensors with a lower id are the source's */
    bool trace;                  /* list the materialised ones of them */
    /* the largest of a set of sizes: all of them, itself the last, and what
     * they are of; they share params, consts and state, and `load` is all
     * their loading. Else set.name is NULL */
    SizeSet set;
    struct CudaProgram **size;
} CudaProgram;

/* What the file says about itself; no dates, hosts or absolute paths. */
typedef struct FileInfo {
    const char *source;      /* "mlp.dcl" */
    const char *command;     /* "dcc mlp.dcl -o fused.cu" */
    const char *target;      /* "h200" */
    int sm;                  /* 90 */
    const char *cu_name, *header_name; /* "fused.cu", "fused.h" */
    bool with_main, standalone;
    bool library;            /* a table of the models, for those who load it */
    bool own_header;         /* its text in the .cu, for a .cu that is alone */
} FileInfo;

/* One kernel: banner comment, enums, asserts, struct, kernel, launcher. */
void emit_kernel(Buf *b, const CudaProgram *p, const Kernel *k);
/* The whole .cu and .h of some models: banner, kernels, host tables, C API,
 * optional main. */
void emit_file(Buf *cu, Buf *header, CudaProgram *const *p, int n,
               const FileInfo *info);
/* The same in parts, to be linked: some kernels with their launchers; and the
 * rest, a host's .cu with a main, and its header. */
void emit_kernels_file(Buf *cu, const CudaProgram *p, Kernel *const *k, int n,
                       const FileInfo *info);
void emit_host_file(Buf *cu, Buf *header, CudaProgram *p,
                    const FileInfo *info);
/* What a kernel's launches compute in the source; those that differ in one
 * number alone are one: "layer.{0..11}.w". */
void emit_instances(Buf *b, const Kernel *k);
/* "extern "C" cudaError_t NAME_launch(...)", without the semicolon. */
void emit_launcher_head(Buf *b, const Kernel *k);
/* nvcc's flags for an architecture: "-arch=sm_80". */
const char *emit_arch_flags(int sm);
/* The launch after which a traced program finds t in memory; -1: none. */
int emit_traced_after(const CudaProgram *p, const Tensor *t);
/* One model's part of either (emit_host.c). */
void emit_model_host(Buf *b, const CudaProgram *p);
void emit_model_header(Buf *b, const CudaProgram *p);
/* The oracle: plain C in double, one program for all the models; from the
 * graphs as lowered, before simplify. */
void emit_ref(Buf *b, Graph *const *graph, int n_graph, bool gradients);

#endif
