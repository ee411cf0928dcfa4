/* lower_invert.c - a left side read backwards: which point of its indices, if
 * any, defines a given element.
 *
 * One dimension after the other: of u = k + sum c_i v_i with coefficients that
 * grow beyond what all smaller ones reach, v_i is a quotient of what the
 * greater ones leave. What is found so is proved by substitution. */
#include "lower/lower_parts.h"

/* An index, or a quotient of indices that stands for itself until known. */
typedef struct Unknown {
    const Atom *atom;
    int64_t c, size; /* coefficient, made positive; values less one */
    bool down;       /* it was negative: counted from the atom's greatest */
} Unknown;

typedef struct Solve {
    Lower *l;
    Part *p;
    const Idx *const *point;
    Subst known[MAX_LEFT];
    int n_known;
    struct {
        const Atom *atom;
        const Idx *is;
    } quotient[MAX_LEFT];
    int n_quotient;
    bool done[MAX_RANK];
} Solve;

static bool is_known(const Solve *s, const Var *v)
{
    for (int i = 0; i < s->n_known; i++)
        if (s->known[i].var == v)
            return true;
    return false;
}

static bool is_part_var(const Solve *s, const Var *v)
{
    for (int i = 0; i < s->p->n_var; i++)
        if (s->p->var[i] == v)
            return true;
    return false;
}

typedef struct Open {
    const Solve *s;
    bool found;
} Open;

static void note_open(const Atom *a, void *ctx)
{
    Open *o = ctx;

    o->found |= a->kind == ATOM_VAR && is_part_var(o->s, a->var) &&
                !is_known(o->s, a->var);
}

static bool is_open(const Solve *s, const Idx *e)
{
    Open o = {s, false};

    idx_visit(e, note_open, &o);
    return o.found;
}

static const Idx *find_quotient(const Solve *s, const Atom *a)
{
    for (int i = 0; i < s->n_quotient; i++)
        if (s->quotient[i].atom == a)
            return s->quotient[i].is;
    return NULL;
}

/* What u - e leaves for the open terms of e, which are put into `open`. -1: a
 * term that nothing can be done with. */
static int open_terms(Solve *s, const Idx *u, const Idx *e, Unknown *open,
                      const Idx **left)
{
    IdxPool *p = s->l->p;
    const Idx *r = idx_addc(p, u, -e->k);
    int n = 0;

    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        int64_t c = e->term[i].c;
        const Idx *is = find_quotient(s, a), *self = idx_atom(p, a);
        if (!is && !is_open(s, self))
            is = self;
        if (is) {
            r = idx_sub(p, r, idx_scale(p, is, c));
            continue;
        }
        if ((a->kind != ATOM_VAR && a->kind != ATOM_FLOOR) || n == MAX_LEFT ||
            a->lo <= -IDX_INF || a->hi >= IDX_INF)
            return -1;
        r = idx_addc(p, r, -c * (c > 0 ? a->lo : a->hi));
        open[n++] = (Unknown){a, c > 0 ? c : -c, a->hi - a->lo, c < 0};
    }
    *left = r;
    return n;
}

static void sort(Unknown *u, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j && u[j].c < u[j - 1].c; j--) {
            Unknown t = u[j];
            u[j] = u[j - 1];
            u[j - 1] = t;
        }
}

static void now_known(Solve *s, const Unknown *u, const Idx *steps)
{
    IdxPool *p = s->l->p;
    const Atom *a = u->atom;
    const Idx *is = u->down ? idx_addc(p, idx_scale(p, steps, -1), a->hi)
                            : idx_addc(p, steps, a->lo);

    if (a->kind == ATOM_VAR) {
        s->known[s->n_known++] = (Subst){a->var, is};
    } else if (s->n_quotient < MAX_LEFT) {
        s->quotient[s->n_quotient].atom = a;
        s->quotient[s->n_quotient++].is = is;
    }
}

/* One dimension; true if it made something known. */
static bool solve_dim(Solve *s, int d)
{
    IdxPool *p = s->l->p;
    const Idx *e = idx_subst(p, s->p->left[d], s->known, s->n_known), *r;
    Unknown open[MAX_LEFT];
    int n = idx_has_data(e) ? -1 : open_terms(s, s->point[d], e, open, &r);
    int64_t below = 0;

    if (n <= 0)
        return false;
    sort(open, n);
    for (int i = 0; i < n; i++) {
        int64_t more;
        if (open[i].c <= below ||
            __builtin_mul_overflow(open[i].c, open[i].size, &more) ||
            __builtin_add_overflow(below, more, &below))
            return false;
    }
    for (int i = n - 1; i >= 0; i--) {
        now_known(s, &open[i], idx_floor(p, r, open[i].c));
        if (i > 0)
            r = idx_mod(p, r, open[i].c);
    }
    s->done[d] = true;
    if (open[0].c > 1)
        s->p->in = guard_add(p, s->p->in, r, open[0].c);
    return true;
}

/* Every index found must be what it was. */
static bool proved(const Solve *s)
{
    Subst at[MAX_RANK];
    int n = 0;

    for (int d = 0; d < s->p->rank; d++)
        if (idx_is_var(s->point[d]))
            at[n++] = (Subst){idx_is_var(s->point[d]), s->p->left[d]};
    for (int i = 0; i < s->n_known; i++)
        if (idx_subst(s->l->p, s->known[i].by, at, n) !=
            idx_var(s->l->p, s->known[i].var))
            return false;
    return true;
}

static const Idx *known_as(const Solve *s, const Var *v)
{
    for (int i = 0; i < s->n_known; i++)
        if (s->known[i].var == v)
            return s->known[i].by;
    return v->extent == 1 ? idx_const(s->l->p, 0) : NULL;
}

/* An element is defined where the indices are in range and give it. */
static void add_guards(Solve *s)
{
    IdxPool *p = s->l->p;
    Part *part = s->p;

    for (int d = 0; d < part->rank; d++) {
        const Idx *e = idx_subst(p, part->left[d], s->known, s->n_known);
        if (s->done[d] || idx_has_data(e) || is_open(s, e))
            continue;
        e = idx_sub(p, s->point[d], e);
        part->in = guard_add(p, part->in, e, 0);
        part->in = guard_add(p, part->in, idx_scale(p, e, -1), 0);
    }
    for (int i = 0; i < part->n_var; i++)
        if (part->inverse[i])
            part->in = guard_within(p, part->in, part->inverse[i], 0,
                                    part->var[i]->extent);
}

bool part_invert(Lower *l, Part *p, const Idx *const *point)
{
    Solve s = {.l = l, .p = p, .point = point};
    bool more = true, all = true;

    p->in = (Guard){0};
    while (more) {
        more = false;
        for (int d = 0; d < p->rank; d++)
            more = (!s.done[d] && solve_dim(&s, d)) || more;
    }
    if (!proved(&s)) {
        s.n_known = 0;
        memset(s.done, 0, sizeof s.done);
        p->in = (Guard){0};
    }
    for (int i = 0; i < p->n_var; i++) {
        p->inverse[i] = known_as(&s, p->var[i]);
        all = all && p->inverse[i];
    }
    add_guards(&s);
    return all;
}
