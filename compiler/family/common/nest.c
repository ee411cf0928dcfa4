#include "family/common/body.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- schedule ---------------------------------------------------------- */

const Group *nest_plain(Graph *g, const Group *gr)
{
    int stored = 0;

    for (int i = 0; i < gr->n_step; i++)
        stored += gr->step[i].op != R_NONE && gr->step[i].tensor;
    if (!stored)
        return gr;
    Group *plain = arena_new_of(g->arena, Group);
    *plain = *gr;
    plain->step = arena_array(g->arena, Step, gr->n_step + stored);
    memcpy(plain->step, gr->step, sizeof(Step) * (size_t)gr->n_step);
    for (int i = 0; i < gr->n_step; i++) {
        Step *s = &plain->step[i];
        if (s->op == R_NONE || !s->tensor)
            continue;
        Step *store = &plain->step[plain->n_step++];
        *store = *s;
        store->op = R_NONE;
        store->over_cols = false;
        store->value = expr_local(g, i, s->type);
        s->tensor = NULL;
    }
    return plain;
}

typedef struct Last {
    Schedule *plan;
    int at;
} Last;

static void add_use(const Expr *e, void *ctx)
{
    Last *l = ctx;

    if (e->kind != E_LOCAL)
        return;
    l->plan->uses[e->local]++;
    if (l->plan->last[e->local] < l->at)
        l->plan->last[e->local] = l->at;
}

void schedule_make(const Group *gr, Schedule *s)
{
    memset(s, 0, sizeof *s);
    s->passes = group_passes(gr, s->at);
    memcpy(s->last, s->at, sizeof s->last);
    for (int i = 0; i < gr->n_step; i++) {
        Last l = {s, s->at[i]};
        expr_visit(gr->step[i].value, add_use, &l);
    }
}

typedef struct Need {
    const Group *group;
    const Schedule *plan;
    int pass;
    bool *need;
} Need;

static void add_need(const Expr *e, void *ctx)
{
    Need *n = ctx;

    if (e->kind != E_LOCAL)
        return;
    const Step *s = &n->group->step[e->local];
    if (s->op != R_NONE || !s->over_cols || n->need[e->local])
        return;
    if (n->plan->kept[e->local] && n->plan->at[e->local] < n->pass)
        return;
    n->need[e->local] = true;
    expr_visit(s->value, add_need, n);
}

int schedule_pass(const Group *gr, const Schedule *s, int q, int *step)
{
    bool need[MAX_STEPS] = {false};
    Need ctx = {gr, s, q, need};
    int n = 0;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *t = &gr->step[i];
        if (!is_col_step(t) || s->at[i] != q)
            continue;
        if (t->op == R_NONE && !t->tensor && !s->kept[i])
            continue;
        need[i] = true;
        expr_visit(t->value, add_need, &ctx);
    }
    for (int i = 0; i < gr->n_step; i++)
        if (need[i])
            step[n++] = i;
    return n;
}

int schedule_phase(const Group *gr, const Schedule *s, int q, int *step)
{
    int n = 0;

    for (int i = 0; i < gr->n_step; i++)
        if (!is_col_step(&gr->step[i]) && s->at[i] == q)
            step[n++] = i;
    return n;
}

/* ---- variables --------------------------------------------------------- */

const Idx *main_store(Graph *g, const Group *gr)
{
    const Step *best = NULL;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->tensor && (!best || tensor_elems(s->tensor) >
                                       tensor_elems(best->tensor)))
            best = s;
    }
    return best ? tensor_offset(g, best->tensor, best->store) : NULL;
}

typedef struct Largest {
    const Expr *read;
    const Group *group;
    bool with_cols;
} Largest;

bool uses_cols(const Group *gr, const Expr *read)
{
    for (int i = 0; i < gr->n_cols; i++)
        if (read_uses(read, gr->cols[i]))
            return true;
    return false;
}

static void take_larger(const Expr *e, void *ctx)
{
    Largest *l = ctx;

    if (e->kind != E_READ)
        return;
    bool cols = uses_cols(l->group, e);
    if (!l->read || (cols && !l->with_cols) ||
        (cols == l->with_cols &&
         tensor_elems(e->tensor) > tensor_elems(l->read->tensor))) {
        l->read = e;
        l->with_cols = cols;
    }
}

const Expr *main_read(const Group *gr)
{
    Largest l = {NULL, gr, false};

    for (int i = 0; i < gr->n_step; i++)
        expr_visit(gr->step[i].value, take_larger, &l);
    return l.read;
}

static int64_t stride_in(const Idx *offset, const Var *v)
{
    int64_t c = idx_coef(offset, v);

    if (c < 0)
        c = -c;
    if (c)
        return c;
    return idx_uses(offset, v) ? 1 : INT64_MAX;
}

void order_vars(Graph *g, const Var **v, int n, const Idx *offset)
{
    (void)g;
    for (int i = 1; offset && i < n; i++)
        for (int j = i; j > 0; j--) {
            if (stride_in(offset, v[j - 1]) >= stride_in(offset, v[j]))
                break;
            const Var *t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
}

void ones_first(const Var **v, int n)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        if (v[i]->extent != 1)
            continue;
        const Var *t = v[i];
        memmove(v + at + 1, v + at, sizeof *v * (size_t)(i - at));
        v[at++] = t;
    }
}

static const Tiled *tiled(const Body *b, const Var *v)
{
    for (int i = 0; i < b->n_tiled; i++)
        if (b->tiled[i].v == v)
            return &b->tiled[i];
    return NULL;
}

/* Threads along v, as C. */
static const char *count_of(Body *b, const Var *v)
{
    const Tiled *t = tiled(b, v);

    return t ? t->count : kernel_extent(b->graph, b->kernel, v);
}

/* The product of v[i + 1] .. v[n - 1], in units of vec: "H * W / VEC". */
static const char *product(Body *b, const Var **v, int i, int n, int vec)
{
    Arena *a = b->graph->arena;
    const char *text = NULL, *wide;
    double all = 1;

    for (int j = i + 1; j < n; j++)
        all *= (double)v[j]->extent;
    /* extents are ints, their product may be none */
    wide = all > INT_MAX ? "(long long)" : "";
    for (int j = i + 1; j < n; j++)
        if (v[j]->extent > 1)
            text = text ? arena_printf(a, "%s * %s", text, count_of(b, v[j]))
                        : arena_printf(a, "%s%s", wide, count_of(b, v[j]));
    if (!text)
        text = wide;
    return vec > 1 ? arena_printf(a, "%s / VEC", text) : text;
}

/* v[i] of the mixed-radix number `point`: "point / (H * W) % C". */
static const char *component(Body *b, const Var **v, int i, int n,
                             const char *point, int vec)
{
    Arena *a = b->graph->arena;
    bool slowest = true, fastest = true;
    const Tiled *t = tiled(b, v[i]);
    const char *text = point;

    for (int j = 0; j < i; j++)
        slowest &= v[j]->extent == 1;
    for (int j = i + 1; j < n; j++)
        fastest &= v[j]->extent == 1;
    if (!fastest) {
        const char *below = product(b, v, i, n, vec);
        text = arena_printf(a, strpbrk(below, " ") ? "%s / (%s)" : "%s / %s",
                            text, below);
    }
    if (!slowest)
        text = arena_printf(
            a, !t && fastest && vec > 1 ? "%s %% (%s / VEC)" : "%s %% %s", text,
            count_of(b, v[i]));
    if (t)
        text = arena_printf(a, "%s * %s", text, t->tile);
    return fastest && vec > 1 ? arena_printf(a, "%s * VEC", text) : text;
}

void decompose(Body *b, Tree *out, const Var **v, int n, const char *point,
               int vec)
{
    for (int i = 0; i < n; i++) {
        if (v[i]->extent == 1) {
            cprint_name(&b->print, v[i], "0");
            continue;
        }
        const char *value = component(b, v, i, n, point, vec);
        const char *id = cprint_var(&b->print, v[i]);
        if (strcmp(value, id))
            PUT(out, "const @type @id = @value;\n",
                FILL("type", v[i]->extent > INT_MAX ? "long long" : "int"),
                FILL("id", id), FILL("value", value));
    }
}

bool nest_leaves(const Step *s, const Expr *e)
{
    const bool f = type_is_float(s->type);

    if (e->kind != E_CONST)
        return false;
    switch (s->op) {
    case R_SUM:
        return e->num == 0;
    case R_PROD:
        return e->num == 1;
    case R_MAX:
        return e->num == (f ? -INFINITY : INT32_MIN);
    case R_MIN:
        return e->num == (f ? INFINITY : INT32_MAX);
    default:
        return false;
    }
}
