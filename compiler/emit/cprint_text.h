/* cprint_text.h - text of a C expression with its precedence; shared by the
 * parts of cprint only. */
#ifndef DCC_CPRINT_TEXT_H
#define DCC_CPRINT_TEXT_H

#include "emit/cprint.h"

enum {
    P_COND = 1, P_OR, P_AND, P_EQ, P_REL, P_ADD, P_MUL, P_UNARY, P_ATOM
};

typedef struct Text {
    const char *s;
    int prec;
} Text;

/* Takes b's text into the arena and frees b. */
Text text_take(CPrint *p, Buf *b, int prec);
/* t, in parentheses if it binds less tightly than `need`. */
void text_put(Buf *b, Text t, int need);
/* An identifier or a number. */
bool text_plain(const char *s);
Text text_guard(CPrint *p, Guard g);
/* Of the expressions that were met only the first n stay known. */
void cprint_forget(CPrint *p, int n);
/* Whether e is i32 arithmetic that may leave 32 bits, and what wraps then. */
bool text_wraps(const CPrint *p, const Expr *e);
const char *text_wrapping(Func f);
/* e's value; temporaries go to body, NULL: everything inline. */
Text text_expr(Tree *body, CPrint *p, const Expr *e, const char *hint);

#endif
