#include "search/norms.h"

#include "group/groups.h"

#include <math.h>

enum { MOST_READERS = 16 };

typedef struct NormPlace {
    Units *u;
    Norm norm;
    int p, r;               /* the product, the norm */
    Group *made;            /* of p */
    int reader[MOST_READERS]; int n;
    Group *group[MOST_READERS]; /* of the readers */
    int first;              /* the first of them that is a product */
    bool fold[MOST_READERS]; /* a product takes it as a correction */
    const Placed *as;       /* by a plan; or NULL */
    const char *why;
} NormPlace;

static Group *group_at(const NormPlace *x, int unit)
{
    return x->u->unit[unit].group;
}

static bool pinned(const Group *gr)
{
    for (int i = 0; i < gr->n_stmt; i++)
        if (gr->stmt[i]->notes & NOTE_NOFUSE)
            return true;
    return false;
}

static double time_of(const NormPlace *x, Group *gr)
{
    const Choice *c = choose_variant(x->u->s, gr);

    return c->family ? c->cost.us : INFINITY;
}

/* The unit that makes t, and is a product; or -1. */
static int product_of(const NormPlace *x, const Tensor *t)
{
    const Ints *w = &x->u->writers[t->id];
    int p = w->n == 1 ? w->v[0] : -1;

    return p >= 0 && p != x->r && !pinned(group_at(x, p)) &&
           group_multiplies(x->u->g, group_at(x, p)) ? p : -1;
}

static bool try_producer(NormPlace *x, const Tensor *t)
{
    Units *u = x->u;
    int p = product_of(x, t);

    if (p < 0)
        return false;
    x->p = p;
    x->why = "another kernel lies between the two";
    if (units_path_around(u, p, x->r))
        return false;
    bool keep = units_need(u, t, p, x->r);
    x->made = norm_producer(u->g, &x->norm, group_at(x, p), t, keep, &x->why);
    if (x->made && isinf(time_of(x, x->made))) {
        x->made = NULL;
        x->why = "no family sums over pieces of its rows";
    }
    return x->made;
}


static void try_read(const Expr *e, void *ctx)
{
    NormPlace *x = ctx;

    if (e->kind == E_READ && !x->made && !e->in.n &&
        expr_uses(e, x->norm.col))
        try_producer(x, e->tensor);
}

static bool find_producer(NormPlace *x)
{
    const Norm *n = &x->norm;

    for (int i = 0; i <= n->value; i++)
        expr_visit(n->group->step[i].value, try_read, x);
    return x->made;
}

static bool writes_for(const NormPlace *x, int a, int b)
{
    const Ints *w = &x->u->unit[a].writes;

    for (int i = 0; i < w->n; i++)
        if (units_has(&x->u->unit[b].reads, w->v[i]))
            return true;
    return false;
}

/* Others than products read what the first product stores: they cannot be
 * ahead of it. */
static bool ahead_of_first(const NormPlace *x, int unit)
{
    int first = x->reader[x->first];

    return unit == first || writes_for(x, unit, first) ||
           units_path_around(x->u, unit, first);
}

static bool find_readers(NormPlace *x)
{
    const Ints *list = &x->u->readers[x->norm.y->id];

    x->first = -1;
    for (x->n = 0; x->n < list->n; x->n++) {
        if (x->n == MOST_READERS || pinned(group_at(x, list->v[x->n])))
            return false;
        x->reader[x->n] = list->v[x->n];
        if (x->first < 0 &&
            norm_multiplied(x->u->g, &x->norm, group_at(x, list->v[x->n])))
            x->first = x->n;
    }
    return x->first >= 0;
}

/* Whether the product is to take its norm as a correction; one of those that
 * Options names is, whatever it costs. */
static bool named(const NormPlace *x, const Group *product)
{
    const Folds *f = x->u->s->options->folds;

    for (int k = 0; f && k < product->n_stmt; k++)
        if (fold_has(f, product->stmt[k]->path))
            return true;
    return false;
}

static bool fold_wanted(const NormPlace *x, int reader, Group *product,
                        Group *folded)
{
    if (x->as)
        return recipe_folds(x->as, reader);
    return x->u->s->options->folds
               ? named(x, product) && !isinf(time_of(x, folded))
               : time_of(x, folded) < time_of(x, product);
}

static bool form_readers(NormPlace *x)
{
    Graph *g = x->u->g;
    bool product[MOST_READERS], keep = false;

    for (int i = 0; i < x->n; i++) {
        product[i] = norm_multiplied(g, &x->norm,
                                     group_at(x, x->reader[i]));
        keep |= !product[i];
        x->why = "one of its readers comes before its product";
        if (!product[i] && ahead_of_first(x, x->reader[i]))
            return false;
    }
    for (int i = 0; i < x->n; i++) {
        Group *c = group_at(x, x->reader[i]);
        x->group[i] = product[i]
                          ? norm_product(g, &x->norm, c, i == x->first,
                                         keep && i == x->first, &x->why)
                          : norm_reader(g, &x->norm, c, &x->why);
        Group *folded = product[i] && x->group[i]
                            ? fold_product(g, c, x->group[i], x->norm.y,
                                           x->norm.x) : NULL;
        x->fold[i] = folded &&
                     fold_wanted(x, x->reader[i], x->group[i], folded);
        if (x->fold[i])
            x->group[i] = folded;
        if (x->group[i] && isinf(time_of(x, x->group[i]))) {
            x->group[i] = NULL;
            x->why = "no family takes it with the norm on its way";
        }
        if (!x->group[i])
            return false;
    }
    return true;
}

/* --variant asks for what takes norms, or a fold is named. */
static bool wanted(const NormPlace *x)
{
    const Options *o = x->u->s->options;

    for (int i = 0; i < x->n; i++)
        if (x->group[i] && named(x, x->group[i]))
            return true;
    for (int i = 0; i < o->n_prefer; i++)
        if (!strcmp(o->prefer[i], "contract_wgmma"))
            return true;
    return false;
}

static void refuse(const NormPlace *x, double apart, double us)
{
    Selection *s = x->u->s;
    const Group *r = group_at(x, x->r);
    const Group *c = group_at(x, x->reader[x->first]);

    VEC_PUSH(s->graph->arena, s->refusal, s->n_refusal, s->cap_refusal) =
        (Refusal){r->stmt[r->n_stmt - 1], c->stmt[0], x->norm.y, x->why, apart,
                  us, false};
}

static void note(const NormPlace *x)
{
    Placed as = {.kind = PLACED_NORM, .unit = x->r, .size = x->norm.piece};
    int other[MOST_READERS];

    as.other = other;
    for (int i = 0; i < x->n; i++)
        if (x->fold[i])
            other[as.n++] = x->reader[i];
    recipe_add(x->u, &as);
}

static void apply(NormPlace *x, double apart, double us)
{
    Group *first = x->group[x->first];

    first->apart_us = apart;
    first->norm_us = us;
    note(x);
    units_drop(x->u, x->r);
    units_set(x->u, x->p, x->made);
    for (int i = 0; i < x->n; i++)
        units_set(x->u, x->reader[i], x->group[i]);
}

/* What the units take with pieces of x->norm.piece columns; infinite if that
 * cannot be. */
static double time_with(NormPlace *x)
{
    double us = 0;

    x->made = NULL;
    if (!find_producer(x) || !form_readers(x))
        return INFINITY;
    us = time_of(x, x->made);
    for (int i = 0; i < x->n; i++)
        us += time_of(x, x->group[i]);
    return us;
}

/* The same where the norm keeps its kernel, and those that Options names take
 * the weights that they have for the other way. */
static double time_kept(NormPlace *x)
{
    Graph *g = x->u->g;
    const Fold *f = fold_in(group_at(x, x->reader[x->first]), x->norm.y);
    double us = 0;

    x->p = -1;
    x->made = f && x->u->s->options->folds
                  ? fold_norm(g, &x->norm, group_at(x, x->r), f) : NULL;
    if (!x->made)
        return INFINITY;
    us = time_of(x, x->made);
    for (int i = 0; i < x->n && !isinf(us); i++) {
        const Group *c = group_at(x, x->reader[i]);
        x->group[i] = norm_multiplied(g, &x->norm, c) ? fold_apart(g, c, f)
                                                      : fold_reader(g, c, f);
        us += x->group[i] ? time_of(x, x->group[i]) : INFINITY;
    }
    return us;
}

static void apply_kept(NormPlace *x)
{
    x->norm.y->says = "the norm without its factors of columns: those are in "
                      "the weights";
    units_set(x->u, x->r, x->made);
    for (int i = 0; i < x->n; i++)
        units_set(x->u, x->reader[i], x->group[i]);
}

static double time_apart(const NormPlace *x)
{
    double us = x->u->unit[x->r].us + x->u->unit[x->p].us;

    for (int i = 0; i < x->n; i++)
        us += x->u->unit[x->reader[i]].us;
    return us;
}

/* Whether unit x->r is a norm, and what reads it is found. */
static bool open_place(NormPlace *x)
{
    Group *gr = group_at(x, x->r);

    return !pinned(gr) && norm_find(x->u->g, gr, &x->norm, &x->why) &&
           !x->u->later[x->norm.y->id].n && find_readers(x);
}

static void place(Units *u, int r)
{
    NormPlace x = {.u = u, .r = r, .p = -1}, best, kept;
    double least = INFINITY;

    if (!open_place(&x))
        return;
    best = x;
    for (int piece = 2 * NORM_LEAST; piece >= NORM_LEAST; piece /= 2) {
        x.norm.piece = piece;
        if (x.norm.col->extent % piece)
            continue;
        double us = time_with(&x);
        if (us < least || isinf(least))
            best = x;
        least = fmin(us, least);
    }
    kept = x;
    double apart = best.p < 0 ? 0 : time_apart(&best);
    if (!(least < apart) && !isinf(time_kept(&kept))) {
        apply_kept(&kept);
        return;
    }
    if (best.p < 0)
        return;
    if (!isinf(least))
        best.why = NULL;
    if (!isinf(least) && (least < apart || wanted(&best)))
        apply(&best, apart, least);
    else
        refuse(&best, apart, least);
}

const char *norms_take(Units *u, const Placed *as)
{
    NormPlace x = {.u = u, .r = as->unit, .p = -1, .as = as};

    if (!open_place(&x))
        return x.why ? x.why : "it is no norm that products take";
    x.norm.piece = as->size;
    if ((as->size != NORM_LEAST && as->size != 2 * NORM_LEAST) ||
        x.norm.col->extent % as->size)
        return "its rows have no such pieces";
    double us = time_with(&x);
    if (isinf(us))
        return x.why ? x.why : "its products cannot take it";
    apply(&x, time_apart(&x), us);
    return NULL;
}

void norms_place(Units *u)
{
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group)
            place(u, i);
}

void norms_folded(const Selection *s, Folds *to)
{
    for (int i = 0; i < s->n_group; i++) {
        const RowMerge *m = s->group[i]->merge;
        if (m && m->fold && m->fold->source)
            VEC_PUSH(s->graph->arena, to->path, to->n, to->cap) =
                m->fold->source->path;
    }
}
