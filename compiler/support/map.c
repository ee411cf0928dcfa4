#include "map.h"

#include <stdbool.h>

typedef struct Entry {
    uint64_t hash;
    const char *key; /* NULL: free */
    void *value;
} Entry;

struct Map {
    Arena *arena;
    Entry *entry;
    size_t n, cap; /* cap is a power of two */
};

uint64_t hash_text(const char *s, size_t n)
{
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return h;
}

/* Where a key is kept, which nobody sees: eight letters at a time. */
static uint64_t place_of(const char *s, size_t n)
{
    uint64_t h = n;

    for (uint64_t word; n; s += 8, n = n > 8 ? n - 8 : 0) {
        word = 0;
        memcpy(&word, s, n < 8 ? n : 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

Map *map_new(Arena *a)
{
    Map *m = arena_new_of(a, Map);

    m->arena = a;
    m->cap = 64;
    m->entry = arena_array(a, Entry, m->cap);
    return m;
}

static Entry *slot(const Map *m, const char *key, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);

    while (m->entry[i].key &&
           (m->entry[i].hash != hash || strcmp(m->entry[i].key, key)))
        i = (i + 1) & (m->cap - 1);
    return &m->entry[i];
}

void *map_get(const Map *m, const char *key)
{
    return slot(m, key, place_of(key, strlen(key)))->value;
}

static void grow(Map *m)
{
    Entry *old = m->entry;
    size_t n = m->cap;

    m->cap *= 2;
    m->entry = arena_array(m->arena, Entry, m->cap);
    for (size_t i = 0; i < n; i++)
        if (old[i].key)
            *slot(m, old[i].key, old[i].hash) = old[i];
}

void map_put(Map *m, const char *key, void *value)
{
    if (m->n * 2 >= m->cap)
        grow(m);
    uint64_t hash = place_of(key, strlen(key));
    Entry *e = slot(m, key, hash);
    if (!e->key) {
        e->hash = hash;
        e->key = arena_strdup(m->arena, key);
        m->n++;
    }
    e->value = value;
}
