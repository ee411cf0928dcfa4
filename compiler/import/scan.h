/* scan.h - looks at the bytes of a protobuf message before anything is made
 * of them: every length within what holds it, nesting, counts and memory
 * bounded, texts without NUL, no field of one message twice.
 *
 * The large parts (TensorProto.raw_data) are not copied: the scan writes the
 * message again without them, each replaced by its number, and remembers where
 * they lie. */
#ifndef DCC_IMPORT_SCAN_H
#define DCC_IMPORT_SCAN_H

#include "support/support.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SCAN_MAX_DEPTH = 64,
    SCAN_MAX_MEMORY = 1 << 29, /* bytes that reading would take */
};

typedef struct ScanBytes {
    const uint8_t *data;
    size_t len;
} ScanBytes;

typedef struct Scan {
    Arena *arena;
    const char *bytes_message, *bytes_field; /* whose bytes are left out */
    Buf out;                 /* the message again; its owner frees it */
    ScanBytes *part; int n_part, cap_part;
    size_t memory;
    const char *error;       /* what is wrong, or NULL */
    size_t at;               /* and where, an offset in the file */
    const uint8_t *begin;
} Scan;

/* False with s->error and s->at set. */
bool scan_message(Scan *s, const uint8_t *p, size_t n,
                  const ProtobufCMessageDescriptor *d);

#endif
