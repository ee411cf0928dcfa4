/* lower_start.c - what parameters begin as: initialisers become the numbers of
 * a distribution, since every size is known here. */
#include "lower/lower_priv.h"

#include "dsl.h"
#include "graph/graph.h"

#include <math.h>

static double argument(Lower *l, const AstExpr *e, const Starter *st, int k)
{
    const Args *args = e->kind == EXPR_CALL ? &e->call.args : NULL;

    for (int i = 0; args && i < args->n; i++) {
        const Arg *x = &args->arg[i];
        bool named = x->kind == ARG_NAMED;
        if (named ? strcmp(x->name.text, st->arg[k].name) : i != k)
            continue;
        Value v = const_eval(l, x->value);
        if (v.kind == V_STR || v.kind == V_LIST)
            diag_error(l->d, x->value->at, "'%s' of '%s' is a number",
                       st->arg[k].name, st->name);
        else if (v.kind != V_BAD && !isfinite(v.x))
            diag_error(l->d, x->value->at, "'%s' of '%s' is finite",
                       st->arg[k].name, st->name);
        else
            return v.x;
    }
    return st->arg[k].value;
}

/* As PyTorch counts: of w[out, in, ..] an output has in * .. inputs. */
static double spread_of(const Starter *st, const Tensor *t)
{
    double in = (double)t->dim[1], out = (double)t->dim[0];

    for (int d = 2; d < t->rank; d++) {
        in *= (double)t->dim[d];
        out *= (double)t->dim[d];
    }
    return sqrt(1 / (st->fan == FAN_IN ? in : (in + out) / 2));
}

static void start_fan(Lower *l, const AstExpr *e, const Starter *st, Tensor *t)
{
    if (t->rank < 2) {
        diag_error(l->d, e->at, "'%s' needs a matrix or a kernel, as w[out, "
                   "in, ..]; '%s' has rank %d", st->name, t->name, t->rank);
        return;
    }
    t->spread = argument(l, e, st, 0) * spread_of(st, t);
    t->init = 0;
    if (t->begin == BEGIN_UNIFORM) {
        t->spread *= sqrt(3);
        t->init = -t->spread;
    }
}

static void start_drawn(Lower *l, const AstExpr *e, const Starter *st,
                        Tensor *t)
{
    bool normal = st->kind == START_NORMAL;

    t->begin = normal ? BEGIN_NORMAL : BEGIN_UNIFORM;
    if (!type_is_float(t->type)) {
        diag_error(l->d, e->at, "'%s' draws floats; '%s' is %s, and begins as "
                   "a number", st->name, t->name, type_name(t->type));
    } else if (st->fan) {
        start_fan(l, e, st, t);
    } else {
        t->init = argument(l, e, st, normal);
        t->spread = argument(l, e, st, !normal);
    }
    if (normal ? t->spread < 0 : t->spread < t->init)
        diag_error(l->d, e->at, normal ? "a standard deviation is not negative"
                   : "'low' is at most 'high'");
}

void start_param(Lower *l, const AstExpr *e, Tensor *t)
{
    const char *name = !e ? NULL
                       : e->kind == EXPR_CALL ? e->call.name.text
                       : e->kind == EXPR_NAME ? e->name.text : NULL;
    const Starter *st = name ? dsl_find_starter(name) : NULL;

    if (!e)
        return;
    if (st && st->kind != START_NUMBER) {
        start_drawn(l, e, st, t);
        return;
    }
    Value v = st ? const_frac(st->arg[0].value) : const_eval(l, e);
    if (v.kind == V_STR || v.kind == V_LIST)
        diag_error(l->d, e->at, "a parameter begins as a number or by an "
                   "initialiser");
    t->begin = BEGIN_NUMBER;
    t->init = t->type == T_F32 ? v.x : fold_round(v.x, t->type);
}

void start_merge(Lower *l, Tensor *old, const Tensor *t)
{
    if (t->begin == BEGIN_NONE)
        return;
    if (old->begin != BEGIN_NONE &&
        (old->begin != t->begin || old->init != t->init ||
         old->spread != t->spread)) {
        diag_error(l->d, t->at, "param \"%s\" begins otherwise elsewhere",
                   t->weight);
        diag_note(l->d, old->at, "it is declared here too");
    }
    old->begin = t->begin;
    old->init = t->init;
    old->spread = t->spread;
}
