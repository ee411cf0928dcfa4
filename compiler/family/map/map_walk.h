/* map_walk.h - what the code of a walk shares (map_roll_build.c: the walk;
 * map_factor.c: what stays in registers; map_band.c: input rows that a block
 * shares). */
#ifndef DCC_MAP_WALK_H
#define DCC_MAP_WALK_H

#include "family/map/map.h"

/* Names in the kernel. */
typedef struct Walk {
    MapBuild *m;
    const Roll *r;
    const char *t, *u, *j, *k; /* iteration, input row and column, output */
    const char *a, *i;         /* row of sums, input row of an iteration */
    const char *tap_r, *tap_s, *taps; /* columns: "r", "s", "[r][s]" */
    const char *p, *q;         /* the thread's first output */
    const char *in_rows;       /* that it reads */
    const char *ring[WALK_READS]; /* of each read: slots, or a block's rows */
    const char *row[WALK_READS]; /* bands: where the thread's input row 0 is */
    const char *first, *there, *spent, *fetch; /* bands */
    const Expr *early[16];     /* bands: factors that were asked for */
    const char *early_name[16];
    int n_early;
    const char *start[MAX_STEPS]; /* what sums begin with; NULL: nothing */
    int step[MAX_STEPS], n;    /* of the pass */
} Walk;

/* A variable's extent. */
const char *walk_size(Walk *w, const Var *v);

/* `for (v up to `to`) inner`, unrolled. */
void walk_unrolled(Tree *out, const char *v, const char *to, const Tree *inner);
/* Inside the tensor, and read at all, of input row w->u: what does not depend
 * on the column, and " && ..." what does. */
typedef struct Inside {
    const char *row, *column;
} Inside;
Inside walk_inside(Walk *w, const Expr *e);
/* Elements from a column to the next. */
long long walk_pitch(Walk *w, const Expr *e, const Window *q);
/* Calls the window's columns 0, the place in it `s` and `r`. */
void walk_name_taps(Walk *w, const char *r, const char *s);

/* Of the window, and of the results: what is the same for all outputs, and was
 * made at load time or was not; early: asked for only, where that is
 * possible. */
void walk_factors(Walk *w, Tree *out, bool constant, bool early);
/* A factor that is added to a sum, and to nothing else: where results are of
 * 16 bits the sum begins with it. And a constant that is the least that is
 * stored: stores see to it. */
void walk_starts(Walk *w);

/* Shared memory, what the rows' copies need, and the first of them. */
void band_begin(Walk *w, Tree *out, const Expr *const *read, int n);
/* Waits for input row `u`, and gives its slot back once it is in registers. */
void band_wait(Walk *w, Tree *out, const char *u);
void band_release(Walk *w, Tree *out, const char *u);
/* Column w->j of input row `u` into `frag`. */
void band_column(Walk *w, Tree *out, const Expr *e, int i, const char *u,
                 const char *frag);

#endif
