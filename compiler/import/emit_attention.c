/* Attention and rotary embeddings. */
#include "import/emit.h"

#include <float.h>
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
    int64_t own = m->shape.rank ? m->shape.dim[m->shape.rank - 1] : 1;
    const char *text =
        own == columns || own == 1
            ? reading(c, st, m, index_names, &s)
            : reading_or(c, st, m, index_names, &s,
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
    bool causal, zeroed;     /* zeroed: a row that sees nothing is 0 */
} Heads;

/* What v [B, G R, N, D] has R times in a row, [B, G, N, D]: v itself where
 * nothing stands twice. */
static Value *unrepeated(Import *c, Value *v)
{
    Value *all = same_as(v), *e, *x;
    int r = all->shape.rank;

    if (!all->def || all->known || r < 3 || r >= IMPORT_MAX_RANK ||
        strcmp(all->def->op, "Reshape"))
        return v;
    e = same_as(all->def->in[0]);
    if (!e->def || e->known || e->shape.rank != r + 1 ||
        (strcmp(e->def->op, "Expand") && strcmp(e->def->op, "Tile")))
        return v;
    x = same_as(e->def->in[0]);
    Shape s = all->shape;
    s.dim[r - 3] = e->shape.dim[r - 3];
    if (x->shape.rank != r + 1 || x->shape.dim[r - 2] != 1 ||
        shape_count(&x->shape) != shape_count(&s) ||
        s.dim[r - 3] * e->shape.dim[r - 2] != all->shape.dim[r - 3] ||
        s.dim[r - 2] != e->shape.dim[r - 1] || s.dim[r - 1] != e->shape.dim[r])
        return v;
    Value *own = between(c, all, "own", all->type, s);
    emit_reshape_to(c, own, x);
    return own;
}

/* m [.., M, N] for each head. */
static Value *mask_of_heads(Import *c, Value *m, int64_t heads)
{
    Shape s = {m->shape.rank < 3 ? 3 : m->shape.rank, {0}};
    int lacks = s.rank - m->shape.rank;

    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < lacks ? 1 : m->shape.dim[i - lacks];
    if (s.dim[s.rank - 3] == heads)
        return m;
    s.dim[s.rank - 3] = heads;
    Value *v = between(c, m, "of_heads", m->type, s);
    Stmt *st = stmt_new(c, v);
    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", reading(c, st, m, index_names, &s));
    hoist(c, st);
    return v;
}

/* Keys and values that heads of q share stay as few as they are. */
static bool share_heads(Import *c, Heads *h)
{
    int r = h->q->shape.rank;
    int64_t heads = r < 3 ? 1 : h->q->shape.dim[r - 3];
    Value *k, *v;

    if (r < 3 || h->zeroed)
        return false;
    k = unrepeated(c, h->k);
    v = unrepeated(c, h->v);
    if (k->shape.dim[r - 3] != v->shape.dim[r - 3])
        return false;
    h->k = k;
    h->v = v;
    if (h->k->shape.dim[r - 3] == heads)
        return false;
    if (h->mask)
        h->mask = mask_of_heads(c, h->mask, heads);
    return true;
}

/* softmax(scale q k^T + mask) v by one op. */
static void attend(Import *c, Value *out, Heads *h)
{
    bool grouped = share_heads(c, h);
    double usual = 1 / sqrt((double)h->q->shape.dim[h->q->shape.rank - 1]);
    Stmt *s = stmt_new(c, out);
    const char *q = arg(c, s, h->q), *k = arg(c, s, h->k);
    const char *v = arg(c, s, h->v);
    const char *mask =
        h->mask ? arena_printf(c->arena, ", %s", named(c, s, h->mask)) : "";

    stmt_text(c, s, BIND_ATOM, "%s(%s, %s, %s%s%s%s)",
              h->zeroed ? "attention_of_seen"
              : grouped ? "grouped_attention"
                        : "attention",
              q, k, v, mask,
              h->causal ? ", causal = true" : "",
              fabs(h->scale / usual - 1) < 1e-6
                  ? ""
                  : arena_printf(c->arena, ", scale = %s",
                                 number_text(c, OT_FLOAT, h->scale)));
}

typedef enum { MASK_ANY, MASK_NONE, MASK_CAUSAL } MaskKind;

/* What a mask that is known does: a softmax does not see what is far below
 * its largest. `infinite`: it has a -inf. */
static MaskKind mask_kind(const Value *m, int64_t rows, int64_t columns,
                          bool *infinite)
{
    const Const *k = m->known;
    int r = m->shape.rank;
    bool none = true;
    bool causal = rows == columns && r >= 2 && m->shape.dim[r - 2] == rows &&
                  m->shape.dim[r - 1] == columns;

    *infinite = !k;
    if (!k || m->type == OT_BOOL || k->n % (rows * columns))
        return MASK_ANY;
    for (int64_t i = 0; i < (k->splat ? 1 : k->n); i++) {
        int64_t row = i / columns % rows, column = i % columns;
        double v = known_float(k, i);
        *infinite = *infinite || v < -FLT_MAX;
        none = none && v == 0;
        causal = causal && (column > row ? v < -1e30 : v == 0);
    }
    return none ? MASK_NONE : causal && !k->splat ? MASK_CAUSAL : MASK_ANY;
}

/* found by patterns: q, k [B, H, S, D], v, mask; attribute scale */
void emit_sdpa(Import *c, Node *n)
{
    OnnxType t = n->out[0]->type;
    Heads h = {.q = in_type(c, n->in[0], t),
               .k = in_type(c, n->in[1], t),
               .v = in_type(c, n->in[2], t),
               .mask = node_in(n, 3),
               .scale = attr_float(n, "scale", 1)};
    int r = h.q->shape.rank;
    int64_t rows = h.q->shape.dim[r - 2], columns = h.k->shape.dim[r - 2];

    if (h.mask) {
        bool infinite;
        Value *m = same_as(h.mask);
        MaskKind kind = mask_kind(m, rows, columns, &infinite);
        h.causal = kind == MASK_CAUSAL;
        h.mask = kind == MASK_ANY
                     ? added_mask(c, m, h.q->type, rows, columns) : NULL;
        h.zeroed = h.mask && infinite && attr_int(n, "zeroed", 0);
    }
    attend(c, n->out[0], &h);
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

/* ---- the operators ------------------------------------------------------ */

/* What an attention operator says beside q, k and v. */
typedef struct Seen {
    Value *mask;             /* bool, or added */
    Value *count;            /* [B]: so many columns count */
    Value *padding;          /* [B, columns]: 0 where nothing is seen; or [B]:
                                so many columns are */
    double filter;           /* what `padding` adds there */
    bool causal;
    int64_t left, right;     /* of a window; -1: no end */
    int64_t before;          /* columns that precede the first row's own */
} Seen;

static void or_else(Buf *b, const char *condition)
{
    buf_printf(b, "%s%s", b->len ? " || " : "", condition);
}

/* Where row k sees column l of what precedes the window's own. */
static void hide(Import *c, Buf *b, Stmt *s, const Seen *w, int64_t rows)
{
    static const char *const batch[] = {"i"};
    const char *own = "k", *count = NULL;

    if (w->count) {
        count = read_at(c, s, w->count, batch);
        own = arena_printf(c->arena, "k + %s - %s", count, size_text(c, rows));
        or_else(b, arena_printf(c->arena, "l >= %s", count));
    } else if (w->before) {
        own = arena_printf(c->arena, "k + %s", size_text(c, w->before));
    }
    if (w->causal)
        or_else(b, arena_printf(c->arena, "l > %s", own));
    if (w->left >= 0)
        or_else(b, arena_printf(c->arena, "l + %lld < %s", (long long)w->left,
                                own));
    if (w->right >= 0)
        or_else(b, arena_printf(c->arena, "l > %s + %lld", own,
                                (long long)w->right));
}

static const char *shown(Import *c, Stmt *s, const Seen *w, const Shape *to)
{
    static const char *const of_batch[] = {"i", "l"};
    const char *text = "0.0";

    if (w->mask) {
        const Shape *own = &w->mask->shape;
        int64_t n = own->rank ? own->dim[own->rank - 1] : 1;
        bool is_bool = w->mask->type == OT_BOOL;
        text = n == to->dim[3] || n == 1
                   ? reading(c, s, w->mask, index_names, to)
                   : reading_or(c, s, w->mask, index_names, to,
                                is_bool ? "0" : "-inf");
        if (is_bool)
            text = arena_printf(c->arena, "(%s) ? 0.0 : -inf", text);
    }
    if (w->padding && w->padding->shape.rank == 1)
        text = arena_printf(c->arena, "l >= %s ? %s : %s",
                            read_at(c, s, w->padding, of_batch),
                            number_text(c, OT_FLOAT, w->filter), text);
    else if (w->padding)
        text = arena_printf(c->arena, "%s == 0 ? %s : %s",
                            read_at(c, s, w->padding, of_batch),
                            number_text(c, OT_FLOAT, w->filter), text);
    return text;
}

/* All of it as one tensor that is added to the scores, [B or 1, heads or 1,
 * rows, columns]. */
static Value *bias_of(Import *c, const Value *out, const Heads *h,
                      const Seen *w)
{
    Shape s = {4, {1, 1, h->q->shape.dim[2], h->k->shape.dim[2]}};
    Buf hidden = {0};

    for (int i = 0; w->mask && i < w->mask->shape.rank - 2; i++)
        s.dim[4 - w->mask->shape.rank + i] = w->mask->shape.dim[i];
    if (w->count || w->padding)
        s.dim[0] = h->q->shape.dim[0];
    Value *v = between(c, out, "seen", h->q->type, s);
    Stmt *st = stmt_new(c, v);
    const char *left[] = {"i", "j", "k",
                          arena_printf(c->arena, "l in 0..%s",
                                       size_text(c, s.dim[3]))};
    stmt_left(c, st, left);
    hide(c, &hidden, st, w, s.dim[2]);
    const char *text = shown(c, st, w, &s);
    if (hidden.len)
        text = arena_printf(c->arena, "%s ? -inf : %s", buf_text(&hidden),
                            text);
    stmt_text(c, st, BIND_COND, "%s", text);
    buf_free(&hidden);
    return v;
}

/* One step of it as a statement of its own; f32, as the oracle has it. */
static Value *step(Import *c, const Value *out, const char *suffix,
                   const Shape *s, Stmt **st)
{
    Value *v = between(c, out, suffix, out->type, *s);

    *st = stmt_new(c, v);
    return v;
}

/* The scores at the step that the operator's result 3 shows. */
static void show(Import *c, Node *n, int64_t mode, Value *v)
{
    Value *out = node_out(n, 3);

    if (!out || !out->uses || attr_int(n, "qk_matmul_output_mode", 0) != mode)
        return;
    Stmt *s = stmt_new(c, out);
    s->typed = true;
    stmt_text(c, s, BIND_ATOM, "%s", arg(c, s, v));
}

/* Step by step: with what the library's op does not have, and a row that
 * sees nothing is 0. */
static void attend_by_steps(Import *c, Node *n, Value *out, const Heads *h,
                            Value *bias)
{
    Shape s = {4, {h->q->shape.dim[0], h->q->shape.dim[1], h->q->shape.dim[2],
                   h->k->shape.dim[2]}};
    Stmt *st;
    Value *v = step(c, out, "scores", &s, &st), *to;

    const char *q = arg(c, st, h->q);
    stmt_text(c, st, BIND_ATOM, "attention_scores(%s, %s, scale = %s)", q,
              arg(c, st, h->k), number_text(c, OT_FLOAT, h->scale));
    show(c, n, 0, v);
    if (h->softcap != 0) {
        to = step(c, out, "capped", &s, &st);
        stmt_text(c, st, BIND_ATOM, "soft_cap(%s, cap = %s)", arg(c, st, v),
                  number_text(c, OT_FLOAT, h->softcap));
        v = to;
    }
    show(c, n, 1, v);
    if (bias) {
        to = step(c, out, "masked", &s, &st);
        const char *a = operand(c, st, v, BIND_ADD);
        stmt_text(c, st, BIND_ADD, "%s + %s", a, operand(c, st, bias, BIND_MUL));
        v = to;
    }
    show(c, n, 2, v);
    to = step(c, out, "weights", &s, &st);
    st->typed = true;
    stmt_text(c, st, BIND_ATOM, "%s(%s)", bias ? "softmax_of_seen" : "softmax",
              arg(c, st, v));
    show(c, n, 3, to);
    st = stmt_new(c, out);
    const char *p = arg(c, st, to);
    stmt_text(c, st, BIND_ATOM, "matmul(%s, %s)", p, arg(c, st, h->v));
}

static bool wants_scores(const Node *n)
{
    return node_out(n, 3) && n->out[3]->uses;
}

/* x plus its third of a bias for q, k and v: com.microsoft's. */
static Value *biased(Import *c, Value *x, Value *bias, int64_t first)
{
    if (!bias)
        return x;
    Value *v = between(c, x, "biased", x->type, x->shape);
    Stmt *s = stmt_new(c, v);
    const char *at[] = {first ? arena_printf(c->arena, "%lld + k",
                                             (long long)first)
                              : "k"};
    const char *wide = size_text(c, x->shape.dim[2]);
    const char *left[] = {"i", "j",
                          arena_printf(c->arena, "k in 0..%s", wide)};
    stmt_left(c, s, left);
    const char *a = read_at(c, s, x, index_names);
    stmt_text(c, s, BIND_ADD, "%s + %s", a, read_at(c, s, bias, at));
    return v;
}

static void heads_and_past(Import *c, Node *n, Heads *h, bool ms)
{
    int64_t heads = attr_int(n, "q_num_heads", attr_int(n, "num_heads", 0));
    int64_t own = attr_int(n, "kv_num_heads", heads);
    Value *bias = ms ? node_in(n, 3) : NULL;

    if (n->in[0]->shape.rank == 3 && n->in[1]->shape.rank == 4) {
        h->q = heads_of(c, biased(c, h->q, bias, 0), heads);
    } else if (n->in[0]->shape.rank == 3) {
        int64_t d = h->q->shape.dim[2], e = h->k->shape.dim[2];
        h->q = heads_of(c, biased(c, h->q, bias, 0), heads);
        h->k = heads_of(c, biased(c, h->k, bias, d), own);
        h->v = heads_of(c, biased(c, h->v, bias, d + e), own);
    }
    h->k = with_past(c, n, h->k, ms ? 6 : 4, 1);
    h->v = with_past(c, n, h->v, ms ? 7 : 5, 2);
    h->k = repeated(c, h->k, h->q->shape.dim[1]);
    h->v = repeated(c, h->v, h->q->shape.dim[1]);
}

static Seen seen_of(Node *n, bool ms)
{
    Value *past = node_in(n, ms ? 6 : 4), *mask = node_in(n, ms ? 5 : 3);
    Seen w = {.mask = mask ? same_as(mask) : NULL,
              .count = ms ? NULL : node_in(n, 6),
              .padding = ms ? node_in(n, 4) : NULL,
              .filter = attr_float(n, "mask_filter_value", -10000),
              .causal = attr_int(n, ms ? "unidirectional" : "is_causal", 0),
              .left = attr_int(n, "left_window_size", -1),
              .right = attr_int(n, "right_window_size", -1),
              .before = past ? past->shape.dim[2] : 0};

    return w;
}

/* [B, H, S, D] as [B, S, H D]. */
static void join_heads(Import *c, Value *out, Value *o)
{
    Stmt *st = stmt_new(c, out);
    const char *d = size_text(c, o->shape.dim[3]);
    const char *at[] = {"i", arena_printf(c->arena, "k / %s", d), "j",
                        arena_printf(c->arena, "k %% %s", d)};

    stmt_left(c, st, index_names);
    stmt_text(c, st, BIND_ATOM, "%s", read_at(c, st, o, at));
}

void emit_attention(Import *c, Node *n)
{
    bool ms = *n->domain != 0, flat = n->in[0]->shape.rank == 3;
    Heads h = {.q = n->in[0],
               .k = n->in[1],
               .v = n->in[2],
               .softcap = attr_float(n, "softcap", 0)};
    Seen w = seen_of(n, ms);
    Value *out = n->out[0];

    if (node_in(n, ms ? 8 : 99)) {
        import_error(c, n, "operand 8 is not supported");
        return;
    }
    heads_and_past(c, n, &h, ms);
    h.scale = attr_float(n, "scale", 0);
    if (h.scale == 0)
        h.scale = 1 / sqrt((double)h.q->shape.dim[3]);
    Shape s = {4, {h.q->shape.dim[0], h.q->shape.dim[1], h.q->shape.dim[2],
                   h.v->shape.dim[3]}};
    Value *o = flat ? between(c, out, "heads", out->type, s) : out;
    bool plain = !w.mask && !w.count && !w.padding && w.left < 0 &&
                 w.right < 0 && !w.before;
    if (plain && !h.softcap && !wants_scores(n)) {
        h.causal = w.causal;
        attend(c, o, &h);
    } else if (!h.softcap && !wants_scores(n)) {
        h.mask = bias_of(c, out, &h, &w);
        h.zeroed = true;
        attend(c, o, &h);
    } else {
        bool all = plain && !w.causal;
        attend_by_steps(c, n, o, &h, all ? NULL : bias_of(c, out, &h, &w));
    }
    if (flat)
        join_heads(c, out, o);
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
    join_heads(c, y, o);
}
