/* map_factor.c - what a walk has in registers for all its outputs: factors of
 * the window, and what sums begin with. */
#include "family/map/map_walk.h"
#include "emit/emit.h"

#include <math.h>
#include <string.h>

/* ---- what stays in registers ------------------------------------------- */

static bool uses_taps(const Walk *w, const Expr *e)
{
    return read_uses(e, w->r->down.s) ||
           (w->r->across.s && read_uses(e, w->r->across.s));
}

/* `type name[R][S]lanes;`, what `taps` says, and the loops around `in`. */
static void put_taps(Walk *w, Tree *out, const char *type, const char *name,
                     const char *lanes, bool taps, Tree *in)
{
    Arena *a = w->m->graph->arena;
    const char *r = "", *s = "";
    Tree *row = tree_list(w->m->graph->arena);

    if (taps)
        r = arena_printf(a, "[%s]", walk_size(w, w->r->down.s));
    if (taps && w->tap_s)
        s = arena_printf(a, "[%s]", walk_size(w, w->r->across.s));
    PUT(out, "@type @name@@r@@s@@lanes@;\n", FILL("type", type),
        FILL("name", name), FILL("r", r), FILL("s", s), FILL("lanes", lanes));
    if (taps && w->tap_s) {
        walk_unrolled(row, w->tap_s, walk_size(w, w->r->across.s), in);
        in = row;
    }
    if (taps)
        walk_unrolled(out, w->tap_r, walk_size(w, w->r->down.s), in);
    else
        tree_add(out, in);
}

static const char *factor_name(Walk *w, const Expr *e, const char *what)
{
    CPrint *p = &w->m->body.print;

    return cprint_fresh(p, arena_printf(w->m->graph->arena, "%s_%s",
                                        cprint_tensor(p, e->tensor), what));
}

/* Asks for a factor, as it lies in memory, if its lanes are a vector: nothing
 * waits for it yet. */
static void put_early(Walk *w, Tree *out, const Expr *e)
{
    enum { MOST = sizeof w->early / sizeof *w->early };
    MapBuild *m = w->m;
    CPrint *p = &m->body.print;
    Arena *a = m->graph->arena;
    bool taps = uses_taps(w, e);
    int step;
    Tree *in = tree_list(w->m->graph->arena);

    if (read_kind(m->graph, e, m->body.along, m->vec, &step) != READ_VECTOR ||
        step != m->vec || guard_truth(e->in) != ALWAYS || w->n_early == MOST)
        return;
    for (int i = 0; i < e->tensor->rank; i++)
        if (idx_has_data(e->at[i]))
            return;
    const char *raw = factor_name(w, e, "raw");
    const char *one = arena_printf(a, "%s%s", raw, taps ? w->taps : "");
    CScope scope = cprint_open(p);
    walk_name_taps(w, w->tap_r, w->tap_s);
    PUT(in, "dcc_read(@raw, &@tensor[@at]);\n", FILL("raw", one),
        FILL("tensor", cprint_tensor(p, e->tensor)),
        FILL("at", cprint_at(p, e->tensor, e->at, (Guard){0})));
    cprint_close(p, scope);
    put_taps(
        w, out,
        arena_printf(a, "dcc_vector<%s, VEC>", type_cname(e->tensor->type)),
        raw, "", taps, in);
    w->early[w->n_early] = e;
    w->early_name[w->n_early++] = one;
}

static const char *early_name(const Walk *w, const Expr *e)
{
    for (int i = 0; i < w->n_early; i++)
        if (expr_equal(w->early[i], e))
            return w->early_name[i];
    return NULL;
}

static void put_factor(Walk *w, Tree *out, const Expr *e)
{
    MapBuild *m = w->m;
    Body *b = &m->body;
    bool taps = uses_taps(w, e);
    int width;
    Tree *in = tree_list(w->m->graph->arena);
    ReadKind kind = read_kind(m->graph, e, b->along, m->vec, &width);
    const char *name = factor_name(w, e, "frag"), *early = early_name(w, e);
    const char *array = name;
    bool lanes = kind != READ_BROADCAST;

    if (taps)
        array = arena_printf(m->graph->arena, "%s%s", array, w->taps);
    CScope scope = cprint_open(&b->print);
    walk_name_taps(w, w->tap_r, w->tap_s);
    if (early)
        PUT(in, "dcc_load<VEC>(@array, @early.v);\n", FILL("array", array),
            FILL("early", early));
    else if (kind == READ_VECTOR)
        body_load(b, in, e, array);
    else if (lanes)
        window_lanes(m, in, e, array);
    else
        PUT(in, "@array = @value;\n", FILL("array", array),
            FILL("value", cprint_bind(in, &b->print, e, NULL)));
    cprint_close(&b->print, scope);
    put_taps(w, out, cprint_ctype(e->type), name, lanes ? "[VEC]" : "", taps,
             in);
    body_hold(b, e, lanes ? arena_printf(m->graph->arena, "%s[%s]", array,
                                         b->lane) : array);
}

void walk_factors(Walk *w, Tree *out, bool constant, bool early)
{
    MapBuild *m = w->m;
    int step[MAX_STEPS];
    int n = schedule_phase(m->group, &m->plan, 0, step);
    Reads r;

    for (int part = 0; part < 2; part++) {
        reads_of(m->graph, m->group, part ? step : w->step, part ? n : w->n,
                 &r);
        for (int i = 0; i < r.n; i++)
            if (!roll_moves(w->r, r.read[i]) && !read_by_local(r.read[i]) &&
                kernel_reads_constants(r.read[i]) == constant &&
                !body_held(&m->body, r.read[i])) {
                if (early)
                    put_early(w, out, r.read[i]);
                else
                    put_factor(w, out, r.read[i]);
            }
    }
}

/* ---- what sums begin with, and end at ---------------------------------- */

typedef struct Uses {
    int of, n;
} Uses;

static void count_use(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    u->n += e->kind == E_LOCAL && e->local == u->of;
}

static bool used_once(const Group *gr, int i)
{
    Uses u = {i, 0};

    for (int j = 0; j < gr->n_step; j++)
        expr_visit(gr->step[j].value, count_use, &u);
    return u.n == 1;
}

/* The factor's array of lanes, or its only value; NULL: it is none. */
static const char *whole_factor(Walk *w, const Expr *e)
{
    Body *b = &w->m->body;
    const Held *h = e->kind == E_READ ? body_held(b, e) : NULL;
    const char *lane = arena_printf(w->m->graph->arena, "[%s]", b->lane);

    if (!h || roll_moves(w->r, e))
        return NULL;
    size_t n = strlen(h->text), m = strlen(lane);
    if (n > m && !strcmp(h->text + n - m, lane))
        return arena_printf(w->m->graph->arena, "%.*s", (int)(n - m), h->text);
    return h->text;
}

/* If step j adds a factor to a sum, its place in w->start and *sum. */
static const char *added_factor(Walk *w, const Step *s, const Expr **sum)
{
    const Group *gr = w->m->group;

    if (s->value->kind != E_BINARY || s->value->fn != F_ADD)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const Expr *e = s->value->arg[k];
        if (e->kind != E_LOCAL || gr->step[e->local].op != R_SUM ||
            gr->step[e->local].type != s->value->type ||
            !used_once(gr, e->local))
            continue;
        *sum = e;
        return whole_factor(w, s->value->arg[1 - k]);
    }
    return NULL;
}

/* Of max(x, bound), stored and no more: the bound, if 16 bits have it exactly.
 * x is *rest. */
static const char *stored_bound(Walk *w, int j, const Step *s,
                                const Expr **rest)
{
    const Expr *e = s->value;
    Tree *text = tree_list(w->m->graph->arena);

    if (!s->tensor || w->m->plan.uses[j] || e->type != T_F32 ||
        (s->tensor->type != T_F16 && s->tensor->type != T_BF16) ||
        e->kind != E_BINARY || e->fn != F_MAX ||
        !body_stores_vectors(&w->m->body, s))
        return NULL;
    for (int k = 0; k < 2; k++) {
        const Expr *c = e->arg[k];
        if (c->kind != E_CONST || c->num != floor(c->num) ||
            fabs(c->num) > 256)
            continue;
        *rest = e->arg[1 - k];
        return cprint_bind(text, &w->m->body.print, c, NULL);
    }
    return NULL;
}

/* Whether what is stored is rounded so far that the order of additions does not
 * show: in f32, sums that begin with a large factor are rounded to its size
 * each time, which is beyond the bound of (sum) + factor. */
static bool stores_short(const Group *gr)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor && type_bytes(gr->step[i].tensor->type) > 2)
            return false;
    return true;
}

void walk_starts(Walk *w)
{
    MapBuild *m = w->m;
    int step[MAX_STEPS], n = schedule_phase(m->group, &m->plan, 0, step);
    Group *own = arena_new_of(m->graph->arena, Group);

    *own = *m->group;
    own->step = arena_array(m->graph->arena, Step, own->n_step);
    memcpy(own->step, m->group->step, sizeof(Step) * (size_t)own->n_step);
    for (int i = 0; i < n; i++) {
        const Expr *sum = NULL, *rest = NULL;
        Step *s = &own->step[step[i]];
        m->body.least[step[i]] = stored_bound(w, step[i], s, &rest);
        s->value = rest ? rest : s->value;
        const char *start = stores_short(m->group) ? added_factor(w, s, &sum)
                                                   : NULL;
        if (!start)
            continue;
        w->start[sum->local] = start;
        s->value = sum;
    }
    m->group = own;
    m->body.group = own;
}
