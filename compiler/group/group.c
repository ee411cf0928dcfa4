#include "group/group.h"

#include "group/chain.h"
#include "group/factor_sum.h"
#include "group/norm.h"
#include "rewrite/rewrite.h"

#include <stdlib.h>

/* Reductions may get a step more, that stores their value. */
static int most_steps(const Group *gr)
{
    int n = gr->n_step;

    for (int i = 0; i < gr->n_step; i++)
        n += gr->step[i].op != R_NONE;
    return n;
}

static int reductions(const Group *gr)
{
    int n = 0;

    for (int i = 0; i < gr->n_step; i++)
        n += gr->step[i].op != R_NONE;
    return n;
}

const char *group_too_long(const Group *p, const Group *c)
{
    if (most_steps(p) + most_steps(c) > MAX_STEPS)
        return "together they have more than 64 steps";
    return reductions(p) + reductions(c) > MAX_SUMS
               ? "together they have more sums than a reader takes in"
               : NULL;
}

void group_add_stmts(Graph *g, Group *to, const Group *from)
{
    for (int i = 0; i < from->n_stmt; i++)
        VEC_PUSH(g->arena, to->stmt, to->n_stmt, to->cap_stmt) = from->stmt[i];
    group_add_again(g, to, from->again, from->n_again);
}

static void add_again(Graph *g, Group *to, Stmt *s)
{
    int at = to->n_again;

    while (at > 0 && to->again[at - 1]->id > s->id)
        at--;
    if (at > 0 && to->again[at - 1] == s)
        return;
    VEC_PUSH(g->arena, to->again, to->n_again, to->cap_again) = s;
    for (int i = to->n_again - 1; i > at; i--)
        to->again[i] = to->again[i - 1];
    to->again[at] = s;
}

void group_add_again(Graph *g, Group *to, Stmt *const *s, int n)
{
    for (int i = 0; i < n; i++)
        add_again(g, to, s[i]);
}

int64_t group_rows(const Group *gr)
{
    int64_t n = 1;

    for (int i = 0; i < gr->n_rows; i++)
        n *= gr->rows[i]->extent;
    return n;
}

int64_t group_cols(const Group *gr)
{
    int64_t n = 1;

    for (int i = 0; i < gr->n_cols; i++)
        n *= gr->cols[i]->extent;
    return n;
}

/* ---- arguments */

typedef struct Args {
    Graph *graph;
    Group *group;
    int cap;
} Args;

static void add_arg(Args *a, Tensor *t)
{
    Group *gr = a->group;

    for (int i = 0; i < gr->n_arg; i++)
        if (gr->arg[i] == t)
            return;
    VEC_PUSH(a->graph->arena, gr->arg, gr->n_arg, a->cap) = t;
}

static void add_read(const Expr *e, void *ctx)
{
    if (e->kind == E_READ)
        add_arg(ctx, e->tensor);
}

static void add_data(const Idx *e, Args *a);

static void add_atom(const Atom *atom, Args *a)
{
    if (atom->kind == ATOM_DATA)
        expr_visit(atom->data, add_read, a);
    if (atom->a)
        add_data(atom->a, a);
    if (atom->b)
        add_data(atom->b, a);
}

static void add_data(const Idx *e, Args *a)
{
    for (int i = 0; i < e->n; i++)
        add_atom(e->term[i].atom, a);
}

const char *step_called(const Step *s)
{
    const Tensor *t = s->source ? s->source->tensor : s->tensor;

    return s->called ? s->called : t ? tensor_called(t) : NULL;
}

void group_visit(const Group *gr, StepVisit *f, void *ctx)
{
    for (int i = 0; i < gr->n_step; i++)
        f(&gr->step[i], ctx);
    for (int i = 0; gr->merge && i < gr->merge->n_step; i++)
        f(&gr->merge->step[i], ctx);
    if (gr->merge && gr->merge->fold)
        f(gr->merge->fold, ctx);
    for (int i = 0; gr->pieces && i < gr->pieces->n_step; i++)
        f(&gr->pieces->step[i], ctx);
    for (int i = 0; gr->factor_sum && i < gr->factor_sum->n_step; i++)
        f(&gr->factor_sum->step[i], ctx);
}

typedef struct Stores {
    const Tensor *t;
    bool found;
} Stores;

static void note_store(const Step *s, void *ctx)
{
    Stores *x = ctx;

    x->found |= s->tensor == x->t;
}

bool group_stores(const Group *gr, const Tensor *t)
{
    Stores x = {t, false};

    group_visit(gr, note_store, &x);
    return x.found;
}

static void add_stored(const Step *s, void *ctx)
{
    if (s->tensor)
        add_arg(ctx, s->tensor);
}

static void add_reads(const Step *s, void *ctx)
{
    expr_visit(s->value, add_read, ctx);
    if (!s->tensor)
        return;
    for (int d = 0; d < s->tensor->rank; d++)
        add_data(s->store[d], ctx);
    for (int c = 0; c < s->where.n; c++)
        add_data(s->where.cond[c].e, ctx);
}

void group_args(Graph *g, Group *gr)
{
    Args a = {g, gr, 0};

    gr->arg = NULL;
    gr->n_arg = 0;
    group_visit(gr, add_stored, &a);
    group_visit(gr, add_reads, &a);
}

/* ---- reads in places */

GroupKnown *group_known(const Group *gr)
{
    GroupKnown *k = &((Group *)gr)->known;

    if (k->of != gr)
        *k = (GroupKnown){.of = gr};
    return k;
}

void group_forget(const Group *gr)
{
    GroupKnown *k = group_known(gr);

    *k = (GroupKnown){.of = gr, .choice = k->choice, .number = k->number};
}

double group_needs(Graph *g, const Group *gr, const Expr *read)
{
    GroupKnown *known = group_known(gr);
    const Expr *value[gr->n_step + 1];

    if (!known->needed && !known->all_needed) {
        for (int i = 0; i < gr->n_step; i++)
            value[i] = gr->step[i].value;
        known->all_needed = !values_choose(value, gr->n_step);
        if (!known->all_needed)
            known->needed = needed_reads(g, value, gr->n_step);
    }
    return known->all_needed
               ? 1
               : needed_share(needed_of_read(known->needed, read));
}

Group *group_copy(Graph *g, const Group *gr)
{
    Group *c = arena_new_of(g->arena, Group);

    *c = *gr;
    c->cap_stmt = c->n_stmt; /* lists that grow are the copy's own */
    c->cap_again = c->n_again;
    c->step = arena_array(g->arena, Step, gr->n_step);
    memcpy(c->step, gr->step, sizeof(Step) * (size_t)gr->n_step);
    return c;
}

bool group_place_reads(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (s->tensor && place_reads(s->store, s->tensor->rank, s->where, t))
            return true;
    }
    return false;
}

typedef struct ValueRead {
    const Tensor *t;
    bool found;
} ValueRead;

static void note_expr(const Expr *e, void *ctx)
{
    ValueRead *r = ctx;

    r->found |= e->kind == E_READ && tensor_lies_in(r->t, e->tensor);
}

static void note_value(const Step *s, void *ctx)
{
    expr_visit(s->value, note_expr, ctx);
}

bool group_reads(const Group *gr, const Tensor *t)
{
    ValueRead r = {t, group_place_reads(gr, t)};

    group_visit(gr, note_value, &r);
    return r.found;
}

bool group_follows(const Group *c, const Group *p)
{
    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor && group_reads(c, p->step[i].tensor))
            return true;
    return false;
}

/* ---- canonical text */

/* Parts of expressions whose text is there already. */
typedef struct Written {
    Arena *arena;
    const Expr **e; /* open addressing */
    int *number;
    int n, cap;
} Written;

/* What is computed again in what is computed again has parts to which 2^n
 * paths lead: of that many, a part is written once. */
enum { MANY = 1 << 12 };

typedef struct Canon {
    const Group *group;
    int paths;        /* to parts of all steps, as far as they are counted */
    Written *written; /* where there are many, or NULL */
    int uses[MAX_STEPS], user[MAX_STEPS]; /* a step that uses it */
    int number[MAX_STEPS]; /* of those that have one; -1: part of its reader */
    bool own;              /* steps ahead or behind, numbered by themselves */
    int64_t *base; /* of each argument: where its first slice begins, or -1 */
} Canon;

static void canon_expr(Buf *b, const Canon *c, const Expr *e);
static void canon_idx(Buf *b, const Canon *c, const Idx *e);

static void put_numbered(Buf *b, char what, int i)
{
    buf_putc(b, what);
    buf_putd(b, i);
}

static void canon_var(Buf *b, const Canon *c, const Var *v)
{
    const Group *gr = c->group;

    for (int i = 0; i < gr->n_rows; i++)
        if (gr->rows[i] == v) {
            put_numbered(b, 'r', i);
            return;
        }
    for (int i = 0; i < gr->n_cols; i++)
        if (gr->cols[i] == v) {
            put_numbered(b, 'c', i);
            return;
        }
    const Group *first = gr->chain ? gr->chain->first : gr;
    for (int i = 0; i < first->n_cols; i++)
        if (first->cols[i] == v) {
            put_numbered(b, 'd', i);
            return;
        }
    const Group *other = gr->chain ? gr->chain->other : NULL;
    for (int i = 0; other && i < other->n_cols; i++)
        if (other->cols[i] == v) {
            put_numbered(b, 'o', i);
            return;
        }
    if (gr->merge && gr->merge->over == v)
        buf_puts(b, "p");
    else
        buf_puts(b, "?");
}

static void canon_atom(Buf *b, const Canon *c, const Atom *a)
{
    switch (a->kind) {
    case ATOM_VAR:
        canon_var(b, c, a->var);
        break;
    case ATOM_FLOOR:
        buf_puts(b, "(");
        canon_idx(b, c, a->a);
        buf_putc(b, '/');
        buf_putd(b, a->d);
        buf_putc(b, ')');
        break;
    case ATOM_MIN:
    case ATOM_MAX:
        buf_puts(b, a->kind == ATOM_MIN ? "min(" : "max(");
        canon_idx(b, c, a->a);
        buf_puts(b, ",");
        canon_idx(b, c, a->b);
        buf_puts(b, ")");
        break;
    case ATOM_DATA:
        buf_printf(b, "{%lld..%lld ", (long long)a->lo, (long long)a->hi);
        canon_expr(b, c, a->data);
        buf_puts(b, "}");
        break;
    }
}

/* Is the piece from x on behind the one from y on? */
static bool behind(const char *x, size_t n, const char *y, size_t m)
{
    int c = memcmp(x, y, n < m ? n : m);

    return c ? c > 0 : n > m;
}

/* n pieces of b, which begin at[], in the order of their text. */
static void sort_pieces(Buf *b, const size_t *at, int n)
{
    Buf text = {0};
    int order[n];

    buf_putn(&text, b->text + at[0], at[n] - at[0]);
    for (int i = 0, k; i < n; order[k] = i++)
        for (k = i; k > 0; k--) {
            int j = order[k - 1];
            if (!behind(text.text + at[j] - at[0], at[j + 1] - at[j],
                        text.text + at[i] - at[0], at[i + 1] - at[i]))
                break;
            order[k] = j;
        }
    b->len = at[0];
    for (int i = 0; i < n; i++) {
        int j = order[i];
        buf_putn(b, text.text + at[j] - at[0], at[j + 1] - at[j]);
    }
    buf_free(&text);
}

/* Terms in the order of their text: an Idx keeps them in the order in which
 * the atoms were made, which differs from layer to layer. */
static void canon_idx(Buf *b, const Canon *c, const Idx *e)
{
    size_t at[e->n + 1];

    buf_putd(b, e->k);
    for (int i = 0; i < e->n; i++) {
        at[i] = b->len;
        buf_putc(b, '+');
        buf_putd(b, e->term[i].c);
        canon_atom(b, c, e->term[i].atom);
    }
    at[e->n] = b->len;
    if (e->n > 1)
        sort_pieces(b, at, e->n);
}

static void canon_guard(Buf *b, const Canon *c, Guard g)
{
    for (int i = 0; i < g.n; i++) {
        buf_puts(b, i ? "&" : "[");
        canon_idx(b, c, g.cond[i].e);
        buf_putc(b, '%');
        buf_putd(b, g.cond[i].mod);
    }
    if (g.n)
        buf_puts(b, "]");
}

static int arg_number(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (gr->arg[i] == t)
            return i;
    return -1;
}

/* Which slice of argument i: how it is aligned, and how far it is from the
 * first. A loop's steps have one text, each of another. */
static void canon_slice(Buf *b, const Canon *c, int i, int64_t first, int bytes)
{
    enum { ALIGN = 256 };
    int64_t rest = first * bytes % ALIGN, none = 0;
    int64_t *base = i < 0 ? &none : &c->base[i];

    if (*base < 0)
        *base = first;
    if (rest)
        put_numbered(b, '/', (int)(rest & -rest));
    if (first != *base)
        buf_printf(b, "@%lld", (long long)(first - *base));
}

/* Which result has t's memory, if t is an earlier version: no promise that they
 * lie apart can be a kernel's where it is one's. */
static void canon_version(Buf *b, const Group *gr, const Tensor *t)
{
    if (t->prev)
        buf_puts(b, "in place");
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *stored = gr->step[i].tensor, *old = stored;
        while (old && (old = old->prev) && old != t)
            ;
        if (old)
            put_numbered(b, '<', arg_number(gr, stored));
    }
}

/* Dimensions from the largest stride to the smallest: a view may have another
 * order of its own. */
static void canon_access(Buf *b, const Canon *c, const Tensor *t,
                         const Idx *const *at)
{
    int dim[MAX_RANK], n = 0, arg = arg_number(c->group, t);
    int64_t first = 0;

    for (int d = 0; d < t->rank; d++) {
        if (idx_is_const(at[d])) {
            first += at[d]->k * t->stride[d];
            continue;
        }
        int j = n++;
        for (; j > 0 && t->stride[dim[j - 1]] < t->stride[d]; j--)
            dim[j] = dim[j - 1];
        dim[j] = d;
    }
    put_numbered(b, tensor_is_constant(t) ? 'w' : 'a', arg);
    canon_slice(b, c, arg, first, type_bytes(t->type));
    buf_putc(b, ':');
    buf_puts(b, type_name(t->type));
    canon_version(b, c->group, t);
    buf_puts(b, t->cut ? "cut(" : "(");
    for (int i = 0; i < n; i++) {
        if (i)
            buf_putc(b, ',');
        buf_putd(b, t->stride[dim[i]]);
        buf_putc(b, '*');
        canon_idx(b, c, at[dim[i]]);
    }
    int64_t along, row = tensor_rows(t, &along);
    if (row > along) /* with padding, which vectors may end in */
        buf_printf(b, "|%lld %lld", (long long)along, (long long)row);
    buf_puts(b, ")");
}

static int find_written(const Written *w, const Expr *e)
{
    uint64_t h = ((uintptr_t)e >> 4) * 0x9e3779b97f4a7c15u >> 20;
    int i = (int)(h & (uint64_t)(w->cap - 1));

    while (w->e[i] && w->e[i] != e)
        i = (i + 1) & (w->cap - 1);
    return i;
}

static void grow_written(Written *w)
{
    const Written old = *w;

    w->cap = old.cap ? 2 * old.cap : 128;
    w->e = arena_array(w->arena, const Expr *, w->cap);
    w->number = arena_array(w->arena, int, w->cap);
    for (int k = 0; k < old.cap; k++)
        if (old.e[k]) {
            int i = find_written(w, old.e[k]);
            w->e[i] = old.e[k];
            w->number[i] = old.number[k];
        }
}

/* Puts the number of what is there already, and returns true; else what e is
 * from now on, and false. */
static bool written_before(Buf *b, Written *w, const Expr *e)
{
    if (2 * w->n >= w->cap)
        grow_written(w);
    int i = find_written(w, e);
    bool before = w->e[i] != NULL;

    if (!before) {
        w->e[i] = e;
        w->number[i] = w->n++;
    }
    put_numbered(b, '@', w->number[i]);
    buf_putc(b, before ? ';' : '=');
    return before;
}

static void canon_expr(Buf *b, const Canon *c, const Expr *e)
{
    if (c->written && e->arg[0] && written_before(b, c->written, e))
        return;
    switch (e->kind) {
    case E_CONST:
        buf_puta(b, e->num);
        break;
    case E_INDEX:
        buf_puts(b, "#");
        canon_idx(b, c, e->idx);
        break;
    case E_READ:
        canon_access(b, c, e->tensor, e->at);
        canon_guard(b, c, e->in);
        if (e->outside)
            canon_expr(b, c, e->outside);
        break;
    case E_LOCAL:
        if (c->own || e->local < 0) {
            put_numbered(b, '$', e->local);
            break;
        }
        if (c->number[e->local] < 0) {
            canon_expr(b, c, c->group->step[e->local].value);
            return;
        }
        put_numbered(b, '$', c->number[e->local]);
        break;
    default:
        buf_puts(b, e->kind == E_CAST ? "cast" : func_name(e->fn));
        buf_puts(b, "(");
        for (int i = 0; i < 3 && e->arg[i]; i++) {
            if (i)
                buf_puts(b, ",");
            canon_expr(b, c, e->arg[i]);
        }
        buf_puts(b, ")");
    }
    buf_putc(b, ':');
    buf_puts(b, type_name(e->type));
}

static void use_local(Canon *c, const Expr *e, int step, int times)
{
    if (e->kind == E_LOCAL && e->local >= 0) {
        c->uses[e->local] += times;
        c->user[e->local] = step;
    }
}

typedef struct Inside {
    Canon *c;
    int step;
} Inside;

/* In an index it is never a part. */
static void use_inside(const Expr *e, void *ctx)
{
    Inside *u = ctx;

    use_local(u->c, e, u->step, 2);
}

/* Locals of e as often as its text has them, if that is not too long. */
static void use_locals(Canon *c, const Expr *e, int step)
{
    if (c->paths++ > MANY)
        return;
    use_local(c, e, step, 1);
    if (e->kind == E_READ || e->kind == E_INDEX)
        expr_visit(e, use_inside, &(Inside){c, step});
    for (int i = 0; i < 3 && e->arg[i]; i++)
        use_locals(c, e->arg[i], step);
}

/* A value that one other step uses, once, and as often as it is made, is part
 * of that step: whether it was fused or computed again there is no matter. */
static bool is_part(const Canon *c, int i)
{
    const Step *s = &c->group->step[i];

    return !c->group->chain && s->op == R_NONE && !s->tensor &&
           c->uses[i] == 1 && s->type == s->value->type &&
           c->group->step[c->user[i]].over_cols == s->over_cols;
}

static void number_steps(Canon *c)
{
    int n = 0;

    for (int i = 0; i < c->group->n_step; i++)
        use_locals(c, c->group->step[i].value, i);
    for (int i = 0; i < c->group->n_step; i++)
        c->number[i] = c->paths <= MANY && is_part(c, i) ? -1 : n++;
}

static void canon_step(Buf *b, const Canon *c, const Step *s)
{
    buf_printf(b, ";%s %s %s ", s->over_cols ? "cols" : "row",
               reduce_name(s->op), type_name(s->type));
    canon_expr(b, c, s->value);
    if (!s->tensor)
        return;
    buf_puts(b, "->");
    canon_access(b, c, s->tensor, s->store);
    canon_guard(b, c, s->where);
    if (s->needed.n) {
        buf_puts(b, "needed");
        canon_guard(b, c, s->needed);
    }
}

static void canon_shape(Buf *b, const Group *gr)
{
    for (int i = 0; i < gr->n_rows; i++)
        buf_printf(b, "r%d<%lld ", i, (long long)gr->rows[i]->extent);
    for (int i = 0; i < gr->n_cols; i++)
        buf_printf(b, "c%d<%lld ", i, (long long)gr->cols[i]->extent);
    for (int i = 0; gr->chain && i < gr->chain->first->n_cols; i++)
        buf_printf(b, "d%d<%lld ", i,
                   (long long)gr->chain->first->cols[i]->extent);
    const Group *other = gr->chain ? gr->chain->other : NULL;
    for (int i = 0; other && i < other->n_cols; i++)
        buf_printf(b, "o%d<%lld ", i, (long long)other->cols[i]->extent);
    if (gr->chain)
        buf_printf(b, "chain %d %d ", gr->chain->n_first, gr->chain->n_between);
    if (gr->chain && gr->chain->twin)
        buf_puts(b, "twin ");
    if (gr->chain && gr->chain->halves)
        buf_puts(b, "halves ");
    if (gr->chain && gr->chain->thirds)
        buf_puts(b, "thirds ");
}

/* The steps ahead of the group's and behind them, which number their own. */
static void canon_own(Buf *b, Canon *c)
{
    const Group *gr = c->group;
    Written again = {.arena = c->written ? c->written->arena : NULL};

    c->own = true;
    if (c->written)
        c->written = &again;
    if (gr->merge)
        buf_printf(b, ";%s %lld ", gr->merge->size ? "merge" : "rows",
                   (long long)gr->merge->over->extent);
    for (int i = 0; gr->merge && i < gr->merge->n_step; i++)
        canon_step(b, c, &gr->merge->step[i]);
    if (gr->merge && gr->merge->fold)
        canon_step(b, c, gr->merge->fold);
    if (gr->pieces)
        buf_printf(b, ";%s %d of %d ", gr->pieces->down ? "rows" : "pieces",
                   gr->pieces->size, c->number[gr->pieces->value]);
    for (int i = 0; gr->pieces && i < gr->pieces->n_step; i++)
        canon_step(b, c, &gr->pieces->step[i]);
    if (gr->factor_sum)
        buf_puts(b, ";factor ");
    for (int i = 0; gr->factor_sum && i < gr->factor_sum->n_step; i++)
        canon_step(b, c, &gr->factor_sum->step[i]);
}

/* Into base[], of each argument where its first slice begins; or -1. */
static void canon(Buf *b, const Group *gr, int64_t *base)
{
    Canon c = {.group = gr, .base = base};
    Written written = {0};

    memset(base, -1, sizeof *base * (size_t)gr->n_arg);
    number_steps(&c);
    if (c.paths > MANY) {
        written.arena = arena_new();
        c.written = &written;
    }
    canon_shape(b, gr);
    for (int i = 0; i < gr->n_step; i++)
        if (c.number[i] >= 0)
            canon_step(b, &c, &gr->step[i]);
    canon_own(b, &c);
    if (written.arena)
        arena_free(written.arena);
}

static void count_part(const Expr *e, void *ctx)
{
    (void)e;
    ++*(int *)ctx;
}

void group_canon_parts(Buf *b, const Group *gr)
{
    Canon c = {.group = gr};

    number_steps(&c);
    for (int i = 0; i < gr->n_step; i++) {
        int n = 0;
        expr_visit(gr->step[i].value, count_part, &n);
        put_numbered(b, c.number[i] < 0 ? '-' : '+', n);
    }
}

void group_canon(Buf *b, const Group *gr)
{
    int64_t base[gr->n_arg + 1];

    canon(b, gr, base);
}

void group_canon_slices(Buf *b, const Group *gr)
{
    int64_t base[gr->n_arg + 1];
    Buf text = {0};

    canon(&text, gr, base);
    buf_free(&text);
    for (int i = 0; i < gr->n_arg; i++)
        if (base[i] > 0)
            buf_printf(b, "@%d %lld", i, (long long)base[i]);
}
