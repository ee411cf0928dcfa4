#include "family/contract/contract_finish.h"

#include "rewrite/rewrite.h"

#include <math.h>

/* Sums over a range that their rows decide: steps without a term are left out,
 * and what is not finite out of the range. */

/* ---- bounds ------------------------------------------------------------- */

enum { MAX_DEPTH = 6 /* of floors, minima and maxima that are opened */ };

static void add_bounds(Contract *x, const Idx *e, int depth);

/* What the tile's first row or column is a value of. */
static const Var *number(const Side *s)
{
    return s->n == 1 ? s->v[0] : s->linear;
}

/* e with `by` in place of c times its atom. */
static const Idx *replaced(IdxPool *p, const Idx *e, const IdxTerm *t,
                           const Idx *by)
{
    return idx_add(p, by,
                   idx_sub(p, e, idx_scale(p, idx_atom(p, t->atom), t->c)));
}

/* The bounds of what is no less than e, without its term t: of a minimum, or a
 * maximum that is subtracted, both arguments are; of a quotient, what divides
 * out. */
static void relax(Contract *x, const Idx *e, const IdxTerm *t, int depth)
{
    IdxPool *p = x->g->pool;
    const Atom *a = t->atom;

    if (a->kind == (t->c > 0 ? ATOM_MIN : ATOM_MAX)) {
        add_bounds(x, replaced(p, e, t, idx_scale(p, a->a, t->c)), depth);
        add_bounds(x, replaced(p, e, t, idx_scale(p, a->b, t->c)), depth);
    }
    if (a->kind != ATOM_FLOOR)
        return;
    const Idx *by = idx_addc(p, a->a, t->c > 0 ? 0 : 1 - a->d);
    const Idx *rest = idx_sub(p, e, idx_scale(p, idx_atom(p, a), t->c));
    add_bounds(x, idx_add(p, idx_scale(p, rest, a->d), idx_scale(p, by, t->c)),
               depth);
}

/* e >= 0 for all terms. */
static void add_bounds(Contract *x, const Idx *e, int depth)
{
    const Var *k = x->k.v[0];
    const Idx *rest;

    for (int i = 0; i < e->n; i++) {
        const Atom *a = e->term[i].atom;
        if (a->kind != ATOM_VAR) {
            if (depth < MAX_DEPTH)
                relax(x, e, &e->term[i], depth + 1);
            return;
        }
        bool batch = false;
        for (int b = 0; b < x->c.n_batch; b++)
            batch |= x->c.batch[b] == a->var;
        if (a->var != k && a->var != number(&x->m) && a->var != number(&x->n) &&
            !batch)
            return;
    }
    int64_t c = idx_coef(e, k);
    rest = idx_sub(x->g->pool, e,
                   idx_scale(x->g->pool, idx_var(x->g->pool, k), c));
    if (c && e->lo < 0 && x->n_bound < MAX_BOUNDS)
        x->bound[x->n_bound++] = (Bound){rest, c};
}

void contract_bounds(Contract *x)
{
    Guard in;

    x->n_bound = 0;
    if (!x->c.range || !x->m.n || !x->n.n || x->k.n != 1 ||
        !expr_as_guard(x->g, x->c.range->arg[0], &in))
        return;
    if (x->m.n > 1)
        in = guard_subst(x->g->pool, in, x->m.sub, x->m.n);
    if (x->n.n > 1)
        in = guard_subst(x->g->pool, in, x->n.sub, x->n.n);
    for (int i = 0; i < in.n; i++)
        if (!in.cond[i].mod && !idx_has_data(in.cond[i].e))
            add_bounds(x, in.cond[i].e, 0);
}

const Idx *contract_most(const ContractPlan *x, const Idx *e)
{
    int64_t m = idx_coef(e, number(&x->f->m)),
            n = idx_coef(e, number(&x->f->n));

    return idx_addc(x->f->g->pool, e,
                    (m > 0 ? m * (x->t.bm - 1) : 0) +
                        (n > 0 ? n * (x->t.bn - 1) : 0));
}

bool contract_reaches(const ContractPlan *x)
{
    return x->f->n_bound && x->t.split == 1 && !x->t.whole &&
           x->f->c.K > x->t.bk;
}

/* ---- how much there is -------------------------------------------------- */

/* A bound's e, or the largest in a tile of p. */
static const Idx *at(const ContractPlan *p, const Idx *e)
{
    return p ? contract_most(p, e) : e;
}

/* The most neighbouring k of a row, or a tile, that have terms: as bounds of
 * both sides say. */
static double longest(const Contract *x, const ContractPlan *p)
{
    double most = (double)x->c.K;

    for (int i = 0; i < x->n_bound; i++)
        for (int k = 0; k < x->n_bound; k++) {
            const Bound *up = &x->bound[i], *from = &x->bound[k];
            if (up->c >= 0 || from->c != -up->c)
                continue;
            const Idx *n = idx_add(x->g->pool, at(p, up->e), at(p, from->e));
            double terms = floor((double)n->hi / (double)from->c) + 1;
            most = fmin(most, fmax(0, terms));
        }
    return most;
}

/* The part of all k of all rows, or tiles, that have terms. */
static double share(const Contract *x, const ContractPlan *p)
{
    IdxPool *pool = x->g->pool;
    Guard in = {0};

    for (int i = 0; i < x->n_bound; i++) {
        const Idx *k = idx_var(pool, x->k.v[0]);
        in = guard_add(pool, in,
                       idx_add(pool, at(p, x->bound[i].e),
                               idx_scale(pool, k, x->bound[i].c)),
                       0);
    }
    return fmin(needed_share(in), longest(x, p) / (double)x->c.K);
}

double contract_terms(const Contract *x)
{
    return x->n_bound ? share(x, NULL) : 1;
}

double contract_reach(const ContractPlan *x, double tiles)
{
    const double steps = ceil((double)x->f->c.K / x->t.bk);

    if (!contract_reaches(x))
        return 1;
    /* both ends are amid a step */
    double most = fmin(steps, longest(x->f, x) / x->t.bk + 2) / steps;
    double mean = fmin(most, share(x->f, x) + 1 / steps);
    return mean + (most - mean) / fmax(1, tiles);
}

void contract_reached(ContractBuild *x, Tree *b, const char *begin)
{
    IdxPool *p = x->g->pool;
    CScope scope = cprint_open(&x->cp);
    const char *from = "0", *to = "K_TILES";

    cprint_name(&x->cp, number(&x->f->m), "m0");
    cprint_name(&x->cp, number(&x->f->n), "n0");
    for (int i = 0; i < x->f->n_bound; i++) {
        const Bound *o = &x->f->bound[i];
        const Idx *most = contract_most(x->p, o->e);
        const int64_t c = o->c < 0 ? -o->c : o->c, step = c * x->p->t.bk;
        if (o->c < 0) {
            most = idx_addc(p, idx_floor(p, most, step), 1);
            to = arena_printf(b->arena, "min(%s, %s)", to,
                              cprint_idx(&x->cp, most, 0));
            continue;
        }
        most = idx_addc(p, idx_scale(p, most, -1), c - 1);
        from = arena_printf(b->arena, "max(%s, %s)", from,
                            cprint_idx(&x->cp, idx_floor(p, most, step), 0));
    }
    cprint_close(&x->cp, scope);
    PUT(b,
        "// steps without a term of the tile's rows are left out\n"
        "const int k_end = @to;\n"
        "@begin = @from;\n",
        FILL("to", strcmp(to, "K_TILES")
                       ? arena_printf(b->arena, "max(%s, 1)", to)
                       : to),
        FILL("begin", begin),
        FILL("from", strcmp(from, "0")
                         ? arena_printf(b->arena, "min(%s, k_end - 1)", from)
                         : from));
}

/* ---- what is not finite ------------------------------------------------- */

/* Whether the condition is of the sum and its batch alone. */
static bool of_both(const Contraction *c, Cond in)
{
    bool rows = in.mod || idx_has_data(in.e);

    for (int i = 0; i < c->n_m; i++)
        rows |= idx_uses(in.e, c->m[i]);
    for (int i = 0; i < c->n_n; i++)
        rows |= idx_uses(in.e, c->n[i]);
    return !rows;
}

/* The factor with zeros out of the range, or NULL; as it is, where they are in
 * memory. */
static const Expr *cut_read(const Contract *x, const Operand *o, Guard in)
{
    const Expr *e = o->read;

    if (!e || e->tensor->cut)
        return e;
    for (int i = 0; i < in.n; i++)
        if (o->along && idx_uses(in.cond[i].e, o->along))
            return NULL;
    if (o->in.n && (e->outside->kind != E_CONST || e->outside->num != 0))
        return NULL;
    return expr_read(x->g, e->tensor, e->at, guard_and(x->g->pool, in, o->in),
                     o->in.n ? e->outside : expr_const(x->g, 0, e->type));
}

void contract_cut(Contract *x)
{
    Operand *o[] = {&x->c.a, &x->c.b};
    const Expr *cut[2];
    Guard in;

    if (!x->c.range || !expr_as_guard(x->g, x->c.range->arg[0], &in))
        return;
    for (int i = 0; i < in.n; i++)
        if (!of_both(&x->c, in.cond[i]))
            return;
    for (int k = 0; k < 2; k++)
        if (!(cut[k] = cut_read(x, o[k], in)))
            return;
    for (int k = 0; k < 2; k++) {
        o[k]->e = o[k]->read = cut[k];
        o[k]->in = cut[k]->in;
    }
    x->c.range = NULL;
    x->ops -= 1.0 / x->c.parts;
}

/* ` && m < M`, and the same of n: this is a result, none beyond them. */
static const char *is_there(const Finish *f)
{
    const ContractBuild *x = f->x;
    const Side *side[] = {&x->f->m, &x->f->n};
    const bool linear[] = {f->linear_m, f->linear_n};
    const bool patch[] = {x->p->patch, x->p->patch_n};
    const char *text = "";

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < (patch[k] ? side[k]->n : side[k]->n > 0); i++) {
            const Var *v = linear[k] ? side[k]->linear : side[k]->v[i];
            text = arena_printf(x->g->arena, "%s && %s < %lld", text,
                                finish_name(&x->cp, v), (long long)v->extent);
        }
    return text;
}

/* The one value of k that e = 0 leaves, all of which k has; or NULL. */
static const Idx *only_value(IdxPool *p, const Idx *e, const Var *k)
{
    const int64_t c = idx_coef(e, k);
    const Idx *rest = idx_sub(p, e, idx_scale(p, idx_var(p, k), c));
    const Idx *v = idx_scale(p, rest, -c);

    return (c == 1 || c == -1) && !idx_uses(rest, k) && v->lo >= 0 &&
                   v->hi < k->extent
               ? v
               : NULL;
}

/* The term where the range leaves one value of some k (groups beside each
 * other), for that value; left[i]: whether k i has others. */
static const Expr *narrow(const Contract *c, bool *left)
{
    IdxPool *p = c->g->pool;
    const Expr *term = c->c.range;
    Guard in;

    for (int i = 0; i < c->c.n_k; i++)
        left[i] = true;
    if (!expr_as_guard(c->g, term->arg[0], &in) || in.n != 2 ||
        in.cond[0].mod || in.cond[1].mod ||
        in.cond[0].e != idx_scale(p, in.cond[1].e, -1))
        return term;
    for (int i = 0; i < c->c.n_k; i++) {
        const Idx *only = only_value(p, in.cond[0].e, c->c.k[i]);
        Subst by = {c->c.k[i], only};
        left[i] = !only;
        if (only)
            return expr_subst(c->g, term->arg[1], &by, 1);
    }
    return term;
}

/* `whole += ..` of the terms that a result has. */
static Tree *add_again(Finish *f)
{
    ContractBuild *x = f->x;
    const Contract *c = x->f;
    CScope scope = cprint_open(&x->cp);
    bool left[MAX_RANK];
    const Expr *term = narrow(c, left);
    const char *k[MAX_RANK];

    if (f->linear_m)
        term = expr_subst(x->g, term, c->m.sub, c->m.n);
    if (f->linear_n)
        term = expr_subst(x->g, term, c->n.sub, c->n.n);
    for (int i = 0; i < c->c.n_k; i++)
        k[i] = cprint_var(&x->cp, c->c.k[i]);
    Tree *add = QUOTE(x->g->arena, "whole += @term;\n",
                      FILL("term", cprint_expr(&x->cp, term)));
    for (int i = c->c.n_k - 1; i >= 0; i--)
        if (left[i])
            add = QUOTE(x->g->arena,
                        "#pragma unroll 1\n"
                        "for (int @k = 0; @k < @extent; ++@k)\n"
                        "    @ADD\n",
                        FILL("k", k[i]),
                        FILL_INT("extent", (int)c->c.k[i]->extent),
                        FILL_TREE("ADD", add));
    cprint_close(&x->cp, scope);
    return add;
}

void finish_range(Finish *f, Tree *b)
{
    const char *there = is_there(f);

    PUT(b,
        "float whole = sum;\n"
        "if (sum != sum@there) {  // maybe what is out of the range\n"
        "    whole = 0;\n"
        "    @ADD\n"
        "}\n",
        FILL("there", there), FILL_TREE("ADD", add_again(f)));
    finish_sum(f, "whole");
}

void finish_redo(Finish *f, Tree *b, const char *sums, const char *args,
                 Tree *place)
{
    const char *there = is_there(f);
    Tree *add = add_again(f);

    if (*there)
        add = QUOTE(b->arena,
                    "if (@there)\n"
                    "    @ADD\n",
                    FILL("there", there + strlen(" && ")),
                    FILL_TREE("ADD", add));
    PUT(b,
        "// A sum that is NaN, maybe of what is out of the range, again:\n"
        "auto redo = [&](@args) {\n"
        "    @PLACE\n"
        "    float whole = 0;\n"
        "    @ADD\n"
        "    return whole;\n"
        "};\n"
        "dcc_redo_nan(@sums, redo);\n",
        FILL("args", args), FILL_TREE("PLACE", place), FILL_TREE("ADD", add),
        FILL("sums", sums));
}

void contract_redo(ContractBuild *x, Tree *b, ContractPlace *place,
                   const char *sums)
{
    Finish f = {0};
    Tree *at = tree_list(b->arena);

    finish_prepare(&f, x, 1);
    CScope scope = cprint_open(&x->cp);
    place(x, at);
    if (!x->p->patch)
        finish_side(&f, at, &x->f->m, f.linear_m);
    if (!x->p->patch_n)
        finish_side(&f, at, &x->f->n, f.linear_n);
    finish_redo(&f, b, sums, "int i, int at", at);
    cprint_close(&x->cp, scope);
    x->redone = true;
}
