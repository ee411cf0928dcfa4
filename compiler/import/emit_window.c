/* Convolutions and pools. */
#include "import/emit.h"

static bool alike(const int64_t *a, const int64_t *b, int n)
{
    return !memcmp(a, b, sizeof *a * (size_t)n);
}

static bool all_are(const int64_t *v, int n, int64_t x)
{
    for (int i = 0; i < n; i++)
        if (v[i] != x)
            return false;
    return true;
}

/* ", name = value" unless all are what is usual. */
static const char *option(Import *c, const char *name, const int64_t *v, int n,
                          int64_t usual)
{
    if (all_are(v, n, usual))
        return "";
    return arena_printf(c->arena, ", %s = %s", name, list_text(c, v, n));
}

static void conv_call(Import *c, const Node *n, Stmt *s, Value *x, Value *w,
                      Value *bias, const Window *o)
{
    int64_t groups = attr_int(n, "group", 1);
    bool even = alike(o->before, o->after, o->n);
    const char *text =
        arena_printf(c->arena, "conv%dd%s(%s, %s", o->n, even ? "" : "_padded",
                     arg(c, s, x), arg(c, s, w));

    if (bias)
        text = arena_printf(c->arena, "%s, %s", text, arg(c, s, bias));
    text = arena_printf(c->arena, "%s%s%s%s%s", text,
                        option(c, "stride", o->stride, o->n, 1),
                        even ? option(c, "pad", o->before, o->n, 0)
                             : option(c, "before", o->before, o->n, 0),
                        even ? "" : option(c, "after", o->after, o->n, 0),
                        option(c, "dilation", o->dilation, o->n, 1));
    if (groups != 1)
        text = arena_printf(c->arena, "%s, groups = %lld", text,
                            (long long)groups);
    stmt_text(c, s, BIND_ATOM, "%s)", text);
}

void emit_conv(Import *c, Node *n)
{
    Value *x = n->in[0], *w = n->in[1];
    Window o;

    if (!window_of(c, n, &x->shape, &w->shape, &o))
        return;
    if (o.n > 3) {
        import_error(c, n, "a convolution of %d dimensions", o.n);
        return;
    }
    conv_call(c, n, stmt_new(c, n->out[0]), x, w, node_in(n, 2), &o);
}

void emit_conv_transpose(Import *c, Node *n)
{
    Value *x = n->in[0], *w = n->in[1], *bias = node_in(n, 2);
    int64_t extra[IMPORT_MAX_RANK], groups = attr_int(n, "group", 1);
    Window o;

    if (!window_transposed(c, n, &x->shape, &w->shape, &o, extra))
        return;
    if (o.n > 3) {
        import_error(c, n, "a convolution of %d dimensions", o.n);
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    bool plain = o.n == 2 && alike(o.before, o.after, 2) &&
                 !attr_find(n, "output_shape");
    const char *text =
        arena_printf(c->arena, "conv_transpose%dd%s(%s, %s", o.n,
                     plain ? "" : "_cut", arg(c, s, x), arg(c, s, w));
    if (bias)
        text = arena_printf(c->arena, "%s, %s", text, arg(c, s, bias));
    if (plain)
        text = arena_printf(c->arena, "%s%s%s%s%s", text,
                            option(c, "stride", o.stride, 2, 1),
                            option(c, "pad", o.before, 2, 0),
                            option(c, "dilation", o.dilation, 2, 1),
                            option(c, "extra", extra, 2, 0));
    else
        text = arena_printf(c->arena, "%s, size = %s%s%s%s", text,
                            list_text(c, o.out, o.n),
                            option(c, "stride", o.stride, o.n, 1),
                            option(c, "before", o.before, o.n, 0),
                            option(c, "dilation", o.dilation, o.n, 1));
    if (groups != 1)
        text = arena_printf(c->arena, "%s, groups = %lld", text,
                            (long long)groups);
    stmt_text(c, s, BIND_ATOM, "%s)", text);
}

/* ---- pools -------------------------------------------------------------- */

static const char *window_index(Import *c, const Window *o, int i,
                                const char *r)
{
    const char *at = index_names[2 + i];

    if (o->stride[i] != 1)
        at = arena_printf(c->arena, "%s * %lld", at, (long long)o->stride[i]);
    if (o->size[i] != 1)
        at = o->dilation[i] != 1 ? arena_printf(c->arena, "%s + %s * %lld", at,
                                                r, (long long)o->dilation[i])
                                 : arena_printf(c->arena, "%s + %s", at, r);
    if (o->before[i])
        at = arena_printf(c->arena, "%s - %lld", at, (long long)o->before[i]);
    return at;
}

static const char *window_range(Import *c, const Window *o)
{
    Buf b = {0};

    for (int i = 0; i < o->n; i++)
        buf_printf(&b, "%s%s in 0..%lld", i ? ", " : "", window_names[i],
                   (long long)o->size[i]);
    return buf_take(&b, c->arena);
}

static void window_indices(Import *c, const Window *o, const char **at)
{
    at[0] = "i";
    at[1] = "j";
    for (int i = 0; i < o->n; i++)
        at[2 + i] = window_index(c, o, i, window_names[i]);
}

static bool plain_pool(const Window *o, const Shape *x)
{
    if (o->n != 2 || !alike(o->before, o->after, 2) ||
        !all_are(o->dilation, 2, 1))
        return false;
    for (int i = 0; i < 2; i++)
        if (o->out[i] !=
            (x->dim[2 + i] + 2 * o->before[i] - o->size[i]) / o->stride[i] + 1)
            return false;
    return true;
}

/* The place of each window's largest, in the tensor as one row. */
static void pool_places(Import *c, Node *n, const Window *o)
{
    Value *x = n->in[0], *y = n->out[1];
    const char *at[IMPORT_MAX_RANK] = {"i", "j"}, *place = "i";
    int64_t window = 1;

    for (int i = 0; i < o->n; i++)
        window *= o->size[i];
    Value *which = between(c, y, "in_window", OT_INT32, y->shape);
    for (int pass = 0; pass < 2; pass++) {
        int64_t rest = window;
        Stmt *s = stmt_new(c, pass ? y : which);
        stmt_left(c, s, index_names);
        const char *r = pass ? read_at(c, s, which, index_names) : "r";
        for (int i = 0; i < o->n; i++) {
            rest /= o->size[i];
            at[2 + i] = window_index(c, o, i,
                                     arena_printf(c->arena, "%s / %lld %% %lld",
                                                  r, (long long)rest,
                                                  (long long)o->size[i]));
        }
        if (!pass) {
            stmt_text(c, s, BIND_ATOM, "argmax(r in 0..%lld) (%s or -inf)",
                      (long long)window, read_at(c, s, x, at));
            continue;
        }
        for (int i = 1; i < x->shape.rank; i++) {
            /* columns first: the last dimension changes slowest */
            bool turned = i > 1 && attr_int(n, "storage_order", 0);
            int k = turned ? x->shape.rank + 1 - i : i;
            place = arena_printf(c->arena, "(%s) * %lld + %s", place,
                                 (long long)x->shape.dim[k], at[k]);
        }
        stmt_text(c, s, BIND_ADD, "%s", place);
    }
}

void emit_max_pool(Import *c, Node *n)
{
    Value *x = n->in[0];
    const char *at[IMPORT_MAX_RANK] = {0};
    Window o;

    if (!window_of(c, n, &x->shape, NULL, &o))
        return;
    if (node_out(n, 1) && n->out[1]->uses)
        pool_places(c, n, &o);
    Stmt *s = stmt_new(c, n->out[0]);
    if (plain_pool(&o, &x->shape)) {
        const char *kernel = list_text(c, o.size, 2);
        stmt_text(c, s, BIND_ATOM, "max_pool(%s, kernel = %s%s%s)",
                  arg(c, s, x), kernel,
                  alike(o.stride, o.size, 2)
                      ? ""
                      : arena_printf(c->arena, ", stride = %s",
                                     list_text(c, o.stride, 2)),
                  option(c, "pad", o.before, 2, 0));
        return;
    }
    window_indices(c, &o, at);
    stmt_left(c, s, index_names);
    stmt_text(c, s, BIND_ATOM, "max(%s) %s or -inf", window_range(c, &o),
              read_at(c, s, x, at));
}

/* How many entries of the window along dimension i are counted at each place:
 * those within the tensor, and of the pads too where they count. */
static const char *window_count(Import *c, const Node *n, const Window *o,
                                const Shape *x, int i, bool pads, Stmt *s)
{
    int64_t low = pads ? -o->before[i] : 0;
    int64_t high = x->dim[2 + i] + (pads ? o->after[i] : 0);
    bool alike_all = true;

    if (o->out[i] > IMPORT_MAX_FOLD / o->size[i]) {
        import_error(c, n, "a window of %lld at %lld places",
                     (long long)o->size[i], (long long)o->out[i]);
        return "1.0";
    }
    double *v = arena_array(c->arena, double, o->out[i]);

    for (int64_t p = 0; p < o->out[i]; p++) {
        for (int64_t r = 0; r < o->size[i]; r++) {
            int64_t at = p * o->stride[i] + r * o->dilation[i] - o->before[i];
            v[p] += at >= low && at < high;
        }
        alike_all = alike_all && v[p] == v[0];
    }
    if (alike_all)
        return number_text(c, OT_FLOAT, v[0]);
    Value *k = constant(c, arena_printf(c->arena, "%s_count_%d", n->name, i),
                        OT_FLOAT, (Shape){1, {o->out[i]}}, v);
    return read_at_most(c, s, k, index_names + 2 + i,
                        IMPORT_MAX_RANK - 2 - i);
}

/* Each window is one element: an adaptive pool of what has its size. */
static bool single(const Window *o)
{
    bool one = true;

    for (int i = 0; i < o->n; i++)
        one = one && o->size[i] == 1 && o->stride[i] == 1 &&
              o->before[i] == 0 && o->after[i] == 0;
    return one;
}

void emit_average_pool(Import *c, Node *n)
{
    Value *x = n->in[0];
    const char *at[IMPORT_MAX_RANK], *count = NULL;
    bool pads = attr_int(n, "count_include_pad", 0) != 0;
    Window o;

    if (!window_of(c, n, &x->shape, NULL, &o))
        return;
    if (single(&o)) {
        emit_same(c, n->out[0], x);
        return;
    }
    Stmt *s = stmt_new(c, n->out[0]);
    if (plain_pool(&o, &x->shape)) {
        bool some = o.before[0] || o.before[1];
        stmt_text(c, s, BIND_ATOM, "avg_pool(%s, kernel = %s%s%s%s)",
                  arg(c, s, x), list_text(c, o.size, 2),
                  alike(o.stride, o.size, 2)
                      ? ""
                      : arena_printf(c->arena, ", stride = %s",
                                     list_text(c, o.stride, 2)),
                  option(c, "pad", o.before, 2, 0),
                  some && !pads ? ", count_include_pad = false" : "");
        return;
    }
    window_indices(c, &o, at);
    stmt_left(c, s, index_names);
    for (int i = 0; i < o.n; i++) {
        const char *k = window_count(c, n, &o, &x->shape, i, pads, s);
        count = count ? arena_printf(c->arena, "%s * %s", count, k) : k;
    }
    stmt_text(c, s, BIND_MUL, "(sum(%s) (%s)) / (%s)", window_range(c, &o),
              read_or(c, s, x, at, &n->out[0]->shape, "0"), count);
}

void emit_global_pool(Import *c, Node *n)
{
    Value *x = n->in[0], *y = n->out[0];
    bool max = !strcmp(n->op, "GlobalMaxPool");
    Shape flat = {2, {x->shape.dim[0], x->shape.dim[1]}};
    Value *v = between(c, y, "flat", y->type, flat);
    Stmt *s = stmt_new(c, v);

    if (max) {
        const char *at[IMPORT_MAX_RANK] = {"i", "j"};
        Buf b = {0};
        for (int i = 2; i < x->shape.rank; i++) {
            at[i] = window_names[i - 2];
            buf_printf(&b, "%s%s", i > 2 ? ", " : "", at[i]);
        }
        stmt_left(c, s, index_names);
        stmt_text(c, s, BIND_ATOM, "max(%s) %s", buf_text(&b),
                  read_at(c, s, x, at));
        buf_free(&b);
    } else {
        stmt_text(c, s, BIND_ATOM, "global_avg_pool(%s)", arg(c, s, x));
    }
    /* so that what follows can see that it is a view of [N, C] */
    Node *view = node_new(c, "Reshape", n->name, 1, 1);
    view->in[0] = v;
    view->out[0] = y;
    y->def = view;
    emit_reshape_to(c, y, v);
}
