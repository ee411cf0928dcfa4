/* rt_stream.c - what dcc_main is told to read and write that is no file of
 * its own (rt_main.h): `-`, pipes, devices, and an output that is an input.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dcc_rt.h"
#include "rt_main.h"
#include "safetensors.h"

/* The reference implementation's limit. */
enum { RT_MAX_HEADER = 100000000 };

/* ---- inputs that cannot be mapped ---- */

/* An open file without a name, or -1. */
static int rt_nameless(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/dcc.XXXXXX",
                     folder && *folder ? folder : "/tmp");
    sigset_t all, before;
    int fd;

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return fd;
}

/* Bytes from one to the other, at most n; how many, or -1. */
static long long rt_copy(int from, int to, long long n)
{
    char chunk[65536];
    long long done = 0;

    while (done < n) {
        size_t want = n - done < (long long)sizeof chunk ? (size_t)(n - done)
                                                         : sizeof chunk;
        ssize_t got = read(from, chunk, want), put = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : done;
        for (ssize_t at = 0; at < got; at += put) {
            put = write(to, chunk + at, (size_t)(got - at));
            if (put < 0)
                return -1;
        }
        done += got;
    }
    return done;
}

/* Where the last tensor ends, by a header's text; the reader checks all. */
static long long rt_data_end(const char *header)
{
    static const char key[] = "\"data_offsets\"";
    long long most = 0;

    for (const char *p = header; (p = strstr(p, key)) != NULL;) {
        long long begin, end;

        p += sizeof key - 1;
        if (sscanf(p, " : [ %lld , %lld", &begin, &end) == 2 && end > most)
            most = end;
    }
    return most;
}

static dcc_status rt_broken(const char *name, const char *what)
{
    return dcc_fail(DCC_ERR_IO, "%s: %s: %s", name, what, strerror(errno));
}

static dcc_status rt_not_one(const char *name)
{
    return dcc_fail(DCC_ERR_FORMAT, "%s: not a safetensors file", name);
}

/* The length of header and tensors of what was copied so far, its first
 * eight bytes. */
static dcc_status rt_copy_header(int from, int to, const char *name,
                                 long long *length)
{
    unsigned char size[8] = {0};
    unsigned long long header = 0;
    char *text;
    int ok;

    if (rt_copy(from, to, 8) != 8 || pread(to, size, 8, 0) != 8)
        return rt_not_one(name);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | size[i];
    if (header < 2 || header > RT_MAX_HEADER)
        return rt_not_one(name);
    text = (char *)calloc((size_t)header + 1, 1);
    if (!text)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", name);
    ok = rt_copy(from, to, (long long)header) == (long long)header &&
         pread(to, text, (size_t)header, 8) == (ssize_t)header;
    *length = rt_data_end(text);
    free(text);
    return ok ? DCC_OK : rt_not_one(name);
}

/* A copy that can be mapped, of as much as the header says and no more. */
static dcc_status rt_spool(int from, const char *name, int *to)
{
    long long length = 0, got;
    char more;
    dcc_status status;

    *to = rt_nameless();
    if (*to < 0)
        return rt_broken(name, "no temporary file");
    status = rt_copy_header(from, *to, name, &length);
    if (status != DCC_OK)
        return status;
    got = rt_copy(from, *to, length);
    if (got < 0)
        return rt_broken(name, "copying");
    if (got == length && read(from, &more, 1) > 0)
        return dcc_fail(DCC_ERR_FORMAT,
                        "%s: goes on after the last tensor that its header "
                        "names",
                        name);
    return DCC_OK;
}

/* *path, if it is `-` or no regular file, becomes the path of a copy. */
static dcc_status rt_settle(RtOptions *o, const char **path)
{
    RtAlias *alias = &o->alias[o->n_alias];
    struct stat info;
    dcc_status status;
    int standard = *path && strcmp(*path, "-") == 0, from, to = -1;

    if (!*path ||
        (!standard && (stat(*path, &info) != 0 || S_ISREG(info.st_mode) ||
                       S_ISDIR(info.st_mode))))
        return DCC_OK; /* what cannot be opened is the reader's to say */
    alias->name = standard ? "standard input" : *path;
    from = standard ? 0 : open(*path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return rt_broken(alias->name, "cannot be read");
    status = rt_spool(from, alias->name, &to);
    if (!standard)
        close(from);
    if (status != DCC_OK)
        return status;
    snprintf(alias->path, sizeof alias->path, "/proc/self/fd/%d", to);
    *path = alias->path;
    o->n_alias++;
    return DCC_OK;
}

dcc_status rt_settle_inputs(RtOptions *o)
{
    dcc_status status = rt_settle(o, &o->weights);

    for (int i = 0; i < o->n_in && status == DCC_OK; i++)
        status = rt_settle(o, &o->in[i]);
    return status;
}

const char *rt_input_name(const RtOptions *o, const char *path)
{
    for (int i = 0; i < o->n_alias; i++)
        if (strcmp(o->alias[i].path, path) == 0)
            return o->alias[i].name;
    return path;
}

void rt_print_error(const RtOptions *o, const char *message)
{
    for (int i = 0; i < o->n_alias; i++) {
        size_t n = strlen(o->alias[i].path);

        if (strncmp(message, o->alias[i].path, n) == 0 && message[n] == ':') {
            fprintf(stderr, "%s: error: %s%s\n", o->program, o->alias[i].name,
                    message + n);
            return;
        }
    }
    fprintf(stderr, "%s: error: %s\n", o->program, message);
}

/* ---- outputs ---- */

static int rt_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int rt_is_read(const RtOptions *o, const struct stat *out)
{
    struct stat in;

    for (int i = -1; i < o->n_in; i++) {
        const char *path = i < 0 ? o->weights : o->in[i];

        if (path &&
            (strcmp(path, "-") == 0 ? fstat(0, &in) : stat(path, &in)) == 0 &&
            rt_same(&in, out))
            return 1;
    }
    return 0;
}

int rt_check_outputs(RtOptions *o)
{
    const char *const path[] = {o->out, o->json, o->trace, o->save};
    static const char *const name[] = {"--out", "--json", "--trace", "--save"};
    struct stat info, own;

    for (int i = 0; i < 4; i++) {
        int standard = path[i] && strcmp(path[i], "-") == 0;

        if (!path[i] || (standard ? fstat(1, &info) : stat(path[i], &info)))
            continue;
        if (standard || (fstat(1, &own) == 0 && rt_same(&own, &info)))
            o->say_stderr = 1;
        if (S_ISREG(info.st_mode) && rt_is_read(o, &info)) {
            fprintf(stderr,
                    "%s: error: %s would overwrite '%s', which is "
                    "an input\n",
                    o->program, name[i], path[i]);
            return 0;
        }
    }
    return 1;
}
