/* Names and escapes that emitted text is made of: no two become one, none ends
 * what it stands in. */
#include "compiler/emit/emit.h"
#include "compiler/emit/names.h"
#include "compiler/support/escape.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

static void put_random(unsigned *state, const char *from, char *s, int n)
{
    size_t many = strlen(from);

    for (int i = 0; i < n; i++)
        s[i] = from[draw(state, (unsigned)many)];
    s[n] = 0;
}

/* ---- escapes */

/* What a C compiler reads; adjacent literals are one. */
static void read_literal(const char *s, char *out)
{
    cr_assert(*s++ == '"');
    while (*s && strcmp(s, "\"")) {
        int byte = 0;
        cr_assert(strncmp(s, "?\?", 2), "a trigraph");
        if (!strncmp(s, "\"\"", 2)) {
            s += 2;
            continue;
        }
        cr_assert(*s != '"' && *s != '\n');
        if (*s != '\\') {
            *out++ = *s++;
        } else if (s[1] >= '0' && s[1] <= '3') {
            cr_assert(sscanf(s + 1, "%3o", (unsigned *)&byte) == 1);
            *out++ = (char)byte;
            s += 4;
        } else {
            cr_assert(s[1] == '"' || s[1] == '\\');
            *out++ = s[1];
            s += 2;
        }
    }
    cr_assert(!strcmp(s, "\""), "the literal is closed");
    *out = 0;
}

static const char hostile[] = "ab1 /*\\\"'?%\n\t\r\x01\x7f\x80\xc3\xa9\xff\xe2"
                              "\x80\xae{}#;,()";

Test(names, strings)
{
    unsigned state = 1;
    char s[40], back[160];

    for (int i = 0; i < 20000; i++) {
        Buf b = {0};
        put_random(&state, hostile, s, (int)draw(&state, 30));
        escape_string(&b, s);
        read_literal(buf_text(&b), back);
        cr_assert_str_eq(back, s);
        buf_free(&b);
    }
}

Test(names, comments)
{
    Arena *a = arena_new();
    unsigned state = 2;
    char s[40];

    for (int i = 0; i < 20000; i++) {
        Buf b = {0};
        put_random(&state, hostile, s, (int)draw(&state, 30));
        escape_comment(&b, s);
        const char *t = buf_text(&b);
        cr_assert(!strpbrk(t, "\n\r\t\x01\x7f"));
        cr_assert(!strstr(t, "*/") && !strstr(t, "/*") && !strstr(t, "?\?"));
        for (const char *p = t; (p = strchr(p, '\\')); p++)
            cr_assert(p[1] == 'x');
        for (const char *p = escape_ascii(a, s); *p; p++)
            cr_assert(*p >= ' ' && *p <= '~');
        for (const char *p = escape_word(a, s); *p; p++)
            cr_assert(*p > ' ' && *p <= '~' && !strchr(",:;#\"\\~", *p));
        buf_free(&b);
    }
    Buf b = {0};
    escape_comment(&b, "donn\xc3\xa9" "es.dcl");
    cr_expect_str_eq(buf_text(&b), "donn\xc3\xa9" "es.dcl");
    buf_free(&b);
    arena_free(a);
}

/* ---- names */

Test(names, reserved)
{
    static const char *const words[] = {
        "half", "errno", "co_await", "NULL", "EOF", "stdin", "linux",
        "INFINITY", "xor_eq", "dcc_x", "__x", "cudaFree", "threadIdx",
        "char8_t", "CHAR_BIT", "M_PI", "isnan", "offsetof",
    };
    Arena *a = arena_new();

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect_str_eq(names_field(a, words[i]),
                         arena_printf(a, "%s_", words[i]));
    cr_expect_str_eq(names_field(a, "x"), "x");
    cr_expect_str_eq(names_field(a, "half_"), "half__");
    cr_expect_str_eq(names_field(a, "free"), "free", "a field may be");
    cr_expect_str_eq(names_field(a, "version"), "version_", "it has one");
    cr_expect_str_eq(names_field(a, "struct_size"), "struct_size_");
    cr_expect_str_eq(names_field(a, "version_"), "version__");
    cr_expect_str_eq(names_model(a, "free"), "free_", "a model may not");
    cr_expect_str_eq(names_model(a, "timer"), "timer_", "timer_create is");
    cr_expect_str_eq(names_model(a, "mlp"), "mlp");
    arena_free(a);
}

extern const char names_words_text[];

/* Each word of the list is found in it, wherever it stands; what is said of the
 * list is none. */
Test(names, listed)
{
    Arena *a = arena_new();
    bool field = false;
    int n = 0;

    for (const char *s = names_words_text; *s;) {
        size_t len = strcspn(s, "\n");
        const char *end = s + len;
        if (*s == '#') {
            field = !strncmp(s, "# keywords", len) ||
                    !strncmp(s, "# macros", len);
            s = end;
        }
        while (s < end) {
            size_t w = strcspn(s, " \n");
            const char *word = arena_strndup(a, s, w);
            const char *other = arena_printf(a, "%s_", word);
            if (field)
                cr_assert_str_eq(names_field(a, word), other);
            cr_assert_str_eq(names_model(a, word), other);
            s += w + (s[w] == ' ');
            n++;
        }
        s = end + (*end == '\n');
    }
    cr_expect_gt(n, 4000);
    cr_expect_str_eq(names_field(a, "of"), "of");
    cr_expect_str_eq(names_field(a, "headers"), "headers");
    cr_expect_str_eq(names_field(a, "alignaz"), "alignaz");
    cr_expect_str_eq(names_field(a, "zzzz"), "zzzz");
    cr_expect_str_eq(names_field(a, "A"), "A");
    arena_free(a);
}

/* Two models, or two kernels of any two, have one name only if they are the
 * same. */
Test(names, apart)
{
    Arena *a = arena_new();
    Map *models = map_new(a), *kernels = map_new(a);
    unsigned state = 3;
    char s[16], rest[16];

    for (int i = 0; i < 40000; i++) {
        put_random(&state, i % 2 ? "ab__" : "free_", s,
                   1 + (int)draw(&state, 6));
        const char *id = names_model(a, s), *was = map_get(models, id);
        cr_assert(!was || !strcmp(was, s), "%s and %s are %s", was, s, id);
        map_put(models, id, arena_strdup(a, s));
        put_random(&state, "ab", rest, 1 + (int)draw(&state, 5));
        for (size_t j = 1; rest[j] && rest[j + 1]; j += 2)
            rest[j] = '_';
        const char *of = arena_printf(a, "%s|%s", s, rest);
        const char *k = arena_printf(a, "%s%s", names_kernels(a, s), rest);
        was = map_get(kernels, k);
        cr_assert(!was || !strcmp(was, of), "%s and %s are %s", was, of, k);
        map_put(kernels, k, (void *)of);
    }
    cr_expect_str_eq(names_needed("net", "net_run"), "run");
    cr_expect_str_eq(names_needed("net", "net_create_fast"), "create");
    cr_expect_null(names_needed("gpt2", "gpt2_decode"));
    cr_expect_null(names_needed("net", "net_runner"));
    arena_free(a);
}

Test(names, settled)
{
    Arena *a = arena_new();
    const char *x = names_mark(a, "x"), *half = names_mark(a, "half");
    const char *frag = names_mark(a, "x_frag"), *row = names_mark(a, "row");
    const char *text = arena_printf(
        a, "int row = %s[half(0)]; // lane\n%s_frag = %s; %s; s.lane = %s; "
           "\"col\"; col;", x, x, frag, row, half);
    const char *lane = names_mark(a, "lane");
    Settled n = names_settle(a, arena_printf(a, "%s %s", text, lane));

    cr_expect_str_eq(names_put(&n, text),
                     "int row = x[half(0)]; // lane\nx_frag = x_frag_; row_; "
                     "s.lane = half_; \"col\"; col;");
    cr_expect_str_eq(names_put(&n, lane), "lane", "no comment, no member");
    cr_expect_null(names_put(&n, NULL));
    cr_expect_str_eq(names_mark(a, frag), frag, "once");
    cr_expect_str_eq(names_plain(a, names_upper(a, frag)), "X_FRAG");
    arena_free(a);
}

/* A row of paths that differ in one number is one word. */
Test(names, of_instances)
{
    static const char *const path[] = {
        "h.9.w", "h.10.w", "h.11.w", "h.11.b", "a", "l1.0.c1", "l1.0.c2",
        "l1.1.c1", "x.1", "x.3", "x.4", "x.5", "x.2", "7", "y7", "y7"};
    enum { N = sizeof path / sizeof *path };
    Arena *a = arena_new();
    Kernel k = {.n_instance = N};
    Buf b = {0};

    k.instance = arena_array(a, Group *, N);
    for (int i = 0; i < N; i++) {
        Stmt *s = arena_new_of(a, Stmt);
        k.instance[i] = arena_new_of(a, Group);
        k.instance[i]->step = arena_array(a, Step, 1);
        k.instance[i]->n_step = 1;
        k.instance[i]->step[0].source = s;
        s->path = path[i];
    }
    emit_instances(&b, &k);
    cr_expect_str_eq(buf_text(&b),
                     "h.{9..11}.w, h.11.b, a, l1.0.c{1,2}, l1.1.c1, "
                     "x.{1,3..5}, x.2, 7, y7, y7");
    buf_free(&b);
    arena_free(a);
}
