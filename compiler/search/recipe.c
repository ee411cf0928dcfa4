#include "search/recipe.h"

#include "search/norms.h"
#include "search/plan.h"
#include "search/rows.h"
#include "search/siblings.h"

#include <stdlib.h>

static const char *const word[] = {[PLACED_NORM] = "norm",
                                   [PLACED_ROWS] = "rows",
                                   [PLACED_BESIDE] = "beside"};
enum { KINDS = sizeof word / sizeof *word };

/* ---- noting */

static bool for_load(const Group *gr)
{
    return gr->n_stmt && gr->stmt[0]->for_fold;
}

/* Merges of units that are, or are not, what norms read at load time. */
static void add_merges(Units *u, bool load)
{
    Recipe *r = u->recipe;

    for (int i = 0; i < u->n; i++) {
        const Group *gr = u->unit[i].group;
        if (gr && gr->made && for_load(gr) == load)
            VEC_PUSH(u->g->arena, r->merge, r->n_merge, r->cap_merge) =
                gr->made;
    }
}

void recipe_begin(Units *u)
{
    u->recipe = arena_new_of(u->g->arena, Recipe);
    u->recipe->name = arena_array(u->g->arena, const Stmt *, u->n + 1);
    for (int i = 0; i < u->n; i++)
        if (u->unit[i].group)
            u->recipe->name[i] = u->unit[i].group->stmt[0];
    add_merges(u, false);
}

void recipe_add(Units *u, const Placed *as)
{
    Recipe *r = u->recipe;
    int *other = arena_array(u->g->arena, int, as->n + 1);
    Placed to = *as;

    for (int i = 0; i < as->n; i++)
        other[i] = as->other[i];
    to.other = other;
    VEC_PUSH(u->g->arena, r->placed, r->n_placed, r->cap_placed) = to;
}

void recipe_end(Units *u)
{
    add_merges(u, true);
}

bool recipe_folds(const Placed *as, int unit)
{
    for (int i = 0; i < as->n; i++)
        if (as->other[i] == unit)
            return true;
    return false;
}

/* ---- as lines */

static void print_placed(Buf *b, const Graph *g, const Recipe *r,
                         const Placed *p)
{
    buf_printf(b, "%s %s", word[p->kind], stmt_key(g, r->name[p->unit]));
    if (p->kind == PLACED_NORM)
        buf_printf(b, " %d", p->size);
    for (int i = 0; i < p->n; i++)
        buf_printf(b, "%c%s", i ? ',' : ' ',
                   stmt_key(g, r->name[p->other[i]]));
    buf_putc(b, '\n');
}

void recipe_print(Buf *b, const Graph *g, const Recipe *r)
{
    for (int i = 0; i < r->n_merge; i++) {
        buf_puts(b, "merge");
        merge_print(b, g, r->merge[i]);
        buf_putc(b, '\n');
    }
    for (int i = 0; i < r->n_placed; i++)
        print_placed(b, g, r, &r->placed[i]);
}

/* ---- and back */

/* The word that the line begins with; *rest: what follows. */
static bool begins(const char *line, const char *with, const char **rest)
{
    size_t n = strlen(with);

    *rest = line + n + 1;
    return !strncmp(line, with, n) && line[n] == ' ';
}

bool recipe_has(const char *line)
{
    const char *rest;
    for (int i = 0; i < KINDS; i++)
        if (begins(line, word[i], &rest))
            return true;
    return false;
}

/* The next word, up to a blank or a comma; NULL: none. */
static const char *next(Arena *a, const char **p)
{
    *p += strspn(*p, " ,");
    size_t n = strcspn(*p, " ,");
    const char *w = n ? arena_strndup(a, *p, n) : NULL;

    *p += n;
    return w;
}

static const char *take_placed(const Replay *r, Units *u, PlacedKind kind,
                               const char *p)
{
    Arena *a = u->g->arena;
    const char *key = next(a, &p), *size;
    int *other = arena_array(a, int, u->n + 1);
    Placed as = {.kind = kind, .unit = key ? merge_replayed(r, key) : -1};

    if (kind == PLACED_NORM && (size = next(a, &p)))
        as.size = atoi(size);
    as.other = other;
    while ((key = next(a, &p)) && as.n < u->n)
        if ((other[as.n++] = merge_replayed(r, key)) < 0)
            return arena_printf(a, "no group has '%s'", key);
    if (as.unit < 0)
        return "no group has this statement";
    return kind == PLACED_NORM ? norms_take(u, &as)
           : kind == PLACED_ROWS ? rows_take(u, &as)
                                 : siblings_take(u, &as);
}

const char *recipe_take(Replay *r, Units *u, const char *line)
{
    const char *rest;

    for (int i = 0; i < KINDS; i++)
        if (begins(line, word[i], &rest))
            return take_placed(r, u, (PlacedKind)i, rest);
    return "it is no line of a plan";
}
