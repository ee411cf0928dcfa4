#include "import/names.h"

#include "dsl/dsl.h"
#include "import/block.h"

#include <ctype.h>

const char *legal_name(Import *c, const char *name)
{
    Buf b = {0};

    for (const char *p = name; *p; p++) {
        bool ok = isalnum((unsigned char)*p) || *p == '_';
        if (ok && !b.len && isdigit((unsigned char)*p))
            buf_puts(&b, "t_");
        if (ok)
            buf_putc(&b, *p);
        else if (b.len && b.text[b.len - 1] != '_')
            buf_putc(&b, '_');
    }
    while (b.len && b.text[b.len - 1] == '_')
        b.text[--b.len] = 0;
    if (!b.len)
        buf_puts(&b, "t");
    if (dsl_is_reserved(b.text, b.len))
        buf_putc(&b, '_');
    return buf_take(&b, c->arena);
}

const char *free_name(Import *c, const char *name)
{
    const char *n = name;

    for (int k = 2; map_get(c->names, n); k++)
        n = arena_printf(c->arena, "%s_%d", name, k);
    map_put(c->names, n, c);
    return n;
}

/* "/encoder/layer.0/attention/MatMul_output_0" -> "attention_matmul" */
static const char *short_name(Import *c, const char *name)
{
    const char *end = name + strlen(name), *p;
    const char *tail = strstr(name, "_output_");
    int parts = 0;

    if (tail)
        end = tail;
    for (p = end; p > name; p--)
        if (p[-1] == '/' && p < end && ++parts == 2)
            break;
    Buf b = {0};
    bool digits = true;
    for (; p < end; p++) {
        digits = digits && isdigit((unsigned char)*p);
        buf_putc(&b, (char)tolower((unsigned char)*p));
    }
    bool anonymous = digits || !strncmp(buf_text(&b), "onnx::", 6);
    const char *text = legal_name(c, buf_text(&b));
    buf_free(&b);
    return anonymous || strlen(text) > 40 ? NULL : text;
}

const char *value_name(Import *c, const Value *v)
{
    const char *name = short_name(c, v->name);

    if (!name && v->def) {
        Buf b = {0};
        for (const char *p = v->def->op; *p; p++)
            buf_putc(&b, (char)tolower((unsigned char)*p));
        name = legal_name(c, buf_text(&b));
        buf_free(&b);
    }
    return name ? name : "h";
}

/* A scalar's name is none that an index has. */
static const char *no_index(Import *c, const Value *v, const char *name)
{
    return v->shape.rank == 0 && !name[1] && strchr("ijklmnoprstuvwd", *name)
               ? arena_printf(c->arena, "%s_value", name)
               : name;
}

/* The last of a weight's name that says enough: "layer1.0.conv1.weight" ->
 * "layer1_0_conv1_weight", but no more than 40 letters. */
static const char *name_of_param(Import *c, const char *key)
{
    const char *name = legal_name(c, key);

    while (strlen(name) > 40 && strchr(name, '_'))
        name = strchr(name, '_') + 1;
    name = legal_name(c, name);
    return strlen(name) > 60 ? "weight" : name;
}

static bool is_linear(const Stmt *s)
{
    return s->text && !strncmp(s->text, "linear(", 7);
}

/* "a.b.weight" beside a row called "a.b.bias" in one statement, or NULL. */
static const char *key_by_bias(Import *c, const Stmt *s)
{
    for (int i = 0; is_linear(s) && i < s->n_use; i++) {
        const Value *b = s->use[i];
        const char *tail = b->known && b->shape.rank == 1
                               ? strstr(b->name, "bias") : NULL;
        if (tail && !tail[4])
            return arena_printf(c->arena, "%.*sweight",
                                (int)(tail - b->name), b->name);
    }
    return NULL;
}

/* The path of the module whose node n is, or NULL. */
static const char *path_of(Import *c, const Node *n)
{
    const char *name = n ? n->name : "", *slash = strrchr(name, '/');
    Buf b = {0};

    if (n && n->scope)
        return n->scope;
    if (!slash || slash == name)
        return NULL;
    for (const char *p = *name == '/' ? name + 1 : name; p < slash;) {
        size_t k = strcspn(p, "/"); /* "layer1/layer1.0": said again */
        bool again = p + k < slash && !strncmp(p + k + 1, p, k) &&
                     p[k + 1 + k] == '.';
        if (!again)
            buf_printf(&b, "%s%.*s", b.len ? "." : "", (int)k, p);
        p += k + 1;
    }
    return buf_take(&b, c->arena);
}

/* By the node that reads a weight without a name of its own. */
static const char *key_by_use(Import *c, const Stmt *s, const Value *v)
{
    const Node *n = s->out->def;
    bool add = n && !strcmp(n->op, "Add");
    bool product = n && (strstr(n->op, "MatMul") || !strcmp(n->op, "Gemm") ||
                         strstr(n->op, "Conv") || strstr(n->op, "Linear"));
    bool row = v->shape.rank <= 1;
    bool norm = n && strstr(n->op, "Normalization");
    const char *what = (add || product) && row ? "bias"
                       : norm && v == node_in(n, 2) ? "bias"
                       : add || product || norm     ? "weight" : "constant";
    const char *key = v->shape.rank == 2 ? key_by_bias(c, s) : NULL;
    const char *path = path_of(c, n);

    return key ? key : path ? arena_printf(c->arena, "%s.%s", path, what) : what;
}

/* What exporters call what has no name. */
static bool numbered(const char *name, const char *head)
{
    size_t n = strlen(head);

    return !strncmp(name, head, n) && name[n] &&
           strspn(name + n, "0123456789") == strlen(name + n);
}

static bool nameless(const Stmt *s, const char *name)
{
    return !strncmp(name, "onnx::", 6) || strstr(name, "_output_0") ||
           !strncmp(name, "t_", 2) || isdigit((unsigned char)*name) ||
           !strncmp(name, "/", 1) ||
           (numbered(name, "val_") && is_linear(s));
}

/* No quote, brace or control character can stand in a string. */
static const char *legal_key(Import *c, const char *name)
{
    char *key = arena_strdup(c->arena, *name ? name : "weight");

    for (char *p = key; *p; p++)
        if (strchr("\"\\{}", *p) || (unsigned char)*p < ' ')
            *p = '_';
    return key;
}

static void key_param(Import *c, Map *keys, const Stmt *s, Value *v)
{
    const char *key = nameless(s, v->name) ? key_by_use(c, s, v) : v->name;
    const char *k = key = legal_key(c, key);

    for (int i = 2; map_get(keys, k); i++)
        k = arena_printf(c->arena, "%s_%d", key, i);
    map_put(keys, k, v);
    v->key = k;
}

/* The same of weights that all runs of a block read: outside. */
static bool in_block_alone(const Stmt *s, const Value *v)
{
    for (int i = 0; s->block && i < s->block->n_shared; i++)
        if (s->block->shared[i] == v)
            return false;
    return s->block != NULL;
}

void import_keys(Import *c)
{
    Map *keys = map_new(c->arena);

    for (int i = 0; i < c->n_stmt; i++) {
        Stmt *s = c->stmt[i];
        for (int k = 0; k < s->n_use; k++)
            if (s->use[k]->known && !s->use[k]->key)
                key_param(c, keys, s, s->use[k]);
    }
}

/* Some statement calls an op of this name. */
static bool called(const Import *c, const char *name)
{
    size_t n = strlen(name);

    for (int i = 0; i < c->n_stmt; i++)
        for (const char *p = c->stmt[i]->text; (p = strstr(p, name)); p += n) {
            bool whole = p == c->stmt[i]->text ||
                         !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
            if (whole && p[n] == '(')
                return true;
        }
    return false;
}

void import_names(Import *c)
{
    c->model_name = legal_name(c, c->wanted_name);
    if (called(c, c->model_name)) /* a model hides an op of its name */
        c->model_name = arena_printf(c->arena, "%s_net", c->model_name);
    map_put(c->names, c->batch_text, c);
    map_put(c->names, c->type_name, c);
    for (int i = 0; i < c->n_input; i++) {
        Value *v = c->input[i];
        v->dcl = free_name(c, v->uses ? no_index(c, v, legal_name(c, v->name))
                                      : legal_name(c, v->name));
    }
    for (int i = 0; i < c->n_output; i++) {
        Value *v = c->output[i];
        v->dcl = free_name(c, no_index(c, v, legal_name(c, v->name)));
    }
    for (int i = 0; i < c->n_stmt; i++) {
        Stmt *s = c->stmt[i];
        for (int k = 0; k < s->n_use; k++) {
            Value *v = s->use[k];
            if (v->known && !v->dcl && !in_block_alone(s, v))
                v->dcl = free_name(c, no_index(c, v,
                                               name_of_param(c, v->key)));
        }
        if (!s->out->dcl && !s->block)
            s->out->dcl =
                free_name(c, no_index(c, s->out, value_name(c, s->out)));
    }
    blocks_name(c);
}
