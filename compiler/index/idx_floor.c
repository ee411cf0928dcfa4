/* idx_floor.c - simplifying floor division. */
#include "index/idx_priv.h"

/* ---- floor */

/* e = hi + lo, where g divides everything in hi. A `%` whose factor g does
 * not divide goes to lo as one if `whole`, term by term if not. */
static void split_by(const Idx *e, int64_t g, bool whole, Lin *hi, Lin *lo)
{
    lin_const(hi, 0);
    lin_const(lo, 0);
    for (; whole && e->mod; e = e->mod->rest) {
        Lin *to = e->mod->m % g ? lo : hi;
        lin_add(to, e, 1);
        lin_add(to, e->mod->rest, -1);
    }
    for (int i = 0; i < e->n; i++)
        lin_term(e->term[i].c % g ? lo : hi, e->term[i].c, e->term[i].atom);
    int64_t low = floor_mod(e->k, g);
    lo->bad |= __builtin_add_overflow(lo->k, low, &lo->k);
    hi->bad |= __builtin_add_overflow(hi->k, e->k - low, &hi->k);
}

/* l / g, exactly. */
static void lin_divide(Lin *l, int64_t g)
{
    l->k /= g;
    for (int i = 0; i < l->n; i++)
        l->term[i].c /= g;
}

enum { MAX_FACTORS = 16 };

/* Divisors of d that some of a's coefficients have too, largest first. */
static int common_factors(const Idx *a, int64_t d, int64_t g[MAX_FACTORS])
{
    int n = 0;
    for (int i = 0; i < a->n; i++) {
        uint64_t c = magnitude(a->term[i].c);
        int64_t made[MAX_FACTORS + 1] = {(int64_t)gcd(c, (uint64_t)d)};
        int n_made = 1;
        for (int j = 0; j < n; j++)
            made[n_made++] = (int64_t)gcd(c, (uint64_t)g[j]);
        for (int j = 0; j < n_made && n < MAX_FACTORS; j++) {
            int at = n;
            while (at > 0 && g[at - 1] < made[j])
                at--;
            if (made[j] == 1 || (at > 0 && g[at - 1] == made[j]))
                continue;
            memmove(&g[at + 1], &g[at], sizeof *g * (size_t)(n - at));
            g[at] = made[j];
            n++;
        }
    }
    return n;
}

/* floor((g q + lo) / (g m)) = floor((q + j) / m) if floor(lo / g) is always j.
 * NULL if no g is found. */
static const Idx *floor_by_factor(IdxPool *p, const Idx *a, int64_t d)
{
    int64_t g[MAX_FACTORS];
    int n = common_factors(a, d, g);
    for (int i = 0; i < n; i++) {
        for (int whole = 0; whole <= (a->mod != NULL); whole++) {
            Lin hi, lo;
            int64_t j;
            split_by(a, g[i], whole, &hi, &lo);
            if (hi.bad || lo.bad || hi.n == 0 ||
                !range_one_period(range_of(lin_intern(p, &lo)), g[i], &j))
                continue;
            lin_divide(&hi, g[i]);
            return idx_floor(p, idx_addc(p, lin_intern(p, &hi), j), d / g[i]);
        }
    }
    return NULL;
}

/* The last term +-floor(x / y) of a, with factor `c`; NULL if none. */
static const Atom *inner_floor(const Idx *a, int64_t c)
{
    for (int i = a->n - 1; i >= 0; i--)
        if (a->term[i].c == c && a->term[i].atom->kind == ATOM_FLOOR)
            return a->term[i].atom;
    return NULL;
}

/* floor((floor(x / y) + rest) / d) = floor((x + y * rest) / (y * d)); NULL if
 * a holds no such floor, or numbers grow too large. */
static const Idx *floor_of_floor(IdxPool *p, const Idx *a, int64_t d)
{
    const Atom *f = inner_floor(a, 1);
    int64_t both;
    Lin l, s;
    if (!f || __builtin_mul_overflow(f->d, d, &both) || both > IDX_INF)
        return NULL;
    lin_of(&l, a);
    lin_term(&l, -1, f);
    lin_of(&s, f->a);
    for (int i = 0; i < l.n; i++) {
        int64_t c;
        if (__builtin_mul_overflow(l.term[i].c, f->d, &c))
            return NULL;
        lin_term(&s, c, l.term[i].atom);
    }
    s.bad |= l.bad || __builtin_mul_overflow(l.k, f->d, &l.k) ||
             __builtin_add_overflow(s.k, l.k, &s.k);
    return s.bad ? NULL : idx_floor(p, lin_intern(p, &s), both);
}

/* -floor((d - 1 - a) / d) is floor(a / d) too. The dividend that is never
 * negative is taken; else the one whose first term is positive. */
static const Idx *floor_reduced(IdxPool *p, const Idx *a, int64_t d)
{
    int64_t q;
    if (range_one_period(range_of(a), d, &q))
        return idx_const(p, q);
    const Idx *simple = floor_by_factor(p, a, d);
    if (simple)
        return simple;
    const Idx *b = idx_addc(p, idx_scale(p, a, -1), d - 1);
    bool flip = (a->lo >= 0) != (b->lo >= 0) ? b->lo >= 0 : a->term[0].c < 0;
    for (int i = 0; i < 2; i++, flip = !flip) {
        simple = floor_of_floor(p, flip ? b : a, d);
        if (simple)
            return flip ? idx_scale(p, simple, -1) : simple;
    }
    simple = idx_floor_atom(p, flip ? b : a, d);
    return flip ? idx_scale(p, simple, -1) : simple;
}

const Idx *idx_floor(IdxPool *p, const Idx *a, int64_t d)
{
    int64_t c;
    Lin q, r;
    if (d == 1)
        return a;
    if (range_one_period(range_of(a), d, &c))
        return idx_const(p, c);
    lin_const(&q, floor_div(a->k, d));
    lin_const(&r, floor_mod(a->k, d));
    for (int i = 0; i < a->n; i++) {
        IdxTerm t = a->term[i];
        lin_term(t.c % d ? &r : &q, t.c % d ? t.c : t.c / d, t.atom);
    }
    return idx_narrow(idx_add(p, lin_intern(p, &q),
                              floor_reduced(p, lin_intern(p, &r), d)),
                      range_floor(range_of(a), d));
}

const Idx *idx_mod(IdxPool *p, const Idx *a, int64_t d)
{
    return idx_narrow(idx_sub(p, a, idx_scale(p, idx_floor(p, a, d), d)),
                      (Range){0, d - 1});
}
