/* rt_strides.c - tensors that do not lie row-major (rt_model.h): trained
 * parameters and what their updates keep, as the model's products want them.
 */
#include <stdlib.h>
#include <string.h>

#include "rt_model.h"

int rt_is_row_major(const dcc_tensor *t)
{
    int64_t stride = 1;

    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->dim[d] != 1 && t->stride[d] && t->stride[d] != stride)
            return 0;
        stride *= t->dim[d];
    }
    return 1;
}

/* The first element of row number `row`, which walks the last dimension. */
static int64_t rt_first_of_row(const dcc_tensor *t, int64_t row)
{
    int64_t element = 0;

    for (int d = t->rank - 2; d >= 0; d--) {
        element += row % t->dim[d] * t->stride[d];
        row /= t->dim[d];
    }
    return element;
}

static void rt_move(const dcc_tensor *t, const unsigned char *from,
                    unsigned char *to, int to_rows)
{
    const size_t size = dcc_type_size(t->type);
    const size_t n = dcc_tensor_bytes(t) / size;
    const size_t row = t->rank ? (size_t)t->dim[t->rank - 1] : 1;
    const size_t step = t->rank ? (size_t)t->stride[t->rank - 1] * size : size;

    for (size_t at = 0; at < n; at += row) {
        size_t far = (size_t)rt_first_of_row(t, (int64_t)(at / row)) * size;
        size_t near = at * size;

        for (size_t k = 0; k < row; k++, far += step, near += size)
            memcpy(to + (to_rows ? near : far), from + (to_rows ? far : near),
                   size);
    }
}

void rt_to_rows(const dcc_tensor *t, const unsigned char *from,
                unsigned char *rows)
{
    rt_move(t, from, rows, 1);
}

dcc_status rt_turn(const dcc_tensor *t, unsigned char *memory, int to_rows)
{
    const size_t bytes = dcc_tensor_bytes(t);
    unsigned char *copy;

    if (rt_is_row_major(t))
        return DCC_OK;
    copy = (unsigned char *)malloc(bytes + 1);
    if (!copy)
        return dcc_fail(DCC_ERR_MEMORY, "out of memory");
    memcpy(copy, memory, bytes);
    rt_move(t, copy, memory, to_rows);
    free(copy);
    return DCC_OK;
}
