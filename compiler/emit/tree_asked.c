#include "emit/tree_pass.h"

/* Conditions that statements of one list ask again and again, `c ? a : b`: most
 * of all that a read is inside. The second reader wants a name, and the third
 * is tired of them. A condition here is arithmetic and comparisons of names and
 * numbers, so that it may be asked at any time. */

enum { OFTEN = 3, LONG = 5 /* tokens: `a + b < c` */ };

/* Part first..end of a list of tokens. */
typedef struct Part {
    int first, end;
} Part;

static Code part_of(Code c, Part p)
{
    return (Code){c.at + p.first, p.end - p.first};
}

static bool same(Code a, Code b)
{
    if (a.n != b.n)
        return false;
    for (int i = 0; i < a.n; i++)
        if (a.at[i].kind != b.at[i].kind || strcmp(a.at[i].s, b.at[i].s))
            return false;
    return true;
}

static bool is_plain(Code c)
{
    for (int i = 0; i < c.n; i++) {
        const Token *t = &c.at[i];
        bool mark = t->kind == TOKEN_MARK;
        if (t->kind == TOKEN_STRING || t->kind == TOKEN_HOLE ||
            (mark && !token_binds(t) && !strchr("()-!", *t->s)) ||
            (mark && strlen(t->s) > 1 && !token_binds(t)) ||
            (i && token_is(t, "(") && c.at[i - 1].kind == TOKEN_WORD) ||
            (token_is(t, "<") && !t->space))
            return false;
    }
    return true;
}

/* Whether a name goes on after it, or an operand begins with it. */
static bool joins(const Token *t)
{
    return token_is(t, ".") || token_is(t, "->") || token_is(t, "::") ||
           token_is(t, "!");
}

/* The condition before the `?` at q. */
static bool condition_before(Code c, int q, Part *p)
{
    int depth = 0, i = q;

    for (; i > 0; i--) {
        const Token *t = &c.at[i - 1];
        bool mark = t->kind == TOKEN_MARK;
        if (mark && strchr(")]}", *t->s)) {
            depth++;
        } else if (mark && strchr("([{", *t->s)) {
            if (!depth)
                break;
            depth--;
        } else if (!depth && (token_is(t, "return") ||
                              (mark && !token_binds(t) && !joins(t)))) {
            break;
        }
    }
    *p = (Part){i, q};
    return q - i >= LONG && i && is_plain(part_of(c, *p));
}

/* The next condition from token `from` on. */
static bool next_condition(Code c, int from, Part *p)
{
    for (int q = from; q < c.n; q++)
        if (c.at[q].kind == TOKEN_MARK && token_is(&c.at[q], "?") &&
            condition_before(c, q, p) && p->first >= from)
            return true;
    return false;
}

static bool is_line(const Tree *t)
{
    return t->kind == TREE_DECLARE || t->kind == TREE_STATEMENT;
}

/* Whether c gives one of asked's names a value. */
static bool changes(Code c, Code asked)
{
    for (int i = 0; i < c.n; i++) {
        const Token *t = &c.at[i];
        if (t->kind != TOKEN_WORD || !code_mentions(asked, t->s))
            continue;
        const Token *after = i + 1 < c.n ? &c.at[i + 1] : NULL;
        const Token *before = i ? &c.at[i - 1] : NULL;
        if (after && after->kind == TOKEN_MARK && !token_binds(after) &&
            (after->s[strlen(after->s) - 1] == '=' || token_is(after, "++") ||
             token_is(after, "--")))
            return true;
        if (before && (token_is(before, "++") || token_is(before, "--") ||
                       token_is(before, "&") || before->kind == TOKEN_WORD))
            return true;
        if (before && after && strchr("(,", *before->s) &&
            strchr("),", *after->s)) /* a reference may be made of it */
            return true;
    }
    return false;
}

/* How often items from `from` on ask, until another statement. */
static int asked_from(const Tree *list, int from, Code asked)
{
    int n = 0;
    Part p;

    for (int i = from; i < list->n_item; i++) {
        const Tree *t = list->item[i];
        if (t->kind == TREE_COMMENT || t->kind == TREE_BLANK)
            continue;
        if (!is_line(t) || changes(t->code, asked))
            break;
        for (int at = 0; next_condition(t->code, at, &p); at = p.end)
            n += same(part_of(t->code, p), asked);
    }
    return n;
}

static Code put_name(Arena *a, Code c, Code asked, const char *name)
{
    Token *out = arena_array(a, Token, c.n);
    int n = 0, at = 0;
    Part part;

    while (next_condition(c, at, &part)) {
        bool is = same(part_of(c, part), asked);
        for (; at < (is ? part.first : part.end); at++)
            out[n++] = c.at[at];
        if (is)
            out[n++] = (Token){.s = name, .kind = TOKEN_WORD,
                               .space = c.at[at].space};
        at = part.end;
    }
    for (; at < c.n; at++)
        out[n++] = c.at[at];
    return (Code){out, n};
}

static void name_from(Arena *a, Tree *list, int from, Code asked,
                      const char *name)
{
    for (int i = from; i < list->n_item; i++) {
        Tree *t = list->item[i];
        if (t->kind == TREE_COMMENT || t->kind == TREE_BLANK)
            continue;
        if (!is_line(t) || changes(t->code, asked))
            break;
        t->code = put_name(a, t->code, asked, name);
    }
}

/* `const bool id = c;`: the name, and the condition. */
static const char *declared_condition(const Tree *t, Code *asked)
{
    Declared d[MAX_DECLARED];
    int type;

    if (t->kind != TREE_DECLARE || code_declares(t->code, d, &type) != 1 ||
        type != 2 || !token_is(&t->code.at[0], "const") ||
        !token_is(&t->code.at[1], "bool") || d->value != d->first + 2)
        return NULL;
    *asked = (Code){t->code.at + d->value, d->end - d->value};
    return asked->n >= LONG && is_plain(*asked) ? d->name : NULL;
}

/* A name that nothing in the list has; what is outside may be hidden. */
static const char *fresh(Arena *a, const Tree *list)
{
    const char *id = "inside";

    for (int n = 1; tree_mentions(list, id); n++)
        id = arena_printf(a, "inside_%d", n);
    return id;
}

static void insert(Tree *list, int at, Tree *t)
{
    tree_add(list, t);
    memmove(list->item + at + 1, list->item + at,
            sizeof *list->item * (size_t)(list->n_item - 1 - at));
    list->item[at] = t;
}

static void declare(Arena *a, Tree *list, int at, Code asked, const char *name)
{
    Token *out = arena_array(a, Token, asked.n + 4);
    static const char *const before[] = {"const", "bool", NULL, "="};

    for (int i = 0; i < 4; i++)
        out[i] = (Token){.s = before[i] ? before[i] : name,
                         .kind = i == 3 ? TOKEN_MARK : TOKEN_WORD,
                         .space = i > 0};
    memcpy(out + 4, asked.at, sizeof *out * (size_t)asked.n);
    out[4].space = true;
    insert(list, at,
           tree_new(a, TREE_DECLARE, (Code){out, asked.n + 4}));
}

/* Item i, and those after it. True if one came before it. */
static bool name_asked(Arena *a, Tree *list, int i)
{
    Tree *t = list->item[i];
    Code asked;
    Part part;
    const char *name = declared_condition(t, &asked);

    if (name)
        name_from(a, list, i + 1, asked, name);
    for (int at = 0; is_line(t) && next_condition(t->code, at, &part);
         at = part.end) {
        asked = part_of(t->code, part);
        if (asked_from(list, i, asked) < OFTEN)
            continue;
        name = fresh(a, list);
        name_from(a, list, i, asked, name);
        declare(a, list, i, asked, name);
        return true;
    }
    return false;
}

void pass_asked(Arena *a, Tree *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_item; i++) {
        pass_asked(a, t->item[i]);
        if (t->kind == TREE_LIST && name_asked(a, t, i))
            i--; /* what was put here may be asked, too */
    }
    pass_asked(a, t->body);
    pass_asked(a, t->otherwise);
}
