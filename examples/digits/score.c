/* score.c - how many of the test images a run recognised.
 *
 *     score images.safetensors labels.safetensors out.safetensors
 *
 * compares `label` with the run's `digit` (i32, one an image) and shows the
 * first image with what was read in it. Exit status 1 if fewer
 * than 95 of 100 are right or a file cannot be used. */
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a one-dimensional i32 tensor of `n` elements, any n if *n is 0. */
static int32_t *read_i32(const dcc_st_file *file, const char *name, int64_t *n)
{
    const dcc_st_tensor *t = dcc_st_find(file, name);
    int64_t dim = *n ? *n : t ? t->count : 1;
    dcc_st_want want = {.name = name, .type = DCC_I32, .rank = 1, .dim = &dim,
                        .role = "tensor"};
    int32_t *value = malloc((size_t)dim * sizeof *value);
    if (!value || dcc_st_read(file, &want, value, NULL) != DCC_OK) {
        fprintf(stderr, "score: %s\n", value ? dcc_error() : "out of memory");
        free(value);
        return NULL;
    }
    *n = dim;
    return value;
}

/* One 8 x 8 image of floats in [0, 1] as text. */
static void show(const float *pixel)
{
    for (int row = 0; row < 8; row++) {
        printf("    ");
        for (int col = 0; col < 8; col++) {
            int shade = (int)(pixel[row * 8 + col] * 4.99f);
            printf("%c%c", " .:*#"[shade], " .:*#"[shade]);
        }
        printf("\n");
    }
}

static int score(const dcc_st_file *images, const dcc_st_file *labels,
                 const dcc_st_file *out)
{
    int64_t n = 0, right = 0;
    int32_t *label = read_i32(labels, "label", &n);
    int32_t *digit = label ? read_i32(out, "digit", &n) : NULL;
    if (digit) {
        for (int64_t i = 0; i < n; i++)
            right += digit[i] == label[i];
        const dcc_st_tensor *x = dcc_st_find(images, "x");
        if (x && x->dtype == DCC_ST_F32 && x->count == n * 64) {
            float pixel[64];
            memcpy(pixel, x->data, sizeof pixel);
            printf("the first image, read as %d:\n", digit[0]);
            show(pixel);
        }
        printf("accuracy: %lld of %lld images (%.1f%%)\n", (long long)right,
               (long long)n, 100.0 * (double)right / (double)n);
    }
    free(label);
    free(digit);
    return right * 100 >= n * 95 && digit ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: score images.safetensors labels.safetensors "
                        "out.safetensors\n");
        return 2;
    }
    dcc_st_file *file[3] = {NULL, NULL, NULL};
    int status = 0;
    for (int i = 0; i < 3 && !status; i++)
        status = dcc_st_open(&file[i], argv[i + 1]) != DCC_OK;
    if (status)
        fprintf(stderr, "score: %s\n", dcc_error());
    else
        status = score(file[0], file[1], file[2]);
    for (int i = 0; i < 3; i++)
        dcc_st_close(file[i]);
    return status;
}
