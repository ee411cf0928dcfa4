/* tune_priv.h - what tune*.c share. */
#ifndef DCC_TUNE_PRIV_H
#define DCC_TUNE_PRIV_H

#include "command/driver_priv.h"
#include "search/search.h"
#include "command/tune.h"

enum {
    TUNE_SAMPLES = 64,
    TUNE_PASSES = 3,   /* that time a round which may hold a best variant */
    TUNE_LAUNCHES = 2, /* of a kernel that are timed in a pass */
    HOST_PART = -2, MANY_KERNELS = -1 /* Part.subject */
};

typedef enum { TRIAL_NEW, TRIAL_RIGHT, TRIAL_FAILED } TrialState;

/* One variant of a subject. */
typedef struct Trial {
    const Family *family;
    const char *variant;
    double predicted_us;
    TrialState state;
    const char *why;   /* it failed */
    float sample[TUNE_SAMPLES]; int n_sample; /* us */
} Trial;

/* A distinct group; as many as the program has kernels, in their order. */
typedef struct Subject {
    const Kernel *kernel;      /* by the model's pick */
    Trial *trial; int n_trial; /* the model's pick first; 1: nothing to tune */
    bool checked;              /* some step's result shows that it is right */
    int chunk;                 /* which of a round's files it is in */
} Subject;

/* A launch of a run. */
typedef struct TuneStep {
    int subject;
    bool *blame;   /* of each subject: a wrong result here may be its fault */
    bool checked, timed;
} TuneStep;

/* A child program: what it does, how long it may be silent. */
typedef struct Job {
    Task task;
    double heard;        /* when it last wrote something */
    double first, later; /* seconds of silence allowed, before and after */
    off_t size;          /* of its log */
    bool started, hung;
} Job;

/* A .cu file and its object; equal texts are one part. */
typedef struct Part {
    const char *name;    /* without ending */
    uint64_t hash;
    int subject;         /* whose kernel it holds, or one of the enum */
    int chunk;
    Job job;
    bool built, failed;
} Part;

typedef enum {
    ROUND_NEW, ROUND_BUILDS, ROUND_LINKS, ROUND_RUNS, ROUND_CHECKS,
    ROUND_TIMES, ROUND_RESTS, ROUND_LOST
} RoundPhase;

typedef struct Round {
    int number;
    int *pick;           /* of each subject: the trial, -1: none is left */
    bool *split;         /* of each chunk: a file for each kernel */
    Part **part; int n_part, cap_part;
    RoundPhase phase;
    Job job;             /* what links, runs, checks or times it */
    int passes;          /* that timed it */
} Round;

typedef struct Tune {
    const TuneOptions *o;
    Arena *arena;
    Diag *diag;
    Build build;
    Selection *selection;
    const CudaProgram *program; /* by the model's picks */
    Subject *subject; int n_subject;
    TuneStep *step; int n_step;
    int *step_of;        /* tensor's id -> the step that it checks, or -1 */
    const char *only, *timed; /* lists of tensors, of steps */
    Round *round; int n_round;
    int n_chunk;
    Part **part; int n_part, cap_part;
    Job oracle, draw, runtime;
    double begin, until; /* now()'s seconds */
    const char *broken;  /* the last thing that went wrong, or NULL */
    bool stop;           /* nothing can go on */
    bool header;         /* is written */
    bool measured;       /* something is */
    bool created;        /* the plan was not there before */
    bool tty;
    int shown;           /* columns of the progress line */
    int moves;           /* jobs started and phases entered, ever */
} Tune;

/* tune.c */
int tune_best(const Subject *s);       /* the trial for the plan */
double tune_median(const Trial *t);    /* us; 0: not measured */
bool tune_worth(const Tune *t, const Round *r); /* timing it again */
/* Writes the plan; false, with errno, if it cannot. */
bool tune_write(Tune *t);
void tune_picks(Tune *t, Round *r);    /* a round's picks, after failures */
bool tune_has_new(const Tune *t, const Round *r);

/* tune_files.c: the round's texts, and the Makefile. False: lost. */
bool tune_emit(Tune *t, Round *r);

/* tune_run.c: rounds until all is done, the time is up or a signal came. */
void tune_rounds(Tune *t);

/* tune_log.c: what a round's child wrote. */
const char *tune_error_line(Tune *t, const char *log);
/* A child failed or hung: false if no variant can be blamed. */
bool tune_fault(Tune *t, Round *r, const char *log, bool timing);
/* -1: the oracle could not tell; 0: something is wrong and blamed; 1 right. */
int tune_verdict(Tune *t, Round *r, const char *log);
void tune_samples(Tune *t, Round *r, const char *log);
void tune_fail(Tune *t, Round *r, int subject, const char *why);

/* tune_show.c */
void tune_say(Tune *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tune_progress(Tune *t);
void tune_progress_end(Tune *t);
void tune_report(Tune *t);

#endif
