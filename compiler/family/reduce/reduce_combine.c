/* reduce_combine.c - threads' partial results become a row's. */
#include "family/reduce/reduce.h"

#include <string.h>

static const char *partial_type(RowReduce *r, const Step *s)
{
    return s->op == R_ARGMAX ? arena_printf(r->graph->arena, "dcc_arg<%s>",
                                            cprint_arg_ctype(s->value->type))
                             : cprint_ctype(s->type);
}

static void combine_lanes(RowReduce *r, Tree *out, const Step *s,
                          const char *acc)
{
    PUT(out, "@acc = dcc_warp_@reduction@@lanes(@acc);\n", FILL("acc", acc),
        FILL("reduction", reduce_name(s->op)),
        FILL("lanes", r->share < 32 ? "<LANES>" : ""));
}

static void combine_block(RowReduce *r, Tree *out, const Step *s,
                          const char *acc)
{
    const char *type = partial_type(r, s);
    const char *field = s->op == R_ARGMAX        ? "scratch_arg"
                        : type_is_float(s->type) ? "scratch"
                                                 : "scratch_int";
    bool beside = r->mode == MODE_BLOCK && r->share > 1;
    const char *decl = arena_printf(r->graph->arena, "%s %s[WARPS%s]", type,
                                    field, beside ? " * BESIDE" : "");
    bool known = false;

    for (int i = 0; i < r->kernel->n_smem; i++)
        known |= !strcmp(r->kernel->smem[i].decl, decl);
    if (!known) {
        kernel_smem(r->graph, r->kernel, 0, decl,
                    beside ? "a warp's, of each row"
                           : "one partial result a warp");
        r->kernel->smem_bytes += (size_t)r->threads / 32 *
                                 (size_t)(beside ? r->share : 1) *
                                 (s->op == R_ARGMAX ? 8 : 4);
    }
    PUT(out, "@acc = dcc_@over@_@reduction<WARPS@beside>(@acc, smem.@field);\n",
        FILL("acc", acc), FILL("over", beside ? "rows" : "block"),
        FILL("reduction", reduce_name(s->op)),
        FILL("beside", beside ? ", BESIDE" : ""), FILL("field", field));
}

/* Partial results of TY threads meet in shared memory; a thread a row adds
 * them up in the order of ty, and all take the result. */
static void combine_columns(RowReduce *r, Tree *out, int i, const char *acc,
                            bool again)
{
    const Step *s = &r->group->step[i];
    Arena *a = r->graph->arena;
    bool vector = r->vec > 1;
    const char *name = arena_strndup(a, acc, strcspn(acc, "["));

    if (r->per_row == 1)
        return;
    if (!again) {
        kernel_smem(r->graph, r->kernel, 0,
                    arena_printf(a, "%s %s[TY][%s]", partial_type(r, s), name,
                                 vector ? "VEC * TX" : "TX"),
                    "of each thread");
        r->kernel->smem_bytes +=
            (size_t)r->threads * (size_t)r->vec * (s->op == R_ARGMAX ? 8 : 4);
    }
    PUT(out,
        vector ? "dcc_shared_rows<dcc_op_@op>(@name, smem.@name, @tx, @ty);\n"
               : "@name = dcc_shared_rows<dcc_op_@op>(@name, smem.@name, @tx, "
                 "@ty);\n",
        FILL("op", reduce_name(s->op)), FILL("name", name),
        FILL("tx", r->thread), FILL("ty", r->ty));
}

void reduce_combine(RowReduce *r, Tree *out, int i)
{
    const Step *s = &r->group->step[i];
    const char *acc = r->body.acc[i];

    if (r->mode == MODE_LANES)
        combine_lanes(r, out, s, acc);
    else if (r->mode == MODE_COLUMNS)
        combine_columns(r, out, i, acc, false);
    else
        combine_block(r, out, s, acc);
}

/* ---- split: the last block of a row finishes it ------------------------ */

/* The last of several blocks to arrive finishes for all: there are n counters
 * of them. */
static void count_arrivals(RowReduce *r, int n)
{
    Kernel *k = r->kernel;

    kernel_smem(r->graph, k, 0, "bool last", "this block arrived last");
    k->smem_bytes += 4;
    k->coop_counters = true;
    k->n_counters = n;
}

/* The others leave; it makes `sum` of all, as the phase `what`. */
static void put_last(RowReduce *r, Tree *out, const char *row, const Tree *sum,
                     const char *what)
{
    PUT(out,
        "__syncthreads();\n"
        "if (!smem.last)\n"
        "    return;\n"
        "if (threadIdx.x == 0)\n"
        "    counters[@row] = 0;\n"
        "__threadfence();\n"
        "@SUM\n",
        FILL("row", row), FILL_TREE("SUM", sum));
    kernel_phase(r->graph, r->kernel, what, out);
}

/* A place in the workspace for n partial results of s; its name. `row`: where
 * the row's begin. */
static const char *put_place(RowReduce *r, const Step *s, size_t n,
                             const char *row, Tree *where)
{
    Kernel *k = r->kernel;
    Arena *a = r->graph->arena;
    const char *part = cprint_fresh(
        &r->body.print, arena_printf(a, "part_%s", reduce_name(s->op)));

    PUT(where, "@type *@part = reinterpret_cast<@type *>(workspace@at)@row;\n",
        FILL("type", partial_type(r, s)), FILL("part", part),
        FILL("at", k->workspace ? arena_printf(a, " + %zu", k->workspace) : ""),
        FILL("row", row));
    k->workspace += (n * (s->op == R_ARGMAX ? 8 : 4) + 255) / 256 * 256;
    return part;
}

/* The partial results of reduction i: where they are, what the block leaves,
 * and what the last one makes of all. */
static void put_partial(RowReduce *r, int i, const char *row, Tree *where,
                        Tree *save, Tree *sum)
{
    const Step *s = &r->group->step[i];
    bool arg = s->op == R_ARGMAX;
    const char *acc = r->body.acc[i];
    const char *part = put_place(
        r, s, (size_t)r->n_rows * (size_t)r->share,
        r->n_rows > 1 ? arena_printf(r->graph->arena, " + %s * SPLITS", row)
                      : "",
        where);

    PUT(save, "@part[blockIdx.x] = @acc;\n", FILL("part", part),
        FILL("acc", acc));
    PUT(sum,
        arg ? "@acc = {@none, DCC_NO_INDEX};\n"
              "if (threadIdx.x < SPLITS)\n"
              "    @acc = {__ldcg(&@part[threadIdx.x].value), "
              "__ldcg(&@part[threadIdx.x].index)};\n"
            : "@acc = @none;\n"
              "if (threadIdx.x < SPLITS)\n"
              "    @acc = __ldcg(&@part[threadIdx.x]);\n",
        FILL("acc", acc), FILL("part", part),
        FILL("none", cprint_identity(s->op, arg ? s->value->type : s->type)));
    combine_block(r, sum, s, acc);
}

void reduce_partials(RowReduce *r)
{
    Arena *a = r->graph->arena;
    const char *row = r->n_rows > 1 ? "blockIdx.y" : "0";
    Tree *out = tree_list(a), *save = tree_list(a), *sum = tree_list(a);

    count_arrivals(r, (int)r->n_rows);
    for (int i = 0; i < r->group->n_step; i++)
        if (r->group->step[i].op != R_NONE)
            put_partial(r, i, row, out, save, sum);
    PUT(out,
        "if (threadIdx.x == 0) {\n"
        "    @SAVE\n"
        "    __threadfence();\n"
        "    smem.last = atomicAdd(&counters[@row], 1u) == SPLITS - 1;\n"
        "}\n",
        FILL("row", row), FILL_TREE("SAVE", save));
    kernel_assert(r->graph, r->kernel, "SPLITS <= THREADS",
                  "a thread takes one partial result");
    put_last(r, out, row, sum,
             "the last block of the row to arrive combines all of them");
}

/* ---- columns in parts --------------------------------------------------- */

/* The partial results of reduction i, of all rows, a part after another. */
static void put_strip(RowReduce *r, int i, const char *first, Tree *where,
                      Tree *save, Tree *sum)
{
    Arena *a = r->graph->arena;
    const Step *s = &r->group->step[i];
    const char *acc = r->body.acc[i];
    const char *part = put_place(r, s,
                                 (size_t)r->parts * (size_t)r->kernel->grid[1] *
                                     (size_t)r->share * (size_t)r->vec,
                                 "", where);
    const char *name = arena_strndup(a, acc, strcspn(acc, "["));

    PUT(save,
        r->vec > 1 ? "dcc_leave_part(@part + blockIdx.x * STRIPS + @first, "
                     "@name);\n"
                   : "@part[blockIdx.x * STRIPS + @first] = @name;\n",
        FILL("part", part), FILL("first", first), FILL("name", name));
    PUT(sum,
        r->vec > 1 ? "dcc_take_parts<dcc_op_@op, PARTS, TY>(@name, @part + "
                     "@first, STRIPS, @ty, @none);\n"
                   : "@name = dcc_take_parts<dcc_op_@op, PARTS, TY>(@part + "
                     "@first, STRIPS, @ty, @none);\n",
        FILL("op", reduce_name(s->op)), FILL("name", name), FILL("part", part),
        FILL("first", first), FILL("ty", r->ty),
        FILL("none", cprint_identity(s->op, s->type)));
    combine_columns(r, sum, i, acc, true);
}

void reduce_part_columns(RowReduce *r)
{
    Kernel *k = r->kernel;
    Arena *a = r->graph->arena;
    const char *first = cprint_fresh(&r->body.print, "strip");
    Tree *out = tree_list(a), *save = tree_list(a), *sum = tree_list(a);

    kernel_constant(r->graph, k, "STRIPS",
                    (int64_t)k->grid[1] * r->share * r->vec,
                    "rows, whole blocks of them");
    count_arrivals(r, k->grid[1]);
    PUT(out, "const int @first = (blockIdx.y * TX + @tx)@vec;\n",
        FILL("first", first), FILL("tx", r->thread),
        FILL("vec", r->vec > 1 ? " * VEC" : ""));
    for (int i = 0; i < r->group->n_step; i++)
        if (r->group->step[i].op != R_NONE)
            put_strip(r, i, first, out, save, sum);
    PUT(out,
        "if (@ty == 0) {\n"
        "    @SAVE\n"
        "}\n"
        "__threadfence();\n"
        "__syncthreads();\n"
        "if (threadIdx.x == 0)\n"
        "    smem.last = atomicAdd(&counters[blockIdx.y], 1u) == PARTS - 1;\n",
        FILL("ty", r->ty), FILL_TREE("SAVE", save));
    put_last(r, out, "blockIdx.y", sum,
             "the last block of the rows to arrive combines all parts");
}
