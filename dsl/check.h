/* check.h - what the parts of dsl_check share: scope.c keeps names,
 * check_expr.c and check_call.c go through expressions, check_sig.c through
 * signatures and types, check.c through statements and items. Private to
 * dsl/. */
#ifndef DCC_DSL_CHECK_H
#define DCC_DSL_CHECK_H

#include "dsl.h"

/* Where a name of a body is looked up. */
typedef enum Space {
    SPACE_TENSOR, /* tensors and list attributes */
    SPACE_VALUE,  /* sizes, attributes, loop variables */
    SPACE_TYPE,
} Space;

typedef enum SymKind {
    SYM_SIZE,
    SYM_ATTR,
    SYM_FOR,
    SYM_SCAN,
    SYM_TYPE,
    SYM_LIST,   /* a list attribute */
    SYM_ARG,    /* an op's parameter, a tensor like those below */
    SYM_INPUT,
    SYM_PARAM,
    SYM_STATE,
    SYM_TRAINED, /* w of `for w in params`: a tensor, and a text */
    SYM_TENSOR, /* defined by a definition */
} SymKind;

enum {
    RANK_UNKNOWN = -1, /* of a whole definition */
    RANK_PACKS = -2,   /* has a pack, so written with brackets */
};

typedef enum Defined { DEFINED_NO, DEFINED_MAYBE, DEFINED_YES } Defined;

typedef struct Sym {
    SymKind kind;
    const char *name;
    Span at;
    int rank; /* of tensors: 0.., or RANK_.. */
    Defined defined;
    bool unread; /* surely defined and not read since */
    bool output;
    bool blamed; /* an error about it was reported: what follows is quiet */
    int below; /* in its bucket: 1 + the one before it, or 0 */
} Sym;

enum { BUCKETS = 1024 };

/* An index or a pack in use. */
typedef struct Bound {
    const char *name;
    bool pack;
    Span at;
} Bound;

/* A name that is defined somewhere in the body. */
typedef struct Later {
    const char *name;
    Span at;
    const AstStmt *loop; /* the outermost loop around it */
} Later;

typedef struct Edge {
    Item *from, *to;
    Span at;
    bool done;
} Edge;

typedef struct Check {
    Arena *arena;
    Diag *diag;
    Program *program;
    Item *item; /* being checked */
    const AstStmt *loop; /* the outermost loop around the statement, or NULL */
    Sym *sym;
    int n_sym, cap_sym;
    int bucket[BUCKETS]; /* by name: 1 + the last of them, or 0 */
    Bound *bound; /* indices and packs of the statement */
    int n_bound, cap_bound;
    Bound *pack; /* packs of the signature */
    int n_pack, cap_pack;
    Later *later;
    int n_later, cap_later;
    Map *unknown; /* of the item, sizes and tensors without a meaning that were
                     reported */
    Edge *edge; /* who calls whom */
    int n_edge, cap_edge;
    int outputs;
} Check;

/* How an expression is to be understood. */
typedef enum Mode {
    MODE_CONST,   /* a compile-time value */
    MODE_WHOLE,   /* the right side of t = e */
    MODE_INDEXED, /* the right side of t[i] = e */
} Mode;

/* ---- scope.c */

Sym *scope_find(Check *c, Space space, const char *name);
Sym *scope_add(Check *c, SymKind kind, Name name);
/* Reports a second declaration of a size, attribute, loop variable, type,
 * input .. and adds the name all the same. */
Sym *scope_declare(Check *c, SymKind kind, Name name, int rank);
const char *sym_words(const Sym *s); /* "a size" */
bool sym_is_tensor(const Sym *s);
void scope_read(Sym *s);
const Bound *scope_bound(const Check *c, const char *name, bool pack);
bool scope_has_pack(const Check *c, const char *name);
/* An index comes into use; reports clashes. */
void scope_bind_index(Check *c, Name name);
/* A pack comes into use; reports clashes and packs not of the signature. */
void scope_bind_pack(Check *c, Name name);

/* Reports a name that means nothing, with the nearest of the spaces: once in
 * an item, or wherever it stands if it may be an index. */
void scope_unknown(Check *c, Name name, const char *what, unsigned spaces,
                   bool indices);
/* " (did you mean 'x'?)" or "". */
const char *scope_hint(Check *c, const char *name, const char *const *names,
                       int n);

/* The state of all names, for the arms of an `if`. */
typedef struct Snapshot {
    Sym *sym;
    int n;
} Snapshot;

Snapshot scope_save(Check *c);
void scope_restore(Check *c, Snapshot s);
void scope_merge(Check *c, Snapshot other);

/* ---- check_expr.c */

void check_expr(Check *c, AstExpr *e, Mode mode);
void check_string(Check *c, String *s);
void check_range(Check *c, Range *r);
/* A value given to an attribute, or its default. */
void check_attr_value(Check *c, const Item *it, const Attr *a, AstExpr *e);

/* ---- check_call.c */

void check_call(Check *c, AstExpr *e, Mode mode);
void check_cycles(Check *c);

/* ---- check_sig.c */

void check_signature(Check *c, Item *it);
/* The element type and the dimensions of a type in a body or a result. */
void check_type(Check *c, AstType *t);
void check_elem(Check *c, ElemKind elem, Name name);
int type_rank(const AstType *t); /* no brackets are rank 0 */

#endif
