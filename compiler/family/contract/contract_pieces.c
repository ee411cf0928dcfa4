#include "family/contract/contract_finish.h"

/* The epilogue of a contraction whose tile of sums is in shared memory: which
 * pieces of it a thread finishes, and what it reads for them ahead. */

int contract_rows(const ContractPlan *p)
{
    return p->cluster ? p->t.bm / p->t.split : p->t.bm;
}

/* Where piece i of the tile is. */
static void put_where(const ContractBuild *x, Tree *b, const char *i)
{
    const char *first = x->p->cluster ? "rank * ROWS + " : "";

    PUT(b,
        x->vec > 1 ? "const int row = @first@@i / (BN / @vec);\n"
                     "const int col = @i % (BN / @vec) * @vec;\n"
                     "const int m = m0 + row, n = n0 + col;\n"
                   : "const int row = @first@@i / BN;\n"
                     "const int col = @i % BN;\n"
                     "const int m = m0 + row, n = n0 + col;\n",
        FILL("first", first), FILL("i", i), FILL_INT("vec", x->vec));
}

/* What a point within the problem is: "m < M && n < N"; or what one outside
 * is: "m >= M || n >= N". "" if there are none. `rows`: m counts. */
static const char *bounds(const ContractBuild *x, bool inside, bool rows)
{
    bool m = rows && x->f->c.M % x->p->t.bm;
    bool n = x->f->c.N % x->p->t.bn || x->p->beyond;
    const char *cmp = inside ? "<" : ">=";

    if (!m && !n)
        return "";
    return arena_printf(x->g->arena, "%s%s%s%s%s%s%s", m ? "m " : "",
                        m ? cmp : "", m ? " M" : "",
                        m && n ? inside ? " && " : " || " : "",
                        n ? "n " : "", n ? cmp : "", n ? " N" : "");
}

static int pieces(const ContractBuild *x)
{
    return contract_rows(x->p) * x->p->t.bn / x->vec;
}

/* A thread has one piece. */
static bool one_each(const ContractBuild *x)
{
    return pieces(x) == x->p->t.threads && !x->p->cluster;
}

static void put_points(Finish *f, Tree *b)
{
    ContractBuild *x = f->x;
    const char *outside = bounds(x, false, true);
    CScope scope = cprint_open(&x->cp);

    put_where(x, b, one_each(x) ? "threadIdx.x" : "i");
    if (*outside)
        PUT(b,
            "if (@outside)\n"
            "    @leave;\n",
            FILL("outside", outside),
            FILL("leave", one_each(x) ? "return" : "continue"));
    finish_sum(f, "sum");
    finish_side(f, b, &x->f->m, f->linear_m);
    finish_side(f, b, &x->f->n, f->linear_n);
    finish_loads(f, b);
    finish_columns(f, b);
    cprint_close(&x->cp, scope);
}

/* The loop over a thread's pieces of the tile, i; several at a time where
 * loads would wait for each other. */
static void put_loop(ContractBuild *x, Tree *b, bool loads, const Tree *body)
{
    int n = pieces(x), threads = x->p->t.threads;

    if (loads && n >= 2 * threads)
        PUT(b, "#pragma unroll @n\n", FILL_INT("n", n >= 4 * threads ? 4 : 2));
    PUT(b,
        n % threads || x->p->cluster
            ? "for (int i = threadIdx.x; i < @rows * BN / @vec; "
              "i += THREADS) {\n"
              "    @BODY\n"
              "}\n"
        : n == threads
            ? "{\n"
              "    @BODY\n"
              "}\n"
            : "for (int pass = 0; pass < BM * BN / @vec / THREADS; ++pass) {\n"
              "    const int i = pass * THREADS + threadIdx.x;\n"
              "    @BODY\n"
              "}\n",
        FILL("rows", x->p->cluster ? "ROWS" : "BM"), FILL_INT("vec", x->vec),
        FILL_TREE("BODY", body));
}

/* ---- early loads --------------------------------------------- */

typedef struct Places {
    const ContractBuild *x;
    const Expr *of;
    bool late; /* data that no register has say where it is, or whether */
} Places;

static void find_late(const Expr *e, void *ctx)
{
    Places *p = ctx;
    bool held = e == p->of || e->kind != E_READ;

    for (int i = 0; i < p->x->n_held && !held; i++)
        held = expr_equal(p->x->held[i], e);
    p->late |= !held;
}

static bool is_late(const ContractBuild *x, const Expr *read)
{
    Places p = {x, read, false};

    expr_visit(read, find_late, &p);
    return p.late;
}

static bool stored(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

const char *finish_input(const ContractBuild *x, const Tensor *t)
{
    for (int i = 0; i < x->n_input; i++)
        if (x->input[i] == t)
            return x->input_at[i];
    return NULL;
}

bool finish_ahead(const ContractBuild *x, const Vector *v)
{
    return v->read && !is_late(x, v->read) &&
           !stored(x->f->gr, v->read->tensor) &&
           !finish_input(x, v->read->tensor);
}

bool finish_uses(const Side *s, const Expr *e)
{
    for (int i = 0; i < s->n; i++)
        if (expr_uses(e, s->v[i]))
            return true;
    return expr_uses(e, s->linear);
}

/* Registers that a thread's early reads may bring it to: what the launch
 * bounds allow, if that is less than what is good. */
static int most_early(const ContractBuild *x)
{
    enum { MOST_ALL = 144, UNIT = 8 };
    const Kernel *k = x->kernel;
    int blocks = k->min_blocks > 1 ? k->min_blocks : 1;
    int allowed = x->f->o->device->regs_sm / (x->p->t.threads * blocks);

    allowed = allowed / UNIT * UNIT;
    return allowed < MOST_ALL ? allowed : MOST_ALL;
}

/* The vectors that a thread can hold all the while: those of its only piece,
 * or of the columns that all its pieces have. Returns their registers. */
static int choose_early(Finish *f)
{
    enum { MOST_REGS = 32 };
    const ContractBuild *x = f->x;
    bool once = pieces(x) <= x->p->t.threads;
    bool same_columns = x->p->t.threads % (x->p->t.bn / x->vec) == 0;
    int regs = 0;

    for (int i = 0; i < f->n_vec; i++) {
        Vector *v = &f->vec[i];
        int own = v->count * 4;
        if (!finish_ahead(x, v) || regs + own > MOST_REGS ||
            x->regs + regs + own > most_early(x))
            continue;
        if (!once && (!same_columns || finish_uses(&x->f->m, v->read)))
            continue;
        v->when = READ_EARLY;
        regs += own;
    }
    return regs;
}

/* Where sums are added up, all threads that can have a part of them. */
static int most_sums(const ContractBuild *x)
{
    int most = 8;

    while (x->p->parts > 1 && most > 4 &&
           contract_rows(x->p) * x->p->t.bn / most < x->p->t.threads)
        most /= 2;
    return most;
}

static Finish *finish_of(ContractBuild *x)
{
    if (!x->finish) {
        x->finish = arena_new_of(x->g->arena, Finish);
        finish_prepare(x->finish, x, most_sums(x));
        cprint_fresh(&x->cp, "sum");
        cprint_fresh(&x->cp, "sum_vec");
    }
    return x->finish;
}

/* Whether a vector that is read early belongs to a row. */
static bool early_rows(const Finish *f)
{
    for (int i = 0; i < f->n_vec; i++) {
        const Vector *v = &f->vec[i];
        if (v->when == READ_EARLY && finish_uses(&f->x->f->m, v->read))
            return true;
    }
    return false;
}

/* The condition of a thread's early reads, or "". */
static const char *early_bounds(const ContractBuild *x, bool rows)
{
    bool some = rows && pieces(x) < x->p->t.threads;
    const char *in = bounds(x, true, rows);

    return arena_printf(
        x->g->arena, "%s%s%s",
        some ? arena_printf(x->g->arena, "threadIdx.x < %s * BN / %d",
                            x->p->cluster ? "ROWS" : "BM", x->vec)
             : "",
        some && *in ? " && " : "", in);
}

void contract_early(ContractBuild *x, Tree *b)
{
    Finish *f = finish_of(x);
    int regs = choose_early(f);
    bool rows = early_rows(f);
    const char *in = early_bounds(x, rows);
    Tree *loads = tree_list(b->arena);

    if (!regs)
        return;
    x->regs += regs;
    PUT(b, "// What the epilogue reads besides the sums, meanwhile.\n");
    finish_declare(f, b, READ_EARLY, *in);
    CScope scope = cprint_open(&x->cp);
    finish_side(f, loads, &x->f->m, f->linear_m);
    finish_side(f, loads, &x->f->n, f->linear_n);
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].when == READ_EARLY)
            finish_read(f, loads, &f->vec[i]);
    cprint_close(&x->cp, scope);
    if (*in)
        loads = QUOTE(b->arena,
                      "if (@in) {\n"
                      "    @LOADS\n"
                      "}\n",
                      FILL("in", in), FILL_TREE("LOADS", loads));
    PUT(b,
        "{\n"
        "    const int m = m0 + @first@threadIdx.x / (BN / @vec);\n"
        "    const int n = n0 + threadIdx.x % (BN / @vec) * @vec;\n"
        "    @LOADS\n"
        "}\n",
        FILL("first", x->p->cluster ? "rank * ROWS + " : ""),
        FILL_INT("vec", x->vec), FILL_TREE("LOADS", loads));
}

void contract_epilogue(ContractBuild *x, Tree *b)
{
    Finish *f = finish_of(x);
    Tree *body = tree_list(b->arena);

    put_points(f, body);
    put_loop(x, b, f->n_vec > 0, body);
}
