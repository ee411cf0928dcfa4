/* idx_print.c - index expressions and conditions as C, and for dumps. */
#include "graph/graph.h"
#include "index/idx.h"

#include <inttypes.h>
#include <limits.h>

/* Where a piece of text goes. The two sides of * / % differ. */
enum { ALONE, IN_SUM, LEFT_OF_MUL, RIGHT_OF_MUL };

typedef struct Print {
    Buf *b;
    const IdxPrinter *how;
    bool plain; /* a dump: / and % are floor division */
} Print;

/* One summand: c * atom, or c * (a % d) where atom is NULL. */
typedef struct Item {
    int64_t c, d;
    const Atom *atom;
    const Idx *a;
} Item;

typedef struct Items {
    Item item[2 * IDX_MAX_TERMS];
    int n;
    int64_t k;
} Items;

static void print_idx(const Print *p, const Idx *e, int prec);

static void print_int(const Print *p, int64_t k)
{
    if (k == INT64_MIN)
        buf_puts(p->b, "(-9223372036854775807LL - 1)");
    else
        buf_printf(p->b, "%" PRId64 "%s", k,
                   k > INT_MAX || k < INT_MIN + 1 ? "LL" : "");
}

static void open_if(const Print *p, bool yes)
{
    if (yes)
        buf_putc(p->b, '(');
}

static void close_if(const Print *p, bool yes)
{
    if (yes)
        buf_putc(p->b, ')');
}

/* a / d or a % d, floor. */
static void print_division(const Print *p, const Idx *a, int64_t d, char op,
                           int prec)
{
    if (p->plain || a->lo >= 0) {
        open_if(p, prec == RIGHT_OF_MUL);
        print_idx(p, a, LEFT_OF_MUL);
        buf_printf(p->b, " %c ", op);
        print_int(p, d);
        close_if(p, prec == RIGHT_OF_MUL);
        return;
    }
    buf_puts(p->b, op == '/' ? "dcc_floordiv(" : "dcc_floormod(");
    print_idx(p, a, ALONE);
    buf_puts(p->b, ", ");
    print_int(p, d);
    buf_putc(p->b, ')');
}

static void print_atom(const Print *p, const Atom *a, int prec)
{
    switch (a->kind) {
    case ATOM_VAR:
        p->how->var(p->b, a->var, p->how->ctx);
        break;
    case ATOM_FLOOR:
        print_division(p, a->a, a->d, '/', prec);
        break;
    case ATOM_MIN:
    case ATOM_MAX:
        buf_puts(p->b, a->kind == ATOM_MIN ? "min(" : "max(");
        print_idx(p, a->a, ALONE);
        buf_puts(p->b, ", ");
        print_idx(p, a->b, ALONE);
        buf_putc(p->b, ')');
        break;
    case ATOM_DATA:
        if (a->data)
            p->how->data(p->b, a->data, p->how->ctx);
        else
            buf_puts(p->b, "dcc_unknown");
        break;
    }
}

/* |c| * what; the sign is printed already. */
static void print_item(const Print *p, const Item *i, int prec)
{
    bool times = i->c != 1 && i->c != -1;
    open_if(p, times && prec == RIGHT_OF_MUL);
    if (times) {
        print_int(p, i->c < 0 ? -i->c : i->c);
        buf_puts(p->b, " * ");
    }
    int inner = times ? RIGHT_OF_MUL : prec;
    if (i->atom)
        print_atom(p, i->atom, inner);
    else
        print_division(p, i->a, i->d, '%', inner);
    close_if(p, times && prec == RIGHT_OF_MUL);
}

static void take_items(Items *out, const Idx *e)
{
    int mods = 0;
    out->n = 0;
    for (; e->mod; e = e->mod->rest) {
        const IdxMod *m = e->mod;
        out->item[out->n++] = (Item){m->m, m->d, NULL, m->a};
        mods++;
    }
    out->k = e->k;
    /* plain terms first, in the order of their variables */
    memmove(&out->item[e->n], out->item, sizeof *out->item * (size_t)mods);
    for (int i = 0; i < e->n; i++)
        out->item[i] = (Item){e->term[i].c, 0, e->term[i].atom, NULL};
    out->n += e->n;
}

/* Prints the summands whose sign is `sign`, and k if its sign is that too,
 * all with that sign turned to +. "0" if there is none. */
static void print_side(const Print *p, const Items *s, int sign)
{
    bool any = false;
    for (int i = 0; i < s->n; i++) {
        if ((s->item[i].c > 0) != (sign > 0))
            continue;
        buf_puts(p->b, any ? " + " : "");
        print_item(p, &s->item[i], IN_SUM);
        any = true;
    }
    if (any && (s->k == 0 || (s->k > 0) != (sign > 0)))
        return;
    buf_puts(p->b, any ? " + " : "");
    print_int(p, (s->k > 0) == (sign > 0) ? (s->k < 0 ? -s->k : s->k) : 0);
}

static void print_sum(const Print *p, const Items *s)
{
    bool any = false, first_k = s->k > 0;
    for (int i = 0; i < s->n; i++)
        first_k &= s->item[i].c < 0;
    if (first_k)
        print_int(p, s->k);
    any = first_k;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int i = 0; i < s->n; i++) {
            if ((s->item[i].c > 0) != (sign > 0))
                continue;
            buf_puts(p->b, sign > 0 ? (any ? " + " : "")
                                    : (any ? " - " : "-"));
            print_item(p, &s->item[i], any ? IN_SUM : LEFT_OF_MUL);
            any = true;
        }
    }
    if (s->k && !first_k) {
        buf_puts(p->b, s->k > 0 ? " + " : " - ");
        print_int(p, s->k < 0 ? -s->k : s->k);
    }
}

static void print_idx(const Print *p, const Idx *e, int prec)
{
    Items s;
    take_items(&s, e);
    if (s.n == 0) {
        open_if(p, e->k < 0 && prec > ALONE);
        print_int(p, e->k);
        close_if(p, e->k < 0 && prec > ALONE);
    } else if (s.n == 1 && s.k == 0 && s.item[0].c > 0) {
        print_item(p, &s.item[0], prec);
    } else {
        open_if(p, prec >= LEFT_OF_MUL);
        print_sum(p, &s);
        close_if(p, prec >= LEFT_OF_MUL);
    }
}

void idx_print(Buf *b, const Idx *e, const IdxPrinter *how, int prec)
{
    Print p = {b, how, false};
    print_idx(&p, e, prec >= 2 ? RIGHT_OF_MUL : prec);
}

/* lhs >= rhs with only positive summands; a constant alone goes right. */
static void print_ge(const Print *p, const Idx *e)
{
    Items s;
    int positive = 0;
    take_items(&s, e);
    for (int i = 0; i < s.n; i++)
        positive += s.item[i].c > 0;
    if (positive == 0 && s.k > 0 && s.k < INT64_MAX) { /* k >= x: x < k + 1 */
        int64_t k = s.k + 1;
        s.k = 0;
        print_side(p, &s, -1);
        buf_puts(p->b, " < ");
        print_int(p, k);
        return;
    }
    if (s.k == -1 && positive > 0 && positive < s.n) { /* x - y - 1 >= 0 */
        s.k = 0;
        print_side(p, &s, 1);
        buf_puts(p->b, " > ");
    } else {
        print_side(p, &s, 1);
        buf_puts(p->b, " >= ");
    }
    print_side(p, &s, -1);
}

static void print_cond(const Print *p, Cond c)
{
    if (c.mod == 0) {
        print_ge(p, c.e);
        return;
    }
    /* zero is zero, however % rounds */
    print_idx(p, c.e, LEFT_OF_MUL);
    buf_puts(p->b, " % ");
    print_int(p, c.mod);
    buf_puts(p->b, " == 0");
}

void cond_print(Buf *b, Cond c, const IdxPrinter *how)
{
    Print p = {b, how, false};
    print_cond(&p, c);
}

static void dump_var(Buf *b, const Var *v, void *ctx)
{
    (void)ctx;
    buf_puts(b, v->name);
}

static void dump_data(Buf *b, const struct Expr *e, void *ctx)
{
    (void)ctx;
    buf_putc(b, '{');
    expr_dump(b, e);
    buf_putc(b, '}');
}

static const IdxPrinter dump_printer = {dump_var, dump_data, NULL};

void idx_dump(Buf *b, const Idx *e)
{
    Print p = {b, &dump_printer, true};
    print_idx(&p, e, ALONE);
}

void guard_dump(Buf *b, Guard g)
{
    Print p = {b, &dump_printer, true};
    if (g.n == 0)
        buf_puts(b, "true");
    for (int i = 0; i < g.n; i++) {
        buf_puts(b, i ? " && " : "");
        print_cond(&p, g.cond[i]);
    }
}
