/* options_table.h - the commands and their options, once: what is parsed, what
 * --help shows, what the shells complete and what a near name is. */
#ifndef DCC_OPTIONS_TABLE_H
#define DCC_OPTIONS_TABLE_H

typedef enum {
    COMMAND_COMPILE, COMMAND_RUN, COMMAND_VERIFY, COMMAND_TUNE, COMMAND_BENCH,
    COMMAND_TRAIN, COMMAND_REPORT, COMMAND_BUILD, COMMAND_IMPORT, COMMAND_FMT,
    COMMAND_OPS, COMMAND_DEVICES, COMMAND_PROBE, COMMAND_COMPLETION,
    COMMAND_HELP
} CommandId;

typedef struct CommandRow {
    const char *name;    /* "" for the one without */
    const char *usage;   /* what follows the name */
    const char *summary;
    const char *about;   /* sentences for --help, or "" */
    CommandId id;
} CommandRow;

extern const CommandRow command_table[]; /* ends with name NULL */

typedef enum {
    O_OUT, O_DEFINE, O_TARGET, O_MODEL, O_MATH, O_DEPENDENT, O_MEMORY,
    O_MAIN, O_STANDALONE, O_TRACE, O_EMIT, O_PLAN, O_WRITE_PLAN, O_VARIANT,
    O_RANDOM_PLAN, O_DUMP, O_EXPLAIN, O_MD, O_MF, O_WEIGHTS, O_IN, O_RESULT,
    O_CPU, O_GPU, O_RANDOM, O_BENCH, O_RUNS, O_JSON, O_SEED, O_VERBOSE,
    O_SEQUENCE, O_FEED, O_WARM_UP, O_STREAMS, O_PROFILE, O_TIMES, O_BUDGET,
    O_JOBS, O_GRADIENTS, O_DATA, O_STEPS, O_SAVE, O_RESUME, O_VALIDATE,
    O_VALIDATE_WITH, O_EVERY, O_SET,
    O_VARIANTS, O_KEEP, O_DIM, O_BIND, O_NAME, O_IN_PLACE, O_CHECK, O_HELP,
    O_VERSION
} OptionId;

/* What a value is, for completion. */
typedef enum { VALUE_NONE, VALUE_TEXT, VALUE_FILE, VALUE_FOLDER, VALUE_GPU,
               VALUE_WORD, VALUE_PASS,
               VALUE_MAYBE /* a word, after = only */ } ValueKind;

typedef struct OptionRow {
    const char *name;  /* as it is spelled: "-o", "--target" */
    const char *value; /* "FILE", or words to choose from: "cu|ref"; NULL:
                          none */
    ValueKind kind;
    unsigned of;       /* commands: bits 1 << CommandId */
    OptionId id;
    const char *help;
} OptionRow;

extern const OptionRow option_table[]; /* ends with name NULL */

const CommandRow *command_find(const char *name); /* NULL: there is none */
/* The row of that spelling, of that command if it has it, else of any. */
const OptionRow *option_find(const char *name, CommandId command);
/* "dcc run", "dcc MODEL.dcl" */
const char *command_title(CommandId id);

#endif
