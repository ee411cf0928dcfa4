#include "group/functions.h"

#include <math.h>
#include <string.h>

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

/* ---- powers of e --------------------------------------------------------- */

typedef struct Elements {
    const Group *group;
    bool found; /* what is looked for */
} Elements;

static bool moved_by_cols(const Group *gr, const Expr *read)
{
    for (int c = 0; c < gr->n_cols; c++)
        for (int d = 0; d < read->tensor->rank; d++)
            if (idx_uses(read->at[d], gr->cols[c]))
                return true;
    return false;
}

static void note_exact(const Expr *e, void *ctx)
{
    Elements *x = ctx;

    x->found |= e->kind == E_READ && e->tensor->type == T_F32 &&
                moved_by_cols(x->group, e);
}

/* Whether what columns have is read or stored in f32. */
static bool has_exact(const Group *gr)
{
    Elements x = {.group = gr};

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (!s->over_cols)
            continue;
        expr_visit(s->value, note_exact, &x);
        x.found |= s->op == R_NONE && s->tensor && s->tensor->type == T_F32;
    }
    return x.found;
}

static void note_element(const Expr *e, void *ctx)
{
    Elements *x = ctx;
    const Group *gr = x->group;

    if (e->kind == E_LOCAL)
        x->found |= gr->step[e->local].op == R_NONE &&
                    gr->step[e->local].over_cols;
    for (int c = 0; c < gr->n_cols; c++)
        x->found |= (e->kind == E_READ || e->kind == E_INDEX) &&
                    expr_uses(e, gr->cols[c]);
}

static bool is_of_row(const Group *gr, const Expr *e)
{
    Elements x = {.group = gr};

    expr_visit(e, note_element, &x);
    return !x.found;
}

/* Whether e is what an element is more than a value of its row. */
static bool is_difference(const Group *gr, const Expr *e)
{
    if (e->kind == E_LOCAL && gr->step[e->local].op == R_NONE)
        return is_difference(gr, gr->step[e->local].value);
    if (e->kind == E_CAST)
        return is_difference(gr, e->arg[0]);
    if (e->kind != E_BINARY || !type_is_float(e->type))
        return false;
    return (e->fn == F_SUB || e->fn == F_MUL) && is_of_row(gr, e->arg[1]) &&
           (e->fn == F_SUB || is_difference(gr, e->arg[0]));
}

static const Expr *power_of_2(Graph *g, const Expr *e, void *ctx)
{
    Elements *x = ctx;

    if (e->kind != E_UNARY || e->fn != F_EXP ||
        !is_difference(x->group, e->arg[0]))
        return NULL;
    x->found = true;
    return expr_unary(g, F_EXP2,
                      expr_binary(g, F_MUL, e->arg[0],
                                  expr_const(g, (float)M_LOG2E, T_F32), T_F32),
                      e->type);
}

const Group *functions_powers(Graph *g, const Group *gr)
{
    Elements x = {.group = gr};
    const Expr *value[MAX_STEPS];

    if (has_exact(gr))
        return gr;
    for (int i = 0; i < gr->n_step; i++)
        value[i] = !gr->step[i].over_cols
                       ? gr->step[i].value
                       : expr_rewrite(g, gr->step[i].value, power_of_2, &x);
    if (!x.found)
        return gr;
    Group *own = arena_new_of(g->arena, Group);
    *own = *gr;
    own->step = arena_array(g->arena, Step, gr->n_step);
    memcpy(own->step, gr->step, sizeof(Step) * (size_t)gr->n_step);
    for (int i = 0; i < gr->n_step; i++)
        own->step[i].value = value[i];
    return own;
}
