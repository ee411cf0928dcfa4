/* options.h - the command line of the commands that compile. */
#ifndef DCC_OPTIONS_H
#define DCC_OPTIONS_H

#include "compile.h"

typedef struct CommandLine {
    CompileOptions compile;
    char **file; int n_file;
    const char *model;       /* --model, or NULL: all (compile), first (run) */
    const char *out;         /* -o */
    const char *target;
    const char *plan_in, *plan_out;
    bool with_main, standalone, ref;
    /* run and verify */
    const char *weights, *result, *json;
    const char **in; int n_in;
    bool cpu, gpu, verbose, random;
    int bench, runs;
    uint64_t seed;
    int variants, jobs;      /* tune */
    double budget;           /* seconds, 0: none */
    const char *keep;        /* a folder, or NULL */
    const char *text;        /* the command, without paths, for banners */
} CommandLine;

/* Exit status 2 after printing what is wrong, 0 after --help (then *done),
 * else 0. */
int options_parse(Arena *a, int argc, char **argv, const char *command,
                  CommandLine *c, bool *done);

#endif
