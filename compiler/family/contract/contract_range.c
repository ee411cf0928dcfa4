#include "family/contract/contract_finish.h"

/* Sums over a range that their rows decide. */

/* ` && m < M`, and the same of n: this is a result, none beyond them. */
static const char *is_there(const Finish *f)
{
    const ContractBuild *x = f->x;
    const Side *side[] = {&x->f->m, &x->f->n};
    const bool linear[] = {f->linear_m, f->linear_n};
    const bool patch[] = {x->p->patch, x->p->patch_n};
    const char *text = "";

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < (patch[k] ? side[k]->n : side[k]->n > 0); i++) {
            const Var *v = linear[k] ? side[k]->linear : side[k]->v[i];
            text = arena_printf(x->g->arena, "%s && %s < %lld", text,
                                finish_name(&x->cp, v), (long long)v->extent);
        }
    return text;
}

void finish_range(Finish *f, Tree *b)
{
    ContractBuild *x = f->x;
    const Contract *c = x->f;
    CScope scope = cprint_open(&x->cp);
    const Expr *term = c->c.range;

    if (f->linear_m)
        term = expr_subst(x->g, term, c->m.sub, c->m.n);
    if (f->linear_n)
        term = expr_subst(x->g, term, c->n.sub, c->n.n);
    const char *there = is_there(f), *k[MAX_RANK];
    for (int i = 0; i < c->c.n_k; i++)
        k[i] = cprint_var(&x->cp, c->c.k[i]);
    Tree *add = QUOTE(b->arena, "whole += @term;\n",
                      FILL("term", cprint_expr(&x->cp, term)));
    for (int i = c->c.n_k - 1; i >= 0; i--)
        add = QUOTE(b->arena,
                    "#pragma unroll 1\n"
                    "for (int @k = 0; @k < @extent; ++@k)\n"
                    "    @ADD\n",
                    FILL("k", k[i]),
                    FILL_INT("extent", (int)c->c.k[i]->extent),
                    FILL_TREE("ADD", add));
    cprint_close(&x->cp, scope);
    PUT(b,
        "float whole = sum;\n"
        "if (sum != sum@there) {  // maybe what is out of the range\n"
        "    whole = 0;\n"
        "    @ADD\n"
        "}\n",
        FILL("there", there), FILL_TREE("ADD", add));
    finish_sum(f, "whole");
}
