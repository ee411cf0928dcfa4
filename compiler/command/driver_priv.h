/* driver_priv.h - what driver.c does that tune*.c needs too. */
#ifndef DCC_DRIVER_PRIV_H
#define DCC_DRIVER_PRIV_H

#include "command/driver.h"
#include "command/process.h"

enum { WRONG = 1, MACHINE = 3, DEFECT = 70 };

typedef struct Build {
    const Driver *o;
    Workdir work;
    const char *runtime; /* folder */
    bool gpu;
    bool keep;           /* the folder stays: a bug in dcc to look at */
} Build;

const char *driver_env(const char *name, const char *otherwise);
const char *driver_nvcc(Build *b);
/* Asks the GPU's driver, if there is one. */
bool driver_have_gpu(void);
/* Opens the folder, decides where to run, writes the texts that there are.
 * False after a message. */
bool driver_open(Build *b, const Driver *o);
void driver_close(Build *b); /* removes it, unless it is kept */
/* The runtime's files of some patterns (NULL-terminated). */
void driver_sources(Build *b, Command *c, const char *const *pattern);
const char *driver_ref_flags(void);
/* Starts to build NAME from NAME.cu. */
pid_t driver_start(Build *b, const char *name);
/* A program's option, if it has a value. */
void driver_option(Build *b, Command *c, const char *name, const char *value);
void driver_number(Build *b, Command *c, const char *name, uint64_t value);
/* Waits for a build of NAME.cu whose log is NAME.log: 0, or an exit status
 * after saying why not. */
int driver_built(Build *b, const char *name, pid_t child);
/* A program's exit status as dcc's. */
int driver_verdict(Build *b, int status);

#endif
