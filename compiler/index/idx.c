/* idx.c - making index expressions: sums, minima, rebuilding. */
#include "index/idx_priv.h"

/* Every Idx and every Atom is in one: open addressing. */
typedef struct Slot {
    uint64_t hash;
    const void *what; /* NULL: free */
} Slot;

typedef struct Table {
    Slot *slot;
    size_t n, cap; /* cap: a power of two */
} Table;

typedef struct VarKnown {
    const Atom *atom;
    const Idx *idx; /* NULL: nobody asked */
} VarKnown;

struct IdxPool {
    Arena *arena;
    const DataOps *of; /* data atoms */
    void *owner;       /* of their expressions */
    Table idx, atom;
    VarKnown *var; /* by variable id */
    int n_var, cap_var;
    int n_idx, n_atom, n_unknown;
    int depth, work; /* of the Idx being made for a caller */
};

/* Bounding one Idx makes others, and the ways multiply. Beyond this many a
 * caller's Idx gets a range that may be wider than need be. */
enum { MAX_WORK = 300 };

bool idx_spend(IdxPool *p)
{
    return p->work++ < MAX_WORK;
}

/* ---- tables */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

typedef bool Same(const void *what, const void *key);

/* What has the hash and is the same, or NULL. */
static const void *table_find(const Table *t, uint64_t hash, Same *same,
                              const void *key)
{
    for (size_t i = hash; t->cap; i++) {
        const Slot *s = &t->slot[i & (t->cap - 1)];
        if (!s->what || (s->hash == hash && same(s->what, key)))
            return s->what;
    }
    return NULL;
}

static void put_in(Table *t, Slot new)
{
    size_t i = new.hash & (t->cap - 1);

    while (t->slot[i].what)
        i = (i + 1) & (t->cap - 1);
    t->slot[i] = new;
}

static void table_grow(Arena *a, Table *t)
{
    const Table old = *t;

    t->cap = old.cap ? 2 * old.cap : 512;
    t->slot = arena_alloc(a, t->cap * sizeof *t->slot);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].what)
            put_in(t, old.slot[i]);
}

static void table_put(Arena *a, Table *t, uint64_t hash, const void *what)
{
    if (2 * t->n++ >= t->cap)
        table_grow(a, t);
    put_in(t, (Slot){hash, what});
}

/* ---- the pool */

IdxPool *idx_pool(Arena *a)
{
    IdxPool *p = arena_new_of(a, IdxPool);
    p->arena = a;
    return p;
}

void idx_pool_data(IdxPool *p, const DataOps *of, void *owner)
{
    p->of = of;
    p->owner = owner;
}

int idx_unknowns(const IdxPool *p)
{
    return p->n_unknown;
}

Arena *idx_arena(IdxPool *p)
{
    return p->arena;
}

static Var *new_var(IdxPool *p, const char *name, int64_t extent)
{
    Var *v = arena_new_of(p->arena, Var);
    Atom *a = arena_new_of(p->arena, Atom);
    *v = (Var){p->n_var, arena_strdup(p->arena, name), extent, false};
    int64_t hi = extent > 0 ? extent - 1 : 0;
    *a = (Atom){.kind = ATOM_VAR, .id = p->n_atom++, .var = v, .size = 1,
                .lo = 0, .hi = hi};
    VEC_PUSH(p->arena, p->var, p->n_var, p->cap_var) = (VarKnown){a, NULL};
    return v;
}

const Var *idx_new_var(IdxPool *p, const char *name, int64_t extent)
{
    return new_var(p, name, extent);
}

const Var *idx_new_tap(IdxPool *p, const char *name, int64_t extent)
{
    Var *v = new_var(p, name, extent);

    v->tap = true;
    return v;
}

static uint64_t atom_hash(const Atom *a)
{
    uint64_t h = mix(a->kind, (uint64_t)a->d);
    h = mix(h, a->a ? (uint64_t)a->a->id : 0);
    h = mix(h, a->b ? (uint64_t)a->b->id : 0);
    if (a->data) {
        h = mix(h, a->of->hash(a->data));
        h = mix(mix(h, (uint64_t)a->lo), (uint64_t)a->hi);
    }
    return h;
}

static bool atom_same(const void *one, const void *other)
{
    const Atom *a = one, *b = other;

    if (a->kind != b->kind || a->a != b->a || a->b != b->b || a->d != b->d)
        return false;
    if (a->kind != ATOM_DATA)
        return true;
    return a->lo == b->lo && a->hi == b->hi && a->data && b->data &&
           a->of->equal(a->data, b->data);
}

static const Atom *atom_intern(IdxPool *p, Atom key)
{
    uint64_t h = atom_hash(&key);
    const Atom *old = table_find(&p->atom, h, atom_same, &key);
    if (old)
        return old;
    Atom *a = arena_new_of(p->arena, Atom);
    *a = key;
    a->id = p->n_atom++;
    table_put(p->arena, &p->atom, h, a);
    return a;
}

/* ---- sums */

void lin_of(Lin *l, const Idx *e)
{
    l->k = e->k;
    l->n = e->n;
    l->bad = false;
    memcpy(l->term, e->term, sizeof *l->term * (size_t)e->n);
}

void lin_const(Lin *l, int64_t k)
{
    l->k = k;
    l->n = 0;
    l->bad = false;
}

/* Adds c * atom, keeping the order. */
void lin_term(Lin *l, int64_t c, const Atom *atom)
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

void lin_add(Lin *l, const Idx *e, int64_t c)
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
int64_t atom_coef(const Idx *e, const Atom *a)
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
    return lin_intern(p, &l);
}

/* A value of which nothing is known, equal to no other. */
static const Idx *unknown(IdxPool *p)
{
    Atom *a = arena_new_of(p->arena, Atom);
    *a = (Atom){.kind = ATOM_DATA, .id = p->n_atom++, .size = 1,
                .lo = -IDX_INF, .hi = IDX_INF};
    p->n_unknown++;
    return idx_atom(p, a);
}

const Idx *idx_const(IdxPool *p, int64_t k)
{
    Lin l;
    lin_const(&l, k);
    return lin_intern(p, &l);
}

/* A variable of one value is that value. */
const Idx *idx_var(IdxPool *p, const Var *v)
{
    VarKnown *known = &p->var[v->id];

    if (!known->idx)
        known->idx = v->extent == 1 ? idx_const(p, 0)
                                    : idx_atom(p, known->atom);
    return known->idx;
}

const Idx *idx_narrow(const Idx *e, Range r)
{
    Idx *known = (Idx *)e; /* only what is known of its value changes */
    if (e->n == 1 && e->term[0].atom->kind == ATOM_DATA &&
        !e->term[0].atom->data)
        return e;
    if (r.lo > e->lo && r.lo <= e->hi)
        known->lo = r.lo;
    if (r.hi < e->hi && r.hi >= e->lo)
        known->hi = r.hi;
    return e;
}

static const Idx *combine(IdxPool *p, const Idx *a, const Idx *b, int64_t cb)
{
    Lin l;
    lin_of(&l, a);
    lin_add(&l, b, cb);
    return idx_narrow(lin_intern(p, &l),
                      range_add(range_of(a), range_scale(range_of(b), cb)));
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
    return idx_narrow(lin_intern(p, &l),
                      range_add(range_of(a), range_limit(k, k)));
}

const Idx *idx_scale(IdxPool *p, const Idx *a, int64_t c)
{
    Lin l;
    if (c == 1)
        return a;
    lin_const(&l, 0);
    if (c)
        lin_add(&l, a, c);
    return idx_narrow(lin_intern(p, &l), range_scale(range_of(a), c));
}

const Idx *idx_dot(IdxPool *p, const Idx *const *e, const int64_t *c, int n)
{
    Range r = {0, 0};
    Lin l;
    lin_const(&l, 0);
    for (int i = 0; i < n; i++) {
        lin_add(&l, e[i], c[i]);
        r = range_add(r, range_scale(range_of(e[i]), c[i]));
    }
    return idx_narrow(lin_intern(p, &l), r);
}

static uint64_t lin_hash(const Lin *l)
{
    uint64_t h = mix((uint64_t)l->n, (uint64_t)l->k);
    for (int i = 0; i < l->n; i++)
        h = mix(mix(h, (uint64_t)l->term[i].atom->id), (uint64_t)l->term[i].c);
    return h;
}

static bool idx_same(const void *what, const void *key)
{
    const Idx *e = what;
    const Lin *l = key;
    bool same = e->n == l->n && e->k == l->k;

    for (int i = 0; same && i < l->n; i++)
        same = e->term[i].c == l->term[i].c &&
               e->term[i].atom == l->term[i].atom;
    return same;
}

static bool has_data(const Idx *e)
{
    bool found = false;
    for (int i = 0; i < e->n && !found; i++) {
        const Atom *a = e->term[i].atom;
        found = a->kind == ATOM_DATA || (a->a && a->a->data) ||
                (a->b && a->b->data);
    }
    return found;
}

const Idx *lin_intern(IdxPool *p, const Lin *l)
{
    bool bad = l->bad || l->k == INT64_MIN;
    for (int i = 0; i < l->n; i++)
        bad |= l->term[i].c == INT64_MIN;
    if (bad)
        return unknown(p);
    uint64_t h = lin_hash(l);
    const Idx *old = table_find(&p->idx, h, idx_same, l);
    if (old)
        return old;
    size_t terms = sizeof *l->term * (size_t)l->n;
    Idx *e = arena_alloc(p->arena, sizeof *e + terms);
    e->k = l->k;
    e->n = l->n;
    memcpy(e->term, l->term, terms);
    e->data = has_data(e);
    if (p->depth++ == 0)
        p->work = 0;
    e->mod = idx_find_mod(p, e);
    Range r = idx_find_range(p, e);
    e->lo = r.lo;
    e->hi = r.hi;
    p->depth--;
    e->id = p->n_idx++;
    table_put(p->arena, &p->idx, h, e);
    return e;
}

/* ---- floor, min, max, data */

static int depth_of(const Idx *e)
{
    int depth = 0;
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->depth > depth)
            depth = e->term[i].atom->depth;
    return depth;
}

static int size_of(const Idx *e)
{
    int size = 0;
    for (int i = 0; i < e->n; i++)
        size += e->term[i].atom->size;
    return size;
}

/* The one Idx that is just this atom of a (and b). */
static const Idx *composed(IdxPool *p, Atom key)
{
    int a = depth_of(key.a), b = key.b ? depth_of(key.b) : 0;
    key.depth = 1 + (a > b ? a : b);
    key.size = 1 + size_of(key.a) + (key.b ? size_of(key.b) : 0);
    bool large = key.depth > IDX_MAX_DEPTH || key.size > IDX_MAX_SIZE;
    return large ? unknown(p) : idx_atom(p, atom_intern(p, key));
}

const Idx *idx_floor_atom(IdxPool *p, const Idx *a, int64_t d)
{
    Range r = range_floor(range_of(a), d);
    return composed(p, (Atom){.kind = ATOM_FLOOR, .a = a, .d = d, .lo = r.lo,
                              .hi = r.hi});
}

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
    return composed(p, (Atom){.kind = kind, .a = a, .b = b, .lo = r.lo,
                              .hi = r.hi});
}

const Idx *idx_min(IdxPool *p, const Idx *a, const Idx *b)
{
    return min_max(p, ATOM_MIN, a, b);
}

const Idx *idx_max(IdxPool *p, const Idx *a, const Idx *b)
{
    return min_max(p, ATOM_MAX, a, b);
}

const Idx *idx_data(IdxPool *p, const struct Expr *data, int64_t lo,
                    int64_t hi)
{
    const Idx *e = p->of->as_idx(p, data);

    if (e)
        return e;
    Range r = range_limit(lo, hi);
    return idx_atom(p, atom_intern(p, (Atom){.kind = ATOM_DATA, .data = data,
                                            .of = p->of, .size = 1, .lo = r.lo,
                                            .hi = r.hi}));
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
    /* a number is this pool's, whatever pool e is of */
    return changed || !e->n ? lin_intern(p, &l) : e;
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
    const struct Expr *e = a->of->subst(p->owner, a->data, l->s, l->n);
    return e == a->data ? NULL : idx_data(p, e, a->lo, a->hi);
}

const Idx *idx_subst(IdxPool *p, const Idx *e, const Subst *s, int n)
{
    SubstList l = {s, n};
    return idx_map(p, e, subst_atom, &l);
}
