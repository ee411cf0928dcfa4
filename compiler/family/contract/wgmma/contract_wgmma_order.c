#include "family/contract/wgmma/contract_wgmma.h"

#include <math.h>
#include <string.h>

/* The order of a product's tiles: bands of tile rows, in strips of columns. */

enum { NEIGHBOURS = 16 };

/* The place of a tile of a band of that height, in strips of c columns. */
static void strip_place(const Wgmma *w, int64_t height, int c, int64_t tile,
                        int64_t place[2])
{
    int64_t strip = tile / (c * height), left = w->n_tiles - strip * c;
    int64_t wide = left < c ? left : c;

    tile -= strip * c * height;
    place[0] = tile / wide;
    place[1] = strip * c + tile % wide;
}

/* Rows of a and b that each `count` neighbours of the tiles that run at one
 * time read, those that several of them read once. */
static double strip_reads(const Wgmma *w, int64_t height, int c, int count)
{
    int64_t all = height * w->n_tiles, most = wgmma_at_once(w);
    int64_t at[NEIGHBOURS][2];
    double reads = 0;

    for (int64_t first = 0; first < all && first < most; first += count)
        for (int i = 0; i < count && first + i < all; i++) {
            bool row = true, column = true;
            strip_place(w, height, c, first + i, at[i]);
            for (int j = 0; j < i; j++) {
                row &= at[j][0] != at[i][0];
                column &= at[j][1] != at[i][1];
            }
            reads += row * w->x.t.bm * w->below +
                     column * w->x.t.bn * w->beside;
        }
    return reads;
}

/* Whether the result, of lines that begin at any element, is too large for the
 * L2 to hold. */
static bool wgmma_great(const Wgmma *w)
{
    const Plane *p = &w->f->lines;

    return p->tensor &&
           model_too_large(w->f->x.o->device, (double)w->f->x.c.M *
                                                  (double)p->pitch *
                                                  type_bytes(p->tensor->type));
}

int wgmma_strip(const Wgmma *w)
{
    enum { NEAR = 3 };
    int tiles = NEIGHBOURS / w->cluster / w->x.t.split, best = 1;
    const int count[NEAR] = {tiles, tiles < 2 ? tiles : 2,
                             tiles < 4 ? tiles : 4};
    int64_t height = wgmma_band(w);
    double least[NEAR] = {0};

    if (wgmma_great(w)) /* neighbours' parts of lines meet in the L2 */
        return 1;
    if (height > w->m_tiles || wgmma_one_band(w))
        height = w->m_tiles;
    for (int c = 1; c <= tiles && c <= w->n_tiles; c *= 2) {
        double reads[NEAR];
        int i = 0;
        for (int n = 0; n < NEAR; n++)
            reads[n] = strip_reads(w, height, c, count[n]);
        while (i < NEAR - 1 && reads[i] == least[i])
            i++;
        if (c == 1 || reads[i] < least[i]) {
            memcpy(least, reads, sizeof least);
            best = c;
        }
    }
    return best;
}

bool wgmma_one_band(const Wgmma *w)
{
    return w->m_tiles <= wgmma_band(w) || w->parts > 1 ||
           wgmma_blocks(w) <= w->f->x.o->device->sms * (double)w->resident;
}

int wgmma_band(const Wgmma *w)
{
    const Tile *t = &w->x.t;
    double at_once = (double)w->f->x.o->device->sms * w->resident / w->cluster /
                     t->split;
    double square = sqrt(at_once * t->bn / t->bm * w->beside / w->below);
    int best = (int)fmax(1, round(square));
    double least = log(1.5);

    for (int rows = 1; rows <= w->m_tiles && rows < 2 * square; rows++) {
        double far = fabs(log(rows / square));
        if (w->m_tiles % rows == 0 && far < least) {
            least = far;
            best = rows;
        }
    }
    return best;
}
