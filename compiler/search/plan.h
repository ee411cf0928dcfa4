/* plan.h - plan files: the grouping and the variants, as text.
 *
 *     dcc plan 3                         (this, and `model`, once a model)
 *     model mlp target h200 math exact
 *     merge g*h~1 h>h~1
 *     group h,h~1,*g : contract_mma/1 0123456789abcdef bm=128 ... # 3.1 us
 *
 * The model's line ends with `layouts SEED` where --random-plan drew those.
 * First how the groups come about (recipe.h), then one line a group, in the
 * order of launches: its statements by path and number (those behind a * are
 * computed in every reader), the family and its version, the hash of its
 * canonical text, and the variant. Behind the # stand the predicted and the
 * measured time, which change nothing. A compilation with its own plan gives
 * the text that it gives without one. Read all or nothing: an unknown
 * statement, a changed group or an illegal variant is an error. */
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
/* NULL after an error. The file is of one model or of several. A plan for
 * another GPU or another --math is an error. */
Plan *plan_read(Graph *g, const Options *o, const PlanText *text);
/* The seed of the random layouts that its part about the model was made for;
 * 0: those that are chosen, or there is no such part. */
uint64_t plan_layouts(const PlanText *text, const char *model);
/* Makes groups of single statements' ones by the plan's merges; then what the
 * plan has placed, when nothing is there that nobody reads. False after an
 * error. */
bool plan_merge(Plan *p, Units *u);
bool plan_place(const Plan *p, Units *u);
/* Is all stored that others read, or that outlives a run? False after an
 * error. */
bool plan_whole(const Plan *p, const Units *u);
/* They will be launched in the plan's order. */
void plan_order(const Plan *p, Units *u);
/* After selection: every group is one of the plan's, of the same canonical
 * text; sets each group's variant. False after an error. */
bool plan_check(const Plan *p, Selection *s);
/* A statement's name in plans, stable under edits elsewhere. */
const char *stmt_key(const Graph *g, const Stmt *s);

#endif
