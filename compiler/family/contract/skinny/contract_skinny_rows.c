#include "family/contract/skinny/contract_skinny.h"

#include "family/contract/contract_shared.h"
#include "group/groups.h"

#include <string.h>

/* Values of x's rows that each block computes, a warp a row, while its first
 * weights are under way: x's elements are made of them. */

static bool uses_other(const Contract *x, const Step *s)
{
    for (int i = 0; i < x->n.n; i++)
        if (expr_uses(s->value, x->n.v[i]))
            return true;
    for (int i = 0; i < x->k.n; i++)
        if (expr_uses(s->value, x->k.v[i]))
            return true;
    return false;
}

static void note_row(const Expr *e, void *ctx)
{
    bool *found = ctx;

    *found |= e->kind == E_LOCAL && e->local < 0;
}

const char *skinny_check_rows(const Contract *x)
{
    const Group *gr = x->gr;
    bool elsewhere = false;

    if (!gr->merge)
        return NULL;
    if (x->c.n_batch)
        return "values of rows, of several products";
    if (gr->n_step + gr->merge->n_step > MAX_STEPS)
        return "more than 64 steps with those of its rows";
    for (int i = 0; i < gr->merge->n_step; i++)
        if (uses_other(x, &gr->merge->step[i]))
            return "values of rows that are not x's";
    expr_visit(x->c.b.e, note_row, &elsewhere);
    return elsewhere ? "values of rows for its weights" : NULL;
}

int skinny_row_values(const Contract *x)
{
    return x->gr->merge ? x->gr->merge->n_step : 0;
}

static const Expr *of_row(const Contract *x, const Expr *e)
{
    return x->m.n > 1 ? expr_subst(x->g, e, x->m.sub, x->m.n) : e;
}

/* ---- rows in registers -------------------------------------------------- */

enum { MOST_READS = 2, MOST_REGS = 64 };

/* The reads along a row that a warp's lanes keep, `vec` neighbours at a time:
 * all reductions take them from there. */
typedef struct Kept {
    const ContractBuild *x;
    const Expr *read[MOST_READS];
    const char *id[MOST_READS];
    int n, vec;             /* vec 0: they are read again and again */
} Kept;

static int pieces_of(const Kept *k)
{
    return (int)k->x->f->gr->merge->over->extent / (32 * k->vec);
}

static void note_kept(const Expr *e, void *ctx)
{
    Kept *k = ctx;
    IdxPool *p = k->x->g->pool;
    const Var *over = k->x->f->gr->merge->over;

    if (e->kind != E_READ || !expr_uses(e, over))
        return;
    e = of_row(k->x->f, e);
    for (int i = 0; i < k->n; i++)
        if (expr_equal(k->read[i], e))
            return;
    const Idx *at = tensor_offset(k->x->g, e->tensor, e->at);
    const Idx *rest = idx_sub(p, at, idx_var(p, over));
    int most = 16 / type_bytes(e->tensor->type);
    if (k->n == MOST_READS || e->in.n || idx_coef(at, over) != 1 ||
        idx_uses(rest, over)) {
        k->vec = 0;
        return;
    }
    while (k->vec > 1 && (k->vec > most || idx_align(rest, k->vec) < k->vec))
        k->vec /= 2;
    k->read[k->n++] = e;
}

static Kept keep_reads(const ContractBuild *x)
{
    const RowMerge *m = x->f->gr->merge;
    int64_t all = m->over->extent;
    Kept k = {.x = x, .vec = 8};

    while (k.vec > 1 && all % (32 * k.vec))
        k.vec /= 2;
    for (int i = 0; i < m->n_step; i++)
        expr_visit(m->step[i].value, note_kept, &k);
    if (k.vec < 2 || !k.n || all / 32 * k.n > MOST_REGS)
        k.vec = k.n = 0;
    return k;
}

/* dcc_load<8>(h_row[piece], &h[..]); */
static void put_kept(ContractBuild *x, Tree *b, Kept *k)
{
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);

    cprint_name(cp, x->f->gr->merge->over,
                arena_printf(b->arena, "(piece * 32 + lane) * %d", k->vec));
    for (int i = 0; i < k->n; i++) {
        const Tensor *t = k->read[i]->tensor;
        k->id[i] = cprint_fresh(cp, arena_printf(b->arena, "%s_row",
                                                 cprint_tensor(cp, t)));
        PUT(b,
            "float @id[@pieces][@vec];\n"
            "#pragma unroll\n"
            "for (int piece = 0; piece < @pieces; ++piece)\n"
            "    dcc_load<@vec>(@id[piece], &@tensor[@at]);\n",
            FILL("id", k->id[i]), FILL_INT("vec", k->vec),
            FILL_INT("pieces", pieces_of(k)),
            FILL("tensor", cprint_tensor(cp, t)),
            FILL("at", cprint_element(cp, t,
                                      tensor_offset(x->g, t, k->read[i]->at))));
    }
    cprint_close(cp, scope);
}

static const char *kept_read(const Expr *read, void *ctx)
{
    const Kept *k = ctx;

    for (int i = 0; i < k->n; i++)
        if (expr_equal(k->read[i], read))
            return arena_printf(k->x->g->arena, "%s[piece][v]", k->id[i]);
    return NULL;
}

/* ---- their text --------------------------------------------------------- */

/* A lane adds its elements to so many sums: each waits for the one before. */
enum { SUMS = 4 };

static void put_kept_reduction(ContractBuild *x, Tree *b, const Step *s,
                               const Expr *e, const char *id, Kept *k)
{
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);
    Tree *in = tree_list(b->arena);

    cprint_name(cp, x->f->gr->merge->over,
                arena_printf(b->arena, "((piece * 32 + lane) * %d + v)",
                             k->vec));
    cp->staged = kept_read;
    cp->ctx = k;
    const char *value = cprint_bind(in, cp, e, "t");
    cp->staged = NULL;
    bool sum = s->op == R_SUM && k->vec % SUMS == 0;
    const char *parts = sum ? cprint_fresh(cp, arena_printf(b->arena,
                                                            "%s_of", id))
                            : id;
    cprint_combine(in, cp, s, 0,
                   sum ? arena_printf(b->arena, "%s[v %% %d]", parts, SUMS)
                       : id,
                   value);
    PUT(b, sum ? "float @parts[@sums] = {};\n" : "float @parts = @first;\n",
        FILL("parts", parts), FILL_INT("sums", SUMS),
        FILL("first", cprint_identity(s->op, s->type)));
    PUT(b,
        "#pragma unroll\n"
        "for (int piece = 0; piece < @pieces; ++piece)\n"
        "    #pragma unroll\n"
        "    for (int v = 0; v < @vec; ++v) {\n"
        "        @IN\n"
        "    }\n",
        FILL_INT("pieces", pieces_of(k)), FILL_INT("vec", k->vec),
        FILL_TREE("IN", in));
    PUT(b,
        sum ? "const float @id = dcc_warp_sum("
              "(@parts[0] + @parts[1]) + (@parts[2] + @parts[3]));\n"
            : "@id = dcc_warp_@op(@id);\n",
        FILL("id", id), FILL("parts", parts),
        FILL("op", s->op == R_SUM ? "sum" : "max"));
    cprint_close(cp, scope);
}

static void put_reduction(ContractBuild *x, Tree *b, const Step *s,
                          const Expr *e, const char *id)
{
    const Var *over = x->f->gr->merge->over;
    CPrint *cp = &x->cp;
    CScope scope = cprint_open(cp);
    const char *at = cprint_var(cp, over);
    Tree *in = tree_list(b->arena);
    const char *value = cprint_bind(in, cp, e, "t");

    cprint_combine(in, cp, s, 0, id, value);
    PUT(b,
        over->extent <= 1024
            ? "float @id = @first;\n"
              "#pragma unroll\n"
              "for (int @at = lane; @at < @extent; @at += 32) {\n"
              "    @IN\n"
              "}\n"
              "@id = dcc_warp_@op(@id);\n"
            : "float @id = @first;\n"
              "for (int @at = lane; @at < @extent; @at += 32) {\n"
              "    @IN\n"
              "}\n"
              "@id = dcc_warp_@op(@id);\n",
        FILL("id", id), FILL("first", cprint_identity(s->op, s->type)),
        FILL("at", at), FILL_INT("extent", over->extent), FILL_TREE("IN", in),
        FILL("op", s->op == R_SUM ? "sum" : "max"));
    cprint_close(cp, scope);
}

/* Whether x's elements have the merge's value i. */
typedef struct Wanted {
    int local;
    bool found;
} Wanted;

static void note_wanted(const Expr *e, void *ctx)
{
    Wanted *w = ctx;

    w->found |= e->kind == E_LOCAL && e->local == w->local;
}

static bool wanted(const ContractBuild *x, int i)
{
    Wanted w = {-1 - i, false};

    expr_visit(x->f->c.a.e, note_wanted, &w);
    return w.found;
}

static void put_row(ContractBuild *x, Tree *b, const char *const *field)
{
    const RowMerge *m = x->f->gr->merge;
    int first = x->f->gr->n_step;
    Kept kept = keep_reads(x);

    put_kept(x, b, &kept);
    for (int i = 0; i < m->n_step; i++) {
        const Step *s = &m->step[i];
        const Expr *e = finish_row_values(x->g, of_row(x->f, s->value),
                                          first, true);
        const char *id;
        if (s->op != R_NONE) {
            id = cprint_fresh(&x->cp, row_value_name(m, i));
            if (kept.vec)
                put_kept_reduction(x, b, s, e, id, &kept);
            else
                put_reduction(x, b, s, e, id);
        } else {
            id = cprint_bind_name(b, &x->cp, e, row_value_name(m, i));
        }
        x->cp.local[first + i] = id;
    }
    for (int i = 0; i < m->n_step; i++)
        if (field[i])
            PUT(b, "smem.@field[m] = @value;\n", FILL("field", field[i]),
                FILL("value", x->cp.local[first + i]));
}

void skinny_put_rows(SkinnyBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    Arena *a = x->g->arena;
    const RowMerge *m = x->f->gr->merge;
    const char *field[NORM_STEPS] = {NULL};
    int first = x->f->gr->n_step;
    Operand *op = arena_new_of(a, Operand);
    Tree *in = tree_list(a);
    bool one = x->p->t.bm == 1; /* each warp computes them for itself */

    if (!m)
        return;
    for (int i = 0; i < m->n_step && !one; i++)
        if (wanted(x, i)) {
            field[i] = cprint_fresh(&x->cp, row_value_name(m, i));
            kernel_smem(x->g, x->kernel, 4,
                        arena_printf(a, "float %s[BM]", field[i]), NULL);
        }
    CScope scope = cprint_open(&x->cp);
    cprint_name(&x->cp, x->f->m.n == 1 ? x->f->m.v[0] : x->f->m.linear,
                one ? "0" : "m");
    put_row(x, in, field);
    PUT(b,
        one ? "// Values of the row: each warp has them.\n"
              "@IN\n"
            : "// Values of rows, of which each warp has some.\n"
              "for (int m = warp; m < BM; m += THREADS / 32) {\n"
              "    @IN\n"
              "}\n"
              "__syncthreads();\n",
        FILL_TREE("IN", in));
    cprint_close(&x->cp, scope);
    for (int i = 0; i < m->n_step; i++)
        x->cp.local[first + i] =
            one        ? x->cp.local[first + i]
            : field[i] ? arena_printf(a, "smem.%s[m]", field[i])
                       : NULL;
    *op = *x->a.op;
    op->e = finish_row_values(x->g, op->e, first, false);
    x->a.op = op;
}

/* ---- constants of the elements of x --------------------------------------*/

enum { MOST_CONSTANTS = 4, CONSTANT_REGS = 8 };

typedef struct Constants {
    const ContractBuild *x;
    const Expr *read[MOST_CONSTANTS]; int n;
    const char *id[MOST_CONSTANTS]; /* where a thread has its own of them */
} Constants;

static void note_constant(const Expr *e, void *ctx)
{
    Constants *c = ctx;
    const ContractBuild *x = c->x;

    if (e->kind != E_READ || e->in.n || !kernel_reads_constants(e) ||
        c->n == MOST_CONSTANTS || !expr_uses(e, x->f->k.v[0]) ||
        idx_coef(tensor_offset(x->g, e->tensor, e->at), x->f->k.v[0]) != 1)
        return;
    for (int i = 0; i < x->f->m.n; i++)
        if (expr_uses(e, x->f->m.v[i]))
            return;
    for (int i = 0; i < c->n; i++)
        if (expr_equal(c->read[i], e))
            return;
    c->read[c->n++] = e;
}

static Constants constants_of(const SkinnyBuild *s)
{
    const ContractBuild *x = &s->x;
    Constants c = {.x = x};

    if (!x->a.op->read && x->f->k.n == 1 && !x->f->c.n_batch)
        expr_visit(x->a.op->e, note_constant, &c);
    return c;
}

int skinny_turns(const SkinnyBuild *s)
{
    const ContractBuild *x = &s->x;
    int turns = (x->p->t.bk + x->p->t.threads - 1) / x->p->t.threads;
    int n = constants_of(s).n;

    /* of fewer elements than threads, few threads would have all rows */
    return n && x->p->t.bk >= x->p->t.threads && n * turns <= CONSTANT_REGS &&
                   (int64_t)x->p->t.bk * x->p->t.split == x->f->c.K
               ? turns
               : 0;
}

/* Whether in the last turn some threads have nothing. */
static bool ragged(const SkinnyBuild *s)
{
    return s->x.p->t.bk % s->x.p->t.threads != 0;
}

static const char *turns_text(const SkinnyBuild *s)
{
    return ragged(s) ? "(BK + THREADS - 1) / THREADS" : "BK / THREADS";
}

static const char *kept_constant(const Expr *read, void *ctx)
{
    const Constants *c = ctx;

    for (int i = 0; i < c->n; i++)
        if (expr_equal(c->read[i], read))
            return arena_printf(c->x->g->arena, "%s[turn]", c->id[i]);
    return NULL;
}

/* They stay where they are read. */
static void put_asked(SkinnyBuild *s, Tree *b, const Constants *c)
{
    ContractBuild *x = &s->x;
    CScope scope = cprint_open(&x->cp);
    bool cut = (int64_t)x->p->t.bk * x->p->t.split != x->f->c.K;

    cprint_name(&x->cp, x->f->k.v[0], "k0");
    for (int i = 0; i < c->n; i++) {
        const Expr *e = c->read[i];
        const Idx *at = tensor_offset(x->g, e->tensor, e->at);
        PUT(b, "dcc_touch_block(&@tensor[@at], @n);\n",
            FILL("tensor", cprint_tensor(&x->cp, e->tensor)),
            FILL("at", cprint_element(&x->cp, e->tensor, at)),
            FILL("n", cut ? "min(BK, K - k0)" : "BK"));
    }
    cprint_close(&x->cp, scope);
}

void skinny_put_constants(SkinnyBuild *s, Tree *b)
{
    ContractBuild *x = &s->x;
    Constants *c = arena_new_of(b->arena, Constants);
    CScope scope = cprint_open(&x->cp);
    Tree *in = tree_list(b->arena);

    *c = constants_of(s);
    if (c->n)
        PUT(b, "// Constants of @id's elements, meanwhile.\n",
            FILL("id", x->a.id));
    if (c->n && !skinny_turns(s))
        put_asked(s, b, c);
    if (c->n && skinny_turns(s)) {
        cprint_name(&x->cp, x->f->k.v[0], "k");
        for (int i = 0; i < c->n; i++) {
            const Tensor *t = c->read[i]->tensor;
            c->id[i] = cprint_fresh(
                &x->cp, arena_printf(b->arena, "%s_own",
                                     cprint_tensor(&x->cp, t)));
            PUT(b, "float @id[@turns];\n", FILL("id", c->id[i]),
                FILL("turns", turns_text(s)));
            PUT(in, "@id[turn] = @value;\n", FILL("id", c->id[i]),
                FILL("value", cprint_bind(in, &x->cp, c->read[i], "t")));
        }
        PUT(b,
            "#pragma unroll\n"
            "for (int turn = 0; turn < @turns; ++turn) {\n"
            "    const int k = k0 + @own;\n"
            "    @IN\n"
            "}\n",
            FILL("turns", turns_text(s)),
            FILL("own", ragged(s) ? "min(turn * THREADS + (int)threadIdx.x, "
                                    "BK - 1)"
                                  : "turn * THREADS + threadIdx.x"),
            FILL_TREE("IN", in));
        s->constants = c;
    }
    cprint_close(&x->cp, scope);
}

Tree *skinny_turn_code(const SkinnyBuild *s, Tree *body)
{
    Tree *in = body;

    if (ragged(s))
        in = QUOTE(body->arena, "if (k_at < BK) {\n    @BODY\n}\n",
                   FILL_TREE("BODY", body));
    return QUOTE(body->arena,
                 "#pragma unroll\n"
                 "for (int turn = 0; turn < @turns; ++turn)\n"
                 "    #pragma unroll\n"
                 "    for (int m = 0; m < BM; ++m) {\n"
                 "        const int k_at = turn * THREADS + threadIdx.x;\n"
                 "        const int k = k0 + k_at;\n"
                 "        @IN\n"
                 "    }\n"
                 "__syncthreads();\n",
                 FILL("turns", turns_text(s)), FILL_TREE("IN", in));
}

void skinny_keep_constants(SkinnyBuild *s, bool on)
{
    s->x.cp.staged = on && s->constants ? kept_constant : NULL;
    s->x.cp.ctx = s->constants;
}
