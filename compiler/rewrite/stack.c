/* stack.c - contractions that share an operand become one (Q, K and V).
 *
 * k statements of one shape that differ only in their parameters become one
 * statement with a further variable j < k; the parameters are stacked once, at
 * load time. Pointwise statements behind them (the biases) follow. What is
 * left of the old tensors are views of slice j. */
#include "rewrite/simplify.h"

enum { MAX_STACK = FEW_SLICES, MAX_VARS = 24 };

typedef struct Slices { /* old tensors, now slices of one */
    Tensor *part[MAX_STACK];
    Tensor *whole;
    int dim; /* the new dimension */
} Slices;

typedef struct ReaderList {
    Stmt **stmt;
    int n, cap;
} ReaderList;

/* The statements that read each tensor there was before anything was stacked;
 * those that were stacked have no tensor any more. */
typedef struct Readers {
    ReaderList *of; /* by tensor id */
    int n_tensor;
    int *asked, stamp;
    int *writers;   /* by tensor id */
    int *products;  /* by tensor id: those ahead that read it beside a
                       parameter, or more */
} Readers;

typedef struct Stack {
    Graph *g;
    Readers *readers;
    int k;                  /* statements stacked */
    Stmt *stmt[MAX_STACK];
    Subst map[MAX_STACK][MAX_VARS]; /* statement i's variables in 0's */
    const Var *j;
    Slices *known;
    int n_known, cap_known;
    bool meet;              /* a reader has all parts of a point: they are
                               neighbours, else each is a run of its own */
    struct { Tensor *part[MAX_STACK], *whole; int dim; } made[16];
    int n_made;
    int n_load;             /* load statements inserted at the front */
} Stack;

static bool same_vars(const Var **a, const Var **b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i]->extent != b[i]->extent)
            return false;
    return true;
}

/* Maps b's variables to a's, if the two have one form. */
static bool map_vars(Graph *g, const Stmt *a, const Stmt *b, Subst *map)
{
    int n = 0;

    if (a->n_out != b->n_out || a->n_red != b->n_red || a->op != b->op ||
        a->tensor->rank != b->tensor->rank ||
        a->tensor->type != b->tensor->type || a->where.n || b->where.n ||
        a->n_out + a->n_red > MAX_VARS ||
        !same_vars(a->out, b->out, a->n_out) ||
        !same_vars(a->red, b->red, a->n_red))
        return false;
    for (int i = 0; i < a->n_out; i++)
        map[n++] = (Subst){b->out[i], idx_var(g->pool, a->out[i])};
    for (int i = 0; i < a->n_red; i++)
        map[n++] = (Subst){b->red[i], idx_var(g->pool, a->red[i])};
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->tensor->dim[d] != b->tensor->dim[d] ||
            idx_subst(g->pool, b->store[d], map, n) != a->store[d])
            return false;
    return true;
}

static bool same_at(const Tensor *t, const Idx **a, const Idx **b)
{
    for (int d = 0; d < t->rank; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    if (a->rank != b->rank || a->type != b->type)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

/* whole[.., i, ..] = part[..], i being dimension `dim`, before everything else;
 * `at` is where it is read, for names. */
static void copy_part(Stack *s, Tensor *whole, Tensor *part,
                      const Idx *const *at, int i, int dim)
{
    Graph *g = s->g;
    Stmt *c = load_copy(g, part, at);
    const Idx **store = arena_array(g->arena, const Idx *, whole->rank);

    for (int d = 0; d < whole->rank; d++)
        store[d] = d < dim   ? c->store[d]
                   : d > dim ? c->store[d - 1]
                             : idx_const(g->pool, i);
    c->tensor = whole;
    c->store = store;
    s->n_load++;
}

/* Where the parts of a parameter go: outside, or inside of what the result's
 * points walk. */
static int param_dim(const Stack *s, const Tensor *t, const Idx *const *at)
{
    const Stmt *a = s->stmt[0];
    int dim = 0;

    for (int d = 0; d < t->rank && s->meet; d++)
        for (int i = 0; i < a->n_out; i++)
            if (idx_uses(at[d], a->out[i]))
                dim = d + 1;
    return dim;
}

/* q, k and v are called q_k_v, and where one of them is read, q, k or v. */
static void call_whole(Stack *s, Tensor *whole, Tensor *const *of, int dim)
{
    enum { LONG = 24 };
    Arena *a = s->g->arena;
    const char **part = arena_array(a, const char *, s->k);
    const char *all = "";
    bool same = true;

    for (int i = 0; i < s->k; i++) {
        part[i] = tensor_called(of[i]);
        same &= !strcmp(part[i], part[0]);
        all = arena_printf(a, "%s%s%s", all, i ? "_" : "", part[i]);
    }
    if (strlen(all) > LONG)
        all = arena_printf(a, "%s_to_%s", part[0], part[s->k - 1]);
    if (same)
        return;
    whole->called = all;
    whole->part = part;
    whole->part_dim = dim;
}

static Tensor *stack_params(Stack *s, Tensor *const *part,
                            const Idx *const *at, int new)
{
    Graph *g = s->g;
    int64_t dim[MAX_RANK];

    for (int i = 0; i < s->n_made; i++)
        if (s->made[i].dim == new &&
            !memcmp(s->made[i].part, part, sizeof *part * (size_t)s->k))
            return s->made[i].whole;
    for (int d = 0; d <= part[0]->rank; d++)
        dim[d] = d < new   ? part[0]->dim[d]
                 : d > new ? part[0]->dim[d - 1]
                           : s->k;
    const char *name = arena_printf(g->arena, "%s_packed", part[0]->name);
    Tensor *whole = graph_tensor(g, name, part[0]->type, part[0]->rank + 1,
                                 dim);
    whole->path = part[0]->path;
    whole->when = WHEN_LOAD;
    whole->at = part[0]->at;
    call_whole(s, whole, part, new);
    if (whole->called)
        whole->called = arena_printf(g->arena, "%s_packed", whole->called);
    for (int i = 0; i < s->k; i++)
        copy_part(s, whole, part[i], at, i, new);
    if (s->n_made < 16) {
        s->made[s->n_made].dim = new;
        memcpy(s->made[s->n_made].part, part, sizeof *part * (size_t)s->k);
        s->made[s->n_made++].whole = whole;
    }
    return whole;
}

static const Slices *slices_of(const Stack *s, Tensor *const *part)
{
    for (int i = 0; i < s->n_known; i++)
        if (!memcmp(s->known[i].part, part, sizeof *part * (size_t)s->k))
            return &s->known[i];
    return NULL;
}

static const Expr *read_slice(Stack *s, const Tensor *t, Tensor *whole,
                              int dim, const Expr *e)
{
    const Idx **at = arena_array(s->g->arena, const Idx *, t->rank + 1);

    for (int d = 0; d < whole->rank; d++)
        at[d] = d < dim   ? e->at[d]
                : d > dim ? e->at[d - 1]
                          : idx_var(s->g->pool, s->j);
    return expr_read(s->g, whole, at, e->in, e->outside);
}

static const Expr *stack_read(Stack *s, const Expr *const *e, bool build)
{
    Tensor *part[MAX_STACK] = {0};
    bool same = true, params = true;

    for (int i = 0; i < s->k; i++) {
        part[i] = e[i]->tensor;
        if (!same_shape(part[0], part[i]) ||
            !same_at(part[0], e[0]->at, e[i]->at) ||
            !guard_same(e[0]->in, e[i]->in))
            return NULL;
        same &= part[i] == part[0];
        params &= part[i]->role == ROLE_PARAM;
    }
    if (same)
        return e[0];
    const Slices *sl = slices_of(s, part);
    if (sl)
        return build ? read_slice(s, part[0], sl->whole, sl->dim, e[0]) : e[0];
    if (!params || part[0]->rank + 1 > MAX_RANK)
        return NULL;
    int dim = param_dim(s, part[0], e[0]->at);
    return build ? read_slice(s, part[0],
                              stack_params(s, part, e[0]->at, dim), dim, e[0])
                 : e[0];
}

/* One expression over j that is e[j] for each j; NULL if there is none. With
 * build false only says whether there is. */
static const Expr *stack_exprs(Stack *s, const Expr *const *e, bool build)
{
    const Expr *first = e[0], *arg[3] = {0};

    for (int i = 1; i < s->k; i++)
        if (e[i]->kind != first->kind || e[i]->type != first->type ||
            e[i]->fn != first->fn)
            return NULL;
    switch (first->kind) {
    case E_READ:
        return stack_read(s, e, build);
    case E_CONST:
    case E_INDEX:
        for (int i = 1; i < s->k; i++)
            if (!expr_equal(e[i], first))
                return NULL;
        return first;
    case E_LOCAL:
        return NULL;
    default:
        break;
    }
    for (int n = 0; n < 3 && first->arg[n]; n++) {
        const Expr *part[MAX_STACK];
        for (int i = 0; i < s->k; i++)
            part[i] = e[i]->arg[n];
        arg[n] = stack_exprs(s, part, build);
        if (!arg[n])
            return NULL;
    }
    if (!build)
        return first;
    Expr *r = arena_new_of(s->g->arena, Expr);
    *r = *first;
    memcpy(r->arg, arg, sizeof arg);
    return r;
}

static int stmt_position(const Graph *g, const Stmt *s)
{
    for (int i = 0; i < g->n_stmt; i++)
        if (g->stmt[i] == s)
            return i;
    return -1;
}

/* Before which dimension of the result j goes: before the first that a
 * parameter's variables index, so that (j, n) is one long n; or last, so that
 * (n, j) is. */
typedef struct ParamUse {
    const Var *v;
    bool used;
} ParamUse;

static void param_uses(const Expr *e, void *ctx)
{
    ParamUse *u = ctx;

    if (e->kind != E_READ || e->tensor->role != ROLE_PARAM)
        return;
    for (int d = 0; d < e->tensor->rank; d++)
        u->used |= idx_uses(e->at[d], u->v);
}

static int new_dim(const Stmt *s)
{
    for (int d = 0; d < s->tensor->rank; d++) {
        const Var *v = idx_is_var(s->store[d]);
        ParamUse u = {v, false};
        if (v)
            expr_visit(s->value, param_uses, &u);
        if (u.used)
            return d;
    }
    return s->tensor->rank;
}

/* The old tensor as a view of slice i. */
static void make_view(Stack *s, const Stmt *old, Tensor *whole, int dim, int i,
                      int at)
{
    Graph *g = s->g;
    Stmt *v = stmt_insert(g, at);
    int id = v->id;
    const Idx **from = arena_array(g->arena, const Idx *, whole->rank);

    *v = *old;
    v->id = id;
    v->op = R_NONE;
    v->red = NULL;
    v->n_red = 0;
    for (int d = 0; d < whole->rank; d++)
        from[d] = d < dim   ? old->store[d]
                  : d > dim ? old->store[d - 1]
                            : idx_const(g->pool, i);
    v->value = expr_read(g, whole, from, (Guard){0}, NULL);
}

static void note_reads(Graph *g, Readers *r, Stmt *s);

/* Replaces the k statements by one. They are mapped already. */

static void build_stack(Stack *s, const Expr *const *value)
{
    Graph *g = s->g;
    Stmt *a = s->stmt[0];
    Tensor *t = a->tensor;
    int64_t dims[MAX_RANK];
    int dim = s->meet ? t->rank : new_dim(a);

    s->j = idx_new_var(g->pool, "part", s->k);
    const Expr *e = stack_exprs(s, value, true);
    for (int d = 0; d <= t->rank; d++)
        dims[d] = d < dim ? t->dim[d] : d > dim ? t->dim[d - 1] : s->k;
    Tensor *whole = graph_tensor_like(g, t, t->type, t->rank + 1, dims);
    whole->stacked = dim == t->rank;
    Tensor *old[MAX_STACK];
    for (int i = 0; i < s->k; i++)
        old[i] = s->stmt[i]->tensor;
    call_whole(s, whole, old, dim);
    Stmt *n = stmt_insert(g, stmt_position(g, a));
    int id = n->id;
    *n = *a;
    n->id = id;
    n->tensor = whole;
    n->value = e;
    n->out = arena_array(g->arena, const Var *, a->n_out + 1);
    n->store = arena_array(g->arena, const Idx *, t->rank + 1);
    n->n_out = 0;
    const Var *before = dim < t->rank ? idx_is_var(a->store[dim]) : NULL;
    for (int i = 0; i < a->n_out; i++) {
        if (a->out[i] == before)
            n->out[n->n_out++] = s->j;
        n->out[n->n_out++] = a->out[i];
    }
    if (n->n_out == a->n_out)
        n->out[n->n_out++] = s->j;
    for (int d = 0; d <= t->rank; d++)
        n->store[d] = d < dim   ? a->store[d]
                      : d > dim ? a->store[d - 1]
                                : idx_var(g->pool, s->j);
    Slices *sl = &VEC_PUSH(g->arena, s->known, s->n_known, s->cap_known);
    memset(sl, 0, sizeof *sl);
    sl->whole = whole;
    sl->dim = dim;
    int at = stmt_position(g, n) + 1;
    for (int i = 0; i < s->k; i++) {
        sl->part[i] = s->stmt[i]->tensor;
        make_view(s, s->stmt[i], whole, dim, i, at++);
    }
    int kept = 0;
    for (int i = 0; i < g->n_stmt; i++) {
        bool old = false;
        for (int k = 0; k < s->k; k++)
            old |= g->stmt[i] == s->stmt[k];
        if (!old)
            g->stmt[kept++] = g->stmt[i];
    }
    g->n_stmt = kept;
    for (int k = 0; k < s->k; k++)
        s->stmt[k]->tensor = NULL;
    note_reads(g, s->readers, n);
}

/* Are s->stmt[0..k) of one form? Then value[] are their mapped values. */
static bool stackable(Stack *s, const Expr **value)
{
    Graph *g = s->g;
    const Stmt *a = s->stmt[0];

    if (a->tensor->rank + 1 > MAX_RANK)
        return false;
    for (int i = 0; i < s->k; i++) {
        const Stmt *b = s->stmt[i];
        if ((b->notes & NOTE_NOFUSE) || !map_vars(g, a, b, s->map[i]) ||
            b->tensor->prev || b->when != WHEN_RUN)
            return false;
        value[i] = expr_subst(g, b->value, s->map[i], b->n_out + b->n_red);
    }
    return stack_exprs(s, value, false) != NULL;
}

/* ---- who reads what */

typedef struct AddReads {
    Readers *r;
    Arena *arena;
    Stmt *s;
} AddReads;

static void add_reader(const Expr *e, void *ctx)
{
    AddReads *a = ctx;

    if (e->kind != E_READ || e->tensor->id >= a->r->n_tensor)
        return; /* a tensor made here is read by what is made here */
    ReaderList *l = &a->r->of[e->tensor->id];
    if (!l->n || l->stmt[l->n - 1] != a->s)
        VEC_PUSH(a->arena, l->stmt, l->n, l->cap) = a->s;
}

static void note_reads(Graph *g, Readers *r, Stmt *s)
{
    AddReads a = {r, g->arena, s};

    expr_visit(s->value, add_reader, &a);
}

static Readers find_readers(Graph *g)
{
    Readers r = {.n_tensor = g->n_tensor};

    r.of = arena_array(g->arena, ReaderList, g->n_tensor + 1);
    r.asked = arena_array(g->arena, int, g->n_tensor + 1);
    for (int i = 0; i < g->n_stmt; i++)
        note_reads(g, &r, g->stmt[i]);
    return r;
}

/* The one statement that reads t and is no view made here; NULL if several. */
static Stmt *only_reader(const Stack *s, const Tensor *t)
{
    Stmt *found = NULL;

    if (t->id >= s->readers->n_tensor)
        return NULL;
    const ReaderList *l = &s->readers->of[t->id];
    for (int i = 0; i < l->n; i++) {
        if (!l->stmt[i]->tensor) /* was stacked */
            continue;
        if (found)
            return NULL;
        found = l->stmt[i];
    }
    return found;
}

static void ask(const Expr *e, void *ctx)
{
    Readers *r = ctx;

    if (e->kind == E_READ && e->tensor->id < r->n_tensor)
        r->asked[e->tensor->id] = r->stamp;
}

/* Everything else that the statements read must exist before the first. */
static bool inputs_early(const Stack *s)
{
    Readers *r = s->readers;

    r->stamp++;
    for (int k = 0; k < s->k; k++)
        expr_visit(s->stmt[k]->value, ask, r);
    for (int n = 0; n < s->n_known; n++)
        for (int k = 0; k < s->k; k++)
            if (s->known[n].part[k]->id < r->n_tensor)
                r->asked[s->known[n].part[k]->id] = 0;
    for (int i = stmt_position(s->g, s->stmt[0]); i < s->g->n_stmt; i++) {
        int id = s->g->stmt[i]->tensor->id;
        if (id < r->n_tensor && r->asked[id] == r->stamp)
            return false;
    }
    return true;
}

/* Takes the statements that alone read the last ones' results, if they are
 * of one form as well. */
static bool next_level(Stack *s, const Expr **value)
{
    const Slices *last = &s->known[s->n_known - 1];

    for (int i = 0; i < s->k; i++) {
        s->stmt[i] = only_reader(s, last->part[i]);
        if (!s->stmt[i] || s->stmt[i]->op != R_NONE)
            return false;
        for (int k = 0; k < i; k++)
            if (s->stmt[k] == s->stmt[i])
                return false;
    }
    return stackable(s, value) && inputs_early(s);
}

static void follow(Stack *s)
{
    const Expr *value[MAX_STACK];

    while (next_level(s, value))
        build_stack(s, value);
}

enum { MAX_WAY = 4 };

/* The pointwise statements that alone read t, and what is made of it. */
static int way_from(const Stack *s, const Tensor *t, const Stmt *way[MAX_WAY])
{
    int n = 0;

    while (n < MAX_WAY) {
        const Stmt *reader = only_reader(s, t);
        if (!reader || reader->op != R_NONE)
            break;
        way[n++] = reader;
        t = reader->tensor;
    }
    return n;
}

/* Do both parts of the last level end in one value? */
static bool parts_meet(const Stack *s)
{
    const Slices *last = &s->known[s->n_known - 1];
    const Stmt *a[MAX_WAY], *b[MAX_WAY];

    if (s->k != 2)
        return false;
    int n = way_from(s, last->part[0], a), k = way_from(s, last->part[1], b);
    for (int i = 0; i < n * k; i++)
        if (a[i / k] == b[i % k])
            return true;
    return false;
}

static bool written_once(const Stack *s, const Tensor *t)
{
    return t->id < s->readers->n_tensor
               ? s->readers->writers[t->id] == 1
               : tensor_writers(s->g, t, NULL) == 1;
}

/* Does every result along the way become a view that its readers see through?
 * An output or a part of a concatenation would have to be copied. */
static bool worth_it(Stack dry, bool *meet)
{
    const Expr *value[MAX_STACK];
    bool good = true;

    dry.known = NULL;
    dry.n_known = dry.cap_known = 0;
    do {
        Slices *sl = &VEC_PUSH(dry.g->arena, dry.known, dry.n_known,
                               dry.cap_known);
        memset(sl, 0, sizeof *sl);
        for (int i = 0; i < dry.k; i++) {
            Tensor *t = sl->part[i] = dry.stmt[i]->tensor;
            good &= t->role == ROLE_TEMP && !t->prev && written_once(&dry, t);
        }
    } while (good && next_level(&dry, value));
    *meet = parts_meet(&dry);
    return good;
}

static bool is_product(const Stmt *s)
{
    const Expr *e = s->value;

    if (s->op != R_SUM || s->when != WHEN_RUN || e->kind != E_BINARY ||
        e->fn != F_MUL || e->arg[0]->kind != E_READ ||
        e->arg[1]->kind != E_READ)
        return false;
    return (e->arg[0]->tensor->role == ROLE_PARAM) !=
           (e->arg[1]->tensor->role == ROLE_PARAM);
}

/* Whether both may read it at one place, each by its own variables: a signal's
 * thousand steps are parts of one tensor, and none is looked at for another. */
static bool may_meet(const Expr *a, const Expr *b)
{
    for (int d = 0; d < a->tensor->rank; d++) {
        const Idx *x = a->at[d], *y = b->at[d];
        if (x->k != y->k || x->n != y->n || x->lo != y->lo || x->hi != y->hi)
            return false;
    }
    return true;
}

static bool share_operand(const Stmt *a, const Stmt *b)
{
    for (int i = 0; i < 2; i++) {
        const Expr *x = a->value->arg[i], *y = b->value->arg[i];
        if (x->tensor->role != ROLE_PARAM && x->tensor == y->tensor)
            return may_meet(x, y);
    }
    return false;
}

/* What a product reads beside its parameter. */
static const Tensor *operand(const Stmt *s)
{
    const Tensor *t = s->value->arg[0]->tensor;

    return t->role == ROLE_PARAM ? s->value->arg[1]->tensor : t;
}

static void count_products(const Graph *g, Readers *r)
{
    r->writers = arena_array(g->arena, int, r->n_tensor + 1);
    r->products = arena_array(g->arena, int, r->n_tensor + 1);
    for (int i = 0; i < g->n_stmt; i++) {
        r->writers[g->stmt[i]->tensor->id]++;
        if (is_product(g->stmt[i]))
            r->products[operand(g->stmt[i])->id]++;
    }
}

/* Products of one operand from statement i on, as many as fit together: no
 * further than there may be others. */
static void find_stack(Stack *s, int i)
{
    const Graph *g = s->g;
    const Tensor *t = operand(g->stmt[i]);
    const Expr *value[MAX_STACK];
    int left = t->id < s->readers->n_tensor ? s->readers->products[t->id] - 1
                                            : g->n_stmt;

    s->stmt[s->k++] = g->stmt[i];
    for (int n = i + 1; n < g->n_stmt && left > 0 && s->k < MAX_STACK; n++) {
        if (!is_product(g->stmt[n]) || operand(g->stmt[n]) != t)
            continue;
        left--;
        if (!share_operand(g->stmt[i], g->stmt[n]))
            continue;
        s->stmt[s->k++] = g->stmt[n];
        if (!stackable(s, value))
            s->k--;
    }
}

/* n products of t stand ahead no more. */
static void pass_products(Readers *r, const Tensor *t, int n)
{
    if (t->id < r->n_tensor)
        r->products[t->id] -= n;
}

void stack_contractions(Graph *g)
{
    Readers readers = find_readers(g);

    count_products(g, &readers);
    for (int i = 0; i < g->n_stmt; i++) {
        Stack s = {.g = g, .readers = &readers};
        const Expr *value[MAX_STACK];
        if (!is_product(g->stmt[i]))
            continue;
        const Tensor *t = operand(g->stmt[i]);
        find_stack(&s, i);
        pass_products(&readers, t, 1);
        if (s.k < 2 || !stackable(&s, value) || !worth_it(s, &s.meet))
            continue;
        pass_products(&readers, t, s.k - 1);
        build_stack(&s, value);
        follow(&s);
        i += s.n_load; /* load statements went in before */
    }
}
