/* kernel.h - a finished kernel: it holds every decision, emitters only print.
 *
 * A family's build() makes one from a group and a variant. Text in it is C
 * (CUDA) without indentation of its own beyond nesting, lines of <= 80 columns.
 * Index arithmetic, guards and expressions come from cprint.h, so that one
 * routine prints every guard. */
#ifndef DCC_KERNEL_H
#define DCC_KERNEL_H

#include "emit/tree.h"
#include "group/groups.h"

typedef enum { ARG_IN, ARG_OUT, ARG_INOUT, ARG_WORKSPACE } ArgUse;

typedef struct KernelArg {
    const char *name;  /* in the kernel: the tensor's own name, made unique */
    const Tensor *tensor; /* of the first instance: type, shape, strides */
    ArgUse use;
    bool mapped;       /* reached through its TileMap alone: the launcher takes
                          a pointer, the kernel does not */
} KernelArg;

/* A parameter `const __grid_constant__ CUtensorMap <name>`, which the launcher
 * encodes (dcc_tma_encode). Dimensions from the innermost, of stride 1. */
typedef struct TileMap {
    const char *name;
    int arg;             /* of which argument */
    int64_t offset;      /* elements from its start to the map's origin */
    int rank;
    int64_t dim[5];      /* elements */
    int64_t of_run[5];   /* not 0: instead, times the run's size */
    int64_t stride[5];   /* bytes; [0] is not used */
    int box[5], step[5]; /* step: of the elements in a box */
    int pixels;          /* im2col (dcc_tma_encode_im2col): so many, box[0]
                            channels of each; 0: tiled */
    int lower[3], upper[3]; /* its rows of pixels begin and end */
    bool swizzle;        /* of a box's rows of 64 or 128 bytes; else none */
    bool tf32;           /* f32 elements are rounded to tf32 on the way */
} TileMap;

typedef struct SmemField {
    const char *decl;    /* "__half a[STAGES][BM][BK + 8]" */
    const char *comment;
    int align;
} SmemField;

typedef struct Phase {
    const char *label;   /* "setup", "load", "multiply", "epilogue", ... */
    Tree *tree;          /* complete statements */
} Phase;

typedef struct Constant {
    const char *name;    /* upper case */
    int64_t value;
    const char *comment; /* or NULL; "": the next one's */
} Constant;

/* Where a kernel that waits for the grid lets the next launch begin. */
typedef enum {
    TRIGGER_EXIT,    /* when its blocks have ended */
    TRIGGER_RUNNING, /* when all launches before it have ended */
    TRIGGER_START    /* at once */
} Trigger;

/* How much of an SM's memory is to be shared. */
typedef enum Shared {
    SHARED_ANY,  /* as the driver will have it */
    SHARED_PART, /* loads need the L1, neighbours their shared memory */
    SHARED_ALL   /* no loads pass the L1, and two blocks fit */
} Shared;

typedef struct Kernel {
    const char *name;    /* unique in the file; <model>_<path>_<ops> */
    const char *family;
    const char *variant; /* "bm=128 bn=128 bk=32 stages=4 warps=2x2" */
    int grid[3], block, cluster;
    size_t smem_bytes;   /* dynamic */
    int min_blocks;      /* for __launch_bounds__, 0: not given */
    bool coop_counters;  /* needs a zeroed, self-resetting counter buffer */
    int n_counters;      /* of unsigned ints, if coop_counters */
    size_t workspace;    /* bytes of scratch in the arena, 0: none */
    Shared shared;       /* what it asks for where launches overlap */
    bool waits;          /* launches overlap: it executes dcc_grid_wait before
                            it touches what a run writes. Set before build() */
    Trigger trigger;     /* if it waits */
    const char *trigger_why; /* the reason, for --explain; NULL: no launch
                            follows */
    /* The launcher is
     *   cudaError_t <name>_launch(<arg 0>, ..., [int <run>,]
     *                             [unsigned char *workspace,]
     *                             [unsigned int *counters,] [dcc_edge edge,]
     *                             cudaStream_t);
     * and the kernel has the same parameters but the edge, if it waits, and
     * the stream, by those names. */
    KernelArg *arg; int n_arg;
    const char *run;     /* the parameter that is the run's size of a set
                            (Graph.run), an int after the arguments; or NULL */
    TileMap map[8]; int n_map; /* parameters after all others */
    Constant *constant; int n_constant, cap_constant;
    const char **assert_; int n_assert; /* static_assert texts */
    SmemField *smem; int n_smem, cap_smem;
    Phase *phase; int n_phase, cap_phase;
    Tree *body;          /* of them all, when finished (kernel_finish) */
    const char **given; int n_given; /* then, too: names in it that are a
                            user's, or made of one */
    const char *device_code; /* helper functions before the kernel, or NULL */
    const char *min_arch; /* "sm_80", or NULL */
    const char **where;  /* of each step, where its value lives: "registers",
                            "shared memory"; NULL, or a NULL in it: by rule */
    /* for the banner */
    double flops, bytes, predicted_us;
    int regs;            /* of a thread, the model's estimate */
    double measured_us;  /* by dcc tune, 0: not */
    const char *limiter; /* "HBM", "mma", ... */
    Group *group;        /* the first instance */
    Group **instance; int n_instance, cap_instance;
} Kernel;

#endif
