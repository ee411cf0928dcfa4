#include "format.h"

#include <string.h>

typedef struct Out {
    char *at;
    const char *end; /* of the room for text, the NUL's left out */
} Out;

static int put(Out *o, const char *s, size_t n)
{
    if ((size_t)(o->end - o->at) < n)
        return -1;
    memcpy(o->at, s, n);
    o->at += n;
    return 0;
}

size_t format_number(char *digits, long long x)
{
    size_t i = FORMAT_DIGITS;
    unsigned long long u = x < 0 ? 0 - (unsigned long long)x
                                 : (unsigned long long)x;

    do
        digits[--i] = (char)('0' + u % 10);
    while (u /= 10);
    if (x < 0)
        digits[--i] = '-';
    return FORMAT_DIGITS - i;
}

static int put_number(Out *o, long long x)
{
    char digits[FORMAT_DIGITS];
    size_t n = format_number(digits, x);

    return put(o, digits + FORMAT_DIGITS - n, n);
}

int format_plain(char *out, size_t size, const char *fmt, va_list ap)
{
    Out o = {out, out + size - 1};
    int bad = 0;

    while (*fmt && !bad) {
        size_t n = 0;
        while (fmt[n] && fmt[n] != '%')
            n++;
        bad = put(&o, fmt, n);
        fmt += n;
        if (!*fmt || bad)
            continue;
        char c;
        const char *s;
        switch (*++fmt) {
        case 'd':
            bad = put_number(&o, va_arg(ap, int));
            break;
        case 's':
            s = va_arg(ap, const char *);
            s = s ? s : "(null)";
            bad = put(&o, s, strlen(s));
            break;
        case 'c':
            c = (char)va_arg(ap, int);
            bad = put(&o, &c, 1);
            break;
        case '%':
            bad = put(&o, "%", 1);
            break;
        case 'l':
            if (fmt[1] != 'l' || fmt[2] != 'd')
                return -1;
            fmt += 2;
            bad = put_number(&o, va_arg(ap, long long));
            break;
        default:
            return -1;
        }
        fmt++;
    }
    if (bad)
        return -1;
    *o.at = 0;
    return (int)(o.at - out);
}
