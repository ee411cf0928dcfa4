/* tree.h - the code of a kernel as a tree.
 *
 * Statements are nodes, expressions are lists of tokens. A tree comes from text
 * in the C that kernels are written in (tree_parse: a template) or from a
 * quotation with holes (tree_quote.h); passes that all
 * kernels share work on it (tree_pass.h); tree_print writes it. What a tree
 * prints does not depend on how the text that it came from was laid out: one
 * statement is one line, and cprint_lines breaks the long ones.
 *
 * The language: declarations, statements, `for`, `while`, `if` with `else`,
 * blocks, functions (lambdas too) and structs, `//` comments, `#` lines. Other
 * words of C (`switch`, `do`, `goto`) are defects of whoever wrote them: the
 * process ends with status 70 and says where.
 *
 * By the house's layout a `<` without a blank before it opens a template's
 * arguments and one between blanks compares. */
#ifndef DCC_TREE_H
#define DCC_TREE_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    TOKEN_WORD,   /* an identifier or keyword */
    TOKEN_NUMBER,
    TOKEN_STRING, /* a character too */
    TOKEN_MARK,   /* punctuation: the longest that C has */
    TOKEN_HOLE    /* of a quotation: its name is `s` */
} TokenKind;

typedef struct Token {
    const char *s;
    TokenKind kind;
    bool space;  /* a blank stands before it */
    bool fresh;  /* a pass put it there: arithmetic with it may be folded */
} Token;

/* Part of an array of tokens; the array is never written through it. */
typedef struct Code {
    const Token *at;
    int n;
} Code;

typedef enum {
    TREE_LIST,      /* item: statements, in a scope of their own if braces */
    TREE_STATEMENT, /* code, without its `;` */
    TREE_DECLARE,   /* the same, and it declares something */
    TREE_FOR,       /* init, code (the condition), step; body */
    TREE_WHILE,     /* code; body */
    TREE_IF,        /* code; body, otherwise (or NULL) */
    TREE_FUNCTION,  /* code { body } tail: a lambda's declaration, a call with a
                       lambda, a struct; tail has its `;` */
    TREE_COMMENT,   /* code: one token, the whole line from its // */
    TREE_PRAGMA,    /* code: one token, the whole line from its # */
    TREE_BLANK,     /* an empty line */
    TREE_HOLE       /* code: one token, a statement's place in a quotation */
} TreeKind;

typedef struct Tree Tree;
struct Tree {
    TreeKind kind;
    bool braces;             /* of a list that is a body: it has them */
    Code code, init, step, tail;
    Tree *body, *otherwise;  /* lists */
    Tree **item; int n_item, cap_item;
    Arena *arena;            /* of a list: where it grows */
    const char *note;        /* "// ..." at the end of its (first) line */
    const char *else_note;
};

/* ---- making ------------------------------------------------------------ */

/* text as a list. `what` names it in a defect's message. */
Tree *tree_parse(Arena *a, const char *text, const char *what);
/* text as tokens, for one expression or statement without its `;`. */
Code code_parse(Arena *a, const char *text, const char *what);

Tree *tree_list(Arena *a);
/* A node of this kind; code may be empty. */
Tree *tree_new(Arena *a, TreeKind kind, Code code);
Tree *tree_comment(Arena *a, const char *text); /* with its // */
/* Appends t; the items of a list without braces one by one. */
void tree_add(Tree *list, Tree *t);
Tree *tree_copy(Arena *a, const Tree *t);

/* ---- asking ------------------------------------------------------------ */

bool token_is(const Token *t, const char *s);
/* Whether the token at i names a thing, rather than another's member. */
bool code_names(Code c, int i);
/* The index after the bracket that closes the one at i; `<` opens a template's
 * arguments here. */
int code_after_bracket(Code c, int i);
/* How often c, or t with all that is in it, names `id`. */
int code_mentions(Code c, const char *id);
int tree_mentions(const Tree *t, const char *id);
/* The same, and comments count that speak of it. */
bool tree_speaks_of(const Tree *t, const char *id);
/* Calls f for each list of tokens in t; it may replace them. */
void tree_codes(Tree *t, void (*f)(Code *c, void *ctx), void *ctx);

/* The names that a declaration gives: what begins each declarator, and where
 * it ends. */
typedef struct Declared {
    const char *name;
    int first, end;  /* of its tokens in the code, `*` or `&` included */
    int value;       /* the first token of its initialiser, or end */
} Declared;
enum { MAX_DECLARED = 16 };
/* How many; 0 if c declares nothing. *type: tokens of the common type. */
int code_declares(Code c, Declared d[MAX_DECLARED], int *type);
/* The name that a function's or lambda's node declares, or NULL. */
const char *tree_function_name(const Tree *t);

/* ---- printing ---------------------------------------------------------- */

void code_print(Buf *b, Code c);
/* Each statement on one line, indented by its depth alone. */
void tree_print(Buf *b, const Tree *t);

/* A defect of dcc: the message, status 70. */
void tree_defect(const char *what, const char *message, const char *at)
    __attribute__((noreturn));

#endif
