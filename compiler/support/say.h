/* say.h - messages about no place in a file, on standard error:
 *
 *     dcc: error: there is no GPU 'h20'; did you mean 'h200'?
 */
#ifndef DCC_SAY_H
#define DCC_SAY_H

#include <stdbool.h>
#include <stdio.h>

void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text of messages, `FILE:LINE:COLUMN: error: ...` with lines of source and
 * carets, to a stream, with colours where it takes them. */
void say_messages(const char *text, FILE *to);

#endif
