#include "search/readable.h"

#include <string.h>

struct Readable {
    Map *noted;                   /* canonical texts */
    size_t most_map, most_reduce; /* letters of one, 0: any number */
};

enum { FRAME = 40 }; /* lines of a map or reduce kernel beside its statements */

Readable *readable_new(Arena *a)
{
    Readable *r = arena_new_of(a, Readable);

    r->noted = map_new(a);
    return r;
}

/* Of the kernel itself, from its linkage to its closing brace. */
static int kernel_lines(const Kernel *k)
{
    Buf text = {0};
    int n = 0;

    emit_kernel(&text, NULL, k);
    const char *at = strstr(text.text, "\nextern \"C\" __global__");
    const char *end = at ? strstr(at, "\n}\n") : NULL;
    for (; end && at <= end; at++)
        n += *at == '\n';
    buf_free(&text);
    return n;
}

static bool is_alone(const Selection *s, const Group *gr)
{
    int id = gr->stmt[0]->id;

    return gr->n_stmt == 1 && id < s->n_alone && s->alone[id] == gr;
}

/* Whether it is, but for names, more than what one statement takes. */
static bool may_part(Selection *s, const Group *gr, const char *key)
{
    const Graph *g = s->graph;

    if (gr->chain || is_alone(s, gr))
        return false;
    for (int i = 0; i < g->n_stmt; i++) {
        int id = g->stmt[i]->id;
        Group *one = id < s->n_alone ? s->alone[id] : NULL;
        if (one && !strcmp(choose_variant(s, one)->key, key))
            return false;
    }
    return true;
}

/* What is known of a family whose texts say something of lines. */
static size_t *most_of(Readable *r, const Family *f)
{
    return f == &family_map      ? &r->most_map
           : f == &family_reduce ? &r->most_reduce
                                 : NULL;
}

bool readable_note(Selection *s, const CudaProgram *p)
{
    Readable *r = s->options->readable;
    bool any = false;

    for (int i = 0; i < p->n_kernel; i++) {
        Kernel *k = p->kernel[i];
        const Choice *c = choose_variant(s, k->group);
        size_t *most = most_of(r, c->family);
        int lines = most ? kernel_lines(k) : 0;
        if (lines < READABLE || !may_part(s, k->group, c->key))
            continue;
        size_t n =
            strlen(c->key) * (READABLE - FRAME) / (size_t)(lines - FRAME);
        if (!*most || n < *most)
            *most = n;
        any |= !map_get(r->noted, c->key);
        map_put(r->noted, c->key, k);
    }
    return any;
}

bool readable_refuses(Selection *s, const Group *gr, const Choice *c)
{
    Readable *r = s->options->readable;

    if (!r)
        return false;
    const size_t *most = most_of(r, c->family);
    bool is_long = map_get(r->noted, c->key) ||
                   (most && *most && strlen(c->key) >= *most);
    return is_long && may_part(s, gr, c->key);
}
