#include "emit/tree_value.h"

/* Replacing a name by what it always is, and the arithmetic after that. An
 * expression is read by its grammar and written again; what the reader does not
 * know stays as it is. */

enum { BINDS_CHOICE = 0, BINDS_UNARY = 11, BINDS_ATOM = 12 };

typedef struct Piece {
    Token *at;
    int n, cap;
    int binds;
    bool is_number, fresh; /* fresh: it may be folded into what is around */
    bool changed;
    int64_t value;
} Piece;

typedef struct Folder {
    Arena *arena;
    Code c;
    int at;
    bool bad;
} Folder;

static Piece fold_assign(Folder *f);
static Piece fold_unary(Folder *f);

static bool folds(const Folder *f, const char *s)
{
    return f->at < f->c.n && f->c.at[f->at].kind != TOKEN_STRING &&
           token_is(&f->c.at[f->at], s);
}

static void put_token(Folder *f, Piece *p, Token t)
{
    VEC_PUSH(f->arena, p->at, p->n, p->cap) = t;
}

static void put_next(Folder *f, Piece *p)
{
    if (f->at >= f->c.n)
        f->bad = true;
    else
        put_token(f, p, f->c.at[f->at++]);
}

/* Appends q, in parentheses if it binds less than `need`; its first token has
 * a blank before it if `space`. */
static void put_piece(Folder *f, Piece *p, const Piece *q, int need, bool space)
{
    bool wrap = q->binds < need;

    if (wrap)
        put_token(f, p, (Token){.s = "(", .kind = TOKEN_MARK, .space = space});
    for (int i = 0; i < q->n; i++) {
        Token t = q->at[i];
        if (!i)
            t.space = !wrap && space;
        put_token(f, p, t);
    }
    if (wrap)
        put_token(f, p, (Token){.s = ")", .kind = TOKEN_MARK});
    p->changed |= q->changed;
}

static Piece number(Folder *f, int64_t v)
{
    Piece p = {.binds = BINDS_ATOM,
               .is_number = true,
               .fresh = true,
               .changed = true,
               .value = v};

    put_token(f, &p,
              (Token){.s = arena_printf(f->arena, "%lld", (long long)v),
                      .kind = TOKEN_NUMBER,
                      .fresh = true});
    return p;
}

static bool is_fresh(const Piece *p, int64_t v)
{
    return p->is_number && p->fresh && p->value == v;
}

/* Whether leaving p out leaves nothing undone. */
static bool is_pure(const Piece *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->at[i].kind == TOKEN_MARK &&
            (token_is(&p->at[i], "++") || token_is(&p->at[i], "--") ||
             token_is(&p->at[i], "=")))
            return false;
        else if (i && token_is(&p->at[i], "(") &&
                 p->at[i - 1].kind == TOKEN_WORD)
            return false;
    return true;
}

static bool compute(const char *op, int64_t a, int64_t b, int64_t *v)
{
    switch (*op) {
    case '+':
        *v = a + b;
        break;
    case '-':
        *v = a - b;
        break;
    case '*':
        *v = a * b;
        break;
    case '/':
        *v = b ? a / b : -1;
        break;
    case '%':
        *v = b ? a % b : -1;
        break;
    case '<':
        *v = op[1] == '<' ? -1 : op[1] ? a <= b : a < b;
        break;
    case '>':
        *v = op[1] == '>' ? -1 : op[1] ? a >= b : a > b;
        break;
    case '=':
        *v = a == b;
        break;
    case '!':
        *v = a != b;
        break;
    case '&':
        *v = op[1] ? a && b : (a & b);
        break;
    case '|':
        *v = op[1] ? a || b : (a | b);
        break;
    case '^':
        *v = a ^ b;
        break;
    default:
        return false;
    }
    return *v >= 0 && *v < INT32_MAX;
}

/* left op right, where a fresh number makes it one of them, or a number. */
static bool simplify(Folder *f, const char *op, const Piece *l, const Piece *r,
                     Piece *out)
{
    int64_t v;
    bool zero_left = is_fresh(l, 0), zero_right = is_fresh(r, 0);

    if (l->is_number && r->is_number && (l->fresh || r->fresh) &&
        compute(op, l->value, r->value, &v))
        return *out = number(f, v), true;
    if ((zero_left && strchr("*/%", *op) && is_pure(r)) ||
        (zero_right && *op == '*' && is_pure(l)) ||
        (*op == '%' && is_fresh(r, 1) && is_pure(l)))
        return *out = number(f, 0), true;
    if (!strcmp(op, "&&") || !strcmp(op, "||")) {
        bool ends = *op == '|'; /* what decides it */
        if (l->is_number && l->fresh)
            return *out = (l->value != 0) == ends ? number(f, ends) : *r, true;
        if (r->is_number && r->fresh && (r->value != 0) != ends)
            return *out = *l, true;
        return false;
    }
    if ((zero_right &&
         (strchr("+-|^", *op) || !strcmp(op, "<<") || !strcmp(op, ">>"))) ||
        (is_fresh(r, 1) && (*op == '*' || *op == '/')))
        return *out = *l, true;
    if ((zero_left && strchr("+|^", *op)) || (is_fresh(l, 1) && *op == '*'))
        return *out = *r, true;
    return false;
}

/* From the bracket at the folder to the one that closes it: what is between
 * commas is folded. */
static void fold_bracket(Folder *f, Piece *p)
{
    int end = code_after_bracket(f->c, f->at) - 1;

    put_next(f, p);
    while (f->at < end && !f->bad) {
        bool space = f->c.at[f->at].space;
        Piece q = fold_assign(f);
        put_piece(f, p, &q, BINDS_CHOICE, space);
        if (f->at < end && !folds(f, ","))
            f->bad = true;
        else if (f->at < end)
            put_next(f, p);
    }
    if (f->at != end)
        f->bad = true;
    else
        put_next(f, p);
}

static void fold_rest(Folder *f, Piece *p)
{
    while (f->at < f->c.n && !f->bad) {
        const Token *t = &f->c.at[f->at];
        if (t->kind != TOKEN_MARK)
            return;
        if (strchr("[(", *t->s)) {
            fold_bracket(f, p);
        } else if (token_is(t, "<") && !t->space) {
            int end = code_after_bracket(f->c, f->at);
            while (f->at < end)
                put_next(f, p);
        } else if (token_is(t, ".") || token_is(t, "->") || token_is(t, "::")) {
            put_next(f, p);
            put_next(f, p);
        } else if (token_is(t, "++") || token_is(t, "--")) {
            put_next(f, p);
        } else {
            return;
        }
        p->is_number = p->fresh = false;
    }
}

static Piece fold_operand(Folder *f)
{
    Piece p = {.binds = BINDS_ATOM};

    if (f->at >= f->c.n) {
        f->bad = true;
        return p;
    }
    const Token *t = &f->c.at[f->at];
    if (token_is(t, "(") && t->kind == TOKEN_MARK) {
        Token open = *t;
        f->at++;
        Piece inner = fold_assign(f);
        if (!folds(f, ")"))
            f->bad = true;
        Token close = f->at < f->c.n ? f->c.at[f->at++] : open;
        if (inner.changed && !f->bad) {
            if (f->at < f->c.n && f->c.at[f->at].kind == TOKEN_MARK &&
                strchr("[(.", *f->c.at[f->at].s)) {
                put_piece(f, &p, &inner, BINDS_ATOM, open.space);
                fold_rest(f, &p);
                return p;
            }
            return inner;
        }
        put_token(f, &p, open);
        put_piece(f, &p, &inner, BINDS_CHOICE, inner.n && inner.at->space);
        put_token(f, &p, close);
        fold_rest(f, &p);
        return p;
    }
    if (token_is(t, "{")) {
        fold_bracket(f, &p);
        return p;
    }
    if (t->kind == TOKEN_MARK)
        f->bad = true;
    p.is_number = token_integer(t, &p.value);
    p.fresh = p.changed = t->fresh;
    put_next(f, &p);
    if (f->at < f->c.n && t->kind == TOKEN_STRING &&
        f->c.at[f->at].kind == TOKEN_STRING)
        f->bad = true;
    fold_rest(f, &p);
    return p;
}

static Piece fold_unary(Folder *f)
{
    static const char *const ops[] = {"-", "!", "&", "*", "~", "++", "--", "+"};
    Piece p = {.binds = BINDS_UNARY};

    if (code_is_cast(f->c, f->at)) {
        int end = code_after_bracket(f->c, f->at);
        while (f->at < end)
            put_next(f, &p);
        Piece q = fold_unary(f);
        if (q.is_number && q.fresh)
            return q;
        put_piece(f, &p, &q, BINDS_UNARY, false);
        return p;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (folds(f, ops[i])) {
            put_next(f, &p);
            Piece q = fold_unary(f);
            if (*ops[i] == '!' && q.is_number && q.fresh)
                return number(f, !q.value);
            if (*ops[i] == '-' && !ops[i][1] && is_fresh(&q, 0))
                return q;
            /* -(-x) is not --x */
            bool sign =
                q.n && q.at[0].kind == TOKEN_MARK && q.binds == BINDS_UNARY;
            put_piece(f, &p, &q, sign ? BINDS_ATOM : BINDS_UNARY, false);
            return p;
        }
    if (folds(f, "sizeof"))
        f->bad = true;
    return fold_operand(f);
}

static Piece fold_binary(Folder *f, int least)
{
    Piece left = fold_unary(f);

    while (f->at < f->c.n && !f->bad) {
        Token op = f->c.at[f->at];
        int binds = token_binds(&op);
        if (!binds || binds < least)
            break;
        f->at++;
        bool space = f->at < f->c.n && f->c.at[f->at].space;
        Piece right = fold_binary(f, binds + 1), both = {.binds = binds};
        if (simplify(f, op.s, &left, &right, &both)) {
            both.changed = true;
            left = both;
            continue;
        }
        put_piece(f, &both, &left, binds, false);
        put_token(f, &both, op);
        put_piece(f, &both, &right, binds + 1, space);
        left = both;
    }
    return left;
}

static Piece fold_choice(Folder *f)
{
    Piece c = fold_binary(f, 1), p = {.binds = BINDS_CHOICE};

    if (!folds(f, "?") || f->bad)
        return c;
    Token ask = f->c.at[f->at++];
    Piece a = fold_choice(f);
    if (!folds(f, ":")) {
        f->bad = true;
        return c;
    }
    Token colon = f->c.at[f->at++];
    Piece b = fold_choice(f);
    if (c.is_number && c.fresh) {
        p = c.value ? a : b;
        p.changed = true;
        return p;
    }
    put_piece(f, &p, &c, 1, false);
    put_token(f, &p, ask);
    put_piece(f, &p, &a, BINDS_CHOICE, true);
    put_token(f, &p, colon);
    put_piece(f, &p, &b, BINDS_CHOICE, true);
    return p;
}

static bool assigns(const Token *t)
{
    size_t n = strlen(t->s);

    return t->kind == TOKEN_MARK && t->s[n - 1] == '=' &&
           (n == 1 || (!token_binds(t) && n < 4));
}

static Piece fold_assign(Folder *f)
{
    Piece p = fold_choice(f);

    while (f->at < f->c.n && assigns(&f->c.at[f->at]) && !f->bad) {
        put_next(f, &p);
        bool space = f->at < f->c.n && f->c.at[f->at].space;
        Piece q = fold_choice(f);
        put_piece(f, &p, &q, BINDS_CHOICE, space);
        p.is_number = p.fresh = false;
        p.binds = -1;
    }
    return p;
}

/* An expression, or several between commas. */
static void fold_list(Folder *f, Piece *p)
{
    while (f->at < f->c.n && !f->bad) {
        bool space = f->c.at[f->at].space;
        Piece q = fold_assign(f);
        put_piece(f, p, &q, -1, space);
        if (f->at >= f->c.n)
            return;
        if (!folds(f, ","))
            f->bad = true;
        else
            put_next(f, p);
    }
}

static Code fold_code(Arena *a, Code c)
{
    Declared d[MAX_DECLARED];
    Folder f = {.arena = a, .c = c};
    Piece p = {0};
    int type = 0;

    if (c.n && token_is(&c.at[0], "return"))
        type = 1;
    else if (!code_declares(c, d, &type))
        type = 0;
    while (f.at < type)
        put_next(&f, &p);
    fold_list(&f, &p);
    return f.bad ? c : (Code){p.at, p.n};
}

Code code_replace(Arena *a, Code c, const char *id, Token t)
{
    if (!code_mentions(c, id))
        return c;
    Token *new = arena_array(a, Token, c.n);
    for (int i = 0; i < c.n; i++) {
        new[i] = c.at[i];
        if (!token_is(&c.at[i], id) || !code_names(c, i))
            continue;
        new[i] = t;
        new[i].space = c.at[i].space;
        new[i].fresh = t.kind == TOKEN_NUMBER;
    }
    c.at = new;
    c = t.kind == TOKEN_NUMBER ? fold_code(a, c) : c;
    /* what stays is as if it had been written so */
    Token *settled = arena_array(a, Token, c.n);
    for (int i = 0; i < c.n; i++) {
        settled[i] = c.at[i];
        settled[i].fresh = false;
    }
    return (Code){settled, c.n};
}

typedef struct Replacing {
    Arena *arena;
    const char *id;
    Token by;
} Replacing;

static void replace_one(Code *c, void *ctx)
{
    const Replacing *r = ctx;

    *c = code_replace(r->arena, *c, r->id, r->by);
}

void tree_replace(Arena *a, Tree *in, const char *id, Token t)
{
    tree_codes(in, replace_one, &(Replacing){a, id, t});
}

/* ---- the contrary ------------------------------------------------------ */

/* The only operator of c outside brackets that binds as loosely as a
 * comparison, or -1. */
static int only_comparison(Code c)
{
    int at = -1, n = 0;

    for (int i = 0; i < c.n; i++) {
        if (c.at[i].kind == TOKEN_MARK &&
            (strchr("([{", *c.at[i].s) ||
             (token_is(&c.at[i], "<") && !c.at[i].space))) {
            i = code_after_bracket(c, i) - 1;
            continue;
        }
        int binds = token_binds(&c.at[i]);
        if (token_is(&c.at[i], "?"))
            return -1;
        if (i && binds && binds <= BINDS_LESS) {
            at = i;
            n++;
        }
    }
    return n == 1 && token_binds(&c.at[at]) >= BINDS_EQUAL ? at : -1;
}

static const char *contrary(const char *op)
{
    static const char *const pairs[][2] = {
        {"<", ">="}, {">", "<="}, {"==", "!="}};

    for (int i = 0; i < 3; i++) {
        if (!strcmp(op, pairs[i][0]))
            return pairs[i][1];
        if (!strcmp(op, pairs[i][1]))
            return pairs[i][0];
    }
    return NULL;
}

/* The first `||` of c outside brackets, or -1; -2: it has an && too. */
static int first_or(Code c)
{
    int at = -1;

    for (int i = 0; i < c.n; i++) {
        if (c.at[i].kind == TOKEN_MARK && strchr("([{", *c.at[i].s)) {
            i = code_after_bracket(c, i) - 1;
            continue;
        }
        if (token_is(&c.at[i], "&&") || token_is(&c.at[i], "?"))
            return -2;
        if (at < 0 && token_is(&c.at[i], "||"))
            at = i;
    }
    return at;
}

static void append(Arena *a, Piece *p, Code c)
{
    for (int i = 0; i < c.n; i++)
        VEC_PUSH(a, p->at, p->n, p->cap) = c.at[i];
}

Code code_negate(Arena *a, Code c)
{
    Piece p = {0};
    int or = first_or(c), at = only_comparison(c);

    if (or > 0) {
        Token and = {.s = "&&", .kind = TOKEN_MARK, .space = true};
        Code left = code_negate(a, (Code){c.at, or });
        Code right = code_negate(a, (Code){c.at + or +1, c.n - or -1});
        append(a, &p, left);
        append(a, &p, (Code){&and, 1});
        append(a, &p, right);
        return (Code){p.at, p.n};
    }
    append(a, &p, c);
    if (at > 0) {
        p.at[at].s = contrary(c.at[at].s);
        return (Code){p.at, p.n};
    }
    if (token_is(&c.at[0], "!") && first_or(c) == -1 &&
        (c.n == 2 ||
         (token_is(&c.at[1], "(") && code_after_bracket(c, 1) == c.n)))
        return c.n == 2 ? (Code){p.at + 1, 1} : (Code){p.at + 2, c.n - 3};
    p.n = 0;
    bool atom = c.n == 1;
    Token head[] = {{.s = "!", .kind = TOKEN_MARK},
                    {.s = "(", .kind = TOKEN_MARK}};
    Token tail = {.s = ")", .kind = TOKEN_MARK};
    append(a, &p, (Code){head, atom ? 1 : 2});
    append(a, &p, c);
    if (p.n > 1)
        p.at[atom ? 1 : 2].space = false;
    head[0].space = c.at[0].space;
    p.at[0].space = c.at[0].space;
    if (!atom)
        append(a, &p, (Code){&tail, 1});
    return (Code){p.at, p.n};
}
