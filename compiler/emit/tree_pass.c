#include "emit/tree_pass.h"

/* ---- loops and conditions ---------------------------------------------- */

typedef struct Pass {
    Facts *facts;
    Arena *arena;
    Tree *root;
    bool changed;
} Pass;

static void improve_list(Pass *p, Tree *list, const Code *head);

static bool is_word(Code c, int i, const char *s)
{
    return i < c.n && token_is(&c.at[i], s);
}

static bool is_jump(const Tree *t)
{
    return t->kind == TREE_STATEMENT &&
           (is_word(t->code, 0, "continue") || is_word(t->code, 0, "break"));
}

/* Whether a loop around t could be left or begun anew from within. */
static bool has_jump(const Tree *t)
{
    if (!t || t->kind == TREE_FOR || t->kind == TREE_WHILE ||
        t->kind == TREE_FUNCTION)
        return false;
    if (is_jump(t))
        return true;
    for (int i = 0; i < t->n_item; i++)
        if (has_jump(t->item[i]))
            return true;
    return has_jump(t->body) || has_jump(t->otherwise);
}

/* `if (c) continue;` */
static bool is_skip(const Tree *t)
{
    if (t->kind != TREE_IF || t->otherwise || t->body->n_item != 1)
        return false;
    const Tree *s = t->body->item[0];
    return s->kind == TREE_STATEMENT && is_word(s->code, 0, "continue");
}

static bool assigns(const Token *t)
{
    size_t n = strlen(t->s);

    if (t->kind != TOKEN_MARK)
        return false;
    return token_is(t, "++") || token_is(t, "--") ||
           (t->s[n - 1] == '=' && !token_binds(t));
}

typedef struct Uses {
    const char *id;
    bool written;  /* assigned, or its address is taken */
    bool passed;   /* a bare argument: a reference may be made of it */
    bool declared; /* anew */
    int mentions;
} Uses;

static void note_use(Code c, int i, Uses *u)
{
    const Token *before = i ? &c.at[i - 1] : NULL;
    const Token *after = i + 1 < c.n ? &c.at[i + 1] : NULL;

    u->mentions++;
    if (after && assigns(after))
        u->written = true;
    if (before && (token_is(before, "++") || token_is(before, "--")))
        u->written = true;
    if (before && token_is(before, "&") &&
        (i < 2 || c.at[i - 2].kind == TOKEN_MARK) &&
        !(i > 1 && strchr(")]", *c.at[i - 2].s)))
        u->written = true;
    if (before && before->kind == TOKEN_WORD && !token_is(before, "return") &&
        !token_is(before, "sizeof"))
        u->declared = true;
    if (i > 1 && (token_is(before, "&") || token_is(before, "*")) && !after)
        u->declared |= c.at[i - 2].kind == TOKEN_WORD && !c.at[i].space;
    if (i > 1 && token_is(before, "&") && c.at[i - 2].kind == TOKEN_WORD &&
        !c.at[i].space)
        u->declared = true;
    if (before && after && (token_is(before, "(") || token_is(before, ",")) &&
        (token_is(after, ")") || token_is(after, ",")))
        u->passed = true;
}

static void note_uses(Code *c, void *ctx)
{
    Uses *u = ctx;
    Declared d[MAX_DECLARED];
    int type, n = code_declares(*c, d, &type);

    for (int i = 0; i < n; i++)
        u->declared |= !strcmp(d[i].name, u->id);
    for (int i = 0; i < c->n; i++)
        if (token_is(&c->at[i], u->id) && code_names(*c, i))
            note_use(*c, i, u);
}

static Uses uses_of(const Tree *t, const char *id)
{
    Uses u = {.id = id};

    tree_codes((Tree *)t, note_uses, &u);
    return u;
}

/* What is known of a declaration's names from here on. */
static void learn(Pass *p, const Tree *t)
{
    Declared d[MAX_DECLARED];
    int type, n = code_declares(t->code, d, &type);
    bool is_const = false, is_int = false;

    for (int i = 0; i < type; i++) {
        is_const |=
            is_word(t->code, i, "const") || is_word(t->code, i, "constexpr");
        is_int |= is_word(t->code, i, "int") || is_word(t->code, i, "bool");
    }
    for (int i = 0; i < n; i++) {
        Range r = {0};
        if (is_const && is_int && d[i].value == d[i].first + 2)
            r = code_range(p->facts, (Code){t->code.at + d[i].value,
                                            d[i].end - d[i].value});
        r.wraps = false;
        facts_add(p->facts, d[i].name, r);
    }
}

/* Words but those of arrays' extents, which a head cannot declare. */
static void forget_names(Pass *p, Code head)
{
    int depth = 0;

    for (int i = 0; i < head.n; i++) {
        depth += token_is(&head.at[i], "[") - token_is(&head.at[i], "]");
        if (head.at[i].kind == TOKEN_WORD && !depth)
            facts_add(p->facts, head.at[i].s, (Range){0});
    }
}

/* ---- what moves out of its scope */

static const char *fresh_name(const Pass *p, const Tree *list, const char *name)
{
    for (int n = 1;; n++) {
        const char *id = arena_printf(p->arena, "%s_%d", name, n);
        bool taken = tree_mentions(p->root, id) || tree_mentions(list, id);
        for (int i = 0; i < p->facts->n; i++)
            taken |= !strcmp(p->facts->fact[i].name, id);
        if (!taken)
            return id;
    }
}

static bool code_declares_name(Code c, const char *name)
{
    Declared d[MAX_DECLARED];
    int type, n = code_declares(c, d, &type);

    for (int i = 0; i < n; i++)
        if (!strcmp(d[i].name, name))
            return true;
    return false;
}

/* Whether t mentions a `name` that is declared outside it. */
static bool names_outer(const Tree *t, const char *name)
{
    if (!t || !tree_mentions(t, name) ||
        (t->kind == TREE_FOR && code_declares_name(t->init, name)))
        return false;
    for (int i = 0; i < t->n_item; i++) {
        if (t->item[i]->kind == TREE_DECLARE &&
            code_declares_name(t->item[i]->code, name))
            return code_mentions(t->item[i]->code, name) > 1;
        if (names_outer(t->item[i], name))
            return true;
    }
    return code_mentions(t->init, name) || code_mentions(t->code, name) ||
           code_mentions(t->step, name) || code_mentions(t->tail, name) ||
           names_outer(t->body, name) || names_outer(t->otherwise, name);
}

/* Whether `name` has another meaning in `list`, whose owner has `head`, from
 * item `from` on, or is declared there. */
static bool clashes(const Tree *list, int from, const Tree *but,
                    const Code *head, const char *name)
{
    if (head && code_mentions(*head, name))
        return true;
    for (int i = 0; i < list->n_item; i++) {
        const Tree *t = list->item[i];
        if (t == but)
            continue;
        if ((t->kind == TREE_DECLARE || t->kind == TREE_FUNCTION) &&
            code_declares_name(t->code, name))
            return true;
        if (i >= from && names_outer(t, name))
            return true;
    }
    return false;
}

/* body's declarations get names that are free in out and in list from item
 * `at` on, among which they are going to stand. */
static void make_unique(Pass *p, Tree *body, const Tree *list, int at,
                        const Tree *out, const Code *head)
{
    Declared d[MAX_DECLARED];
    int type;

    for (int i = 0; i < body->n_item; i++) {
        Tree *t = body->item[i];
        if (t->kind != TREE_DECLARE && t->kind != TREE_FUNCTION)
            continue;
        int n = code_declares(t->code, d, &type);
        for (int j = 0; j < n; j++) {
            if (!clashes(list, at + 1, list->item[at], head, d[j].name) &&
                !clashes(out, out->n_item, NULL, NULL, d[j].name))
                continue;
            Token id = {.s = fresh_name(p, body, d[j].name),
                        .kind = TOKEN_WORD};
            for (int k = i; k < body->n_item; k++)
                tree_replace(p->arena, body->item[k], d[j].name, id);
        }
    }
}

static void splice(Pass *p, Tree *out, Tree *body, const Tree *list, int at,
                   const Code *head)
{
    make_unique(p, body, list, at, out, head);
    for (int i = 0; i < body->n_item; i++) {
        if (body->item[i]->kind == TREE_DECLARE)
            learn(p, body->item[i]);
        tree_add(out, body->item[i]);
    }
    p->changed = true;
}

/* Takes away the #pragma before a loop that goes. */
static void drop_pragma(Tree *out)
{
    if (out->n_item && out->item[out->n_item - 1]->kind == TREE_PRAGMA)
        out->n_item--;
}

/* Takes away the comment on a statement that goes, unless it may speak of
 * what comes next. */
static void drop_comment(Tree *out, const Tree *list, int at)
{
    const Tree *next = at + 1 < list->n_item ? list->item[at + 1] : NULL;

    drop_pragma(out);
    if (next && next->kind != TREE_BLANK && next->kind != TREE_COMMENT)
        return;
    while (out->n_item && out->item[out->n_item - 1]->kind == TREE_COMMENT)
        out->n_item--;
}

/* ---- loops */

/* The statements after an `if (c) continue;` go into the branch of its
 * contrary, so that nothing is left of it. */
static void turn_skips(Pass *p, Tree *body)
{
    for (int i = body->n_item - 1; i >= 0; i--) {
        Tree *t = body->item[i];
        if (!is_skip(t))
            continue;
        Tree *rest = tree_list(p->arena);
        rest->braces = true;
        for (int j = i + 1; j < body->n_item; j++)
            tree_add(rest, body->item[j]);
        body->n_item = rest->n_item ? i + 1 : i;
        t->code = code_negate(p->arena, t->code);
        t->body = rest;
        p->changed = true;
    }
}

typedef struct Loop {
    const char *id;
    Code first;  /* its initialiser */
    Range range; /* of the variable within the body */
    int trips;   /* 0, 1: so many; -1: at most one; 2: not known */
    bool down;   /* the variable falls */
} Loop;

/* The step's amount, if it is `id += amount`, `++id` or `--id`. */
static bool read_step(const Pass *p, Code step, const char *id, Range *r)
{
    for (int down = 0; down < 2; down++) {
        const char *by_one = down ? "--" : "++";
        int amount = down ? -1 : 1;
        if (step.n != 2 ||
            (!is_word(step, 0, by_one) && !is_word(step, 1, by_one)))
            continue;
        *r = range_of(amount, amount);
        return token_is(&step.at[is_word(step, 0, by_one)], id);
    }
    if (step.n < 3 || !token_is(&step.at[0], id) ||
        !token_is(&step.at[1], "+="))
        return false;
    *r = code_range(p->facts, (Code){step.at + 2, step.n - 2});
    return r->known && r->lo > 0;
}

/* What a `for` does, if its head says it all; false: it does not. */
static bool read_loop(Pass *p, const Tree *t, Loop *l)
{
    Declared d[MAX_DECLARED];
    Range step;
    int type, known = p->facts->n;

    if (code_declares(t->init, d, &type) != 1 || d[0].value >= t->init.n ||
        d[0].value != d[0].first + 2)
        return false;
    *l = (Loop){.id = d[0].name,
                .trips = 2,
                .first = {t->init.at + d[0].value, t->init.n - d[0].value}};
    Uses u = uses_of(t->body, l->id);
    if (u.written || u.declared || !read_step(p, t->step, l->id, &step))
        return false;
    Range first = code_range(p->facts, l->first);
    l->down = step.lo < 0;
    if (!first.known || first.hi + step.hi > INT32_MAX ||
        first.lo + step.lo < INT32_MIN)
        return true;
    first.wraps = false;
    facts_add(p->facts, l->id, first);
    int once = code_truth(p->facts, t->code);
    facts_add(p->facts, l->id,
              range_of(first.lo + step.lo, first.hi + step.hi));
    int twice = code_truth(p->facts, t->code);
    p->facts->n = known;
    l->range = first;
    if (once == 0)
        l->trips = 0;
    else if (twice == 0)
        l->trips = once == 1 ? 1 : -1;
    return true;
}

/* The limit in `id < limit`, up to what else the condition asks for; none in
 * `id < limit || ...`, which says nothing of id. */
static Code limit_of(Code c)
{
    Code limit = {c.at + 2, c.n - 2};

    for (int i = 0, depth = 0; i < limit.n; i++) {
        const Token *t = &limit.at[i];
        if (t->kind == TOKEN_MARK)
            depth += !!strchr("([{", *t->s) - !!strchr(")]}", *t->s);
        if (depth)
            continue;
        if (token_is(t, "&&"))
            limit.n = i;
        else if (token_is(t, "?") ||
                 (token_binds(t) && token_binds(t) <= BINDS_LESS))
            limit.n = 0;
    }
    return limit;
}

/* The range of a loop's variable where it rises and its condition is
 * `id < limit`, or where it falls and that is `id >= limit`. */
static Range loop_range(const Pass *p, const Tree *t, const Loop *l)
{
    Range first = code_range(p->facts, l->first);

    if (t->code.n < 3 || !token_is(&t->code.at[0], l->id) ||
        !is_word(t->code, 1, l->down ? ">=" : "<") || !first.known)
        return (Range){0};
    Range limit = code_range(p->facts, limit_of(t->code));
    if (l->down && limit.known && limit.lo <= first.hi)
        return range_of(limit.lo, first.hi);
    if (l->down || !limit.known || limit.hi <= first.lo)
        return (Range){0};
    return range_of(first.lo, limit.hi - 1);
}

static void improve_body(Pass *p, Tree *t, const char *id, Range r,
                         const Code *head)
{
    int known = p->facts->n;

    if (id)
        facts_add(p->facts, id, r);
    improve_list(p, t, head);
    p->facts->n = known;
}

/* A loop of one trip becomes its body, behind its variable's declaration if
 * that is no number; of one at most, an `if`. */
static void unloop(Pass *p, Tree *out, Tree *t, const Loop *l, const Tree *list,
                   int at, const Code *head)
{
    int64_t v;
    bool is_number = l->first.n == 1 && token_integer(&l->first.at[0], &v);
    Tree *body = tree_list(p->arena);

    drop_pragma(out);
    if (!is_number) {
        Token c = {.s = "const", .kind = TOKEN_WORD};
        Token *code = arena_array(p->arena, Token, t->init.n + 1);
        code[0] = c;
        memcpy(code + 1, t->init.at, sizeof *code * (size_t)t->init.n);
        code[1].space = true;
        tree_add(body,
                 tree_new(p->arena, TREE_DECLARE, (Code){code, t->init.n + 1}));
    } else {
        tree_replace(p->arena, t->body, l->id, l->first.at[0]);
    }
    if (l->trips < 0) {
        Tree *test = tree_new(p->arena, TREE_IF, t->code);
        if (is_number)
            test->code = code_replace(p->arena, t->code, l->id, l->first.at[0]);
        test->body = t->body;
        test->note = t->note;
        tree_add(body, test);
    } else {
        for (int i = 0; i < t->body->n_item; i++)
            tree_add(body, t->body->item[i]);
    }
    splice(p, out, body, list, at, head);
}

static void improve_loop(Pass *p, Tree *out, Tree *t, const Tree *list, int at,
                         const Code *head)
{
    Loop l;

    if (!read_loop(p, t, &l)) {
        int known = p->facts->n;
        forget_names(p, t->init);
        improve_list(p, t->body, &t->init);
        p->facts->n = known;
        tree_add(out, t);
        return;
    }
    if (l.trips == 0) {
        drop_comment(out, list, at);
        p->changed = true;
        return;
    }
    if (l.trips == 1 || l.trips == -1)
        turn_skips(p, t->body);
    if (l.trips == 2 || has_jump(t->body)) {
        improve_body(p, t->body, l.id,
                     l.trips == 2 ? loop_range(p, t, &l) : l.range, &t->init);
        tree_add(out, t);
        return;
    }
    improve_body(p, t->body, l.id, l.range, &t->init);
    unloop(p, out, t, &l, list, at, head);
}

/* ---- conditions */

/* Leaves the known parts of an && out of c. */
static Code drop_known(Pass *p, Code c)
{
    Token *kept = arena_array(p->arena, Token, c.n + 1);
    int n = 0, start = 0;

    for (int i = 0; i < c.n; i++) {
        if (c.at[i].kind == TOKEN_MARK && strchr("([{", *c.at[i].s))
            i = code_after_bracket(c, i) - 1;
        else if (token_is(&c.at[i], "||") || token_is(&c.at[i], "?"))
            return c;
    }
    for (int i = 0; i <= c.n; i++) {
        if (i < c.n && c.at[i].kind == TOKEN_MARK &&
            strchr("([{", *c.at[i].s)) {
            i = code_after_bracket(c, i) - 1;
            continue;
        }
        if (i < c.n && !token_is(&c.at[i], "&&"))
            continue;
        Code part = {c.at + start, i - start};
        if (code_truth(p->facts, part) != 1) {
            if (n)
                kept[n++] =
                    (Token){.s = "&&", .kind = TOKEN_MARK, .space = true};
            memcpy(kept + n, part.at, sizeof *kept * (size_t)part.n);
            kept[n].space = n > 0;
            n += part.n;
        }
        start = i + 1;
    }
    if (!n || n == c.n)
        return c;
    p->changed = true;
    return (Code){kept, n};
}

static void improve_if(Pass *p, Tree *out, Tree *t, const Tree *list, int at,
                       const Code *head)
{
    int truth = code_truth(p->facts, t->code);

    improve_body(p, t->body, NULL, (Range){0}, NULL);
    if (t->otherwise)
        improve_body(p, t->otherwise, NULL, (Range){0}, NULL);
    if (truth == 1) {
        splice(p, out, t->body, list, at, head);
    } else if (truth == 0 && t->otherwise) {
        splice(p, out, t->otherwise, list, at, head);
    } else if (truth == 0) {
        drop_comment(out, list, at);
        p->changed = true;
    } else {
        t->code = drop_known(p, t->code);
        tree_add(out, t);
    }
}

static void improve_one(Pass *p, Tree *out, Tree *t, const Tree *list, int at,
                        const Code *head)
{
    int known = p->facts->n;

    switch (t->kind) {
    case TREE_FOR:
        improve_loop(p, out, t, list, at, head);
        return;
    case TREE_IF:
        improve_if(p, out, t, list, at, head);
        return;
    case TREE_WHILE:
    case TREE_LIST:
        improve_body(p, t->kind == TREE_LIST ? t : t->body, NULL, (Range){0},
                     NULL);
        break;
    case TREE_FUNCTION:
        forget_names(p, t->code);
        improve_list(p, t->body, &t->code);
        p->facts->n = known;
        break;
    case TREE_DECLARE:
        learn(p, t);
        break;
    default:
        break;
    }
    tree_add(out, t);
}

/* head: what the list's owner declares for it, or NULL. */
static void improve_list(Pass *p, Tree *list, const Code *head)
{
    Tree *out = tree_list(p->arena), old = *list;

    for (int i = 0; i < old.n_item; i++)
        improve_one(p, out, old.item[i], &old, i, head);
    list->item = out->item;
    list->n_item = out->n_item;
    list->cap_item = out->cap_item;
}

/* Loops and conditions. */
static bool pass_loops(Tree *t, Facts *known)
{
    Pass p = {known, known->arena, t, false};
    int n = known->n;

    improve_list(&p, t, NULL);
    known->n = n;
    return p.changed;
}

void tree_improve(Tree *t, Facts *known)
{
    bool changed = true;

    while (changed) {
        changed = pass_loops(t, known);
        changed |= pass_numbers(known->arena, t);
        changed |= pass_unread(known->arena, t);
    }
}
