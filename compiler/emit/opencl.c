#include "emit/opencl.h"

#include "emit/cprint.h"
#include "emit/tree_value.h"

/* A word of CUDA's and what stands for it. A template.s function has
 * its arguments in <> before the others. */
static const struct {
    const char *cuda, *opencl;
} words[] = {
    {"threadIdx.x", "(int)get_local_id(0)"},
    {"blockIdx.x", "(int)get_group_id(0)"},
    {"gridDim.x", "(int)get_num_groups(0)"},
    {"__half", "half"},
    {"__half2float", "convert_float"},
    {"__float2half_rn", "convert_half_rte"},
    {"int32_t", "int"},
    {"uint32_t", "uint"},
    {"int8_t", "char"},
    {"uint8_t", "uchar"},
    {"dcc_load", "DCC_LOAD"},
    {"dcc_store", "DCC_STORE"},
    {"dcc_fill", "DCC_FILL"},
    {"dcc_sin", "sin"},
    {"dcc_cos", "cos"},
    {"dcc_tan", "tan"},
    {"INFINITY", "INFINITY"},
};

/* math.h's functions of floats lose their f. */
static const char *const functions[] = {
    "fmaxf",  "fminf",  "fabsf", "expf",   "logf",  "sqrtf",
    "rsqrtf", "erff",   "tanhf", "floorf", "ceilf", "powf",
    "expm1f", "log1pf", NULL};

static const char macros[] =
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n\n"
    "// N neighbours, converted: from memory, to memory, one value of all.\n"
    "#define DCC_LOAD(N, to, from)                \\\n"
    "    for (int at_ = 0; at_ < (N); ++at_)      \\\n"
    "        (to)[at_] = (from)[at_]\n"
    "#define DCC_STORE(N, to, from) DCC_LOAD(N, to, from)\n"
    "#define DCC_FILL(to, value)                  \\\n"
    "    for (int at_ = 0; at_ < VEC; ++at_)      \\\n"
    "        (to)[at_] = (value)\n\n";

typedef struct Speaker {
    Arena *arena;
    bool foreign; /* a word that is CUDA's and not in the table */
} Speaker;

typedef struct Out {
    Token *at;
    int n, cap;
} Out;

static void put(Speaker *s, Out *o, const char *text, bool space)
{
    Code c = code_parse(s->arena, text, "OpenCL's word");

    for (int i = 0; i < c.n; i++) {
        Token t = c.at[i];
        t.space = i ? t.space : space;
        VEC_PUSH(s->arena, o->at, o->n, o->cap) = t;
    }
}

static const char *translate(Speaker *s, const char *word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].cuda, word))
            return words[i].opencl;
    for (const char *const *f = functions; *f; f++)
        if (!strcmp(*f, word))
            return arena_strndup(s->arena, word, strlen(word) - 1);
    if (!strncmp(word, "dcc_", 4) || !strncmp(word, "__", 2) ||
        !strcmp(word, "reinterpret_cast") || !strcmp(word, "auto"))
        s->foreign = true;
    return NULL;
}

/* `f<A>(b` as `F(A, b`; returns the index after the parenthesis. */
static int put_template(Speaker *s, Out *o, Code c, int at)
{
    int end = code_after_bracket(c, at);

    s->foreign |= end >= c.n || !token_is(&c.at[end], "(");
    put(s, o, "(", false);
    for (int i = at + 1; i < end - 1; i++)
        VEC_PUSH(s->arena, o->at, o->n, o->cap) = c.at[i];
    put(s, o, ",", false);
    return end + 1;
}

static void speak(Code *c, void *ctx)
{
    Speaker *s = ctx;
    Out o = {0};
    bool wants_blank = false;

    for (int i = 0; i < c->n; i++) {
        Token t = c->at[i];
        const char *word = t.s, *other = NULL;
        bool member = i + 2 < c->n && token_is(&c->at[i + 1], ".");
        if (t.kind == TOKEN_WORD && code_names(*c, i)) {
            if (member)
                other = translate(
                    s, arena_printf(s->arena, "%s.%s", word, c->at[i + 2].s));
            if (other)
                i += 2;
            else
                other = translate(s, word);
        }
        t.space |= wants_blank;
        wants_blank = false;
        if (!other)
            VEC_PUSH(s->arena, o.at, o.n, o.cap) = t;
        else
            put(s, &o, other, t.space);
        if (other && i + 1 < c->n && token_is(&c->at[i + 1], "<") &&
            !c->at[i + 1].space) {
            i = put_template(s, &o, *c, i + 1) - 1;
            wants_blank = true;
        }
    }
    *c = (Code){o.at, o.n};
}

static void put_params(Arena *a, Buf *b, const Kernel *k)
{
    Speaker s = {.arena = a};

    for (int i = 0; i < k->n_arg; i++) {
        const KernelArg *arg = &k->arg[i];
        const char *type = type_cname(arg->tensor->type);
        const char *own = translate(&s, type);
        buf_printf(b, "    %s__global %s *restrict %s%s\n",
                   arg->use == ARG_IN ? "const " : "", own ? own : type,
                   arg->name, i + 1 < k->n_arg ? "," : ")");
    }
}

bool emit_opencl(Arena *a, Buf *b, const Kernel *k)
{
    Speaker s = {.arena = a};
    Tree *body = tree_copy(a, k->body);
    Buf text = {0};

    tree_codes(body, speak, &s);
    if (s.foreign || k->n_smem || k->n_map || k->workspace || k->coop_counters)
        return false;
    buf_puts(b, macros);
    buf_printf(b, "// global size %d, local size %d\n", k->grid[0] * k->block,
               k->block);
    buf_printf(b,
               "__kernel __attribute__((reqd_work_group_size(%d, 1, 1)))\n"
               "void %s(\n",
               k->block, k->name);
    put_params(a, b, k);
    buf_puts(b, "{\n");
    buf_puts(&text, "enum {");
    for (int i = 0; i < k->n_constant; i++)
        buf_printf(&text, "%s %s = %lld", i ? "," : "", k->constant[i].name,
                   (long long)k->constant[i].value);
    buf_puts(&text, " };\n\n");
    tree_print(&text, body);
    size_t from = b->len;
    cprint_lines(b, buf_text(&text), 4);
    cprint_settle(b, from);
    buf_puts(b, "}\n");
    buf_free(&text);
    return true;
}
