/* ref_main.h - shared by ref.c (options, files, random data), ref_run.c
 * (running, comparing) and ref_check.c (checking traces); nobody else's.
 */
#ifndef DCC_REF_MAIN_H
#define DCC_REF_MAIN_H

#include "dcc_ref.h"
#include "safetensors.h"

/* A model with its parameters and inputs, and while it runs its tensors. */
typedef struct {
    const dcc_ref_model *model;
    double **t;    /* one per tensor, NULL: not there */
    int *last;     /* the last statement that needs it */
    double worst;  /* of all errors / bounds or tolerances seen */
} RefRun;

int64_t ref_count(const dcc_ref_tensor *t);
void *ref_alloc(size_t n, size_t size); /* zeroed; exits with 3 on failure */

/* Elements as doubles, from any type a file may hold. False: a type that is
 * not known. */
bool ref_doubles(const dcc_st_tensor *t, double *out);

/* ref_run.c: parameters and inputs are in run->t. */
void ref_run(RefRun *run, int runs);
/* Every output against a file's. False if one is off by more than allowed;
 * tolerance < 0: chosen by the model's element types. Of what cancels until
 * less is left than the tolerance's share of the numbers that made it, what
 * rounding may leave is right. */
dcc_status ref_against(RefRun *run, const dcc_st_file *file, double tolerance,
                       int runs, bool *good);
double ref_tolerance(const dcc_ref_model *m);

/* ref_check.c: every traced tensor, or those of a list ("t3,t9"), each from
 * those before it. For each of a list it prints
 *     t3 right 0.25 of its bound
 *     t9 WRONG 12.5 of its bound at [0, 3], 7 instead of 6.5
 */
dcc_status ref_check(RefRun *run, const dcc_st_file *trace, double budget,
                     uint64_t seed, const char *only, bool verbose,
                     bool *good);

/* Of every float output, by tensor, what a correct program's may be off by
 * after so many runs: all between is evaluated with its bound, from the inputs
 * on. The rest are NULL; all are where that takes more than `budget` terms.
 * *most is the greatest of the floats that there were. */
double **ref_ends(RefRun *run, int runs, double budget, double *most);

/* The greatest finite number in memory of any float. */
double ref_greatest(const dcc_ref_model *m, const dcc_ref_value *value);
bool ref_is_float(dcc_type type);
/* Half of the last place of a float type at a; 0 for other types. */
double ref_half_place(dcc_type type, double a);

/* ref_noise.c: of every float output, by tensor, the most that rounding of all
 * that is stored on the way has moved an element by in a few tries; 0 for the
 * rest, and for all where that takes more than `budget` terms. run->t has what
 * ref_run left. *most as above. */
double *ref_noise(const RefRun *run, int runs, double budget, double *most);

/* ref_gradient.c: every gradient along so many random directions, within 1e-9
 * of |gradient| |direction|. */
bool ref_gradients(const RefRun *run, int directions, uint64_t seed);

/* "[3, 4]" of a linear offset. */
const char *ref_where(char *text, size_t size, const dcc_ref_tensor *t,
                      int64_t offset);
uint64_t ref_random(uint64_t *state);

#endif
