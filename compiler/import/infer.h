/* infer.h - shapes and types of what operators make, one function for each
 * way of making them, and what the emitters ask again. */
#ifndef DCC_IMPORT_INFER_H
#define DCC_IMPORT_INFER_H

#include "import/ir.h"

/* A result's type and shape, if it is wanted. */
void out_set(const Node *n, int i, OnnxType t, Shape s);
/* Operand i, which must be there. */
Value *in_need(Import *c, const Node *n, int i);

/* A window that slides over the last dimensions: convolution, pooling. */
typedef struct Window {
    int n;                        /* dimensions of space */
    int64_t size[IMPORT_MAX_RANK], stride[IMPORT_MAX_RANK];
    int64_t dilation[IMPORT_MAX_RANK];
    int64_t before[IMPORT_MAX_RANK], after[IMPORT_MAX_RANK];
    int64_t out[IMPORT_MAX_RANK];
    bool ceil;
} Window;

/* Of a pool or a convolution (w's last dimensions are the window's). */
bool window_of(Import *c, const Node *n, const Shape *x, const Shape *w,
               Window *out);
/* Of a transposed convolution; extra: its output_padding. */
bool window_transposed(Import *c, const Node *n, const Shape *x,
                       const Shape *w, Window *out, int64_t *extra);
/* The axes of a reduction as a set of bits. */
bool reduce_axes(Import *c, const Node *n, unsigned *axes, bool *keep);

typedef struct SliceAxis {
    int64_t first, step, count;
} SliceAxis;
/* One entry a dimension. */
bool slice_of(Import *c, const Node *n, SliceAxis *s);
/* One pair a dimension. */
bool pads_of(Import *c, const Node *n, int64_t *before, int64_t *after);
/* An equation's parts: labels of each operand and of the result, without
 * blanks, "..." written out in letters of its own. */
typedef struct Einsum {
    int n;
    char in[8][IMPORT_MAX_RANK + 1], out[IMPORT_MAX_RANK + 1];
    int64_t size[128];
} Einsum;
bool einsum_of(Import *c, const Node *n, Einsum *e);
/* com.microsoft's: the order in which a factor's dimensions are read whose rows
 * come before the batch. */
bool batch_is_turned(const Node *n, bool second, int rank, int64_t *perm);
/* The axis of an operator whose attribute it is. */
bool axis_of(Import *c, const Node *n, int64_t otherwise, int rank, int *out);

bool infer_same(Import *c, Node *n);
bool infer_broadcast(Import *c, Node *n);
bool infer_compare(Import *c, Node *n);
bool infer_test(Import *c, Node *n);
bool infer_where(Import *c, Node *n);
bool infer_cast(Import *c, Node *n);
bool infer_matmul(Import *c, Node *n);
bool infer_gemm(Import *c, Node *n);
bool infer_conv(Import *c, Node *n);
bool infer_conv_transpose(Import *c, Node *n);
bool infer_pool(Import *c, Node *n);
bool infer_global_pool(Import *c, Node *n);
bool infer_reduce(Import *c, Node *n);
bool infer_arg(Import *c, Node *n);
bool infer_norm(Import *c, Node *n);
bool infer_reshape(Import *c, Node *n);
bool infer_transpose(Import *c, Node *n);
bool infer_concat(Import *c, Node *n);
bool infer_split(Import *c, Node *n);
bool infer_slice(Import *c, Node *n);
bool infer_gather(Import *c, Node *n);
bool infer_gather_elements(Import *c, Node *n);
bool infer_gather_nd(Import *c, Node *n);
bool infer_expand(Import *c, Node *n);
bool infer_squeeze(Import *c, Node *n);
bool infer_unsqueeze(Import *c, Node *n);
bool infer_flatten(Import *c, Node *n);
bool infer_pad(Import *c, Node *n);
bool infer_shape(Import *c, Node *n);
bool infer_size(Import *c, Node *n);
bool infer_constant(Import *c, Node *n);
bool infer_constant_of_shape(Import *c, Node *n);
bool infer_range(Import *c, Node *n);
bool infer_tile(Import *c, Node *n);
bool infer_depth_to_space(Import *c, Node *n);
bool infer_space_to_depth(Import *c, Node *n);
bool infer_one_hot(Import *c, Node *n);
bool infer_eye(Import *c, Node *n);
bool infer_topk(Import *c, Node *n);
bool infer_einsum(Import *c, Node *n);
bool infer_resize(Import *c, Node *n);
bool infer_grid_sample(Import *c, Node *n);
bool infer_scatter_elements(Import *c, Node *n);
bool infer_scatter_nd(Import *c, Node *n);
bool infer_recurrent(Import *c, Node *n);
bool infer_quantize(Import *c, Node *n);
bool infer_attention(Import *c, Node *n);
bool infer_nonzero(Import *c, Node *n);
bool infer_batch_norm(Import *c, Node *n);
bool infer_skip_norm(Import *c, Node *n);
bool infer_qlinear_matmul(Import *c, Node *n);

#endif
