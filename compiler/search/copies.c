#include "search/copies.h"

#include "group/groups.h"
#include "search/renew.h"

#include <string.h>

enum {
    BEGIN = 128 /* elements: each of them begins at a multiple of as many, as
                   tensors of two bytes begin at multiples of 256 */
};

static bool is_dense(const Tensor *t)
{
    return t->span == tensor_elems(t);
}

/* The parameter that the group rounds, all of it and nothing else, into a
 * tensor that lies as the parameter does; NULL: it does not. */
static Tensor *copied(Graph *g, const Group *gr)
{
    const Step *s = gr->step;
    const Tensor *to = s->tensor;
    const Expr *e = s->value;

    if (gr->n_step != 1 || s->op != R_NONE || !to ||
        (gr->when != WHEN_RUN && !to->renewed) || s->where.n ||
        to->role != ROLE_TEMP || to->prev || to->host || !is_dense(to) ||
        type_bytes(to->type) * BEGIN < 256)
        return NULL;
    if (e->kind == E_CAST && e->type == to->type)
        e = e->arg[0];
    if (e->kind != E_READ || e->in.n)
        return NULL;
    Tensor *from = e->tensor;
    bool whole = tensor_is_trained(from) && !from->prev && !from->host &&
                 is_dense(from) && from->span == to->span &&
                 from->span == group_rows(gr);
    return whole && tensor_offset(g, from, e->at) ==
                        tensor_offset(g, to, s->store) ? from : NULL;
}

bool copies_has(Graph *g, const Group *gr)
{
    return copied(g, gr) != NULL;
}

/* Is it among the parameters of n groups' copies already? */
static bool has(Graph *g, Group *const *list, int n, const Tensor *from)
{
    for (int i = 0; i < n; i++)
        if (copied(g, list[i]) == from)
            return true;
    return false;
}

static int64_t place(int64_t elements)
{
    return (elements + BEGIN - 1) / BEGIN * BEGIN;
}

static Tensor *all_of(Graph *g, const char *name, const Tensor *one,
                      int64_t n)
{
    Tensor *t = graph_tensor(g, name, one->type, 1, &n);

    t->path = "";
    t->role = one->role;
    t->weight = one->weight ? "" : NULL;
    t->when = one->when;
    t->renewed = one->renewed;
    t->at = one->at;
    return t;
}

static void lay(Tensor *t, Tensor *in, int64_t first)
{
    t->host = in;
    t->first = first;
}

/* One statement for those of `gr`, n groups: to[i] = from[i]. */
static Stmt *one_for_all(Graph *g, Group *const *gr, int n)
{
    Stmt *s = graph_stmt(g);
    const Stmt *first = gr[0]->stmt[0];
    int64_t all = 0, at = 0;

    for (int i = 0; i < n; i++)
        all += place(gr[i]->step->tensor->span);
    Tensor *from = all_of(g, "trained", copied(g, gr[0]), all);
    Tensor *to = all_of(g, "copies", gr[0]->step->tensor, all);
    to->says = "parameters that are trained, side by side, as products read "
               "them";
    for (int i = 0; i < n; i++) {
        Tensor *copy = gr[i]->step->tensor;
        lay(copied(g, gr[i]), from, at);
        lay(copy, to, at);
        at += place(copy->span);
    }
    const Var *v = idx_new_var(g->pool, "i", all);
    const Idx **where = arena_array(g->arena, const Idx *, 1);
    const Var **out = arena_array(g->arena, const Var *, 1);
    where[0] = idx_var(g->pool, v);
    out[0] = v;
    s->out = out;
    s->n_out = 1;
    s->value = expr_read(g, from, where, (Guard){0}, NULL);
    s->tensor = to;
    s->store = where;
    s->when = gr[0]->when;
    s->path = "copies";
    s->at = first->at;
    s->call = first->call;
    return s;
}

/* The group that does what n groups do. */
static Group *join(Selection *s, Group *const *gr, int n)
{
    Graph *g = s->graph;
    Group *all = group_of(g, one_for_all(g, gr, n));
    const Choice *c;

    all->n_stmt = 0;
    for (int i = 0; i < n; i++)
        group_add_stmts(g, all, gr[i]);
    c = choose_variant(s, all);
    all->family = c->family;
    all->variant = c->best;
    all->predicted_us = c->cost.us;
    return all;
}

/* Those that round the parameters of one type to another, as the first one
 * does, from group `at` on, into `list`; how many. */
static int find_alike(const Selection *s, int at, Group **list)
{
    const Tensor *from = copied(s->graph, s->group[at]);
    int n = 0;

    for (int i = at; i < s->n_group && from; i++) {
        const Tensor *other = copied(s->graph, s->group[i]);
        if (other && other->type == from->type &&
            s->group[i]->when == s->group[at]->when &&
            s->group[i]->step->tensor->type ==
                s->group[at]->step->tensor->type &&
            !has(s->graph, list, n, other))
            list[n++] = s->group[i];
    }
    return n;
}

/* One group instead of them: where the first one was, ahead of all that read
 * any of the copies or write a parameter. */
static void put_instead(Selection *s, int at, Group *const *list, int n,
                        Group *all)
{
    int kept = at + 1, next = 1;

    s->group[at] = all;
    for (int i = at + 1; i < s->n_group; i++)
        if (next < n && s->group[i] == list[next])
            next++;
        else
            s->group[kept++] = s->group[i];
    s->n_group = kept;
}

void copies_join(Selection *s)
{
    Graph *g = s->graph;
    Group **list = arena_array(g->arena, Group *, s->n_group + 1);
    /* with less memory each is there from its first reader to its last */
    bool may = g->trains && !g->word && !s->keep.less;

    for (int i = 0; i < s->n_group && may; i++) {
        Tensor *from = copied(g, s->group[i]);
        if (from)
            renew_copy(s, i, from);
    }
    for (int i = 0; i < s->n_group && may; i++) {
        int n = find_alike(s, i, list);
        if (n > 1)
            put_instead(s, i, list, n, join(s, list, n));
    }
    for (int i = 0; i < s->n_group; i++)
        s->group[i]->id = i;
}
