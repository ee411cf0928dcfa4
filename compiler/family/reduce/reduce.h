/* reduce.h - what the parts of family reduce share (reduce.c: which variants
 * there are and what they cost; reduce_build.c: their code; reduce_cols.c: its
 * loops; reduce_combine.c: how threads' results meet).
 *
 * Four ways to spread a row's columns over threads:
 *   lanes    4 to 32 lanes of a warp a row, several rows a block
 *   block    a thread block a row; or several rows side by side, where a row
 *            has less than a sector of memory at a time (a few channels of each
 *            pixel)
 *   columns  TX threads side by side along the rows that are neighbours in
 *            memory, TY of them sharing each row's columns; in parts, several
 *            such blocks share the columns, and the last to arrive adds up
 *   split    several blocks a row; the last to arrive adds their results up,
 *            in a fixed order */
#ifndef DCC_REDUCE_H
#define DCC_REDUCE_H

#include "family/common/body.h"

enum { MODE_LANES, MODE_BLOCK, MODE_COLUMNS, MODE_SPLIT };
/* KNOB_SHARE: lanes a row (lanes), rows (block), TX (columns), blocks a row
 * (split).
 * KNOB_PARTS: blocks that share the columns (columns); 0 or 1: one.
 * KNOB_HELD: what several passes need of the row lies in shared memory (block),
 * where each thread finds what it put there itself. */
enum { KNOB_MODE, KNOB_THREADS, KNOB_VEC, KNOB_SHARE, KNOB_PARTS, KNOB_HELD };

/* What several passes need, which may stay in registers between them: reads
 * over cols, and values (Schedule.kept) or none. */
typedef struct Keep {
    bool value[MAX_STEPS];
    Reads reads;
    int arrays; /* of registers: reads and values */
} Keep;

/* The analysis of a nest, with rows and columns from slow to fast: as what is
 * read lies in memory, and rows also as what is stored does. */
typedef struct ReduceForm {
    Graph *graph;
    const Group *group; /* as it came, and as nest_plain has it */
    const Group *plain;
    const Options *options;
    bool powers;            /* of 2, as the instruction has them */
    const Var **rows, **stored_rows, **cols;
    Schedule plan;
    Keep keep[2];           /* without and with values */
    Census *census;
    double quotients;       /* divisions by a value of the row, an element */
    double bytes, in;       /* model_group_bytes of group */
    int row_vectors;        /* reads of columns that neighbouring rows move */
    const Expr *read;       /* main_read, or NULL */
    const Idx *from, *to;   /* data say which columns the sums of a row have:
                               the first, and the first behind them; or NULL */
    double part;            /* about which part of all columns they are */
} ReduceForm;

typedef struct RowReduce {
    Body body;
    Graph *graph;
    Group *group;
    Kernel *kernel;
    Schedule plan;
    const Var **rows, **cols;  /* slow to fast */
    int64_t n_rows, n_cols;    /* products of extents */
    int mode, threads, vec, share;
    int parts;                 /* blocks that share columns (MODE_COLUMNS) */
    const Var *along;          /* vectorised variable, if vec > 1 */
    int per_row;               /* threads that share a row, in one block */
    int chunks;                /* a thread's turns through the columns */
    bool keep;                 /* columns stay in registers between passes */
    bool held;                 /* they stay in shared memory */
    const char **row;          /* then: by kept read, the array there */
    const Idx *shift;          /* elements from a whole vector in memory to the
                                  row's first; NULL: rows begin with one */
    const char *shift_id;      /* what it is called */
    bool flat;                 /* kept, and there is a single turn */
    const char *col;           /* then: the identifier of its column */
    Reads kept;                /* the reads that do */
    int arrays;                /* register arrays: kept reads and values */
    const char *chunk, *thread, *ty; /* identifiers */
    const Idx *from, *to;      /* ReduceForm's, where they are gone by */
    const char *first, *last;  /* then: what they are called, in columns */
    double part;               /* and of all columns; else 1 */
} RowReduce;

/* Everything but body and kernel, from a variant. */
void reduce_plan(RowReduce *r, const ReduceForm *f, const Variant *v);
/* Blocks that an SM shall have room for; 0: as many as nvcc likes. */
int reduce_resident(const RowReduce *r);
/* The fastest variable that is a loop at all, or NULL. */
const Var *reduce_fastest(const Var **v, int n);
/* reduce_cols.c. Whether a block has several rows side by side. */
bool reduce_beside(const RowReduce *r);
/* The number of columns as an enumerator: the only variable's extent, or
 * COLS. */
const char *reduce_cols_size(RowReduce *r);
/* Names the column variables inside a loop; returns the linear column. */
const char *reduce_name_cols(RowReduce *r, Tree *in);
/* What counts up to n, a block's turn beyond it included; and a cast to it. */
const char *reduce_count_type(int64_t n);
const char *reduce_widened(int64_t n);
/* Whether the last turn has threads without columns. */
bool reduce_has_tail(const RowReduce *r);
/* The first column of turn `chunk`; of the only one if that is NULL. */
void reduce_put_column(RowReduce *r, Tree *out, const char *col,
                       const char *chunk);
/* The columns of this thread. */
void reduce_put_loop(RowReduce *r, Tree *out, Tree *in, const char *col);
/* Whether such a loop has whole vectors, and at an end one that lies partly
 * beyond the row: then the loop of those, and `last`. */
bool reduce_leaves_last(const RowReduce *r);
void reduce_put_whole_loop(RowReduce *r, Tree *out, Tree *in, Tree *last,
                           const char *col);
/* reduce_range.c: finds them; whether vectors of v's variant go by them; and
 * what a thread needs to. */
void reduce_find_range(ReduceForm *f);
void reduce_plan_range(RowReduce *r, const ReduceForm *f);
void reduce_put_range(RowReduce *r, Tree *out);
/* Weights worth asking for before the wait for the grid. */
bool reduce_is_early(const RowReduce *r, const Expr *e);
/* reduce_cost.c */
double reduce_least(const void *form);
void reduce_cost(const void *form, const Variant *v, Cost *c);
void reduce_traffic(const RowReduce *r, const ReduceForm *f, Traffic *t);
/* Whether a thread has several elements that a value of the row divides. */
bool reduce_many_quotients(const RowReduce *r);
/* Bytes of shared memory that hold what several passes need of a row; 0: it
 * cannot be held there, by vectors of vec. */
int64_t reduce_held_bytes(const ReduceForm *f, int vec);
/* The accumulators of reduction i become one, in all threads of the row. */
void reduce_combine(RowReduce *r, Tree *out, int i);
/* A phase: the last block of a row, or of TX of them, takes what the others
 * left. */
void reduce_partials(RowReduce *r);
void reduce_part_columns(RowReduce *r);
const char *reduce_text(const void *form, const Variant *v);
void reduce_build(const void *form, const Variant *v, Kernel *k);

#endif
