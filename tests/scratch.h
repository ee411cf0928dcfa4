/* scratch.h - a private folder for what a test builds and runs: nothing that
 * is executed has a name that another run, or another user, could have. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

/* Its path in dir, of `size` bytes; under $TMPDIR, else /tmp. */
static inline void scratch_make(char *dir, size_t size, const char *name)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(dir, size, "%s/dcc-%s.XXXXXX", tmp && *tmp ? tmp : "/tmp",
                     name);

    cr_assert(n > 0 && (size_t)n < size && mkdtemp(dir), "no folder '%s'", dir);
}

static inline int scratch_remove_one(const char *path, const struct stat *st,
                                     int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void scratch_remove(const char *dir)
{
    nftw(dir, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
