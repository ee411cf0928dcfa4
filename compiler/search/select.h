/* select.h - which statements become one kernel, and by which variant.
 *
 * candidates: from one group a statement, every producer-consumer pair is a
 * candidate for fusion at register level (fuse.h), refused with a reason or
 * taken for the time it saves. space and model: each candidate's group is
 * offered to every family; its time is that of the best variant. select: the
 * pair that saves most is fused first, until none saves anything; that is done
 * several times, with other weights and from stretches of statements that save
 * most together (stretch.h), and of each part of the model that no group spans
 * the grouping that takes least is kept. Groups of equal canonical text are
 * costed once. */
#ifndef DCC_SELECT_H
#define DCC_SELECT_H

#include "search/keep.h"
#include "family/family.h"
#include "support/support.h"

/* The best variant of a group and what the runners-up would take. */
typedef struct Choice {
    const Family *family;
    const void *form;       /* the family's, of the first such group */
    const Variant *variant; /* all legal ones of the family */
    int n_variant, best;
    Cost cost;
    const char *why;        /* family NULL: why none can serve it */
    const char *no_chain;   /* no variant: what families of chains say, or NULL
                               where nobody asked them */
    const char *key;        /* canonical text */
    bool planned;           /* a plan's, not the model's */
} Choice;

/* A neighbour that was not fused. */
typedef struct Refusal {
    const Stmt *producer, *consumer;
    const Tensor *tensor;
    const char *why;        /* the rule, or NULL */
    double apart_us, fused_us; /* else the numbers */
    bool again;             /* not computed in every reader instead */
} Refusal;

typedef struct Forced { /* --variant NAME=TEXT */
    const char *name, *text;
    bool used; /* a kernel or its family has the name */
    bool fits; /* and such a variant */
} Forced;

typedef struct Plan Plan;

/* A plan file as it lies there; name NULL: none. */
typedef struct PlanText {
    const char *name, *text;
    size_t len;
} PlanText;

/* What all programs of a model found so far. */
typedef struct Earlier {
    Map *choices; /* by canonical text and group_canon_parts: Choice */
    Map *numbers; /* of equal groups: 1 to n */
    Map *pairs;   /* what came of two groups (pair.h) */
    int n;
} Earlier;
Earlier *earlier_new(Arena *a);

typedef struct Selection {
    Keep keep;            /* of the forward pass, for gradients */
    Graph *graph;
    const Options *options;
    Plan *plan;             /* NULL: the model decides */
    const struct Recipe *recipe; /* how the groups came about (recipe.h) */
    Group **group; int n_group, cap_group; /* in launch order */
    Group **alone; int n_alone; /* by statement id: its own, before any merge */
    Refusal *refusal; int n_refusal, cap_refusal;
    Map *choices;           /* canonical text -> Choice */
    Earlier *earlier;       /* or NULL */
    int evaluated;          /* variants costed */
} Selection;

/* By a plan if there is one (then plan_check comes last). False after a located
 * error. */
bool select_groups(Graph *g, const Options *o, const PlanText *plan,
                   Selection *s);
/* Does --variant name the family? */
bool family_preferred(const Options *o, const Family *f);
/* The choice for a group; group_args is called. Memoised. */
Choice *choose_variant(Selection *s, Group *gr);
/* The same of one family alone, from here on the group's; NULL and *why if that
 * cannot serve it. */
Choice *choose_family(Selection *s, Group *gr, const Family *f,
                      const char **why);
const char *choice_text(const Choice *c, int variant);
/* What that variant of it would cost. */
void choice_cost(const Choice *c, int variant, Cost *cost);

#endif
