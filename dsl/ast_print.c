/* The canonical layout. What is kept of the user's: comments, single empty
 * lines, which statements share a line, and which bodies stand on one line -
 * as far as LINE_WIDTH allows. All else follows from the tree. */
#include "ast_line.h"

typedef struct Print {
    Buf *out;
    const Program *program;
    const Source *source;
    int comment;   /* the next one */
    int indent;
    int last;      /* source line of what was printed last */
    bool fresh;    /* nothing in this body or file yet */
} Print;

static int column(const Print *p)
{
    size_t i = p->out->len;

    while (i && p->out->text[i - 1] != '\n')
        i--;
    return (int)(p->out->len - i);
}

/* ---- comments and empty lines */

static const Comment *next_comment(Print *p)
{
    for (; p->comment < p->program->n_comment; p->comment++)
        if (p->program->comment[p->comment].at.source == p->source)
            return &p->program->comment[p->comment];
    return NULL;
}

static bool before(Span a, Span b)
{
    return a.line < b.line || (a.line == b.line && a.col < b.col);
}

static bool comment_within(Print *p, Span from, Span to)
{
    const Program *g = p->program;

    for (int i = p->comment; i < g->n_comment; i++)
        if (g->comment[i].at.source == p->source &&
            before(from, g->comment[i].at))
            return before(g->comment[i].at, to);
    return false;
}

/* Begins a line for something at source line `line`. */
static void begin(Print *p, int line)
{
    if (!p->fresh && line - p->last > 1)
        buf_putc(p->out, '\n');
    p->fresh = false;
    buf_printf(p->out, "%*s", p->indent, "");
}

/* The comments before `end` on lines of their own, as if at `line` or above. */
static void flush_comments(Print *p, Span end, int line)
{
    const Comment *c;

    while ((c = next_comment(p)) && before(c->at, end)) {
        int at = c->at.line < line ? c->at.line : line;
        begin(p, at);
        buf_printf(p->out, "%s\n", c->text);
        p->last = at;
        p->comment++;
    }
}

/* Ends the line of what ended at `end`, with the comment that stands there. */
static void end_line(Print *p, Span end)
{
    const Comment *c = next_comment(p);

    if (c && c->at.line == end.line && !c->alone && before(end, c->at)) {
        buf_printf(p->out, "  %s", c->text);
        p->comment++;
    }
    buf_putc(p->out, '\n');
    p->last = end.line;
}

/* ---- bodies */

static void print_body(Print *p, const Body *b);
static void print_stmts(Print *p, const Body *b);

static bool has_body(const AstStmt *s)
{
    return s->kind == STMT_FOR || s->kind == STMT_SCAN || s->kind == STMT_IF;
}

static bool simple(const AstStmt *s)
{
    return !has_body(s) && !s->n_note;
}

/* ` { a;  b; }` if the source has it on one line, without comments, and
 * it fits after column `col`; `also` more bytes follow. */
static bool one_line(Print *p, Line *l, const Body *b, int col, size_t also)
{
    buf_puts(&l->text, " {");
    if (b->open.line != b->close.line ||
        comment_within(p, b->open, b->close))
        return false;
    for (int i = 0; i < b->n; i++) {
        if (!simple(b->stmt[i]))
            return false;
        buf_puts(&l->text, i ? "  " : " ");
        line_stmt(l, b->stmt[i]);
    }
    buf_puts(&l->text, " }");
    return (size_t)col + l->text.len + also <= LINE_WIDTH;
}

static void print_body(Print *p, const Body *b)
{
    buf_puts(p->out, " {");
    bool empty = !b->n && !comment_within(p, b->open, b->close);
    if (empty) {
        buf_puts(p->out, " }");
        return;
    }
    end_line(p, b->open);
    p->indent += LINE_INDENT;
    p->fresh = true;
    print_stmts(p, b);
    flush_comments(p, b->close, b->close.line);
    p->indent -= LINE_INDENT;
    p->fresh = false;
    buf_printf(p->out, "%*s}", p->indent, "");
    p->last = b->close.line;
}

static void print_one_or_body(Print *p, const Body *b)
{
    Line l = {0};

    if (one_line(p, &l, b, column(p), 0))
        buf_puts(p->out, l.text.text);
    else
        print_body(p, b);
    line_free(&l);
}

/* if and else on one line each, or on one. False: neither fits. */
static bool short_branch(Print *p, const AstStmt *s)
{
    Line yes = {0}, no = {0};
    int col = column(p);
    bool ok = one_line(p, &yes, &s->branch.yes, col, 0) &&
              !s->branch.else_if &&
              (!s->branch.has_else ||
               (one_line(p, &no, &s->branch.no, p->indent + 4, 0) &&
                !comment_within(p, s->branch.yes.close, s->branch.no.open)));

    if (ok) {
        bool joined = s->branch.no.open.line == s->branch.yes.close.line &&
                      (size_t)col + yes.text.len + no.text.len + 5
                          <= LINE_WIDTH;
        buf_puts(p->out, yes.text.text);
        if (s->branch.has_else && joined)
            buf_puts(p->out, " ");
        else if (s->branch.has_else)
            buf_printf(p->out, "\n%*s", p->indent, "");
        if (s->branch.has_else)
            buf_printf(p->out, "else%s", no.text.text);
    }
    line_free(&yes);
    line_free(&no);
    return ok;
}

static void print_branch(Print *p, const AstStmt *s, bool chained)
{
    if (!chained && short_branch(p, s))
        return;
    print_body(p, &s->branch.yes);
    if (!s->branch.has_else)
        return;
    buf_puts(p->out, " else");
    if (!s->branch.else_if) {
        print_body(p, &s->branch.no);
        return;
    }
    Line l = {0};
    buf_putc(p->out, ' ');
    line_stmt(&l, s->branch.no.stmt[0]);
    line_put(p->out, &l, column(p), p->indent, 2);
    line_free(&l);
    print_branch(p, s->branch.no.stmt[0], true);
}

static void print_notes(Print *p, const AstStmt *s)
{
    for (int i = s->n_note; i-- > 0;) {
        Line l = {0};
        line_note(&l, &s->note[i]);
        buf_putc(&l.text, ' ');
        buf_puts(p->out, l.text.text);
        line_free(&l);
    }
}

static void print_stmt(Print *p, const AstStmt *s)
{
    Line l = {0};

    print_notes(p, s);
    line_stmt(&l, s);
    line_put(p->out, &l, column(p), p->indent, has_body(s) ? 2 : 0);
    line_free(&l);
    if (s->kind == STMT_FOR || s->kind == STMT_SCAN)
        print_one_or_body(p, &s->loop.body);
    else if (s->kind == STMT_IF)
        print_branch(p, s, false);
}

/* Does `s`, short, follow `last` on its line? */
static bool shares_line(Print *p, const AstStmt *last, const AstStmt *s)
{
    Line l = {0};

    if (!last || !simple(last) || !simple(s) || s->at.line != last->end.line)
        return false;
    line_stmt(&l, s);
    bool fits = (size_t)column(p) + 2 + l.text.len <= LINE_WIDTH;
    line_free(&l);
    return fits;
}

static void print_stmts(Print *p, const Body *b)
{
    const AstStmt *last = NULL;

    for (int i = 0; i < b->n; i++) {
        const AstStmt *s = b->stmt[i];
        if (shares_line(p, last, s)) {
            buf_puts(p->out, "  ");
        } else {
            if (last)
                end_line(p, last->end);
            flush_comments(p, has_body(s) ? s->at : s->end, s->at.line);
            begin(p, s->at.line);
        }
        print_stmt(p, s);
        p->last = s->end.line;
        last = s;
    }
    if (last)
        end_line(p, last->end);
}

/* ---- items and files */

static void print_item(Print *p, const Item *it)
{
    Line l = {0};

    flush_comments(p, it->at, it->at.line);
    begin(p, it->at.line);
    line_signature(&l, it);
    if (!it->has_body)
        buf_putc(&l.text, ';');
    line_put(p->out, &l, 0, 0, it->has_body ? 2 : 0);
    line_free(&l);
    if (it->has_body)
        print_one_or_body(p, &it->body);
    end_line(p, it->end);
}

static void print_source(Buf *b, const Program *g, const Source *s)
{
    Print p = {.out = b, .program = g, .source = s, .fresh = true};

    for (int i = 0; i < g->n_item; i++)
        if (g->item[i]->name.at.source == s)
            print_item(&p, g->item[i]);
    flush_comments(&p, (Span){s, INT32_MAX, 1, 1}, INT32_MAX);
}

void ast_print(Buf *b, const Program *p, const Source *only)
{
    for (int i = 0; i < p->n_source; i++)
        if (only ? p->source[i] == only : !p->source[i]->library)
            print_source(b, p, p->source[i]);
}
