/* lower.c - the driver: models, frames of names, statements. */
#include "graph/graph.h"
#include "lower/lower_priv.h"

#include "support/support.h"

#include <errno.h>
#include <stdlib.h>

bool lower_work(Lower *l, Span at)
{
    if (++l->work <= MAX_WORK)
        return true;
    if (!l->stop)
        diag_error(l->d, at, "the model is too large: more than %d statements "
                   "and calls when written out", MAX_WORK);
    l->stop = true;
    return false;
}

/* ---- text */

const char *lower_path(Lower *l, const char *path, const char *last)
{
    if (!*path || !*last)
        return *path ? path : last;
    return arena_printf(l->a, "%s.%s", path, last);
}

const char *lower_dims(Lower *l, int rank, const int64_t *dim)
{
    const char *s = "[";

    for (int i = 0; i < rank; i++)
        s = arena_printf(l->a, "%s%s%lld", s, i ? ", " : "",
                         (long long)dim[i]);
    return arena_printf(l->a, "%s]", s);
}

const char *lower_text(Lower *l, const AstExpr *e)
{
    Buf b = {0};

    ast_print_expr(&b, e);
    return buf_take(&b, l->a);
}

/* ---- types and shapes */

static bool elem_type(ElemKind k, Type *out)
{
    switch (k) {
    case ELEM_F32: *out = T_F32; return true;
    case ELEM_F16: *out = T_F16; return true;
    case ELEM_BF16: *out = T_BF16; return true;
    case ELEM_I8: *out = T_I8; return true;
    case ELEM_U8: *out = T_U8; return true;
    case ELEM_I32: *out = T_I32; return true;
    case ELEM_BOOL: *out = T_BOOL; return true;
    case ELEM_F8E4M3:
    case ELEM_NAMED: break;
    }
    return false;
}

bool lower_elem(Lower *l, ElemKind k, Name name, Type *out)
{
    if (elem_type(k, out))
        return true;
    const Sym *s = k == ELEM_NAMED ? lower_find(l->frame, name.text, S_TYPE)
                                   : NULL;
    if (s) {
        *out = s->type;
        return true;
    }
    if (k == ELEM_NAMED)
        diag_error(l->d, name.at, "element type '%s' is not known here",
                   name.text);
    else
        diag_error(l->d, name.at, "element type '%s' is not supported yet",
                   name.text);
    return false;
}

bool lower_type(Lower *l, const AstType *t, Type *out)
{
    return lower_elem(l, t->elem, t->name, out);
}

bool lower_check_elems(Lower *l, Span at, const char *name, int rank,
                       const int64_t *dim)
{
    int64_t n = 1;

    if (rank > MAX_RANK) {
        diag_error(l->d, at, "%s has %d dimensions; at most %d are possible",
                   name, rank, (int)MAX_RANK);
        return false;
    }
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, dim[i], &n) || n >= MAX_ELEMS) {
            diag_error(l->d, at, "%s %s is too large: a tensor has fewer than "
                       "2^40 elements", name, lower_dims(l, rank, dim));
            return false;
        }
    return true;
}

static bool add_dim(Lower *l, const TypeDim *d, int *rank, int64_t *dim)
{
    int64_t more[MAX_RANK];
    int n = 1;

    if (d->kind == DIM_SIZE) {
        if (!const_size(l, d->size, "a size", more))
            return false;
    } else if (d->kind == DIM_AXIS) {
        const Sym *s = lower_find(l->frame, d->name.text, S_VALUE);
        more[0] = s ? s->value.i : 1;
    } else {
        n = pack_dims(l, d->name.text, more);
        if (n < 0) {
            diag_error(l->d, d->at, "'%s..' is no pack of sizes",
                       d->name.text);
            return false;
        }
    }
    if (*rank + n > MAX_RANK) {
        diag_error(l->d, d->at, "at most %d dimensions are possible",
                   (int)MAX_RANK);
        return false;
    }
    memcpy(dim + *rank, more, sizeof *dim * (size_t)n);
    *rank += n;
    return true;
}

bool lower_shape(Lower *l, const AstType *t, int *rank, int64_t *dim)
{
    *rank = 0;
    for (int i = 0; i < t->n_dim; i++)
        if (!add_dim(l, &t->dim[i], rank, dim))
            return false;
    return lower_check_elems(l, t->at, "the shape", *rank, dim);
}

/* ---- sizes and types of a model, which -D replaces */

static const char *defined(Lower *l, const char *name)
{
    if (l->frame->item->kind != ITEM_MODEL)
        return NULL;
    for (int i = l->n_def - 1; i >= 0; i--)
        if (!strcmp(l->def[i].name, name))
            return l->def[i].value;
    return NULL;
}

static bool taken(Lower *l, Name name)
{
    const Sym *s = lower_find(l->frame, name.text, S_VALUE);

    if (!s)
        s = lower_find(l->frame, name.text, S_TENSOR);
    if (!s)
        return false;
    diag_error(l->d, name.at, "'%s' is declared twice", name.text);
    diag_note(l->d, s->at, "the first is here");
    return true;
}

/* A dim's value: an integer or a list of them. What is used as a size is
 * checked there. */
static Value dim_value(Lower *l, const AstExpr *e)
{
    Value v = const_eval(l, e);
    bool ok = v.kind == V_INT || v.kind == V_LIST;

    for (int i = 0; i < v.n && v.kind == V_LIST; i++)
        ok = ok && v.item[i].kind == V_INT;
    if (v.kind == V_INT && (v.i > MAX_SIZE || v.i < -MAX_SIZE))
        diag_error(l->d, e->at, "a size is at most 2147483647, not %lld",
                   (long long)v.i);
    else if (ok || v.kind == V_BAD)
        return v;
    else
        diag_error(l->d, e->at, "a size is an integer, or a list of them, not "
                   "%s", e->kind == EXPR_NUMBER ? lower_text(l, e)
                                                : const_text(l, v));
    return (Value){.kind = V_BAD};
}

/* The values of a set, ascending; false after an error. */
static bool read_set(Lower *l, const AstStmt *s)
{
    SizeSet *set = &l->g->set;

    for (int i = 0; i < s->dim.choices.n; i++) {
        int64_t n;
        if (!const_size(l, s->dim.choices.arg[i].value, "a size", &n))
            return false;
        int at = set->n;
        for (; at > 0 && set->value[at - 1] >= n; at--)
            set->value[at] = set->value[at - 1];
        set->value[at] = n;
        set->n++;
        if (at + 1 < set->n && set->value[at + 1] == n) {
            diag_error(l->d, s->dim.choices.arg[i].value->at,
                       "%lld is in the set twice", (long long)n);
            return false;
        }
    }
    return true;
}

/* `dim B in {..}` is the largest unless a definition says otherwise. */
static Value set_value(Lower *l, const AstStmt *s)
{
    SizeSet *set = &l->g->set;
    Value bad = {.kind = V_BAD};

    if (l->frame->item->kind != ITEM_MODEL || l->frame->up)
        diag_error(l->d, s->at, "a set of sizes is a model's; a block has its "
                   "sizes from the caller");
    else if (set->name)
        diag_error(l->d, s->at, "a model has one set of sizes, and '%s' is "
                   "one already", set->name);
    else if (s->dim.choices.n < 2 || s->dim.choices.n > MAX_SET)
        diag_error(l->d, s->at, "a set has 2 to %d sizes; one alone is "
                   "'dim %s = ..;'", (int)MAX_SET, s->name.text);
    else if (read_set(l, s)) {
        set->name = s->name.text;
        set->at = s->at;
        return const_int(set->value[set->n - 1]);
    }
    return bad;
}

static void lower_dim(Lower *l, const AstStmt *s)
{
    const char *text = defined(l, s->name.text);
    Value v = {.kind = V_BAD};
    int64_t n;

    if (taken(l, s->name))
        return;
    if (text) {
        char *end;
        errno = 0;
        n = strtoll(text, &end, 10);
        if (end == text || *end || errno || n < -MAX_SIZE || n > MAX_SIZE)
            diag_error(l->d, (Span){0}, "-D %s=%s: a number is needed, at most "
                       "2147483647%s", s->name.text, text,
                       strchr(text, ',') ? "; each size has its own -D" : "");
        else
            v = const_int(n);
    } else if (!s->dim.value) {
        v = set_value(l, s);
    } else {
        v = dim_value(l, s->dim.value);
    }
    lower_sym(l, S_VALUE, s->name)->value = v;
}

static const char *type_like(const char *text)
{
    const char *name[ELEM_F8E4M3];

    for (int k = ELEM_F32; k < ELEM_F8E4M3; k++)
        name[k - ELEM_F32] = elem_name((ElemKind)k);
    const char *near = near_type(text);
    return near ? near : near_name(text, name, ELEM_F8E4M3 - ELEM_F32);
}

static void lower_type_name(Lower *l, const AstStmt *s)
{
    const char *text = defined(l, s->name.text);
    Type t = T_F32;
    bool ok = false;

    if (text) {
        for (int k = ELEM_F32; k < ELEM_F8E4M3 && !ok; k++)
            ok = !strcmp(elem_name((ElemKind)k), text) &&
                 elem_type((ElemKind)k, &t);
        const char *near = ok ? NULL : type_like(text);
        if (!ok)
            diag_error(l->d, (Span){0}, "-D %s=%s: an element type is f32, "
                       "f16, bf16, i8, u8, i32 or bool%s%s%s", s->name.text,
                       text, near ? "; did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
    } else {
        ok = lower_type(l, s->type, &t);
    }
    lower_sym(l, S_TYPE, s->name)->type = t;
}

/* ---- tensors that are declared */

static Tensor *declare(Lower *l, const AstStmt *s, Owner owner)
{
    int64_t dim[MAX_RANK];
    int rank;
    Type type;
    Tensor *t = NULL;

    if (taken(l, s->name))
        return NULL;
    if (lower_type(l, s->type, &type) && lower_shape(l, s->type, &rank, dim)) {
        t = graph_tensor(l->g, s->name.text, type, rank, dim);
        t->path = l->frame->path;
        t->at = s->name.at;
    }
    Sym *sym = lower_sym(l, S_TENSOR, s->name);
    sym->owner = owner;
    sym->ref = t ? ref_tensor(t) : (Ref){.bad = true};
    return t;
}

static void lower_input(Lower *l, const AstStmt *s)
{
    Tensor *t = declare(l, s, OWN_INPUT);
    int64_t from, to;

    if (!t)
        return;
    t->role = ROLE_INPUT;
    VEC_PUSH(l->a, l->g->input, l->g->n_input, l->g->cap_input) = t;
    if (!s->input.from || !const_range(l, s->input, &from, &to))
        return;
    if (type_is_float(t->type) || t->type == T_BOOL) {
        diag_error(l->d, s->input.from->at, "only integers are promised to lie "
                   "in a range, '%s' is %s", t->name, type_name(t->type));
    } else if (from >= to) {
        diag_error(l->d, s->input.from->at, "the range %lld..%lld is empty",
                   (long long)from, (long long)to);
    } else {
        t->promised = true;
        t->lo = from;
        t->hi = to;
    }
}

static bool same_tensor(const Tensor *a, const Tensor *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank);
}

static const char *full_type(Lower *l, const Tensor *t)
{
    return arena_printf(l->a, "%s%s", type_name(t->type),
                        lower_dims(l, t->rank, t->dim));
}

static void lower_param(Lower *l, const AstStmt *s)
{
    const char *last = s->param.has_path ? const_string(l, &s->param.path)
                                         : s->name.text;
    int n_tensor = l->g->n_tensor;
    Tensor *t = declare(l, s, OWN_WEIGHT);

    if (!t || !last)
        return;
    t->role = ROLE_PARAM;
    t->weight = lower_path(l, l->frame->path, last);
    start_param(l, s->param.start, t);
    for (int i = 0; i < l->g->n_param; i++) {
        Tensor *old = l->g->param[i];
        if (strcmp(old->weight, t->weight))
            continue;
        if (grad_is_state(l, i)) {
            diag_error(l->d, s->at, "\"%s\" of the weights file is declared "
                       "elsewhere, too: a state is of one place", t->weight);
            diag_note(l->d, old->at, "it is declared here");
        } else if (!same_tensor(old, t)) {
            diag_error(l->d, s->at, "param \"%s\" is %s here, but %s elsewhere",
                       t->weight, full_type(l, t), full_type(l, old));
            diag_note(l->d, old->at, "it is declared here too");
            return; /* what reads it reads what it says here */
        }
        start_merge(l, old, t);
        l->g->n_tensor = n_tensor; /* one tensor for one path */
        lower_find(l->frame, s->name.text, S_TENSOR)->ref =
            ref_tensor(grad_param_reads(l, i));
        return;
    }
    VEC_PUSH(l->a, l->g->param, l->g->n_param, l->g->cap_param) = t;
}

/* A state that is in the weights file, among the parameters: one that runs
 * write. */
static void named_state(Lower *l, const AstStmt *s, Tensor *t)
{
    const char *last = const_string(l, &s->param.path);

    if (!last)
        return;
    t->weight = lower_path(l, l->frame->path, last);
    start_param(l, s->param.start, t);
    for (int i = 0; i < l->g->n_param; i++) {
        const Tensor *old = l->g->param[i];
        if (strcmp(old->weight, t->weight))
            continue;
        diag_error(l->d, s->at, "\"%s\" of the weights file is declared "
                   "elsewhere, too: a state is of one place", t->weight);
        diag_note(l->d, old->at, "it is declared here");
    }
    l->g->trains = true;
    VEC_PUSH(l->a, l->g->param, l->g->n_param, l->g->cap_param) = t;
}

static void lower_state(Lower *l, const AstStmt *s)
{
    Tensor *t = declare(l, s, OWN_STATE);
    const AstExpr *start = s->param.start;

    if (!t)
        return;
    t->role = ROLE_STATE;
    if (l->frame->scalar)
        diag_error(l->d, s->at, "a block with state cannot be called inside a "
                   "definition with indices");
    if (s->param.has_path) {
        named_state(l, s, t);
        return;
    }
    if (start) {
        Value v = const_eval(l, start);
        if (v.kind == V_STR || v.kind == V_LIST)
            diag_error(l->d, start->at, "a state begins as a number");
        /* as a definition stores it; f32 keeps the digits that it was given */
        t->init = t->type == T_F32 ? v.x : fold_round(v.x, t->type);
    }
    const char *path = lower_path(l, t->path, t->name);
    for (int i = 0; i < l->g->n_state; i++) {
        const Tensor *old = l->g->state[i];
        if (strcmp(lower_path(l, old->path, old->name), path))
            continue;
        diag_error(l->d, s->at, "two states have the path \"%s\"", path);
        diag_note(l->d, old->at, "the first is here");
    }
    VEC_PUSH(l->a, l->g->state, l->g->n_state, l->g->cap_state) = t;
}

/* ---- control */

static void lower_require(Lower *l, const AstStmt *s)
{
    Value v = const_eval(l, s->require);

    if (v.kind == V_BAD || const_true(v))
        return;
    diag_error(l->d, s->at, "requirement '%s' does not hold%s",
               lower_text(l, s->require), const_names(l, s->require));
    l->frame->failed = l->frame->up != NULL;
}

static void lower_if(Lower *l, const AstStmt *s)
{
    Value v = const_eval(l, s->branch.cond);

    if (v.kind == V_STR || v.kind == V_LIST)
        diag_error(l->d, s->branch.cond->at, "a condition is a number, this "
                   "is %s", const_text(l, v));
    if (v.kind == V_INT || v.kind == V_FRAC)
        lower_body(l, const_true(v) ? &s->branch.yes : &s->branch.no);
}

static void lower_for(Lower *l, const AstStmt *s)
{
    int64_t from, to;
    int errors = diag_errors(l->d);

    if (taken(l, s->name) || !const_range(l, s->loop.range, &from, &to))
        return;
    for (int64_t i = from; i < to && !l->stop; i++) {
        if (!lower_work(l, s->at))
            break;
        Sym *v = lower_sym(l, S_VALUE, s->name);
        v->value = const_int(i);
        lower_body(l, &s->loop.body);
        lower_forget(l->frame, v);
        if (diag_errors(l->d) != errors)
            break;
    }
}

static void lower_output(Lower *l, const AstStmt *s)
{
    Sym *sym = lower_find(l->frame, s->name.text, S_TENSOR);

    if (!sym) {
        diag_error(l->d, s->name.at, "'%s' is not defined here", s->name.text);
    } else if (sym->owner == OWN_OUTPUT) {
        diag_error(l->d, s->at, "'%s' is an output already", s->name.text);
        diag_note(l->d, sym->at, "it is defined here");
    } else {
        def_output(l, sym, s->at);
    }
}

/* @fuse(a, b): what follows shares a kernel with a and with b. */
static void fuse_with(Lower *l, const Note *n)
{
    const char **name = arena_array(l->a, const char *, n->args.n + 1);

    for (int i = 0; i < n->args.n; i++)
        name[i] = n->args.arg[i].value->name.text; /* checked */
    l->with = name;
    l->n_with = n->args.n;
}

static unsigned notes_of(Lower *l, const AstStmt *s)
{
    unsigned notes = 0;

    for (int i = 0; i < s->n_note; i++) {
        const Note *n = &s->note[i];
        if (n->kind == AST_NOTE_NOFUSE)
            notes |= NOTE_NOFUSE;
        if (n->kind == AST_NOTE_FUSE) {
            notes |= NOTE_FUSE;
            fuse_with(l, n);
        }
    }
    return notes;
}

static void lower_stmt(Lower *l, const AstStmt *s)
{
    switch (s->kind) {
    case STMT_DIM: lower_dim(l, s); break;
    case STMT_TYPE: lower_type_name(l, s); break;
    case STMT_INPUT: lower_input(l, s); break;
    case STMT_PARAM: lower_param(l, s); break;
    case STMT_STATE: lower_state(l, s); break;
    case STMT_REQUIRE: lower_require(l, s); break;
    case STMT_DEF: lower_def(l, s); break;
    case STMT_OUTPUT: lower_output(l, s); break;
    case STMT_FOR:
        if (s->loop.params)
            grad_for_params(l, s);
        else
            lower_for(l, s);
        break;
    case STMT_IF: lower_if(l, s); break;
    case STMT_SCAN:
        diag_error(l->d, s->at, "'scan' is not supported yet");
        break;
    }
}

/* Is a tensor of that name, which some kernel makes, read by statements made
 * since `first`? */
static bool reads_made(const Lower *l, const char *name, int first)
{
    for (int i = first; i < l->g->n_stmt; i++) {
        const Stmt *s = l->g->stmt[i];
        for (int k = 0; k < s->n_with; k++)
            if (!strcmp(s->with[k]->name, name) &&
                s->with[k]->role != ROLE_INPUT &&
                s->with[k]->role != ROLE_PARAM)
                return true;
    }
    return false;
}

static void check_with(Lower *l, const AstStmt *s, int first)
{
    for (int i = 0; i < s->n_note; i++) {
        const Note *n = &s->note[i];
        for (int k = 0; n->kind == AST_NOTE_FUSE && k < n->args.n; k++) {
            Name name = n->args.arg[k].value->name;
            if (!reads_made(l, name.text, first))
                diag_warning(l->d, name.at, "@fuse is not possible: no value "
                             "of '%s' that a kernel makes is read here",
                             name.text);
        }
    }
}

void lower_body(Lower *l, const Body *b)
{
    for (int i = 0; i < b->n && !l->stop && !l->frame->failed; i++) {
        const AstStmt *s = b->stmt[i];
        Span call = l->call;
        unsigned notes = l->notes;
        const char *const *with = l->with;
        int n_with = l->n_with, first = l->g->n_stmt;
        int errors = diag_errors(l->d);
        if (!s->at.source || !s->at.source->library)
            l->call = s->at;
        l->notes |= notes_of(l, s);
        lower_stmt(l, s);
        if (diag_errors(l->d) == errors)
            check_with(l, s, first);
        l->call = call;
        l->notes = notes;
        l->with = with;
        l->n_with = n_with;
    }
}

/* ---- what can be computed once, at load time */

static void find_run(const Expr *e, void *ctx)
{
    bool *run = ctx;

    if (e->kind == E_READ && e->tensor->when == WHEN_RUN)
        *run = true;
}

static bool depends_on_run(Lower *l, const Stmt *s)
{
    bool run = s->tensor->role != ROLE_TEMP;

    expr_visit(s->value, find_run, &run);
    for (int i = 0; i < s->tensor->rank; i++)
        expr_visit(expr_index(l->g, s->store[i]), find_run, &run);
    return run;
}

/* A tensor is of load time if all its statements are; they stand together
 * and before its readers. */
static void mark_when(Lower *l)
{
    Graph *g = l->g;

    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        bool load = t->role == ROLE_PARAM || t->role == ROLE_TEMP;
        t->when = load ? WHEN_LOAD : WHEN_RUN;
    }
    for (int i = 0; i < g->n_stmt; i++)
        if (depends_on_run(l, g->stmt[i]))
            g->stmt[i]->tensor->when = WHEN_RUN;
    for (int i = 0; i < g->n_stmt; i++)
        g->stmt[i]->when = g->stmt[i]->tensor->when;
}

/* ---- models */

static const Item *find_model(const Program *p, const char *name)
{
    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->kind == ITEM_MODEL &&
            (!name || !strcmp(p->item[i]->name.text, name)))
            return p->item[i];
    return NULL;
}

typedef struct Names {
    Arena *arena;
    const char **name; int n, cap;
} Names;

static void add_defines(Names *l, const Body *b)
{
    for (int i = 0; i < b->n; i++) {
        const AstStmt *s = b->stmt[i];
        if (s->kind == STMT_DIM || s->kind == STMT_TYPE) {
            VEC_PUSH(l->arena, l->name, l->n, l->cap) = s->name.text;
        } else if (s->kind == STMT_FOR) {
            add_defines(l, &s->loop.body);
        } else if (s->kind == STMT_IF) {
            add_defines(l, &s->branch.yes);
            add_defines(l, &s->branch.no);
        }
    }
}

bool lower_has_set(const Program *p, const char *model)
{
    const Item *it = find_model(p, model);

    for (int i = 0; it && i < it->body.n; i++)
        if (it->body.stmt[i]->kind == STMT_DIM &&
            it->body.stmt[i]->dim.choices.n)
            return true;
    return false;
}

int lower_defines(Arena *a, const Program *p, const char *model,
                  const char ***name)
{
    Names l = {.arena = a};

    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->kind == ITEM_MODEL &&
            (!model || !strcmp(p->item[i]->name.text, model)))
            add_defines(&l, &p->item[i]->body);
    *name = l.name;
    return l.n;
}

static Graph *lower_all(Arena *a, Diag *d, const Program *p, const char *model,
                        const Define *def, int n_def, bool gradients)
{
    const Item *it = find_model(p, model);
    int errors = diag_errors(d);

    if (!it) {
        diag_error(d, (Span){0}, model ? "there is no model '%s'"
                   : "there is no model%s", model ? model : "");
        return NULL;
    }
    Graph *g = graph_new(a, d, it->name.text);
    Frame f = {.item = it, .path = "", .prefix = ""};
    Lower l = {.a = a, .d = d, .g = g, .p = g->pool, .prog = p, .def = def,
               .n_def = n_def, .frame = &f, .keep_stops = gradients,
               .var = arena_array(a, const Var *, 1), .cap_var = 1};
    g->at = it->name.at;
    lower_body(&l, &it->body);
    parts_settle_all(&l);
    if (gradients && diag_errors(d) == errors)
        grad_all(&l);
    grad_finish(&l);
    if (diag_errors(d) == errors && !g->n_output)
        diag_error(d, it->name.at, "model '%s' has no output", it->name.text);
    if (diag_errors(d) != errors || !graph_check_indices(g))
        return NULL;
    mark_when(&l);
    return g;
}

Graph *lower_model(Arena *a, Diag *d, const Program *p, const char *model,
                   const Define *def, int n_def)
{
    return lower_all(a, d, p, model, def, n_def, false);
}

Graph *lower_model_gradients(Arena *a, Diag *d, const Program *p,
                             const char *model, const Define *def, int n_def)
{
    return lower_all(a, d, p, model, def, n_def, true);
}
