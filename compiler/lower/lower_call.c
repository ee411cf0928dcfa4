/* lower_call.c - calls are written out: a frame of names, the body, the
 * result. */
#include "lower/lower_priv.h"

/* The path of a block's call: `as`, else its name and index. */
static const char *block_path(Lower *l, const AstExpr *e)
{
    const char *up = l->frame->path, *name = e->call.name.text;
    int64_t i;

    if (e->call.has_as) {
        const char *as = const_string(l, &e->call.as);
        return as ? lower_path(l, up, as) : NULL;
    }
    if (!e->call.index)
        return lower_path(l, up, name);
    if (!const_int_of(l, e->call.index, "a block's index", &i))
        return NULL;
    return lower_path(l, up, arena_printf(l->a, "%s.%lld", name,
                                          (long long)i));
}

/* A block called twice in one body with neither [l] nor `as` would share its
 * params by accident. */
static void check_once(Lower *l, const AstExpr *e)
{
    Frame *f = l->frame;
    const char *name = e->call.name.text;

    if (e->call.has_as || e->call.index)
        return;
    for (int i = 0; i < f->n_called; i++)
        if (!strcmp(f->called[i], name)) {
            diag_error(l->d, e->at, "block '%s' is called again with the same "
                       "path; write %s[i](..) or %s(..) as \"..\"", name, name,
                       name);
            return;
        }
    VEC_PUSH(l->a, f->called, f->n_called, f->cap_called) = name;
}

static Ref run_body(Lower *l, Frame *f)
{
    const Item *it = f->item;
    Ref r = {.bad = true};
    int errors = diag_errors(l->d);

    l->frame = f;
    lower_body(l, &it->body);
    parts_settle_all(l);
    const Sym *s = lower_find(f, it->result.text, S_TENSOR);
    if (s && !f->failed)
        r = s->ref;
    else if (diag_errors(l->d) == errors && !l->stop)
        diag_error(l->d, it->result.at, "'%s' of %s '%s' is not defined",
                   it->result.text, item_kind_name(it->kind), it->name.text);
    l->frame = f->up;
    return r;
}

static bool too_deep(Lower *l, const AstExpr *e)
{
    if (l->stop || !lower_work(l, e->at))
        return true;
    if (l->depth < MAX_CALLS)
        return false;
    diag_error(l->d, e->at, "calls are nested more than %d deep", MAX_CALLS);
    l->stop = true;
    return true;
}

/* What has no body. */
static Ref call_own(Lower *l, Frame *f, const AstExpr *e, const Bound *b)
{
    Ref r;

    if (f->item->view == VIEW_GRAD)
        return grad_of(l, e, b, f->label, f->scalar_args);
    if (f->item->view == VIEW_STOP)
        return grad_stop(l, b, f->label);
    if (f->item->view == VIEW_RANDOM)
        return random_of(l, e, b, f->label, f->scalar);
    l->frame = f;
    r = view_of(l, &b[0].ref, f->label);
    l->frame = f->up;
    return r;
}

static Ref call_inside(Lower *l, Frame *f, const AstExpr *e, const Bound *b)
{
    Span own = l->call;
    unsigned notes = l->notes;
    Target target = l->target;
    Ref r;

    if (f->item->view != VIEW_NONE) {
        r = call_own(l, f, e, b);
    } else {
        diag_call(l->d, e->at, f->item->name.text);
        l->depth++;
        r = run_body(l, f);
        l->depth--;
        diag_return(l->d);
    }
    l->call = own;
    l->notes = notes;
    l->target = target;
    return r;
}

Ref lower_call(Lower *l, const AstExpr *e, const char *label, bool scalar)
{
    const Item *it = e->call.item;
    Frame f = {.up = l->frame, .item = it, .path = l->frame->path,
               .prefix = "", .scalar = scalar || l->frame->scalar,
               .scalar_args = scalar,
               .index_base = l->n_index};
    Ref bad = {.bad = true};

    if (too_deep(l, e))
        return bad;
    if (it->view == VIEW_CONCAT)
        return view_concat(l, e, label, scalar);
    if (it->kind == ITEM_BLOCK) {
        check_once(l, e);
        f.path = block_path(l, e);
        if (!f.path)
            return bad;
    } else {
        f.label = label;
        f.prefix = arena_printf(l->a, "%s_", label);
    }
    Bound *b = arena_array(l->a, Bound, it->n_param + 1);
    if (!bind_call(l, &f, e, b))
        return bad;
    return call_inside(l, &f, e, b);
}
