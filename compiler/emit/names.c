#include "emit/names.h"

#include <ctype.h>
#include <string.h>

extern const char names_words_text[]; /* words.txt */
extern const size_t names_words_len;

enum { MARK = 0x80 };

/* ---- letters ------------------------------------------------------------ */

bool names_letter(char c)
{
    unsigned char u = (unsigned char)c & (MARK - 1);

    return isalnum(u) || u == '_';
}

static bool is_marked(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] & MARK)
            return true;
    return false;
}

/* s as an identifier, without a mark. */
static char *identifier(Arena *a, const char *s)
{
    bool bare = !*s || isdigit((unsigned char)*s);
    char *id = arena_printf(a, "%s%s", bare ? "t" : "", s);

    for (char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return id;
}

const char *names_mark(Arena *a, const char *s)
{
    if (is_marked(s, strlen(s)))
        return s;
    char *id = identifier(a, s);
    char *last = id + strlen(id) - 1;

    *last = (char)((unsigned char)*last | MARK);
    return id;
}

const char *names_plain(Arena *a, const char *s)
{
    char *id = arena_strdup(a, s);

    for (char *c = id; *c; c++)
        *c = (char)((unsigned char)*c & (MARK - 1));
    return id;
}

const char *names_upper(Arena *a, const char *s)
{
    char *id = arena_strdup(a, s);

    for (char *c = id; *c; c++) {
        unsigned char mark = (unsigned char)*c & MARK;
        *c = (char)(mark | toupper((unsigned char)*c & (MARK - 1)));
    }
    return id;
}

/* ---- reserved words ----------------------------------------------------- */

/* Names that begin so are the toolkit's, the runtime's, the emulator's or the
 * implementation's (tools/names.py leaves them out of the list). None of those
 * ends in _. */
static bool is_theirs(const char *id)
{
    static const char *const begin[] = {
        "_", "dcc_", "DCC_", "cuda", "CUDA", "CU", "rt_", "nv_", "NV_",
        "omp_", "emu_", "Emu", "pthread_", "PTHREAD_", "atomic_", "ATOMIC_",
    };

    if (id[strlen(id) - 1] == '_')
        return false;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (!strncmp(id, begin[i], strlen(begin[i])))
            return true;
    return (!strncmp(id, "cu", 2) || !strncmp(id, "Rt", 2)) &&
           isupper((unsigned char)id[2]);
}

static WordList words_of(const char *part)
{
    const char *from = strstr(names_words_text, part) + strlen(part);
    const char *to = strstr(from, "\n#");

    return (WordList){from, to ? to : names_words_text + names_words_len};
}

static Reserved reserved(void)
{
    return (Reserved){words_of("\n# keywords\n"), words_of("\n# macros\n")};
}

/* Whether id is one of the words; so: or the beginning of one. */
static bool is_listed(WordList w, const char *id, bool begins)
{
    size_t n = strlen(id);

    while (w.from < w.to) {
        const char *word = w.from + (w.to - w.from) / 2;
        while (word > w.from && !isspace((unsigned char)word[-1]))
            word--;
        size_t len = strcspn(word, " \n");
        int order = strncmp(word, id, n);
        if (!order && (begins || len == n))
            return true;
        if (order < 0)
            w.from = word + len + 1;
        else
            w.to = word > w.from ? word - 1 : w.from;
    }
    return false;
}

static bool is_reserved(Reserved words, const char *id)
{
    return is_theirs(id) || is_listed(words.keywords, id, false) ||
           is_listed(words.macros, id, false);
}

/* Whether id, or a name that begins with id and _, is global already. */
static bool is_global(Arena *a, const char *id)
{
    WordList globals = words_of("\n# globals\n");

    return is_reserved(reserved(), id) || is_listed(globals, id, false) ||
           is_listed(globals, arena_printf(a, "%s_", id), true);
}

/* id without the underscores at its end. */
static const char *stem(Arena *a, const char *id)
{
    size_t n = strlen(id);

    while (n > 1 && id[n - 1] == '_')
        n--;
    return arena_strndup(a, id, n);
}

/* A name whose stem is reserved has one underscore more than the user gave it,
 * so that no two become one. */
/* DCC_HEAD_FIELDS of dcc_rt.h */
static bool is_head(const char *id)
{
    return strcmp(id, "struct_size") == 0 || strcmp(id, "version") == 0;
}

const char *names_field(Arena *a, const char *s)
{
    const char *id = identifier(a, s);

    return is_reserved(reserved(), stem(a, id)) || is_head(stem(a, id))
               ? arena_printf(a, "%s_", id) : id;
}

const char *names_model(Arena *a, const char *s)
{
    const char *id = identifier(a, s);

    return is_global(a, stem(a, id)) ? arena_printf(a, "%s_", id) : id;
}

/* What follows it has no two underscores in a row and begins with none: the
 * last two in a row are the end of a model's name that has an underscore. */
const char *names_kernels(Arena *a, const char *model)
{
    const char *id = names_model(a, model);

    return arena_printf(a, "%s%s", id, strchr(id, '_') ? "__" : "_");
}

const char *names_needed(const char *model, const char *other)
{
    static const char *const words[] = {
        "bind", "context", "create", "desc", "destroy", "error", "info",
        "inputs", "launch", "load", "options", "outputs", "params", "reset",
        "run", "save", "sizes", "states", "status", "step", "trace", "update",
        "version", "warm", "weights", "workspace",
    };
    size_t n = strlen(model);

    if (strncmp(other, model, n) || other[n] != '_')
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = strlen(words[i]);
        if (!strncmp(other + n + 1, words[i], k) &&
            (!other[n + 1 + k] || other[n + 1 + k] == '_'))
            return words[i];
    }
    return NULL;
}

/* ---- a finished text ---------------------------------------------------- */

/* The length of the comment or literal at s; 0: it is something else. */
static size_t no_code(const char *s)
{
    size_t n = 1;

    if (s[0] == '/' && s[1] == '/')
        return strcspn(s, "\n");
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s + 2, "*/");
        return end ? (size_t)(end + 2 - s) : strlen(s);
    }
    if (*s != '"' && *s != '\'')
        return 0;
    while (s[n] && s[n] != *s && s[n] != '\n')
        n += 1 + (s[n] == '\\' && s[n + 1]);
    return n + (s[n] == *s);
}

static size_t word_at(const char *s)
{
    size_t n = 0;

    while (names_letter(s[n]))
        n++;
    return n;
}

/* Notes the words of s[0, n): without marks in `own`, if they are code. */
static void note_words(Settled *t, const char *s, size_t n, bool code,
                       Buf *marked)
{
    for (size_t i = 0, w; i < n; i += w ? w : 1) {
        w = word_at(s + i);
        bool member = i && (s[i - 1] == '.' ||
                            (i > 1 && s[i - 1] == '>' && s[i - 2] == '-'));
        if (!w || isdigit((unsigned char)s[i]))
            continue;
        const char *word = arena_strndup(t->arena, s + i, w);
        if (is_marked(word, w) && !map_get(t->name, word)) {
            map_put(t->name, word, (void *)word);
            buf_printf(marked, "%s ", word);
        } else if (code && !member && !is_marked(word, w)) {
            map_put(t->own, word, (void *)word);
        }
    }
}

static const char *free_name(const Settled *t, const char *plain)
{
    const char *id = plain;

    for (int n = 1; is_reserved(t->reserved, id) || map_get(t->own, id); n++)
        id = n == 1 ? arena_printf(t->arena, "%s_", plain)
                    : arena_printf(t->arena, is_theirs(plain) ? "%s_%d_"
                                                              : "%s_%d",
                                   plain, n);
    return id;
}

Settled names_settle(Arena *a, const char *text)
{
    Settled t = {.arena = a, .own = map_new(a), .name = map_new(a),
                 .reserved = reserved()};
    Buf marked = {0};

    for (const char *s = text; *s;) {
        size_t skip = no_code(s), n = skip;
        while (!n || (!skip && s[n] && !no_code(s + n)))
            n++;
        note_words(&t, s, n, !skip, &marked);
        s += n;
    }
    for (const char *s = buf_text(&marked); *s;) {
        size_t n = strcspn(s, " ");
        const char *word = arena_strndup(a, s, n);
        const char *id = free_name(&t, names_plain(a, word));
        map_put(t.own, id, (void *)id);
        map_put(t.name, word, (void *)id);
        VEC_PUSH(a, t.given, t.n_given, t.cap_given) = id;
        s += n + 1;
    }
    buf_free(&marked);
    return t;
}

const char *names_put(const Settled *t, const char *s)
{
    Buf b = {0};

    if (!s || !is_marked(s, strlen(s)))
        return s;
    while (*s) {
        size_t n = word_at(s);
        const char *id = NULL;
        if (n && is_marked(s, n))
            id = map_get(t->name, arena_strndup(t->arena, s, n));
        if (id)
            buf_puts(&b, id);
        else
            buf_putn(&b, s, n ? n : 1);
        s += n ? n : 1;
    }
    return buf_take(&b, t->arena);
}
