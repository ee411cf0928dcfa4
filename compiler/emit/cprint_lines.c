#include "emit/cprint.h"

#include <string.h>

/* Breaking long lines of emitted C. */

enum { COLUMNS = 80, STEP = 4 };

/* Text goes through here once for each block that it lies in. Before the end
 * of a line that was broken stands where: AT_BLANK, or within a word. A later
 * pass joins such lines and breaks them anew; cprint_settle takes the marks
 * away. */
enum { AT_BLANK = '\f', IN_WORD = '\v' };

/* What a line more costs, and a bracket more around a break. */
enum { LINE = 14, DEPTH = 13, NO_BREAK = -1, TOO_LONG = 10000 };

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* What a break at the blank s[i] costs, with nothing around it. Operators stay
 * at the beginning of the next line, except `=` and commas. */
static int blank_cost(const char *s, int i, int depth)
{
    static const struct {
        const char *op;
        int cost;
    } ops[] = {{"? ", 1},  {": ", 1}, {"|| ", 2}, {"&& ", 3}, {"+ ", 4},
               {"- ", 4},  {"<", 5},  {">", 5},   {"* ", 5},  {"/ ", 5},
               {"== ", 5}, {"^ ", 4}, {"% ", 6}};
    const char *next = s + i + 1;

    if (s[i - 1] == ',') /* of a list of declarations, or of arguments */
        return depth ? 2 : 0;
    if (s[i - 1] == '=' && i > 1 && s[i - 2] == ' ')
        return 3;
    if (s[i - 1] == '=' && i > 2 && s[i - 3] == ' ' &&
        strchr("+-*/|&^", s[i - 2])) /* where nothing behind it would do */
        return 12;
    if (s[i - 1] == ';')
        return 0;
    for (size_t n = 0; n < sizeof ops / sizeof *ops; n++)
        if (begins(next, ops[n].op))
            return ops[n].cost;
    return NO_BREAK;
}

/* What a break after s[i] costs within `depth` brackets. */
static int break_cost(const char *s, int i, int depth)
{
    int cost = NO_BREAK;

    if (!i || !s[i + 1])
        return NO_BREAK;
    if (s[i] == ' ')
        cost = blank_cost(s, i, depth);
    else if (s[i] == '(' && s[i - 1] != ' ' && s[i + 1] != ')')
        cost = 6; /* before a call's arguments */
    else if (s[i] == ']' && s[i + 1] == '[')
        cost = 9;
    else if (s[i] == '[' && s[i - 1] != ' ' && s[i + 1] != ']')
        cost = 60; /* before an index, where nothing else would do */
    return cost < 0 ? NO_BREAK : cost + DEPTH * depth;
}

/* A place where s may be broken: after s[at]. */
typedef struct Break {
    int at, cost;
    int total; /* of the best way to come here */
    int from;  /* the place before, or -1: the line's start */
} Break;
enum { MAX_BREAKS = 256 };

static int find_breaks(const char *s, Break place[MAX_BREAKS])
{
    int depth = 0, n = 0;
    bool quoted = false;

    for (int i = 0; s[i] && n + 1 < MAX_BREAKS; i++) {
        if (quoted && s[i] == '\\' && s[i + 1])
            i++;
        else if (s[i] == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (begins(s + i, "<<<") || begins(s + i, ">>>")) {
            depth += s[i] == '<' ? 2 : -2;
            i += 2;
            continue;
        }
        bool close = i > 0 && s[i - 1] != ' '; /* no operator: a template's */
        if (strchr("([{", s[i]) || (s[i] == '<' && close))
            depth++;
        if (strchr(")]}", s[i]) || (s[i] == '>' && close && s[i - 1] != '-'))
            depth--;
        int cost = break_cost(s, i, depth);
        if (cost >= 0)
            place[n++] = (Break){.at = i, .cost = cost};
    }
    place[n++] = (Break){.at = (int)strlen(s)};
    return n;
}

/* Where the lines of s end, the first of `room` columns, the others of STEP
 * fewer: the breaks that cost least together. Fills place[].from, from the
 * last place on; returns how many places there are. */
static int choose_breaks(const char *s, int room, Break place[MAX_BREAKS])
{
    int n = find_breaks(s, place);

    for (int i = 0; i < n; i++) {
        Break *p = &place[i];
        p->total = -1;
        for (int j = -1; j < i; j++) {
            int from = j < 0 ? 0 : place[j].at + 1;
            int over = p->at + (s[p->at] != ' ' && s[p->at]) - from -
                       (j < 0 ? room : room - STEP);
            int total = (j < 0 ? 0 : place[j].total) + LINE + p->cost +
                        (over > 0 ? TOO_LONG * (1 + over) : 0);
            /* a break near the start gains little */
            if (j < 0 && i + 1 < n && p->at < room / 3)
                total += 15;
            if (p->total < 0 || total <= p->total) {
                p->total = total;
                p->from = j;
            }
        }
    }
    return n;
}

static void put_indent(Buf *b, int n)
{
    buf_printf(b, "%*s", n, "");
}

static void code_line(Buf *b, const char *s, int indent)
{
    Break place[MAX_BREAKS];
    int next[MAX_BREAKS + 1], from = 0;

    if ((int)strlen(s) <= COLUMNS - indent) {
        put_indent(b, indent);
        buf_printf(b, "%s\n", s);
        return;
    }
    int last = choose_breaks(s, COLUMNS - indent, place) - 1;
    for (int i = last; i >= 0; i = place[i].from)
        next[place[i].from + 1] = i;
    for (int i = next[0]; i < last; i = next[i + 1]) {
        put_indent(b, indent + (from ? STEP : 0));
        bool blank = s[place[i].at] == ' ';
        buf_putn(b, s + from, (size_t)(place[i].at + !blank - from));
        buf_putc(b, blank ? AT_BLANK : IN_WORD);
        buf_putc(b, '\n');
        from = place[i].at + 1;
    }
    put_indent(b, indent + (from ? STEP : 0));
    buf_printf(b, "%s\n", s + from);
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
        if (quoted && *s == '\\' && s[1])
            s++;
        else if (*s == '"')
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
    } else if (*text == '#' && ((int)strlen(text) + indent + own <= COLUMNS ||
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
