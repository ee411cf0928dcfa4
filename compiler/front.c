#include "front.h"

#include "model/device.h"
#include "dsl/dsl.h"
#include "support/file.h"

#include <errno.h>
#include <stdio.h>

static const Source *read_source(Diag *d, const char *name)
{
    Buf text = {0};

    if (!file_read(&text, name)) {
        diag_error(d, (Span){0}, "cannot read '%s': %s", name, file_error());
        buf_free(&text);
        return NULL;
    }
    const Source *s = diag_source(d, strcmp(name, "-") ? name : "<stdin>",
                                  buf_text(&text), text.len);
    buf_free(&text);
    return s;
}

static Program *parse(Arena *a, Diag *d, char **file, int n)
{
    const Source **source = arena_array(a, const Source *, n + 1);

    for (int i = 0; i < n; i++)
        source[i] = read_source(d, file[i]);
    return diag_errors(d) ? NULL : dsl_parse(a, d, source, n);
}

Program *front_read(Arena *a, Diag *d, char **file, int n, bool need_model)
{
    Program *p = parse(a, d, file, n);

    if (!p || diag_errors(d) || !dsl_check(a, d, p, need_model))
        return NULL;
    return p;
}

Program *front_text(Arena *a, Diag *d, const char *name, const char *text,
                    size_t len)
{
    const Source *s = diag_source(d, name, text, len);
    Program *p = dsl_parse(a, d, &s, 1);

    if (!p || diag_errors(d) || !dsl_check(a, d, p, true))
        return NULL;
    return p;
}

int front_models(Arena *a, const Program *p, const char ***name)
{
    int n = 0;

    *name = arena_array(a, const char *, p->n_item);
    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->kind == ITEM_MODEL)
            (*name)[n++] = p->item[i]->name.text;
    return n;
}

static int finish(Arena *a, Diag *d, Buf *out, int status)
{
    if (diag_errors(d))
        status = 1;
    diag_flush(d);
    if (out->len && fputs(buf_text(out), stdout) == EOF)
        status = 3;
    if (fflush(stdout))
        status = 3;
    buf_free(out);
    arena_free(a);
    return status;
}

/* dcc fmt [-i] FILE...: canonical text to standard output or in place. */
int command_fmt(int argc, char **argv)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Buf out = {0};
    bool in_place = argc > 0 && !strcmp(argv[0], "-i");
    int status = 0;

    if (argc - in_place < 1) {
        fputs("usage: dcc fmt [-i] FILE...\n", stderr);
        arena_free(a);
        return 2;
    }
    for (int i = in_place; i < argc; i++) {
        Program *p = parse(a, d, &argv[i], 1);
        if (!p || diag_errors(d))
            continue;
        Buf text = {0};
        ast_print(&text, p, NULL);
        if (!in_place)
            buf_puts(&out, buf_text(&text));
        else if (!file_write(buf_text(&text), text.len, argv[i])) {
            fprintf(stderr, "dcc: error: cannot write '%s': %s\n", argv[i],
                    strerror(errno));
            status = 3;
        }
        buf_free(&text);
    }
    return finish(a, d, &out, status);
}

/* dcc ops [NAME] */
int command_ops(int argc, char **argv)
{
    Arena *a = arena_new();
    Diag *d = diag_new(a);
    Buf out = {0};
    Program *p = dsl_parse(a, d, NULL, 0);
    int status = 0;

    dsl_check(a, d, p, false);
    if (!diag_errors(d) && !dsl_ops(&out, p, argc ? argv[0] : NULL)) {
        fprintf(stderr, "dcc: error: the library has no op '%s'\n", argv[0]);
        status = 1;
    }
    return finish(a, d, &out, status);
}

int command_devices(void)
{
    Arena *a = arena_new();

    for (int i = 0; i < device_count(); i++) {
        const Device *dev = device_find(a, device_name(a, i));
        printf("%-9s sm_%d  %3d SMs  %5.0f GB/s  %5.1f TFLOP/s f32  "
               "%4.0f f16 (mma)  %s\n",
               dev->name, dev->sm, dev->sms, dev->hbm_gbs, dev->fma_tflops,
               dev->mma_tflops, dev->title);
    }
    arena_free(a);
    return fflush(stdout) ? 3 : 0;
}
