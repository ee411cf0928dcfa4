#include "emit/tree_value.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

/* ---- ranges ------------------------------------------------------------ */

static const Range anything;

Range range_of(int64_t lo, int64_t hi)
{
    return (Range){.known = true, .lo = lo, .hi = hi};
}

void facts_add(Facts *f, const char *name, Range r)
{
    VEC_PUSH(f->arena, f->fact, f->n, f->cap) = (Fact){name, r};
}

static Range look_up(const Facts *f, const char *name)
{
    for (int i = f->n - 1; i >= 0; i--)
        if (!strcmp(f->fact[i].name, name))
            return f->fact[i].range;
    return anything;
}

/* An int's result, or nothing where it may overflow. */
static Range result(int64_t lo, int64_t hi, bool wraps)
{
    if (lo < INT_MIN || hi > INT_MAX || (wraps && lo < 0))
        return anything;
    return (Range){.known = true, .wraps = wraps, .lo = lo, .hi = hi};
}

static Range truth(bool never, bool always)
{
    return never ? range_of(0, 0) : always ? range_of(1, 1) : range_of(0, 1);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static Range multiply(Range a, Range b)
{
    int64_t p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;

    return result(least(least(p, q), least(r, s)), most(most(p, q), most(r, s)),
                  a.wraps || b.wraps);
}

static Range compare(const char *op, Range a, Range b)
{
    if ((a.wraps || b.wraps) && (a.lo < 0 || b.lo < 0))
        return range_of(0, 1);
    if (!strcmp(op, "<"))
        return truth(a.lo >= b.hi, a.hi < b.lo);
    if (!strcmp(op, ">"))
        return truth(a.hi <= b.lo, a.lo > b.hi);
    if (!strcmp(op, "<="))
        return truth(a.lo > b.hi, a.hi <= b.lo);
    if (!strcmp(op, ">="))
        return truth(a.hi < b.lo, a.lo >= b.hi);
    bool apart = a.hi < b.lo || a.lo > b.hi;
    bool equal = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    return !strcmp(op, "==") ? truth(apart, equal) : truth(equal, apart);
}

/* What a && b or a || b can be, where one side may be unknown. */
static Range logic(bool both, Range a, Range b)
{
    bool a0 = a.known && a.lo == 0 && a.hi == 0;
    bool b0 = b.known && b.lo == 0 && b.hi == 0;
    bool a1 = a.known && (a.lo > 0 || a.hi < 0);
    bool b1 = b.known && (b.lo > 0 || b.hi < 0);

    return both ? truth(a0 || b0, a1 && b1) : truth(a0 && b0, a1 || b1);
}

static Range binary(const char *op, Range a, Range b)
{
    bool wraps = a.wraps || b.wraps;

    if (!strcmp(op, "&&") || !strcmp(op, "||"))
        return logic(*op == '&', a, b);
    /* below a positive number whatever is divided */
    if (!strcmp(op, "%") && b.known && b.lo > 0 && a.known && a.lo >= 0)
        return result(a.hi < b.lo ? a.lo : 0, least(a.hi, b.hi - 1), wraps);
    if (!a.known || !b.known)
        return strchr("<>=!", *op) && strcmp(op, "<<") && strcmp(op, ">>")
                   ? range_of(0, 1)
                   : anything;
    if (!strcmp(op, "+"))
        return result(a.lo + b.lo, a.hi + b.hi, wraps);
    if (!strcmp(op, "-"))
        return result(a.lo - b.hi, a.hi - b.lo, wraps);
    if (!strcmp(op, "*"))
        return multiply(a, b);
    if (!strcmp(op, "/"))
        return b.lo > 0 && a.lo >= 0 ? result(a.lo / b.hi, a.hi / b.lo, wraps)
                                     : anything;
    if (token_binds(&(Token){.s = op, .kind = TOKEN_MARK}) == BINDS_LESS ||
        token_binds(&(Token){.s = op, .kind = TOKEN_MARK}) == BINDS_EQUAL)
        return compare(op, a, b);
    return anything;
}

/* ---- tokens ------------------------------------------------------------ */

int token_binds(const Token *t)
{
    static const struct {
        const char *op;
        int binds;
    } ops[] = {{"||", BINDS_OR},
               {"&&", BINDS_AND},
               {"|", 3},
               {"^", 4},
               {"&", 5},
               {"==", BINDS_EQUAL},
               {"!=", BINDS_EQUAL},
               {"<", BINDS_LESS},
               {">", BINDS_LESS},
               {"<=", BINDS_LESS},
               {">=", BINDS_LESS},
               {"<<", 8},
               {">>", 8},
               {"+", 9},
               {"-", 9},
               {"*", BINDS_MUL},
               {"/", BINDS_MUL},
               {"%", BINDS_MUL}};

    for (size_t i = 0; t->kind == TOKEN_MARK && i < sizeof ops / sizeof *ops;
         i++)
        if (token_is(t, ops[i].op))
            return ops[i].binds;
    return 0;
}

bool token_integer(const Token *t, int64_t *v)
{
    char *end;

    if (t->kind != TOKEN_NUMBER || strlen(t->s) > 10)
        return false;
    *v = strtoll(t->s, &end, 10);
    return !*end && (t->s[0] != '0' || !t->s[1]) && *v <= INT_MAX;
}

bool code_is_cast(Code c, int i)
{
    static const char *const types[] = {
        "int",      "unsigned", "long",          "short",   "char",
        "float",    "double",   "bool",          "size_t",  "int64_t",
        "uint64_t", "int32_t",  "uint32_t",      "uint8_t", "int8_t",
        "void",     "__half",   "__nv_bfloat16", NULL};

    if (i + 2 >= c.n || !token_is(&c.at[i], "(") || c.at[i].kind != TOKEN_MARK)
        return false;
    int at = i + 1 + token_is(&c.at[i + 1], "const");
    for (const char *const *t = types; *t; t++)
        if (at < c.n && token_is(&c.at[at], *t))
            return true;
    return false;
}

/* ---- an expression's range --------------------------------------------- */

typedef struct Reader {
    const Facts *facts;
    Code c;
    int at;
} Reader;

static Range read_choice(Reader *r);
static Range read_unary(Reader *r);

static bool reads(const Reader *r, const char *s)
{
    return r->at < r->c.n && r->c.at[r->at].kind != TOKEN_STRING &&
           token_is(&r->c.at[r->at], s);
}

/* Whether what follows an operand is part of it: `[i]`, `.x`, `(...)`. */
static bool goes_on(const Reader *r)
{
    if (r->at >= r->c.n || r->c.at[r->at].kind != TOKEN_MARK)
        return false;
    const Token *t = &r->c.at[r->at];
    return strchr("[(", *t->s) || token_is(t, ".") || token_is(t, "->") ||
           token_is(t, "::") || token_is(t, "++") || token_is(t, "--") ||
           (token_is(t, "<") && !t->space);
}

static Range skip_rest(Reader *r)
{
    while (goes_on(r)) {
        const Token *t = &r->c.at[r->at];
        if (strchr("[(<", *t->s))
            r->at = code_after_bracket(r->c, r->at);
        else if (token_is(t, "++") || token_is(t, "--"))
            r->at++;
        else
            r->at += 2;
    }
    return anything;
}

/* min(a, b) or max(a, b), after the name. */
static Range read_extreme(Reader *r, bool is_min)
{
    int end = code_after_bracket(r->c, r->at);

    r->at++;
    Range a = read_choice(r);
    if (!reads(r, ",")) {
        r->at = end;
        return anything;
    }
    r->at++;
    Range b = read_choice(r);
    r->at = end;
    if (!a.known || !b.known || a.wraps != b.wraps)
        return anything;
    return is_min ? result(least(a.lo, b.lo), least(a.hi, b.hi), a.wraps)
                  : result(most(a.lo, b.lo), most(a.hi, b.hi), a.wraps);
}

static Range read_word(Reader *r)
{
    const char *name = r->c.at[r->at++].s;

    if (reads(r, "(") && (!strcmp(name, "min") || !strcmp(name, "max")))
        return read_extreme(r, name[1] == 'i');
    if (reads(r, ".") && r->at + 1 < r->c.n) {
        Range range =
            look_up(r->facts, arena_printf(r->facts->arena, "%s.%s", name,
                                           r->c.at[r->at + 1].s));
        r->at += 2;
        return goes_on(r) ? skip_rest(r) : range;
    }
    if (goes_on(r))
        return skip_rest(r);
    if (!strcmp(name, "true") || !strcmp(name, "false"))
        return range_of(*name == 't', *name == 't');
    return look_up(r->facts, name);
}

static Range read_operand(Reader *r)
{
    int64_t v;

    if (r->at >= r->c.n)
        return anything;
    const Token *t = &r->c.at[r->at];
    if (t->kind == TOKEN_WORD)
        return read_word(r);
    if (token_is(t, "(")) {
        int end = code_after_bracket(r->c, r->at);
        r->at++;
        Range inner = read_choice(r);
        bool whole = r->at == end - 1;
        r->at = end;
        return goes_on(r) ? skip_rest(r) : whole ? inner : anything;
    }
    if (strchr("[{", *t->s)) {
        r->at = code_after_bracket(r->c, r->at);
        return skip_rest(r);
    }
    r->at++;
    return token_integer(t, &v) ? range_of(v, v) : anything;
}

static Range read_cast(Reader *r)
{
    bool to_int = token_is(&r->c.at[r->at + 1], "int") &&
                  token_is(&r->c.at[r->at + 2], ")");

    r->at = code_after_bracket(r->c, r->at);
    Range v = read_unary(r);
    v.wraps = false;
    return to_int ? v : anything;
}

static Range read_unary(Reader *r)
{
    if (code_is_cast(r->c, r->at))
        return read_cast(r);
    if (reads(r, "-")) {
        r->at++;
        Range v = read_unary(r);
        return v.known && !v.wraps ? range_of(-v.hi, -v.lo) : anything;
    }
    if (reads(r, "!")) {
        r->at++;
        Range v = read_unary(r);
        if (!v.known)
            return range_of(0, 1);
        return truth(v.lo > 0 || v.hi < 0, v.lo == 0 && v.hi == 0);
    }
    if (reads(r, "&") || reads(r, "*") || reads(r, "~") || reads(r, "+") ||
        reads(r, "++") || reads(r, "--")) {
        r->at++;
        read_unary(r);
        return anything;
    }
    return read_operand(r);
}

static Range read_binary(Reader *r, int least_binding)
{
    Range left = read_unary(r);

    while (r->at < r->c.n) {
        const Token *op = &r->c.at[r->at];
        int binds = token_binds(op);
        if (!binds || binds < least_binding)
            break;
        r->at++;
        left = binary(op->s, left, read_binary(r, binds + 1));
    }
    return left;
}

static Range read_choice(Reader *r)
{
    Range c = read_binary(r, 1);

    if (!reads(r, "?"))
        return c;
    r->at++;
    Range a = read_choice(r);
    if (!reads(r, ":"))
        return anything;
    r->at++;
    Range b = read_choice(r);
    if (c.known && (c.lo > 0 || c.hi < 0))
        return a;
    if (c.known && !c.lo && !c.hi)
        return b;
    return a.known && b.known && a.wraps == b.wraps
               ? result(least(a.lo, b.lo), most(a.hi, b.hi), a.wraps)
               : anything;
}

Range code_range(const Facts *f, Code c)
{
    Reader r = {f, c, 0};
    Range v = read_choice(&r);

    return r.at == c.n ? v : anything;
}

int code_truth(const Facts *f, Code c)
{
    Range v = code_range(f, c);

    if (!c.n || !v.known)
        return -1;
    return v.lo > 0 || v.hi < 0 ? 1 : v.lo == 0 && v.hi == 0 ? 0 : -1;
}
