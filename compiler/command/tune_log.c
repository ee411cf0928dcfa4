/* tune_log.c - what the children of a round wrote, and whose fault it is. */
#include "command/tune_priv.h"
#include "support/support.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHY_COLUMNS = 200 };

/* ---- text */

/* A line without the folder's name, which says nothing to a reader. */
static const char *tidy_line(Tune *t, const char *line, size_t n)
{
    const char *dir = arena_printf(t->arena, "%s/", t->build.work.dir);
    char *text = arena_strndup(t->arena, line,
                               n < WHY_COLUMNS ? n : WHY_COLUMNS);

    for (char *at; (at = strstr(text, dir));)
        memmove(at, at + strlen(dir), strlen(at + strlen(dir)) + 1);
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    return text;
}

/* The first line that speaks of an error, else the last of all. */
const char *tune_error_line(Tune *t, const char *log)
{
    Buf text = {0};
    const char *found = NULL, *why = "it says nothing";
    size_t len = 0;
    bool error = false;

    if (file_read(&text, log))
        for (const char *p = buf_text(&text); *p && !error; p++) {
            size_t n = strcspn(p, "\n");
            const char *line = arena_strndup(t->arena, p, n);
            bool own = !strncmp(line, "make:", 5); /* make's own last word */
            error = !own && (strstr(line, "error") || strstr(line, "fatal"));
            if (n && (!own || !found)) {
                found = p;
                len = n;
            }
            p += n;
            if (!*p)
                break;
        }
    if (found)
        why = tidy_line(t, found, len);
    buf_free(&text);
    return why;
}

/* ---- failures */

void tune_fail(Tune *t, Round *r, int subject, const char *why)
{
    Trial *trial = &t->subject[subject].trial[r->pick[subject]];

    trial->state = TRIAL_FAILED;
    trial->why = why;
    tune_say(t, "warning: %s by %s, %s: %s", t->subject[subject].kernel->name,
             trial->family->name, trial->variant, why);
}

/* Results lines "WORD N ..." of a log: the last N. False: there is none. */
static bool last_line(const char *log, const char *word, int *last)
{
    Buf text = {0};
    bool any = false;

    if (file_read(&text, log))
        for (const char *p = buf_text(&text); *p; p += *p == '\n') {
            size_t n = strlen(word);
            if (!strncmp(p, word, n) && p[n] == ' ') {
                *last = atoi(p + n);
                any = true;
            }
            p += strcspn(p, "\n");
        }
    buf_free(&text);
    return any;
}

static const char *fault_text(Tune *t, const Round *r, const char *log)
{
    int status = r->job.task.status;

    if (r->job.hung)
        return arena_printf(t->arena, "no answer in %.0f s", r->job.later);
    if (status > 128)
        return arena_printf(t->arena, "ended by signal %d", status - 128);
    return tune_error_line(t, log);
}

bool tune_fault(Tune *t, Round *r, const char *log, bool timing)
{
    const char *why = fault_text(t, r, log);
    int step = -1;

    if (last_line(log, "ran", &step)) {
        if (timing) {
            step = -1;
            last_line(log, "step", &step);
        }
        do
            step++;
        while (timing && step < t->n_step && !t->step[step].timed);
        if (step < t->n_step) {
            tune_fail(t, r, t->step[step].subject, why);
            return true;
        }
    }
    t->broken = why;
    return false;
}

/* ---- the oracle */

/* Which of those that may have made a wrong result: whoever made it, unless
 * that one was right before and another was not. */
static void blame_wrong(Tune *t, Round *r, int step, const char *why)
{
    const TuneStep *s = &t->step[step];
    const char *text = arena_printf(t->arena, "wrong: %s", why);
    bool any = false;

    for (int i = 0; i < t->n_subject; i++) {
        const Trial *trial = &t->subject[i].trial[r->pick[i]];
        if (!s->blame[i] || trial->state == TRIAL_RIGHT)
            continue;
        tune_fail(t, r, i, text);
        any = true;
    }
    if (!any)
        tune_fail(t, r, s->subject, text);
}

int tune_verdict(Tune *t, Round *r, const char *log)
{
    Buf text = {0};
    const char *why = NULL;
    int wrong = t->n_step, right = 0, wanted = 0;

    for (const char *p = t->only; *p; p++)
        wanted += *p == 't';
    if (file_read(&text, log))
        for (const char *p = buf_text(&text); *p; p += *p == '\n') {
            int id, used = 0;
            size_t n = strcspn(p, "\n");
            if (sscanf(p, "t%d right %n", &id, &used) == 1 && used) {
                right++;
            } else if (sscanf(p, "t%d WRONG %n", &id, &used) == 1 && used &&
                       id >= 0 && id < t->program->graph->n_tensor &&
                       t->step_of[id] >= 0 && t->step_of[id] < wrong) {
                wrong = t->step_of[id];
                why = tidy_line(t, p + used, n - (size_t)used);
            }
            p += n;
        }
    buf_free(&text);
    if (why) {
        blame_wrong(t, r, wrong, why);
        return 0;
    }
    if (right != wanted) {
        t->broken = tune_error_line(t, log);
        return -1;
    }
    for (int i = 0; i < t->n_subject; i++)
        if (t->subject[i].checked &&
            t->subject[i].trial[r->pick[i]].state == TRIAL_NEW)
            t->subject[i].trial[r->pick[i]].state = TRIAL_RIGHT;
    return 1;
}

/* ---- times */

void tune_samples(Tune *t, Round *r, const char *log)
{
    Buf text = {0};

    if (file_read(&text, log))
        for (const char *p = buf_text(&text); *p; p += *p == '\n') {
            int step;
            float us;
            if (sscanf(p, "step %d %f", &step, &us) == 2 && step >= 0 &&
                step < t->n_step && us > 0) {
                int s = t->step[step].subject;
                Trial *trial = &t->subject[s].trial[r->pick[s]];
                if (trial->state == TRIAL_RIGHT &&
                    trial->n_sample < TUNE_SAMPLES)
                    trial->sample[trial->n_sample++] = us;
                t->measured |= trial->n_sample > 0;
            }
            p += strcspn(p, "\n");
        }
    buf_free(&text);
}
