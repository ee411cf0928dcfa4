#include "import/import.h"

#include "command/output.h"
#include "import/ir.h"
#include "safetensors.h"
#include "support/support.h"

#include "import/names.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct ImportLine {
    const char *path, *out, *weights, *bind, *name;
    Dim *dim;
    int n_dim, cap_dim;
    bool done;
    bool derived;            /* the caller said neither name */
} ImportLine;

static const char usage[] =
    "usage: dcc import [options] MODEL.onnx -o MODEL.dcl\n"
    "\n"
    "  -o FILE          the .dcl; its weights go beside it, MODEL.safetensors\n"
    "  --dim NAME=N     fixes a symbolic size; NAME is the file's, or INPUT.K\n"
    "                   for size K of an input (a first size that is not\n"
    "                   fixed becomes `dim B`)\n"
    "  --bind FILE      inputs that decide shapes, from a .safetensors file\n"
    "  --weights FILE   writes the weights there\n"
    "  --name NAME      the model's name in the .dcl\n";

bool import_is_onnx(const char *path)
{
    size_t n = strlen(path);

    return n > 5 && !strcmp(path + n - 5, ".onnx");
}

static int bad(const char *fmt, const char *text)
{
    fputs("dcc: error: ", stderr);
    fprintf(stderr, fmt, text);
    fputs("\n", stderr);
    return 2;
}

static int add_dim(Arena *a, ImportLine *l, const char *text)
{
    const char *eq = strrchr(text, '=');
    char *end = NULL;
    long long v = eq ? strtoll(eq + 1, &end, 10) : 0;

    if (!eq || eq == text || end == eq + 1 || *end || v < 0 || v >= 1 << 30)
        return bad("--dim wants NAME=N, not '%s'", text);
    VEC_PUSH(a, l->dim, l->n_dim, l->cap_dim) =
        (Dim){arena_strndup(a, text, (size_t)(eq - text)), v};
    return 0;
}

static int parse(Arena *a, int argc, char **argv, ImportLine *l)
{
    static const struct option known[] = {
        {"dim", required_argument, NULL, 'd'},
        {"bind", required_argument, NULL, 'b'},
        {"weights", required_argument, NULL, 'w'},
        {"name", required_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int o;

    optind = 1;
    opterr = 0;
    while ((o = getopt_long(argc, argv, ":o:h", known, NULL)) != -1) {
        int status = 0;
        switch (o) {
        case 'o':
            l->out = optarg;
            break;
        case 'b':
            l->bind = optarg;
            break;
        case 'w':
            l->weights = optarg;
            break;
        case 'n':
            l->name = optarg;
            break;
        case 'd':
            status = add_dim(a, l, optarg);
            break;
        case 'h':
            fputs(usage, stdout);
            l->done = true;
            return fflush(stdout) ? 3 : 0;
        case ':':
            return bad("option '%s' wants a value", argv[optind - 1]);
        default:
            return bad("unknown option '%s'", argv[optind - 1]);
        }
        if (status)
            return status;
    }
    if (argc - optind != 1)
        return bad("%s", "dcc import wants one .onnx file");
    l->path = argv[optind];
    if (!strcmp(l->path, "-") && (!l->out || !strcmp(l->out, "-")))
        return bad("%s", "a model from standard input wants -o MODEL.dcl");
    return 0;
}

#if DCC_HAVE_PROTOBUF_C
static const char *beside(Arena *a, const char *path, const char *end)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool cut = dot && (!slash || dot > slash);

    return arena_printf(a, "%.*s%s",
                        (int)(cut ? dot - path : (int)strlen(path)), path, end);
}

static const char *base_of(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    return beside(a, slash ? slash + 1 : path, "");
}

/* A file whose name the caller did not say is written over only where an
 * import made it: it begins with `mark` after `skip` bytes. */
static bool may_write(Import *c, const char *path, bool said, size_t skip,
                      const char *mark)
{
    char begin[80] = "";
    size_t n = strlen(mark);
    FILE *f = said ? NULL : fopen(path, "rb");

    if (!f)
        return true;
    bool ours = fread(begin, 1, skip + n, f) == skip + n &&
                !memcmp(begin + skip, mark, n);
    fclose(f);
    if (ours && !skip)
        import_note(c, "'%s', of an earlier import, is written anew", path);
    else if (!ours)
        import_error(c, NULL,
                     "'%s' is there already, and no import made it; -o says "
                     "where the result goes", path);
    return ours;
}

static int write_both(Import *c, const Buf *text, const ImportLine *l)
{
    const char *out =
        l->out ? l->out : beside(c->arena, base_of(c->arena, l->path), ".dcl");
    const char *named = strcmp(out, "-") ? out : base_of(c->arena, l->path);
    const char *weights =
        l->weights ? l->weights : beside(c->arena, named, ".safetensors");

    bool said = l->out && !l->derived;
    const UsedFile in[] = {{l->path, "the model to import"},
                           {l->bind, "what --bind names"}};
    const UsedFile to[] = {{out, "the .dcl"}, {weights, "the weights"}};

    int status = output_check(in, 2, to, 2);
    if (status)
        return status;
    if (!may_write(c, out, said, 0, IMPORT_TEXT_BEGIN) ||
        !may_write(c, weights, l->weights && !l->derived, 8,
                   IMPORT_WEIGHTS_BEGIN))
        return 1;
    bool new = strcmp(weights, "-") && access(weights, F_OK) != 0;
    status = import_write_weights(c, weights);
    if (status)
        return status;
    if (file_write(buf_text(text), text->len, out))
        return 0;
    if (new) /* both or none */
        unlink(weights);
    import_error(c, NULL, "cannot write '%s': %s", out, file_error());
    return 3;
}

static int run_import(Arena *a, const ImportLine *l)
{
    Import c = {.arena = a,
                .path = l->path,
                .dim = l->dim,
                .n_dim = l->n_dim,
                .names = map_new(a),
                .asked = map_new(a)};
    Buf text = {0};
    dcc_st_file *bind = NULL;
    int status = 1;

    if (l->bind && dcc_st_open(&bind, l->bind) != DCC_OK) {
        fprintf(stderr, "dcc: error: %s\n", dcc_error());
        return 1;
    }
    c.bind = bind;
    bool named = l->out && strcmp(l->out, "-");
    c.wanted_name = l->name ? l->name : base_of(a, named ? l->out : l->path);
    if (import_read(&c) && import_text(&c, &text))
        status = write_both(&c, &text, l);
    fputs(buf_text(&c.messages), stderr);
    buf_free(&c.messages);
    buf_free(&text);
    dcc_st_close(bind);
    return status;
}
#else
static int run_import(Arena *a, const ImportLine *l)
{
    (void)a;
    (void)l;
    fputs("dcc: error: this dcc was built without protobuf-c, which import "
          "needs; install protobuf-c-compiler and libprotobuf-c-dev, then "
          "configure and build again\n",
          stderr);
    return 3;
}
#endif

int import_file(Arena *a, const ImportRequest *r)
{
    ImportLine l = {.path = r->onnx, .out = r->dcl, .weights = r->weights,
                    .bind = r->bind, .name = r->name, .derived = true};

    for (int i = 0; i < r->n_dim; i++) {
        int status = add_dim(a, &l, r->dim[i]);
        if (status)
            return status;
    }
    return run_import(a, &l);
}

int command_import(int argc, char **argv)
{
    Arena *a = arena_new();
    ImportLine l = {0};
    int status = parse(a, argc, argv, &l);

    if (!status && !l.done)
        status = run_import(a, &l);
    arena_free(a);
    return status;
}
