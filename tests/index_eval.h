/* index_eval.h - values of index expressions and of C text, for tests.
 *
 * Variables are told apart by id; in text, variable n of the array is called
 * x, y, z for n = 0, 1, 2. */
#ifndef TEST_INDEX_EVAL_H
#define TEST_INDEX_EVAL_H

#include "compiler/index/idx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static inline int64_t eval_floor(int64_t a, int64_t d)
{
    return a / d - (a % d < 0);
}

/* The value of e where variable i is v[i]. */
static inline int64_t eval_idx(const Idx *e, const int64_t *v)
{
    int64_t sum = e->k;
    for (int i = 0; i < e->n; i++) {
        const Atom *t = e->term[i].atom;
        int64_t a = t->a ? eval_idx(t->a, v) : 0;
        int64_t b = t->b ? eval_idx(t->b, v) : 0;
        int64_t x = t->kind == ATOM_VAR     ? v[t->var->id]
                    : t->kind == ATOM_FLOOR ? eval_floor(a, t->d)
                    : t->kind == ATOM_MIN   ? (a < b ? a : b)
                                            : (a > b ? a : b);
        sum += e->term[i].c * x;
    }
    return sum;
}

/* ---- a C expression: + - * / % comparisons, calls; C's own division */

typedef struct EvalText {
    const char *s;
    const int64_t *v;
} EvalText;

static inline int64_t eval_compare(EvalText *t);

static inline bool eval_take(EvalText *t, const char *s)
{
    while (*t->s == ' ')
        t->s++;
    if (strncmp(t->s, s, strlen(s)) != 0)
        return false;
    t->s += strlen(s);
    return true;
}

static inline int64_t eval_call(EvalText *t, const char *name)
{
    int64_t a = eval_compare(t);
    eval_take(t, ",");
    int64_t b = eval_compare(t);
    if (!eval_take(t, ")"))
        abort();
    if (!strcmp(name, "min("))
        return a < b ? a : b;
    if (!strcmp(name, "max("))
        return a > b ? a : b;
    return !strcmp(name, "dcc_floordiv(") ? eval_floor(a, b)
                                          : a - b * eval_floor(a, b);
}

static inline int64_t eval_primary(EvalText *t)
{
    static const char *const calls[] = {"min(", "max(", "dcc_floordiv(",
                                        "dcc_floormod("};
    for (int i = 0; i < 4; i++)
        if (eval_take(t, calls[i]))
            return eval_call(t, calls[i]);
    if (eval_take(t, "(")) {
        int64_t x = eval_compare(t);
        if (!eval_take(t, ")"))
            abort();
        return x;
    }
    if (eval_take(t, "-"))
        return -eval_primary(t);
    if (*t->s >= 'x' && *t->s <= 'z')
        return t->v[*t->s++ - 'x'];
    if (!isdigit((unsigned char)*t->s))
        abort();
    char *end;
    int64_t x = strtoll(t->s, &end, 10);
    t->s = end;
    eval_take(t, "LL");
    return x;
}

static inline int64_t eval_product(EvalText *t)
{
    int64_t x = eval_primary(t);
    for (;;) {
        if (eval_take(t, "*"))
            x *= eval_primary(t);
        else if (eval_take(t, "/"))
            x /= eval_primary(t);
        else if (eval_take(t, "%"))
            x %= eval_primary(t);
        else
            return x;
    }
}

static inline int64_t eval_sum(EvalText *t)
{
    int64_t x = eval_product(t);
    for (;;) {
        if (eval_take(t, "+"))
            x += eval_product(t);
        else if (eval_take(t, "-"))
            x -= eval_product(t);
        else
            return x;
    }
}

static inline int64_t eval_compare(EvalText *t)
{
    int64_t x = eval_sum(t);
    if (eval_take(t, ">="))
        return x >= eval_sum(t);
    if (eval_take(t, "=="))
        return x == eval_sum(t);
    if (eval_take(t, ">"))
        return x > eval_sum(t);
    if (eval_take(t, "<"))
        return x < eval_sum(t);
    return x;
}

/* The value of C text where x, y, z are v[0], v[1], v[2]. */
static inline int64_t eval_text(const char *s, const int64_t *v)
{
    EvalText t = {s, v};
    int64_t x = eval_compare(&t);
    if (*t.s)
        abort();
    return x;
}

#endif
