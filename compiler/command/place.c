#include "command/place.h"

#include "support/support.h"

#include <stdlib.h>
#include <unistd.h>

/* The folder that this program is in, or NULL. */
static const char *own_folder(Arena *a)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);

    if (n <= 0 || n == sizeof path)
        return NULL;
    while (n > 1 && path[n - 1] != '/')
        n--;
    return arena_strndup(a, path, (size_t)n - 1);
}

static bool has_runtime(Arena *a, const char *folder)
{
    return access(arena_printf(a, "%s/dcc_rt.h", folder), R_OK) == 0 &&
           access(arena_printf(a, "%s/dcc_ref.h", folder), R_OK) == 0;
}

const char *place_runtime(Arena *a, const char **looked)
{
    static const char *const beside[] = {"../share/dcc/runtime",
                                         "share/dcc/runtime", "runtime",
                                         "../runtime", NULL};
    const char *given = getenv("DCC_RUNTIME_DIR"), *own = own_folder(a);
    Buf tried = {0};

    if (given && *given) {
        *looked = given;
        return has_runtime(a, given) ? given : NULL;
    }
    for (const char *const *p = beside; own && *p; p++) {
        const char *folder = arena_printf(a, "%s/%s", own, *p);
        char *real = realpath(folder, NULL);
        const char *found = real ? arena_strdup(a, real) : NULL;
        free(real);
        if (found && has_runtime(a, found)) {
            buf_free(&tried);
            return found;
        }
        buf_printf(&tried, "%s, ", folder);
    }
    buf_puts(&tried, DCC_DATADIR "/runtime");
    *looked = buf_take(&tried, a);
    return has_runtime(a, DCC_DATADIR "/runtime") ? DCC_DATADIR "/runtime"
                                                  : NULL;
}
