#include "search/twins.h"

#include "support/map.h"

#include <ctype.h>
#include <string.h>

/* Text without its kernel's name, comments and what depends on the name's
 * length: lines. */
static void put_bare(Buf *b, const char *text, const char *name)
{
    size_t n = strlen(name);

    while (*text)
        if (!strncmp(text, "//", 2))
            text += strcspn(text, "\n");
        else if (!strncmp(text, name, n))
            text += n;
        else if (isspace((unsigned char)*text))
            text++;
        else
            buf_putc(b, *text++);
}

/* All that a kernel does, whatever it is called. */
static const char *bare(const CudaProgram *p, const Kernel *k)
{
    Buf text = {0}, all = {0};

    emit_kernel(&text, p, k);
    put_bare(&all, buf_text(&text), k->name);
    buf_printf(&all, " %d %zu", k->n_counters, k->workspace);
    for (int i = 0; i < k->n_arg; i++)
        buf_printf(&all, " %d", k->arg[i].use);
    buf_free(&text);
    return buf_take(&all, p->graph->arena);
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
