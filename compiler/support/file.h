/* file.h - reading and writing files by the names that users give.
 *
 * `-` is standard input or output. What is written is either whole or not
 * there, a link stays a link, and nothing but a regular file is ever replaced:
 * a device, a pipe or /dev/stdout is written into. */
#ifndef DCC_FILE_H
#define DCC_FILE_H

#include "buf.h"

/* No program, plan or log is longer; what is may have no end. */
enum { FILE_LIMIT_MB = 64 };

/* Reads a whole file into b. False, with errno set, if it cannot: a directory
 * is EISDIR, more than FILE_LIMIT_MB is EOVERFLOW; b then holds what was
 * read. */
bool file_read(Buf *b, const char *path);

/* Writes text to path. A regular file is replaced at once by a new one with
 * its permissions, or left alone if it holds that text already; in a folder
 * that nothing can be added to it is written in place. False, with errno
 * set, if it cannot; then nothing is left behind. */
bool file_write(const char *text, size_t len, const char *path);

/* What errno says, for messages about the above. */
const char *file_error(void);

/* Whether two names are of one file, by what they lead to and not by how they
 * are spelled; neither need be there. `-` stands for standard input in `in`
 * and for standard output in `out`. Devices and pipes are never the same. */
bool file_same(const char *in, const char *out);

/* The same of two that are both to be written. */
bool file_same_out(const char *a, const char *b);

#endif
