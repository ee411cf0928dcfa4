#include "search/assemble.h"

#include "group/groups.h"

static bool is_needed(const Tensor *t, void *ctx)
{
    const Assembly *a = ctx;

    if (t->role != ROLE_TEMP || a->outside(t, a->ctx))
        return true;
    for (int i = 0; i < a->n; i++) /* one that stays apart */
        if (a->group[i] != a->taken && group_reads(a->group[i], t))
            return true;
    return false;
}

/* What p stores, into c; NULL if they cannot be one. */
static Group *merged(Assembly *a, Group *p, Group *c)
{
    const char *why;

    a->taken = p;
    if (group_follows(p, c)) /* each would wait for the other */
        return NULL;
    for (int i = 0; i < p->n_step; i++) {
        Tensor *t = p->step[i].tensor;
        if (!t || !group_reads(c, t))
            continue;
        bool keep = is_needed(t, a);
        Group *gr = fuse(a->g, p, c, t, keep, &why);
        if (!gr)
            continue;
        merge_note(a->g, gr, keep ? MERGE_KEEP : MERGE_POINT, t,
                   (Group *[]){p, c}, 2);
        return merge_drop_needless(a->g, gr, is_needed, a);
    }
    return NULL;
}

void assemble_next(Assembly *a, Group *gr)
{
    for (int i = a->n - 1; i >= 0; i--) {
        Group *both = merged(a, a->group[i], gr);
        if (!both)
            continue;
        gr = both;
        a->n--;
        for (int k = i; k < a->n; k++)
            a->group[k] = a->group[k + 1];
    }
    a->group[a->n++] = gr;
}
