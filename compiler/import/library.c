#include "import/library.h"

/* Ops begin with "op NAME(" in the first column and end with the first line
 * that ends in a brace at the outermost level; a blank line follows. */
static const char *find_op(int *i, const char *name, const char **from,
                           const char **to)
{
    const char *p = import_library_text;

    while ((p = strstr(p, "\nop "))) {
        const char *start = p + 4;
        size_t n = strcspn(start, "(");
        const char *end = strstr(start, "\n\n");
        bool hit =
            name ? strlen(name) == n && !strncmp(name, start, n) : (*i)-- == 0;
        if (!end)
            end = start + strlen(start);
        while (p > import_library_text && !(p[0] == '\n' && p[-1] == '\n'))
            p--;
        *from = p + 1;
        *to = *end ? end + 1 : end;
        if (hit)
            return start;
        p = end;
    }
    return NULL;
}

const char *library_op(Arena *a, const char *name)
{
    const char *from, *to;

    return find_op(NULL, name, &from, &to)
               ? arena_strndup(a, from, (size_t)(to - from))
               : NULL;
}

const char *library_name(Arena *a, int i)
{
    const char *from, *to, *start = find_op(&i, NULL, &from, &to);

    return start ? arena_strndup(a, start, strcspn(start, "(")) : NULL;
}
