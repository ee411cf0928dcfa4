/* map.h - what the parts of family map share (map.c; map_window.c: windows
 * whose inputs several neighbouring outputs of one thread share; map_roll.c and
 * map_roll_build.c: windows that a thread walks down; map_line.c: windows along
 * the vectors). */
#ifndef DCC_FAMILY_MAP_H
#define DCC_FAMILY_MAP_H

#include "family/common/body.h"

/* gr, or the same nest with its fastest row written out, if that is too short
 * for vectors. */
const Group *map_short(Graph *g, const Group *gr, const Var *const *rows);
/* gr, or the same nest with a vector's points of its fastest row as a variable,
 * where several of them read one element; `rows` from slow to fast. */
const Group *map_lanes(Graph *g, const Group *gr, const Var *const *rows);

/* gr, or the same nest with columns counted from the end where their windows go
 * back: x[q - s]. */
const Group *map_onward(Graph *g, const Group *gr);

/* Whether s may be computed of what is there instead of values: no integer is
 * divided by it. */
bool map_takes_anything(const Step *s);
/* gr, or the same nest with neighbours of dilated windows, x[q + 2 * s], as a
 * variable; `rows` from slow to fast. */
const Group *map_apart(Graph *g, const Group *gr, const Var *const *rows);

/* Outputs along row variable q read inputs at stride * q + s, s over cols, or
 * at a multiple of that: one thread computes `tile` of them and loads each
 * input once. */
typedef struct Window {
    const Var *q, *s;  /* q NULL: there is no such pair */
    int64_t stride;
    int tile;          /* 1: not used */
} Window;

/* All pairs whose inputs overlap, none of them having `fast`, at most `most`;
 * returns how many. */
int window_pairs(Graph *g, const Group *gr, const Var *fast, Window *w,
                 int most);
/* The pair whose inputs overlap most. */
void window_find(Graph *g, const Group *gr, const Var *fast, Window *w);
/* Inputs that a thread reads along q; w->tile outputs of them. 1 without a
 * pair. */
int64_t window_span(const Window *w);
/* Tiles along q, the last perhaps in part. */
int64_t window_tiles(const Window *w);

/* One pass of sums, maxima, ... and only row values after it. */
bool window_one_pass(const Group *gr);

/* A read of a row of its tensor at stride * fast + step * s + a constant, s
 * over cols: n elements from stride * fast - lead on serve a thread's vector of
 * outputs and all taps; the first that one needs is element `at`. */
typedef struct Line {
    const Var *s;
    int64_t stride, step, lead, at, n, vec; /* vec: elements of a load */
    Guard rest;                             /* conditions of other indices */
} Line;
bool line_of(Graph *g, const Expr *e, const Var *fast, const Var *s, int vec,
             Line *l);
/* The taps of a vector's own variable, or NULL; w's are others. */
const Var *line_find(Graph *g, const Group *gr, const Var *fast,
                     const Window *w, int vec);

/* Reads of its window that a walk has at most. */
enum { WALK_READS = 128 };

/* A walk: down.tile rows of across.tile outputs; across may be no pair. */
typedef struct Roll {
    Window down, across;
    int bands; /* tiles down that a block has, whose input rows it shares; 0: a
                  thread brings its own */
    int share; /* then: blocks that an SM is to have room for, */
    int64_t slots; /* and those rows in shared memory at once */
} Roll;

/* The nest's two windows, or one; `rows` from slow to fast. */
bool roll_find(Graph *g, const Group *gr, const Var *const *rows,
               const Var *fast, Roll *r);
/* Whether vec values of `along` come in as one copy everywhere. */
bool roll_fits(Graph *g, const Group *gr, const Roll *r, const Var *along,
               int vec);
/* Whether the window's place moves this read. */
bool roll_moves(const Roll *r, const Expr *read);
/* Rows of outputs that one input row belongs to. */
int roll_live(const Roll *r);
/* Whether all iterations stand side by side in the text: those that are few, of
 * rows that are shared or where products take the time. */
bool roll_written_out(const Group *gr, const Roll *r, int vec);
/* Whether the first and the last input rows leave out products of other
 * threads' outputs. */
bool roll_skips(const Group *gr, const Roll *r, int vec);
/* Input rows under way or in use. */
int roll_stages(const Roll *r);
/* Threads with work. */
int64_t roll_points(const Group *gr, const Roll *r, int vec);
/* map_roll_cost.c: instructions of a tap whose input is in a register; blocks
 * that an SM has room for. */
double column_ops(const Step *s);
int roll_blocks(Graph *g, const Group *gr, const Device *d, const Roll *r,
                int vec, int threads);
void roll_cost(Graph *g, const Group *gr, const Options *o, const Roll *r,
               const Var *fast, int vec, int threads, const Traffic *t,
               Cost *c);

/* Whether a block's input rows are whole and have room; roll_fits holds. `rows`
 * from slow to fast. */
bool band_fits(const Group *gr, const Device *d, const Roll *r,
               const Var *const *rows);
/* Threads of a block: all of its rows' outputs. */
int64_t band_threads(const Group *gr, const Roll *r, const Var *const *rows,
                     int vec);
/* Input rows of a block; of them in shared memory at once; bytes of one. */
int64_t band_rows(const Roll *r);
int64_t band_slots(const Group *gr, const Device *d, const Roll *r);
double band_row_bytes(const Group *gr, const Roll *r);
/* Shared memory for them and their barriers. */
double band_bytes(const Group *gr, const Roll *r);

/* ROWS 0: no walk; BANDS 0: of threads on their own; LINE 1: rows' elements by
 * vectors (map_line.c) */
enum { KNOB_VEC, KNOB_THREADS, KNOB_TILE, KNOB_ROWS, KNOB_BANDS, KNOB_SHARE,
       KNOB_LINE };

/* The analysis of a nest. */
typedef struct MapForm {
    Graph *g;
    const Group *gr;  /* its rows up to whole vectors where there is room */
    const Options *o;
    const Var **rows; /* slow to fast */
    const Var *fast;  /* the last of them, or NULL */
    Window window;
    Census *census;
    double bytes, in; /* model_group_bytes: all, and those that are read */
    bool gather;      /* an address depends on another load */
    int passes;       /* over the columns, one after the other */
} MapForm;

/* Loops over no more columns than these are written out. */
enum { MAP_WRITTEN_OUT = 64 };

/* The walk of variant v; false if it is none. */
bool map_walk(const MapForm *f, const Variant *v, Roll *r);
/* map_cost.c */
void map_traffic(const MapForm *f, const Variant *v, Traffic *t);
double map_least(const void *form);
void map_cost(const void *form, const Variant *v, Cost *c);

typedef struct MapBuild {
    Body body;
    Graph *graph;
    Group *group;
    Kernel *kernel;
    const Device *device;
    Schedule plan;
    const Var **rows;
    int vec;
    Window window;
    const Var *line;   /* taps whose inputs a row of registers holds; or NULL */
    Roll roll;         /* down.tile 0: not used */
    const char *turn;  /* loop variable over the tile */
} MapBuild;

/* All passes and what lies between them, of the point that the body names. */
void map_point(MapBuild *m, Tree *out);
/* Loops over all of cols that have names, but `without` (or NULL), around
 * `body`. */
void map_loops(MapBuild *m, Tree *out, const Tree *body, const char **names,
               const Var *without);
/* `body` for each @v of 0..size, unrolled. */
void window_each(Tree *out, const char *v, const char *size, const Tree *body);
/* Names the columns that loops go through, and returns that of m->line. */
const char *column_names(MapBuild *m, const char **names);
/* The rows of line reads into registers, which are held; and a pass by them. */
void line_load(MapBuild *m, Tree *out, const int *step, int n,
               const char *tap);
void line_pass(MapBuild *m, Tree *out);
/* The only pass and the phase after it, for a tile of outputs. */
void window_pass(MapBuild *m, Tree *out);
void window_results(MapBuild *m, Tree *out);
/* One value a lane into `array`, where they are no vector. */
void window_lanes(MapBuild *m, Tree *out, const Expr *e, const char *array);
/* A walk's constants and tiles; all its phases. */
void roll_tiles(MapBuild *m);
void roll_pass(MapBuild *m);

#endif
