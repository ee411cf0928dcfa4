/* map.h - a hash table from text to a pointer; keys are copied. */
#ifndef DCC_MAP_H
#define DCC_MAP_H

#include "arena.h"

#include <stdint.h>

typedef struct Map Map;

Map *map_new(Arena *a);
void *map_get(const Map *m, const char *key); /* NULL if absent */
void map_put(Map *m, const char *key, void *value);
uint64_t hash_text(const char *s, size_t n); /* FNV-1a, 64 bits */

#endif
