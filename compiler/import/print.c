#include "import/emit.h"
#include "import/block.h"
#include "import/library.h"
#include "import/names.h"

#include "safetensors.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 84, NESTED = 4 };

/* ---- what is put where it is read --------------------------------------- */

typedef struct Use {
    Stmt *by;
    int times, bind;
} Use;

static int slot_number(const char *p)
{
    return (p[1] - 1) * SLOT_BASE + p[2] - 1;
}

static void put_expr(Import *c, Buf *b, const Stmt *s);

static void put_slot(Import *c, Buf *b, const Stmt *s, const char *p)
{
    Value *v = s->use[slot_number(p)];
    Bind bind = (Bind)(p[3] - 1);

    if (v->stmt && v->stmt->gone) {
        bool brackets = v->stmt->bind < bind;
        if (brackets)
            buf_putc(b, '(');
        put_expr(c, b, v->stmt);
        if (brackets)
            buf_putc(b, ')');
        return;
    }
    buf_puts(b, v->dcl);
}

static void put_expr(Import *c, Buf *b, const Stmt *s)
{
    for (const char *p = s->text; *p; p++) {
        if (*p != SLOT) {
            buf_putc(b, *p);
            continue;
        }
        put_slot(c, b, s, p);
        p += SLOT_SIZE - 1;
    }
}

static int nesting(const Stmt *s)
{
    int most = 0;

    for (int i = 0; i < s->n_use; i++) {
        const Stmt *d = s->use[i]->stmt;
        int n = d && d->gone ? 1 + nesting(d) : 0;
        most = n > most ? n : most;
    }
    return most;
}

static size_t width(Import *c, const Stmt *s)
{
    Buf b = {0};
    size_t n;

    put_expr(c, &b, s);
    n = b.len;
    buf_free(&b);
    return n;
}

/* Values that one whole definition reads once go there, while the line stays
 * one that can be read. */
static void put_inside(Import *c)
{
    for (int i = 0; i < c->n_stmt; i++)
        for (int k = 0; k < c->stmt[i]->n_use; k++)
            c->stmt[i]->use[k]->uses = 0;
    for (int i = 0; i < c->n_stmt; i++)
        for (const char *p = c->stmt[i]->text; *p && !c->stmt[i]->again; p++)
            if (*p == SLOT) {
                Stmt *s = c->stmt[i];
                s->use[slot_number(p)]->uses += 1 + (p[3] - 1 == BIND_NAME);
                p += SLOT_SIZE - 1;
            }
    for (int i = 0; i < c->n_stmt; i++) {
        Stmt *s = c->stmt[i];
        if (s->left || s->shaped || s->again)
            continue;
        for (int k = 0; k < s->n_use; k++) {
            Value *v = s->use[k];
            Stmt *d = v->stmt;
            if (!d || d->left || d->typed || v->is_output || v->uses != 1 ||
                d->block != s->block || d->closed)
                continue;
            d->gone = true;
            if (width(c, s) > LINE || nesting(s) > NESTED)
                d->gone = false;
        }
    }
}

/* ---- statements --------------------------------------------------------- */

void print_stmt(Import *c, Buf *out, const Stmt *s, const char *indent,
                const char *word)
{
    const Value *v = s->out;
    const char *type = s->type ? s->type : type_text(c, v->type);

    buf_printf(out, "%s%s%s%s", indent, word, v->dcl, s->left ? s->left : "");
    if (s->shaped)
        buf_printf(out, " : %s%s", type,
                   v->shape.rank ? shape_text(c, &v->shape) : "");
    else if (s->typed)
        buf_printf(out, " : %s", type);
    buf_puts(out, " = ");
    put_expr(c, out, s);
    buf_puts(out, ";\n");
}

void print_param(Import *c, Buf *out, Value *v, const char *indent,
                 const char *key)
{
    buf_printf(out, "%sparam %s : %s%s", indent, v->dcl, type_text(c, v->type),
               v->shape.rank ? shape_text(c, &v->shape) : "");
    if (strcmp(v->dcl, key))
        buf_printf(out, " = \"%s\"", key);
    buf_puts(out, ";\n");
}

/* The weights that a statement reads first, before it. */
static void print_params(Import *c, Buf *out, const Stmt *s)
{
    for (int k = 0; k < s->n_use; k++) {
        Value *v = s->use[k];
        if (v->stmt && v->stmt->gone)
            print_params(c, out, v->stmt);
        if (v->known && v->is_param && !v->printed) {
            v->printed = true;
            print_param(c, out, v, "  ", v->key);
        }
    }
}

bool stmt_reads(const Stmt *s, const Value *v)
{
    for (int k = 0; k < s->n_use; k++)
        if (s->use[k] == v || (s->use[k]->stmt && s->use[k]->stmt->gone &&
                               stmt_reads(s->use[k]->stmt, v)))
            return true;
    return false;
}

/* A block's calls, and the weights that all of them read. */
static void print_shared(Import *c, Buf *out, const Block *b)
{
    for (int i = 0; i < b->n_shared; i++) {
        Value *v = b->shared[i];
        if (v->known && !v->printed) {
            v->printed = true;
            print_param(c, out, v, "  ", v->key);
        }
    }
    block_print_calls(c, out, b);
}

static void print_inputs(Import *c, Buf *out)
{
    for (int i = 0; i < c->n_input; i++) {
        const Value *v = c->input[i];
        buf_printf(out, "  input %s : %s%s", v->dcl, type_text(c, v->type),
                   v->shape.rank ? shape_text(c, &v->shape) : "");
        if (v->below)
            buf_printf(out, " in 0..%lld", (long long)v->below);
        buf_puts(out, ";\n");
    }
}

static void print_model(Import *c, Buf *out)
{
    buf_printf(out, "model %s {\n", c->model_name);
    if (c->has_batch)
        buf_printf(out, "  dim %s = 1;\n", c->batch_text);
    if (c->uses_type)
        buf_printf(out, "  type %s = %s;\n", c->type_name,
                   c->float_type == OT_FLOAT16    ? "f16"
                   : c->float_type == OT_BFLOAT16 ? "bf16"
                                                  : "f32");
    print_inputs(c, out);
    for (int i = 0; i < c->n_stmt; i++) {
        Stmt *s = c->stmt[i];
        if (s->block && i == s->block->first)
            print_shared(c, out, s->block);
        if (s->gone || s->block)
            continue;
        print_params(c, out, s);
        print_stmt(c, out, s, "  ", s->out->is_output ? "output " : "");
    }
    buf_puts(out, "}\n");
}

/* ---- the library's ops that the text calls ------------------------------- */

static void find_calls(Import *c, Map *need, const char *text)
{
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (n && p[n] == '(') {
            const char *name = arena_strndup(c->arena, p, n);
            const char *op = library_op(c->arena, name);
            if (op && !map_get(need, name)) {
                map_put(need, name, (void *)op);
                find_calls(c, need, op);
            }
        }
        p += n ? n : 1;
    }
}

static void print_library(Import *c, Buf *out, const char *text)
{
    Map *need = map_new(c->arena);
    const char *name;

    find_calls(c, need, text);
    for (int i = 0; (name = library_name(c->arena, i)); i++)
        if (map_get(need, name))
            buf_printf(out, "%s\n", (const char *)map_get(need, name));
}

/* `type E` only where the text says E. */
static bool says_type(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = text; (p = strstr(p, name)); p++) {
        bool before = p > text && (isalnum((unsigned char)p[-1]) ||
                                   p[-1] == '_' || p[-1] == '"');
        bool after = isalnum((unsigned char)p[n]) || p[n] == '_';
        if (!before && !after)
            return true;
    }
    return false;
}

void import_print(Import *c, Buf *out)
{
    Buf model = {0}, blocks = {0};

    import_names(c);
    put_inside(c);
    c->uses_type = true;
    blocks_print(c, &blocks);
    print_model(c, &model);
    for (int i = 0; i < c->n_stmt; i++)
        for (int k = 0; k < c->stmt[i]->n_use; k++)
            c->stmt[i]->use[k]->printed = false;
    const char *decl = strstr(buf_text(&model), "\n  type ");
    if (!says_type(strchr(decl, '='), c->type_name)) {
        model.len = 0;
        c->uses_type = false;
        print_model(c, &model);
    }
    buf_putn(&blocks, buf_text(&model), model.len);
    const char *base = strrchr(c->path, '/');
    buf_printf(out, IMPORT_TEXT_BEGIN "%s.\n", base ? base + 1 : c->path);
    print_library(c, out, buf_text(&blocks));
    buf_putn(out, buf_text(&blocks), blocks.len);
    buf_free(&model);
    buf_free(&blocks);
}

/* ---- weights ------------------------------------------------------------ */

static dcc_st_dtype file_type(OnnxType t)
{
    static const dcc_st_dtype of[OT_TYPES] = {
        [OT_FLOAT] = DCC_ST_F32,     [OT_UINT8] = DCC_ST_U8,
        [OT_INT8] = DCC_ST_I8,       [OT_UINT16] = DCC_ST_U16,
        [OT_INT16] = DCC_ST_I16,     [OT_INT32] = DCC_ST_I32,
        [OT_INT64] = DCC_ST_I64,     [OT_BOOL] = DCC_ST_BOOL,
        [OT_FLOAT16] = DCC_ST_F16,   [OT_DOUBLE] = DCC_ST_F64,
        [OT_UINT32] = DCC_ST_U32,    [OT_UINT64] = DCC_ST_U64,
        [OT_BFLOAT16] = DCC_ST_BF16,
    };

    return of[t];
}

/* i32 is what integers become: all must fit. */
static bool narrow(Import *c, const Value *v)
{
    const Const *k = v->known;

    if (!onnx_is_int(v->type) || onnx_type_size(v->type) < 4 ||
        v->type == OT_INT32)
        return true;
    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++) {
        int64_t x = known_int(k, i);
        if (x < INT32_MIN || x > INT32_MAX) {
            import_error(c, v->def, "constant '%s' has %lld, which is no i32",
                         v->name, (long long)x);
            return false;
        }
    }
    return true;
}

/* Rows as columns, in pieces that stay in the cache. */
static const void *turn(const Value *v, unsigned char *to)
{
    enum { PIECE = 32 };
    size_t size = (size_t)onnx_type_size(v->type);
    size_t rows = (size_t)v->shape.dim[0], columns = (size_t)v->shape.dim[1];
    const unsigned char *from = v->known->raw;

    for (size_t i0 = 0; i0 < rows; i0 += PIECE)
        for (size_t j0 = 0; j0 < columns; j0 += PIECE)
            for (size_t i = i0; i < rows && i < i0 + PIECE; i++)
                for (size_t j = j0; j < columns && j < j0 + PIECE; j++)
                    memcpy(to + (i * columns + j) * size,
                           from + (j * rows + i) * size, size);
    return to;
}

/* Turned weights lie in a file that has no name: they are no second copy in
 * memory that the system cannot take back. */
static unsigned char *scratch(Import *c, size_t n, const char *beside)
{
    char *name = arena_printf(c->arena, "%s.XXXXXX", beside);
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int fd = n ? mkstemp(name) : -1;
    if (fd >= 0)
        unlink(name);
    sigprocmask(SIG_SETMASK, &before, NULL);
    void *p = MAP_FAILED;
    if (fd >= 0) {
        if (!ftruncate(fd, (off_t)n))
            p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    return p == MAP_FAILED ? arena_alloc(c->arena, n) : p;
}

/* A splat in full, a turned matrix as it is written. */
static const void *all_elements(Import *c, const Value *v, const char *path)
{
    const Const *k = v->known;
    size_t size = (size_t)onnx_type_size(k->type);

    if (k->turned)
        return turn(v, scratch(c, size * (size_t)k->n, path));
    if (!k->splat)
        return k->raw;
    unsigned char *p = arena_alloc(c->arena, size * (size_t)k->n);
    for (int64_t i = 0; i < k->n; i++)
        memcpy(p + (size_t)i * size, k->raw, size);
    return p;
}

int import_write_weights(Import *c, const char *path)
{
    static const char *const made_by[] = IMPORT_MADE_BY;
    Map *done = map_new(c->arena);
    dcc_st_out *out = NULL;
    int n = 0, cap = 0;

    for (int i = 0; i < c->n_stmt; i++)
        for (int k = 0; k < c->stmt[i]->n_use; k++) {
            const Value *v = c->stmt[i]->use[k];
            if (!v->known || !v->is_param || map_get(done, v->key))
                continue;
            map_put(done, v->key, c);
            if (!narrow(c, v))
                return 1;
            VEC_PUSH(c->arena, out, n, cap) =
                (dcc_st_out){v->key, file_type(v->type), v->shape.rank,
                             v->shape.dim, all_elements(c, v, path)};
        }
    if (dcc_st_write(path, out, n, made_by, 1) == DCC_OK)
        return 0;
    import_error(c, NULL, "%s", dcc_error());
    return 3;
}
