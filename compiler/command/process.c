#include "command/process.h"
#include "support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void held_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGPIPE);
    sigaddset(set, SIGCHLD);
}

/* The folder, or NULL with errno. */
static const char *open_folder(Arena *a, const char *folder, char *fresh)
{
    struct stat st;

    if (!folder)
        return mkdtemp(fresh);
    if (mkdir(folder, 0777) == 0)
        return arena_strdup(a, folder);
    if (errno != EEXIST || stat(folder, &st) != 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return arena_strdup(a, folder);
    errno = ENOTDIR;
    return NULL;
}

bool work_open(Workdir *w, Arena *a, const char *folder)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(a, "%s/dcc.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    sigset_t held;

    *w = (Workdir){.arena = a, .given = folder};
    held_signals(&held);
    sigprocmask(SIG_BLOCK, &held, &w->before);
    w->dir = open_folder(a, folder, dir);
    char *real = w->dir ? realpath(w->dir, NULL) : NULL;
    if (real) {
        w->dir = arena_strdup(a, real);
        free(real);
        return true;
    }
    if (folder)
        say_error("no folder '%s': %s", folder, strerror(errno));
    else
        say_error("no folder in '%s'%s: %s", tmp && *tmp ? tmp : "/tmp",
                  tmp && *tmp ? " (TMPDIR)" : "", strerror(errno));
    sigprocmask(SIG_SETMASK, &w->before, NULL);
    return false;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

void work_remove(const char *folder)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* What the handler of a signal removes: no more than it may call. */
static struct {
    char *folder;
    char *file[2 * MOST_IMPORTS];
    int n;
} fleeting;

static void remove_fleeting(int signal_number)
{
    for (int i = 0; i < fleeting.n; i++)
        unlink(fleeting.file[i]);
    rmdir(fleeting.folder);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

char *work_fleeting(char *pattern)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    sigset_t held, before;
    struct sigaction act = {.sa_handler = remove_fleeting}, old;

    held_signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    fleeting.folder = arena_need(malloc(strlen(pattern) + 1));
    char *folder = mkdtemp(pattern);
    int error = errno;
    strcpy(fleeting.folder, pattern);
    for (int i = 0; folder && i < 5; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &act, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return folder;
}

bool work_fleets(const char *path)
{
    if (fleeting.n == 2 * MOST_IMPORTS)
        return false;
    fleeting.file[fleeting.n++] = arena_need(strdup(path));
    return true;
}

void work_close(Workdir *w)
{
    work_remove(w->dir);
    work_keep(w);
}

void work_keep(Workdir *w)
{
    if (w->signal)
        raise(w->signal);
    sigprocmask(SIG_SETMASK, &w->before, NULL);
}

const char *work_path(const Workdir *w, const char *name)
{
    return arena_printf(w->arena, "%s/%s", w->dir, name);
}

bool work_file(const Workdir *w, const char *name, const char *text, size_t len)
{
    const char *path = work_path(w, name);

    if (file_write(text, len, path))
        return true;
    say_error("'%s': %s", path, strerror(errno));
    return false;
}

void command_add(Workdir *w, Command *c, const char *arg)
{
    VEC_PUSH(w->arena, c->arg, c->n, c->cap) = arg;
}

void command_words(Workdir *w, Command *c, const char *text)
{
    if (strpbrk(text, " \t\n") && have_program(w->arena, text))
        command_add(w, c, text);
    else
        command_split(w, c, text);
}

void command_split(Workdir *w, Command *c, const char *args)
{
    while (args && *(args += strspn(args, " \t\n"))) {
        size_t n = strcspn(args, " \t\n");
        command_add(w, c, arena_strndup(w->arena, args, n));
        args += n;
    }
}

bool have_command(Workdir *w, const char *text)
{
    Command c = {0};

    command_words(w, &c, text);
    return c.n && have_program(w->arena, c.arg[0]);
}

static void child(const Workdir *w, const char *program, char **argv,
                  const char *log)
{
    if (log) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
            _exit(NOT_STARTED);
    }
    if (w->groups || log)
        setpgid(0, 0);
    /* what a child that is killed leaves goes away too */
    if (!w->given)
        setenv("TMPDIR", w->dir, 1);
    sigprocmask(SIG_SETMASK, &w->before, NULL);
    execvp(program, argv);
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    _exit(NOT_STARTED);
}

pid_t work_start(Workdir *w, const Command *c, const char *log)
{
    char **argv = arena_array(w->arena, char *, c->n + 1);

    for (int i = 0; i < c->n; i++)
        argv[i] = arena_strdup(w->arena, i || !c->name ? c->arg[i] : c->name);
    if (w->signal)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        child(w, c->arg[0], argv, log);
    if (pid > 0 && (w->groups || log))
        setpgid(pid, pid); /* whoever is first */
    return pid;
}

/* With what it started, if it leads a group. */
static void end_child(pid_t pid)
{
    if (kill(-pid, SIGTERM) != 0)
        kill(pid, SIGTERM);
}

/* "dcc: building, 4 s", on a terminal and from the first second on; 0 seconds
 * wipes it. */
static void show_progress(const Workdir *w, double seconds)
{
    enum { COLUMNS = 60 };

    if (!w->doing || !isatty(2))
        return;
    fprintf(stderr, "\r%*s\r", COLUMNS, "");
    if (seconds >= 1)
        fprintf(stderr, "dcc: %.40s, %.0f s", w->doing, seconds);
}

int work_wait(Workdir *w, pid_t pid)
{
    double begin = now();
    sigset_t held;
    int status;

    if (pid < 0)
        return w->signal ? INTERRUPTED : NOT_STARTED;
    held_signals(&held);
    if (w->signal)
        end_child(pid);
    for (;;) {
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid)
            break;
        if (done < 0 && errno != EINTR)
            return NOT_STARTED;
        struct timespec wait = {1, 0};
        int got = sigtimedwait(&held, NULL, &wait);
        show_progress(w, now() - begin);
        if (got > 0 && got != SIGCHLD) {
            w->signal = got;
            end_child(pid);
        }
    }
    show_progress(w, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int work_run(Workdir *w, const Command *c, const char *log)
{
    return work_wait(w, work_start(w, c, log));
}

/* ---- several at a time */

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void task_start(Workdir *w, Task *t)
{
    t->child = work_start(w, &t->command, t->log);
    t->done = t->child < 0;
    t->status = NOT_STARTED;
}

static bool task_runs(const Task *t)
{
    return t->child > 0 && !t->done;
}

static int reap(Task *const *t, int n)
{
    int running = 0, status;

    for (int i = 0; i < n; i++) {
        if (!task_runs(t[i]))
            continue;
        pid_t done = waitpid(t[i]->child, &status, WNOHANG);
        if (done == 0 || (done < 0 && errno == EINTR)) {
            running++;
            continue;
        }
        t[i]->done = true;
        if (done > 0)
            t[i]->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                               : WEXITSTATUS(status);
    }
    return running;
}

int tasks_wait(Workdir *w, Task *const *t, int n, double until)
{
    int before = 0, running;
    sigset_t held;
    double left = until - now();

    for (int i = 0; i < n; i++)
        before += task_runs(t[i]);
    running = reap(t, n);
    if (!running || running < before || w->signal || left <= 0)
        return running;
    held_signals(&held);
    left = left < 0.2 ? left : 0.2;
    struct timespec wait = {0, (long)(left * 1e9)};
    int got = sigtimedwait(&held, NULL, &wait);
    if (got > 0 && got != SIGCHLD)
        w->signal = got;
    return reap(t, n);
}

static void signal_all(const Workdir *w, Task *const *t, int n, int sig)
{
    for (int i = 0; i < n; i++)
        if (task_runs(t[i]))
            kill(w->groups ? -t[i]->child : t[i]->child, sig);
}

/* SIGTERM once: a second one would end what a script's trap does. */
void tasks_end(Workdir *w, Task *const *t, int n)
{
    double begin = now();

    signal_all(w, t, n, SIGTERM);
    while (reap(t, n)) {
        usleep(20000);
        if (now() - begin > 2)
            signal_all(w, t, n, SIGKILL);
    }
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

bool have_program(Arena *a, const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return is_program(name);
    while (path && *path) {
        int n = (int)strcspn(path, ":");
        if (is_program(arena_printf(a, "%.*s/%s", n, path, name)))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}
