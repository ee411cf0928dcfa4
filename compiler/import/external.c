#include "import/external.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *map_fd(Arena *a, int fd, Mapping *m)
{
    struct stat st;

    if (fstat(fd, &st))
        return arena_strdup(a, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return "it is no regular file";
    m->len = (size_t)st.st_size;
    m->data = NULL;
    if (!m->len)
        return NULL;
    void *p = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return arena_strdup(a, strerror(errno));
    m->data = p;
    return NULL;
}

/* Standard input, as a file that can be mapped: what is a pipe is copied into
 * one. -1 and errno if it cannot be. */
static int standard_input(void)
{
    struct stat st;
    char block[65536];
    ssize_t n;

    if (fstat(STDIN_FILENO, &st))
        return -1;
    if (S_ISREG(st.st_mode))
        return dup(STDIN_FILENO);
    int fd = memfd_create("model", MFD_CLOEXEC);
    while (fd >= 0 && (n = read(STDIN_FILENO, block, sizeof block)) != 0)
        if (n < 0 || write(fd, block, (size_t)n) != n) {
            close(fd);
            return -1;
        }
    return fd;
}

const char *map_file(Arena *a, const char *path, bool follow, Mapping *m)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
    int fd = follow && !strcmp(path, "-") ? standard_input()
                                          : open(path, flags);

    if (fd < 0)
        return errno == ELOOP && !follow ? "it is a link"
                                         : arena_strdup(a, strerror(errno));
    const char *wrong = map_fd(a, fd, m);
    close(fd);
    return wrong;
}

/* Opens a path below `folder` step by step, so that none of them is a link
 * and none climbs. */
static const char *open_below(Arena *a, const char *folder,
                              const char *location, int *out)
{
    int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return arena_strdup(a, strerror(errno));
    for (const char *p = location; *p;) {
        size_t n = strcspn(p, "/");
        const char *part = arena_strndup(a, p, n);
        bool last = !p[n];
        p += n + strspn(p + n, "/");
        if (!strcmp(part, ".") && !last)
            continue;
        if (!n || !strcmp(part, "..") || !strcmp(part, ".")) {
            close(fd);
            return "a tensor's file must lie in the model's folder";
        }
        int next = openat(fd, part,
                          O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                              (last ? 0 : O_DIRECTORY));
        int error = errno;
        struct stat st;
        bool link = next < 0 && !fstatat(fd, part, &st, AT_SYMLINK_NOFOLLOW) &&
                    S_ISLNK(st.st_mode);
        close(fd);
        if (next < 0)
            return link ? "it is a link, or lies behind one"
                        : arena_strdup(a, strerror(error));
        fd = next;
    }
    *out = fd;
    return NULL;
}

static const char *open_external(External *e, const char *location,
                                 Mapping **out)
{
    Mapping *m = map_get(e->file, location);
    int fd = -1;

    if (!m) {
        if (!*location || *location == '/')
            return "a tensor's file must lie in the model's folder";
        const char *wrong = open_below(e->arena, e->folder, location, &fd);
        if (wrong)
            return wrong;
        m = arena_new_of(e->arena, Mapping);
        wrong = map_fd(e->arena, fd, m);
        close(fd);
        if (wrong)
            return wrong;
        map_put(e->file, location, m);
    }
    *out = m;
    return NULL;
}

const char *external_bytes(External *e, const char *location, int64_t offset,
                           int64_t length, const unsigned char **data)
{
    Mapping *m;
    const char *wrong = open_external(e, location, &m);

    if (wrong)
        return wrong;
    if (offset < 0 || length < 0 || (uint64_t)offset > m->len ||
        (uint64_t)length > m->len - (uint64_t)offset)
        return arena_printf(e->arena,
                            "bytes %lld to %lld are wanted, it has "
                            "%zu",
                            (long long)offset,
                            (long long)offset + (long long)length, m->len);
    *data = m->data + offset;
    return NULL;
}
