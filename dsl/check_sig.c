#include "check.h"
#include "support/support.h"

/* ---- types */

/* "a, b and c" */
static const char *word_list(Check *c, const char *const *word, int n)
{
    const char *s = n ? word[0] : "";

    for (int i = 1; i < n; i++)
        s = arena_printf(c->arena, "%s%s%s", s, i < n - 1 ? ", " : " and ",
                         word[i]);
    return s;
}

void check_elem(Check *c, ElemKind elem, Name name)
{
    const char **near = NULL;
    int n = 0, cap = 0;

    if (elem == ELEM_F8E4M3) {
        diag_error(c->diag, name.at,
                   "element type f8e4m3 is not supported yet");
        return;
    }
    if (elem != ELEM_NAMED || scope_find(c, SPACE_TYPE, name.text))
        return;
    for (int k = 0; k < ELEM_F8E4M3; k++)
        VEC_PUSH(c->arena, near, n, cap) = elem_name((ElemKind)k);
    for (int i = 0; i < c->n_sym; i++)
        if (c->sym[i].kind == SYM_TYPE)
            VEC_PUSH(c->arena, near, n, cap) = c->sym[i].name;
    const char *same = near_type(name.text);
    const char *hint = same ? arena_printf(c->arena, " (did you mean '%s'?)",
                                           same)
                            : scope_hint(c, name.text, near, n);
    if (same)
        hint = arena_printf(c->arena, "%s; the types are %s", hint,
                            word_list(c, near, n));
    if (!*hint)
        hint = arena_printf(c->arena, "; the types are %s",
                            word_list(c, near, n));
    diag_error(c->diag, name.at, "undefined element type '%s'%s", name.text,
               hint);
}

int type_rank(const AstType *t)
{
    for (int i = 0; i < t->n_dim; i++)
        if (t->dim[i].kind == DIM_PACK)
            return RANK_PACKS;
    return t->n_dim;
}

static bool is_list_attr(Check *c, const char *name)
{
    Sym *s = scope_find(c, SPACE_TENSOR, name);

    return s && s->kind == SYM_LIST;
}

void check_type(Check *c, AstType *t)
{
    check_elem(c, t->elem, t->name);
    for (int i = 0; i < t->n_dim; i++) {
        TypeDim *d = &t->dim[i];
        if (d->kind == DIM_AXIS) {
            diag_error(c->diag, d->at, "'@' stands only in the type of an op's "
                       "or a block's parameter");
        } else if (d->kind == DIM_SIZE) {
            check_expr(c, d->size, MODE_CONST);
        } else if (!scope_has_pack(c, d->name.text) &&
                   !is_list_attr(c, d->name.text)) {
            scope_bind_pack(c, d->name); /* says so */
            c->n_bound--;
        }
    }
}

/* ---- signatures: first all names bind, then all else is checked */

static bool is_attr(const Item *it, const char *name)
{
    for (int i = 0; i < it->n_attr; i++)
        if (!strcmp(it->attr[i].name.text, name))
            return true;
    return false;
}

static void bind_size(Check *c, const Item *it, Name name)
{
    if (!is_attr(it, name.text) && !scope_find(c, SPACE_VALUE, name.text))
        scope_add(c, SYM_SIZE, name);
}

/* Does the pack at `i` stand there before, too? */
static bool twice(const AstType *t, int i)
{
    for (int j = 0; j < i; j++)
        if (t->dim[j].kind == DIM_PACK &&
            !strcmp(t->dim[j].name.text, t->dim[i].name.text))
            return true;
    return false;
}

static void bind_packs(Check *c, const AstType *t)
{
    for (int i = 0; i < t->n_dim; i++) {
        const TypeDim *d = &t->dim[i];
        if (d->kind != DIM_PACK)
            continue;
        if (twice(t, i))
            diag_error(c->diag, d->at, "pack '%s..' stands twice in one type",
                       d->name.text);
        if (!scope_has_pack(c, d->name.text))
            VEC_PUSH(c->arena, c->pack, c->n_pack, c->cap_pack) =
                (Bound){d->name.text, true, d->at};
    }
}

/* Two packs can be told apart only by an axis between them. */
static void check_packs(Check *c, const Item *it, const AstType *t)
{
    int packs = 0, axes = 0;

    for (int i = 0; i < t->n_dim; i++) {
        const TypeDim *d = &t->dim[i];
        if (d->kind == DIM_AXIS) {
            if (++axes > 1)
                diag_error(c->diag, d->at, "one '@' axis is enough in a type");
            bool one = false;
            for (int j = 0; j < it->n_attr; j++)
                one |= it->attr[j].kind == ATTR_ONE &&
                       !strcmp(it->attr[j].name.text, d->axis.text);
            if (!one)
                diag_error(c->diag, d->axis.at, "'%s' is no attribute of %s "
                           "'%s' that gives the axis", d->axis.text,
                           item_kind_name(it->kind), it->name.text);
        } else if (d->kind == DIM_PACK && ++packs > 1 &&
                   (packs > 2 || !axes) && !twice(t, i)) {
            diag_error(c->diag, d->at, "two packs in a type need an axis "
                       "between them, as T[A.., D @ axis, B..]");
        }
    }
}

static void bind_types(Check *c, Item *it)
{
    for (int i = 0; i < it->n_param; i++) {
        AstType *t = it->param[i].type;
        if (t->elem == ELEM_NAMED && !scope_find(c, SPACE_TYPE, t->name.text))
            scope_add(c, SYM_TYPE, t->name);
        else if (t->elem == ELEM_F8E4M3)
            check_elem(c, t->elem, t->name);
        bind_packs(c, t);
        for (int j = 0; j < t->n_dim; j++) {
            const TypeDim *d = &t->dim[j];
            if (d->kind == DIM_AXIS)
                bind_size(c, it, d->name);
            else if (d->kind == DIM_SIZE && d->size->kind == EXPR_NAME)
                bind_size(c, it, d->size->name);
        }
    }
}

static void check_names(Check *c, const Item *it)
{
    int n = it->n_param + it->n_attr;

    for (int i = 0; i < n; i++) {
        Name a = i < it->n_param ? it->param[i].name
                                 : it->attr[i - it->n_param].name;
        for (int j = 0; j < i; j++) {
            Name b = j < it->n_param ? it->param[j].name
                                     : it->attr[j - it->n_param].name;
            if (strcmp(a.text, b.text))
                continue;
            diag_error(c->diag, a.at, "'%s' is already a parameter or "
                       "attribute of '%s'", a.text, it->name.text);
            diag_note(c->diag, b.at, "it is declared here");
            break;
        }
        if (!strcmp(a.text, it->result.text))
            diag_error(c->diag, it->result.at, "the result '%s' cannot have "
                       "the name of a parameter or attribute", a.text);
    }
}

static void check_attrs(Check *c, Item *it)
{
    for (int i = 0; i < it->n_attr; i++) {
        Attr *a = &it->attr[i];
        if (a->count)
            check_expr(c, a->count, MODE_CONST);
        if (a->value)
            check_attr_value(c, it, a, a->value);
        if (a->kind == ATTR_TYPE && scope_find(c, SPACE_TYPE, a->name.text))
            continue; /* a parameter's type too */
        scope_add(c, a->kind == ATTR_ONE    ? SYM_ATTR
                     : a->kind == ATTR_TYPE ? SYM_TYPE
                                            : SYM_LIST, a->name);
    }
}

static void check_params(Check *c, Item *it)
{
    for (int i = 0; i < it->n_param; i++) {
        Param *x = &it->param[i];
        check_packs(c, it, x->type);
        for (int j = 0; j < x->type->n_dim; j++)
            if (x->type->dim[j].kind == DIM_SIZE)
                check_expr(c, x->type->dim[j].size, MODE_CONST);
        if (x->value)
            check_expr(c, x->value, MODE_CONST);
    }
    for (int i = 0; i < it->n_param; i++)
        if (!scope_find(c, SPACE_TENSOR, it->param[i].name.text))
            scope_declare(c, SYM_ARG, it->param[i].name,
                          type_rank(it->param[i].type));
}

void check_signature(Check *c, Item *it)
{
    check_names(c, it);
    bind_types(c, it);
    check_attrs(c, it);
    check_params(c, it);
    if (it->result_type)
        check_type(c, it->result_type);
}
