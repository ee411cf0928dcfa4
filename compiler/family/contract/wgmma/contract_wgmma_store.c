#include "family/contract/wgmma/contract_wgmma.h"

#include "group/groups.h"

/* The epilogue of a wgmma contraction: from sums in registers to memory. */

/* Bounds of rows, of columns or of both: leaves the loop's body where the point
 * is outside. */
static void put_bounds(WgmmaBuild *w, Tree *b, bool rows, bool columns)
{
    ContractBuild *x = &w->x;
    Arena *a = b->arena;
    const Tma *t = &w->f->tma;
    const char *out = "";

    if (rows && !x->p->patch && !wgmma_overlaps(w->p) &&
        (x->f->c.M % x->p->t.bm || w->p->cluster > 1))
        out = "m >= M";
    if (rows && x->p->patch && w->p->patch.rows < x->p->t.bm)
        out = "row >= PATCH";
    for (int i = 0; rows && x->p->patch && i < t->m.n; i++)
        if (t->m.axis[i].extent % w->p->patch.tile[i] ||
            (i == 0 && w->p->cluster > 1))
            out = arena_printf(
                a, "%s%s%s >= %lld", out, *out ? " || " : "",
                cprint_idx(&x->cp, idx_var(x->g->pool, t->m.axis[i].linear), 1),
                (long long)t->m.axis[i].extent);
    if (columns && x->f->c.N % (x->p->t.bn * w->p->beside) &&
        !wgmma_overlaps_columns(w->p))
        out = arena_printf(a, "%s%sn >= N", out, *out ? " || " : "");
    if (*out)
        PUT(b,
            "if (@out)\n"
            "    continue;\n",
            FILL("out", out));
}

/* The variables of m at row `row` of a patch. */
static void put_patch(WgmmaBuild *w, Tree *b)
{
    ContractBuild *x = &w->x;
    const Tma *t = &w->f->tma;
    int radix = 1;

    for (int i = t->m.n - 1; i >= 0; i--) {
        const Axis *a = &t->m.axis[i];
        int tile = w->p->patch.tile[i];
        const char *id = cprint_var(&x->cp, a->linear), *at = w->origin[i];
        if (tile > 1)
            at = arena_printf(
                b->arena, "%s + %s", at,
                cprint_digit(b->arena, "row", radix,
                             radix * tile < x->p->t.bm ? tile : 0));
        PUT(b, "const int @id = @at;\n", FILL("id", id), FILL("at", at));
        radix *= tile;
    }
}

/* The digits of axes that are several variables. */
static void put_digits(WgmmaBuild *w, Tree *b)
{
    ContractBuild *x = &w->x;

    for (int i = 0; i < w->f->tma.m.n; i++) {
        const Axis *a = &w->f->tma.m.axis[i];
        for (int j = 0; a->n > 1 && j < a->n; j++) {
            const char *e = cprint_idx(&x->cp, a->sub[j].by, 0);
            PUT(b, "const int @var = @e;\n",
                FILL("var", cprint_var(&x->cp, a->v[j])), FILL("e", e));
        }
    }
}

/* m and n at a row and column of the tile, or one of them (the other's text is
 * NULL). */
static void put_point_at(WgmmaBuild *w, Tree *b, const char *row,
                         const char *col)
{
    if (row && w->x.p->patch) {
        PUT(b, "const int row = @row;\n", FILL("row", row));
        put_patch(w, b);
    } else if (row) {
        PUT(b,
            w->x.p->apart ? "const int m = m0 + (@row) * APART;\n"
                          : "const int m = m0 + @row;\n",
            FILL("row", row));
    }
    if (col)
        PUT(b, "const int n = n0 + @col;\n", FILL("col", col));
}

/* The same; or leaves the loop. */
static void put_place(WgmmaBuild *w, Tree *b, const char *row, const char *col)
{
    put_point_at(w, b, row, col);
    put_bounds(w, b, row, col);
    if (row && w->x.p->patch)
        put_digits(w, b);
}

/* What is finished. */
static const char *sums_of(const WgmmaBuild *w)
{
    return w->x.p->t.split > 1 ? "own" : "acc";
}

/* The columns of a point. */
static const char *point_columns(const WgmmaBuild *w)
{
    if (w->p->deal)
        return arena_printf(w->x.g->arena, "j * %d + lane %% 4 * %d",
                            w->p->deal * 4, w->p->deal);
    return w->x.vec == 8   ? "j * 32 + lane % 4 * 8"
           : wgmma_quads(w->p) && w->x.vec == 4
               ? "j * 32 + c * 16 + lane % 4 * 4"
           : w->x.vec == 4 ? "j * 32 + lane % 4 * 8 + c * 4"
           : w->x.vec == 2 ? "j * 8 + lane % 4 * 2"
                           : "j * 8 + lane % 4 * 2 + c";
}

static const char *point_sum(const WgmmaBuild *w)
{
    Arena *a = w->x.g->arena;
    const Pieces *p = w->x.f->gr->pieces;

    if (w->p->deal && p && p->down) /* rounded twice: stored, and summed */
        return arena_printf(a, "dcc_wgmma_copy(acc[i / 2][e / 2 * (BN / %d) + "
                               "j * 4 + i %% 2 * 2 + e %% 2])", w->p->deal);
    if (w->p->deal)
        return arena_printf(a, "acc[i / 2][e / 2 * (BN / %d) + j * 4 + "
                               "i %% 2 * 2 + e %% 2]", w->p->deal);
    if (w->x.vec >= 4)
        return w->x.vec == 8 ? "part[e]" : "part[c * 4 + e]";
    return arena_printf(a, "%s[i / 2][j * 4 + i %% 2 * 2 + %s]", sums_of(w),
                        w->x.vec == 2 ? "e" : "c");
}

/* Where the point is: contract_points' callbacks. */
static void place_point(ContractBuild *x, Tree *b)
{
    WgmmaBuild *w = (WgmmaBuild *)x; /* x is its first member */

    x->sum = point_sum(w);
    x->keep = wgmma_keep(w, sums_of(w), x->sum);
    put_place(w, b, wgmma_point_row(w->p), point_columns(w));
}

static void place_columns(ContractBuild *x, Tree *b)
{
    put_place((WgmmaBuild *)x, b, NULL, point_columns((WgmmaBuild *)x));
}

static void place_row(ContractBuild *x, Tree *b)
{
    WgmmaBuild *w = (WgmmaBuild *)x;

    x->sum = point_sum(w);
    x->keep = wgmma_keep(w, sums_of(w), x->sum);
    put_place(w, b, wgmma_point_row(w->p), NULL);
}

/* The same of a pair of columns, and of a piece of a line. */
static void place_pair(ContractBuild *x, Tree *b)
{
    WgmmaBuild *w = (WgmmaBuild *)x;
    bool overlaps = wgmma_turned_overlaps(x->p->t.bn);

    x->sum = arena_printf(x->g->arena,
                          !w->f->turned ? "%s[i][j * (COLS / 2) + q * 2 + e]"
                          : overlaps    ? "%s[i][first / 2 + q * 2 + e]"
                                        : "%s[i][j * 8 + q * 2 + e]",
                          sums_of(w));
    x->keep = x->f->gr->pieces && !x->f->gr->pieces->reduced ? x->sum : NULL;
    put_place(w, b,
              w->f->turned
                  ? "top + i * 64 + warp * 16 + q % 2 * 8 + lane / 4"
                  : "top + i * 64 + q % 2 * 8 + lane / 4",
              !w->f->turned ? "j * COLS + q / 2 * 8 + lane % 4 * 2"
              : overlaps    ? "first + q / 2 * 8 + lane % 4 * 2"
                            : "j * 16 + q / 2 * 8 + lane % 4 * 2");
}

static void place_piece(ContractBuild *x, Tree *b)
{
    put_place((WgmmaBuild *)x, b, "top + i * 64 + line",
              x->f->lines ? "j * COLS" : "j * COLS + piece * 8");
}

/* Lanes share lines of the tile in pieces of 8 columns, where those lie in the
 * tile or, of lines at any alignment, in memory. */
static const char by_pieces[] =
    "#pragma unroll 2  // more addresses would not fit\n"
    "for (int q = 0; q < COLS / 16; ++q) {\n"
    "    const int line = (q * 32 + lane) / (COLS / 8);\n"
    "    const int piece = lane % (COLS / 8);\n"
    "    @PIECE@\n"
    "}\n";

/* The product of the extents of v[i + 1], ..., v[n - 1]. */
static int64_t faster(const Var *const *v, int n, int i)
{
    int64_t count = 1;

    while (++i < n)
        count *= v[i]->extent;
    return count;
}

bool wgmma_walks(const Idx *offset, const Var *const *v, int n, int64_t *step)
{
    *step = 0;
    for (int i = n - 1; i >= 0; i--) {
        int64_t c = idx_coef(offset, v[i]), unit = faster(v, n, i);
        if (v[i]->extent == 1)
            continue;
        if (!*step)
            *step = c / unit;
        if (c != *step * unit)
            return false;
    }
    return true;
}

/* A result of one tensor, whose rows lie so, wherever they begin. */
static Plane find_plane(const WgmmaForm *f)
{
    const Contract *x = &f->x;
    const Contraction *c = &x->c;
    const Step *s = NULL;
    const Var *run;
    Guard where;
    int64_t step;

    for (int i = 0; i < x->gr->n_step; i++)
        if (x->gr->step[i].tensor)
            s = &x->gr->step[i];
    run = guard_run(x->g, s->where, &where);
    if (!f->packs || x->terms == 3 || c->batches > 1 ||
        guard_truth(where) != ALWAYS || (run && run != c->m[0]) ||
        s->tensor == c->a.read->tensor || s->tensor == c->b.read->tensor)
        return (Plane){.tensor = NULL};
    const Idx *offset = tensor_offset(x->g, s->tensor, s->store);
    Plane found = {s->tensor, offset->k, 0, run != NULL};
    if (!idx_affine(offset) ||
        !wgmma_walks(offset, c->m, c->n_m, &found.pitch) ||
        !wgmma_walks(offset, c->n, c->n_n, &step) || step != 1 ||
        found.pitch < c->N)
        return (Plane){.tensor = NULL};
    return found;
}

static void note_read(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ;
}

void wgmma_find_plane(WgmmaForm *f)
{
    const Group *gr = f->x.gr;
    Plane found = contract_stores(&f->x) ? find_plane(f) : (Plane){.run = 0};
    bool reads = false;

    for (int i = 0; i < gr->n_step; i++)
        if (gr->step[i].op == R_NONE)
            expr_visit(gr->step[i].value, note_read, &reads);
    f->plane = f->lines = (Plane){.tensor = NULL};
    if (f->x.lines && !found.run && !reads && !gr->merge && !gr->pieces)
        f->lines = found;
    if (!f->x.lines && found.pitch % 8 == 0 && found.offset % 8 == 0)
        f->plane = found;
}

void wgmma_boxes_map(WgmmaBuild *w)
{
    Kernel *k = w->x.kernel;

    if (!w->p->boxes.tensor)
        return;
    TileMap *m = &k->map[k->n_map++];
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor == w->p->boxes.tensor) {
            m->arg = i;
            k->arg[i].mapped = !wgmma_touches(w->p, w->p->boxes.tensor);
        }
    int64_t of_run = w->p->boxes.run ? w->x.f->c.M / w->x.g->most : 0;
    *m = (TileMap){.name = arena_printf(w->x.g->arena, "%s_map",
                                        k->arg[m->arg].name),
                   .arg = m->arg, .offset = w->p->boxes.offset, .rank = 2,
                   .dim = {w->f->turned ? w->x.f->c.M : w->x.f->c.N,
                           w->f->turned ? w->x.f->c.N : w->x.f->c.M},
                   .of_run = {0, of_run},
                   .stride = {0, w->p->boxes.pitch * 2},
                   .box = {w->p->pack, 16},
                   .step = {1, 1},
                   .swizzle = true};
}

/* By way of shared memory. */
static Tree *packed_code(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    Arena *a = x->g->arena;
    Tree *pairs = tree_list(a), *pieces = tree_list(a);
    bool rows = !w->p->pingpong && w->p->consumers > 1;
    const char *top = rows ? "warpgroup * WM + warp * 16" : "warp * 16";
    const char *warp = w->p->consumers > 1 ? "warpgroup * 4 + warp" : "warp";

    if (w->f->turned) {
        contract_pairs(x, pairs, place_pair, "packed[q]", w->ahead, 0);
        return wgmma_turned_code(w, pairs);
    }
    contract_pairs(x, pairs, place_pair, "packed[q / 4][q % 4]", w->ahead,
                   w->p->spare);
    contract_pieces(x, pieces, place_piece,
                    x->f->lines ? "out"
                             : "&out[line][dcc_packed_at<COLS>(line, piece)]");
    if (w->p->boxes.tensor)
        return TEMPLATE(a, "contract_wgmma_boxes.cu.in", FILL("TOP", top),
                        FILL("WARP", warp),
                        FILL("MAP", x->kernel->map[x->kernel->n_map - 1].name),
                        FILL_TREE("PAIRS", pairs));
    Tree *loop = QUOTE(a, by_pieces, FILL_TREE("PIECE", pieces));
    return TEMPLATE(a, "contract_wgmma_packed.cu.in", FILL("TOP", top),
                    FILL("WARP", warp), FILL("WIDTH", x->width),
                    FILL_TREE("PAIRS", pairs), FILL_TREE("PIECES", loop));
}

/* Columns that a thread stores at a time: of short elements 8 after an
 * exchange, if there are as many of each lane; of four bytes 4, if all that is
 * read of rows is in shared memory; else pairs, which are whole sectors of
 * memory as the sums lie. */
static int most_columns(const WgmmaBuild *w)
{
    bool pairs = wgmma_result_bytes(&w->f->x) == 4 || w->p->own % 32;

    return w->p->deal             ? w->p->deal
           : wgmma_quads(w->p) ? 4
           : pairs             ? 2
                               : 8;
}

/* The reads ahead of a tile's products: those of its columns; and those of the
 * first `part` pieces of columns, the next ones when these are done with. Of
 * blocks in several parts the last one alone reads: behind the products. */
static void put_ahead(WgmmaBuild *w, const ContractAhead *ahead, int part,
                      bool once, Tree *behind)
{
    Tree *to = w->p->parts == 1 ? w->ahead : behind;

    tree_add(w->ahead, ahead->columns);
    if (!ahead->reads->n_item)
        return;
    PUT(to, "// Single results' reads are made ahead, as many as registers "
            "hold.\n");
    contract_read_ahead(ahead, to, part, once);
    if (!once)
        PUT(to, "read_ahead(0);\n");
}

/* Groups of 8 columns of which pairs are read at once. A result that is one of
 * the reads (a weight's next value) would else be stored before the next read
 * is asked for, which then takes longer than the products. */
static int pairs_ahead(const WgmmaBuild *w)
{
    enum { MOST = 32 }; /* registers */
    int all = w->p->own / 8;
    int most = w->f->row_reads - (w->p->inputs ? w->f->n_input : 0);

    for (int reads = most; reads >= 1; reads--)
        for (int n = all; n >= 1; n--)
            if (all % n == 0 && n * (w->p->wm / 32) * 2 <= MOST &&
                reads * n * (w->p->wm / 32) * 2 + 8 <= w->p->spare_rows)
                return n;
    return 0;
}

/* What is left over is for what belongs to columns. */
static void plan_ahead(const WgmmaBuild *w, ContractAhead *a, int *part)
{
    bool pairs = !w->p->deal && most_columns(w) == 2;
    int all = w->p->own / (pairs ? 8 : 32);

    *part = pairs ? pairs_ahead(w) : wgmma_rows_ahead(w->p);
    *a = (ContractAhead){
        .vec = pairs ? 2 : 8,
        .declare = tree_list(w->x.g->arena),
        .reads = tree_list(w->x.g->arena),
        .columns = tree_list(w->x.g->arena),
        .by_columns = tree_list(w->x.g->arena),
        /* lanes that exchange sums stay together */
        .by = w->p->deal                     ? w->p->deal
              : w->x.f->c.N % w->x.p->t.bn == 0 ? 8
                                          : 0,
        .column_place = place_columns,
        .row_place = place_row,
        .pieces = *part * (w->p->wm / 32),
        .regs = w->p->spare_rows,
        /* a split's epilogue is short: it would wait for each */
        .column_regs = w->p->deal || w->x.p->t.split > 1
                           ? w->p->spare
                           : 0,
        .piece = *part == 1    ? "i"
                 : *part < all ? arena_printf(w->x.g->arena,
                                              "j %% %d * (WM / 32) + i", *part)
                               : "j * (WM / 32) + i"};
    int left = w->p->spare_rows - WGMMA_BESIDE - a->pieces * 4;
    if (wgmma_reads_rows(w->p) && *part && a->column_regs > left)
        a->column_regs = left;
    /* few columns always fit beside a lone consumer's few sums, but for
     * 3xtf32's, whose text has no reads ahead; one after the other between
     * stores, each would wait */
    int few = w->p->own / 2;
    if (w->x.p->t.split > 1 && w->p->consumers == 1 && w->x.f->terms != 3 &&
        a->column_regs < few)
        a->column_regs = few;
}

/* As the sums lie: pairs of a thread's columns, 8 after an exchange with its
 * neighbours, or those that b's order gives it. */
static Tree *direct_code(WgmmaBuild *w)
{
    ContractBuild *x = &w->x;
    Arena *a = x->g->arena;
    Tree *points = tree_list(a), *again = tree_list(a);
    Tree *behind = tree_list(a), *sums = tree_list(a);
    ContractAhead ahead;
    int part;

    plan_ahead(w, &ahead, &part);
    wgmma_name_inputs(w);
    wgmma_hold_rows(w, w->ahead);
    wgmma_row_sums_open(w);
    contract_points(x, points, most_columns(w), place_point, &ahead);
    wgmma_row_sums_begin(w, ahead.by_columns);
    wgmma_row_sums_lanes(w, sums);
    wgmma_wait_inputs(w, again);
    wgmma_free_inputs(w, sums);
    bool once = part >= w->p->own / (ahead.vec == 2 ? 8 : 32);
    memcpy(w->early, ahead.early, sizeof w->early);
    w->n_early = once && w->p->parts == 1 ? ahead.n_early : 0;
    if (ahead.reads->n_item && !once)
        PUT(again,
            "if (j > 0 && j % @part == 0)\n"
            "    read_ahead(j);\n",
            FILL_INT("part", part));
    put_ahead(w, &ahead, part, once, behind);
    if (!w->p->deal && (x->vec == 4 || x->vec == 1))
        points = QUOTE(a,
                       "#pragma unroll\n"
                       "for (int c = 0; c < 2; ++c) {\n"
                       "    @POINTS\n"
                       "}\n",
                       FILL_TREE("POINTS", points));
    const Fill of[] = {FILL_TREE("POINTS", points),
                       FILL("SUMS", sums_of(w)),
                       FILL("ROW", wgmma_quads(w->p) ? "quads" : "row"),
                       FILL("WIDTH", x->width),
                       FILL_TREE("AGAIN", again),
                       FILL_TREE("COLUMNS", ahead.by_columns),
                       FILL_TREE("ROWS", sums),
                       FILL_INT("GROUP", w->p->deal * 4),
                       FILL("B", x->b.id)};
    tree_add(behind,
             template_tree(a,
                           w->p->deal       ? "contract_wgmma_dealt.cu.in"
                           : x->vec >= 4 ? "contract_wgmma_rows.cu.in"
                                         : "contract_wgmma_pairs.cu.in",
                           of, (int)(sizeof of / sizeof *of)));
    wgmma_next_inputs(w, behind);
    return behind;
}

/* Where sum `at` of half row i is: contract_redo's callback. */
static void place_sum(ContractBuild *x, Tree *b)
{
    WgmmaBuild *w = (WgmmaBuild *)x;
    const int deal = w->p->deal;
    const char *col =
        deal ? arena_printf(b->arena,
                            "at %% (BN / %d) / 4 * %d + lane %% 4 * %d + "
                            "at / (BN / %d) * 2 + at %% 2",
                            deal, deal * 4, deal, deal)
             : "at / 4 * 8 + lane % 4 * 2 + at % 2";

    put_point_at(w, b, wgmma_point_row(w->p), col);
    if (x->p->patch)
        put_digits(w, b);
}

/* Sums over a range that are all here are made whole together. */
static Tree *redo_code(WgmmaBuild *w)
{
    const Contract *x = w->x.f;
    Tree *code = tree_list(w->x.g->arena);

    if (x->c.range && w->x.p->t.split == 1 && w->p->parts == 1 &&
        !x->gr->pieces && !x->gr->merge && x->c.parts == 1)
        contract_redo(&w->x, code, place_sum, "acc");
    return code;
}

Tree *wgmma_epilogue(WgmmaBuild *w)
{
    w->ahead = tree_list(w->x.g->arena);
    Tree *all = tree_list(w->x.g->arena);
    wgmma_reduced(w, all, sums_of(w));
    wgmma_factor_end(w, all);
    if (!contract_stores(w->x.f))
        return all;
    Tree *redo = redo_code(w);
    Tree *code = w->p->pack ? packed_code(w) : direct_code(w);

    wgmma_touch_reads(w, w->ahead);
    wgmma_fold(w, w->ahead, all);
    wgmma_make_room(w, all);
    tree_add(all, redo);
    tree_add(all, code);
    wgmma_pieces(w, all, sums_of(w));
    wgmma_row_sums(w, all);
    return all;
}
