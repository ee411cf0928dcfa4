/* The tree with every grouping written out, for tests: (+ a (* b c)). */
#include "dsl.h"

static void dump_expr(Buf *b, const AstExpr *e);

static void dump_string(Buf *b, const String *s)
{
    buf_putc(b, '"');
    for (int i = 0; i < s->n; i++) {
        if (s->part[i].value) {
            buf_putc(b, '{');
            dump_expr(b, s->part[i].value);
            buf_putc(b, '}');
        } else {
            buf_puts(b, s->part[i].text);
        }
    }
    buf_putc(b, '"');
}

static void dump_range(Buf *b, const Range *r)
{
    if (r->from) {
        buf_puts(b, " in ");
        dump_expr(b, r->from);
        buf_puts(b, "..");
        dump_expr(b, r->to);
    }
}

static void dump_args(Buf *b, const Args *args)
{
    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->arg[i];
        buf_puts(b, i ? ", " : "");
        if (a->name.text)
            buf_puts(b, a->name.text);
        if (a->kind == ARG_NAMED)
            buf_putc(b, '=');
        if (a->kind == ARG_PACK)
            buf_puts(b, "..");
        dump_range(b, &a->range);
        if (a->value)
            dump_expr(b, a->value);
    }
}

static void dump_call(Buf *b, const AstExpr *e)
{
    buf_puts(b, e->call.name.text);
    if (e->call.index) {
        buf_putc(b, '<');
        dump_expr(b, e->call.index);
        buf_putc(b, '>');
    }
    buf_putc(b, '(');
    dump_args(b, &e->call.args);
    buf_putc(b, ')');
    if (e->call.has_as) {
        buf_puts(b, " as ");
        dump_string(b, &e->call.as);
    }
}

static void dump_three(Buf *b, const char *op, const AstExpr *x,
                       const AstExpr *y, const AstExpr *z)
{
    buf_printf(b, "(%s ", op);
    dump_expr(b, x);
    if (y) {
        buf_putc(b, ' ');
        dump_expr(b, y);
    }
    if (z) {
        buf_putc(b, ' ');
        dump_expr(b, z);
    }
    buf_putc(b, ')');
}

static void dump_expr(Buf *b, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NUMBER:
        buf_puts(b, e->number.text);
        break;
    case EXPR_STRING:
        dump_string(b, &e->string);
        break;
    case EXPR_NAME:
        buf_puts(b, e->name.text);
        break;
    case EXPR_READ:
        buf_printf(b, "%s[", e->read.name.text);
        dump_args(b, &e->read.at);
        buf_putc(b, ']');
        if (e->read.outside) {
            buf_puts(b, "|");
            dump_expr(b, e->read.outside);
        }
        break;
    case EXPR_CALL:
        dump_call(b, e);
        break;
    case EXPR_CAST:
        dump_three(b, e->cast.name.text, e->cast.value, NULL, NULL);
        break;
    case EXPR_REDUCE:
        buf_printf(b, "(%s {", e->reduce.name.text);
        dump_args(b, &e->reduce.index);
        buf_puts(b, "} ");
        dump_expr(b, e->reduce.term);
        buf_putc(b, ')');
        break;
    case EXPR_UNARY:
        dump_three(b, e->unary.op == UN_NEG ? "-" : "!", e->unary.value, NULL,
                   NULL);
        break;
    case EXPR_BINARY:
        dump_three(b, binary_name(e->binary.op), e->binary.left,
                   e->binary.right, NULL);
        break;
    case EXPR_SELECT:
        dump_three(b, "?", e->select.cond, e->select.yes, e->select.no);
        break;
    case EXPR_LIST:
        buf_puts(b, "[");
        dump_args(b, &e->list);
        buf_puts(b, "]");
        break;
    }
}

static void dump_type(Buf *b, const AstType *t)
{
    if (!t)
        return;
    buf_printf(b, " : %s%s", t->name.text, t->shaped ? "[" : "");
    for (int i = 0; i < t->n_dim; i++) {
        const TypeDim *d = &t->dim[i];
        buf_puts(b, i ? ", " : "");
        if (d->kind == DIM_SIZE)
            dump_expr(b, d->size);
        else
            buf_printf(b, d->kind == DIM_PACK ? "%s.." : "%s@%s",
                       d->name.text, d->kind == DIM_AXIS ? d->axis.text : "");
    }
    buf_puts(b, t->shaped ? "]" : "");
}

static void dump_value(Buf *b, const AstExpr *e)
{
    if (e) {
        buf_puts(b, " = ");
        dump_expr(b, e);
    }
}

static void dump_body(Buf *b, const Body *body, int indent);

static void dump_tail(Buf *b, const AstStmt *s, int indent)
{
    switch (s->kind) {
    case STMT_DIM:
        dump_value(b, s->dim.value);
        dump_args(b, &s->dim.choices);
        break;
    case STMT_INPUT:
        dump_range(b, &s->input);
        break;
    case STMT_PARAM:
    case STMT_STATE:
        if (s->param.has_path) {
            buf_puts(b, " = ");
            dump_string(b, &s->param.path);
        }
        if (s->param.has_path && s->param.start) {
            buf_puts(b, " or ");
            dump_expr(b, s->param.start);
        } else {
            dump_value(b, s->param.start);
        }
        break;
    case STMT_REQUIRE:
        dump_expr(b, s->require);
        break;
    case STMT_DEF:
        dump_value(b, s->def.value);
        break;
    case STMT_FOR:
    case STMT_SCAN:
        if (s->loop.params)
            buf_puts(b, " params");
        else
            dump_range(b, &s->loop.range);
        dump_body(b, &s->loop.body, indent);
        break;
    case STMT_IF:
        dump_expr(b, s->branch.cond);
        dump_body(b, &s->branch.yes, indent);
        if (s->branch.has_else) {
            buf_puts(b, " else");
            dump_body(b, &s->branch.no, indent);
        }
        break;
    case STMT_TYPE:
    case STMT_OUTPUT:
        break;
    }
}

static void dump_stmt(Buf *b, const AstStmt *s, int indent)
{
    static const char *const words[] = {"dim", "type", "input", "param",
        "state", "require", "def", "output", "for", "scan", "if"};

    buf_printf(b, "%*s", indent, "");
    for (int i = s->n_note; i-- > 0;) {
        buf_printf(b, "@%s(", s->note[i].name.text);
        dump_args(b, &s->note[i].args);
        buf_puts(b, ") ");
    }
    buf_printf(b, "%s %s", words[s->kind], s->name.text ? s->name.text : "");
    if (s->kind == STMT_DEF) {
        buf_puts(b, s->def.indexed ? "[" : "");
        dump_args(b, &s->def.left);
        buf_printf(b, "%s%s", s->def.indexed ? "]" : "",
                   s->def.output ? " output" : s->def.add ? " +" : "");
    }
    dump_type(b, s->type);
    dump_tail(b, s, indent);
    buf_putc(b, '\n');
}

static void dump_body(Buf *b, const Body *body, int indent)
{
    buf_puts(b, " {\n");
    for (int i = 0; i < body->n; i++)
        dump_stmt(b, body->stmt[i], indent + 2);
    buf_printf(b, "%*s}", indent, "");
}

static void dump_item(Buf *b, const Item *it)
{
    if (it->doc)
        buf_printf(b, "doc: %s\n", it->doc);
    buf_printf(b, "%s %s\n", item_kind_name(it->kind), it->name.text);
    for (int i = 0; i < it->n_param; i++) {
        buf_printf(b, "  arg %s", it->param[i].name.text);
        dump_type(b, it->param[i].type);
        dump_value(b, it->param[i].value);
        buf_putc(b, '\n');
    }
    for (int i = 0; i < it->n_attr; i++) {
        const Attr *a = &it->attr[i];
        bool list = a->kind == ATTR_COUNT || a->kind == ATTR_LIST;
        buf_printf(b, "  attr %s%s%s", a->kind == ATTR_TYPE ? "type " : "",
                   a->name.text, list ? "[" : "");
        if (a->count)
            dump_expr(b, a->count);
        buf_puts(b, list ? "]" : "");
        dump_value(b, a->value);
        buf_putc(b, '\n');
    }
    if (it->result.text) {
        buf_printf(b, "  gives %s", it->result.text);
        dump_type(b, it->result_type);
        buf_putc(b, '\n');
    }
    if (it->has_body) {
        dump_body(b, &it->body, 0);
        buf_putc(b, '\n');
    }
}

void ast_dump(Buf *b, const Program *p, const Source *only)
{
    for (int i = 0; i < p->n_item; i++)
        if (only ? p->item[i]->name.at.source == only : !p->item[i]->library)
            dump_item(b, p->item[i]);
}
