#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40, MAX_NAME = 4096 }; /* as Linux has them */

static bool is_standard(const char *path)
{
    return !strcmp(path, "-");
}

const char *file_error(void)
{
    if (errno == EOVERFLOW)
        return "it does not end within 64 MB";
    return strerror(errno);
}

/* ---- reading */

static bool read_all(Buf *b, int fd)
{
    const size_t limit = (size_t)FILE_LIMIT_MB << 20;
    char chunk[65536];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        buf_putn(b, chunk, (size_t)n);
        if (b->len > limit) {
            errno = EOVERFLOW;
            return false;
        }
    }
}

bool file_read(Buf *b, const char *path)
{
    if (is_standard(path))
        return read_all(b, STDIN_FILENO);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    bool ok = read_all(b, fd);
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

/* ---- writing */

static bool write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Into what is there; a regular file then ends where the text does. */
static bool write_into(const char *text, size_t len, const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_TRUNC);

    if (fd < 0)
        return false;
    bool ok = write_all(fd, text, len);
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    errno = error;
    return ok;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A signal between the making of the temporary file and its new name would
 * leave it behind. */
static void hold_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, before);
}

/* A new file beside `path`, as `like` or as any new file. Its name is asked no
 * memory for: files that belong together are written one after the other, and
 * nothing may end dcc amid them. */
static int open_beside(char name[MAX_NAME], const char *path,
                       const struct stat *like)
{
    if (snprintf(name, MAX_NAME, "%s.XXXXXX", path) >= MAX_NAME) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -1;
    mode_t mask = umask(0), mode = like ? like->st_mode & 0777 : 0666 & ~mask;
    umask(mask);
    struct stat made;
    bool ok = fstat(fd, &made) == 0;
    if (ok && like &&
        (made.st_uid != like->st_uid || made.st_gid != like->st_gid))
        ok = fchown(fd, like->st_uid, like->st_gid) == 0;
    if (ok && fchmod(fd, mode) == 0)
        return fd;
    int error = errno;
    close(fd);
    unlink(name);
    errno = error;
    return -1;
}

/* `like` is what is at path, or NULL. *beside says whether the folder took a
 * new file at all. */
static bool replace(const char *text, size_t len, const char *path,
                    const struct stat *like, bool *beside)
{
    char name[MAX_NAME];
    int fd = open_beside(name, path, like);
    int error = errno;

    *beside = fd >= 0;
    bool ok = fd >= 0 && write_all(fd, text, len);
    if (fd >= 0) {
        error = errno;
        if (close(fd) != 0 && ok) {
            ok = false;
            error = errno;
        }
        if (ok && rename(name, path) != 0) {
            ok = false;
            error = errno;
        }
        if (!ok)
            unlink(name);
    }
    errno = error;
    return ok;
}

static bool holds(const char *path, const char *text, size_t len)
{
    Buf old = {0};
    bool same = file_read(&old, path) && old.len == len &&
                !memcmp(buf_text(&old), text, len);

    buf_free(&old);
    return same;
}

/* A regular file, not through a link. */
static bool write_regular(const char *text, size_t len, const char *path,
                          const struct stat *st)
{
    sigset_t before;
    bool beside;

    if (access(path, W_OK) != 0)
        return false;
    if ((size_t)st->st_size == len && holds(path, text, len))
        return true;
    hold_signals(&before);
    bool ok = replace(text, len, path, st, &beside);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    if (ok || beside || (error != EACCES && error != EPERM && error != EROFS))
        return ok;
    return write_into(text, len, path);
}

static bool write_new(const char *text, size_t len, const char *path)
{
    sigset_t before;
    bool beside;

    hold_signals(&before);
    bool ok = replace(text, len, path, NULL, &beside);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return ok;
}

/* Where a link that is at path leads, a step at a time, whether that is there
 * or not; false with errno. */
static bool follow(Buf *to, const char *path)
{
    char next[MAX_NAME];
    struct stat st;

    buf_puts(to, path);
    for (int i = 0; i < MAX_LINKS; i++) {
        if (lstat(buf_text(to), &st) != 0 || !S_ISLNK(st.st_mode))
            return true;
        ssize_t n = readlink(buf_text(to), next, sizeof next);
        if (n <= 0 || n == sizeof next) {
            errno = n < 0 ? errno : ENAMETOOLONG;
            return false;
        }
        const char *slash = strrchr(buf_text(to), '/');
        to->len = *next == '/' || !slash ? 0 : (size_t)(slash + 1 - to->text);
        buf_putn(to, next, (size_t)n);
    }
    errno = ELOOP;
    return false;
}

/* The descriptor that a link as /dev/stdout stands for: opening the file
 * again would begin at its start, over what others wrote there. */
static int descriptor_of(const struct stat *st)
{
    struct stat own;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &own) == 0 && same_file(&own, st))
            return fd;
    return -1;
}

static bool write_link(const char *text, size_t len, const char *path)
{
    struct stat st, end;
    bool there = stat(path, &st) == 0;
    int fd = there ? descriptor_of(&st) : -1;
    Buf to = {0};

    if (fd >= 0)
        return write_all(fd, text, len);
    bool ok = follow(&to, path);
    if (ok && !there)
        ok = write_new(text, len, buf_text(&to));
    else if (ok && lstat(buf_text(&to), &end) == 0 && same_file(&st, &end) &&
             S_ISREG(end.st_mode))
        ok = write_regular(text, len, buf_text(&to), &end);
    else if (ok)
        ok = write_into(text, len, path);
    int error = errno;
    buf_free(&to);
    errno = error;
    return ok;
}

bool file_write(const char *text, size_t len, const char *path)
{
    struct stat st;

    if (is_standard(path))
        return write_all(STDOUT_FILENO, text, len);
    if (lstat(path, &st) != 0)
        return errno == ENOENT && write_new(text, len, path);
    if (S_ISLNK(st.st_mode))
        return write_link(text, len, path);
    if (S_ISREG(st.st_mode))
        return write_regular(text, len, path, &st);
    return write_into(text, len, path);
}

/* ---- which file a name is of */

/* The folder and the last name of what is not there yet. */
static bool future_place(const char *path, struct stat *folder, Buf *name)
{
    Buf to = {0};
    bool ok = follow(&to, path);
    const char *slash = ok ? strrchr(buf_text(&to), '/') : NULL;

    if (ok) {
        buf_puts(name, slash ? slash + 1 : buf_text(&to));
        if (slash)
            to.text[slash + 1 - to.text] = 0;
        ok = stat(slash ? to.text : ".", folder) == 0;
    }
    buf_free(&to);
    return ok;
}

static bool same_future(const char *a, const char *b)
{
    struct stat folder_a, folder_b;
    Buf name_a = {0}, name_b = {0};
    bool same = future_place(a, &folder_a, &name_a) &&
                future_place(b, &folder_b, &name_b) &&
                same_file(&folder_a, &folder_b) &&
                !strcmp(buf_text(&name_a), buf_text(&name_b));

    buf_free(&name_a);
    buf_free(&name_b);
    return same;
}

static bool same(const char *a, int fd_a, const char *b, int fd_b)
{
    struct stat sa, sb;
    bool is_a = (is_standard(a) ? fstat(fd_a, &sa) : stat(a, &sa)) == 0;
    bool is_b = (is_standard(b) ? fstat(fd_b, &sb) : stat(b, &sb)) == 0;

    if (is_a && is_b)
        return same_file(&sa, &sb) && S_ISREG(sa.st_mode);
    return !is_a && !is_b && !is_standard(a) && !is_standard(b) &&
           same_future(a, b);
}

bool file_same(const char *in, const char *out)
{
    return same(in, STDIN_FILENO, out, STDOUT_FILENO);
}

bool file_same_out(const char *a, const char *b)
{
    return same(a, STDOUT_FILENO, b, STDOUT_FILENO) ||
           (is_standard(a) && is_standard(b));
}
