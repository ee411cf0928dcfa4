/* idx_query.c - questions about index expressions. */
#include "index/idx.h"

bool idx_is_const(const Idx *e)
{
    return e->n == 0;
}

const Var *idx_is_var(const Idx *e)
{
    bool is = e->n == 1 && e->k == 0 && e->term[0].c == 1;
    return is ? e->term[0].atom->var : NULL; /* NULL unless ATOM_VAR */
}

int64_t idx_coef(const Idx *e, const Var *v)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->var == v)
            return e->term[i].c;
    return 0;
}

void idx_visit(const Idx *e, IdxVisit *f, void *ctx)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        f(a, ctx);
        if (a->a)
            idx_visit(a->a, f, ctx);
        if (a->b)
            idx_visit(a->b, f, ctx);
    }
}

bool atom_uses(const Atom *a, const Var *v)
{
    return a->var == v || (a->a && idx_uses(a->a, v)) ||
           (a->b && idx_uses(a->b, v)) ||
           (a->data && a->of->uses(a->data, v));
}

bool idx_uses(const Idx *e, const Var *v)
{
    for (int i = 0; i < e->n; i++)
        if (atom_uses(e->term[i].atom, v))
            return true;
    return false;
}

bool idx_affine(const Idx *e)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->kind != ATOM_VAR)
            return false;
    return true;
}

int64_t idx_align(const Idx *e, int64_t most)
{
    uint64_t bits = (uint64_t)e->k;
    for (int i = 0; i < e->n; i++)
        bits |= (uint64_t)e->term[i].c;
    int64_t align = 1;
    while (align <= most / 2 && !(bits & (uint64_t)align))
        align *= 2;
    return align;
}

int idx_radix(const Idx *e, int64_t extent, const Var **v, int max)
{
    enum { MOST = 32 };
    int order[MOST];
    int64_t step = 1;
    if (e->k != 0 || e->n > max || e->n > MOST)
        return -1;
    for (int i = 0; i < e->n; i++) { /* by coefficient; a tie: by extent */
        const IdxTerm *t = &e->term[i];
        int at = i;
        if (t->atom->kind != ATOM_VAR)
            return -1;
        for (; at > 0; at--) {
            const IdxTerm *o = &e->term[order[at - 1]];
            if (o->c < t->c ||
                (o->c == t->c && o->atom->var->extent <= t->atom->var->extent))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int i = 0; i < e->n; i++) {
        const IdxTerm *t = &e->term[order[i]];
        const Var *x = t->atom->var;
        if (x->extent != 1 && t->c != step)
            return -1;
        if (__builtin_mul_overflow(step, x->extent, &step))
            return -1;
        v[e->n - 1 - i] = x;
    }
    return step == extent ? e->n : -1;
}

bool vars_have(const Var *const *v, int n, const Var *x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}
