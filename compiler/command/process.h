/* process.h - child programs and a folder that goes away.
 *
 * While a Workdir is open, interrupting signals are held back: they end the
 * child, and work_close removes the folder and then lets the signal act. */
#ifndef DCC_PROCESS_H
#define DCC_PROCESS_H

#include "support/support.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct Workdir {
    Arena *arena;
    const char *dir;  /* made under $TMPDIR, else /tmp, and its children's
                         $TMPDIR; or given */
    bool given;
    sigset_t before;  /* the mask that children get */
    int signal;       /* that came, or 0; then nothing more is started */
    const char *doing; /* what a terminal is told while work_wait waits, or
                          NULL */
    bool groups;      /* all children lead process groups */
} Workdir;

/* In `folder`, made if it is not there, or in a new one if that is NULL.
 * False, with a message on stderr, if it cannot be made. */
bool work_open(Workdir *w, Arena *a, const char *folder);
void work_close(Workdir *w);
/* A folder and all in it. */
void work_remove(const char *folder);
/* The same, but the folder stays. */
void work_keep(Workdir *w);
/* Before there is a Workdir: a folder by mkdtemp's pattern, which a signal that
 * ends dcc removes with the files in it that work_fleets was told of, false if
 * they are too many. NULL: errno says why there is none. */
enum { MOST_IMPORTS = 16 };
char *work_fleeting(char *pattern);
bool work_fleets(const char *path);

/* A path in the folder. */
const char *work_path(const Workdir *w, const char *name);
/* Writes a file there; false with a message. */
bool work_file(const Workdir *w, const char *name, const char *text,
               size_t len);

/* A command line being put together. */
typedef struct Command {
    const char **arg; int n, cap;
    const char *name; /* that the program is told it has; NULL: arg[0] */
} Command;
void command_add(Workdir *w, Command *c, const char *arg);
void command_split(Workdir *w, Command *c, const char *args); /* at blanks */
/* A program as CC and CXX name it: its path, which may hold blanks, or words,
 * as "ccache g++". */
void command_words(Workdir *w, Command *c, const char *text);
/* Whether that program is there. */
bool have_command(Workdir *w, const char *text);

/* Starts a program found along $PATH; stdout and stderr go to `log` (a path;
 * the child then leads a process group), or where dcc's own go if NULL. -1 if
 * it cannot be started or a signal came. */
pid_t work_start(Workdir *w, const Command *c, const char *log);
enum { NOT_STARTED = 127, INTERRUPTED = 128 };
/* Waits for it: its exit status, 128 + N if signal N ended it. */
int work_wait(Workdir *w, pid_t child);
int work_run(Workdir *w, const Command *c, const char *log);
/* Several at a time. `done` is set when it has ended, with its status. */
typedef struct Task {
    Command command;
    const char *log;
    pid_t child;      /* 0: not started, -1: could not be */
    bool done;
    int status;
} Task;

double now(void);     /* seconds, of a clock that never jumps */
void task_start(Workdir *w, Task *t);
/* Waits until one of those that run ends, a signal comes, or `until`, at most
 * a fifth of a second; how many still run. */
int tasks_wait(Workdir *w, Task *const *t, int n, double until);
/* Ends those that run, with what they started. */
void tasks_end(Workdir *w, Task *const *t, int n);
/* Whether $PATH has a program of that name, or the path is one. */
bool have_program(Arena *a, const char *name);

#endif
