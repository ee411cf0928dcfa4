/* `dcc ops`: the library, described from its own text. */
#include "ast_line.h"

static void put_doc(Buf *b, const char *doc, bool all)
{
    while (doc && *doc) {
        int n = (int)strcspn(doc, "\n");
        buf_printf(b, "%s%.*s\n", all ? "// " : "    ", n, doc);
        doc += n + (doc[n] == '\n');
    }
}

static void put_signature(Buf *b, const Item *it)
{
    Line l = {0};

    line_signature(&l, it);
    line_put(b, &l, 0, 0, 0);
    line_free(&l);
    buf_putc(b, '\n');
}

/* The definition as it stands in its source. */
static void put_source(Buf *b, const Item *it)
{
    const Source *s = it->at.source;
    const char *from = s->text, *to;

    for (int line = 1; line < it->at.line; line++)
        from = strchr(from, '\n') + 1;
    from += it->at.col - 1;
    to = from;
    for (int line = it->at.line; line < it->end.line; line++)
        to = strchr(to, '\n') + 1;
    to += it->end.col - (it->end.line == it->at.line ? it->at.col - 1 : 0);
    buf_putn(b, from, (size_t)(to - from));
    buf_putc(b, '\n');
}

bool dsl_ops(Buf *b, const Program *p, const char *name)
{
    if (name) {
        const Item *it = dsl_find_op(p, name);
        if (!it)
            return false;
        put_doc(b, it->doc, true);
        put_source(b, it);
        return true;
    }
    for (int i = 0; i < p->n_item; i++) {
        const Item *it = p->item[i];
        if (it->kind == ITEM_MODEL || dsl_find_op(p, it->name.text) != it)
            continue;
        put_signature(b, it);
        put_doc(b, it->doc, false);
    }
    return true;
}
