/* tree_quote.h - code with holes: how families write code.
 *
 * A hole is `@NAME@`, or `@name` where no letter follows. Alone on its line it
 * is a place for statements, elsewhere for tokens; next to a word (`load_@X@`)
 * it makes one word with it. In a comment its text goes in.
 *
 *     Tree *loop = QUOTE(a, "for (int @i = 0; @i < @n; ++@i) {\n"
 *                           "    @BODY\n"
 *                           "}\n",
 *                        FILL("i", index), FILL("n", extent),
 *                        FILL_TREE("BODY", body));
 *     tree_add(phase, loop);
 *
 * PUT(phase, "...", ...) appends at once. TEMPLATE(a, "name", ...) is a
 * template (template.h).
 *
 * A loop or branch whose body is one hole has braces if what goes in is more
 * than a statement. A filling is text of the language of tree.h, or a tree; ""
 * leaves nothing. A hole without a filling is a defect of dcc (status 70), and
 * so is "" in a name's, `load_@X@` or `@X@_tile`. A template is a quotation in a
 * file (template.h). */
#ifndef DCC_TREE_QUOTE_H
#define DCC_TREE_QUOTE_H

#include "emit/tree.h"

typedef struct Fill {
    const char *name;
    const char *text; /* or: */
    const Tree *tree; /* copied; or neither: */
    long long number;
} Fill;

#define FILL(name, text) ((Fill){(name), (text), NULL, 0})
#define FILL_TREE(name, tree) ((Fill){(name), NULL, (tree), 0})
#define FILL_INT(name, n) ((Fill){(name), NULL, NULL, (n)})
#define FILLS(...)               \
    (const Fill[]){__VA_ARGS__}, \
        (int)(sizeof((const Fill[]){__VA_ARGS__}) / sizeof(Fill))
#define QUOTE(a, text, ...) tree_quote((a), (text), FILLS(__VA_ARGS__))
#define PUT(list, text, ...) tree_put((list), (text), FILLS(__VA_ARGS__))

Tree *tree_quote(Arena *a, const char *text, const Fill *fill, int n);
void tree_put(Tree *list, const char *text, const Fill *fill, int n);
/* Fills the holes of a tree, in place. */
void tree_fill(Arena *a, Tree *t, const Fill *fill, int n, const char *what);

#endif
