#include "buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void reserve(Buf *b, size_t more)
{
    if (b->cap - b->len > more)
        return;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len <= more)
        cap *= 2;
    b->text = realloc(b->text, cap);
    if (!b->text) {
        fputs("dcc: error: out of memory\n", stderr);
        exit(3);
    }
    b->cap = cap;
}

void buf_putn(Buf *b, const char *s, size_t n)
{
    reserve(b, n);
    memcpy(b->text + b->len, s, n);
    b->len += n;
    b->text[b->len] = 0;
}

void buf_puts(Buf *b, const char *s)
{
    buf_putn(b, s, strlen(s));
}

void buf_putc(Buf *b, char c)
{
    buf_putn(b, &c, 1);
}

void buf_vprintf(Buf *b, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    reserve(b, (size_t)n);
    vsnprintf(b->text + b->len, (size_t)n + 1, fmt, again);
    b->len += (size_t)n;
    va_end(again);
}

void buf_printf(Buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

const char *buf_text(const Buf *b)
{
    return b->text ? b->text : "";
}

const char *buf_take(Buf *b, Arena *a)
{
    const char *text = arena_strdup(a, buf_text(b));

    buf_free(b);
    return text;
}

void buf_free(Buf *b)
{
    free(b->text);
    *b = (Buf){0};
}

bool buf_read_file(Buf *b, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char chunk[65536];
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        buf_putn(b, chunk, (size_t)n);
    int error = errno;
    close(fd);
    errno = error;
    return n == 0;
}

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

static bool write_special(const char *text, size_t len, const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool ok = write_all(fd, text, len);
    int error = errno;
    ok = close(fd) == 0 && ok;
    if (error)
        errno = error;
    return ok;
}

bool buf_write_file(const char *text, size_t len, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        if (S_ISDIR(st.st_mode)) {
            errno = EISDIR;
            return false;
        }
        return write_special(text, len, path);
    }
    Buf tmp = {0};
    buf_printf(&tmp, "%s.XXXXXX", path);
    int fd = mkstemp(tmp.text);
    if (fd < 0) {
        int error = errno;
        buf_free(&tmp);
        errno = error;
        return false;
    }
    mode_t mask = umask(0);
    umask(mask);
    bool ok = write_all(fd, text, len) && fchmod(fd, 0666 & ~mask) == 0;
    int error = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(tmp.text, path) != 0) {
        ok = false;
        error = errno;
    }
    if (!ok)
        unlink(tmp.text);
    buf_free(&tmp);
    errno = error;
    return ok;
}
