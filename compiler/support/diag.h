/* diag.h - source files, spans in them, and the messages that point there.
 *
 * A message reads
 *
 *     mlp.dcl:9:14: error: 'w1' has 2 dimensions, 3 indices are given
 *        h[i] = w1[i, 0, 0];
 *               ^~~~~~~~~~~
 *     mlp.dcl:4:9: note: 'w1' is declared here
 *
 * Errors are counted, not fatal. diag_call pushes a call site: an error inside
 * an operator of the library is then reported at the user's call first, with a
 * note for each place on the way in. A Diag owns copies of file texts. */
#ifndef DCC_DIAG_H
#define DCC_DIAG_H

#include "arena.h"
#include "buf.h"

#include <stdbool.h>

typedef struct Source {
    const char *name; /* as on the command line */
    const char *text; /* NUL-terminated */
    size_t len;
    bool library;     /* the embedded prelude */
    int id;
    const char **line; /* where each begins; n_line of them */
    int n_line;
} Source;

/* Where in a source: 1-based line and column (bytes), `len` bytes long.
 * source NULL: no place (the command line). */
typedef struct Span {
    const Source *source;
    int line, col, len;
} Span;

typedef enum { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } DiagKind;

typedef struct Diag Diag;

Diag *diag_new(Arena *a);
int diag_errors(const Diag *d);          /* how many so far */
const char *diag_text(const Diag *d);    /* all messages so far */
void diag_drop(Diag *d);                 /* nobody will see them */
void diag_flush(Diag *d);                /* prints them to stderr, once */

Source *diag_source(Diag *d, const char *name, const char *text, size_t len);
/* Where a line begins, 1 is the first; NULL: there is none. */
const char *source_line(const Source *s, int line);

/* Adds one message. After an error, notes may follow. More than 20 errors are
 * counted and not printed; a repeated message at the same place is dropped. */
void diag_error(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether no further error is going to be printed: hints can be spared. */
bool diag_full(const Diag *d);
void diag_note(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void diag_warning(Diag *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The stack of calls being elaborated; `what` names the callee. */
void diag_call(Diag *d, Span at, const char *what);
void diag_return(Diag *d);

#endif
