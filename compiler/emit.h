/* emit.h - printing: finished kernels, host code, the oracle. Decides nothing. */
#ifndef DCC_EMIT_H
#define DCC_EMIT_H

#include "kernel.h"

/* A model after memory planning: all an emitter gets. */
typedef struct Launch {
    Kernel *kernel;
    Group *group;       /* its arguments: group->arg */
    When when;
} Launch;

typedef struct Program {
    Graph *graph;
    Kernel **kernel; int n_kernel;
    Launch *load; int n_load;
    Launch *run; int n_run;
    size_t params_bytes, consts_bytes, arena_bytes, state_bytes;
    size_t workspace_offset;     /* in the arena */
    size_t counter_offset, counter_bytes; /* zeroed once, in consts */
    bool keep_params;            /* run-time kernels read raw params */
    const char *source, *command, *target; /* banner texts, no paths */
    bool with_main, standalone, trace;
} CudaProgram;

/* One kernel: banner comment, enums, asserts, struct, kernel, launcher. */
void emit_kernel(Buf *b, const CudaProgram *p, const Kernel *k);
/* The whole .cu: banner, kernels, host tables, C API, optional main. */
void emit_host(Buf *cu, Buf *header, const CudaProgram *p,
               const char *header_name);
/* The oracle: plain C, double; from the graph as lowered. */
void emit_ref(Buf *b, const Graph *g);

#endif
