/* arena.h - one region of memory that lives as long as a compilation.
 *
 * Everything that a compilation makes is allocated here and freed at once by
 * arena_free. Memory is zeroed. Running out of memory ends the process with
 * exit status 3, here and wherever else memory is asked for (arena_need). */
#ifndef DCC_ARENA_H
#define DCC_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *a);
size_t arena_used(const Arena *a); /* bytes handed out */

/* p, which an allocation gave; NULL ends the process. */
void *arena_need(void *p);

/* n zeroed bytes, aligned to 16. */
void *arena_alloc(Arena *a, size_t n);
/* p of n bytes is not needed after all: the next gets its memory, if p was the
 * last that was handed out. */
void arena_give_back(Arena *a, void *p, size_t n);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_strdup(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);

/* n things of `size` bytes each at p, in memory for `room` of them; p may be
 * NULL if n is 0, which memcpy's may not. */
void *arena_copy(Arena *a, const void *p, int n, int room, size_t size);

#define arena_new_of(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Growable arrays: `T *v; int n, cap;` kept by the caller.
 * VEC_PUSH(arena, s->stmt, s->n_stmt, s->cap_stmt) = value; */
void *arena_grow(Arena *a, void *old, int n, int *cap, size_t size);
#define VEC_PUSH(a, v, n, cap)                                               \
    (*((n) < (cap) ? &(v)[(n)++]                                             \
                   : (((v) = arena_grow((a), (v), (n), &(cap), sizeof *(v))), \
                      &(v)[(n)++])))

#endif
