/* turn_build.c - the code of family turn. */
#include "family/turn/turn.h"

#include <string.h>

/* A variable's names in the kernel; `first` NULL: a block has all of it, or one
 * value. */
typedef struct Part {
    const Var *v;
    int64_t tile;
    const char *size;  /* the tile's constant */
    const char *first; /* of the block */
} Part;

typedef struct Build {
    const TurnForm *form;
    TurnPlan plan;
    Graph *graph;
    Kernel *kernel;
    Schedule schedule;
    Body body;
    Part *part;      /* by row, from slow to fast */
    const char **at; /* of each, its place in the tile */
    const char *tile[TURN_READS];
} Build;

static int part_number(const Build *b, const Var *v)
{
    for (int i = 0;; i++)
        if (b->part[i].v == v)
            return i;
}

static bool ragged(const Part *p)
{
    return p->v->extent % p->tile;
}

/* ---- setup: where the block's tile begins -------------------------------- */

static void put_first(Build *b, Tree *out, Part *p, int64_t below,
                      int64_t count)
{
    Arena *a = b->graph->arena;
    CPrint *print = &b->body.print;
    const char *digit = cprint_digit(a, "blockIdx.x", below, count);

    if (p->tile == 1) {
        if (p->v->extent == 1)
            cprint_name(print, p->v, "0");
        else
            PUT(out, "const int @v = @digit;\n",
                FILL("v", cprint_var(print, p->v)), FILL("digit", digit));
        return;
    }
    const char *extent = kernel_extent(b->graph, b->kernel, p->v);
    p->size = extent;
    if (p->tile == p->v->extent)
        return;
    p->size = kernel_constant(
        b->graph, b->kernel, arena_printf(a, "%s_TILE", extent), p->tile, NULL);
    p->first = cprint_fresh(print, arena_printf(a, "%s_first", p->v->name));
    PUT(out, "const int @first = @digit * @size;\n", FILL("first", p->first),
        FILL("digit", digit), FILL("size", p->size));
}

static void put_setup(Build *b)
{
    const int n = b->form->group->n_rows;
    Tree *out = tree_list(b->graph->arena);
    int64_t below = 1;
    int slowest = n;

    for (int i = n - 1; i >= 0; i--)
        if (b->part[i].tile < b->part[i].v->extent)
            slowest = i;
    for (int i = n - 1; i >= 0; i--) {
        Part *p = &b->part[i];
        const int64_t count = (p->v->extent + p->tile - 1) / p->tile;
        put_first(b, out, p, below, i > slowest ? count : 0);
        below *= count;
    }
    kernel_phase(b->graph, b->kernel, "setup: a block has a tile of points",
                 out);
}

/* ---- a tile's points ----------------------------------------------------- */

/* Names the place of item `i` of a tile, which has v[0 .. n - 1] from slow to
 * fast, step[d] points an item along v[d]; returns the condition that it is
 * inside, or "". */
static const char *put_place(Build *b, Tree *out, const char *i,
                             const Var *const *v, int n, const int *step)
{
    Arena *a = b->graph->arena;
    CPrint *print = &b->body.print;
    const char *inside = "";
    int64_t below = 1;
    const char **digit = arena_array(a, const char *, n);

    for (int d = n - 1; d >= 0; d--) {
        const Part *p = &b->part[part_number(b, v[d])];
        const int64_t items = p->tile / step[d];
        bool outermost = true;
        for (int o = 0; o < d; o++)
            outermost &= b->part[part_number(b, v[o])].tile == 1;
        if (p->tile > 1)
            digit[d] = cprint_digit(a, i, below, outermost ? 0 : items);
        below *= items;
    }
    for (int d = 0; d < n; d++) {
        const int k = part_number(b, v[d]);
        const Part *p = &b->part[k];
        b->at[k] = "0";
        if (p->tile == 1)
            continue;
        const char *value = p->tile == step[d] ? "0" : digit[d];
        if (p->tile > step[d] && step[d] > 1)
            value = arena_printf(a, "%s * %d", value, step[d]);
        if (!p->first) {
            b->at[k] = cprint_var(print, v[d]);
            PUT(out, "const int @at = @value;\n", FILL("at", b->at[k]),
                FILL("value", value));
            continue;
        }
        b->at[k] = cprint_fresh(print, arena_printf(a, "%s_at", v[d]->name));
        const char *id = cprint_var(print, v[d]);
        PUT(out,
            "const int @at = @value;\n"
            "const int @id = @first + @at;\n",
            FILL("at", b->at[k]), FILL("value", value), FILL("id", id),
            FILL("first", p->first));
        if (ragged(p))
            inside =
                arena_printf(a, "%s%s%s < %s", inside, *inside ? " && " : "",
                             id, kernel_extent(b->graph, b->kernel, v[d]));
    }
    return inside;
}

/* `for (items of the block) body`, under a condition or "". */
static void put_items(Build *b, Tree *out, const char *i, int64_t items,
                      Tree *place, const char *inside, Tree *body)
{
    Arena *a = b->graph->arena;
    Tree *in = tree_list(a);

    tree_add(in, place);
    if (*inside)
        PUT(in,
            "if (@inside) {\n"
            "    @BODY\n"
            "}\n",
            FILL("inside", inside), FILL_TREE("BODY", body));
    else
        tree_add(in, body);
    PUT(out,
        "#pragma unroll 4\n"
        "for (int @i = threadIdx.x; @i < @items; @i += THREADS) {\n"
        "    @BODY\n"
        "}\n",
        FILL("i", i), FILL_INT("items", items), FILL_TREE("BODY", in));
}

/* ---- load ---------------------------------------------------------------- */

static void declare_tile(Build *b, int r)
{
    Arena *a = b->graph->arena;
    const Turned *t = &b->form->turned[r];
    const TurnPlan *p = &b->plan;

    b->tile[r] = cprint_fresh(
        &b->body.print,
        arena_printf(a, "%s_tile", cprint_part(&b->body.print, t->read)));
    kernel_smem(b->graph, b->kernel, VECTOR_BYTES,
                arena_printf(a, "%s %s[%lld]",
                             type_cname(t->read->tensor->type), b->tile[r],
                             (long long)p->elements[r]),
                p->crossed[r]
                    ? arena_printf(a, "lines along %s",
                                   b->form->fast->name)
                    : arena_printf(a, "%lld lines, an odd number of words "
                                      "apart", (long long)p->lines[r]));
}

/* The line in shared memory of a point whose places are named. */
static const char *line_text(const Build *b, int r)
{
    Arena *a = b->graph->arena;
    const Turned *t = &b->form->turned[r];
    const bool crossed = b->plan.crossed[r];
    const char *line = NULL;

    for (int d = 0; d < t->n; d++) {
        const int k = part_number(b, t->by[d]);
        if (b->part[k].tile == 1 ||
            t->by[d] == (crossed ? b->form->fast : b->form->along))
            continue;
        const char *at = b->at[k];
        if (b->body.along == t->by[d] && b->body.base)
            at = arena_printf(a, "%s + %s", at, b->body.lane);
        line = !line ? at
                     : arena_printf(a,
                                    strpbrk(line, " ") ? "(%s) * %s + %s"
                                                       : "%s * %s + %s",
                                    line, b->part[k].size, at);
    }
    return line ? line : "0";
}

/* An element of a tile, by the named places of a point. */
static const char *element_text(const Build *b, int r)
{
    Arena *a = b->graph->arena;
    const TurnPlan *p = &b->plan;
    const char *at = b->at[part_number(b, b->form->along)];

    return arena_printf(a, "smem.%s[dcc_line<%lld, %lld, %lld>(%s) + %s]",
                        b->tile[r], (long long)p->pitch[r],
                        (long long)p->skew[r], (long long)p->apart[r],
                        line_text(b, r), at);
}

/* The name of a tile's size along `fast`, and the named place along it. */
static const Part *fast_part(const Build *b, const char **at)
{
    const int k = part_number(b, b->form->fast);

    *at = b->at[k];
    return &b->part[k];
}

/* The copy of an item, whose place is named. */
static void put_copy(Build *b, Tree *out, int r)
{
    const Turned *t = &b->form->turned[r];
    CPrint *print = &b->body.print;
    const char *x = cprint_tensor(print, t->read->tensor), *at;
    const char *from =
        cprint_at(print, t->read->tensor, t->read->at, t->read->in);

    if (!b->plan.crossed[r]) {
        PUT(out, "dcc_put<@n>(&@element, &@x[@from]);\n",
            FILL_INT("n", b->plan.step[r]),
            FILL("element", element_text(b, r)), FILL("x", x),
            FILL("from", from));
        return;
    }
    const Part *p = fast_part(b, &at);
    PUT(out,
        "dcc_cross<@size, @n>(smem.@tile, @line, @at, &@x[@from], @across);\n",
        FILL("size", p->size), FILL_INT("n", b->plan.step[r]),
        FILL("tile", b->tile[r]), FILL("line", line_text(b, r)),
        FILL("at", at), FILL("x", x), FILL("from", from),
        FILL_INT("across", idx_coef(t->offset, b->form->fast)));
}

static void put_load(Build *b, Tree *out, int r)
{
    Arena *a = b->graph->arena;
    const Turned *t = &b->form->turned[r];
    CPrint *print = &b->body.print;
    Tree *place = tree_list(a), *body = tree_list(a);
    int *step = arena_array(a, int, t->n);
    int64_t items = b->plan.lines[r] * b->plan.line[r];

    for (int d = 0; d < t->n; d++) {
        step[d] = d == t->n - 1 ? b->plan.step[r]
                  : b->plan.crossed[r] && t->by[d] == b->form->fast
                      ? 2 * 2 / type_bytes(t->read->tensor->type)
                      : 1;
        items /= step[d];
    }
    declare_tile(b, r);
    CScope scope = cprint_open(print);
    const char *i = cprint_fresh(print, "item");
    const char *inside = put_place(b, place, i, t->by, t->n, step);
    put_copy(b, body, r);
    put_items(b, out, i, items, place, inside, body);
    cprint_close(print, scope);
}

/* ---- results ------------------------------------------------------------- */

/* A thread's values of a tile that lies across, in registers. */
static void take_piece(Build *b, Tree *out, int r)
{
    Arena *a = b->graph->arena;
    const Expr *read = b->form->turned[r].read;
    const char *at, *array = cprint_fresh(
        &b->body.print,
        arena_printf(a, "%s_frag", cprint_part(&b->body.print, read)));
    const Part *p = fast_part(b, &at);

    body_declare(&b->body, out, read->type, array, true);
    PUT(out,
        "dcc_load<VEC>(@array, &smem.@tile[dcc_crossed<@size, VEC,\n"
        "    @type>(@line, @at)]);\n",
        FILL("array", array), FILL("tile", b->tile[r]), FILL("size", p->size),
        FILL("type", type_cname(read->tensor->type)),
        FILL("line", line_text(b, r)), FILL("at", at));
    body_hold(&b->body, read,
              arena_printf(a, "%s[%s]", array, b->body.lane));
}

static void hold_tile(Build *b, Tree *out, int r)
{
    if (b->plan.crossed[r]) {
        take_piece(b, out, r);
        return;
    }

    const Turned *t = &b->form->turned[r];
    const Type type = t->read->tensor->type;
    const char *how = type == T_F16    ? "__half2float"
                      : type == T_BF16 ? "__bfloat162float"
                                       : NULL;
    const char *element = element_text(b, r);

    body_hold(&b->body, t->read,
              how ? arena_printf(b->graph->arena, "%s(%s)", how, element)
                  : element);
}

static void put_results(Build *b)
{
    Arena *a = b->graph->arena;
    Body *body = &b->body;
    Tree *out = tree_list(a), *place = tree_list(a), *in = tree_list(a);
    int step[MAX_STEPS];
    const int n = schedule_phase(body->group, &b->schedule, -1, step);
    const int rows = b->form->group->n_rows;
    int *points = arena_array(a, int, rows);

    const char *i = cprint_fresh(&body->print, "item");
    for (int d = 0; d < rows; d++)
        points[d] = d == rows - 1 ? b->plan.vec : 1;
    const char *inside = put_place(b, place, i, b->form->rows, rows, points);
    const Var *fast = b->form->fast;
    for (int d = body->print.n_name - 1; d >= 0 && b->plan.vec > 1; d--)
        if (body->print.name[d].var == fast) {
            body->base = body->print.name[d].text;
            break;
        }
    for (int r = 0; r < b->form->n_turned; r++)
        hold_tile(b, in, r);
    body_steps(body, in, step, n, true);
    put_items(b, out, i, b->plan.points / b->plan.vec, place, inside, in);
    kernel_phase(b->graph, b->kernel, "results", out);
}

/* ---- build --------------------------------------------------------------- */

static void set_figures(Build *b, const Variant *v)
{
    Traffic t;
    Cost c;

    turn_cost(b->form, v, &c);
    turn_traffic(b->form, &b->plan, &t);
    b->kernel->flops = t.flops;
    b->kernel->bytes = b->form->bytes;
    b->kernel->predicted_us = c.us;
    b->kernel->limiter = c.limiter;
}

static void put_tiles(Build *b)
{
    Tree *out = tree_list(b->graph->arena);

    for (int r = 0; r < b->form->n_turned; r++)
        put_load(b, out, r);
    tree_add(out, tree_parse(b->graph->arena, "__syncthreads();\n", "turn"));
    kernel_phase(b->graph, b->kernel,
                 arena_printf(b->graph->arena,
                              "load: neighbours along %s, as they lie in "
                              "memory",
                              b->form->along->name),
                 out);
}

void turn_build(const void *form, const Variant *v, Kernel *k)
{
    const TurnForm *f = form;
    Build b = {
        .form = f, .plan = turn_plan(f, v), .graph = f->graph, .kernel = k};
    const int n = f->group->n_rows;

    schedule_make(f->group, &b.schedule);
    body_init(&b.body, f->graph, (Group *)f->group, k, &b.schedule,
              b.plan.vec > 1 ? f->fast : NULL, b.plan.vec);
    b.part = arena_array(f->graph->arena, Part, n);
    b.at = arena_array(f->graph->arena, const char *, n);
    for (int i = 0; i < n; i++)
        b.part[i] = (Part){.v = f->rows[i], .tile = b.plan.tile[i]};
    k->family = "turn";
    k->variant = v->text;
    k->block = b.plan.threads;
    k->grid[0] = (int)b.plan.blocks;
    k->grid[1] = k->grid[2] = 1;
    k->smem_bytes = b.plan.smem;
    if (b.plan.vec > 1)
        kernel_constant(f->graph, k, "VEC", b.plan.vec, NULL);
    kernel_constant(f->graph, k, "THREADS", b.plan.threads, NULL);
    put_setup(&b);
    kernel_wait_phase(f->graph, k);
    put_tiles(&b);
    put_results(&b);
    set_figures(&b, v);
}
