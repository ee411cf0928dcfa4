#include "search/twins.h"

#include "emit/emit.h"
#include "support/support.h"

#include <ctype.h>
#include <string.h>

typedef struct Bare {
    Buf text;
    const Kernel *kernel;
    Arena *arena;
    Map *given; /* a user's names: their numbers in the order in which they
                   come, from 1; 0: did not come yet */
    int n;
} Bare;

/* Whether what follows in a text is a member of another struct than the shared
 * memory's: vectors' are x and y whatever tensors are called. */
static bool is_member(const char *from, const char *at)
{
    const char shared[] = "smem.";
    const size_t n = sizeof shared - 1;

    if (at == from || (at[-1] != '.' && at[-1] != '>'))
        return false;
    return (size_t)(at - from) < n || strncmp(at - n, shared, n) != 0;
}

/* The word at `at`, of n letters: a user's name as a number. */
static void put_word(Bare *b, const char *from, const char *at, size_t n)
{
    int *number = map_get(b->given, arena_strndup(b->arena, at, n));

    if (!number || is_member(from, at)) {
        buf_putn(&b->text, at, n);
        return;
    }
    if (!*number)
        *number = ++b->n;
    buf_printf(&b->text, "#%d ", *number);
}

/* Text without its kernel's name, comments, what tensors are called and what
 * depends on the names' length: lines. */
static void put_bare(Bare *b, const char *text)
{
    const char *name = b->kernel->name, *from = text;
    size_t n = strlen(name), word;

    for (; *text; text += word) {
        for (word = 0; names_letter(text[word]);)
            word++;
        if (!strncmp(text, "//", 2)) {
            word = strcspn(text, "\n");
        } else if (!strncmp(text, name, n)) {
            word = n;
        } else if (word) {
            put_word(b, from, text, word);
        } else {
            word = 1;
            if (!isspace((unsigned char)*text))
                buf_putc(&b->text, *text);
        }
    }
}

/* All that a kernel does, whatever it is called. */
static const char *bare(const CudaProgram *p, const Kernel *k)
{
    Arena *a = arena_new();
    Bare b = {.kernel = k, .arena = a, .given = map_new(a)};
    Buf text = {0};

    for (int i = 0; i < k->n_given; i++)
        map_put(b.given, k->given[i], arena_new_of(a, int));
    emit_kernel(&text, p, k);
    put_bare(&b, buf_text(&text));
    buf_printf(&b.text, " %d %zu", k->n_counters, k->workspace);
    for (int i = 0; i < k->n_arg; i++)
        buf_printf(&b.text, " %d", k->arg[i].use);
    buf_free(&text);
    arena_free(a);
    return buf_take(&b.text, p->graph->arena);
}

static void launch_instead(Launch *l, int n, const Kernel *k, Kernel *first)
{
    for (int i = 0; i < n; i++)
        if (l[i].kernel == k)
            l[i].kernel = first;
}

static void join(CudaProgram *p, const Kernel *k, Kernel *first)
{
    for (int i = 0; i < k->n_instance; i++) {
        k->instance[i]->kernel = first;
        VEC_PUSH(p->graph->arena, first->instance, first->n_instance,
                 first->cap_instance) = k->instance[i];
    }
    launch_instead(p->load, p->n_load, k, first);
    launch_instead(p->run, p->n_run, k, first);
}

/* The same of all twins, and of few that are not: it is had without a text. */
static const char *shape(const CudaProgram *p, const Kernel *k)
{
    return arena_printf(p->graph->arena, "%d %d %d %d %lld %d %d %d",
                        k->grid[0], k->grid[1], k->grid[2],
                        k->block, (long long)k->smem_bytes, k->n_arg,
                        k->n_constant, k->n_map);
}

typedef struct Shape {
    int kernels;
} Shape;

/* By kernel: how many have its shape. */
static Shape **count_shapes(const CudaProgram *p)
{
    Arena *a = p->graph->arena;
    Shape **of = arena_array(a, Shape *, p->n_kernel + 1);
    Map *shapes = map_new(a);

    for (int i = 0; i < p->n_kernel; i++) {
        const char *key = shape(p, p->kernel[i]);
        of[i] = map_get(shapes, key);
        if (!of[i])
            map_put(shapes, key, of[i] = arena_new_of(a, Shape));
        of[i]->kernels++;
    }
    return of;
}

void join_twins(CudaProgram *p)
{
    Map *seen = map_new(p->graph->arena);
    Shape **of = count_shapes(p);
    int n = 0;

    for (int i = 0; i < p->n_kernel; i++) {
        Kernel *k = p->kernel[i];
        if (of[i]->kernels == 1) {
            p->kernel[n++] = k;
            continue;
        }
        const char *text = bare(p, k);
        Kernel *first = map_get(seen, text);
        if (first) {
            join(p, k, first);
            continue;
        }
        map_put(seen, text, k);
        p->kernel[n++] = k;
    }
    p->n_kernel = n;
}
