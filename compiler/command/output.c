#include "command/output.h"
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What keeps a file from being written: errno, or 0. */
static int no_place(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (!strcmp(path, "-"))
        return 0;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? EISDIR : 0;
    if (errno != ENOENT || !slash || slash == path || lstat(path, &st) == 0)
        return errno == ENOENT ? 0 : errno;
    char *folder = arena_need(strndup(path, (size_t)(slash - path) + 1));
    int error = stat(folder, &st) ? errno : 0;
    free(folder);
    return error;
}

int input_check(const char *path)
{
    struct stat st;
    int error = 0;

    if (!path || !strcmp(path, "-"))
        return 0;
    if (stat(path, &st) || access(path, R_OK))
        error = errno;
    else if (S_ISDIR(st.st_mode))
        error = EISDIR;
    if (error)
        say_error("cannot read '%s': %s", path, strerror(error));
    return error != 0;
}

int output_check(const UsedFile *in, int n_in, const UsedFile *out, int n_out)
{
    for (int o = 0; o < n_out; o++) {
        if (!out[o].path)
            continue;
        for (int i = 0; i < n_in; i++)
            if (in[i].path && file_same(in[i].path, out[o].path)) {
                say_error("%s would overwrite '%s', which "
                          "is %s",
                          out[o].what, out[o].path, in[i].what);
                return 2;
            }
        int error = no_place(out[o].path);
        if (error) {
            say_error("cannot write '%s': %s", out[o].path, strerror(error));
            return 3;
        }
        for (int i = 0; i < o; i++)
            if (out[i].path && file_same_out(out[i].path, out[o].path)) {
                say_error("%s and %s would both write "
                          "'%s'",
                          out[i].what, out[o].what, out[o].path);
                return 2;
            }
    }
    return 0;
}

bool output_is_stream(const char *path)
{
    struct stat st;

    if (!strcmp(path, "-"))
        return true;
    if (stat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode))
        return !S_ISDIR(st.st_mode);
    /* /dev/stdout, sent to a file */
    struct stat own, link;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) &&
           fstat(STDOUT_FILENO, &own) == 0 && own.st_dev == st.st_dev &&
           own.st_ino == st.st_ino;
}

/* What was at a path before. */
typedef struct Before {
    Buf text; /* of what is regular */
    bool there, regular;
} Before;

static Before remember(const char *path)
{
    Before b = {.there = access(path, F_OK) == 0};
    struct stat st;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && !output_is_stream(path))
        b.regular = file_read(&b.text, path);
    return b;
}

static void put_back(const Before *b, const char *path)
{
    if (b->regular)
        file_write(buf_text(&b->text), b->text.len, path);
    else if (!b->there)
        unlink(path);
}

static int write_one(const OutFile *f)
{
    if (!f->path || file_write(buf_text(f->text), f->text->len, f->path))
        return 0;
    if (!strcmp(f->path, "-"))
        say_error("cannot write to standard output: %s", file_error());
    else
        say_error("cannot write '%s': %s", f->path, file_error());
    return 3;
}

int output_write(const OutFile *f, int n)
{
    Before *before = arena_need(calloc((size_t)n + 1, sizeof *before));
    int status = 0, done = 0;

    for (int i = 0; i < n; i++) /* all, before anything is written */
        if (f[i].path)
            before[i] = remember(f[i].path);
    while (!status && done < n)
        status = write_one(&f[done++]);
    for (int i = done - 2; status && i >= 0; i--)
        if (f[i].path)
            put_back(&before[i], f[i].path);
    for (int i = 0; i < n; i++)
        buf_free(&before[i].text);
    free(before);
    return status;
}
