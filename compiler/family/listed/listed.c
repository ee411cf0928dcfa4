/* listed.c - sums over the points whose data name a row: which nests they are,
 * and by how many threads. */
#include "family/listed/listed.h"

#include <limits.h>
#include <string.h>

/* ---- the form ----------------------------------------------------------- */

/* A condition that data name the row. */
typedef struct Named {
    const Expr *is; /* data == row */
    const Expr *data;
    const Var *row;
} Named;

static bool among(const Var *const *v, int n, const Expr *e)
{
    bool uses = false;

    for (int i = 0; i < n; i++)
        uses |= expr_uses(e, v[i]);
    return uses;
}

/* e as data == row; of several the row of most. */
static void find_name(const Group *gr, const Expr *e, Named *best)
{
    if (e->kind != E_BINARY || e->arg[2])
        return;
    if (e->fn == F_AND) {
        find_name(gr, e->arg[0], best);
        find_name(gr, e->arg[1], best);
        return;
    }
    for (int i = 0; i < 2 && e->fn == F_EQ; i++) {
        const Expr *data = e->arg[1 - i];
        const Var *row =
            e->arg[i]->kind == E_INDEX ? idx_is_var(e->arg[i]->idx) : NULL;
        bool of_rows = false, local = read_by_local(data);
        for (int r = 0; r < gr->n_rows; r++)
            of_rows |= gr->rows[r] == row;
        if (row && of_rows && !local && !type_is_float(data->type) &&
            !expr_uses(data, row) && among(gr->cols, gr->n_cols, data) &&
            (!best->row || row->extent > best->row->extent))
            *best = (Named){e, data, row};
    }
}

/* cond without what is known; NULL: nothing is left. */
static const Expr *without(Graph *g, const Expr *cond, const Expr *known,
                           bool *found)
{
    if (expr_equal(cond, known)) {
        *found = true;
        return NULL;
    }
    if (cond->kind != E_BINARY || cond->fn != F_AND || cond->arg[2])
        return cond;
    const Expr *a = without(g, cond->arg[0], known, found);
    const Expr *b = without(g, cond->arg[1], known, found);
    return a && b ? expr_binary(g, F_AND, a, b, T_BOOL) : a ? a : b;
}

static const Expr *condition(const Expr *value)
{
    return value->kind == E_SELECT ? value->arg[0] : value;
}

static bool is_sum(const Step *s)
{
    return s->op != R_NONE && s->over_cols;
}

/* Whether no term is beyond what the other points' is, so that it does not
 * matter if there are such. */
static bool beyond_all(const Expr *term, const Expr *rest, Reduce op)
{
    if (rest->kind != E_CONST || term->kind != E_INDEX)
        return false;
    return (op == R_MAX && (double)term->idx->lo >= rest->num) ||
           (op == R_MIN && (double)term->idx->hi <= rest->num);
}

/* Sum i's term of a point that is the row's; NULL if it does not say so. */
static const Expr *listed_term(ListedForm *f, const Step *s, int i,
                               const Named *name)
{
    Graph *g = f->graph;
    const Expr *e = s->value, *one = expr_const(g, 1, e->type);
    const Expr *none = expr_const(g, 0, e->type);
    const bool select = e->kind == E_SELECT;
    bool found = false;
    const Expr *rest = without(g, condition(e), name->is, &found);
    const Expr *value = select ? e->arg[1] : one;
    const Expr *other = select ? e->arg[2] : none;

    if (!found || s->op == R_ARGMAX)
        return NULL;
    if (!nest_leaves(s, other)) {
        if (!beyond_all(value, other, s->op))
            return NULL;
        f->rest[i] = other;
    }
    return rest ? expr_select(g, rest, value, other, e->type) : value;
}

static const char *find_terms(ListedForm *f, const Group *gr)
{
    Graph *g = f->graph;
    Group *plain = group_copy(g, gr);
    Named name = {0};
    Schedule plan;

    for (int i = 0; i < gr->n_step && !name.row; i++)
        if (is_sum(&gr->step[i]))
            find_name(gr, condition(gr->step[i].value), &name);
    if (!name.row)
        return "no data name a row";
    for (int i = 0; i < gr->n_step; i++) {
        Step *s = &plain->step[i];
        if (is_sum(s) && !(s->value = listed_term(f, s, i, &name)))
            return "a sum over other points, too";
        if (s->over_cols && s->tensor)
            return "values of every point are stored";
    }
    schedule_make(gr, &plan);
    if (plan.passes != 1)
        return "its points are gone through more than once";
    for (int i = 0; i < gr->n_step; i++)
        f->ahead |= !is_col_step(&gr->step[i]) && plan.at[i] < 0;
    f->plain = plain;
    f->row = name.row;
    f->data = name.data;
    return NULL;
}

/* Rows by whether data differ by them. */
static void split_rows(ListedForm *f)
{
    Graph *g = f->graph;
    const Group *gr = f->plain;
    const Var **v = arena_array(g->arena, const Var *, 2 * gr->n_rows + 1);

    f->outer = v;
    f->across = v + gr->n_rows;
    f->tables = f->columns = 1;
    for (int r = 0; r < gr->n_rows; r++) {
        const Var *row = gr->rows[r];
        if (row == f->row)
            continue;
        if (expr_uses(f->data, row)) {
            f->outer[f->n_outer++] = row;
            f->tables *= row->extent;
        } else {
            f->across[f->n_across++] = row;
            f->columns *= row->extent;
        }
    }
    order_vars(g, f->across, f->n_across, main_store(g, gr));
    ones_first(f->across, f->n_across);
}

/* The nest of all points' terms, each of its own row alone; or of what is done
 * for each row. */
static const Group *part_of(const ListedForm *f, bool terms)
{
    Graph *g = f->graph;
    Group *part = group_copy(g, f->plain);
    const Expr *none = expr_const(g, 0, T_F32);
    const Subst first = {f->row, idx_const(g->pool, 0)};

    for (int i = 0; i < part->n_step; i++) {
        Step *s = &part->step[i];
        if (terms == is_col_step(s)) {
            if (terms)
                s->value = expr_subst(g, s->value, &first, 1);
            continue;
        }
        *s = (Step){.op = R_NONE, .value = none, .type = s->type};
    }
    if (!terms) {
        part->n_cols = 0;
        return part;
    }
    part->rows = arena_array(g->arena, const Var *, part->n_rows + 1);
    part->n_rows = 0;
    for (int r = 0; r < f->n_outer; r++)
        part->rows[part->n_rows++] = f->outer[r];
    for (int r = 0; r < f->n_across; r++)
        part->rows[part->n_rows++] = f->across[r];
    return part;
}

/* Of a point: its sums, and the bytes that they read. */
static void count_terms(ListedForm *f)
{
    const Group *gr = f->plain;
    int step[MAX_STEPS], n = 0;
    Reads r;

    for (int i = 0; i < gr->n_step; i++) {
        if (gr->step[i].over_cols)
            step[n++] = i;
        f->sums += is_sum(&gr->step[i]);
    }
    reads_of(f->graph, gr, step, n, &r);
    for (int i = 0; i < r.n; i++)
        f->read_bytes += type_bytes(r.read[i]->tensor->type);
}

static const void *listed_open(Graph *g, const Group *gr, const Options *o,
                               const char **why)
{
    enum { MOST_TABLES = 65535 };
    ListedForm *f = arena_new_of(g->arena, ListedForm);

    *f = (ListedForm){.graph = g, .group = gr, .options = o};
    *why = gr->n_cols ? find_terms(f, nest_plain(g, gr)) : "no reduction";
    if (*why)
        return family_form(g, f, sizeof *f, *why);
    split_rows(f);
    count_terms(f);
    f->points = group_cols(f->plain);
    if (f->points > INT_MAX / 2 || f->row->extent > INT_MAX / 2 ||
        f->columns > INT_MAX / 2)
        *why = "more points or rows than an int counts";
    else if (f->tables > MOST_TABLES)
        *why = "more tables than a grid has layers";
    if (*why)
        return NULL;
    f->terms = census_take(g, part_of(f, true), o->device);
    f->rows = census_take(g, part_of(f, false), o->device);
    f->bytes = model_group_bytes(g, gr, o->device, NULL, NULL);
    return f;
}

/* ---- variants ------------------------------------------------------------ */

static const Var *fastest_across(const ListedForm *f)
{
    const int n = f->n_across;

    return n && f->across[n - 1]->extent > 1 ? f->across[n - 1] : NULL;
}

static int lanes_of(const ListedForm *f, int vec)
{
    int lanes = 1;

    while (lanes < WARP && (int64_t)lanes * vec < f->columns)
        lanes *= 2;
    return lanes;
}

ListedPlan listed_plan(const ListedForm *f, const Variant *v)
{
    enum { MOST_AHEAD = 16 };
    ListedPlan p = {.threads = v->knob[KNOB_THREADS],
                    .vec = v->knob[KNOB_VEC],
                    .share = v->knob[KNOB_SHARE],
                    .each = v->knob[KNOB_EACH],
                    .along = fastest_across(f)};
    const int64_t each = (f->points + p.threads - 1) / p.threads;

    p.lanes = lanes_of(f, p.vec);
    p.rows = p.threads / (p.lanes * p.share) * p.each;
    p.ahead = each < MOST_AHEAD ? (int)each : MOST_AHEAD;
    p.chunks = (each + p.ahead - 1) / p.ahead;
    p.tiles = (f->columns / p.vec + p.lanes - 1) / p.lanes;
    return p;
}

int listed_regs(const ListedForm *f, const ListedPlan *p, int *blocks)
{
    enum { FEW = 72, HALF = 64, OTHERS = 32 };
    /* sums, those of a row that all have, and loads under way */
    const int live = f->sums * (p->each + 1) * p->vec +
                     LISTED_LOADS * f->read_bytes * p->vec / (int)sizeof(int);

    *blocks = live <= FEW ? 2 * WARP * WARP / HALF * WARP / p->threads : 1;
    return live <= FEW ? HALF : live + OTHERS;
}

size_t listed_smem(const ListedPlan *p)
{
    const size_t turn = (size_t)p->threads * (size_t)p->ahead;

    return turn * (sizeof(int) + sizeof(short)) +
           ((size_t)p->rows + 1 + (size_t)p->threads / WARP) * sizeof(int);
}

int listed_crowd(const ListedPlan *p)
{
    enum { TURNS = 4 };

    return TURNS * LISTED_LOADS * p->share;
}

enum { MOST_VARIANTS = 96, EACH = 4, MOST_SUMS_EACH = 32 };

/* Those of so many threads with vectors of `vec`. */
static int add_variants(const ListedForm *f, Variant *list, int threads,
                        int vec)
{
    const int lanes = lanes_of(f, vec), all = WARP / lanes;
    const int most = f->ahead ? 1 : EACH * EACH;
    int n = 0;

    for (int each = 1; each <= most && each * vec <= MOST_SUMS_EACH;
         each *= EACH)
        for (int share = 1; share <= all; share *= all > 1 ? all : 2) {
            Variant *v = &list[n++];
            *v = (Variant){.knob = {threads, vec, share, each}};
            v->text = arena_printf(f->graph->arena,
                                   "threads=%d vec=%d share=%d each=%d",
                                   threads, vec, share, each);
        }
    return n;
}

static int listed_space(const void *form, Variant **out)
{
    enum { MOST_TILES = 65535, WIDEST = 8 };
    const ListedForm *f = form;
    Graph *g = f->graph;
    const Var *along = fastest_across(f);
    Variant list[MOST_VARIANTS];
    int n = 0;
    int vec = along ? widest_vector(g, f->plain, along, WIDEST, false) : 1;

    for (; vec >= 1; vec /= 2)
        for (int threads = 4 * WARP; threads <= 16 * WARP; threads *= 2)
            if (f->columns / vec / lanes_of(f, vec) < MOST_TILES)
                n += add_variants(f, list + n, threads, vec);
    *out = family_variants(g->arena, list, n);
    return n;
}

const Family family_listed = {
    .name = "listed",
    .version = 2,
    .open = listed_open,
    .space = listed_space,
    .cost = listed_cost,
    .build = listed_build,
};
