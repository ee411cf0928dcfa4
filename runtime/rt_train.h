/* rt_train.h - what rt_train.c (the loop of `dcc train`) shares with
 * rt_train_options.c, rt_train_data.c (batches), rt_train_log.c (lines) and
 * rt_train_plot.c (the picture); nobody else's business.
 */
#ifndef DCC_RT_TRAIN_H
#define DCC_RT_TRAIN_H

#include <stdio.h>

#include "dcc_rt.h"
#include "safetensors.h"

enum { RT_MAX_SETS = 64, RT_PATH = 4096 };

typedef struct {
    const char *program;
    const char *model, *weights, *data, *save; /* NULL: not given */
    const char *validate, *with;   /* a file, and the model that runs on it */
    const char *set[RT_MAX_SETS];  /* "lr=0.01" */
    int n_set;
    int64_t steps, every;          /* every 0: by default */
    uint64_t seed;
    int seed_given, resume, quiet;
} RtTrainOptions;

/* ---- rt_train_options.c */

/* 0, or the exit status after a message. */
int rt_train_options(RtTrainOptions *o, int argc, char **argv);
/* The model that is asked for, or the only one that will do: to train, or, if
 * `trained` is not NULL, to look at what that one trains. */
dcc_status rt_pick(const dcc_model_desc *const *models, int n,
                   const char *name, const dcc_model_desc *trained,
                   const dcc_model_desc **out);

/* Each --set is for an input of one of these; checks may be NULL. */
dcc_status rt_check_sets(const RtTrainOptions *o, const dcc_model_desc *trained,
                         const dcc_model_desc *checks);

/* ---- rt_train_data.c: from rows of a file to the inputs of a run */

/* Where an input's values come from. */
typedef enum {
    RT_FROM_DATA,
    RT_FROM_SET,   /* a number for all steps */
    RT_FROM_STEP,  /* the step's, from 0 */
    RT_FROM_EPOCH, /* how often all rows have been through */
    RT_FROM_SEED
} RtFrom;

typedef struct {
    RtFrom from;
    double value;              /* RT_FROM_SET */
    dcc_st_want want;          /* RT_FROM_DATA: the file's tensor */
    int64_t dim[DCC_MAX_RANK]; /* its shape */
    int64_t row;               /* elements of one row */
    size_t bytes;              /* of the input */
    unsigned char *host[2];    /* page-locked, in turn */
} RtFeed;

typedef struct {
    const dcc_model_desc *desc;
    const RtTrainOptions *o;
    cudaStream_t stream;
    dcc_st_file *file;
    RtFeed *feed;              /* of each input */
    void **inputs, **outputs;  /* device memory */
    int64_t rows, batch;       /* of the file, of an input */
    int64_t *order;            /* shuffled rows of `epoch`; NULL: as they are */
    int64_t epoch;
    cudaEvent_t sent[2];       /* host[i] has been copied */
    int turn;
} RtFeeder;

/* Opens the file and finds each input's values; `what` is for messages:
 * "--data". Shuffled with `shuffle`, else in the file's order. */
dcc_status rt_feeder_open(RtFeeder *f, const dcc_model_desc *desc,
                          const RtTrainOptions *o, const char *path,
                          int shuffle, cudaStream_t stream);
void rt_feeder_close(RtFeeder *f);
/* Steps of an epoch: whole batches. */
int64_t rt_feeder_epoch(const RtFeeder *f);
/* Enqueues the inputs of a step. */
dcc_status rt_feeder_fill(RtFeeder *f, int64_t step);
/* Names, shapes and some values of what is read, as a number. */
uint64_t rt_feeder_print(const RtFeeder *f);

/* An element as a number. */
double rt_value(dcc_type type, const void *at);

/* ---- rt_train_log.c: a line of JSON for each step */

typedef struct {
    char path[RT_PATH];  /* of the lines, and of the picture */
    char plot[RT_PATH];
    FILE *file;
    double drawn;        /* when the picture was */
} RtLog;

/* Beside the state's file; keeps the lines up to `step`. */
dcc_status rt_log_open(RtLog *l, const RtTrainOptions *o, int64_t step);
void rt_log_number(RtLog *l, const char *name, double value);
dcc_status rt_log_flush(RtLog *l);
void rt_log_close(RtLog *l);

/* ---- rt_train_plot.c */

/* The lines so far as a picture. */
dcc_status rt_plot(const char *lines, const char *path, const char *title);
/* Is there such a picture, or nothing yet? */
int rt_plot_may_go(const char *path);

#endif
