#include "emit/tree_pass.h"

/* Variables that are numbers, assignments that nothing reads, declarations that
 * nothing mentions. A name's scope is what follows its declaration in the same
 * list. */

typedef struct Pass {
    Arena *arena;
    bool changed;
} Pass;

static bool is(Code c, int i, const char *s)
{
    return i >= 0 && i < c.n && token_is(&c.at[i], s);
}

static bool assigns(const Token *t)
{
    return t->kind == TOKEN_MARK && t->s[strlen(t->s) - 1] == '=' &&
           !token_binds(t);
}

/* Functions that do more than give a value. */
static bool acts(const char *callee)
{
    static const char *const words[] = {"mbar",   "wait",    "sync",  "arrive",
                                        "atomic", "last_of", "store", "commit",
                                        "copy",   NULL};

    for (const char *const *w = words; *w; w++)
        if (strstr(callee, *w))
            return true;
    return false;
}

static bool is_pure(Code c)
{
    for (int i = 0; i < c.n; i++) {
        const Token *t = &c.at[i];
        if (assigns(t) || token_is(t, "++") || token_is(t, "--"))
            return false;
        if (i && token_is(t, "(") && c.at[i - 1].kind == TOKEN_WORD &&
            acts(c.at[i - 1].s))
            return false;
    }
    return true;
}

typedef struct Uses {
    const char *id;
    int mentions;
    int writes; /* or its address, or a new declaration */
    int bare;   /* an argument: a reference may be made of it */
} Uses;

static void note_uses(Code *c, void *ctx)
{
    Uses *u = ctx;

    for (int i = 0; i < c->n; i++) {
        if (!token_is(&c->at[i], u->id) || !code_names(*c, i))
            continue;
        u->mentions++;
        bool open = is(*c, i - 1, "(") || is(*c, i - 1, ",");
        bool close = is(*c, i + 1, ")") || is(*c, i + 1, ",");
        bool binary = i > 1 && c->at[i - 1].space && c->at[i].space;
        u->bare += open && close;
        if ((i + 1 < c->n && assigns(&c->at[i + 1])) || is(*c, i - 1, "++") ||
            is(*c, i - 1, "--") || is(*c, i + 1, "++") || is(*c, i + 1, "--") ||
            (is(*c, i - 1, "&") && !binary) ||
            (i && c->at[i - 1].kind == TOKEN_WORD && !is(*c, i - 1, "return")))
            u->writes++;
    }
}

static Uses uses_after(const Tree *list, int from, const char *id)
{
    Uses u = {.id = id};

    for (int i = from; i < list->n_item; i++)
        tree_codes(list->item[i], note_uses, &u);
    return u;
}

/* ---- numbers ----------------------------------------------------------- */

/* `int x = 3` that stays 3, or a constant 0 or 1. */
static bool number_of(Code c, int type, const Declared *d, Token *number)
{
    int64_t v;
    bool constant = type == 2 && is(c, 0, "const") && is(c, 1, "int");

    if ((!constant && !(type == 1 && is(c, 0, "int"))) ||
        d->value != d->first + 2 || d->end != d->value + 1 ||
        !token_integer(&c.at[d->value], &v) || (constant && v > 1))
        return false;
    *number = c.at[d->value];
    return true;
}

static void numbers_in(Pass *p, Tree *list, int at)
{
    Declared d[MAX_DECLARED];
    Tree *t = list->item[at];
    int type, n = code_declares(t->code, d, &type);

    for (int i = 0; i < n; i++) {
        Token number;
        if (!number_of(t->code, type, &d[i], &number))
            continue;
        Uses own = {.id = d[i].name}, u = uses_after(list, at + 1, d[i].name);
        note_uses(&t->code, &own);
        bool constant = type == 2;
        if (u.writes || (u.bare && !constant) || own.writes > 1 ||
            u.mentions + own.mentions < 2)
            continue;
        for (int j = at + 1; j < list->n_item; j++)
            tree_replace(p->arena, list->item[j], d[i].name, number);
        for (int k = i + 1; k < n; k++) {
            Code rest = {t->code.at + d[k].first, d[k].end - d[k].first};
            if (code_mentions(rest, d[i].name)) {
                t->code = code_replace(p->arena, t->code, d[i].name, number);
                return;
            }
        }
        p->changed = true;
    }
}

/* ---- assignments ------------------------------------------------------- */

/* `id = ...;`, `++id;` */
static bool is_assignment(const Tree *t, const char *id)
{
    Code c = t->code;

    if (t->kind != TREE_STATEMENT || c.n < 2)
        return false;
    if (c.n == 2 && (is(c, 0, "++") || is(c, 0, "--")))
        return is(c, 1, id);
    return is(c, 0, id) && assigns(&c.at[1]) &&
           is_pure((Code){c.at + 2, c.n - 2}) &&
           !code_mentions((Code){c.at + 2, c.n - 2}, id);
}

static bool function_mentions(const Tree *t, const char *id)
{
    if (!t)
        return false;
    if (t->kind == TREE_FUNCTION)
        return tree_mentions(t, id) > 0;
    for (int i = 0; i < t->n_item; i++)
        if (function_mentions(t->item[i], id))
            return true;
    return function_mentions(t->body, id) ||
           function_mentions(t->otherwise, id);
}

/* Takes out of list the assignments to id that nothing later reads; `later`:
 * something after the list mentions it. */
static void drop_last(Pass *p, Tree *list, int from, const char *id, bool later)
{
    for (int i = list->n_item - 1; i >= from; i--) {
        Tree *t = list->item[i];
        if (!later && is_assignment(t, id)) {
            memmove(list->item + i, list->item + i + 1,
                    sizeof *list->item * (size_t)(list->n_item - i - 1));
            list->n_item--;
            p->changed = true;
            continue;
        }
        if (t->kind == TREE_IF || (t->kind == TREE_LIST)) {
            if (t->kind == TREE_LIST)
                drop_last(p, t, 0, id, later);
            else
                drop_last(p, t->body, 0, id, later);
            if (t->otherwise)
                drop_last(p, t->otherwise, 0, id, later);
        }
        later |= tree_mentions(t, id) > 0;
    }
}

/* Takes out of list all assignments to id. */
static void drop_all(Tree *list, const char *id)
{
    int n = 0;

    if (!list)
        return;
    for (int i = 0; i < list->n_item; i++) {
        Tree *t = list->item[i];
        if (is_assignment(t, id))
            continue;
        drop_all(t->kind == TREE_LIST ? t : t->body, id);
        drop_all(t->otherwise, id);
        list->item[n++] = t;
    }
    list->n_item = n;
}

static int count_assignments(const Tree *t, const char *id)
{
    int n = 0;

    if (!t)
        return 0;
    for (int i = 0; i < t->n_item; i++)
        n += count_assignments(t->item[i], id);
    return n + is_assignment(t, id) + count_assignments(t->body, id) +
           count_assignments(t->otherwise, id);
}

/* A scalar of its own: no array, pointer or reference. */
static bool is_scalar(Code c, const Declared *d, int type)
{
    return token_is(&c.at[d->first], d->name) && !is(c, d->first + 1, "[") &&
           !is(c, type - 1, "&");
}

static void assignments_in(Pass *p, Tree *list, int at)
{
    Declared d[MAX_DECLARED];
    Tree *t = list->item[at];
    int type, n = code_declares(t->code, d, &type);

    for (int i = 0; i < n; i++) {
        if (!is_scalar(t->code, &d[i], type))
            continue;
        int writes = 0;
        bool captured = false;
        for (int j = at + 1; j < list->n_item; j++) {
            writes += count_assignments(list->item[j], d[i].name);
            captured |= function_mentions(list->item[j], d[i].name);
        }
        if (!writes || captured)
            continue;
        if (uses_after(list, at + 1, d[i].name).mentions == writes) {
            Tree rest = {.kind = TREE_LIST,
                         .item = list->item + at + 1,
                         .n_item = list->n_item - at - 1};
            drop_all(&rest, d[i].name);
            list->n_item = at + 1 + rest.n_item;
            p->changed = true;
        } else {
            drop_last(p, list, at + 1, d[i].name, false);
        }
    }
}

/* ---- declarations ------------------------------------------------------ */

static bool is_mentioned(const Tree *list, int at, const Declared *d, int i,
                         int n)
{
    for (int k = i + 1; k < n; k++)
        if (code_mentions((Code){list->item[at]->code.at + d[k].first,
                                 d[k].end - d[k].first},
                          d[i].name))
            return true;
    for (int j = at + 1; j < list->n_item; j++)
        if (tree_mentions(list->item[j], d[i].name))
            return true;
    return false;
}

/* Leaves out of a declaration what nothing mentions; false: all of it. */
static bool keep_mentioned(Pass *p, Tree *list, int at)
{
    Declared d[MAX_DECLARED];
    Tree *t = list->item[at];
    int type, n = code_declares(t->code, d, &type), kept = 0;
    Token *new = arena_array(p->arena, Token, t->code.n + 1);
    int len = type;

    memcpy(new, t->code.at, sizeof *new *(size_t)type);
    for (int i = 0; i < n; i++) {
        Code init = {t->code.at + d[i].value, d[i].end - d[i].value};
        if (!is_mentioned(list, at, d, i, n) && is_pure(init))
            continue;
        if (kept++)
            new[len++] = (Token){.s = ",", .kind = TOKEN_MARK};
        memcpy(new + len, t->code.at + d[i].first,
               sizeof *new *(size_t)(d[i].end - d[i].first));
        new[len].space = true;
        len += d[i].end - d[i].first;
    }
    if (kept == n)
        return true;
    p->changed = true;
    t->code = (Code){new, len};
    return kept > 0;
}

static bool is_unread(Pass *p, Tree *list, int at)
{
    Tree *t = list->item[at];
    Declared d[MAX_DECLARED];
    int type;

    if (t->kind == TREE_DECLARE)
        return !keep_mentioned(p, list, at);
    if (t->kind != TREE_FUNCTION || t->tail.n != 1)
        return false;
    /* a lambda, or a struct */
    const char *name = tree_function_name(t);
    if (!name ||
        (!is(t->code, 0, "struct") && (code_declares(t->code, d, &type) != 1 ||
                                       !is(t->code, d[0].value, "["))))
        return false;
    for (int j = at + 1; j < list->n_item; j++)
        if (tree_mentions(list->item[j], name))
            return false;
    return true;
}

/* Only comments and blank lines are left of it. */
static bool is_empty(const Tree *list)
{
    for (int i = 0; i < list->n_item; i++)
        if (list->item[i]->kind != TREE_BLANK &&
            list->item[i]->kind != TREE_COMMENT)
            return false;
    return true;
}

/* A loop, a branch or a block with nothing in it. */
static bool is_idle(const Tree *t)
{
    switch (t->kind) {
    case TREE_LIST:
        return is_empty(t);
    case TREE_IF:
        return is_empty(t->body) && (!t->otherwise || is_empty(t->otherwise)) &&
               is_pure(t->code);
    case TREE_FOR: {
        Declared d[MAX_DECLARED];
        int type;
        return is_empty(t->body) && code_declares(t->init, d, &type) > 0;
    }
    default:
        return false;
    }
}

static void remove_item(Pass *p, Tree *list, int at)
{
    int from = at, n = 1;
    bool alone = at + 1 >= list->n_item ||
                 list->item[at + 1]->kind == TREE_BLANK ||
                 list->item[at + 1]->kind == TREE_COMMENT;

    while (from && list->item[from - 1]->kind == TREE_PRAGMA)
        from--, n++;
    while (alone && from && list->item[from - 1]->kind == TREE_COMMENT)
        from--, n++;
    memmove(list->item + from, list->item + from + n,
            sizeof *list->item * (size_t)(list->n_item - from - n));
    list->n_item -= n;
    p->changed = true;
}

static void unread_in(Pass *p, Tree *list)
{
    if (!list)
        return;
    for (int i = list->n_item - 1; i >= 0; i--) {
        if (i >= list->n_item)
            continue;
        Tree *t = list->item[i];
        unread_in(p, t->kind == TREE_LIST ? t : t->body);
        unread_in(p, t->otherwise);
        if (t->otherwise && is_empty(t->otherwise))
            t->otherwise = NULL;
        if (t->otherwise && is_empty(t->body)) {
            t->code = code_negate(p->arena, t->code);
            t->body = t->otherwise;
            t->note = t->else_note;
            t->otherwise = NULL;
        }
        if (t->kind == TREE_DECLARE)
            assignments_in(p, list, i);
        if (is_unread(p, list, i) || is_idle(t))
            remove_item(p, list, i);
    }
}

bool pass_unread(Arena *a, Tree *t)
{
    Pass p = {a, false};

    unread_in(&p, t);
    return p.changed;
}

static void numbers_list(Pass *p, Tree *list)
{
    if (!list)
        return;
    for (int i = 0; i < list->n_item; i++) {
        Tree *t = list->item[i];
        numbers_list(p, t->kind == TREE_LIST ? t : t->body);
        numbers_list(p, t->otherwise);
        if (t->kind == TREE_DECLARE)
            numbers_in(p, list, i);
    }
}

bool pass_numbers(Arena *a, Tree *t)
{
    Pass p = {a, false};

    numbers_list(&p, t);
    return p.changed;
}
