#include "emit/tree.h"

#include "emit/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_DEFECT = 70 };

void tree_defect(const char *what, const char *message, const char *at)
{
    fprintf(stderr, "dcc: internal error: %s: %s: %.60s\n", what, message, at);
    exit(EXIT_DEFECT);
}

/* ---- making ------------------------------------------------------------ */

Tree *tree_new(Arena *a, TreeKind kind, Code code)
{
    Tree *t = arena_new_of(a, Tree);

    t->kind = kind;
    t->code = code;
    return t;
}

Tree *tree_list(Arena *a)
{
    Tree *t = tree_new(a, TREE_LIST, (Code){0});

    t->arena = a;
    return t;
}

Tree *tree_comment(Arena *a, const char *text)
{
    Token *t = arena_new_of(a, Token);

    *t = (Token){.s = arena_strdup(a, text), .kind = TOKEN_STRING};
    return tree_new(a, TREE_COMMENT, (Code){t, 1});
}

void tree_add(Tree *list, Tree *t)
{
    if (t->kind != TREE_LIST || t->braces) {
        VEC_PUSH(list->arena, list->item, list->n_item, list->cap_item) = t;
        return;
    }
    for (int i = 0; i < t->n_item; i++)
        tree_add(list, t->item[i]);
}

/* Tokens are never written: copies share them. */
Tree *tree_copy(Arena *a, const Tree *t)
{
    Tree *c = arena_new_of(a, Tree);

    *c = *t;
    c->item = NULL;
    c->n_item = c->cap_item = 0;
    for (int i = 0; i < t->n_item; i++)
        VEC_PUSH(a, c->item, c->n_item, c->cap_item) = tree_copy(a, t->item[i]);
    if (t->body)
        c->body = tree_copy(a, t->body);
    if (t->otherwise)
        c->otherwise = tree_copy(a, t->otherwise);
    return c;
}

/* ---- asking ------------------------------------------------------------ */

bool token_is(const Token *t, const char *s)
{
    return *t->s == *s && !strcmp(t->s, s); /* mostly they differ at once */
}

bool code_names(Code c, int i)
{
    if (c.at[i].kind != TOKEN_WORD)
        return false;
    return !i ||
           (!token_is(&c.at[i - 1], ".") && !token_is(&c.at[i - 1], "->") &&
            !token_is(&c.at[i - 1], "::"));
}

int code_mentions(Code c, const char *id)
{
    int n = 0;

    for (int i = 0; i < c.n; i++)
        n += token_is(&c.at[i], id) && code_names(c, i);
    return n;
}

typedef struct Search {
    const char *id;
    int n;
} Search;

static void count_mentions(Code *c, void *ctx)
{
    Search *s = ctx;

    s->n += code_mentions(*c, s->id);
}

void tree_codes(Tree *t, void (*f)(Code *c, void *ctx), void *ctx)
{
    if (!t)
        return;
    if (t->kind == TREE_COMMENT || t->kind == TREE_PRAGMA ||
        t->kind == TREE_BLANK)
        return;
    f(&t->init, ctx);
    f(&t->code, ctx);
    f(&t->step, ctx);
    for (int i = 0; i < t->n_item; i++)
        tree_codes(t->item[i], f, ctx);
    tree_codes(t->body, f, ctx);
    tree_codes(t->otherwise, f, ctx);
    f(&t->tail, ctx);
}

int tree_mentions(const Tree *t, const char *id)
{
    Search s = {id, 0};

    tree_codes((Tree *)t, count_mentions, &s);
    return s.n;
}

static bool words_have(const char *s, const char *id)
{
    size_t n = strlen(id);

    for (const char *p = s; p && (p = strstr(p, id)); p++)
        if ((p == s || !names_letter(p[-1])) && !names_letter(p[n]))
            return true;
    return false;
}

bool tree_speaks_of(const Tree *t, const char *id)
{
    if (!t)
        return false;
    if (t->kind == TREE_COMMENT || t->kind == TREE_PRAGMA)
        return words_have(t->code.at->s, id);
    if (words_have(t->note, id) || words_have(t->else_note, id) ||
        code_mentions(t->init, id) || code_mentions(t->code, id) ||
        code_mentions(t->step, id) || code_mentions(t->tail, id))
        return true;
    for (int i = 0; i < t->n_item; i++)
        if (tree_speaks_of(t->item[i], id))
            return true;
    return tree_speaks_of(t->body, id) || tree_speaks_of(t->otherwise, id);
}

/* ---- declarations ------------------------------------------------------ */

int code_after_bracket(Code c, int i)
{
    int depth = 0;

    for (; i < c.n; i++) {
        const Token *t = &c.at[i];
        if (t->kind != TOKEN_MARK)
            continue;
        if (strchr("([{", *t->s) || (token_is(t, "<") && !t->space))
            depth++;
        else if (strchr(")]}", *t->s) || (token_is(t, ">") && !t->space))
            depth--;
        else if (token_is(t, ">>") && !t->space)
            depth -= 2;
        if (depth <= 0)
            return i + 1;
    }
    return c.n;
}

static bool is_any(const Token *t, const char *const *list)
{
    for (; *list; list++)
        if (token_is(t, *list))
            return true;
    return false;
}

/* Words that a declaration may begin with, before its type's name. */
static bool is_qualifier(const Token *t)
{
    static const char *const words[] = {
        "const", "constexpr", "static",   "unsigned",     "signed",   "long",
        "short", "struct",    "volatile", "__restrict__", "restrict", NULL};

    return is_any(t, words);
}

static bool opens_no_declaration(const Token *t)
{
    static const char *const words[] = {"return",        "continue", "break",
                                        "delete",        "using",    "goto",
                                        "static_assert", "else",     NULL};

    return t->kind != TOKEN_WORD || is_any(t, words);
}

/* The index after c's type and its qualifiers; 0 if it begins with none. */
static int type_end(Code c)
{
    int i = 0;
    bool named = false;

    if (!c.n || opens_no_declaration(&c.at[0]))
        return 0;
    while (i < c.n) {
        const Token *t = &c.at[i];
        if (t->kind == TOKEN_WORD && is_qualifier(t)) {
            named |= token_is(t, "unsigned") || token_is(t, "long") ||
                     token_is(t, "short") || token_is(t, "signed");
            i++;
        } else if (token_is(t, "<") && !t->space && i) {
            i = code_after_bracket(c, i);
        } else if (token_is(t, "::")) {
            i += 2;
        } else if (t->kind == TOKEN_WORD &&
                   (!named || token_is(t, "int") || token_is(t, "char"))) {
            named = true;
            i++;
        } else {
            break;
        }
    }
    return named ? i : 0;
}

/* The declarator at i: name, end. False if there is none. */
static bool read_declarator(Code c, int i, Declared *d)
{
    d->first = i;
    bool inner = i < c.n && token_is(&c.at[i], "(") && i + 1 < c.n &&
                 (token_is(&c.at[i + 1], "*") || token_is(&c.at[i + 1], "&"));
    if (inner)
        i++;
    while (i < c.n && (token_is(&c.at[i], "*") || token_is(&c.at[i], "&") ||
                       is_qualifier(&c.at[i])))
        i++;
    if (i >= c.n || c.at[i].kind != TOKEN_WORD)
        return false;
    d->name = c.at[i++].s;
    if (inner && (i + 1 >= c.n || !token_is(&c.at[i], ")") ||
                  !strchr("[(", *c.at[i + 1].s)))
        return false; /* a call's argument */
    if (i < c.n && !inner && !strchr("=[,({", *c.at[i].s))
        return false;
    d->value = 0;
    while (i < c.n && !token_is(&c.at[i], ",")) {
        if (!d->value && !inner &&
            (token_is(&c.at[i], "=") || strchr("({", *c.at[i].s)))
            d->value = i + token_is(&c.at[i], "=");
        if (inner && token_is(&c.at[i], ")"))
            inner = false, i++;
        else if (strchr("([{", *c.at[i].s) ||
                 (token_is(&c.at[i], "<") && !c.at[i].space))
            i = code_after_bracket(c, i);
        else
            i++;
    }
    d->end = i;
    if (!d->value)
        d->value = i;
    return true;
}

int code_declares(Code c, Declared d[MAX_DECLARED], int *type)
{
    int i = type_end(c), n = 0;

    *type = i;
    if (!i || i >= c.n)
        return 0;
    for (; i < c.n && n < MAX_DECLARED; i++) {
        if (!read_declarator(c, i, &d[n]))
            return 0;
        i = d[n++].end;
    }
    return n;
}

const char *tree_function_name(const Tree *t)
{
    Declared d[MAX_DECLARED];
    int type;

    if (t->code.n > 1 && token_is(&t->code.at[0], "struct"))
        return t->code.at[1].s;
    return code_declares(t->code, d, &type) ? d[0].name : NULL;
}
