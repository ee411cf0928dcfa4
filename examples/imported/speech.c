/* speech.c - where somebody speaks in a recording.
 *
 *     speech vad.safetensors sound.wav
 *
 * runs the voice activity detector that fetch.py imports, a convolution and an
 * LSTM, over a recording (WAV, 16 bits, one channel, 16 kHz) and prints when
 * speech begins and ends. The network sees 512 samples at a time, 64 before
 * them, and its own state after the last time, which stays on the GPU. */
#include "vad.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, STEP = 512, BEFORE = 64, STATE = 2 * 128 };

static int fail(const char *what)
{
    fprintf(stderr, "speech: %s\n", what);
    return 1;
}

static uint32_t u32(const unsigned char *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The samples of a WAV file in -1 .. 1, NULL if it is none of the kind. */
static float *read_wav(const char *path, size_t *count)
{
    unsigned char head[12], chunk[8], format[16] = {0};
    FILE *f = fopen(path, "rb");
    float *sample = NULL;

    if (!f || fread(head, 1, 12, f) != 12 || memcmp(head, "RIFF", 4) ||
        memcmp(head + 8, "WAVE", 4))
        goto end;
    while (!sample && fread(chunk, 1, 8, f) == 8) {
        uint32_t size = u32(chunk + 4), most = 1u << 30;
        if (!memcmp(chunk, "fmt ", 4) && size >= 16) {
            if (fread(format, 1, 16, f) != 16)
                break;
            size -= 16;
        } else if (!memcmp(chunk, "data", 4)) {
            /* PCM, one channel, 16 kHz, 16 bits */
            if (format[0] != 1 || format[2] != 1 || u32(format + 4) != RATE ||
                format[14] != 16)
                break;
            *count = (size < most ? size : most) / 2;
            sample = (float *)calloc(*count + STEP, sizeof *sample);
            unsigned char two[2];
            for (size_t i = 0; sample && i < *count; i++)
                if (fread(two, 1, 2, f) == 2)
                    sample[i] = (int16_t)(two[0] | two[1] << 8) / 32768.0f;
                else
                    *count = i;
            continue;
        }
        if (fseek(f, size + (size & 1), SEEK_CUR))
            break;
    }
end:
    if (f)
        fclose(f);
    return sample;
}

/* How likely each step of the recording is speech. */
static int detect(vad *model, const float *sample, size_t steps, float *likely)
{
    float *x = NULL, *state[2] = {NULL, NULL}, *y = NULL;
    float window[BEFORE + STEP] = {0};
    int bad = cudaMalloc((void **)&x, sizeof window) != cudaSuccess ||
              cudaMalloc((void **)&y, sizeof *y) != cudaSuccess;

    for (int i = 0; i < 2 && !bad; i++)
        bad = cudaMalloc((void **)&state[i], STATE * sizeof(float)) !=
                  cudaSuccess ||
              cudaMemset(state[i], 0, STATE * sizeof(float)) != cudaSuccess;
    for (size_t t = 0; t < steps && !bad; t++) {
        vad_inputs in = {DCC_HEAD(vad_inputs), .input_ = x,
                         .state_ = state[t % 2]};
        vad_outputs out = {DCC_HEAD(vad_outputs),
                           .stateN = state[(t + 1) % 2], .output_ = y};
        memmove(window, window + STEP, BEFORE * sizeof *window);
        memcpy(window + BEFORE, sample + t * STEP, STEP * sizeof *window);
        bad = cudaMemcpy(x, window, sizeof window, cudaMemcpyHostToDevice) !=
                  cudaSuccess ||
              vad_run(model, &in, &out, 0) != DCC_OK ||
              cudaMemcpy(&likely[t], y, sizeof *y, cudaMemcpyDeviceToHost) !=
                  cudaSuccess;
    }
    cudaFree(x);
    cudaFree(y);
    cudaFree(state[0]);
    cudaFree(state[1]);
    return bad;
}

/* Speech begins where it is more likely than not and ends where it is not for
 * 0.2 seconds. */
static void print_events(const float *likely, size_t steps)
{
    const double seconds = (double)STEP / RATE;
    size_t begin = 0, last = 0;
    int speaking = 0;

    for (size_t t = 0; t <= steps; t++) {
        int heard = t < steps && likely[t] >= (speaking ? 0.35f : 0.5f);
        if (heard && !speaking) {
            speaking = 1;
            begin = t;
        }
        if (heard)
            last = t;
        if (speaking && (t == steps || (double)(t - last) * seconds > 0.2)) {
            printf("speech from %.2f s to %.2f s\n", (double)begin * seconds,
                   (double)(last + 1) * seconds);
            speaking = 0;
        }
    }
}

int main(int argc, char **argv)
{
    size_t count = 0;
    vad *model;

    if (argc != 3)
        return fail("usage: speech vad.safetensors sound.wav");
    float *sample = read_wav(argv[2], &count);
    if (!sample)
        return fail("this is no WAV file of 16 bits, one channel, 16 kHz");
    if (vad_create(&model, argv[1]) != DCC_OK)
        return fail(dcc_error());
    size_t steps = (count + STEP - 1) / STEP;
    float *likely = (float *)calloc(steps + 1, sizeof *likely);
    int bad = !likely || detect(model, sample, steps, likely);
    if (!bad)
        print_events(likely, steps);
    vad_destroy(model);
    free(likely);
    free(sample);
    return bad ? fail(dcc_error()[0] ? dcc_error() : "the GPU refused") : 0;
}
