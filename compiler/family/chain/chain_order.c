#include "family/chain/chain_wgmma.h"

#include <math.h>
#include <stdlib.h>

/* Blocks of columns of the tiles of a chain, where these differ in number, and
 * in which order such tiles run. */

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
