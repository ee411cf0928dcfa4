/* ref_text.h - the oracle's functions as C: shared by emit_ref*.c only.
 *
 * Every expression is printed in one of two ways: `plain`, on doubles and
 * int64_t, or with bounds, as calls on dcc_pair (runtime/dcc_ref.h). */
#ifndef DCC_REF_TEXT_H
#define DCC_REF_TEXT_H

#include "graph/graph.h"

typedef struct RefName {
    const void *of; /* Var or Tensor */
    const char *text;
} RefName;

/* What the expression being printed has in several places. */
typedef struct RefShare RefShare;

/* The function being printed. */
typedef struct RefText {
    Graph *graph;
    bool pairs;
    const Tensor *kept; /* Ref's */
    RefName *name; int n_name, cap_name;
    RefShare *share;    /* of the whole expression in hand; NULL: none is */
} RefText;

/* A marked identifier (emit/names.h) for a variable or tensor, unique in this
 * function; ref_functions gives it its last spelling. */
const char *ref_name(RefText *r, const void *of, const char *wanted);
/* `text` with everything that no identifier may hold as _. */
const char *ref_ident(Arena *a, const char *text);
bool ref_mentions(const char *text, const char *ident);

/* Operator precedence, as in C; REF_ANY needs no parentheses. */
enum {
    REF_ANY, REF_COND, REF_OR, REF_AND, REF_EQ, REF_REL, REF_SUM, REF_MUL,
    REF_UNARY, REF_ATOM
};
void ref_idx(Buf *b, RefText *r, const Idx *e, int prec);
/* A conjunction, in parentheses if there is more than one condition. */
void ref_guard(Buf *b, RefText *r, Guard g);
void ref_expr(Buf *b, RefText *r, const Expr *e, int prec);
/* The same where its value counts, and not its last 32 bits alone. */
void ref_value(Buf *b, RefText *r, const Expr *e, int prec);
/* emit_ref_share.c: before all of a large expression, which ends in "; })" then,
 * names for its parts; the name of one, or NULL. */
bool ref_open_shared(Buf *b, RefText *r, const Expr *e);
const char *ref_shared(RefText *r, const Expr *e);
/* Row-major element offset of at[]. */
const Idx *ref_offset(Graph *g, const Tensor *t, const Idx *const *at);
/* dcc_type's constant: DCC_F32, ... */
const char *ref_type(Type t);

/* ---- statements: emit_ref_stmt.c */

/* The functions of one kind of statement. */
typedef struct RefBody {
    const char *name; /* suffix of all_, point_, ... */
    const char *text; /* all of them, with @ for the name */
} RefBody;

typedef struct Ref {
    Buf *b;
    Arena *arena;
    Graph *graph;
    int model;         /* its number */
    bool dual;         /* with a table of gradients, for ref_gradient.c */
    RefBody *body; int n_body, cap_body; /* over all models */
    /* of the statement in hand */
    const Stmt *stmt;
    const Tensor **arg; int n_arg, cap_arg; /* written, then read */
    bool narrow;       /* reads 16-bit floats */
    const Tensor *kept; /* whose deviations it sums: dcc_ref_kept */
} Ref;

/* Fills the last part of r. */
void ref_find_args(Ref *r, const Stmt *s);
/* The name of the functions that compute s, printed if they are new. */
const char *ref_functions(Ref *r, const Stmt *s);
const char *ref_label(const Stmt *s);           /* layer.0.h */
const char *ref_place(Arena *a, Span at);       /* mlp.dcl:9 */

#endif
