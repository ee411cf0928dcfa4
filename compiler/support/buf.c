#include "buf.h"

#include "format.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void grow(Buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len <= more)
        cap *= 2;
    b->text = arena_need(realloc(b->text, cap));
    b->cap = cap;
}

static inline void reserve(Buf *b, size_t more)
{
    if (b->cap - b->len <= more)
        grow(b, more);
}

void buf_putn(Buf *b, const char *s, size_t n)
{
    reserve(b, n);
    memcpy(b->text + b->len, s, n);
    b->len += n;
    b->text[b->len] = 0;
}

void buf_puts(Buf *b, const char *s)
{
    buf_putn(b, s, strlen(s));
}

void buf_putd(Buf *b, long long x)
{
    char digits[FORMAT_DIGITS];
    size_t n = format_number(digits, x);

    buf_putn(b, digits + FORMAT_DIGITS - n, n);
}

/* A fraction's hexadecimal digits, without zeros behind. */
static void put_fraction(Buf *b, uint64_t bits)
{
    static const char digit[] = "0123456789abcdef";

    if (bits)
        buf_putc(b, '.');
    for (; bits; bits = (bits << 4) & (((uint64_t)1 << 52) - 1))
        buf_putc(b, digit[bits >> 48]);
}

void buf_puta(Buf *b, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    int power = (int)(bits >> 52 & 0x7ff) - 1023;
    if (x != 0 && (power == -1023 || power == 1024)) {
        buf_printf(b, "%a", x); /* infinite, no number, or nearly 0 */
        return;
    }
    buf_puts(b, bits >> 63 ? "-0x" : "0x");
    buf_putc(b, x != 0 ? '1' : '0');
    put_fraction(b, bits & (((uint64_t)1 << 52) - 1));
    buf_puts(b, x == 0 || power >= 0 ? "p+" : "p-");
    buf_putd(b, x == 0 ? 0 : power < 0 ? -power : power);
}

void buf_vprintf(Buf *b, const char *fmt, va_list ap)
{
    char text[256]; /* nearly always long enough */
    va_list again, once;

    va_copy(again, ap);
    va_copy(once, ap);
    int n = format_plain(text, sizeof text, fmt, ap);
    if (n < 0)
        n = vsnprintf(text, sizeof text, fmt, once);
    reserve(b, (size_t)n);
    if ((size_t)n < sizeof text)
        memcpy(b->text + b->len, text, (size_t)n + 1);
    else
        vsnprintf(b->text + b->len, (size_t)n + 1, fmt, again);
    b->len += (size_t)n;
    va_end(again);
    va_end(once);
}

void buf_printf(Buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_wrap(Buf *b, const char *words, const char *indent, size_t columns)
{
    const size_t first = strlen(indent);
    size_t column = first;

    while (*words) {
        size_t n = strcspn(words, " ");
        if (column > first && column + 1 + n > columns) {
            buf_printf(b, "\n%s", indent);
            column = first;
        } else if (column > first) {
            buf_putc(b, ' ');
            column++;
        }
        buf_putn(b, words, n);
        column += n;
        words += n + (words[n] == ' ');
    }
}

const char *buf_text(const Buf *b)
{
    return b->text ? b->text : "";
}

const char *buf_take(Buf *b, Arena *a)
{
    const char *text = arena_strdup(a, buf_text(b));

    buf_free(b);
    return text;
}

void buf_free(Buf *b)
{
    free(b->text);
    *b = (Buf){0};
}
