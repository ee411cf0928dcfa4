#include "emit/tree_quote.h"

#include <ctype.h>

typedef struct Filler {
    Arena *arena;
    const Fill *fill;
    int n;
    const char *what;
} Filler;

/* The filling of the hole whose name begins at s, of n letters. */
static const Fill *find(const Filler *f, const char *s, size_t n)
{
    for (int i = 0; i < f->n; i++)
        if (strlen(f->fill[i].name) == n && !strncmp(f->fill[i].name, s, n))
            return &f->fill[i];
    tree_defect(f->what, "no filling of the hole", s);
}

/* A filling's text; NULL: it is a tree. */
static const char *text_of(const Filler *f, const Fill *fill)
{
    if (fill->text || fill->tree)
        return fill->text;
    return arena_printf(f->arena, "%lld", fill->number);
}

static size_t hole_name(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

static const Fill *filling(const Filler *f, const Token *hole)
{
    return find(f, hole->s + 1, hole_name(hole->s + 1));
}

static Code code_of(const Filler *f, const Fill *fill, const char *text)
{
    if (!text)
        tree_defect(f->what, "statements in an expression's hole", fill->name);
    return code_parse(f->arena, text, fill->name);
}

typedef struct Made {
    Token *at;
    int n, cap;
} Made;

static bool is_wordy(const Token *t)
{
    return t->kind == TOKEN_WORD || t->kind == TOKEN_NUMBER;
}

/* Appends t; a word right after another makes one with it if one of them comes
 * from a hole. */
static void put(const Filler *f, Made *m, Token t, bool joins)
{
    Token *last = m->n ? &m->at[m->n - 1] : NULL;

    if (joins && last && !t.space && is_wordy(last) && is_wordy(&t)) {
        last->s = arena_printf(f->arena, "%s%s", last->s, t.s);
        return;
    }
    VEC_PUSH(f->arena, m->at, m->n, m->cap) = t;
}

/* A name in parts, `load_@X@` or `@X@_tile`, of which a hole, c's token i, is
 * filled with nothing: what it is then is nobody's. */
static void check_name(const Filler *f, const Code *c, int i)
{
    const Token *hole = &c->at[i], *before = i ? hole - 1 : NULL;
    const Token *after = i + 1 < c->n ? hole + 1 : NULL;
    bool ends = before && !hole->space && is_wordy(before) &&
                before->s[strlen(before->s) - 1] == '_';

    if (ends || (after && !after->space && is_wordy(after) &&
                 after->s[0] == '_'))
        tree_defect(f->what, "nothing in a name's hole", hole->s);
}

static void fill_code(const Filler *f, Code *c)
{
    Made m = {0};
    bool from_hole = false;
    bool blank = false; /* ends what was filled in last */
    int holes = 0;

    for (int i = 0; i < c->n; i++)
        holes += c->at[i].kind == TOKEN_HOLE;
    if (!holes)
        return;
    for (int i = 0; i < c->n; i++) {
        Token t = c->at[i];
        if (t.kind != TOKEN_HOLE) {
            t.space |= blank;
            blank = false;
            put(f, &m, t, from_hole);
            from_hole = false;
            continue;
        }
        const Fill *with = filling(f, &t);
        const char *text = text_of(f, with);
        Code code = code_of(f, with, text);
        size_t len = strlen(text);
        if (!code.n)
            check_name(f, c, i);
        for (int j = 0; j < code.n; j++) {
            Token own = code.at[j];
            if (!j)
                own.space = *own.s != ',' && (own.space || t.space || blank);
            put(f, &m, own, !j);
        }
        from_hole = code.n > 0;
        blank = len ? text[len - 1] == ' ' : t.space;
    }
    *c = (Code){m.at, m.n};
}

/* The text of a comment or pragma with its holes filled. */
static const char *fill_text(const Filler *f, const char *s)
{
    Buf b = {0};

    if (!s || !strchr(s, '@'))
        return s;
    while (*s) {
        size_t n = *s == '@' ? hole_name(s + 1) : 0;
        if (!n) {
            buf_putc(&b, *s++);
            continue;
        }
        const Fill *with = find(f, s + 1, n);
        const char *text = text_of(f, with);
        buf_puts(&b, text ? text : "");
        s += 1 + n + (s[1 + n] == '@');
    }
    return buf_take(&b, f->arena);
}

static void fill_node(const Filler *f, Tree *t);

static void fill_items(const Filler *f, Tree *list)
{
    Tree *out = tree_list(f->arena);

    for (int i = 0; i < list->n_item; i++) {
        Tree *t = list->item[i];
        if (t->kind != TREE_HOLE) {
            fill_node(f, t);
            tree_add(out, t);
            continue;
        }
        const Fill *with = filling(f, t->code.at);
        tree_add(out, with->tree
                          ? tree_copy(f->arena, with->tree)
                          : tree_parse(f->arena, text_of(f, with), with->name));
    }
    list->item = out->item;
    list->n_item = out->n_item;
    list->cap_item = out->cap_item;
}

static void fill_node(const Filler *f, Tree *t)
{
    Declared d[MAX_DECLARED];
    int type;

    if (!t)
        return;
    t->note = fill_text(f, t->note);
    t->else_note = fill_text(f, t->else_note);
    if (t->kind == TREE_COMMENT || t->kind == TREE_PRAGMA) {
        Token *text = arena_new_of(f->arena, Token);
        *text = t->code.at[0];
        text->s = fill_text(f, text->s);
        t->code.at = text;
        return;
    }
    fill_code(f, &t->init);
    fill_code(f, &t->code);
    fill_code(f, &t->step);
    fill_code(f, &t->tail);
    if (t->kind == TREE_STATEMENT && code_declares(t->code, d, &type))
        t->kind = TREE_DECLARE;
    fill_items(f, t);
    bool place = t->body && t->kind != TREE_FUNCTION && !t->otherwise &&
                 t->body->n_item == 1 && t->body->item[0]->kind == TREE_HOLE;
    fill_node(f, t->body);
    if (place && t->body->n_item == 1 &&
        t->body->item[0]->kind == TREE_STATEMENT)
        t->body->braces = false;
    fill_node(f, t->otherwise);
}

void tree_fill(Arena *a, Tree *t, const Fill *fill, int n, const char *what)
{
    fill_node(&(Filler){a, fill, n, what}, t);
}

Tree *tree_quote(Arena *a, const char *text, const Fill *fill, int n)
{
    Tree *t = tree_parse(a, text, text);

    tree_fill(a, t, fill, n, text);
    return t;
}

void tree_put(Tree *list, const char *text, const Fill *fill, int n)
{
    tree_add(list, tree_quote(list->arena, text, fill, n));
}
