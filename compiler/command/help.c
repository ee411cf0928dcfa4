#include "command/help.h"

#include "command/place.h"
#include "compile.h"
#include "model/model.h"
#include "version.h"

#include <string.h>

enum { WIDTH = 79 };
static const char HELP_INDENT[] = "                          ";

/* ---- usage */

static const CommandRow *row_of(CommandId id)
{
    const CommandRow *c = command_table;

    while (c->id != id)
        c++;
    return c;
}

/* Words from HELP_INDENT's end on, in lines. */
static void put_words(Buf *b, size_t column, const char *text)
{
    if (column + 2 > strlen(HELP_INDENT)) {
        buf_putc(b, '\n');
        column = 0;
    }
    buf_puts(b, HELP_INDENT + column);
    buf_wrap(b, text, HELP_INDENT, WIDTH);
    buf_putc(b, '\n');
}

static void put_option(Buf *b, const OptionRow *o)
{
    size_t before = b->len;
    const char *short_name = o->id == O_HELP      ? "-h, "
                             : o->id == O_VERSION ? "-V, "
                                                  : "";

    buf_printf(b, "  %s%s", short_name, o->name);
    if (o->value)
        buf_printf(b, o->kind == VALUE_MAYBE  ? "[=%s]"
                      : o->name[1] == '-' ? "=%s" : " %s", o->value);
    Buf help = {0};
    buf_puts(&help, o->help);
    for (int i = 0; o->kind == VALUE_PASS && dump_passes[i]; i++)
        buf_printf(&help, "%s %s", i ? "," : ":", dump_passes[i]);
    put_words(b, b->len - before, buf_text(&help));
    buf_free(&help);
}

static void put_options(Buf *b, CommandId id)
{
    for (const OptionRow *o = option_table; o->name; o++)
        if (o->help && o->of & 1u << id)
            put_option(b, o);
}

static void put_usage(Buf *b, const CommandRow *c, const char *lead)
{
    buf_printf(b, "%sdcc%s%s %s\n", lead, *c->name ? " " : "", c->name,
               c->usage);
}

void help_command(Buf *b, CommandId id)
{
    const CommandRow *c = row_of(id);

    if (id == COMMAND_COMPILE || id == COMMAND_HELP) {
        help_all(b);
        return;
    }
    put_usage(b, c, "usage: ");
    buf_printf(b, "%s\n\n", c->about);
    put_options(b, id);
}

void help_all(Buf *b)
{
    const CommandRow *first = row_of(COMMAND_COMPILE);

    put_usage(b, first, "usage: ");
    buf_printf(b, "       dcc COMMAND ...\n%s\n\n", first->about);
    for (const CommandRow *c = command_table + 1; c->name; c++) {
        size_t before = b->len;
        buf_printf(b, "  dcc %s", c->name);
        put_words(b, b->len - before, c->summary);
    }
    buf_puts(b, "\ndcc COMMAND --help has a command's options. Without "
                "one:\n\n");
    put_options(b, COMMAND_COMPILE);
}

void help_version(Buf *b, Arena *a)
{
    const char *looked, *runtime = place_runtime(a, &looked);

    buf_printf(b,
               "dcc " DCC_VERSION "\n"
               "  built by    %s %s, for Linux on %s\n"
               "  targets     sm_70 to sm_90a; default h200\n"
               "  runtime     %s\n",
#ifdef __clang__
               "clang",
#else
               "gcc",
#endif
               __VERSION__,
#ifdef __x86_64__
               "x86_64",
#elif defined(__aarch64__)
               "aarch64",
#else
               "another processor",
#endif
               runtime ? runtime : "not found");
}

/* ---- completion */

static void put_commands(Buf *b)
{
    for (const CommandRow *c = command_table + 1; c->name; c++)
        buf_printf(b, "%s%s", c == command_table + 1 ? "" : " ", c->name);
}

/* The options of a command, those with a value as `--name=`. */
static void put_names(Buf *b, CommandId id)
{
    bool first = true;

    for (const OptionRow *o = option_table; o->name; o++)
        if (o->of & 1u << id) {
            buf_printf(b, "%s%s%s", first ? "" : " ", o->name,
                       o->value && o->name[1] == '-' ? "=" : "");
            first = false;
        }
}

/* "cu|ref" with blanks */
static void put_choices(Buf *b, const char *value)
{
    for (; *value; value++)
        buf_putc(b, *value == '|' ? ' ' : *value);
}

static void put_gpus(Buf *b, Arena *a)
{
    for (int i = 0; i < device_count(); i++)
        buf_printf(b, "%s ", device_name(a, i));
    buf_puts(b, "sm_70 sm_75 sm_80 sm_86 sm_89 sm_90");
}

static void put_passes(Buf *b)
{
    for (int i = 0; dump_passes[i]; i++)
        buf_printf(b, "%s%s", i ? " " : "", dump_passes[i]);
}

typedef struct Shell {
    const char *words, *after; /* around words to choose from */
    const char *files, *folders;
} Shell;

static bool is_repeated(const OptionRow *o)
{
    for (const OptionRow *k = option_table; k < o; k++)
        if (!strcmp(k->name, o->name))
            return true;
    return false;
}

/* What may follow an option, as a branch of the shell's `case`. */
static void put_values(Buf *b, Arena *a, const Shell *shell)
{
    for (const OptionRow *o = option_table; o->name; o++) {
        if (!o->value || o->kind == VALUE_TEXT || o->kind == VALUE_MAYBE ||
            is_repeated(o))
            continue;
        buf_printf(b, "        %s) ", o->name);
        if (o->kind == VALUE_FILE || o->kind == VALUE_FOLDER) {
            buf_puts(b, o->kind == VALUE_FILE ? shell->files : shell->folders);
        } else {
            buf_puts(b, shell->words);
            if (o->kind == VALUE_GPU)
                put_gpus(b, a);
            else if (o->kind == VALUE_PASS)
                put_passes(b);
            else
                put_choices(b, o->value);
            buf_puts(b, shell->after);
        }
        buf_puts(b, " ;;\n");
    }
}

static void put_by_command(Buf *b)
{
    for (const CommandRow *c = command_table + 1; c->name; c++) {
        buf_printf(b, "        %s) words=\"", c->name);
        put_names(b, c->id);
        buf_puts(b, "\" ;;\n");
    }
    buf_puts(b, "        *) words=\"");
    put_names(b, COMMAND_COMPILE);
    buf_puts(b, "\" ;;\n");
}

static void put_bash(Buf *b, Arena *a)
{
    buf_puts(b, "# bash completion for dcc: eval \"$(dcc completion bash)\"\n"
                "_dcc()\n{\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} option= words=\n"
                "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    COMPREPLY=()\n"
                "    if [[ $word == = ]]; then option=$before word=\n"
                "    elif [[ $before == = ]]; then\n"
                "        option=${COMP_WORDS[COMP_CWORD-2]}\n"
                "    else option=$before; fi\n"
                "    words=\n"
                "    case $option in\n");
    put_values(b, a,
               &(Shell){"words=\"", "\"", "compopt -o default; return",
                        "compopt -o dirnames; return"});
    buf_puts(b, "    esac\n"
                "    if [[ -n $words ]]; then\n"
                "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                "        return\n    fi\n"
                "    case ${COMP_WORDS[1]} in\n");
    put_by_command(b);
    buf_puts(b, "    esac\n    if [[ $word == -* ]]; then\n"
                "        compopt -o nospace 2>/dev/null\n"
                "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                "        [[ ${COMPREPLY[0]} == *= ]] || compopt +o nospace "
                "2>/dev/null\n"
                "        return\n    fi\n    [[ $COMP_CWORD == 1 ]] &&\n"
                "        COMPREPLY=($(compgen -W \"");
    put_commands(b);
    buf_puts(b, "\" -- \"$word\"))\n    compopt -o filenames 2>/dev/null\n"
                "    COMPREPLY+=($(compgen -f -X '!*.dcl' -- \"$word\")\n"
                "        $(compgen -d -- \"$word\"))\n}\n"
                "complete -F _dcc dcc\n");
}

static void put_zsh(Buf *b, Arena *a)
{
    buf_puts(b, "#compdef dcc\n"
                "# zsh completion for dcc: eval \"$(dcc completion zsh)\"\n"
                "_dcc()\n{\n"
                "    local option=$words[CURRENT-1] given=$words[2]\n"
                "    [[ $PREFIX == --*=* ]] && {\n"
                "        option=${PREFIX%%=*}\n        compset -P '*='\n"
                "    }\n    case $option in\n");
    put_values(b, a,
               &(Shell){"compadd -- ", "; return", "_files; return",
                        "_files -/; return"});
    buf_puts(b, "    esac\n    local words=\n    case $given in\n");
    put_by_command(b);
    buf_puts(b, "    esac\n    [[ $PREFIX == -* ]] && {\n"
                "        compadd -S '' -- ${=words}; return\n    }\n"
                "    (( CURRENT == 2 )) && compadd -- ");
    put_commands(b);
    buf_puts(b, "\n    _files -g '*.dcl'\n}\ncompdef _dcc dcc\n");
}

bool help_completion(Buf *b, Arena *a, const char *shell)
{
    if (!strcmp(shell, "bash"))
        put_bash(b, a);
    else if (!strcmp(shell, "zsh"))
        put_zsh(b, a);
    else
        return false;
    return true;
}
