#include "family/contract/skinny/contract_skinny.h"

#include "group/norm.h"

#include <string.h>

/* Values of x's rows that each block computes, a warp a row, while its first
 * weights are under way: x's elements are made of them. */

static bool uses_other(const Contract *x, const Step *s)
{
    for (int i = 0; i < x->n.n; i++)
        if (expr_uses(s->value, x->n.v[i]))
            return true;
    for (int i = 0; i < x->k.n; i++)
        if (expr_uses(s->value, x->k.v[i]))
            return true;
    return false;
}

static void note_row(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_LOCAL && e->local < 0;
}

const char *skinny_check_rows(const Contract *x)
{
    const Group *gr = x->gr;
    bool elsewhere = false;

    if (!gr->merge)
        return NULL;
    if (x->c.n_batch)
        return "values of rows, of several products";
    if (gr->n_step + gr->merge->n_step > MAX_STEPS)
        return "more than 64 steps with those of its rows";
    for (int i = 0; i < gr->merge->n_step; i++)
        if (uses_other(x, &gr->merge->step[i]))
            return "values of rows that are not x's";
    expr_visit(x->c.b.e, note_row, &elsewhere);
    return elsewhere ? "values of rows for its weights" : NULL;
}

int skinny_row_values(const Contract *x)
{
    return x->gr->merge ? x->gr->merge->n_step : 0;
}

/* The merge's values as locals of the kernel's text, behind the steps': its own
 * are numbered from 0 on, those of the group's values from -1 down. */
typedef struct Numbers {
    int first;
    bool own;
} Numbers;

static const Expr *renumber(Graph *g, const Expr *e, void *ctx)
{
    const Numbers *n = ctx;

    if (e->kind != E_LOCAL || (e->local >= 0) != n->own)
        return NULL;
    return expr_local(g, n->first + (n->own ? e->local : -1 - e->local),
                      e->type);
}

static const Expr *of_row(const Contract *x, const Expr *e)
{
    return x->m.n > 1 ? expr_subst(x->g, e, x->m.sub, x->m.n) : e;
}

static void put_reduction(Contract *x, Tree *b, const Step *s, const Expr *e,
                          const char *id)
{
    const Var *over = x->gr->merge->over;
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);
    const char *at = cprint_var(cp, over);
    Tree *in = tree_list(b->arena);
    const char *value = cprint_bind(in, cp, e, "t");

    cprint_combine(in, cp, s, 0, id, value);
    PUT(b,
        over->extent <= 1024
            ? "float @id = @first;\n"
              "#pragma unroll\n"
              "for (int @at = lane; @at < @extent; @at += 32) {\n"
              "    @IN\n"
              "}\n"
              "@id = dcc_warp_@op(@id);\n"
            : "float @id = @first;\n"
              "for (int @at = lane; @at < @extent; @at += 32) {\n"
              "    @IN\n"
              "}\n"
              "@id = dcc_warp_@op(@id);\n",
        FILL("id", id), FILL("first", cprint_identity(s->op, s->type)),
        FILL("at", at), FILL_INT("extent", over->extent), FILL_TREE("IN", in),
        FILL("op", s->op == R_SUM ? "sum" : "max"));
    cprint_close(cp, scope);
}

/* Whether x's elements have the merge's value i. */
typedef struct Wanted {
    int local;
    bool found;
} Wanted;

static void note_wanted(const Expr *e, void *ctx)
{
    Wanted *w = ctx;

    w->found |= e->kind == E_LOCAL && e->local == w->local;
}

static bool wanted(const Contract *x, int i)
{
    Wanted w = {-1 - i, false};

    expr_visit(x->c.a.e, note_wanted, &w);
    return w.found;
}

static void put_row(Contract *x, Tree *b, const char *const *field)
{
    const RowMerge *m = x->gr->merge;
    Numbers own = {x->gr->n_step, true};

    for (int i = 0; i < m->n_step; i++) {
        const Step *s = &m->step[i];
        const Expr *e = expr_rewrite(x->g, of_row(x, s->value), renumber,
                                     &own);
        const char *id;
        if (s->op != R_NONE) {
            id = cprint_fresh(&x->cp, s->op == R_SUM ? "row_sum" : "row_max");
            put_reduction(x, b, s, e, id);
        } else {
            id = cprint_bind_name(b, &x->cp, e, "row");
        }
        x->cp.local[own.first + i] = id;
    }
    for (int i = 0; i < m->n_step; i++)
        if (field[i])
            PUT(b, "smem.@field[m] = @value;\n", FILL("field", field[i]),
                FILL("value", x->cp.local[own.first + i]));
}

void skinny_put_rows(Skinny *s, Tree *b)
{
    Contract *x = &s->x;
    Arena *a = x->g->arena;
    const RowMerge *m = x->gr->merge;
    const char *field[NORM_STEPS] = {NULL};
    Numbers other = {x->gr->n_step, false};
    Operand *op = arena_new_of(a, Operand);
    Tree *in = tree_list(a);

    if (!m)
        return;
    for (int i = 0; i < m->n_step; i++)
        if (wanted(x, i)) {
            field[i] = cprint_fresh(&x->cp, "of_row");
            kernel_smem(x->g, x->kernel, 4,
                        arena_printf(a, "float %s[BM]", field[i]), NULL);
        }
    CScope scope = cprint_open(&x->cp);
    cprint_name(&x->cp, x->m.n == 1 ? x->m.v[0] : x->m.linear, "m");
    put_row(x, in, field);
    PUT(b,
        "// Values of rows, of which each warp has some.\n"
        "for (int m = warp; m < BM; m += THREADS / 32) {\n"
        "    @IN\n"
        "}\n"
        "__syncthreads();\n",
        FILL_TREE("IN", in));
    cprint_close(&x->cp, scope);
    for (int i = 0; i < m->n_step; i++)
        x->cp.local[other.first + i] =
            field[i] ? arena_printf(a, "smem.%s[m]", field[i]) : NULL;
    *op = *x->a.op;
    op->e = expr_rewrite(x->g, op->e, renumber, &other);
    x->a.op = op;
}
