/* format.h - printf's plain conversions, fast: most of the text of a
 * compilation is names and numbers, and the C library's printf takes a quarter
 * of the time of one. */
#ifndef DCC_FORMAT_H
#define DCC_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Formats %d, %lld, %s, %c and %% into out, which holds `size` bytes, and ends
 * it with a NUL. The length; -1 if there is another conversion in fmt, or no
 * room: then out holds nothing of use. */
int format_plain(char *out, size_t size, const char *fmt, va_list ap);

/* Writes x as %lld does to the end of `digits`; how many characters. */
enum { FORMAT_DIGITS = 24 };
size_t format_number(char *digits, long long x);

#endif
