/* report.h - `dcc report`: the decisions of --explain=json as a page.
 *
 * The page is one file that needs nothing else: command/report.html, with the
 * JSON in it, which its script draws. */
#ifndef DCC_REPORT_H
#define DCC_REPORT_H

#include "search/search.h"

/* Step times of the table that `dcc bench --profile` prints, from a file. An
 * exit status, after a message where it is not 0. */
int report_times(Arena *a, const char *path, ExplainMore *more);

/* Whether they are of the model that was explained: else 1, after a message. */
int report_fits(const char *path, const ExplainMore *more);

void report_page(Buf *page, const Buf *json);

#endif
