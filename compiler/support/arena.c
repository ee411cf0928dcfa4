#include "arena.h"

#include "format.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Under the address sanitizer nothing may touch what lies between two. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { ZONE = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { ZONE = 0 };
#endif

/* Chunks grow with what is in use, from few to many pages: large ones are of
 * huge pages where the system has them, as a fault for each small page takes
 * longer than to clear it. */
enum { CHUNK = 1 << 18, LARGE = 1 << 22, LARGEST = 1 << 25, ALIGN = 16 };

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
} Chunk;

struct Arena {
    Chunk *chunk;
    size_t used;
};

void *arena_need(void *p)
{
    if (!p) {
        fputs("dcc: error: out of memory\n", stderr);
        exit(3);
    }
    return p;
}

Arena *arena_new(void)
{
    return arena_need(calloc(1, sizeof(Arena)));
}

void arena_free(Arena *a)
{
    for (Chunk *c = a->chunk, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

size_t arena_used(const Arena *a)
{
    return a->used;
}

/* With what follows it. */
static size_t whole(size_t n)
{
    return ((n + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + ZONE;
}

static size_t next_size(const Arena *a)
{
    size_t part = a->used / 4;

    return part < CHUNK ? CHUNK : part < LARGEST ? part : LARGEST;
}

/* With room for n bytes. */
static Chunk *new_chunk(Arena *a, size_t n)
{
    size_t size = next_size(a);

    size = n > size ? n : size;
    Chunk *c = arena_need(calloc(1, sizeof *c + size));
#ifdef MADV_HUGEPAGE
    if (size >= LARGE) {
        uintptr_t page = (uintptr_t)c & ~(uintptr_t)4095;
        madvise((void *)page, sizeof *c + size, MADV_HUGEPAGE);
    }
#endif
    c->size = size;
    c->next = a->chunk;
    return a->chunk = c;
}

void *arena_alloc(Arena *a, size_t asked)
{
    Chunk *c = a->chunk;
    size_t n = whole(asked);

    if (!c || c->size - c->used < n)
        c = new_chunk(a, n);
    unsigned char *p = c->data + c->used;
    c->used += n;
    a->used += n;
    ASAN_POISON_MEMORY_REGION(p + asked, n - asked);
    return p;
}

void arena_give_back(Arena *a, void *p, size_t n)
{
    Chunk *c = a->chunk;

    n = whole(n);
    if ((unsigned char *)p + n != c->data + c->used)
        return;
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    memset(p, 0, n);
    c->used -= n;
    a->used -= n;
}

char *arena_strndup(Arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);

    memcpy(p, s, n);
    return p;
}

char *arena_strdup(Arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
    char text[256]; /* nearly always long enough: formatted once */
    va_list again;

    va_copy(again, ap);
    int n = format_plain(text, sizeof text, fmt, ap);
    if (n < 0) {
        va_list once;
        va_copy(once, again);
        n = vsnprintf(text, sizeof text, fmt, once);
        va_end(once);
    }
    char *p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof text)
        memcpy(p, text, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void *arena_copy(Arena *a, const void *p, int n, int room, size_t size)
{
    void *copy = arena_alloc(a, (size_t)room * size);

    return n ? memcpy(copy, p, (size_t)n * size) : copy;
}

void *arena_grow(Arena *a, void *old, int n, int *cap, size_t size)
{
    int more = *cap ? *cap * 2 : 8;
    void *p = arena_alloc(a, (size_t)more * size);

    if (n)
        memcpy(p, old, (size_t)n * size);
    *cap = more;
    return p;
}
