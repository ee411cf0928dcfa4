/* reduce_cols.c - loops of family reduce over a row's columns. */
#include "family/reduce/reduce.h"

#include <limits.h>

/* The number of columns as an enumerator: the only variable's extent, or COLS.
 */
bool reduce_beside(const RowReduce *r)
{
    return r->mode == MODE_BLOCK && r->share > 1;
}

const char *reduce_cols_size(RowReduce *r)
{
    const Var *only = NULL;
    int loops = 0;

    for (int i = 0; i < r->group->n_cols; i++)
        if (r->cols[i]->extent > 1) {
            loops++;
            only = r->cols[i];
        }
    if (loops == 1)
        return kernel_extent(r->graph, r->kernel, only);
    return kernel_constant(r->graph, r->kernel, "COLS", r->n_cols, NULL);
}

/* Names the column variables inside a loop; returns the linear column. */
const char *reduce_name_cols(RowReduce *r, Tree *in)
{
    Arena *a = r->graph->arena;
    Body *b = &r->body;
    const Var *only = NULL;
    int loops = 0;

    if (r->flat && r->col)
        return r->col;

    for (int i = 0; i < r->group->n_cols; i++) {
        if (r->cols[i]->extent == 1) {
            cprint_name(&b->print, r->cols[i], "0");
            continue;
        }
        loops++;
        only = r->cols[i];
    }
    const char *id = loops == 1 ? cprint_var(&b->print, only)
                                : cprint_fresh(&b->print, "col");
    if (loops > 1)
        decompose(b, in, r->cols, r->group->n_cols, id, 1);
    if (r->mode != MODE_COLUMNS && r->vec > 1)
        for (int i = b->print.n_name - 1; i >= 0; i--)
            if (b->print.name[i].var == r->along) {
                b->base = b->print.name[i].text;
                break;
            }
    if (r->shift) {
        b->lane_if = arena_printf(a, "(unsigned)(%s + %s) < %s", b->base,
                                  b->lane, reduce_cols_size(r));
        b->within = reduce_cols_size(r);
    } else if (b->base && r->mode != MODE_COLUMNS && r->n_cols % r->vec) {
        const char *in = arena_printf(a, "%s + %s < %s", b->base, b->lane,
                                      reduce_cols_size(r));
        /* written out, no turn but the last one asks */
        b->lane_if = r->keep && !r->flat
                         ? arena_printf(a, "%s < CHUNKS - 1 || %s", r->chunk,
                                        in)
                         : in;
    }
    return id;
}

/* What counts up to n, a block's turn beyond it included; and a cast to it. */
const char *reduce_count_type(int64_t n)
{
    return n > INT_MAX / 2 ? "long long" : "int";
}

const char *reduce_widened(int64_t n)
{
    return n > INT_MAX / 2 ? "(long long)" : "";
}

/* Whether the last turn has threads without columns. */
bool reduce_has_tail(const RowReduce *r)
{
    bool columns = r->mode == MODE_COLUMNS;
    int64_t turn = (int64_t)r->per_row * (columns ? 1 : r->vec);

    return r->n_cols % turn != 0;
}

/* The first column of turn `chunk`; of the only one if that is NULL. */
void reduce_put_column(RowReduce *r, Tree *out, const char *col,
                       const char *chunk)
{
    const char *per_turn = r->mode == MODE_COLUMNS ? "TY"
                           : r->mode == MODE_LANES ? "LANES"
                           : reduce_beside(r)      ? "THREADS / BESIDE"
                                                   : "THREADS";
    const char *me = r->mode == MODE_COLUMNS ? r->ty : r->thread;
    bool vector = r->mode != MODE_COLUMNS && r->vec > 1;

    const char *at = !chunk
                         ? me
                         : arena_printf(r->graph->arena,
                                        vector ? "(%s * %s + %s)"
                                               : "%s * %s + %s",
                                        chunk, per_turn, me);
    PUT(out, "const @type @col = @at@@vec;\n",
        FILL("type", reduce_count_type(r->n_cols)), FILL("col", col),
        FILL("at", at),
        FILL("vec", vector ? " * VEC" : ""));
}

/* What is done for a column, of which the last turn may have none. */
static void put_within(RowReduce *r, Tree *out, Tree *in, const char *col)
{
    if (reduce_has_tail(r))
        PUT(out,
            "if (@col < @size) {\n"
            "    @BODY\n"
            "}\n",
            FILL("col", col), FILL("size", reduce_cols_size(r)),
            FILL_TREE("BODY", in));
    else
        tree_add(out, in);
}

/* The columns of this thread, all CHUNKS turns written out. */
static void put_chunk_loop(RowReduce *r, Tree *out, Tree *in, const char *col)
{
    Tree *body = tree_list(r->graph->arena);

    if (r->flat) { /* the column is named once, in the setup */
        put_within(r, out, in, col);
        return;
    }
    if (reduce_has_tail(r) || tree_mentions(in, col))
        reduce_put_column(r, body, col, r->chunk);
    put_within(r, body, in, col);
    PUT(out,
        "#pragma unroll\n"
        "for (int @chunk = 0; @chunk < CHUNKS; ++@chunk) {\n"
        "    @BODY\n"
        "}\n",
        FILL("chunk", r->chunk), FILL_TREE("BODY", body));
}

/* The columns of this thread, as an ordinary loop. */
static void put_plain_loop(RowReduce *r, Tree *out, Tree *in, const char *col)
{
    Arena *a = r->graph->arena;
    const char *start, *step, *end = reduce_cols_size(r);

    if (r->mode == MODE_COLUMNS) {
        start = r->ty;
        step = "TY";
    } else {
        start = r->vec > 1 ? arena_printf(a, "%s * VEC", r->thread) : r->thread;
        step = r->mode == MODE_LANES ? "LANES"
               : reduce_beside(r)    ? "THREADS / BESIDE"
                                     : "THREADS";
        if (r->vec > 1)
            step = arena_printf(a, "%s * VEC", step);
        if (r->shift)
            start = arena_printf(a, "(int)%s - %s", start, r->shift_id);
    }
    if (r->mode == MODE_SPLIT || r->parts > 1) {
        start = arena_printf(a, "first + %s", start);
        end = "last";
    }
    if (r->first) {
        start = arena_printf(a, "%s + %s", r->first, start);
        end = r->last;
    }
    PUT(out,
        "#pragma unroll 4\n"
        "for (@type @col = @start; @col < @end; @col += @step) {\n"
        "    @BODY\n"
        "}\n",
        FILL("type", reduce_count_type(r->n_cols)), FILL("col", col),
        FILL("start", start), FILL("end", end), FILL("step", step),
        FILL_TREE("BODY", in));
}

/* Whether a loop has whole vectors, in several turns, and at an end of the row
 * one that lies partly beyond it. */
bool reduce_leaves_last(const RowReduce *r)
{
    enum { TURNS = 4 };

    return r->chunks >= TURNS && !r->keep && !r->first && r->parts == 1 &&
           (r->mode == MODE_LANES || r->mode == MODE_BLOCK) &&
           !reduce_beside(r) && r->vec > 1 && (r->shift || r->n_cols % r->vec);
}

/* Of a row that begins inside a vector, too. */
static void put_ends(RowReduce *r, Tree *out, Tree *last, const char *col)
{
    const char *end = cprint_fresh(&r->body.print, "end");

    PUT(out,
        "for (int @end = 0; @end < 2; ++@end) {  // partly beyond the row\n"
        "    const int @col =\n"
        "        (@end ? (@size + @shift) / VEC * VEC : 0) - @shift;\n"
        "    const bool mine = (@col + @shift) / VEC %\n"
        "        THREADS == (int)threadIdx.x;\n"
        "    if (mine && (@col < 0 || @col + VEC > @size)) {\n"
        "        @LAST\n"
        "    }\n"
        "}\n",
        FILL("end", end), FILL("col", col), FILL("size", reduce_cols_size(r)),
        FILL("shift", r->shift_id), FILL_TREE("LAST", last));
}

void reduce_put_whole_loop(RowReduce *r, Tree *out, Tree *in, Tree *last,
                           const char *col)
{
    const char *threads = r->mode == MODE_LANES ? "LANES" : "THREADS";
    Arena *a = r->graph->arena;
    const char *start = arena_printf(a, "%s * VEC", r->thread);

    if (r->shift)
        start = arena_printf(a, "(int)%s - %s + (%s < %s ? THREADS * VEC : 0)",
                             start, r->shift_id, start, r->shift_id);
    PUT(out,
        "#pragma unroll 4\n"
        "for (@type @col = @start; @col + VEC <= @end;\n"
        "     @col += @threads * VEC) {\n"
        "    @BODY\n"
        "}\n",
        FILL("type", reduce_count_type(r->n_cols)), FILL("col", col),
        FILL("start", start), FILL("end", reduce_cols_size(r)),
        FILL("threads", threads), FILL_TREE("BODY", in));
    if (r->shift) {
        put_ends(r, out, last, col);
        return;
    }
    PUT(out,
        "if (@me == @end / VEC % @threads) {  // partly beyond the row\n"
        "    const @type @col = @end / VEC * VEC;\n"
        "    @LAST\n"
        "}\n",
        FILL("type", reduce_count_type(r->n_cols)), FILL("col", col),
        FILL("me", r->thread), FILL("end", reduce_cols_size(r)),
        FILL("threads", threads), FILL_TREE("LAST", last));
}

void reduce_put_loop(RowReduce *r, Tree *out, Tree *in, const char *col)
{
    if (r->keep)
        put_chunk_loop(r, out, in, col);
    else
        put_plain_loop(r, out, in, col);
}
