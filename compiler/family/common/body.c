#include "family/common/body.h"

#include "emit/emit.h"
#include "rewrite/rewrite.h"

#include <string.h>

/* ---- reads ------------------------------------------------------------- */

/* Where e stands in r->read, behind 0, or may. */
static int *read_place(const Reads *r, const Expr *e)
{
    uint64_t hash = (uint64_t)e->tensor->id;

    for (int d = 0; d < e->tensor->rank; d++)
        hash = hash * 0x9e3779b97f4a7c15u + (uint64_t)e->at[d]->id;
    size_t i = (hash * 0x9e3779b97f4a7c15u) >> 32;
    for (i &= (size_t)r->places - 1;
         r->place[i] && !expr_equal(r->read[r->place[i] - 1], e);)
        i = (i + 1) & ((size_t)r->places - 1);
    return &r->place[i];
}

static void more_places(Reads *r)
{
    r->places *= 4;
    r->place = arena_array(r->arena, int, r->places);
    for (int i = 0; i < r->n; i++)
        *read_place(r, r->read[i]) = i + 1;
}

static void add_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind != E_READ)
        return;
    int *place = read_place(r, e);
    if (*place)
        return;
    VEC_PUSH(r->arena, r->read, r->n, r->cap) = e;
    *place = r->n;
    if (2 * r->n > r->places)
        more_places(r);
}

void reads_of(Graph *g, const Group *gr, const int *step, int n, Reads *r)
{
    *r = (Reads){.arena = g->arena};
    r->place = r->few;
    r->places = sizeof r->few / sizeof *r->few;
    for (int i = 0; i < n; i++)
        expr_visit(gr->step[step[i]].value, add_read, r);
}

bool read_uses(const Expr *e, const Var *v)
{
    for (int i = 0; i < e->tensor->rank; i++)
        if (idx_uses(e->at[i], v))
            return true;
    return guard_uses(e->in, v) || (e->outside && expr_uses(e->outside, v));
}

/* Elements of one aligned load of a tensor at `offset`, along having a
 * multiple of vec; 1 if they are not neighbours. */
static int vector_step(Graph *g, const Tensor *t, const Idx *offset,
                       const Var *along, int vec)
{
    if (idx_coef(offset, along) != 1)
        return 1;
    const Idx *rest = idx_sub(g->pool, offset, idx_var(g->pool, along));
    if (idx_uses(rest, along))
        return 1;
    int most = 16 / type_bytes(t->type);
    return (int)idx_align(rest, vec < most ? vec : most);
}

static void note_local(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_LOCAL;
}

bool read_by_local(const Expr *e)
{
    bool found = false;

    expr_visit(e, note_local, &found);
    return found;
}

ReadKind read_kind_at(Graph *g, const Expr *e, const Idx *offset,
                      const Var *along, int vec, int *step)
{
    *step = 1;
    if (along && read_by_local(e))
        return READ_SCALAR;
    if (!along || !read_uses(e, along))
        return READ_BROADCAST;
    if (guard_parts(e->in, along, vec) ||
        (e->outside && e->outside->kind != E_CONST))
        return READ_SCALAR;
    *step = vector_step(g, e->tensor, offset, along, vec);
    return *step > 1 ? READ_VECTOR : READ_SCALAR;
}

ReadKind read_kind(Graph *g, const Expr *e, const Var *along, int vec,
                   int *step)
{
    return read_kind_at(g, e, tensor_offset(g, e->tensor, e->at), along, vec,
                        step);
}

int64_t read_few(Graph *g, const Group *gr, const Idx *offset, const Var *v)
{
    enum { MOST = 16 };
    const Idx *seen[MOST];
    Subst s[2 * MAX_RANK];
    int n = 0, few = 0;

    if (idx_has_data(offset) || gr->n_cols || gr->n_rows > 2 * MAX_RANK ||
        v->extent > MOST)
        return v->extent;
    for (int i = 0; i < gr->n_rows; i++)
        if (gr->rows[i] != v)
            s[n++] = (Subst){gr->rows[i],
                             idx_const(g->pool, gr->rows[i]->extent / 2)};
    const Idx *at = idx_subst(g->pool, offset, s, n);
    for (int64_t i = 0; i < v->extent; i++) {
        Subst here = {v, idx_const(g->pool, i)};
        int k = 0;
        seen[few] = idx_subst(g->pool, at, &here, 1);
        while (seen[k] != seen[few])
            k++;
        few += k == few;
    }
    return at->hi - at->lo + 1 < v->extent ? few : v->extent;
}

static int store_step(Graph *g, const Step *s, const Idx *offset,
                      const Var *along, int vec)
{
    if (guard_parts(s->where, along, vec))
        return 1;
    return vector_step(g, s->tensor, offset, along, vec);
}

static const Idx *store_offset(Graph *g, const Step *s)
{
    return tensor_offset(g, s->tensor, s->store);
}

bool body_stores_vectors(const Body *b, const Step *s)
{
    return store_step(b->graph, s, store_offset(b->graph, s), b->along,
                      b->vec) > 1;
}

/* Whether the last of vectors of `vec` may lie partly in the padding behind
 * what v runs along: `offset` in t. */
static bool has_room(Graph *g, const Tensor *t, const Idx *offset,
                     const Var *v, int vec)
{
    const Idx *rest = idx_sub(g->pool, offset, idx_var(g->pool, v));

    return tensor_run(t, rest, v->extent) >= (v->extent + vec - 1) / vec * vec;
}

/* Whether the read is inside whatever v is: its condition alone has v. */
static bool stays_inside(const Expr *e, const Var *v)
{
    for (int d = 0; d < e->tensor->rank; d++)
        if (idx_uses(e->at[d], v) || e->at[d]->lo < 0 ||
            e->at[d]->hi >= e->tensor->dim[d])
            return false;
    return !e->outside || e->outside->kind == E_CONST;
}

/* The same of all that uses v: then a last vector may be partial. */
static bool all_have_room(Graph *g, const Group *gr, const Reads *r,
                          const Var *v, int vec)
{
    int step;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        if (!type_is_float(s->type) || s->op == R_ARGMAX ||
            (s->tensor && s->over_cols && s->op == R_NONE &&
             (store_step(g, s, store_offset(g, s), v, vec) == 1 ||
              !has_room(g, s->tensor, store_offset(g, s), v, vec))))
            return false;
    }
    for (int i = 0; i < r->n; i++) {
        const Expr *e = r->read[i];
        if (read_uses(e, v) && !stays_inside(e, v) &&
            (read_kind(g, e, v, vec, &step) != READ_VECTOR ||
             !has_room(g, e->tensor, tensor_offset(g, e->tensor, e->at), v,
                       vec)))
            return false;
    }
    return true;
}

int widest_vector(Graph *g, const Group *gr, const Var *v, int most,
                  bool partial)
{
    int all[MAX_STEPS], widest = 1;
    const Idx *to[MAX_STEPS] = {0};
    Weave w;
    Reads r;

    for (int i = 0; i < gr->n_step; i++) {
        all[i] = i;
        if (gr->step[i].tensor)
            to[i] = store_offset(g, &gr->step[i]);
    }
    reads_of(g, gr, all, gr->n_step, &r);
    const Idx **from = arena_array(g->arena, const Idx *, r.n);
    for (int i = 0; i < r.n; i++)
        from[i] = tensor_offset(g, r.read[i]->tensor, r.read[i]->at);
    for (int vec = 2; vec <= most; vec *= 2) {
        if (v->extent % vec &&
            !(partial && all_have_room(g, gr, &r, v, vec)))
            break;
        for (int i = 0; i < gr->n_step; i++)
            if (to[i] &&
                (store_step(g, &gr->step[i], to[i], v, vec) == vec ||
                 weave_find(g, gr, i, v, vec, &w)))
                widest = vec;
        for (int i = 0, step; i < r.n; i++)
            if (read_kind_at(g, r.read[i], from[i], v, vec, &step) ==
                    READ_VECTOR && step == vec)
                widest = vec;
    }
    return widest;
}

const Held *body_held(const Body *b, const Expr *read)
{
    for (int i = b->n_held - 1; i >= 0; i--)
        if (expr_equal(b->held[i].read, read))
            return &b->held[i];
    return NULL;
}

void body_hold(Body *b, const Expr *read, const char *text)
{
    VEC_PUSH(b->graph->arena, b->held, b->n_held, b->cap_held) =
        (Held){read, text};
}

static const char *staged(const Expr *read, void *ctx)
{
    const Held *h = body_held(ctx, read);

    return h ? h->text : NULL;
}

void body_init(Body *b, Graph *g, Group *gr, Kernel *k, const Schedule *plan,
               const Var *along, int vec)
{
    kernel_set_args(g, gr, k);
    body_within(b, cprint_new(g, k), gr, k, plan, along, vec);
}

void body_within(Body *b, CPrint print, const Group *gr, Kernel *k,
                 const Schedule *plan, const Var *along, int vec)
{
    Graph *g = print.graph;

    memset(b, 0, sizeof *b);
    b->graph = g;
    b->group = nest_plain(g, gr);
    b->kernel = k;
    b->plan = plan;
    b->stores = tree_list(g->arena);
    b->print = print;
    cprint_steps(&b->print, b->group);
    b->print.staged = staged;
    b->print.ctx = b;
    b->along = along;
    b->vec = vec;
    if (vec > 1)
        b->lane = cprint_fresh(&b->print, "v");
    for (int i = 0; along && i < gr->n_rows; i++)
        b->along_rows |= gr->rows[i] == along;
}

/* ---- code -------------------------------------------------------------- */

const char *body_step_name(Body *b, int i)
{
    const Step *s = &b->group->step[i];
    const char *name = step_called(s);

    if (!name)
        name = s->op != R_NONE ? reduce_name(s->op) : "t";
    name = cprint_ident(b->graph->arena, name);
    for (int j = 0; j < b->kernel->n_arg; j++)
        if (!strcmp(b->kernel->arg[j].name, name)) {
            name = arena_printf(b->graph->arena, "%s_val", name);
            break;
        }
    return cprint_fresh(&b->print, name);
}

void body_declare(Body *b, Tree *out, Type t, const char *name, bool lanes)
{
    PUT(out, "@type @name@@lanes;\n", FILL("type", cprint_ctype(t)),
        FILL("name", name), FILL("lanes", lanes && b->vec > 1 ? "[VEC]" : ""));
}

static const char *lane_of(Body *b, const char *array, bool lanes)
{
    return lanes && b->vec > 1
               ? arena_printf(b->graph->arena, "%s[%s]", array, b->lane)
               : array;
}

void body_accumulator(Body *b, Tree *out, int i, bool lanes)
{
    const Step *s = &b->group->step[i];
    const char *name = body_step_name(b, i);
    bool vector = lanes && b->vec > 1;
    Type t = s->op == R_ARGMAX ? s->value->type : s->type;
    const char *start = cprint_identity(s->op, t);

    b->acc[i] = lane_of(b, name, lanes);
    b->print.local[i] = b->acc[i];
    if (s->op == R_ARGMAX) {
        start = arena_printf(b->graph->arena, "{%s, DCC_NO_INDEX}", start);
        b->print.local[i] =
            arena_printf(b->graph->arena, "%s.index", b->acc[i]);
        PUT(out,
            vector ? "dcc_arg<@type> @name[VEC];\n"
                     "for (int @lane = 0; @lane < VEC; ++@lane)\n"
                     "    @acc = @start;\n"
                   : "dcc_arg<@type> @name = @start;\n",
            FILL("type", cprint_arg_ctype(t)), FILL("name", name),
            FILL("lane", b->lane), FILL("acc", b->acc[i]),
            FILL("start", start));
        return;
    }
    PUT(out,
        !vector          ? "@type @name = @start;\n"
        : s->op == R_SUM ? "@type @name[VEC] = {};\n"
                         : "@type @name[VEC];\n"
                           "dcc_fill(@name, @start);\n",
        FILL("type", cprint_ctype(t)), FILL("name", name),
        FILL("start", start));
}

/* Names for the reads in an index that do not use along. */
static void bind_data(Body *b, Tree *out, const Expr *read)
{
    for (int i = 0; i < read->tensor->rank; i++)
        cprint_bind_idx(out, &b->print, read->at[i]);
    cprint_bind_guard(out, &b->print, read->in);
}

/* The conditions under which one of the thread's lanes needs a read at all. */
static Guard lanes_need(Body *b, const Expr *read)
{
    const Expr *value[MAX_STEPS];
    IdxPool *p = b->graph->pool;
    Guard in, lanes = {0};

    for (int i = 0; i < b->group->n_step; i++)
        value[i] = b->group->step[i].value;
    in = needed_read(b->graph, value, b->group->n_step, read);
    for (int i = 0; i < in.n; i++) {
        const Idx *e = in.cond[i].e;
        int64_t c = b->vec > 1 ? idx_coef(e, b->along) : 0;
        if (!in.cond[i].mod && idx_affine(e)) /* for the lane of most hope */
            lanes = guard_add(p, lanes, idx_addc(p, e, c > 0
                                                 ? c * (b->vec - 1) : 0), 0);
    }
    return lanes;
}

void body_if_needed(Body *b, Tree *out, const Expr *read, const Tree *load)
{
    Guard in = lanes_need(b, read);

    if (in.n)
        PUT(out,
            "if (@condition) {  // else it is masked\n"
            "    @LOAD\n"
            "}\n",
            FILL("condition", cprint_condition(&b->print, in)),
            FILL_TREE("LOAD", load));
    else
        PUT(out, "@LOAD\n", FILL_TREE("LOAD", load));
}

void body_load(Body *b, Tree *out, const Expr *read, const char *array)
{
    CPrint *p = &b->print;
    Arena *a = b->graph->arena;
    int step;

    if (read_kind(b->graph, read, b->along, b->vec, &step) != READ_VECTOR)
        step = 1;
    bind_data(b, out, read);
    Tree *load = QUOTE(
        a, "dcc_load<@n>(@array, &@tensor[@at]);\n",
        FILL("n", step == b->vec ? "VEC" : arena_printf(a, "%d", step)),
        FILL("array", array), FILL("tensor", cprint_tensor(p, read->tensor)),
        FILL("at", cprint_at(p, read->tensor, read->at, read->in)));
    if (guard_truth(read->in) == ALWAYS) {
        body_if_needed(b, out, read, load);
        return;
    }
    const char *in = cprint_condition(p, read->in);
    PUT(out,
        "if (@in)\n"
        "    @LOAD\n"
        "else\n"
        "    dcc_fill(@array, @outside);\n",
        FILL("in", in), FILL_TREE("LOAD", load), FILL("array", array),
        FILL("outside", cprint_bind(out, p, read->outside, NULL)));
}

/* Brings what the lanes share, and what they take from a vector, into
 * registers. */
static void stage_read(Body *b, Tree *out, const Expr *e)
{
    int step;

    if (body_held(b, e))
        return;
    switch (read_kind(b->graph, e, b->along, b->vec, &step)) {
    case READ_BROADCAST:
        cprint_bind_name(out, &b->print, e, NULL);
        break;
    case READ_VECTOR: {
        const char *array = cprint_fresh(
            &b->print, arena_printf(b->graph->arena, "%s_frag",
                                    cprint_part(&b->print, e)));
        body_declare(b, out, e->type, array, true);
        body_load(b, out, e, array);
        body_hold(b, e, lane_of(b, array, true));
        break;
    }
    case READ_SCALAR:
        break;
    }
}

/* What step s stores, without a rounding that the store does anyway. */
static const Expr *stored_value(const Step *s, bool used)
{
    if (!used && s->tensor && s->value->kind == E_CAST &&
        s->value->type == s->tensor->type &&
        type_is_float(s->value->arg[0]->type) && type_is_float(s->value->type))
        return s->value->arg[0];
    return s->value;
}

/* A thread goes through the values of one variable in their order; through
 * those of several as they lie in memory. */
static void put_argmax(Body *b, Tree *in, int i, const char *value)
{
    const Step *s = &b->group->step[i];
    const Idx *index = idx_const(b->graph->pool, 0);
    int loops = 0;

    for (int c = 0; c < b->group->n_cols; c++) {
        const Var *v = b->group->cols[c];
        loops += v->extent > 1;
        index = idx_add(b->graph->pool,
                        idx_scale(b->graph->pool, index, v->extent),
                        idx_var(b->graph->pool, v));
    }
    PUT(in,
        "@acc = dcc_op_argmax::@next(@acc, dcc_arg<@ctype>{@value, @at});\n",
        FILL("acc", b->acc[i]), FILL("next", loops > 1 ? "apply" : "next"),
        FILL("ctype", cprint_arg_ctype(s->value->type)),
        FILL("value", value), FILL("at", cprint_idx(&b->print, index, 0)));
}

/* Stores value to s's tensor, or to its fragment for a vector store later. */
static void put_store(Body *b, Tree *in, const Step *s, const char *frag,
                      const char *value, Type type)
{
    Type kept = s->tensor->type;

    if (frag) {
        if (strcmp(cprint_ctype(type), cprint_ctype(kept)) &&
            !type_is_float(kept))
            value = cprint_to_storage(b->graph->arena, kept, type, value);
        PUT(in, "@frag = @value;\n", FILL("frag", frag), FILL("value", value));
        return;
    }
    for (int i = 0; i < s->tensor->rank; i++)
        cprint_bind_idx(in, &b->print, s->store[i]);
    cprint_bind_guard(in, &b->print, s->where);
    cprint_store(b->store_if ? b->stores : in, &b->print, s->tensor, s->store,
                 s->where, type, value);
}

static void put_sync(Body *b, Tree *in)
{
    PUT(in, "@sync();  // all have read the old value\n",
        FILL("sync", b->store_sync));
}

/* The stores so far, under their one condition. */
static void flush_stores(Body *b, Tree *in)
{
    if (!b->stores->n_item)
        return;
    if (b->store_sync)
        put_sync(b, in);
    PUT(in,
        "if (@store_if) {\n"
        "    @STORES\n"
        "}\n",
        FILL("store_if", b->store_if), FILL_TREE("STORES", b->stores));
    b->stores = tree_list(b->graph->arena);
}

/* An identifier or an element of an array. */
static bool is_name(const char *s)
{
    for (; *s; s++)
        if (!names_letter(*s) && !strchr("[]", *s))
            return false;
    return true;
}

static void see_state(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_READ && e->tensor->role == ROLE_STATE;
}

/* Does e read what a later step may overwrite? */
static bool reads_state(const Expr *e)
{
    bool found = false;

    expr_visit(e, see_state, &found);
    return found;
}

/* Step i's value, named where it is used again; and its store. */
static void put_pointwise(Body *b, Tree *in, int i, bool used, const char *frag,
                          bool own)
{
    const Step *s = &b->group->step[i];
    const Expr *e = stored_value(s, used);
    const char *text = cprint_bind(in, &b->print, e, "t");

    if (b->kept[i]) {
        PUT(in, "@kept = @text;\n", FILL("kept", b->kept[i]),
            FILL("text", text));
        text = b->print.local[i] = b->kept[i];
    } else if (used && is_name(text) && !reads_state(e)) {
        b->print.local[i] = text;
    } else if (used) {
        const char *name = body_step_name(b, i);
        PUT(in, "const @type @name = @text;\n",
            FILL("type", cprint_ctype(s->type)), FILL("name", name),
            FILL("text", text));
        text = b->print.local[i] = name;
    }
    if (s->tensor && own)
        put_store(b, in, s, frag, text, used ? s->type : e->type);
}

static void put_step(Body *b, Tree *in, int i, const char *frag, bool own)
{
    const Step *s = &b->group->step[i];

    if (s->op == R_NONE) {
        put_pointwise(b, in, i, b->plan->uses[i] > 0, frag, own);
        return;
    }
    const char *text = cprint_bind(in, &b->print, s->value, "t");
    Tree *add = tree_list(b->graph->arena);
    if (s->op == R_ARGMAX)
        put_argmax(b, add, i, text);
    else
        cprint_combine(add, &b->print, s, i, b->acc[i], text);
    if (b->lane_if)
        PUT(in,
            "if (@lane_if) {\n"
            "    @BODY\n"
            "}\n",
            FILL("lane_if", b->lane_if), FILL_TREE("BODY", add));
    else
        tree_add(in, add);
}

/* A step of this list that stores a whole vector: its fragment's name. */
static const char *store_frag(Body *b, const Step *s, int *step)
{
    *step = 1;
    if (!s->tensor || s->op != R_NONE)
        return NULL;
    *step = b->within && s->over_cols
                ? b->vec
                : store_step(b->graph, s, store_offset(b->graph, s), b->along,
                             b->vec);
    if (*step < 2)
        return NULL;
    return cprint_fresh(&b->print,
                        arena_printf(b->graph->arena, "%s_frag",
                                     cprint_tensor(&b->print, s->tensor)));
}

static void put_vector_store(Body *b, Tree *out, int i, const char *frag,
                             int step)
{
    CPrint *p = &b->print;
    Arena *a = b->graph->arena;
    const Step *s = &b->group->step[i];
    const char *least = b->least[i], *at = b->store_at[i], *where = NULL;

    for (int d = 0; d < s->tensor->rank && !at; d++)
        cprint_bind_idx(out, p, s->store[d]);
    cprint_bind_guard(out, p, s->where);
    if (guard_truth(s->where) != ALWAYS)
        where = b->store_if ? arena_printf(a, "%s && %s", b->store_if,
                                           cprint_guard(p, s->where))
                            : cprint_condition(p, s->where);
    if (!at)
        at = arena_printf(a, "&%s[%s]", cprint_tensor(p, s->tensor),
                          cprint_at(p, s->tensor, s->store, s->where));
    Tree *store =
        QUOTE(a, "@store<@n@@past>(@at, @frag@@least@@within);\n",
              FILL("store", b->within ? "dcc_store_within"
                            : least   ? "dcc_store_max"
                                      : "dcc_store"),
              FILL("n", step == b->vec ? "VEC" : arena_printf(a, "%d", step)),
              FILL("past", b->past[i] ? ", DCC_PAST" : ""), FILL("at", at),
              FILL("frag", frag),
              FILL("least", least ? arena_printf(a, ", %s", least) : ""),
              FILL("within", b->within ? arena_printf(a, ", %s, %s", b->base,
                                                      b->within)
                                       : ""));
    if (!where)
        where = b->store_if;
    if (where)
        PUT(out,
            "if (@where)\n"
            "    @STORE\n",
            FILL("where", where), FILL_TREE("STORE", store));
    else
        tree_add(out, store);
}

/* Whether step i belongs to this pass, not computed again for its value. */
static bool is_own(const Body *b, const int *step, int n, int i)
{
    int at = 0;

    for (int j = 0; j < n; j++)
        if (b->plan->at[step[j]] > at)
            at = b->plan->at[step[j]];
    return !is_col_step(&b->group->step[i]) || b->plan->at[i] == at;
}

typedef struct Divisors {
    Body *body;
    Tree *out;
} Divisors;

static void put_divisor(const Expr *e, void *ctx)
{
    Divisors *d = ctx;
    Body *b = d->body;

    if (e->kind != E_BINARY || e->fn != F_DIV || !type_is_float(e->type) ||
        e->arg[1]->kind != E_LOCAL)
        return;
    int by = e->arg[1]->local;
    const Step *s = &b->group->step[by];
    if (b->print.divisor[by] || !type_is_float(s->type) ||
        (s->op == R_NONE && s->over_cols))
        return;
    const char *id = cprint_fresh(
        &b->print, arena_printf(b->graph->arena, "%s_divisor",
                                s->source ? step_called(s) : "row"));
    PUT(d->out, "const dcc_divisor @id = dcc_divisor_of(@row);\n",
        FILL("id", id), FILL("row", b->print.local[by]));
    b->print.divisor[by] = id;
}

void body_divisors(Body *b, Tree *out, const int *step, int n)
{
    Divisors d = {b, out};

    for (int i = 0; i < n; i++)
        if (is_col_step(&b->group->step[step[i]]))
            expr_visit(b->group->step[step[i]].value, put_divisor, &d);
}

static void scalar_steps(Body *b, Tree *out, const int *step, int n)
{
    for (int i = 0; i < n; i++)
        cprint_count(&b->print, b->group->step[step[i]].value);
    for (int i = 0; i < n; i++)
        put_step(b, out, step[i], NULL, is_own(b, step, n, step[i]));
    flush_stores(b, out);
}

static void lane_steps(Body *b, Tree *out, const int *step, int n)
{
    const char *frag[MAX_STEPS] = {NULL}, *lane[MAX_STEPS] = {NULL};
    bool own[MAX_STEPS];
    int width[MAX_STEPS];
    Reads r;
    Tree *in = tree_list(b->graph->arena);

    reads_of(b->graph, b->group, step, n, &r);
    body_weave_reads(b, out, &r);
    for (int i = 0; i < r.n; i++)
        stage_read(b, out, r.read[i]);
    const char **once = body_read_once(b, out, &r);
    for (int i = 0; i < n; i++)
        own[i] = is_own(b, step, n, step[i]);
    for (int i = 0; i < n; i++) {
        const Step *s = &b->group->step[step[i]];
        if (!own[i])
            continue;
        frag[i] = store_frag(b, s, &width[i]);
        if (frag[i]) {
            body_declare(b, out, s->tensor->type, frag[i], true);
            lane[i] = lane_of(b, frag[i], true);
        }
    }
    body_weave(b, out, step, own, n, frag, width, lane);
    CScope scope = cprint_open(&b->print);
    cprint_name(&b->print, b->along,
                arena_printf(b->graph->arena, "(%s + %s)", b->base, b->lane));
    body_hold_once(b, &r, once);
    for (int i = 0; i < n; i++)
        cprint_count(&b->print, b->group->step[step[i]].value);
    for (int i = 0; i < n; i++)
        put_step(b, in, step[i], lane[i], own[i]);
    flush_stores(b, in);
    cprint_close(&b->print, scope);
    PUT(out,
        "#pragma unroll\n"
        "for (int @lane = 0; @lane < VEC; ++@lane) {\n"
        "    @BODY\n"
        "}\n",
        FILL("lane", b->lane), FILL_TREE("BODY", in));
    for (int i = 0; i < n && b->store_sync; i++)
        if (frag[i]) {
            put_sync(b, out);
            break;
        }
    for (int i = 0; i < n; i++)
        if (frag[i])
            put_vector_store(b, out, step[i], frag[i], width[i]);
}

void body_sync(Body *b, const int *step, int n, bool warp)
{
    bool writes = false, reads = false;

    for (int i = 0; i < n; i++) {
        const Step *s = &b->group->step[step[i]];
        reads |= reads_state(s->value);
        writes |= s->tensor && s->tensor->prev;
    }
    if (reads && writes)
        b->store_sync = warp ? "__syncwarp" : "__syncthreads";
}

void body_steps(Body *b, Tree *out, const int *step, int n, bool lanes)
{
    if (n && lanes && b->vec > 1)
        lane_steps(b, out, step, n);
    else
        scalar_steps(b, out, step, n);
}
