/* parse.h - what the scanner (dcl.l), the grammar (dcl.y) and the makers of
 * nodes (build.c) share while one source is read. Private to dsl/. */
#ifndef DCC_DSL_PARSE_H
#define DCC_DSL_PARSE_H

#include "dsl.h"

/* A span that may end on a later line: the grammar's location. */
typedef struct Loc {
    Span at;
    int end_line, end_col; /* just after its last byte */
} Loc;

typedef struct Bracket {
    char c;
    Span at;
} Bracket;

typedef enum NoteState { NO_NOTE, NOTE_AT, NOTE_NAMED, NOTE_ARGS } NoteState;

typedef struct Parser {
    Arena *arena;
    Diag *diag;
    const Source *source;
    Program *program;
    void *scanner;
    bool stop; /* a fatal error was reported: no more of this source */

    /* The scanner's place, and the token it read last and before that. */
    size_t offset, token_offset, token_len;
    int line, col;
    int last_line, last_col; /* the end of the token before the last */
    bool alone;   /* only blanks so far on this line */
    bool in_hole; /* inside the {} of a string */
    bool odd_letter, odd_space; /* has been said */
    Span quote;   /* the string's opening quote */
    bool failed;  /* a syntax error was reported */
    int bad_line, bad_col; /* of the token of which the scanner has said that
                              it is none */
    Bracket bracket[DSL_MAX_NESTING];
    int n_bracket;

    /* What is being read, for messages. */
    bool fresh; /* the next token begins a statement or an item */
    NoteState note;
    int first, second;   /* its first tokens; 0: it has not come to it */
    const char *subject; /* its first name, or NULL */
} Parser;

typedef struct ParamList {
    Param *param;
    int n, cap;
} ParamList;

typedef struct AttrList {
    Attr *attr;
    int n, cap;
} AttrList;

/* ---- parse.c: driving, and syntax errors */

/* "expected WHAT, found .." at the token read last. */
void parse_expected(Parser *p, const char *what, bool semicolon);
void parse_too_deep(Parser *p, Span at);
/* After recovery at the end of a statement: forget brackets left open. */
void parse_recovered(Parser *p);
/* The same after an item. */
void parse_recovered_item(Parser *p);

/* ---- build.c: nodes. All of them report what the grammar lets through and
 * return a node in any case. */

AstExpr *build_number(Parser *p, Loc at, const char *text);
AstExpr *build_string(Parser *p, Loc at, String s);
AstExpr *build_name(Parser *p, Name n);
AstExpr *build_read(Parser *p, Loc at, Name n, Args args);
AstExpr *build_outside(Parser *p, Loc at, AstExpr *read, AstExpr *outside);
AstExpr *build_call(Parser *p, Loc at, Name n, AstExpr *index, Args args);
AstExpr *build_call_of_read(Parser *p, Loc at, AstExpr *read, Args args);
AstExpr *build_as(Parser *p, Loc at, AstExpr *call, String path);
/* A call that no factor follows: it takes no ranges and no packs. */
AstExpr *build_plain_call(Parser *p, AstExpr *call);
AstExpr *build_cast(Parser *p, Loc at, Name elem, Args args);
AstExpr *build_reduce(Parser *p, Loc at, AstExpr *call, AstExpr *term);
AstExpr *build_unary(Parser *p, Loc at, UnaryOp op, AstExpr *value);
AstExpr *build_binary(Parser *p, Loc at, BinaryOp op, Loc sign, AstExpr *left,
                      AstExpr *right);
AstExpr *build_select(Parser *p, Loc at, AstExpr *cond, AstExpr *yes,
                      AstExpr *no);
AstExpr *build_list(Parser *p, Loc at, Args args);

AstType *build_type(Parser *p, Loc at, Name name);
Arg build_arg(ArgKind kind, Loc at, Name name, AstExpr *value, Range range);
void build_left(Parser *p, Args *left);
void build_note(Parser *p, Note *note);
/* What stands after the `=` of a parameter: a lone string is its name. */
void build_param(AstStmt *s, AstExpr *e);
AstStmt *build_stmt(Parser *p, StmtKind kind, Loc at, Name name, AstType *type);
void build_item(Parser *p, Item *it, Loc at, ItemKind kind);

#endif
