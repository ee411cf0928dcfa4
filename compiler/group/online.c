#include "group/online.h"

enum { MAX_PARTS = 32 };

typedef struct Derive {
    Graph *g;
    const Group *gr;
    const char *why;
} Derive;

/* ---- values ---------------------------------------------------------- */

static const Expr *value_of(Graph *g, const Expr *e, void *ctx, bool *more)
{
    const Group *gr = ctx;

    (void)g;
    if (e->kind != E_LOCAL || gr->step[e->local].op != R_NONE)
        return NULL;
    *more = true;
    return gr->step[e->local].value;
}

/* e with no locals but reductions' results. */
static const Expr *plain(const Derive *d, const Expr *e)
{
    return expr_write_out(d->g, e, value_of, (void *)d->gr);
}

static bool uses_cols(const Derive *d, const Expr *e)
{
    for (int i = 0; i < d->gr->n_cols; i++)
        if (expr_uses(e, d->gr->cols[i]))
            return true;
    return false;
}

static void note_local(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_LOCAL;
}

static bool has_locals(const Expr *e)
{
    bool found = false;

    expr_visit(e, note_local, &found);
    return found;
}

static const Expr *renew(Graph *g, const Expr *e, void *ctx)
{
    (void)ctx;
    return e->kind == E_LOCAL ? expr_local(g, e->local + ONLINE_NEW, e->type)
                              : NULL;
}

/* ---- sums of addends, products of factors ---------------------------- */

typedef struct Part {
    const Expr *e;
    double times; /* an addend's factor, a factor's power */
} Part;

typedef struct Parts {
    Part part[MAX_PARTS];
    int n;
    bool full;
} Parts;

static void add_part(Parts *p, const Expr *e, double times)
{
    for (int i = 0; i < p->n; i++)
        if (expr_equal(p->part[i].e, e)) {
            p->part[i].times += times;
            return;
        }
    if (p->n == MAX_PARTS)
        p->full = true;
    else
        p->part[p->n++] = (Part){e, times};
}

static bool widens(const Expr *e)
{
    return e->kind == E_CAST && e->type == T_F32;
}

static void add_addends(Parts *p, const Expr *e, double times)
{
    if (widens(e)) {
        add_addends(p, e->arg[0], times);
    } else if (e->kind == E_UNARY && e->fn == F_NEG) {
        add_addends(p, e->arg[0], -times);
    } else if (e->kind == E_BINARY && (e->fn == F_ADD || e->fn == F_SUB)) {
        add_addends(p, e->arg[0], times);
        add_addends(p, e->arg[1], e->fn == F_ADD ? times : -times);
    } else if (e->kind == E_BINARY && e->fn == F_MUL &&
               e->arg[0]->kind == E_CONST) {
        add_addends(p, e->arg[1], times * e->arg[0]->num);
    } else if (e->kind == E_BINARY && (e->fn == F_MUL || e->fn == F_DIV) &&
               e->arg[1]->kind == E_CONST) {
        double c = e->arg[1]->num;
        add_addends(p, e->arg[0], e->fn == F_MUL ? times * c : times / c);
    } else {
        add_part(p, e, times);
    }
}

/* A product's factors; those of exponentials as addends of their arguments. */
typedef struct Product {
    Parts factor, exp, exp2;
} Product;

static bool is_zero(const Expr *e)
{
    return e->kind == E_CONST && e->num == 0;
}

static void add_factors(Product *p, const Expr *e, double power)
{
    if (widens(e)) {
        add_factors(p, e->arg[0], power);
    } else if (e->kind == E_BINARY && (e->fn == F_MUL || e->fn == F_DIV)) {
        add_factors(p, e->arg[0], power);
        add_factors(p, e->arg[1], e->fn == F_MUL ? power : -power);
    } else if (e->kind == E_UNARY && e->fn == F_EXP) {
        add_addends(&p->exp, e->arg[0], power);
    } else if (e->kind == E_UNARY && e->fn == F_EXP2) {
        add_addends(&p->exp2, e->arg[0], power);
    } else if (e->kind == E_SELECT && !has_locals(e->arg[0]) &&
               (is_zero(e->arg[1]) || is_zero(e->arg[2]))) {
        /* nothing where the condition says so, before as after */
        add_factors(p, e->arg[is_zero(e->arg[1]) ? 2 : 1], power);
    } else if (e->kind != E_CONST) {
        add_part(&p->factor, e, power);
    } /* constants are the same before as after */
}

static const Expr *sum_of(const Derive *d, const Parts *p, Func f,
                          const Expr *times)
{
    Graph *g = d->g;
    const Expr *sum = NULL;

    for (int i = 0; i < p->n; i++) {
        double c = p->part[i].times;
        const Expr *e = p->part[i].e;
        if (c == 0)
            continue;
        bool minus = sum && c < 0;
        c = minus ? -c : c;
        if (c != 1)
            e = expr_binary(g, F_MUL, e, expr_const(g, c, T_F32), T_F32);
        sum = !sum ? e : expr_binary(g, minus ? F_SUB : F_ADD, sum, e, T_F32);
    }
    if (!sum)
        return times;
    sum = expr_unary(g, f, sum, T_F32);
    return times ? expr_binary(g, F_MUL, times, sum, T_F32) : sum;
}

static const Expr *power_of(Graph *g, const Expr *times, const Expr *e,
                            double power)
{
    if (power < 0)
        return expr_binary(g, F_DIV, times ? times : expr_const(g, 1, T_F32), e,
                           T_F32);
    return times ? expr_binary(g, F_MUL, times, e, T_F32) : e;
}

/* Those of one sign first: a difference or a quotient is printed as one. */
static void positive_first(Parts *p)
{
    for (int i = 1; i < p->n; i++)
        for (int j = i;
             j > 0 && p->part[j].times > 0 && p->part[j - 1].times < 0; j--) {
            Part t = p->part[j];
            p->part[j] = p->part[j - 1];
            p->part[j - 1] = t;
        }
}

/* *r: term with new results over term with old ones, NULL if that is 1. False
 * if it depends on the column. */
static bool rescale(Derive *d, const Expr *term, const Expr **r)
{
    Product p = {.factor.n = 0};

    *r = NULL;
    if (!has_locals(term))
        return true;
    add_factors(&p, expr_rewrite(d->g, term, renew, NULL), 1);
    add_factors(&p, term, -1);
    d->why = "its running value cannot be rescaled";
    if (p.factor.full || p.exp.full || p.exp2.full)
        return false;
    positive_first(&p.factor);
    positive_first(&p.exp);
    positive_first(&p.exp2);
    for (int i = 0; i < p.factor.n; i++) {
        double n = p.factor.part[i].times;
        for (; n != 0; n += n > 0 ? -1 : 1)
            *r = power_of(d->g, *r, p.factor.part[i].e, n);
    }
    *r = sum_of(d, &p.exp, F_EXP, *r);
    *r = sum_of(d, &p.exp2, F_EXP2, *r);
    if (*r && uses_cols(d, *r))
        return false;
    d->why = NULL;
    return true;
}

/* ---- what leaves the sum --------------------------------------------- */

/* e = *in * *out, where nothing of *out depends on the column. */
static void take_out(const Derive *d, const Expr *e, double power,
                     const Expr **in, const Expr **out)
{
    if (widens(e)) {
        take_out(d, e->arg[0], power, in, out);
    } else if (e->kind == E_BINARY && (e->fn == F_MUL || e->fn == F_DIV)) {
        take_out(d, e->arg[0], power, in, out);
        take_out(d, e->arg[1], e->fn == F_MUL ? power : -power, in, out);
    } else if (power > 0 && e->kind == E_SELECT && is_zero(e->arg[2]) &&
               !uses_cols(d, e->arg[0])) {
        const Expr *row = NULL; /* 0 for whole rows */
        take_out(d, e->arg[1], power, in, &row);
        row =
            expr_select(d->g, e->arg[0], row ? row : expr_const(d->g, 1, T_F32),
                        expr_const(d->g, 0, T_F32), T_F32);
        *out = power_of(d->g, *out, row, power);
    } else {
        const Expr **to = uses_cols(d, e) ? in : out;
        *to = power_of(d->g, *to, e, power);
    }
}

/* A rounding of what is summed is its place in a product of 16 bits. */
static const Expr *unrounded(const Expr *e)
{
    while (e->kind == E_CAST && type_is_float(e->type) &&
           type_is_float(e->arg[0]->type))
        e = e->arg[0];
    return e;
}

static bool add_reduction(Derive *d, Online *o, int i)
{
    const Step *s = &d->gr->step[i];
    OnlineValue *v = &o->red[o->n_red];

    if (o->n_red == ONLINE_MAX) {
        d->why = "more than eight reductions";
        return false;
    }
    *v = (OnlineValue){.step = i, .op = s->op, .term = plain(d, s->value)};
    o->n_red++;
    if (s->op == R_SUM)
        return rescale(d, v->term, &v->rescale);
    if (s->op == R_ARGMAX)
        d->why = "an argmax along the columns";
    else if (has_locals(v->term))
        d->why = "its running value cannot be rescaled";
    return !d->why;
}

const Expr *online_value(Graph *g, const Group *gr, int i)
{
    const Derive d = {.g = g, .gr = gr};

    return gr->step[i].op == R_NONE ? plain(&d, gr->step[i].value)
                                    : expr_local(g, i, T_F32);
}

bool online_derive(Graph *g, const Group *gr, const Tensor *t, Online *out,
                   const char **why)
{
    Derive d = {.g = g, .gr = gr};
    const Expr *factor = NULL;

    *out = (Online){.n_red = 0};
    for (int i = 0; i < gr->n_step && !d.why; i++) {
        if (gr->step[i].op != R_NONE)
            add_reduction(&d, out, i);
        else if (gr->step[i].tensor == t)
            factor = plain(&d, gr->step[i].value);
    }
    if (!d.why && factor) {
        take_out(&d, unrounded(factor), 1, &out->value, &out->after);
        if (!out->value)
            out->value = expr_const(g, 1, T_F32);
        rescale(&d, out->value, &out->rescale);
    }
    *why = d.why;
    return !d.why && factor;
}
