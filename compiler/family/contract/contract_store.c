#include "emit/cprint_old.h"
#include "family/contract/contract_finish.h"
#include "group/norm.h"
#include "support/escape.h"

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
    d->found |= quotient_of(cprint_offset(d->g, e->tensor, e->at), d->v);
    for (int i = 0; i < e->in.n; i++)
        d->found |= quotient_of(e->in.cond[i].e, d->v);
}

bool finish_row_step(const Step *s)
{
    return s->op == R_NONE && !s->over_cols;
}

/* Writes everything with s->linear, if that takes no division. */
static bool make_linear(Finish *f, const Side *s)
{
    Graph *g = f->x->g;
    const Group *gr = f->x->gr;
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
        d.found |= quotient_of(cprint_offset(g, st->tensor, n.store[i]), d.v);
        for (int j = 0; j < n.where[i].n; j++)
            d.found |= quotient_of(n.where[i].cond[j].e, d.v);
    }
    if (d.found)
        return false;
    *f = n;
    return true;
}

/* ---- vectors ------------------------------------------------- */

bool finish_vectorises(const Finish *f, const Tensor *t, const Idx *offset,
                       Guard in, int vec)
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

const Var *finish_fast(const Contract *x)
{
    return x->patch_n ? x->column : contract_fast(x);
}

/* Points that a thread finishes at a time. */
static int points(const Contract *x)
{
    return x->vec / x->c.parts;
}

int finish_choose(Finish *f, int most)
{
    const Contract *x = f->x;
    int parts = x->c.parts;
    /* rows end within a tile */
    bool whole = x->n.n - (parts > 1) > 1 || x->patch_n;

    for (int vec = most / parts; vec > 1 && f->fast; vec /= 2) {
        if ((f->fast->extent % vec && whole) || x->t.bn % (vec * parts))
            continue;
        for (int i = 0; i < x->gr->n_step; i++) {
            const Tensor *t = x->gr->step[i].tensor;
            if (t && vec * type_bytes(t->type) <= 16 &&
                finish_vectorises(f, t, cprint_offset(x->g, t, f->store[i]),
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
    Contract *x = f->x;
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
                           cprint_offset(f->x->g, e->tensor, e->at), e->in,
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

static const char *staged_read(const Expr *read, void *ctx)
{
    const Finish *f = ctx;

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

void finish_read(Finish *f, Buf *b, const Vector *v)
{
    CPrint *cp = &f->x->cp;
    const Tensor *t = v->read->tensor;
    Buf at = {0};

    cprint_element(&at, cp, t, cprint_offset(f->x->g, t, v->read->at));
    if (guard_truth(v->read->in) != ALWAYS) {
        buf_puts(b, "if (");
        cprint_guard(b, cp, v->read->in);
        buf_puts(b, ")\n    ");
    }
    buf_printf(b, "dcc_read(%s, &%s[%s]);\n", v->id, cprint_tensor(cp, t),
               buf_text(&at));
    buf_free(&at);
}

/* dcc_f32x4 y_out[2]; zero: with = {} */
static void put_vector(Finish *f, Buf *b, const Vector *v, const Tensor *t,
                       bool zero)
{
    buf_printf(b, "%s %s", finish_type(f, t, v), v->id);
    if (v->count > 1)
        buf_printf(b, "[%d]", v->count);
    buf_puts(b, zero ? " = {};\n" : ";\n");
}

void finish_declare(Finish *f, Buf *b, ReadWhen when, bool zero)
{
    const char *last = "";

    for (int i = 0; i < f->n_vec; i++) {
        const Vector *v = &f->vec[i];
        if (!v->read || v->when != when)
            continue;
        const char *type = finish_type(f, v->read->tensor, v);
        if (!strcmp(type, last))
            buf_printf(b, ", %s", v->id);
        else
            buf_printf(b, "%s%s %s", *last ? ";\n" : "", type, v->id);
        if (v->count > 1)
            buf_printf(b, "[%d]", v->count);
        buf_puts(b, zero || guard_truth(v->read->in) != ALWAYS ? " = {}" : "");
        last = type;
    }
    buf_puts(b, *last ? ";\n" : "");
}

/* `if (where)`, and the address of the vector that a step stores. */
static const char *store_place(Finish *f, Buf *b, int step)
{
    Contract *x = f->x;
    CPrint *cp = &x->cp;
    const Tensor *t = x->gr->step[step].tensor;
    Buf at = {0};

    if (guard_truth(f->where[step]) != ALWAYS) {
        buf_puts(b, "if (");
        cprint_guard(b, cp, f->where[step]);
        buf_puts(b, ")\n    ");
    }
    cprint_element(&at, cp, t, cprint_offset(x->g, t, f->store[step]));
    const char *s = arena_printf(x->g->arena, "&%s[%s]", cprint_tensor(cp, t),
                                 buf_text(&at));
    buf_free(&at);
    return s;
}

void finish_vector_store(Finish *f, Buf *b, const Vector *v, int step)
{
    const Tensor *t = f->x->gr->step[step].tensor;
    const char *place = store_place(f, b, step);

    if (v->count > 1)
        buf_printf(b, "dcc_write(%s, %s);\n", place, v->id);
    else
        buf_printf(b, "*reinterpret_cast<%s *>(%s) = %s;\n",
                   finish_type(f, t, v), place, v->id);
}

void finish_vector_copy(Finish *f, Buf *b, const Vector *v, int step,
                        const char *from)
{
    const Tensor *t = f->x->gr->step[step].tensor;
    const char *place = store_place(f, b, step);

    buf_printf(b, "dcc_copy<%s>(%s, %s);\n", finish_type(f, t, v), place, from);
}

/* ---- text ---------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* `mlp.dcl:9` where the statement changes. */
static void add_place(Arena *a, Buf *places, const Stmt *s,
                      const Stmt **last)
{
    if (!s || !s->at.source)
        return;
    if (!*last || (*last)->at.line != s->at.line ||
        (*last)->at.source != s->at.source)
        buf_printf(places, "%s%s:%d", places->len ? ", " : "",
                   escape_ascii(a, base_name(s->at.source->name)),
                   s->at.line);
    *last = s;
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

    for (int j = i + 1; j < f->x->gr->n_step; j++)
        if (finish_row_step(&f->x->gr->step[j]))
            expr_visit(f->value[j], find_local, &l);
    return l.found;
}

/* Step i's value, named if others use it or it is long, and its store. */
static void put_step(Finish *f, Buf *b, int i)
{
    enum { ROOM = 46 };
    Contract *x = f->x;
    const Step *s = &x->gr->step[i];
    const char *id = x->cp.local[i];
    Buf value = {0};

    if (x->gone[i])
        return;
    if (s->op == R_NONE) {
        const char *hint = s->tensor ? s->tensor->name
                           : s->source ? s->source->tensor->name : "t";
        id = cprint_bind(b, &x->cp, f->value[i], hint);
        if (s->tensor)
            buf_puts(&value, cprint_to_storage(x->g->arena, s->tensor->type,
                                               s->type, id));
        if (!s->tensor || value.len > ROOM || used_later(f, i))
            id = cprint_bind_name(b, &x->cp, f->value[i], hint);
        buf_free(&value);
        x->cp.local[i] = id;
    }
    if (x->keep && x->gr->pieces->value == i) { /* as it is read again */
        buf_puts(&value,
                 cprint_to_storage(x->g->arena, s->tensor->type, s->type, id));
        buf_printf(b, "%s = dcc_to_float(%s);\n", x->keep, buf_text(&value));
        buf_free(&value);
    }
    if (!s->tensor)
        return;
    if (f->vector_store[i]) {
        buf_puts(&value,
                 cprint_to_storage(x->g->arena, s->tensor->type, s->type, id));
        buf_printf(b, "%s = %s;\n", element(f, finish_vector(f, i)),
                   buf_text(&value));
    } else {
        cprint_store(b, &x->cp, s->tensor, f->store[i], f->where[i], s->type,
                     id);
    }
    buf_free(&value);
}

static void put_steps(Finish *f, Buf *b)
{
    Contract *x = f->x;
    const Stmt *last = NULL;
    Buf places = {0}, text = {0}; /* statements that have text together */

    for (int i = 0; i < x->gr->n_step; i++)
        if (finish_row_step(&x->gr->step[i]) && !x->gone[i])
            cprint_count(&x->cp, f->value[i]);
    for (int i = 0; i < x->gr->n_step; i++) {
        const Step *s = &x->gr->step[i];
        if (!finish_row_step(s) && !s->tensor)
            continue;
        add_place(x->g->arena, &places, s->source, &last);
        put_step(f, &text, i);
        if (!text.len)
            continue;
        if (places.len)
            buf_printf(b, "// %s\n", buf_text(&places));
        buf_puts(b, buf_text(&text));
        buf_free(&places);
        buf_free(&text);
    }
    buf_free(&places);
}

void finish_side(Finish *f, Buf *b, const Side *s, bool linear)
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
        buf_printf(b, "const int %s = %s", cprint_var(cp, s->v[i]), s->name);
        cprint_digit(b, radix, i > 0 ? s->v[i]->extent : 0);
        radix *= s->v[i]->extent;
        buf_puts(b, ";\n");
    }
}

static const char *name_of(const CPrint *cp, const Var *v)
{
    for (int i = cp->n_name - 1; i >= 0; i--)
        if (cp->name[i].var == v)
            return cp->name[i].text;
    return v->name;
}

static bool many_sums(const Contract *x)
{
    return x->cluster || x->partial || x->parts > 1;
}

/* The sum, or vectors of sums, of all blocks of a tile and slices of k. */
static void put_many_sums(const Contract *x, Buf *b)
{
    int piece = x->vec < 4 ? x->vec : 4;
    bool sliced = x->parts > 1 && !x->partial;
    const char *col = x->swapped && x->vec == 1 ? "(col ^ 1)" : "col";
    const char *from =
        arena_printf(x->g->arena, x->partial ? "&partial[(s * BM + row) * BN + %s]"
                                  : sliced   ? "&sums[p * BM + row][%s]"
                                             : "&sums[row][%s]", col);

    if (x->vec > 1 && !x->cluster) {
        buf_printf(b, "dcc_%sx%d sum_vec[%d];\ndcc_add_up<%s>(sum_vec, %s);\n",
                   type_name(x->acc), piece, x->vec / piece,
                   sliced ? "SLICES" : "SPLIT",
                   sliced ? "&sums[row][col], BM * (BN + 8)"
                          : "&partial[row * BN + col], BM * BN");
        return;
    }
    if (x->cluster)
        from = arena_printf(x->g->arena, "dcc_cluster_peer(%s, s)", from);
    if (x->vec == 1)
        buf_printf(b, "%s sum = 0;\n", x->acc == T_F32 ? "float" : "int");
    else
        buf_printf(b, "dcc_%sx%d sum_vec[%d] = {};\n", type_name(x->acc), piece,
                   x->vec / piece);
    int depth = 0;
    if (x->cluster || x->partial) {
        buf_puts(b, "#pragma unroll\nfor (int s = 0; s < SPLIT; ++s)\n");
        depth += 4;
    }
    if (sliced) {
        cprint_lines(b, "#pragma unroll\nfor (int p = 0; p < SLICES; ++p)\n",
                     depth);
        depth += 4;
    }
    cprint_lines(b, arena_printf(x->g->arena,
                                 x->vec > 1 ? "dcc_add(sum_vec, %s);\n"
                                 : x->acc == T_F32
                                     ? "sum += *%s;\n"
                                     : "sum = dcc_wrap_add(sum, *%s);\n",
                                 from),
                 depth);
}

void finish_loads(Finish *f, Buf *b)
{
    Contract *x = f->x;
    const char *type = x->acc == T_F32 ? "float" : "int";
    const char *vec = x->acc == T_F32 ? "dcc_f32x" : "dcc_i32x";

    if (x->vec == 1 && !x->sum && many_sums(x)) {
        put_many_sums(x, b);
        return;
    }
    if (x->vec == 1) {
        buf_printf(b, "const %s sum = %s;\n", type,
                   x->sum       ? x->sum
                   : x->swapped ? "sums[row][col ^ 1]"
                                : "sums[row][col]");
        return;
    }
    int piece = x->vec < 4 ? x->vec : 4;
    if (!x->sum && many_sums(x))
        put_many_sums(x, b);
    else if (!x->sum)
        buf_printf(b, "%s%d sum_vec[%d];\n"
                      "dcc_read(sum_vec, &sums[row][col]);\n", vec, piece,
                   x->vec / piece);
    finish_declare(f, b, READ_POINT, false);
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].read && f->vec[i].when == READ_POINT)
            finish_read(f, b, &f->vec[i]);
    for (int i = 0; i < x->gr->n_step; i++) {
        if (!f->vector_store[i])
            continue;
        put_vector(f, b, finish_vector(f, i), x->gr->step[i].tensor,
                   f->partial);
    }
}

void finish_sum(Finish *f, const char *text)
{
    const Contract *x = f->x;
    int n = 0;

    for (int i = 0; i < x->gr->n_step; i++) {
        if (x->gr->step[i].op != R_SUM)
            continue;
        f->x->cp.local[i] = x->c.parts == 1
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
    Buf b = {0};

    for (const char *p = text; *p; p++) {
        bool column = *p == 'e' && (p == text || !in_name(p[-1])) &&
                      !in_name(p[1]);
        bool pair = column && strspn(p + 1, " /%2") >= 4 && p[4] == '2' &&
                    !in_name(p[5]);
        if (pair && p[2] == '/') {
            buf_putc(&b, 'e');
        } else if (pair) {
            buf_printf(&b, "%d", i);
        } else if (column) {
            buf_printf(&b, i ? "(2 * e + %d)" : "2 * e", i);
        } else {
            buf_putc(&b, *p);
        }
        p += pair ? 4 : 0;
    }
    return buf_take(&b, a);
}

/* const float sum = sum_vec[e / 4].v[e % 4]; or each of a point's. */
static void put_sums(const Contract *x, Buf *b)
{
    Arena *a = x->g->arena;
    int piece = x->vec < 4 ? x->vec : 4;
    const char *type = x->acc == T_F32 ? "float" : "int";
    const char *text =
        x->sum ? x->sum
               : arena_printf(a, "sum_vec[e / %d].v[e %% %d%s]", piece, piece,
                              x->swapped ? " ^ 1" : "");

    if (x->c.parts == 1)
        buf_printf(b, "const %s sum = %s;\n", type, text);
    for (int i = 0; x->c.parts > 1 && i < x->c.parts; i++)
        buf_printf(b, "const %s sum_%d = %s;\n", type, i,
                   of_column(a, text, i));
}

void finish_columns(Finish *f, Buf *b)
{
    Contract *x = f->x;
    CScope scope = cprint_open(&x->cp);
    Buf body = {0};

    if (x->vec > 1) {
        if (f->fast)
            cprint_name(&x->cp, f->fast,
                        arena_printf(x->g->arena, "(%s + e)",
                                     name_of(&x->cp, f->fast)));
        put_sums(x, &body);
    }
    x->cp.staged = staged_read;
    x->cp.ctx = f;
    put_steps(f, &body);
    x->cp.staged = NULL;
    if (f->partial) {
        Buf all = {0};
        buf_printf(&all, x->c.parts > 1 ? "if (%s < %s / %d) {\n"
                                        : "if (%s < %s) {\n",
                   name_of(&x->cp, f->fast), x->n.size, x->c.parts);
        cprint_lines(&all, buf_text(&body), 4);
        buf_puts(&all, "}\n");
        buf_free(&body);
        body = all;
    }
    cprint_close(&x->cp, scope);
    if (x->vec > 1) {
        buf_printf(b, "#pragma unroll\nfor (int e = 0; e < %d; ++e) {\n",
                   points(x));
        cprint_lines(b, buf_text(&body), 4);
        buf_puts(b, "}\n");
    } else {
        buf_puts(b, buf_text(&body));
    }
    for (int i = 0; i < x->gr->n_step; i++)
        if (f->vector_store[i] && f->pack)
            buf_printf(b, "%s = *reinterpret_cast<const uint32_t *>(&%s);\n",
                       f->pack, finish_vector(f, i)->id);
        else if (f->vector_store[i])
            finish_vector_store(f, b, finish_vector(f, i), i);
    buf_free(&body);
}

void finish_prepare(Finish *f, Contract *x, int most)
{
    const Group *gr = x->gr;

    f->x = x;
    for (int i = 0; i < gr->n_step; i++) {
        f->value[i] = x->value[i];
        f->store[i] = gr->step[i].store;
        f->where[i] = gr->step[i].where;
    }
    for (int i = 0; x->c.parts > 1 && i < x->c.parts; i++)
        cprint_fresh(&x->cp, arena_printf(x->g->arena, "sum_%d", i));
    f->fast = finish_fast(x);
    bool lines = f->pack && x->lines; /* of pairs, wherever rows begin */
    x->vec = lines ? most : finish_choose(f, most);
    f->partial = f->fast && f->fast->extent % points(x);
    f->linear_m = !x->patch && make_linear(f, &x->m);
    f->linear_n = !x->patch_n && make_linear(f, &x->n);
    if (f->linear_n)
        f->fast = x->n.linear;
    if (points(x) == 1)
        return;
    for (int i = 0; i < gr->n_step; i++) {
        const Tensor *t = gr->step[i].tensor;
        if (finish_row_step(&gr->step[i]))
            expr_visit(f->value[i], find_vector_read, f);
        if (t && (lines ||
                  finish_vectorises(f, t, cprint_offset(x->g, t, f->store[i]),
                                    f->where[i], points(x))))
            f->vector_store[i] = add_vector(f, t, "out") != NULL;
    }
}
