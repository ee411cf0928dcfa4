/* adjoint.h - gradients of a number, as statements.
 *
 * The backward pass of a loss is written from the graph as lowered, where each
 * statement is pointwise or one bare reduction. A tensor's cotangent is the sum
 * of what its readers give: for a statement s that reads t at `at`, under the
 * condition G and with the derivative g,
 *
 *     t'[u] = sum over all points P of s with at(P) = u and G(P) of
 *             s'[store(P)] * g(P)
 *
 * which invert.h turns into sums that run over what u does not determine. All
 * of it are statements like any others: no addition in place, no order that
 * depends on a run. Cotangents have their tensor's type, those asked for are
 * f32. All gradients of one loss share one backward pass, which holds what was
 * asked for and no more. */
#ifndef DCC_ADJOINT_H
#define DCC_ADJOINT_H

#include "graph/graph.h"

typedef struct Adjoint Adjoint;

/* `loss` has rank 0; what its gradients are made of is in g by now. */
Adjoint *adjoint_new(Graph *g, Tensor *loss);
const Tensor *adjoint_loss(const Adjoint *a);

/* d loss / d w, f32 and of w's shape; statements are appended. NULL if the loss
 * does not depend on w, or after an error. `at` is where it is asked for, and
 * `call` the user's line of it. */
Tensor *adjoint(Adjoint *a, Tensor *w, Span at, Span call);

#endif
