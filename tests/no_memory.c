/* no_memory.c - preloaded: the allocation of number $NO_MEMORY_AT gets nothing.
 * tests/no_memory.sh has it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's own, by other names */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static long count;

static int is_refused(void)
{
    static long at = -1;

    if (at < 0) {
        const char *text = getenv("NO_MEMORY_AT");
        at = text ? atol(text) : 0;
    }
    if (++count != at)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return is_refused() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return is_refused() ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return is_refused() ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    *p = aligned_alloc(align, n);
    return *p ? 0 : ENOMEM;
}

/* How many there were goes to $NO_MEMORY_COUNT. */
__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("NO_MEMORY_COUNT");
    char text[32];
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    ssize_t n = snprintf(text, sizeof text, "%ld\n", count);

    if (fd >= 0 && (write(fd, text, (size_t)n) != n || close(fd) != 0))
        _exit(3);
}
