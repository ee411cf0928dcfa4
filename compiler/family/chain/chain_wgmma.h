/* chain_wgmma.h - two products and what lies between them, on Hopper.
 *
 * A block has a tile of rows i, 64 a consumer warpgroup. One warp loads: the
 * first product's rows once, and a ring of blocks of columns j, what they are
 * made of and what they are multiplied with. Scores stay where wgmma leaves
 * them, become what they are multiplied as, such as exponentials, and are the
 * next product's operand in registers. The scores of the next block are under
 * way before this one's are multiplied, and named barriers let one warpgroup's
 * exponentials run beside the others' products. What a row has so far is
 * scaled when a later block raises its maximum by more than 2^8: until then,
 * f16 and f32 have the room.
 *
 * Two chains of the same scores are one: what becomes of them for the other
 * one, its twin, lies beside, and has sums of its own.
 *
 * Of few tiles the longest decides: two warpgroups, teams, have its blocks of
 * columns in turns, and join what they have in the end.
 */
#ifndef DCC_FAMILY_CHAIN_WGMMA_H
#define DCC_FAMILY_CHAIN_WGMMA_H

#include "family/contract/contract_shared.h"
#include "group/groups.h"

enum { CHAIN_BOUNDS = 4, CHAIN_VALUES = 4 };

/* What becomes of scores: x = scale * body where they are live, -inf elsewhere,
 * of which exp(x - max x) is multiplied; or x itself, with 0 elsewhere. */
typedef struct ChainRows {
    struct {
        const Step *store; /* a value of rows that others read, too, */
        const Expr *value; /* of row locals */
    } kept[sizeof ((ChainKept *)0)->t / sizeof (Tensor *)];
    int n_kept;
    bool softmax;
    const Expr *body;  /* of CHAIN_SUM, indices and reads */
    double scale;      /* > 0; 1 without softmax */
    Guard live;        /* affine, on the row, the column and batch */
    /* few: columns that data leave, of all rows: none beyond any `upto`, none
       before any `from` */
    const Expr *upto[CHAIN_BOUNDS], *from[CHAIN_BOUNDS];
    int n_upto, n_from;
    const Expr *after; /* multiplies the sums in the end, of row locals */
    int max, sum;      /* between's steps, or a local of its own */
    const Expr *sum_by; /* of weights of another base: see chain_softmax.c */
    bool base2;        /* the weights are powers of 2 */
    bool exact;        /* the greatest score itself is needed in the end */
    const Expr *ahead; /* what is read of each point, two of 16 bits at a
                          time, before its score is there; or NULL */
    /* values of a column alone, and of a row, that scores take: made once each
       (chain_values.c), and locals of the body */
    const Expr *of_column[CHAIN_VALUES], *of_row[CHAIN_VALUES];
    int n_column, n_row;
} ChainRows;
enum { CHAIN_SUM = 60,   /* the local that is the first product's sum, */
       CHAIN_OTHER = 62, /* and another one's; values of columns, of rows */
       CHAIN_COLUMN = CHAIN_SUM - CHAIN_VALUES,
       CHAIN_ROW = CHAIN_COLUMN - CHAIN_VALUES };

typedef struct ChainForm {
    const Group *gr;
    Contract a, b; /* the first product, the second */
    Contract o;    /* another first one, if the chain has it */
    Tma ta, tb, to;
    const Chain *chain;
    const Var *row, *col;
    const Var *batch[2 * MAX_RANK];
    int n_batch; /* slow to fast */
    int64_t M, J, D, N, batches;
    int64_t O;           /* terms of the other first product; or 0 */
    Type elem;
    Online online;
    ChainRows rows;
    bool few;            /* chain_few: `row` is the number of all rows, and
                            `b.m` has how they are had from it */
    Guard reach;         /* few: rows.live of the rows themselves */
    bool packs;          /* results go through shared memory as 16 bits */
    double ops, special; /* of a score, besides its exponential */
    double hbm, share;   /* bytes; of the scores that are live */
    double out;          /* of the bytes those that are written */
    const struct ChainForm *twin; /* of the chain's twin; or NULL */
    int lies_in;         /* the tile of a first's columns that the second
                            multiplies, too: CHAIN_FIRST or CHAIN_BESIDE; or 0:
                            one of its own */
} ChainForm;

enum { CHAIN_FIRST = 1, CHAIN_BESIDE = 4 }; /* of ChainKernel.id */

typedef struct ChainKernel {
    ContractBuild b; /* first: contract_pairs' callbacks find us by it; of
                        the form's b, its cp prints all */
    ContractPlan plan; /* of b */
    const ChainForm *f;
    int consumers, bj, stages, group;
    int bm, bn, pack; /* bn: N in whole columns of wgmma */
    int d_boxes, o_boxes, n_boxes, m_tiles, j_tiles;
    int resident, threads, regs;
    size_t smem, second_bytes;
    Kernel *k;
    const char *id[6]; /* of the tiles: rows, the first's columns, the
                          second's; the other first's two; the twin's */
    const char *acc;   /* what sums are called */
    Type out_type;     /* of what goes through shared memory */
    bool reads;        /* something behind the second product */
    const char *row_at; /* the first row of a thread's warp */
    int slot;          /* columns that are loaded at a time */
    int teams, cluster; /* chain_few: of warps; of the blocks of a group.
                           chain_wgmma: of warpgroups that have the same rows,
                           and blocks of columns in turns */
    bool holds;        /* chain_few: the rows stay in registers */
    int column_warps;  /* that have values of columns, beside the one that
                          loads; or 0: that one has them */
} ChainKernel;

/* NULL, or why the family cannot serve the group. */
const char *chain_open(ChainForm *f, Graph *g, const Group *gr,
                       const Options *o);
/* The part of it that any chain needs: what is reduced, and both products. */
const char *chain_products(ChainForm *f, Graph *g, const Group *gr,
                           const Options *o);
/* Of how many of the batch the rows run together, the longest first: the L2
 * holds their columns. 1: one after the other. */
int chain_group(const ChainForm *f);
/* chain_order.c: blocks of columns of a tile's warpgroup, on average, and of
 * the tile with the most; whether the first rows have more than the last. */
double chain_mean_steps(const ChainKernel *w, double *longest);
bool chain_first_longest(const ChainKernel *w);
/* NULL, or why the variant cannot be. */
const char *chain_plan(ChainKernel *w, const ChainForm *f, const Variant *v);
const char *chain_few_plan(ChainKernel *w, const ChainForm *f,
                           const Variant *v);
/* Whether blocks of a cluster send what they have to the one that finishes it,
 * which has the room; else that one reads it, or it goes through memory. */
bool chain_few_sends(const ChainKernel *w);
const char *chain_mma_plan(ChainKernel *w, const ChainForm *f,
                           const Variant *v);
/* chain_cost.c */
void chain_wgmma_cost(const void *form, const Variant *v, Cost *c);
void chain_few_cost(const void *form, const Variant *v, Cost *c);
void chain_mma_cost(const void *form, const Variant *v, Cost *c);
void chain_build(ChainKernel *w, Group *gr, Kernel *k);
/* chain_plan.c: whether x is one of v; n as whole pieces. A plan: what the form
 * says; then, with the rows, columns and stages known, the tile; then, with
 * shared memory and registers known, how many of at most so many blocks an SM
 * holds, and why none. A kernel: what it is called with, and after its text the
 * rest. */
bool chain_among(const Var *const *v, int n, const Var *x);
int chain_round_up(int64_t n, int to);
/* Whether all second products multiply what the scores are made of: a slot is
 * free behind them, and there is one ring. */
bool chain_one_ring(const ChainForm *f);
/* Whether rows go with powers of two: what is made of scores may be of any size
 * and is multiplied as two parts of f16. A softmax has powers of its own.
 * Whether what a row has so far changes with what comes. */
bool chain_fits_rows(const ChainForm *f);
bool chain_grows(const ChainForm *f);
/* Columns of all results. */
double chain_results(const ChainForm *f);
/* The same kernel as its twin's. */
ChainKernel chain_twin_of(const ChainKernel *w);
/* Products of a score: terms of the first ones, and columns of the second. */
double chain_width(const ChainKernel *w);
void chain_plan_open(ChainKernel *w, const ChainForm *f);
/* What is done at two neighbouring columns of the result; sets w->b.vec. */
Tree *chain_points(ChainKernel *w, ContractPlace *place);
void chain_tile(ChainKernel *w, int slot, int threads);
const char *chain_fits(ChainKernel *w, int blocks, int regs);
void chain_begin(ChainKernel *w, Group *gr, Kernel *k);
void chain_end(ChainKernel *w, const char *family, const char *min_arch);
/* chain_wgmma_load.c: the maps; the copies of the block's rows, of a block of
 * the first product's columns at j0, and of the second's; where the block is,
 * and from which block of columns to which there may be live scores. */
void chain_maps(ChainKernel *w);
Tree *chain_load_rows(ChainKernel *w);
Tree *chain_load_first(ChainKernel *w);
Tree *chain_load_second(ChainKernel *w);
Tree *chain_place(ChainKernel *w);
void chain_batch(ChainKernel *w, Tree *b, const char *number);
Tree *chain_range(ChainKernel *w);
/* chain_scores.c: what is read of points ahead of their scores; what a score is
 * besides the sum, and where it is none; where what becomes of scores lies. */
Tree *chain_read_block(ChainKernel *w);
Tree *chain_value(ChainKernel *w);
Tree *chain_mask(ChainKernel *w);
const char *chain_scores(const ChainKernel *w, bool twin);
/* chain_wgmma_build.c, for chain_mma too: the names of tiles; what a row has so
 * far; how a block changes that, and the sums so far; in the end lanes' parts
 * of rows together, and what others read of them stored; what multiplies the
 * sums. */
void chain_name_all(ChainKernel *w);
Tree *chain_state(const ChainKernel *w);
Tree *chain_start(const ChainKernel *w); /* with nothing in it yet */
const char *chain_weigh(const ChainKernel *w);
const char *chain_rescale(const ChainKernel *w);
Tree *chain_keeps(ChainKernel *w);
Tree *chain_after(ChainKernel *w);
const char *chain_greatest(const ChainKernel *w, const char *most);
/* chain_store.c: results from where they lie, of which a thread stores so many
 * columns at a time; the whole epilogue of chain_wgmma. */
Tree *chain_direct(ChainKernel *w, int most);
Tree *chain_epilogue(ChainKernel *w);
/* Whether that is a wrapper's call, with no names of its own. */
bool chain_is_bare(ChainKernel *w);
/* chain_mma.c: elements that lie side by side in pieces of 16 bytes, from where
 * `fast` is a multiple of 8 on; one piece of a tile's line, of which `number`
 * is the line's of the tensor, there if it is less than `size`, if that is not
 * NULL, and `fast` goes along it. */
bool chain_in_pieces(const ChainForm *f, const Operand *o, const Var *fast);
Tree *chain_piece(ChainKernel *w, const Operand *o, const Var *line,
                  const char *number, const char *size, const Var *fast,
                  const char *tile);
/* chain_softmax.c: fills f->rows; what a score may be replaced by without
 * effect: -inf, or 0. */
const char *chain_find_rows(ChainForm *f);
bool chain_is_nothing(const ChainForm *f, const Expr *e);
/* Instructions of a read for each score. */
double chain_read_ops(const ChainForm *f, const Expr *e);
/* chain_values.c: takes out of the body what is of a column or a row alone, and
 * has exponentials as powers of 2. */
void chain_find_values(ChainForm *f);
/* Those of the thread's rows; those of a block of columns, as all lanes of the
 * loading warp read them, and leave them in a slot; or what warps beside it do;
 * `code`, by one lane, where all run; how a point's are called in the code of
 * each score. */
Tree *chain_row_values(ChainKernel *w);
Tree *chain_read_columns(ChainKernel *w);
Tree *chain_leave_columns(ChainKernel *w);
Tree *chain_column_warps(ChainKernel *w);
Tree *chain_one_lane(const ChainKernel *w, Tree *code);
void chain_name_values(ChainKernel *w);
/* chain_reach.c: f->rows.upto and from, of a score that is selected. */
void chain_find_reach(ChainForm *f, const Expr *e);

#endif
