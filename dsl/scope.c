#include "check.h"

#include "support/support.h"

static Space space_of(SymKind kind)
{
    return kind == SYM_TYPE ? SPACE_TYPE
           : kind >= SYM_LIST ? SPACE_TENSOR : SPACE_VALUE;
}

bool sym_is_tensor(const Sym *s)
{
    return s && s->kind >= SYM_ARG;
}

const char *sym_words(const Sym *s)
{
    static const char *const words[] = {
        "a size", "an attribute", "a loop variable", "a scan's variable",
        "a type", "a list", "an argument", "an input",
        "a parameter", "a state", "a loop's parameter", "a tensor",
    };

    return words[s->kind];
}

/* The name's place in its own space, whether it is defined or not. */
static Sym *find(Check *c, Space space, const char *name, int **bucket)
{
    int *first = &c->bucket[hash_text(name, strlen(name)) % BUCKETS];

    if (bucket)
        *bucket = first;
    for (int i = *first; i; i = c->sym[i - 1].below)
        if (space_of(c->sym[i - 1].kind) == space &&
            !strcmp(c->sym[i - 1].name, name))
            return &c->sym[i - 1];
    return NULL;
}

/* The name as it stands now; NULL if it is nowhere defined before. */
Sym *scope_find(Check *c, Space space, const char *name)
{
    Sym *s = find(c, space, name, NULL);

    return s && s->defined != DEFINED_NO ? s : NULL;
}

Sym *scope_add(Check *c, SymKind kind, Name name)
{
    int *bucket, below;
    Sym *s = find(c, space_of(kind), name.text, &bucket);

    if (s) {
        below = s->below;
    } else {
        below = *bucket;
        s = &VEC_PUSH(c->arena, c->sym, c->n_sym, c->cap_sym);
        *bucket = c->n_sym;
    }
    *s = (Sym){.kind = kind, .name = name.text, .at = name.at,
               .rank = RANK_UNKNOWN, .defined = DEFINED_YES, .below = below};
    return s;
}

/* The name in its own space or, for what stands bare, in the other. */
static Sym *clash(Check *c, SymKind kind, const char *name, int rank)
{
    Space space = space_of(kind);
    Sym *s = scope_find(c, space, name);

    if (!s && space == SPACE_VALUE) {
        s = scope_find(c, SPACE_TENSOR, name);
        if (s && (s->rank || !sym_is_tensor(s)))
            s = NULL;
    }
    if (!s && space == SPACE_TENSOR && rank == 0)
        s = scope_find(c, SPACE_VALUE, name);
    return s && s->defined == DEFINED_YES ? s : NULL;
}

Sym *scope_declare(Check *c, SymKind kind, Name name, int rank)
{
    Sym *old = clash(c, kind, name.text, rank);

    if (old) {
        diag_error(c->diag, name.at, "'%s' is already %s", name.text,
                   sym_words(old));
        diag_note(c->diag, old->at, "'%s' is declared here", name.text);
    }
    Sym *s = scope_add(c, kind, name);
    s->rank = rank;
    return s;
}

void scope_read(Sym *s)
{
    s->unread = false;
}

/* ---- indices and packs */

const Bound *scope_bound(const Check *c, const char *name, bool pack)
{
    for (int i = c->n_bound; i-- > 0;)
        if (c->bound[i].pack == pack && !strcmp(c->bound[i].name, name))
            return &c->bound[i];
    return NULL;
}

bool scope_has_pack(const Check *c, const char *name)
{
    for (int i = 0; i < c->n_pack; i++)
        if (!strcmp(c->pack[i].name, name))
            return true;
    for (int i = 0; i < c->item->n_attr; i++) /* `shape[]` is one too */
        if (c->item->attr[i].kind == ATTR_LIST &&
            !strcmp(c->item->attr[i].name.text, name))
            return true;
    for (int i = 0; i < c->n_sym; i++) /* and so is `dim S = [2, 3];` */
        if (c->sym[i].kind == SYM_LIST && !strcmp(c->sym[i].name, name) &&
            c->sym[i].defined == DEFINED_YES)
            return true;
    return false;
}

static void bind(Check *c, Name name, bool pack)
{
    VEC_PUSH(c->arena, c->bound, c->n_bound, c->cap_bound) =
        (Bound){name.text, pack, name.at};
}

void scope_bind_index(Check *c, Name name)
{
    const Bound *old = scope_bound(c, name.text, false);
    Sym *s = clash(c, SYM_SIZE, name.text, 0);

    if (old) {
        diag_error(c->diag, name.at, "index '%s' is already in use",
                   name.text);
        diag_note(c->diag, old->at, "it is in use from here");
    } else if (s) {
        diag_error(c->diag, name.at,
                   "'%s' is %s and cannot be an index too", name.text,
                   sym_is_tensor(s) ? "a tensor of rank 0" : sym_words(s));
        diag_note(c->diag, s->at, "'%s' is declared here", name.text);
    }
    bind(c, name, false);
}

void scope_bind_pack(Check *c, Name name)
{
    const Bound *old = scope_bound(c, name.text, true);

    if (!scope_has_pack(c, name.text)) {
        if (c->item->kind == ITEM_MODEL)
            diag_error(c->diag, name.at,
                       "a pack '%s..' stands only in ops and blocks",
                       name.text);
        else
            diag_error(c->diag, name.at, "no parameter of %s '%s' has a pack "
                       "'%s..'", item_kind_name(c->item->kind),
                       c->item->name.text, name.text);
    } else if (old) {
        diag_error(c->diag, name.at, "pack '%s..' is already in use",
                   name.text);
        diag_note(c->diag, old->at, "it is in use from here");
    }
    bind(c, name, true);
}

/* ---- unknown names */

const char *scope_hint(Check *c, const char *name, const char *const *names,
                       int n)
{
    const char *near = dsl_nearest(name, names, n);

    return near ? arena_printf(c->arena, " (did you mean '%s'?)", near) : "";
}

static const Later *find_later(const Check *c, const char *name,
                               const AstStmt *loop)
{
    for (int i = 0; i < c->n_later; i++)
        if (!strcmp(c->later[i].name, name) &&
            (!loop || c->later[i].loop == loop))
            return &c->later[i];
    return NULL;
}

/* As sizes are called mostly. */
static bool is_upper(const char *name)
{
    return !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* Whether a name without a meaning was reported in this item; now it is. An
 * index lives in its statement, so each may lack its own. */
static bool said_unknown(Check *c, const char *name, bool index)
{
    if (map_get(c->unknown, name))
        return true;
    if (!index)
        map_put(c->unknown, name, c);
    return false;
}

void scope_unknown(Check *c, Name name, const char *what, unsigned spaces,
                   bool indices)
{
    const char **near = NULL;
    int n = 0, cap = 0;
    bool tensor = spaces >> SPACE_TENSOR & 1;

    /* in an earlier round of the loop it may well be: lowering knows */
    if (tensor && c->loop && find_later(c, name.text, c->loop))
        return;
    const Later *later = tensor && !diag_full(c->diag)
                             ? find_later(c, name.text, NULL) : NULL;
    if (later) {
        bool after = later->at.line > name.at.line ||
                     (later->at.line == name.at.line &&
                      later->at.col >= name.at.col);
        diag_error(c->diag, name.at, after ? "'%s' is read before it is defined"
                                           : "'%s' is not defined here",
                   name.text);
        diag_note(c->diag, later->at, "it is defined here");
        return;
    }
    if (dsl_find_op(c->program, name.text) || dsl_find_function(name.text)) {
        diag_error(c->diag, name.at, "'%s' can only be called, as %s(..)",
                   name.text, name.text);
        return;
    }
    if (said_unknown(c, name.text, indices && !is_upper(name.text)))
        return;
    for (int i = 0; i < c->n_sym && !diag_full(c->diag); i++)
        if (spaces >> space_of(c->sym[i].kind) & 1)
            VEC_PUSH(c->arena, near, n, cap) = c->sym[i].name;
    for (int i = 0; i < c->n_bound && indices; i++)
        if (!c->bound[i].pack)
            VEC_PUSH(c->arena, near, n, cap) = c->bound[i].name;
    const char *hint = scope_hint(c, name.text, near, n);
    /* a letter is most likely meant as an index */
    if (!*hint && indices && strlen(name.text) == 1)
        hint = arena_printf(c->arena, ": an index stands on the left, or in a "
                            "reduction, as sum(%s)", name.text);
    if (!*hint && !indices && c->item->kind == ITEM_MODEL &&
        is_upper(name.text))
        hint = arena_printf(c->arena, ": 'dim %s = 8;' declares one",
                            name.text);
    diag_error(c->diag, name.at, "%s '%s'%s", what, name.text, hint);
}

/* ---- arms of an `if` */

Snapshot scope_save(Check *c)
{
    Snapshot s = {arena_array(c->arena, Sym, c->n_sym + 1), c->n_sym};

    if (c->n_sym)
        memcpy(s.sym, c->sym, sizeof(Sym) * (size_t)c->n_sym);
    return s;
}

void scope_restore(Check *c, Snapshot s)
{
    for (int i = 0; i < c->n_sym; i++) {
        if (i < s.n)
            c->sym[i] = s.sym[i];
        else
            c->sym[i].defined = DEFINED_NO;
    }
}

/* What is known after one arm (c) or the other was taken. */
void scope_merge(Check *c, Snapshot other)
{
    for (int i = 0; i < c->n_sym; i++) {
        Sym *s = &c->sym[i];
        Sym o = i < other.n ? other.sym[i] : (Sym){.defined = DEFINED_NO};
        if (s->defined == DEFINED_NO && o.defined != DEFINED_NO) {
            *s = o;
            s->defined = DEFINED_MAYBE;
            s->unread = false;
        } else if (o.defined == DEFINED_NO || o.defined != s->defined) {
            s->defined = s->defined == DEFINED_NO ? DEFINED_NO : DEFINED_MAYBE;
            s->unread = false;
        } else {
            s->unread = s->unread && o.unread;
            s->output = s->output || o.output;
            if (o.rank != s->rank || o.kind != s->kind)
                s->rank = RANK_UNKNOWN;
        }
    }
}
