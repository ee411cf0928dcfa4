#include "group/cross.h"

/* Rows that e alone has. */
static double own_rows(const Var *const *rows, int n, const Expr *e,
                       const Expr *other)
{
    double own = 1;

    for (int i = 0; i < n; i++)
        if (expr_uses(e, rows[i]) && !expr_uses(other, rows[i]))
            own *= (double)rows[i]->extent;
    return own;
}

/* Whether neighbours of the read go along a row. */
static bool along_rows(const Var *const *rows, int n, const Expr *read)
{
    for (int i = 0; i < n; i++) {
        int64_t stride = 0;
        for (int d = 0; d < read->tensor->rank; d++)
            stride += idx_coef(read->at[d], rows[i]) * read->tensor->stride[d];
        if (stride == 1)
            return true;
    }
    return false;
}

static bool is_f32(const Expr *e)
{
    return e->kind == E_READ && e->tensor->type == T_F32;
}

bool cross_rows(const Group *gr, const Var *const *rows, int n_rows,
                const Expr *a, const Expr *b)
{
    enum { ROWS = 128 };
    double terms = 1, m = own_rows(rows, n_rows, a, b),
           n = own_rows(rows, n_rows, b, a);

    for (int i = 0; i < gr->n_cols; i++)
        terms *= (double)gr->cols[i]->extent;
    return is_f32(a) && is_f32(b) && m < ROWS && n >= ROWS && terms >= m * n &&
           along_rows(rows, n_rows, a);
}
