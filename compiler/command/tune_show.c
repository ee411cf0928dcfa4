/* tune_show.c - what the user sees of the tuning. */
#include "command/tune_priv.h"

#include <math.h>
#include <stdio.h>

/* ---- on the way, on stderr */

static void wipe(Tune *t)
{
    if (t->shown)
        fprintf(stderr, "\r%*s\r", t->shown, "");
    t->shown = 0;
}

void tune_say(Tune *t, const char *fmt, ...)
{
    va_list ap;

    wipe(t);
    fputs("dcc: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* What is done of a round, and what there is to do, in seconds or so. */
static double round_done(const Round *r)
{
    static const double done[] = {[ROUND_NEW] = 0,    [ROUND_BUILDS] = 1,
                                  [ROUND_LINKS] = 6,  [ROUND_RUNS] = 7,
                                  [ROUND_CHECKS] = 9, [ROUND_TIMES] = 11,
                                  [ROUND_RESTS] = 14, [ROUND_LOST] = 14};
    double built = 0;

    for (int i = 0; i < r->n_part; i++)
        built += r->part[i]->built;
    if (r->phase == ROUND_BUILDS && r->n_part)
        return 1 + 5 * built / r->n_part;
    return done[r->phase];
}

void tune_progress(Tune *t)
{
    double done = 0, spent = now() - t->begin, left;
    int checked = 0, timed = 0, bar;
    char text[200];

    if (!t->tty)
        return;
    for (int i = 0; i < t->n_round; i++) {
        done += round_done(&t->round[i]) / (14.0 * t->n_round);
        checked += t->round[i].phase >= ROUND_TIMES;
        timed += t->round[i].passes > 0;
    }
    left = done > 0.02 ? spent * (1 - done) / done : INFINITY;
    left = fmin(left, t->until - now());
    bar = (int)(done * 20);
    int n = snprintf(text, sizeof text, "[%.*s%*s] %3.0f%%  %d rounds: %d "
                     "checked, %d timed", bar, "====================",
                     20 - bar, "", 100 * done, t->n_round, checked, timed);
    if (left >= 0 && left < 1e6)
        n += snprintf(text + n, sizeof text - (size_t)n, "; %d:%02d left",
                      (int)left / 60, (int)left % 60);
    wipe(t);
    fputs(text, stderr);
    t->shown = n;
}

void tune_progress_end(Tune *t)
{
    wipe(t);
}

/* ---- at the end, on stdout */

static void put_line(const Subject *s)
{
    const Trial *best = &s->trial[tune_best(s)];
    double first = tune_median(&s->trial[0]), us = tune_median(best);

    printf("  %-52s %3d x", s->kernel->name, s->kernel->n_instance);
    if (first > 0)
        printf(" %9.2f", first);
    else
        printf(" %9s", "-");
    if (us > 0)
        printf(" -> %9.2f us", us);
    else
        printf(" -> %9s   ", "-");
    printf("  %s, %s\n", best->family->name, best->variant);
}

void tune_report(Tune *t)
{
    double before = 0, after = 0;
    int timed = 0, failed = 0;

    for (int i = 0; i < t->n_subject; i++) {
        const Subject *s = &t->subject[i];
        double first = tune_median(&s->trial[0]);
        double us = tune_median(&s->trial[tune_best(s)]);
        if (s->kernel->group->when == WHEN_LOAD)
            continue;
        put_line(s);
        before += s->kernel->n_instance * (first > 0 ? first : us);
        after += s->kernel->n_instance * us;
        for (int k = 0; k < s->n_trial; k++) {
            timed += s->trial[k].n_sample > 0;
            failed += s->trial[k].state == TRIAL_FAILED;
        }
    }
    printf("%s: %d variants measured, %d failed, in %.1f s; the kernels of a "
           "run %.2f us -> %.2f us%s\n",
           t->o->model, timed, failed, now() - t->begin, before, after,
           t->build.gpu ? "" : ", emulated on the CPU: that says nothing "
                               "about a GPU");
}
