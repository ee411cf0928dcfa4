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

void join_twins(CudaProgram *p)
{
    Map *seen = map_new(p->graph->arena);
    int n = 0;

    for (int i = 0; i < p->n_kernel; i++) {
        Kernel *k = p->kernel[i];
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
