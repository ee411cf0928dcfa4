#include "parse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int deeper(const AstExpr *a, const AstExpr *b)
{
    int x = a ? a->depth : 0, y = b ? b->depth : 0;

    return x > y ? x : y;
}

static int deepest(const Args *args)
{
    int n = 0;

    for (int i = 0; i < args->n; i++) {
        const Arg *x = &args->arg[i];
        int d = deeper(x->value, NULL), r = deeper(x->range.from, x->range.to);
        n = d > n ? d : n;
        n = r > n ? r : n;
    }
    return n;
}

static AstExpr *node(Parser *p, AstExprKind kind, Loc at, int below)
{
    AstExpr *e = arena_new_of(p->arena, AstExpr);

    e->kind = kind;
    e->at = at.at;
    e->depth = below + 1;
    if (e->depth > DSL_MAX_DEPTH) {
        parse_too_deep(p, at.at);
        *e = (AstExpr){.kind = EXPR_NUMBER, .at = at.at, .depth = 1};
        e->number.text = "0";
    }
    return e;
}

/* ---- operands */

AstExpr *build_number(Parser *p, Loc at, const char *text)
{
    AstExpr *e = node(p, EXPR_NUMBER, at, 0);
    bool range;

    e->number.text = text;
    if (!strcmp(text, "inf")) {
        e->number.kind = NUM_INF;
        e->number.value = INFINITY;
        return e;
    }
    if (!strcmp(text, "true") || !strcmp(text, "false")) {
        e->number.kind = NUM_BOOL;
        e->number.integer = *text == 't';
        e->number.value = *text == 't';
        return e;
    }
    errno = 0;
    if (strpbrk(text, ".eE")) {
        e->number.kind = NUM_FRACTION;
        e->number.value = strtod(text, NULL);
        range = isinf(e->number.value) || (errno && e->number.value == 0);
    } else {
        e->number.kind = NUM_INT;
        e->number.integer = strtoll(text, NULL, 10);
        e->number.value = (double)e->number.integer;
        range = errno != 0;
    }
    if (range) {
        diag_error(p->diag, at.at, "the number %.40s%s is out of range", text,
                   strlen(text) > 40 ? "..." : "");
        e->number.value = 0;
        e->number.integer = 0;
        e->number.text = "0";
    }
    return e;
}

AstExpr *build_string(Parser *p, Loc at, String s)
{
    int below = 0;

    for (int i = 0; i < s.n; i++)
        if (s.part[i].value && s.part[i].value->depth > below)
            below = s.part[i].value->depth;
    AstExpr *e = node(p, EXPR_STRING, at, below);
    if (e->kind == EXPR_STRING)
        e->string = s;
    return e;
}

AstExpr *build_name(Parser *p, Name n)
{
    AstExpr *e = node(p, EXPR_NAME, (Loc){.at = n.at}, 0);

    e->name = n;
    return e;
}

/* Removes, with an error, the args for which `allowed` has no bit. */
static void keep(Parser *p, Args *args, unsigned allowed, const char *where)
{
    int n = 0;

    for (int i = 0; i < args->n; i++) {
        Arg *x = &args->arg[i];
        if (allowed >> x->kind & 1)
            args->arg[n++] = *x;
        else if (x->kind == ARG_NAMED)
            diag_error(p->diag, x->at, "'%s = ..' has no place %s",
                       x->name.text, where);
        else if (x->kind == ARG_INDEX)
            diag_error(p->diag, x->at, "a range '%s in ..' has no place %s",
                       x->name.text, where);
        else
            diag_error(p->diag, x->at, "a pack '%s..' has no place %s",
                       x->name.text, where);
    }
    args->n = n;
}

AstExpr *build_read(Parser *p, Loc at, Name n, Args args)
{
    keep(p, &args, 1 << ARG_VALUE | 1 << ARG_PACK, "in a read");
    AstExpr *e = node(p, EXPR_READ, at, deepest(&args));
    if (e->kind == EXPR_READ) {
        e->read.name = n;
        e->read.at = args;
    }
    return e;
}

AstExpr *build_outside(Parser *p, Loc at, AstExpr *read, AstExpr *outside)
{
    AstExpr *e = node(p, EXPR_READ, at, deeper(read, outside));

    if (e->kind == EXPR_READ) {
        e->read = read->read;
        e->read.outside = outside;
    }
    return e;
}

AstExpr *build_call(Parser *p, Loc at, Name n, AstExpr *index, Args args)
{
    int depth = deepest(&args);
    AstExpr *e = node(p, EXPR_CALL, at,
                      deeper(index, NULL) > depth ? index->depth : depth);
    if (e->kind == EXPR_CALL) {
        e->call.name = n;
        e->call.index = index;
        e->call.args = args;
    }
    return e;
}

AstExpr *build_call_of_read(Parser *p, Loc at, AstExpr *read, Args args)
{
    if (read->kind != EXPR_READ)
        return read;
    Name n = read->read.name;
    const Args *index = &read->read.at;
    if (index->n != 1 || index->arg[0].kind != ARG_VALUE) {
        diag_error(p->diag, read->at,
                   "a call has one index, as in %s[l](..)", n.text);
        return build_call(p, at, n, NULL, args);
    }
    return build_call(p, at, n, index->arg[0].value, args);
}

/* A call that no factor follows: no ranges and no packs. */
static void plain_call(Parser *p, AstExpr *call)
{
    Args *args = &call->call.args;
    bool named = false;

    keep(p, args, 1 << ARG_VALUE | 1 << ARG_NAMED, "in a call");
    for (int i = 0; i < args->n; i++) {
        if (args->arg[i].kind == ARG_NAMED)
            named = true;
        else if (named)
            diag_error(p->diag, args->arg[i].at,
                       "an argument without a name cannot follow one with");
    }
}

AstExpr *build_as(Parser *p, Loc at, AstExpr *call, String path)
{
    AstExpr *e = node(p, EXPR_CALL, at, call->depth);

    if (e->kind == EXPR_CALL && call->kind == EXPR_CALL) {
        plain_call(p, call);
        e->call = call->call;
        e->call.has_as = true;
        e->call.as = path;
        return e;
    }
    return call;
}

AstExpr *build_plain_call(Parser *p, AstExpr *call)
{
    if (call->kind == EXPR_CALL)
        plain_call(p, call);
    return call;
}

AstExpr *build_cast(Parser *p, Loc at, Name elem, Args args)
{
    keep(p, &args, 1 << ARG_VALUE, "in a cast");
    if (args.n != 1) {
        diag_error(p->diag, at.at, "a cast takes one value, as in %s(x)",
                   elem.text);
        return build_number(p, at, "0");
    }
    AstExpr *e = node(p, EXPR_CAST, at, args.arg[0].value->depth);
    if (e->kind != EXPR_CAST)
        return e;
    for (e->cast.elem = 0; e->cast.elem < ELEM_NAMED; e->cast.elem++)
        if (!strcmp(elem_name(e->cast.elem), elem.text))
            break;
    e->cast.name = elem;
    e->cast.value = args.arg[0].value;
    return e;
}

/* ---- reductions */

static bool find_reduction(const char *name, ReduceOp *op)
{
    for (*op = RED_SUM; *op <= RED_ARGMIN; ++*op)
        if (!strcmp(name, reduce_word(*op)))
            return true;
    return false;
}

/* The words in a reduction's parentheses are its indices. */
static Args reduce_indices(Parser *p, const Args *args)
{
    Args index = {0};

    for (int i = 0; i < args->n; i++) {
        Arg x = args->arg[i];
        if (x.kind == ARG_VALUE && x.value->kind == EXPR_NAME &&
            !x.value->paren) {
            x.kind = ARG_INDEX;
            x.name = x.value->name;
            x.value = NULL;
        }
        if (x.kind == ARG_INDEX || x.kind == ARG_PACK)
            VEC_PUSH(p->arena, index.arg, index.n, index.cap) = x;
        else
            diag_error(p->diag, x.at,
                       "expected an index or a pack in a reduction");
    }
    return index;
}

AstExpr *build_reduce(Parser *p, Loc at, AstExpr *call, AstExpr *term)
{
    ReduceOp op;

    if (call->kind != EXPR_CALL)
        return call;
    Name n = call->call.name;
    if (!find_reduction(n.text, &op) || call->call.index) {
        diag_error(p->diag, term->at, "expected an operator after '%s(..)'",
                   n.text);
        diag_note(p->diag, n.at, "only a reduction (sum, mean, prod, max, "
                                 "min, argmax, argmin) is followed by its term");
        return call;
    }
    Args index = reduce_indices(p, &call->call.args);
    if (!index.n && !call->call.args.n)
        diag_error(p->diag, call->at, "'%s' needs an index to reduce over",
                   n.text);
    if (op >= RED_ARGMAX && (index.n > 1 ||
                             (index.n && index.arg[0].kind == ARG_PACK)))
        diag_error(p->diag, call->at, "%s takes one index and no pack", n.text);
    int below = deepest(&index);
    AstExpr *e =
        node(p, EXPR_REDUCE, at, term->depth > below ? term->depth : below);
    if (e->kind == EXPR_REDUCE) {
        e->reduce.op = op;
        e->reduce.name = n;
        e->reduce.index = index;
        e->reduce.term = term;
    }
    return e;
}

/* ---- operators */

AstExpr *build_unary(Parser *p, Loc at, UnaryOp op, AstExpr *value)
{
    AstExpr *e = node(p, EXPR_UNARY, at, value->depth);

    if (e->kind == EXPR_UNARY) {
        e->unary.op = op;
        e->unary.value = value;
    }
    return e;
}

AstExpr *build_binary(Parser *p, Loc at, BinaryOp op, Loc sign, AstExpr *left,
                      AstExpr *right)
{
    AstExpr *e = node(p, EXPR_BINARY, at, deeper(left, right));

    if (e->kind == EXPR_BINARY) {
        e->binary.op = op;
        e->binary.sign = sign.at;
        e->binary.left = left;
        e->binary.right = right;
    }
    return e;
}

AstExpr *build_select(Parser *p, Loc at, AstExpr *cond, AstExpr *yes,
                      AstExpr *no)
{
    int below = deeper(yes, no);
    AstExpr *e =
        node(p, EXPR_SELECT, at, cond->depth > below ? cond->depth : below);

    if (e->kind == EXPR_SELECT) {
        e->select.cond = cond;
        e->select.yes = yes;
        e->select.no = no;
    }
    return e;
}

AstExpr *build_list(Parser *p, Loc at, Args args)
{
    keep(p, &args, 1 << ARG_VALUE, "in a list");
    AstExpr *e = node(p, EXPR_LIST, at, deepest(&args));
    if (e->kind == EXPR_LIST)
        e->list = args;
    return e;
}

/* ---- the rest */

AstType *build_type(Parser *p, Loc at, Name name)
{
    AstType *t = arena_new_of(p->arena, AstType);

    t->at = at.at;
    t->name = name;
    for (t->elem = 0; t->elem < ELEM_NAMED; t->elem++)
        if (!strcmp(elem_name(t->elem), name.text))
            break;
    return t;
}

Arg build_arg(ArgKind kind, Loc at, Name name, AstExpr *value, Range range)
{
    return (Arg){kind, at.at, name, value, range};
}

void build_left(Parser *p, Args *left)
{
    keep(p, left, 1 << ARG_VALUE | 1 << ARG_INDEX | 1 << ARG_PACK,
         "on the left of a definition");
}

void build_note(Parser *p, Note *note)
{
    keep(p, &note->args, 1 << ARG_VALUE | 1 << ARG_NAMED, "in a note");
}

static Span end_of(Loc at)
{
    return (Span){at.at.source, at.end_line, at.end_col - 1, 1};
}

void build_param(AstStmt *s, AstExpr *e)
{
    if (e && e->kind == EXPR_STRING) {
        s->param.has_path = true;
        s->param.path = e->string;
    } else {
        s->param.start = e;
    }
}

AstStmt *build_stmt(Parser *p, StmtKind kind, Loc at, Name name, AstType *type)
{
    AstStmt *s = arena_new_of(p->arena, AstStmt);

    s->kind = kind;
    s->at = at.at;
    s->end = end_of(at);
    s->name = name;
    s->type = type;
    return s;
}

/* The comment lines that end right above `line`, without their slashes. */
static const char *doc_above(Parser *p, int line)
{
    const Program *g = p->program;
    int n = g->n_comment, first;
    Buf b = {0};

    while (n && g->comment[n - 1].at.source == p->source &&
           g->comment[n - 1].at.line >= line)
        n--;
    for (first = n; first; first--, line--) {
        const Comment *c = &g->comment[first - 1];
        if (!c->alone || c->at.source != p->source || c->at.line != line - 1)
            break;
    }
    for (int i = first; i < n; i++) {
        const char *text = g->comment[i].text + 2;
        buf_printf(&b, "%s%s", i > first ? "\n" : "", text + (*text == ' '));
    }
    const char *doc = b.len ? arena_strdup(p->arena, b.text) : NULL;
    buf_free(&b);
    return doc;
}

void build_item(Parser *p, Item *it, Loc at, ItemKind kind)
{
    it->kind = kind;
    it->at = at.at;
    it->end = end_of(at);
    it->library = p->source->library;
    it->doc = doc_above(p, at.at.line);
}
