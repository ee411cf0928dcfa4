#include "escape.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The length of the UTF-8 sequence beyond ASCII at s, and its code; else 0. */
static size_t sequence(const char *s, unsigned *code)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] < 0xc2   ? 0
               : u[0] < 0xe0 ? 2
               : u[0] < 0xf0 ? 3
               : u[0] < 0xf5 ? 4
                             : 0;

    *code = n ? u[0] & (0x7f >> n) : 0;
    for (size_t i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (u[i] & 0x3f);
    }
    bool overlong = (n == 3 && *code < 0x800) || (n == 4 && *code < 0x10000);
    return overlong || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)
               ? 0 : n;
}

/* The same of a printable character. */
static size_t utf8(const char *s)
{
    unsigned code;
    size_t n = sequence(s, &code);
    bool control = code < 0xa0 || (code >= 0x200e && code <= 0x200f) ||
                   (code >= 0x2028 && code <= 0x202e) ||
                   (code >= 0x2066 && code <= 0x2069);

    return control ? 0 : n;
}

void escape_string(Buf *b, const char *s)
{
    buf_putc(b, '"');
    for (size_t n; *s; s += n) {
        n = utf8(s);
        if (n) {
            buf_putn(b, s, n);
            continue;
        }
        n = 1;
        if (*s == '"' || *s == '\\' || (*s == '?' && s[1] == '?'))
            buf_printf(b, *s == '?' ? "?\"\"" : "\\%c", *s);
        else if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
            buf_printf(b, "\\%03o", (unsigned char)*s);
        else
            buf_putc(b, *s);
    }
    buf_putc(b, '"');
}

void escape_json(Buf *b, const char *s)
{
    buf_putc(b, '"');
    for (size_t n; *s; s += n) {
        const unsigned char c = (unsigned char)*s;
        unsigned code;

        n = sequence(s, &code);
        if (n) {
            if (utf8(s))
                buf_putn(b, s, n);
            else
                buf_printf(b, "\\u%04x", code);
            continue;
        }
        n = 1;
        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c == '\n')
            buf_puts(b, "\\n");
        else if (c < ' ' || c == '<' || c == 127)
            buf_printf(b, "\\u%04x", c);
        else if (c < 127)
            buf_putc(b, *s);
        else
            buf_puts(b, "\\ufffd");
    }
    buf_putc(b, '"');
}

static void comment(Buf *b, const char *s, bool ascii)
{
    for (size_t n; *s; s += n) {
        n = ascii ? 0 : utf8(s);
        bool sign = (s[0] == '*' && s[1] == '/') ||
                    (s[0] == '/' && s[1] == '*') ||
                    (s[0] == '?' && s[1] == '?');
        if (n) {
            buf_putn(b, s, n);
        } else if (sign || *s == '\\' || (unsigned char)*s < ' ' ||
                   (unsigned char)*s > '~') {
            buf_printf(b, "\\x%02x", (unsigned char)*s);
            n = 1;
        } else {
            buf_putc(b, *s);
            n = 1;
        }
    }
}

void escape_comment(Buf *b, const char *s)
{
    comment(b, s, false);
}

const char *escape_ascii(Arena *a, const char *s)
{
    Buf b = {0};

    comment(&b, s, true);
    return buf_take(&b, a);
}

void escape_number(Buf *b, double x)
{
    if (isnan(x))
        buf_puts(b, "NAN");
    else if (isinf(x))
        buf_puts(b, x < 0 ? "-INFINITY" : "INFINITY");
    else
        buf_printf(b, "%.17g", x);
}

const char *escape_word(Arena *a, const char *s)
{
    Buf b = {0};

    for (; *s; s++)
        if (isalnum((unsigned char)*s) || strchr("._-+/@()[]{}", *s))
            buf_putc(&b, *s);
        else
            buf_printf(&b, "%%%02x", (unsigned char)*s);
    return buf_take(&b, a);
}

void escape_shell(Buf *b, const char *s)
{
    size_t plain = 0;

    while (isalnum((unsigned char)s[plain]) || s[plain] & 0x80 ||
           (s[plain] && strchr("_@%+=:,./-", s[plain])))
        plain++;
    if (plain && !s[plain]) {
        buf_puts(b, s);
        return;
    }
    buf_putc(b, '\'');
    for (; *s; s++)
        if (*s == '\'')
            buf_puts(b, "'\"'\"'");
        else
            buf_putc(b, *s);
    buf_putc(b, '\'');
}
