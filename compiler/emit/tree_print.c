#include "emit/tree.h"

enum { STEP = 4 };

void code_print(Buf *b, Code c)
{
    for (int i = 0; i < c.n; i++) {
        if (i && c.at[i].space)
            buf_putc(b, ' ');
        buf_puts(b, c.at[i].s);
    }
}

static void put(Buf *b, const Tree *t, int indent);

static void begin(Buf *b, int indent)
{
    buf_printf(b, "%*s", indent, "");
}

static void end(Buf *b, const char *note)
{
    if (note)
        buf_printf(b, "  %s", note);
    buf_putc(b, '\n');
}

static void put_items(Buf *b, const Tree *list, int indent)
{
    for (int i = 0; i < list->n_item; i++)
        put(b, list->item[i], indent);
}

/* What can stand as a body without braces. */
static bool is_bare(const Tree *body)
{
    if (body->braces)
        return false;
    for (int i = 0; i + 1 < body->n_item; i++)
        if (body->item[i]->kind != TREE_PRAGMA)
            return false;
    return body->n_item > 0 &&
           body->item[body->n_item - 1]->kind != TREE_DECLARE;
}

/* The rest of a line whose statement owns this body; true if the body ends
 * with a brace that something can follow on its line. */
static bool put_body(Buf *b, const Tree *body, const char *note, int indent)
{
    if (is_bare(body)) {
        end(b, note);
        put_items(b, body, indent + STEP);
        return false;
    }
    buf_puts(b, " {");
    end(b, note);
    put_items(b, body, indent + STEP);
    begin(b, indent);
    buf_putc(b, '}');
    return true;
}

/* A condition without parentheses of its own. */
static Code bare(Code c)
{
    while (c.n > 2 && token_is(&c.at[0], "(")) {
        int depth = 0, i = 0;
        do {
            depth += token_is(&c.at[i], "(") - token_is(&c.at[i], ")");
        } while (depth > 0 && ++i < c.n);
        if (i != c.n - 1)
            return c;
        c = (Code){c.at + 1, c.n - 2};
    }
    return c;
}

static void put_if(Buf *b, const Tree *t, int indent)
{
    buf_puts(b, "if (");
    code_print(b, bare(t->code));
    buf_putc(b, ')');
    bool brace = put_body(b, t->body, t->note, indent);
    const Tree *other = t->otherwise;
    if (!other) {
        if (brace)
            buf_putc(b, '\n');
        return;
    }
    if (brace)
        buf_putc(b, ' ');
    else
        begin(b, indent);
    buf_puts(b, "else");
    if (!other->braces && other->n_item == 1 &&
        other->item[0]->kind == TREE_IF && !t->else_note) {
        buf_putc(b, ' ');
        put_if(b, other->item[0], indent);
    } else if (put_body(b, other, t->else_note, indent)) {
        buf_putc(b, '\n');
    }
}

static void put_loop(Buf *b, const Tree *t, int indent)
{
    buf_puts(b, t->kind == TREE_FOR ? "for (" : "while (");
    if (t->kind == TREE_FOR) {
        code_print(b, t->init);
        buf_puts(b, t->code.n ? "; " : ";");
    }
    code_print(b, t->code);
    if (t->kind == TREE_FOR) {
        buf_puts(b, t->step.n ? "; " : ";");
        code_print(b, t->step);
    }
    buf_putc(b, ')');
    if (put_body(b, t->body, t->note, indent))
        buf_putc(b, '\n');
}

static void put_function(Buf *b, const Tree *t, int indent)
{
    code_print(b, t->code);
    buf_puts(b, " {");
    end(b, t->note);
    put_items(b, t->body, indent + STEP);
    begin(b, indent);
    buf_putc(b, '}');
    code_print(b, t->tail);
    buf_putc(b, '\n');
}

static void put(Buf *b, const Tree *t, int indent)
{
    if (t->kind == TREE_BLANK) {
        buf_putc(b, '\n');
        return;
    }
    if (t->kind == TREE_LIST && !t->braces) {
        put_items(b, t, indent);
        return;
    }
    begin(b, indent);
    switch (t->kind) {
    case TREE_LIST:
        buf_putc(b, '{');
        end(b, t->note);
        put_items(b, t, indent + STEP);
        begin(b, indent);
        buf_puts(b, "}\n");
        break;
    case TREE_FOR:
    case TREE_WHILE:
        put_loop(b, t, indent);
        break;
    case TREE_IF:
        put_if(b, t, indent);
        break;
    case TREE_FUNCTION:
        put_function(b, t, indent);
        break;
    case TREE_STATEMENT:
    case TREE_DECLARE:
        code_print(b, t->code);
        buf_putc(b, ';');
        end(b, t->note);
        break;
    case TREE_COMMENT:
    case TREE_PRAGMA:
    case TREE_HOLE:
        code_print(b, t->code);
        buf_putc(b, '\n');
        break;
    case TREE_BLANK:
        break;
    }
}

void tree_print(Buf *b, const Tree *t)
{
    put(b, t, 0);
}
