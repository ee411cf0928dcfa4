/* lower.h - from the tree to the graph: elaborating a model.
 *
 * Evaluates what is known at compile time, writes out calls, loops and
 * choices, and makes tensors and statements as graph.h describes them. Every
 * error of shapes, types, ranges, ranks and bounds is found here. */
#ifndef DCC_LOWER_H
#define DCC_LOWER_H

#include "graph/graph.h"

struct Program;

/* -D NAME=VALUE: replaces the initialiser of a model's `dim` or `type`. */
typedef struct Define {
    const char *name, *value;
} Define;

/* The graph of the model of that name (NULL: the program's first), from a
 * program that dsl_check has accepted. Errors are reported to d, several a
 * run; NULL after any. A define that the model does not have is ignored: ask
 * lower_defines. */
Graph *lower_model(Arena *a, Diag *d, const struct Program *p,
                   const char *model, const Define *def, int n_def);

/* The same, and where no gradient is asked for those of the sum of all outputs,
 * each element times a number, by every input and parameter of floats; for
 * `dcc verify --gradients`. */
Graph *lower_model_gradients(Arena *a, Diag *d, const struct Program *p,
                             const char *model, const Define *def, int n_def);

/* Whether the model has a `dim B in {..}`. */
bool lower_has_set(const struct Program *p, const char *model);

/* The names that -D may give of a model, or of all (NULL). */
int lower_defines(Arena *a, const struct Program *p, const char *model,
                  const char ***name);

#endif
