/* listed_build.c - the code of family listed. */
#include "family/listed/listed.h"

#include <string.h>

typedef struct Build {
    const ListedForm *form;
    ListedPlan plan;
    Graph *graph;
    Kernel *kernel;
    Schedule schedule;
    Body body;
    const char *mine;   /* the row of a thread, among the block's */
    const char *first;  /* the block's first row; NULL: 0 */
    const char *share;  /* a thread's turn; NULL: it has all */
    const char *turn;   /* which of a thread's rows; NULL: it has one */
    const char *active; /* has a row and columns at all; NULL: each thread */
    const char *sum[MAX_STEPS]; /* a thread's, of its rows */
} Build;

static const char *text(Build *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static const char *text(Build *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    const char *s = arena_vprintf(b->graph->arena, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- setup: which rows, which columns ------------------------------------ */

/* Values of v, the last of which counts in units of vec, from a number. */
static void name_vars(Build *b, Tree *out, const Var **v, int n,
                      const char *number, int vec)
{
    Body *body = &b->body;
    const Var *only = NULL;
    int loops = 0;

    for (int i = 0; i < n; i++) {
        if (v[i]->extent == 1) {
            cprint_name(&body->print, v[i], "0");
            continue;
        }
        loops++;
        only = v[i];
        kernel_extent(b->graph, b->kernel, v[i]);
    }
    if (loops == 1 && vec == 1)
        cprint_name(&body->print, only, number);
    else if (loops)
        decompose(body, out, v, n, number, vec);
}

static void note_active(Build *b, const char *what)
{
    b->active = b->active ? text(b, "%s && %s", b->active, what) : what;
}

/* A thread's row among the block's; of several that of this turn. */
static const char *own_row(Build *b)
{
    return b->turn ? text(b, "%s * (ROWS / EACH) + %s", b->turn, b->mine)
                   : b->mine;
}

static void name_row(Build *b, Tree *out, const char *at)
{
    CPrint *p = &b->body.print;
    const ListedForm *f = b->form;
    const char *size = kernel_extent(b->graph, b->kernel, f->row);

    if (b->first)
        at = text(b, "%s + %s", b->first, at);
    const char *row = cprint_var(p, f->row);
    if (f->row->extent % b->plan.rows == 0) {
        PUT(out, "const int @row = @at;\n", FILL("row", row), FILL("at", at));
        return;
    }
    PUT(out, "const int @row = min(@at, @size - 1);\n", FILL("row", row),
        FILL("at", at), FILL("size", size));
    note_active(b, text(b, "%s < %s", at, size));
}

static void setup_row(Build *b, Tree *out)
{
    CPrint *p = &b->body.print;
    const int lanes = b->plan.lanes * b->plan.share;

    kernel_constant(b->graph, b->kernel, "ROWS", b->plan.rows, "of a block");
    kernel_constant(b->graph, b->kernel, "EACH", b->plan.each,
                    "rows of a thread");
    b->mine = cprint_fresh(p, "mine");
    PUT(out, "const int @mine = threadIdx.x@lanes;\n", FILL("mine", b->mine),
        FILL("lanes", lanes == 1           ? ""
                      : b->plan.share == 1 ? " / LANES"
                      : b->plan.lanes == 1 ? " / SHARE"
                                           : " / (LANES * SHARE)"));
    if (b->form->row->extent > b->plan.rows) {
        b->first = cprint_fresh(p, "first_row");
        PUT(out, "const int @first = blockIdx.x * ROWS;\n",
            FILL("first", b->first));
    }
    if (b->plan.each == 1)
        name_row(b, out, own_row(b));
}

/* What is done for each of a thread's rows. */
static void put_each(Build *b, Tree *out, Tree *in)
{
    if (b->turn)
        PUT(out,
            "#pragma unroll\n"
            "for (int @turn = 0; @turn < EACH; ++@turn) {\n"
            "    @BODY\n"
            "}\n",
            FILL("turn", b->turn), FILL_TREE("BODY", in));
    else
        tree_add(out, in);
}

static void setup_columns(Build *b, Tree *out)
{
    Body *body = &b->body;
    const ListedForm *f = b->form;
    const int64_t groups = f->columns / b->plan.vec;
    const char *lane = b->plan.share == 1 ? "threadIdx.x % LANES"
                                          : "threadIdx.x / SHARE % LANES";
    const char *at = b->plan.lanes == 1 ? "0" : lane;

    if (f->columns == 1) {
        name_vars(b, out, f->across, f->n_across, "0", 1);
        return;
    }
    if (b->plan.tiles > 1)
        at = b->plan.lanes == 1 ? "blockIdx.y"
                                : text(b, "blockIdx.y * LANES + %s", lane);
    const char *id = cprint_fresh(&body->print, "column");
    if (groups % b->plan.lanes) {
        const char *own = cprint_fresh(&body->print, "lane_column");
        kernel_constant(b->graph, b->kernel, "COLUMNS", groups,
                        b->plan.vec > 1 ? "groups of VEC columns" : NULL);
        PUT(out,
            "const int @lane = @at;\n"
            "const int @id = min(@lane, COLUMNS - 1);\n",
            FILL("lane", own), FILL("id", id), FILL("at", at));
        note_active(b, text(b, "%s < COLUMNS", own));
    } else {
        PUT(out, "const int @id = @at;\n", FILL("id", id), FILL("at", at));
    }
    name_vars(b, out, f->across, f->n_across, id, b->plan.vec);
    for (int i = body->print.n_name - 1; b->plan.vec > 1 && i >= 0; i--)
        if (body->print.name[i].var == b->plan.along) {
            body->base = body->print.name[i].text;
            break;
        }
}

static void put_setup(Build *b)
{
    Tree *out = tree_list(b->graph->arena);
    const ListedPlan *p = &b->plan;

    kernel_constant(b->graph, b->kernel, "THREADS", p->threads, NULL);
    kernel_constant(b->graph, b->kernel, "LANES", p->lanes,
                    "side by side, of a row");
    kernel_constant(b->graph, b->kernel, "SHARE", p->share,
                    "that have a row's points in turns");
    if (p->share > 1) {
        b->share = cprint_fresh(&b->body.print, "turn");
        PUT(out, "const int @share = threadIdx.x % SHARE;\n",
            FILL("share", b->share));
    }
    setup_columns(b, out);
    setup_row(b, out);
    name_vars(b, out, b->form->outer, b->form->n_outer, "blockIdx.z", 1);
    kernel_phase(b->graph, b->kernel, "setup: a block has ROWS rows", out);
}

/* ---- the list ------------------------------------------------------------ */

/* Names the columns of the nest at a point. */
static void name_point(Build *b, Tree *out, const char *point)
{
    name_vars(b, out, b->form->plain->cols, b->form->plain->n_cols, point, 1);
}

static void put_list(Build *b, Tree *out, const char *chunk, const char *n)
{
    CPrint *p = &b->body.print;
    Arena *a = b->graph->arena;
    const ListedForm *f = b->form;
    const bool ragged = f->points % ((int64_t)b->plan.threads * b->plan.ahead);
    Tree *in = tree_list(a);
    const char *of = cprint_fresh(p, "row_of"), *k = cprint_fresh(p, "k");
    const char *point = cprint_fresh(p, "point");

    CScope scope = cprint_open(p);
    name_point(b, in, point);
    const char *row = cprint_bind(in, p, f->data, NULL);
    PUT(in, "@of[@k] = @row@@first;\n", FILL("of", of), FILL("k", k),
        FILL("row", b->first ? text(b, "(%s)", row) : row),
        FILL("first", b->first ? text(b, " - %s", b->first) : ""));
    cprint_close(p, scope);
    if (ragged)
        in = QUOTE(a,
                   "@of[@k] = -1;\n"
                   "if (@point < POINTS) {\n"
                   "    @BODY\n"
                   "}\n",
                   FILL("of", of), FILL("k", k), FILL("point", point),
                   FILL_TREE("BODY", in));
    PUT(out,
        "int @of[AHEAD];\n"
        "#pragma unroll\n"
        "for (int @k = 0; @k < AHEAD; ++@k) {\n"
        "    const int @point = @chunk + dcc_list_place<AHEAD>(@k);\n"
        "    @BODY\n"
        "}\n"
        "const int @n = dcc_list_rows<ROWS>(@of, smem.list, smem.warps);\n",
        FILL("of", of), FILL("k", k), FILL("point", point),
        FILL("chunk", chunk), FILL_TREE("BODY", in), FILL("n", n));
}

static bool is_sum(const Step *s)
{
    return s->over_cols && s->op != R_NONE;
}

/* Whether all threads may have a row: none of its values came ahead. */
static bool crowds(const Build *b)
{
    return b->plan.rows > 1 && !b->form->ahead;
}

/* The terms of the points that a list's places from `at` on, `step` apart, have
 * before `end`, LISTED_LOADS at a time. */
static void put_terms(Build *b, Tree *out, const char *chunk, const char *from,
                      const char *end, const char *by)
{
    Body *body = &b->body;
    CPrint *p = &body->print;
    int step[MAX_STEPS], count;
    Tree *in = tree_list(b->graph->arena);
    const char *at = cprint_fresh(p, "at"), *k = cprint_fresh(p, "k");
    const char *point = cprint_fresh(p, "point");
    const char *more = cprint_fresh(p, "more");

    count = schedule_pass(b->form->plain, &b->schedule, 0, step);
    CScope scope = cprint_open(p);
    const int held = body->n_held;
    name_point(b, in, point);
    body->lane_if = more;
    body_steps(body, in, step, count, true);
    body->lane_if = NULL;
    body->n_held = held;
    cprint_close(p, scope);
    PUT(out,
        "int @point = 0;\n"
        "for (int @at = @from; @at < @end; @at += @loads * @by) {\n"
        "    #pragma unroll\n"
        "    for (int @k = 0; @k < @loads; ++@k) {\n"
        "        const bool @more = @at + @k * @by < @end;\n"
        "        if (@more)\n"
        "            @point = @chunk + smem.places[@at + @k * @by];\n"
        "        @BODY\n"
        "    }\n"
        "}\n",
        FILL("at", at), FILL("from", from), FILL("end", end), FILL("by", by),
        FILL("point", point), FILL("k", k), FILL_INT("loads", LISTED_LOADS),
        FILL("more", more), FILL("chunk", chunk), FILL_TREE("BODY", in));
}

/* Each row's terms, by its own threads. */
static void put_own(Build *b, Tree *out, const char *chunk)
{
    CPrint *p = &b->body.print;
    const char *active = b->active, *row = cprint_fresh(p, "own");
    const char *from = text(b, "smem.first[%s]", row);
    const char *end = cprint_fresh(p, "end");
    Tree *each = tree_list(b->graph->arena), *in = tree_list(b->graph->arena);

    CScope rows = cprint_open(p);
    if (b->turn)
        name_row(b, each, own_row(b));
    b->active = active;
    PUT(each, "const int @row = @own;\n", FILL("row", row),
        FILL("own", own_row(b)));
    put_terms(b, in, chunk, b->share ? text(b, "%s + %s", from, b->share) : from,
              end, "SHARE");
    PUT(each,
        crowds(b) ? "const int @end = dcc_list_crowd<CROWD>(smem.first, @row)\n"
                    "    ? 0 : smem.first[@row + 1];\n"
                    "@BODY\n"
                  : "const int @end = smem.first[@row + 1];\n"
                    "@BODY\n",
        FILL("end", end), FILL("row", row), FILL_TREE("BODY", in));
    cprint_close(p, rows);
    put_each(b, out, each);
}

/* Where the warps leave what they have of a row. */
static const char *parts_of(Build *b, const Step *s)
{
    const bool real = type_is_float(s->type);
    const char *name = real ? "parts" : "int_parts";
    const char *decl =
        text(b, b->plan.vec > 1 ? "%s %s[THREADS / 32][LANES * VEC]"
                                : "%s %s[THREADS / 32][LANES]",
             cprint_ctype(s->type), name);
    bool known = false;

    for (int i = 0; i < b->kernel->n_smem; i++)
        known |= !strcmp(b->kernel->smem[i].decl, decl);
    if (!known) {
        kernel_smem(b->graph, b->kernel, 0, decl, "of a row, each warp's");
        b->kernel->smem_bytes += (size_t)b->plan.threads / WARP *
                                 (size_t)(b->plan.lanes * b->plan.vec) *
                                 sizeof(int);
    }
    return text(b, "smem.%s", name);
}

/* What all threads have of a row becomes its own threads'. */
static void put_join(Build *b, Tree *out, int i, const char *part,
                     const char *row)
{
    const Step *s = &b->form->plain->step[i];
    Tree *take = tree_list(b->graph->arena);
    const char *parts = parts_of(b, s), *op = reduce_name(s->op);
    const char *whole = b->sum[i];

    PUT(take,
        "if (@own == @row@@first)\n"
        "    dcc_list_take<dcc_op_@op, LANES, SHARE>(@whole, @parts);\n",
        FILL("own", own_row(b)), FILL("row", row),
        FILL("first", b->share ? text(b, " && %s == 0", b->share) : ""),
        FILL("op", op), FILL("parts", parts),
        FILL("whole", b->turn ? text(b, "%s[%s]", whole, b->turn) : whole));
    PUT(out, "dcc_list_leave<dcc_op_@op, LANES, SHARE>(@part, @parts);\n",
        FILL("op", op), FILL("part", part), FILL("parts", parts));
    put_each(b, out, take);
}

/* Rows that most points name are all threads', one after the other. */
static void put_crowds(Build *b, Tree *out, const char *chunk,
                       const char *any)
{
    Body *body = &b->body;
    CPrint *p = &body->print;
    Arena *a = b->graph->arena;
    const Group *gr = b->form->plain;
    const char *row = cprint_fresh(p, "crowd"), *end = cprint_fresh(p, "end");
    const char *active = b->active, *acc[MAX_STEPS];
    const char *turn = b->turn;
    Tree *in = tree_list(a);

    CScope scope = cprint_open(p);
    b->turn = NULL;
    if (turn || b->plan.rows > 1)
        name_row(b, in, row);
    for (int i = 0; i < gr->n_step; i++) {
        acc[i] = body->acc[i];
        if (is_sum(&gr->step[i]))
            body_accumulator(body, in, i, true);
    }
    PUT(in, "const int @end = smem.first[@row + 1];\n", FILL("end", end),
        FILL("row", row));
    put_terms(b, in, chunk,
              text(b, "smem.first[%s] + dcc_list_turn<LANES, SHARE>()", row),
              end, "(THREADS / LANES)");
    b->turn = turn;
    b->active = active;
    for (int i = 0; i < gr->n_step; i++) {
        if (!is_sum(&gr->step[i]))
            continue;
        put_join(b, in, i, arena_strndup(a, body->acc[i],
                                         strcspn(body->acc[i], "[")), row);
        body->acc[i] = body->print.local[i] = acc[i];
    }
    cprint_close(p, scope);
    PUT(out,
        "for (int @row = 0; @any && @row < ROWS; ++@row) {\n"
        "    if (dcc_list_crowd<CROWD>(smem.first, @row)) {\n"
        "        @BODY\n"
        "    }\n"
        "}\n",
        FILL("row", row), FILL("any", any), FILL_TREE("BODY", in));
}

/* The list by rows, and their terms. */
static void put_sorted(Build *b, Tree *out, const char *chunk, const char *n)
{
    const char *any = cprint_fresh(&b->body.print, "crowded");

    kernel_constant(b->graph, b->kernel, "CROWD", listed_crowd(&b->plan),
                    "points of a row that all threads have");
    PUT(out,
        crowds(b) ? "const bool @any = dcc_list_store<CROWD>(smem.list, @n, "
                    "smem.places, smem.first, smem.warps);\n"
                  : "dcc_list_store<CROWD>(smem.list, @n, "
                    "smem.places, smem.first, smem.warps);\n",
        FILL("any", any), FILL("n", n));
    if (crowds(b))
        put_crowds(b, out, chunk, any);
    put_own(b, out, chunk);
}

/* The value of all points in a lane's accumulator of step i. */
static void put_whole(Build *b, Tree *out, int i)
{
    Body *body = &b->body;
    const Step *s = &b->form->plain->step[i];
    Tree *in = tree_list(b->graph->arena);

    if (b->plan.share > 1)
        PUT(in, "@acc = dcc_warp_@op<SHARE>(@acc);\n",
            FILL("acc", body->acc[i]), FILL("op", reduce_name(s->op)));
    if (b->form->rest[i])
        cprint_combine(in, &body->print, s, i, body->acc[i],
                       cprint_expr(&body->print, b->form->rest[i]));
    if (!in->n_item || b->plan.vec == 1) {
        tree_add(out, in);
        return;
    }
    PUT(out,
        "#pragma unroll\n"
        "for (int @lane = 0; @lane < VEC; ++@lane) {\n"
        "    @BODY\n"
        "}\n",
        FILL("lane", body->lane), FILL_TREE("BODY", in));
}

/* The accumulator of step i, of each of a thread's rows. */
static void put_accumulator(Build *b, Tree *out, int i)
{
    Body *body = &b->body;
    const Step *s = &b->form->plain->step[i];
    const bool vector = b->plan.vec > 1;
    Tree *in = tree_list(b->graph->arena);

    if (!b->turn) {
        body_accumulator(body, out, i, true);
        b->sum[i] = arena_strndup(b->graph->arena, body->acc[i],
                                  strcspn(body->acc[i], "["));
        return;
    }
    const char *name = b->sum[i] = body_step_name(body, i);
    const char *start = cprint_identity(s->op, s->type);
    const char *row = text(b, "%s[%s]", name, b->turn);
    body->acc[i] = vector ? text(b, "%s[%s]", row, body->lane) : row;
    body->print.local[i] = body->acc[i];
    PUT(out,
        s->op == R_SUM ? "@type @name[EACH]@lanes = {};\n"
                       : "@type @name[EACH]@lanes;\n",
        FILL("type", cprint_ctype(s->type)), FILL("name", name),
        FILL("lanes", vector ? "[VEC]" : ""));
    if (s->op == R_SUM)
        return;
    PUT(in, vector ? "dcc_fill(@row, @start);\n" : "@row = @start;\n",
        FILL("row", row), FILL("start", start));
    put_each(b, out, in);
}

static void put_points(Build *b)
{
    Body *body = &b->body;
    Arena *a = b->graph->arena;
    const ListedForm *f = b->form;
    Tree *out = tree_list(a), *in = tree_list(a), *whole = tree_list(a);

    kernel_constant(b->graph, b->kernel, "POINTS", f->points, NULL);
    kernel_constant(b->graph, b->kernel, "AHEAD", b->plan.ahead,
                    "points of a thread at a time");
    kernel_smem(b->graph, b->kernel, 0, "unsigned list[THREADS * AHEAD]",
                "rows and points");
    kernel_smem(b->graph, b->kernel, 0,
                "unsigned short places[THREADS * AHEAD]", "by rows");
    kernel_smem(b->graph, b->kernel, 0, "int first[ROWS + 1]",
                "place of each row");
    kernel_smem(b->graph, b->kernel, 0, "int warps[THREADS / 32]",
                "how many each has");
    b->kernel->smem_bytes = listed_smem(&b->plan);
    for (int i = 0; i < f->plain->n_step; i++)
        if (is_sum(&f->plain->step[i]))
            put_accumulator(b, out, i);
    CScope scope = cprint_open(&body->print);
    const char *chunk = cprint_fresh(&body->print, "chunk");
    const char *n = cprint_fresh(&body->print, "n_listed");
    put_list(b, in, b->plan.chunks > 1 ? chunk : "0", n);
    put_sorted(b, in, b->plan.chunks > 1 ? chunk : "0", n);
    cprint_close(&body->print, scope);
    if (b->plan.chunks > 1)
        PUT(out,
            "for (int @chunk = 0; @chunk < POINTS; "
            "@chunk += THREADS * AHEAD) {\n"
            "    @BODY\n"
            "}\n",
            FILL("chunk", chunk), FILL_TREE("BODY", in));
    else
        tree_add(out, in);
    for (int i = 0; i < f->plain->n_step; i++)
        if (is_sum(&f->plain->step[i]))
            put_whole(b, whole, i);
    if (whole->n_item)
        put_each(b, out, whole);
    kernel_phase(b->graph, b->kernel,
                 "the points that are a row's, listed in their order", out);
}

/* ---- build --------------------------------------------------------------- */

static void put_phase(Build *b, int q)
{
    Body *body = &b->body;
    int step[MAX_STEPS];
    const int n = schedule_phase(b->form->plain, &b->schedule, q, step);
    Tree *out = tree_list(b->graph->arena), *each = out;
    const char *active = b->active;
    CScope scope = cprint_open(&body->print);

    if (b->turn)
        name_row(b, out, own_row(b));
    for (int i = 0; i < n && b->plan.vec > 1; i++) {
        const int s = step[i];
        if (b->schedule.last[s] <= b->schedule.at[s])
            continue;
        const char *name = body_step_name(body, s);
        body_declare(body, out, b->form->plain->step[s].type, name, true);
        body->kept[s] = text(b, "%s[%s]", name, body->lane);
    }
    body->store_if = b->share ? text(b, "%s == 0", b->share) : NULL;
    if (b->active)
        body->store_if = body->store_if
                             ? text(b, "%s && %s", body->store_if, b->active)
                             : b->active;
    body_sync(body, step, n, true);
    body_steps(body, out, step, n, true);
    body->store_if = body->store_sync = NULL;
    if (b->turn) {
        b->active = active;
        cprint_close(&body->print, scope);
        out = tree_list(b->graph->arena);
        if (n)
            put_each(b, out, each);
    }
    if (out->n_item)
        kernel_phase(b->graph, b->kernel,
                     q < 0 ? "row values" : "results of the row", out);
}

static void set_figures(Build *b, const Variant *v)
{
    Kernel *k = b->kernel;
    Traffic t;
    Cost c;

    listed_cost(b->form, v, &c);
    listed_traffic(b->form, &b->plan, &t);
    k->flops = t.flops;
    k->bytes = b->form->bytes;
    k->predicted_us = c.us;
    k->limiter = c.limiter;
}

void listed_build(const void *form, const Variant *v, Kernel *k)
{
    const ListedForm *f = form;
    Build b = {
        .form = f, .plan = listed_plan(f, v), .graph = f->graph, .kernel = k};

    schedule_make(f->plain, &b.schedule);
    body_init(&b.body, f->graph, (Group *)f->group, k, &b.schedule,
              b.plan.vec > 1 ? b.plan.along : NULL, b.plan.vec);
    b.body.group = f->plain;
    b.body.along_rows = true;
    k->family = "listed";
    k->variant = v->text;
    k->block = b.plan.threads;
    listed_regs(f, &b.plan, &k->min_blocks);
    k->grid[0] = (int)((f->row->extent + b.plan.rows - 1) / b.plan.rows);
    k->grid[1] = (int)b.plan.tiles;
    k->grid[2] = (int)f->tables;
    if (b.plan.vec > 1)
        kernel_constant(f->graph, k, "VEC", b.plan.vec, NULL);
    if (b.plan.each > 1)
        b.turn = cprint_fresh(&b.body.print, "e");
    put_setup(&b);
    kernel_wait_phase(f->graph, k);
    put_phase(&b, -1);
    put_points(&b);
    put_phase(&b, 0);
    set_figures(&b, v);
}
