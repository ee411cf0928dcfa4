#include "emit/cprint.h"

#include <string.h>

/* Breaking long lines of emitted C. */

enum { COLUMNS = 80, STEP = 4 };

/* Text goes through here once for each block that it lies in. Before the end
 * of a line that was broken stands where: AT_BLANK, or within a word. A later
 * pass joins such lines and breaks them anew; cprint_settle takes the marks
 * away. */
enum { AT_BLANK = '\f', IN_WORD = '\v' };

/* What a break after s[i] costs: its depth in brackets; -1: none is possible
 * there. Operators stay at the beginning of the next line, except `=` and
 * commas. */
static int break_cost(const char *s, int i, int depth)
{
    const char *next = s + i + 1;

    if (s[i] != ' ' || i == 0 || !*next)
        return -1;
    char before = s[i - 1];
    if (before == ',') /* of a list of declarations, or of arguments */
        return depth ? 10 * depth + 2 : 0;
    if (before == '=' && i > 1 && s[i - 2] == ' ')
        return 10 * depth + 1;
    if (before == ';')
        return 10 * depth;
    if (!strncmp(next, "? ", 2) || !strncmp(next, ": ", 2))
        return 10 * depth + 1;
    if (!strncmp(next, "|| ", 3))
        return 10 * depth + 2;
    if (!strncmp(next, "&& ", 3))
        return 10 * depth + 3;
    if (!strncmp(next, "+ ", 2) || !strncmp(next, "- ", 2))
        return 10 * depth + 4;
    if (strchr("<>", *next) || !strncmp(next, "* ", 2) ||
        !strncmp(next, "/ ", 2) || !strncmp(next, "== ", 3))
        return 10 * depth + 5;
    return -1;
}

/* Where to end the first line of s, at most `room` columns: its length, or 0
 * if there is no good place. A line that cannot end at a blank ends after an
 * opening parenthesis or between two subscripts. */
static int break_at(const char *s, int room)
{
    int depth = 0, best = 0, best_cost = 1 << 20, opening = 0;
    bool quoted = false;

    for (int i = 0; s[i] && i <= room; i++) {
        if (s[i] == '"' && (i == 0 || s[i - 1] != '\\'))
            quoted = !quoted;
        if (quoted)
            continue;
        if (!strncmp(s + i, "<<<", 3) || !strncmp(s + i, ">>>", 3)) {
            depth += s[i] == '<' ? 2 : -2;
            i += 2;
            continue;
        }
        bool close = i > 0 && s[i - 1] != ' '; /* no operator: a template's */
        if (strchr("([{", s[i]) || (s[i] == '<' && close))
            depth++;
        if (strchr(")]}", s[i]) ||
            (s[i] == '>' && close && s[i - 1] != '-'))
            depth--;
        if ((s[i] == '(' && s[i + 1] != ')' && i < room) ||
            (s[i] == ']' && s[i + 1] == '[' && i < room))
            opening = i + 1;
        int cost = break_cost(s, i, depth);
        /* a break near the start gains little */
        if (cost >= 0 && i < room / 3)
            cost += 15;
        if (cost >= 0 && cost <= best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    if (best || opening)
        return best ? best : opening;
    const char *first = strchr(s, '(');
    return first && first[1] && first[1] != ')' && !quoted
               ? (int)(first + 1 - s) : 0;
}

static void put_indent(Buf *b, int n)
{
    buf_printf(b, "%*s", n, "");
}

static void code_line(Buf *b, const char *s, int indent)
{
    int room = COLUMNS - indent;
    bool first = true;

    while ((int)strlen(s) > room) {
        int at = break_at(s, room);
        if (!at)
            break;
        put_indent(b, indent);
        buf_putn(b, s, (size_t)at);
        buf_putc(b, s[at] == ' ' ? AT_BLANK : IN_WORD);
        buf_putc(b, '\n');
        s += at + (s[at] == ' ');
        if (first)
            indent += STEP;
        first = false;
        room = COLUMNS - indent;
    }
    put_indent(b, indent);
    buf_puts(b, s);
    buf_putc(b, '\n');
}

/* The words of a line that is one of a comment's, or NULL; a line of a table,
 * "// Launches  2: a, b", is for itself. */
static const char *words(const char *line)
{
    const char *s = line + strspn(line, " ");

    if (strncmp(s, "// ", 3) || s[3] == ' ' || s[3] == '-')
        return NULL;
    s += 3;
    return strncmp(s + strcspn(s, " \n"), "  ", 2) ? s : NULL;
}

/* s begins with //; words that do not fit go on in another comment line. */
static void comment_line(Buf *b, const char *s, int indent)
{
    int hang = 2 + (int)strspn(s + 2, " ");
    int next = words(s) ? hang : hang + 2;
    int room = COLUMNS - indent;
    bool first = true;

    while ((int)strlen(s) + (first ? 0 : next) > room) {
        int limit = room - (first ? 0 : next), at = 0;
        for (int i = first ? hang + 1 : 1; i <= limit && s[i]; i++)
            if (s[i] == ' ')
                at = i;
        if (!at)
            break;
        put_indent(b, indent);
        buf_printf(b, "%-*s", first ? 0 : next, first ? "" : "//");
        buf_putn(b, s, (size_t)at);
        buf_putc(b, '\n');
        s += at + 1;
        first = false;
    }
    put_indent(b, indent);
    buf_printf(b, "%-*s%s\n", first ? 0 : next, first ? "" : "//", s);
}

/* The // of a comment at the end of a line of code, or NULL. */
static const char *trailing_comment(const char *s)
{
    bool quoted = false;

    for (; *s; s++) {
        if (*s == '"')
            quoted = !quoted;
        if (!quoted && s[0] == '/' && s[1] == '/')
            return s;
    }
    return NULL;
}

static void one_line(Buf *b, const char *line, size_t len, int indent)
{
    Buf s = {0};

    buf_putn(&s, line, len);
    while (s.len && s.text[s.len - 1] == ' ')
        s.text[--s.len] = 0;
    const char *text = buf_text(&s);
    int own = (int)strspn(text, " ");
    text += own;
    if (!*text) {
        buf_putc(b, '\n');
    } else if (*text == '#' &&
               ((int)strlen(text) + indent + own <= COLUMNS ||
                !trailing_comment(text))) {
        put_indent(b, strncmp(text, "#pragma", 7) ? 0 : indent + own);
        buf_printf(b, "%s\n", text);
    } else if (!strncmp(text, "//", 2)) {
        comment_line(b, text, indent + own);
    } else if ((int)strlen(text) + indent + own > COLUMNS &&
               trailing_comment(text)) {
        const char *c = trailing_comment(text);
        comment_line(b, c, indent + own);
        one_line(b, line, (size_t)(own + (c - text)), indent);
    } else {
        code_line(b, text, indent + own);
    }
    buf_free(&s);
}

/* Of a comment's line that is too long, the last words go to its next line, if
 * there is one: returns where they begin, else 0. */
static size_t overflow(const char *line, size_t n, int indent)
{
    const char *next = line + n + (line[n] == '\n');
    size_t at = 0, own = strspn(line, " "), room = COLUMNS - (size_t)indent;

    if (n <= room || !words(line) || !words(next) || own + 3 >= room ||
        strspn(next, " ") != own)
        return 0;
    for (size_t i = own + 4; i <= room; i++)
        if (line[i] == ' ')
            at = i;
    return at;
}

/* text with its broken lines whole. */
static void join(Buf *b, const char *text)
{
    for (const char *s = text; *s; s++) {
        if ((*s != AT_BLANK && *s != IN_WORD) || s[1] != '\n') {
            buf_putc(b, *s);
            continue;
        }
        if (*s == AT_BLANK)
            buf_putc(b, ' ');
        s += 1 + strspn(s + 2, " ");
    }
}

void cprint_settle(Buf *b, size_t from)
{
    size_t n = from;

    for (size_t i = from; i < b->len; i++)
        if (b->text[i] != AT_BLANK && b->text[i] != IN_WORD)
            b->text[n++] = b->text[i];
    if (b->text)
        b->text[b->len = n] = 0;
}

void cprint_lines(Buf *b, const char *text, int indent)
{
    Buf whole = {0};
    Buf joined = {0}; /* a line that took words of the one before */
    size_t own, n, at;

    join(&whole, text);
    const char *line = buf_text(&whole);

    while (*line) {
        const char *next = line + strcspn(line, "\n");
        n = (size_t)(next - line);
        next += *next == '\n';
        at = overflow(line, n, indent);
        one_line(b, line, at ? at : n, indent);
        if (at) {
            Buf more = {0};
            own = strspn(line, " ");
            buf_printf(&more, "%*s// ", (int)own, "");
            buf_putn(&more, line + at + 1, n - at - 1);
            buf_printf(&more, " %s", words(next));
            buf_free(&joined);
            joined = more;
            next = buf_text(&joined);
        }
        line = next;
    }
    buf_free(&whole);
    buf_free(&joined);
}
