/* tree_pass.c - programs on stdin, divided by bytes 1, each improved by the
 * passes of tree_pass.h, to stdout. See random_trees.py. */
#include "emit/tree_pass.h"

#include <stdio.h>

static void add(Facts *f, const char *name, int lo, int hi)
{
    Range r = range_of(lo, hi);

    r.wraps = strchr(name, '.') != NULL;
    facts_add(f, name, r);
}

int main(void)
{
    Arena *a = arena_new();
    Buf in = {0}, out = {0};

    for (int c; (c = getchar()) != EOF;)
        buf_putc(&in, (char)c);
    for (char *s = strtok(in.text, "\1"); s; s = strtok(NULL, "\1")) {
        Facts f = {.arena = a};
        add(&f, "ONE", 1, 1);
        add(&f, "FOUR", 4, 4);
        add(&f, "EIGHT", 8, 8);
        add(&f, "threadIdx.x", 0, 7);
        add(&f, "blockIdx.x", 0, 3);
        add(&f, "gridDim.x", 4, 4);
        add(&f, "blockDim.x", 8, 8);
        Tree *t = tree_parse(a, s, "a random program");
        tree_improve(t, &f);
        pass_asked(a, t);
        tree_print(&out, t);
        buf_putc(&out, 1);
    }
    fwrite(out.text, 1, out.len, stdout);
    buf_free(&in);
    buf_free(&out);
    arena_free(a);
    return 0;
}
