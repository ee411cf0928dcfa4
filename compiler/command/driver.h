/* driver.h - builds what dcc emitted, runs it, checks it.
 *
 * `dcc run`, `dcc verify`, `dcc train`. Everything is built in a folder that
 * is removed afterwards. On a GPU if there is one and nvcc is found, else on
 * the CPU, by g++ and the emulator of the runtime folder ($DCC_RUNTIME_DIR,
 * else where dcc was installed); stderr says which. Environment: NVCC, CC, CXX
 * name other compilers; DCC_EMU_FLAGS is given to dcc-emu-cc (--asan, -O0),
 * DCC_REF_FLAGS to the compiler of the oracle (-O0 -fopenmp). */
#ifndef DCC_DRIVER_H
#define DCC_DRIVER_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum { DRIVER_ANY, DRIVER_CPU, DRIVER_GPU } DriverPlace;

typedef struct Driver {
    Arena *arena;
    const Buf *cu, *header;    /* with a main; verify: with traces; NULL:
                                  not to be written */
    const char *header_name;   /* as the .cu includes it */
    const char *arch;          /* nvcc's flags: "-arch=sm_80" */
    DriverPlace place;
    const char *folder;        /* to build in, and to leave; NULL: a new one
                                  that is removed */
    const char *imported;      /* another folder that goes away with it: a
                                  signal ends dcc there; or NULL */
    const char *needs;         /* begins the message if DRIVER_GPU has none */
    /* run */
    const char *model;         /* NULL: the only one */
    const char *weights, *out, *json; /* NULL: none */
    const char **in; int n_in;
    const char **feed; int n_feed; /* "input=output" */
    bool sequence;             /* an input of a dimension more is many runs' */
    int bench, runs;           /* 0: not given, of percentiles the default */
    int warm_up, streams;      /* bench; 0: not given */
    bool profile, percentiles;
    bool random;               /* draw what no file gives, from `seed` */
    const char *save;          /* run: what ran; train: the state */
    /* train */
    const char *data, *validate, *validate_with;
    const char **set; int n_set;   /* "lr=0.01" */
    uint64_t steps, every;         /* every 0: not given */
    bool resume, seeded;           /* seeded: the command line has a seed */
    /* verify */
    const Buf *ref;            /* the oracle of the same models */
    uint64_t seed;
    const char *math;          /* of f32 products, as --math has it */
    bool verbose;              /* a line for every tensor of the trace */
    /* build: `out` is the library */
    bool compile_only;         /* nvcc will do, there need be no GPU */
} Driver;

/* Exit statuses: 0; 1 wrong results or the user's error; 3 something needed
 * is missing or failed; 70 a defect in what dcc emitted. */
int driver_run(const Driver *o);
int driver_verify(const Driver *o);
int driver_gradients(const Driver *o); /* the oracle alone, made for it */
int driver_build(const Driver *o);
int driver_train(const Driver *o);

#endif
