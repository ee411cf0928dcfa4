#include "emit/template.h"
#include "support/support.h"

static const char *find_template(const char *name)
{
    for (const EmbeddedFile *f = embedded_templates; f->name; f++)
        if (!strcmp(f->name, name))
            return f->text;
    tree_defect("templates", "there is none of that name", name);
}

Tree *template_tree(Arena *a, const char *name, const Fill *fill, int n)
{
    Buf b = {0};

    for (const char *s = find_template(name); *s;) {
        size_t len = strcspn(s, "\n");
        len += s[len] == '\n';
        if (strncmp(s, "//@", 3))
            buf_putn(&b, s, len);
        s += len;
    }
    Tree *t = tree_parse(a, buf_text(&b), name);
    buf_free(&b);
    tree_fill(a, t, fill, n, name);
    return t;
}
