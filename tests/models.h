/* models.h - for tests of the passes: models from text and from files. */
#ifndef DCC_TEST_MODELS_H
#define DCC_TEST_MODELS_H

#include "compiler/compile.h"
#include "compiler/model/device.h"
#include "compiler/front.h"
#include "compiler/rewrite/normalise.h"
#include "compiler/rewrite/number.h"
#include "compiler/rewrite/simplify.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Fixture {
    Arena *arena;
    Diag *diag;
} Fixture;

static inline Fixture fixture(void)
{
    Arena *a = arena_new();

    return (Fixture){a, diag_new(a)};
}

static inline struct Program *program_of(Fixture *f, const char *text)
{
    struct Program *p = front_text(f->arena, f->diag, "t.dcl", text,
                                   strlen(text));

    cr_assert(p, "%s", diag_text(f->diag));
    return p;
}

/* The first model of a text, as lowered. */
static inline Graph *lowered(Fixture *f, const char *text)
{
    struct Program *p = program_of(f, text);
    const char **model;

    cr_assert(front_models(f->arena, p, &model) > 0);
    Graph *g = lower_model(f->arena, f->diag, p, model[0], NULL, 0);
    cr_assert(g, "%s", diag_text(f->diag));
    return g;
}

/* The passes up to simplify. */
static inline void simplified(Graph *g)
{
    tidy(g, NULL);
    number(g);
    simplify(g);
}

static inline CompileOptions compile_options(Fixture *f)
{
    CompileOptions o = {0};

    o.model.device = device_find(f->arena, "h200");
    return o;
}

static inline CudaProgram *compiled(Fixture *f, const char *text, Report *r,
                                    const CompileOptions *o)
{
    struct Program *p = program_of(f, text);
    const char **model;

    front_models(f->arena, p, &model);
    return compile_model(f->arena, f->diag, p, model[0], o, r);
}

/* What a model of these statements becomes. */
static inline CudaProgram *compiled_body(Fixture *f, const char *body,
                                         const CompileOptions *o)
{
    const char *text = arena_printf(f->arena, "model m { %s }", body);
    Report r = {0};
    CudaProgram *p = compiled(f, text, &r, o);

    cr_assert(p, "%s: %s", body, diag_text(f->diag));
    return p;
}

static inline const char *source_dir(void)
{
    const char *dir = getenv("DCC_SRC");

    return dir ? dir : ".";
}

static inline bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);

    return n > k && !strcmp(name + n - k, end);
}

static inline int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The .dcl files of a folder of the source tree, sorted. */
static inline int models_in(Arena *a, const char *folder, const char ***list)
{
    DIR *dir = opendir(arena_printf(a, "%s/%s", source_dir(), folder));
    int n = 0;

    cr_assert_not_null(dir, "no folder %s", folder);
    *list = arena_array(a, const char *, 256);
    for (struct dirent *e; (e = readdir(dir)) && n < 256;)
        if (ends_in(e->d_name, ".dcl"))
            (*list)[n++] = arena_printf(a, "%s/%s/%s", source_dir(), folder,
                                        e->d_name);
    closedir(dir);
    qsort(*list, (size_t)n, sizeof **list, by_name);
    return n;
}

/* Compiles every model of a file, one arena each, and calls `look`. Models
 * that are not supported yet are left out. */
static inline int each_model_for(const char *target, const char *path,
                                 uint64_t random_plan,
                                 void (*look)(const CudaProgram *,
                                              const char *))
{
    Fixture f = fixture();
    char *file[] = {(char *)path};
    struct Program *p = front_read(f.arena, f.diag, file, 1, true);
    const char **model;
    int n = 0, done = 0;

    if (p)
        n = front_models(f.arena, p, &model);
    for (int i = 0; i < n; i++) {
        Fixture own = fixture();
        CompileOptions o = compile_options(&own);
        Report r = {0};
        o.model.device = device_find(own.arena, target);
        o.random_plan = random_plan;
        p = front_read(own.arena, own.diag, file, 1, true);
        CudaProgram *c = compile_model(own.arena, own.diag, p, model[i], &o,
                                       &r);
        cr_assert(c || strstr(diag_text(own.diag), "not supported yet"),
                  "%s: %s", path, diag_text(own.diag));
        if (c) {
            look(c, path);
            done++;
        }
        arena_free(own.arena);
    }
    arena_free(f.arena);
    return done;
}

static inline int each_model(const char *path, uint64_t random_plan,
                             void (*look)(const CudaProgram *, const char *))
{
    return each_model_for("h200", path, random_plan, look);
}

#endif
