/* idx_range.c - ranges of index expressions, and finding `%` in them. */
#include "index/idx_priv.h"

typedef __int128 i128;

static int64_t clamp(i128 x)
{
    return x > IDX_INF ? IDX_INF : x < -IDX_INF ? -IDX_INF : (int64_t)x;
}

Range range_limit(int64_t lo, int64_t hi)
{
    return (Range){clamp(lo), clamp(hi)};
}

/* Bounds: -INF below and INF above mean none; both are kept as they are. */
Range range_scale(Range r, int64_t c)
{
    i128 lo = (i128)r.lo * c, hi = (i128)r.hi * c;
    if (c == 0)
        return (Range){0, 0};
    if (c < 0)
        return (Range){r.hi == IDX_INF ? -IDX_INF : clamp(hi),
                       r.lo == -IDX_INF ? IDX_INF : clamp(lo)};
    return (Range){r.lo == -IDX_INF ? -IDX_INF : clamp(lo),
                   r.hi == IDX_INF ? IDX_INF : clamp(hi)};
}

Range range_add(Range a, Range b)
{
    bool none_lo = a.lo == -IDX_INF || b.lo == -IDX_INF;
    bool none_hi = a.hi == IDX_INF || b.hi == IDX_INF;
    return (Range){none_lo ? -IDX_INF : clamp((i128)a.lo + b.lo),
                   none_hi ? IDX_INF : clamp((i128)a.hi + b.hi)};
}

/* Integers x with d * x in r. */
static Range range_divide(Range r, int64_t d)
{
    int64_t lo = r.lo == -IDX_INF ? -IDX_INF : -floor_div(-r.lo, d);
    int64_t hi = r.hi == IDX_INF ? IDX_INF : floor_div(r.hi, d);
    return (Range){lo, hi};
}

Range range_floor(Range r, int64_t d)
{
    int64_t lo = r.lo == -IDX_INF ? -IDX_INF : floor_div(r.lo, d);
    int64_t hi = r.hi == IDX_INF ? IDX_INF : floor_div(r.hi, d);
    return (Range){lo, hi};
}

Range range_meet(Range a, Range b)
{
    return (Range){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* True, and the quotient, if all of r has one floor quotient by d. */
bool range_one_period(Range r, int64_t d, int64_t *q)
{
    if (r.lo == -IDX_INF || r.hi == IDX_INF)
        return false;
    *q = floor_div(r.lo, d);
    return *q == floor_div(r.hi, d);
}

/* ---- ranges
 *
 * An Idx is bounded by the sum of its terms' ranges, and again after taking
 * out one floor, min or max; what was taken out is bounded exactly. The atoms
 * that come in are older than the one that goes, so this ends. */

static Range range_plain(const Idx *e)
{
    Range r = {clamp(e->k), clamp(e->k)};
    if (e->k > IDX_INF)
        r = (Range){IDX_INF, IDX_INF};
    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        r = range_add(r, range_scale((Range){a->lo, a->hi}, e->term[i].c));
    }
    return r;
}

/* The values of e % d. */
static Range range_mod(const Idx *e, int64_t d)
{
    int64_t g = d;
    for (int i = 0; i < e->n; i++)
        g = (int64_t)gcd((uint64_t)g, magnitude(e->term[i].c));
    int64_t r = floor_mod(e->k, g);
    return (Range){r, d - g + r};
}

/* True if taking x in made l no longer than e, and something met. */
static bool shrank(const Lin *l, const Idx *e, const Idx *x)
{
    return !l->bad && l->n <= e->n && l->n < e->n - 1 + x->n;
}

/* e's range through term t, which is c * floor(x / d):
 *     d * e = d * (e - t) + c * x - c * (x % d). */
static Range range_by_floor(IdxPool *p, const Idx *e, IdxTerm t, const Idx *x,
                            int64_t d)
{
    Range none = {-IDX_INF, IDX_INF}, r;
    bool exact = t.c % d == 0;
    Lin l;
    lin_of(&l, e);
    lin_term(&l, -t.c, t.atom);
    if (exact) {
        lin_add(&l, x, t.c / d);
        if (!shrank(&l, e, x))
            return none;
        r = range_scale(range_mod(x, d), -(t.c / d));
        return range_add(range_of(lin_intern(p, &l)), r);
    }
    Lin s;
    lin_const(&s, 0);
    l.bad |= __builtin_mul_overflow(l.k, d, &s.k);
    for (int i = 0; i < l.n && !l.bad; i++) {
        s.term[i].atom = l.term[i].atom;
        l.bad |= __builtin_mul_overflow(l.term[i].c, d, &s.term[i].c);
        s.n++;
    }
    s.bad = l.bad || t.c == INT64_MIN;
    if (s.bad)
        return none;
    lin_add(&s, x, t.c);
    if (!shrank(&s, e, x))
        return none;
    r = range_scale(range_mod(x, d), -t.c);
    return range_divide(range_add(range_of(lin_intern(p, &s)), r), d);
}

/* Term t is c * min(a, b) or c * max(a, b): e is one of two, and at most or at
 * least each of them. */
static Range range_by_choice(IdxPool *p, const Idx *e, IdxTerm t)
{
    Range r[2];
    for (int i = 0; i < 2; i++) {
        Lin l;
        lin_of(&l, e);
        lin_term(&l, -t.c, t.atom);
        lin_add(&l, i ? t.atom->b : t.atom->a, t.c);
        if (l.bad)
            return (Range){-IDX_INF, IDX_INF};
        r[i] = range_of(lin_intern(p, &l));
    }
    Range meet = range_meet(r[0], r[1]), join = r[0];
    join.lo = r[1].lo < join.lo ? r[1].lo : join.lo;
    join.hi = r[1].hi > join.hi ? r[1].hi : join.hi;
    if ((t.atom->kind == ATOM_MIN) == (t.c > 0))
        return (Range){join.lo, meet.hi};
    return (Range){meet.lo, join.hi};
}

/* Ways to write floor(a / d) as floor(x / m): one through every floor in e
 * whose divisor divides d. i counts them from 0; false after the last. */
static bool floor_way(IdxPool *p, const Idx *e, const Atom *f, int i,
                      const Idx **x, int64_t *m)
{
    *x = f->a;
    *m = f->d;
    if (i == 0)
        return true;
    *x = NULL;
    if (i > e->n)
        return false;
    const Atom *o = e->term[i - 1].atom;
    if (o->kind == ATOM_FLOOR && o->d < f->d && f->d % o->d == 0) {
        *x = idx_floor(p, f->a, o->d);
        *m = f->d / o->d;
    }
    return true;
}

enum { MAX_DEEP = 8 }; /* of more floors, minima and maxima only the `%` */

static int count_deep(const Idx *e)
{
    int deep = 0;
    for (int i = 0; i < e->n; i++)
        deep += e->term[i].atom->kind != ATOM_VAR &&
                e->term[i].atom->kind != ATOM_DATA;
    return deep;
}

Range idx_find_range(IdxPool *p, const Idx *e)
{
    Range r = range_plain(e);
    if (e->mod) {
        Range m = range_scale(range_mod(e->mod->a, e->mod->d), e->mod->m);
        r = range_meet(r, range_add(range_of(e->mod->rest), m));
    }
    int deep = count_deep(e);
    if (deep == 0 || deep > MAX_DEEP || (e->n == 1 && e->k == 0) ||
        !idx_spend(p))
        return r;
    for (int i = e->n - 1; i >= 0; i--) {
        IdxTerm t = e->term[i];
        if (t.atom->kind == ATOM_MIN || t.atom->kind == ATOM_MAX)
            r = range_meet(r, range_by_choice(p, e, t));
        if (t.atom->kind != ATOM_FLOOR)
            continue;
        const Idx *x;
        int64_t m;
        for (int way = 0; floor_way(p, e, t.atom, way, &x, &m); way++)
            if (x)
                r = range_meet(r, range_by_floor(p, e, t, x, m));
    }
    return r;
}

/* ---- reading `%` back */

/* e = rest + m * (x % d) through term t = c * floor(x / d), if every term of
 * m * x lies in e with the same sign. Returns the terms saved, 0 if not. */
static int mod_by(const Idx *e, IdxTerm t, const Idx *x, int64_t d, Lin *rest)
{
    if (t.c % d)
        return 0;
    int64_t m = -(t.c / d);
    lin_of(rest, e);
    lin_term(rest, -t.c, t.atom);
    lin_add(rest, x, -m);
    if (rest->bad)
        return 0;
    for (int i = 0; i < x->n; i++) {
        const Atom *a = x->term[i].atom;
        int64_t before = atom_coef(e, a), after = 0;
        for (int j = 0; j < rest->n; j++)
            if (rest->term[j].atom == a)
                after = rest->term[j].c;
        if (magnitude(after) >= magnitude(before))
            return 0;
    }
    return e->n - rest->n;
}

const IdxMod *idx_find_mod(IdxPool *p, const Idx *e)
{
    Lin lin, best;
    IdxMod m = {0};
    int saved = 0;
    for (int i = e->n - 1; i >= 0; i--) {
        IdxTerm t = e->term[i];
        const Idx *x;
        int64_t d;
        if (t.atom->kind != ATOM_FLOOR)
            continue;
        for (int way = 0; floor_way(p, e, t.atom, way, &x, &d); way++) {
            int s = x ? mod_by(e, t, x, d, &lin) : 0;
            if (s > saved) {
                saved = s;
                best = lin;
                m = (IdxMod){NULL, x, -(t.c / d), d};
            }
        }
    }
    if (!saved)
        return NULL;
    IdxMod *out = arena_new_of(idx_arena(p), IdxMod);
    m.rest = lin_intern(p, &best);
    *out = m;
    return out;
}
