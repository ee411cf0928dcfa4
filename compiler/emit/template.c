#include "emit/template.h"
#include "support/embed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_DEFECT = 70, SLOT_NAME = 40 };

static void defect(const char *what, const char *name)
{
    fprintf(stderr, "dcc: internal error: no %s '%s'\n", what, name);
    exit(EXIT_DEFECT);
}

static const char *find_template(const char *name)
{
    for (const EmbeddedFile *f = embedded_templates; f->name; f++)
        if (!strcmp(f->name, name))
            return f->text;
    defect("template", name);
    return "";
}

static const char *find_slot(const Slot *slot, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(slot[i].name, name))
            return slot[i].text;
    defect("slot", name);
    return "";
}

/* The slot that begins at s ("@NAME@"): its name, and the length of all of
 * it; 0 if there is none. */
static size_t slot_at(const char *s, char name[SLOT_NAME])
{
    size_t n = 1;

    if (*s != '@')
        return 0;
    while (isupper((unsigned char)s[n]) || isdigit((unsigned char)s[n]) ||
           s[n] == '_')
        n++;
    if (s[n] != '@' || n < 2 || n > SLOT_NAME)
        return 0;
    memcpy(name, s + 1, n - 1);
    name[n - 1] = 0;
    return n + 1;
}

/* text's lines, each indented by the `indent` blanks of the template. */
static void put_block(Buf *b, const char *text, size_t indent)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n)
            buf_printf(b, "%*s", (int)indent, "");
        buf_putn(b, text, n);
        buf_putc(b, '\n');
        text += n + (text[n] == '\n');
    }
}

static void put_line(Buf *b, const char *line, size_t len, const Slot *slot,
                     int n)
{
    char name[SLOT_NAME];

    for (size_t i = 0; i < len;) {
        size_t used = slot_at(line + i, name);
        if (used)
            buf_puts(b, find_slot(slot, n, name));
        else
            buf_putc(b, line[i]);
        i += used ? used : 1;
    }
    buf_putc(b, '\n');
}

void template_fill(Buf *b, const char *name, const Slot *slot, int n)
{
    char id[SLOT_NAME];
    const char *s = find_template(name);

    while (*s) {
        size_t len = strcspn(s, "\n"), indent = strspn(s, " ");
        size_t used = slot_at(s + indent, id);
        if (used && indent + used == len)
            put_block(b, find_slot(slot, n, id), indent);
        else if (strncmp(s, "//@", 3))
            put_line(b, s, len, slot, n);
        s += len + (s[len] == '\n');
    }
}
