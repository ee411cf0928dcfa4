/* contract_skinny.h - few rows against many weights, at memory speed.
 *
 * The weights go once from memory straight to registers: a warp has LANE_K
 * k by COLUMNS / WARPS_N columns of them in each step, DEEP steps at a time.
 * Four lanes side by side hold different k of the same columns, so that the
 * words they load are fragments of mma.sync as they come: the weights as its
 * 16 rows, the few rows of x, from shared memory, as its 8 columns. Factors
 * that tensor cores do not take are multiplied as floats by the same lanes.
 *
 * Warps share K within a block, blocks within a cluster; each block adds up
 * all partial sums of its BN columns in one order and finishes them. */
#ifndef DCC_FAMILY_CONTRACT_SKINNY_H
#define DCC_FAMILY_CONTRACT_SKINNY_H

#include "family/contract/contract_shared.h"

/* The analysis of a group, shared by its variants. */
typedef struct SkinnyForm {
    Contract x;
    bool k_major;   /* weights contiguous along k; else along n */
    bool mma;       /* 16-bit factors on tensor cores; else floats */
    int size;       /* bytes of a weight */
    int align;      /* weights in one aligned load, at most 16 bytes of them */
    const Var *k, *n; /* that the weights' offset is linear in */
} SkinnyForm;

/* What a variant decides. */
typedef struct Skinny {
    const SkinnyForm *f;
    ContractPlan x; /* x.t: bm, bn: what a block finishes; bk: its part of K */
    int cols;       /* of a warp */
    int lane_n;     /* columns of a lane, where it has neighbours */
    int warps_n, warps_k, deep;
    int lane_k;     /* k of a lane in one step */
    int k_step;     /* of a warp */
    int steps;      /* of a block */
    int columns;    /* of a cluster */
    int words;      /* registers of weights in a step */
    int pad;        /* elements after a row of x in shared memory */
    size_t smem;
} Skinny;

/* What its kernel's text is made with. */
typedef struct SkinnyBuild {
    ContractBuild x;
    const SkinnyForm *f;
    const Skinny *p;
    void *constants; /* contract_skinny_rows.c's */
} SkinnyBuild;

/* The analysis; NULL, or why the group is none. */
const char *skinny_open(SkinnyForm *f, Graph *g, const Group *gr,
                        const Options *o);
/* NULL, or why the variant cannot be. */
const char *skinny_plan(Skinny *s, const SkinnyForm *f, const Variant *v);
const void *skinny_form(Graph *g, const Group *gr, const Options *o,
                        const char **why);
int skinny_space(const void *form, Variant **out);
const char *skinny_text(const void *form, const Variant *v);
/* contract_skinny_cost.c */
void skinny_cost(const void *form, const Variant *v, Cost *c);
/* contract_skinny_rows.c, of a group that computes values of its rows first
 * (row_values.h). NULL, or why it is not served; how many they are; the text,
 * after which x->a's values are made of them. */
const char *skinny_check_rows(const Contract *x);
int skinny_row_values(const Contract *x);
void skinny_put_rows(SkinnyBuild *s, Tree *b);
/* Before the wait for the grid: constants that x's elements are made of come
 * into registers, if each thread has the same of them for all rows, in so many
 * turns; or into the L2 (0). */
int skinny_turns(const SkinnyBuild *s);
void skinny_put_constants(SkinnyBuild *s, Tree *b);
/* Then values that take them, and the loop around these. */
void skinny_keep_constants(SkinnyBuild *s, bool on);
Tree *skinny_turn_code(const SkinnyBuild *s, Tree *body);

/* ---- what contract_stream has in common with it ------------------------ */

/* Blocks of t.threads and this much shared memory that an SM has room for. */
double skinny_room(const ContractPlan *x, size_t smem);

/* The memory's time over that of blocks which are all there from the start:
 * where there are many they go where there is room, and only the last ones are
 * uneven. */
double skinny_uneven(const Device *d, double blocks, double room);
/* What both know of their cost: clusters of t.split blocks share `columns`
 * columns, and each block has `parts` sums of each result. */
void skinny_work(const ContractPlan *x, const SkinnyForm *f, int columns,
                 int parts, size_t smem, Work *w);

/* The kernel's frame: its name, launch and work; then M to LANE_K. */
void skinny_frame(ContractBuild *x, Kernel *k, const char *family, int columns,
                  size_t smem);
void skinny_constants(ContractBuild *x, int k_step, int lane_k);

/* Slots of contract_skinny_*_sums.cu.in: how many sums a lane has, and where
 * each belongs; its warp's part among those of the block. */
typedef struct SkinnySums {
    bool mma;
    const char *column, *row, *tiles, *rows;
    const char *warp, *warps;
} SkinnySums;

/* Adds up the parts and finishes the block's columns. */
void skinny_put_sums(ContractBuild *x, const SkinnySums *of);

#endif
