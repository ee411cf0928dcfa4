/* lower_def.c - definitions: statements that make tensors, and writes to
 * state. */
#include "lower/lower_parts.h"

/* ---- making tensors */

Ref ref_tensor(Tensor *t)
{
    Ref r = {.t = t, .rank = t->rank};

    for (int i = 0; i < t->rank; i++) {
        r.dim[i] = t->dim[i];
        r.map[i] = i;
    }
    return r;
}

Ref ref_val(Val v)
{
    return (Ref){.val = v, .bad = v.bad};
}

static Ref ref_bad(void)
{
    return (Ref){.bad = true};
}

/* @fuse's names, as the tensors that a statement reads under them. */
typedef struct WithReads {
    Lower *l;
    Stmt *s;
} WithReads;

static void note_with(const Expr *e, void *ctx)
{
    WithReads *w = ctx;
    Stmt *s = w->s;
    bool named = false;

    if (e->kind != E_READ)
        return;
    for (int i = 0; i < w->l->n_with; i++)
        named |= !strcmp(w->l->with[i], e->tensor->name);
    for (int i = 0; i < s->n_with; i++)
        named &= s->with[i] != e->tensor;
    if (named)
        VEC_PUSH(w->l->a, s->with, s->n_with, s->cap_with) = e->tensor;
}

Stmt *def_stmt(Lower *l, Tensor *t, const Var **out, int n, const Expr *e)
{
    Stmt *s = graph_stmt(l->g);

    lower_work(l, l->target.at);
    t->path = l->frame->path;
    t->at = l->target.at;
    s->tensor = t;
    s->out = arena_array(l->a, const Var *, n + 1);
    s->n_out = n;
    s->store = arena_array(l->a, const Idx *, t->rank + 1);
    for (int i = 0; i < n; i++) {
        s->out[i] = out[i];
        if (i < t->rank)
            s->store[i] = idx_var(l->p, out[i]);
    }
    s->value = e;
    s->when = WHEN_RUN;
    s->path = lower_path(l, t->path, t->name);
    s->at = l->target.at;
    s->call = l->call;
    s->notes = l->notes;
    WithReads with = {l, s};
    if (l->n_with)
        expr_visit(e, note_with, &with);
    return s;
}

/* The reduction statement just made, if v is nothing but its result at out:
 * it can then define the tensor itself. */
static Stmt *bare_reduction(Lower *l, Val v, Type t, const Var **out, int n)
{
    const Graph *g = l->g;
    Stmt *s = g->n_stmt > l->target.first ? g->stmt[g->n_stmt - 1] : NULL;

    if (!s || s->op == R_NONE || v.e->kind != E_READ ||
        v.e->tensor != s->tensor || s->tensor->type != t ||
        s->tensor->rank != n)
        return NULL;
    for (int i = 0; i < n; i++)
        if (v.e->at[i] != idx_var(l->p, out[i]))
            return NULL;
    return s;
}

/* An integer tensor keeps the range that its definition has, so that reading
 * it as an index need not clamp. */
static void keep_range(Tensor *t, Val v)
{
    const int64_t most = 1 << 24; /* whatever is no index is not worth it */

    if (t->type != T_I32 || !v.idx || v.idx->lo < -most || v.idx->hi > most)
        return;
    t->promised = true;
    t->lo = v.idx->lo;
    t->hi = v.idx->hi + 1;
}

Ref def_tensor(Lower *l, const char *name, int from, Val v, Type t)
{
    int own = l->n_var - from, n = 0;
    const Var **out = arena_array(l->a, const Var *, l->n_var + 1);
    int64_t dim[MAX_RANK];

    if (v.bad)
        return ref_bad();
    v = val_retype(l, v, t);
    for (int i = 0; i < l->n_var; i++)
        if (i >= from || expr_uses(v.e, l->var[i]))
            out[n++] = l->var[i];
    for (int i = 0; i < n && i < MAX_RANK; i++)
        dim[i] = out[i]->extent;
    if (!lower_check_elems(l, l->target.at, name, n, dim))
        return ref_bad();
    Stmt *s = bare_reduction(l, v, t, out, n);
    Tensor *made = s ? s->tensor : graph_tensor(l->g, name, t, n, dim);
    if (s) {
        made->name = name;
        s->path = lower_path(l, made->path, name);
    } else {
        def_stmt(l, made, out, n, val_as(l, v, t));
    }
    keep_range(made, v);
    Ref r = {.t = made, .rank = own};
    int lead = n - own;
    for (int i = 0; i < lead; i++)
        r.fixed[i] = idx_var(l->p, out[i]);
    for (int i = 0; i < own; i++) {
        r.dim[i] = dim[lead + i];
        r.map[i] = lead + i;
    }
    return r;
}

Ref def_copy(Lower *l, const char *name, const Ref *r, Type t)
{
    static const char *const names[MAX_RANK] = {"i", "j", "k", "l",
                                                "m", "n", "o", "p"};
    int n_index = l->n_index, n_var = l->n_var;
    const Idx *at[MAX_RANK];

    for (int i = 0; i < r->rank; i++) {
        Name v = {names[i], l->target.at};
        index_push(l, v, false, 1, &r->dim[i], 0);
        at[i] = l->index[l->n_index - 1].idx[0];
    }
    Ref made = def_tensor(l, name, n_var, ref_read(l, r, at), t);
    index_pop(l, n_index, n_var);
    return made;
}

/* ---- names */

static const char *owner_word(Owner o)
{
    static const char *const word[] = {"", "an input", "an output", "a param",
                                       "a state", "a parameter", "a param"};

    return word[o];
}

/* Gives a name its tensor; a name may be defined again once it was read. */
static Sym *define(Lower *l, Name name, Ref r)
{
    Sym *s = lower_find(l->frame, name.text, S_TENSOR);
    const Sym *v = lower_find(l->frame, name.text, S_VALUE);

    if (v) {
        diag_error(l->d, name.at, "'%s' is known at compile time and cannot be "
                   "defined again", name.text);
        diag_note(l->d, v->at, "'%s' is declared here", name.text);
        return NULL;
    }
    if (s && s->owner != OWN_LOCAL) {
        diag_error(l->d, name.at, "'%s' is %s and cannot be defined again",
                   name.text, owner_word(s->owner));
        diag_note(l->d, s->at, "'%s' is declared here", name.text);
        return s;
    }
    /* what was wrong since may have been the definition that would read it */
    if (s && !s->read && !s->ref.bad && s->errors == diag_errors(l->d)) {
        diag_error(l->d, name.at, "'%s' is defined again before it was read",
                   name.text);
        diag_note(l->d, s->at, "'%s' is defined here", name.text);
    }
    s = lower_sym(l, S_TENSOR, name);
    s->ref = r;
    s->errors = diag_errors(l->d);
    return s;
}

/* A tensor's name in the graph: locals of an op carry its result's. */
static const char *full_name(Lower *l, const char *name)
{
    const Frame *f = l->frame;

    if (f->label && f->item->result.text &&
        !strcmp(name, f->item->result.text))
        return f->label;
    return arena_printf(l->a, "%s%s", f->prefix, name);
}

bool ref_is_whole(const Ref *r)
{
    if (!r->t || r->rank != r->t->rank)
        return false;
    for (int i = 0; i < r->rank; i++)
        if (r->map[i] != i)
            return false;
    return true;
}

void def_output(Lower *l, Sym *s, Span at)
{
    parts_settle(l, s);
    Tensor *t = s->ref.t;
    s->owner = OWN_OUTPUT;
    if (s->ref.bad)
        return;
    if (!ref_is_whole(&s->ref) || t->role != ROLE_TEMP) {
        Type type = t ? t->type : s->ref.val.type;
        l->target = (Target){s->name, at, l->g->n_stmt};
        s->ref = def_copy(l, s->name, &s->ref, type);
        if (s->ref.bad)
            return;
        t = s->ref.t;
    }
    t->role = ROLE_OUTPUT;
    t->promised = false;
    t->name = s->name;
    t->path = "";
    for (int i = 0; i < l->g->n_stmt; i++)
        if (l->g->stmt[i]->tensor == t)
            l->g->stmt[i]->path = t->name;
    VEC_PUSH(l->a, l->g->output, l->g->n_output, l->g->cap_output) = t;
}

/* ---- what is declared of a definition */

static bool declared(Lower *l, const AstStmt *s, const Sym *state, Declared *d)
{
    const AstType *t = s->type;
    const Item *it = l->frame->item;

    *d = (Declared){0};
    if (state) {
        *d = (Declared){.elem = true, .shape = true, .rank = state->ref.rank,
                        .type = state->ref.t->type, .at = state->at};
        memcpy(d->dim, state->ref.dim, sizeof d->dim);
        return true;
    }
    bool result = it->kind != ITEM_MODEL && it->result_type &&
                  !strcmp(it->result.text, s->name.text);
    if (!t && !result)
        return true;
    d->at = t ? t->at : it->result_type->at;
    d->shape = t ? t->shaped : true;
    d->elem = true;
    if (!lower_type(l, t ? t : it->result_type, &d->type))
        return false;
    if (d->shape)
        return lower_shape(l, t ? t : it->result_type, &d->rank, d->dim);
    if (!result)
        return true;
    d->shape = true;
    return lower_shape(l, it->result_type, &d->rank, d->dim);
}

/* ---- indexed definitions */

/* What is left of a budget of nodes after e, written out; at least 0. */
static int spend(const Expr *e, int budget)
{
    if (budget > 0)
        budget--;
    for (int i = 0; i < 3 && budget && e->arg[i]; i++)
        budget = spend(e->arg[i], budget);
    return e->outside && budget ? spend(e->outside, budget) : budget;
}

/* A rank-0 definition of a scalar frame: an expression, which its readers
 * repeat; a long one is stored instead, unrounded. */
static Ref scalar(Lower *l, Val v, Type t)
{
    v = val_retype(l, v, t);
    if (v.bad || spend(v.e, MAX_INLINE))
        return ref_val(v);
    Type exact = type_is_float(t) ? T_F32 : t;
    Ref r = def_tensor(l, l->target.name, l->n_var, v, exact);
    if (r.bad)
        return r;
    Val stored = ref_read(l, &r, NULL);
    stored.type = t;
    return ref_val(stored);
}

static Ref indexed(Lower *l, const AstStmt *s, const Declared *d)
{
    int from = l->n_var;
    Left left;

    if (left_is_partial(l, s) || !left_side(l, s, d, true, &left))
        return ref_bad();
    Val v = lower_expr(l, s->def.value);
    if (v.bad)
        return ref_bad();
    Type t = d->elem ? d->type : v.type;
    if (l->n_var == from && l->frame->scalar)
        return scalar(l, v, t);
    return def_tensor(l, l->target.name, from, v, t);
}

/* ---- whole definitions */

static bool shape_is(const Ref *r, const Declared *d)
{
    return !d->shape ||
           (r->rank == d->rank &&
            !memcmp(r->dim, d->dim, sizeof *d->dim * (size_t)r->rank));
}

/* A bare tensor or call: the name stands for what it gives. */
static bool is_bare(Lower *l, const AstExpr *e)
{
    return (e->kind == EXPR_CALL && e->call.item) ||
           (e->kind == EXPR_NAME && lower_find(l->frame, e->name.text,
                                               S_TENSOR));
}

static Ref whole(Lower *l, const AstStmt *s, const Declared *d)
{
    const char *name = l->target.name;
    Type t = d->type;
    Ref r;

    if (!is_bare(l, s->def.value)) {
        r = whole_build(l, s->def.value, name, d->elem ? &t : NULL,
                        d->shape ? d->rank : -1, d->dim);
    } else {
        int before = l->g->n_tensor;
        r = whole_eval(l, s->def.value, name);
        l->target.name = name;
        if (!r.bad && r.t && r.t->id >= before && r.t->role == ROLE_TEMP)
            r.t->called = name;
        if (!r.bad && !shape_is(&r, d)) {
            diag_error(l->d, s->def.value->at, "'%s' must be %s, this is %s",
                       s->name.text, lower_dims(l, d->rank, d->dim),
                       lower_dims(l, r.rank, r.dim));
            diag_note(l->d, d->at, "it is declared here");
            return ref_bad();
        }
        if (!r.bad && r.t && d->elem && r.t->type != t)
            r = def_copy(l, name, &r, t);
    }
    if (r.bad || r.t)
        return r;
    if (r.rank == 0 && l->frame->scalar)
        return scalar(l, r.val, d->elem ? t : r.val.type);
    return def_copy(l, name, &r, d->elem ? t : r.val.type);
}

/* ---- state */

static Tensor *next_version(Lower *l, const Sym *sym)
{
    Tensor *old = sym->ref.t;
    Tensor *t = graph_tensor(l->g, old->name, old->type, old->rank, old->dim);

    t->path = old->path;
    t->role = ROLE_STATE;
    t->init = old->init;
    t->weight = old->weight;
    t->prev = old;
    return t;
}

static Ref write_state(Lower *l, const Sym *sym, Val v, const Idx **store,
                       Guard where, int from)
{
    Type t = sym->ref.t->type;

    if (v.bad)
        return ref_bad();
    v = val_retype(l, v, t);
    Tensor *new = next_version(l, sym);
    Stmt *st = def_stmt(l, new, l->var + from, l->n_var - from,
                        val_as(l, v, t));
    for (int i = 0; i < new->rank; i++)
        st->store[i] = store[i];
    st->where = where;
    new->at = sym->ref.t->at;
    return ref_tensor(new);
}

/* The whole state as r has it. */
static Ref write_all(Lower *l, const Sym *sym, const Ref *r, Span at_text)
{
    int n_index = l->n_index, from = l->n_var;
    const Idx *at[MAX_RANK];

    for (int i = 0; i < sym->ref.rank; i++) {
        Name name = {arena_printf(l->a, "i%d", i), at_text};
        index_push(l, name, false, 1, &sym->ref.dim[i], 0);
        at[i] = l->index[l->n_index - 1].idx[0];
    }
    Ref new = write_state(l, sym, ref_read(l, r, at), at, (Guard){0}, from);
    index_pop(l, n_index, from);
    return new;
}

/* Can the indices be told from where they store? */
static bool left_tells(Lower *l, const Left *left, int from)
{
    const Idx *point[MAX_RANK];
    Part p = {.n_var = l->n_var - from, .rank = left->rank,
              .var = l->var + from,
              .inverse = arena_array(l->a, const Idx *, l->n_var - from + 1)};

    if (p.n_var > MAX_LEFT)
        return false;
    for (int i = 0; i < left->rank; i++) {
        p.left[i] = left->at[i];
        point[i] = idx_var(l->p, idx_new_var(l->p, "u", MAX_SIZE));
    }
    return part_invert(l, &p, point);
}

static Ref state_indexed(Lower *l, const AstStmt *s, const Sym *sym,
                         const Declared *d)
{
    int from = l->n_var;
    Guard where = {0};
    Left left;

    if (!left_side(l, s, d, false, &left) ||
        !left_inside(l, s->name.text, &left, d, &where))
        return ref_bad();
    bool tells = left_tells(l, &left, from);
    Val v = lower_expr(l, s->def.value);
    if (!v.bad && !tells && !left.data && !s->def.add) {
        diag_error(l->d, s->at, "two points of this definition may define one "
                   "element: its indices cannot be told from where it stores; "
                   "'+=' would add them");
        return ref_bad();
    }
    if (v.bad || (tells && !s->def.add))
        return write_state(l, sym, v, left.at, where, from);
    Ref base = sym->ref;
    Ref r = scatter(l, l->target.name, &left, v, s->def.add, &base,
                    sym->ref.t->type, from);
    l->n_var = from;
    return r.bad ? r : write_all(l, sym, &r, s->at);
}

static Ref state_whole(Lower *l, const AstStmt *s, const Sym *sym,
                       const Declared *d)
{
    Type t = d->type;
    Ref r = is_bare(l, s->def.value)
                ? whole_eval(l, s->def.value, l->target.name)
                : whole_build(l, s->def.value, l->target.name, &t, -1, NULL);

    if (r.bad)
        return r;
    if (r.rank && !shape_is(&r, d)) {
        diag_error(l->d, s->def.value->at, "state '%s' is %s, this is %s",
                   s->name.text, lower_dims(l, d->rank, d->dim),
                   lower_dims(l, r.rank, r.dim));
        diag_note(l->d, d->at, "'%s' is declared here", s->name.text);
        return ref_bad();
    }
    return write_all(l, sym, &r, s->at);
}

static void def_state(Lower *l, const AstStmt *s, Sym *sym)
{
    Declared d;

    if (s->type) {
        diag_error(l->d, s->type->at, "state '%s' has its type already",
                   s->name.text);
        diag_note(l->d, sym->at, "it is declared here");
        return;
    }
    if (l->frame->scalar) {
        diag_error(l->d, s->at, "state cannot be written in a call inside a "
                   "definition with indices");
        return;
    }
    if (sym->ref.bad || !declared(l, s, sym, &d))
        return;
    Ref r = s->def.indexed ? state_indexed(l, s, sym, &d)
                           : state_whole(l, s, sym, &d);
    if (!r.bad)
        sym->ref = r;
}

/* ---- definitions that leave a rest */

/* Does s define a part of what its name is? A range that is written may be
 * meant so where nobody has read the name, nor does s. */
static bool in_parts(Lower *l, const AstStmt *s, Sym *sym)
{
    if (!s->def.indexed || (sym && sym->owner != OWN_LOCAL) ||
        lower_find(l->frame, s->name.text, S_VALUE))
        return false;
    if (sym && !sym->parts && !sym->ref.bad && def_reads_itself(s))
        sym->read = true;
    return s->def.add || (sym && sym->parts) || left_is_partial(l, s) ||
           (sym && !sym->read && !sym->ref.bad && left_has_range(s));
}

static void def_part(Lower *l, const AstStmt *s, Sym *sym)
{
    int from = l->n_var;
    Declared d;

    if (sym && sym->ref.bad)
        return;
    bool ok = declared(l, s, NULL, &d) &&
              (s->def.add || left_has_data(l, s)
                   ? scatter_add(l, s, &d, sym, from)
                   : parts_add(l, s, &d, sym, from));
    if (!sym)
        sym = lower_find(l->frame, s->name.text, S_TENSOR);
    if (ok && s->def.output) {
        def_output(l, sym, s->at);
    } else if (!ok) {
        sym = lower_sym(l, S_TENSOR, s->name);
        sym->ref.bad = true;
    }
}

/* ---- */

void lower_def(Lower *l, const AstStmt *s)
{
    Target before = l->target;
    int n_index = l->n_index, n_var = l->n_var;
    Sym *state = lower_find(l->frame, s->name.text, S_TENSOR);
    Declared d;

    l->target = (Target){full_name(l, s->name.text), s->at, l->g->n_stmt};
    if (state && state->owner == OWN_TRAINED)
        grad_begin_write(l, state);
    if (state &&
        (state->owner == OWN_STATE || state->owner == OWN_TRAINED)) {
        def_state(l, s, state);
    } else if (in_parts(l, s, state)) {
        def_part(l, s, state);
    } else {
        Ref r = ref_bad();
        if (declared(l, s, NULL, &d))
            r = s->def.indexed ? indexed(l, s, &d) : whole(l, s, &d);
        index_pop(l, n_index, n_var);
        Sym *sym = define(l, s->name, r);
        if (sym)
            sym->whole = !s->def.indexed;
        if (sym && s->def.output && sym->owner == OWN_LOCAL)
            def_output(l, sym, s->at);
    }
    index_pop(l, n_index, n_var);
    l->target = before;
}
