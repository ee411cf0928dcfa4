#include "check.h"

#include <ctype.h>

enum {
    VALUES = 1 << SPACE_VALUE,
    TENSORS = 1 << SPACE_TENSOR,
};

/* ---- names */

static void refuse_type(Check *c, Name n)
{
    diag_error(c->diag, n.at, "'%s' is a type, a value is expected", n.text);
}

/* A definition in capitals was most likely meant as a size. */
static void not_constant(Check *c, Name n, const Sym *s)
{
    diag_error(c->diag, n.at, "'%s' is %s, a compile-time value is expected",
               n.text, sym_words(s));
    if (s->at.source && isupper((unsigned char)*n.text))
        diag_note(c->diag, s->at, "'%s' is declared here; 'dim %s = ..;' makes "
                  "a size", n.text, n.text);
}

static void const_name(Check *c, Name n)
{
    Sym *s = scope_find(c, SPACE_VALUE, n.text);

    if (elem_of(n.text) != ELEM_NAMED) {
        refuse_type(c, n);
        return;
    }

    if (s && s->kind == SYM_SCAN)
        diag_error(c->diag, n.at, "'%s' is a scan's variable, a compile-time "
                   "value is expected", n.text);
    if (s)
        return;
    if (scope_bound(c, n.text, false)) {
        diag_error(c->diag, n.at, "'%s' is an index, a compile-time value is "
                   "expected", n.text);
    } else if ((s = scope_find(c, SPACE_TENSOR, n.text))) {
        if (s->kind == SYM_TRAINED)
            return;
        if (s->kind == SYM_LIST)
            diag_error(c->diag, n.at, "'%s' is a list: one value is expected, "
                       "as %s[0]", n.text, n.text);
        else
            not_constant(c, n, s);
    } else if (scope_find(c, SPACE_TYPE, n.text)) {
        refuse_type(c, n);
    } else {
        scope_unknown(c, n, "undefined size or attribute", VALUES, false);
    }
}

static void whole_name(Check *c, Name n)
{
    Sym *value = scope_find(c, SPACE_VALUE, n.text);
    Sym *tensor = scope_find(c, SPACE_TENSOR, n.text);

    if (elem_of(n.text) != ELEM_NAMED) {
        refuse_type(c, n);
    } else if (value && tensor) {
        diag_error(c->diag, n.at, "'%s' is both %s and %s", n.text,
                   sym_words(value), sym_words(tensor));
        diag_note(c->diag, value->at, "'%s' is declared here", n.text);
        diag_note(c->diag, tensor->at, "and here");
    } else if (tensor && tensor->kind == SYM_LIST) {
        diag_error(c->diag, n.at, "'%s' is a list: one value is expected, as "
                   "%s[0]", n.text, n.text);
    } else if (!value && !tensor) {
        if (scope_find(c, SPACE_TYPE, n.text))
            refuse_type(c, n);
        else
            scope_unknown(c, n, "undefined name", VALUES | TENSORS, false);
    }
    if (tensor)
        scope_read(tensor);
}

static void indexed_name(Check *c, Name n)
{
    if (elem_of(n.text) != ELEM_NAMED) {
        refuse_type(c, n);
        return;
    }
    if (scope_bound(c, n.text, false) || scope_find(c, SPACE_VALUE, n.text))
        return;
    Sym *s = scope_find(c, SPACE_TENSOR, n.text);
    if (!s) {
        if (scope_find(c, SPACE_TYPE, n.text))
            refuse_type(c, n);
        else
            scope_unknown(c, n, "undefined name", VALUES | TENSORS, true);
        return;
    }
    scope_read(s);
    if (s->kind == SYM_LIST)
        diag_error(c->diag, n.at, "'%s' is a list: one value is expected, as "
                   "%s[0]", n.text, n.text);
    else if (s->rank > 0 || s->rank == RANK_PACKS) {
        static const char *const as[] = {"i", "i, j", "i, j, k", "i, j, k, l"};
        diag_error(c->diag, n.at, "'%s' has dimensions: an indexed definition "
                   "reads it with indices, as %s[%s]", n.text, n.text,
                   s->rank > 0 && s->rank <= 4 ? as[s->rank - 1] : "..");
        diag_note(c->diag, s->at, "'%s' is declared here", n.text);
    }
}

/* ---- reads */

static void check_list_read(Check *c, AstExpr *e)
{
    const Args *at = &e->read.at;

    if (at->n != 1 || at->arg[0].kind != ARG_VALUE)
        diag_error(c->diag, e->at, "a list attribute has one index");
    for (int i = 0; i < at->n; i++)
        if (at->arg[i].kind == ARG_VALUE)
            check_expr(c, at->arg[i].value, MODE_CONST);
    if (e->read.outside)
        diag_error(c->diag, e->read.outside->at,
                   "a list attribute is not read outside: no 'or' here");
}

static void check_read_indices(Check *c, AstExpr *e, const Sym *s)
{
    const Args *at = &e->read.at;
    bool packs = false;

    for (int i = 0; i < at->n; i++) {
        Arg *x = &at->arg[i];
        if (x->kind == ARG_VALUE) {
            check_expr(c, x->value, MODE_INDEXED);
            continue;
        }
        packs = true;
        if (scope_bound(c, x->name.text, true))
            continue;
        if (!scope_has_pack(c, x->name.text)) {
            scope_bind_pack(c, x->name); /* says so */
            c->n_bound--;
        } else {
            diag_error(c->diag, x->at, "pack '%s..' is neither on the left "
                       "nor reduced over", x->name.text);
        }
    }
    if (s && s->rank >= 0 && !packs && at->n != s->rank) {
        diag_error(c->diag, e->at, "'%s' has %d dimension%s, %d %s given",
                   e->read.name.text, s->rank, s->rank == 1 ? "" : "s", at->n,
                   at->n == 1 ? "index is" : "indices are");
        diag_note(c->diag, s->at, "'%s' is declared here",
                  e->read.name.text);
    }
}

static void check_read(Check *c, AstExpr *e, Mode mode)
{
    Name n = e->read.name;
    Sym *s = scope_find(c, SPACE_TENSOR, n.text);

    if (s && s->kind == SYM_LIST) {
        check_list_read(c, e);
        return;
    }
    if (!s) {
        Sym *v = scope_find(c, SPACE_VALUE, n.text);
        if (v)
            diag_error(c->diag, n.at, "'%s' is %s and has no indices", n.text,
                       sym_words(v));
        else
            scope_unknown(c, n, mode == MODE_CONST ? "undefined list attribute"
                                                   : "undefined tensor",
                          TENSORS, false);
    } else if (mode == MODE_CONST) {
        diag_error(c->diag, n.at, "'%s' is %s, a compile-time value is "
                   "expected", n.text, sym_words(s));
    } else if (mode == MODE_WHOLE) {
        diag_error(c->diag, e->at, "tensors stand bare in a whole definition: "
                   "indices need some on the left too");
        scope_read(s);
    } else {
        scope_read(s);
    }
    if (mode == MODE_INDEXED) {
        check_read_indices(c, e, s);
        if (e->read.outside)
            check_expr(c, e->read.outside, MODE_INDEXED);
    }
}

/* ---- the rest */

void check_range(Check *c, Range *r)
{
    if (r->from) {
        check_expr(c, r->from, MODE_CONST);
        check_expr(c, r->to, MODE_CONST);
    }
}

void check_string(Check *c, String *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->part[i].value)
            check_expr(c, s->part[i].value, MODE_CONST);
}

void check_attr_value(Check *c, const Item *it, const Attr *a, AstExpr *e)
{
    int n = e->kind == EXPR_LIST ? e->list.n : -1;

    if (a->kind == ATTR_TYPE) {
        if (e->kind != EXPR_NAME)
            diag_error(c->diag, e->at, "attribute '%s' of '%s' is an element "
                       "type", a->name.text, it->name.text);
        else
            check_elem(c, elem_of(e->name.text), e->name);
        return;
    }
    if (e->kind == EXPR_NAME) {
        Sym *s = scope_find(c, SPACE_TENSOR, e->name.text);
        if (s && s->kind == SYM_LIST && a->kind != ATTR_ONE)
            return;
    }
    for (int i = 0; i < n; i++)
        check_expr(c, e->list.arg[i].value, MODE_CONST);
    if (n < 0)
        check_expr(c, e, MODE_CONST);
    else if (a->kind == ATTR_ONE)
        diag_error(c->diag, e->at, "attribute '%s' of '%s' is one value, not "
                   "a list", a->name.text, it->name.text);
    else if (a->kind == ATTR_COUNT && a->count->kind == EXPR_NUMBER &&
             a->count->number.kind == NUM_INT && a->count->number.integer != n)
        diag_error(c->diag, e->at, "attribute '%s' of '%s' has %d values, %d "
                   "%s given", a->name.text, it->name.text,
                   (int)a->count->number.integer, n, n == 1 ? "is" : "are");
}

static void check_reduce(Check *c, AstExpr *e, Mode mode)
{
    int before = c->n_bound;

    if (mode != MODE_INDEXED) {
        diag_error(c->diag, e->reduce.name.at, "a reduction stands only in an "
                   "indexed definition, as t[i] = %s(k) ..",
                   e->reduce.name.text);
        return;
    }
    for (int i = 0; i < e->reduce.index.n; i++) {
        Arg *x = &e->reduce.index.arg[i];
        if (x->range.from) { /* may depend on indices outside */
            check_expr(c, x->range.from, mode);
            check_expr(c, x->range.to, mode);
        }
        if (x->kind == ARG_PACK)
            scope_bind_pack(c, x->name);
        else
            scope_bind_index(c, x->name);
    }
    check_expr(c, e->reduce.term, mode);
    c->n_bound = before;
}

static void check_side(Check *c, AstExpr *e, BinaryOp op, Mode mode)
{
    if (e->kind == EXPR_STRING && (op == BIN_EQ || op == BIN_NE))
        check_string(c, &e->string);
    else
        check_expr(c, e, mode);
}

static bool names_reduction(const char *name)
{
    for (ReduceOp op = RED_SUM; op <= RED_ARGMIN; ++op)
        if (!strcmp(name, reduce_word(op)))
            return true;
    return false;
}

/* sum(i) -x[i] is sum(i) less x[i]: what stands in its parentheses would be
 * indices, and the call had errors. */
static void note_signed_term(Check *c, const AstExpr *e)
{
    const AstExpr *l = e->binary.left;
    bool unknown = false;

    while (l->kind == EXPR_BINARY && !l->paren)
        l = l->binary.right;
    if (e->binary.op != BIN_SUB || l->kind != EXPR_CALL || l->paren ||
        !names_reduction(l->call.name.text))
        return;
    for (int i = 0; i < l->call.args.n; i++) {
        const Arg *x = &l->call.args.arg[i];
        if (x->kind != ARG_VALUE || x->value->kind != EXPR_NAME ||
            scope_find(c, SPACE_VALUE, x->value->name.text))
            return;
        unknown |= !scope_find(c, SPACE_TENSOR, x->value->name.text);
    }
    if (unknown)
        diag_note(c->diag, l->at,
                  "with '-' behind it this is a call, of which something is "
                  "subtracted; the term of a reduction that begins with a sign "
                  "stands in parentheses: %s(..) (-..)", l->call.name.text);
}

void check_expr(Check *c, AstExpr *e, Mode mode)
{
    const int errors = diag_errors(c->diag);

    switch (e->kind) {
    case EXPR_NUMBER:
        break;
    case EXPR_STRING:
        check_string(c, &e->string);
        if (mode != MODE_CONST)
            diag_error(c->diag, e->at,
                       "a string is no value of a tensor's elements");
        break;
    case EXPR_NAME:
        if (mode == MODE_CONST)
            const_name(c, e->name);
        else if (mode == MODE_WHOLE)
            whole_name(c, e->name);
        else
            indexed_name(c, e->name);
        break;
    case EXPR_READ:
        check_read(c, e, mode);
        break;
    case EXPR_CALL:
        check_call(c, e, mode);
        break;
    case EXPR_CAST:
        check_elem(c, e->cast.elem, e->cast.name);
        check_expr(c, e->cast.value, mode);
        break;
    case EXPR_REDUCE:
        check_reduce(c, e, mode);
        break;
    case EXPR_UNARY:
        check_expr(c, e->unary.value, mode);
        break;
    case EXPR_BINARY:
        check_side(c, e->binary.left, e->binary.op, mode);
        if (diag_errors(c->diag) != errors)
            note_signed_term(c, e);
        check_side(c, e->binary.right, e->binary.op, mode);
        break;
    case EXPR_SELECT:
        check_expr(c, e->select.cond, mode);
        check_expr(c, e->select.yes, mode);
        check_expr(c, e->select.no, mode);
        break;
    case EXPR_LIST:
        diag_error(c->diag, e->at,
                   "a list stands only as the value of an attribute");
        break;
    }
}
