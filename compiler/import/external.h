/* external.h - files read where they lie: the model, and the data files that
 * its tensors name. */
#ifndef DCC_IMPORT_EXTERNAL_H
#define DCC_IMPORT_EXTERNAL_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Mapping {
    const unsigned char *data;
    size_t len;
} Mapping;

/* Maps a regular file for as long as the process lives. NULL on success, else
 * what is wrong. Links are followed only for the file that the user named. */
const char *map_file(Arena *a, const char *path, bool follow, Mapping *m);

typedef struct External {
    Arena *arena;
    const char *folder;  /* the model's */
    Map *file;           /* location -> Mapping */
} External;

/* The bytes of an external tensor; `location` is relative to the model's
 * folder and stays in it: no "..", no absolute path, no link on the way. NULL
 * on success, else what is wrong. */
const char *external_bytes(External *e, const char *location, int64_t offset,
                           int64_t length, const unsigned char **data);

#endif
