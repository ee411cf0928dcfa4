/* touches.h - what a launch stores and reads, parts of tensors and what they
 * lie in counted. */
#ifndef DCC_TOUCHES_H
#define DCC_TOUCHES_H

#include "compiler/group/group.h"

/* t, what lies in it, or all of what it lies in. */
static inline bool stores_of(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_arg; i++) {
        bool whole = gr->arg[i]->span == group_rows(gr);
        if (group_stores(gr, gr->arg[i]) &&
            (tensor_lies_in(gr->arg[i], t) ||
             (whole && tensor_lies_in(t, gr->arg[i]))))
            return true;
    }
    return false;
}

/* t, what lies in it, or what it lies in. */
static inline bool reads_of(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (group_reads(gr, gr->arg[i]) && (tensor_lies_in(gr->arg[i], t) ||
                                            tensor_lies_in(t, gr->arg[i])))
            return true;
    return false;
}

#endif
