#include "dsl.h"
#include "support/support.h"

const char *elem_name(ElemKind k)
{
    static const char *const name[] = {"f32", "f16",  "bf16",   "i8", "u8",
                                       "i32", "bool", "f8e4m3", ""};

    return name[k];
}

ElemKind elem_of(const char *name)
{
    int k = 0;

    while (k < ELEM_NAMED && strcmp(elem_name((ElemKind)k), name))
        k++;
    return (ElemKind)k;
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

const Starter *dsl_find_starter(const char *name)
{
    /* a gain of sqrt(2) is relu's; the spread of a uniform distribution is
     * sqrt(3) of its standard deviation */
    static const Starter starter[] = {
        {"zeros", START_NUMBER, FAN_NONE, 0, 0, {{"", 0}}},
        {"ones", START_NUMBER, FAN_NONE, 0, 0, {{"", 1}}},
        {"normal", START_NORMAL, FAN_NONE, 2, 1, {{"std", 0}, {"mean", 0}}},
        {"uniform", START_UNIFORM, FAN_NONE, 2, 2, {{"low", 0}, {"high", 0}}},
        {"kaiming", START_NORMAL, FAN_IN, 1, 0, {{"gain", 1.4142135623730951}}},
        {"kaiming_uniform", START_UNIFORM, FAN_IN, 1, 0,
         {{"gain", 1.4142135623730951}}},
        {"xavier", START_NORMAL, FAN_MEAN, 1, 0, {{"gain", 1}}},
        {"xavier_uniform", START_UNIFORM, FAN_MEAN, 1, 0, {{"gain", 1}}},
    };

    for (size_t i = 0; i < sizeof starter / sizeof *starter; i++)
        if (!strcmp(starter[i].name, name))
            return &starter[i];
    return NULL;
}

const char *dsl_nearest(const char *name, const char *const *names, int n)
{
    return near_name(name, names, n);
}
