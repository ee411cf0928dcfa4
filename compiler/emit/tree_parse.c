#include "emit/tree.h"

#include "emit/names.h"

#include <ctype.h>

/* ---- words ------------------------------------------------------------- */

/* What the scanner finds besides tokens. */
typedef enum { LEX_TOKEN, LEX_COMMENT, LEX_PRAGMA, LEX_BLANK, LEX_END } LexKind;

typedef struct Lexeme {
    LexKind kind;
    bool first;  /* on its line */
    Token token; /* a comment's text too */
} Lexeme;

typedef struct Parser {
    Arena *arena;
    const char *what;
    Lexeme *lex;
    int n, cap;
    int at;
} Parser;

static const char *const marks[] = {
    "<<<", ">>>", "<<=", ">>=", "...", "->", "++", "--", "+=",
    "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "&&", "||",
    "==",  "!=",  "<=",  ">=",  "<<",  ">>", "::", NULL};

static size_t mark_length(const char *s)
{
    for (const char *const *m = marks; *m; m++)
        if (*s == **m && !strncmp(s, *m, strlen(*m)))
            return strlen(*m);
    return 1;
}

static size_t string_length(const char *s)
{
    size_t n = 1;

    while (s[n] && s[n] != *s)
        n += 1 + (s[n] == '\\' && s[n + 1]);
    return n + (s[n] != 0);
}

static size_t number_length(const char *s)
{
    size_t n = 0;

    while (names_letter(s[n]) || s[n] == '.' ||
           ((s[n] == '+' || s[n] == '-') && n &&
            (s[n - 1] == 'e' || s[n - 1] == 'E') && s[1] != 'x'))
        n++;
    return n;
}

static size_t token_length(const char *s, TokenKind *kind)
{
    if (isdigit((unsigned char)*s) ||
        (*s == '.' && isdigit((unsigned char)s[1]))) {
        *kind = TOKEN_NUMBER;
        return number_length(s);
    }
    if (names_letter(*s)) {
        size_t n = 0;
        while (names_letter(s[n]))
            n++;
        *kind = TOKEN_WORD;
        return n;
    }
    if (*s == '"' || *s == '\'') {
        *kind = TOKEN_STRING;
        return string_length(s);
    }
    if (*s == '@' && names_letter(s[1])) {
        size_t n = 1;
        while (names_letter(s[n]))
            n++;
        *kind = TOKEN_HOLE;
        return n + (s[n] == '@');
    }
    *kind = TOKEN_MARK;
    return mark_length(s);
}

static void push(Parser *p, LexKind kind, bool first, Token t)
{
    VEC_PUSH(p->arena, p->lex, p->n, p->cap) = (Lexeme){kind, first, t};
}

static Token text_token(Parser *p, const char *s, size_t n)
{
    while (n && s[n - 1] == ' ')
        n--;
    return (Token){.s = arena_strndup(p->arena, s, n),
                   .kind = TOKEN_STRING,
                   .space = true};
}

/* A line break counts as a blank, but after what opens and before `[`. */
static bool spaced(const char *text, const char *s)
{
    bool blank = false, broken = false;

    while (s > text && strchr(" \n\f\v", s[-1])) {
        s--;
        blank |= *s == ' ' || *s == '\f';
        broken |= *s == '\n';
        if (*s == '\v')
            return false;
    }
    if (s == text)
        return blank;
    return broken ? !strchr("([", s[-1]) : blank;
}

/* Whether a subscript may follow the last token. */
static bool goes_on(const Parser *p)
{
    const Token *t = p->n ? &p->lex[p->n - 1].token : NULL;

    return t && p->lex[p->n - 1].kind == LEX_TOKEN &&
           (t->kind == TOKEN_WORD || token_is(t, "]") || token_is(t, ")"));
}

static void scan(Parser *p, const char *text)
{
    const char *s = text;
    bool first = true;

    while (*s) {
        if (*s == '\n') {
            if (s > text && first && p->n && p->lex[p->n - 1].kind != LEX_BLANK)
                push(p, LEX_BLANK, true, (Token){0});
            first = true;
            s++;
            continue;
        }
        if (strchr(" \f\v", *s)) {
            s++;
            continue;
        }
        size_t n = strcspn(s, "\n");
        if (s[0] == '/' && s[1] == '/') {
            push(p, LEX_COMMENT, first, text_token(p, s, n));
        } else if (*s == '#' && first) {
            push(p, LEX_PRAGMA, first, text_token(p, s, n));
        } else {
            Token t = {.space = spaced(text, s)};
            n = token_length(s, &t.kind);
            if (*s == '[' && first && goes_on(p))
                t.space = false;
            t.s = arena_strndup(p->arena, s, n);
            push(p, LEX_TOKEN, first, t);
        }
        first = false;
        s += n;
    }
    push(p, LEX_END, true, (Token){.s = "the end"});
}

/* ---- statements -------------------------------------------------------- */

static const Lexeme *here(const Parser *p)
{
    return &p->lex[p->at];
}

static bool sees(const Parser *p, const char *s)
{
    return here(p)->kind == LEX_TOKEN && token_is(&here(p)->token, s) &&
           here(p)->token.kind != TOKEN_STRING;
}

static void want(Parser *p, const char *s)
{
    if (!sees(p, s))
        tree_defect(p->what, arena_printf(p->arena, "'%s' expected before", s),
                    here(p)->token.s ? here(p)->token.s : "a blank line");
    p->at++;
}

/* A comment that ends the line of the token before. */
static const char *trailing(Parser *p)
{
    if (here(p)->kind == LEX_COMMENT && !here(p)->first)
        return p->lex[p->at++].token.s;
    return NULL;
}

typedef struct Taken {
    Token *at;
    int n, cap;
    const char *note; /* a comment between */
} Taken;

static void take(Parser *p, Taken *c)
{
    const Lexeme *l = here(p);

    if (l->kind == LEX_END)
        tree_defect(p->what, "ends within", c->n ? c->at->s : "a statement");
    if (l->kind == LEX_COMMENT)
        c->note = c->note
                      ? arena_printf(p->arena, "%s %s", c->note, l->token.s + 3)
                      : l->token.s;
    if (l->kind == LEX_TOKEN)
        VEC_PUSH(p->arena, c->at, c->n, c->cap) = l->token;
    p->at++;
}

/* Whether the brace at the parser opens a body: statements stand in it. */
static bool opens_body(const Parser *p)
{
    int depth = 0;

    for (int i = p->at; p->lex[i].kind != LEX_END; i++) {
        const Token *t = &p->lex[i].token;
        if (p->lex[i].kind != LEX_TOKEN || t->kind == TOKEN_STRING)
            continue;
        depth += token_is(t, "{") - token_is(t, "}");
        if (depth &&
            (token_is(t, ";") || (t->kind == TOKEN_HOLE && p->lex[i].first)))
            return true;
        if (!depth)
            return false;
    }
    return false;
}

/* Up to the token `stop` outside brackets, which stays; stops before a body. */
static Code take_until(Parser *p, const char *stop, const char **note,
                       bool *body)
{
    Taken c = {0};
    int depth = 0;

    while (depth || !sees(p, stop)) {
        if (body && sees(p, "{") && opens_body(p)) {
            *body = true;
            break;
        }
        if (here(p)->kind == LEX_TOKEN && here(p)->token.kind == TOKEN_MARK) {
            char m = *here(p)->token.s;
            depth += (m == '(' || m == '[' || m == '{') -
                     (m == ')' || m == ']' || m == '}');
            if (depth < 0 && !body)
                break;
        }
        take(p, &c);
    }
    if (c.note && note)
        *note = c.note;
    return (Code){c.at, c.n};
}

static Tree *parse_list(Parser *p, bool braces);
static Tree *parse_statement(Parser *p);

/* `{ ... }` or one statement; *note: of the line before it. */
static Tree *parse_body(Parser *p, const char **note)
{
    const char *early = trailing(p);

    if (early)
        *note = early;
    if (sees(p, "{")) {
        p->at++;
        early = trailing(p);
        if (early)
            *note = early;
        Tree *t = parse_list(p, true);
        want(p, "}");
        return t;
    }
    Tree *t = tree_list(p->arena);
    while (here(p)->kind == LEX_PRAGMA || here(p)->kind == LEX_COMMENT) {
        tree_add(t, parse_statement(p));
    }
    tree_add(t, parse_statement(p));
    return t;
}

static Tree *parse_for(Parser *p)
{
    Tree *t = tree_new(p->arena, TREE_FOR, (Code){0});

    p->at++;
    want(p, "(");
    t->init = take_until(p, ";", &t->note, NULL);
    want(p, ";");
    t->code = take_until(p, ";", &t->note, NULL);
    want(p, ";");
    t->step = take_until(p, ")", &t->note, NULL);
    want(p, ")");
    t->body = parse_body(p, &t->note);
    return t;
}

static Tree *parse_if(Parser *p, TreeKind kind)
{
    Tree *t = tree_new(p->arena, kind, (Code){0});

    p->at++;
    want(p, "(");
    t->code = take_until(p, ")", &t->note, NULL);
    want(p, ")");
    t->body = parse_body(p, &t->note);
    if (kind == TREE_IF && sees(p, "else")) {
        p->at++;
        t->otherwise = parse_body(p, &t->else_note);
    }
    return t;
}

/* What follows a body's brace belongs to its statement: `)`, `;`. */
static Tree *finish_function(Parser *p, Tree *t)
{
    Taken tail = {0};

    t->kind = TREE_FUNCTION;
    want(p, "{");
    const char *note = trailing(p);
    if (note)
        t->note = note;
    t->body = parse_list(p, true);
    want(p, "}");
    while (sees(p, ")") || sees(p, ",") || (tail.n && !sees(p, ";")))
        take(p, &tail);
    if (sees(p, ";"))
        take(p, &tail);
    t->tail = (Code){tail.at, tail.n};
    return t;
}

/* A line that is a hole alone, `@BODY@`. */
static bool is_hole(const Parser *p)
{
    const Lexeme *l = here(p);

    return l->kind == LEX_TOKEN && l->token.kind == TOKEN_HOLE && l->first &&
           (l[1].first || l[1].kind == LEX_END ||
            (l[1].kind == LEX_TOKEN && token_is(&l[1].token, "}")));
}

static Tree *parse_plain(Parser *p)
{
    Declared d[MAX_DECLARED];
    Tree *t = tree_new(p->arena, TREE_STATEMENT, (Code){0});
    bool body = false;
    int type;

    t->code = take_until(p, ";", &t->note, &body);
    if (body)
        return finish_function(p, t);
    want(p, ";");
    if (code_declares(t->code, d, &type))
        t->kind = TREE_DECLARE;
    const char *note = trailing(p);
    if (note)
        t->note = note;
    return t;
}

static Tree *single(Parser *p, TreeKind kind)
{
    Token *t = arena_new_of(p->arena, Token);

    *t = p->lex[p->at++].token;
    return tree_new(p->arena, kind, (Code){t, t->s ? 1 : 0});
}

static Tree *parse_statement(Parser *p)
{
    static const char *const foreign[] = {"switch", "do",  "goto",
                                          "case",   "try", NULL};

    switch (here(p)->kind) {
    case LEX_COMMENT:
        return single(p, TREE_COMMENT);
    case LEX_PRAGMA:
        return single(p, TREE_PRAGMA);
    case LEX_BLANK:
        return single(p, TREE_BLANK);
    case LEX_END:
        tree_defect(p->what, "a statement expected", "the end");
    case LEX_TOKEN:
        break;
    }
    for (const char *const *f = foreign; *f; f++)
        if (sees(p, *f))
            tree_defect(p->what, "no such statement in kernels", *f);
    if (is_hole(p))
        return single(p, TREE_HOLE);
    if (sees(p, "for"))
        return parse_for(p);
    if (sees(p, "if"))
        return parse_if(p, TREE_IF);
    if (sees(p, "while"))
        return parse_if(p, TREE_WHILE);
    if (sees(p, "{")) {
        p->at++;
        const char *note = trailing(p);
        Tree *t = parse_list(p, true);
        t->note = note;
        want(p, "}");
        return t;
    }
    return parse_plain(p);
}

static Tree *parse_list(Parser *p, bool braces)
{
    Tree *t = tree_list(p->arena);

    t->braces = braces;
    while (here(p)->kind != LEX_END && !sees(p, "}"))
        VEC_PUSH(p->arena, t->item, t->n_item, t->cap_item) =
            parse_statement(p);
    return t;
}

Tree *tree_parse(Arena *a, const char *text, const char *what)
{
    Parser p = {.arena = a, .what = what};

    scan(&p, text);
    Tree *t = parse_list(&p, false);
    if (here(&p)->kind != LEX_END) {
        Buf b = {0};
        tree_print(&b, t);
        tree_defect(what, "a bracket closes what none opened, after",
                    b.len > 60 ? b.text + b.len - 60 : buf_text(&b));
    }
    return t;
}

Code code_parse(Arena *a, const char *text, const char *what)
{
    Parser p = {.arena = a, .what = what};
    Taken c = {0};

    scan(&p, text);
    while (here(&p)->kind != LEX_END)
        take(&p, &c);
    return (Code){c.at, c.n};
}
