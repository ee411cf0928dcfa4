/* listed.h - what the parts of family listed share (listed.c: which nests it
 * serves and which variants there are; listed_cost.c: what they cost;
 * listed_build.c: their code).
 *
 * Sums, products, maxima and minima over the points whose data name a row:
 * y[i, j] = sum(p) (ids[p] == i ? x[p, j] : 0), as scatters and the gradients
 * of tables are. The nest asks every point for every row; here a block lists
 * the points of its rows in their order, a chunk of all points at a time, and
 * the threads of a row take theirs from the list. */
#ifndef DCC_LISTED_H
#define DCC_LISTED_H

#include "family/common/body.h"

enum { KNOB_THREADS, KNOB_VEC, KNOB_SHARE, KNOB_EACH };

typedef struct ListedForm {
    Graph *graph;
    const Group *group;     /* as it came */
    const Options *options;
    const Group *plain;     /* sums' terms are those of points of the row */
    const Var *row;         /* which data name */
    const Expr *data;       /* the row of a point */
    const Expr *rest[MAX_STEPS]; /* a sum's value of all other points, a
                               constant; NULL: what changes nothing */
    const Var **outer; int n_outer; /* rows that data differ by */
    const Var **across; int n_across; /* the others, slow to fast as the
                               result lies in memory */
    int64_t points, tables, columns; /* of cols, outer and across */
    int sums, read_bytes;   /* of a point: sums, and what they read */
    bool ahead;             /* there are values of rows ahead of the points */
    Census *terms, *rows;   /* of all points' terms, each once; of the rest */
    double bytes;
} ListedForm;

typedef struct ListedPlan {
    int threads, vec;
    int lanes;              /* of a row, side by side across */
    int share;              /* that have a row's points in turns */
    int each;               /* rows of a thread */
    int rows;               /* a block's */
    int ahead;              /* points of a thread in a chunk */
    int64_t chunks, tiles;  /* along the points, across */
    const Var *along;       /* vectorised, if vec > 1 */
} ListedPlan;

enum { LISTED_LOADS = 8 }; /* points of a row whose loads are under way */
ListedPlan listed_plan(const ListedForm *f, const Variant *v);
/* Registers of a thread, about, and blocks that an SM is to have for them. */
int listed_regs(const ListedForm *f, const ListedPlan *p, int *blocks);
size_t listed_smem(const ListedPlan *p);
/* A row has more points than the other rows of its block: how many are more
 * than its own threads are left alone with. */
int listed_crowd(const ListedPlan *p);
double listed_blocks(const ListedForm *f, const ListedPlan *p);
void listed_traffic(const ListedForm *f, const ListedPlan *p, Traffic *t);
void listed_cost(const void *form, const Variant *v, Cost *c);
void listed_build(const void *form, const Variant *v, Kernel *k);

#endif
