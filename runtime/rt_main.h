/* rt_main.h - shared by rt_main.c (options, timing) and rt_files.c (files,
 * random data, traces); nobody else's business.
 */
#ifndef DCC_RT_MAIN_H
#define DCC_RT_MAIN_H

#include <stdio.h>

#include "dcc_rt.h"

enum { RT_MAX_FILES = 64 };

/* A copy of what could not be mapped, and what it is a copy of. */
typedef struct {
    char path[40];
    const char *name;
} RtAlias;

typedef struct {
    const char *program;
    const char *model, *weights, *out, *json, *trace, *save; /* NULL: none */
    const char *steps; /* NULL: all */
    const char *in[RT_MAX_FILES];
    int n_in;
    int runs, bench, profile, tune;
    int random; /* --random was given */
    uint64_t seed;
    uint64_t begin; /* --seed, of initialisers */
    int help, describe, reach;
    int runs_given;
    int warm_up, streams, percentiles; /* --bench; 0: not given */
    int sequence;      /* inputs of a dimension more have a value a run */
    const char *feed[RT_MAX_FILES]; /* "input=output" */
    int n_feed;
    int say_stderr;    /* an output goes to stdout: nothing else does */
    RtAlias alias[RT_MAX_FILES + 1];
    int n_alias;
} RtOptions;

/* A running program: all that must be released at its end. */
typedef struct {
    const dcc_model_desc *desc;
    dcc_model *model;
    cudaStream_t stream;
    void **inputs, **outputs; /* device; host_inputs mirrors inputs */
    void **host_inputs;
    void **host_params; /* --random without a weights file; else NULL */
    void **host_outputs; /* of all runs of a sequence, or NULL */
    int64_t *values;    /* how many an input has for a sequence; 0: the same
                           for every run */
    int *feed;          /* the output that is this input's next value, or -1 */
    char device[256];   /* "NVIDIA H200", or "CPU" */
    FILE *say;          /* where results in words go */
    int writing;        /* an I/O error now is about an output file */
} RtProgram;

/* rt_train.c: `PROGRAM --train ...`; the exit status. */
int rt_train_main(const dcc_model_desc *const *models, int n_models, int argc,
                  char **argv);

/* A seed is any number of 64 bits; 0 if it is none. */
int rt_parse_seed(const char *text, uint64_t *out);
/* What was said may have found no place: the exit status. */
int rt_say_end(const char *program);

/* 0 after a message if an output is an input. */
int rt_check_outputs(RtOptions *o);
/* Standard input, pipes and devices among the inputs become files. */
dcc_status rt_settle_inputs(RtOptions *o);
/* What the user calls it. */
const char *rt_input_name(const RtOptions *o, const char *path);
void rt_print_error(const RtOptions *o, const char *message);

/* All parameters and inputs that the files lack, or have of another shape, a
 * message each. */
dcc_status rt_check_names(const RtOptions *o, const dcc_model_desc *d);

/* rt_sequence.c: many runs; the inputs are read between the first two. */
dcc_status rt_read_feeds(RtProgram *p, const RtOptions *o);
dcc_status rt_count_runs(RtProgram *p, RtOptions *o);
dcc_status rt_before_run(RtProgram *p, int run);
dcc_status rt_after_run(RtProgram *p, const RtOptions *o, int run);
dcc_status rt_write_sequence(RtProgram *p, const RtOptions *o);
void rt_free_sequence(RtProgram *p);

/* Copies, and fills, after all that the program's stream was given and before
 * all that comes; returns when done. What cudaMemcpy and cudaMemset do is not
 * ordered against that stream, which does not wait for the default one. */
cudaError_t rt_transfer(const RtProgram *p, void *to, const void *from,
                        size_t bytes, enum cudaMemcpyKind kind);
cudaError_t rt_fill(const RtProgram *p, void *to, int byte, size_t bytes);

/* Creates the model and its inputs and outputs on the device. */
dcc_status rt_start(RtProgram *p, RtOptions *o);

/* Frees all; right after any part of rt_start. */
void rt_stop(RtProgram *p);

dcc_status rt_write_outputs(RtProgram *p, const char *path);

/* One run, step by step, writing every tensor of desc->trace. */
dcc_status rt_trace(RtProgram *p, const char *path);

/* A graph of one step n times in a row, over the frames in turn. */
cudaError_t rt_repeat(RtProgram *p, const dcc_frame *frame, int n_frames,
                      int step, int n, cudaGraphExec_t *exec);

/* Times each step, n times in a row, and prints a line for each. */
dcc_status rt_profile(RtProgram *p, int n);

/* For dcc tune: one run that prints each step reached; then, after any trace,
 * the time of each step, or of those listed ("0,4,9"), over copies of its
 * data, at most n in a row. */
dcc_status rt_tune_reach(RtProgram *p);
dcc_status rt_tune(RtProgram *p, int n, const char *steps);

#endif
