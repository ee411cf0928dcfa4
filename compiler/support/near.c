#include "near.h"

#include <string.h>
#include <strings.h>

/* Edits (insert, delete, change, swap of neighbours) from a to b, both short;
 * more than `most` comes back as most + 1. */
static int distance(const char *a, const char *b, int most)
{
    enum { MAX = 40 };
    int row[3][MAX + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > MAX || m > MAX || n - m > most || m - n > most)
        return most + 1;
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && row[(i + 1) % 3][j - 2] + 1 < best)
                best = row[(i + 1) % 3][j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m] > most ? most + 1 : row[n % 3][m];
}

const char *near_name(const char *name, const char *const *names, int n)
{
    int length = (int)strlen(name);
    int most = length < 3 ? 0 : length < 6 ? 1 : 2;
    const char *best = NULL;

    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) && !strcasecmp(name, names[i]))
            return names[i];
    for (int i = 0; i < n; i++) {
        int d = distance(name, names[i], most);
        if (d && d <= most) {
            most = d - 1;
            best = names[i];
        }
    }
    return best;
}

const char *near_type(const char *name)
{
    static const char *const same[][2] = {
        {"float", "f32"}, {"float32", "f32"}, {"fp32", "f32"},
        {"float16", "f16"}, {"fp16", "f16"}, {"half", "f16"},
        {"bfloat16", "bf16"}, {"bfloat", "bf16"}, {"int8", "i8"},
        {"uint8", "u8"}, {"byte", "u8"}, {"int", "i32"}, {"int32", "i32"},
        {"i64", "i32"}, {"int64", "i32"}, {"long", "i32"},
    };

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!strcasecmp(name, same[i][0]))
            return same[i][1];
    return NULL;
}
