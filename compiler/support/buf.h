/* buf.h - a growing text buffer. A Buf owns its memory; buf_free releases it.
 */
#ifndef DCC_BUF_H
#define DCC_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

typedef struct Buf {
    char *text; /* NUL-terminated; NULL while empty */
    size_t len, cap;
} Buf;

void buf_printf(Buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *b, const char *fmt, va_list ap);
void buf_puts(Buf *b, const char *s);
void buf_putn(Buf *b, const char *s, size_t n);
/* Where most of a text comes letter by letter. */
static inline void buf_putc(Buf *b, char c)
{
    if (b->cap - b->len <= 1) {
        buf_putn(b, &c, 1);
        return;
    }
    b->text[b->len++] = c;
    b->text[b->len] = 0;
}
void buf_putd(Buf *b, long long x); /* as %lld does */
void buf_puta(Buf *b, double x);    /* as %a does */
/* Words between blanks from where the line is, below `indent`, on: the next one
 * begins with that before a word would pass `columns`. */
void buf_wrap(Buf *b, const char *words, const char *indent, size_t columns);
const char *buf_text(const Buf *b); /* "" while empty */
void buf_free(Buf *b);
/* The text, from now on the arena's; b is empty. */
const char *buf_take(Buf *b, Arena *a);

#endif
