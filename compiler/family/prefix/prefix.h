/* prefix.h - what the parts of family prefix share (prefix.c: which nests it
 * serves and which variants there are; prefix_cost.c: what they cost;
 * prefix_build.c: their code).
 *
 * A running value: y[p, i] = sum(d in 0..i + 1) f[p, d], from the other end,
 * or a product, maximum or minimum. The nest has every i's sum apart, i's
 * extent times d's terms; here each line p is gone along once (Blelloch,
 * "Prefix Sums and Their Applications", 1990). Four ways:
 *
 *   walk   a thread a line, or VEC neighbouring ones, element after element
 *   warp   a warp a line, VEC neighbours a lane, chunk after chunk
 *   block  a thread block a line
 *   lines  a thread block 32 neighbouring lines, one a lane, of which each warp
 *          has VEC elements at a time */
#ifndef DCC_PREFIX_H
#define DCC_PREFIX_H

#include "family/common/body.h"

enum { MODE_WALK, MODE_WARP, MODE_BLOCK, MODE_LINES };
enum { KNOB_MODE, KNOB_THREADS, KNOB_VEC };

typedef struct PrefixForm {
    Graph *graph;
    const Group *group;     /* as it came */
    const Options *options;
    const Group *line;      /* rows: the lines; its one column: the place in
                               one. All steps are over cols; `scan` is the
                               reduction, and has a place's own term */
    int scan;
    const Var *at;          /* that place */
    bool back;              /* from the last place to the first */
    const Var **rows;       /* the lines' variables, from slow to fast as the
                               result lies in memory */
    Census *census;         /* of line */
    double bytes;
} PrefixForm;

typedef struct PrefixPlan {
    int mode, threads, vec;
    int64_t lines;
    int64_t turn;           /* a line's places in a turn */
    int64_t chunks;         /* a thread's turns along the line */
    const Var *along;       /* vectorised, if vec > 1 */
} PrefixPlan;

enum { PREFIX_AHEAD = 4 }; /* places of a walk whose loads are under way */
PrefixPlan prefix_plan(const PrefixForm *f, const Variant *v);
double prefix_blocks(const PrefixPlan *p);
void prefix_traffic(const PrefixForm *f, const PrefixPlan *p, Traffic *t);
void prefix_cost(const void *form, const Variant *v, Cost *c);
void prefix_build(const void *form, const Variant *v, Kernel *k);

#endif
