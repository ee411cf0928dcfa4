/* passes.h - a nest's steps in time: passes over cols and phases of a row.
 *
 * Phase -1 is before any pass, phase q after pass q. A step over cols is of the
 * first pass that has the row's values that it needs, a row step of the first
 * phase that has them. */
#ifndef DCC_PASSES_H
#define DCC_PASSES_H

#include "group/group.h"

bool is_col_step(const Step *s);
/* The pass or phase of every step into at[]; returns how many passes. */
int group_passes(const Group *gr, int *at);
/* When step s, of pass or phase `at`, reads, and when it stores its value: a
 * reduction does once its pass is done. Numbers that grow with time. */
int step_reads_at(const Step *s, int at);
int step_stores_at(const Step *s, int at);

#endif
