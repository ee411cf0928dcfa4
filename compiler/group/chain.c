#include "group/chain.h"

#include "group/fuse.h"
#include "group/clash.h"
#include "group/split.h"
#include "group/whole.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24 };

static const Step *storing(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return &gr->step[i];
    return NULL;
}

bool chain_heavy(Graph *g, const Group *gr)
{
    enum { LEAST = 4 }; /* terms and results worth a tile of tensor cores */
    Contraction c;
    const char *why;

    return !gr->chain && group_contraction(g, gr, &c, &why) &&
           c.parts == 1 && c.K >= LEAST &&
           ((c.n_m && c.n_n) || c.M * c.N >= LEAST);
}

/* ---- the second's factor --------------------------------------------- */

/* The operand that is made of what units[0 .. n - 1] store, if one is. */
static const Operand *made_operand(const Contraction *c, Group *const *unit,
                                   int n)
{
    const Operand *found = NULL;

    for (int s = 0; s < 2; s++) {
        const Operand *o = s ? &c->b : &c->a;
        Group reader = {.step = &(Step){.value = o->e}, .n_step = 1};
        bool reads = false;
        for (int i = 0; i < n && !reads; i++)
            for (int k = 0; k < unit[i]->n_step && !reads; k++)
                reads = unit[i]->step[k].tensor &&
                        group_reads(&reader, unit[i]->step[k].tensor);
        if (reads && found)
            return NULL;
        found = reads ? o : found;
    }
    return found;
}

/* A tensor of these extents that no memory is for. */
static Tensor *shadow(Graph *g, const char *name, Type t, const Var *const *v,
                      int n)
{
    Tensor *x = arena_new_of(g->arena, Tensor);

    *x = (Tensor){.id = -1,
                  .name = name,
                  .path = "",
                  .type = t,
                  .rank = n,
                  .role = ROLE_TEMP,
                  .when = WHEN_RUN};
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; i--) { /* rows as aligned as any */
        x->dim[i] = v[i]->extent;
        x->stride[i] = stride;
        stride *= i == n - 1 ? (v[i]->extent + 63) / 64 * 64 : v[i]->extent;
    }
    x->span = stride;
    x->align = 128;
    return x;
}

static const Idx **places(Graph *g, const Var *const *v, int n)
{
    const Idx **at = arena_array(g->arena, const Idx *, n + 1);

    for (int i = 0; i < n; i++)
        at[i] = idx_var(g->pool, v[i]);
    return at;
}

typedef struct Form {
    Graph *g;
    Group *first, *between, *second;
    Contraction c; /* of the second */
    const Operand *made, *other;
    const Expr *value; /* the factor that is made here */
    Tensor *factor;
    const Tensor *scores;
    int n_other;          /* the unit that is another first, or 0 */
    Group *also;          /* it, in the same variables */
    const Tensor *beside; /* what it leaves */
    bool halves, thirds, wide, scaled;
    const ChainKept *kept;
    const Var *var[MAX_RANK]; /* of the factor's dimensions, the second's */
    int n_var;
    const char *why;
} Form;

/* ---- values of rows behind the sum ------------------------------------ */

static bool made_here(const Expr *e, Group *const *unit, int n)
{
    Group reader = {.step = &(Step){.value = e}, .n_step = 1};

    for (int i = 0; i < n; i++)
        for (int k = 0; k < unit[i]->n_step; k++)
            if (unit[i]->step[k].tensor &&
                group_reads(&reader, unit[i]->step[k].tensor))
                return true;
    return false;
}

typedef struct Absorb {
    Form *f;
    Group *const *unit;
    int n, sum; /* units; the second's step that is the sum */
    int uses, taken;
} Absorb;

/* The sum, or a step that is the sum. */
static bool is_sum(const Absorb *a, const Expr *e)
{
    const Step *step = a->f->second->step;

    while (e->kind == E_LOCAL && e->local > a->sum && !step[e->local].tensor)
        e = step[e->local].value;
    return e->kind == E_LOCAL && e->local == a->sum;
}

static const Expr *count_uses(Graph *g, const Expr *e, void *ctx)
{
    Absorb *a = ctx;

    (void)g;
    a->uses += is_sum(a, e);
    return NULL;
}

/* sum / z, sum * z and c ? sum : 0 become the sum of f / z, f * z and of
 * c ? f : 0. */
static const Expr *absorb(Graph *g, const Expr *e, void *ctx)
{
    Absorb *a = ctx;
    Form *f = a->f;

    const bool by = e->kind == E_BINARY && (e->fn == F_DIV || e->fn == F_MUL);
    if (by && is_sum(a, e->arg[0]) && made_here(e->arg[1], a->unit, a->n)) {
        f->value = expr_binary(g, e->fn, f->value, e->arg[1], T_F32);
        a->taken++;
        return e->arg[0];
    }
    if (e->kind == E_SELECT && is_sum(a, e->arg[1]) &&
        e->arg[2]->kind == E_CONST && e->arg[2]->num == 0 &&
        made_here(e->arg[0], a->unit, a->n)) {
        f->value = expr_select(g, e->arg[0], f->value, e->arg[2], T_F32);
        return e->arg[1];
    }
    return NULL;
}

/* Where the sum is divided by a value of its row that is made here, the factor
 * is. */
static void absorb_rows(Form *f, Group *const *unit, int n)
{
    Group *gr = group_copy(f->g, f->second);
    const Expr *value = f->value;
    Absorb a = {.f = f, .unit = unit, .n = n};

    while (gr->step[a.sum].op == R_NONE)
        a.sum++;
    a.uses = gr->step[a.sum].tensor != NULL; /* it is read as it is, too */
    for (int i = a.sum + 1; i < gr->n_step; i++)
        if (gr->step[i].tensor || gr->step[i].value->kind != E_LOCAL)
            expr_rewrite(f->g, gr->step[i].value, count_uses, &a);
    for (int i = a.sum + 1; i < gr->n_step; i++)
        gr->step[i].value = expr_rewrite(f->g, gr->step[i].value, absorb, &a);
    if (a.uses == 1 && a.taken == 1)
        f->second = gr;
    else
        f->value = value;
}

/* The factor's points: what it uses of the second's rows, and its columns. */
static bool factor_vars(Form *f)
{
    const Group *gr = f->second;

    for (int i = 0; i < gr->n_rows + gr->n_cols; i++) {
        const Var *v = i < gr->n_rows ? gr->rows[i] : gr->cols[i - gr->n_rows];
        if (i < gr->n_rows && !expr_uses(f->value, v))
            continue;
        if (f->n_var == MAX_RANK) {
            f->why = "its factor has more than 8 indices";
            return false;
        }
        f->var[f->n_var++] = v;
    }
    return true;
}

/* f[i, j] as a nest of its own. */
static Group *factor_group(Form *f)
{
    Graph *g = f->g;
    Group *gr = arena_new_of(g->arena, Group);

    f->factor = shadow(g, "factor", f->other->type, f->var, f->n_var);
    gr->rows = arena_array(g->arena, const Var *, f->n_var + 1);
    memcpy(gr->rows, f->var, sizeof(Var *) * (size_t)f->n_var);
    gr->n_rows = f->n_var;
    gr->cols = arena_array(g->arena, const Var *, 1);
    gr->when = f->second->when;
    gr->step = arena_new_of(g->arena, Step);
    gr->n_step = 1;
    gr->step[0] = (Step){.value = f->value,
                         .type = T_F32,
                         .tensor = f->factor,
                         .store = places(g, f->var, f->n_var),
                         .source = f->second->step[0].source};
    return gr;
}

/* What stands for the columns of the second where nothing is reduced. */
static void take_columns(Form *f)
{
    Group *gr = f->between;
    const Var **rows = arena_array(f->g->arena, const Var *, gr->n_rows + 1);
    const Var **cols = arena_array(f->g->arena, const Var *, gr->n_rows + 1);
    int n = 0, k = 0;

    for (int i = 0; i < gr->n_rows; i++)
        if (vars_have(f->second->cols, f->second->n_cols, gr->rows[i]))
            cols[k++] = gr->rows[i];
        else
            rows[n++] = gr->rows[i];
    gr->rows = rows;
    gr->n_rows = n;
    gr->cols = cols;
    gr->n_cols = k;
    for (int i = 0; i < gr->n_step; i++)
        gr->step[i].over_cols = true;
}

static bool is_kept(const ChainKept *kept, const Tensor *t)
{
    for (int i = 0; i < kept->n; i++)
        if (kept->t[i] == t)
            return true;
    return false;
}

bool chain_keep(ChainKept *kept, const Tensor *t)
{
    enum { MOST = sizeof kept->t / sizeof *kept->t };

    if (is_kept(kept, t))
        return true;
    if (kept->n == MOST || t->role == ROLE_PARAM || t->prev || t->host)
        return false;
    kept->t[kept->n++] = t;
    return true;
}

/* What is kept is of rows alone, and all of it made between the products. */
static bool keeps_rows(Form *f)
{
    int n = 0;

    f->why = "more than values of its rows is read by others, too";
    for (int i = 0; i < f->between->n_step; i++) {
        const Step *s = &f->between->step[i];
        if (!s->tensor || s->tensor == f->factor)
            continue;
        if (s->over_cols && s->op == R_NONE)
            return false;
        n++;
    }
    if (n != f->kept->n)
        return false;
    f->why = NULL;
    return true;
}

static bool make_between(Form *f, Group *const *unit, int n)
{
    Group *gr = factor_group(f);

    for (int i = n - 2; i > 0; i--) {
        Tensor *t = NULL;
        if (i == f->n_other)
            continue;
        for (int k = 0; k < unit[i]->n_step && !t; k++)
            if (unit[i]->step[k].tensor &&
                group_reads(gr, unit[i]->step[k].tensor))
                t = unit[i]->step[k].tensor;
        if (!t) {
            f->why = "a part of it is read by the products alone";
            return false;
        }
        gr = fuse(f->g, unit[i], gr, t, is_kept(f->kept, t), &f->why);
        if (!gr)
            return false;
        for (int k = 0; k < gr->n_step; k++)
            if (gr->step[k].tensor != f->factor &&
                !is_kept(f->kept, gr->step[k].tensor))
                gr->step[k].tensor = NULL;
    }
    f->between = gr;
    if (!gr->n_cols)
        take_columns(f);
    return keeps_rows(f);
}

/* ---- one set of variables -------------------------------------------- */

/* v becomes several variables, of which `by` is v. */
static void replace(Graph *g, Group *gr, const Var *v, const Var *const *parts,
                    int n, const Idx *by)
{
    Subst s = {v, by};

    for (int side = 0; side < 2; side++) {
        const Var **old = side ? gr->cols : gr->rows;
        int n_old = side ? gr->n_cols : gr->n_rows, k = 0;
        const Var **list = arena_array(g->arena, const Var *, n_old + n + 1);
        for (int i = 0; i < n_old; i++)
            if (old[i] != v)
                list[k++] = old[i];
            else
                for (int j = 0; j < n; j++)
                    list[k++] = parts[j];
        if (side)
            gr->cols = list, gr->n_cols = k;
        else
            gr->rows = list, gr->n_rows = k;
    }
    group_subst(g, gr, &s, 1);
}

typedef struct Reads {
    const Tensor *t;
    const Expr *first;
    bool differ;
} Reads;

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind != E_READ || e->tensor != r->t)
        return;
    if (!r->first)
        r->first = e;
    r->differ |= e->in.n > 0;
    for (int d = 0; d < e->tensor->rank; d++)
        r->differ |= e->at[d] != r->first->at[d];
}

/* One round of writing the rows of a first, `copy` of the unit that stores t,
 * in the variables of its readers: 1 done, 0 split a variable of between's, -1
 * impossible. */
static int match_rows(Form *f, const Group *unit, Group *copy, const Tensor *t)
{
    const Group *by[] = {f->between, t == f->scores ? NULL : f->first};
    Graph *g = f->g;
    Subst s[MAX_VARS];
    Reads r = {.t = t};

    for (int k = 0; k < 2 && by[k]; k++)
        for (int i = 0; i < by[k]->n_step; i++)
            expr_visit(by[k]->step[i].value, note_read, &r);
    f->why = by[1] ? "reads another product at more than one place"
                   : "reads its scores at more than one place";
    if (!r.first || r.differ)
        return -1;
    f->why = by[1]
                 ? "reads another product in another arrangement"
                 : "reads only a part of the scores, or in another arrangement";
    int n =
        invert_store(g, t, storing(unit, t)->store, r.first->at, s, MAX_VARS);
    if (n < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const Var *part[MAX_VARS], *v = s[i].var;
        int64_t d;
        if (idx_splittable(s[i].by, &part[0], &d)) {
            group_split(g, f->between, part[0], d);
            return 0;
        }
        int k = idx_radix(s[i].by, v->extent, part, MAX_VARS);
        if (k < 0)
            return -1;
        replace(g, copy, v, part, k, s[i].by);
    }
    f->why = NULL;
    return 1;
}

/* The first, of scores that between reads by its own variables; a variable of
 * between's that is read in parts is split, and all begun anew. */
static bool match_first(Form *f, const Group *unit)
{
    int done = 0;

    for (int round = 0; round < 8 && !done; round++) {
        f->first = group_copy(f->g, unit);
        done = match_rows(f, unit, f->first, f->scores);
    }
    return done == 1;
}

/* Another first, whose points are read as they are. */
static bool match_other(Form *f, const Group *unit)
{
    f->also = group_copy(f->g, unit);
    return match_rows(f, unit, f->also, f->beside) == 1;
}

/* Rows of a first are rows and columns of between, each once. */
static bool same_points(Form *f, const Group *a)
{
    const Group *b = f->between;
    int cols = 0;

    f->why = "its points are not those of the scores";
    for (int i = 0; i < a->n_rows; i++) {
        bool col = vars_have(b->cols, b->n_cols, a->rows[i]);
        if ((!col && !vars_have(b->rows, b->n_rows, a->rows[i])) ||
            vars_have(a->rows, i, a->rows[i]))
            return false;
        cols += col;
    }
    if (cols != b->n_cols)
        return false;
    f->why = NULL;
    return true;
}

typedef struct Renamed {
    const Tensor *t;
    const Expr *by;
} Renamed;

static const Expr *read_renamed(Graph *g, const Expr *e, void *ctx)
{
    const Renamed *r = ctx;

    (void)g;
    return e->kind == E_READ && e->tensor == r->t ? r->by : NULL;
}

/* first's rows, of which the columns are last, and of the others the shortest
 * first. */
static int score_vars(const Form *f, const Var **v)
{
    const Group *b = f->between;
    int n = 0;

    for (int i = 0; i < b->n_rows + b->n_cols; i++) {
        const Var *x = i < b->n_rows ? b->rows[i] : b->cols[i - b->n_rows];
        if (!vars_have(f->first->rows, f->first->n_rows, x))
            continue;
        if (n == MAX_RANK)
            return MAX_RANK + 1;
        int at = n++;
        for (; i < b->n_rows && at > 0 && v[at - 1]->extent > x->extent; at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
    return n;
}

/* A tensor in place of t, which `by` leaves, of which the dimensions are v. */
static const Tensor *lay_out(Form *f, Group *by, const Tensor *t,
                             const Var *const *v, int n)
{
    Graph *g = f->g;
    Group *reader[] = {f->first, f->between};
    Tensor *is = shadow(g, t->name, t->type, v, n);
    Renamed r = {t, expr_read(g, is, places(g, v, n), (Guard){0}, NULL)};

    for (int i = 0; i < by->n_step; i++)
        if (by->step[i].tensor == t) {
            by->step[i].tensor = is;
            by->step[i].store = places(g, v, n);
        }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < reader[k]->n_step; i++)
            reader[k]->step[i].value =
                expr_rewrite(g, reader[k]->step[i].value, read_renamed, &r);
    return is;
}

/* Scores are in no memory: how they would lie there says which factor is whose,
 * and which rows are a tile's. */
static bool lay_out_scores(Form *f)
{
    const Var *v[MAX_RANK] = {NULL};
    int n = score_vars(f, v);

    if (n > MAX_RANK) {
        f->why = "its scores have more than 8 indices";
        return false;
    }
    f->scores = lay_out(f, f->first, f->scores, v, n);
    if (f->also) {
        if (f->also->n_rows != f->first->n_rows) {
            f->why = "its products are not of the same points";
            return false;
        }
        f->beside = lay_out(f, f->also, f->beside, v, n);
    }
    return true;
}

/* The second in between's variables, reading the factor. */
static bool match_second(Form *f)
{
    Graph *g = f->g;
    const Step *made = storing(f->between, f->factor);
    Group *gr = group_copy(g, f->second);
    int sum = 0;

    while (gr->step[sum].op == R_NONE)
        sum++;
    /* steps before it are written out in its term */
    gr->step[sum].value = expr_binary(
        g, F_MUL,
        expr_read(g, f->factor, places(g, f->var, f->n_var), (Guard){0}, NULL),
        f->other->e, T_F32);
    for (int d = 0; d < f->n_var; d++) {
        const Var *part[MAX_VARS];
        int k = idx_radix(made->store[d], f->factor->dim[d], part, MAX_VARS);
        if (k < 0) {
            f->why = "its points are not the rows and columns of the second";
            return false;
        }
        if (k != 1 || part[0] != f->var[d])
            replace(g, gr, f->var[d], part, k, made->store[d]);
    }
    f->second = gr;
    for (int i = 0; i < f->between->n_cols; i++)
        if (!vars_have(gr->cols, gr->n_cols, f->between->cols[i]))
            f->why = "reduces along something else than the second sums";
    if (f->between->n_cols != gr->n_cols)
        f->why = "reduces along a part of what the second sums";
    return !f->why;
}

/* Whether it has something of the units besides the factor, as a bias say. */
static bool reads_others(const Form *f, Group *const *unit, int n)
{
    const Group *gr = f->second;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < unit[i]->n_step; k++)
            if (unit[i]->step[k].tensor &&
                group_reads(gr, unit[i]->step[k].tensor))
                return true;
    return false;
}

/* ---- the whole ------------------------------------------------------- */

typedef struct Localise {
    int base;            /* of the part's own locals */
    const Tensor *t[2];  /* whose reads are locals, too */
    int local[2];
} Localise;

static const Expr *localise(Graph *g, const Expr *e, void *ctx)
{
    const Localise *l = ctx;

    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + l->base, e->type);
    for (int i = 0; i < 2 && e->kind == E_READ; i++)
        if (e->tensor == l->t[i])
            return expr_local(g, l->local[i], T_F32);
    return NULL;
}

/* Adds a part's steps; the number of the one that stores t. */
static int add_steps(Graph *g, Group *to, const Group *part, Localise l,
                     const Tensor *t)
{
    int at = -1;

    l.base = to->n_step;
    for (int i = 0; i < part->n_step; i++) {
        Step s = part->step[i];
        s.value = expr_rewrite(g, s.value, localise, &l);
        if (s.tensor == t && t) {
            at = to->n_step;
            s.tensor = NULL;
        }
        to->step[to->n_step++] = s;
    }
    return at;
}

static Group *whole(Form *f, Group *const *unit, int n)
{
    Graph *g = f->g;
    Group *r = group_copy(g, f->second);
    Chain *c = arena_new_of(g->arena, Chain);

    int n_also = f->also ? f->also->n_step : 0;
    Localise by = {0, {NULL}, {0}};

    *c = (Chain){.first = f->first,
                 .between = f->between,
                 .second = f->second,
                 .scores = f->scores,
                 .factor = f->factor,
                 .n_first = n_also + f->first->n_step,
                 .n_between = f->between->n_step,
                 .other = f->also,
                 .beside = f->also ? f->beside : NULL,
                 .halves = f->halves,
                 .thirds = f->thirds,
                 .wide = f->wide,
                 .scaled = f->scaled};
    r->chain = c;
    r->n_step = 0;
    r->step = arena_array(g->arena, Step, c->n_first + c->n_between +
                                              f->second->n_step);
    if (f->also) {
        by.local[1] = add_steps(g, r, f->also, by, f->beside);
        by.t[1] = f->beside;
    }
    by.local[0] = add_steps(g, r, f->first, by, f->scores);
    by.t[0] = f->scores;
    by.local[0] = add_steps(g, r, f->between, by, f->factor);
    by.t[0] = f->factor;
    add_steps(g, r, f->second, by, NULL);
    r->stmt = r->again = NULL;
    r->n_stmt = r->cap_stmt = r->n_again = r->cap_again = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < unit[i]->n_stmt; k++)
            VEC_PUSH(g->arena, r->stmt, r->n_stmt, r->cap_stmt) =
                unit[i]->stmt[k];
        group_add_again(g, r, unit[i]->again, unit[i]->n_again);
    }
    return r;
}

/* The one tensor that the first leaves. */
static const Tensor *only_result(const Group *gr)
{
    const Tensor *t = NULL;

    for (int i = 0; i < gr->n_step; i++) {
        if (gr->step[i].tensor && (t || gr->step[i].where.n))
            return NULL;
        t = gr->step[i].tensor ? gr->step[i].tensor : t;
    }
    return t;
}

int chain_parts(const Chain *c)
{
    enum { HALVES = 2, THIRDS };

    return c->thirds ? THIRDS : c->halves ? HALVES : 1;
}

/* What is f32 and made here can be multiplied in parts. Those of a gradient
 * that is made again hold it; of others the family says whether they do. */
static bool take_parts(Form *f)
{
    const Expr *e = f->made->read;

    f->halves = f->made->type == T_F32 && f->other->type == T_F16;
    f->thirds = f->made->type == T_F32 && f->other->type == T_BF16;
    f->wide = f->halves && !(e && e->tensor->own);
    f->scaled = f->halves && !(e && e->tensor->halves);
    return f->halves || f->thirds;
}

static Group *form(Form *f, Group *const *unit, int n)
{
    f->second = chain_whole_sum(f->g, unit[n - 1]);
    f->scores = only_result(unit[0]);
    if (!group_contraction(f->g, f->second, &f->c, &f->why))
        return NULL;
    if (f->c.parts > 1) {
        f->why = "the second is several sums";
        return NULL;
    }
    for (int i = 1; i + 1 < n; i++)
        if (chain_heavy(f->g, unit[i]))
            f->n_other = f->n_other ? -1 : i;
    if (f->n_other)
        f->beside = f->n_other > 0 ? only_result(unit[f->n_other]) : NULL;
    if (f->n_other && !f->beside) {
        f->why = "more than two products meet in it";
        return NULL;
    }
    f->made = made_operand(&f->c, unit, n - 1);
    f->other = f->made == &f->c.a ? &f->c.b : &f->c.a;
    f->why = !f->scores        ? "the first product leaves more than its points"
             : !f->made        ? "both factors are made here"
             : !f->other->read ? "its other factor is computed"
             : !take_parts(f) &&
                     (f->made->type != f->other->type ||
                      type_bytes(f->made->type) != 2)
                 ? "its factors are not both f16 or both bf16"
                 : NULL;
    if (f->why)
        return NULL;
    f->value = f->made->e;
    absorb_rows(f, unit, n - 1);
    if (!factor_vars(f) || !make_between(f, unit, n))
        return NULL;
    if (!match_first(f, unit[0]) ||
        (f->n_other && !match_other(f, unit[f->n_other])) ||
        !same_points(f, f->first) || (f->also && !same_points(f, f->also)))
        return NULL;
    chain_whole(f->g, f->first, f->between, f->also,
                storing(f->between, f->factor));
    if (!lay_out_scores(f) || !match_second(f))
        return NULL;
    if (reads_others(f, unit, n - 1)) {
        f->why = "the second product is finished with values of its rows that "
                 "are made here";
        return NULL;
    }
    Group *r = whole(f, unit, n);
    f->why = group_too_long(r, &(Group){0});
    return f->why ? NULL : r;
}

Group *chain_form(Graph *g, Group *const *unit, int n, const ChainKept *kept,
                  const char **why)
{
    Form f = {.g = g, .kept = kept};
    Group *r = NULL;

    for (int i = 0; i < n; i++)
        if (unit[i]->when != WHEN_RUN)
            f.why = "one runs at load time, the other at run time";
        else if (unit[i]->chain)
            f.why = "it is a chain already";
    if (!f.why)
        r = form(&f, unit, n);
    if (r && in_place_clash(r)) {
        f.why = "would overwrite a state that is still read";
        r = NULL;
    }
    *why = r ? NULL : f.why ? f.why : "it is no chain";
    return r;
}
