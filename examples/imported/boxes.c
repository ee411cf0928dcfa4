/* boxes.c - where there is text in a picture.
 *
 *     boxes det.safetensors picture.ppm
 *
 * runs the text detector that fetch.py imports on a picture (PPM or PGM) and
 * prints a box for each line of text: left, top, width and height in pixels,
 * and how sure the network is. */
#include "det.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDE = 384, HIGH = 192, PIXELS = WIDE * HIGH };

typedef struct Picture {
    int width, height, channels;
    unsigned char *data;
} Picture;

typedef struct Box {
    int left, top, right, bottom, count;
    double sum;
} Box;

static int fail(const char *what)
{
    fprintf(stderr, "boxes: %s\n", what);
    return 1;
}

/* A number of the head of a PNM file, comments before it left out. */
static int number(FILE *f)
{
    int c = getc(f), n = 0;

    while (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '#') {
        while (c == '#' && c != EOF)
            if ((c = getc(f)) != '\n' && c != EOF)
                c = '#';
        c = getc(f);
    }
    for (; c >= '0' && c <= '9' && n < 100000; c = getc(f))
        n = n * 10 + c - '0';
    return n;
}

static int read_picture(const char *path, Picture *p)
{
    FILE *f = fopen(path, "rb");
    int good = 0;

    if (f && getc(f) == 'P') {
        int kind = getc(f);
        p->channels = kind == '6' ? 3 : 1;
        p->width = number(f);
        p->height = number(f);
        if ((kind == '5' || kind == '6') && number(f) == 255 && p->width > 0 &&
            p->height > 0 && p->width <= 20000 && p->height <= 20000) {
            size_t n = (size_t)p->width * (size_t)p->height *
                       (size_t)p->channels;
            p->data = (unsigned char *)malloc(n);
            good = p->data && fread(p->data, 1, n, f) == n;
        }
    }
    if (f)
        fclose(f);
    return good;
}

/* One channel at a place between pixels. */
static float pixel(const Picture *p, float x, float y, int channel)
{
    int c = p->channels == 3 ? channel : 0, x0 = (int)x, y0 = (int)y;
    float sum = 0;

    for (int i = 0; i < 4; i++) {
        int u = x0 + i % 2, v = y0 + i / 2;
        float a = i % 2 ? x - (float)x0 : 1 - x + (float)x0;
        float b = i / 2 ? y - (float)y0 : 1 - y + (float)y0;
        u = u < p->width ? u : p->width - 1;
        v = v < p->height ? v : p->height - 1;
        sum += a * b * p->data[(v * p->width + u) * p->channels + c];
    }
    return sum;
}

/* The picture in the network's size, -1 .. 1, blue first. */
static void fill(const Picture *p, float *x)
{
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < HIGH; i++)
            for (int j = 0; j < WIDE; j++) {
                float u = ((float)j + 0.5f) * (float)p->width / WIDE - 0.5f;
                float v = ((float)i + 0.5f) * (float)p->height / HIGH - 0.5f;
                float value = pixel(p, u > 0 ? u : 0, v > 0 ? v : 0, 2 - c);
                x[c * PIXELS + i * WIDE + j] = value / 127.5f - 1;
            }
}

static int detect(const char *weights, const float *x, float *y)
{
    float *in = NULL, *out = NULL;
    det *model;

    if (det_create(&model, weights) != DCC_OK)
        return 1;
    int bad = cudaMalloc((void **)&in, 3 * PIXELS * sizeof *x) ||
              cudaMalloc((void **)&out, PIXELS * sizeof *y);
    if (!bad) {
        det_inputs i = {DCC_HEAD(det_inputs), .x = in};
        det_outputs o = {DCC_HEAD(det_outputs), .sigmoid_0_tmp_0 = out};
        bad = cudaMemcpy(in, x, 3 * PIXELS * sizeof *x,
                         cudaMemcpyHostToDevice) != cudaSuccess ||
              det_run(model, &i, &o, 0) != DCC_OK ||
              cudaMemcpy(y, out, PIXELS * sizeof *y, cudaMemcpyDeviceToHost) !=
                  cudaSuccess;
    }
    cudaFree(in);
    cudaFree(out);
    det_destroy(model);
    return bad;
}

/* All pixels above 0.3 that touch the one at `at`, taken out of y. */
static Box flood(float *y, int at, int *stack)
{
    Box b = {WIDE, HIGH, 0, 0, 0, 0};
    int n = 0;

    stack[n++] = at;
    b.sum = y[at];
    y[at] = 0;
    while (n) {
        int k = stack[--n], r = k / WIDE, c = k % WIDE;
        b.left = c < b.left ? c : b.left;
        b.right = c > b.right ? c : b.right;
        b.top = r < b.top ? r : b.top;
        b.bottom = r > b.bottom ? r : b.bottom;
        b.count++;
        for (int i = 0; i < 9; i++) {
            int v = r + i / 3 - 1, u = c + i % 3 - 1, to = v * WIDE + u;
            if (v < 0 || v >= HIGH || u < 0 || u >= WIDE || y[to] <= 0.3f)
                continue;
            b.sum += y[to];
            y[to] = 0;
            stack[n++] = to;
        }
    }
    return b;
}

/* The network marks the middle of a line; its box is that much larger. */
static void print_box(const Box *b, const Picture *p)
{
    double w = b->right - b->left + 1, h = b->bottom - b->top + 1;
    double grow = w * h * 1.6 / (2 * (w + h));
    double sx = (double)p->width / WIDE, sy = (double)p->height / HIGH;
    double left = b->left - grow, top = b->top - grow;

    left = left > 0 ? left : 0;
    top = top > 0 ? top : 0;
    printf("%4.0f %4.0f %4.0f %4.0f  %.2f\n", left * sx, top * sy,
           (w + 2 * grow) * sx, (h + 2 * grow) * sy, b->sum / b->count);
}

int main(int argc, char **argv)
{
    Picture p = {0};

    if (argc != 3)
        return fail("usage: boxes det.safetensors picture.ppm");
    if (!read_picture(argv[2], &p))
        return fail("this is no PPM or PGM picture of 8 bits");
    float *x = (float *)malloc(4 * PIXELS * sizeof *x), *y = x + 3 * PIXELS;
    int *stack = (int *)malloc(PIXELS * sizeof *stack);
    int bad = !x || !stack;
    if (!bad) {
        fill(&p, x);
        bad = detect(argv[1], x, y);
    }
    for (int i = 0; i < PIXELS && !bad; i++) {
        if (y[i] <= 0.3f)
            continue;
        Box b = flood(y, i, stack);
        if (b.count >= 10 && b.sum / b.count >= 0.5)
            print_box(&b, &p);
    }
    free(x);
    free(stack);
    free(p.data);
    return bad ? fail(dcc_error()[0] ? dcc_error() : "the GPU refused") : 0;
}
