#include "group/functions.h"

static bool is_gelu(const Expr *e)
{
    return e->kind == E_UNARY && e->fn == F_GELU;
}

static bool is_sum(const Expr *e)
{
    return e->kind == E_BINARY && e->fn == F_ADD;
}

static void note_local(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_LOCAL;
}

static bool has_local(const Expr *e)
{
    bool found = false;

    expr_visit(e, note_local, &found);
    return found;
}

typedef struct LocalUses {
    int step, all, in_gelu;
} LocalUses;

static void count_uses(const Expr *e, void *ctx)
{
    LocalUses *u = ctx;

    for (int i = 0; i < 3; i++)
        if (e->arg[i] && e->arg[i]->kind == E_LOCAL &&
            e->arg[i]->local == u->step) {
            u->all++;
            u->in_gelu += is_gelu(e);
        }
}

/* Whether the value of step k, which is stored nowhere, is read by gelus and
 * by nothing else. */
static bool only_for_gelu(const Group *gr, const Expr *const *value, int k)
{
    LocalUses u = {.step = k};

    if (gr->step[k].op != R_NONE || gr->step[k].tensor ||
        !type_is_float(value[k]->type))
        return false;
    for (int i = 0; i < gr->n_step; i++) {
        u.all += value[i]->kind == E_LOCAL && value[i]->local == k;
        expr_visit(value[i], count_uses, &u);
    }
    return u.in_gelu > 0 && u.in_gelu == u.all;
}

typedef struct To16 {
    const Expr **value;
    const bool *gone;
} To16;

/* gelu(a + b) as one function of both; of what is no sum, with 0. b is what has
 * no local, if one has none, and so may be one value for many elements. */
static const Expr *gelu_to_16_bits(Graph *g, const Expr *e, void *ctx)
{
    const To16 *to = ctx;

    if (!is_gelu(e) || !has_local(e->arg[0]))
        return NULL;
    const Expr *x = e->arg[0];
    if (x->kind == E_LOCAL && to && to->gone[x->local])
        x = to->value[x->local];
    if (!is_sum(x))
        return expr_binary(g, F_GELU16, x, expr_const(g, 0, x->type), e->type);
    int varies = has_local(x->arg[0]) ? 0 : 1;
    return expr_binary(g, F_GELU16, x->arg[varies], x->arg[1 - varies],
                       e->type);
}

void functions_to_16_bits(Graph *g, const Group *gr, const Expr **value,
                          bool *gone)
{
    To16 to = {value, gone};

    for (int i = 0; i < gr->n_step; i++)
        gone[i] = only_for_gelu(gr, value, i);
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_NONE)
            value[i] = expr_rewrite(g, value[i], gelu_to_16_bits, &to);
}

const Expr *functions_of_factor(Graph *g, const Expr *e)
{
    return expr_rewrite(g, e, gelu_to_16_bits, NULL);
}
