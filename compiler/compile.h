/* compile.h - the way of a model through dcc. */
#ifndef DCC_COMPILE_H
#define DCC_COMPILE_H

#include "emit/emit.h"
#include "lower/lower.h"
#include "search/search.h"

typedef struct CompileOptions {
    Options model;            /* device, math */
    const Define *define; int n_define;
    Forced *forced; int n_forced;
    const char *plan_name;    /* NULL: none */
    const char *plan_text; size_t plan_len;
    const char *dump;         /* a pass's name, or NULL */
    uint64_t random_plan;     /* seed, 0: none */
    uint64_t random_layout;   /* of layouts, which a plan is made for */
    const struct Packings *pack_as; /* weights, as another size's, or NULL */
    struct Packings *packed;  /* NULL, or what was packed how */
    const struct Folds *fold_as; /* norms in products, as another size's */
    struct Folds *folded;     /* NULL, or which products took norms */
    const char *word;         /* "B8": this is one of a set of sizes; or NULL */
    const struct Sized *sized; /* what it is of that set; or NULL */
    bool explain, trace, want_plan;
    bool gradients;           /* of the oracle: a table to check them by */
    bool json;                /* explain as JSON: a model's object, and commas
                                 between them */
    ExplainMore *more;  /* what the JSON has besides, or NULL */
    bool ask_dependent;       /* --dependent-launch=on was given */
    double memory;            /* bytes that a handle may take, 0: any number; */
    bool memory_share;        /* or percent of its intermediates without it */
    bool steps_apart;         /* compile.c's own: for less of it */
} CompileOptions;

/* One of a set of sizes. */
typedef struct Sized {
    const char *name;         /* of the set */
    int64_t value;
    bool between;             /* it serves sizes below it */
    const int *input, *output; /* Tensor.varies of each */
} Sized;

/* What compiling a model gave besides the program. */
typedef struct Report {
    Buf dump, explain, plan;
    Selection *selection;  /* of the last model compiled */
    Earlier *earlier;      /* what that model's programs found */
} Report;

/* NULL after errors in d. */
CudaProgram *compile_model(Arena *a, Diag *d, const struct Program *tree,
                           const char *model, const CompileOptions *o,
                           Report *r);

/* The same for a model that may have a set of sizes: then a program for each,
 * which the last one has (emit.h). */
CudaProgram *compile_sizes(Arena *a, Diag *d, const struct Program *tree,
                           const char *model, const CompileOptions *o,
                           Report *r);

/* Before: an error for each of the models that has a name which another needs
 * for its functions. */
void compile_check_names(Arena *a, Diag *d, const struct Program *tree,
                         const char *const *model, int n);
/* After all models: an error for each --variant whose kernel is in none, a
 * note for one of a family that fits no kernel, and for dependent launches
 * where the GPU has none. */
void compile_check_options(const CompileOptions *o, Diag *d);

/* The oracle of some models as C. */
bool compile_ref(Arena *a, Diag *d, const struct Program *tree,
                 const char *const *model, int n, const CompileOptions *o,
                 Buf *b);

/* The passes that --dump knows, NULL-terminated. */
extern const char *const dump_passes[];

#endif
