/* emit_host.c - a model's host side: tables, steps, and the C API. */
#include "emit/cprint.h"
#include "emit/emit.h"
#include "emit/names.h"
#include "support/support.h"

#include <stdio.h>

static const char *type_enum(Type t)
{
    switch (t) {
    case T_BOOL: return "DCC_BOOL";
    case T_I8: return "DCC_I8";
    case T_U8: return "DCC_U8";
    case T_I32: return "DCC_I32";
    case T_F16: return "DCC_F16";
    case T_BF16: return "DCC_BF16";
    case T_F32: break;
    }
    return "DCC_F32";
}

static const char *place_enum(Place p)
{
    switch (p) {
    case PLACE_PARAMS: return "DCC_IN_PARAM";
    case PLACE_CONSTS: return "DCC_IN_CONST";
    case PLACE_STATE: return "DCC_IN_STATE";
    case PLACE_INPUT: return "DCC_IN_INPUT";
    case PLACE_OUTPUT: return "DCC_IN_OUTPUT";
    case PLACE_STAGED: return "DCC_IN_STAGED";
    case PLACE_ARENA:
    case PLACE_NONE: break;
    }
    return "DCC_IN_ARENA";
}

/* What names of the host side begin with; of one of a set of sizes, but the
 * last, with its word. */
static const char *model_ident(const CudaProgram *p)
{
    Arena *a = p->graph->arena;
    const char *id = names_model(a, p->graph->model);

    return p->graph->word && !p->set.name
               ? arena_printf(a, "%s_%s", id, p->graph->word) : id;
}

/* ---- tables */

static void put_list(Buf *b, const int64_t *v, int n)
{
    buf_putc(b, '{');
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s%lld", i ? ", " : "", (long long)v[i]);
    buf_puts(b, n ? "}" : "0}");
}

static void put_tensor(Buf *b, const Tensor *t, const char *name, int step)
{
    Buf line = {0};

    buf_putc(&line, '{');
    escape_string(&line, name);
    buf_printf(&line, ", %s, %d, ", type_enum(t->type), t->rank);
    put_list(&line, t->dim, t->rank);
    buf_puts(&line, ", ");
    put_list(&line, t->stride, t->rank);
    buf_printf(&line, ", %s, %zu, %d, %lld, %lld, ",
               place_enum(t->place), t->offset, step,
               t->promised ? (long long)t->lo : 0,
               t->promised ? (long long)t->hi : 0);
    escape_number(&line, t->init);
    if (t->varies || t->begin != BEGIN_NONE)
        buf_printf(&line, ", %d, %d", t->varies, t->copied != NULL);
    if (t->begin != BEGIN_NONE) {
        buf_printf(&line, ", %s, ", begin_enum(t->begin));
        escape_number(&line, t->spread);
    }
    buf_puts(&line, "},");
    size_t from = b->len;
    cprint_lines(b, buf_text(&line), 4);
    cprint_settle(b, from);
    buf_free(&line);
}

/* States are of blocks, too: their paths tell them apart. */
static void put_label(Buf *b, const Tensor *t)
{
    if (!t->weight && t->role == ROLE_STATE && *t->path)
        buf_printf(b, "%s.", t->path);
    buf_puts(b, t->weight ? t->weight : t->name);
}

static void put_table(Buf *b, const char *model, const char *what,
                      Tensor *const *t, int n)
{
    if (!n)
        return;
    buf_printf(b, "static const dcc_tensor %s_%s_table[] = {\n", model, what);
    for (int i = 0; i < n; i++) {
        Buf label = {0};
        put_label(&label, t[i]);
        put_tensor(b, t[i], buf_text(&label), 0);
        buf_free(&label);
    }
    buf_puts(b, "};\n");
}

/* The last launch that writes t or what lies in it. */
static int made_by(const CudaProgram *p, const Tensor *t)
{
    for (int i = p->n_run - 1; i >= 0; i--) {
        const Group *gr = p->run[i].group;
        for (int k = 0; k < gr->n_arg; k++)
            if (tensor_lies_in(gr->arg[k], t) && group_stores(gr, gr->arg[k]))
                return i;
    }
    return -1;
}

/* Does the launch that makes t overwrite it with a later version? */
static bool overwritten_at_once(const CudaProgram *p, const Tensor *t,
                                int step)
{
    const Group *gr = p->run[step].group;

    for (int k = 0; k < gr->n_step; k++) {
        const Tensor *later = gr->step[k].tensor;
        for (later = later ? later->prev : NULL; later; later = later->prev)
            if (later == t)
                return true;
    }
    return false;
}

int emit_traced_after(const CudaProgram *p, const Tensor *t)
{
    bool whole = t->id < p->n_lowered && !t->partly && !t->twice &&
                 !t->regrouped && !t->says;
    int step = whole ? made_by(p, t) : -1;

    return step >= 0 && overwritten_at_once(p, t, step) ? -1 : step;
}

static int put_trace(Buf *b, const CudaProgram *p, const char *model)
{
    int n = 0;

    for (int i = 0; p->trace && i < p->n_lowered; i++) {
        const Tensor *t = p->graph->tensor[i];
        int step = emit_traced_after(p, t);
        if (step < 0)
            continue;
        if (!n++)
            buf_printf(b, "static const dcc_tensor %s_trace_table[] = {\n",
                       model);
        put_tensor(b, t, arena_printf(p->graph->arena, "t%d", t->id), step);
    }
    if (n)
        buf_puts(b, "};\n");
    return n;
}

/* ---- steps */

static void put_pointer(Buf *b, const Tensor *t, bool constant)
{
    static const char *const base[] = {"arena", "params", "consts", "arena",
                                       "state"};

    buf_printf(b, "(%s%s *)", constant ? "const " : "", type_cname(t->type));
    if (t->place == PLACE_INPUT || t->place == PLACE_OUTPUT)
        buf_printf(b, "f->%s[%zu]",
                   t->place == PLACE_INPUT ? "inputs" : "outputs", t->offset);
    else if (t->place == PLACE_STAGED)
        buf_printf(b, "f->staged[%zu]", t->offset);
    else if (t->offset)
        buf_printf(b, "(f->%s + %zu)", base[t->place], t->offset);
    else
        buf_printf(b, "f->%s", base[t->place]);
}

/* A line of a call: the pointer, and whose it is by its path; of a long name
 * that stands in a line ahead. */
static void put_arg(Buf *out, const Tensor *t, bool constant)
{
    enum { COLUMNS = 80, INDENT = 12 };
    Buf b = {0}, whose = {0};
    const char *name, *dot;

    enum { BETWEEN = 6 }; /* ",  // " */
    put_pointer(&b, t, constant);
    buf_printf(&whose, "%s%s%s", t->path, *t->path ? "." : "", t->name);
    name = buf_text(&whose);
    while (INDENT + b.len + BETWEEN + strlen(name) > COLUMNS &&
           (dot = strchr(name, '.')))
        name = dot + 1; /* without the outer blocks */
    bool ahead = INDENT + b.len + BETWEEN + strlen(name) > COLUMNS;
    buf_printf(out, "%*s%s%s", INDENT, "", ahead ? "" : buf_text(&b),
               ahead ? "// " : ",  // ");
    escape_comment(out, name);
    if (ahead)
        buf_printf(out, "\n%*s%s,", INDENT, "", buf_text(&b));
    buf_putc(out, '\n');
    buf_free(&b);
    buf_free(&whose);
}

static void put_launch(Buf *b, const Launch *l, int i)
{
    const Kernel *k = l->kernel;
    const CudaProgram *p = l->of;

    enum { COLUMNS = 80, AROUND = 23 }; /* of "        return _launch(" */
    buf_printf(b, "    case %d:\n        return%s%s_launch(\n", i,
               strlen(k->name) + AROUND > COLUMNS ? "\n            " : " ",
               k->name);
    for (int a = 0; a < k->n_arg; a++)
        put_arg(b, l->group->arg[a], k->arg[a].use == ARG_IN);
    if (k->run)
        buf_printf(b, "            (int)f->size,  // %s\n", k->run);
    if (k->workspace)
        buf_printf(b, "            f->arena + %zu,  // workspace\n",
                   l->beside ? p->beside_workspace : p->workspace_offset);
    if (k->coop_counters)
        buf_printf(b, "            (unsigned int *)(f->state + %zu),"
                      "  // counters\n",
                   l->beside ? p->beside_counter : p->counter_offset);
    buf_printf(b, "            %sstream);\n",
               !k->waits ? "" : l->dependent ? "DCC_DEPENDENT, "
                                             : "DCC_AFTER, ");
}

static void put_steps(Buf *b, const CudaProgram *p, const char *what,
                      const Launch *l, int n)
{
    if (!n)
        return;
    buf_printf(b, "static cudaError_t %s_%s(const dcc_frame *f, int step,\n"
                  "    cudaStream_t stream)\n{\n    switch (step) {\n",
               model_ident(p), what);
    for (int i = 0; i < n; i++)
        put_launch(b, &l[i], i);
    buf_puts(b, "    }\n    return cudaErrorInvalidValue;\n}\n\n");
    buf_printf(b, "static const char *const %s_%s_names[] = {\n",
               model_ident(p), what);
    for (int i = 0; i < n; i++)
        buf_printf(b, "    \"%s\",\n", l[i].kernel->name);
    buf_puts(b, "};\n\n");
}

/* A number of a table of them, in lines of 80 columns. */
static void put_number(Buf *b, int x, int *column)
{
    int width = snprintf(NULL, 0, " %d,", x);

    if (*column == 0 || *column + width > 80) {
        buf_puts(b, *column ? "\n   " : "   ");
        *column = 3;
    }
    buf_printf(b, " %d,", x);
    *column += width;
}

/* Which arguments of one kind a launch has, each once; -1 ends the list. */
static void put_uses(Buf *b, const CudaProgram *p, const Launch *l, bool load,
                     int *column)
{
    const Graph *g = p->graph;

    for (int a = 0; a < l->group->n_arg; a++) {
        const Tensor *t = l->group->arg[a];
        int at = !load && t->place == PLACE_INPUT ? (int)t->offset
                 : !load && t->place == PLACE_OUTPUT
                     ? g->n_input + (int)t->offset
                 : load && t->place == PLACE_STAGED
                     ? (int)t->offset
                     : -1;
        if (at >= 0)
            put_number(b, at, column);
    }
    if (!load && l->kernel->run)
        put_number(b, g->n_input + g->n_output, column);
    put_number(b, -1, column);
}

static bool some_staged(const CudaProgram *p)
{
    for (int i = 0; i < p->graph->n_param; i++)
        if (p->graph->param[i]->place == PLACE_STAGED)
            return true;
    return false;
}

static void put_use_tables(Buf *b, const CudaProgram *p)
{
    int column = 0;

    if (p->n_load && some_staged(p)) {
        buf_printf(b, "// the parameters that each load step reads, once\n"
                      "static const int %s_load_reads[] = {\n",
                   model_ident(p));
        for (int i = 0; i < p->n_load; i++) { /* a line each */
            put_uses(b, p, &p->load[i], true, &column);
            buf_puts(b, "\n");
            column = 0;
        }
        buf_puts(b, "};\n");
    }
    buf_printf(b, "// the inputs, then outputs%s, that each step uses\n"
                  "static const int %s_step_args[] = {\n",
               p->graph->run ? ", then the run's size" : "", model_ident(p));
    for (int i = 0; i < p->n_run; i++)
        put_uses(b, p, &p->run[i], false, &column);
    buf_puts(b, p->n_run ? "\n};\n\n" : "    -1,\n};\n\n");
}

static bool some_branch(const CudaProgram *p)
{
    for (int i = 0; i < p->n_run; i++)
        if (p->run[i].beside)
            return true;
    return false;
}

/* Which launches run beside others, and where those wait for them. */
static void put_ways(Buf *b, const CudaProgram *p)
{
    int column = 0;

    if (!some_branch(p))
        return;
    buf_printf(b, "// where each step stands: dcc_stand\n"
                  "static const unsigned char %s_step_ways[] = {\n",
               model_ident(p));
    for (int i = 0; i < p->n_run; i++) {
        const Launch *l = &p->run[i];
        put_number(b, l->beside                ? l->mark ? 2 : 1
                      : l->join == JOIN_MARK ? 3
                      : l->join == JOIN_ALL  ? 4
                                             : 0, &column);
    }
    buf_puts(b, "\n};\n\n");
}

static bool some_promise(const Graph *g)
{
    for (int i = 0; i < g->n_input; i++)
        if (g->input[i]->promised)
            return true;
    return false;
}

/* What a run on request checks before it begins. */
static void put_check(Buf *b, const CudaProgram *p)
{
    const Graph *g = p->graph;

    if (!some_promise(g))
        return;
    buf_printf(b, "static cudaError_t %s_check(const dcc_frame *f, "
                  "dcc_found *found,\n"
                  "    unsigned long long turn, cudaStream_t stream)\n{\n",
               model_ident(p));
    for (int i = 0; i < g->n_input; i++) {
        const Tensor *t = g->input[i];
        long long n = 1;
        bool within = g->run && t->varies && !t->copied;
        if (!t->promised)
            continue;
        for (int d = 0; d < t->rank; d++)
            n *= t->dim[d];
        buf_printf(b, "    dcc_check_promise<%s><<<1, 1024, 0, stream>>>(\n"
                      "        (const %s *)f->inputs[%d], %lldLL%s, %lldLL, "
                      "%lldLL, %d,\n        turn, found);\n",
                   type_cname(t->type), type_cname(t->type), i,
                   within ? n / g->most : n, within ? " * f->size" : "",
                   (long long)t->lo, (long long)t->hi, i);
    }
    buf_puts(b, "    return cudaGetLastError();\n}\n\n");
}

/* ---- the description and the C API */

static void put_table_fields(Buf *b, const char *m, const char *what, int n)
{
    if (n)
        buf_printf(b, "    %s_%s_table, %d,\n", m, what, n);
    else
        buf_printf(b, "    nullptr, 0,  // %s\n", what);
}

/* Sizes of a set leave parameters and loading to the last. */
static bool owns_params(const CudaProgram *p)
{
    return !p->graph->word || p->set.name;
}

static void put_desc(Buf *b, const CudaProgram *p, const char *m, int n_trace)
{
    const Graph *g = p->graph;

    buf_printf(b, "%s const dcc_model_desc %s_desc = {\n"
                  "    DCC_HEAD(dcc_model_desc),\n"
                  "    \"%s\",\n",
               g->word && !p->set.name ? "static" : "extern \"C\"", m,
               g->model);
    put_table_fields(b, m, "params", owns_params(p) ? g->n_param : 0);
    put_table_fields(b, m, "inputs", g->n_input);
    put_table_fields(b, m, "outputs", g->n_output);
    put_table_fields(b, m, "states", owns_params(p) ? g->n_state : 0);
    put_table_fields(b, m, "trace", n_trace);
    buf_printf(b, "    // bytes of params that runs read, consts, arena and "
                  "state\n"
                  "    %zu, %zu, %zu, %zu,\n",
               p->params_bytes, p->consts_bytes, p->arena_bytes,
               p->state_bytes);
    buf_printf(b, "    %d, %d,\n", p->n_load, p->n_run);
    if (p->n_load)
        buf_printf(b, "    %s_load_step,\n", m);
    else
        buf_puts(b, "    nullptr,\n");
    buf_printf(b, "    %s_step,\n", m);
    if (p->n_load)
        buf_printf(b, "    %s_load_step_names,\n", m);
    else
        buf_puts(b, "    nullptr,\n");
    buf_printf(b, "    %s_step_names,\n", m);
    if (p->n_load && some_staged(p))
        buf_printf(b, "    %s_load_reads,\n", m);
    else
        buf_puts(b, "    nullptr,\n");
    buf_printf(b, "    %s_step_args,\n", m);
    if (some_promise(g))
        buf_printf(b, "    %s_check,\n", m);
    else
        buf_puts(b, "    nullptr,\n");
    if (g->trains)
        buf_puts(b, "    1,  // a run writes parameters\n");
    else if (p->set.name || some_branch(p))
        buf_puts(b, "    0,\n");
    if (p->set.name)
        buf_printf(b, "    \"%s\", %s_sizes_of, %s_of_sizes, %d,\n",
                   p->set.name, m, m, p->set.n);
    else if (some_branch(p))
        buf_puts(b, "    nullptr, nullptr, nullptr, 0,  // sizes\n");
    if (some_branch(p))
        buf_printf(b, "    %s_step_ways,\n", m);
    buf_puts(b, "};\n\n");
}

static const char *const api[] = {
    "dcc_status %s_create(\n    %s **out, const char *weights_path)",
    "return dcc_model_create(out, &%s_desc, weights_path);",
    "dcc_status %s_create_options(\n    %s **out, const dcc_options *options)",
    "return dcc_model_create_options(out, &%s_desc, options);",
    "dcc_status %s_create_shared(\n    %s **out, %s *first)",
    "return dcc_model_share(out, &%s_desc, first);",
    "dcc_status %s_update(\n    %s *m, const char *weights_path)",
    "dcc_options o = dcc_options_default();\n"
    "    o.weights = weights_path;\n"
    "    return dcc_model_update(m, &o);",
    "dcc_status %s_sizes(dcc_sizes *sizes)",
    "return dcc_model_sizes(&%s_desc, sizes);",
    "dcc_status %s_status(%s *m)",
    "return dcc_model_status(m);",
    "dcc_status %s_save(\n    %s *m, const char *path)",
    "return dcc_model_save(m, path);",
    "dcc_status %s_load(\n    %s *m, const char *path)",
    "return dcc_model_load(m, path);",
    "dcc_status %s_reset(\n    %s *m, cudaStream_t stream)",
    "return dcc_model_reset(m, stream);",
    "void %s_destroy(%s *m)",
    "dcc_model_destroy(m);",
    NULL
};

/* A field of `side` after `before`, on a line with it where that has room. */
static void put_field(Buf *b, const char *side, const char *field, bool first)
{
    const char *line = memrchr(b->text, '\n', b->len);
    size_t column = (size_t)(b->text + b->len - (line + 1));

    if (first)
        buf_printf(b, "%s->%s", side, field);
    else if (column + strlen(side) + strlen(field) + 6 > 80)
        buf_printf(b, ",\n        %s->%s", side, field);
    else
        buf_printf(b, ", %s->%s", side, field);
}

static void put_arguments(Buf *b, const Graph *g)
{
    buf_puts(b, "    const void *const inputs[] = {");
    for (int i = 0; i < g->n_input; i++)
        put_field(b, "in", names_field(g->arena, g->input[i]->name), !i);
    buf_puts(b, g->n_input ? "};\n" : "nullptr};\n");
    buf_puts(b, "    void *const outputs[] = {");
    for (int i = 0; i < g->n_output; i++)
        put_field(b, "out", names_field(g->arena, g->output[i]->name), !i);
    buf_puts(b, "};\n");
}

static void put_run(Buf *b, const CudaProgram *p, const char *m, bool run)
{
    const char *what = run ? "run" : "warm";

    buf_printf(b, "extern \"C\" dcc_status %s_%s(\n"
                  "    %s *m, const %s_inputs *in,\n"
                  "    const %s_outputs *out%s)\n{\n",
               m, what, m, m, m, run ? ", cudaStream_t stream" : "");
    buf_printf(b, "    if (!m || !in || !out)\n"
                  "        return dcc_fail(DCC_ERR_ARG, \"%s_%s: a null "
                  "pointer\");\n", m, what);
    buf_printf(b, "    if (dcc_check_head(\"%s_inputs\", in, sizeof *in) ||\n"
                  "        dcc_check_head(\"%s_outputs\", out, sizeof *out))\n"
                  "        return DCC_ERR_ARG;\n", m, m);
    put_arguments(b, p->graph);
    if (p->set.name)
        buf_printf(b, "    return dcc_model_%s_size(m, in->%s, inputs, outputs"
                      "%s);\n}\n\n", what,
                   names_field(p->graph->arena, p->set.name),
                   run ? ", stream" : "");
    else
        buf_printf(b, "    return dcc_model_%s(m, inputs, outputs%s);\n}\n\n",
                   what, run ? ", stream" : "");
}

/* What only a model has whose runs leave something to the next. */
static bool has_call(const Graph *g, const char *call)
{
    if (strstr(call, "_save(") || strstr(call, "_load("))
        return g->n_state || g->trains;
    return g->n_state || !strstr(call, "_reset(");
}

static void put_api(Buf *b, const CudaProgram *p, const char *m)
{
    put_run(b, p, m, true);
    put_run(b, p, m, false);
    for (int i = 0; api[i]; i += 2) {
        if (!has_call(p->graph, api[i]))
            continue;
        buf_puts(b, "extern \"C\" ");
        buf_printf(b, api[i], m, m, m);
        buf_puts(b, "\n{\n    ");
        buf_printf(b, api[i + 1], m);
        buf_puts(b, api[i + 2] ? "\n}\n\n" : "\n}\n");
    }
}

/* A size of a set that is not the last: its steps, and what they are given. */
static void put_size(Buf *b, const CudaProgram *p)
{
    const Graph *g = p->graph;
    const char *m = model_ident(p);

    buf_printf(b, "// ---- %s\n\n", g->word);
    put_table(b, m, "inputs", g->input, g->n_input);
    put_table(b, m, "outputs", g->output, g->n_output);
    buf_putc(b, '\n');
    put_steps(b, p, "step", p->run, p->n_run);
    put_use_tables(b, p);
    put_ways(b, p);
    put_check(b, p);
    put_desc(b, p, m, 0);
}

static void put_sizes(Buf *b, const CudaProgram *p, const char *m)
{
    buf_printf(b, "static const int64_t %s_sizes_of[] = {", m);
    for (int i = 0; i < p->set.n; i++)
        buf_printf(b, "%s%lld", i ? ", " : "", (long long)p->set.value[i]);
    buf_printf(b, "};\nstatic const dcc_model_desc *const %s_of_sizes[] = {\n",
               m);
    for (int i = 0; i < p->set.n; i++)
        buf_printf(b, "    &%s_desc,\n", model_ident(p->size[i]));
    buf_puts(b, "};\n\n");
}

void emit_model_host(Buf *b, const CudaProgram *p)
{
    const Graph *g = p->graph;
    const char *m = model_ident(p);

    buf_printf(b, "// ==== model %s: tensors, steps and the C API\n\n",
               g->model);
    for (int i = 0; i + 1 < p->set.n; i++)
        put_size(b, p->size[i]);
    put_table(b, m, "params", g->param, g->n_param);
    put_table(b, m, "inputs", g->input, g->n_input);
    put_table(b, m, "outputs", g->output, g->n_output);
    put_table(b, m, "states", g->state, g->n_state);
    int n_trace = put_trace(b, p, m);
    buf_putc(b, '\n');
    put_steps(b, p, "load_step", p->load, p->n_load);
    put_steps(b, p, "step", p->run, p->n_run);
    put_use_tables(b, p);
    put_ways(b, p);
    put_check(b, p);
    if (p->set.name)
        put_sizes(b, p, m);
    put_desc(b, p, m, n_trace);
    put_api(b, p, m);
}

/* "B", "2 * B" for the dimension that varies with a set. */
static void put_dim(Buf *b, const CudaProgram *p, const Tensor *t, int d)
{
    int64_t times = t->varies == d + 1
                        ? t->dim[d] / p->set.value[p->set.n - 1] : 0;

    if (times > 1)
        buf_printf(b, "%lld * ", (long long)times);
    if (times)
        buf_puts(b, p->set.name);
    else
        buf_printf(b, "%lld", (long long)t->dim[d]);
}

static void put_fields(Buf *b, const CudaProgram *p, Tensor *const *t, int n,
                       const char *type)
{
    Arena *a = p->graph->arena;

    for (int i = 0; i < n; i++) {
        buf_printf(b, "    %s *%s; /* %s[", type, names_field(a, t[i]->name),
                   type_name(t[i]->type));
        for (int d = 0; d < t[i]->rank; d++) {
            buf_puts(b, d ? ", " : "");
            put_dim(b, p, t[i], d);
        }
        buf_puts(b, "]");
        if (t[i]->promised)
            buf_printf(b, " in %lld..%lld", (long long)t[i]->lo,
                       (long long)t[i]->hi);
        buf_puts(b, " */\n");
    }
}

static void put_prototypes(Buf *b, const CudaProgram *p, const char *m)
{
    buf_printf(b, "/* Loads and packs weights (.safetensors, or the .json "
                  "index of several). */\n"
                  "dcc_status %s_create(\n"
                  "    %s **out, const char *weights_path);\n"
                  "/* The same with more to say: GPU, memory, graphs, checks; "
                  "see dcc_options. */\n"
                  "dcc_status %s_create_options(\n"
                  "    %s **out, const dcc_options *options);\n", m, m, m, m);
    buf_printf(b, "/* Another handle with first's weights, and all else its "
                  "own; the weights go\n * with the last of them. first may "
                  "be of a model that trains them. */\n"
                  "dcc_status %s_create_shared(\n    %s **out, %s *first);\n",
               m, m, m);
    buf_printf(b, "/* Bytes of memory, before anything is created. */\n"
                  "dcc_status %s_sizes(dcc_sizes *sizes);\n", m);
    buf_printf(b, "/* Other weights, in place, for all handles that share "
                  "them. */\n"
                  "dcc_status %s_update(\n"
                  "    %s *m, const char *weights_path);\n",
               m, m);
    buf_printf(b, "/* Enqueues one run; one run in flight a handle. */\n"
                  "dcc_status %s_run(\n"
                  "    %s *m, const %s_inputs *in,\n"
                  "    const %s_outputs *out, cudaStream_t stream);\n",
               m, m, m, m);
    buf_printf(b, "/* Prepares the CUDA graph of a run, which the first one "
                  "does else. */\n"
                  "dcc_status %s_warm(\n"
                  "    %s *m, const %s_inputs *in,\n"
                  "    const %s_outputs *out);\n",
               m, m, m, m);
    buf_printf(b, "/* What is known of the runs so far, without waiting. */\n"
                  "dcc_status %s_status(%s *m);\n", m, m);
    if (p->graph->n_state || p->graph->trains)
        buf_printf(b, "/* What runs leave to the next, as a file, and on from "
                      "it. */\n"
                      "dcc_status %s_save(\n    %s *m, const char *path);\n"
                      "dcc_status %s_load(\n    %s *m, const char *path);\n",
                   m, m, m, m);
    if (p->graph->n_state)
        buf_printf(b, "/* Sets the state to its initial value. */\n"
                      "dcc_status %s_reset(\n"
                      "    %s *m, cudaStream_t stream);\n",
                   m, m);
    buf_printf(b, "void %s_destroy(%s *m);\n\n", m, m);
}

void emit_model_header(Buf *b, const CudaProgram *p)
{
    const Graph *g = p->graph;
    const char *m = model_ident(p);

    buf_printf(b, "/* ---- model %s: device memory, row-major, aligned to 16 "
                  "bytes */\n\n", g->model);
    buf_printf(b, "typedef struct dcc_model %s;\n\n", m);
    buf_puts(b, "/* what is handed over is = {DCC_HEAD(its type), ...} */\n");
    buf_printf(b, "typedef struct %s_inputs {\n    DCC_HEAD_FIELDS;\n", m);
    if (p->set.name)
        buf_printf(b, "    int64_t %s; /* 1 to %lld: the next of the sizes "
                      "that were compiled runs */\n",
                   names_field(g->arena, p->set.name),
                   (long long)p->set.value[p->set.n - 1]);
    put_fields(b, p, g->input, g->n_input, "const void");
    buf_printf(b, "} %s_inputs;\n\ntypedef struct %s_outputs {\n"
                  "    DCC_HEAD_FIELDS;\n", m, m);
    put_fields(b, p, g->output, g->n_output, "void");
    buf_printf(b, "} %s_outputs;\n\n", m);
    buf_printf(b, "extern const dcc_model_desc %s_desc;\n\n", m);
    put_prototypes(b, p, m);
}
