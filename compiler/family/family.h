/* family.h - a kernel family: one shape for all of them, one table. */
#ifndef DCC_FAMILY_H
#define DCC_FAMILY_H

#include "emit/emit.h"
#include "model/model.h"

enum { MAX_KNOBS = 9 };
typedef struct Variant {
    int knob[MAX_KNOBS]; /* the family's own meaning */
    const char *text;    /* "bm=128 bn=64 ..." as in plan files; NULL: the
                            family's text() says it */
} Variant;

typedef struct Options {
    const Device *device;
    int math;            /* MATH_EXACT, MATH_TF32, MATH_3XTF32 */
    bool dependent;      /* launches overlap, where the GPU can (sm_90) */
    const char *const *prefer; int n_prefer; /* families that get all that they
                            can serve, whatever it costs */
    const char *const *avoid; int n_avoid; /* families that get nothing */
    const struct Folds *folds; /* norms are corrections in these products alone
                            (group/fold.h); NULL: where that saves time */
    struct Readable *readable; /* groups that no family serves, as their kernels
                            have too many lines (search/readable.h); or NULL */
} Options;
enum { MATH_EXACT, MATH_TF32, MATH_3XTF32 };
const char *math_name(int math); /* as --math has it */

typedef struct Family {
    const char *name;
    int version;         /* part of plan keys; bumped when kernels change */
    /* The form: what the family makes of a group, found once and in g's arena,
     * with g, gr and o in it as far as the rest need them. NULL and *why, the
     * reason, if the family cannot serve the group. */
    const void *(*open)(Graph *g, const Group *gr, const Options *o,
                        const char **why);
    /* All legal variants, best guesses first is not required; returns count. */
    int (*space)(const void *form, Variant **out);
    void (*cost)(const void *form, const Variant *v, Cost *c);
    /* If k->waits the text has kernel_wait() in each thread before it touches
     * what a run writes, and at least once in every block; before that it may
     * read what kernel_reads_constants(), and writes nothing. */
    void (*build)(const void *form, const Variant *v, Kernel *k);
    bool chains;         /* serves chains (group/chain.h), and nothing else */
    /* Whether both compute each element in one order, which makes the results
     * equal bit for bit; NULL: only a variant and itself. */
    bool (*alike)(const Variant *a, const Variant *b);
    /* Microseconds that every variant takes, or fewer; NULL: none are known. */
    double (*least)(const void *form);
    /* What v's work takes at the part of the peak that its blocks can reach
     * (the paper's PUL), found at less cost than cost(); NULL: not known. */
    double (*potential)(const void *form, const Variant *v);
    /* Of variants without a text; they are too many to print all. */
    const char *(*text)(const void *form, const Variant *v);
} Family;

/* f's form of a group; NULL and *why if f cannot serve it. */
const void *family_open(const Family *f, Graph *g, const Group *gr,
                        const Options *o, const char **why);

/* v's text, as plan files have it. */
const char *variant_text(const Family *f, const void *form, const Variant *v);

/* What space returns as its list: these, in memory of their own. */
Variant *family_variants(Arena *a, const Variant *v, int n);

/* What open returns: f of n bytes, or NULL and its memory free again. */
const void *family_form(Graph *g, void *f, size_t n, const char *why);

extern const Family family_chain_mma, family_chain_few, family_chain_wgmma,
    family_chain_window,
    family_map, family_turn, family_prefix, family_listed,
    family_reduce,
    family_contract_simt,
    family_contract_mma, family_contract_wgmma,
    family_contract_wgmma_turned, family_contract_skinny,
    family_contract_stream, family_contract_halo, family_contract_taps;
/* NULL-terminated, in order of preference on equal cost. */
extern const Family *const family_table[];

#endif
