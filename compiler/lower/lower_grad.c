/* lower_grad.c - training: grad, stop, and parameters that a run writes.
 *
 * `for w in params` is written out for each parameter of floats. There `w` is
 * the master: f32 memory that begins as the file's tensor, which for a
 * parameter declared f32 is the parameter itself. A parameter declared with
 * another type is, for all that reads it, a rounded copy of its master, made
 * once a run. Whether a parameter is trained is known at the loop's end. */
#include "lower/lower_priv.h"

#include "adjoint/adjoint.h"

/* ---- statements before all others */

static Stmt *first_stmt(Lower *l, Tensor *t, const Tensor *from)
{
    Graph *g = l->g;
    const Var **out = arena_array(l->a, const Var *, t->rank + 1);
    const Idx **at = arena_array(l->a, const Idx *, t->rank + 1);

    for (int d = 0; d < t->rank; d++) {
        out[d] = idx_new_var(l->p, arena_printf(l->a, "i%d", d), t->dim[d]);
        at[d] = idx_var(l->p, out[d]);
    }
    Span own = t->at;
    const char *path = t->path;
    Stmt *s = def_stmt(l, t, out, t->rank,
                       expr_read(g, (Tensor *)from, at, (Guard){0}, NULL));
    t->at = own; /* where it was declared */
    t->path = path;
    s->path = lower_path(l, path, t->name);
    for (int i = g->n_stmt - 1; i > 0; i--)
        g->stmt[i] = g->stmt[i - 1];
    g->stmt[0] = s;
    return s;
}

/* ---- masters */

static Trained *trained_of(Lower *l, int number)
{
    while (l->n_trained < l->g->n_param) {
        Tensor *p = l->g->param[l->n_trained];
        VEC_PUSH(l->a, l->trained, l->n_trained, l->cap_trained) =
            (Trained){.param = p, .reads = p};
    }
    return &l->trained[number];
}

/* The f32 tensor that `w` is in a loop over parameters. */
static Tensor *master(Lower *l, Trained *t)
{
    Tensor *p = t->param;

    if (t->now)
        return t->now;
    if (p->type == T_F32)
        return t->now = p;
    t->now = graph_tensor(l->g, p->name, T_F32, p->rank, p->dim);
    t->now->path = p->path;
    t->now->at = p->at;
    t->now->weight = p->weight;
    t->now->begin = p->begin;
    t->now->init = p->init;
    t->now->spread = p->spread;
    return t->master = t->now;
}

/* The loop's body defines it: memory from run to run. */
static void now_trained(Lower *l, Trained *t, int number)
{
    Graph *g = l->g;
    Tensor *m = t->now;

    if (t->assigned)
        return;
    t->assigned = true;
    g->trains = true;
    m->role = ROLE_STATE;
    if (m == t->param)
        return;
    t->param->role = ROLE_TEMP;
    t->param->weight = NULL;
    first_stmt(l, t->param, m);
    g->param[number] = m;
}

void grad_begin_write(Lower *l, const Sym *sym)
{
    now_trained(l, &l->trained[sym->trained], sym->trained);
}

/* ---- the loop */

/* Names that mean what the parameter was mean what it is. */
static void rename_reads(Lower *l, const Tensor *old, Tensor *now)
{
    for (Frame *f = l->frame; f; f = f->up)
        for (int i = 0; i < BUCKETS; i++)
            for (Sym *s = f->bucket[i]; s; s = s->next)
                if (s->kind == S_TENSOR && s->owner == OWN_WEIGHT &&
                    !s->ref.bad && s->ref.t == old)
                    s->ref = ref_tensor(now);
}

/* What reads the parameter below the loop. */
static void settle(Lower *l, Trained *t, Tensor *before)
{
    Tensor *old = t->reads;

    if (t->now == before)
        return;
    t->reads = t->now;
    if (t->param->type != T_F32) {
        Ref r = ref_tensor(t->now);
        l->target.first = l->g->n_stmt;
        r = def_copy(l, t->param->name, &r, t->param->type);
        if (r.bad)
            return;
        t->reads = r.t;
    }
    rename_reads(l, old, t->reads);
}

static void one_param(Lower *l, const AstStmt *s, int number)
{
    Trained *t = trained_of(l, number);
    Tensor *before = master(l, t);
    Target target = l->target;
    Sym *v = lower_sym(l, S_TENSOR, s->name);

    v->owner = OWN_TRAINED;
    v->ref = ref_tensor(before);
    v->trained = number;
    v->read = true;
    lower_body(l, &s->loop.body);
    v = lower_find(l->frame, s->name.text, S_TENSOR);
    t = &l->trained[number];
    if (v->ref.t && !v->ref.bad)
        t->now = v->ref.t;
    lower_forget(l->frame, v);
    l->target = (Target){t->param->name, s->at, l->g->n_stmt};
    settle(l, t, before);
    l->target = target;
}

void grad_for_params(Lower *l, const AstStmt *s)
{
    int n = l->g->n_param, errors = diag_errors(l->d), floats = 0;

    for (int i = 0; i < n && !l->stop; i++) {
        if (!type_is_float(l->g->param[i]->type) || grad_is_state(l, i))
            continue;
        floats++;
        if (!lower_work(l, s->at))
            break;
        one_param(l, s, i);
        if (diag_errors(l->d) != errors)
            break;
    }
    l->looped = s;
    l->n_looped = n;
    if (!floats)
        diag_error(l->d, s->at, "there is no parameter of floats yet: 'for %s "
                   "in params' is for those declared or called above",
                   s->name.text);
}

bool grad_is_state(Lower *l, int number)
{
    return l->g->param[number]->role == ROLE_STATE &&
           !(number < l->n_trained && l->trained[number].assigned);
}

Tensor *grad_param_reads(Lower *l, int number)
{
    return number < l->n_trained ? l->trained[number].reads
                                 : l->g->param[number];
}

/* ---- grad */

static Adjoint *pass_of(Lower *l, Tensor *loss)
{
    for (int i = 0; i < l->n_pass; i++)
        if (adjoint_loss(l->pass[i]) == loss)
            return l->pass[i];
    return VEC_PUSH(l->a, l->pass, l->n_pass, l->cap_pass) =
               adjoint_new(l->g, loss);
}

static const Stmt *stmt_of(const Graph *g, const Tensor *t)
{
    for (int i = g->n_stmt - 1; i >= 0; i--)
        if (g->stmt[i]->tensor == t)
            return g->stmt[i];
    return NULL;
}

/* `loss * scale` in a loop over parameters is one loss: that of an earlier
 * pass, or t, which is pointwise. What it was made for is then unread. */
static Tensor *same_loss(Lower *l, Tensor *t)
{
    const Stmt *s = stmt_of(l->g, t);

    for (int i = 0; i < l->n_pass; i++) {
        Tensor *old = (Tensor *)adjoint_loss(l->pass[i]);
        const Stmt *by = stmt_of(l->g, old);
        if (by && by->op == R_NONE && !old->rank && !old->prev &&
            !old->stopped && old->type == t->type && !by->where.n &&
            expr_equal(by->value, s->value))
            return old;
    }
    return t;
}

/* The tensor that what is read as t is differentiated by. */
static Tensor *read_as(Lower *l, Tensor *t)
{
    for (int i = 0; i < l->n_trained; i++)
        if (l->trained[i].now == t)
            return l->trained[i].reads;
    return t;
}

static bool check_loss(Lower *l, const Bound *b)
{
    const Ref *r = &b[0].ref;
    Type t = r->t ? r->t->type : r->val.type;

    if (r->rank) {
        diag_error(l->d, b[0].at, "a gradient is of a number, this is %s: a "
                   "sum or mean of it is one",
                   lower_dims(l, r->rank, r->dim));
        return false;
    }
    if (type_is_float(t))
        return true;
    diag_error(l->d, b[0].at, "a gradient is of a number of a float type, this "
               "is %s", type_name(t));
    return false;
}

static void say_what_is_meant(Lower *l, const Bound *b)
{
    diag_error(l->d, b[1].at, "a gradient is by a tensor: 'grad(loss, w)' with "
               "the name of one");
}

static bool check_variable(Lower *l, const Bound *b)
{
    const Ref *r = &b[1].ref;

    if (!ref_is_whole(r)) {
        say_what_is_meant(l, b);
        return false;
    }
    if (type_is_float(r->t->type))
        return true;
    diag_error(l->d, b[1].at, "'%s' is %s: a gradient is by a tensor of floats",
               r->t->name, type_name(r->t->type));
    return false;
}

static void note_gradient(Lower *l, Tensor *loss, Tensor *by, Tensor *is)
{
    Graph *g = l->g;

    for (int i = 0; i < g->n_gradient; i++)
        if (g->gradient[i].loss == loss && g->gradient[i].by == by)
            return;
    VEC_PUSH(l->a, g->gradient, g->n_gradient, g->cap_gradient) =
        (Gradient){loss, by, is};
}

Ref grad_of(Lower *l, const AstExpr *e, const Bound *b, const char *label,
            bool scalar)
{
    Ref bad = {.bad = true}, loss = b[0].ref;
    int errors = diag_errors(l->d);

    if (scalar) {
        diag_error(l->d, e->at, "'grad' stands in a definition without "
                   "indices: g = grad(loss, w);");
        return bad;
    }
    if (!check_loss(l, b) || !check_variable(l, b))
        return bad;
    l->target.first = l->g->n_stmt;
    if (!ref_is_whole(&loss)) {
        loss = def_copy(l, arena_printf(l->a, "%s_of", label), &loss, T_F32);
        if (!loss.bad)
            loss.t = same_loss(l, loss.t);
    }
    if (loss.bad)
        return bad;
    Tensor *w = read_as(l, b[1].ref.t);
    Tensor *g = adjoint(pass_of(l, loss.t), w, e->at, l->call);
    if (g) {
        note_gradient(l, loss.t, w, g);
        return ref_tensor(g);
    }
    if (diag_errors(l->d) != errors)
        return bad;
    if (b[1].arg->kind != EXPR_NAME) {
        say_what_is_meant(l, b); /* nothing is made of a value just made */
    } else {
        diag_error(l->d, b[0].at, "'%s' does not depend on '%s'", loss.t->name,
                   w->weight ? w->weight : w->name);
        diag_note(l->d, b[1].at, "the gradient by this is asked for");
    }
    return bad;
}

/* ---- gradients to be checked */

/* sum y[u] cos(0.7 n + 0.3), where n is the place of u: NULL for integers. */
static const Expr *weighted(Lower *l, Tensor *y)
{
    Graph *g = l->g;
    const Var **v = arena_array(l->a, const Var *, y->rank + 1);
    const Idx **at = arena_array(l->a, const Idx *, y->rank + 1);
    const Idx *place = idx_const(l->p, 0);

    for (int d = 0; d < y->rank; d++) {
        v[d] = idx_new_var(l->p, arena_printf(l->a, "i%d", d), y->dim[d]);
        at[d] = idx_var(l->p, v[d]);
        place = idx_add(l->p, idx_scale(l->p, place, y->dim[d]), at[d]);
    }
    const Expr *r = expr_cast(g, expr_index(g, place), T_F32);
    r = expr_binary(g, F_MUL, r, expr_const(g, 0.7, T_F32), T_F32);
    r = expr_binary(g, F_ADD, r, expr_const(g, 0.3, T_F32), T_F32);
    r = expr_unary(g, F_COS, r, T_F32);
    const Expr *e = expr_binary(g, F_MUL, expr_read(g, y, at, (Guard){0}, NULL),
                                r, T_F32);
    if (!y->rank)
        return e;
    Tensor *t = graph_tensor(g, arena_printf(l->a, "%s_sum", y->name), T_F32,
                             0, NULL);
    Stmt *s = def_stmt(l, t, v, 0, e);
    s->op = R_SUM;
    s->red = v;
    s->n_red = y->rank;
    return expr_read(g, t, NULL, (Guard){0}, NULL);
}

void grad_all(Lower *l)
{
    Graph *g = l->g;
    const Expr *sum = NULL;
    int n[] = {g->n_input, g->n_param};

    if (g->n_gradient)
        return;
    for (int i = 0; i < g->n_output; i++) {
        if (!type_is_float(g->output[i]->type))
            continue;
        const Expr *e = weighted(l, g->output[i]);
        sum = sum ? expr_binary(g, F_ADD, sum, e, T_F32) : e;
    }
    if (!sum)
        return;
    Tensor *loss = graph_tensor(g, "loss", T_F32, 0, NULL);
    def_stmt(l, loss, NULL, 0, sum);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n[k]; i++) {
            Tensor *w = k ? grad_param_reads(l, i) : g->input[i];
            Tensor *is = type_is_float(w->type)
                             ? adjoint(pass_of(l, loss), w, g->at, g->at)
                             : NULL;
            if (is)
                note_gradient(l, loss, w, is);
        }
}

/* ---- stop */

/* The reduction that was just made for the argument is stopped itself; all else
 * is marked in the expression. */
Ref grad_stop(Lower *l, const Bound *b, const char *label)
{
    Ref r = b[0].ref;
    Graph *g = l->g;

    if (!r.t) {
        const Expr *e = r.val.e;
        Stmt *s = g->n_stmt > l->target.first ? g->stmt[g->n_stmt - 1] : NULL;
        if (r.val.known || !type_is_float(r.val.type))
            return r;
        if (s && e->kind == E_READ && s->tensor == e->tensor &&
            s->op != R_NONE) {
            s->tensor->stopped = true;
            return r;
        }
        l->stops = true;
        r.val.e = expr_unary(g, F_STOP, val_as(l, r.val, T_F32), T_F32);
        r.val.idx = NULL;
        r.val.weak = false;
        return r;
    }
    l->target.first = g->n_stmt;
    r = def_copy(l, label, &r, r.t->type);
    if (!r.bad)
        r.t->stopped = true;
    return r;
}

static const Expr *unstop(Graph *g, const Expr *e, void *ctx)
{
    (void)g;
    (void)ctx;
    return e->kind == E_UNARY && e->fn == F_STOP ? e->arg[0] : NULL;
}

/* ---- at the model's end */

typedef struct Finds {
    const Tensor *t;
    bool found;
} Finds;

static void find_read(const Expr *e, void *ctx)
{
    Finds *f = ctx;

    f->found |= e->kind == E_READ && e->tensor == f->t;
}

/* A master that nothing is stored into is the parameter, as f32. */
static void settle_master(Lower *l, Trained *t)
{
    Finds f = {t->master, false};

    if (t->assigned || !t->master)
        return;
    t->master->weight = NULL;
    for (int i = 0; i < l->g->n_stmt && !f.found; i++)
        expr_visit(l->g->stmt[i]->value, find_read, &f);
    if (f.found)
        first_stmt(l, t->master, t->param);
}

/* Of what loops over parameters train, those that stand below are no part. */
static void note_untrained(Lower *l)
{
    for (int i = l->n_looped; l->looped && l->g->trains && i < l->g->n_param;
         i++) {
        const Tensor *p = l->g->param[i];
        if (!type_is_float(p->type) || grad_is_state(l, i))
            continue;
        diag_warning(l->d, p->at, "'%s' is not trained: it stands below the "
                     "loop over parameters", p->weight ? p->weight : p->name);
        diag_note(l->d, l->looped->at, "the loop is here");
    }
}

void grad_finish(Lower *l)
{
    note_untrained(l);
    for (int i = 0; i < l->n_trained; i++)
        settle_master(l, &l->trained[i]);
    for (int i = 0; i < l->g->n_stmt && l->stops && !l->keep_stops;
         i++)
        l->g->stmt[i]->value = expr_rewrite(l->g, l->g->stmt[i]->value, unstop,
                                            NULL);
}
