/* emit.h - nodes as statements of the language.
 *
 * A statement's text has slots for what it reads, so that the printer can
 * put an expression where a name stands, and equal statements of repeated
 * layers have equal text. */
#ifndef DCC_IMPORT_EMIT_H
#define DCC_IMPORT_EMIT_H

#include "import/infer.h"

/* How tightly an expression binds, loosest first. */
typedef enum {
    BIND_ANY, BIND_COND, BIND_OR, BIND_AND, BIND_CMP, BIND_ADD, BIND_MUL,
    BIND_UNARY, BIND_ATOM, BIND_NAME
} Bind;

struct Stmt {
    Value *out;
    const char *left;        /* "[i, j]"; NULL: a whole definition */
    const char *text;        /* the right side, with slots */
    Bind bind;
    bool typed, shaped;      /* ": E" or ": E[B, 4]" stands before the = */
    const char *type;        /* NULL: that of out */
    Value **use; int n_use, cap_use;
    bool linear;             /* linear(use 0, use 1): a bias may join */
    bool gone;               /* part of a block, or put where it is read */
    bool needed;             /* an output comes from it */
    bool closed;             /* stays a statement of its own */
    struct Block *block;     /* that it is part of, or NULL */
    bool again;              /* in a run after the first */
    int place;               /* in c->stmt */
};

typedef struct Block Block;

/* print.c */
void print_stmt(Import *c, Buf *out, const Stmt *s, const char *indent,
                const char *word);
void print_param(Import *c, Buf *out, Value *v, const char *indent,
                 const char *key);
/* s, or what is put inside it, reads v. */
bool stmt_reads(const Stmt *s, const Value *v);

/* A slot is SLOT, two digits of a number and how tightly what stands there
 * must bind. */
enum { SLOT = 1, SLOT_SIZE = 4, SLOT_BASE = 100, SLOT_MOST = 9999 };

/* Begins the statement that defines `out`. */
Stmt *stmt_new(Import *c, Value *out);
void stmt_text(Import *c, Stmt *s, Bind bind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The left side with an index for each dimension, its type and shape said. */
void stmt_left(Import *c, Stmt *s, const char *const *index);
/* The same for a statement that reads x at these: an index that stands alone
 * there would run over x's size, where the result has another. */
void stmt_left_reading(Import *c, Stmt *s, const Value *x,
                       const char *const *at);

/* Slots: a value as an argument, as an operand of an operator, by its name.
 * Where a constant is one number, that number. */
const char *arg(Import *c, Stmt *s, Value *v);
const char *operand(Import *c, Stmt *s, Value *v, Bind bind);
const char *named(Import *c, Stmt *s, Value *v);
/* A read at these indices, the last ones for a tensor of less rank, 0 where
 * its extent is 1 and `to` has another. */
const char *reading(Import *c, Stmt *s, Value *v, const char *const *index,
                    const Shape *to);
/* A read with an index for each dimension, of which there are n: an error at
 * the node that is emitted if v has more. */
const char *read_at_most(Import *c, Stmt *s, Value *v, const char *const *index,
                         int n);
/* The same by an array of indices. */
#define read_at(c, s, v, index) \
    read_at_most(c, s, v, index, (int)(sizeof(index) / sizeof *(index)))
/* The same, and what to take outside of v; index names run over `over`. */
const char *read_or_most(Import *c, Stmt *s, Value *v, const char *const *index,
                         int n, const Shape *over, const char *otherwise);
#define read_or(c, s, v, index, over, otherwise) \
    read_or_most(c, s, v, index, (int)(sizeof(index) / sizeof *(index)), \
                 over, otherwise)
const char *reading_or(Import *c, Stmt *s, Value *v, const char *const *index,
                       const Shape *to, const char *otherwise);

/* Texts. */
const char *number_text(Import *c, OnnxType t, double v);
const char *size_text(Import *c, int64_t v);
const char *shape_text(Import *c, const Shape *s);   /* "[B, 4]" */
const char *list_text(Import *c, const int64_t *v, int n); /* "[1, 2]", "1" */
const char *type_text(const Import *c, OnnxType t);
extern const char *const index_names[IMPORT_MAX_RANK];  /* i j k ... */
extern const char *const window_names[IMPORT_MAX_RANK]; /* r s t ... */

/* The value that v stands for. */
Value *same_as(Value *v);
/* out is x: no statement, or one that names an output. */
void emit_same(Import *c, Value *out, Value *x);
void emit_reshape_to(Import *c, Value *out, Value *x);
/* A value between, of the given type and shape, with a statement to come. */
Value *between(Import *c, const Value *like, const char *suffix, OnnxType t,
               Shape s);
/* `to` as `from` in its own type; v in type t, itself or another. */
void put_type(Import *c, Value *to, Value *from);
Value *in_type(Import *c, Value *v, OnnxType t);
/* A constant made here. */
Value *constant(Import *c, const char *name, OnnxType t, Shape s,
                const double *v);

void emit_text(Import *c, Node *n);     /* by the table's text */
void emit_alias(Import *c, Node *n);
void emit_binary(Import *c, Node *n);
void emit_variadic(Import *c, Node *n);
void emit_mean(Import *c, Node *n);
void emit_where(Import *c, Node *n);
void emit_pow(Import *c, Node *n);
void emit_mod(Import *c, Node *n);
void emit_div(Import *c, Node *n);
void emit_cast(Import *c, Node *n);
void emit_clip(Import *c, Node *n);
void emit_activation(Import *c, Node *n);
void emit_is_inf(Import *c, Node *n);
void emit_matmul(Import *c, Node *n);
void emit_gemm(Import *c, Node *n);
void emit_einsum(Import *c, Node *n);
void emit_reshape(Import *c, Node *n);
void emit_transpose(Import *c, Node *n);
void emit_concat(Import *c, Node *n);
void emit_split(Import *c, Node *n);
void emit_slice(Import *c, Node *n);
void emit_expand(Import *c, Node *n);
void emit_tile(Import *c, Node *n);
void emit_pad(Import *c, Node *n);
void emit_depth_to_space(Import *c, Node *n);
void emit_space_to_depth(Import *c, Node *n);
void emit_gather(Import *c, Node *n);
void emit_gather_elements(Import *c, Node *n);
void emit_gather_nd(Import *c, Node *n);
void emit_scatter_elements(Import *c, Node *n);
void emit_scatter_nd(Import *c, Node *n);
void emit_one_hot(Import *c, Node *n);
void emit_eye(Import *c, Node *n);
void emit_range(Import *c, Node *n);
void emit_trilu(Import *c, Node *n);
void emit_cumsum(Import *c, Node *n);
void emit_topk(Import *c, Node *n);
void emit_conv(Import *c, Node *n);
void emit_conv_transpose(Import *c, Node *n);
void emit_max_pool(Import *c, Node *n);
void emit_average_pool(Import *c, Node *n);
void emit_global_pool(Import *c, Node *n);
void emit_reduce(Import *c, Node *n);
void emit_arg(Import *c, Node *n);
void emit_softmax(Import *c, Node *n);
void emit_batch_norm(Import *c, Node *n);
void emit_instance_norm(Import *c, Node *n);
void emit_group_norm(Import *c, Node *n);
void emit_layer_norm(Import *c, Node *n);
void emit_skip_norm(Import *c, Node *n);
void emit_lp_norm(Import *c, Node *n);
void emit_lrn(Import *c, Node *n);
void emit_resize(Import *c, Node *n);
void emit_grid_sample(Import *c, Node *n);
void emit_recurrent(Import *c, Node *n);
void emit_quantize(Import *c, Node *n);
void emit_dequantize(Import *c, Node *n);
void emit_dynamic_quantize(Import *c, Node *n);
void emit_qlinear(Import *c, Node *n);
void emit_integer(Import *c, Node *n);
void emit_attention(Import *c, Node *n);
void emit_rotary(Import *c, Node *n);
void emit_constant(Import *c, Node *n);
void emit_is_nan(Import *c, Node *n);
void emit_reciprocal(Import *c, Node *n);
void emit_prelu(Import *c, Node *n);
void emit_gelu(Import *c, Node *n);
void emit_dropout(Import *c, Node *n);
void emit_sdpa(Import *c, Node *n);

#endif
