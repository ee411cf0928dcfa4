#include "ast_line.h"

#include <limits.h>
#include <stdlib.h>

/* ---- breaking */

void line_free(Line *l)
{
    buf_free(&l->text);
    free(l->brk);
    *l = (Line){0};
}

static void blank(Line *l, int level)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 32;
        Break *brk = realloc(l->brk, sizeof *brk * (size_t)cap);
        if (brk) {
            l->brk = brk;
            l->cap = cap;
        }
    }
    if (l->n < l->cap)
        l->brk[l->n++] = (Break){l->text.len, level};
    buf_putc(&l->text, ' ');
}

/* The break to take for the line that begins at `from`: of the lowest level
 * that fits, the last; else the first there is. The one after a `=` is taken
 * if then all the rest fits a line (of `more` bytes), or if a break of the
 * lowest level fits only then. NULL: none. */
static const Break *choose(const Line *l, size_t from, size_t width,
                           size_t more, size_t len)
{
    const Break *best = NULL, *last = NULL, *first = NULL, *low = NULL;

    for (int i = 0; i < l->n; i++) {
        const Break *b = &l->brk[i];
        if (b->at <= from)
            continue;
        if (b->level == LINE_LAST && b->at - from <= width) {
            last = b;
            continue;
        }
        first = first ? first : b;
        if (!low || b->level < low->level)
            low = b;
        if (b->at - from <= width && (!best || b->level <= best->level))
            best = b;
    }
    if (last && (len - last->at - 1 <= more || !best ||
                 (best->level > low->level && low->at - last->at - 1 <= more)))
        return last;
    return best ? best : first;
}

/* How many brackets are open at the break. */
static int nesting(const Line *l, size_t at)
{
    int n = at < l->arrow ? -1 : 0;
    bool string = false;

    for (size_t i = 0; i < at; i++) {
        char c = l->text.text[i];
        string ^= c == '"';
        if (!string)
            n += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    return n < 0 ? 0 : n < 6 ? n : 6;
}

void line_put(Buf *b, const Line *l, int col, int indent, int tail)
{
    size_t from = 0, width = col < LINE_WIDTH ? LINE_WIDTH - (size_t)col : 1;
    size_t len = l->text.len + (size_t)tail;
    int base = indent < LINE_WIDTH / 2 ? indent : LINE_WIDTH / 2;

    while (len - from > width) {
        const Break *brk = choose(
            l, from, width, (size_t)(LINE_WIDTH - base - LINE_MORE), len);
        if (!brk)
            break;
        buf_putn(b, l->text.text + from, brk->at - from);
        int more = base + LINE_MORE * (1 + nesting(l, brk->at));
        buf_printf(b, "\n%*s", more, "");
        from = brk->at + 1;
        width = LINE_WIDTH - (size_t)more;
    }
    if (l->text.len > from)
        buf_putn(b, l->text.text + from, l->text.len - from);
}

/* ---- expressions */

static void put_string(Line *l, const String *s)
{
    buf_putc(&l->text, '"');
    for (int i = 0; i < s->n; i++) {
        if (!s->part[i].value) {
            buf_puts(&l->text, s->part[i].text);
            continue;
        }
        Line hole = {0};
        line_expr(&hole, s->part[i].value, 0);
        buf_printf(&l->text, "{%s}", buf_text(&hole.text));
        line_free(&hole);
    }
    buf_putc(&l->text, '"');
}

static void put_range(Line *l, const Range *r, int level)
{
    line_expr(l, r->from, level);
    buf_puts(&l->text, "..");
    line_expr(l, r->to, level);
}

static void put_arg(Line *l, const Arg *a, int level)
{
    switch (a->kind) {
    case ARG_VALUE:
        line_expr(l, a->value, level);
        break;
    case ARG_NAMED:
        buf_printf(&l->text, "%s = ", a->name.text);
        line_expr(l, a->value, level);
        break;
    case ARG_INDEX:
        buf_puts(&l->text, a->name.text);
        if (a->range.from) {
            buf_puts(&l->text, " in ");
            put_range(l, &a->range, level);
        }
        break;
    case ARG_PACK:
        buf_printf(&l->text, "%s..", a->name.text);
        break;
    }
}

static void put_args(Line *l, const char *open, const Args *args,
                     const char *close, int level)
{
    buf_puts(&l->text, open);
    for (int i = 0; i < args->n; i++) {
        if (i) {
            buf_putc(&l->text, ',');
            blank(l, level + 1);
        }
        put_arg(l, &args->arg[i], level + 2);
    }
    buf_puts(&l->text, close);
}

static int precedence(BinaryOp op)
{
    return op <= BIN_MOD ? 5 : op <= BIN_SUB ? 4 : op <= BIN_NE ? 3
           : op == BIN_AND ? 2 : 1;
}

static void put_binary(Line *l, const AstExpr *e, int level)
{
    const AstExpr *left = e->binary.left;
    bool chain = left->kind == EXPR_BINARY && !left->paren &&
                 precedence(left->binary.op) == precedence(e->binary.op);

    line_expr(l, left, chain ? level : level + 1);
    blank(l, level);
    buf_printf(&l->text, "%s ", binary_name(e->binary.op));
    line_expr(l, e->binary.right, level + 1);
}

static void put_read(Line *l, const AstExpr *e, int level)
{
    buf_puts(&l->text, e->read.name.text);
    put_args(l, "[", &e->read.at, "]", level);
    if (e->read.outside) {
        buf_puts(&l->text, " or ");
        line_expr(l, e->read.outside, level + 1);
    }
}

static void put_call(Line *l, const AstExpr *e, int level)
{
    buf_puts(&l->text, e->call.name.text);
    if (e->call.index) {
        buf_putc(&l->text, '[');
        line_expr(l, e->call.index, level + 1);
        buf_putc(&l->text, ']');
    }
    put_args(l, "(", &e->call.args, ")", level);
    if (e->call.has_as) {
        buf_puts(&l->text, " as ");
        put_string(l, &e->call.as);
    }
}

static void put_select(Line *l, const AstExpr *e, int level)
{
    line_expr(l, e->select.cond, level + 1);
    blank(l, level);
    buf_puts(&l->text, "? ");
    line_expr(l, e->select.yes, level + 1);
    blank(l, level);
    buf_puts(&l->text, ": ");
    line_expr(l, e->select.no, level);
}

static void put_bare(Line *l, const AstExpr *e, int level)
{
    switch (e->kind) {
    case EXPR_NUMBER:
        buf_puts(&l->text, e->number.text);
        break;
    case EXPR_STRING:
        put_string(l, &e->string);
        break;
    case EXPR_NAME:
        buf_puts(&l->text, e->name.text);
        break;
    case EXPR_READ:
        put_read(l, e, level);
        break;
    case EXPR_CALL:
        put_call(l, e, level);
        break;
    case EXPR_CAST:
        buf_printf(&l->text, "%s(", e->cast.name.text);
        line_expr(l, e->cast.value, level + 1);
        buf_putc(&l->text, ')');
        break;
    case EXPR_REDUCE:
        buf_puts(&l->text, e->reduce.name.text);
        put_args(l, "(", &e->reduce.index, ")", level + 1);
        blank(l, level + 1);
        line_expr(l, e->reduce.term, level + 2);
        break;
    case EXPR_UNARY:
        buf_putc(&l->text, e->unary.op == UN_NEG ? '-' : '!');
        line_expr(l, e->unary.value, level);
        break;
    case EXPR_BINARY:
        put_binary(l, e, level);
        break;
    case EXPR_SELECT:
        put_select(l, e, level);
        break;
    case EXPR_LIST:
        put_args(l, "[", &e->list, "]", level);
        break;
    }
}

void line_expr(Line *l, const AstExpr *e, int level)
{
    if (e->paren)
        buf_putc(&l->text, '(');
    put_bare(l, e, level + e->paren);
    if (e->paren)
        buf_putc(&l->text, ')');
}

/* ---- types and signatures */

static void line_type(Line *l, const AstType *t, int level)
{
    buf_puts(&l->text, t->name.text);
    if (!t->shaped)
        return;
    buf_putc(&l->text, '[');
    for (int i = 0; i < t->n_dim; i++) {
        const TypeDim *d = &t->dim[i];
        if (i) {
            buf_putc(&l->text, ',');
            blank(l, level + 1);
        }
        if (d->kind == DIM_SIZE)
            line_expr(l, d->size, level + 2);
        else if (d->kind == DIM_PACK)
            buf_printf(&l->text, "%s..", d->name.text);
        else
            buf_printf(&l->text, "%s @ %s", d->name.text, d->axis.text);
    }
    buf_putc(&l->text, ']');
}

static void put_attr(Line *l, const Attr *a, int level)
{
    bool list = a->kind == ATTR_COUNT || a->kind == ATTR_LIST;

    buf_printf(&l->text, "%s%s", a->kind == ATTR_TYPE ? "type " : "",
               a->name.text);
    if (list)
        buf_putc(&l->text, '[');
    if (a->kind == ATTR_COUNT)
        line_expr(l, a->count, level);
    if (list)
        buf_putc(&l->text, ']');
    if (a->value) {
        buf_puts(&l->text, " = ");
        line_expr(l, a->value, level);
    }
}

void line_signature(Line *l, const Item *it)
{
    buf_printf(&l->text, "%s %s", item_kind_name(it->kind), it->name.text);
    if (it->kind == ITEM_MODEL)
        return;
    buf_putc(&l->text, '(');
    for (int i = 0; i < it->n_param; i++) {
        const Param *x = &it->param[i];
        if (i) {
            buf_putc(&l->text, ',');
            blank(l, 2);
        }
        buf_printf(&l->text, "%s: ", x->name.text);
        line_type(l, x->type, 3);
        if (x->value) {
            buf_puts(&l->text, " = ");
            line_expr(l, x->value, 3);
        }
    }
    for (int i = 0; i < it->n_attr; i++) {
        buf_putc(&l->text, i ? ',' : ';');
        blank(l, i ? 2 : 1);
        put_attr(l, &it->attr[i], 3);
    }
    buf_putc(&l->text, ')');
    l->arrow = l->text.len;
    blank(l, 0);
    buf_printf(&l->text, "-> %s", it->result.text);
    if (it->result_type) {
        buf_puts(&l->text, ": ");
        line_type(l, it->result_type, 2);
    }
}

/* ---- statements */

void line_note(Line *l, const Note *n)
{
    buf_printf(&l->text, "@%s", n->name.text);
    if (n->args.n)
        put_args(l, "(", &n->args, ")", 1);
}

static void put_def(Line *l, const AstStmt *s)
{
    if (s->def.output)
        buf_puts(&l->text, "output ");
    buf_puts(&l->text, s->name.text);
    if (s->def.indexed)
        put_args(l, "[", &s->def.left, "]", 3);
    if (s->type) {
        buf_puts(&l->text, " : ");
        line_type(l, s->type, 3);
    }
    buf_puts(&l->text, s->def.add ? " +=" : " =");
    blank(l, LINE_LAST);
    line_expr(l, s->def.value, 0);
    buf_putc(&l->text, ';');
}

/* `word name : type` */
static void put_declaration(Line *l, const char *word, const AstStmt *s)
{
    buf_printf(&l->text, "%s %s : ", word, s->name.text);
    line_type(l, s->type, 2);
}

static void put_dim(Line *l, const AstStmt *s)
{
    buf_printf(&l->text, "dim %s ", s->name.text);
    if (s->dim.value) {
        buf_putc(&l->text, '=');
        blank(l, LINE_LAST);
        line_expr(l, s->dim.value, 0);
    } else {
        put_args(l, "in {", &s->dim.choices, "}", 0);
    }
    buf_putc(&l->text, ';');
}

void line_stmt(Line *l, const AstStmt *s)
{
    switch (s->kind) {
    case STMT_DIM:
        put_dim(l, s);
        break;
    case STMT_TYPE:
        buf_printf(&l->text, "type %s = %s;", s->name.text,
                   s->type->name.text);
        break;
    case STMT_INPUT:
        put_declaration(l, "input", s);
        if (s->input.from) {
            buf_puts(&l->text, " in ");
            put_range(l, &s->input, 2);
        }
        buf_putc(&l->text, ';');
        break;
    case STMT_PARAM:
    case STMT_STATE:
        put_declaration(l, s->kind == STMT_PARAM ? "param" : "state", s);
        if (s->param.has_path) {
            buf_puts(&l->text, " = ");
            put_string(l, &s->param.path);
        }
        if (s->param.start) {
            buf_puts(&l->text, s->param.has_path ? " or " : " = ");
            line_expr(l, s->param.start, 2);
        }
        buf_putc(&l->text, ';');
        break;
    case STMT_REQUIRE:
        buf_puts(&l->text, "require ");
        line_expr(l, s->require, 0);
        buf_putc(&l->text, ';');
        break;
    case STMT_DEF:
        put_def(l, s);
        break;
    case STMT_OUTPUT:
        buf_printf(&l->text, "output %s;", s->name.text);
        break;
    case STMT_FOR:
    case STMT_SCAN:
        buf_printf(&l->text, "%s %s in ", s->kind == STMT_FOR ? "for" : "scan",
                   s->name.text);
        if (s->loop.params)
            buf_puts(&l->text, "params");
        else
            put_range(l, &s->loop.range, 0);
        break;
    case STMT_IF:
        buf_puts(&l->text, "if (");
        line_expr(l, s->branch.cond, 0);
        buf_putc(&l->text, ')');
        break;
    }
}

/* ---- for messages: all on one line */

void ast_print_expr(Buf *b, const AstExpr *e)
{
    Line l = {0};

    line_expr(&l, e, 0);
    buf_puts(b, buf_text(&l.text));
    line_free(&l);
}

void ast_print_type(Buf *b, const AstType *t)
{
    Line l = {0};

    line_type(&l, t, 0);
    buf_puts(b, buf_text(&l.text));
    line_free(&l);
}

void ast_print_signature(Buf *b, const Item *it)
{
    Line l = {0};

    line_signature(&l, it);
    buf_puts(b, buf_text(&l.text));
    line_free(&l);
}
