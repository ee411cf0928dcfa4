#include "family/contract_finish.h"

/* The epilogue in two halves, for a result of 16-bit elements: pairs of columns
 * where the sums are, then whole pieces of rows to memory. */

typedef struct RowReads {
    const Contract *x;
    bool found;
} RowReads;

/* A read of something like the result, which pairs would read in pieces. */
static void find_row_read(const Expr *e, void *ctx)
{
    RowReads *r = ctx;

    r->found |= e->kind == E_READ && finish_uses(&r->x->m, e) &&
                finish_uses(&r->x->n, e);
}

bool contract_packs(Contract *x)
{
    const Group *gr = x->gr;
    RowReads reads = {x, false};
    Finish f = {.x = x, .fast = x->n.n ? x->n.v[x->n.n - 1] : NULL};
    int stores = 0;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        f.store[i] = s->store;
        f.where[i] = s->where;
        stores += s->tensor != NULL;
        if (s->tensor && (type_bytes(s->tensor->type) != 2 ||
                          s->tensor->type == T_BOOL))
            return false;
        if (finish_row_step(s))
            expr_visit(s->value, find_row_read, &reads);
    }
    return stores == 1 && !reads.found && finish_choose(&f, 8) == 8;
}

static void open_points(Finish *f, Contract *x, Buf *b, int vec,
                        ContractPlace *place)
{
    finish_prepare(f, x, vec);
    cprint_fresh(&x->cp, "sum");
    finish_sum(f, "sum");
    place(x, b);
    if (!x->patch)
        finish_side(f, b, &x->m, f->linear_m);
    finish_side(f, b, &x->n, f->linear_n);
}

void contract_pairs(Contract *x, Buf *b, ContractPlace *place,
                    const char *pack)
{
    Finish f = {.pack = pack};
    CScope scope = cprint_open(&x->cp);

    open_points(&f, x, b, 2, place);
    finish_loads(&f, b);
    finish_columns(&f, b);
    cprint_close(&x->cp, scope);
}

void contract_pieces(Contract *x, Buf *b, ContractPlace *place,
                     const char *from)
{
    Finish f = {.pack = NULL};
    CScope scope = cprint_open(&x->cp);

    open_points(&f, x, b, 8, place);
    for (int i = 0; i < x->gr->n_step; i++) {
        const Step *s = &x->gr->step[i];
        if (!f.vector_store[i])
            continue;
        const Vector *v = finish_vector(&f, i);
        const char *type = finish_type(&f, s->tensor, v);
        buf_printf(b, "const %s %s =\n    *reinterpret_cast<const %s *>(%s);\n",
                   type, v->id, type, from);
        finish_vector_store(&f, b, v, i);
    }
    cprint_close(&x->cp, scope);
}
