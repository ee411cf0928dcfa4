/* emit_ref_stmt.c - the oracle's functions (ref_text.h).
 *
 * A statement becomes up to four functions: all_X computes it for all its
 * variables, point_X one element with a bound, store_X where that goes, and
 * for an argmax term_X. Statements that differ in nothing but tensors (twelve
 * equal layers) share them. */
#include "oracle/ref_text.h"

#include "emit/emit.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_ROW = 4096 };

/* ---- what a statement reads --------------------------------------------- */

static void add_arg(Ref *r, const Tensor *t)
{
    for (int i = 0; i < r->n_arg; i++)
        if (r->arg[i] == t)
            return;
    VEC_PUSH(r->graph->arena, r->arg, r->n_arg, r->cap_arg) = t;
}

static void visit_read(const Expr *e, void *ctx)
{
    Ref *r = ctx;

    if (e->kind != E_READ)
        return;
    add_arg(r, e->tensor);
    r->narrow |= e->tensor->type == T_F16 || e->tensor->type == T_BF16;
}

void ref_find_args(Ref *r, const Stmt *s)
{
    r->stmt = s;
    r->n_arg = r->cap_arg = 0; /* of this graph's arena */
    r->arg = NULL;
    r->narrow = false;
    add_arg(r, s->tensor);
    expr_visit(s->value, visit_read, r);
    for (int d = 0; d < s->tensor->rank; d++)
        expr_visit(expr_index(r->graph, s->store[d]), visit_read, r);
    for (int i = 0; i < s->where.n; i++)
        expr_visit(expr_index(r->graph, s->where.cond[i].e), visit_read, r);
}

static RefText new_text(Ref *r, bool pairs)
{
    RefText t = {.graph = r->graph, .pairs = pairs, .kept = r->kept};

    for (int i = 0; i < r->n_arg; i++)
        ref_name(&t, r->arg[i], r->arg[i]->name);
    for (int i = 0; i < r->stmt->n_out; i++)
        ref_name(&t, r->stmt->out[i], r->stmt->out[i]->name);
    for (int i = 0; i < r->stmt->n_red; i++)
        ref_name(&t, r->stmt->red[i], r->stmt->red[i]->name);
    return t;
}

/* ---- text --------------------------------------------------------------- */

static void indent(Buf *b, int depth)
{
    buf_printf(b, "%*s", 4 * depth, "");
}

static void print_shape(Buf *b, const Tensor *t)
{
    buf_puts(b, type_name(t->type));
    for (int d = 0; d < t->rank; d++)
        buf_printf(b, "%s%" PRId64, d ? ", " : "[", t->dim[d]);
    buf_puts(b, t->rank ? "]" : "");
}

static void open_loop(Buf *b, RefText *t, const Var *v, int *depth)
{
    const char *n = ref_name(t, v, v->name);

    indent(b, (*depth)++);
    buf_printf(b, "for (int64_t %s = 0; %s < %" PRId64 "; %s++) {\n", n, n,
               v->extent, n);
}

static void close_loops(Buf *b, int n, int *depth)
{
    while (n--) {
        indent(b, --*depth);
        buf_puts(b, "}\n");
    }
}

static bool is_whole(const Stmt *s)
{
    return !type_is_float(s->value->type);
}

/* What a reduction starts with, and the statement that takes a term in. */
static const char *start_of(const Stmt *s)
{
    bool whole = is_whole(s);

    switch (s->op) {
    case R_PROD:
        return "1";
    case R_MAX:
        return whole ? "INT32_MIN" : "-INFINITY";
    case R_MIN:
        return whole ? "INT32_MAX" : "INFINITY";
    default:
        return "0";
    }
}

static void print_take(Buf *b, RefText *t, const Stmt *s, const char *into)
{
    if (s->op == R_PROD && is_whole(s)) {
        buf_printf(b, "%s = dcc_wrap(%s * ", into, into);
        ref_value(b, t, s->value, REF_UNARY);
        buf_putc(b, ')');
    } else if (s->op == R_SUM || s->op == R_PROD) {
        buf_printf(b, "%s %s= ", into, s->op == R_SUM ? "+" : "*");
        ref_value(b, t, s->value, REF_ANY);
    } else {
        buf_printf(b, "%s = dcc_%s%s(%s, ", into, is_whole(s) ? "i" : "",
                   s->op == R_MAX ? "max" : "min", into);
        ref_value(b, t, s->value, REF_ANY);
        buf_putc(b, ')');
    }
    buf_puts(b, ";\n");
}

/* tensor[store] = value, where it is written at all. The value takes the
 * tensor's type if that is an integer one: floats are never rounded here. */
static void print_store(Buf *b, RefText *t, const Stmt *s, int depth,
                        const char *value, bool whole, bool plain)
{
    const Tensor *y = s->tensor;

    if (s->where.n) {
        indent(b, depth);
        buf_puts(b, "if (");
        ref_guard(b, t, s->where);
        buf_puts(b, ")\n");
        depth++;
    }
    indent(b, depth);
    buf_printf(b, "%s[", ref_name(t, y, y->name));
    ref_idx(b, t, ref_offset(t->graph, y, s->store), REF_ANY);
    buf_puts(b, "] = ");
    if (type_is_float(y->type) || y->type == T_BOOL || plain)
        buf_printf(b, "%s%s", whole ? "(double)" : "", value);
    else if (whole && y->type == T_I32)
        buf_printf(b, "(double)dcc_wrap(%s)", value);
    else
        buf_printf(b, "(double)dcc_to_%s(%s)", type_name(y->type), value);
    buf_puts(b, ";\n");
}

/* ---- all_X -------------------------------------------------------------- */

typedef struct Strides {
    const Var *v;
    Ref *r;
    double bad; /* reads that jump along v */
} Strides;

static void visit_stride(const Expr *e, void *ctx)
{
    Strides *s = ctx;

    if (e->kind != E_READ)
        return;
    const Idx *at = ref_offset(s->r->graph, e->tensor, e->at);
    int64_t c = idx_coef(at, s->v);
    const Idx *rest = idx_sub(s->r->graph->pool, at,
                              idx_scale(s->r->graph->pool,
                                        idx_var(s->r->graph->pool, s->v), c));
    if (idx_uses(rest, s->v) || (c != 0 && c != 1))
        s->bad += 1;
    else if (guard_uses(e->in, s->v))
        s->bad += 0.25;
}

static double bad_strides(Ref *r, const Expr *e, const Var *v)
{
    Strides s = {v, r, 0};

    expr_visit(e, visit_stride, &s);
    return s.bad + (v->extent < 8 ? 0.5 : 0);
}

/* The out variable to run innermost over a row of accumulators, or -1: one
 * accumulator at a time. */
static int row_variable(Ref *r, const Stmt *s)
{
    int best = -1;

    if (s->op == R_NONE || s->op == R_ARGMAX || s->n_red == 0)
        return -1;
    double least = bad_strides(r, s->value, s->red[s->n_red - 1]);
    for (int i = 0; i < s->n_out; i++) {
        double bad = bad_strides(r, s->value, s->out[i]);
        if (s->out[i]->extent > 3 && s->out[i]->extent <= MAX_ROW &&
            bad < least) {
            least = bad;
            best = i;
        }
    }
    return best;
}

static double work_of(const Stmt *s)
{
    double n = 1;

    for (int i = 0; i < s->n_out; i++)
        n *= (double)s->out[i]->extent;
    for (int i = 0; i < s->n_red; i++)
        n *= (double)s->red[i]->extent;
    return n;
}

/* Loops over the out variables but `skip`, as many threads as are worth it.
 * Returns how many were opened. */
static int open_out_loops(Buf *b, RefText *t, const Stmt *s, int skip,
                          int *depth)
{
    const Var *v[64];
    int n = 0, together = 0;
    double threads = 1;

    for (int i = 0; i < s->n_out && n < 64; i++)
        if (i != skip)
            v[n++] = s->out[i];
    while (together < n && together < 4 && threads < 32)
        threads *= (double)v[together++]->extent;
    /* leave the innermost loop of a pointwise statement whole */
    if (s->n_red == 0 && together == n && n > 1)
        together--;
    if (work_of(s) >= 1e5 && together) {
        indent(b, *depth);
        buf_puts(b, "DCC_PARALLEL");
        if (together > 1)
            buf_printf(b, "_%d", together);
        buf_putc(b, '\n');
    }
    for (int i = 0; i < n; i++)
        open_loop(b, t, v[i], depth);
    return n;
}

static void print_argmax(Buf *b, RefText *t, const Stmt *s, int depth)
{
    indent(b, depth);
    buf_puts(b, "double greatest = NAN;\n");
    indent(b, depth);
    buf_puts(b, "int64_t best = 0;\n\n");
    open_loop(b, t, s->red[0], &depth);
    indent(b, depth);
    buf_puts(b, "double term = ");
    if (is_whole(s))
        buf_puts(b, "(double)");
    ref_value(b, t, s->value, is_whole(s) ? REF_UNARY : REF_ANY);
    buf_puts(b, ";\n");
    indent(b, depth);
    buf_printf(b, "if (!isnan(term) && !(term <= greatest)) {\n"
                  "%*sgreatest = term;\n", 4 * depth + 4, "");
    indent(b, depth + 1);
    buf_printf(b, "best = %s;\n", ref_name(t, s->red[0], NULL));
    indent(b, depth);
    buf_puts(b, "}\n");
    close_loops(b, 1, &depth);
    print_store(b, t, s, depth, "best", true, true);
}

static void print_dot(Buf *b, RefText *t, const Stmt *s, int depth)
{
    indent(b, depth);
    buf_printf(b, "%s total = %s;\n\n", is_whole(s) ? "int64_t" : "double",
               start_of(s));
    for (int i = 0; i < s->n_red; i++) {
        if (i == s->n_red - 1 && s->op == R_SUM && s->red[i]->extent >= 8 &&
            !is_whole(s)) {
            indent(b, depth);
            buf_puts(b, "DCC_SUM(total)\n");
        }
        open_loop(b, t, s->red[i], &depth);
    }
    indent(b, depth);
    print_take(b, t, s, "total");
    close_loops(b, s->n_red, &depth);
    print_store(b, t, s, depth, "total", is_whole(s), false);
}

static void print_row(Buf *b, RefText *t, const Stmt *s, const Var *v,
                      int depth)
{
    const char *n = ref_name(t, v, v->name);
    char item[300];

    snprintf(item, sizeof item, "row[%s]", n);
    indent(b, depth);
    buf_printf(b, "%s row[%" PRId64 "];\n\n",
               is_whole(s) ? "int64_t" : "double", v->extent);
    open_loop(b, t, v, &depth);
    indent(b, depth);
    buf_printf(b, "%s = %s;\n", item, start_of(s));
    close_loops(b, 1, &depth);
    for (int i = 0; i < s->n_red; i++)
        open_loop(b, t, s->red[i], &depth);
    open_loop(b, t, v, &depth);
    indent(b, depth);
    print_take(b, t, s, item);
    close_loops(b, s->n_red + 1, &depth);
    open_loop(b, t, v, &depth);
    print_store(b, t, s, depth, item, is_whole(s), false);
    close_loops(b, 1, &depth);
}

/* Names for those of the arguments that the body mentions. */
static void print_args(Buf *b, Ref *r, RefText *t, const char *body)
{
    for (int i = 0; i < r->n_arg; i++) {
        const Tensor *x = r->arg[i];
        const char *n = ref_name(t, x, x->name);

        if (!ref_mentions(body, n))
            continue;
        if (t->pairs)
            buf_printf(b, "    const dcc_ref_value *%s = arg[%d];", n, i);
        else
            buf_printf(b, "    %sdouble *restrict %s = arg[%d];",
                       i ? "const " : "", n, i);
        buf_puts(b, " /* ");
        print_shape(b, x);
        buf_puts(b, " */\n");
    }
}

/* Before a function: an optimiser takes minutes for what nests so deep. */
static const char *as_written(const Buf *body)
{
    enum { LONG = 8192 };

    return body->len > LONG ? "DCC_AS_WRITTEN " : "";
}

static void print_all(Buf *b, Ref *r)
{
    const Stmt *s = r->stmt;
    RefText t = new_text(r, false);
    Buf body = {0};
    int depth = 1, row = row_variable(r, s);
    int loops = open_out_loops(&body, &t, s, row, &depth);

    if (s->op == R_NONE) {
        Buf value = {0};
        int prec = is_whole(s) ? REF_ATOM : REF_ANY;
        if (s->tensor->type == T_I32) /* wraps as it is stored */
            ref_expr(&value, &t, s->value, prec);
        else
            ref_value(&value, &t, s->value, prec);
        print_store(&body, &t, s, depth, buf_text(&value), is_whole(s),
                    s->value->kind == E_READ &&
                        s->value->tensor->type <= s->tensor->type &&
                        is_whole(s));
        buf_free(&value);
    } else if (s->op == R_ARGMAX) {
        print_argmax(&body, &t, s, depth);
    } else if (row >= 0) {
        print_row(&body, &t, s, s->out[row], depth);
    } else {
        print_dot(&body, &t, s, depth);
    }
    close_loops(&body, loops, &depth);
    buf_puts(b, as_written(&body));
    buf_puts(b, "static void all_@(double *const *arg)\n{\n");
    print_args(b, r, &t, buf_text(&body));
    buf_printf(b, "\n%s}\n\n", buf_text(&body));
    buf_free(&body);
}

/* ---- point_X, store_X, term_X ------------------------------------------- */

static void print_vars(Buf *b, Ref *r, RefText *t, const char *body)
{
    const Stmt *s = r->stmt;

    for (int i = 0; i < s->n_out; i++) {
        const char *n = ref_name(t, s->out[i], s->out[i]->name);
        if (ref_mentions(body, n))
            buf_printf(b, "    const int64_t %s = v[%d];\n", n, i);
    }
}

static void print_function(Buf *b, Ref *r, RefText *t, const char *head,
                           const Buf *body)
{
    const char *text = buf_text(body);

    buf_printf(b, "%s\n{\n", head);
    print_args(b, r, t, text);
    print_vars(b, r, t, text);
    buf_printf(b, "\n%s}\n\n", text);
}

static void print_fold(Buf *b, Ref *r, RefText *t)
{
    const Stmt *s = r->stmt;
    bool whole = is_whole(s);
    int depth = 1;

    if (s->op == R_PROD)
        buf_puts(b, "    dcc_pair total = {1, 0};\n\n");
    else
        buf_printf(b, "    dcc_fold total = dcc_fold_new(%s);\n\n",
                   start_of(s));
    for (int i = 0; i < s->n_red; i++)
        open_loop(b, t, s->red[i], &depth);
    indent(b, depth);
    if (s->op == R_PROD)
        buf_printf(b, "total = dcc_p_%smul(total, ", whole ? "i" : "");
    else
        buf_printf(b, "dcc_fold_%s(&total, ",
                   s->op == R_SUM ? "sum" : s->op == R_MAX ? "max" : "min");
    ref_expr(b, t, s->value, REF_ANY);
    buf_puts(b, ");\n");
    close_loops(b, s->n_red, &depth);
    if (s->op == R_PROD)
        buf_puts(b, "    return total;\n");
    else if (s->op == R_SUM)
        buf_printf(b, "    return dcc_fold_end_sum(&total, %s, %s);\n",
                   whole ? "true" : "false", r->narrow ? "true" : "false");
    else
        buf_puts(b, "    return dcc_fold_end_extreme(&total);\n");
}

static void print_term(Buf *b, Ref *r)
{
    const Stmt *s = r->stmt;
    RefText t = new_text(r, true);
    Buf body = {0};

    buf_puts(&body, "    return ");
    ref_expr(&body, &t, s->value, REF_ANY);
    buf_puts(&body, ";\n");
    buf_puts(b, "static dcc_pair term_@(dcc_ref_value *const *arg, "
                "const int64_t *v,\n                       int64_t r)\n{\n");
    print_args(b, r, &t, buf_text(&body));
    print_vars(b, r, &t, buf_text(&body));
    buf_printf(b, "    const int64_t %s = r;\n", ref_name(&t, s->red[0], NULL));
    buf_printf(b, "\n    (void)v;\n%s}\n\n", buf_text(&body));
    buf_free(&body);
}

static void print_point(Buf *b, Ref *r)
{
    const Stmt *s = r->stmt;
    RefText t = new_text(r, true);
    Buf body = {0};

    buf_puts(&body, "    (void)arg;\n    (void)v;\n");
    if (s->op == R_NONE) {
        buf_puts(&body, "    return ");
        ref_expr(&body, &t, s->value, REF_ANY);
        buf_puts(&body, ";\n");
    } else if (s->op == R_ARGMAX) {
        print_term(b, r);
        buf_printf(&body, "    return dcc_fold_argmax(arg, v, %" PRId64
                          ", term_@);\n",
                   s->red[0]->extent);
    } else {
        print_fold(&body, r, &t);
    }
    buf_puts(b, as_written(&body));
    print_function(b, r, &t,
                   "static dcc_pair point_@(dcc_ref_value *const *arg, "
                   "const int64_t *v)",
                   &body);
    buf_free(&body);
}

static void print_where(Buf *b, Ref *r)
{
    const Stmt *s = r->stmt;
    RefText t = new_text(r, true);
    Buf body = {0};

    buf_puts(&body, "    (void)arg;\n    (void)v;\n");
    if (s->where.n) {
        buf_puts(&body, "    if (!");
        buf_puts(&body, s->where.n == 1 ? "(" : "");
        ref_guard(&body, &t, s->where);
        buf_puts(&body, s->where.n == 1 ? ")" : "");
        buf_puts(&body, ")\n        return false;\n");
    }
    buf_puts(&body, "    *offset = ");
    ref_idx(&body, &t, ref_offset(r->graph, s->tensor, s->store), REF_ANY);
    buf_puts(&body, ";\n    return true;\n");
    print_function(b, r, &t,
                   "static bool store_@(dcc_ref_value *const *arg, "
                   "const int64_t *v,\n                    int64_t *offset)",
                   &body);
    buf_free(&body);
}

/* ---- statements --------------------------------------------------------- */

/* The function text with its name put in. */
static void put_named(Buf *b, const char *text, const char *name)
{
    for (const char *at; (at = strchr(text, '@')); text = at + 1) {
        buf_putn(b, text, (size_t)(at - text));
        buf_puts(b, name);
    }
    buf_puts(b, text);
}

const char *ref_place(Arena *a, Span at)
{
    return at.source ? arena_printf(a, "%s:%d", at.source->name, at.line) : "";
}

/* The source line of a statement as a comment. */
static void print_source(Buf *b, Arena *a, Span at)
{
    if (!at.source)
        return;
    const char *line = source_line(at.source, at.line);
    if (!line)
        return;
    line += strspn(line, " \t");
    size_t n = strcspn(line, "\r\n");
    while (n && line[n - 1] == ' ')
        n--;
    buf_puts(b, "// ");
    escape_comment(b, ref_place(a, at));
    buf_puts(b, "  ");
    escape_comment(b, arena_strndup(a, line, n));
    buf_putc(b, '\n');
}

const char *ref_label(const Stmt *s)
{
    return s->path[0] ? s->path : s->tensor->name;
}

const char *ref_functions(Ref *r, const Stmt *s)
{
    Buf text = {0};

    ref_find_args(r, s);
    print_all(&text, r);
    print_point(&text, r);
    print_where(&text, r);
    for (int i = 0; i < r->n_body; i++) {
        if (!strcmp(r->body[i].text, buf_text(&text))) {
            buf_free(&text);
            return r->body[i].name;
        }
    }
    RefBody body = {
        arena_printf(r->arena, "%s_%d", ref_ident(r->arena, ref_label(s)),
                     r->n_body),
        arena_strdup(r->arena, buf_text(&text))};
    VEC_PUSH(r->arena, r->body, r->n_body, r->cap_body) = body;
    print_source(r->b, r->arena, s->at);
    if (s->call.source && (s->call.source != s->at.source ||
                           s->call.line != s->at.line))
        print_source(r->b, r->arena, s->call);
    buf_free(&text);
    put_named(&text, body.text, body.name);
    Settled names = names_settle(r->arena, buf_text(&text));
    buf_puts(r->b, names_put(&names, buf_text(&text)));
    buf_free(&text);
    return body.name;
}
