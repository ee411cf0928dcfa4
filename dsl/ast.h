/* ast.h - the tree of a program, as it was written.
 *
 * The parser builds it, dsl_check fills in the few fields marked (check), and
 * nobody changes it after that. All of it lives in the arena given to
 * dsl_parse. Every node has the span of the text it came from; a span of more
 * than one line covers the first token only. Names are plain strings: compare
 * with strcmp. An array that may be empty is NULL with a count of 0. */
#ifndef DCC_AST_H
#define DCC_AST_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct AstExpr AstExpr;
typedef struct AstStmt AstStmt;
typedef struct Item Item;

/* An identifier where it stands. text NULL: there is none. */
typedef struct Name {
    const char *text;
    Span at;
} Name;

/* from..to, half open. from NULL: no range is written. */
typedef struct Range {
    AstExpr *from, *to;
} Range;

/* ------------------------------------------------------------------ types */

typedef enum ElemKind {
    ELEM_F32,
    ELEM_F16,
    ELEM_BF16,
    ELEM_I8,
    ELEM_U8,
    ELEM_I32,
    ELEM_BOOL,
    ELEM_F8E4M3, /* reserved: dsl_check refuses it */
    ELEM_NAMED,  /* `type E = ..`, or a variable (T) of a signature */
} ElemKind;

typedef enum DimKind {
    DIM_SIZE, /* an expression; in a signature a lone unknown name binds */
    DIM_PACK, /* `..` (name.text is "") or `A..`; a list attribute's pack
                 (`T[shape..]`) looks the same: name is the attribute */
    DIM_AXIS, /* `D @ axis`: size name D, attribute `axis` */
} DimKind;

typedef struct TypeDim {
    DimKind kind;
    Span at;
    AstExpr *size; /* DIM_SIZE */
    Name name;  /* DIM_PACK, DIM_AXIS */
    Name axis;  /* DIM_AXIS */
} TypeDim;

/* `f32`, `f32[B, H]`, `T[.., D]`. */
typedef struct AstType {
    Span at;
    ElemKind elem;
    Name name;   /* how the element type is written; for ELEM_NAMED its name */
    bool shaped; /* brackets are written; `f32[]` is shaped with n_dim 0.
                    In a definition `: f32` leaves the shape open; everywhere
                    else no brackets means rank 0 */
    TypeDim *dim;
    int n_dim, cap_dim;
} AstType;

/* ------------------------------------------------------------ expressions */

typedef enum ArgKind {
    ARG_VALUE, /* value */
    ARG_NAMED, /* name = value, in calls and notes only */
    ARG_INDEX, /* name, with a range or without: `i in 0..4` on the left of a
                  definition (there always with a range; a plain name is an
                  ARG_VALUE holding an EXPR_NAME, since it may also be a
                  rank-0 tensor or loop variable); `k`, `k in a..b` in a
                  reduction */
    ARG_PACK,  /* `..` (name.text is "") or `A..` */
} ArgKind;

typedef struct Arg {
    ArgKind kind;
    Span at;
    Name name;
    AstExpr *value;
    Range range;
} Arg;

typedef struct Args {
    Arg *arg;
    int n, cap;
} Args;

typedef enum NumKind {
    NUM_INT,      /* integer: digits only; fits 63 bits */
    NUM_FRACTION, /* has a point or an exponent */
    NUM_INF,
    NUM_BOOL, /* true, false: integer is 1 or 0 */
} NumKind;

typedef enum UnaryOp { UN_NEG, UN_NOT } UnaryOp;

typedef enum BinaryOp {
    BIN_MUL,
    BIN_DIV,
    BIN_MOD,
    BIN_ADD,
    BIN_SUB,
    BIN_LT,
    BIN_GT,
    BIN_LE,
    BIN_GE,
    BIN_EQ,
    BIN_NE,
    BIN_AND,
    BIN_OR,
} BinaryOp;

typedef enum ReduceOp {
    RED_SUM,
    RED_MEAN,
    RED_PROD,
    RED_MAX,
    RED_MIN,
    RED_ARGMAX, /* this and the next: exactly one index, which is no pack */
    RED_ARGMIN,
} ReduceOp;

/* A piece of a string: text, or `{value}` where value is not NULL. */
typedef struct StrPart {
    const char *text;
    AstExpr *value;
} StrPart;

typedef struct String {
    Span at; /* with the quotes */
    StrPart *part;
    int n, cap; /* 0: "" */
} String;

/* A scalar function: those of math.h, rsqrt, abs, min, max. */
typedef struct Function {
    const char *name;
    int n_args;
    bool any_type; /* abs min max: integers stay integers; else integers are
                      converted to f32 */
} Function;

typedef enum AstExprKind {
    EXPR_NUMBER,
    EXPR_STRING,
    EXPR_NAME,   /* a bare name: index, size, attribute, loop variable, rank-0
                    tensor; in a whole definition also any tensor */
    EXPR_READ,   /* name[at..] or outside: tensor or list attribute */
    EXPR_CALL,   /* an op, a block or a function */
    EXPR_CAST,   /* f32(x), T(x) */
    EXPR_REDUCE, /* sum(k) term */
    EXPR_UNARY,
    EXPR_BINARY,
    EXPR_SELECT, /* c ? a : b */
    EXPR_LIST,   /* [1, 2]: an attribute's value */
} AstExprKind;

struct AstExpr {
    AstExprKind kind;
    bool paren; /* written in parentheses: for printing only */
    int depth;  /* 1 + the deepest operand's; at most DSL_MAX_DEPTH */
    Span at;
    union {
        struct {
            NumKind kind;
            int64_t integer; /* NUM_INT, NUM_BOOL */
            double value;    /* always */
            const char *text; /* as written */
        } number;
        String string;
        Name name;
        struct {
            Name name;
            Args at;       /* ARG_VALUE, ARG_PACK */
            AstExpr *outside; /* `or` value; NULL: the read must be inside */
        } read;
        struct {
            Name name;
            AstExpr *index; /* the l of layer[l](x); NULL: none */
            Args args;   /* ARG_VALUE then ARG_NAMED */
            bool has_as; /* `as "..."` */
            String as;
            const Item *item;     /* (check) the op or block called, or ... */
            const Function *func; /* (check) ... the function; one is NULL */
        } call;
        struct {
            ElemKind elem;
            Name name; /* as in AstType */
            AstExpr *value;
        } cast; /* T(x) is an EXPR_CALL until dsl_check */
        struct {
            ReduceOp op;
            Name name; /* the word */
            Args index; /* ARG_INDEX, ARG_PACK */
            AstExpr *term;
        } reduce;
        struct {
            UnaryOp op;
            AstExpr *value;
        } unary;
        struct {
            BinaryOp op;
            Span sign; /* the operator itself */
            AstExpr *left, *right;
        } binary;
        struct {
            AstExpr *cond, *yes, *no;
        } select;
        Args list; /* ARG_VALUE */
    };
};

/* What a parameter may begin as. */
typedef enum StartKind {
    START_NONE,
    START_NUMBER,  /* a everywhere */
    START_UNIFORM, /* drawn from [a, b) */
    START_NORMAL,  /* drawn with mean a and standard deviation b */
} StartKind;

/* A word of `param w : .. = normal(0.02);`, which is one only there. The
 * distribution's spread is scaled by `fan`: 1 / sqrt(inputs of an output), or
 * / sqrt(the mean of inputs and outputs). */
typedef struct Starter {
    const char *name;
    StartKind kind;
    enum { FAN_NONE, FAN_IN, FAN_MEAN } fan;
    int n_args, n_required;
    struct { const char *name; double value; } arg[2];
} Starter;

/* ------------------------------------------------------------- statements */

typedef struct Body {
    AstStmt **stmt;
    int n, cap;
    Span open, close; /* the braces */
} Body;

typedef enum NoteKind {
    AST_NOTE_NOFUSE,
    AST_NOTE_FUSE,
    AST_NOTE_TILE
} NoteKind;

/* @nofuse, @fuse(a, b), @tile(m = 128, n = 64, ..): values in args are
 * compile-time; @fuse takes names of tensors (EXPR_NAME). */
typedef struct Note {
    NoteKind kind; /* (check) from the name */
    Name name;
    Args args;
} Note;

typedef enum StmtKind {
    STMT_DIM,     /* dim B = e;  dim B in {1, 8}; */
    STMT_TYPE,    /* type E = f16; */
    STMT_INPUT,   /* input ids : i32[B] in 0..V; */
    STMT_PARAM,   /* param w : f16[N, K] = "fc.weight"; */
    STMT_STATE,   /* state k : f16[B, S] = 0; */
    STMT_REQUIRE, /* require c; */
    STMT_DEF,     /* [output] t[..] : f32 = e; */
    STMT_OUTPUT,  /* output y; */
    STMT_FOR,     /* for l in a..b { } */
    STMT_SCAN,    /* scan t in a..b { } */
    STMT_IF,      /* if (c) { } else { } */
} StmtKind;

struct AstStmt {
    StmtKind kind;
    Span at;  /* the first line of it */
    Span end; /* its last token: `;` or `}` */
    Note *note;
    int n_note, cap_note;
    Name name; /* what is declared or defined, or the loop variable */
    AstType *type; /* TYPE (no shape), INPUT, PARAM, STATE, DEF; DEF: or NULL */
    union {
        struct {
            AstExpr *value;
            Args choices; /* dim B in {..}: ARG_VALUE */
        } dim;
        Range input; /* the caller's promise; from NULL: none */
        struct {
            bool has_path;
            String path; /* the last part of the name in the weights file */
            AstExpr *start; /* initial value: a number, or an initialiser's
                               name or call; NULL: none */
        } param; /* PARAM, STATE: without a start that is 0, and with a path it
                    is in the weights file */
        AstExpr *require;
        struct {
            bool output;  /* `output t .. = e;` */
            bool indexed; /* brackets on the left, `t[] = e` included */
            bool add;     /* `+=` */
            Args left;    /* ARG_VALUE, ARG_INDEX, ARG_PACK */
            AstExpr *value;
        } def;
        struct {
            Range range;
            Body body;
            bool params; /* `for w in params`: no range */
        } loop; /* FOR, SCAN */
        struct {
            AstExpr *cond;
            Body yes, no; /* `else if` is a `no` of one STMT_IF */
            bool has_else, else_if;
        } branch;
    };
};

/* ------------------------------------------------------------------ items */

/* x: T[N, C, ..]  or, one that may be left out,  b: T[E] = 0 */
typedef struct Param {
    Name name;
    AstType *type;
    AstExpr *value; /* NULL: required */
} Param;

typedef enum AttrKind {
    ATTR_ONE,   /* eps = 1e-5: a number or a string */
    ATTR_COUNT, /* stride[2] = 1: so many; one value stands for all */
    ATTR_LIST,  /* shape[]: a list of any length */
    ATTR_TYPE,  /* type E = f16: value is an EXPR_NAME, of a type */
} AttrKind;

typedef struct Attr {
    AttrKind kind;
    Name name;
    AstExpr *count; /* ATTR_COUNT */
    AstExpr *value; /* the default, NULL: required */
} Attr;

typedef enum ItemKind { ITEM_OP, ITEM_BLOCK, ITEM_MODEL } ItemKind;

/* The ops without a body, which are the compiler's own. */
typedef enum ViewKind {
    VIEW_NONE,
    VIEW_RESHAPE,
    VIEW_TRANSPOSE,
    VIEW_CONCAT, /* any number of tensors */
    VIEW_GRAD,
    VIEW_STOP,
    VIEW_RANDOM,
} ViewKind;

struct Item {
    ItemKind kind;
    Span at;  /* the word op, block or model */
    Span end; /* its last token */
    Name name;
    const char *doc; /* comment lines right above, joined by \n; or NULL */
    bool library;
    Param *param;
    int n_param, cap_param;
    Attr *attr;
    int n_attr, cap_attr;
    Name result;       /* not for models */
    AstType *result_type; /* or NULL: from the definition */
    bool has_body;
    ViewKind view; /* (check) */
    Body body;
};

typedef struct Comment {
    Span at;
    const char *text; /* with the //, without trailing blanks */
    bool alone;       /* nothing else on its line */
} Comment;

typedef struct Program {
    const Source **source; /* the library's first */
    int n_source, cap_source;
    Item **item; /* in the order of the files; the library's first */
    int n_item, cap_item;
    Comment *comment; /* in the order of the text */
    int n_comment, cap_comment;
} Program;

#endif
