#include "diag.h"

#include "say.h"

#include <stdio.h>

enum { MAX_PRINTED = 20 };

typedef struct Call {
    Span at;
    const char *what;
} Call;

struct Diag {
    Arena *arena;
    Buf text;
    int errors, n_source;
    bool muted; /* the last error was dropped, so are its notes */
    size_t last; /* where the last error's text begins */
    Call *call;
    int n_call, cap_call;
};

Diag *diag_new(Arena *a)
{
    Diag *d = arena_new_of(a, Diag);

    d->arena = a;
    return d;
}

int diag_errors(const Diag *d)
{
    return d->errors;
}

const char *diag_text(const Diag *d)
{
    return buf_text(&d->text);
}

void diag_drop(Diag *d)
{
    buf_free(&d->text);
    d->last = 0;
}

void diag_flush(Diag *d)
{
    say_messages(buf_text(&d->text), stderr);
    if (d->errors > MAX_PRINTED)
        fprintf(stderr, "dcc: %d more errors not shown\n",
                d->errors - MAX_PRINTED);
    diag_drop(d);
}

Source *diag_source(Diag *d, const char *name, const char *text, size_t len)
{
    Source *s = arena_new_of(d->arena, Source);

    s->name = arena_strdup(d->arena, name);
    s->text = arena_strndup(d->arena, text, len);
    s->len = len;
    s->id = d->n_source++;
    int cap = 0;
    for (const char *p = s->text; p;) {
        VEC_PUSH(d->arena, s->line, s->n_line, cap) = p;
        p = memchr(p, '\n', len - (size_t)(p - s->text));
        p = p ? p + 1 : NULL;
    }
    return s;
}

const char *source_line(const Source *s, int line)
{
    return line < 1 ? s->text : line <= s->n_line ? s->line[line - 1] : NULL;
}

/* Whether byte i of a line has a column of its own on a terminal: it is not
 * one that goes on with a character of UTF-8. */
static bool begins_char(const char *line, int i)
{
    const unsigned char *at = (const unsigned char *)line + i;
    int back = 0;

    while (back < 3 && back < i && (at[-back] & 0xc0) == 0x80)
        back++;
    unsigned char lead = at[-back];
    return !back || lead < (back == 1 ? 0xc2 : back == 2 ? 0xe0 : 0xf0);
}

/* The source line with a caret line under it; tabs stay tabs. */
static void put_excerpt(Buf *b, Span at)
{
    enum { WIDTH = 160 };
    const char *p = at.source ? source_line(at.source, at.line) : NULL;

    if (!p || !*p)
        return;
    int n = (int)strcspn(p, "\r\n"), from = 0, col = at.col - 1;
    if (col > n)
        col = n;
    if (col > WIDTH - 40)
        from = col - 40;
    int end = n - from > WIDTH ? from + WIDTH : n;
    buf_puts(b, "    ");
    for (int i = from; i < end; i++)
        buf_putc(b, (unsigned char)p[i] < 32 && p[i] != '\t' ? '?' : p[i]);
    buf_puts(b, "\n    ");
    for (int i = from; i < col; i++)
        if (begins_char(p, i))
            buf_putc(b, p[i] == '\t' ? '\t' : ' ');
    buf_putc(b, '^');
    for (int i = col + 1; i < col + at.len && i < end; i++)
        if (begins_char(p, i))
            buf_putc(b, '~');
    buf_putc(b, '\n');
}

static void put(Diag *d, Span at, const char *kind, const char *message)
{
    if (at.source)
        buf_printf(&d->text, "%s:%d:%d: %s: %s\n", at.source->name, at.line,
                   at.col, kind, message);
    else
        buf_printf(&d->text, "dcc: %s: %s\n", kind, message);
    put_excerpt(&d->text, at);
}

bool diag_full(const Diag *d)
{
    return d->errors >= MAX_PRINTED;
}

static void put_error(Diag *d, Span at, const char *message)
{
    size_t before = d->text.len;

    if (diag_full(d)) {
        d->errors++;
        d->muted = true;
        return;
    }
    if (d->n_call) {
        put(d, d->call[0].at, "error", message);
        for (int i = 1; i < d->n_call; i++)
            put(d, d->call[i].at, "note",
                arena_printf(d->arena, "in '%s', called here",
                             d->call[i - 1].what));
        put(d, at, "note",
            arena_printf(d->arena, "in '%s', here",
                         d->call[d->n_call - 1].what));
    } else {
        put(d, at, "error", message);
    }
    size_t n = d->text.len - before;
    d->muted = before - d->last == n && d->last < before &&
               !memcmp(d->text.text + d->last, d->text.text + before, n);
    if (d->muted) {
        d->text.len = before;
        d->text.text[before] = 0;
        return;
    }
    d->last = before;
    d->errors++;
}

void diag_error(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_error(d, at, arena_vprintf(d->arena, fmt, ap));
    va_end(ap);
}

void diag_note(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;

    if (d->muted)
        return;
    va_start(ap, fmt);
    put(d, at, "note", arena_vprintf(d->arena, fmt, ap));
    va_end(ap);
}

void diag_warning(Diag *d, Span at, const char *fmt, ...)
{
    va_list ap;

    d->muted = false;
    va_start(ap, fmt);
    put(d, at, "warning", arena_vprintf(d->arena, fmt, ap));
    va_end(ap);
}

void diag_call(Diag *d, Span at, const char *what)
{
    VEC_PUSH(d->arena, d->call, d->n_call, d->cap_call) = (Call){at, what};
}

void diag_return(Diag *d)
{
    d->n_call--;
}
