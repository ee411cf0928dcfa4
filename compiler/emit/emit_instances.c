#include "emit/emit.h"
#include "support/escape.h"

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

/* How many from gr[0] on differ in one number alone, at *at. */
static int count_row(Group *const *gr, int n, int *at)
{
    int k = 1;

    for (*at = -1; k < n; k++) {
        int here = differ_at(path_of(gr[k - 1]), path_of(gr[k]));
        if (here < 0 || (k > 1 && here != *at))
            break;
        *at = here;
    }
    return k;
}

/* "{0..11}", "{1,3,5..7}". */
static void put_numbers(Buf *b, Group *const *gr, int n, int at)
{
    for (int i = 0, last; i < n; i = last + 1) {
        int first = atoi(path_of(gr[i]) + at);
        for (last = i; last + 1 < n; last++)
            if (atoi(path_of(gr[last + 1]) + at) != first + last + 1 - i)
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
    for (int i = 0, n, at; i < k->n_instance; i += n) {
        const char *path = path_of(k->instance[i]);
        n = count_row(k->instance + i, k->n_instance - i, &at);
        buf_puts(b, i ? ", " : "");
        if (n == 1) {
            escape_comment(b, path);
            continue;
        }
        put_part(b, path, at);
        put_numbers(b, k->instance + i, n, at);
        escape_comment(b, path + at + digits(path + at));
    }
}
