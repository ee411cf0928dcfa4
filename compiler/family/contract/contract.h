/* contract.h - what the contraction families share: how operands come into
 * shared memory, how rows and columns are numbered, and what happens to the
 * sums.
 *
 * A kernel of theirs computes tiles of BM x BN sums over K. m, n and k are
 * mixed-radix numbers of the nest's variables (Side); an operand's tile is
 * loaded by a Load; sums go through shared memory to the epilogue, where each
 * thread finishes `vec` neighbouring columns at a time.
 *
 * What the analysis finds of a group (Contract), what a variant decides of it
 * (ContractPlan) and what its text is made with (ContractBuild) are three
 * things, and each knows those before it; an engine of its own has three
 * likewise (WgmmaForm, Wgmma, WgmmaBuild). */
#ifndef DCC_FAMILY_CONTRACT_H
#define DCC_FAMILY_CONTRACT_H

#include "emit/emit.h"
#include "family/family.h"
#include "model/model.h"

/* m, n or k: several variables as one number. */
typedef struct Side {
    const char *name;       /* "m" */
    const char *size;       /* "M" */
    const Var *const *v;    /* slow to fast */
    int n;
    int64_t extent;
    const Var *linear;      /* the number itself as a variable */
    Subst sub[MAX_RANK];    /* each variable from it */
} Side;

/* The choices of a variant that both families have. */
typedef struct Tile {
    int bm, bn, bk, stages, split, threads;
    int wm, wn;             /* a warp's tile (mma), a thread's (simt) */
    int whole;              /* tiles that one block has each: those that are
                               split come behind them */
} Tile;

/* How one operand's tile is loaded. Threads are numbered along the minor
 * dimension (k if along_k, else the operand's rows) in steps of `vec`, then
 * along the other in `passes` of `step`. */
typedef struct Load {
    /* whatever the tile: */
    const Operand *op;
    const Side *side;       /* m or n */
    const char *size;       /* "BM" */
    bool along_k;
    bool plain;             /* a read of the tile's type, 0 outside; */
    bool converted;         /* or of 16 bits into an f32 tile */
    int k_vec;              /* along_k: elements of a copy, if not turned */
    int pad;                /* elements after each row of the tile */
    int64_t even;           /* turned: from row to row, if k is as it lies */
    const Var *need[MAX_RANK]; int n_need; /* rows kept for guards */
    const Idx *row_part, *k_part; /* of the offset; read only */
    /* a plan may turn it: */
    bool k_major;           /* tile[rows][BK + PAD], else [BK][rows + PAD] */
    bool turned;            /* along_k, yet not k_major: single elements, all
                               threads `k_step` k of `step` rows at a time */
    bool async;             /* cp.async; else through registers */
    int vec, bytes;         /* of one copy: elements, bytes */
    /* of a plan: */
    int rows;               /* BM or BN */
    int k_step, copies;     /* turned: passes for each k_step of BK's k */
    int64_t stride;         /* `even`, where every row and k is there, so that
                               copies differ in constants; else 0 */
    int chunks;             /* copies along the minor dimension */
    int major;              /* extent of the other dimension */
    int step, passes;
    bool partial;           /* some threads have nothing to copy */
    /* of a build, from its arguments: */
    const char *id;         /* prefix of its names: the tensor's */
    const char *ID;         /* in upper case, for constants */
    const char *tile;       /* its shared-memory field */
} Load;

/* Terms of a sum over a range are where e + c k >= 0; c is not 0. */
typedef struct Bound {
    const Idx *e;           /* of m's and n's one variable and the batch's */
    int64_t c;
} Bound;
enum { MAX_BOUNDS = 8 };

/* The form: what the analysis of a group finds. It is const after open. */
typedef struct Contract {
    Graph *g;
    const Group *gr;
    const Group *whole;     /* what gr is a part of, whose arguments the kernel
                               has; or NULL */
    const Options *o;
    Contraction c;
    Side m, n, k;
    bool mma;
    int k_step;             /* of one mma: 16, or 8 for tf32 */
    int terms;              /* products a product takes: 3 for 3xtf32, 2 where
                               one factor alone is split, else 1 */
    Type elem;              /* in shared memory */
    Type acc;               /* T_F32 or T_I32 */
    Load a, b;              /* whatever the tile */
    bool turn;              /* no tile is k_major, but with a plan's `rows`
                               a's */
    bool swapped;           /* sums[row][col] is of column col ^ 1 */
    bool lines;             /* rows of the result begin at any element */
    bool across;            /* neighbouring columns are rows of the result:
                               pairs of them are packed all the same */
    const Expr **value;     /* of each step, as it is computed */
    bool *gone;             /* nothing reads it: functions.h */
    double special;         /* special functions a result */
    bool library;           /* some are long texts of CUDA's library */
    double ops;             /* instructions of the epilogue a result, about */
    double hbm_bytes, out_bytes;
    double out_l2;          /* bytes that the L2 takes out_bytes as long as */
    Guard needed;           /* of the results: on one variable of m, one of n
                               and those of the batch */
    double unread;          /* bytes of memory among all results, the rest */
    Bound bound[MAX_BOUNDS]; int n_bound;
} Contract;

/* What a variant decides. */
typedef struct ContractPlan {
    const Contract *f;
    Tile t;
    Load a, b;              /* of the tile's size */
    bool cluster;           /* the blocks that split K are a cluster */
    int parts;              /* sums of a tile in shared memory: slices of k */
    int regs;               /* of a thread, estimated */
    bool rows;              /* a's tile is k_major */
    int spread;             /* parts in which a tile's copies begin, or 0 */
    bool beyond;            /* whole tiles may lie beyond N */
    bool patch;             /* rows of a tile are no consecutive m */
    bool patch_n;           /* its columns are no consecutive n, */
    const Var *column;      /* but this variable's values, side by side */
    int apart;              /* a tile's rows lie so far apart, and the result's
                               lines all begin at whole words; or 0 */
} ContractPlan;

enum { MAX_EARLY = 8 /* reads ahead of the sums that are told of */ };

/* What a kernel's text is made with. */
typedef struct ContractBuild {
    const Contract *f;
    const ContractPlan *p;
    Graph *g;               /* the form's: expressions are made in it */
    Load a, b;              /* the plan's, with names */
    Kernel *kernel;
    CPrint cp;
    int regs;               /* the plan's, and what the epilogue reads ahead */
    struct Finish *finish;  /* contract_finish's */
    int vec;                /* columns a thread finishes at a time: of
                               f->c.parts a point */
    bool partial;           /* blocks have left their sums in the workspace */
    const char *keep;       /* where a result stays whose pieces are summed
                               (norm.h), as `sum`; or NULL */
    const char *rows_of[MAX_STEPS]; /* where a step's values of rows i and
                               columns e stay, for sums over rows; or NULL */
    const char *sum;        /* the sum of column e of them in registers, or
                               NULL: it is in shared memory, in `sums` */
    bool own_rows;          /* rows are reduced in simt's registers */
    bool redone;            /* contract_redo: no sum has what is out of its
                               range */
    const char *width;      /* contract_pairs: the columns of a tile that the
                               block finishes, "BN" */
    const Expr *held[MAX_EARLY]; int n_held; /* reads of rows that registers */
    const char *held_id[MAX_EARLY];          /* have: by the row's number i */
    const Tensor *input[MAX_EARLY]; int n_input; /* of which all that is read */
    const char *input_at[MAX_EARLY];   /* at a point is in shared memory here */
} ContractBuild;

/* The group as a contraction; false and the reason if it is none. */
bool contract_open(Contract *x, Graph *g, const Group *gr, const Options *o,
                   const char **why);
/* The same of terms of two reads that are no product. */
bool contract_open_pairs(Contract *x, Graph *g, const Group *gr,
                         const Options *o, const char **why);
/* Whether tf32 products take its values as they are: tf32 has f16's bits and
 * bf16's range, and holds both exactly. */
bool contract_is_tf32(const Operand *o);
/* What were columns become rows, and a's factors b's: the sides alone, not what
 * was found of them. */
void contract_turn(Contract *x);
/* Special functions that e takes. */
double contract_specials(const Contract *x, const Expr *e);
/* The variable in which neighbouring points of a row differ; or NULL. */
const Var *contract_fast(const Contract *x);
/* How operands are loaded, whatever the tile: after f->mma and f->elem. */
void contract_loads(Contract *f);
/* A plan of tile t: sizes its loads; NULL, or why the tile cannot be. `rows`:
 * its own. */
const char *contract_plan(ContractPlan *p, const Contract *f, const Tile *t,
                          bool rows);
/* The same of a planned tile whose k is split otherwise. */
const char *contract_resplit(ContractPlan *p, int split);
/* p->regs from what the inner loop keeps; the rest is added here. */
void contract_regs(ContractPlan *p, int inner);
/* Bytes of shared memory. */
size_t contract_smem(const ContractPlan *p);
size_t contract_used(const ContractPlan *p); /* of which a block uses so many */
int64_t contract_tiles(const Contract *f, const Tile *t); /* of one product */
int64_t contract_blocks(const Contract *f, const Tile *t); /* likewise */

/* The cost that both families share; the pipe's part (pipe, efficiency,
 * smem_bytes of the inner loop, thread_ops) is set by the caller. */
void contract_work(const ContractPlan *x, Work *w);
double contract_flops(const Contract *x); /* useful ones */
/* Of a variant (Family.potential) whose threads do so much for each load of
 * shared memory. */
double contract_potential(const Contract *x, const Variant *v, Pipe p,
                          double thread_ops);
/* Instructions of a thread's copy of a vector. */
double contract_copy_ops(const Contract *x, const Load *l);
/* How much longer memory takes over weights that a lone row of tiles reads, in
 * pieces of 128 bytes or so from rows far apart, than as they lie. */
double contract_pages(const Contract *x, bool lone);
/* "bm=.. bn=.. ..." from `v`. */
const char *contract_text(const Contract *x, const Tile *t);
Tile contract_tile(const Variant *v);
void contract_knobs(const Tile *t, Variant *v);
/* A tile's best split of those tiles alone that make no whole round of the SMs
 * with `room` blocks each, in t; false: there is none. */
bool contract_late(const Contract *x, Tile *t, int room);
/* Blocks that an SM shall hold at a time where k is split through memory: so
 * many that all have equally many. */
int contract_room(const ContractPlan *p);
/* Splits of K worth trying for a tile: fills split, returns how many. */
enum { MAX_SPLITS = 16 };
int contract_splits(const Contract *x, const Tile *t, int split[MAX_SPLITS]);

/* Building, of a plan that stays: contract_begin (arguments, constants, shared
 * memory), then contract_body, which makes all phases:
 *
 *   setup     the block's tile and K range, what a thread keeps of its rows
 *   load      a routine for each operand: load_<id>(k_tile, slot), with
 *             p->spread also of one part of the tile, with (.., part, of);
 *             or fetch_<id>(k_tile) and store_<id>(slot) through registers
 *   multiply  template `main` (AHEAD MORE FETCH STORE COMMIT WAIT + extra)
 *   epilogue  template `to_sums` stages the sums in shared memory; then the
 *             steps after the sum, several columns at a time
 *
 * Where blocks split K through memory, the staging is a phase of its own
 * (sums), and a phase "split K" behind it leaves them in the workspace. */
void contract_begin(ContractBuild *x, const ContractPlan *p, Kernel *k);
/* Its first part: arguments and names. */
void contract_start(ContractBuild *x, const ContractPlan *p, Kernel *k);

/* How much of an SM's memory a kernel with a ring wants shared. */
Shared contract_shared(const Device *d, size_t smem);
/* `const int head = blockIdx.z % 12;` for the variables of both operands. */
void contract_batch(ContractBuild *x, Tree *b);
/* m0, n0, the batch, and k_tile to k_end: the block's tile, its part of k. */
void contract_place(ContractBuild *x, Tree *b);
/* The grid and the kernel's figures, once its phases are there. */
void contract_end(ContractBuild *x);
void contract_body(ContractBuild *x, const char *main, const char *to_sums,
                   const Fill *extra, int n_extra);

/* contract_needed.c: may tiles that nobody reads be left out, and which share
 * is left; the condition of a tile at m0 and n0 to be one, or NULL. */
void contract_needed(Contract *x);
double contract_live(const ContractPlan *x);
const char *contract_unread(ContractBuild *x, const char *m0, const char *n0);

/* contract_range.c: the bounds; the largest value of e, as a bound has it, in
 * the tile that begins at its variables. */
void contract_bounds(Contract *x);
const Idx *contract_most(const ContractPlan *x, const Idx *e);
/* Which part of all terms there is; */
double contract_terms(const Contract *x);
/* of the steps over k, in the mean and of the tile with most, where tiles leave
 * out those without terms: as many as the SM with most takes if it has `tiles`
 * of them. */
double contract_reach(const ContractPlan *x, double tiles);
/* `const int k_end = ..;` and then k_tile or k_begin (`begin`), of the tile at
 * m0 and n0; at least one step. */
void contract_reached(ContractBuild *x, Tree *b, const char *begin);
/* Whether a plan's blocks do so. */
bool contract_reaches(const ContractPlan *x);

/* The parts. contract_load.c: a value that is computed goes by the rows' number
 * where that takes no division; */
void contract_number(ContractBuild *x, Load *l);
void contract_loader(ContractBuild *x, Load *l, Tree *setup, Tree *load);
/* Whether one of them is copied by cp.async. */
bool contract_async(const Load *a, const Load *b);
/* contract_store.c: from `sums` in shared memory to the stored tensors. With
 * p->cluster a block finishes ROWS of the tile's rows, and adds up what the
 * cluster has of them. */
void contract_epilogue(ContractBuild *x, Tree *b);
int contract_rows(const ContractPlan *p); /* that a block finishes */
/* contract_reduced.c: reductions over pieces of rows ahead of it. Whether there
 * is anything else to be stored; NULL, or why a plan's blocks cannot. */
void contract_reduced(ContractBuild *x, Tree *b);
/* The same of the row m's columns from n0 + `piece` on, where sums are in
 * registers: lanes share them, `column` is c, the place in the piece, of each
 * of a lane's e, and `sum` its sum. */
typedef struct ReducedWay {
    int lanes;
    const char *lane, *column, *sum;
    bool beyond; /* whole tiles may lie beyond M */
    int apart;   /* lanes from one that shares them to the next */
} ReducedWay;
void reduced_piece(ContractBuild *x, Tree *b, const ReducedWay *way);
bool contract_stores(const Contract *x);
/* Instructions of a result for these, about; what they are more if sums go
 * through shared memory (`staged`). */
double contract_reduced_ops(const Contract *x, bool staged);
const char *contract_check_reduced(const ContractPlan *p);
/* Before it, and before the sums: loads that need not wait for them. */
void contract_early(ContractBuild *x, Tree *b);
/* The same for one thread's `vec` neighbouring columns, at most `most`. `place`
 * prints where they are: m and n, or with p->patch the variables of m, which it
 * names; and sets x->sum. */
typedef void ContractPlace(ContractBuild *x, Tree *b);
/* contract_range.c: a range of the sum and its batch alone, as a phase's taps
 * are, is none where both factors have zeros out of it: for families that load
 * a factor under any condition. */
void contract_cut(Contract *x);
/* contract_range.c: sums over a range in `sums`, a thread's fragments, again
 * where they are NaN; `place`: of half rows i, as contract_points' are, and the
 * number `at` of a sum in a row of fragments. */
void contract_redo(ContractBuild *x, Tree *b, ContractPlace *place,
                   const char *sums);
/* What is read ahead of the sums: a vector for each of a thread's `pieces`, of
 * which `piece` is the number, as far as `regs` registers hold. */
typedef struct ContractAhead {
    int pieces, regs, vec;  /* of pieces of so many columns */
    const char *piece;
    Tree *declare, *reads;  /* lists, the caller's; as those below */
    const Expr *early[MAX_EARLY]; int n_early; /* what these read, in part */
    int column_regs;        /* and of what belongs to columns */
    Tree *columns;
    int by;                 /* 0, or the columns of a point where a loop over
                               them is outside that over rows: `by_columns` is
                               what is done once there */
    ContractPlace *column_place, *row_place; /* then in place of `place` */
    Tree *by_columns;
} ContractAhead;
void contract_points(ContractBuild *x, Tree *b, int most, ContractPlace *place,
                     ContractAhead *ahead);
/* The text of `reads` of a wgmma tile's fragments: `once`, of `part` groups of
 * columns, which are all; or read_ahead(first), of as many from there on. */
void contract_read_ahead(const ContractAhead *ahead, Tree *b, int part,
                         bool once);
/* contract_pack.c: the same in two halves, where contract_packs(): pairs of
 * columns are finished into the uint32_t `pack`, and 8 neighbouring columns at
 * address `from` stored; with f->lines, which it sets, a line of the columns of
 * `from`, a warp together. What the pairs read of columns alone comes `ahead`
 * of the sums, as far as there are `regs` registers. */
bool contract_packs(Contract *x);
/* In C, that of the one tensor that is stored. */
const char *contract_packed_type(const ContractBuild *x);
/* contract_store.c: whether what is stored to t is out of the caches' way at
 * once, for what all tiles read: no launch reads it, or the L2 holds less than
 * half of it. */
bool contract_goes_past(const Contract *f, const Tensor *t);
/* Neighbouring columns, `most` or fewer, that some store takes at once. */
int contract_columns(const Contract *x, int most);
void contract_pairs(ContractBuild *x, Tree *b, ContractPlace *place,
                    const char *pack, Tree *ahead, int regs);
void contract_pieces(ContractBuild *x, Tree *b, ContractPlace *place,
                     const char *from);

/* l->row_part and l->k_part, for a plain read. */
void contract_split_offset(Contract *x, Load *l);
/* Declares the variables of s that l's operand uses, of the number `text`. */
void contract_digits(ContractBuild *x, Tree *b, const Side *s, const Load *l,
                     const char *text);
/* "long long" where offsets of the operand's elements need it. */
const char *contract_offset_type(const Load *l);
/* l->row_part as text: "K * m" where the rows lie so. */
const char *contract_row_offset(ContractBuild *x, const Load *l);
size_t contract_ring(const ContractPlan *p);      /* bytes of the tiles */

#endif
