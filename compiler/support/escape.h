/* escape.h - foreign text (names of files and weights, paths, source lines) in
 * what dcc writes, so that it is read back as it was and ends nothing early. */
#ifndef DCC_ESCAPE_H
#define DCC_ESCAPE_H

#include "buf.h"

/* As a literal of C and C++, quotes included: any bytes but NUL. */
void escape_string(Buf *b, const char *s);
/* As a string of JSON, quotes included, that may stand in a page's script:
 * what is no UTF-8 is U+FFFD. */
void escape_json(Buf *b, const char *s);
/* In a comment of either kind: no line end, comment sign, backslash, trigraph
 * or control character is left, nor what is no UTF-8 or turns the direction
 * of writing; those are \xNN. */
void escape_comment(Buf *b, const char *s);
/* The same in ASCII alone, for text that is still being made (names.h). */
const char *escape_ascii(Arena *a, const char *s);
/* A double as C reads it back, infinite or not. */
void escape_number(Buf *b, double x);
/* As a shell's word: in quotes where it is no plain name or number. */
void escape_shell(Buf *b, const char *s);
/* As one word of a line: blanks and what separates words are %NN. */
const char *escape_word(Arena *a, const char *s);

#endif
