/* names.h - what a user's tensors, indices and models are called in emitted
 * text.
 *
 * While a text is made, a user's name is one with a mark: the last letter has
 * its high bit set. What is derived from it ("x_frag") keeps the mark where it
 * stands, so it is nobody else's either: not the user's own x_frag, and not
 * one of the words that dcc itself writes, which have no mark. When the text
 * is finished, and only then, names_settle gives each marked identifier the
 * name without marks, or the first of x_, x_2, x_3, ... that is neither
 * reserved nor any other identifier of that text.
 *
 * Reserved are the keywords of C and C++ and the macros of the headers that
 * emitted text includes (words.txt, which tools/names.py makes of the
 * compilers' own headers), and what begins like the runtime's or CUDA's names.
 * A model's name is global, and the beginning of global names: it also keeps
 * clear of all that those headers declare and libc exports. */
#ifndef DCC_EMIT_NAMES_H
#define DCC_EMIT_NAMES_H

#include "support/support.h"

#include <stdbool.h>

/* s, marked, as an identifier: what may not be in one becomes _. s as it is if
 * it has a mark already. */
const char *names_mark(Arena *a, const char *s);
/* s without marks. */
const char *names_plain(Arena *a, const char *s);
/* In upper case, marks kept. */
const char *names_upper(Arena *a, const char *s);
/* Whether c may stand in an identifier, marked or not. */
bool names_letter(char c);

/* A part of words.txt, in the order of strcmp. */
typedef struct WordList {
    const char *from, *to;
} WordList;

typedef struct Reserved {
    WordList keywords, macros;
} Reserved;

/* What the marked identifiers of a text will be called. */
typedef struct Settled {
    Arena *arena;
    Map *own;  /* identifiers without a mark */
    Map *name; /* of a marked one; and the names given, so that each is once */
    const char **given; /* these names alone */
    int n_given, cap_given;
    Reserved reserved;
} Settled;
Settled names_settle(Arena *a, const char *text);
/* s with each marked identifier replaced; NULL stays NULL. */
const char *names_put(const Settled *n, const char *s);

/* Names outside of kernels: a field or parameter; a model, whose functions are
 * <name>_create, ...: of two models none gets the other's name. */
const char *names_field(Arena *a, const char *s);
const char *names_model(Arena *a, const char *s);
/* The beginning of the names of a model's kernels: those of no two models are
 * the same, nor one of a model's functions. */
const char *names_kernels(Arena *a, const char *model);
/* The word after <model>_ in the names that a model of that name needs or may
 * need, if `other` is such a name; else NULL. */
const char *names_needed(const char *model, const char *other);

#endif
