#include "group/group_dump.h"

#include "group/chain.h"
#include "group/factor_sum.h"
#include "group/norm.h"

static void dump_vars(Buf *b, const char *title, const Var **v, int n)
{
    buf_printf(b, "  %s", title);
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s<%lld", i ? ", " : " ", v[i]->name,
                   (long long)v[i]->extent);
    buf_puts(b, "\n");
}

/* What the part of a chain that begins with step i does. */
static void dump_part(Buf *b, const Chain *c, int i)
{
    int also = c->other ? c->other->n_step : 0;

    if (i == 0 && also)
        dump_vars(b, "another first: for rows and cols, over", c->other->cols,
                  c->other->n_cols);
    else if (i == also)
        dump_vars(b, "first: for rows and cols, over", c->first->cols,
                  c->first->n_cols);
    else if (i == c->n_first)
        dump_vars(b, "between: for rows, over", c->between->cols,
                  c->between->n_cols);
    else if (i == c->n_first + c->n_between + c->second->n_step)
        dump_vars(b, "of the same scores: for rows, over", c->between->cols,
                  c->between->n_cols);
    else if (i == c->n_first + c->n_between)
        dump_vars(b, "second: for rows, over", c->second->cols,
                  c->second->n_cols);
}

static void dump_step(Buf *b, int i, const Step *s, const char *over)
{
    buf_printf(b, "  $%d : %s = ", i, type_name(s->type));
    if (s->op != R_NONE)
        buf_printf(b, "%s over %s ", reduce_name(s->op), over);
    else if (s->over_cols)
        buf_puts(b, "for cols ");
    expr_dump(b, s->value);
    if (s->tensor) {
        buf_printf(b, "  -> %s[", s->tensor->name);
        for (int d = 0; d < s->tensor->rank; d++) {
            buf_puts(b, d ? ", " : "");
            idx_dump(b, s->store[d]);
        }
        buf_puts(b, "]");
        if (s->where.n) {
            buf_puts(b, " where ");
            guard_dump(b, s->where);
        }
    }
    buf_puts(b, "\n");
}

void group_dump(Buf *b, const Group *gr)
{
    buf_printf(b, "group g%d%s\n", gr->id,
               gr->when == WHEN_LOAD ? " (at load time)" : "");
    dump_vars(b, "rows", gr->rows, gr->n_rows);
    if (gr->n_cols)
        dump_vars(b, "cols", gr->cols, gr->n_cols);
    if (gr->merge)
        buf_printf(b,
                   "  rows first: called #-1, #-2, ..., over %s%s<%lld"
                   "\n",
                   gr->merge->size ? "pieces " : "", gr->merge->over->name,
                   (long long)gr->merge->over->extent);
    for (int i = 0; gr->merge && i < gr->merge->n_step; i++)
        dump_step(b, i, &gr->merge->step[i],
                  gr->merge->size ? "pieces" : "a row");
    if (gr->merge && gr->merge->fold) {
        buf_puts(b, "  the sum, called $0, is then");
        dump_step(b, 0, gr->merge->fold, "");
    }
    for (int i = 0; i < gr->n_step; i++) {
        if (gr->chain)
            dump_part(b, gr->chain, i);
        dump_step(b, i, &gr->step[i], "cols");
    }
    if (gr->pieces)
        buf_printf(b, "  pieces: of $%d, called #0, %d neighbours along %s\n",
                   gr->pieces->value, gr->pieces->size,
                   gr->pieces->along->name);
    for (int i = 0; gr->pieces && i < gr->pieces->n_step; i++)
        dump_step(b, i + 1, &gr->pieces->step[i], "a piece");
    if (gr->factor_sum)
        buf_puts(b, "  of a factor:\n");
    for (int i = 0; gr->factor_sum && i < gr->factor_sum->n_step; i++)
        dump_step(b, i, &gr->factor_sum->step[i], "cols");
}
