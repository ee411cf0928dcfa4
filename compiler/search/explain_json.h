/* explain_json.h - what --explain says, as JSON, for programs and the report.
 *
 * One object a model; share/explain.schema.json has every member with its
 * unit. */
#ifndef DCC_EXPLAIN_JSON_H
#define DCC_EXPLAIN_JSON_H

#include "emit/emit.h"
#include "search/select.h"

/* times: microseconds of each launch of a run, measured, or NULL; with_text:
 * the kernels' CUDA and the lines of source too. */
typedef struct ExplainMore {
    const double *times;
    int n_times;
    bool with_text;
    int n_run;              /* set: launches that a run has */
} ExplainMore;

void explain_json(Buf *b, const Selection *s, const CudaProgram *p,
                  ExplainMore *more);

#endif
