#include "family/contract/contract_finish.h"

#include <string.h>

/* Text that brings operands into shared memory. */

/* ---- numbers and their variables --------------------------------------- */

/* Units of v[i] in the side's number. */
static int64_t below(const Side *s, int i)
{
    int64_t units = 1;

    while (++i < s->n)
        units *= s->v[i]->extent;
    return units;
}

static bool needs(const Load *l, const Var *v)
{
    for (int i = 0; i < l->n_need; i++)
        if (l->need[i] == v)
            return true;
    return false;
}

/* Of the rows: what is not kept anyway. */
static bool setup_wants(const Load *l, const Var *v)
{
    return l->plain && idx_uses(l->row_part, v) && !needs(l, v);
}

static bool loop_wants(const Load *l, const Var *v)
{
    if (!l->plain)
        return expr_uses(l->op->e, v);
    return idx_uses(l->k_part, v) || guard_uses(l->op->in, v);
}

typedef bool Wants(const Load *l, const Var *v);

/* Declares the wanted variables of a side from its number `text`:
 * `const int p = m / 9, q = m % 9;` */
static void put_digits(ContractBuild *x, Tree *b, const Side *s, const Load *l,
                       const char *text, Wants *wants)
{
    Arena *a = x->g->arena;
    const char *digits = "";

    cprint_name(&x->cp, s->linear, text);
    if (s->n == 1)
        cprint_name(&x->cp, s->v[0], text);
    for (int i = 0; i < s->n && s->n > 1; i++) {
        if (!wants(l, s->v[i]))
            continue;
        const char *id = cprint_var(&x->cp, s->v[i]);
        digits = arena_printf(
            a, "%s%s%s = %s", digits, *digits ? ", " : "", id,
            cprint_digit(a, text, below(s, i), i > 0 ? s->v[i]->extent : 0));
    }
    if (*digits)
        PUT(b, "const int @digits;\n", FILL("digits", digits));
}

static bool value_wants(const Load *l, const Var *v)
{
    return expr_uses(l->op->e, v);
}

void contract_digits(ContractBuild *x, Tree *b, const Side *s, const Load *l,
                     const char *text)
{
    put_digits(x, b, s, l, text, value_wants);
}

void contract_number(ContractBuild *x, Load *l)
{
    const Side *s = l->side;

    if (l->plain || s->n < 2)
        return;
    const Expr *e = expr_subst(x->g, l->op->e, s->sub, s->n);
    if (finish_divides(x->g, e, s->linear))
        return;
    Operand *op = arena_new_of(x->g->arena, Operand);
    *op = *l->op;
    op->e = e;
    l->op = op;
    l->n_need = expr_uses(e, s->linear);
    l->need[0] = s->linear;
}

/* ---- what a thread keeps of its rows ----------------------------------- */

const char *contract_offset_type(const Load *l)
{
    return cprint_wide(l->op->read->tensor, l->op->offset) ? "long long"
                                                           : "int";
}

/* Whether k is as it lies, all of it from row to row. */
static bool rows_of_k(const ContractBuild *x, const Load *l)
{
    const Side *k = &x->f->k;
    const Idx *row = l->row_part, *at = l->k_part;

    return idx_affine(row) && row->n == 1 && !row->k &&
           row->term[0].c == k->extent && idx_is_var(at) &&
           idx_is_var(at)->extent == k->extent;
}

const char *contract_row_offset(ContractBuild *x, const Load *l)
{
    const Tensor *t = l->op->read->tensor;

    if (cprint_wide(t, l->row_part) || !rows_of_k(x, l))
        return cprint_element(&x->cp, t, l->row_part);
    const Idx *row = idx_var(x->g->pool, l->row_part->term[0].atom->var);
    return arena_printf(x->g->arena, "K * %s", cprint_idx(&x->cp, row, 2));
}

static bool keeps_offset(const Load *l)
{
    return l->plain && !(idx_is_const(l->row_part) && l->row_part->k == 0);
}

/* Whether the thread's rows differ from pass to pass. */
static bool many_rows(const Load *l)
{
    return l->along_k && l->passes > 1 && !l->stride;
}

/* The name of v's part of a row; split variables have one name. */
static const char *kept(ContractBuild *x, const Load *l, const Var *v)
{
    const char *name = cprint_ident(x->g->arena, v->name);
    int same = 1;

    for (int i = 0; i < l->n_need && l->need[i] != v; i++)
        same += !strcmp(l->need[i]->name, v->name);
    if (same > 1)
        return arena_printf(x->g->arena, "%s_%s_%d", l->id, name, same);
    name = arena_printf(x->g->arena, "%s_%s", l->id, name);
    for (int i = 0; i < x->cp.n_arg; i++)
        if (!strcmp(x->cp.arg[i].name, name)) /* the user's tensor a_s */
            return arena_printf(x->g->arena, "%s_at", name);
    return name;
}

/* Rows beyond the end are not read: if all of them read the last one instead,
 * that line of the L2 would serve a request of each row and block, one by one.
 * Where the tile is no higher than the problem they read distinct rows. */
static bool skips_rows(const Load *l)
{
    return l->along_k && l->side->extent < l->rows;
}

static void declare_kept(ContractBuild *x, const Load *l, Tree *b)
{
    Arena *a = x->g->arena;
    const char *dim = many_rows(l) ? arena_printf(a, "[%s_PASSES]", l->ID) : "";
    const char *ints = "";

    if (keeps_offset(l) && !strcmp(contract_offset_type(l), "int"))
        ints = arena_printf(a, "%s_off%s", l->id, dim);
    else if (keeps_offset(l))
        PUT(b, "@type @id@_off@dim;\n", FILL("type", contract_offset_type(l)),
            FILL("id", l->id), FILL("dim", dim));
    for (int i = 0; i < l->n_need; i++)
        ints = arena_printf(a, "%s%s%s%s", ints, *ints ? ", " : "",
                            kept(x, l, l->need[i]), dim);
    if (*ints)
        PUT(b, "int @ints;\n", FILL("ints", ints));
    if (skips_rows(l))
        PUT(b, "bool @id@_in@dim;\n", FILL("id", l->id), FILL("dim", dim));
}

/* The body that fills what is kept, for the row `text`. */
static void fill_kept(ContractBuild *x, const Load *l, Tree *b)
{
    CScope scope = cprint_open(&x->cp);
    const Side *s = l->side;

    put_digits(x, b, s, l, s->name, setup_wants);
    for (int i = 0; i < s->n; i++) {
        if (!needs(l, s->v[i]))
            continue;
        const char *id = arena_printf(x->g->arena, "%s%s",
                                      kept(x, l, s->v[i]),
                                      many_rows(l) ? "[i]" : "");
        PUT(b, "@id = @digit;\n", FILL("id", id),
            FILL("digit", cprint_digit(x->g->arena, s->name, below(s, i),
                                       i > 0 ? s->v[i]->extent : 0)));
        cprint_name(&x->cp, s->v[i], id);
    }
    if (needs(l, s->linear))
        PUT(b, "@id = @number;\n",
            FILL("id", arena_printf(x->g->arena, "%s%s", kept(x, l, s->linear),
                                    many_rows(l) ? "[i]" : "")),
            FILL("number", s->name));
    if (keeps_offset(l))
        PUT(b, "@id@_off@pass = @offset;\n", FILL("id", l->id),
            FILL("pass", many_rows(l) ? "[i]" : ""),
            FILL("offset",
                 contract_row_offset(x, l)));
    cprint_close(&x->cp, scope);
}

/* The last row that a copy begins at: "M - 8". */
static const char *last_row(const ContractBuild *x, const Load *l)
{
    int vec = l->along_k ? 1 : l->vec;

    return l->side->extent % vec
               ? arena_printf(x->g->arena, "%s / %d * %d", l->side->size, vec,
                              vec)
               : arena_printf(x->g->arena, "%s - %d", l->side->size, vec);
}

/* Whether what is kept is one thing that a row is enough for: an offset that is
 * a multiple of it, or the row. */
static bool one_kept(const Load *l)
{
    const Side *s = l->side;

    if (skips_rows(l) || s->extent % l->rows || l->partial)
        return false;
    if (!keeps_offset(l))
        return l->n_need == 1 && (s->n == 1 || l->need[0] == s->linear);
    return !l->n_need && idx_affine(l->row_part) && l->row_part->n == 1 &&
           (idx_uses(l->row_part, s->linear) ||
            (s->n == 1 && idx_uses(l->row_part, s->v[0])));
}

/* `const int x_off = 768 * (m0 + x_row);` */
static void keep_one(ContractBuild *x, const Load *l, const char *row, Tree *b)
{
    CScope scope = cprint_open(&x->cp);
    const Side *s = l->side;
    bool offset = keeps_offset(l);
    const char *in = arena_printf(x->g->arena, "(%s)", row);
    const char *name = offset ? arena_printf(x->g->arena, "%s_off", l->id)
                              : kept(x, l, l->need[0]);
    const char *type = offset ? contract_offset_type(l) : "int";

    cprint_name(&x->cp, s->linear, in);
    if (s->n == 1)
        cprint_name(&x->cp, s->v[0], in);
    if (offset)
        row = contract_row_offset(x, l);
    PUT(b,
        many_rows(l) ? "@type @name[@ID@_PASSES];\n"
                       "#pragma unroll\n"
                       "for (int i = 0; i < @ID@_PASSES; ++i)\n"
                       "    @name[i] = @value;\n"
                     : "const @type @name = @value;\n",
        FILL("type", type), FILL("name", name), FILL("ID", l->ID),
        FILL("value", row));
    cprint_close(&x->cp, scope);
}

static void setup_rows(ContractBuild *x, const Load *l, Tree *b)
{
    Arena *a = x->g->arena;
    const Side *s = l->side;
    bool clamp = s->extent % l->rows || l->partial;
    Tree *body = tree_list(a);

    if (!keeps_offset(l) && !l->n_need && !skips_rows(l))
        return;
    const char *row = arena_printf(
        a, many_rows(l) ? "%s0 + %s_row + i * %s_STEP" : "%s0 + %s_row",
        s->name, l->id, l->ID);
    if (one_kept(l)) {
        keep_one(x, l, row, b);
        return;
    }
    declare_kept(x, l, b);
    PUT(body,
        skips_rows(l) ? "@id@_in@pass = @row < @size;\n"
                        "const int @name = min(@row, @size - 1);\n"
        : clamp && l->along_k
            ? "int @name = @row;\n"
              "if (@name >= @size)  // some row: no matter which\n"
              "    @name -= @size;\n"
        : clamp ? "const int @name = min(@row, @last);\n"
                : "const int @name = @row;\n",
        FILL("id", l->id), FILL("pass", many_rows(l) ? "[i]" : ""),
        FILL("row", row), FILL("size", s->size), FILL("name", s->name),
        FILL("last", last_row(x, l)));
    fill_kept(x, l, body);
    PUT(b,
        many_rows(l) ? "#pragma unroll\n"
                       "for (int i = 0; i < @ID@_PASSES; ++i) {\n"
                       "    @BODY\n"
                       "}\n"
                     : "{\n"
                       "    @BODY\n"
                       "}\n",
        FILL("ID", l->ID), FILL_TREE("BODY", body));
}

/* Whether a thread copies several k of each of its rows, one by one. */
static bool many_k(const Load *l)
{
    return l->copies > l->passes;
}

/* Whether its copies begin part by part. */
static bool in_parts(const ContractBuild *x, const Load *l)
{
    return x->p->spread && l->async;
}

/* Whether some parts have fewer copies than others, or none. */
static bool short_parts(const ContractBuild *x, const Load *l)
{
    return in_parts(x, l) && l->copies % x->p->spread;
}

static void constant_of(ContractBuild *x, const Load *l, const char *what,
                        int64_t value)
{
    kernel_constant(x->g, x->kernel,
                    arena_printf(x->g->arena, "%s_%s", l->ID, what), value,
                    NULL);
}

static void load_constants(ContractBuild *x, const Load *l)
{
    if (l->passes > 1) {
        constant_of(x, l, "PASSES", l->passes);
        constant_of(x, l, "STEP", l->step);
    }
    if (many_k(l))
        constant_of(x, l, "K_STEP", l->k_step);
    if (many_k(l))
        constant_of(x, l, "COPIES", l->copies);
}

static void put_setup(ContractBuild *x, const Load *l, Tree *b)
{
    const char *minor = !l->along_k ? l->size
                        : many_k(l) ? arena_printf(x->g->arena, "%s_K_STEP",
                                                   l->ID)
                                    : "BK";
    const char *a = l->along_k ? "k" : "row", *c = l->along_k ? "row" : "k";

    load_constants(x, l);
    PUT(b,
        l->vec > 1
            ? "// @id: a thread copies @vec elements along @along@@times\n"
              "const int @id@_@a = threadIdx.x % (@minor / @vec) * @vec, "
              "@id@_@c = threadIdx.x / (@minor / @vec);\n"
            : "// @id: a thread copies 1 element along @along@@times\n"
              "const int @id@_@a = threadIdx.x % @minor, "
              "@id@_@c = threadIdx.x / @minor;\n",
        FILL("id", l->id), FILL_INT("vec", l->vec),
        FILL("along", l->along_k ? "k" : l->side->name),
        FILL("times", l->copies > 1
                          ? arena_printf(x->g->arena, ", %d times", l->copies)
                          : ""),
        FILL("a", a), FILL("c", c), FILL("minor", minor));
    setup_rows(x, l, b);
}

/* ---- the copy ---------------------------------------------------------- */

/* Where the copy of pass i goes in the tile. */
static const char *slot_text(ContractBuild *x, const Load *l)
{
    const char *step = l->passes > 1
                           ? arena_printf(x->g->arena, " + i * %s_STEP", l->ID)
                           : "";
    const char *row = arena_printf(x->g->arena, "%s_row%s", l->id,
                                   l->along_k ? step : "");
    const char *k = arena_printf(x->g->arena, "%s_%s%s", l->id,
                                 many_k(l) && !l->stride ? "at" : "k",
                                 l->along_k ? "" : step);
    if (many_k(l) && l->stride)
        k = arena_printf(x->g->arena, "%s + %s_at", k, l->id);

    return arena_printf(x->g->arena, "smem.%s[slot][%s][%s]", l->tile,
                        l->k_major ? row : k, l->k_major ? k : row);
}

/* The kept row variables by their names in the loop. */
static void name_kept(ContractBuild *x, const Load *l)
{
    for (int i = 0; i < l->n_need; i++)
        cprint_name(&x->cp, l->need[i],
                    arena_printf(x->g->arena, "%s%s", kept(x, l, l->need[i]),
                                 many_rows(l) ? "[i]" : ""));
}

/* "x_off[i] + tap", the element's offset. */
static const char *offset_text(ContractBuild *x, const Load *l)
{
    Arena *a = x->g->arena;
    bool k = !(idx_is_const(l->k_part) && l->k_part->k == 0);
    const char *row = NULL;

    if (keeps_offset(l))
        row = arena_printf(a, "%s_off%s", l->id, many_rows(l) ? "[i]" : "");
    if (!k)
        return row ? row : "0";
    const char *of_k = cprint_element(&x->cp, l->op->read->tensor, l->k_part);
    return row ? arena_printf(a, "%s + %s", row, of_k) : of_k;
}

/* Condition of the copy, or "" if it always happens. */
static const char *inside(ContractBuild *x, const Load *l, bool guards)
{
    Arena *a = x->g->arena;
    const char *in = "";

    if (x->f->c.K % x->p->t.bk != 0)
        in = arena_printf(a, "%s < K", x->f->k.name);
    if (skips_rows(l))
        in = arena_printf(a, "%s%s%s_in%s", in, *in ? " && " : "", l->id,
                          many_rows(l) ? "[i]" : "");
    if (guards && guard_truth(l->op->in) != ALWAYS)
        in = arena_printf(a, "%s%s%s", in, *in ? " && " : "",
                          cprint_guard(&x->cp, l->op->in));
    return in;
}

/* Bytes of a copy: behind the last k of a row is padding, which stays there. */
static const char *copied_bytes(const ContractBuild *x, const Load *l)
{
    int size = l->bytes / l->vec;

    return l->along_k && x->f->c.K % l->vec
               ? arena_printf(x->g->arena, "min(K - %s, %d) * %d", x->f->k.name,
                              l->vec, size)
               : arena_printf(x->g->arena, "%d", l->bytes);
}

/* " + (i * (X_STEP * 768) + x_at)": a copy's distance from the first. */
static const char *distance(ContractBuild *x, const Load *l)
{
    Arena *a = x->g->arena;
    bool wide = !strcmp(contract_offset_type(l), "long long");
    const char *rows = "",
               *k = many_k(l) ? arena_printf(a, "%s_at", l->id) : "";

    if (l->passes > 1)
        rows = arena_printf(a, "i * (%s_STEP * %lld%s)%s", l->ID,
                            (long long)l->stride, wide ? "LL" : "",
                            *k ? " + " : "");
    return *rows || *k ? arena_printf(a, " + (%s%s)", rows, k) : "";
}

/* The offset of the copy at or before the end of k that is nearest; NULL if
 * copies are left out for other reasons. It takes one instruction for all
 * copies of a k, where an offset that is chosen takes one for each. */
static const char *nearest_text(ContractBuild *x, const Load *l)
{
    const char *k = cprint_element(&x->cp, l->op->read->tensor, l->k_part);

    if (!l->along_k || x->f->c.K % x->p->t.bk == 0 || x->f->c.K % l->vec ||
        skips_rows(l) || guard_truth(l->op->in) != ALWAYS || !keeps_offset(l) ||
        strcmp(k, x->f->k.name))
        return NULL;
    return arena_printf(x->g->arena, "%s_off%s + min(%s, K - %d)", l->id,
                        many_rows(l) ? "[i]" : "", k, l->vec);
}

static void put_async(ContractBuild *x, const Load *l, Tree *b)
{
    const char *in = inside(x, l, true), *at = offset_text(x, l);
    const char *nearest = nearest_text(x, l);

    if (nearest)
        at = nearest;
    PUT(b,
        nearest ? "dcc_cp_async@bytes@@shared(&@slot, &@tensor[@at], "
                  "@in ? @copied : 0);\n"
        : *in ? "const bool in = @in;\n"
              "dcc_cp_async@bytes@@shared(&@slot, &@tensor[in ? @at : 0], "
              "in ? @copied : 0);\n"
            : "dcc_cp_async@bytes@@shared(&@slot, &@tensor[@at]@distance);\n",
        FILL("in", in), FILL_INT("bytes", l->bytes),
        FILL("shared", l->bytes == 16 ? "_shared" : ""),
        FILL("slot", slot_text(x, l)),
        FILL("tensor", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("at", at), FILL("copied", copied_bytes(x, l)),
        FILL("distance", l->stride ? distance(x, l) : ""));
}

static const char *reg(ContractBuild *x, const Load *l)
{
    return arena_printf(x->g->arena, "%s_reg%s", l->id,
                        many_k(l)         ? "[copy]"
                        : l->passes > 1 ? "[i]"
                                        : "");
}

static const char *zero_of(Type t)
{
    return t == T_F16    ? "__float2half_rn(0.0f)"
           : t == T_BF16 ? "__float2bfloat16_rn(0.0f)"
           : t == T_F32  ? "0.0f"
                         : "0";
}

/* A vector through registers, where it is of f32. */
static void put_vector_fetch(ContractBuild *x, const Load *l, Tree *b)
{
    const char *in = inside(x, l, true);

    PUT(b,
        *in ? "#pragma unroll\n"
              "for (int v = 0; v < @vec; ++v)\n"
              "    @reg[v] = 0.0f;\n"
              "if (@in)\n"
              "    dcc_load<@vec>(@reg, &@tensor[@at]);\n"
            : "dcc_load<@vec>(@reg, &@tensor[@at]);\n",
        FILL_INT("vec", l->vec), FILL("reg", reg(x, l)), FILL("in", in),
        FILL("tensor", cprint_tensor(&x->cp, l->op->read->tensor)),
        FILL("at", offset_text(x, l)));
}

static void put_plain_fetch(ContractBuild *x, const Load *l, Tree *b)
{
    const char *in = inside(x, l, true);
    const char *element = arena_printf(
        b->arena, "%s[%s]", cprint_tensor(&x->cp, l->op->read->tensor),
        offset_text(x, l));

    if (l->converted)
        element = arena_printf(
            b->arena, "%s(%s)",
            l->op->read->tensor->type == T_F16 ? "__half2float"
                                               : "__bfloat162float",
            element);
    PUT(b, *in ? "@reg = @in ? @element : @zero;\n" : "@reg = @element;\n",
        FILL("reg", reg(x, l)), FILL("in", in), FILL("element", element),
        FILL("zero", zero_of(x->f->elem)));
}

/* An expression through a register: value, conversion, 0 in k's tail. */
static void put_fetch(ContractBuild *x, const Load *l, Tree *b)
{
    const Expr *e = l->op->e;
    const char *in = inside(x, l, false);
    Tree *body = tree_list(b->arena);
    const char *text = cprint_bind(body, &x->cp, e, l->id);

    PUT(b,
        !*in            ? "@BODY\n"
                          "@to = @value;\n"
        : !body->n_item ? "@to = @in ? @value : @zero;\n"
                        : "@to = @zero;\n"
                          "if (@in) {\n"
                          "    @BODY\n"
                          "    @to = @value;\n"
                          "}\n",
        FILL_TREE("BODY", body), FILL("to", reg(x, l)), FILL("in", in),
        FILL("value", cprint_to_storage(b->arena, x->f->elem, e->type, text)),
        FILL("zero", zero_of(x->f->elem)));
}

/* `const int k = ...` and its variables. */
static void put_k(ContractBuild *x, const Load *l, Tree *b)
{
    PUT(b,
        !l->along_k && l->passes > 1
            ? "const int @k = k_tile * BK + @id@_@at + i * @ID@_STEP;\n"
            : "const int @k = k_tile * BK + @id@_@at;\n",
        FILL("k", x->f->k.name), FILL("id", l->id),
        FILL("at", many_k(l) && !l->stride ? "at" : "k"), FILL("ID", l->ID));
    put_digits(x, b, &x->f->k, l, x->f->k.name, loop_wants);
}

/* The numbers of a copy: its pass and its k. */
static void put_copy(const Load *l, Tree *b)
{
    if (many_k(l) && l->passes > 1)
        PUT(b, "const int i = copy / (BK / @ID@_K_STEP);\n", FILL("ID", l->ID));
    if (many_k(l))
        PUT(b,
            "const int @id@_at = @from@copy % (BK / @ID@_K_STEP) * "
            "@ID@_K_STEP;\n",
            FILL("id", l->id), FILL("ID", l->ID),
            FILL("from",
                 l->stride ? "" : arena_printf(b->arena, "%s_k + ", l->id)));
}

/* The loop over the copies of a part, or of all, around `body`. Parts that are
   not equally long take every `of`th copy. */
static void put_copies(const ContractBuild *x, const Load *l, Tree *b,
                       const Tree *body)
{
    Tree *number = tree_list(b->arena);

    put_copy(l, number);
    PUT(number, "@BODY\n", FILL_TREE("BODY", body));
    PUT(b,
        !in_parts(x, l)     ? "#pragma unroll\n"
                              "for (int @copy = 0; @copy < @all; ++@copy) {\n"
                              "    @BODY\n"
                              "}\n"
        : short_parts(x, l) ? "#pragma unroll\n"
                              "for (int @copy = part; @copy < @all; "
                              "@copy += of) {\n"
                              "    @BODY\n"
                              "}\n"
                            : "#pragma unroll\n"
                              "for (int j = 0; j < @all / of; ++j) {\n"
                              "    const int @copy = part * (@all / of) + j;\n"
                              "    @BODY\n"
                              "}\n",
        FILL("copy", many_k(l) ? "copy" : "i"),
        FILL("all", arena_printf(b->arena, "%s_%s", l->ID,
                                 many_k(l) ? "COPIES" : "PASSES")),
        FILL_TREE("BODY", number));
}

/* The copies of a part, or of all; `head` is what they need to know of k. */
static void put_passes(const ContractBuild *x, const Load *l, Tree *b,
                       Tree *head, Tree *body)
{
    bool loop = l->copies > 1;
    /* k is one for all */
    bool outside = !loop || (l->along_k && (!many_k(l) || l->stride));

    if (in_parts(x, l) && !loop)
        PUT(b, "if (part > 0)  // it is one copy\n"
               "    return;\n");
    if (outside)
        tree_add(b, head);
    else
        PUT(head, "@BODY\n", FILL_TREE("BODY", body));
    if (loop)
        put_copies(x, l, b, outside ? body : head);
    else
        tree_add(b, body);
}

/* auto NAME = [&](PARAMS) { body }; */
static void put_routine(Tree *b, const Load *l, const char *verb,
                        const char *params, Tree *body)
{
    if (l->partial)
        body = QUOTE(b->arena,
                     "if (threadIdx.x < @threads) {\n"
                     "    @BODY\n"
                     "}\n",
                     FILL_INT("threads", l->chunks * l->major),
                     FILL_TREE("BODY", body));
    PUT(b,
        "auto @verb@_@id = [&](@params) {\n"
        "    @BODY\n"
        "};\n",
        FILL("verb", verb), FILL("id", l->id), FILL("params", params),
        FILL_TREE("BODY", body));
}

static void put_loop(ContractBuild *x, Load *l, Tree *b)
{
    Arena *a = b->arena;
    CScope scope = cprint_open(&x->cp);
    Tree *head = tree_list(a), *body = tree_list(a), *all = tree_list(a);

    put_k(x, l, head);
    name_kept(x, l);
    if (l->async)
        put_async(x, l, body);
    else if (l->plain && l->vec > 1)
        put_vector_fetch(x, l, body);
    else if (l->plain)
        put_plain_fetch(x, l, body);
    else
        put_fetch(x, l, body);
    put_passes(x, l, all, head, body);
    const char *params =
        arena_printf(a, "int k_tile%s%s", l->async ? ", int slot" : "",
                     !in_parts(x, l) ? ""
                     : l->copies > 1 ? ", int part = 0, int of = 1"
                                     : ", int part = 0, int = 1");
    put_routine(b, l, l->async ? "load" : "fetch", params, all);
    cprint_close(&x->cp, scope);
}

void contract_loader(ContractBuild *x, Load *l, Tree *setup, Tree *load)
{
    Arena *a = x->g->arena;
    Tree *head = tree_list(a), *all = tree_list(a);

    put_setup(x, l, setup);
    if (!l->async)
        PUT(setup, "@type @id@_reg@copies@@vec;\n",
            FILL("type", type_cname(x->f->elem)), FILL("id", l->id),
            FILL("vec", l->vec > 1 ? arena_printf(a, "[%d]", l->vec) : ""),
            FILL("copies",
                 l->copies == 1
                     ? ""
                     : arena_printf(a, "[%s_%s]", l->ID,
                                    many_k(l) ? "COPIES" : "PASSES")));
    put_loop(x, l, load);
    if (l->async)
        return;
    put_passes(x, l, all, head,
               QUOTE(a,
                     l->vec > 1 ? "dcc_store<@vec>(&@slot, @reg);\n"
                                : "@slot = @reg;\n",
                     FILL("slot", slot_text(x, l)), FILL("reg", reg(x, l)),
                     FILL_INT("vec", l->vec)));
    put_routine(load, l, "store", "int slot", all);
}
