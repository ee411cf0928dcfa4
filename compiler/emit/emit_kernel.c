#include "emit/emit.h"
#include "group/groups.h"

#include "emit/cprint.h"
#include "support/support.h"

#include <limits.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- banner ------------------------------------------------------------ */

enum { LONGEST_SOURCE = 240 };

/* The statement at a span, up to its `;`, blanks and line breaks squeezed. */
static void put_source(Buf *out, Span at)
{
    const char *s = source_line(at.source, at.line);
    int n = 0, depth = 0;
    Buf text = {0}, *b = &text;

    s = s ? s : "";
    s += strnlen(s, (size_t)(at.col > 0 ? at.col - 1 : 0));
    for (; *s && n < LONGEST_SOURCE && depth >= 0; s++) {
        bool blank = *s && strchr(" \n\r\t", *s);
        if (s[0] == '/' && s[1] == '/') {
            s += strcspn(s, "\n") - 1;
            continue;
        }
        if (!blank) {
            buf_putc(b, *s);
            n++;
        } else if (b->len && b->text[b->len - 1] != ' ') {
            buf_putc(b, ' ');
        }
        depth += (*s == '{') - (*s == '}');
        if (*s == ';' || (*s == '{' && depth > 0))
            break;
    }
    if (n == LONGEST_SOURCE)
        buf_puts(b, " ...");
    escape_comment(out, buf_text(b));
    buf_free(b);
}

static bool same_span(Span a, Span b)
{
    return a.source == b.source && a.line == b.line && a.col == b.col;
}

static void put_place(Buf *b, Span at)
{
    Buf place = {0};

    escape_comment(&place, base_name(at.source->name));
    buf_printf(&place, ":%d", at.line);
    buf_printf(b, "//   %-16s ", buf_text(&place));
    put_source(b, at);
    buf_putc(b, '\n');
    buf_free(&place);
}

static void put_shape(Buf *b, const Tensor *t)
{
    buf_printf(b, "%s[", type_name(t->type));
    for (int i = 0; i < t->rank; i++)
        buf_printf(b, "%s%lld", i ? ", " : "", (long long)t->dim[i]);
    buf_putc(b, ']');
}

static void put_vars(Buf *b, const Var **v, int n)
{
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s", i ? ", " : "", v[i]->name);
}

static void put_stored(Buf *b, const Step *s)
{
    if (s->tensor) {
        buf_printf(b, ", stored to %s: ", tensor_called(s->tensor));
        put_shape(b, s->tensor);
    } else if (s->called) {
        buf_printf(b, ", as %s", s->called);
    }
    buf_putc(b, '\n');
    if (s->tensor && s->tensor->says)
        buf_printf(b, "//         %s\n", s->tensor->says);
}

static void put_said(const Expr *e, void *ctx)
{
    if (e->kind == E_READ && e->tensor->says)
        buf_printf(ctx, "//         %s: %s\n",
                   tensor_called(e->tensor), e->tensor->says);
}

/* Whether what it reads of a run is not what a statement says. */
static void note_other(const Expr *e, void *ctx)
{
    *(bool *)ctx |= e->kind == E_READ && e->tensor->says &&
                    e->tensor->when == WHEN_RUN;
}

/* Steps about rows of which a product has, or another had, pieces. `about`:
 * the mean's step of each sum of squares, -1: none; or NULL. */
static void put_about_rows(Buf *b, const Step *step, int n, const char *what,
                           const int *about)
{
    for (int i = 0; i < n; i++) {
        const Step *s = &step[i];
        bool squares = about && s->op != R_NONE && about[i] >= 0;
        buf_puts(b, "//       ");
        buf_printf(b,
                   s->op == R_NONE ? "each row: "
                   : squares       ? "%s of squares about the mean over %s: "
                                   : "%s over %s: ",
                   reduce_name(s->op), what);
        buf_printf(b, "%s in registers", type_name(s->type));
        put_stored(b, s);
    }
}

/* What the norm of its rows makes of a product's sums. */
static void put_fold(Buf *b, const Group *gr)
{
    buf_puts(b, "//       each sum, of rows as they are, becomes that of the "
                "norm's, by\n");
    expr_visit(gr->merge->fold->value, put_said, b);
}

/* What step i is and where its value lives. */
static void put_step(Buf *b, const Kernel *k, int i)
{
    const Group *gr = k->group;
    const Step *s = &gr->step[i];
    const char *where = k->where ? k->where[i] : NULL;
    bool other_value = false;
    bool first = gr->chain && i < gr->chain->n_first;
    const Group *other = gr->chain ? gr->chain->other : NULL;
    const Group *part = other && i < other->n_step ? other
                        : first ? gr->chain->first : gr; /* its columns */

    buf_puts(b, "//       ");
    if (s->op != R_NONE) {
        buf_printf(b, "%s over ", reduce_name(s->op));
        put_vars(b, part->cols, part->n_cols);
    } else {
        buf_puts(b, s->over_cols || first ? "each element"
                    : gr->n_cols ? "each row"
                                 : "each point");
    }
    buf_printf(b, ": %s in %s", type_name(s->type),
               where ? where : "registers");
    put_stored(b, s);
    expr_visit(s->value, note_other, &other_value);
    if (other_value)
        expr_visit(s->value, put_said, b);
}

static void put_pieces(Buf *b, const Pieces *p)
{
    char what[64];

    snprintf(what, sizeof what, p->down ? "%d of its rows, each column"
                                        : "%d of its columns, each row",
             p->size);
    if (p->reduced || p->down)
        put_place(b, p->step[0].source->at);
    put_about_rows(b, p->step, p->n_step, what, p->down ? p->about : NULL);
}

/* The sum of a factor, and what follows from it. */
static void put_factor_sum(Buf *b, const FactorSum *x)
{
    put_place(b, x->step[0].source->at);
    for (int i = 0; i < x->n_step; i++) {
        buf_printf(b, "//       %s: %s in registers",
                   i ? "each of these" : "sum of a factor",
                   type_name(x->step[i].type));
        put_stored(b, &x->step[i]);
    }
}

static void put_statements(Buf *b, const Kernel *k)
{
    const Group *gr = k->group;
    Span call = {0}, at = {0};

    buf_puts(b, "// Computes\n");
    if (gr->merge) {
        put_place(b, gr->merge->step[gr->merge->n_step - 1].source->at);
        put_about_rows(b, gr->merge->step, gr->merge->n_step,
                       gr->merge->size ? "pieces of a row" : "a row",
                       gr->merge->about);
        if (gr->merge->fold)
            put_fold(b, gr);
    }
    for (int i = 0; i < gr->n_step; i++) {
        const Stmt *s = gr->step[i].source;
        if (gr->step[i].again)
            continue;
        if (s && s->call.source && !same_span(s->call, call) &&
            !same_span(s->call, s->at))
            put_place(b, call = s->call);
        if (s && s->at.source && !same_span(s->at, at))
            put_place(b, at = s->at);
        put_step(b, k, i);
    }
    if (gr->pieces)
        put_pieces(b, gr->pieces);
    if (gr->factor_sum)
        put_factor_sum(b, gr->factor_sum);
}

static void put_extents(Buf *b, const char *what, const Var **v, int n)
{
    buf_puts(b, what);
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%s %lld", i ? ", " : "", v[i]->name,
                   (long long)v[i]->extent);
    if (!n)
        buf_puts(b, "none");
}

static void put_amount(Buf *b, double x, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T"};
    int i = 0;

    for (; x >= 1000 && i < 4; i++)
        x /= 1000;
    buf_printf(b, "%.3g %s%s", x, prefix[i], unit);
}

static void put_work(Buf *b, const Kernel *k)
{
    buf_puts(b, "// Work      ");
    put_amount(b, k->flops, "FLOP");
    buf_puts(b, ", ");
    put_amount(b, k->bytes, "B moved");
    if (k->bytes > 0)
        buf_printf(b, ", %.3g FLOP/B", k->flops / k->bytes);
    buf_printf(b, "\n// Model     %.2f us", k->predicted_us);
    if (k->limiter)
        buf_printf(b, ", limited by %s", k->limiter);
    if (k->measured_us > 0)
        buf_printf(b, "; measured %.2f us", k->measured_us);
    buf_putc(b, '\n');
}

static void put_banner(Buf *out, const Kernel *k)
{
    Buf text = {0}, *b = &text;

    buf_printf(b, "// ---- %s ", k->name);
    for (int i = 9 + (int)strlen(k->name); i < 78; i++)
        buf_putc(b, '-');
    buf_puts(b, "\n//\n");
    put_statements(b, k);
    buf_puts(b, "//\n// Rows      ");
    put_extents(b, "", k->group->rows, k->group->n_rows);
    put_extents(b, "; columns ", k->group->cols, k->group->n_cols);
    buf_putc(b, '\n');
    put_work(b, k);
    buf_printf(b, "// Family    %s%s%s\n", k->family,
               k->variant && *k->variant ? ", " : "",
               k->variant ? k->variant : "");
    if (k->n_instance > 1) {
        buf_printf(b, "// Launches  %d: ", k->n_instance);
        emit_instances(b, k);
        buf_putc(b, '\n');
    }
    if (k->min_arch)
        buf_printf(b, "// Needs     %s or newer\n", k->min_arch);
    cprint_lines(out, buf_text(b), 0);
    buf_free(b);
}

/* ---- parameters -------------------------------------------------------- */

/* Whether another argument may be the same memory (versions of a state). */
static bool may_alias(const Kernel *k, const Tensor *t)
{
    if (t->role == ROLE_STATE || t->prev)
        return true;
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tensor->prev == t)
            return true;
    return false;
}

/* What __restrict__ promises holds from a kernel's beginning: a compiler may
 * read such memory before the wait for those who write it. */
static bool is_overlapped(const Kernel *k, const KernelArg *a)
{
    return k->waits && a->use != ARG_OUT && !tensor_is_constant(a->tensor);
}

static void put_pointer(Buf *b, const Kernel *k, const KernelArg *a,
                        bool in_kernel)
{
    bool restrict_ = in_kernel && !may_alias(k, a->tensor) &&
                     !is_overlapped(k, a);

    buf_printf(b, "%s%s *%s%s", a->use == ARG_IN ? "const " : "",
               type_cname(a->tensor->type),
               restrict_ ? "__restrict__ " : "", a->name);
}

static int n_params(const Kernel *k)
{
    int n = (k->run != NULL) + (k->workspace > 0) + k->coop_counters +
            k->n_map;

    for (int i = 0; i < k->n_arg; i++)
        n += !k->arg[i].mapped;
    return n;
}

/* The argument that is the kernel's parameter i, and how many there are. */
static int param_arg(const Kernel *k, int i, int *n)
{
    int arg = -1;

    *n = 0;
    for (int a = 0; a < k->n_arg; a++)
        if (!k->arg[a].mapped && (*n)++ == i)
            arg = a;
    return arg;
}

static void put_box(Buf *b, const TileMap *m)
{
    if (m->pixels) {
        buf_printf(b, "%d pixels x %d", m->pixels, m->box[0]);
        return;
    }
    buf_puts(b, "box ");
    for (int i = m->rank - 1; i >= 0; i--)
        buf_printf(b, "%d%s", m->box[i], i ? " x " : "");
}

/* One parameter's declaration; comment is its shape, or "". */
static void put_param(Buf *b, Buf *comment, const Kernel *k, int i)
{
    int n_arg, arg = param_arg(k, i, &n_arg);
    int map = i - (n_params(k) - k->n_map);

    if (arg >= 0) {
        put_pointer(b, k, &k->arg[arg], true);
        put_shape(comment, k->arg[arg].tensor);
    } else if (map >= 0) {
        buf_printf(b, "const __grid_constant__ CUtensorMap %s",
                   k->map[map].name);
        put_box(comment, &k->map[map]);
    } else if (i == n_arg && k->run) {
        buf_printf(b, "const int %s", k->run);
        buf_puts(comment, "how many this run has");
    } else if (i == n_arg + (k->run != NULL) && k->workspace) {
        buf_printf(b, "unsigned char *%sworkspace",
                   k->waits ? "" : "__restrict__ ");
        buf_printf(comment, "scratch, %zu bytes", k->workspace);
    } else {
        buf_printf(b, "unsigned int *%scounters",
                   k->waits ? "" : "__restrict__ ");
        buf_printf(comment, "%d, left 0", k->n_counters);
    }
}

static void put_params(Buf *b, const Kernel *k)
{
    int n = n_params(k), width = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++) {
            Buf decl = {0}, comment = {0};
            put_param(&decl, &comment, k, i);
            buf_putc(&decl, i + 1 < n ? ',' : ')');
            int len = (int)decl.len;
            if (!pass && len > width && len < 50)
                width = len;
            int line = (len > width ? len : width) + (int)comment.len + 9;
            if (pass && line > 80)
                buf_printf(b, "    // %s\n    %s\n", buf_text(&comment),
                           buf_text(&decl));
            else if (pass)
                buf_printf(b, "    %-*s  // %s\n", width, buf_text(&decl),
                           buf_text(&comment));
            buf_free(&decl);
            buf_free(&comment);
        }
    }
}

/* ---- the kernel -------------------------------------------------------- */

static void put_constants(Buf *b, const Kernel *k)
{
    Buf text = {0};
    int column = 0;
    bool with_next = false;

    for (int i = 0; i < k->n_constant; i++) {
        const Constant *c = &k->constant[i];
        Buf one = {0};
        if (c->value > INT_MAX || c->value < INT_MIN)
            continue;
        buf_printf(&one, "%s = %lld", c->name, (long long)c->value);
        bool said = c->comment && *c->comment;
        bool fresh = column == 0 || (c->comment && !with_next) ||
                     column + 2 + (int)one.len > 76;
        if (fresh && column)
            buf_putc(&text, '\n');
        buf_printf(&text, "%s%s,", fresh ? "    " : " ", buf_text(&one));
        column = fresh ? (int)one.len + 5 : column + (int)one.len + 2;
        if (said) {
            buf_printf(&text, "  // %s", c->comment);
            column = 80;
        }
        with_next = c->comment && !said;
        buf_free(&one);
    }
    if (text.len && !strpbrk(buf_text(&text), "\n/")) {
        text.text[--text.len] = 0; /* the last comma */
        buf_printf(b, "enum { %s };\n", buf_text(&text) + 4);
    } else if (text.len) {
        buf_printf(b, "enum {\n%s\n};\n", buf_text(&text));
    }
    buf_free(&text);
    for (int i = 0; i < k->n_constant; i++)
        if (k->constant[i].value > INT_MAX || k->constant[i].value < INT_MIN)
            buf_printf(b, "constexpr long long %s = %lld;\n",
                       k->constant[i].name, (long long)k->constant[i].value);
}

static void put_asserts(Buf *b, const Kernel *k)
{
    for (int i = 0; i < k->n_assert; i++) {
        const char *s = k->assert_[i];
        if (strncmp(s, "static_assert", 13))
            buf_printf(b, "static_assert(%s);\n", s);
        else
            buf_printf(b, "%s%s\n", s, s[strlen(s) - 1] == ';' ? "" : ";");
    }
}

static void put_smem(Buf *b, const Kernel *k)
{
    if (!k->n_smem)
        return;
    buf_puts(b, "struct smem_t {\n");
    for (int i = 0; i < k->n_smem; i++) {
        const SmemField *f = &k->smem[i];
        buf_puts(b, "    ");
        if (f->align > 0)
            buf_printf(b, "alignas(%d) ", f->align);
        buf_printf(b, "%s;", f->decl);
        if (f->comment)
            buf_printf(b, "  // %s", f->comment);
        buf_putc(b, '\n');
    }
    buf_printf(b, "};\nsmem_t &smem = dcc_shared<smem_t, %zu>();\n",
               k->smem_bytes);
}

static void put_grid(Buf *b, const Kernel *k)
{
    buf_printf(b, "%d", k->grid[0]);
    if (k->grid[1] > 1 || k->grid[2] > 1)
        buf_printf(b, " x %d", k->grid[1]);
    if (k->grid[2] > 1)
        buf_printf(b, " x %d", k->grid[2]);
}

static void put_kernel(Buf *b, const Kernel *k)
{
    Buf body = {0}, launch = {0};

    buf_puts(&launch, "// grid ");
    put_grid(&launch, k);
    buf_printf(&launch, ", block %d", k->block);
    if (k->cluster > 1)
        buf_printf(&launch, ", cluster %d", k->cluster);
    if (k->smem_bytes)
        buf_printf(&launch, ", %zu bytes of shared memory", k->smem_bytes);
    if (k->regs)
        buf_printf(&launch, ", about %d registers", k->regs);
    buf_puts(&launch, "\n");
    cprint_lines(b, buf_text(&launch), 0);
    buf_free(&launch);
    buf_printf(b, "extern \"C\" __global__ __launch_bounds__(%d", k->block);
    if (k->min_blocks)
        buf_printf(b, ", %d", k->min_blocks);
    buf_printf(b, ")\nvoid %s(\n", k->name);
    put_params(b, k);
    buf_puts(b, "{\n");
    put_constants(&body, k);
    put_asserts(&body, k);
    put_smem(&body, k);
    if (body.len)
        buf_putc(&body, '\n');
    tree_print(&body, k->body);
    cprint_lines(b, buf_text(&body), 4);
    buf_puts(b, "}\n");
    buf_free(&body);
}

/* ---- the launcher ------------------------------------------------------ */

static void put_call_args(Buf *b, const Kernel *k)
{
    const char *comma = "";

    for (int i = 0; i < k->n_arg; i++)
        if (!k->arg[i].mapped) {
            buf_printf(b, "%s%s", comma, k->arg[i].name);
            comma = ", ";
        }
    if (k->run) {
        buf_printf(b, "%s%s", comma, k->run);
        comma = ", ";
    }
    if (k->workspace) {
        buf_printf(b, "%sworkspace", comma);
        comma = ", ";
    }
    if (k->coop_counters)
        buf_puts(b, ", counters");
    for (int i = 0; i < k->n_map; i++) {
        buf_printf(b, "%s%s", comma, k->map[i].name);
        comma = ", ";
    }
}

static const char *map_type(Type t)
{
    return t == T_F16    ? "DCC_F16"
           : t == T_BF16 ? "DCC_BF16"
           : t == T_I8   ? "DCC_I8"
           : t == T_U8   ? "DCC_U8"
           : t == T_F32  ? "DCC_F32"
                         : "DCC_I32";
}

static void put_table(Buf *b, const char *type, const TileMap *m,
                      const char *what, const int *v, int n)
{
    buf_printf(b, "static const %s %s_%s[] = {", type, m->name, what);
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%d", i ? ", " : "", v[i]);
    buf_puts(b, "};\n");
}

static void put_map_dims(Buf *b, const Kernel *k, const TileMap *m)
{
    bool fixed = true;

    for (int i = 0; i < m->rank; i++)
        fixed &= !m->of_run[i];
    buf_printf(b, "%sconst uint64_t %s_dim[] = {", fixed ? "static " : "",
               m->name);
    for (int i = 0; i < m->rank; i++) {
        buf_puts(b, i ? ", " : "");
        if (m->of_run[i])
            buf_printf(b, "%lldull * %s", (long long)m->of_run[i], k->run);
        else
            buf_printf(b, "%lld", (long long)m->dim[i]);
    }
    buf_puts(b, "};\n");
}

/* What the map covers; whether it takes steps. */
static bool put_map_tables(Buf *b, const Kernel *k, const TileMap *m)
{
    const char *of = m->name;
    bool steps = false;

    put_map_dims(b, k, m);
    buf_printf(b, "static const uint64_t %s_stride[] = {", of);
    for (int i = 1; i < m->rank; i++)
        buf_printf(b, "%s%lld", i > 1 ? ", " : "", (long long)m->stride[i]);
    buf_puts(b, "};\n");
    if (m->pixels) {
        put_table(b, "int", m, "lower", m->lower, m->rank - 2);
        put_table(b, "int", m, "upper", m->upper, m->rank - 2);
    } else {
        put_table(b, "uint32_t", m, "box", m->box, m->rank);
    }
    for (int i = 0; i < m->rank; i++)
        steps |= m->step[i] > 1;
    if (steps)
        put_table(b, "uint32_t", m, "step", m->step, m->rank);
    return steps;
}

static const char *swizzle_name(const Kernel *k, const TileMap *m)
{
    int row = m->box[0] * type_bytes(k->arg[m->arg].tensor->type);

    if (!m->swizzle)
        return "DCC_SWIZZLE_NONE";
    return m->tf32     ? "DCC_SWIZZLE_128_TF32"
           : row == 64 ? "DCC_SWIZZLE_64"
                       : "DCC_SWIZZLE_128";
}

/* The tables of a map, and its encoding. */
static void put_map(Buf *b, const Kernel *k, const TileMap *m)
{
    const char *of = m->name;
    bool steps = put_map_tables(b, k, m);

    buf_printf(b, "CUtensorMap %s;\n"
                  "status = dcc_tma_encode%s(&%s, %s, %d, %s", of,
               m->pixels ? "_im2col" : "", of,
               map_type(k->arg[m->arg].tensor->type), m->rank,
               k->arg[m->arg].name);
    if (m->offset)
        buf_printf(b, " + %lld", (long long)m->offset);
    buf_printf(b, ", %s_dim, %s_stride, ", of, of);
    if (m->pixels)
        buf_printf(b, "%s_lower, %s_upper, %d, %d, ", of, of, m->box[0],
                   m->pixels);
    else
        buf_printf(b, "%s_box, ", of);
    if (steps)
        buf_printf(b, "%s_step", of);
    else
        buf_puts(b, "NULL");
    buf_printf(b, ", %s);\nif (status != cudaSuccess)\n    return status;\n",
               swizzle_name(k, m));
}

/* A launch in clusters, or one that may overlap with the one before it. */
static void put_launch(Buf *b, const Kernel *k)
{
    buf_printf(b, "dcc_launch launch;\n"
                  "dcc_configure(&launch, grid, %d, %zu, stream);\n",
               k->block, k->smem_bytes);
    if (k->cluster > 1)
        buf_printf(b, "dcc_configure_cluster(&launch, %d);\n", k->cluster);
    if (k->waits)
        buf_puts(b, "dcc_configure_edge(&launch, edge);\n");
    buf_printf(b, "return cudaLaunchKernelEx(&launch.config, %s, ", k->name);
    put_call_args(b, k);
    buf_puts(b, ");\n");
}

enum { PLAIN_SMEM = 48 << 10 };

void emit_launcher_head(Buf *b, const Kernel *k)
{
    Buf head = {0};

    buf_printf(&head, "extern \"C\" cudaError_t%c%s_launch(",
               strlen(k->name) > 48 ? '\n' : ' ', k->name);
    for (int i = 0; i < k->n_arg; i++) {
        put_pointer(&head, k, &k->arg[i], false);
        buf_puts(&head, ", ");
    }
    if (k->run)
        buf_printf(&head, "int %s, ", k->run);
    buf_printf(&head, "%s%s%scudaStream_t stream)",
               k->workspace ? "unsigned char *workspace, " : "",
               k->coop_counters ? "unsigned int *counters, " : "",
               k->waits ? "dcc_edge edge, " : "");
    size_t from = b->len;
    cprint_lines(b, buf_text(&head), 0);
    cprint_settle(b, from);
    buf_free(&head);
}

/* What the kernel may have of an SM, and asks of it. */
static void put_limits(Buf *b, const Kernel *k)
{
    static const char *const percent[] = {
        [SHARED_PART] = "DCC_SHARED_PART", [SHARED_ALL] = "DCC_SHARED_ALL",
    };
    static const char check[] = "if (status != cudaSuccess)\n"
                                "    return status;\n";
    bool allows = k->smem_bytes > PLAIN_SMEM || k->n_map;
    bool shares = k->waits && k->shared != SHARED_ANY;
    const char *type =
        k->n_map || (allows && shares) ? "cudaError_t" : "const cudaError_t";

    if (allows)
        buf_printf(b, "%s status =\n"
                      "    DCC_ALLOW_SMEM(%s, %zu);\n%s",
                   type, k->name, k->smem_bytes, check);
    if (shares)
        buf_printf(b, "%s%sstatus = DCC_SHARE_SM(%s, %s);\n%s",
                   allows ? "" : type, allows ? "" : " ", k->name,
                   percent[k->shared], check);
}

static void put_launcher(Buf *b, const Kernel *k)
{
    Buf body = {0};

    emit_launcher_head(b, k);
    buf_puts(b, "{\n");
    buf_printf(&body, "const dim3 grid(%d", k->grid[0]);
    if (k->grid[1] > 1 || k->grid[2] > 1)
        buf_printf(&body, ", %d", k->grid[1]);
    if (k->grid[2] > 1)
        buf_printf(&body, ", %d", k->grid[2]);
    buf_puts(&body, ");\n");
    put_limits(&body, k);
    for (int i = 0; i < k->n_map; i++)
        put_map(&body, k, &k->map[i]);
    buf_putc(&body, '\n');
    if (k->cluster > 1 || k->waits) {
        put_launch(&body, k);
    } else {
        buf_printf(&body, "%s<<<grid, %d, %zu, stream>>>(", k->name,
                   k->block, k->smem_bytes);
        put_call_args(&body, k);
        buf_puts(&body, ");\nreturn cudaGetLastError();\n");
    }
    cprint_lines(b, buf_text(&body), 4);
    buf_puts(b, "}\n");
    buf_free(&body);
}

void emit_kernel(Buf *b, const CudaProgram *p, const Kernel *k)
{
    size_t from = b->len;

    (void)p;
    put_banner(b, k);
    buf_putc(b, '\n');
    if (k->device_code && *k->device_code) {
        cprint_lines(b, k->device_code, 0);
        buf_putc(b, '\n');
    }
    put_kernel(b, k);
    buf_putc(b, '\n');
    put_launcher(b, k);
    cprint_settle(b, from);
}
