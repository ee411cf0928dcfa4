/* merge.h - how a group came about: what select merged, in order.
 *
 * A search takes its steps for what they save at the time; another one, or a
 * plan file, would take others. So a group knows its own, and can be made again
 * by them alone. */
#ifndef DCC_MERGE_H
#define DCC_MERGE_H

#include "search/units.h"

typedef enum {
    MERGE_POINT, /* fuse: the first piece's tensor, into the second */
    MERGE_KEEP,  /* the same, and the tensor is stored, too */
    MERGE_AGAIN, /* fuse_inline: the first stays as it is */
    MERGE_CHAIN, /* chain_form */
    MERGE_DROP   /* a tensor that nobody else reads is not stored */
} MergeKind;

/* A piece is named by a statement of it: of POINT's, KEEP's and AGAIN's first
 * and of DROP by the one that makes the tensor. The last piece is what the
 * others become part of. */
typedef struct Merge {
    MergeKind kind;
    Stmt **piece; int n_piece;
    const Stmt **kept; int n_kept; /* CHAIN's: what makes what others read */
    const struct Merge **before; int n_before; /* what made the pieces */
} Merge;

/* Sets gr->made. Pieces as they were before. */
void merge_note(Graph *g, Group *gr, MergeKind kind, const Tensor *t,
                Group *const *piece, int n);
/* The same of a chain, which stores what is kept, too. */
void merge_note_chain(Graph *g, Group *gr, const ChainKept *kept,
                      Group *const *piece, int n);
/* Without storing what is not needed: another group, or gr if all is. */
typedef bool StoreIsRead(const Tensor *t, void *ctx);
Group *merge_drop_needless(Graph *g, Group *gr, StoreIsRead *needed, void *ctx);
/* What nobody else reads stays in the registers of the group that p and c
 * have become (or are: p == c): another group, or gr if nothing changes. */
Group *merge_drop_stores(const Units *u, Group *gr, int p, int c);

/* The merges as words, a blank before each: `a>b` POINT, `a>>b` KEEP, `a*b`
 * AGAIN, `a&b&c` CHAIN, which keeps what p and q make if it is `a&b&c<p<q`,
 * `!a` DROP. */
void merge_print(Buf *b, const Graph *g, const Merge *m);

/* Groups made again by such words. */
typedef struct Replay Replay;
Replay *merge_replay_open(Units *u, const Map *stmt_of);
/* Makes a group of single statements' ones, by these words, and one unit of
 * it. NULL, or what is wrong. */
const char *merge_replay(Replay *r, const char *words);
/* The unit that has this statement now; -1: there is none by that name. */
int merge_replayed(const Replay *r, const char *key);

#endif
