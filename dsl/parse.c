#include "parse.h"

#include "dcl.tab.h"
#include "dcl.yy.h"

#include "support/support.h"

#include <ctype.h>
#include <stdio.h>

int dcl_lex(DCL_STYPE *val, DCL_LTYPE *loc, Parser *p);

int dcl_scan(DCL_STYPE *val, DCL_LTYPE *loc, yyscan_t scanner);

/* ---- tokens: brackets, and what is being read */

static bool open_bracket(Parser *p, char c, Span at)
{
    if (p->n_bracket == DSL_MAX_NESTING) {
        parse_too_deep(p, at);
        return false;
    }
    p->bracket[p->n_bracket++] = (Bracket){c, at};
    return true;
}

/* A brace closes whatever is open inside it; the others only their own. */
static void close_bracket(Parser *p, char c)
{
    char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    int n = p->n_bracket;

    while (c == '}' && n && p->bracket[n - 1].c != '{')
        n--;
    if (n && p->bracket[n - 1].c == open)
        p->n_bracket = n - 1;
}

static bool in_statements(const Parser *p)
{
    return !p->n_bracket || p->bracket[p->n_bracket - 1].c == '{';
}

/* Whether the ';' at hand stands between two arguments: the bracket around it
 * is closed further on in the line, before anything that it cannot hold. A
 * signature's ';' begins its attributes, and C's loops have some. */
static bool is_comma(const Parser *p)
{
    const char *s = p->source->text + p->offset;
    int depth = 0;

    if (in_statements(p) || p->first == TOK_OP || p->first == TOK_BLOCK ||
        p->first == TOK_FOR)
        return false;
    for (; *s && !strchr(";{}\n\"", *s); s++) {
        if (*s == '(' || *s == '[')
            depth++;
        else if ((*s == ')' || *s == ']') && !depth--)
            return true;
    }
    return false;
}

/* Keeps first and subject of the statement in which `token` stands; a note
 * before a statement is none of it. */
static void follow(Parser *p, int token, const DCL_STYPE *val)
{
    if (p->note == NOTE_NAMED)
        p->note = token == '(' ? NOTE_ARGS : NO_NOTE;
    else if (p->note == NOTE_AT)
        p->note = token == TOK_NAME ? NOTE_NAMED : NO_NOTE;
    else if (p->note == NOTE_ARGS && token == ')' && in_statements(p))
        p->note = NO_NOTE;
    else if (p->fresh && token == '@')
        p->note = NOTE_AT;
    else if (p->fresh && p->note == NO_NOTE) {
        p->first = token;
        p->second = 0;
        p->subject = NULL;
        p->fresh = false;
    } else if (p->note == NO_NOTE && !p->second) {
        p->second = token;
    }
    if (p->note == NO_NOTE && !p->fresh && token == TOK_NAME && !p->subject)
        p->subject = val->name.text;
    if ((token == ';' || token == '{' || token == '}') && in_statements(p))
        p->fresh = true;
}

int dcl_lex(DCL_STYPE *val, DCL_LTYPE *loc, Parser *p)
{
    p->last_line = p->line;
    p->last_col = p->col;
    size_t end = p->offset;

    *loc = (Loc){{p->source, p->line, p->col, 1}, p->line, p->col};
    int token = p->stop ? 0 : dcl_scan(val, loc, p->scanner);
    if (p->stop) {
        p->token_offset = end;
        p->token_len = 0;
        return 0;
    }
    if (token == '(' || token == '[' || token == '{') {
        if (!open_bracket(p, (char)token, loc->at))
            return 0;
    } else if (token == ')' || token == ']' || token == '}') {
        close_bracket(p, (char)token);
    }
    if (token == ';' && is_comma(p)) {
        diag_error(p->diag, loc->at, "what stands in brackets is separated by "
                                     "',', not by ';'");
        return ',';
    }
    follow(p, token, val);
    return token;
}

/* ---- messages */

static const char *parse_describe(Parser *p)
{
    const char *text = p->source->text + p->token_offset;
    int n = (int)p->token_len;
    bool letter = n && ((*text | 32) >= 'a' && (*text | 32) <= 'z');

    if (!n)
        return "the end of the file";
    if (*text == '"')
        return p->quote.col ? "a string" : "'\"'";
    if (n > 40)
        return arena_printf(p->arena, "'%.37s...'", text);
    if ((letter || *text == '_') && !dsl_is_reserved(text, p->token_len))
        return arena_printf(p->arena, "name '%.*s'", n, text);
    if (*text >= '0' && *text <= '9')
        return arena_printf(p->arena, "number '%.*s'", n, text);
    return arena_printf(p->arena, "'%.*s'", n, text);
}

static const char *subject(Parser *p)
{
    const char *what;

    switch (p->first) {
    case TOK_DIM: what = "the size"; break;
    case TOK_TYPE: what = "the type"; break;
    case TOK_INPUT: what = "the input"; break;
    case TOK_PARAM: what = "the parameter"; break;
    case TOK_STATE: what = "the state"; break;
    case TOK_OUTPUT: what = "the output"; break;
    case TOK_NAME: what = "the definition of"; break;
    case TOK_REQUIRE: return " after the condition";
    default: return "";
    }
    return p->subject ? arena_printf(p->arena, " after %s '%s'", what,
                                     p->subject) : "";
}

/* Where the bracket was opened whose other half is missed, if far away. */
static void note_unclosed(Parser *p, const char *what)
{
    Bracket b = p->n_bracket ? p->bracket[p->n_bracket - 1] : (Bracket){0};
    const char *other = b.c == '(' ? "')'" : b.c == '[' ? "']'" : "'}'";

    if (b.c && b.at.line != p->line && strstr(what, other))
        diag_note(p->diag, b.at, "this '%c' is open", b.c);
}

static bool is_comparison(const char *text)
{
    return *text == '<' || *text == '>' ||
           (text[1] == '=' && (*text == '=' || *text == '!'));
}

/* What other languages write here, and what this one does. */
static const char *foreign(const char *text, size_t len)
{
    static const char *const word[][2] = {
        {"and", ": 'and' is '&&'"},
        {"not", ": 'not' is '!'"},
        {"!", ": a reduction's term that begins with it stands in "
              "parentheses, sum(..) (!..)"},
        {"@", ": a matrix product is matmul(a, b)"},
        {"import", ": all files go on the command line"},
        {"include", ": all files go on the command line"},
        {"module", ": a network is 'model name { }'"},
        {"class", ": a network is 'model name { }'"},
        {"func", ": an operator is 'op name(x: T[..]) -> y { }'"},
        {"function", ": an operator is 'op name(x: T[..]) -> y { }'"},
        {"def", ": an operator is 'op name(x: T[..]) -> y { }'"},
        {"fn", ": an operator is 'op name(x: T[..]) -> y { }'"},
        {"then", ": a choice of values is c ? a : b"},
    };

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strlen(word[i][0]) == len && !memcmp(word[i][0], text, len))
            return word[i][1];
    return "";
}

/* The first words of statements that other languages have. */
static const char *foreign_statement(Parser *p)
{
    static const char *const word[][2] = {
        {"int", ": a size is 'dim N = 4;'"},
        {"let", ": a definition is 't[i] = ..;' or 't = ..;'"},
        {"var", ": a definition is 't[i] = ..;' or 't = ..;'"},
        {"const", ": a definition is 't[i] = ..;', a size 'dim N = 4;'"},
        {"auto", ": a definition is 't[i] = ..;' or 't = ..;'"},
        {"return", ": a model's result is 'output y = ..;'"},
        {"float", ": a definition is 't[i] : f32 = ..;'"},
        {"tensor", ": a definition is 't[i] = ..;' or 't = ..;'"},
        {"while", ": a loop is 'for l in 0..4 { }'"},
        {"print", ": what a model gives is 'output y = ..;'"},
        {"weight", ": a weight is 'param w : f32[8, 4];'"},
        {"dtype", ": an element type is 'type E = f16;'"},
        {"assert", ": a condition is 'require c;'"},
    };
    static const char *const begin[] = {"dim", "type", "input", "output",
                                        "param", "state", "require"};

    for (size_t i = 0; p->first == TOK_NAME && p->subject && p->n_bracket &&
                       i < sizeof word / sizeof *word; i++)
        if (!strcmp(p->subject, word[i][0]))
            return word[i][1];
    if (p->first != TOK_NAME || p->second != TOK_NAME || !p->n_bracket ||
        !p->subject)
        return "";
    const char *near = near_name(p->subject, begin,
                                 (int)(sizeof begin / sizeof *begin));
    return near ? arena_printf(p->arena, "; did you mean '%s'?", near) : "";
}

static bool is_word(const Parser *p, const char *word)
{
    return p->token_len == strlen(word) &&
           !memcmp(p->source->text + p->token_offset, word, p->token_len);
}

static bool begins_statement(const Parser *p)
{
    static const char *const word[] = {"dim", "input", "type", "param",
                                       "output", "state", "for", "require"};

    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (is_word(p, word[i]))
            return true;
    return false;
}

/* The same by what would have been right. */
static const char *instead_of(Parser *p, const char *what)
{
    bool dim = p->first == TOK_DIM;

    if (!strcmp(what, "'..'"))
        return ": a range is 'a..b'";
    if (!strcmp(what, "an expression") && dim && is_word(p, "{"))
        return ": a set of sizes is 'dim B in {1, 8};'";
    if (!strcmp(what, "'{'") && dim)
        return ": a set of sizes is '{1, 8, 32}'";
    if (!strcmp(what, "a name") && is_word(p, "(") && p->first == TOK_FOR)
        return ": a loop is 'for i in 0..4 { }'";
    if (p->first == TOK_NAME && p->second == '(' && is_word(p, "(") &&
        strstr(what, "'='") && !*foreign_statement(p))
        return arena_printf(p->arena, ": a definition is '%s[i] = ..;' or "
                                      "'%s = ..;'", p->subject, p->subject);
    if (!strcmp(what, "':'") && (p->first == TOK_INPUT ||
                                 p->first == TOK_PARAM ||
                                 p->first == TOK_STATE))
        return arena_printf(p->arena, ": as in '%s x : f32[8, 4];'",
                            p->first == TOK_INPUT   ? "input"
                            : p->first == TOK_PARAM ? "param" : "state");
    if (!strcmp(what, "':'") && (is_word(p, ")") || is_word(p, ",")))
        return ": an argument has a type, as in x: T[..]";
    const char *word = p->source->text + p->token_offset;
    if (p->first == TOK_PARAM && strstr(what, "';'") &&
        dsl_find_starter(arena_strndup(p->arena, word, p->token_len)))
        return ": as in "
               "'param w : f32[8, 4] = \"name\" or normal(0.02);'";
    if (!strcmp(what, "'->'"))
        return ": an op names its result, as in 'op f(x: T[..]) -> y { }'";
    if (strstr(what, "'model'") && begins_statement(p))
        return ": statements stand in a 'model name { }'";
    return "";
}

/* Whether the token at hand follows `sum k` or `sum[k]`. */
static bool after_reduction(const Parser *p)
{
    static const char *const word[] = {"sum", "mean", "prod", "max", "min",
                                       "argmax", "argmin"};
    const char *text = p->source->text, *s = text + p->token_offset;

    while (s > text && s[-1] == ' ')
        s--;
    if (s > text && s[-1] == ']') {
        while (s > text && *s != '[' && *s != '\n')
            s--;
        while (s > text && s[-1] == ' ')
            s--;
    }
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(s - text) <= n || memcmp(s - n, word[i], n))
            continue;
        const char *ahead = s - n - 1;
        if (!isalnum((unsigned char)*ahead) && *ahead != '_')
            return true;
    }
    return false;
}

/* What of the token at hand, among what is around it, is said otherwise. */
static const char *foreign_here(Parser *p, const char *what)
{
    const char *text = p->source->text + p->token_offset, *before = text;
    char open = p->n_bracket ? p->bracket[p->n_bracket - 1].c : 0;
    bool opens = p->token_len && *text == '[';

    /* what opens is on the stack already */
    if (opens)
        open = p->n_bracket > 1 ? p->bracket[p->n_bracket - 2].c : 0;
    while (before > p->source->text && strchr(" \t\r\n", before[-1]))
        before--;
    if (opens && before > p->source->text && before[-1] == ']')
        return ": all indices are in one pair of brackets, as in x[i, j]";
    if (p->token_len == 1 && *text == ':' && open == '[')
        return ": an index stands for all of a dimension, as in "
               "y[i] = x[i, 0]";
    if (p->token_len == 3 && !memcmp(text, "dim", 3) && open == '(')
        return ": it is a reserved word; PyTorch's dim is called axis";
    if (after_reduction(p))
        return ": a reduction's indices are in parentheses, as in sum(k) x[k]";
    if (is_word(p, "?") && open == '[')
        return ": sizes are known when a model is compiled; 'dim B in {1, 8};' "
               "is several";
    if (is_word(p, "if") && p->last_line == p->line)
        return ": a choice of values is c ? a : b";
    const char *instead = instead_of(p, what);
    return *instead ? instead : foreign_statement(p);
}

void parse_expected(Parser *p, const char *what, bool semicolon)
{
    bool end = !p->token_len;
    Span at = {p->source, p->line, p->col - (int)p->token_len,
               end ? 1 : (int)p->token_len};
    const char *text = p->source->text + p->token_offset;
    const char *word = dsl_is_reserved(text, p->token_len)
                           && !strcmp(what, "a name") ? "the reserved word "
                                                      : "";

    if (p->bad_line == at.line && p->bad_col == at.col)
        return; /* that follows from what the scanner has said, */
    if (p->failed && strstr(what, "'model'") &&
        (begins_statement(p) || is_word(p, ";")))
        return; /* and this from where a '}' was taken for the model's */
    p->failed = true;
    semicolon = semicolon && in_statements(p);
    if (semicolon && p->last_line < at.line) {
        at.line = p->last_line;
        at.col = p->last_col;
        at.len = 1;
    }
    if (!end && p->token_len == 2 && !memcmp(text, "==", 2) &&
        strstr(what, "'='")) {
        diag_error(p->diag, at, "a definition has one '='");
        return;
    }
    if (!end && is_comparison(text) && !strstr(what, "expression")) {
        diag_error(p->diag, at, "comparisons do not chain: join them by '&&' "
                                "or use parentheses");
        return;
    }
    const char *instead = foreign(text, p->token_len);
    if (!*instead)
        instead = foreign_here(p, what);
    diag_error(p->diag, at, "expected %s%s, found %s%s%s", what,
               semicolon ? subject(p) : "", word, parse_describe(p), instead);
    if (!semicolon)
        note_unclosed(p, what);
}

void parse_too_deep(Parser *p, Span at)
{
    if (!p->stop)
        diag_error(p->diag, at, "nested too deeply");
    p->stop = true;
}

void parse_recovered(Parser *p)
{
    while (p->n_bracket && p->bracket[p->n_bracket - 1].c != '{')
        p->n_bracket--;
    p->fresh = true;
    p->note = NO_NOTE;
}

void parse_recovered_item(Parser *p)
{
    p->n_bracket = 0;
    parse_recovered(p);
}

/* ---- sources */

static void parse_source(Arena *a, Diag *d, Program *g, const Source *s)
{
    Parser *p = arena_new_of(a, Parser);

    *p = (Parser){.arena = a, .diag = d, .source = s, .program = g, .line = 1,
                  .col = 1, .alone = true, .fresh = true};
    VEC_PUSH(a, g->source, g->n_source, g->cap_source) = s;
    if (s->len > INT32_MAX / 2) {
        diag_error(d, (Span){s, 1, 1, 1}, "this file is too large");
        return;
    }
    dcl_yylex_init_extra(p, &p->scanner);
    dcl_yy_scan_bytes(s->text, (int)s->len, p->scanner);
    dcl_parse(p);
    dcl_yylex_destroy(p->scanner);
}

Program *dsl_parse(Arena *a, Diag *d, const Source **files, int n)
{
    Program *g = arena_new_of(a, Program);
    Source *library =
        diag_source(d, "prelude.dcl", dsl_prelude_text, dsl_prelude_len);

    library->library = true;
    parse_source(a, d, g, library);
    for (int i = 0; i < n; i++)
        parse_source(a, d, g, files[i]);
    return g;
}
