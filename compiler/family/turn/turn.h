/* turn.h - what the parts of family turn share (turn.c: which nests it serves,
 * and its tiles; turn_cost.c: what they cost; turn_build.c: their code).
 *
 * Elementwise work whose results lie along another index than what it reads:
 * transposes, changes between channels first and last, pixels that go to
 * channels. A block has a tile of points that is long along both: it copies
 * what is read to shared memory, as that lies in memory or, where vectors of 16
 * bytes are read and taken, across; and each thread takes its neighbours of the
 * result from there (Ruetsch and Micikevicius, "Optimizing Matrix Transpose in
 * CUDA", 2009). */
#ifndef DCC_TURN_H
#define DCC_TURN_H

#include "family/common/body.h"

enum { TURN_READS = 4 };

/* A read that goes through shared memory. */
typedef struct Turned {
    const Expr *read;
    const Idx *offset;
    const Var **by; /* what moves it, from slow to fast; the last is `along` */
    int n;
} Turned;

typedef struct TurnForm {
    Graph *graph;
    const Group *group;
    const Options *options;
    const Var **rows; /* slow to fast, as the main result lies in memory */
    const Var *fast;  /* the last of them */
    const Var *along; /* neighbours in what is turned */
    Turned turned[TURN_READS];
    int n_turned;
    int store_bytes; /* of the main result's elements */
    Census *census;
    double bytes; /* model_group_bytes */
} TurnForm;

enum { KNOB_OUT, KNOB_IN, KNOB_VEC, KNOB_THREADS };

typedef struct TurnPlan {
    int threads, vec;
    int64_t *tile;  /* points of a block along rows[i] */
    int64_t points; /* of a block */
    double blocks;
    int step[TURN_READS]; /* elements of a copy to shared memory */
    int64_t line[TURN_READS], lines[TURN_READS]; /* a tile's shape in there, */
    int64_t pitch[TURN_READS]; /* elements from a line to the next, */
    int64_t skew[TURN_READS];  /* and so many more after `apart` lines each */
    int64_t apart[TURN_READS];
    int64_t elements[TURN_READS]; /* of a tile with all that */
    /* Stored as the result lies, by words: a line is a tile's points along
     * `fast`, `line` lines for those along `along` (dcc_cross). */
    bool crossed[TURN_READS];
    int64_t run_in, run_out;   /* bytes that lie together */
    size_t smem;
} TurnPlan;

TurnPlan turn_plan(const TurnForm *f, const Variant *v);
void turn_traffic(const TurnForm *f, const TurnPlan *p, Traffic *t);
void turn_cost(const void *form, const Variant *v, Cost *c);
double turn_least(const void *form);
void turn_build(const void *form, const Variant *v, Kernel *k);

#endif
