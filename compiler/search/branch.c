#include "search/branch.h"

#include "group/groups.h"

#include <string.h>

enum {
    LAG = 8,  /* launches beside the chain that it may be ahead of, and less
                 than two times as many: what they touch keeps its memory */
    SLACK = 16, /* times as long as a launch takes, the chain goes on without */
    SHORT = 3  /* launches that take less stay in the chain */
};

typedef struct Branch {
    Selection *s;
    CudaProgram *p;
    int n, marked; /* launches beside the chain; up to which there is a mark */
    int since;     /* the first one that the chain has not waited for, or -1 */
} Branch;

/* Of what it lies in, and where: elements from the beginning. */
static const Tensor *base_of(const Tensor *t, int64_t *first)
{
    *first = 0;
    for (; t->prev || t->host; t = t->prev ? t->prev : t->host)
        if (!t->prev)
            *first += t->first;
    return t;
}

static bool share_memory(const Tensor *a, const Tensor *b)
{
    int64_t at, other;

    return base_of(a, &at) == base_of(b, &other) && at < other + b->span &&
           other < at + a->span;
}

/* They touch the same memory, which one of them writes. */
static bool clash(const Group *a, const Group *b)
{
    for (int i = 0; i < a->n_arg; i++)
        for (int k = 0; k < b->n_arg; k++)
            if (share_memory(a->arg[i], b->arg[k]) &&
                (group_stores(a, a->arg[i]) || group_stores(b, b->arg[k])))
                return true;
    return false;
}

/* What takes hardly more than its launch gains nothing by an edge of its
 * own. */
static bool is_short(const Branch *b, const Launch *l)
{
    return l->group->predicted_us <= SHORT * b->s->options->device->launch_us;
}

/* What launch i needs stands before that one; the first of a run follows what
 * the caller enqueued. */
static int earliest(const CudaProgram *p, int i)
{
    int at = i;

    while (at > 1 && !clash(p->run[at - 1].group, p->run[i].group))
        at--;
    return at;
}

/* From `at` on nothing that takes SLACK times as long needs launch i, or
 * nothing at all, and that takes as long. */
static bool has_time(const CudaProgram *p, int at, int i)
{
    double us = p->run[i].group->predicted_us, behind = 0;

    for (int k = at; k < p->n_run && behind < SLACK * us; k++) {
        if (k > i && clash(p->run[i].group, p->run[k].group))
            return false;
        behind += k != i ? p->run[k].group->predicted_us : 0;
    }
    return behind >= us;
}

/* Where launch i begins beside others; 0: nowhere. */
static int begins_beside(const Branch *b, int i)
{
    const Launch *l = &b->p->run[i];

    if (i < 1 || is_short(b, l))
        return 0;
    int at = earliest(b->p, i);
    return has_time(b->p, at, i) ? at : 0;
}

/* Launches that may be beside others stand where they can begin. */
static void bring_forward(Branch *b)
{
    CudaProgram *p = b->p;

    for (int i = 1; i < p->n_run; i++) {
        int at = begins_beside(b, i);
        if (!at)
            continue;
        Launch l = p->run[i];
        l.beside = true;
        memmove(&p->run[at + 1], &p->run[at], sizeof l * (size_t)(i - at));
        p->run[at] = l;
    }
}

/* The chain waits at launch i for those beside it from `since` up to `last`. */
static void wait_at(Branch *b, int i, int last, Join join)
{
    CudaProgram *p = b->p;

    p->run[i].join = join;
    p->run[i].dependent = false;
    for (int k = b->since; k <= last; k++)
        if (p->run[k].beside)
            p->run[k].until = i;
    b->since = -1;
    for (int k = i - 1; k > last; k--)
        if (p->run[k].beside)
            b->since = k;
}

/* Launch i of the chain needs one of those beside it. */
static bool needs(const Branch *b, int i)
{
    const CudaProgram *p = b->p;

    for (int k = b->since; k >= 0 && k < i; k++)
        if (p->run[k].beside && clash(p->run[k].group, p->run[i].group))
            return true;
    return false;
}

static void put_beside(Branch *b, int i)
{
    Launch *l = &b->p->run[i];

    l->dependent = false;
    l->until = b->p->n_run;
    if (b->since < 0)
        b->since = i;
    if (++b->n % LAG == 0) {
        l->mark = true;
        b->marked = i;
    }
}

/* Before the next mark the chain waits for the last one. */
static bool is_far_ahead(const Branch *b)
{
    return b->n % LAG == LAG - 1 && b->since >= 0 && b->since <= b->marked;
}

void branch_launches(Selection *s, CudaProgram *p)
{
    Branch b = {.s = s, .p = p, .marked = -1, .since = -1};

    bring_forward(&b);
    for (int i = 0; i < p->n_run; i++) {
        if (p->run[i].beside) {
            put_beside(&b, i);
            continue;
        }
        if (b.since >= 0 && needs(&b, i))
            wait_at(&b, i, i - 1, JOIN_ALL);
        else if (is_far_ahead(&b))
            wait_at(&b, i, b.marked, JOIN_MARK);
    }
}
