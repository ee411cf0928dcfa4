#include "support/support.h"
#include "search/plan.h"

#include "search/offer.h"
#include "search/recipe.h"

#include <stdio.h>

#include "version.h"

#include <inttypes.h>

#define FIRST "dcc plan 3"

/* How it came about: recipe.h. */
typedef struct Made {
    const char *text;
    Span at;
} Made;

/* A group, as it is in the end. */
typedef struct Line {
    const char *family, *variant;
    int version;
    uint64_t hash;
    double measured_us; /* 0: not said */
    bool met;
    Span at;
} Line;

/* A statement of a group. */
typedef struct Member {
    Line *line;
    int place; /* among all: in the order of launches */
} Member;

struct Plan {
    Graph *graph;
    Made *merge; int n_merge, cap_merge;
    Made *placed; int n_placed, cap_placed;
    Replay *replay;
    Line **line; int n_line, cap_line;
    Map *member; int n_member; /* statement key -> Member */
    Map *stmt;    /* statement key -> Stmt */
};

/* Path, and a number where several statements have one path. */
const char *stmt_key(const Graph *g, const Stmt *s)
{
    const char *word = escape_word(g->arena, s->path);
    int before = 0;

    for (int i = 0; i < g->n_stmt && g->stmt[i] != s; i++)
        before += !strcmp(g->stmt[i]->path, s->path);
    return before ? arena_printf(g->arena, "%s~%d", word, before) : word;
}

static uint64_t key_hash(const Choice *c)
{
    return hash_text(c->key, strlen(c->key));
}

static void put_group(Buf *b, const Selection *s, Group *gr,
                      const PlanChoice *p)
{
    Graph *g = s->graph;
    const Choice *c = choose_variant((Selection *)s, gr);

    buf_puts(b, "group ");
    for (int k = 0; k < gr->n_stmt; k++)
        buf_printf(b, "%s%s", k ? "," : "", stmt_key(g, gr->stmt[k]));
    for (int k = 0; k < gr->n_again; k++)
        buf_printf(b, ",*%s", stmt_key(g, gr->again[k]));
    buf_printf(b, " : %s/%d %016" PRIx64 " %s", p->family->name,
               p->family->version, key_hash(c), p->variant);
    buf_printf(b, " # %.2f us predicted", p->predicted_us);
    if (p->measured_us > 0)
        buf_printf(b, ", %.2f measured", p->measured_us);
    buf_putc(b, '\n');
}

void plan_write_choices(Buf *b, const Selection *s, const char *target,
                        const PlanChoice *choice)
{
    buf_printf(b, FIRST "\n# written by dcc %s\n", DCC_VERSION);
    buf_printf(b, "model %s target %s math %s", s->graph->model,
               escape_word(s->graph->arena, target),
               math_name(s->options->math));
    if (s->graph->layouts)
        buf_printf(b, " layouts %" PRIu64, s->graph->layouts);
    buf_putc(b, '\n');
    recipe_print(b, s->graph, s->recipe);
    for (int i = 0; i < s->n_group; i++)
        put_group(b, s, s->group[i], &choice[s->group[i]->id]);
}

void plan_write(Buf *b, const Selection *s, const char *target)
{
    PlanChoice *all = arena_array(s->graph->arena, PlanChoice,
                                  s->n_group + 1);

    for (int i = 0; i < s->n_group; i++) {
        Group *gr = s->group[i];
        const Choice *c = choose_variant((Selection *)s, gr);
        all[gr->id] = (PlanChoice){gr->family, choice_text(c, gr->variant),
                                   gr->predicted_us, 0};
    }
    plan_write_choices(b, s, target, all);
}

/* ---- reading */

typedef struct Reader {
    Plan *plan;
    Diag *diag;
    const Source *source;
    const Options *options;
    int line;
    bool mine;   /* in the part about this model */
    bool found;  /* there is such a part */
    bool ok;
} Reader;

static Span place(const Reader *r, const char *line, const char *at, int len)
{
    return (Span){r->source, r->line, (int)(at - line) + 1, len};
}

static bool bad(Reader *r, const char *line, const char *at, const char *what)
{
    diag_error(r->diag, place(r, line, at, 1), "in a plan, %s", what);
    return false;
}

static void add_member(Plan *p, const char *key, Line *l)
{
    Member *m = arena_new_of(p->graph->arena, Member);

    *m = (Member){l, p->n_member++};
    map_put(p->member, key, m);
}

static bool read_names(Reader *r, const char *line, const char **at, Line *l)
{
    Arena *a = r->plan->graph->arena;
    const char *p = *at;
    bool own = false;

    for (;;) {
        size_t n = strcspn(p, ", \n");
        bool again = *p == '*';
        const char *key = arena_strndup(a, p + again, n - again);
        if (!map_get(r->plan->stmt, key)) {
            diag_error(r->diag, place(r, line, p, (int)n),
                       "the model has no statement '%s'", key);
            return false;
        }
        if (!again && map_get(r->plan->member, key))
            return bad(r, line, p, "a statement stands in two groups");
        if (!again)
            add_member(r->plan, key, l);
        own |= !again;
        p += n;
        if (*p != ',')
            break;
        p++;
    }
    *at = p;
    return own || bad(r, line, line, "a group has a statement of its own");
}

/* The next word of a line, or "". */
static const char *next_word(Reader *r, const char **p)
{
    *p += strspn(*p, " ");
    size_t n = strcspn(*p, " ");
    const char *w = arena_strndup(r->plan->graph->arena, *p, n);

    *p += n;
    return w;
}

static bool read_group(Reader *r, const char *line, size_t n)
{
    Plan *plan = r->plan;
    Arena *a = plan->graph->arena;
    Line *l = arena_new_of(a, Line);
    const char *p = line + 6;
    char family[64];
    uint64_t hash;
    int version, used = 0;

    l->at = (Span){r->source, r->line, 1, (int)n};
    if (!read_names(r, line, &p, l))
        return false;
    const char *text = arena_strndup(a, p, n - (size_t)(p - line));
    char *comment = strstr(text, " #");
    if (comment) {
        sscanf(comment, " # %*f us predicted, %lf measured", &l->measured_us);
        *comment = 0;
    }
    int got = sscanf(text, " : %63[a-z0-9_]/%d %" SCNx64 " %n", family,
                     &version, &hash, &used);
    if (got < 3 || !text[used])
        return bad(r, line, p, "expected ': family/version hash variant'");
    l->family = arena_strdup(a, family);
    l->variant = text + used;
    l->version = version;
    l->hash = hash;
    VEC_PUSH(a, plan->line, plan->n_line, plan->cap_line) = l;
    return true;
}

/* A line of recipe.h; false if it is none. */
static bool read_made(Reader *r, const char *line, size_t n)
{
    const char merge[] = "merge ";
    size_t head = strlen(merge);
    Plan other = {0}, *plan = r->mine ? r->plan : &other;
    Arena *a = r->plan->graph->arena;
    Made m = {arena_strndup(a, line, n), {r->source, r->line, 1, (int)n}};

    if (!strncmp(line, merge, head)) {
        m.text += head;
        VEC_PUSH(a, plan->merge, plan->n_merge, plan->cap_merge) = m;
        return true;
    }
    if (!recipe_has(m.text))
        return false;
    VEC_PUSH(a, plan->placed, plan->n_placed, plan->cap_placed) = m;
    return true;
}

/* The seed behind ` layouts `, 0 where it is none. */
static uint64_t seed_of(const char *text)
{
    uint64_t seed;
    int used = 0;

    if (sscanf(text, " layouts %" SCNu64 "%n", &seed, &used) < 1)
        return 0;
    used += (int)strspn(text + used, " \r");
    return text[used] && text[used] != '\n' ? 0 : seed;
}

uint64_t plan_layouts(const PlanText *t, const char *model)
{
    const char *line = t->text;

    while (line) {
        char name[256], target[256], math[64];
        int used = 0;

        if (sscanf(line, "model %255s target %255s math %63s%n", name, target,
                   math, &used) == 3 &&
            used && !strcmp(name, model))
            return seed_of(line + used);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

/* model NAME target GPU math MODE [layouts SEED]: begins the part about a
 * model. */
static bool read_model(Reader *r, const char *line)
{
    Arena *a = r->plan->graph->arena;
    const char *target = escape_word(a, r->options->device->name);
    const char *math = math_name(r->options->math);
    const char *said[6], *p = line;

    for (int i = 0; i < 6; i++)
        said[i] = next_word(r, &p);
    if (strcmp(said[2], "target") || strcmp(said[4], "math") || !*said[5])
        return bad(r, line, line, "expected 'model NAME target GPU math "
                                  "MODE'");
    if (p[strspn(p, " \r")] && !seed_of(p))
        return bad(r, line, p, "expected 'layouts SEED'");
    r->mine = !strcmp(said[1], r->plan->graph->model);
    r->found |= r->mine;
    if (!r->mine || (!strcmp(said[3], target) && !strcmp(said[5], math)))
        return true;
    diag_error(r->diag, place(r, line, line, (int)strlen(line)),
               "the plan is for target %s and math %s, not %s and %s",
               said[3], said[5], target, math);
    return false;
}

static bool read_line(Reader *r, const char *line, size_t n)
{
    if (!n || *line == '#' || !strcmp(line, FIRST))
        return true;
    if (!strncmp(line, "model ", 6))
        return read_model(r, line);
    if (!strncmp(line, "group ", 6))
        return !r->mine || read_group(r, line, n);
    return read_made(r, line, n) ||
           bad(r, line, line, "expected a line 'group ...'");
}

/* False, and why, unless it begins as plans do. */
static bool read_first(Reader *r, size_t len)
{
    const char *text = r->source->text;
    size_t end = strcspn(text, "\r\n");
    int version;

    if (strlen(text) != len)
        return bad(r, text, text, "there is a NUL byte");
    if (end == strlen(FIRST) && !strncmp(text, FIRST, end) && text[end])
        return true;
    bad(r, text, text, "the first line must be 'dcc plan 3'");
    if (sscanf(text, "dcc plan %d", &version) == 1 && version > 0 &&
        version < 3)
        diag_note(r->diag, place(r, text, text, 1),
                  "this one is of an earlier dcc, which left norms and "
                  "siblings alone: dcc tune writes a new one");
    return false;
}

Plan *plan_read(Graph *g, const Options *o, const PlanText *t)
{
    Plan *plan = arena_new_of(g->arena, Plan);
    Reader r = {.plan = plan, .diag = g->diag, .options = o, .line = 1,
                .source = diag_source(g->diag, t->name, t->text, t->len)};

    plan->graph = g;
    plan->member = map_new(g->arena);
    plan->stmt = map_new(g->arena);
    for (int i = 0; i < g->n_stmt; i++)
        map_put(plan->stmt, stmt_key(g, g->stmt[i]), g->stmt[i]);
    r.ok = read_first(&r, t->len);
    if (!r.ok)
        return NULL;
    for (const char *p = r.source->text; *p; r.line++) {
        size_t n = strcspn(p, "\n"), text = n;
        while (text && p[text - 1] == '\r')
            text--;
        r.ok &= read_line(&r, arena_strndup(g->arena, p, text), text);
        p += n + (p[n] == '\n');
    }
    if (r.ok && !r.found) {
        diag_error(g->diag, place(&r, t->text, t->text, 1),
                   "the plan has no model '%s'", g->model);
        return NULL;
    }
    return r.ok ? plan : NULL;
}

/* ---- applying */

static const Member *member_of(const Plan *p, const Stmt *s)
{
    return map_get(p->member, stmt_key(p->graph, s));
}

static Line *line_of(const Plan *p, const Stmt *s)
{
    const Member *m = member_of(p, s);

    return m ? m->line : NULL;
}

static bool say_unmade(const Plan *p, const Made *m, const char *why)
{
    diag_error(p->graph->diag, m->at, "the plan's groups cannot be formed by "
               "this: %s", why);
    return false;
}

bool plan_merge(Plan *p, Units *u)
{
    p->replay = merge_replay_open(u, p->stmt);
    for (int i = 0; i < p->n_merge; i++) {
        const char *why = merge_replay(p->replay, p->merge[i].text);
        if (why)
            return say_unmade(p, &p->merge[i], why);
    }
    return true;
}

bool plan_place(const Plan *p, Units *u)
{
    recipe_begin(u);
    for (int i = 0; i < p->n_placed; i++) {
        const char *why = recipe_take(p->replay, u, p->placed[i].text);
        if (why)
            return say_unmade(p, &p->placed[i], why);
    }
    return true;
}

bool plan_whole(const Plan *p, const Units *u)
{
    for (int i = 0; i < u->g->n_stmt; i++) {
        const Stmt *s = u->g->stmt[i];
        const Tensor *t = s->tensor;
        if (u->writers[t->id].n || u->guests[t->id].n ||
            !units_need(u, t, -1, -1))
            continue;
        diag_error(p->graph->diag, s->call, "by the plan nothing stores this "
                   "('%s')", stmt_key(p->graph, s));
        return false;
    }
    return true;
}

void plan_order(const Plan *p, Units *u)
{
    for (int i = 0; i < u->n; i++) {
        const Group *gr = u->unit[i].group;
        const Member *m = gr ? member_of(p, gr->stmt[0]) : NULL;
        if (m)
            u->unit[i].first = m->place;
    }
}

/* Equal groups become one kernel, so their lines must agree. */
static bool set_variant(Selection *s, Group *gr, Choice *c, const Line *l)
{
    for (int i = 0; i < c->n_variant; i++) {
        if (strcmp(choice_text(c, i), l->variant))
            continue;
        gr->family = c->family;
        gr->variant = i;
        gr->measured_us = l->measured_us;
        if (!c->planned || c->best == i) {
            c->planned = true;
            c->best = i;
            return true;
        }
        diag_error(s->graph->diag, l->at, "an equal group has another "
                   "variant, '%s'", choice_text(c, c->best));
        return false;
    }
    diag_error(s->graph->diag, l->at, "variant '%s' is not legal for this "
               "group", l->variant);
    return false;
}

/* The choice of the family that the plan names; NULL: it cannot serve. */
static Choice *planned_choice(Selection *s, Group *gr, const Line *l)
{
    Choice *c = choose_variant(s, gr);

    if (!c->family || !strcmp(l->family, c->family->name))
        return c->family ? c : NULL;
    return c->planned ? NULL : offer_family(s, gr, l->family);
}

static bool check_group(Selection *s, Group *gr, Line *l)
{
    Diag *d = s->graph->diag;
    Choice *c = planned_choice(s, gr, l);

    for (int i = 0; i < gr->n_stmt; i++)
        if (line_of(s->plan, gr->stmt[i]) != l) {
            diag_error(d, l->at, "this group cannot be formed as planned");
            diag_note(d, gr->stmt[i]->call, "it holds this statement too");
            return false;
        }
    if (l->met) {
        diag_error(d, l->at, "this group cannot be fused into one kernel");
        return false;
    }
    l->met = true;
    if (!c || l->version != c->family->version || l->hash != key_hash(c)) {
        diag_error(d, l->at, "the plan was made for another kernel: shapes, "
                             "types, layouts or the family have changed");
        diag_note(d, gr->stmt[0]->call, "the group computes this");
        return false;
    }
    return set_variant(s, gr, c, l);
}

/* Every line is one of the groups. */
static bool all_met(const Plan *p, Diag *d)
{
    bool ok = true;

    for (int i = 0; i < p->n_line; i++) {
        const Line *l = p->line[i];
        if (l->met)
            continue;
        diag_error(d, l->at, "this group cannot be formed as planned");
        ok = false;
    }
    return ok;
}

bool plan_check(const Plan *p, Selection *s)
{
    Diag *d = s->graph->diag;
    bool ok = true;

    for (int i = 0; i < s->n_group; i++) {
        Group *gr = s->group[i];
        Line *l = line_of(p, gr->stmt[0]);
        if (l) {
            ok &= check_group(s, gr, l);
            continue;
        }
        diag_error(d, gr->stmt[0]->call, "the plan has no group for this "
                   "statement ('%s')", stmt_key(s->graph, gr->stmt[0]));
        ok = false;
    }
    return ok && all_met(p, d);
}
