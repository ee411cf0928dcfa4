#include "family/contract/contract_finish.h"
#include "group/groups.h"

#include <string.h>

/* Reductions over pieces of a row's columns (reduced.h), ahead of what else is
 * done with the tile of sums in shared memory: some lanes have a piece. */

enum { LANES = 8 /* rows begin on banks 8 apart */ };

static const Pieces *pieces_of(const Contract *f)
{
    const Pieces *p = f->gr->pieces;

    return p && p->reduced ? p : NULL;
}

bool contract_stores(const Contract *f)
{
    for (int i = 0; i < f->gr->n_step; i++)
        if (f->gr->step[i].tensor)
            return true;
    return !pieces_of(f);
}

const char *contract_check_reduced(const ContractPlan *p)
{
    const Pieces *x = pieces_of(p->f);
    const Tile *t = &p->t;

    if (!x)
        return NULL;
    if (t->split > 1 || t->whole || p->parts > 1)
        return "sums of parts of k, which no block reduces";
    if (t->bn % x->size || t->bm * (t->bn / x->size) * LANES % t->threads)
        return "columns that are no whole pieces of rows";
    return NULL;
}

/* The value that is reduced, of the sum: a step's at this point. */
static void put_value(ContractBuild *x, Tree *b)
{
    const Contract *f = x->f;

    for (int i = 0; i <= f->gr->pieces->value; i++) {
        const Step *s = &f->gr->step[i];
        if (s->op == R_SUM)
            x->cp.local[i] = "sum";
        if (s->op != R_NONE || s->over_cols)
            continue;
        const char *hint = step_called(s);
        x->cp.local[i] =
            cprint_bind_name(b, &x->cp, f->value[i], hint ? hint : "t");
    }
}

static void put_sides(ContractBuild *x, Tree *b)
{
    Finish f = {.x = x};

    finish_side(&f, b, &x->f->m, false);
    finish_side(&f, b, &x->f->n, false);
}

/* A value of the pieces as one of the group's steps and of steps behind these:
 * their numbers are not each other's. */
static const Expr *behind_steps(Graph *g, const Expr *e, void *ctx)
{
    const Group *gr = ctx;

    if (e->kind != E_LOCAL)
        return NULL;
    return expr_local(
        g, e->local ? gr->n_step + e->local - 1 : gr->pieces->value, e->type);
}

typedef struct Uses {
    const int *pass;
    int most;
} Uses;

static void note_pass(const Expr *e, void *ctx)
{
    Uses *u = ctx;

    if (e->kind == E_LOCAL && e->local && u->pass[e->local - 1] > u->most)
        u->most = u->pass[e->local - 1];
}

/* The walk over a piece's columns in which each reduction is done, from 1 on:
 * one that takes what another came to is behind it. How many there are. */
static int passes(const Pieces *p, int pass[MAX_STEPS])
{
    int n = 0;

    for (int i = 0; i < p->n_step; i++) {
        Uses u = {pass, 0};
        expr_visit(p->step[i].value, note_pass, &u);
        pass[i] = u.most + 1;
        n = pass[i] > n ? pass[i] : n;
    }
    return n;
}

static void count_read(const Expr *e, void *ctx)
{
    *(double *)ctx += e->kind == E_READ;
}

double contract_reduced_ops(const Contract *x, bool staged)
{
    enum {
        STEP = 4,
        ARG = 11,
        READ = 6,
        WALK = 8,
        STAGED = 16,
        STAGED_ARG = 20
    };
    const Pieces *p = pieces_of(x);
    int pass[MAX_STEPS];
    double ops = staged ? STAGED : 0, reads = 0;

    if (!p)
        return 0;
    int n = passes(p, pass);
    for (int i = 0; i < p->n_step; i++) {
        bool arg = p->step[i].op == R_ARGMAX;
        expr_visit(p->step[i].value, count_read, &reads);
        ops += staged ? arg * STAGED_ARG
                      : expr_ops(p->step[i].value) + (arg ? ARG : STEP);
    }
    if (staged)
        return ops;
    /* a last piece's columns are asked about */
    bool partial = x->c.N % p->size;
    return ops + reads * READ + WALK * (n - 1 + partial * n);
}

/* What a build has of the pieces. */
typedef struct Made {
    ContractBuild *x;
    const Pieces *p;
    const ReducedWay *way;
    const char *acc[MAX_STEPS];
    int pass[MAX_STEPS];
    const char *in; /* the condition of a point to be there, or NULL */
} Made;

/* One column's part in step i's reduction. */
static void put_part(const Made *r, Tree *b, int i)
{
    const Step *s = &r->p->step[i];
    CPrint *cp = &r->x->cp;
    const Expr *e =
        expr_rewrite(r->x->g, s->value, behind_steps, (void *)r->x->f->gr);

    if (s->op == R_ARGMAX)
        PUT(b, "@acc = dcc_op_argmax::next(@acc, {@value, c});\n",
            FILL("acc", r->acc[i]),
            FILL("value", cprint_bind_name(b, cp, e, "t")));
    else
        cprint_combine(b, cp, s, i, r->acc[i], cprint_bind(b, cp, e, "t"));
}

/* One column's part in all of a walk's. */
static Tree *column(const Made *r, int pass)
{
    ContractBuild *x = r->x;
    Tree *b = tree_list(x->g->arena);
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);

    put_sides(x, b);
    PUT(b, "const float sum = @sum;\n", FILL("sum", r->way->sum));
    cprint_fresh(cp, "sum");
    put_value(x, b);
    for (int i = 0; i < r->p->n_step; i++)
        if (r->pass[i] == pass)
            put_part(r, b, i);
    cprint_close(cp, scope);
    return b;
}

static Tree *stores(ContractBuild *x, const char *const *acc)
{
    const Pieces *p = pieces_of(x->f);
    Graph *g = x->g;
    Tree *b = tree_list(g->arena);
    CScope scope = cprint_open(&x->cp);

    put_sides(x, b);
    for (int i = 0; i < p->n_step; i++) {
        const Step *s = &p->step[i];
        PUT(b, "@tensor[@at] = @acc;\n",
            FILL("tensor", cprint_tensor(&x->cp, s->tensor)),
            FILL("at", cprint_element(&x->cp, s->tensor,
                                      tensor_offset(g, s->tensor, s->store))),
            FILL("acc", acc[i]));
    }
    cprint_close(&x->cp, scope);
    return b;
}

/* The condition of a point to be there, or NULL. */
static const char *within(const ContractBuild *x, bool beyond)
{
    bool m = x->f->c.M % x->p->t.bm || beyond;
    bool n = x->f->c.N % x->p->t.bn || x->p->beyond;

    return m && n ? "m < M && n < N" : m ? "m < M" : n ? "n < N" : NULL;
}

static Tree *guarded(const char *in, Tree *b)
{
    return in ? QUOTE(b->arena,
                      "if (@in) {\n"
                      "    @BODY\n"
                      "}\n",
                      FILL("in", in), FILL_TREE("BODY", b))
              : b;
}

/* All lanes have what step i comes to. */
static void put_joined(Made *r, Tree *b, int i)
{
    const Step *s = &r->p->step[i];
    ContractBuild *x = r->x;

    PUT(b,
        r->way->apart > 1
            ? "@acc = dcc_warp_reduce<dcc_op_@op, @lanes, @apart>(@acc);\n"
            : "@acc = dcc_warp_@op<@lanes>(@acc);\n",
        FILL("acc", r->acc[i]), FILL("op", reduce_name(s->op)),
        FILL_INT("lanes", r->way->lanes), FILL_INT("apart", r->way->apart));
    if (s->op == R_ARGMAX)
        r->acc[i] = arena_printf(b->arena, "%s.index", r->acc[i]);
    x->cp.local[x->f->gr->n_step + i] = r->acc[i];
}

static void put_begin(Made *r, Tree *b, int i)
{
    const Step *s = &r->p->step[i];
    const char *called = step_called(s);

    r->acc[i] = cprint_fresh(&r->x->cp, called ? called : "piece");
    PUT(b,
        s->op == R_ARGMAX ? "dcc_arg<float> @acc = {@none, DCC_NO_INDEX};\n"
                          : "float @acc = @none;\n",
        FILL("acc", r->acc[i]), FILL("none", cprint_identity(s->op, T_F32)));
}

/* A walk over the columns of a piece. */
static void put_pass(Made *r, Tree *b, int pass)
{
    for (int i = 0; i < r->p->n_step; i++)
        if (r->pass[i] == pass)
            put_begin(r, b, i);
    PUT(b,
        "#pragma unroll\n"
        "for (int e = 0; e < @count; ++e) {\n"
        "    const int c = @column, n = n0 + piece + c;\n"
        "    @BODY\n"
        "}\n",
        FILL_INT("count", r->p->size / r->way->lanes),
        FILL("column", r->way->column),
        FILL_TREE("BODY", guarded(r->in, column(r, pass))));
    for (int i = 0; i < r->p->n_step; i++)
        if (r->pass[i] == pass)
            put_joined(r, b, i);
}

void reduced_piece(ContractBuild *x, Tree *b, const ReducedWay *way)
{
    Made r = {
        .x = x, .p = pieces_of(x->f), .way = way, .in = within(x, way->beyond)};
    const char *when =
        arena_printf(b->arena, "%s %% %d == 0%s%s", way->lane, way->lanes,
                     r.in ? " && " : "", r.in ? r.in : "");
    const char *local[MAX_STEPS];
    CScope scope = cprint_open(&x->cp);
    int n = passes(r.p, r.pass);

    memcpy(local, x->cp.local, sizeof local);
    for (int pass = 1; pass <= n; pass++)
        put_pass(&r, b, pass);
    PUT(b,
        "const int n = n0 + piece;\n"
        "@LEFT\n",
        FILL_TREE("LEFT", guarded(when, stores(x, r.acc))));
    memcpy(x->cp.local, local, sizeof local);
    cprint_close(&x->cp, scope);
}

/* Of sums in registers as dcc_thread_tile has them, whose warp has whole pieces
 * of its rows. */
static void own_rows(ContractBuild *x, Tree *b)
{
    Arena *a = b->arena;
    const int size = pieces_of(x->f)->size;
    Tree *in = tree_list(a);

    reduced_piece(
        x, in,
        &(ReducedWay){.lanes = LANES,
                      .apart = 2,
                      .lane = "threadIdx.x / 2",
                      .column = arena_printf(
                          a, "e / 4 * 32 + own.n %% %d + e %% 4", size),
                      .sum = "acc[i][e / 4][e % 4 ^ 1]"});
    PUT(b,
        "// Of each row, pieces of @size columns: @lanes lanes have one.\n"
        "#pragma unroll\n"
        "for (int i = 0; i < TM; ++i) {\n"
        "    const int m = m0 + own.m + @down;\n"
        "    const int piece = own.n / @size * @size;\n"
        "    @IN\n"
        "}\n",
        FILL_INT("size", size), FILL_INT("lanes", LANES),
        FILL("down",
             x->p->rows ? "i * LANES_M" : "i / 4 * (LANES_M * 4) + i % 4"),
        FILL_TREE("IN", in));
}

void contract_reduced(ContractBuild *x, Tree *b)
{
    const Pieces *p = pieces_of(x->f);
    Tree *in = tree_list(b->arena);

    if (!p)
        return;
    if (x->own_rows) {
        own_rows(x, b);
        return;
    }
    reduced_piece(
        x, in,
        &(ReducedWay){.lanes = LANES,
                      .lane = "threadIdx.x",
                      .column = arena_printf(
                          b->arena, "e * %d + threadIdx.x %% %d", LANES, LANES),
                      .sum = x->f->swapped ? "sums[row][(piece + c) ^ 1]"
                                           : "sums[row][piece + c]"});
    PUT(b,
        "// Of each row, pieces of @size columns: @lanes lanes have one.\n"
        "for (int i = threadIdx.x / @lanes; i < BM * (BN / @size); "
        "i += THREADS / @lanes) {\n"
        "    const int row = i % BM, m = m0 + row;\n"
        "    const int piece = i / BM * @size;\n"
        "    @IN\n"
        "}\n",
        FILL_INT("size", p->size), FILL_INT("lanes", LANES),
        FILL_TREE("IN", in));
}
