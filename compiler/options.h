/* options.h - the command line. */
#ifndef DCC_OPTIONS_H
#define DCC_OPTIONS_H

#include "compile.h"
#include "options_table.h"

typedef struct CommandLine {
    CommandId command;
    CompileOptions compile;
    char **file; int n_file; /* what is no option: models, or names */
    const char *model;       /* --model, or NULL: all (compile), first (run) */
    const char *out;         /* -o */
    const char *target;
    const char *plan_in, *plan_out;
    bool with_main, standalone, ref;
    bool depend;             /* -MD */
    const char *depend_out;  /* -MF, or NULL */
    /* run, bench and verify */
    const char *weights, *result, *json;
    const char **in; int n_in;
    const char **feed; int n_feed;
    const char **dim; int n_dim; /* of .onnx files */
    const char *bind;
    bool cpu, gpu, verbose, random, sequence, profile;
    int bench, runs, warm_up, streams; /* 0: not given */
    uint64_t seed;
    /* train */
    const char *train;                 /* --model there, or NULL */
    const char *data, *save, *validate, *validate_with;
    const char **set; int n_set;       /* "lr=0.01" */
    uint64_t steps, every;             /* 0: not given */
    bool resume;
    int variants, jobs;      /* tune */
    double budget;           /* seconds, 0: none */
    const char *keep;        /* a folder, or NULL */
    const char *times;       /* report: a profile, or NULL */
    bool in_place, check;    /* fmt */
    const char *text;        /* the command, without paths, for banners */
    uint64_t given;          /* bits 1 << OptionId */
} CommandLine;

/* Exit status 2 after saying what is wrong, 0 after --help or --version (then
 * *done), else 0. */
int options_parse(Arena *a, int argc, char **argv, CommandLine *c,
                  bool *done);

#endif
