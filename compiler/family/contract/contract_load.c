#include "emit/cprint_old.h"
#include "family/contract/contract.h"

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
static void put_digits(Contract *x, Buf *b, const Side *s, const Load *l,
                       const char *text, Wants *wants)
{
    const char *sep = "const int ";

    cprint_name(&x->cp, s->linear, text);
    if (s->n == 1)
        cprint_name(&x->cp, s->v[0], text);
    for (int i = 0; i < s->n && s->n > 1; i++) {
        if (!wants(l, s->v[i]))
            continue;
        buf_printf(b, "%s%s = %s", sep, cprint_var(&x->cp, s->v[i]), text);
        cprint_digit(b, below(s, i), i > 0 ? s->v[i]->extent : 0);
        sep = ", ";
    }
    if (*sep == ',')
        buf_puts(b, ";\n");
}

static bool value_wants(const Load *l, const Var *v)
{
    return expr_uses(l->op->e, v);
}

void contract_digits(Contract *x, Buf *b, const Side *s, const Load *l,
                     const char *text)
{
    put_digits(x, b, s, l, text, value_wants);
}

/* ---- what a thread keeps of its rows ----------------------------------- */

const char *contract_offset_type(const Load *l)
{
    return cprint_wide(l->op->read->tensor, l->op->offset) ? "long long"
                                                           : "int";
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
static const char *kept(Contract *x, const Load *l, const Var *v)
{
    const char *name = cprint_ident(x->g->arena, v->name);
    int same = 1;

    for (int i = 0; i < l->n_need && l->need[i] != v; i++)
        same += !strcmp(l->need[i]->name, v->name);
    return same == 1 ? arena_printf(x->g->arena, "%s_%s", l->id, name)
                     : arena_printf(x->g->arena, "%s_%s_%d", l->id, name,
                                    same);
}

/* Rows beyond the end are not read: if all of them read the last one instead,
 * that line of the L2 would serve a request of each row and block, one by one.
 * Where the tile is no higher than the problem they read distinct rows. */
static bool skips_rows(const Load *l)
{
    return l->along_k && l->side->extent < l->rows;
}

static void declare_kept(Contract *x, const Load *l, Buf *b)
{
    const char *dim = many_rows(l)
                          ? arena_printf(x->g->arena, "[%s_PASSES]", l->ID)
                          : "";

    bool with_offset = keeps_offset(l) && !strcmp(contract_offset_type(l),
                                                  "int");
    if (keeps_offset(l))
        buf_printf(b, "%s %s_off%s%s", contract_offset_type(l), l->id, dim,
                   with_offset && l->n_need ? "" : ";\n");
    for (int i = 0; i < l->n_need; i++)
        buf_printf(b, "%s%s%s", i || with_offset ? ", " : "int ",
                   kept(x, l, l->need[i]), dim);
    buf_puts(b, l->n_need ? ";\n" : "");
    if (skips_rows(l))
        buf_printf(b, "bool %s_in%s;\n", l->id, dim);
}

/* The body that fills what is kept, for the row `text`. */
static void fill_kept(Contract *x, const Load *l, Buf *b)
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
        buf_printf(b, "%s = %s", id, s->name);
        cprint_digit(b, below(s, i), i > 0 ? s->v[i]->extent : 0);
        buf_puts(b, ";\n");
        cprint_name(&x->cp, s->v[i], id);
    }
    if (keeps_offset(l)) {
        buf_printf(b, "%s_off%s = ", l->id, many_rows(l) ? "[i]" : "");
        cprint_element(b, &x->cp, l->op->read->tensor, l->row_part);
        buf_puts(b, ";\n");
    }
    cprint_close(&x->cp, scope);
}

/* The last row that a copy begins at: "M - 8". */
static const char *last_row(const Contract *x, const Load *l)
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
        return l->n_need == 1 && s->n == 1;
    return !l->n_need && idx_affine(l->row_part) && l->row_part->n == 1 &&
           (idx_uses(l->row_part, s->linear) ||
            (s->n == 1 && idx_uses(l->row_part, s->v[0])));
}

/* `const int x_off = 768 * (m0 + x_row);` */
static void keep_one(Contract *x, const Load *l, const char *row, Buf *b)
{
    CScope scope = cprint_open(&x->cp);
    const Side *s = l->side;
    bool offset = keeps_offset(l);
    const char *in = arena_printf(x->g->arena, "(%s)", row);
    const char *name = offset ? arena_printf(x->g->arena, "%s_off", l->id)
                              : kept(x, l, l->need[0]);
    const char *type = offset ? contract_offset_type(l) : "int";
    Buf value = {0};

    cprint_name(&x->cp, s->linear, in);
    if (s->n == 1)
        cprint_name(&x->cp, s->v[0], in);
    if (offset)
        cprint_element(&value, &x->cp, l->op->read->tensor, l->row_part);
    else
        buf_puts(&value, row);
    if (many_rows(l))
        buf_printf(b, "%s %s[%s_PASSES];\n#pragma unroll\n"
                      "for (int i = 0; i < %s_PASSES; ++i)\n"
                      "    %s[i] = %s;\n", type, name, l->ID, l->ID, name,
                   buf_text(&value));
    else
        buf_printf(b, "const %s %s = %s;\n", type, name, buf_text(&value));
    buf_free(&value);
    cprint_close(&x->cp, scope);
}

static void setup_rows(Contract *x, const Load *l, Buf *b)
{
    const Side *s = l->side;
    bool clamp = s->extent % l->rows || l->partial;
    Buf row = {0}, body = {0};

    if (!keeps_offset(l) && !l->n_need && !skips_rows(l))
        return;
    buf_printf(&row, "%s0 + %s_row", s->name, l->id);
    if (many_rows(l))
        buf_printf(&row, " + i * %s_STEP", l->ID);
    if (one_kept(l)) {
        keep_one(x, l, buf_text(&row), b);
        buf_free(&row);
        return;
    }
    declare_kept(x, l, b);
    if (skips_rows(l)) {
        buf_printf(&body, "%s_in%s = %s < %s;\n", l->id,
                   many_rows(l) ? "[i]" : "", buf_text(&row), s->size);
        buf_printf(&body, "const int %s = min(%s, %s - 1);\n", s->name,
                   buf_text(&row), s->size);
    } else if (clamp && l->along_k) {
        buf_printf(&body, "int %s = %s;\n"
                          "if (%s >= %s)  // some row: no matter which\n"
                          "    %s -= %s;\n", s->name, buf_text(&row), s->name,
                   s->size, s->name, s->size);
    } else if (clamp)
        buf_printf(&body, "const int %s = min(%s, %s);\n", s->name,
                   buf_text(&row), last_row(x, l));
    else
        buf_printf(&body, "const int %s = %s;\n", s->name, buf_text(&row));
    fill_kept(x, l, &body);
    if (many_rows(l))
        buf_printf(b, "#pragma unroll\n"
                      "for (int i = 0; i < %s_PASSES; ++i) {\n", l->ID);
    else
        buf_puts(b, "{\n");
    cprint_lines(b, buf_text(&body), 4);
    buf_puts(b, "}\n");
    buf_free(&row);
    buf_free(&body);
}

/* Whether a thread copies several k of each of its rows, one by one. */
static bool many_k(const Load *l)
{
    return l->copies > l->passes;
}

/* Whether its copies begin part by part. */
static bool in_parts(const Contract *x, const Load *l)
{
    return x->spread && l->async;
}

/* Whether some parts have fewer copies than others, or none. */
static bool short_parts(const Contract *x, const Load *l)
{
    return in_parts(x, l) && l->copies % x->spread;
}

static void constant_of(Contract *x, const Load *l, const char *what,
                        int64_t value)
{
    kernel_constant(x->g, x->kernel,
                    arena_printf(x->g->arena, "%s_%s", l->ID, what), value,
                    NULL);
}

static void load_constants(Contract *x, const Load *l)
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

static void put_setup(Contract *x, const Load *l, Buf *b)
{
    const char *minor = !l->along_k ? l->size
                        : many_k(l) ? arena_printf(x->g->arena, "%s_K_STEP",
                                                   l->ID)
                                    : "BK";
    const char *a = l->along_k ? "k" : "row", *c = l->along_k ? "row" : "k";

    load_constants(x, l);
    buf_printf(b, "// %s: a thread copies %d element%s along %s", l->id,
               l->vec, l->vec > 1 ? "s" : "",
               l->along_k ? "k" : l->side->name);
    if (l->copies > 1)
        buf_printf(b, ", %d times", l->copies);
    if (l->vec > 1) {
        buf_printf(b, "\nconst int %s_%s = threadIdx.x %% (%s / %d) * %d;\n",
                   l->id, a, minor, l->vec, l->vec);
        buf_printf(b, "const int %s_%s = threadIdx.x / (%s / %d);\n", l->id,
                   c, minor, l->vec);
    } else {
        buf_printf(b, "\nconst int %s_%s = threadIdx.x %% %s;\n", l->id, a,
                   minor);
        buf_printf(b, "const int %s_%s = threadIdx.x / %s;\n", l->id, c,
                   minor);
    }
    setup_rows(x, l, b);
}

/* ---- the copy ---------------------------------------------------------- */

/* Where the copy of pass i goes in the tile. */
static const char *slot_text(Contract *x, const Load *l)
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
static void name_kept(Contract *x, const Load *l)
{
    for (int i = 0; i < l->n_need; i++)
        cprint_name(&x->cp, l->need[i],
                    arena_printf(x->g->arena, "%s%s", kept(x, l, l->need[i]),
                                 many_rows(l) ? "[i]" : ""));
}

/* "x_off[i] + tap", the element's offset. */
static void put_offset(Contract *x, const Load *l, Buf *b)
{
    bool k = !(idx_is_const(l->k_part) && l->k_part->k == 0);

    if (keeps_offset(l))
        buf_printf(b, "%s_off%s", l->id, many_rows(l) ? "[i]" : "");
    if (keeps_offset(l) && k)
        buf_puts(b, " + ");
    if (k)
        cprint_element(b, &x->cp, l->op->read->tensor, l->k_part);
    if (!k && !keeps_offset(l))
        buf_puts(b, "0");
}

/* Condition of the copy, or "" if it always happens. */
static const char *inside(Contract *x, const Load *l, bool guards)
{
    Buf b = {0};
    bool tail = x->c.K % x->t.bk != 0;

    if (tail)
        buf_printf(&b, "%s < K", x->k.name);
    if (skips_rows(l))
        buf_printf(&b, "%s%s_in%s", tail ? " && " : "", l->id,
                   many_rows(l) ? "[i]" : "");
    tail |= skips_rows(l);
    if (guards && guard_truth(l->op->in) != ALWAYS) {
        buf_puts(&b, tail ? " && " : "");
        cprint_guard(&b, &x->cp, l->op->in);
    }
    return buf_take(&b, x->g->arena);
}

/* Bytes of a copy: behind the last k of a row is padding, which stays there. */
static const char *copied_bytes(const Contract *x, const Load *l)
{
    int size = l->bytes / l->vec;

    return l->along_k && x->c.K % l->vec
               ? arena_printf(x->g->arena, "min(K - %s, %d) * %d", x->k.name,
                              l->vec, size)
               : arena_printf(x->g->arena, "%d", l->bytes);
}

/* " + (i * (X_STEP * 768) + x_at)": a copy's distance from the first. */
static const char *distance(Contract *x, const Load *l)
{
    bool wide = !strcmp(contract_offset_type(l), "long long");
    const char *rows = "", *k = many_k(l) ? arena_printf(x->g->arena, "%s_at",
                                                         l->id)
                                          : "";

    if (l->passes > 1)
        rows = arena_printf(x->g->arena, "i * (%s_STEP * %lld%s)%s", l->ID,
                            (long long)l->stride, wide ? "LL" : "",
                            *k ? " + " : "");
    return *rows || *k ? arena_printf(x->g->arena, " +\n    (%s%s)", rows, k)
                       : "";
}

static void put_async(Contract *x, const Load *l, Buf *b)
{
    const char *in = inside(x, l, true);
    Buf at = {0};

    put_offset(x, l, &at);
    if (*in)
        buf_printf(b, "const bool in = %s;\n", in);
    buf_printf(b, "dcc_cp_async%d%s(&%s,\n    &%s[", l->bytes,
               l->bytes == 16 ? "_shared" : "", slot_text(x, l),
               cprint_tensor(&x->cp, l->op->read->tensor));
    if (*in)
        buf_printf(b, "in ? %s : 0],%sin ? %s : 0);\n", buf_text(&at),
                   at.len > 36 ? "\n    " : " ", copied_bytes(x, l));
    else
        buf_printf(b, "%s]%s);\n", buf_text(&at),
                   l->stride ? distance(x, l) : "");
    buf_free(&at);
}

static const char *reg(Contract *x, const Load *l)
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

static void put_plain_fetch(Contract *x, const Load *l, Buf *b)
{
    const char *in = inside(x, l, true);

    buf_printf(b, "%s = ", reg(x, l));
    if (*in)
        buf_printf(b, "%s ? ", in);
    buf_printf(b, "%s[", cprint_tensor(&x->cp, l->op->read->tensor));
    put_offset(x, l, b);
    buf_puts(b, "]");
    if (*in)
        buf_printf(b, " : %s", zero_of(x->elem));
    buf_puts(b, ";\n");
}

/* An expression through a register: value, conversion, 0 in k's tail. */
static void put_fetch(Contract *x, const Load *l, Buf *b)
{
    const Expr *e = l->op->e;
    const char *in = inside(x, l, false), *to = reg(x, l);
    Buf body = {0}, value = {0};

    const char *text = cprint_bind(&body, &x->cp, e, l->id);
    buf_puts(&value, cprint_to_storage(x->g->arena, x->elem, e->type, text));
    if (body.len && *in) {
        buf_printf(b, "%s = %s;\nif (%s) {\n", to, zero_of(x->elem), in);
        cprint_lines(b, buf_text(&body), 4);
        buf_printf(b, "    %s = %s;\n}\n", to, buf_text(&value));
    } else {
        buf_puts(b, buf_text(&body));
        if (*in)
            buf_printf(b, "%s = %s ? %s : %s;\n", to, in, buf_text(&value),
                       zero_of(x->elem));
        else
            buf_printf(b, "%s = %s;\n", to, buf_text(&value));
    }
    buf_free(&body);
    buf_free(&value);
}

/* `const int k = ...` and its variables. */
static void put_k(Contract *x, const Load *l, Buf *b)
{
    buf_printf(b, "const int %s = k_tile * BK + %s_%s", x->k.name, l->id,
               many_k(l) && !l->stride ? "at" : "k");
    if (!l->along_k && l->passes > 1)
        buf_printf(b, " + i * %s_STEP", l->ID);
    buf_puts(b, ";\n");
    put_digits(x, b, &x->k, l, x->k.name, loop_wants);
}

static bool one_statement(const char *text)
{
    const char *end = strchr(text, ';');

    return end && !strcmp(end, ";\n") && !strchr(text, '{');
}

/* The loop over the copies of a part, or of all, up to its body: a copy's
 * number, its pass and its k. */
static void put_copy(const Contract *x, const Load *l, Buf *b)
{
    Arena *a = x->g->arena;
    const char *copy = many_k(l) ? "copy" : "i";
    const char *all = arena_printf(a, "%s_%s", l->ID,
                                   many_k(l) ? "COPIES" : "PASSES");
    const char *of_part = arena_printf(a, short_parts(x, l)
                                              ? "(%s - 1) / of + 1"
                                              : "%s / of", all);

    if (!in_parts(x, l))
        buf_printf(b, "for (int %s = 0; %s < %s; ++%s) {\n", copy, copy, all,
                   copy);
    else
        buf_printf(b, "for (int j = 0; j < %s; ++j) {\n"
                      "    const int %s = part * (%s) + j;\n", of_part, copy,
                   of_part);
    if (short_parts(x, l))
        buf_printf(b, "    if (%s >= %s)\n        break;\n", copy, all);
    if (many_k(l) && l->passes > 1)
        buf_printf(b, "    const int i = copy / (BK / %s_K_STEP);\n", l->ID);
    if (many_k(l))
        buf_printf(b, "    const int %s_at = %s%scopy %% (BK / %s_K_STEP) * "
                      "%s_K_STEP;\n", l->id, l->stride ? "" : l->id,
                   l->stride ? "" : "_k + ", l->ID, l->ID);
}

/* The loop over copies around `body`. */
static void put_passes(const Contract *x, const Load *l, Buf *b,
                       const Buf *head, const Buf *body)
{
    bool parts = in_parts(x, l), loop = l->copies > 1;
    /* k is one for all */
    bool outside = !loop || (l->along_k && (!many_k(l) || l->stride));
    bool bare = !parts && outside && one_statement(buf_text(body));

    if (parts && !loop)
        buf_puts(b, "if (part > 0)  // it is one copy\n    return;\n");
    if (outside)
        cprint_lines(b, buf_text(head), 0);
    if (loop && bare)
        buf_printf(b, "#pragma unroll\n"
                      "for (int i = 0; i < %s_PASSES; ++i)\n", l->ID);
    else if (loop) {
        buf_puts(b, "#pragma unroll\n");
        put_copy(x, l, b);
    }
    if (!outside)
        cprint_lines(b, buf_text(head), 4);
    cprint_lines(b, buf_text(body), loop ? 4 : 0);
    if (loop && !bare)
        buf_puts(b, "}\n");
}

/* auto NAME = [&](PARAMS) { body }; */
static void put_routine(Buf *b, const Load *l, const char *verb,
                        const char *params, const Buf *body)
{
    buf_printf(b, "auto %s_%s = [&](%s) {\n", verb, l->id, params);
    if (l->partial)
        buf_printf(b, "    if (threadIdx.x < %d) {\n",
                   l->chunks * l->major);
    cprint_lines(b, buf_text(body), l->partial ? 8 : 4);
    if (l->partial)
        buf_puts(b, "    }\n");
    buf_puts(b, "};\n");
}

static void put_loop(Contract *x, Load *l, Buf *b)
{
    CScope scope = cprint_open(&x->cp);
    Buf head = {0}, body = {0}, all = {0};

    put_k(x, l, &head);
    name_kept(x, l);
    if (l->async)
        put_async(x, l, &body);
    else if (l->plain)
        put_plain_fetch(x, l, &body);
    else
        put_fetch(x, l, &body);
    put_passes(x, l, &all, &head, &body);
    const char *params = arena_printf(
        x->g->arena, "int k_tile%s%s", l->async ? ", int slot" : "",
        !in_parts(x, l)   ? ""
        : l->copies > 1 ? ", int part = 0, int of = 1"
                        : ", int part = 0, int = 1");
    put_routine(b, l, l->async ? "load" : "fetch", params, &all);
    cprint_close(&x->cp, scope);
    buf_free(&head);
    buf_free(&body);
    buf_free(&all);
}

void contract_loader(Contract *x, Load *l, Buf *setup, Buf *load)
{
    put_setup(x, l, setup);
    if (!l->async) {
        buf_printf(setup, "%s %s_reg", type_cname(x->elem), l->id);
        if (l->copies > 1)
            buf_printf(setup, "[%s_%s]", l->ID,
                       many_k(l) ? "COPIES" : "PASSES");
        buf_puts(setup, ";\n");
    }
    put_loop(x, l, load);
    if (l->async)
        return;
    Buf head = {0}, body = {0}, all = {0};
    buf_printf(&body, "%s = %s;\n", slot_text(x, l), reg(x, l));
    put_passes(x, l, &all, &head, &body);
    put_routine(load, l, "store", "int slot", &all);
    buf_free(&body);
    buf_free(&all);
}
