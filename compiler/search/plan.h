/* plan.h - plan files: the grouping and the variants, as text.
 *
 *     dcc plan 2                         (this, and `model`, once a model)
 *     model mlp target h200 math exact
 *     group h,h~1,*g : contract_mma/1 0123456789abcdef bm=128 ... by g*h~1
 *         h>h~1 # 3.1 us                 (one line)
 *
 * One line a group: its statements by path and number (those behind a * are
 * computed in every reader), the family and its version, the hash of its
 * canonical text, the variant, and if it was merged by which merges (merge.h).
 * Behind the # stand the predicted and the measured time, which change nothing.
 * Read
 * all or nothing: an unknown statement, a changed group or an illegal variant
 * is an error. */
#ifndef DCC_PLAN_H
#define DCC_PLAN_H

#include "search/units.h"

/* What a plan says of one group. */
typedef struct PlanChoice {
    const Family *family;
    const char *variant;
    double predicted_us;
    double measured_us; /* 0: not measured */
} PlanChoice;

void plan_write(Buf *b, const Selection *s, const char *target);
/* The same groups with other choices, by the group's id. */
void plan_write_choices(Buf *b, const Selection *s, const char *target,
                        const PlanChoice *choice);
/* NULL after an error. `text` is the file's, of one model or of several. A
 * plan for another GPU or another --math is an error. */
Plan *plan_read(Graph *g, const Options *o, const char *name,
                const char *text, size_t len);
/* Makes the plan's groups of single statements' ones; false after an error. */
bool plan_apply(const Plan *p, Units *u);
/* After selection: every group is one of the plan's, of the same canonical
 * text; sets each group's variant. False after an error. */
bool plan_check(const Plan *p, Selection *s);
/* A statement's name in plans, stable under edits elsewhere. */
const char *stmt_key(const Graph *g, const Stmt *s);

#endif
