/* program.h - a finished model: its kernels, their launches, and where all of
 * it lives. What prints it gets no more than that. */
#ifndef DCC_PROGRAM_H
#define DCC_PROGRAM_H

#include "emit/kernel.h"

/* What a launch waits for beside the one before it: nothing; the branch up to
 * the last mark on it, or all of it so far. */
typedef enum { JOIN_NONE, JOIN_MARK, JOIN_ALL } Join;

/* A model after memory planning: all an emitter gets. */
typedef struct Launch {
    Kernel *kernel;
    Group *group;       /* its arguments: group->arg */
    When when;
    bool dependent;     /* it may begin before the launch ahead has ended; its
                           kernel waits */
    bool beside;        /* it is of a branch beside the chain of launches: it
                           follows what stands before it, and what stands
                           behind it does not wait */
    bool mark;          /* of one that is: the branch is marked behind it */
    int until;          /* who waits for it, or how many launches there are */
    Join join;
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
    size_t beside_workspace, beside_counter; /* those of the branch */
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

#endif
