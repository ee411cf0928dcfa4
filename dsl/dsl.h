/* dsl.h - the language: text to checked tree, tree to canonical text.
 *
 * dsl_parse and dsl_check report every user's error through a Diag; they never
 * print and never exit. dsl/LANGUAGE.md describes the language. */
#ifndef DCC_DSL_H
#define DCC_DSL_H

#include "ast.h"

enum {
    DSL_MAX_NESTING = 200, /* brackets of all sorts around a token */
    DSL_MAX_DEPTH = 1000,  /* operators of one expression inside another */
};

/* Parses the library and then the files into one program. Syntax errors are
 * reported, several in a run, and what could be read is returned all the same:
 * look at diag_errors before going on. The sources must outlive the program. */
Program *dsl_parse(Arena *a, Diag *d, const Source **files, int n);

/* Everything that can be said without shapes, types and values: names and
 * their sorts, scopes, arity, order of definitions, what is allowed where.
 * Fills in the (check) fields. With need_model a program without a model is an
 * error at 1:1 of the first file. True if no error was reported. */
bool dsl_check(Arena *a, Diag *d, Program *p, bool need_model);

/* The op or block that `name` means in users' code, else NULL. */
Item *dsl_find_op(const Program *p, const char *name);
/* The model of that name; name NULL: the first of the program. */
Item *dsl_find_model(const Program *p, const char *name);
/* The scalar function of that name, else NULL. */
const Function *dsl_find_function(const char *name);

/* The initialiser of that name, else NULL. */
const Starter *dsl_find_starter(const char *name);

/* The name in `names` most like `name`, or NULL if none is near enough. */
const char *dsl_nearest(const char *name, const char *const *names, int n);

/* Canonical text of one source (NULL: of all but the library), comments kept.
 * Printing what was parsed from printed text gives the same text. Only for
 * programs without syntax errors. */
void ast_print(Buf *b, const Program *p, const Source *only);
/* One expression, type or statement's left side in canonical form. */
void ast_print_expr(Buf *b, const AstExpr *e);
void ast_print_type(Buf *b, const AstType *t);
void ast_print_signature(Buf *b, const Item *it);
/* The tree, fully bracketed, one node a line where it helps: for tests. */
void ast_dump(Buf *b, const Program *p, const Source *only);

/* `dcc ops`: every op with its signature and first line of documentation;
 * with a name that op in full, with its definition. False: no such op. */
bool dsl_ops(Buf *b, const Program *p, const char *name);

/* True for the words that are no names, element types included. */
bool dsl_is_reserved(const char *word, size_t len);

/* Words for messages and dumps. */
const char *elem_name(ElemKind k);
ElemKind elem_of(const char *name); /* ELEM_NAMED: none of the words */
const char *binary_name(BinaryOp op);
const char *reduce_word(ReduceOp op);
const char *item_kind_name(ItemKind k);

/* The library's text, embedded by the build (tools/embed.awk). */
extern const char dsl_prelude_text[];
extern const size_t dsl_prelude_len;

#endif
