/* tune_files.c - a round as files: kernels, host code, Makefile (tune.h). */
#include "command/tune_priv.h"
#include "support/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static FileInfo file_info(const Tune *t, const char *name)
{
    return (FileInfo){.source = t->o->source, .command = t->o->command,
                      .target = t->o->target,
                      .sm = t->o->compile->model.device->sm, .cu_name = name,
                      .header_name = "model.h", .with_main = true};
}

/* ---- parts */

static bool name_taken(const Tune *t, const char *name)
{
    for (int i = 0; i < t->n_part; i++)
        if (!strcmp(t->part[i]->name, name))
            return true;
    return false;
}

/* The part with this text: one that is there, or a new file. */
static Part *part_of(Tune *t, const char *name, int subject, int chunk,
                     const Buf *text)
{
    uint64_t hash = hash_text(buf_text(text), text->len);

    for (int i = 0; i < t->n_part; i++)
        if (t->part[i]->hash == hash && t->part[i]->subject == subject)
            return t->part[i];
    for (int n = 2; name_taken(t, name); n++)
        name = arena_printf(t->arena, "%s_%d", name, n);
    if (!work_file(&t->build.work, arena_printf(t->arena, "%s.cu", name),
                   buf_text(text), text->len))
        return NULL;
    Part *p = arena_new_of(t->arena, Part);
    *p = (Part){.name = name, .hash = hash, .subject = subject,
                .chunk = chunk};
    VEC_PUSH(t->arena, t->part, t->n_part, t->cap_part) = p;
    return p;
}

static bool add_part(Tune *t, Round *r, const char *name, int subject,
                     int chunk, const Buf *text)
{
    Part *p = part_of(t, name, subject, chunk, text);

    if (p)
        VEC_PUSH(t->arena, r->part, r->n_part, r->cap_part) = p;
    return p != NULL;
}

/* Some kernels as one file; its text does not tell the round. */
static bool add_kernels(Tune *t, Round *r, const CudaProgram *p, int chunk,
                        Kernel *const *k, int n, int subject)
{
    FileInfo info = file_info(t, "kernels for dcc tune");
    Buf text = {0};
    const char *name =
        subject < 0 ? arena_printf(t->arena, "r%d_%d", r->number, chunk)
                    : arena_printf(t->arena, "r%d_k%d", r->number, subject);

    emit_kernels_file(&text, p, k, n, &info);
    bool ok = add_part(t, r, name, subject, chunk, &text);
    buf_free(&text);
    return ok;
}

static bool add_chunk(Tune *t, Round *r, const CudaProgram *p, int chunk)
{
    Kernel **k = arena_array(p->graph->arena, Kernel *, t->n_subject + 1);
    int n = 0, last = 0;
    bool ok = true;

    for (int i = 0; i < t->n_subject; i++) {
        if (t->subject[i].chunk != chunk)
            continue;
        k[n++] = p->kernel[last = i];
        if (r->split[chunk])
            ok = ok && add_kernels(t, r, p, chunk, &p->kernel[i], 1, i);
    }
    if (r->split[chunk] || !n)
        return ok;
    return add_kernels(t, r, p, chunk, k, n, n == 1 ? last : MANY_KERNELS);
}

static bool add_host(Tune *t, Round *r, CudaProgram *p)
{
    FileInfo info = file_info(t, "host code for dcc tune");
    Buf text = {0}, header = {0};

    emit_host_file(&text, &header, p, &info);
    bool ok = t->header || work_file(&t->build.work, info.header_name,
                                     buf_text(&header), header.len);
    t->header = ok;
    ok = ok && add_part(t, r, arena_printf(t->arena, "host%d", r->number),
                        HOST_PART, 0, &text);
    buf_free(&text);
    buf_free(&header);
    return ok;
}

/* ---- the Makefile */

/* The runtime's files as the work folder's link to it shows them: no path that
 * make would have to be told how to read. */
static const char *linked(const char *path, const char **name)
{
    *name = strrchr(path, '/') + 1;
    return "runtime";
}

static void put_runtime(Buf *b, Tune *t)
{
    static const char *const parts[] = {"base.c", "safetensors*.c", "rt*.c",
                                        NULL};
    Command c = {0};
    Buf all = {0};

    if (!t->build.gpu) { /* a first link makes the emulator's own archive */
        buf_puts(b, "runtime.a:\n\techo 'int main() { return 0; }' "
                    ">empty.cpp\n\t$(LINK) -o empty empty.cpp\n"
                    "\tar rcs $@\n\n");
        return;
    }
    driver_sources(&t->build, &c, parts);
    for (int i = 0; i < c.n; i++) {
        const char *name, *folder = linked(c.arg[i], &name);
        int stem = (int)strcspn(name, ".");
        buf_printf(&all, " lib_%.*s.o", stem, name);
        buf_printf(b, "lib_%.*s.o: %s/%s\n\t$(COMPILE) -o $@ $<\n", stem,
                   name, folder, name);
    }
    buf_printf(b, "runtime.a:%s\n\tar rcs $@%s\n\n", buf_text(&all),
               buf_text(&all));
    buf_free(&all);
}

/* A word as sh reads it, in a variable of make. */
static void put_word(Buf *b, const char *word)
{
    buf_putc(b, '\'');
    for (; *word; word++)
        if (*word == '$')
            buf_puts(b, "$$");
        else if (*word == '#')
            buf_puts(b, "\\#");
        else if (*word == '\'')
            buf_puts(b, "'\\''");
        else
            buf_putc(b, *word);
    buf_putc(b, '\'');
}

/* The words of a compiler. */
static void put_tool(Buf *b, Tune *t, const char *name, const char *tool)
{
    Command c = {0};

    command_words(&t->build.work, &c, tool);
    buf_printf(b, "%s =", name);
    for (int i = 0; i < c.n; i++) {
        buf_putc(b, ' ');
        put_word(b, c.arg[i]);
    }
    buf_putc(b, '\n');
}

static void put_tools(Buf *b, Tune *t)
{
    if (t->build.gpu) {
        put_tool(b, t, "NVCC", driver_nvcc(&t->build));
        buf_printf(b, "COMPILE = $(NVCC) -O3 -std=c++17 %s -diag-suppress "
                      "177,550 -I runtime -c\nLINK = $(NVCC) %s\n",
                   t->o->driver->arch, t->o->driver->arch);
    } else {
        buf_printf(b, "LINK = sh runtime/emu/dcc-emu-cc %s\n"
                      "COMPILE = $(LINK) -c\n",
                   driver_env("DCC_EMU_FLAGS", "-O1"));
    }
}

/* With OpenMP if the compiler has it. */
static void put_oracle(Buf *b, Tune *t)
{
    static const char *const parts[] = {"base.c", "safetensors*.c", "ref*.c",
                                        NULL};
    Command c = {0};

    driver_sources(&t->build, &c, parts);
    put_tool(b, t, "CC", driver_env("CC", "cc"));
    buf_puts(b, "ORACLE = -std=gnu11 -w -I runtime -o oracle oracle.c");
    for (int i = 0; i < c.n; i++) {
        const char *name, *folder = linked(c.arg[i], &name);
        buf_printf(b, " \\\n    %s/%s", folder, name);
    }
    buf_printf(b, " -lm\noracle: oracle.c\n\t$(CC) %s $(ORACLE) || "
                  "$(CC) -O2 $(ORACLE)\n\n", driver_ref_flags());
}

static void put_round(Buf *b, const Round *r)
{
    buf_printf(b, "round%d:", r->number);
    for (int i = 0; i < r->n_part; i++)
        buf_printf(b, " %s.o", r->part[i]->name);
    buf_puts(b, " runtime.a\n\t$(LINK) -o $@ $^\n");
}

/* A link that an earlier tuning left in a kept folder is replaced. */
static bool link_runtime(Tune *t)
{
    const char *path = work_path(&t->build.work, "runtime");
    char *real = realpath(t->build.runtime, NULL);
    struct stat st;
    bool ok = real != NULL;

    if (ok && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        unlink(path);
    ok = ok && symlink(real, path) == 0;
    if (!ok)
        say_error("'%s': %s", path, strerror(errno));
    free(real);
    return ok;
}

static bool write_makefile(Tune *t)
{
    Buf b = {0};

    if (!link_runtime(t))
        return false;
    buf_printf(&b, "# Makefile -- written by dcc tune. Round N is model %s "
                   "with other variants.\n#   ./roundN --random 1 --tune 64"
                   "  times its steps\nall: oracle", t->o->model);
    for (int i = 0; i < t->n_round; i++)
        if (t->round[i].n_part)
            buf_printf(&b, " round%d", i);
    buf_puts(&b, "\n.DELETE_ON_ERROR:\n\n");
    put_tools(&b, t);
    buf_puts(&b, "%.o: %.cu model.h\n\t$(COMPILE) -o $@ $<\n\n");
    put_runtime(&b, t);
    put_oracle(&b, t);
    for (int i = 0; i < t->n_round; i++)
        if (t->round[i].n_part)
            put_round(&b, &t->round[i]);
    bool ok = work_file(&t->build.work, "Makefile", buf_text(&b), b.len);
    buf_free(&b);
    return ok;
}

/* ---- a round */

static void put_plan(Buf *b, const Tune *t, const Round *r, Arena *a)
{
    const Selection *s = t->selection;
    PlanChoice *all = arena_array(a, PlanChoice, s->n_group + 1);

    for (int i = 0; i < t->n_subject; i++) {
        const Kernel *k = t->subject[i].kernel;
        const Trial *pick = &t->subject[i].trial[r->pick[i]];
        for (int n = 0; n < k->n_instance; n++)
            all[k->instance[n]->id] =
                (PlanChoice){pick->family, pick->variant, pick->predicted_us,
                             0};
    }
    plan_write_choices(b, s, t->o->compile->model.device->name, all);
}

/* The model compiled with a round's picks; NULL is a bug, and shown. */
static CudaProgram *compile_round(const Tune *t, const Buf *plan, Arena *a)
{
    CompileOptions o = *t->o->compile;
    Diag *d = diag_new(a);
    Report r = {0};

    o.trace = true;
    o.want_plan = o.explain = false;
    o.plan_name = "dcc tune";
    o.plan_text = buf_text(plan);
    o.plan_len = plan->len;
    CudaProgram *p = compile_model(a, d, t->o->tree, t->o->model, &o, &r);
    bool same = p && p->n_kernel == t->n_subject;
    for (int i = 0; same && i < t->n_subject; i++)
        same = !strcmp(p->kernel[i]->name, t->subject[i].kernel->name);
    if (p && !same)
        diag_error(d, (Span){0}, "a bug in dcc: a plan gives other kernels");
    if (!same)
        diag_flush(d);
    diag_drop(d);
    return same ? p : NULL;
}

bool tune_emit(Tune *t, Round *r)
{
    Arena *a = arena_new();
    Buf plan = {0};
    bool ok = true;

    for (int i = 0; i < t->n_subject; i++)
        ok = ok && r->pick[i] >= 0;
    r->n_part = 0;
    if (ok)
        put_plan(&plan, t, r, a);
    CudaProgram *p = ok ? compile_round(t, &plan, a) : NULL;
    ok = p && add_host(t, r, p);
    for (int i = 0; ok && i < t->n_chunk; i++)
        ok = add_chunk(t, r, p, i);
    ok = ok && write_makefile(t);
    buf_free(&plan);
    arena_free(a);
    return ok;
}
