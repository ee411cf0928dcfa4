/* stretch.h - what several units save together, by dynamic programming.
 *
 * Who merges two at a time stops where no two save anything, though three
 * might. Here the units stand in an order in which they may run, and are cut
 * into stretches of neighbours, each of which is one kernel:
 *
 *     least(j) = min over i < j of least(i) + time(i .. j)
 *
 * No kernel waits for itself then: a way from a stretch back into it would
 * pass what stands between. A branch and what joins it lie in one stretch, so
 * that parts in series and parts side by side are tried alike. Of equal
 * stretches, as equal layers have them, one is tried: time grows with the
 * number of distinct ones. */
#ifndef DCC_STRETCH_H
#define DCC_STRETCH_H

#include "search/units.h"

/* Cuts so that the units' times are least, where a stretch takes less than
 * `share` of what they take apart; true if that changed anything. */
bool stretches_place(Units *u, double share);

/* The cut itself: n things in a row, of which i .. j as one take
 * us_of(i, j, ctx), infinite if they cannot be one, and j - i < `longest`. Into
 * from[j], for each stretch's last one, its first; the least total. */
double stretches_cut(int n, int longest,
                     double (*us_of)(int i, int j, void *ctx), void *ctx,
                     int *from);

#endif
