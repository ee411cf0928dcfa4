/* tune_run.c - rounds: built, run, checked, timed (tune.h).
 *
 * All that works is a child: at most o->jobs compile or check at a time, and
 * one program runs on the GPU. A turn of the loop takes what has ended, lets
 * each round go on as far as it can, and fills the free places. */
#include "command/tune_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { /* seconds of silence that a child may have */
    GPU_COMPILES = 240, CPU_COMPILES = 1800, CHECKS = 300,
    GPU_STARTS = 60, GPU_ANSWERS = 20, CPU_ANSWERS = 1800
};
enum { CHECKS_AT_ONCE = 2 }; /* each has threads, and a trace in memory */

/* ---- jobs */

static const char *log_of(Tune *t, const char *name)
{
    return work_path(&t->build.work, arena_printf(t->arena, "%s.log", name));
}

static void job_start(Tune *t, Job *j, Command c, const char *name,
                      double first, double later)
{
    *j = (Job){.task = {.command = c, .log = log_of(t, name)},
               .heard = now(), .first = first, .later = later,
               .started = true};
    task_start(&t->build.work, &j->task);
    t->moves++;
}

static bool job_runs(const Job *j)
{
    return j->started && !j->task.done;
}

/* Ends it if it has been silent for too long. */
static void job_watch(Tune *t, Job *j)
{
    struct stat st;
    Task *task = &j->task;

    if (!job_runs(j))
        return;
    if (stat(j->task.log, &st) == 0 && st.st_size != j->size) {
        j->size = st.st_size;
        j->heard = now();
    }
    if (now() - j->heard < (j->size ? j->later : j->first))
        return;
    tasks_end(&t->build.work, &task, 1);
    j->hung = true;
}

static bool job_ended(Job *j)
{
    return j->started && j->task.done;
}

static bool job_failed(const Job *j)
{
    return j->hung || j->task.status != 0;
}

static void start_make(Tune *t, Job *j, const char *target)
{
    double limit = t->build.gpu ? GPU_COMPILES : CPU_COMPILES;
    Workdir *w = &t->build.work;
    Command c = {0};

    command_split(w, &c, "env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s");
    if (j == &t->runtime)
        command_add(w, &c, arena_printf(t->arena, "-j%d", t->o->jobs));
    command_add(w, &c, "-C");
    command_add(w, &c, w->dir);
    command_add(w, &c, target);
    job_start(t, j, c, target, limit, limit);
}

static Command with_files(Tune *t, const char *program)
{
    Workdir *w = &t->build.work;
    Command c = {0};

    command_add(w, &c, work_path(w, program));
    command_add(w, &c, "--weights");
    command_add(w, &c, work_path(w, "weights"));
    command_add(w, &c, "--in");
    command_add(w, &c, work_path(w, "in"));
    return c;
}

static void add_pair(Tune *t, Command *c, const char *name, const char *value)
{
    command_add(&t->build.work, c, name);
    command_add(&t->build.work, c, value);
}

static void start_draw(Tune *t)
{
    Workdir *w = &t->build.work;
    Command c = {0};

    command_add(w, &c, work_path(w, "oracle"));
    add_pair(t, &c, "--random",
             arena_printf(t->arena, "%llu",
                          (unsigned long long)t->o->driver->seed));
    add_pair(t, &c, "--save-weights", work_path(w, "weights"));
    add_pair(t, &c, "--save-in", work_path(w, "in"));
    job_start(t, &t->draw, c, "draw", CHECKS, CHECKS);
}

static const char *round_name(Tune *t, const Round *r, const char *what)
{
    return arena_printf(t->arena, "%s%d", what, r->number);
}

/* A program that is silent for longer hangs. */
static void start_program(Tune *t, Round *r, Command c, const char *what)
{
    double said = atof(driver_env("DCC_TUNE_PATIENCE", "0"));
    double later = said > 0 ? said : t->build.gpu ? GPU_ANSWERS : CPU_ANSWERS;

    job_start(t, &r->job, c, round_name(t, r, what),
              later > GPU_STARTS || !t->build.gpu ? later : GPU_STARTS, later);
}

static void start_run(Tune *t, Round *r)
{
    Command c = with_files(t, round_name(t, r, "round"));

    command_add(&t->build.work, &c, "--reach");
    add_pair(t, &c, "--trace",
             work_path(&t->build.work, round_name(t, r, "trace")));
    start_program(t, r, c, "run");
}

static void start_check(Tune *t, Round *r)
{
    Command c = with_files(t, "oracle");

    add_pair(t, &c, "--check",
             work_path(&t->build.work, round_name(t, r, "trace")));
    add_pair(t, &c, "--only", t->only);
    add_pair(t, &c, "--random",
             arena_printf(t->arena, "%llu",
                          (unsigned long long)t->o->driver->seed));
    add_pair(t, &c, "--math", t->o->driver->math);
    job_start(t, &r->job, c, round_name(t, r, "check"), CHECKS, CHECKS);
}

static void start_times(Tune *t, Round *r)
{
    Command c = with_files(t, round_name(t, r, "round"));

    add_pair(t, &c, "--tune", t->build.gpu ? "64" : "1");
    add_pair(t, &c, "--steps", t->timed);
    start_program(t, r, c, "time");
}

/* ---- what a round does next */

static void enter(Tune *t, Round *r, RoundPhase phase)
{
    t->moves++;
    r->phase = phase;
    r->job.started = false;
}

static void lose(Tune *t, Round *r, const char *what)
{
    enter(t, r, ROUND_LOST);
    t->broken = arena_printf(t->arena, "%s: %s", what,
                             t->broken ? t->broken : "a bug in dcc");
    if (!t->build.work.signal)
        tune_say(t, "warning: round %d is lost: %s", r->number, t->broken);
}

/* A pick has failed, here or in another round. */
static bool is_stale(const Tune *t, const Round *r)
{
    for (int i = 0; i < t->n_subject; i++)
        if (r->pick[i] >= 0 &&
            t->subject[i].trial[r->pick[i]].state == TRIAL_FAILED)
            return true;
    return false;
}

/* Other picks in place of those that failed; a round that then shows nothing
 * new is done. */
static void begin_again(Tune *t, Round *r)
{
    tune_picks(t, r);
    enter(t, r, ROUND_NEW);
    if (r->number && !tune_has_new(t, r)) {
        r->passes = TUNE_PASSES;
        enter(t, r, ROUND_RESTS);
    }
}

static void part_ended(Part *p)
{
    if (!job_ended(&p->job) || p->built || p->failed)
        return;
    p->failed = job_failed(&p->job);
    p->built = !p->failed;
}

/* A file of several kernels that does not compile is split to find out which
 * one it is. */
static void part_failed(Tune *t, Round *r, const Part *p)
{
    const char *why = p->job.hung
                          ? arena_printf(t->arena, "not compiled in %.0f s",
                                         p->job.later)
                          : tune_error_line(t, p->job.task.log);

    if (p->subject == HOST_PART) {
        t->broken = why;
        lose(t, r, "the host code does not compile");
    } else if (p->subject == MANY_KERNELS) {
        r->split[p->chunk] = true;
        enter(t, r, ROUND_NEW);
    } else {
        tune_fail(t, r, p->subject,
                  arena_printf(t->arena, "does not compile: %s", why));
        begin_again(t, r);
    }
}

static void after_builds(Tune *t, Round *r)
{
    bool all = true;

    for (int i = 0; i < r->n_part; i++) {
        if (r->part[i]->failed) {
            part_failed(t, r, r->part[i]);
            return;
        }
        all = all && r->part[i]->built;
    }
    if (all)
        enter(t, r, ROUND_LINKS);
}

static void after_link(Tune *t, Round *r)
{
    if (!job_failed(&r->job)) {
        enter(t, r, ROUND_RUNS);
        return;
    }
    t->broken = tune_error_line(t, r->job.task.log);
    lose(t, r, "it does not link");
}

static void after_program(Tune *t, Round *r, bool timing)
{
    if (tune_fault(t, r, r->job.task.log, timing))
        begin_again(t, r);
    else
        lose(t, r, "the program failed");
}

static void after_check(Tune *t, Round *r)
{
    int right = tune_verdict(t, r, r->job.task.log);

    unlink(work_path(&t->build.work, round_name(t, r, "trace")));
    if (right > 0)
        enter(t, r, ROUND_TIMES);
    else if (!right)
        begin_again(t, r);
    else
        lose(t, r, "the oracle failed");
}

static void take_times(Tune *t, Round *r)
{
    tune_samples(t, r, r->job.task.log);
    if (t->measured && !tune_write(t))
        tune_say(t, "warning: cannot write '%s'", t->o->out);
}

static void after_times(Tune *t, Round *r)
{
    take_times(t, r);
    if (job_failed(&r->job)) {
        after_program(t, r, true);
        return;
    }
    r->passes++;
    enter(t, r, ROUND_RESTS);
    if (!t->tty && r->passes == 1)
        tune_say(t, "round %d of %d is timed, %.1f s", r->number + 1,
                 t->n_round, now() - t->begin);
}

static void advance(Tune *t, Round *r)
{
    if (r->phase == ROUND_BUILDS)
        after_builds(t, r);
    job_watch(t, &r->job);
    if (!job_ended(&r->job))
        return;
    switch (r->phase) {
    case ROUND_LINKS: after_link(t, r); break;
    case ROUND_RUNS:
        if (job_failed(&r->job))
            after_program(t, r, false);
        else
            enter(t, r, ROUND_CHECKS);
        break;
    case ROUND_CHECKS: after_check(t, r); break;
    case ROUND_TIMES: after_times(t, r); break;
    default: break;
    }
}

/* The oracle, its data, the runtime's objects: without them nothing goes. */
static void check_common(Tune *t)
{
    static const char *const what[] = {"the oracle does not compile",
                                       "the oracle failed",
                                       "the runtime does not compile"};
    Job *const job[] = {&t->oracle, &t->draw, &t->runtime};

    for (int i = 0; i < 3; i++) {
        job_watch(t, job[i]);
        if (!job_ended(job[i]) || !job_failed(job[i]))
            continue;
        t->broken = arena_printf(t->arena, "%s: %s", what[i],
                                 tune_error_line(t, job[i]->task.log));
        t->stop = true;
    }
}

static bool is_ready(const Job *j)
{
    return j->started && j->task.done && !job_failed(j);
}

/* ---- places */

static int running_builds(const Tune *t)
{
    int n = job_runs(&t->oracle) + job_runs(&t->draw) + job_runs(&t->runtime);

    for (int i = 0; i < t->n_part; i++)
        n += job_runs(&t->part[i]->job);
    for (int i = 0; i < t->n_round; i++)
        n += job_runs(&t->round[i].job) &&
             (t->round[i].phase == ROUND_LINKS ||
              t->round[i].phase == ROUND_CHECKS);
    return n;
}

static int in_phase(const Tune *t, RoundPhase phase, bool only_running)
{
    int n = 0;

    for (int i = 0; i < t->n_round; i++)
        n += t->round[i].phase == phase &&
             (!only_running || job_runs(&t->round[i].job));
    return n;
}

/* The next round for the GPU: one to time, to run, to time again. */
static void use_gpu(Tune *t)
{
    Round *next[3] = {NULL};

    for (int i = t->n_round - 1; i >= 0; i--) {
        Round *r = &t->round[i];
        if (r->phase == ROUND_RUNS || r->phase == ROUND_TIMES) {
            if (job_runs(&r->job))
                return;
            next[r->phase == ROUND_RUNS] = r;
        }
        if (r->phase == ROUND_RESTS && r->passes < TUNE_PASSES &&
            tune_worth(t, r) && (!next[2] || r->passes <= next[2]->passes))
            next[2] = r;
    }
    if (!is_ready(&t->draw))
        return;
    for (int i = 0; i < 3; i++) {
        Round *r = next[i];
        if (!r || r->job.started)
            continue;
        if (is_stale(t, r)) {
            begin_again(t, r);
        } else if (r->phase == ROUND_RUNS) {
            if (in_phase(t, ROUND_CHECKS, false) > CHECKS_AT_ONCE)
                continue;
            start_run(t, r);
        } else {
            enter(t, r, ROUND_TIMES);
            start_times(t, r);
        }
        return;
    }
}

static void start_parts(Tune *t, const Round *r, int *places)
{
    for (int i = 0; i < r->n_part && *places > 0; i++) {
        Part *p = r->part[i];
        if (p->job.started)
            continue;
        start_make(t, &p->job, arena_printf(t->arena, "%s.o", p->name));
        --*places;
    }
}

/* Makes at most one round's text; true if there is place for another. */
static bool use_cpus(Tune *t)
{
    int places = t->o->jobs - running_builds(t);

    for (int i = 0; i < t->n_round && places > 0; i++) {
        Round *r = &t->round[i];
        if (r->phase == ROUND_CHECKS && !r->job.started &&
            in_phase(t, ROUND_CHECKS, true) < CHECKS_AT_ONCE) {
            start_check(t, r);
            places--;
        }
        if (r->phase == ROUND_LINKS && !r->job.started &&
            is_ready(&t->runtime)) {
            start_make(t, &r->job, round_name(t, r, "round"));
            places--;
        }
    }
    for (int i = 0; i < t->n_round && places > 0; i++) {
        Round *r = &t->round[i];
        bool made = r->phase == ROUND_NEW;
        if (made) {
            enter(t, r, ROUND_BUILDS);
            if (!tune_emit(t, r))
                lose(t, r, "its text cannot be made");
        }
        if (r->phase == ROUND_BUILDS)
            start_parts(t, r, &places);
        if (made)
            return places > 0;
    }
    return false;
}

static void use_common(Tune *t)
{
    if (!t->round[0].n_part) /* no Makefile yet */
        return;
    if (!t->oracle.started)
        start_make(t, &t->oracle, "oracle");
    if (!t->runtime.started)
        start_make(t, &t->runtime, "runtime.a");
    if (!t->draw.started && is_ready(&t->oracle))
        start_draw(t);
}

/* ---- the loop */

static int running(Tune *t, Task ***out)
{
    Task **all = arena_array(t->arena, Task *, t->n_part + t->n_round + 3);
    Job *common[] = {&t->oracle, &t->draw, &t->runtime};
    int n = 0;

    for (int i = 0; i < 3; i++)
        if (job_runs(common[i]))
            all[n++] = &common[i]->task;
    for (int i = 0; i < t->n_part; i++)
        if (job_runs(&t->part[i]->job))
            all[n++] = &t->part[i]->job.task;
    for (int i = 0; i < t->n_round; i++)
        if (job_runs(&t->round[i].job))
            all[n++] = &t->round[i].job.task;
    *out = all;
    return n;
}

static bool time_is_up(const Tune *t)
{
    return t->build.work.signal || t->stop || now() >= t->until;
}

/* Ends what runs; what a program had timed until then counts. */
static void end_all(Tune *t)
{
    Task **task;
    int n = running(t, &task);

    tasks_end(&t->build.work, task, n);
    for (int i = 0; i < t->n_round; i++)
        if (t->round[i].phase == ROUND_TIMES && t->round[i].job.started)
            tune_samples(t, &t->round[i], t->round[i].job.task.log);
}

void tune_rounds(Tune *t)
{
    while (!time_is_up(t)) {
        Task **task;
        int before = t->moves;
        check_common(t);
        for (int i = 0; i < t->n_part; i++) {
            job_watch(t, &t->part[i]->job);
            part_ended(t->part[i]);
        }
        for (int i = 0; i < t->n_round; i++)
            advance(t, &t->round[i]);
        if (time_is_up(t))
            break;
        use_gpu(t);
        bool more = use_cpus(t);
        use_common(t);
        int n = running(t, &task);
        if (!n && t->moves == before)
            break;
        tune_progress(t);
        tasks_wait(&t->build.work, task, n, more ? now() : t->until);
    }
    end_all(t);
    tune_progress_end(t);
}
