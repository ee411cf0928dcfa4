/* help.h - what dcc says of itself. */
#ifndef DCC_HELP_H
#define DCC_HELP_H

#include "options_table.h"
#include "support/support.h"

void help_all(Buf *b);                   /* dcc --help */
void help_command(Buf *b, CommandId id); /* dcc run --help */
void help_version(Buf *b, Arena *a);
/* The script that completes dcc's words in "bash" or "zsh"; false: another
 * shell. */
bool help_completion(Buf *b, Arena *a, const char *shell);

#endif
