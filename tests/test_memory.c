/* test_memory.c - the memory plan: whatever is alive at the same time lies
 * apart, on every example and every numeric case. */
#include "models.h"

enum { ALIGN = 256 };

static Tensor *base_of(Tensor *t)
{
    while (t->prev || t->host)
        t = t->prev ? t->prev : t->host;
    return t;
}

static bool writes(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor && base_of(gr->step[i].tensor) == t)
            return true;
    return false;
}

static bool touches(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_arg; i++)
        if (base_of(gr->arg[i]) == t)
            return true;
    return false;
}

static size_t bytes_of(const Tensor *t)
{
    int64_t last = 0;

    for (int d = 0; d < t->rank; d++)
        last += (t->dim[d] - 1) * t->stride[d];
    return (size_t)(last + 1) * (size_t)type_bytes(t->type);
}

typedef struct Life {
    const Tensor *t;
    int first, last;
} Life;

/* From its first write to its last use, by n launches. */
static bool life_in(const Launch *launch, int n, const Tensor *t, Life *l)
{
    *l = (Life){t, -1, -1};
    for (int i = 0; i < n; i++) {
        if (l->first < 0 && writes(launch[i].group, t))
            l->first = i;
        if (touches(launch[i].group, t) && l->last < i)
            l->last = i;
        if (touches(launch[i].group, t) && launch[i].beside &&
            l->last < launch[i].until - 1)
            l->last = launch[i].until - 1;
    }
    return l->first >= 0;
}

/* A constant's ends with loading if no run reads it. */
static bool life_of(const CudaProgram *p, const Tensor *t, Life *l)
{
    if (t->place == PLACE_ARENA)
        return life_in(p->run, p->n_run, t, l);
    bool found = life_in(p->load, p->n_load, t, l);
    for (int i = 0; i < p->n_run; i++)
        if (touches(p->run[i].group, t))
            l->last = p->n_load;
    return found;
}

static bool apart(const Life *a, const Life *b)
{
    return a->last < b->first || b->last < a->first ||
           a->t->offset + bytes_of(a->t) <= b->t->offset ||
           b->t->offset + bytes_of(b->t) <= a->t->offset;
}

static void check_arena(const CudaProgram *p, const char *path)
{
    Graph *g = p->graph;
    Life *life = arena_array(g->arena, Life, g->n_tensor);
    int n = 0;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        if (t->place != PLACE_ARENA || base_of(g->tensor[i]) != t ||
            !life_of(p, t, &life[n]))
            continue;
        cr_expect_eq(t->offset % ALIGN, 0, "%s: %s", path, t->name);
        cr_expect_leq(t->offset + bytes_of(t), p->arena_bytes, "%s: %s", path,
                      t->name);
        cr_expect(!p->workspace_offset ||
                      t->offset + bytes_of(t) <= p->workspace_offset,
                  "%s: %s lies in the workspace", path, t->name);
        n++;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            cr_expect(apart(&life[i], &life[k]), "%s: %s and %s share memory",
                      path, life[i].t->name, life[k].t->name);
}

/* Constants have memory of their own while somebody may read them. */
static void check_constants(const CudaProgram *p, const char *path)
{
    Graph *g = p->graph;
    Life *life = arena_array(g->arena, Life, g->n_tensor + 1);
    int n = 0;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i];
        if (t->place != PLACE_CONSTS || base_of(g->tensor[i]) != t ||
            !life_of(p, t, &life[n]))
            continue;
        cr_expect_eq(t->offset % ALIGN, 0, "%s: %s", path, t->name);
        cr_expect_leq(t->offset + bytes_of(t), p->consts_bytes, "%s: %s",
                      path, t->name);
        n++;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            cr_expect(apart(&life[i], &life[k]), "%s: %s and %s share memory",
                      path, life[i].t->name, life[k].t->name);
}

/* Weights and states have memory of their own for good. */
static void check_fixed(const CudaProgram *p, const char *path, Place place,
                        size_t total)
{
    const Graph *g = p->graph;

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *a = g->tensor[i];
        if (a->place != place || a->prev)
            continue;
        if (a->host) { /* a part of another, and it within that one */
            cr_expect(a->offset >= a->host->offset &&
                          a->offset + bytes_of(a) <=
                              a->host->offset + bytes_of(a->host),
                      "%s: %s is not within", path, a->name);
            continue;
        }
        cr_expect_eq(a->offset % ALIGN, 0);
        cr_expect_leq(a->offset + bytes_of(a), total, "%s: %s", path,
                      a->name);
        for (int k = 0; k < i; k++) {
            const Tensor *b = g->tensor[k];
            cr_expect(b->place != place || b->prev || b->host ||
                          a->offset + bytes_of(a) <= b->offset ||
                          b->offset + bytes_of(b) <= a->offset,
                      "%s: %s and %s share memory", path, a->name, b->name);
        }
    }
}

/* What a launch reads exists by then; versions share their memory. */
static void check_arguments(const CudaProgram *p, const char *path)
{
    const Graph *g = p->graph;

    for (int i = 0; i < p->n_run; i++)
        for (int k = 0; k < p->run[i].group->n_arg; k++) {
            const Tensor *t = p->run[i].group->arg[k];
            cr_expect_neq(t->place, PLACE_NONE, "%s: %s has no place", path,
                          t->name);
        }
    for (int i = 0; i < g->n_tensor; i++) {
        Tensor *t = g->tensor[i];
        cr_expect(!t->prev || (t->offset == t->prev->offset &&
                               t->place == t->prev->place),
                  "%s: %s moved", path, t->name);
    }
}

/* No launch reads an older version of what an earlier launch overwrote. */
static void check_versions(const CudaProgram *p, const char *path)
{
    for (int i = 0; i < p->n_run; i++)
        for (int s = 0; s < p->run[i].group->n_step; s++) {
            const Tensor *t = p->run[i].group->step[s].tensor;
            for (t = t ? t->prev : NULL; t; t = t->prev)
                for (int k = i + 1; k < p->n_run; k++)
                    for (int a = 0; a < p->run[k].group->n_arg; a++)
                        cr_expect_neq(p->run[k].group->arg[a], t,
                                      "%s: launch %d reads '%s' too late",
                                      path, k, t->name);
        }
}

static bool overlap(const Tensor *a, const Tensor *b)
{
    if (a->place == PLACE_INPUT || a->place == PLACE_OUTPUT)
        return a->place == b->place && a->offset == b->offset;
    return a->place == b->place && a->offset < b->offset + bytes_of(b) &&
           b->offset < a->offset + bytes_of(a);
}

/* They touch the same bytes, which one of them writes. */
static bool clash(const Group *a, const Group *b)
{
    for (int i = 0; i < a->n_arg; i++)
        for (int k = 0; k < b->n_arg; k++)
            if (overlap(a->arg[i], b->arg[k]) &&
                (group_stores(a, a->arg[i]) || group_stores(b, b->arg[k])))
                return true;
    return false;
}

/* What runs beside launches has nothing to do with them, and one of those waits
 * for it before it is needed. */
static int check_branch(const CudaProgram *p, const char *path)
{
    int n = 0;

    for (int i = 0; i < p->n_run; i++) {
        const Launch *l = &p->run[i];
        if (!l->beside)
            continue;
        n++;
        cr_expect(!l->dependent && i > 0 && l->join == JOIN_NONE, "%s", path);
        cr_expect(!l->kernel->workspace ||
                      (p->beside_workspace > p->workspace_offset &&
                       p->beside_workspace + l->kernel->workspace <=
                           p->arena_bytes), "%s: its workspace", path);
        cr_expect(!l->kernel->coop_counters ||
                      p->beside_counter > p->counter_offset,
                  "%s: its counters", path);
        cr_expect(l->until == p->n_run || p->run[l->until].join != JOIN_NONE,
                  "%s: nobody waits for launch %d", path, i);
        for (int k = i + 1; k < l->until && k < p->n_run; k++)
            cr_expect(p->run[k].beside ||
                          !clash(l->group, p->run[k].group),
                      "%s: launch %d needs %d, which runs beside it", path, k,
                      i);
    }
    for (int i = 0; i < p->n_run; i++)
        cr_expect(p->run[i].join == JOIN_NONE ||
                  (!p->run[i].beside && !p->run[i].dependent), "%s", path);
    return n;
}

static bool is_older(const Tensor *t, const Tensor *than)
{
    while (than && (than = than->prev) && than != t)
        ;
    return than != NULL;
}

/* What a kernel promises of arguments that lie apart is so for all launches:
 * where one of them has another's memory, that is so in each. */
static void check_kernels(const CudaProgram *p, const char *path)
{
    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group, *first = gr->kernel->group;
        for (int k = 0; k < gr->n_arg; k++)
            for (int n = 0; n < gr->n_arg; n++)
                cr_expect_eq(!group_stores(gr, gr->arg[n]) ||
                                 !is_older(gr->arg[k], gr->arg[n]),
                             !group_stores(first, first->arg[n]) ||
                                 !is_older(first->arg[k], first->arg[n]),
                             "%s: '%s' of %s", path, gr->arg[k]->name,
                             gr->kernel->name);
    }
}

/* Element number n of t, in elements of its host. */
static int64_t place_of(const Tensor *t, int64_t n)
{
    int64_t at = t->first;

    for (int d = t->rank - 1; d >= 0; d--) {
        at += n % t->dim[d] * t->stride[d];
        n /= t->dim[d];
    }
    return at;
}

/* Guests lie where they should, each element in its host and there alone. */
static void check_guests(const CudaProgram *p, const char *path)
{
    Graph *g = p->graph;
    char **taken = arena_array(g->arena, char *, g->n_tensor);

    for (int i = 0; i < g->n_tensor; i++) {
        const Tensor *t = g->tensor[i], *in = t->host;
        if (!in)
            continue;
        int64_t size = (int64_t)bytes_of(in) / type_bytes(in->type);
        cr_expect_eq(t->offset, in->offset + (size_t)(t->first *
                                                      type_bytes(t->type)));
        cr_expect_eq(t->offset % 16, 0, "%s: %s", path, t->name);
        if (!taken[in->id])
            taken[in->id] = arena_array(g->arena, char, (int)size);
        for (int64_t n = 0; n < tensor_elems(t); n++) {
            int64_t at = place_of(t, n);
            cr_assert(at >= 0 && at < size && !taken[in->id][at],
                      "%s: %s in %s", path, t->name, in->name);
            taken[in->id][at] = 1;
        }
    }
}

static void check(const CudaProgram *p, const char *path)
{
    check_arena(p, path);
    check_guests(p, path);
    check_fixed(p, path, PLACE_PARAMS, p->params_bytes);
    check_constants(p, path);
    check_fixed(p, path, PLACE_STATE, p->state_bytes - p->counter_bytes);
    check_arguments(p, path);
    check_versions(p, path);
    check_kernels(p, path);
    check_branch(p, path);
    cr_expect_eq(p->workspace_offset % ALIGN, 0);
    cr_expect_eq(p->counter_offset % ALIGN, 0);
}

static void check_folder(const char *folder, uint64_t random_plan, int least)
{
    Arena *a = arena_new();
    const char **file;
    int n = models_in(a, folder, &file), models = 0;

    for (int i = 0; i < n; i++)
        models += each_model(file[i], random_plan, check);
    cr_expect_geq(models, least);
    arena_free(a);
}

Test(memory, examples) { check_folder("examples", 0, 8); }
Test(memory, numeric_cases) { check_folder("tests/numeric", 0, 200); }
Test(memory, random_variants) { check_folder("tests/numeric", 5, 200); }

static int launches(const char *text)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f, text, &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    int n = p->n_run;
    arena_free(f.arena);
    return n;
}

/* What grows is made in place: there is a launch for each definition. */
Test(memory, growing_is_not_copied)
{
    const char *head = "model m { input x : f16[2, 16, 14, 14];\n"
                       "  param w1 : f16[8, 16, 3, 3];"
                       "  param w2 : f16[8, 24, 3, 3];\n"
                       "  @nofuse a = exp(x);";
    const char *tail = "  output y[n, c] = sum(p, q) a[n, c, p, q]; }";
    const char *step[] = {"  b = conv2d(a, w1, pad = 1);"
                          "  a = concat(a, b, axis = 1);",
                          "  c = conv2d(a, w2, pad = 1);"
                          "  a = concat(a, c, axis = 1);"};
    Arena *a = arena_new();

    for (int n = 0; n <= 2; n++)
        cr_expect_eq(launches(arena_printf(a, "%s%s%s%s", head,
                                           n > 0 ? step[0] : "",
                                           n > 1 ? step[1] : "", tail)),
                     2 + n, "%d", n);
    arena_free(a);
}

/* A chain needs room for two of its tensors only. */
Test(memory, is_used_again)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f,
        "model m { input x : f32[64, 64];\n"
        "  @nofuse a = x + 1; @nofuse b = a * 2; @nofuse c = b + 3;\n"
        "  @nofuse d = c * 4; output y = d - 1; }", &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    cr_expect_eq(p->arena_bytes, 2 * 64 * 64 * 4);
    arena_free(f.arena);
}

/* How many rounded copies of trained parameters a run leaves to the next; and
 * how many launches make copies when parameters are loaded. */
static void expect_renewed(int copies, int loads, const char *update)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f, arena_printf(f.arena,
        "model m { input x : f16[512, 512]; input lr : f32;\n"
        "  param v : f16[512, 512]; param w : f16[512, 512];\n"
        "  y = linear(tanh(linear(x, v)), w);\n"
        "  loss[] : f32 = sum(i, j) f32(y[i, j]) * y[i, j] / 1000;\n"
        "  for u in params { %s }\n"
        "  output loss; }", update), &r, &o);
    int n = 0;

    cr_assert(p, "%s", diag_text(f.diag));
    for (int i = 0; i < p->graph->n_tensor; i++) {
        const Tensor *t = p->graph->tensor[i];
        if (!t->renewed || !t->prev)
            continue;
        cr_expect_eq(t->place, PLACE_CONSTS, "%s", update);
        cr_expect(!tensor_is_constant(t), "%s", update);
        cr_expect(tensor_is_constant(t->prev), "%s", update);
        n++;
    }
    check_versions(p, update);
    cr_expect_eq(n, copies, "%s: %d copies, not %d", update, n, copies);
    cr_expect_eq(p->n_load, loads, "%s: %d launches at load time, not %d",
                 update, p->n_load, loads);
    arena_free(f.arena);
}

/* Where a kernel makes all of a parameter's next value, it makes the next copy
 * too; not of one that is written by parts, or twice. */
Test(memory, renewed)
{
    expect_renewed(2, 1, "u = u - lr * grad(loss, u);");
    expect_renewed(0, 0, "d = grad(loss, u); u = u - lr * d;"
                         " u = u * 0.99 + 0.001 * sum(u);");
}

/* Updates of weights run beside the rest of a step; the chain is not far ahead
 * of them, and marks say how far. */
Test(memory, branches)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f,
        "block dense(x: T[n, d]) -> y {\n"
        "  param w : T[d, d]; y = tanh(linear(x, w)); }\n"
        "model m { dim L = 24; input z : f16[512, 1024]; input lr : f32;\n"
        "  x = z; for l in 0..L { x = dense(x) as \"h.{l}\"; }\n"
        "  loss[] : f32 = sum(i, j) f32(x[i, j]) * x[i, j] / 1000;\n"
        "  for u in params { u = u - lr * grad(loss, u); }\n"
        "  output loss; }", &r, &o);
    int marks = 0, joins = 0;

    cr_assert(p, "%s", diag_text(f.diag));
    memory_plan(p);
    check(p, "branches");
    cr_expect_geq(check_branch(p, "branches"), 12);
    for (int i = 0; i < p->n_run; i++) {
        marks += p->run[i].mark;
        joins += p->run[i].join == JOIN_MARK;
    }
    cr_expect_geq(marks, 1);
    cr_expect(joins == marks || joins == marks - 1);
    arena_free(f.arena);
}

static int64_t all_taken(const CudaProgram *p)
{
    return (int64_t)(p->params_bytes + p->consts_bytes + p->arena_bytes +
                     p->state_bytes);
}

/* With less memory parameters' copies do not live from run to run, though there
 * is nothing to be computed again. */
Test(memory, less_than_copies)
{
    static const char model[] =
        "block tower(x: T[n, d], k: f32[n]) -> y {\n"
        "  param w : f32[2048, d]; h : f16[2048, d] = f16(w);\n"
        "  z = linear(x, h); y[i] : f32 = k[i] * sum(j) f32(z[i, j]); }\n"
        "model m { input x : f16[128, 1024]; input k : f32[128];\n"
        "  input lr : f32; s[i] : f32 = 0 * k[i];\n"
        "  for l in 0..8 { s = s + tower(x, k) as \"h.{l}\"; }\n"
        "  loss[] : f32 = sum(i) s[i];\n"
        "  for u in params { u = u - lr * grad(loss, u); }\n"
        "  output loss; }";
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f, model, &r, &o);

    cr_assert(p, "%s", diag_text(f.diag));
    o.memory = (double)(all_taken(p) * 9 / 10);
    CudaProgram *q = compiled(&f, model, &r, &o);
    cr_assert(q, "%s", diag_text(f.diag));
    cr_expect(all_taken(q) <= (int64_t)o.memory);
    check(q, "less");
    arena_free(f.arena);
}

/* A copy is made beside a bias's sum, too; in the tile that the update has
 * without it, which takes no registers. */
Test(memory, renewed_beside_a_bias)
{
    Fixture f = fixture();
    CompileOptions o = compile_options(&f);
    Report r = {0};
    CudaProgram *p = compiled(&f,
        "model m { input x : f16[4096, 768]; input lr : f32;\n"
        "  param w : f16[768, 3072]; param b : f16[3072];\n"
        "  param v : f16[3072, 768];\n"
        "  y[i, j] : f16 = sum(k) x[i, k] * w[k, j] + b[j]; z = tanh(y);\n"
        "  u[i, j] : f16 = sum(k) z[i, k] * v[k, j];\n"
        "  loss[] : f32 = sum(i, j) f32(u[i, j]) * u[i, j] / 1000;\n"
        "  for p in params { p = p - lr * grad(loss, p); }\n"
        "  output loss; }", &r, &o);
    int both = 0;

    cr_assert(p, "%s", diag_text(f.diag));
    for (int i = 0; i < p->n_run; i++) {
        const Group *gr = p->run[i].group;
        const Tensor *t = gr->step[gr->n_step - 1].tensor;
        if (!gr->factor_sum)
            continue;
        both += t && t->renewed && t->type == T_F16;
        cr_expect(strstr(p->run[i].kernel->variant, "bm=192 bn=96"), "%s",
                  p->run[i].kernel->variant);
    }
    cr_expect_eq(both, 1);
    check_versions(p, "beside a bias");
    arena_free(f.arena);
}
