/* compile_sizes.c - models with a set of sizes (compile.h): that it may be one,
 * a program for each, and what they share. */
#include "compile.h"

#include "emit/emit.h"
#include "graph/restrict.h"
#include "group/groups.h"
#include "rewrite/layout.h"

#include <math.h>

/* Up to this size all are looked at; beyond, those near powers of two and the
 * set's own too. */
enum { LOOK_AT_ALL = 128 };

/* A second packing is worth its memory if some size gains so much; less than
 * that the model cannot tell. */
#define WORTH_TWO 1.015

typedef struct Sizes {
    Arena *arena;
    Diag *diag;
    const struct Program *tree;
    const char *model;
    const CompileOptions *o;
    SizeSet set;
    int *input, *output; /* Tensor.varies of each */
    CudaProgram **p;
    int *same; /* of each the first that is loaded alike */
} Sizes;

/* A program for each size, and how they came about. */
typedef struct Round {
    CudaProgram **p;
    Packings *packed;
    Folds *folded;
    int *same;
    int n_packing; /* that differ */
    double *us;    /* predicted, a run of each size */
    double over;   /* the most that it is over the size's own */
    size_t bytes;  /* of weights: one packing for all is there to save them */
    Report r;
} Round;

/* The options with the set being `value`. */
static CompileOptions options_of(const Sizes *s, Arena *a, int64_t value)
{
    CompileOptions o = *s->o;
    Define *define = arena_array(a, Define, o.n_define + 1);

    for (int i = 0; i < o.n_define; i++)
        define[i] = s->o->define[i];
    define[o.n_define++] = (Define){
        s->set.name, arena_printf(a, "%lld", (long long)value)};
    o.define = define;
    return o;
}

static Graph *lower_size(const Sizes *s, Arena *a, int64_t value)
{
    CompileOptions o = options_of(s, a, value);

    return lower_model(a, s->diag, s->tree, s->model, o.define, o.n_define);
}

/* ---- whether the set may be one */

static int64_t nearer(int64_t n, int64_t to, int64_t next)
{
    for (int64_t at = to - 1; at <= to + 1; at++)
        if (at > n && at < next)
            next = at;
    return next;
}

/* The next one behind n that is looked at. */
static int64_t next_size(const Sizes *s, int64_t n)
{
    int64_t next = INT64_MAX;

    if (n < LOOK_AT_ALL)
        return n + 1;
    for (int64_t p = 2 * LOOK_AT_ALL; p <= 2 * (n + 1); p *= 2)
        next = nearer(n, p, next);
    for (int i = 0; i < s->set.n; i++)
        next = nearer(n, s->set.value[i], next);
    return next;
}

/* A dimension that differs is a multiple of the size. */
static bool check_multiples(const Sizes *s, const Graph *a, int64_t n,
                            Tensor *const *small, Tensor *const *big, int count)
{
    int64_t most = s->set.value[s->set.n - 1];

    for (int i = 0; i < count; i++)
        for (int d = 0; d < big[i]->rank; d++) {
            int64_t x = small[i]->dim[d], y = big[i]->dim[d];
            if (x == y || (y % most == 0 && y / most * n == x))
                continue;
            diag_error(a->diag, big[i]->at, "dimension %d of '%s' is %lld for "
                       "%s = %lld and %lld for %lld: it can only be a multiple "
                       "of a set's size", d, big[i]->name, (long long)x,
                       s->set.name, (long long)n, (long long)y,
                       (long long)most);
            return false;
        }
    return true;
}

/* A size that a run may ask for, against the one whose kernels it runs, in
 * memory of its own. */
static bool check_size(const Sizes *s, const Graph *next, int64_t n, bool own)
{
    Arena *a = arena_new();
    Graph *g = lower_size(s, a, n);
    const char *name = s->set.name;
    bool good = g && (own ? graph_same_interface(g, next, name)
                          : graph_restricts(g, next, name, n == 1));

    if (!good)
        diag_note(s->diag, s->set.at, "%s = %lld is looked at, which a run may "
                  "ask for", name, (long long)n);
    arena_free(a);
    return good;
}

/* Those from `from` on up to the set's i-th size. */
static bool check_below(const Sizes *s, const Graph *big, int64_t from, int i)
{
    int64_t most = s->set.value[i];
    Graph *next = lower_size(s, s->arena, most);

    if (!next)
        return false;
    next->set = s->set; /* for messages */
    if (!check_size(s, big, most, true) ||
        !check_multiples(s, next, most, next->input, big->input,
                         next->n_input) ||
        !check_multiples(s, next, most, next->output, big->output,
                         next->n_output))
        return false;
    for (int64_t n = from; n < most; n = next_size(s, n))
        if (!check_size(s, next, n, false))
            return false;
    return true;
}

/* 1 + the dimension in which each tensor differs, or 0. */
static int *differing(const Sizes *s, Tensor *const *small, Tensor *const *big,
                      int n)
{
    int *varies = arena_array(s->arena, int, n + 1);

    for (int i = 0; i < n; i++)
        for (int d = 0; d < big[i]->rank; d++)
            if (small[i]->dim[d] != big[i]->dim[d])
                varies[i] = d + 1;
    return varies;
}

static bool find_varying(Sizes *s, const Graph *big)
{
    Graph *small = lower_size(s, s->arena, s->set.value[0]);

    if (!small)
        return false;
    s->input = differing(s, small->input, big->input, big->n_input);
    s->output = differing(s, small->output, big->output, big->n_output);
    return true;
}

static bool check_set(const Sizes *s, const Graph *big)
{
    if (s->o->plan_name || s->o->want_plan) {
        diag_error(s->diag, s->set.at, "a plan is of one size, and '%s' is a "
                   "set: -D %s=.. picks one", s->set.name, s->set.name);
        return false;
    }
    if (big->trains) {
        diag_error(s->diag, s->set.at, "a model that trains has one size: "
                   "-D %s=.. picks it", s->set.name);
        return false;
    }
    for (int i = 0; i < s->set.n; i++)
        if (!check_below(s, big, i ? s->set.value[i - 1] + 1 : 1, i))
            return false;
    return true;
}

/* ---- what is loaded alike */

/* Text without the size's word, and without what depends on its length: lines
 * and rules. */
static void put_without_word(Buf *b, const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; *text; text++)
        if (*text == '_' && !strncmp(text + 1, word, n) && text[n + 1] == '_')
            text += n;
        else if (!strncmp(text, "----", 4))
            text += strspn(text, "-") - 1;
        else if (*text != ' ' && *text != '\n')
            buf_putc(b, *text);
}

/* All that loading does, as text without the size's word. */
static const char *loading(const Sizes *s, const CudaProgram *p)
{
    Buf all = {0}, one = {0};

    for (int i = 0; i < p->n_load; i++) {
        const Launch *l = &p->load[i];
        one.len = 0;
        emit_kernel(&one, p, l->kernel);
        put_without_word(&all, buf_text(&one), p->graph->word);
        for (int k = 0; k < l->group->n_arg; k++) {
            const Tensor *t = l->group->arg[k];
            buf_printf(&all, "%s %d %zu\n",
                       t->role == ROLE_PARAM ? t->weight : t->name,
                       t->role == ROLE_PARAM ? -1 : (int)t->place,
                       t->role == ROLE_PARAM ? 0 : t->offset);
        }
    }
    buf_printf(&all, "%zu", p->consts_bytes);
    buf_free(&one);
    return buf_take(&all, s->arena);
}

/* The kernels of loading, where another size does it. */
static void drop_loading(CudaProgram *p)
{
    int n = 0;

    for (int i = 0; i < p->n_kernel; i++) {
        bool runs = false;
        for (int k = 0; k < p->n_run; k++)
            runs |= p->run[k].kernel == p->kernel[i];
        if (runs)
            p->kernel[n++] = p->kernel[i];
    }
    p->n_kernel = n;
    p->n_load = 0;
}

static void find_same(const Sizes *s, Round *r)
{
    const char **text = arena_array(s->arena, const char *, s->set.n);

    r->n_packing = 0;
    for (int i = 0; i < s->set.n; i++) {
        text[i] = loading(s, r->p[i]);
        r->same[i] = i;
        for (int k = i - 1; k >= 0; k--)
            if (!strcmp(text[k], text[i]))
                r->same[i] = r->same[k];
        r->n_packing += r->same[i] == i;
    }
}

/* Between sizes: nothing, or what is copied, and why. */
static void explain_between(const Sizes *s, Buf *b)
{
    for (int i = 0; i < s->set.n; i++) {
        const Graph *g = s->p[i]->graph;
        for (int k = 0; k < g->n_input + g->n_output; k++) {
            const Tensor *t = k < g->n_input ? g->input[k]
                                             : g->output[k - g->n_input];
            if (t->copied)
                buf_printf(b, "below %s = %lld '%s' is copied: %s\n",
                           s->set.name, (long long)s->set.value[i], t->name,
                           t->copied);
        }
    }
}

/* "12.1, 40.5 and 99.0 us": a run of each size. */
static void put_times(const Sizes *s, Buf *b, const double *us)
{
    for (int i = 0; i < s->set.n; i++)
        buf_printf(b, "%s%.1f", !i ? "" : i < s->set.n - 1 ? ", " : " and ",
                   us[i]);
    buf_puts(b, " us");
}

/* "packed weights: 42.5 MB for B = 1 8 32;", or more than one packing, and what
 * a run of each size takes with the other choice, if there is one. */
static void explain_packing(const Sizes *s, Report *r, const double *us,
                            const double *other)
{
    int n = 0; /* packings */

    buf_printf(&r->explain, "sizes: %s in {", s->set.name);
    for (int i = 0; i < s->set.n; i++)
        buf_printf(&r->explain, "%s%lld", i ? ", " : "",
                   (long long)s->set.value[i]);
    buf_puts(&r->explain, "}; packed weights:");
    for (int i = 0; i < s->set.n; i++) {
        if (s->same[i] != i)
            continue;
        n++;
        buf_printf(&r->explain, " %.1f MB for %s =",
                   (double)s->p[i]->consts_bytes / 1e6, s->set.name);
        for (int k = i; k < s->set.n; k++)
            if (s->same[k] == i)
                buf_printf(&r->explain, " %lld", (long long)s->set.value[k]);
        buf_putc(&r->explain, ';');
    }
    buf_puts(&r->explain, " what is not packed there is once\n");
    explain_between(s, &r->explain);
    if (n > 1 && !other) {
        buf_puts(&r->explain, "no size's packing serves all: each has the one "
                 "that its kernels read\n");
    } else if (other) {
        buf_printf(&r->explain, n > 2    ? "%d packings are worth it"
                                : n == 2 ? "two packings are worth it"
                                         : "one packing for all", n);
        buf_puts(&r->explain, ": runs take ");
        put_times(s, &r->explain, us);
        buf_puts(&r->explain, "; with ");
        buf_puts(&r->explain, n > 1 ? "the best one for all "
                                    : "each its own ");
        put_times(s, &r->explain, other);
        buf_putc(&r->explain, '\n');
    }
}

/* ---- the whole */

static double predicted(const CudaProgram *p)
{
    double us = 0;

    for (int i = 0; i < p->n_run; i++)
        us += p->run[i].group->predicted_us;
    return us;
}

/* Every size, packed as it likes best or as `as` and `folds` say. */
static bool compile_round(const Sizes *s, const Packings *as,
                          const Folds *folds, Round *r)
{
    int n = s->set.n;

    *r = (Round){.p = arena_array(s->arena, CudaProgram *, n),
                 .packed = arena_array(s->arena, Packings, n),
                 .folded = arena_array(s->arena, Folds, n),
                 .same = arena_array(s->arena, int, n),
                 .us = arena_array(s->arena, double, n)};
    for (int i = 0; i < n; i++) {
        CompileOptions o = options_of(s, s->arena, s->set.value[i]);
        o.word = arena_printf(s->arena, "%s%lld", s->set.name,
                              (long long)s->set.value[i]);
        o.pack_as = as;
        o.fold_as = folds;
        Sized sized = {.name = s->set.name, .value = s->set.value[i],
                       .between = s->set.value[i] >
                                  (i ? s->set.value[i - 1] : 0) + 1,
                       .input = s->input, .output = s->output};
        o.sized = &sized;
        o.packed = &r->packed[i];
        o.folded = &r->folded[i];
        if (o.explain && !o.json)
            buf_printf(&r->r.explain, "%s%s = %lld\n", i ? "\n" : "",
                       s->set.name, (long long)s->set.value[i]);
        r->p[i] =
            compile_model(s->arena, s->diag, s->tree, s->model, &o, &r->r);
        if (!r->p[i])
            return false;
        r->us[i] = predicted(r->p[i]);
    }
    find_same(s, r);
    return true;
}

static void free_round(Round *r)
{
    buf_free(&r->r.explain);
    buf_free(&r->r.dump);
    buf_free(&r->r.plan);
}

/* Of what costs no size its own packing, the one with the least weights. */
static bool better(const Round *a, const Round *b)
{
    bool good = a->over <= WORTH_TWO;

    if (!b->p || good != (b->over <= WORTH_TWO))
        return !b->p || good;
    return good && a->bytes != b->bytes ? a->bytes < b->bytes
                                        : a->over < b->over;
}

/* The better one of *best and a round as told, if that has one packing. */
static void try_packing(const Sizes *s, const Round *own, const Packings *as,
                        const Folds *folds, Round *best)
{
    Round one, loser;
    bool good = compile_round(s, as, folds, &one) && one.n_packing == 1;

    for (int i = 0; i < s->set.n && good; i++) {
        size_t bytes = one.p[i]->params_bytes + one.p[i]->consts_bytes;
        one.over = fmax(one.over, one.us[i] / own->us[i]);
        one.bytes = bytes > one.bytes ? bytes : one.bytes;
    }
    if (good && better(&one, best)) {
        loser = *best;
        *best = one;
    } else {
        loser = one;
    }
    free_round(&loser);
}

static bool same_packings(const Packings *a, const Packings *b)
{
    for (int i = 0; i < a->n && a->n == b->n; i++)
        if (a->way[i].how != b->way[i].how)
            return false;
    return a->n == b->n;
}

static bool same_folds(const Folds *a, const Folds *b)
{
    for (int i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->path[i], b->path[i]))
            return false;
    return a->n == b->n;
}

/* What any size has in products. */
static Folds all_folds(const Sizes *s, const Round *own)
{
    Folds all = {0};

    for (int i = 0; i < s->set.n; i++)
        for (int k = 0; k < own->folded[i].n; k++) {
            bool there = false;
            for (int j = 0; j < all.n && !there; j++)
                there = !strcmp(all.path[j], own->folded[i].path[k]);
            if (!there)
                VEC_PUSH(s->arena, all.path, all.n, all.cap) =
                    own->folded[i].path[k];
        }
    return all;
}

/* The i-th size's layouts of weights, if no size before it has the same: with
 * no norms in products, with those that a size has there, with all of them. */
static void try_size(const Sizes *s, const Round *own, int i, Round *best)
{
    const Folds none = {0}, all = all_folds(s, own);

    for (int k = 0; k < i; k++)
        if (same_packings(&own->packed[k], &own->packed[i]))
            return;
    try_packing(s, own, &own->packed[i], &none, best);
    bool whole = !all.n;
    for (int k = 0; k < s->set.n; k++) {
        const Folds *f = &own->folded[k];
        bool known = !f->n;
        for (int j = 0; j < k; j++)
            known |= same_folds(&own->folded[j], f);
        if (!known)
            try_packing(s, own, &own->packed[i], f, best);
        whole |= f->n == all.n;
    }
    if (!whole)
        try_packing(s, own, &own->packed[i], &all, best);
}

/* One packing for all sizes where that costs little: *r becomes that round.
 * What the sizes would take with the other choice, or NULL. */
static const double *choose_packing(const Sizes *s, Round *r)
{
    Round best = {0}, own = *r;

    for (int i = 0; i < s->set.n && own.n_packing > 1; i++)
        try_size(s, &own, i, &best);
    if (best.p && best.over <= WORTH_TWO) {
        free_round(r);
        *r = best;
        return own.us;
    }
    free_round(&best);
    return best.us;
}

static void take_round(Sizes *s, const Round *c, Report *r)
{
    s->p = c->p;
    s->same = c->same;
    if (s->o->json && r->explain.len && c->r.explain.len)
        buf_puts(&r->explain, ",\n");
    buf_putn(&r->explain, buf_text(&c->r.explain), c->r.explain.len);
    buf_putn(&r->dump, buf_text(&c->r.dump), c->r.dump.len);
    r->selection = c->r.selection;
    for (int i = 0; i < s->set.n; i++)
        if (s->same[i] != i)
            drop_loading(s->p[i]);
}

static CudaProgram *compile_set(Sizes *s, Report *r)
{
    int n = s->set.n;
    Round c;

    if (!compile_round(s, NULL, NULL, &c)) {
        free_round(&c);
        return NULL;
    }
    const double *other = choose_packing(s, &c);
    take_round(s, &c, r);
    if (s->o->explain && !s->o->json)
        explain_packing(s, r, c.us, other);
    free_round(&c);
    memory_share(s->p, n, s->same);
    s->p[n - 1]->set = s->set;
    s->p[n - 1]->size = s->p;
    return s->p[n - 1];
}

CudaProgram *compile_sizes(Arena *a, Diag *d, const struct Program *tree,
                           const char *model, const CompileOptions *o,
                           Report *r)
{
    Sizes s = {.arena = a, .diag = d, .tree = tree, .model = model, .o = o};
    Graph *g;

    if (!lower_has_set(tree, model))
        return compile_model(a, d, tree, model, o, r);
    g = lower_model(a, d, tree, model, o->define, o->n_define);
    if (!g)
        return NULL;
    s.set = g->set;
    if (!s.set.name)
        return compile_model(a, d, tree, model, o, r);
    return check_set(&s, g) && find_varying(&s, g) ? compile_set(&s, r) : NULL;
}
