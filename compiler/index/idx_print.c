/* idx_print.c - index expressions and conditions as C, and for dumps. */
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

/* How a piece is computed: as its range asks, or in long long. */
typedef enum { BY_RANGE, WIDE } Width;

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

static void print_idx(const Print *p, const Idx *e, int prec, Width w);
static void take_items(Items *out, const Idx *e);

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

/* ---- widths ------------------------------------------------------------ */

typedef __int128 i128;

/* Of the sums of some summands, in any order. */
typedef struct Sums {
    i128 lo, hi;
} Sums;

static void add_range(Sums *s, int64_t c, int64_t lo, int64_t hi)
{
    i128 a = (i128)c * lo, b = (i128)c * hi;

    s->lo += a < b ? (a < 0 ? a : 0) : (b < 0 ? b : 0);
    s->hi += a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0);
}

static void add_item(Sums *s, const Item *i)
{
    if (i->atom)
        add_range(s, i->c, i->atom->lo, i->atom->hi);
    else
        add_range(s, i->c, 0, i->a->lo >= 0 && i->a->hi < i->d ? i->a->hi
                                                               : i->d - 1);
}

static bool fits_int(const Sums *s)
{
    return s->lo >= INT_MIN && s->hi <= INT_MAX;
}

static Sums sums_of(const Items *s)
{
    Sums all = {0};

    for (int i = 0; i < s->n; i++)
        add_item(&all, &s->item[i]);
    add_range(&all, s->k, 1, 1);
    return all;
}

static Width width_of(const Items *s)
{
    Sums all = sums_of(s);

    return fits_int(&all) ? BY_RANGE : WIDE;
}

bool idx_is_wide(const Idx *e)
{
    Items s;

    take_items(&s, e);
    return width_of(&s) == WIDE;
}

bool idx_is_computable(const Idx *e)
{
    Items s;

    take_items(&s, e);
    Sums all = sums_of(&s);
    bool ok = all.lo > INT64_MIN && all.hi < INT64_MAX;
    for (int i = 0; i < e->n && ok; i++) {
        const Atom *a = e->term[i].atom;
        ok = (a->kind != ATOM_DATA || a->data) &&
             (!a->a || idx_is_computable(a->a)) &&
             (!a->b || idx_is_computable(a->b));
    }
    for (int i = e->n; i < s.n && ok; i++) /* dividends of % */
        ok = idx_is_computable(s.item[i].a);
    return ok;
}

/* Whether the C text of an atom, or of a % d, is long long already. */
static bool is_long(const Item *i)
{
    const Atom *a = i->atom;

    if (!a)
        return i->d > INT_MAX || idx_is_long(i->a);
    if (a->kind == ATOM_FLOOR)
        return a->d > INT_MAX || idx_is_long(a->a);
    return (a->kind == ATOM_MIN || a->kind == ATOM_MAX) &&
           (idx_is_long(a->a) || idx_is_long(a->b));
}

bool idx_is_long(const Idx *e)
{
    Items s;

    take_items(&s, e);
    bool is = width_of(&s) == WIDE;
    for (int i = 0; i < s.n && !is; i++)
        is = is_long(&s.item[i]);
    return is;
}

/* ---- pieces ------------------------------------------------------------ */

/* a / d or a % d, floor. */
static void print_division(const Print *p, const Idx *a, int64_t d, char op,
                           int prec)
{
    Width w = d > INT_MAX ? WIDE : BY_RANGE;

    if (p->plain || a->lo >= 0) {
        open_if(p, prec == RIGHT_OF_MUL);
        print_idx(p, a, LEFT_OF_MUL, w);
        buf_printf(p->b, " %c ", op);
        print_int(p, d);
        close_if(p, prec == RIGHT_OF_MUL);
        return;
    }
    buf_puts(p->b, op == '/' ? "dcc_floordiv(" : "dcc_floormod(");
    print_idx(p, a, ALONE, w);
    buf_puts(p->b, ", ");
    print_int(p, d);
    buf_putc(p->b, ')');
}

static void put_data(const Print *p, const Atom *a)
{
    if (p->how->data) {
        p->how->data(p->b, a->data, p->how->ctx);
        return;
    }
    buf_putc(p->b, '{');
    a->of->dump(p->b, a->data);
    buf_putc(p->b, '}');
}

static void print_atom(const Print *p, const Atom *a, int prec)
{
    Width w = BY_RANGE;

    switch (a->kind) {
    case ATOM_VAR:
        p->how->var(p->b, a->var, p->how->ctx);
        break;
    case ATOM_FLOOR:
        print_division(p, a->a, a->d, '/', prec);
        break;
    case ATOM_MIN:
    case ATOM_MAX:
        if (idx_is_long(a->a) || idx_is_long(a->b))
            w = WIDE; /* the two are of one type */
        buf_puts(p->b, a->kind == ATOM_MIN ? "min(" : "max(");
        print_idx(p, a->a, ALONE, w);
        buf_puts(p->b, ", ");
        print_idx(p, a->b, ALONE, w);
        buf_putc(p->b, ')');
        break;
    case ATOM_DATA:
        if (a->data)
            put_data(p, a);
        else
            buf_puts(p->b, "dcc_unknown");
        break;
    }
}

/* |c| * what; the sign is printed already. */
static void print_item(const Print *p, const Item *i, int prec, Width w)
{
    bool times = i->c != 1 && i->c != -1;
    bool cast = w == WIDE && p->how->ints && !is_long(i);
    open_if(p, times && prec == RIGHT_OF_MUL);
    if (times) {
        print_int(p, i->c < 0 ? -i->c : i->c);
        buf_puts(p->b, " * ");
    }
    int inner = times || cast ? RIGHT_OF_MUL : prec;
    buf_puts(p->b, cast ? "(long long)" : "");
    if (i->atom)
        print_atom(p, i->atom, inner);
    else
        print_division(p, i->a, i->d, '%', inner);
    close_if(p, times && prec == RIGHT_OF_MUL);
}

typedef struct First {
    int var;
} First;

static void see_var(const Atom *a, void *ctx)
{
    First *f = ctx;

    if (a->kind == ATOM_VAR && a->var->id < f->var)
        f->var = a->var->id;
}

/* The first variable of an atom; atoms themselves are numbered as they were
 * met, which depends on what a search tried before. */
static int first_var(const Atom *a)
{
    First f = {INT_MAX};

    see_var(a, &f);
    if (a->a)
        idx_visit(a->a, see_var, &f);
    if (a->b)
        idx_visit(a->b, see_var, &f);
    return f.var;
}

static void sort_items(Item *item, int n)
{
    int key[IDX_MAX_TERMS];

    for (int i = 0; i < n; i++) {
        Item it = item[i];
        int k = first_var(it.atom), j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            item[j] = item[j - 1];
        }
        key[j] = k;
        item[j] = it;
    }
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
    sort_items(out->item, e->n);
    out->n += e->n;
}

/* Of one side of a comparison, which is a sum of its own. */
static Width side_width(const Items *s, int sign)
{
    Sums all = {0};

    for (int i = 0; i < s->n; i++) {
        Item part = s->item[i];
        if ((part.c > 0) != (sign > 0))
            continue;
        part.c = part.c < 0 ? -part.c : part.c;
        add_item(&all, &part);
    }
    if ((s->k > 0) == (sign > 0))
        add_range(&all, sign, s->k, s->k);
    return fits_int(&all) ? BY_RANGE : WIDE;
}

/* Prints the summands whose sign is `sign`, and k if its sign is that too,
 * all with that sign turned to +. "0" if there is none. */
static void print_side(const Print *p, const Items *s, int sign)
{
    bool any = false;
    Width w = side_width(s, sign);
    for (int i = 0; i < s->n; i++) {
        if ((s->item[i].c > 0) != (sign > 0))
            continue;
        buf_puts(p->b, any ? " + " : "");
        print_item(p, &s->item[i], IN_SUM, w);
        any = true;
    }
    if (any && (s->k == 0 || (s->k > 0) != (sign > 0)))
        return;
    buf_puts(p->b, any ? " + " : "");
    print_int(p, (s->k > 0) == (sign > 0) ? (s->k < 0 ? -s->k : s->k) : 0);
}

static void print_sum(const Print *p, const Items *s, Width w)
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
            print_item(p, &s->item[i], any ? IN_SUM : LEFT_OF_MUL, w);
            any = true;
        }
    }
    if (s->k && !first_k) {
        buf_puts(p->b, s->k > 0 ? " + " : " - ");
        print_int(p, s->k < 0 ? -s->k : s->k);
    }
}

static void print_idx(const Print *p, const Idx *e, int prec, Width w)
{
    Items s;
    take_items(&s, e);
    if (width_of(&s) == WIDE)
        w = WIDE;
    if (s.n == 0) {
        open_if(p, e->k < 0 && prec > ALONE);
        print_int(p, e->k);
        close_if(p, e->k < 0 && prec > ALONE);
    } else if (s.n == 1 && s.k == 0 && s.item[0].c > 0) {
        print_item(p, &s.item[0], prec, w);
    } else {
        open_if(p, prec >= LEFT_OF_MUL);
        print_sum(p, &s, w);
        close_if(p, prec >= LEFT_OF_MUL);
    }
}

void idx_print(Buf *b, const Idx *e, const IdxPrinter *how, int prec)
{
    Print p = {b, how, false};
    print_idx(&p, e, prec >= 2 ? RIGHT_OF_MUL : prec,
              how->wide ? WIDE : BY_RANGE);
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
    print_idx(p, c.e, LEFT_OF_MUL, BY_RANGE);
    buf_puts(p->b, " % ");
    print_int(p, c.mod);
    buf_puts(p->b, " == 0");
}

void cond_print(Buf *b, Cond c, const IdxPrinter *how)
{
    Print p = {b, how, false};
    print_cond(&p, c);
}

void cond_print_zero(Buf *b, const Idx *e, const IdxPrinter *how)
{
    Print p = {b, how, false};
    Items s;

    take_items(&s, e);
    print_side(&p, &s, 1);
    buf_puts(b, " == ");
    print_side(&p, &s, -1);
}

static void dump_var(Buf *b, const Var *v, void *ctx)
{
    (void)ctx;
    buf_puts(b, v->name);
}

static const IdxPrinter dump_printer = {.var = dump_var};

void idx_dump(Buf *b, const Idx *e)
{
    Print p = {b, &dump_printer, true};
    print_idx(&p, e, ALONE, BY_RANGE);
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
