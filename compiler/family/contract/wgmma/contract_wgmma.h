/* contract_wgmma.h - contractions on Hopper: TMA, a ring of barriers, wgmma.
 *
 * A block is one producer and one to three consumer warpgroups, and works
 * through tiles of BM x BN. Cooperative: the consumers split a tile's rows; of
 * two, one has its last products first, and stores during the other's.
 * Ping-pong: each has a tile of its own, and one's epilogue runs while the
 * other multiplies. The blocks of a cluster share columns of b (one below the
 * other), rows of a (across), both, or a tile: then each sums a slice of k,
 * sends the sums of the others' columns to them, and finishes its own. A long
 * k may be in parts, too, each a block's or cluster's: these leave their sums
 * in the workspace, and the last one adds all up.
 *
 * A thread's sums are pairs of columns, eight apart. The map of b is such that
 * its rows lie in a slot in another order, by which a thread has 4 pairs in a
 * row: sums are finished where they are and stored 16 bytes at a time. Where b
 * cannot be dealt out like that they go through shared memory, or neighbours
 * exchange them. */
#ifndef DCC_FAMILY_CONTRACT_WGMMA_H
#define DCC_FAMILY_CONTRACT_WGMMA_H

#include "family/contract/contract_shared.h"

/* A result whose rows lie one `pitch` after the other. */
typedef struct Plane {
    const Tensor *tensor;   /* NULL: it is none */
    int64_t offset, pitch;  /* elements */
    bool run;               /* of as many rows as a run has */
} Plane;

enum { WGMMA_INPUTS = 4 };

/* The analysis of a group, const after open. */
typedef struct WgmmaForm {
    Contract x;
    Tma tma;
    bool packs;             /* results go through shared memory as 16 bits */
    Plane plane;            /* and TMA can take them from there */
    Plane lines;            /* or they are of rows that begin at any element */
    int deals;              /* columns that a lane can have next to each other,
                               or 0 */
    const Expr *pre;        /* a's value of what TMA brings, of x.c.a; NULL: it
                               is that */
    int pre_columns;        /* reads of k alone in it */
    double pre_special;     /* special functions an element, */
    double pre_ops;         /* and all instructions */
    int reads_regs;         /* registers of what the epilogue reads, and of */
    int more_reads_regs;    /* what is none of the inputs */
    int more_regs;          /* and of results beyond the first */
    bool rows_read;         /* and whether that is of rows */
    bool more_rows_read;
    int row_reads;          /* how many are of rows and columns */
    bool columns_read;      /* some are of columns alone */
    Plane input[WGMMA_INPUTS]; int n_input; /* what results read at their own
                               places, of which TMA may bring all */
    bool turned;            /* rows are columns of the result, and boxes of it
                               go through shared memory turned */
} WgmmaForm;

enum { KNOB_BM, KNOB_BN, KNOB_STAGES, KNOB_CONSUMERS, KNOB_PINGPONG,
       KNOB_CLUSTER, KNOB_SPLIT, KNOB_PARTS, KNOB_BESIDE };
enum {
    WGMMA_MOST_SPLIT = 8, /* blocks of a cluster */
    WGMMA_BOX = 16,       /* columns that are turned at a time */
    WGMMA_BESIDE = 44     /* registers: addresses, and columns in turn */
};

typedef struct WgmmaShape {
    int bm, bn, consumers;
    bool pingpong;
} WgmmaShape;

/* What a variant decides. */
typedef struct Wgmma {
    const WgmmaForm *f;
    ContractPlan x;         /* of f->x; x.t: the tile */
    Patch patch;
    int consumers, cluster;
    int beside, below;      /* blocks of a cluster that lie side by side and
                               share rows of a, one below the other and share
                               columns of b; cluster is their product */
    int parts;              /* of k, whose sums meet in memory */
    bool pingpong;
    bool stays;             /* b, whole, beside the ring: one for all tiles */
    int rows;               /* of a in a slot: bm, or of a lone row of tiles
                               those that there are, since what products of
                               the rest read does not matter */
    int wm;                 /* rows of a consumer warpgroup */
    int resident;           /* blocks on an SM */
    int lead;               /* steps by which the first of two warpgroups that
                               share a tile ends before the other, or 0 */
    int own;                /* columns that a block of a split finishes: its
                               share of the tile's */
    int deal;               /* columns that a lane has next to each other, as
                               b's rows lie in their slots; 0: two */
    int pack;               /* columns that a warp stores at a time, or 0 */
    Plane boxes;            /* which TMA stores; or none */
    int inputs;             /* slots of a warpgroup for what results read; 0:
                               threads load it */
    int spare;              /* registers that a consumer's thread has left */
    int spare_rows;         /* with those set aside for what rows read */
    int leaps;              /* turns in which a sum's k_tiles are taken */
    int64_t m_tiles, n_tiles, k_tiles;
    int64_t least_steps;    /* of a tile: those of a phase with few taps, */
    double mean_steps;      /* and in the mean; else both are k_tiles */
    int64_t tiles;          /* of all products; of a cluster that shares b */
    size_t stage_bytes;     /* that TMA brings a stage */
    size_t kept_bytes;      /* of a b that stays, and its barrier; or 0 */
    size_t smem;
} Wgmma;

/* What its kernel's text is made with. */
typedef struct WgmmaBuild {
    ContractBuild x;        /* first: contract_points' callbacks find us by
                               it */
    const WgmmaForm *f;
    const Wgmma *p;
    bool sweeps;            /* asks the L2 for all of b at its start */
    bool alone;             /* the copies printed are a block's for itself */
    bool heads;             /* or for the first line of each row of a and b */
    const char *origin[MAX_RANK]; /* where a tile begins along m's axes */
    const char *n_origin;
    Tree *a_columns, *a_value; /* code: what is read of columns of a step,
                               and what makes x a's */
    Tree *ahead;               /* the epilogue's code before the products */
    const Expr *early[MAX_EARLY]; int n_early; /* what it reads of points */
    const char *input_tile[WGMMA_INPUTS]; /* fields of shared memory */
} WgmmaBuild;

/* What find_tile computes: batch variables, origins. */
typedef struct WgmmaPlaces {
    const char *name[2 * MAX_RANK + 2];
    int n;
} WgmmaPlaces;

/* Variables of a copy's coordinates that are digits of numbers. */
typedef struct WgmmaDigits {
    const char *name[2 * MAX_RANK], *of[2 * MAX_RANK], *text[2 * MAX_RANK];
    int n;
} WgmmaDigits;

/* Whether products are all that there is, but for what columns have. */
bool wgmma_simple(const WgmmaForm *f);
/* Whether the last row of tiles begins where it ends with the rows: it has
 * some twice, and stores what its neighbour does. A tile of fewer rows would be
 * ahead of those of its columns, and the L2 serves reads of one time with one.
 */
bool wgmma_overlaps(const Wgmma *w);
/* The same of the last columns, where rows are columns of the result. */
bool wgmma_overlaps_columns(const Wgmma *w);
/* Rows of a in a slot of tiles of bm x bn. */
int wgmma_slot_rows(const WgmmaForm *f, int bm, int bn);
/* Rows of 128 bytes that bn columns of b have there: boxes of 64 columns come
 * whole. */
int wgmma_slot_columns(const WgmmaForm *f, int bn);
/* Blocks of a cluster that share the operand: 1, or as many as lie side by side
 * (a), or one below the other (b). */
int wgmma_shares(const Wgmma *w, const TmaOperand *o);
/* Whether a cluster has blocks in both directions. */
bool wgmma_crosses(const Wgmma *w);
/* Blocks that have a tile's sums over their parts of k: those of a cluster, in
 * several parts. */
int wgmma_sharers(const Wgmma *w);
/* SMs on which blocks of a cluster find room. */
double wgmma_sms(const Wgmma *w);
/* Blocks that the work is dealt to. */
double wgmma_blocks(const Wgmma *w);
/* Blocks, or clusters, that run at one time: a tile each, or in turns. */
int64_t wgmma_at_once(const Wgmma *w);
/* Whether a slot of the ring is filled more than once. */
bool wgmma_turns(const Wgmma *w);
/* Leaves out the slots of a ring that does not turn which no step has; the
 * blocks on an SM stay as they were planned. */
void wgmma_used_slots(Wgmma *w);
/* Tile rows of a band: the tiles that run at one time then span about as many
 * rows as columns. Bands of equal height, if there is one near: a lower last
 * one has fewer neighbours. */
int wgmma_band(const Wgmma *w);
/* Whether all tiles run at once, or are rows of one band. */
bool wgmma_one_band(const Wgmma *w);
/* Tile columns of a strip. Neighbouring blocks run on a part of the GPU (16
 * SMs, a GPC) whose equal reads the L2 serves together: their tiles span the
 * fewest rows and columns; and of such strips two neighbours', then
 * four's. */
int wgmma_strip(const Wgmma *w);
/* Whether a kernel of this variant is better off if the L2 is asked for all of
 * b before TMA is: where all tiles run at once, many blocks ask for the same
 * lines at the same time, and those wait for HBM once each. */
bool wgmma_sweeps(const Wgmma *w);
/* Whether b comes from memory once, in leaps along k. */
bool wgmma_streams(const Wgmma *w);
/* Where it does not: whether the lines of each row of a and b that come
 * first are worth asking for. */
bool wgmma_asks_heads(const Wgmma *w);
/* Registers of what a variant's epilogue loads; whether that is of rows. */
int wgmma_reads_regs(const Wgmma *w);
bool wgmma_reads_rows(const Wgmma *w);
/* Whether a thread has four neighbouring results of four bytes at a time. */
bool wgmma_quads(const Wgmma *w);
/* Stages that fit `blocks` on an SM, no more than steps; of a single step, and
 * of tiles in turns, there are more where a block has more tiles. */
int wgmma_stages(const WgmmaForm *f, const WgmmaShape *s, int blocks,
                 int split, int parts, int64_t tiles);
/* Those of several tiles of few steps, which a block has one after the other;
 * 0: there are no such. */
int wgmma_deeper(const WgmmaForm *f, const WgmmaShape *s, int64_t tiles);
const void *wgmma_open(Graph *g, const Group *gr, const Options *o,
                       const char **why);
/* contract_wgmma_turned.c: the same with rows and columns changed; the text
 * that stores a tile then. */
const void *wgmma_open_turned(Graph *g, const Group *gr, const Options *o,
                              const char **why);
Tree *wgmma_turned_code(WgmmaBuild *w, Tree *pairs);
/* Whether the last box of a tile of bn columns has some of the one before. */
bool wgmma_turned_overlaps(int bn);
/* Of what columns and rows read, in registers. */
void wgmma_count_reads(WgmmaForm *f, const Group *gr);
/* NULL, or why no such product is of these types; sets the elements'. */
const char *wgmma_check_types(Contract *x);
void wgmma_build(const void *form, const Variant *v, Kernel *k);
int wgmma_space(const void *form, Variant **out);
const char *wgmma_text(const void *form, const Variant *v);
/* NULL, or why the variant cannot be. */
const char *wgmma_plan(Wgmma *w, const WgmmaForm *f, const Variant *v);
/* Registers of a consumer's threads, where there are several consumers. */
int wgmma_budget(const Wgmma *w);
/* "m0, n0" after `first`, each after `before`. */
const char *wgmma_list(const WgmmaBuild *w, const WgmmaPlaces *p,
                       const char *before, const char *first);
/* contract_wgmma_load.c: whether weights of the first steps are loaded before
 * the wait for the grid; the text that fills a slot, of the first of which the
 * weights are under way; what the loading thread does before its tiles: weights
 * of the first one, into all slots that it fills, and the wait for the grid. */
bool wgmma_has_early(const WgmmaBuild *w);
/* The map of an operand. */
void wgmma_add_map(WgmmaBuild *w, const TmaOperand *o, const Load *l);
/* Whether there is no such wait, and the loading thread begins even before the
 * block is set up: its ring is its own, and it surely has a tile. How many
 * steps it loads there, EARLY, and the loads. */
bool wgmma_runs_ahead(const WgmmaBuild *w);
int wgmma_early(const Wgmma *w);
Tree *wgmma_first_loads(WgmmaBuild *w, const WgmmaPlaces *p, const char *first);
Tree *wgmma_fill(WgmmaBuild *w);
/* Boxes of 64 rows or columns in a slot of an operand that has none along k. */
const char *wgmma_boxes(const WgmmaBuild *w, const TmaOperand *o,
                        const char *rows);
/* The constant that has the rows of a in a slot. */
const char *wgmma_rows_name(const WgmmaBuild *w);
/* What names a step's slot: `begin` is the first; nothing where slots turn. */
const char *wgmma_slot(const WgmmaBuild *w, const char *begin);
/* The place along k of the tile of that number. */
const char *wgmma_place(const WgmmaBuild *w, const char *k_tile);
Tree *wgmma_ahead(WgmmaBuild *w, const WgmmaPlaces *p, const char *first,
                  const char *begin, const char *end);
/* One more digit: of the number `of`, as cprint_digit; `unit` follows. */
void wgmma_digit(WgmmaBuild *w, WgmmaDigits *d, const char *name,
                 const char *of, int64_t below, int64_t extent,
                 const char *unit);
/* Columns that a thread should have next to each other: 16 bytes of the widest
 * element of the results. */
int wgmma_columns(const Contract *x);
/* Whether dimension d of o is b's rows, and those are dealt: three of the map,
 * a row's number as e, q, j of deal * q + 2 * j + e, e fastest in a slot. */
bool wgmma_dealt(const Wgmma *w, const TmaOperand *o, int d);
/* Of the widest element of the results. */
int wgmma_result_bytes(const Contract *x);
/* Whether dimension d of o is a's rows, and a tile's lie w->x.apart from each
 * other: two of the map. */
bool wgmma_apart(const Wgmma *w, const TmaOperand *o, int d);
/* Whether all that wait for a slot can leave out the same tiles. */
bool wgmma_skips(const Wgmma *w);
/* contract_im2col.c, where the patch is im2col, or an operand slides: its map;
 * the pixel that a tile begins at, and the copy from there on; that of a step
 * of the sum, and copies of `rows` rows from `origin` on. */
void wgmma_im2col_map(const WgmmaBuild *w, const TmaOperand *a, TileMap *m);
void wgmma_im2col_pixel(WgmmaBuild *w, WgmmaDigits *d);
void wgmma_im2col_copy(WgmmaBuild *w, Tree *b);
void wgmma_slide_pixel(WgmmaBuild *w, WgmmaDigits *d);
void wgmma_slide_copy(WgmmaBuild *w, Tree *b, const TmaOperand *o,
                      const Load *l, const char *origin, const char *rows);
/* contract_wgmma_cost.c */
void wgmma_cost(const void *form, const Variant *v, Cost *c);
/* Of all stages. */
size_t wgmma_ring_bytes(const Wgmma *w);
/* The slot of b's tile of a step: one of the ring, or of what stays. */
const char *wgmma_b_slot(const WgmmaBuild *w);
/* contract_wgmma_parts.c, of 3xtf32. Whether the warps that split b turn it,
 * too: it lies across k; bytes of b's parts, and of their barriers; what the
 * template has of tiles and their parts. */
bool wgmma_turns_b(const WgmmaForm *f);
size_t wgmma_part_bytes(const WgmmaForm *f, int bn);
enum { WGMMA_PART_FILLS = 4 };
void wgmma_part_fills(const WgmmaBuild *w, Fill *fill);
/* contract_wgmma_taps.c, where products' steps may differ. In C: the steps of
 * the tile of that number; of the loop's tile; the code that names these; the
 * part of a tile's steps that is a block's; what the template has of steps, of
 * a block's first tile and of tiles so far `apart`. And the digits of a step's
 * number, from the fastest axis but one on, each value of which is `inner`
 * steps. */
const char *wgmma_tile_steps(const WgmmaBuild *w, const char *tile);
const char *wgmma_own_steps(const WgmmaBuild *w);
Tree *wgmma_name_steps(const WgmmaBuild *w);
Tree *wgmma_own_part(const WgmmaBuild *w);
enum { WGMMA_COUNT_FILLS = 4 };
int wgmma_step_counts(WgmmaBuild *w, const char *own, const char *apart,
                      Fill *fill);
void wgmma_name_taps(WgmmaBuild *w, WgmmaDigits *d, int64_t inner);
/* contract_wgmma_steps.c: whether tiles are taken as whole rounds. */
bool wgmma_rounds(const Wgmma *w);
/* Whether the ring has room for the next tile beside what the warpgroup that
 * ends second has yet to multiply: it has to tell how far it is. */
bool wgmma_tells(const Wgmma *w);
/* Whether a tile has the steps alone in which its rows have terms. */
bool wgmma_reaches(const Wgmma *w);
/* One lane of a warp, which frees the slot before, of all blocks that share it;
 * that; a tile's last products. */
const char *wgmma_elect(const WgmmaBuild *w);
Tree *wgmma_free_slot(const WgmmaBuild *w);
Tree *wgmma_done(const WgmmaBuild *w);
/* A block of a cluster stays until the others have freed all of its slots: then
 * nobody arrives there any more, and what was written to its own its consumers
 * have waited for. */
Tree *wgmma_last_slots(const WgmmaBuild *w);
/* The text of the loop over a tile's k, from begin to end: it adds fills of its
 * own to the n. */
enum { WGMMA_STEP_FILLS = 12 };
Tree *wgmma_steps(const WgmmaBuild *w, const char *begin, const char *end,
                  Fill *fill, int n);
/* contract_wgmma_rows.c, of an a that is computed. Takes its read as x.c.a and
 * sets f->pre, or NULL if it is a read alone or b's turn to be refused; the
 * reason if it cannot be; then whether that read's boxes can be. */
const char *wgmma_find_rows(WgmmaForm *f);
const char *wgmma_check_rows(const WgmmaForm *f);
/* What a tile's rows begin with, before its steps; "" if a is a read. Sets
 * w->a_columns and w->a_value. */
Tree *wgmma_rows(WgmmaBuild *w);
Tree *wgmma_touch_columns(WgmmaBuild *w);
/* "warpgroup * WM + ": where a warpgroup's rows of a tile begin. */
const char *wgmma_top(const Wgmma *w);
/* Of a group whose sums are corrected by rows' values (fold.h). The correction
 * of numbers m and n; the code that has the rows' values, in two parts, and the
 * correction in which they are locals, of sums i of a thread. */
const Expr *wgmma_fold_value(const WgmmaForm *f);
const Expr *wgmma_fold_rows(WgmmaBuild *w, Tree *before, Tree *behind);
/* contract_wgmma_fold.c. NULL, or why it is not served; the code before the
 * products, and that behind them. */
const char *wgmma_check_fold(const WgmmaForm *f);
void wgmma_fold(WgmmaBuild *w, Tree *before, Tree *behind);
/* contract_wgmma_touch.c: what the epilogue of blocks that share a tile will
 * read comes into the L1. */
void wgmma_touch_reads(WgmmaBuild *w, Tree *b);
/* Before the epilogue is printed: of a lone consumer's rows it comes into
 * registers. */
void wgmma_hold_rows(WgmmaBuild *w, Tree *b);
/* The row of a thread's sums i of their tile. */
const char *wgmma_point_row(const Wgmma *w);
/* contract_wgmma_pieces.c, of a group with pieces. NULL, or why it is not
 * served; whether a variant's blocks finish whole pieces; where the result of
 * `sum` is kept, or NULL; room for all that is not kept in `sums`, ahead of the
 * epilogue; the text behind it, or none. */
const char *wgmma_check_pieces(const WgmmaForm *f);
bool wgmma_has_pieces(const Wgmma *w);
const char *wgmma_keep(const WgmmaBuild *w, const char *sums, const char *sum);
void wgmma_make_room(const WgmmaBuild *w, Tree *b);
void wgmma_pieces(WgmmaBuild *w, Tree *b, const char *sums);
/* contract_wgmma_row_sums.c, of sums over pieces of its rows (row_sums.h):
 * instructions of a result; registers; bytes of shared memory, for so many
 * rows, and the field; the arrays that the epilogue leaves columns in, ahead of
 * it, and what becomes of them when 32 columns are done; the text behind it. */
const char *wgmma_check_row_sums(const WgmmaForm *f);
bool wgmma_has_row_sums(const Wgmma *w);
double wgmma_row_sum_ops(const WgmmaForm *f);
int wgmma_row_sum_regs(const WgmmaForm *f);
size_t wgmma_row_sum_bytes(const WgmmaForm *f, int rows, int bn);
void wgmma_row_sum_field(WgmmaBuild *w);
void wgmma_row_sums_open(WgmmaBuild *w);
void wgmma_row_sums_begin(WgmmaBuild *w, Tree *b);
void wgmma_row_sums_lanes(WgmmaBuild *w, Tree *b);
void wgmma_row_sums(WgmmaBuild *w, Tree *b);
/* Reductions of another kind (reduced.h), ahead of the epilogue. */
void wgmma_reduced(WgmmaBuild *w, Tree *b, const char *sums);
/* contract_wgmma_factor.c, of a group that sums one of its factors, too
 * (factor_sum.h). NULL, or why it is not served; whether a variant can; bytes
 * in shared memory, and its field; boxes of 64 rows or columns that a warpgroup
 * sums, and registers of a thread; what a tile begins with, the products of a
 * step beside the others, and what is behind the steps. */
const char *wgmma_check_factor(const WgmmaForm *f);
bool wgmma_has_factor(const Wgmma *w);
size_t wgmma_factor_bytes(const WgmmaForm *f);
void wgmma_factor_field(WgmmaBuild *w);
int wgmma_factor_boxes(const Wgmma *w);
int wgmma_factor_regs(const Wgmma *w);
Tree *wgmma_factor_begin(const WgmmaBuild *w);
Tree *wgmma_factor_step(const WgmmaBuild *w, const char *later);
void wgmma_factor_end(WgmmaBuild *w, Tree *b);
/* contract_wgmma_inputs.c: finds what results read that TMA could bring; is t
 * such; slots of a warpgroup, 0: none, and bytes of shared memory, of all, that
 * a tile's ring leaves to it. */
void wgmma_find_inputs(WgmmaForm *f);
bool wgmma_is_input(const WgmmaForm *f, const Tensor *t);
int wgmma_input_slots(const WgmmaForm *f, const WgmmaShape *s);
size_t wgmma_input_bytes(const WgmmaForm *f, const WgmmaShape *s);
enum { WGMMA_INPUT_GAP = 1024 /* bytes: fields begin at multiples of that */ };
/* Maps; fields, behind those; barriers' set-up, of one thread. A tile's loads,
 * ahead of one of its steps or behind all of them. What the epilogue does ahead
 * of 32 columns and behind them, and behind all; its reads, by their place. */
void wgmma_input_maps(WgmmaBuild *w);
void wgmma_input_fields(WgmmaBuild *w);
const char *wgmma_input_ring(const WgmmaBuild *w);
Tree *wgmma_load_between(WgmmaBuild *w);
Tree *wgmma_load_behind(WgmmaBuild *w);
void wgmma_wait_inputs(WgmmaBuild *w, Tree *b);
void wgmma_free_inputs(WgmmaBuild *w, Tree *b);
void wgmma_next_inputs(WgmmaBuild *w, Tree *b);
void wgmma_name_inputs(WgmmaBuild *w);
/* contract_wgmma_store.c: whether offset walks v as one number, *step a unit.
 */
bool wgmma_walks(const Idx *offset, const Var *const *v, int n, int64_t *step);
/* contract_wgmma_store.c: the text that finishes and stores a tile; sets
 * w->ahead. */
Tree *wgmma_epilogue(WgmmaBuild *w);
/* Pieces of 32 columns of what belongs to rows that are read at once, of those
 * of a tile: all, or an equal part for which there are registers; 0: none. */
int wgmma_rows_ahead(const Wgmma *w);
/* Sets f->plane and f->lines: whether the packed result of its group is such.
 */
void wgmma_find_plane(WgmmaForm *f);
/* The map that boxes are stored by. */
void wgmma_boxes_map(WgmmaBuild *w);
/* Whether the kernel touches t other than as a box. */
bool wgmma_touches(const Wgmma *w, const Tensor *t);

#endif
