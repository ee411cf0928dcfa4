#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <stdlib.h>

/* In which order the tiles of a chain run, where they have blocks of columns
 * that differ in number, and when the last one of them ends. */

/* The last column, or the first, of a live score where the block's rows begin
 * at m0: by one condition, and of the batch's first. */
static int64_t bound(const ChainKernel *w, const Idx *e, int64_t m0)
{
    int64_t r = idx_coef(e, w->f->row), c = idx_coef(e, w->f->col);
    double most = (double)(e->k + r * (r > 0 ? m0 + w->bm - 1 : m0));

    return (int64_t)floor(most / (double)llabs(c)) * (c < 0 ? 1 : -1);
}

/* Blocks of columns of the warpgroup of a tile. */
static double steps_of(const ChainKernel *w, int tile)
{
    const ChainForm *f = w->f;
    int64_t last = f->J - 1, begin = 0;
    double n = 1;

    for (int i = 0; i < f->rows.live.n; i++) {
        const Idx *e = f->rows.live.cond[i].e;
        int64_t c = idx_coef(e, f->col);
        int64_t at = c ? bound(w, e, (int64_t)tile * w->bm) : 0;
        if (c < 0 && at < last)
            last = at;
        if (c > 0 && at > begin)
            begin = at;
    }
    if (last >= begin)
        n = (double)(last / w->bj - begin / w->bj + 1);
    return ceil(n / fmax(1, w->teams));
}

double chain_mean_steps(const ChainKernel *w, double *longest)
{
    double all = 0;

    *longest = 1;
    for (int t = 0; t < w->m_tiles; t++) {
        double n = steps_of(w, t);
        all += n;
        *longest = fmax(*longest, n);
    }
    return all / w->m_tiles;
}

bool chain_first_longest(const ChainKernel *w)
{
    return steps_of(w, 0) > steps_of(w, w->m_tiles - 1);
}

/* ---- when the last one ends ---------------------------------------------- */

/* What an SM has at a time: of each tile the steps that are left at `at`; and
 * when the first one ends. */
typedef struct Sm {
    double left[CHAIN_RESIDENT], at, next;
    int n;
} Sm;

static void find_next(Sm *s, const double *step)
{
    double least = INFINITY;

    for (int i = 0; i < s->n; i++)
        least = fmin(least, s->left[i]);
    s->next = s->n ? s->at + least * step[s->n] : INFINITY;
}

/* The first one ends. */
static void end_first(Sm *s, const double *step)
{
    double done = (s->next - s->at) / step[s->n];
    int first = 0;

    for (int i = 0; i < s->n; i++) {
        s->left[i] -= done;
        if (s->left[i] < s->left[first])
            first = i;
    }
    s->left[first] = s->left[--s->n];
    s->at = s->next;
}

/* A heap by `next`, of which s[i] may be too early. */
static void sift(Sm *s, int n, int i)
{
    for (int k; (k = 2 * i + 1) < n; i = k) {
        k += k + 1 < n && s[k + 1].next < s[k].next;
        if (s[i].next <= s[k].next)
            return;
        Sm t = s[i];
        s[i] = s[k];
        s[k] = t;
    }
}

/* Steps of the tile that is number i to begin: as dcc_last_first has it. */
static double steps_in_turn(const ChainKernel *w, bool first, int64_t i)
{
    int64_t from = i / ((int64_t)w->group * w->m_tiles) * w->group;
    int64_t width = w->f->batches - from;

    width = width < w->group ? width : w->group;
    int tile = (int)((i - from * w->m_tiles) / width);
    return steps_of(w, first ? tile : w->m_tiles - 1 - tile);
}

double chain_order_clk(const ChainKernel *w, const double *step, double start)
{
    enum { MOST_SMS = 256, MANY = 16 }; /* of so many rounds the order matters
                                           little */
    int64_t tiles = w->m_tiles * w->f->batches, i = 0;
    int sms = w->f->a.o->device->sms;
    bool first = chain_first_longest(w);
    double longest, mean = chain_mean_steps(w, &longest) + start, end = 0;
    Sm s[MOST_SMS] = {0};

    if (sms > MOST_SMS || tiles > (int64_t)MANY * sms * w->resident)
        return fmax((longest + start) * step[1],
                    (double)tiles / ((double)sms * w->resident) * mean *
                        step[w->resident]);
    for (; i < tiles && i < (int64_t)sms * w->resident; i++) {
        Sm *to = &s[i % sms];
        to->left[to->n++] = steps_in_turn(w, first, i) + start;
    }
    for (int k = sms - 1; k >= 0; k--) {
        find_next(&s[k], step);
        sift(s, sms, k);
    }
    while (s[0].n) {
        end = s[0].next;
        end_first(&s[0], step);
        if (i < tiles)
            s[0].left[s[0].n++] = steps_in_turn(w, first, i++) + start;
        find_next(&s[0], step);
        sift(s, sms, 0);
    }
    return end;
}
