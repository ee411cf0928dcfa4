/* lower_parts.c - one tensor of several definitions, whose images are disjoint
 * and leave no gap, or lie over a value that the tensor had before.
 *
 * Without such a base, and where nothing of it is left, each part is a
 * statement that stores its own elements. Over a base, and where a single part
 * stores in an arrangement that is no mixed radix, the tensor is one statement
 * that asks which part an element belongs to. What is known of the extents, and
 * whether anything is missing, is decided when the name is first read. */
#include "lower/lower_parts.h"

#include <stdlib.h>

struct Parts {
    const char *name;
    Name at;
    Tensor *t; /* of the stores */
    Ref base;  /* bad: none */
    Declared d;
    int rank, lead, from; /* own dimensions; the caller's before them */
    int64_t dim[MAX_RANK];
    const Idx *point[MAX_RANK];
    Part *part;
    int n, cap;
    Target target;
    int errors; /* before the first part: later ones may be why parts lack */
};

static int64_t count(const Part *p)
{
    int64_t n = 1;

    for (int i = 0; i < p->n_var; i++)
        n *= p->var[i]->extent;
    return n;
}

/* ---- adding one */

static Parts *parts_new(Lower *l, Name name, int rank, int from)
{
    Parts *ps = arena_new_of(l->a, Parts);

    ps->name = l->target.name;
    ps->errors = diag_errors(l->d);
    ps->at = name;
    ps->base.bad = true;
    ps->rank = rank;
    ps->lead = ps->from = from;
    for (int i = 0; i < rank; i++)
        ps->point[i] = idx_var(l->p, idx_new_var(l->p, "u", MAX_SIZE));
    return ps;
}

/* No element is defined by both? */
static bool disjoint(Lower *l, const Parts *ps, const Part *a, const Part *b)
{
    Subst at[MAX_RANK];

    for (int i = 0; i < ps->rank; i++)
        at[i] = (Subst){idx_is_var(ps->point[i]), a->left[i]};
    return guard_truth(guard_subst(l->p, b->in, at, ps->rank)) == NEVER;
}

/* The same by ranges alone, which is most of what many parts need. */
static bool apart(const Parts *ps, const Part *a, const Part *b)
{
    for (int i = 0; i < ps->rank; i++)
        if (a->left[i]->hi < b->left[i]->lo || b->left[i]->hi < a->left[i]->lo)
            return true;
    return false;
}

static bool clashes(Lower *l, const AstStmt *s, const Parts *ps, const Part *p)
{
    for (int i = 0; i < ps->n; i++) {
        const Part *q = &ps->part[i];
        if (apart(ps, p, q) || disjoint(l, ps, p, q) || disjoint(l, ps, q, p))
            continue;
        diag_error(l->d, p->at,
                   "'%s' may define the same elements as an "
                   "earlier definition that nobody has read",
                   s->name.text);
        diag_note(l->d, q->at, "the earlier one is here");
        return true;
    }
    return false;
}

static bool same_rank(Lower *l, const Parts *ps, const Part *p)
{
    if (p->rank == ps->rank)
        return true;
    diag_error(l->d, p->at,
               "'%s' has %d dimension%s here, %d in an earlier "
               "definition",
               ps->at.text, p->rank, p->rank == 1 ? "" : "s", ps->rank);
    diag_note(l->d, ps->at.at, "the earlier one is here");
    return false;
}

/* The statement that stores a part; its type and extents come later. */
static void store_part(Lower *l, Parts *ps, Part *p)
{
    const int64_t one[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    int rank = ps->lead + ps->rank;

    if (!ps->t)
        ps->t = graph_tensor(l->g, ps->name, T_F32, rank, one);
    p->stmt = def_stmt(l, ps->t, l->var, l->n_var, p->v.e);
    for (int i = 0; i < ps->lead; i++)
        p->stmt->store[i] = idx_var(l->p, l->var[i]);
    for (int i = 0; i < ps->rank; i++)
        p->stmt->store[ps->lead + i] = p->left[i];
}

/* The part with l's variables from `from` on, of value v; NULL: an error. */
static Part *part_new(Lower *l, Parts *ps, const Idx *const *left, int rank,
                      Val v, Span at)
{
    Part *p = arena_new_of(l->a, Part);
    int n = l->n_var - ps->from;

    if (n > MAX_LEFT || ps->lead + rank > MAX_RANK) {
        diag_error(l->d, at, "too many indices for a definition of a part");
        return NULL;
    }
    *p = (Part){.at = at,
                .n_var = n,
                .rank = rank,
                .v = v,
                .var = arena_array(l->a, const Var *, n + 1),
                .inverse = arena_array(l->a, const Idx *, n + 1)};
    for (int i = 0; i < n; i++)
        p->var[i] = l->var[ps->from + i];
    for (int i = 0; i < rank; i++)
        p->left[i] = left[i];
    if (!same_rank(l, ps, p))
        return NULL;
    if (!part_invert(l, p, ps->point)) {
        diag_error(l->d, at,
                   "two points of this definition may define one "
                   "element: its indices cannot be told from where it stores; "
                   "'+=' would add them");
        return NULL;
    }
    return p;
}

static void grow(Parts *ps, const Part *p)
{
    for (int i = 0; i < ps->rank; i++)
        if (p->left[i]->hi >= ps->dim[i])
            ps->dim[i] = p->left[i]->hi + 1;
}

static void push_part(Lower *l, Parts *ps, Part *p)
{
    if (ps->base.bad)
        store_part(l, ps, p);
    grow(ps, p);
    ps->target = l->target;
    VEC_PUSH(l->a, ps->part, ps->n, ps->cap) = *p;
}

/* An indexed definition of the whole that nobody has read, as the first. */
static bool first_part(Lower *l, Parts *ps, const Sym *sym)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    int n_index = l->n_index, n_var = l->n_var;
    const Idx *at[MAX_RANK];

    for (int i = 0; i < sym->ref.rank; i++) {
        Name v = {names[i], sym->at};
        index_push(l, v, false, 1, &sym->ref.dim[i], 0);
        at[i] = l->index[l->n_index - 1].idx[0];
    }
    Part *p =
        part_new(l, ps, at, sym->ref.rank, ref_read(l, &sym->ref, at), sym->at);
    if (p)
        push_part(l, ps, p);
    index_pop(l, n_index, n_var);
    return p != NULL;
}

/* What later parts are declared as: their own shape, or the name's. */
static bool settle_shape(Lower *l, Parts *ps, const Declared *d)
{
    if (!d->shape || !ps->d.shape)
        return true;
    if (ps->d.rank == d->rank &&
        !memcmp(ps->d.dim, d->dim, sizeof *d->dim * (size_t)d->rank))
        return true;
    diag_error(l->d, d->at, "'%s' is declared %s here, but %s before",
               ps->at.text, lower_dims(l, d->rank, d->dim),
               lower_dims(l, ps->d.rank, ps->d.dim));
    diag_note(l->d, ps->d.at, "it is declared here");
    return false;
}

/* What the name is declared as before this definition. */
static Declared shape_before(const Sym *sym)
{
    Declared d = {0};

    if (sym && sym->parts)
        return sym->parts->d;
    if (!sym || !(sym->read || sym->whole))
        return d;
    d = (Declared){.shape = true,
                   .elem = true,
                   .rank = sym->ref.rank,
                   .at = sym->at,
                   .type = sym->ref.t ? sym->ref.t->type : sym->ref.val.type};
    memcpy(d.dim, sym->ref.dim, sizeof d.dim);
    return d;
}

static Parts *open_parts(Lower *l, const AstStmt *s, Sym *sym, int rank,
                         int from)
{
    if (sym && sym->parts)
        return sym->parts;
    Parts *ps = parts_new(l, s->name, rank, from);
    if (!sym)
        return ps;
    ps->at.at = sym->at;
    ps->d = shape_before(sym);
    if (ps->d.shape)
        ps->base = sym->ref;
    return ps->d.shape || first_part(l, ps, sym) ? ps : NULL;
}

static void declare(Parts *ps, const Declared *own)
{
    if (own->elem)
        ps->d.type = own->type;
    ps->d.elem |= own->elem;
    if (!own->shape || ps->d.shape)
        return;
    ps->d.shape = true;
    ps->d.rank = own->rank;
    ps->d.at = own->at;
    memcpy(ps->d.dim, own->dim, sizeof own->dim);
}

/* How many dimensions a left side has. */
static int left_dims(Lower *l, const AstStmt *s)
{
    int64_t dim[MAX_RANK];
    int rank = 0;

    for (int i = 0; i < s->def.left.n; i++) {
        const Arg *a = &s->def.left.arg[i];
        int n = a->kind == ARG_PACK ? pack_dims(l, a->name.text, dim) : 1;
        rank += n > 0 ? n : 0;
    }
    return rank;
}

bool parts_add(Lower *l, const AstStmt *s, const Declared *own, Sym *sym,
               int from)
{
    const bool pending = sym && sym->parts;
    Parts *ps = open_parts(l, s, sym, left_dims(l, s), from);
    Guard where = {0};
    Left left;

    if (!ps || !settle_shape(l, ps, own))
        return false;
    Declared d = own->shape ? *own : ps->d;
    if (!left_side(l, s, &d, false, &left) ||
        !left_inside(l, s->name.text, &left, &d, &where))
        return false;
    Val v = lower_expr(l, s->def.value);
    if (v.bad)
        return false;
    if (pending && !sym->parts) {
        /* the right side has read what there was: it lies below now */
        if (sym->ref.bad)
            return false;
        ps = open_parts(l, s, sym, left.rank, from);
        if (!left_inside(l, s->name.text, &left, &ps->d, &where))
            return false;
    }
    Part *p = part_new(l, ps, left.at, left.rank, v, s->at);
    if (!p || clashes(l, s, ps, p))
        return false;
    declare(ps, own);
    push_part(l, ps, p);
    if (!sym)
        sym = lower_sym(l, S_TENSOR, s->name);
    sym->parts = ps;
    sym->ref = (Ref){.rank = ps->rank};
    sym->read = sym->whole = false;
    sym->at = s->name.at;
    return true;
}

bool scatter_add(Lower *l, const AstStmt *s, const Declared *own, Sym *sym,
                 int from)
{
    Guard where = {0};
    Left left;

    if (!sym) {
        diag_error(l->d, s->name.at,
                   "'%s' has no value yet, of which the "
                   "rest stays; '%s : f32[N] = 0;' would give it one",
                   s->name.text, s->name.text);
        return false;
    }
    parts_settle(l, sym);
    if (sym->ref.bad)
        return false;
    sym->read = true;
    Declared d = shape_before(sym);
    if (own->shape || own->elem) {
        diag_error(l->d, own->at, "'%s' has its type already", s->name.text);
        diag_note(l->d, d.at, "it is declared here");
        return false;
    }
    if (!left_side(l, s, &d, false, &left) ||
        !left_inside(l, s->name.text, &left, &d, &where))
        return false;
    Ref base = sym->ref;
    Val v = lower_expr(l, s->def.value);
    if (v.bad)
        return false;
    sym->ref =
        scatter(l, l->target.name, &left, v, s->def.add, &base, d.type, from);
    sym->read = false;
    sym->whole = true;
    sym->at = s->name.at;
    return !sym->ref.bad;
}

/* ---- is anything missing? */

static int64_t eval(const Idx *e, const Part *p, const int64_t *v);

static int64_t eval_atom(const Atom *a, const Part *p, const int64_t *v)
{
    int64_t x, y;

    switch (a->kind) {
    case ATOM_VAR:
        for (int i = 0; i < p->n_var; i++)
            if (p->var[i] == a->var)
                return v[i];
        return 0;
    case ATOM_FLOOR:
        x = eval(a->a, p, v);
        return x / a->d - (x % a->d < 0);
    case ATOM_MIN:
    case ATOM_MAX:
        x = eval(a->a, p, v);
        y = eval(a->b, p, v);
        return (a->kind == ATOM_MIN) == (x < y) ? x : y;
    case ATOM_DATA:
        break;
    }
    return 0;
}

static int64_t eval(const Idx *e, const Part *p, const int64_t *v)
{
    int64_t x = e->k;

    for (int i = 0; i < e->n; i++)
        x += e->term[i].c * eval_atom(e->term[i].atom, p, v);
    return x;
}

/* Marks what p defines in a map of all elements. */
static void mark(const Parts *ps, const Part *p, unsigned char *map)
{
    int64_t v[MAX_LEFT] = {0};
    int i;

    do {
        int64_t at = 0;
        for (int d = 0; d < ps->rank; d++)
            at = at * ps->dim[d] + eval(p->left[d], p, v);
        map[at] = 1;
        for (i = p->n_var - 1; i >= 0 && ++v[i] == p->var[i]->extent; i--)
            v[i] = 0;
    } while (i >= 0);
}

/* The first element that no part defines, as text: "; t[0, 2] is in none". */
static const char *missing(Lower *l, const Parts *ps, int64_t all)
{
    enum { MOST = 1 << 22 };
    int64_t at = 0, index[MAX_RANK];

    if (all > MOST)
        return "";
    unsigned char *map = arena_need(calloc((size_t)all, 1));
    for (int i = 0; i < ps->n; i++)
        mark(ps, &ps->part[i], map);
    while (at < all && map[at])
        at++;
    for (int d = ps->rank - 1; d >= 0; d--) {
        index[d] = at % ps->dim[d];
        at /= ps->dim[d];
    }
    free(map);
    return arena_printf(l->a, "; %s%s is in none", ps->at.text,
                        lower_dims(l, ps->rank, index));
}

static Type type_of(const Parts *ps)
{
    Type t = ps->part[0].v.type;
    bool weak = ps->part[0].v.weak;

    if (ps->d.elem)
        return ps->d.type;
    for (int i = 1; i < ps->n; i++) {
        const Val *v = &ps->part[i].v;
        bool number = weak != v->weak &&
                      (weak ? type_is_float(t) : type_is_float(v->type));
        Type strong = weak ? v->type : t;
        if (weak == v->weak)
            t = type_wider(t, v->type);
        else
            t = number && !type_is_float(strong) ? T_F32 : strong;
        weak = weak && v->weak;
    }
    return t;
}

static bool is_whole(Lower *l, const Parts *ps)
{
    int64_t all = 1, have = 0;

    for (int i = 0; i < ps->rank; i++)
        all *= ps->dim[i];
    for (int i = 0; i < ps->n; i++)
        have += count(&ps->part[i]);
    if (have == all)
        return true;
    if (diag_errors(l->d) != ps->errors)
        return false;
    diag_error(l->d, ps->part[ps->n - 1].at,
               "'%s' has a gap: its definitions "
               "give %lld of the %lld elements of %s%s",
               ps->at.text, (long long)have, (long long)all,
               lower_dims(l, ps->rank, ps->dim), missing(l, ps, all));
    diag_note(l->d, ps->part[0].at,
              "'%s : %s%s = 0;' ahead of the first would "
              "say what the rest is",
              ps->at.text, type_name(type_of(ps)),
              lower_dims(l, ps->rank, ps->dim));
    return false;
}

/* ---- the tensor */

/* An i32 tensor keeps the range that all of its parts have. */
static void keep_range(Parts *ps, Tensor *t)
{
    const int64_t most = 1 << 24;
    int64_t lo = most, hi = -most;

    for (int i = 0; i < ps->n; i++) {
        const Idx *e = ps->part[i].v.idx;
        if (!e || e->lo < -most || e->hi > most || t->type != T_I32)
            return;
        lo = e->lo < lo ? e->lo : lo;
        hi = e->hi > hi ? e->hi : hi;
    }
    t->promised = true;
    t->lo = lo;
    t->hi = hi + 1;
}

static bool is_radix(const Parts *ps, const Stmt *s)
{
    const Var *v[MAX_LEFT];

    for (int d = 0; d < ps->rank; d++)
        if (idx_radix(s->store[ps->lead + d], ps->dim[d], v, MAX_LEFT) < 0)
            return false;
    return true;
}

/* The one statement of a tensor, which stores in another order, as one that
 * goes through the tensor in its own. */
static void turn_round(Lower *l, const Parts *ps, const Part *p)
{
    Subst by[MAX_LEFT], at[MAX_RANK];
    Stmt *s = p->stmt;
    const Var **out = arena_array(l->a, const Var *, ps->lead + ps->rank + 1);

    for (int i = 0; i < ps->lead; i++)
        out[i] = s->out[i];
    for (int d = 0; d < ps->rank; d++) {
        const Var *u =
            idx_new_var(l->p, arena_printf(l->a, "u%d", d), ps->dim[d]);
        out[ps->lead + d] = u;
        at[d] = (Subst){idx_is_var(ps->point[d]), idx_var(l->p, u)};
        s->store[ps->lead + d] = idx_var(l->p, u);
    }
    for (int i = 0; i < p->n_var; i++)
        by[i] =
            (Subst){p->var[i], idx_subst(l->p, p->inverse[i], at, ps->rank)};
    s->value = expr_subst(l->g, s->value, by, p->n_var);
    s->out = out;
    s->n_out = ps->lead + ps->rank;
}

static Ref stored(Lower *l, Parts *ps)
{
    Tensor *t = ps->t;
    Ref r = {.t = t, .rank = ps->rank};

    if (!is_whole(l, ps))
        return (Ref){.bad = true};
    t->type = type_of(ps);
    for (int i = 0; i < ps->lead; i++) {
        r.fixed[i] = idx_var(l->p, l->var[i]);
        t->dim[i] = l->var[i]->extent;
    }
    for (int i = 0; i < ps->rank; i++) {
        r.dim[i] = t->dim[ps->lead + i] = ps->dim[i];
        r.map[i] = ps->lead + i;
    }
    if (!lower_check_elems(l, ps->at.at, ps->name, t->rank, t->dim))
        return (Ref){.bad = true};
    tensor_row_major(t);
    keep_range(ps, t);
    for (int i = 0; i < ps->n; i++) {
        Part *p = &ps->part[i];
        p->stmt->value = val_as(l, val_retype(l, p->v, t->type), t->type);
    }
    if (ps->n == 1 && !is_radix(ps, ps->part[0].stmt))
        turn_round(l, ps, &ps->part[0]);
    return r;
}

/* The value before the first part is in no element any more: each part is a
 * statement after all. */
static Ref stored_later(Lower *l, Parts *ps)
{
    for (int i = 0; i < ps->n; i++) {
        const Part *p = &ps->part[i];
        memcpy(l->var + ps->from, p->var, sizeof *l->var * (size_t)p->n_var);
        l->n_var = ps->from + p->n_var;
        l->target.at = p->at;
        store_part(l, ps, &ps->part[i]);
    }
    l->n_var = ps->from;
    return stored(l, ps);
}

static bool has_gap(const Parts *ps)
{
    int64_t all = 1;

    for (int i = 0; i < ps->rank; i++)
        all *= ps->dim[i];
    for (int i = 0; i < ps->n; i++)
        all -= count(&ps->part[i]);
    return all > 0;
}

static const Expr *guard_read(Graph *g, const Expr *e, void *ctx)
{
    const Guard *in = ctx;

    if (e->kind != E_READ)
        return NULL;
    return expr_read(g, e->tensor, e->at, guard_and(g->pool, e->in, *in),
                     e->outside ? e->outside : expr_const(g, 0, e->type));
}

const Expr *part_reads(Lower *l, const Expr *e, Guard in)
{
    return in.n ? expr_rewrite(l->g, e, guard_read, &in) : e;
}

/* e where the part has the element, `rest` elsewhere. */
static const Expr *choose(Lower *l, const Expr *e, Guard in, const Expr *rest,
                          Type t)
{
    if (!in.n)
        return e;
    if (e->kind == E_READ && !e->in.n && e->type == rest->type)
        return expr_read(l->g, e->tensor, e->at, in, rest);
    e = part_reads(l, e, in);
    return expr_select(l->g, expr_of_guard(l->g, in), e, rest,
                       type_is_float(t) ? T_F32
                       : t == T_BOOL    ? T_BOOL
                                        : T_I32);
}

/* The element at l's new variables: of the part that has it, or the base's. */
static Val over_base(Lower *l, const Parts *ps, const Idx *const *at)
{
    Type t = type_of(ps);
    Subst u[MAX_RANK], by[MAX_LEFT];
    const Expr *e = val_as(
        l, val_retype(l, ref_read(l, &ps->base, (const Idx **)at), t), t);

    for (int d = 0; d < ps->rank; d++)
        u[d] = (Subst){idx_is_var(ps->point[d]), at[d]};
    for (int i = 0; i < ps->n; i++) {
        const Part *p = &ps->part[i];
        const Expr *v = val_as(l, val_retype(l, p->v, t), t);
        for (int k = 0; k < p->n_var; k++)
            by[k] =
                (Subst){p->var[k], idx_subst(l->p, p->inverse[k], u, ps->rank)};
        v = expr_subst(l->g, v, by, p->n_var);
        e = choose(l, v, guard_subst(l->p, p->in, u, ps->rank), e, t);
    }
    return (Val){.type = t, .e = e};
}

static Ref merged(Lower *l, Parts *ps)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    int n_index = l->n_index;
    const Idx *at[MAX_RANK];

    for (int i = 0; i < ps->rank; i++) {
        Name v = {names[i], ps->at.at};
        index_push(l, v, false, 1, &ps->base.dim[i], 0);
        at[i] = l->index[l->n_index - 1].idx[0];
    }
    l->target.first = l->g->n_stmt;
    Ref r =
        def_tensor(l, ps->name, ps->from, over_base(l, ps, at), type_of(ps));
    l->n_index = n_index;
    return r;
}

void parts_settle(Lower *l, Sym *sym)
{
    Parts *ps = sym->parts;

    if (!ps)
        return;
    /* a reader may be in hand: its variables are put aside */
    int n_var = l->n_var, n = n_var - ps->from;
    const Var **aside = arena_array(l->a, const Var *, n + 1);
    Target before = l->target;
    Whole *whole = l->whole;

    if (n)
        memcpy(aside, l->var + ps->from, sizeof *aside * (size_t)n);
    l->n_var = ps->from;
    l->target = ps->target;
    l->whole = NULL;
    if (ps->d.shape)
        memcpy(ps->dim, ps->d.dim, sizeof ps->dim);
    sym->parts = NULL;
    sym->ref = ps->base.bad                             ? stored(l, ps)
               : sym->owner != OWN_LOCAL || has_gap(ps) ? merged(l, ps)
                                                        : stored_later(l, ps);
    if (n)
        memcpy(l->var + ps->from, aside, sizeof *aside * (size_t)n);
    l->n_var = n_var;
    before.first = l->g->n_stmt > before.first ? l->g->n_stmt : before.first;
    l->target = before;
    l->whole = whole;
}

void parts_settle_all(Lower *l)
{
    for (int i = 0; i < BUCKETS; i++)
        for (Sym *s = l->frame->bucket[i]; s; s = s->next)
            if (s->kind == S_TENSOR)
                parts_settle(l, s);
}
