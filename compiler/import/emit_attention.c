/* Attention and rotary embeddings. */
#include "import/emit.h"

#include <math.h>

/* [B, S, H D] as [B, H, S, D]. */
static Value *heads_of(Import *c, Value *x, int64_t heads)
{
    Shape s = {
        4, {x->shape.dim[0], heads, x->shape.dim[1], x->shape.dim[2] / heads}};
    Value *v = between(c, x, "heads", x->type, s);
    Stmt *st = stmt_new(c, v);
    const char *at[] = {
        "i", "k", arena_printf(c->arena, "j * %lld + l", (long long)s.dim[3])};

    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, x, at));
    return v;
}

/* Each head as often as there are query heads for it. */
static Value *repeated(Import *c, Value *x, int64_t heads)
{
    Shape s = x->shape;
    const char *at[] = {"i", NULL, "k", "l"};

    if (s.dim[1] == heads)
        return x;
    at[1] = arena_printf(c->arena, "j / %lld", (long long)(heads / s.dim[1]));
    s.dim[1] = heads;
    Value *v = between(c, x, "shared", x->type, s);
    Stmt *st = stmt_new(c, v);
    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, x, at));
    return v;
}

/* The last statement, that all layers share, stands right after what it
 * reads: so the layers are alike. */
static void hoist(Import *c, Stmt *st)
{
    int to = c->n_stmt - 1;

    while (to > 0 && !stmt_reads(st, c->stmt[to - 1]->out)) {
        c->stmt[to] = c->stmt[to - 1];
        to--;
    }
    c->stmt[to] = st;
}

/* The mask as what is added, of the scores' last two sizes. */
static Value *added_mask(Import *c, Value *m, OnnxType t, int64_t rows,
                         int64_t columns)
{
    Shape s = m->shape;
    bool whole = s.rank >= 2 && s.dim[s.rank - 1] == columns &&
                 s.dim[s.rank - 2] == rows;

    if (m->type != OT_BOOL && whole)
        return m;
    if (s.rank < 2)
        s = (Shape){2, {1, columns}};
    s.dim[s.rank - 2] = rows;
    s.dim[s.rank - 1] = columns;
    if (m->spread && shape_same(&m->spread->shape, &s))
        return m->spread;
    Value *v = between(c, m, "added", m->type == OT_BOOL ? t : m->type, s);
    m->spread = v;
    Stmt *st = stmt_new(c, v);
    stmt_left(c, st, index_names);
    const char *text = reading(c, st, m, index_names, &s);
    int64_t own = m->shape.rank ? m->shape.dim[m->shape.rank - 1] : 1;
    if (own != columns && own != 1)
        text = arena_printf(c->arena, "%s or %s", text,
                            m->type == OT_BOOL ? "0" : "-inf");
    if (m->type == OT_BOOL)
        stmt_text(c, st, BIND_COND, "(%s) ? 0.0 : -inf", text);
    else
        stmt_text(c, st, BIND_ATOM, "%s", text);
    hoist(c, st);
    return v;
}

typedef struct Heads {
    Value *q, *k, *v, *mask;
    double scale, softcap;
    bool causal;
} Heads;

/* softmax(scale q k^T + mask) v by the library's op. */
static void attend(Import *c, Value *out, const Heads *h)
{
    double usual = 1 / sqrt((double)h->q->shape.dim[h->q->shape.rank - 1]);
    Stmt *s = stmt_new(c, out);
    const char *q = arg(c, s, h->q), *k = arg(c, s, h->k);
    const char *v = arg(c, s, h->v);
    const char *mask =
        h->mask ? arena_printf(c->arena, ", %s", named(c, s, h->mask)) : "";

    stmt_text(c, s, BIND_ATOM, "attention(%s, %s, %s%s%s%s)", q, k, v, mask,
              h->causal ? ", causal = true" : "",
              fabs(h->scale / usual - 1) < 1e-6
                  ? ""
                  : arena_printf(c->arena, ", scale = %s",
                                 number_text(c, OT_FLOAT, h->scale)));
}

/* found by patterns: q, k [B, H, S, D], v, mask; attribute scale */
void emit_sdpa(Import *c, Node *n)
{
    Heads h = {.q = n->in[0],
               .k = n->in[1],
               .v = n->in[2],
               .mask = node_in(n, 3),
               .scale = attr_float(n, "scale", 1)};
    int r = h.q->shape.rank;

    if (h.mask)
        h.mask = added_mask(c, same_as(h.mask), h.q->type,
                            h.q->shape.dim[r - 2], h.k->shape.dim[r - 2]);
    attend(c, n->out[0], &h);
}

/* Each row sees what precedes and itself: the last row sees all. */
static Value *causal_mask(Import *c, Value *out, Value *q, Value *k)
{
    int64_t rows = q->shape.dim[2], columns = k->shape.dim[2];
    Value *v = between(c, out, "causal", q->type,
                       (Shape){2, {rows, columns}});
    Stmt *s = stmt_new(c, v);

    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_COND, "j > i + %lld ? -inf : 0.0",
              (long long)(columns - rows));
    return v;
}

/* What precedes K or V, and the result that holds both. */
static Value *with_past(Import *c, Node *n, Value *x, int past, int present)
{
    Value *before = node_in(n, past), *out = node_out(n, present);

    if (before) {
        Shape s = x->shape;
        s.dim[2] += before->shape.dim[2];
        Value *v = out && out->uses ? out : between(c, x, "all", x->type, s);
        v->shape = s;
        Stmt *st = stmt_new(c, v);
        const char *b = arg(c, st, before);
        stmt_text(c, st, BIND_ATOM, "concat(%s, %s, axis = 2)", b,
                  arg(c, st, x));
        return v;
    }
    if (out && out->uses)
        emit_same(c, out, x);
    return x;
}

void emit_attention(Import *c, Node *n)
{
    bool ms = *n->domain != 0, flat = n->in[0]->shape.rank == 3;
    int64_t heads = attr_int(n, "q_num_heads", attr_int(n, "num_heads", 0));
    int64_t own = attr_int(n, "kv_num_heads", heads);
    Heads h = {.q = n->in[0],
               .k = n->in[1],
               .v = n->in[2],
               .softcap = attr_float(n, "softcap", 0),
               .causal = attr_int(n, ms ? "unidirectional" : "is_causal", 0)};
    Value *mask = node_in(n, ms ? 5 : 3), *out = n->out[0];

    if (ms &&
        (node_in(n, 3) || node_in(n, 4) || node_in(n, 6) || node_in(n, 7))) {
        import_error(c, n, "operands 3, 4, 6 and 7 are not supported");
        return;
    }
    if (h.softcap != 0 || (node_out(n, 3) && n->out[3]->uses) ||
        node_in(n, ms ? 99 : 6)) {
        import_error(c, n,
                     "attribute 'softcap', operand 6 and result 3 are "
                     "not supported");
        return;
    }
    if (flat) {
        h.q = heads_of(c, h.q, heads);
        h.k = heads_of(c, h.k, own);
        h.v = heads_of(c, h.v, own);
    }
    heads = h.q->shape.dim[1];
    if (!ms) {
        h.k = with_past(c, n, h.k, 4, 1);
        h.v = with_past(c, n, h.v, 5, 2);
    }
    h.scale = attr_float(n, "scale", 1 / sqrt((double)h.q->shape.dim[3]));
    if (h.scale == 0)
        h.scale = 1 / sqrt((double)h.q->shape.dim[3]);
    h.k = repeated(c, h.k, heads);
    h.v = repeated(c, h.v, heads);
    if (h.causal && !ms && node_in(n, 4)) {
        if (mask) {
            import_error(c, n, "operands 3 and 4 with attribute 'is_causal' "
                         "are not supported");
            return;
        }
        h.mask = causal_mask(c, out, h.q, h.k);
        h.causal = false;
    }
    if (mask)
        h.mask = added_mask(c, same_as(mask), h.q->type, h.q->shape.dim[2],
                            h.k->shape.dim[2]);
    Shape s = {
        4, {h.q->shape.dim[0], heads, h.q->shape.dim[2], h.v->shape.dim[3]}};
    Value *o = flat ? between(c, out, "heads", out->type, s) : out;
    attend(c, o, &h);
    if (!flat)
        return;
    Stmt *st = stmt_new(c, out);
    const char *d = size_text(c, s.dim[3]);
    const char *at[] = {"i", arena_printf(c->arena, "k / %s", d), "j",
                        arena_printf(c->arena, "k %% %s", d)};
    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, o, at));
}

/* Rows of the caches by position: [B, S, R / 2]. */
static Value *angles(Import *c, Value *cache, Value *ids, int64_t b, int64_t t,
                     int64_t half)
{
    Shape s = {3, {b, t, half}};
    const char *at[] = {NULL, "k"};

    if (cache->shape.rank == 3)
        return cache;
    Value *v = between(c, cache, "at", cache->type, s);
    Stmt *st = stmt_new(c, v);
    stmt_left(c, st, index_names);
    if (ids && shape_count(&ids->shape) == 1) {
        const char *zero[] = {"0", "0"};
        at[0] = arena_printf(c->arena, "%s + j", read_at(c, st, ids, zero));
    } else {
        at[0] = ids ? read_at(c, st, ids, index_names) : "j";
    }
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, cache, at));
    return v;
}

void emit_rotary(Import *c, Node *n)
{
    bool ms = *n->domain != 0, flat = n->in[0]->shape.rank == 3;
    Value *x = n->in[0], *y = n->out[0];
    Value *cosine = n->in[ms ? 2 : 1], *sine = n->in[ms ? 3 : 2];
    Value *ids = node_in(n, ms ? 1 : 3);
    int64_t heads = attr_int(n, "num_heads", 0);
    int64_t half = cosine->shape.dim[cosine->shape.rank - 1];

    if (flat && heads < 1 && half > 0)
        heads = x->shape.dim[2] / (2 * half);
    if (flat && (heads < 1 || x->shape.dim[2] % heads)) {
        import_error(c, n, "attribute 'num_heads' does not fit");
        return;
    }
    if (flat)
        x = heads_of(c, x, heads);
    if (ids && !ids->is_input)
        ids = same_as(ids);
    cosine = angles(c, cosine, ids, x->shape.dim[0], x->shape.dim[2], half);
    sine = angles(c, sine, ids, x->shape.dim[0], x->shape.dim[2], half);
    Value *o = flat ? between(c, y, "heads", y->type, x->shape) : y;
    Stmt *s = stmt_new(c, o);
    const char *a = arg(c, s, x), *k = arg(c, s, cosine);
    stmt_text(c, s, BIND_ATOM, "rotary(%s, %s, %s%s)", a, k, arg(c, s, sine),
              attr_int(n, "interleaved", 0) ? ", interleaved = true" : "");
    if (!flat)
        return;
    Stmt *st = stmt_new(c, y);
    const char *d = size_text(c, x->shape.dim[3]);
    const char *at[] = {"i", arena_printf(c->arena, "k / %s", d), "j",
                        arena_printf(c->arena, "k %% %s", d)};
    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, o, at));
}
