/* idx.c - making and simplifying index expressions, and their ranges. */
#include "idx.h"

#include "graph.h"

typedef __int128 i128;

/* Chained hash tables: every Idx and every Atom hangs in one. */
typedef struct Node {
    struct Node *next;
    uint64_t hash;
    const void *what;
} Node;

typedef struct Table {
    Node **bucket;
    int n, cap; /* cap: a power of two */
} Table;

struct IdxPool {
    Arena *arena;
    struct Graph *graph;
    Table idx, atom;
    const Atom **var_atom; /* by variable id */
    int n_var, cap_var;
    int n_idx, n_atom;
};

/* A sum under construction: sorted terms, none zero. */
typedef struct Lin {
    int64_t k;
    int n;
    bool bad; /* left int64, or too long */
    IdxTerm term[IDX_MAX_TERMS];
} Lin;

typedef struct Range {
    int64_t lo, hi;
} Range;

static const Idx *intern(IdxPool *p, const Lin *l);

/* ---- numbers */

static int64_t floor_div(int64_t a, int64_t d)
{
    int64_t q = a / d;
    return q - (a % d < 0);
}

static int64_t floor_mod(int64_t a, int64_t d)
{
    int64_t r = a % d;
    return r < 0 ? r + d : r;
}

static uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static int64_t clamp(i128 x)
{
    return x > IDX_INF ? IDX_INF : x < -IDX_INF ? -IDX_INF : (int64_t)x;
}

/* Bounds: -INF below and INF above mean none; both are kept as they are. */
static Range range_scale(Range r, int64_t c)
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

static Range range_add(Range a, Range b)
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

static Range range_floor(Range r, int64_t d)
{
    int64_t lo = r.lo == -IDX_INF ? -IDX_INF : floor_div(r.lo, d);
    int64_t hi = r.hi == IDX_INF ? IDX_INF : floor_div(r.hi, d);
    return (Range){lo, hi};
}

static Range range_meet(Range a, Range b)
{
    return (Range){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

static Range range_of(const Idx *e)
{
    return (Range){e->lo, e->hi};
}

/* True, and the quotient, if all of r has one floor quotient by d. */
static bool one_period(Range r, int64_t d, int64_t *q)
{
    if (r.lo == -IDX_INF || r.hi == IDX_INF)
        return false;
    *q = floor_div(r.lo, d);
    return *q == floor_div(r.hi, d);
}

/* ---- tables */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static Node *table_first(const Table *t, uint64_t hash)
{
    return t->cap ? t->bucket[hash & (uint64_t)(t->cap - 1)] : NULL;
}

static void table_grow(Arena *a, Table *t)
{
    int cap = t->cap ? 2 * t->cap : 256;
    Node **bucket = arena_array(a, Node *, cap);
    for (int i = 0; i < t->cap; i++) {
        for (Node *n = t->bucket[i], *next; n; n = next) {
            Node **b = &bucket[n->hash & (uint64_t)(cap - 1)];
            next = n->next;
            n->next = *b;
            *b = n;
        }
    }
    t->bucket = bucket;
    t->cap = cap;
}

static void table_put(Arena *a, Table *t, uint64_t hash, const void *what)
{
    if (t->n >= t->cap)
        table_grow(a, t);
    Node *n = arena_new_of(a, Node);
    Node **b = &t->bucket[hash & (uint64_t)(t->cap - 1)];
    *n = (Node){*b, hash, what};
    *b = n;
    t->n++;
}

/* ---- the pool */

IdxPool *idx_pool(Arena *a)
{
    IdxPool *p = arena_new_of(a, IdxPool);
    p->arena = a;
    return p;
}

void idx_pool_graph(IdxPool *p, struct Graph *g)
{
    p->graph = g;
}

Arena *idx_arena(IdxPool *p)
{
    return p->arena;
}

const Var *idx_new_var(IdxPool *p, const char *name, int64_t extent)
{
    Var *v = arena_new_of(p->arena, Var);
    Atom *a = arena_new_of(p->arena, Atom);
    *v = (Var){p->n_var, arena_strdup(p->arena, name), extent};
    int64_t hi = extent > 0 ? extent - 1 : 0;
    *a = (Atom){.kind = ATOM_VAR, .id = p->n_atom++, .var = v, .lo = 0,
                .hi = hi};
    VEC_PUSH(p->arena, p->var_atom, p->n_var, p->cap_var) = a;
    return v;
}

static uint64_t atom_hash(const Atom *a)
{
    uint64_t h = mix(a->kind, (uint64_t)a->d);
    h = mix(h, a->a ? (uint64_t)a->a->id : 0);
    h = mix(h, a->b ? (uint64_t)a->b->id : 0);
    if (a->data) {
        h = mix(h, a->data->kind);
        h = mix(h, a->data->tensor ? (uint64_t)a->data->tensor->id : 0);
        h = mix(mix(h, (uint64_t)a->lo), (uint64_t)a->hi);
    }
    return h;
}

static bool atom_same(const Atom *a, const Atom *b)
{
    if (a->kind != b->kind || a->a != b->a || a->b != b->b || a->d != b->d)
        return false;
    if (a->kind != ATOM_DATA)
        return true;
    return a->lo == b->lo && a->hi == b->hi && a->data && b->data &&
           expr_equal(a->data, b->data);
}

static const Atom *intern_atom(IdxPool *p, Atom key)
{
    uint64_t h = atom_hash(&key);
    for (Node *n = table_first(&p->atom, h); n; n = n->next)
        if (n->hash == h && atom_same(n->what, &key))
            return n->what;
    Atom *a = arena_new_of(p->arena, Atom);
    *a = key;
    a->id = p->n_atom++;
    table_put(p->arena, &p->atom, h, a);
    return a;
}

/* ---- sums */

static void lin_of(Lin *l, const Idx *e)
{
    l->k = e->k;
    l->n = e->n;
    l->bad = false;
    memcpy(l->term, e->term, sizeof *l->term * (size_t)e->n);
}

static void lin_const(Lin *l, int64_t k)
{
    l->k = k;
    l->n = 0;
    l->bad = false;
}

/* Adds c * atom, keeping the order. */
static void lin_term(Lin *l, int64_t c, const Atom *atom)
{
    int i = l->n;
    while (i > 0 && l->term[i - 1].atom->id > atom->id)
        i--;
    if (i > 0 && l->term[i - 1].atom == atom) {
        IdxTerm *t = &l->term[i - 1];
        l->bad |= __builtin_add_overflow(t->c, c, &t->c);
        if (t->c == 0) {
            memmove(t, t + 1, sizeof *t * (size_t)(l->n - i));
            l->n--;
        }
        return;
    }
    if (c == 0 || l->n == IDX_MAX_TERMS) {
        l->bad |= c != 0;
        return;
    }
    memmove(&l->term[i + 1], &l->term[i],
            sizeof *l->term * (size_t)(l->n - i));
    l->term[i] = (IdxTerm){c, atom};
    l->n++;
}

static void lin_add(Lin *l, const Idx *e, int64_t c)
{
    int64_t x;
    l->bad |= __builtin_mul_overflow(e->k, c, &x);
    l->bad |= __builtin_add_overflow(l->k, x, &l->k);
    for (int i = 0; i < e->n && !l->bad; i++) {
        l->bad |= __builtin_mul_overflow(e->term[i].c, c, &x);
        if (!l->bad)
            lin_term(l, x, e->term[i].atom);
    }
}

/* The coefficient of an atom in e. */
static int64_t atom_coef(const Idx *e, const Atom *a)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom == a)
            return e->term[i].c;
    return 0;
}

const Idx *idx_atom(IdxPool *p, const Atom *a)
{
    Lin l;
    lin_const(&l, 0);
    lin_term(&l, 1, a);
    return intern(p, &l);
}

/* A value of which nothing is known, equal to no other. */
static const Idx *unknown(IdxPool *p)
{
    Atom *a = arena_new_of(p->arena, Atom);
    *a = (Atom){.kind = ATOM_DATA, .id = p->n_atom++, .lo = -IDX_INF,
                .hi = IDX_INF};
    return idx_atom(p, a);
}

const Idx *idx_const(IdxPool *p, int64_t k)
{
    Lin l;
    lin_const(&l, k);
    return intern(p, &l);
}

const Idx *idx_var(IdxPool *p, const Var *v)
{
    return idx_atom(p, p->var_atom[v->id]);
}

static const Idx *combine(IdxPool *p, const Idx *a, const Idx *b, int64_t cb)
{
    Lin l;
    lin_of(&l, a);
    lin_add(&l, b, cb);
    return intern(p, &l);
}

const Idx *idx_add(IdxPool *p, const Idx *a, const Idx *b)
{
    return combine(p, a, b, 1);
}

const Idx *idx_sub(IdxPool *p, const Idx *a, const Idx *b)
{
    return a == b ? idx_const(p, 0) : combine(p, a, b, -1);
}

const Idx *idx_addc(IdxPool *p, const Idx *a, int64_t k)
{
    Lin l;
    if (k == 0)
        return a;
    lin_of(&l, a);
    l.bad |= __builtin_add_overflow(l.k, k, &l.k);
    return intern(p, &l);
}

const Idx *idx_scale(IdxPool *p, const Idx *a, int64_t c)
{
    Lin l;
    if (c == 1)
        return a;
    lin_const(&l, 0);
    if (c)
        lin_add(&l, a, c);
    return intern(p, &l);
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
        return range_add(range_of(intern(p, &l)), r);
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
    return range_divide(range_add(range_of(intern(p, &s)), r), d);
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
        r[i] = range_of(intern(p, &l));
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

enum { MAX_DEEP = 8 }; /* more floors, minima and maxima: plain range only */

static Range find_range(IdxPool *p, const Idx *e)
{
    Range r = range_plain(e);
    int deep = 0;
    for (int i = 0; i < e->n; i++)
        deep += e->term[i].atom->kind != ATOM_VAR &&
                e->term[i].atom->kind != ATOM_DATA;
    if (deep > MAX_DEEP || (e->n == 1 && e->k == 0))
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

static const IdxMod *find_mod(IdxPool *p, const Idx *e)
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
    IdxMod *out = arena_new_of(p->arena, IdxMod);
    m.rest = intern(p, &best);
    *out = m;
    return out;
}

static uint64_t lin_hash(const Lin *l)
{
    uint64_t h = mix((uint64_t)l->n, (uint64_t)l->k);
    for (int i = 0; i < l->n; i++)
        h = mix(mix(h, (uint64_t)l->term[i].atom->id), (uint64_t)l->term[i].c);
    return h;
}

static const Idx *find_idx(const IdxPool *p, const Lin *l, uint64_t h)
{
    for (Node *n = table_first(&p->idx, h); n; n = n->next) {
        const Idx *e = n->what;
        bool same = n->hash == h && e->n == l->n && e->k == l->k;
        for (int i = 0; same && i < l->n; i++)
            same = e->term[i].c == l->term[i].c &&
                   e->term[i].atom == l->term[i].atom;
        if (same)
            return e;
    }
    return NULL;
}

static const Idx *intern(IdxPool *p, const Lin *l)
{
    bool bad = l->bad || l->k == INT64_MIN;
    for (int i = 0; i < l->n; i++)
        bad |= l->term[i].c == INT64_MIN;
    if (bad)
        return unknown(p);
    uint64_t h = lin_hash(l);
    const Idx *old = find_idx(p, l, h);
    if (old)
        return old;
    size_t terms = sizeof *l->term * (size_t)l->n;
    Idx *e = arena_alloc(p->arena, sizeof *e + terms);
    e->k = l->k;
    e->n = l->n;
    memcpy(e->term, l->term, terms);
    Range r = find_range(p, e);
    e->lo = r.lo;
    e->hi = r.hi;
    e->mod = find_mod(p, e);
    e->id = p->n_idx++;
    table_put(p->arena, &p->idx, h, e);
    return e;
}

/* ---- floor */

static const Idx *floor_atom(IdxPool *p, const Idx *a, int64_t d)
{
    Range r = range_floor(range_of(a), d);
    return idx_atom(p, intern_atom(p, (Atom){.kind = ATOM_FLOOR, .a = a, .d = d,
                                            .lo = r.lo, .hi = r.hi}));
}

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
                !one_period(range_of(intern(p, &lo)), g[i], &j))
                continue;
            lin_divide(&hi, g[i]);
            return idx_floor(p, idx_addc(p, intern(p, &hi), j), d / g[i]);
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
    return s.bad ? NULL : idx_floor(p, intern(p, &s), both);
}

/* -floor((d - 1 - a) / d) is floor(a / d) too. The dividend that is never
 * negative is taken; else the one whose first term is positive. */
static const Idx *floor_reduced(IdxPool *p, const Idx *a, int64_t d)
{
    int64_t q;
    if (one_period(range_of(a), d, &q))
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
    simple = floor_atom(p, flip ? b : a, d);
    return flip ? idx_scale(p, simple, -1) : simple;
}

const Idx *idx_floor(IdxPool *p, const Idx *a, int64_t d)
{
    int64_t c;
    Lin q, r;
    if (d == 1)
        return a;
    if (one_period(range_of(a), d, &c))
        return idx_const(p, c);
    lin_const(&q, floor_div(a->k, d));
    lin_const(&r, floor_mod(a->k, d));
    for (int i = 0; i < a->n; i++) {
        IdxTerm t = a->term[i];
        lin_term(t.c % d ? &r : &q, t.c % d ? t.c : t.c / d, t.atom);
    }
    return idx_add(p, intern(p, &q), floor_reduced(p, intern(p, &r), d));
}

const Idx *idx_mod(IdxPool *p, const Idx *a, int64_t d)
{
    return combine(p, a, idx_floor(p, a, d), -d);
}

/* ---- min, max, data */

/* e as one bare atom of a kind, or NULL. */
static const Atom *bare(const Idx *e, AtomKind kind)
{
    bool is = e->n == 1 && e->k == 0 && e->term[0].c == 1;
    return is && e->term[0].atom->kind == kind ? e->term[0].atom : NULL;
}

/* The operand that is always chosen, or NULL. */
static const Idx *choose(IdxPool *p, AtomKind kind, const Idx *a, const Idx *b)
{
    const Idx *diff = idx_sub(p, a, b);
    if (diff->hi <= 0)
        return kind == ATOM_MIN ? a : b;
    if (diff->lo >= 0)
        return kind == ATOM_MIN ? b : a;
    return NULL;
}

static const Idx *min_max(IdxPool *p, AtomKind kind, const Idx *a,
                          const Idx *b)
{
    const Idx *one = choose(p, kind, a, b);
    if (one)
        return one;
    for (int i = 0; i < 2; i++) {
        const Idx *x = i ? b : a, *y = i ? a : b;
        const Atom *in = bare(x, kind);
        if (in && choose(p, kind, in->a, y) == y)
            return min_max(p, kind, in->b, y);
        if (in && choose(p, kind, in->b, y) == y)
            return min_max(p, kind, in->a, y);
    }
    bool swap = idx_is_const(a) != idx_is_const(b) ? idx_is_const(a)
                                                   : a->id > b->id;
    if (swap) {
        const Idx *t = a;
        a = b;
        b = t;
    }
    Range ra = range_of(a), rb = range_of(b), r = range_meet(ra, rb);
    if (kind == ATOM_MIN)
        r.lo = ra.lo < rb.lo ? ra.lo : rb.lo;
    else
        r.hi = ra.hi > rb.hi ? ra.hi : rb.hi;
    return idx_atom(p, intern_atom(p, (Atom){.kind = kind, .a = a, .b = b,
                                            .lo = r.lo, .hi = r.hi}));
}

const Idx *idx_min(IdxPool *p, const Idx *a, const Idx *b)
{
    return min_max(p, ATOM_MIN, a, b);
}

const Idx *idx_max(IdxPool *p, const Idx *a, const Idx *b)
{
    return min_max(p, ATOM_MAX, a, b);
}

static bool small_integer(const Expr *e)
{
    return e->kind == E_CONST && e->num >= -0x1p53 && e->num <= 0x1p53 &&
           e->num == (double)(int64_t)e->num;
}

const Idx *idx_data(IdxPool *p, const struct Expr *data, int64_t lo,
                    int64_t hi)
{
    if (data->kind == E_INDEX)
        return data->idx;
    if (small_integer(data))
        return idx_const(p, (int64_t)data->num);
    Range r = {clamp(lo), clamp(hi)};
    return idx_atom(p, intern_atom(p, (Atom){.kind = ATOM_DATA, .data = data,
                                            .lo = r.lo, .hi = r.hi}));
}

/* ---- rebuilding */

static const Idx *map_atom(IdxPool *p, const Atom *a, IdxMap *f, void *ctx)
{
    const Idx *x, *y;
    switch (a->kind) {
    case ATOM_FLOOR:
        x = idx_map(p, a->a, f, ctx);
        return x == a->a ? NULL : idx_floor(p, x, a->d);
    case ATOM_MIN:
    case ATOM_MAX:
        x = idx_map(p, a->a, f, ctx);
        y = idx_map(p, a->b, f, ctx);
        return x == a->a && y == a->b ? NULL : min_max(p, a->kind, x, y);
    case ATOM_VAR:
    case ATOM_DATA:
        break;
    }
    return f(p, a, ctx);
}

const Idx *idx_map(IdxPool *p, const Idx *e, IdxMap *f, void *ctx)
{
    Lin l;
    bool changed = false;
    lin_const(&l, e->k);
    for (int i = 0; i < e->n && !l.bad; i++) {
        const Idx *by = map_atom(p, e->term[i].atom, f, ctx);
        changed |= by != NULL;
        if (by)
            lin_add(&l, by, e->term[i].c);
        else
            lin_term(&l, e->term[i].c, e->term[i].atom);
    }
    return changed ? intern(p, &l) : e;
}

typedef struct SubstList {
    const Subst *s;
    int n;
} SubstList;

static const Idx *subst_atom(IdxPool *p, const Atom *a, void *ctx)
{
    const SubstList *l = ctx;
    for (int i = 0; i < l->n && a->kind == ATOM_VAR; i++)
        if (l->s[i].var == a->var)
            return l->s[i].by;
    if (a->kind == ATOM_VAR || !a->data)
        return NULL;
    const Expr *e = expr_subst(p->graph, a->data, l->s, l->n);
    return e == a->data ? NULL : idx_data(p, e, a->lo, a->hi);
}

const Idx *idx_subst(IdxPool *p, const Idx *e, const Subst *s, int n)
{
    SubstList l = {s, n};
    return idx_map(p, e, subst_atom, &l);
}
