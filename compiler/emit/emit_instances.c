#include "emit/emit.h"
#include "support/support.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The path of what an instance computes last. */
static const char *path_of(const Group *gr)
{
    for (int i = gr->n_step - 1; i >= 0; i--)
        if (gr->step[i].source && gr->step[i].source->path)
            return gr->step[i].source->path;
    return "?";
}

static int digits(const char *s)
{
    return (int)strspn(s, "0123456789");
}

/* Where the only number stands in which a and b differ, b's the greater; or
 * -1. */
static int differ_at(const char *a, const char *b)
{
    int at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    while (at > 0 && isdigit((unsigned char)a[at - 1]))
        at--;
    int in_a = digits(a + at), in_b = digits(b + at);
    return in_a && in_b && in_b < 9 && !strcmp(a + at + in_a, b + at + in_b) &&
                   atoi(a + at) < atoi(b + at) ? at : -1;
}

/* A row of instances whose paths differ in one number alone: of all from
 * `first` on that are not `listed`. */
typedef struct Row {
    const char **path; int n;
    int at; /* where the number stands */
} Row;

static void take(Row *r, Group *const *gr, int n, int first, bool *listed)
{
    r->path[0] = path_of(gr[first]);
    r->n = 1;
    for (int i = first + 1; i < n; i++) {
        const char *path = path_of(gr[i]);
        int at = listed[i] ? -1 : differ_at(r->path[r->n - 1], path);
        if (at < 0 || (r->n > 1 && at != r->at))
            continue;
        r->at = at;
        r->path[r->n++] = path;
        listed[i] = true;
    }
}

/* "{0..11}", "{1,3,5..7}". */
static void put_numbers(Buf *b, const Row *r)
{
    for (int i = 0, last; i < r->n; i = last + 1) {
        int first = atoi(r->path[i] + r->at);
        for (last = i; last + 1 < r->n; last++)
            if (atoi(r->path[last + 1] + r->at) != first + last + 1 - i)
                break;
        buf_printf(b, "%s%d", i ? "," : "{", first);
        if (last > i)
            buf_printf(b, "%s%d", last > i + 1 ? ".." : ",", first + last - i);
    }
    buf_putc(b, '}');
}

static void put_part(Buf *b, const char *s, int n)
{
    Buf part = {0};

    buf_putn(&part, s, (size_t)n);
    escape_comment(b, buf_text(&part));
    buf_free(&part);
}

void emit_instances(Buf *b, const Kernel *k)
{
    Arena *a = arena_new();
    bool *listed = arena_array(a, bool, k->n_instance);
    Row r = {.path = arena_array(a, const char *, k->n_instance)};

    for (int i = 0; i < k->n_instance; i++) {
        if (listed[i])
            continue;
        take(&r, k->instance, k->n_instance, i, listed);
        buf_puts(b, i ? ", " : "");
        if (r.n == 1) {
            escape_comment(b, r.path[0]);
            continue;
        }
        put_part(b, r.path[0], r.at);
        put_numbers(b, &r);
        escape_comment(b, r.path[0] + r.at + digits(r.path[0] + r.at));
    }
    arena_free(a);
}
