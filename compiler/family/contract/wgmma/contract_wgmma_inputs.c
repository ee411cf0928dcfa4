#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

#include <string.h>

/* What results read of tensors that lie as they do, a residual or a mask: TMA
 * brings it into slots of its own, a warpgroup's rows by 128 bytes each, while
 * products and epilogues of other tiles go on. By loads of the epilogue's own
 * threads the memory is asked for nothing while these compute and store. */

enum { MOST_SLOTS = 4 /* of a warpgroup */, MOST_READS = 32 };

/* Columns of a slot, and those of a thread's loads: results and what they read
 * have elements of one size. */
static int band(const WgmmaForm *f)
{
    return TMA_ROW / wgmma_result_bytes(&f->x);
}

static int vector(const WgmmaForm *f)
{
    return VECTOR_BYTES / wgmma_result_bytes(&f->x);
}

/* ---- which --------------------------------------------------------------- */

typedef struct Find {
    WgmmaForm *f;
    const Tensor *no[MOST_READS]; /* tensors that are read otherwise */
    const Idx *at[WGMMA_INPUTS]; /* the offset of each input, by numbers */
    int n_no;
} Find;

static bool stored(const Group *gr, const Tensor *t)
{
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].tensor == t)
            return true;
    return false;
}

/* Whether e's rows lie one after the other as results do, whole words each. */
static bool lies_so(const WgmmaForm *f, const Expr *e, const Idx *offset,
                    int64_t *pitch)
{
    const Contract *x = &f->x;
    const Contraction *c = &x->c;
    const Var *fast = contract_fast(x);
    const int vec = vector(f);
    int64_t step;

    if (type_bytes(e->tensor->type) * vec != VECTOR_BYTES ||
        guard_truth(e->in) != ALWAYS || !fast || !idx_affine(offset) ||
        fast->extent % vec || c->N % vec || idx_coef(offset, fast) != 1 ||
        offset->k % vec)
        return false;
    return wgmma_walks(offset, c->m, c->n_m, pitch) &&
           wgmma_walks(offset, c->n, c->n_n, &step) && step == 1 &&
           *pitch % vec == 0 && *pitch >= c->N;
}

static int input_of(const WgmmaForm *f, const Tensor *t)
{
    for (int i = 0; i < f->n_input; i++)
        if (f->input[i].tensor == t)
            return i;
    return -1;
}

static void find_input(const Expr *e, void *ctx)
{
    Find *s = ctx;
    WgmmaForm *f = s->f;
    int64_t pitch;

    if (e->kind != E_READ)
        return;
    const Idx *offset = tensor_offset(f->x.g, e->tensor, e->at);
    int i = input_of(f, e->tensor);
    if (i >= 0 && s->at[i] == offset)
        return;
    if (i < 0 && f->n_input < WGMMA_INPUTS && !stored(f->x.gr, e->tensor) &&
        lies_so(f, e, offset, &pitch)) {
        s->at[f->n_input] = offset;
        f->input[f->n_input++] = (Plane){e->tensor, offset->k, pitch, false};
        return;
    }
    if (s->n_no < MOST_READS)
        s->no[s->n_no++] = e->tensor;
}

static void drop(WgmmaForm *f, int i)
{
    memmove(&f->input[i], &f->input[i + 1],
            sizeof *f->input * (size_t)(f->n_input - i - 1));
    f->n_input--;
}

void wgmma_find_inputs(WgmmaForm *f)
{
    const Contract *x = &f->x;
    const Group *gr = x->gr;
    Find s = {.f = f};

    f->n_input = 0;
    if (x->c.batches > 1 || x->terms != 1 || gr->merge || f->turned ||
        (gr->pieces && !gr->pieces->down) || wgmma_result_bytes(x) < 2 ||
        x->c.range || contract_columns(x, vector(f)) != vector(f))
        return;
    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_NONE && !gr->step[i].over_cols && !x->gone[i])
            expr_visit(x->value[i], find_input, &s);
    if (s.n_no == MOST_READS)
        f->n_input = 0;
    for (int i = f->n_input - 1; i >= 0; i--)
        for (int k = 0; k < s.n_no; k++)
            if (i < f->n_input && s.no[k] == f->input[i].tensor)
                drop(f, i);
}

bool wgmma_is_input(const WgmmaForm *f, const Tensor *t)
{
    return input_of(f, t) >= 0;
}

/* ---- sizes --------------------------------------------------------------- */

/* Rows of a warpgroup. */
static int own_rows(const WgmmaShape *s)
{
    return s->pingpong ? s->bm : s->bm / s->consumers;
}

/* Bytes of a slot. */
static size_t slot_bytes(const WgmmaForm *f, int wm)
{
    return (size_t)(wm * TMA_ROW * f->n_input);
}

int wgmma_input_slots(const WgmmaForm *f, const WgmmaShape *s)
{
    /* of a sum of a step or two memory takes the time, of others the ring */
    enum { FEW = 2, ROOM = 128 << 10 };
    bool few = tma_k_tiles(&f->tma) <= FEW;
    int most = few ? MOST_SLOTS : MOST_SLOTS / 2;
    size_t room = few ? ROOM : ROOM / 2;
    size_t all = slot_bytes(f, own_rows(s)) * (size_t)s->consumers;

    if (!f->n_input || s->consumers == 1 || s->bn % band(f) || all > room ||
        f->x.c.N % s->bn)
        return 0;
    return room / all < (size_t)most ? (int)(room / all) : most;
}

size_t wgmma_input_bytes(const WgmmaForm *f, const WgmmaShape *s)
{
    int slots = wgmma_input_slots(f, s);

    return slots ? (size_t)(slots * s->consumers) *
                           (slot_bytes(f, own_rows(s)) + 2 * sizeof(uint64_t)) +
                       WGMMA_INPUT_GAP
                 : 0;
}

/* ---- text ---------------------------------------------------------------- */

void wgmma_input_maps(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    Kernel *k = x->kernel;

    for (int i = 0; w->p->inputs && i < w->f->n_input; i++) {
        const Plane *in = &w->f->input[i];
        TileMap *m = &k->map[k->n_map++];
        *m = (TileMap){.offset = in->offset, .rank = 2,
                       .dim = {x->f->c.N, x->f->c.M},
                       .stride = {0, in->pitch * type_bytes(in->tensor->type)},
                       .box = {band(w->f), w->p->wm},
                       .step = {1, 1},
                       .swizzle = true};
        for (int j = 0; j < k->n_arg; j++)
            if (k->arg[j].tensor == in->tensor) {
                m->arg = j;
                k->arg[j].mapped = !wgmma_touches(w->p, in->tensor);
            }
        const char *id = k->arg[m->arg].name;
        w->input_tile[i] =
            cprint_fresh(&x->cp, arena_printf(x->g->arena, "%s_rows", id));
        m->name = arena_printf(x->g->arena, "%s_map", w->input_tile[i]);
    }
}

void wgmma_input_fields(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;

    if (!w->p->inputs)
        return;
    for (int i = 0; i < w->f->n_input; i++)
        kernel_smem(x->g, x->kernel, 1024,
                    arena_printf(x->g->arena,
                                 "%s %s[CONSUMERS * INPUTS][WM][%d]",
                                 type_cname(w->f->input[i].tensor->type),
                                 w->input_tile[i], band(w->f)), NULL);
    kernel_smem(x->g, x->kernel, 8,
                "uint64_t inputs_full[CONSUMERS * INPUTS], "
                "inputs_empty[CONSUMERS * INPUTS]", NULL);
}

const char *wgmma_input_ring(const WgmmaBuild *w)
{
    return w->p->inputs
               ? "dcc_ring_init(smem.inputs_full, 1, smem.inputs_empty, 4);\n"
               : "";
}

/* Whether a tile's come between its steps, by when consumers have the slots
 * free. */
static bool between(const WgmmaBuild *w)
{
    if (!w->p->inputs)
        return false;
    /* else the loader waits for slots that the tile's own epilogue frees */
    bool all = w->p->inputs >= w->x.p->t.bn / band(w->f);
    return all && w->p->least_steps > w->x.p->t.stages &&
           !wgmma_reaches(w->p);
}

static Tree *load(WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena), *loads = tree_list(b->arena);
    bool turns = w->p->pingpong;

    for (int i = 0; i < w->f->n_input; i++)
        PUT(loads,
            "dcc_tma_load_2d(smem.@tile[at], &@tile@_map, n0 + j * @band, @m, "
            "&smem.inputs_full[at]);\n",
            FILL("tile", w->input_tile[i]), FILL_INT("band", band(w->f)),
            FILL("m", turns ? "m0" : "m0 + of * WM"));
    Tree *one = QUOTE(
        b->arena,
        "const int at = dcc_claim_input<INPUTS>(smem.inputs_full, "
        "smem.inputs_empty, of, band + j, @bytes);\n"
        "@LOADS\n",
        FILL_INT("bytes", (int)slot_bytes(w->f, w->p->wm)),
        FILL_TREE("LOADS", loads));
    if (!turns)
        one = QUOTE(b->arena,
                    "for (int of = 0; of < CONSUMERS; ++of) {\n"
                    "    @ONE\n"
                    "}\n",
                    FILL_TREE("ONE", one));
    PUT(b,
        turns ? "// What its results read.\n"
                "const int of = inputs % CONSUMERS;\n"
                "const int band = inputs / CONSUMERS * (BN / @band);\n"
                "for (int j = 0; j < BN / @band; ++j) {\n"
                "    @ONE\n"
                "}\n"
                "++inputs;\n"
              : "// What its results read.\n"
                "const int band = inputs * (BN / @band);\n"
                "for (int j = 0; j < BN / @band; ++j) {\n"
                "    @ONE\n"
                "}\n"
                "++inputs;\n",
        FILL_INT("band", band(w->f)), FILL_TREE("ONE", one));
    return b;
}

Tree *wgmma_load_between(WgmmaBuild *w)
{
    Tree *b = tree_list(w->x.g->arena);

    if (between(w))
        PUT(b,
            "if (k_tile == STAGES) {\n"
            "    @LOAD\n"
            "}\n",
            FILL_TREE("LOAD", load(w)));
    return b;
}

Tree *wgmma_load_behind(WgmmaBuild *w)
{
    return w->p->inputs && !between(w) ? load(w)
                                       : tree_list(w->x.g->arena);
}

/* Of an epilogue's columns of one j, 32 or of pairs 8, as many have a slot. */
static int in_slot(const WgmmaBuild *w)
{
    bool pairs = wgmma_result_bytes(&w->f->x) == 4 && !wgmma_quads(w->p);

    return band(w->f) / (pairs ? 8 : 32);
}

/* "(inputs + j / 2)" */
static const char *number(const WgmmaBuild *w)
{
    int n = in_slot(w);

    return n > 1 ? arena_printf(w->x.g->arena, "(inputs + j / %d)", n)
                 : "(inputs + j)";
}

void wgmma_wait_inputs(WgmmaBuild *w, Tree *b)
{
    int n = w->p->inputs ? in_slot(w) : 0;

    if (!n)
        return;
    PUT(b,
        n > 1 ? "const int at = warpgroup * INPUTS + @number % INPUTS;\n"
                "if (j % @n == 0)  // @band columns of what results read\n"
                "    dcc_mbar_wait(&smem.inputs_full[at], "
                "@number / INPUTS % 2);\n"
              : "const int at = warpgroup * INPUTS + @number % INPUTS;\n"
                "// @band columns of what results read\n"
                "dcc_mbar_wait(&smem.inputs_full[at], "
                "@number / INPUTS % 2);\n",
        FILL("number", number(w)), FILL_INT("n", n),
        FILL_INT("band", band(w->f)));
}

void wgmma_free_inputs(WgmmaBuild *w, Tree *b)
{
    int n = w->p->inputs ? in_slot(w) : 0;

    if (!n)
        return;
    PUT(b,
        n > 1 ? "if (j % @n == @last)\n"
                "    dcc_free_input(&smem.inputs_empty[at]);\n"
              : "dcc_free_input(&smem.inputs_empty[at]);\n",
        FILL_INT("n", n), FILL_INT("last", n - 1));
}

void wgmma_next_inputs(WgmmaBuild *w, Tree *b)
{
    if (w->p->inputs)
        PUT(b, "inputs += BN / @band;\n", FILL_INT("band", band(w->f)));
}

void wgmma_name_inputs(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;

    for (int i = 0; w->p->inputs && i < w->f->n_input; i++) {
        x->input[x->n_input] = w->f->input[i].tensor;
        x->input_at[x->n_input++] = arena_printf(
            x->g->arena,
            "&smem.%s[at][warp * 16 + i / 2 * 64 + i %% 2 * 8 + lane / 4]"
            "[dcc_box_at<%s>(lane / 4, %s]",
            w->input_tile[i], type_cname(w->f->input[i].tensor->type),
            in_slot(w) == 4   ? "j % 4 * 2 + lane % 4 / 2) + lane % 2 * 2"
            : in_slot(w) == 2 ? "j % 2 * 4 + lane % 4)"
                              : "c * 4 + lane % 4)");
    }
}
