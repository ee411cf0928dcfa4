/* tune.h - dcc tune: measures variants and writes the best as a plan.
 *
 * Round k is a program with variant k of every distinct group that has so
 * many, and the model's pick of the others. Rounds are built in parallel, run
 * one at a time on the GPU, checked by the oracle, and only then timed, in
 * turns, several times over. A variant that does not compile, fails, hangs or
 * is wrong is put down with its reason and replaced by the model's pick; what
 * the others of its round showed stays. The plan is written again whenever
 * more is known. */
#ifndef DCC_TUNE_H
#define DCC_TUNE_H

#include "compile.h"
#include "command/driver.h"

typedef struct TuneOptions {
    const Driver *driver;      /* arena, arch, place, folder, seed, math */
    const struct Program *tree;
    const char *model, *source, *command;
    const CompileOptions *compile;
    const char *target;        /* as the user named it */
    const char *out;           /* the plan */
    int variants;              /* of a group, at most */
    int jobs;                  /* files compiled at a time */
    double budget;             /* seconds; 0: until all is measured */
} TuneOptions;

/* Compiles the model and tunes it. Exit statuses as driver.h has them; errors
 * of the model are in d. */
int tune_model(const TuneOptions *o, Diag *d);

#endif
