#include "import/block.h"

#include "import/names.h"

#include <ctype.h>
#include <stdlib.h>

enum { MAX_PERIOD = 400, LEAST_SAVED = 4, LEAST_PERIOD = 2 };

/* Statements that are looked at, those of a possible block counted more often:
 * where a file has been made to recur in every way, what is not found by then
 * stays written out. */
enum { MOST_WORK = 1 << 30, WORK_OF_BLOCK = 16 };

typedef struct Finding {
    Import *c;
    uint64_t *key; int n;   /* of each statement, 0: it is in a block */
    int *weights;           /* how many statements before it read a weight */
    int64_t work;
} Finding;

/* ---- which statements are alike ------------------------------------------ */

static uint64_t key_of(Import *c, const Stmt *s)
{
    Buf b = {0};
    uint64_t h;

    buf_printf(&b, "%s|%s|%d%d|%s|%s", s->text, s->left ? s->left : "",
               s->typed, s->shaped, type_text(c, s->out->type),
               shape_text(c, &s->out->shape));
    for (int i = 0; i < s->n_use; i++) {
        const Value *v = s->use[i];
        buf_printf(&b, "|%s%s", type_text(c, v->type),
                   shape_text(c, &v->shape));
        if (v->known)
            buf_putc(&b, 'k');
    }
    h = hash_text(buf_text(&b), b.len);
    buf_free(&b);
    return h;
}

static int place_of(const Value *v)
{
    return v->stmt && !v->known ? v->stmt->place : -1;
}

static bool add_once(Import *c, Value ***list, int *n, int *cap, Value *v)
{
    for (int i = 0; i < *n; i++)
        if ((*list)[i] == v)
            return true;
    VEC_PUSH(c->arena, *list, *n, *cap) = v;
    return true;
}

static bool alike(const Value *a, const Value *b)
{
    return a->type == b->type && shape_same(&a->shape, &b->shape);
}

/* ---- whether a run can be a block --------------------------------------- */

/* One operand over all runs: inside, of the run before, a weight, shared. */
static bool check_operand(Import *c, Block *b, int k, int u)
{
    Value *v0 = c->stmt[b->first + k]->use[u];
    Value *v1 = c->stmt[b->first + b->period + k]->use[u];
    int d1 = place_of(v1), from = b->first + b->period;
    bool all_same = true, inside = d1 >= from, before = false;

    for (int t = 1; t < b->times; t++)
        all_same =
            all_same && c->stmt[b->first + t * b->period + k]->use[u] == v0;
    if (all_same)
        return place_of(v0) < b->first &&
               add_once(c, &b->shared, &b->n_shared, &b->cap_shared, v0);
    before = d1 >= b->first && d1 < from;
    for (int t = 0; t < b->times; t++) {
        Value *v = c->stmt[b->first + t * b->period + k]->use[u];
        int d = place_of(v), shift = (t - 1) * b->period;
        if (!alike(v, v1) || !v->known != !v1->known)
            return false;
        if (inside ? d != d1 + shift
            : before ? t > 0 && d != d1 + shift
                     : !v->known)
            return false;
    }
    if (inside)
        return true;
    if (!before)
        return add_once(c, &b->own, &b->n_own, &b->cap_own, v0);
    if ((b->enters && b->enters != v0) || v0->known ||
        (b->result >= 0 && b->result != d1 - b->first))
        return false;
    b->enters = v0;
    b->result = d1 - b->first;
    return true;
}

/* Nothing that a run makes is read elsewhere but what it hands on. */
static bool closed(const Import *c, const Block *b)
{
    int end = b->first + b->period * b->times;

    for (int i = b->first; i < end; i++)
        if (c->stmt[i]->out->is_output && i != end - b->period + b->result)
            return false;
    for (int i = 0; i < c->n_stmt; i++)
        for (int u = 0; u < c->stmt[i]->n_use; u++) {
            int d = place_of(c->stmt[i]->use[u]);
            if (d < b->first || d >= end)
                continue;
            int run = (d - b->first) / b->period;
            bool own = i >= b->first && i < end &&
                       (i - b->first) / b->period == run;
            bool result = (d - b->first) % b->period == b->result;
            bool next = i >= b->first && i < end
                            ? (i - b->first) / b->period == run + 1
                            : run == b->times - 1;
            if (!own && !(result && next))
                return false;
        }
    return true;
}

/* The batch's name is bound by a dimension that it is alone. */
static bool batch_bound(const Import *c, const Block *b)
{
    for (int i = 0; i < b->enters->shape.rank; i++)
        if (b->enters->shape.dim[i] == IMPORT_BATCH)
            return true;
    return !c->has_batch;
}

static Value *weight_of_run(const Import *c, const Block *b, const Value *v,
                            int t);

/* Each run's weights are read by that run alone: what several layers share is
 * no layer's. */
static bool owned(const Import *c, const Block *b)
{
    for (int i = 0; i < b->n_own; i++)
        for (int t = 0; t < b->times; t++) {
            const Value *v = weight_of_run(c, b, b->own[i], t);
            int reads = 0;
            for (int k = 0; k < b->period; k++) {
                const Stmt *s = c->stmt[b->first + t * b->period + k];
                for (int u = 0; u < s->n_use; u++)
                    reads += s->use[u] == v;
            }
            if (reads != v->reads)
                return false;
        }
    return true;
}

static bool valid(Import *c, Block *b)
{
    b->result = -1;
    for (int k = 0; k < b->period; k++) {
        const Stmt *s = c->stmt[b->first + k];
        for (int u = 0; u < s->n_use; u++)
            if (!check_operand(c, b, k, u))
                return false;
    }
    if (b->result < 0 || !b->n_own || !onnx_is_float(b->enters->type))
        return false;
    for (int i = 0; i < b->n_own; i++)
        for (int k = 0; k < i; k++)
            if (b->own[i] == b->own[k])
                return false;
    Value *out = c->stmt[b->first + b->result]->out;
    return alike(out, b->enters) && batch_bound(c, b) && owned(c, b) &&
           closed(c, b);
}

/* Where the number that counts the runs stands in a weight's name, from
 * `from` on: all runs' names are alike but for it. */
static bool counts(const char *k0, const char *k1, size_t *at, size_t *len,
                   int64_t *base)
{
    size_t i = 0;

    while (k0[i] && k0[i] == k1[i])
        i++;
    while (i > 0 && isdigit((unsigned char)k0[i - 1]))
        i--;
    if (!isdigit((unsigned char)k0[i]) || !isdigit((unsigned char)k1[i]))
        return false;
    char *e0, *e1;
    *base = strtoll(k0 + i, &e0, 10);
    long long next = strtoll(k1 + i, &e1, 10);
    *at = i;
    *len = (size_t)(e0 - (k0 + i));
    return next == *base + 1 && !strcmp(e0, e1) && *base < 1 << 20;
}

static Value *weight_of_run(const Import *c, const Block *b, const Value *v,
                            int t)
{
    for (int k = 0; k < b->period; k++) {
        const Stmt *s = c->stmt[b->first + k];
        for (int u = 0; u < s->n_use; u++)
            if (s->use[u] == v)
                return c->stmt[b->first + t * b->period + k]->use[u];
    }
    return NULL;
}

/* How many weights of the first two runs differ by a number that goes up, the
 * same one: those of one path. */
static int on_one_path(Import *c, const Block *b)
{
    const char *path = NULL;
    int most = 0;

    for (int i = 0; i < b->n_own; i++) {
        size_t at, len;
        int64_t base, first = -1;
        int n = 0;
        path = NULL;
        for (int k = 0; k < b->n_own; k++) {
            const Value *v = b->own[(i + k) % b->n_own];
            if (!counts(v->key, weight_of_run(c, b, v, 1)->key, &at, &len,
                        &base))
                continue;
            if (!path) {
                path = arena_strndup(c->arena, v->key, at);
                first = base;
            }
            n += base == first && strlen(path) == at &&
                 !strncmp(path, v->key, at);
        }
        most = n > most ? n : most;
    }
    return most;
}

/* ---- finding them ------------------------------------------------------- */

static int saved(const Block *b)
{
    return b->period * (b->times - 1);
}

/* The best start within a stretch where statements recur after `period`: with
 * the most runs, then with the weights of a run on one path. */
static void try_stretch(Finding *f, int from, int length, int period,
                        Block *best)
{
    Import *c = f->c;
    int path = -1;

    for (int o = 0; o < period && o < length; o++) {
        Block b = {.first = from + o, .period = period,
                   .times = (length - o) / period + 1};
        if (b.times < 2 || saved(&b) < saved(best) ||
            (saved(&b) == saved(best) && path < 0))
            return;
        if (f->weights[b.first + period] == f->weights[b.first])
            continue;
        f->work += (int64_t)period * b.times * WORK_OF_BLOCK;
        if (f->work > MOST_WORK)
            return;
        if (!valid(c, &b))
            continue;
        int here = on_one_path(c, &b);
        if (saved(&b) > saved(best) || here > path) {
            *best = b;
            path = here;
        }
    }
}

static Block find_best(Finding *f)
{
    Block best = {.times = 1};
    const uint64_t *key = f->key;
    int n = f->n;

    for (int p = LEAST_PERIOD; p <= n / 2 && p <= MAX_PERIOD; p++) {
        f->work += n;
        for (int i = 0, run = 0; i + p <= n && f->work <= MOST_WORK; i++) {
            bool equal = i + p < n && key[i] && key[i] == key[i + p];
            if (equal) {
                run++;
                continue;
            }
            if (run >= p && run > saved(&best) - p)
                try_stretch(f, i - run, run, p, &best);
            run = 0;
        }
    }
    return best;
}

/* What the first run reads in place of the one before's result has a value of
 * its own, where all runs read it besides: the body is the first run's text. */
static void tell_entry(Import *c, Block *b)
{
    bool shared = false;

    b->entry = b->enters;
    for (int i = 0; i < b->n_shared; i++)
        shared |= b->shared[i] == b->enters;
    if (!shared)
        return;
    b->entry = arena_new_of(c->arena, Value);
    *b->entry = *b->enters;
    b->entry->dcl = ""; /* until it is printed */
    for (int k = 0; k < b->period; k++) {
        Stmt *s = c->stmt[b->first + k];
        const Stmt *next = c->stmt[b->first + b->period + k];
        for (int u = 0; u < s->n_use; u++)
            if (s->use[u] == b->enters && next->use[u] != b->enters)
                s->use[u] = b->entry;
    }
}

static void take_block(Import *c, Block *b, uint64_t *key)
{
    Block *kept = arena_new_of(c->arena, Block);
    int end = b->first + b->period * b->times;

    tell_entry(c, b);
    *kept = *b;
    kept->leaves = c->stmt[end - b->period + b->result]->out;
    for (int i = b->first; i < end; i++) {
        c->stmt[i]->block = kept;
        c->stmt[i]->again = i >= b->first + b->period;
        key[i] = 0;
    }
    for (int i = 0; i < b->n_shared; i++)
        if (b->shared[i]->stmt)
            b->shared[i]->stmt->closed = true;
    if (b->enters->stmt)
        b->enters->stmt->closed = true;
    VEC_PUSH(c->arena, c->block, c->n_block, c->cap_block) = kept;
}

/* What several read, a mask of all layers, stands right after what it is of:
 * in the middle of the first layer it would make that unlike the others. What
 * weights make belongs to its layer. */
static void early(Import *c)
{
    for (int i = 0; i < c->n_stmt; i++)
        c->stmt[i]->place = i;
    for (int i = 0; i < c->n_stmt; i++) {
        Stmt *s = c->stmt[i];
        int to = 0;
        bool of_layer = s->out->uses < 2 || s->closed;
        for (int u = 0; u < s->n_use; u++) {
            const Value *v = s->use[u];
            of_layer = of_layer || (v->known && v->is_weight &&
                                    onnx_is_float(v->type) &&
                                    v->shape.rank > 1);
            if (place_of(v) >= to)
                to = place_of(v) + 1;
        }
        if (of_layer)
            continue;
        for (int k = i; k > to; k--) {
            c->stmt[k] = c->stmt[k - 1];
            c->stmt[k]->place = k;
        }
        c->stmt[to] = s;
        s->place = to;
    }
}

static bool reads_weight(const Stmt *s)
{
    for (int u = 0; u < s->n_use; u++)
        if (s->use[u]->known)
            return true;
    return false;
}

void import_blocks(Import *c)
{
    Finding f = {.c = c, .n = c->n_stmt};

    f.key = arena_array(c->arena, uint64_t, f.n + 1);
    f.weights = arena_array(c->arena, int, f.n + 1);
    early(c);
    import_keys(c);
    for (int i = 0; i < f.n; i++) {
        Stmt *s = c->stmt[i];
        s->place = i;
        f.key[i] = key_of(c, s) | 1;
        f.weights[i + 1] = f.weights[i] + reads_weight(s);
        for (int u = 0; u < s->n_use; u++)
            s->use[u]->reads++;
    }
    for (;;) {
        Block b = find_best(&f);
        if (saved(&b) < LEAST_SAVED)
            return;
        take_block(c, &b, f.key);
    }
}

/* ---- names -------------------------------------------------------------- */

/* The path that most of the block's weights have. */
static void find_path(Import *c, Block *b, int number)
{
    for (int i = 0; i < b->n_own && !b->path; i++) {
        const char *k0 = b->own[i]->key;
        const char *k1 = weight_of_run(c, b, b->own[i], 1)->key;
        size_t at, len;
        if (!counts(k0, k1, &at, &len, &b->base) || at == 0)
            continue;
        b->path = arena_strndup(c->arena, k0, at);
        const char *tail = k0 + at + len;
        const char *dot = strpbrk(tail, "./");
        b->tail = dot ? arena_strndup(c->arena, tail, (size_t)(dot - tail))
                      : NULL;
        if (!dot)
            b->path = NULL;
    }
    if (!b->path) {
        b->path = number ? arena_printf(c->arena, "block_%d.", number + 1)
                         : "block.";
        b->tail = "";
        b->base = 0;
    }
}

/* Whether all runs' names follow the path; the rest of the first's. */
static const char *below_path(Import *c, const Block *b, const Value *v)
{
    const char *part = NULL;

    for (int t = 0; t < b->times; t++) {
        const Value *w = weight_of_run(c, b, v, t);
        const char *head = arena_printf(c->arena, "%s%lld%s.", b->path,
                                        (long long)(b->base + t), b->tail);
        size_t n = strlen(head);
        if (strncmp(w->key, head, n) || (part && strcmp(part, w->key + n)))
            return NULL;
        part = w->key + n;
    }
    return part;
}

static const char *last_parts(Import *c, const char *name, int parts)
{
    const char *p = name + strlen(name);

    while (p > name && (p[-1] != '.' || --parts > 0))
        p--;
    return legal_name(c, p);
}

static void name_weights(Import *c, Block *b, Map *taken)
{
    b->part = arena_array(c->arena, const char *, b->n_own);
    for (int i = 0; i < b->n_own; i++) {
        const char *part = below_path(c, b, b->own[i]);
        if (!part) {
            /* the file is ours: the weights move to the path */
            part = legal_name(c, last_parts(c, b->own[i]->key, 2));
            const char *p = part;
            for (int k = 2; map_get(taken, arena_printf(c->arena, "!%s", p));
                 k++)
                p = arena_printf(c->arena, "%s_%d", part, k);
            part = p;
            for (int t = 0; t < b->times; t++)
                weight_of_run(c, b, b->own[i], t)->key = arena_printf(
                    c->arena, "%s%lld%s.%s", b->path,
                    (long long)(b->base + t), b->tail, part);
        }
        map_put(taken, arena_printf(c->arena, "!%s", part), c);
        b->part[i] = part;
        const char *name = last_parts(c, part, 2), *n = name;
        for (int k = 2; map_get(taken, n); k++)
            n = arena_printf(c->arena, "%s_%d", name, k);
        map_put(taken, n, c);
        b->own[i]->dcl = n;
    }
}

/* "encoder.layer." -> layer */
static const char *name_of_path(Import *c, const Block *b)
{
    size_t n = strlen(b->path);

    while (n && !isalnum((unsigned char)b->path[n - 1]))
        n--;
    const char *head = arena_strndup(c->arena, b->path, n);
    const char *name = last_parts(c, head, 1);
    while (*name && isdigit((unsigned char)name[strlen(name) - 1]))
        name = arena_strndup(c->arena, name, strlen(name) - 1);
    return legal_name(c, name);
}

/* What all runs read keeps its name in the block. */
static const char *unlike_shared(Import *c, const Block *b, const char *name)
{
    const char *n = name;
    int k = 2;

    for (int i = 0; i < b->n_shared; i++) {
        if (strcmp(b->shared[i]->dcl, n))
            continue;
        n = arena_printf(c->arena, "%s_%d", name, k++);
        i = -1; /* all of them again */
    }
    return n;
}

static void name_block(Import *c, Block *b, int number)
{
    Map *taken = map_new(c->arena);

    b->in = unlike_shared(c, b, "x");
    b->out = unlike_shared(c, b, "y");
    map_put(taken, c->batch_text, c);
    map_put(taken, c->type_name, c);
    map_put(taken, b->in, c);
    map_put(taken, b->out, c);
    find_path(c, b, number);
    b->name = free_name(c, name_of_path(c, b));
    for (int i = 0; i < b->n_shared; i++)
        map_put(taken, b->shared[i]->dcl, c);
    name_weights(c, b, taken);
    for (int k = 0; k < b->period; k++) {
        Value *v = c->stmt[b->first + k]->out;
        const char *name = k == b->result ? b->out : value_name(c, v);
        const char *n = name;
        for (int i = 2; k != b->result && map_get(taken, n); i++)
            n = arena_printf(c->arena, "%s_%d", name, i);
        map_put(taken, n, c);
        v->dcl = n;
    }
}

/* What the loop carries has the name of what enters it, unless that is read
 * later too, or by every run. */
static void name_loop(Import *c, Block *b)
{
    int end = b->first + b->period * b->times;
    bool later = !b->enters->stmt || b->enters->is_output;

    for (int i = 0; i < b->n_shared && !later; i++)
        later = b->shared[i] == b->enters;
    for (int i = end; i < c->n_stmt && !later; i++)
        for (int u = 0; u < c->stmt[i]->n_use; u++)
            later = later || c->stmt[i]->use[u] == b->enters;
    b->loop = later ? free_name(c, "h") : b->enters->dcl;
    if (!b->leaves->is_output)
        b->leaves->dcl = b->loop;
}

void blocks_name(Import *c)
{
    const char *count = "l"; /* no value's name; a block may have it too */

    for (int k = 2; map_get(c->names, count); k++)
        count = arena_printf(c->arena, "l_%d", k);
    for (int i = 0; i < c->n_stmt; i++) {
        Block *b = c->stmt[i]->block;
        if (!b || c->stmt[i] != c->stmt[b->first])
            continue;
        name_loop(c, b);
    }
    for (int i = 0; i < c->n_block; i++) {
        c->block[i]->count = count;
        name_block(c, c->block[i], i);
    }
}

/* ---- text --------------------------------------------------------------- */

static void put_signature(Import *c, Buf *out, const Value *v,
                          const char *name)
{
    buf_printf(out, "%s: %s%s", name, type_text(c, v->type),
               v->shape.rank ? shape_text(c, &v->shape) : "");
}

static void print_block(Import *c, Buf *out, Block *b)
{
    const char *entry = b->entry->dcl;

    buf_printf(out, "block %s(", b->name);
    put_signature(c, out, b->entry, b->in);
    for (int i = 0; i < b->n_shared; i++) {
        buf_puts(out, ", ");
        put_signature(c, out, b->shared[i], b->shared[i]->dcl);
    }
    buf_printf(out, ") -> %s {\n", b->out);
    b->entry->dcl = b->in;
    for (int k = 0; k < b->period; k++) {
        Stmt *s = c->stmt[b->first + k];
        if (s->gone)
            continue;
        for (int i = 0; i < b->n_own; i++)
            if (!b->own[i]->printed && stmt_reads(s, b->own[i])) {
                b->own[i]->printed = true;
                print_param(c, out, b->own[i], "  ", b->part[i]);
            }
        print_stmt(c, out, s, "  ", "");
    }
    b->entry->dcl = entry;
    buf_puts(out, "}\n\n");
}

void blocks_print(Import *c, Buf *out)
{
    for (int i = 0; i < c->n_stmt; i++)
        if (c->stmt[i]->block && i == c->stmt[i]->block->first)
            print_block(c, out, c->stmt[i]->block);
}

void block_print_calls(Import *c, Buf *out, const Block *b)
{
    if (strcmp(b->enters->dcl, b->loop))
        buf_printf(out, "  %s = %s;\n", b->loop, b->enters->dcl);
    buf_printf(out, "  for %s in %lld..%lld { %s = %s(%s", b->count,
               (long long)b->base, (long long)b->base + b->times, b->loop,
               b->name, b->loop);
    for (int i = 0; i < b->n_shared; i++)
        buf_printf(out, ", %s", b->shared[i]->dcl);
    buf_printf(out, ") as \"%s{%s}%s\"; }\n", b->path, b->count, b->tail);
    if (b->leaves->is_output)
        buf_printf(out, "  output %s = %s;\n", b->leaves->dcl, b->loop);
    (void)c;
}
