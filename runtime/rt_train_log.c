/* rt_train_log.c - a line of JSON for each step of dcc train (rt_train.h).
 *
 * The lines up to a step are written before the state of that step is saved;
 * what is behind them belongs to steps that are done again.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt_train.h"

/* "out.safetensors" and ".svg" are "out.svg" */
static int rt_beside(char *to, const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    size_t n = dot && dot > path ? (size_t)(dot - path) : strlen(path);

    return snprintf(to, RT_PATH, "%.*s%s", (int)n, path, ending) < RT_PATH;
}

static dcc_status rt_log_error(const RtLog *l, const char *doing)
{
    return dcc_fail(DCC_ERR_IO, "%s: cannot %s: %s", l->path, doing,
                    strerror(errno));
}

/* How many bytes of the file are whole lines of steps up to `step`. */
static long rt_kept(FILE *file, int64_t step)
{
    char line[4096];
    long kept = 0;

    while (fgets(line, sizeof line, file)) {
        long long of;

        if (sscanf(line, "{\"step\":%lld,", &of) != 1 || of > step ||
            !strchr(line, '\n'))
            break;
        kept = ftell(file);
    }
    return kept;
}

dcc_status rt_log_open(RtLog *l, const RtTrainOptions *o, int64_t step)
{
    struct stat info;
    int fd;

    memset(l, 0, sizeof *l);
    if (!rt_beside(l->path, o->save, ".jsonl") ||
        !rt_beside(l->plot, o->save, ".svg"))
        return dcc_fail(DCC_ERR_ARG, "%s: too long a path", o->save);
    fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return rt_log_error(l, "write");
    if (fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) {
        close(fd);
        return dcc_fail(DCC_ERR_IO, "%s: no regular file", l->path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return dcc_fail(DCC_ERR_IO, "%s: another dcc train writes it",
                        l->path);
    }
    l->file = fdopen(fd, "r+");
    if (!l->file) {
        close(fd);
        return rt_log_error(l, "open");
    }
    if (ftruncate(fd, step ? rt_kept(l->file, step) : 0) != 0 ||
        fseek(l->file, 0, SEEK_END) != 0)
        return rt_log_error(l, "write");
    return DCC_OK;
}

/* JSON has no word for what is not finite. */
void rt_log_number(RtLog *l, const char *name, double value)
{
    if (isfinite(value))
        fprintf(l->file, ",\"%s\":%.9g", name, value);
    else
        fprintf(l->file, ",\"%s\":null", name);
}

dcc_status rt_log_flush(RtLog *l)
{
    return fflush(l->file) == 0 && !ferror(l->file) ? DCC_OK
                                                    : rt_log_error(l, "write");
}

void rt_log_close(RtLog *l)
{
    if (l->file)
        fclose(l->file);
    l->file = NULL;
}
