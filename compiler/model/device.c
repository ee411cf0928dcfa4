#include "model/device.h"

#include "support/support.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the model divides by is more than 0: RATE and COUNT of any GPU, SINCE
 * and COUNT_SINCE of one of that architecture or a newer one. */
#define FIGURE(f, whole, since, unit, meaning) \
    {#f, offsetof(Device, f), whole, since, unit, meaning}
#define REAL(f, unit, meaning) FIGURE(f, false, NO_SM, unit, meaning)
#define RATE(f, unit, meaning) FIGURE(f, false, 0, unit, meaning)
#define COUNT(f, unit, meaning) FIGURE(f, true, 0, unit, meaning)
#define SINCE(sm, f, unit, meaning) FIGURE(f, false, sm, unit, meaning)
#define COUNT_SINCE(sm, f, unit, meaning) FIGURE(f, true, sm, unit, meaning)
enum { MOST_COUNT = 100000, NO_SM };

static const DeviceKey keys[] = {
    COUNT(sm, "", "compute capability x 10"),
    COUNT(sms, "SMs", "streaming multiprocessors"),
    COUNT_SINCE(90, cluster_sms, "SMs",
                "of these, that clusters of 4 or 8 can fill"),
    RATE(clock_ghz, "GHz", "boost clock"),
    RATE(hbm_gbs, "GB/s", "memory, reading and writing"),
    RATE(l2_gbs, "GB/s", "L2 to all SMs"),
    RATE(l2_mb, "MB", "L2 cache"),
    REAL(l2_keeps, "", "part of the L2 in which a tensor stays"),
    COUNT(smem_block_kb, "KB", "shared memory a block may have"),
    COUNT(smem_sm_kb, "KB", "shared memory of an SM"),
    COUNT(regs_sm, "registers", "of an SM"),
    COUNT(threads_sm, "threads", "of an SM at once"),
    COUNT(blocks_sm, "blocks", "of an SM at once"),
    RATE(fma_tflops, "TFLOP/s", "f32 multiply-adds"),
    SINCE(80, mma_tflops, "TFLOP/s", "f16 by mma.sync, f32 sums; 0: none"),
    SINCE(90, wgmma_tflops, "TFLOP/s", "f16 by wgmma; 0: none"),
    SINCE(80, tf32_tflops, "TFLOP/s", "tf32 by the quickest instruction"),
    SINCE(80, i8_tops, "TOP/s", "i8 by the quickest instruction"),
    SINCE(80, mma_tf32_tflops, "TFLOP/s", "tf32 by mma.sync"),
    SINCE(80, mma_i8_tops, "TOP/s", "i8 by mma.sync"),
    SINCE(80, mma_reached, "", "part of mma.sync's rates that a loop reaches"),
    RATE(special_gops, "GOP/s", "exp, rsqrt, division, ..."),
    RATE(smem_bytes_clk, "bytes/clock", "shared memory of an SM"),
    RATE(smem_latency, "clocks", "of a load from shared memory"),
    RATE(l2_latency, "clocks", "of a load from the L2"),
    RATE(hbm_latency, "clocks", "of a load from memory"),
    REAL(hbm_uneven, "", "part of a last round that the memory is idle"),
    REAL(tma_row_clk, "clocks", "of TMA, for a row of a box"),
    REAL(tma_odd_row_clk, "clocks", "the same, that splits a sector or ends"),
    REAL(tma_few_terms_clk, "clocks", "the same, in products of few terms"),
    REAL(start_clk, "clocks", "before a block has asked the memory for anything"),
    REAL(slot_clk, "clocks", "of a ring's slot: asked for, waited for, free again"),
    REAL(window_clk, "clocks", "the same, where a window slides from slot to slot"),
    REAL(sync_clk, "clocks", "of a block's barrier, and what its warps wait"),
    REAL(cluster_clk, "clocks", "of a cluster's barrier, and what its blocks wait"),
    REAL(memory_clk, "clocks", "of handing over through memory: a flag and a fence"),
    RATE(dsm_bytes_clk, "bytes/clock", "between shared memories of a cluster, of an SM"),
    RATE(sm_bytes_clk, "bytes/clock", "between an SM and the L2"),
    RATE(dependent_clk, "clocks", "of an instruction that waits for the one before"),
    REAL(copy_ops, "instructions", "of a copy of a vector to shared memory"),
    REAL(access_ops, "instructions", "of a load or store, its address in it"),
    REAL(guard_ops, "instructions", "of a guard, or the index of a window's dimension"),
    REAL(round_ops, "instructions", "of a loop's round"),
    REAL(part_sector, "", "of the L2's time, for a sector that is stored in part"),
    REAL(far_rows, "", "of memory's time, for one tile's rows far apart"),
    REAL(run_bytes, "bytes", "of memory's time to go from one run to another"),
    RATE(lone_warp, "", "of FMA's rate that one warp of large tiles reaches"),
    REAL(hidden_ops, "instructions", "a result, beside products and stores"),
    REAL(softmax_ops, "instructions", "a score, beside its exponential"),
    RATE(issue_reached, "", "part of the issue slots that a loop reaches"),
    REAL(beside, "", "part of the shorter of two limits that shows"),
    REAL(l2_shared, "", "of loads that neighbours do at one time: part that counts"),
    REAL(power_math, "", "part of wgmma's peak time that power takes"),
    REAL(power_smem, "", "and of shared memory's, besides"),
    RATE(ask_sms, "", "part of the SMs that ask for all bandwidth"),
    RATE(ask_warps, "warps", "of an SM that ask for all bandwidth, less"),
    REAL(ask_warps_first, "warps", "as many that count besides"),
    RATE(ask_kb, "KB", "of an SM's copies under way: all bandwidth"),
    RATE(fma_warps, "warps", "of an SM that reach the rate of FMA"),
    RATE(mma_warps, "warps", "of an SM that reach mma.sync's rate"),
    REAL(late_waves, "waves", "of blocks whose latency nothing hides"),
    REAL(map_regs, "registers", "of a map's thread, beside its values"),
    REAL(reduce_regs, "registers", "of a reduction's thread, beside its values"),
    REAL(walk_regs, "registers", "of a thread that walks over windows, likewise"),
    REAL(ragged_regs, "registers", "of a walk whose last tile is cut off, more"),
    REAL(band_regs, "registers", "of a walk over rows that its block shares"),
    REAL(walk_most_regs, "registers", "the most that a walk's thread should have"),
    REAL(band_most_regs, "registers", "the same, of rows that its block shares"),
    RATE(loads_ahead, "turns", "of a loop whose loads are under way at once"),
    REAL(launch_us, "us", "a dependent node of a CUDA graph"),
    REAL(dependent_launch_us, "us", "the same by dependent launch; 0: none"),
};
#undef FIGURE
#undef REAL
#undef RATE
#undef COUNT
#undef SINCE
#undef COUNT_SINCE
enum { N_KEYS = sizeof keys / sizeof *keys };
_Static_assert((int)N_KEYS <= (int)MOST_FIGURES, "a source for each key");

const DeviceKey *device_keys(int *n)
{
    *n = N_KEYS;
    return keys;
}

double device_figure(const Device *d, const DeviceKey *k)
{
    const char *at = (const char *)d + k->offset;

    return k->whole ? *(const int *)at : *(const double *)at;
}

static const char *const sources[] = {
    [FROM_GUESS] = "guess",
    [FROM_FIT] = "fitted",
    [FROM_MAKER] = "published",
    [FROM_MEASUREMENT] = "measured",
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

const char *source_name(FigureSource s)
{
    return sources[s];
}

static bool is_word(const char *word, const char *p, size_t n)
{
    return strlen(word) == n && !memcmp(word, p, n);
}

/* `source: remark` into d; false if it begins with no source. */
static bool read_remark(Arena *a, Device *d, int key, const char *p,
                        const char *end)
{
    size_t n = 0;

    while (p < end && isspace((unsigned char)*p))
        p++;
    while (p + n < end && isalpha((unsigned char)p[n]))
        n++;
    for (int s = 0; s < N_SOURCES; s++) {
        if (!is_word(sources[s], p, n))
            continue;
        p += n;
        while (p < end && (*p == ':' || isspace((unsigned char)*p)))
            p++;
        d->source[key] = (FigureSource)s;
        d->remark[key] = arena_strndup(a, p, (size_t)(end - p));
        return true;
    }
    return false;
}

/* `value  # source: remark` of a key; what is wrong, or NULL. */
static const char *set_figure(Arena *a, Device *d, int key, const char *p,
                              const char *end)
{
    const DeviceKey *k = &keys[key];
    const char *mark = memchr(p, '#', (size_t)(end - p));
    char *rest;
    double value = strtod(p, &rest);

    if (rest == p || rest > end || !(value >= 0 && value < 1e9) ||
        (value > 0 && value < 1e-9))
        return "a number is expected";
    if (k->whole && (value > MOST_COUNT || value != floor(value)))
        return "a whole number up to 100000 is expected";
    while (rest < end && isspace((unsigned char)*rest))
        rest++;
    if (rest != (mark ? mark : end))
        return "a number is expected, then nothing but a # remark";
    if (!mark || !read_remark(a, d, key, mark + 1, end))
        return "no source: # measured, published, fitted or guess, and whose";
    if (k->whole)
        *(int *)((char *)d + k->offset) = (int)value;
    else
        *(double *)((char *)d + k->offset) = value;
    return NULL;
}

/* What another GPU's figures are for this one. */
static const char *start_like(Arena *a, Device *d, const char *p,
                              const char *end)
{
    const char *name = arena_strndup(a, p, (size_t)(end - p));
    const Device *other = device_find(a, name);
    Device own = *d;

    if (!other)
        return "no GPU is called so";
    *d = *other;
    d->name = own.name;
    d->title = own.title;
    for (int i = 0; i < N_KEYS; i++) {
        d->source[i] = FROM_GUESS;
        d->remark[i] = arena_printf(a, "as of %s", other->name);
    }
    return NULL;
}

static const char *read_line(Arena *a, Device *d, const char *p,
                             const char *end)
{
    const char *eq = memchr(p, '=', (size_t)(end - p));

    if (p == end || *p == '#')
        return NULL;
    if (!eq)
        return "key = value is expected";
    size_t n = (size_t)(eq - p);
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    eq++;
    while (eq < end && *eq == ' ')
        eq++;
    if (is_word("title", p, n)) {
        d->title = arena_strndup(a, eq, (size_t)(end - eq));
        return NULL;
    }
    if (is_word("like", p, n))
        return start_like(a, d, eq, end);
    for (int i = 0; i < N_KEYS; i++)
        if (is_word(keys[i].name, p, n))
            return set_figure(a, d, i, eq, end);
    return "no such figure (dcc devices h200 lists them)";
}

/* What a model cannot do without, in words; NULL: it is all there. */
static const char *missing(Arena *a, const Device *d)
{
    for (int i = 0; i < N_KEYS; i++)
        if (!d->remark[i])
            return arena_printf(a, "%s is not given", keys[i].name);
    for (int i = 0; i < N_KEYS; i++)
        if (d->sm >= keys[i].since && device_figure(d, &keys[i]) <= 0)
            return keys[i].since
                       ? arena_printf(a, "%s is 0, which it is not from sm_%d "
                                      "on", keys[i].name, keys[i].since)
                       : arena_printf(a, "%s is 0", keys[i].name);
    return NULL;
}

const Device *device_read(Arena *a, const char *name, const char *text,
                          const char **why)
{
    Device *d = arena_new_of(a, Device);
    int line = 1;

    d->name = d->title = name;
    *why = NULL;
    for (const char *p = text; *p && !*why; line++) {
        const char *next = p + strcspn(p, "\n"), *end = next;
        while (end > p && isspace((unsigned char)end[-1]))
            end--;
        const char *bad = read_line(a, d, p, end);
        if (bad)
            *why = arena_printf(a, "line %d: %s", line, bad);
        p = *next ? next + 1 : next;
    }
    if (!*why)
        *why = missing(a, d);
    return *why ? NULL : d;
}

const Device *device_file(Arena *a, const char *path, const char **why)
{
    const char *base = strrchr(path, '/');
    size_t n = strlen(path);
    const Device *d = NULL;
    Buf text = {0};

    *why = NULL;
    if (n < 5 || strcmp(path + n - 4, ".dev"))
        return NULL;
    base = base ? base + 1 : path;
    if (!file_read(&text, path))
        *why = file_error();
    else if (strlen(buf_text(&text)) != text.len)
        *why = "there is a NUL byte";
    else
        d = device_read(a, arena_strndup(a, base, strcspn(base, ".")),
                        buf_text(&text), why);
    buf_free(&text);
    return d;
}

const Device *device_dependent(Arena *a, const Device *d)
{
    Device *other = arena_new_of(a, Device);

    if (d->dependent_launch_us <= 0)
        return NULL;
    *other = *d;
    other->launch_us = d->dependent_launch_us;
    return other;
}

int device_count(void)
{
    int n = 0;

    while (embedded_devices[n].name)
        n++;
    return n;
}

const char *device_name(Arena *a, int i)
{
    const char *name = embedded_devices[i].name;

    return arena_strndup(a, name, strcspn(name, "."));
}

/* The GPU that stands for an architecture when only sm_XX is named. */
static const char *typical(const char *target)
{
    static const char *const of[][2] = {
        {"sm_70", "v100"}, {"sm_75", "t4"},   {"sm_80", "a100"},
        {"sm_86", "a10"},  {"sm_89", "l40s"}, {"sm_90", "h200"},
        {"sm_90a", "h200"},
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (!strcmp(of[i][0], target))
            return of[i][1];
    return target;
}

const Device *device_find(Arena *a, const char *target)
{
    const char *name = typical(target);
    size_t n = strlen(name);

    const char *why;

    for (const EmbeddedFile *e = embedded_devices; e->name; e++)
        if (!strncmp(e->name, name, n) && e->name[n] == '.')
            return device_read(a, arena_strndup(a, e->name, n), e->text, &why);
    return NULL;
}
