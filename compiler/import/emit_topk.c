/* The k largest along an axis: those whose rank among all is less than k. Of
 * many elements each part has its own k largest first, and the k largest of
 * these are those of all: n * part + (n / part * k)^2 comparisons for n^2. What
 * is equal keeps its order, which is that of the parts. */
#include "import/emit.h"

enum { FEW = 1 << 24 }; /* comparisons that two more launches would cost */

typedef struct Top {
    Value *x, *ids; /* ids: where its elements were; NULL: where they are */
    Shape shape;    /* in which they are taken */
    Value *named;   /* after which values between are called */
    int axis;
    int64_t k;
    int64_t part; /* it is parts of so many, along axis - 1; or 0 */
    bool least;
} Top;

static int64_t batches(int64_t size)
{
    return size % IMPORT_BATCH ? size : size / IMPORT_BATCH;
}

/* Comparisons to rank n elements, and to take k by rank. */
static double compared(double n, double k)
{
    return n * n + n * k;
}

/* Of how many elements parts are best, or 0. */
static int64_t best_part(const Top *t)
{
    int64_t n = t->shape.dim[t->axis], best = 0;
    double rows = 1, least = compared((double)n, (double)t->k);

    for (int i = 0; i < t->shape.rank; i++)
        if (i != t->axis)
            rows *= (double)batches(t->shape.dim[i]);
    if (n % IMPORT_BATCH == 0 || t->shape.rank == IMPORT_MAX_RANK)
        return 0;
    least -= FEW / rows;
    for (int64_t part = 2 * t->k; part <= n / 2; part++) {
        double parts = (double)(n / part), k = (double)t->k;
        double all = parts * compared((double)part, k) + compared(parts * k, k);
        if (n % part == 0 && all < least) {
            least = all;
            best = part;
        }
    }
    return best;
}

static Value *ranked(Import *c, const Top *t)
{
    const char *other[IMPORT_MAX_RANK] = {0};
    Value *rank = between(c, t->named, "rank", OT_INT32, t->x->shape);
    Stmt *s = stmt_new(c, rank);

    for (int i = 0; i < t->x->shape.rank; i++)
        other[i] = i == t->axis ? "r" : index_names[i];
    const char *mine = read_at(c, s, t->x, index_names);
    const char *his = read_at(c, s, t->x, other);
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM,
              "sum(r in 0..%s) (%s %s %s || (%s == %s && r < %s))",
              size_text(c, t->x->shape.dim[t->axis]), his, t->least ? "<" : ">",
              mine, his, mine, index_names[t->axis]);
    return rank;
}

/* `out` has those of the first k ranks: the elements, or where they were. */
static void take(Import *c, const Top *t, Value *rank, Value *out, bool ids)
{
    const char *by[IMPORT_MAX_RANK] = {0}, *what = "r";
    Stmt *s = stmt_new(c, out);

    for (int i = 0; i < t->x->shape.rank; i++)
        by[i] = i == t->axis ? "r" : index_names[i];
    stmt_left(c, s, index_names);
    const char *at = read_at(c, s, rank, by);
    if (!ids)
        what = read_at(c, s, t->x, by);
    else if (t->ids)
        what = read_at(c, s, t->ids, by);
    else if (t->part)
        what = arena_printf(c->arena, "%s * %lld + r", index_names[t->axis - 1],
                            (long long)t->part);
    stmt_text(c, s, BIND_ATOM, "sum(r) (%s == %s ? %s : 0)", at,
              index_names[t->axis], what);
}

static Value *reshaped(Import *c, const Top *t, Value *v, const char *suffix,
                       Shape to)
{
    Value *out = between(c, t->named, suffix, v->type, to);

    emit_reshape_to(c, out, v);
    return out;
}

/* The k largest of each part, one part's behind the other's. */
static Top top_of_parts(Import *c, const Top *t, int64_t size)
{
    Shape s = t->shape;
    Top part = *t, top = *t;
    int64_t n = s.dim[t->axis] / size;

    for (int i = s.rank++; i > t->axis; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[t->axis] = n;
    s.dim[part.axis = t->axis + 1] = size;
    part.part = size;
    part.x = reshaped(c, t, t->x, "parts", s);
    part.ids = t->ids ? reshaped(c, t, t->ids, "of", s) : NULL;
    Value *rank = ranked(c, &part);
    s.dim[part.axis] = t->k;
    top.shape.dim[t->axis] = n * t->k;
    top.x = between(c, t->named, "top", part.x->type, s);
    take(c, &part, rank, top.x, false);
    top.ids = between(c, t->named, "at", OT_INT32, s);
    take(c, &part, rank, top.ids, true);
    return top;
}

void emit_topk(Import *c, Node *n)
{
    Value *values = n->out[0], *ids = node_out(n, 1);
    Top t = {.x = n->in[0], .least = !attr_int(n, "largest", 1)};
    int64_t part;

    if (!axis_of(c, n, -1, t.x->shape.rank, &t.axis))
        return;
    t.named = values ? values : ids;
    t.k = t.named->shape.dim[t.axis];
    t.shape = t.x->shape;
    while ((part = best_part(&t)))
        t = top_of_parts(c, &t, part);
    if (t.ids) {
        t.x = reshaped(c, &t, t.x, "all", t.shape);
        t.ids = reshaped(c, &t, t.ids, "of", t.shape);
    }
    Value *rank = ranked(c, &t);
    if (values && values->uses)
        take(c, &t, rank, values, false);
    if (ids && ids->uses)
        take(c, &t, rank, ids, true);
}
