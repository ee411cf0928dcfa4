/* reader.h - shared by the two halves of reading a file: tensors and types
 * (read_tensor.c) and graphs (read.c). */
#ifndef DCC_IMPORT_READER_H
#define DCC_IMPORT_READER_H

#include "import/external.h"
#include "import/ir.h"
#include "import/scan.h"
#include "onnx.pb-c.h"

/* The names that a graph sees, and the attributes of the function it is the
 * body of. */
typedef struct Scope {
    const struct Scope *up;
    Map *value;
    const Node *call;        /* whose attributes ref_attr_name means */
    Onnx__OperatorSetIdProto **opset; size_t n_opset;
    const char *prefix;      /* of node names: "", "call/" */
    int depth;
} Scope;

typedef struct Reader {
    Import *c;
    const Onnx__ModelProto *model;
    Scan *scan;
    External external;
    Map *function;           /* "domain:name" -> FunctionProto */
    int n_weight, cap_weight;
} Reader;

/* A tensor of the file as a known value; NULL after an error. */
Value *read_tensor(Reader *r, const Onnx__TensorProto *t, const char *name);
/* The attributes of a node. */
void read_attributes(Reader *r, const Scope *s, const Onnx__NodeProto *p,
                     Node *n);
/* One graph of a node's attributes (If, Loop). */
const Onnx__GraphProto *graph_of(const Onnx__NodeProto *p, const char *name);
/* The model's inputs: sizes, types, --dim and --bind. */
bool read_input(Reader *r, const Onnx__ValueInfoProto *p, Scope *s);

#endif
