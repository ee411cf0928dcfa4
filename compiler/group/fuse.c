#include "group/fuse.h"

#include "group/clash.h"
#include "group/halves.h"
#include "group/norm.h"
#include "group/part.h"
#include "group/reduced.h"
#include "group/row_sums.h"
#include "group/split.h"
#include "group/spread.h"
#include "rewrite/rewrite.h"

enum { MAX_VARS = 24 };

static Type local_type(const Expr *value, Reduce op)
{
    if (op == R_ARGMAX)
        return T_I32;
    if (type_is_float(value->type))
        return T_F32;
    return op == R_NONE && value->type == T_BOOL ? T_BOOL : T_I32;
}

const char fuse_elsewhere[] = "reads another result of the producer elsewhere";

/* Variables of one value are no loops; a reduction keeps one column. */
static const Var **real_vars(Graph *g, const Var **v, int n, int least,
                             int *kept)
{
    const Var **to = arena_array(g->arena, const Var *, n + 1);

    *kept = 0;
    for (int i = 0; i < n; i++)
        if (v[i]->extent > 1 || *kept + (n - i) <= least)
            to[(*kept)++] = v[i];
    return to;
}

Group *group_of(Graph *g, Stmt *s)
{
    Group *gr = arena_new_of(g->arena, Group);

    gr->rows = real_vars(g, s->out, s->n_out, 0, &gr->n_rows);
    gr->cols = real_vars(g, s->red, s->n_red, s->op != R_NONE, &gr->n_cols);
    gr->when = s->when;
    gr->step = arena_new_of(g->arena, Step);
    gr->n_step = 1;
    gr->step[0] = (Step){
        .over_cols = s->op != R_NONE, .op = s->op, .value = s->value,
        .type = local_type(s->value, s->op), .tensor = s->tensor,
        .store = s->store, .where = s->where,
        .needed = s->needed, .source = s,
    };
    VEC_PUSH(g->arena, gr->stmt, gr->n_stmt, gr->cap_stmt) = s;
    return gr;
}

/* ---- point by point */

typedef struct Fusion {
    Graph *g;
    Group *p, *c;          /* copies where they are refined */
    bool own_p, own_c;
    const Tensor *t;
    const Step *made;      /* p's step that stores t */
    Subst map[MAX_VARS];   /* p's variables in c's terms */
    int n_map;
    const char *why;
} Fusion;

static const Step *step_storing(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return &gr->step[i];
    return NULL;
}

typedef struct Reads {
    const Tensor *t;
    const Expr *first;
    bool differ, guarded;
} Reads;

static bool same_access(const Tensor *t, const Idx *const *a,
                        const Idx *const *b)
{
    for (int d = 0; d < t->rank; d++)
        if (a[d] != b[d])
            return false;
    return true;
}

static void note_read(const Expr *e, void *ctx)
{
    Reads *r = ctx;

    if (e->kind != E_READ || e->tensor != r->t)
        return;
    if (!r->first)
        r->first = e;
    r->differ |= !same_access(r->t, e->at, r->first->at);
    r->guarded |= e->in.n > 0;
}

static Reads reads_of(const Group *c, const Tensor *t)
{
    Reads r = {.t = t};

    for (int i = 0; i < c->n_step; i++)
        expr_visit(c->step[i].value, note_read, &r);
    return r;
}

/* *gr, which is not changed, as a copy of its own. */
static Group *own(const Fusion *f, Group **gr, bool *is_own)
{
    if (!*is_own)
        *gr = group_copy(f->g, *gr);
    *is_own = true;
    return *gr;
}

/* Replaces p's variable v by a full mixed radix of new variables with the
 * extents of c's, so that each is one variable of c. */
static void refine_producer(Fusion *f, const Var *v, const Var **parts, int n)
{
    Group *p = own(f, &f->p, &f->own_p);

    for (int i = 0; i < n - 1; i++) /* split off the slowest, go on below */
        v = group_split(f->g, p, v, v->extent / parts[i]->extent);
}

/* One round of mapping. 1: done, 0: refined something, try again, -1: no. */
static int map_round(Fusion *f)
{
    Graph *g = f->g;

    f->made = step_storing(f->p, f->t);
    Reads r = reads_of(f->c, f->t);
    if (!r.first || r.differ || r.guarded) {
        f->why = r.guarded ? "reads it under a guard"
                           : "reads it at more than one place";
        return -1;
    }
    f->n_map = invert_store(g, f->t, f->made->store, r.first->at, f->map,
                            MAX_VARS);
    if (f->n_map < 0) {
        f->why = "only a part of the tensor is made here";
        return -1;
    }
    for (int i = 0; i < f->n_map; i++) {
        const Idx *by = f->map[i].by;
        const Var *v, *parts[MAX_VARS];
        int64_t d;
        if (idx_is_var(by) && idx_is_var(by)->extent == f->map[i].var->extent)
            continue;
        if (idx_is_const(by) && f->map[i].var->extent == 1)
            continue;
        if (idx_splittable(by, &v, &d)) {
            group_split(g, own(f, &f->c, &f->own_c), v, d);
            return 0;
        }
        int n = idx_radix(by, f->map[i].var->extent, parts, MAX_VARS);
        if (n > 1) {
            refine_producer(f, f->map[i].var, parts, n);
            return 0;
        }
        f->why = "reads only a part of it, or in another arrangement";
        return -1;
    }
    return 1;
}

static bool map_points(Fusion *f)
{
    for (int round = 0; round < 16; round++) {
        int r = map_round(f);
        if (r < 0)
            return false;
        if (r == 0)
            continue;
        for (int i = 0; i < f->n_map; i++)
            for (int j = 0; j < i; j++)
                if (f->map[i].by == f->map[j].by && f->map[i].by->n) {
                    f->why = "reads a diagonal of it";
                    return false;
                }
        return true;
    }
    f->why = "reads it in another arrangement";
    return false;
}

static bool is_image(const Fusion *f, const Var *cv)
{
    for (int i = 0; i < f->n_map; i++)
        if (idx_is_var(f->map[i].by) == cv)
            return true;
    return false;
}

static bool image_in(const Fusion *f, const Var *pv, const Var *const *list,
                     int n)
{
    for (int i = 0; i < f->n_map; i++)
        if (f->map[i].var == pv)
            return !f->map[i].by->n ||
                   vars_have(list, n, idx_is_var(f->map[i].by));
    return false;
}

/* The variables of `list` that t's index does not determine. */
static int left_over(const Fusion *f, const Var *const *list, int n,
                     const Var **out)
{
    int k = 0;

    for (int i = 0; i < n; i++)
        if (!is_image(f, list[i]))
            out[k++] = list[i];
    return k;
}

static bool pair_cols(Fusion *f, const Var *const *left, int n)
{
    bool same = n == f->p->n_cols;

    for (int i = 0; same && i < n; i++)
        same = left[i]->extent == f->p->cols[i]->extent;
    if (!same) {
        f->why = "its columns are not the producer's columns";
        return false;
    }
    for (int i = 0; i < n; i++)
        f->map[f->n_map++] =
            (Subst){f->p->cols[i], idx_var(f->g->pool, left[i])};
    return true;
}

/* What the fused nest's rows and columns are, in c's variables. */
typedef struct Shape {
    const Var *rows[MAX_VARS], *cols[MAX_VARS];
    int n_rows, n_cols;
    bool p_over_cols; /* p's pointwise steps run over columns now */
    bool c_over_cols; /* c's too */
} Shape;

static void take_rows(Shape *s, const Fusion *f)
{
    for (int i = 0; i < f->c->n_rows; i++)
        if (!vars_have(s->cols, s->n_cols, f->c->rows[i]))
            s->rows[s->n_rows++] = f->c->rows[i];
}

static void take_cols(Shape *s, const Var *const *list, int n)
{
    for (int i = 0; i < n; i++)
        s->cols[s->n_cols++] = list[i];
}

/* p is pointwise: its points are all of c's rows, with or without columns. */
static bool shape_of_pointwise(Fusion *f, Shape *s)
{
    const Var *left[MAX_VARS];
    const Group *c = f->c;

    if (left_over(f, c->rows, c->n_rows, left)) {
        f->why = "one value of it serves many rows";
        return false;
    }
    int free_cols = left_over(f, c->cols, c->n_cols, left);
    if (free_cols && free_cols != c->n_cols) {
        f->why = "it varies along some of the columns only";
        return false;
    }
    take_cols(s, c->cols, c->n_cols);
    s->p_over_cols = c->n_cols && !free_cols;
    take_rows(s, f);
    return true;
}

/* p has columns, t is a value a row. */
static bool shape_of_row_value(Fusion *f, Shape *s)
{
    const Var *left[MAX_VARS];
    const Group *p = f->p, *c = f->c;

    for (int i = 0; i < f->n_map; i++)
        if (vars_have(c->cols, c->n_cols, idx_is_var(f->map[i].by))) {
            f->why = "reduces over the producer's rows";
            return false;
        }
    int rows_left = left_over(f, c->rows, c->n_rows, left);
    if (rows_left && c->n_cols) {
        f->why = "has both rows and columns beyond the producer's rows";
        return false;
    }
    if (rows_left) {
        if (!pair_cols(f, left, rows_left))
            return false;
        take_cols(s, left, rows_left);
        s->c_over_cols = true;
    } else if (c->n_cols) {
        if (!pair_cols(f, c->cols, c->n_cols))
            return false;
        take_cols(s, c->cols, c->n_cols);
    } else {
        take_cols(s, p->cols, p->n_cols); /* an epilogue */
    }
    take_rows(s, f);
    return true;
}

/* p has columns and t has a value for each: c's points must be the same. */
static bool shape_of_col_value(Fusion *f, Shape *s)
{
    const Var *left[MAX_VARS];
    const Group *p = f->p, *c = f->c;

    f->why = "its points are not the producer's rows and columns";
    if (left_over(f, c->rows, c->n_rows, left) ||
        left_over(f, c->cols, c->n_cols, left))
        return false;
    for (int i = 0; i < p->n_rows; i++)
        if (p->rows[i]->extent > 1 &&
            !image_in(f, p->rows[i], c->rows, c->n_rows))
            return false;
    const Var *const *where = c->n_cols ? c->cols : c->rows;
    int n = c->n_cols ? c->n_cols : c->n_rows;
    for (int i = 0; i < p->n_cols; i++) {
        if (!image_in(f, p->cols[i], where, n))
            return false;
        for (int k = 0; k < f->n_map; k++)
            if (f->map[k].var == p->cols[i] && f->map[k].by->n)
                s->cols[s->n_cols++] = idx_is_var(f->map[k].by);
    }
    if (c->n_cols && s->n_cols != c->n_cols)
        return false;
    s->c_over_cols = !c->n_cols;
    take_rows(s, f);
    f->why = NULL;
    return true;
}

typedef struct Localise {
    const Group *fused; /* p's steps, already in c's variables */
    int n_p;
    bool over_cols;     /* the reading step's */
    bool failed;
} Localise;

static const Expr *localise(Graph *g, const Expr *e, void *ctx)
{
    Localise *l = ctx;

    if (e->kind == E_LOCAL)
        return expr_local(g, e->local + l->n_p, e->type);
    if (e->kind != E_READ)
        return NULL;
    for (int i = 0; i < l->n_p; i++) {
        const Step *s = &l->fused->step[i];
        if (s->tensor != e->tensor)
            continue;
        bool col_value = s->over_cols && s->op == R_NONE;
        if (e->in.n || !same_access(e->tensor, e->at, s->store) ||
            s->where.n || (col_value && !l->over_cols)) {
            l->failed = true;
            return NULL;
        }
        return expr_local(g, i, s->type);
    }
    return NULL;
}

static Group *combine(Fusion *f, const Shape *s, bool keep)
{
    Graph *g = f->g;
    Group *r = arena_new_of(g->arena, Group);
    int n_p = f->p->n_step;

    group_subst(g, own(f, &f->p, &f->own_p), f->map, f->n_map);
    r->when = f->c->when;
    r->rows = arena_array(g->arena, const Var *, s->n_rows + 1);
    r->cols = arena_array(g->arena, const Var *, s->n_cols + 1);
    memcpy(r->rows, s->rows, sizeof(Var *) * (size_t)s->n_rows);
    memcpy(r->cols, s->cols, sizeof(Var *) * (size_t)s->n_cols);
    r->n_rows = s->n_rows;
    r->n_cols = s->n_cols;
    r->step = arena_array(g->arena, Step, n_p + f->c->n_step);
    for (int i = 0; i < n_p; i++) {
        r->step[r->n_step] = f->p->step[i];
        r->step[r->n_step++].over_cols |= s->p_over_cols;
    }
    for (int i = 0; i < f->c->n_step; i++) {
        Step st = f->c->step[i];
        st.over_cols |= s->c_over_cols;
        Localise l = {r, n_p, st.over_cols, false};
        st.value = expr_rewrite(g, st.value, localise, &l);
        if (l.failed) {
            f->why = fuse_elsewhere;
            return NULL;
        }
        r->step[r->n_step++] = st;
    }
    for (int i = 0; i < n_p && !keep; i++)
        if (r->step[i].tensor == f->t)
            r->step[i].tensor = NULL;
    group_add_stmts(g, r, f->p);
    group_add_stmts(g, r, f->c);
    return r;
}

/* What is more than its steps takes no others. */
static const char *closed(const Group *p, const Group *c)
{
    if (p->chain || c->chain)
        return "two products and what lies between them are one already";
    if (p->factor_sum || c->factor_sum)
        return "it has a factor's sum already";
    return p->merge || p->pieces || c->merge || c->pieces
               ? "it has a part in a norm already" : NULL;
}

typedef struct Wider {
    const Tensor *part;
    bool found;
} Wider;

static void note_wider(const Expr *e, void *ctx)
{
    Wider *w = ctx;

    w->found |= e->kind == E_READ && e->tensor != w->part &&
                tensor_lies_in(w->part, e->tensor);
}

/* Does c read something of which a result of p is a part? */
static bool reads_wider(const Group *c, const Group *p)
{
    for (int i = 0; i < p->n_step; i++) {
        Wider w = {p->step[i].tensor, false};
        for (int k = 0; w.part && w.part->host && k < c->n_step; k++)
            expr_visit(c->step[k].value, note_wider, &w);
        if (w.found)
            return true;
    }
    return false;
}

/* Does c store where a result of p says? */
static bool places_read_any(const Group *c, const Group *p)
{
    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor && group_place_reads(c, p->step[i].tensor))
            return true;
    return false;
}

/* What sums over many layers' results goes with a product only as far as a
 * reader takes it in: each tensor is lines of its own. */
static bool too_many_tensors(Graph *g, const Group *p, const Group *c, Group *r)
{
    enum { MOST = 14 };

    if (p->n_arg + c->n_arg <= MOST)
        return false;
    group_args(g, r);
    return r->n_arg > MOST && group_multiplies(g, r);
}

/* Does r, made of p and another, read from memory what p stores, as it does
 * itself now? */
static bool reads_stored(const Group *r, const Group *p)
{
    for (int i = 0; i < p->n_step; i++)
        if (p->step[i].tensor && group_reads(r, p->step[i].tensor))
            return true;
    return false;
}

/* What c makes of an element of t stands at several points. */
static Group *fuse_spread(Graph *g, const Group *p, const Group *c,
                          const Tensor *t, bool keep)
{
    const Group *points = group_unrolled(g, c, t);
    const char *why;

    return points ? fuse(g, p, points, t, keep, &why) : NULL;
}

Group *fuse(Graph *g, const Group *p, const Group *c, const Tensor *t,
            bool keep, const char **why)
{
    Fusion f = {.g = g, .t = t, .p = (Group *)p, .c = (Group *)c};
    Shape s = {0};
    bool ok, more = p->pieces && (p->pieces->reduced || p->pieces->down);

    *why = more ? NULL : closed(p, c);
    if (!*why)
        *why = group_too_long(p, c);
    if (*why)
        return NULL;
    if (p->when != c->when) {
        *why = "one runs at load time, the other at run time";
        return NULL;
    }
    if (places_read_any(c, p)) {
        *why = "it says where the other stores";
        return NULL;
    }
    if (reads_wider(c, p)) {
        *why = "reads it as a part of another tensor";
        return NULL;
    }
    Group *pieces = fuse_reduced(g, p, c, t, keep);
    if (!pieces)
        pieces = fuse_row_sums(g, p, c, t, keep);
    if (pieces || more) { /* of pieces there may be several */
        *why = pieces ? NULL : closed(p, c);
        return pieces;
    }
    if (!map_points(&f)) {
        Group *other = fuse_part(g, p, c, t, keep);
        if (!other)
            other = fuse_halves(g, p, c, t, keep);
        if (!other)
            other = fuse_beside(g, p, c, t, keep);
        if (!other)
            other = fuse_spread(g, p, c, t, keep);
        if (other && reads_stored(other, p)) {
            f.why = "reads another of its results at other points";
            other = NULL;
        }
        *why = other ? NULL : f.why;
        return other;
    }
    if (!f.p->n_cols)
        ok = shape_of_pointwise(&f, &s);
    else if (f.made->over_cols && f.made->op == R_NONE)
        ok = shape_of_col_value(&f, &s);
    else
        ok = shape_of_row_value(&f, &s);
    Group *r = ok ? combine(&f, &s, keep) : fuse_spread(g, p, c, t, keep);
    if (!ok && r)
        return r;
    if (r && in_place_clash(r)) {
        f.why = "would overwrite a state that is still read";
        r = NULL;
    }
    if (r && too_many_tensors(g, p, c, r)) {
        f.why = "a product with more tensors than a reader takes in";
        r = NULL;
    }
    if (!r) {
        *why = f.why;
        return NULL;
    }
    group_normalise(g, r);
    return r;
}

/* ---- by computing again */

static const Expr *local_value(Graph *g, const Expr *e, void *ctx)
{
    const Expr **value = ctx;

    (void)g;
    return e->kind == E_LOCAL ? value[e->local] : NULL;
}

/* What p stores to t as one expression, if it is pointwise and stores nothing
 * else; NULL if not. */
static const Expr *pointwise_value(Graph *g, const Group *p, const Tensor *t)
{
    const Expr **value = arena_array(g->arena, const Expr *, p->n_step + 1);

    for (int i = 0; i < p->n_step; i++) {
        const Step *s = &p->step[i];
        if (p->n_cols || s->op != R_NONE || s->where.n ||
            (s->tensor && s->tensor != t))
            return NULL;
        value[i] = expr_rewrite(g, s->value, local_value, value);
        if (s->tensor)
            return i == p->n_step - 1 ? value[i] : NULL;
    }
    return NULL;
}

static bool is_cut(const Expr *e)
{
    return e->kind == E_READ && (e->tensor->cut || e->in.n);
}

/* A product within a range, out of which one factor is 0 anyway. */
static bool is_cut_product(const Expr *e)
{
    const Expr *none = e->arg[2], *of = e->arg[1];

    return none->kind == E_CONST && none->num == 0 && of->kind == E_BINARY &&
           of->fn == F_MUL && (is_cut(of->arg[0]) || is_cut(of->arg[1]));
}

/* A term of a sum of products, of which t is a factor or a part of one. */
static bool is_product(const Step *s)
{
    const Expr *e = s->value;

    if (e->kind == E_SELECT && is_cut_product(e))
        e = e->arg[1];
    while (e->kind == E_CAST)
        e = e->arg[0];
    return s->op == R_SUM && e->kind == E_BINARY && e->fn == F_MUL;
}

bool group_multiplies(Graph *g, const Group *gr)
{
    bool product = false;
    const char *why;
    Contraction c;

    for (int i = 0; i < gr->n_step; i++)
        product |= is_product(&gr->step[i]);
    return product && group_ranged(g, gr, &c, &why) && c.n_m && c.n_n;
}

/* What t's elements are as factors of products: as t would have them, where
 * that is what tensor cores take. */
static const Expr *as_factor(Graph *g, const Expr *value, const Tensor *t)
{
    return t->type == T_F16 || t->type == T_BF16 ? expr_cast(g, value, t->type)
                                                 : value;
}

/* What r computes again: what c and p do, and p. */
static void again_lists(Graph *g, Group *r, const Group *p, const Group *c)
{
    r->cap_again = 0; /* c's own list stays as it is */
    r->again = NULL;
    r->n_again = 0;
    group_add_again(g, r, c->again, c->n_again);
    group_add_again(g, r, p->again, p->n_again);
    group_add_again(g, r, p->stmt, p->n_stmt);
}

static void count_operator(const Expr *e, void *ctx)
{
    *(int *)ctx += e->arg[0] != NULL;
}

/* A value that readers compute again at several places, which others read at
 * several, grows faster than what is saved: a kernel is to be read. */
static bool too_many_operators(const Group *r)
{
    enum { MOST = 256 };
    int n = 0;

    for (int i = 0; i < r->n_step && n <= MOST; i++)
        expr_visit(r->step[i].value, count_operator, &n);
    return n > MOST;
}

Group *fuse_inline(Graph *g, const Group *p, const Group *c, const Tensor *t,
                   const char **why)
{
    const Step *made = &p->step[p->n_step - 1];
    const Expr *value = pointwise_value(g, p, t);

    *why = closed(p, c);
    if (*why)
        return NULL;
    if (p->when != c->when)
        *why = "one runs at load time, the other at run time";
    else if (!value)
        *why = "it is more than one pointwise expression";
    else if (group_place_reads(c, t))
        *why = "it says where the other stores";
    if (*why)
        return NULL;
    Group *r = group_copy(g, c);
    const Expr *factor = as_factor(g, value, t);
    for (int i = 0; i < r->n_step; i++) {
        bool product = is_product(&r->step[i]);
        r->step[i].value = inline_reads(g, r->step[i].value, t,
                                        product ? factor : value,
                                        made->store);
        if (!r->step[i].value) {
            *why = "only a part of the tensor is made here";
            return NULL;
        }
    }
    again_lists(g, r, p, c);
    if (too_many_operators(r))
        *why = "together they have more than 256 operators";
    if (in_place_clash(r))
        *why = "would overwrite a state that is still read";
    if (*why)
        return NULL;
    group_normalise(g, r);
    return r;
}
