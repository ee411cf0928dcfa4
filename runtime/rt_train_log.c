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

/* How many bytes of the file are whole lines of steps up to `step`; *ours is
 * whether it begins as such a file, or is empty. */
static long rt_kept(FILE *file, int64_t step, int *ours)
{
    char *line = NULL;
    size_t room = 0;
    long kept = 0;

    *ours = 1;
    for (int first = 1; getline(&line, &room, file) >= 0; first = 0) {
        long long of;
        int whole = sscanf(line, "{\"step\":%lld,", &of) == 1;

        if (first)
            *ours = whole;
        if (!whole || of > step || !strchr(line, '\n'))
            break;
        kept = ftell(file);
    }
    free(line);
    return kept;
}

/* The paths beside the state's. */
static dcc_status rt_log_name(RtLog *l, const char *save)
{
    if (!rt_beside(l->path, save, ".jsonl") ||
        !rt_beside(l->plot, save, ".svg"))
        return dcc_fail(DCC_ERR_ARG, "%s: too long a path", save);
    if (strcmp(l->path, save) == 0 || strcmp(l->plot, save) == 0)
        return dcc_fail(DCC_ERR_ARG,
                        "--save %s: lines go to %s and a picture to %s: the "
                        "state wants another ending", save, l->path, l->plot);
    if (!rt_plot_may_go(l->plot))
        return dcc_fail(DCC_ERR_ARG, "%s is there already, and is no picture "
                        "of dcc train: remove it, or another --save", l->plot);
    return DCC_OK;
}

dcc_status rt_log_open(RtLog *l, const RtTrainOptions *o, int64_t step)
{
    struct stat info;
    long kept;
    int fd, ours;
    dcc_status status;

    memset(l, 0, sizeof *l);
    status = rt_log_name(l, o->save);
    if (status != DCC_OK)
        return status;
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
    kept = rt_kept(l->file, step, &ours);
    if (!ours)
        return dcc_fail(DCC_ERR_ARG, "%s is there already, and has no lines of "
                        "dcc train: remove it, or another --save", l->path);
    if (ftruncate(fd, step ? kept : 0) != 0 ||
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
