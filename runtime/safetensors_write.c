/* safetensors_write.c - dcc_st_write of safetensors.h: all of a file or
 * nothing of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors.h"

/* Growing text; `failed` when memory ran out. */
typedef struct {
    char *text;
    size_t length, capacity;
    int failed;
    int durable; /* the file is to be on the disk */
} StText;

static void st_put(StText *o, const char *bytes, size_t n)
{
    if (o->failed)
        return;
    if (o->length + n + 1 > o->capacity) {
        size_t capacity = 2 * (o->length + n) + 256;
        char *grown = (char *)realloc(o->text, capacity);

        if (!grown) {
            o->failed = 1;
            return;
        }
        o->text = grown;
        o->capacity = capacity;
    }
    memcpy(o->text + o->length, bytes, n);
    o->length += n;
    o->text[o->length] = 0;
}

static void st_puts(StText *o, const char *text)
{
    st_put(o, text, strlen(text));
}

static void st_put_number(StText *o, unsigned long long value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", value);
    st_puts(o, text);
}

/* A JSON string. What is no UTF-8 would make the file unreadable; names come
 * from sources that were checked, so bytes pass as they are. */
static void st_put_string(StText *o, const char *s)
{
    st_puts(o, "\"");
    for (; *s; s++) {
        char text[8];

        if (*s == '"' || *s == '\\') {
            text[0] = '\\';
            text[1] = *s;
            st_put(o, text, 2);
        } else if ((unsigned char)*s < 0x20) {
            snprintf(text, sizeof text, "\\u%04x", *s);
            st_puts(o, text);
        } else {
            st_put(o, s, 1);
        }
    }
    st_puts(o, "\"");
}

static size_t st_element_size(dcc_st_dtype dtype)
{
    switch (dtype) {
    case DCC_ST_BOOL:
    case DCC_ST_U8:
    case DCC_ST_I8:
        return 1;
    case DCC_ST_I16:
    case DCC_ST_U16:
    case DCC_ST_F16:
    case DCC_ST_BF16:
        return 2;
    case DCC_ST_I32:
    case DCC_ST_U32:
    case DCC_ST_F32:
        return 4;
    case DCC_ST_I64:
    case DCC_ST_U64:
    case DCC_ST_F64:
        return 8;
    default:
        return 0;
    }
}

static size_t st_bytes(const dcc_st_out *t)
{
    size_t n = st_element_size(t->dtype);

    for (int d = 0; d < t->rank; d++)
        n *= (size_t)t->dim[d];
    return n;
}

static void st_put_entry(StText *o, const dcc_st_out *t, size_t begin)
{
    st_put_string(o, t->name);
    st_puts(o, ":{\"dtype\":\"");
    st_puts(o, dcc_st_dtype_name(t->dtype));
    st_puts(o, "\",\"shape\":[");
    for (int d = 0; d < t->rank; d++) {
        if (d)
            st_puts(o, ",");
        st_put_number(o, (unsigned long long)t->dim[d]);
    }
    st_puts(o, "],\"data_offsets\":[");
    st_put_number(o, begin);
    st_puts(o, ",");
    st_put_number(o, begin + st_bytes(t));
    st_puts(o, "]}");
}

static void st_put_metadata(StText *o, const char *const *pairs, int n)
{
    st_puts(o, "\"__metadata__\":{");
    for (int i = 0; i < n; i++) {
        if (i)
            st_puts(o, ",");
        st_put_string(o, pairs[2 * i]);
        st_puts(o, ":");
        st_put_string(o, pairs[2 * i + 1]);
    }
    st_puts(o, "}");
}

/* Wide elements come first, so that all data is aligned. */
static const size_t st_widths[] = {8, 4, 2, 1};

static void st_put_header(StText *o, const dcc_st_out *tensors, int n,
                          const char *const *metadata, int n_metadata)
{
    size_t at = 0;
    int first = 1;

    st_puts(o, "{");
    if (n_metadata) {
        st_put_metadata(o, metadata, n_metadata);
        first = 0;
    }
    for (int w = 0; w < 4; w++) {
        for (int i = 0; i < n; i++) {
            if (st_element_size(tensors[i].dtype) != st_widths[w])
                continue;
            if (!first)
                st_puts(o, ",");
            first = 0;
            st_put_entry(o, &tensors[i], at);
            at += st_bytes(&tensors[i]);
        }
    }
    st_puts(o, "}");
    while (!o->failed && o->length % 8)
        st_puts(o, " ");
}

/* While a file has no name of its own yet, signals wait: one that ended the
 * process would leave it behind. */
static void st_hold_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, before);
}

/* Whether one waits that will end the process: then nothing more is written. */
static int st_ends(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction act;
    sigset_t waiting;

    if (sigpending(&waiting) != 0)
        return 0;
    for (int i = 0; i < 4; i++)
        if (sigismember(&waiting, ending[i]) == 1 &&
            sigaction(ending[i], NULL, &act) == 0 && act.sa_handler == SIG_DFL)
            return 1;
    return 0;
}

/* 0, or the errno of what failed. */
static int st_write_bytes(int fd, const void *bytes, size_t n)
{
    const size_t piece = (size_t)16 << 20;
    const char *at = (const char *)bytes;

    while (n > 0) {
        ssize_t wrote = write(fd, at, n < piece ? n : piece);

        if (wrote >= 0 && st_ends())
            return EINTR;
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return errno;
        at += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

/* The whole file; without tensors (NULL) it is the text alone. */
static int st_write_all(int fd, const StText *header,
                        const dcc_st_out *tensors, int n)
{
    unsigned char size[8];
    int error = 0;

    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)header->length >> 8 * i);
    if (tensors)
        error = st_write_bytes(fd, size, 8);
    if (!error)
        error = st_write_bytes(fd, header->text, header->length);
    for (int w = 0; w < 4; w++)
        for (int i = 0; !error && i < n; i++)
            if (st_element_size(tensors[i].dtype) == st_widths[w])
                error = st_write_bytes(fd, tensors[i].data,
                                       st_bytes(&tensors[i]));
    return error;
}

/* Opens a new file beside `target`, with the permissions of the old one
 * (NULL: there is none) or of any new file. */
static int st_open_temporary(const char *target, const struct stat *old,
                             char *name, size_t size)
{
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, size, "%s.%ld.%d.tmp", target, (long)getpid(),
                         i);
        if (n < 0 || (size_t)n >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && old && fchmod(fd, old->st_mode & 0777) != 0) {
            int error = errno;

            close(fd);
            unlink(name);
            errno = error;
            return -1;
        }
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* 0, or the errno of what failed. Where files cannot be synced they are as
 * safe as they get. */
static int st_sync(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

/* So that the new name is on the disk, too. */
static void st_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[4200] = ".";
    int fd;

    if (slash)
        snprintf(folder, sizeof folder, "%.*s",
                 slash == path ? 1 : (int)(slash - path), path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* Writes the file in place of `target`; 0 or an errno. */
static int st_replace_held(const char *target, const struct stat *old,
                           const StText *header, const dcc_st_out *tensors,
                           int n)
{
    char temporary[4200];
    int fd, error;

    if (old && access(target, W_OK) != 0)
        return errno;
    fd = st_open_temporary(target, old, temporary, sizeof temporary);
    if (fd < 0)
        return errno;
    error = st_write_all(fd, header, tensors, n);
    if (!error && header->durable)
        error = st_sync(fd);
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && rename(temporary, target) != 0)
        error = errno;
    if (error)
        unlink(temporary);
    else if (header->durable)
        st_sync_folder(target);
    return error;
}

static int st_replace(const char *target, const struct stat *old,
                      const StText *header, const dcc_st_out *tensors, int n)
{
    sigset_t before;
    int error;

    st_hold_signals(&before);
    error = st_replace_held(target, old, header, tensors, n);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Into what is there: a device, a pipe. */
static int st_write_into(const char *path, const StText *header,
                         const dcc_st_out *tensors, int n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
    int error;

    if (fd < 0)
        return errno;
    error = st_write_all(fd, header, tensors, n);
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

/* The descriptor that a link as /dev/stdout stands for, or -1: opened again
 * it would begin at the file's start. */
static int st_descriptor(const struct stat *info)
{
    struct stat own;

    for (int fd = 1; fd <= 2; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == info->st_dev &&
            own.st_ino == info->st_ino)
            return fd;
    return -1;
}

/* Where a link leads, there or not; to is of 4096 bytes. 0 or an errno. */
static int st_follow(char *to, const char *path)
{
    char next[4096];
    struct stat info;

    if (strlen(path) >= 4096)
        return ENAMETOOLONG;
    strcpy(to, path);
    for (int i = 0; i < 40; i++) {
        size_t folder = 0;
        ssize_t n;

        if (lstat(to, &info) != 0 || !S_ISLNK(info.st_mode))
            return 0;
        n = readlink(to, next, sizeof next - 1);
        if (n < 0)
            return errno;
        next[n] = 0;
        if (*next != '/' && strrchr(to, '/'))
            folder = (size_t)(strrchr(to, '/') + 1 - to);
        if (folder + (size_t)n >= 4096)
            return ENAMETOOLONG;
        memcpy(to + folder, next, (size_t)n + 1);
    }
    return ELOOP;
}

/* A link stays a link, and only a regular file is ever replaced. */
static int st_write_file(const char *path, const StText *header,
                         const dcc_st_out *tensors, int n)
{
    struct stat info, end;
    char target[4096];
    int error;

    if (strcmp(path, "-") == 0)
        return st_write_all(1, header, tensors, n);
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? st_replace(path, NULL, header, tensors, n)
                               : errno;
    if (S_ISREG(info.st_mode))
        return st_replace(path, &info, header, tensors, n);
    if (!S_ISLNK(info.st_mode))
        return st_write_into(path, header, tensors, n);
    error = st_follow(target, path);
    if (stat(path, &info) != 0)
        return error ? error
                     : st_replace(target, NULL, header, tensors, n);
    if (st_descriptor(&info) >= 0)
        return st_write_all(st_descriptor(&info), header, tensors, n);
    if (!error && lstat(target, &end) == 0 && S_ISREG(end.st_mode) &&
        end.st_dev == info.st_dev && end.st_ino == info.st_ino)
        return st_replace(target, &end, header, tensors, n);
    return st_write_into(path, header, tensors, n);
}

static dcc_status st_check_out(const char *path, const dcc_st_out *tensors,
                               int n)
{
    for (int i = 0; i < n; i++) {
        if (st_element_size(tensors[i].dtype) == 0)
            return dcc_fail(DCC_ERR_ARG, "%s: cannot write %s", path,
                            dcc_st_dtype_name(tensors[i].dtype));
        for (int k = 0; k < i; k++)
            if (strcmp(tensors[i].name, tensors[k].name) == 0)
                return dcc_fail(DCC_ERR_ARG,
                                "%s: two tensors are called \"%.200s\"", path,
                                tensors[i].name);
    }
    return DCC_OK;
}

static dcc_status st_written(const char *path, int error)
{
    if (error)
        return dcc_fail(DCC_ERR_IO, "%s: cannot write: %s", path,
                        strerror(error));
    return DCC_OK;
}

static dcc_status st_write_tensors(const char *path, const dcc_st_out *tensors,
                                   int n, const char *const *metadata,
                                   int n_metadata, int durable)
{
    const dcc_st_out nothing = {NULL, DCC_ST_BOOL, 0, NULL, NULL};
    StText header = {NULL, 0, 0, 0, durable};
    dcc_status status = st_check_out(path, tensors, n);
    int error;

    if (status != DCC_OK)
        return status;
    st_put_header(&header, tensors, n, metadata, n_metadata);
    if (header.failed) {
        free(header.text);
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", path);
    }
    error = st_write_file(path, &header, n ? tensors : &nothing, n);
    free(header.text);
    return st_written(path, error);
}

dcc_status dcc_st_write(const char *path, const dcc_st_out *tensors, int n,
                        const char *const *metadata, int n_metadata)
{
    return st_write_tensors(path, tensors, n, metadata, n_metadata, 0);
}

dcc_status dcc_st_write_durable(const char *path, const dcc_st_out *tensors,
                                int n, const char *const *metadata,
                                int n_metadata)
{
    return st_write_tensors(path, tensors, n, metadata, n_metadata, 1);
}

dcc_status dcc_write_text(const char *path, const char *text)
{
    StText all = {NULL, 0, 0, 0, 0};
    int error;

    st_puts(&all, text);
    if (all.failed)
        return dcc_fail(DCC_ERR_MEMORY, "%s: out of memory", path);
    error = st_write_file(path, &all, NULL, 0);
    free(all.text);
    return st_written(path, error);
}
