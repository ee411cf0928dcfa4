#include "command/report.h"

#include "support/support.h"

#include <stdio.h>
#include <string.h>

extern const char report_page_text[]; /* report.html */
extern const size_t report_page_len;

static const char DATA[] = "@DATA@"; /* where the JSON goes */

int report_times(Arena *a, const char *path, ExplainMore *more)
{
    Buf text = {0};
    int cap = 0, n = 0;
    double *times = NULL;

    if (!file_read(&text, path)) {
        say_error("cannot read '%s': %s", path, file_error());
        return 1;
    }
    for (const char *line = buf_text(&text); line; line = strchr(line, '\n')) {
        int step;
        double us;

        line += *line == '\n';
        if (sscanf(line, "step %d %lf us", &step, &us) != 2)
            continue;
        bool is_time = us >= 0 && us < 1e15; /* no NaN */
        if (step != n || !is_time) {
            if (step != n)
                say_error("%s: step %d where step %d is to follow", path, step,
                          n);
            else
                say_error("%s: step %d has no time", path, step);
            buf_free(&text);
            return 1;
        }
        VEC_PUSH(a, times, n, cap) = us;
    }
    buf_free(&text);
    more->times = times;
    more->n_times = n;
    if (!n)
        say_error("%s: no step times; dcc bench --profile prints them", path);
    return n ? 0 : 1;
}

int report_fits(const char *path, const ExplainMore *more)
{
    if (!more->n_times || more->n_times == more->n_run)
        return 0;
    say_error("%s: %d steps; a run of this model has %d", path, more->n_times,
              more->n_run);
    return 1;
}

void report_page(Buf *page, const Buf *json)
{
    const char *at = strstr(report_page_text, DATA);

    buf_putn(page, report_page_text, (size_t)(at - report_page_text));
    buf_puts(page, buf_text(json));
    buf_puts(page, at + strlen(DATA));
}
