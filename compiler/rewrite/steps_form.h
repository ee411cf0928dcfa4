/* steps_form.h - statements of one form, which differ in what they read of one
 * another's kind: the steps of a loop. */
#ifndef DCC_STEPS_FORM_H
#define DCC_STEPS_FORM_H

#include "graph/graph.h"

enum { STEPS_VARS = 24 }; /* of a statement, at most */

typedef enum { SAME, SLICES, PARTS } How;

typedef struct Varied {
    How how;
    int dim; /* SLICES: of the one tensor, at `from` */
    int64_t from;
    Tensor *t;       /* PARTS */
    const Var *only; /* there is none but where this is `at`; or NULL */
    int64_t at;
} Varied;

/* b's variables as a's, where both have one form, into map[]. */
bool step_map(Graph *g, const Stmt *a, const Stmt *b, Subst *map);
/* Products of one form: how b's two factors differ from a's. */
bool step_match(Graph *g, const Stmt *a, const Stmt *b, Varied *v);
/* The one value of one of s's points where a guard may hold. */
bool step_only(const Stmt *s, Guard in, const Var **v, int64_t *at);
bool step_zero_outside(const Expr *read);

#endif
