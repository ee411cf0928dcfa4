/* units.h - the graph of groups that select merges: which reads and writes
 * which tensor, and what must run after what. All questions are answered from
 * lists by tensor: their cost does not grow with the model. */
#ifndef DCC_UNITS_H
#define DCC_UNITS_H

#include "search/select.h"

typedef struct Ints {
    int *v, n, cap;
} Ints;

typedef struct Unit {
    Group *group;    /* NULL: merged into another */
    double us;       /* of its best variant; infinite if none serves it */
    Ints reads, writes; /* ids of tensors, each once */
    int first;       /* position that decides the order of launches */
    int from, to;    /* of all of its statements */
    enum { UNKNOWN, LIGHT, HEAVY } weight; /* chains.c's own */
} Unit;

typedef struct Units {
    Selection *s;
    Graph *g;
    Unit *unit; int n;
    Ints *readers, *writers; /* by tensor id: units */
    Ints *later;  /* by tensor id: versions that keep parts of it */
    Ints *guests; /* by tensor id: those that lie in it; who reads it reads
                     them */
    int *seen;    /* by tensor id, and stamp: met in this walk */
    int *visited; /* by unit, the same */
    int stamp;
    Ints *after;  /* by unit: those that must run after it, if that is */
    bool *known;
    int *listed, list; /* by unit: in which list it was put last */
    int *spans;   /* by position: units with statements before and behind */
    int *todo;
    struct Recipe *recipe; /* recipe.h; NULL: no pass has begun to place */
} Units;

/* One unit a statement. */
void units_open(Units *u, Selection *s);
/* Unit i is this group from now on. */
void units_set(Units *u, int i, Group *gr);
/* Unit p's statements are unit c's from now on. */
void units_join(Units *u, int p, int c);
void units_drop(Units *u, int i);
bool units_has(const Ints *list, int x);

/* Is one of the forward pass, and does the other compute parts of it again? As
 * one they would run with it, and what they make be held all the time. */
bool units_apart(const Group *a, const Group *b);

/* Where no unit of either spans a position, the parts before and behind it are
 * apart in both: u gets those of `other` that take less than `share` of the
 * time. */
void units_take_better(Units *u, const Units *other, double share);

double units_time(const Units *u); /* microseconds of all */

/* Is there a way from a to b through some other unit? */
bool units_path_around(Units *u, int a, int b);
/* Is there a way from one of n units to one of them through some other? */
bool units_surround(Units *u, const int *member, int n);
/* Does any unit but these two read t, or something that outlives them? */
bool units_need(const Units *u, const Tensor *t, int p, int c);
/* Into order[] the units, each behind what it waits for and else as the
 * statements are; how many: fewer than there are if some wait for each other.
 */
int units_sort(Units *u, int *order);
/* The groups in launch order into Selection.group: a plan's, or what takes
 * little memory at a time. -1, or a unit that waits for itself. */
int units_order(Units *u);
/* Whatever was merged: what a kernel reads is made by one, and none reads what
 * it may have overwritten. An error of dcc's own, and false, if not. */
bool units_sound(Units *u);

#endif
