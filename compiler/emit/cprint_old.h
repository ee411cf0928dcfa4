/* cprint_old.h - cprint.h for families whose code is still put together as
 * text. It goes with the last of them. */
#ifndef DCC_CPRINT_OLD_H
#define DCC_CPRINT_OLD_H

#include "emit/cprint.h"
#include "emit/tree_quote.h"

static inline const char *old_took(Buf *b, Tree *t, const char *text)
{
    tree_print(b, t);
    return text;
}

static inline const char *old_digit(Buf *b, int64_t below, int64_t extent)
{
    if (below > 1)
        buf_printf(b, " / %lld", (long long)below);
    if (extent > 0)
        buf_printf(b, " %% %lld", (long long)extent);
    return "";
}

#define OLD_LIST(p) tree_list((p)->graph->arena)
#define OLD_BIND(f, b, p, ...)                                \
    ({                                                        \
        Tree *old_list = OLD_LIST(p);                         \
        const char *old_text = f(old_list, (p), __VA_ARGS__); \
        old_took((b), old_list, old_text);                    \
    })
#define OLD_PUT(f, b, p, ...)          \
    ({                                 \
        Tree *old_list = OLD_LIST(p);  \
        f(old_list, (p), __VA_ARGS__); \
        tree_print((b), old_list);     \
    })

#define cprint_idx(b, ...) buf_puts((b), (cprint_idx)(__VA_ARGS__))
#define cprint_element(b, ...) buf_puts((b), (cprint_element)(__VA_ARGS__))
#define cprint_at(b, ...) buf_puts((b), (cprint_at)(__VA_ARGS__))
#define cprint_guard(b, ...) buf_puts((b), (cprint_guard)(__VA_ARGS__))
#define cprint_condition(b, ...) buf_puts((b), (cprint_condition)(__VA_ARGS__))
#define cprint_expr(b, ...) buf_puts((b), (cprint_expr)(__VA_ARGS__))
#define cprint_digit(b, ...) old_digit((b), __VA_ARGS__)
#define cprint_bind(...) OLD_BIND(cprint_bind, __VA_ARGS__)
#define cprint_bind_name(...) OLD_BIND(cprint_bind_name, __VA_ARGS__)
#define cprint_bind_idx(...) OLD_PUT(cprint_bind_idx, __VA_ARGS__)
#define cprint_bind_guard(...) OLD_PUT(cprint_bind_guard, __VA_ARGS__)
#define cprint_store(...) OLD_PUT(cprint_store, __VA_ARGS__)
#define kernel_phase(g, k, label, b)  \
    (kernel_phase)((g), (k), (label), \
                   tree_parse((g)->arena, buf_text(b), (k)->name))

#endif
