#include "front.h"

#include "command/kind.h"
#include "model/model.h"
#include "dsl/dsl.h"
#include "support/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_FILES = 2000 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A program beside a name that is not there, like it. */
static const char *file_near(Arena *a, const char *name)
{
    const char *slash = strrchr(name, '/'), *near = NULL;
    char *folder = slash ? arena_strndup(a, name, (size_t)(slash - name) + 1)
                         : NULL;
    const char *whole = arena_printf(a, "%s.dcl", name);
    DIR *all = access(name, F_OK) ? opendir(folder ? folder : ".") : NULL;
    const char **file = NULL;
    int n = 0, cap = 0;

    for (struct dirent *e; all && n < MOST_FILES && (e = readdir(all));) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot && (!strcmp(dot, ".dcl") || !strcmp(dot, ".onnx")))
            VEC_PUSH(a, file, n, cap) = arena_strdup(a, e->d_name);
    }
    if (all)
        closedir(all);
    if (!access(whole, F_OK))
        return whole;
    if (n)
        qsort(file, (size_t)n, sizeof *file, by_name);
    near = near_name(slash ? slash + 1 : name, file, n);
    return near && folder ? arena_printf(a, "%s%s", folder, near) : near;
}

static const Source *read_source(Arena *a, Diag *d, const char *name)
{
    Buf text = {0};

    if (!file_read(&text, name)) {
        const char *why = file_error(), *near = file_near(a, name);
        diag_error(d, (Span){0}, "cannot read '%s': %s%s%s%s", name, why,
                   near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
        buf_free(&text);
        return NULL;
    }
    const char *kind = kind_of(buf_text(&text), text.len);
    if (kind) {
        diag_error(d, (Span){0}, "'%s' is no program (.dcl): it is %s", name,
                   kind);
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
        source[i] = read_source(a, d, file[i]);
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

/* ---- dcc fmt, ops, devices */

static int flush_out(Buf *out, int status)
{
    fputs(buf_text(out), stdout);
    buf_free(out);
    return status;
}

/* One file's canonical text to where it goes: 0, or an exit status. */
static int format_one(Diag *d, const char *name, const Program *p,
                      const Source *source, bool in_place, bool check, Buf *out)
{
    Buf text = {0};
    int status = 0;

    ast_print(&text, p, NULL);
    if (check) {
        if (strcmp(buf_text(&text), source->text)) {
            buf_printf(out, "%s\n", name);
            status = 1;
        }
    } else if (!in_place || !strcmp(name, "-")) {
        buf_puts(out, buf_text(&text));
    } else if (!file_write(buf_text(&text), text.len, name)) {
        say_error("cannot write '%s': %s", name, file_error());
        status = 3;
    }
    (void)d;
    buf_free(&text);
    return status;
}

int command_fmt(Arena *a, Diag *d, char **file, int n, bool in_place,
                bool check)
{
    Buf out = {0};
    int status = 0;

    if (!n) {
        say_error("dcc fmt wants a FILE, or - for standard input");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        const Source *source = read_source(a, d, file[i]);
        Program *p = source ? dsl_parse(a, d, &source, 1) : NULL;
        if (!p || diag_errors(d))
            continue;
        int one = format_one(d, file[i], p, source, in_place, check, &out);
        status = one > status ? one : status;
    }
    if (diag_errors(d) && !status)
        status = 1;
    return flush_out(&out, status);
}

/* The op of the library most like a name. */
static const char *near_op(Arena *a, const Program *p, const char *name)
{
    const char **names = arena_array(a, const char *, p->n_item + 1);
    int n = 0;

    for (int i = 0; i < p->n_item; i++)
        if (p->item[i]->kind != ITEM_MODEL)
            names[n++] = p->item[i]->name.text;
    return near_name(name, names, n);
}

int command_ops(Arena *a, Diag *d, char **name, int n)
{
    Program *p = dsl_parse(a, d, NULL, 0);
    Buf out = {0};
    int status = 0;

    dsl_check(a, d, p, false);
    if (diag_errors(d))
        return 70;
    if (!n)
        dsl_ops(&out, p, NULL);
    for (int i = 0; i < n; i++) {
        if (out.len)
            buf_putc(&out, '\n');
        if (dsl_ops(&out, p, name[i]))
            continue;
        const char *near = near_op(a, p, name[i]);
        say_error("the library has no op '%s'%s%s%s", name[i],
                  near ? "; did you mean '" : "", near ? near : "",
                  near ? "'?" : "");
        status = 1;
    }
    return flush_out(&out, status);
}

static void put_device(const Device *dev)
{
    int n, guesses = 0;

    device_keys(&n);
    for (int i = 0; i < n; i++)
        guesses += dev->source[i] == FROM_GUESS;
    printf("%-9s sm_%d  %3d SMs  %5.0f GB/s  %5.1f TFLOP/s f32  "
           "%4.0f f16 (mma)  %2d of %d guessed  %s\n",
           dev->name, dev->sm, dev->sms, dev->hbm_gbs, dev->fma_tflops,
           dev->mma_tflops, guesses, n, dev->title);
}

/* A GPU's figures, whose they are and what they mean. */
static void put_figures(const Device *dev)
{
    int n;
    const DeviceKey *k = device_keys(&n);

    put_device(dev);
    for (int i = 0; i < n; i++)
        printf("  %-20s %8g %-11s %-9s  %s%s%s\n", k[i].name,
               device_figure(dev, &k[i]), k[i].unit,
               source_name(dev->source[i]), k[i].meaning,
               *dev->remark[i] ? "; " : "", dev->remark[i]);
}

/* A GPU by its name or file; NULL after saying why not. */
static const Device *named_device(Arena *a, const char *name)
{
    const char **all = arena_array(a, const char *, device_count() + 1);
    const char *why;
    const Device *dev = device_file(a, name, &why);

    if (dev || why) {
        if (!dev)
            say_error("%s: %s", name, why);
        return dev;
    }
    if ((dev = device_find(a, name)))
        return dev;
    for (int i = 0; i < device_count(); i++)
        all[i] = device_name(a, i);
    const char *near = near_name(name, all, device_count());
    say_error("unknown GPU '%s'%s%s%s", name, near ? "; did you mean '" : "",
              near ? near : "", near ? "'?" : "");
    return NULL;
}

int command_devices(Arena *a, char **name, int n)
{
    int status = 0;

    for (int i = 0; i < device_count() && !n; i++)
        put_device(device_find(a, device_name(a, i)));
    if (!n)
        printf("dcc devices GPU: its figures, and which are measured, "
               "published, fitted or guessed\n");
    for (int i = 0; i < n; i++) {
        const Device *dev = named_device(a, name[i]);
        if (dev)
            put_figures(dev);
        else
            status = 1;
    }
    return status;
}
