/* ast_line.h - one line of canonical text with the places where it may be
 * broken, and the printers of expressions, types and heads that fill it.
 * Private to dsl/. */
#ifndef DCC_DSL_AST_LINE_H
#define DCC_DSL_AST_LINE_H

#include "dsl.h"

/* A blank that may become a line's end. Low levels break first. */
typedef struct Break {
    size_t at;
    int level; /* LINE_LAST: only if all that follows fits one line */
} Break;

enum { LINE_LAST = -1, LINE_WIDTH = 100, LINE_INDENT = 2, LINE_MORE = 4 };

typedef struct Line {
    Buf text;
    Break *brk;
    int n, cap;
    size_t arrow; /* of a signature: its `->`, up to where the outermost
                     brackets do not count as nesting */
} Line;

void line_free(Line *l);
/* Appends the line to b at column `col` (0-based, already filled), continued
 * lines at `indent` + LINE_MORE, and more inside of brackets. `tail` bytes
 * will follow on the last one. */
void line_put(Buf *b, const Line *l, int col, int indent, int tail);

void line_expr(Line *l, const AstExpr *e, int level);
void line_signature(Line *l, const Item *it);
/* The statement to its `;`, or the head of one with a body. */
void line_stmt(Line *l, const AstStmt *s);
void line_note(Line *l, const Note *n);

#endif
