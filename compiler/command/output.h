/* output.h - the files that a command writes. */
#ifndef DCC_OUTPUT_H
#define DCC_OUTPUT_H

#include "support/support.h"

/* A file that a command reads or writes, and which option says so:
 * "--weights", "the program", "-o". path NULL: none. */
typedef struct UsedFile {
    const char *path, *what;
} UsedFile;

/* 2 after a message if one file would be read and written, or written twice,
 * however it is spelled; 3 if one is to be written where a folder is, or into
 * a folder that is not there; 0 if not. */
int output_check(const UsedFile *in, int n_in, const UsedFile *out,
                 int n_out);

/* 1 after a message if `path` is a folder or cannot be read; NULL and `-` can
 * be. */
int input_check(const char *path);

typedef struct OutFile {
    const Buf *text;
    const char *path; /* NULL: not wanted */
} OutFile;

/* Writes all of them or none: after an error those written before are again
 * what they were. The exit status. */
int output_write(const OutFile *f, int n);

/* Whether what is there is no regular file: a device, a pipe, `-`. */
bool output_is_stream(const char *path);

#endif
