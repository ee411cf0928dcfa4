/* ir.h - an ONNX graph with functions, branches and loops written out: nodes
 * in order, values with element type, shape and, where it is known, contents.
 *
 * A symbolic size (the batch) is worked with as a large prime, so that all
 * shape arithmetic is plain arithmetic in 64 bits: a size that is a multiple
 * of the prime is that multiple of the batch, and any other large size is
 * one that the batch decides in another way, which is an error. */
#ifndef DCC_IMPORT_IR_H
#define DCC_IMPORT_IR_H

#include "support/support.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    IMPORT_MAX_RANK = 8,
    IMPORT_BATCH = 1000003,      /* stands for the batch */
    IMPORT_MAX_FOLD = 1 << 22,   /* elements of a tensor worked out here */
    IMPORT_MAX_TURNED = 1 << 29, /* bytes of weights written turned */
    IMPORT_MAX_NODES = 200000,   /* after loops are written out */
};

/* ONNX's TensorProto.DataType */
typedef enum {
    OT_NONE, OT_FLOAT, OT_UINT8, OT_INT8, OT_UINT16, OT_INT16, OT_INT32,
    OT_INT64, OT_STRING, OT_BOOL, OT_FLOAT16, OT_DOUBLE, OT_UINT32,
    OT_UINT64, OT_COMPLEX64, OT_COMPLEX128, OT_BFLOAT16, OT_TYPES
} OnnxType;

/* How a file of weights and a program begin that are made here. */
#define IMPORT_MADE_BY {"made_by", "dcc import"}
#define IMPORT_WEIGHTS_BEGIN \
    "{\"__metadata__\":{\"made_by\":\"dcc import\"}"
#define IMPORT_TEXT_BEGIN "// Imported from "

const char *onnx_type_name(OnnxType t); /* "float32", "int64", ... */
int onnx_type_size(OnnxType t);         /* bytes; 0: not a plain type */
bool onnx_is_float(OnnxType t);
bool onnx_is_int(OnnxType t);           /* bool is none */

/* rank -1: not known */
typedef struct Shape {
    int rank;
    int64_t dim[IMPORT_MAX_RANK];
} Shape;

/* The contents of a tensor, little-endian, row-major; a splat holds one
 * element that stands for all. */
typedef struct Const {
    OnnxType type;
    int64_t n;               /* elements of the tensor */
    bool splat;
    bool turned;             /* a matrix whose columns lie in memory as rows */
    const unsigned char *raw;
} Const;

typedef struct Node Node;

typedef struct Stmt Stmt;

typedef struct Value {
    const char *name;        /* ONNX's */
    OnnxType type;
    Shape shape;
    const Const *known;      /* NULL: computed at run time */
    Node *def;               /* NULL: an input or a constant */
    int uses;                /* operands of live nodes and outputs */
    int reads;               /* of a weight: operands of statements */
    bool is_input, is_output;
    bool is_weight;          /* known: by the file, not worked out */
    const char *dcl;         /* its name in the .dcl, once chosen */
    struct Value *same;      /* another that it is, or NULL */
    Stmt *stmt;              /* what defines it in the .dcl */
    const char *key;         /* its name in the weights' file */
    int64_t below;           /* an input's promise: 0 <= v < below */
    bool is_param;           /* a constant that statements read */
    bool printed;
    struct Value *spread;    /* itself, broadcast for attention */
    struct Value *one;       /* known: itself, of each element of the batch */
    struct Value *retyped;   /* known: itself, in its operator's type */
    bool wide;               /* f32 in the .dcl: an integer sum that a scale
                                is still to come to, which f16 may not hold */
} Value;

typedef struct NodeAttr {
    const char *name;
    char kind;               /* i f s I F S t: one or a list, a tensor */
    int64_t i;
    double f;
    const char *s;
    int n;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    Value *t;                /* a known value */
    bool asked;              /* some code looked at it */
} NodeAttr;

typedef struct OpInfo OpInfo;

struct Node {
    const char *name;        /* ONNX's, or made of an output's */
    const char *op, *domain; /* domain "" is ONNX's own */
    int version;             /* of the domain's operator set */
    const char *scope;       /* the module's path that PyTorch says, or NULL */
    const OpInfo *info;
    NodeAttr *attr; int n_attr;
    Value **in; int n_in;    /* NULL: left out */
    Value **out; int n_out;  /* NULL: not wanted */
    bool dead;
    int mark;
};

typedef struct Import Import;

/* What one operator is. */
struct OpInfo {
    const char *domain, *name;
    int since, last;                   /* opsets; last 0: still so */
    bool (*infer)(Import *c, Node *n); /* shapes and types of n->out; NULL:
                                          written as several nodes */
    void (*emit)(Import *c, Node *n);
    const char *text;                  /* for emit: "relu($0)" */
    const char *attrs;                 /* those it knows: "axis,keepdims" */
};

typedef struct Dim {
    const char *name;        /* ONNX's dim_param */
    int64_t value;           /* given by --dim */
} Dim;

struct Import {
    Arena *arena;
    const char *path;        /* of the model, for messages */
    Buf messages;
    int errors;
    bool fatal;              /* going on would make no sense */
    Node **node; int n_node, cap_node;
    const Node *emitted;     /* whose statements are made */
    Value **input; int n_input, cap_input;
    Value **output; int n_output, cap_output;
    const char *batch_name;  /* ONNX's name of the symbolic batch, or NULL */
    bool has_batch;          /* some input has a symbolic first size */
    const Dim *dim; int n_dim;
    const struct dcc_st_file *bind;
    int floats[OT_TYPES];    /* weights and inputs of each type */
    OnnxType float_type;     /* what `type E` is */
    const char *wanted_name; /* of the model in the .dcl */
    const char *model_name;  /* the same, made legal */
    Stmt **stmt; int n_stmt, cap_stmt;
    struct Block **block; int n_block, cap_block;
    Map *names;              /* taken in the .dcl */
    Map *asked;              /* errors said once */
    const char *batch_text, *type_name; /* "B" and "E" */
    int64_t turned;          /* bytes of weights that could be written turned */
    bool uses_type;          /* the text says it */
    int made;                /* nodes and values made here, for names */
};

/* An error at a node (NULL: of the whole file). */
void import_error(Import *c, const Node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void import_note(Import *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- shapes */

int64_t shape_count(const Shape *s);
bool shape_same(const Shape *a, const Shape *b);
Shape shape_of(int rank, const int64_t *dim);
bool shape_broadcast(const Shape *a, const Shape *b, Shape *out);
/* A negative axis counts from the end; an error at n where it is none. */
bool axis_in(Import *c, const Node *n, int64_t axis, int rank, int *out);

/* ---- contents */

double known_float(const Const *k, int64_t i);
int64_t known_int(const Const *k, int64_t i);
Const *known_new(Import *c, OnnxType t, int64_t n, bool splat);
void known_set_float(Const *k, int64_t i, double v);
void known_set_int(Const *k, int64_t i, int64_t v);
/* All elements alike. */
bool known_uniform(const Const *k);
/* All of v are known to be x. */
bool known_all(const Value *v, double x);
Value *value_new(Import *c, const char *name);
Value *value_ints(Import *c, const int64_t *v, int n);
Value *value_scalar(Import *c, OnnxType t, double v);

/* ---- attributes and operands */

NodeAttr *attr_find(const Node *n, const char *name);
int64_t attr_int(const Node *n, const char *name, int64_t otherwise);
double attr_float(const Node *n, const char *name, double otherwise);
const char *attr_text(const Node *n, const char *name, const char *otherwise);
/* The list, or NULL; *count its length. */
const int64_t *attr_ints(const Node *n, const char *name, int *count);
/* An operand, NULL where it is left out. */
Value *node_in(const Node *n, int i);
Value *node_out(const Node *n, int i);
/* A list of integers that operand i must hold; false with an error at n if it
 * is not known. An operand left out gives *count -1. */
bool in_ints(Import *c, const Node *n, int i, const int64_t **v, int *count);
/* The same from attribute `name` before opset `since`, from operand i from
 * then on. */
bool ints_of(Import *c, const Node *n, const char *name, int i,
             const int64_t **v, int *count);
/* The one number that operand i holds, where it is known. */
bool in_scalar(const Node *n, int i, double *v);
bool value_scalar_is(const Value *v, double *out);

Node *node_new(Import *c, const char *op, const char *name, int n_in,
               int n_out);
void attr_add_int(Import *c, Node *n, const char *name, int64_t v);
void attr_add_float(Import *c, Node *n, const char *name, double v);
void attr_add_text(Import *c, Node *n, const char *name, const char *v);
void attr_add_ints(Import *c, Node *n, const char *name, const int64_t *v,
                   int count);

/* ---- the passes, in order */

/* import_read.c: the file into nodes, inferred and folded on the way. */
bool import_read(Import *c);
bool import_read_bytes(Import *c, const unsigned char *p, size_t n);
/* All passes over a file that is read. False after errors. */
bool import_text(Import *c, Buf *text);
/* table.c */
const OpInfo *op_find(const char *domain, const char *name, int version,
                      bool *named);
/* How many operands must be there. */
int op_needs(const OpInfo *o);
/* old.c: a node of an early version as one of a later version, where that is
 * more than a number. */
void node_of_today(Import *c, Node *n);
/* parts.c: a node that the table gives no way to infer, as several that
 * `add` is called with. */
typedef void AddNode(Import *c, Node *n);
void node_in_parts(Import *c, Node *n, AddNode *add);
/* fold.c: contents of n->out where all operands are known. */
void import_fold(Import *c, Node *n);
/* alike.c: contents of n->out that are the same for every element of the
 * batch; after all are read, where they broadcast. */
void import_alike(Import *c, Node *n);
void import_broadcast(Import *c);
/* live.c: uses; nodes that nothing needs are dead. */
void import_live(Import *c);
/* pattern.c: norms, activations, attention found in what they were split to */
void import_patterns(Import *c);
/* rows.c: views that only move rows, past what works on rows */
void import_rows(Import *c);
/* view.c: chains of reshapes and transposes as short ones */
void import_views(Import *c);
/* emit.c: nodes into statements */
void import_emit(Import *c);
/* block.c: repeated statements into blocks */
void import_blocks(Import *c);
/* print.c: the statements as text; the weights' file, which returns an exit
 * status. */
void import_print(Import *c, Buf *out);
int import_write_weights(Import *c, const char *path);

#endif
