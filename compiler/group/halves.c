#include "group/halves.h"

#include "group/fuse.h"
#include "group/clash.h"
#include "group/split.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24, MAX_PLACES = 4 };

typedef struct Halves {
    Graph *g;
    const Group *p, *c;
    const Tensor *t;
    const Idx **at[MAX_PLACES];     /* where c reads t, */
    const Idx *offset[MAX_PLACES];  /* as one number */
    int n;
    const Step *made;               /* p's step that stores t */
    bool failed;
} Halves;

/* ---- where c reads ------------------------------------------------------ */

static bool same_place(const Tensor *t, const Idx *const *a,
                       const Idx *const *b)
{
    for (int d = 0; d < t->rank; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

static int place_of(const Halves *h, const Idx *const *at)
{
    for (int i = 0; i < h->n; i++)
        if (same_place(h->t, h->at[i], at))
            return i;
    return -1;
}

static void note_place(const Expr *e, void *ctx)
{
    Halves *h = ctx;

    if (e->kind != E_READ || e->tensor != h->t)
        return;
    h->failed |= e->in.n > 0;
    if (place_of(h, e->at) >= 0)
        return;
    if (h->n < MAX_PLACES)
        h->at[h->n++] = e->at;
    else
        h->failed = true;
}

/* t's element as one number, whatever its layout is. */
static const Idx *element(Graph *g, const Tensor *t, const Idx *const *at)
{
    const Idx *e = idx_const(g->pool, 0);

    for (int d = 0; d < t->rank; d++)
        e = idx_add(g->pool, idx_scale(g->pool, e, t->dim[d]), at[d]);
    return e;
}

/* From the first place to the last. */
static void sort_places(Halves *h)
{
    for (int i = 0; i < h->n; i++)
        h->offset[i] = element(h->g, h->t, h->at[i]);
    for (int i = 1; i < h->n; i++)
        for (int j = i; j > 0 && h->offset[j]->k < h->offset[j - 1]->k; j--) {
            const Idx *o = h->offset[j], **at = h->at[j];
            h->offset[j] = h->offset[j - 1];
            h->at[j] = h->at[j - 1];
            h->offset[j - 1] = o;
            h->at[j - 1] = at;
        }
}

/* Whether the places are, over all of c's points, each element of t once: the
 * digits of a mixed radix, of which the place is one. */
static bool all_once(const Halves *h)
{
    IdxPool *pool = h->g->pool;
    const Idx *first = h->offset[0];
    int64_t step = h->offset[1]->k - first->k, below = 1;
    bool placed = false;

    if (!idx_affine(first) || first->k || step < 1 ||
        group_rows(h->c) * h->n != tensor_elems(h->t))
        return false;
    for (int i = 0; i < h->n; i++)
        if (h->offset[i] != idx_addc(pool, first, i * step))
            return false;
    for (int digit = 0; digit <= first->n; digit++) {
        const IdxTerm *t = NULL;
        for (int i = 0; i < first->n; i++)
            if (first->term[i].c == below)
                t = &first->term[i];
        if (!placed && step == below) {
            placed = true;
            below *= h->n;
        } else if (t) {
            below *= t->atom->var->extent;
        } else {
            return false;
        }
    }
    return placed && below == tensor_elems(h->t);
}

/* ---- the nest ----------------------------------------------------------- */

/* p is one sum and what is made of it at its point, with one result. */
static bool is_sum(Halves *h)
{
    int sums = 0;

    for (int i = 0; i < h->p->n_step; i++) {
        const Step *s = &h->p->step[i];
        if (s->op == R_SUM)
            sums++;
        else if (s->op != R_NONE || s->over_cols)
            return false;
        if (s->tensor && (h->made || s->tensor != h->t || s->where.n))
            return false;
        h->made = s->tensor ? s : h->made;
    }
    return sums == 1 && h->made;
}

static const Expr *move_local(Graph *g, const Expr *e, void *ctx)
{
    const int *by = ctx;

    return e->kind == E_LOCAL ? expr_local(g, e->local + *by, e->type) : NULL;
}

/* What code calls a step of a stack at place i, which is in one of its parts;
 * or NULL. What was stacked with it has the same parts. */
static const char *part_name(const Halves *h, const Step *s, int i)
{
    const Tensor *t = s->source ? s->source->tensor : NULL;

    if (!t || !t->part || !h->t->part)
        return NULL;
    const Idx *part = h->at[i][h->t->part_dim];
    return part->n ? NULL : t->part[part->k];
}

/* p's steps where c reads at place i; sums first, so that they are one loop. */
static bool add_place(Halves *h, Group *r, int i, bool keep)
{
    Graph *g = h->g;
    Subst map[MAX_VARS];
    int base = r->n_step;
    int n = invert_store(g, h->t, h->made->store, h->at[i], map, MAX_VARS);

    for (int v = 0; v < h->p->n_rows; v++) {
        bool found = false;
        for (int k = 0; k < n; k++)
            found |= map[k].var == h->p->rows[v];
        if (!found)
            return false;
    }
    for (int k = 0; k < h->p->n_step; k++) {
        Step s = h->p->step[k];
        s.called = part_name(h, &s, i);
        s.value = expr_subst(g, s.value, map, n);
        s.value = expr_rewrite(g, s.value, move_local, &base);
        if (s.tensor && !keep)
            s.tensor = NULL;
        if (s.tensor) {
            s.store = h->at[i];
            s.needed = guard_subst(g->pool, s.needed, map, n);
        }
        r->step[r->n_step++] = s;
    }
    return true;
}

typedef struct Readers {
    const Halves *h;
    const int *local;  /* r's step of each place */
    const Step *step;
    int first;         /* c's steps begin there */
} Readers;

static const Expr *read_local(Graph *g, const Expr *e, void *ctx)
{
    const Readers *r = ctx;

    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + r->first, e->type);
    if (e->kind != E_READ || e->tensor != r->h->t)
        return NULL;
    int at = r->local[place_of(r->h, e->at)];
    return expr_local(g, at, r->step[at].type);
}

static Group *finish(Halves *h, Group *r, const int *local)
{
    Graph *g = h->g;
    Readers readers = {h, local, r->step, r->n_step};

    for (int i = 0; i < h->c->n_step; i++) {
        Step s = h->c->step[i];
        s.value = expr_rewrite(g, s.value, read_local, &readers);
        r->step[r->n_step++] = s;
    }
    group_add_stmts(g, r, h->p);
    group_add_stmts(g, r, h->c);
    if (in_place_clash(r))
        return NULL;
    group_normalise(g, r);
    return r;
}

static Group *new_nest(const Halves *h, const Group *rows, int steps)
{
    Graph *g = h->g;
    Group *r = arena_new_of(g->arena, Group);

    *r = (Group){.when = h->c->when, .n_rows = rows->n_rows,
                 .n_cols = h->p->n_cols};
    r->rows = arena_array(g->arena, const Var *, r->n_rows + 1);
    r->cols = arena_array(g->arena, const Var *, r->n_cols + 1);
    memcpy(r->rows, rows->rows, sizeof(Var *) * (size_t)r->n_rows);
    memcpy(r->cols, h->p->cols, sizeof(Var *) * (size_t)r->n_cols);
    r->step = arena_array(g->arena, Step, steps);
    return r;
}

static bool pointwise(const Group *c)
{
    for (int i = 0; i < c->n_step; i++)
        if (c->step[i].op != R_NONE)
            return false;
    return !c->n_cols;
}

Group *fuse_halves(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   bool keep)
{
    Halves h = {.g = g, .p = p, .c = c, .t = t};
    int local[MAX_PLACES];

    if (!pointwise(c) || !is_sum(&h))
        return NULL;
    for (int i = 0; i < c->n_step; i++)
        expr_visit(c->step[i].value, note_place, &h);
    int steps = h.n * p->n_step + c->n_step;
    if (h.failed || h.n < 2 || steps > MAX_STEPS)
        return NULL;
    sort_places(&h);
    if (!all_once(&h))
        return NULL;
    Group *r = new_nest(&h, c, steps);
    for (int i = 0; i < h.n; i++) {
        local[i] = r->n_step + (int)(h.made - p->step);
        if (!add_place(&h, r, i, keep))
            return NULL;
    }
    return finish(&h, r, local);
}

/* ---- another consumer --------------------------------------------------- */

/* c's variables as those of p's that are multiplied alike: `map` gains them
 * if `to` is where `from` is, in these. */
static bool unify(const Halves *h, const Idx *from, const Idx *to, Subst *map,
                  int *n)
{
    if (!idx_affine(from) || !idx_affine(to) || from->n != to->n ||
        from->k != to->k)
        return false;
    for (int i = 0; i < from->n; i++) {
        const IdxTerm *f = &from->term[i], *same = NULL;
        for (int j = 0; j < to->n; j++)
            if (to->term[j].c == f->c)
                same = same ? f : &to->term[j]; /* twice: which one? */
        if (!same || same == f ||
            same->atom->var->extent != f->atom->var->extent)
            return false;
        const Idx *by = idx_var(h->g->pool, same->atom->var);
        for (int k = 0; k < *n; k++)
            if (map[k].var == f->atom->var && map[k].by != by)
                return false;
        if (*n == MAX_VARS)
            return false;
        map[(*n)++] = (Subst){f->atom->var, by};
    }
    return true;
}

/* c in p's variables, so that it reads at a place where step `to` stores. */
static bool match(const Halves *h, const Idx *const *at, const Step *to,
                  Subst *map, int *n)
{
    *n = 0;
    for (int d = 0; d < h->t->rank; d++)
        if (!unify(h, at[d], to->store[d], map, n))
            return false;
    for (int i = 0; i < h->c->n_rows; i++) {
        bool found = false;
        for (int k = 0; k < *n; k++)
            found |= map[k].var == h->c->rows[i];
        if (!found)
            return false;
    }
    return true;
}

/* The steps of p that store where c reads. */
static bool find_locals(Halves *h, const Subst *map, int n, int *local)
{
    for (int i = 0; i < h->n; i++) {
        const Idx **at = access_subst(h->g, h->at[i], h->t->rank, map, n);
        local[i] = -1;
        for (int k = 0; k < h->p->n_step; k++) {
            const Step *s = &h->p->step[k];
            if (s->tensor == h->t && !s->where.n &&
                same_place(h->t, s->store, at))
                local[i] = k;
        }
        if (local[i] < 0)
            return false;
    }
    return true;
}

/* c with p's variables for its own. */
static Group *renamed(Graph *g, const Group *c, const Subst *map, int n)
{
    Group *r = arena_new_of(g->arena, Group);

    *r = *c;
    r->step = arena_array(g->arena, Step, c->n_step);
    memcpy(r->step, c->step, sizeof(Step) * (size_t)c->n_step);
    group_subst(g, r, map, n);
    return r;
}

Group *fuse_beside(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   bool keep)
{
    Halves h = {.g = g, .p = p, .c = c, .t = t};
    int local[MAX_PLACES], n = 0;
    Subst map[MAX_VARS];
    bool found = false;

    if (!pointwise(c) || group_rows(p) != group_rows(c) ||
        p->n_step + c->n_step > MAX_STEPS)
        return NULL;
    for (int i = 0; i < c->n_step; i++)
        expr_visit(c->step[i].value, note_place, &h);
    if (h.failed || h.n < 2)
        return NULL;
    for (int k = 0; k < p->n_step && !found; k++) {
        const Step *s = &p->step[k];
        if (s->over_cols && s->tensor && s->op == R_NONE)
            return NULL;
        found = s->tensor == t && match(&h, h.at[0], s, map, &n) &&
                find_locals(&h, map, n, local);
    }
    if (!found)
        return NULL;
    h.c = renamed(g, c, map, n);
    for (int i = 0; i < h.n; i++)
        h.at[i] = access_subst(g, h.at[i], t->rank, map, n);
    Group *r = new_nest(&h, p, p->n_step + c->n_step);
    memcpy(r->step, p->step, sizeof(Step) * (size_t)p->n_step);
    r->n_step = p->n_step;
    for (int k = 0; k < r->n_step && !keep; k++)
        if (r->step[k].tensor == t)
            r->step[k].tensor = NULL;
    return finish(&h, r, local);
}
