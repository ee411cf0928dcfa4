/* front.h - files to a checked tree, for those who never look inside it. */
#ifndef DCC_FRONT_H
#define DCC_FRONT_H

#include "support/support.h"

struct Program;

/* Reads, parses and checks; several files are one program. NULL after errors
 * in d; a file that cannot be read is one, at the command line. */
struct Program *front_read(Arena *a, Diag *d, char **file, int n,
                           bool need_model);
/* The same of one text, for tests: `name` stands for the file's. */
struct Program *front_text(Arena *a, Diag *d, const char *name,
                           const char *text, size_t len);
/* The models of the user's files, in order. */
int front_models(Arena *a, const struct Program *p, const char ***name);

/* The commands that need no more than the tree. Exit statuses. */
int command_fmt(Arena *a, Diag *d, char **file, int n, bool in_place,
                bool check);
int command_ops(Arena *a, Diag *d, char **name, int n);
int command_devices(Arena *a, char **name, int n);

#endif
