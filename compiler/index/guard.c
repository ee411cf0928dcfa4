/* guard.c - conjunctions of affine conditions. */
#include "index/idx_priv.h"

Truth cond_truth(Cond c)
{
    const Idx *e = c.e;
    if (c.mod == 0)
        return e->lo >= 0 ? ALWAYS : e->hi < 0 ? NEVER : MAYBE;
    int64_t g = c.mod;
    for (int i = 0; i < e->n; i++)
        g = (int64_t)gcd((uint64_t)g, magnitude(e->term[i].c));
    if (e->k % g)
        return NEVER;
    if (g == c.mod)
        return ALWAYS;
    if (e->lo == -IDX_INF || e->hi == IDX_INF)
        return MAYBE;
    int64_t first = floor_div(e->lo + c.mod - 1, c.mod) * c.mod;
    if (first > e->hi)
        return NEVER;
    return e->lo == e->hi ? ALWAYS : MAYBE;
}

/* g * x + k >= 0 as x + floor(k / g) >= 0; e (mod m) with small coefficients
 * and without a common factor. */
static Cond canonical(IdxPool *p, Cond c)
{
    const Idx *e = c.e, *out;
    int64_t g = c.mod;
    for (int i = 0; i < e->n; i++)
        g = (int64_t)gcd((uint64_t)g, magnitude(e->term[i].c));
    if (g <= 0 || (c.mod && e->k % g))
        return c;
    out = idx_const(p, c.mod ? floor_mod(e->k, c.mod) / g
                             : floor_div(e->k, g));
    for (int i = 0; i < e->n; i++) {
        int64_t f = c.mod ? floor_mod(e->term[i].c, c.mod) : e->term[i].c;
        out = idx_add(p, out, idx_scale(p, idx_atom(p, e->term[i].atom),
                                        f / g));
    }
    return (Cond){out, c.mod / g};
}

/* True if a implies b. */
static bool implies(IdxPool *p, Cond a, Cond b)
{
    if (a.e == b.e && a.mod == b.mod)
        return true;
    if (a.mod || b.mod)
        return a.mod && b.mod && a.mod % b.mod == 0 && a.e == b.e;
    return idx_sub(p, b.e, a.e)->lo >= 0;
}

/* True if a and b cannot both hold. */
static bool exclude(IdxPool *p, Cond a, Cond b)
{
    return a.mod == 0 && b.mod == 0 && idx_add(p, a.e, b.e)->hi < 0;
}

static Guard never(IdxPool *p)
{
    Cond *c = arena_alloc(idx_arena(p), sizeof *c);
    *c = (Cond){idx_const(p, -1), 0};
    return (Guard){c, 1};
}

/* rest + c * min(a, b) >= 0, c > 0, holds where both rest + c * a >= 0 and rest
 * + c * b >= 0 do; and so does a maximum's where c < 0. */
static bool add_each(IdxPool *p, Guard *g, const Idx *e)
{
    for (int i = 0; i < e->n; i++) {
        const Atom *x = e->term[i].atom;
        int64_t c = e->term[i].c;
        if (x->kind != (c > 0 ? ATOM_MIN : ATOM_MAX))
            continue;
        const Idx *rest = idx_sub(p, e, idx_scale(p, idx_atom(p, x), c));
        *g = guard_add(p, *g, idx_add(p, rest, idx_scale(p, x->a, c)), 0);
        *g = guard_add(p, *g, idx_add(p, rest, idx_scale(p, x->b, c)), 0);
        return true;
    }
    return false;
}

Guard guard_add(IdxPool *p, Guard g, const Idx *e, int64_t mod)
{
    Cond c = {e, mod};
    Truth t = cond_truth(c);
    if (t == ALWAYS || (g.n == 1 && cond_truth(g.cond[0]) == NEVER))
        return g;
    if (t == NEVER)
        return never(p);
    if (!mod && add_each(p, &g, e))
        return g;
    c = canonical(p, c);
    if (cond_truth(c) == ALWAYS)
        return g;
    for (int i = 0; i < g.n; i++)
        if (implies(p, g.cond[i], c))
            return g;
    Cond *out = arena_array(idx_arena(p), Cond, g.n + 1);
    int n = 0;
    for (int i = 0; i < g.n; i++) {
        if (exclude(p, c, g.cond[i]))
            return never(p);
        if (!implies(p, c, g.cond[i]))
            out[n++] = g.cond[i];
    }
    out[n++] = c;
    return (Guard){out, n};
}

Guard guard_and(IdxPool *p, Guard a, Guard b)
{
    for (int i = 0; i < b.n; i++)
        a = guard_add(p, a, b.cond[i].e, b.cond[i].mod);
    return a;
}

Guard guard_subst(IdxPool *p, Guard g, const Subst *s, int n)
{
    Guard out = {0};
    for (int i = 0; i < g.n; i++)
        out = guard_add(p, out, idx_subst(p, g.cond[i].e, s, n),
                        g.cond[i].mod);
    return out;
}

bool guard_same(Guard a, Guard b)
{
    if (a.n != b.n)
        return false;
    for (int i = 0; i < a.n; i++)
        if (a.cond[i].e != b.cond[i].e || a.cond[i].mod != b.cond[i].mod)
            return false;
    return true;
}

Truth guard_truth(Guard g)
{
    Truth all = ALWAYS;
    for (int i = 0; i < g.n; i++) {
        Truth t = cond_truth(g.cond[i]);
        all = t < all ? t : all;
    }
    return all;
}

/* What is affine and at least some positive multiple of e; NULL: not found. A
 * floor, times d, is up to d - 1 less than what it is of. */
static const Idx *affine_above(IdxPool *p, const Idx *e)
{
    enum { MOST = 1 << 20, FLOORS = 4 };

    for (int round = 0; round <= FLOORS; round++) {
        const Atom *x = NULL;
        int64_t c = 0;
        for (int i = 0; i < e->n && !x; i++)
            if (e->term[i].atom->kind != ATOM_VAR) {
                x = e->term[i].atom;
                c = e->term[i].c;
            }
        if (!x)
            return e;
        if (x->kind != ATOM_FLOOR || x->d > MOST)
            return NULL;
        const Idx *rest = idx_sub(p, e, idx_scale(p, idx_atom(p, x), c));
        const Idx *a = idx_scale(p, idx_addc(p, x->a, c < 0 ? 1 - x->d : 0), c);
        e = idx_add(p, idx_scale(p, rest, x->d), a);
    }
    return NULL;
}

Guard guard_affine(IdxPool *p, Guard g)
{
    Guard out = {0};

    for (int i = 0; i < g.n; i++) {
        const Idx *e = g.cond[i].mod ? NULL : affine_above(p, g.cond[i].e);
        if (e)
            out = guard_add(p, out, e, 0);
    }
    return out;
}

bool guard_uses(Guard g, const Var *v)
{
    for (int i = 0; i < g.n; i++)
        if (idx_uses(g.cond[i].e, v))
            return true;
    return false;
}

/* v <= e with e + 1 a multiple of vec holds for all or none of them. */
static bool cond_parts(Cond c, const Var *v, int vec)
{
    bool last = idx_coef(c.e, v) == -1 && !c.mod && (c.e->k + 1) % vec == 0;

    for (int i = 0; i < c.e->n && last; i++) {
        const Atom *a = c.e->term[i].atom;
        last = a->var == v || (a->kind == ATOM_VAR &&
                               c.e->term[i].c % vec == 0);
    }
    return !last && idx_uses(c.e, v);
}

bool guard_parts(Guard g, const Var *v, int vec)
{
    for (int i = 0; i < g.n; i++)
        if (cond_parts(g.cond[i], v, vec))
            return true;
    return false;
}

static const Idx *narrow_data(IdxPool *p, const Atom *a, void *ctx)
{
    const Guard *known = ctx;
    int64_t lo = a->lo, hi = a->hi;

    if (a->kind != ATOM_DATA || !a->data)
        return NULL;
    for (int i = 0; i < known->n; i++) {
        const Idx *e = known->cond[i].e; /* x - least >= 0, most - x >= 0 */
        if (known->cond[i].mod || e->mod || e->n != 1 ||
            e->term[0].atom->kind != ATOM_DATA ||
            !a->data || !e->term[0].atom->data ||
            !a->of->equal(e->term[0].atom->data, a->data))
            continue;
        if (e->term[0].c == 1 && -e->k > lo)
            lo = -e->k;
        if (e->term[0].c == -1 && e->k < hi)
            hi = e->k;
    }
    return lo > hi || (lo == a->lo && hi == a->hi)
               ? NULL : idx_data(p, a->data, lo, hi);
}

const Idx *guard_narrow(IdxPool *p, Guard known, const Idx *e)
{
    return known.n ? idx_map(p, e, narrow_data, &known) : e;
}

Guard guard_within(IdxPool *p, Guard g, const Idx *e, int64_t lo, int64_t hi)
{
    g = guard_add(p, g, idx_addc(p, e, -lo), 0);
    return guard_add(p, g, idx_addc(p, idx_scale(p, e, -1), hi - 1), 0);
}
