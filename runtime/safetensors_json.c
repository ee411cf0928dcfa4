/* safetensors_json.c - the JSON that weights files hold: strings, numbers,
 * punctuation, one by one (safetensors_json.h).
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "safetensors_json.h"

int st_bad(StCursor *c, const char *format, ...)
{
    char text[512];
    va_list args;

    if (c->failed)
        return 0;
    c->failed = DCC_ERR_FORMAT;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dcc_fail(DCC_ERR_FORMAT, "%s: header byte %zu: %s", c->file->path,
             (size_t)(c->at - c->start), text);
    return 0;
}

int st_no_memory(StCursor *c)
{
    if (!c->failed)
        c->failed = dcc_fail(DCC_ERR_MEMORY, "%s: out of memory",
                             c->file->path);
    return 0;
}

void st_blank(StCursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' ||
                              *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Skips blanks and takes the byte if it is next. */
int st_take(StCursor *c, char byte)
{
    if (c->failed)
        return 0;
    st_blank(c);
    if (c->at == c->end || *c->at != (unsigned char)byte)
        return 0;
    c->at++;
    return 1;
}

int st_need(StCursor *c, char byte)
{
    if (st_take(c, byte))
        return 1;
    if (!c->failed && c->at == c->end)
        return st_bad(c, "expected '%c', the header ends", byte);
    return st_bad(c, "expected '%c'", byte);
}

/* Bytes of the UTF-8 sequence at p, 0 if it is malformed (overlong forms and
 * surrogates included). */
static int st_utf8_length(const unsigned char *p, const unsigned char *end)
{
    unsigned char b = *p, low = 0x80, high = 0xbf;
    int n;

    if (b < 0x80)
        return 1;
    if (b >= 0xc2 && b <= 0xdf)
        n = 2;
    else if (b >= 0xe0 && b <= 0xef)
        n = 3;
    else if (b >= 0xf0 && b <= 0xf4)
        n = 4;
    else
        return 0;
    if (b == 0xe0)
        low = 0xa0;
    if (b == 0xed)
        high = 0x9f;
    if (b == 0xf0)
        low = 0x90;
    if (b == 0xf4)
        high = 0x8f;
    if (end - p < n || p[1] < low || p[1] > high)
        return 0;
    for (int i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

static int st_hex4(StCursor *c, unsigned *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char h = c->at < c->end ? *c->at : 0;
        unsigned digit;

        if (h >= '0' && h <= '9')
            digit = h - '0';
        else if ((h | 32) >= 'a' && (h | 32) <= 'f')
            digit = (h | 32) - 'a' + 10;
        else
            return st_bad(c, "\\u needs four hexadecimal digits");
        *out = *out << 4 | digit;
        c->at++;
    }
    return 1;
}

/* \uXXXX, with a second one for a surrogate pair, appended as UTF-8. A code
 * takes at least as many header bytes as it gives. */
static int st_unicode(StCursor *c)
{
    unsigned code, low;
    char *o = c->name;

    if (!st_hex4(c, &code))
        return 0;
    if (code == 0)
        return st_bad(c, "a name may not hold the character 0");
    if (code >= 0xdc00 && code <= 0xdfff)
        return st_bad(c, "unpaired surrogate \\u%04x", code);
    if (code >= 0xd800 && code <= 0xdbff) {
        if (c->end - c->at < 2 || c->at[0] != '\\' || c->at[1] != 'u')
            return st_bad(c, "unpaired surrogate \\u%04x", code);
        c->at += 2;
        if (!st_hex4(c, &low))
            return 0;
        if (low < 0xdc00 || low > 0xdfff)
            return st_bad(c, "unpaired surrogate \\u%04x", code);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0x80) {
        *o++ = (char)code;
    } else if (code < 0x800) {
        *o++ = (char)(0xc0 | code >> 6);
        *o++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *o++ = (char)(0xe0 | code >> 12);
        *o++ = (char)(0x80 | (code >> 6 & 0x3f));
        *o++ = (char)(0x80 | (code & 0x3f));
    } else {
        *o++ = (char)(0xf0 | code >> 18);
        *o++ = (char)(0x80 | (code >> 12 & 0x3f));
        *o++ = (char)(0x80 | (code >> 6 & 0x3f));
        *o++ = (char)(0x80 | (code & 0x3f));
    }
    c->name = o;
    return 1;
}

static int st_escape(StCursor *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *which;

    if (c->at == c->end)
        return st_bad(c, "the string does not end");
    if (*c->at == 'u') {
        c->at++;
        return st_unicode(c);
    }
    which = *c->at ? strchr(from, *c->at) : NULL;
    if (!which)
        return st_bad(c, "unknown escape");
    *c->name++ = to[which - from];
    c->at++;
    return 1;
}

/* Decodes a string into file->names; NULL after an error. */
const char *st_string(StCursor *c)
{
    const char *text = c->name;

    if (!st_need(c, '"'))
        return NULL;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at < 0x20) {
            st_bad(c, "unescaped control character in a string");
            return NULL;
        }
        if (*c->at == '\\') {
            c->at++;
            if (!st_escape(c))
                return NULL;
            continue;
        }
        int n = st_utf8_length(c->at, c->end);
        if (n == 0) {
            st_bad(c, "malformed UTF-8");
            return NULL;
        }
        memcpy(c->name, c->at, (size_t)n);
        c->name += n;
        c->at += n;
    }
    if (c->at == c->end) {
        st_bad(c, "the string does not end");
        return NULL;
    }
    c->at++;
    *c->name++ = 0;
    return text;
}

/* A size or offset: digits only, no sign, fraction, exponent, leading zero. */
int st_number(StCursor *c, int64_t *out)
{
    int64_t v = 0;

    st_blank(c);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return st_bad(c, "expected a number of digits only");
    if (*c->at == '0' && c->end - c->at > 1 && c->at[1] >= '0' &&
        c->at[1] <= '9')
        return st_bad(c, "a number may not begin with 0");
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_add_overflow(v, (int64_t)(*c->at - '0'), &v))
            return st_bad(c, "the number is too large");
        c->at++;
    }
    if (c->at < c->end && (*c->at == '.' || (*c->at | 32) == 'e'))
        return st_bad(c, "expected a whole number");
    *out = v;
    return 1;
}
