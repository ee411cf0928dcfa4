#include "family/contract/contract_finish.h"

#include <string.h>

/* The epilogue where the sums are; and in two halves, for a result of 16-bit
 * elements: pairs of columns there, then whole pieces of rows to memory. */

int contract_columns(const Contract *x, int most)
{
    const ContractPlan any = {.f = x}; /* of tiles of any size */
    ContractBuild none = {.f = x, .p = &any, .g = x->g};
    Finish f = {.x = &none, .fast = contract_fast(x)};

    for (int i = 0; i < x->gr->n_step; i++) {
        f.store[i] = x->gr->step[i].store;
        f.where[i] = x->gr->step[i].where;
    }
    return finish_choose(&f, most);
}

typedef struct RowReads {
    const Contract *x;
    bool found;
} RowReads;

/* A read of something like the result, which pairs would read in pieces. */
static void find_row_read(const Expr *e, void *ctx)
{
    RowReads *r = ctx;

    r->found |= e->kind == E_READ && finish_uses(&r->x->m, e) &&
                finish_uses(&r->x->n, e);
}

/* Whether a row of the result is a run of neighbours, wherever it begins. */
static bool is_run(const Contract *x, const Step *s)
{
    const Var *fast = x->n.n == 1 ? x->n.v[0] : NULL;
    const Idx *offset = tensor_offset(x->g, s->tensor, s->store);

    return fast && idx_affine(offset) && idx_coef(offset, fast) == 1 &&
           !guard_uses(s->where, fast);
}

bool contract_packs(Contract *x)
{
    const Group *gr = x->gr;
    RowReads reads = {x, false};
    const Step *stored = NULL;
    int stores = 0;

    for (int i = 0; i < gr->n_step; i++) {
        const Step *s = &gr->step[i];
        stores += s->tensor != NULL;
        stored = s->tensor ? s : stored;
        if (s->tensor && (type_bytes(s->tensor->type) != 2 ||
                          s->tensor->type == T_BOOL))
            return false;
        if (finish_row_step(s))
            expr_visit(s->value, find_row_read, &reads);
    }
    if (stores != 1 || reads.found || x->c.parts > 1)
        return false;
    x->lines = contract_columns(x, 8) < 8;
    return !x->lines || is_run(x, stored);
}

const char *contract_packed_type(const ContractBuild *x)
{
    const char *type = NULL;

    for (int i = 0; i < x->f->gr->n_step && !type; i++)
        if (x->f->gr->step[i].tensor)
            type = type_cname(x->f->gr->step[i].tensor->type);
    return type;
}

static void open_points(Finish *f, ContractBuild *x, Tree *b, int vec,
                        ContractPlace *place)
{
    finish_prepare(f, x, vec);
    cprint_fresh(&x->cp, "sum");
    finish_sum(f, "sum");
    place(x, b);
    if (!x->p->patch)
        finish_side(f, b, &x->f->m, f->linear_m);
    finish_side(f, b, &x->f->n, f->linear_n);
}

/* Columns of which a thread has x->vec neighbours, as its three neighbours. */
static int group(const ContractBuild *x)
{
    return 4 * x->vec;
}

/* Registers of v in all columns that a thread finishes. */
static int column_regs(const ContractBuild *x, const Vector *v)
{
    return x->p->t.bn / x->p->t.split / 4 *
           type_bytes(v->read->tensor->type) / 4;
}

/* Reads of what belongs to columns, as many as `regs` registers hold: they
 * need not wait for the sums, which all of the latter's rows use them with. */
static bool choose_ahead(Finish *f, int regs)
{
    bool some = false;

    for (int i = 0; i < f->n_vec; i++) {
        Vector *v = &f->vec[i];
        if (!finish_ahead(f->x, v) || finish_uses(&f->x->f->m, v->read) ||
            column_regs(f->x, v) > regs)
            continue;
        regs -= column_regs(f->x, v);
        v->when = READ_EARLY;
        some = true;
    }
    return some;
}

/* Whether v's columns are neighbours all along the tile, and all there. */
static bool in_a_row(const Finish *f, const Vector *v)
{
    const ContractBuild *x = f->x;
    const Idx *offset = tensor_offset(x->g, v->read->tensor, v->read->at);

    return x->f->c.N % x->p->t.bn == 0 && (f->linear_n || x->f->n.n <= 1) &&
           guard_truth(v->read->in) == ALWAYS && idx_affine(offset);
}

/* dcc_f32x2 r_vec[BN / 8], s_vec[BN / 8]; of each group. */
static void declare_ahead(Finish *f, Tree *b, bool some)
{
    OneType d = {0};

    for (int i = 0; i < f->n_vec; i++) {
        const Vector *v = &f->vec[i];
        if (v->when != READ_EARLY)
            continue;
        const char *one = arena_printf(b->arena, "%s[%s / %d]", v->id,
                                       f->x->width, group(f->x));
        if (v->count > 1)
            one = arena_printf(b->arena, "%s[%d]", one, v->count);
        if (some || guard_truth(v->read->in) != ALWAYS)
            one = arena_printf(b->arena, "%s = {}", one);
        finish_declare_one(b, &d, finish_type(f, v->read->tensor, v), one);
    }
    finish_declared(b, &d);
}

/* Reads all of v's columns by one call, or those of group `at`. */
static void read_ahead(Finish *f, Tree *calls, Tree *loop, Vector *v,
                       const char *at)
{
    Arena *a = f->x->g->arena;
    CPrint *cp = &f->x->cp;
    const char *id = v->id;

    if (in_a_row(f, v) && v->count == 1) {
        CScope scope = cprint_open(cp);
        cprint_name(cp, f->fast,
                    arena_printf(a, "n0 + lane %% 4 * %d", f->x->vec));
        const Tensor *t = v->read->tensor;
        PUT(calls, "dcc_read_apart<@group>(@id, &@tensor[@from]);\n",
            FILL_INT("group", group(f->x)), FILL("id", id),
            FILL("tensor", cprint_tensor(cp, t)),
            FILL("from", cprint_element(
                             cp, t, tensor_offset(f->x->g, t, v->read->at))));
        cprint_close(cp, scope);
    } else {
        v->id = arena_printf(a, "%s[%s]", id, at);
        finish_read(f, loop, v);
    }
    v->id = arena_printf(a, "%s[%s]", id, at);
}

/* Their code; `at`: the number of a group of columns. */
static void put_ahead(Finish *f, Tree *b, const char *at)
{
    ContractBuild *x = f->x;
    CScope scope = cprint_open(&x->cp);
    bool cut = x->f->c.N % x->p->t.bn;
    Tree *in = tree_list(b->arena), *loop = tree_list(b->arena);

    PUT(b, "// What belongs to columns comes in during the products.\n");
    declare_ahead(f, b, cut);
    if (cut)
        PUT(in, "if (n >= N)\n"
                "    continue;\n");
    finish_side(f, in, &x->f->n, f->linear_n);
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].when == READ_EARLY)
            read_ahead(f, b, loop, &f->vec[i], at);
    if (loop->n_item)
        PUT(b,
            "#pragma unroll\n"
            "for (int @at = 0; @at < @width / @group; ++@at) {\n"
            "    const int n = n0 + @at * @group + lane % 4 * @vec;\n"
            "    @IN\n"
            "    @LOOP\n"
            "}\n",
            FILL("at", at), FILL("width", x->width),
            FILL_INT("group", group(x)), FILL_INT("vec", x->vec),
            FILL_TREE("IN", in), FILL_TREE("LOOP", loop));
    cprint_close(&x->cp, scope);
}

void contract_pairs(ContractBuild *x, Tree *b, ContractPlace *place,
                    const char *pack, Tree *ahead, int regs)
{
    Finish f = {.pack = pack};
    CScope scope = cprint_open(&x->cp);

    open_points(&f, x, b, 2, place);
    if (choose_ahead(&f, regs))
        put_ahead(&f, ahead, "c");
    PUT(b, "const int c = j * (COLS / 8) + q / 2;\n"); /* if it is used */
    finish_loads(&f, b);
    finish_columns(&f, b);
    cprint_close(&x->cp, scope);
}

void contract_pieces(ContractBuild *x, Tree *b, ContractPlace *place,
                     const char *from)
{
    Finish f = {.pack = NULL};
    CScope scope = cprint_open(&x->cp);

    open_points(&f, x, b, x->f->lines ? 1 : 8, place);
    for (int i = 0; i < x->f->gr->n_step && x->f->lines; i++)
        if (x->f->gr->step[i].tensor)
            finish_line(&f, b, i, from);
    for (int i = 0; i < x->f->gr->n_step; i++)
        if (f.vector_store[i])
            finish_vector_copy(&f, b, finish_vector(&f, i), i, from);
    cprint_close(&x->cp, scope);
}

/* ---- as the sums lie --------------------------------------------------- */

static void put_point(Finish *f, Tree *b, ContractPlace *place)
{
    ContractBuild *x = f->x;

    place(x, b);
    if (!x->p->patch)
        finish_side(f, b, &x->f->m, f->linear_m);
    if (!x->p->patch_n)
        finish_side(f, b, &x->f->n, f->linear_n);
}

static void note_early(const Finish *f, ContractAhead *a)
{
    for (int i = 0; i < f->n_vec && a->n_early < MAX_EARLY; i++)
        if (f->vec[i].when == READ_EARLY)
            a->early[a->n_early++] = f->vec[i].read;
}

static bool of_columns(const Side *n, Guard in)
{
    bool uses = guard_uses(in, n->linear);

    for (int i = 0; i < n->n; i++)
        uses |= guard_uses(in, n->v[i]);
    return uses;
}

/* Reads of what belongs to single results: all pieces of it that a thread has
 * are asked for at once, if there are registers. */
static void put_rows_ahead(Finish *f, ContractAhead *a, ContractPlace *place)
{
    ContractBuild *x = f->x;
    CScope scope = cprint_open(&x->cp);
    int regs = a->regs, each = a->pieces * a->vec / 2;
    bool some = false;

    for (int i = 0; i < f->n_vec && x->vec == a->vec; i++) {
        Vector *v = &f->vec[i];
        const char *id = v->id;
        bool several = v->count > 1; /* f32 beside 16-bit results */
        if (!finish_ahead(x, v) || !finish_uses(&x->f->m, v->read) ||
            (several && x->f->elem == T_F32) || !a->pieces)
            continue;
        if (of_columns(&x->f->n, v->read->in)) /* what is not read is 0 */
            continue;
        int own = v->piece * type_bytes(v->read->tensor->type) > 4 ? 2 : 1;
        own = a->vec == 8 ? each * v->count : a->pieces * own;
        if (own > regs)
            continue;
        regs -= own;
        PUT(a->declare,
            guard_truth(v->read->in) == ALWAYS
                ? "@type @id[@pieces]@of;\n"
                : "@type @id[@pieces]@of = {};\n",
            FILL("type", finish_type(f, v->read->tensor, v)), FILL("id", id),
            FILL_INT("pieces", a->pieces),
            FILL("of", several ? arena_printf(x->g->arena, "[%d]", v->count)
                               : ""));
        if (!some)
            put_point(f, a->reads, place);
        some = true;
        v->when = READ_EARLY;
        if (a->n_early < MAX_EARLY)
            a->early[a->n_early++] = v->read;
        v->id = arena_printf(x->g->arena, "%s[%s]", id, a->piece);
        finish_read(f, a->reads, v);
    }
    cprint_close(&x->cp, scope);
}

static void find_scalar(const Expr *e, void *ctx)
{
    Finish *f = ctx;

    if (e->kind != E_READ || e->tensor->rank || e->type != T_F32 || e->in.n ||
        f->n_scalar == MAX_SCALARS)
        return;
    for (int i = 0; i < f->n_scalar; i++)
        if (f->scalar[i]->tensor == e->tensor)
            return;
    f->scalar[f->n_scalar++] = e;
}

/* Numbers that all points read: a store between them might change what is in
 * memory, as far as nvcc knows. */
static void put_scalars(Finish *f, ContractAhead *a)
{
    ContractBuild *x = f->x;

    for (int i = 0; i < x->f->gr->n_step; i++)
        if (finish_row_step(&x->f->gr->step[i]) && !x->f->gone[i])
            expr_visit(f->value[i], find_scalar, f);
    for (int i = 0; i < f->n_scalar; i++) {
        const char *t = cprint_tensor(&x->cp, f->scalar[i]->tensor);
        f->scalar_id[i] = cprint_fresh(&x->cp,
                                       arena_printf(x->g->arena, "%s_val", t));
        PUT(a->columns, "const float @id = @tensor[0];\n",
            FILL("id", f->scalar_id[i]), FILL("tensor", t));
    }
}

/* What belongs to columns, before all of their points. */
static void put_by_columns(Finish *f, ContractAhead *a)
{
    ContractBuild *x = f->x;

    a->column_place(x, a->by_columns);
    if (!x->p->patch_n)
        finish_side(f, a->by_columns, &x->f->n, f->linear_n);
    for (int i = 0; i < f->n_vec; i++) {
        Vector *v = &f->vec[i];
        if (v->when == READ_POINT && finish_ahead(x, v) &&
            !finish_uses(&x->f->m, v->read))
            v->when = READ_COLUMNS;
    }
    finish_declare(f, a->by_columns, READ_COLUMNS, false);
    for (int i = 0; i < f->n_vec; i++)
        if (f->vec[i].when == READ_COLUMNS)
            finish_read(f, a->by_columns, &f->vec[i]);
}

void contract_points(ContractBuild *x, Tree *b, int most, ContractPlace *place,
                     ContractAhead *ahead)
{
    Finish f = {0};
    CScope scope;

    finish_prepare(&f, x, most);
    cprint_fresh(&x->cp, "sum");
    scope = cprint_open(&x->cp);
    finish_sum(&f, "sum");
    if (ahead && choose_ahead(&f, ahead->column_regs)) {
        put_ahead(&f, ahead->columns, "j");
        note_early(&f, ahead);
    }
    if (ahead)
        put_rows_ahead(&f, ahead, place);
    if (ahead)
        put_scalars(&f, ahead);
    if (ahead && ahead->by == x->vec) {
        put_by_columns(&f, ahead);
        ahead->row_place(x, b);
        if (!x->p->patch)
            finish_side(&f, b, &x->f->m, f.linear_m);
    } else {
        put_point(&f, b, place);
    }
    finish_loads(&f, b);
    finish_columns(&f, b);
    cprint_close(&x->cp, scope);
}

void contract_read_ahead(const ContractAhead *ahead, Tree *b, int part,
                         bool once)
{
    PUT(b,
        once ? "@DECLARE\n"
               "#pragma unroll\n"
               "for (int j = 0; j < @part; ++j)\n"
               "    #pragma unroll\n"
               "    for (int i = 0; i < WM / 32; ++i) {\n"
               "        @READS\n"
               "    }\n"
             : "@DECLARE\n"
               "auto read_ahead = [&](int first) {\n"
               "    #pragma unroll\n"
               "    for (int j = first; j < first + @part; ++j)\n"
               "        #pragma unroll\n"
               "        for (int i = 0; i < WM / 32; ++i) {\n"
               "            @READS\n"
               "        }\n"
               "};\n",
        FILL_TREE("DECLARE", ahead->declare), FILL_INT("part", part),
        FILL_TREE("READS", ahead->reads));
}
