#include "say.h"

#include "arena.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define PURPLE "\033[1;35m"
#define CYAN "\033[1;36m"
#define GREEN "\033[1;32m"
#define PLAIN "\033[0m"

/* Whether a stream takes colours: a terminal that is not dumb, and NO_COLOR
 * is not set (https://no-color.org). */
static bool say_colours(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fileno(to)) && !(no && *no) && term && *term &&
           strcmp(term, "dumb") != 0;
}

typedef struct Kind {
    const char *text, *colour;
} Kind;

static const Kind kinds[] = {
    {": error: ", RED}, {": warning: ", PURPLE}, {": note: ", CYAN}};

/* Whether n bytes are a place or the program: "dcc", "m.dcl:3:14". */
static bool is_place(const char *p, size_t n)
{
    if (n >= 3 && !memcmp(p, "dcc", 3) && (n == 3 || p[3] == ' '))
        return true;
    while (n && isdigit((unsigned char)p[n - 1]))
        n--;
    if (!n || p[--n] != ':' || !n || !isdigit((unsigned char)p[n - 1]))
        return false;
    while (n && isdigit((unsigned char)p[n - 1]))
        n--;
    return n && p[n - 1] == ':';
}

/* "    ^~~~" */
static bool is_caret(const char *p, size_t n)
{
    size_t at = 0;

    while (at < n && (p[at] == ' ' || p[at] == '\t'))
        at++;
    return at < n && p[at] == '^' && strspn(p + at + 1, "~") >= n - at - 1;
}

static void put_line(const char *p, size_t n, FILE *to)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *at = memmem(p, n, kinds[k].text, strlen(kinds[k].text));
        if (!at || !is_place(p, (size_t)(at - p)))
            continue;
        int place = (int)(at - p), kind = (int)strlen(kinds[k].text);
        fprintf(to, BOLD "%.*s: " PLAIN "%s%.*s" PLAIN BOLD "%.*s" PLAIN "\n",
                place, p, kinds[k].colour, kind - 2, at + 2,
                (int)n - place - kind, at + kind);
        return;
    }
    if (is_caret(p, n))
        fprintf(to, GREEN "%.*s" PLAIN "\n", (int)n, p);
    else
        fprintf(to, "%.*s\n", (int)n, p);
}

void say_messages(const char *text, FILE *to)
{
    if (!say_colours(to)) {
        fputs(text, to);
        return;
    }
    for (; *text; text += *text == '\n') {
        size_t n = strcspn(text, "\n");
        put_line(text, n, to);
        text += n;
    }
}

static void say(const char *kind, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = arena_need(malloc((size_t)n + 40));
    int at = sprintf(text, "dcc: %s: ", kind);
    at += vsprintf(text + at, fmt, ap);
    strcpy(text + at, "\n");
    say_messages(text, stderr);
    free(text);
}

void say_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("error", fmt, ap);
    va_end(ap);
}

void say_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("note", fmt, ap);
    va_end(ap);
}
