/* lower_names.c - what names mean in a frame. */
#include "lower/lower_priv.h"

#include "support/support.h"

static uint64_t hash_of(const char *name)
{
    return hash_text(name, strlen(name));
}

static bool is_called(const Sym *s, uint64_t hash, const char *name,
                      SymKind kind)
{
    return s->hash == hash && s->kind == kind && !strcmp(s->name, name);
}

/* Buckets are enough for few names: those of a block, an operator. */
static Sym *find(const Frame *f, const char *name, uint64_t hash, SymKind kind)
{
    if (f->slot) {
        size_t i = hash & (f->cap_slot - 1);
        while (f->slot[i] && !is_called(f->slot[i], hash, name, kind))
            i = (i + 1) & (f->cap_slot - 1);
        return f->slot[i];
    }
    Sym *s = f->bucket[hash % BUCKETS];
    while (s && !is_called(s, hash, name, kind))
        s = s->next;
    return s;
}

Sym *lower_find(const Frame *f, const char *name, SymKind kind)
{
    return find(f, name, hash_of(name), kind);
}

static void put_in_slot(Frame *f, Sym *s)
{
    size_t i = s->hash & (f->cap_slot - 1);

    while (f->slot[i])
        i = (i + 1) & (f->cap_slot - 1);
    f->slot[i] = s;
}

/* s is new among f's names. */
static void index_name(Arena *a, Frame *f, Sym *s)
{
    f->n_sym++;
    if (f->slot && 2 * f->n_sym < f->cap_slot) {
        put_in_slot(f, s);
        return;
    }
    if (f->n_sym < BUCKETS)
        return;
    f->cap_slot = f->slot ? 2 * f->cap_slot : 8 * BUCKETS;
    f->slot = arena_alloc(a, f->cap_slot * sizeof *f->slot);
    for (int i = 0; i < BUCKETS; i++)
        for (Sym *t = f->bucket[i]; t; t = t->next)
            put_in_slot(f, t);
}

/* Those behind s that were put there past it move up. */
static void unindex_name(Frame *f, const Sym *s)
{
    const size_t mask = f->cap_slot - 1;
    size_t free, i;

    f->n_sym--;
    if (!f->slot)
        return;
    for (free = s->hash & mask; f->slot[free] != s;)
        free = (free + 1) & mask;
    for (i = (free + 1) & mask; f->slot[i]; i = (i + 1) & mask)
        if (((i - f->slot[i]->hash) & mask) >= ((i - free) & mask)) {
            f->slot[free] = f->slot[i];
            free = i;
        }
    f->slot[free] = NULL;
}

Sym *lower_sym(Lower *l, SymKind kind, Name name)
{
    Frame *f = l->frame;
    const uint64_t hash = hash_of(name.text);
    Sym *s = find(f, name.text, hash, kind);

    if (!s) {
        Sym **first = &f->bucket[hash % BUCKETS];
        s = arena_new_of(l->a, Sym);
        s->hash = hash;
        s->next = *first;
        *first = s;
        index_name(l->a, f, s);
    }
    *s = (Sym){.next = s->next, .hash = hash, .kind = kind, .name = name.text,
               .at = name.at};
    return s;
}

void lower_forget(Frame *f, const Sym *s)
{
    Sym **p = &f->bucket[s->hash % BUCKETS];

    unindex_name(f, s);
    while (*p != s)
        p = &(*p)->next;
    *p = s->next;
}
