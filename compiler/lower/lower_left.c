/* lower_left.c - the left sides of indexed definitions: their indices, what
 * these run over, and where the definition stores. */
#include "lower/lower_parts.h"

#include <string.h>

/* A name on the left that means a value: it is no new index. */
static bool is_value(Lower *l, const char *name)
{
    const Sym *t = lower_find(l->frame, name, S_TENSOR);

    return lower_find(l->frame, name, S_VALUE) ||
           (t && !t->ref.bad && t->ref.rank == 0);
}

static bool is_new_index(Lower *l, const Arg *a)
{
    return a->kind == ARG_INDEX ||
           (a->kind == ARG_VALUE && a->value->kind == EXPR_NAME &&
            !is_value(l, a->value->name.text));
}

static const char *index_name(const Arg *a)
{
    return a->kind == ARG_INDEX ? a->name.text
           : a->kind == ARG_VALUE && a->value->kind == EXPR_NAME
               ? a->value->name.text
               : "";
}

/* An index that stands to the left of it too: a diagonal. */
static bool again(const AstStmt *s, int i)
{
    const char *name = index_name(&s->def.left.arg[i]);

    for (int j = 0; j < i; j++)
        if (*name && !strcmp(index_name(&s->def.left.arg[j]), name))
            return s->def.left.arg[i].kind == ARG_VALUE;
    return false;
}

bool left_has_range(const AstStmt *s)
{
    for (int i = 0; i < s->def.left.n; i++)
        if (s->def.left.arg[i].kind == ARG_INDEX)
            return true;
    return false;
}

static bool has_data(Lower *l, const AstExpr *e);

static bool args_have_data(Lower *l, const Args *a)
{
    bool has = false;

    for (int i = 0; i < a->n; i++)
        has = has || (a->arg[i].value && has_data(l, a->arg[i].value));
    return has;
}

static bool has_data(Lower *l, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NAME:
        return is_value(l, e->name.text) &&
               !lower_find(l->frame, e->name.text, S_VALUE);
    case EXPR_READ:
        return lower_find(l->frame, e->read.name.text, S_TENSOR);
    case EXPR_CALL:
        return e->call.item || args_have_data(l, &e->call.args);
    case EXPR_CAST:
        return has_data(l, e->cast.value);
    case EXPR_UNARY:
        return has_data(l, e->unary.value);
    case EXPR_BINARY:
        return has_data(l, e->binary.left) || has_data(l, e->binary.right);
    case EXPR_SELECT:
        return true;
    case EXPR_REDUCE:
        return true;
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_LIST:
        break;
    }
    return false;
}

/* ---- what the right side reads */

static bool reads(const AstExpr *e, const char *name);

static bool args_read(const Args *a, const char *name)
{
    bool any = false;

    for (int i = 0; i < a->n; i++)
        any = any || reads(a->arg[i].value, name) ||
              reads(a->arg[i].range.from, name) ||
              reads(a->arg[i].range.to, name);
    return any;
}

static bool reads(const AstExpr *e, const char *name)
{
    if (!e)
        return false;
    switch (e->kind) {
    case EXPR_READ:
        return !strcmp(e->read.name.text, name) ||
               args_read(&e->read.at, name) || reads(e->read.outside, name);
    case EXPR_CALL:
        return args_read(&e->call.args, name);
    case EXPR_CAST:
        return reads(e->cast.value, name);
    case EXPR_UNARY:
        return reads(e->unary.value, name);
    case EXPR_BINARY:
        return reads(e->binary.left, name) || reads(e->binary.right, name);
    case EXPR_SELECT:
        return reads(e->select.cond, name) || reads(e->select.yes, name) ||
               reads(e->select.no, name);
    case EXPR_REDUCE:
        return args_read(&e->reduce.index, name) ||
               reads(e->reduce.term, name);
    case EXPR_NAME:
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_LIST:
        break;
    }
    return false;
}

bool def_reads_itself(const AstStmt *s)
{
    return reads(s->def.value, s->name.text);
}

bool left_has_data(Lower *l, const AstStmt *s)
{
    return args_have_data(l, &s->def.left);
}

bool left_is_partial(Lower *l, const AstStmt *s)
{
    for (int i = 0; i < s->def.left.n; i++) {
        const Arg *a = &s->def.left.arg[i];
        if ((a->kind == ARG_VALUE && !is_new_index(l, a)) || again(s, i))
            return true;
        if (a->kind == ARG_INDEX && const_is(l, a->range.from)) {
            Value v = const_eval(l, a->range.from);
            if (v.kind == V_INT && v.i > 0)
                return true;
        }
    }
    return false;
}

/* ---- reading it */

static bool left_pack(Lower *l, LeftDim *p)
{
    const char *name = p->arg->name.text;

    p->name = p->arg->name;
    p->name.at = p->arg->at;
    p->pack = pack_dims(l, name, p->dim);
    if (p->pack < 0)
        diag_error(l->d, p->arg->at, "'%s..' is no pack of this signature",
                   name);
    return p->pack >= 0;
}

static bool left_range(Lower *l, LeftDim *p)
{
    const Arg *a = p->arg;
    int64_t to;

    if (!const_range(l, a->range, &p->from, &to))
        return false;
    if (p->from < 0 || to <= p->from) {
        diag_error(l->d, a->at,
                   p->from < 0
                       ? "on the left a range begins at 0 or later, not at %lld"
                       : "the range %lld..%lld is empty",
                   (long long)p->from, (long long)to);
        return false;
    }
    p->dim[0] = to - p->from;
    return true;
}

static bool left_one(Lower *l, const AstStmt *s, int i, LeftDim *p)
{
    const Arg *a = p->arg;

    p->pack = -1;
    p->index = -1;
    if (a->kind == ARG_PACK)
        return left_pack(l, p);
    if (is_new_index(l, a) && !again(s, i)) {
        p->name = a->kind == ARG_INDEX ? a->name : a->value->name;
        return !a->range.from || left_range(l, p);
    }
    p->at = a->value;
    return true;
}

static bool left_rank(Lower *l, const AstStmt *s, const LeftDim *p, int n,
                      const Declared *d)
{
    int rank = 0;

    for (int i = 0; i < n; i++)
        rank += p[i].pack >= 0 ? p[i].pack : 1;
    if (rank > MAX_RANK) {
        diag_error(l->d, s->at,
                   "'%s' has %d dimensions; at most %d are "
                   "possible",
                   s->name.text, rank, (int)MAX_RANK);
        return false;
    }
    if (!d->shape || d->rank == rank)
        return true;
    diag_error(l->d, s->name.at, "'%s' has %d %s here, declared are %d",
               s->name.text, rank, rank == 1 ? "dimension" : "dimensions",
               d->rank);
    diag_note(l->d, d->at, "it is declared %s here",
              lower_dims(l, d->rank, d->dim));
    return false;
}

/* ---- what the indices run over */

/* A written range, which says it; of a whole definition, over all. */
static bool range_fits(Lower *l, const AstStmt *s, const LeftDim *p,
                       const Extent *x, const Declared *d, int pos, bool whole)
{
    if (!whole || !x->n || x->n == p->dim[0])
        return true;
    diag_error(l->d, p->arg->at,
               "'%s' runs over %lld, but dimension %d of "
               "'%s' has %lld",
               p->name.text, (long long)p->dim[0], pos, s->name.text,
               (long long)x->n);
    diag_note(l->d, d->at, "it is declared here");
    return false;
}

/* The extent of a new index from its declared dimension and the reads. */
static bool left_infer(Lower *l, const AstStmt *s, LeftDim *p,
                       const Declared *d, int pos, bool whole)
{
    Extent x = {0};

    if (d->shape)
        range_agree(
            l, p->name.text, &x, d->dim[pos], d->at,
            arena_printf(l->a, "dimension %d of '%s'", pos, s->name.text));
    if (p->arg->range.from)
        return range_fits(l, s, p, &x, d, pos, whole);
    range_infer(l, s->def.value, p->name.text, &x);
    if (!x.bad && !x.n && !x.lost)
        diag_error(l->d, p->arg->at,
                   "nothing says what '%s' runs over; write "
                   "'%s in 0..N'",
                   p->name.text, p->name.text);
    p->dim[0] = x.n;
    return !x.bad && x.n;
}

static bool left_twice(Lower *l, const LeftDim *p)
{
    const Index *old = index_find(l, p->name.text, p->pack >= 0);

    if (old) {
        diag_error(l->d, p->arg->at, "index '%s' stands twice on the left",
                   p->name.text);
        diag_note(l->d, old->at, "the first is here");
    }
    return old != NULL;
}

/* ---- indices within expressions */

typedef struct Inner {
    Lower *l;
    const AstStmt *s;
    const LeftDim *p;
    const char *bad[MAX_LEFT]; /* names of which an error was reported */
    int n_bad;
    bool ok;
} Inner;

static bool stands_alone(const Inner *in, const char *name)
{
    for (int i = 0; i < in->s->def.left.n; i++)
        if (in->p[i].name.text && in->p[i].pack < 0 &&
            !strcmp(in->p[i].name.text, name))
            return true;
    return false;
}

static void push_inner(Inner *in, Name name)
{
    Lower *l = in->l;
    const Args *left = &in->s->def.left;
    Extent x = {0};

    for (int i = 0; i < in->n_bad; i++)
        if (!strcmp(in->bad[i], name.text))
            return;
    if (is_value(l, name.text) || index_find(l, name.text, false) ||
        stands_alone(in, name.text) ||
        lower_find(l->frame, name.text, S_TENSOR))
        return;
    range_infer(l, in->s->def.value, name.text, &x);
    for (int i = 0; i < left->n; i++)
        if (in->p[i].at)
            range_infer(l, in->p[i].at, name.text, &x);
    if (!x.bad && !x.n && !x.lost)
        diag_error(l->d, name.at,
                   "nothing says what '%s' runs over: it stands "
                   "alone in no read",
                   name.text);
    if (!x.bad && x.n) {
        index_push(l, name, false, 1, &x.n, 0);
        return;
    }
    in->ok = false;
    if (in->n_bad < MAX_LEFT)
        in->bad[in->n_bad++] = name.text;
}

static void inner_names(Inner *in, const AstExpr *e);

static void inner_args(Inner *in, const Args *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->arg[i].value)
            inner_names(in, a->arg[i].value);
}

static void inner_names(Inner *in, const AstExpr *e)
{
    switch (e->kind) {
    case EXPR_NAME:
        push_inner(in, e->name);
        break;
    case EXPR_READ:
        inner_args(in, &e->read.at);
        break;
    case EXPR_CALL:
        inner_args(in, &e->call.args);
        break;
    case EXPR_CAST:
        inner_names(in, e->cast.value);
        break;
    case EXPR_UNARY:
        inner_names(in, e->unary.value);
        break;
    case EXPR_BINARY:
        inner_names(in, e->binary.left);
        inner_names(in, e->binary.right);
        break;
    case EXPR_SELECT:
        inner_names(in, e->select.cond);
        inner_names(in, e->select.yes);
        inner_names(in, e->select.no);
        break;
    case EXPR_NUMBER:
    case EXPR_STRING:
    case EXPR_REDUCE:
    case EXPR_LIST:
        break;
    }
}

/* ---- the whole side */

static bool push_all(Lower *l, const AstStmt *s, LeftDim *p, const Declared *d,
                     bool whole)
{
    int n = s->def.left.n, pos = 0;
    Inner in = {.l = l, .s = s, .p = p, .ok = true};
    bool ok = true;

    for (int i = 0; i < n; i++) {
        bool pack = p[i].pack >= 0;
        if (p[i].at) {
            inner_names(&in, p[i].at);
        } else {
            bool good = !left_twice(l, &p[i]) &&
                        (pack || left_infer(l, s, &p[i], d, pos, whole));
            ok = ok && good;
            if (good) {
                p[i].index = l->n_index;
                index_push(l, p[i].name, pack, pack ? p[i].pack : 1, p[i].dim,
                           pack ? 0 : p[i].from);
            }
        }
        pos += pack ? p[i].pack : 1;
    }
    return ok && in.ok;
}

static bool pack_fits(Lower *l, const AstStmt *s, const LeftDim *p, int n,
                      const Declared *d)
{
    int pos = 0;

    for (int i = 0; i < n && d->shape; i++) {
        for (int j = 0; j < p[i].pack; j++)
            if (p[i].dim[j] != d->dim[pos + j]) {
                diag_error(l->d, p[i].arg->at,
                           "'%s' is %lld here in dimension "
                           "%d, declared is %lld",
                           s->name.text, (long long)p[i].dim[j], pos + j,
                           (long long)d->dim[pos + j]);
                diag_note(l->d, d->at, "it is declared here");
                return false;
            }
        pos += p[i].pack >= 0 ? p[i].pack : 1;
    }
    return true;
}

static bool evaluate(Lower *l, const LeftDim *p, int n, Left *out)
{
    bool ok = true;

    *out = (Left){0};
    for (int i = 0; i < n; i++) {
        int many = p[i].pack >= 0 ? p[i].pack : 1;
        for (int j = 0; j < many; j++) {
            int d = out->rank++;
            out->arg[d] = p[i].arg;
            if (p[i].at)
                out->at[d] = range_index_val(l, p[i].at, &out->val[d]);
            else
                out->at[d] = l->index[p[i].index].idx[j];
            if (out->at[d] && !p[i].at)
                out->val[d] = val_of(l, out->at[d]);
            ok = ok && out->at[d];
            out->data |= out->at[d] && idx_has_data(out->at[d]);
        }
    }
    return ok;
}

bool left_side(Lower *l, const AstStmt *s, const Declared *d, bool whole,
               Left *out)
{
    int n = s->def.left.n;
    LeftDim *p = arena_array(l->a, LeftDim, n + 1);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        p[i].arg = &s->def.left.arg[i];
        ok = left_one(l, s, i, &p[i]) && ok;
    }
    return ok && left_rank(l, s, p, n, d) && push_all(l, s, p, d, whole) &&
           pack_fits(l, s, p, n, d) && evaluate(l, p, n, out);
}

bool left_inside(Lower *l, const char *name, const Left *left,
                 const Declared *d, Guard *where)
{
    bool ok = true;

    for (int i = 0; i < left->rank; i++) {
        const Idx *e = left->at[i];
        int64_t n = d->shape ? d->dim[i] : MAX_SIZE;
        if (e->lo >= 0 && e->hi < n)
            continue;
        if (idx_has_data(e)) {
            *where = guard_within(l->p, *where, e, 0, n);
            continue;
        }
        ok = false;
        const char *runs =
            e->lo == e->hi ? arena_printf(l->a, "is %lld", (long long)e->lo)
                           : arena_printf(l->a, "runs from %lld to %lld",
                                          (long long)e->lo, (long long)e->hi);
        if (!d->shape) {
            diag_error(l->d, left->arg[i]->at,
                       "'%s' is written outside: the "
                       "index %s",
                       name, runs);
            continue;
        }
        diag_error(l->d, left->arg[i]->at,
                   "'%s' is written outside: the index "
                   "%s, dimension %d has %lld",
                   name, runs, i, (long long)n);
        diag_note(l->d, d->at, "'%s' is declared here", name);
    }
    return ok;
}
