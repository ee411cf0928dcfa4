#include "model/device.h"

#include "support/embed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Field {
    const char *key;
    size_t offset;
    bool whole;
} Field;

#define REAL(f) {#f, offsetof(Device, f), false}
#define WHOLE(f) {#f, offsetof(Device, f), true}
static const Field fields[] = {
    WHOLE(sm), WHOLE(sms), WHOLE(cluster_sms), REAL(clock_ghz),
    REAL(hbm_gbs), REAL(l2_gbs),
    REAL(l2_mb), WHOLE(smem_block_kb), WHOLE(smem_sm_kb), WHOLE(regs_sm),
    WHOLE(threads_sm), WHOLE(blocks_sm), REAL(fma_tflops), REAL(mma_tflops),
    REAL(wgmma_tflops), REAL(tf32_tflops), REAL(i8_tops),
    REAL(special_gops), REAL(smem_bytes_clk), REAL(smem_latency),
    REAL(l2_latency), REAL(hbm_latency), REAL(launch_us),
    REAL(dependent_launch_us),
};
#undef REAL
#undef WHOLE

static void set_field(Device *d, const char *key, size_t n, double value)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const Field *f = &fields[i];
        if (strlen(f->key) != n || memcmp(f->key, key, n))
            continue;
        if (f->whole)
            *(int *)((char *)d + f->offset) = (int)value;
        else
            *(double *)((char *)d + f->offset) = value;
    }
}

static void read_line(Arena *a, Device *d, const char *p, const char *end)
{
    const char *eq = memchr(p, '=', (size_t)(end - p));

    if (*p == '#' || !eq)
        return;
    size_t n = (size_t)(eq - p);
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    eq++;
    while (eq < end && *eq == ' ')
        eq++;
    if (n == 5 && !memcmp(p, "title", 5))
        d->title = arena_strndup(a, eq, (size_t)(end - eq));
    else
        set_field(d, p, n, strtod(eq, NULL));
}

static Device *read_device(Arena *a, const EmbeddedFile *e)
{
    Device *d = arena_new_of(a, Device);
    size_t n = strcspn(e->name, ".");

    d->name = arena_strndup(a, e->name, n);
    for (const char *p = e->text; *p;) {
        const char *end = p + strcspn(p, "\n");
        read_line(a, d, p, end);
        p = *end ? end + 1 : end;
    }
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

    for (const EmbeddedFile *e = embedded_devices; e->name; e++)
        if (!strncmp(e->name, name, n) && e->name[n] == '.')
            return read_device(a, e);
    return NULL;
}
