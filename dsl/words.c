#include "dsl.h"

const char *elem_name(ElemKind k)
{
    static const char *const name[] = {"f32", "f16",  "bf16",   "i8", "u8",
                                       "i32", "bool", "f8e4m3", ""};

    return name[k];
}

const char *binary_name(BinaryOp op)
{
    static const char *const name[] = {"*", "/", "%", "+", "-", "<", ">",
                                       "<=", ">=", "==", "!=", "&&", "||"};

    return name[op];
}

const char *reduce_word(ReduceOp op)
{
    static const char *const name[] = {"sum", "mean",   "prod",  "max",
                                       "min", "argmax", "argmin"};

    return name[op];
}

const char *item_kind_name(ItemKind k)
{
    return k == ITEM_OP ? "op" : k == ITEM_BLOCK ? "block" : "model";
}

bool dsl_is_reserved(const char *word, size_t len)
{
    static const char *const reserved[] = {
        "op",   "block", "model", "dim",  "type", "input",   "output",
        "param", "state", "for",  "in",   "if",   "else",    "scan",
        "as",   "or",    "require", "inf", "true", "false",  "f32",
        "f16",  "bf16",  "i8",    "u8",   "i32",  "bool",    "f8e4m3",
    };

    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strlen(reserved[i]) == len && !memcmp(reserved[i], word, len))
            return true;
    return false;
}

const Function *dsl_find_function(const char *name)
{
    static const Function function[] = {
        {"abs", 1, true},        {"acos", 1, false},   {"acosh", 1, false},
        {"asin", 1, false},      {"asinh", 1, false},  {"atan", 1, false},
        {"atan2", 2, false},     {"atanh", 1, false},  {"cbrt", 1, false},
        {"ceil", 1, false},      {"copysign", 2, false}, {"cos", 1, false},
        {"cosh", 1, false},      {"erf", 1, false},    {"erfc", 1, false},
        {"exp", 1, false},       {"exp2", 1, false},   {"expm1", 1, false},
        {"fabs", 1, false},      {"fdim", 2, false},   {"floor", 1, false},
        {"fma", 3, false},       {"fmax", 2, false},   {"fmin", 2, false},
        {"fmod", 2, false},      {"hypot", 2, false},  {"lgamma", 1, false},
        {"log", 1, false},       {"log10", 1, false},  {"log1p", 1, false},
        {"log2", 1, false},      {"max", 2, true},     {"min", 2, true},
        {"nearbyint", 1, false}, {"pow", 2, false},    {"remainder", 2, false},
        {"rint", 1, false},      {"round", 1, false},  {"rsqrt", 1, false},
        {"sin", 1, false},       {"sinh", 1, false},   {"sqrt", 1, false},
        {"tan", 1, false},       {"tanh", 1, false},   {"tgamma", 1, false},
        {"trunc", 1, false},
    };

    for (size_t i = 0; i < sizeof function / sizeof *function; i++)
        if (!strcmp(function[i].name, name))
            return &function[i];
    return NULL;
}

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
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                && row[(i + 1) % 3][j - 2] + 1 < best)
                best = row[(i + 1) % 3][j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m] > most ? most + 1 : row[n % 3][m];
}

const char *dsl_nearest(const char *name, const char *const *names, int n)
{
    int length = (int)strlen(name);
    int most = length < 3 ? 0 : length < 6 ? 1 : 2;
    const char *best = NULL;

    for (int i = 0; i < n; i++) {
        int d = distance(name, names[i], most);
        if (d && d <= most) {
            most = d - 1;
            best = names[i];
        }
    }
    return best;
}
