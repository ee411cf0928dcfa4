/* map.h - what the parts of family map share (map.c; map_window.c: windows
 * whose inputs several neighbouring outputs of one thread share). */
#ifndef DCC_MAP_H
#define DCC_MAP_H

#include "body.h"

/* Outputs along row variable q read inputs at stride * q + s, s over cols: one
 * thread computes `tile` of them and loads each input once. */
typedef struct Window {
    const Var *q, *s;  /* q NULL: there is no such pair */
    int64_t stride;
    int tile;          /* 1: not used */
} Window;

/* The pair whose inputs overlap most, none of it being `fast`. */
void window_find(Graph *g, const Group *gr, const Var *fast, Window *w);
/* Inputs that a thread reads along q; w->tile outputs of them. */
int64_t window_span(const Window *w);

typedef struct Map {
    Body body;
    Graph *graph;
    Group *group;
    Kernel *kernel;
    Schedule plan;
    const Var **rows;
    int vec;
    Window window;
    const char *turn;  /* loop variable over the tile */
} Map;

/* Loops over all of cols but `without` (or NULL) around `body`. */
void map_loops(Map *m, Buf *out, const Buf *body, const char **names,
               const Var *without);
/* The only pass and the phase after it, for a tile of outputs. */
void window_pass(Map *m, Buf *out);
void window_results(Map *m, Buf *out);

#endif
