#include "family/contract/contract_finish.h"
#include "group/groups.h"
#include "support/support.h"

#include <ctype.h>
#include <string.h>

/* The steps after the sum of a contraction: what is evaluated, by how many
 * columns at once, and its text up to the stored tensors. */

/* ---- what it evaluates -------------------------------------------------- */

typedef struct Divides {
    Graph *g;
    const Var *v;
    bool found;
} Divides;

/* Whether e takes a quotient of v. */
static bool quotient_of(const Idx *e, const Var *v)
{
    for (int i = 0; i < e->n; i++)
        if (e->term[i].atom->kind != ATOM_VAR) {
            const Atom *a = e->term[i].atom;
            if (a->data ? expr_uses(a->data, v)
                        : (a->a && idx_uses(a->a, v)) ||
                              (a->b && idx_uses(a->b, v)))
                return true;
        }
    return false;
}

static void find_quotient(const Expr *e, void *ctx)
{
    Divides *d = ctx;

    if (e->kind == E_INDEX)
        d->found |= quotient_of(e->idx, d->v);
    if (e->kind != E_READ)
        return;
    d->found |= quotient_of(tensor_offset(d->g, e->tensor, e->at), d->v);
    for (int i = 0; i < e->in.n; i++)
        d->found |= quotient_of(e->in.cond[i].e, d->v);
}

bool finish_divides(Graph *g, const Expr *e, const Var *v)
{
    Divides d = {g, v, false};

    expr_visit(e, find_quotient, &d);
    return d.found;
}

bool finish_row_step(const Step *s)
{
    return s->op == R_NONE && !s->over_cols;
}

/* Writes everything with s->linear, if that takes no division. */
static bool make_linear(Finish *f, const Side *s)
{
    Graph *g = f->x->g;
    const Group *gr = f->x->f->gr;
    Divides d = {g, s->linear, false};
    Finish n = *f;

    if (s->n < 2)
        return false;
    for (int i = 0; i < gr->n_step; i++) {
        const Step *st = &gr->step[i];
        if (finish_row_step(st)) {
            n.value[i] = expr_subst(g, f->value[i], s->sub, s->n);
            expr_visit(n.value[i], find_quotient, &d);
        }
        if (!st->tensor)
            continue;
        n.store[i] = arena_array(g->arena, const Idx *, MAX_RANK);
        for (int j = 0; j < st->tensor->rank; j++)
            n.store[i][j] = idx_subst(g->pool, f->store[i][j], s->sub, s->n);
        n.where[i] = guard_subst(g->pool, f->where[i], s->sub, s->n);
        d.found |= quotient_of(tensor_offset(g, st->tensor, n.store[i]), d.v);
        for (int j = 0; j < n.where[i].n; j++)
            d.found |= quotient_of(n.where[i].cond[j].e, d.v);
    }
    if (d.found)
        return false;
    *f = n;
    return true;
}

/* ---- vectors ------------------------------------------------- */

/* Whether `vec` elements of t from `offset` along f->fast are neighbours and
 * aligned as one access. */
static bool finish_vectorises(const Finish *f, const Tensor *t,
                              const Idx *offset, Guard in, int vec)
{
    IdxPool *p = f->x->g->pool;
    int bytes = type_bytes(t->type);

    if (!f->fast || idx_coef(offset, f->fast) != 1 || guard_uses(in, f->fast))
        return false;
    const Idx *rest = idx_sub(p, offset, idx_var(p, f->fast));
    int piece = vec * bytes > 16 ? 16 / bytes : vec;
    int64_t extent = f->fast->extent, end = (extent + vec - 1) / vec * vec;
    return !idx_uses(rest, f->fast) && idx_align(rest, piece) >= piece &&
           (extent == end || tensor_run(t, rest, extent) >= end);
}

/* The variable in which neighbouring columns of a tile differ by one. */
static const Var *finish_fast(const ContractBuild *x)
{
    return x->p->patch_n ? x->p->column : contract_fast(x->f);
}

/* Points that a thread finishes at a time. */
static int points(const ContractBuild *x)
{
    return x->vec / x->f->c.parts;
}

int finish_choose(Finish *f, int most)
{
    const ContractBuild *x = f->x;
    int parts = x->f->c.parts;
    /* rows end within a tile */
    bool whole = x->f->n.n - (parts > 1) > 1 || x->p->patch_n;

    for (int vec = most / parts; vec > 1 && f->fast; vec /= 2) {
        if ((f->fast->extent % vec && whole) || x->p->t.bn % (vec * parts))
            continue;
        for (int i = 0; i < x->f->gr->n_step; i++) {
            const Tensor *t = x->f->gr->step[i].tensor;
            if (t && vec * type_bytes(t->type) <= 16 &&
                finish_vectorises(f, t, tensor_offset(x->g, t, f->store[i]),
                           f->where[i], vec))
                return vec * parts;
        }
    }
    return parts;
}

static bool zero(const Expr *e)
{
    return !e || (e->kind == E_CONST && e->num == 0);
}

static Vector *add_vector(Finish *f, const Tensor *t, const char *suffix)
{
    ContractBuild *x = f->x;
    int most = 16 / type_bytes(t->type);

    if (f->n_vec == MAX_VECTORS)
        return NULL;
    Vector *v = &f->vec[f->n_vec++];
    v->id = cprint_fresh(&x->cp,
                         arena_printf(x->g->arena, "%s_%s",
                                      cprint_tensor(&x->cp, t), suffix));
    v->piece = points(x) < most ? points(x) : most;
    v->count = points(x) / v->piece;
    return v;
}

static void find_vector_read(const Expr *e, void *ctx)
{
    Finish *f = ctx;

    if (e->kind != E_READ || !zero(e->outside) ||
        !finish_vectorises(f, e->tensor,
                           tensor_offset(f->x->g, e->tensor, e->at), e->in,
                           points(f->x)))
        return;
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].read && expr_equal(f->vec[i].read, e))
            return;
    Vector *v = add_vector(f, e->tensor, "vec");
    if (v)
        v->read = e;
}

/* A vector's element e. */
static const char *element(const Finish *f, const Vector *v)
{
    return v->count == 1
               ? arena_printf(f->x->g->arena, "%s.v[e]", v->id)
               : arena_printf(f->x->g->arena, "%s[e / %d].v[e %% %d]", v->id,
                              v->piece, v->piece);
}

/* What registers have of row i. */
static const char *held_read(const Expr *read, void *ctx)
{
    const ContractBuild *x = ((const Finish *)ctx)->x;

    for (int i = 0; i < x->n_held; i++)
        if (expr_equal(x->held[i], read))
            return arena_printf(x->g->arena, "%s[i]", x->held_id[i]);
    return NULL;
}

static const char *staged_read(const Expr *read, void *ctx)
{
    const Finish *f = ctx;
    const char *held = held_read(read, ctx);

    for (int i = 0; i < f->n_scalar; i++)
        if (f->scalar[i]->tensor == read->tensor)
            return f->scalar_id[i];
    if (held)
        return held;
    for (int i = 0; i < f->n_vec; i++) {
        const Vector *v = &f->vec[i];
        if (!v->read || !expr_equal(v->read, read))
            continue;
        Type t = read->tensor->type;
        const char *how = t == T_F16    ? "__half2float"
                          : t == T_BF16 ? "__bfloat162float"
                                        : NULL;
        return how ? arena_printf(f->x->g->arena, "%s(%s)", how,
                                  element(f, v))
                   : element(f, v);
    }
    return NULL;
}

const char *finish_type(const Finish *f, const Tensor *t,
                               const Vector *v)
{
    return arena_printf(f->x->g->arena, "dcc_%sx%d", type_name(t->type),
                        v->piece);
}

/* `one`, where the guard holds. */
static void put_where(CPrint *cp, Tree *b, Guard where, const Tree *one)
{
    if (guard_truth(where) == ALWAYS)
        PUT(b, "@ONE\n", FILL_TREE("ONE", one));
    else
        PUT(b,
            "if (@where)\n"
            "    @ONE\n",
            FILL("where", cprint_guard(cp, where)), FILL_TREE("ONE", one));
}

void finish_read(Finish *f, Tree *b, const Vector *v)
{
    CPrint *cp = &f->x->cp;
    const Tensor *t = v->read->tensor;
    const char *from = finish_input(f->x, t);

    if (from) {
        PUT(b, "dcc_read(@id, @from);\n", FILL("id", v->id),
            FILL("from", from));
        return;
    }

    cp->staged = held_read;
    cp->ctx = f;
    put_where(
        cp, b, v->read->in,
        QUOTE(b->arena, "dcc_read(@id, &@tensor[@at]);\n", FILL("id", v->id),
              FILL("tensor", cprint_tensor(cp, t)),
              FILL("at", cprint_element(
                             cp, t, tensor_offset(f->x->g, t, v->read->at)))));
    cp->staged = NULL;
}

/* "y_out[2]" */
static const char *declarator(const Finish *f, const Vector *v)
{
    return v->count > 1
               ? arena_printf(f->x->g->arena, "%s[%d]", v->id, v->count)
               : v->id;
}

void finish_declared(Tree *b, OneType *d)
{
    if (d->type)
        PUT(b, "@type @names;\n", FILL("type", d->type),
            FILL("names", d->names));
}

void finish_declare_one(Tree *b, OneType *d, const char *type,
                        const char *name)
{
    if (d->type && !strcmp(type, d->type)) {
        d->names = arena_printf(b->arena, "%s, %s", d->names, name);
        return;
    }
    finish_declared(b, d);
    *d = (OneType){type, name};
}

/* dcc_f32x4 y_out[2]; zero: with = {} */
static void declare_vector(Finish *f, Tree *b, OneType *d, const Vector *v,
                           const Tensor *t, bool zero)
{
    const char *name = declarator(f, v);

    finish_declare_one(b, d, finish_type(f, t, v),
                       zero ? arena_printf(b->arena, "%s = {}", name) : name);
}

void finish_declare(Finish *f, Tree *b, ReadWhen when, bool zero)
{
    OneType d = {0};

    for (int i = 0; i < f->n_vec; i++) {
        const Vector *v = &f->vec[i];
        if (v->read && v->when == when)
            declare_vector(f, b, &d, v, v->read->tensor,
                           zero || guard_truth(v->read->in) != ALWAYS);
    }
    finish_declared(b, &d);
}

/* The address of the vector that a step stores. */
static const char *store_place(Finish *f, int step)
{
    ContractBuild *x = f->x;
    const Tensor *t = x->f->gr->step[step].tensor;

    return arena_printf(
        x->g->arena, "&%s[%s]", cprint_tensor(&x->cp, t),
        cprint_element(&x->cp, t, tensor_offset(x->g, t, f->store[step])));
}

bool contract_goes_past(const Contract *f, const Tensor *t)
{
    double bytes = (double)tensor_elems(t) * type_bytes(t->type);

    return t->role == ROLE_OUTPUT ||
           model_too_large(f->o->device, bytes / 2);
}

static bool goes_past(const Finish *f, int step)
{
    return contract_goes_past(f->x->f, f->x->f->gr->step[step].tensor);
}

/* *reinterpret_cast<dcc_f16x8 *>(&y[..]) = y_out; */
static void finish_vector_store(Finish *f, Tree *b, const Vector *v, int step)
{
    const Tensor *t = f->x->f->gr->step[step].tensor;
    bool past = goes_past(f, step);
    const char *one = past ? "dcc_put<DCC_PAST>(@place, @id);\n"
                           : "*reinterpret_cast<@type *>(@place) = @id;\n",
               *several = past ? "dcc_write<DCC_PAST>(@place, @id);\n"
                               : "dcc_write(@place, @id);\n";

    put_where(&f->x->cp, b, f->where[step],
              QUOTE(b->arena, v->count > 1 ? several : one,
                    FILL("place", store_place(f, step)), FILL("id", v->id),
                    FILL("type", finish_type(f, t, v))));
}

void finish_vector_copy(Finish *f, Tree *b, const Vector *v, int step,
                        const char *from)
{
    const Tensor *t = f->x->f->gr->step[step].tensor;

    put_where(&f->x->cp, b, f->where[step],
              QUOTE(b->arena, "dcc_copy<@type@@past>(@place, @from);\n",
                    FILL("type", finish_type(f, t, v)),
                    FILL("past", goes_past(f, step) ? ", DCC_PAST" : ""),
                    FILL("place", store_place(f, step)), FILL("from", from)));
}

void finish_line(Finish *f, Tree *b, int step, const char *from)
{
    put_where(&f->x->cp, b, f->where[step],
              QUOTE(b->arena,
                    f->x->p->apart
                        ? "dcc_store_words<COLS@past>(@place, @from, line, -n, "
                          "N - n);\n"
                        : "dcc_store_line<COLS@past>(@place, @from, line, "
                          "N - n);\n",
                    FILL("past", goes_past(f, step) ? ", DCC_PAST" : ""),
                    FILL("place", store_place(f, step)), FILL("from", from)));
}

typedef struct Numbers {
    int first;
    bool own;
} Numbers;

static const Expr *renumber(Graph *g, const Expr *e, void *ctx)
{
    const Numbers *n = ctx;

    if (e->kind != E_LOCAL || (e->local >= 0) != n->own)
        return NULL;
    return expr_local(g, n->first + (n->own ? e->local : -1 - e->local),
                      e->type);
}

const Expr *finish_row_values(Graph *g, const Expr *e, int first, bool own)
{
    Numbers n = {first, own};

    return expr_rewrite(g, e, renumber, &n);
}

/* ---- text ---------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* `mlp.dcl:9` where the statement changes, after `places`. */
static const char *add_place(Arena *a, const char *places, const Stmt *s,
                             const Stmt **last)
{
    if (!s || !s->at.source)
        return places;
    if (!*last || (*last)->at.line != s->at.line ||
        (*last)->at.source != s->at.source)
        places = arena_printf(a, "%s%s%s:%d", places, *places ? ", " : "",
                              escape_ascii(a, base_name(s->at.source->name)),
                              s->at.line);
    *last = s;
    return places;
}

Vector *finish_vector(Finish *f, int step)
{
    int n = 0;

    for (int i = 0; i < step; i++)
        n += f->vector_store[i];
    for (int i = 0; i < f->n_vec; i++)
        if (!f->vec[i].read && n-- == 0)
            return &f->vec[i];
    return NULL;
}

typedef struct Later {
    int step;
    bool found;
} Later;

static void find_local(const Expr *e, void *ctx)
{
    Later *l = ctx;

    l->found |= e->kind == E_LOCAL && e->local == l->step;
}

/* Whether a later step's value is made of step i's. */
static bool used_later(const Finish *f, int i)
{
    Later l = {i, false};

    for (int j = i + 1; j < f->x->f->gr->n_step; j++)
        if (finish_row_step(&f->x->f->gr->step[j]))
            expr_visit(f->value[j], find_local, &l);
    return l.found;
}

/* Step i's value, named if others use it or it is long, and its store. */
static void put_step(Finish *f, Tree *b, int i)
{
    enum { ROOM = 46 };
    ContractBuild *x = f->x;
    const Step *s = &x->f->gr->step[i];
    const char *id = x->cp.local[i], *value = "";

    if (x->f->gone[i])
        return;
    if (s->op == R_NONE) {
        const char *hint = s->tensor ? tensor_called(s->tensor)
                                     : step_called(s);
        hint = hint ? hint : "t";
        id = cprint_bind(b, &x->cp, f->value[i], hint);
        if (s->tensor)
            value = cprint_to_storage(b->arena, s->tensor->type, s->type, id);
        if (x->rows_of[i])
            PUT(b, "@rows[i][e] = @id;\n", FILL("rows", x->rows_of[i]),
                FILL("id", id));
        else if (!s->tensor || strlen(value) > ROOM || used_later(f, i))
            id = cprint_bind_name(b, &x->cp, f->value[i], hint);
        x->cp.local[i] = id;
    }
    if (s->tensor)
        value = cprint_to_storage(b->arena, s->tensor->type, s->type, id);
    if (x->keep && x->f->gr->pieces->value == i) /* as it is read again */
        PUT(b, "@keep = dcc_to_float(@value);\n", FILL("keep", x->keep),
            FILL("value", value));
    if (s->tensor && f->vector_store[i])
        PUT(b, "@element = @value;\n",
            FILL("element", element(f, finish_vector(f, i))),
            FILL("value", value));
    else if (s->tensor)
        cprint_store(b, &x->cp, s->tensor, f->store[i], f->where[i], s->type,
                     id);
}

static void put_steps(Finish *f, Tree *b)
{
    ContractBuild *x = f->x;
    const Stmt *last = NULL;
    const char *places = ""; /* statements that have code together */

    for (int i = 0; i < x->f->gr->n_step; i++)
        if (finish_row_step(&x->f->gr->step[i]) && !x->f->gone[i])
            cprint_count(&x->cp, f->value[i]);
    for (int i = 0; i < x->f->gr->n_step; i++) {
        const Step *s = &x->f->gr->step[i];
        Tree *code = tree_list(b->arena);
        if (!finish_row_step(s) && !s->tensor)
            continue;
        places = add_place(b->arena, places, s->source, &last);
        put_step(f, code, i);
        if (!code->n_item)
            continue;
        if (*places)
            PUT(b, "// @places\n", FILL("places", places));
        tree_add(b, code);
        places = "";
    }
}

void finish_side(Finish *f, Tree *b, const Side *s, bool linear)
{
    CPrint *cp = &f->x->cp;
    int64_t radix = 1;

    cprint_name(cp, s->linear, s->name);
    if (linear || s->n == 0)
        return;
    if (s->n == 1) {
        cprint_name(cp, s->v[0], s->name);
        return;
    }
    for (int i = s->n - 1; i >= 0; i--) {
        PUT(b, "const int @v = @digit;\n", FILL("v", cprint_var(cp, s->v[i])),
            FILL("digit", cprint_digit(b->arena, s->name, radix,
                                       i > 0 ? s->v[i]->extent : 0)));
        radix *= s->v[i]->extent;
    }
}

const char *finish_name(const CPrint *cp, const Var *v)
{
    for (int i = cp->n_name - 1; i >= 0; i--)
        if (cp->name[i].var == v)
            return cp->name[i].text;
    return v->name;
}

static bool many_sums(const ContractBuild *x)
{
    return x->p->cluster || x->partial || x->p->parts > 1;
}

/* The sum, or vectors of sums, of all blocks of a tile and slices of k. */
static void put_many_sums(const ContractBuild *x, Tree *b)
{
    int piece = x->vec < 4 ? x->vec : 4;
    bool sliced = x->p->parts > 1 && !x->partial;
    const char *col = x->f->swapped && x->vec == 1 ? "(col ^ 1)" : "col";
    const char *from =
        arena_printf(x->g->arena,
                     x->partial ? "&partial[(s * BM + row) * BN + %s]"
                     : sliced   ? "&sums[p * BM + row][%s]"
                                : "&sums[row][%s]",
                     col);

    if (x->vec > 1 && !x->p->cluster) {
        PUT(b,
            sliced ? "dcc_@type@x@piece sum_vec[@n];\n"
                     "dcc_add_up<SLICES>(sum_vec, &sums[row][col], "
                     "BM * (BN + 8));\n"
                   : "dcc_@type@x@piece sum_vec[@n];\n"
                     "dcc_add_up<SPLIT>(sum_vec, &partial[row * BN + col], "
                     "BM * BN);\n",
            FILL("type", type_name(x->f->acc)), FILL_INT("piece", piece),
            FILL_INT("n", x->vec / piece));
        return;
    }
    if (x->p->cluster)
        from = arena_printf(x->g->arena, "dcc_cluster_peer(%s, s)", from);
    Tree *add = QUOTE(b->arena,
                      x->vec > 1        ? "dcc_add(sum_vec, @from);\n"
                      : x->f->acc == T_F32 ? "sum += *@from;\n"
                                        : "sum = dcc_wrap_add(sum, *@from);\n",
                      FILL("from", from));
    if (sliced)
        add = QUOTE(b->arena,
                    "#pragma unroll\n"
                    "for (int p = 0; p < SLICES; ++p)\n"
                    "    @ADD\n",
                    FILL_TREE("ADD", add));
    if (x->p->cluster || x->partial)
        add = QUOTE(b->arena,
                    "#pragma unroll\n"
                    "for (int s = 0; s < SPLIT; ++s)\n"
                    "    @ADD\n",
                    FILL_TREE("ADD", add));
    PUT(b,
        x->vec == 1 ? "@ctype sum = 0;\n"
                      "@ADD\n"
                    : "dcc_@type@x@piece sum_vec[@n] = {};\n"
                      "@ADD\n",
        FILL("ctype", x->f->acc == T_F32 ? "float" : "int"),
        FILL("type", type_name(x->f->acc)), FILL_INT("piece", piece),
        FILL_INT("n", x->vec / piece), FILL_TREE("ADD", add));
}

void finish_loads(Finish *f, Tree *b)
{
    ContractBuild *x = f->x;
    const char *type = x->f->acc == T_F32 ? "float" : "int";
    const char *vec = x->f->acc == T_F32 ? "dcc_f32x" : "dcc_i32x";

    if (x->vec == 1 && !x->sum && many_sums(x)) {
        put_many_sums(x, b);
        return;
    }
    if (x->vec == 1) {
        PUT(b, "const @type sum = @sum;\n", FILL("type", type),
            FILL("sum", x->sum       ? x->sum
                        : x->f->swapped ? "sums[row][col ^ 1]"
                                     : "sums[row][col]"));
        return;
    }
    int piece = x->vec < 4 ? x->vec : 4;
    if (!x->sum && many_sums(x))
        put_many_sums(x, b);
    else if (!x->sum)
        PUT(b,
            "@vec@@piece sum_vec[@n];\n"
            "dcc_read(sum_vec, &sums[row][col]);\n",
            FILL("vec", vec), FILL_INT("piece", piece),
            FILL_INT("n", x->vec / piece));
    finish_declare(f, b, READ_POINT, false);
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].read && f->vec[i].when == READ_POINT)
            finish_read(f, b, &f->vec[i]);
    OneType d = {0};
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (f->vector_store[i])
            declare_vector(f, b, &d, finish_vector(f, i),
                           x->f->gr->step[i].tensor, f->partial);
    finish_declared(b, &d);
}

void finish_sum(Finish *f, const char *text)
{
    const ContractBuild *x = f->x;
    int n = 0;

    for (int i = 0; i < x->f->gr->n_step; i++) {
        if (x->f->gr->step[i].op != R_SUM)
            continue;
        f->x->cp.local[i] = x->f->c.parts == 1
                                ? text
                                : arena_printf(x->g->arena, "%s_%d", text, n);
        n++;
    }
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* `text`, an expression of a column e, for column i of the two of point e. */
static const char *of_column(Arena *a, const char *text, int i)
{
    const char *made = "";

    for (const char *p = text; *p; p++) {
        bool column = *p == 'e' && (p == text || !in_name(p[-1])) &&
                      !in_name(p[1]);
        bool pair = column && strspn(p + 1, " /%2") >= 4 && p[4] == '2' &&
                    !in_name(p[5]);
        if (pair && p[2] == '/')
            made = arena_printf(a, "%se", made);
        else if (pair)
            made = arena_printf(a, "%s%d", made, i);
        else if (column)
            made = arena_printf(a, i ? "%s(2 * e + %d)" : "%s2 * e", made, i);
        else
            made = arena_printf(a, "%s%c", made, *p);
        p += pair ? 4 : 0;
    }
    return made;
}

/* const float sum = sum_vec[e / 4].v[e % 4]; or each of a point's. */
static void put_sums(const ContractBuild *x, Tree *b)
{
    Arena *a = x->g->arena;
    int piece = x->vec < 4 ? x->vec : 4;
    const char *type = x->f->acc == T_F32 ? "float" : "int";
    const char *text =
        x->sum ? x->sum
               : arena_printf(a, "sum_vec[e / %d].v[e %% %d%s]", piece, piece,
                              x->f->swapped ? " ^ 1" : "");

    if (x->f->c.parts == 1)
        PUT(b, "const @type sum = @text;\n", FILL("type", type),
            FILL("text", text));
    for (int i = 0; x->f->c.parts > 1 && i < x->f->c.parts; i++)
        PUT(b, "const @type sum_@i = @text;\n", FILL("type", type),
            FILL_INT("i", i), FILL("text", of_column(a, text, i)));
}

void finish_columns(Finish *f, Tree *b)
{
    ContractBuild *x = f->x;
    CScope scope = cprint_open(&x->cp);
    Tree *body = tree_list(b->arena);
    const bool again =
        x->f->c.range && x->f->acc == T_F32 && !x->redone;
    const bool together = again && x->vec > 1 && !x->sum && !x->f->swapped &&
                          x->f->c.parts == 1;

    if (x->vec > 1) {
        if (f->fast)
            cprint_name(&x->cp, f->fast,
                        arena_printf(x->g->arena, "(%s + e)",
                                     finish_name(&x->cp, f->fast)));
        if (together)
            finish_redo(f, b, "sum_vec", "int e", tree_list(b->arena));
        put_sums(x, body);
    }
    if (again && !together)
        finish_range(f, body);
    x->cp.staged = staged_read;
    x->cp.ctx = f;
    put_steps(f, body);
    x->cp.staged = NULL;
    if (f->partial)
        body = QUOTE(b->arena,
                     x->f->c.parts > 1 ? "if (@n < @size / @parts) {\n"
                                         "    @BODY\n"
                                         "}\n"
                                       : "if (@n < @size) {\n"
                                         "    @BODY\n"
                                         "}\n",
                     FILL("n", finish_name(&x->cp, f->fast)),
                     FILL("size", x->f->n.size),
                     FILL_INT("parts", x->f->c.parts), FILL_TREE("BODY", body));
    cprint_close(&x->cp, scope);
    if (x->vec > 1)
        PUT(b,
            "#pragma unroll\n"
            "for (int e = 0; e < @points; ++e) {\n"
            "    @BODY\n"
            "}\n",
            FILL_INT("points", points(x)), FILL_TREE("BODY", body));
    else
        tree_add(b, body);
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (f->vector_store[i] && f->pack)
            PUT(b, "@pack = dcc_word(@id);\n",
                FILL("pack", f->pack), FILL("id", finish_vector(f, i)->id));
        else if (f->vector_store[i])
            finish_vector_store(f, b, finish_vector(f, i), i);
}

void finish_prepare(Finish *f, ContractBuild *x, int most)
{
    const Group *gr = x->f->gr;

    f->x = x;
    for (int i = 0; i < gr->n_step; i++) {
        f->value[i] = x->f->value[i];
        f->store[i] = gr->step[i].store;
        f->where[i] = gr->step[i].where;
    }
    for (int i = 0; x->f->c.parts > 1 && i < x->f->c.parts; i++)
        cprint_fresh(&x->cp, arena_printf(x->g->arena, "sum_%d", i));
    f->fast = finish_fast(x);
    /* of pairs, wherever rows begin, or columns lie */
    bool lines = f->pack && (x->f->lines || x->f->across);
    x->vec = lines ? most : finish_choose(f, most);
    f->partial = f->fast && f->fast->extent % points(x);
    f->linear_m = !x->p->patch && make_linear(f, &x->f->m);
    f->linear_n = !x->p->patch_n && make_linear(f, &x->f->n);
    if (f->linear_n)
        f->fast = x->f->n.linear;
    if (points(x) == 1)
        return;
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *t = gr->step[i].tensor;
        if (finish_row_step(&gr->step[i]))
            expr_visit(f->value[i], find_vector_read, f);
        if (t && (lines ||
                  finish_vectorises(f, t, tensor_offset(x->g, t, f->store[i]),
                                    f->where[i], points(x))))
            f->vector_store[i] = add_vector(f, t, "out") != NULL;
    }
}
