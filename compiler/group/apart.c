#include "group/apart.h"

#include <limits.h>
#include <string.h>

int64_t vars_extent(const Var *const *v, int n)
{
    int64_t e = 1;

    for (int i = 0; i < n; i++)
        e = e > INT_MAX ? e : e * v[i]->extent;
    return e;
}

void vars_sort(const Var **v, int n, const Idx *offset)
{
    for (int i = 1; i < n; i++)
        for (int k = i;
             k > 0 && idx_coef(offset, v[k]) > idx_coef(offset, v[k - 1]);
             k--) {
            const Var *w = v[k];
            v[k] = v[k - 1];
            v[k - 1] = w;
        }
}

/* Whether v is a window's: added to what is summed, in one index. */
static bool is_tap(const Contraction *c, const Operand *o, const Var *v)
{
    const Expr *read = o->read;

    for (int d = 0; d < read->tensor->rank; d++)
        for (int i = 0; i < c->n_k && idx_uses(read->at[d], v); i++)
            if (idx_uses(read->at[d], c->k[i]))
                return true;
    return false;
}

/* Whether v walks beyond what is summed: images of channels of pixels. */
static bool beyond_sum(const Contraction *c, const Operand *o, const Var *v)
{
    for (int i = 0; i < c->n_k && !is_tap(c, o, v); i++)
        if (idx_coef(o->offset, v) > idx_coef(o->offset, c->k[i]))
            return true;
    return false;
}

/* Rows that are products apart, and those that are left. */
typedef struct Parted {
    const Var *left[MAX_RANK], *apart[MAX_RANK];
    int n_left, n_apart;
} Parted;

static void part_var(Parted *p, const Var *v, bool apart)
{
    if (apart)
        p->apart[p->n_apart++] = v;
    else
        p->left[p->n_left++] = v;
}

/* Unless fewer than `least` rows would be left. */
static void set_parted(Contraction *c, const Parted *p, const Var **v, int *n,
                       int64_t least)
{
    if (vars_extent(p->left, p->n_left) < least ||
        c->n_batch + p->n_apart > MAX_RANK)
        return;
    memcpy(v, p->left, sizeof *v * (size_t)p->n_left);
    memcpy(c->batch + c->n_batch, p->apart, sizeof *v * (size_t)p->n_apart);
    c->n_batch += p->n_apart;
    *n = p->n_left;
}

void apart_rows(Contraction *c, const Operand *o, const Var **v, int *n)
{
    enum { LEAST = 256, VECTOR = 16 };
    Parted p = {.n_left = 0};

    if (!o->read || !vars_have(v, *n, o->along) || !idx_affine(o->offset) ||
        o->vec * type_bytes(o->read->tensor->type) < VECTOR ||
        type_bytes(o->type) > 2)
        return;
    for (int i = 0; i < *n; i++)
        part_var(&p, v[i], beyond_sum(c, o, v[i]));
    if (vars_have(p.left, p.n_left, o->along))
        set_parted(c, &p, v, n, LEAST);
}

/* Whether c has v as the digit below the steps of a summed variable, beyond
 * some number: taps of a phase. */
static bool is_phase(const Contraction *x, Cond c, const Var *v)
{
    int64_t step = idx_coef(c.e, v);

    for (int i = 0; i < x->n_k && !c.mod && step < 0; i++) {
        int64_t tap = idx_coef(c.e, x->k[i]);
        if (tap < 0 && tap <= step * v->extent)
            return true;
    }
    return false;
}

void apart_phases(Contraction *c, const Operand *o, const Var **v, int *n)
{
    enum { LEAST = 32 };
    Parted p = {.n_left = 0};

    for (int i = 0; i < *n; i++) {
        bool phase = false;
        for (int j = 0; o->read && j < o->in.n; j++)
            phase |= is_phase(c, o->in.cond[j], v[i]);
        part_var(&p, v[i], phase);
    }
    set_parted(c, &p, v, n, LEAST);
}
