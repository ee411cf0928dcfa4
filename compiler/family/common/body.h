/* body.h - the code of one point of a nest, or of VEC neighbours along one
 * variable; shared by the families map and reduce. Its steps fall into passes
 * and phases: group/passes.h. */
#ifndef DCC_BODY_H
#define DCC_BODY_H

#include "emit/emit.h"
#include "model/model.h"
#include "family/family.h"

typedef struct Schedule {
    int passes;
    int at[MAX_STEPS];    /* pass of a step over cols, phase of a row step */
    int uses[MAX_STEPS];  /* steps that use its value */
    int last[MAX_STEPS];  /* the latest pass or phase that needs its value */
    bool kept[MAX_STEPS]; /* over cols, and held in registers once computed */
} Schedule;

/* gr with every stored reduction followed by a row step that stores it; gr
 * itself if there is none. */
const Group *nest_plain(Graph *g, const Group *gr);
/* Whether a term that is e changes nothing of reduction s. */
bool nest_leaves(const Step *s, const Expr *e);
/* gr with rows, or columns, that lie one behind the other as one variable where
 * vectors along it are wider, or one alone is shorter than `least`; gr itself
 * if there are none. merged.c */
const Group *nest_merged(Graph *g, const Group *gr, int64_t least);
void schedule_make(const Group *gr, Schedule *s);
/* The steps that pass q runs, in order: its own, and values over cols from
 * earlier passes that are not kept and so computed again. */
int schedule_pass(const Group *gr, const Schedule *s, int q, int *step);
int schedule_phase(const Group *gr, const Schedule *s, int q, int *step);

/* A read whose value is in registers. */
typedef struct Held {
    const Expr *read;
    const char *text; /* "x_frag[v]" */
} Held;

/* A row variable of which a thread has several values. */
typedef struct Tiled {
    const Var *v;
    const char *tile;  /* values a thread: "TILE" */
    const char *count; /* threads: "(P / TILE)" */
} Tiled;

typedef struct Body {
    Graph *graph;
    const Group *group;
    Kernel *kernel;
    const Schedule *plan;
    CPrint print;
    const Var *along;     /* VEC values of it are one thread's; or NULL */
    int vec;              /* 1: no vectors */
    Tiled tiled[2]; int n_tiled;
    const char *base;     /* the first of them, an identifier */
    const char *lane;     /* loop variable over VEC */
    bool along_rows;      /* along is one of rows */
    Held *held; int n_held, cap_held;
    const char *acc[MAX_STEPS];  /* accumulator of a reduction, "m" or "m[v]" */
    const char *least[MAX_STEPS]; /* a stored vector's elements are no less;
                                     NULL: no such bound */
    const char *kept[MAX_STEPS]; /* where a step's value is kept: "e[c][v]" */
    const char *store_at[MAX_STEPS]; /* where a vector is stored, "y_row + k",
                             or NULL: the text of its place in the tensor */
    bool past[MAX_STEPS]; /* and that past the caches */
    const char *store_if; /* condition of every store, or NULL */
    const char *lane_if;  /* of a lane's part in reductions, or NULL: a row's
                             last vector may lie partly in padding */
    const char *within;   /* then: how long the row is; a vector at either end
                             of it lies partly beyond, aligned; or NULL */
    const char
        *store_sync; /* the call at which threads that read the same state
                      meet before one of them overwrites it; or NULL */
    Tree *stores;    /* body.c's own: those under that condition */
} Body;

/* Sets graph .. print, arguments included; vec and along as given. The plan is
 * that of nest_plain(gr), which becomes b->group. */
void body_init(Body *b, Graph *g, Group *gr, Kernel *k, const Schedule *plan,
               const Var *along, int vec);

/* The same of a part of a kernel whose arguments are set, in its names. */
void body_within(Body *b, CPrint print, const Group *gr, Kernel *k,
                 const Schedule *plan, const Var *along, int vec);

/* What a read costs a thread that has VEC values of `along`. */
typedef enum { READ_BROADCAST, READ_VECTOR, READ_SCALAR } ReadKind;
/* *step: elements of one load instruction, for READ_VECTOR. */
ReadKind read_kind(Graph *g, const Expr *e, const Var *along, int vec,
                   int *step);
/* The same, where the offset of e is known. */
ReadKind read_kind_at(Graph *g, const Expr *e, const Idx *offset,
                      const Var *along, int vec, int *step);
/* How many elements are read along v amid the nest's other rows, if they are
 * among fewer neighbours than v has values; else so many. */
int64_t read_few(Graph *g, const Group *gr, const Idx *offset, const Var *v);
/* The widest vector, at most `most`, that pays for this group along v: every
 * store allows it or the heaviest read does. With `partial` it need not divide
 * v's extent where all that uses v has padding behind it. */
int widest_vector(Graph *g, const Group *gr, const Var *v, int most,
                  bool partial);

/* Before body_steps of what several threads compute and one stores: sets
 * store_sync if these overwrite a state that they read. warp: those threads are
 * of one warp. */
void body_sync(Body *b, const int *step, int n, bool warp);
/* Code for `step`, at the variables' present names; `lanes` says whether it is
 * done for VEC values of along. Accumulators and kept values are declared by
 * the caller. */
void body_steps(Body *b, Tree *out, const int *step, int n, bool lanes);
/* Loads a read into `array` ("x_frag" or "x_frag[c]"), VEC values. */
void body_load(Body *b, Tree *out, const Expr *read, const char *array);
const Held *body_held(const Body *b, const Expr *read);
void body_hold(Body *b, const Expr *read, const char *text);
/* Before the passes over columns: what values of the row divide them. */
void body_divisors(Body *b, Tree *out, const int *step, int n);
/* `load` brings read into registers: where the thread needs it. Nothing looks
 * at what is there instead. */
void body_if_needed(Body *b, Tree *out, const Expr *read, const Tree *load);
/* A fresh name for step i's value. */
const char *body_step_name(Body *b, int i);
/* `float m[VEC];`; plain if there are no vectors. */
void body_declare(Body *b, Tree *out, Type t, const char *name, bool lanes);
/* Accumulator of reduction step i: declares and initialises it. */
void body_accumulator(Body *b, Tree *out, int i, bool lanes);

/* Steps whose stores are one run for each point along a variable, in the order
 * of their places: y[3 * q], y[3 * q + 1], y[3 * q + 2]. weave.c */
enum { MOST_WOVEN = 8 };
typedef struct Weave {
    int step[MOST_WOVEN], n;
    int chunk; /* elements of one store of `vec` points' */
} Weave;
/* Of `vec` points along v, step i's; false if it stores alone. */
bool weave_find(Graph *g, const Group *gr, int i, const Var *v, int vec,
                Weave *w);
/* Of the steps of a list that are its own and store alone (lane[] is NULL):
 * those that weave have elements lane[] of one array, which is frag[] of the
 * first, and stored width[] elements at a time. */
void body_weave(Body *b, Tree *out, const int *step, const bool *own, int n,
                const char **frag, int *width, const char **lane);

/* Distinct reads of a list of steps. */
typedef struct Reads {
    const Expr **read;
    int n, cap;
    Arena *arena;
    int *place, places; /* reads_of's own: where each read is, by its hash */
    int few[16];
} Reads;
void reads_of(Graph *g, const Group *gr, const int *step, int n, Reads *r);
/* Reads that are neighbours for each point along v, b[4 * q] to b[4 * q + 3],
 * as most of a run: the elements of one load of `vec` points'; 0 if read i is
 * none such. place[] is each read's in the run, -1 of others. */
int weave_reads(Graph *g, const Expr *const *read, int n, int i, const Var *v,
                int vec, int64_t *run, int *place);
/* Loads those of a body's vectors. */
void body_weave_reads(Body *b, Tree *out, const Reads *r);
/* Names of reads[] that are of one place for all lanes, under conditions of
 * each: loaded ahead of the lanes' loop; NULL for others. once.c */
const char **body_read_once(Body *b, Tree *out, const Reads *r);
/* Inside of it: each lane takes it as its condition says. */
void body_hold_once(Body *b, const Reads *r, const char *const *name);
bool read_uses(const Expr *e, const Var *v);
/* Whether s stores lanes as vectors. */
bool body_stores_vectors(const Body *b, const Step *s);
/* Does e read where an earlier step says? Then every lane does for itself,
 * once that step is done. */
bool read_by_local(const Expr *e);

/* Rows or cols from the slowest to the fastest in memory, by the strides of
 * the tensor `main` is stored to or read from. */
void order_vars(Graph *g, const Var **v, int n, const Idx *offset);
/* Those of extent 1, which are no loops, become the slowest. */
void ones_first(const Var **v, int n);
const Idx *main_store(Graph *g, const Group *gr); /* offset, or NULL */
const Expr *main_read(const Group *gr); /* of the largest tensor, or NULL */

/* `const int h = point / W % H;` for all v, the fastest being the last, which
 * counts in units of vec. `extent` gives each variable's enumerator. */
void decompose(Body *b, Tree *out, const Var **v, int n, const char *point,
               int vec);

/* For cost: operations a run, special ones among them, what addresses, guards
 * and conversions add (in the same unit), the bytes that all loads and stores
 * ask for with the factor by which narrow accesses waste sectors, and the
 * clocks of all SMs' L1s that they take. */
typedef struct Traffic {
    double flops, special, overhead, bytes, scatter, l1_clk;
} Traffic;

/* How neighbouring threads differ: by `row` (NULL: they share a row), or by
 * `col` in accesses that use cols. Each has vec values of `along`. */
typedef struct Spread {
    const Var *row, *col, *along;
    int vec;
    int rows_warp; /* rows side by side in one request */
    const Var *window; /* reads over cols that it moves overlap; or NULL */
    double taken;      /* of those reads, the share that is loaded */
    int tile;          /* with window: outputs of a thread along it */
    const Var *turned; /* neighbours along it are read together, whatever the
                          threads differ by; or NULL */
    const Var *line;   /* reads that it moves along `along` come by vectors of
                          line_vec, line_part of all that taps and lanes ask
                          for, of which line_new were no neighbour's; or NULL */
    double line_vec, line_part, line_new;
} Spread;
/* Whether a column moves this read. */
bool uses_cols(const Group *gr, const Expr *read);
/* census_cost.c: what a nest computes and touches, taken once; then its traffic
 * however it is spread. */
typedef struct Census Census;
Census *census_take(Graph *g, const Group *gr, const Device *d);
void census_traffic(Census *c, const Spread *s, Traffic *t);
double census_flops(const Census *c);

#endif
